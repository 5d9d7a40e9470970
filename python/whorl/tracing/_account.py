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
from ._program import Program, Sums, shared_tables

Kind = tuple[tuple[int, ...], tuple[int, ...], int]
"""Weights of inputs and of results of tables, and the constant."""
Use = tuple[Kind, bool, tuple[int, ...]]
"""Whether it is decrypted; else the tables that share a rotation, or none for a single one."""

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
    counts = _counted(program)
    # Failures are told apart best where each is the largest so far.
    uses = sorted(counts, key=lambda use: (_noise(use[0]), use[1:]))
    width = max(max(len(inputs), len(results)) for (inputs, results, _), *_ in uses)
    copy = Lut(params, range(program.p), padding=True)
    failures: list[float] = []

    def each_once(x: Any) -> Any:
        server = x.server
        so_far = server._run.failure_log2
        bootstrapped: Any = None
        for use in uses:
            (inputs, results, constant), is_end, tables = use
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
                ends = [server.to_lwe_key(total)]
            elif tables:
                luts = [Lut(params, program.tables[k], padding=True) for k in tables]
                ends = server.apply_many(shared_tables(luts), total)[: len(tables)]
            else:
                server.apply(copy, total, under="ring")
                ends = []
            after = so_far([each._core for each in ends])
            failures.append(_difference(before, after) + math.log2(counts[use]))
        return x

    fresh = Fresh((width,), program.p, True, under="ring")
    planned = plan(each_once, fresh, parameters=params)
    return Account(params, _sum_log2(failures), program.rotations, planned.key_bytes)


def _counted(program: Program) -> collections.Counter[Use]:
    """How often the program has each kind of sum, looked up or decrypted."""
    same = _same_errors(program)
    groups = program.groups if program.shares else []
    grouped = {row for rows in groups for row in rows}
    looks = [_kind(program.looks, row, program.fresh, same) for row in range(len(program.looks))]
    found: collections.Counter[Use] = collections.Counter(
        (kind, False, ()) for row, kind in enumerate(looks) if row not in grouped
    )
    for rows in groups:
        found[looks[rows[0]], False, tuple(program.numbers[rows].tolist())] += 1
    for row, start in enumerate(program.ends.starts[:-1].tolist()):
        if program.ends.wires[start] - program.fresh not in grouped:
            found[_kind(program.ends, row, program.fresh, same), True, ()] += 1
    return found


def _same_errors(program: Program) -> list[int]:
    """A number for each look-up, equal where the errors of results are: where the same table is
    looked up in equal sums, or in a sum and its negative."""
    numbers: list[int] = []
    known: dict[Any, int] = {}
    for row, table in enumerate(program.numbers.tolist()):
        wires, weights, constant = program.looks.key(row)
        places = (w if w < program.fresh else numbers[w - program.fresh] for w in wires)
        terms = sorted(zip(places, weights, strict=True))
        sign = -1 if terms[0][1] < 0 else 1
        signed = tuple((w, sign * weight) for w, weight in terms)
        key = signed, sign * constant % (2 * program.p), table
        numbers.append(known.setdefault(key, program.fresh + row))
    return numbers


def _kind(sums: Sums, row: int, fresh: int, same: list[int]) -> Kind:
    wires, weights, constant = sums.key(row)
    inputs: list[int] = []
    results: dict[int, int] = {}
    for wire, weight in zip(wires, weights, strict=True):
        if wire < fresh:
            inputs.append(weight)
            continue
        number = same[wire - fresh]
        if number in results:  # errors that are the same add up
            weight = abs(results[number]) + abs(weight)
        results[number] = weight
    return tuple(sorted(inputs)), tuple(sorted(results.values())), constant


def _noise(kind: Kind) -> tuple[int, int]:
    """The noise of a kind, about."""
    inputs, results, _ = kind
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
