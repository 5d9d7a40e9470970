"""Client and server as processes with folders of their own, and files carried between them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

APPS = Path(__file__).resolve().parents[1]
_BUILD = APPS.parent / "build"
WORK = _BUILD if (APPS.parent / "include" / "whorl").is_dir() else Path("whorl-demo")
"""Where applications work: in the build folder of the source tree, or without it where one is."""
PASSPHRASE = "WHORL_APP_PASSPHRASE"


@contextmanager
def stage(text: str, bars: bool = False) -> Iterator[None]:
    """Shows what is going on while it does, on terminals. With `bars` it is a line, below which
    others draw, and which is there without a terminal too."""
    if bars:
        print(text, file=sys.stderr, flush=True)
    if bars or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(text, total=None)
        yield


def process(module: str, *arguments: str | Path, passphrase: str | None = None) -> float:
    """Runs a module of an application in a process of its own; gives its seconds.

    Only a process that is given the passphrase of the secret key's file has it.
    """
    environment = {name: value for name, value in os.environ.items() if name != PASSPHRASE}
    if passphrase is not None:
        environment[PASSPHRASE] = passphrase
    path = [str(APPS), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(path)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)], env=environment, check=False
    )
    if done.returncode:
        sys.exit(f"{module} ended with status {done.returncode}")
    return time.perf_counter() - started


def passphrase_given() -> str:
    """The passphrase that this process was started with."""
    passphrase = os.environ.get(PASSPHRASE, "")
    if not passphrase:
        raise SystemExit(f"{PASSPHRASE} is not set: it protects the secret key's file")
    return passphrase


def send(name: str, sender: Path, receiver: Path) -> int:
    """Carries a file from one side to the other; gives its bytes."""
    shutil.copyfile(sender / name, receiver / name)
    return (receiver / name).stat().st_size


def fresh_folder(path: Path) -> Path:
    """An empty folder that nobody else can read."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, mode=0o700)
    return path
