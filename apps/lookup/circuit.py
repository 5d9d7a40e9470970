"""The selection: a matrix by diagonals, times an encrypted one-hot vector, then one row of it.

The N slots of a ciphertext are two rows of N/2. Each is cut into 256 groups of 16 slots, one group
for a place on a page; a group holds a layer of a cell, 32 numbers, 16 in each row of slots. A
client sends for each code

- `across`: 1 in all slots of the groups g = k (mod period), k the column of the code's page;
- `down`: 1 in all slots of the group of the code's place.

With T[k, g] the cell of column k at place g, the server computes for each layer of the table

1. page = Σ_j rot_j(across) · D_j, D_j[g] = T[(g + j) mod period, g], the diagonals of the table
   (Halevi, Shoup, CRYPTO 2014, §4.3): all 256 cells of column k, each in its group. The library's
   `Server.encode_diagonals` and `@` do this, in baby and giant steps;
2. row = page · down: the cell wanted in its group, zeros elsewhere;
3. the sum of all groups, in each group, by doubling. Whatever vectors a client sends, it gets one
   cell's worth of numbers a question.

Rotations are by groups here, to the left.
"""

from __future__ import annotations

import numpy as np
from whorl.bgv import EncryptedArray, Matrix, Parameters, Server, parameters, rotations_for

from .table import CELL, PLACES, Grid, Values

GROUP = CELL // 2  # slots, in each of the two rows of slots
N = 2 * PLACES * GROUP


def choose() -> Parameters:
    """128 bits or more; one product of ciphertexts, sums of 2^8 before it.

    The product with the table takes no level of its own: numbers below 2^16 in N slots add 28 bits
    of noise at most, for which the chain of this choice has room. The server checks the bound.
    """
    return parameters(depth=1, plain_modulus=65537, N=N, sums=8)


def rotations(grid: Grid) -> list[int]:
    """Columns that a server rotates by, for which it needs keys."""
    page = rotations_for(choose(), diagonals=[(grid.period, GROUP)])["rotations"]
    return sorted({*page, *(GROUP << i for i in range(PLACES.bit_length() - 1))})


def spread(groups: Values) -> Values:
    """Numbers of (..., PLACES) groups, or cells (..., PLACES, CELL), as slots (..., N)."""
    if groups.shape[-1] == PLACES:
        groups = np.broadcast_to(groups[..., None], (*groups.shape, CELL))
    halves = groups.reshape(*groups.shape[:-1], 2, GROUP)
    slots: Values = np.moveaxis(halves, -2, -3)
    return slots.reshape(*groups.shape[:-2], N)


def question(grid: Grid, codes: list[int]) -> Values:
    """What a client encrypts: (2, codes, N), across and down.

    A code on a page that holds nothing is asked for with zeros, so that there are as many
    questions as codes.
    """
    across = np.zeros((len(codes), PLACES), dtype=np.int64)
    down = np.zeros((len(codes), PLACES), dtype=np.int64)
    for index, code in enumerate(codes):
        column, place = grid.find(code)
        if column is not None:
            across[index, column :: grid.period] = 1
        down[index, place] = 1
    return spread(np.stack([across, down]))


def diagonals(grid: Grid, cells: Values) -> Values:
    """Plaintexts of step 1: (layers, period, N)."""
    groups = np.arange(PLACES)
    result = np.empty((grid.layers, grid.period, N), dtype=np.int64)
    for j in range(grid.period):
        result[:, j] = spread(cells[:, (groups + j) % grid.period, groups])
    return result


def prepare(server: Server, plain: Values) -> Matrix:
    """The diagonals on the server's device, encoded once for all questions."""
    return server.encode_diagonals(plain, GROUP)


def answer(
    server: Server, layers: Matrix, across: EncryptedArray, down: EncryptedArray
) -> EncryptedArray:
    """All three steps, for a batch of questions: of shape (layers, questions)."""
    rows = (across @ layers) * down
    step = 1
    while step < PLACES:
        rows = rows + rows.rotate(GROUP * step)
        step *= 2
    return server.shrink(rows)


def read(slots: Values) -> Values:
    """The cell that a decrypted answer (..., N) holds: (..., CELL)."""
    first, second = slots[..., :GROUP], slots[..., N // 2 : N // 2 + GROUP]
    return np.concatenate([first, second], axis=-1)
