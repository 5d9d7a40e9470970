"""Plans: what a dry run promises holds when the function runs on ciphertexts."""

import contextlib
import functools
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import whorl
from whorl import ckks
from whorl.ckks import Values, plan

STAGES = ckks.minimax_sign(2**-4, 2**-4)
MATRIX = np.random.default_rng(1).uniform(-0.2, 0.2, (5, 8))
POLYNOMIAL = ckks.approximate(np.exp, -2, 2, degree=7)
POLYNOMIALS = [POLYNOMIAL, ckks.approximate(np.cos, -2, 2, degree=5)]
PRODUCT = ckks.MatrixProduct(2, matrices=2)
GENERATOR = np.random.default_rng(2)


@dataclass(frozen=True)
class Case:
    """A function of arrays, and what it is planned for."""

    function: Callable[..., Any]
    inputs: list[Values]
    depth: int


def many_levels(x: Any) -> Any:
    for _ in range(3):
        x = (x * x - 0.5).with_bound(1)
    return {"last": x, "first": [x.lower(0)]}


CASES = {
    "sum": Case(lambda x: (x * x).sum(), [Values((2, 8))], 1),
    "two inputs": Case(
        lambda x, y: x * y + y.rotate(-1) * 2, [Values((3, 4)), Values(4, bound=20)], 1
    ),
    "rotations": Case(lambda x: sum(x.rotate_many([1, 3, -2]), start=x), [Values(16)], 0),
    "conjugate": Case(lambda z: z * z.conjugate() * 0.5, [Values(8, packing="complex")], 2),
    "coefficients": Case(lambda f: f * f, [Values(5, packing="coefficients")], 1),
    "comparison": Case(lambda x, y: x.maximum(y, STAGES), [Values(8), Values(8)], STAGES.depth + 2),
    "matrix": Case(lambda x: MATRIX @ x, [Values((2, 8))], 1),
    "weighted sums": Case(
        lambda x: x.server.weighted_sums(MATRIX[:, :3], x * x, np.ones(5)), [Values((3, 2, 4))], 2
    ),
    "polynomial": Case(lambda x: x.evaluate(POLYNOMIAL), [Values(4, bound=2)], 4),
    "power": Case(lambda x: x**9, [Values(4)], 4),
    "polynomials of slots": Case(
        lambda x: x.evaluate(POLYNOMIALS, [0, 1, -1, 1]), [Values((2, 4), bound=2)], 4
    ),
    "polynomials of ciphertexts": Case(
        lambda x: x.evaluate(POLYNOMIALS, [[1], [0], [-1]]), [Values((2, 1, 4), bound=2)], 4
    ),
    "some values everywhere": Case(lambda x: x * x.replicate(4, 2).repeat(16), [Values(16)], 2),
    "matrices": Case(lambda a, b: a.matmul(b), [Values((3, 1, 8)), Values((2, 16))], 2),
    "matrices of a shape": Case(
        lambda a, b: (a * a).matmul(b, PRODUCT) + a, [Values((2, 8)), Values(8)], 3
    ),
    "prepared product": Case(
        lambda a, b: a.matmul(b, a.server.encode(PRODUCT)), [Values(8), Values((2, 8))], 2
    ),
    "prepared map": Case(
        lambda x: x.server.encode(ckks.linear_map(MATRIX)) @ x, [Values((1, 8))], 1
    ),
    "several results": Case(many_levels, [Values(4)], 3),
}


def encrypted(client: ckks.Client, inputs: list[Values]) -> list[ckks.Ciphertexts]:
    public = client.public_key()
    made = []
    for each in inputs:
        assert not isinstance(each.bound, tuple)
        values: Any = GENERATOR.uniform(-each.bound, each.bound, each.shape)
        if each.packing == "complex":
            values = values * 1j
        made.append(public.encrypt(values, each.bound, each.packing))
    return made


def flat(results: Any) -> list[Any]:
    if isinstance(results, dict):
        return [results["last"], *results["first"]]
    return [results]


def test_vectors_over_several_ciphertexts_run_as_planned() -> None:
    def function(x: Any) -> list[Any]:
        return [x * x, x.sum() * x, x.dot(x)]

    assert plan(lambda x: x.sum(), np.ones(70000)).N == 2**17
    chosen = plan(function, Values((2, 9000)), N=2**14, scale_bits=50)
    assert [each.length for each in chosen.results] == [9000, 9000, 1]
    client = ckks.Client(chosen.parameters())
    server = ckks.Server(client.evaluation_keys(**chosen.keys), device="cpu", threads=1)
    x = GENERATOR.uniform(-1, 1, (2, 9000))
    results = function(server.upload(client.public_key().encrypt(x)))
    clear = x * x, x.sum(axis=-1, keepdims=True) * x, (x * x).sum(axis=-1, keepdims=True)
    for result, said, values in zip(results, chosen.results, clear, strict=True):
        assert (result.level, result.scale, result.bound) == (said.level, said.scale, said.bound)
        assert np.allclose(client.decrypt(result, raw=True), values, atol=18 * said.error)
        client.release(result, queries=100, expect=said)
    # The first two results have two ciphertexts for each vector.
    assert client.released.results == 4 + 4 + 2
    with pytest.raises(whorl.ParameterError, match="length is 8192, but the ciphertexts state"):
        client.release(results[0], queries=100, expect=chosen.results[0]._replace(length=8192))


@pytest.mark.parametrize("name", CASES)
def test_functions_run_as_planned(name: str) -> None:
    case = CASES[name]
    chosen = plan(case.function, list(case.inputs))
    assert chosen.depth == case.depth and chosen.security_bits >= 128 and not chosen.bootstraps
    params = chosen.parameters()
    client = ckks.Client(params)
    keys = client.evaluation_keys(**chosen.keys)
    assert keys.nbytes == chosen.key_bytes
    server = ckks.Server(keys, device="cpu", threads=1)
    given = encrypted(client, case.inputs)
    results = flat(case.function(*[server.upload(each) for each in given]))
    assert chosen.results == tuple(
        (x.packing, x.parts, x.level, x.scale, x.length, x.bound, x.error) for x in results
    )
    assert max(each.error for each in results) == chosen.error
    assert max(each.bound for each in results) == chosen.bound
    assert sum(each.nbytes for each in results) == chosen.output_bytes
    for each in results:
        client.decrypt(each, raw=True)


@pytest.mark.parametrize("name", CASES)
def test_plans_are_the_least_that_serve(name: str) -> None:
    """One level less does not carry the function, and one key less does not serve it."""
    case = CASES[name]
    chosen = plan(case.function, list(case.inputs))
    if chosen.depth > 0:
        less = ckks.parameters(chosen.depth - 1, value_bits=20)
        client = ckks.Client(less)
        all_keys = client.evaluation_keys(
            4, [*chosen.rotations, *ckks.linear_map(MATRIX).rotations], True, 16
        )
        server = ckks.Server(all_keys, device="cpu", threads=1)
        with pytest.raises((whorl.NoiseError, whorl.ParameterError)):
            case.function(*[server.upload(each) for each in encrypted(client, case.inputs)])
    params = chosen.parameters()
    client = ckks.Client(params)
    for turn in chosen.rotations:
        rest = [each for each in chosen.rotations if each != turn]
        server = ckks.Server(
            client.evaluation_keys(**{**chosen.keys, "rotations": rest}), device="cpu", threads=1
        )
        with pytest.raises(whorl.MissingKeyError):
            case.function(*[server.upload(each) for each in encrypted(client, case.inputs)])


def test_plans_know_which_key_encrypts() -> None:
    """The secret key's error is smaller; a result of the other one is not what is expected then."""
    function = lambda x: x + x  # noqa: E731
    public, secret = (
        plan(function, Values(4, secret_key=by), scale_bits=50) for by in (False, True)
    )
    assert public.parameters() == secret.parameters()
    N = public.N
    # The deviations of docs/ckks-noise.md, with rounding.
    wanted = math.sqrt((3.19**2 * (1 + 4 * N / 3) + 1 / 12) / (3.19**2 + 1 / 12))
    assert public.error / secret.error == pytest.approx(wanted, rel=1e-6)
    client = ckks.Client(secret.parameters())
    server = ckks.Server(client.evaluation_keys(**secret.keys), device="cpu", threads=1)
    own = function(server.upload(client.encrypt(np.zeros(4))))
    other = function(server.upload(client.public_key().encrypt(np.zeros(4))))
    assert own.error == secret.error and other.error == public.error
    for result in (own, other):
        client.release(result, 10, expect=public)
    client.release(own, 10, expect=secret)
    with pytest.raises(whorl.ParameterError, match="expect: error is"):
        client.release(other, 10, expect=secret)
    with pytest.raises(whorl.ParameterError, match="secret_key: 1 is not a bool"):
        Values(4, secret_key=1)  # type: ignore[arg-type]


def test_examples_stand_for_all_values_up_to_their_largest() -> None:
    given = plan(lambda x, z: x * 2 + z, [np.array([[0.5, -3.0]]), np.array([[1j, 0.25]])])
    stated = plan(lambda x, z: x * 2 + z, [Values((1, 2), 3), Values((1, 2), 1, packing="complex")])
    assert given.bound == stated.bound == pytest.approx(7)
    assert given.input_bytes == stated.input_bytes and given.depth == 0


def test_input_bytes_are_those_of_a_client() -> None:
    chosen = plan(lambda x: x * x, Values((3, 4)))
    sent = ckks.Client(chosen.parameters()).encrypt(np.zeros((3, 4)))
    # A frame has a header, and facts about the batch.
    assert 0 < len(sent.to_bytes()) - chosen.input_bytes < 1024


def test_errors_choose_the_scale() -> None:
    function = lambda x: x * x * x  # noqa: E731
    usual, fine = plan(function, Values(4)), plan(function, Values(4), error=1e-9)
    coarse = plan(function, Values(4), error=1e-3)
    assert usual.scale_bits == 40 and fine.scale_bits > 40 > coarse.scale_bits
    assert fine.error <= 1e-9 and coarse.error <= 1e-3
    assert plan(function, Values(4), scale_bits=fine.scale_bits - 1).error > 1e-9
    with pytest.raises(whorl.ParameterError, match="scale_bits = 55, the largest"):
        plan(function, Values(4), error=1e-30)
    with pytest.raises(whorl.ParameterError, match="leave scale_bits out"):
        plan(function, Values(4), error=1e-9, scale_bits=40)


def test_values_choose_the_modulus_of_the_last_level() -> None:
    large = plan(lambda x: x * x, Values(4, bound=200))
    assert large.value_bits > 10 and large.depth == 1
    assert plan(lambda x: x * x, Values(4, bound=10)).value_bits == 10
    with pytest.raises(whorl.NoiseError, match="do not fit"):
        plan(lambda x: x * x, Values(4, bound=2**13), value_bits=10, N=4096, scale_bits=30)


# ---- bootstraps


def chain(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x = (x * x).with_bound(1).with_error(2**-18)
    return x


def adaptive(x: Any, steps: int) -> Any:
    for _ in range(steps):
        if x.level == x.parameters.least_bootstrap_level:
            x = x.bootstrap()
        x = (x * x).with_bound(1).with_error(2**-18)
    return x


def test_bootstraps_that_are_missing_are_named_with_their_lines() -> None:
    chosen = plan(lambda x: chain(x, 100), Values((2, 8)))
    params = chosen.parameters()
    assert params.bootstrap is not None and chosen.security_bits >= 128
    assert chosen.bootstraps == chosen.missing and chosen.keys["bootstrap"] == [8]
    lines, first = inspect.getsourcelines(chain)
    place = first + next(i for i, line in enumerate(lines) if "x * x" in line)
    for each in chosen.missing:
        assert each.line == f"{__file__}:{place}" and each.name == "multiply"
        assert (each.count, each.slots, each.divisor, each.called) == (2, 8, 1, False)
        assert each.level == params.least_bootstrap_level
        assert "needs x.bootstrap() of its operand x" in str(each)
    # The fewest of any set in that ring, and the least depth for so many.
    largest = chosen.depth
    with contextlib.suppress(whorl.ParameterError):
        while ckks.parameters(largest + 1, N=chosen.N, bootstrap=True):
            largest += 1
    assert len(chosen.missing) == -(-100 // largest) - 1 == -(-100 // chosen.depth) - 1
    assert -(-100 // (chosen.depth - 1)) > -(-100 // chosen.depth)


def test_functions_that_bootstrap_have_none_missing() -> None:
    chosen = plan(lambda x: adaptive(x, 40), Values((2, 8)))
    assert len(chosen.bootstraps) == 2 and not chosen.missing
    assert all(each.called and "refreshes 2 ciphertexts" in str(each) for each in chosen.bootstraps)
    # The least depth for two bootstraps: 40 products in three parts.
    assert chosen.depth == 14 and chosen.value_bits == 8
    assert chosen.costs["bootstraps"] == 4  # two, of two ciphertexts each
    once = plan(lambda x: ((x * x) * x).bootstrap() * x, Values(4))
    assert once.depth == 2 and len(once.bootstraps) == 1


SHAPES: dict[str, dict[str, Any]] = {
    "usual": {"scale_bits": 40},
    "last": {"scale_bits": 40, "coefficients_last": True},
    "arcsine": {"scale_bits": 45, "arcsine": 7},
    "both": {"scale_bits": 45, "coefficients_last": True, "arcsine": 7},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_planned_function_refreshes_where_the_plan_says(shape: dict[str, Any]) -> None:
    """In a small ring with the same primes, where a bootstrap takes a second."""
    chosen = plan(lambda x: adaptive(x, 8), Values(4), bootstrap=True, **shape)
    small = ckks.parameters(
        literal={**chosen.parameters().literal(), "N": 2048}, allow_insecure=True
    )
    client = ckks.Client(small)
    server = ckks.Server(client.evaluation_keys(**chosen.keys), device="cpu", threads=1)
    values = np.array([0.999, -0.998, 1.0, 0.25])
    y = adaptive(server.upload(client.encrypt(values)), 8)
    assert np.abs(client.decrypt(y, raw=True) - values**256).max() < 2**-8


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("arcsine", [0, 3, 7])
def test_bootstraps_have_the_shape_that_is_asked_for(last: bool, arcsine: int) -> None:
    shape: Any = {"scale_bits": 45, "coefficients_last": last, "arcsine": arcsine}
    chosen = plan(lambda x: chain(x, 60), Values((2, 8)), **shape)
    params = chosen.parameters()
    assert params == ckks.parameters(
        chosen.depth, value_bits=chosen.value_bits, N=chosen.N, bootstrap=True, **shape
    )
    assert params.bootstrap is not None
    assert (params.bootstrap["coefficients_last"], params.bootstrap["arcsine"]) == (last, arcsine)
    # From the lowest level that serves, which is 0 with slots to coefficients last.
    assert {each.level for each in chosen.missing} == {0 if last else 3}
    adapted = plan(lambda x: adaptive(x, 60), Values((2, 8)), **shape)
    assert len(adapted.bootstraps) == len(chosen.missing) and not adapted.missing
    said = f"{len(chosen.missing)} missing, from level {0 if last else 3}, slots to coefficients "
    said += "last" if last else "first"
    for text in (repr(chosen), chosen._repr_html_()):
        assert said in text
        assert (f"arcsine of degree {arcsine}" in text) == (arcsine != 0)


def test_an_arcsine_leaves_a_smaller_error() -> None:
    errors = [
        plan(lambda x: x.bootstrap(), Values(8), scale_bits=45, arcsine=degree).error
        for degree in (0, 7)
    ]
    assert errors[1] < errors[0] / 8


def test_large_scales_leave_fewer_bits_of_values_to_bootstraps() -> None:
    """A secure key to the sparse secret bounds the modulus of level 0."""
    chosen = plan(lambda x: x.bootstrap() * 3, Values(8), scale_bits=52, arcsine=7)
    assert chosen.value_bits < 10 and chosen.parameters().sparse_security_bits >= 128
    with pytest.raises(whorl.ParameterError, match="the key to the sparse secret"):
        plan(lambda x: x.bootstrap(), Values(8), scale_bits=52, value_bits=10)


def test_functions_without_bootstraps_have_no_shape() -> None:
    usual = plan(lambda x: x * x, Values(8))
    shaped = plan(lambda x: x * x, Values(8), coefficients_last=True, arcsine=7)
    assert shaped.parameters() == usual.parameters() and repr(shaped) == repr(usual)
    assert "bootstrap" not in repr(usual)
    asked = plan(lambda x: x * x, Values(8), bootstrap=True, coefficients_last=True)
    assert "bootstraps: none, from level 0, slots to coefficients last" in repr(asked)


def test_values_above_one_are_divided_first() -> None:
    def growing(x: Any) -> Any:
        for _ in range(80):
            x = (x * 0.9 + 1).with_bound(10).with_error(2**-18)
        return x

    chosen = plan(growing, Values(4), scale_bits=35)
    assert chosen.missing and {each.divisor for each in chosen.missing} == {16.0}
    assert "(x / 16).bootstrap() * 16" in str(chosen.missing[0])


def products(x: Any, y: Any, prepared: bool = False, adapts: bool = False) -> Any:
    """Forty products of matrices of two levels each, all by the same one."""
    for _ in range(40):
        if adapts and x.level <= x.parameters.least_bootstrap_level + 1:
            x = x.bootstrap()
        x = x.matmul(y, x.server.encode(PRODUCT) if prepared else PRODUCT)
        x = x.with_bound(1).with_error(2**-18)
    return x


def test_products_of_matrices_are_refreshed_before_they_are_encoded() -> None:
    inputs = [Values((2, 8)), Values(8)]
    chosen = plan(products, inputs)
    least = chosen.parameters().least_bootstrap_level
    for each in chosen.missing:
        assert (each.name, each.count, each.level) == ("matmul", 2, least + 1)
    adapted = plan(lambda x, y: products(x, y, adapts=True), inputs)
    assert not adapted.missing and len(adapted.bootstraps) == len(chosen.missing)
    # One that is encoded for fresh ciphertexts takes no others; the second one is always fresh.
    fresh = plan(lambda x, y: products(x, y, prepared=True), inputs)
    assert len(fresh.missing) == 39
    for each in fresh.missing:
        assert (each.name, each.count) == ("matmul", 2)
        assert each.level == fresh.parameters().depth - 2


def maps(x: Any, adapts: bool = False) -> Any:
    """Sums of neighbours, which are larger than what is added."""
    both = ckks.diagonals({0: 1, 1: 1}, 4)
    for _ in range(100):
        if adapts and x.level <= x.parameters.least_bootstrap_level + 1:
            x = x.bootstrap()
        x = (both @ x).with_bound(1).with_error(2**-18)
    return x


def test_maps_are_refreshed_before_they_are_encoded() -> None:
    chosen = plan(maps, Values(4))
    adapted = plan(lambda x: maps(x, adapts=True), Values(4))
    assert {each.name for each in chosen.missing} == {"apply"}
    assert not adapted.missing and adapted.depth == chosen.depth
    assert [each.level for each in adapted.bootstraps] == [each.level for each in chosen.missing]


def test_a_level_that_a_function_asks_for_is_no_reason_to_refresh() -> None:
    def ending(x: Any) -> Any:
        return x.server.encode(ckks.linear_map(MATRIX), 1) @ chain(x, 100)

    def matrices(x: Any) -> Any:
        y = chain(x, 100)
        return y.matmul(y, x.server.encode(PRODUCT, 2))

    alone = plan(lambda x: chain(x, 100), Values(8))
    for function in (ending, matrices):
        chosen = plan(function, Values(8))
        assert len(chosen.missing) == len(alone.missing)
        assert {each.name for each in chosen.missing} == {"multiply"}


def test_bootstraps_can_be_refused_and_asked_for() -> None:
    refreshed = re.escape("with bootstrap=True it runs, if it calls x.bootstrap(): ")
    with pytest.raises(whorl.NoiseError, match=refreshed + r"\d+ times$"):
        plan(lambda x: chain(x, 100), Values(8), bootstrap=False)
    # Squares of numbers near 1 double their errors, which no bootstrap removes.
    with pytest.raises(whorl.NoiseError, match=r"nor does it run with x\.bootstrap\(\): "):
        plan(lambda x: functools.reduce(lambda y, _: y * y, range(70), x), Values(8))
    with pytest.raises(whorl.ParameterError, match="bootstrap=False is given"):
        plan(lambda x: x.bootstrap(), Values(8), bootstrap=False)
    assert plan(lambda x: x * x, Values(8), bootstrap=True).parameters().bootstrap is not None
    with pytest.raises(whorl.EncodingError, match="above 1"):
        plan(lambda x: (x + 1).bootstrap(), Values(8))


# ---- what it says, and what it refuses


def test_it_says_what_it_picked() -> None:
    chosen = plan(lambda x: x.rotate(3) * x, Values(8))
    text = repr(chosen)
    assert "depth 1" in text and "1 rotation;" in text and "2 keys of" in text
    table = chosen._repr_html_()
    for fact in ("security", "rotations", "bootstraps", "error", "conjugation"):
        assert fact in table
    with_missing = plan(lambda x: chain(x, 100), Values(8))
    assert f"{len(with_missing.missing)} missing" in repr(with_missing)


def test_empty_slots_are_warned_of() -> None:
    rows = plan(lambda x, w: (x * w).sum(), [Values((1000, 8)), Values(8)])
    (warning,) = rows.warnings
    assert warning.startswith(f"most slots are empty: 8 of {rows.N // 2:,} hold")
    assert "inputs[0] takes 1,000 ciphertexts, and 8 if its long axis" in warning
    assert repr(rows).splitlines()[1:] == [f"Warning: {warning}"]
    assert warning in rows._repr_html_()
    (warning,) = plan(lambda x: x[0] * x[1], Values((2, 1000))).warnings
    assert "1,000 of 4,096 hold" in warning and "takes no longer" in warning
    assert not plan(lambda x: x * x, Values((20, 2048))).warnings
    assert not plan(lambda x: x * x, Values(8, packing="coefficients")).warnings


def test_a_function_may_ask_how_many_ciphertexts_are_not_cut() -> None:
    def in_pieces(x: Any) -> Any:
        each = x.server.best_batch
        return [x[i : i + each] * 2 for i in range(0, len(x), each)]

    chosen = plan(in_pieces, Values((3, 4)))
    assert chosen.depth == 0
    assert chosen.output_bytes == plan(lambda x: x * 2, Values((3, 4))).output_bytes


def test_refusals() -> None:
    own = ckks.Client(ckks.parameters()).encrypt([1.0])
    for function, inputs, error, text in (
        (lambda x: 1, Values(4), TypeError, "must return encrypted arrays, not int"),
        (lambda x: [], Values(4), TypeError, "returned no encrypted array"),
        (lambda x: x + own, Values(4), TypeError, "ciphertexts of its own"),
        (lambda x: x == 1, Values(4), TypeError, "greater"),
        (lambda x, y: x, Values(4), TypeError, "does not take 1 input"),
        (lambda x: x, [1.0, 2.0], TypeError, "one example is a NumPy array"),
        (lambda x: x.rotate(1), Values(3), whorl.ShapeError, "no period"),
        (lambda x: x, np.zeros((0, 3)), whorl.ShapeError, "holds no values"),
        (lambda x: x * 1j, Values(4, packing="coefficients"), whorl.EncodingError, "real"),
    ):
        with pytest.raises(error, match=text):
            plan(function, inputs)
    shapes: Any
    for shapes, text in (
        (
            {"coefficients_last": True, "bootstrap": False},
            "coefficients_last = True is given with bootstrap=False",
        ),
        ({"arcsine": 7, "bootstrap": False}, "arcsine = 7 is given with bootstrap=False"),
        ({"arcsine": 8}, "arcsine: 8 is neither 0 nor an odd degree of 3 … 15"),
        ({"arcsine": 17}, "arcsine: 17 is outside 0 … 15"),
        ({"coefficients_last": 1}, "coefficients_last: 1 is not a bool"),
    ):
        with pytest.raises(whorl.ParameterError, match=text):
            plan(lambda x: x, Values(4), **shapes)
    for arguments, refused in (
        ((0,), whorl.ShapeError),
        (((3, 0),), whorl.ShapeError),
        ((3, 0), whorl.ParameterError),
        ((3, 1, "slots"), whorl.EncodingError),
    ):
        with pytest.raises(refused):
            Values(*arguments)
