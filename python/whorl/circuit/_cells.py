"""Cells that files may have, by the names that yosys gives them: `help $_AOI3_` in yosys."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from .._core.text import shown
from ._graph import Graph
from ._netlist import Netlist


class Kind(NamedTuple):
    """A cell's inputs, each named by a letter, and what it adds to a graph."""

    ports: str
    make: Callable[..., int]


def buffer(graph: Graph, a: int) -> int:
    """The literal itself."""
    return a


KINDS = {
    "BUF": Kind("A", buffer),
    "NOT": Kind("A", lambda g, a: a ^ 1),
    "AND": Kind("AB", Graph.and_),
    "NAND": Kind("AB", lambda g, a, b: g.and_(a, b) ^ 1),
    "OR": Kind("AB", Graph.or_),
    "NOR": Kind("AB", lambda g, a, b: g.or_(a, b) ^ 1),
    "XOR": Kind("AB", Graph.xor),
    "XNOR": Kind("AB", lambda g, a, b: g.xor(a, b) ^ 1),
    "ANDNOT": Kind("AB", lambda g, a, b: g.and_(a, b ^ 1)),
    "ORNOT": Kind("AB", lambda g, a, b: g.or_(a, b ^ 1)),
    "MUX": Kind("ABS", lambda g, a, b, s: g.mux(s, b, a)),
    "NMUX": Kind("ABS", lambda g, a, b, s: g.mux(s, b, a) ^ 1),
    "AOI3": Kind("ABC", lambda g, a, b, c: g.or_(g.and_(a, b), c) ^ 1),
    "OAI3": Kind("ABC", lambda g, a, b, c: g.and_(g.or_(a, b), c) ^ 1),
    "AOI4": Kind("ABCD", lambda g, a, b, c, d: g.or_(g.and_(a, b), g.and_(c, d)) ^ 1),
    "OAI4": Kind("ABCD", lambda g, a, b, c, d: g.and_(g.or_(a, b), g.or_(c, d)) ^ 1),
    "MUX4": Kind("ABCDST", lambda g, a, b, c, d, s, t: g.mux(t, g.mux(s, d, c), g.mux(s, b, a))),
}

CELLS = {f"$_{name}_": kind for name, kind in KINDS.items()}

_STATE = re.compile(r"\$?_?\w*(FF|LATCH|_SR_|MEM)", re.IGNORECASE)


def refuse_cell(netlist: Netlist, line: int, kind: str) -> NoReturn:
    """Refuses a cell that is none of `CELLS`."""
    if _STATE.match(kind):
        netlist.fail(
            line, f"the cell {shown(kind)} keeps a state; circuits are computed without a clock"
        )
    netlist.fail(
        line,
        f"the cell {shown(kind)} is not known; `synth -flatten; abc -g simple` of yosys makes "
        f"cells that are: {', '.join(CELLS)}",
    )
