"""What client and server both know: sizes, encodings, and parameters.

Messages are integers modulo a power of two that fill the whole circle, without a padding bit.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from whorl.server.binfhe import Parameters, parameters

HERE = Path(__file__).parent
PIXELS, CLASSES = 28 * 28, 10
LEVELS = 16
"""How many values a pixel has, and a neuron."""


P = 2**12
"""Pixels, sums and neurons are modulo this."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A network's sizes. Layers are a matrix and a bias each; all but the last have neurons behind
    them."""

    hidden: tuple[int, ...]
    """How many neurons layers have."""
    step: int
    """Sums from one level of a neuron to the next: a neuron of the sum s is s // step, within
    0 … 15."""
    largest: tuple[int, ...]
    """Weights of each layer are within ± this."""
    together: int
    """How many images the server takes through the network at a time: on an H200, which does 528
    rotations at once, they take whole rounds, or nearly."""
    packed: Path
    """The trained network that comes with the application."""

    @property
    def range(self) -> tuple[int, int]:
        """The sums of which a neuron is what `step` says: see `neurons`."""
        return (LEVELS - 1) * self.step - P // 2, P // 2 - 1


KINDS = {
    "small": Kind((30,), 10, (7, 31), 88, HERE / "weights.npz"),
    "large": Kind((1024,) * 3, 12, (1, 1, 1, 7), 16, HERE / "weights-large.npz"),
}
"""The two networks of Xiao et al., §5.2, with encodings of our own."""
PARAMETERS = "W128_P128"
"""The default set. Weights were trained with errors that are at least as large as its own, and as
those of its unrolled rotations: train.py."""
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
LEAST_Q = 2**17
"""The least modulus of the LWE key under which sums of 784 fresh pixels have few errors."""
IMAGE_BYTES = PIXELS * 2049 * 8
"""What 784 ciphertexts take in memory at most: 12.9 MB under a ring key of dimension 2,048; 2.6
under the LWE key of the default set."""
MOST = 500
"""How many images a query has at most."""

Ints = npt.NDArray[np.int64]


def named(name: str, insecure: bool = False) -> Parameters:
    """One of SETS, or one of the library's sets. `ParameterError` for another name, and for a set
    of less than 128 bits unless `insecure`."""
    return parameters(SETS.get(name, name), allow_insecure=insecure)


def fresh(parameters: Parameters) -> dict[str, Any]:
    """How clients encrypt pixels, exactly: under the LWE key, where a ciphertext takes least and
    sums need no key switch; or under the ring key, where the LWE key's modulus is small, as in the
    paper's set. There 2^12 messages are more than a rotation tells apart, so that `allow_failure`
    must ask for them.
    """
    if parameters.q >= LEAST_Q:
        return {"p": P}
    return {"p": P, "under": "ring", "allow_failure": 1}


def levels_of(images: npt.NDArray[np.uint8]) -> Ints:
    """Images (count, 28, 28) of bytes as pixels (count, 784) of 0 … 15."""
    return np.rint(images.reshape(len(images), -1) * ((LEVELS - 1) / 255)).astype(np.int64)


def rectified(sums: Any, step: int) -> Any:
    """Neurons of sums: 0 below 0, then a level for each `step`, 15 from 15·`step` on."""
    return np.clip(sums // step, 0, LEVELS - 1)


def neurons(step: int) -> Ints:
    """The table of a neuron, of P sums modulo P.

    For m in the upper half of the circle, sums below 0, it is 15 less the neuron of m - P/2. So
    f(m) + f(m + P/2) = 15, and one rotation looks it up. It is 0 down to the least sum of
    `Kind.range`; sums below that, which nothing checks, give 1 … 15 in place of 0.
    """
    half = rectified(np.arange(P // 2), step)
    return np.concatenate([half, LEVELS - 1 - half])
