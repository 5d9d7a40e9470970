"""Bounds as text, rounded to the side on which they stay true."""

from __future__ import annotations

import math

_SLACK = 1e-9
"""Of tenths: what a double that stands for a tenth misses it by."""


def bits(security: float) -> str:
    """Bits of security, at least.

    >>> bits(131.29), bits(174.2)
    ('131.2', '174.2')
    """
    return f"{math.floor(security * 10 + _SLACK) / 10:.1f}"


def chance(log2: float) -> str:
    """A probability, at most, as a power of two.

    >>> chance(-105.71), chance(-64.0), chance(-math.inf)
    ('2^-105.7', '2^-64.0', '0')
    """
    if math.isinf(log2):
        return "0"
    return f"2^{math.ceil(log2 * 10 - _SLACK) / 10:.1f}"
