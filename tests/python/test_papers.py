"""Figures of docs/papers name their records, and new records reach its tables."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import ROOT

pytest.importorskip("matplotlib")

PAGES = ("xiao.md", "velofhe.md")
NOT_MEASURED = "not measured"


@pytest.fixture
def papers(tool: Callable[..., ModuleType]) -> ModuleType:
    return tool("pages")


def record(op: str, params: str, median: float, **members: Any) -> str:
    line = {"op": op, "params": params, "median": median, "batch": 16384, "unit": "1/s"}
    more = {"bench": "gpu", "scheme": "binfhe", "device": "h200", "device_count": 1}
    more |= {"transfers": "included", "transform": "fft", "commit": "abc1234"}
    return json.dumps({**line, **more, **members}) + "\n"


def rows_of(
    papers: ModuleType,
    page: str,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, list[str]],
) -> list[str]:
    """The lines that are made of files of records; plots go beside them."""
    import common.records

    for name, lines in files.items():
        path = results / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines))
    monkeypatch.setattr(common.records, "RESULTS", results)
    parts = papers.PAGES[f"papers/{page}"](results).values()
    return [line for lines in parts for line in lines]


def tables(lines: list[str]) -> Iterator[list[dict[str, str]]]:
    """The tables of a page: rows by the names of their columns, numbers behind empty names."""
    found: list[list[str]] = []
    for line in [*lines, ""]:
        if line.startswith("| "):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
        elif line.startswith("|--"):
            continue
        elif found:
            head = [f"{name} {at}" if not name else name for at, name in enumerate(found[0])]
            yield [dict(zip(head, row, strict=True)) for row in found[1:]]
            found = []


def between(page: str) -> list[str]:
    """What bench/pages.py wrote."""
    text = (ROOT / "docs" / "papers" / page).read_text(encoding="utf-8")
    found = re.findall(
        r"<!-- measured: bench/pages.py \w+ -->\n(.*?)<!-- end of measured -->", text, re.DOTALL
    )
    return "\n".join(found).splitlines()


@pytest.mark.parametrize("page", PAGES)
def test_each_figure_names_its_record(page: str) -> None:
    """A row with a figure of Whorl's names files, and commits that these files have."""
    rows = [row for table in tables(between(page)) for row in table if "record" in row]
    assert len(rows) > 20
    named = 0
    for row in rows:
        ours = {
            name: cell
            for name, cell in row.items()
            if ("Whorl" in name and "formulas" not in name and name != "in Whorl")
            or "measured" in name
        }
        if not any(re.search(r"\d", cell) for cell in ours.values()):
            continue
        found = re.findall(r"`(\w+/\w+)` (\w{7})", row["record"])
        assert found, row
        for path, commit in found:
            lines = (ROOT / "bench" / "results" / f"{path}.jsonl").read_text(encoding="utf-8")
            assert commit in {json.loads(line)["commit"] for line in lines.splitlines()}, row
        named += 1
    assert named >= 10


@pytest.mark.parametrize("page", PAGES)
def test_without_records_every_cell_says_so(
    papers: ModuleType, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = rows_of(papers, page, tmp_path, monkeypatch, {})
    for table in tables(lines):
        for row in table:
            for name, cell in row.items():
                if name == "record":
                    assert not re.search(r"\d", cell), row
                if name in ("Whorl", "Whorl, one H200", "Whorl, two H200s", "β measured"):
                    assert cell == NOT_MEASURED, row
    commands = " ".join(line for line in lines if line.startswith("*Not measured yet"))
    wanted = {
        "xiao.md": (
            "--only large",
            "--only schedules",
            "bench_tree",
            "cuda:0,1",
            "bench_noise --set",
        ),
        "velofhe.md": ("--only gates", "--only ntt", "velofhe/MR_II_AP", "bench_cuda_transforms"),
    }
    for command in wanted[page]:
        assert command in commands, command


def test_a_record_takes_the_place_of_not_measured(
    papers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = "openfhe_1_6/STD128_LOGQ_25"
    one = [
        record("evalsign", sign, 100),
        record("evalsign", sign, 400, commit="newer11"),
        record("evalsign", sign, 999, transfers="excluded"),
        record("evalsign", sign, 0.05, batch=1, unit="s"),
        record("nand", "xiao/STD128", 80000, commit="newer11"),
    ]
    scaling = [
        record("nand", "xiao/STD128", 50000, commit="older11"),
        record("nand", "xiao/STD128", 95000, device_count=2, commit="older11"),
    ]
    tree = [
        record("tree", "TREE_P40 unrolled:4", 0.004, batch=1, unit="s", bench="tree"),
        record("tree", "TREE_P40 unrolled:4", 1000, batch=50, bench="tree"),
        record("tree", "TREE_P40 unrolled:4", 2000, batch=2000, bench="tree"),
    ]
    files = {"h200/gpu": one, "h200x2/scaling": scaling, "h200/tree": tree}
    lines = rows_of(papers, "xiao.md", tmp_path, monkeypatch, files)
    rows = [row for table in tables(lines) for row in table]
    (signs,) = (r for r in rows if r.get("set") == f"`{sign}`" and r.get("1 GPU") == "4.99")
    assert signs["Whorl, one H200"] == "2.5" and signs["÷ 1 GPU"] == "2.0×"
    assert signs["÷ 8 GPUs"] == "0.3×" and signs["one alone, one H200"] == "50"
    assert signs["record"] == "`h200/gpu` newer11, `h200/gpu` abc1234"
    assert not any("evalsign of `openfhe" in r and "--only large" in r for r in lines)
    # Quotients are of one run on one and on two GPUs.
    (gain,) = (r for r in rows if r.get("paper, 8 GPUs") == "5.75")
    assert gain["Whorl, two H200s"] == "1.90"
    assert gain["record"] == "`h200x2/scaling` older11"
    (flower,) = (r for r in rows if "Whorl" in r.get(" 0", "") and "one flower" in r)
    assert flower["one flower"] == "4" and flower["a flower of a batch"] == "0.5 of 2,000"
    assert not any("bench_tree" in line for line in lines if line.startswith("*Not measured"))


def test_another_batch_than_the_papers_is_said(
    papers: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "h200/gpu": [
            record("nand", "velofhe/MR_I_AP", 64390, batch=4096),
            record("nand", "velofhe/MR_I_AP", 0.001, batch=1, unit="s"),
            record("nand", "velofhe/MR_I_AP", 0.002, batch=1, unit="s", transform="ntt"),
            record("ntt", "N=2^10, 64 bits", 1e6, batch=1, transfers="excluded", scheme=None),
            record("intt", "N=2^10, 64 bits", 2e6, batch=1, transfers="excluded", scheme=None),
        ]
    }
    rows = [
        row
        for table in tables(rows_of(papers, "velofhe.md", tmp_path, monkeypatch, files))
        for row in table
    ]
    (gates,) = (r for r in rows if r.get("in Whorl") == "`velofhe/MR_I_AP`")
    assert gates["÷ RTX 4090"] == "10.0×" and gates["one alone, ms"] == "1"
    assert gates["record"] == "`h200/gpu` abc1234 (batch 4,096), `h200/gpu` abc1234"
    (ntts,) = (r for r in rows if r.get("N") == "2^10" and r.get("batch") == "1")
    assert ntts["NTT"] == "12" and ntts["Whorl"] == "0.5"  # the last of the two: the inverse
    assert ntts["record"] == "`h200/gpu` abc1234"


def test_the_papers_formula_is_that_of_its_tables(papers: ModuleType) -> None:
    """FP of Tables 3 and 4 follows from the printed deviations, to a rounding of the exponent."""
    import paper_figures
    import paper_xiao

    for row in paper_figures.XIAO_TABLE_3:
        found = paper_xiao.log2_erfc(row.q / 8 / (2 * row.deviation))
        assert abs(found - row.fails_log2) < 1.2, row
    for large in paper_figures.XIAO_TABLE_4:
        found = paper_xiao.log2_erfc(256 / (4 * large.deviation))
        assert abs(found - large.fails_log2) < 1.2, large
