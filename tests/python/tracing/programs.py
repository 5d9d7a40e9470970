"""Random functions of integers, written with NumPy, and inputs for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import whorl
from whorl.tracing import Circuit, bivariate, rounded, univariate

Bounds = tuple[int, int, tuple[int, ...]]


def both(a: Any, b: Any) -> Any:
    """A function of two integers of few bits."""
    return bivariate(lambda p, q: (p * 3 + q) % 11)(np.clip(a, -9, 9), np.clip(b, 0, 12))


def joined(a: Any, b: Any) -> Any:
    """Three elements of both."""
    if not np.ndim(a) and not np.ndim(b):
        return a + b
    return np.concatenate([np.atleast_1d(a), np.atleast_1d(b)])[:3]


OPERATIONS: list[Callable[[Any, Any, int], Any]] = [
    lambda a, b, k: a + b,
    lambda a, b, k: a - b,
    lambda a, b, k: a * (k - 9) + 1,
    lambda a, b, k: a * b,
    lambda a, b, k: np.maximum(a, b),
    lambda a, b, k: np.minimum(a, k - 9),
    lambda a, b, k: np.minimum(a, b),
    lambda a, b, k: np.where(a > b, a, b - k),
    lambda a, b, k: np.abs(a - k),
    lambda a, b, k: rounded(a, k % 4),
    lambda a, b, k: (a <= b) + a,
    lambda a, b, k: np.sqrt(np.abs(a)).astype(np.int64),
    lambda a, b, k: a % (k + 2),
    lambda a, b, k: a // (k + 1) - b,
    lambda a, b, k: a.sum() + b,
    lambda a, b, k: a[::-1] * 2 if np.ndim(a) else a * 2,
    lambda a, b, k: np.where((a != b) & (a > k - 9), a, k),
    lambda a, b, k: np.clip(a, -2 * k, 2 * k),
    lambda a, b, k: a >> (k % 5),
    lambda a, b, k: joined(a, b),
    lambda a, b, k: both(a, b),
    lambda a, b, k: (np.clip(a, 0, 63) ^ k) | (b > 3),
    lambda a, b, k: np.convolve(np.atleast_1d(a), [1, k - 9, 2], "same")[:3],
    lambda a, b, k: np.atleast_1d(a) @ (np.arange(np.size(a)) - k % 4) + b,
    lambda a, b, k: np.clip(np.atleast_1d(a), -3, 3) @ np.clip(np.atleast_1d(a), -2, 5) - b,
    lambda a, b, k: np.max(a) - np.min(b),
    lambda a, b, k: np.any(a > k - 9) + 2 * np.all(b != k),
    lambda a, b, k: np.argmax(np.atleast_1d(a)) - np.argmin(np.atleast_1d(b)),
    lambda a, b, k: np.clip(a, np.minimum(b, 0), k),
    lambda a, b, k: univariate(lambda v: v * v * 7 % 31)(np.clip(a, -64, 63)) - b,
    lambda a, b, k: (a % 8) // (np.abs(b) % 4 + 1),
    lambda a, b, k: np.clip(a, 0, 15) & np.clip(b, 0, 15),
    lambda a, b, k: np.logical_not(a) * b - (a == b),
    lambda a, b, k: np.maximum(k - 9, a) + (k - b),
    lambda a, b, k: np.select([a > k, b > a], [b, a - 1], k),
    lambda a, b, k: np.cumsum(np.atleast_1d(a))[::-1] - np.sum(b),
    lambda a, b, k: np.clip(a, -5, 5) ** 3 - (b << (k % 3)),
    lambda a, b, k: np.round(9 * np.tanh(a / (k + 3))).astype(np.int64) * 2,
    lambda a, b, k: -np.roll(np.atleast_1d(a), 1)[0] + b,
]


def random_program(seed: int) -> Callable[..., Any]:
    """A function of one to six operations."""

    def function(*inputs: Any) -> Any:
        choose = np.random.default_rng(seed)
        pool = list(inputs)
        for _ in range(choose.integers(1, 7)):
            a, b = (pool[choose.integers(len(pool))] for _ in range(2))
            operation = OPERATIONS[choose.integers(len(OPERATIONS))]
            pool.append(operation(a, b, int(choose.integers(0, 19))))
        return pool[-1] + pool[0]

    return function


def random_bounds(seed: int) -> list[Bounds]:
    """Low and high ends of one or two inputs of 1 to 8 bits, and their shape."""
    choose = np.random.default_rng(seed + 10**6)
    shape = () if choose.random() < 0.3 else (3,)
    bounds: list[Bounds] = []
    for _ in range(choose.integers(1, 3)):
        bits = int(choose.integers(1, 9))
        low = int(choose.integers(-(2**bits), 1))
        bounds.append((low, low + 2**bits - 1, shape))
    return bounds


def samples(bounds: list[Bounds], seed: int, count: int) -> list[tuple[Any, ...]]:
    """Both ends of all inputs, and random inputs."""
    choose = np.random.default_rng(seed)
    ends = [tuple(np.full(s, at[i]) for *at, s in bounds) for i in range(2)]
    return ends + [
        tuple(choose.integers(low, high + 1, s) for low, high, s in bounds) for _ in range(count)
    ]


def compiled(seed: int, **options: Any) -> Circuit | None:
    """The circuit of a random program; None for one whose integers are too wide."""
    given = samples(random_bounds(seed), seed, 20)
    try:
        return whorl.trace(random_program(seed), given).compile(**options)
    except whorl.ParameterError as error:
        if "2^16 values" in str(error) or "2^46" in str(error) or "do not depend" in str(error):
            return None
        raise


def assert_simulates(
    circuit: Circuit, function: Callable[..., Any], given: list[tuple[Any, ...]]
) -> int:
    """Results are NumPy's, or the input is refused because of bounds that were measured; how many
    were not refused."""
    kept = 0
    for each in given:
        try:
            found = circuit.simulate(*each)
        except whorl.EncodingError as error:
            assert "within the circuit" in str(error)
            continue
        expected = function(*(np.asarray(x, dtype=np.int64) for x in each))
        assert np.array_equal(found, expected), (each, found, expected)
        kept += 1
    return kept
