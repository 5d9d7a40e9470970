"""A server without ciphertexts, which follows a function to see what it needs.

`TracingServer` is a `Server` whose `_core` is a `_DryCore`, which calls a dry run of the C++
library's server: levels, factors, noise, keys and errors are those of that server. It adds
bounds of values, of which a server knows nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.plan import Following
from .._core.text import shown
from .._ring.plan import NoDevice
from .._server import bgv as _lib
from ..errors import EncodingError
from ._bounds import Bounds, Rows, Traced
from ._parameters import Parameters
from ._server import BOUNDS, UNNOTED, EncryptedArray, Mean, Server


@dataclasses.dataclass(frozen=True)
class Step:
    """An operation of a function, and bounds of the values of its result."""

    name: str
    low: float
    high: float


class _DryCore(NoDevice):
    """Calls the dry run, and does to bounds of values what its server does to ciphertexts. Bounds
    of the results of most operations are in `BOUNDS`."""

    parameters: Parameters
    run: _lib.DryRun
    server: _lib.Server

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters, _lib.DryRun(parameters._core))
        self.largest_plain = 0
        """Largest absolute value of the integers that were operands."""
        self.steps: list[Step] = []
        """The operations of the function, in their order."""

    def fresh(self, low: int, high: int, packing: str, vectors: int, length: int) -> Traced:
        """Vectors encrypted under the public key, which makes more noise than the secret key."""
        core = self.run.fresh(packing, vectors * length, length, False)
        rows = np.ones(((1 if core.each == 1 else vectors), length))
        used = Bounds.exactly(self._rows(rows, length))
        return Traced(core, Bounds.of(float(low) * used.low, float(high) * used.high))

    def __getattr__(self, name: str) -> Any:
        if name in BOUNDS:
            return functools.partial(self._operate, name)
        if name.removesuffix("_plain") in BOUNDS:
            return functools.partial(self._with_plain, name)
        return super().__getattr__(name)

    def _operate(self, name: str, *given: Any) -> Any:
        core, bounds = getattr(self.server, name)(*map(_core, given)), BOUNDS[name](*given)
        made = Traced if name in UNNOTED else functools.partial(self._made, name)
        if isinstance(core, list):
            return [made(*each) for each in zip(core, bounds, strict=True)]
        return made(core, bounds)

    # ---- with numbers that are not encrypted

    def _with_plain(self, name: str, a: Traced, *values: Any) -> Traced:
        plain, bounds = self._plain(*values)
        core = getattr(self.server, name)(a.core, *plain)
        bounds = BOUNDS[name.removesuffix("_plain")](a, Traced(None, bounds))
        return self._made(name, core, bounds)

    def add_scalar(self, a: Traced, value: int) -> Traced:
        row = np.zeros((1, self.parameters.N))
        row[:, : None if a.packing == "slots" else 1] = value
        core = self.server.add_scalar(a.core, self._residue(value))
        return self._made("add_scalar", core, a.bounds + Bounds.exactly(row))

    def multiply_scalar(self, a: Traced, value: int) -> Traced:
        core = self.server.multiply_scalar(a.core, self._residue(value))
        return self._made("multiply_scalar", core, a.bounds.scaled(value))

    def encode(self, values: Rows, packing: str, length: int) -> Traced:
        core = self.server.encode(values, packing, length)
        return Traced(core, self._plain(values, length)[1])

    def encode_matrix(self, values: Rows, rows: int, columns: int) -> Traced:
        self._note_plain(values)
        core = self.server.encode_matrix(values, rows, columns)
        return Traced(core, values.reshape(rows, columns))

    def encode_diagonals(self, values: Rows, count: int, step: int) -> Traced:
        self._note_plain(values)
        core = self.server.encode_diagonals(values, count, step)
        return Traced(core, (values.reshape(-1, count, self.parameters.N), step))

    # ---- helpers

    def _made(self, name: str, core: _lib.Array, bounds: Bounds) -> Traced:
        """The result of an operation, which is noted. Behind the values of a vector there are
        zeros, wherever they count: the server sees to it."""
        if core.length and not core.everywhere:
            bounds = bounds.kept(core.length, core.each)
        result = Traced(core, bounds)
        low, high = result.values
        self.steps.append(Step(name.removesuffix("_many"), float(low.min()), float(high.max())))
        return result

    def _rows(self, values: Rows, length: int) -> Rows:
        """Vectors as ciphertexts hold them: rows of N values."""
        N = self.parameters.N
        rows = np.zeros((values.size // length, -(-length // N) * N), dtype=values.dtype)
        rows[:, :length] = values.reshape(-1, length)
        return rows.reshape(-1, N)

    def _plain(self, values: Any, length: int = 0) -> tuple[tuple[Any, ...], Bounds]:
        """Plaintexts as the server takes them, and their values."""
        if isinstance(values, Traced):
            return (values.core,), values.bounds
        self._note_plain(values)
        return (values, length), Bounds.exactly(self._rows(values, length))

    def _note_plain(self, values: Any) -> None:
        self.largest_plain = max(self.largest_plain, int(np.abs(values).max()))

    def _residue(self, value: int) -> int:
        self.largest_plain = max(self.largest_plain, abs(value))
        return value % int(self.parameters.t)


def _core(given: Any) -> Any:
    """An operand, or a list of them, as the dry run takes it."""
    if isinstance(given, list):
        return [_core(each) for each in given]
    return given.core if isinstance(given, Traced) else given


MOST_BITS = 1000
"""A plan follows integers of at most so many bits, as doubles."""


class TracingServer(Following, Server):
    """A server over a `_DryCore`."""

    __slots__ = ()

    _core: Any

    def __init__(self, parameters: Parameters) -> None:
        self._follow(_DryCore(parameters), parameters)

    def fresh(self, low: int, high: int, packing: str, shape: tuple[int, ...]) -> EncryptedArray:
        """Encrypted values of that shape between two bounds."""
        *prefix, length = shape
        core = self._core.fresh(low, high, packing, math.prod(prefix), length)
        return EncryptedArray._wrap(core, self, tuple(prefix))

    def _found(self, returned: Any) -> Iterator[Any]:
        return super()._found(returned.total if isinstance(returned, Mean) else returned)

    def _residue(self, value: int) -> int:
        if value.bit_length() > MOST_BITS:
            raise EncodingError(f"plaintext: no t holds {shown(value)}")
        return value
