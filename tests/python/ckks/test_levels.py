"""Levels, scales, bounds and errors, as Python shows them."""

import math
import re

import numpy as np
import pytest
import whorl
from ckks_values import check
from support import CkksKit
from whorl import ckks


def test_facts(toy_ckks: CkksKit) -> None:
    kit, p = toy_ckks, toy_ckks.parameters
    host = kit.client.encrypt([[0.5, 1.0, 1.5]], bound=1.5)
    assert (host.shape, host.level, host.parts, host.length) == ((1,), 3, 2, 3)
    assert host.scale == p.scale() == p.scale(3) and host.bound == pytest.approx(1.5)
    assert 0 < host.error < 1e-8
    assert host.data.shape == (2, sum(p.levels[3]), 1, p.N)
    a = kit.server.upload(host)
    product = a * a
    assert product.level == 2 and product.scale == p.scale(2)
    assert product.bound == pytest.approx(2.25) and product.error > a.error
    for shown in (repr(host), repr(a)):
        for part in ("3 real of N=1024", "level 3 of 3", "2 parts", host.key_id[:8]):
            assert part in shown
    back = product.to_host()
    assert (back.level, back.scale, back.bound) == (2, product.scale, product.bound)
    assert back.nbytes < host.nbytes == host.data.nbytes


def test_results_of_low_levels_are_smaller(toy_ckks: CkksKit) -> None:
    kit, x = toy_ckks, [0.25, -0.5]
    a = kit.server.upload(kit.client.encrypt(x))
    low = a.lower(0)
    assert low.level == 0 and low.to_host().nbytes < a.to_host().nbytes / 2
    check(kit, low, x)
    for level in (4, -1):
        with pytest.raises(whorl.ParameterError, match="level"):
            a.lower(level)
    with pytest.raises(whorl.ParameterError, match="level: 1 is outside 0 … 0"):
        low.lower(1)


def test_no_level_is_left(toy_ckks: CkksKit) -> None:
    a = toy_ckks.server.upload(toy_ckks.client.encrypt([0.5])) ** 8
    for work in (lambda: a * a, lambda: a * 0.5, lambda: a.rescale(), lambda: a**2):
        with pytest.raises(whorl.NoiseError, match="level 0"):
            work()
    check(toy_ckks, a * 2, [0.5**8 * 2])


def test_a_product_is_rescaled_once(toy_ckks: CkksKit) -> None:
    a = toy_ckks.server.upload(toy_ckks.client.encrypt([0.5]))
    with pytest.raises(whorl.EncodingError, match="it is rescaled already, or is no product"):
        (a * a).rescale()


def test_bounds(toy_ckks: CkksKit) -> None:
    kit, x = toy_ckks, np.array([0.5, -0.5])
    a = kit.server.upload(kit.client.encrypt(x, bound=0.5))
    total = a
    for _ in range(4):
        total = total + total
    assert total.bound == pytest.approx(8)
    check(kit, total, 16 * x)
    assert (a - a).with_bound(1e-6).bound == pytest.approx(1e-6)
    assert a.with_bound(100).bound == pytest.approx(0.5)
    for wrong in (0, -1.0, float("nan")):
        with pytest.raises(whorl.ParameterError, match=re.escape("not positive")):
            a.with_bound(wrong)
    # Values that would wrap around are refused, not wrong.
    low = a.lower(0)
    with pytest.raises(whorl.NoiseError, match=r"values of up to 2\^\d+\.\d .* do not fit level 0"):
        for _ in range(20):
            low = low + low


def test_errors_that_drown_the_values(toy_ckks: CkksKit) -> None:
    kit = toy_ckks
    a = kit.server.upload(kit.client.encrypt([1e-11], bound=1e-11))
    with pytest.raises(whorl.NoiseError, match="within a factor of 8"):
        kit.client.decrypt(a, raw=True)
    assert kit.client.decrypt(a, raw=True, allow_spent=True).shape == (1,)
    with pytest.raises(whorl.NoiseError, match="within a factor of 8"):
        kit.client.release(kit.client.encrypt([1e-4], bound=1e-4), bits=60)


def test_scales_that_cannot_meet_are_both_named(toy_ckks: CkksKit) -> None:
    kit, p = toy_ckks, toy_ckks.parameters
    a = kit.server.upload(kit.client.encrypt([[0.5, 0.25]]))
    identity = ckks.diagonals({0: [1.0, 1.0]}, 2)
    # One is three times the other: an integer that small would be rounded too coarsely.
    odd = kit.server.apply(a, kit.server.encode(identity, 3, 3 * p.scale(3)))
    usual = a.lower(2)
    assert odd.level == usual.level and odd.scale == pytest.approx(3 * usual.scale)
    for work in (
        lambda: odd + usual,
        lambda: usual - odd,
        lambda: odd.lower(2),
        lambda: ckks.concatenate([odd, usual]),
    ):
        with pytest.raises(whorl.EncodingError, match="scale") as refusal:
            work()
        named = {float(number) for number in re.findall(r"\d+\.\d+", str(refusal.value))}
        scales = {odd.scale, usual.scale}
        assert named in (scales, {round(math.log2(scale), 1) for scale in scales})
