"""bench/linear_maps.py, cnn.py and rnn.py: records of the time and the energy of each thing."""

from __future__ import annotations

import functools
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import whorl
from whorl import ckks

Lines = list[dict[str, Any]]
Run = Callable[..., Lines]


@pytest.fixture
def run(
    tool: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Any]:
    """The records of a program on the CPU, whose energy has a counter that moves by 1 J each time
    it is read; or, with `counter=False`, none."""
    tool("latest")
    import common.energy as energy

    monkeypatch.setattr(energy, "WARM_UP", 0.0)
    path = tmp_path / "records.jsonl"

    def counted(path: Path, line: Any, server: Any, call: Any, seconds: float) -> None:
        gpu = SimpleNamespace(devices=("cuda:0 (GPU)",), synchronise=server.synchronise)
        joules = itertools.count(1.0).__next__
        energy.add_energy(path, line, gpu, call, seconds, counter=lambda _: joules)

    def ran(program: ModuleType, *arguments: str, counter: bool = True) -> Lines:
        if counter:
            monkeypatch.setattr(program, "add_energy", counted)
        given = ["--device", "cpu", "--runs", "1", "--energy", "0.001", "--record", str(path)]
        monkeypatch.setattr(sys, "argv", ["bench", *given, "--commit", "abc1234", *arguments])
        program.main()
        return [json.loads(line) for line in path.read_text().splitlines()]

    return ran


def check(lines: Lines, ops: list[str], batch: int) -> None:
    """Each operation has its seconds, and its joules right behind."""
    assert [line["op"] for line in lines] == [name for op in ops for name in (op, f"{op}_energy")]
    for time, energy in zip(lines[::2], lines[1::2], strict=True):
        assert (time["unit"], energy["unit"]) == ("s", "J")
        both = ("bench", "params", "batch", "device", "security_bits", "commit")
        assert {name: time[name] for name in both} == {name: energy[name] for name in both}
        assert (energy["batch"], energy["commit"]) == (batch, "abc1234")
        assert energy["median"] == pytest.approx(
            energy["watts"] * energy["seconds"] / energy["calls"] / batch
        )


def test_products_with_matrices(tool: Callable[..., ModuleType], run: Run) -> None:
    lines = run(tool("linear_maps"), "--side", "8", "--depths", "1", "2")
    for depth in (1, 2):
        found = [line for line in lines if line["params"] == f"depth {depth}"]
        check(found, ["matvec8", "matvec8_encoded"], batch=1)


def test_a_cpu_has_no_energy(tool: Callable[..., ModuleType], run: Run) -> None:
    lines = run(tool("linear_maps"), "--side", "8", "--depths", "1", counter=False)
    assert [line["op"] for line in lines] == ["matvec8", "matvec8_encoded"]


def test_memory_is_that_of_a_servers_gpus(
    tool: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = tool("common.records").memory_fields
    assert fields(("cpu (EPYC)",)) == {}
    taken = {"cpu": (90, 40), "cuda:0": (1000, 400), "cuda:1": (1000, 950), "cuda:2": (1000, 0)}
    infos = [
        whorl.DeviceInfo(name, "", True, "", memory, free) for name, (memory, free) in taken.items()
    ]
    monkeypatch.setattr(whorl, "devices", lambda: infos)
    assert fields(("cpu (EPYC)",)) == fields(("cuda:2 (unknown)",)) == {}
    assert fields(("cuda:0 (NVIDIA H200)",)) == {"device_bytes": 600}
    assert fields(("cuda:0 (NVIDIA H200)", "cuda:1 (NVIDIA H200)")) == {"device_bytes": 650}


def test_digits(tool: Callable[..., ModuleType], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    cnn = tool("cnn")
    monkeypatch.setattr(cnn, "compare", lambda *_: {"compared": 0})
    check(run(cnn, "--ciphertexts", "1"), ["cnn"], batch=8)


def test_sentences(
    tool: Callable[..., ModuleType], run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two at once in a ring of no security: two words, and five with a bootstrap between."""
    rnn = tool("rnn")
    secure = rnn.circuit.choose()
    small = {**secure.literal(), "N": 1024, "name": "small"}
    params = ckks.parameters(literal=small, allow_insecure=True)
    monkeypatch.setattr(rnn.circuit, "choose", lambda: params)
    monkeypatch.setattr(rnn, "Layout", functools.partial(rnn.Layout, sentences=2))
    for name in ("pos", "neg"):
        text = "a good film .\n" * rnn.words.TEST
        (tmp_path / f"rt-polarity.{name}").write_text(text)
    steps = ("--steps", "2", "--steps", "5")
    lines = run(rnn, str(tmp_path), *steps, "--sentences", "2")
    check(lines, ["rnn2", "rnn5"], batch=2)
    assert [line["bootstraps"] for line in lines] == [0, 0, 1, 1]
