"""Numbers in lanes, against NumPy's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import whorl
from lane_values import LANES, as_bits, as_numbers, party
from whorl import ckks, lanes
from whorl.lanes import _sort


def numbers(seed: int, bits: int, *shape: int) -> Any:
    """Random ones, with 0 and the largest one among them."""
    found = np.random.default_rng(seed).integers(0, 2**bits, (*shape, LANES))
    found[..., 0], found[..., 1] = 0, 2**bits - 1
    return found


def encrypted(values: Any, bits: int) -> lanes.LaneArray:
    client, server = party()
    return server.upload(client.encrypt(as_bits(values, bits)))


def decrypted(array: lanes.LaneArray) -> Any:
    return party()[0].decrypt(array)


def products(function: Callable[..., Any], *shapes: tuple[int, ...]) -> int:
    return lanes.plan(function, shapes, party()[1].parameters, LANES).products


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8, 9])
def test_two_numbers(bits: int) -> None:
    a, b = numbers(bits, bits), numbers(bits + 1, bits)
    b[1:8] = a[1:8]
    b[8], a[9], b[9] = 2**bits - 1, 2**bits - 1, 0
    x, y = encrypted(a, bits), encrypted(b, bits)
    assert np.array_equal(as_numbers(decrypted(lanes.add(x, y))), a + b)
    difference = decrypted(lanes.subtract(x, y))
    assert difference.shape == (bits + 1, LANES)
    assert np.array_equal(as_numbers(difference[:-1]) - (difference[-1].astype(int) << bits), a - b)
    assert np.array_equal(decrypted(lanes.less(x, y)), a < b)
    assert np.array_equal(decrypted(lanes.equal(x, y)), a == b)
    assert np.array_equal(as_numbers(decrypted(lanes.maximum(x, y))), np.maximum(a, b))
    assert np.array_equal(as_numbers(decrypted(lanes.minimum(x, y))), np.minimum(a, b))
    wider = lanes.concatenate([y, y[:1]])
    for function in (*(lanes.add, lanes.subtract, lanes.less), lanes.equal, lanes.maximum):
        with pytest.raises(whorl.ShapeError, match="first axis"):
            function(x, wider)
        with pytest.raises(TypeError, match="LaneArray is needed"):
            function("x", "y")  # type: ignore[arg-type]


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_known_numbers(bits: int) -> None:
    """One for all vectors, and one for each; on both sides."""
    a = numbers(bits, bits, 3)
    x = encrypted(a, bits)
    most = 2**bits - 1
    for known in (0, most, most // 2, [0, most, int(a[2, 5])], np.array([[1], [most]])):
        c = np.asarray(known)[..., None]
        assert np.array_equal(decrypted(lanes.less(x, known)), a < c)
        assert np.array_equal(decrypted(lanes.less(known, x)), c < a)
        assert np.array_equal(decrypted(lanes.equal(x, known)), a == c)
        assert np.array_equal(decrypted(lanes.equal(known, x)), a == c)
    single = encrypted(a[0], bits)
    assert np.array_equal(decrypted(lanes.less(single, [0, most])), a[0] < [[0], [most]])


def test_known_numbers_take_fewer_products() -> None:
    both, one = products(lanes.less, (8,), (8,)), products(lambda x: lanes.less(x, 77), (8,))
    assert (both, one) == (8 + 7 + 7 + 4, 7 + 4)
    assert products(lanes.equal, (8,), (8,)) == 15
    assert products(lambda x: lanes.equal(x, 77), (8,)) == 7


def test_known_numbers_are_checked() -> None:
    x = encrypted(numbers(1, 4), 4)
    for function in (lanes.less, lanes.equal):
        for wrong in (16, -1, [3, 16]):
            with pytest.raises(whorl.ParameterError, match=r"outside 0 … 15, .* 4 bits"):
                function(x, wrong)
        with pytest.raises(TypeError, match="integers are needed"):
            function(x, 0.5)
        with pytest.raises(TypeError, match="int and int are none"):
            function(1, 2)
        with pytest.raises(ValueError, match="broadcast"):
            function(x[:, None][:, [0, 0]], [1, 2, 3])


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 3), (4, 2), (5, 8), (3, 18)])
def test_products(n: int, m: int) -> None:
    a, b = numbers(n, n), numbers(m + 1, m)
    b[0], b[2], a[2] = 2**m - 1, 0, 2**n - 1
    found = decrypted(lanes.multiply(encrypted(a, n), encrypted(b, m)))
    assert found.shape == (n + m, LANES)
    assert np.array_equal(as_numbers(found), a * b)


def test_products_broadcast() -> None:
    a, b = numbers(1, 3, 2, 1), numbers(2, 2, 3)
    found = decrypted(lanes.multiply(encrypted(a, 3), encrypted(b, 2)))
    assert np.array_equal(as_numbers(found), a * b)
    with pytest.raises(whorl.ShapeError, match="no first axis of bits"):
        lanes.multiply(encrypted(a[0, 0], 3), encrypted(a[0, 0], 1)[0])
    with pytest.raises(TypeError, match="int"):
        lanes.multiply(encrypted(a, 3), 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 7, 8, 15, 21])
def test_numbers_of_ones(bits: int) -> None:
    rows = np.random.default_rng(bits).integers(0, 2, (bits, 2, LANES))
    rows[..., 0], rows[..., 1] = 0, 1
    client, server = party()
    found = client.decrypt(lanes.popcount(server.upload(client.encrypt(rows))))
    assert found.shape == (bits.bit_length(), 2, LANES)
    assert np.array_equal(as_numbers(found), rows.sum(axis=0))
    with pytest.raises(whorl.ShapeError, match="no first axis of bits"):
        lanes.popcount(server.upload(client.encrypt(rows[0, 0])))


def test_vectors_broadcast() -> None:
    a, b = numbers(1, 3, 2, 1), numbers(2, 3, 3)
    x, y = encrypted(a, 3), encrypted(b, 3)
    assert np.array_equal(as_numbers(decrypted(lanes.add(x, y))), a + b)
    assert np.array_equal(decrypted(lanes.less(x, y)), a < b)
    assert np.array_equal(as_numbers(decrypted(lanes.minimum(x, y))), np.minimum(a, b))


def test_bootstraps_count_where_they_can() -> None:
    literal = {**ckks.parameters("W128_BITS5_L10").literal(), "N": 1024, "name": "toy"}
    client = lanes.Client(ckks.parameters(literal=literal, allow_insecure=True))
    server = lanes.Server(client.evaluation_keys(LANES), device="cpu")
    rows = np.random.default_rng(1).integers(0, 2, (40, LANES))
    found = client.decrypt(lanes.popcount(server.upload(client.encrypt(rows))))
    assert np.array_equal(as_numbers(found), rows.sum(axis=0))
    a, b = numbers(1, 9), numbers(2, 9)
    x, y = (server.upload(client.encrypt(as_bits(each, 9))) for each in (a, b))
    assert np.array_equal(as_numbers(client.decrypt(lanes.multiply(x, y))), a * b)
    assert np.array_equal(as_numbers(client.decrypt(lanes.total([x, y, y]))), a + 2 * b)
    both = server.upload(client.encrypt(as_bits(numbers(3, 4, 2), 4)))
    found = as_numbers(client.decrypt(lanes.multiply(x, both)))
    assert np.array_equal(found, a * numbers(3, 4, 2))
    with pytest.raises(whorl.ShapeError, match="equal but for the first axis"):
        server.multiply_numbers(x, both)
    with pytest.raises(whorl.ShapeError, match="equal but for the first axis"):
        server.sum_numbers([x, x[0]])
    with pytest.raises(whorl.ParameterError, match="no number is given"):
        server.sum_numbers([])


@pytest.mark.parametrize("widths", [(1,), (3, 3), (2, 5, 1, 4), (3,) * 9])
def test_totals(widths: tuple[int, ...]) -> None:
    values = [numbers(i + 10 * bits, bits) for i, bits in enumerate(widths)]
    each = [encrypted(a, bits) for a, bits in zip(values, widths, strict=True)]
    found = decrypted(lanes.total(each))
    assert found.shape == (max(widths) + (len(widths) - 1).bit_length(), LANES)
    assert np.array_equal(as_numbers(found), np.sum(values, axis=0))


def test_totals_broadcast_and_refuse() -> None:
    a, b = numbers(1, 3, 2, 1), numbers(2, 2, 3)
    x = encrypted(a, 3)
    assert np.array_equal(as_numbers(decrypted(lanes.total([x, encrypted(b, 2)]))), a + b)
    with pytest.raises(whorl.ShapeError, match="no first axis of bits"):
        lanes.total([x, x[0, 0, 0]])
    with pytest.raises(whorl.ParameterError, match="no number is given"):
        lanes.total([])
    with pytest.raises(whorl.ParameterError, match="must be for bits"):
        party()[1].sum_numbers([x])
    with pytest.raises(whorl.ParameterError, match="must be for bits"):
        party()[1].multiply_numbers(x, x)


@pytest.mark.parametrize(("bits", "count"), [(1, 1), (2, 2), (3, 3), (4, 5), (3, 8)])
def test_sorting(bits: int, count: int) -> None:
    a = numbers(bits, bits, count, 2)
    found = decrypted(lanes.sort(encrypted(a, bits)))
    assert found.shape == (bits, count, 2, LANES)
    assert np.array_equal(as_numbers(found), np.sort(a, axis=0))


def test_networks_sort() -> None:
    """All zeros and ones: then they sort anything (Knuth, vol. 3, §5.3.4)."""
    fewest = [0, 0, 1, 3, 5, 9, 12, 16, 19]
    for count in range(1, 11):
        rows = np.array(list(itertools.product((0, 1), repeat=count))).T
        compared = 0
        for low, high in _sort.layers(count):
            assert len({*low, *high}) == 2 * len(low)
            a, b = rows[low], rows[high]
            rows[low], rows[high] = np.minimum(a, b), np.maximum(a, b)
            compared += len(low)
        assert (np.diff(rows, axis=0) >= 0).all()
        if count < len(fewest):
            assert compared == fewest[count]


def test_sorting_is_checked() -> None:
    with pytest.raises(whorl.ShapeError, match="axes of bits and of numbers"):
        lanes.sort(encrypted(numbers(1, 3), 3))
