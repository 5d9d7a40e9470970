"""A server without ciphertexts, which follows a function to see what it needs.

`TracingServer` is a `Server` whose `_core` is a `_Recorder` instead of the C++ library's server. So
functions get arrays with the same operators and errors as encrypted arrays have. Only `_Recorder`
says what an operation does to values and noise, and which keys it needs: it has a method for each
method that a `Server` calls on its `_core`, with the same name.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from .._core.shown import shown
from .._ring.plan import NoDevice
from .._server import bgv as _lib
from ..errors import EncodingError, ParameterError, ShapeError
from ._arrays import EncryptedArray
from ._bounds import Bounds, Rows
from ._parameters import Parameters
from ._server import Server

ZEROS, ANYTHING, SAME = range(3)
"""What the slots behind a vector's values hold: `whorl::bgv::Rest`."""


@dataclasses.dataclass(frozen=True)
class Traced:
    """The public facts about a batch of ciphertexts, and bounds of its values."""

    recorder: _Recorder
    info: _lib.Info
    bounds: Bounds
    depth: int = 0
    """Products of ciphertexts in sequence."""
    plain_products: int = 0
    """Products with plaintexts in sequence."""
    sums: float = 0
    """log2 of the number of ciphertexts added up since the last product of ciphertexts."""

    packing = property(lambda self: self.info.packing)
    count = property(lambda self: self.info.count)
    parts = property(lambda self: self.info.parts)
    limbs = property(lambda self: self.info.limbs)
    factor = property(lambda self: self.info.factor)
    length = property(lambda self: self.info.length)
    noise_budget = property(lambda self: self.recorder.forecast.noise_budget(self.info))

    @property
    def each(self) -> int:
        """Ciphertexts that a vector takes."""
        return _each(self.length, self.recorder.parameters.N)

    @property
    def values(self) -> Bounds:
        """Bounds of the vectors' values only, without the slots behind them."""
        if self.length == 0 or self.info.rest == SAME:
            return self.bounds
        N = self.recorder.parameters.N
        low, high = (each.reshape(-1, self.each * N)[:, : self.length] for each in self.bounds)
        return Bounds(low, high)

    @property
    def nbytes(self) -> int:
        """Bytes that the ciphertexts would take."""
        parameters = self.recorder.parameters
        words = self.info.parts * self.info.limbs * self.info.count * parameters.N
        return words * parameters.word_bits // 8


@dataclasses.dataclass(frozen=True)
class TracedPlaintexts:
    """Rows of N values."""

    rows: Rows
    packing: str
    length: int
    """Values of each vector; 0: N."""
    nbytes: int

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def each(self) -> int:
        """Rows that a vector takes."""
        return _each(self.length, self.rows.shape[-1])


@dataclasses.dataclass(frozen=True)
class TracedMap:
    """A matrix of `rows` and `columns`; or diagonals of shape (maps, count, N), with `rows` 0."""

    values: Rows
    rows: int
    columns: int
    step: int
    nbytes: int


@dataclasses.dataclass(frozen=True)
class Step:
    """An operation of a function, and bounds of the values of its result."""

    name: str
    low: float
    high: float


_Method = TypeVar("_Method", bound=Callable[..., Traced])


def _step(method: _Method) -> _Method:
    """A method of a `_Recorder` that notes a `Step`, unless it is part of another."""

    @functools.wraps(method)
    def noting(self: _Recorder, *given: Any, **named: Any) -> Traced:
        outermost, self.inside_step = not self.inside_step, True
        try:
            result = method(self, *given, **named)
        finally:
            self.inside_step = self.inside_step and not outermost
        if outermost:
            values = result.values
            self.steps.append(
                Step(method.__name__, float(values.low.min()), float(values.high.max()))
            )
        return result

    return cast(_Method, noting)


class _Recorder(NoDevice):
    """Does to bounds of values and noise what the C++ library's `Server` does to ciphertexts.

    Plaintexts in slots count with the largest possible norm, since their values may change.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.forecast = _lib.Forecast(parameters._core)
        self.rotations: set[int] = set()
        self.swaps = False
        self.most_parts = 2
        """Largest number of parts that was relinearised."""
        self.depth, self.plain_products, self.sums = 0, 0, 0.0
        self.largest_plain = 0
        """Largest absolute value of the integers that were operands."""
        self.steps: list[Step] = []
        """The operations of the function, in their order."""
        self.inside_step = False

    def fresh(self, low: int, high: int, packing: str, vectors: int, length: int) -> Traced:
        """Vectors encrypted under the public key, which makes more noise than the secret key."""
        N = self.parameters.N
        if packing != "slots" and length > N:
            raise ShapeError(
                f"inputs: a polynomial of {length} coefficients has more than N = {N}; only values "
                "in slots may take several ciphertexts"
            )
        each, kept = _each(length, N), 0 if length == N else length
        used = np.arange(each * N).reshape(each, N) < length
        if each > 1:
            used = np.tile(used, (vectors, 1))
        bounds = Bounds.of(np.where(used, float(low), 0.0), np.where(used, float(high), 0.0))
        return Traced(self, self.forecast.encrypted(packing, vectors * each, kept), bounds)

    # ---- sums

    @_step
    def add(self, a: Traced, b: Traced) -> Traced:
        return self._sum(a, b, 1)

    @_step
    def sub(self, a: Traced, b: Traced) -> Traced:
        return self._sum(a, b, -1)

    @_step
    def negate(self, a: Traced) -> Traced:
        return dataclasses.replace(a, bounds=-a.bounds)

    @_step
    def add_plain(self, a: Traced, values: Rows | TracedPlaintexts, length: int = 0) -> Traced:
        return self._sum_with(*self._plaintexts(a, values, length), 1)

    @_step
    def sub_plain(self, a: Traced, values: Rows | TracedPlaintexts, length: int = 0) -> Traced:
        return self._sum_with(*self._plaintexts(a, values, length), -1)

    @_step
    def add_scalar(self, a: Traced, value: int) -> Traced:
        self._note_plain(abs(value))
        N = self.parameters.N
        last = 1 if a.packing != "slots" else None
        if self.forecast.has_zeros(a.info):
            last = a.length  # the slots behind the values stay zero
        row = np.zeros((1, a.each * N))
        row[:, :last] = value
        rows = row.reshape(-1, N)
        if a.each > 1:
            rows = np.tile(rows, (a.count // a.each, 1))
        # It is added times the factor of the ciphertexts.
        t = self.parameters.t
        residue = value * a.factor % t
        norm = math.log2(max(1, min(residue, t - residue)))
        return self._kept(
            a,
            info=self.forecast.add_scalar(a.info, norm),
            bounds=a.bounds + Bounds.exactly(rows),
            sums=_log2_sum(a.sums, 0),
        )

    def _sum(self, a: Traced, b: Traced, sign: int) -> Traced:
        self._check_pair(a, b)
        a, b = self._beside(a, b.info), self._beside(b, a.info)
        bounds = a.bounds + b.bounds if sign > 0 else a.bounds - b.bounds
        return self._kept(
            a,
            b,
            info=self.forecast.add(a.info, b.info),
            bounds=bounds,
            sums=_log2_sum(a.sums, b.sums),
        )

    def _sum_with(self, a: Traced, b: TracedPlaintexts, sign: int) -> Traced:
        # With a factor, coefficients are any: its norm does not matter.
        return self._kept(
            a,
            info=self.forecast.add_plain(a.info, b.count, self.forecast.largest_norm, b.length),
            bounds=a.bounds + Bounds.exactly(sign * b.rows),
            sums=_log2_sum(a.sums, 0),
        )

    # ---- products

    @_step
    def multiply(self, a: Traced, b: Traced, relinearised: bool) -> Traced:
        self._check_pair(a, b)
        a, b = self._beside(a, b.info), self._beside(b, a.info)
        info = self.forecast.multiply(a.info, b.info)
        if a.packing != "slots":
            bounds = a.bounds.convolved(b.bounds)
        else:
            bounds = a.bounds.squared() if a is b else a.bounds.times(b.bounds)
        product = self._kept(a, b, info=info, bounds=bounds, sums=0.0, products=1)
        return self.relinearise(product) if relinearised else product

    @_step
    def square(self, a: Traced, relinearised: bool) -> Traced:
        return self.multiply(a, a, relinearised)

    @_step
    def multiply_plain(self, a: Traced, values: Rows | TracedPlaintexts, length: int = 0) -> Traced:
        a, b = self._plaintexts(a, values, length)
        plain = Bounds.exactly(b.rows)
        return self._kept(
            a,
            info=self.forecast.multiply_plain(a.info, b.count, self._norm(b), b.length),
            bounds=a.bounds.times(plain) if a.packing == "slots" else a.bounds.convolved(plain),
            plain_products=a.plain_products + 1,
        )

    @_step
    def multiply_scalar(self, a: Traced, value: int) -> Traced:
        self._note_plain(abs(value))
        return self._kept(
            a,
            info=self.forecast.multiply_scalar(a.info, value % self.parameters.t),
            bounds=a.bounds.scaled(value),
            sums=a.sums + math.log2(max(1, abs(value))),
        )

    @_step
    def relinearise(self, a: Traced) -> Traced:
        if a.parts == 2:
            return a
        self.most_parts = max(self.most_parts, a.parts)
        return dataclasses.replace(a, info=self.forecast.relinearise(a.info))

    # ---- moving slots

    @_step
    def rotate(self, a: Traced, columns: int) -> Traced:
        self._check_slots(a)
        self._check_alone(a)
        two, half = self.relinearise(self._with_zeros(a)), self.parameters.N // 2
        info = self.forecast.automorphism(two.info)
        if abs(columns) >= half:  # in a larger ring it would be another rotation
            raise ShapeError(
                f"rotate: columns = {columns} is not below N/2 = {half}, the length of a row"
            )
        turn = columns % half
        if turn == 0:
            return two
        self._note_rotation(columns)
        return dataclasses.replace(two, info=info, bounds=two.bounds.rolled(turn))

    def rotate_many(self, a: Traced, columns: Sequence[int]) -> list[Traced]:
        return [self.rotate(a, int(each)) for each in columns]

    @_step
    def swap_rows(self, a: Traced) -> Traced:
        self._check_slots(a)
        self._check_alone(a)
        two = self.relinearise(self._with_zeros(a))
        self.swaps = True
        info = self.forecast.automorphism(two.info)
        return dataclasses.replace(two, info=info, bounds=two.bounds.swapped())

    @_step
    def inner_sum(self, a: Traced, columns: int) -> Traced:
        half = self.parameters.N // 2
        if columns & (columns - 1) or columns > half:
            raise ParameterError(
                f"inner_sum: columns = {columns} is not a power of two of at most N/2 = {half}"
            )
        total, step = a if columns == 1 else self._with_zeros(a), 1
        while step < columns:
            total = self.add(total, self.rotate(total, step))
            step *= 2
        return total

    # ---- levels, and the rest

    def mod_switch(self, a: Traced, limbs: int) -> Traced:
        return dataclasses.replace(a, info=self.forecast.mod_switch(a.info, limbs))

    def shrink(self, a: Traced, spare_bits: float) -> Traced:
        return dataclasses.replace(a, info=self.forecast.shrink(a.info, spare_bits))

    def take(self, a: Traced | TracedPlaintexts, index: Rows) -> Traced | TracedPlaintexts:
        if isinstance(a, TracedPlaintexts):
            return dataclasses.replace(a, rows=a.rows[index])
        info = self.forecast.take(a.info, len(index))
        return dataclasses.replace(a, info=info, bounds=a.bounds.taken(index))

    @_step
    def concatenate(self, arrays: Sequence[Traced]) -> Traced:
        first = arrays[0]
        for each in arrays:
            self._check_pair(first, each)
            if each.parts != first.parts:
                raise ShapeError(
                    f"concatenate: the arrays have {first.parts} and {each.parts} parts, which "
                    "must be equal: relinearise them first"
                )
        if len(arrays) == 1:
            return first
        infos = [each.info for each in arrays]
        arrays = [
            self._with_zeros(a) if any(self.forecast.needs_zeros(a.info, b) for b in infos) else a
            for a in arrays
        ]
        return self._kept(
            *arrays,
            info=self.forecast.concatenate([each.info for each in arrays]),
            bounds=Bounds.joined([each.bounds for each in arrays], [each.count for each in arrays]),
        )

    def encode(self, values: Rows, packing: str, length: int) -> TracedPlaintexts:
        self._note_plain(int(np.abs(values).max()))
        N = self.parameters.N
        if packing != "slots" and length > N:
            raise ShapeError(
                f"values: a polynomial of {length} coefficients has more than N = {N}; only values "
                "in slots may take several ciphertexts"
            )
        vectors = values.reshape(-1, length or N)
        rows = np.zeros((len(vectors), _each(length, N) * N), dtype=np.int64)
        rows[:, : vectors.shape[-1]] = vectors
        kept = length if packing == "slots" and length != N else 0
        return TracedPlaintexts(rows.reshape(-1, N), packing, kept, self._bytes(rows.size))

    # ---- over the values of each vector

    @_step
    def sum(self, a: Traced) -> Traced:
        self._check_slots(a)
        if a.info.rest == SAME:
            return a
        total = self._with_zeros(self.relinearise(a))
        if total.each > 1:
            parts = [total.bounds.taken(np.arange(i, a.count, a.each)) for i in range(a.each)]
            info = self.forecast.take(total.info, a.count // a.each)
            info = self.forecast.with_vectors(info, 0, ZEROS)
            each = [dataclasses.replace(total, info=info, bounds=part) for part in parts]
            total = functools.reduce(self.add, each)
        total = self.inner_sum(total, self.parameters.N // 2)
        return self._with_vectors(self.add(total, self.swap_rows(total)), 1, SAME)

    @_step
    def dot(self, a: Traced, b: Traced | TracedPlaintexts | Rows, length: int = 0) -> Traced:
        one = b if isinstance(b, (Traced, TracedPlaintexts)) else self.encode(b, "slots", length)
        N = self.parameters.N
        same = SAME in (a.info.rest, one.info.rest if isinstance(one, Traced) else ZEROS)
        if not same and (a.length or N) != (one.length or N):
            raise ShapeError(
                f"dot: vectors of {a.length or N} values meet vectors of {one.length or N} values: "
                "the lengths must be equal"
            )
        if isinstance(one, Traced):
            return self.sum(self.multiply(a, one, relinearised=True))
        return self.sum(self.multiply_plain(a, one))

    def encode_matrix(self, values: Rows, rows: int, columns: int) -> TracedMap:
        self._note_plain(int(np.abs(values).max()))
        _, diagonals, maps, *_ = _lib.steps_of_matrix(self.parameters._core, rows, columns)
        size = self._bytes(diagonals * maps * self.parameters.N, of_map=True)
        return TracedMap(values.reshape(rows, columns), rows, columns, 0, size)

    def encode_diagonals(self, values: Rows, count: int, step: int) -> TracedMap:
        self._note_plain(int(np.abs(values).max()))
        diagonals = values.reshape(-1, count, self.parameters.N)
        return TracedMap(diagonals, 0, 0, step, self._bytes(values.size, of_map=True))

    @_step
    def multiply_matrix(self, a: Traced, matrix: TracedMap) -> Traced:
        self._check_slots(a)
        rows, columns = matrix.rows, matrix.columns
        steps = _lib.steps_of_matrix(self.parameters._core, rows, columns)
        copies, diagonals, maps, folds, needs_zeros, leaves_zeros = steps
        length = a.length or self.parameters.N
        anywhere = a.length == 0 and a.info.rest == ANYTHING
        if a.info.rest == SAME or (length != rows and not anywhere):
            raise ShapeError(
                f"multiply: vectors of {length} values meet a matrix of {rows} rows and {columns} "
                "columns: the number of values must be that of the rows"
            )
        self._note_rotations(*_lib.rotations_for_matrix(self.parameters._core, rows, columns))
        x = self.relinearise(a)
        if needs_zeros and (a.info.rest != ZEROS or length != rows):
            x = self._masked(x, rows)
        given = Bounds(x.bounds.low[:, :rows], x.bounds.high[:, :rows])
        product = self._mapped(self._doubled(x, copies), diagonals)
        result = self._doubled(product, maps - 1 + folds)
        bounds = given.times_matrix(matrix.values, self.parameters.N)
        if not leaves_zeros:
            terms = diagonals * maps * 2**folds
            behind = given.largest() * terms * float(np.abs(matrix.values).max())
            bounds.low[:, columns:], bounds.high[:, columns:] = -behind, behind
        result = dataclasses.replace(result, bounds=Bounds.of(*bounds))
        return self._with_vectors(result, columns, ZEROS if leaves_zeros else ANYTHING)

    def multiply_maps(self, a: Traced, maps: TracedMap) -> list[Traced]:
        self._check_slots(a)
        self._check_alone(a)
        count, step = maps.values.shape[1], maps.step
        self._note_rotations(*_lib.rotations_for_diagonals(count, step))
        x = self.relinearise(self._with_zeros(a))
        turned = [x.bounds.rolled(k * step) for k in range(count)]
        result = self._with_vectors(self._mapped(x, count), 0, ZEROS)
        sums = [
            functools.reduce(
                operator.add,
                [b.times(Bounds.exactly(row[None])) for b, row in zip(turned, each, strict=True)],
            )
            for each in maps.values
        ]
        return [dataclasses.replace(result, bounds=bounds) for bounds in sums]

    def _mapped(self, x: Traced, count: int) -> Traced:
        """`x` with the noise of `count` rotations times plaintexts, in baby and giant steps."""
        info = self.forecast.automorphism(x.info)
        info = self.forecast.multiply_plain(info, 1, self.forecast.largest_norm, 0)
        term = self._kept(
            x,
            info=self.forecast.automorphism(info),
            bounds=x.bounds,
            plain_products=x.plain_products + 1,
        )
        return self._doubled(term, (count - 1).bit_length())

    def _doubled(self, x: Traced, times: int) -> Traced:
        """`x` with the noise of `times` sums, each with a rotation of itself."""
        for _ in range(times):
            x = self.add(x, dataclasses.replace(x, info=self.forecast.automorphism(x.info)))
        return x

    def _with_zeros(self, a: Traced) -> Traced:
        """With zeros behind the values, where operations left something else."""
        return self._masked(a, a.length) if self.forecast.has_remains(a.info) else a

    def _beside(self, a: Traced, b: _lib.Info) -> Traced:
        """As an operand beside `b`: longer vectors would take what is behind the values for
        values."""
        return self._with_zeros(a) if self.forecast.needs_zeros(a.info, b) else a

    def _masked(self, a: Traced, length: int) -> Traced:
        """The first `length` values of each vector, zeros behind them."""
        vectors = 1 if a.each == 1 else a.count // a.each
        ones = np.ones(vectors * length, dtype=np.int64)
        product = self.multiply_plain(a, ones, length)
        return self._with_vectors(product, length, ZEROS)

    def _with_vectors(self, a: Traced, length: int, rest: int) -> Traced:
        whole = length in (0, self.parameters.N)
        info = self.forecast.with_vectors(a.info, 0 if whole else length, ZEROS if whole else rest)
        return dataclasses.replace(a, info=info)

    def _note_rotations(self, rotations: Sequence[int], swaps: bool) -> None:
        for columns in rotations:
            self._note_rotation(columns)
        self.swaps = self.swaps or swaps

    def _bytes(self, words: int, of_map: bool = False) -> int:
        """Bytes that plaintexts of so many values take on a device; those of maps are over the
        special primes too."""
        primes = self.parameters.limbs + (len(self.parameters.special) if of_map else 0)
        return words * primes * self.parameters.word_bits // 8

    # ---- helpers

    def _note_rotation(self, columns: int) -> None:
        half = self.parameters.N // 2
        turn = columns % half
        # To the right where that is shorter: then the columns mean the same in larger rings.
        if turn:
            self.rotations.add(turn if turn <= half // 2 else turn - half)

    def _kept(
        self, *operands: Traced, info: _lib.Info, bounds: Bounds, products: int = 0, **changes: Any
    ) -> Traced:
        """A result of the operands, but for what is given; what it needs is noted."""
        known: dict[str, Any] = {
            "depth": products + max(each.depth for each in operands),
            "plain_products": max(each.plain_products for each in operands),
            "sums": max(each.sums for each in operands),
        }
        result = Traced(self, info, bounds, **(known | changes))
        self.depth = max(self.depth, result.depth)
        self.plain_products = max(self.plain_products, result.plain_products)
        self.sums = max(self.sums, result.sums)
        return result

    def _plaintexts(
        self, a: Traced, values: Rows | TracedPlaintexts, length: int
    ) -> tuple[Traced, TracedPlaintexts]:
        """Both operands, as they meet."""
        plain = values
        if not isinstance(plain, TracedPlaintexts):
            plain = self.encode(plain, a.packing, length)
        self._check_pair(a, plain)
        known = self.forecast.with_vectors(a.info, plain.length, ZEROS)
        return self._beside(a, known), plain

    def _note_plain(self, size: int) -> None:
        self.largest_plain = max(self.largest_plain, size)

    def _norm(self, plain: TracedPlaintexts) -> float:
        """log2 of a bound of its canonical norm."""
        if plain.packing == "slots":
            return self.forecast.largest_norm
        t = self.parameters.t
        residues = plain.rows % t
        sizes = np.minimum(residues, t - residues).sum(axis=-1)
        return math.log2(max(1, int(sizes.max())))

    def _check_pair(self, a: Traced, b: Traced | TracedPlaintexts) -> None:
        if a.count != b.count and 1 not in (a.count, b.count):
            of_b = "ciphertexts" if isinstance(b, Traced) else "plaintexts"
            raise ShapeError(
                f"a batch of {a.count} ciphertexts meets {b.count} {of_b}: the numbers must be "
                "equal, or one of them must be 1"
            )
        if a.packing != b.packing:
            raise EncodingError("one batch is packed in slots, the other in coefficients")

    def _check_slots(self, a: Traced) -> None:
        if a.packing != "slots":
            raise EncodingError(
                "rotate: the values are packed as coefficients, and only values in slots can be "
                "rotated"
            )

    def _check_alone(self, a: Traced) -> None:
        self.forecast.automorphism(a.info)  # refuses vectors over several ciphertexts


MOST_BITS = 1000
"""Of integers that a plan follows, as doubles."""


class TracingServer(Server):
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

    def download(self, a: EncryptedArray) -> Any:
        """The array itself: what a function sends back is a result, wherever it lies."""
        return a

    def _residue(self, value: int) -> int:
        if value.bit_length() > MOST_BITS:
            raise EncodingError(f"plaintext: no t holds {shown(value)}")
        return value


def _each(length: int, N: int) -> int:
    """Ciphertexts that a vector of so many values takes; 0: N."""
    return max(1, -(-length // N))


def _log2_sum(a: float, b: float) -> float:
    """log2(2^a + 2^b)."""
    return max(a, b) + math.log2(1 + 2 ** -abs(a - b))
