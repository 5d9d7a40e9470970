"""Progress bars, on terminals and in notebooks."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from .text import shown

Report = Callable[[int, int], object]
"""Called with what is done, and the total."""

_PERIOD = 0.1
"""Seconds between two pictures in a notebook, each of which is a message to the browser."""


_DELAY = 0.5
"""Seconds before a bar is drawn on a terminal: what is done by then needs none."""


def bar(description: str, drawn_by_itself: bool = True) -> AbstractContextManager[Report]:
    """Yields report(done, total), which draws a bar that goes away at the end.

    In a notebook the bar is below the cell. Otherwise it is on standard error, if that is a
    terminal; there it moves by itself until the first report, to show that work goes on. Without
    `drawn_by_itself` only reports draw it.
    """
    if _in_notebook():
        return _notebook_bar(description)
    return _terminal_bar(description, drawn_by_itself)


@contextmanager
def reports(progress: bool | Report | None, description: str) -> Iterator[Report | None]:
    """What long work calls, for the argument `progress` of a method: True draws a bar, a callable
    is called itself, and nothing is told with None or False. `TypeError` for anything else."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress: a bool or a callable is needed, not {shown(progress)}")
    if progress is True:
        with bar(description) as report:
            yield report
    else:
        yield progress or None


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel, whose front end shows HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _notebook_bar(description: str) -> Iterator[Report]:
    # A kernel always has this module. The bars of rich need ipywidgets in the browser, too.
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
def _terminal_bar(description: str, drawn_by_itself: bool) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, transient=True, auto_refresh=drawn_by_itself)
    task = progress.add_task(description, total=None)
    shown_from = time.monotonic() + _DELAY
    later = threading.Timer(_DELAY, progress.start)
    later.daemon = True
    if drawn_by_itself:
        later.start()

    def report(done: int, total: int) -> None:
        progress.update(task, completed=done, total=total)
        if not drawn_by_itself and time.monotonic() >= shown_from:
            progress.start()
            progress.refresh()

    try:
        yield report
    finally:
        later.cancel()
        if drawn_by_itself:
            later.join()
        progress.stop()
