"""Plots of records: the same bits from the same records."""

from collections.abc import Iterable
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


def legend_beside(axis: Any, size: int = 8) -> None:
    if axis.has_data():
        axis.legend(frameon=False, fontsize=size, loc="center left", bbox_to_anchor=(1, 0.5))


def save(figure: Any, to: Path, drawn: bool = True) -> None:
    """Writes what was drawn."""
    if figure.get_layout_engine() is None:
        figure.tight_layout()
    if drawn:
        figure.savefig(to, metadata={"Date": None})
    plt.close(figure)
