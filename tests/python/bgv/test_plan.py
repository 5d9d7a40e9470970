"""Plans: what a dry run promises holds when the function runs on ciphertexts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import whorl
from whorl import bgv
from whorl.bgv import Range, plan

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Case:
    """A function of arrays, the same on integers, and what it is planned for."""

    function: Callable[..., Any]
    clear: Callable[..., Any]
    inputs: list[Any]
    depth: int
    plain_products: int = 0
    packing: Any = "slots"


def test_rotations_do_not_depend_on_the_ring() -> None:
    """A rotation by 3,000 needs rows that are longer: elsewhere it would be another rotation."""
    found = plan(lambda v: v.rotate(3000), Range(0, 10, shape=(5,)))
    half = found.parameters().N // 2
    assert half > 3000
    assert {turn % half for turn in found.rotations} == {3000}
    with pytest.raises(whorl.ShapeError, match="columns = 100000 is not below N/2"):
        plan(lambda v: v.rotate(100_000), Range(0, 10, shape=(5,)))


def rotation_sum(x: Any, y: Any) -> Any:
    total = x * y
    for step in (1, 2, 4, 8):
        total = total + total.rotate(step)
    return total


MATRIX = np.random.default_rng(1).integers(-9, 10, size=(16, 16))
TALL = np.arange(60000).reshape(20000, 3) % 2


def matrix_product(x: Any) -> Any:
    """Diagonals (Halevi, Shoup, CRYPTO 2014, §4.3), times 31 values of which each row takes 16."""
    i = np.arange(16)
    turned = x.rotate_many(range(16))
    terms = [turned[j] * MATRIX[i, (i + j) % 16] for j in range(16)]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def matrix_product_clear(x: Ints) -> Ints:
    i = np.arange(16)
    return np.array([MATRIX[k, (k + i) % 16] @ x[k + i] for k in range(16)])


def two_rows(x: Any) -> Any:
    N = x.parameters.N
    table = x.server.encode(np.arange(N) % 3)
    return (x.swap_rows() * table - x).inner_sum()


def two_rows_clear(x: Ints) -> Ints:
    half = x.shape[-1] // 2
    value = np.roll(x, half, axis=-1) * (np.arange(2 * half) % 3) - x
    return np.repeat(value.reshape(2, half).sum(axis=1), half)


def bare_products(x: Any, y: Any) -> Any:
    total = x.multiply(y, relinearise=False) + x.square(relinearise=False)
    return [total.relinearise().shrink().to_host(), {"minus": -(x - y).mod_switch()}]


def shapes(x: Any, y: Any) -> Any:
    table = bgv.stack([x[:, None] * y, x[:, None] + y])
    return bgv.concatenate([table[0, ::2], table[1, [0, -1]] * 3]).T


def shapes_clear(x: Ints, y: Ints) -> Ints:
    table = np.stack([x[:, None] * y, x[:, None] + y])
    return np.concatenate([table[0, ::2], table[1, [0, -1]] * 3]).transpose(1, 0, 2)


def convolved(x: Ints, y: Ints) -> Ints:
    return np.convolve(np.convolve(x, y), [1, -2, 3]) + np.array([5] + [0] * 12)


CASES = {
    "sum of squares": Case(
        lambda x: (x * x).inner_sum(64),
        lambda x: (x * x).sum(keepdims=True),
        [Range(-100, 100, 64)],
        1,
    ),
    "polynomial": Case(
        lambda x: 3 * x**3 - 2 * x + 7, lambda x: 3 * x**3 - 2 * x + 7, [Range(-9, 20, (3, 100))], 2
    ),
    "dot product": Case(
        rotation_sum,
        lambda x, y: (x * y).sum(keepdims=True),
        [Range(0, 255, 16), Range(-255, 255, 16)],
        1,
    ),
    "matrix": Case(
        matrix_product,
        matrix_product_clear,
        [Range(-1000, 1000, 31)],
        0,
        1,
    ),
    "matrix twice, and squares": Case(
        lambda x: matrix_product(x) ** 2 * ([2] * 16),
        lambda x: matrix_product_clear(x) ** 2 * 2,
        [Range(0, 15, 31)],
        1,
        2,
    ),
    "two rows": Case(two_rows, two_rows_clear, [Range(0, 1)], 0, 1),
    "bare products": Case(
        bare_products,
        lambda x, y: [x * y + x * x, y - x],
        [Range(0, 1000, 5), Range(-7, 0, 5)],
        1,
    ),
    "shapes": Case(shapes, shapes_clear, [Range(-5, 5, (3, 4)), Range(0, 1, (2, 4))], 1),
    "example": Case(lambda x, y: x - y, lambda x, y: x - [*y, 0], [np.array([[5, 9]] * 2), 12], 0),
    "large factors": Case(
        lambda x: (x * 30000 - 5) * 1000, lambda x: (x * 30000 - 5) * 1000, [Range(0, 9, 3)], 0
    ),
    "slots": Case(
        lambda x, y: [(x @ MATRIX).dot(y), x.mean().total, MATRIX[:5] @ (x + y).square()],
        lambda x, y: [
            ((x @ MATRIX) * y).sum(axis=-1, keepdims=True),
            x.sum(axis=-1, keepdims=True),
            (x + y) ** 2 @ MATRIX[:5].T,
        ],
        [Range(-5, 5, (2, 16)), Range(0, 1, 16)],
        1,
        1,
    ),
    "long vectors": Case(
        lambda x, y: [x * y - x, x.dot(y), x @ TALL],
        lambda x, y: [x * y - x, (x * y).sum(axis=-1, keepdims=True), x @ TALL],
        [Range(0, 1, (2, 20000)), Range(0, 3, (2, 20000))],
        1,
        1,
    ),
    "coefficients": Case(
        lambda x, y: x * y * [1, -2, 3] + 5,
        convolved,
        [Range(0, 50, 8), Range(-3, 3, 4)],
        1,
        1,
        "coefficients",
    ),
}


def values_of(given: Any, N: int, generator: np.random.Generator) -> Ints:
    """Some of a range, with its ends among them."""
    if isinstance(given, int):
        return np.array([given])
    if not isinstance(given, Range):
        return np.asarray(given)
    shape: Any = given.shape or (N,)
    values = generator.integers(given.low, given.high, size=shape, endpoint=True)
    values.flat[:2] = given.high, given.low
    return values


def arrays_of(results: Any) -> list[Any]:
    """Flattened, in order."""
    if isinstance(results, dict):
        results = list(results.values())
    if isinstance(results, list):
        return [array for each in results for array in arrays_of(each)]
    return [results]


def run(
    case: Case, chosen: bgv.Parameters, keys: dict[str, Any], inputs: list[Ints]
) -> tuple[bgv.Client, list[Any]]:
    """The function on ciphertexts, with just these keys."""
    client = bgv.Client(chosen)
    server = bgv.Server(client.evaluation_keys(**keys), device="cpu")
    public = client.public_key()
    encrypted = [server.upload(public.encrypt(each, case.packing)) for each in inputs]
    return client, arrays_of(case.function(*encrypted))


@pytest.mark.parametrize("name", CASES)
def test_what_a_plan_promises_holds(name: str, generator: np.random.Generator) -> None:
    case = CASES[name]
    found = plan(case.function, case.inputs, packing=case.packing)
    chosen = found.parameters()
    assert (found.depth, found.plain_products) == (case.depth, case.plain_products)
    assert (chosen.t, chosen.N, chosen.depth) == (found.t, found.N, found.depth)
    assert chosen.security_bits >= 128 and chosen.has_slots == (case.packing == "slots")
    inputs = [values_of(each, chosen.N, generator) for each in case.inputs]
    client, results = run(case, chosen, found.keys, inputs)
    expected = case.clear(*inputs)
    expected = expected if isinstance(expected, list) else [expected]
    assert len(results) == len(expected)
    for array, clear in zip(results, expected, strict=True):
        assert array.noise_budget >= found.noise_budget > 0
        values = client.decrypt(array, signed=found.signed)
        # The integers themselves, and not only modulo t.
        assert np.array_equal(values[..., : clear.shape[-1]], clear)
        values = values[..., : array.length]
        assert found.low <= values.min() and values.max() <= found.high
    keys = client.evaluation_keys(**found.keys)
    assert found.key_bytes == keys.nbytes
    half = chosen.N // 2
    assert {turn % half for turn in found.rotations} == set(keys.rotations)
    assert found.output_bytes == sum(array.nbytes for array in results)
    sent = sum(len(client.encrypt(each, case.packing).to_bytes()) for each in inputs)
    assert found.input_bytes <= sent <= found.input_bytes + 1024 * len(inputs)


@pytest.mark.parametrize("name", CASES)
def test_a_level_less_is_refused(name: str, generator: np.random.Generator) -> None:
    """By the account of a server; and a product with plaintexts less, where there are some."""
    case = CASES[name]
    if case.depth == case.plain_products == 0:
        pytest.skip("there is no level to leave out")
    found = plan(case.function, case.inputs, packing=case.packing)
    less = bgv.parameters(
        depth=max(0, found.depth - 1),
        plain_products=found.plain_products - 1 if found.plain_products else 0,
        sums=0,
        plain_modulus=found.t,
        N=found.N,
        slots=case.packing == "slots",
    )
    inputs = [values_of(each, found.N, generator) for each in case.inputs]
    client, results = run(case, less, found.keys, inputs)
    with pytest.raises(whorl.NoiseError):
        for array in results:
            client.decrypt(array)


@pytest.mark.parametrize("name", CASES)
def test_a_key_less_is_missing(name: str) -> None:
    case = CASES[name]
    found = plan(case.function, case.inputs, packing=case.packing)
    client = bgv.Client(found.parameters())
    inputs = [0 * values_of(each, found.N, np.random.default_rng(0)) for each in case.inputs]
    fewer = [
        found.keys | {"rotations": [each for each in found.rotations if each != left]}
        for left in found.rotations[-1:]
    ]
    if found.keys["relinearise"] > 2:
        fewer.append(found.keys | {"relinearise": found.keys["relinearise"] - 1})
    if found.keys["swap_rows"]:
        fewer.append(found.keys | {"swap_rows": False})
    for keys in fewer:
        server = bgv.Server(client.evaluation_keys(**keys), device="cpu")
        encrypted = [server.upload(client.encrypt(each, case.packing)) for each in inputs]
        with pytest.raises(whorl.MissingKeyError):
            case.function(*encrypted)


def test_t_is_the_least_that_serves() -> None:
    def t_of(low: int, high: int, **options: Any) -> int:
        return plan(lambda x: x + 0, Range(low, high, 4), **options).t

    for N in (8192, 16384):
        first = bgv.plain_modulus(2, N)
        assert t_of(0, first - 1, N=N) == first
        assert t_of(0, first, N=N) == bgv.plain_modulus(first + 1, N)
        assert t_of(-(first // 2), first // 2, N=N) == first
        assert t_of(-(first // 2) - 1, 0, N=N) == bgv.plain_modulus(first + 1, N)
    assert t_of(0, 4, packing="coefficients") == 5
    assert t_of(-4, 4, packing="coefficients") == 9
    assert t_of(0, 4, plain_modulus=786433) == 786433
    # What lies between may pass t: it cancels, or is not decrypted.
    wide = plan(lambda x: (x * 1000 - x * 1000, x)[1], Range(0, 1, 4), N=8192)
    assert wide.t == bgv.plain_modulus(2, 8192)
    # A mask keeps what it hides out of the result.
    masked = plan(lambda x: x * 3 * [1, 0, 0] * [1000, 10**5, 10**5], Range(0, 9, 3))
    assert (masked.low, masked.high) == (0, 27000)
    # A square is never negative.
    assert plan(lambda x: x * x, Range(-100, 50, 3)).low == 0
    assert plan(lambda x: x * x[0], Range(-100, 50, (2, 3))).low == -5000


def test_what_a_plan_refuses() -> None:
    x = Range(0, 10, 4)

    def refuse(error: type[Exception], match: str, function: Any, inputs: Any, **more: Any) -> None:
        with pytest.raises(error, match=match):
            plan(function, inputs, **more)

    refuse(whorl.ParameterError, "2\\^31", lambda x: x**12, Range(0, 10, 4))
    refuse(whorl.ParameterError, "2\\^52", lambda x: x**20, Range(0, 10, 4))
    refuse(
        whorl.ParameterError,
        "t = 65537 does not hold",
        lambda x: x * x,
        Range(0, 300, 1),
        plain_modulus=65537,
    )
    # The first operation that passes t is named.
    refuse(
        whorl.ParameterError,
        "is that of operation 2 of the function, sum: 0 … 600000; t = 600001 is the least",
        lambda x: (x + 0).sum() * 1,
        [np.array([60000] * 10)],
        plain_modulus=65537,
    )
    refuse(
        whorl.ParameterError,
        "operation 1 of the function, dot: 0 … 120000; t = ",
        lambda x: (x.dot([1, 1]), -x),
        Range(0, 60000, 2),
        plain_modulus=65537,
    )
    refuse(
        whorl.ParameterError,
        "operation 1 of the function, multiply_scalar: -120000 … 0;",
        lambda x: x * -2,
        Range(0, 60000, 2),
        plain_modulus=65537,
    )
    refuse(
        whorl.ParameterError,
        "2\\^31; the first result .* operation 3 of the function, sum: 0 … 4000000000;",
        lambda x: (-x * -1).sum(),
        Range(0, 10**9, 4),
    )
    refuse(whorl.ParameterError, "modulo several t, as a recipe", lambda x: x * x, Range(0, 2**20))
    nearest = "for N = 8192, .* the nearest t that serves is 65537"
    refuse(whorl.ParameterError, nearest, lambda x: x * x, x, plain_modulus=65536)
    refuse(whorl.ParameterError, "bits are missing", lambda x: x * x * x * x, x, N=4096)
    refuse(whorl.ParameterError, "depth 64", deep, Range(0, 1, 4))
    refuse(
        whorl.ShapeError,
        "more than N = 4096",
        lambda x: x,
        Range(0, 1, 5000),
        N=4096,
        packing="coefficients",
    )
    refuse(whorl.ShapeError, "rotate", lambda x: x.rotate(1), Range(0, 1, 5000), N=4096)
    refuse(whorl.EncodingError, "coefficients", lambda x: x.rotate(1), x, packing="coefficients")
    refuse(whorl.ParameterError, "inner_sum", lambda x: x.inner_sum(3), x)
    refuse(TypeError, "has no operator >", lambda x: x if x > 3 else -x, x)
    refuse(TypeError, "has no operator ==", lambda x: x if x == 3 else -x, x)
    refuse(TypeError, "no truth value", lambda x: x if x else -x, x)
    refuse(TypeError, "not an array of numbers", lambda x: np.array(x), x)
    refuse(TypeError, "are not divided", lambda x: x / 2, x)
    refuse(TypeError, "must return encrypted arrays", lambda x: 3, x)
    refuse(TypeError, "no encrypted array", lambda x: [], x)
    refuse(ValueError, "broadcast", lambda x: x + x[[0, 1, 1]], Range(0, 1, (2, 3)))
    client = bgv.Client(bgv.parameters(depth=1))
    other = client.encrypt([1, 2])
    refuse(TypeError, "among inputs", lambda x: x + other, x)
    refuse(TypeError, "ciphertexts are needed", client.decrypt, x)
    refuse(TypeError, "integer", lambda x: x, [1.5])
    with pytest.raises(whorl.ParameterError, match="above"):
        Range(5, 4)
    for shape in (0, (), (3, 0)):
        with pytest.raises(whorl.ShapeError, match="shape"):
            Range(0, 1, shape)
    with pytest.raises(TypeError):
        Range(0.5, 1)  # type: ignore[arg-type]


def deep(x: Any) -> Any:
    for _ in range(64):
        x = x * x
    return x


def test_means_are_results_and_lists_are_inputs() -> None:
    found = plan(lambda a: a.mean(), Range(0, 9, shape=8))
    assert found.rotations == plan(lambda a: a.sum(), Range(0, 9, shape=8)).rotations
    assert found.high == 72
    with pytest.raises(
        TypeError, match=r"3 inputs: .* A list is taken .* np\.array\(\[1, 2, 3\]\)$"
    ):
        plan(lambda a: a * a, [1, 2, 3])
    assert plan(lambda a: a * a, np.array([1, 2, 3])).depth == 1
    with pytest.raises(TypeError, match="does not take 1 input: missing"):
        plan(lambda a, b: a * b, Range(0, 9))


def test_empty_slots_are_warned_of() -> None:
    def squares(x: Any) -> Any:
        return x * x

    rows, columns = plan(squares, Range(0, 9, (1000, 8))), plan(squares, Range(0, 9, (8, 1000)))
    assert rows.layout == ((1000, 8),) and columns.layout == ((8, 1000),)
    (warning,) = rows.warnings
    assert warning.startswith(f"most slots are empty: 8 of {rows.N:,} hold values of an input; ")
    assert "inputs[0] takes 1,000 ciphertexts, and 8 if its long axis" in warning
    assert repr(rows).splitlines()[1:] == [f"Warning: {warning}"]
    assert warning in rows._repr_html_()
    # There is no better layout, but there is room.
    (warning,) = columns.warnings
    assert f"1,000 of {columns.N:,} hold" in warning and "takes no longer" in warning
    # One input that fills half of the slots suffices, and coefficients are not slots.
    for inputs in (Range(0, 9), [Range(0, 9, columns.N // 2), Range(0, 9, 4)]):
        full = plan(lambda x, *_: squares(x), inputs)
        assert not full.warnings and len(repr(full).splitlines()) == 1
    assert not plan(squares, Range(0, 9, 4), packing="coefficients").warnings


def test_plans_are_shown() -> None:
    found = plan(lambda x: (x * x).rotate(-1).swap_rows(), Range(0, 10, 4))
    for part in ("depth 1", f"t={found.t}", "1 rotation, swap_rows", f"N={found.N}"):
        assert part in repr(found)
    html = found._repr_html_()
    for part in ("Plan", "rotations", "-1", f"{found.key_bytes:,}"):
        assert part in html
    assert found.rotations == (-1,)
    assert found.costs == {
        "products": 1,
        "relinearisations": 1,
        "plain_products": 0,
        "rotations": 2,
        "key_switches": 3,
        "bootstraps": 0,
    }
    assert "1 products, 1 relinearisations, 2 rotations, 3 key switches" in html
    with pytest.raises(AttributeError):
        found.colour = 3  # type: ignore[attr-defined]


def test_functions_meet_real_arrays() -> None:
    """What they ask of an array is there, and is what it is on ciphertexts."""
    seen: list[Any] = []

    def function(x: Any) -> Any:
        y = x * x
        assert isinstance(x, bgv.EncryptedArray) and isinstance(x.server, bgv.Server)
        assert x.parameters.t > 2 and x.server.parameters is x.parameters
        assert x.nbytes == 2 * x.limbs * x.size * x.parameters.N * x.parameters.word_bits // 8
        seen.append(
            (
                x.shape,
                len(x),
                x.ndim,
                x.packing,
                x.parts,
                x.level,
                y.level,
                y.factor,
                round(y.noise_budget, 6),
                x.parameters.limbs,
                repr(x)[:40],
            )
        )
        return y

    found = plan(function, Range(0, 10, (2, 4)))
    planned = next(each for each in reversed(seen) if each[-2] == found.parameters().limbs)
    client = bgv.Client(found.parameters())
    server = bgv.Server(client.evaluation_keys(**found.keys), device="cpu")
    function(server.upload(client.public_key().encrypt([[1, 2], [3, 4]])))
    assert seen[-1] == planned


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("plain_products", [0, 1, 2])
@pytest.mark.parametrize(
    ("sums", "t", "N"), [(0, 65537, None), (5, 65537, None), (8, 786433, 16384)]
)
def test_parameters_carry_what_they_were_told_of(
    depth: int, plain_products: int, sums: int, t: int, N: int | None,
    generator: np.random.Generator,
) -> None:  # fmt: skip
    """Just this circuit, on ciphertexts: the bound lasts, and the values are right."""
    told = {"plain_modulus": t, "N": N, "depth": depth}
    chosen = bgv.parameters(plain_products=plain_products, sums=sums, **told)  # type: ignore[arg-type]
    assert chosen.plain_products == plain_products
    places = generator.integers(0, depth + 1, size=plain_products)
    print("products with plaintexts at levels", places)
    steps = [1 << i for i in range(sums)]
    values = generator.integers(0, t, size=chosen.N)
    plain = generator.integers(0, t, size=(plain_products, chosen.N))

    def circuit(x: Any, rotate: Callable[[Any, int], Any], modulo: Callable[[Any], Any]) -> Any:
        factors = iter(plain)
        for level in range(depth + 1):
            for _ in range(np.count_nonzero(places == level)):
                x = modulo(x * next(factors))
            for step in steps:
                x = modulo(x + rotate(x, step))
            if level < depth:
                x = modulo(x * x)
        return x

    def rolled(x: Ints, columns: int) -> Ints:
        return np.roll(x.reshape(2, -1), -columns, axis=-1).reshape(-1)

    client = bgv.Client(chosen)
    server = bgv.Server(client.evaluation_keys(rotations=steps), device="cpu")
    x = server.upload(client.public_key().encrypt(values))
    result = circuit(x, lambda x, columns: x.rotate(columns), lambda x: x)
    assert result.noise_budget > 0
    assert np.array_equal(client.decrypt(result), circuit(values, rolled, lambda x: x % t))


def test_plain_products_and_sums_have_an_effect_at_every_depth() -> None:
    for depth in range(5):
        few = bgv.parameters(depth=depth, sums=0)
        for more in ({"plain_products": 2}, {"sums": 25}, {"plain_products": 1, "sums": 6}):
            chosen = bgv.parameters(depth=depth, **{"sums": 0, **more})  # type: ignore[arg-type]
            assert chosen.log2_Q > few.log2_Q


def test_a_plan_is_no_worse_than_a_choice_by_its_numbers() -> None:
    for case in CASES.values():
        if case.packing != "slots":
            continue
        found = plan(case.function, case.inputs)
        chosen = bgv.parameters(
            depth=found.depth,
            plain_products=found.plain_products,
            sums=math.ceil(found.sums),
            plain_modulus=found.t,
            N=found.N,
        )
        assert found.parameters().limbs <= chosen.limbs
