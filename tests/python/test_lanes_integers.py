"""Integers modulo p in lanes, against NumPy's."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from lane_values import LANES, as_bits, parameters
from whorl import circuit, ckks, lanes

MODULI = [4, 8, 16, 32]


@functools.cache
def for_bits() -> ckks.Parameters:
    """The set for bits in a smaller ring, which is not secure."""
    literal = {**ckks.parameters("W128_BITS5_L10").literal(), "N": 1024, "name": "toy"}
    return ckks.parameters(literal=literal, allow_insecure=True)


@functools.cache
def party() -> tuple[lanes.Client, lanes.Server]:
    client = lanes.Client(for_bits())
    return client, lanes.Server(client.evaluation_keys(LANES, rotations=[1]), device="cpu")


def integers(seed: int, p: int, *shape: int) -> Any:
    """Random ones, with all of 0 … p - 1 at the beginning."""
    found = np.random.default_rng(seed).integers(0, p, (*shape, LANES))
    found[..., :p] = np.arange(p)
    return found


def encrypted(values: Any, p: int) -> lanes.LaneArray:
    client, server = party()
    return server.upload(client.encrypt(values, p=p))


def decrypted(array: lanes.LaneArray) -> Any:
    return party()[0].decrypt(array).astype(np.int64)


@pytest.mark.parametrize("p", MODULI)
def test_operators(p: int) -> None:
    a, b = integers(1, p, 2, 3), integers(2, p, 3)
    b[..., ::-1] = integers(3, p, 3)
    x, y = encrypted(a, p), encrypted(b, p)
    assert (x.p, x.shape, x.lanes) == (p, (2, 3), LANES)
    found = {
        "add": (x + y, a + b),
        "subtract": (x - y, a - b),
        "multiply": (x * y, a * b),
        "square": (x * x, a * a),
        "negative": (-x, -a),
        "known sum": (3 + x + np.int64(7), a + 10),
        "known difference": (5 - x - 1, 4 - a),
        "known product": (-3 * x * 1001, a * -3003),
        "zero": (x * 0, 0 * a),
        "polynomial": (x * y + 3 * x - y + 1, a * b + 3 * a - b + 1),
        "sum": (x.sum(), a.sum(axis=0) + 0 * a),
        "sum of rows": (x.sum(axis=-1)[:, None], a.sum(axis=1)[:, None] + 0 * a),
        "ciphertexts": (x + party()[0].encrypt(b, p=p), a + b),
        "rotation": ((x + 1).rotate(1), np.roll(a + 1, -1, axis=-1)),
    }
    for name, (array, wanted) in found.items():
        assert array.p == p, name
        assert np.array_equal(decrypted(array) + 0 * a, wanted % p), name
    if p > 4:
        halved = (x + y) % (p // 2)
        assert halved.p == p // 2
        assert np.array_equal(decrypted(halved), (a + b) % (p // 2))


@pytest.mark.parametrize("p", MODULI)
def test_comparisons(p: int) -> None:
    a, b = integers(1, p, 2), integers(2, p)
    a[1], b[:] = a[1][::-1], np.roll(b, 3)
    x, y = encrypted(a, p), encrypted(b, p)
    wide, c = 3 * x + 2, (3 * a + 2) % p
    for u, m in ((x, a), (wide, c)):
        found = {
            "less": (u < y, m < b),
            "greater": (u > y, m > b),
            "at most": (u <= y, m <= b),
            "at least": (u >= y, m >= b),
            "equal": (u == y, m == b),
            "unequal": (u != y, m != b),
            "less than 3": (u < 3, m < 3),
            "1 at least": (1 >= u, m <= 1),
            "equal to one each": (u == [0, p - 1], m == [[0], [p - 1]]),
            "minimum": (lanes.minimum(u, y), np.minimum(m, b)),
            "maximum": (lanes.maximum(u, y), np.maximum(m, b)),
            "function": (lanes.less(u, y), m < b),
            "known function": (lanes.equal(2, u), m == 2),
        }
        for name, (array, wanted) in found.items():
            assert np.array_equal(decrypted(array), wanted), name
    chosen = party()[1].where(x < y, wide, y)
    assert np.array_equal(decrypted(chosen), np.where(a < b, c, b))


@pytest.mark.parametrize("p", MODULI)
def test_tables(p: int) -> None:
    random = np.random.default_rng(p)
    a = integers(1, p, 3)
    x = encrypted(a, p)
    _, server = party()
    before = server.bootstraps
    # Several tables of each vector share its bootstrap.
    tables = np.stack([random.integers(0, p, p), np.arange(p), np.full(p, p - 1), np.arange(p) % 3])
    found = x.apply(tables[:, None])
    assert server.bootstraps == before + 3
    assert found.shape == (4, 3)
    assert np.array_equal(decrypted(found), tables[:, a])
    # A table for each vector, and other moduli.
    each = random.integers(0, 4, (3, p))
    made = x.apply(each, p=4)
    assert (made.p, made.shape) == (4, (3,))
    assert np.array_equal(decrypted(made), np.take_along_axis(each, a, axis=-1))
    step = (x + 5).apply(np.arange(p) >= p // 2, p=2)
    assert np.array_equal(decrypted(step & ~(x == 0)), ((a + 5) % p >= p // 2) & (a != 0))


def test_tables_for_each_lane() -> None:
    random = np.random.default_rng(7)
    for p in MODULI:
        a = integers(1, p, 2, 3)
        tables = random.integers(0, 8, (5, p))
        x = encrypted(a, p)
        for shape in ((LANES,), (2, 3, LANES)):
            which = random.integers(0, 5, shape)
            found = x.apply(tables, p=8, which=which)
            assert np.array_equal(decrypted(found), tables[which, a])
    x = encrypted(integers(1, 4, 2), 4)
    tables = np.arange(4)[None]
    with pytest.raises(whorl.ShapeError, match=r"shape \(3,\) is neither \(64,\) nor \(2, 64\)"):
        x.apply(tables, which=[0, 0, 0])
    with pytest.raises(whorl.ParameterError, match="1 is outside 0 … 0"):
        x.apply(tables, which=[1] * LANES)
    with pytest.raises(whorl.ParameterError, match="one axis of tables"):
        x.apply(tables[0], which=[0] * LANES)


def test_tables_of_two_inputs() -> None:
    random = np.random.default_rng(5)
    _, server = party()
    for p, q in ((4, 4), (8, 4), (4, 8)):
        a, b = integers(1, p, 2), integers(2, q)
        table = random.integers(0, 16, (p, q))
        x, y = encrypted(a, p), encrypted(np.roll(b, 1), q)
        b = np.roll(b, 1)
        assert np.array_equal(decrypted(server.apply2(x, y, table, p=16)), table[a, b])
        wide = server.apply2(x + x, -y, table[None, None] % 2, p=2)
        assert wide.shape == (1, 2)
        assert np.array_equal(decrypted(wide[0]), table[2 * a % p, -b % q] % 2)


def test_chains_of_tables() -> None:
    """As NumPy has it after 20 of them, with sums and products between."""
    random = np.random.default_rng(6)
    a, b = integers(1, 16, 2), integers(2, 16, 2)
    x, y = encrypted(a, 16), encrypted(b, 16)
    for _ in range(20):
        table = random.permutation(16)
        x, y = (x + y).apply(table), 3 * y + x
        a, b = table[(a + b) % 16], (3 * b + a) % 16
    assert np.array_equal(decrypted(x), a)
    assert np.array_equal(decrypted(x * y), a * b % 16)


def test_bits() -> None:
    client, server = party()
    a = integers(1, 16, 2)
    x = encrypted(a, 16)
    assert np.array_equal(decrypted(x.bits()), as_bits(a, 4))
    assert np.array_equal(decrypted((7 * x - 1).bits()), as_bits((7 * a - 1) % 16, 4))
    bits = as_bits(a, 4)
    given = server.upload(client.encrypt(bits))
    assert np.array_equal(decrypted(server.integer(given) + x), 2 * a % 16)
    assert server.integer(given[:2]).p == 4
    assert np.array_equal(decrypted(server.integer(~given[:3], p=16)), 7 - a % 8)
    # Gates on bits of integers, and integers of these.
    parity = functools.reduce(lambda u, v: u ^ v, list(x.bits()))
    assert np.array_equal(
        decrypted(server.integer(parity[None], p=16) + x), (bits.sum(0) % 2 + a) % 16
    )


def test_known_integers() -> None:
    _, server = party()
    a, b = integers(1, 16, 2), integers(2, 16, 3)
    x = encrypted(a, 16)
    known = server.known(x, b)
    assert (known.p, known.shape) == (16, (3,))
    assert np.array_equal(decrypted(x[0] + known), (a[0] + b) % 16)
    assert np.array_equal(decrypted(server.constant(x, 13)), np.full_like(a, 13))
    assert np.array_equal(decrypted(server.constant(x == x, True)), np.ones_like(a))
    with pytest.raises(whorl.EncodingError, match="outside 0 … 15"):
        server.known(x, np.full(LANES, 16))
    with pytest.raises(whorl.ParameterError, match="outside 0 … 15"):
        server.constant(x, 16)


def test_numpys_shapes() -> None:
    a = integers(4, 8, 2, 3)
    x = encrypted(a, 8)
    assert np.array_equal(decrypted(x.T[1]), a[:, 1])
    assert np.array_equal(decrypted(lanes.concatenate([2 * x, x])), np.concatenate([2 * a % 8, a]))
    assert np.array_equal(decrypted(lanes.stack([x[0], x[1] + 9])[1]), (a[1] + 9) % 8)
    assert "64 lanes of integers modulo 8" in repr(x)
    total: Any = np.add(x, 3)
    smaller: Any = np.less(x, 3)
    assert np.array_equal(decrypted(total), (a + 3) % 8)
    assert np.array_equal(decrypted(smaller), a < 3)


def test_a_plan_says_what_is_done() -> None:
    def program(x: lanes.LaneArray, y: lanes.LaneArray, s: lanes.LaneArray) -> Any:
        for i in range(5):
            x, y = (x + 3 * y).apply((np.arange(16) * 7 + i) % 16), lanes.maximum(x, y)
        z = x.server.where(s, x * y, y)
        return [z, x.bits(), z == y]

    plan = lanes.plan(
        program, [(2,), (2,), (2,)], for_bits(), LANES, secret_key=True, p=[16, 16, 2]
    )
    client, _ = party()
    server = lanes.Server(client.evaluation_keys(LANES), device="cpu")
    a, b, c = integers(1, 16, 2), integers(2, 16, 2), integers(3, 2, 2)
    given = (client.encrypt(a, p=16), client.encrypt(b, p=16), client.encrypt(c))
    made = program(*(server.upload(each) for each in given))
    assert (server.bootstraps, server.cleanings) == (plan.bootstraps, plan.cleanings)
    assert (server.products, plan.bootstraps > 0) == (plan.products, True)
    found = [client.decrypt(each) for each in made]
    assert server.log2_failure == plan.log2_failure < -64
    for i in range(5):
        a, b = (7 * ((a + 3 * b) % 16) + i) % 16, np.maximum(a, b)
    z = np.where(c, a * b % 16, b)
    assert np.array_equal(found[0], z)
    assert np.array_equal(found[1], as_bits(a, 4))
    assert np.array_equal(found[2], z == b)
    assert lanes.plan(lambda x: x + x, [()], for_bits(), LANES, p=32).bootstraps == 0
    with pytest.raises(whorl.ParameterError, match="2 moduli meet 1 shapes"):
        lanes.plan(lambda x: x, [()], for_bits(), LANES, p=[4, 4])
    with pytest.raises(whorl.EncodingError, match="power of two up to 32"):
        lanes.plan(lambda x: x, [()], for_bits(), LANES, p=64)


def test_what_is_sent_is_saved(tmp_path: Path) -> None:
    client, server = party()
    a = integers(7, 16, 2)
    client.encrypt(a, p=16).save(tmp_path / "a.whorl")
    x = server.upload(ckks.Ciphertexts.load(tmp_path / "a.whorl", allow_insecure=True))
    assert x.p == 16
    (x + 1).to_host().save(tmp_path / "b.whorl")
    back = ckks.Ciphertexts.load(tmp_path / "b.whorl", allow_insecure=True)
    assert back.level == 1
    assert np.array_equal(client.decrypt(back, p=16), (a + 1) % 16)
    with pytest.raises(whorl.EncodingError, match="level 0"):
        client.decrypt(back)


@pytest.mark.parametrize("p", MODULI)
def test_what_is_stored_is_taken_in_again(p: int, tmp_path: Path) -> None:
    """Fresh ones, results with their errors, and sums that have left 0 … p - 1."""
    _, server = party()
    a = integers(7, p, 2)
    x = encrypted(a, p)
    for array, wanted in ((x, a), (x.apply(np.arange(p)[::-1]), p - 1 - a), (-3 * x - x, -4 * a)):
        for level in (None, server.parameters.least_bootstrap_level):
            array.stored(level).save(tmp_path / "x.whorl")
            again = server.upload(ckks.Ciphertexts.load(tmp_path / "x.whorl", allow_insecure=True))
            assert again.p == p
            assert again.error >= array.error * (1 - 2**-20)
            assert np.array_equal(decrypted(again + again), 2 * wanted % p)


def test_refusals() -> None:
    client, server = party()
    x, bits = encrypted(integers(1, 16, 2), 16), server.upload(client.encrypt(integers(1, 2, 2)))
    for wrong, p, error, text in (
        ([16], 16, whorl.EncodingError, "outside 0 … 15"),
        ([-1], 16, whorl.EncodingError, "outside 0 … 15"),
        ([0.5], 16, whorl.EncodingError, "outside 0 … 15"),
        ([1j], 16, whorl.EncodingError, "complex numbers"),
        ([1], 64, whorl.ParameterError, "p = 2, 4 … 32"),
        ([1], 12, whorl.ParameterError, "p = 2, 4 … 32"),
        ([1], 1, whorl.ParameterError, "outside 2"),
    ):
        with pytest.raises(error, match=text):
            client.encrypt(wrong, p=p)
    with pytest.raises(whorl.ParameterError, match=r"not encrypted compactly.*Server\.integer"):
        client.encrypt([1] * LANES, compact=True, p=4)
    with pytest.raises(whorl.ParameterError, match="bits alone"):
        lanes.Client(parameters()).encrypt([1], p=4)
    with pytest.raises(whorl.EncodingError, match="bounds 0 and 1, or 0 and p - 1"):
        server.upload(ckks.Client.encrypt(client, [1.0] * LANES, bound=(0, 2), packing="real"))
    # Bits where integers are needed.
    for operation, text in (
        (lambda: bits + bits, r"bits have no \+: a \^ b"),
        (lambda: bits - 1, "lanes.subtract"),
        (lambda: 3 * bits, "a & b"),
        (lambda: -bits, "~a"),
        (lambda: bits % 4, "modulo 2"),
        (lambda: bits.sum(), "count_ones"),
        (lambda: bits < 1, "lanes.less compares numbers of bits"),
    ):
        with pytest.raises(TypeError, match=text):
            operation()
    for operation in (lambda: bits.apply([0, 1]), lambda: bits < bits, lambda: bits.bits()):
        with pytest.raises(whorl.ParameterError, match="make integers of them first"):
            operation()
    # Integers where bits are needed.
    for operation in (
        lambda: x & x,
        lambda: ~x,
        lambda: server.count_ones(x),
        lambda: server.lookup(x, [0, 1, 2, 3]),
        lambda: server.where(x, x, x),
        lambda: lanes.add(x, x),
        lambda: server.integer(x),
    ):
        with pytest.raises(whorl.ParameterError, match="this array has integers modulo 16"):
            operation()
    # Other shapes, tables and moduli.
    other = encrypted(integers(1, 4, 2), 4)
    with pytest.raises(whorl.ParameterError, match="modulo 16 and 4 meet"):
        x + other
    with pytest.raises(whorl.ParameterError, match="modulo 16 and 4 are no array"):
        lanes.concatenate([x, other])
    with pytest.raises(whorl.ParameterError, match="modulo 64"):
        server.apply2(x, other, np.zeros((16, 4), dtype=int))
    with pytest.raises(whorl.ParameterError, match=r"want \(..., 16, 4\)"):
        server.apply2(x, other, np.zeros((4, 16), dtype=int))
    with pytest.raises(whorl.ParameterError, match="no divisor"):
        other % 16
    with pytest.raises(whorl.ParameterError, match="16 entries"):
        x.apply([1, 2, 3])
    with pytest.raises(
        whorl.ParameterError, match="an entry is 16, outside 0 … 15: take it modulo"
    ):
        x.apply([16] * 16)
    with pytest.raises(TypeError, match="integers are needed"):
        x.apply([0.5] * 16)
    with pytest.raises(ValueError, match="broadcast"):
        x.apply(np.zeros((3, 16), dtype=int))
    with pytest.raises(TypeError, match="integer is needed, not float"):
        x + 0.5  # type: ignore[operator]
    with pytest.raises(TypeError, match="integer is needed, not ndarray"):
        x + np.array([1, 2])
    with pytest.raises(whorl.ParameterError, match="16 is outside 0 … 15"):
        _ = x < 16
    with pytest.raises(whorl.ShapeError, match="axis 2 is none"):
        x.sum(axis=2)
    with pytest.raises(whorl.ShapeError, match="no axis of vectors"):
        x[0].sum()
    with pytest.raises(whorl.ShapeError, match="no axis of bits"):
        server.integer(bits[0])
    with pytest.raises(whorl.ParameterError, match="integers modulo 2; there are those"):
        server.integer(bits, p=2)
    with pytest.raises(TypeError, match="truth value"):
        bool(x == x)
    with pytest.raises(whorl.ParameterError, match="bits are needed"):
        circuit.loads(".model a\n.inputs a b\n.outputs c\n.names a b c\n11 1\n.end").run(
            server, {"a": x[:, None], "b": x[:, None]}
        )


def test_a_refusal_retires_the_key() -> None:
    client = lanes.Client(for_bits())
    maker = ckks.Server(client.evaluation_keys(LANES), device="cpu")
    half = maker.upload(ckks.Client.encrypt(client, [2.5] * LANES, bound=(0, 15))).lower(1)
    a = integers(1, 16)
    right = maker.upload(client.encrypt(a, p=16)).lower(1)
    assert np.array_equal(client.decrypt(right.to_host(), p=16), a)
    with pytest.raises(whorl.NoiseError, match="farther than 1/8 from a whole number"):
        client.decrypt(half.to_host(), p=16)
    with pytest.raises(whorl.NoiseError, match="refused before"):
        client.decrypt(right.to_host(), p=16)


def test_what_is_decrypted_tells_nothing_of_the_key() -> None:
    """As of bits: errors are there, and what is decrypted has nothing of them, nor of what a sum
    was before it was taken modulo p."""
    client, _ = party()
    a = integers(8, 16)
    x = encrypted(a, 16)
    host = (x + x + x).to_host()
    raw = ckks.Client.decrypt(client, host, raw=True)
    error = raw - 3 * a
    assert 0 < np.abs(error).max() < 2**-8
    assert raw.max() > 16
    assert np.array_equal(client.decrypt(host, p=16), 3 * a % 16)
