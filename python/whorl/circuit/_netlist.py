"""What a file says: nets, and the cells that drive them. Checked, and made a graph of."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from .._core.text import shown
from ..errors import FormatError, OversizedError
from ._graph import Graph

FALSE, TRUE = 0, 1
"""The nets of the constants."""


class Port(NamedTuple):
    """An input or output: its name, and for each bit, the lowest first, a net or literal."""

    name: str
    bits: list[int]

    @property
    def width(self) -> int:
        """How many bits it has."""
        return len(self.bits)


class Cell(NamedTuple):
    """What drives a net."""

    output: int
    inputs: Sequence[int]
    make: Callable[..., int]
    line: int


class Netlist:
    """Nets, cells, inputs and outputs of one module."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.most = name, most
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self._names = ["constant 0", "constant 1"]
        self._cells: list[Cell] = []
        self._drivers: dict[int, int] = {}  # the line of what drives a net

    def fail(self, line: int, what: str, error: type[FormatError] = FormatError) -> NoReturn:
        """Refuses the file."""
        raise error(f"{self.name}, line {line}: {what}")

    def net(self, name: str) -> int:
        """A new net."""
        self._names.append(name)
        return len(self._names) - 1

    def name_of(self, net: int) -> str:
        """A net's name for messages."""
        return shown(self._names[net])

    def declare(self, net: int, line: int) -> None:
        """An input drives this net."""
        if net <= TRUE or net in self._drivers:
            before = self._drivers.get(net)
            self.fail(
                line,
                f"{self.name_of(net)} is driven twice"
                + (f", first in line {before}" if before else ", since it is a constant")
                + "; a wire has one driver",
            )
        self._drivers[net] = line

    def drive(
        self, output: int, inputs: Sequence[int], make: Callable[..., int], line: int
    ) -> None:
        """A cell drives this net; `make` gets the graph and the literals of its inputs."""
        self.declare(output, line)
        if len(self._cells) >= self.most:
            self.fail(
                line,
                f"there are more than {self.most:,} cells and assigned bits; a larger max_nodes "
                "accepts them",
                OversizedError,
            )
        self._cells.append(Cell(output, inputs, make, line))

    def graph(self, line: int) -> tuple[Graph, list[Port], list[Port]]:
        """The graph, and inputs and outputs with its literals. `line` is the last one."""
        if not any(port.bits for port in self.outputs):
            self.fail(line, "no output is declared, so that there is nothing to compute")
        graph = Graph(self.name, self.most)
        literals = {FALSE: 0, TRUE: 1}
        for port in self.inputs:
            literals |= {net: graph.input() for net in port.bits}
        for cell in self._in_order(literals):
            graph.line = cell.line
            literals[cell.output] = cell.make(graph, *(literals[net] for net in cell.inputs))
        for port in self.outputs:
            for net in port.bits:
                if net not in literals:
                    self.fail(line, f"the output {self.name_of(net)} is driven by nothing")
        inputs, outputs = (
            [Port(port.name, [literals[net] for net in port.bits]) for port in ports]
            for ports in (self.inputs, self.outputs)
        )
        return graph, inputs, outputs

    def _in_order(self, known: dict[int, int]) -> list[Cell]:
        """Cells behind those that drive their inputs."""
        readers: dict[int, list[int]] = {}
        waiting = [0] * len(self._cells)
        for number, cell in enumerate(self._cells):
            for net in cell.inputs:
                if net not in self._drivers and net > TRUE:
                    self.fail(
                        cell.line,
                        f"{self.name_of(net)} is read, and driven by nothing: it is neither an "
                        "input nor the output of a cell",
                    )
                if net not in known:
                    readers.setdefault(net, []).append(number)
                    waiting[number] += 1
        ready = deque(number for number, count in enumerate(waiting) if count == 0)
        order = []
        while ready:
            cell = self._cells[ready.popleft()]
            order.append(cell)
            for number in readers.get(cell.output, ()):
                waiting[number] -= 1
                if waiting[number] == 0:
                    ready.append(number)
        if len(order) < len(self._cells):
            self._refuse_loop({c.output: c for c, w in zip(self._cells, waiting, strict=True) if w})
        return order

    def _refuse_loop(self, stuck: dict[int, Cell]) -> NoReturn:
        """Names a loop among cells of which each waits for another one."""
        net, path = next(iter(stuck)), dict[int, None]()
        while net not in path:
            path[net] = None
            net = next(each for each in stuck[net].inputs if each in stuck)
        loop = list(path)[list(path).index(net) :]
        names = " <- ".join(self.name_of(each) for each in [*loop[:4], loop[0]])
        more = f" (4 of {len(loop)} wires)" if len(loop) > 4 else ""
        self.fail(
            stuck[net].line,
            f"a loop of wires{more}: {names}; only circuits without loops and state are computed",
        )


def grouped(netlist: Netlist, nets: dict[str, int]) -> list[Port]:
    """Ports of single bits by name: `x[0]`, `x[1]`, … are one vector, if they have all numbers from
    the lowest to the highest, and there is more than one of them and no `x`."""
    vectors: dict[str, dict[int, int]] = {}
    for name, net in nets.items():
        base, bracket, index = name.removesuffix("]").rpartition("[")
        number = index if bracket and name.endswith("]") and base else ""
        counts = number.isascii() and number.isdigit() and len(number) < 10
        if counts and str(int(number)) == number and base not in nets:
            vectors.setdefault(base, {})[int(number)] = net
        else:
            vectors[name] = {-1: net}
    ports = []
    for base, bits in vectors.items():
        low, high = min(bits), max(bits)
        if low >= 0 and (len(bits) == 1 or high - low + 1 != len(bits)):
            ports += [Port(f"{base}[{number}]", [net]) for number, net in bits.items()]
        else:
            ports.append(Port(base, [bits[number] for number in sorted(bits)]))
    return ports
