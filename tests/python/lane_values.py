"""What tests of lanes share: a client and a server in a small ring, and numbers as bits."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from whorl import ckks, lanes

LANES = 64
Clear = np.ndarray[Any, np.dtype[np.bool_]]


@functools.cache
def parameters(depth: int = 9) -> ckks.Parameters:
    """Those that are chosen, in a smaller ring, which is not secure."""
    literal = {**ckks.parameters(depth, bootstrap=True).literal(), "N": 1024, "name": "toy"}
    return ckks.parameters(literal=literal, allow_insecure=True)


@functools.cache
def party() -> tuple[lanes.Client, lanes.Server]:
    client = lanes.Client(parameters())
    keys = client.evaluation_keys(LANES, rotations=[1])
    return client, lanes.Server(keys, device="cpu")


def random_bits(seed: int, *shape: int) -> Clear:
    return np.random.default_rng(seed).integers(0, 2, (*shape, LANES)).astype(np.bool_)


def as_bits(values: Any, bits: int) -> Clear:
    """The lowest bit first, along a first axis."""
    numbers = np.asarray(values)
    return (numbers >> np.arange(bits).reshape(-1, *[1] * numbers.ndim) & 1).astype(np.bool_)


def as_numbers(bits: Any) -> Any:
    return sum(row.astype(np.int64) << i for i, row in enumerate(bits))
