"""What client and server both know: sizes, encodings, and parameters.

Messages are integers modulo a power of two that fill the whole circle, without a padding bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from whorl.server.binfhe import Parameters, parameters

PIXELS, HIDDEN, CLASSES = 28 * 28, 30, 10
LEVELS = 16
"""How many values a pixel has, and a neuron."""
P_PIXELS, P_HIDDEN = 2**16, 2**12
"""Pixels, and sums of the first layer, are modulo the first; neurons and logits modulo the
second."""
FRESH: dict[str, Any] = {"p": P_PIXELS, "under": "ring", "allow_failure": 1}
"""How clients encrypt pixels. 2^16 messages are more than one rotation tells apart, so that
`allow_failure` must ask for them. Under the ring key fresh ones are still exact."""
STEP = 160
"""Sums from one level of a neuron to the next: a neuron of the sum s is s // 160, within 0 … 15."""
LOWEST, HIGHEST = (LEVELS - 1) * STEP - P_PIXELS // 2, P_PIXELS // 2 - 1
"""The sums of which a neuron is that: see `neurons`."""
PARAMETERS = "W128_P128"
"""Under it weights were trained, with its errors: train.py."""
SMALL = {
    "name": "SMALL",
    "source": "apps/mnist_tables: W128_P128 with a short key, which protects nothing",
    "n": 32,
    "q": 2**20,
    "N": 2048,
    "Q": 281474976694273,
    "Q_ks": 2**20,
    "key_switch": "product",
    "log_B_ks": 2,
    "ks_digits": 8,
    "gadget": [(32, 23, 1)],
    "lwe_secret": "binary",
    "transform": "fft",
}
SETS: dict[str, dict[str, Any]] = {"SMALL": SMALL}
IMAGE_BYTES = PIXELS * 2049 * 8
"""What 784 ciphertexts under a ring key of dimension 2,048 take in memory, 12.9 MB."""
TOGETHER, MOST = 32, 500
"""How many images the server takes through the network at a time, and in a query."""

Ints = npt.NDArray[np.int64]


def named(name: str, insecure: bool = False) -> Parameters:
    """One of SETS, or one of the library's sets. `ParameterError` for another name, and for a set
    of less than 128 bits unless `insecure`."""
    return parameters(SETS.get(name, name), allow_insecure=insecure)


def levels_of(images: npt.NDArray[np.uint8]) -> Ints:
    """Images (count, 28, 28) of bytes as pixels (count, 784) of 0 … 15."""
    return np.rint(images.reshape(len(images), -1) * ((LEVELS - 1) / 255)).astype(np.int64)


def rectified(sums: Any) -> Any:
    """Neurons of sums: 0 below 0, then a level for each `STEP`, 15 from 15·`STEP` on."""
    return np.clip(sums // STEP, 0, LEVELS - 1)


def neurons() -> Ints:
    """The table of a neuron, of 2^16 sums modulo 2^16.

    For m in the upper half of the circle, sums below 0, it is 15 less the neuron of m - 2^15. So
    f(m) + f(m + 2^15) = 15, and one rotation looks it up. It is 0 down to `LOWEST`; sums below
    that, which nothing checks, give 1 … 15 in place of 0.
    """
    half = rectified(np.arange(P_PIXELS // 2))
    return np.concatenate([half, LEVELS - 1 - half])
