"""Products of matrices that are both encrypted."""

from __future__ import annotations

from typing import Any

from .._core.literal import as_integer
from .._core.part import OnDevice, Part
from .._core.session import OnDevices
from .._core.text import counted
from .._server import ckks as _lib
from ..errors import ShapeError
from ._linear_maps import MOST_VALUES


class MatrixProduct:
    """The shape of products a · b of encrypted matrices, with the rotations that it takes;
    immutable.

    A vector holds a matrix row by row, as `matrix.reshape(-1)` gives it; or several, of which value
    (i, j) of matrix k is at (i·side + j)·matrices + k, as `np.stack(all, axis=-1).reshape(-1)`
    gives them. It can be pickled.

    Args:
        side: rows and columns of b, and columns of a and of the product; a power of two.
        rows: of a and of the product: a power of two up to `side`, which is the default.
        matrices: how many a ciphertext holds; a power of two.

    Matrices of other shapes are filled up with zeros, or cut into blocks: the rows of a larger a go
    to several ciphertexts of an array. `ShapeError` for numbers that are not powers of two as
    stated, and for more than 2^16 values. (Jiang, Kim, Lauter, Song, CCS 2018. With OpenFHE
    and Lattigo the user makes it of linear maps and EvalMult, or lintrans and MulRelin.)

    >>> from whorl import ckks
    >>> ckks.MatrixProduct(4)
    <MatrixProduct of 4 × 4 times 4 × 4, depth 2, 9 rotations>
    """

    __slots__ = ("_core", "_rotations")

    _core: _lib.MatrixProduct
    _rotations: tuple[int, ...]

    def __init__(self, side: int, rows: int | None = None, matrices: int = 1) -> None:
        columns = as_integer("side", side, 1, MOST_VALUES)
        lines = columns if rows is None else as_integer("rows", rows, 1, MOST_VALUES)
        copies = as_integer("matrices", matrices, 1, MOST_VALUES)
        if columns * columns * copies > MOST_VALUES:
            raise ShapeError(
                f"matrix product: {columns}² · {copies} values are more than a ciphertext holds, "
                f"at most {MOST_VALUES}; cut matrices into blocks"
            )
        self._core = _lib.MatrixProduct.create(columns, lines, copies)
        self._rotations = tuple(self._core.rotations())  # it checks the shape

    side = Part[int]("_core.side", "Rows and columns of b, and columns of a and of the product.")
    rows = Part[int]("_core.rows", "Rows of a and of the product.")
    matrices = Part[int]("_core.matrices", "How many matrices a ciphertext holds.")
    depth = Part[int]("_core.depth", "How many levels a product takes: 2.")

    rotations = Part[tuple[int, ...]](
        "_rotations",
        "The distances whose keys a product takes, for `Client.evaluation_keys(rotations=...)`.",
    )

    def __reduce__(self) -> tuple[Any, ...]:
        return MatrixProduct, (self.side, self.rows, self.matrices)

    def __repr__(self) -> str:
        rotations = counted(len(self.rotations), "rotation")
        return f"<MatrixProduct {_shape(self)}, depth {self.depth}, {rotations}>"


class EncodedMatrixProduct(OnDevice):
    """What products of a shape are made with, encoded for a level, on the device of a `Server`.

    `Server.encode` makes it; `a.matmul(b, encoded)` uses it. (Of a linear map: OpenFHE:
    EvalLinearTransformPrecompute; Lattigo: lintrans.Encode.)
    """

    __slots__ = ("_core", "_product", "_server")

    _core: _lib.EncodedMatrixProduct
    _server: OnDevices
    _made_by, _sent_as = "Server.encode", "the MatrixProduct"

    product = Part[MatrixProduct]("_product", "The shape.")
    level = Part[int](
        "_core.level", "Operands are brought to this level; the result is two levels lower."
    )
    nbytes = Part[int]("_core.nbytes", "Bytes of the plaintexts on each device.")

    def __repr__(self) -> str:
        return (
            f"<EncodedMatrixProduct {_shape(self.product)}, for level {self.level}, on "
            f"{self._server.device}>"
        )


def product_of(a_length: int, b_length: int) -> MatrixProduct:
    """The product of one matrix a ciphertext that vectors of these lengths hold."""
    side = 1 << (b_length.bit_length() - 1) // 2
    if side * side != b_length or a_length % side:
        raise ShapeError(
            f"matmul: vectors of {a_length} and {b_length} values are not matrices of rows × side "
            "and side × side values, with a power of two for a side; fill them up with zeros, or "
            "give a MatrixProduct. A dot product is x.dot(y)"
        )
    return MatrixProduct(side, a_length // side)


def _shape(of: MatrixProduct) -> str:
    copies = f", {of.matrices} a ciphertext" if of.matrices > 1 else ""
    return f"of {of.rows} × {of.side} times {of.side} × {of.side}{copies}"
