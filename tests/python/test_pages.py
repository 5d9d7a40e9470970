"""Links lead somewhere, newcomers are led first, records are there and have the stated form."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT

FOLDERS = ("apps", "bench", "docs", "packaging", "rtl")
PAGES = sorted([*ROOT.glob("*.md"), *(page for f in FOLDERS for page in ROOT.glob(f"{f}/**/*.md"))])
SOURCES = ("include", "src", "python", "bench", "tools", "tests", "apps")
TEXT = "h|cpp|cu|cuh|inc|py|sh|md"


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What headings are called in links, as GitHub makes it."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in headings}


def links(page: Path) -> Iterator[tuple[str, str]]:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield path, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for path, anchor in links(page):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


NAMED = re.compile(rf"(?<![\w./-])(?:{'|'.join((*SOURCES, 'docs'))})/[\w/.-]*\w\.(?:{TEXT})\b")
"""A file of this tree, by its path. What stands for any name is in capitals."""


def test_files_that_sources_and_guides_name_exist() -> None:
    """Tests of the checkers make trees of their own; other pages also tell of what is gone."""
    sources = [path for folder in SOURCES for path in (ROOT / folder).rglob("*")]
    guides = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
    of_checkers = ("test_check_prose.py", "test_includes.py")
    for path in [*guides, *(path for path in sources if path.suffix[1:] in TEXT.split("|"))]:
        for named in NAMED.findall(path.read_text(encoding="utf-8")):
            known = path.name in of_checkers or re.search("[A-Z]{4}", named) is not None
            assert known or (ROOT / named).exists(), f"{path.relative_to(ROOT)} names {named}"


def test_newcomers_are_led_first() -> None:
    pages = [path for path, _ in links(ROOT / "README.md") if path.startswith("docs/")]
    assert pages[0] == "docs/start-here.md"


def test_each_page_of_performance_begins_with_what_limits_and_ends_with_trials() -> None:
    folder = ROOT / "docs" / "performance"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = [page for page in folder.glob("*.md") if page.name != "README.md"]
    assert len(pages) >= 8
    for page in pages:
        text = page.read_text(encoding="utf-8")
        first, *_, last = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert first.startswith("What limits") and last == "What was tried", page.name
        assert text.count("| tried | predicted | measured | kept |") == 1, page.name
        table = text.split("| tried | predicted | measured | kept |")[1].strip()
        assert all(line.startswith("|") for line in table.splitlines()), page.name
        assert f"]({page.name})" in index, page.name


def test_records_have_one_form_and_are_the_last_of_their_thing(
    tool: Callable[..., ModuleType],
) -> None:
    records = tool("common.records")
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    stated = re.split(r"a\s+member\s+without\s+a\s+value\s+is\s+null\.\s+They\s+are", text)[1]
    stated = re.split(r"A bench may add", stated)[0]
    members = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", stated))
    assert sorted(members) == sorted(records.WHAT + records.FOUND) and len(members) == 22
    paths = sorted(records.RESULTS.glob("*/*.jsonl"))
    assert len(paths) > 30
    for path in paths:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            assert set(members) <= set(line), f"{path}: {set(members) - set(line)} of {line}"
            assert line["transfers"] in ("included", "excluded", None), line
            if path.parent.name == "peers":
                assert line["device"] == path.stem
                assert line["peer"] and line["peer_version"] and line["median"] > 0
                assert line["commit"] is None, "a peer is not measured at a commit of Whorl"
            else:
                assert re.fullmatch(r"[0-9a-f]{7,8}", line["commit"]), line
        assert lines == records.latest(lines), f"run .venv/bin/python bench/latest.py {path}"


RECORDS = re.compile(r"`(?:bench/results/(\w+)/)?(\w+)\.jsonl`([^|;`\n]*)")
"""The folder, if it is said, and the name of a file of records; then what is said of it."""


def test_records_that_pages_name_are_there() -> None:
    """With the commits behind the file's name, unless the page says that the file is in git."""
    pages = [page for page in PAGES if page.name not in ("CHANGELOG.md", "CONTRIBUTING.md")]
    checked = 0
    for page in [*pages, *ROOT.glob("apps/*/README.md"), ROOT / "rtl" / "README.md"]:
        for line in prose(page).splitlines():
            text, commits = "", set()
            for folder, name, said in RECORDS.findall(line):
                if said.startswith(" in git"):
                    continue
                paths = list((ROOT / "bench" / "results").glob(f"{folder or '*'}/{name}.jsonl"))
                assert paths or name == "sets", f"{page} names {folder}/{name}.jsonl"
                text += "".join(path.read_text(encoding="utf-8") for path in paths)
                clause = re.split(r"\)|\. ", said.removeprefix(" ("))[0]
                commits |= set(re.findall(r"\b(?=[a-f]*\d)[0-9a-f]{7,8}\b", clause))
            missing = {commit for commit in commits if f'"{commit}"' not in text}
            assert not missing, f"{page}: no records of {missing}, in: {line}"
            checked += len(commits)
    assert checked > 30
