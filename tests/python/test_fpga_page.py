"""docs/papers/fpga.md and rtl/README.md say what the records say."""

from __future__ import annotations

import re
import sys

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "rtl" / "synth"))
sys.path.insert(0, str(ROOT / "bench"))

page = pytest.importorskip("page")
import speed  # noqa: E402


def test_tables_are_those_of_the_records() -> None:
    text = (ROOT / "docs" / "papers" / "fpga.md").read_text(encoding="utf-8")
    begin, end = "<!-- measured: rtl/synth/page.py -->", "<!-- end of measured -->"
    shown = text.split(begin)[1].split(end)[0].strip()
    assert shown == "\n".join(page.lines()).strip(), "run python3 rtl/synth/page.py"


def test_the_guide_has_the_designs_of_the_records() -> None:
    text = (ROOT / "rtl" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([1-4]) \| (\d+) \| (\d+) \| (\d+) \| (.*?) \|$", text, re.MULTILINE)
    records = {name[-1]: line for (name, _), line in speed.designs().items() if "/I_" in name}
    assert len(shown) == 4
    for m, pes, b, places, rest in shown:
        line = records[m]
        design = line["design"]
        assert (int(pes), int(b), int(places)) == (design["pes"], 1 << design["log_b"], design["K"])
        ports = f"{design['bk_ports']} × {design['mem_bits']}"
        cells = [ports, str(design["ksk_bits"]), str(design["ks_lanes"]), f"{line['dsp']:,}"]
        assert rest.split(" | ") == cells
        assert design["ksk_rows"] == 8192


@pytest.mark.parametrize("case", speed.WANTED, ids=lambda case: case[0])
def test_designs_reach_what_was_wanted(case: tuple[str, str]) -> None:
    line = speed.designs()[case]
    ms, rate, least, better = speed.WANTED[case]
    assert line["median"] >= better > least > rate
    assert line["latency_full"] * 1e3 <= ms
    assert line["dsp"] <= line["budget_dsp"] and line["gb_s"] <= line["budget_gb_s"]
    assert line["share"] <= 1
