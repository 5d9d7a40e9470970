"""Sorting numbers in each lane by a network of comparisons."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._core.array import concatenate
from ..errors import ShapeError
from ._integers import less, server_of
from ._server import LaneArray


def sort(x: LaneArray) -> LaneArray:
    """The numbers of each lane in order, the smallest one first.

    Args:
        x: shape (n, k, ...): k unsigned numbers of n bits along the second axis.

    The result has the same shape. The network is Batcher's merge exchange (Knuth, The Art of
    Computer Programming, vol. 3, §5.2.2, algorithm M), which sorts up to 8 numbers by the fewest
    comparisons that any network does: 19 for 8, in 6 layers. A comparison takes about 6n products,
    and all of a layer are done at once. `ShapeError` for fewer axes.
    """
    server = server_of(x)
    if x.ndim < 2 or not x.shape[0]:
        raise ShapeError(f"sort: shape {x.shape} has no axes of bits and of numbers")
    for low, high in layers(x.shape[1]):
        a, b = x[:, low], x[:, high]
        swap = less(b, a)
        rest = np.setdiff1d(np.arange(x.shape[1]), [*low, *high])
        made = concatenate(
            [server.where(swap, b, a), server.where(swap, a, b), x[:, rest]]
            if len(rest)
            else [server.where(swap, b, a), server.where(swap, a, b)],
            axis=1,
        )
        x = made[:, np.argsort([*low, *high, *rest])]
    return x


def layers(count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Which of so many numbers are compared, layer by layer: the smaller one goes to the first.

    >>> [list(zip(low, high)) for low, high in layers(4)]
    [[(0, 2), (1, 3)], [(0, 1), (2, 3)], [(1, 2)]]
    """
    top = 1 << max(count - 1, 0).bit_length() >> 1
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            low = [i for i in range(count - d) if i & p == r]
            if low:
                yield low, [i + d for i in low]
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2
