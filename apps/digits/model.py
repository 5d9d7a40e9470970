"""The network: a convolution, squares, a dense layer, squares, a dense layer; its trained weights.

Its shape is that of CryptoNets (Gilad-Bachrach, Dowlin, Laine, Lauter, Naehrig, Wernsing, ICML
2016), with 4 channels and 64 hidden values. `train.py` makes the weights.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
from whorl import ckks, nn

PACKED = Path(__file__).with_name("weights.npz")
SIDE, CLASSES = 28, 10
CHANNELS, KERNEL, STRIDE, PADDING = 4, 5, 2, 2
SMALL = SIDE // STRIDE
HIDDEN = 64

IMAGES = 8
"""Images in a ciphertext: an image takes 1,024 slots of 8,192."""
DEPTH, SCALE_BITS = 5, 30
"""Three linear maps and two squares take a level each. A scale of 30 bits is one prime a level."""
MARGIN = 1.5
"""How much larger values may be than those of the examples."""
ERROR = 0.05
"""No logit of a ciphertext differs by more from that in clear; logits go up to 81."""

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Weights:
    """The convolution (channels, 1, 5, 5), both dense layers (outputs, inputs), and biases."""

    conv: Floats
    conv_bias: Floats
    dense: Floats
    dense_bias: Floats
    out: Floats
    out_bias: Floats


def load(path: Path = PACKED) -> Weights:
    """What `train.py` wrote."""
    with np.load(path) as packed:
        return Weights(**{name: packed[name].astype(np.float64) for name in packed.files})


def graph(weights: Weights, relu: bool = False) -> nn.Graph:
    """The network of images (1, 28, 28) of 0 … 1, in clear: `graph(weights)(images)` has logits.
    `relu`: with relus in place of squares, to compare."""
    b = nn.Builder((1, SIDE, SIDE))

    def activated(name: str, x: int) -> int:
        return b.function(name, x, "relu") if relu else b.product(name, x, x)

    stride, padding = (STRIDE, STRIDE), (PADDING, PADDING)
    x = b.windows("convolution", 0, weights.conv, weights.conv_bias, stride=stride, padding=padding)
    x = activated("first", x)
    x = b.linear("dense", x, weights.dense, weights.dense_bias)
    x = activated("second", x)
    return b.graph(b.linear("classes", x, weights.out, weights.out_bias))


def compiled(weights: Weights, examples: Floats) -> nn.Network:
    """The network on ciphertexts, with ranges of examples (count, 1, 28, 28)."""
    parameters = ckks.parameters(DEPTH, SCALE_BITS)
    return nn.compile(graph(weights), examples, margin=MARGIN, images=IMAGES, parameters=parameters)
