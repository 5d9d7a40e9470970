"""A server without ciphertexts, which follows a function to see what it needs.

`TracingServer` is a `Server` whose `_core` is a `_Recorder`, which calls a dry run of the C++
library's server: levels, factors, noise, keys and errors are those of that server. The recorder
adds bounds of values, of which a server knows nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.plan import Following
from .._core.shown import shown
from .._ring.plan import NoDevice
from .._server import bgv as _lib
from ..errors import EncodingError, ShapeError
from ._arrays import EncryptedArray
from ._bounds import Bounds, Rows
from ._parameters import Parameters
from ._server import Server


class Traced:
    """An array, plaintexts or a matrix of a dry run, and what is known of the values."""

    def __init__(self, core: Any, known: Any) -> None:
        self.core, self.known = core, known

    def __getattr__(self, name: str) -> Any:
        return getattr(self.core, name)

    @property
    def bounds(self) -> Bounds:
        """Of rows of N values, as ciphertexts hold them."""
        bounds: Bounds = self.known
        return bounds

    @property
    def values(self) -> Bounds:
        """Bounds of the vectors' values only, without the slots behind them."""
        return self.bounds.values(self.core.length, self.core.each)


@dataclasses.dataclass(frozen=True)
class Step:
    """An operation of a function, and bounds of the values of its result."""

    name: str
    low: float
    high: float


class _Recorder(NoDevice):
    """Calls the dry run, and does to bounds of values what its server does to ciphertexts."""

    parameters: Parameters
    run: _lib.DryRun
    server: _lib.Server

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters, _lib.DryRun(parameters._core))
        self.largest_plain = 0
        """Largest absolute value of the integers that were operands."""
        self.steps: list[Step] = []
        """The operations of the function, in their order."""

    def fresh(self, low: int, high: int, packing: str, vectors: int, length: int) -> Traced:
        """Vectors encrypted under the public key, which makes more noise than the secret key."""
        core = self.run.fresh(packing, vectors * length, length, False)
        rows = np.ones(((1 if core.each == 1 else vectors), length))
        used = Bounds.exactly(self._rows(rows, length))
        return Traced(core, Bounds.of(float(low) * used.low, float(high) * used.high))

    # ---- sums

    def add(self, a: Traced, b: Traced) -> Traced:
        return self._made("add", self.server.add(a.core, b.core), a.bounds + b.bounds)

    def sub(self, a: Traced, b: Traced) -> Traced:
        return self._made("sub", self.server.sub(a.core, b.core), a.bounds - b.bounds)

    def negate(self, a: Traced) -> Traced:
        return self._made("negate", self.server.negate(a.core), -a.bounds)

    def add_plain(self, a: Traced, *values: Any) -> Traced:
        plain, bounds = self._plain(*values)
        return self._made("add_plain", self.server.add_plain(a.core, *plain), a.bounds + bounds)

    def sub_plain(self, a: Traced, *values: Any) -> Traced:
        plain, bounds = self._plain(*values)
        return self._made("sub_plain", self.server.sub_plain(a.core, *plain), a.bounds - bounds)

    def add_scalar(self, a: Traced, value: int) -> Traced:
        row = np.zeros((1, self.parameters.N))
        row[:, : None if a.packing == "slots" else 1] = value
        core = self.server.add_scalar(a.core, self._residue(value))
        return self._made("add_scalar", core, a.bounds + Bounds.exactly(row))

    # ---- products

    def multiply(self, a: Traced, b: Traced, relinearised: bool) -> Traced:
        core = self.server.multiply(a.core, b.core, relinearised)
        return self._made("multiply", core, _product(a, b))

    def square(self, a: Traced, relinearised: bool) -> Traced:
        return self._made("square", self.server.square(a.core, relinearised), _product(a, a))

    def multiply_plain(self, a: Traced, *values: Any) -> Traced:
        plain, bounds = self._plain(*values)
        core = self.server.multiply_plain(a.core, *plain)
        return self._made("multiply_plain", core, _product(a, Traced(None, bounds)))

    def multiply_scalar(self, a: Traced, value: int) -> Traced:
        core = self.server.multiply_scalar(a.core, self._residue(value))
        return self._made("multiply_scalar", core, a.bounds.scaled(value))

    def relinearise(self, a: Traced) -> Traced:
        return self._made("relinearise", self.server.relinearise(a.core), a.bounds)

    # ---- moving slots

    def rotate(self, a: Traced, columns: int) -> Traced:
        return self.rotate_many(a, np.array([columns], dtype=np.int64))[0]

    def rotate_many(self, a: Traced, columns: Rows) -> list[Traced]:
        cores, half = self.server.rotate_many(a.core, columns), self.parameters.N // 2
        for each in columns:
            if abs(each) >= half:  # in a larger ring it would be another rotation
                raise ShapeError(
                    f"rotate: columns = {each} is not below N/2 = {half}, the length of a row"
                )
        return [
            self._made("rotate", core, a.bounds.rolled(each))
            for core, each in zip(cores, columns, strict=True)
        ]

    def swap_rows(self, a: Traced) -> Traced:
        return self._made("swap_rows", self.server.swap_rows(a.core), a.bounds.swapped())

    def inner_sum(self, a: Traced, columns: int) -> Traced:
        core = self.server.inner_sum(a.core, columns)
        return self._made("inner_sum", core, a.bounds.summed(columns))

    # ---- levels, and the rest

    def mod_switch(self, a: Traced, limbs: int) -> Traced:
        return Traced(self.server.mod_switch(a.core, limbs), a.bounds)

    def shrink(self, a: Traced, spare_bits: float) -> Traced:
        return Traced(self.server.shrink(a.core, spare_bits), a.bounds)

    def take(self, a: Traced, index: Rows) -> Traced:
        return Traced(self.server.take(a.core, index), a.bounds.taken(index))

    def parts(self, a: Traced) -> list[Traced]:
        cores, bounds = self.server.parts(a.core), _parts(a.bounds, a.each)
        return [Traced(*each) for each in zip(cores, bounds, strict=True)]

    def concatenate(self, arrays: Sequence[Traced]) -> Traced:
        core = self.server.concatenate([each.core for each in arrays])
        bounds = Bounds.joined([each.bounds for each in arrays], [each.count for each in arrays])
        return self._made("concatenate", core, bounds)

    def encode(self, values: Rows, packing: str, length: int) -> Traced:
        core = self.server.encode(values, packing, length)
        return Traced(core, self._plain(values, length)[1])

    # ---- over the values of each vector

    def sum(self, a: Traced) -> Traced:
        core = self.server.sum(a.core)
        return self._made("sum", core, a.bounds if a.everywhere else _total(a.bounds, a.each))

    def dot(self, a: Traced, b: Traced) -> Traced:
        core, bounds = self.server.dot(a.core, b.core), _product(a, b)
        if not (a.everywhere and getattr(b, "everywhere", False)):
            bounds = _total(bounds, max(a.each, b.each))
        return self._made("dot", core, bounds)

    def encode_matrix(self, values: Rows, rows: int, columns: int) -> Traced:
        self._note_plain(values)
        core = self.server.encode_matrix(values, rows, columns)
        return Traced(core, values.reshape(rows, columns))

    def encode_diagonals(self, values: Rows, count: int, step: int) -> Traced:
        self._note_plain(values)
        core = self.server.encode_diagonals(values, count, step)
        return Traced(core, (values.reshape(-1, count, self.parameters.N), step))

    def multiply_matrix(self, a: Traced, matrix: Traced) -> Traced:
        core = self.server.multiply_matrix(a.core, matrix.core)
        given = Bounds(*(each[:, : matrix.rows] for each in a.bounds))
        bounds = given.times_matrix(matrix.known, self.parameters.N)
        return self._made("multiply_matrix", core, bounds)

    def multiply_maps(self, a: Traced, maps: Traced) -> list[Traced]:
        cores = self.server.multiply_maps(a.core, maps.core)
        values, step = maps.known
        turned = [a.bounds.rolled(k * step) for k in range(values.shape[1])]
        sums = [
            functools.reduce(
                operator.add,
                [b.times(Bounds.exactly(row[None])) for b, row in zip(turned, each, strict=True)],
            )
            for each in values
        ]
        return [self._made("multiply_maps", *each) for each in zip(cores, sums, strict=True)]

    # ---- helpers

    def _made(self, name: str, core: _lib.Array, bounds: Bounds) -> Traced:
        """The result of an operation, which is noted. Behind the values of a vector there are
        zeros, wherever they count: the server sees to it."""
        if core.length and not core.everywhere:
            bounds = bounds.kept(core.length, core.each)
        result = Traced(core, bounds)
        low, high = result.values
        self.steps.append(Step(name, float(low.min()), float(high.max())))
        return result

    def _rows(self, values: Rows, length: int) -> Rows:
        """Vectors as ciphertexts hold them: rows of N values."""
        N = self.parameters.N
        rows = np.zeros((values.size // length, -(-length // N) * N), dtype=values.dtype)
        rows[:, :length] = values.reshape(-1, length)
        return rows.reshape(-1, N)

    def _plain(self, values: Any, length: int = 0) -> tuple[tuple[Any, ...], Bounds]:
        """Plaintexts as the server takes them, and their values."""
        if isinstance(values, Traced):
            return (values.core,), values.bounds
        self._note_plain(values)
        return (values, length), Bounds.exactly(self._rows(values, length))

    def _note_plain(self, values: Any) -> None:
        self.largest_plain = max(self.largest_plain, int(np.abs(values).max()))

    def _residue(self, value: int) -> int:
        self.largest_plain = max(self.largest_plain, abs(value))
        return value % int(self.parameters.t)


def _product(a: Traced, b: Traced) -> Bounds:
    """Bounds of a product, in the packing of `a`."""
    if a.packing != "slots":
        return a.bounds.convolved(b.bounds)
    return a.bounds.squared() if a is b else a.bounds.times(b.bounds)


def _parts(bounds: Bounds, each: int) -> list[Bounds]:
    """Bounds of each of the `each` rows that a vector has, for all vectors."""
    return [Bounds(*(ends[i::each] for ends in bounds)) for i in range(each)]


def _total(bounds: Bounds, each: int) -> Bounds:
    """Bounds of the sum over all rows of each vector, in every slot."""
    total = functools.reduce(operator.add, _parts(bounds, each))
    total = total.summed(bounds.low.shape[-1] // 2)
    return total + total.swapped()


MOST_BITS = 1000
"""Of integers that a plan follows, as doubles."""


class TracingServer(Following, Server):
    """A server over a `_Recorder`."""

    __slots__ = ()

    _core: Any

    def __init__(self, parameters: Parameters) -> None:
        self._core = _Recorder(parameters)
        self._parameters = parameters
        self._warned_of = 0

    def fresh(self, low: int, high: int, packing: str, shape: tuple[int, ...]) -> EncryptedArray:
        """Encrypted values of that shape between two bounds."""
        *prefix, length = shape
        core = self._core.fresh(low, high, packing, math.prod(prefix), length)
        return EncryptedArray._wrap(core, self, tuple(prefix))

    def _residue(self, value: int) -> int:
        if value.bit_length() > MOST_BITS:
            raise EncodingError(f"plaintext: no t holds {shown(value)}")
        return value
