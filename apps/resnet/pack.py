"""Packs ResNet-20's weights, and how large CIFAR-10's images make its values, to the file of the
application.

usage: python apps/resnet/pack.py WEIGHTS.npz IMAGES.npz    -> weights.npz

WEIGHTS has the parameters by their names in torch: `numpy.savez` of the `state_dict` of Y.
Idelbayev's resnet20-12fca82f.th, https://github.com/akamaster/pytorch_resnet_cifar10, without
`module.` and the counters of batches. IMAGES has `images`, bytes of shape (count, 3, 32, 32): those
of CIFAR-10's test. No image is packed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from resnet.network import PACKED, Floats, graph_of, normalised

AT_ONCE = 100  # images


def largest(weights: Any, images: Any) -> Floats:
    """The largest absolute value that images (count, 3, 32, 32) have at each node."""
    graph = graph_of(weights)
    seen = np.zeros(len(graph.nodes))
    for first in range(0, len(images), AT_ONCE):
        tensors = graph.tensors(normalised(images[first : first + AT_ONCE]))
        seen = np.maximum(seen, [np.abs(tensor).max() for tensor in tensors])
    return seen


def pack(weights: Path, images: Path, path: Path) -> None:
    """Writes the file of the application: convolutions and the linear layer in half precision, as
    they then are used, and what normalises in single precision."""
    with np.load(weights) as given, np.load(images) as other:
        arrays: dict[str, Any] = {
            name: given[name].astype(np.float16 if given[name].ndim > 1 else np.float32)
            for name in given.files
        }
        arrays["seen"] = largest(
            {name: array.astype(np.float64) for name, array in arrays.items()}, other["images"]
        )
    np.savez_compressed(path, **arrays)


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="pack.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--to", type=Path, default=PACKED, help="default: beside this script")
    arguments = parser.parse_args(argv)
    try:
        pack(arguments.weights, arguments.images, arguments.to)
    except (KeyError, OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
