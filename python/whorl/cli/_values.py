"""Numbers that commands read and write: as arguments, text, CSV, JSON or NumPy's arrays."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from ._outputs import private_file

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[Any]]


def read(given: list[str], integers: bool = True) -> Any:
    """Numbers given one by one, or one file of them (- for standard input).

    They are integers, or real and complex numbers (0.5, 1e-3, 1+2j). The shape of .npy and .json
    files is kept; JSON has complex numbers as text. Lines of text are rows, unless there is only
    one line, or only one value in each. `Client.encrypt` checks whether the values can be
    encrypted.
    """
    kind = _INTEGER if integers else _NUMBER
    for value in given:
        if value.startswith("-") and value != "-" and not kind.is_negative(value):
            raise ValueError(f"No such option: {value}")
    if len(given) > 1:
        return _numbers("messages", " ".join(given), kind)
    [name] = given
    path = Path(name)
    match path.suffix.lower():
        case ".npy":
            return _array(path, kind)
        case ".json":
            return _json(path, kind)
        case ".csv" | ".txt":
            return _rows(name, _text(path), kind)
    if name != "-":
        return _numbers("messages", name, kind)
    return _rows("standard input", sys.stdin.read().removeprefix("\ufeff"), kind)


@dataclass(frozen=True)
class _Kind:
    """Numbers, or numbers."""

    one: str
    """What one is called."""
    several: str
    parse: Callable[[str], Any]
    """The number that a text is; `ValueError` if it is none."""
    numpy: str
    """Kinds of NumPy's types."""

    def is_negative(self, text: str) -> bool:
        """Whether a text that begins with - may be a number."""
        return text[1:2].isdigit() or (self is _NUMBER and text[1:2] in (".", "j"))


def _number(text: str) -> float | complex:
    try:
        return float(text)
    except ValueError:
        return complex(text)


_INTEGER = _Kind("an integer", "integers", int, "iub")
_NUMBER = _Kind("a number", "numbers", _number, "iubfc")


_SUFFIXES = (".npy", ".json", ".csv", ".txt")


def is_named_so(path: Path) -> bool:
    """Whether a file has integers, by its name."""
    return path.suffix.lower() in _SUFFIXES


def read_array(path: Path, integers: bool = True) -> Numbers:
    """The numbers of a file, as `read` takes them. `ValueError` for integers other than
    -(2^31 - 1) … 2^31 - 1, which no modulus holds, and for lists of different lengths."""
    import numpy as np

    from .._integers import refuse, whole_numbers
    from .._numbers import real_or_complex
    from ..errors import ShapeError

    try:
        if not integers:
            return real_or_complex(read([str(path)], False), str(path))
        array = whole_numbers(read([str(path)]), str(path))
        exact = array.astype(np.object_) if array.dtype == np.uint64 else array
        wrong = (exact <= -(2**31)) | (exact >= 2**31)
        refuse(array, wrong, str(path), "not in -(2^31 - 1) … 2^31 - 1", ValueError)
    except (TypeError, ShapeError) as error:
        raise ValueError(str(error)) from None
    return array.astype(np.int64)


def _numbers(where: str, text: str, kind: _Kind) -> list[Any]:
    values = []
    for part in text.replace(",", " ").split():
        try:
            values.append(kind.parse(part))
        except ValueError:
            raise ValueError(f"{where}: {part[:80]!r} is not {kind.one}") from None
    return values


def _rows(where: str, text: str, kind: _Kind) -> Any:
    """One row for each line; a flat list if there is one row, or one value in each row."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    rows = [_numbers(f"{where}, line {number}", line, kind) for number, line in lines]
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


def _json(path: Path, kind: _Kind) -> Any:
    try:
        values = json.loads(_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path}: this is not JSON: {error}") from None
    if not isinstance(values, list) and (kind is _NUMBER or not isinstance(values, int)):
        raise ValueError(f"{path}: a list of {kind.several} is needed, or a list of such lists")
    return _with_complex(str(path), values) if kind is _NUMBER else values


def _with_complex(where: str, values: Any) -> Any:
    """Lists in which text stands for complex numbers."""
    if isinstance(values, list):
        return [_with_complex(where, each) for each in values]
    return _numbers(where, values, _NUMBER)[0] if isinstance(values, str) and values else values


def _array(path: Path, kind: _Kind) -> Any:
    import numpy as np

    try:
        with path.open("rb") as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: this is not a NumPy array: {error}") from None
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
        import numpy as np

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
