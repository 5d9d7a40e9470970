"""Python's operators and NumPy's functions that encrypted arrays lack: errors say what serves."""

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support import BgvKit, CkksKit, Kit
from whorl import bgv, binfhe, ckks

SCHEMES = ("CKKS", "BGV", "FHEW/TFHE")

TABLE = "write x.apply(Lut(x.parameters, [f(m) for m in range(x.p)], padding=x.padding))"
EVALUATE = "x.evaluate(ckks.approximate({}, low, high, error=e))"
GREATER = "x.greater(y, stages) is 1 where x > y, x.maximum(y, stages) is the larger one"
SIGN = "(x - y).eval_sign()"
NO_QUOTIENTS = "multiply by the inverse, pow(d, -1, t)"
NUMBER = "decrypt first, by client.decrypt(x"

# What the three schemes tell in place of an operation; None where they have it.
Told = tuple[str | None, str | None, str | None]
REFUSED: dict[str, tuple[Callable[[Any], Any], Told]] = {
    "np.exp": (np.exp, (EVALUATE.format("np.exp"), EVALUATE.format("np.exp"), TABLE)),
    "np.tanh": (np.tanh, (EVALUATE.format("np.tanh"), "FHEW/TFHE has tables", "np.tanh")),
    "np.sqrt": (np.sqrt, (EVALUATE.format("np.sqrt"), EVALUATE.format("np.sqrt"), TABLE)),
    "np.maximum": (
        lambda x: np.maximum(x, x),
        ("write x.maximum(other, stages)", "CKKS has", SIGN),
    ),
    "np.sign": (np.sign, ("write x.sign(stages)", "x.greater(y, stages)", "x.eval_sign()")),
    "np.heaviside": (
        lambda x: np.heaviside(x, 0),
        ("write x.sign(stages), with stages = ckks.minimax_sign(", SIGN, "x.eval_sign()"),
    ),
    "np.matmul": (lambda x: np.matmul(x, x), (None, None, "server.linear(weights, arrays)")),
    "np.dot": (
        lambda x: np.dot(x, x),
        ("write x.dot(other)", "write x.dot(other)", "server.linear(weights, arrays)"),
    ),
    "np.vdot": (lambda x: np.vdot(x, x), ("x.dot(y)", "x.dot(y)", "server.linear(")),
    "np.abs": (np.abs, ("write x.absolute(stages)", "CKKS has", TABLE)),
    "np.where": (lambda x: np.where(x, 1, 0), ("b + s * (a - b)", "b + s * (a - b)", "server.mux")),
    "np.max": (np.max, (GREATER, "BGV has no comparison", SIGN)),
    "np.sort": (np.sort, (GREATER, "BGV has no comparison", SIGN)),
    "np.round": (np.round, ("FHEW/TFHE has tables", NO_QUOTIENTS, TABLE)),
    "np.prod": (
        np.prod,
        ("write x.sum()", "write x.sum()", "server.linear([1] * len(x), list(x))"),
    ),
    "np.logical_and": (lambda x: np.logical_and(x, x), ("a * b is a & b", "FHEW/TFHE", "& | ^ ~")),
    "np.isnan": (np.isnan, (EVALUATE.format("np.isnan"), "sums and products", TABLE)),
    "np.remainder": (lambda x: np.remainder(x, 3), ("no operator %", "no operator %", TABLE)),
    "np.left_shift": (lambda x: np.left_shift(x, 1), ("x * 2**k", "x * 2**k", "x * 2**k")),
    "np.power": (lambda x: np.power(2, x), (EVALUATE.format("f"), "x.apply(Lut(…))", TABLE)),
    "abs(x)": (abs, ("no abs(): write x.absolute(stages)", "x.absolute(stages)", TABLE)),
    "x % 3": (lambda x: x % 3, ("x.apply(Lut(…))", NO_QUOTIENTS, TABLE)),
    "[3] % x": (lambda x: np.array([3]) % x, ("operator %", NO_QUOTIENTS, TABLE)),
    "x << 1": (lambda x: x << 1, ("operator <<: write x * 2**k", "x * 2**k", "x * 2**k")),
    "x >> 1": (lambda x: x >> 1, ("x / 2**k", "nothing is shifted", "x.eval_floor(k)")),
    "x // 2": (lambda x: x // 2, ("x.apply(Lut(…))", NO_QUOTIENTS, TABLE)),
    "7 // x": (lambda x: 7 // x, ("x.apply(Lut(…))", NO_QUOTIENTS, TABLE)),
    "divmod(x, 2)": (lambda x: divmod(x, 2), ("no divmod()", NO_QUOTIENTS, TABLE)),
    "x / x": (lambda x: x / x, ("x * y.inverse(low, high, error)", NO_QUOTIENTS, TABLE)),
    "x / 2": (lambda x: x / 2, (None, NO_QUOTIENTS, TABLE)),
    "2 / x": (lambda x: 2 / x, ("x.inverse(low, high, error)", NO_QUOTIENTS, TABLE)),
    "x < x": (lambda x: x < x, (GREATER, "BGV has no comparison: CKKS has x.greater", SIGN)),
    "x == x": (lambda x: x == x, (GREATER, "no operator ==", "server.xnor(x, y) is 1 where bits")),
    "x in [x]": (lambda x: x in [x[()]], (GREATER, "BGV has no comparison", SIGN)),
    "if x": (
        lambda x: 1 if x else 0,
        ("s is x.greater(y", "b + s * (a - b)", "server.mux(s, a, b)"),
    ),
    "not x": (lambda x: not x, ("no truth value", "no truth value", "no truth value")),
    "float(x)": (float, (NUMBER + ", raw=True)", NUMBER, NUMBER)),
    "int(x)": (int, (NUMBER, NUMBER, NUMBER)),
    "complex(x)": (complex, (NUMBER, NUMBER, NUMBER)),
    "range(x)": (range, (NUMBER, NUMBER, NUMBER)),
    "math.exp(x)": (math.exp, (NUMBER, NUMBER, NUMBER)),
    "max(x, x)": (
        lambda x: max(x, x),
        ("x.maximum(y, stages)", "BGV has no comparison", "mux(s, "),
    ),
    "sorted": (lambda x: sorted([x, x]), (GREATER, "BGV has no comparison", SIGN)),
    "x @ x": (lambda x: x @ x, (None, None, "server.linear(weights, arrays)")),
    "x * x": (lambda x: x * x, (None, None, "bits are multiplied by x & y")),
    "2 ** x": (lambda x: 2**x, (EVALUATE.format("f"), "x.apply(Lut(…))", TABLE)),
    "x ** 2": (lambda x: x**2, (None, None, TABLE)),
    "round(x)": (round, ("no round(): CKKS has no integers", NO_QUOTIENTS, TABLE)),
    "math.floor(x)": (math.floor, ("FHEW/TFHE has tables", NO_QUOTIENTS, TABLE)),
    "x & x": (lambda x: x & x, ("a * b is a & b", "a + b - a * b is a | b", None)),
    "1 ^ x": (lambda x: 1 ^ x, ("(a - b)**2 is a ^ b", "FHEW/TFHE has gates", None)),
    "~x": (operator.invert, ("1 - a is ~a", "1 - a is ~a", None)),
    "len(x[0])": (lambda x: len(x[0]), ("x.length is", "x.length is", "x.reshape(1)")),
    "iter(x[0])": (lambda x: iter(x[0]), ("client.decrypt gives", "x.length", "x.reshape(1)")),
}


@pytest.fixture(scope="module")
def arrays(kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit) -> dict[str, Any]:
    """Two ciphertexts of each scheme, on a device."""
    sums = bgv.Server(toy_bgv.client.evaluation_keys(sums=2), device="cpu")
    return {
        "CKKS": toy_ckks.server.upload(toy_ckks.client.encrypt([[0.5, 0.25], [0.125, 0.5]])),
        "BGV": sums.upload(toy_bgv.client.encrypt([[5, 6], [7, 8]])),
        "FHEW/TFHE": kit.server.upload(kit.client.encrypt([0, 1])),
    }


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_serves(arrays: dict[str, Any], scheme: str, name: str) -> None:
    work, told = REFUSED[name]
    wanted, x = told[SCHEMES.index(scheme)], arrays[scheme]
    if wanted is None:
        assert isinstance(work(x), type(x))
        return
    with pytest.raises(TypeError, match=re.escape(wanted)) as caught:
        work(x)
    said = str(caught.value)
    assert scheme in said or "0-d" in said or "x * y.inverse" in said or said.startswith("factor")
    for bare in ("unsupported operand", "bad operand", "of their class", "{"):
        assert bare not in said
    with pytest.raises(TypeError) as of_host:
        work(x.to_host())
    if "0-d" not in said and NUMBER not in said:
        assert "write server.upload(a) first" in str(of_host.value)


@pytest.mark.parametrize("exponent", [-1, 0.5])
def test_powers_that_are_no_products(arrays: dict[str, Any], exponent: Any) -> None:
    for scheme, told in (("CKKS", "x.inverse(low, high, error) is 1/x"), ("BGV", "x ** (t - 2)")):
        with pytest.raises(Exception, match=re.escape(told)) as caught:
            arrays[scheme] ** exponent
        assert type(caught.value).__name__ == "ParameterError" and str(exponent) in str(
            caught.value
        )
    with pytest.raises(TypeError, match=re.escape(TABLE)):
        arrays["FHEW/TFHE"] ** exponent


def test_one_vector_has_no_axis(arrays: dict[str, Any]) -> None:
    for x in arrays.values():
        for one in (x[0], x[0].to_host()):
            with pytest.raises(IndexError, match=r"0-dimensional.*: (the|it is)"):
                one[0]
        with pytest.raises(IndexError) as caught:
            x[2]
        assert "x.length" not in str(caught.value)


def test_plaintexts_are_operands_only(toy_bgv: BgvKit) -> None:
    m: Any = toy_bgv.server.encode([1, 2])
    for work in (lambda: m + 1, lambda: -m, lambda: 2 * m, lambda: np.exp(m), lambda: m < m):
        with pytest.raises(TypeError, match="operands of encrypted arrays"):
            work()
    x: Any = toy_bgv.client.encrypt([5, 6])
    with pytest.raises(TypeError, match="operands of encrypted arrays"):
        x + m
    assert toy_bgv.client.decrypt(m + toy_bgv.server.upload(x))[:2].tolist() == [6, 8]


def test_what_errors_name_serves(
    arrays: dict[str, Any], kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit
) -> None:
    """Each remedy, as it is written in an error."""
    x: Any = arrays["CKKS"]
    places = {"x": x, "ckks": ckks, "np": np, "low": -1, "high": 1, "e": 0.01}
    y = eval(EVALUATE.format("np.exp"), places)
    expected = np.exp([[0.5, 0.25], [0.125, 0.5]])
    assert np.abs(toy_ckks.client.decrypt(y, raw=True) - expected).max() < 0.02
    stages = ckks.minimax_sign(0.5, 0.5)
    assert stages.depth == 2
    signs = x.with_bound(1).sign(stages)
    assert np.abs(toy_ckks.client.decrypt(signs, raw=True)[0, 0] - 1) < 0.6

    row: Any = arrays["BGV"]
    t = toy_bgv.parameters.t
    assert toy_bgv.client.decrypt(row * pow(5, -1, t))[0, 0] == 1

    bits: Any = arrays["FHEW/TFHE"]
    source = TABLE.removeprefix("write ")
    names = {"x": bits, "Lut": binfhe.Lut, "f": lambda m: 3 - m}
    assert kit.client.decrypt(eval(source, names)).tolist() == [3, 2]
    assert isinstance(bits.server.mux(bits, bits, bits), binfhe.EncryptedArray)
    total = bits.server.linear([1] * len(bits), list(bits))
    assert kit.client.decrypt(total) == 1
    assert isinstance(row, bgv.EncryptedArray)
