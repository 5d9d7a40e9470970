"""Finds what a function of encrypted arrays needs, by running it without ciphertexts."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.array import Shape
from .._core.literal import as_flag, as_real
from .._core.numbers import real_or_complex
from .._core.plan import as_shape, listed_inputs
from .._core.text import at_least_bits, counted
from .._ring.plan import RingPlan, check_example, in_order, sizes
from .._server import ckks as _lib
from ..errors import EncodingError, NoiseError, ParameterError, ShapeError
from ._expectation import Expectation, stated
from ._parameters import NO_SHAPE, Parameters, checked_requirements, refuse_shape
from ._server import EncryptedArray
from ._tracer import Refresh, TracingServer, UnableToRefreshError
from ._values import Bound, Packing, as_bounds

MOST_DEPTH = 64
LEAST_SCALE, USUAL_SCALE, MOST_SCALE = 28, 40, 55
LEAST_VALUES, USUAL_VALUES, REFRESHED_VALUES, MOST_VALUES = 2, 10, 8, 20
"""`value_bits`: at least, tried first, without bootstraps and with them, and at most."""


@dataclasses.dataclass(frozen=True)
class Values:
    """Encrypted numbers of a shape, within a bound, for `plan`.

    `shape` is the shape of the values, as `Client.encrypt` takes them: (..., k) for ciphertexts of
    shape (...) with k values each. A number k means one ciphertext of k values. `bound` (a number
    or a pair) and `packing` are those of `encrypt`. `secret_key` says that the client encrypts
    them; a public key adds √(4N/3) times as much error. `ShapeError` for a shape without values,
    `ParameterError` for a bound that is not positive. (OpenFHE: SetBatchSize; Lattigo:
    Plaintext.LogDimensions.)

    >>> Values(100, bound=5)
    Values(shape=(100,), bound=5.0, packing='real', secret_key=False)
    """

    shape: int | Shape
    bound: Bound = 1.0
    packing: Packing = "real"
    secret_key: bool = False

    def __post_init__(self) -> None:
        shape = as_shape(self.shape)
        low, high = as_bounds(self.bound)
        if not (low <= high and max(-low, high) > 0):
            raise ParameterError(
                f"bound: {self.bound} is not a positive number, or two of which the first one is "
                "the smaller"
            )
        if self.packing not in ("complex", "real", "coefficients"):
            raise EncodingError(
                f"packing: {self.packing!r} is not 'complex', 'real' or 'coefficients'"
            )
        as_flag("secret_key", self.secret_key)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "bound", high if low == -high else (low, high))


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Plan(RingPlan):
    """What a function of encrypted arrays needs; `plan` makes it.

    `parameters()` returns the parameters to use, and `keys` the arguments for the client's keys:
    `client.evaluation_keys(**plan.keys)`.
    """

    depth: int
    """Products in sequence, as `ckks.parameters(depth=...)` takes them: with bootstraps those
    between two of them (OpenFHE: SetMultiplicativeDepth; Lattigo: the primes of LogQ, less one)."""
    scale_bits: int
    """log2 of the scale (OpenFHE: SetScalingModSize; Lattigo: LogDefaultScale)."""
    value_bits: int
    """log2 of the largest value that a ciphertext of level 0 can hold (OpenFHE: SetFirstModSize,
    less SetScalingModSize; Lattigo: the first entry of LogQ, less LogDefaultScale)."""
    slots: int
    """Values of the longest vector, and of the largest linear map, a power of two (OpenFHE:
    SetBatchSize; Lattigo: LogMaxSlots)."""
    keys: dict[str, Any]
    """Arguments of `Client.evaluation_keys`: `relinearise`, `rotations`, `conjugate`,
    `bootstrap` (OpenFHE: EvalMultKeyGen, EvalRotateKeyGen, EvalBootstrapKeyGen; Lattigo:
    GaloisElements, BootstrappingParameters)."""
    bootstraps: tuple[Refresh, ...]
    """The bootstraps of the function, in their order, and those that it lacks."""
    error: float
    """Estimated standard deviation of the error of a value, in the worst result."""
    bound: float
    """No value of a result is larger, in absolute value."""
    results: tuple[Expectation, ...]
    """What each result states, in the order in which the function returns them, for
    `Client.release(expect=...)`."""
    _parameters: Parameters

    def parameters(self) -> Parameters:
        """The smallest ring and the shortest chain on which the function runs, with at least 128
        bits of security."""
        return self._parameters

    @property
    def _width(self) -> int:
        return self.N // 2

    @property
    def security_bits(self) -> float:
        """Lower bound of the estimated security."""
        return self._parameters.security_bits

    @property
    def missing(self) -> tuple[Refresh, ...]:
        """The bootstraps that the function lacks: it runs once it has them."""
        return tuple(each for each in self.bootstraps if not each.called)

    @property
    def key_count(self) -> int:
        """How many switching keys `keys` asks for."""
        return self._parameters.key_count(**self._request)

    @property
    def _request(self) -> dict[str, Any]:
        return {"sums": 0, **self.keys}

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("depth", str(self.depth)),
            ("scale", f"2^{self.scale_bits}"),
            ("slots", f"{self.slots:,}"),
            ("results", f"up to {self.bound:.4g}, error 2^{math.log2(self.error):.1f}, estimated"),
            self._distances(),
            ("conjugation", "yes" if self.keys["conjugate"] else "no"),
            ("bootstraps", self._refreshes()),
            *self._ring_facts(keys=f"{self.key_count}, of "),
        ]

    def _refreshes(self) -> str:
        """How many bootstraps there are, how many the function lacks, and which shape they have."""
        missing = f"{len(self.missing)} missing" if self.missing else ""
        shape = self._parameters._bootstraps()
        return ", ".join(filter(None, [str(len(self.bootstraps) or "none"), missing, shape]))

    def __repr__(self) -> str:
        refreshes = self._refreshes() if self._parameters.bootstrap else ""
        return self._text(
            f"depth {self.depth}, scale 2^{self.scale_bits}, {self.slots} slots",
            f", bootstraps: {refreshes}" if refreshes else "",
            f"{self.key_count} keys",
            f", {at_least_bits(self.security_bits)} bits of security",
        )


def plan(
    function: Callable[..., Any],
    inputs: Values | ArrayLike | Sequence[Values | ArrayLike],
    *,
    scale_bits: int | None = None,
    error: float | None = None,
    value_bits: int | None = None,
    N: int | None = None,
    dnum: int | None = None,
    word_bits: int = 32,
    bootstrap: bool | None = None,
    coefficients_last: bool = False,
    arcsine: int = 0,
) -> Plan:
    """Runs a function without ciphertexts, and says which parameters and keys it needs.

    The function gets arrays with all methods of an `EncryptedArray`, and returns arrays, alone or
    in tuples, lists and dictionaries. It is called several times, with different parameters, and
    must do the same each time, or decide by `level` and `parameters` only. One thread must call all
    of its operations; several threads may plan at a time. Nothing is encrypted and no key is
    made. Levels, scales, bounds and errors are those that a server states of the same
    operations on inputs that were encrypted under a public key, unless `Values` says otherwise.

    Where the function needs more levels than parameters without bootstraps have at 128 bits of
    security, or where it bootstraps, the parameters have bootstrapping. `Plan.bootstraps` then
    lists each bootstrap, and `Plan.missing` those that the function must still call, with the line
    of its code. They come as late as they can.

    Args:
        function: takes one encrypted array for each input.
        inputs: one input, or a list or tuple of inputs. An input is `Values`, or an example: an
            array of numbers as `Client.encrypt` takes it, which stands for all values up to its
            largest.
        scale_bits: log2 of the scale, 28 … 55; default: 40, or what `error` needs.
        error: the largest estimated error of a result, a standard deviation; default: any.
        value_bits: as for `parameters`; default: 10, or 8 with bootstraps, and as many more as the
            values need.
        N: ring dimension; default: the least that serves. Without bootstraps each vector takes one
            ciphertext, unless it has more values than the largest ring has slots.
        dnum, word_bits: as for `parameters`.
        bootstrap: whether parameters have bootstrapping; default: where it is needed.
        coefficients_last, arcsine: as for `parameters`, of bootstraps if there are any;
            `ParameterError` beside `bootstrap=False`.

    Raises `ParameterError` if no parameters carry the function, and if no scale reaches the error.
    Raises `TypeError` if the function compares ciphertexts, branches on them, uses other
    ciphertexts than its inputs, or returns none. Errors of the function itself pass through.

    (OpenFHE and Lattigo leave depth, scale and rotations to the user: CCParams, GenCryptoContext
    and EvalRotateKeyGen; ckks.ParametersLiteral and GaloisElements.)

    >>> chosen = plan(lambda x: (x * x).sum(), Values(8))
    >>> chosen.depth, chosen.rotations, chosen.key_count
    (1, (1, 2, 4), 4)
    """
    needs = checked_requirements(
        scale_bits=USUAL_SCALE if scale_bits is None else scale_bits,
        value_bits=MOST_VALUES if value_bits is None else value_bits,
        N=N,
        dnum=dnum,
        word_bits=word_bits,
        coefficients_last=coefficients_last,
        arcsine=arcsine,
    )
    if bootstrap is not None and not bootstrap:
        refuse_shape("with bootstrap=False", needs)
    search = _Search(
        function,
        listed_inputs(function, inputs, Values, _of_example),
        needs,
        value_bits is not None,
        bootstrap,
    )
    if error is None:
        return search.run()
    return _precise(search, as_real("error", error), scale_bits is not None)


def _precise(search: _Search, error: float, scale_given: bool) -> Plan:
    """The least scale whose results have no larger error."""
    if not error > 0:
        raise ParameterError(f"error: {error} is not positive")
    if scale_given:
        found = search.run()
        if found.error <= error:
            return found
        raise ParameterError(
            f"error: with scale_bits = {found.scale_bits} it is estimated at {found.error:.2g}, "
            f"above {error:.2g}; leave scale_bits out to have it chosen"
        )
    best: Plan | None = None
    low, high, bits = LEAST_SCALE, MOST_SCALE, USUAL_SCALE
    while low <= high:
        found = search.with_scale(bits).run()
        if found.error <= error:
            best, high = found, bits - 1
        else:
            low = bits + 1
        # The error halves with each bit, or it is not the scale's.
        guess = bits + math.ceil(math.log2(found.error / error))
        bits = min(max(guess, low), high)
    if best is None:
        raise ParameterError(
            f"error: with scale_bits = {MOST_SCALE}, the largest, it is estimated at "
            f"{found.error:.2g}, above {error:.2g}"
        )
    return best


@dataclasses.dataclass(frozen=True)
class _Trace:
    """One call of the function."""

    server: TracingServer
    depth: int
    inputs: list[EncryptedArray]
    results: list[EncryptedArray]

    @property
    def refreshes(self) -> list[Refresh]:
        refreshes: list[Refresh] = self.server._core.refreshes
        return refreshes

    @property
    def renewed(self) -> int:
        """Ciphertexts that are refreshed."""
        return sum(each.count for each in self.refreshes)

    def plan(self, needs: dict[str, Any]) -> Plan:
        dry_core, parameters = self.server._core, self.server.parameters
        asked, slots = dry_core.run.asked(), dry_core.refreshed_slots
        own = _lib.KeyRequest(2, [], False)
        for each in slots:
            own = parameters._core.with_bootstrap(own, each)
        held = {turn % parameters.slots for turn in own.rotations}
        turns = (turn for turn in asked.rotations if turn % parameters.slots not in held)
        return Plan(
            depth=self.depth,
            scale_bits=needs["scale_bits"],
            value_bits=needs["value_bits"],
            slots=dry_core.longest,
            keys={
                "relinearise": asked.relinearise,
                "rotations": in_order(turns),
                "conjugate": asked.conjugate and not slots,
                "bootstrap": slots,
            },
            bootstraps=tuple(self.refreshes),
            error=max(each.error for each in self.results),
            bound=max(each.bound for each in self.results),
            results=tuple(map(stated, self.results)),
            **sizes(dry_core, self.inputs, self.results),
            _parameters=parameters,
        )


@dataclasses.dataclass(frozen=True)
class _Search:
    """A search for the smallest parameters on which a function runs."""

    function: Callable[..., Any]
    inputs: list[Values]
    needs: dict[str, Any]
    """What `parameters` is asked for, with the largest `value_bits`."""
    values_given: bool
    bootstrap: bool | None

    def with_scale(self, bits: int) -> _Search:
        return dataclasses.replace(self, needs={**self.needs, "scale_bits": bits})

    def run(self) -> Plan:
        if self.bootstrap:
            return self._refreshed()
        try:
            return self._plain()
        except UnableToRefreshError:
            if self.bootstrap is not None:
                raise ParameterError(
                    "plan: the function bootstraps, and bootstrap=False is given"
                ) from None
            return self._refreshed()
        except (NoiseError, ParameterError) as error:
            try:
                found = self._refreshed()
            except (NoiseError, ParameterError) as again:
                if self.bootstrap is not None:
                    raise error from None
                if isinstance(error, ParameterError):  # it may ask for a level of bootstraps
                    raise
                raise NoiseError(f"{error}; nor does it run with x.bootstrap(): {again}") from None
            if self.bootstrap is None:
                return found
            raise type(error)(
                f"{error}; with bootstrap=True it runs, if it calls x.bootstrap(): "
                f"{counted(len(found.bootstraps), 'time')}"
            ) from None

    # ---- without bootstraps

    def _plain(self) -> Plan:
        # The longest chain of the largest ring shows what the function does.
        ring = self.needs["N"] or 2**17
        search = self._with_most_values(ring, bootstrap=False)
        most = search._deepest(ring, bootstrap=False)
        first = search._trace(search._parameters(most, ring, bootstrap=False), most)
        slots = first.server._core.longest
        at = functools.partial(search._at, slots)
        return search._least(at, most, USUAL_VALUES)

    def _at(self, slots: int, depth: int, value_bits: int) -> _Trace:
        chosen = self._parameters(
            depth, self.needs["N"], bootstrap=False, slots=slots, value_bits=value_bits
        )
        return self._trace(chosen, depth)

    def _least(self, trace: Callable[[int, int], _Trace], most: int, usual: int) -> Plan:
        """The least depth on which the function runs, and then the least bits of values."""

        def runs(depth: int, value_bits: int) -> _Trace | None:
            try:
                return trace(depth, value_bits)
            except (NoiseError, EncodingError, ParameterError):
                return None

        values: int = self.needs["value_bits"]
        depth = _first(range(most), lambda depth: runs(depth, values) is not None, most)
        if not self.values_given:
            values = _first(range(usual, values), lambda v: runs(depth, v) is not None, values)
        return trace(depth, values).plan({**self.needs, "value_bits": values})

    # ---- with bootstraps

    def _refreshed(self) -> Plan:
        """The plan in the least ring with bootstraps: as few as can be, at the least depth."""
        error: Exception = ParameterError("plan: no ring was tried")
        for ring in [self.needs["N"]] if self.needs["N"] else [2**16, 2**17]:
            search = self._with_most_values(ring, bootstrap=True)
            try:
                most = search._deepest(ring, bootstrap=True)
                chosen = search._parameters(most, ring, bootstrap=True)
                inserts = False
                try:
                    best = search._trace(chosen, most)
                except NoiseError:
                    inserts = True
                    best = search._trace(chosen, most, inserts)
            except (NoiseError, ParameterError, ShapeError) as failed:
                error = failed
                continue
            few = functools.partial(search._as_few, ring, inserts, best.renewed)
            return search._least(few, most, REFRESHED_VALUES)
        raise error

    def _with_most_values(self, ring: int, bootstrap: bool) -> _Search:
        """The search with the most `value_bits` that there is room for beside the scale."""
        if self.values_given:
            return self
        for bits in range(MOST_VALUES, LEAST_VALUES - 1, -1):
            try:
                self._parameters(1, ring, bootstrap, value_bits=bits)
            except ParameterError:
                continue
            return dataclasses.replace(self, needs={**self.needs, "value_bits": bits})
        return self

    def _as_few(self, ring: int, inserts: bool, most: int, depth: int, value_bits: int) -> _Trace:
        """The function with at most so many ciphertexts refreshed; else `NoiseError`."""
        chosen = self._parameters(depth, ring, bootstrap=True, value_bits=value_bits)
        made = self._trace(chosen, depth, inserts)
        if made.renewed > most:
            raise NoiseError(f"plan: depth {depth} takes more bootstraps than a larger one")
        return made

    # ---- parameters and calls

    def _deepest(self, ring: int, bootstrap: bool) -> int:
        """The largest depth that is secure in a ring; `ParameterError` if there is none."""
        self._parameters(1, ring, bootstrap)

        def insecure(depth: int) -> bool:
            try:
                self._parameters(depth, ring, bootstrap)
            except ParameterError:
                return True
            return False

        return _first(range(1, MOST_DEPTH + 1), insecure, MOST_DEPTH + 1) - 1

    def _parameters(
        self, depth: int, N: int, bootstrap: bool, slots: int = 0, value_bits: int | None = None
    ) -> Parameters:
        needs = {**self.needs, "depth": depth, "N": N, "slots": slots, "bootstrap": bootstrap}
        if not bootstrap:
            needs |= NO_SHAPE
        if value_bits is not None:
            needs["value_bits"] = value_bits
        return Parameters(_lib.Parameters.choose(**needs))

    def _trace(self, parameters: Parameters, depth: int, inserts: bool = False) -> _Trace:
        server = TracingServer(parameters, inserts)
        inputs = []
        for each in self.inputs:
            assert isinstance(each.shape, tuple)
            inputs.append(server.fresh(each.packing, each.shape, each.bound, each.secret_key))
        return _Trace(server, depth, inputs, server.results_in(self.function(*inputs)))


def _first(numbers: range, holds: Callable[[int], bool], otherwise: int) -> int:
    """The least number for which something holds that holds from there on, by bisection."""
    low, high = numbers.start, numbers.stop
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low if low < numbers.stop else otherwise


def _of_example(given: Any, field: str) -> Values:
    values = real_or_complex(given, field)
    check_example(values, field)
    largest = float(np.abs(values).max())
    packing: Packing = "complex" if values.dtype.kind == "c" else "real"
    return Values(values.shape or 1, largest or 1.0, packing)
