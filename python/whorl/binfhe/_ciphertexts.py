"""Arrays of ciphertexts, in the host's memory and on a server's devices."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Generic, TypeVar

import numpy as np

from .._core.array import DeviceCiphertexts, HostArray, S
from .._core.part import Part
from .._server import binfhe as _lib
from ._messages import Words
from ._parameters import Parameters


class Encoded:
    """Public facts about ciphertexts."""

    __slots__ = ()

    parameters: Any

    p = Part[int]("_core.encoding", "Messages are 0 … p-1.", itemgetter(0))
    padding = Part[bool](
        "_core.encoding", "Whether a padding bit lies above the message.", itemgetter(1)
    )

    under = Part[str](
        "_core.under",
        """The secret key that they are under: `lwe` (dimension n, modulo q) or `ring` (N, Q).

        Gates and tables take both, and leave their results under the LWE key, or under the ring key
        with `under="ring"`. `Server.to_lwe_key` brings them from the ring key to the LWE key.
        """,
    )

    noise = Part[float](
        "_core.noise",
        """Variance of the errors, in units of that of a bootstrapped ciphertext under the same key;
        public.

        Arrays on a device have an upper bound of it. `Client.noise` measures errors.
        """,
    )

    largest = Part[int](
        "_core.largest",
        """The messages lie in 0 … largest, by what is known of them without a key; public.

        With padding this is p or more, up to 2p-1, where the padding bit may be set: after a sum
        with `modular=True`, after a padded table that is not exact, and for what older files hold.
        Padded tables refuse such arrays.
        """,
    )

    error_bound = Part[int](
        "_core.error_bound",
        """How far decrypted messages may be from those of exact tables, around the circle of p.

        Tables with `exact=False` promise this; sums add it up, each times its weight, and tables
        read on from messages that are so far off. What the noise passes with a probability of 2^-40
        is added. 0 where messages are exact; public.
        """,
    )

    failure_log2 = Part[float](
        "_core.failure_log2",
        """log2 of a bound on the probability that a message is further off than `error_bound`.

        It adds up the failures of all operations that a message is made of, and of decryption, so
        that what is used twice counts twice; `binfhe.plan` counts it once. Files keep it where
        tables with `exact=False` were on the way, and else start anew; public.
        """,
    )

    range = Part[tuple[int, int] | None](
        "_core.range",
        """The least and the largest integer that messages stand for, by `with_range`; or None.

        Sums, differences, products with integers, indexing and joining give the range that follows.
        `Client.decrypt` gives the integers of the range.
        """,
    )

    def _details(self) -> list[tuple[str, str]]:
        known = [("p", f"{self.p}{', padded' if self.padding else ''}")]
        if self.under == "ring":
            known.append(("under", "the ring key"))
        if self.range is not None:
            known.append(("range", "{:,} … {:,}".format(*self.range)))
        return known

    def _about(self) -> str:
        pad = ", padded" if self.padding else ""
        ring = ", under the ring key" if self.under == "ring" else ""
        return f", p={self.p}{pad}{ring}, {self.parameters.name or 'unnamed'}"


class Ciphertexts(Encoded, HostArray):
    """An immutable array of LWE ciphertexts (a, b) under one key, of any shape.

    `Client.encrypt` and `EncryptedArray.to_host` make them. Shape, indexing, iteration, `reshape`,
    `transpose`, `concatenate` and `stack` are NumPy's; 0-d and empty arrays are arrays like any
    other. `Server.upload` brings them to a device, where the operators are. `==` raises: whether
    two ciphertexts hold the same message can only be computed under encryption (XNOR) or after
    decryption.

    >>> from whorl.binfhe import Client, parameters
    >>> x = Client(parameters("W128_P64")).encrypt([[0, 1, 1], [1, 0, 1]])
    >>> x.shape, x[:, 1].shape, x[x.shape[0] - 1, ::2].shape, x.T.shape, len(x)
    ((2, 3), (2,), (2,), (3, 2), 2)
    """

    __slots__ = ()

    _core: _lib.Ciphertexts
    _reader = _lib.Ciphertexts
    _parameters_type = Parameters
    _may_be_empty = True

    parameters = Part[Parameters]("_parameters", "Parameters that they were made under.")

    @property
    def data(self) -> Words | np.ndarray[Any, np.dtype[np.uint64]]:
        """Words a_1 … a_n, b in Z_q: uint32 of shape `shape` + (n + 1,), read-only.

        Under the ring key a_1 … a_N, b in Z_Q: uint32 if Q is below 2^31, else uint64.
        """
        words = self._core.data
        return words.reshape(*self._shape, words.shape[-1])


class Uploaded(Encoded, DeviceCiphertexts[S, Ciphertexts], Generic[S]):
    """LWE ciphertexts on the devices of a server, whatever it does with them."""

    __slots__ = ()


EncryptedArray = TypeVar("EncryptedArray", bound=Uploaded[Any])
"""The arrays of a server, in that part of it that the class of this name is made of."""
