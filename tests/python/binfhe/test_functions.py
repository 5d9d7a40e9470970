"""Functions of arrays by tables, tables that share a rotation, coarse tables, and bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import whorl
from support import Kit, make_kit
from whorl import binfhe
from whorl.binfhe import (
    EncryptedArray,
    Fresh,
    Lut,
    bits_of,
    integers_of,
    max_pool,
    maximum,
    parameters,
    plan,
    reciprocal,
    relu,
    sigmoid,
    sqrt,
)


def signed(kit: Kit, p: int = 8) -> tuple[EncryptedArray, Any]:
    """All messages of p, and the integers that they stand for."""
    messages = np.arange(p)
    return kit.server.upload(kit.client.encrypt(messages, p)), (messages + p // 2) % p - p // 2


# ---- several tables by one rotation


def test_tables_that_share_a_rotation(any_kit: Kit, generator: np.random.Generator) -> None:
    for padding in (True, False):
        messages = generator.integers(0, 4, size=(2, 5))
        encrypted = any_kit.client.encrypt(messages, 4, padding)
        tables = [
            Lut(any_kit.parameters, generator.integers(0, p_out, 4), 4, p_out, padding)
            for p_out in (4, 8, 3)
        ]
        if any_kit.parameters.lut_failure_log2(4, padding, not padding, tables=3) > -40:
            tables = tables[:2]
        for results in (
            any_kit.server.apply_many(tables, encrypted),
            any_kit.server.upload(encrypted).apply_many(tables),
        ):
            assert len(results) == len(tables)
            for result, table in zip(results, tables, strict=True):
                assert (result.shape, result.p) == ((2, 5), table.p_out)
                assert np.array_equal(any_kit.client.decrypt(result), table.values[messages])


def test_bits_of_a_message_by_one_rotation() -> None:
    """Four tables of 16 inputs have no phases at 2^-128, and share a common factor."""
    chosen = parameters("W128_P128")
    bits = [Lut(chosen, (np.arange(16) >> k) & 1, padding=True, p_out=4) for k in range(4)]
    split = plan(
        lambda x: x.apply_many(bits),
        Fresh(3, 16, True),
        parameters=chosen,
        allow_failure=2.0**-128,
    )
    assert (split.costs["bootstraps"], split.costs["key_switches"]) == (3, 12)
    assert 1.1 < split.noise[0] < 1.5
    assert split.noise[3] == 1
    assert split.failure_log2 < -135


def test_shared_rotations_are_counted_once() -> None:
    chosen = parameters("W128_P128")
    tables = [Lut(chosen, [k, 1, 2, 3], padding=True) for k in range(4)]
    four = plan(lambda x: x.apply_many(tables), Fresh(3, 4, True), parameters=chosen)
    assert (four.costs["bootstraps"], four.costs["key_switches"]) == (3, 12)
    two = plan(lambda x: x.apply_many(tables[:2]), Fresh(3, 4, True), parameters=chosen)
    assert two.failure_log2 < four.failure_log2 < -128
    stated = [chosen.lut_failure_log2(4, True, False, tables=k) for k in (1, 2, 4, 8)]
    assert stated == sorted(stated)
    assert chosen.lut_failure_log2(4, True, False, tables=3) == stated[2]


def test_padded_tables_with_a_range_share_a_rotation(kit: Kit) -> None:
    x = kit.server.upload(kit.client.encrypt([3, 1, 0], 4, padding=True)).with_range(0, 3)
    difference = kit.server.linear([1], [x], -2)
    assert difference.range == (-2, 1)
    positive = Lut(kit.parameters, [0, 1, 0, 0], padding=True)
    negative = Lut(kit.parameters, [0, 0, 2, 1], padding=True)
    both = kit.server.apply_many([positive, negative], difference)
    assert [kit.client.decrypt(each).tolist() for each in both] == [[1, 0, 0], [0, 1, 2]]


def test_tables_of_inputs_under_the_ring_key(kit: Kit) -> None:
    x = kit.client.encrypt([0, 1, 2, 3], 4, padding=True, under="ring")
    high, low = (Lut(kit.parameters, t, padding=True) for t in ([0, 0, 1, 1], [0, 1, 0, 1]))
    both = kit.server.apply_many([high, low], x)
    assert [each.under for each in both] == ["lwe", "lwe"]
    assert [kit.client.decrypt(each).tolist() for each in both] == [[0, 0, 1, 1], [0, 1, 0, 1]]
    signed_ring = kit.server.upload(kit.client.encrypt([1, 7], 8, under="ring"))
    assert kit.client.decrypt(relu(signed_ring, 4)).tolist() == [1, 0]  # two rotations
    assert kit.client.decrypt(relu(signed_ring.to_lwe_key(), 4)).tolist() == [1, 0]
    assert kit.client.decrypt(relu(signed_ring)).tolist() == [1, 0]
    ranged = signed_ring.with_range(-4, 3)
    larger = maximum(
        ranged.with_range(-1, 1), kit.server.upload(kit.client.encrypt(0, 8)).with_range(0, 0)
    )
    assert kit.client.decrypt(larger).tolist() == [1, 0]


def test_results_under_the_ring_key(kit: Kit) -> None:
    high, low = (Lut(kit.parameters, t, padding=True) for t in ([0, 0, 1, 1], [0, 1, 0, 1]))
    padded = kit.server.upload(kit.client.encrypt([0, 1, 2, 3], 4, padding=True, under="ring"))
    for tables in ([high, low], [high, low] * 4):  # by phases, and by a common factor
        both = padded.apply_many(tables, under="ring")
        assert {each.under for each in both} == {"ring"}
        assert [kit.client.decrypt(each).tolist() for each in both[:2]] == [
            [0, 0, 1, 1],
            [0, 1, 0, 1],
        ]
    total = kit.server.linear([2, 1], both[:2])
    assert total.under == "ring" and kit.client.decrypt(total).tolist() == [0, 1, 2, 3]
    functions: tuple[Any, ...] = (relu, sigmoid, sqrt, reciprocal)
    for function in functions:
        apart = function(padded, under="ring")
        assert apart.under == "ring"
        assert np.array_equal(kit.client.decrypt(apart), kit.client.decrypt(function(padded)))
    small = padded[:2].with_range(0, 2)
    larger = maximum(small, kit.server.trivial(1, 4, True, under="ring"), under="ring")
    assert larger.under == "ring" and kit.client.decrypt(larger).tolist() == [1, 1]
    image = kit.server.upload(kit.client.encrypt([[0, 1], [1, 0]], 8, under="ring")).with_range(
        0, 1
    )
    pooled = max_pool(image, under="ring")
    assert pooled.under == "ring" and kit.client.decrypt(pooled).tolist() == [[1]]
    with pytest.raises(whorl.KeyMismatchError, match=r"maximum: .* encrypt them with under"):
        maximum(small, small.to_lwe_key(), under="ring")
    with pytest.raises(whorl.ParameterError, match="under"):
        relu(small, under="other")
    with pytest.raises(whorl.ParameterError, match="under"):
        maximum(small, small, under="other")


def test_the_larger_of_padded_integers_without_a_range(kit: Kit) -> None:
    bits = Lut(kit.parameters, [0, 1, 1, 0], padding=True)
    a, b = (
        kit.server.apply(bits, kit.client.encrypt(m, 4, padding=True))
        for m in ([0, 1, 2], [3, 3, 1])
    )
    assert a.range is None and a.largest == 1
    larger = maximum(a, b)
    assert kit.client.decrypt(larger).tolist() == [0, 1, 1] and larger.range == (0, 1)


def test_wrong_shared_tables(kit: Kit) -> None:
    four = Lut(kit.parameters, [0, 1, 2, 3], padding=True)
    x = kit.client.encrypt([0, 1], 4, padding=True)
    with pytest.raises(ValueError, match="at least one"):
        kit.server.apply_many([], x)
    wrong: Any = [four, 3]
    with pytest.raises(TypeError, match="tables are needed"):
        kit.server.apply_many(wrong, x)
    with pytest.raises(whorl.EncodingError, match="p, padding"):
        kit.server.apply_many([four, Lut(kit.parameters, [0, 1], padding=True)], x)
    with pytest.raises(whorl.EncodingError, match="share rotations of at most"):
        # Outputs of several p leave phases alone, which are too few.
        wide = Lut(kit.parameters, [0, 1, 2, 3], 4, 8, padding=True)
        kit.server.apply_many([four] * 128 + [wide], x)
    with pytest.raises(whorl.RangeError, match="tables = 0"):
        kit.parameters.lut_failure_log2(4, tables=0)


# ---- one rotation


def test_tables_of_one_rotation(any_kit: Kit) -> None:
    x, integers = signed(any_kit)
    distance = Lut(any_kit.parameters, np.abs(integers), one_rotation=True)
    positive = Lut(any_kit.parameters, np.maximum(integers, 0), p_out=4, one_rotation=True)
    assert (distance.kind, distance.weight) == ("near_negacyclic", 0)
    assert (positive.kind, positive.weight) == ("near_negacyclic", 1)
    for lut in (distance, positive):
        result = any_kit.server.apply(lut, x)
        assert np.array_equal(any_kit.client.decrypt(result), lut.values)
        assert result.noise == pytest.approx(1 + lut.weight * x.noise)
        assert Lut.from_bytes(lut.to_bytes(), allow_insecure=True) == lut
    other = Lut(any_kit.parameters, [3, 3, 3, 3, 0, 0, 0, 0], p_out=8, one_rotation=True)
    each = any_kit.server.apply([distance, other] * 4, x)
    want = [distance(m) if m % 2 == 0 else other(m) for m in range(8)]
    assert any_kit.client.decrypt(each).tolist() == want
    assert distance != Lut(any_kit.parameters, np.abs(integers))
    with pytest.raises(whorl.EncodingError, match="leave one_rotation out"):
        Lut(any_kit.parameters, [0, 1, 4, 1, 0, 1, 4, 3], one_rotation=True)
    wrong: Any = 1
    with pytest.raises(TypeError, match="one_rotation"):
        Lut(any_kit.parameters, [0, 1], one_rotation=wrong)


def test_divided(kit: Kit) -> None:
    x = kit.server.upload(kit.client.encrypt([[0, 2], [4, 6]], 8)).with_range(0, 6)
    half = x.divided(2)
    assert (half.p, half.shape, half.range) == (4, (2, 2), (0, 3))
    assert kit.client.decrypt(half).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(whorl.EncodingError, match="p = 8 is not a multiple of 3"):
        x.divided(3)


# ---- functions


def test_relu(any_kit: Kit) -> None:
    x, integers = signed(any_kit)
    want = np.maximum(integers, 0)
    for p_out in (8, 4):
        result = relu(x, p_out)
        assert result.p == p_out
        assert np.array_equal(any_kit.client.decrypt(result), want)
    once = plan(lambda y: relu(y, 4), Fresh(5, 8), parameters=any_kit.parameters)
    assert once.costs["bootstraps"] == 5
    moved = any_kit.server.upload(any_kit.client.encrypt([2, 3, 4, 5], 8)).with_range(2, 5)
    assert any_kit.client.decrypt(relu(moved)).tolist() == [2, 3, 4, 5]


def test_relu_with_padding(kit: Kit) -> None:
    x = kit.server.upload(kit.client.encrypt([0, 1, 2, 3], 8, padding=True)).with_range(0, 3)
    result = relu(kit.server.linear([2], [x], -3))  # -3, -1, 1, 3
    assert kit.client.decrypt(result).tolist() == [0, 0, 1, 3]
    with pytest.raises(whorl.EncodingError, match="not below p_out"):
        relu(x, 2)


@pytest.mark.parametrize(
    ("function", "clear"),
    [
        (lambda x: sigmoid(x, 0.75), lambda m: 7 / (1 + np.exp(-0.75 * m))),
        (lambda x: sigmoid(x, 2, 3), lambda m: 2 / (1 + np.exp(-2.0 * m))),
        (lambda x: sqrt(x), lambda m: np.sqrt(m % 8)),
        (lambda x: sqrt(x, 0.5), lambda m: np.sqrt(m % 8) / 0.5),
        (lambda x: reciprocal(x), lambda m: np.where(m == 0, 7, 7 / np.where(m == 0, 1, m % 8))),
        (
            lambda x: reciprocal(x, 0.25, 4),
            lambda m: np.minimum(3, np.where(m == 0, 3, 4 / np.where(m == 0, 1, m % 8))),
        ),
    ],
)
def test_smooth_functions(
    kit: Kit, function: Callable[[EncryptedArray], EncryptedArray], clear: Callable[[Any], Any]
) -> None:
    x, integers = signed(kit)
    want = np.rint(clear(integers.astype(float)))
    assert np.array_equal(kit.client.decrypt(function(x)), want)


def test_wrong_functions(kit: Kit) -> None:
    x, _ = signed(kit)
    with pytest.raises(ValueError, match="unit: 0"):
        sigmoid(x, 0)
    wrong: Any = "1"
    with pytest.raises(TypeError, match="unit"):
        sqrt(x, wrong)
    with pytest.raises(whorl.EncodingError, match="not below p_out"):
        sqrt(x, 0.1)
    below = kit.server.linear([1], [x.with_range(0, 7)], -3)
    for function in (sqrt, reciprocal):
        with pytest.raises(whorl.EncodingError, match="as small as -3"):
            function(below)
    host: Any = kit.client.encrypt([1])
    with pytest.raises(TypeError, match="array of a server"):
        relu(host)


# ---- the largest of several


def test_maximum(any_kit: Kit, generator: np.random.Generator) -> None:
    for padding, most in ((False, 3), (True, 3)):
        a, b = generator.integers(0, most + 1, (2, 12))
        x, y = (
            any_kit.server.upload(any_kit.client.encrypt(each, 8, padding)).with_range(0, most)
            for each in (a, b)
        )
        larger = maximum(x, y)
        assert larger.range == (0, most)
        assert larger.p == (8 if padding else 4)
        assert np.array_equal(any_kit.client.decrypt(larger), np.maximum(a, b))
    # A range of negative integers, against a single ciphertext.
    c = any_kit.server.upload(any_kit.client.encrypt([0, 1, 6, 7], 8)).with_range(-2, 1)
    d = any_kit.server.upload(any_kit.client.encrypt(0, 8)).with_range(-1, 0)
    assert any_kit.client.decrypt(maximum(c, d)).tolist() == [0, 1, 0, 0]


def test_maximum_refuses_differences_that_do_not_fit(kit: Kit) -> None:
    x, _ = signed(kit)
    with pytest.raises(whorl.EncodingError, match=r"-7 … 7, but p = 8 holds -4 … 3"):
        maximum(x, x)
    padded = kit.server.upload(kit.client.encrypt([1], 4, padding=True))
    with pytest.raises(whorl.EncodingError, match="p = 4 holds 4 integers"):
        maximum(padded, padded)


@pytest.mark.parametrize(("padding", "p", "p_out"), [(False, 16, 4), (True, 8, 8)])
def test_max_pool(padding: bool, p: int, p_out: int, generator: np.random.Generator) -> None:
    chosen = make_kit(Q=(1 << 50) - 16383, gadget=[(32, 13, 4)], max_p=16)
    images = generator.integers(0, 4, (2, 4, 6))
    x = chosen.server.upload(chosen.client.encrypt(images, p, padding)).with_range(0, 3)
    pooled = max_pool(x)
    want = images.reshape(2, 2, 2, 3, 2).max(axis=(2, 4))
    assert (pooled.p, pooled.range) == (p_out, (0, 3))
    assert np.array_equal(chosen.client.decrypt(pooled), want)
    counted = plan(
        lambda y: max_pool(y.with_range(0, 3)),
        Fresh((2, 4, 6), p, padding),
        parameters=chosen.parameters,
    )
    assert counted.costs["bootstraps"] == 3 * want.size
    assert max_pool(x, 1).shape == x.shape
    with pytest.raises(ValueError, match="power of two"):
        max_pool(x, 3)
    with pytest.raises(whorl.ShapeError, match="multiples of 4"):
        max_pool(x, 4)


# ---- coarse tables


def test_coarse_tables_stay_within_their_bound() -> None:
    toy = make_kit()
    p = 2**12
    x = np.arange(0, p, 13)
    integers = (x + p // 2) % p - p // 2
    with pytest.raises(whorl.EncodingError, match="allow_failure=1 takes up to 65536"):
        toy.client.encrypt(x, p)
    encrypted = toy.server.upload(toy.client.encrypt(x, p, allow_failure=1))
    once = Lut(
        toy.parameters,
        np.maximum((np.arange(p) + p // 2) % p - p // 2, 0),
        p_out=p // 2,
        exact=False,
        one_rotation=True,
    )
    # Fresh ciphertexts of this set have more noise than bootstrapped ones.
    bound = toy.server.error_bound(once, encrypted)
    assert bound > once.error_bound
    with pytest.raises(whorl.NoiseError, match=f"within={bound} accepts it"):
        relu(encrypted, p // 2, exact=False)
    positive = relu(encrypted, p // 2, exact=False, within=bound)
    off = (toy.client.decrypt(positive) - np.maximum(integers, 0) + p // 4) % (p // 2) - p // 4
    assert 0 < np.abs(off).max() <= bound < p // 16
    # At the ends of the circle relu jumps; a range that stays away from them has a bound.
    twice = Lut(toy.parameters, np.maximum(np.roll(np.arange(p) - p // 2, p // 2), 0), exact=False)
    assert twice.error_bound == p // 2
    assert twice.reach < p // 16
    middle = toy.server.upload(toy.client.encrypt([100, p - 900], p, allow_failure=1))
    middle = middle.with_range(-1000, 1000)
    within = toy.server.error_bound(twice, middle)
    assert within < p // 8
    assert twice.reach < toy.server.reach(twice, middle)
    got = toy.client.decrypt(toy.server.apply(twice, middle, within))
    apart = np.abs((got - [100, 0] + p // 2) % p - p // 2)
    assert apart.max() <= within


def test_sums_of_coarse_messages_state_their_bound() -> None:
    toy = make_kit()
    p = 2**12
    x = np.arange(0, p, 61)
    encrypted = toy.server.upload(toy.client.encrypt(x, p, allow_failure=1))
    assert toy.server.allow_failure < 1 and 0 < encrypted.error_bound < p // 16
    smooth = np.minimum(np.arange(p), p - np.arange(p))
    table = Lut(toy.parameters, smooth, exact=False, one_rotation=True)
    looked_up = encrypted.apply(table, toy.server.error_bound(table, encrypted))
    # The server's bound shares 2^-40 between what the table reads and what it gives.
    assert 0 <= toy.server.error_bound(table, encrypted) - looked_up.error_bound <= 1
    assert -40 <= looked_up.failure_log2 <= -38
    total = toy.server.linear([2, -1], [looked_up, looked_up[::-1].apply(table, p)], modular=True)
    moved = total + 5  # a known number, and a trivial encryption
    moved = toy.server.add(moved, toy.server.trivial(1, p), modular=True)
    want = 2 * smooth[x] - smooth[smooth[x[::-1]]] + 6
    apart = np.abs((toy.client.decrypt(moved) - want + p // 2) % p - p // 2)
    assert 0 < apart.max() <= moved.error_bound < p // 2
    assert looked_up.failure_log2 < moved.failure_log2 < -36
    host = moved.to_host()
    assert (host.error_bound, host.failure_log2) == (moved.error_bound, moved.failure_log2)
    # A table that reads on from these needs the bound that is accepted.
    with pytest.raises(whorl.NoiseError, match=r"whose messages are known within .*within="):
        moved.apply(table)
    found = plan(
        lambda y: y.apply(table, p).server.linear([3], [y.apply(table, p)], modular=True),
        Fresh(4, p=p),
        parameters=toy.parameters,
    )
    assert found.error_bounds[0] > 3 * table.error_bound // 2 and found.failure_log2 < -30
    assert f">{found.error_bounds[0]}<" in found._repr_html_()


def test_a_threshold_is_right_beyond_its_reach() -> None:
    toy = make_kit()
    p, border = 2**11, 700
    below = Lut(toy.parameters, (np.arange(p) < border).astype(int), p_out=4, exact=False)
    reach = toy.server.reach(below, toy.client.encrypt(0, p, allow_failure=1))
    assert 0 < below.reach < reach < 200
    x = np.array([reach + 1, border - reach - 1, border + reach + 1, p - reach - 2] * 8)
    result = toy.server.apply(below, toy.client.encrypt(x, p, allow_failure=1), within=2)
    assert toy.client.decrypt(result).tolist() == [1, 1, 0, 0] * 8


# ---- bits


@pytest.mark.parametrize("width", [8, 16, 63, 64, 256])
def test_bits_of_integers(width: int, generator: np.random.Generator) -> None:
    integers = [[int(n) for n in row] for row in generator.integers(0, 2**8, (3, 2))]
    integers[0][0], integers[2][1] = 2**width - 1, 2 ** (width - 1)
    bits = bits_of(np.array(integers, dtype=object), width)
    assert bits.shape == (3, 2, width)
    assert bits[0, 0].all()
    assert bits[2, 1].tolist() == [0] * (width - 1) + [1]
    assert integers_of(bits).tolist() == integers


def test_bitwise_and_is_one_call(kit: Kit) -> None:
    a, b = 0xDEADBEEF0BADF00D, 0x0123456789ABCDEF
    x, y = (kit.client.encrypt(bits_of(each, 64)) for each in (a, b))
    assert int(integers_of(kit.client.decrypt(kit.server.and_(x, y)))) == a & b
    counted = plan(lambda u, v: u & v, [Fresh(256), Fresh(256)], parameters=kit.parameters)
    assert counted.costs["bootstraps"] == 256


def test_wrong_bits() -> None:
    with pytest.raises(whorl.EncodingError, match=r"integers.*256"):
        bits_of([1, 256], 8)
    with pytest.raises(ValueError, match="width"):
        bits_of([1], 0)
    with pytest.raises(whorl.EncodingError, match="neither 0 nor 1"):
        integers_of([0, 2])
    with pytest.raises(whorl.ShapeError, match="last axis"):
        integers_of([])
    assert set(binfhe.__all__) >= {"relu", "max_pool", "bits_of"}
