"""Operators of arrays on a device against NumPy."""

from typing import Any

import numpy as np
import pytest
import whorl
from bgv_values import packing, product, random_values, rolled
from support import BGV_ROTATIONS, BgvKit, make_bgv_kit
from whorl import bgv
from whorl.bgv import EncryptedArray


def test_operators(any_bgv: BgvKit, generator: np.random.Generator) -> None:
    kit, t = any_bgv, any_bgv.t
    x, y = (random_values(kit, (2,), generator) for _ in range(2))
    row = random_values(kit, (), generator)
    a = kit.server.upload(kit.client.encrypt(x, packing(kit)))
    b = kit.server.upload(kit.client.encrypt(y, packing(kit)))
    one = np.ones(kit.N, int)
    if not kit.parameters.has_slots:
        one = np.eye(1, kit.N, dtype=int)[0]
    rows = np.broadcast_to(row, x.shape)
    for got, expected in (
        (a + b, x + y),
        (a - b, x - y),
        (-a, -x),
        (+a, x),
        (a * b, product(kit, x, y)),
        (a.multiply(b, relinearise=False), product(kit, x, y)),
        (a.multiply(b, relinearise=False).relinearise(), product(kit, x, y)),
        (a.square(), product(kit, x, x)),
        (a**1, x),
        (a**3, product(kit, product(kit, x, x), x)),
        (a + 5, x + 5 * one),
        (5 + a, x + 5 * one),
        (a - 5, x - 5 * one),
        (5 - a, 5 * one - x),
        (a * -3, -3 * x),
        (np.int64(7) * a, 7 * x),
        (a + np.array(2), x + 2 * one),
        (a * (t - 1), -x),
        (a + (1 - t), x + one),
        (a + row, x + row),
        (row + a, x + row),
        (a - row, x - row),
        (row - a, row - x),
        (a * row, product(kit, x, rows)),
        (row * a, product(kit, x, rows)),
        (a + y, x + y),
        (a * y, product(kit, x, y)),
        (a.mod_switch() + b, x + y),
        (a.mod_switch(2) - b.mod_switch(3), x - y),
        (a * b - 3 * a.mod_switch(), product(kit, x, y) - 3 * x),
        (a.shrink(), x),
        (a.multiply(b, relinearise=False) + a, product(kit, x, y) + x),
        (a - a.multiply(b, relinearise=False), x - product(kit, x, y)),
    ):
        assert isinstance(got, EncryptedArray)
        assert got.noise_budget > 0
        assert np.array_equal(kit.client.decrypt(got), expected % t)
        assert np.all(kit.client.noise_budget(got) >= got.noise_budget)


@pytest.mark.parametrize("t", [2, 4, 1000, 30030, 65536, 12289])
def test_factors_of_composite_moduli_stay_invertible(t: int) -> None:
    """Sums of arrays with the same primes but other histories, and so other factors."""
    kit = make_bgv_kit(t=t, limbs=8)
    a = kit.server.upload(kit.client.encrypt([3 % t, 1], "coefficients"))
    for i in range(3, 8):
        for j in range(3, 8):
            squared, other = a.mod_switch(i).square(), a.mod_switch(j)
            limbs = min(squared.limbs, other.limbs)
            total = squared.mod_switch(limbs) + other.mod_switch(limbs)
            values = kit.client.decrypt(total)
            assert values[:4].tolist() == [12 % t, 7 % t, 1 % t, 0]


def test_slots_move(toy_bgv: BgvKit, generator: np.random.Generator) -> None:
    kit = toy_bgv
    x = random_values(kit, (2, 1), generator)
    a = kit.server.upload(kit.client.encrypt(x))
    swapped = np.concatenate([x[..., kit.N // 2 :], x[..., : kit.N // 2]], axis=-1)
    for got, expected in (
        *((a.rotate(c), rolled(x, c)) for c in BGV_ROTATIONS),
        *zip(a.rotate_many(BGV_ROTATIONS), (rolled(x, c) for c in BGV_ROTATIONS), strict=True),
        (a.rotate(0), x),
        (a.rotate(1 + kit.N // 2), rolled(x, 1)),
        (a.rotate(1 - 2 * kit.N), rolled(x, 1)),
        (a.swap_rows(), swapped),
        (a.inner_sum(8), sum(rolled(x, c) for c in range(8))),
        (a.inner_sum(1), x),
        (a.multiply(a, relinearise=False).rotate(2), rolled(x * x, 2)),
    ):
        assert np.array_equal(kit.client.decrypt(got), expected % kit.t)
    assert a.rotate_many([]) == []


def test_powers_take_the_least_depth(toy_bgv: BgvKit) -> None:
    values = np.array([2, 3, 5, -1])
    a = toy_bgv.server.upload(toy_bgv.client.encrypt(values))
    for exponent in (2, 5, 7, 8):
        power = a**exponent
        expected = np.array([pow(int(v), exponent, toy_bgv.t) for v in values])
        assert np.array_equal(toy_bgv.client.decrypt(power)[:4], expected)
    deepest = a
    for _ in range(3):
        deepest = deepest.square()
    assert (a**7).limbs >= deepest.limbs - 1
    for wrong in (-1, 2**17, 1.5, "2", True):
        with pytest.raises(whorl.ParameterError, match="exponent"):
            a**wrong  # type: ignore[operator]


def test_the_power_0_is_1(any_bgv: BgvKit) -> None:
    """As values, or as the polynomial 1."""
    kit, values = any_bgv, np.array([[2, 0, 5], [1, 1, 1]])
    a = kit.server.upload(kit.client.encrypt(values, packing=packing(kit)))
    one = np.eye(1, 3, dtype=int)[0] if a.packing == "coefficients" else np.ones(3, dtype=int)
    power = a**0
    assert power.shape == (2,) and power.limbs == a.limbs
    assert np.array_equal(kit.client.decrypt(power)[:, :3], [one, one])
    assert np.array_equal(kit.client.decrypt(power * a)[:, :3], values)
    planned = bgv.plan(lambda x: x**0 + x, [np.array([1, 2])])
    assert planned.depth == 0


def test_broadcasting(toy_bgv: BgvKit) -> None:
    client, server = toy_bgv.client, toy_bgv.server
    numbers = np.arange(1, 7).reshape(2, 3)
    a = server.upload(client.encrypt(numbers[..., None]))

    def plain(c: EncryptedArray) -> Any:
        return client.decrypt(c)[..., 0].tolist()

    assert plain(a * [7, 8]) == (7 * numbers).tolist()
    rows = np.array([[1], [2], [3]])
    assert plain(a + rows) == (numbers + rows[:, 0]).tolist()
    tens = np.array([[10], [20]])
    assert plain(a + tens[..., None]) == (numbers + tens).tolist()
    column = client.encrypt(tens[..., None])
    for c in (column, server.upload(column)):  # on the host, on the device
        assert plain(a + c) == (numbers + tens).tolist()
        assert plain(server.sub(c, a)) == (tens - numbers).tolist()
        assert plain(server.multiply(c, client.encrypt([[1], [2]]))) == [[10, 20], [20, 40]]
    one = server.upload(client.encrypt([[5]]))
    assert plain(a + one) == plain(one + a) == (numbers + 5).tolist()
    assert plain(one * a) == plain(a * one) == (5 * numbers).tolist()
    assert plain(one - a) == ((5 - numbers) % toy_bgv.t).tolist()
    assert plain(one * np.array([[1], [2], [3]])) == [5, 10, 15]
    assert plain(one[0] - np.array([[1], [2], [3]])) == [4, 3, 2]
    assert plain(one[0] + one[0]) == 10
    assert plain(a.mod_switch() * one + one.mod_switch(4)) == (5 * numbers + 5).tolist()
    assert a.reshape(3, 2).shape == (3, 2)
    assert plain(a[0].broadcast_to((2, 3))) == [numbers[0].tolist()] * 2
    assert plain(one + one.reshape(1, 1).reshape(1)) == [10]
    for wrong in (np.ones((4, 1), int), client.encrypt(np.ones((4, 1), int))):
        with pytest.raises(ValueError, match="broadcast"):
            a + wrong
    with pytest.raises(ValueError):
        a.reshape(5)


def test_products_go_to_the_depth_that_was_asked_for(generator: np.random.Generator) -> None:
    """Secure parameters, and at each level eight summands, as `sums` says."""
    chosen = bgv.parameters(depth=3)
    client = bgv.Client(chosen)
    server = bgv.Server(client.evaluation_keys(rotations=range(8)), device="cpu")
    clear = generator.integers(0, chosen.t, size=chosen.N)
    encrypted = server.upload(client.public_key().encrypt(clear))
    for _ in range(chosen.depth):
        turned = encrypted.rotate_many(range(8))
        total, expected = turned[0], clear
        for columns in range(1, 8):
            total, expected = total + turned[columns], expected + rolled(clear, columns)
        encrypted, clear = total * total, expected * expected % chosen.t
    assert encrypted.noise_budget > 0
    assert np.array_equal(client.decrypt(encrypted), clear)
