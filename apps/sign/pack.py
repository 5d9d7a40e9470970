"""Packs scikit-learn's wines, as readings of 16-bit sensors, to the file of the application.

usage: python apps/sign/pack.py    -> readings.npz

A sensor's range is that of the data: from the lowest value, count -2^15, to the highest, 2^15 - 1.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sign.readings import PACKED


def pack(path: Path) -> None:
    """Writes the file of the application."""
    wines = load_wine()
    low, high = wines.data.min(axis=0), wines.data.max(axis=0)
    step = (high - low) / (2**16 - 1)
    counts = np.rint((wines.data - low) / step) - 2**15
    np.savez_compressed(
        path,
        counts=counts.astype(np.int16),
        middle=low + 2**15 * step,
        step=step,
        names=np.array([str(name).replace("_", " ") for name in wines.feature_names]),
    )


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="pack.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=PACKED, help="default: beside this script")
    pack(parser.parse_args(argv).to)


if __name__ == "__main__":
    main()
