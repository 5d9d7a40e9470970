"""The tracer of plans against a server, operation by operation, on random circuits."""

import dataclasses
from typing import Any

import numpy as np
import pytest
import whorl
from hypothesis import given, settings
from hypothesis import strategies as st
from support import BGV_ROTATIONS, BgvKit
from whorl import _server, bgv
from whorl.bgv import EncryptedArray, concatenate, stack
from whorl.bgv._bounds import Bounds
from whorl.bgv._tracer import TracingServer

Ints = np.ndarray[Any, np.dtype[Any]]
ROWS = 8
MATRIX = np.random.default_rng(2).integers(-5, 6, size=(ROWS, 5))
DIAGONALS = np.random.default_rng(3).integers(-5, 6, size=(6, 1024))
STEPS = 12


def operation(data: st.DataObject, arrays: list[Any], plain: Ints, with_plaintexts: bool) -> Any:
    """A function of arrays, of one server or another."""
    i, j = (data.draw(st.integers(0, len(arrays) - 1)) for _ in range(2))
    k = data.draw(st.integers(-1000, 1000))
    columns = data.draw(st.sampled_from(BGV_ROTATIONS))
    operations = [
        lambda x: x[i] + x[j],
        lambda x: x[i] - x[j],
        lambda x: x[i] * x[j],
        lambda x: x[i].square(),
        lambda x: -x[i],
        lambda x: x[i] + k,
        lambda x: k - x[i],
        lambda x: x[i] * k,
        lambda x: x[i].rotate(columns),
        lambda x: x[i].rotate_many([columns, 0])[0],
        lambda x: x[i].swap_rows(),
        lambda x: x[i].inner_sum(8),
        lambda x: (x[i].multiply(x[j], relinearise=False) + x[i]).relinearise(),
        lambda x: concatenate([x[i], x[j]])[[0, -1]],
        lambda x: stack([x[i], x[j]], axis=1)[:, 0],
        lambda x: x[i][::-1] - x[j][0],
        lambda x: x[i] ** 3,
        lambda x: x[i].mod_switch(max(1, x[i].limbs - 1)),
        lambda x: x[i].shrink(40),
    ]
    if with_plaintexts:
        operations += [
            lambda x: x[i].sum(),
            lambda x: x[i] + x[j].sum(),
            lambda x: (x[i] + x[j].sum()) * plain[..., :3] if x[i].length == ROWS else x[i],
            lambda x: x[i] + x[j].sum() + plain,
            lambda x: (x[i] + x[j].sum()).rotate(columns),
            lambda x: concatenate([x[i] + x[j].sum(), x[i].rotate(columns)])[[0, -1]],
            lambda x: x[i].mean().total,
            lambda x: x[i].dot(x[j]),
            lambda x: x[i].dot(plain),
            lambda x: x[i] @ x[j],
            lambda x: x[i] @ MATRIX,
            lambda x: MATRIX[:4] @ (x[i] @ MATRIX),
            lambda x: x[i] @ x[i].server.encode_diagonals(DIAGONALS),
            lambda x: (x[i] @ x[i].server.encode_diagonals([DIAGONALS, -DIAGONALS], 2))[1],
            lambda x: x[i] * plain,
            lambda x: x[i] + plain,
            lambda x: plain - x[i],
            lambda x: x[i] * x[i].server.encode(plain)[0] - x[j].server.encode(plain),
        ]
    return data.draw(st.sampled_from(operations))


def check(kit: BgvKit, data: st.DataObject, seed: int, with_plaintexts: bool) -> None:
    generator = np.random.default_rng(seed)
    tracing = TracingServer(kit.parameters)
    low, high = sorted(generator.integers(-9, 10, size=2).tolist())
    length = data.draw(st.sampled_from([ROWS, kit.N, 2 * kit.N + 5]))
    values = generator.integers(low, high, size=(2, length), endpoint=True)
    encrypted = [kit.server.upload(kit.client.public_key().encrypt(values))]
    traced = [tracing.fresh(low, high, "slots", (2, length))]
    plain = generator.integers(-9, 10, size=(2, length))
    for _ in range(STEPS):
        work = operation(data, encrypted, plain, with_plaintexts)
        try:
            x = work(encrypted)
        except (whorl.ShapeError, ValueError) as error:
            with pytest.raises(type(error)):
                work(traced)
            continue
        y = work(traced)
        assert x.length == y.length
        assert isinstance(y, EncryptedArray) and x.shape == y.shape and x.packing == y.packing
        if x.noise_budget <= 0:
            assert y.noise_budget <= 0
            continue
        if with_plaintexts:
            assert y.noise_budget <= x.noise_budget + 1e-6
        else:
            seen = [(a.limbs, a.parts, a.factor, a.nbytes) for a in (x, y)]
            assert seen[0] == seen[1] and abs(x.noise_budget - y.noise_budget) < 1e-6
        if y.noise_budget <= 0:
            continue
        encrypted.append(x)
        traced.append(y)
        core: Any = y._core
        bounds: Bounds = core.values
        # Values modulo t are integers between the bounds, where the bounds leave one of them.
        residues = kit.client.decrypt(x)
        narrow = bounds.high - bounds.low < kit.t
        least = np.where(narrow, bounds.low, 0).astype(np.int64)
        offset = (residues.reshape(-1, residues.shape[-1]) - least) % kit.t
        assert np.all(~narrow | (offset <= np.where(narrow, bounds.high - least, 0)))
    half = kit.N // 2
    held = set(kit.keys.rotations)
    asked: Any = tracing._core
    assert {turn % half for turn in asked.run.asked().rotations} <= held


@pytest.fixture(scope="module")
def kit(toy_bgv: BgvKit) -> BgvKit:
    """With the keys of sums and matrices, too."""
    needs = bgv.rotations_for(
        toy_bgv.parameters,
        MATRIX.shape,
        (5, 4),
        sums=True,
        diagonals=[(len(DIAGONALS), 1), (len(DIAGONALS), 2)],
    )
    rotations = [*needs["rotations"], *BGV_ROTATIONS]
    keys = toy_bgv.client.evaluation_keys(4, rotations, swap_rows=True)
    server = bgv.Server(keys, device="cpu")
    return dataclasses.replace(toy_bgv, keys=keys, server=server)


@settings(max_examples=40)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_without_plaintexts_the_account_is_the_same(
    kit: BgvKit, data: st.DataObject, seed: int
) -> None:
    check(kit, data, seed, with_plaintexts=False)


@settings(max_examples=40)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_with_plaintexts_the_bound_is_below_a_server_s(
    kit: BgvKit, data: st.DataObject, seed: int
) -> None:
    check(kit, data, seed, with_plaintexts=True)


def test_every_operation_can_be_followed() -> None:
    core = TracingServer(bgv.parameters(depth=1))._core
    names = {name for name in vars(_server.bgv.Server) if not name.startswith("_")}
    for name in names - {"create", "upload", "download"}:
        assert hasattr(core, name)
