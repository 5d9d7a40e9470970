"""Models of machine learning on encrypted samples.

>>> from sklearn.datasets import load_iris
>>> from sklearn.linear_model import Ridge
>>> from whorl import ml
>>> flowers, kinds = load_iris(return_X_y=True)
>>> net = ml.from_sklearn(Ridge().fit(flowers, kinds), flowers, images=16)
>>> net.bootstraps
0
>>> from sklearn.tree import DecisionTreeClassifier
>>> tree = ml.from_sklearn(DecisionTreeClassifier(max_depth=2, random_state=0).fit(flowers, kinds))
>>> tree.predict(tree.simulate(flowers[[0, 60, 120]])), tree.circuit.costs["levels"]
(array([0, 1, 2]), 3)
"""

from __future__ import annotations

from typing import Any, Literal, overload

from ..errors import ParameterError
from ..nn._api import compile
from ..nn._network import Network
from . import _trees
from ._model import TableModel
from ._networks import network_model

__all__ = ["TableModel", "from_sklearn"]


@overload
def from_sklearn(
    model: Any, examples: Any = None, *, scheme: Literal["ckks"], **options: Any
) -> Network: ...
@overload
def from_sklearn(
    model: Any, examples: Any = None, *, scheme: Literal["binfhe"], **options: Any
) -> TableModel: ...
@overload
def from_sklearn(model: Any, examples: Any = None, scheme: None = None, **options: Any) -> Any: ...


def from_sklearn(
    model: Any, examples: Any = None, scheme: str | None = None, **options: Any
) -> Network | TableModel:
    """A fitted model of scikit-learn for encrypted samples.

    `scheme` is `"ckks"` or `"binfhe"`; by default trees take binfhe, and all else takes ckks.

    **binfhe** gives a `TableModel`: integers and look-up tables (docs/tracing.md). Models are
    `DecisionTree…`, `RandomForest…`, `ExtraTrees…` and `GradientBoosting…`, classifiers and
    regressors, with the options `bits` (of a feature, 4; thresholds above that are moved) and
    `leaf_bits` (of a leaf's values, 6, and 8 for boosting); and those of ckks, with the options
    `bits` (5), `weight_bits` (6), `hidden_bits` (5) and `sum_bits` (8). Trees need no `examples`;
    quantised networks take the bounds of features and activations from theirs. Further options are
    those of `whorl.tracing.Trace.compile`.

    **ckks** gives a `whorl.nn.Network`: linear and logistic regression, ridge, `MLPClassifier` and
    `MLPRegressor`, also behind a `StandardScaler`. `examples` and `options` are those of
    `whorl.nn.compile`, which does the work, and so are the errors. Regressions give what `predict`
    does, with an axis of results; classifiers of two classes the probability of the second one; of
    more, the scores of which the largest decides.

    `ParameterError` for models that cannot be read, and options outside their ranges.
    """
    trees = type(model).__module__.startswith("sklearn.") and type(model).__name__ in _trees.MODELS
    chosen = scheme if scheme is not None else "binfhe" if trees else "ckks"
    if chosen not in ("ckks", "binfhe"):
        raise ParameterError(f"scheme: {scheme!r:.40} is neither 'ckks' nor 'binfhe'")
    if chosen == "ckks":
        return compile(model, examples, **options)
    if trees:
        return _trees.tree_model(model, **options)
    return network_model(model, examples, **options)
