"""Which reader reads a model: its framework is imported by that reader alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ._graph import Graph


def read(model: Any, shape: Sequence[int]) -> Graph:
    """The graph of a model of torch, ONNX (the object, its bytes, or a path) or scikit-learn.

    `shape` is that of an input without the batch. `TypeError` for another kind of model.
    """
    kinds = {cls.__module__.split(".")[0] for cls in type(model).__mro__}
    if "torch" in kinds:
        from ._torch import read_torch

        return read_torch(model, shape)
    if "sklearn" in kinds:
        from ._sklearn import read_sklearn

        return read_sklearn(model)
    if "onnx" in kinds or isinstance(model, (bytes, bytearray, str, os.PathLike)):
        from ._onnx import read_onnx

        return read_onnx(model)
    raise TypeError(
        f"model: a {type(model).__name__} is no torch.nn.Module, ONNX model (or its bytes or "
        "path), model of scikit-learn or Graph"
    )
