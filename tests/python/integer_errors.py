"""An engine of integers that follows the errors of each ciphertext, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from integer_programs import ClearServer
from whorl import binfhe
from whorl.integers._arithmetic import DigitArithmetic
from whorl.integers._carry import Form
from whorl.integers._circuit import SECTORS, Circuit, Saves
from whorl.integers._digits import digits_of, integers_of
from whorl.integers._engine import Account, Lookup
from whorl.integers._engines import account_of
from whorl.integers._programs import Programs
from whorl.integers._types import as_kind, as_numbers, as_values

Ciphertext = tuple[int, tuple[tuple[int, int], ...]]
"""An integer, and the weights of errors: of tables their numbers, and of clients those below 0."""


class FollowingEngine:
    """Clear integers with the errors that ciphertexts would have. A table of equal ciphertexts has
    equal errors; it raises `AssertionError` for an input with more noise than it bears."""

    sees = False

    def __init__(self, account: Account) -> None:
        self.account, self.fresh, self.worst = account, 0, 0

    def encrypted(self, digits: Any) -> Any:
        def one(value: int) -> Ciphertext:
            self.fresh += 1
            return int(value), ((-self.fresh, 1),)

        return _filled(digits.shape, [one(value) for value in digits.flat])

    def trivial(self, values: Any) -> Any:
        return _filled(values.shape, [(int(value) % SECTORS, ()) for value in values.flat])

    def take(self, rows: Any, index: Any) -> Any:
        return rows[index]

    def columns(self, rows: Any, index: Any) -> Any:
        return rows[:, index]

    def beside(self, parts: Sequence[Any]) -> Any:
        return np.concatenate(parts, axis=1)

    def join(self, parts: Sequence[Any]) -> Any:
        return np.concatenate(parts)

    def linear(self, weights: Sequence[int], parts: Sequence[Any], constant: int = 0) -> Any:
        def one(*given: Ciphertext) -> Ciphertext:
            total, errors = constant, dict[int, int]()
            for weight, (value, held) in zip(weights, given, strict=True):
                total += weight * value
                for error, size in held:
                    errors[error] = errors.get(error, 0) + weight * size
            return total % SECTORS, tuple(sorted(each for each in errors.items() if each[1]))

        return _filled(parts[0].shape, list(map(one, *(part.flat for part in parts))))

    def tables(self, layer: Sequence[Lookup], luts: Sequence[tuple[int, ...]]) -> Any:
        return np.concatenate(
            [
                _filled(
                    each.rows.shape,
                    [
                        self._table(given, luts[table])
                        for row, table in zip(each.rows, index, strict=True)
                        for given in row
                    ],
                )
                for each in layer
                for index in each.tables
            ]
        )

    def _table(self, given: Ciphertext, lut: tuple[int, ...]) -> Ciphertext:
        value, errors = given
        noise = sum(size * size for error, size in errors if error >= 0)
        self.worst = max(self.worst, noise)
        assert noise <= self.account.limit, f"a table gets the noise {noise}"
        return lut[value], ((hash((value, errors, lut)) & (1 << 60) - 1, 1),)

    def multiplies(self, noise: float, first: int, digits: int) -> bool:
        """Whether it has products through ring elements: no."""
        return False

    def check(self, rows: Any, low: Any, high: Any, offset: Any) -> None:
        """Nothing: clear digits check ranges."""

    def product(self, *_: Any) -> None:
        """Nothing: it has none."""

    def compiled(self, *_: Any) -> None:
        """Nothing: calls are made one by one."""


def _filled(shape: tuple[int, ...], values: Sequence[Ciphertext]) -> Any:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made.reshape(shape)


class FollowingServer(ClearServer):
    """A server, and its own client, that knows all errors; `recorded`: as a server does it."""

    __slots__ = ("engine",)

    def __init__(self, *, recorded: bool = True, saves: Saves = "both") -> None:
        self.engine: Any = FollowingEngine(account_of(binfhe.parameters("W128_P128")))
        circuit = Circuit(self.engine, saves)
        self._on = (Programs if recorded else DigitArithmetic)(circuit)

    def encrypt(self, values: Any, bits: int, signed: bool = False) -> Any:
        given = as_values(values, as_kind(bits, signed), "values")
        digits = digits_of(given.reshape(-1).tolist(), Form(bits, signed)) % SECTORS
        on: Any = self._on
        return self._array(on.on_device(self.engine.encrypted(digits), bits, signed), given.shape)

    def decrypt(self, x: Any) -> Any:
        on: Any = self._on
        rows = on.rows(x._core)
        held = np.array([value for value, _ in rows.flat], dtype=np.int64).reshape(rows.shape)
        digits = ((held + 16) % SECTORS - 16) // x._core.unit
        return as_numbers(integers_of(digits, x.bits, x.signed), x.kind).reshape(x.shape)
