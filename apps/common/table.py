"""A table of one's own: a CSV file with the names of columns in its first line."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Table:
    """Features of shape (rows, features), and the class of each row, an index of `classes`."""

    features: Floats
    labels: Ints
    names: list[str]
    classes: list[str]


def read(path: Path, target: str | None = None) -> Table:
    """Reads a table whose column `target`, by default the last, has the classes, and whose other
    columns have numbers. `ValueError` says in which line and column the file is wrong."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            lines = [(reader.line_num, row) for row in reader]
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: line {reader.line_num + 1}: {error}") from None
    if len(lines) < 4:
        raise ValueError(f"{path}: a line of names and three rows or more are needed")
    names = [name.strip() for name in lines[0][1]]
    chosen = target if target is not None else names[-1] if names else ""
    if len(names) < 2 or names.count(chosen) != 1:
        raise ValueError(
            f"{path}: the first line has the columns {', '.join(names)}; of two or more, one must "
            f"be {chosen!r}, with the classes (--target names it)"
        )
    at = names.index(chosen)
    rows, classes = [], []
    for number, cells in lines[1:]:
        if len(cells) != len(names):
            raise ValueError(
                f"{path}: line {number} has {len(cells)} cells for {len(names)} columns"
            )
        for name, cell in zip(names, cells, strict=True):
            if name != chosen and not _is_finite(cell):
                raise ValueError(
                    f"{path}: line {number}, column {name!r}: {cell!r} is not a finite number; "
                    "write one there, or remove the line or the column"
                )
        rows.append([float(cell) for cell in cells[:at] + cells[at + 1 :]])
        classes.append(cells[at].strip())
    found, labels = np.unique(classes, return_inverse=True)
    if len(found) < 2:
        raise ValueError(f"{path}: all rows have the class {classes[0]!r} in column {chosen!r}")
    return Table(
        np.array(rows), labels.astype(np.int64), names[:at] + names[at + 1 :], found.tolist()
    )


def add_options(parser: argparse.ArgumentParser, rows: str, use: str) -> None:
    """--csv and --target, of a table whose rows have these cells and train that."""
    parser.add_argument(
        "--csv",
        type=Path,
        help=f"a table of your own: names of columns in the first line, {rows} in each row; two "
        f"thirds of the rows, chosen by --seed, train the {use}",
    )
    parser.add_argument("--target", help="column of --csv with the classes; default: the last")


def check_options(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Ends the program if one is given that needs the other."""
    if arguments.target is not None and arguments.csv is None:
        parser.error("--target goes with --csv")


def split(count: int, seed: int) -> tuple[Ints, Ints]:
    """Indices of rows at random, two thirds for training and a third for the test.

    They are those of scikit-learn's `train_test_split`.
    """
    order = np.random.RandomState(seed).permutation(count)
    return order[count // 3 :], order[: count // 3]


def _is_finite(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
