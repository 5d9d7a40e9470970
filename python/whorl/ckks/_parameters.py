"""Parameters: chosen from what a circuit needs, or built from a literal of plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypedDict, cast

from .._core.literal import (
    Check,
    as_flag,
    as_integer,
    as_long,
    as_real,
    as_text,
    as_word,
    list_of,
    record_of,
    tuple_of,
)
from .._core.part import Part
from .._core.text import at_least_bits
from .._ring import parameters as ring
from .._server import ckks as _lib
from ..errors import ParameterError


class BootstrapLiteral(TypedDict, total=False):
    """How ciphertexts are refreshed; the field `bootstrap` of a `ParameterLiteral`."""

    weight: int
    """Coefficients of the sparse secret that are 1 or -1, 8 … 192. More of them want a larger
    range, and a higher degree. Default 32."""
    range: int
    """The multiples of level 0's modulus that are taken off are below this, 2 … 64. Default 16."""
    slots_to_coeffs: int
    """Levels from slots to coefficients, 1 … 6. Default 3."""
    coeffs_to_slots: int
    """Levels back, 1 … 6. Default 4."""
    degree: int
    """The degree of the polynomial for a cosine, 3 … 127. Default 31."""
    doublings: int
    """How often the angle of its result is doubled, 1 … 6. Default 3."""
    log2_ratio: float
    """log2 of level 0's modulus over the scale of values in it, 6 … 20. Default 13. Parameters
    that are chosen have 13.5, with `coefficients_last` 11, with an arcsine of degree 7 or more 6.5,
    and less where a large scale leaves no room."""
    series: int
    """0: a polynomial that is fitted to the cosine near the integers. 1: Taylor's series, for
    ranges that are small for its degree and doublings. Default 0."""
    arcsine: int
    """Degree of the arcsine's series that is taken of the sine, odd, 3 … 15, for more bits; 0: none
    (Lattigo: Mod1InvDegree). Default 0."""
    coefficients_last: int
    """1: slots are moved to coefficients after the sine, not before (OpenFHE's and Lattigo's
    default; OpenFHE's StCFirst is 0). Default 0."""
    bits: int
    """0: real numbers are refreshed. 1 … 5: bits are, up to so many in a coefficient, by
    `whorl.lanes` alone; then `log2_ratio` is 0, and there is no other series, no arcsine and no
    `coefficients_last`. Default 0."""


class ParameterLiteral(ring.RingLiteral, total=False):
    """Plain data for parameters of your own; `parameters(literal=...)` checks it.

    Fields without a default: N, chain, levels, special.
    """

    chain: Sequence[int]
    """Primes that are 1 modulo 2N, all of 25 to 31 bits or all of 46 to 60."""
    terminals: int
    """How many primes at the chain's beginning are terminal ones, which rescaling takes back in.
    Default 0."""
    levels: Sequence[tuple[int, int]]
    """The primes of each level, from level 0, the last one: so many of the terminal ones, and so
    many of the others."""
    log2_scale: float
    """log2 of the scale at level 0, 16 … 58. Default 40."""
    bootstrap: BootstrapLiteral | None
    """With it ciphertexts can be refreshed, and the highest levels are only for that:
    coeffs_to_slots, the doublings, the bits of the degree and of the arcsine's, and slots_to_coeffs
    if that is last. Default None."""


_BOOTSTRAP: Mapping[str, Check] = MappingProxyType(
    {**dict.fromkeys(BootstrapLiteral.__annotations__, as_word), "log2_ratio": as_real}
)


def _bootstrap_of(shape: _lib.BootstrapLiteral | None) -> BootstrapLiteral | None:
    if shape is None:
        return None
    return cast(BootstrapLiteral, {field: getattr(shape, field) for field in _BOOTSTRAP})


_STAGES = "with stages = ckks.minimax_sign(epsilon, error)"


class Parameters(ring.RingParameters):
    """Validated, immutable parameters; `parameters` makes them.

    They can be pickled, saved and loaded, compared, and used as keys of dictionaries.

    >>> p = parameters(depth=1)
    >>> p.depth, p.slots == p.N // 2, p.security_bits >= 128
    (1, True, True)
    >>> print(p.describe().splitlines()[0])
    N = 8192, 4096 slots, 1 level above level 0
    """

    __slots__ = ()

    _core: _lib.Parameters
    _literal: _lib.ParameterLiteral
    _scheme = "CKKS"
    _instead = MappingProxyType(
        ring.INSTEAD
        | {
            "comparison": "x.greater(y, stages) is 1 where x > y, x.maximum(y, stages) is the "
            f"larger one, and x.minimum(y, stages) the smaller one, {_STAGES}; or decrypt first",
            "choice": "where s is x.greater(y, stages), which is 1 or 0, b + s * (a - b) is a or "
            "b; or decrypt first",
            "sign": f"write x.sign(stages), {_STAGES}",
            "absolute": f"write x.absolute(stages), {_STAGES}",
            "whole": "CKKS has no integers: FHEW/TFHE has tables of them, x.apply(Lut(…))",
            "shift": "write x * 2**k or x / 2**k",
            "power": "x.inverse(low, high, error) is 1/x, and other powers of values in low … high "
            "are x.evaluate(ckks.approximate(f, low, high, error=e)), with f of one float",
            "quotient": "write x.inverse(low, high, error) for 1 / x",
            "function": "write x.evaluate(ckks.approximate({function}, low, high, error=e)) for "
            "values in low … high",
            "number": "decrypt first, by client.decrypt(x, raw=True)",
        }
    )
    _reader, _literal_type = _lib.Parameters, _lib.ParameterLiteral
    _required = ("N", "chain", "levels", "special")
    _fields = MappingProxyType(
        {
            "name": as_text,
            "N": as_word,
            "chain": list_of(as_long, "primes"),
            "terminals": as_word,
            "levels": list_of(tuple_of(as_word, "terminals, others"), "pairs"),
            "special": list_of(as_long, "primes"),
            "digit_limbs": as_word,
            "sigma": as_real,
            "log2_scale": as_real,
            "bootstrap": record_of(_lib.BootstrapLiteral, _BOOTSTRAP),
        }
    )

    N = Part[int]("_literal.N", "Ring dimension (OpenFHE: GetRingDimension).")
    slots = Part[int](
        "_core.slots", "The most values that a ciphertext holds in slots, N/2 (Lattigo: MaxSlots)."
    )
    depth = Part[int](
        "_core.depth",
        "The level of fresh ciphertexts, and of refreshed ones: how many products in sequence they "
        "have (OpenFHE: MultiplicativeDepth; Lattigo: MaxLevel).",
    )
    top = Part[int](
        "_core.top",
        "The highest level of all. Those above `depth` are used while ciphertexts are refreshed.",
    )
    terminals = Part[int](
        "_literal.terminals", "How many primes of the chain, from its beginning, are terminal ones."
    )
    levels = Part[tuple[tuple[int, int], ...]](
        "_literal.levels",
        "How many terminal primes, and how many others, each level has, from level 0.",
        tuple,
    )
    bootstrap = Part[BootstrapLiteral | None](
        "_literal.bootstrap",
        "How ciphertexts are refreshed, the literal's field; None if they cannot be.",
        _bootstrap_of,
    )
    least_bootstrap_level = Part[int](
        "_core.least_bootstrap_level",
        "The lowest level from which ciphertexts can be refreshed; `ParameterError` if they cannot "
        "be.",
    )
    sparse_security_bits = Part[float](
        "_core.sparse_security_bits",
        "The least of known estimates of the security of the key to the sparse secret, which "
        "`bootstrap` uses: by the hybrid attack with meet in the middle; `ParameterError` if "
        "ciphertexts cannot be refreshed.",
    )
    log2_failure = Part[float](
        "_core.log2_failure",
        "log2 of a bound of the probability that a refreshed ciphertext has wrong values; "
        "`ParameterError` if ciphertexts cannot be refreshed.",
    )

    def _level(self, level: int | None) -> int:
        return self.depth if level is None else as_integer("level", level, 0, self.top)

    def log2_Q(self, level: int | None = None) -> float:
        """Bits of the ciphertext modulus at a level, by default that of fresh ciphertexts.
        `ParameterError` unless the level is 0 … top."""
        return self._core.log2_Q(self._level(level))

    def scale(self, level: int | None = None) -> float:
        """The scale that products have at a level, by default that of fresh ciphertexts.
        `ParameterError` unless the level is 0 … top. (OpenFHE: GetScalingFactorReal; Lattigo:
        DefaultScale.)"""
        return self._core.scale(self._level(level))

    def key_size(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        conjugate: bool = False,
        sums: int = 0,
        *,
        bootstrap: Iterable[int] = (),
        low_rotations: Mapping[int, Iterable[int]] | None = None,
    ) -> int:
        """Bytes of the keys that `Client.evaluation_keys` with these arguments would make.

        On a server's device they take twice as many: the uniform halves travel as seeds.
        """
        request = as_request(
            self, relinearise, rotations, conjugate, sums, bootstrap, low_rotations
        )
        return self._core.key_bytes(request)

    def key_count(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        conjugate: bool = False,
        sums: int = 0,
        *,
        bootstrap: Iterable[int] = (),
        low_rotations: Mapping[int, Iterable[int]] | None = None,
    ) -> int:
        """How many switching keys `Client.evaluation_keys` with these arguments would make.

        >>> parameters(depth=1).key_count(rotations=[1, 2], conjugate=True)
        4
        """
        request = as_request(
            self, relinearise, rotations, conjugate, sums, bootstrap, low_rotations
        )
        return self._core.key_count(request)

    def literal(self) -> ParameterLiteral:
        """The fields as a dictionary; `parameters(literal=p.literal())` gives `p` again."""
        fields: ParameterLiteral = self._values()
        fields["bootstrap"] = self.bootstrap
        return fields

    def _details(self) -> list[tuple[str, str]]:
        return [
            ("N", f"{self.N:,} ({self.slots:,} slots)"),
            ("depth", str(self.depth)),
            ("scale", f"2^{self._log2_scale():.1f}"),
            ("Q, P", self._sizes(self.log2_Q(self.top))),
            ("bootstraps", self._bootstraps() or "none"),
        ]

    def _log2_scale(self) -> float:
        """log2 of the scale of one level for all: the lowest ones of sets for bits have less."""
        bits = self.bootstrap is not None and self.bootstrap["bits"]
        return math.log2(self.scale(self.depth if bits else 0))

    def _bootstraps(self) -> str:
        """The level at which ciphertexts are refreshed, and how; empty if they cannot be."""
        shape = self.bootstrap
        if shape is None:
            return ""
        order = "last" if shape["coefficients_last"] else "first"
        arcsine = f", arcsine of degree {shape['arcsine']}" if shape["arcsine"] else ""
        bits = f", for {shape['bits']} bits a coefficient" if shape["bits"] else ""
        level = self.least_bootstrap_level
        return f"from level {level}, slots to coefficients {order}{arcsine}{bits}"

    def __repr__(self) -> str:
        return (
            f"<Parameters {self.name or 'unnamed'}: N={self.N}, {self.slots} slots, depth "
            f"{self.depth}{', bootstrapping' if self.bootstrap else ''}, scale "
            f"2^{self._log2_scale():.1f}, {self._sizes(self.log2_Q(self.top))}, "
            f"{self.digits} digits; {at_least_bits(self.security_bits)} bits of security>"
        )


def as_slots(slots: Any) -> int:
    """How many slots are refreshed; `ParameterError` unless it is a 64-bit integer."""
    return as_integer("bootstrap: slots", slots, 1, 2**64 - 1)


def as_request(
    of: Parameters,
    relinearise: int,
    rotations: Iterable[int],
    conjugate: bool,
    sums: int,
    bootstrap: Iterable[int],
    low_rotations: Mapping[int, Iterable[int]] | None,
) -> _lib.KeyRequest:
    """A request for keys as the C++ library takes it."""
    powers, wanted, conjugates, length = ring.as_request(relinearise, rotations, conjugate, sums)
    turns = max(0, min(length, of.slots) - 1).bit_length()
    wanted += [1 << power for power in range(turns)]
    request = _lib.KeyRequest(powers, wanted, conjugates)
    for slots in list_of(lambda _, each: as_slots(each), "numbers of slots")(
        "bootstrap", bootstrap
    ):
        request = of._core.with_bootstrap(request, slots)
    by_level = {} if low_rotations is None else low_rotations
    if not isinstance(by_level, Mapping):
        raise TypeError(
            "low_rotations: a mapping from levels to lists of rotations is needed, such as "
            f"{{2: map.rotations}}, not {type(by_level).__name__}"
        )
    for level, low in by_level.items():
        _, at_level, _, _ = ring.as_request(2, low, False, 0)
        checked = as_integer("low_rotations: a level", level, 0, of.top)
        request = of._core.with_low_rotations(request, checked, at_level)
    return request


def parameter_sets() -> list[str]:
    """Names of all sets that `parameters` takes: Whorl's own, then those of libraries and papers.

    Whorl's own say how secure they are, how many levels lie between two bootstraps, and how many
    bits the worst slot has after one.

    >>> "W128_L13_B20" in parameter_sets()
    True
    """
    return _lib.Parameters.names()


def parameters(
    depth: int | str = 1,
    scale_bits: int = 40,
    slots: int = 0,
    value_bits: int | None = None,
    N: int | None = None,
    dnum: int | None = None,
    word_bits: int = 32,
    *,
    bootstrap: bool = False,
    coefficients_last: bool = False,
    arcsine: int = 0,
    literal: Mapping[str, Any] | None = None,
    allow_insecure: bool = False,
) -> Parameters:
    """The smallest ring that serves at 128 bits or more, and in it the primes that cost least.

    Args:
        depth: products in sequence, 0 … 64. Each one takes a level. Or the name of a set of
            `parameter_sets()`, which stands alone as a literal does.
        scale_bits: log2 of the scale, 28 … 55: how finely values are rounded. The error of a
            product has a standard deviation of about N/4 over the scale. Above level 0 scales are
            within a bit of it, or for some chains within three.
        slots: how many values a ciphertext must hold, at most 2^16; 0: any number.
        value_bits: log2 of the largest value that a ciphertext of level 0 holds, 2 … 20; default:
            10, or 8 with `bootstrap`, whose values are at most 1, or as many less as there is room
            for. With `word_bits=64` level 0 is one prime, which holds 58 - `scale_bits` at most (57
            with `bootstrap`), and with `bootstrap` words of 32 bits hold about as much.
            `ParameterError` for more says what can be had.
        N: ring dimension; default: the least that is secure and has the slots.
        dnum: digits of key switching, 1 … 80. More of them make larger keys and leave more bits
            for the chain. All digits have as many primes, the last one perhaps fewer, so that there
            may be fewer digits than asked for (`digits`), and never more than primes. With
            `bootstrap` there may be more, where the ring is secure with more only. Default: up to
            8, those that take the smallest ring, and in it cost least; with `bootstrap` 3 or more.
        word_bits: 32: primes of 25 to 31 bits, two and more a level. 64: one prime a level, for
            `scale_bits` of 46 and more.
        bootstrap: whether ciphertexts can be refreshed (`Server.bootstrap`). `depth` then counts
            the products between two refreshes, and the property `depth` of the result is larger:
            `least_bootstrap_level` levels come below them. The ring has N = 65536 at least. With
            scales above 2^47 or so there is less room for the sine's scale: values are a larger
            part of the modulus, and the error is larger (`bootstrap["log2_ratio"]`).
        coefficients_last: whether a bootstrap moves slots to coefficients at its end, not at its
            beginning. It then begins from level 0, and full vectors have some bits less, since
            noise of all slots is added up. `ParameterError` without `bootstrap`. (OpenFHE's and
            Lattigo's default order; with False OpenFHE's EvalBootstrapStCFirst.)
        arcsine: degree of a polynomial after a bootstrap's sine, odd, 3 … 15, or 0 for none. It
            takes the levels of its degree, three for 7, and gives bits where the scale has them: 45
            bits and more. `ParameterError` without `bootstrap`. (Lattigo: Mod1InvDegree.)
        literal: a mapping with the fields of `ParameterLiteral`, for primes of your own. It stands
            alone: `ParameterError` if an argument above is given too.
        allow_insecure: accept a literal or a named set that is estimated under 128 bits.
            `ParameterError` with neither, since what is picked always has 128 bits.

    Raises `ParameterError` naming the field, the value and the bound, or, if no ring up to
    N = 131072 serves, what was missing and what serves in its place; for an unknown name it
    lists all names.
    `print(p.describe())` says what was picked.
    (OpenFHE: CCParams<CryptoContextCKKSRNS>, GenCryptoContext; Lattigo: ckks.ParametersLiteral.)

    >>> p = parameters(depth=3)
    >>> p.N, p.depth, p.slots
    (16384, 3, 8192)
    """
    given = dict(locals())
    del given["literal"], given["allow_insecure"]
    if literal is not None:
        ring.literal_alone(parameters, literal, given)
        return Parameters._create(literal, allow_insecure)
    if isinstance(depth, str):
        ring.stands_alone(parameters, "a named set", {**given, "depth": 1})
        return Parameters(_lib.Parameters.named(as_text("depth", depth), bool(allow_insecure)))
    ring.refuse_consent(allow_insecure)
    needs = checked_requirements(**given)
    if not needs["bootstrap"]:
        refuse_shape("without bootstrap=True", needs)
    return Parameters(_lib.Parameters.choose(**needs))


NO_SHAPE: Mapping[str, Any] = MappingProxyType({"coefficients_last": False, "arcsine": 0})
"""The requirements that are of bootstraps only, as parameters without bootstraps have them."""


def refuse_shape(how: str, needs: Mapping[str, Any]) -> None:
    """`ParameterError` if one of them is given for parameters without bootstraps."""
    for name, none in NO_SHAPE.items():
        if needs[name] != none:
            raise ParameterError(f"{name} = {needs[name]} is given {how}; only bootstraps have it")


ARCSINES = (0, *range(3, 16, 2))
"""Degrees of a bootstrap's arcsine; 0: none."""


def _as_arcsine(name: str, value: Any) -> int:
    degree = as_integer(name, value, 0, ARCSINES[-1])
    if degree not in ARCSINES:
        raise ParameterError(f"{name}: {degree} is neither 0 nor an odd degree of 3 … 15")
    return degree


checked_requirements = ring.requirements(
    {
        "depth": ring.within(0, 64),
        "scale_bits": ring.within(28, 55),
        "slots": ring.within(0, 2**16),
        "value_bits": ring.given_within(2, 20),
        "N": lambda _, value: 0 if value is None or value == 0 else ring.as_ring(value),
        "dnum": ring.given_within(1, 80),
        "word_bits": as_word,
        "bootstrap": as_flag,
        "coefficients_last": as_flag,
        "arcsine": _as_arcsine,
    }
)
