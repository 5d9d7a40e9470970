"""Keys that a client gives away: evaluation keys for servers, a public key for encryption."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .._saved import Keys
from .._server import bgv as _lib
from ._ciphertexts import Ciphertexts
from ._parameters import Parameters
from ._values import Packing, as_vectors, least_message

MAX_BYTES = 1 << 34
"""Keys for 16 rotations at depth 24 take 3 GB."""


class _Key(Keys[Parameters]):
    """What both kinds of keys have in common."""

    __slots__ = ()

    _most = MAX_BYTES
    _parameters_type = Parameters


class EvaluationKeys(_Key):
    """Keys of relinearisation and rotations; `Client.evaluation_keys` makes them.

    They hold nothing secret: they may be saved, sent and pickled. The uniform halves travel as
    seeds. (OpenFHE: the keys of EvalMultKeyGen and EvalRotateKeyGen.)
    """

    __slots__ = ()

    _core: _lib.EvaluationKeys
    _reader = _lib.EvaluationKeys
    _made_by = "Client.evaluation_keys()"

    @property
    def relinearise(self) -> int:
        """Largest number of parts that can be brought back to two; 2: there is no such key."""
        return max((power for g, power in self._core.contents if g == 1), default=1) + 1

    @property
    def rotations(self) -> tuple[int, ...]:
        """Columns that rows can be rotated by, to the left, each in 1 … N/2 - 1, ascending."""
        N = self.parameters.N
        held = {g for g, _ in self._core.contents}
        found, g = [], 1
        for columns in range(1, N // 2):
            g = g * 3 % (2 * N)
            if g in held:
                found.append(columns)
        return tuple(found)

    @property
    def swap_rows(self) -> bool:
        """Whether rows can be exchanged."""
        return (2 * self.parameters.N - 1, 1) in self._core.contents

    def _contents(self) -> str:
        rotations = len(self.rotations)
        return (
            f": relinearise={self.relinearise}, {rotations} rotation{'s' * (rotations != 1)}"
            f"{', swap_rows' if self.swap_rows else ''}"
        )


class PublicKey(_Key):
    """Encrypts, but cannot decrypt; `Client.public_key` makes it.

    It may be saved, sent and pickled. (OpenFHE: PublicKey.)
    """

    __slots__ = ()

    _core: _lib.PublicKey
    _reader = _lib.PublicKey
    _made_by = "Client.public_key()"

    def encrypt(self, values: ArrayLike, packing: Packing = "slots") -> Ciphertexts:
        """Like `Client.encrypt`, with a little more noise.

        Files are twice as large, since there is no seed.
        """
        # Encryption is the client's half of the library, which a server does without.
        from .._client import bgv as _client

        parameters = self.parameters
        vectors, shape, length = as_vectors(
            values, parameters, "values", least_message(parameters.t)
        )
        batch = _client.encrypt(self._core, vectors, packing, length)
        return Ciphertexts._wrap(batch, shape, parameters)
