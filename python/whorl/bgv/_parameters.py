"""Parameters: chosen from what a circuit needs, or built from a literal of plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .._core.literal import as_integer, as_long, as_real, as_text, as_word, list_of
from .._core.part import Part
from .._core.text import at_least_bits
from .._ring import parameters as ring
from .._server import bgv as _lib

MAX_MODULUS = 2**31
"""Plaintext moduli are below it."""
NO_QUOTIENTS = (
    "integers modulo t are not divided: multiply by the inverse, pow(d, -1, t), if d has one, or "
    "divide what is decrypted; FHEW/TFHE has tables of any function, x.apply(Lut(…))"
)


class ParameterLiteral(ring.RingLiteral, total=False):
    """Plain data for parameters of your own; `parameters(literal=...)` checks it.

    Fields without a default: N, t, chain, special.
    """

    t: int
    """Plaintext modulus, 2 … 2^31 - 1."""
    chain: Sequence[int]
    """Primes that are 1 modulo 2N, all of 25 to 31 bits or all of 45 to 60. A ciphertext starts
    with all of them and loses the last ones on its way."""
    depth: int
    """Multiplications in sequence that the chain was chosen for. Default 0."""
    plain_products: int
    """Products with plaintexts in sequence that it was chosen for, in addition. Default 0."""


class Parameters(ring.RingParameters):
    """Validated, immutable parameters; `parameters` makes them.

    They can be pickled, saved and loaded, compared, and used as keys of dictionaries.

    >>> p = parameters(depth=1)
    >>> p.t, p.has_slots, p.security_bits >= 128
    (65537, True, True)
    >>> print(p.describe().splitlines()[0])
    N = 8192, t = 65537 (slots)
    """

    __slots__ = ()

    _core: _lib.Parameters
    _literal: _lib.ParameterLiteral
    _scheme = "BGV"
    _instead = MappingProxyType(
        ring.INSTEAD
        | {
            **dict.fromkeys(
                ("comparison", "sign", "absolute"),
                "BGV has no comparison: CKKS has x.greater(y, stages), x.maximum(y, stages) and "
                "x.absolute(stages), and FHEW/TFHE has (x - y).eval_sign(); or decrypt first",
            ),
            "choice": "where s is 1 or 0, b + s * (a - b) is a or b; or decrypt first",
            **dict.fromkeys(("whole", "quotient"), NO_QUOTIENTS),
            "shift": f"x * 2**k is x << k; nothing is shifted to the right, since {NO_QUOTIENTS}",
            "power": "where t is prime, x ** (t - 2) is 1/x modulo t; a table of FHEW/TFHE, "
            "x.apply(Lut(…)), has any power",
            "function": "BGV has sums and products of integers: CKKS has "
            "x.evaluate(ckks.approximate({function}, low, high, error=e)), and FHEW/TFHE has "
            "tables, x.apply(Lut(…))",
            "number": "decrypt first, by client.decrypt(x)",
        }
    )
    _reader, _literal_type = _lib.Parameters, _lib.ParameterLiteral
    _required = ("N", "t", "chain", "special")
    _fields = MappingProxyType(
        {"name": as_text, "N": as_word, "t": as_long}
        | dict.fromkeys(("chain", "special"), list_of(as_long, "primes"))
        | {"digit_limbs": as_word, "sigma": as_real, "depth": as_word, "plain_products": as_word}
    )

    N = Part[int](
        "_literal.N", "Ring dimension; slots of a ciphertext (OpenFHE: GetRingDimension)."
    )
    t = Part[int](
        "_literal.t",
        "Plaintext modulus: values are integers modulo t (OpenFHE: GetPlaintextModulus).",
    )
    depth = Part[int](
        "_literal.depth",
        "Multiplications in sequence that they were chosen for (OpenFHE: MultiplicativeDepth).",
    )
    plain_products = Part[int](
        "_literal.plain_products",
        "Products with plaintexts in sequence, beside the multiplications, that they were chosen "
        "for.",
    )
    has_slots = Part[bool](
        "_core.has_slots",
        "Whether t is a prime that is 1 modulo 2N, so that vectors are packed in N slots.",
    )

    @property
    def log2_Q(self) -> float:
        """Bits of the ciphertext modulus at the top level."""
        return self._core.log2_Q

    def key_size(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        swap_rows: bool = False,
        sums: int = 0,
    ) -> int:
        """Bytes of the keys that `Client.evaluation_keys` with these arguments would make.

        On a server's device they take twice as many: the uniform halves travel as seeds.
        """
        return self._core.key_bytes(as_request(self, relinearise, rotations, swap_rows, sums))

    def key_count(
        self,
        relinearise: int = 3,
        rotations: Iterable[int] = (),
        swap_rows: bool = False,
        sums: int = 0,
    ) -> int:
        """How many switching keys `Client.evaluation_keys` with these arguments would make.

        >>> parameters(depth=1).key_count(rotations=[1, 2], swap_rows=True)
        4
        """
        return self._core.key_count(as_request(self, relinearise, rotations, swap_rows, sums))

    def literal(self) -> ParameterLiteral:
        """The fields as a dictionary; `parameters(literal=p.literal())` gives `p` again."""
        fields: ParameterLiteral = self._values()
        return fields

    def _details(self) -> list[tuple[str, str]]:
        return [
            ("N", f"{self.N:,}"),
            ("t", f"{self.t:,} ({'slots' if self.has_slots else 'coefficients only'})"),
            ("depth", str(self.depth)),
            ("products with plaintexts", str(self.plain_products)),
            ("Q, P", self._sizes(self.log2_Q)),
        ]

    def __repr__(self) -> str:
        slots = "slots" if self.has_slots else "coefficients only"
        return (
            f"<Parameters {self.name or 'unnamed'}: N={self.N}, t={self.t} ({slots}), "
            f"{self._sizes(self.log2_Q)}, {self.digits} digits; "
            f"{at_least_bits(self.security_bits)} bits of security>"
        )


def as_request(
    of: Parameters, relinearise: int, rotations: Iterable[int], swap_rows: bool, sums: int
) -> _lib.KeyRequest:
    """A request for keys as the C++ library takes it."""
    powers, wanted, swap, length = ring.as_request(relinearise, rotations, swap_rows, sums)
    if length > 1:
        turns, swaps = _lib.rotations_for_sum(of._core)
        wanted, swap = [*wanted, *turns], swap or swaps
    return _lib.KeyRequest(powers, wanted, swap)


def parameters(
    depth: int = 12,
    plain_modulus: int = 65537,
    N: int | None = None,
    dnum: int | None = None,
    prime_bits: int = 30,
    sums: float = 3,
    slots: bool = True,
    *,
    plain_products: int = 0,
    literal: Mapping[str, Any] | None = None,
    allow_insecure: bool = False,
) -> Parameters:
    """The smallest ring and the shortest chain of primes that serve, at 128 bits or more.

    Args:
        depth: multiplications in sequence.
        plain_modulus: t, 2 … 2^31 - 1. Slots need a prime that is 1 modulo 2N: 65537 up to
            N = 32768, 786433 up to N = 131072; `plain_modulus` finds others.
        N: ring dimension; default: the least that is secure.
        dnum: digits of key switching, 1 … 16. More of them make larger keys and leave more bits
            for the chain. Default: 3, or as many more or fewer as make the ring smaller or the
            chain shorter.
        prime_bits: of each prime, 26 … 31 (32-bit words, the fast ones) or 46 … 60.
        sums: log2 of the number of ciphertexts that are added up at each level before it
            multiplies, and after the last product. 3 means eight ciphertexts of the same level,
            rotations included. An inner sum of 2^k columns takes k, and a product with one integer
            c takes log2(c).
        slots: whether t must allow packing in slots.
        plain_products: products with plaintexts in sequence, 0 … 64, in addition to the
            multiplications and anywhere between them. The plaintexts may have any values. Each
            product takes log2(N·t/2) bits.
        literal: a mapping with the fields of `ParameterLiteral`, for primes of your own. It stands
            alone: `ParameterError` if an argument above is given too.
        allow_insecure: accept a literal that is estimated under 128 bits. `ParameterError` without
            a literal, since what is picked always has 128 bits.

    Raises `ParameterError` naming the field, the value and the bound, or, if no ring up to
    N = 131072 serves, what was missing. `print(p.describe())` says what was picked.
    (OpenFHE: CCParams<CryptoContextBGVRNS>, GenCryptoContext.)

    >>> p = parameters(depth=12, plain_modulus=65537)
    >>> p.N, p.depth
    (32768, 12)
    """
    given = dict(locals())
    del given["literal"], given["allow_insecure"]
    if literal is not None:
        ring.literal_alone(parameters, literal, given)
        return Parameters._create(literal, allow_insecure)
    ring.refuse_consent(allow_insecure)
    return Parameters(_lib.Parameters.choose(**checked_requirements(**given), limbs=0))


def plain_modulus(at_least: int = 2, N: int = 32768) -> int:
    """The least prime t ≥ `at_least` that packs vectors in slots.

    It is 1 modulo 2N, and so serves all rings up to N, a power of two 2^10 … 2^17. Noise grows with
    t, so take the smallest t that holds your values: 0 … t-1, or -(t-1)/2 … (t-1)/2 if they may be
    negative. `ParameterError` if there is none below 2^31; it names the largest that there is.

    >>> plain_modulus(at_least=100_000), plain_modulus(at_least=100_000, N=8192)
    (786433, 114689)
    """
    return _lib.plain_modulus(as_integer("at_least", at_least, 0, 2**64 - 1), ring.as_ring(N))


checked_requirements = ring.requirements(
    {
        "depth": ring.within(0, 1000),
        "plain_modulus": ring.within(0, 2**64 - 1),
        "N": lambda _, value: 0 if value is None else ring.as_ring(value),
        "dnum": ring.given_within(1, 16),
        "prime_bits": ring.within(26, 60),
        "sums": as_real,
        "slots": lambda _, value: bool(value),
        "plain_products": ring.within(0, 64),
    }
)
