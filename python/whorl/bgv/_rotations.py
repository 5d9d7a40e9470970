"""Which rotations a circuit takes, and so which keys a client makes for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from .._core.literal import as_integer
from .._core.text import shown
from .._server import bgv as _lib
from ..errors import ShapeError
from ._parameters import Parameters


class Rotations(TypedDict):
    """Arguments of `Client.evaluation_keys` and `Parameters.key_size`."""

    rotations: list[int]
    swap_rows: bool


def rotations_for(
    parameters: Parameters,
    *matrices: Sequence[int],
    sums: bool = False,
    diagonals: Sequence[tuple[int, int]] = (),
) -> Rotations:
    """The rotations that `x @ matrix`, `x.sum()`, `x.mean()` and `x.dot(y)` take.

    Args:
        parameters: of the keys.
        matrices: the shape (rows, columns) of each matrix that vectors are multiplied by; for
            `matrix @ x` the shape of the transpose.
        sums: whether sums, means or dot products are to be computed.
        diagonals: number and step of each array that `Server.encode_diagonals` is given.

    `client.evaluation_keys(**rotations_for(parameters, (10, 4), sums=True))` makes the keys.
    `ShapeError` for a shape that is not (rows, columns), or that has more than N columns.

    >>> from whorl.bgv import parameters
    >>> rotations_for(parameters(depth=1), (4, 4))
    {'rotations': [-4, 1, 2, 3], 'swap_rows': False}
    """
    found: set[int] = set()
    swap = False
    asked: list[tuple[list[int], bool]] = []
    for shape in matrices:
        if len(shape) != 2:
            raise ShapeError(f"matrices: {shown(shape)} must have the form (rows, columns)")
        rows, columns = (as_integer("matrices", side, 0, 2**32) for side in shape)
        for first in range(0, rows or 1, parameters.N):
            part = min(parameters.N, rows - first)
            asked.append(_lib.rotations_for_matrix(parameters._core, part, columns))
    for count, step in diagonals:
        asked.append(
            _lib.rotations_for_diagonals(
                as_integer("diagonals", count, 1, 2**32), as_integer("step", step, -(2**31), 2**31)
            )
        )
    if sums:
        asked.append(_lib.rotations_for_sum(parameters._core))
    for rotations, swaps in asked:
        found.update(rotations)
        swap = swap or swaps
    return {"rotations": sorted(found), "swap_rows": swap}
