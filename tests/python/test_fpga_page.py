"""docs/papers/fpga.md and rtl/README.md say what the records say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from support import ROOT

# Other folders have modules of these names, too.
NAMES = ("common", "page", "run", "speed", "rtl_explore")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.syspath_prepend(str(ROOT / "rtl" / "synth"))
    for name in [name for name in sys.modules if name.split(".")[0] in NAMES]:
        monkeypatch.delitem(sys.modules, name)
    import page

    yield page
    for name in [name for name in sys.modules if name.split(".")[0] in NAMES]:
        del sys.modules[name]


def test_tables_are_those_of_the_records(page: ModuleType) -> None:
    text = (ROOT / "docs" / "papers" / "fpga.md").read_text(encoding="utf-8")
    begin, end = "<!-- measured: rtl/synth/page.py -->", "<!-- end of measured -->"
    shown = text.split(begin)[1].split(end)[0].strip()
    assert shown == "\n".join(page.lines()).strip(), "run python3 rtl/synth/page.py"


def test_the_guide_has_the_designs_of_the_records(page: ModuleType) -> None:
    text = (ROOT / "rtl" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| ([1-4]) \| (\d+) \| (\d+) \| (\d+) \| (.*?) \|$", text, re.MULTILINE)
    records = {name[-1]: line for (name, _), line in page.speed.designs().items() if "/I_" in name}
    assert len(shown) == 4
    for m, pes, b, places, rest in shown:
        line = records[m]
        design = line["design"]
        assert (int(pes), int(b), int(places)) == (design["pes"], 1 << design["log_b"], design["K"])
        ports = f"{design['bk_ports']} × {design['mem_bits']}"
        cells = [ports, str(design["ksk_bits"]), str(design["ks_lanes"]), f"{line['dsp']:,}"]
        assert rest.split(" | ") == cells
        assert design["ksk_rows"] == 8192


def test_designs_reach_what_was_wanted(page: ModuleType) -> None:
    wanted = page.speed.WANTED
    assert len(wanted) == 5
    for case, line in page.speed.designs().items():
        ms, rate, least, better = wanted[case]
        assert line["median"] >= better > least > rate, case
        assert line["latency_full"] * 1e3 <= ms, case
        assert line["dsp"] <= line["budget_dsp"] and line["gb_s"] <= line["budget_gb_s"], case
        assert line["share"] <= 1, case
