"""The command in processes of its own."""

from __future__ import annotations

from pathlib import Path

from support import run_python

CLI = "import sys; from whorl.cli import main; sys.argv[0] = 'whorl'; main()"


class Shell:
    """Runs `whorl ...` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *args: str, code: int = 0, **kwargs: object) -> str:
        done = run_python(CLI, *args, cwd=self.folder, **kwargs)
        assert done.returncode == code, done.stderr + done.stdout
        if code:
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert "Traceback" not in done.stderr
            return done.stderr
        return done.stdout
