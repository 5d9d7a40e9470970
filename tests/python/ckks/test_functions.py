"""Signs, comparisons and smooth functions, in clear and of ciphertexts."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import DEVIATIONS, LENGTHS
from support import CkksKit, make_ckks_kit
from whorl import ckks
from whorl.ckks import SignStages, minimax_sign

STAGES = minimax_sign(2**-5, 2**-7)


@pytest.fixture(scope="module")
def deep() -> CkksKit:
    return make_ckks_kit(depth=STAGES.depth + 2, scale_bits=45)


def off(kit: CkksKit, got: ckks.EncryptedArray, expected: Any) -> float:
    """The largest difference, less what the error that the result states allows."""
    values, wanted = kit.client.decrypt(got, raw=True), np.asarray(expected)
    allowed = DEVIATIONS * got.error
    assert values.shape == wanted.shape and np.abs(values).max() <= got.bound + allowed
    assert got.error < 1e-5
    return float(np.abs(values - wanted).max() - allowed)


def test_signs_in_clear() -> None:
    x = np.concatenate([np.linspace(STAGES.epsilon, 1, 10_001), [STAGES.epsilon]])
    x = np.concatenate([x, -x])
    worst = np.abs(STAGES(x) - np.sign(x)).max()
    assert STAGES.error / 2 < worst < STAGES.error * 1.01
    assert isinstance(STAGES(0.5), float) and abs(STAGES(0.5) - 1) <= STAGES.error
    assert STAGES.epsilon == 2**-5 and STAGES.error <= 2**-7
    assert STAGES.depth == sum(stage.depth for stage in STAGES.stages)
    for again in (pickle.loads(pickle.dumps(STAGES)), copy.copy(STAGES)):
        assert repr(again) == repr(STAGES) and np.array_equal(again(x), STAGES(x))


@pytest.mark.parametrize("length", [256, *LENGTHS])
def test_signs(deep: CkksKit, generator: np.random.Generator, length: int) -> None:
    x = generator.uniform(STAGES.epsilon, 1, (2, length)) * generator.choice([-1, 1], (2, length))
    a = deep.server.upload(deep.client.encrypt(x))
    for got, expected, error, levels in (
        (a.sign(STAGES), np.sign(x), STAGES.error, 0),
        (a.absolute(STAGES), np.abs(x), STAGES.error, 1),
        (a.relu(STAGES), np.maximum(x, 0), STAGES.error / 2, 1),
    ):
        assert got.level == a.level - STAGES.depth - levels
        assert off(deep, got, expected) <= error
    # Between: what is near 0 stays within the sign's two values.
    near = deep.server.upload(deep.client.encrypt(np.linspace(-1, 1, length) * STAGES.epsilon))
    assert np.abs(deep.client.decrypt(near.sign(STAGES), raw=True)).max() < 1 + 2 * STAGES.error


@pytest.mark.parametrize("length", [128, *LENGTHS])
def test_comparisons(deep: CkksKit, generator: np.random.Generator, length: int) -> None:
    x = generator.uniform(-0.5, 0.5, (3, length))
    y = x + generator.uniform(0.125, 0.5, length) * generator.choice([-1, 1], length)
    client, server = deep.client, deep.server
    a, b = server.upload(client.encrypt(x, bound=0.5)), client.encrypt(y, bound=1)
    for got, expected in (
        (a.greater(b, STAGES), x > y),
        (a.maximum(b, STAGES), np.maximum(x, y)),
        (a.minimum(b, STAGES), np.minimum(x, y)),
        (server.maximum(client.encrypt(x[1], bound=0.5), b[1], STAGES), np.maximum(x[1], y[1])),
    ):
        assert off(deep, got, expected) <= STAGES.error / 2
    assert abs(client.decrypt(a.greater(a, STAGES), raw=True) - 0.5).max() < 1e-4


@pytest.mark.parametrize("length", [500, *LENGTHS])
@pytest.mark.parametrize(
    ("make", "f", "low"),
    [
        (ckks.inverse_of, np.reciprocal, 0.5),
        (ckks.sqrt_of, np.sqrt, 0.5),
        (ckks.inverse_sqrt_of, lambda x: 1 / np.sqrt(x), 0.5),
        (ckks.logistic_of, lambda x: 1 / (1 + np.exp(-x)), -3),
        (ckks.tanh_of, np.tanh, -3),
        (ckks.exp_of, np.exp, -3),
        (ckks.sine_of, np.sin, -3),
    ],
)
def test_smooth_functions(deep: CkksKit, make: Any, f: Any, low: float, length: int) -> None:
    p = make(low, 3, 1e-4)
    x = np.linspace(low, 3, length)
    assert np.abs(p(x) - f(x)).max() <= 1e-4 * 1.01
    assert (p.degree + 1).bit_count() == 1 and (p.low, p.high) == (low, 3)
    result = ckks.evaluate(deep.server.upload(deep.client.encrypt(x, bound=(low, 3))), p)
    assert result.level == deep.parameters.depth - p.depth
    assert off(deep, result, f(x)) <= 1e-4 * 1.01


@pytest.mark.parametrize("length", [402, *LENGTHS])
@pytest.mark.parametrize(
    ("low", "high", "error"),
    [(0.5, 3.0, 1e-4), (-3.0, -0.5, 1e-4), (2**-7, 1.0, 1e-2), (-1.0, -(2**-7), 1e-2)],
)
def test_inverses(deep: CkksKit, low: float, high: float, error: float, length: int) -> None:
    x = np.geomspace(low, high, length)
    a = deep.server.upload(deep.client.encrypt(x, bound=(low, high)))
    y = a.inverse(low, high, error)
    assert 0 <= y.level < a.level and y.bound < 2.5 / min(abs(low), abs(high))
    assert off(deep, y, np.reciprocal(x)) <= error * 1.01
    planned = ckks.plan(
        lambda v: v.inverse(low, high, error), ckks.Values(length, bound=(low, high))
    )
    assert planned.depth == a.level - y.level


def test_inverses_that_are_refused(deep: CkksKit) -> None:
    x = deep.server.upload(deep.client.encrypt([0.5, 0.25]))
    for error, match, work in (
        (whorl.ParameterError, "holds 0", lambda: x.inverse(-1, 1, 0.1)),
        (whorl.ParameterError, "no interval", lambda: x.inverse(1, 0.5, 0.1)),
        (whorl.ParameterError, "error: 0.0 is not positive", lambda: x.inverse(0.5, 1, 0)),
        (
            whorl.NoiseError,
            "levels, and the ciphertext has 2",
            lambda: x.lower(2).inverse(0.1, 1, 0.1),
        ),
    ):
        with pytest.raises(error, match=match):
            work()
    p = ckks.inverse_of(-3, -0.5, 1e-4)
    grid = np.linspace(-3, -0.5, 500)
    assert np.abs(p(grid) - 1 / grid).max() <= 1e-4 * 1.01


def test_what_is_refused(deep: CkksKit) -> None:
    client, server = deep.client, deep.server
    x, wide = (server.upload(client.encrypt([0.5, 0.25], bound=bound)) for bound in (1, 2))
    wrong: Any = 0.5
    for error, match, work in (
        (whorl.ParameterError, "epsilon", lambda: minimax_sign(0, 0.1)),
        (whorl.ParameterError, "epsilon", lambda: minimax_sign(2**-25, 0.1)),
        (whorl.ParameterError, "error", lambda: minimax_sign(0.1, 1)),
        (whorl.ParameterError, "epsilon: 'a' is not a number", lambda: minimax_sign("a", 1)),  # type: ignore[arg-type]
        (whorl.ParameterError, "there is none", lambda: SignStages([], 0.1, 0.1)),
        (TypeError, "Polynomials are needed, not float", lambda: SignStages([wrong], 0.1, 0.1)),
        (TypeError, "by ckks.minimax_sign, not float", lambda: x.sign(wrong)),
        (TypeError, "ciphertexts are needed, not float", lambda: x.maximum(wrong, STAGES)),
        (whorl.EncodingError, "with_bound", lambda: wide.sign(STAGES)),
        (whorl.EncodingError, "real numbers", lambda: (x * 1j).sign(STAGES)),
        (whorl.NoiseError, "levels, and the ciphertext has 2", lambda: x.lower(2).sign(STAGES)),
        (whorl.ParameterError, "must be above 0", lambda: ckks.inverse_of(0, 1, 0.1)),
        (whorl.ParameterError, "must be above 0", lambda: ckks.sqrt_of(-1, 1, 0.1)),
        (whorl.ParameterError, "must be above 0", lambda: ckks.inverse_sqrt_of(0, 1, 0.1)),
        (whorl.ParameterError, "no interval", lambda: ckks.exp_of(1, 1, 0.1)),
        (whorl.ParameterError, "error: 0.0 is not positive", lambda: ckks.exp_of(0, 1, 0)),
        (whorl.ParameterError, "low: None", lambda: ckks.tanh_of(None, 1, 0)),  # type: ignore[arg-type]
    ):
        with pytest.raises(error, match=match):
            work()
    wild = SignStages([ckks.Polynomial([0, 3.0]), ckks.Polynomial([0, 1.0])], 0.5, 0.5)
    with pytest.raises(whorl.ParameterError, match="stage 0 of a sign reaches 3"):
        x.sign(wild)
