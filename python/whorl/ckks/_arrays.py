"""Arrays of ciphertexts on a server's device, with NumPy's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Array, no_ciphertexts
from .._core.integers import refuse
from .._core.numbers import real_or_complex
from .._core.part import Part
from .._ring.arrays import RingArray
from .._server import ckks as _lib
from ._ciphertexts import Accounted, Ciphertexts
from ._functions import SignStages
from ._linear_maps import EncodedMap, LinearMap
from ._matrices import EncodedMatrixProduct, MatrixProduct
from ._parameters import Parameters
from ._polynomials import Polynomial
from ._values import Bound

if TYPE_CHECKING:
    from ._server import Server

Operand: TypeAlias = Union["EncryptedArray", Ciphertexts, ArrayLike]


class EncryptedArray(Accounted, RingArray["Server", Ciphertexts]):
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
    _server: Server

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")

    # ---- operations, as the server's

    def square(self, relinearise: bool = True, rescale: bool = True) -> EncryptedArray:
        """`Server.square`."""
        return self._server.square(self, relinearise, rescale)

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

    def conjugate(self) -> EncryptedArray:
        """`Server.conjugate`."""
        return self._server.conjugate(self)

    def sum(self, period: int = 1) -> EncryptedArray:
        """`Server.sum`."""
        return self._server.sum(self, period)

    def mean(self) -> EncryptedArray:
        """`Server.mean`."""
        return self._server.mean(self)

    def replicate(self, first: int, count: int = 1) -> EncryptedArray:
        """`Server.replicate`."""
        return self._server.replicate(self, first, count)

    def repeat(self, length: int) -> EncryptedArray:
        """`Server.repeat`."""
        return self._server.repeat(self, length)

    def evaluate(
        self,
        polynomial: Polynomial | Sequence[Polynomial],
        mapping: ArrayLike | None = None,
        within: bool = False,
    ) -> EncryptedArray:
        """`Server.evaluate`."""
        return self._server.evaluate(self, polynomial, mapping, within)

    # ---- linear maps and functions

    def apply(self, map: LinearMap | EncodedMap) -> EncryptedArray:
        """`Server.apply`, as `map @ x`."""
        return self._server.apply(self, map)

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

    def sign(self, stages: SignStages) -> EncryptedArray:
        """`Server.sign`."""
        return self._server.sign(self, stages)

    def absolute(self, stages: SignStages) -> EncryptedArray:
        """`Server.absolute`."""
        return self._server.absolute(self, stages)

    def relu(self, stages: SignStages) -> EncryptedArray:
        """`Server.relu`."""
        return self._server.relu(self, stages)

    def inverse(
        self, low: float, high: float, error: float, within: bool = False
    ) -> EncryptedArray:
        """`Server.inverse`."""
        return self._server.inverse(self, low, high, error, within)

    def greater(self, other: EncryptedArray | Ciphertexts, stages: SignStages) -> EncryptedArray:
        """`Server.greater`."""
        return self._server.greater(self, other, stages)

    def maximum(self, other: EncryptedArray | Ciphertexts, stages: SignStages) -> EncryptedArray:
        """`Server.maximum`."""
        return self._server.maximum(self, other, stages)

    def minimum(self, other: EncryptedArray | Ciphertexts, stages: SignStages) -> EncryptedArray:
        """`Server.minimum`."""
        return self._server.minimum(self, other, stages)

    # ---- levels

    def rescale(self) -> EncryptedArray:
        """`Server.rescale`."""
        return self._server.rescale(self)

    def lower(self, level: int) -> EncryptedArray:
        """`Server.lower`."""
        return self._server.lower(self, level)

    def with_bound(self, bound: Bound) -> EncryptedArray:
        """`Server.with_bound`."""
        return self._server.with_bound(self, bound)

    def with_error(self, error: float) -> EncryptedArray:
        """`Server.with_error`."""
        return self._server.with_error(self, error)

    def bootstrap(self, iterations: int = 1) -> EncryptedArray:
        """`Server.bootstrap`."""
        return self._server.bootstrap(self, iterations)


Encrypted: TypeAlias = EncryptedArray | Ciphertexts


def evaluate(
    x: EncryptedArray,
    polynomial: Polynomial | Sequence[Polynomial],
    mapping: ArrayLike | None = None,
    within: bool = False,
) -> EncryptedArray:
    """The polynomial of each value of an encrypted array, or one of several for each value.

    `Server.evaluate` has the details.
    """
    given: object = x
    if isinstance(given, Ciphertexts):
        raise TypeError("evaluate needs a server: write server.upload(x) first")
    if not isinstance(given, EncryptedArray):
        raise no_ciphertexts(Parameters, given)
    return given.evaluate(polynomial, mapping, within)
