"""The training in the clear: Nesterov's accelerated gradient with a cubic for the sigmoid.

It is that of Han, Song, Cheon and Park (AAAI 2019). A sample z is its label, 1 or -1, times (1,
pixels). From w = v = 0, an iteration t takes the next mini-batch and computes

    w' = v + rate · mean of z·σ(-z·v)        v' = (1 - γ_t)·w' + γ_t·w

where σ(-x) is the polynomial of `SIGMOID`. All numbers but samples and weights are public.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from .digits import Digits, Floats

SIGMOID = (0.5, -0.0843, 0.0002)  # σ(-x) is about c0 + c1·x + c2·x³, for |x| up to 16
FIRST = 0.01  # λ_0, from which the momenta follow
BATCH = 1024
ITERATIONS = 32


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What is public about a training."""

    iterations: int = ITERATIONS
    rate: float = 1.0

    def momenta(self) -> list[float]:
        """γ_t = (1 - λ_t)/λ_(t+1) with λ_(t+1) = (1 + √(1 + 4·λ_t²))/2."""
        values, last = [], FIRST
        for _ in range(self.iterations):
            following = (1 + math.sqrt(1 + 4 * last * last)) / 2
            values.append((1 - last) / following)
            last = following
        return values


def mini_batches(digits: Digits, seed: int, batch: int = BATCH) -> Floats:
    """Samples in an order at random, of shape (batches, batch, features).

    Fewer samples than a batch are repeated in it.
    """
    order = np.random.default_rng(seed).permutation(len(digits.training))
    order = np.resize(order, max(batch, len(order)))
    samples = (digits.training_labels[:, None] * digits.training)[order]
    count = len(samples) // batch
    return samples[: count * batch].reshape(count, batch, -1)


def train(batches: Floats, schedule: Schedule) -> Iterator[Floats]:
    """The weights w after each iteration."""
    return (w for _, w in states(batches, schedule))


def states(batches: Floats, schedule: Schedule) -> Iterator[tuple[Floats, Floats]]:
    """v before each iteration, and w after it."""
    c0, c1, c2 = SIGMOID
    w = v = np.zeros(batches.shape[-1])
    for t, momentum in enumerate(schedule.momenta()):
        z = batches[t % len(batches)]
        x = z @ v
        following = v + schedule.rate * ((c0 + c1 * x + c2 * x**3) @ z) / len(z)
        yield v, following
        w, v = following, (1 - momentum) * following + momentum * w


def accuracy(weights: Floats, digits: Digits) -> float:
    """The share of the test's digits that the model tells apart."""
    return float(np.mean((digits.test @ weights > 0) == (digits.test_labels > 0)))


def loss(weights: Floats, digits: Digits) -> float:
    """Logistic loss on the test's digits."""
    margins = digits.test_labels * (digits.test @ weights)
    return float(np.mean(np.logaddexp(0, -margins)))
