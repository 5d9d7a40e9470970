"""Tables of text under numeric codes, and where a code's row lies in a grid.

A code is its page, code // 256, and its place on that page, code % 256. The pages that hold
anything are numbered in order, so the grid has as many columns as there are such pages and 256
rows; a cell holds a row of the table, as numbers of two bytes, in layers of 64 bytes.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

PLACES = 256  # on a page
MOST_PAGES = 256
CELL = 32  # numbers of two bytes, below the plaintext modulus 65537, in a layer
LAYER_BYTES = 2 * CELL
MOST_LAYERS = 16

Values = npt.NDArray[np.int64]

# Named by their code alone, they would fill the table with nothing worth asking for.
_BY_CODE = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HANGUL SYLLABLE ", "TANGUT IDEOGRAPH")


def layers_of(text: str) -> int:
    """Layers that a row's text takes. `ValueError` if it cannot be held."""
    data = text.encode()
    if not data or b"\0" in data:
        raise ValueError(f"row: empty, or with a NUL in it: {text!r}")
    if len(data) > LAYER_BYTES * MOST_LAYERS:
        raise ValueError(f"row: {len(data)} bytes are more than {LAYER_BYTES * MOST_LAYERS}")
    return -(-len(data) // LAYER_BYTES)


def pack(text: str, layers: int) -> Values:
    """A row's text as (layers, CELL) numbers, two bytes of UTF-8 each, padded with zeros."""
    padded = text.encode().ljust(layers * LAYER_BYTES, b"\0")
    return np.frombuffer(padded, dtype="<u2").astype(np.int64).reshape(layers, CELL)


def unpack(cell: Values) -> str | None:
    """The text of (layers, CELL) numbers; None where there is no row.

    `ValueError` for what `pack` never made.
    """
    if cell.min() < 0 or cell.max() > 0xFFFF:
        raise ValueError("cell: a number is outside 0 … 65535")
    data = cell.astype("<u2").tobytes().rstrip(b"\0")
    return data.decode() if data else None


@dataclasses.dataclass(frozen=True)
class Grid:
    """Where rows lie. A client is told: which pages hold any row, how long the longest row is."""

    pages: Sequence[int]
    layers: int

    def __post_init__(self) -> None:
        if not 1 <= len(self.pages) <= MOST_PAGES:
            raise ValueError(f"pages: {len(self.pages)} are not 1 … {MOST_PAGES}")
        if list(self.pages) != sorted(set(self.pages)):
            raise ValueError("pages: not ascending")

    @property
    def period(self) -> int:
        """Columns of the grid: the pages, filled up to a power of two."""
        return 1 << (len(self.pages) - 1).bit_length()

    def find(self, code: int) -> tuple[int | None, int]:
        """Column and row of a code; no column where its page holds nothing."""
        page, place = divmod(code, PLACES)
        return (self.pages.index(page) if page in self.pages else None), place


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of text by code."""

    rows: dict[int, str]

    @property
    def grid(self) -> Grid:
        """Where its rows lie."""
        pages = sorted({code // PLACES for code in self.rows})
        return Grid(pages, max(map(layers_of, self.rows.values()), default=1))

    def cells(self) -> Values:
        """The whole grid: (layers, period, PLACES, CELL), zeros where there is no row."""
        grid = self.grid
        cells = np.zeros((grid.layers, grid.period, PLACES, CELL), dtype=np.int64)
        column = {page: index for index, page in enumerate(grid.pages)}
        for code, text in self.rows.items():
            page, place = divmod(code, PLACES)
            cells[:, column[page], place] = pack(text, grid.layers)
        return cells

    def save(self, path: Path) -> None:
        """Lines of code (hexadecimal), tab, text."""
        lines = [f"{code:04X}\t{text}\n" for code, text in sorted(self.rows.items())]
        path.write_text("".join(lines), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Table:
        """Reads what `save` wrote. `ValueError` names a line that is none."""
        rows: dict[int, str] = {}
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
            code, tab, row = line.partition("\t")
            try:
                if not tab or int(code, 16) < 0:
                    raise ValueError("no code in hexadecimal, tab, text")
                if int(code, 16) in rows:
                    raise ValueError(f"{code}: for the second time")
                layers_of(row)
                rows[int(code, 16)] = row
            except ValueError as error:
                raise ValueError(f"{path.name}, line {number}: {error}") from None
        return cls(rows)


def characters() -> Table:
    """Unicode's characters as Python knows them: name, category, direction, width, number.

    All that are named, but for ideographs and syllables named by their code alone.
    """
    rows = {}
    for code in range(0x110000):
        character = chr(code)
        name = unicodedata.name(character, "")
        if name and not name.startswith(_BY_CODE):
            number = unicodedata.numeric(character, None)
            fields = (
                name,
                unicodedata.category(character),
                unicodedata.bidirectional(character),
                unicodedata.east_asian_width(character),
                "" if number is None else f"{number:g}",
            )
            rows[code] = "\t".join(fields)
    return Table(rows)
