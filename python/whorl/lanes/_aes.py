"""AES-128 (FIPS 197) on encrypted keys and blocks: 32,768 blocks at once."""

from __future__ import annotations

import functools

import numpy as np

from .._core.array import concatenate, stack
from ..errors import ShapeError
from ._server import LaneArray

BITS, BYTES, ROUNDS = 8, 16, 10
KEY_LEVELS = 7
"""Those of a round's key: of the table in a round and of all sums but the last, or it would draw
the state down."""


def aes128(key: LaneArray, blocks: LaneArray) -> LaneArray:
    """Encrypts a block in each lane.

    Args:
        key: shape (8, 16): bit i of byte j, the lowest bit first; another key in each lane, or one
            in all.
        blocks: shape (8, 16, ...), in the same order.

    The result has the shape of `blocks`. In counter mode blocks are counters, which
    `Server.known` makes of what everybody knows, and the result ^ a ciphertext is its plaintext,
    as lanes. So a client sends AES's ciphertexts, which are as short as the data, and a server
    computes on what is in them (transciphering). `ShapeError` for other shapes.
    """
    if key.shape != (BITS, BYTES) or blocks.shape[:2] != (BITS, BYTES):
        raise ShapeError(
            f"aes128: shapes {key.shape} and {blocks.shape} are not (8, 16) and (8, 16, ...)"
        )
    server, sbox = blocks.server, _tables()[0]
    more = (1,) * (blocks.ndim - 2)
    state = blocks ^ key.reshape(BITS, BYTES, *more)
    rows = np.arange(BYTES) % 4
    shifted = (np.arange(BYTES) + 4 * rows) % BYTES  # ShiftRows: byte r + 4c is row r, column c
    constant = 1
    for round in range(1, ROUNDS + 1):
        key, constant = _next_key(key, constant), _doubled(constant)
        # Gates would refresh a copy of it for each block.
        if key.level < server.parameters.least_bootstrap_level + KEY_LEVELS:
            server.refresh(key)
        turned = key.reshape(BITS, BYTES, *more)
        if round == ROUNDS:
            return server.lookup(state, sbox)[:, shifted] ^ turned
        # SubBytes, and twice its results.
        made = server.lookup(state, _tables()[1])[:, shifted]
        once, twice = made[:BITS], made[BITS:]

        def row(distance: int, of: LaneArray) -> LaneArray:
            """The byte of each column that lies so many rows below."""
            return of[:, np.arange(BYTES) // 4 * 4 + (rows + distance) % 4]

        # MixColumns and AddRoundKey: the sum of six bits.
        first, second = twice ^ row(1, twice), row(1, once) ^ row(2, once)
        state = (first ^ second) ^ (row(3, once) ^ turned)
    raise AssertionError  # the last round returns


def _next_key(key: LaneArray, constant: int) -> LaneArray:
    """The next round's key (FIPS 197, §5.2)."""
    words = [key[:, 4 * i : 4 * i + 4] for i in range(4)]
    made = key.server.lookup(words[3][:, [1, 2, 3, 0]], _tables()[0])
    flipped = [~made[i, :1] if constant >> i & 1 else made[i, :1] for i in range(BITS)]
    word = concatenate([stack(flipped), made[:, 1:]], axis=1)
    out = []
    for each in words:
        word = each ^ word
        out.append(word)
    return concatenate(out, axis=1)


def _doubled(x: int) -> int:
    """x·X modulo X^8 + X^4 + X^3 + X + 1."""
    return 2 * x ^ (0x11B if x & 0x80 else 0)


@functools.cache
def _tables() -> tuple[list[int], list[int]]:
    """The S-box (FIPS 197, §5.1.1), and with it in the lower byte twice its entry above."""
    power, powers = 1, []
    for _ in range(255):  # of X + 1, which generates all
        powers.append(power)
        power ^= _doubled(power)
    place = {value: i for i, value in enumerate(powers)}
    sbox = []
    for x in range(256):
        inverse = powers[-place[x] % 255] if x else 0
        turned = (inverse << i | inverse >> 8 - i for i in range(5))
        sbox.append(functools.reduce(int.__xor__, turned) & 0xFF ^ 0x63)
    return sbox, [s | _doubled(s) << 8 for s in sbox]
