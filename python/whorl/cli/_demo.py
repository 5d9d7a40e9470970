"""demo: runs an application, of the source tree or of the installed package."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from . import _passphrase
from ._completion import files, from_list
from ._output import err, out

DEFAULT = "tree"
SETTINGS = {"ignore_unknown_options": True}
"""Settings of the command: options that it does not know go to the application."""


def _applications() -> dict[str, Path]:
    """run.py of every application: of the source tree above the working directory or this file, or
    of the folder `_apps`, into which the build of the package puts them."""
    here = Path(__file__).resolve().parent
    folders = [
        folder / "apps"
        for start in (Path.cwd(), here)
        for folder in (start, *start.parents)
        if (folder / "include" / "whorl").is_dir()
    ]
    for apps in (*folders, here.parent / "_apps"):
        scripts = sorted(apps.glob("*/run.py"))
        if scripts:
            return {script.parent.name.replace("_", "-"): script for script in scripts}
    return {}


def _summary(script: Path) -> str:
    """First line of a script's docstring."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def _list(applications: dict[str, Path]) -> None:
    for name, script in applications.items():
        out.print(f"  whorl demo {name:<12} {_summary(script)}", markup=False, soft_wrap=True)


def _run(command: list[str]) -> int:
    """Exit status of an application, which may start processes of its own.

    They are a session of their own, so that Ctrl-C reaches this process only, which then ends
    them all: none of them prints a traceback, and none goes on.
    """
    environment = {name: os.environ[name] for name in os.environ if name != _passphrase.VARIABLE}
    # As Ctrl-C does, so that nothing goes on where this process alone is told to end.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    process = subprocess.Popen(command, start_new_session=True, env=environment)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            err.show_cursor()  # an application hides it while it draws progress


def demo(
    application: Annotated[
        str,
        typer.Argument(
            help="Name of an application; --list shows all.",
            autocompletion=from_list(lambda: _applications()),
        ),
    ] = DEFAULT,
    options: Annotated[
        list[str] | None,
        typer.Argument(
            help="What the application gets: `whorl demo tree -- --help` shows its options.",
            autocompletion=files,
            metavar="-- OPTIONS",
            show_default=False,
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--list", help="The applications there are.")] = False,
) -> None:
    """Run an application on encrypted data: by default a decision tree on irises."""
    applications = _applications()
    if every:
        _list(applications)
        return
    if application.startswith("-"):
        application, options = DEFAULT, [application, *(options or [])]
    if application not in applications:
        raise typer.BadParameter(f"{application} is not among {', '.join(applications)}")
    status = _run([sys.executable, str(applications[application]), *(options or [])])
    others = {name: path for name, path in applications.items() if name != application}
    if not options:
        out.print("\nOther applications")
        _list(others)
    raise typer.Exit(status)
