"""Numbers that commands read and write: as arguments, text, CSV, JSON or NumPy's arrays."""

from __future__ import annotations

import cmath
import json
import math
import sys
from pathlib import Path
from typing import IO, Any

import numpy as np
import typer

from .._core.integers import refuse, whole_numbers
from .._core.numbers import real_or_complex
from ..errors import ShapeError
from ._outputs import private_file
from ._rows import Kind, NotFinite, row_of, rows_of

Numbers = np.ndarray[Any, np.dtype[Any]]


def read(
    given: list[str], integers: bool = True, header: bool | None = None
) -> tuple[Any, list[str]]:
    """Numbers given one by one, or one file of them (- for standard input); and the names of
    columns, which the first line of text has if there is a `header`; None: there cannot be one.

    They are integers, or real and complex numbers (0.5, 1e-3, 1+2j). The shape of .npy and .json
    files is kept; JSON has complex numbers as text. Lines of text are rows, unless there is only
    one line, or only one value in each. `Client.encrypt` checks whether the values can be
    encrypted.
    """
    kind = _INTEGER if integers else _NUMBER
    for value in given:
        if value.startswith("-") and value != "-" and not _is_negative(value, kind):
            raise ValueError(f"No such option: {value}")
    path, alone = Path(given[0]), len(given) == 1
    if alone and is_text(path):
        return rows_of(given[0], _text(path), kind, header, path.suffix.lower() == ".csv")
    if given == ["-"]:
        return rows_of("standard input", sys.stdin.read().removeprefix("\ufeff"), kind, header)
    if header:
        raise ValueError("--header goes with a .csv or .txt file, or standard input (-)")
    if alone and path.suffix.lower() == ".npy":
        return _array(path, kind), []
    if alone and path.suffix.lower() == ".json":
        return _json(path, kind), []
    return row_of("messages", given, kind), []


def _number(text: str) -> float | complex:
    try:
        value: float | complex = float(text)
    except ValueError:
        value = complex(text)
    if not cmath.isfinite(value):
        raise NotFinite(text)
    return value


_INTEGER = Kind("an integer", "integers", int, "iub")
_NUMBER = Kind("a number", "numbers", _number, "iubfc")


def _is_negative(text: str, kind: Kind) -> bool:
    """Whether a text that begins with - may be a number."""
    return text[1:2].isdigit() or (kind is _NUMBER and text[1:2] in (".", "j"))


_SUFFIXES = (".npy", ".json", ".csv", ".txt")


def is_named_so(path: Path) -> bool:
    """Whether a file has integers, by its name."""
    return path.suffix.lower() in _SUFFIXES


def is_text(path: Path) -> bool:
    """Whether a file has lines of numbers, by its name."""
    return path.suffix.lower() in (".csv", ".txt")


def read_array(path: Path, integers: bool = True, header: bool | None = None) -> Numbers:
    """The numbers of a file, as `read` takes them, where only text has a `header`. `ValueError` for
    integers other than -(2^31 - 1) … 2^31 - 1, which no modulus holds, and for lists of different
    lengths."""
    values, _ = read([str(path)], integers, header if is_text(path) else None)
    try:
        if not integers:
            return real_or_complex(values, str(path))
        array = whole_numbers(values, str(path))
        exact = array.astype(np.object_) if array.dtype == np.uint64 else array
        wrong = (exact <= -(2**31)) | (exact >= 2**31)
        refuse(array, wrong, str(path), "not in -(2^31 - 1) … 2^31 - 1", ValueError)
    except (TypeError, ShapeError) as error:
        raise ValueError(str(error)) from None
    return array.astype(np.int64)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # Excel writes a byte order mark
    except UnicodeDecodeError:
        raise ValueError(f"{path}: this is not text in UTF-8") from None


def _json(path: Path, kind: Kind) -> Any:
    try:
        values = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: this is not JSON: {error}") from None
    if not isinstance(values, list) and (kind is _NUMBER or not isinstance(values, int)):
        raise ValueError(f"{path}: a list of {kind.several} is needed, or a list of such lists")
    return _with_complex(str(path), values) if kind is _NUMBER else values


def _with_complex(where: str, values: Any) -> Any:
    """Lists in which text stands for complex numbers."""
    if isinstance(values, list):
        return [_with_complex(where, each) for each in values]
    if not isinstance(values, str):
        return values
    try:
        return _number(values)
    except ValueError:
        raise ValueError(f"{where}: {values[:80]!r} is not a finite number") from None


def _array(path: Path, kind: Kind) -> Any:
    try:
        with path.open("rb") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # of any kind, for a header that somebody has made up
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise ValueError(f"{path}: this is not a NumPy array: {reason}") from None
    if array.dtype.kind not in kind.numpy:
        raise ValueError(f"{path}: {kind.several} are needed, not {array.dtype}")
    return array


def write(values: Numbers, output: Path | None, as_json: bool, force: bool) -> None:
    """To standard output, or to a file of mode 0600 in the format that its name ends with.

    Text has one row in each line. Flat values are printed in one line; a file has one in each line.
    """
    if output is None:
        if as_json:
            typer.echo(json.dumps(values.tolist(), default=_shown))
        else:
            for row in _lines(values):
                typer.echo(" ".join(map(_shown, row)))
        return
    with private_file(output, force) as stream:
        _write(values, stream, ".json" if as_json else output.suffix.lower())


def _write(values: Numbers, stream: IO[bytes], suffix: str) -> None:
    if suffix == ".npy":
        np.save(stream, values)
    elif suffix == ".json":
        stream.write(json.dumps(values.tolist(), default=_shown).encode() + b"\n")
    else:
        rows = _lines(values) if values.ndim > 1 else values.reshape(-1, 1)
        apart = "," if suffix == ".csv" else " "
        stream.writelines((apart.join(map(_shown, row)) + "\n").encode() for row in rows)


def _shown(value: Any) -> str:
    """A number as text that `read` takes."""
    return str(value).strip("()")


def _lines(values: Numbers) -> Numbers:
    """Rows of the last axis."""
    shape = values.shape or (1,)
    return values.reshape(math.prod(shape[:-1]), shape[-1])
