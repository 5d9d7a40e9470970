"""Plaintexts that are encoded and uploaded once."""

import pickle
from typing import Any

import numpy as np
import pytest
import whorl
from bgv_values import packing, product, random_values
from support import BgvKit, make_bgv_kit
from whorl.bgv import Plaintexts, Server


def test_prepared_plaintexts(any_bgv: BgvKit, generator: np.random.Generator) -> None:
    kit, t = any_bgv, any_bgv.t
    server, how = kit.server, packing(any_bgv)
    x, m = (random_values(kit, (2, 3), generator) for _ in range(2))
    a = server.upload(kit.client.encrypt(x, how))
    table = server.encode(m, how)
    assert (table.shape, table.ndim, table.size, len(table)) == ((2, 3), 2, 6, 2)
    assert table.packing == how and table.server is server and table.device == server.device
    assert table.parameters == kit.parameters
    assert table.nbytes == 6 * kit.N * a.nbytes // (2 * 6 * kit.N)
    for part in ("(2, 3)", how, f"N={kit.N}", "on cpu"):
        assert part in repr(table)
    low = a.mod_switch(kit.parameters.limbs - 2)
    for b in (a, low):
        got: Any
        same: Any
        for got, same, expected in (
            (b + table, b + m, x + m),
            (table + b, m + b, x + m),
            (b - table, b - m, x - m),
            (b * table, b * m, product(kit, x, m)),
            (table * b, m * b, product(kit, x, m)),
            (b * table[1], b * m[1], product(kit, x, np.broadcast_to(m[1], x.shape))),
            (b + table[0, 0], b + m[0, 0], x + m[0, 0]),
            (b[0] - table[:, :1], b[0] - m[:, :1], x[0] - m[:, :1]),
            (b[1, 1] * table, b[1, 1] * m, product(kit, np.broadcast_to(x[1, 1], x.shape), m)),
        ):
            assert got.noise_budget == same.noise_budget and got.factor == b.factor
            assert np.array_equal(got.to_host().data, same.to_host().data)
            assert np.array_equal(kit.client.decrypt(got), expected % t)
    assert np.array_equal(kit.client.decrypt(table - a), (m - x) % t)
    assert a.factor == 1 and (t in (2, 4) or low.factor != 1)


def test_plaintexts_that_do_not_fit(toy_bgv: BgvKit) -> None:
    server = toy_bgv.server
    a = server.upload(toy_bgv.client.encrypt(np.ones((2, 1), int)))
    table = server.encode([[1], [2], [3]])
    longer = np.ones(1025, int)
    for plain in (longer, server.encode(longer)):
        with pytest.raises(whorl.ShapeError, match="1025"):
            a * plain
    with pytest.raises(ValueError, match="broadcast"):
        a * table
    with pytest.raises(whorl.EncodingError, match="packed"):
        a + server.encode([1], "coefficients")
    with pytest.raises(whorl.DeviceError):
        a * Server(toy_bgv.keys, device="cpu").encode([1])
    for values, error in (
        (5, whorl.ShapeError),
        ([], whorl.ShapeError),
        ([1.5], TypeError),
    ):
        with pytest.raises(error):
            server.encode(values)
    bare = make_bgv_kit(t=1000, limbs=3)
    with pytest.raises(whorl.EncodingError):
        bare.server.encode([1])
    for wrong in (np.asarray, pickle.dumps):
        with pytest.raises(TypeError):
            wrong(table)
    for operation in (lambda: table + table, lambda: table * 2, lambda: np.ones(3, int) * table):  # type: ignore[operator]
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(TypeError, match="encode"):
        Plaintexts()
    with pytest.raises(TypeError):
        server.upload(table)  # type: ignore[arg-type]
