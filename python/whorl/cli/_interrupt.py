"""Ctrl-C: the command ends with one line on standard error, and with status 130.

This module imports little, because it must be ready before the slow imports begin.
"""

from __future__ import annotations

# The module behind `signal`, without the enumerations that this one makes of its numbers.
import _signal as signal  # type: ignore[import-not-found]
import os

TYPE_CHECKING = False  # type checkers take it for true; typing itself is imported late
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn

STATUS = 130
MESSAGE = "whorl: interrupted"


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C. It is no `KeyboardInterrupt`, since Typer would catch that one."""


def end_at_once() -> None:
    """Lets Ctrl-C end the process at once from now on: there is nothing to clean up."""
    _handle(_end)


def unwind() -> None:
    """From now on the first Ctrl-C raises `Interrupted`, and a second one ends the process."""
    _handle(_raise)


def ignore() -> None:
    """Lets Ctrl-C do nothing from now on: the process is about to end."""
    _handle(signal.SIG_IGN)


def _handle(action: Callable[[int, FrameType | None], Any] | int) -> None:
    """Sets the action, unless the process was started to ignore Ctrl-C, as `nohup` does."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        return
    try:
        signal.signal(signal.SIGINT, action)
    except ValueError:  # another thread than the main one, which is not interrupted
        pass


def _end(_: int, __: FrameType | None) -> NoReturn:
    try:
        os.write(2, f"{MESSAGE}\n".encode())
    finally:
        os._exit(STATUS)


def _raise(_: int, __: FrameType | None) -> NoReturn:
    end_at_once()
    raise Interrupted
