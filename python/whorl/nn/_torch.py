"""Reads a `torch.nn.Module`: torch.fx calls its code, and each call makes nodes of a graph.

Layers of torch.nn are followed down to the functions that they call, but for recurrent ones, whose
loops are not in Python. Whatever does not depend on the input is computed by torch.
"""

from __future__ import annotations

import math
import os
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import fx

from .._core.text import shown
from ..errors import Error, ParameterError, ShapeError
from ._batched import BATCH, HINTS, Batched, Tensor
from ._builder import numbers
from ._graph import Graph
from ._torch_recurrent import RECURRENT


def read_torch(model: torch.nn.Module, shape: Sequence[int]) -> Graph:
    """The graph of a model in evaluation mode, for inputs of `shape`, without the batch.

    The model takes one tensor of shape (batch, *shape) and gives one, whose first axis is the
    batch. `ParameterError` for what cannot be done and for weights that are not finite, and
    `ShapeError` for what does not fit; messages have the layer's name, its type, and the line of
    the model's code. The graph is compared with the model on random inputs, so that a model whose
    code does not say what it computes is refused.
    """
    for name, module in model.named_modules():
        if module.training:
            raise ParameterError(
                f"{_called(name, module)} is in training mode; call model.eval() first"
            )
    for name, values in (*model.named_parameters(), *model.named_buffers()):
        if values.is_complex():
            raise ParameterError(f"{name}: weights are complex; they have to be real")
        numbers(name, "weights", _array(values))
    tracer = _Tracer(model, shape)
    try:
        with torch.no_grad():
            tracer.trace(tracer.whole)
        graph = tracer.graph_of(tracer.whole.result)
    except Error as error:
        raise type(error)(f"{error}{tracer.where(error)}") from error
    except Exception as error:  # whatever the model's code raises
        what = " ".join(str(error).split())
        called = _called(*tracer.modules[-1])
        raise ParameterError(
            f"torch.fx cannot follow {called}: {what}{tracer.where(error)}"
        ) from error
    _compare(model, graph, shape)
    return graph


def _compare(model: torch.nn.Module, graph: Graph, shape: Sequence[int]) -> None:
    """`ParameterError` if the model computes something else than its graph."""
    example = next(model.parameters(), torch.zeros(()))
    random = torch.Generator().manual_seed(0)
    given = torch.randn(BATCH + 1, *shape, generator=random, dtype=torch.float64)
    given = given.to(example.device, example.dtype)
    x = _array(given)
    try:
        with torch.no_grad():
            result = _array(model(given))
    except Exception as error:
        raise ParameterError(f"the model refuses a batch of shape {x.shape}: {error}") from error
    tensors = graph.tensors(x)
    largest = max(float(np.abs(tensor).max()) for tensor in tensors)
    most = math.sqrt(torch.finfo(example.dtype).eps) * largest
    if result.shape != tensors[-1].shape or np.abs(result - tensors[-1]).max() > most:
        raise ParameterError(
            "the model computes something else than its code says: its result may depend on the "
            "size of the batch, on random numbers, or on tensors that are overwritten"
        )


def _array(values: torch.Tensor) -> np.ndarray[Any, Any]:
    out: np.ndarray[Any, Any] = values.detach().cpu().to(torch.float64).numpy()
    return out


def _called(name: str, module: torch.nn.Module) -> str:
    return f"{name or 'the model'} ({type(module).__name__})"


class _Whole(torch.nn.Module):  # type: ignore[misc]
    """Calls a model, and keeps what it returns from torch.fx."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        self.result: Any = None

    def forward(self, x: Any) -> None:
        self.result = self.model(x)


class _Value(fx.Proxy):  # type: ignore[misc]
    """A tensor that depends on the input."""

    def __init__(self, tracer: _Tracer, tensor: Tensor) -> None:
        super().__init__(tracer.create_node("placeholder", "value", (), {}), tracer)
        self.tensor = tensor

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self.tracer.batched.shape(self.tensor))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.tracer.like.dtype

    @property
    def device(self) -> torch.device:
        return self.tracer.like.device

    @property
    def T(self) -> Any:
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Any:
        return self.transpose(-1, -2)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __bool__(self) -> bool:
        return bool(self.tracer.refuse(DECIDES))

    def __int__(self) -> int:
        return int(self.tracer.refuse(DECIDES))

    def __index__(self) -> int:
        return int(self.tracer.refuse(DECIDES))

    def __float__(self) -> float:
        return float(self.tracer.refuse(DECIDES))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.refuse("a part of a tensor is assigned to; join parts by torch.cat instead")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.unbind(0))

    def __iadd__(self, other: Any) -> Any:
        return self.add_(other)

    def __isub__(self, other: Any) -> Any:
        return self.sub_(other)

    def __imul__(self, other: Any) -> Any:
        return self.mul_(other)

    def __itruediv__(self, other: Any) -> Any:
        return self.div_(other)


def _values_in(*arguments: Any) -> list[_Value]:
    out: list[_Value] = []

    def note(x: Any) -> Any:
        if isinstance(x, _Value):
            out.append(x)
        return x

    fx.node.map_aggregate(arguments, note)
    return out


class _Tracer(fx.Tracer):  # type: ignore[misc]
    """Evaluates every call at once: to a constant of torch, or to a `_Value`."""

    def __init__(self, model: torch.nn.Module, shape: Sequence[int]) -> None:
        super().__init__()
        self.whole = _Whole(model).eval()
        self.batched = Batched(shape)
        self.like = next(model.parameters(), torch.zeros(()))
        self.modules: list[tuple[str, torch.nn.Module]] = [("", model)]
        self.function = "forward"
        self.overwritten: set[int] = set()

    # ---- what torch.fx asks

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
        return attr_val

    def call_module(
        self, m: torch.nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        try:
            name = self.path_of_module(m).removeprefix("model").removeprefix(".")
        except NameError:  # no module has it, as where a list of Python's does
            name = self.modules[-1][0]
        self.modules.append((name, m))
        own = RECURRENT.get(type(m))
        hooked = m._forward_hooks or m._forward_pre_hooks
        out = forward(*args, **kwargs) if own is None or hooked else own(m, *args, **kwargs)
        self.modules.pop()  # not after an error, which they are asked for
        return out

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, *_: Any, **__: Any
    ) -> Any:
        if kind == "placeholder":
            return _Value(self, Tensor(0))
        name = target if isinstance(target, str) else target.__name__
        plain = name.strip("_")
        caller, self.function = self.function, plain
        theirs = getattr(target, "__module__", None) or "torch"
        if not isinstance(target, str) and theirs.split(".")[0] not in ("torch", "_operator"):
            self.refuse(f"the function {theirs}.{name} is not followed")
        self.check_overwritten(_values_in(args, kwargs))
        kwargs = dict(kwargs)
        inplace = kwargs.pop("inplace", False) or (name.endswith("_") and not name.startswith("_"))
        if plain in MOVES:
            out = self.move(target, args, kwargs)
        elif plain in CALLS:
            out = CALLS[plain](self, *args, **kwargs)
        elif re.fullmatch(DECISIONS, plain):
            self.refuse(f"{plain}: {DECIDES}")
        else:
            hint = next(
                (f"; {text}" for known, text in HINTS.items() if re.search(known, plain)), ""
            )
            self.refuse(f"{plain} cannot be computed on encrypted values{hint}")
        self.function = caller  # not after an error, which it names
        return self.overwrite(args[0], out) if inplace else out

    # ---- values

    def refuse(self, why: str) -> Any:
        raise ParameterError(f"{self.name}: {why}")

    @property
    def name(self) -> str:
        """The layer that is called, or the function in a module of the user's."""
        name, module = self.modules[-1]
        if type(module).__module__.startswith("torch.nn."):
            return name or type(module).__name__
        return f"{name}.{self.function}" if name else self.function

    def value(self, tensor: Tensor) -> _Value:
        return _Value(self, tensor)

    def zeros(self, shape: Sequence[int]) -> Any:
        return torch.zeros(*shape, dtype=self.like.dtype, device=self.like.device)

    def tensor(self, value: Any) -> Tensor:
        if not isinstance(value, _Value):
            self.refuse("weights that depend on the input cannot be used")
        tensor: Tensor = value.tensor
        return tensor

    def constant(self, value: Any) -> Any:
        """A weight as an array; None stays None."""
        if isinstance(value, _Value):
            self.refuse("a weight depends on the input; it has to be constant")
        if value is None:
            return None
        return _array(
            value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=torch.float64)
        )

    def roots(self, value: _Value) -> set[int]:
        return set(np.unique(self.batched.builder.origin(value.tensor.node)[0]).tolist())

    def check_overwritten(self, values: Sequence[_Value]) -> None:
        if self.overwritten and any(self.overwritten & self.roots(value) for value in values):
            self.refuse("the operand was overwritten in place through another view of it")

    def overwrite(self, value: _Value, result: Any) -> _Value:
        """torch's meaning of an operation in place: whoever has the tensor has the result."""
        tensor = self.tensor(result)
        if tensor.node != value.tensor.node:
            if not self.roots(value) & self.roots(result):
                self.overwritten |= self.roots(value)
            value.tensor = tensor
        return value

    def move(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Has torch move numbers of places, and moves the values as it did."""
        tensors = [value.tensor for value in _values_in(args, kwargs)]
        numbered = iter(self.batched.places(tensors))

        def places(x: Any) -> Any:
            if isinstance(x, _Value):
                return torch.from_numpy(next(numbered))
            if isinstance(x, torch.Tensor) and x.is_floating_point():
                if x.any():
                    self.refuse("constants other than 0 cannot be joined with encrypted values")
                return torch.full(x.shape, -1)
            return x

        def moved(x: Any) -> Any:
            if not isinstance(x, torch.Tensor):
                return x
            out = self.batched.moved(self.name, tensors, x.numpy())
            return self.zeros(x.shape) if out is None else self.value(out)

        args, kwargs = fx.node.map_aggregate((args, kwargs), places)
        called = getattr(torch.Tensor, target) if isinstance(target, str) else target
        try:
            out = called(*args, **kwargs)
        except (RuntimeError, IndexError, ValueError) as error:
            raise ShapeError(f"{self.name}: {error}") from error
        return fx.node.map_aggregate(out, moved)

    def graph_of(self, result: Any) -> Graph:
        self.function = "result"
        if not isinstance(result, _Value):
            self.refuse(
                f"the model returns a {type(result).__name__}; it has to return one tensor "
                "that depends on its input"
            )
        self.check_overwritten([result])
        return self.batched.graph(result.tensor)

    def where(self, error: Exception) -> str:
        """The layer's type, and the line of the model where an error arose."""
        name, module = self.modules[-1]
        facts = [type(module).__name__] if name else []
        skipped = tuple(os.path.dirname(each) for each in (torch.__file__, np.__file__, __file__))
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if not frame.filename.startswith(skipped):
                facts.append(
                    f"{os.path.basename(frame.filename)}, line {frame.lineno}: {frame.line}"
                )
                break
        return f" ({'; '.join(facts)})" if facts else ""


# ---- functions: what torch calls them, with torch's arguments


def _add(t: _Tracer, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    if alpha != 1:
        y = y * alpha
    if isinstance(x, _Value) and isinstance(y, _Value):
        return t.value(t.batched.sum(t.name, x.tensor, y.tensor))
    if not isinstance(x, _Value):
        x, y = y, x
    return _affine(t, x, 1.0, t.constant(y))


def _sub(t: _Tracer, x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return _add(t, x, y * -alpha)


def _mul(t: _Tracer, x: Any, y: Any) -> Any:
    if isinstance(x, _Value) and isinstance(y, _Value):
        return t.value(t.batched.product(t.name, x.tensor, y.tensor))
    if not isinstance(x, _Value):
        x, y = y, x
    return _affine(t, x, t.constant(y), 0.0)


def _div(t: _Tracer, x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    if isinstance(y, _Value) or rounding_mode:
        t.refuse("a division by encrypted values, or one that rounds, cannot be done")
    return t.value(t.batched.divided(t.name, t.tensor(x), t.constant(y)))


def _affine(t: _Tracer, x: _Value, factor: Any, shift: Any) -> Any:
    out = t.batched.affine(t.name, t.tensor(x), factor, shift)
    if out is None:
        return t.zeros(np.broadcast_shapes(x.shape, np.shape(factor), np.shape(shift)))
    return t.value(out)


def _pow(t: _Tracer, x: Any, exponent: Any) -> Any:
    if isinstance(exponent, _Value):
        t.refuse("an exponent that is encrypted cannot be used")
    return t.value(t.batched.power(t.name, t.tensor(x), exponent))


def _function(name: str) -> Callable[..., Any]:
    return lambda t, x: t.value(t.batched.function(t.name, t.tensor(x), name))


def _gelu(t: _Tracer, x: Any, approximate: str = "none") -> Any:
    return _function("gelu" if approximate == "none" else "gelu_tanh")(t, x)


def _linear(t: _Tracer, x: Any, weight: Any, bias: Any = None) -> Any:
    tensor = t.tensor(x)
    return t.value(t.batched.linear(t.name, tensor, t.constant(weight), t.constant(bias)))


def _matmul(t: _Tracer, x: Any, y: Any) -> Any:
    if isinstance(x, _Value):
        weight = t.constant(y)
        if weight.ndim != 2:
            t.refuse(f"a product with a constant of shape {shown(weight.shape)} is not of matrices")
        return _linear(t, x, torch.from_numpy(weight.T))
    if x.dim() != 2 or y.dim() < 2:
        t.refuse("a constant matrix times a vector: write the vector first")
    return _linear(t, y.transpose(-1, -2), x).transpose(-1, -2)


def _each(value: Any, axes: int) -> list[int]:
    """A number for each axis, as torch's arguments have it."""
    out = list(value) if isinstance(value, (tuple, list)) else [value]
    return out * axes if len(out) == 1 else out


def _conv(
    t: _Tracer,
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    kernel = t.constant(weight)
    axes = kernel.ndim - 2
    gaps = _each(dilation, axes)
    if padding == "same":  # the zero more that an even kernel needs comes last
        spans = [gap * (n - 1) for gap, n in zip(gaps, kernel.shape[2:], strict=True)]
        pads: list[Any] = [(span // 2, span - span // 2) for span in spans]
    else:
        pads = _each(0 if padding == "valid" else padding, axes)
    out = t.batched.windows(
        t.name,
        t.tensor(x),
        kernel,
        t.constant(bias),
        stride=_each(stride, axes),
        padding=pads,
        dilation=gaps,
        groups=groups,
    )
    return t.value(out)


def _avg_pool(
    t: _Tracer,
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    axes = x.dim() - 2
    kernel, pads = _each(kernel_size, axes), _each(padding, axes)
    strides = _each(stride, axes) if stride else kernel
    if ceil_mode and any(
        (n + 2 * pad - size) % step
        for n, pad, size, step in zip(x.shape[2:], pads, kernel, strides, strict=True)
    ):
        t.refuse("ceil_mode makes windows that lie partly outside; set ceil_mode=False")
    out = t.batched.average(
        t.name,
        t.tensor(x),
        kernel,
        strides,
        pads,
        zeros_count=count_include_pad,
        divisor=divisor_override,
    )
    return t.value(out)


def _adaptive(t: _Tracer, x: Any, output_size: Any) -> Any:
    size = _each(output_size, x.dim() - 2)
    return t.value(t.batched.average_to(t.name, t.tensor(x), size))


def _batch_norm(
    t: _Tracer,
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if training or running_mean is None:
        t.refuse("the normalisation has no statistics of its own, but takes those of the batch")
    mean, variance = t.constant(running_mean), t.constant(running_var)
    factor = np.ones(len(mean)) if weight is None else t.constant(weight)
    shift = np.zeros(len(mean)) if bias is None else t.constant(bias)
    out = t.batched.normalised(t.name, t.tensor(x), mean, variance, factor, shift, eps)
    return t.value(out)


def _summed(mean: bool) -> Callable[..., Any]:
    def call(t: _Tracer, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        return t.value(t.batched.summed(t.name, t.tensor(x), dim, keepdim, mean))

    return call


def _pad(t: _Tracer, x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    if mode != "constant" or value:
        t.refuse("only padding with zeros can be done")
    return t.move(F.pad, (x, pad, "constant", -1), {})


def _dropout(t: _Tracer, x: Any, p: float = 0.5, training: bool = True) -> Any:
    if training and p:
        t.refuse("dropout is called with training=True; pass training=self.training")
    return x


def _same(t: _Tracer, x: Any, *_: Any, **__: Any) -> Any:
    return x


def _zeros(t: _Tracer, x: Any, *size: Any, **_: Any) -> Any:
    given = size[0] if size and isinstance(size[0], (tuple, list)) else size or x.shape
    return t.zeros(given)


def _size(t: _Tracer, x: Any, dim: int | None = None) -> Any:
    return x.shape if dim is None else x.shape[dim]


CALLS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("add", "radd"), _add),
    **dict.fromkeys(("sub", "subtract"), _sub),
    **dict.fromkeys(("rsub",), lambda t, x, y, **how: _sub(t, y, x, **how)),
    **dict.fromkeys(("mul", "rmul", "multiply"), _mul),
    **dict.fromkeys(("div", "truediv", "divide", "true_divide"), _div),
    "neg": lambda t, x: _affine(t, x, -1.0, 0.0),
    "pos": _same,
    "pow": _pow,
    "square": lambda t, x: _pow(t, x, 2),
    **{name: _function(name) for name in ("relu", "sigmoid", "silu", "tanh", "erf")},
    "gelu": _gelu,
    "linear": _linear,
    **dict.fromkeys(("matmul", "mm"), _matmul),
    **dict.fromkeys(("conv1d", "conv2d"), _conv),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d"), _avg_pool),
    **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_avg_pool2d"), _adaptive),
    "batch_norm": _batch_norm,
    "mean": _summed(True),
    "sum": _summed(False),
    "pad": _pad,
    **dict.fromkeys(
        ("dropout", "dropout1d", "dropout2d", "alpha_dropout", "feature_alpha_dropout"), _dropout
    ),
    **dict.fromkeys(("contiguous", "clone", "detach", "float", "double", "to", "type_as"), _same),
    **dict.fromkeys(("new_zeros", "zeros_like"), _zeros),
    "size": _size,
    **dict.fromkeys(("dim", "ndimension"), lambda t, x: x.ndim),
    "numel": lambda t, x: math.prod(x.shape),
    "is_floating_point": lambda t, x: True,
}

MOVES = frozenset(
    "view reshape flatten unflatten ravel view_as reshape_as transpose swapaxes swapdims permute "
    "movedim moveaxis t squeeze unsqueeze getitem select narrow index_select unbind chunk split "
    "tensor_split expand expand_as broadcast_to repeat tile flip roll stack cat concat concatenate "
    "hstack vstack".split()
)
"""Functions that only move values."""

DECIDES = "control flow, indices and numbers of Python cannot depend on encrypted values"

DECISIONS = (
    "gt|lt|ge|le|eq|ne|bool|item|any|all|nonzero|where|argmax|argmin|sort|topk|max|min|isnan"
)
