"""bench/integer_peers.py: records beside peers that only pretend."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from whorl import binfhe


class Peer:
    """Answers a second, whatever is asked."""

    def __init__(self) -> None:
        self.about = {
            "version": "9",
            "pfail_log2": {"u8_cmp x < y": -17.5, "relu default": -25.0},
            "tables": {"u8_cmp x < y": 7, "relu default": 256},
            "key_bytes": {"u8_cmp x < y": 5, "relu default": 6},
        }

    def seconds(self, _: str, __: int) -> float:
        return 1.0

    def end(self) -> None:
        pass


def test_records(
    tool: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tool("integer_peers")
    real = binfhe.parameters

    def toy(name: str, **_: Any) -> binfhe.Parameters:
        literal: Any = {**real(name).literal(), "n": 16, "gadget": [(16, 23, 1)]}
        return real(literal, allow_insecure=True)

    monkeypatch.setattr(program.binfhe, "parameters", toy)
    monkeypatch.setattr(program, "worker", lambda *_: Peer())
    monkeypatch.setattr(program, "CONCRETE", dict.fromkeys(("u8_cmp", "relu"), ("W128_P128",)))
    monkeypatch.setattr(program, "TFHE", ("W128_P128",))
    monkeypatch.setattr(program, "ELSEWHERE", {"u8_add": 1.06, "u8_mul": 27.1})
    path = tmp_path / "records.jsonl"
    given = ["--concrete-python", "none", "--rounds", "1", "--record", str(path)]
    monkeypatch.setattr(sys, "argv", ["bench", *given])
    assert program.main() == 0
    add, mul, cmp, relu = (json.loads(line) for line in path.read_text().splitlines())
    for line, there in ((add, 1.06), (mul, 27.1)):
        assert line["peer"] == "tfhe-rs"
        assert line["peer_median"] == pytest.approx(there / 0.0324)
    assert (cmp["op"], cmp["peer_params"], cmp["peer_tables"]) == ("u8_cmp", "x < y", 7)
    assert (cmp["rotations"], cmp["peer_key_bytes"], cmp["peer_pfail_log2"]) == (3, 5, -17.5)
    assert (relu["op"], relu["batch"], relu["rotations"]) == ("relu", 256, 256)
    for line in (add, mul, cmp, relu):
        assert line["ratio"] == pytest.approx(line["peer_median"] / line["median"])
        assert line["clock"] == "cpu" and line["pfail_log2"] < 0
