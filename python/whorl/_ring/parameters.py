"""Parameters of schemes over RNS rings: what BGV's and CKKS's have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from .._core.literal import Check, CheckedParameters, as_integer, list_of
from .._core.part import Part
from ..errors import ParameterError

INSTEAD = {
    "bits": "of values 0 and 1, a * b is a & b, a + b - a * b is a | b, (a - b)**2 is a ^ b, and "
    "1 - a is ~a; FHEW/TFHE has gates",
    "product": "write x.dot(y), or x @ matrix",
    "total": "write x.sum()",
    "axis": "the values of a vector are no axis; x.length is their number, and client.decrypt "
    "gives them",
}
"""`CheckedParameters._instead`, of vectors in any scheme."""


class RingLiteral(TypedDict, total=False):
    """Fields of literals of both schemes."""

    name: str
    """Free text up to 64 characters."""
    N: int
    """Ring dimension, a power of two, 2^10 … 2^17."""
    special: Sequence[int]
    """Primes of key switching, of the same width; their product is P."""
    digit_limbs: int
    """Primes of the chain to a digit of key switching. Default 1."""
    sigma: float
    """Standard deviation of errors, 0.5 … 64. Default 3.19."""


class RingParameters(CheckedParameters):
    """A ring, a chain of primes, and special primes for key switching."""

    __slots__ = ()

    _core: Any
    _literal: Any

    name = Part[str]("_literal.name", "What they were chosen for, or a literal's name.")
    chain = Part[tuple[int, ...]](
        "_literal.chain", "Primes of the ciphertext modulus Q; a fresh ciphertext has all.", tuple
    )
    special = Part[tuple[int, ...]](
        "_literal.special", "Primes of P, which key switching needs beside.", tuple
    )
    limbs = Part[int]("_literal.chain", "Number of primes of the chain.", len)
    digit_limbs = Part[int](
        "_literal.digit_limbs", "Primes of the chain to a digit of key switching."
    )
    digits = Part[int](
        "_core.digits", "Digits of key switching at the top level (OpenFHE: NumLargeDigits)."
    )
    sigma = Part[float]("_literal.sigma", "Standard deviation of errors.")
    log2_P = Part[float]("_core.log2_P", "Bits of the product of the special primes.")
    security_bits = Part[float](
        "_core.security_bits",
        "Lower bound of the estimated security of the keys, which live modulo Q·P.",
    )

    word_bits = Part[int](
        "_core.word_bytes", "32 or 64: the words of residues.", lambda size: 8 * size
    )

    def describe(self) -> str:
        """What was picked, for people; several lines."""
        text: str = self._core.describe()
        return text

    def _sizes(self, log2_Q: float) -> str:
        """Primes of Q and P, and their bits."""
        primes = f"{self.limbs} + {len(self.special)} primes"
        return f"{primes}, {log2_Q:.0f} + {self.log2_P:.0f} bits"


def as_ring(N: Any) -> int:
    """A ring dimension; `ParameterError` unless it is a power of two, 2^10 … 2^17."""
    value = as_integer("N", N, 1024, 2**17)
    if value & (value - 1):
        raise ParameterError(f"N: {value} is not a power of two")
    return value


def within(low: int, high: int) -> Check:
    """A check of integers `low` … `high`."""
    return lambda name, value: as_integer(name, value, low, high)


def given_within(low: int, high: int) -> Check:
    """A check of integers `low` … `high`; None, for what is to be chosen, becomes 0."""
    check = within(low, high)
    return lambda name, value: 0 if value is None else check(name, value)


def requirements(checks: Mapping[str, Check]) -> Callable[..., dict[str, Any]]:
    """A function that gives arguments of `parameters` as the C++ library takes them."""
    return lambda **given: {name: checks[name](name, value) for name, value in given.items()}


def literal_alone(maker: Callable[..., Any], literal: Any, given: Mapping[str, Any]) -> None:
    """`TypeError` if `literal` is no mapping, `ParameterError` if an argument of `maker` is `given`
    beside it that is not the default."""
    if not isinstance(literal, Mapping):
        raise TypeError(f"literal: a mapping is needed, not {type(literal).__name__}")
    stands_alone(maker, "a literal", given)


def stands_alone(maker: Callable[..., Any], what: str, given: Mapping[str, Any]) -> None:
    """`ParameterError` if an argument of `maker` is `given` beside `what` that is not the
    default."""
    for name, value in given.items():
        if value != inspect.signature(maker).parameters[name].default:
            raise ParameterError(
                f"{name} = {value} is given beside {what}, which has all fields itself"
            )


def refuse_consent(allow_insecure: bool) -> None:
    """`ParameterError` if insecure parameters are allowed where none are made."""
    if allow_insecure:
        raise ParameterError(
            "allow_insecure is given without a literal; what is picked has 128 bits of security"
        )


MAX_DISTANCE = 2**62
"""How far values are rotated, at most."""


def as_rotation(field: str, value: Any) -> int:
    """How far values are rotated; `ParameterError` unless it is an integer of 63 bits."""
    return as_integer(field, value, -MAX_DISTANCE, MAX_DISTANCE)


def as_request(
    relinearise: int, rotations: Iterable[int], other: bool, sums: int
) -> tuple[int, list[int], bool, int]:
    """The arguments of the C++ library's `KeyRequest`, and the length of vectors to be summed."""
    wanted = list_of(as_rotation, "integers")("rotations", rotations)
    length = as_integer("sums", sums, 0, 2**40)
    return as_integer("relinearise", relinearise, 0, 2**31), wanted, bool(other), length
