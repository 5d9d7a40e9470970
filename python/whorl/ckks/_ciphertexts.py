"""Arrays of ciphertexts in the host's memory: what is encrypted, sent, kept and decrypted."""

from __future__ import annotations

import math
from typing import Any, Generic, TypeVar

from .._core.part import Part
from .._ring.arrays import RingAccounted, RingArray, RingCiphertexts, S
from .._server import ckks as _lib
from ._parameters import Parameters


class Accounted(RingAccounted):
    """Public facts about ciphertexts."""

    __slots__ = ()

    packing = Part[str](
        "_core.packing", "`complex` or `real`, which are in slots, or `coefficients`."
    )
    level = Part[int](
        "_core.level",
        "How often it can be rescaled: `parameters.depth` if fresh, 0 at the end (Lattigo: Level; "
        "OpenFHE counts from 0 upwards).",
    )
    scale = Part[float](
        "_core.scale", "Plaintexts are values times this (OpenFHE: GetScalingFactor)."
    )
    bound = Part[float](
        "_core.bound",
        """No value is larger, in absolute value. (With coefficients it bounds their sum.)

        It begins as `bound` of `encrypt`; operations make it larger, mostly more than the values.
        `with_bound` states a smaller one.
        """,
        lambda log2: 2.0**log2,
    )
    bounds = Part[tuple[float, float]](
        "_core.bounds",
        """Between which numbers real values in slots lie, as far as it is known.

        It begins as the pair that is the `bound` of `encrypt`; operations follow both ends. `bound`
        is the larger absolute value of them or more. Other packings have -bound and bound.
        """,
    )
    error = Part[float](
        "_core.error",
        """Estimated standard deviation of the error of each value (docs/ckks-noise.md).

        With coefficients it is √N times that.
        """,
        lambda log2: 2.0**log2,
    )

    @property
    def length(self) -> int:
        """Number of values of each vector. It is public, like the shape."""
        return int(self._core.vector or self._core.length)

    def _details(self) -> list[tuple[str, str]]:
        chosen = self.parameters
        return [
            ("packing", f"{self.packing} of N = {chosen.N:,}"),
            ("values of each", f"{self.length:,}"),
            ("level", f"{self.level} of {chosen.depth}"),
            ("scale", f"2^{math.log2(self.scale):.1f}"),
            ("parts", str(self.parts)),
            ("bound of the values", f"{self.bound:.4g}"),
            ("error", f"2^{self._core.error:.1f}, estimated"),
        ]

    def _about(self) -> str:
        return (
            f", {self.length} {self.packing} of N={self.parameters.N}, level {self.level} of "
            f"{self.parameters.depth}, scale 2^{math.log2(self.scale):.1f}, {self.parts} parts, "
            f"error 2^{self._core.error:.1f}"
        )


class Ciphertexts(Accounted, RingCiphertexts):
    """An immutable array of encrypted vectors under one key, of any shape.

    A ciphertext holds N/2 values in slots. A longer vector takes several ciphertexts, which are one
    element of the array.

    `Client.encrypt`, `PublicKey.encrypt` and `EncryptedArray.to_host` make them. Shape, indexing,
    iteration, `reshape`, `transpose`, `broadcast_to`, `concatenate` and `stack` are NumPy's, over
    the ciphertexts: the values inside one are no axis. `Server.upload` brings them to a device,
    where the operators are.

    >>> from whorl.ckks import Client, parameters
    >>> x = Client(parameters(depth=1)).encrypt([[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]])
    >>> x.shape, x[0].shape, x[0, ::2].shape, x.reshape(3).shape, len(x), x.packing
    ((1, 3), (3,), (2,), (3,), 1, 'real')
    """

    __slots__ = ()

    _core: _lib.Ciphertexts
    _reader = _lib.Ciphertexts
    _parameters_type = Parameters

    parameters = Part[Parameters]("_parameters", "Parameters that they were made under.")


class Uploaded(Accounted, RingArray[S, Ciphertexts], Generic[S]):
    """Encrypted vectors on the device of a server, whatever it does with them."""

    __slots__ = ()


EncryptedArray = TypeVar("EncryptedArray", bound=Uploaded[Any])
"""The arrays of a server, in those parts of it that the class of this name is made of."""
