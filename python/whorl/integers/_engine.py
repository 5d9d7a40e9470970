"""What circuits ask of what evaluates their wires."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .._core.integers import Integers


@dataclasses.dataclass(frozen=True)
class Account:
    """How much noise a table bears, in units of the variance of a rotation.

    `limit` is the largest variance, `constant` the share of it that all rotations under one key
    have in common, and `fresh` the variance of what a client encrypts (docs/noise.md).
    """

    limit: float
    constant: float
    fresh: float

    def variance(self, square: Any, total: Any) -> Any:
        """The variance of a sum of bootstraps, of whose weights these are the sum of squares and
        the sum of sizes."""
        return square + self.constant * np.maximum(total * total - square, 0.0)

    def bears(self, square: Any, total: Any) -> Any:
        """Whether a table takes such a sum."""
        return self.variance(square, total) <= self.limit


@dataclasses.dataclass(frozen=True)
class Lookup:
    """Tables of one batch of wires: `tables[f]` has the number of the table of each row in output
    f, so that all functions of one input stand together."""

    rows: Any
    tables: list[Integers]


class Engine(Protocol):
    """What evaluates: arrays of shape (wires, values) of integers modulo `SECTORS`."""

    account: Account
    sees: bool
    """Whether it knows what wires hold, and checks it."""

    def trivial(self, values: Integers) -> Any:
        """Known integers."""

    def take(self, rows: Any, index: Integers) -> Any:
        """Rows by their numbers."""

    def columns(self, rows: Any, index: Integers) -> Any:
        """Values by their numbers, in all rows."""

    def beside(self, parts: Sequence[Any]) -> Any:
        """Values of several arrays of equal rows."""

    def join(self, parts: Sequence[Any]) -> Any:
        """Rows of several arrays."""

    def linear(self, weights: Sequence[int], parts: Sequence[Any], constant: int = 0) -> Any:
        """A weighted sum of arrays, and a known integer."""

    def tables(self, layer: Sequence[Lookup], luts: Sequence[tuple[int, ...]]) -> Any:
        """All look-ups of a layer, in one batch: those of the first one come first, and of each
        those of its first function. `luts` are tables of `SECTORS` entries, of which
        f(m) + f(m + 16) is 0 for all m or 1 for all."""

    def multiplies(self, noise: float, first: int, digits: int) -> bool:
        """Whether it has products of so many digits, of factors with that noise, the first one of
        `first` digits; or by known factors, if that is 0."""

    def product(
        self, x: Any, x_lows: tuple[int, ...], y: Any, y_lows: tuple[int, ...], digits: int
    ) -> Any:
        """Products modulo 4^digits in digits of -2 … 2. Rows are digits 0 … 3, which stand for so
        much more; or y is the digits of a known integer."""

    def check(self, rows: Any, low: Integers, high: Integers, offset: Integers) -> None:
        """Raises `CircuitError` where values leave their range, if the engine can see them."""

    def compiled(
        self, steps: Sequence[Any], results: Sequence[int], rotations: int
    ) -> Callable[[list[Any]], list[Any]] | None:
        """Calls that were recorded (`Step`), with so many rotations, as few: a function of the
        inputs' arrays, which are numbered from 0 on, that makes the arrays with the numbers
        `results`. None where the calls are as good one by one."""
