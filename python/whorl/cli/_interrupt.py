"""Ctrl-C: the command ends with one line on standard error, and with status 130.

This module imports little, because it must be ready before the slow imports begin.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

STATUS = 130
MESSAGE = "whorl: interrupted"


class Interrupted(BaseException):
    """Somebody pressed Ctrl-C. It is no `KeyboardInterrupt`, since Typer would catch that one."""


def end_at_once() -> None:
    """From now on Ctrl-C ends the process at once: there is nothing to clean up."""
    _handle(_end)


def unwind() -> None:
    """From now on the first Ctrl-C raises `Interrupted`, and a second one ends the process."""
    _handle(_raise)


def ignore() -> None:
    """From now on Ctrl-C does nothing: the process is about to end."""
    _handle(signal.SIG_IGN)


def _handle(action: Callable[[int, FrameType | None], Any] | signal.Handlers) -> None:
    """Sets the action, unless the process was started to ignore Ctrl-C, as `nohup` does."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, action)


def _end(_: int, __: FrameType | None) -> NoReturn:
    try:
        os.write(2, f"{MESSAGE}\n".encode())
    finally:
        os._exit(STATUS)


def _raise(_: int, __: FrameType | None) -> NoReturn:
    end_at_once()
    raise Interrupted
