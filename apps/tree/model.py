"""A trained decision tree over quantised features, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from common.files import InFile
from common.table import Floats, Ints


@dataclasses.dataclass(frozen=True)
class Quantiser(InFile):
    """Maps each feature to a whole number of steps above its lowest value: 0 … levels - 1.

    The grid is uniform, so it tells a client the range of the training data and nothing of the
    tree. A step is the resolution of the training data (the smallest gap between two values of the
    feature) where `levels` of these cover the range, and range / (levels - 1) where they do not.
    With a `guard` so many levels stay free at both ends, and the others cover the range.
    """

    low: list[float]
    step: list[float]
    levels: int
    guard: int = 0

    @classmethod
    def learn(cls, features: Floats, levels: int, guard: int = 0) -> Quantiser:
        """Learns from training data of shape (flowers, features)."""
        used = levels - 2 * guard
        if used < 2:
            raise ValueError(f"levels: {used} of {levels} can be taken, below 2")
        low, step = [], []
        for column in np.asarray(features, dtype=np.float64).T:
            # Decimal data such as 4.7 and 4.8 are not exact in binary.
            values = np.unique(np.round(column, 9))
            resolution = float(np.diff(values).min()) if len(values) > 1 else 1.0
            coarsest = float(values[-1] - values[0]) / (used - 1)
            fills = coarsest > 0 and (guard > 0 or resolution < coarsest)
            step.append(coarsest if fills else round(resolution, 9))
            low.append(float(values[0]) - guard * step[-1])
        return cls(low, step, levels, guard)

    def __call__(self, features: Floats) -> Ints:
        """Levels of features of shape (…, features); values outside the range are clipped."""
        steps = np.rint((np.asarray(features, dtype=np.float64) - self.low) / self.step)
        return np.clip(steps, self.guard, self.levels - 1 - self.guard).astype(np.int64)

    def value(self, feature: int, level: int | Ints) -> Any:
        """The measurement that a level stands for."""
        return self.low[feature] + np.asarray(level) * self.step[feature]

    def cut(self, feature: int, threshold: float) -> int:
        """The last level that passes scikit-learn's test value <= threshold; -1 if none does.

        scikit-learn rounds values, but not thresholds, to single precision, and so does this.
        """
        values = self.value(feature, np.arange(self.levels)).astype(np.float32).astype(np.float64)
        return int(np.count_nonzero(values <= threshold)) - 1


@dataclasses.dataclass(frozen=True)
class Trained(InFile):
    """A binary tree as it was learned, in arrays, a node each; node 0 is the root.

    An internal node sends value <= threshold of its feature left, the rest right. A leaf has left =
    right = -1.
    """

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    label: list[int]  # of the majority of the training data at the node
    classes: int

    @classmethod
    def learn(
        cls, features: Floats, labels: Ints, classes: int, seed: int, depth: int | None
    ) -> Trained:
        """Trains scikit-learn's DecisionTreeClassifier on labels 0 … classes - 1, with at most
        `depth` tests on a way, if it is given.

        `ModuleNotFoundError` without scikit-learn.
        """
        from sklearn.tree import DecisionTreeClassifier

        fitted = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(features, labels)
        tree = fitted.tree_
        return cls(
            feature=tree.feature.tolist(),
            threshold=tree.threshold.tolist(),
            left=tree.children_left.tolist(),
            right=tree.children_right.tolist(),
            label=fitted.classes_[tree.value[:, 0, :].argmax(axis=1)].tolist(),
            classes=classes,
        )

    @property
    def tests(self) -> int:
        """Nodes that test a feature."""
        return sum(child >= 0 for child in self.left)

    def classify(self, features: Floats) -> Ints:
        """Labels of rows of features; values in single precision, as scikit-learn takes them."""
        values = np.asarray(features).astype(np.float32).astype(np.float64)
        return np.array(self.label, dtype=np.int64)[_ends(self, self.threshold, values)]


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A leaf and the way to it: (node, whether it goes right) from the root."""

    node: int
    label: int
    path: list[tuple[int, bool]]


@dataclasses.dataclass(frozen=True)
class Tree(InFile):
    """A binary tree in arrays, a node each; node 0 is the root, children come after parents.

    An internal node sends level <= cut of its feature left, the rest right. A leaf has left =
    right = -1.
    """

    feature: list[int]
    cut: list[int]
    left: list[int]
    right: list[int]
    label: list[int]  # of the majority of the training data at the node
    classes: int
    levels: int

    def __post_init__(self) -> None:
        if not self.internal:
            raise ValueError("the tree is a single leaf: there is nothing to evaluate")

    @classmethod
    def quantise(cls, trained: Trained, quantiser: Quantiser) -> Tree:
        """The trained tree on the quantiser's levels."""
        cuts = [
            quantiser.cut(feature, threshold) if child >= 0 else -1
            for feature, threshold, child in zip(
                trained.feature, trained.threshold, trained.left, strict=True
            )
        ]
        return cls(
            feature=[max(feature, -1) for feature in trained.feature],
            cut=cuts,
            left=trained.left,
            right=trained.right,
            label=trained.label,
            classes=trained.classes,
            levels=quantiser.levels,
        )

    @property
    def internal(self) -> list[int]:
        """Nodes that test a feature."""
        return [node for node, child in enumerate(self.left) if child >= 0]

    def leaves(self) -> list[Leaf]:
        """From left to right."""
        found: list[Leaf] = []

        def walk(node: int, path: list[tuple[int, bool]]) -> None:
            if self.left[node] < 0:
                found.append(Leaf(node, self.label[node], path))
                return
            walk(self.left[node], [*path, (node, False)])
            walk(self.right[node], [*path, (node, True)])

        walk(0, [])
        return found

    @property
    def depth(self) -> int:
        """Tests on the longest way to a leaf."""
        return max(len(leaf.path) for leaf in self.leaves())

    def reach(self, levels: Ints) -> Ints:
        """The leaf (its node) that each row of levels, shape (flowers, features), ends in."""
        return _ends(self, self.cut, np.asarray(levels))

    def near(self, levels: Ints, off: int) -> int:
        """Tests on the ways of rows of levels that are at most `off` from the cut."""
        ways = {leaf.node: leaf.path for leaf in self.leaves()}
        ends = zip(np.asarray(levels), self.reach(levels), strict=True)
        return sum(
            abs(int(row[self.feature[node]]) - self.cut[node]) <= off
            for row, end in ends
            for node, _ in ways[int(end)]
        )

    def classify(self, levels: Ints) -> Ints:
        """Labels of levels of shape (flowers, features), in the clear."""
        return np.array(self.label, dtype=np.int64)[self.reach(levels)]


def _ends(tree: Trained | Tree, most: Sequence[float], rows: Any) -> Ints:
    """The leaf (its node) that each row ends in, if a node sends values up to `most` left."""
    ends = []
    for row in rows:
        node = 0
        while tree.left[node] >= 0:
            goes_left = row[tree.feature[node]] <= most[node]
            node = tree.left[node] if goes_left else tree.right[node]
        ends.append(node)
    return np.array(ends, dtype=np.int64)
