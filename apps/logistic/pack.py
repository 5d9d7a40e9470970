"""Packs MNIST's digits 3 and 8, as averages of 2 × 2 pixels, to the file of the application.

usage: python apps/logistic/pack.py FOLDER    MNIST's four idx files (.gz) -> digits.npz
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.idx import Bytes, images_and_labels

from logistic.digits import CLASSES, PACKED, SIDE


def averages(images: Bytes) -> Bytes:
    """Averages of 2 × 2 pixels, rounded: (images, 28, 28) to (images, 14·14)."""
    sums = images.reshape(-1, SIDE, 2, SIDE, 2).sum(axis=(2, 4), dtype=np.int64)
    rounded: Bytes = ((sums + 2) // 4).astype(np.uint8)
    return rounded.reshape(len(images), SIDE * SIDE)


def pack(folder: Path, path: Path) -> None:
    """Writes the file of the application."""
    arrays: dict[str, Any] = {}
    for name, prefix in (("training", "train"), ("test", "t10k")):
        images, labels = images_and_labels(folder, prefix)
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
