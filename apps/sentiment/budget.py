"""How large errors become, and how many words to compute between two bootstraps.

usage: python -m sentiment.budget    the costs of each number of words, from the folder apps

Both come from a dry run of the circuit, on a server without ciphertexts. A server's own bounds add
errors up as if all had one direction. Over many words they pass the values. So each step's own
error is carried through the network in clear: each adds a normal error to what it is given, and
`MARGIN` times the deviation that results, of the worst cell, is stated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from whorl.ckks._tracer import TracingServer
from whorl.errors import Error
from whorl.server.ckks import EncryptedArray, Parameters

from . import circuit, model
from .circuit import Layout, Network, Plan
from .model import RANGE, Weights, cubic
from .words import Floats, Table, joined, read_own

MARGIN = 2.0
DRAWS = 4
NO_ERROR = 2.0**-60
"""What is stated of operands whose errors are counted elsewhere."""


@dataclasses.dataclass(frozen=True)
class Step:
    """What a step does by itself."""

    error: float
    """Standard deviation of the error that it makes of operands without one."""
    work: float
    """Rows of residues that its key switches transform, about."""


@dataclasses.dataclass(frozen=True)
class Steps:
    """The steps of a run of 32 sentences."""

    words: Step
    """All words of the query."""
    recur: dict[int, Step]
    """From one state to the next, by the level of the state."""
    refresh: Step
    score: Step

    def work(self, levels: list[tuple[int, bool]], top: int) -> float:
        """That of a run."""
        starts = [top if refreshed else level for level, refreshed in levels[:-1]]
        refreshes = sum(refreshed for _, refreshed in levels)
        recurrences = sum(self.recur[level].work for level in starts)
        return self.words.work + recurrences + refreshes * self.refresh.work + self.score.work


def dry_run(params: Parameters, layout: Layout, weights: Weights, steps: int) -> Steps:
    """The steps of a run, without ciphertexts."""
    server = TracingServer(params)
    network = Network(server, weights, Plan(layout, steps, error=1, score_error=1))

    def rows(level: int) -> int:
        """Rows of a key switch: each digit is raised to all primes, and two sums come back."""
        primes = sum(params.levels[level])
        digits = -(-primes // params.digit_limbs)
        return primes + (digits + 2) * (primes + len(params.special))

    def step(
        level: int,
        length: int,
        work: Callable[[EncryptedArray], EncryptedArray],
        highest: int | None = None,
    ) -> Step:
        x = server.fresh("real", (-(-steps // layout.share), length), 1, secret_key=True)
        if length == layout.period:
            x = x[0].lower(level).with_error(NO_ERROR)
        before = server._core.run.costs()["key_switches"]
        made = work(x)
        count = server._core.run.costs()["key_switches"] - before
        return Step(made.error, count * rows(level if highest is None else highest))

    levels = circuit.levels(params, steps)
    starts = {params.depth if refreshed else level for level, refreshed in levels[:-1]}
    return Steps(
        words=step(params.depth, layout.slots, lambda x: next(network.words(x[None]))),
        recur={level: step(level, layout.period, network.recur) for level in starts},
        # A bootstrap works at levels above those of users, most of the time.
        refresh=step(
            params.least_bootstrap_level,
            layout.period,
            EncryptedArray.bootstrap,
            len(params.levels) - 1,
        ),
        score=step(levels[-1][0], layout.period, network.score),
    )


def examples(table: Table, layout: Layout, steps: int) -> Floats:
    """Vectors of as many sentences as the layout has, made of the application's own. Those of a
    client are not public."""
    texts = joined(read_own().texts, layout.sentences, steps)
    return table.vectors(texts, steps)


def plan(params: Parameters, layout: Layout, weights: Weights, vectors: Floats, steps: int) -> Plan:
    """The plan of a run, with the errors that vectors (count, steps, cells) have."""
    made = dry_run(params, layout, weights, steps)
    random = np.random.default_rng(1)

    def with_error(values: Floats, error: float) -> Floats:
        noisy: Floats = values + random.normal(0, error, values.shape)
        return noisy

    def after(u: Floats) -> Floats:
        return cubic(u * RANGE) @ weights.recurrent.T / RANGE

    def deviation(noisy: Floats, clear: Floats) -> float:
        return float(np.sqrt(((noisy - clear) ** 2).mean(axis=(0, 1))).max())

    words = (vectors @ weights.inputs.T + weights.bias) / RANGE
    u = words[:, 0]
    noisy = with_error(np.repeat(u[None], DRAWS, axis=0), made.words.error)
    found = [deviation(noisy, u)]
    levels = circuit.levels(params, steps)
    for word, (level, refreshed) in zip(np.moveaxis(words, 1, 0)[1:], levels, strict=False):
        if refreshed:
            noisy = with_error(noisy, made.refresh.error)
            found.append(deviation(noisy, u))
        own = made.recur[params.depth if refreshed else level].error
        u = after(u) + word
        noisy = with_error(with_error(after(noisy) + word, own), made.words.error)
        found.append(deviation(noisy, u))
    scores = cubic(u * RANGE) @ weights.head
    noisy_scores = with_error(cubic(noisy * RANGE) @ weights.head, made.score.error)
    score_error = float(np.sqrt(((noisy_scores - scores) ** 2).mean()))
    return Plan(layout, steps, MARGIN * max(found), MARGIN * score_error)


def main() -> None:
    """Prints the table."""
    weights = model.load()
    print("words  primes  keys, GB  bootstraps  rows, millions  cost")
    for words in range(1, 9):
        try:
            params = circuit.choose(words)
        except Error as error:
            print(f"{words:5}  {error}")
            break
        if params.N > 2**16:
            break
        layout = Layout(slots=params.slots)
        levels = circuit.levels(params, model.STEPS)
        work = dry_run(params, layout, weights, model.STEPS).work(levels, params.depth) / 1e6
        keys = params.key_size(**circuit.keys(params, layout, model.STEPS)) / 1e9
        print(
            f"{words:5}  {len(params.chain):2} + {len(params.special):2} {keys:8.2f}  "
            f"{sum(refreshed for _, refreshed in levels):10}  {work:14.3f}  {work * keys**0.25:.3f}"
        )


if __name__ == "__main__":
    main()
