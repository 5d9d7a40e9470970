"""Models of machine learning on encrypted vectors.

>>> from sklearn.datasets import load_iris
>>> from sklearn.linear_model import Ridge
>>> from whorl import ml
>>> flowers, kinds = load_iris(return_X_y=True)
>>> net = ml.from_sklearn(Ridge().fit(flowers, kinds), flowers, images=16)
>>> net.bootstraps
0
"""

from __future__ import annotations

from typing import Any

from ..nn._api import compile
from ..nn._network import Network

__all__ = ["from_sklearn"]


def from_sklearn(model: Any, examples: Any, **options: Any) -> Network:
    """A network of a fitted model of scikit-learn: linear and logistic regression, ridge,
    `MLPClassifier` and `MLPRegressor`, also behind a `StandardScaler`.

    `examples` and `options` are those of `whorl.nn.compile`, which does the work, and so are the
    errors. Regressions give what `predict` does, with an axis of results; classifiers of two
    classes the probability of the second one; of more, the scores of which the largest decides.
    """
    return compile(model, examples, **options)
