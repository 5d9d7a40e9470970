"""Encrypted integers in the host's memory, as they are sent."""

from __future__ import annotations

from typing import Any

from .. import binfhe, ckks
from .._core.array import Shape
from ..errors import EncodingError
from ._carry import Form
from ._circuit import SECTORS
from ._types import Kind, as_kind

CANONICAL = (-2, 3)
"""The range that digits of results state, if they have no carries; fresh ones state none."""
WITH_CARRIES = (-16, 15)
"""The range that they state otherwise."""
FLAGS = (0, 8)
"""The range of single bits that count 8, as comparisons give them."""


class Ciphertexts:
    """Encrypted integers as they are sent, and which integers they are: ciphertexts of digits of
    FHEW/TFHE along the first axis, the lowest one first, or of bits in lanes of CKKS. Digits that a
    public key encrypted, and compressed results, are `binfhe.PackedCiphertexts`.

    `data` is saved and loaded by its own methods (`data.save`, `binfhe.Ciphertexts.load`); bits and
    sign are not secret, and the receiver states them again. `EncodingError` for data that are not
    digits, or bits, of so many bits.
    """

    __slots__ = ("_data", "_kind")

    def __init__(
        self,
        data: binfhe.Ciphertexts | binfhe.PackedCiphertexts | ckks.Ciphertexts,
        bits: int,
        signed: bool = False,
    ) -> None:
        kind = as_kind(bits, signed)
        self._data, self._kind = data, kind
        if isinstance(data, ckks.Ciphertexts):
            if data.ndim == 0 or data.shape[0] != kind.bits:
                raise EncodingError(
                    f"data: integers of {kind} are so many vectors of lanes along the first axis; "
                    f"these have shape {data.shape}"
                )
            return
        if not isinstance(data, (binfhe.Ciphertexts, binfhe.PackedCiphertexts)):
            raise TypeError(f"data: binfhe.Ciphertexts are needed, not {type(data).__name__}")
        digits = Form(kind.bits, kind.signed).digits
        if data.p != SECTORS or data.padding or data.ndim == 0 or data.shape[0] != digits:
            raise EncodingError(
                f"data: integers of {kind} are {digits} digits along the first axis, of p = "
                f"{SECTORS} without padding; these have shape {data.shape}, p = {data.p}"
            )

    @property
    def data(self) -> Any:
        """Ciphertexts of digits, or of bits in lanes."""
        return self._data

    @property
    def nbytes(self) -> int:
        """Bytes of the ciphertexts in memory; of packed ones, as they are sent."""
        size: int = self._data.nbytes
        return size

    @property
    def kind(self) -> Kind:
        """Bits and sign."""
        return self._kind

    @property
    def bits(self) -> int:
        """How many bits each integer has."""
        return self._kind.bits

    @property
    def signed(self) -> bool:
        """Whether integers are signed."""
        return self._kind.signed

    @property
    def shape(self) -> Shape:
        """The shape of the array of integers."""
        lanes = (self._data.length,) if isinstance(self._data, ckks.Ciphertexts) else ()
        return (*self._data.shape[1:], *lanes)

    def __repr__(self) -> str:
        return f"<Ciphertexts of integers of {self._kind}, shape {self.shape}>"
