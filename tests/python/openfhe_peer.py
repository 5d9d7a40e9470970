"""Where OpenFHE's wheel can be imported: it wants CPython 3.10.

In this order: the interpreter that WHORL_PEER_PYTHON names; a CPython 3.10 (on PATH, or pyenv's)
that has the wheel; an environment below build/ that is made of one, once, and gets it from pip.
"""

import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WHEEL = "openfhe"
MADE = Path(__file__).resolve().parents[2] / "build" / "openfhe"


@dataclass(frozen=True)
class Found:
    """An interpreter, or why there is none."""

    python: str = ""
    why_absent: str = ""


def last_words(*command: str) -> str:
    """Empty if the command succeeds, else what it said of its failure."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    errors = [line for line in said if "error" in line.lower()]
    return errors[-1] if errors else said[0]


def why_unusable(python: str) -> str:
    """Empty where OpenFHE can be imported."""
    return last_words(python, "-c", "import openfhe")


def interpreters() -> list[str]:
    """Every CPython 3.10 of this machine."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    named = [shutil.which("python3.10"), *sorted(pyenv.glob("versions/3.10*/bin/python"))]
    check = (
        "import sys; assert (sys.implementation.name, *sys.version_info[:2]) == ('cpython', 3, 10)"
    )
    return [str(each) for each in named if each and not last_words(str(each), "-c", check)]


def make(python: str, folder: Path = MADE) -> Found:
    """An environment in `folder` with the wheel."""
    inside = str(folder / "bin" / "python")
    if not why_unusable(inside):
        return Found(inside)
    pip = (inside, "-m", "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "15")
    why = last_words(python, "-m", "venv", "--clear", str(folder)) or last_words(
        *pip, "install", "--quiet", WHEEL
    )
    why = why or why_unusable(inside)
    if why:
        return Found(why_absent=f"no environment with {WHEEL} could be made of {python}: {why}")
    return Found(inside)


@cache
def find() -> Found:
    """What the module's docstring says."""
    if named := os.environ.get("WHORL_PEER_PYTHON"):
        why = why_unusable(named)
        return Found("" if why else named, why)
    candidates = interpreters()
    for python in candidates:
        if not why_unusable(python):
            return Found(python)
    if not candidates:
        return Found(why_absent="no CPython 3.10 on PATH or in pyenv; WHORL_PEER_PYTHON names one")
    MADE.parent.mkdir(exist_ok=True)
    with (MADE.parent / "openfhe.lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make(candidates[0])
