"""Parameters: what is picked, literals, and what is refused."""

from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import DEVIATIONS
from support import ckks_literal
from whorl import ckks
from whorl.ckks import Parameters, parameters


def test_a_choice_says_what_it_picked() -> None:
    p = parameters(depth=3, scale_bits=35, slots=5000)
    assert p.depth == 3 and p.slots >= 5000 and p.N == 2 * p.slots and p.security_bits >= 128
    assert len(p.levels) == 4 and p.limbs == len(p.chain) and p.word_bits == 32
    assert p.scale(0) == 2.0**35 and p.log2_Q(0) >= 45
    assert [p.log2_Q(level) for level in range(4)] == sorted(p.log2_Q(i) for i in range(4))
    assert p.log2_Q() == p.log2_Q(3) and p.scale() == p.scale(3)
    for part in (f"N={p.N}", "depth 3", "scale 2^35.0", "bits of security", f"{p.slots} slots"):
        assert part in repr(p)
    assert f"N = {p.N}, {p.slots} slots" in p.describe()
    for level in (4, -1, 1.5):
        with pytest.raises(whorl.ParameterError, match="level"):
            p.scale(level)  # type: ignore[arg-type]


def test_literals() -> None:
    p = parameters(depth=2)
    assert parameters(literal=p.literal()) == p and hash(parameters(literal=p.literal())) == hash(p)
    literal = ckks_literal()
    toy = parameters(literal=literal, allow_insecure=True)
    assert toy.literal() == literal and toy != p and toy.name == "toy"
    with pytest.raises(whorl.ParameterError, match="allow_insecure"):
        parameters(literal=literal)
    for changes, match in (
        ({"N": 1000}, "N = 1000"),
        ({"levels": [(9, 9)]}, "level 0"),
        ({"levels": [3]}, r"levels: 3 must have the form \(terminals, others\)"),
        ({"chain": [7], "digit_limbs": 1}, "7"),
        ({"chain": 7}, "chain: 7 is not a list of primes"),
        ({"sigma": 100.0}, "sigma"),
        ({"log2_scale": 10}, "log2_scale"),
        ({"log2_scale": "a"}, "log2_scale: 'a' is not a number"),
        ({"t": 2}, "t: no field has this name"),
    ):
        with pytest.raises(whorl.ParameterError, match=match):
            wrong: Any = {**literal, **changes}
            parameters(literal=wrong, allow_insecure=True)
    with pytest.raises(whorl.ParameterError, match="special: it is missing"):
        parameters(literal={"N": 1024, "chain": [], "levels": []})
    with pytest.raises(whorl.ParameterError, match="depth = 5 is given beside a literal"):
        parameters(depth=5, literal=literal)
    with pytest.raises(whorl.ParameterError, match="without a literal"):
        parameters(allow_insecure=True)
    with pytest.raises(TypeError, match="a mapping is needed"):
        parameters(literal=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"whorl\.ckks\.parameters\(\)"):
        Parameters(3)


def test_requests_out_of_range() -> None:
    for wrong in (
        {"depth": -1},
        {"depth": 65},
        {"depth": 2.5},
        {"scale_bits": 27},
        {"scale_bits": 56},
        {"value_bits": 1},
        {"slots": 2**17},
        {"N": 1000},
        {"N": 2**18},
        {"N": 2048, "slots": 2000},
        {"dnum": 0},
        {"dnum": 81},
        {"word_bits": 16},
        {"word_bits": 64, "scale_bits": 40},
        {"depth": 20, "N": 4096},
        {"depth": 64, "scale_bits": 50},
    ):
        with pytest.raises(whorl.ParameterError):
            parameters(**wrong)


def test_digits_are_as_many_as_are_asked_for() -> None:
    """Up to one for each prime; without bootstraps and with them, in words of both lengths."""
    for needs, most in (
        ({"depth": 44}, 80),
        ({"depth": 5, "bootstrap": True}, 80),
        ({"depth": 30, "scale_bits": 50, "word_bits": 64}, 80),
    ):
        p = parameters(**needs, dnum=most)  # type: ignore[arg-type]
        assert p.digits == p.limbs and p.security_bits >= 128
        few = parameters(**needs, dnum=3)  # type: ignore[arg-type]
        assert few.digits == 3 and len(few.special) > len(p.special) == 1
    assert parameters(depth=44, dnum=45).digits > 16
    assert parameters(depth=1, dnum=80).digits == parameters(depth=1).limbs


@pytest.mark.parametrize(
    ("scale_bits", "value_bits", "word_bits", "depth", "bootstrap"),
    [
        (28, 2, 32, 0, False),
        (28, 20, 32, 2, False),
        (40, 10, 32, 1, False),
        (40, 10, 32, 5, False),
        (45, 15, 32, 3, False),
        (50, 8, 64, 1, False),
        (55, 3, 64, 2, False),
        (40, 8, 32, 1, True),
        (40, 10, 32, 1, True),
    ],
)
def test_level_0_holds_what_is_asked_for(
    scale_bits: int, value_bits: int, word_bits: int, depth: int, bootstrap: bool
) -> None:
    """In a small ring with the same primes."""
    p = parameters(
        depth, scale_bits, value_bits=value_bits, word_bits=word_bits, bootstrap=bootstrap
    )
    small = parameters(literal={**p.literal(), "N": 2048}, allow_insecure=True)
    client = ckks.Client(small)
    server = ckks.Server(client.evaluation_keys(relinearise=2), device="cpu", threads=1)
    values = 2.0**value_bits * np.array([1, -1, 0.5, 2**-20])
    low = server.upload(client.encrypt(values, bound=2.0**value_bits)).lower(0)
    assert np.abs(client.decrypt(low, raw=True) - values).max() < 2.0 ** (14 - scale_bits)


def test_values_that_level_0_cannot_hold_are_refused() -> None:
    with pytest.raises(whorl.ParameterError, match="take value_bits = 3 or fewer scale_bits"):
        parameters(1, 55, value_bits=4, word_bits=64)
    assert parameters(1, 55, word_bits=64).log2_Q(0) >= 1 + 55 + 3
    with pytest.raises(whorl.ParameterError, match="value_bits = 6 serves"):
        parameters(2, 52, value_bits=8, bootstrap=True)


def test_too_large_a_depth_names_bootstraps() -> None:
    with pytest.raises(whorl.ParameterError, match="depth = 57 serves; with bootstrap=True"):
        parameters(60)


def test_bounds_are_rounded_so_that_they_stay_true() -> None:
    p = parameters("W128_L13_B20")
    assert -105.8 < p.log2_failure < -105.7
    said = p.describe()
    assert "a refresh fails with a probability of at most 2^-105.7\n" in said
    assert "at least 169.9 bits of security, by the hybrid attack" in said
    assert p.sparse_security_bits == 169.9
    assert parameters("W128_L13_B17").sparse_security_bits == 167.4
    assert parameters("W128_L4_B11").sparse_security_bits == 144.7


def test_every_prime_can_be_a_digit() -> None:
    """The ring has the primes of a larger one, and is not secure."""
    chosen = parameters(depth=20, dnum=80)
    p = parameters(literal={**chosen.literal(), "N": 2048}, allow_insecure=True)
    assert p.digits == p.limbs > 16
    client = ckks.Client(p)
    server = ckks.Server(client.evaluation_keys(rotations=[1]), device="cpu")
    x = np.linspace(-1, 1, p.slots)
    a = server.upload(client.encrypt(x))
    result = (a * a).rotate(1)
    error = np.abs(client.decrypt(result, raw=True) - np.roll(x * x, -1)).max()
    assert error < DEVIATIONS * result.error


def test_secure_parameters_work() -> None:
    """The toys have the primes of larger rings; here is a real ring."""
    p = parameters(depth=2, scale_bits=50)
    client = ckks.Client(p)
    server = ckks.Server(client.evaluation_keys(sums=4), device="cpu")
    x = np.linspace(-1, 1, p.slots)
    a = server.upload(client.encrypt(x))
    result = (a * a - 0.5) * a
    values = client.decrypt(result, raw=True)
    assert np.abs(values - (x * x - 0.5) * x).max() < DEVIATIONS * result.error
    assert ckks.precision(values, (x * x - 0.5) * x).real.min > 20
    shared = client.release(result, queries=10)
    assert ckks.precision(shared, (x * x - 0.5) * x).real.min > 4
    b = server.upload(client.encrypt([0.1, 0.2, 0.3, 0.4]))
    assert abs(client.decrypt(b.sum(), raw=True)[0] - 1) < 1e-6
