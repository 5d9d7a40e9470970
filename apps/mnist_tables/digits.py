"""Some of MNIST's digits, which the application carries.

usage: python apps/mnist_tables/digits.py FOLDER    MNIST's four idx files (.gz) -> digits.npz

The file has the first 500 digits of the test, with pixels of 16 levels.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.idx import Bytes, images_and_labels

from mnist_tables.layout import Ints, levels_of

PACKED = Path(__file__).with_name("digits.npz")
COUNT = 500


def load(path: Path = PACKED) -> tuple[Ints, Bytes]:
    """Pixels (count, 784) of 0 … 15 and labels (count,), as `pack` wrote them."""
    with np.load(path) as packed:
        return packed["pixels"].astype(np.int64), packed["labels"]


def read(folder: Path) -> tuple[Ints, Bytes]:
    """The same of all of MNIST's test."""
    images, labels = images_and_labels(folder, "t10k")
    return levels_of(images), labels


def pack(folder: Path, path: Path) -> None:
    """Writes the file of the application."""
    pixels, labels = read(folder)
    np.savez_compressed(path, pixels=pixels[:COUNT].astype(np.uint8), labels=labels[:COUNT])


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="digits.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=Path, default=PACKED, help="default: beside this script")
    arguments = parser.parse_args(argv)
    try:
        pack(arguments.folder, arguments.to)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
