"""Integers from users, as the C++ library takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import EncodingError

Words = np.ndarray[Any, np.dtype[np.uint32]]


def as_messages(values: ArrayLike, field: str) -> Words:
    """`values` as uint32, shape kept.

    `TypeError` for what is not integers (bools are), `EncodingError` for one outside 0 … 2^32 - 1.
    """
    array = np.asarray(values)
    if array.size == 0:
        return array.astype(np.uint32)
    if array.dtype.kind not in "iub":
        raise TypeError(f"{field}: integers are needed, not {array.dtype}")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= 2**32:
        raise EncodingError(f"{field}: {low if low < 0 else high} is outside 0 … 2^32 - 1")
    return array.astype(np.uint32, order="C")
