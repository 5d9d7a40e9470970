#!/usr/bin/env python3
"""Known answers, from the documented formulas in Python's integers alone.

Writes vectors.txt beside itself: lines `name value value …`. Everything uniform is
expand_uniform(seed, index, modulus) of docs/file-format.md, so that inputs need not be stored;
seeds are 32 equal bytes.
"""

import struct
from pathlib import Path
from typing import Any

MASK32 = 0xFFFFFFFF


def chacha20_block(key: bytes, nonce: int, counter: int) -> bytes:
    """Bernstein's ChaCha20: 64-bit counter, 64-bit nonce."""
    state = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]
    state += struct.unpack("<8I", key)
    state += [counter & MASK32, counter >> 32, nonce & MASK32, nonce >> 32]
    x = list(state)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for to, other, mixed, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[other]) & MASK32
            x[mixed] ^= x[to]
            x[mixed] = (x[mixed] << turn | x[mixed] >> (32 - turn)) & MASK32

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) & MASK32 for a, b in zip(x, state, strict=False)))


def expand_uniform(seed: int, index: int, modulus: int, count: int, word_bytes: int) -> list[int]:
    key, counter = bytes([seed]) * 32, 0
    out: list[int] = []
    mask = (1 << (modulus - 1).bit_length()) - 1
    while len(out) < count:
        block = chacha20_block(key, index, counter)
        counter += 1
        for at in range(0, 64, word_bytes):
            value = int.from_bytes(block[at : at + word_bytes], "little") & mask
            if value < modulus:
                out.append(value)
    return out[:count]


def centred(x: int, q: int) -> int:
    x %= q
    return x - q if x > q // 2 else x


def round_div(a: int, b: int) -> int:
    return (2 * a + b) // (2 * b)


def multiply(a: list[int], b: list[int], q: int) -> list[int]:
    """Modulo X^N + 1 and q, by one product of long integers (Kronecker)."""
    n, width = len(a), 20

    def pack(p: list[int]) -> int:
        return int.from_bytes(b"".join((v % q).to_bytes(width, "little") for v in p), "little")

    product = (pack(a) * pack(b)).to_bytes(2 * n * width, "little")
    c = [int.from_bytes(product[i * width : (i + 1) * width], "little") for i in range(2 * n)]
    return [(c[i] - c[i + n]) % q for i in range(n)]


def times_monomial(a: list[int], e: int, q: int) -> list[int]:
    n = len(a)
    out = [0] * n
    for j, v in enumerate(a):
        to = (j + e) % (2 * n)
        out[to % n] = v % q if to < n else -v % q
    return out


class Gadget:
    """Signed digits of the nearest multiple of 2^dropped, by successive remainders."""

    def __init__(self, q: int, log_base: int, digits: int) -> None:
        self.q, self.log_base, self.digits = q, log_base, digits
        self.dropped = max(0, (q - 1).bit_length() - log_base * digits)

    def factor(self, j: int) -> int:
        return (1 << (self.dropped + j * self.log_base)) % self.q

    def split(self, x: int) -> list[int]:
        rest, base = centred(x, self.q), 1 << self.log_base
        if self.dropped:
            rest = (rest + (1 << (self.dropped - 1))) >> self.dropped
        out = []
        for _ in range(self.digits - 1):
            digit = (rest + base // 2) % base - base // 2
            out.append(digit)
            rest = (rest - digit) // base
        return [*out, rest]

    def bound(self, j: int) -> int:
        if j + 1 < self.digits:
            return 1 << (self.log_base - 1)
        return max(abs(self.split(x)[j]) for x in (self.q // 2, self.q // 2 + 1))


def modulus_switch(row: list[int], old: int, new: int, centre: bool) -> list[int]:
    rounded = [round_div(x * new, old) for x in row]
    if centre:  # half the sum of the mask's rounding errors, in units of 1/old
        errors = sum(r * old - x * new for r, x in zip(rounded[:-1], row[:-1], strict=False))
        rounded[-1] = round_div(2 * row[-1] * new + errors, 2 * old)
    return [r % new for r in rounded]


def word_bytes_for(modulus: int) -> int:
    return 2 if modulus <= 1 << 16 else 4 if modulus <= 1 << 32 else 8


# Two NAND gates: what changes between them is listed here and repeated in the test.
BOOTSTRAPS = {
    "ternary": {
        "n": 16,
        "N": 256,
        "q": 1024,
        "Q": 134215681,
        "Q_ks": 1 << 14,
        "table": True,
        "ks": (5, 3),
        "gadgets": [(7, 3)] * 10 + [(9, 2)] * 6,
        "secret": 3,
    },
    "binary": {
        "n": 16,
        "N": 256,
        "q": 1 << 15,
        "Q": 281474976694273,
        "Q_ks": 1 << 20,
        "table": False,
        "ks": (4, 4),
        "gadgets": [(23, 1)] * 16,
        "secret": 2,
    },
}


def bootstrap(p: dict[str, Any], seed: int) -> dict[str, list[int]]:
    n, N, q, Q, Q_ks = p["n"], p["N"], p["q"], p["Q"], p["Q_ks"]
    keys = 1 if p["secret"] == 2 else 2
    shift = keys - 1
    s = [v - shift for v in expand_uniform(seed, 0, p["secret"], n, 4)]
    z = [v - 1 for v in expand_uniform(seed, 1, 3, N, 4)]
    gadgets = [Gadget(Q, *g) for g in p["gadgets"]]
    wide = 4 if Q < 1 << 31 else 8

    rotation, row = [], 0
    for i in range(n):
        per_key = []
        for k in range(keys):
            m = int(s[i] == (1 if k == 0 else -1))
            rows = []
            for component in range(2):
                for j in range(gadgets[i].digits):
                    a = expand_uniform(seed + 1, row, Q, N, wide)
                    e = [v - 3 for v in expand_uniform(seed + 2, row, 7, N, 4)]
                    b = [x + y for x, y in zip(multiply(a, z, Q), e, strict=False)]
                    factor = m * gadgets[i].factor(j)
                    if component == 0:
                        b = [x - factor * y for x, y in zip(b, z, strict=False)]
                    else:
                        b[0] += factor
                    rows.append((a, [x % Q for x in b]))
                    row += 1
            per_key.append(rows)
        rotation.append(per_key)

    ks = Gadget(Q_ks, *p["ks"])
    switch, row = {}, 0
    for i in range(N):
        for j in range(ks.digits):
            for v in range(1, (ks.bound(j) if p["table"] else 1) + 1):
                a = expand_uniform(seed + 3, row, Q_ks, n, word_bytes_for(Q_ks))
                body = expand_uniform(seed + 4, row, 7, 1, 4)[0] - 3 + v * ks.factor(j) * z[i]
                body += sum(x * y for x, y in zip(a, s, strict=False))
                switch[i, j, v] = [*a, body % Q_ks]
                row += 1

    inputs, outputs = [], []
    for x in range(2):
        for y in range(2):
            pair = []
            for which, bit in ((0, x), (1, y)):
                a = expand_uniform(seed + 5, 2 * (2 * x + y) + which, q, n, 4)
                pair.append(
                    [*a, (sum(u * v for u, v in zip(a, s, strict=False)) + bit * q // 4 + 1) % q]
                )
            inputs += pair
            lwe = [(u + v) % q for u, v in zip(*pair, strict=False)]
            lwe = modulus_switch(lwe, q, 2 * N, keys == 1 and 2 * N % q != 0)
            lwe[n] = (lwe[n] - 3 * N // 4) % (2 * N)  # 1.5 of 4 sectors: 2 and 3 lie in [0, N)
            half = (round_div(Q, 4) + 1) // 2
            acc = [[0] * N, times_monomial([Q - half] * N, -lwe[n] % (2 * N), Q)]
            for i in range(n):
                digits = []
                for part in acc:
                    moved = times_monomial(part, lwe[i], Q)
                    split = [gadgets[i].split(u - v) for u, v in zip(moved, part, strict=False)]
                    digits += [[d[j] for d in split] for j in range(gadgets[i].digits)]
                for k in range(keys):
                    for which in range(2):
                        total = [0] * N
                        for d, r in zip(digits, rotation[i][k], strict=False):
                            total = [
                                u + v for u, v in zip(total, multiply(d, r[which], Q), strict=False)
                            ]
                        if k == 1:
                            total = times_monomial([-u for u in total], -lwe[i] % (2 * N), Q)
                        acc[which] = [(u + v) % Q for u, v in zip(acc[which], total, strict=False)]
            a, b = acc
            extracted = [a[0], *(-a[N - j] % Q for j in range(1, N)), (b[0] + half) % Q]
            at_ks = modulus_switch(extracted, Q, Q_ks, False)
            out = [0] * n + [at_ks[N]]
            for i in range(N):
                for j, digit in enumerate(ks.split(at_ks[i])):
                    if digit:
                        sign = (digit > 0) - (digit < 0)
                        factor, v = (sign, abs(digit)) if p["table"] else (digit, 1)
                        out = [u - factor * w for u, w in zip(out, switch[i, j, v], strict=False)]
            out = modulus_switch([u % Q_ks for u in out], Q_ks, q, keys == 1 and q % Q_ks != 0)
            outputs += out
            phase = (out[n] - sum(u * v for u, v in zip(out, s, strict=False))) % q
            assert round_div(phase * 4, q) % 4 == 1 - (x & y), (x, y, phase)
    return {"inputs": [v for c in inputs for v in c], "outputs": outputs}


def main() -> None:
    lines = ["# Written by generate.py."]
    for seed, (name, p) in zip((20, 30), BOOTSTRAPS.items(), strict=False):
        for what, values in bootstrap(p, seed).items():
            lines.append(" ".join(["bootstrap", name, what, *map(str, values)]))
    Path(__file__).with_name("vectors.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
