"""AES-128 in clear, which lanes under an encrypted key are compared with."""

from typing import Any

import numpy as np


def aes_in_clear(
    key: np.ndarray[Any, np.dtype[Any]], blocks: np.ndarray[Any, np.dtype[Any]]
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """AES-128 (FIPS 197) of bytes along the last axis."""

    def doubled(x: Any) -> Any:
        return (x << 1 ^ np.where(x & 0x80, 0x1B, 0)) & 0xFF

    exponents = [1]
    for _ in range(254):
        exponents.append(exponents[-1] ^ int(doubled(exponents[-1])))
    inverse = {0: 0, **{x: exponents[-i % 255] for i, x in enumerate(exponents)}}
    turned = [[inverse[x] << i | inverse[x] >> 8 - i for i in range(5)] for x in range(256)]
    box = np.bitwise_xor.reduce(np.array(turned), axis=1) & 0xFF ^ 0x63
    rows = np.arange(16) % 4
    word_key, constant, state = np.array(key).reshape(4, 4), 1, blocks ^ key
    for round in range(1, 11):
        words = [word_key[0] ^ box[np.roll(word_key[3], -1)] ^ [constant, 0, 0, 0]]
        for word in word_key[1:]:
            words.append(words[-1] ^ word)
        word_key, constant = np.array(words), int(doubled(constant))
        state = box[state][..., (np.arange(16) + 4 * rows) % 16]
        if round < 10:
            below = [state[..., np.arange(16) // 4 * 4 + (rows + i) % 4] for i in range(4)]
            state = doubled(below[0] ^ below[1]) ^ below[1] ^ below[2] ^ below[3]
        state = state ^ word_key.reshape(16)
    return np.asarray(state, dtype=np.uint8)
