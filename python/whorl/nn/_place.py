"""Steps with bootstraps among them, in the order of a plan of the C++ library."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .._server import networks as _lib
from ..ckks._parameters import Parameters
from ._steps import RefreshStep, Step

WORK_OF_REFRESH = _lib.work_of_refresh
"""Key switches of a bootstrap, about, at the levels of its result and above."""


def planned(
    steps: Sequence[Step], slots: int, parameters: Parameters | None
) -> tuple[tuple[Step, ...], Parameters]:
    """The steps with their bootstraps, and the parameters: those that are given, or those under
    which bootstraps cost least. No tensor takes more than `slots`, and all bootstraps are for so
    many. `NoiseError` if a step takes more levels than there are, `ParameterError` if no parameters
    carry the network, or too many tensors are needed at once."""
    if parameters is None:
        plan = _lib.plan(_as_planned(steps), slots)
        parameters = Parameters(plan.parameters)
    else:
        plan = _lib.plan(_as_planned(steps), parameters._core)
    return _in_order(steps, plan.steps, slots), parameters


def with_refreshes(
    steps: Sequence[Step],
    refreshes: Sequence[tuple[int, int]],
    slots: int,
    parameters: Parameters,
) -> tuple[tuple[Step, ...], list[int]]:
    """The steps with bootstraps that are given, (step, operand's step), and the level that each
    result has at least. `ParameterError` for those that are out of order, or that levels do not
    allow."""
    placed = _lib.with_refreshes(_as_planned(steps), refreshes, parameters._core)
    return _in_order(steps, placed, slots), [each.level for each in placed]


def _as_planned(steps: Sequence[Step]) -> list[_lib.Step]:
    return [_lib.Step(s.name, s.inputs, s.depth, s.work, s.bound, s.parts) for s in steps]


def _in_order(
    steps: Sequence[Step], placed: Sequence[_lib.PlacedStep], slots: int
) -> tuple[Step, ...]:
    out: list[Step] = []
    for each in placed:
        step, inputs = steps[each.step], tuple(each.inputs)
        if each.is_bootstrap:
            name, parts = f"bootstrap before {step.name}", out[inputs[0]].parts
            step = RefreshStep(name=name, inputs=inputs, bound=1.0, parts=parts, slots=slots)
        out.append(dataclasses.replace(step, inputs=inputs))
    return tuple(out)
