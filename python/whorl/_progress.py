"""Progress bars, on terminals and in notebooks."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Report = Callable[[int, int], None]

_PERIOD = 0.1
"""Seconds between two pictures in a notebook, each of which is a message to the browser."""


def bar(description: str) -> AbstractContextManager[Report]:
    """Yields report(done, total), which draws a bar that goes away at the end.

    In a notebook it draws below the cell; else on standard error, if that is a terminal.
    """
    return _notebook_bar(description) if _in_notebook() else _terminal_bar(description)


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel, whose front end shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _notebook_bar(description: str) -> Iterator[Report]:
    # What a kernel always has. The bars of rich need ipywidgets in the browser too.
    from IPython.display import HTML, display  # type: ignore[import-not-found,unused-ignore]

    def picture(done: int, total: int) -> Any:
        title = html.escape(description)
        return HTML(f'{title} <progress value="{done}" max="{total}"></progress> {done} / {total}')

    handle = display(HTML(html.escape(description)), display_id=True)
    drawn = -_PERIOD

    def report(done: int, total: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if now - drawn >= _PERIOD or done == total:
            drawn = now
            handle.update(picture(done, total))

    try:
        yield report
    finally:
        handle.update(HTML(""))


@contextmanager
def _terminal_bar(description: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(description, total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield report
