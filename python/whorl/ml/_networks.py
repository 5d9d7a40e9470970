"""Networks of scikit-learn with quantised features, weights and activations as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tracing
from ..errors import EncodingError, ParameterError
from ..nn._graph import Affine, Function, Node
from ..nn._sklearn import read_sklearn
from ._model import Integers, Numbers, TableModel, bits_of, samples_of

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
}


@dataclasses.dataclass(frozen=True)
class Steps:
    """Real numbers low + step·q, one of each for a value, and q from 0 to `most`."""

    low: Numbers
    step: Numbers
    most: int

    @classmethod
    def of(cls, values: Numbers, bits: int) -> Steps:
        """Those that reach from the least to the largest of values (batch, size)."""
        most = 2**bits - 1
        low, high = values.min(axis=0), values.max(axis=0)
        step = (high - low) / most
        return cls(low, np.where(step > 0, step, 1.0), most)

    def nearest(self, values: Any) -> Any:
        """The q of the nearest number, of arrays and of what is traced."""
        return np.clip(np.rint((values - self.low) / self.step), 0, self.most).astype(np.int64)


@dataclasses.dataclass(frozen=True)
class Layer:
    """weights @ q are integers; scale·(weights @ q) + bias are what the layer computes."""

    weights: Integers
    scale: Numbers
    bias: Numbers
    dropped: int = 0
    """Bits of the integers that are dropped before the activation."""
    after: Callable[[Any], Any] | None = None
    """The activation, and the q of its result."""

    def __call__(self, q: Any) -> Any:
        sums = self.weights @ q
        if self.after is None:
            return sums
        middle = (2**self.dropped - 1) / 2
        return self.after(
            ((sums >> self.dropped) * 2.0**self.dropped + middle) * self.scale + self.bias
        )


@dataclasses.dataclass(frozen=True)
class Map:
    """matrix @ x + bias, and the activation behind it, if there is one."""

    matrix: Numbers
    bias: Numbers
    activation: Callable[[Any], Any] | None = None


def network_model(
    model: Any,
    examples: Any,
    bits: int = 5,
    weight_bits: int = 6,
    hidden_bits: int | None = None,
    sum_bits: int = 8,
    **options: Any,
) -> TableModel:
    """A fitted network, or linear model, also behind a `StandardScaler`.

    Features become integers of `bits` bits between the least and the largest value that `examples`
    have; samples outside of that are refused. Weights become integers of `weight_bits` bits with a
    sign, by a scale for each neuron. Activations have `hidden_bits` bits, by
    default as many as features, of sums that are cut to `sum_bits` bits. `options` are those of
    `Trace.compile`.
    """
    bits_of(bits, "bits", 1, 8)
    bits_of(weight_bits, "weight_bits", 2, 8)
    bits_of(sum_bits, "sum_bits", 4, 14)
    hidden = bits_of(bits if hidden_bits is None else hidden_bits, "hidden_bits", 1, 8)
    nodes = read_sklearn(model).nodes[1:]
    last = getattr(model, "steps", [(None, model)])[-1][1]
    classes = getattr(last, "classes_", None)
    if classes is not None and isinstance(nodes[-1], Function):
        nodes = nodes[:-1]  # a probability of the second class, which grows with the score
    features = int(read_sklearn(model).nodes[0].shape[0])
    inputs = samples_of(examples, features, "examples")
    start = Steps.of(inputs, bits)
    layers, steps = [], start
    values, clear = start.nearest(inputs), inputs
    for each in _maps(nodes, features):
        layer, steps, clear = _layer(each, steps, values, clear, weight_bits, hidden, sum_bits)
        values = np.stack([layer(row) for row in values])
        layers.append(layer)

    def function(q: Any) -> Any:
        for layer in layers:
            q = layer(q)
        return q

    def quantise(x: Any) -> Integers:
        given = samples_of(x, features)
        wrong = (given < inputs.min(axis=0)) | (given > inputs.max(axis=0))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise EncodingError(
                f"x: feature {column} of sample {row} is {given[row, column]:g}, outside "
                f"{inputs[:, column].min():g} … {inputs[:, column].max():g}, the bounds of the "
                "examples: give examples with such values, or clip it"
            )
        q: Integers = start.nearest(given)
        return q

    ends = [np.zeros(features, dtype=np.int64), np.full(features, start.most)]
    circuit = tracing.trace(function, ends).compile(**options)
    end = layers[-1]
    return TableModel(circuit, features, quantise, end.bias, end.scale, classes)


def _maps(nodes: Sequence[Node], features: int) -> list[Map]:
    """The maps of a network. Those without an activation between them are one."""
    maps = [Map(np.eye(features), np.zeros(features))]
    for node in nodes:
        last = maps[-1]
        if isinstance(node, Affine):
            if last.activation is not None:
                size = len(last.bias)
                last = Map(np.eye(size), np.zeros(size))
                maps.append(last)
            entries = node.entries()
            matrix = np.zeros((node.size, len(last.bias)))
            np.add.at(matrix, (entries.rows, entries.columns), entries.values)
            bias = matrix @ last.bias + (0.0 if node.bias is None else node.bias.ravel())
            maps[-1] = Map(matrix @ last.matrix, bias)
        elif isinstance(node, Function) and node.function in FUNCTIONS and not last.activation:
            maps[-1] = dataclasses.replace(last, activation=FUNCTIONS[node.function])
        else:
            what = " cannot be read for tables"
            if isinstance(node, Function):
                what = f": {node.function} is none of {list(FUNCTIONS)}"
            raise ParameterError(f"model: {node.name}{what}")
    if maps[-1].activation is not None:
        raise ParameterError(f"model: {nodes[-1].name} is an activation behind the last sum")
    return maps


def _layer(
    each: Map,
    steps: Steps,
    values: Integers,
    clear: Numbers,
    weight_bits: int,
    hidden: int,
    sum_bits: int,
) -> tuple[Layer, Steps, Numbers]:
    """A layer of integers, the steps of what it gives, and what the model has there in clear.

    `values` and `clear` are what the examples have before the layer. What rounding adds to a sum in
    the mean of the examples is taken off its bias.
    """
    sums = clear @ each.matrix.T + each.bias
    scaled = each.matrix * steps.step
    largest = np.abs(scaled).max(axis=1)
    scale = np.where(largest > 0, largest, 1.0) / (2 ** (weight_bits - 1) - 1)
    weights = np.rint(scaled / scale[:, None]).astype(np.int64)
    bias = (sums - values @ weights.T * scale).mean(axis=0)
    activation = each.activation
    if activation is None:
        return Layer(weights, scale, bias), steps, sums
    width = int(np.abs(weights).sum(axis=1).max()) * steps.most
    dropped = max(0, width.bit_length() - sum_bits)
    after = Steps.of(activation(values @ weights.T * scale + bias), hidden)
    layer = Layer(weights, scale, bias, dropped, lambda z: after.nearest(activation(z)))
    return layer, after, activation(sums)
