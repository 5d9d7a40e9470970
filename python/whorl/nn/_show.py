"""Pictures and tables of compiled networks: their steps, and the levels of the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._core.paths import PathName, as_path
from .._core.text import counted
from ..errors import IoError, ParameterError
from ._place import WORK_OF_REFRESH
from ._steps import MapStep, PolynomialStep, ProductStep, RefreshStep, Step, SumStep

KINDS: dict[type[Step], tuple[str, str, str]] = {
    MapStep: ("map", "s", "#4c78a8"),
    PolynomialStep: ("polynomial", "o", "#f58518"),
    ProductStep: ("product", "D", "#54a24b"),
    SumStep: ("sum", "P", "#b279a2"),
    RefreshStep: ("bootstrap", "^", "#e45756"),
    Step: ("input", "o", "#79706e"),
}
"""What a step is called, its mark, and its colour."""
NAMED = 48
"""Pictures of more steps have no names below them."""


def names(steps: Sequence[Step]) -> list[str]:
    """The names of steps; those that several have get a number."""
    used: Counter[str] = Counter()
    out: dict[str, None] = {}
    for step in steps:
        name = step.name
        while name in out:
            used[step.name] += 1
            name = f"{step.name} ({used[step.name] + 1})"
        out[name] = None
    return list(out)


def work(steps: Sequence[Step], levels: Sequence[int]) -> list[float]:
    """Key switches of each step, about, times the primes' rows: a level more is a row more. It is
    what bootstraps are placed by."""
    out = []
    for step, level in zip(steps, levels, strict=True):
        switches = WORK_OF_REFRESH * step.parts if isinstance(step, RefreshStep) else step.work
        out.append(switches * (level + 1 + step.depth / 2))
    return out


def summary(
    steps: Sequence[Step], levels: Sequence[int], seconds: Mapping[str, float] | None
) -> str:
    """A table of the steps; `Network.summary` says more."""
    measured = _measured(steps, seconds)
    head = ["", "step", "kind", "of", "level", "error", "work"]
    rows = [head if measured is None else [*head, "ms"]]
    for number, (step, name, level, cost) in enumerate(
        zip(steps, names(steps), levels, work(steps, levels), strict=True)
    ):
        kind = KINDS[type(step)][0]
        if isinstance(step, PolynomialStep):
            kind += f" of degree {step.polynomial.degree}"
        of = " ".join(map(str, step.inputs))
        rows.append([str(number), name, kind, of, str(level), f"{step.error:.1e}", f"{cost:.0f}"])
        if measured is not None:
            rows[-1].append(f"{1e3 * measured[number]:.3f}")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = {0, 4, 5, 6, 7}
    lines = (
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    held = "errors hold for inputs whose tensors stay in their ranges: `simulate` warns of others"
    return "\n".join([*(line.rstrip() for line in lines), held])


def show(
    steps: Sequence[Step],
    levels: Sequence[int],
    N: int,
    seconds: Mapping[str, float] | None,
    path: PathName | None,
) -> Any:
    """A figure of the steps; `Network.show` says more."""
    measured = _measured(steps, seconds)
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'show: matplotlib is missing: pip install "whorl-fhe[nn]"', name=error.name
        ) from None
    figure = Figure(figsize=(min(24.0, max(6.0, 1.5 + 0.2 * len(steps))), 6), layout="constrained")
    graph, costs = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    for number, step in enumerate(steps):
        refreshed = isinstance(step, RefreshStep)
        for i in step.inputs:
            graph.plot(
                (i, number),
                (levels[i], levels[number]),
                color=KINDS[RefreshStep][2] if refreshed else "#bab0ac",
                linestyle="--" if refreshed else "-",
                linewidth=1,
                zorder=1,
            )
    heights = work(steps, levels) if measured is None else [1e3 * each for each in measured]
    for kind, (name, mark, colour) in KINDS.items():
        which = [number for number, step in enumerate(steps) if type(step) is kind]
        if not which:
            continue
        label = f"{len(which)} × {name}" if kind is not Step else name
        places = [levels[number] for number in which]
        graph.scatter(which, places, marker=mark, color=colour, s=28, zorder=2, label=label)
        costs.bar(which, [heights[number] for number in which], color=colour)
    graph.set_ylabel("level of the result")
    graph.yaxis.get_major_locator().set_params(integer=True)
    graph.grid(axis="y", color="#e5e5e5")
    graph.legend(fontsize=8)
    bootstraps = sum(step.parts for step in steps if isinstance(step, RefreshStep))
    title = counted(len(steps) - 1, "step"), counted(bootstraps, "bootstrap")
    graph.set_title(f"{', '.join(title)}, N = {N}", fontsize=9)
    costs.set_ylabel("key switches × rows" if measured is None else "ms, measured")
    costs.grid(axis="y", color="#e5e5e5")
    costs.set_axisbelow(True)
    costs.xaxis.get_major_locator().set_params(integer=True)
    costs.set_xlabel("step")
    if len(steps) <= NAMED:
        costs.set_xticks(range(len(steps)), names(steps), rotation=90, fontsize=7)
        costs.set_xlabel("")
    if path is not None:
        target = as_path(path)
        try:
            figure.savefig(target, dpi=130)
        except OSError as error:
            raise IoError(f"{target}: {error.strerror or error}") from None
    return figure


def _measured(steps: Sequence[Step], seconds: Mapping[str, float] | None) -> list[float] | None:
    """Seconds of each step; `ParameterError` if they are not those of this network's steps."""
    if seconds is None:
        return None
    known = names(steps)[1:]
    missing = [name for name in known if name not in seconds]
    if missing or len(seconds) != len(known):
        raise ParameterError(
            f"seconds: {len(seconds)} steps are not the {len(known)} of this network"
            + (f"; {missing[0]} is missing" if missing else "")
            + ": take what `Runner.profile` gives"
        )
    return [0.0, *(float(seconds[name]) for name in known)]
