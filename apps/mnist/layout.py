"""What client and server both know: parameters, and where pixels and logits lie.

A ciphertext holds one pixel of many images, or one logit of them: an image is a slot.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from whorl import ckks

PIXELS, CLASSES = 28 * 28, 10
DEPTH, SCALE_BITS = 7, 50
"""Four matrices and three squares take a level each. The scale is large, since the stated error
adds up the deviations of a thousand inputs in each sum, as if all had one direction."""
DEVIATIONS = 16
"""How far a logit may be off, in deviations of the error that is stated with the answer. Errors are
products of two Gaussians at most, beyond t deviations with a probability of about exp(-2t)."""

Floats = npt.NDArray[np.float64]


def parameters() -> ckks.Parameters:
    """Those of the application."""
    return ckks.parameters(DEPTH, SCALE_BITS)


def insecure() -> ckks.Parameters:
    """The same primes in a ring of 1,024, which protects nothing: to try the protocol."""
    small = {**parameters().literal(), "N": 1024, "name": "insecure"}
    return ckks.parameters(literal=small, allow_insecure=True)


def pixels_of(images: Floats, slots: int) -> Floats:
    """Images (count, 784) as vectors to encrypt, (784, ciphertexts, length): image i is value
    i mod length of ciphertext i // length."""
    count = len(images)
    length = min(count, slots)
    padded = np.pad(images, ((0, -count % length), (0, 0)))
    return np.ascontiguousarray(padded.T).reshape(PIXELS, -1, length)


def logits_of(values: Floats, count: int) -> Floats:
    """Logits (count, 10) of decrypted vectors (10, ciphertexts, length)."""
    return values.reshape(CLASSES, -1)[:, :count].T
