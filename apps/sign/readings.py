"""Readings of 13 sensors as signed 16-bit integers: the file that the application carries.

`pack.py` makes it from the chemical analyses of 178 wines that scikit-learn ships.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt

PACKED = Path(__file__).with_name("readings.npz")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Readings:
    """`counts`, shape (samples, sensors), in -2^15 … 2^15 - 1; a count stands for
    `middle` + count · `step` of the quantity measured."""

    counts: Ints
    middle: Floats
    step: Floats
    names: list[str]

    def quantity(self, counts: Ints) -> Floats:
        """What counts, sensors along the last axis, stand for."""
        found: Floats = self.middle + counts * self.step
        return found

    def limits(self, deviations: float) -> Ints:
        """For each sensor the count at so many standard deviations above its mean."""
        wanted = self.counts.mean(axis=0) + deviations * self.counts.std(axis=0)
        return np.clip(np.rint(wanted), -(2**15), 2**15 - 1).astype(np.int64)


def load(path: Path = PACKED) -> Readings:
    """What `pack.py` wrote."""
    with np.load(path) as packed:
        return Readings(
            counts=packed["counts"].astype(np.int64),
            middle=packed["middle"],
            step=packed["step"],
            names=[str(name) for name in packed["names"]],
        )
