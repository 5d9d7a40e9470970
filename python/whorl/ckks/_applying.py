"""What a server does with linear maps, with sums of ciphertexts, and with encrypted matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from .._core.integers import refuse
from .._core.literal import as_integer, as_real
from .._core.numbers import Numbers, real_or_complex
from .._core.text import counted, shown
from .._ring.server import RingServer, needing
from .._server import ckks as _lib
from ..errors import NoiseError, ParameterError, ShapeError
from ._ciphertexts import Ciphertexts, EncryptedArray, Uploaded
from ._keys import EvaluationKeys
from ._linear_maps import EncodedMap, LinearMap, linear_map
from ._matrices import EncodedMatrixProduct, MatrixProduct, product_of
from ._parameters import Parameters


class Applying(RingServer[EvaluationKeys, Ciphertexts, EncryptedArray]):
    """The part of a `Server` that applies linear maps, adds up ciphertexts with weights, and
    multiplies matrices."""

    __slots__ = ()

    _core: _lib.Server
    _parameters: Parameters

    @overload
    def encode(
        self,
        map: LinearMap,
        level: int | None = None,
        scale: float = 0,
        low_rotations: bool = False,
        compact: bool = False,
    ) -> EncodedMap: ...
    @overload
    def encode(self, map: MatrixProduct, level: int | None = None) -> EncodedMatrixProduct: ...
    def encode(
        self,
        map: LinearMap | MatrixProduct,
        level: int | None = None,
        scale: float = 0,
        low_rotations: bool = False,
        compact: bool = False,
    ) -> EncodedMap | EncodedMatrixProduct:
        """A linear map, or what products of encrypted matrices take, as plaintexts on the device.

        Other servers of the session with the same parameters take them too, whatever their key.

        Args:
            map: by `ckks.linear_map` or `ckks.diagonals`; or a `ckks.MatrixProduct`.
            level: of the operands, 1 … depth (of a `MatrixProduct` from 2 on); default: that of
                fresh ciphertexts. Operands of a higher level are brought down to it.
            scale: of a map's plaintexts, at least 1; 0: that of the level, which gives results the
                scale of theirs.
            low_rotations: whether a map takes keys of `evaluation_keys(low_rotations=...)` for its
                level, or the least one above it that has all of them. `MissingKeyError` if there
                is none.
            compact: whether plaintexts of a map lie over as few primes as hold their coefficients,
                and are extended to all primes in each product, with the same bits. They take a part
                of the memory, and a product takes longer.

        `ParameterError` for another level or scale, and for options of a `LinearMap` with a
        `MatrixProduct`; `ShapeError` for a map of more than N/2 values;
        `EncodingError` for values that are too large. (OpenFHE: EvalLinearTransformPrecompute;
        Lattigo: lintrans.Encode.)
        """
        depth = self._parameters.depth
        if isinstance(map, MatrixProduct):
            if scale or low_rotations or compact:
                raise ParameterError(
                    "scale, low_rotations and compact are options of a LinearMap; leave them out "
                    "for a MatrixProduct"
                )
            start = depth if level is None else as_integer("level", level, 0, depth)
            product = self._core.encode_product(map._core, start)
            return EncodedMatrixProduct._of(product, _server=self, _product=map)
        if not isinstance(map, LinearMap):
            raise TypeError(f"map: a LinearMap is needed, not {type(map).__name__}")
        place = depth if level is None else as_integer("level", level, 1, max(1, depth))
        core = self._core.encode(
            map._core, place, as_real("scale", scale), bool(low_rotations), bool(compact)
        )
        return EncodedMap._of(core, _server=self, _map=(map.length, map.columns))

    def apply(self, a: EncryptedArray | Ciphertexts, map: LinearMap | EncodedMap) -> EncryptedArray:
        """The linear map of each vector; `map @ x` is the same.

        It takes a level (`NoiseError` if there is none, or if `a` is below the map's level). A
        `LinearMap` is encoded for the level of `a` in this call; `encode` does it once for many. It
        needs the keys of `map.rotations`. `ShapeError` unless vectors have as many values as a
        matrix has columns, or a power of two that divides the period of diagonals. Rotations are
        hoisted twice, in baby and giant steps (Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux,
        EUROCRYPT 2021, §4). (OpenFHE: EvalLinearTransform; Lattigo: lintrans.Evaluator.Evaluate.)
        """
        if isinstance(map, LinearMap):

            def encoded(x: EncryptedArray) -> EncryptedArray:
                _check_levels("a linear map", 1, x)
                return self.apply(x, self.encode(map, x.level))

            return self._as_one("apply", encoded, a)
        x = self.upload(a)
        if not isinstance(map, EncodedMap):
            raise TypeError(f"map: a LinearMap or an EncodedMap is needed, not {shown(map)}")
        with needing("a linear map", "rotations=map.rotations"):
            return self._on(x, self._core.apply, map._core)

    def _times(self, a: EncryptedArray, matrix: Numbers) -> EncryptedArray:
        """`matrix @ x` of each vector x; a part of the matrix for each ciphertext of a vector."""
        if a._each == 1 or matrix.ndim != 2:
            return self.apply(a, linear_map(matrix))
        if matrix.shape[1] != a.length:
            raise ShapeError(
                f"matrix: vectors of {a.length} values meet a matrix of {matrix.shape[1]} columns: "
                "the numbers must be equal"
            )
        slots = self._parameters.slots
        blocks = np.split(np.pad(matrix, ((0, 0), (0, -a.length % slots))), a._each, axis=1)
        parts = (self._wrap(each, a.shape) for each in self._core.parts(a._core))
        return functools.reduce(
            self.add, (self.apply(x, linear_map(m)) for x, m in zip(parts, blocks, strict=True))
        )

    def weighted_sums(
        self,
        weights: ArrayLike,
        a: EncryptedArray | Ciphertexts,
        bias: ArrayLike | None = None,
        rescale: bool = True,
    ) -> EncryptedArray:
        """`weights @ a` over the first axis of an array: sums of its ciphertexts, value by value.

        `matrix @ x` is another product: it acts on the values inside each ciphertext. Here each
        value of a ciphertext belongs to another row of data, and a ciphertext to a column of it: a
        dense layer of a network on as many inputs as there are slots. It needs no key, takes no
        rotation, and takes one level (`NoiseError` if there is none).

        Args:
            weights: real numbers of shape (M, K), not encrypted.
            a: ciphertexts of shape (K, ...).
            bias: M real numbers; number j is added to all values of the result's row j (with
                coefficients to the constant one).
            rescale: whether the result is divided to the level below. If not, several such sums can
                be added and divided once (`rescale`).

        The result has shape (M, ...). Every ciphertext of it has the bounds and the error of the
        row in which they are largest. `ShapeError` for other shapes and for an empty matrix;
        `EncodingError` for numbers that are not finite, and for weights that times the scale are
        above 2^61. (OpenFHE: EvalLinearWSum, of one row.)

        >>> from whorl.ckks import Client, Server, parameters
        >>> client = Client(parameters(depth=1))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> x = client.encrypt([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
        >>> y = server.weighted_sums([[1, 1, 1], [-1, 0, 1]], x, bias=[0, 0.5])
        >>> client.decrypt(y, raw=True).round(4)
        array([[0.9, 1.2],
               [0.9, 0.9]])
        """
        matrix, x = _real(weights, "weights"), self.upload(a)
        if matrix.ndim != 2 or matrix.size == 0:
            raise ShapeError(
                f"weights: shape {matrix.shape}; a matrix is needed, (M, K), of one number or more"
            )
        rows, columns = matrix.shape
        if not x.shape or x.shape[0] != columns:
            raise ShapeError(
                f"weights: {columns} columns meet ciphertexts of shape {x.shape}; the first axis "
                "must be as long"
            )
        added = np.zeros(0) if bias is None else _real(bias, "bias")
        if bias is not None and added.shape != (rows,):
            raise ShapeError(
                f"bias: shape {added.shape}; one number is needed for each of {rows} rows"
            )
        core = self._core.weighted_sums(x._core, matrix.reshape(-1), columns, added, bool(rescale))
        return self._wrap(core, (rows, *x.shape[1:]))

    def matmul(
        self,
        a: EncryptedArray | Ciphertexts,
        b: EncryptedArray | Ciphertexts,
        product: MatrixProduct | EncodedMatrixProduct | None = None,
    ) -> EncryptedArray:
        """The products of encrypted matrices, which vectors hold row by row; shapes broadcast.

        Args:
            a, b: ciphertexts of vectors of rows·side·matrices and of side²·matrices values; the
                product is as long as a.
            product: the shape; or that, encoded by `encode`. Default: one square matrix in each
                vector of b, and one with as many columns in each vector of a.

        It takes two levels (`NoiseError` if there are fewer) and the keys of `product.rotations`. A
        shape is encoded for the level of a and b in this call; `encode` does it once for many. It
        takes about 2·rows + side rotations, and 2·rows products of ciphertexts, which are
        relinearised once. `ShapeError` for vectors of other lengths, `DeviceError` for a product
        of another session. (Jiang, Kim, Lauter, Song, CCS 2018, with a level less.)
        """
        if product is None or isinstance(product, MatrixProduct):

            def encoded(x: EncryptedArray, y: EncryptedArray) -> EncryptedArray:
                shape = product_of(x.length, y.length) if product is None else product
                _check_levels("a product of matrices", shape.depth, x, y)
                return self.matmul(x, y, self.encode(shape, min(x.level, y.level)))

            return self._as_one("multiply_matrices", encoded, a, b)
        (x, y), shape = self._meet(a, b)
        if not isinstance(product, EncodedMatrixProduct):
            raise TypeError(
                f"product: a MatrixProduct is needed, encoded or not, not {type(product).__name__}"
            )
        with needing("a product of matrices", "rotations=product.rotations"):
            core = self._core.multiply_matrices(x._core, y._core, product._core)
            return self._wrap(core, shape)

    def _as_one(
        self,
        name: str,
        work: Callable[..., EncryptedArray],
        *operands: EncryptedArray | Ciphertexts,
    ) -> EncryptedArray:
        """What `work` makes of arrays of one shape by several calls. A plan counts them as one."""
        arrays, _ = self._meet(*operands)
        return work(*arrays)


def _real(values: ArrayLike, field: str) -> Numbers:
    """Real numbers as doubles, one after another."""
    numbers = real_or_complex(values, field)
    if numbers.dtype.kind == "c":
        refuse(numbers, numbers.imag != 0, field, "not real")
        numbers = numbers.real
    return np.asarray(numbers, order="C")


def _check_levels(what: str, depth: int, *operands: Uploaded[Any]) -> None:
    level = min(x.level for x in operands)
    if level < depth:
        raise NoiseError(
            f"{what} takes {counted(depth, 'level')}, and the ciphertexts have {level}: "
            "take parameters with a larger depth, or bootstrap before"
        )
