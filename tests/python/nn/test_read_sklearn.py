"""Models of scikit-learn as graphs, beside their own predictions."""

import warnings
from typing import Any

import numpy as np
import pytest
import whorl
from whorl.nn._graph import Linear
from whorl.nn._sklearn import read_sklearn

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor


def fitted(model: Any, generator: np.random.Generator, classes: int = 0, targets: int = 0) -> Any:
    """The model, and rows of 5 features that it has not seen."""
    x = generator.normal(3, 2, (90, 5))
    y: Any = generator.normal(size=(90, targets) if targets else 90)
    if classes:
        y = np.arange(90) % classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few iterations are enough here
        model.fit(x, y)
    return model, generator.normal(3, 2, (7, 5))


def check(graph: Any, x: Any, expected: Any) -> None:
    np.testing.assert_allclose(graph(x), expected.reshape(len(x), -1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("targets", [0, 3])
@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LinearRegression(fit_intercept=False),
        Ridge(0.5),
        MLPRegressor(hidden_layer_sizes=(6, 4), activation="tanh", max_iter=3),
        MLPRegressor(hidden_layer_sizes=(6,), activation="identity", max_iter=3),
    ],
    ids=repr,
)
def test_regressions(model: Any, targets: int, generator: np.random.Generator) -> None:
    model, x = fitted(model, generator, targets=targets)
    check(read_sklearn(model), x, model.predict(x))


def test_logistic_regression(generator: np.random.Generator) -> None:
    model, x = fitted(LogisticRegression(), generator, classes=2)
    check(read_sklearn(model), x, model.predict_proba(x)[:, 1])
    model, x = fitted(LogisticRegression(), generator, classes=4)
    check(read_sklearn(model), x, model.decision_function(x))


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_mlp_classifier(activation: str, generator: np.random.Generator) -> None:
    model, x = fitted(
        MLPClassifier((6, 5), activation=activation, max_iter=3), generator, classes=2
    )
    check(read_sklearn(model), x, model.predict_proba(x)[:, 1])
    model, x = fitted(MLPClassifier((6,), activation=activation, max_iter=3), generator, classes=3)
    scores = np.exp(read_sklearn(model)(x))
    np.testing.assert_allclose(scores / scores.sum(1, keepdims=True), model.predict_proba(x))


@pytest.mark.parametrize("options", [{}, {"with_mean": False}, {"with_std": False}], ids=repr)
def test_a_scaler_joins_the_map_behind_it(
    options: dict[str, bool], generator: np.random.Generator
) -> None:
    model = make_pipeline(StandardScaler(**options), "passthrough", Ridge())
    model, x = fitted(model, generator)
    graph = read_sklearn(model)
    check(graph, x, model.predict(x))
    assert [type(node) for node in graph.nodes[1:]] == [Linear]


class Odd(BaseEstimator):  # type: ignore[misc]
    """A model that is not scikit-learn's."""

    n_features_in_ = 5


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DecisionTreeRegressor(), "model: DecisionTreeRegressor cannot be read .*LinearRegression"),
        (make_pipeline(MinMaxScaler(), Ridge()), "MinMaxScaler cannot be read in front"),
        (Ridge(), "model: Ridge is not fitted; call fit first"),
        (StandardScaler(), "model: StandardScaler cannot be read"),
        (Odd(), "model: Odd cannot be read"),
    ],
    ids=repr,
)
def test_what_cannot_be_read_is_refused_by_name(model: Any, message: str) -> None:
    with pytest.raises(whorl.ParameterError, match=message):
        read_sklearn(model)


def test_an_activation_that_is_not_known_is_refused(generator: np.random.Generator) -> None:
    model, _ = fitted(MLPRegressor(hidden_layer_sizes=(4,), max_iter=3), generator)
    model.out_activation_ = "exp"  # of a loss of Poisson's
    with pytest.raises(whorl.ParameterError, match="MLPRegressor layer 1: exp cannot be computed"):
        read_sklearn(model)


def test_weights_that_are_not_finite_are_refused(generator: np.random.Generator) -> None:
    model, _ = fitted(Ridge(), generator)
    model.coef_[2] = np.nan
    with pytest.raises(whorl.ParameterError, match="Ridge: 1 of 5 numbers of the weight are not"):
        read_sklearn(model)
