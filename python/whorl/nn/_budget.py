"""How large errors become: what each step makes by itself, carried through the network in clear."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.progress import Report
from ..ckks._parameters import Parameters
from ..ckks._parameters import parameters as small
from ..ckks._server import Server
from ..ckks._tracer import TracingServer
from ..errors import EncodingError, ParameterError
from ._graph import Numbers
from ._keys import choose_keys
from ._steps import NO_ERROR, MapStep, PolynomialStep, Step, last_uses

MARGIN = 2.0
"""What is found in examples, times this, is stated."""
DRAWS = 4
"""Sets of random errors for each example."""


@dataclasses.dataclass(frozen=True)
class Costs:
    """What a dry run of the steps says."""

    keys: dict[str, Any]
    """Arguments of `evaluation_keys`."""
    errors: tuple[float, ...]
    """Standard deviation of the error that each step makes of operands without one."""
    levels: tuple[int, ...]
    """The level of each result."""


def costs(
    steps: Sequence[Step],
    shape: tuple[int, ...],
    parameters: Parameters,
    report: Report | None = None,
) -> Costs:
    """Runs the steps without ciphertexts, on an input of that shape; `report` counts them.
    `NoiseError` if they do not fit the parameters."""
    server = TracingServer(parameters, False)
    out = [server.fresh("real", shape, 1.0, False)]
    errors = [out[0].error]

    maps: list[tuple[int, tuple[int, ...]]] = []

    def encode(step: MapStep, level: int) -> Any:
        blocks = step.linear_maps()
        maps.extend((level, made.rotations) for made in blocks.values())
        try:
            # Keys for higher levels add no more noise than those of the map's own.
            return {
                block: server.encode(made, level, low_rotations=True)
                for block, made in blocks.items()
            }
        except EncodingError as error:
            raise EncodingError(
                f"{step.name}: the examples' values become {step.factor:.3g} times as large by "
                f"their ranges here, and its weights do not fit a plaintext ({error}): take "
                "examples that reach the sizes of all inputs, or scale the layers"
            ) from None

    measure = _Measure(parameters)
    for number, step in enumerate(steps[1:], 1):
        exact = (server.with_error(out[i], NO_ERROR) for i in step.inputs)
        made = step.run(server, encode, *exact)
        errors.append(measure(step) if isinstance(step, PolynomialStep) else made.error)
        out.append(server.with_bound(made, step.bound))
        if report:
            report(number, len(steps) - 1)
    asked, refreshed = server._core.run.asked(), server._core.refreshed_slots
    rotations, low_rotations = choose_keys(maps, parameters, asked.rotations, refreshed)
    return Costs(
        keys={
            "relinearise": asked.relinearise,
            "rotations": rotations,
            "conjugate": asked.conjugate and not refreshed,
            "bootstrap": refreshed,
            "low_rotations": low_rotations,
        },
        errors=tuple(errors),
        levels=tuple(each.level for each in out),
    )


class _Measure:
    """Measures the error that a function makes, on ciphertexts of a small ring with these primes.

    What a server states of a polynomial supposes that every rounding meets the largest slope, which
    for a sign is a hundred times too much. The ring is not secure, and
    nothing of a user is encrypted in it. An error of roundings and keys grows with √N.
    """

    RING = 2048
    BINS = 32

    def __init__(self, parameters: Parameters) -> None:
        self._real = parameters
        self._known: dict[Any, float] = {}
        self._server: Server | None = None

    def __call__(self, step: PolynomialStep) -> float:
        key = tuple(step.polynomial.coefficients)
        if key not in self._known:
            self._known[key] = self._measured(step)
        return self._known[key]

    def _measured(self, step: Step) -> float:
        if self._server is None:
            # Servers load networks, and have no client.
            from ..ckks._client import Client

            literal = {**self._real.literal(), "N": self.RING, "name": "small"}
            self._client = Client(small(literal=literal, allow_insecure=True))
            self._server = Server(self._client.evaluation_keys(), device="cpu", threads=1)
        random = np.random.default_rng(1)
        x = random.uniform(-1, 1, (8, self.RING // 2))
        given = self._server.upload(self._client.encrypt(x, packing="real", bound=1.0))
        got = self._client.decrypt(step.run(self._server, _no_maps, given), raw=True)
        squares = (got - step.clear(x)) ** 2
        bins = np.minimum((np.abs(x) * self.BINS).astype(int), self.BINS - 1)
        worst = max(squares[bins == each].mean() for each in np.unique(bins))
        return float(np.sqrt(worst * self._real.N / self.RING))


def _no_maps(*_: object) -> Any:
    raise TypeError("a function has no maps")


def budget(
    steps: Sequence[Step], errors: Sequence[float], examples: Numbers, seed: int = 1
) -> tuple[tuple[Step, ...], Numbers]:
    """The steps with the errors of their results; and the last result of the examples in clear.

    Each step adds a normal error of its own deviation to what it is given, in clear, on the
    examples; the deviation of a result from that without errors is stated, of the worst slot and
    times `MARGIN`. Bounds of a server add errors up as if all had one direction, and count the
    largest slope of every polynomial; over many layers that is far above what errors are.
    """
    random = np.random.default_rng(seed)
    last = last_uses(steps)
    first = np.repeat(examples[None], DRAWS, axis=0)
    tensors = {0: (examples, first + random.normal(0, errors[0], first.shape))}
    out = [_with_error(steps[0], *tensors[0])]
    for number, (step, error) in enumerate(zip(steps[1:], errors[1:], strict=True), 1):
        clear, made = (
            step.clear(*each) for each in zip(*(tensors[i] for i in step.inputs), strict=True)
        )
        _check_bound(step, clear)
        tensors[number] = clear, made + random.normal(0, error, made.shape)
        out.append(_with_error(step, *tensors[number]))
        for i in {i for i in step.inputs if last[i] == number}:
            del tensors[i]  # its memory is free
    return tuple(out), tensors[len(steps) - 1][0]


def _check_bound(step: Step, clear: Numbers) -> None:
    """`ParameterError` if the polynomials lead examples out of the ranges that the functions have:
    there the next polynomial may have any value. Slots without a value count too."""
    largest = float(np.abs(clear).max())
    if not largest <= step.bound * (1 + 2.0**-20):
        raise ParameterError(
            f"{step.name}: the polynomials lead examples to {largest:.3g} of the scale, and the "
            f"model to {step.bound:.3g} at most: take a smaller precision or a larger margin; "
            "slots without a value count too, and hold what functions make of 0"
        )


def _with_error(step: Step, clear: Numbers, noisy: Numbers) -> Step:
    deviation = np.sqrt(((noisy - clear) ** 2).mean(axis=(0, 1)))
    return dataclasses.replace(step, error=max(NO_ERROR, MARGIN * float(deviation.max())))
