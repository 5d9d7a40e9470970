"""Encryption of integers by those who have a public key only, and what all clients encrypt."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import binfhe
from .._core.integers import Integers
from ._carry import Form
from ._ciphertexts import Ciphertexts
from ._circuit import SECTORS
from ._digits import digits_of
from ._types import Kind, as_kind, as_values, kind_of_values


def given_integers(
    values: ArrayLike, bits: int | None, signed: bool | None
) -> tuple[Integers, Kind]:
    """Integers from users, and their type; errors as of `Client.encrypt`."""
    known = kind_of_values(values) if bits is None else None
    width = known.bits if known else bits
    sign = bool(known and known.signed) if signed is None else signed
    kind = as_kind(width, sign)
    return as_values(values, kind, "values"), kind


def digits_to_encrypt(values: Integers, kind: Kind) -> Integers:
    """Digits along the first axis, as messages."""
    digits = digits_of(values.reshape(-1).tolist(), Form(kind.bits, kind.signed)) % SECTORS
    reshaped: Integers = np.reshape(digits, (digits.shape[0], *values.shape))
    return reshaped


class PublicClient:
    """Encrypts integers with the public key of a `binfhe.Client`, and cannot decrypt.

    >>> from whorl import binfhe, integers
    >>> owner = binfhe.Client(binfhe.parameters("W128_P128"))
    >>> client = integers.PublicClient(owner.public_key())
    >>> integers.Client(owner).decrypt(client.encrypt([5, -3], bits=8, signed=True))
    array([ 5, -3])
    """

    __slots__ = ("_key",)

    def __init__(self, key: binfhe.PublicKey) -> None:
        if not isinstance(key, binfhe.PublicKey):
            raise TypeError(f"key: a binfhe.PublicKey is needed, not {type(key).__name__}")
        self._key = key

    @property
    def parameters(self) -> binfhe.Parameters:
        """Parameters of the key."""
        return self._key.parameters

    def encrypt(
        self, values: ArrayLike, bits: int | None = None, signed: bool | None = None
    ) -> Ciphertexts:
        """Encrypts integers, in an array of the same shape; arguments and errors are those of
        `Client.encrypt`.

        `W128_P128` has room for 64 integers of 64 bits in a ring ciphertext of 24 KB, of which one
        integer alone takes 12.5 KB.
        """
        given, kind = given_integers(values, bits, signed)
        data = self._key.encrypt(digits_to_encrypt(given, kind), SECTORS)
        return Ciphertexts(data, kind.bits, kind.signed)
