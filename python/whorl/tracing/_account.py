"""How often a program fails, by the library's account, without a ciphertext for each wire.

All tables of a program leave the same noise, and all its inputs are fresh. So a sum's noise follows
from its weights: those of inputs and those of results. A dry run looks one sum of each such kind
up, and its failure counts as often as the program has the kind. Memory and time are those of the
kinds, not of the wires.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Any

from ..binfhe._lut import Lut
from ..binfhe._parameters import Parameters
from ..binfhe._plan import Fresh, plan
from ._program import Program, Sums

Kind = tuple[tuple[int, ...], tuple[int, ...], int]
"""Weights of inputs and of results of tables, and the constant."""

RESOLUTION = 40
"""The differences of probabilities that doubles of their logarithms show: 2^-40 of the larger
one."""


@dataclasses.dataclass(frozen=True)
class Account:
    """What the library says of a program."""

    parameters: Parameters
    failure_log2: float
    """log2 of a bound on the probability that any result of one sample is wrong."""
    bootstraps: int
    key_bytes: int


def account_of(program: Program, params: Parameters) -> Account:
    """The account of one evaluation. `NoiseError` for a sum that fails too often by itself."""
    same = _same_errors(program)
    looked = _kinds(program.looks, program.fresh, same)
    ended = _kinds(program.ends, program.fresh, same)
    # Failures are told apart best where each is the largest so far.
    kinds = sorted([*((k, False) for k in looked), *((k, True) for k in ended)], key=_noise)
    width = max(max(len(inputs), len(results)) for (inputs, results, _), _ in kinds)
    copy = Lut(params, range(program.p), padding=True)
    failures: list[float] = []

    def each_once(x: Any) -> Any:
        server = x.server
        so_far = server._run.failure_log2
        bootstrapped: Any = None
        for (inputs, results, constant), is_end in kinds:
            if results and bootstrapped is None:
                bootstrapped = server.apply(copy, x, under="ring")
            before = so_far([])
            terms = [x[k] for k in range(len(inputs))]
            terms += [bootstrapped[k] for k in range(len(results))]
            total = terms[0]
            if constant or inputs + results != (1,):
                weights = [*inputs, *results]
                total = server.linear(weights, terms, constant, largest=program.p - 1)
            if is_end:
                after = so_far([server.to_lwe_key(total)._core])
            else:
                server.apply(copy, total, under="ring")
                after = so_far([])
            count = (ended if is_end else looked)[inputs, results, constant]
            failures.append(_difference(before, after) + math.log2(count))
        return x

    fresh = Fresh((width,), program.p, True, under="ring")
    planned = plan(each_once, fresh, parameters=params)
    return Account(params, _sum_log2(failures), len(program.looks), planned.key_bytes)


def _same_errors(program: Program) -> list[int]:
    """A number for each look-up, equal where the errors of results are: where the same table is
    looked up in equal sums, or in a sum and its negative."""
    numbers: list[int] = []
    known: dict[Any, int] = {}
    starts, wires, weights = (
        each.tolist() for each in (program.looks.starts, program.looks.wires, program.looks.weights)
    )
    constants, tables = program.looks.constants.tolist(), program.numbers.tolist()
    for i, (constant, table) in enumerate(zip(constants, tables, strict=True)):
        here = slice(starts[i], starts[i + 1])
        places = (w if w < program.fresh else numbers[w - program.fresh] for w in wires[here])
        terms = sorted(zip(places, weights[here], strict=True))
        sign = -1 if terms[0][1] < 0 else 1
        key = (
            tuple((w, sign * weight) for w, weight in terms),
            sign * constant % (2 * program.p),
            table,
        )
        numbers.append(known.setdefault(key, program.fresh + i))
    return numbers


def _kinds(sums: Sums, fresh: int, same: list[int]) -> collections.Counter[Kind]:
    """How often there is each kind of sum."""
    found: collections.Counter[Kind] = collections.Counter()
    starts, wires, weights = (each.tolist() for each in (sums.starts, sums.wires, sums.weights))
    for i, constant in enumerate(sums.constants.tolist()):
        here = slice(starts[i], starts[i + 1])
        inputs: list[int] = []
        results: dict[int, int] = {}
        for wire, weight in zip(wires[here], weights[here], strict=True):
            if wire < fresh:
                inputs.append(weight)
            else:
                number = same[wire - fresh]
                # Errors that are the same add up.
                results[number] = (
                    abs(results[number]) + abs(weight) if number in results else weight
                )
        found[tuple(sorted(inputs)), tuple(sorted(results.values())), constant] += 1
    return found


def _noise(kind: tuple[Kind, bool]) -> tuple[int, int]:
    """The noise of a kind, about."""
    inputs, results, _ = kind[0]
    return sum(w * w for w in results), sum(w * w for w in inputs)


def _difference(before: float, after: float) -> float:
    """log2(2^after - 2^before), or a bound where doubles do not show it."""
    if math.isinf(before):
        return after
    least = before - RESOLUTION
    if after <= before:
        return least
    return max(least, after + math.log2(-math.expm1((before - after) * math.log(2))))


def _sum_log2(values: list[float]) -> float:
    most = max(values)
    if math.isinf(most):
        return most
    return min(0.0, most + math.log2(math.fsum(2.0 ** (each - most) for each in values)))
