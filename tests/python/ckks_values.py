"""Values for CKKS's tests, and how close results are to them."""

from typing import Any

import numpy as np
from support import CkksKit
from whorl import ckks

Numbers = np.ndarray[Any, np.dtype[Any]]

LENGTHS = (1, 5)
"""Vectors have a single value, or a number of them that is no power of two. The tests of the C++
library go through more."""

DEVIATIONS = 16
"""How far values may be off, in deviations of the error that is stated. The largest errors are
products of two Gaussians, of a rounding and of the secret's value at a root: beyond t deviations
with a probability of about sqrt(πt)·exp(-2t), here 10^-13, and 10^-8 for t = 10. All tests
together compare some 2·10^5 values."""


def random_complex(generator: np.random.Generator, *shape: int) -> Numbers:
    """Numbers of absolute value at most 1."""
    size = np.sqrt(generator.uniform(0, 1, shape))
    return size * np.exp(2j * np.pi * generator.uniform(0, 1, shape))


def check(kit: CkksKit, got: ckks.EncryptedArray, expected: Any) -> None:
    """The result is a vector for each ciphertext, within its error and its bound."""
    values, wanted = kit.client.decrypt(got, raw=True), np.asarray(expected)
    assert values.shape == wanted.shape == (*got.shape, got.length)
    assert np.abs(values - wanted).max() <= DEVIATIONS * got.error
    assert np.abs(wanted).max() <= got.bound * (1 + 1e-9)
