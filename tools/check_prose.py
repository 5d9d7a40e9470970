"""Find doc comments that are no sentences, and Markdown pages whose lines or tables are broken.

- A doc comment (`///`) or a docstring does not begin with "Of", which leans on the name beside it
  ("Of each prime."). In what users and other files call (the headers, the package, the support of
  tests, and src but for backends, schemes and circuits) it begins with no preposition. "With two
  devices, …" is a sentence: a comma ends the phrase.
- A Markdown table has a row of dashes below its first row, as many cells in every row, and no blank
  line between its rows.

usage: check_prose.py [ROOT]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

COMMENTED = ("apps", "bench", "include", "python", "rtl", "src", "tests", "tools")
STRICT = re.compile(r"(?:include|python|tests/support)/|src/(?!backend|schemes|circuits)")
SOURCE_SUFFIXES = (".h", ".cpp", ".cu", ".cuh")
PREPOSITIONS = frozenset(
    "After As At Before Below Between By For From In Into Of On Over To Under Until With".split()
)
LINE = re.compile(r"\s*///(?!<) ?(.*)")
# Folders without pages of Whorl's own.
SKIPPED = ("build", ".venv", ".git", ".pytest_cache", "node_modules")
DASHES = re.compile(r"\|(?:\s*:?-+:?\s*\|)+$")
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"\s*([-*+]|\d+[.)]) ")
# Tables, headings, HTML, pictures and quotations: no line of theirs goes on in the next one.
APART = re.compile(r"\s*(\||#|<|!\[|>|$)")


def first_words(text: str) -> str:
    """Up to the end of the first sentence, or of its first part."""
    return re.split(r"[.:;](?:\s|$)", text, maxsplit=1)[0]


def fragment(sentence: str, where: Path) -> bool:
    """Whether what a doc comment begins with leans on the name below it."""
    word = sentence.partition(" ")[0]
    if word == "Of":
        return True
    strict = STRICT.match(where.as_posix()) is not None
    return strict and word in PREPOSITIONS and "," not in sentence


def check_comments(root: Path) -> Iterator[str]:
    """One line a doc comment that is a fragment."""
    for folder in COMMENTED:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SOURCE_SUFFIXES:
                continue
            block: list[str] = []
            lines = path.read_text(encoding="utf-8").split("\n")
            for number, line in enumerate(lines, 1):
                if found := LINE.match(line):
                    block.append(found.group(1))
                    continue
                sentence = first_words(" ".join(block))
                where = path.relative_to(root)
                if block and fragment(sentence, where):
                    first = number - len(block)
                    yield f"{where}:{first}: a doc comment begins with a fragment: {sentence!r}"
                block = []


def check_docstrings(root: Path) -> Iterator[str]:
    """One line a docstring that is a fragment."""
    for path in sorted(path for f in COMMENTED for path in (root / f).rglob("*.py")):
        where = path.relative_to(root)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(where))):
            body = getattr(node, "body", None)
            if not isinstance(body, list):
                continue
            for each in body:
                # A string that is a statement is a docstring, of what holds it or stands above it.
                if not isinstance(each, ast.Expr) or not isinstance(each.value, ast.Constant):
                    continue
                sentence = first_words(" ".join(str(each.value.value).split()))
                if fragment(sentence, where):
                    yield f"{where}:{each.lineno}: a docstring begins with a fragment: {sentence!r}"


def cells(row: str) -> int:
    """How many cells a row of a table has."""
    row = re.sub(r"\\.", "", row.strip())
    row = re.sub(r"(`+).+?\1", "", row)
    return row.count("|") - 1


def check_table(rows: list[str]) -> Iterator[tuple[int, str]]:
    """Rows of a table, counted from 0, and what is wrong with each."""
    if len(rows) < 2 or not DASHES.match(rows[1].strip()):
        yield 0, "a row of a table without a row of dashes below it: is a blank line above it?"
        return
    for number, row in enumerate(rows):
        if not row.rstrip().endswith("|"):
            yield number, "a row of a table does not end with |"
        elif cells(row) != cells(rows[0]):
            yield number, f"{cells(row)} cells in a row of a table of {cells(rows[0])}"


def check_page(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Lines of a Markdown page, counted from 1, and what is wrong with each."""
    code, text, rows = False, False, list[str]()
    for number, line in enumerate([*lines, ""], 1):
        fence = FENCE.match(line) is not None
        code = code != fence
        if not code and line.lstrip().startswith("|"):
            rows.append(line)
            text = False
            continue
        for row, problem in check_table(rows) if rows else ():
            yield number - len(rows) + row, problem
        rows = []
        goes_on = not (code or fence or APART.match(line) or ITEM.match(line))
        if text and goes_on:
            yield number, "the paragraph above goes on: write a paragraph in one line"
        # What is indented is code, unless it goes on with text above it.
        indented = not text and line.startswith("    ") and not ITEM.match(line)
        text = not (code or fence or indented or APART.match(line))


def check_pages(root: Path) -> Iterator[str]:
    """One line a breach in a Markdown page."""
    for path in sorted(root.rglob("*.md")):
        where = path.relative_to(root)
        if not any(part in SKIPPED for part in where.parts):
            lines = path.read_text(encoding="utf-8").split("\n")
            for number, problem in check_page(lines):
                yield f"{where}:{number}: {problem}"


def check(root: Path) -> list[str]:
    """Every breach of the rules in the tree at `root`; empty if there is none."""
    return [*check_comments(root), *check_docstrings(root), *check_pages(root)]


def main() -> int:
    """Print breaches; 1 if there are any."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
