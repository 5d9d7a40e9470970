"""Over the values of each vector: sums, means, dot products, matrices; vectors longer than N/2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import LENGTHS, check
from support import CkksKit, ckks_literal, pickled
from whorl import ckks

LONG = (513, 1024, 1300)
"""Vectors of these lengths take several ciphertexts of 512 values."""


@pytest.fixture(scope="module")
def kit() -> CkksKit:
    """Keys of sums of any length, and of a matrix of 1,300 columns."""
    chosen = ckks.parameters(literal=ckks_literal(depth=4), allow_insecure=True)
    client = ckks.Client(chosen)
    rotations = ckks.linear_map(np.ones((2, chosen.slots))).rotations
    keys = client.evaluation_keys(rotations=rotations, sums=1300)
    return CkksKit(chosen, client, keys, ckks.Server(keys, device="cpu"))


@pytest.mark.parametrize("length", [*LENGTHS, 512, *LONG])
def test_sums_means_and_dots(kit: CkksKit, generator: np.random.Generator, length: int) -> None:
    x, y = generator.uniform(-1, 1, size=(2, 2, length))
    a, b = (kit.server.upload(kit.client.encrypt(v)) for v in (x, y))
    assert (a.shape, a.length) == ((2,), length)
    check(kit, a.sum(), x.sum(axis=-1, keepdims=True))
    check(kit, a.mean(), x.mean(axis=-1, keepdims=True))
    dots = (x * y).sum(axis=-1, keepdims=True)
    for got in (a.dot(b), a @ b, a.dot(y), a.dot(b.to_host())):
        assert got.shape == (2,) and got.length == 1
        check(kit, got, dots)
    for got in (a @ y[0], y[0] @ a):
        check(kit, got, x @ y[0][:, None])
    # What a sum meets keeps its length.
    check(kit, a - a.mean(), x - x.mean(axis=-1, keepdims=True))


@pytest.mark.parametrize("length", [4, 600])
def test_dots_of_other_lengths_are_refused(kit: CkksKit, length: int) -> None:
    client, server = kit.client, kit.server
    x = server.upload(client.encrypt(np.ones(length) / length))
    for other in ([2.0], np.ones((3, length - 1)), client.encrypt([0.5]), x.sum()):
        with pytest.raises(whorl.ShapeError, match=f"dot: vectors of {length} values meet"):
            x.dot(other)
    for one in (2, 0.5, np.float64(1)):
        with pytest.raises(whorl.ShapeError, match="a single number"):
            x.dot(one)
    with pytest.raises(TypeError):
        x.dot(x.server)


def test_at_level_0(kit: CkksKit) -> None:
    for length, takes_level in ((4, False), (3, True), (512, False), (1024, False), (513, True)):
        values = np.linspace(-1, 1, length)
        a = kit.server.upload(kit.client.encrypt(values)).lower(0)
        assert np.allclose(kit.client.decrypt(a, raw=True), values, atol=1e-3)
        if takes_level:
            with pytest.raises(whorl.NoiseError, match=f"sum: the length, {length}, is no"):
                a.sum()
        else:
            check(kit, a.sum(), [values.sum()])
        with pytest.raises(whorl.NoiseError):
            a.dot(a)


@pytest.mark.parametrize("length", LONG)
def test_long_vectors(
    kit: CkksKit, generator: np.random.Generator, length: int, tmp_path: Path
) -> None:
    client, server = kit.client, kit.server
    x, y = generator.uniform(-1, 1, size=(2, 3, length))
    fresh, each = client.encrypt(x), -(-length // 512)
    assert (fresh.shape, fresh.length, fresh.data.shape[2]) == ((3,), length, 3 * each)
    for part, due in ((fresh, x), (fresh[1:], x[1:]), (fresh[-1], x[-1])):
        part.save(tmp_path / "part.whorl")
        again = ckks.Ciphertexts.load(tmp_path / "part.whorl", True)
        for one in (part, again, pickled(part)):
            assert (one.shape, one.length) == (part.shape, length)
            assert np.allclose(client.decrypt(one, raw=True), due, atol=1e-6)
    public = client.public_key().encrypt(x[0] * 1j)
    assert np.allclose(client.decrypt(public, raw=True), x[0] * 1j, atol=1e-6)
    assert client.release(fresh[0], queries=100).shape == (length,)

    a, b = server.upload(fresh), server.upload(client.encrypt(y))
    cube = ckks.Polynomial([0, 0, 0, 1], "monomial")
    single = server.upload(client.encrypt([0.5]))
    factors = np.array([[0.5], [0.25], [1]])
    several = server.upload(client.encrypt(factors))
    for got, expected in (
        (a + b, x + y),
        (a * b - 0.5, x * y - 0.5),
        (-a * y[0], -x * y[0]),
        (a + y[:, ::-1], x + y[:, ::-1]),
        (a[0] * b, x[0] * y),
        (a * b[2], x * y[2]),
        (a * factors, x * factors),
        (a * single, 0.5 * x),
        (several * b, factors * y),
        (several * y[1], factors * y[1]),
        (single + y[1], 0.5 + y[1]),
        (ckks.stack([a, b])[1], y),
        (ckks.concatenate([a, b * b])[2:4], np.stack([x[2], y[0] ** 2])),
        (a.evaluate(cube), x**3),
        (a.to_host(), x),
    ):
        assert got.length == length
        check(kit, server.upload(got), expected)
    for action in (
        lambda: a.rotate(1),
        lambda: a.replicate(0),
        lambda: a.repeat(2048),
        lambda: a.sum(period=2),
        lambda: ckks.linear_map(np.ones((2, 512))) @ a,
        lambda: a.matmul(a),
        lambda: a @ np.ones((length - 1, 2)),
        lambda: a + client.encrypt([1, 0.5]),
        lambda: a + client.encrypt(np.ones(512)),
        lambda: a * [1, 2],
        lambda: a * np.ones(512),
        lambda: server.upload(client.encrypt([0.5, 1])) * y,
        lambda: ckks.concatenate([a, server.upload(client.encrypt(np.ones((1, 512))))]),
        lambda: client.encrypt(np.ones(1025), packing="coefficients"),
    ):
        with pytest.raises(whorl.ShapeError):
            action()


@pytest.mark.parametrize("length", LONG)
def test_matrices_of_long_vectors(
    kit: CkksKit, generator: np.random.Generator, length: int
) -> None:
    x, m = generator.uniform(-1, 1, size=(2, length)), generator.uniform(-1, 1, size=(length, 2))
    a = kit.server.upload(kit.client.encrypt(x))
    got: Any
    for got in (a @ m, m.T @ a):
        check(kit, got, x @ m)


def test_missing_keys_are_named(kit: CkksKit) -> None:
    none = ckks.Server(kit.client.evaluation_keys(sums=3), device="cpu")
    assert kit.client.evaluation_keys(sums=3).rotations == (1, 2)
    x, long = (none.upload(kit.client.encrypt(np.ones(n) / n)) for n in (4, 600))
    check(kit, x.sum(), [1])
    for action, message in (
        (lambda: x.rotate(-1), r"rotation by -1 .*: ask the client for rotations=\[-1\]"),
        (lambda: long.sum(), r"^a sum needs .* rotation by 4 .*evaluation_keys\(sums=600\)"),
        (lambda: long.mean(), r"^a sum needs .*sums=600"),
        (lambda: long.dot(long), r"^a sum needs .*sums=600"),
    ):
        with pytest.raises(whorl.MissingKeyError, match=message):
            action()
    assert not issubclass(whorl.MissingKeyError, whorl.KeyMismatchError)
