"""Rows of numbers in text: CSV, and values between tabs or spaces. Errors name line and column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._core.text import counted

_APART = re.compile(r" *, *| +")
_NO_SPACES = (
    "; beside commas no tab or space ends a value, and in a .csv or beside tabs no space does"
)


class NotFinite(ValueError):
    """A number that is infinite, or nan."""


@dataclass(frozen=True)
class Kind:
    """What values are: integers, or real and complex numbers."""

    one: str
    """What one is called."""
    several: str
    parse: Callable[[str], Any]
    """The number that a text is; `ValueError` if it is none, `NotFinite` for nan and inf."""
    numpy: str
    """Kinds of NumPy's types."""


def row_of(where: str, given: list[str], kind: Kind) -> list[Any]:
    """The values of arguments: commas stand between them, or spaces in arguments without commas."""
    for cell in (cell for each in given if "," in each for cell in each.split(",")):
        if len(cell.split()) > 1:
            raise ValueError(f"{where}: {cell.strip()[:80]!r} is not {kind.one}{_NO_SPACES}")
    return _parsed(where, _APART.split(" ".join(" ".join(given).split())), kind, [])


def rows_of(
    where: str, text: str, kind: Kind, header: bool | None = None, is_csv: bool = False
) -> tuple[Any, list[str]]:
    """One row for each line, and the names of columns; a flat list if there is one row, or one
    value in each row.

    If the text has commas, they stand between cells, or else tabs, or else spaces; if it `is_csv`
    never spaces. The first line has the names if there is a `header`; None: there cannot be one.
    The last line may end with a newline. Cells may be in quotation marks. `ValueError` for a cell
    that is empty or no number, a line that is empty, lines of different lengths, and a header
    whose names are all numbers.
    """
    lines = _lines(where, text, is_csv)
    names = _names(where, lines) if header else []
    rows: list[list[Any]] = []
    for number, cells in lines:
        if not cells:
            raise ValueError(
                f"{where}: line {number} is empty; remove it, or write what is missing there"
            )
        can_be_names = number == 1 and header is not None
        hint = "; --header takes the first line for names" if can_be_names else ""
        rows.append(_parsed(f"{where}, line {number}", cells, kind, names, hint))
        wanted = len(names or rows[0])
        if len(cells) != wanted:
            raise ValueError(
                f"{where}: line {number} has {counted(len(cells), 'value')}, but the "
                f"first line has {counted(wanted, 'name') if header else wanted}"
            )
    if not rows:
        raise ValueError(f"{where}: there are no values")
    if len(rows) == 1:
        return rows[0], names
    return ([row[0] for row in rows] if len(rows[0]) == 1 else rows), names


def _lines(where: str, text: str, is_csv: bool) -> Iterator[tuple[int, list[str]]]:
    """The number of each line, from 1 on, and its cells."""
    text = text.removesuffix("\n")
    if not text:
        return
    quoted = '"' in text
    apart = "," if "," in text else "\t" if "\t" in text else "," if is_csv or quoted else " +"
    if quoted:
        yield from _quoted(where, text, apart)
        return
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip(" ")
        yield number, [each.strip(" ") for each in re.split(apart, line)] if line else []


def _quoted(where: str, text: str, apart: str) -> Iterator[tuple[int, list[str]]]:
    """The same of CSV with quotation marks, in which a line may be within a cell."""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=apart, skipinitialspace=True, strict=True
    )
    try:
        for cells in reader:
            yield reader.line_num, [each.strip(" ") for each in cells]
    except csv.Error as error:
        raise ValueError(f"{where}, line {reader.line_num}: {error}") from None


def _names(where: str, lines: Iterator[tuple[int, list[str]]]) -> list[str]:
    """The names that the first line has; none if there is no line."""
    names = next(lines, (1, None))[1]
    if names == []:
        raise ValueError(f"{where}: line 1 is empty; write the names of the columns there")
    for column, name in enumerate(names or [], 1):
        if not name:
            raise ValueError(
                f"{where}, line 1, column {column}: the column has no name; write one there, or "
                "remove the column"
            )
    if names and all(map(_is_number, names)):
        raise ValueError(
            f"{where}, line 1: the names of columns are numbers; if they are values, leave "
            "--header out"
        )
    return names or []


def _is_number(text: str) -> bool:
    try:
        complex(text)
    except ValueError:
        return False
    return True


def _parsed(
    where: str, cells: list[str], kind: Kind, names: list[str], hint: str = ""
) -> list[Any]:
    try:
        return [kind.parse(cell) for cell in cells]
    except ValueError:
        pass
    for column, cell in enumerate(cells):
        place = f"{where}, column {column + 1}"
        if column < len(names):
            place += f" ({names[column]})"
        if not cell:
            raise ValueError(
                f"{place} is empty; write a value there, or remove the line or the column"
            )
        try:
            kind.parse(cell)
        except NotFinite:
            raise ValueError(f"{place}: {cell[:80]!r} is not finite") from None
        except ValueError:
            if ";" in cell:
                hint = "; commas, tabs or spaces stand between values"
            elif len(parts := cell.split()) > 1 and all(map(_is_number, parts)):
                hint = _NO_SPACES
            elif cell.startswith("#"):
                hint = "; there are no lines of comments"
            raise ValueError(f"{place}: {cell[:80]!r} is not {kind.one}{hint}") from None
    raise AssertionError("every cell is a number")
