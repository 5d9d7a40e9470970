"""The command `whorl`; documentation in docs/cli.md."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NoReturn

from . import _interrupt

if TYPE_CHECKING:
    from ._main import app
    from ._scheme import Scheme, register

__all__ = ["Scheme", "app", "main", "register"]

_modules = {"Scheme": "_scheme", "app": "_main", "register": "_scheme"}
"""Names that are imported at first use, so that `main` can prepare for Ctrl-C before that."""


def main() -> NoReturn:
    """Runs the command. Exit codes: 1 failure, 2 wrong usage, 130 Ctrl-C."""
    _interrupt.end_at_once()
    from ._main import run

    run()


def __getattr__(name: str) -> Any:
    if name in _modules:
        return getattr(importlib.import_module(f"{__name__}.{_modules[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
