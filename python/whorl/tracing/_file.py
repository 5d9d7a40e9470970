"""Files of circuits: numbers and words, all checked, as networks have them (`whorl.nn._file`).

A file is the eight bytes `WHORLTR1`, the header's length in eight bytes (little-endian), the
header, and the numbers: doubles that are whole, little-endian, one array after another. BLAKE2b of
all that, 32 bytes, comes last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..binfhe._parameters import Parameters
from ..errors import EncodingError, FormatError, NoiseError, RangeError
from ..nn import _file
from ..nn._file import Fields
from ._account import Account, account_of
from ._compile import MOST_FAILURE, SIZES
from ._graph import MOST_INTEGER
from ._lower import Row
from ._program import MOST_CIPHERTEXTS, Input, Integers, Output, Program, Sums, ciphertexts_of
from ._wires import base_of

MOST_ENDS, MOST_ROWS, MOST_TABLES = 1 << 20, 100_000, 1 << 22
MOST_TERMS = 1 << 12
"""Terms of a sum that is looked up or decrypted; more have too much noise (`MOST_NOISE`)."""
MOST_SUM = 1 << 53
"""Sums of checks lie below it, so that 64 bits hold them and files, which have doubles."""


class _Writer(_file.Writer):
    magic = b"WHORLTR"


class _Reader(_file.Reader):
    magic, noun = b"WHORLTR", "circuit"


def written(parameters: Parameters, program: Program, rows: Sequence[Row]) -> bytes:
    """The file of a circuit."""
    writer = _Writer()

    def array(values: Integers) -> Any:
        return writer.array(values.astype(np.float64))

    def sums(of: Sums) -> dict[str, Any]:
        return {
            "starts": array(of.starts),
            "wires": array(of.wires),
            "weights": array(of.weights),
            "constants": array(of.constants),
        }

    header = {
        "kind": "circuit",
        "parameters": parameters.to_bytes().hex(),
        "p": program.p,
        "ciphertexts": program.fresh,
        "inputs": [{"shape": list(x.shape), "low": x.low, "high": x.high} for x in program.inputs],
        "outputs": [{"shape": list(x.shape), "bool": int(x.is_bool)} for x in program.outputs],
        "looks": sums(program.looks),
        "numbers": array(program.numbers),
        "tables": array(program.tables),
        "ends": sums(program.ends),
        "factors": array(program.factors),
        "digits": array(program.digits),
        "checks": sums(program.checks),
        "limits": array(program.limits),
        "shares": int(program.shares),
        "rows": [
            {
                "name": row.name[:1000],
                "shape": list(row.shape),
                "low": row.low,
                "high": row.high,
                "measured": int(row.measured),
                "tables": row.tables,
                "level": row.level,
            }
            for row in rows
        ],
    }
    return writer.bytes(header)


def read(data: bytes, most: int, allow_insecure: bool) -> tuple[Account, Program, list[Row]]:
    """The circuit of a file, with its account; `FormatError` and its kinds for what is none."""
    reader = _Reader(data, most)
    header = reader.header
    if header.text("kind") != "circuit":
        raise FormatError(f"a circuit's file has kind {header.text('kind')!r}")
    parameters = _parameters(header, allow_insecure)
    p = header.whole("p", 4, min(SIZES[0], parameters.N // 4))
    if p & (p - 1):
        raise RangeError(f"circuit.p: {p} is not a power of two")
    program = _program(reader, header, p)
    try:
        account = account_of(program, parameters)
    except (NoiseError, EncodingError) as error:
        raise FormatError(f"a circuit's parts do not go together: {error}") from None
    if account.failure_log2 > MOST_FAILURE:
        raise FormatError(
            f"a circuit that fails with 2^{account.failure_log2:.1f} is above 2^{MOST_FAILURE:g}"
        )
    rows = [_row(each) for each in _listed(header, "rows", MOST_ROWS)]
    _check_rows(rows, program)
    return account, program, rows


def _parameters(header: Fields, allow_insecure: bool) -> Parameters:
    given = header.get("parameters")
    try:
        frame = bytes.fromhex(given)
    except (TypeError, ValueError):
        raise FormatError("circuit.parameters: these are no hexadecimal digits") from None
    return Parameters.from_bytes(frame, allow_insecure=allow_insecure)


def _listed(header: Fields, name: str, most: int) -> list[Fields]:
    given = header.get(name)
    if isinstance(given, list) and len(given) > most:
        raise RangeError(f"circuit.{name}: {len(given):,} are above {most:,}")
    return header.items(name, Fields)


def _program(reader: _Reader, header: Fields, p: int) -> Program:
    def array(name: str, shape: tuple[int, ...], least: int, most: int) -> Integers:
        return _whole_array(reader, header, name, shape, least, most)

    inputs = tuple(_input(each) for each in _listed(header, "inputs", 1000))
    outputs = tuple(
        Output(_shape(each), bool(each.whole("bool", 0, 1)))
        for each in _listed(header, "outputs", 1000)
    )
    elements = sum(math.prod(each.shape) for each in outputs)
    entries = sum(math.prod(each.shape) for each in inputs)
    if not (1 <= elements <= MOST_ENDS and 1 <= entries <= MOST_CIPHERTEXTS):
        raise RangeError(
            f"a circuit has {entries:,} inputs and {elements:,} outputs; 1 … {MOST_ENDS:,} are read"
        )
    base = base_of(p)
    fresh = ciphertexts_of(inputs, base)
    if not 1 <= fresh <= MOST_CIPHERTEXTS:
        raise RangeError(
            f"circuit.inputs: these take {fresh:,} ciphertexts; 1 … {MOST_CIPHERTEXTS:,} are read: "
            "trace with fewer inputs, or with narrower bounds"
        )
    header.whole("ciphertexts", fresh, fresh)
    looks = _sums(reader, header, "looks", fresh, p)
    wires = fresh + len(looks)
    ends = _sums(reader, header, "ends", wires, p)
    checks = _sums(reader, header, "checks", wires, None)
    if not len(ends):
        raise RangeError("circuit.ends: a circuit has a result that is decrypted, and this has 0")
    kinds = _length(header, "tables", 2)
    program = Program(
        p,
        base,
        inputs,
        looks,
        array("numbers", (len(looks),), 0, kinds - 1),
        array("tables", (kinds, p), 0, p - 1),
        ends,
        outputs,
        array("factors", (len(ends),), 1, MOST_INTEGER),
        array("digits", (elements, 2), -MOST_INTEGER, MOST_INTEGER),
        checks,
        array("limits", (len(checks), 2), -MOST_INTEGER, MOST_INTEGER),
        bool(header.whole("shares", 0, 1)),
    )
    used = len(np.unique(program.numbers))
    if used != kinds:
        raise RangeError(f"circuit.tables: {kinds} tables are there, and {used} are looked up")
    counts = program.digits[:, 0]
    if (counts < 0).any() or (counts > 64).any() or counts.sum() != len(ends):
        raise RangeError(
            f"circuit.digits: {elements} results have {int(counts.sum())} digits, of 0 … 64 each; "
            f"{len(ends)} are decrypted"
        )
    crossed = np.flatnonzero(program.limits[:, 0] > program.limits[:, 1])
    if len(crossed):
        low, high = program.limits[crossed[0]].tolist()
        raise RangeError(f"circuit.limits: check {crossed[0]} has bounds {low} … {high}")
    _ = program.levels  # checks the order of tables
    return program


def _shape(fields: Fields) -> tuple[int, ...]:
    return () if fields.get("shape") == [] else fields.shape("shape")


def _input(fields: Fields) -> Input:
    low = fields.whole("low", -MOST_INTEGER, MOST_INTEGER)
    return Input(_shape(fields), low, fields.whole("high", low, MOST_INTEGER))


def _row(fields: Fields) -> Row:
    low = fields.whole("low", -MOST_INTEGER, MOST_INTEGER)
    name = fields.text("name")
    if not name.isprintable():
        raise RangeError(f"{fields.name}.name: {name!r:.40} has letters that cannot be printed")
    return Row(
        name,
        _shape(fields),
        low,
        fields.whole("high", low, MOST_INTEGER),
        bool(fields.whole("measured", 0, 1)),
        fields.whole("tables", 0, MOST_TABLES),
        fields.whole("level", 0, MOST_TABLES),
    )


def _check_rows(rows: Sequence[Row], program: Program) -> None:
    """`RangeError` for rows that are not those of the program."""
    inputs, outputs = program.inputs, program.outputs
    if len(rows) < len(inputs) + len(outputs):
        raise RangeError(
            f"circuit.rows: {len(rows)} are there; {len(inputs)} inputs and {len(outputs)} "
            "results have one each"
        )
    for number, (row, x) in enumerate(zip(rows, inputs, strict=False)):
        if (row.shape, row.low, row.high, row.tables) != (x.shape, x.low, x.high, 0):
            raise RangeError(
                f"circuit.rows[{number}]: shape {row.shape}, {row.low} … {row.high} and "
                f"{row.tables} tables are not input {number}'s: {x.shape}, {x.low} … {x.high}, 0"
            )
    for number, out in enumerate(outputs, len(rows) - len(outputs)):
        if rows[number].shape != out.shape:
            raise RangeError(
                f"circuit.rows[{number}]: shape {rows[number].shape} is not that of the result, "
                f"{out.shape}"
            )
    tables, deepest = sum(row.tables for row in rows), max(row.level for row in rows)
    if tables != len(program.looks) or deepest > len(program.levels):
        raise RangeError(
            f"circuit.rows: {tables} tables to level {deepest} are not those of the circuit, "
            f"{len(program.looks)} to level {len(program.levels)}"
        )


def _length(fields: Fields, name: str, axes: int) -> int:
    """How many rows an array has; arrays may be empty."""
    shape = Fields(fields.get(name), f"{fields.name}.{name}").items(
        "shape", lambda value, field: _file.whole(value, field, 0, MOST_TABLES * 64)
    )
    if len(shape) != axes:
        raise RangeError(f"{fields.name}.{name}: {len(shape)} axes are not {axes}")
    return shape[0]


def _whole_array(
    reader: _Reader, fields: Fields, name: str, shape: tuple[int, ...], least: int, most: int
) -> Integers:
    """An array of integers of a shape and range that the header names."""
    field = f"{fields.name}.{name}"
    place = Fields(fields.get(name), field)
    if _length(fields, name, len(shape)) != shape[0] or place.get("shape") != list(shape):
        raise RangeError(f"{field}: shape {place.get('shape')!r:.60} is not {list(shape)}")
    values = reader.numbers(place.values, field)
    if values.size != math.prod(shape):
        raise RangeError(f"{field}: shape {shape} does not have {values.size} numbers")
    if ((values < least) | (values > most) | (values != np.floor(values))).any():
        raise RangeError(f"{field}: an entry is no integer from {least} to {most}")
    return values.astype(np.int64).reshape(shape)


def _sums(reader: _Reader, header: Fields, name: str, wires: int, p: int | None) -> Sums:
    """Sums of different wires with weights that are not 0. With p they are messages below it."""
    fields = Fields(header.get(name), f"circuit.{name}")
    count, terms = _length(fields, "constants", 1), _length(fields, "wires", 1)
    if count > MOST_TABLES:
        raise RangeError(f"{fields.name}: {count:,} sums are above {MOST_TABLES:,}")

    def array(of: str, size: int, least: int, largest: int) -> Integers:
        return _whole_array(reader, fields, of, (size,), least, largest)

    most = MOST_INTEGER if p is None else p - 1
    # A look-up may take the results of those before it, which `Program.levels` checks.
    last = wires + (count if name == "looks" else 0) - 1
    sums = Sums(
        array("starts", count + 1, 0, terms),
        array("wires", terms, 0, last),
        array("weights", terms, -most, most),
        array("constants", count, -MOST_SUM, MOST_SUM),
    )
    lengths = np.diff(sums.starts)
    if sums.starts[0] != 0 or sums.starts[-1] != terms or (lengths < 1).any():
        raise RangeError(f"{fields.name}: sums do not begin and end where their terms are")
    later = np.diff(sums.wires)
    later[sums.starts[1:-1] - 1] = 1
    if (later < 1).any() or (sums.weights == 0).any():
        raise RangeError(f"{fields.name}: a sum has a weight of 0, or wires that do not ascend")
    longest = int(lengths.max(initial=0))
    if p is not None and longest > MOST_TERMS:
        raise RangeError(f"{fields.name}: a sum of {longest:,} terms is above {MOST_TERMS:,}")
    if count:
        # Doubles hold what 64 bits may not.
        weights = np.add.reduceat(np.abs(sums.weights).astype(np.float64), sums.starts[:-1])
        constants = np.abs(sums.constants.astype(np.float64))
        messages = header.whole("p", 4, SIZES[0])
        sizes = weights * (2 * messages - 1) + constants if p is None else constants
        limits = np.full(count, MOST_SUM) if p is None else (p - 1) * (1 + weights)
        for row in np.flatnonzero(sizes > limits)[:1]:
            raise RangeError(
                f"{fields.name}: sum {row} has weights of {weights[row]:.0f} together and the "
                f"constant {sums.constants[row]}: {sizes[row]:.0f} is above {limits[row]:.0f}"
            )
    return sums
