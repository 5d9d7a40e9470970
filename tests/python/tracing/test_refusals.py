"""What the tracer, compilation and clients refuse, and what they say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import whorl
from whorl.tracing import bivariate, rounded, univariate

PLACE = np.zeros((), dtype=np.intp)
TRACED: dict[str, tuple[Callable[..., Any], type[Exception], str]] = {
    "if": (lambda x: 1 if x > 3 else 0, TypeError, "np.where chooses"),
    "int": (lambda x: int(x), TypeError, "has no value"),
    "range": (lambda x: np.zeros(x), TypeError, "has no value"),
    "assignment": (lambda x: x.__setitem__(0, 1), TypeError, "immutable"),
    "a real result": (lambda x: np.sqrt(x), TypeError, r"\.astype\(np\.int64\)"),
    "a real operand": (lambda x: np.sqrt(x) + x, TypeError, r"\.astype\(np\.int64\)"),
    "a real matrix": (lambda x: x @ np.array([0.5, 1.0, 2.0]), TypeError, "must be integers"),
    "a function": (lambda x: np.sort(x), TypeError, "np.sort of encrypted integers"),
    "a method": (lambda x: np.multiply.outer(x, x), TypeError, "np.multiply.outer"),
    "reduce": (lambda x: np.multiply.reduce(x), TypeError, "np.multiply.reduce"),
    "two results": (lambda x: np.divmod(x, 2), TypeError, "np.divmod"),
    "out": (lambda x: np.add(x, 1, out=np.zeros(3)), TypeError, "out is not supported"),
    "initial": (lambda x: np.sum(x, initial=3), TypeError, "initial is not supported"),
    "a real quotient": (lambda x: x / x, TypeError, "bivariate"),
    "argmax with out": (
        lambda x: np.argmax(x, out=np.zeros((), dtype=np.intp)),
        TypeError,
        "argmax: out is",
    ),
    "select of one": (lambda x: np.select([x > 1], [x, x]), TypeError, "1 conditions, and 2"),
    "where of one": (lambda x: np.where(x), TypeError, "a condition and two arrays"),
    "no result": (lambda x: 3, TypeError, "must return encrypted arrays, .* and not 3"),
    "nothing": (lambda x: (), TypeError, "returned nothing"),
    "an array": (lambda x: np.asarray(x), TypeError, "has no values"),
    "no elements": (lambda x: x[3:], TypeError, "no elements"),
    "arguments": (lambda x, y: x, TypeError, "does not take 1 inputs"),
    "an axis": (lambda x: x.sum(axis=1), np.exceptions.AxisError, "axis 1"),
    "text": (lambda x: x + "a", TypeError, "no array of numbers"),
    "a large constant": (lambda x: x + 2**50, TypeError, r"±2\^46"),
    "random": (
        lambda x: x + np.random.default_rng().integers(0, 1000),
        whorl.ParameterError,
        "must do the same for all inputs",
    ),
    "bools": (lambda x: (x > 1) @ (x > 2), TypeError, "counts nothing"),
}


@pytest.mark.parametrize("name", TRACED)
def test_functions_that_cannot_be_traced(name: str) -> None:
    function, error, text = TRACED[name]
    with pytest.raises(error, match=text):
        whorl.trace(function, [np.zeros(3, int), np.full(3, 15)])


INPUTSETS: dict[str, tuple[Any, type[Exception], str]] = {
    "none": ([], whorl.ParameterError, "inputset is empty"),
    "floats": ([1.5], TypeError, "integers are needed, not 1.5"),
    "shapes": ([[1, 2], [1, 2, 3]], whorl.ShapeError, "sample 1 has shapes"),
    "empty": ([[]], whorl.ShapeError, "no elements"),
    "large": ([2**50], whorl.ParameterError, r"1125899906842624 is outside ±2\^46"),
    "larger": ([2**70], whorl.ParameterError, r"outside ±2\^46"),
}


@pytest.mark.parametrize("name", INPUTSETS)
def test_input_sets(name: str) -> None:
    inputset, error, text = INPUTSETS[name]
    with pytest.raises(error, match=text):
        whorl.trace(lambda x: x + 1, inputset)


COMPILED: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "more than 16 bits": (
        lambda x: np.abs(x * 3 - 1) % 1000,
        [(-(2**20),), (2**20,)],
        r"-3145729 … 3145727 have more than 2\^16 values.* round them",
    ),
    "two of 9 bits": (lambda x, y: x & y, [(0, 0), (511, 511)], r"more than 2\^16 values"),
    "above 2^46": (lambda x: x * 2**30, [(0,), (2**20,)], r"within ±2\^46: round"),
    "large results": (lambda x: 10**x, [(0,), (15,)], r"which is outside ±2\^46"),
    "constant": (lambda x: x - x, [(0,), (15,)], "do not depend on the inputs"),
}


@pytest.mark.parametrize("name", COMPILED)
def test_functions_that_cannot_be_compiled(name: str) -> None:
    function, inputset, text = COMPILED[name]
    with pytest.raises(whorl.ParameterError, match=text):
        whorl.trace(function, inputset).compile()


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_functions_that_are_not_defined() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        trace = whorl.trace(lambda x: np.log(x).astype(np.int64), range(16))
    with pytest.raises(whorl.ParameterError, match=r"not defined for all of 0 … 15: .*clip"):
        trace.compile()


def test_failures_and_parameters() -> None:
    trace = whorl.trace(lambda x: x * x, range(16))
    values: tuple[Any, ...] = (-39, 0.5, -2000, "often")
    for wrong in values:
        with pytest.raises(whorl.ParameterError, match=r"failure_log2: .* outside -1000 … -40"):
            trace.compile(failure_log2=wrong)
    with pytest.raises(whorl.ParameterError, match="W128_P64 has no messages"):
        trace.compile("W128_P64")
    with pytest.raises(whorl.ParameterError, match="W128_P12"):
        trace.compile("W128_P12")


def test_values_outside_the_bounds() -> None:
    circuit = whorl.trace(lambda x, y: x.sum() + y, [([0, 0], -5), ([9, 7], 5)]).compile()
    client = circuit.keys()
    for call in (circuit.simulate, lambda *x: circuit.encrypt(client, *x)):
        with pytest.raises(whorl.EncodingError, match="argument 0: value 10 at index 1 is out"):
            call([3, 10], 0)
        with pytest.raises(whorl.EncodingError, match=r"value -6 is outside -5 … 5, .* trace with"):
            call([3, 1], -6)
        with pytest.raises(whorl.EncodingError, match=r"shape \(3,\); it must end with \(2,\)"):
            call([3, 1, 1], 0)
        with pytest.raises(whorl.EncodingError, match="the same axes before"):
            call([[3, 1], [1, 1]], [0, 1, 2])
        with pytest.raises(TypeError, match="1 arguments were given to 2 inputs"):
            call([3, 1])
        with pytest.raises(TypeError, match="integers are needed, not 0"):
            call([3, 1], 0.5)


def test_own_tables() -> None:
    """They are functions of NumPy arrays as well, with the same errors."""

    def half(v: Any) -> Any:
        return v / 2

    with pytest.raises(TypeError, match="float"):
        univariate(half)(np.array([1, 2]))
    with pytest.raises(TypeError, match="float"):
        whorl.trace(lambda x: univariate(half)(x), range(4))
    apart = bivariate(lambda a, b: a - b)(np.array([[1], [2]]), [3, 4])
    assert apart.tolist() == [[-2, -3], [-1, -2]]
    assert rounded(np.array([5, -5]), 0).tolist() == [5, -5]
    for wrong in (-1, 47):
        with pytest.raises(ValueError, match=f"bits: {wrong} is outside 0 … 46"):
            rounded(np.array([5]), wrong)
