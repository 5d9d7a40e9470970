"""bench/functions.py: records of functions of arrays and of integers' bits."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from support import TOY
from whorl import binfhe


def test_records(
    tool: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool("latest")
    program = __import__("functions")
    wide = {**TOY, "q": 4096, "N": 2048, "Q": (1 << 50) - 16383, "gadget": [(32, 13, 4)]}
    toy = binfhe.parameters(wide, allow_insecure=True)
    monkeypatch.setattr(program.binfhe, "parameters", lambda *_, **__: toy)
    monkeypatch.setattr(program, "ANDS", {8: 18.63, 16: 18.61})
    path = tmp_path / "records.jsonl"
    given = ["--device", "cpu", "--batch", "16", "--runs", "1", "--record", str(path)]
    monkeypatch.setattr(sys, "argv", ["bench", *given, "--sets", "toy", "--gates"])
    program.main()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    ops = ["relu", "sigmoid", "sqrt", "reciprocal", "max_pool", "and8", "and16"]
    assert [line["op"] for line in lines] == [op for op in ops for _ in range(2)]
    for line in lines:
        alone = line["op"].startswith("and")
        assert (line["unit"], line["batch"]) == (("s", 1) if alone else ("1/s", 16))
        assert line["pfail_log2"] < -40
        assert (line["ratio"] is not None) == (alone and line["transfers"] == "included")
        rotations = 3 if line["op"] == "max_pool" else 1
        assert line["shape"].startswith(f"{rotations} rotations a value")
