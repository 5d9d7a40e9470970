"""Parameters: chosen from a depth, or a literal of one's own."""

from typing import Any

import pytest
import whorl
from support import BgvKit, bgv_literal, make_bgv_kit
from whorl.bgv import parameters, plain_modulus


def test_parameters_are_chosen_from_a_depth() -> None:
    chosen = parameters(depth=2)
    assert (chosen.t, chosen.depth, chosen.has_slots) == (65537, 2, True)
    assert chosen.security_bits >= 128
    assert chosen.limbs == len(chosen.chain)
    assert all(prime % (2 * chosen.N) == 1 for prime in (*chosen.chain, *chosen.special))
    assert chosen.digits == -(-chosen.limbs // chosen.digit_limbs)
    for part in (f"N = {chosen.N}", "65537", "slots", "bits of security"):
        assert part in chosen.describe()
    for part in (f"N={chosen.N}", "t=65537 (slots)", "bits of security"):
        assert part in repr(chosen)
    assert parameters(depth=2, N=2 * chosen.N).N == 2 * chosen.N
    wide = parameters(depth=2, prime_bits=55)
    assert wide.word_bits == 64 and chosen.word_bits == 32
    assert wide.chain[0] > 2**54
    assert not parameters(depth=1, plain_modulus=1000, slots=False).has_slots
    deeper = parameters(depth=2, sums=20)
    assert deeper.log2_Q > chosen.log2_Q


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"depth": 100}, "depth"),
        ({"depth": -1}, "depth"),
        ({"depth": 1.5}, "depth"),
        ({"depth": True}, "depth"),
        ({"plain_modulus": 1}, "t"),
        ({"plain_modulus": 2**31}, "t"),
        ({"plain_modulus": 1000}, "t"),
        ({"depth": 24}, "t"),
        ({"depth": 5, "N": 4096}, "N"),
        ({"N": 5000}, "N"),
        ({"N": 512}, "N"),
        ({"dnum": 0}, "dnum"),
        ({"dnum": 17}, "dnum"),
        ({"prime_bits": 40}, "prime_bits"),
        ({"prime_bits": 25}, "prime_bits"),
        ({"sums": -1}, "sums"),
        ({"sums": "3"}, "sums"),
        ({"plain_products": -1}, "plain_products"),
        ({"plain_products": 65}, "plain_products"),
        ({"plain_products": 1.5}, "plain_products"),
        ({"depth": 2, "N": 8192, "plain_products": 9}, "plain_products"),
    ],
)
def test_what_cannot_be_chosen_is_named(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
        parameters(**arguments)


def test_plain_moduli_that_serve() -> None:
    assert plain_modulus() == plain_modulus(65537) == 65537
    for N in (1024, 16384, 131072):
        t = plain_modulus(at_least=10**6, N=N)
        assert t >= 10**6 and t % (2 * N) == 1
        assert parameters(depth=1, plain_modulus=t, N=N).has_slots if N == 16384 else True
    with pytest.raises(whorl.ParameterError, match=r"at_least = 4294967296 is .* is 2147352577"):
        plain_modulus(2**32)
    for wrong in (0, 1000, 2**18, 1.5):
        with pytest.raises(whorl.ParameterError, match=r"\bN\b"):
            plain_modulus(2, N=wrong)  # type: ignore[arg-type]
    with pytest.raises(whorl.ParameterError, match="at_least"):
        plain_modulus(-1)


def test_a_modulus_that_does_not_serve_is_told_the_nearest() -> None:
    for t, depth, nearest in (
        (1000, 1, "nearest t that serves is 65537"),
        (100_000, 2, "nearest t that serve are 65537 and 114689"),
    ):
        with pytest.raises(whorl.ParameterError, match=nearest):
            parameters(depth=depth, plain_modulus=t)
    with pytest.raises(whorl.EncodingError, match="nearest t that serves is 12289"):
        make_bgv_kit(t=1000, limbs=3).client.encrypt([1])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"N": 1000}, "N"),
        ({"t": 1}, "t"),
        ({"chain": []}, "chain"),
        ({"chain": [1000003], "digit_limbs": 1}, "chain"),
        ({"chain": 3}, "chain"),
        ({"chain": ["3"]}, "chain"),
        ({"special": []}, "special"),
        ({"digit_limbs": 13}, "digit_limbs"),
        ({"sigma": 0.0}, "sigma"),
        ({"sigma": "3"}, "sigma"),
        ({"name": "x" * 65}, "name"),
        ({"name": 3}, "name"),
        ({"colour": 3}, "colour"),
    ],
)
def test_a_bad_literal_names_the_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
        parameters(literal={**bgv_literal(), **changes}, allow_insecure=True)


def test_arguments_without_an_effect_are_refused(toy_bgv: BgvKit) -> None:
    with pytest.raises(whorl.ParameterError, match="depth = 3 is given beside a literal"):
        parameters(depth=3, literal=toy_bgv.parameters.literal(), allow_insecure=True)
    with pytest.raises(whorl.ParameterError, match="sums = 0 is given beside a literal"):
        parameters(sums=0, literal=toy_bgv.parameters.literal(), allow_insecure=True)
    with pytest.raises(whorl.ParameterError, match="allow_insecure is given without a literal"):
        parameters(depth=3, allow_insecure=True)


def test_a_literal_of_ones_own(toy_bgv: BgvKit) -> None:
    literal = toy_bgv.parameters.literal()
    assert {k: literal[k] for k in bgv_literal()} == bgv_literal()  # type: ignore[literal-required]
    same = parameters(literal=literal, allow_insecure=True)
    assert same == toy_bgv.parameters and hash(same) == hash(toy_bgv.parameters)
    assert parameters(literal={**literal, "t": 65537}, allow_insecure=True) != same
    with pytest.raises(whorl.ParameterError, match="128"):
        parameters(literal=literal)
    for field in ("N", "t", "chain", "special"):
        rest = {k: v for k, v in literal.items() if k != field}
        with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
            parameters(literal=rest)
    with pytest.raises(TypeError):
        parameters(literal=3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        same.N = 3
