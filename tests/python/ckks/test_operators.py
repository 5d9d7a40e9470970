"""Operators of arrays on a device against NumPy's complex128."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import LENGTHS, check, random_complex
from support import CkksKit
from whorl import ckks


@pytest.mark.parametrize("length", [8, *LENGTHS])
def test_operators(any_ckks: CkksKit, generator: np.random.Generator, length: int) -> None:
    kit = any_ckks
    shapes = (2, length), (2, length), (length,)
    x, y, row = (random_complex(generator, *shape) for shape in shapes)
    divisors = np.resize([1, 2, 4, 8], length)
    a, b = (kit.server.upload(kit.client.encrypt(values)) for values in (x, y))
    half = kit.server.upload(kit.client.encrypt(x / 2))
    top = kit.parameters.depth
    assert a.level == top and a.packing == "complex"
    bare = a.multiply(b, relinearise=False, rescale=False)
    assert (bare.parts, bare.level) == (3, top)
    cases: list[tuple[Any, Any, int]] = [
        (a + b, x + y, 0),
        (a - b, x - y, 0),
        (-a, -x, 0),
        (+a, x, 0),
        (a * b, x * y, 1),
        (bare, x * y, 0),
        (bare.relinearise().rescale(), x * y, 1),
        (a.square(), x * x, 1),
        (a**0, np.ones_like(x), 0),
        (a**1, x, 0),
        (a**2, x**2, 1),
        (a**3, x**3, 2),
        (a**5, x**5, 3),
        (a**8, x**8, 3),
        (a + 5, x + 5, 0),
        (0.25 + a, x + 0.25, 0),
        (a - 5, x - 5, 0),
        (0.5j - a, 0.5j - x, 0),
        (a + np.float32(0.5), x + 0.5, 0),
        (a + Fraction(1, 2), x + 0.5, 0),
        (a * np.array(Fraction(1, 2), dtype=object), x * 0.5, 1),
        (a * np.array(3, dtype=object), x * 3, 0),
        (a * np.array([Fraction(1, 2)], dtype=object), x * 0.5, 1),
        (a * -3, -3 * x, 0),
        (np.int64(7) * a, 7 * x, 0),
        (a * np.array(2), x * 2, 0),
        (a * True, x, 0),
        (a * 1j, x * 1j, 0),
        (-1j * a, x * -1j, 0),
        (a * 0.3, x * 0.3, 1),
        (a * (0.3 - 0.4j), x * (0.3 - 0.4j), 1),
        (a / 4, x / 4, 1),
        (a / 1j, x / 1j, 0),
        (a / divisors, x / divisors, 1),
        (a + row, x + row, 0),
        (row + a, x + row, 0),
        (a - row, x - row, 0),
        (row - a, row - x, 0),
        (a * row, x * row, 1),
        (row * a, x * row, 1),
        (a * row.real, x * row.real, 1),
        (a + y, x + y, 0),
        (a * y, x * y, 1),
        (a * [2.0], 2 * x, 1),
        (a.multiply(row, rescale=False).rescale(), x * row, 1),
        (a.multiply(0.5, rescale=False).rescale(), x * 0.5, 1),
        (bare + row, x * y + row, 0),
        (bare + np.array([1e9 - 1e6j]), x * y + (1e9 - 1e6j), 0),
        (row.real - bare, row.real - x * y, 0),
        (a.multiply(row, rescale=False) - y, x * row - y, 0),
        (a + np.zeros(1), x, 0),
        (a + np.array([1e9]), x + 1e9, 0),
        (a * b + a, x * y + x, 1),
        (a.lower(1) - b, x - y, top - 1),
        (a * b * a.lower(1), x * y * x, top),
        (a.multiply(b, rescale=False) + a.multiply(a, rescale=False), x * y + x * x, 0),
        (a.conjugate(), x.conj(), 0),
        (half.with_bound(0.5) + 0, x / 2, 0),
    ]
    if length == 8:
        cases += cases_of_eight(a, b, x, y)
    elif length <= 8:  # as many as there are keys for
        cases += [
            (a.sum() * 0.125, x.sum(axis=-1, keepdims=True) / 8, 2 if length > 1 else 1),
            (a.replicate(length - 1), x[:, -1:], 1 if length > 1 else 0),
        ]
    for got, expected, levels in cases:
        assert isinstance(got, ckks.EncryptedArray)
        assert got.level == top - levels
        check(kit, got, expected)
    for distance in (1, 3, 0) if length == 8 else ():
        check(kit, a.rotate_many([distance, 2])[0], np.roll(x, -distance, axis=-1))


def cases_of_eight(a: Any, b: Any, x: Any, y: Any) -> list[tuple[Any, Any, int]]:
    """Cases whose vectors have a period of their own."""
    return [
        (a.rotate(1), np.roll(x, -1, axis=-1), 0),
        (a.rotate(-1), np.roll(x, 1, axis=-1), 0),
        (a.rotate(-7), np.roll(x, 7, axis=-1), 0),
        (a.rotate(16), x, 0),
        (a.sum(), x.sum(axis=-1, keepdims=True), 0),
        (a - a.sum() * 0.125, x - x.mean(axis=-1, keepdims=True), 1),
        (a.sum(period=2), x.reshape(2, 4, 2).sum(axis=1), 0),
        (a.sum(period=8), x, 0),
        (a.sum(period=2).repeat(8) + b, np.tile(x.reshape(2, 4, 2).sum(axis=1), 4) + y, 0),
        (a.replicate(3), x[:, 3:4], 1),
        (a.replicate(4, 4), x[:, 4:], 1),
        (a.replicate(6, count=2).repeat(8), np.tile(x[:, 6:], 4), 1),
    ]


@pytest.mark.parametrize("length", [8, *LENGTHS])
def test_real_values_stay_real(
    toy_ckks: CkksKit, generator: np.random.Generator, length: int
) -> None:
    kit, x = toy_ckks, generator.uniform(-1, 1, (3, length))
    a = kit.server.upload(kit.client.encrypt(x))
    cases: list[tuple[Any, Any, str]] = [
        (a * a + 1, x * x + 1, "real"),
        (a * x, x * x, "real"),
        (a.conjugate(), x, "real"),
        (a * 1j, x * 1j, "complex"),
        (a + 1j, x + 1j, "complex"),
        (a * (x + 1j), x * (x + 1j), "complex"),
    ]
    if length <= 8:
        cases.append((a.sum(), x.sum(axis=-1, keepdims=True), "real"))
    for got, expected, packing in cases:
        assert got.packing == packing
        check(kit, got, expected)
    whole = np.ones((3, length), dtype=int)
    assert kit.client.encrypt(whole).packing == "real"
    assert kit.client.decrypt(a, raw=True).dtype == np.float64
    assert kit.client.decrypt(a * 1j, raw=True).dtype == np.complex128
    assert kit.client.encrypt(x, packing="complex").packing == "complex"


def test_a_number_in_every_slot_meets_any_length(toy_ckks: CkksKit) -> None:
    kit = toy_ckks
    one = kit.server.upload(kit.client.encrypt([0.5]))
    for length in (1, 2, 3, 512):
        x = np.linspace(-1, 1, length)
        a = kit.server.upload(kit.client.encrypt(x))
        check(kit, a * one, x * 0.5)
        check(kit, a - one, x - 0.5)
    with pytest.raises(whorl.ShapeError, match="3 values meets one of 2"):
        kit.server.add(kit.client.encrypt([0.1] * 3), kit.client.encrypt([0.1] * 2))
    with pytest.raises(whorl.ShapeError, match="3 values meets one of 2"):
        kit.server.add(kit.client.encrypt([0.1] * 3), [0.1] * 2)


def test_coefficients_multiply_as_polynomials(
    toy_ckks: CkksKit, generator: np.random.Generator
) -> None:
    kit = toy_ckks
    f, g = generator.uniform(-1, 1, 3), generator.uniform(-1, 1, 5)
    a, b = (kit.server.upload(kit.client.encrypt(p, packing="coefficients")) for p in (f, g))
    product = a * b
    assert product.packing == "coefficients" and product.length == 7
    for got, expected in (
        (product, np.convolve(f, g)),
        (a * g, np.convolve(f, g)),
        (a * 0.5, f * 0.5),
        (a * 3, f * 3),
        (a + 1, f + np.eye(1, 3)[0]),
        (a + g, np.pad(f, (0, 2)) + g),
        (b - a, g - np.pad(f, (0, 2))),
    ):
        values = kit.client.decrypt(got, raw=True)
        assert values.dtype == np.float64
        assert np.abs(values - expected).max() < 1e-6
    # Beyond N signs change.
    N = kit.parameters.N
    last = np.eye(1, N, N - 1)[0] / 2
    c = kit.server.upload(kit.client.encrypt(last, packing="coefficients")).with_bound(1 / 2)
    turned = kit.client.decrypt(c * c, raw=True)
    assert turned.shape == (N,) and abs(turned[N - 2] + 0.25) < 1e-6


@pytest.mark.parametrize("length", [8, *LENGTHS])
def test_powers(toy_ckks: CkksKit, length: int) -> None:
    kit, x = toy_ckks, np.linspace(-1, 1, length)
    a = kit.server.upload(kit.client.encrypt(x))
    for exponent in range(9):
        power = a**exponent
        assert power.level == 3 - max(0, int(exponent - 1).bit_length() if exponent else 0)
        check(kit, power, x**exponent)
    for wrong in (-1, 2**17, 0.5):
        with pytest.raises(whorl.ParameterError, match=r"exponent: .*x\.inverse\(.*approximate"):
            a**wrong  # type: ignore[operator]


def test_shapes_broadcast(toy_ckks: CkksKit, generator: np.random.Generator) -> None:
    kit = toy_ckks
    x, y = generator.uniform(-1, 1, (3, 1, 4)), generator.uniform(-1, 1, (2, 4))
    a, b = (kit.server.upload(kit.client.encrypt(values)) for values in (x, y))
    for got, expected in ((a + b, x + y), (a * b, x * y), (a - y, x - y), (a * y, x * y)):
        assert got.shape == (3, 2)
        check(kit, got, expected)
    check(kit, a[0, 0] * b, x[0, 0] * y)
    check(kit, kit.server.add(kit.client.encrypt(x), b), x + y)
    with pytest.raises(ValueError, match="broadcast"):
        a + kit.client.encrypt(np.zeros((2, 2, 4)))


REFUSED: dict[str, tuple[type[Exception], str, Callable[[Any], Any]]] = {
    "text": (TypeError, "plaintext: numbers are needed, not 'a'", lambda a: a + "a"),
    "none": (TypeError, "plaintext: numbers are needed, not None", lambda a: a * None),
    "an entry": (TypeError, "not 'b' at index 1", lambda a: a * [0.5, "b"]),
    "not a number": (
        whorl.EncodingError,
        "nan at index 1 is not finite",
        lambda a: a + np.array([1, np.nan]),
    ),
    "infinite": (whorl.EncodingError, "not finite", lambda a: a * float("inf")),
    "by zero": (ZeroDivisionError, "divisor: value 0.0 is 0", lambda a: a / 0),
    "ragged": (whorl.ShapeError, "row 0 has 1 value, and row 1 has 2", lambda a: a * [[1], [1, 2]]),
    "empty": (whorl.ShapeError, "no values", lambda a: a + np.zeros((1, 0))),
    "large integer": (whorl.EncodingError, "outside", lambda a: a * 2**63),
    "larger integer": (whorl.EncodingError, r"about 2\^1328 is above", lambda a: a + 10**400),
    "larger fraction": (
        whorl.EncodingError,
        r"plaintext: a number of about 2\^1327 is above the largest double, 2\^1024",
        lambda a: a * Fraction(10**400, 3),
    ),
    "larger fraction below": (
        whorl.EncodingError,
        r"divisor: a number of about 2\^1327 is above",
        lambda a: a / Fraction(-(10**400), 3),
    ),
    "large entry": (
        whorl.EncodingError,
        r"about 2\^1328 at index 1 is above the largest double, 2\^1024",
        lambda a: a * [0.5, 10**400],
    ),
    "large bound": (
        whorl.ParameterError,
        r"bound: a number of about 2\^1328 is above",
        lambda a: a.with_bound(10**400),
    ),
    "large": (whorl.NoiseError, "do not fit level", lambda a: a + np.array([1e60])),
    "too large a number": (whorl.NoiseError, "do not fit level", lambda a: a + 1e60),
    "too large to hold": (whorl.NoiseError, "do not fit level", lambda a: a.lower(0) * 2**40),
    "ciphertexts below": (TypeError, "cannot be divided", lambda a: a / a),
    "compared": (TypeError, "has no operator ==", lambda a: a == a),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operands_that_are_refused(toy_ckks: CkksKit, name: str) -> None:
    error, message, work = REFUSED[name]
    a = toy_ckks.server.upload(toy_ckks.client.encrypt([0.5, 0.25]))
    with pytest.raises(error, match=message):
        work(a)
