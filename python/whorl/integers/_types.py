"""Types of encrypted integers, and integers from users in them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.integers import Integers, refuse, whole_numbers
from .._core.literal import as_integer
from ..errors import EncodingError

MOST_BITS = 256


@dataclasses.dataclass(frozen=True)
class Kind:
    """How many bits integers have, and whether they are signed."""

    bits: int
    signed: bool = False

    @property
    def low(self) -> int:
        """The least one."""
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def high(self) -> int:
        """The largest one."""
        return self.low + (1 << self.bits) - 1

    def wrap(self, value: int) -> int:
        """The one that is equal modulo 2^bits."""
        return self.low + (value - self.low) % (1 << self.bits)

    def __str__(self) -> str:
        return f"{self.bits} bits{', signed' if self.signed else ''}"


def as_kind(bits: Any, signed: Any) -> Kind:
    """`ParameterError` unless there are 1 … 256 bits, `TypeError` unless `signed` is a bool."""
    if not isinstance(signed, (bool, np.bool_)):
        raise TypeError(f"signed: a bool is needed, not {type(signed).__name__}")
    return Kind(as_integer("bits", bits, 1, MOST_BITS), bool(signed))


def kind_of_values(values: Any) -> Kind:
    """The type of NumPy's integers and bools, for which no bits are given."""
    dtype = getattr(values, "dtype", None)
    if dtype is None or dtype.kind not in "iub":
        raise TypeError("bits: how many are needed, unless values are an array of NumPy's integers")
    return Kind(1 if dtype.kind == "b" else 8 * dtype.itemsize, dtype.kind == "i")


def as_values(values: ArrayLike, kind: Kind, field: str) -> Integers:
    """Integers of a type as Python's, shape kept.

    `TypeError` for what is no integer; `EncodingError` for one that the type does not have. Both
    name the entry and its index.
    """
    array = whole_numbers(values, field)
    given = np.empty(array.shape, dtype=np.object_)
    flat = given.reshape(-1)
    for place, value in enumerate(array.reshape(-1).tolist()):
        flat[place] = int(value)
    wrong = np.array([not kind.low <= each <= kind.high for each in flat], dtype=np.bool_)
    what = f"outside {kind.low} … {kind.high}, the integers of {kind}"
    refuse(given, wrong, field, what, EncodingError)
    return given


def as_numbers(values: Any, kind: Kind) -> np.ndarray[Any, np.dtype[Any]]:
    """Python's integers as NumPy's where there are such: bools of one bit, int64 and uint64 of up
    to 64 bits, and objects of more."""
    if kind == Kind(1):
        dtype: Any = np.bool_
    elif kind.bits <= 64:
        dtype = np.int64 if kind.signed else np.uint64
    else:
        dtype = np.object_
    return np.array(values, dtype=dtype)
