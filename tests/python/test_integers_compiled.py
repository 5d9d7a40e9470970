"""Recorded operations of whorl.integers as one call of the library."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from integer_programs import TOY, Encrypted
from whorl import binfhe, integers
from whorl._server import binfhe as lib
from whorl.errors import EncodingError, KeyMismatchError, ShapeError


@pytest.fixture(scope="module")
def encrypted() -> Encrypted:
    return Encrypted()


def by_steps(inner: binfhe.Server, **options: Any) -> integers.Server:
    """A server that never makes one call of several."""
    server = integers.Server(inner, **options)
    on: Any = server._on
    on.circuit.engine.compiled = lambda *_: None
    return server


def programs_of(server: integers.Server) -> list[Any]:
    on: Any = server._on
    return list(on._programs.values())


OPERATIONS: dict[str, Callable[..., Any]] = {
    "sum": operator.add,
    "difference": operator.sub,
    "product": operator.mul,
    "comparison": operator.lt,
    "equality": operator.eq,
    "product with a known number": lambda x, _: x * 11,
    "quotient by a known number": lambda x, _: x // 3,
    "quotient": lambda x, y: x // y,
    "shift": lambda x, y: x << (y & 3),
    "table": lambda x, _: (x & 15) * (x & 15),
    "choice": lambda x, y: x.server.where(x < y, x, y),
    "sum of a list": lambda x, y: integers.stack([x, y, x, y + x]).sum(axis=0),
    "parts": lambda x, y: integers.concatenate([x[:1], y[1:], x]) + 5,
}


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_words_and_noise_are_those_of_single_calls(encrypted: Encrypted, name: str) -> None:
    inner: Any = encrypted.server._server
    one, single = integers.Server(inner), by_steps(inner)
    random = np.random.default_rng(3)
    for _ in range(3):
        sent = [encrypted.client.encrypt(random.integers(1, 256, 2), 8) for _ in range(2)]
        made = [
            server.download(OPERATIONS[name](*(server.upload(each) for each in sent)), carries=True)
            for server in (one, single)
        ]
        got, due = (each.data for each in made)
        assert np.array_equal(got.data, due.data)
        assert (got.noise, got.range, got.failure_log2) == (due.noise, due.range, due.failure_log2)
    assert (one.rotations, one.layers) == (single.rotations, single.layers)
    recorded = [each for each in programs_of(one) if each.runs > 1 and each.made]
    assert recorded
    assert all(each.compiled is not None for each in recorded)
    assert all(each.compiled is None for each in programs_of(single))


RINGS: dict[str, Callable[..., Any]] = {
    "product": operator.mul,
    "square": lambda x, _: x * x,
    "product with a known number": lambda x, _: x * 0xB5A7,
    "products with known numbers": lambda x, _: x * np.array([40_001, 7]),
    "quotient": lambda x, y: x // y,
}


@pytest.mark.parametrize("name", list(RINGS))
def test_products_stand_between_two_calls(name: str) -> None:
    lwe = binfhe.Client(binfhe.parameters(TOY, allow_insecure=True))
    inner = binfhe.Server(lwe.evaluation_keys(), device="cpu")
    options: Any = {"products": lwe.product_keys(), "saves": "layers"}
    one, single = integers.Server(inner, **options), by_steps(inner, **options)
    client, bits = integers.Client(lwe), 24 if name == "quotient" else 16
    for values in ([40_000, 7], [3, 65_535]):
        sent = [client.encrypt(each, bits) for each in (values, values[::-1])]
        made = [
            server.download(RINGS[name](*(server.upload(each) for each in sent)), carries=True)
            for server in (one, single)
        ]
        a = np.array(values, dtype=object)
        wanted = RINGS[name](a, a[::-1]) % 2**bits
        assert client.decrypt(made[0]).tolist() == wanted.tolist()
        got, due = (each.data for each in made)
        assert np.array_equal(got.data, due.data) and got.noise == due.noise
    recorded = [each for each in programs_of(one) if each.runs > 1 and each.made]
    assert recorded and all(each.compiled is not None for each in recorded)
    assert any(step.name.startswith("product") for each in recorded for step in each.steps)


def test_batches_are_made_by_single_calls(
    encrypted: Encrypted, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = integers.Server(encrypted.server._server)
    monkeypatch.setattr("whorl.integers._engines.MOST_COMPILED", 10)
    for _ in range(2):
        x, y = (server.upload(encrypted.client.encrypt([1, 2, 3], 8)) for _ in range(2))
        assert encrypted.decrypt(x * y).tolist() == [1, 4, 9]
    programs = [each for each in programs_of(server) if each.runs > 1]
    assert any(each.rotations > 10 for each in programs)
    assert all(each.compiled is None for each in programs if each.rotations > 10)


def test_a_plan_counts_what_single_calls_do() -> None:
    parameters = binfhe.parameters(TOY, allow_insecure=True)

    def once(x: Any, y: Any) -> Any:
        return x * y

    def often(x: Any, y: Any) -> Any:
        return [once(x, y), once(y, x), once(x + 1, y)][-1]

    plans = [
        integers.plan(each, [integers.Fresh(2, 8)] * 2, parameters=parameters)
        for each in (once, often)
    ]
    assert plans[1].rotations > plans[0].rotations
    assert plans[1].failure_log2 > plans[0].failure_log2


def test_the_library_refuses_what_a_program_was_not_recorded_for(encrypted: Encrypted) -> None:
    inner: Any = encrypted.server._server
    recorder = lib.ProgramRecorder.create(inner.parameters._core, (32, False), [2])
    made = recorder.take(0, np.array([1, 0], dtype=np.uint32))
    program = recorder.program(np.array([made], dtype=np.uint32))
    assert (program.rotations, program.layers) == (0, 0)
    x = inner.trivial([1, 2], p=32, under="ring")
    assert inner._core.run(program, [x._core])[0].count == 2
    with pytest.raises(KeyMismatchError, match="under the LWE key"):
        inner._core.run(program, [inner.trivial([1, 2], p=32)._core])
    with pytest.raises(EncodingError, match="p = 16"):
        inner._core.run(program, [inner.trivial([1, 2], p=16, under="ring")._core])
    with pytest.raises(ShapeError, match="takes 2"):
        inner._core.run(program, [inner.trivial([1], p=32, under="ring")._core])
    with pytest.raises(ShapeError, match="index 2"):
        recorder.take(0, np.array([2], dtype=np.uint32))
