"""Matrices times arrays of ciphertexts along their first axis, against NumPy's."""

import re
from typing import Any

import numpy as np
import pytest
from ckks_values import check, random_complex
from support import CkksKit
from whorl import ckks
from whorl.errors import DeviceError, EncodingError, NoiseError, ShapeError


@pytest.mark.parametrize(
    ("rows", "columns", "rest"),
    [(1, 1, ()), (5, 1, (2,)), (1, 5, ()), (3, 7, (2, 2)), (17, 33, ()), (40, 20, (3,))],
)
def test_matrices(
    any_ckks: CkksKit,
    generator: np.random.Generator,
    rows: int,
    columns: int,
    rest: tuple[int, ...],
) -> None:
    kit = any_ckks
    weights, bias = generator.uniform(-1, 1, (rows, columns)), generator.uniform(-1, 1, rows)
    for x in (
        generator.uniform(-1, 1, (columns, *rest, 5)),
        random_complex(generator, columns, *rest, 5),
    ):
        a = kit.server.upload(kit.client.encrypt(x))
        wanted = np.tensordot(weights, x, 1)
        got = kit.server.weighted_sums(weights, a)
        assert (got.shape, got.length, got.level) == ((rows, *rest), 5, a.level - 1)
        assert got.packing == a.packing
        check(kit, got, wanted)
        with_bias = wanted + bias.reshape(-1, *([1] * (x.ndim - 1)))
        check(kit, kit.server.weighted_sums(weights, a, bias), with_bias)
        # Of a lower level, of another scale, and of three parts.
        check(kit, kit.server.weighted_sums(weights, a.lower(1), bias), with_bias)
        late = kit.server.weighted_sums(weights, a, bias, rescale=False)
        assert late.level == a.level
        check(kit, late.rescale(), with_bias)
        squares = kit.server.multiply(a, a, relinearise=False)
        assert squares.parts == 3
        check(kit, kit.server.weighted_sums(weights, squares), np.tensordot(weights, x * x, 1))


def test_bounds_and_errors_are_those_of_the_largest_row(toy_ckks: CkksKit) -> None:
    kit = toy_ckks
    x = np.array([[1.0, 0.0], [0.5, 1.0], [0.0, 0.25]])
    a = kit.server.upload(kit.client.encrypt(x)).with_bound((0, 1))
    weights = np.array([[1, -2, 0.5], [3, 1, 2], [0, 0, 0]])
    bias = [1, 0, -4]
    got = kit.server.weighted_sums(weights, a, bias)
    assert np.allclose(got.bounds, (-4, 6), rtol=1e-9)
    check(kit, got, weights @ x + np.array(bias)[:, None])
    alone = kit.server.weighted_sums(weights, a, bias, rescale=False)
    assert 6 * a.error <= alone.error <= 6 * a.error * 1.01 + 2.0**-35


def test_equals_linear_combinations(toy_ckks: CkksKit, generator: np.random.Generator) -> None:
    kit = toy_ckks
    x = generator.uniform(-1, 1, (4, 8))
    a = kit.server.upload(kit.client.encrypt(x))
    weights = generator.uniform(-1, 1, (2, 4))
    got = kit.client.decrypt(kit.server.weighted_sums(weights, a), raw=True)
    for j in range(2):
        one: Any = sum(float(weights[j, k]) * a[k] for k in range(4))
        assert np.abs(got[j] - kit.client.decrypt(one, raw=True)).max() < 1e-8


def test_coefficients(toy_ckks: CkksKit) -> None:
    kit = toy_ckks
    x = np.array([[0.1, 0.2, 0.3], [0.5, -0.5, 0.25]])
    a = kit.server.upload(kit.client.encrypt(x, packing="coefficients"))
    got = kit.server.weighted_sums([[2.5, -1]], a, [0.125])
    assert got.packing == "coefficients"
    wanted = np.array([[2.5, -1]]) @ x + np.array([0.125, 0, 0])
    assert np.abs(kit.client.decrypt(got, raw=True) - wanted).max() < 1e-6


def test_refusals(toy_ckks: CkksKit) -> None:
    kit, server = toy_ckks, toy_ckks.server
    a = server.upload(kit.client.encrypt(np.ones((3, 2)) / 4))
    ones = np.ones((2, 3))

    def refused(error: type[Exception], text: str, *arguments: Any) -> None:
        with pytest.raises(error, match=re.escape(text)):
            server.weighted_sums(*arguments)

    refused(ShapeError, "weights: shape (3,)", np.ones(3), a)
    refused(ShapeError, "weights: shape (0, 3)", np.ones((0, 3)), a)
    refused(ShapeError, "weights: 2 columns meet ciphertexts of shape (3,)", ones.T, a)
    refused(ShapeError, "weights: 3 columns meet ciphertexts of shape ()", ones, a[0])
    refused(ShapeError, "bias: shape (3,)", ones, a, np.ones(3))
    refused(ShapeError, "bias: shape ()", ones, a, 1)
    for bad in (np.nan, np.inf):
        weights = ones.copy()
        weights[1, 2] = bad
        refused(EncodingError, "weights", weights, a)
        refused(EncodingError, "bias", ones, a, [0, bad])
    refused(EncodingError, "not real", ones * 1j, a)
    refused(EncodingError, "above 2^61", ones * 2.0**30, a)
    refused(NoiseError, "level", ones, a.lower(0))
    refused(NoiseError, "weighted sums", ones * 2.0**20, a * 2**62 * 2**30)
    refused(TypeError, "numbers are needed", [["a"]], a)
    other = ckks.Server(kit.keys, device="cpu")
    with pytest.raises(DeviceError):
        other.weighted_sums(ones, a)
