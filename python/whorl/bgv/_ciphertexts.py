"""Arrays of ciphertexts in the host's memory: what is encrypted, sent, kept and decrypted."""

from __future__ import annotations

from .._core.part import Part
from .._ring.arrays import RingAccounted, RingCiphertexts
from .._server import bgv as _lib
from ._parameters import Parameters


class Accounted(RingAccounted):
    """Public facts about ciphertexts."""

    __slots__ = ()

    packing = Part[str]("_core.packing", "`slots` or `coefficients`.")
    factor = Part[int](
        "_core.factor",
        "The plaintext is the message times this factor, modulo t. Operations keep track of it.",
    )
    limbs = Part[int]("_core.limbs", "Primes of the chain that are left.")

    @property
    def length(self) -> int:
        """Number of values of each vector, which sums, dot products and matrices use.

        The slots behind them count as zeros. Fresh ciphertexts have the length of the last axis of
        the values. The result of two operands has the longer length. After a rotation, which moves
        values anywhere, the length is N. After a sum, which fills all slots with one value, it is
        1. With coefficients it is N. The length is public, like the shape. If it must stay secret,
        fill all vectors up to one common length.
        """
        return self._core.length or int(self.parameters.N)

    @property
    def level(self) -> int:
        """Number of primes of the chain that were dropped; 0 if fresh (OpenFHE: GetLevel)."""
        limbs: int = self.parameters.limbs
        return limbs - self.limbs

    noise_budget = Part[float](
        "_core.noise_budget",
        """Bits left by the bound of the noise, which is public: log2(Q/2) - noise.

        Decryption is right while it is positive. `Client.noise_budget` measures it.
        """,
    )

    def _details(self) -> list[tuple[str, str]]:
        chosen = self.parameters
        return [
            ("t", f"{chosen.t:,}"),
            ("packing", f"{self.packing} of N = {chosen.N:,}"),
            ("values of each", f"{self.length:,}"),
            ("level", f"{self.level} ({self.limbs} of {chosen.limbs} primes left)"),
            ("parts", str(self.parts)),
            ("noise budget", f"{self.noise_budget:.0f} bits, by the bound"),
        ]

    def _about(self) -> str:
        chosen = self.parameters
        return (
            f", {self.packing} of N={chosen.N} modulo {chosen.t}, "
            f"level {self.level} ({self.limbs} of {chosen.limbs} limbs), "
            f"{self.parts} parts, {self.noise_budget:.0f} bits of budget"
        )


class Ciphertexts(Accounted, RingCiphertexts):
    """An immutable array of encrypted vectors under one key, of any shape.

    A ciphertext holds N integers. A longer vector takes several ciphertexts, which are one element
    of the array.

    `Client.encrypt`, `PublicKey.encrypt` and `EncryptedArray.to_host` make them. Shape, indexing,
    iteration, `reshape`, `transpose`, `broadcast_to`, `concatenate` and `stack` are NumPy's, over
    the ciphertexts: the N values inside one are no axis. `Server.upload` brings them to a device,
    where the operators are.

    >>> from whorl.bgv import Client, parameters
    >>> x = Client(parameters(depth=1)).encrypt([[[1, 2], [3, 4], [5, 6]]])
    >>> x.shape, x[0].shape, x[0, ::2].shape, x.reshape(3).shape, len(x)
    ((1, 3), (3,), (2,), (3,), 1)
    """

    __slots__ = ()

    _core: _lib.Ciphertexts
    _reader = _lib.Ciphertexts
    _parameters_type = Parameters

    parameters = Part[Parameters]("_parameters", "Parameters that they were made under.")
