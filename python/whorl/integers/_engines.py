"""What evaluates wires: clear integers, and a server of FHEW/TFHE."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import binfhe
from .._core.integers import Integers
from ..errors import ParameterError
from ._circuit import SECTORS, CircuitError
from ._compiled import Run, Step, compiled
from ._engine import Account, Lookup

TABLE_FAILURE_LOG2 = -128.0
"""A table fails with at most this probability."""
LEAST_NOISE = 20.0
"""Tables take 4x + y of bootstraps, and 4r + s + c of a quotient's digits, whose s has three."""
MOST_NOISE = 32.0
"""More noise is not used: two digits u + c - 4c' with a carry in common have 33 or more."""


@functools.cache
def account_of(parameters: binfhe.Parameters, failure_log2: float = TABLE_FAILURE_LOG2) -> Account:
    """The noise that tables bear with these parameters, at a failure probability.

    Wires are under the ring key, and a table switches the key of its input. It fails with
    erfc(margin/sqrt(2·(v·β² + σ²))) where margin is half a sector, β² the variance of a
    bootstrapped ciphertext under the LWE key, σ² that of rounding, all at 2N, and v = r·x + (1 - r)
    of x, the sum's variance in units of that of a rotation, r = (q/Q)²·σ_ACC²/β² (docs/noise.md).
    `ParameterError` for parameters whose tables bear less than algorithms need.
    """
    estimates = [parameters.noise(transform) for transform in ("ntt", "fft")]
    noise = max(estimates, key=lambda each: each.refreshed)
    rotation = max(each.blind_rotation for each in estimates)
    double = 2 * parameters.N
    refreshed = noise.refreshed * (double / parameters.q) ** 2
    margin = double / (2 * SECTORS)
    low, high = 0.0, (margin * margin) / refreshed
    for _ in range(60):
        middle = (low + high) / 2
        deviation = math.sqrt(2 * (middle * refreshed + noise.rotation_rounding))
        if _log2_erfc(margin / deviation) <= failure_log2:
            low = middle
        else:
            high = middle
    part = (parameters.q / parameters.Q) ** 2 * rotation / noise.refreshed
    limit = (low - (1 - part)) / part
    if limit < LEAST_NOISE:
        raise ParameterError(
            f"{parameters.name or 'the set'}: tables of integers take sums of {LEAST_NOISE:g} "
            f"rotations' noise, which fail more often than 2^{failure_log2:g} here; W128_P128 "
            "serves at 2^-128"
        )
    constant = max(each.rotation_constant / each.blind_rotation for each in estimates)
    return Account(min(limit, MOST_NOISE), constant, FRESH)


MOST_PRODUCT = 128
"""Products through ring elements have so many digits at most."""

FRESH = 1e-6
"""What a client encrypts under the ring key has less noise, in units of that of a rotation."""


FEW_PLACES = 4096
"""Lists of so many places are kept: for few integers, of which the host takes long."""


@functools.lru_cache(maxsize=1024)
def _places(index: bytes, size: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The places of rows in an array with so many values each; the numbers of rows as bytes."""
    rows = np.frombuffer(index, dtype=np.int64)
    return (rows[:, None] * size + np.arange(size)).astype(np.uint32).reshape(-1)


def _log2_erfc(x: float) -> float:
    """log2 erfc(x), also where erfc underflows."""
    if x < 20:
        return math.log2(math.erfc(x)) if math.erfc(x) > 0 else -math.inf
    return (-x * x - math.log(x * math.sqrt(math.pi))) / math.log(2)


class ClearEngine:
    """Exact integers in place of ciphertexts: the algorithms without keys. It checks that no value
    leaves the range that a circuit states."""

    sees = True

    def __init__(self, account: Account, *, products: int = 0) -> None:
        """`products`: the first factors of products have so many digits at most."""
        self.account = account
        self._products = products

    def trivial(self, values: Integers) -> Integers:
        """Known integers."""
        return values % SECTORS

    def take(self, rows: Integers, index: Integers) -> Integers:
        """Rows by their numbers."""
        return rows[index]

    def columns(self, rows: Integers, index: Integers) -> Integers:
        """Values by their numbers, in all rows."""
        return rows[:, index]

    def beside(self, parts: Sequence[Integers]) -> Integers:
        """Values of several arrays of equal rows."""
        return np.concatenate(parts, axis=1)

    def join(self, parts: Sequence[Integers]) -> Integers:
        """Rows of several arrays."""
        return np.concatenate(parts)

    def linear(
        self, weights: Sequence[int], parts: Sequence[Integers], constant: int = 0
    ) -> Integers:
        """A weighted sum of arrays, and a known integer."""
        total: Integers = np.sum([w * x for w, x in zip(weights, parts, strict=True)], axis=0)
        return (total + constant) % SECTORS

    def tables(self, layer: Sequence[Lookup], luts: Sequence[tuple[int, ...]]) -> Integers:
        """All look-ups of a layer, in one batch."""
        every = np.array(luts, dtype=np.int64)
        parts = [every[index[:, None], each.rows] for each in layer for index in each.tables]
        return np.concatenate(parts)

    def multiplies(self, noise: float, first: int, digits: int) -> bool:
        """Whether it has products of so many digits."""
        return bool(self._products) and first <= self._products and digits <= MOST_PRODUCT

    def product(
        self, x: Any, x_lows: tuple[int, ...], y: Any, y_lows: tuple[int, ...], digits: int
    ) -> Integers:
        """Products in the digits that ring elements give: what is left of a place's phase without
        its sign, and without a quarter of the sign of the place below."""
        first = _number(x, x_lows)
        others = _number(y, y_lows) if isinstance(y, np.ndarray) else None
        known = sum(digit * 4**i for i, digit in enumerate(y)) if others is None else 0
        made = np.zeros((digits, x.shape[1]), dtype=np.int64)
        for column, value in enumerate(first):
            whole, below = value * (others[column] if others else known), 0
            for k in range(digits):
                size = 4 ** (k + 1)
                phase = whole % size
                sign = 1 if 2 * phase < size else -1
                # In sixteenths of a turn, of which 16 are none.
                left = 16 * phase - (4 * sign + below) * size
                left = (left + 8 * size) % (16 * size) - 8 * size
                made[k, column] = sign + (left + 2 * size) // (4 * size)
                below = sign
        return made % SECTORS

    def check(self, rows: Integers, low: Integers, high: Integers, offset: Integers) -> None:
        """Raises `CircuitError` where values leave their range."""
        values = low[:, None] + (rows + (offset - low)[:, None]) % SECTORS
        if np.any(values > high[:, None]):
            row = int(np.argmax((values > high[:, None]).any(axis=1)))
            raise CircuitError(f"a value of {low[row]} … {high[row]} is {values[row].max()}")

    def compiled(self, steps: Sequence[Step], results: Sequence[int], rotations: int) -> None:
        """Nothing: calls are made one by one."""


MOST_COMPILED = 8192
"""Programs of so many rotations are one call of the library, which keeps the results of all of them
until the end, and runs on one device. The GPU is slower than the calls from a few hundred rotations
of a layer on."""


def _number(rows: Integers, lows: tuple[int, ...]) -> list[int]:
    """The integers of digits 0 … 3 that stand for so much more."""
    if np.any(rows > 3):
        raise CircuitError(f"a digit of a factor is {int(rows.max())}")
    columns = rows.T.tolist()
    return [
        sum((v + low) * 4**i for i, (v, low) in enumerate(zip(column, lows, strict=True)))
        for column in columns
    ]


class BinfheEngine:
    """Wires of a `binfhe.Server`. `apart`: each kind of noise is a call, which costs more, and
    which a plan of the failure probability needs: it counts the largest noise of a call."""

    sees = False

    def __init__(
        self,
        server: binfhe.Server,
        account: Account,
        *,
        apart: bool = False,
        multiplier: binfhe.Multiplier | None = None,
        failure_log2: float = TABLE_FAILURE_LOG2,
    ) -> None:
        self.server = server
        self.account = account
        self._multiplier, self._failure_log2 = multiplier, failure_log2
        self._apart = apart
        self._luts: dict[tuple[int, ...], binfhe.Lut] = {}

    def trivial(self, values: Integers) -> Any:
        """Known integers."""
        return self.server.trivial(values % SECTORS, SECTORS, under="ring")

    def take(self, rows: Any, index: Integers) -> Any:
        """Rows by their numbers."""
        if len(index) == rows.shape[0] and np.array_equal(index, np.arange(len(index))):
            return rows
        size = rows.shape[1]
        places = _places if len(index) * size <= FEW_PLACES else _places.__wrapped__
        return rows._like(rows._gather(places(index.tobytes(), size)), (len(index), size))

    def columns(self, rows: Any, index: Integers) -> Any:
        """Values by their numbers, in all rows."""
        return rows[:, index]

    def beside(self, parts: Sequence[Any]) -> Any:
        """Values of several arrays of equal rows."""
        return binfhe.concatenate(parts, axis=1)

    def join(self, parts: Sequence[Any]) -> Any:
        """Rows of several arrays."""
        return parts[0] if len(parts) == 1 else binfhe.concatenate(parts)

    def linear(self, weights: Sequence[int], parts: Sequence[Any], constant: int = 0) -> Any:
        """A weighted sum of arrays, and a known integer."""
        return self.server.linear(weights, parts, constant)

    def tables(self, layer: Sequence[Lookup], luts: Sequence[tuple[int, ...]]) -> Any:
        """One call of `apply` for the whole layer."""
        chosen = [self._lut(table) for table in luts]
        inputs = [each.rows for each in layer for _ in each.tables]
        index = [index for each in layer for index in each.tables]
        if not self._apart:
            inputs, index = [self.join(inputs)], [np.concatenate(index)]
        return self.join(
            [
                self.server._apply_kinds(
                    chosen, np.repeat(numbers.astype(np.uint32), rows.shape[1]), rows, None, "ring"
                )
                for numbers, rows in zip(index, inputs, strict=True)
            ]
        )

    def multiplies(self, noise: float, first: int, digits: int) -> bool:
        """Whether it has products of so many digits, of factors with that noise, the first one of
        `first` digits."""
        if self._multiplier is None or max(first, digits) > MOST_PRODUCT:
            return False
        return self._multiplier._failure_log2(noise, first, digits) <= self._failure_log2

    def product(
        self, x: Any, x_lows: tuple[int, ...], y: Any, y_lows: tuple[int, ...], digits: int
    ) -> Any:
        """Products through ring elements."""
        assert self._multiplier is not None

        def small(rows: Any) -> Any:
            return self.server.linear([1], [rows], modular=True).with_range(0, 3)

        other = y if isinstance(y, tuple) else small(y)
        made = self._multiplier._product(small(x), x_lows, other, y_lows, digits)
        # Wires have ranges of their own.
        return self.server.linear([1], [made], modular=True)

    def _lut(self, table: tuple[int, ...]) -> binfhe.Lut:
        if table not in self._luts:
            p = self.server.parameters
            self._luts[table] = binfhe.Lut(p, table, SECTORS, one_rotation=True)
        return self._luts[table]

    def check(self, rows: Any, low: Integers, high: Integers, offset: Integers) -> None:
        """Raises `CircuitError` where values leave their range."""
        raise NotImplementedError("ciphertexts do not show what they hold")

    def compiled(self, steps: Sequence[Step], results: Sequence[int], rotations: int) -> Run | None:
        """One call of the server, or one between two products, unless several devices share its
        work, or there is much of it."""
        if self._apart or rotations > MOST_COMPILED or len(self.server.devices) > 1:
            return None
        return compiled(self.server, self._lut, self.product, steps, results)
