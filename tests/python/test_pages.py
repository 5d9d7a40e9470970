"""Links lead somewhere, newcomers are led first, records have the form that the pages state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md")])
SOURCES = ("include", "src", "python", "bench", "tools", "tests", "apps")


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


def test_pages_that_sources_name_exist() -> None:
    named = re.compile(r"\bdocs/[\w/-]+\.md\b")
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".h", ".cpp", ".cu", ".cuh", ".py"):
                for page in named.findall(path.read_text(encoding="utf-8")):
                    assert (ROOT / page).exists(), f"{path.relative_to(ROOT)} names {page}"


def test_newcomers_are_led_first() -> None:
    pages = [path for path, _ in links(ROOT / "README.md") if path.startswith("docs/")]
    assert pages[0] == "docs/start-here.md"


def test_each_page_of_performance_begins_with_what_limits_the_operation() -> None:
    folder = ROOT / "docs" / "performance"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = [page for page in folder.glob("*.md") if page.name != "README.md"]
    assert len(pages) >= 8
    for page in pages:
        first = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[0]
        assert first.startswith("What limits"), page.name
        assert f"]({page.name})" in index, page.name


def test_peers_have_the_form_of_records() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    stated = re.split(r"a\s+member\s+without\s+a\s+value\s+is\s+null\.\s+They\s+are", text)[1]
    stated = re.split(r"A bench may add", stated)[0]
    members = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", stated))
    assert len(members) == 22
    for path in sorted((ROOT / "bench" / "results" / "peers").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            assert set(members) <= set(record), record
            assert record["device"] == path.stem
            assert record["peer"] and record["peer_version"] and record["median"] > 0
            assert record["commit"] is None, "a peer is not measured at a commit of Whorl"
