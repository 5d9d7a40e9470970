"""Files of networks: a header of JSON, and numbers behind it. Nothing in them is code.

A file is the eight bytes `WHORLNN1`, the header's length in eight bytes (little-endian), the
header, and the numbers: doubles, little-endian, one array after another. BLAKE2b of all that, 32
bytes, comes last. A reader checks sizes, kinds, numbers and shapes before it uses them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import struct
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..errors import (
    CorruptionError,
    FormatError,
    OversizedError,
    RangeError,
    TruncatedError,
    VersionError,
)
from ._graph import Numbers

MAGIC, VERSION = b"WHORLNN", b"1"
HEAD, DIGEST = 16, 32
MOST_HEADER = 2**26
MOST_BYTES = 2**34
MOST_NUMBER = 2**1023

T = TypeVar("T")


class Writer:
    """Collects arrays; `bytes` has the file."""

    magic = MAGIC

    def __init__(self) -> None:
        self._arrays: list[Numbers] = []

    def array(self, values: Numbers | None) -> dict[str, Any] | None:
        """The place of an array, for the header."""
        if values is None:
            return None
        self._arrays.append(np.ascontiguousarray(values, dtype="<f8"))
        return {"array": len(self._arrays) - 1, "shape": list(values.shape)}

    def bytes(self, header: dict[str, Any]) -> bytes:
        """The file with a header."""
        text = json.dumps({**header, "sizes": [a.size for a in self._arrays]}).encode()
        body = b"".join(a.tobytes() for a in self._arrays)
        whole = self.magic + VERSION + struct.pack("<Q", len(text)) + text + body
        return whole + hashlib.blake2b(whole, digest_size=DIGEST).digest()


class Reader:
    """The header of a file, checked piece by piece, and its arrays."""

    magic, noun = MAGIC, "network"

    def __init__(self, data: bytes, max_bytes: int | None = None) -> None:
        """`OversizedError`, `TruncatedError`, `VersionError`, `CorruptionError` or `FormatError`
        for what is no such file."""
        noun = self.noun
        most = MOST_BYTES if max_bytes is None else max_bytes
        if len(data) > most:
            raise OversizedError(f"a {noun} of {len(data)} bytes is above {most}")
        if len(data) < HEAD + DIGEST:
            raise TruncatedError(f"{len(data)} bytes are no {noun}: {HEAD + DIGEST} are the least")
        if data[:7] != self.magic:
            begin = self.magic.decode()
            raise FormatError(f"these bytes are no {noun}: they do not begin with {begin}")
        if data[7:8] != VERSION:
            raise VersionError(f"a {noun} of version {data[7:8]!r}; this build reads {VERSION!r}")
        if hashlib.blake2b(data[:-DIGEST], digest_size=DIGEST).digest() != data[-DIGEST:]:
            raise CorruptionError(f"a {noun}'s digest does not match: bytes were changed")
        (length,) = struct.unpack("<Q", data[8:HEAD])
        if length > MOST_HEADER:
            raise OversizedError(f"a {noun}'s header of {length} bytes is above {MOST_HEADER}")
        if HEAD + length + DIGEST > len(data):
            raise TruncatedError(f"a {noun}'s header has {length} bytes, which are not there")
        try:
            header = json.loads(data[HEAD : HEAD + length].decode())
        except (ValueError, RecursionError) as error:
            raise FormatError(f"a {noun}'s header is no JSON: {error}") from None
        self.header = Fields(header, noun)
        sizes = self.header.items("sizes", lambda value, field: whole(value, field, 0, most))
        body = data[HEAD + length : len(data) - DIGEST]
        if 8 * sum(sizes) != len(body):
            raise TruncatedError(f"{sum(sizes)} numbers are announced in {len(body)} bytes")
        values = np.frombuffer(body, dtype="<f8").astype(np.float64)
        if not np.isfinite(values).all():
            raise RangeError(f"a {noun}'s numbers are not all finite")
        self._arrays = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []

    def array(self, place: Any, field: str) -> Numbers:
        """An array that the header names."""
        shape = Fields(place, field).shape("shape")
        numbers = self.numbers(place, field)
        if math.prod(shape) != numbers.size:
            raise RangeError(f"{field}: shape {shape} does not have {numbers.size} numbers")
        return numbers.reshape(shape)

    def numbers(self, place: Any, field: str) -> Numbers:
        """The numbers of an array that the header names, in one row."""
        return self._arrays[Fields(place, field).whole("array", 0, len(self._arrays) - 1)]


@dataclasses.dataclass(frozen=True)
class Fields:
    """A JSON object from outside."""

    values: Any
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.values, dict):
            raise FormatError(f"{self.name}: an object is needed")

    def get(self, field: str) -> Any:
        """A field; `FormatError` if it is missing."""
        if field not in self.values:
            raise FormatError(f"{self.name}: {field} is missing")
        return self.values[field]

    def whole(self, field: str, least: int, most: int) -> int:
        """A field that is an integer in a range."""
        return whole(self.get(field), f"{self.name}.{field}", least, most)

    def real(self, field: str) -> float:
        """A field that is a finite number."""
        return real(self.get(field), f"{self.name}.{field}")

    def text(self, field: str) -> str:
        """A field that is a text."""
        return text(self.get(field), f"{self.name}.{field}")

    def items(self, field: str, check: Callable[[Any, str], T]) -> list[T]:
        """A field that is a list, each item checked."""
        values = self.get(field)
        name = f"{self.name}.{field}"
        if not isinstance(values, list):
            raise FormatError(f"{name}: a list is needed")
        return [check(value, f"{name}[{i}]") for i, value in enumerate(values)]

    def shape(self, field: str) -> tuple[int, ...]:
        """A field that is a shape."""
        shape = tuple(self.items(field, lambda value, name: whole(value, name, 1, 2**26)))
        if len(shape) > 8 or math.prod(shape) > 2**31:
            raise RangeError(f"{self.name}.{field}: {shape} is too large")
        return shape


def whole(value: Any, field: str, least: int, most: int) -> int:
    """An integer in a range; else `RangeError`."""
    if type(value) is not int or not least <= value <= most:
        raise RangeError(f"{field}: {value!r:.40} is no integer from {least} to {most}")
    return value


def real(value: Any, field: str) -> float:
    """A finite number; else `RangeError`."""
    if type(value) not in (int, float) or not -MOST_NUMBER < value < MOST_NUMBER:
        raise RangeError(f"{field}: {value!r:.40} is no finite number")
    return float(value)


def text(value: Any, field: str) -> str:
    """A text of at most 1,000 letters; else `RangeError`."""
    if type(value) is not str or len(value) > 1000:
        raise RangeError(f"{field}: {value!r:.40} is no text of up to 1,000 letters")
    return value
