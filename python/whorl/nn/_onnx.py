"""Reads ONNX models. Whatever does not depend on the input is computed by ONNX's reference."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._core.text import shown
from ..errors import Error, ParameterError, ShapeError
from ._batched import BATCH, HINTS, Batched, Tensor
from ._graph import FUNCTIONS, Graph
from ._onnx_recurrent import recurrent
from ._recurrent import Operations

if TYPE_CHECKING:
    import onnx

Attributes: TypeAlias = dict[str, Any]

OWN_DOMAINS = ("", "ai.onnx")
"""What operators of ONNX itself are called."""
LEAST_OPSET = 7
"""The first version whose operators broadcast as numpy does."""


def read_onnx(model: onnx.ModelProto | bytes | str | os.PathLike[str]) -> Graph:
    """The graph of an ONNX model: the object, its bytes, or the path of its file.

    The model has one input and one output, whose first axis is the batch; the other sizes of the
    input are given. `ParameterError` for what cannot be done and for weights that are not finite,
    and `ShapeError` for what does not fit; messages have the name and the type of the node.
    `ModuleNotFoundError` where the package onnx is missing.
    """
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'onnx, which reads the model, is missing: pip install "whorl-fhe[nn]"'
        ) from error
    try:
        if isinstance(model, (bytes, bytearray)):
            model = onnx.load_model_from_string(bytes(model))
        elif isinstance(model, (str, os.PathLike)):
            model = onnx.load_model(os.fspath(model))
        onnx.checker.check_model(model)
    except OSError:
        raise
    except Exception as error:  # of protobuf, or of onnx's checker
        raise ParameterError(f"model: not a valid ONNX model: {error}") from error
    reader = _Reader(model, BATCH)
    graph = reader.graph()
    if reader.asks_for_shapes:
        _compare(graph, _Reader(model, BATCH + 1).graph())
    return graph


def _compare(graph: Graph, other: Graph) -> None:
    """`ParameterError` if graphs that were read for batches of two sizes differ: shapes that a
    model asks for may get into its numbers."""
    x = np.random.default_rng(0).normal(size=(1, *graph.nodes[0].shape))
    with np.errstate(all="ignore"):
        one, two = graph.tensors(x), other.tensors(x)[-1]
    largest = max(float(np.abs(tensor).max()) for tensor in one)
    if one[-1].shape != two.shape or np.abs(one[-1] - two).max() > 1e-9 * largest:
        raise ParameterError("model: its result depends on the size of the batch")


class _Reader:
    def __init__(self, model: onnx.ModelProto, batch: int) -> None:
        from onnx import numpy_helper

        self.model = model
        self.name = "model"
        self.results = 1
        """How many results the node has that is read."""
        self.asks_for_shapes = False
        """Whether the model takes the shape of a tensor, with the batch."""
        versions = [each.version for each in model.opset_import if each.domain in OWN_DOMAINS]
        if min(versions, default=LEAST_OPSET) < LEAST_OPSET:
            raise ParameterError(
                f"model: its operators are of version {min(versions)}; they have to be of version "
                f"{LEAST_OPSET} or above, where they broadcast as numpy does: convert it with "
                "onnx.version_converter"
            )
        self.values: dict[str, Any] = {
            each.name: numpy_helper.to_array(each) for each in model.graph.initializer
        }
        inputs = [each for each in model.graph.input if each.name not in self.values]
        if len(inputs) != 1 or len(model.graph.output) != 1:
            raise ParameterError(
                f"model: it has {len(inputs)} inputs and {len(model.graph.output)} outputs; it has "
                "to have one of each"
            )
        axes = inputs[0].type.tensor_type.shape.dim
        sizes = [axis.dim_value for axis in axes]
        if not sizes or 0 in sizes[1:]:
            raise ShapeError(
                f"{inputs[0].name}: the model does not say the sizes of its input; all but the "
                "first, which is the batch, have to be given"
            )
        self.declared = sizes[0]
        """Samples of a batch, if the model fixes them; otherwise 0."""
        self.batched = Batched(sizes[1:], batch)
        self.values[inputs[0].name] = Tensor(0)

    def graph(self) -> Graph:
        for node in self.model.graph.node:
            self.name = next(filter(None, (node.name, *node.output)), node.op_type)
            try:
                self._read(node)
            except Error as error:
                raise type(error)(f"{error} ({node.op_type})") from error
        (output,) = self.model.graph.output
        result = self.values[output.name]
        if not isinstance(result, Tensor):
            raise ShapeError(f"{output.name}: the result does not depend on the input")
        return self.batched.graph(result)

    def _read(self, node: onnx.NodeProto) -> None:
        import onnx

        lost = [name for name in node.input if name and name not in self.values]
        if lost:
            self.refuse(f"the second result {lost[0]} of a node is not supported")
        given = [self.values[name] if name else None for name in node.input]
        known, self.results = node.domain in OWN_DOMAINS, len(node.output)
        if not any(isinstance(each, Tensor) for each in given):
            out = self._folded(node)
        elif node.op_type not in OPERATIONS or not known:
            what = node.op_type if known else f"{node.domain}.{node.op_type}"
            # Names of ONNX are those of the hints without underscores.
            hint = next(
                (f"; {text}" for name, text in HINTS.items() if re.search(name, what.lower())), ""
            )
            self.refuse(f"{what} cannot be computed on encrypted values{hint}")
        else:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            try:
                out = OPERATIONS[node.op_type](self, attributes, *given)
            except (ValueError, IndexError) as error:  # of numpy, which moves values
                raise ShapeError(f"{self.name}: {error}") from error
        outputs = out if isinstance(out, (list, tuple)) else [out]
        self.values.update(zip(node.output, outputs, strict=False))

    def _folded(self, node: onnx.NodeProto) -> Any:
        """What a node makes of constants: alone it is a model."""
        import onnx
        from onnx.reference import ReferenceEvaluator

        constants = {name: self.values[name] for name in node.input if name}
        inputs, outputs = (
            [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in names]
            for names in (constants, node.output)
        )
        graph = onnx.helper.make_graph([node], "constants", inputs, outputs)
        alone = onnx.helper.make_model(graph, opset_imports=self.model.opset_import)
        try:
            return ReferenceEvaluator(alone).run(None, constants)
        except Exception as error:
            return self.refuse(f"it cannot be computed from constants: {error}")

    # ---- operands

    def refuse(self, why: str) -> Any:
        raise ParameterError(f"{self.name}: {why}")

    def constant(self, what: str, value: Any) -> Any:
        if isinstance(value, Tensor):
            self.refuse(f"{what} depends on the input; it has to be constant")
        return value

    def whole(self, what: str, value: Any) -> list[int] | None:
        """Whole numbers of an attribute or a constant; None if there are none."""
        value = self.constant(what, value)
        return None if value is None else np.atleast_1d(value).astype(int).tolist()

    def shape(self, x: Any) -> tuple[int, ...]:
        return self.batched.shape(x) if isinstance(x, Tensor) else np.shape(x)

    def move(self, x: Tensor, how: Callable[[Any], Any]) -> Tensor:
        return self.batched.move(self.name, x, how)

    def or_zeros(self, x: Tensor | None, *operands: Any) -> Any:
        if x is not None:
            return x
        return np.zeros(np.broadcast_shapes(*map(self.shape, operands)))

    def joined(self, operands: Sequence[Any], how: Callable[[list[Any]], Any]) -> Tensor | None:
        """What a function makes of arrays, if it does no more than to join them."""
        tensors = [x for x in operands if isinstance(x, Tensor)]
        places = iter(self.batched.places(tensors))
        if any(np.any(x) for x in operands if not isinstance(x, Tensor)):
            self.refuse("constants other than 0 cannot be joined with encrypted values")
        each = [next(places) if isinstance(x, Tensor) else np.full(x.shape, -1) for x in operands]
        return self.batched.moved(self.name, tensors, how(each))


# ---- operations: the reader, attributes, and operands


def _add(r: _Reader, a: Attributes, x: Any, y: Any) -> Any:
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return r.batched.sum(r.name, x, y)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        return x + y
    x, y = (x, y) if isinstance(x, Tensor) else (y, x)
    return r.or_zeros(r.batched.affine(r.name, x, 1.0, y), x, y)


def _neg(r: _Reader, a: Attributes, x: Any) -> Any:
    return _mul(r, a, x, np.asarray(-1.0)) if isinstance(x, Tensor) else -x


def _sub(r: _Reader, a: Attributes, x: Any, y: Any) -> Any:
    return _add(r, a, x, _neg(r, a, y))


def _mul(r: _Reader, a: Attributes, x: Any, y: Any) -> Any:
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return r.batched.product(r.name, x, y)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        return x * y
    x, y = (x, y) if isinstance(x, Tensor) else (y, x)
    return r.or_zeros(r.batched.affine(r.name, x, y, 0.0), x, y)


def _div(r: _Reader, a: Attributes, x: Any, y: Any) -> Any:
    return r.batched.divided(r.name, x, r.constant("the divisor", y))


def _all(r: _Reader, a: Attributes, *operands: Any) -> Any:
    out, *rest = operands
    for each in rest:
        out = _add(r, a, out, each)
    return out


def _pow(r: _Reader, a: Attributes, x: Any, exponent: Any) -> Any:
    if not isinstance(x, Tensor):
        r.refuse("the exponent depends on the input; it has to be constant")
    return r.batched.power(r.name, x, r.constant("the exponent", exponent))


def _function(name: str) -> Callable[..., Any]:
    return lambda r, a, x: r.batched.function(r.name, x, name)


def _gelu(r: _Reader, a: Attributes, x: Any) -> Any:
    exact = a.get("approximate", b"none") == b"none"
    return _function("gelu" if exact else "gelu_tanh")(r, a, x)


def _matmul(r: _Reader, a: Attributes, x: Any, y: Any) -> Any:
    if not isinstance(x, Tensor):
        r.refuse("a constant matrix times encrypted values: write the encrypted ones first")
    weight = r.constant("the second factor", y)
    if weight.ndim != 2:
        r.refuse(f"the second factor has shape {shown(weight.shape)}; it has to be a matrix")
    return r.batched.linear(r.name, x, weight.T)


def _gemm(r: _Reader, a: Attributes, x: Any, y: Any, c: Any = None) -> Any:
    if not isinstance(x, Tensor) or a.get("transA"):
        r.refuse("the first factor has to be the encrypted one, and not transposed")
    weight = np.asarray(r.constant("the second factor", y), dtype=np.float64)
    out = r.batched.linear(
        r.name, x, a.get("alpha", 1.0) * (weight if a.get("transB") else weight.T)
    )
    if c is None:
        return out
    beta = a.get("beta", 1.0)
    return _add(r, a, out, _mul(r, a, c, beta) if isinstance(c, Tensor) else beta * c)


def _pads(r: _Reader, a: Attributes, sizes: Any, spans: Any, strides: Any) -> list[Any]:
    """Zeros before and after each axis; `spans` is how far windows reach."""
    axes = len(spans)
    kind = a.get("auto_pad", b"NOTSET").decode()
    if kind.startswith("SAME"):
        out = []
        for size, span, step in zip(sizes, spans, strides, strict=True):
            total = max((-(-size // step) - 1) * step + span - size, 0)
            less, more = total // 2, total - total // 2
            out.append((less, more) if kind == "SAME_UPPER" else (more, less))
        return out
    given = a.get("pads", [0] * 2 * axes) if kind == "NOTSET" else [0] * 2 * axes
    return list(zip(given[:axes], given[axes:], strict=True))


def _conv(r: _Reader, a: Attributes, x: Any, weight: Any, bias: Any = None) -> Any:
    kernel = r.constant("the weight", weight)
    axes = kernel.ndim - 2
    strides, gaps = a.get("strides", [1] * axes), a.get("dilations", [1] * axes)
    spans = [gap * (n - 1) + 1 for gap, n in zip(gaps, kernel.shape[2:], strict=True)]
    return r.batched.windows(
        r.name,
        x,
        kernel,
        r.constant("the bias", bias),
        stride=strides,
        padding=_pads(r, a, r.batched.shape(x)[2:], spans, strides),
        dilation=gaps,
        groups=a.get("group", 1),
    )


def _average_pool(r: _Reader, a: Attributes, x: Any) -> Any:
    kernel = a["kernel_shape"]
    strides = a.get("strides", [1] * len(kernel))
    if any(gap != 1 for gap in a.get("dilations", [])):
        r.refuse("dilations of a pooling have to be 1")
    sizes = r.batched.shape(x)[2:]
    pads = _pads(r, a, sizes, kernel, strides)
    if a.get("ceil_mode") and any(
        (size + sum(pad) - n) % step
        for size, pad, n, step in zip(sizes, pads, kernel, strides, strict=True)
    ):
        r.refuse("ceil_mode makes windows that lie partly outside; it has to be 0")
    counts = bool(a.get("count_include_pad", 0))
    return r.batched.average(r.name, x, kernel, strides, pads, zeros_count=counts)


def _global_average(r: _Reader, a: Attributes, x: Any) -> Any:
    return r.batched.average_to(r.name, x, [1] * (len(r.batched.shape(x)) - 2))


def _batch_norm(
    r: _Reader, a: Attributes, x: Any, scale: Any, bias: Any, mean: Any, variance: Any
) -> Any:
    if a.get("training_mode"):
        r.refuse("it is in training mode; export the model for inference")
    for each in (scale, bias, mean, variance):
        r.constant("a statistic", each)
    epsilon = a.get("epsilon", 1e-5)
    return r.batched.normalised(r.name, x, mean, variance, scale, bias, epsilon)


def _reduce(mean: bool) -> Callable[..., Any]:
    def call(r: _Reader, a: Attributes, x: Any, axes: Any = None) -> Any:
        over = r.whole("axes", a.get("axes") if axes is None else axes)
        if not over:
            if a.get("noop_with_empty_axes"):
                return x
            over = None
        return r.batched.summed(r.name, x, over, bool(a.get("keepdims", 1)), mean)

    return call


def _reshape(r: _Reader, a: Attributes, x: Any, shape: Any) -> Any:
    sizes = r.whole("the shape", shape)
    assert sizes is not None
    own = r.batched.shape(x)
    if not a.get("allowzero"):
        if any(not n and i >= len(own) for i, n in enumerate(sizes)):
            r.refuse(f"shape {sizes} copies an axis that a tensor of shape {shown(own)} lacks")
        sizes = [n or own[i] for i, n in enumerate(sizes)]
    if r.declared and sizes[:1] == [r.declared]:
        sizes[0] = r.batched.batch
    return r.move(x, lambda places: places.reshape(sizes))


def _flatten(r: _Reader, a: Attributes, x: Any) -> Any:
    axis = a.get("axis", 1)
    first = math.prod(r.batched.shape(x)[:axis])
    return r.move(x, lambda places: places.reshape(first, -1))


def _squeeze(r: _Reader, a: Attributes, x: Any, axes: Any = None) -> Any:
    over = r.whole("axes", a.get("axes") if axes is None else axes)
    return r.move(x, lambda places: np.squeeze(places, None if over is None else tuple(over)))


def _unsqueeze(r: _Reader, a: Attributes, x: Any, axes: Any = None) -> Any:
    over = r.whole("axes", a.get("axes") if axes is None else axes)
    return r.move(x, lambda places: np.expand_dims(places, tuple(over or ())))


def _joined(r: _Reader, a: Attributes, *operands: Any) -> Any:
    return r.joined(operands, lambda each: np.concatenate(each, a["axis"]))


def _slice(
    r: _Reader,
    a: Attributes,
    x: Any,
    starts: Any = None,
    ends: Any = None,
    axes: Any = None,
    steps: Any = None,
) -> Any:
    first = r.whole("starts", a.get("starts") if starts is None else starts) or []
    last = r.whole("ends", a.get("ends") if ends is None else ends) or []
    over = r.whole("axes", a.get("axes") if axes is None else axes) or list(range(len(first)))
    by = r.whole("steps", steps) or [1] * len(first)
    key = [slice(None)] * len(r.batched.shape(x))
    for axis, start, end, step in zip(over, first, last, by, strict=True):
        key[axis] = slice(start, end, step)
    return r.move(x, lambda places: places[tuple(key)])


def _gather(r: _Reader, a: Attributes, x: Any, indices: Any) -> Any:
    if not isinstance(x, Tensor):
        r.refuse("the indices depend on the input; they have to be constant")
    which = np.asarray(r.constant("indices", indices))
    return r.move(x, lambda places: np.take(places, which, a.get("axis", 0)))


def _split(r: _Reader, a: Attributes, x: Any, split: Any = None) -> Any:
    axis = a.get("axis", 0)
    sizes = r.whole("split", a.get("split") if split is None else split)
    length = r.batched.shape(x)[axis]
    if sizes is None:
        each = -(-length // a.get("num_outputs", r.results))
        sizes = [min(each, length - start) for start in range(0, length, each)]
    ends = np.cumsum(sizes)
    parts = [np.arange(end - n, end) for n, end in zip(sizes, ends, strict=True)]
    return [r.move(x, functools.partial(np.take, indices=part, axis=axis)) for part in parts]


def _pad(
    r: _Reader, a: Attributes, x: Any, pads: Any = None, value: Any = None, axes: Any = None
) -> Any:
    given = r.whole("pads", a.get("pads") if pads is None else pads) or []
    constant = r.constant("the value", a.get("value", 0.0) if value is None else value)
    if a.get("mode", b"constant") != b"constant" or np.any(constant) or min(given, default=0) < 0:
        r.refuse("only padding with zeros can be done")
    rank = len(r.batched.shape(x))
    over = r.whole("axes", axes) or list(range(rank))
    sides = [(0, 0)] * rank
    for axis, before, after in zip(over, given[: len(over)], given[len(over) :], strict=True):
        sides[axis] = before, after
    return r.move(x, lambda places: np.pad(places, sides, constant_values=-1))


def _expand(r: _Reader, a: Attributes, x: Any, shape: Any) -> Any:
    wanted = np.broadcast_shapes(r.batched.shape(x), tuple(r.whole("the shape", shape) or ()))
    return r.move(x, lambda places: np.broadcast_to(places, wanted))


def _transpose(r: _Reader, a: Attributes, x: Any) -> Any:
    return r.move(x, lambda places: np.transpose(places, a.get("perm")))


def _cast(r: _Reader, a: Attributes, x: Any) -> Any:
    import onnx

    if not np.issubdtype(onnx.helper.tensor_dtype_to_np_dtype(a["to"]), np.floating):
        r.refuse("a cast to numbers that are not floating-point rounds, which cannot be done")
    return x


def _dropout(r: _Reader, a: Attributes, x: Any, ratio: Any = None, training: Any = None) -> Any:
    if training is not None and np.any(r.constant("training_mode", training)):
        r.refuse("it is in training mode; export the model for inference")
    return x


def _shape(r: _Reader, a: Attributes, x: Any) -> Any:
    r.asks_for_shapes = True
    return np.asarray(r.batched.shape(x)[a.get("start", 0) : a.get("end")])


def _recurrent(kind: str) -> Callable[..., Any]:
    def call(r: _Reader, a: Attributes, *operands: Any) -> Any:
        def linear(x: Any, weight: Any, bias: Any) -> Any:
            if isinstance(x, Tensor):
                return r.batched.linear(r.name, x, weight, bias)
            return x @ weight.T + (0.0 if bias is None else bias)

        def function(name: str, x: Any) -> Any:
            return _function(name)(r, a, x) if isinstance(x, Tensor) else FUNCTIONS[name](x)

        add, multiply = functools.partial(_add, r, a), functools.partial(_mul, r, a)
        return recurrent(r, kind, Operations(linear, add, multiply, function), a, *operands)

    return call


OPERATIONS: dict[str, Callable[..., Any]] = {
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Neg": _neg,
    "Sum": _all,
    "Pow": _pow,
    "Relu": _function("relu"),
    "Sigmoid": _function("sigmoid"),
    "Tanh": _function("tanh"),
    "Erf": _function("erf"),
    "Gelu": _gelu,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "AveragePool": _average_pool,
    "GlobalAveragePool": _global_average,
    "BatchNormalization": _batch_norm,
    "ReduceMean": _reduce(True),
    "ReduceSum": _reduce(False),
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _joined,
    "Slice": _slice,
    "Gather": _gather,
    "Split": _split,
    "Pad": _pad,
    "Expand": _expand,
    "Transpose": _transpose,
    "Identity": lambda r, a, x: x,
    "Cast": _cast,
    "Dropout": _dropout,
    "LSTM": _recurrent("LSTM"),
    "RNN": _recurrent("RNN"),
    "Shape": _shape,
}
