"""Which inputs lead tensors out of the ranges that a network is fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._core.text import counted
from ._graph import Numbers
from ._steps import PolynomialStep, RefreshStep, Step

MOST = 1 + 2.0**-20
"""Values in slots are divided by their range; polynomials are for -1 … 1, and may round."""


class RangeWarning(UserWarning):
    """Inputs lead tensors of a network out of the ranges that it is fitted to."""


def outside(
    steps: Sequence[Step], names: Sequence[str], tensors: Sequence[Numbers], images: int, count: int
) -> dict[str, Numbers]:
    """The largest value for each of the first `count` inputs, relative to the range, of each step
    where one is outside: where a polynomial or a bootstrap takes it, or where it is the result.
    Sums, maps and products stay right there."""
    taken = {
        i for step in steps if isinstance(step, (PolynomialStep, RefreshStep)) for i in step.inputs
    }
    out: dict[str, Numbers] = {}
    for number in sorted(taken | {len(steps) - 1}):
        if isinstance(steps[number], RefreshStep):
            continue  # its operand is there
        values = tensors[number]
        largest = np.abs(values.reshape(len(values), -1, images)).max(axis=1).reshape(-1)[:count]
        if not (largest <= MOST).all():
            out[names[number]] = largest
    return out


def told(found: Mapping[str, Numbers], count: int) -> str:
    """What a warning says of them."""
    wrong = np.any([~(each <= MOST) for each in found.values()], axis=0)
    name, largest = next(iter(found.items()))
    return (
        f"{wrong.sum()} of {counted(count, 'input')} lead tensors out of their ranges, first at "
        f"{name} ({largest.max():.3g} times its range): on ciphertexts their results may be wrong, "
        "and nobody can see it. `Network.outside` names all steps; compile the network with such "
        "examples, or with a larger margin"
    )
