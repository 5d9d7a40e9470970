"""Chooses parameters for a traced function."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ..binfhe._parameters import Parameters, parameters
from ..binfhe._search import Request, cost, search
from ..errors import EncodingError, NoiseError, ParameterError
from ._account import Account, account_of
from ._graph import Graph
from ._lower import Bounds, Lowered, lower
from ._program import (
    MOST_CIPHERTEXTS,
    Input,
    Output,
    Program,
    ciphertexts_of,
    program_of,
)
from ._wires import Budget, base_of

DEFAULT = "W128_P128"
"""The named set for tables under a padding bit, measured on CPUs and GPUs (docs/parameters.md)."""
SEARCHED = ((4, 1024, 2.0), (8, 2048, 1.25), (16, 2048, 1.25), (32, 4096, 1.25))
"""p, the ring dimension, and a margin, of sets that a search tries. A single message of such a set
fails with so many times as many bits as the circuit may: that is for the number of tables, and for
sums, which cost more where rotations have most of the noise."""
SIZES = (64, 32, 16, 8, 4)
"""Sizes p of messages, of which a given set takes the largest that it carries."""
LEAST_FAILURE, MOST_FAILURE = -1000.0, -40.0
MOST_NOISE = 4096.0
"""Sums are not allowed more, in variances of a rotation: p bounds their weights before that."""
TRIES = 6


def budget_of(params: Parameters, p: int, failure_log2: float) -> Budget | None:
    """The noise that a table of p values may have in its input, or None if not even that of two
    sums of digits.

    Ciphertexts are under the ring key, and the key of each sum is switched before its rotation: a
    sum of v rotations has r·v + 1 - r of the variance of a bootstrapped ciphertext, where r is the
    share of the rotation (docs/noise.md).
    """

    def fails(variance: float) -> float:
        return max(
            params.gate_failure_log2(share * variance + 1 - share, 2 * p, transform)
            for transform in ("ntt", "fft")
        )

    noise = params.noise()
    common = noise.rotation_constant / noise.blind_rotation
    share = (params.q / params.Q) ** 2 * noise.blind_rotation / noise.refreshed
    together = max(2, math.ceil(math.log2(p) / max(1, (p.bit_length() - 1) // 2)))
    least = together + common * together * (together - 1)
    if fails(least) > failure_log2:
        return None
    low, high = least, MOST_NOISE
    while high - low > 1e-3 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if fails(middle) <= failure_log2 else (low, middle)
    return Budget(low, params.sigma_ring**2 / noise.blind_rotation, common)


def candidates(wanted: Any, failure_log2: float) -> Iterator[tuple[Parameters, int]]:
    """Sets to try, each with p."""
    if isinstance(wanted, str) and wanted == "search":
        yield from _found(failure_log2)
        return
    params = parameters(DEFAULT if wanted is None else wanted)
    for p in SIZES:
        if 4 * p <= params.N and budget_of(params, p, failure_log2) is not None:
            yield params, p
            return


@functools.cache
def _found(failure_log2: float) -> list[tuple[Parameters, int]]:
    known: dict[Parameters, int] = {}
    for p, N, margin in SEARCHED:
        request = Request(p, True, margin * failure_log2, secret="binary", N=(N,), rotation="ginx")
        for found in search(request, top=1):
            # Sums are rounded once, before a rotation, where ciphertexts stay at Q_ks.
            params = parameters({**found.literal, "q": found.literal["Q_ks"]})
            if budget_of(params, p, failure_log2) is not None:
                known.setdefault(params, p)
    return [(parameters(DEFAULT), 16), *known.items()]


def compiled(
    graph: Graph,
    measured: Sequence[Bounds],
    inputs: Sequence[Input],
    outputs: Sequence[tuple[int, Output]],
    wanted: Any,
    failure_log2: float,
    prefer_measured: bool,
) -> tuple[Program, Account, Lowered]:
    """The cheapest circuit among the candidates. `ParameterError` if none fails rarely enough."""
    best: tuple[float, Program, Account, Lowered] | None = None
    for params, p in candidates(wanted, failure_log2):
        made = _with(graph, measured, inputs, outputs, params, p, failure_log2, prefer_measured)
        if made is not None:
            price = made[1].bootstraps * cost(params.literal()).flops
            if best is None or price < best[0]:
                best = (price, *made)
    if best is None:
        searched = isinstance(wanted, str) and wanted == "search"
        tried = "the search" if searched else parameters(DEFAULT if wanted is None else wanted).name
        raise ParameterError(
            f"parameters: {tried or 'the given set'} has no messages with which this function "
            f"fails with 2^{failure_log2:g} at most: give a larger failure_log2, or "
            'parameters="search"'
        )
    return best[1:]


def _with(
    graph: Graph,
    measured: Sequence[Bounds],
    inputs: Sequence[Input],
    outputs: Sequence[tuple[int, Output]],
    params: Parameters,
    p: int,
    failure_log2: float,
    prefer_measured: bool,
) -> tuple[Program, Account, Lowered] | None:
    """The circuit for one set, with as much noise in sums as its size allows."""
    bounds = [(x.low, x.high) for x in inputs]
    fresh = ciphertexts_of(inputs, base_of(p))
    if fresh > MOST_CIPHERTEXTS:
        raise ParameterError(
            f"inputs take {fresh:,} ciphertexts of digits below {base_of(p)}; {MOST_CIPHERTEXTS:,} "
            "are the most: trace with fewer inputs, or with narrower bounds"
        )
    each = failure_log2 - 6
    for _ in range(TRIES):
        budget = budget_of(params, p, each)
        if budget is None:
            return None
        lowered = lower(
            graph, measured, bounds, [i for i, _ in outputs], p, budget, prefer_measured
        )
        program = program_of(lowered, inputs, [out for _, out in outputs])
        if not len(program.ends):
            raise ParameterError("the results do not depend on the inputs: there is nothing to run")
        try:
            account = account_of(program, params)
        except NoiseError:
            each -= 4
            continue
        if account.failure_log2 <= failure_log2:
            return *_shared(program, account, failure_log2), lowered
        each -= 1 + 1.5 * (account.failure_log2 - failure_log2)
    return None


def _shared(program: Program, account: Account, failure_log2: float) -> tuple[Program, Account]:
    """The program where tables share rotations, if it fails rarely enough then."""
    if not program.groups:
        return program, account
    sharing = dataclasses.replace(program, shares=True)
    try:
        together = account_of(sharing, account.parameters)
    except (NoiseError, EncodingError):
        return program, account
    return (sharing, together) if together.failure_log2 <= failure_log2 else (program, account)
