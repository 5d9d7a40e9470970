"""Arrays that note what a NumPy function does with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from .._core.text import shown
from ._graph import MOST_INTEGER, Array, Graph, Shape

Function = Callable[[Array], Array]


@dataclasses.dataclass(frozen=True)
class Pending:
    """A function of one array that no node has yet: what follows it may become part of it."""

    name: str
    function: Function
    uniform: bool
    dtype: np.dtype[Any]


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of integers whose values are not known: an argument of the function that
    `whorl.trace` calls, and what NumPy makes of it.

    It has NumPy's operators, indexing, shapes and functions as far as circuits have them; anything
    else raises `TypeError`. Functions of one array may be real in between, as in
    `np.sqrt(x).astype(np.int64)`: they become one table.
    """

    __slots__ = ("_graph", "_node", "_pending")
    __array_priority__ = 1000

    def __init__(self, graph: Graph, node: int, pending: Pending | None = None) -> None:
        self._graph, self._node, self._pending = graph, node, pending

    @property
    def shape(self) -> Shape:
        """It is that of NumPy's arrays."""
        return self._graph.nodes[self._node].shape

    @property
    def ndim(self) -> int:
        """It is that of NumPy's arrays."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """It is that of NumPy's arrays."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        """int64 or bool, or what a function of the array gives before it is made whole."""
        if self._pending is not None:
            return self._pending.dtype
        return np.dtype(bool if self._graph.nodes[self._node].is_bool else np.int64)

    # ---- what NumPy calls

    _on_ufunc: ClassVar[Callable[..., Any]]
    _on_function: ClassVar[Callable[..., Any]]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return Traced._on_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return Traced._on_function(function, args, options)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self!r} has no values; {_HINT}")

    # ---- as NumPy's arrays

    def __getitem__(self, index: Any) -> Traced:
        return viewed("index", lambda a: a[index], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("traced arrays are immutable; np.where and np.concatenate make new ones")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Traced]:
        return (self[i] for i in range(len(self)))

    @property
    def T(self) -> Traced:
        """It is that of NumPy's arrays."""
        return viewed("transpose", lambda a: a.T, self)

    def reshape(self, *shape: Any) -> Traced:
        """It is that of NumPy's arrays."""
        return viewed("reshape", lambda a: a.reshape(*shape), self)

    def transpose(self, *axes: Any) -> Traced:
        """It is that of NumPy's arrays."""
        return viewed("transpose", lambda a: a.transpose(*axes), self)

    def flatten(self) -> Traced:
        """It is that of NumPy's arrays."""
        return viewed("reshape", lambda a: a.reshape(-1), self)

    ravel = flatten

    def repeat(self, repeats: Any, axis: Any = None) -> Traced:
        """It is that of NumPy's arrays."""
        return viewed("repeat", lambda a: a.repeat(repeats, axis), self)

    def squeeze(self, axis: Any = None) -> Traced:
        """It is that of NumPy's arrays."""
        return viewed("squeeze", lambda a: a.squeeze(axis), self)

    def swapaxes(self, first: int, second: int) -> Traced:
        """It is that of NumPy's arrays."""
        return viewed("swapaxes", lambda a: a.swapaxes(first, second), self)

    def astype(self, dtype: Any, **_: Any) -> Traced:
        """It is that of NumPy's arrays; results of real functions become whole here."""
        kind = np.dtype(dtype)
        if kind == self.dtype or (self.dtype.kind in "bi" and kind == np.int64):
            return whole(self) if self.dtype.kind == "i" else composed(self, "astype", _as(kind))
        return composed(self, f"astype({kind})", _as(kind))

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        """It is that of NumPy's arrays."""
        return np.sum(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        """It is that of NumPy's arrays."""
        return np.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        """It is that of NumPy's arrays."""
        return np.min(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Any:
        """It is that of NumPy's arrays."""
        return np.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: Any = None, keepdims: bool = False) -> Any:
        """It is that of NumPy's arrays."""
        return np.argmin(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: Any = None) -> Any:
        """It is that of NumPy's arrays."""
        return np.cumsum(self, axis=axis)

    def any(self, axis: Any = None, keepdims: bool = False) -> Any:
        """It is that of NumPy's arrays."""
        return np.any(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Any:
        """It is that of NumPy's arrays."""
        return np.all(self, axis=axis, keepdims=keepdims)

    def clip(self, least: Any = None, most: Any = None) -> Any:
        """It is that of NumPy's arrays."""
        return np.clip(self, least, most)

    def round(self, decimals: int = 0) -> Any:
        """It is that of NumPy's arrays."""
        return np.round(self, decimals)

    def dot(self, other: Any) -> Any:
        """It is that of NumPy's arrays."""
        return np.dot(self, other)

    def copy(self) -> Traced:
        """The array itself, which is immutable."""
        return self

    def __bool__(self) -> bool:
        raise TypeError(
            "whether an encrypted value is true is not known while tracing; np.where chooses by it"
        )

    def _number(self) -> Any:
        raise TypeError(f"{self!r} has no value; {_HINT}")

    __int__ = __float__ = __index__ = __complex__ = _number

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Traced {self.dtype} of shape {self.shape}>"


_HINT = "trace takes functions of NumPy's operators, functions and shapes"


def _as(dtype: np.dtype[Any]) -> Function:
    return lambda a: np.asarray(a).astype(dtype)


def composed(
    x: Traced, name: str, function: Function, uniform: bool = True, shape: Shape | None = None
) -> Traced:
    """function(x), elementwise, which becomes a part of a table. With `shape` x is broadcast."""
    if shape is not None and shape != x.shape:
        x = viewed("broadcast", lambda a: np.broadcast_to(a, shape), whole(x))
    before = x._pending
    start = before.function if before else None
    kind = x._graph.nodes[x._node].is_bool

    def both(a: Array) -> Array:
        return function(start(a)) if start is not None else function(a)

    with np.errstate(all="ignore"):
        dtype = np.asarray(both(np.ones((1, *x.shape), dtype=bool if kind else np.int64))).dtype
    return Traced(
        x._graph,
        x._node,
        Pending(
            f"{before.name}, {name}" if before else name,
            both,
            uniform and (before is None or before.uniform),
            dtype,
        ),
    )


def whole(x: Traced) -> Traced:
    """x as a node; `TypeError` if its values are real."""
    pending = x._pending
    if pending is None:
        return x
    if pending.dtype.kind not in "iubO":
        raise TypeError(
            f"{pending.name}: results of type {pending.dtype} are not whole; write "
            ".astype(np.int64) behind the function"
        )
    if pending.dtype.kind in "iu" and pending.dtype.itemsize < 8:
        raise TypeError(
            f"{pending.name}: sums of type {pending.dtype} wrap in NumPy, and encrypted ones do "
            "not; write .astype(np.int64) behind the function"
        )
    node = x._graph.table(
        pending.name, x._node, pending.function, pending.uniform, pending.dtype.kind == "b"
    )
    return Traced(x._graph, node)


def viewed(name: str, function: Callable[..., Array], *arrays: Any) -> Traced:
    """What a function that moves elements makes of arrays, some of which are traced."""
    graph, nodes, places = places_of(arrays)
    return view(name, graph, nodes, function(*places))


def places_of(arrays: Sequence[Any]) -> tuple[Graph, list[int], list[Array]]:
    """Nodes of arrays, and the places of their elements, one array behind the other."""
    graph = next(each._graph for each in arrays if isinstance(each, Traced))
    nodes, places, start = [], [], 0
    for each in arrays:
        node = whole(each)._node if isinstance(each, Traced) else constant(graph, each)
        shape = graph.nodes[node].shape
        count = int(np.prod(shape))
        nodes.append(node)
        places.append(np.arange(start, start + count).reshape(shape))
        start += count
    return graph, nodes, places


def view(name: str, graph: Graph, nodes: list[int], places: Any) -> Traced:
    """The elements at these places; `TypeError` if there are none."""
    if np.size(places) == 0:
        raise TypeError(f"{name}: the result has no elements, and circuits have none of that kind")
    return Traced(graph, graph.view(name, nodes, np.asarray(places)))


def constant(graph: Graph, values: Any) -> int:
    """The node of known integers."""
    return graph.constant(integers(values))


def integers(values: Any) -> Array:
    """Known integers or bools as an array; `TypeError` for others."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        raise TypeError(
            f"constants beside encrypted integers must be integers, not {shown(values)}; only "
            "functions of one array may be real"
        )
    if ((array > MOST_INTEGER) | (array < -MOST_INTEGER)).any():
        raise TypeError(f"constants lie within ±2^46, and {shown(values)} does not")
    return array if array.dtype.kind == "b" else array.astype(np.int64)
