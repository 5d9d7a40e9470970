"""Links from names of files of records, and from commits behind them, to the records themselves.

`h200/gpu` 99e9cda leads to the page of all records: it shows those of that file and commit. What
the row of a table or the clause before a commit names, an operation or a set, chooses among them.
"""

from __future__ import annotations

import functools
import json
import re
import urllib.parse
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"

TOKEN = re.compile(
    r"\[(?:[^\]\[]|\[[^\]]*\])*\]\([^)\s]+\)"
    r"|`(?:(?:bench/results/(?P<folder>\w+)/?)?(?:(?P<name>\w+)\.jsonl)?|(?P<file>\w+/\w+))(?<!`)`"
    r"(?P<git> in git)?"
    r"|`[^`]*`"
    r"|\b(?P<commit>[0-9a-f]{7,9})\b"
)
"""A link, which stays as it is, a folder or file of records, other code, or a commit."""

MEMBERS = ("op", "params", "design")
"""What a row or a clause may name of a record."""

SET = re.compile(r"\((I+)\), m = (\d)")
"""How a page writes fpga/I_M2, a set of the accelerator."""


@functools.cache
def records(file: str) -> list[dict[str, object]]:
    """Those of a file such as h200/gpu; none if there is no such file."""
    path = RESULTS / f"{file}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def commits(file: str, short: str) -> set[str]:
    """The commits of a file's records that a page writes so; records may have longer names."""
    known = {str(record["commit"]) for record in records(file)}
    return {commit for commit in known if commit.startswith(short) or short.startswith(commit)}


def named(text: str, values: set[str]) -> set[str]:
    """The values that the text has as words, or else those that begin with code of the text."""
    found = set()
    rest = SET.sub(r"fpga/\1_M\2", text)
    for value in sorted(values, key=len, reverse=True):
        word = rf"(?<![\w/-]){re.escape(value)}(?![\w-])"
        shorter = re.sub(word, "", rest, flags=re.IGNORECASE)
        if shorter != rest:
            found.add(value)
            rest = shorter
    return found or {value for value in values if f"`{value.split()[0]}`" in text}


def query(file: str, at: set[str], text: str) -> str:
    """What chooses those of a file's records that are of these commits and that the text names."""
    wanted = {"commit": sorted(at)} if at else {}
    chosen = [record for record in records(file) if not at or record["commit"] in at]
    for member in MEMBERS:
        values = {value for record in chosen if isinstance(value := record.get(member), str)}
        if found := named(text, values):
            wanted[member] = sorted(found)
            chosen = [record for record in chosen if record.get(member) in found]
    asked = urllib.parse.urlencode(wanted, doseq=True, quote_via=urllib.parse.quote)
    return f"?{asked}" if asked else ""


class References:
    """Makes the links of a page, line by line. `target` is the link to the page of records."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.folder = ""
        self.files: list[tuple[str, set[str]]] = []

    def linked(self, line: str) -> str:
        """The line with links.

        A name alone is a file of the folder that the page has named last. A commit belongs to the
        files named before it, in a table also in its head, unless a later version has replaced
        their records ("in git").
        """
        row = line.startswith("|")
        if not row:
            self.files = []
        links: list[tuple[re.Match[str], str, set[str], str]] = []
        clause = 0
        ended = True
        for match in TOKEN.finditer(line):
            if short := match["commit"]:
                text = line if row else re.split(r"\(|[;:.] ", line[clause : match.start()])[-1]
                clause = match.end()
                ended = True
                holders = [file for file, _ in self.files if commits(file, short)]
                for file, at in self.files:
                    at |= commits(file, short)
                if holders:
                    links.append((match, holders[-1], commits(holders[-1], short), text))
            elif match["git"]:
                self.files = []
            else:
                self.folder = match["folder"] or self.folder
                file = match["file"] or f"{self.folder}/{match['name']}"
                if not records(file):
                    continue
                self.files = [] if ended else self.files
                self.files.append((file, set()))
                ended = False
                links.append((match, file, self.files[-1][1], line if row else ""))
        for match, file, at, text in reversed(links):
            link = f"{self.target}{query(file, at, text)}#{file.replace('/', '-')}"
            line = f"{line[: match.start()]}[{match[0]}]({link}){line[match.end() :]}"
        return line
