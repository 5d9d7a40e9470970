"""ResNet-20 for CIFAR-10: its graph, its weights, and what it is compiled with.

The weights come with the application (`weights.npz`, which `pack.py` makes).
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from whorl import nn
from whorl.server import ckks

PACKED = Path(__file__).with_name("weights.npz")
CLASSES = "plane car bird cat deer dog frog horse ship truck".split()
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
EPSILON = 1e-5  # of the normalisations
SET, MARGIN, PRECISION, MOST_KEY_BYTES = "W128_L16_B16", 1.1, 2.0**-9, 4 * 10**9

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Packed:
    """Weights by their names in torch (`conv1.weight`, `layer1.0.bn1.running_var`, …), and for each
    node of the graph the largest absolute value that CIFAR-10's test images have there."""

    weights: dict[str, Floats]
    seen: list[float]


def load(path: Path = PACKED) -> Packed:
    """What `pack.py` wrote."""
    with np.load(path) as packed:
        arrays = {name: packed[name].astype(np.float64) for name in packed.files}
    seen = arrays.pop("seen").tolist()
    return Packed(arrays, seen)


def graph_of(weights: Any, whole: bool = True) -> nn.Graph:
    """The network of He, Zhang, Ren, Sun (CVPR 2016, §4.2) for images of 32 × 32, with shortcuts
    that have no weights: every second pixel, and channels of zeros on both sides.

    `weights`: a mapping as in `Packed`. Without `whole` it ends with the first of the nine blocks,
    whose nodes are the first ones of the whole graph.
    """
    b = nn.Builder((3, 32, 32))

    def batch_norm(name: str, x: int) -> int:
        by = weights[f"{name}.weight"] / np.sqrt(weights[f"{name}.running_var"] + EPSILON)
        shift = weights[f"{name}.bias"] - weights[f"{name}.running_mean"] * by
        return b.scaled(name, x, by, shift)

    def convolved(name: str, norm: str, x: int, stride: int = 1) -> int:
        weight = weights[f"{name}.weight"]
        return batch_norm(norm, b.windows(name, x, weight, stride=(stride, stride), padding=(1, 1)))

    x = b.function("relu", convolved("conv1", "bn1", 0), "relu")
    for stage in (1, 2, 3):
        for block in range(3):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = convolved(f"{name}.conv1", f"{name}.bn1", x, stride)
            y = b.function(f"{name}.relu1", y, "relu")
            y = convolved(f"{name}.conv2", f"{name}.bn2", y)
            if stride == 2:
                x = b.windows(f"{name}.shortcut", x, shortcut(b.nodes[x].shape[0]), stride=(2, 2))
            x = b.function(f"{name}.relu2", b.sum(f"{name}.sum", y, x), "relu")
            if not whole:
                return b.graph(x)
    x = b.average("pool", x, (8, 8), (8, 8))
    return b.graph(b.linear("linear", x, weights["linear.weight"], weights["linear.bias"]))


def shortcut(channels: int) -> Floats:
    """A convolution of 1 × 1 from some channels to the middle of twice as many."""
    weight = np.zeros((2 * channels, channels, 1, 1))
    weight[np.arange(channels) + channels // 2, np.arange(channels)] = 1
    return weight


def normalised(images: npt.NDArray[np.uint8]) -> Floats:
    """Images (count, 3, 32, 32) of bytes as the network takes them."""
    each = (1, 3, 1, 1)
    scaled: Floats = (images / 255.0 - np.reshape(MEAN, each)) / np.reshape(DEVIATION, each)
    return scaled


def compiled(packed: Packed, examples: Floats, whole: bool = True) -> nn.Network:
    """The network, or its first block, for ciphertexts. Ranges are those of CIFAR-10's images and
    of the examples."""
    graph = graph_of(packed.weights, whole)
    return nn.compile(
        graph,
        examples,
        seen=packed.seen[: len(graph.nodes)],
        margin=MARGIN,
        precision=PRECISION,
        max_key_bytes=MOST_KEY_BYTES,
        parameters=ckks.parameters(SET),
    )
