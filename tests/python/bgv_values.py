"""Values for BGV's tests, and what operations make of them in the clear."""

from typing import Any

import numpy as np
from support import BgvKit

Ints = np.ndarray[Any, np.dtype[np.int64]]


def random_values(kit: BgvKit, shape: tuple[int, ...], generator: np.random.Generator) -> Ints:
    return generator.integers(0, kit.t, size=(*shape, kit.N))


def packing(kit: BgvKit) -> Any:
    return "slots" if kit.parameters.has_slots else "coefficients"


def product(kit: BgvKit, a: Ints, b: Ints) -> Ints:
    """Slot by slot, or of polynomials modulo X^N + 1."""
    if kit.parameters.has_slots:
        return a * b % kit.t
    rows = []
    for x, y in zip(a.reshape(-1, kit.N), b.reshape(-1, kit.N), strict=True):
        full = np.convolve(x, y)
        full = np.append(full, 0)
        rows.append((full[: kit.N] - full[kit.N :]) % kit.t)
    return np.array(rows).reshape(a.shape)


def rolled(values: Ints, columns: int) -> Ints:
    rows = values.reshape(*values.shape[:-1], 2, -1)
    return np.roll(rows, -columns, axis=-1).reshape(values.shape)
