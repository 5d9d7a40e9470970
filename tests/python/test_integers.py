"""whorl.integers: algorithms on clear digits and on ciphertexts, against Python's integers."""

from __future__ import annotations

import concurrent.futures
import itertools
import operator
import os
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
import whorl
from integer_programs import (
    BINARY,
    TOY,
    ClearServer,
    Encrypted,
    InLanes,
    quotient,
    remainder,
    run_clear,
    run_one,
)
from whorl import binfhe, integers
from whorl.integers import Fresh
from whorl.integers._carry import Form, flush, settle
from whorl.integers._circuit import Circuit, CircuitError, Saves
from whorl.integers._engines import ClearEngine, account_of
from whorl.integers._types import Kind

W128 = binfhe.parameters("W128_P128")


@pytest.fixture(scope="module")
def clear() -> ClearServer:
    return ClearServer()


@pytest.fixture(scope="module")
def encrypted() -> Encrypted:
    return Encrypted()


# ---- against Python's integers


def test_random_programs_on_clear_digits() -> None:
    """A failure prints seed and number; `integer_programs.py` runs more of them."""
    seed = int.from_bytes(os.urandom(4), "little")
    assert run_clear(seed, range(1000)) == []


@pytest.mark.slow
def test_many_random_programs_on_clear_digits() -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    assert run_clear(seed, range(100_000)) == []


def test_random_programs_on_ciphertexts(encrypted: Encrypted) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    wrong = [found for i in range(12) if (found := run_one(encrypted, seed, i, 3, 12))]
    assert wrong == []


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
@pytest.mark.parametrize("signed", [False, True])
def test_all_pairs_of_few_bits(clear: ClearServer, bits: int, signed: bool) -> None:
    kind = Kind(bits, signed)
    values = np.arange(kind.low, kind.high + 1)
    a, b = (each.ravel() for each in np.meshgrid(values, values))
    x, y = (clear.encrypt(each, bits, signed) for each in (a, b))
    for encrypted, exact in BINARY.values():
        wanted = [kind.wrap(exact(int(p), int(q))) for p, q in zip(a, b, strict=True)]
        assert clear.decrypt(encrypted(x, y)).tolist() == wanted
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        call = getattr(operator, name)
        assert clear.decrypt(call(x, y)).tolist() == call(a, b).tolist()
    for by in range(bits + 2):
        assert clear.decrypt(x << by).tolist() == [kind.wrap(int(p) << by) for p in a]
        assert clear.decrypt(x >> by).tolist() == [int(p) >> by for p in a]


@pytest.mark.parametrize("bits", [64, 96, 128, 160, 256])
@pytest.mark.parametrize("signed", [False, True])
def test_wide_integers(clear: ClearServer, bits: int, signed: bool) -> None:
    kind, random = Kind(bits, signed), np.random.default_rng(bits)
    a, b = (
        [kind.wrap(int.from_bytes(random.bytes(32), "little") >> shift) for shift in (0, 60, 190)]
        + [kind.low, kind.high, kind.wrap(-1)]
        for _ in range(2)
    )
    x, y = (clear.encrypt(each, bits, signed) for each in (a, b[::-1]))
    pairs = list(zip(a, b[::-1], strict=True))
    for found, call in ((x + y, operator.add), (x - y, operator.sub), (x * y, operator.mul)):
        assert [int(v) for v in clear.decrypt(found)] == [kind.wrap(call(*pair)) for pair in pairs]
    assert clear.decrypt(x < y).tolist() == [p < q for p, q in pairs]
    if bits <= 96:
        q, r = divmod(x, y)
        assert [int(v) for v in clear.decrypt(q)] == [kind.wrap(quotient(*pair)) for pair in pairs]
        assert [int(v) for v in clear.decrypt(r)] == [kind.wrap(remainder(*pair)) for pair in pairs]


# ---- what operators promise


def test_division_by_zero_and_overflow(clear: ClearServer) -> None:
    x = clear.encrypt([0, 9, 255], 8)
    zero = clear.encrypt([0, 0, 0], 8)
    for divisor in (zero, 0):
        q, r = divmod(x, divisor)
        assert clear.decrypt(q).tolist() == [255, 255, 255]
        assert clear.decrypt(r).tolist() == [0, 9, 255]
    y = clear.encrypt([-128, 5, -1], 8, True)
    for divisor in (clear.encrypt([0, 0, 0], 8, True), 0):
        q, r = divmod(y, divisor)
        assert clear.decrypt(q).tolist() == [-1, -1, -1]
        assert clear.decrypt(r).tolist() == [-128, 5, -1]
    assert clear.decrypt(y // -1).tolist() == [-128, -5, 1]
    assert clear.decrypt(abs(y)).tolist() == [-128, 5, 1]
    assert clear.decrypt(-y).tolist() == [-128, -5, 1]
    assert clear.decrypt(x + 1).tolist() == [1, 10, 0]
    made, lost = integers.overflowing_add(x, 1)
    assert clear.decrypt(made).tolist() == [1, 10, 0]
    assert clear.decrypt(lost).tolist() == [False, False, True]


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 64, 100, 127, -1, -3, -128])
@pytest.mark.parametrize("signed", [False, True])
def test_known_divisors(clear: ClearServer, divisor: int, signed: bool) -> None:
    if divisor < 0 and not signed:
        with pytest.raises(whorl.EncodingError, match="outside 0"):
            clear.encrypt([1], 8) // divisor
        return
    kind = Kind(8, signed)
    values = range(kind.low, kind.high + 1)
    q, r = divmod(clear.encrypt(list(values), 8, signed), divisor)
    assert clear.decrypt(q).tolist() == [kind.wrap(v // divisor) for v in values]
    assert clear.decrypt(r).tolist() == [v % divisor for v in values]


@pytest.mark.parametrize(("bits", "signed"), [(64, False), (256, False), (64, True), (254, True)])
def test_known_divisors_of_wide_integers(clear: ClearServer, bits: int, signed: bool) -> None:
    kind = Kind(bits, signed)
    values = [kind.low, kind.high, 0, 1, 12345678901234567890 & kind.high, kind.high // 3]
    for divisor in (3, 10):
        q, r = divmod(clear.encrypt(values, bits, signed), divisor)
        assert clear.decrypt(q).tolist() == [v // divisor for v in values]
        assert clear.decrypt(r).tolist() == [v % divisor for v in values]


def test_shapes_are_numpys(clear: ClearServer) -> None:
    a = np.arange(24).reshape(2, 3, 4)
    x = clear.encrypt(a, 8)
    y = clear.encrypt([[1], [2], [3]], 8)
    b = np.array([[1], [2], [3]])
    assert np.array_equal(clear.decrypt(x + y), a + b)
    assert np.array_equal(clear.decrypt(x[1, ::2].T * 2), a[1, ::2].T * 2)
    assert np.array_equal(clear.decrypt(x.sum(axis=1)), a.sum(axis=1) % 256)
    assert int(clear.decrypt(x.sum())) == a.sum() % 256
    both = integers.concatenate([x, x + 1], axis=2)
    assert np.array_equal(clear.decrypt(both), np.concatenate([a, a + 1], axis=2))
    assert np.array_equal(clear.decrypt(integers.stack([x, 3 - x])), np.stack([a, (3 - a) % 256]))
    assert np.array_equal(clear.decrypt(integers.where(x > 5, x, 5)), np.maximum(a, 5))
    assert np.array_equal(clear.decrypt(integers.maximum(5, x)), np.maximum(5, a))
    assert np.array_equal(clear.decrypt(integers.minimum(5, x)), np.minimum(5, a))
    odd = a % 2 == 1
    assert np.array_equal(clear.decrypt(integers.where(odd, x, 5)), np.where(odd, a, 5))
    assert np.array_equal(clear.decrypt(integers.where(odd, 5, x)), np.where(odd, 5, a))
    assert np.array_equal(clear.decrypt(integers.where(True, x, x + 1)), a)
    with pytest.raises(whorl.EncodingError, match="value 2 is outside"):
        integers.where(2, x, x)
    with pytest.raises(TypeError, match="where: an array of integers is needed, not bool"):
        integers.where(True, 1, 2)
    with pytest.raises(TypeError, match="maximum: an array of integers is needed, not int"):
        integers.maximum(1, 2)
    assert np.array_equal(clear.decrypt(np.add(x, 1)), a + 1)
    assert [each.shape for each in x] == [(3, 4), (3, 4)]


def test_joined_integers_of_which_digits_are_known(clear: ClearServer) -> None:
    x = clear.encrypt([1, 2, 3, 4], 4)
    bit = clear.encrypt([1, 0], 1)
    parts = [
        (x.astype(8) + 64, [65, 66, 67, 68]),
        (~x.astype(8), [254, 253, 252, 251]),
        (clear.known([18] * 4, 8), [18] * 4),
        (clear.known([1, 2, 3, 200], 8), [1, 2, 3, 200]),
        (integers.lookup([16, 17, 18, 19], x.bit_slice(0, 2)).astype(8), [17, 18, 19, 16]),
    ]
    for a, first in parts:
        for b, second in parts:
            assert clear.decrypt(integers.concatenate([a, b])).tolist() == first + second
        assert clear.decrypt(integers.sort(a)).tolist() == sorted(first)
        assert int(clear.decrypt(integers.argmax(a))) == int(np.argmax(first))
    chosen = integers.where(bit, 18, clear.known([17, 17], 8))
    assert clear.decrypt(integers.stack([chosen, chosen])).tolist() == [[18, 17]] * 2


def test_functions_of_arrays(clear: ClearServer) -> None:
    random = np.random.default_rng(3)
    a = random.integers(-100, 100, (7, 4))
    x = clear.encrypt(a, 8, True)
    assert np.array_equal(clear.decrypt(integers.sort(x)), np.sort(a, axis=0))
    assert np.array_equal(clear.decrypt(integers.argmax(x)), np.argmax(a, axis=0))
    assert np.array_equal(clear.decrypt(integers.argmin(x)), np.argmin(a, axis=0))
    two = clear.decrypt(integers.argmax(x[:2]))
    assert np.array_equal(two, np.argmax(a[:2], axis=0))
    assert two.dtype.kind in "iu"
    same = clear.encrypt(np.zeros((5, 2), dtype=int), 8)
    assert np.array_equal(clear.decrypt(integers.argmax(same)), [0, 0])
    b = random.integers(0, 16, (7, 4))
    y = clear.encrypt(b, 10)
    assert np.array_equal(clear.decrypt(integers.dot(y, y)), (b * b).sum(axis=0) % 1024)
    assert np.array_equal(
        clear.decrypt(integers.dot(y, [[2], [0], [1], [3], [0], [0], [9]])),
        (b * np.array([2, 0, 1, 3, 0, 0, 9])[:, None]).sum(axis=0) % 1024,
    )
    assert np.array_equal(clear.decrypt(y.popcount()), np.bitwise_count(b))


@pytest.mark.parametrize(("size", "bits"), [(1, 3), (10, 4), (16, 4), (40, 6), (100, 9), (5, 1)])
def test_tables_by_encrypted_indices(clear: ClearServer, size: int, bits: int) -> None:
    table = np.random.default_rng(size).integers(0, 1000, size)
    index = np.arange(1 << bits)
    found = clear.decrypt(integers.lookup(table, clear.encrypt(index, bits)))
    wanted = np.where(index < size, table[np.minimum(index, size - 1)], 0)
    assert np.array_equal(found, wanted)
    assert np.array_equal(
        clear.decrypt(integers.lookup(table, clear.encrypt(index, bits), 12)), wanted
    )


@pytest.mark.slow
def test_a_table_of_65536_entries(clear: ClearServer) -> None:
    table = np.arange(2**16) * 3 % 251
    index = [0, 1, 77, 65535]
    found = clear.decrypt(integers.lookup(table, clear.encrypt(index, 16)))
    assert np.array_equal(found, table[index])


# ---- ciphertexts


def test_both_halves(encrypted: Encrypted) -> None:
    client, server = encrypted.client, encrypted.server
    a, b = np.array([3, 200], dtype=np.uint8), np.array([250, 9], dtype=np.uint8)
    x, y = (server.upload(client.encrypt(each)) for each in (a, b))
    assert (x.bits, x.signed, x.shape) == (8, False, (2,))
    assert np.array_equal(client.decrypt(x * y), a * b)
    assert np.array_equal(client.decrypt(x // y), a // b)
    assert np.array_equal(client.decrypt(x < y), a < b)
    # Results are sent with carries to clients, and without them to servers.
    total = x + y
    for carries in (False, True):
        sent = server.download(total, carries=carries)
        again = integers.Ciphertexts(
            binfhe.Ciphertexts.from_bytes(sent.data.to_bytes(), allow_insecure=True), 8
        )
        assert np.array_equal(client.decrypt(again), a + b)
        if carries:
            with pytest.raises(whorl.EncodingError, match="without carries"):
                server.upload(again)
        else:
            assert np.array_equal(client.decrypt(server.upload(again) * 3), (a + b) * np.uint8(3))


def test_wide_and_signed_ciphertexts(encrypted: Encrypted) -> None:
    client, server = encrypted.client, encrypted.server
    a = [2**127 - 5, -(2**100), -1]
    x = server.upload(client.encrypt(a, bits=128, signed=True))
    assert client.decrypt(x + x).tolist() == [-10, -(2**101), -2]
    assert client.decrypt(x < -1).tolist() == [False, True, False]
    assert client.decrypt(x >> 3).tolist() == [v >> 3 for v in a]


def test_operations_run_again_as_they_were_recorded(encrypted: Encrypted) -> None:
    """With other values, and with operands that are the same or have other noise."""

    def program(x: Any, y: Any) -> list[Any]:
        total = x + y
        return [total * y, total >> 1, total & 15, divmod(x, y)[1], x * x, (total < y) | (x > y)]

    def clear(a: Any, b: Any) -> list[Any]:
        total = (a + b) % 64
        parts = [total * b, total >> 1, total & 15, a % b, a * a, (total < b) | (a > b)]
        return [part % 64 for part in parts]

    server, counts = encrypted.server, []
    for seed in range(3):
        a, b = np.random.default_rng(seed).integers(1, 64, (2, 3))
        x, y = (encrypted.encrypt(each, 6) for each in (a, b))
        before = server.rotations, server.layers
        for found, wanted in zip(program(x, y), clear(a, b), strict=True):
            assert encrypted.decrypt(found).tolist() == wanted.tolist()
        counts.append((server.rotations - before[0], server.layers - before[1]))
        x = x * 3
        for found, wanted in zip(program(x, x), clear(a * 3 % 64, a * 3 % 64), strict=True):
            if not np.any(a * 3 % 64 == 0):
                assert encrypted.decrypt(found).tolist() == wanted.tolist()
    assert len(set(counts)) == 1
    on: Any = server._on
    recorded = len(on._programs)
    program(*(encrypted.encrypt([1, 2, 3], 6) for _ in range(2)))
    assert len(on._programs) == recorded


def test_threads_share_a_server(encrypted: Encrypted) -> None:
    server = integers.Server(encrypted.server._server)

    def work(seed: int) -> bool:
        a, b = np.random.default_rng(seed).integers(1, 64, (2, 2 + seed % 3))
        x, y = (server.upload(encrypted.client.encrypt(each, 6)) for each in (a, b))
        found = integers.stack([x * y, x // y, x + 5])[:, 0]
        wanted = [a[0] * b[0] % 64, a[0] // b[0], (a[0] + 5) % 64]
        return bool(encrypted.decrypt(found).tolist() == wanted)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: (0 - (x < y).astype(32)).popcount(),
        lambda x, _: x.astype(32, True).astype(64, True).popcount(),
        lambda x, y: x * y + x * y,
        lambda x, y: integers.stack([x < y] * 15).sum(axis=0).astype(4),
        lambda x, y: ((x < y).astype(32) * 0x15555555 + 0x02112112) * 0x15555555,
        lambda x, y: integers.where(x < y, 0x12121212, x * 0 + 0x01010101) * 0x15555555,
        lambda x, y: integers.stack([x[None][:1] < y, x < y[None]]).sum(axis=0),
        lambda x, y: (x + y >> 2) + (x + y & 255),
        lambda x, _: integers.stack([x * 3] * 4).sum(axis=0),
        lambda x, _: integers.lookup([0x5555] * 8 + [3] * 8, x.bit_slice(0, 4)).popcount(),
    ],
)
def test_equal_errors_are_counted(function: Callable[..., Any]) -> None:
    """No table has more noise than it bears, by the account that follows each ciphertext."""
    planned = integers.plan(function, [Fresh(bits=32)] * 2, parameters=W128)
    assert planned.failure_log2 < -128 + np.log2(planned.rotations + 32)


def test_the_same_on_clear_digits_and_ciphertexts(encrypted: Encrypted, clear: ClearServer) -> None:
    def program(on: Any) -> list[Any]:
        x, y = on.encrypt([5, 200, 77], 8), on.encrypt([9, 3, 77], 8)
        made = [x * y + 3, divmod(x, y)[0], integers.where(x == y, x, ~y), x.rotl(y), x.popcount()]
        return [on.decrypt(each).tolist() for each in made]

    assert program(encrypted) == program(clear)


# ---- in lanes


@pytest.fixture(scope="module")
def in_lanes() -> InLanes:
    return InLanes()


def test_random_programs_in_lanes(in_lanes: InLanes) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    assert [found for i in range(8) if (found := run_one(in_lanes, seed, i, 2, 7))] == []


def test_one_program_has_one_result(encrypted: Encrypted, in_lanes: InLanes) -> None:
    """On tables of FHEW/TFHE and in lanes."""
    a, b = [[3, 20, 13, 0], [7, 9, 31, 0]], [[10, 3, 13, 1], [0, 9, 2, 0]]

    def program(on: Encrypted) -> list[Any]:
        x, y = (on.encrypt(each, 5) for each in (a, b))
        made = [
            *(x + y, x - 3, 30 - x, x * y, x * 11, x & y, x | 12, ~x ^ y, -x, *divmod(x[1], y[0])),
            *(x < y, x == y, x != 13, integers.where(x < y, x, y), integers.maximum(x, 9)),
            *(x << 3, x >> y[0].astype(3), x.rotl(y[0]), x.rotr(3), x.bit_slice(2, 4)),
            *(x.popcount(), x.leading_zeros(), x.trailing_zeros(), x.sum(axis=0), x[1] * x[0]),
            *(integers.sort(x), integers.argmax(x), integers.dot(x, y), abs(x.astype(5, True))),
            *(integers.lookup(np.arange(20) * 7, x), *integers.overflowing_add(x, y), x[0] // 3),
            *(integers.stack([x, y])[1, 0], integers.concatenate([x, y]), x.astype(8) + 255),
        ]
        return [on.decrypt(each).tolist() for each in made]

    found = program(encrypted)
    assert found == program(in_lanes)
    wanted = [(p + q) % 32 for row in zip(a, b, strict=True) for p, q in zip(*row, strict=True)]
    assert np.ravel(found[0]).tolist() == wanted


def test_what_lanes_do_not_have(in_lanes: InLanes) -> None:
    x = in_lanes.encrypt([[1, 2, 3, 4]], 4)
    calls: list[Callable[[], Any]] = [
        lambda: x[:, 0],
        lambda: x[:, [1, 0, 2, 3]],
        lambda: x.sum(axis=1),
    ]
    for call in calls:
        with pytest.raises(whorl.ShapeError, match="the last axis of an array is that of"):
            call()
    with pytest.raises(whorl.EncodingError, match="lanes are vectors"):
        in_lanes.client.encrypt(5, 4)
    with pytest.raises(whorl.EncodingError, match="so many vectors of lanes"):
        integers.Ciphertexts(in_lanes.client.encrypt([1, 2, 3, 4], 4).data, 5)
    assert in_lanes.server.rotations == in_lanes.server.layers == 0
    planned = integers.plan(
        lambda x, y: x * y + 3, [Fresh((2, 4), 4)] * 2, parameters=in_lanes.client.parameters
    )
    assert planned.costs["bootstraps"] >= 0 and planned.costs["products"] > 16
    assert planned.failure_log2 < -64 and planned.rotations == 0
    with pytest.raises(whorl.ShapeError, match="one length, of the lanes"):
        integers.plan(lambda x: x, Fresh((), 4), parameters=in_lanes.client.parameters)


# ---- plans


def test_plans_count_what_runs(encrypted: Encrypted) -> None:
    function: Callable[..., Any] = lambda x, y: integers.maximum(x * 3, y)  # noqa: E731
    toy = binfhe.parameters(TOY, allow_insecure=True)
    planned = integers.plan(function, [Fresh(2, 6), Fresh(2, 6)], parameters=toy)
    server = encrypted.server
    x, y = (encrypted.encrypt(each, 6) for each in ([1, 50], [9, 40]))
    before = server.rotations, server.layers
    found = function(x, y)
    assert (server.rotations - before[0], server.layers - before[1]) == (
        planned.rotations,
        planned.layers,
    )
    assert encrypted.decrypt(found).tolist() == [9, 40]
    assert planned.failure_log2 < -64
    assert "rotations, " in repr(planned) and "layers" in planned._repr_html_()


def test_one_failure_for_a_program() -> None:
    product: Callable[..., Any] = lambda x, y: x * y  # noqa: E731
    one = integers.plan(product, [Fresh((), 16), Fresh((), 16)], parameters=W128)
    assert -132 < one.failure_log2 < -126
    with pytest.raises(whorl.NoiseError, match=r"above 2\^-[\d.]+: allow it by most_failure"):
        integers.plan(
            product, [Fresh(4, 16)] * 2, parameters=W128, most_failure_log2=one.failure_log2
        )
    many = integers.plan(
        product, [Fresh(4, 16), Fresh(4, 16)], parameters=W128, most_failure_log2=-60
    )
    assert many.failure_log2 == pytest.approx(one.failure_log2 + 2, abs=0.01)
    strict = integers.plan(
        product, [Fresh(4, 16), Fresh(4, 16)], parameters=W128, table_failure_log2=-131
    )
    assert strict.failure_log2 <= many.failure_log2 and strict.rotations >= many.rotations


# ---- ranges and noise


def test_what_leaves_its_range_is_found() -> None:
    circuit = Circuit(ClearEngine(account_of(W128)))
    low = np.zeros(1, dtype=np.int64)
    wires = circuit.fresh(np.array([[3, 0]]), low, low + 3, 2)
    with pytest.raises(CircuitError, match="a value of 0 … 2 is 3"):
        circuit.stated(wires, 0, 2)
    with pytest.raises(CircuitError, match="range"):
        circuit.linear((11, wires))
    with pytest.raises(CircuitError, match="no table has the values"):
        circuit.table(circuit.linear((6, wires)), lambda v: v % 5)
    noisy = circuit.linear((6, circuit.table(wires, lambda v: v % 2)))
    with pytest.raises(CircuitError, match="a table gets the noise 36"):
        circuit.table(noisy, lambda v: v)


def test_the_account_is_that_of_the_library() -> None:
    """Sums of k rotations of a dry run have the variances of `Account`."""
    account = account_of(W128)
    table = binfhe.Lut(W128, [*range(16), *(-m % 32 for m in range(16))], 32)

    def sums(x: Any) -> Any:
        looked_up = x.server.apply(table, x, under="ring")
        return [x.server.linear([w] * k, list(looked_up[:k])) for w in (1, 2) for k in (1, 2, 4)]

    given = [binfhe.Fresh(4, 32, under="ring")]
    found = binfhe.plan(sums, given, parameters=W128, allow_failure=1).noise
    wanted = [account.variance(w * w * k, w * k) for w in (1, 2) for k in (1, 2, 4)]
    assert found == pytest.approx(wanted, rel=1e-3)

    def table_of(*weights: int) -> float:
        """log2 of the probability that a table of such a sum fails, and the tables before it."""

        def function(x: Any) -> Any:
            looked_up = list(x.server.apply(table, x, under="ring")[: len(weights)])
            return x.server.apply(table, x.server.linear(weights, looked_up), under="ring")

        return binfhe.plan(function, given, parameters=W128, allow_failure=1).failure_log2

    # Of sums at the limit tables fail as seldom as they should.
    assert account.bears(5 * 5 + 2 * 2 + 1, 8) and not account.bears(6 * 6, 6)
    assert table_of(5, 2, 1) < -127.9 < table_of(6)


@pytest.mark.parametrize("bits", [2, 9, 33, 64, 256])
def test_settling_and_carries(bits: int) -> None:
    random = np.random.default_rng(bits)
    ranges = ((-8, 7), (0, 15), (-3, 3), (0, 6), (-6, 9), (0, 3), (1, 4))
    for (low, high), saves in itertools.product(ranges, get_args(Saves)):
        circuit = Circuit(ClearEngine(account_of(W128)), saves)
        form = Form(bits, bool(random.integers(2)))
        least = np.full(form.digits, low)
        digits = random.integers(low, high + 1, (form.digits, 20))
        given = circuit.fresh(digits % 32, least, least - low + high, 20)
        value = sum(row.astype(object) * 4**i for i, row in enumerate(digits)) % 2**bits
        for made in (settle(circuit, given), flush(circuit, given, form)):
            rows = circuit.plain(made, np.arange(len(made)))
            held = made.low[:, None] + (rows - made.low[:, None]) % 32
            total = sum(row.astype(object) * 4**i for i, row in enumerate(held)) % 2**bits
            assert np.array_equal(total, value)
        assert form.holds(made)


# ---- errors


def test_values_and_types_that_are_refused(encrypted: Encrypted) -> None:
    client, server = encrypted.client, encrypted.server
    with pytest.raises(whorl.ParameterError, match="rotations, both, layers"):
        integers.Server(server._server, saves="time")  # type: ignore[arg-type]
    with pytest.raises(whorl.EncodingError, match=r"value 256 at index 1 is outside 0 … 255"):
        client.encrypt([1, 256], bits=8)
    with pytest.raises(whorl.EncodingError, match=r"value -129 .* of 8 bits, signed"):
        client.encrypt([-129], bits=8, signed=True)
    with pytest.raises(TypeError, match="integers are needed"):
        client.encrypt([0.5], bits=8)
    with pytest.raises(TypeError, match="bits: how many"):
        client.encrypt([1, 2])
    for bits in (0, 257):
        with pytest.raises(whorl.ParameterError, match="bits"):
            client.encrypt([1], bits=bits)
    with pytest.raises(TypeError, match="signed: a bool"):
        client.encrypt([1], bits=8, signed=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"binfhe\.Client or a lanes\.Client is needed"):
        integers.Client(client)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"binfhe\.Server or a lanes\.Server is needed"):
        integers.Server(client)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"integers\.Ciphertexts are needed"):
        client.decrypt(5)  # type: ignore[arg-type]
    with pytest.raises(whorl.EncodingError, match="4 digits along the first axis"):
        integers.Ciphertexts(client.encrypt([1], bits=6).data, 8)
    x, y = server.upload(client.encrypt([1, 2], bits=8)), server.upload(client.encrypt([1], bits=9))
    with pytest.raises(whorl.EncodingError, match=r"8 bits meet integers of 9 bits: write .astype"):
        x + y
    with pytest.raises(whorl.EncodingError, match="value 256 is outside"):
        x + 256
    with pytest.raises(ValueError, match="broadcast"):
        x + server.upload(client.encrypt([1, 2, 3], bits=8))
    with pytest.raises(TypeError, match=r"server\.where"):
        bool(x)
    with pytest.raises(TypeError, match="unsigned"):
        x << x.astype(8, True)
    with pytest.raises(whorl.EncodingError, match="below 0"):
        x << -1
    with pytest.raises(whorl.ShapeError, match="bits 3 … 9"):
        x.bit_slice(3, 9)
    with pytest.raises(whorl.EncodingError, match="one bit"):
        server.where(x, x, x)
    with pytest.raises(whorl.ShapeError, match="axis 1"):
        x.sum(axis=1)
    with pytest.raises(TypeError, match="write // and %"):
        x / 2
    with pytest.raises(whorl.ShapeError, match="65536"):
        integers.lookup([], x)
    with pytest.raises(whorl.EncodingError, match="an entry has 10 bits"):
        integers.lookup([1000], x, 9)
    with pytest.raises(TypeError, match="pickle"):
        import pickle

        pickle.dumps(x)


def test_parameters_that_do_not_serve() -> None:
    with pytest.raises(whorl.ParameterError, match="W128_P128 serves"):
        integers.plan(lambda x: x, Fresh(), parameters=binfhe.parameters("W128_P64"))
    with pytest.raises(whorl.ParameterError, match="W128_P128 serves"):
        integers.plan(lambda x: x, Fresh(), parameters=W128, table_failure_log2=-140)
    with pytest.raises(TypeError, match=r"must return"):
        integers.plan(lambda x: 5, Fresh(), parameters=W128)
    with pytest.raises(whorl.ShapeError, match="holds no values"):
        Fresh((0, 3))
    found = integers.plan(lambda x: x + 1, np.zeros(3, dtype=np.int16), parameters=W128)
    assert found.rotations == 0
