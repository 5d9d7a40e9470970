"""Which inputs lead tensors out of the ranges that a network is fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._core.text import counted
from ._graph import Numbers
from ._steps import RefreshStep, Step, simulated

MOST = 1 + 2.0**-20
"""Values in slots are divided by their range; polynomials are for -1 … 1, and may round."""


class RangeWarning(UserWarning):
    """Inputs lead tensors of a network out of the ranges that it is fitted to."""


def watched(
    steps: Sequence[Step], names: Sequence[str], given: Numbers, images: int, count: int
) -> tuple[Numbers, dict[str, Numbers]]:
    """The slots of the result in clear; and the largest value for each of the first `count` inputs,
    relative to the range, of each step where one is outside.

    There a polynomial or a bootstrap that takes it may give any value; what maps, sums and products
    make of it has larger errors than are stated.
    """
    out: dict[str, Numbers] = {}
    values = given
    for step, name, values in zip(steps, names, simulated(steps, given), strict=True):
        if isinstance(step, RefreshStep):
            continue  # its operand is there
        each = np.abs(values.reshape(len(values), -1, images)).max(axis=1).reshape(-1)[:count]
        largest = each / max(1.0, step.bound)  # a term has the scale of its sum, and may be larger
        if not (largest <= MOST).all():
            out[name] = largest
    return values, out


def told(found: Mapping[str, Numbers], count: int) -> str:
    """What a warning says of them."""
    wrong = np.any([~(each <= MOST) for each in found.values()], axis=0)
    name, largest = next(iter(found.items()))
    return (
        f"of {counted(count, 'input')}, {wrong.sum()} lead to tensors out of their ranges, first "
        f"at {name} ({np.nanmax(largest):.3g} times its range): on ciphertexts their results may "
        "be wrong, and nobody can see it. `Network.outside` names all steps; compile the network "
        "with such examples, or with a larger margin"
    )
