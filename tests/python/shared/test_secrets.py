"""What is secret stays where it is: pickling, representation, halves, forks."""

from pathlib import Path

import pytest
from support import Kit, run_python


def test_resident_memory_with_std128_keys(tmp_path: Path) -> None:
    """At most 300 MiB with one STD128 evaluation key loaded in a server, in a process of its own.

    Pages of files are left out: how much of a module is mapped depends on the system.
    """
    make = (
        "import sys, whorl\n"
        "p = whorl.binfhe.parameters('openfhe_1_6/STD128', allow_insecure=True)\n"
        "whorl.binfhe.Client(p).evaluation_keys().save(sys.argv[1])"
    )
    serve = (
        "import sys, whorl.server\n"
        "server = whorl.server.binfhe.Server(sys.argv[1], device='cpu', allow_insecure=True)\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print(next(int(l.split()[1]) for l in lines if l.startswith('RssAnon:')))"
    )
    path = tmp_path / "keys.whorl"
    assert run_python(make, str(path)).returncode == 0
    assert path.stat().st_size < 91.5e6  # a tenth of OpenFHE's file
    done = run_python(serve, str(path))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 300 * 1024  # a second copy would be 218 MB more


def test_progress_is_reported_and_stops(kit: Kit) -> None:
    seen: list[tuple[int, int]] = []
    kit.client.evaluation_keys(progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert all(0 <= done <= total for done, total in seen)
    assert seen == sorted(seen)

    def stop(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        kit.client.evaluation_keys(progress=stop)


def test_imports_bring_no_progress_bars() -> None:
    """The package itself imports quickly: rich and typer are the command's."""
    code = "import sys, whorl.binfhe; print([m for m in ('rich', 'typer') if m in sys.modules])"
    assert run_python(code).stdout == "[]\n"
