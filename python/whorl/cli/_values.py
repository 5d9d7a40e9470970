"""Integers that commands read and write: as arguments, text, CSV, JSON or NumPy's arrays."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from ._outputs import private_file

if TYPE_CHECKING:
    import numpy as np

    Integers = np.ndarray[Any, np.dtype[np.int64]]


def read(given: list[str]) -> Any:
    """Integers given one by one, or one file of them (- for standard input).

    The shape of .npy and .json files is kept. Lines of text are rows, unless there is only one
    line, or only one value in each. `Client.encrypt` checks whether the values are integers that
    can be encrypted.
    """
    for value in given:
        if value.startswith("-") and value != "-" and not value[1:2].isdigit():
            raise ValueError(f"No such option: {value}")
    if len(given) > 1:
        return _integers("messages", " ".join(given))
    [name] = given
    path = Path(name)
    match path.suffix.lower():
        case ".npy":
            return _array(path)
        case ".json":
            return _json(path)
        case ".csv" | ".txt":
            return _rows(name, _text(path))
    if name != "-":
        return _integers("messages", name)
    return _rows("standard input", sys.stdin.read().removeprefix("\ufeff"))


_SUFFIXES = (".npy", ".json", ".csv", ".txt")


def is_named_so(path: Path) -> bool:
    """Whether a file has integers, by its name."""
    return path.suffix.lower() in _SUFFIXES


def read_array(path: Path) -> Integers:
    """The integers of a file, as `read` takes them. `ValueError` for others than
    -(2^31 - 1) … 2^31 - 1, which no modulus holds, and for lists of different lengths."""
    import numpy as np

    from .._integers import refuse, whole_numbers
    from ..errors import ShapeError

    try:
        array = whole_numbers(read([str(path)]), str(path))
        exact = array.astype(np.object_) if array.dtype == np.uint64 else array
        wrong = (exact <= -(2**31)) | (exact >= 2**31)
        refuse(array, wrong, str(path), "not in -(2^31 - 1) … 2^31 - 1", ValueError)
    except (TypeError, ShapeError) as error:
        raise ValueError(str(error)) from None
    return array.astype(np.int64)


def _integers(where: str, text: str) -> list[int]:
    values = []
    for part in text.replace(",", " ").split():
        try:
            values.append(int(part))
        except ValueError:
            raise ValueError(f"{where}: {part[:80]!r} is not an integer") from None
    return values


def _rows(where: str, text: str) -> Any:
    """One row for each line; a flat list if there is one row, or one value in each row."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    rows = [_integers(f"{where}, line {number}", line) for number, line in lines]
    for (number, _), row in zip(lines, rows, strict=True):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{where}: line {number} has {len(row)} values, but the first has {len(rows[0])}"
            )
    if not rows:
        raise ValueError(f"{where}: there are no values")
    if len(rows) == 1:
        return rows[0]
    return [row[0] for row in rows] if len(rows[0]) == 1 else rows


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # Excel writes a byte order mark
    except UnicodeDecodeError:
        raise ValueError(f"{path}: this is not text in UTF-8") from None


def _json(path: Path) -> Any:
    try:
        values = json.loads(_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: this is not JSON: {error}") from None
    if not isinstance(values, (list, int)):
        raise ValueError(f"{path}: a list of integers is needed, or a list of such lists")
    return values


def _array(path: Path) -> Any:
    import numpy as np

    try:
        with path.open("rb") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: this is not a NumPy array: {error}") from None
    if array.dtype.kind not in "iub":
        raise ValueError(f"{path}: integers are needed, not {array.dtype}")
    return array


def write(values: Integers, output: Path | None, as_json: bool, force: bool) -> None:
    """To standard output, or to a file of mode 0600 in the format that its name ends with.

    Text has one row in each line. Flat values are printed in one line; a file has one in each line.
    """
    if output is None:
        if as_json:
            typer.echo(json.dumps(values.tolist()))
        else:
            for row in _lines(values):
                typer.echo(" ".join(map(str, row)))
        return
    with private_file(output, force) as stream:
        _write(values, stream, ".json" if as_json else output.suffix.lower())


def _write(values: Integers, stream: IO[bytes], suffix: str) -> None:
    if suffix == ".npy":
        import numpy as np

        np.save(stream, values)
    elif suffix == ".json":
        stream.write(json.dumps(values.tolist()).encode() + b"\n")
    else:
        rows = _lines(values) if values.ndim > 1 else values.reshape(-1, 1)
        apart = "," if suffix == ".csv" else " "
        stream.writelines((apart.join(map(str, row)) + "\n").encode() for row in rows)


def _lines(values: Integers) -> Integers:
    """Rows of the last axis."""
    shape = values.shape or (1,)
    return values.reshape(math.prod(shape[:-1]), shape[-1])
