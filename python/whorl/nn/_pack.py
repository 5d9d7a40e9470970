"""Where the values of tensors lie in slots, and the diagonals that maps between them have."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from .._core.progress import Report
from ..errors import ShapeError
from ._graph import Affine, Entries, Graph, Indices, Input, Node, Numbers, Reshaped, Shape

MOST_PARTS = 64
"""Ciphertexts that a tensor takes at most."""


def power_of_two(at_least: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << (max(1, at_least) - 1).bit_length()


@dataclasses.dataclass(frozen=True)
class Grid:
    """How images of many channels lie in slots: multiplexed (Lee, Lee, Lee, Kim, Kim, No, Choi,
    ICML 2022; Orion: Ebel, Garimella, Reagen, ASPLOS 2025).

    The plane of the network's input has `height` × `width` slots. After a stride of 2 an image
    takes every second row and column of it: its *gap* is (2, 2). The slots between may have other
    channels, `share` of them along each axis: (1, 1) leaves them empty.
    """

    height: int
    width: int
    gap: tuple[int, int] = (1, 1)
    share: tuple[int, int] = (1, 1)

    def places(self, shape: Shape, most: int) -> Indices:
        """The slot of each value of an image of (channels, height, width), in ciphertexts of `most`
        slots."""
        down, right = self.share
        each = down * right
        c, y, x = np.ogrid[: shape[0], : shape[1], : shape[2]]
        row = y * self.gap[0] + c % each // right
        column = x * self.gap[1] + c % right
        out = c // each * self.plane(most) + row * self.width + column
        return np.asarray(out.reshape(-1), dtype=np.int64)

    def plane(self, most: int) -> int:
        """Slots of a plane: a power of two, or whole ciphertexts of `most` slots."""
        size = self.height * self.width
        return min(power_of_two(size), -(-size // most) * most)

    def length(self, channels: int, most: int) -> int:
        """Slots that an image of some channels takes."""
        return self.plane(most) * -(-channels // (self.share[0] * self.share[1]))

    def shares(self) -> Iterator[Grid]:
        """All ways to fill the gaps by powers of two."""
        down, right = ([1 << i for i in range(gap.bit_length())] for gap in self.gap)
        for share in itertools.product(down, right):
            yield dataclasses.replace(self, share=share)


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where a tensor lies: value i is in slot `places[i] % period` of the vector with the number
    `places[i] // period`. Slots repeat with the period, a power of two. A tensor that is too large
    for one ciphertext takes several vectors, its *parts*, of all slots each."""

    places: Indices
    period: int
    grid: Grid | None = None
    """How an image lies."""

    @classmethod
    def of(cls, places: Indices, length: int, most: int, grid: Grid | None = None) -> Layout:
        """For places below `length`, in ciphertexts of `most` slots."""
        return cls(places, min(power_of_two(length), most), grid)

    @functools.cached_property
    def parts(self) -> int:
        """How many ciphertexts the tensor takes."""
        return int(self.places.max()) // self.period + 1

    def same(self, other: Layout) -> bool:
        """Whether values lie in the same slots."""
        return self.period == other.period and np.array_equal(self.places, other.places)


@dataclasses.dataclass(frozen=True)
class Diagonals:
    """A matrix between vectors, by its diagonals: slot j of the result is the sum of
    values[k][j] · x[j + k], in vectors of `period` slots."""

    indices: Indices
    """k of each diagonal, increasing."""
    values: Numbers
    """(diagonals, period)."""
    period: int


Block: TypeAlias = tuple[int, int]
"""A part of a map's result and one of its operand."""


def fold_of(source: Layout, target: Layout) -> int:
    """What lies a multiple of so many slots apart is added up after a map; 0: nothing is."""
    return target.period if target.period < source.period else 0


def _turns(entries: Entries, source: Layout, target: Layout) -> tuple[Indices, Indices, Indices]:
    """Finds of each entry its block, as a number, its diagonal there, and its slot in that.

    A result that is shorter than the operand is made in parts, all over the operand's slots, which
    are added up afterwards: so a few long rows take as many diagonals as there are rows (Halevi,
    Shoup, CRYPTO 2014, §4.3, for matrices that are wider than high).
    """
    row, column = target.places[entries.rows], source.places[entries.columns]
    block = np.zeros_like(row)
    if source.parts > 1 or target.parts > 1:
        block = row // target.period * source.parts + column // source.period
        row, column = row & (target.period - 1), column & (source.period - 1)
    # Periods are powers of two.
    if fold_of(source, target):
        turn = (column - row) & (target.period - 1)
        return block, turn, (column - turn) & (source.period - 1)
    return block, (column - row) & (source.period - 1), row


def diagonals(entries: Entries, source: Layout, target: Layout) -> dict[Block, Diagonals]:
    """The diagonals of a map from one layout to another, by blocks. Blocks of zeros are left out,
    but one for a part of the result that has no other."""
    number, turn, slot = _turns(entries, source, target)
    period = max(source.period, target.period)
    out: dict[Block, Diagonals] = {}
    for to, of in np.ndindex(target.parts, source.parts):
        own = number == to * source.parts + of if source.parts * target.parts > 1 else slice(None)
        made = _diagonals(turn[own], slot[own], entries.values[own], period)
        is_last = of == source.parts - 1 and not any(block[0] == to for block in out)
        if len(made.indices) or is_last:
            out[to, of] = made
    return out


def _diagonals(turn: Indices, slot: Indices, entries: Numbers, period: int) -> Diagonals:
    """Those of one block, by the diagonal and the slot of each entry."""
    used = np.zeros(period, dtype=bool)
    used[turn] = True
    which = np.cumsum(used) - 1
    sums = np.bincount(which[turn] * period + slot, entries, used.sum() * period)
    values = sums.astype(np.float64, copy=False).reshape(-1, period)
    return Diagonals(np.flatnonzero(used), values, period)


def count_diagonals(entries: Entries, source: Layout, target: Layout) -> list[int]:
    """How many diagonals each block of a map between two layouts has."""
    block, turn, _ = _turns(entries, source, target)
    used = np.zeros((target.parts * source.parts, source.period), dtype=bool)
    used[block, turn] = True
    return [int(count) for count in used.sum(axis=1)]


def rotations_of(diagonals: Sequence[int], source: Layout, target: Layout) -> float:
    """About how many rotations a map takes: 2·√d in baby and giant steps of each block, and those
    of the fold."""
    folds = max(0, source.period.bit_length() - target.period.bit_length())
    return float(2 * np.sqrt(diagonals).sum() + folds)


class Packing:
    """The layouts of a graph's tensors. Images of one shape have one grid, so that sums meet; which
    channels share a plane is chosen so that the maps take few rotations."""

    def __init__(
        self,
        graph: Graph,
        most: int,
        grids: dict[Shape, Grid] | None = None,
        report: Report | None = None,
    ) -> None:
        """`most`: slots that a ciphertext has for a tensor; `grids`: those of an earlier packing;
        `report` counts shapes of images. `ShapeError` if a tensor takes more than `MOST_PARTS`
        ciphertexts."""
        self.graph, self.most = graph, most
        self._entries = functools.cache(self._entries_of)
        self.grids = self._first_grids() if grids is None else grids
        if grids is None:
            self._improve(report)
        self.layouts = self._layouts(self.grids)
        self.longest = max(each.period for each in self.layouts)

    def _entries_of(self, number: int) -> Entries:
        node = self.graph.nodes[number]
        assert isinstance(node, Affine)
        return node.entries()

    def entries(self, number: int) -> Entries:
        """The entries of a node that is a linear map."""
        return self._entries(number)

    # ---- grids of images

    def _first_grids(self) -> dict[Shape, Grid]:
        """The fullest grid of each shape; all have one plane, with room for the largest image."""
        gaps: dict[Shape, tuple[int, int]] = {}
        for node in self.graph.nodes:
            if len(node.shape) != 3 or node.shape in gaps:
                continue
            before = self.graph.nodes[node.inputs[0]].shape if node.inputs else ()
            gap, stride = gaps.get(before, (1, 1)), (1, 1)
            if isinstance(node, Affine) and before in gaps:
                stride = node.stride
            gaps[node.shape] = gap[0] * stride[0], gap[1] * stride[1]
        height = max((shape[1] * gap[0] for shape, gap in gaps.items()), default=1)
        width = max((shape[2] * gap[1] for shape, gap in gaps.items()), default=1)
        return {
            shape: self._fullest(Grid(height, width, gap), shape[0]) for shape, gap in gaps.items()
        }

    def _fullest(self, grid: Grid, channels: int) -> Grid:
        return min(grid.shares(), key=lambda each: each.length(channels, self.most))

    def _improve(self, report: Report | None) -> None:
        """Tries other shares, a shape at a time, until none takes fewer rotations."""
        best = self._cost(self.grids)
        better, done = True, 0
        while better:
            better = False
            for shape, grid in self.grids.items():
                if report and done < len(self.grids):  # later rounds are short
                    done += 1
                    report(done, len(self.grids))
                for other in grid.shares():
                    fullest = self._fullest(grid, shape[0])
                    room = max(self.most, fullest.length(shape[0], self.most))
                    if other == self.grids[shape] or other.length(shape[0], self.most) > room:
                        continue
                    tried = {**self.grids, shape: other}
                    cost = self._cost(tried)
                    if cost < best:
                        self.grids, best, better = tried, cost, True

    def _cost(self, grids: dict[Shape, Grid]) -> float:
        layouts = self._layouts(grids)
        return sum(
            self._cost_of(number, layouts[node.inputs[0]], layouts[number])
            for number, node in enumerate(self.graph.nodes)
            if isinstance(node, Affine)
        )

    def _cost_of(self, number: int, source: Layout, target: Layout) -> float:
        node = self.graph.nodes[number]
        key = (number, source.grid, source.period, target.grid, target.period, node.shape)
        if key not in self._costs:
            found = count_diagonals(self.entries(number), source, target)
            self._costs[key] = rotations_of(found, source, target)
        return self._costs[key]

    @functools.cached_property
    def _costs(self) -> dict[object, float]:
        return {}

    # ---- layouts

    def _layouts(self, grids: dict[Shape, Grid]) -> list[Layout]:
        out: list[Layout] = []
        for node in self.graph.nodes:
            if isinstance(node, Reshaped):
                out.append(dataclasses.replace(out[node.inputs[0]], grid=None))
            elif not isinstance(node, (Input, Affine)):
                out.append(out[node.inputs[0]])
            elif node.shape in grids:
                grid = grids[node.shape]
                length = grid.length(node.shape[0], self.most)
                out.append(Layout.of(grid.places(node.shape, self.most), length, self.most, grid))
            else:
                out.append(Layout.of(np.arange(node.size), node.size, self.most))
            self._check(node, out[-1])
        return out

    def _check(self, node: Node, layout: Layout) -> None:
        if layout.parts > MOST_PARTS:
            raise ShapeError(
                f"{node.name}: a tensor of shape {node.shape} takes {layout.parts} ciphertexts of "
                f"{self.most} slots, and at most {MOST_PARTS} are taken: make the images smaller, "
                "or their channels fewer"
            )
