"""Reads BLIF, as abc and yosys write it (Berkeley Logic Interchange Format, 1992)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from .._core.text import counted, shown
from ..errors import TruncatedError
from ._cells import CELLS, buffer, refuse_cell
from ._graph import Graph
from ._netlist import Netlist, grouped

_IGNORED = (".attr", ".param", ".cname")
_STATE = (".latch", ".mlatch")


def read_blif(text: str, netlist: Netlist) -> int:
    """Adds what the text has, and returns the number of its last line."""
    return _Reader(netlist).read(text)


class _Reader:
    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self.nets: dict[str, int] = {}
        self.inputs: dict[str, int] = {}
        self.outputs: dict[str, int] = {}
        self.models = 0
        self.names: list[str] = []
        self.rows: list[tuple[str, str]] | None = None  # of a cover that is being read
        self.line = 0

    def read(self, text: str) -> int:
        number = 0
        for number, words in _lines(text):
            if words[0][0] != ".":
                self._row(number, words)
                continue
            self._end_cover()
            if words[0] == ".end":
                self._end(number)
                return number
            self._directive(number, words)
        self.netlist.fail(number + 1, "the text ends without .end: it is cut off", TruncatedError)

    def _end(self, line: int) -> None:
        self.netlist.inputs = grouped(self.netlist, self.inputs)
        self.netlist.outputs = grouped(self.netlist, self.outputs)

    def _directive(self, line: int, words: list[str]) -> None:
        kind, *names = words
        if kind in _IGNORED:
            return
        if kind == ".model":
            self.models += 1
            if self.models > 1:
                self.netlist.fail(
                    line, "a second .model; `flatten` of yosys makes one model of a hierarchy"
                )
        elif kind == ".inputs":
            for name in names:
                self.netlist.declare(self._net(name), line)
                self.inputs[name] = self._net(name)
        elif kind == ".outputs":
            for name in names:
                if name in self.outputs:
                    self.netlist.fail(line, f"the output {shown(name)} is declared twice")
                self.outputs[name] = self._net(name)
        elif kind == ".names":
            if not names:
                self.netlist.fail(line, ".names without a name; the last one is the output")
            self.line, self.names, self.rows = line, names, []
        elif kind == ".conn" and len(names) == 2:
            self.netlist.drive(self._net(names[1]), [self._net(names[0])], buffer, line)
        elif kind == ".subckt" and names:
            self._cell(line, names[0], names[1:])
        elif kind == ".gate" and names:
            refuse_cell(self.netlist, line, names[0])
        elif kind in _STATE:
            self.netlist.fail(line, f"{kind} keeps a state; circuits are computed without a clock")
        else:
            self.netlist.fail(
                line,
                f"{shown(kind)} with {counted(len(names), 'word')} is not read; .model, .inputs, "
                ".outputs, .names, .subckt, .conn and .end are",
            )

    def _net(self, name: str) -> int:
        net = self.nets.get(name)
        if net is None:
            net = self.nets[name] = self.netlist.net(name)
        return net

    def _row(self, line: int, words: list[str]) -> None:
        """A cube of a cover, and the value that it gives."""
        if self.rows is None:
            self.netlist.fail(line, f"{shown(' '.join(words))} stands outside a cover of .names")
        cube, value = ("", words[0]) if len(words) == 1 else (words[0], words[-1])
        width = len(self.names) - 1
        if len(words) > 2 or len(cube) != width or cube.strip("01-") or value not in ("0", "1"):
            self.netlist.fail(
                line,
                f"{shown(' '.join(words))} is no row of a cover; {counted(width, 'character')} 0, "
                "1 or - and, after a space, 0 or 1 are needed",
            )
        if self.rows and self.rows[0][1] != value:
            self.netlist.fail(
                line, "rows of a cover give 0 and 1; all of them must give the same value"
            )
        self.rows.append((cube, value))

    def _end_cover(self) -> None:
        if self.rows is None:
            return
        *inputs, output = map(self._net, self.names)
        inverted = bool(self.rows) and self.rows[0][1] == "0"
        make = partial(_cover, [cube for cube, _ in self.rows], inverted)
        self.netlist.drive(output, inputs, make, self.line)
        self.rows = None

    def _cell(self, line: int, kind: str, connections: list[str]) -> None:
        cell = CELLS.get(kind)
        if cell is None:
            refuse_cell(self.netlist, line, kind)
        pairs = [each.partition("=")[::2] for each in connections]
        nets = {port: net for port, net in pairs if net}
        if len(nets) < len(pairs) or set(nets) != {*cell.ports, "Y"}:
            self.netlist.fail(
                line,
                f"{kind} is connected by {shown(' '.join(connections))}; each of "
                f"{', '.join(cell.ports)} and Y is needed once, as A=wire",
            )
        inputs = [self._net(nets[port]) for port in cell.ports]
        self.netlist.drive(self._net(nets["Y"]), inputs, cell.make, line)


def _cover(cubes: Sequence[str], inverted: bool, graph: Graph, *inputs: int) -> int:
    return graph.cover(cubes, inputs) ^ inverted


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """The words of each line that has some, and its number. A `\\` at the end joins the next."""
    words: list[str] = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.partition("#")[0].rstrip()
        start = start or number
        words += line.removesuffix("\\").split()
        if line.endswith("\\"):
            continue
        if words:
            yield start, words
        words, start = [], 0
    if words:
        yield start, words
