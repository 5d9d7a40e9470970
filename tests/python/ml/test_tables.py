"""Models of scikit-learn as tables, beside their own predictions."""

import warnings
from typing import Any

import numpy as np
import pytest
import whorl
from whorl import binfhe, ml
from whorl.nn import Network

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

SETS = {"iris": load_iris, "cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}


def halves(name: str) -> tuple[Any, Any, Any, Any]:
    """Samples and classes to learn, and others to compare."""
    x, y = SETS[name](return_X_y=True)
    order = np.random.default_rng(1).permutation(len(x))
    learnt, compared = order[: len(x) * 6 // 10], order[len(x) * 6 // 10 :]
    return x[learnt], y[learnt], x[compared], y[compared]


def fitted(model: Any, x: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer iterations are enough here
        return model.fit(x, y)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(10, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_trees_are_within_a_point(name: str, model: Any) -> None:
    x, y, others, expected = halves(name)
    fitted(model, x, y)
    tables = ml.from_sklearn(model)
    found = tables.predict(tables.simulate(others))
    clear = model.predict(others)
    assert (found == expected).mean() >= (clear == expected).mean() - 0.01
    assert (found == clear).mean() >= 0.98
    assert tables.circuit.failure_log2 <= -64


@pytest.mark.parametrize("name", ["iris", "cancer", "wine", "digits"])
def test_networks_are_within_a_point(name: str) -> None:
    """The examples are those that the network learnt; others are clipped to their bounds."""
    x, y, others, expected = halves(name)
    if name == "digits":
        model = MLPClassifier((16,), alpha=0.01, max_iter=300, random_state=0)
    else:
        model = make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=800, random_state=0))
    fitted(model, x, y)
    tables = ml.from_sklearn(model, x, scheme="binfhe")
    found = tables.predict(tables.simulate(np.clip(others, x.min(axis=0), x.max(axis=0))))
    assert (found == expected).mean() >= model.score(others, expected) - 0.01
    assert tables.circuit.failure_log2 <= -64


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=6, random_state=0),
        RandomForestRegressor(5, max_depth=4, random_state=0),
        ExtraTreesRegressor(5, max_depth=4, random_state=0),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressions_of_trees(model: Any) -> None:
    """Values of leaves are rounded, each by half a step at most."""
    x, y = load_diabetes(return_X_y=True)
    model.fit(x, y)
    tables = ml.from_sklearn(model, bits=8, leaf_bits=10)
    found = tables.predict(tables.simulate(x[:100]))
    count = getattr(model, "n_estimators", 1)
    assert np.abs(found - model.predict(x[:100])).max() <= count * tables._scale / 2 + 1e-9


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=5, random_state=0),
        RandomForestRegressor(5, max_depth=4, random_state=0),
        GradientBoostingRegressor(n_estimators=10, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_offset_of_results_costs_no_precision(model: Any) -> None:
    x, y = load_diabetes(return_X_y=True)
    errors = []
    for offset in (0.0, 1e6):
        model.fit(x, y + offset)
        tables = ml.from_sklearn(model, bits=8, leaf_bits=8)
        found = tables.predict(tables.simulate(x))
        assert tables._scale <= np.ptp(y) / 255
        errors.append(np.abs(found - model.predict(x)).max())
    assert errors[1] <= errors[0] * 1.01 + 1e-6
    assert errors[0] <= getattr(model, "n_estimators", 1) * tables._scale / 2 + 1e-6


def test_rounding_shifts_no_score() -> None:
    """The mean of a score over the examples is the model's, and each score has its own scale."""
    x, y, *_ = halves("digits")
    model = fitted(MLPClassifier((8,), alpha=0.01, max_iter=100, random_state=0), x, y)
    tables = ml.from_sklearn(model, x, scheme="binfhe", weight_bits=3)
    scores = tables.simulate(x)
    hidden = np.maximum(x @ model.coefs_[0] + model.intercepts_[0], 0)
    clear = hidden @ model.coefs_[1] + model.intercepts_[1]
    assert np.abs(scores.mean(axis=0) - clear.mean(axis=0)).max() < 1e-9
    assert np.shape(tables._scale) == (10,)


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
def test_activations(activation: str) -> None:
    x, y = load_diabetes(return_X_y=True)
    x = x[:, :5] * 20
    model = MLPRegressor(
        hidden_layer_sizes=(6,), activation=activation, max_iter=3000, random_state=0
    )
    learnt, others = x[:300], np.clip(x[300:], x[:300].min(axis=0), x[:300].max(axis=0))
    fitted(model, learnt, y[:300] / 100)
    options = {"bits": 5, "weight_bits": 6, "hidden_bits": 6, "sum_bits": 12}
    tables = ml.from_sklearn(model, learnt, scheme="binfhe", **options)
    found = tables.predict(tables.simulate(others))
    clear = model.predict(others)
    assert np.corrcoef(found, clear)[0, 1] > 0.98


def test_which_scheme_a_model_takes() -> None:
    x, y = load_iris(return_X_y=True)
    ridge = Ridge().fit(x, y)
    assert isinstance(ml.from_sklearn(ridge, x, images=16), Network)
    tables = ml.from_sklearn(ridge, x, scheme="binfhe", bits=6, weight_bits=6)
    assert np.abs(tables.predict(tables.simulate(x)) - ridge.predict(x)).max() < 0.15
    assert isinstance(ml.from_sklearn(DecisionTreeClassifier().fit(x, y)), ml.TableModel)
    logistic = LogisticRegression().fit(x[:100], y[:100])
    bits = ml.from_sklearn(logistic, x, scheme="binfhe")
    assert (bits.predict(bits.simulate(x[:100])) == y[:100]).all()


@pytest.fixture(scope="module")
def ends() -> tuple[binfhe.Client, binfhe.Server]:
    client = binfhe.Client(binfhe.parameters("W128_P128"))
    return client, binfhe.Server(client.evaluation_keys(), device="cpu")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (DecisionTreeClassifier(max_depth=4, random_state=0), {}),
        (RandomForestClassifier(3, max_depth=3, random_state=0), {"leaf_bits": 4}),
        (GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0), {}),
        (
            make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=500, random_state=0)),
            {"scheme": "binfhe", "bits": 3, "weight_bits": 3},
        ),
    ],
    ids=["tree", "forest", "boosting", "network"],
)
def test_encrypted_is_simulated(
    model: Any, options: dict[str, Any], ends: tuple[binfhe.Client, binfhe.Server]
) -> None:
    client, server = ends
    x, y = load_iris(return_X_y=True)
    tables = ml.from_sklearn(fitted(model, x, y), x, **options)
    samples = x[[3, 77, 120]]
    scores = tables.decrypt(client, tables.run(server, tables.encrypt(client, samples)))
    assert np.array_equal(scores, tables.simulate(samples))
    assert (tables.predict(scores) == model.predict(samples)).all()


def test_what_clients_refuse() -> None:
    x, y = load_iris(return_X_y=True)
    tree = ml.from_sklearn(DecisionTreeClassifier(max_depth=3).fit(x, y))
    net = ml.from_sklearn(Ridge().fit(x, y), x, scheme="binfhe")
    for model in (tree, net):
        with pytest.raises(whorl.ShapeError, match=r"shape \(2, 3\) is not \(batch, 4\)"):
            model.simulate(np.zeros((2, 3)))
        with pytest.raises(whorl.ShapeError, match=r"\(batch, 4\)"):
            model.simulate(x[0])
        with pytest.raises(whorl.EncodingError, match="not finite"):
            model.simulate([[1, 2, 3, np.nan]])
        with pytest.raises(TypeError, match="numbers"):
            model.simulate([["a", "b", "c", "d"]])
        with pytest.raises(whorl.ShapeError, match="scores"):
            model.predict([1.0])
    assert tree.simulate(x * 1000).shape == (150, 3)  # thresholds tell all values
    with pytest.raises(whorl.EncodingError, match=r"feature 1 of sample 0 is 99, outside 2 … 4.4"):
        net.simulate([[5, 99, 1.5, 0.2]])


def test_boosting_takes_a_score_of_0_for_the_second_class() -> None:
    x = np.array([[0], [0], [1], [1], [2], [2]])
    model = GradientBoostingClassifier(n_estimators=1, max_depth=1, init="zero", learning_rate=1.0)
    model.fit(x, [0, 1, 0, 1, 1, 1])
    tables = ml.from_sklearn(model, x, scheme="binfhe")
    scores = tables.simulate(x)
    assert (scores == 0).any()
    assert np.array_equal(tables.predict(scores), model.predict(x))


def test_what_cannot_be_read() -> None:
    x, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3).fit(x, y)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (tree, {"scheme": "bgv"}, "scheme: 'bgv' is neither"),
        (tree, {"scheme": "ckks"}, "cannot be read"),
        (tree, {"bits": 0}, "bits: 0 is no integer from 1 to 12"),
        (tree, {"leaf_bits": 99}, "leaf_bits: 99"),
        (tree, {"failure_log2": 3}, "failure_log2"),
        (Ridge().fit(x, y), {"scheme": "binfhe", "weight_bits": 1}, "weight_bits: 1"),
        (DecisionTreeClassifier(), {}, "not fitted"),
        (RandomForestClassifier(), {}, "not fitted"),
        (DecisionTreeRegressor().fit(x, x), {}, "4 outputs"),
        (DecisionTreeClassifier().fit(x, 0 * y), {}, "no tree has a condition"),
        (
            GradientBoostingRegressor(n_estimators=2, init=Ridge()).fit(x, y),
            {},
            "init = Ridge",
        ),
        (DummyRegressor().fit(x, y), {"scheme": "binfhe"}, "DummyRegressor cannot be read"),
    ]
    for model, options, text in cases:
        with pytest.raises(whorl.ParameterError, match=text):
            ml.from_sklearn(model, x, **options)
