"""Models of ONNX as graphs, beside ONNX's reference."""

import re
import sys
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import whorl
from nn.onnx_models import DOUBLE, Model, check, kinds, onnx
from whorl.nn._graph import Function, Linear, Product, Windows
from whorl.nn._onnx import read_onnx

SHAPES: dict[str, Any] = {
    "Conv stride": (
        (3, 9, 7),
        "Conv",
        [(6, 3, 3, 2), (6,)],
        {"strides": [2, 1], "pads": [1, 0, 1, 0]},
    ),
    "Conv dilation": ((3, 9, 9), "Conv", [(2, 3, 3, 3)], {"dilations": [2, 3]}),
    "Conv groups": ((4, 5, 5), "Conv", [(6, 2, 3, 3), (6,)], {"group": 2}),
    "Conv upper": ((2, 6, 7), "Conv", [(3, 2, 4, 3)], {"auto_pad": "SAME_UPPER"}),
    "Conv lower": ((2, 6, 7), "Conv", [(3, 2, 2, 3)], {"auto_pad": "SAME_LOWER"}),
    "Conv strided upper": (
        (2, 6, 7),
        "Conv",
        [(3, 2, 3, 3)],
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    ),
    "Conv valid": ((2, 6, 7), "Conv", [(3, 2, 3, 3)], {"auto_pad": "VALID"}),
    "Conv one side": ((2, 6, 7), "Conv", [(3, 2, 3, 3)], {"pads": [0, 1, 2, 3]}),
    "Conv one side, dilated": (
        (2, 9, 9),
        "Conv",
        [(3, 2, 2, 2)],
        {"pads": [0, 1, 2, 3], "dilations": [3, 2]},
    ),
    "Conv line": (
        (3, 9),
        "Conv",
        [(4, 3, 3), (4,)],
        {"strides": [2], "pads": [1, 1], "dilations": [2]},
    ),
    "AveragePool": ((2, 6, 6), "AveragePool", [], {"kernel_shape": [2, 3], "strides": [2, 3]}),
    "AveragePool zeros": (
        (2, 6, 6),
        "AveragePool",
        [],
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
    ),
    "AveragePool without zeros": (
        (2, 6, 6),
        "AveragePool",
        [],
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    ),
    "AveragePool line": ((2, 8), "AveragePool", [], {"kernel_shape": [2], "strides": [2]}),
    "AveragePool line without zeros": (
        (2, 7),
        "AveragePool",
        [],
        {"kernel_shape": [3], "strides": [2], "pads": [1, 1]},
    ),
    "GlobalAveragePool": ((3, 4, 5), "GlobalAveragePool", [], {}),
    "GlobalAveragePool line": ((3, 4), "GlobalAveragePool", [], {}),
    "Flatten": ((2, 3, 4), "Flatten", [], {}),
    "Flatten negative": ((2, 3), "Flatten", [], {"axis": -2}),
    "Transpose": ((2, 3, 4), "Transpose", [], {"perm": [0, 3, 1, 2]}),
    "MatMul": ((5,), "MatMul", [(5, 3)], {}),
    "MatMul rows": ((4, 5), "MatMul", [(5, 3)], {}),
    "Gemm": ((5,), "Gemm", [(5, 3), (3,)], {}),
    "Gemm transposed": ((5,), "Gemm", [(3, 5), (3,)], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    "Gemm without bias": ((5,), "Gemm", [(5, 3)], {}),
    "Add": ((3, 4), "Add", [(3, 1)], {}),
    "Sub": ((3, 4), "Sub", [(4,)], {}),
    "Mul": ((3, 4, 5), "Mul", [(3, 1, 1)], {}),
    "Mul each": ((3, 4), "Mul", [(1, 3, 4)], {}),
    "Div": ((3, 4), "Div", [()], {}),
    "Neg": ((3, 4), "Neg", [], {}),
    "Relu": ((7,), "Relu", [], {}),
    "Sigmoid": ((7,), "Sigmoid", [], {}),
    "Tanh": ((7,), "Tanh", [], {}),
    "Erf": ((7,), "Erf", [], {}),
    "Gelu": ((7,), "Gelu", [], {}),
    "Gelu by tanh": ((7,), "Gelu", [], {"approximate": "tanh"}),
    "Identity": ((7,), "Identity", [], {}),
    "Dropout": ((7,), "Dropout", [], {}),
    "Cast": ((7,), "Cast", [], {"to": DOUBLE}),
}


@pytest.mark.parametrize("case", SHAPES)
def test_an_operation_is_onnxs(case: str, generator: np.random.Generator) -> None:
    shape, kind, constants, attributes = SHAPES[case]
    arrays = [np.asarray(generator.normal(size=each)) for each in constants]
    check(Model(*shape).then(kind, *arrays, **attributes), generator)


INDICES: dict[str, Any] = {
    "Reshape": ((2, 6), "Reshape", [[-1, 3, 4]], {}),
    "Reshape copies": ((2, 6), "Reshape", [[0, -1, 3]], {}),
    "Squeeze": ((2, 1, 3), "Squeeze", [[2]], {}),
    "Squeeze all": ((2, 1, 3), "Squeeze", [], {}),
    "Unsqueeze": ((2, 3), "Unsqueeze", [[1, -1]], {}),
    "ReduceMean": ((2, 3, 4), "ReduceMean", [[2, 3]], {}),
    "ReduceMean rows": ((2, 3, 4), "ReduceMean", [[-1]], {"keepdims": 0}),
    "ReduceSum": ((2, 3, 4), "ReduceSum", [[1, 3]], {"keepdims": 0}),
    "Slice": ((5, 6), "Slice", [[1, 0], [-1, 99], [1, 2], [1, 2]], {}),
    "Slice backwards": ((5, 6), "Slice", [[-1], [-(2**31)], [1], [-1]], {}),
    "Gather": ((5, 6), "Gather", [3], {"axis": 1}),
    "Gather many": ((5, 6), "Gather", [[3, 0, 3]], {"axis": 2}),
    "Expand": ((1, 6), "Expand", [[1, 4, 1]], {}),
    "Pad": ((3, 4), "Pad", [[0, 1, 2, 0, 0, 3]], {}),
}


@pytest.mark.parametrize("case", INDICES)
def test_a_move_is_onnxs(case: str, generator: np.random.Generator) -> None:
    shape, kind, constants, attributes = INDICES[case]
    arrays = [np.asarray(each, dtype=np.int64) for each in constants]
    check(Model(*shape).then(kind, *arrays, **attributes), generator)


@pytest.mark.parametrize("exponent", [1, 2, 5])
def test_powers_are_polynomials(exponent: int, generator: np.random.Generator) -> None:
    graph = check(Model(4).then("Pow", np.float64(exponent)), generator)
    assert graph.nodes[1].function == "polynomial"


def test_a_normalisation_joins_the_map_before_it(generator: np.random.Generator) -> None:
    statistics = [generator.uniform(0.5, 2, 6) for _ in range(4)]
    model = Model(3, 5, 5).then("Conv", generator.normal(size=(6, 3, 3, 3)))
    graph = check(model.then("BatchNormalization", *statistics, epsilon=1e-3), generator)
    assert kinds(graph) == [Windows]


@pytest.mark.parametrize("shape", [(6,), (6, 4), (6, 3, 4)])
def test_a_normalisation_alone(shape: tuple[int, ...], generator: np.random.Generator) -> None:
    statistics = [generator.uniform(0.5, 2, 6) for _ in range(4)]
    check(Model(*shape).then("BatchNormalization", *statistics), generator)


def test_tensors_are_added_multiplied_and_joined(generator: np.random.Generator) -> None:
    model = Model(3, 4).then("Tanh").then("Sigmoid", first="x")
    graph = check(model.then("Mul", "t0").then("Add", "x").then("Sum", "t0", "t1"), generator)
    assert Product in kinds(graph)
    check(Model(3, 4).then("Tanh").then("Concat", "x", axis=1), generator)
    gate = Model(3, 4, 4).then("GlobalAveragePool").then("Sigmoid").then("Mul", "x")
    check(gate, generator)


def test_parts_of_a_split(generator: np.random.Generator) -> None:
    model = Model(7)
    node = onnx.helper.make_node("Split", ["x", "sizes"], ["a", "b"], axis=1)
    model.constants.append(onnx.numpy_helper.from_array(np.asarray([3, 4]), "sizes"))
    model.nodes.append(node)
    check(model.then("Concat", "a", first="b", axis=1), generator)


@pytest.mark.parametrize(("opset", "length"), [(13, 6), (18, 6), (18, 7)])
def test_equal_parts_of_a_split(opset: int, length: int, generator: np.random.Generator) -> None:
    """As many as there are results, some of which nothing takes."""
    for taken in ("a", "b", "c"):
        model = Model(length, opset=opset)
        more = {"num_outputs": 3} if opset >= 18 else {}
        model.nodes.append(onnx.helper.make_node("Split", ["x"], ["a", "b", "c"], axis=1, **more))
        check(model.then("Relu", first=taken), generator)


def test_gelu_and_silu_by_their_parts(generator: np.random.Generator) -> None:
    half, one, root = np.float64(0.5), np.float64(1), np.float64(np.sqrt(2))
    late = (
        Model(4).then("Div", root).then("Erf").then("Add", one).then("Mul", "x").then("Mul", half)
    )
    early = Model(4).then("Mul", half).then("Div", root, first="x").then("Erf").then("Add", one)
    for model, name in (
        (late, "gelu"),
        (early.then("Mul", "t0"), "gelu"),
        (Model(4).then("Sigmoid").then("Mul", "x"), "silu"),
    ):
        graph = check(model, generator)
        assert kinds(graph) == [Function] and graph.nodes[1].function == name
    other = Model(4).then("Div", half).then("Erf").then("Add", one).then("Mul", "x")
    assert Product in kinds(check(other, generator))


def test_constants_are_computed(generator: np.random.Generator) -> None:
    weight = generator.normal(size=(3, 5))
    model = Model(5).then("Transpose", first=weight).then("MatMul", "t0", first="x")
    assert kinds(check(model, generator)) == [Linear]


def test_a_shape_that_is_computed(generator: np.random.Generator) -> None:
    model = Model(2, 6).then("Shape").then("Gather", np.asarray([0]), axis=0)
    model.then("Concat", np.asarray([3, 4]), axis=0).then("Reshape", "t2", first="x")
    check(model, generator)


@pytest.mark.parametrize("batch", [1, 4])
def test_a_batch_that_the_model_fixes(batch: int, generator: np.random.Generator) -> None:
    check(Model(2, 6, batch=batch).then("Reshape", np.asarray([batch, 12])), generator)


@pytest.mark.parametrize("opset", [9, 11])
def test_attributes_of_old_versions(opset: int, generator: np.random.Generator) -> None:
    model = Model(2, 1, 4, opset=opset).then("Squeeze", axes=[2]).then("Unsqueeze", axes=[3])
    check(model.then("ReduceMean", axes=[2], keepdims=0).then("Dropout", ratio=0.5), generator)


def test_operators_that_broadcast_in_another_way_are_refused() -> None:
    """Those of old versions say by an attribute to which axis a constant belongs."""
    model = Model(3, 3, 3, opset=6).then("Add", np.arange(3.0), broadcast=1, axis=1)
    with pytest.raises(whorl.ParameterError, match="of version 6; they have to be of version 7"):
        read_onnx(model.made())


def test_the_size_of_the_batch_gets_into_no_number(generator: np.random.Generator) -> None:
    model = Model(2, 6).then("Shape", start=0, end=1).then("Cast", to=DOUBLE)
    with pytest.raises(whorl.ParameterError, match="depends on the size of the batch"):
        read_onnx(model.then("Mul", "x").made())
    zeros = Model(2, 6).then("Shape").then("Expand", "t0", first=np.zeros(1)).then("Add", "x")
    check(zeros, generator)


def test_bytes_and_files(tmp_path: Path, generator: np.random.Generator) -> None:
    made = Model(3).then("Relu").made()
    onnx.save_model(made, tmp_path / "model.onnx")
    x = generator.normal(size=(2, 3))
    for model in (made.SerializeToString(), tmp_path / "model.onnx", str(tmp_path / "model.onnx")):
        np.testing.assert_array_equal(read_onnx(model)(x), np.maximum(x, 0))


@hypothesis.given(st.data())
def test_random_stacks_of_layers(data: st.DataObject) -> None:
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = [
        data.draw(st.integers(1, 3)),
        data.draw(st.integers(4, 7)),
        data.draw(st.integers(4, 7)),
    ]
    model = Model(*shape)
    for _ in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(["conv", "pool", "act", "norm", "residual", "scale"]))
        if kind == "conv":
            channels = data.draw(st.integers(1, 3))
            high, wide = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
            pads = data.draw(st.lists(st.integers(0, 2), min_size=4, max_size=4))
            padded = shape[1] + pads[0] + pads[2], shape[2] + pads[1] + pads[3]
            if padded[0] < high or padded[1] < wide:
                continue
            weight = generator.normal(size=(channels, shape[0], high, wide))
            model.then("Conv", weight, generator.normal(size=channels), pads=pads)
            shape = [channels, padded[0] - high + 1, padded[1] - wide + 1]
        elif kind == "pool" and min(shape[1:]) >= 2:
            counts = data.draw(st.integers(0, 1))
            model.then(
                "AveragePool", kernel_shape=[2, 2], pads=[1, 0, 0, 1], count_include_pad=counts
            )
        elif kind == "act":
            model.then(data.draw(st.sampled_from(["Relu", "Tanh", "Sigmoid"])))
        elif kind == "norm":
            statistics = [generator.uniform(0.5, 2, shape[0]) for _ in range(4)]
            model.then("BatchNormalization", *statistics)
        elif kind == "residual":
            model.then("Tanh").then(data.draw(st.sampled_from(["Add", "Mul"])), model.last)
        elif kind == "scale":
            model.then("Mul", generator.normal(size=(shape[0], 1, 1)))
    model.then("Flatten").then("Gemm", generator.normal(size=(int(np.prod(shape)), 3)))
    check(model, generator)


REFUSED: dict[str, Any] = {
    "MaxPool": ("MaxPool", [], {"kernel_shape": [2, 2]}, "maxpool0: MaxPool cannot.*average pool"),
    "Softmax": ("Softmax", [], {}, "Softmax cannot be computed.*let the model return"),
    "Sqrt": ("Sqrt", [], {}, r"sqrt0: Sqrt cannot be computed on encrypted values \(Sqrt\)"),
    "Pow": ("Pow", [np.float64(0.5)], {}, "exponent 0.5 is not a whole number of 1 … 31"),
    "Reshape": ("Reshape", [np.asarray([-1])], {}, "mixes the samples of a batch"),
    "Reshape size": ("Reshape", [np.asarray([0, 7])], {}, "reshape0: cannot reshape array"),
    "Transpose": ("Transpose", [], {"perm": [1, 0, 2, 3]}, "the batch is axis 1 of the result"),
    "ReduceMean": ("ReduceMean", [], {}, "axis 0 is the batch"),
    "NaN": ("Mul", [np.float64(np.nan)], {}, "mul0: .* numbers of the factor are not finite"),
    "zero": ("Div", [np.float64(0)], {}, "div0: 1 of 1 divisors are 0"),
    "weight": ("Conv", [np.full((1, 2, 1, 1), np.inf)], {}, "2 of 2 numbers of the weight"),
    "groups": ("Conv", [np.ones((1, 3, 1, 1))], {}, "conv0: a convolution of shape"),
    "MatMul": ("MatMul", [np.ones((5, 5))], {}, "meets rows of a tensor of shape"),
    "Pad": ("Pad", [np.zeros(8, dtype=np.int64), np.float64(1)], {}, "only padding with zeros"),
    "dilation": (
        "AveragePool",
        [],
        {"kernel_shape": [2, 2], "dilations": [2, 2]},
        "dilations of a pooling have to be 1",
    ),
    "ceil": (
        "AveragePool",
        [],
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        "ceil_mode makes windows that lie partly outside",
    ),
    "Cast": ("Cast", [], {"to": onnx.TensorProto.INT64}, "rounds, which cannot be done"),
    "Dropout": ("Dropout", [np.float64(0.5), np.asarray(True)], {}, "is in training mode"),
    "Gather": ("Gather", [np.asarray(9)], {"axis": 2}, "gather0: index 9 is out of bounds"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_done_is_refused_by_name(case: str) -> None:
    kind, constants, attributes, message = REFUSED[case]
    model = Model(2, 4, 4).then(kind, *constants, **attributes).made()
    with pytest.raises((whorl.ParameterError, whorl.ShapeError), match=message) as caught:
        read_onnx(model)
    assert kind in str(caught.value) or "the result" in str(caught.value)


def test_models_that_are_none() -> None:
    with pytest.raises(whorl.ParameterError, match="not a valid ONNX model"):
        read_onnx(b"nothing")
    with pytest.raises(FileNotFoundError):
        read_onnx("absent.onnx")
    constant = Model(3).then("Relu", first=np.ones(3)).made()
    with pytest.raises(whorl.ShapeError, match="does not depend on the input"):
        read_onnx(constant)
    two = Model(3).then("Relu").made()
    two.graph.output.append(onnx.helper.make_tensor_value_info("x", DOUBLE, []))
    with pytest.raises(whorl.ParameterError, match="1 inputs and 2 outputs"):
        read_onnx(two)
    unknown = Model(3).then("Relu").made()
    unknown.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "features"
    with pytest.raises(whorl.ShapeError, match="does not say the sizes of its input"):
        read_onnx(unknown)
    foreign = Model(3).then("Relu").made()
    foreign.graph.node[0].domain = "com.example"
    foreign.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    with pytest.raises(whorl.ParameterError, match=re.escape("com.example.Relu cannot")):
        read_onnx(foreign)


def test_a_missing_package_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=re.escape('pip install "whorl-fhe[nn]"')):
        read_onnx("model.onnx")
