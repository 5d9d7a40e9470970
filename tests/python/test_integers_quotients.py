"""Quotients of encrypted integers by reciprocals, on servers with product keys."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from integer_programs import ClearServer, quotient, remainder
from test_integers_products import Owner, owner  # noqa: F401
from whorl import binfhe, integers
from whorl.integers import Fresh, _reciprocal

Pairs = list[tuple[int, int]]
MOST = 128
"""The first factors of products have so many digits at most."""


def random_below(generator: np.random.Generator, bits: int) -> int:
    return int.from_bytes(generator.bytes(40), "little") % (1 << bits)


def hard_pairs(generator: np.random.Generator, count: int, bits: int) -> Pairs:
    """Powers of two and their neighbours, multiples of the divisor and theirs, and random ones of
    all lengths."""
    size = 1 << bits
    ends = [((1 << i) + more) % size for i in range(bits) for more in (-1, 0, 1)]
    pairs: Pairs = [(0, 0), (size - 1, 0), (size - 1, 1), (size - 1, size - 1), (0, size - 1)]
    while len(pairs) < count:
        kind = len(pairs) % 4
        x, y = random_below(generator, bits), random_below(generator, bits)
        y >>= int(generator.integers(0, bits))
        if kind == 0:
            x, y = (ends[int(i)] for i in generator.integers(0, len(ends), 2))
        elif kind == 1:
            y = ends[int(generator.integers(0, len(ends)))]
        elif kind == 2 and y:
            # Just below, at and above a multiple, which may be the largest one.
            most = (size - 1) // y
            multiple = most if len(pairs) % 8 == 2 else x % (most + 1)
            x = (multiple * y + int(generator.integers(-1, 2))) % size
        pairs.append((x, y))
    return pairs


def check(on: ClearServer, pairs: Pairs, bits: int, signed: bool = False) -> None:
    low = -(1 << bits - 1) if signed else 0
    a, b = ([low + (v - low) % (1 << bits) for v in each] for each in zip(*pairs, strict=True))
    made = divmod(on.encrypt(a, bits, signed), on.encrypt(b, bits, signed))
    for found, function in zip(made, (quotient, remainder), strict=True):
        exact = [low + (function(v, w) - low) % (1 << bits) for v, w in zip(a, b, strict=True)]
        assert [int(v) for v in on.decrypt(found)] == exact


# ---- what is proved beside the code


def test_first_reciprocals() -> None:
    """The bound holds at both ends of all intervals of seven digits, whatever is left out."""
    unit, twos = 4**_reciprocal.PLACES, 2 * (4 ** (_reciprocal.PLACES + 1) - 1) // 3
    most = Fraction(0)
    for i, entry in enumerate(_reciprocal.first_entries()):
        start, falls = Fraction((entry >> 8) - twos, unit), Fraction(entry & 255, 16)
        if i < 16:
            assert start == falls == 0
            continue
        for inside in range(-128, 128):
            line = start - falls * inside / 4**7
            for behind in (0, 1):
                u = Fraction(2 * i + 1, 128) + Fraction(inside + behind, 4**7)
                for left_out in (-1, 1):
                    made = line + Fraction(2 * left_out, 3 * unit)
                    most = max(most, abs(1 - u * made))
                    assert 0 < made < 5
    assert most <= Fraction(1, 4**_reciprocal.GOOD)


@pytest.mark.parametrize("digits", [12, 14, 18, 32, 46])
def test_ratios(generator: np.random.Generator, digits: int) -> None:
    """They are too small, by less than 1, and -1 for y = 0."""
    on = ClearServer(products=MOST)
    core: Any = on._on
    bits = 2 * digits
    pairs = hard_pairs(generator, 300, bits)
    x, y = ([pair[k] for pair in pairs] for k in (0, 1))
    # Divisors of all highest digits, and of which the last digits are alike.
    y = [w or 1 for w in y]
    y = [w << 2 * (digits - (w.bit_length() + 1) // 2) for w in y]
    y[0] = 0
    made = _reciprocal._ratio(
        core, on.encrypt(x, bits)._core.wires, on.encrypt(y, bits)._core.wires
    )
    rows = (core.circuit.plain(made, np.arange(digits + 1)) + 16) % 32 - 16
    found = [sum(int(v) * 4**i for i, v in enumerate(column)) for column in rows.T]
    assert found[0] == -1
    for value, v, w in zip(found[1:], x[1:], y[1:], strict=True):
        exact = v * 4 ** (digits - 1) // w
        assert value in (exact - 1, exact)


# ---- on clear digits, which check all ranges


def test_all_small_integers() -> None:
    on = ClearServer(products=MOST)
    check(on, [(x, y) for x in range(64) for y in range(64)], 24)


@pytest.mark.parametrize("bits", [23, 24, 29, 32, 64, 67, 128, 240])
def test_quotients_of_clear_digits(generator: np.random.Generator, bits: int) -> None:
    check(ClearServer(products=MOST), hard_pairs(generator, 200, bits), bits)


@pytest.mark.parametrize("bits", [24, 33, 64])
def test_signed_quotients(generator: np.random.Generator, bits: int) -> None:
    check(ClearServer(products=MOST), hard_pairs(generator, 100, bits), bits, signed=True)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [24, 64])
def test_many_quotients(generator: np.random.Generator, bits: int) -> None:
    on = ClearServer(products=MOST)
    for _ in range(10):
        check(on, hard_pairs(generator, 1000, bits), bits)


def test_operands_of_all_kinds(generator: np.random.Generator) -> None:
    """Known ones, the same one twice, and such with carries and much noise."""
    on, bits = ClearServer(products=MOST), 32
    a = [random_below(generator, bits) | 1 << 20 for _ in range(5)]
    b = [random_below(generator, 20) + 1 for _ in range(5)]
    x, y = on.encrypt(a, bits), on.encrypt(b, bits)

    def same(made: Any, exact: list[int]) -> None:
        assert [int(v) for v in on.decrypt(made)] == [v % 2**bits for v in exact]

    same(x // x, [1] * 5)
    same(x % (x - y), [v % ((v - w) % 2**bits) for v, w in zip(a, b, strict=True)])
    sums = [(v + w) % 2**bits for v, w in zip(a, b, strict=True)]
    products = [v * w % 2**bits for v, w in zip(a, b, strict=True)]
    same((x * y) // (x + y), [v // w for v, w in zip(products, sums, strict=True)])
    known = np.array(b, dtype=np.object_)
    same(x // known, [v // w for v, w in zip(a, b, strict=True)])
    same(x % np.array([7] * 5), [v % 7 for v in a])
    same(12345678 // y, [12345678 // w for w in b])
    same((x // y) // y, [v // w // w for v, w in zip(a, b, strict=True)])


# ---- on ciphertexts


@pytest.mark.parametrize(
    "bits,pairs",
    [
        (24, [(2**24 - 1, 77), (5, 0)]),
        pytest.param(64, [(2**64 - 1, 1), (3**40, 3**13), (7, 0)], marks=pytest.mark.slow),
    ],
)
def test_quotients(owner: Owner, bits: int, pairs: Pairs) -> None:  # noqa: F811
    a, b = ([pair[k] for pair in pairs] for k in (0, 1))
    made = divmod(owner.encrypt(a, bits), owner.encrypt(b, bits))
    for found, function in zip(made, (quotient, remainder), strict=True):
        exact = [function(v, w) % 2**bits for v, w in pairs]
        assert [int(v) for v in owner.client.decrypt(found)] == exact


def test_what_quotients_cost() -> None:
    """Fewer rotations with keys; without them, or where products are halved, as before."""
    for name, bits, most in (
        ("W128_P128_M3", 64, 1820),
        ("W128_P128_M4", 64, 1870),
        ("W128_P128_M3", 24, 800),
    ):
        secure, pair = binfhe.parameters(name), [Fresh(bits=bits)] * 2
        through = integers.plan(operator.floordiv, pair, parameters=secure, products=True)
        assert through.rotations <= most and through.layers < 110
        assert through.failure_log2 < -120
    for bits in (23, 24, 27, 32):
        on, by_tables = ClearServer(products=MOST), ClearServer()
        for server in (on, by_tables):
            check(server, [(12345, 67)], bits)
        assert on.rotations < 1.01 * by_tables.rotations and on.layers < by_tables.layers
    few = [Fresh(bits=16)] * 2
    assert (
        integers.plan(operator.floordiv, few, parameters=secure, products=True).rotations
        == integers.plan(operator.floordiv, few, parameters=secure).rotations
    )
    on, by_tables = ClearServer(products=20), ClearServer()
    for server in (on, by_tables):
        check(server, [(2**48 - 1, 3)], 48)
    assert on.rotations == by_tables.rotations
