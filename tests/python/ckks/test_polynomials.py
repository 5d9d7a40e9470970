"""Polynomials in clear and of ciphertexts, and functions that they approximate."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import LENGTHS, check
from numpy.polynomial import Chebyshev
from numpy.polynomial import Polynomial as Monomial
from support import CkksKit, make_ckks_kit
from whorl.ckks import Polynomial, approximate, evaluate


@pytest.fixture(scope="module")
def deep() -> CkksKit:
    return make_ckks_kit(depth=6)


def test_values_in_clear(generator: np.random.Generator) -> None:
    coefficients, x = generator.uniform(-1, 1, 12), generator.uniform(-2, 3, (2, 5))
    chebyshev = Polynomial(coefficients, low=-2, high=3)
    assert np.allclose(chebyshev(x), Chebyshev(coefficients, domain=[-2, 3])(x))
    monomial = Polynomial(coefficients, "monomial")
    assert np.allclose(monomial(x), Monomial(coefficients)(x))
    assert isinstance(monomial(0.5), float) and monomial(x).shape == x.shape
    assert (chebyshev.degree, chebyshev.depth) == (11, 5)
    assert (monomial.degree, monomial.depth, monomial.basis) == (11, 4, "monomial")
    assert Polynomial([1.0, 2.0, 0.0]).degree == 1
    again = pickle.loads(pickle.dumps(chebyshev))
    assert np.array_equal(again.coefficients, coefficients) and (again.low, again.high) == (-2, 3)
    assert repr(again) == "<Polynomial of degree 11, chebyshev, on -2 … 3, depth 5>"


def test_approximation() -> None:
    points = np.linspace(-4, 4, 1001)
    sigmoid = approximate(lambda x: 1 / (1 + math.exp(-x)), -4, 4, degree=15)
    assert sigmoid.degree == 15 and sigmoid.depth == 5
    assert np.abs(sigmoid(points) - 1 / (1 + np.exp(-points))).max() < 1e-3
    sine = approximate(np.sin, -4, 4, error=1e-4)
    assert sine.degree == 15 and np.abs(sine(points) - np.sin(points)).max() < 1e-4
    constant = approximate(math.exp, -4, 4, degree=0)
    assert constant.degree == 0 and constant(3.0) == constant.coefficients[0]
    assert abs(constant(3.0) - 1) < 1e-12  # e^0, of the only node


@pytest.mark.parametrize("length", [512, *LENGTHS])
def test_evaluation(deep: CkksKit, length: int) -> None:
    x = np.linspace(-1, 1, length)
    a = deep.server.upload(deep.client.encrypt(x))
    for polynomial in (
        approximate(math.exp, -1, 1, degree=15),
        Polynomial([0.5, 0, -1, 0.25], "monomial"),
        Polynomial([0.25, 0.5]),
        Polynomial([0.25]),
        approximate(math.cos, -2, 2, degree=7),
        approximate(math.exp, -1, 1, degree=0),
    ):
        for result in (evaluate(a, polynomial), a.evaluate(polynomial)):
            assert result.level == 6 - polynomial.depth
            values = deep.client.decrypt(result, raw=True)
            assert np.abs(values - polynomial(x)).max() < 1e-5
    host = deep.client.encrypt(x)
    assert deep.server.evaluate(host, Polynomial([0, 1])).shape == ()


def test_what_is_refused(deep: CkksKit) -> None:
    client, server = deep.client, deep.server
    host: Any = client.encrypt([0.5])
    x = server.upload(host)
    p = Polynomial([0, 0, 1.0])
    wide: Any = server.upload(client.encrypt([3.0], bound=3))

    def raising(_: float) -> float:
        raise LookupError("no value")

    def infinite(_: float) -> float:
        return math.inf

    def text(_: float) -> Any:
        return "a"

    number: Any = 0.5
    wrong: Any = "power"
    for error, match, work in (
        (whorl.EncodingError, "with_bound", lambda: evaluate(wide, p)),
        (whorl.EncodingError, "real numbers", lambda: evaluate(x * 1j, p)),
        (whorl.NoiseError, "takes 2 levels, .* has 1", lambda: evaluate(x.lower(1), p)),
        (TypeError, r"server\.upload", lambda: evaluate(host, p)),
        (TypeError, "ciphertexts are needed, not float", lambda: evaluate(number, p)),
        (TypeError, "a Polynomial is needed, not float", lambda: x.evaluate(number)),
        (whorl.ShapeError, "one axis", lambda: Polynomial([[1.0]])),
        (whorl.ShapeError, "one axis", lambda: Polynomial([])),
        (TypeError, "not complex", lambda: Polynomial([1j])),
        (whorl.ParameterError, "basis: 'power'", lambda: Polynomial([1], wrong)),
        (whorl.ParameterError, "no interval", lambda: Polynomial([1], low=1, high=1)),
        (whorl.ParameterError, "no interval", lambda: approximate(math.exp, 1, 0, degree=3)),
        (whorl.ParameterError, "degree", lambda: approximate(math.exp, 0, 1, degree=-1)),
        (whorl.ParameterError, "degree", lambda: approximate(math.exp, 0, 1, degree=5000)),
        (whorl.ParameterError, "error", lambda: approximate(math.exp, 0, 1, error=0)),
        (whorl.ParameterError, "not finite at", lambda: approximate(infinite, 0, 1, degree=3)),
        (
            whorl.ParameterError,
            r"differs from the function by 0\.\d+, above 1e-09$",
            lambda: approximate(np.sign, -1, 1, error=1e-9),
        ),
        (TypeError, "one of degree and error", lambda: approximate(math.exp, 0, 1)),
        (TypeError, "a function is needed", lambda: approximate(number, 0, 1, degree=3)),
        (LookupError, "no value", lambda: approximate(raising, 0, 1, degree=3)),
        (TypeError, "f: a real number is needed at", lambda: approximate(text, 0, 1, degree=3)),
    ):
        with pytest.raises(error, match=match):
            work()
    assert np.abs(client.decrypt(evaluate(wide.with_bound(1), p), raw=True) - p(3.0)).max() < 1e-3


def test_one_polynomial_for_each_value(deep: CkksKit, generator: np.random.Generator) -> None:
    """By NumPy, for rows of the mapping for all ciphertexts and for each."""
    each = [approximate(f, -2, 2, degree=15) for f in (np.sin, np.cos, np.tanh)]
    each.append(Polynomial([0.25, 0.5], low=-2, high=2))
    x = generator.uniform(-2, 2, (2, 3, 4))
    a = deep.server.upload(deep.client.encrypt(x, bound=2))

    def wanted(mapping: Any) -> Any:
        of = np.broadcast_to(np.asarray(mapping), (2, 3, 4))
        values = np.stack([p(x) for p in each] + [np.zeros_like(x)])
        return np.take_along_axis(values, np.where(of < 0, len(each), of)[None], axis=0)[0]

    for mapping in (
        [3, 2, -1, 0],
        [[0], [1], [2]],  # one for each ciphertext of a row
        generator.integers(-1, 4, (3, 4)),
        generator.integers(-1, 4, (2, 3, 1), dtype=np.int8),
        generator.integers(0, 4, (2, 3, 4), dtype=np.uint64),
    ):
        got = evaluate(a, each, mapping)
        assert got.level == a.level - 5 and got.packing == "real"
        check(deep, got, wanted(mapping))
        assert np.abs(deep.client.decrypt(got, raw=True) - wanted(mapping)).max() < 1e-5
    check(deep, a.evaluate(each), wanted([0, 1, 2, 3]))
    check(deep, deep.server.evaluate(deep.client.encrypt(x, bound=2), each), wanted([0, 1, 2, 3]))
    # A single ciphertext meets several rows.
    one = deep.server.upload(deep.client.encrypt(x[0, 0], bound=2))
    fan = one.evaluate(each, [[0], [1], [2], [3]])
    assert fan.shape == (4,)
    check(deep, fan, [p(x[0, 0]) for p in each])


@pytest.mark.parametrize("length", LENGTHS)
def test_a_polynomial_for_each_value_of_any_length(
    deep: CkksKit, generator: np.random.Generator, length: int
) -> None:
    each = [approximate(f, -2, 2, degree=15) for f in (np.sin, np.cos)]
    x = generator.uniform(-2, 2, (2, length))
    mapping = generator.integers(0, 2, (2, length))
    a = deep.server.upload(deep.client.encrypt(x, bound=2))
    check(deep, a.evaluate(each, mapping), np.where(mapping == 0, each[0](x), each[1](x)))


def test_mappings_that_are_refused(deep: CkksKit) -> None:
    x = deep.server.upload(deep.client.encrypt([[0.5, 0.25], [0.125, 1.0]]))
    p, q = Polynomial([0, 0, 1.0]), Polynomial([0, 1.0], "monomial")
    wrong: Any = [p, 0.5]
    for error, match, work in (
        (TypeError, "needs several polynomials", lambda: x.evaluate(p, [0, 0])),
        (TypeError, "a Polynomial is needed, not float", lambda: x.evaluate(wrong)),
        (TypeError, "integers are needed", lambda: x.evaluate([p, p], [0.5, 1])),
        (whorl.ParameterError, "mapping: .*2.* outside -1 … 1", lambda: x.evaluate([p, p], [0, 2])),
        (whorl.ParameterError, "outside -1 … 1", lambda: x.evaluate([p, p], [0, -2])),
        (whorl.ParameterError, "polynomial 1 has another basis", lambda: x.evaluate([p, q])),
        (
            whorl.ParameterError,
            "from -2 to 2 is not that from -1 to 1",
            lambda: x.evaluate([p, Polynomial([1.0], low=-2, high=2)]),
        ),
        (whorl.ParameterError, "^polynomial: there is no poly", lambda: x.evaluate([], [-1])),
        (whorl.ParameterError, "^polynomial: there is no poly", lambda: x.evaluate([])),
        (whorl.ShapeError, "2 values meets one of 3", lambda: x.evaluate([p, p, p])),
        (whorl.ShapeError, "a single number", lambda: x.evaluate([p], 0)),
        (ValueError, "broadcast", lambda: x.evaluate([p], np.zeros((3, 2), int))),
        (whorl.EncodingError, r"above 2\^61", lambda: x.evaluate([Polynomial([0, 2.0**22])], [0])),
        (whorl.NoiseError, "takes 2 levels", lambda: x.lower(1).evaluate([p, p])),
    ):
        with pytest.raises(error, match=match):
            work()
