"""What a network does to ciphertexts: steps that a server runs, and that are simulated in clear."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._core.array import stack
from ..ckks._linear_maps import LinearMap
from ..ckks._linear_maps import diagonals as ckks_diagonals
from ..ckks._polynomials import Polynomial
from ..ckks._server import EncryptedArray, Server
from ._graph import Entries, Numbers
from ._pack import Block, Diagonals, Layout, count_diagonals, diagonals, fold_of, rotations_of

Encode: TypeAlias = Callable[["MapStep", int], Mapping[Block, Any]]
"""Encodes the blocks of a step's map for a level, or finds them encoded."""


NO_ERROR = 2.0**-60
"""What is stated of operands whose errors are counted elsewhere."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Step:
    """An operation on vectors of slots. Values of tensors lie in them divided by their scale, so
    that they are at most 1. A tensor of several parts has an axis for them, the last one of its
    array of vectors or ciphertexts; other tensors have none."""

    name: str
    """That of the node of the model."""
    inputs: tuple[int, ...]
    """Numbers of steps; 0 is the input."""
    bound: float
    """No value of the result is larger, as far as the ranges hold."""
    parts: int = 1
    """Ciphertexts that the result takes."""
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


def last_uses(steps: Sequence[Step]) -> dict[int, int]:
    """The last step that takes the result of each one that is taken."""
    return {i: number for number, step in enumerate(steps) for i in step.inputs}


def simulated(steps: Sequence[Step], given: Numbers) -> Iterator[Numbers]:
    """The result of each step in clear, in order. None is kept after its last use."""
    last = last_uses(steps)
    out: dict[int, Numbers] = {0: given}
    yield given
    for number, step in enumerate(steps[1:], 1):
        out[number] = step.clear(*(out[i] for i in step.inputs))
        for i in {i for i in step.inputs if last[i] == number}:
            del out[i]
        yield out[number]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MapStep(Step):
    """A linear map of tensors, and a bias. Slot p of image i of `images` is slot p·images + i of a
    ciphertext, so that a map of one is a map of all. Between tensors of several parts it has a
    block for each part of the result and of the operand."""

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
    def diagonal_counts(self) -> list[int]:
        """How many diagonals each of its blocks has."""
        return count_diagonals(self.entries, self.source, self.target)

    @property
    def work(self) -> float:
        """Its rotations, about."""
        return rotations_of(self.diagonal_counts, self.source, self.target)

    def diagonals(self) -> dict[Block, Diagonals]:
        """The matrices of slots of one image. They are large, and made anew in each call."""
        return diagonals(self.entries, self.source, self.target)

    def linear_maps(self) -> dict[Block, LinearMap]:
        """The maps that a server encodes; they too are made anew."""
        return {block: self._linear_map(made) for block, made in self.diagonals().items()}

    def _linear_map(self, made: Diagonals) -> LinearMap:
        turns: dict[int, Any] = {
            int(k) * self.images: np.repeat(row * self.factor, self.images)
            for k, row in zip(made.indices, made.values, strict=True)
        }
        period = made.period * self.images
        return ckks_diagonals(turns or {0: 0.0}, period, few_rotations=self.few_rotations)

    @property
    def fold(self) -> int:
        """Slots that lie so far apart are added up after the map; 0: none are."""
        return fold_of(self.source, self.target)

    def biases(self) -> Numbers:
        """The bias in slots."""
        assert self.bias is not None
        parts, period = self.target.parts, self.target.period
        rows = np.zeros((parts * period, self.images))
        rows[self.target.places] = self.bias[:, None]
        return rows.reshape((parts, -1) if parts > 1 else -1)

    def clear(self, *operands: Numbers) -> Numbers:
        """The sum over the diagonals, as a server has it."""
        (given,) = operands
        parts = given if self.source.parts > 1 else given[..., None, :]
        length = max(self.source.period, self.target.period) * self.images
        x = np.tile(parts, length // parts.shape[-1])
        out = np.zeros((*x.shape[:-2], self.target.parts, length))
        for (to, of), made in self.diagonals().items():
            for k, row in zip(made.indices, made.values, strict=True):
                turned = np.roll(x[..., of, :], -k * self.images, axis=-1)
                out[..., to, :] += np.repeat(row * self.factor, self.images) * turned
        if self.fold:
            out = out.reshape(*out.shape[:-1], -1, self.fold * self.images).sum(axis=-2)
        if self.target.parts == 1:
            out = out[..., 0, :]
        return out if self.bias is None else out + self.biases()

    def run(self, server: Server, encode: Encode, *operands: EncryptedArray) -> Any:
        """The blocks, their sums, the fold, and the bias."""
        (x,) = operands
        sums: dict[int, Any] = {}
        for (to, of), block in encode(self, x.level).items():
            made = server.apply(x[..., of] if self.source.parts > 1 else x, block)
            sums[to] = server.add(sums[to], made) if to in sums else made
        out = stack([sums[to] for to in range(len(sums))], -1) if len(sums) > 1 else sums[0]
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
        return products_of(self.polynomial) * self.parts

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
        """A relinearisation of each part."""
        return float(self.parts)

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
