"""Recurrent layers of ONNX as graphs, beside ONNX's reference."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import whorl
from nn.networks import small_parameters
from nn.onnx_models import DOUBLE, Model, check, kinds, onnx
from whorl import nn
from whorl.nn._graph import Function, Product
from whorl.nn._onnx import read_onnx

TIMES, INPUTS, CELLS = 3, 2, 4
GATES = {"LSTM": 4, "RNN": 1}
BATCH_FIRST = {"y": [2, 0, 1, 3], "h": [1, 0, 2], "c": [1, 0, 2]}


class Recurrent(Model):
    """Inputs (batch, time, value), whose first two axes are exchanged for the layers."""

    def __init__(self, generator: np.random.Generator, times: int = TIMES, **options: Any) -> None:
        super().__init__(times, INPUTS, **options)
        self.generator, self.inputs = generator, INPUTS
        self.then("Transpose", perm=[1, 0, 2])

    def layer(
        self,
        kind: str,
        *more: Any,
        direction: str = "forward",
        bias: bool = True,
        first: Any = None,
        results: Sequence[str] = ("y",),
        **attributes: Any,
    ) -> "Recurrent":
        """A layer with random weights. `more`: its operands after the bias, "" where one lacks."""
        count = 1 + (direction == "bidirectional")
        rows, random = GATES[kind] * CELLS, self.generator.normal
        weights: list[Any] = [random(size=(count, rows, n)) / 2 for n in (self.inputs, CELLS)]
        weights.append(random(size=(count, 2 * rows)) if bias else "")
        how = {"hidden_size": CELLS, "direction": direction, **attributes}
        self.then(kind, *weights, *more, first=first, results=results, **how)
        return self

    def join(self, *names: str) -> "Recurrent":
        """What results of layers hold, as a row for each sample."""
        rows = []
        for name in names:
            self.then("Transpose", first=name, perm=BATCH_FIRST[name[0]]).then("Flatten")
            rows.append(self.last)
        self.then("Concat", *rows[1:], first=rows[0], axis=1)
        return self


@pytest.mark.parametrize("used", ["y", "h", "yh"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
def test_recurrent_layers(
    kind: str, direction: str, bias: bool, used: str, generator: np.random.Generator
) -> None:
    results = [name if name in used else "" for name in "yh"]
    model = Recurrent(generator).layer(kind, direction=direction, bias=bias, results=results)
    graph = check(model.join(*used), generator)
    assert (Product in kinds(graph)) == (kind == "LSTM")
    assert {node.name for node in graph.nodes} >= {f"{kind.lower()}1"}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_cells_of_an_lstm_are_a_result(direction: str, generator: np.random.Generator) -> None:
    for results in (("", "", "c"), ("y", "h", "c")):
        model = Recurrent(generator).layer("LSTM", direction=direction, results=results)
        check(model.join(*filter(None, results)), generator)


@pytest.mark.parametrize("function", ["Tanh", "Relu", "Sigmoid"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_functions_of_an_rnn(function: str, direction: str, generator: np.random.Generator) -> None:
    functions = [function] * (1 + (direction == "bidirectional"))
    model = Recurrent(generator).layer("RNN", direction=direction, activations=functions)
    graph = check(model.join("y"), generator)
    assert {node.function for node in graph.nodes if isinstance(node, Function)} == {
        function.lower()
    }


def test_directions_with_functions_of_their_own(generator: np.random.Generator) -> None:
    weights = [generator.normal(size=(2, CELLS, n)) for n in (INPUTS, CELLS, 2)]
    weights[2] = weights[2].reshape(2, 2 * CELLS)
    both = Recurrent(generator).then(
        "RNN", *weights, direction="bidirectional", activations=["Relu", "Tanh"]
    )
    alone = Recurrent(generator)
    for i, (direction, function) in enumerate((("forward", "Relu"), ("reverse", "Tanh"))):
        own = [each[i : i + 1] for each in weights]
        alone.then("RNN", *own, first="t0", direction=direction, activations=[function])
    alone.then("Concat", "t2", first="t1", axis=1)
    graph = read_onnx(both.then("Transpose", perm=BATCH_FIRST["y"]).made())
    expected = check(alone.then("Transpose", perm=BATCH_FIRST["y"]), generator)
    x = generator.normal(size=(5, TIMES, INPUTS))
    np.testing.assert_allclose(graph(x), expected(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("kind", ["LSTM", "RNN"])
def test_constant_states_at_the_start(
    kind: str, direction: str, generator: np.random.Generator
) -> None:
    count = 1 + (direction == "bidirectional")
    for batch in (1, 4):  # as many rows as the model fixes, which are alike
        starts = [
            np.repeat(generator.normal(size=(count, 1, CELLS)), batch, axis=1)
            for _ in ("hc" if kind == "LSTM" else "h")
        ]
        lengths = np.full(batch, TIMES, dtype=np.int32)
        model = Recurrent(generator, batch=batch)
        check(model.layer(kind, lengths, *starts, direction=direction).join("y"), generator)


def test_states_whose_shape_is_computed(generator: np.random.Generator) -> None:
    model = Recurrent(generator)
    model.then("Shape").then("Gather", np.asarray([1]))
    model.then("Concat", "t2", np.asarray([CELLS]), first=np.asarray([1]), axis=0)
    model.then("ConstantOfShape", value=onnx.helper.make_tensor("v", DOUBLE, [1], [0.5]))
    check(model.layer("LSTM", "", "t4", "t4", first="t0").join("y"), generator)


def test_states_that_another_layer_makes(generator: np.random.Generator) -> None:
    model = Recurrent(generator).layer("LSTM", results=("ya", "ha", "ca"))
    check(model.layer("LSTM", "", "ha", "ca", first="t0").join("y"), generator)
    same = np.repeat(generator.normal(size=(4, 1, INPUTS)), 3, axis=1)  # samples of `check`
    for kind, states in (("LSTM", ("ha", "ca")), ("RNN", ("ha",)), ("LSTM", ("", "ca"))):
        model = Recurrent(generator).layer("LSTM", results=("ya", "ha", "ca"))
        check(model.layer(kind, "", *states, first=same).join("y"), generator)


def test_layers_one_after_the_other(generator: np.random.Generator) -> None:
    model = Recurrent(generator).layer("LSTM", direction="bidirectional")
    model.then("Transpose", perm=[0, 2, 1, 3]).then("Reshape", np.asarray([0, 0, -1]))
    model.inputs = 2 * CELLS
    model.layer("RNN", results=("y2",)).then("Squeeze", np.asarray([1]))
    model.then("Gather", np.asarray(-1)).then("Gemm", generator.normal(size=(CELLS, 2)))
    check(model, generator)


@pytest.mark.parametrize("opset", [7, 14, 22])
def test_versions_of_recurrent_layers(opset: int, generator: np.random.Generator) -> None:
    for kind in GATES:
        check(Recurrent(generator, opset=opset).layer(kind).join("y"), generator)


def test_one_time_without_a_size(generator: np.random.Generator) -> None:
    model = Recurrent(generator, times=1).layer("LSTM", results=("", "h"))
    del model.nodes[-1].attribute[:]
    model.nodes[-1].name = ""
    graph = check(model.join("h"), generator)
    assert {node.name for node in graph.nodes} >= {"h"}  # after its first result


@pytest.mark.parametrize("layer", ["RNN", "LSTM"])
def test_a_recurrent_layer_is_compiled(layer: str, generator: np.random.Generator) -> None:
    model = Recurrent(generator, times=2).layer(layer, direction="bidirectional").join("y")
    x = generator.normal(size=(40, 2, INPUTS))
    net = nn.compile(model.made(), x, precision=2**-7, parameters=small_parameters())
    clear = net.graph(x)
    assert np.abs(net.simulate(x) - clear).max() < 0.05 * np.abs(clear).max()


WHOLE = "all samples have to have 3 times"
START = np.zeros((1, 2, CELLS))
REFUSED_LAYERS: dict[str, Any] = {
    "clip": ("LSTM", [], {"clip": 3.0}, "clip is 3; values cannot be clipped"),
    "input_forget": ("LSTM", [], {"input_forget": 1}, "input_forget is 1; it has to be 0"),
    "layout": ("RNN", [], {"layout": 1}, "layout is 1; it has to be 0"),
    "direction": ("RNN", [], {"direction": "both"}, "direction is both; .* one of forward, rev"),
    "peepholes": ("LSTM", ["", "", "", np.ones((1, 12))], {}, "P has weights other than 0"),
    "lengths": ("LSTM", [np.asarray([3, 2, 3])], {}, f"sequence_lens has 2; {WHOLE}"),
    "longer": ("RNN", [np.asarray([4])], {}, f"sequence_lens has 4; {WHOLE}"),
    "mixed": ("RNN", [np.asarray([3, 4])], {}, f"sequence_lens has 4; {WHOLE}"),
    "gates": (
        "LSTM",
        [],
        {"activations": ["Sigmoid", "Relu", "Tanh"]},
        "activations are Sigmoid, Relu, Tanh; they have to be Sigmoid, Tanh, Tanh",
    ),
    "function": ("RNN", [], {"activations": ["Elu"]}, "activations are Elu; .* Tanh, Relu, Sig"),
    "functions": (
        "RNN",
        [],
        {"direction": "bidirectional", "activations": ["Tanh"]},
        "activations are Tanh; 2 directions have to have one each of Tanh, Relu",
    ),
    "size": ("LSTM", [], {"hidden_size": 5}, r"W has shape \(1, 16, 2\); .* \(1, 20, 2\) for 1"),
    "start": ("RNN", ["", START[..., 1:]], {}, r"initial_h has shape .* \(1, batch, 4\)"),
    "cells": ("LSTM", ["", "", START[0]], {}, "initial_c has shape"),
    "samples": (
        "RNN",
        ["", START + np.arange(2)[:, None]],
        {},
        "initial_h differs from sample to sample of the batch",
    ),
    "NaN": ("RNN", ["", START * np.nan], {}, "8 of 8 numbers of the initial_h are not finite"),
    "batch": ("LSTM", [], {"first": "x"}, r"X has shape \(2, 3, 2\), and the batch is axis 0"),
    "axes": ("RNN", [], {"first": "flat"}, r"X has shape \(2, 6\), and the batch is axis 0"),
    "encrypted start": ("RNN", ["", "x"], {}, "initial_h has shape"),
    "encrypted lengths": ("RNN", ["x"], {}, "sequence_lens depends on the input"),
}


@pytest.mark.parametrize("case", REFUSED_LAYERS)
def test_recurrent_layers_are_refused_by_name(case: str, generator: np.random.Generator) -> None:
    kind, more, options, message = REFUSED_LAYERS[case]
    model = Recurrent(generator)
    model.then("Flatten", first="x", results=["flat"])
    made = model.layer(kind, *more, **{"first": "t0", **options}).made()
    with pytest.raises((whorl.ParameterError, whorl.ShapeError), match=message) as caught:
        read_onnx(made)
    assert str(caught.value).startswith(f"{kind.lower()}2: ") and kind in str(caught.value)


def test_weights_of_recurrent_layers_are_checked(generator: np.random.Generator) -> None:
    for kind, rows in GATES.items():
        good = [np.ones((1, rows * 4, 2)), np.ones((1, rows * 4, 4)), np.ones((1, rows * 8))]
        for i, name in enumerate("WRB"):
            for wrong in (good[i][0], good[i][..., 1:], np.repeat(good[i], 2, axis=0)):
                made = Recurrent(generator).then(kind, *good[:i], wrong, *good[i + 1 :]).made()
                with pytest.raises(whorl.ShapeError, match=f"{kind.lower()}1: [WRB] has shape"):
                    read_onnx(made)
            made = Recurrent(generator).then(kind, *good[:i], "x", *good[i + 1 :]).made()
            with pytest.raises(whorl.ParameterError, match=f"1: {name} depends on the input"):
                read_onnx(made)


def test_a_gru_is_refused_with_what_can_be(generator: np.random.Generator) -> None:
    weights = [np.ones((1, 3 * CELLS, INPUTS)), np.ones((1, 3 * CELLS, CELLS))]
    made = Recurrent(generator).then("GRU", *weights, hidden_size=CELLS).made()
    with pytest.raises(whorl.ParameterError, match=r"gru1: GRU cannot.*; LSTM or RNN can be"):
        read_onnx(made)
