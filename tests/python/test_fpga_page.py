"""docs/papers/fpga.md and rtl/README.md say what the records say."""

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from support import ROOT


@pytest.fixture
def page(tool: Callable[..., ModuleType]) -> ModuleType:
    return tool("page", "rtl/synth")


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


def section(page: ModuleType, title: str) -> str:
    """What stands under a heading, up to the next one."""
    _, _, rest = "\n".join(page.lines()).partition(f"# {title}")
    assert rest, title
    return rest.split("\n#")[0]


def rows_of(text: str) -> list[list[str]]:
    """Cells of the rows of all tables, without heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [
        line.strip("|").strip().split(" | ")
        for line, after in zip(lines, [*lines[1:], ""], strict=True)
        if not line.startswith("|--") and not after.startswith("|--")
    ]


def test_designs_with_hbm_have_the_papers_latency_and_use_the_memory(page: ModuleType) -> None:
    speed = page.speed
    every = speed.by_case(speed.read(speed.FOLDER / "explore.jsonl"))
    shown = {case: line for case, line in speed.more_designs().items() if case[1] == "hbm"}
    assert [name for name, _ in shown] == ["fpga/I_M2", "fpga/I_M3", "fpga/I_M4"]
    text = section(page, "A card with HBM")
    for ((name, chip), line), row in zip(shown.items(), rows_of(text), strict=True):
        (ms,) = (wanted[0] for (known, _), wanted in speed.WANTED.items() if known == name)
        assert line["latency_full"] * 1e3 <= ms / 2
        soon = [x["median"] for x in every[name, chip] if x["latency_full"] * 1e3 <= ms / 2]
        assert line["median"] == pytest.approx(max(soon), abs=10)
        assert row[0] == speed.in_words(name)
        assert f"{ms}: half of it" in row and f"{line['gb_s']:.1f}" in row
    # What the paper's board cannot give.
    assert [line["gb_s"] > 77 for line in shown.values()] == [False, True, True]
    assert "77 GB/s of the paper's board go to (I), m = 3 and to (I), m = 4." in text
    assert "8 ports of 1024 bits with a beat a cycle: 184 GB/s at 180 MHz" in text


def test_hbm_takes_the_latency_if_half_of_it_is_not_reached(
    page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = page.speed.read(page.speed.FOLDER / "explore.jsonl")
    slow = [
        line | {"latency_full": 0.0018, "gb_s": 30.0} if line["chip"] == "hbm" else line
        for line in lines
    ]
    monkeypatch.setattr(page.speed, "read", lambda path: slow if path.stem == "explore" else [])
    text = "\n".join(page.speed.hbm())
    assert "1.88: held" in text and "3.76: half of it" in text
    assert "do not go to any of these designs" in text


def test_the_whole_says_where_luts_and_ffs_are_above_the_papers(page: ModuleType) -> None:
    text = section(page, "The whole, in the paper's budget of DSPs and memory")
    rows = rows_of(text)[: len(page.PAPER)]
    over: dict[str, list[str]] = {"LUT": [], "FF": []}
    for (name, paper), row in zip(page.PAPER.items(), rows, strict=True):
        sums, missing = page.modules.logic(page.CORES[name], page.RECORDS)
        for place, unit in enumerate(("LUT", "FF")):
            assert row[3 + 2 * place] == f"{sums[unit] / 1000:,.0f} K"
            ratio = sums[unit] / 1000 / paper[place]
            assert row[11 + place] == f"{ratio:.1f}×"
            if ratio > 1:
                over[unit].append(page.in_words(name))
        names = row[13].strip()
        assert set(names.split(", ")) == ({top for top, _ in missing} or {"nothing"})
        assert all(sums[unit] <= page.CHIP[unit.lower()] for unit in over)
    for unit, designs in over.items():
        verdict = next(line for line in text.splitlines() if f"{unit} are " in line)
        if len(designs) == len(page.PAPER):
            assert f"{unit} are above the paper's in all rows" in verdict
        else:
            assert designs and all(name in verdict for name in designs)
    assert "1,728 K" in text and "3,456 K" in text


def test_records_of_key_switching_and_elements_are_counted(
    page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without those that take long to make."""
    heavy = {
        role: [page.modules.written(page.modules.modules_of(c)[role]) for c in page.CORES.values()]
        for role in ("key_switch", "pe")
    }
    every = [*heavy["key_switch"], *heavy["pe"]]
    bare = {key: value for key, value in page.RECORDS.items() if key not in every}
    monkeypatch.setattr(page, "RECORDS", bare)
    before = {name: page.modules.logic(c, bare)[0]["LUT"] for name, c in page.CORES.items()}
    text = section(page, "The whole, in the paper's budget of DSPs and memory")
    rows = rows_of(text)[: len(page.PAPER)]
    assert all(row[-1].strip() == "key_switch" for row in rows)
    assert "Rows that lack modules" in text
    takes = {unit: {"median": 1000.0, "commit": "", "levels": 1} for unit in page.UNITS}
    takes["LUT"] |= {"logic": 900, "inverters": 50, "memory": 50, "levels_carry": 1}
    monkeypatch.setattr(page, "RECORDS", bare | dict.fromkeys(heavy["key_switch"], takes))
    page.wholes.cache_clear()
    for name in page.PAPER:
        assert page.wholes()[name][0]["LUT"] == before[name] + 1000
    text = section(page, "The whole, in the paper's budget of DSPs and memory")
    assert "key_switch" not in text and "Rows that lack modules" not in text
    monkeypatch.setattr(page, "RECORDS", bare | dict.fromkeys(every, takes))
    page.wholes.cache_clear()
    for name, c in page.CORES.items():
        around, _ = page.modules.total(c, page.modules.parts_around(c), page.RECORDS)
        assert page.wholes()[name][0]["LUT"] == around["LUT"] + 1000 * c.pes


def test_no_unit_is_called_above_that_is_not(
    page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = dict.fromkeys(page.UNITS, 1000.0)
    whole: dict[str, Any] = {name: (little, []) for name in page.PAPER}
    monkeypatch.setattr(page, "wholes", lambda: whole)
    text = "\n".join(page.whole())
    assert "LUT are not above the paper's in any row" in text
    assert "Rows that lack modules" not in text
    assert all(row[-1].strip() == "nothing" for row in rows_of(text)[: len(page.PAPER)])


def test_page_and_package_count_the_same(page: ModuleType) -> None:
    from whorl._rtl import modules
    from whorl._rtl.design import Design

    records = modules.read_records(ROOT / "bench" / "results" / "synthesis")
    for name in page.PAPER:
        (line,) = (
            x for (known, _), x in page.speed.designs().items() if known.endswith(f"/{name}")
        )
        design = Design(**line["design"])
        assert page.wholes()[name] == modules.logic(design, records)
        assert modules.parts_around(design)["word_beats"] == 1
        # The only readers that are not those of the bootstrapping key.
        roles = modules.modules_of(design)
        assert roles["axi_reader_ksk"] == ("axi_reader", {"DATA_BITS": design.ksk_bits})
        for module in roles.values():
            assert module in page.MODULES.values()


def test_peers_stand_beside_designs_of_the_tables(page: ModuleType) -> None:
    text = section(page, "Beside FPT and HPU at equal security")
    ours = [row for row in rows_of(text) if row[0].startswith("Whorl")]
    shown = page.speed.designs() | page.speed.more_designs()
    for case, row in zip(page.BESIDE, ours, strict=True):
        line = shown[case]
        assert row[4:6] == [f"{line['median']:,.0f}", f"{line['latency_full'] * 1e3:.2f}"]
        assert ("not at equal security" in row[1]) == (line["security_bits"] < 128)
    assert "not at equal security" in ours[0][1]


def test_energy_has_no_bound(page: ModuleType) -> None:
    text = section(page, "Energy: an estimate")
    assert "250 W is no bound" in text
    for unit, times in (("FF", "the paper's FF"), ("LUT", "its LUT")):
        values = list(page.ratios(unit).values())
        assert f"{min(values):.1f} to {max(values):.1f} times {times}" in text


def test_what_was_compared_is_said_with_its_bounds(
    page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    c = page.speed.configurations
    of = page.speed.configurations.random.Random(1)
    shapes = [c.draw(of) for _ in range(300)]
    assert max(x["LOG_N"] for x in shapes) == c.MOST_LOG_N
    assert max(x["MAX_N_LWE"] for x in shapes) == c.MOST_N
    assert max(x["PES"] for x in shapes) == c.MOST_PES
    assert max(c.multipliers(x) for x in shapes) <= c.MOST_MULTIPLIERS

    small = {"op": "model_against_core", "params": "random shapes", "shapes": 5, "runs": 30}
    small["median"] = 0.0
    whole = small | {"params": "set (I), m = 2", "shapes": 1, "runs": 4}
    records: list[dict[str, object]] = [small, small]
    monkeypatch.setattr(page.speed, "read", lambda path: records)
    said = "\n".join(page.speed.compared())
    assert "10 random shapes, 60 runs: small ones, N ≤ 256, n ≤ 24, at most 4 elements" in said
    assert "360 multipliers" in said and "larger than these shapes" in said
    records += [whole, whole]
    said = "\n".join(page.speed.compared())
    assert "10 random shapes, 60 runs" in said
    assert (
        "- Set (I), m = 2, at full size, N = 1024, n up to 500, 1 element with b = 1: 8 runs."
        in said
    )
    assert "larger than these shapes" not in said and "more elements or lanes" in said
    records += [whole | {"median": 1.0}]
    assert "differs from the core in 1 shape" in "\n".join(page.speed.compared())
    records.clear()
    assert "were not compared" in "\n".join(page.speed.compared())


def test_designs_reach_what_was_wanted(page: ModuleType) -> None:
    wanted = page.speed.WANTED
    assert len(wanted) == 5
    for case, line in page.speed.designs().items():
        ms, rate, least, better = wanted[case]
        assert line["median"] >= better > least > rate, case
        assert line["latency_full"] * 1e3 <= ms, case
        assert line["dsp"] <= line["budget_dsp"] and line["gb_s"] <= line["budget_gb_s"], case
        assert line["share"] <= 1, case
