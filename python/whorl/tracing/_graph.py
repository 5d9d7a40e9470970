"""The operations of a traced function: what each does to integers, and to encrypted integers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from ..errors import ParameterError
from ._wires import Affine

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]


class _Lowers(Protocol):
    """It makes circuits of nodes (`Lowering`)."""

    def total(self, weights: Sequence[int], values: Sequence[Affine]) -> Affine: ...
    def constant(self, value: int) -> Affine: ...
    def product(self, nodes: tuple[int, int], a: Affine, b: Affine) -> Affine: ...
    def chosen(self, bit: Affine, a: Affine, b: Affine) -> Affine: ...
    def table(self, node: int, a: Affine, values: Values) -> Affine: ...
    def pairs(self, nodes: tuple[int, int], a: Affine, b: Affine, values: Values2) -> Affine: ...
    def shifted(self, node: int, a: Affine, bits: int) -> Affine: ...
    def larger(self, nodes: tuple[int, int], a: Affine, b: Affine) -> Affine: ...
    def compared(self, node: int, a: Affine, name: str) -> Affine: ...
    def leaves(self, bits: list[Affine], paths: Sequence[Path], values: Array) -> list[Affine]: ...


Kind = Literal["linear", "table", "constant", "other"]
Values = Callable[[int, int], Array]
"""The values of a function at low … high."""
Values2 = Callable[[Array, Array], Array]
Path = Sequence[tuple[int, bool]]
"""The way to a leaf of a decision tree: places of bits, and which value each has."""


@dataclasses.dataclass(frozen=True)
class Node:
    """An operation. Arrays of Python objects hold encrypted integers."""

    name: str
    inputs: tuple[int, ...]
    shape: Shape
    is_bool: bool
    clear: Callable[..., Array]
    lower: Callable[..., Array]
    kind: Kind = "other"
    """`linear` and `table` nodes are elementwise: `clear` takes further axes in front."""


class Graph:
    """Nodes in the order in which they were traced."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[int] = []

    def evaluate(self, arguments: Sequence[Array]) -> list[Array]:
        """The integers of all nodes, for integers of all inputs."""
        given = iter(arguments)
        values: list[Array] = []
        for node in self.nodes:
            if node.name == "input":
                values.append(next(given))
            else:
                values.append(np.asarray(node.clear(*(values[i] for i in node.inputs))))
        return values

    def add(
        self,
        name: str,
        inputs: Sequence[int],
        shape: Shape,
        clear: Callable[..., Array],
        lower: Callable[..., Array],
        is_bool: bool = False,
        kind: Kind = "other",
    ) -> int:
        """The number of a new node."""
        self.nodes.append(Node(name, tuple(inputs), shape, is_bool, clear, lower, kind))
        return len(self.nodes) - 1

    # ---- nodes of every kind

    def input(self, shape: Shape) -> int:
        """An input of the function."""
        self.inputs.append(self.add("input", (), shape, _no_clear, _no_clear))
        return self.inputs[-1]

    def constant(self, values: Array) -> int:
        """Integers that are known."""

        def lower(to: _Lowers) -> Array:
            return _objects(values.shape, [to.constant(int(v)) for v in values.ravel()])

        return self.add(
            "constant",
            (),
            values.shape,
            lambda: values,
            lower,
            values.dtype.kind == "b",
            "constant",
        )

    def view(self, name: str, inputs: Sequence[int], places: Array) -> int:
        """Elements of the inputs, one behind the other, at `places`."""

        def clear(*arrays: Array) -> Array:
            flat = np.concatenate([each.reshape(-1) for each in arrays])
            found = np.empty(places.shape, dtype=flat.dtype)
            found[...] = flat[places]
            return found

        is_bool = all(self.nodes[i].is_bool for i in inputs)
        return self.add(
            name, inputs, places.shape, clear, lambda to, *arrays: clear(*arrays), is_bool
        )

    def linear(self, name: str, weights: Sequence[int], inputs: Sequence[int]) -> int:
        """Σ weights[k]·inputs[k], of one shape."""

        def clear(*arrays: Array) -> Array:
            return sum(
                (w * a.astype(np.int64) for w, a in zip(weights, arrays, strict=True)),
                start=np.zeros((), dtype=np.int64),
            )

        def lower(to: _Lowers, *arrays: Array) -> Array:
            rows = zip(*(each.ravel() for each in arrays), strict=True)
            return _objects(arrays[0].shape, [to.total(weights, row) for row in rows])

        return self.add(name, inputs, self.nodes[inputs[0]].shape, clear, lower, kind="linear")

    def affine(self, name: str, x: int, factors: Array, added: Array) -> int:
        """factors·x + added, of the shape of x."""
        shape = self.nodes[x].shape
        scales = np.broadcast_to(factors, shape).ravel()
        constants = np.broadcast_to(added, shape).ravel()

        def lower(to: _Lowers, a: Array) -> Array:
            each = zip(scales.tolist(), constants.tolist(), a.ravel(), strict=True)
            return _objects(shape, [to.total([w, c], [v, to.constant(1)]) for w, c, v in each])

        def clear(a: Array) -> Array:
            return factors * a.astype(np.int64) + added

        return self.add(name, (x,), shape, clear, lower, kind="linear")

    def matmul(self, name: str, x: int, weights: Array, left: bool) -> int:
        """x @ weights, or weights @ x with `left`; weights have one or two axes."""

        def clear(a: Array) -> Array:
            whole = a.astype(np.int64)
            return np.asarray(weights @ whole if left else whole @ weights)

        shape = clear(np.zeros(self.nodes[x].shape, dtype=np.int64)).shape

        def lower(to: _Lowers, a: Array) -> Array:
            matrix = weights if left else weights.T
            columns = matrix.reshape(-1, matrix.shape[-1]).tolist()
            rows = np.moveaxis(a, -2, -1) if left and a.ndim > 1 else a
            flat = rows.reshape(-1, rows.shape[-1])
            found = [to.total(column, row.tolist()) for row in flat for column in columns]
            if not left or a.ndim == 1 or weights.ndim == 1:
                return _objects(shape, found)
            lengths = (*rows.shape[:-1], len(columns))
            return np.moveaxis(_objects(lengths, found), -1, -2)

        return self.add(name, (x,), shape, clear, lower)

    def sum(self, x: int, axes: tuple[int, ...], keepdims: bool) -> int:
        """The sum over axes."""

        def clear(a: Array) -> Array:
            return np.asarray(a.sum(axis=axes, keepdims=keepdims, dtype=np.int64))

        shape = clear(np.zeros(self.nodes[x].shape)).shape

        def lower(to: _Lowers, a: Array) -> Array:
            kept = [axis for axis in range(a.ndim) if axis not in axes]
            count = math.prod(a.shape[axis] for axis in axes)
            rows = a.transpose(*kept, *axes).reshape(-1, count)
            return _objects(shape, [to.total([1] * count, row.tolist()) for row in rows])

        return self.add("sum", (x,), shape, clear, lower)

    def product(self, x: int, y: int) -> int:
        """x·y, of one shape."""

        def lower(to: _Lowers, a: Array, b: Array) -> Array:
            pairs = zip(a.ravel(), b.ravel(), strict=True)
            return _objects(a.shape, [to.product((x, y), v, w) for v, w in pairs])

        def clear(a: Array, b: Array) -> Array:
            return a.astype(np.int64) * b

        return self.add("multiply", (x, y), self.nodes[x].shape, clear, lower, kind="table")

    def where(self, bit: int, x: int, y: int) -> int:
        """x where a bit is 1, else y, of one shape."""

        def lower(to: _Lowers, c: Array, a: Array, b: Array) -> Array:
            each = zip(c.ravel(), a.ravel(), b.ravel(), strict=True)
            return _objects(c.shape, [to.chosen(*one) for one in each])

        is_bool = self.nodes[x].is_bool and self.nodes[y].is_bool
        shape = self.nodes[bit].shape
        return self.add("where", (bit, x, y), shape, np.where, lower, is_bool, "table")

    def larger(self, x: int, y: int) -> int:
        """The larger of x and y, of one shape."""

        def lower(to: _Lowers, a: Array, b: Array) -> Array:
            pairs = zip(a.ravel(), b.ravel(), strict=True)
            return _objects(a.shape, [to.larger((x, y), v, w) for v, w in pairs])

        return self.add("maximum", (x, y), self.nodes[x].shape, np.maximum, lower, kind="table")

    def compared(self, ufunc: Any, x: int) -> int:
        """ufunc(x, 0), of one of NumPy's six comparisons."""
        name = ufunc.__name__

        def clear(a: Array) -> Array:
            return np.asarray(ufunc(a, 0))

        def lower(to: _Lowers, a: Array) -> Array:
            return _objects(a.shape, [to.compared(x, each, name) for each in a.ravel()])

        return self.add(name, (x,), self.nodes[x].shape, clear, lower, True, "table")

    def leaves(self, bits: int, paths: Sequence[Path], values: Array) -> int:
        """The row of `values` of the leaf of a tree to which the bits, of one axis, lead."""

        def clear(given: Array) -> Array:
            return np.asarray(values[leaf_of(given, paths)])

        def lower(to: _Lowers, a: Array) -> Array:
            return _objects(values.shape[1:], to.leaves(a.tolist(), paths, values))

        return self.add("decision tree", (bits,), values.shape[1:], clear, lower)

    def shifted(self, x: int, bits: int) -> int:
        """x >> bits."""

        def lower(to: _Lowers, a: Array) -> Array:
            return _objects(a.shape, [to.shifted(x, each, bits) for each in a.ravel()])

        def clear(a: Array) -> Array:
            return a >> bits

        return self.add("right_shift", (x,), self.nodes[x].shape, clear, lower, kind="table")

    def table(
        self, name: str, x: int, function: Callable[[Array], Array], uniform: bool, is_bool: bool
    ) -> int:
        """function(x), elementwise; all elements have the same one if it is `uniform`."""
        shape = self.nodes[x].shape
        source = self.nodes[x].is_bool

        def at(values: Array) -> Array:
            return np.asarray(function(values.astype(bool) if source else values))

        def lower(to: _Lowers, a: Array) -> Array:
            rows: dict[tuple[int, int], Array] = {}

            def values(place: int, low: int, high: int) -> Array:
                key = (low, high)
                if key not in rows:
                    counted = np.arange(low, high + 1)
                    if not uniform:
                        if len(counted) * math.prod(shape) > MOST_VALUES:
                            raise ParameterError(
                                f"{name}: {len(counted)} values of {math.prod(shape)} different "
                                f"tables are above {MOST_VALUES}: round the input first"
                            )
                        counted = np.broadcast_to(
                            counted.reshape(-1, *[1] * len(shape)), (len(counted), *shape)
                        )
                    found = at(counted)
                    rows[key] = whole_values(found, name).reshape(len(counted), -1)
                return rows[key][:, 0 if uniform else place]

            return _objects(
                shape,
                [
                    to.table(x, v, lambda low, high, place=place: values(place, low, high))  # type: ignore[misc]
                    for place, v in enumerate(a.ravel())
                ],
            )

        return self.add(name, (x,), shape, at, lower, is_bool, "table")

    def pairs(self, name: str, x: int, y: int, function: Values2, is_bool: bool) -> int:
        """function(x, y), elementwise, of one shape."""
        kinds = [self.nodes[i].is_bool for i in (x, y)]

        def at(a: Array, b: Array) -> Array:
            given = (v.astype(bool) if kind else v for v, kind in zip((a, b), kinds, strict=True))
            return np.asarray(function(*given))

        def lower(to: _Lowers, a: Array, b: Array) -> Array:
            def values(v: Array, w: Array) -> Array:
                return whole_values(at(v, w), name)

            pairs = zip(a.ravel(), b.ravel(), strict=True)
            return _objects(a.shape, [to.pairs((x, y), v, w, values) for v, w in pairs])

        return self.add(name, (x, y), self.nodes[x].shape, at, lower, is_bool, "table")


MOST_VALUES = 1 << 24
MOST_INTEGER = 1 << 46
"""Integers of circuits lie below it."""


def whole_values(values: Array, name: str) -> Array:
    """Values of a function as int64; `ParameterError` for what is no integer below 2^46."""
    if values.dtype.kind == "O":
        try:
            values = np.array([int(v) for v in values.ravel()], dtype=np.int64).reshape(
                values.shape
            )
        except (TypeError, OverflowError):
            raise ParameterError(f"{name}: the function gives no integers of 64 bits") from None
    if values.dtype.kind not in "iub":
        raise TypeError(
            f"{name}: the function has results of type {values.dtype}; integers are needed, as "
            ".astype(np.int64) gives them"
        )
    wrong = (values < -MOST_INTEGER) | (values > MOST_INTEGER)
    if wrong.any():
        raise ParameterError(
            f"{name}: the function gives {values[wrong].ravel()[0]}, which is outside ±2^46"
        )
    return values.astype(np.int64)


def leaf_of(bits: Array, paths: Sequence[Path]) -> int:
    """The number of the only path whose bits are as it says."""
    [leaf] = [i for i, path in enumerate(paths) if all(bool(bits[k]) == v for k, v in path)]
    return leaf


def _objects(shape: Shape, values: Sequence[Affine]) -> Array:
    array = np.empty(len(values), dtype=np.object_)
    for place, value in enumerate(values):
        array[place] = value
    return array.reshape(shape)


def _no_clear(*_: Any) -> Array:
    raise AssertionError("inputs are given")
