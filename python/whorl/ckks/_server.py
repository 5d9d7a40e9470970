"""The server's half: arithmetic on ciphertexts that stay on its device. It cannot decrypt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Array, Shape, repeated
from .._core.base_server import spread
from .._core.integers import refuse
from .._core.literal import as_integer, as_real, as_word
from .._core.numbers import Numbers, as_complex, one_number, real_or_complex
from .._core.part import Part
from .._core.text import shown
from .._ring.arrays import as_rows, of_server
from .._ring.server import is_alone, needing, repeated_rows
from .._server import ckks as _lib
from ..errors import EncodingError, ShapeError
from ._applying import Applying
from ._ciphertexts import Ciphertexts, Uploaded
from ._functions import SignStages
from ._keys import EvaluationKeys
from ._linear_maps import EncodedMap, LinearMap
from ._matrices import EncodedMatrixProduct, MatrixProduct
from ._parameters import Parameters
from ._polynomials import Polynomial, as_error, as_interval, as_mapping, as_polynomials
from ._refreshing import Refreshing
from ._values import Bound, as_bounds, as_vectors, filled

Number = int | float | complex
Encrypted: TypeAlias = Union["EncryptedArray", Ciphertexts]
Operand: TypeAlias = Encrypted | ArrayLike


class Server(Applying["EncryptedArray"], Refreshing["EncryptedArray"]):
    """Evaluates on arrays of ciphertexts with evaluation keys only.

    `help(Server.__init__)` explains the arguments, the errors that they raise, and what happens if
    a GPU fails.

    Methods take arrays on the devices, or `Ciphertexts`, which they upload. Results stay on the
    devices. Several GPUs share each batch in equal parts. Evaluation is deterministic, and gives
    the same bits on every device and on any number of them. (A CPU without fused multiply-adds
    makes plaintexts of numbers that may differ in last bits.) Products are rescaled at once, and
    the server brings operands of two levels to the lower one and to one scale. Several Python
    threads may call methods; one of them runs at a time. Methods release the GIL, and Ctrl-C stops
    them. Any thread may delete arrays meanwhile. Give whole batches. Shapes of two operands
    broadcast as in NumPy.

    All methods raise `ParameterMismatchError` or `KeyMismatchError` for ciphertexts that were not
    made under the server's keys. If a key is missing, they raise `MissingKeyError`, which names the
    key. They raise `NoiseError` where values may not fit the modulus or no level is left, and
    `EncodingError` for packings or scales that do not go together. They raise `ShapeError` for
    vectors of different lengths, `ValueError` for shapes that do not broadcast, `DeviceError` for
    arrays of another server, and `OutOfMemoryError`.

    >>> from whorl.ckks import Client, parameters
    >>> client = Client(parameters(depth=1))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> x, y = server.upload(client.encrypt([0.1, 0.2])), client.encrypt([0.5, -0.5])
    >>> client.decrypt(3 * x * y + 1, raw=True).round(4)
    array([1.15, 0.7 ])
    """

    __slots__ = ()

    _maker = _lib.Server
    _keys_type, _host_type = EvaluationKeys, Ciphertexts

    parameters = Part[Parameters]("_parameters", "Parameters of the keys.")
    best_batch = Part[int](
        "_core.best_batch",
        "The largest batch that the devices multiply without cutting it into pieces; with keys for "
        "bootstraps about the largest that they refresh so.",
    )

    # ---- products

    def multiply(
        self,
        a: Encrypted,
        b: Encrypted | ArrayLike,
        relinearise: bool = True,
        rescale: bool = True,
    ) -> EncryptedArray:
        """a · b; b: ciphertexts, one number, or an array of numbers.

        A product of ciphertexts is relinearised to two parts unless `relinearise` is False; then a
        sum of products can be relinearised once (`relinearise`). It is divided to the level below
        unless `rescale` is False; then a sum of products can be divided once (`rescale`). A product
        with an integer (Python's or NumPy's), with 1j or with -1j is exact and takes no level.
        (OpenFHE: EvalMult, EvalMultNoRelin; Lattigo: Evaluator.Mul, MulRelin.)
        """
        core, both = self._core, (bool(relinearise), bool(rescale))

        def multiply(x: _lib.Array, y: _lib.Array) -> _lib.Array:
            return core.multiply(x, y, *both)

        def multiply_scalar(x: _lib.Array, value: Number) -> _lib.Array:
            if isinstance(value, int):
                return core.multiply_integer(x, _integer(value))
            if value in (1j, -1j):
                turned = core.multiply_by_i(x)
                return turned if value == 1j else core.negate(turned)
            return core.multiply_scalar(x, complex(value), both[1])

        def multiply_plain(x: _lib.Array, values: Any, length: int) -> _lib.Array:
            return core.multiply_plain(x, values, length, both[1])

        return self._operate(a, b, multiply, multiply_scalar, multiply_plain)

    def square(
        self, a: Encrypted, relinearise: bool = True, rescale: bool = True
    ) -> EncryptedArray:
        """a · a (OpenFHE: EvalSquare)."""
        return self._on(a, self._core.square, bool(relinearise), bool(rescale))

    def power(self, a: Encrypted, exponent: int) -> EncryptedArray:
        """a to a power 0 … 2^16, at the least depth, ⌈log2 exponent⌉ (as `a ** exponent`).

        `ParameterError` for another exponent. (OpenFHE: EvalPoly of a monomial.)
        """
        wanted = self._exponent(exponent)
        if wanted:
            return self._power(a, wanted)
        return self.with_bound(self.add(self.multiply(a, 0), 1), 1)

    # ---- moving and changing values

    def conjugate(self, a: Encrypted) -> EncryptedArray:
        """The complex conjugate of each value (Lattigo: Evaluator.Conjugate).

        It needs the key of `evaluation_keys(conjugate=True)`.
        """
        with needing("a conjugate", "conjugate=True"):
            return self._on(a, self._core.conjugate)

    def sum(self, a: Encrypted, period: int = 1) -> EncryptedArray:
        """The sums of each vector's values that stand a multiple of `period` apart, as a vector of
        `period` values; by default the sum of all of them. The shape is that of `a`.

        It uses the rotations by period, 2·period, 4·period, … below the least power of two that is
        not below the length; `evaluation_keys(sums=length)` makes the keys for any period. If the
        length is neither a power of two nor a multiple of N/2, it takes a level. The period must be
        a power of two, and at most the length; 1 for vectors that take several ciphertexts
        (`ShapeError`). (OpenFHE: EvalSum, EvalSumRows; Lattigo: Evaluator.InnerSum.)
        """
        x = self.upload(a)
        apart = as_word("period", period)
        with needing("a sum", f"sums={x.length}"):
            return self._on(x, self._core.sum, apart)

    def mean(self, a: Encrypted) -> EncryptedArray:
        """The mean of each vector's values: the sum times 1/length, which takes a level.

        Keys and the level that a sum may take are those of `sum`.
        """
        x = self.upload(a)
        return self.multiply(self.sum(x), 1 / x.length)

    def dot(self, a: Encrypted, b: Encrypted | ArrayLike) -> EncryptedArray:
        """The sum of the products of two vectors' values; b: ciphertexts, or an array of numbers.

        It takes a level for the products. The keys, and the level that a sum may take, are those of
        `sum`. `ShapeError` if the lengths differ, and for one number. (OpenFHE:
        EvalInnerProduct.)
        """
        x = self.upload(a)
        if isinstance(b, (EncryptedArray, Ciphertexts)):
            length = b.length
        else:
            length = as_vectors(b, "plaintext")[2]
        if length != x.length:
            raise ShapeError(
                f"dot: vectors of {x.length} values meet vectors of {length} values: the lengths "
                "must be equal"
            )
        return self.sum(self.multiply(x, b))

    def replicate(self, a: Encrypted, first: int, count: int = 1) -> EncryptedArray:
        """The `count` values from `first` on, in all slots: vectors of `count` values.

        It takes a level, for a product with ones and zeros, and the keys of `sum`:
        `evaluation_keys(sums=length)`. If all values are chosen, the result is `a`. Where zeros
        lie in all other slots, `sum(period=count)` does the same without a level. `ShapeError`
        unless count is a power of two, and `first` a multiple of it with so many values from there
        on. (HElib: replicate; Lattigo: Evaluator.Replicate, which wants the zeros.)
        """
        x = self.upload(a)
        with needing("a replication", f"sums={x.length}"):
            return self._on(
                x, self._core.replicate, as_word("first", first), as_word("count", count)
            )

    def repeat(self, a: Encrypted, length: int) -> EncryptedArray:
        """The same vectors, repeated to `length` values, so that they meet longer ones.

        Slots hold vectors repeated, so nothing is computed. The vectors' length must be a power of
        two, and `length` a multiple of it up to `parameters.slots` (`ShapeError`).
        """
        return self._on(a, self._core.repeat, as_word("length", length))

    def evaluate(
        self,
        a: Encrypted,
        polynomial: Polynomial | Sequence[Polynomial],
        mapping: ArrayLike | None = None,
        within: bool = False,
    ) -> EncryptedArray:
        """The polynomial of each value, by the method of Paterson and Stockmeyer.

        It takes `polynomial.depth` levels (`NoiseError` if there are fewer). The packing must be
        `real`, and the values must lie in the polynomial's interval: outside it Chebyshev's powers
        explode. `EncodingError` unless `a.bounds` lie in the interval, or `within` says that the
        values do. (OpenFHE: EvalChebyshevSeries, EvalPoly; Lattigo: polynomial.Evaluator.)

        Args:
            a: ciphertexts of real values.
            polynomial: one for all values; or several, of one basis and one interval.
            mapping: with several, which of them belongs to each value: an integer array of indices,
                where -1 stands for none, whose result is 0. Like plaintexts of products it has
                shape (..., k), with a row for each ciphertext or one row for all, of an index for
                each value, or of one for all values of a ciphertext. Default: value j of each
                ciphertext has the polynomial j.
            within: whether you know that all values lie in the interval. If one does not, all
                results are wrong.

        Several polynomials take the levels of the deepest one, and a product with a plaintext in
        place of each product with a coefficient. `TypeError` for a mapping of what are no integers,
        and for one without several polynomials; `ParameterError` for indices out of range, and for
        polynomials that differ in basis or interval; `EncodingError` for coefficients that times
        the scale are above 2^61. (Lattigo: polynomial.PolynomialVector.)
        """
        x = self.upload(a)
        if isinstance(polynomial, Polynomial):
            if mapping is not None:
                raise TypeError("mapping: it needs several polynomials, and one is given")
            x = self._within(x, (polynomial.low, polynomial.high), within)
            return self._on(x, self._core.evaluate, polynomial._core)
        given = as_polynomials(polynomial)
        x = self._within(x, (given[0].low, given[0].high), within)
        cores = [each._core for each in given]
        indices = as_mapping(mapping, len(cores))
        x, (rows, length), shape = self._rows(x, *as_rows(indices, "mapping"))
        return self._wrap(self._core.evaluate_each(x._core, cores, rows, length), shape)

    def _within(
        self, x: EncryptedArray, interval: tuple[float, float], within: bool
    ) -> EncryptedArray:
        """`x`, whose values lie in an interval if `within` says so; `EncodingError` unless they are
        real numbers in slots."""
        if x.packing != "real":
            raise EncodingError(
                "a polynomial is evaluated at real numbers in slots only, and the packing is "
                f'{x.packing!r}: encrypt real numbers with packing="real"'
            )
        return self.with_bound(x, interval) if within else x

    # ---- functions that composite polynomials make

    def sign(self, a: Encrypted, stages: SignStages) -> EncryptedArray:
        """The sign of each value, -1 or 1, by stages of `ckks.minimax_sign`.

        It is within `stages.error` of the sign where the absolute value is at least
        `stages.epsilon`, and between -1 and 1 elsewhere. Values must be real and at most 1 in
        absolute value: `EncodingError` if `a.bound` says otherwise, and for other packings. Divide
        by the bound first, or state what you know by `with_bound`. It takes `stages.depth` levels
        (`NoiseError`). (OpenFHE: EvalSign, of FHEW; Lattigo: comparison.Evaluator.Sign.)
        """
        return self._by_sign(self._core.sign, stages, a)

    def absolute(self, a: Encrypted, stages: SignStages) -> EncryptedArray:
        """The absolute value of each value, as x·sign(x); values and errors as for `sign`.

        It is off by up to `stages.error` times the value, and by up to 2·epsilon·d where the
        absolute value is below epsilon·d. d is 1, or less for values whose bound is below 1/2: they
        are multiplied by the largest integer that keeps them within 1, and d is 1/that. It takes a
        level more than `stages.depth`.
        """
        return self._by_sign(self._core.absolute, stages, a)

    def relu(self, a: Encrypted, stages: SignStages) -> EncryptedArray:
        """Each value where it is positive, else 0; with half of the errors of `absolute`."""
        return self._by_sign(self._core.relu, stages, a)

    def inverse(
        self, a: Encrypted, low: float, high: float, error: float, within: bool = False
    ) -> EncryptedArray:
        """1/x of each value between `low` and `high`, to within `error`.

        Args:
            a: real values in the interval: `EncodingError` unless `a.bounds` lie in it.
            low, high: the ends of the interval, both above 0 or both below it.
            error: the largest difference from 1/x that is wanted, besides `error` of the result.
            within: whether you know that all values lie in the interval. If one does not, all
                results are wrong.

        A polynomial y of small degree is improved by steps y + y·e with e = 1 - x·y, each of which
        squares e (Goldschmidt, 1964). That takes fewer products than the polynomial
        `ckks.inverse_of`, and reaches intervals that none of degree 4,095 does. It takes about
        log2(high/low)/2 levels, and log2 of the bits to which 1/low is wanted, and two more at
        most; `NoiseError` says how many if there are too few. `ParameterError` for an
        interval that holds 0 or is empty, and for an error that is not positive. (OpenFHE:
        EvalDivide; Lattigo: inverse.Evaluator.)
        """
        x = self.upload(a)
        ends = as_interval(low, high)
        x = self._within(x, ends, within)
        return self._on(x, self._core.inverse, *ends, as_error(error))

    def greater(self, a: Encrypted, b: Encrypted, stages: SignStages) -> EncryptedArray:
        """1 where a > b, 0 where a < b, 1/2 where they are equal.

        It is within `stages.error`/2 of that where the values differ by at least epsilon·d, and
        between 0 and 1 elsewhere. d is the bound of a - b if that is 1 or more; smaller differences
        are multiplied by the largest integer that keeps them within 1, and d is 1/that. It takes
        `stages.depth` levels, and one more if the bound of a - b is above 1. Values are real.
        Shapes broadcast. (OpenFHE: EvalCompareSchemeSwitching; Lattigo: comparison.Evaluator.Step
        of a - b.)
        """
        return self._by_sign(self._core.greater, stages, a, b)

    def maximum(self, a: Encrypted, b: Encrypted, stages: SignStages) -> EncryptedArray:
        """The larger one of two values; levels as of `greater`, and one more.

        It is off by up to `stages.error`/2 times their difference, and by up to epsilon·d where
        they differ by less than epsilon·d. (OpenFHE: EvalMaxSchemeSwitching; Lattigo:
        comparison.Evaluator.Max.)
        """
        return self._by_sign(self._core.maximum, stages, a, b)

    def minimum(self, a: Encrypted, b: Encrypted, stages: SignStages) -> EncryptedArray:
        """The smaller one of two values, as `maximum`.

        (OpenFHE: EvalMinSchemeSwitching; Lattigo: comparison.Evaluator.Min.)
        """
        return self._by_sign(self._core.minimum, stages, a, b)

    def _by_sign(
        self, work: Callable[..., _lib.Array], stages: SignStages, *operands: Encrypted
    ) -> EncryptedArray:
        if not isinstance(stages, SignStages):
            raise TypeError(
                f"stages: SignStages are needed, by ckks.minimax_sign, not {type(stages).__name__}"
            )
        arrays, shape = self._meet(*operands)
        return self._wrap(work(*(each._core for each in arrays), stages._core), shape)

    # ---- levels

    def rescale(self, a: Encrypted) -> EncryptedArray:
        """Divides by the primes of one level, and so brings a product to the scale of the level
        below.

        Products do this by themselves unless `rescale` is False. `NoiseError` at level 0,
        `EncodingError` if it is rescaled already, or is no product. (OpenFHE: Rescale; Lattigo:
        Evaluator.Rescale.)
        """
        return self._on(a, self._core.rescale)

    def lower(self, a: Encrypted, level: int) -> EncryptedArray:
        """Brings ciphertexts to a lower level, and to its scale. The values stay.

        Operations do this by themselves; results of a low level are smaller to send.
        `ParameterError` unless 0 ≤ level ≤ the array's. (OpenFHE: LevelReduce; Lattigo:
        Evaluator.DropLevel.)
        """
        x = self.upload(a)
        return self._on(x, self._core.lower, as_integer("level", level, 0, x.level))

    def with_bound(self, a: Encrypted, bound: Bound) -> EncryptedArray:
        """The same ciphertexts with a smaller `bound`, or a pair of a lower and an upper bound of
        real values, which the caller knows.

        Bounds that operations give grow faster than values do. Results are wrong if it is not true.
        A larger bound changes nothing. `ParameterError` unless it is positive, and for a pair whose
        first number is the larger one, or that contradicts `a.bounds`. `EncodingError` for a pair
        where values are complex, or coefficients.
        """
        return self._on(a, self._core.with_bound, *as_bounds(bound))

    def with_error(self, a: Encrypted, error: float) -> EncryptedArray:
        """The same ciphertexts with a smaller `error`, which the caller knows.

        Operations add errors up as if all of them had one direction, so that after many sums and
        iterations much more is stated than there is. Before `Client.release` the error must be
        true, or the noise there hides too little. A larger one changes nothing. `ParameterError`
        unless it is positive.
        """
        return self._on(a, self._core.with_error, as_real("error", error))

    def with_more_error(self, a: Encrypted, error: float) -> EncryptedArray:
        """The same ciphertexts with an `error` that is larger by so much: for errors that the
        server does not know. `ParameterError` unless it is positive and finite.
        """
        return self._on(a, self._core.with_more_error, as_real("error", error))

    # ---- operands

    def _meet(self, *operands: Encrypted) -> tuple[list[EncryptedArray], Shape]:
        arrays, shape = super()._meet(*operands)
        longest = max(arrays, key=lambda array: array._each)
        if longest._each > 1:
            arrays = [
                self._stretched(a, longest.length) if a.length == 1 and a.size > 1 else a
                for a in arrays
            ]
        return arrays, shape

    def _stretched(self, a: EncryptedArray, length: int) -> EncryptedArray:
        """Single values, which come as often in sequence as a vector of `length` values has
        ciphertexts, as such vectors."""
        core = self._core.repeat(a._core, self._parameters.slots)
        return self._wrap(self._core.as_vectors(core, length), a.shape)

    def _scalar(self, value: object) -> Number | None:
        return one_number(value, "plaintext")

    def _addend(self, value: Number) -> complex:
        return as_complex(value, "plaintext")

    def _plain(
        self, a: EncryptedArray, values: ArrayLike
    ) -> tuple[EncryptedArray, tuple[Any, int], Shape]:
        x, (rows, length), shape = self._rows(a, *as_vectors(values, "plaintext"))
        return x, (rows.astype(np.complex128, copy=False), length), shape

    def _rows(
        self, a: EncryptedArray, values: Numbers, prefix: Shape, length: int
    ) -> tuple[EncryptedArray, tuple[Numbers, int], Shape]:
        """`a`, rows of `length` numbers for it, and the shape to which both are broadcast."""
        shape, slots = np.broadcast_shapes(a.shape, prefix), self._parameters.slots
        x, longest = spread(a, shape), max(length, a.length)
        if longest > slots and a.packing != "coefficients":
            if min(length, a.length) not in (1, longest):
                raise ShapeError(
                    f"vectors of {a.length} values meet vectors of {length} values: the lengths "
                    "must be equal, or one of them must be 1"
                )
            each = -(-longest // slots)
            if a._each == 1:
                x = self._stretched(repeated(x.broadcast_to(shape), each), longest)
            if length > 1:
                values, length = filled(values, length, slots), slots
            values = values.reshape(*prefix, -1, length)
            values = np.broadcast_to(values, (*shape, each, length)).reshape(-1)
        elif not is_alone(prefix):
            values = repeated_rows(values, prefix, length, shape)
        return x, (np.ascontiguousarray(values), length), shape


class EncryptedArray(Uploaded["Server"]):
    """An immutable array of ciphertexts on the device of a `Server`, each a vector of numbers.

    `Server.upload` and operations make them; nothing leaves the device before `to_host`. They have
    the operators `+`, `-`, `*`, `-a` and `a ** k`, and `/` by what is not encrypted. The other
    operand is an array, `Ciphertexts` (which are uploaded), a number or an array of numbers. One
    number goes to all values (with coefficients a sum adds it to the constant one). An array of
    shape (..., k) has one row of k values for all ciphertexts, or one row for each. Vectors have
    equal lengths, or one of them has a single value. Shapes broadcast as in NumPy, over the
    ciphertexts: the values inside a ciphertext are not an axis.

    A product takes a level. A product with a Python integer, with `1j` or with `-1j` takes none.
    `matrix @ x` and `x @ matrix` are NumPy's, with a matrix that is not encrypted; `map @ x` is
    that of a `LinearMap`. `x @ y` with another vector, encrypted or not, is `x.dot(y)`.

    Indexing, iteration, `reshape`, `broadcast_to`, `ckks.concatenate` and `ckks.stack` are NumPy's,
    on the device. `==` raises.

    >>> from whorl.ckks import Client, Server, parameters
    >>> client = Client(parameters(depth=2))
    >>> server = Server(client.evaluation_keys(rotations=[1]), device="cpu")
    >>> a = server.upload(client.encrypt([0.1, 0.2, 0.3, 0.4]))
    >>> client.decrypt((a * a + 1).rotate(1), raw=True).round(4)
    array([1.04, 1.09, 1.16, 1.01])
    """

    __slots__ = ()

    _core: _lib.Array

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")

    # ---- operations, as the server's

    square = of_server(Server.square)
    """`Server.square`."""
    conjugate = of_server(Server.conjugate)
    """`Server.conjugate`."""
    sum = of_server(Server.sum)
    """`Server.sum`."""
    mean = of_server(Server.mean)
    """`Server.mean`."""
    replicate = of_server(Server.replicate)
    """`Server.replicate`."""
    repeat = of_server(Server.repeat)
    """`Server.repeat`."""
    evaluate = of_server(Server.evaluate)
    """`Server.evaluate`."""
    apply = of_server(Server.apply)
    """`Server.apply`."""
    sign = of_server(Server.sign)
    """`Server.sign`."""
    absolute = of_server(Server.absolute)
    """`Server.absolute`."""
    relu = of_server(Server.relu)
    """`Server.relu`."""
    inverse = of_server(Server.inverse)
    """`Server.inverse`."""
    rescale = of_server(Server.rescale)
    """`Server.rescale`."""
    lower = of_server(Server.lower)
    """`Server.lower`."""
    with_bound = of_server(Server.with_bound)
    """`Server.with_bound`."""
    with_error = of_server(Server.with_error)
    """`Server.with_error`."""
    with_more_error = of_server(Server.with_more_error)
    """`Server.with_more_error`."""
    bootstrap = of_server(Server.bootstrap)
    """`Server.bootstrap`."""

    def multiply(
        self, other: Operand, relinearise: bool = True, rescale: bool = True
    ) -> EncryptedArray:
        """`Server.multiply`."""
        return self._server.multiply(self, other, relinearise, rescale)

    def __truediv__(self, other: ArrayLike) -> EncryptedArray:
        if isinstance(other, Array):
            raise TypeError(
                "ciphertexts cannot be divided by ciphertexts: for x / y write "
                "x * y.inverse(low, high, error)"
            )
        divisor = real_or_complex(other, "divisor")
        refuse(divisor, divisor == 0, "divisor", "0", ZeroDivisionError)
        with np.errstate(all="ignore"):
            factor = np.reciprocal(divisor)
        refuse(divisor, ~np.isfinite(factor), "divisor", "so small that no double holds 1 over it")
        return self._server.multiply(self, factor)

    def __rmatmul__(self, other: LinearMap | EncodedMap | ArrayLike) -> EncryptedArray:
        if isinstance(other, (LinearMap, EncodedMap)):
            return self._server.apply(self, other)
        matrix = real_or_complex(other, "matrix")
        return self.dot(matrix) if matrix.ndim == 1 else self._server._times(self, matrix)

    def __matmul__(self, other: Operand) -> EncryptedArray:
        if isinstance(other, (LinearMap, EncodedMap)):
            raise TypeError(f"x @ map: write map @ x, as the {type(other).__name__} acts on x")
        if isinstance(other, Array):
            return self.dot(other)
        matrix = real_or_complex(other, "matrix")
        if matrix.ndim == 1:
            return self.dot(matrix)
        return self._server._times(self, np.transpose(matrix))

    def matmul(
        self,
        other: EncryptedArray | Ciphertexts,
        product: MatrixProduct | EncodedMatrixProduct | None = None,
    ) -> EncryptedArray:
        """`Server.matmul`."""
        return self._server.matmul(self, other, product)

    def greater(self, other: EncryptedArray | Ciphertexts, stages: SignStages) -> EncryptedArray:
        """`Server.greater`."""
        return self._server.greater(self, other, stages)

    def maximum(self, other: EncryptedArray | Ciphertexts, stages: SignStages) -> EncryptedArray:
        """`Server.maximum`."""
        return self._server.maximum(self, other, stages)

    def minimum(self, other: EncryptedArray | Ciphertexts, stages: SignStages) -> EncryptedArray:
        """`Server.minimum`."""
        return self._server.minimum(self, other, stages)


Server._device_type = EncryptedArray  # which is made of the server's methods


def _integer(value: int) -> int:
    if not -(2**63) < value < 2**63:
        raise EncodingError(f"plaintext: integer {shown(value)} is outside ±(2^63 - 1)")
    return value
