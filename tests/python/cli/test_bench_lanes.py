"""`whorl bench lanes`, in a small ring."""

import json
from pathlib import Path

import pytest
from cli_support import Here
from whorl import ckks, lanes
from whorl.cli import _bench_lanes


@pytest.fixture
def shell(tmp_path: Path) -> Here:
    return Here(tmp_path)


def test_bench_lanes(shell: Here) -> None:
    literal = {**ckks.parameters(5, bootstrap=True).literal(), "N": 1024, "name": "ring"}
    (shell.folder / "ring.json").write_text(json.dumps(literal))
    bench = ["bench", "lanes", "--set", "ring.json", "--device", "cpu", "--runs", "2"]
    ops = ["and", "table4", "add64", "bootstrap", "decrypt", "end_to_end"]
    chosen = [word for op in ops for word in ("--op", op)]
    lines = shell(*bench, *chosen, "--lanes", "32", "--batch", "2", "--json")
    records = [json.loads(line) for line in lines.splitlines()]
    assert [(r["op"], r["batch"], r["unit"]) for r in records] == [
        each for op in ops for each in ((op, 1, "s"), (op, 2, "1/s"))
    ]
    for r in records:
        assert (r["bench"], r["scheme"], r["params"]) == ("lanes", "ckks", "ring")
        assert r["pfail_log2"] < -64
    one, many = records[:2]  # of two vectors of 32 lanes
    assert 8 < many["median"] * one["median"] < 256
    shown = shell(*bench)
    for part in ("and", "full_add", "table4", "bootstrap", "/s", "bootstrapping from level"):
        assert part in shown
    assert "table16" in shell("bench", "lanes", "--op", "mult_relin", code=2)
    assert "no parameter set" in shell("bench", "lanes", "--set", "W1", code=1)
    assert "bootstrap" in shell("bench", "lanes", "--set", "tensorfhe/A", code=1)


@pytest.mark.parametrize("op", _bench_lanes.OPERATIONS)
def test_bench_lanes_knows_what_it_runs(op: str) -> None:
    """Every program, without keys."""
    literal = {**ckks.parameters(6, bootstrap=True).literal(), "N": 1024, "name": "ring"}
    chosen = ckks.parameters(literal=literal, allow_insecure=True)
    program = _bench_lanes.OPERATIONS[op]
    planned: list[lanes.LaneArray] = []

    def run(*arrays: lanes.LaneArray) -> lanes.LaneArray:
        planned[:] = arrays
        program.call(*arrays)
        return arrays[0]

    plan = lanes.plan(run, program.shapes, chosen, 32)
    assert plan.products > 0 or plan.bootstraps > 0
    assert plan.log2_failure < -64
