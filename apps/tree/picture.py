"""A picture of the tree, with the number of encrypted flowers on each way."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from .model import Tree

COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d", "#bab0ac"]


def passes(tree: Tree, leaves: list[int]) -> dict[int, int]:
    """How many flowers pass each node, given the leaf (from left to right) of each flower."""
    reached = Counter(leaves)
    counts: Counter[int] = Counter()
    for position, leaf in enumerate(tree.leaves()):
        for node in [*(node for node, _ in leaf.path), leaf.node]:
            counts[node] += reached[position]
    return dict(counts)


def _place(tree: Tree) -> dict[int, tuple[float, float]]:
    """Leaves side by side, parents above the middle of their children."""
    places: dict[int, tuple[float, float]] = {}
    for position, leaf in enumerate(tree.leaves()):
        places[leaf.node] = (float(position), -float(len(leaf.path)))
    for node in reversed(tree.internal):
        left, right = places[tree.left[node]], places[tree.right[node]]
        places[node] = ((left[0] + right[0]) / 2, max(left[1], right[1]) + 1)
    depths = {node: -step for leaf in tree.leaves() for step, (node, _) in enumerate(leaf.path)}
    return {node: (x, depths.get(node, y)) for node, (x, y) in places.items()}


def draw(
    tree: Tree, tests: dict[int, str], classes: list[str], leaves: list[int], title: str, path: Path
) -> None:
    """Writes a PNG; `tests` are texts of the internal nodes, `leaves` as in `passes`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    counts = passes(tree, leaves)
    places = _place(tree)
    flowers = max(1, len(leaves))
    width = max(7.0, 1.55 * len(tree.leaves()))
    figure, axes = plt.subplots(figsize=(width, 1.9 + 1.15 * tree.depth))
    for node in tree.internal:
        x, y = places[node]
        for child, word in ((tree.left[node], "yes"), (tree.right[node], "no")):
            to_x, to_y = places[child]
            thick = 0.8 + 7 * counts[child] / flowers
            used = counts[child] > 0
            axes.plot(
                [x, to_x],
                [y, to_y],
                color="#8a8a8a" if used else "#d5d5d5",
                linewidth=thick,
                zorder=1,
            )
            axes.text(
                (x + to_x) / 2,
                (y + to_y) / 2,
                f"{word}: {counts[child]}",
                ha="center",
                va="center",
                fontsize=8,
                bbox={"boxstyle": "round,pad=0.15", "color": "white"},
                zorder=2,
            )
    for node, (x, y) in places.items():
        inside = tree.left[node] >= 0
        label = tree.label[node]
        axes.text(
            x,
            y,
            tests[node] if inside else f"{classes[label]}\n{counts[node]}",
            ha="center",
            va="center",
            fontsize=9,
            color="black" if inside else "white",
            bbox={
                "boxstyle": "round,pad=0.4",
                "facecolor": "#f2f2f2" if inside else COLOURS[label % len(COLOURS)],
                "edgecolor": "#606060",
            },
            zorder=3,
        )
    axes.set_xlim(-0.7, len(tree.leaves()) - 0.3)
    axes.set_ylim(-tree.depth - 0.5, 0.5)
    axes.set_axis_off()
    axes.set_title(title, fontsize=10)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)
