"""Where values lie: both ends of their interval, and what lies in slots behind them."""

from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import LENGTHS
from support import CkksKit, make_ckks_kit
from whorl import ckks


@pytest.fixture(scope="module")
def deep() -> CkksKit:
    return make_ckks_kit(depth=11, scale_bits=45)


@pytest.mark.parametrize("length", [2, *LENGTHS])
def test_a_sign_far_from_0_at_any_length(length: int) -> None:
    stages = ckks.minimax_sign(2**-4, 2**-4)
    x = np.resize([150.0, 160.0, 190.0, 200.0], length)

    def above(a: ckks.EncryptedArray) -> ckks.EncryptedArray:
        return ((a - 175) * 0.04).sign(stages)

    plan = ckks.plan(above, ckks.Values(length, bound=(150, 200)))
    client = ckks.Client(plan.parameters())
    server = ckks.Server(client.evaluation_keys(**plan.keys), device="cpu")
    values = client.decrypt(above(server.upload(client.encrypt(x, bound=(150, 200)))), raw=True)
    assert np.abs(values - np.sign(x - 175)).max() <= stages.error + 1e-3


def test_intervals_are_checked_at_both_ends(deep: CkksKit) -> None:
    client, server = deep.client, deep.server
    p = ckks.logistic_of(0, 8, 1e-4)
    x = np.array([1.0, 5.0, 8.0, -8.0])
    wide = server.upload(client.encrypt(x, bound=8))
    for work in (
        lambda: wide.evaluate(p),
        lambda: wide.evaluate([p, p], [0, 1, 0, 1]),
        lambda: ckks.evaluate(wide + 7.5, p),
        lambda: (wide + 8).inverse(0.5, 16, 0.1),
    ):
        with pytest.raises(whorl.EncodingError, match=r"may lie outside .* with_bound"):
            work()
    inside = np.array([1.0, 5.0, 8.0])
    for given, how in ((8, {"within": True}), ((0, 8), {}), ((1, 8), {})):
        y = server.upload(client.encrypt(inside, bound=given)).evaluate(p, **how)
        assert np.abs(client.decrypt(y, raw=True) - 1 / (1 + np.exp(-inside))).max() < 2e-4
    y = server.upload(client.encrypt(inside, bound=8)).inverse(1, 8, 0.01, within=True)
    assert np.abs(client.decrypt(y, raw=True) - 1 / inside).max() < 0.011
    each = server.upload(client.encrypt(inside, bound=8)).evaluate([p, p], [0, 1, -1], within=True)
    assert abs(client.decrypt(each, raw=True)[2]) < 1e-4


def test_bounds_are_pairs(toy_ckks: CkksKit) -> None:
    client, server = toy_ckks.client, toy_ckks.server
    fresh = client.encrypt([0.5, 2.0], bound=(0.25, 3))
    assert fresh.bounds == (0.25, 3)
    x = server.upload(fresh)
    assert x.bound == pytest.approx(3)
    assert (x - 1).bounds == (-0.75, 2)
    assert (-x).bounds == (-3, -0.25)
    assert (x * x).bounds == pytest.approx((0.0625, 9))
    assert x.with_bound((0, 2.5)).bounds == (0.25, 2.5)
    assert ckks.Ciphertexts.from_bytes(x.to_host().to_bytes(), True).bounds == (0.25, 3)
    assert server.upload(client.public_key().encrypt([1.0], (0, 2))).bounds == (0, 2)
    z = server.upload(client.encrypt([0.5j]))
    assert z.bounds == (-1, 1)
    wrong: list[tuple[type[Exception], str, Any]] = [
        (whorl.EncodingError, r"outside bound = \(1, 2\)", lambda: client.encrypt([0.5], (1, 2))),
        (whorl.EncodingError, "not the larger", lambda: client.encrypt([0.5], (2, 1))),
        (whorl.EncodingError, "only real numbers", lambda: client.encrypt([1j], (0, 2))),
        (
            whorl.EncodingError,
            "only real numbers",
            lambda: client.encrypt([1], (0, 2), packing="coefficients"),
        ),
        (whorl.ShapeError, "3 numbers; give", lambda: client.encrypt([1], (0, 1, 2))),  # type: ignore[arg-type]
        (whorl.ShapeError, "1 number; give", lambda: client.encrypt([1], [1])),  # type: ignore[arg-type]
        (whorl.EncodingError, "only real numbers", lambda: z.with_bound((0, 1))),
        (whorl.ParameterError, "is above the upper one", lambda: x.with_bound((2, 1))),
        (whorl.ParameterError, "contradicts", lambda: x.with_bound((5, 6))),
        (whorl.ParameterError, "first one is the smaller", lambda: ckks.Values(2, bound=(2, 1))),
    ]
    for error, message, work in wrong:
        with pytest.raises(error, match=message):
            work()


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize(("packing", "values"), [("complex", [3j, 2]), ("coefficients", [1, 2])])
def test_polynomials_of_other_packings(
    deep: CkksKit, packing: Any, values: Any, within: bool
) -> None:
    p = ckks.Polynomial([0, 1.0], low=1, high=4)
    x = deep.server.upload(deep.client.encrypt(values, 5, packing))
    said = f"real numbers in slots only, .* '{packing}': .* packing=\"real\""
    for work in (
        lambda: x.evaluate(p, within=within),
        lambda: x.evaluate([p, p], within=within),
        lambda: x.inverse(1, 4, 0.1, within=within),
    ):
        with pytest.raises(whorl.EncodingError, match=said):
            work()


def test_small_operands_are_told_apart(deep: CkksKit) -> None:
    stages = ckks.minimax_sign(2**-4, 2**-4)
    for bound in (0.4, 0.01, 0.001):
        a, b = (deep.server.upload(deep.client.encrypt(v, bound)) for v in ([bound], [-bound]))
        assert deep.client.decrypt(a.greater(b, stages), raw=True) > 1 - stages.error / 2 - 1e-3
        larger = deep.client.decrypt(a.maximum(b, stages), raw=True)[0]
        assert abs(larger - bound) <= bound * stages.error + 1e-5
        smaller = deep.client.decrypt(a.minimum(b, stages), raw=True)[0]
        assert abs(smaller + bound) <= bound * stages.error + 1e-5


def test_advice_helps() -> None:
    client = ckks.Client(ckks.parameters(depth=1))
    server = ckks.Server(client.evaluation_keys(sums=64), device="cpu")
    x = server.upload(client.encrypt(np.linspace(-1, 1, 64)))
    y = server.upload(client.encrypt(np.linspace(1, -1, 64)))
    stages = ckks.minimax_sign(0.5, 0.5)
    last = x * x
    for work in (
        lambda: x * x * x,
        lambda: last * 0.5,
        lambda: last / 3,
        lambda: last**2,
        lambda: last.square(),
        lambda: last.replicate(3),
        lambda: last.greater(last, stages),
        lambda: last.multiply(last, rescale=False),
        lambda: last.with_bound(1e-8).multiply(last, relinearise=False, rescale=False),
    ):
        with pytest.raises(whorl.NoiseError, match="larger depth") as caught:
            work()
        assert "value_bits" not in str(caught.value)
    # Squares of a distance: what is known helps, and more value_bits too, which are named.
    far = (x - y) * 8
    with pytest.raises(whorl.NoiseError, match=r"with_bound.*value_bits = \d+"):
        (far * far).sum()
    near = (far * far).with_bound(4).sum()
    assert near.bound == pytest.approx(256)


def test_sums_of_any_length(toy_ckks: CkksKit) -> None:
    client = ckks.Client(toy_ckks.parameters)
    server = ckks.Server(client.evaluation_keys(sums=511), device="cpu")
    for length in (2, *LENGTHS):
        x = np.linspace(-1, 0.5, length)
        a = server.upload(client.encrypt(x))
        total = (a + 1).sum() * 0.5
        assert np.allclose(client.decrypt(total, raw=True), [(x + 1).sum() / 2], atol=1e-2)
        one = a.replicate(length // 2)
        assert np.allclose(client.decrypt(one + a, raw=True), x + x[length // 2], atol=1e-4)
        assert np.allclose(client.decrypt(one.repeat(length), raw=True), x[length // 2], atol=1e-4)
