"""Pages of the site that lie outside docs/, and how links between all of them are written.

A page of docs/ links to files beside it and outside, as they lie in the repository. On the site the
pages outside have other places, and files that are no pages are copied as text.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

from site_references import References

ROOT = Path(__file__).resolve().parents[2]

OUTSIDE = {
    "README.md": "index.md",
    "SECURITY.md": "project/security.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "packaging/README.md": "project/packaging.md",
    "rtl/README.md": "project/rtl.md",
    "rtl/vendor/README.md": "project/rtl-vendor.md",
    "bench/results/peers/README.md": "performance/peers.md",
    **{
        str(page.relative_to(ROOT)): f"applications/{page.parent.name}.md"
        for page in sorted(ROOT.glob("apps/*/README.md"))
    },
}
"""Pages outside docs/, and their places on the site."""

MADE = {"bench/results": "performance/records.md"}
"""Folders of the repository that a page is made of, and its place."""

CHART = re.compile(r"^```chart\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
"""A plot: JSON that says which records it takes (docs/assets/site.js)."""

FENCE = re.compile(r"\s*(```|~~~)")
LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
ITEM = re.compile(r"( *)([-*+]|\d+[.)]) ")


def navigation() -> list[str]:
    """Places of all pages, in the order of the navigation."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    return re.findall(r"^ +- (?:.*: )?(\S+\.md)$", text, re.MULTILINE)


def address(place: str) -> str:
    """Where a page is below the site's address: performance/README.md is performance/."""
    folder, _, name = place.removesuffix(".md").rpartition("/")
    parts = (folder, "" if name in ("index", "README") else name)
    return "".join(f"{part}/" for part in parts if part)


def source_of(place: str) -> str:
    """The path in the repository of the page that has this place on the site."""
    for path, other in OUTSIDE.items():
        if other == place:
            return path
    return f"docs/{place}"


def place_of(path: str) -> str | None:
    """The place on the site of a file of the repository, or None if it has none."""
    if place := OUTSIDE.get(path) or MADE.get(path):
        return place
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return place_of(f"{path}/README.md") if (ROOT / path / "README.md").exists() else None
    return f"source/{path}.txt" if (ROOT / path).is_file() else None


def relative(place: str, page: str) -> str:
    """A link from the page with the place `page` to another place."""
    return os.path.relpath(place, os.path.dirname(page) or ".")


def link(match: re.Match[str], page: str) -> str:
    """A link as it is written on the site; its text alone where the site has no such place."""
    mark, text, target = match.groups()
    if "://" in target or target.startswith(("#", "mailto:")):
        return match[0]
    path, hash_, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(source_of(page)), path))
    place = place_of(path)
    # What is a path in the repository is a title on the site.
    if text.strip("`") == target.partition("#")[0] and (ROOT / path).suffix == ".md":
        text = (ROOT / path).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f"{mark}[{text}]({relative(place, page)}{hash_}{anchor})" if place else text


def chart(match: re.Match[str]) -> str:
    """The element that the page's script fills with a plot."""
    return (
        f'<div class="whorl-chart" data-chart="{html.escape(match[1])}" markdown="0">'
        "A script draws this plot from the records.</div>"
    )


def for_site(markdown: str, page: str) -> str:
    """A page of GitHub's Markdown, as Python's Markdown takes it, with the site's links.

    Python's Markdown wants lists indented by four spaces, and a blank line before them.
    """
    markdown = CHART.sub(chart, markdown)
    lines: list[str] = []
    fenced = False
    references = References(relative(MADE["bench/results"], page))
    for line in markdown.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
            line = re.sub(r"^(\s*```\w+) .*$", r"\1", line)
        elif not fenced:
            if item := ITEM.match(line):
                before = lines[-1] if lines else ""
                if before.strip() and not item[1] and not ITEM.match(before):
                    lines.append("")
                line = item[1] + line
            line = LINK.sub(lambda match: link(match, page), line)
            line = references.linked(line)
        lines.append(line)
    return "\n".join(lines)


def copied_sources() -> dict[str, str]:
    """Files of the repository that pages link to and that are no pages, by their places."""
    pages = [*ROOT.glob("docs/**/*.md"), *(ROOT / path for path in OUTSIDE)]
    found = {}
    for page in pages:
        for _, _, target in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" in target or target.startswith("#"):
                continue
            path = os.path.normpath(page.parent.relative_to(ROOT) / target.partition("#")[0])
            place = place_of(path)
            if place and place.startswith("source/"):
                found[place] = path
    return found
