"""Networks on ciphertexts against the same polynomials in clear, and against the model."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from nn.networks import LEAST_RING, RandomNetwork, client, server_of, small_parameters
from whorl import ckks, nn
from whorl.nn._saved import network_from
from whorl.nn._steps import MapStep, RefreshStep


def check(seed: int, large: bool = False) -> int:
    """Returns how many ciphertexts the tensor takes that takes most of them."""
    random = RandomNetwork(seed, large)
    net = random.compiled()
    ring = net.parameters.N
    x = random.random.uniform(-0.8, 0.8, (random.images + 1, *random.graph.nodes[0].shape))
    result = net.run(server_of(net), net.ends.encrypt(client(ring), x))
    got = net.ends.decrypt(client(ring), result, len(x))
    clear = net.simulate(x)
    assert got.shape == clear.shape == (len(x), *random.graph.nodes[-1].shape)
    error = net.ends.output.error
    assert np.abs(got - clear).max() <= 6 * error, f"seed {seed}: stated {error:.2g}"
    # What is stated is not far above what there is, and far below the values.
    assert error <= 2**-10 * max(1, net.ends.output.scale)
    return max(step.parts for step in net.steps)


@pytest.mark.parametrize("seed", range(24))
def test_networks_are_within_their_error_of_the_simulation(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", range(12))
def test_the_simulation_is_near_the_model(seed: int) -> None:
    """What is packed wrong would be wrong on ciphertexts and in the simulation alike."""
    random = RandomNetwork(seed, large=seed % 2 == 0)
    net = random._compiled(1, 2**-11)
    x = random.random.uniform(-0.8, 0.8, (5, *random.graph.nodes[0].shape))
    difference = np.abs(net.simulate(x) - random.graph(x)).max()
    assert difference <= 2**-7 * net.ends.output.scale


def test_tensors_take_several_ciphertexts() -> None:
    assert max(check(seed, large=True) for seed in range(12)) == 4


def large_network(parameters: ckks.Parameters, **arguments: Any) -> tuple[nn.Network, Any]:
    """Images of 32 × 32, of three channels, and examples."""
    b = nn.Builder((3, 32, 32))
    conv = b.windows("conv", 0, weights(4, 3, 3, 3), padding=(1, 1))
    smooth = b.function("smooth", conv, "tanh")
    half = b.windows("half", smooth, weights(6, 4, 2, 2), stride=(2, 2))
    both = b.sum("both", half, b.function("bend", half, "polynomial", [0.1, 0.0, 0.5]))
    same = b.windows("same", both, weights(6, 6, 1, 1) / 2)
    again = b.function("again", same, "polynomial", [0.0, 0.5, 0.1])
    graph = b.graph(b.linear("head", b.average("pool", again, (4, 4), (4, 4)), weights(5, 96)))
    x = np.random.default_rng(2).uniform(-1, 1, (20, 3, 32, 32))
    return nn.compile(graph, x, precision=2**-7, parameters=parameters, **arguments), x


def test_images_larger_than_a_ciphertext(tmp_path: Path) -> None:
    net, x = large_network(small_parameters(LEAST_RING))
    assert net.ends.input.parts == 6 and net.ends.output.parts == 1
    assert [step.parts for step in net.steps[1:3]] == [8, 8]
    given = net.ends.encrypt(client(LEAST_RING), x[:3])
    assert given.shape == (3, 6)
    server, clear = server_of(net), net.simulate(x[:3])
    whole = net.run(server, given)
    got = net.ends.decrypt(client(LEAST_RING), whole, 3)
    assert np.abs(got - clear).max() <= 6 * net.ends.output.error < 0.01 * np.abs(clear).max()
    assert np.abs(clear - net.graph(x[:3])).max() < 0.05 * np.abs(clear).max()
    net.save(tmp_path / "net")
    again = nn.load(tmp_path / "net", allow_insecure=True)
    # One image, and several in turns; maps that are kept, and maps that are encoded ahead.
    one = again.on(server)(given[1])
    assert one.shape == ()
    assert one.to_host().to_bytes() == whole[1].to_host().to_bytes()
    several = again.on(server, max_bytes=2**23, prefetch=True)(given)
    assert several.to_host().to_bytes() == whole.to_host().to_bytes()


def test_diagonals_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For maps that are encoded in each run."""
    net, x = large_network(small_parameters(LEAST_RING))
    made: list[str] = []
    usual = MapStep.linear_maps

    def noted(step: MapStep) -> Any:
        made.append(step.name)
        return usual(step)

    monkeypatch.setattr(MapStep, "linear_maps", noted)
    server, given = server_of(net), net.ends.encrypt(client(LEAST_RING), x[:1])
    runner = net.on(server, max_bytes=0)
    assert runner.nbytes == 0 and made == []
    first, second = runner(given), runner(given)
    names = [step.name for step in net.steps if isinstance(step, MapStep)]
    assert made == names
    assert first.to_host().to_bytes() == second.to_host().to_bytes()
    net.run(server, given)
    assert made == 2 * names


def test_compilation_shows_progress() -> None:
    told: list[tuple[int, int]] = []
    net, _ = large_network(small_parameters(LEAST_RING), progress=lambda *at: told.append(at))
    steps = len(net.steps) - 1
    layouts = told[: len(told) - steps]
    assert layouts == [(i + 1, len(layouts)) for i in range(len(net.grids))]
    assert told[len(layouts) :] == [(i + 1, steps) for i in range(steps)]


def test_what_encodes_ahead_raises_in_its_step() -> None:
    net, x = large_network(small_parameters(LEAST_RING))
    keys = client(LEAST_RING).evaluation_keys(**{**net.keys, "low_rotations": {}, "rotations": []})
    runner = net.on(ckks.Server(keys, device="cpu"), max_bytes=0, prefetch=True)
    with pytest.raises(whorl.MissingKeyError):
        runner(net.ends.encrypt(client(LEAST_RING), x[:1]))


def test_all_parts_are_refreshed() -> None:
    """In a small ring with bootstraps."""
    literal = {**ckks.parameters(6, bootstrap=True).literal(), "N": 2048, "name": "small"}
    parameters = ckks.parameters(literal=literal, allow_insecure=True)
    net, x = large_network(parameters)
    refreshes = [step for step in net.steps if isinstance(step, RefreshStep)]
    assert max(step.parts for step in refreshes) > 1
    assert net.bootstraps == sum(step.parts for step in refreshes)
    refresher = ckks.Client(parameters)
    server = ckks.Server(refresher.evaluation_keys(**net.keys), device="cpu")
    result = net.run(server, net.ends.encrypt(refresher, x[:1]))
    got, clear = net.ends.decrypt(refresher, result), net.simulate(x[:1])
    assert np.abs(got - clear).max() <= 6 * net.ends.output.error < 0.1 * np.abs(clear).max()


def test_tensors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(whorl.ShapeError, match="more than 256 slots, the share of each of 2"):
        large_network(small_parameters(LEAST_RING), images=2)
    b = nn.Builder((4,))
    graph = b.graph(b.linear("long", 0, weights(40_000, 4)))
    with pytest.raises(whorl.ShapeError, match=r"long: .* takes 79 ciphertexts of 512 slots"):
        nn.compile(graph, np.eye(4), parameters=small_parameters(LEAST_RING))


def test_large_batches_run_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    random = RandomNetwork(3)
    net = random.compiled()
    server, count = server_of(net), 5 * random.images
    shape = (count, *random.graph.nodes[0].shape)
    given = net.ends.encrypt(client(), random.random.uniform(-0.8, 0.8, shape))
    whole, done = net.run(server, given), list[tuple[int, int]]()
    monkeypatch.setattr(type(server), "best_batch", 2)
    got = net.on(server)(given, lambda *at: done.append(at))
    steps = len(net.steps) - 1
    assert done == [(i + 1, 3 * steps) for i in range(3 * steps)]
    assert got.to_host().to_bytes() == whole.to_host().to_bytes()
    times = net.on(server).profile(given)
    assert len(times) == steps and min(times.values()) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_a_thousand_networks(seed: int) -> None:
    try:
        check(seed, large=seed % 2 == 0)
    except whorl.ParameterError as error:  # slots without a value may leave a small range
        if "lead examples" not in str(error):
            raise
        pytest.skip(str(error))


def weights(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.random.default_rng(math.prod(shape)).normal(size=shape) / math.sqrt(shape[-1])


def flat_and_linear(b: nn.Builder) -> int:
    image = b.reshaped("image", 0, (2, 4, 4))
    pooled = b.windows("pooled", image, weights(8, 2, 2, 2), stride=(2, 2))
    flat, linear = b.reshaped("flat", pooled, (32,)), b.linear("linear", 0, weights(32, 32))
    return b.sum("sum", flat, linear)


def function_of_an_image_that_was_flat(b: nn.Builder) -> int:
    image = b.reshaped("image", b.linear("first", 0, weights(32, 32)), (2, 4, 4))
    smooth = b.function("smooth", image, "tanh")
    return b.windows("conv", smooth, weights(4, 2, 2, 2), stride=(2, 2))


def products_both_ways(b: nn.Builder) -> int:
    image = b.reshaped("image", 0, (2, 4, 4))
    conv = b.windows("conv", image, weights(2, 2, 3, 3), padding=(1, 1))
    one, other = b.product("one", image, conv), b.product("other", conv, image)
    return b.linear("last", b.sum("sum", one, other, image), weights(3, 32))


def square_of_a_tensor(b: nn.Builder) -> int:
    linear = b.linear("linear", 0, weights(5, 32))
    return b.product("square", linear, linear)


@pytest.mark.parametrize(
    "build",
    [
        flat_and_linear,
        function_of_an_image_that_was_flat,
        products_both_ways,
        square_of_a_tensor,
    ],
)
def test_tensors_meet_wherever_they_lie(build: Callable[[nn.Builder], int]) -> None:
    builder = nn.Builder((32,))
    graph = builder.graph(build(builder))
    x = np.random.default_rng(1).uniform(-1, 1, (24, 32))
    net = nn.compile(graph, x, precision=2**-9, parameters=small_parameters())
    clear = graph(x)
    assert np.abs(net.simulate(x) - clear).max() < 0.01 * np.abs(clear).max()
    result = net.run(server_of(net), net.ends.encrypt(client(), x[:2]))
    got = net.ends.decrypt(client(), result, 2)
    assert np.abs(got - net.simulate(x[:2])).max() <= 6 * net.ends.output.error


def test_the_ring_holds_the_longest_tensor() -> None:
    builder = nn.Builder((4,))
    long = builder.linear("long", 0, weights(6000, 4))
    square = builder.function("square", long, "polynomial", [0.0, 0.0, 1.0])
    graph = builder.graph(builder.linear("last", square, weights(2, 6000)))
    net = nn.compile(graph, np.random.default_rng(1).uniform(-1, 1, (20, 4)))
    assert net.parameters.slots >= 8192


@pytest.mark.parametrize("factor", [3.0, -3.0])
def test_a_square_takes_a_level(factor: float) -> None:
    """Times a positive number; a polynomial of degree 2 takes two."""
    b = nn.Builder((8,))
    graph = b.graph(
        b.function("square", b.linear("map", 0, weights(8, 8)), "polynomial", (0, 0, factor))
    )
    x = np.random.default_rng(1).uniform(-1, 1, (20, 8))
    net = nn.compile(graph, x, parameters=small_parameters())
    assert net.levels[1] - net.levels[2] == (1 if factor > 0 else 2)
    result = net.run(server_of(net), net.ends.encrypt(client(), x[:1]))
    got = net.ends.decrypt(client(), result)
    assert np.abs(got - graph(x[:1])).max() < 6 * net.ends.output.error < 2**-10


def test_squares_stay_right_outside_the_ranges() -> None:
    """No polynomial stands for them on a range."""
    b = nn.Builder((8,))
    mean = b.linear("mean", 0, np.ones((2, 8)) / 8)
    squares = b.function("square", mean, "polynomial", (0, 0, 1))
    graph = b.graph(b.linear("last", squares, weights(3, 2)))
    net = nn.compile(graph, np.eye(8), parameters=small_parameters())
    x = np.ones((1, 8))
    values = graph.tensors(x)
    assert np.abs(values[2]).max() > 30 * net.fit.ranges[2].most
    result = net.run(server_of(net), net.ends.encrypt(client(), x))
    with pytest.raises(whorl.EncodingError, match="may be wrong"):
        net.ends.decrypt(client(), result)
    got = net.ends.unpacked(client().decrypt(result, raw=True), 1)
    assert np.abs(got - values[-1]).max() < 1e-4


def test_polynomials_that_lead_out_of_the_ranges_are_refused() -> None:
    """Large results of a relu nearly cancel, so that what is left is above its range."""
    b = nn.Builder((2,))
    first = b.function("first", b.linear("one", 0, [[1, 0], [1, 0.02]]), "relu")
    second = b.function("second", b.linear("two", first, [[1, -1]]), "relu")
    graph = b.graph(b.linear("three", second, [[50.0]]))
    x = np.random.default_rng(1).uniform(-1, 1, (200, 2))
    with pytest.raises(whorl.ParameterError, match="smaller precision"):
        nn.compile(graph, x, precision=2**-5, parameters=small_parameters())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"images": 3}, "power of two"),
        ({"margin": 0.5}, "margin"),
        ({"margin": math.inf}, "margin"),
        ({"precision": 0.0}, "precision"),
        ({"max_key_bytes": 1000}, "max_key_bytes"),
        ({"seen": [1.0]}, "seen: .* at 2 nodes"),
        ({"seen": [1.0, -1.0]}, "seen: .* 1 of them negative"),
        ({"seen": [1.0, math.nan]}, "seen: 1 of 2 numbers"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, Any], text: str) -> None:
    b = nn.Builder((4,))
    graph = b.graph(b.linear("linear", 0, weights(3, 4)))
    with pytest.raises(whorl.ParameterError, match=text):
        nn.compile(graph, np.ones((2, 4)), **options)


def test_ranges_may_come_from_examples_that_are_not_here() -> None:
    b = nn.Builder((32,))
    hidden = b.function("relu", b.linear("first", 0, weights(16, 32)), "relu")
    graph = b.graph(b.linear("last", hidden, weights(4, 16)))
    x = np.random.default_rng(1).uniform(-1, 1, (64, 32))

    def compiled(examples: Any, seen: Any = None) -> nn.Network:
        return nn.compile(graph, examples, seen=seen, parameters=small_parameters())

    whole = compiled(x)
    few = compiled(0.5 * x[:2], [each.seen for each in whole.fit.ranges])
    assert few.fit.ranges == whole.fit.ranges
    assert np.array_equal(few.simulate(x), whole.simulate(x))
    # Examples that are larger count.
    assert compiled(x, [0.0] * len(graph.nodes)).fit.ranges == whole.fit.ranges


@pytest.mark.parametrize("images", [1, 4])
def test_the_simulation_says_which_inputs_leave_the_ranges(images: int) -> None:
    b = nn.Builder((2,))
    double = b.linear("sum", 0, [[1, 1]])
    smooth = b.function("smooth", double, "tanh")
    square = b.function("square", b.linear("near", smooth, [[1.0]]), "polynomial", (0, 0, 1))
    x = np.random.default_rng(1).uniform(-0.5, 0.5, (40, 2))
    x[0] = 0.5
    net = nn.compile(b.graph(square), x, images=images, parameters=small_parameters())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.simulate(1.2 * x)
    assert net.outside(1.2 * x) == {}
    given = np.array([[0.5, 0.5], [0.9, 0.6], [0.0, 0.0], [1.0, 1.0], [0.9, -0.9]])
    with pytest.warns(nn.RangeWarning, match=r"of 5 inputs, 3 .* first at input \(1\.58 times"):
        net.simulate(given)
    found = net.outside(given)
    assert list(found)[:2] == ["input", "sum"]
    assert [name for name, each in found.items() if each[2] > 0.5] == []
    expected = np.abs(given.sum(axis=1)) / net.fit.ranges[1].scale
    assert np.allclose(found["sum"], expected)


def test_factors_that_plaintexts_round_are_seen_too() -> None:
    """No polynomial takes the tensor that is out of its range."""
    b = nn.Builder((2,))
    x = np.random.default_rng(1).uniform(-1, 1, (50, 1)) * [1, 1]
    x[:, 1] += np.random.default_rng(2).uniform(-1e-6, 1e-6, 50)
    square = b.function("square", b.linear("apart", 0, [[1, -1]]), "polynomial", (0, 0, 1))
    first = b.linear("first", 0, [[1.0, 0.0]])
    net = nn.compile(b.graph(b.sum("sum", first, square)), x, parameters=small_parameters())
    with pytest.warns(nn.RangeWarning, match=r"of 1 input, 1 .* apart"):
        net.simulate([[0.5, 0.1]])


def test_inputs_of_another_shape_are_refused() -> None:
    net, x = large_network(small_parameters(LEAST_RING))
    runner, who = net.on(server_of(net), max_bytes=0), client(LEAST_RING)
    given = net.ends.encrypt(who, x[:4])
    message = r"x: ciphertexts of shape .* are not those of inputs, \(batch, 6\)"
    twice = ckks.concatenate([given[:2], given[:2]], axis=1)
    for wrong in (given[:, 0], given[0, 0], given[:, :5], twice, given[:, None]):
        with pytest.raises(whorl.ShapeError, match=message):
            runner(wrong)
    slots = net.ends.packed(x[:1])
    for other in (slots[..., :8], slots + 1j):
        wrong = who.encrypt(other, bound=2.0)
        with pytest.raises(whorl.ShapeError, match=r"values, .* are not inputs, which have 512"):
            runner(wrong)
    with pytest.raises(whorl.ParameterError, match="max_bytes: -1 is outside"):
        net.on(server_of(net), max_bytes=-1)
    ends = dataclasses.replace(net.ends, output=net.ends.input)
    good = np.zeros((2, 6, 512))
    assert ends.unpacked(good).shape == (2, 3, 32, 32)
    for wrong_slots in (good[:, 0], good[:, :5], good[..., :8], good[0, 0]):
        with pytest.raises(whorl.ShapeError, match=r"that of results, \(batch, 6, 512\)"):
            ends.unpacked(wrong_slots)


def test_a_network_may_be_its_input_alone() -> None:
    net = nn.compile(nn.Builder((3,)).graph(0), np.eye(3), images=4, parameters=small_parameters())
    again = network_from(net.to_bytes(), None, True)
    result = again.run(server_of(net), net.ends.encrypt(client(), np.eye(3)))
    got = net.ends.decrypt(client(), result, 3)
    assert np.abs(got - np.eye(3)).max() < 6 * net.ends.output.error
    for count in (-1, 0, 5):
        with pytest.raises(whorl.ParameterError, match=f"count: {count} is outside 1 … 4"):
            net.ends.decrypt(client(), result, count)


def test_what_cannot_be_compiled_is_named() -> None:
    b = nn.Builder((2,))
    graph = b.graph(b.linear("apart", 0, [[1, -1]]))
    x = np.random.default_rng(1).uniform(-1, 1, (50, 1)) * [1, 1]
    close = x + [0, 1e-13] * np.random.default_rng(2).uniform(-1, 1, (50, 1))
    with pytest.raises(whorl.EncodingError, match=r"apart: the examples' values become .* times"):
        nn.compile(graph, close, parameters=small_parameters())
    with pytest.raises(whorl.EncodingError, match=r"input: its values go up to .* 2\^400"):
        nn.compile(graph, 1e-200 * x, parameters=small_parameters())
    with pytest.raises(whorl.EncodingError, match="examples: networks take real numbers"):
        nn.compile(graph, x + 1j)
    with pytest.raises(TypeError, match=r"'W128_L16_B16' is a str.* take ckks.parameters"):
        nn.compile(graph, x, parameters="W128_L16_B16")  # type: ignore[arg-type]
    for shape in ((-1, 4), (0,)):
        with pytest.raises(whorl.ParameterError, match="shape: an axis"):
            nn.Builder(shape)


def test_ranges_that_follow_from_operands_are_proven() -> None:
    b = nn.Builder((1, 4, 4))
    smooth = b.function("smooth", 0, "sigmoid")
    pool = b.average("pool", smooth, (2, 2), (2, 2))
    both = b.sum("both", b.function("bent", pool, "tanh"), pool)
    wide = b.windows("wide", pool, 9 * np.ones((1, 1, 1, 1)))
    x = np.random.default_rng(1).uniform(-1, 1, (50, 1, 4, 4))
    net = nn.compile(b.graph(b.product("product", both, wide)), x, parameters=small_parameters())
    found = {node.name: each for node, each in zip(net.graph.nodes, net.fit.ranges, strict=True)}
    assert all(found[name].proven for name in ("pool", "both", "wide", "product"))
    most = found["smooth"].most
    assert most <= found["pool"].most <= 1.001 * most
    assert found["wide"].most == pytest.approx(9 * found["pool"].most)
    assert found["both"].most == pytest.approx(found["bent"].most + found["pool"].most)
    assert not found["input"].proven


def test_layers_of_zeros_and_tiny_weights_may_be_compact() -> None:
    b = nn.Builder((2, 34, 34))
    conv = b.windows("conv", 0, weights(2, 2, 3, 3), padding=(1, 1))
    tiny = b.windows("tiny", conv, 1e-30 * weights(2, 2, 3, 3), padding=(1, 1))
    none = b.windows("none", conv, np.zeros((2, 2, 1, 1)))
    graph = b.graph(b.sum("sum", conv, tiny, none))
    x = np.random.default_rng(1).uniform(-1, 1, (10, 2, 34, 34))
    net = nn.compile(graph, x, parameters=small_parameters(LEAST_RING))
    server, given = server_of(net), net.ends.encrypt(client(LEAST_RING), x[:1])
    whole = net.on(server)
    compact = net.on(server, max_bytes=whole.nbytes // 2)
    assert 0 < compact.nbytes <= whole.nbytes // 2
    assert compact(given).to_host().to_bytes() == whole(given).to_host().to_bytes()


def function_of_a_product(b: nn.Builder) -> int:
    one = b.function("one", b.linear("half", 0, np.eye(4) / 2), "tanh")
    return b.product(
        "product", one, b.function("other", b.linear("twice", 0, 2 * np.eye(4)), "tanh")
    )


def function_of_a_sum(b: nn.Builder) -> int:
    smooth = b.function("smooth", b.linear("twice", 0, 2 * np.eye(4)), "tanh")
    return b.sum("sum", smooth, b.linear("back", 0, -0.9 * np.eye(4)))


def function_of_a_square(b: nn.Builder) -> int:
    return b.function("square", b.linear("half", 0, np.eye(4) / 2), "polynomial", (0, 0, 0.3))


@pytest.mark.parametrize(
    "operand", [function_of_a_product, function_of_a_sum, function_of_a_square]
)
@pytest.mark.parametrize("function", ["tanh", "sigmoid", "relu", "gelu"])
def test_functions_have_the_scale_of_their_operand(
    function: str, operand: Callable[[nn.Builder], int]
) -> None:
    b = nn.Builder((4,))
    graph = b.graph(b.function("function", operand(b), function))
    x = np.random.default_rng(1).uniform(-1, 1, (40, 4))
    net = nn.compile(graph, x, precision=2**-11, parameters=small_parameters())
    clear = graph(x)
    assert np.abs(net.simulate(x) - clear).max() < 0.004 * max(1, np.abs(clear).max())
    got = net.ends.decrypt(client(), net.run(server_of(net), net.ends.encrypt(client(), x[:1])))
    assert np.abs(got - net.simulate(x[:1])).max() < 6 * net.ends.output.error + 1e-12
    assert max(step.bound for step in net.steps) <= 1 or function_of_a_sum is operand
    again = network_from(net.to_bytes(), None, True)
    assert np.array_equal(again.simulate(x), net.simulate(x))


@pytest.mark.parametrize("precision", [2**-4, 2**-9])
def test_a_relu_is_never_above_its_range(precision: float) -> None:
    """At the end of a network too, where its polynomials are above it by their error."""
    b = nn.Builder((4,))
    smooth = b.function("smooth", b.linear("four", 0, 4 * np.eye(4)), "tanh")
    graph = b.graph(b.function("relu", smooth, "relu"))
    x = np.random.default_rng(1).uniform(-1, 1, (40, 4))
    net = nn.compile(graph, x, precision=precision, parameters=small_parameters())
    ends = np.concatenate([x, np.full((1, 4), 1.0)])
    assert net.outside(ends) == {}
    assert np.abs(net.simulate(ends)).max() <= net.ends.output.scale
    assert np.abs(net.simulate(ends) - graph(ends)).max() <= precision * 1.5
    network_from(net.to_bytes(), None, True)


@pytest.mark.parametrize("function", ["silu", "gelu", "relu", "tanh"])
def test_functions_of_sums_that_nearly_cancel_are_precise(function: str) -> None:
    """The sum's scale is its own there, and not that of its large terms."""
    b = nn.Builder((4,))
    bent = b.function("bent", b.linear("up", 0, 64 * np.eye(4)), "polynomial", (0, 1, 1e-4))
    near = b.sum("near", bent, b.linear("down", 0, -63.5 * np.eye(4)))
    graph = b.graph(b.function("function", near, function))
    x = np.random.default_rng(1).uniform(-1, 1, (40, 4))
    net = nn.compile(graph, x, precision=2**-11, parameters=small_parameters())
    assert np.abs(net.simulate(x) - graph(x)).max() <= 2**-11 * np.abs(graph(x)).max()


def test_relus_have_a_finest_precision() -> None:
    b = nn.Builder((4,))
    graph = b.graph(b.function("ramp", 0, "relu"))
    with pytest.raises(whorl.ParameterError, match=r"ramp: precision: 1\.49e-08 is below 2\^-24"):
        nn.compile(graph, np.eye(4), precision=2**-26, parameters=small_parameters())


def test_functions_that_no_polynomial_approximates_are_named() -> None:
    b = nn.Builder((1,))
    graph = b.graph(b.function("step", b.linear("steep", 0, [[1e4]]), "tanh"))
    message = r"step: tanh on ±1\.27e\+04: .* differs from the function by .*; scale the layer"
    with pytest.raises(whorl.ParameterError, match=message):
        nn.compile(graph, np.ones((1, 1)), parameters=small_parameters())


def test_more_images_than_slots_are_refused() -> None:
    b = nn.Builder((1,))
    graph = b.graph(b.linear("linear", 0, [[1.0]]))
    with pytest.raises(whorl.ParameterError, match="images: 2048 are more than the 1024 slots"):
        nn.compile(graph, np.ones((1, 1)), images=2048, parameters=small_parameters())


def test_spoilt_results_are_refused() -> None:
    """The sum of two inputs is small in all examples, and not in what is encrypted."""
    b = nn.Builder((2,))
    smooth = b.function("relu", b.linear("sum", 0, [[1, 1]]), "relu")
    graph = b.graph(b.linear("last", smooth, [[1.0]]))
    x = np.random.default_rng(1).uniform(-1, 1, (100, 1)) * [1, -1] * 0.9
    x[:, 0] += np.random.default_rng(2).uniform(-0.05, 0.05, 100)
    net = nn.compile(graph, x, precision=2**-9, parameters=small_parameters())
    server = server_of(net)
    results = net.run(server, net.ends.encrypt(client(), x[:1]))
    got = net.ends.decrypt(client(), results)
    assert np.abs(got - net.simulate(x[:1])).max() <= 6 * net.ends.output.error
    spoilt = net.run(server, net.ends.encrypt(client(), [[0.9, 0.9]]))
    with pytest.raises(whorl.EncodingError, match="larger margin"):
        net.ends.decrypt(client(), spoilt)


def test_a_polynomial_may_be_zero() -> None:
    b = nn.Builder((4,))
    graph = b.graph(b.function("zero", 0, "polynomial", [0.0]))
    net = nn.compile(graph, np.ones((2, 4)), parameters=small_parameters())
    result = net.run(server_of(net), net.ends.encrypt(client(), np.ones((1, 4))))
    assert np.abs(net.ends.decrypt(client(), result, 1)).max() < 1e-6


def test_networks_know_how_far_they_are_from_the_model() -> None:
    b = nn.Builder((2, 4))
    smooth = b.function("tanh", b.linear("sum", 0, weights(3, 8)), "tanh")
    examples = np.random.default_rng(3).uniform(-1, 1, (90, 2, 4))
    for graph in (b.graph(smooth), b.graph(b.linear("last", smooth, weights(2, 3)))):
        net = nn.compile(graph, examples, images=2, parameters=small_parameters())
        off = np.abs(net.simulate(examples) - graph(examples)).max()
        # The first 64 or less of 90 examples are tried, spread over all.
        assert net.difference is not None and 0.5 * off <= net.difference <= off <= 2**-8
        assert f"by up to {net.difference:.2g}; the largest is" in net.summary()
    b = nn.Builder((3,))
    exact = b.graph(b.linear("last", b.product("square", 0, 0), weights(2, 3)))
    net = nn.compile(exact, examples[:, 0, :3], parameters=small_parameters())
    assert net.difference is not None and net.difference < 1e-12


def unequal(factor: float) -> nn.Network:
    """A relu of two channels, one of which is `factor` times as large as the other."""
    b = nn.Builder((2, 3))
    scaled = b.scaled("scaled", 0, [factor, 1.0], [0.0, 0.0])
    examples = np.random.default_rng(4).uniform(-1, 1, (40, 2, 3))
    return nn.compile(
        b.graph(b.function("relu", scaled, "relu")), examples, parameters=small_parameters()
    )


def test_channels_that_polynomials_spoil_are_named() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unequal(4)
    with pytest.warns(nn.PrecisionWarning, match=r"results\[:, 1\] differ .* 0\.9") as caught:
        net = unequal(1000)
    assert caught[0].filename == __file__
    assert net.difference is not None and net.difference > 1 / 16
