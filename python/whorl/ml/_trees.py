"""Decision trees, forests and boosted trees of scikit-learn as tables."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import tracing
from ..errors import ParameterError
from ..tracing._operations import leaves
from ._model import Integers, Numbers, TableModel, bits_of, samples_of

SINGLE = ("DecisionTreeClassifier", "DecisionTreeRegressor")
FORESTS = (
    *("RandomForestClassifier", "RandomForestRegressor"),
    *("ExtraTreesClassifier", "ExtraTreesRegressor"),
)
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
MODELS = (*SINGLE, *FORESTS, *BOOSTED)

Condition = tuple[int, float]


@dataclasses.dataclass(frozen=True)
class Tree:
    """Conditions feature > threshold, the paths to leaves, and what each leaf adds to the scores.

    A path says for each condition on it whether it holds.
    """

    paths: list[list[tuple[Condition, bool]]]
    values: Numbers


def tree_model(
    model: Any, bits: int = 4, leaf_bits: int | None = None, **options: Any
) -> TableModel:
    """A fitted model of trees.

    `bits`: a feature becomes the number of its thresholds that it exceeds. If there are 2^`bits` or
    more of them, some are moved to their neighbours, so that 2^`bits` - 1 are left. `leaf_bits`:
    values of leaves are rounded to so many bits, those of boosting with a sign beside; regressions
    count from the least value of each tree, or from the middle. `options` are those of
    `Trace.compile`.
    """
    bits_of(bits, "bits", 1, 12)
    name = type(model).__name__
    precision = bits_of(
        (8 if name in BOOSTED else 6) if leaf_bits is None else leaf_bits, "leaf_bits", 1, 14
    )
    trees, offsets = _trees_of(model, name)
    if not hasattr(model, "classes_"):
        trees, offsets = _centred(trees, offsets, 0.5 if name in BOOSTED else 0.0)
    conditions = sorted({c for tree in trees for path in tree.paths for c, _ in path})
    if not conditions:
        raise ParameterError(f"{name}: no tree has a condition: the model ignores its features")
    kept = {f: _kept([t for g, t in conditions if g == f], bits) for f, _ in conditions}
    used = sorted(kept)
    places = [used.index(f) for f, _ in conditions]
    counts = [int(np.argmin(np.abs(kept[f] - t))) for f, t in conditions]
    distinct = sorted(set(zip(places, counts, strict=True)))
    number = {
        c: distinct.index(pair)
        for c, pair in zip(conditions, zip(places, counts, strict=True), strict=True)
    }
    largest = max(float(np.abs(tree.values).max()) for tree in trees) or 1.0
    scale = largest / (2**precision - 1)
    features = int(model.n_features_in_)

    rows = [
        (
            _reachable([[(number[c], holds) for c, holds in path] for path in tree.paths]),
            np.rint(tree.values / scale).astype(np.int64),
        )
        for tree in trees
    ]

    def function(x: Any) -> Any:
        indices, least = (np.array(each) for each in zip(*distinct, strict=True))
        holds = x[indices] > least
        return sum(
            leaves(holds, [paths[i] for i in places], values[places])
            for (paths, places), values in rows
        )

    def quantise(x: Any) -> Integers:
        # Scikit-learn compares features of 32 bits.
        values = samples_of(x, features).astype(np.float32)
        columns = [np.searchsorted(kept[f], values[:, f].astype(np.float64)) for f in used]
        return np.stack(columns, axis=1).astype(np.int64)

    ends = [np.zeros(len(used), dtype=np.int64), np.array([len(kept[f]) for f in used])]
    circuit = tracing.trace(function, ends).compile(**options)
    classes = getattr(model, "classes_", None)
    # A single score is that of boosting, which takes 0 for the second class.
    return TableModel(circuit, features, quantise, offsets, scale, classes, _at_zero=1)


def _centred(trees: list[Tree], offsets: Numbers, share: float) -> tuple[list[Tree], Numbers]:
    """Trees of a regression whose values begin at 0 (share 0), or reach as far below it as above
    (0.5). Clients add what is taken off, so that it costs no bits."""
    centred = []
    for tree in trees:
        least, most = tree.values.min(axis=0), tree.values.max(axis=0)
        taken = least + share * (most - least)
        centred.append(dataclasses.replace(tree, values=tree.values - taken))
        offsets = offsets + taken
    return centred, offsets


def _reachable(
    paths: list[list[tuple[int, bool]]],
) -> tuple[list[list[tuple[int, bool]]], list[int]]:
    """Paths on which no condition both holds and does not, each condition once. Conditions that
    were moved to one threshold can contradict each other."""
    whole = [sorted(set(path)) for path in paths]
    return whole, [i for i, path in enumerate(whole) if len({k for k, _ in path}) == len(path)]


def _kept(thresholds: list[float], bits: int) -> Numbers:
    """The thresholds of a feature that are left, ascending."""
    whole = np.array(sorted(set(thresholds)))
    most = 2**bits - 1
    if len(whole) <= most:
        return whole
    return np.asarray(whole[np.linspace(0, len(whole) - 1, most).round().astype(int)])


def _trees_of(model: Any, name: str) -> tuple[list[Tree], Numbers]:
    """Trees whose values, and the offsets, add up to the model's scores."""
    if getattr(model, "n_outputs_", 1) != 1:
        raise ParameterError(f"{name}: {model.n_outputs_} outputs cannot be read; one can")
    if not hasattr(model, "n_features_in_"):
        raise ParameterError(f"model: {name} is not fitted; call fit first")
    if name in SINGLE:
        trees = [_tree(model.tree_, name)]
        return trees, np.zeros(trees[0].values.shape[1])
    if name in FORESTS:
        share = 1 / len(model.estimators_)
        trees = [_tree(each.tree_, name, share) for each in model.estimators_]
        return trees, np.zeros(trees[0].values.shape[1])
    return _boosted(model, name)


def _tree(tree: Any, name: str, factor: float = 1.0) -> Tree:
    """A tree of scikit-learn; classifiers have shares of classes in their leaves."""
    paths: list[list[tuple[Condition, bool]]] = []
    values = []
    todo: list[tuple[int, list[tuple[Condition, bool]]]] = [(0, [])]
    while todo:
        node, path = todo.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0:
            value = np.asarray(tree.value[node][0], dtype=np.float64)
            if name.endswith("Classifier") and name not in BOOSTED:
                value = value / value.sum()
            paths.append(path)
            values.append(value * factor)
            continue
        condition = int(tree.feature[node]), float(tree.threshold[node])
        todo += [(right, [*path, (condition, True)]), (left, [*path, (condition, False)])]
    return Tree(paths, np.array(values))


def _boosted(model: Any, name: str) -> tuple[list[Tree], Numbers]:
    columns = model.estimators_.shape[1]
    trees = []
    for stage in model.estimators_:
        for column, each in enumerate(stage):
            tree = _tree(each.tree_, name, float(model.learning_rate))
            values = np.zeros((len(tree.paths), columns))
            values[:, column] = tree.values[:, 0]
            trees.append(Tree(tree.paths, values))
    # What the sum begins with is a constant unless the model has an estimator for it.
    probe = np.random.default_rng(1).normal(size=(3, model.n_features_in_))
    found = model.decision_function(probe) if hasattr(model, "classes_") else model.predict(probe)
    grown = model.learning_rate * np.array(
        [sum(stage[k].predict(probe) for stage in model.estimators_) for k in range(columns)]
    )
    rest = np.asarray(found).reshape(3, -1) - grown.T
    if not np.allclose(rest, rest[0]):
        raise ParameterError(f"{name}: init = {model.init!r:.60} cannot be read; a constant can")
    return trees, np.asarray(rest[0], dtype=np.float64)
