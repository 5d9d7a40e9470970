"""Parameters: chosen from what a circuit needs, or built from a literal of plain data."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from .. import _core
from ..errors import ParameterError

_FIELDS = ("name", "N", "t", "chain", "special", "digit_limbs", "sigma", "depth")
_REQUIRED = ("N", "t", "chain", "special")


class ParameterLiteral(TypedDict, total=False):
    """Plain data for parameters of one's own; `parameters(literal=...)` checks it.

    Fields without a default: N, t, chain, special.
    """

    name: str
    """Free text up to 64 characters."""
    N: int
    """Ring dimension, a power of two, 2^10 … 2^17."""
    t: int
    """Plaintext modulus, 2 … 2^31 - 1."""
    chain: Sequence[int]
    """Primes that are 1 modulo 2N, all of 25 to 31 bits or all of 45 to 60. A ciphertext starts
    with all of them and loses the last ones on its way."""
    special: Sequence[int]
    """Primes of key switching, of the same width; their product is P."""
    digit_limbs: int
    """Primes of the chain to a digit of key switching. Default 1."""
    sigma: float
    """Standard deviation of errors, 0.5 … 64. Default 3.19."""
    depth: int
    """Multiplications in sequence that the chain was chosen for. Default 0."""


def as_integer(field: str, value: Any, low: int, high: int) -> int:
    """`value` as an int; `ParameterError` unless it is an integer in `low` … `high`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{field}: {value!r} is not an integer")
    if not low <= int(value) <= high:
        raise ParameterError(f"{field}: {value} is outside {low} … {high}")
    return int(value)


def _real(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{field}: {value!r} is not a number")
    return float(value)


def _build_literal(fields: Mapping[str, Any]) -> _core.BgvParameterLiteral:
    """The C++ literal of a mapping; `ParameterError` names a field that is unknown or missing."""
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise ParameterError(f"{unknown[0]}: no such field; there are {', '.join(_FIELDS)}")
    missing = [field for field in _REQUIRED if field not in fields]
    if missing:
        raise ParameterError(
            f"{missing[0]}: missing; a literal has at least {', '.join(_REQUIRED)}"
        )
    literal = _core.BgvParameterLiteral()
    for field, value in fields.items():
        if field in ("chain", "special"):
            if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
                raise ParameterError(f"{field}: {value!r} is not a list of primes")
            value = [as_integer(field, prime, 0, 2**64 - 1) for prime in value]
        elif field == "sigma":
            value = _real(field, value)
        elif field == "name":
            if not isinstance(value, str):
                raise ParameterError(f"{field}: {value!r} is not a string")
        else:
            value = as_integer(field, value, 0, (2**64 if field == "t" else 2**32) - 1)
        setattr(literal, field, value)
    return literal


class Parameters:
    """Validated, immutable parameters; `parameters` makes them.

    Two are equal if their digests are, that is, if all fields that change ciphertexts or keys are.
    They can be pickled, saved and loaded, and used as keys of dictionaries.

    >>> p = parameters(depth=2)
    >>> p.t, p.has_slots, p.security_bits >= 128
    (65537, True, True)
    """

    __slots__ = ("_core", "_literal")

    def __init__(self, core: _core.BgvParameters) -> None:
        if not isinstance(core, _core.BgvParameters):
            raise TypeError("parameters are made by whorl.bgv.parameters()")
        self._core = core
        self._literal = core.literal

    @property
    def name(self) -> str:
        """What they were chosen for, or a literal's name."""
        return self._literal.name

    @property
    def N(self) -> int:
        """Ring dimension; slots of a ciphertext (OpenFHE: GetRingDimension)."""
        return self._literal.N

    @property
    def t(self) -> int:
        """Plaintext modulus: values are integers modulo t (OpenFHE: GetPlaintextModulus)."""
        return self._literal.t

    @property
    def chain(self) -> tuple[int, ...]:
        """Primes of the ciphertext modulus Q; a fresh ciphertext has all of them."""
        return tuple(self._literal.chain)

    @property
    def special(self) -> tuple[int, ...]:
        """Primes of P, which key switching needs beside."""
        return tuple(self._literal.special)

    @property
    def limbs(self) -> int:
        """Number of primes of the chain."""
        return len(self._literal.chain)

    @property
    def digit_limbs(self) -> int:
        """Primes of the chain to a digit of key switching."""
        return self._literal.digit_limbs

    @property
    def digits(self) -> int:
        """Digits of key switching at the top level (OpenFHE: NumLargeDigits)."""
        return self._core.digits

    @property
    def sigma(self) -> float:
        """Standard deviation of errors."""
        return self._literal.sigma

    @property
    def depth(self) -> int:
        """Multiplications in sequence that they were chosen for (OpenFHE: MultiplicativeDepth)."""
        return self._literal.depth

    @property
    def has_slots(self) -> bool:
        """Whether t is a prime that is 1 modulo 2N, so that vectors are packed in N slots."""
        return self._core.has_slots

    @property
    def word_bits(self) -> int:
        """32 or 64: the words of residues."""
        return 8 * self._core.word_bytes

    @property
    def log2_Q(self) -> float:
        """Bits of the ciphertext modulus at the top level."""
        return self._core.log2_Q(self.limbs)

    @property
    def log2_P(self) -> float:
        """Bits of the product of the special primes."""
        return self._core.log2_P

    @property
    def security_bits(self) -> float:
        """Lower bound of the estimated security of the keys, which live modulo Q·P."""
        return self._core.security_bits

    @property
    def digest(self) -> str:
        """BLAKE2b-128 over all fields that change ciphertexts or keys, in hexadecimal."""
        return self._core.digest.hex()

    def describe(self) -> str:
        """What was picked, for people; several lines.

        >>> print(parameters(depth=1).describe().splitlines()[0])
        N = 8192, t = 65537 (slots)
        """
        return self._core.describe()

    def key_size(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        swap_rows: bool = False,
        inner_sum: int = 0,
    ) -> int:
        """Bytes of the keys that `Client.evaluation_keys` with these arguments would make.

        On a server's device they take twice as many: the uniform halves travel as seeds.
        """
        return self._core.key_bytes(*as_request(relinearise, rotations, swap_rows, inner_sum))

    def literal(self) -> ParameterLiteral:
        """The fields as a dictionary; `parameters(literal=p.literal())` gives `p` again."""
        result: Any = {field: getattr(self._literal, field) for field in _FIELDS}
        literal: ParameterLiteral = result
        return literal

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, allow_insecure: bool = False) -> Parameters:
        """Inverse of `to_bytes`; a child of `FormatError`, or `ParameterError`, for bad bytes."""
        return cls(_core.BgvParameters.from_bytes(data, allow_insecure))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads. `IoError` if the system refuses."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str], allow_insecure: bool = False) -> Parameters:
        """Reads and checks a file; children of `FormatError`, `ParameterError`, `IoError`."""
        return cls(_core.BgvParameters.load(os.fspath(path), allow_insecure))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameters.from_bytes, (self.to_bytes(), True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self._core.digest == other._core.digest

    def __hash__(self) -> int:
        return hash(self._core.digest)

    def __repr__(self) -> str:
        slots = "slots" if self.has_slots else "coefficients only"
        return (
            f"<Parameters {self.name or 'unnamed'}: N={self.N}, t={self.t} ({slots}), "
            f"{self.limbs} + {len(self.special)} primes, {self.log2_Q:.0f} + {self.log2_P:.0f} "
            f"bits, {self.digits} digits; {self.security_bits:.1f} bits of security>"
        )


def as_request(
    relinearise: int, rotations: Iterable[int], swap_rows: bool, inner_sum: int
) -> tuple[int, list[int], bool]:
    """A request for keys as the C++ library takes it."""
    wanted = [as_integer("rotations", each, -(2**62), 2**62) for each in rotations]
    columns = as_integer("inner_sum", inner_sum, 0, 2**16)
    if columns & (columns - 1):
        raise ParameterError(f"inner_sum: {columns} is not a power of two")
    step = 1
    while step < columns:
        wanted.append(step)
        step *= 2
    return as_integer("relinearise", relinearise, 0, 2**31), wanted, bool(swap_rows)


def parameters(
    depth: int = 12,
    plain_modulus: int = 65537,
    N: int | None = None,
    dnum: int = 3,
    prime_bits: int = 30,
    sums: float = 3,
    slots: bool = True,
    *,
    literal: Mapping[str, Any] | None = None,
    allow_insecure: bool = False,
) -> Parameters:
    """The smallest ring and the shortest chain of primes that serve, at 128 bits or more.

    Args:
        depth: multiplications in sequence.
        plain_modulus: t, 2 … 2^31 - 1. Slots need a prime that is 1 modulo 2N: 65537 up to
            N = 32768, 786433 up to N = 131072.
        N: ring dimension; default: the least that is secure.
        dnum: digits of key switching, 1 … 16. More of them make larger keys and leave more bits
            for the chain.
        prime_bits: of each prime, 26 … 31 (32-bit words, the fast ones) or 46 … 60.
        sums: log2 of the sums at each level before it multiplies: 3 means eight ciphertexts of the
            same level, rotations included.
        slots: whether t must allow packing in slots.
        literal: a mapping with the fields of `ParameterLiteral` instead, with primes of one's own;
            the arguments above are then not used.
        allow_insecure: accept a literal that is estimated under 128 bits.

    Raises `ParameterError` naming the field, the value and the bound, or, if no ring up to
    N = 65536 serves, what was missing. `print(p.describe())` says what was picked.
    (OpenFHE: CCParams<CryptoContextBGVRNS>, GenCryptoContext.)

    >>> p = parameters(depth=12, plain_modulus=65537)
    >>> p.N, p.depth
    (32768, 12)
    """
    if literal is not None:
        if not isinstance(literal, Mapping):
            raise TypeError(f"literal: a mapping is needed, not {type(literal).__name__}")
        return Parameters(_core.BgvParameters.create(_build_literal(literal), allow_insecure))
    return Parameters(
        _core.BgvParameters.choose(
            as_integer("depth", depth, 0, 1000),
            as_integer("plain_modulus", plain_modulus, 0, 2**64 - 1),
            0 if N is None else _ring(N),
            as_integer("dnum", dnum, 1, 16),
            as_integer("prime_bits", prime_bits, 26, 60),
            _real("sums", sums),
            bool(slots),
        )
    )


def _ring(N: int) -> int:
    value = as_integer("N", N, 1024, 2**17)
    if value & (value - 1):
        raise ParameterError(f"N: {value} is not a power of two")
    return value
