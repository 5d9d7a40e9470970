"""Plans: what a dry run says holds when the function runs on ciphertexts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import whorl
from support import Kit
from whorl.binfhe import Fresh, Lut, Parameters, parameters, plan

P = 2**12


def tables(x: Any) -> Any:
    """A table of two rotations, and one of each kind for the ciphertexts."""
    square = Lut(x.parameters, [0, 1, 0, 1])
    turn = Lut(x.parameters, [0, 1, 0, 3])
    return x.apply(square), x.apply([square, turn, turn])


@dataclass(frozen=True)
class Case:
    """A function of bits of shape (3,), and what it costs."""

    function: Callable[..., Any]
    bootstraps: int
    key_switches: int
    inputs: int = 2


CASES = {
    "gate": Case(lambda a, b: a & b, 3, 3),
    "gates": Case(lambda a, b: {"s": a ^ b, "carry": [a & b, ~a]}, 6, 6),
    "a gate by name": Case(lambda a, b: a.server.nand(a[0], b), 3, 3),
    "a known bit": Case(lambda a: a ^ [1, 0, 1], 0, 0, 1),
    "mux": Case(lambda a, b: a.server.mux(a, b, ~b), 6, 3),
    "bootstrap": Case(lambda a: a.bootstrap(), 3, 3, 1),
    "sum": Case(lambda a, b: a + b, 0, 0),
    "tables": Case(tables, 6 + 4, 6 + 4, 1),
    "shapes": Case(lambda a, b: (a[:, None] | b).T[1:], 9, 9),
}


def arrays_of(returned: Any) -> list[Any]:
    if isinstance(returned, dict):
        returned = list(returned.values())
    if not isinstance(returned, (list, tuple)):
        return [returned]
    return [array for each in returned for array in arrays_of(each)]


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_a_server(name: str, kit: Kit) -> None:
    case = CASES[name]
    found = plan(
        case.function, [Fresh(3)] * case.inputs, parameters=kit.server.parameters, allow_failure=1
    )
    bits = [kit.server.upload(kit.client.encrypt([0, 1, 1])) for _ in range(case.inputs)]
    real = arrays_of(case.function(*bits))
    assert found.costs["bootstraps"] == case.bootstraps
    assert found.costs["key_switches"] == case.key_switches
    assert found.noise == tuple(each.noise for each in real)
    assert found.output_bytes == sum(each.nbytes for each in real)
    assert found.parameters() is kit.server.parameters


def test_large_precision(large_kit: Kit) -> None:
    client, server = large_kit.client, large_kit.server
    params = server.parameters

    def function(x: Any) -> Any:
        return x.eval_floor(5), x.eval_sign(), x.eval_decomp()

    found = plan(function, Fresh(2, p=P), parameters=params, allow_failure=1)
    real = arrays_of(function(server.upload(client.encrypt([5, P - 1], P))))
    assert found.noise == tuple(each.noise for each in real)
    # Two bits a flooring: 3 of them for a floor of 5 bits, 5 until 2N is reached.
    assert found.costs["bootstraps"] == 2 * (2 * 3 + (2 * 5 + 1) + 2 * 5)
    alone = plan(lambda x: x.eval_sign(), Fresh((), p=P), parameters=params, allow_failure=1)
    rotations = params.sign_failure_log2(P)
    assert alone.failure_log2 == pytest.approx(
        total(rotations, decryption(params, alone.noise[0], 4)), rel=1e-9
    )


def total(*all_log2: float) -> float:
    most = max(all_log2)
    return most + math.log2(sum(2 ** (each - most) for each in all_log2))


def decryption(params: Parameters, noise: float, p: int) -> float:
    """By erfc, of the unit that `noise` has."""
    unit = max(params.noise(transform).refreshed for transform in ("ntt", "fft"))
    chance = math.erfc(params.q / (2 * p) / math.sqrt(2 * noise * unit))
    return math.log2(chance) if chance > 0 else -math.inf  # below 2^-1074


def test_failures_are_the_sum_of_those_of_the_account() -> None:
    params = parameters("W128_P64")
    of_gate = params.gate_failure_log2(2, 4)

    def adder(a: Any, b: Any) -> Any:
        return a ^ b, a.server.mux(a, b, a & b)

    found = plan(adder, [Fresh((2, 4))] * 2, parameters=params)
    [xored, muxed] = found.noise
    # XOR takes twice the sum, with a margin of q/4.
    of_xor = params.gate_failure_log2(8, 2)
    assert xored == 1 and 1 < muxed < 2
    assert found.failure_log2 == pytest.approx(
        3
        + total(
            of_xor,
            of_gate,
            1 + of_gate,
            decryption(params, xored, 4),
            decryption(params, muxed, 4),
        ),
        rel=1e-9,
    )
    params = parameters("W128_P128")
    table = Lut(params, [0, 1, 0, 1])
    found = plan(lambda x: x.apply(table), Fresh(), parameters=params)
    assert found.failure_log2 == pytest.approx(
        total(params.lut_failure_log2(4), decryption(params, 1, 4)), rel=1e-9
    )


def test_bytes_are_those_that_are_sent(kit: Kit) -> None:
    found = plan(
        lambda a, b: a & b, [Fresh((5, 2))] * 2, parameters=kit.server.parameters, allow_failure=1
    )
    sent = len(kit.client.encrypt(np.zeros((5, 2), dtype=int)).to_bytes())
    words = 2 * 10 if kit.server.parameters.q <= 2**16 else 4 * 10
    assert found.input_bytes == 2 * (32 + words) < 2 * sent
    assert found.key_bytes < len(kit.client.evaluation_keys().to_bytes()) < 1.1 * found.key_bytes


def test_examples_are_bits(kit: Kit) -> None:
    def both(inputs: Any) -> Any:
        return plan(
            lambda a, b: a | b, inputs, parameters=kit.server.parameters, allow_failure=1
        ).costs

    assert both([np.array([0, 1, 1]), 1]) == both([Fresh(3), Fresh()])


def test_a_plan_shows_what_it_found() -> None:
    found = plan(lambda a: ~a, Fresh(2), parameters=parameters("W128_P64"))
    assert "2 sums" in repr(found) and "W128_P64" in repr(found) and "fails 2^-" in repr(found)
    assert "<td" in found._repr_html_()
    nothing = plan(lambda a: a.server.trivial([1]), Fresh(1), parameters=parameters("W128_P64"))
    assert nothing.failure_log2 == -math.inf and "fails never" in repr(nothing)


def test_what_cannot_be_followed_is_refused(kit: Kit) -> None:
    params = kit.server.parameters
    own = kit.client.encrypt(1)
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        (lambda a: a & own, Fresh(), TypeError, "ciphertexts of its own"),
        (lambda a: 1, Fresh(), TypeError, "must return encrypted arrays, not int"),
        (lambda a: [], Fresh(), TypeError, "returned no encrypted array"),
        (lambda a: a if a else ~a, Fresh(), TypeError, "no truth value"),
        (lambda a, b: a, Fresh(), TypeError, "does not take 1 input"),
        (lambda a: a & a, Fresh(p=8), whorl.NoiseError, "and with p = 8"),
        (lambda a: a, Fresh(p=2**30), whorl.EncodingError, "p = 1073741824"),
        (lambda a: a, [np.array([4])], whorl.EncodingError, "inputs"),
    ]
    for function, inputs, error, text in cases:
        with pytest.raises(error, match=text):
            plan(function, inputs, parameters=params, allow_failure=2**-300)
    with pytest.raises(whorl.ShapeError, match="holds no values"):
        Fresh(0)
    with pytest.raises(TypeError, match="is not what parameters"):
        plan(lambda a: a, Fresh(), parameters="W128_P64")  # type: ignore[arg-type]
