"""The command `whorl`; documentation in docs/cli.md."""

from __future__ import annotations

from . import _interrupt

TYPE_CHECKING = False  # type checkers take it for true; typing itself is imported late
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ._data import register
    from ._main import app
    from ._scheme import Scheme

__all__ = ["Scheme", "app", "main", "register"]

_modules = {"Scheme": "_scheme", "app": "_main", "register": "_data"}
"""Names that are imported at first use, so that `main` can prepare for Ctrl-C before that."""


def main() -> NoReturn:
    """Runs the command. Exit codes: 1 failure, 2 wrong usage, 130 Ctrl-C."""
    _interrupt.end_at_once()
    _open_standard_streams()
    from ._main import run

    run()


def _open_standard_streams() -> None:
    """Opens /dev/null in the place of standard streams that were closed.

    Otherwise the next file that is opened would become a standard stream, and be written into.
    """
    import sys

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open("/dev/null", mode))


def __getattr__(name: str) -> Any:
    import importlib

    if name in _modules:
        return getattr(importlib.import_module(f"{__name__}.{_modules[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
