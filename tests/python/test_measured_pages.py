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
    lines = pages.PAGES[f"{page}.md"](tmp_path)
    between = text.split(f"<!-- measured: {pages.SCRIPT} -->")[1]
    between = between.split("<!-- end of measured -->")[0]
    assert between.strip() == "\n".join(lines).strip(), f"run {pages.SCRIPT} {page}.md"
    for plot in re.findall(r"\]\([./]*(plots/\S+\.svg)\)", between):
        drawn = (tmp_path / Path(plot).name).read_text(encoding="utf-8")
        assert drawn == (ROOT / "docs" / plot).read_text(encoding="utf-8"), plot
