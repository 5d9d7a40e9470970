"""The server's half: arithmetic on ciphertexts that stay on its device. It cannot decrypt."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import DeviceArray, Shape, repeated, stack
from .._core.base_server import spread
from .._core.entries import entries_of
from .._core.literal import as_integer, as_real, as_text
from .._core.part import OnDevice, Part
from .._core.text import shown
from .._ring.arrays import RingArray, of_server
from .._ring.server import RingServer, as_distance, is_alone, needing, repeated_rows
from .._server import bgv as _lib
from ..errors import EncodingError, ShapeError
from . import _bounds as bounds_of
from ._bounds import Bounds
from ._ciphertexts import Accounted, Ciphertexts
from ._keys import EvaluationKeys
from ._parameters import Parameters
from ._values import Packing, Values, as_matrix, as_scalar, as_vectors

Encrypted: TypeAlias = Union["EncryptedArray", Ciphertexts]
Operand: TypeAlias = Union[Encrypted, "Plaintexts", ArrayLike]


class Server(RingServer[EvaluationKeys, Ciphertexts, "EncryptedArray"]):
    """Evaluates on arrays of ciphertexts with evaluation keys only.

    `help(Server.__init__)` explains the arguments, the errors that they raise, and what happens if
    a GPU fails.

    Methods take arrays on the devices, or `Ciphertexts`, which they upload. Results stay on the
    devices. Several GPUs share each batch in equal parts. If their memory is short, pieces of
    arrays that are not in use wait in the host's memory. Evaluation is deterministic, and gives the
    same bits on every device and on any number of them. The server brings operands to one level and
    one factor by itself, and drops primes before a product if that leaves more noise budget.
    Several Python threads may call methods; one of them runs at a time. Methods release the GIL,
    and Ctrl-C stops them. Any thread may delete arrays meanwhile. Give whole batches. Shapes of two
    operands broadcast as in NumPy.

    All methods raise `ParameterMismatchError` or `KeyMismatchError` for ciphertexts that were not
    made under the server's keys. If a key is missing, they raise `MissingKeyError`, which names the
    key. They raise `DeviceError` for arrays of another server, `ValueError` for shapes that do
    not broadcast, `EncodingError` for another packing, and `OutOfMemoryError`.

    >>> from whorl.bgv import Client, parameters
    >>> client = Client(parameters(depth=1))
    >>> server = Server(client.evaluation_keys(), device="cpu")
    >>> x, y = server.upload(client.encrypt([1, 2, 3])), client.encrypt([4, 5, 6])
    >>> client.decrypt(3 * x * y + 1)
    array([13, 31, 55])
    """

    __slots__ = ()

    _core: _lib.Server
    _parameters: Parameters
    _maker = _lib.Server
    _keys_type, _host_type = EvaluationKeys, Ciphertexts

    parameters = Part[Parameters]("_parameters", "Parameters of the keys.")

    def encode(self, values: ArrayLike, packing: Packing = "slots") -> Plaintexts:
        """Vectors of integers as plaintexts on the device, to be used many times.

        `values` and `packing` as for `Client.encrypt`. They are encoded and uploaded once, not in
        each operation, and serve arrays of every level. They take 4 or 8 bytes (one word) for each
        of the N values and each prime of the chain. If they are added to an array whose `factor` is
        not 1, they are encoded again. Other servers of the session with the same parameters take
        them too, whatever their key. (OpenFHE: MakePackedPlaintext, which its EvalAdd and EvalMult
        take.)
        """
        vectors, shape, length = as_vectors(values, self._parameters, "values")
        core = self._core.encode(vectors, as_text("packing", packing), length)
        return Plaintexts._wrap(core, self, shape)

    def encode_matrix(self, values: ArrayLike) -> Matrix:
        """A matrix of integers, of shape (rows, columns), prepared for many products `x @ matrix`.

        Its diagonals are encoded and uploaded once, except those that are zero. There are at most
        as many as the smaller side has values, rounded up to a power of two. It serves other
        servers as plaintexts of `encode` do. `ShapeError` unless there are two axes, and for more
        than N columns. N rows are encoded at a time: longer vectors take several ciphertexts, each
        with a part of the matrix.
        """
        matrix, N = as_matrix(values, self._parameters, "matrix"), self._parameters.N
        blocks = (matrix[first : first + N] for first in range(0, len(matrix), N))
        cores = [self._core.encode_matrix(each.reshape(-1), *each.shape) for each in blocks]
        return Matrix._of(cores, _server=self, _shape=matrix.shape)

    def encode_diagonals(self, values: ArrayLike, step: int = 1) -> Matrix:
        """Linear maps by their diagonals, of shape (maps, count, N), or (count, N) for one.

        For each map, `x @ diagonals` is the sum of diagonal[k] · x.rotate(k · step) over all k, in
        baby and giant steps. The maps share rotations of x. The result has a new first axis, with
        one entry for each map.
        """
        vectors, shape, length = as_vectors(values, self._parameters, "diagonals")
        N = self._parameters.N
        if len(shape) not in (1, 2) or length != N:
            raise ShapeError(
                f"diagonals: shape {(*shape, length)} is neither (maps, count, N) nor (count, N), "
                f"with N = {N}"
            )
        core = self._core.encode_diagonals(vectors, shape[-1], as_distance("columns", step))
        return Matrix._of([core], _server=self, _shape=(*shape, length))

    # ---- products

    def multiply(
        self, a: Encrypted, b: Encrypted | Plaintexts | ArrayLike, relinearise: bool = True
    ) -> EncryptedArray:
        """a · b; b: ciphertexts, one integer, an integer array, or `Plaintexts`.

        A product of ciphertexts is relinearised to two parts unless `relinearise` is False; then a
        sum of products can be relinearised once (`relinearise`). If a plaintext has fewer values
        than slots, the missing ones are zeros, and so are the products with them. (OpenFHE:
        EvalMult, EvalMultNoRelin.)
        """
        core = self._core

        def multiply(x: _lib.Array, y: _lib.Array) -> _lib.Array:
            return core.multiply(x, y, bool(relinearise))

        return self._operate(a, b, multiply, core.multiply_scalar, core.multiply_plain)

    def square(self, a: Encrypted, relinearise: bool = True) -> EncryptedArray:
        """a · a (OpenFHE: EvalSquare)."""
        return self._on(a, self._core.square, bool(relinearise))

    def power(self, a: Encrypted, exponent: int) -> EncryptedArray:
        """a to a power 0 … 2^16, by ⌈log2⌉ multiplications in sequence (as `a ** exponent`).

        `ParameterError` for another exponent.
        """
        wanted = self._exponent(exponent)
        return self._power(a, wanted) if wanted else self.add(self.multiply(a, 0), 1)

    # ---- moving slots

    def swap_rows(self, a: Encrypted) -> EncryptedArray:
        """Exchanges the two rows of N/2 slots."""
        return self._on(a, self._core.swap_rows)

    def inner_sum(self, a: Encrypted, columns: int | None = None) -> EncryptedArray:
        """Slot i becomes the sum of `columns` slots of its row, from i on, cyclically.

        `columns`: a power of two up to N/2, the default, for which all slots get their row's sum.
        Takes the rotations by 1, 2, 4, … below it. `ParameterError` for another number.
        (OpenFHE: EvalSum.)
        """
        row = self._parameters.N // 2
        width = as_integer("columns", row if columns is None else columns, 1, row)
        return self._on(a, self._core.inner_sum, width)

    # ---- over the values of each vector

    def sum(self, a: Encrypted) -> EncryptedArray:
        """The sum of each vector's values, modulo t, in every slot; of shape `a.shape`.

        It needs the keys of `evaluation_keys(sums=length)`. A vector's values are in the first
        `a.length` slots. If operations left other values behind them, these are made zero first, by
        a product with a plaintext. (OpenFHE: EvalSum.)
        """
        x = self.upload(a)
        with needing("a sum", f"sums={x.length}"):
            return self._on(x, self._core.sum)

    def mean(self, a: Encrypted) -> Mean:
        """The pair (total, n): the sum of each vector's values, and the number of values.

        The mean of integers is a fraction in general, and slots hold integers modulo t. (The
        residue total/n modulo t is another number than the mean wherever n does not divide the
        total.) So divide after decryption: `client.decrypt(total, signed=True)[..., 0] / n`. The
        result is right if the sum is within -t/2 … t/2 (unsigned: 0 … t-1), so choose t for the
        sum. CKKS divides under encryption, since its values are not integers.
        """
        x = self.upload(a)
        with needing("a mean", f"sums={x.length}"):
            return Mean(self._on(x, self._core.sum), x.length)

    def dot(self, a: Encrypted, b: Encrypted | Plaintexts | ArrayLike) -> EncryptedArray:
        """The sum of the products of two vectors' values, in every slot; b as in `multiply`.

        `ShapeError` if the lengths differ. The keys are those of `sum`. (OpenFHE:
        EvalInnerProduct.)
        """
        core, a = self._core, self.upload(a)
        length = a.length
        if not isinstance(b, (EncryptedArray, Ciphertexts, Plaintexts)):
            b = self.encode(b)

        def dot(x: _lib.Array, y: _lib.Array | _lib.Plaintexts) -> _lib.Array:
            with needing("a dot product", f"sums={length}"):
                return core.dot(x, y)

        return self._operate(a, b, dot, core.multiply_scalar, dot)

    def matmul(
        self, a: Encrypted, b: Encrypted | Plaintexts | Matrix | ArrayLike
    ) -> EncryptedArray:
        """Each vector times a matrix that is not encrypted, of shape (rows, columns); also `a @ b`.

        A vector has as many values as the matrix has rows, and the result has as many as it has
        columns, at most N of each. `encode_matrix` prepares a matrix that is used again. If b has
        one axis, or is encrypted, this is `dot`. `matrix @ a` is `a @ matrix.T`.

        It works in baby and giant steps (Halevi, Shoup, CRYPTO 2018), which take about 2·√d
        rotations, where d is the smaller side rounded up to a power of two. A few more rotations
        repeat the vector in its row of slots, or add up the result. `rotations_for` names all of
        them. The noise is that of a product with a plaintext and of d sums. `ShapeError` for
        vectors of another length.
        (OpenFHE: EvalLinearTransform of its CKKS.)
        """
        if isinstance(b, (EncryptedArray, Ciphertexts, Plaintexts)):
            return self.dot(a, b)
        if not isinstance(b, Matrix):
            if entries_of(b, "matrix").ndim == 1:
                return self.dot(a, b)
            b = self.encode_matrix(b)
        x = self.upload(a)
        if b._core[0].rows:
            return self._times(x, b)
        with needing("a product with diagonals", _keys(f"diagonals=[({b.shape[-2]}, step)]")):
            maps = self._core.multiply_maps(x._core, b._core[0])
        results = [self._wrap(each, x.shape) for each in maps]
        return results[0] if len(b.shape) == 2 else stack(results)

    def _times(self, x: EncryptedArray, matrix: Matrix) -> EncryptedArray:
        """Each vector times a matrix; a part of the matrix for each ciphertext of a vector."""
        parts, core = [x._core], self._core
        if x.length != matrix.shape[0] and max(x._each, len(matrix._core)) > 1:
            raise ShapeError(
                f"matmul: vectors of {x.length} values meet a matrix of {matrix.shape[0]} rows: "
                "the numbers must be equal"
            )
        if x._each > 1:
            parts = core.parts(x._core)
        with needing("a product with a matrix", _keys(str(matrix.shape))):
            products = map(core.multiply_matrix, parts, matrix._core)
            return self._wrap(functools.reduce(core.add, products), x.shape)

    # ---- levels

    def mod_switch(self, a: Encrypted, limbs: int | None = None) -> EncryptedArray:
        """Drops primes until `limbs` are left, by default one prime; the message stays.

        Operations do this by themselves; this method is for doing it by hand. `ParameterError`
        unless 1 ≤ limbs ≤ the array's. (OpenFHE: ModReduce, LevelReduce.)
        """
        x = self.upload(a)
        left = x.limbs - 1 if limbs is None else limbs
        left = as_integer("limbs", left, 1, x.limbs)
        return self._on(x, self._core.mod_switch, left)

    def shrink(self, a: Encrypted, spare_bits: float = 8) -> EncryptedArray:
        """Drops all primes that decryption does not need, keeping `spare_bits` of budget.

        (OpenFHE: Compress.)
        """
        return self._on(a, self._core.shrink, as_real("spare_bits", spare_bits))

    # ---- operands

    def _scalar(self, value: object) -> int | None:
        scalar = as_scalar(value)
        return None if scalar is None else self._residue(scalar)

    def _addend(self, value: int) -> int:
        return self._residue(value)

    def _residue(self, value: int) -> int:
        t = self._parameters.t
        if not -t < value < t:
            raise EncodingError(
                f"plaintext: value {shown(value)} is not in {1 - t} … {t - 1}, for t = {t}"
            )
        return value % t

    def _plain(
        self, a: EncryptedArray, values: Plaintexts | ArrayLike
    ) -> tuple[EncryptedArray, tuple[_lib.Plaintexts] | tuple[Values, int], Shape]:
        """Like `_meet`, with plaintexts. Those not on the device are values and a length."""
        if isinstance(values, Plaintexts):
            shape = np.broadcast_shapes(a.shape, values.shape)
            x = _matching(spread(a, shape), values._each)
            return x, (spread(values, shape)._core,), shape
        vectors, prefix, length = as_vectors(values, self._parameters, "plaintext")
        shape = np.broadcast_shapes(a.shape, prefix)
        if not is_alone(prefix) or length > self._parameters.N:
            vectors = repeated_rows(vectors, prefix, length, shape)
        x = _matching(spread(a, shape), -(-length // self._parameters.N))
        return x, (vectors, length), shape


class EncryptedArray(Accounted, RingArray["Server", Ciphertexts]):
    """An immutable array of ciphertexts on the device of a `Server`, each of N integers modulo t.

    `Server.upload` and operations make them; nothing leaves the device before `to_host`, which has
    less to copy after `shrink`. They have the operators `+`, `-`, `*`, `-a` and `a ** k`. The other
    operand is an array, `Ciphertexts` (which are uploaded), `Plaintexts`, an integer or an integer
    array. One integer goes to all values (with coefficients a sum adds it to the constant one). An
    integer array of shape (..., k) has one row of k ≤ N values, padded with zeros, for all
    ciphertexts, or one row for each. Shapes broadcast as in NumPy, over the ciphertexts: the N
    values inside a ciphertext are not an axis.

    `x @ matrix`, `x.dot(y)`, `x.sum()` and `x.mean()` work on the first `length` values of each
    vector, and ignore the slots behind them.

    Indexing, iteration, `reshape`, `broadcast_to`, `bgv.concatenate` and `bgv.stack` are NumPy's,
    on the device. `==` raises.

    >>> from whorl.bgv import Client, Server, parameters
    >>> client = Client(parameters(depth=2))
    >>> server = Server(client.evaluation_keys(rotations=[1]), device="cpu")
    >>> a = server.upload(client.encrypt([1, 2, 3]))
    >>> client.decrypt((a * a - [0, 1, 2]).rotate(1), signed=True)[:4]
    array([3, 7, 0, 0])
    """

    __slots__ = ()

    _core: _lib.Array

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")

    # ---- operations, as the server's

    square = of_server(Server.square)
    """`Server.square`."""
    swap_rows = of_server(Server.swap_rows)
    """`Server.swap_rows`."""
    inner_sum = of_server(Server.inner_sum)
    """`Server.inner_sum`."""
    sum = of_server(Server.sum)
    """`Server.sum`."""
    mean = of_server(Server.mean)
    """`Server.mean`."""
    mod_switch = of_server(Server.mod_switch)
    """`Server.mod_switch`."""
    shrink = of_server(Server.shrink)
    """`Server.shrink`."""

    def multiply(self, other: Operand, relinearise: bool = True) -> EncryptedArray:
        """`Server.multiply`."""
        return self._server.multiply(self, other, relinearise)

    def __matmul__(self, other: Operand | Matrix) -> EncryptedArray:
        return self._server.matmul(self, other)

    def __rmatmul__(self, other: ArrayLike) -> EncryptedArray:
        return self._server.matmul(self, np.transpose(entries_of(other, "matrix")))


Server._device_type = EncryptedArray  # which is made of the server's methods


class Mean(NamedTuple):
    """The result of `EncryptedArray.mean`. Decrypt `total`; the mean is total / n."""

    total: EncryptedArray
    """The sum of each vector's values, modulo t, in every slot."""
    n: int
    """Number of values."""


class Plaintexts(DeviceArray["Server"]):
    """An immutable array of plaintexts on the device of a `Server`, encoded and uploaded once.

    `Server.encode` makes them. `+`, `-` and `*` of encrypted arrays take them at every level, and
    give the same bits as with the values. Shape and indexing are NumPy's.

    >>> from whorl.bgv import Client, Server, parameters
    >>> client = Client(parameters(depth=1))
    >>> server = Server(client.evaluation_keys(2), device="cpu")
    >>> table = server.encode([[1, 2, 3], [4, 5, 6]])
    >>> a = server.upload(client.encrypt([10, 20, 30]))
    >>> client.decrypt(a * table).tolist(), client.decrypt(a - table[1])
    ([[10, 40, 90], [40, 100, 180]], array([ 6, 15, 24]))
    """

    __slots__ = ()

    _core: _lib.Plaintexts
    _server: Server

    parameters = Part[Parameters]("_server.parameters", "Parameters of the server.")
    packing = Part[str]("_core.packing", "`slots` or `coefficients`.")

    @property
    def _each(self) -> int:
        return self._core.each

    def _in_place_of(self, kind: str, function: str = "f") -> str:
        return (
            "plaintexts are operands of encrypted arrays, as x + m: compute on the numbers, and "
            "encode the result"
        )

    def _details(self) -> list[tuple[str, str]]:
        chosen = self.parameters
        return [("t", f"{chosen.t:,}"), ("packing", f"{self.packing} of N = {chosen.N:,}")]

    def __repr__(self) -> str:
        return (
            f"<Plaintexts of shape {self.shape}, {self.packing} of N={self.parameters.N} modulo "
            f"{self.parameters.t}, on {self.device}>"
        )


class Matrix(OnDevice):
    """A matrix or diagonals, not encrypted, prepared on a `Server` for products `x @ matrix`.

    `Server.encode_matrix` and `Server.encode_diagonals` make them.

    >>> import numpy as np
    >>> from whorl import bgv
    >>> params = bgv.parameters(depth=1)
    >>> client = bgv.Client(params)
    >>> keys = client.evaluation_keys(2, **bgv.rotations_for(params, (3, 2)))
    >>> server = bgv.Server(keys, device="cpu")
    >>> m = server.encode_matrix([[1, 2], [3, 4], [5, 6]])
    >>> m.shape, client.decrypt(server.upload(client.encrypt([1, 0, 2])) @ m)
    ((3, 2), array([11, 14]))
    """

    __slots__ = ("_core", "_server", "_shape")

    __array_ufunc__ = None

    _core: list[_lib.SlotMap]
    """One for each N rows."""
    _server: Server
    _made_by, _sent_as = "Server.encode_matrix or Server.encode_diagonals", "the values"

    shape = Part[tuple[int, ...]](
        "_shape", "(rows, columns); for diagonals the shape that was given."
    )
    nbytes = Part[int](
        "_core", "Bytes on the device.", lambda maps: sum(each.nbytes for each in maps)
    )

    def __repr__(self) -> str:
        return f"<Matrix of shape {self.shape}, on {self._server.device}>"


BOUNDS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a.bounds + b.bounds,
    "sub": lambda a, b: a.bounds - b.bounds,
    "negate": lambda a: -a.bounds,
    "multiply": bounds_of.product,
    "square": lambda a, _: bounds_of.product(a, a),
    **dict.fromkeys(("relinearise", "mod_switch", "shrink"), lambda a, *_: a.bounds),
    "take": lambda a, index: a.bounds.taken(index),
    "parts": lambda a: bounds_of.parts(a.bounds, a.each),
    "concatenate": lambda all: Bounds.joined([a.bounds for a in all], [a.count for a in all]),
    "rotate": bounds_of.rotated,
    "rotate_many": lambda a, columns: [bounds_of.rotated(a, each) for each in columns],
    "swap_rows": lambda a: a.bounds.swapped(),
    "inner_sum": lambda a, columns: a.bounds.summed(columns),
    "sum": lambda a: a.bounds if a.everywhere else bounds_of.total(a.bounds, a.each),
    "dot": bounds_of.dot,
    "multiply_matrix": bounds_of.matrix_product,
    "multiply_maps": bounds_of.maps,
}
"""Bounds of the values of an operation's result, or of each of them, by those of its operands: what
plans know of it. Operations that are not here are methods of the plan's `_DryCore`."""
UNNOTED = ("mod_switch", "shrink", "take", "parts")
"""Those that make no values, and are not counted."""


def _keys(rotations: str) -> str:
    """The arguments of `Client.evaluation_keys` for these arguments of `rotations_for`."""
    return f"**bgv.rotations_for(parameters, {rotations})"


def _matching(a: EncryptedArray, each: int) -> EncryptedArray:
    """`a` beside plaintexts of `each` ciphertexts: a sum, which all slots have, is repeated."""
    return repeated(a, each) if a._each == 1 and a.size > 1 else a
