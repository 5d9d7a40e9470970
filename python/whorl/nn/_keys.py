"""Which keys of rotations the maps of a network take, so that all keys together are small."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

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
    rest of the network asks for. A key for a level serves all below it, and grows with the level.
    So maps of neighbouring levels share keys: the levels are cut into runs, each of which takes the
    union of its rotations at its highest level; the highest run may take keys of all levels, some
    of which are there already.
    """
    usual = set(rotations)
    at_level: dict[int, set[int]] = {}
    for level, turns in maps:
        at_level.setdefault(level, set()).update(turns)
    levels = sorted((level for level, turns in at_level.items() if turns), reverse=True)
    held = set(as_request(parameters, 2, usual, False, 0, bootstrap, None).rotations)
    none = parameters.key_size(relinearise=2)
    of_usual = parameters.key_size(relinearise=2, rotations=[1]) - none

    def united(begin: int, end: int) -> set[int]:
        return set().union(*(at_level[level] for level in levels[begin:end]))

    @functools.cache
    def rest(begin: int) -> tuple[int, tuple[int, ...]]:
        """Bytes of the keys for the levels from number `begin` on, and where their runs end."""
        if begin == len(levels):
            return 0, ()
        at = levels[begin]
        each = parameters.key_size(relinearise=2, low_rotations={at: [1]}) - none
        ways = []
        for end in range(begin + 1, len(levels) + 1):
            size, ends = rest(end)
            ways.append((size + each * len(united(begin, end)), (end, *ends)))
        return min(ways)

    best = min(
        range(len(levels) + 1),
        key=lambda end: of_usual * len(united(0, end) - held) + rest(end)[0],
    )
    usual |= united(0, best) - held
    low: LowRotations = {}
    begin = best
    for end in rest(best)[1]:
        low[levels[begin]] = sorted(united(begin, end))
        begin = end
    return sorted(usual), low
