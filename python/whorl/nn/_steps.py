"""What a network does to ciphertexts: steps that a server runs, and that are simulated in clear."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..ckks._linear_maps import LinearMap
from ..ckks._linear_maps import diagonals as ckks_diagonals
from ..ckks._polynomials import Polynomial
from ..ckks._server import EncryptedArray, Server
from ._graph import Entries, Numbers
from ._pack import Diagonals, Layout, count_diagonals, diagonals, rotations_of

Encode: TypeAlias = Callable[["MapStep", int], Any]
"""Encodes a step's map for a level, or finds it encoded."""


NO_ERROR = 2.0**-60
"""What is stated of operands whose errors are counted elsewhere."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """An operation on vectors of slots. Values of tensors lie in them divided by their scale, so
    that they are at most 1."""

    name: str
    """That of the node of the model."""
    inputs: tuple[int, ...]
    """Numbers of steps; 0 is the input."""
    bound: float
    """No value of the result is larger, as far as the ranges hold."""
    error: float = 0.0
    """Standard deviation of the result's error, by the budget."""

    @property
    def depth(self) -> int:
        """How many levels it takes."""
        return 0

    @property
    def work(self) -> float:
        """How many key switches it takes, about."""
        return 0.0

    def clear(self, *operands: Numbers) -> Numbers:
        """The result for vectors in clear, (…, slots)."""
        raise NotImplementedError

    def run(self, server: Server, encode: Encode, *operands: EncryptedArray) -> Any:
        """The result for ciphertexts, without what the ranges and the budget say of it."""
        raise NotImplementedError

    def stated(self, server: Server, *operands: EncryptedArray, encode: Encode) -> Any:
        """The result with its bound, and the error that the budget says. The errors of operands are
        in the budget, so they are left out on the way."""
        exact = (server.with_error(x, NO_ERROR) for x in operands)
        out = server.with_bound(self.run(server, encode, *exact), self.bound)
        return server.with_more_error(out, self.error)


@dataclasses.dataclass(frozen=True, kw_only=True)
class MapStep(Step):
    """A linear map of tensors, and a bias. Slot p of image i of `images` is slot p·images + i of a
    ciphertext, so that a map of one is a map of all."""

    entries: Entries
    source: Layout
    target: Layout
    images: int
    factor: float
    """What the entries are multiplied by: the operand's scale divided by the result's."""
    bias: Numbers | None
    """What is added to each value of the tensor, at the result's scale."""
    few_rotations: bool
    """Whether it is cut into steps for small keys, and not for speed alone."""

    @property
    def depth(self) -> int:
        """One: plaintexts are multiplied once."""
        return 1

    @functools.cached_property
    def diagonal_count(self) -> int:
        """How many diagonals it has."""
        return count_diagonals(self.entries, self.source, self.target)

    @property
    def work(self) -> float:
        """Its rotations, about."""
        return rotations_of(self.diagonal_count, self.source, self.target)

    def diagonals(self) -> Diagonals:
        """The matrix of slots of one image. It is large, and made anew in each call."""
        return diagonals(self.entries, self.source, self.target)

    def linear_map(self) -> LinearMap:
        """The map that a server encodes; it too is made anew."""
        made = self.diagonals()
        turns: dict[int, Any] = {
            int(k) * self.images: np.repeat(row * self.factor, self.images)
            for k, row in zip(made.indices, made.values, strict=True)
        }
        return ckks_diagonals(
            turns or {0: 0.0}, made.period * self.images, few_rotations=self.few_rotations
        )

    @property
    def fold(self) -> int:
        """Slots that lie so far apart are added up after the map; 0: none are."""
        return self.target.period if self.target.period < self.source.period else 0

    def biases(self) -> Numbers:
        """The bias in slots."""
        assert self.bias is not None
        rows = np.zeros((self.target.period, self.images))
        rows[self.target.places] = self.bias[:, None]
        return rows.reshape(-1)

    def clear(self, *operands: Numbers) -> Numbers:
        """The sum over the diagonals, as a server has it."""
        (x,) = operands
        made = self.diagonals()
        x = np.tile(x, made.period * self.images // x.shape[-1])
        out = np.zeros_like(x)
        for k, row in zip(made.indices, made.values, strict=True):
            out += np.repeat(row * self.factor, self.images) * np.roll(x, -k * self.images, axis=-1)
        if self.fold:
            out = out.reshape(*x.shape[:-1], -1, self.fold * self.images).sum(axis=-2)
        return out if self.bias is None else out + self.biases()

    def run(self, server: Server, encode: Encode, *operands: EncryptedArray) -> Any:
        """The map, the fold, and the bias."""
        (x,) = operands
        out = server.apply(x, encode(self, x.level))
        if self.fold:
            out = server.sum(out, self.fold * self.images)
        if self.bias is not None:
            out = server.add(out, self.biases())
        return out


def products_of(polynomial: Polynomial) -> float:
    """Products of ciphertexts that a polynomial takes, about: baby steps, giant steps, and what
    joins them (Paterson, Stockmeyer, 1973)."""
    return 2 * math.sqrt(2 * (polynomial.degree + 1))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolynomialStep(Step):
    """A polynomial of each value, on -1 … 1."""

    polynomial: Polynomial

    @property
    def work(self) -> float:
        """Its products, about."""
        return products_of(self.polynomial)

    @property
    def depth(self) -> int:
        """That of the polynomial."""
        return self.polynomial.depth

    def clear(self, *operands: Numbers) -> Numbers:
        """The values of the polynomial."""
        (x,) = operands
        return np.asarray(self.polynomial(x))

    def run(self, server: Server, encode: Encode, *operands: EncryptedArray) -> Any:
        """`Server.evaluate`."""
        (x,) = operands
        return server.evaluate(x, self.polynomial)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProductStep(Step):
    """The product of two tensors; `shift` is added to the second one first."""

    shift: float = 0.0

    @property
    def depth(self) -> int:
        """One, for the product."""
        return 1

    @property
    def work(self) -> float:
        """One relinearisation."""
        return 1.0

    def clear(self, *operands: Numbers) -> Numbers:
        """The product in clear."""
        x, y = operands
        return np.asarray(x * (y + self.shift))

    def run(self, server: Server, encode: Encode, *operands: EncryptedArray) -> Any:
        """`Server.multiply`."""
        x, y = operands
        return server.multiply(x, server.add(y, self.shift) if self.shift else y)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SumStep(Step):
    """The sum of tensors, each times a number that brings it to the scale of the sum."""

    factors: tuple[float, ...]

    @property
    def depth(self) -> int:
        """One if an operand is brought to another scale."""
        return int(any(factor != 1 for factor in self.factors))

    def clear(self, *operands: Numbers) -> Numbers:
        """The sum in clear."""
        return sum(
            (x * by for x, by in zip(operands[1:], self.factors[1:], strict=True)),
            operands[0] * self.factors[0],
        )

    def run(self, server: Server, encode: Encode, *operands: EncryptedArray) -> Any:
        """The sum of the operands, each times its factor."""
        out: EncryptedArray | None = None
        for x, by in zip(operands, self.factors, strict=True):
            term = x if by == 1 else server.multiply(x, by)
            out = term if out is None else server.add(out, term)
        assert out is not None
        return out


@dataclasses.dataclass(frozen=True, kw_only=True)
class RefreshStep(Step):
    """A bootstrap, with the keys and maps for vectors of so many slots."""

    slots: int = 0

    def clear(self, *operands: Numbers) -> Numbers:
        """The same values."""
        return operands[0]

    def run(self, server: Server, encode: Encode, *operands: EncryptedArray) -> Any:
        """`Server.bootstrap`."""
        return server.bootstrap(operands[0], slots=self.slots)
