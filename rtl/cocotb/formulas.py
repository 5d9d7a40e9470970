"""What the core computes, from the formulas of rtl/README.md, and its memory images.

Nothing here is shared with the C++ benches. The ring is that of integer polynomials: products are
taken coefficient by coefficient, and no transform is computed but the definition of one, for the
image of the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

P = 2**33 - 2**20 + 1
Words = npt.NDArray[np.int64]


def centred(x: Words, modulus: int) -> Words:
    """Residues in (-modulus/2, modulus/2]."""
    return np.where(x > modulus // 2, x - modulus, x)


def digits(x: Words, modulus_bits: int, log_base: int, count: int) -> list[Words]:
    """Digits of the gadget, the lowest first: the nearest number that they can express."""
    dropped = modulus_bits - log_base * count
    offset = 1 << (dropped - 1) if dropped else 0
    offset += sum(1 << (dropped + j * log_base + log_base - 1) for j in range(count - 1))
    base, y = 1 << log_base, x + offset
    lower = [((y >> (dropped + j * log_base)) % base) - base // 2 for j in range(count - 1)]
    return [*lower, y >> (dropped + (count - 1) * log_base)]


def times_monomial(x: Words, exponent: int) -> Words:
    """x·X^exponent modulo X^N + 1 and P."""
    size = len(x)
    turned = np.roll(np.concatenate([x, -x]), exponent % (2 * size))
    return np.asarray(turned[:size] % P)


def product(small: Words, x: Words) -> Words:
    """Small coefficients of either sign times a polynomial modulo P: exact in 64 bits."""
    size = len(x)
    reach = int(np.abs(small).max(initial=0)) * size * P
    assert reach < 2**63, f"sums reach {reach}"
    both = np.concatenate([-x, x])
    rows = np.array([both[size - k : 2 * size - k] for k in range(size)])
    return np.asarray((small @ rows) % P)


@dataclass(frozen=True)
class Shape:
    """The parameters of rtl/README.md section 2 that a host can read."""

    log_n: int
    digits: int
    log_bg: int
    m: int
    pes: int
    log_b: int
    k: int
    mem_bits: int
    bk_ports: int
    ksk_bits: int
    max_n_lwe: int
    l_ks: int
    log_bks: int
    ks_lanes: int
    bk_buffers: int

    @property
    def size(self) -> int:
        return 1 << self.log_n

    @property
    def lanes(self) -> int:
        return 2 << self.log_b

    @property
    def sets(self) -> int:
        return (1 << self.m) - 1

    @property
    def capacity(self) -> int:
        return self.pes * self.k


@dataclass
class Keys:
    """Random keys for LWE dimension n: the core computes the same with any."""

    shape: Shape
    n: int
    random: np.random.Generator

    @property
    def steps(self) -> int:
        return -(-self.n // self.shape.m)

    @cached_property
    def bootstrapping(self) -> Words:
        """Coefficients, [step][set - 1][row][column]; 0 for sets with a missing coefficient."""
        shape = self.shape
        key = self.random.integers(
            0, P, (self.steps, shape.sets, 2 * shape.digits, 2, shape.size), dtype=np.int64
        )
        for step in range(self.steps):
            there = min(shape.m, self.n - step * shape.m)
            key[step, (1 << there) - 1 :] = 0
        return key

    @cached_property
    def switching(self) -> Words:
        """Rows i·L_KS + j of n + 1 words."""
        rows = self.shape.size * self.shape.l_ks
        return self.random.integers(0, 2**32, (rows, self.n + 1), dtype=np.int64)

    def key_switching_image(self) -> bytes:
        words = self.shape.ksk_bits // 32
        padding = -(self.n + 1) % words
        return np.pad(self.switching, ((0, 0), (0, padding))).astype("<u4").tobytes()

    def evaluated(self) -> Words:
        """The key's polynomials at the locations of section 1, times 1/N."""
        shape = self.shape
        psi = pow(3, (P - 1) // (2 * shape.size), P)
        powers = [pow(psi, e, P) for e in range(2 * shape.size)]
        inverse = pow(shape.size, -1, P)
        reverse = [int(f"{i:0{shape.log_n}b}"[::-1], 2) for i in range(shape.size)]
        values = np.array(
            [
                [inverse * powers[k * (2 * r + 1) % (2 * shape.size)] % P for r in reverse]
                for k in range(shape.size)
            ],
            dtype=object,
        )
        return np.array((self.bootstrapping.astype(object) @ values) % P, dtype=np.int64)

    def bootstrapping_images(self) -> list[bytes]:
        """One image a port: chunks of rows, in groups of 33 beats."""
        shape = self.shape
        rows = shape.size // shape.lanes
        # [step][set][row][column][location] to [step][row of the chunk][u]
        words = self.evaluated().reshape(*self.bootstrapping.shape[:4], rows, shape.lanes)
        words = np.moveaxis(words, 4, 1).reshape(self.steps, rows, -1)
        in_row = words.shape[2]
        share = -(-in_row // shape.bk_ports)
        wide = shape.mem_bits // 32
        padded = -(-share // wide) * wide
        words = np.pad(words, ((0, 0), (0, 0), (0, share * shape.bk_ports - in_row)))
        images = []
        for port in range(shape.bk_ports):
            part = words[:, :, port * share : (port + 1) * share]
            part = np.pad(part, ((0, 0), (0, 0), (0, padded - share)))
            groups = part.reshape(-1, shape.mem_bits)
            tops = np.packbits((groups >> 32).astype(np.uint8), axis=1, bitorder="little")
            lows = (groups & (2**32 - 1)).astype("<u4").view(np.uint8)
            images.append(np.hstack([tops, lows]).tobytes())
        return images

    def exponents(self, words: Words, centred_sum: bool, offset: int) -> list[int]:
        """The exponents of a and b, rounded from 2^32 to 2N."""
        two_n, unit = 2 * self.shape.size, 2**32 // (2 * self.shape.size)
        a, b = [int(x) for x in words[:-1]], int(words[-1])
        rounded = [(x * two_n + 2**31) // 2**32 % two_n for x in a]
        s = sum(unit // 2 - (x + unit // 2) % unit for x in a) if centred_sum else 0
        return [*rounded, ((2 * b + unit + s) // (2 * unit) + offset) % two_n]

    def rotated(self, exponents: list[int], table: Words, constant: int) -> Words:
        """The sample of coefficient 0 after the rotation, modulo P."""
        shape = self.shape
        acc = [np.zeros(shape.size, dtype=np.int64), times_monomial(table, -exponents[-1])]
        a = exponents[:-1] + [0] * (self.steps * shape.m - self.n)
        for step in range(self.steps):
            rows = [d for x in acc for d in digits(centred(x, P), 33, shape.log_bg, shape.digits)]
            group = a[step * shape.m : (step + 1) * shape.m]
            for column in range(2):
                total = acc[column]
                for row, digit in enumerate(rows):
                    bundle = np.zeros(shape.size, dtype=np.int64)
                    for t in range(1, shape.sets + 1):
                        turn = sum(e for i, e in enumerate(group) if t >> i & 1)
                        key = self.bootstrapping[step, t - 1, row, column]
                        bundle = (bundle + times_monomial(key, turn) - key) % P
                    total = (total + product(digit, bundle)) % P
                acc[column] = total
        sample = np.concatenate([acc[0][:1], -acc[0][:0:-1], acc[1][:1] + constant])
        return sample % P

    def switched(self, sample: Words) -> Words:
        """A sample of dimension N modulo 2^32 under the key of dimension n."""
        shape = self.shape
        taken = digits(centred(sample[:-1], 2**32), 32, shape.log_bks, shape.l_ks)
        digit = np.stack(taken, axis=1).reshape(-1)
        result = -(digit @ self.switching)
        result[-1] += sample[-1]
        return np.asarray(result % 2**32)


def to_32_bits(sample: Words) -> Words:
    """Rounded from P to 2^32."""
    return np.array([(int(x) * 2**32 + (P - 1) // 2) // P % 2**32 for x in sample], dtype=np.int64)
