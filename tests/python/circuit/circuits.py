"""Random circuits, as BLIF, as Verilog and in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Bits = np.ndarray[Any, np.dtype[np.bool_]]
Function = Callable[..., Any]

# What yosys' manual says of the cells, and a cover in BLIF.
CELLS: dict[str, tuple[str, Function, list[str]]] = {
    "BUF": ("A", lambda a: a, ["1 1"]),
    "NOT": ("A", lambda a: ~a, ["0 1"]),
    "AND": ("AB", lambda a, b: a & b, ["11 1"]),
    "NAND": ("AB", lambda a, b: ~(a & b), ["11 0"]),
    "OR": ("AB", lambda a, b: a | b, ["1- 1", "-1 1"]),
    "NOR": ("AB", lambda a, b: ~(a | b), ["1- 0", "-1 0"]),
    "XOR": ("AB", lambda a, b: a ^ b, ["10 1", "01 1"]),
    "XNOR": ("AB", lambda a, b: ~(a ^ b), ["10 0", "01 0"]),
    "ANDNOT": ("AB", lambda a, b: a & ~b, ["10 1"]),
    "ORNOT": ("AB", lambda a, b: a | ~b, ["01 0"]),
    "MUX": ("ABS", lambda a, b, s: (a & ~s) | (b & s), ["1-0 1", "-11 1"]),
    "NMUX": ("ABS", lambda a, b, s: ~((a & ~s) | (b & s)), ["1-0 0", "-11 0"]),
    "AOI3": ("ABC", lambda a, b, c: ~((a & b) | c), ["11- 0", "--1 0"]),
    "OAI3": ("ABC", lambda a, b, c: ~((a | b) & c), ["1-1 0", "-11 0"]),
    "AOI4": ("ABCD", lambda a, b, c, d: ~((a & b) | (c & d)), ["11-- 0", "--11 0"]),
    "OAI4": ("ABCD", lambda a, b, c, d: ~((a | b) & (c | d)), ["00-- 1", "--00 1"]),
    "MUX4": (
        "ABCDST",
        lambda a, b, c, d, s, t: np.where(t, np.where(s, d, c), np.where(s, b, a)),
        ["1---00 1", "-1--10 1", "--1-01 1", "---111 1"],
    ),
}
PRIMITIVES: dict[str, Function] = {
    "and": lambda *x: np.logical_and.reduce(x),
    "or": lambda *x: np.logical_or.reduce(x),
    "xor": lambda *x: np.logical_xor.reduce(x),
    "nand": lambda *x: ~np.logical_and.reduce(x),
    "nor": lambda *x: ~np.logical_or.reduce(x),
    "xnor": lambda *x: ~np.logical_xor.reduce(x),
    "not": lambda x: ~x,
    "buf": lambda x: x,
}


class RandomCircuit:
    """Cells in a random order. Inputs are x (5 bits) and s, outputs y (6 bits) and t."""

    def __init__(self, generator: np.random.Generator, cells: int) -> None:
        nets = [*(f"x[{i}]" for i in range(5)), "s", "0", "1"]
        self.cells: list[tuple[str, list[str], str]] = []
        for number in range(cells):
            kind = str(generator.choice([*CELLS, *PRIMITIVES]))
            if kind in CELLS:
                arity = len(CELLS[kind][0])
            else:
                arity = 1 if kind in ("not", "buf") else int(generator.integers(2, 5))
            recent = nets[-40:] if generator.integers(4) else nets
            self.cells.append(
                (kind, [str(n) for n in generator.choice(recent, arity)], f"w{number}")
            )
            nets.append(f"w{number}")
        self.ends = [str(net) for net in generator.choice(nets[-20:], 7)]
        self.order = generator.permutation(cells)

    def __call__(self, x: Bits, s: Bits) -> dict[str, Bits]:
        """In NumPy."""
        nets = {f"x[{i}]": x[..., i] for i in range(5)}
        nets |= {"s": s, "0": np.zeros_like(s), "1": np.ones_like(s)}
        for kind, inputs, output in self.cells:
            function = CELLS[kind][1] if kind in CELLS else PRIMITIVES[kind]
            nets[output] = function(*(nets[each] for each in inputs))
        ends = [nets[end] for end in self.ends]
        return {"y": np.stack(ends[:6], axis=-1), "t": ends[6]}

    def blif(self) -> str:
        """With covers; primitives of Verilog are rows of all values, wrapped over lines."""
        lines = ["# random", ".model random", ".inputs x[0] x[1] x[2] \\", " x[3] x[4] s"]
        lines += [".outputs t " + " ".join(f"y[{i}]" for i in range(6))]
        lines += [".names const0", ".names const1", "1"]
        named = {"0": "const0", "1": "const1"}
        for number in self.order:
            kind, inputs, output = self.cells[number]
            lines.append(" ".join([".names", *(named.get(n, n) for n in inputs), output]))
            if kind in CELLS:
                lines += CELLS[kind][2]
                continue
            for i in range(1 << len(inputs)):
                row = [bool(i >> k & 1) for k in range(len(inputs))]
                if PRIMITIVES[kind](*map(np.bool_, row)):
                    lines.append("".join("01"[bit] for bit in row) + " 1")
        for end, output in zip(self.ends, [*(f"y[{i}]" for i in range(6)), "t"], strict=True):
            lines += [f".names {named.get(end, end)} {output}", "1 1"]
        return "\n".join([*lines, ".end", ""])

    def verilog(self) -> str:
        """With cells and primitives."""
        lines = ["/* random */", "module \\random$1 (x, s, y, t);", "  input [4:0] x;"]
        lines += ["  wire [4:0] x;", "  input s; wire s;", "  output [5:0] y;", "  output t;"]
        lines += [f"  wire w{number};" for number in range(len(self.cells))]
        named = {"0": "1'h0", "1": "1'b1"}
        for number in self.order:
            kind, inputs, output = self.cells[number]
            nets = [named.get(net, net) for net in inputs]
            if kind in PRIMITIVES:
                lines.append(f"  {kind} g{number} ({', '.join([output, *nets])}); // gate")
                continue
            pins = zip([*CELLS[kind][0], "Y"], [*nets, output], strict=True)
            ports = ",\n    ".join(f".{port}({net})" for port, net in pins)
            lines.append(f"  \\$_{kind}_  _{number}_ (\n    {ports}\n  );")
        ends = [named.get(end, end) for end in self.ends]
        lines.append(f"  assign {{ t, y[5:3] }} = {{ {ends[6]}, {', '.join(ends[5:2:-1])} }};")
        lines.append(f"  assign y[2:0] = {{ {', '.join(ends[2::-1])} }};")
        return "\n".join([*lines, "endmodule", ""])
