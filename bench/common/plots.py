"""Plots of records: the same bits from the same records."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

plt.rcParams.update({"svg.hashsalt": "whorl", "svg.fonttype": "none", "font.size": 9})

Curve = tuple[str, Iterable[tuple[float, float]], str, str | None]
"""Label, points, style of the line, colour."""


def curves(axis: Any, each: Iterable[Curve], **style: Any) -> bool:
    """Lines through points; whether there is any."""
    drawn = False
    for label, found, line, colour in each:
        points = list(found)
        if points:
            drawn = True
            known = {"color": colour} if colour else {}
            axis.plot(*zip(*points, strict=True), line, label=label, **known, **style)
    return drawn


def bars(axis: Any, rows: Iterable[tuple[str, float, str]], **named: str) -> None:
    """Bars with their values behind them: name, value, colour."""
    names, values, colours = zip(*rows, strict=True)
    drawn = axis.barh(names, values, color=colours)
    axis.invert_yaxis()
    axis.bar_label(drawn, labels=[f"{value:,.0f}" for value in values], padding=3)
    axis.set(**named)
    axis.margins(x=0.2)


def stacked(
    draw: Callable[..., Any],
    side: str,
    names: list[str],
    parts: dict[str, list[float]],
    colours: list[str],
    **style: Any,
) -> list[float]:
    """Bars of parts, one behind another: where they end. `draw` is `bar` or `barh` of an axis, and
    `side` what it calls the place where a part begins."""
    ends = [0.0] * len(names)
    for (label, sizes), colour in zip(parts.items(), colours, strict=True):
        draw(names, sizes, label=label, color=colour, **{side: ends}, **style)
        ends = [a + b for a, b in zip(ends, sizes, strict=True)]
    return ends


def scaled(axis: Any, x: str = "linear", y: str = "linear", **named: Any) -> None:
    """Scales, "linear", "log" or "log2", with a grid; and what `axis.set` names."""
    for scale, kind in ((axis.set_xscale, x), (axis.set_yscale, y)):
        if kind != "linear":
            scale("log", base=2 if kind == "log2" else 10)
    axis.set(**named)
    axis.grid(True, alpha=0.3)


def legend(axis: Any, size: int | None = None, **where: Any) -> None:
    if axis.has_data():
        axis.legend(frameon=False, fontsize=size, **where)


def legend_beside(axis: Any, size: int = 8) -> None:
    legend(axis, size, loc="center left", bbox_to_anchor=(1, 0.5))


def save(figure: Any, to: Path, drawn: bool = True) -> None:
    """Writes what was drawn."""
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    if drawn:
        figure.savefig(to, metadata={"Date": None})
    plt.close(figure)
