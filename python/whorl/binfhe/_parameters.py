"""Parameters: a literal of plain data, and the immutable object that checking it gives."""

from __future__ import annotations

import dataclasses
import numbers
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from .. import _core
from ..errors import ParameterError

Distribution = Literal["binary", "ternary", "gaussian"]
Transform = Literal["ntt", "fft"]

_WORD32 = ("n", "N", "log_B_ks", "ks_digits", "max_p")
_WORD64 = ("q", "Q", "Q_ks")
_REAL = ("sigma_lwe", "sigma_ring")
_TEXT = ("name", "source", "key_switch", "lwe_secret", "ring_secret", "transform")
_FIELDS = (
    *("name", "source", "n", "q", "N", "Q", "Q_ks", "key_switch", "log_B_ks", "ks_digits"),
    *("gadget", "lwe_secret", "ring_secret", "sigma_lwe", "sigma_ring", "transform"),
    *("max_p", "padding"),
)
_REQUIRED = ("n", "q", "N", "Q", "Q_ks", "log_B_ks", "gadget")


class ParameterLiteral(TypedDict, total=False):
    """Plain data for a parameter set of one's own; `parameters` checks it.

    Fields without a default: n, q, N, Q, Q_ks, log_B_ks, gadget.
    """

    name: str
    """Free text up to 64 characters."""
    source: str
    """Where the set comes from, for people."""
    n: int
    """LWE dimension, 16 … 4096."""
    q: int
    """LWE ciphertext modulus, a power of two up to 2^32."""
    N: int
    """Ring dimension, a power of two, 2^8 … 2^13."""
    Q: int
    """Ring modulus, a prime that is 1 modulo 2N, below 2^31 or up to 2^60."""
    Q_ks: int
    """Key-switching modulus: a power of two, q ≤ Q_ks ≤ 2^40, or Q itself."""
    key_switch: Literal["table", "product"]
    """How the key-switching key is used; `table` has least noise, `product` least memory."""
    log_B_ks: int
    """Bits of a key-switching digit, 1 … 16."""
    ks_digits: int
    """Digits kept from the top of Q_ks; 0 means all."""
    gadget: Sequence[tuple[int, int, int]]
    """Ranges (count, log_base, digits) of successive LWE coefficients; counts add up to n."""
    lwe_secret: Distribution
    """`binary` or `ternary`."""
    ring_secret: Distribution
    sigma_lwe: float
    """Standard deviation of errors at Q_ks, and of fresh encryptions at q. Default 3.19."""
    sigma_ring: float
    """Standard deviation of errors at Q. Default 3.19."""
    transform: Transform
    """How polynomials are multiplied: exactly (`ntt`) or in doubles (`fft`)."""
    max_p: int
    """Largest p of an arbitrary look-up table that the set is meant for. Default 4."""
    padding: bool
    """Whether max_p counts messages under a padding bit."""


@dataclasses.dataclass(frozen=True)
class Security:
    """Estimated security in bits, under the table of measured lattice estimates."""

    lwe_bits: float
    """Of the LWE key at Q_ks."""
    ring_bits: float
    """Of the ring key at Q."""

    @property
    def bits(self) -> float:
        """The smaller of the two."""
        return min(self.lwe_bits, self.ring_bits)


@dataclasses.dataclass(frozen=True)
class NoiseEstimate:
    """Variances predicted for one bootstrap, each in squared units of the modulus named.

    The formulas, with their sources, are beside their operations in `src/lattice/lwe/noise.h`.
    """

    blind_rotation: float
    """Of an extracted coefficient, at Q."""
    switch_to_ks: float
    """Of the rounding from Q to Q_ks, at Q_ks."""
    key_switch: float
    """Of the key switch, at Q_ks."""
    switch_to_q: float
    """Of the rounding from Q_ks to q, at q."""
    refreshed: float
    """Of a bootstrapped ciphertext, at q."""
    fresh: float
    """Of a fresh encryption, at q."""
    rotation_rounding: float
    """Of the rounding from q to 2N before a blind rotation, at 2N."""


def _integer(field: str, value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(f"{field}: {value!r} is not an integer")
    if not 0 <= int(value) < 2**bits:
        raise ParameterError(f"{field}: {value} is outside 0 … 2^{bits} - 1")
    return int(value)


def _build_literal(fields: Mapping[str, Any]) -> _core.ParameterLiteral:
    """The C++ literal of a mapping; `ParameterError` names a field that is unknown or missing."""
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise ParameterError(f"{unknown[0]}: no such field; there are {', '.join(_FIELDS)}")
    missing = [field for field in _REQUIRED if field not in fields]
    if missing:
        raise ParameterError(
            f"{missing[0]}: missing; a literal has at least {', '.join(_REQUIRED)}"
        )
    literal = _core.ParameterLiteral()
    for field, value in fields.items():
        if field in _WORD32:
            value = _integer(field, value, 32)
        elif field in _WORD64:
            value = _integer(field, value, 64)
        elif field in _REAL:
            if isinstance(value, bool) or not isinstance(value, numbers.Real):
                raise ParameterError(f"{field}: {value!r} is not a number")
            value = float(value)
        elif field in _TEXT:
            if not isinstance(value, str):
                raise ParameterError(f"{field}: {value!r} is not a string")
        elif field == "padding":
            if not isinstance(value, bool):
                raise ParameterError(f"{field}: {value!r} is not a bool")
        else:
            try:
                ranges = [tuple(each) for each in value]
            except TypeError:
                ranges = [()]
            if any(len(each) != 3 for each in ranges):
                raise ParameterError(
                    f"{field}: {value!r} is not a list of (count, log_base, digits)"
                )
            value = [tuple(_integer(field, number, 32) for number in each) for each in ranges]
        setattr(literal, field, value)
    return literal


class Parameters:
    """Validated, immutable parameters; `parameters` makes them.

    Two are equal if their digests are, that is, if all fields that change ciphertexts or keys are.
    They can be pickled, saved and loaded, and used as keys of dictionaries.

    >>> p = parameters("W128_P64")
    >>> p.security.bits >= 128, p.failure_log2 <= -64
    (True, True)
    """

    __slots__ = ("_core", "_literal")

    def __init__(self, core: _core.Parameters) -> None:
        if not isinstance(core, _core.Parameters):
            raise TypeError("parameters are made by whorl.binfhe.parameters()")
        self._core = core
        self._literal = core.literal

    @property
    def name(self) -> str:
        """Name of the set."""
        return self._literal.name

    @property
    def source(self) -> str:
        """Where the set comes from."""
        return self._literal.source

    @property
    def n(self) -> int:
        """LWE dimension: a ciphertext has n + 1 words."""
        return self._literal.n

    @property
    def q(self) -> int:
        """LWE ciphertext modulus."""
        return self._literal.q

    @property
    def N(self) -> int:
        """Ring dimension."""
        return self._literal.N

    @property
    def Q(self) -> int:
        """Ring modulus."""
        return self._literal.Q

    @property
    def Q_ks(self) -> int:
        """Key-switching modulus."""
        return self._literal.Q_ks

    @property
    def key_switch(self) -> str:
        """`table` or `product`."""
        return self._literal.key_switch

    @property
    def log_B_ks(self) -> int:
        """Bits of a key-switching digit."""
        return self._literal.log_B_ks

    @property
    def key_switch_digits(self) -> int:
        """Digits of key switching in use."""
        return self._core.key_switch_digits

    @property
    def key_switch_rows(self) -> int:
        """LWE rows of the key-switching key."""
        return self._core.key_switch_rows

    @property
    def gadget(self) -> tuple[tuple[int, int, int], ...]:
        """Ranges (count, log_base, digits) of successive LWE coefficients."""
        return tuple(self._literal.gadget)

    @property
    def keys_per_coefficient(self) -> int:
        """Secret polynomials encrypted per LWE coefficient: 1 for binary keys, 2 for ternary."""
        return self._core.keys_per_coefficient

    @property
    def rotation_key_rows(self) -> int:
        """RLWE rows of the blind-rotation key."""
        return self._core.rotation_key_rows

    @property
    def lwe_secret(self) -> str:
        """Distribution of the LWE key's coefficients."""
        return self._literal.lwe_secret

    @property
    def ring_secret(self) -> str:
        """Distribution of the ring key's coefficients."""
        return self._literal.ring_secret

    @property
    def sigma_lwe(self) -> float:
        """Standard deviation of errors at Q_ks, and of fresh encryptions at q."""
        return self._literal.sigma_lwe

    @property
    def sigma_ring(self) -> float:
        """Standard deviation of errors at Q."""
        return self._literal.sigma_ring

    @property
    def transform(self) -> str:
        """`ntt` or `fft`: the default of a server."""
        return self._literal.transform

    @property
    def max_p(self) -> int:
        """Largest p of an arbitrary look-up table that the set is meant for."""
        return self._literal.max_p

    @property
    def padding(self) -> bool:
        """Whether `max_p` counts messages under a padding bit."""
        return self._literal.padding

    @property
    def security(self) -> Security:
        """Estimated security, in bits."""
        return Security(*self._core.security)

    @property
    def failure_log2(self) -> float:
        """log2 of the failure probability of the worst standard operation, with `transform`.

        A two-input gate on bootstrapped bits; for `max_p` > 4 also a table on a bootstrapped input.
        """
        return self._core.failure_log2(self.transform)

    def gate_failure_log2(
        self, sum_of_squares: float = 2, margin_sectors: float = 4, transform: str | None = None
    ) -> float:
        """log2 failure probability of a gate on bootstrapped bits.

        `sum_of_squares` of the weights of its inputs, deciding with a margin of
        q / (2 `margin_sectors`): 2 and 4 for AND, OR, NAND, NOR; 8 and 2 for XOR, XNOR; 3 and 4 for
        MAJORITY; 3 and 6 for AND3, OR3; 4 and 8 for AND4, OR4.
        """
        return self._core.gate_failure_log2(
            sum_of_squares, margin_sectors, transform or self.transform
        )

    def lut_failure_log2(
        self, p: int, padding: bool = False, arbitrary: bool = True, transform: str | None = None
    ) -> float:
        """log2 failure probability of a table of `p` values on a bootstrapped input.

        `arbitrary`: any function without padding, which takes two blind rotations.
        """
        return self._core.lut_failure_log2(p, padding, arbitrary, transform or self.transform)

    def noise(self, transform: str | None = None) -> NoiseEstimate:
        """Noise variances predicted for one bootstrap, with `transform` (default: the set's)."""
        return NoiseEstimate(**self._core.noise(transform or self.transform))

    @property
    def digest(self) -> str:
        """BLAKE2b-128 over all fields that change ciphertexts or keys, in hexadecimal."""
        return self._core.digest.hex()

    def literal(self) -> ParameterLiteral:
        """The fields as a dictionary; `parameters(p.literal())` gives `p` again."""
        result: Any = {field: getattr(self._literal, field) for field in _FIELDS}
        literal: ParameterLiteral = result
        return literal

    def to_bytes(self) -> bytes:
        """The frame that `save` writes."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes, allow_insecure: bool = False) -> Parameters:
        """Inverse of `to_bytes`; a child of `FormatError`, or `ParameterError`, for bad bytes."""
        return cls(_core.Parameters.from_bytes(data, allow_insecure))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `load` reads. `IoError` if the system refuses."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str], allow_insecure: bool = False) -> Parameters:
        """Reads and checks a file; children of `FormatError`, `ParameterError`, `IoError`."""
        return cls(_core.Parameters.load(os.fspath(path), allow_insecure))

    def __reduce__(self) -> tuple[Any, ...]:
        return Parameters.from_bytes, (self.to_bytes(), True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameters) and self._core.digest == other._core.digest

    def __hash__(self) -> int:
        return hash(self._core.digest)

    def __repr__(self) -> str:
        return (
            f"<Parameters {self.name or 'unnamed'}: n={self.n}, q={_power(self.q)}, N={self.N}, "
            f"Q={_power(self.Q)}, {self.lwe_secret} key, {self.transform}; "
            f"{self.security.bits:.1f} bits, failure 2^{self.failure_log2:.1f}>"
        )


def _power(value: int) -> str:
    """2^k, or about 2^k, as people read moduli."""
    if value & (value - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    return f"{value} (< 2^{value.bit_length()})"


def parameters(
    literal: str | Mapping[str, Any] | Parameters, allow_insecure: bool = False
) -> Parameters:
    """Parameters by name, or of a literal of one's own.

    `literal` is a name of `parameter_sets()` or a mapping with the fields of `ParameterLiteral`.
    `ParameterError` names the field, the value and the bound; it is also raised for a set estimated
    under 128 bits unless `allow_insecure`, and lists near names for a name that is not known.
    (OpenFHE: GenerateBinFHEContext.)

    >>> parameters("W128_P64").lwe_secret in ("binary", "ternary")
    True
    """
    if isinstance(literal, Parameters):
        return literal
    if isinstance(literal, str):
        return Parameters(_core.Parameters.named(literal, allow_insecure))
    if isinstance(literal, Mapping):
        return Parameters(_core.Parameters.create(_build_literal(literal), allow_insecure))
    raise TypeError(f"a name or a mapping is needed, not {type(literal).__name__}")


def parameter_sets() -> list[str]:
    """Names of all sets, Whorl's own first.

    >>> "W128_P64" in parameter_sets()
    True
    """
    return _core.Parameters.names()
