"""A picture of the training: accuracy and loss after each iteration, encrypted and in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def draw(
    clear: Sequence[tuple[float, float]],
    encrypted: Sequence[tuple[float, float]],
    bootstraps: Sequence[int],
    title: str,
    path: Path,
) -> None:
    """Writes a PNG. Pairs are accuracy and loss after each iteration; `bootstraps`: iterations
    after which the state was refreshed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4))
    for index, (axes, what) in enumerate(zip(panels, ("accuracy", "loss"), strict=True)):
        for values, label, style in (
            (clear, "in the clear", {"color": "#f58518", "linewidth": 4, "alpha": 0.5}),
            (encrypted, "encrypted", {"color": "#4c78a8", "marker": "o", "markersize": 4}),
        ):
            numbers = [value[index] for value in values]
            axes.plot(range(1, len(numbers) + 1), numbers, label=label, **style)
        for position, iteration in enumerate(bootstraps):
            name = None if position else "bootstrap"
            axes.axvline(iteration + 0.5, color="#bab0ac", linewidth=0.8, zorder=0, label=name)
        axes.set_xlabel("iteration")
        axes.set_title(f"{what} on the test", fontsize=10)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(axis="y", color="#e5e5e5")
    panels[0].legend(loc="lower right")
    figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)
