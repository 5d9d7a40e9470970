"""Reads circuits from files and text."""

from __future__ import annotations

import re
from pathlib import Path

from .._core.paths import PathName, as_path
from .._core.saved import limit
from .._core.text import shown
from ..errors import FormatError, IoError, OversizedError
from ._blif import read_blif
from ._circuit import Circuit
from ._netlist import Netlist
from ._verilog import read_verilog

MOST_NODES = 1_000_000
MOST_BYTES = 1 << 28
_READERS = {".blif": read_blif, ".v": read_verilog, ".sv": read_verilog}
_BLIF = re.compile(r"^[ \t]*\.(?:model|inputs|outputs|names|end)(?=\s|$)", re.MULTILINE)
_VERILOG = re.compile(r"\bmodule\b")


def load(path: PathName, *, max_nodes: int = MOST_NODES, max_bytes: int | None = None) -> Circuit:
    """A circuit in a file of BLIF or of structural Verilog, which names ending in `.blif`, `.v` and
    `.sv` tell apart, and otherwise the text.

    What is read is text; nothing of it is executed. Read are combinational BLIF (`.names`, and
    yosys' cells as `.subckt`), and one module of Verilog with wires, assigned bits, yosys' cells
    `$_AND_`, `$_MUX_`, … and Verilog's gates. docs/circuits.md says how yosys writes such files.

    Args:
        max_nodes: how many nodes there may be: cells and assigned bits, and two-input gates and
            inputs that are made of them.
        max_bytes: how large the file may be; default: 256 MiB.

    `FormatError` names the file, the line and the remedy: for a loop, a latch or flip-flop, a cell
    that is not known, a wire without a driver or with two, no outputs, and text that is malformed.
    `TruncatedError` for text that is cut off, `OversizedError` above `max_nodes` or `max_bytes`,
    `IoError` for a file that cannot be read.
    """
    name = as_path(path)
    most = limit("max_bytes", max_bytes, MOST_BYTES)
    try:
        with Path(name).open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise IoError(f"{name}: {error.strerror or error}") from None
    if len(data) > most:
        raise OversizedError(f"{name}: more than {most:,} bytes; a larger max_bytes accepts them")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{name}, line {line}: byte {data[error.start]:#x} is no UTF-8; save the file as text"
        ) from None
    return loads(text, name, max_nodes=max_nodes)


def loads(text: str, name: str = "text", *, max_nodes: int = MOST_NODES) -> Circuit:
    """A circuit in a text; `name` stands for the file in errors. Else as `load`.

    >>> half = loads('''
    ... .inputs a b
    ... .outputs sum carry
    ... .names a b sum
    ... 10 1
    ... 01 1
    ... .names a b carry
    ... 11 1
    ... .end''', "half.blif")
    >>> half.gates, half.depth
    ({'and': 1, 'xor': 1}, 1)
    >>> {name: bits.astype(int) for name, bits in half({"a": [0, 1, 1], "b": [0, 0, 1]}).items()}
    {'sum': array([0, 1, 0]), 'carry': array([0, 0, 1])}
    """
    if not isinstance(text, str):
        raise TypeError(f"text: a str is needed, not {type(text).__name__}; load reads files")
    netlist = Netlist(str(name), limit("max_nodes", max_nodes))
    read = _READERS.get(Path(netlist.name).suffix.lower())
    if read is None:
        read = read_blif if _BLIF.search(text) else read_verilog
        if read is read_verilog and not _VERILOG.search(text):
            raise FormatError(
                f"{netlist.name}, line 1: neither BLIF nor Verilog: no line begins with a "
                f"directive such as .model, and there is no module; the text begins with "
                f"{shown(text[:40])}"
            )
    last = read(text, netlist)
    return Circuit(netlist.name, *netlist.graph(last))
