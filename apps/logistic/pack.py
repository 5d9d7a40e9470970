"""Packs MNIST's digits 3 and 8, as averages of 2 × 2 pixels, to the file of the application.

usage: python apps/logistic/pack.py FOLDER    MNIST's four idx files (.gz) -> digits.npz
"""

from __future__ import annotations

import argparse
import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from logistic.digits import CLASSES, PACKED, SIDE, Bytes


def read_idx(path: Path) -> Bytes:
    """The array of an idx file. `ValueError` unless it holds as many bytes as it says."""
    data = gzip.decompress(path.read_bytes())
    if data[:3] != b"\0\0\x08":
        raise ValueError(f"{path}: no idx file of bytes")
    ends = 4 + 4 * data[3]
    shape = np.frombuffer(data[4:ends], dtype=">u4").astype(int)
    if len(data) != ends + shape.prod():
        raise ValueError(f"{path}: {len(data) - ends} bytes do not have the shape {shape.tolist()}")
    return np.frombuffer(data, dtype=np.uint8, offset=ends).reshape(shape)


def averages(images: Bytes) -> Bytes:
    """Averages of 2 × 2 pixels, rounded: (images, 28, 28) to (images, 14·14)."""
    sums = images.reshape(-1, SIDE, 2, SIDE, 2).sum(axis=(2, 4), dtype=np.int64)
    rounded: Bytes = ((sums + 2) // 4).astype(np.uint8)
    return rounded.reshape(len(images), SIDE * SIDE)


def pack(folder: Path, path: Path) -> None:
    """Writes the file of the application."""
    arrays: dict[str, Any] = {}
    for name, prefix in (("training", "train"), ("test", "t10k")):
        labels = read_idx(folder / f"{prefix}-labels-idx1-ubyte.gz")
        images = read_idx(folder / f"{prefix}-images-idx3-ubyte.gz")
        wanted = np.isin(labels, CLASSES)
        arrays[name] = averages(images[wanted])
        arrays[f"{name}_threes"] = labels[wanted] == CLASSES[0]
    np.savez_compressed(path, **arrays)


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="pack.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
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
