"""Reads models of scikit-learn, which need not be imported for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ParameterError
from ._builder import Builder
from ._graph import Graph


def read_sklearn(model: Any) -> Graph:
    """The graph of a fitted model, for rows of `n_features_in_` values.

    Regressions give what `predict` does, with an axis of results; binary classifiers the
    probability of the second class; classifiers of more classes their scores, of which the largest
    is the class (those of `decision_function`, or what softmax is applied to). A `Pipeline` may
    have `StandardScaler` in front. `ParameterError` for other models, for those that are not
    fitted, and for weights that are not finite.
    """
    steps = [model]
    if _type(model) == "Pipeline":
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if _type(step) not in (MODELS if last else SCALERS):
            known = ", ".join(MODELS if last else SCALERS)
            raise ParameterError(
                f"model: {type(step).__name__} cannot be read {'' if last else 'in front '}"
                f"(can be: {known})"
            )
        if not hasattr(step, "n_features_in_"):
            raise ParameterError(f"model: {type(step).__name__} is not fitted; call fit first")
    builder = Builder((steps[0].n_features_in_,))
    x = 0
    for step in steps:
        x = {**SCALERS, **MODELS}[_type(step)](builder, x, step)
    return builder.graph(x)


def _type(model: Any) -> str:
    """The name of a class of scikit-learn."""
    return type(model).__name__ if type(model).__module__.startswith("sklearn.") else ""


def _scaler(builder: Builder, x: int, step: Any) -> int:
    scale = step.scale_ if step.with_std else np.ones(step.n_features_in_)
    mean = step.mean_ if step.with_mean else np.zeros(step.n_features_in_)
    return builder.affine("StandardScaler", x, 1 / scale, -mean / scale)


def _linear(builder: Builder, x: int, model: Any) -> int:
    weight = np.atleast_2d(model.coef_)
    bias = np.broadcast_to(model.intercept_, weight.shape[:1])
    return builder.linear(type(model).__name__, x, weight, bias)


def _logistic(builder: Builder, x: int, model: Any) -> int:
    scores = _linear(builder, x, model)
    if len(model.classes_) > 2:
        return scores
    if getattr(model, "multi_class", None) == "multinomial":
        raise ParameterError("LogisticRegression: multinomial with two classes cannot be read")
    return builder.function("LogisticRegression", scores, "sigmoid")


def _mlp(builder: Builder, x: int, model: Any) -> int:
    activations = [model.activation] * (model.n_layers_ - 2) + [model.out_activation_]
    layers = zip(model.coefs_, model.intercepts_, activations, strict=True)
    for number, (weight, bias, activation) in enumerate(layers):
        name = f"{type(model).__name__} layer {number}"
        if activation not in ACTIVATIONS:
            raise ParameterError(f"{name}: {activation} cannot be computed on encrypted values")
        x = builder.linear(name, x, weight.T, bias)
        function = ACTIVATIONS[activation]
        if function:
            x = builder.function(name, x, function)
    return x


ACTIVATIONS = {
    "relu": "relu",
    "tanh": "tanh",
    "logistic": "sigmoid",
    "identity": None,
    "softmax": None,  # scores are given, and their order is that of the probabilities
}

SCALERS: dict[str, Callable[[Builder, int, Any], int]] = {"StandardScaler": _scaler}

MODELS: dict[str, Callable[[Builder, int, Any], int]] = {
    "LinearRegression": _linear,
    "Ridge": _linear,
    "LogisticRegression": _logistic,
    "MLPClassifier": _mlp,
    "MLPRegressor": _mlp,
}
