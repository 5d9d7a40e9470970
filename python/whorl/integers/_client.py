"""The client's half of encrypted integers: it encrypts and decrypts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import binfhe, lanes
from ..binfhe._client import Client as BinfheClient
from ..lanes._client import Client as LaneClient
from ._arrays import IntegerArray
from ._ciphertexts import FLAGS, Ciphertexts
from ._circuit import HALF, SECTORS
from ._digits import integers_of
from ._encryptor import digits_to_encrypt, given_integers
from ._lane_bits import as_bits, integers_of_bits
from ._types import as_numbers


class Client:
    """Encrypts integers under the key of a `binfhe.Client`, or of a `lanes.Client`, and decrypts
    them.

    >>> from whorl import binfhe, integers
    >>> client = integers.Client(binfhe.Client(binfhe.parameters("W128_P128")))
    >>> client.decrypt(client.encrypt([5, -3], bits=8, signed=True))
    array([ 5, -3])
    """

    __slots__ = ("_client",)

    def __init__(self, client: binfhe.Client | lanes.Client) -> None:
        if not isinstance(client, (BinfheClient, LaneClient)):
            raise TypeError(
                f"client: a binfhe.Client or a lanes.Client is needed, not {type(client).__name__}"
            )
        self._client: Any = client

    @property
    def parameters(self) -> Any:
        """Parameters of the key."""
        return self._client.parameters

    def encrypt(
        self, values: ArrayLike, bits: int | None = None, signed: bool | None = None
    ) -> Ciphertexts:
        """Encrypts integers, in an array of the same shape.

        Args:
            values: Python's integers, NumPy's, or nested lists of them.
            bits: 1 … 256; default: those of the type of a NumPy array.
            signed: whether negative ones are among the integers of the type; default: as the type
                of a NumPy array, and otherwise unsigned.

        An integer is encrypted as digits of 2 bits; in lanes as bits, and the last axis is that of
        the lanes. `EncodingError` for a value that the type does
        not have and `TypeError` for one that is no integer, both with its index; `ParameterError`
        for other bits; `TypeError` without bits, unless NumPy's type has them.
        """
        given, kind = given_integers(values, bits, signed)
        if isinstance(self._client, LaneClient):
            data = self._client.encrypt(as_bits(given, kind))
            return Ciphertexts(data, kind.bits, kind.signed)
        data = self._client.encrypt(digits_to_encrypt(given, kind), SECTORS, under="ring")
        return Ciphertexts(data, kind.bits, kind.signed)

    def decrypt(self, x: Ciphertexts | IntegerArray) -> np.ndarray[Any, np.dtype[Any]]:
        """The integers, of the same shape: int64 or uint64, bools if they have one bit, and objects
        if they have more than 64.

        The errors are those of `binfhe.Client.decrypt`, or of `lanes.Client.decrypt`.
        """
        given = x.server.download(x, carries=True) if isinstance(x, IntegerArray) else x
        if not isinstance(given, Ciphertexts):
            raise TypeError(f"integers.Ciphertexts are needed, not {type(x).__name__}")
        kind = given.kind
        if isinstance(self._client, LaneClient):
            bits = self._client.decrypt(given.data).reshape(kind.bits, -1)
            return as_numbers(integers_of_bits(bits, kind), kind).reshape(given.shape)
        digits = self._client.decrypt(given.data).reshape(given.data.shape[0], -1)
        if given.data.range == FLAGS:
            digits = digits // FLAGS[1]
        # Without a stated range a digit is the one of -16 … 15.
        digits = (digits + HALF) % SECTORS - HALF
        return as_numbers(integers_of(digits, kind.bits, kind.signed), kind).reshape(given.shape)
