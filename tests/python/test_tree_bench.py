"""bench/tree_paper.py: records of the tree with features of 11 bits."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from applications import with_few_coefficients


def test_records(
    tool: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = with_few_coefficients("W128_P128")
    program = tool("tree_paper")
    monkeypatch.setattr(program.binfhe, "parameters", lambda *_, **__: few)
    path = tmp_path / "records.jsonl"
    given = ["--device", "cpu", "--flowers", "6", "--batch", "3", "--runs", "1"]
    monkeypatch.setattr(sys, "argv", ["bench", *given, "--sets", "few", "--record", str(path)])
    program.main()
    alone, many = (json.loads(line) for line in path.read_text().splitlines())
    assert (alone["op"], alone["batch"], alone["unit"]) == ("tree_paper", 1, "s")
    assert (many["batch"], many["unit"], many["peer"]) == (3, "1/s", None)
    assert alone["compared"] == 6 and 6 - alone["agreeing"] <= alone["near"]
    assert alone["ratio"] == pytest.approx(0.38 / alone["median"])
    assert 0 < alone["levels_off"] <= 34
    assert alone["shape"] == "9 tests, 14 rotations a flower"


def test_wrong_classes_are_no_record(
    tool: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = with_few_coefficients("W128_P128")
    program = tool("tree_paper")
    monkeypatch.setattr(program.binfhe, "parameters", lambda *_, **__: few)
    classify = program.model.Tree.classify
    monkeypatch.setattr(
        program.model.Tree, "classify", lambda tree, levels: classify(tree, levels) + 1
    )
    given = ["--device", "cpu", "--flowers", "2", "--sets", "few"]
    monkeypatch.setattr(sys, "argv", ["bench", *given])
    with pytest.raises(SystemExit, match="2 classes of 2 are wrong"):
        program.main()
