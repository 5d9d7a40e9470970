"""How far the polynomials of a network lead its results from the model's, on the examples."""

from __future__ import annotations

import warnings

import numpy as np

from ._graph import Numbers

MOST = 1 / 16
"""Larger differences are warned of: relative to the largest result of the channel."""


class PrecisionWarning(UserWarning):
    """Results of a network are far from the model's."""


def difference(got: Numbers, expected: Numbers, stacklevel: int) -> float:
    """The largest difference of results (batch, *shape) from the model's.

    A `PrecisionWarning` names the worst channel (entry of the first axis, without the batch's) if
    its results differ by more than 1/16 of the largest of them. Channels that are 0 have no such
    measure.
    """
    within = (0, *range(2, expected.ndim))
    off, largest = np.abs(got - expected).max(axis=within), np.abs(expected).max(axis=within)
    with np.errstate(over="ignore"):
        share = np.divide(off, largest, out=np.zeros_like(off), where=largest > 0)
    if (share > MOST).any():
        worst = int(share.argmax())
        warnings.warn(
            f"on the examples, results[:, {worst}] differ from the model's by up to "
            f"{off[worst]:.3g}, and are {largest[worst]:.3g} at most: polynomials are as close to "
            "functions as the range of the whole tensor says, which may be far above that of a "
            "channel. Take a smaller precision, or scale the layers so that channels have ranges "
            "alike",
            PrecisionWarning,
            stacklevel=stacklevel + 1,
        )
    return float(off.max())
