"""Ways to multiply two encrypted integers of 64 bits, as prototypes in NumPy with real noise.

    .venv/bin/python bench/products.py [--ways radix tensor external tree] [--dimension 843]
        [--seed 1] [--record FILE]

Keys, ciphertexts and errors are those of `W128_P128`: N = 2048, a prime of 48 bits, n = 843, and
sigma 3.19. Transforms are in doubles with keys in two halves, so that products are exact but for
one unit now and then. `docs/performance/products-of-integers.md` says what each way is, and where
its parts come from.

    radix     products of two digits by tables, as whorl.integers makes them (32 of a product)
    tensor    a whole product modulo 2^64: digits to ring elements whose plaintext modulus is
              4 - X^16, one product of two such elements, and digits back
    external  the same with the digits of one factor as RGSW ciphertexts, by external products
    tree      bits as RGSW ciphertexts, and one product of two bytes by a tree of 2^16 entries

Each way prints errors beside their predictions and log2 of the failure of one decision. Work is
in rotations of one digit, by the count of transforms. A result that is wrong ends the program.
With another --dimension the LWE key is shorter: that is for tests. Records belong in
bench/results/cpu/products.jsonl; `median` is the work of a product of 64 bits, and `log2_errors`
has deviations, measured and predicted.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common.numpy_fhew import (
    KEY_SWITCH,
    LITERAL,
    NAME,
    ONE,
    SWITCH,
    TERNARY,
    TRACE_POWER,
    Gadget,
    N,
    Q,
    Scheme,
    Words,
    backward,
    centred,
    digits_of,
    forward,
    halves,
    joined,
    log2_failure,
    packed,
    places_of,
    product_power,
    rgsw_of,
    rotation_variance,
    rounding,
    row_power,
    sample,
    times_monomial,
    transforms,
    units,
)
from common.records import append, record
from whorl import binfhe, integers

TWO: Gadget = (15, 2)
THREE: Gadget = (11, 3)
"""Gadgets of other rotations."""
DIGITS: Gadget = (5, 4)
BITS: Gadget = (4, 6)
"""Gadgets of RGSW ciphertexts of digits of radix 4, and of bits."""
PLACES = 128
SPACE = N // PLACES
"""Y = X^16 stands for 4, and Y^128 = -1: products of 64 digits must not come near to that end."""


def check(what: str, right: bool) -> None:
    if not right:
        raise SystemExit(f"{what}: a result is wrong")


ERRORS: dict[str, list[float]] = {}
"""What was compared last under each name, for a record."""


def compare(what: str, errors: Any, predicted: float) -> None:
    """Prints log2 of the deviation modulo Q, measured and predicted."""
    errors = np.asarray(errors, np.float64)
    sizes = [round(0.5 * math.log2(each), 2) for each in (np.mean(errors**2), predicted)]
    print(f"  {what}: sigma 2^{sizes[0]}, predicted 2^{sizes[1]}", flush=True)
    ERRORS[what] = sizes


def number(digits: Any) -> int:
    """What digits of radix 4 stand for, modulo 2^64."""
    return sum(int(digit) * 4**i for i, digit in enumerate(digits)) % 2**64


def computed(scheme: Scheme, digits: Words) -> Words:
    """Samples of digits modulo 32 that have the error of a rotation of one digit."""
    phases = np.zeros((len(digits), N), np.int64)
    phases[:, 0] = digits * Q // 32
    sigma = math.sqrt(rotation_variance(ONE, scheme.n))
    return sample(scheme.encrypt(phases, sigma), 0)


def offset(samples: Words, turns: float) -> Words:
    """Samples whose phases are further by a part of a turn."""
    made = samples.copy()
    made[..., N] += round(turns * Q)
    return made


def decided(what: str, margin: float, variance: float) -> float:
    """Prints log2 of the failure of a decision."""
    found = log2_failure(margin, variance)
    print(f"  {what}: fails with 2^{found:.0f}", flush=True)
    return found


def radix(scheme: Scheme) -> float:
    """Lower and upper digits of 32 products of two digits."""
    a, b = scheme.random.integers(0, 4, (2, 32))
    inputs = offset(4 * computed(scheme, a) + computed(scheme, b), 1 / 64)
    for upper in (False, True):
        entries = np.arange(N) // 128
        products = (entries // 4) * (entries % 4)
        want = a * b // 4 if upper else a * b % 4
        tables = (products // 4 if upper else products % 4) * Q // 32
        phases = scheme.phase(scheme.rotate(inputs, tables, ONE))[:, 0]
        check("radix", np.array_equal(np.rint(phases * 32 / Q), want))
        compare("table", phases - want * Q / 32, rotation_variance(ONE, scheme.n))
    one = units(rotation_variance(ONE, scheme.n))
    return decided("table of 4 a + b", 64, rounding(scheme) + KEY_SWITCH + 17 * one)


def tables_of(values: Callable[[Words, Words], Any], grid: int) -> Words:
    """Entries of `grid` tables of four inputs under a padding bit."""
    x = np.arange(N)
    return np.asarray(values(x // (N // 4), x % grid), np.int64)


def digit_tables(scheme: Scheme, digits: Words, gadget: Gadget, places: Sequence[int]) -> Words:
    """Samples (count, 4, N + 1) of each digit times four places."""
    sizes = np.array(places, np.int64)
    tables = tables_of(lambda digit, j: digit * sizes[j], 4)
    made = scheme.rotate(offset(4 * digits, 1 / 16), tables, gadget, 4)
    return np.stack([sample(made, j) for j in range(4)], 1)


def encoding_fails(scheme: Scheme) -> float:
    """How often one of the tables above does."""
    one = units(rotation_variance(ONE, scheme.n))
    return decided("digit", 254, rounding(scheme, 4) + KEY_SWITCH + 16 * one)


def exact_phases(value: int, count: int) -> Any:
    """Coefficient k of Q / (4 - Y) times a number: what it is modulo 4^(k + 1), as part of a turn.

    That is a number's place in its digits 0 … k, so that carries are made by themselves (Chen,
    Laine, Player and Xia, CT-RSA 2018).
    """
    return np.array([value % 4 ** (k + 1) * Q // 4 ** (k + 1) for k in range(count)], object)


def read(scheme: Scheme, product: Words, value: int, predicted: float) -> float:
    """Digits -2 … 2 of a number modulo 2^64 (Avizienis 1961), by two rotations each.

    The first one says in which half of the turn a phase is. Half of that is taken for the phase
    itself, so that it is off by a quarter of a turn at most; the next place takes a quarter of it.
    """
    phases = scheme.phase(product)[::SPACE][:32]
    errors = centred([int(e) for e in phases - exact_phases(value, 32)])
    compare("product", errors, predicted)
    t = np.stack([sample(product, SPACE * k) for k in range(32)])
    sizes = np.array([Q // 4, Q // 16, Q // 32, 0])
    signs = scheme.rotate(t, tables_of(lambda _, j: sizes[j], 4), ONE, 4)
    y = t - sample(signs, 0)
    y[1:] -= sample(signs, 1)[:-1]
    x = np.arange(N)
    tables = np.where((x >= N // 4) & (x < 3 * N // 4), Q // 32, 0)
    found = scheme.phase(scheme.rotate(y, tables, ONE))[:, 0]
    found = centred(found + scheme.phase(signs)[:, 2])
    check("digits", number(np.rint(found * 32 / Q)) == value % 2**64)
    one = units(rotation_variance(ONE, scheme.n))
    spread = rounding(scheme) + KEY_SWITCH + (rounding(scheme, 4) + KEY_SWITCH) / 16 + 2 * one
    return decided("digit of the product", N / 8 - 2, spread + units(predicted) * 17 / 16)


def factors(scheme: Scheme) -> tuple[int, int, Words]:
    """Two numbers, and their digits, the first one's in front."""
    a, b = (int(each) for each in scheme.random.integers(0, 2**64, 2, np.uint64))
    return a, b, np.array([each >> 2 * i & 3 for each in (a, b) for i in range(32)])


def tensor(scheme: Scheme) -> float:
    """A product of two ring elements (Brakerski 2012; Fan and Vercauteren 2012)."""
    a, b, digits = factors(scheme)
    inputs = computed(scheme, digits)
    scale = [round(Q / 4 ** (j + 1)) for j in range(8)]
    parts = [digit_tables(scheme, inputs, TWO, each) for each in (scale[:4], scale[4:])]
    places = np.concatenate(parts, 1).reshape(2, 32, 8, N + 1)
    # What digits leave out has a mean of 3/2 at each place, which is added.
    mean = [
        sum(1.5 / 4**8 / 4 ** (k - i + 1) for i in range(8, min(k, 39) + 1)) for k in range(PLACES)
    ]
    elements = []
    for each, value in zip(places, (a, b), strict=True):
        t = np.zeros((PLACES, N + 1), np.int64)
        for j in range(8):
            t[j : j + 32] += each[:, j]
        t[:, N] += np.rint(np.array(mean) * Q).astype(np.int64)
        elements.append(packed(scheme, t % Q))
        errors = scheme.phase(elements[-1])[::SPACE] - exact_phases(value, PLACES)
        power = 8 * rotation_variance(TWO, scheme.n) + (Q / 4**8) ** 2 * 1.25 / 15
        compare("factor", centred([int(e) for e in errors])[8:32], power)
    (b1, a1), (b2, a2) = elements
    middle = [scaled(b1, a2), scaled(a1, b2)]
    last = scheme.switched(scaled(a1, a2), scheme.square, SWITCH)
    product = (np.stack([scaled(b1, b2), middle[0] + middle[1]]) + last) % Q
    power = 17 * (32 * 8 * rotation_variance(TWO, scheme.n) + PLACES * TRACE_POWER)
    power += 32 * 1.25 * (Q / 4**8) ** 2
    found = read(scheme, product, a * b % 2**64, TERNARY / 12 * 2 * power)
    return max(found, encoding_fails(scheme))


def scaled(x: Words, y: Words) -> Words:
    """x y (4 - Y) / Q, rounded."""
    first, second = halves(x), halves(y)
    upper = backward(first[1] * second[1])
    middle = backward(first[0] * second[1] + first[1] * second[0])
    lower = backward(first[0] * second[0])
    parts = [
        4 * each - times_monomial(each, np.full(1, SPACE)[0]) for each in (upper, middle, lower)
    ]
    rest = parts[0] * ((2**48 - Q) / Q) + parts[1] * (2**24 / Q) + parts[2] / Q
    return (parts[0] + np.rint(rest).astype(np.int64)) % Q


def external(scheme: Scheme) -> float:
    """The digits of one factor times the ring element of the other one."""
    a, b, digits = factors(scheme)
    levels = digit_tables(scheme, computed(scheme, digits), TWO, places_of(DIGITS))
    rows = halves(packed(scheme, levels[32:, :, None, :]))
    place = np.zeros(N, np.int64)
    place[::SPACE] = [Q // 4 ** (k + 1) for k in range(PLACES)]
    powers = SPACE * np.arange(32)
    known = digits_of(times_monomial(np.broadcast_to(place, (32, N)), powers), DIGITS)
    element = joined(np.einsum("irf,irphf->phf", forward(known), rows))
    shifts = times_monomial(np.broadcast_to(element, (32, 2, N)), powers[:, None])
    parts = digits_of(shifts, DIGITS).reshape(32, 2 * DIGITS[1], N)
    product = joined(np.einsum("irf,irphf->phf", forward(parts), rgsw_of(scheme, levels[:32])))
    ring = row_power(TWO, scheme.n)
    power = 32 * product_power(DIGITS, ring, 3.5)
    power += 32 * 3.5 * 32 * DIGITS[1] * 4.0 ** DIGITS[0] / 12 * ring / TERNARY
    found = read(scheme, product, a * b % 2**64, power)
    return max(found, encoding_fails(scheme))


def tree(scheme: Scheme) -> float:
    """A product of two bytes, digit by digit, out of 256 ring elements of 256 entries each."""
    x, y = (int(each) for each in scheme.random.integers(0, 256, 2))
    digits = np.array([each >> 2 * i & 3 for each in (x, y) for i in range(4)])
    inputs = computed(scheme, digits)
    phases = np.stack([offset(16 * inputs, 0.25), offset(8 * inputs, 0.125)], 1)
    sizes = np.array([*places_of(BITS), 0, 0], np.int64)
    made = scheme.rotate(phases.reshape(16, N + 1), -sizes[np.arange(N) % 8] // 2, THREE, 8)
    levels = np.stack([sample(made, j) for j in range(BITS[1])], 1)
    levels[:, :, N] += sizes[: BITS[1]] // 2
    bits = rgsw_of(scheme, levels)
    places = np.arange(N)
    entries = np.arange(256)[:, None] * (places // 8) >> 2 * (places % 8) & 3
    nodes = np.stack([entries * Q // 32, 0 * entries], 1)
    for bit in bits[8:]:
        even, odd = nodes[0::2], nodes[1::2]
        nodes = (even + scheme.external(bit, odd - even, BITS)) % Q
    for i, bit in enumerate(bits[:8]):
        turned = times_monomial(nodes, np.full((1, 1), -8 << i))
        nodes = (nodes + scheme.external(bit, turned - nodes, BITS)) % Q
    want = times_monomial(entries[y] * Q // 32, np.int64(-8 * x))
    errors = centred(scheme.phase(nodes[0]) - want)
    check("tree", bool(np.all(np.abs(errors) < Q / 64)))
    power = 15 * product_power(BITS, row_power(THREE, scheme.n), 0.5)
    compare("entry", errors, power)
    one = units(rotation_variance(ONE, scheme.n))
    lower = decided("bit 0", 1020, rounding(scheme, 8) + KEY_SWITCH + 256 * one)
    upper = decided("bit 1", 508, rounding(scheme, 8) + KEY_SWITCH + 64 * one)
    sums = decided("sum of 5 entries", 64, rounding(scheme) + KEY_SWITCH + 5 * units(power))
    return max(lower, upper, sums)


def columns() -> int:
    """Rotations that add up the digits of 36 products of bytes, until a place has two at most:
    groups of up to five give a lower and an upper digit."""
    digits = [k // 4 + 1 + k // 4 for k in range(32)]
    rotations = 0
    while max(digits) > 2:
        after = [0] * 33
        for k, count in enumerate(digits):
            groups = 0
            while count > 2:
                groups, count = groups + 1, count - min(count, 5)
            after[k] += count + groups
            after[k + 1] += groups
            rotations += groups * (1 + (k < 31))
        digits = after[:32]
    return rotations


def work(
    rotations: Sequence[tuple[Gadget, int]], switches: int, products: int, of: Gadget
) -> float:
    """The sum in rotations of one digit, by transforms; `products` are external ones."""
    count = sum(many * transforms(each) / 4 for each, many in rotations)
    rest = switches * (SWITCH[1] + 2) + products * transforms(of)
    return count + rest / (4 * LITERAL["n"])


def planned(function: Callable[[Any, Any], Any]) -> int:
    """Rotations of whorl.integers."""
    pair = [integers.Fresh((), 64)] * 2
    parameters = binfhe.parameters(NAME)
    return integers.plan(function, pair, parameters=parameters, most_failure_log2=0.0).rotations


WAYS: dict[str, Callable[[Scheme], float]] = {
    "radix": radix,
    "tensor": tensor,
    "external": external,
    "tree": tree,
}


def costs() -> dict[str, tuple[float, int]]:
    """Work of a product of 64 bits with its carries, and bytes of keys beside those of the set."""
    carries = planned(lambda x, y: x.server.canonical(x + y))
    switch = 12 * SWITCH[1]  # 11 automorphisms and the square
    rows = {TWO: 4, THREE: 6}

    def held(gadget: Gadget) -> int:
        return (LITERAL["n"] * rows[gadget] + switch) * N * 6

    tensor_rotations = [(TWO, 128), (ONE, 64 + carries)]
    external_rotations = [(TWO, 64), (ONE, 64 + carries)]
    tree_rotations = [(THREE, 128), (ONE, columns() + carries)]
    levels, bits = 64 * DIGITS[1], 128 * BITS[1]
    return {
        "radix": (planned(lambda x, y: x.server.canonical(x * y)), 0),
        "tensor": (work(tensor_rotations, 2 * (PLACES + 3) + 1, 1, TWO), held(TWO)),
        "external": (
            work(external_rotations, levels * 11 + levels // 2, 64, DIGITS),
            held(TWO),
        ),
        "tree": (work(tree_rotations, bits * 12, 36 * 263, BITS), held(THREE)),
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    options.add_argument("--dimension", type=int, default=LITERAL["n"])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--record", type=Path)
    given = options.parse_args()
    scheme, found = Scheme(given.dimension, given.seed), costs()
    for way in given.ways:
        print(f"{way}:", flush=True)
        ERRORS.clear()
        fails = WAYS[way](scheme)
        rotations, keys = found[way]
        print(f"  {rotations:.0f} rotations of one digit, {keys / 1e6:.1f} MB more of keys")
        line = record(
            "products",
            f"u64_mul_{way}",
            NAME,
            [round(float(rotations), 1)],
            unit="rotations",
            pfail_log2=fails,
            key_bytes=keys,
            dimension=given.dimension,
            log2_errors=dict(ERRORS),
        )
        append(given.record, line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
