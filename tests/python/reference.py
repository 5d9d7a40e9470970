"""A bootstrap in Python's big integers, from the papers and the documented formats alone.

Nothing here is shared with the library: keys are read out of the file format
(docs/file-format.md), uniform halves are expanded by a ChaCha20 written out below (Bernstein 2008),
polynomials are multiplied as integers (Kronecker substitution) instead of by transforms. The steps
are those of GINX blind rotation (Chillotti, Gama, Georgieva, Izabachène, J. Cryptology 2020; for
ternary keys Micciancio, Polyakov, WAHC 2021) and of the contract in src/backend/contract.
"""

from dataclasses import dataclass

import numpy as np
from whorl.binfhe import Ciphertexts, EvaluationKeys

Poly = list[int]
HEADER = 64


# ---- uniform residues from a seed


def _quarter_round(x: np.ndarray, a: int, b: int, c: int, d: int) -> None:
    for target, source, turned, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[target] += x[source]
        x[turned] ^= x[target]
        x[turned] = (x[turned] << np.uint32(by)) | (x[turned] >> np.uint32(32 - by))


def chacha20(seed: bytes, nonces: range, size: int) -> np.ndarray:
    """`size` bytes of keystream a nonce: 256-bit key, 64-bit nonce, 64-bit counter from 0."""
    blocks = -(-size // 64)
    state = np.zeros((16, len(nonces), blocks), dtype=np.uint32)
    state[:4] = np.frombuffer(b"expand 32-byte k", dtype="<u4")[:, None, None]
    state[4:12] = np.frombuffer(seed, dtype="<u4")[:, None, None]
    state[12] = np.arange(blocks)
    state[14] = np.array(nonces)[:, None]
    x = state.copy()
    for _ in range(10):
        for column in range(4):
            _quarter_round(x, column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            _quarter_round(
                x, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4
            )
    words = np.ascontiguousarray((x + state).transpose(1, 2, 0))
    return words.reshape(len(nonces), -1).view(np.uint8)[:, :size]


def expand(seed: bytes, rows: int, modulus: int, count: int, word_bytes: int) -> list[list[int]]:
    """`count` residues a row: masked words of its keystream that are below the modulus."""
    mask = (1 << (modulus - 1).bit_length()) - 1
    spare = 0 if modulus == mask + 1 else 64 + count  # under half of the words are dropped
    result = []
    for first in range(0, rows, 1024):
        nonces = range(first, min(first + 1024, rows))
        stream = np.ascontiguousarray(chacha20(seed, nonces, word_bytes * (count + spare)))
        for words in stream.view(f"<u{word_bytes}") & mask:
            residues = words[words < modulus][:count] if spare else words
            result.append(residues.tolist())
    return result


# ---- keys


@dataclass
class Keys:
    """Evaluation keys as integers."""

    rotation: list[tuple[Poly, Poly]]
    switch: list[list[int]]


def _word_bytes(modulus: int) -> int:
    if modulus <= 2**16:
        return 2
    return 4 if modulus <= 2**31 or modulus == 2**32 else 8


def read_keys(keys: EvaluationKeys) -> Keys:
    """Decodes the frame of the keys and expands their uniform halves."""
    frame, p = keys.to_bytes(), keys.parameters
    # Behind the literal, whose tagged fields have their length in front.
    at = HEADER + 4 + int.from_bytes(frame[HEADER : HEADER + 4], "little")
    rotation_seed, switch_seed = frame[at : at + 32], frame[at + 32 : at + 64]
    at = -(-(at + 64) // 64) * 64
    width = 4 if p.Q < 2**31 else 8
    bodies = np.frombuffer(frame, f"<u{width}", p.rotation_key_rows * p.N, at).reshape(-1, p.N)
    at = -(-(at + bodies.nbytes) // 64) * 64
    narrow = _word_bytes(p.Q_ks)
    switch_bodies = np.frombuffer(frame, f"<u{narrow}", p.key_switch_rows, at)
    masks = expand(rotation_seed, p.rotation_key_rows, p.Q, p.N, width)
    switch_masks = expand(switch_seed, p.key_switch_rows, p.Q_ks, p.n, narrow)
    return Keys(
        rotation=list(zip(masks, bodies.tolist(), strict=True)),
        switch=[[*a, b] for a, b in zip(switch_masks, switch_bodies.tolist(), strict=True)],
    )


# ---- arithmetic


def multiply(a: Poly, b: Poly, modulus: int) -> Poly:
    """a·b modulo X^N + 1 and `modulus`, as one product of integers."""
    size = len(a)
    width = (2 * modulus.bit_length() + size.bit_length() + 8) // 8

    def pack(poly: Poly) -> int:
        return int.from_bytes(
            b"".join((value % modulus).to_bytes(width, "little") for value in poly), "little"
        )

    product = (pack(a) * pack(b)).to_bytes(2 * size * width, "little")
    values = [
        int.from_bytes(product[k * width : (k + 1) * width], "little") for k in range(2 * size)
    ]
    return [(values[k] - values[k + size]) % modulus for k in range(size)]


def rotate(poly: Poly, exponent: int, modulus: int) -> Poly:
    """poly·X^exponent modulo X^N + 1."""
    size = len(poly)
    result = [0] * size
    for k, value in enumerate(poly):
        to = (k + exponent) % (2 * size)
        result[to % size] = (value if to < size else -value) % modulus
    return result


def centred(value: int, modulus: int) -> int:
    value %= modulus
    return value - modulus if value > modulus // 2 else value


def decompose(value: int, modulus: int, log_base: int, count: int) -> list[int]:
    """Signed digits from the lowest kept; what lies below is rounded away."""
    dropped = max((modulus - 1).bit_length() - log_base * count, 0)
    value = centred(value, modulus)
    if dropped:
        value = (value + 2 ** (dropped - 1)) >> dropped
    digits = []
    for _ in range(count - 1):
        digit = (value + 2 ** (log_base - 1)) % 2**log_base - 2 ** (log_base - 1)
        digits.append(digit)
        value = (value - digit) >> log_base
    return [*digits, value]


def round_scaled(value: int, old: int, new: int) -> int:
    """round(value·new/old) modulo new, halves up."""
    return (2 * value * new + old) // (2 * old) % new


def switch_modulus(row: list[int], old: int, new: int, centre: bool) -> list[int]:
    """Rounds each; with `centre`, b takes half of the sum of the others' rounding errors."""
    rounded = [round_scaled(value, old, new) for value in row]
    if centre and new % old:
        # error of a_i, times old: what rounding added, in (-old/2, old/2]
        errors = sum(old // 2 - (value * new + old // 2) % old for value in row[:-1])
        rounded[-1] = (2 * row[-1] * new + errors + old) // (2 * old) % new
    return rounded


# ---- the bootstrap


class Reference:
    """Evaluates as a server does, one ciphertext at a time."""

    def __init__(self, keys: EvaluationKeys) -> None:
        self.p = keys.parameters
        self.keys = read_keys(keys)

    def blind_rotate(self, lwe: list[int], test_vector: Poly) -> tuple[Poly, Poly]:
        p, Q = self.p, self.p.Q
        gadgets = [(base, digits) for count, base, digits in p.gadget for _ in range(count)]
        a, b = [0] * p.N, rotate(test_vector, -lwe[-1], Q)
        row = 0
        for exponent, (log_base, count) in zip(lwe[:-1], gadgets, strict=True):
            digits: list[Poly] = []
            for poly in (a, b):
                difference = [
                    (x - y) % Q for x, y in zip(rotate(poly, exponent, Q), poly, strict=True)
                ]
                split = [decompose(value, Q, log_base, count) for value in difference]
                digits += [[each[j] for each in split] for j in range(count)]
            for key in range(p.keys_per_coefficient):
                rows = self.keys.rotation[row : row + 2 * count]
                for component in (0, 1):
                    total = [0] * p.N
                    for poly, half in zip(digits, rows, strict=True):
                        product = multiply(poly, half[component], Q)
                        total = [(x + y) % Q for x, y in zip(total, product, strict=True)]
                    if key == 1:
                        total = [-value % Q for value in rotate(total, -exponent, Q)]
                    if component == 0:
                        a = [(x + y) % Q for x, y in zip(a, total, strict=True)]
                    else:
                        b = [(x + y) % Q for x, y in zip(b, total, strict=True)]
                row += 2 * count
        return a, b

    def key_switch(self, extracted: list[int]) -> list[int]:
        p = self.p
        result = [0] * p.n + [extracted[-1]]
        table = p.key_switch == "table"
        kept = p.key_switch_digits
        # A table has a row for each absolute value of a digit; the top one takes what Q_ks leaves.
        top = decompose(p.Q_ks // 2, p.Q_ks, p.log_B_ks, kept)[-1]
        rows = [*(kept - 1) * [2 ** (p.log_B_ks - 1)], top] if table else kept * [1]
        for i, value in enumerate(extracted[:-1]):
            for j, digit in enumerate(decompose(value, p.Q_ks, p.log_B_ks, kept)):
                if digit == 0:
                    continue
                at = i * sum(rows) + sum(rows[:j]) + (abs(digit) - 1 if table else 0)
                factor = (1 if digit > 0 else -1) if table else digit
                result = [
                    (x - factor * y) % p.Q_ks
                    for x, y in zip(result, self.keys.switch[at], strict=True)
                ]
        return result

    def nand(self, x: Ciphertexts, y: Ciphertexts) -> list[int]:
        """NAND of two single ciphertexts: the n + 1 words of the result."""
        p, sectors = self.p, x.p
        rows = zip(x.data.tolist(), y.data.tolist(), strict=True)
        lwe = switch_modulus(
            [(s + t) % p.q for s, t in rows], p.q, 2 * p.N, p.lwe_secret == "binary"
        )
        # A sum of two, and no less, is to come into the lower half circle: -(2 - 1/2) sectors.
        lwe[-1] = (lwe[-1] - (3 * 2 * p.N + sectors) // (2 * sectors)) % (2 * p.N)
        half = ((2 * p.Q + sectors) // (2 * sectors) + 1) // 2
        a, b = self.blind_rotate(lwe, [p.Q - half] * p.N)
        extracted = [a[0], *(-value % p.Q for value in a[:0:-1]), (b[0] + half) % p.Q]
        at_ks = [round_scaled(value, p.Q, p.Q_ks) for value in extracted]
        centre = p.lwe_secret == "binary" and p.q % p.Q_ks != 0
        return switch_modulus(self.key_switch(at_ks), p.Q_ks, p.q, centre)
