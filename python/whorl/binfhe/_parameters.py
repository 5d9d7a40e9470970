"""Parameters: a literal of plain data, and the immutable object that checking it gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypedDict

from .._core.integers import as_modulus
from .._core.literal import (
    CheckedParameters,
    as_flag,
    as_long,
    as_real,
    as_text,
    as_word,
    list_of,
    tuple_of,
)
from .._core.part import Part
from .._core.text import at_least_bits, at_most_chance, shown
from .._server import binfhe as _lib
from ..errors import ParameterError

Distribution = Literal["binary", "ternary", "gaussian"]
LweDistribution = Literal["binary", "ternary", "gaussian", "block_binary"]
Transform = Literal["ntt", "fft"]
RotationKind = Literal["ginx", "unrolled", "ap", "automorphism", "unrolled_all", "block"]


class ParameterLiteral(TypedDict, total=False):
    """Plain data for a parameter set of your own; `parameters` checks it.

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
    """Key-switching modulus: a power of two, q ≤ Q_ks ≤ 2^40, or Q itself. It may exceed Q."""
    key_switch: Literal["table", "product"]
    """How the key-switching key is used; `table` has least noise, `product` least memory."""
    log_B_ks: int
    """Bits of a key-switching digit, 1 … 16."""
    ks_digits: int
    """Digits kept from the top of Q_ks; 0 means all."""
    gadget: Sequence[tuple[int, int, int]]
    """Ranges (count, log_base, digits) of successive LWE coefficients; counts add up to n."""
    lwe_secret: LweDistribution
    """`binary` or `ternary` for `ginx`, `binary` for `unrolled` and `unrolled_all`.

    `block_binary`, with the rotation `block` only: blocks of `group` coefficients, of which at most
    one is 1, all such blocks equally likely (Lee, Min, Song, CCS 2023). No estimate of attacks on
    blocks stands behind the security bits, so that such a key counts as 0 bits and needs
    `allow_insecure=True` (docs/parameters.md).
    """
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
    small_modulus_gadgets: Sequence[tuple[int, int, int]]
    """Up to 4 gadgets (log_modulus, log_base, digits), log_modulus decreasing.

    `Server.eval_floor`, `eval_sign` and `eval_decomp` rotate with such a gadget while their modulus
    is at most 2^log_modulus (OpenFHE: timeOptimization). Each has a key of its own. Default: none.
    """
    rotation: tuple[RotationKind, int] | tuple[RotationKind, int, int]
    """The method of blind rotation: kind, group and, if products are modulo P·Q, P.

    `group` is 1 for `ginx`; coefficients of a group for `unrolled` (2^group - 1 keys) and
    `unrolled_all` (2^group), 1 … 8; the base of digits for `ap`, 2 … 4096; the window for
    `automorphism`, 1 … 256; the length of blocks for `block`, 2 … 8, which divides n (a key for
    each coefficient of a `block_binary` LWE secret). Default ("ginx", 1, 1).
    """


@dataclasses.dataclass(frozen=True)
class Security:
    """Estimated security in bits, from the table of lattice estimates (docs/parameters.md)."""

    lwe_bits: float
    """Security of the LWE key at Q_ks; 0 if it is `block_binary`, which was not estimated."""
    ring_bits: float
    """Security of the ring key at Q."""

    @property
    def bits(self) -> float:
        """The smaller of the two."""
        return min(self.lwe_bits, self.ring_bits)


@dataclasses.dataclass(frozen=True)
class NoiseEstimate:
    """Variances predicted for one bootstrap; "at Q" means in squared units of Q.

    The formulas, with their sources, are beside their operations in `src/lattice/lwe/noise.h`.
    """

    blind_rotation: float
    """The variance of an extracted coefficient, at Q."""
    switch_to_ks: float
    """What the rounding from Q to Q_ks adds, at Q_ks."""
    key_switch: float
    """What the key switch adds, at Q_ks."""
    switch_to_q: float
    """What the rounding from Q_ks to q adds, at q."""
    refreshed: float
    """The variance of a bootstrapped ciphertext, at q."""
    constant: float
    """What of `refreshed` is the same error in all bootstrapped ciphertexts under one key."""
    rotation_constant: float
    """What of `blind_rotation` is the same error under one key, at Q."""
    fresh: float
    """The variance of a fresh encryption, at q."""
    rotation_rounding: float
    """What the rounding from q to 2N before a blind rotation adds, at 2N."""
    small_modulus_rotations: tuple[float, ...] = ()
    """The same as `blind_rotation`, by the key of each of `small_modulus_gadgets`."""


def _as_rotation(field: str, value: Any) -> tuple[str, int, int]:
    """(kind, group) or (kind, group, P)."""
    form = f"{field}: {shown(value)} must have the form (kind, group) or (kind, group, P)"
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise ParameterError(form)
    if len(value) not in (2, 3):
        raise ParameterError(form)
    kind, group, *raised = value
    raised_by = as_long(field, raised[0]) if raised else 1
    return as_text(field, kind), as_word(field, group), raised_by


_TABLE = (
    "write x.apply(Lut(x.parameters, [f(m) for m in range(x.p)], padding=x.padding)), with f of "
    "one int"
)


class Parameters(CheckedParameters):
    """Validated, immutable parameters; `parameters` makes them.

    Two are equal if their digests are, that is, if all fields that change ciphertexts or keys are.
    They can be pickled, saved and loaded, and used as keys of dictionaries.

    >>> p = parameters("W128_P64")
    >>> p.security.bits >= 128, p.failure_log2 <= -64
    (True, True)
    """

    __slots__ = ()

    _core: _lib.Parameters
    _literal: _lib.ParameterLiteral
    _scheme = "FHEW/TFHE"
    _instead = MappingProxyType(
        {
            "comparison": "(x - y).eval_sign() is 1 where x < y, server.xnor(x, y) is 1 where bits "
            "are equal, and server.mux(s, x, y) is x where the bit s is 1; or decrypt first",
            "choice": "server.mux(s, a, b) is a where the bit s is 1, else b; or decrypt first",
            "sign": "x.eval_sign() is 1 where x is negative",
            **dict.fromkeys(("absolute", "power", "quotient", "whole"), _TABLE),
            "shift": "write x * 2**k for x << k, and x.eval_floor(k) for x >> k",
            "bits": "write & | ^ ~ or server.gate, of bits",
            "product": "bits are multiplied by x & y, and server.linear(weights, arrays) has "
            "products with integers; BGV and CKKS multiply numbers",
            "total": "write server.linear([1] * len(x), list(x)) for the sum",
            "axis": "it is a single ciphertext; x.reshape(1) has an axis",
            "function": f"{_TABLE}: {{function}}, scaled and rounded",
            "number": "decrypt first, by client.decrypt(x)",
        }
    )
    _reader = _lib.Parameters
    _literal_type = _lib.ParameterLiteral
    _fields = MappingProxyType(
        {"name": as_text, "source": as_text, "n": as_word, "q": as_long, "N": as_word}
        | {"Q": as_long, "Q_ks": as_long, "key_switch": as_text}
        | {"log_B_ks": as_word, "ks_digits": as_word}
        | {"gadget": list_of(tuple_of(as_word, "count, log_base, digits"), "tuples")}
        | {"lwe_secret": as_text, "ring_secret": as_text}
        | {"sigma_lwe": as_real, "sigma_ring": as_real}
        | {"transform": as_text, "max_p": as_word, "padding": as_flag, "rotation": _as_rotation}
        | {
            "small_modulus_gadgets": list_of(
                tuple_of(as_word, "log_modulus, log_base, digits"), "tuples"
            )
        }
    )
    _required = ("n", "q", "N", "Q", "Q_ks", "log_B_ks", "gadget")

    name = Part[str]("_literal.name", "Name of the set.")
    source = Part[str]("_literal.source", "Where the set comes from.")
    n = Part[int]("_literal.n", "LWE dimension: a ciphertext has n + 1 words.")
    q = Part[int]("_literal.q", "LWE ciphertext modulus.")
    N = Part[int]("_literal.N", "Ring dimension.")
    Q = Part[int]("_literal.Q", "Ring modulus.")
    Q_ks = Part[int]("_literal.Q_ks", "Key-switching modulus.")
    key_switch = Part[str]("_literal.key_switch", "`table` or `product`.")
    log_B_ks = Part[int]("_literal.log_B_ks", "Bits of a key-switching digit.")
    key_switch_digits = Part[int]("_core.key_switch_digits", "Digits of key switching in use.")
    key_switch_rows = Part[int]("_core.key_switch_rows", "LWE rows of the key-switching key.")
    gadget = Part[tuple[tuple[int, int, int], ...]](
        "_literal.gadget", "Ranges (count, log_base, digits) of successive LWE coefficients.", tuple
    )
    small_modulus_gadgets = Part[tuple[tuple[int, int, int], ...]](
        "_literal.small_modulus_gadgets",
        "Gadgets (log_modulus, log_base, digits) of the rotation keys for small moduli.",
        tuple,
    )
    keys_per_coefficient = Part[int](
        "_core.keys_per_coefficient",
        "Secret polynomials encrypted per LWE coefficient: 1 for binary keys, 2 for ternary.",
    )
    rotation_key_rows = Part[int]("_core.rotation_key_rows", "RLWE rows of all rotation keys.")
    rotation_transforms = Part[float](
        "_core.rotation_transforms", "Expected transforms of N coefficients of one blind rotation."
    )
    rotation = Part[tuple[str, int, int]](
        "_literal.rotation", "The method of blind rotation: kind, group, and P or 1.", tuple
    )
    key_switch_key_bytes = Part[int](
        "_core.key_switch_key_bytes", "Bytes of the key-switching key on a device, about."
    )
    lwe_secret = Part[str]("_literal.lwe_secret", "Distribution of the LWE key's coefficients.")
    ring_secret = Part[str]("_literal.ring_secret", "Distribution of the ring key's coefficients.")
    sigma_lwe = Part[float](
        "_literal.sigma_lwe", "Standard deviation of errors at Q_ks, and of fresh ones at q."
    )
    sigma_ring = Part[float]("_literal.sigma_ring", "Standard deviation of errors at Q.")
    transform = Part[str]("_literal.transform", "`ntt` or `fft`: the default of a server.")
    max_p = Part[int](
        "_literal.max_p", "Largest p of an arbitrary look-up table that the set is meant for."
    )
    padding = Part[bool]("_literal.padding", "Whether `max_p` counts messages under a padding bit.")

    def rotation_key_bytes(self, transform: str | None = None) -> int:
        """Bytes of the blind-rotation key on a device, about, with `transform`."""
        return self._core.rotation_key_bytes(self._by(transform))

    @property
    def key_bytes(self) -> int:
        """Bytes of both evaluation keys on a device, about, with the set's transform."""
        return self.rotation_key_bytes() + self.key_switch_key_bytes

    @property
    def security(self) -> Security:
        """Estimated security, in bits."""
        return Security(*self._core.security)

    security_bits = Part[float]("security.bits", "Estimated security of the weaker key, in bits.")

    @property
    def failure_log2(self) -> float:
        """log2 of the failure probability of the worst standard operation, with `transform`.

        That is a two-input gate on bootstrapped bits, or for `max_p` > 4 a table of `max_p` on a
        bootstrapped input.
        """
        return self._core.failure_log2(self.transform)

    def gate_failure_log2(
        self, sum_of_squares: float = 2, margin_sectors: float = 4, transform: str | None = None
    ) -> float:
        """log2 of the failure probability of a gate on bootstrapped bits.

        `sum_of_squares` is the sum of the squares of the inputs' weights. The gate decides with a
        margin of q / (2 `margin_sectors`). The two arguments are 2 and 4 for AND, OR, NAND and NOR,
        8 and 2 for XOR and XNOR, 3 and 4 for MAJORITY, 3 and 6 for AND3 and OR3, and 4 and 8 for
        AND4 and OR4.
        """
        squares = as_real("sum_of_squares", sum_of_squares)
        sectors = as_real("margin_sectors", margin_sectors)
        return self._core.gate_failure_log2(squares, sectors, self._by(transform))

    def lut_failure_log2(
        self,
        p: int,
        padding: bool = False,
        arbitrary: bool = True,
        transform: str | None = None,
        tables: int = 1,
    ) -> float:
        """log2 of the failure probability of a table of `p` values on a bootstrapped input.

        With `arbitrary` it is a table of any function without padding, in two blind rotations.
        `tables` is how many tables share the rotations (`Server.apply_many`), 1 … N; `RangeError`
        for another number.
        """
        encoding, many = (as_modulus(p, "p"), bool(padding)), as_modulus(tables, "tables")
        by = self._by(transform)
        return self._core.lut_failure_log2(encoding, bool(arbitrary), by, many)

    def sign_failure_log2(self, p: int, transform: str | None = None) -> float:
        """log2 of the failure probability of `Server.eval_sign` on a fresh message modulo `p`.

        0 if p is not a power of two, or is above q/256. `Server.eval_decomp` fails as often.
        """
        return self._core.sign_failure_log2(as_modulus(p, "p"), self._by(transform))

    def floor_failure_log2(self, p: int, round_bits: int, transform: str | None = None) -> float:
        """The same of `Server.eval_floor`. 0 also unless 1 ≤ `round_bits` < log2 p."""
        return self._core.floor_failure_log2(p, round_bits, transform or self.transform)

    def fresh_failure_log2(self, p: int = 4, padding: bool = False) -> float:
        """log2 of the probability that a fresh ciphertext decrypts to another message."""
        return self._core.fresh_failure_log2((as_modulus(p, "p"), bool(padding)))

    def noise(self, transform: str | None = None) -> NoiseEstimate:
        """Noise variances predicted for one bootstrap, with `transform` (default: the set's)."""
        return NoiseEstimate(**self._core.noise(self._by(transform)))

    def _by(self, transform: str | None) -> str:
        """That transform, or the set's."""
        return self.transform if transform is None else as_text("transform", transform)

    def literal(self) -> ParameterLiteral:
        """The fields as a dictionary; `parameters(p.literal())` gives `p` again."""
        literal: ParameterLiteral = self._values()
        return literal

    def _details(self) -> list[tuple[str, str]]:
        return [
            ("LWE", f"n = {self.n}, q = {_power(self.q)}, {self.lwe_secret} key"),
            ("ring", f"N = {self.N}, Q = {_power(self.Q)}, {self.ring_secret} key"),
            ("largest p", f"{self.max_p}{', padded' if self.padding else ''}"),
            ("transform", self.transform),
            ("rotation", describe_rotation(self.rotation)),
            ("keys on a device", f"{self.key_bytes / 1e6:.0f} MB"),
            ("failure", f"2^{self.failure_log2:.1f}"),
        ]

    def __repr__(self) -> str:
        return (
            f"<Parameters {self.name or 'unnamed'}: n={self.n}, q={_power(self.q)}, N={self.N}, "
            f"Q={_power(self.Q)}, {self.lwe_secret} key, {self.transform}; "
            f"{at_least_bits(self.security.bits)} bits, failure "
            f"{at_most_chance(self.failure_log2)}>"
        )


def describe_rotation(rotation: tuple[str, int, int]) -> str:
    """
    >>> describe_rotation(("ap", 32, 1)), describe_rotation(("ginx", 1, 1038337))
    ('ap 32', 'ginx, P = 1038337')
    """
    kind, group, raised_by = rotation
    text = kind if kind == "ginx" else f"{kind} {group}"
    return text if raised_by == 1 else f"{text}, P = {raised_by}"


def _power(value: int) -> str:
    """2^k, or about 2^k, as people read moduli."""
    if value & (value - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    return f"{value} (< 2^{value.bit_length()})"


def parameters(
    literal: str | Mapping[str, Any] | Parameters, allow_insecure: bool = False
) -> Parameters:
    """Parameters of a named set, or of a literal of your own.

    `literal` is a name of `parameter_sets()` or a mapping with the fields of `ParameterLiteral`.
    `ParameterError` names the field, the value and the bound. It is also raised for a set estimated
    under 128 bits unless `allow_insecure`. For an unknown name it lists similar names.
    (OpenFHE: GenerateBinFHEContext.)

    >>> parameters("W128_P64").lwe_secret in ("binary", "ternary")
    True
    """
    if isinstance(literal, Parameters):
        return literal
    if isinstance(literal, str):
        return Parameters(_lib.Parameters.named(as_text("name", literal), bool(allow_insecure)))
    if isinstance(literal, Mapping):
        return Parameters._create(literal, allow_insecure)
    raise TypeError(f"a name or a mapping is needed, not {type(literal).__name__}")


def parameter_sets() -> list[str]:
    """Names of all sets, Whorl's own first.

    >>> "W128_P64" in parameter_sets()
    True
    """
    return _lib.Parameters.names()
