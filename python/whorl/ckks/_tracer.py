"""A server without ciphertexts, which follows a function to see what it needs.

`TracingServer` is a `Server` whose `_core` is a `_DryCore`, which calls a dry run of the C++
library's server: levels, scales, bounds, errors and keys are those of that server. It adds
what Python's plan wants to know, and bootstraps where levels run out.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._core.plan import Following
from .._core.progress import Report
from .._core.text import counted
from .._ring.plan import NoDevice
from .._server import ckks as _lib
from ..errors import NoiseError
from ._parameters import Parameters
from ._server import Encrypted, EncryptedArray, Server
from ._values import Bound, as_bounds


@dataclasses.dataclass(frozen=True)
class Refresh:
    """A bootstrap of a function, or one that it lacks; `Plan.bootstraps` has them."""

    operation: int
    """Before which operation of the function, from 1 on; if the function calls it, that one."""
    name: str
    """The name of that operation, a method of `Server`."""
    line: str
    """Where the function calls it: file:line."""
    level: int
    """The level of the ciphertexts that are refreshed."""
    slots: int
    """How many slots each of them has, for `evaluation_keys(bootstrap=...)`."""
    count: int
    """How many ciphertexts are refreshed."""
    divisor: float
    """A power of two by which values must be divided first, as x / divisor, and multiplied after;
    1: their bound is 1."""
    called: bool
    """Whether the function calls it. If not, it needs one more there: `x.bootstrap()`."""

    def __str__(self) -> str:
        many = f"{counted(self.count, 'ciphertext')} of {self.slots} slots"
        if self.called:
            return f"{self.line}: refreshes {many} at level {self.level}"
        by = f"{self.divisor:g}"
        call = "x.bootstrap()" if self.divisor == 1 else f"(x / {by}).bootstrap() * {by}"
        return (
            f"{self.line}: operation {self.operation}, {self.name}, needs {call} of its operand x, "
            f"{many} at level {self.level}"
        )


class UnableToRefreshError(Exception):
    """A function bootstraps under parameters that cannot."""


_T = TypeVar("_T")

_MOVES = ("create", "upload", "download")
"""What cannot be followed of the C++ library's server. Of its other methods those that `_DryCore`
lacks are operations, before which operands may be refreshed."""

_ENCODED = (_lib.EncodedMap, _lib.EncodedMatrixProduct)

_METHODS = {
    **{f"{each}_plain": each for each in ("add", "sub", "multiply")},
    "add_scalar": "add",
    **{f"multiply_{by}": "multiply" for by in ("scalar", "integer", "by_i")},
    "evaluate_each": "evaluate",
    "multiply_matrices": "matmul",
}
"""Methods of `Server` with other names."""


class _DryCore(NoDevice):
    """The dry run, and what a plan wants to know of it.

    With `inserts` an operation that has too few levels, or that would leave too few of them for a
    bootstrap, is given operands that are bootstrapped first.
    """

    parameters: Parameters
    run: _lib.DryRun
    server: _lib.Server

    def __init__(self, parameters: Parameters, inserts: bool) -> None:
        super().__init__(parameters, _lib.DryRun(parameters._core))
        self.inserts = inserts
        self.operations = 0
        self.refreshes: list[Refresh] = []
        self.longest = 1
        """Slots of the longest vector."""
        self._maps: dict[int, _lib.EncodedBootstrap] = {}
        self._refreshed: dict[int, tuple[_lib.Array, _lib.Array]] = {}
        self._inside = False
        """Whether an operation of several calls is under way."""

    def __getattr__(self, name: str) -> Any:
        if name in _MOVES or not hasattr(_lib.Server, name):
            return super().__getattr__(name)
        work = getattr(self.server, name)
        if self._inside:
            return work
        if name == "concatenate":
            return lambda arrays: self.operate(name, lambda *each: work(list(each)), *arrays)
        return functools.partial(self.operate, name, work)

    def fresh(
        self, packing: str, count: int, length: int, bounds: tuple[float, float], secret_key: bool
    ) -> _lib.Array:
        """Vectors encrypted under the public key, which makes more noise than the secret key, or
        under that one."""
        return self._seen(self.run.fresh(packing, count, length, *bounds, secret_key))

    def encode(
        self,
        map: _lib.LinearMap,
        level: int,
        scale: float,
        low_rotations: bool,
        compact: bool,
    ) -> _lib.EncodedMap:
        self.longest = max(self.longest, map.period)
        return self.server.encode(map, level, scale, low_rotations, compact)

    def encode_product(self, product: _lib.MatrixProduct, level: int) -> _lib.EncodedMatrixProduct:
        self.longest = max(self.longest, product.side**2 * product.matrices)
        return self.server.encode_product(product, level)

    @property
    def best_batch(self) -> int:
        """That of no device."""
        return int(self.server.best_batch)

    # ---- bootstraps

    def encode_bootstrap(self, slots: int, progress: Report | None = None) -> _lib.EncodedBootstrap:
        self._check_refreshes()
        if slots not in self._maps:
            self._maps[slots] = self.server.encode_bootstrap(slots, progress)
        return self._maps[slots]

    def check_bootstrap(self, a: _lib.Array) -> None:
        self._check_refreshes()
        self.server.check_bootstrap(a)

    def bootstrap(self, a: _lib.Array, maps: _lib.EncodedBootstrap, iterations: int) -> _lib.Array:
        self.operations += 1
        result = self.server.bootstrap(a, maps, iterations)
        self._note("bootstrap", a, maps.slots, 1, True)
        return self._seen(result)

    @property
    def refreshed_slots(self) -> list[int]:
        """What `evaluation_keys(bootstrap=...)` takes."""
        return sorted({each.slots for each in self.refreshes})

    def _check_refreshes(self) -> None:
        if self.parameters.bootstrap is None:
            raise UnableToRefreshError

    def _note(self, name: str, a: _lib.Array, slots: int, divisor: float, called: bool) -> None:
        self.refreshes.append(
            Refresh(self.operations, name, _line(), a.level, slots, a.count, float(divisor), called)
        )

    # ---- other operations

    def operate(self, name: str, work: Callable[..., Any], *given: Any) -> Any:
        """`work(*given)`, which may make several calls, as one operation."""
        self.operations += 1
        if not self.inserts:
            return self._seen(self._made(work, given))
        arguments = list(given)
        operands = [i for i, each in enumerate(arguments) if isinstance(each, _lib.Array)]
        # A level that the function asks for is not too low.
        asked = name == "lower" or any(isinstance(each, _ENCODED) for each in arguments)
        result: Any = None
        failure: NoiseError | None = None
        renewed: set[int] = set()
        while True:
            try:
                result = self._made(work, arguments)
                failure = None
                if asked or self._can_go_on([arguments[i] for i in operands], result):
                    break
            except NoiseError as error:
                failure = error
            left = [i for i in operands if i not in renewed and self._may_rise(arguments[i])]
            if not left:
                break
            lowest = min(left, key=lambda i: arguments[i].level)
            old = arguments[lowest]
            new = self._renewed(_METHODS.get(name, name), old)
            for i in operands:  # a square has one operand twice
                if arguments[i] is old:
                    arguments[i] = new
                    renewed.add(i)
        if failure is not None:
            raise failure
        return self._seen(result)

    def _made(self, work: Callable[..., _T], arguments: Sequence[Any]) -> _T:
        before, self._inside = self._inside, True
        try:
            return work(*arguments)
        finally:
            self._inside = before

    def _floor(self, a: _lib.Array) -> int:
        """The level from which it can be refreshed."""
        return self.parameters.least_bootstrap_level + (max(map(abs, a.bounds)) > 1 + 2.0**-20)

    def _can_go_on(self, operands: list[_lib.Array], result: Any) -> bool:
        results = result if isinstance(result, list) else [result]
        before = min(each.level for each in operands)
        return all(each.level >= min(before, self._floor(each)) for each in results)

    def _may_rise(self, a: _lib.Array) -> bool:
        return a.level < self.parameters.depth and a.packing != "coefficients"

    def _renewed(self, name: str, a: _lib.Array) -> _lib.Array:
        """`a` after a bootstrap, which is done once for all that use it."""
        if id(a) not in self._refreshed:
            most = max(map(abs, a.bounds))
            divisor = 2.0 ** max(0, math.ceil(math.log2(most) - 1e-6)) if most > 0 else 1.0
            x = self.server.multiply_scalar(a, 1 / divisor, True) if divisor > 1 else a
            maps = self.encode_bootstrap(1 << (a.length - 1).bit_length())
            x = self.server.bootstrap(self.server.with_bound(x, -1, 1), maps, 1)
            self._note(name, a, maps.slots, divisor, False)
            if divisor > 1:
                x = self.server.with_bound(self.server.multiply_integer(x, int(divisor)), *a.bounds)
            self._refreshed[id(a)] = a, x
        return self._refreshed[id(a)][1]

    def _seen(self, result: _T) -> _T:
        arrays: list[Any] = result if isinstance(result, list) else [result]
        for each in arrays:
            self.longest = max(self.longest, 1 << (each.length - 1).bit_length())
        return result


class TracingServer(Following, Server):
    """A server over a `_DryCore`."""

    __slots__ = ()

    _core: Any

    def __init__(self, parameters: Parameters, inserts: bool = False) -> None:
        self._follow(_DryCore(parameters, inserts), parameters)
        self._bootstraps = {}
        self._encoding = threading.Lock()
        self._making = threading.RLock()

    def fresh(
        self, packing: str, shape: tuple[int, ...], bound: Bound, secret_key: bool = False
    ) -> EncryptedArray:
        """Encrypted values of that shape, within the bound."""
        *prefix, length = shape
        core = self._core.fresh(packing, math.prod(prefix), length, as_bounds(bound), secret_key)
        return EncryptedArray._wrap(core, self, tuple(prefix))

    def _as_one(
        self, name: str, work: Callable[..., EncryptedArray], *operands: Encrypted
    ) -> EncryptedArray:
        """The operation, with a refresh of operands before it if it must be: what is encoded is
        for the level that they then have."""
        arrays, shape = self._meet(*operands)

        def of_cores(*cores: _lib.Array) -> _lib.Array:
            given = (self._wrap(core, x.shape) for core, x in zip(cores, arrays, strict=True))
            return work(*given)._core

        result = self._core.operate(name, of_cores, *(each._core for each in arrays))
        return self._wrap(result, shape)


def _line() -> str:
    """The innermost line that is not the library's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("whorl."):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
