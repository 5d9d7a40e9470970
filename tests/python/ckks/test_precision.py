"""The bits of precision of known errors."""

import math

import numpy as np
import pytest
import whorl
from whorl.ckks import Bits, precision


def test_known_errors() -> None:
    expected = np.array([1.0, 2.0, 3.0, 4.0 + 1j])
    errors = np.array([2.0**-10, -(2.0**-12) * 1j, 3 * 2.0**-20 + 4j * 2.0**-20, 0])
    found = precision(expected + errors, expected)
    absolute = [10.0, 12.0, 20 - math.log2(5)]
    assert found.absolute.min == 10 and found.absolute.max == math.inf
    assert found.absolute.mean == pytest.approx(np.mean(absolute))
    assert found.absolute.std == pytest.approx(np.std(absolute))
    assert found.absolute.median == pytest.approx((12 + 20 - math.log2(5)) / 2)
    assert found.absolute.exact == 1
    assert found.real == Bits(
        min=10,
        median=math.inf,
        mean=pytest.approx((10 + 20 - math.log2(3)) / 2),  # type: ignore[arg-type]
        max=math.inf,
        std=pytest.approx(np.std([10, 20 - math.log2(3)])),  # type: ignore[arg-type]
        exact=2,
    )
    assert found.imaginary.min == 12 and found.imaginary.exact == 2


def test_the_absolute_error_has_both_parts() -> None:
    """|3 + 4i| is 5: the real part is not counted twice."""
    found = precision([3 + 4j], [0])
    assert found.absolute.min == pytest.approx(-math.log2(5))
    assert found.real.min == pytest.approx(-math.log2(3))
    assert found.imaginary.min == -2


def test_exact_values_have_infinite_bits() -> None:
    found = precision([0.5, 1.5], [0.5, 1.5])
    for bits in (found.real, found.imaginary, found.absolute):
        assert bits == Bits(math.inf, math.inf, math.inf, math.inf, 0.0, 2)
    assert math.copysign(1, precision([1.0], [0.0]).real.min) == 1


def test_it_is_readable() -> None:
    lines = repr(precision([[0.5, 0.25]], [[0.5, 0.75]])).splitlines()
    assert lines[0] == "Precision in bits:" and len(lines) == 4
    assert lines[1].split() == (
        "real min 1.00, median inf, mean 1.00, max inf, std 0.00, exact 1".split()
    )
    assert [line.split()[0] for line in lines[1:]] == ["real", "imaginary", "absolute"]


def test_refusals() -> None:
    for values, expected, error in (
        ([1.0], [1.0, 2.0], whorl.ShapeError),
        ([], [], whorl.ShapeError),
        ([math.nan], [1.0], whorl.EncodingError),
        ([1.0], [math.inf], whorl.EncodingError),
        (["a"], [1.0], TypeError),
    ):
        with pytest.raises(error):
            precision(values, expected)
