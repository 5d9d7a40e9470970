"""Messages in the coefficients of ring ciphertexts: short to send, and taken apart by servers."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from .._core.array import Shape
from .._core.part import Part
from .._core.saved import Keys
from .._server import binfhe as _lib
from ._parameters import Parameters


class PackedCiphertexts(Keys[Parameters]):
    """Encrypted messages of any shape, in ring ciphertexts: as many in each as it has coefficients.

    `PublicKey.encrypt` makes them, for `Server.upload`; and `Compressor.compress`, for
    `Client.decrypt`: the modulus of those is too small for servers. They are saved, sent and
    pickled as `Ciphertexts` are, and are no array: they cannot be indexed.
    """

    __slots__ = ()

    _core: _lib.PackedCiphertexts
    _reader, _parameters_type = _lib.PackedCiphertexts, Parameters
    _made_by = "PublicKey.encrypt() or Compressor.compress()"

    shape = Part[Shape]("_core.shape", "The shape of the array of messages.", tuple)
    p = Part[int]("_core.encoding", "Messages are 0 … p-1.", itemgetter(0))
    padding = Part[bool](
        "_core.encoding", "Whether a padding bit lies above the message.", itemgetter(1)
    )
    range = Part[tuple[int, int] | None](
        "_core.range", "The least and the largest integer that messages stand for, or None."
    )
    log2_modulus = Part[int](
        "_core.log2_modulus", "k if they are compressed to a modulus of 2^k; 0 if it is Q."
    )

    @property
    def ndim(self) -> int:
        """The number of axes of `shape`."""
        return len(self.shape)

    def _reshaped(self, shape: Shape) -> PackedCiphertexts:
        return PackedCiphertexts(self._core.reshaped(shape))

    def _contents(self) -> str:
        compressed = f", modulo 2^{self.log2_modulus}" if self.log2_modulus else ""
        return f", shape {self.shape}, p={self.p}{compressed}"

    def _facts(self) -> list[tuple[str, Any]]:
        """What `whorl info` says of a file besides its header."""
        modulus = f"2^{self.log2_modulus}, for clients" if self.log2_modulus else "Q, for servers"
        return [
            *self.parameters._details(),
            ("shape", str(self.shape)),
            ("p", f"{self.p}{', padded' if self.padding else ''}"),
            ("modulus", modulus),
        ]
