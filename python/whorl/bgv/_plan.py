"""Finds what a function of encrypted arrays needs, by running it without ciphertexts."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from numpy.typing import ArrayLike

from .._core.array import Shape
from .._core.integers import as_index, whole_numbers
from .._core.plan import as_shape, listed_inputs
from .._core.text import shown
from .._ring.plan import RingPlan, check_example, in_order, sizes
from .._server import bgv as _lib
from ..errors import ParameterError, ShapeError
from ._bounds import Traced
from ._parameters import MAX_MODULUS, Parameters, checked_requirements
from ._server import EncryptedArray
from ._tracer import MOST_BITS, TracingServer, _DryCore
from ._values import Packing

RINGS = tuple(1 << log2_N for log2_N in range(10, 18))


@dataclasses.dataclass(frozen=True)
class Range:
    """Encrypted integers between two bounds, both included, for `plan`.

    `shape` is the shape of the values, as `Client.encrypt` takes them: (..., k) for ciphertexts of
    shape (...) with k values each, and zeros behind them. A number k means one ciphertext of k
    values, and without `shape` it is one ciphertext of N values. `TypeError` for bounds that are
    not integers, `ParameterError` if `low` is above `high`, `ShapeError` for a shape without
    values.

    >>> Range(-5, 5, shape=100)
    Range(low=-5, high=5, shape=(100,))
    """

    low: int
    high: int
    shape: int | Shape | None = None

    def __post_init__(self) -> None:
        low, high, shape = as_index(self.low, "low"), as_index(self.high, "high"), self.shape
        for field, bound in (("low", low), ("high", high)):
            if bound.bit_length() > MOST_BITS:
                raise ParameterError(f"{field}: no t holds {shown(bound)}")
        if low > high:
            raise ParameterError(f"low: {low} is above high = {high}")
        if shape is not None:
            shape = as_shape(shape)
        for field, value in (("low", low), ("high", high), ("shape", shape)):
            object.__setattr__(self, field, value)


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Plan(RingPlan):
    """What a function of encrypted arrays needs; `plan` makes it.

    `parameters()` returns the parameters to use, and `keys` the arguments for the client's keys:
    `client.evaluation_keys(**plan.keys)`.
    """

    depth: int
    """Products of ciphertexts in sequence."""
    plain_products: int
    """Products with plaintexts in sequence; `sums` counts those with one integer."""
    sums: float
    """log2 of the largest number of ciphertexts added up between two products. A product with an
    integer c counts as c ciphertexts."""
    low: int
    """The least value that a result can have."""
    high: int
    """The largest value that a result can have."""
    keys: dict[str, Any]
    """Arguments of `Client.evaluation_keys`: `relinearise`, `rotations`, `swap_rows`."""
    noise_budget: float
    """Bits that are at least left in the noisiest result, by the bound."""
    _parameters: Parameters

    def parameters(self) -> Parameters:
        """The smallest ring and the shortest chain for which the results decrypt, by the bound.

        The bound is that of a server whose inputs were encrypted under a public key, and whose
        plaintexts may have any values. So `Client.decrypt` accepts the results of the function.
        """
        return self._parameters

    @property
    def t(self) -> int:
        """Plaintext modulus: the least that serves and holds all results."""
        return self._parameters.t

    @property
    def _width(self) -> int:
        return self.N

    @property
    def signed(self) -> bool:
        """Whether results may be negative: `client.decrypt(result, signed=plan.signed)`."""
        return self.low < 0

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("t", f"{self.t:,}"),
            ("results", f"{self.low:,} … {self.high:,}"),
            ("depth", str(self.depth)),
            ("products with plaintexts", f"{self.plain_products} in sequence"),
            ("sums", f"2^{self.sums:.1f}"),
            self._distances(),
            ("exchange of rows", "yes" if self.keys["swap_rows"] else "no"),
            *self._ring_facts(budget=f"{self.noise_budget:.0f} bits, by the bound"),
        ]

    def __repr__(self) -> str:
        return self._text(
            f"t={self.t}, depth {self.depth}, plain_products {self.plain_products}, sums "
            f"{self.sums:.1f}",
            ", swap_rows" if self.keys["swap_rows"] else "",
        )


def plan(
    function: Callable[..., Any],
    inputs: Range | ArrayLike | Sequence[Range | ArrayLike],
    *,
    packing: Packing = "slots",
    plain_modulus: int | None = None,
    N: int | None = None,
    dnum: int | None = None,
    prime_bits: int = 30,
) -> Plan:
    """Runs a function without ciphertexts, and says which parameters and keys it needs.

    The function gets arrays with all methods of an `EncryptedArray`, and returns arrays, alone or
    in tuples, lists and dictionaries; of a `Mean` the total is a result. It is called several
    times, with different parameters, and must do the same each time. Nothing is encrypted and no
    key is made.

    The plan follows values as integers between two bounds, slot by slot. t is the least modulus
    that holds every result, input and plaintext. So the results are the integers that the function
    computes without encryption, and not only equal to them modulo t. Values between inputs and
    results may be larger than t, which does no harm to sums and products modulo t. If a result can
    be negative, `Plan.signed` is true.

    Args:
        function: takes one encrypted array for each input.
        inputs: one input, or a list or tuple of inputs. An input is a `Range`, or an example: an
            array of integers as `Client.encrypt` takes it, or one integer. An example stands for
            all values between 0 and its smallest and its largest value.
        packing: how inputs are encrypted, `slots` or `coefficients`.
        plain_modulus: t, if it is given.
        N: ring dimension; default: the least that serves.
        dnum, prime_bits: as for `parameters`.

    Raises `ParameterError` if no t below 2^31 holds the results, or if no ring up to N = 131072
    carries the function. Raises `TypeError` if the function compares ciphertexts, branches on them,
    uses other ciphertexts than its inputs, or returns none. Errors of the function itself pass
    through.

    >>> chosen = plan(lambda x: (x * x).inner_sum(4), Range(0, 255, shape=4))
    >>> chosen.depth, chosen.rotations, chosen.t > 4 * 255**2
    (1, (1, 2), True)
    """
    search = _Search(
        function,
        listed_inputs(function, inputs, Range, _of_example),
        packing,
        plain_modulus,
        checked_requirements(
            N=N, dnum=dnum, prime_bits=prime_bits, slots=packing == "slots", sums=0
        ),
    )
    return search.run()


@dataclasses.dataclass
class _Trace:
    """One call of the function."""

    dry_core: _DryCore
    inputs: list[EncryptedArray]
    results: list[EncryptedArray]

    def plan(self, parameters: Parameters) -> Plan:
        """The plan, with the parameters to use."""
        asked = self.dry_core.run.asked()
        return Plan(
            **self.circuit,
            sums=self.sums,
            low=int(self.low),
            high=int(self.high),
            keys={
                "relinearise": asked.relinearise,
                "rotations": in_order(asked.rotations),
                "swap_rows": asked.swap_rows,
            },
            **sizes(self.dry_core, self.inputs, self.results),
            noise_budget=self.noise_budget,
            _parameters=parameters,
        )

    def __post_init__(self) -> None:
        bounds = [cast(Traced, each._core).values for each in self.results]
        costs: dict[str, Any] = self.dry_core.run.costs()
        self.sums: float = costs["sums"]
        self.circuit = {"depth": costs["depth"], "plain_products": costs["plain_depth"]}
        """What parameters are chosen for."""
        self.low = min(float(each.low.min()) for each in bounds)
        self.high = max(float(each.high.max()) for each in bounds)
        self.noise_budget = min(each.noise_budget for each in self.results)


@dataclasses.dataclass(frozen=True)
class _Search:
    """A search for the smallest parameters for which a function ends with a positive budget."""

    function: Callable[..., Any]
    inputs: list[Range]
    packing: Packing
    plain_modulus: int | None
    needs: dict[str, Any]

    def run(self) -> Plan:
        """Tries ring by ring. If all fail, the error is that of the last ring."""
        rings = [self.needs["N"]] if self.needs["N"] else RINGS
        error: Exception = ParameterError("N: no ring was tried")
        for N in rings:
            try:
                chosen = self._in_ring(N)
            except (ParameterError, ShapeError) as failed:
                if isinstance(failed, _NoModulusError):
                    raise ParameterError(str(failed)) from None
                error = failed
                continue
            return chosen
        raise error

    def _in_ring(self, N: int) -> Plan:
        given = self.plain_modulus
        if given is not None and self.packing == "slots":
            self._check_slots(given, N)
        # Values are followed under a t that is larger than they are.
        first = self._longest(N, given or self._modulus(MAX_MODULUS // 2, N))
        trace = self._trace(first)
        least = self._least_modulus(trace)
        t = self._modulus(least, N) if given is None else self._checked(given, least, trace)
        circuit = trace.circuit
        longest = self._longest(N, t, **circuit)
        best, trace = longest, self._trace(longest)
        if trace.noise_budget <= 0:
            raise ParameterError(
                f"plan: N = {N} is secure up to {best.limbs} primes of {self.needs['prime_bits']} "
                f"bits, which do not carry depth {circuit['depth']}, plain_products "
                f"{circuit['plain_products']} and sums {trace.sums:.1f} with t = {t}: "
                f"{-trace.noise_budget:.0f} bits are missing"
            )
        too_few = 0
        while best.limbs - too_few > 1:
            parameters = self._parameters(N, t, (best.limbs + too_few) // 2, **circuit)
            shorter = self._trace(parameters)
            if shorter.noise_budget > 0:
                best, trace = parameters, shorter
            else:
                too_few = parameters.limbs
        return trace.plan(best)

    def _trace(self, parameters: Parameters) -> _Trace:
        server = TracingServer(parameters)
        inputs = []
        for each in self.inputs:
            shape = each.shape or (parameters.N,)
            assert isinstance(shape, tuple)
            inputs.append(server.fresh(each.low, each.high, self.packing, shape))
        return _Trace(server._core, inputs, server.results_in(self.function(*inputs)))

    def _parameters(
        self, N: int, t: int, limbs: int, depth: int = 0, plain_products: int = 0
    ) -> Parameters:
        needs = self.needs | {
            "N": N,
            "depth": depth,
            "plain_modulus": t,
            "plain_products": plain_products,
        }
        return Parameters(_lib.Parameters.choose(**needs, limbs=limbs))

    def _longest(self, N: int, t: int, **circuit: int) -> Parameters:
        """The longest chain that is secure."""
        found = self._parameters(N, t, 1, **circuit)
        for limbs in range(2, 65):
            try:
                found = self._parameters(N, t, limbs, **circuit)
            except ParameterError:
                break
        return found

    # ---- the plaintext modulus

    def _least_modulus(self, trace: _Trace) -> int:
        """The least integer that holds the results, the inputs and plaintexts."""
        low, high = trace.low, trace.high
        if not (-MAX_MODULUS < low and high < MAX_MODULUS):
            raise _NoModulusError(
                f"plan: results may be as large as {_value(max(-low, high))}, but t must be below "
                f"2^31{_first_above(trace, MAX_MODULUS)}; give inputs narrower ranges, or "
                "compute the same modulo several t, as a recipe of docs/recipes.md does"
            )
        return max(
            2,
            _span(int(low), int(high)),
            trace.dry_core.largest_plain + 1,
            *(max(each.high + 1, 1 - 2 * each.low) for each in self.inputs),
        )

    def _modulus(self, at_least: int, N: int) -> int:
        """The least t that serves."""
        if self.packing == "slots":
            try:
                return _lib.plain_modulus(at_least, N)
            except ParameterError as error:
                raise _NoModulusError(f"plan: {error}") from None
        if at_least >= MAX_MODULUS:
            raise _NoModulusError(f"plan: t = {at_least} is needed, which is not below 2^31")
        return at_least

    def _check_slots(self, t: int, N: int) -> None:
        """If `t` does not serve, no larger ring helps. The error names moduli that serve in the
        ring that the function needs."""
        if 2 <= t < MAX_MODULUS and self._modulus(t, N) != t:
            circuit: dict[str, int] = {}
            with contextlib.suppress(ParameterError, ShapeError):
                found = dataclasses.replace(self, plain_modulus=None).run()
                N = found.N
                circuit = {"depth": found.depth, "plain_products": found.plain_products}
            try:
                self._parameters(N, t, 1, **circuit)
            except ParameterError as error:
                raise _NoModulusError(str(error)) from None

    def _checked(self, t: int, least: int, trace: _Trace) -> int:
        if t < least:
            holds = _span(int(trace.low), int(trace.high)) <= t
            given = ", inputs and plaintexts" if holds else ""
            raise _NoModulusError(
                f"plan: t = {t} does not hold the results, {_value(trace.low)} … "
                f"{_value(trace.high)}{given}{_first_above(trace, t)}; t = {least} is the least "
                "that does"
            )
        return t


class _NoModulusError(ParameterError):
    """An error that no larger ring can mend."""


def _span(low: int, high: int) -> int:
    """The least t whose residues hold low … high, as 0 … t-1 or, if some are negative, centred."""
    return high + 1 if low >= 0 else 2 * max(-low, high) + 1


def _first_above(trace: _Trace, t: int) -> str:
    """Which operation of the function is the first whose result t does not hold."""
    for number, step in enumerate(trace.dry_core.steps, 1):
        signed = min(trace.low, step.low) < 0
        if max(-step.low, step.high) > (t - 1) / (2 if signed else 1):
            return (
                f"; the first result that it does not hold is that of operation {number} of the "
                f"function, {step.name}: {_value(step.low)} … {_value(step.high)}"
            )
    return ""


def _value(bound: float) -> str:
    # Zero has no sign.
    return f"{bound + 0.0:.0f}" if math.isfinite(bound) else f"{'-' * (bound < 0)}2^52 or more"


def _of_example(given: Any, field: str) -> Range:
    values = whole_numbers(given, field)
    check_example(values, field)
    return Range(min(0, int(values.min())), max(0, int(values.max())), values.shape or 1)
