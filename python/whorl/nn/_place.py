"""Where bootstraps go: the cheapest way through the levels, found as a shortest path."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..errors import NoiseError
from ._steps import RefreshStep, Step


@dataclasses.dataclass(frozen=True)
class Levels:
    """The levels that a placement has."""

    fresh: int
    """That of inputs."""
    refreshed: int
    """That of the result of a bootstrap; 0 if there is none."""
    least: int
    """The lowest level that can be refreshed; results may go below."""


WORK_OF_REFRESH = 150.0
"""Key switches of a bootstrap, about, at the levels of its result and above."""


@dataclasses.dataclass(frozen=True)
class _State:
    cost: float
    levels: tuple[int, ...]
    """The level of each live result, by the order of their numbers."""
    refreshes: tuple[tuple[int, int], ...]
    """(step, operand's step): before that step the operand is refreshed."""


def place(steps: Sequence[Step], levels: Levels) -> tuple[tuple[int, int], ...]:
    """The bootstraps of the cheapest way: before which step which operand is refreshed, once for
    all that use it later. `NoiseError` if a step takes more levels than there are.

    The states are the levels of the results that are still needed. A step costs its key switches,
    times the level at which it is done: rows of residues grow with the level.
    """
    last = _last_uses(steps)
    live: tuple[int, ...] = (0,)
    states = [_State(0.0, (levels.fresh,), ())]
    for number, step in enumerate(steps):
        if number == 0:
            continue
        after = tuple(i for i in (*live, number) if last[i] > number or i == len(steps) - 1)
        best: dict[tuple[int, ...], _State] = {}
        for state in states:
            for made in _continued(state, live, number, steps, levels):
                kept = tuple(made.levels[(*live, number).index(i)] for i in after)
                old = best.get(kept)
                if old is None or made.cost < old.cost:
                    best[kept] = dataclasses.replace(made, levels=kept)
        if not best:
            raise NoiseError(
                f"{step.name}: it takes {step.depth} levels, and there are {levels.refreshed} "
                f"between two bootstraps, of which {levels.least} are theirs"
                if levels.refreshed
                else f"{step.name}: the network takes more than the {levels.fresh} levels of its "
                "parameters, which have no bootstraps"
            )
        live, states = after, list(best.values())
    return min(states, key=lambda state: state.cost).refreshes


def _continued(
    state: _State, live: tuple[int, ...], number: int, steps: Sequence[Step], levels: Levels
) -> list[_State]:
    """The states that may follow: each operand as it is, or refreshed first."""
    out, step = [], steps[number]
    operands = sorted(set(step.inputs))
    for choice in range(1 << len(operands) if levels.refreshed else 1):
        now = dict(zip(live, state.levels, strict=True))
        cost, refreshes = state.cost, state.refreshes
        possible = True
        for bit, operand in enumerate(operands):
            if not choice >> bit & 1:
                continue
            known = steps[operand].bound <= 1
            if not known or not levels.least <= now[operand] < levels.refreshed:
                possible = False
                break
            now[operand] = levels.refreshed
            cost += WORK_OF_REFRESH * (levels.refreshed + 1)
            refreshes = (*refreshes, (number, operand))
        start = min(now[i] for i in operands)
        if not possible or start < step.depth:
            continue
        cost += step.work * (start + 1 - step.depth / 2)
        out.append(_State(cost, (*(now[i] for i in live), start - step.depth), refreshes))
    return out


def _last_uses(steps: Sequence[Step]) -> list[int]:
    last = [len(steps)] * len(steps)
    for number, step in enumerate(steps):
        for i in step.inputs:
            last[i] = number
    last[-1] = len(steps)
    return last


def with_refreshes(
    steps: Sequence[Step], refreshes: Sequence[tuple[int, int]], slots: int
) -> tuple[Step, ...]:
    """The steps with the bootstraps among them, all for so many slots: the longest vectors'."""
    out: list[Step] = []
    place: dict[int, int] = {}
    before: dict[int, list[int]] = {}
    for number, operand in refreshes:
        before.setdefault(number, []).append(operand)
    for number, step in enumerate(steps):
        for operand in before.get(number, ()):
            out.append(
                RefreshStep(
                    name=f"bootstrap before {step.name}",
                    inputs=(place[operand],),
                    bound=1.0,
                    slots=slots,
                )
            )
            place[operand] = len(out) - 1
        out.append(dataclasses.replace(step, inputs=tuple(place[i] for i in step.inputs)))
        place[number] = len(out) - 1
    return tuple(out)
