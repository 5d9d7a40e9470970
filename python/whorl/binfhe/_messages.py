"""Integers from users, as the C++ library takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._integers import refuse, whole_numbers

Words = np.ndarray[Any, np.dtype[np.uint32]]


def as_messages(values: ArrayLike, field: str, p: int | None = None, name: str = "p") -> Words:
    """`values` as uint32, shape kept; with `p`, which users know by `name`, all are below it.

    `TypeError` for what is no integer (bools are), `EncodingError` for one that is negative, or not
    below p, or not below 2^32. Messages name the entry and its index.
    """
    array = whole_numbers(values, field)
    refuse(array, array < 0, field, "below 0")
    if p is not None and p >= 2:  # another p is the library's to refuse
        refuse(array, array >= p, field, f"not below {name} = {p}")
    refuse(array, array >= 2**32, field, "not below 2^32")
    return array.astype(np.uint32, order="C")
