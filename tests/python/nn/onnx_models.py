"""Models of ONNX, beside ONNX's reference."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from whorl.nn._onnx import read_onnx

onnx = pytest.importorskip("onnx", reason="onnx is not installed (pip install 'whorl-fhe[nn]')")
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx.reference.ops.op_rnn import RNN_14  # noqa: E402

DOUBLE = onnx.TensorProto.DOUBLE


class Model:
    """Nodes one after the other, in doubles. Arrays among their operands become constants."""

    def __init__(self, *shape: int, batch: int | str = "N", opset: int = 20) -> None:
        self.shape, self.batch, self.opset = shape, batch, opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = "x"

    def then(
        self,
        kind: str,
        *operands: Any,
        first: Any = None,
        results: Sequence[str] = (),
        **attributes: Any,
    ) -> "Model":
        """A node that takes the last result, or `first`, and more. It names its results, if it has
        several."""
        named = []
        for operand in (self.last if first is None else first, *operands):
            if not isinstance(operand, str):
                self.constants.append(
                    onnx.numpy_helper.from_array(np.asarray(operand), f"c{len(self.constants)}")
                )
                operand = self.constants[-1].name
            named.append(operand)
        results = results or [f"t{len(self.nodes)}"]
        self.last = next(filter(None, results))
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, named, results, name=name, **attributes))
        return self

    def made(self) -> Any:
        graph = onnx.helper.make_graph(
            self.nodes,
            "model",
            [onnx.helper.make_tensor_value_info("x", DOUBLE, [self.batch, *self.shape])],
            [onnx.helper.make_tensor_value_info(self.last, DOUBLE, [])],
            self.constants,
        )
        opsets = [onnx.helper.make_opsetid("", self.opset)]
        return onnx.helper.make_model(graph, opset_imports=opsets)


class RNN(RNN_14):  # type: ignore[misc]
    """The reference's own knows no function but tanh."""

    def choose_act(self, name: str, alpha: Any, beta: Any) -> Any:
        own = {"Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x))}
        return own.get(name) or super().choose_act(name, alpha, beta)


def check(model: Model, generator: np.random.Generator) -> Any:
    made = model.made()
    graph = read_onnx(made)
    batch = model.batch if isinstance(model.batch, int) else 3
    x = generator.normal(size=(batch, *model.shape))
    (expected,) = ReferenceEvaluator(made, new_ops=[RNN]).run(None, {"x": x})
    # The reference has an erf of its own, and constants in single precision.
    rough = any(node.op_type in ("Erf", "Gelu") for node in made.graph.node)
    np.testing.assert_allclose(graph(x), expected, rtol=1e-9, atol=1e-5 if rough else 1e-9)
    return graph


def kinds(graph: Any) -> list[type]:
    return [type(node) for node in graph.nodes[1:]]
