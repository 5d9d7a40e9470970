"""The documentation site without building it: its navigation, and where links lead on it.

test_pages.py checks the same links in the repository.
"""

import json
import re
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tools" / "docs"))

import site_cpp
import site_notebooks
import site_pages
import site_python
import site_references
import site_search

NAMED = site_pages.navigation()

MADE = re.compile(r"reference/(python|cpp)/\S+\.md|performance/records\.md")
"""Pages that are made of sources and records."""

SITE_PAGES = [ROOT / site_pages.source_of(place) for place in NAMED if not MADE.fullmatch(place)]


def test_every_page_is_in_the_navigation_once() -> None:
    assert len(NAMED) == len(set(NAMED)) > 50
    there = {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert set(filter(lambda place: not MADE.fullmatch(place), NAMED)) == there | set(
        site_pages.OUTSIDE.values()
    )


@pytest.mark.parametrize("page", SITE_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_places_of_the_site(page: Path) -> None:
    place = site_pages.place_of(page.relative_to(ROOT).as_posix())
    assert place
    known = {*NAMED, *site_pages.copied_sources()}
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for _, _, target in site_pages.LINK.findall(site_pages.for_site(text, place)):
        path = re.split(r"[?#]", target)[0]
        if not path or "://" in path:
            continue
        wanted = (Path(place).parent / path).as_posix()
        wanted = Path(re.sub(r"[^/]+/\.\./", "", wanted)).as_posix()
        there = wanted in known or (ROOT / "docs" / wanted).is_file()
        assert there, f"{target} leads to {wanted}"


def test_words_for_the_search_belong_to_pages() -> None:
    assert set(site_search.WORDS) <= set(NAMED)
    tags = site_search.meta("glossary.md")["tags"]
    assert isinstance(tags, list) and {"limb", "factor", "relinearisation"} <= set(tags)


def test_addresses_are_those_of_folders() -> None:
    given = ("index.md", "gpu.md", "performance/README.md", "adr/0001-threads.md")
    expected = ["", "gpu/", "performance/", "adr/0001-threads/"]
    assert [site_pages.address(place) for place in given] == expected


def test_titles_of_pages_are_names_and_first() -> None:
    for page in SITE_PAGES:
        assert page.read_text(encoding="utf-8").startswith("# "), page


def test_files_of_records_are_links_to_their_records() -> None:
    page = site_pages.for_site(
        "`bench/results/h200/ckks.jsonl` and `ckks_bootstrap.jsonl`, `bench/results/cpu/bgv.jsonl`,"
        " `bench/results/cpu/ckks.jsonl` in git, `bench/results/cpu/none.jsonl`, "
        "`bench/results/h100`: `gpu.jsonl`",
        "performance/transforms.md",
    )
    assert re.findall(r"\[`(\S+)`\]\((\S+?)\)", page) == [
        ("bench/results/h200/ckks.jsonl", "records.md#h200-ckks"),
        ("ckks_bootstrap.jsonl", "records.md#h200-ckks_bootstrap"),
        ("bench/results/cpu/bgv.jsonl", "records.md#cpu-bgv"),
        ("gpu.jsonl", "records.md#h100-gpu"),
    ]


def test_commits_and_rows_choose_records() -> None:
    page = site_pages.for_site(
        "`bench/results/h200/gpu.jsonl`: lut4, nand at 036366e; memory at 385fbd2, at 1234567.\n"
        "`gpu.jsonl` in git, 036366e; `git show 036366e:x`\n"
        "| NAND | `W128_P64`, the same | `h200/gpu` 036366e, `h200x2/gpu` 7c532a6 |\n\n"
        "| set | `rtl/explore` |\n|---|---|\n| (I), m = 2 | 4dc831f |\n",
        "gpu.md",
    )
    h200 = "#h200-gpu"
    row = "&op=nand&params=W128_P64"
    assert re.findall(r"\[`?([^]`]+)`?\]\(performance/records\.md(\S*?)\)", page) == [
        ("bench/results/h200/gpu.jsonl", f"?commit=036366e&commit=385fbd2{h200}"),
        ("036366e", f"?commit=036366e&op=lut4&op=nand{h200}"),
        ("385fbd2", f"?commit=385fbd2&op=memory{h200}"),
        ("h200/gpu", f"?commit=036366e{row}{h200}"),
        ("036366e", f"?commit=036366e{row}{h200}"),
        ("h200x2/gpu", f"?commit=7c532a6{row}#h200x2-gpu"),
        ("7c532a6", f"?commit=7c532a6{row}#h200x2-gpu"),
        ("rtl/explore", "#rtl-explore"),
        ("4dc831f", "?commit=4dc831f&params=fpga%2FI_M2#rtl-explore"),
    ]


def test_links_to_records_choose_some() -> None:
    linked = 0
    for path in SITE_PAGES:
        place = site_pages.place_of(path.relative_to(ROOT).as_posix())
        assert place
        text = site_pages.for_site(path.read_text(encoding="utf-8"), place)
        for asked, anchor in re.findall(r"records\.md\??(\S*)#(\w+-\w+)\)", text):
            wanted = urllib.parse.parse_qs(asked)
            records = site_references.records(anchor.replace("-", "/"))
            assert any(
                all(record[member] in values for member, values in wanted.items())
                for record in records
            ), f"{path}: {asked}"
            linked += 1
    assert linked > 500


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_has_all_of_its_tutorial(tutorial: Path) -> None:
    """test_docs.py runs the same blocks."""
    text = tutorial.read_text(encoding="utf-8")
    notebook = json.loads(site_notebooks.notebook(text))
    cells = ["".join(cell["source"]) for cell in notebook["cells"]]
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len(code) == text.count("```python") > 2
    assert len({cell["id"] for cell in notebook["cells"]}) == len(cells)
    whole = re.sub(r"```(python)?", "", text).split()
    assert " ".join(cells).split() == whole


CHARTS = re.findall(site_pages.CHART, (ROOT / "docs" / "portal.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", range(len(CHARTS)))
def test_a_plot_takes_records_that_are_there(number: int) -> None:
    chart = json.loads(CHARTS[number])
    for name in chart["files"]:
        path = site_references.RESULTS / f"{name}.jsonl"
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        chosen = [
            record
            for record in records
            if all(
                record.get(member) in (wanted if isinstance(wanted, list) else [wanted])
                for member, wanted in chart["where"].items()
            )
        ]
        assert len(chosen) >= 2, name
        x = chart["x"]
        (member, pattern), *_ = x.items() if isinstance(x, dict) else [(x, "")]
        assert any(re.search(pattern, str(record.get(member))) for record in chosen), x


def test_the_python_reference_has_every_package() -> None:
    """Except the command, and the halves, whose names are those of the schemes."""
    pages = "\n".join(site_python.pages().values())
    packages = {path.parent.name for path in ROOT.glob("python/whorl/[a-z]*/__init__.py")}
    assert {"ckks", "ml"} <= packages
    for name in packages - {"cli", "client", "server"}:
        assert f"::: whorl.{name}\n" in f"{pages}\n", name


INTERNAL = (
    "/// What the library sees of an object that a circuit encodes once for many calls.",
    "/// Declares a child class that adds nothing but its name.",
)
"""Doc comments of a forward declaration and of a macro."""


def test_the_cpp_reference_has_every_doc_comment() -> None:
    """Except those of private members, and those behind a member, which are comments there."""
    pages = "\n".join(site_cpp.pages().values())
    hidden = 0
    total = 0
    for path in (ROOT / "include").rglob("*.h"):
        private = False
        for line in map(str.strip, path.read_text(encoding="utf-8").split("\n")):
            private = line == "private:" or (private and not line.startswith(("public:", "};")))
            if found := re.match(r"///(?!<) ?(.+)", line):
                total += 1
                if private:
                    hidden += 1
                else:
                    assert site_cpp.prose([found[1]]) in pages or line in INTERNAL, line
    assert total > 900 and hidden < 30


def test_the_cpp_reference_names_what_servers_do() -> None:
    page = site_cpp.pages()["reference/cpp/ckks.md"]
    for name in ("#### rotate", "#### multiply, square", "### class Server", "### minimax_sign"):
        assert f"\n{name}\n" in page
    assert "shared_ptr<const Storage> storage_" not in page


def make(goal: str) -> None:
    done = subprocess.run(["make", goal], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_site_is_built_and_looked_at() -> None:
    """Strictly; then in Chromium: search, width, contrast, keyboard, plots."""
    make("docs")
    site = ROOT / "build" / "site"
    copies = re.findall(r"\]\((\S+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert copies == NAMED and all((site / copy).is_file() for copy in copies)
    for place in NAMED:
        assert (site / site_pages.address(place) / "index.html").is_file(), place
    if not shutil.which("chromium"):
        pytest.skip("chromium is not installed: the site was built, and nobody looked at it")
    make("docs-check")
