"""Keys that a client gives away: evaluation keys for servers, a public key for encryption."""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from .._core.part import Part
from .._ring.keys import RingEvaluationKeys, RingKeys
from .._server import ckks as _lib
from ._ciphertexts import Ciphertexts
from ._parameters import Parameters
from ._values import Bound, Packing, encrypted


class EvaluationKeys(RingEvaluationKeys[Parameters]):
    """Keys of relinearisation, rotations, conjugation and bootstrapping.

    `Client.evaluation_keys` makes them.

    They hold nothing secret: they may be saved, sent and pickled. The uniform halves travel as
    seeds. (OpenFHE: the keys of EvalMultKeyGen and EvalRotateKeyGen; Lattigo:
    rlwe.MemEvaluationKeySet.)
    """

    __slots__ = ()

    _core: _lib.EvaluationKeys
    _reader, _parameters_type = _lib.EvaluationKeys, Parameters
    _generator, _reflection = 5, "conjugate"

    conjugate = Part[bool]("_reflects", "Whether values can be conjugated.")
    bootstrap = Part[tuple[int, ...]](
        "_core.bootstrap",
        "The numbers of slots for which ciphertexts can be refreshed, ascending.",
        tuple,
    )

    def _contents(self) -> str:
        slots = ", ".join(map(str, self.bootstrap))
        return super()._contents() + (f", bootstrap of {slots} slots" if slots else "")


class PublicKey(RingKeys[Parameters]):
    """Encrypts, but cannot decrypt; `Client.public_key` makes it.

    It may be saved, sent and pickled. (OpenFHE: PublicKey; Lattigo: rlwe.PublicKey.)
    """

    __slots__ = ()

    _core: _lib.PublicKey
    _reader, _parameters_type = _lib.PublicKey, Parameters
    _made_by = "Client.public_key()"

    def encrypt(
        self, values: ArrayLike, bound: Bound = 1.0, packing: Packing | None = None
    ) -> Ciphertexts:
        """Like `Client.encrypt`, with a larger error.

        Files are twice as large, since there is no seed.
        """
        # Encryption is the client's half of the library, which a server does without.
        from .._client import ckks as _client

        of_complex = partial(_client.encrypt, self._core)
        of_real = partial(_client.encrypt_real, self._core)
        batch, shape = encrypted(of_complex, of_real, values, bound, packing)
        return Ciphertexts._wrap(batch, shape, self.parameters)
