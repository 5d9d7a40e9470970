"""Which ciphertexts may have the same errors: by which layers they were made, with a mark of each
value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Marks = np.ndarray[Any, np.dtype[np.uint64]]
Origins = dict[int, list[Marks]]


def united(parts: Sequence[Origins]) -> tuple[Origins, bool]:
    """The origins of a sum or of joined rows, and whether two of them may have an error in common
    that counts: layers below 0 are fresh."""
    origins: Origins = {}
    common = False
    for part in parts:
        for layer, held in part.items():
            known = origins.get(layer)
            if known is None:
                origins[layer] = held
                continue
            new = [marks for marks in held if not any(marks is each for each in known)]
            if layer >= 0 and not common:
                common = len(new) < len(held)
                common = common or any(np.any((a == b) & (a > 0)) for a in known for b in new)
            origins[layer] = [*known, *new]
    return origins, common


def marks_of(origins: Origins, size: int) -> Marks:
    """Marks of what follows from these: equal only where all of their marks are."""
    made = np.ones(size, dtype=np.uint64)
    for layer, held in sorted(origins.items()):
        for marks in held:
            mixed = (marks + np.uint64(layer % 2**32)) * np.uint64(0x9E3779B97F4A7C15)
            made = (made ^ (mixed >> np.uint64(29)) ^ mixed) * np.uint64(0xBF58476D1CE4E5B9)
    return made | np.uint64(1)
