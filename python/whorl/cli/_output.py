"""What commands share: consoles, tables, numbers for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


class _Output(Console):
    """Standard output; rich itself would end the process, with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class _Errors(Console):
    """Standard error; work goes on if nobody reads it."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


# What goes to a file or a pipe is not folded to a width.
out = _Output(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 1000)
err = _Errors(stderr=True, highlight=False, soft_wrap=True)


def warn(message: str) -> None:
    """Prints a warning."""
    err.print(f"whorl: warning: {' '.join(message.split())}", markup=False, style="yellow")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for number, column in enumerate(columns):  # names stay whole: people copy them
        shown.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        shown.add_row(*row)
    if out.is_terminal:
        out.print(shown)
        return
    with out.capture() as printed:  # rich pads every line to the longest
        out.print(shown)
    for line in printed.get().splitlines():
        out.print(line.rstrip(), markup=False)


def pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Prints names and values, one pair a line."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        out.print(f"{name:<{width}}  {value}", markup=False)


def size(count: int) -> str:
    """Bytes, as people read them."""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def duration(seconds: float) -> str:
    """A time in ms or s."""
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
