"""A picture of how busy the core's units are: over the whole computation, and in a few slots."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .core import MHZ
from .record import Occupancy

UNITS = {
    "key_beats": "key streamer",
    "io_read": "inputs read",
    "acc_read": "sequencer: rows read",
    "transform": "forward transforms",
    "bundle": "key bundle",
    "mac": "multiply and add",
    "inverse": "inverse transforms",
    "acc_write": "accumulator written",
    "drain": "samples drained",
    "ksk_beats": "switching key read",
    "key_switch": "key switching",
    "io_write": "results written",
}
"""In the order in which data passes; the sums of their busy cycles are of one stream, except those
of the key streamer, which are of all its ports."""


def fractions(occupancy: Occupancy, key_ports: int) -> dict[str, np.ndarray]:
    """The busy part of each bin, for each unit of the picture."""
    streams = {"key_beats": key_ports}
    return {
        unit: occupancy.busy[unit] / (occupancy.cycles * streams.get(unit, 1)) for unit in UNITS
    }


def draw(
    occupancy: Occupancy, key_ports: int, waveform: tuple[int, int], title: str, path: Path
) -> None:
    """Writes a PNG; `waveform`: the cycles of the waveform, which the lower part shows, too."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 1, figsize=(11, 8.6), layout="constrained")
    whole, part = occupancy.coarser(1100), occupancy.part(0, 2 * waveform[1] - waveform[0])
    for axes, shown, what in (
        (panels[0], whole, "the whole computation: blind rotation and key switching of each gate"),
        (panels[1], part, "the first slots; the waveform has what is between the lines"),
    ):
        edges = np.append(shown.begin, shown.begin[-1] + shown.cycles[-1])
        rows = np.array(list(fractions(shown, key_ports).values()))
        image = axes.pcolormesh(
            edges, np.arange(len(rows) + 1), rows, cmap="viridis", vmin=0, vmax=1, rasterized=True
        )
        totals = rows @ shown.cycles / shown.cycles.sum()
        names = zip(UNITS.values(), totals, strict=True)
        axes.set_yticks(np.arange(len(rows)) + 0.5)
        axes.set_yticklabels([f"{name}  {100 * each:.0f} %" for name, each in names], fontsize=9)
        axes.invert_yaxis()
        axes.set_xlabel("cycles")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_title(what, fontsize=10, loc="left")
        above = axes.secondary_xaxis("top", functions=(_microseconds, _cycles))
        above.xaxis.set_major_formatter("{x:,.0f}")
        above.set_xlabel(f"µs at {MHZ:.0f} MHz")
        axes.title.set_y(1.17)
    for cycle in waveform:
        panels[1].axvline(cycle, color="red", linewidth=1.5, linestyle="--")
    figure.colorbar(image, ax=panels, label="busy part of the cycles", shrink=0.6)
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _microseconds(cycles: np.ndarray) -> np.ndarray:
    return cycles / MHZ


def _cycles(microseconds: np.ndarray) -> np.ndarray:
    return microseconds * MHZ
