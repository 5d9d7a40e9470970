"""What NumPy's functions do with traced arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.text import shown
from ._graph import Array, Path, Shape, leaf_of, whole_values
from ._traced import Traced, composed, constant, integers, places_of, view, viewed, whole

_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
MOST_SHIFT = 46


def apply_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """An elementwise function of NumPy, or its `reduce`."""
    if method == "reduce" and len(inputs) == 1:
        return _reduced(ufunc, inputs[0], **options)
    if method != "__call__":
        raise TypeError(f"np.{ufunc.__name__}.{method} of encrypted integers is not supported")
    if options:
        raise TypeError(f"np.{ufunc.__name__}: {', '.join(options)} is not supported while tracing")
    if ufunc is np.matmul:
        return _matmul(*inputs)
    if ufunc.nout != 1 or ufunc.nin > 2:
        raise TypeError(f"np.{ufunc.__name__} of encrypted integers is not supported")
    if ufunc.nin == 1:
        return _of_one(ufunc, inputs[0])
    a, b = inputs
    if isinstance(a, Traced) and isinstance(b, Traced):
        return _of_two(ufunc, a, b)
    return _with_constant(ufunc, a, b)


def apply_function(function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """Another function of NumPy."""
    if function in _FUNCTIONS:
        return _FUNCTIONS[function](*args, **options)
    if function in _VIEWS:
        return _viewed(function, args, options)
    name = getattr(function, "__name__", function)
    raise TypeError(f"np.{name} of encrypted integers is not supported")


# ---- elementwise


def _of_one(ufunc: Any, x: Traced) -> Traced:
    if ufunc is np.positive:
        return x
    if ufunc is np.negative and x.dtype.kind == "i":
        return _affine("negative", whole(x), np.int64(-1), np.int64(0))
    return composed(x, ufunc.__name__, ufunc)


def _with_constant(ufunc: Any, a: Any, b: Any) -> Traced:
    """A function of a traced array and what is known."""
    left = isinstance(a, Traced)
    x, given = (a, b) if left else (b, a)
    known = np.array(given)  # the caller may change it
    if known.dtype.kind not in "iubf":
        raise TypeError(f"np.{ufunc.__name__}: {shown(given)} is no array of numbers")
    name, shape = ufunc.__name__, np.broadcast_shapes(x.shape, known.shape)
    if x.dtype.kind in "iub" and known.dtype.kind in "iub":
        if "i" in (x.dtype.kind, "i" if known.dtype.kind in "iu" else "b"):
            made = _linear(ufunc, x, known, left, shape)
            if made is not None:
                return made
        if ufunc in _COMPARISONS and x._pending is None and x.dtype.kind == "i" and left:
            apart = whole(x - known)
            return Traced(apart._graph, apart._graph.compared(ufunc, apart._node))
        shift = _shift_of(ufunc, known, left)
        if shift is not None and x.dtype.kind != "b":
            source = whole(x)
            return Traced(source._graph, source._graph.shifted(source._node, shift))

    def function(values: Array) -> Array:
        result = ufunc(values, known) if left else ufunc(known, values)
        return np.asarray(result)

    return composed(x, name, function, known.ndim == 0, shape)


def _linear(ufunc: Any, x: Traced, known: Array, left: bool, shape: Shape) -> Traced | None:
    """The operation as factor·x + constant, if it is one."""
    one, zero = np.int64(1), np.int64(0)
    if ufunc not in (np.add, np.subtract, np.multiply, np.left_shift):
        return None
    if ufunc is np.left_shift and (not left or (known < 0).any() or (known > MOST_SHIFT).any()):
        return None
    values = integers(known).astype(np.int64)
    source = whole(x)
    if source.shape != shape:
        source = viewed("broadcast", lambda a: np.broadcast_to(a, shape), source)
    if ufunc is np.multiply:
        return _affine("multiply", source, values, zero)
    if ufunc is np.left_shift:
        return _affine("left_shift", source, one << values, zero)
    if ufunc is np.add:
        return _affine("add", source, one, values)
    return (
        _affine("subtract", source, one, -values)
        if left
        else _affine("subtract", source, -one, values)
    )


def _affine(name: str, x: Traced, factors: Any, added: Any) -> Traced:
    return Traced(x._graph, x._graph.affine(name, x._node, np.asarray(factors), np.asarray(added)))


def _shift_of(ufunc: Any, known: Array, left: bool) -> int | None:
    """The bits that x >> bits, or a division by a power of two, drops."""
    if not left or known.ndim or known.dtype.kind == "b":
        return None
    number = int(known)
    if ufunc is np.right_shift and 0 < number <= MOST_SHIFT:
        return number
    if ufunc is np.floor_divide and number > 1 and number & (number - 1) == 0:
        return number.bit_length() - 1
    return None


def _of_two(ufunc: Any, a: Traced, b: Traced) -> Traced:
    x, y = _together(a, b)
    graph, bools = x._graph, x.dtype.kind == y.dtype.kind == "b"
    name = ufunc.__name__
    if ufunc in (np.add, np.subtract) and not bools:
        sign = 1 if ufunc is np.add else -1
        return Traced(graph, graph.linear(name, (1, sign), (x._node, y._node)))
    if ufunc is np.multiply and not bools:
        return Traced(graph, graph.product(x._node, y._node))
    if ufunc in _COMPARISONS:
        apart = Traced(graph, graph.linear("subtract", (1, -1), (x._node, y._node)))
        return Traced(graph, graph.compared(ufunc, apart._node))
    if ufunc in (np.maximum, np.minimum) and not bools:
        if ufunc is np.maximum:
            return Traced(graph, graph.larger(x._node, y._node))
        smaller: Traced = -_of_two(np.maximum, -x, -y)
        return smaller
    return _bivariate(ufunc, name, x, y)


def _bivariate(function: Callable[..., Any], name: str, x: Traced, y: Traced) -> Traced:
    with np.errstate(all="ignore"):
        ones = [np.ones(1, dtype=each.dtype) for each in (x, y)]
        dtype = np.asarray(function(*ones)).dtype
    if dtype.kind not in "iubO":
        raise TypeError(
            f"{name}: results of type {dtype} of two encrypted integers are not whole; "
            "whorl.tracing.bivariate makes one table of a function that rounds them"
        )
    node = x._graph.pairs(name, x._node, y._node, function, dtype.kind == "b")
    return Traced(x._graph, node)


def _together(*arrays: Any) -> list[Traced]:
    """Arrays as nodes of one shape; some may be known."""
    graph = next(each._graph for each in arrays if isinstance(each, Traced))
    shape = np.broadcast_shapes(*(_bare(each).shape for each in arrays))
    nodes = []
    for each in arrays:
        node = whole(each) if isinstance(each, Traced) else Traced(graph, constant(graph, each))
        if node.shape != shape:
            node = viewed("broadcast", lambda a: np.broadcast_to(a, shape), node)
        nodes.append(node)
    return nodes


# ---- sums and products of matrices


def _axes(x: Traced, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(operator.index(each) for each in given)
    for each in axes:
        if not -x.ndim <= each < x.ndim:
            raise np.exceptions.AxisError(each, x.ndim)
    return tuple(sorted({each % x.ndim for each in axes}))


def _sum(x: Any, axis: Any = None, keepdims: Any = False, **options: Any) -> Traced:
    _refuse_options("sum", options)
    source = whole(x)
    return Traced(
        source._graph, source._graph.sum(source._node, _axes(source, axis), keepdims is True)
    )


def _reduced(ufunc: Any, x: Any, axis: Any = 0, keepdims: Any = False, **options: Any) -> Traced:
    _refuse_options(ufunc.__name__, options)
    if ufunc is np.add:
        return _sum(x, axis, keepdims)
    if ufunc not in (np.maximum, np.minimum, np.logical_and, np.logical_or):
        raise TypeError(f"np.{ufunc.__name__}.reduce of encrypted integers is not supported")
    source = whole(x)
    axes = _axes(source, axis)
    if ufunc in (np.logical_and, np.logical_or):
        bits = whole(source if source.dtype.kind == "b" else composed(source, "!= 0", _is_true))
        counted = _sum(bits, axes, keepdims)
        least = 1 if ufunc is np.logical_or else int(np.prod([x.shape[i] for i in axes]))
        return composed(counted, ufunc.__name__, lambda n: np.asarray(n >= least))
    kept = [i for i in range(source.ndim) if i not in axes]
    count = int(np.prod([source.shape[i] for i in axes]))
    rows = viewed("transpose", lambda a: a.transpose(*axes, *kept).reshape(count, -1), source)
    items = [rows[i] for i in range(count)]
    while len(items) > 1:
        pairs = zip(items[::2], items[1::2], strict=False)
        items = [_of_two(ufunc, a, b) for a, b in pairs] + items[len(items) & ~1 :]
    lengths = tuple(
        1 if i in axes else n for i, n in enumerate(source.shape) if keepdims is True or i in kept
    )
    return viewed("reshape", lambda a: a.reshape(lengths), items[0])


def _extreme(sign: int, x: Any, axis: Any = None, keepdims: Any = False, **options: Any) -> Traced:
    """Where the largest element along an axis is, or with the sign -1 the smallest one; of equal
    ones the first. A tournament of pairs: values and places of the later one go on if it wins."""
    _refuse_options("argmax" if sign > 0 else "argmin", options)
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, operator.index(axis), 0)
    values = list(sign * rows.astype(np.int64))
    places: list[Any] = [np.full(rows.shape[1:], place) for place in range(len(values))]
    while len(values) > 1:
        last = len(values) & ~1
        pairs = [(k, k + 1) for k in range(0, last, 2)]
        later = [values[b] > values[a] for a, b in pairs]
        won = [
            np.where(bit, places[b], places[a]) for bit, (a, b) in zip(later, pairs, strict=True)
        ]
        values = [np.maximum(values[a], values[b]) for a, b in pairs] + values[last:]
        places = won + places[last:]
    place: Traced = 0 * values[0] if len(rows) == 1 else places[0]
    if keepdims is not True:
        return place
    lengths = np.argmax(_bare(x), axis=axis, keepdims=True).shape
    shaped: Traced = place.reshape(lengths)
    return shaped


def _known_or_traced(a: Any) -> Any:
    return a if isinstance(a, Traced) else np.asarray(a)


def _outer(a: Any, b: Any) -> Any:
    x, y = _known_or_traced(a), _known_or_traced(b)
    return np.multiply(x.reshape(-1, 1), y.reshape(1, -1))


def _inner(a: Any, b: Any) -> Any:
    x, y = _known_or_traced(a), _known_or_traced(b)
    return _dot(x, y.T)


def _cumsum(x: Any, axis: Any = None, **options: Any) -> Any:
    _refuse_options("cumsum", options)
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, operator.index(axis), 0)
    sums = np.stack([rows[: k + 1].sum(axis=0) for k in range(len(rows))])
    return sums if axis is None else np.moveaxis(sums, 0, operator.index(axis))


def _diff(x: Any, n: Any = 1, axis: Any = -1, **options: Any) -> Any:
    _refuse_options("diff", options)
    rows = np.moveaxis(x.astype(np.int64), operator.index(axis), 0)
    for _ in range(operator.index(n)):
        rows = rows[1:] - rows[:-1]
    return np.moveaxis(rows, 0, operator.index(axis))


def _select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    if len(conditions) != len(choices):
        raise TypeError(f"np.select: {len(conditions)} conditions, and {len(choices)} choices")
    found = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = np.where(condition, choice, found)
    return found


def _is_true(a: Array) -> Array:
    return np.asarray(a != 0)


def _matmul(a: Any, b: Any) -> Traced:
    if isinstance(a, Traced) and isinstance(b, Traced):
        return _matmul_of_two(whole(a), whole(b))
    left = isinstance(b, Traced)
    x, weights = (whole(b), integers(a)) if left else (whole(a), integers(b))
    if weights.ndim not in (1, 2):
        raise TypeError(f"@: constants of shape {weights.shape} must have one or two axes")
    if weights.dtype.kind == "b" and x.dtype.kind == "b":
        raise TypeError("@ of bools counts nothing; write x.astype(np.int64)")
    return Traced(x._graph, x._graph.matmul("matmul", x._node, weights.astype(np.int64), left))


def _matmul_of_two(a: Traced, b: Traced) -> Traced:
    if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2):
        raise TypeError(
            f"@ of encrypted arrays of shapes {a.shape} and {b.shape}: one or two axes are needed"
        )
    if a.dtype.kind == b.dtype.kind == "b":
        raise TypeError("@ of bools counts nothing; write x.astype(np.int64)")
    shape = np.matmul(np.zeros(a.shape), np.zeros(b.shape)).shape
    left = a if a.ndim == 2 else a.reshape(1, -1)
    right = b if b.ndim == 2 else b.reshape(-1, 1)
    products = left[:, :, None] * right[None, :, :]
    return _sum(products, 1).reshape(shape)


def _dot(a: Any, b: Any) -> Any:
    if not np.ndim(_bare(a)) or not np.ndim(_bare(b)):
        return np.multiply(a, b)
    if np.ndim(_bare(b)) > 2:
        raise TypeError("np.dot of encrypted arrays: the second one has two axes at most")
    return np.matmul(a, b)


def _bare(a: Any) -> Array:
    return np.zeros(a.shape) if isinstance(a, Traced) else np.asarray(a)


def _convolve(x: Any, kernel: Any, mode: Any = "full") -> Any:
    if isinstance(kernel, Traced):
        x, kernel = kernel, x
    if isinstance(kernel, Traced) or x.ndim != 1:
        raise TypeError("np.convolve takes one encrypted array of one axis, and a known one")
    weights = integers(kernel).astype(np.int64)
    if mode == "valid" and len(weights) > x.size:
        raise TypeError("np.convolve: a kernel longer than the array, with mode 'valid'")
    rows = [np.convolve(row, weights, mode) for row in np.eye(x.size, dtype=np.int64)]
    return np.stack(rows, axis=1) @ x


def _where(condition: Any, *choices: Any) -> Traced:
    if len(choices) != 2:
        raise TypeError("np.where of encrypted values takes a condition and two arrays")
    if not isinstance(condition, Traced):
        a, b = (_together(each, *_first_traced(choices))[0] for each in choices)
        known = np.asarray(condition, dtype=bool)
        shape = np.broadcast_shapes(known.shape, a.shape, b.shape)

        def pick(x: Array, y: Array) -> Array:
            return np.where(known, np.broadcast_to(x, shape), np.broadcast_to(y, shape))

        return viewed("where", pick, a, b)
    bit = condition if condition.dtype.kind == "b" else composed(condition, "!= 0", _is_true)
    c, a, b = _together(bit, *choices)
    return Traced(c._graph, c._graph.where(c._node, a._node, b._node))


def _first_traced(arrays: Sequence[Any]) -> list[Traced]:
    return [each for each in arrays if isinstance(each, Traced)][:1]


def _clip(x: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    least, most = options.pop("min", a_min), options.pop("max", a_max)
    _refuse_options("clip", options)
    if any(isinstance(each, Traced) for each in (least, most)):
        raised = x if least is None else np.maximum(x, least)
        return raised if most is None else np.minimum(raised, most)
    uniform = all(np.ndim(each) == 0 for each in (least, most))
    shape = np.broadcast_shapes(
        x.shape, *(np.shape(each) for each in (least, most) if each is not None)
    )
    return composed(x, "clip", lambda a: np.asarray(np.clip(a, least, most)), uniform, shape)


def _round(x: Any, decimals: int = 0, **options: Any) -> Traced:
    _refuse_options("round", options)
    return composed(x, "round", lambda a: np.asarray(np.round(a, decimals)))


def _refuse_options(name: str, options: dict[str, Any]) -> None:
    """NumPy passes options on that were not given, as None or its mark for no value."""
    given = [k for k, v in options.items() if v is not None and v is not np._NoValue]
    if given:
        raise TypeError(f"np.{name}: {', '.join(given)} is not supported while tracing")


# ---- moving elements


def _viewed(function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """The function of arrays of places, in the places of all arrays among the arguments."""
    first = args[0]
    several = isinstance(first, (list, tuple))
    arrays = list(first) if several else [first]
    if any(isinstance(each, Traced) for each in (*args[1:], *options.values())):
        raise TypeError(f"np.{function.__name__}: encrypted values have no use as such arguments")

    name = function.__name__
    graph, nodes, places = places_of(arrays)
    found = function(places if several else places[0], *args[1:], **options)
    if isinstance(found, (list, tuple)):
        return [view(name, graph, nodes, part) for part in found]
    return view(name, graph, nodes, found)


_VIEWS = {
    np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.squeeze,
    np.expand_dims, np.broadcast_to, np.flip, np.fliplr, np.flipud, np.roll, np.rot90, np.repeat,
    np.tile, np.take, np.diagonal, np.split, np.array_split, np.hsplit, np.vsplit, np.concatenate,
    np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.atleast_1d, np.atleast_2d,
    np.atleast_3d, np.delete, np.compress, np.resize, np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.sum: _sum,
    np.max: lambda x, axis=None, out=None, keepdims=False, **o: _reduced(
        np.maximum, x, axis, keepdims, out=out, **o
    ),
    np.min: lambda x, axis=None, out=None, keepdims=False, **o: _reduced(
        np.minimum, x, axis, keepdims, out=out, **o
    ),
    np.any: lambda x, axis=None, out=None, keepdims=False, **o: _reduced(
        np.logical_or, x, axis, keepdims, out=out, **o
    ),
    np.all: lambda x, axis=None, out=None, keepdims=False, **o: _reduced(
        np.logical_and, x, axis, keepdims, out=out, **o
    ),
    np.amax: lambda *a, **o: _FUNCTIONS[np.max](*a, **o),
    np.amin: lambda *a, **o: _FUNCTIONS[np.min](*a, **o),
    np.argmax: lambda x, axis=None, out=None, **o: _extreme(1, x, axis, out=out, **o),
    np.argmin: lambda x, axis=None, out=None, **o: _extreme(-1, x, axis, out=out, **o),
    np.ptp: lambda x, axis=None, **o: np.max(x, axis, **o) - np.min(x, axis, **o),
    np.count_nonzero: lambda x, axis=None, **o: np.sum(x != 0, axis=axis, **o),
    np.cumsum: _cumsum,
    np.diff: _diff,
    np.outer: _outer,
    np.inner: _inner,
    np.vdot: lambda a, b: _dot(_known_or_traced(a).reshape(-1), _known_or_traced(b).reshape(-1)),
    np.select: _select,
    np.where: _where,
    np.clip: _clip,
    np.round: _round,
    np.around: _round,
    np.dot: _dot,
    np.convolve: _convolve,
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.size: lambda x, axis=None: x.size if axis is None else x.shape[axis],
    np.zeros_like: lambda x, **_: np.zeros(x.shape, dtype=np.int64),
    np.ones_like: lambda x, **_: np.ones(x.shape, dtype=np.int64),
}


# ---- tables of one's own


def univariate(function: Callable[[int], int]) -> Callable[[Any], Any]:
    """A function of NumPy arrays that takes each element through a function of one integer.

    While tracing it becomes a table. The function is called with each int that an element may be,
    also with those that the input set does not have, and returns an int.

    >>> import numpy as np
    >>> is_prime = univariate(lambda n: int(n > 1 and all(n % k for k in range(2, n))))
    >>> is_prime(np.array([1, 2, 9, 11]))
    array([0, 1, 0, 1])
    """

    def each(values: Array) -> Array:
        flat = [function(int(v)) for v in values.ravel()]
        return _of_list(flat, values.shape, "univariate")

    def apply(x: Any) -> Any:
        return composed(x, "univariate", each) if isinstance(x, Traced) else each(np.asarray(x))

    return apply


def bivariate(function: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    """The same for a function of two integers, which broadcast. Its table has at most 2^16 entries.

    >>> import numpy as np
    >>> bivariate(lambda a, b: a * b % 7)(np.array([2, 3]), np.array([5, 6]))
    array([3, 4])
    """

    def each(a: Array, b: Array) -> Array:
        x, y = np.broadcast_arrays(a, b)
        flat = [function(int(v), int(w)) for v, w in zip(x.ravel(), y.ravel(), strict=True)]
        return _of_list(flat, x.shape, "bivariate")

    def apply(a: Any, b: Any) -> Any:
        if not isinstance(a, Traced) and not isinstance(b, Traced):
            return each(np.asarray(a), np.asarray(b))
        if isinstance(a, Traced) and isinstance(b, Traced):
            return _bivariate(each, "bivariate", *_together(a, b))
        x, y = _together(a, b)
        return _bivariate(each, "bivariate", x, y)

    return apply


def rounded(x: Any, bits: int) -> Any:
    """x / 2^bits, rounded to the nearest integer, halves up: ⌊(x + 2^(bits-1)) / 2^bits⌋.

    Tables of the result are smaller than those of x: round before a function of a wide integer.

    >>> import numpy as np
    >>> rounded(np.array([7, 8, 24, -8, -9]), 4)
    array([ 0,  1,  2,  0, -1])
    """
    dropped = operator.index(bits)
    if not 0 <= dropped <= MOST_SHIFT:
        raise ValueError(f"bits: {dropped} is outside 0 … {MOST_SHIFT}")
    return x if dropped == 0 else (x + (1 << (dropped - 1))) >> dropped


def leaves(bits: Any, paths: Sequence[Path], values: Array) -> Any:
    """The row of `values` of the leaf of a decision tree to which the bits lead: that of the only
    path whose bits are all as it says."""
    if not isinstance(bits, Traced):
        return values[leaf_of(np.asarray(bits), paths)]
    source = whole(bits)
    return Traced(source._graph, source._graph.leaves(source._node, paths, values))


def _of_list(values: list[Any], shape: Shape, name: str) -> Array:
    for value in values:
        operator.index(value)
    return whole_values(np.array(values, dtype=np.object_).reshape(shape), name)


Traced._on_ufunc, Traced._on_function = apply_ufunc, apply_function
