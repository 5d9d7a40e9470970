"""bench/lanes_soak.py counts gates, tables, and lanes that are wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

Tool = Callable[..., ModuleType]


def run(tool: Tool, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> ModuleType:
    soak = tool("lanes_soak")
    small = ("--device", "cpu", "--small", "1024", "--batch", "4", "--round", "0.5")
    monkeypatch.setattr(sys, "argv", ["lanes_soak.py", *small, *arguments])
    soak.main()
    return soak


def test_it_records_one_run(tool: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "lanes.jsonl"
    run(tool, monkeypatch, "--gates", "2e5", "--tables", "4e3", "--record", str(path))
    (line,) = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    assert (line["op"], line["unit"], line["wrong"]) == ("lanes_soak", "s", 0)
    # Whole steps: four layers of three gates, and tables of a bit in each lane of a vector.
    assert 2e5 <= line["gates"] < 2e5 + 12 * 4 * 512
    assert 4e3 <= line["tables"] < 4e3 + 512
    assert line["gates"] % (12 * 4 * 512) == line["tables"] % 512 == 0
    assert line["bootstraps"] > 0
    assert line["pfail_log2"] < -64


def test_it_finds_a_wrong_lane(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    soak = tool("lanes_soak")
    decrypt = soak.lanes.Client.decrypt

    def with_one_wrong(client: object, array: object) -> np.ndarray:
        bits = decrypt(client, array)
        bits[..., 0, 77] ^= 1
        return bits

    monkeypatch.setattr(soak.lanes.Client, "decrypt", with_one_wrong)
    with pytest.raises(SystemExit, match=r"[1-9][0-9]* lanes are wrong"):
        run(tool, monkeypatch, "--gates", "1e4", "--tables", "1e3")
    assert "3 lanes wrong" in capsys.readouterr().out  # one of each of three arrays
