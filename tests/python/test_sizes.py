"""The sizes in docs/start-here.md are those that the library has, and that the records state."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

RECORDS = ROOT / "bench" / "results" / "cpu" / "sizes.jsonl"
UNITS = {"byte": 1, "KB": 1e3, "MB": 1e6}
COLUMNS = ("keys_in_file", "keys_of_server", "fresh_in_file", "result_in_file")

Sizes = dict[tuple[str, str], float]


def read(path: Path) -> Sizes:
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(record["params"], record["op"]): record["median"] for record in records}


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> Sizes:
    """What bench/sizes.py measures now."""
    path = tmp_path_factory.mktemp("sizes") / "sizes.jsonl"
    command = [sys.executable, str(ROOT / "bench" / "sizes.py"), "--record", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return read(path)


def test_records_state_the_sizes(sizes: Sizes) -> None:
    assert read(RECORDS) == sizes


def test_the_table_states_the_sizes(sizes: Sizes) -> None:
    page = (ROOT / "docs" / "start-here.md").read_text(encoding="utf-8")
    section = page.split("## How many bytes it costs")[1].split("\n##")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:1] == "|"][2:]
    names = [params for params, op in sizes if op == COLUMNS[0]]
    assert len(rows) == len(names) == 6
    for name, row in zip(names, rows, strict=True):
        assert row[0].strip("`").split()[-1] == name.split(",")[0].split("=")[-1]
        for op, cell in zip(COLUMNS, row[1:], strict=True):
            found = re.match(r"([\d.]+) (byte|KB|MB)", cell)
            assert found, cell
            stated, unit = found.groups()
            decimals = len(stated.partition(".")[2])
            assert round(sizes[name, op] / UNITS[unit], decimals) == float(stated), (name, op)
