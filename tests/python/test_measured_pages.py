"""Pages that are made of records say what the records say."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from support import ROOT

pytest.importorskip("matplotlib")

PAGES = ("bgv-performance", "ckks-performance", "gpu", "noise", "papers/velofhe", "papers/xiao")


@pytest.mark.parametrize("page", PAGES)
def test_pages_agree_with_the_records(
    page: str, tmp_path: Path, tool: Callable[..., ModuleType]
) -> None:
    pages = tool("pages")
    assert set(pages.PAGES) == {f"{each}.md" for each in PAGES}
    path = ROOT / "docs" / f"{page}.md"
    text = path.read_text(encoding="utf-8")
    made = pages.PAGES[f"{page}.md"](tmp_path)
    marks = rf"<!-- measured: {pages.SCRIPT} (\w+) -->\n(.*?)<!-- end of measured -->"
    shown = {part: lines.strip() for part, lines in re.findall(marks, text, re.DOTALL)}
    wanted = {part: "\n".join(lines).strip() for part, lines in made.items()}
    assert shown == wanted, f"run {pages.SCRIPT} {page}.md"
    plots = re.findall(r"\]\([./]*(plots/\S+\.svg)\)", text)
    assert {Path(plot).name for plot in plots} == {path.name for path in tmp_path.glob("*.svg")}
    for plot in plots:
        drawn = (tmp_path / Path(plot).name).read_text(encoding="utf-8")
        assert drawn == (ROOT / "docs" / plot).read_text(encoding="utf-8"), plot
