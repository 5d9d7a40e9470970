"""Pages that are made of records: figures in words, tables, and where a page has them."""

from collections.abc import Iterable
from pathlib import Path

NOT_MEASURED = ["*Not measured yet: there are no records.*", ""]


def in_words(ms: float | None) -> str:
    """Milliseconds, or any figure of three digits; nothing where it is not known."""
    return "" if ms is None else f"{ms:.3g}" if ms < 100 else f"{ms:,.0f}"


def times(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 10 else f"{ratio:.1f}×" if ratio >= 1 else f"{ratio:.2g}×"


def ratio(theirs: float | None, ours: float | None) -> str:
    """Their time over ours; nothing unless both are known."""
    return times(theirs / ours) if theirs and ours else ""


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def whole(value: float | None) -> str:
    return f"{value:,.0f}" if value else ""


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table, and an empty one; none without rows."""
    if not rows:
        return []
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def columns(rows: Iterable[dict[str, str]]) -> tuple[list[str], list[list[str]]]:
    """What `table` and `kept` take, of rows that have their cells by the names of columns."""
    found = list(rows)
    return [*found[0]] if found else [], [[*row.values()] for row in found]


def kept(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table without columns that are empty."""
    keep = [at for at in range(len(head)) if any(row[at] for row in rows)]
    return table([head[at] for at in keep], [[row[at] for at in keep] for row in rows])


def write_measured(page: Path, script: str, lines: list[str]) -> None:
    """Puts lines between the markers that a page has for what a script measured."""
    begin, end = f"<!-- measured: {script} -->", "<!-- end of measured -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    if not found:
        raise SystemExit(f"{page} has no line {begin}")
    text = "\n".join([begin, "", *lines]).rstrip() + "\n\n"
    page.write_text(before + text + end + rest.partition(end)[2], encoding="utf-8")
