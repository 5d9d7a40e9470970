"""Packs some of MNIST's digits to the file of the application.

usage: python apps/digits/pack.py FOLDER    MNIST's four idx files (.gz) -> digits.npz

The file has the first 256 digits for training, of which the network's ranges are taken, and the
first 256 for the test, or as many as `--test` says.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.idx import images_and_labels

from digits.digits import PACKED

COUNT = 256


def pack(folder: Path, path: Path, count: int) -> None:
    """Writes a file of the application, with so many digits for the test."""
    examples, _ = images_and_labels(folder, "train")
    test, labels = images_and_labels(folder, "t10k")
    np.savez_compressed(
        path, examples=examples[:COUNT], test=test[:count], test_labels=labels[:count]
    )


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="pack.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--test", type=int, default=COUNT, help="default: %(default)s")
    parser.add_argument("--to", type=Path, default=PACKED, help="default: beside this script")
    arguments = parser.parse_args(argv)
    try:
        pack(arguments.folder, arguments.to, arguments.test)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
