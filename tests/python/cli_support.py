"""The command, in processes of its own or in this one."""

import contextlib
import io
import os
import sys
from pathlib import Path
from unittest import mock

from support import run_python
from whorl.cli import _main

CLI = "import sys; from whorl.cli import main; sys.argv[0] = 'whorl'; main()"
SET = "openfhe_1_5/TOY"  # small and insecure, so that a key takes no time
PHRASE = ("--passphrase-file", "phrase", "--allow-insecure")
KEYGEN = ("keygen", "--params", SET, *PHRASE)


def write_phrase(folder: Path, phrase: bytes = b"correct horse\n") -> None:
    """The file `phrase`, which nobody else can read."""
    path = folder / "phrase"
    path.touch(0o600)
    path.write_bytes(phrase)


class Shell:
    """Runs `whorl ...` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *args: str, code: int = 0, **kwargs: object) -> str:
        done = run_python(CLI, *args, cwd=self.folder, **kwargs)
        return checked(code, done.returncode, done.stdout, done.stderr)


class Here(Shell):
    """The same without a process, and so without the time that its imports take."""

    def __call__(self, *args: str, code: int = 0, **kwargs: object) -> str:
        given, before = io.StringIO(str(kwargs.get("input", ""))), Path.cwd()
        output, errors = io.StringIO(), io.StringIO()
        os.chdir(self.folder)
        try:
            with (
                mock.patch.multiple(sys, argv=["whorl", *args], stdin=given),
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(errors),
            ):
                status = _main._status()
        finally:
            os.chdir(before)
        return checked(code, status, output.getvalue(), errors.getvalue())


def made(folder: Path, scheme: str, *options: str) -> Here:
    """Commands in a folder, with a passphrase and keys of a scheme."""
    write_phrase(folder)
    run = Here(folder)
    run("keygen", "--scheme", scheme, *options, *PHRASE[:2])
    return run


def checked(code: int, status: int, output: str, errors: str) -> str:
    """What was printed; of a failure its one line."""
    assert status == code, errors + output
    if code:
        assert len(errors.strip().splitlines()) == 1, errors
        assert "Traceback" not in errors
        return errors
    return output
