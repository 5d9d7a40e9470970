"""What the simulated core did: how busy its units were, as rtl/sim/occupancy.h wrote it down."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

OCCUPANCY, WAVES = "occupancy.csv", "pipeline.vcd"
BIN = 64
"""Cycles."""
WAVES_SLOT, WAVES_CYCLES = 9, 1400
"""The waveform's window: the pipeline has filled, and a row comes back within it."""


def environment(folder: Path) -> dict[str, str]:
    """What a core that is made from now on records, and where."""
    return {
        "WHORL_RTL_OCCUPANCY": str(folder / OCCUPANCY),
        "WHORL_RTL_OCCUPANCY_BIN": str(BIN),
        "WHORL_RTL_WAVES": str(folder / WAVES),
        "WHORL_RTL_WAVES_SLOT": str(WAVES_SLOT),
        "WHORL_RTL_WAVES_CYCLES": str(WAVES_CYCLES),
    }


@dataclasses.dataclass(frozen=True)
class Occupancy:
    """Bins of time: `begin`, the first cycle of each, `cycles`, its length, and for each unit the
    cycles in which it was busy (slots: how many began; key_beats: the sum over the key's ports)."""

    begin: Numbers
    cycles: Numbers
    busy: dict[str, Numbers]

    @classmethod
    def load(cls, path: Path) -> Occupancy:
        """The file that the simulation wrote."""
        with path.open(encoding="utf-8") as file:
            names = file.readline().strip().split(",")
            table = np.loadtxt(file, delimiter=",", dtype=np.int64, ndmin=2)
        columns = dict(zip(names, table.T, strict=True))
        return cls(columns.pop("cycle"), columns.pop("cycles"), columns)

    def total(self, unit: str) -> int:
        """Busy cycles of all bins."""
        return int(self.busy[unit].sum())

    def where(self, unit: str, number: int) -> int:
        """The cycle at which the bin begins in which the unit was busy for the `number`th time."""
        return int(self.begin[np.searchsorted(np.cumsum(self.busy[unit]), number)])

    def part(self, first: int, last: int) -> Occupancy:
        """The bins that begin in cycles first … last - 1."""
        chosen = (self.begin >= first) & (self.begin < last)
        busy = {unit: counts[chosen] for unit, counts in self.busy.items()}
        return Occupancy(self.begin[chosen], self.cycles[chosen], busy)

    def coarser(self, most: int) -> Occupancy:
        """At most so many bins, each of several of these."""
        step = max(1, -(-len(self.begin) // most))
        starts = np.arange(0, len(self.begin), step)
        busy = {unit: np.add.reduceat(counts, starts) for unit, counts in self.busy.items()}
        return Occupancy(self.begin[starts], np.add.reduceat(self.cycles, starts), busy)
