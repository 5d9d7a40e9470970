"""What is known of an element by way of one node does not hold by way of another."""

from __future__ import annotations

import numpy as np
import pytest
import whorl


def test_views_keep_their_own_bounds() -> None:
    def function(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        products = x * y
        return products % 7, products[1:] % 5

    samples = [
        (np.array([300, 0]), np.array([2, 0])),
        (np.array([0, 3]), np.array([300, 2])),
        (np.array([0, 0]), np.array([0, 0])),
    ]
    circuit = whorl.trace(function, samples).compile()
    for x, y in samples:
        for found, wanted in zip(circuit.simulate(x, y), function(x, y), strict=True):
            assert np.array_equal(found, wanted)
    # products[1] is at most 6 in the samples, and others are refused.
    for a, b in (([0, 3], [0, 7]), ([0, 4], [0, 6]), ([0, 299], [0, 1])):
        with pytest.raises(whorl.EncodingError, match="6"):
            circuit.simulate(np.array(a), np.array(b))


def test_sums_that_wrap_in_numpy_are_refused() -> None:
    def wraps(x: np.ndarray) -> np.ndarray:
        return ((x * 37) % 256).astype(np.uint8) + 1

    with pytest.raises(TypeError, match=r"write .astype\(np.int64\)"):
        whorl.trace(wraps, [0, 255])


def test_constants_are_those_of_the_trace() -> None:
    known = np.array([3])
    traced = whorl.trace(lambda x: x % known, [np.array([0]), np.array([15])])
    known[0] = 5
    assert np.array_equal(traced.compile().simulate(np.array([4])), [1])
