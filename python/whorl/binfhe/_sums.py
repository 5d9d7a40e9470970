"""Sums of an FHEW/TFHE server, which take no bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._core.integers import as_modulus, refuse, whole_numbers
from .._core.literal import as_integer
from .._core.text import counted
from ..errors import ShapeError
from ._ciphertexts import Ciphertexts, EncryptedArray, Uploaded
from ._gates import Gates, is_encrypted

Encrypted: TypeAlias = Uploaded[Any] | Ciphertexts
Messages: TypeAlias = Encrypted | ArrayLike
"""Ciphertexts of messages, or known integers."""


class Sums(Gates[EncryptedArray]):
    """What a server does with messages by adding ciphertexts up."""

    def linear(
        self,
        weights: ArrayLike,
        ciphertexts: Encrypted | Sequence[Encrypted],
        constant: ArrayLike = 0,
        *,
        modular: bool = False,
        largest: int | None = None,
        exact: bool = True,
    ) -> EncryptedArray:
        """constant + Σ weights[k]·ciphertexts[k] modulo p, without bootstrap.

        With a matrix of weights, of shape (out, in), it is W·x + constant for each vector of one
        array, of shape (…, in); the result has shape (…, out). `constant` is then one integer, or
        one for each row. That is one product on the device, exact, for all vectors; `W @ x` and
        `x @ W.T` call it. Noise and messages of the result are those of the row that has the most.
        Results of one vector have errors in common: sums of them count the worst, and tables do not
        mind. Ciphertexts under the ring key have the least noise here: see `apply`.

        The noise variance is the sum of the inputs' variances, each times the square of its weight.
        If arrays hold the same ciphertexts, or sums that may have some in common, their standard
        deviations add up instead. The error that is constant under one key adds up in the same way
        (docs/noise.md). So give all terms to one call.

        With padding the sum must stay in 0 … p-1 for all messages that the arrays may hold. These
        are 0 … p-1, for results of gates 0 and 1, and for results of a table the values up to its
        largest. Otherwise `EncodingError` is raised, unless you say one of two things. `modular`:
        the sum is meant modulo p. It decrypts so, but its padding bit may be set, with which a
        padded table would give the negative of its value. So `apply` and `eval_decomp` refuse it.
        `largest`: you know that all messages of the sum lie in 0 … `largest`, which is below p.
        Nothing checks this. Gates take a sum for bits if it can be at most 1, by what is known of
        its terms or by `largest=1`.

        A sum that is read wrongly too often is refused (`NoiseError`), unless a term is known
        nearly already. With `exact=False` it is known nearly: `error_bound` of the result says how
        far messages may be off, and `failure_log2` how often they are further off. Tables with
        `exact=False` read on from it.

        Raises `EncodingError` for a `largest` that is not below p, and `ValueError` unless there
        are as many weights as arrays, and at least one. For a weight that is not an integer it
        raises `TypeError`, and for one outside -2^31 … 2^31 - 1 `EncodingError`, with its index.

        >>> from whorl.binfhe import Client, Server, parameters
        >>> client = Client(parameters("W128_P128"))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> x = client.encrypt([[1, 2, 3], [0, 1, 0]], p=16, under="ring")
        >>> weights = [[1, 1, 1], [2, -1, 0]]
        >>> client.decrypt(server.linear(weights, x, [0, 5]))
        array([[6, 5],
               [1, 4]])
        """
        numbers, added = _words(weights, "weights"), _words(constant, "constant")
        if numbers.ndim == 2:
            how = bool(modular), largest, bool(exact)
            return self._product(numbers, ciphertexts, added, *how)
        if added.ndim:
            raise TypeError(f"constant has shape {added.shape}; it must be one integer")
        arrays: tuple[Any, ...] = tuple(ciphertexts)
        if numbers.ndim != 1 or len(numbers) != len(arrays) or not arrays:
            raise ValueError(
                f"weights has shape {numbers.shape}; there must be at least one array, and "
                f"one weight for each of {counted(len(arrays), 'array')}"
            )
        operands, shape = self._meet(*arrays)
        cores = [each._core for each in operands]
        stated = None if largest is None else as_modulus(largest, "largest")
        entries, how = numbers.astype(np.int32), (bool(modular), stated, bool(exact))
        return self._wrap(self._core.linear(entries, cores, int(added), *how), shape)

    def _product(
        self,
        weights: np.ndarray[Any, Any],
        ciphertexts: Any,
        constant: np.ndarray[Any, Any],
        modular: bool,
        largest: int | None,
        exact: bool,
    ) -> EncryptedArray:
        """W·x + constant of each vector of an array."""
        if not is_encrypted(ciphertexts):
            raise TypeError(
                "ciphertexts: a matrix of weights takes one array of ciphertexts, not "
                f"{type(ciphertexts).__name__}; stack makes one of several"
            )
        x = self.upload(ciphertexts)
        rows, columns = weights.shape
        if not rows or not columns or not x.ndim or x.shape[-1] != columns:
            raise ShapeError(
                f"weights have shape {weights.shape}, and ciphertexts {x.shape}: a matrix of shape "
                "(out, in), neither of which is 0, takes arrays of shape (…, in)"
            )
        if constant.shape not in ((), (rows,)):
            raise ShapeError(
                f"constant has shape {constant.shape}; it must be one integer, or one for each of "
                f"{counted(rows, 'row')}"
            )
        stated = None if largest is None else as_modulus(largest, "largest")
        entries = np.ascontiguousarray(weights, dtype=np.int32).reshape(-1)
        added = np.ascontiguousarray(np.broadcast_to(constant, (rows,)), dtype=np.int32)
        how = modular, stated, exact
        core = self._core.linear_matrix(columns, entries, x._core, added, *how)
        return self._wrap(core, (*x.shape[:-1], rows))

    def _matmul(self, weights: ArrayLike, x: EncryptedArray, left: bool) -> EncryptedArray:
        """weights @ x if `left`, else x @ weights, by the shapes of np.matmul."""
        x = self.upload(x)
        matrix = whole_numbers(weights, "weights")
        if matrix.ndim not in (1, 2) or not x.ndim:
            raise ShapeError(
                f"@: weights of shape {matrix.shape} and ciphertexts of shape {x.shape}: a vector "
                "or matrix of weights meets vectors or matrices of ciphertexts"
            )
        rows = matrix[None] if matrix.ndim == 1 else matrix if left else matrix.T
        # Vectors lie along the last axis, or along the last but one.
        turned = left and x.ndim > 1
        axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
        out = self.linear(rows, x.transpose(*axes) if turned else x)
        if matrix.ndim == 1:
            return out[..., 0]
        return out.transpose(*axes) if turned else out

    def add(
        self, a: Encrypted, b: Encrypted, modular: bool = False, largest: int | None = None
    ) -> EncryptedArray:
        """a + b modulo p, without bootstrap. `modular` and `largest` as of `linear`.

        >>> from whorl.binfhe import Client, Lut, Server, parameters
        >>> toy = {"n": 16, "q": 2048, "N": 1024, "Q": 134215681, "Q_ks": 2**14, "log_B_ks": 7}
        >>> toy |= {"gadget": [(16, 7, 3)], "sigma_lwe": 0.8}
        >>> client = Client(parameters(toy, allow_insecure=True))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> a, b = (client.encrypt(number, p=16, padding=True) for number in (13, 7))
        >>> total = server.add(a, b, modular=True)
        >>> int(client.decrypt(total)), total.largest  # 20, which sets the padding bit
        (4, 31)
        >>> same = Lut(client.parameters, range(16), padding=True)
        >>> server.apply(same, total)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        whorl.EncodingError: apply takes messages 0 … 15 of p = 16 with padding, but ...
        """
        return self.linear([1, 1], [a, b], modular=modular, largest=largest)

    def sub(
        self, a: Encrypted, b: Encrypted, modular: bool = False, largest: int | None = None
    ) -> EncryptedArray:
        """a - b modulo p, without bootstrap. `modular` and `largest` as of `linear`."""
        return self.linear([1, -1], [a, b], modular=modular, largest=largest)

    def with_range(self, a: EncryptedArray | Ciphertexts, low: int, high: int) -> EncryptedArray:
        """The same ciphertexts, whose messages stand for integers that the caller knows to lie in
        `low` … `high`.

        A message m stands for the only integer of the range that is m modulo p, so that the range
        has at most p integers. Results are wrong if it is not true; nothing checks it. A range that
        is known already becomes no larger. With padding, messages below 0 are those of differences
        with `modular=True`, or of arrays with ranges.

        Sums, differences and products with integers have the range that follows; one that p
        integers do not hold is refused (`EncodingError`), unless it is `modular`. An operand
        without a range counts with 0 … `largest`. A table looks up the integers modulo p: for a
        negative x it gives `table[x]`, as Python indexes. With padding a range that is not within
        0 … p-1 is moved there first, and the table with it, which takes no bootstrap. Results of
        tables and gates have no range: state which integers they stand for. `eval_floor` halves
        ranges; `eval_sign` takes those from -p/2 to p/2 - 1, with padding from -p to p-1. Joined
        arrays have the range of all. If p integers do not hold it, joining is refused, or gives an
        array without a range if one of them had none.

        `EncodingError` for a range that p integers do not hold, for an end that is not above -2^31
        and below 2^31, and for a range that contradicts what is known: without padding also for one
        that reads a message as another integer, as 0 … 7 after -4 … 3. `ParameterError` if `low` is
        above `high`.

        >>> from whorl.binfhe import Client, Lut, Server, parameters
        >>> toy = {"n": 16, "q": 2048, "N": 1024, "Q": 134215681, "Q_ks": 2**14, "log_B_ks": 7}
        >>> toy |= {"gadget": [(16, 7, 3)], "sigma_lwe": 0.8}
        >>> client = Client(parameters(toy, allow_insecure=True))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> a, b = (server.upload(client.encrypt(m, p=8)).with_range(0, 3) for m in ([3, 1], 2))
        >>> (a - b).range, client.decrypt(a - b), client.decrypt(1 - a)
        ((-3, 3), array([ 1, -1]), array([-2,  0]))
        >>> positive = Lut(client.parameters, [0, 1, 2, 3, 0, 0, 0, 0])
        >>> client.decrypt(b + server.apply(positive, a - b))
        array([3, 2])
        """
        least = as_integer("low", low, -(2**63), 2**63 - 1)
        most = as_integer("high", high, -(2**63), 2**63 - 1)
        return self._on(a, self._core.with_range, (least, most))

    def _combined(self, weight: int, a: EncryptedArray, other: int, b: Any) -> EncryptedArray:
        """weight·a + other·b, where b may be known."""
        if is_encrypted(b):
            return self.linear([weight, other], [a, b])
        known = _words(b, "messages")
        if known.ndim == 0 or known.size == 0:
            constant = int(known) if known.ndim == 0 else 0
            shape = np.broadcast_shapes(a.shape, known.shape)
            return self.linear([weight], [a.broadcast_to(shape)], other * constant)
        least, ranged = int(known.min()), a.range is not None
        values = known.astype(np.int64) - least
        if not (ranged or a.padding):
            values %= a.p
        encrypted = self.trivial(values, a.p, a.padding, under=a.under)
        if ranged:
            encrypted = self.with_range(encrypted, 0, int(values.max()))
        return self.linear([weight, other], [a, encrypted], other * least)


def _words(values: ArrayLike, field: str) -> np.ndarray[Any, Any]:
    """Integers of -2^31 … 2^31 - 1; `EncodingError` for the first one that is outside."""
    numbers = whole_numbers(values, field)
    # The ends of an array are found faster than entries that are wrong.
    if numbers.size and not -(2**31) <= numbers.min() <= numbers.max() < 2**31:
        wrong = (numbers < -(2**31)) | (numbers >= 2**31)
        refuse(numbers, wrong, field, "outside -2^31 … 2^31 - 1")
    return numbers
