"""Files of images and labels in the form of MNIST's."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


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


def images_and_labels(folder: Path, part: str) -> tuple[Bytes, Bytes]:
    """MNIST's images (count, 28, 28) and labels (count,) of a part, `train` or `t10k`."""
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
    if len(images) != len(labels):
        raise ValueError(f"{folder}: {len(images)} images have {len(labels)} labels")
    return images, labels
