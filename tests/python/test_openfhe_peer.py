"""Where OpenFHE's wheel is looked for, with interpreters that only pretend."""

from pathlib import Path

import openfhe_peer
import pytest


def pretend(python: Path, body: str) -> Path:
    """A program in an interpreter's place."""
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    python.chmod(0o755)
    return python


@pytest.fixture
def pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The versions of a pyenv that is all there is."""
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.delenv("WHORL_PEER_PYTHON", raising=False)
    monkeypatch.setattr(openfhe_peer.shutil, "which", lambda _: None)
    return tmp_path / "versions"


def find() -> openfhe_peer.Found:
    return openfhe_peer.find.__wrapped__()


def test_an_interpreter_of_pyenv_that_has_the_wheel_is_taken(pyenv: Path) -> None:
    pretend(pyenv / "3.10.1/bin/python", 'case "$2" in *openfhe*) exit 1;; esac')
    python = pretend(pyenv / "3.10.13/bin/python", "exit 0")
    pretend(pyenv / "3.11.7/bin/python", "exit 0")
    assert find() == openfhe_peer.Found(str(python))


def test_without_a_cpython_3_10_the_reason_says_so(pyenv: Path) -> None:
    pretend(pyenv / "3.10.0/bin/python", "exit 1")  # of another kind, as PyPy
    assert find().python == "" and "no CPython 3.10" in find().why_absent


def test_the_interpreter_that_is_named_must_serve(
    pyenv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(pyenv / "3.10.0/bin/python", "exit 0")
    named = pretend(pyenv / "mine", "echo 'ImportError: no openfhe' >&2; exit 1")
    monkeypatch.setenv("WHORL_PEER_PYTHON", str(named))
    assert find() == openfhe_peer.Found("", "ImportError: no openfhe")


def test_where_pip_cannot_fetch_the_reason_is_pips(pyenv: Path, tmp_path: Path) -> None:
    # `python -m venv --clear FOLDER` makes an interpreter whose pip fails.
    python = pretend(
        pyenv / "3.10.0/bin/python",
        'test "$2" = venv || exit 1\nmkdir -p "$4/bin"\n'
        'printf \'#!/bin/sh\\necho "ERROR: no network" >&2; exit 1\\n\' >"$4/bin/python"\n'
        'chmod +x "$4/bin/python"',
    )
    found = openfhe_peer.make(str(python), tmp_path / "made")
    assert found.python == "" and found.why_absent.endswith("ERROR: no network")
