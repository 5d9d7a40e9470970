"""Look-up tables of an FHEW/TFHE server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from .._core.array import concatenate
from .._core.entries import at, entries_of
from .._core.integers import as_modulus
from .._core.literal import as_text
from .._server import binfhe as _lib
from ..errors import EncodingError, ParameterMismatchError
from ._ciphertexts import Ciphertexts, EncryptedArray, Uploaded
from ._lut import Lut
from ._sums import Sums

ManyLuts: TypeAlias = Lut | Sequence[Any] | np.ndarray[Any, np.dtype[np.object_]]


class Tables(Sums[EncryptedArray]):
    """What a server does with tables."""

    def apply(
        self,
        luts: ManyLuts,
        ciphertexts: EncryptedArray | Ciphertexts,
        within: int | None = None,
        *,
        under: str = "lwe",
    ) -> EncryptedArray:
        """Looks up each ciphertext in a table: one for all, or one for each (OpenFHE: EvalFunc).

        `luts`: a `Lut`, or nested lists or an object array of them, broadcast against the
        ciphertexts. All have the ciphertexts' p and padding, and the same p_out and padding_out:
        `EncodingError` otherwise; `TypeError` for anything but tables. Equal tables are stored
        once. Arbitrary tables take two blind rotations each, others one. Padded tables raise
        `EncodingError` if the padding bit may be set: `EncryptedArray.largest`.

        `within`: how far outputs of tables with `exact=False` may be off; default: the table's
        `error_bound`. Raises `NoiseError` if they may be off by more. This can happen for a sum,
        which has more noise than that bound is for, or with an `allow_failure` below 2^-40.
        `error_bound` of the server says it before the call.

        `under`: the key of the results. With `"ring"` no key switch follows the rotations, so that
        sums of results are made at Q with the noise of rotations only; the next table switches the
        key of each of its inputs first. So a sum and a table take one key switch, and not one for
        each term. (The order "CJP21" of Bergerat et al., ePrint 2022/704.)
        Tables with a `weight` take and give ciphertexts under the LWE key only: `KeyMismatchError`.

        >>> from whorl.binfhe import Client, Lut, Server, parameters
        >>> params = parameters("W128_P64")
        >>> client = Client(params)
        >>> server = Server(client.evaluation_keys())
        >>> invert, keep = (Lut(params, each, padding=True) for each in ([1, 0], [0, 1]))
        >>> bits = client.encrypt([1, 1, 0], p=2, padding=True)
        >>> client.decrypt(server.apply([invert, keep, invert], bits))
        array([0, 1, 1])
        """
        if within is not None:
            within = as_modulus(within, "within")
        key = as_text("under", under)
        x = self.upload(ciphertexts)
        tables = np.empty((), dtype=np.object_)
        if isinstance(luts, Lut):
            tables[()] = luts
        else:
            tables = entries_of(luts, "luts")
        if tables.size == 0:
            raise ValueError(f"luts: at least one table is needed; shape {tables.shape} holds none")
        shape = np.broadcast_shapes(tables.shape, x.shape)
        x = x.broadcast_to(shape)
        # Each different table once, in the order of appearance.
        numbers: dict[Lut, int] = {}
        indices = np.empty(tables.size, dtype=np.uint32)
        lut: Any
        for position, lut in enumerate(tables.ravel().tolist()):
            if not isinstance(lut, Lut):
                where = at(tuple(map(int, np.unravel_index(position, tables.shape))))
                raise TypeError(f"luts: tables are needed, not {type(lut).__name__}{where}")
            indices[position] = numbers.setdefault(lut, len(numbers))
        distinct, x = self._placed(list(numbers), x)
        if len(distinct) == 1:
            nothing = np.empty(0, dtype=np.uint32)
            core = self._core.apply([distinct[0]._core], nothing, x._core, within, key)
            return self._wrap(core, shape)
        index = np.broadcast_to(indices.reshape(tables.shape), shape).reshape(-1)
        return self._apply_kinds(distinct, index, x, within, key)

    def _placed(
        self, luts: list[Lut], x: EncryptedArray, outputs: bool = True
    ) -> tuple[list[Lut], EncryptedArray]:
        """Tables and inputs that they take: with padding both are moved where the inputs' range is
        not within 0 … p-1. `outputs`: whether tables must give one encoding."""
        _check_tables(luts, x, outputs)
        if x.range is None or not x.padding or 0 <= x.range[0] <= x.range[1] < x.p:
            return luts, x
        low = x.range[0]
        return [lut._moved(low) for lut in luts], self.linear([1], [x], -low)

    def apply_many(
        self,
        luts: Sequence[Lut],
        ciphertexts: EncryptedArray | Ciphertexts,
        within: int | None = None,
        *,
        under: str = "lwe",
    ) -> list[EncryptedArray]:
        """What each of several tables gives for all ciphertexts, by the rotations of one table.

        These are two if a table is arbitrary, else one. Result k is that of `luts[k]`; tables have
        the ciphertexts' p and padding, and their outputs may differ. For up to 2^v tables inputs
        are rounded to multiples of 2^v of the 2N phases, so that coefficient k of the accumulator
        is what table k gives (Chillotti, Ligier, Orfila, Tap, ASIACRYPT 2021). This rounding has
        more noise: `Parameters.lut_failure_log2(…, tables=)`. Where it fails more often than
        `allow_failure`, exact tables with one p_out and padding_out are sums of coefficients of one
        accumulator, which leaves outputs more noise (Carpov, Izabachène, Mollimard, CT-RSA 2019).

        Errors, `within` and `under` are those of `apply`. If neither way is left, raises
        `NoiseError`; `EncodingError` if a sector has fewer than 4 of these phases; and
        `ParameterError` under a set with automorphisms.

        >>> from whorl.binfhe import Client, Lut, Server, parameters
        >>> params = parameters("W128_P128")
        >>> client = Client(params)
        >>> server = Server(client.evaluation_keys())
        >>> halves = [Lut(params, table, padding=True) for table in ([0, 0, 1, 1], [0, 1, 0, 1])]
        >>> high, low = server.apply_many(halves, client.encrypt([0, 1, 2, 3], p=4, padding=True))
        >>> client.decrypt(high), client.decrypt(low)
        (array([0, 0, 1, 1]), array([0, 1, 0, 1]))
        """
        tables: list[Any] = [luts] if isinstance(luts, Lut) else list(luts)
        for k, lut in enumerate(tables):
            if not isinstance(lut, Lut):
                raise TypeError(f"luts: tables are needed, not {type(lut).__name__}{at((k,))}")
        if not tables:
            raise ValueError("luts: at least one table is needed")
        x = self.upload(ciphertexts)
        placed, moved = self._placed(tables, x, outputs=False)
        cores = [lut._core for lut in placed]
        most = None if within is None else as_modulus(within, "within")
        of_key = as_text("under", under)
        made = self._core.apply_many(cores, moved._core, most, of_key)
        return [self._wrap(result, x.shape) for result in made]

    def _apply_kinds(
        self,
        luts: list[Lut],
        index: np.ndarray[Any, np.dtype[np.uint32]],
        x: EncryptedArray,
        within: int | None,
        under: str,
    ) -> EncryptedArray:
        """One call for each kind of table: kinds differ in the number of blind rotations, and in
        what is added to one."""
        kinds = [lut._rotation() for lut in luts]
        if len(set(kinds)) == 1:
            cores = [lut._core for lut in luts]
            return self._wrap(self._core.apply(cores, index, x._core, within, under), x.shape)
        flat, parts, places = x.ravel(), [], []
        for kind in sorted(set(kinds)):
            chosen = np.flatnonzero([each == kind for each in kinds])
            numbers = np.zeros(len(luts), dtype=np.uint32)
            numbers[chosen] = np.arange(len(chosen), dtype=np.uint32)
            where = np.flatnonzero(np.isin(index, chosen))
            part = flat[where]
            tables = [luts[i]._core for i in chosen]
            core = self._core.apply(tables, numbers[index[where]], part._core, within, under)
            parts.append(self._wrap(core, part.shape))
            places.append(where)
        return concatenate(parts)[np.argsort(np.concatenate(places))].reshape(x.shape)

    def error_bound(self, lut: Lut, ciphertexts: EncryptedArray | Ciphertexts) -> int:
        """How far outputs of a table with `exact=False` may be from f(m) for these inputs.

        The distance is counted around the circle of `p_out`. It follows from the noise that the
        inputs have, and from their `range` where they have one. Outputs are further off with a
        probability of at most `allow_failure`.
        """
        return self._of_table(self._core.error_bound, lut, ciphertexts)

    def reach(self, lut: Lut, ciphertexts: EncryptedArray | Ciphertexts) -> int:
        """How far from m the message may be that a table looks up in its place, for these inputs.

        It is further off with a probability of at most `allow_failure`.
        """
        return self._of_table(self._core.reach, lut, ciphertexts)

    def _of_table(
        self,
        what: Callable[[_lib.Lut, _lib.Array], int],
        lut: Lut,
        ciphertexts: EncryptedArray | Ciphertexts,
    ) -> int:
        if not isinstance(lut, Lut):
            raise TypeError(f"lut: a table is needed, not {type(lut).__name__}")
        [placed], x = self._placed([lut], self.upload(ciphertexts))
        return what(placed._core, x._core)

    def divided(self, a: EncryptedArray | Ciphertexts, by: int) -> EncryptedArray:
        """The messages divided by `by`, of p / `by`, without a bootstrap: the same ciphertexts.

        All messages must be multiples of `by`. Nothing checks this. Noise stays, and sectors are
        `by` times as wide. Raises `EncodingError` unless p is a multiple of `by` and above it.

        >>> from whorl.binfhe import Client, Server, parameters
        >>> client = Client(parameters("W128_P64"))
        >>> server = Server(client.evaluation_keys(), device="cpu")
        >>> half = server.divided(client.encrypt([0, 2, 6], p=8), 2)
        >>> half.p, client.decrypt(half)
        (4, array([0, 1, 3]))
        """
        return self._on(a, self._core.divided, as_modulus(by, "by"))


def _check_tables(luts: Sequence[Lut], ciphertexts: Uploaded[Any], outputs: bool) -> None:
    """Raises unless all tables take these ciphertexts and, with `outputs`, give one encoding."""
    first = luts[0]
    for lut in luts:
        if lut.parameters != ciphertexts.parameters:
            raise ParameterMismatchError(
                f"luts: a table is for parameters {lut.parameters.digest}, but the ciphertexts are "
                f"under {ciphertexts.parameters.digest}"
            )
        if (lut.p, lut.padding) != (ciphertexts.p, ciphertexts.padding):
            raise EncodingError(
                f"luts: a table is for p, padding = {lut.p}, {lut.padding}, but the ciphertexts "
                f"have {ciphertexts.p}, {ciphertexts.padding}"
            )
        if outputs and (lut.p_out, lut.padding_out) != (first.p_out, first.padding_out):
            raise EncodingError(
                f"luts: all tables must have the same p_out, padding_out, but one has {lut.p_out}, "
                f"{lut.padding_out} and the first has {first.p_out}, {first.padding_out}"
            )
