"""Which keys of rotations the maps of a network take, so that all keys together are small."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._server import networks as _lib
from ..ckks._parameters import Parameters, as_request

LowRotations = dict[int, list[int]]
"""The argument `low_rotations` of `Client.evaluation_keys`."""


def serves(
    low_rotations: Mapping[int, Iterable[int]], level: int, rotations: Iterable[int]
) -> bool:
    """Whether there are keys of low levels for a map of that level."""
    wanted = set(rotations)
    return any(at >= level and wanted <= set(held) for at, held in low_rotations.items())


def choose_keys(
    maps: Sequence[tuple[int, Iterable[int]]],
    parameters: Parameters,
    rotations: Iterable[int],
    bootstrap: Iterable[int],
) -> tuple[list[int], LowRotations]:
    """The arguments `rotations` and `low_rotations` with which keys take the fewest bytes.

    `maps` has the level and the rotations of each map; `rotations` and `bootstrap` are what the
    rest of the network asks for.
    """
    usual = set(rotations)
    held = as_request(parameters, 2, usual, False, 0, bootstrap, None).rotations
    asked = [(level, list(turns)) for level, turns in maps]
    more, low = _lib.choose_keys(asked, parameters._core, held)
    return sorted(usual.union(more)), dict(reversed(low.items()))


def file_size(parameters: Parameters, keys: Mapping[str, Any]) -> int:
    """Bytes of the file of the keys that `Client.evaluation_keys` makes with these arguments.

    Beside the keys it has what a file of parameters has, their number in 8 bytes, and zeros, so
    that what follows the 40 bytes about each key is aligned at 64 (docs/file-format.md).
    """
    frame = len(parameters.to_bytes()) + 8
    before = frame - 32 + 40 * parameters.key_count(**keys)  # a digest of 32 bytes comes last
    return parameters.key_size(**keys) + frame + -before % 64
