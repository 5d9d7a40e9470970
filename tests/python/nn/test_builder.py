"""Graphs that readers build: which maps become one, and that none changes what another takes."""

import math
from typing import Any

import numpy as np
import pytest
import whorl
from whorl.nn._batched import Batched, Tensor
from whorl.nn._builder import Builder
from whorl.nn._graph import Function, Linear, Product, Sparse, Sum, Windows
from whorl.nn._read import read


def kinds(graph: Any) -> list[type]:
    return [type(node) for node in graph.nodes[1:]]


def test_a_scale_makes_a_map_of_its_own_where_the_first_is_used_too(
    generator: np.random.Generator,
) -> None:
    builder = Builder((4,))
    weight = generator.normal(size=(4, 4))
    first = builder.linear("first", 0, weight)
    graph = builder.graph(builder.sum("sum", first, builder.affine("scale", first, 3.0, 1.0)))
    x = generator.normal(size=(5, 4))
    np.testing.assert_allclose(graph(x), 4 * (x @ weight.T) + 1)
    assert kinds(graph) == [Linear, Linear, Sum]


@pytest.mark.parametrize("shape", [(3, 1, 1), (3, 4, 5), (1, 5), ()])
@pytest.mark.parametrize("before", ["input", "windows", "relu"])
def test_constants_that_broadcast(
    shape: tuple[int, ...], before: str, generator: np.random.Generator
) -> None:
    builder = Builder((3, 4, 5))
    node = 0
    if before == "windows":
        node = builder.windows(before, 0, generator.normal(size=(3, 3, 3, 3)), padding=(1, 1))
    elif before == "relu":
        node = builder.function(before, 0, "relu")
    plain = builder.graph(builder.function("tanh", node, "tanh")).nodes[-2]
    factor, shift = generator.normal(size=shape), generator.normal(size=shape)
    graph = builder.graph(builder.affine("scale", node, factor, shift))
    x = generator.normal(size=(2, 3, 4, 5))
    expected = graph.tensors(x)[1] if before == "relu" else x if before == "input" else plain(x)
    np.testing.assert_allclose(graph(x), expected * factor + shift)
    assert len(kinds(graph)) == 1 + (before == "relu")


def test_scales_of_one_number_are_one(generator: np.random.Generator) -> None:
    builder = Builder((3,))
    relu = builder.function("relu", 0, "relu")
    doubled = builder.affine("double", relu, 2.0, 2.0)
    assert builder.affine("half", doubled, 0.5, -1.0) == relu


def test_moves_of_moves_are_one_and_linear_maps_take_them_in(
    generator: np.random.Generator,
) -> None:
    builder = Builder((4, 3))
    turned = builder.moved("turn", [0], np.arange(12).reshape(4, 3).T, (3, 4))
    assert builder.moved("back", [turned], np.arange(12).reshape(3, 4).T, (4, 3)) == 0
    row = builder.moved("row", [turned], np.arange(4, 8), (4,))
    weight = generator.normal(size=(2, 4))
    graph = builder.graph(builder.linear("linear", row, weight))
    x = generator.normal(size=(5, 4, 3))
    np.testing.assert_allclose(graph(x), x[:, :, 1] @ weight.T)
    assert kinds(graph) == [Sparse]
    whole = builder.graph(builder.linear("linear", turned, generator.normal(size=(2, 12))))
    assert kinds(whole) == [Linear]


def test_a_map_of_joined_tensors_is_a_sum_of_maps(generator: np.random.Generator) -> None:
    builder = Builder((3,))
    relu, tanh = builder.function("relu", 0, "relu"), builder.function("tanh", 0, "tanh")
    joined = builder.moved("join", [relu, tanh], [5, 0, -1, 1, 2, 3, 4], (7,))
    weight, bias = generator.normal(size=(2, 7)), generator.normal(size=2)
    graph = builder.graph(builder.linear("linear", joined, weight, bias))
    x = generator.normal(size=(5, 3))
    np.testing.assert_allclose(
        graph(x), builder.graph(joined)(x) @ weight.T + bias, rtol=1e-12, atol=1e-12
    )
    assert kinds(graph) == [Function, Function, Linear, Linear, Sum]


def test_polynomials_of_one_tensor_are_one(generator: np.random.Generator) -> None:
    builder = Builder((4,))
    square = builder.product("square", 0, 0)
    cube = builder.product("cube", square, 0)
    triple = builder.affine("triple", 0, 3.0, 0.5)
    graph = builder.graph(builder.sum("sum", cube, triple))
    (_, node) = graph.nodes
    assert isinstance(node, Function) and node.coefficients == (0.5, 3.0, 0.0, 1.0)
    squared = builder.function("squared", triple, "polynomial", (0, 0, 1))
    for last in (builder.sum("sum", squared, triple), builder.product("product", squared, triple)):
        assert kinds(builder.graph(last)) == [Sparse, Function]
    high = 0
    for _ in range(6):
        high = builder.product("high", high, high)
    assert kinds(builder.graph(high)).count(Product) == 1  # degrees stay below 32


def test_entries_are_the_map(generator: np.random.Generator) -> None:
    builder = Builder((4, 3))
    node = builder.nodes[builder.linear_each("each", 0, generator.normal(size=(2, 3)), [1.0, 2.0])]
    assert isinstance(node, Sparse)
    matrix = np.zeros((node.size, 12))
    entries = node.entries()
    np.add.at(matrix, (entries.rows, entries.columns), entries.values)
    x = generator.normal(size=(5, 4, 3))
    expected = (x.reshape(5, 12) @ matrix.T + np.tile([1.0, 2.0], 4)).reshape(5, 4, 2)
    np.testing.assert_allclose(node(x), expected)


@pytest.mark.parametrize("dilation", [1, 3])
@pytest.mark.parametrize("sides", [(0, 2), (3, 1), (1, 1)])
def test_unequal_padding(
    dilation: int, sides: tuple[int, int], generator: np.random.Generator
) -> None:
    weight = generator.normal(size=(2, 1, 2, 2))
    x = generator.normal(size=(3, 1, 6, 7))
    how: dict[str, Any] = {"stride": (2, 1), "dilation": (dilation, 1)}
    builder, padded = Builder((1, 6, 7)), Builder((1, 6 + sum(sides), 7))
    graph = builder.graph(builder.windows("conv", 0, weight, padding=(sides, 0), **how))
    plain = padded.graph(padded.windows("conv", 0, weight, **how))
    np.testing.assert_allclose(graph(x), plain(np.pad(x, ((0, 0), (0, 0), sides, (0, 0)))))
    assert kinds(graph) == [Windows]


def test_refusals_name_what_is_wrong() -> None:
    builder = Builder((3, 4))
    for call, message in (
        (lambda: builder.linear("a", 0, np.ones((2, 5))), r"a: a weight of shape \(2, 5\) meets"),
        (lambda: builder.linear_each("a", 0, np.ones((2, 3))), "a: .* meets rows of a tensor"),
        (lambda: builder.affine("a", 0, np.ones(3), 0.0), r"a: constants of shapes \(3,\) and"),
        (lambda: builder.scaled("a", 0, np.ones(4), np.ones(4)), "a: 4 channels meet a tensor"),
        (lambda: builder.moved("a", [0], [-1], (1,)), "a: no value of the operand is taken"),
        (lambda: builder.windows("a", 0, np.ones((1, 3, 5))), "a: nothing is left of a tensor"),
        (lambda: builder.product("a", 0, builder.linear("b", 0, np.ones((2, 12)))), "a: shapes"),
    ):
        with pytest.raises(whorl.ShapeError, match=message):
            call()
    with pytest.raises(whorl.ParameterError, match="a: 2 of 3 numbers of the bias are not finite"):
        builder.linear("a", 0, np.ones((3, 12)), [np.inf, 0, np.nan])


def test_a_model_of_no_known_kind_is_refused() -> None:
    with pytest.raises(TypeError, match=r"model: a dict is no torch\.nn\.Module"):
        read({}, (3,))


@pytest.mark.parametrize(("shape", "size"), [((3, 7, 5), (3, 4)), ((2, 7), (4,)), ((2, 3), (5,))])
def test_windows_that_do_not_divide_an_image_overlap(
    shape: tuple[int, ...], size: tuple[int, ...]
) -> None:
    """As those of torch's adaptive pooling do."""
    batched = Batched(shape)
    graph = batched.graph(batched.average_to("pool", Tensor(0), size))
    x = np.random.default_rng(1).normal(size=(2, *shape))
    expected = np.empty((2, shape[0], *size))
    for place in np.ndindex(*size):
        window = tuple(
            slice(math.floor(i * n / m), math.ceil((i + 1) * n / m))
            for i, n, m in zip(place, shape[1:], size, strict=True)
        )
        axes = tuple(range(2, x.ndim))
        expected[(..., *place)] = x[(slice(None), slice(None), *window)].mean(axis=axes)
    np.testing.assert_allclose(graph(x), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "coefficients"),
    [("sine", ()), ("polynomial", ()), ("polynomial", [[1.0, 2.0]]), ("tanh", [1.0])],
)
def test_functions_that_there_are_not_are_named(function: str, coefficients: Any) -> None:
    with pytest.raises(whorl.ParameterError, match=f"bend: '{function}' with .* one of relu, "):
        Builder((4,)).function("bend", 0, function, coefficients)
