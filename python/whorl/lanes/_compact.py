"""Bits that a client sends in coefficients, where they are short."""

from __future__ import annotations

from .. import ckks
from .._core.array import Shape
from .._core.part import Part
from .._ring.keys import RingKeys
from .._server import ckks as _lib


class CompactBits(RingKeys[ckks.Parameters]):
    """Encrypted bits of shape (..., lanes), as `lanes.Client.encrypt(bits, compact=True)` makes
    them: two bytes for as many bits as the parameters' bootstraps take in a coefficient.

    `lanes.Server.upload` takes them into lanes, by one bootstrap. They are saved, sent and pickled
    as `Ciphertexts` are, and are no array: indexing waits until they are lanes.
    """

    __slots__ = ()

    _core: _lib.CompactBits
    _reader = _lib.CompactBits
    _parameters_type = ckks.Parameters
    _made_by = "lanes.Client.encrypt(bits, compact=True)"

    shape = Part[Shape]("_core.shape", "The shape of the array of vectors that they become.")
    lanes = Part[int]("_core.length", "How many bits each vector has.")

    def _contents(self) -> str:
        return f", shape {self.shape}, {self.lanes:,} lanes"
