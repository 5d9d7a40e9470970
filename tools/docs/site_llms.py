"""llms.txt: the site's pages for programs, each as Markdown at its place, beside the HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def places(nav: Any) -> Iterator[str]:
    """Places of all pages below an entry of the navigation, in its order."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for entry in nav.values():
            yield from places(entry)
    else:
        for entry in nav:
            yield from places(entry)


def summary(markdown: str) -> str:
    """The first sentence that says what a page is about, or else its first sentence."""
    sentences = []
    for paragraph in markdown.split("\n\n"):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        if text and text[0] not in "#|`<!-*[:":
            sentences.append(re.split(r"(?<=[.:]) ", text)[0].rstrip(":."))
    about = [text for text in sentences if text.startswith("This page")]
    return f"{(about or sentences or [''])[0]}."


def write(
    site: Path, nav: list[Any], texts: Mapping[str, tuple[str, str]], description: str
) -> None:
    """Writes llms.txt, llms-full.txt and the copies."""
    lines = ["# Whorl", "", f"> {description}", ""]
    whole = []
    for section in nav:
        (title, entries), *_ = section.items()
        lines += [f"## {title}", ""]
        for place in places(entries):
            name, markdown = texts[place]
            copy = site / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(markdown, encoding="utf-8")
            said = summary(markdown)
            lines.append(f"- [{name}]({place}){': ' + said if len(said) > 1 else ''}")
            whole.append(f"<!-- {place} -->\n\n{markdown.strip()}\n")
        lines.append("")
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")
