"""All that is done with numbers of digits, and what arrays ask of an arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from .._core.array import Shape
from .._core.integers import Integers
from ..errors import EncodingError
from . import _divide, _lookup, _reciprocal, _shifts
from ._carry import Form, flush, prefix, renew, weights
from ._ciphertexts import CANONICAL, FLAGS, WITH_CARRIES
from ._columns import add_up
from ._digits import Digits, Number


class Arithmetic(Protocol):
    """Operations on numbers: batches of integers of one type. Where there are two operands they are
    of one type and size."""

    def received(self, data: Any, bits: int, signed: bool) -> tuple[Any, Shape]:
        """The number that ciphertexts hold, and its shape."""

    def sent(self, x: Any, shape: Shape, carries: bool) -> Any:
        """Ciphertexts of a number of this shape, with carries that are still to be made or not."""

    def nbytes(self, x: Any) -> int:
        """Bytes on the device."""

    def known(self, values: Sequence[int], bits: int, signed: bool) -> Any:
        """Integers that everybody knows."""

    def take(self, x: Any, index: Integers) -> Any:
        """Values by their numbers."""

    def join(self, numbers: Sequence[Any]) -> Any:
        """Values of several numbers."""

    def cast(self, x: Any, bits: int, signed: bool) -> Any:
        """Modulo 2^bits; wider integers keep their values."""

    def flush(self, x: Any) -> Any:
        """The same without carries that are still to be added."""

    def settle(self, x: Any) -> Any:
        """The same, by one layer, in the form that sums take without any carries."""

    def add(self, x: Any, y: Any) -> Any:
        """x + y."""

    def subtract(self, x: Any, y: Any) -> Any:
        """x - y."""

    def negate(self, x: Any) -> Any:
        """-x."""

    def invert(self, x: Any) -> Any:
        """-x - 1."""

    def sum_of(self, numbers: Sequence[Any]) -> Any:
        """The sum of several numbers."""

    def multiply(self, x: Any, y: Any) -> Any:
        """x·y."""

    def multiply_known(self, x: Any, factor: int) -> Any:
        """x times a known integer."""

    def compare(self, x: Any, y: Any, operator: str) -> Any:
        """`lt`, `le`, `gt`, `ge`, `eq` or `ne`, as numbers of one bit."""

    def select(self, which: Any, x: Any, y: Any) -> Any:
        """x where the bit is 1, else y."""

    def bitwise(self, x: Any, y: Any, operator: str) -> Any:
        """`and`, `or` or `xor`."""

    def left(self, x: Any, by: int) -> Any:
        """x·2^by."""

    def right(self, x: Any, by: int) -> Any:
        """x / 2^by, rounded down."""

    def rotate(self, x: Any, by: int) -> Any:
        """Bits moved up, those of the upper end to the lower one."""

    def shift(self, x: Any, by: Any, up: bool) -> Any:
        """`left` or `right` by encrypted unsigned amounts."""

    def turn(self, x: Any, by: Any) -> Any:
        """`rotate` by encrypted unsigned amounts."""

    def divide(self, x: Any, y: Any, rest: bool) -> tuple[Any, Any]:
        """x / y rounded down, and the remainder, of unsigned numbers; without `rest` any number of
        that type in its place."""

    def count_ones(self, x: Any, bits: int) -> Any:
        """How many bits are 1, as unsigned integers of so many bits."""

    def count_zeros(self, x: Any, bits: int, leading: bool) -> Any:
        """How many bits are 0 above the highest 1, or below the lowest one."""

    def lookup(self, x: Any, table: Sequence[int], bits: int) -> Any:
        """Entries of a known table at unsigned places, as unsigned integers; 0 behind its end."""


class DigitArithmetic(Digits):
    """Arithmetic on digits of radix 4, on a server of FHEW/TFHE unless they are clear."""

    def received(self, data: Any, bits: int, signed: bool) -> tuple[Number, Shape]:
        """What a client or a server sent, and its shape; `EncodingError` for carries."""
        engine: Any = self.circuit.engine
        if data.range not in (None, CANONICAL):
            raise EncodingError(
                "the ciphertexts are as the server had them, and only a client takes these: "
                "download them without carries=True"
            )
        rows = engine.server.upload(data).reshape(data.shape[0], -1)
        if data.range is not None:
            # Wires have ranges of their own.
            rows = engine.server.linear([1], [rows], modular=True)
        if data.under == "ring":
            return self.on_device(rows, bits, signed, data.noise), data.shape[1:]
        # Results come under the LWE key, and a table brings them to the ring key.
        number = self.on_device(rows, bits, signed, 1.0)
        return replace(number, wires=renew(self.circuit, number.wires)), data.shape[1:]

    def sent(self, x: Number, shape: Shape, carries: bool) -> Any:
        """What a client decrypts, and without carries a server takes: under the LWE key, where
        ciphertexts are small."""
        engine: Any = self.circuit.engine
        x = x if carries else self.flush(x)
        rows = engine.server.to_lwe_key(self.rows(x))
        low, high = FLAGS if x.unit != 1 else WITH_CARRIES if carries else CANONICAL
        return engine.server.download(rows.reshape(rows.shape[0], *shape).with_range(low, high))

    def left(self, x: Number, by: int) -> Number:
        """x·2^by."""
        return _shifts.left(self, x, by)

    def right(self, x: Number, by: int) -> Number:
        """x / 2^by, rounded down."""
        return _shifts.right(self, x, by)

    def rotate(self, x: Number, by: int) -> Number:
        """Bits moved up, those of the upper end to the lower one."""
        return _shifts.rotate(self, x, by)

    def shift(self, x: Number, by: Number, up: bool) -> Number:
        """`left` or `right` by encrypted unsigned amounts."""
        return _shifts.shift(self, x, by, up)

    def turn(self, x: Number, by: Number) -> Number:
        """`rotate` by encrypted unsigned amounts."""
        return _shifts.turn(self, x, by)

    def divide(self, x: Number, y: Number, rest: bool) -> tuple[Number, Number]:
        """x / y rounded down, and the remainder, of unsigned numbers; without `rest` x in its
        place."""
        if x.size and _reciprocal.divides(self.circuit, x.form.digits):
            return _reciprocal.divide(self, x, y, rest)
        return _divide.divide(self, x, y, rest)

    def lookup(self, x: Number, table: Sequence[int], bits: int) -> Number:
        """Entries of a known table at unsigned places, as unsigned integers; 0 behind its end."""
        return _lookup.look_up(self, x, table, bits)

    def count_ones(self, x: Number, bits: int) -> Number:
        """How many bits are 1, as unsigned integers of so many bits."""
        wires = self.flush(x).wires
        ones = self.circuit.table(wires, lambda v, m: _ones(v % m), x.form.modulus)
        return self._counted(ones, bits)

    def count_zeros(self, x: Number, bits: int, leading: bool) -> Number:
        """How many bits are 0 above the highest 1, or below the lowest one.

        Digit i gives its zeros if all before it are 0, which the prefix of signs says.
        """
        circuit, form = self.circuit, x.form
        wires = self.flush(x).wires
        count = len(wires)
        order = np.arange(count)[:: -1 if leading else 1]
        wires = circuit.take(wires, order)
        modulus = form.modulus[order]
        size = np.where(modulus == 4, 2, 1)
        given = np.stack([modulus, size], axis=1)
        zeros_of = _leading if leading else _trailing
        if count == 1:
            zeros = circuit.table(wires, lambda v, m, s: zeros_of(v % m, s), given)
            return self._counted(zeros, bits)
        weight = weights(count - 1)
        inner = circuit.take(wires, np.arange(count - 1))
        (zeros,), (states,) = circuit.tables(
            (wires, [(lambda v, m, s: zeros_of(v % m, s), given)]),
            (
                inner,
                [
                    (
                        lambda v, m, w: np.where(v % m > 0, w, 0),
                        np.stack([modulus[:-1], weight], axis=1),
                    )
                ],
            ),
        )
        # 1 where a digit before is not 0; the zeros that a digit gives are at most 2.
        ended = prefix(circuit, states)
        rest = circuit.take(zeros, np.arange(1, count))
        pool = circuit.join(rest, ended)
        sums = circuit.sums(pool, [[(i, 1), (count - 1 + i, 4)] for i in range(count - 1)])
        kept = circuit.table(sums, lambda v: np.where(v >= 4, 0, v))
        return self._counted(circuit.join(circuit.take(zeros, [0]), kept), bits)

    def _counted(self, rows: Any, bits: int) -> Number:
        """The sum of rows, as an unsigned number."""
        form = Form(bits, False)
        columns: list[list[tuple[int, int]]] = [[] for _ in range(form.digits)]
        columns[0] = [(i, 1) for i in range(len(rows))]
        wires = add_up(self.circuit, rows, columns)
        return Number(bits, False, flush(self.circuit, wires, form))


def _ones(v: Integers) -> Integers:
    return np.asarray(v % 2 + v // 2)


def _leading(v: Integers, size: int) -> Integers:
    return np.asarray(size - np.where(v >= 2, 2, np.where(v == 1, 1, 0)))


def _trailing(v: Integers, size: int) -> Integers:
    return np.where(v == 0, size, np.where(v == 2, 1, 0))
