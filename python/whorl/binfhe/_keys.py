"""Keys that a client gives away: evaluation keys for servers, a public key for encryption."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Shape
from .._core.integers import as_modulus
from .._core.part import Part
from .._core.saved import Keys
from .._server import binfhe as _lib
from ._messages import ALLOWED_FAILURE, as_bool, as_messages, as_probability
from ._packed import PackedCiphertexts
from ._parameters import Parameters


class EvaluationKeys(Keys[Parameters]):
    """Blind-rotation and key-switching keys; `Client.evaluation_keys` makes them.

    They hold nothing secret: they may be saved, sent and pickled. The uniform halves travel as
    seeds. (OpenFHE: the keys of BTKeyGen.)
    """

    __slots__ = ()

    _core: _lib.EvaluationKeys
    _reader, _parameters_type = _lib.EvaluationKeys, Parameters
    _made_by = "Client.evaluation_keys()"


class PublicKey(Keys[Parameters]):
    """Encrypts, but cannot decrypt; `Client.public_key` makes it.

    It may be saved, sent and pickled. (OpenFHE: PublicKey.)
    """

    __slots__ = ()

    _core: _lib.PublicKey
    _reader, _parameters_type = _lib.PublicKey, Parameters
    _made_by = "Client.public_key()"

    noise = Part[float](
        "_core.noise",
        "Variance of the errors of what it encrypts, in units of that of a bootstrap to the ring "
        "key.",
    )

    def encrypt(
        self,
        messages: ArrayLike,
        p: int = 4,
        padding: bool = False,
        *,
        allow_failure: float = ALLOWED_FAILURE,
    ) -> PackedCiphertexts:
        """Like `Client.encrypt` with `under="ring"`, with more noise, which servers count.

        As many messages as the ring has coefficients are one ring ciphertext, of two words of Q a
        message; one of few messages takes the N words of c_1 whole. `Server.upload` takes them
        apart.

        >>> from whorl.binfhe import Client, Server, parameters
        >>> client = Client(parameters("W128_P128"))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> sent = client.public_key().encrypt([3, 1, 2], p=16)
        >>> client.decrypt(5 * server.upload(sent))
        array([15,  5, 10])
        """
        # Encryption is the client's half of the library, which a server does without.
        from .._client import binfhe as _client

        allowed = as_probability(allow_failure, "allow_failure")
        p = as_modulus(p, "p")
        encoding = p, as_bool("padding", padding)
        values = as_messages(messages, "messages", p)
        packed = _client.encrypt(self._core, values.reshape(-1), encoding, allowed)
        return PackedCiphertexts(packed)._reshaped(values.shape)

    def _zeros(self, shape: Shape, p: int, padding: bool) -> PackedCiphertexts:
        """Encryptions of zeros, which are known to be no other messages."""
        zeros = self.encrypt(np.zeros(shape, dtype=np.uint32), p, padding, allow_failure=1.0)
        return PackedCiphertexts(zeros._core.of_zeros())
