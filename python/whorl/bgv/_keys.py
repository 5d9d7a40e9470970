"""Keys that a client gives away: evaluation keys for servers, a public key for encryption."""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from .._core.part import Part
from .._ring.keys import RingEvaluationKeys, RingKeys
from .._server import bgv as _lib
from ._ciphertexts import Ciphertexts
from ._parameters import Parameters
from ._values import Packing, encrypted


class EvaluationKeys(RingEvaluationKeys[Parameters]):
    """Keys of relinearisation and rotations; `Client.evaluation_keys` makes them.

    They hold nothing secret: they may be saved, sent and pickled. The uniform halves travel as
    seeds. (OpenFHE: the keys of EvalMultKeyGen and EvalRotateKeyGen.)
    """

    __slots__ = ()

    _core: _lib.EvaluationKeys
    _reader, _parameters_type = _lib.EvaluationKeys, Parameters
    _generator, _reflection = 3, "swap_rows"

    swap_rows = Part[bool]("_reflects", "Whether rows can be exchanged.")


class PublicKey(RingKeys[Parameters]):
    """Encrypts, but cannot decrypt; `Client.public_key` makes it.

    It may be saved, sent and pickled. (OpenFHE: PublicKey.)
    """

    __slots__ = ()

    _core: _lib.PublicKey
    _reader, _parameters_type = _lib.PublicKey, Parameters
    _made_by = "Client.public_key()"

    def encrypt(self, values: ArrayLike, packing: Packing = "slots") -> Ciphertexts:
        """Like `Client.encrypt`, with a little more noise.

        Files are twice as large, since there is no seed.
        """
        # Encryption is the client's half of the library, which a server does without.
        from .._client import bgv as _client

        encrypt = partial(_client.encrypt, self._core)
        return encrypted(encrypt, values, packing, self.parameters)
