"""Bounds of values: what may not fit is refused, and what is known of zeros and of products."""

from typing import Any

import numpy as np
import pytest
import whorl
from support import CkksKit
from whorl import ckks


def test_what_does_not_fit_the_lower_level_is_refused(toy_ckks: CkksKit) -> None:
    x = toy_ckks.server.upload(toy_ckks.client.encrypt([0.1, 0.2]))
    large = x * 2**24  # above 2^20, which level 0 does not hold
    for work in (
        lambda: large.lower(0),
        lambda: ckks.concatenate([large, x.lower(0)]),
        lambda: ckks.stack([large, x.lower(0)]),
        lambda: large + x.lower(0),
    ):
        with pytest.raises(whorl.NoiseError, match="do not fit level 0"):
            work()
    assert np.allclose(toy_ckks.client.decrypt((x * 500).lower(0), raw=True), [50, 100], atol=1e-3)


def test_products_with_zeros(toy_ckks: CkksKit) -> None:
    client = toy_ckks.client
    x = toy_ckks.server.upload(client.encrypt([0.1, 0.2]))
    factors: list[Any] = [0, 0.0, 0j, [0.0, 0.0], 1e-300]
    for zero in factors:
        result = x * zero
        assert np.abs(client.decrypt(result, raw=True)).max() < 1e-6
        again = ckks.Ciphertexts.from_bytes((result * result).to_host().to_bytes(), True)
        assert np.abs(client.decrypt(again, raw=True)).max() < 1e-6


def test_values_that_no_double_holds_are_refused() -> None:
    client = ckks.Client(ckks.parameters(depth=24))
    server = ckks.Server(client.evaluation_keys(relinearise=2), device="cpu")
    y = server.upload(client.encrypt([0.5], bound=0.5))
    with pytest.raises(whorl.NoiseError, match=r"2\^\d+"):
        for _ in range(20):
            y = y * 2**62
            assert np.isfinite(y.bound)
            assert "bound" in y._repr_html_()
    assert np.isfinite(client.decrypt(y, raw=True)).all()


def test_coefficients_state_the_bound_of_their_sum(toy_ckks: CkksKit) -> None:
    f = toy_ckks.server.upload(toy_ckks.client.encrypt([0.5, 0, 0, 0], packing="coefficients"))
    assert f.bound == 4
    assert f.with_bound(0.75).bound == pytest.approx(0.75)
    assert f.with_bound(f.bound / 2).bound == 2


def test_errors_that_are_known(toy_ckks: CkksKit) -> None:
    x = toy_ckks.server.upload(toy_ckks.client.encrypt([0.5, 0.25]))
    assert x.with_error(2.0**-60).error == 2.0**-60 < x.error
    assert x.with_error(1).error == x.error
    assert (x.with_error(2.0**-60).level, x.with_error(2.0**-60).bound) == (x.level, x.bound)
    for bad in (0, -1.0):
        with pytest.raises(whorl.ParameterError, match="error"):
            x.with_error(bad)


def test_lengths_that_are_no_period_are_refused(toy_ckks: CkksKit) -> None:
    x = toy_ckks.server.upload(toy_ckks.client.encrypt(np.ones(4)))
    for work, message in (
        (lambda: x.sum(period=3), "power of two in 1 … 4"),
        (lambda: x.sum(period=8), "power of two in 1 … 4"),
        (lambda: x.repeat(2), "cannot be repeated to 2: .* a multiple of it up to 512"),
        (lambda: x.replicate(1, 2), "the first value, 1, is not a multiple of 2"),
        (lambda: x.replicate(4), "the first value, 4, .* to the end of 4"),
        (lambda: x.replicate(0, 8), "power of two in 1 … 4"),
        (lambda: x.repeat(1024), "a multiple of it up to 512"),
    ):
        with pytest.raises(whorl.ShapeError, match=message):
            work()
    with pytest.raises(whorl.ParameterError, match="length"):
        x.repeat(-1)


def test_division(toy_ckks: CkksKit) -> None:
    client = toy_ckks.client
    x = toy_ckks.server.upload(client.encrypt([0.6, 0.9]))
    third = client.decrypt(x / np.float16(3), raw=True)
    assert np.abs(third - [0.2, 0.3]).max() < 1e-7
    assert np.abs(client.decrypt(x / [2, 3], raw=True) - [0.3, 0.3]).max() < 1e-7
    divisor: Any
    for divisor, error, match in (
        (0, ZeroDivisionError, "divisor: value 0"),
        ([1, 0.0], ZeroDivisionError, "at index 1 is 0"),
        ([[1], [1, 2]], whorl.ShapeError, "divisor"),
        ("a", TypeError, "divisor"),
    ):
        with pytest.raises(error, match=match):
            x / divisor


def test_polynomials_of_no_degree(toy_ckks: CkksKit) -> None:
    client = toy_ckks.client
    x = toy_ckks.server.upload(client.encrypt([0.5, 0.25]))
    for constant in (0.0, 0.5):
        p = ckks.Polynomial([constant], low=-2, high=2)
        assert p.depth == 0
        for y in (x, x.lower(0)):
            result = ckks.evaluate(y, p)
            assert result.level == y.level
            assert np.allclose(client.decrypt(result, raw=True), constant, atol=1e-6)
        each = ckks.evaluate(x, [p, ckks.Polynomial([-1], low=-2, high=2)], [1, 0])
        assert each.level == x.level
        assert np.allclose(client.decrypt(each, raw=True), [-1, constant], atol=1e-6)
    with pytest.raises(whorl.ParameterError, match="interval"):
        ckks.Polynomial([0, 1], low=-1e308, high=1e308)


def test_precision_of_what_overflows() -> None:
    with pytest.raises(whorl.EncodingError, match="index 1"):
        ckks.precision([0, 1e308], [0, -1e308])
