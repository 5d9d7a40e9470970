"""Reads structural Verilog, as yosys writes it: cells, wires and assigned bits, no behaviour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import NoReturn

from .._core.text import counted, shown
from ..errors import FormatError, OversizedError, TruncatedError
from ._cells import CELLS, buffer, refuse_cell
from ._graph import Graph
from ._netlist import FALSE, TRUE, Netlist, Port

_TOKEN = re.compile(
    r"(?P<blank>\s+|//[^\n]*|/\*.*?\*/|\(\*.*?\*\)|`(?:timescale|default_nettype)\b[^\n]*)"
    r"|\\(?P<escaped>\S+)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<number>\d[\d_]*\s*'[sS]?[bodhBODH]\s*[\w?]+|\d[\d_]*)"
    r"|(?P<mark>.)",
    re.DOTALL,
)
_JOINS = {"and": Graph.and_, "or": Graph.or_, "xor": Graph.xor}
_GATES = {**{n: (n, 0) for n in _JOINS}, "nand": ("and", 1), "nor": ("or", 1), "xnor": ("xor", 1)}
_BEHAVIOUR = ("always", "always_comb", "always_ff", "always_latch", "initial", "reg", "logic")
_BASES = {"b": 1, "o": 3, "h": 4}
_REMEDY = "`synth -flatten; abc -g simple; write_verilog -noattr -noexpr` of yosys makes such text"


def read_verilog(text: str, netlist: Netlist) -> int:
    """Adds what the text has, and returns the number of its last line."""
    return _Reader(text, netlist).read()


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of each token; the last one is of the kind `end`."""
    line = 1
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "blank":
            yield kind, match[kind], line
        line += match[0].count("\n")
    yield "end", "the end of the text", line


class _Reader:
    def __init__(self, text: str, netlist: Netlist) -> None:
        self.netlist = netlist
        self.tokens = _tokens(text)
        self.ranges: dict[str, tuple[int, int] | None] = {}
        self.nets: dict[tuple[str, int], int] = {}
        self.ports: dict[str, str] = {}  # the direction by the name, "" where none was read yet
        self.copied = 0
        self.kind, self.text, self.line = next(self.tokens)

    # ---- tokens

    def advance(self) -> str:
        """Goes to the next token; the text of this one."""
        text = self.text
        self.kind, self.text, self.line = next(self.tokens)
        return text

    def fail(self, what: str, error: type[FormatError] = FormatError) -> NoReturn:
        if self.kind == "end":
            what, error = "the text ends before endmodule: it is cut off", TruncatedError
        self.netlist.fail(self.line, what, error)

    def accept(self, mark: str) -> bool:
        """Whether the token is this mark or word, which is then passed."""
        found = self.text == mark and self.kind in ("mark", "name")
        if found:
            self.advance()
        return found

    def expect(self, *marks: str) -> str:
        if self.kind not in ("mark", "name") or self.text not in marks:
            self.fail(f"{shown(self.text)} stands where {' or '.join(marks)} is due; {_REMEDY}")
        return self.advance()

    def name(self) -> str:
        if self.kind not in ("name", "escaped"):
            self.fail(f"{shown(self.text)} stands where a name is due; {_REMEDY}")
        return self.advance()

    def integer(self) -> int:
        digits = self.text.replace("_", "")
        if self.kind != "number" or "'" in digits or len(digits) > 9:
            self.fail(f"{shown(self.text)} stands where an integer below 10^9 is due")
        self.advance()
        return int(digits)

    # ---- the module

    def read(self) -> int:
        self.expect("module")
        self.name()
        if self.accept("("):
            self.header()
        self.expect(";")
        while self.text != "endmodule" or self.kind != "name":
            self.statement()
        last = self.line
        for name, direction in self.ports.items():
            if not direction:
                self.fail(f"the port {shown(name)} is declared neither as input nor as output")
            ports = self.netlist.inputs if direction == "input" else self.netlist.outputs
            ports.append(Port(name, self.whole(name)))
        self.kind, self.text, self.line = next(self.tokens)
        if self.kind != "end":
            self.fail(
                f"{shown(self.text)} follows endmodule; one module is read, and `flatten` of yosys "
                "makes one of a hierarchy"
            )
        return last

    def header(self) -> None:
        """Ports: names, or declarations."""
        direction, width = "", None
        while not self.accept(")"):
            if self.kind == "name" and self.text in ("input", "output", "inout"):
                direction = self.advance()
                self.accept("wire")
                width = self.range()
            name = self.name()
            if name in self.ports:
                self.fail(f"the port {shown(name)} is declared twice")
            self.ports[name] = ""
            if direction:
                self.declare(name, direction, width)
            if self.text != ")":
                self.expect(",")

    def statement(self) -> None:
        if self.kind == "name" and self.text in ("input", "output", "inout", "wire"):
            direction = self.advance()
            if direction != "wire":
                self.accept("wire")
            width = self.range()
            while True:
                self.declare(self.name(), direction, width)
                if self.expect(",", ";") == ";":
                    return
        if self.accept("assign"):
            while True:
                self.assignment()
                if self.expect(",", ";") == ";":
                    return
        if self.kind == "name" and self.text in _BEHAVIOUR:
            self.fail(f"{self.text} describes behaviour, which may keep a state; {_REMEDY}")
        self.cell()

    def range(self) -> tuple[int, int] | None:
        """The `[7:0]` of a declaration."""
        self.accept("signed")
        if not self.accept("["):
            return None
        left = self.integer()
        self.expect(":")
        right = self.integer()
        self.expect("]")
        if abs(left - right) >= self.netlist.most:
            self.too_many(abs(left - right) + 1)
        return left, right

    def declare(self, name: str, direction: str, width: tuple[int, int] | None) -> None:
        if self.ranges.setdefault(name, width) != width:
            self.fail(f"{shown(name)} is declared twice, with different ranges")
        if direction == "wire":
            return
        if self.ports.get(name) != "" or direction == "inout":
            self.fail(
                f"{direction} {shown(name)}: each port is declared once in the list of ports, and "
                "once as input or as output"
            )
        self.ports[name] = direction
        if direction == "input":
            for net in self.whole(name):
                self.netlist.declare(net, self.line)

    def assignment(self) -> None:
        line = self.line
        targets = self.expression()
        self.expect("=")
        sources = self.expression()
        if len(targets) != len(sources):
            self.fail(
                f"a wire of {len(targets)} and one of {len(sources)} bits do not fit together"
            )
        for target, source in zip(targets, sources, strict=True):
            self.netlist.drive(target, [source], buffer, line)

    # ---- cells

    def cell(self) -> None:
        line, plain = self.line, self.kind == "name"
        kind = self.name()
        if kind in CELLS:
            self.name()
            self.named_cell(kind, line)
        elif plain and kind in (*_GATES, "not", "buf"):
            if self.text != "(":
                self.name()
            self.primitive(kind, line)
        else:
            refuse_cell(self.netlist, line, kind)
        self.expect(";")

    def named_cell(self, kind: str, line: int) -> None:
        ports = {}
        self.expect("(")
        while not self.accept(")"):
            self.expect(".")
            port = self.name()
            self.expect("(")
            ports[port] = None if self.text == ")" else self.bit()
            self.expect(")")
            if self.text != ")":
                self.expect(",")
        inputs = [ports.pop(port, None) for port in CELLS[kind].ports]
        output = ports.pop("Y", None)
        connected = [net for net in inputs if net is not None]
        if ports or len(connected) < len(inputs):
            needed = ", ".join(CELLS[kind].ports)
            self.netlist.fail(
                line, f"{kind} has the inputs {needed} and the output Y; each is connected by name"
            )
        if output is not None:
            self.netlist.drive(output, connected, CELLS[kind].make, line)

    def primitive(self, kind: str, line: int) -> None:
        nets: list[int] = []
        self.expect("(")
        while not nets or self.expect(",", ")") == ",":
            nets.append(self.bit())
        if len(nets) < 2:
            self.netlist.fail(line, f"{kind} has {counted(len(nets), 'terminal')}; 2 are needed")
        if kind in ("not", "buf"):
            for output in nets[:-1]:
                make = partial(_gate, "or", kind == "not")
                self.netlist.drive(output, nets[-1:], make, line)
        else:
            self.netlist.drive(nets[0], nets[1:], partial(_gate, *_GATES[kind]), line)

    # ---- bits

    def bit(self) -> int:
        nets = self.expression()
        if len(nets) != 1:
            self.fail(f"{counted(len(nets), 'bit')} at a terminal of a cell, which takes one")
        return nets[0]

    def expression(self) -> list[int]:
        """Nets, the lowest first, of a wire, a part of it, a constant, or a concatenation."""
        opened: list[tuple[int, list[int]]] = []  # how often, and what; the highest first
        while True:
            if self.accept("{"):
                opened.append((1, []))
                continue
            if opened and self.kind == "number" and "'" not in self.text:
                opened.append((self.integer(), []))
                self.expect("{")
                continue
            nets = self.item()
            while opened:
                times, inner = opened[-1]
                inner += nets
                if self.expect(",", "}") == ",":
                    break
                opened.pop()
                self.count(len(inner) * times)
                nets = inner * times
            if not opened:
                return nets[::-1]

    def item(self) -> list[int]:
        """Nets, the highest first, of what is no concatenation."""
        if self.kind == "number":
            return self.constant()
        if self.kind not in ("name", "escaped") or self.text not in self.ranges:
            self.fail(
                f"{shown(self.text)} stands where a declared wire, a constant 1'h0 or {{ is due; "
                f"{_REMEDY}"
            )
        name = self.advance()
        whole = self.ranges[name]
        if not self.accept("["):
            return self.whole(name)[::-1]
        left = right = self.integer()
        if self.accept(":"):
            right = self.integer()
        self.expect("]")
        if whole is None:
            self.fail(f"{shown(name)} has no range, and one bit without a number")
        low, high = min(whole), max(whole)
        if not (low <= left <= high and low <= right <= high):
            self.fail(f"{shown(name)}[{left}:{right}] is outside {whole[0]}:{whole[1]}")
        if (left - right) * (whole[0] - whole[1]) < 0:
            self.fail(f"{shown(name)}[{left}:{right}] runs against {whole[0]}:{whole[1]}")
        return self.numbered(name, left, right)

    def whole(self, name: str) -> list[int]:
        """All nets of a wire, the lowest first."""
        whole = self.ranges[name]
        return self.numbered(name, *(whole or (-1, -1)))[::-1]

    def numbered(self, name: str, left: int, right: int) -> list[int]:
        step = 1 if left <= right else -1
        self.count(abs(left - right) + 1)
        return [self.net(name, number) for number in range(left, right + step, step)]

    def net(self, name: str, number: int) -> int:
        net = self.nets.get((name, number))
        if net is None:
            net = self.netlist.net(name if number < 0 else f"{name}[{number}]")
            self.nets[name, number] = net
        return net

    def constant(self) -> list[int]:
        """Bits of a constant such as 8'h3f, the highest first; x is 0."""
        text = self.text.replace("_", "").lower()
        size, _, value = text.partition("'")
        size, value = size.strip(), value.removeprefix("s")
        base, digits = value[:1], value[1:].strip()
        if not value or len(size) > 9 or int(size) == 0:
            self.fail(f"{shown(self.text)} is no constant of a stated width, such as 1'h0")
        width = int(size)
        self.count(width)
        if base == "d" and digits.isdigit() and len(digits) < 20:
            bits = f"{int(digits):b}"
        else:
            each = _BASES.get(base, 0)
            bits = "".join(_digit(digit, each) for digit in digits)
        if not bits or "?" in bits:
            self.fail(f"{shown(self.text)} has digits that are none, or z, which no wire here has")
        self.advance()
        bits = bits[-width:].rjust(width, "0")
        return [TRUE if bit == "1" else FALSE for bit in bits]

    def count(self, bits: int) -> None:
        """Bounds what short text can ask for, such as a concatenation of concatenations."""
        self.copied += bits
        if bits > self.netlist.most or self.copied > 16 * self.netlist.most + 1000:
            self.too_many(bits)

    def too_many(self, bits: int) -> NoReturn:
        self.fail(
            f"{bits:,} bits here, {self.copied:,} up to here, are more than {self.netlist.most:,} "
            "nodes have; a larger max_nodes accepts them",
            OversizedError,
        )


def _digit(digit: str, bits: int) -> str:
    """The bits of a digit; `?` if it is none."""
    if digit == "x" and bits:
        return "0" * bits
    value = "0123456789abcdef".find(digit)
    return f"{value:0{bits}b}" if 0 <= value < 1 << bits and bits else "?"


def _gate(join: str, inverted: int, graph: Graph, *inputs: int) -> int:
    return graph.chain(partial(_JOINS[join], graph), inputs) ^ int(inverted)
