"""Functions of encrypted integers that are compiled to programs of the library, and their files."""

from __future__ import annotations

import operator
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from integer_programs import TOY, Encrypted
from whorl import binfhe, integers
from whorl._server import binfhe as lib
from whorl.errors import (
    EncodingError,
    FormatError,
    KeyMismatchError,
    NoiseError,
    ParameterError,
    ShapeError,
)
from whorl.integers import Fresh

ROOT = Path(__file__).resolve().parents[2]
PARAMETERS = binfhe.parameters(TOY, allow_insecure=True)


@pytest.fixture(scope="module")
def encrypted() -> Encrypted:
    return Encrypted()


def compiled(function: Callable[..., Any], *inputs: Fresh, **options: Any) -> integers.Program:
    return integers.compile(function, list(inputs), parameters=PARAMETERS, **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "input": lambda x, _: x,
    "known": lambda x, _: x.server.known([7, 9], 8),
    "sum": operator.add,
    "difference": operator.sub,
    "product": operator.mul,
    "comparison": operator.lt,
    "quotient by a known number": lambda x, _: x // 3,
    "shift": lambda x, y: x << (y & 3),
    "choice": lambda x, y: integers.where(x < y, x + 1, y),
    "bits": lambda x, y: (x & y) ^ 0x55,
    "wider": lambda x, y: x.astype(16) * 300 + y.astype(16),
    "list": lambda x, y: integers.stack([x, y, y + x]).sum(axis=0),
    "parts": lambda x, y: integers.concatenate([x[:1], y[1:], x]) + 5,
    "the same twice": lambda x, y: integers.maximum(x * y, x * y),
}


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_results_are_those_of_the_server(encrypted: Encrypted, name: str, tmp_path: Path) -> None:
    function = FUNCTIONS[name]
    program = compiled(function, Fresh(2, 8), Fresh(2, 8))
    program.save(tmp_path / "f")
    loaded = integers.Program.load(tmp_path / "f", True)
    assert loaded.to_bytes() == program.to_bytes()
    random = np.random.default_rng(5)
    for _ in range(2):
        sent = [encrypted.client.encrypt(random.integers(0, 256, 2), 8) for _ in range(2)]
        due = function(*(encrypted.server.upload(each) for each in sent))
        [made], [again] = (each.run(encrypted.server, *sent) for each in (program, loaded))
        # The words are those of the server's operations, one by one.
        words = encrypted.server.download(due, carries=True).data.data
        for each in (made, again):
            assert np.array_equal(each.data.data, words)
        assert (made.bits, made.shape) == (due.bits, due.shape)
        assert encrypted.client.decrypt(made).tolist() == encrypted.decrypt(due).tolist()
    [result] = program.results
    assert (result.bits, result.signed, result.shape) == (due.bits, due.signed, due.shape)


def test_it_says_what_a_plan_says() -> None:
    inputs = [Fresh((2, 1), 12), Fresh((), 12), Fresh(3, 5, True)]

    def function(x: Any, y: Any, z: Any) -> Any:
        return {"less": x < y, "rest": [x * y, (abs(z),)]}

    program = compiled(function, *inputs)
    plan = integers.plan(function, inputs, parameters=PARAMETERS)
    assert program.inputs == tuple(inputs)
    assert program.results == (Fresh((2, 1), 1), Fresh((2, 1), 12), Fresh(3, 5, True))
    assert program.failure_log2 == plan.failure_log2
    # Tables that do not need one another are a layer, whatever operations they are of.
    assert program.rotations == plan.rotations
    assert 0 < program.layers < plan.layers
    assert program.parameters == PARAMETERS
    assert repr(compiled(operator.lt, Fresh(bits=8), Fresh(bits=8))) == (
        "<Program 8 bits, 8 bits -> 1 bits: 3 rotations in 2 layers>"
    )


def test_it_saves_rotations_or_layers() -> None:
    found = []
    for saves in ("rotations", "both", "layers"):
        program = compiled(operator.add, Fresh(), Fresh(), carries=False, saves=saves)
        plan = integers.plan(
            lambda x, y: x.server.canonical(x + y),
            [Fresh(), Fresh()],
            parameters=PARAMETERS,
            saves=saves,
        )
        assert (program.rotations, program.layers) == (plan.rotations, plan.layers)
        found.append(program.layers)
    assert found == [32, 4, 3]
    with pytest.raises(ParameterError, match="saves"):
        compiled(operator.add, Fresh(), Fresh(), saves="time")


def test_without_carries_servers_take_results(encrypted: Encrypted) -> None:
    inputs = [Fresh(2, 8)] * 2
    sent = [encrypted.client.encrypt(values, 8) for values in ([200, 3], [100, 4])]
    [kept] = compiled(operator.add, *inputs).run(encrypted.server, *sent)
    with pytest.raises(EncodingError, match="carries"):
        encrypted.server.upload(kept)
    program = compiled(lambda x, y: (x + y, x < y), *inputs, carries=False)
    total, less = program.run(encrypted.server, *sent)
    again = encrypted.server.upload(total) + encrypted.server.upload(less).astype(8)
    assert encrypted.decrypt(again).tolist() == [44, 8]


def test_the_server_counts_its_rotations(encrypted: Encrypted) -> None:
    program = compiled(operator.lt, Fresh(2, 8), Fresh(2, 8))
    sent = [encrypted.client.encrypt(values, 8) for values in ([200, 3], [100, 4])]
    before = encrypted.server.rotations, encrypted.server.layers
    program.run(encrypted.server, *sent)
    assert program.rotations > 0
    after = encrypted.server.rotations, encrypted.server.layers
    assert after == (before[0] + program.rotations, before[1] + program.layers)


def test_digits_are_in_the_order_of_the_library(encrypted: Encrypted) -> None:
    """tests/unit/circuits/binfhe/integers_test.cpp has the same digits of the same integers."""
    sent = encrypted.client.encrypt(np.array([-3, 13]), 5, True)
    lwe: Any = encrypted.client._client
    assert lwe.decrypt(sent.data).tolist() == [[1, 1], [3, 3], [31, 0]]
    whole = encrypted.client.encrypt(np.array([-8, 7]), 4, True)
    assert lwe.decrypt(whole.data).tolist() == [[0, 3], [30, 1]]


def test_what_does_not_fit_is_refused(encrypted: Encrypted) -> None:
    client, server = encrypted.client, encrypted.server
    program = compiled(operator.add, Fresh(2, 8), Fresh(2, 8))
    x, y = (client.encrypt([1, 2], 8) for _ in range(2))
    with pytest.raises(ShapeError, match="2 inputs, and not 1"):
        program.run(server, x)
    with pytest.raises(ShapeError, match=r"input 1 has shape \(3,\)"):
        program.run(server, x, client.encrypt([1, 2, 3], 8))
    with pytest.raises(EncodingError, match="input 0 has integers of 8 bits, signed"):
        program.run(server, client.encrypt([1, 2], 8, True), y)
    [result] = program.run(server, x, y)
    with pytest.raises(KeyMismatchError, match="input 1 is a result"):
        program.run(server, x, result)
    with pytest.raises(NoiseError, match=r"of input 0 and one of integer . of input 1"):
        program.run(server, x, x)
    stranger = binfhe.Client(PARAMETERS)
    with pytest.raises(KeyMismatchError):
        program.run(server, x, integers.Client(stranger).encrypt([1, 2], 8))
    sender = integers.PublicClient(client._client.public_key())
    with pytest.raises(TypeError, match=r"input 0: integers\.Ciphertexts"):
        program.run(server, sender.encrypt([1, 2], 8), y)
    with pytest.raises(TypeError, match="input 0"):
        program.run(server, x.data, y)
    with pytest.raises(TypeError, match=r"server: an integers\.Server"):
        program.run(server._server, x, y)


def test_functions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="there are 32"):
        compiled(lambda *x: x[0], *[Fresh(bits=2)] * 32)
    with pytest.raises(NoiseError, match="compile: the function fails"):
        compiled(operator.mul, Fresh(bits=8), Fresh(bits=8), most_failure_log2=-1000)
    with pytest.raises(TypeError, match="compile: the function must return"):
        compiled(lambda x: 3, Fresh(bits=8))
    with pytest.raises(TypeError, match="parameters"):
        integers.compile(operator.neg, Fresh(), parameters=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="made by compile"):
        integers.Program()


def test_files_are_checked(tmp_path: Path) -> None:
    program = compiled(operator.lt, Fresh(bits=8), Fresh(bits=8))
    data = program.to_bytes()
    with pytest.raises(ParameterError, match="allow_insecure"):
        integers.Program.from_bytes(data)
    for bad in (data[:-40], data + b"0", data[:300] + b"\xff" + data[301:]):
        with pytest.raises(FormatError):
            integers.Program.from_bytes(bad, True)
    with pytest.raises(FormatError, match="max_expanded_bytes"):
        integers.Program.from_bytes(
            compiled(operator.mul, *[Fresh(64, 8)] * 2).to_bytes(), True, max_expanded_bytes=0
        )


def test_pickles() -> None:
    program = compiled(operator.lt, Fresh(bits=8), Fresh(bits=8))
    with whorl.allow_insecure_pickles():
        assert pickle.loads(pickle.dumps(program)).to_bytes() == program.to_bytes()


def test_the_page_has_the_program_that_is_tested_in_cpp() -> None:
    """tests/unit/io/integer_files_test.cpp compiles and runs the lines of the page."""
    [block] = re.findall(
        r"```cpp\n(.*?)```", (ROOT / "docs" / "integers.md").read_text("utf-8"), re.DOTALL
    )
    test = (ROOT / "tests" / "unit" / "io" / "integer_files_test.cpp").read_text("utf-8")
    held = [line.strip() for line in test.splitlines()]
    lines = [line for line in block.splitlines() if line and not re.match("#|using|//", line)]
    assert len(lines) > 8
    start = held.index(lines[0])
    assert [line for line in held[start:] if line][: len(lines)] == lines


def test_the_kept_program_runs(encrypted: Encrypted) -> None:
    """C++ runs the same file in tests/unit/io/integer_files_test.cpp."""
    kept = integers.Program.load(ROOT / "tests" / "data" / "integers" / "pay.whorl", True)
    sent = [encrypted.client.encrypt(v, 64) for v in ([100, 7], [1, 2], [30, 30])]
    made = kept.run(encrypted.server, *sent)
    assert [encrypted.client.decrypt(each).tolist() for each in made] == [[70, 7], [31, 2]]


def test_programs_of_digits_are_saved() -> None:
    recorder = lib.ProgramRecorder.create(PARAMETERS._core, (32, False), [2])
    made = recorder.take(0, np.array([1, 0], dtype=np.uint32))
    program = recorder.program(np.array([made], dtype=np.uint32))
    limits, anything = (1 << 20, 10, 1 << 20), (None, None)
    again = lib.Program.from_bytes(program.to_bytes(), True, limits, anything)
    assert again.to_bytes() == program.to_bytes()
