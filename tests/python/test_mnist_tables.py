"""apps/mnist_tables: the training, the network in the clear and on ciphertexts, the processes."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from applications import check_refused, check_server_apart, make_mnist, numbers_of
from mnist_tables import digits, layout, model, train
from mnist_tables.layout import KINDS, Kind
from support import DATA
from whorl import binfhe
from whorl.errors import NoiseError, ParameterError

MNIST = DATA / "mnist"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with images, bright above or below, and a network of few neurons that tells which
    is which."""
    folder = tmp_path_factory.mktemp("mnist")
    random = np.random.default_rng(1)
    images, labels = random.integers(0, 64, (256, 28, 28)), random.integers(0, 2, 256)
    images[labels == 0, 14:] = 0
    images[labels == 1, :14] = 0
    make_mnist(folder, images, labels)
    network = str(folder / "network.npz")
    train.main([str(folder), "--epochs", "400", "--hidden", "6", "--to", network])
    return folder


def by_integers(network: model.Network, pixels: Any) -> list[list[int]]:
    """The network by Python's integers, a neuron at a time."""
    found = []
    for x in pixels.tolist():
        for layer in network.layers:
            sums = [
                sum(w * each for w, each in zip(row, x, strict=True)) + int(bias)
                for row, bias in zip(layer.matrix.tolist(), layer.bias, strict=True)
            ]
            x = [min(15, total // network.kind.step) if total > 0 else 0 for total in sums]
        found.append(sums)
    return found


@pytest.mark.parametrize("name", list(KINDS))
def test_a_neuron_is_looked_up_by_one_rotation(name: str) -> None:
    step, (lowest, highest) = KINDS[name].step, KINDS[name].range
    table, half = layout.neurons(step), layout.P // 2
    assert (table[:half] + table[half:] == 15).all()
    for total in (-1, 0, step - 1, step, 15 * step - 1, 15 * step, highest, -900, lowest):
        wanted = 0 if total < 0 else min(15, total // step)
        assert table[total % layout.P] == wanted == layout.rectified(total, step), total
    assert table[(lowest - 1) % layout.P] == 1  # what a sum below the range gives
    for set_name in ("W128_P128", "W128_P128_M2", "W128_P128_M5"):
        lut = model.table(layout.named(set_name), KINDS[name])
        assert (lut.kind, lut.weight, lut.exact) == ("near_negacyclic", 0, False)
        # A sum is read within 34 of 4,096 phases, for which training leaves room at the ends.
        assert lut.reach < train.ROOM


def test_training_has_errors_as_large_as_encrypted_ones() -> None:
    """In phases, of which a circle has 4,096."""
    for name in ("W128_P128", "W128_P128_M2", "W128_P128_M5"):
        parameters = layout.named(name)
        noise = parameters.noise()
        to_phases = 4096 / parameters.q
        refreshed, rotated = (
            np.sqrt(noise.key_switch + noise.switch_to_ks) * to_phases,
            np.sqrt(noise.blind_rotation) * 4096 / parameters.Q,
        )
        assert parameters.q == parameters.Q_ks and layout.P == 4096
        assert rotated < 1.02 * train.NEURON_ERROR
        assert np.hypot(refreshed, np.sqrt(noise.rotation_rounding)) < train.SUM_ERROR
        # Sums of fresh pixels are not switched: those of all weights of either network.
        for kind in KINDS.values():
            weights = np.square(model.load(kind).layers[0].matrix).sum(axis=1).max()
            fresh = np.sqrt(noise.fresh * weights) * to_phases
            assert np.hypot(fresh, np.sqrt(noise.rotation_rounding)) < train.SUM_ERROR


@pytest.mark.parametrize("hidden", [(8,), (8, 8)])
def test_gradients_are_slopes_of_the_loss(hidden: tuple[int, ...]) -> None:
    """Nearly: losses change by whole steps of weights and levels only."""
    random = np.random.default_rng(1)
    depth = len(hidden)
    kind = Kind(hidden, 60, (127,) * (depth + 1), 1, Path())
    weights = train.first_weights(random, hidden, 0.15)
    for i in range(depth + 1):
        # Sums of some levels, which nothing pulls back; a step of a weight is less than a level.
        spread = (8, *(25,) * (depth - 1), 3)[i]
        whole = np.rint(random.normal(0, spread, weights[f"w{i}"].shape))
        weights[f"w{i}"] = whole.astype(np.float32) * np.float32(train.UNIT)
    pixels = random.integers(0, 16, (4000, layout.PIXELS)).astype(np.float32)
    pixels[:, 20:] = 0
    labels: Any = random.integers(0, 3, 4000)

    def found_of(w: Any) -> tuple[float, Any]:
        return train.gradients(train.Noisy.of(kind, w), pixels, labels, 30)

    _, found = found_of(weights)
    for name in sorted(weights):
        # The column that matters most.
        column = int(np.abs(np.atleast_2d(found[name])).sum(axis=0).argmax())
        way = np.zeros_like(weights[name])
        moved, unit = 1.0, train.UNIT
        if name[0] == "b":
            moved, unit = (2 if name == f"b{depth}" else kind.step / 4), 4 / layout.P
        way[..., column] = moved * unit * np.sign(found[name][..., column])
        losses = [found_of({**weights, name: weights[name] + h * way})[0] for h in (1, -1)]
        slope = (losses[0] - losses[1]) / 2
        assert slope == pytest.approx(float((found[name] * way).sum()), rel=0.3), name


def test_sums_that_come_near_the_ends_are_refused(small: Path) -> None:
    network = model.load(KINDS["small"], small / "network.npz")
    last = network.layers[1]
    images = np.full((3, 28, 28), 255, dtype=np.uint8)

    def with_layers(*layers: model.Layer) -> model.Network:
        return model.Network(network.kind, layers)

    large = model.Layer(np.full((6, 784), 3), np.zeros(6, dtype=np.int64))
    with pytest.raises(ValueError, match=r"layer 1 35280 … 35280 of -1898 … 2047: .* 64 away"):
        train.check_ranges(with_layers(large, last), images)
    none = model.Layer(np.zeros((6, 784), dtype=np.int64), np.zeros(6, dtype=np.int64))
    most = model.Layer(last.matrix, np.full(10, 2000))
    with pytest.raises(ValueError, match=r"logits 2000 … 2000 of -2048 … 2047: .* 64 away"):
        train.check_ranges(with_layers(none, most), images)
    few = model.Layer(last.matrix, np.full(10, -7))
    words = train.check_ranges(with_layers(none, few), images)
    assert words == "sums of layer 1 0 … 0 of -1898 … 2047, logits -7 … -7 of -2048 … 2047"


def test_files_keep_networks(tmp_path: Path, small: Path) -> None:
    kind = KINDS["small"]
    network = model.load(kind, small / "network.npz")
    model.save(tmp_path / "again.npz", network)
    again = model.load(kind, tmp_path / "again.npz")
    for old, new in zip(network.layers, again.layers, strict=True):
        assert np.array_equal(old.matrix, new.matrix) and np.array_equal(old.bias, new.bias)
    wrong = tmp_path / "wrong.npz"
    model.save(wrong, model.Network(kind, network.layers[::-1]))
    with pytest.raises(ValueError, match="no network of 784 and 10"):
        model.load(kind, wrong)
    with pytest.raises(ValueError, match=r"'matrix3'.* are needed"):
        model.load(KINDS["large"], small / "network.npz")
    first = model.Layer(network.layers[0].matrix + 8, network.layers[0].bias)
    model.save(wrong, model.Network(kind, (first, network.layers[1])))
    with pytest.raises(ValueError, match="weights of layer 1 are not all within ±7"):
        model.load(kind, wrong)


@pytest.mark.parametrize("name, least", [("small", 0.96), ("large", 0.974)])
def test_the_packed_network_knows_the_packed_digits(name: str, least: float) -> None:
    kind = KINDS[name]
    network, (pixels, labels) = model.load(kind), digits.load()
    assert network.rotations == sum(kind.hidden) == {"small": 30, "large": 3072}[name]
    assert pixels.shape == (500, 784) and pixels.min() == 0 and pixels.max() == 15
    assert by_integers(network, pixels[:3]) == network.logits(pixels[:3]).tolist()
    assert (network.logits(pixels).argmax(axis=1) == labels).mean() >= least
    assert layout.named(layout.PARAMETERS).security.bits >= 128


def test_what_is_packed_is_small() -> None:
    packed = [digits.PACKED, *(kind.packed for kind in KINDS.values())]
    assert sum(path.stat().st_size for path in packed) < 3_000_000


@pytest.mark.skipif(not MNIST.exists(), reason=f"MNIST is not at {MNIST}")
@pytest.mark.parametrize("name, least, fewer", [("small", 0.968, 30), ("large", 0.977, 20)])
def test_all_digits_stay_in_the_ranges(name: str, least: float, fewer: int) -> None:
    from common.idx import images_and_labels

    network = model.load(KINDS[name])
    for part in ("train", "t10k"):
        train.check_ranges(network, images_and_labels(MNIST, part)[0])
    pixels, labels = digits.read(MNIST)
    clear = int((network.logits(pixels).argmax(axis=1) == labels).sum())
    assert clear >= least * 10000
    # Errors as large as those of W128_P128_M5 leave nearly as many right.
    w: Any = {}
    for i, layer in enumerate(network.layers):
        w |= {f"w{i}": layer.matrix.T.astype(np.float32) * np.float32(train.UNIT)}
        w |= {f"b{i}": layer.bias.astype(np.float32) * np.float32(4 / layout.P)}
    noisy = train.Noisy.of(network.kind, w, np.random.default_rng(2))
    images, known = images_and_labels(MNIST, "t10k")
    assert train.noisy_right(noisy, images, known) >= clear - fewer


@pytest.mark.skipif(not MNIST.exists(), reason=f"MNIST is not at {MNIST}")
def test_the_packed_digits_are_the_first_of_the_test(tmp_path: Path) -> None:
    digits.main([str(MNIST), "--to", str(tmp_path / "digits.npz")])
    (again, known), (packed, packed_labels) = digits.load(tmp_path / "digits.npz"), digits.load()
    assert np.array_equal(again, packed) and np.array_equal(known, packed_labels)


@pytest.mark.parametrize("name, count, error", [("small", 4, 30), ("large", 1, 60)])
def test_encrypted_logits_are_near_those_in_the_clear(name: str, count: int, error: float) -> None:
    network, (pixels, _) = model.load(KINDS[name]), digits.load()
    pixels = pixels[:count]
    parameters = layout.named("SMALL", insecure=True)
    client = binfhe.Client(parameters)
    server = binfhe.Server(client.evaluation_keys(), device="cpu", allow_insecure=True)
    query = client.encrypt(pixels, **layout.fresh(parameters))
    assert np.array_equal(client.decrypt(query), pixels)
    first = network.layers[0]
    with pytest.raises(NoiseError):
        server.linear(first.matrix, query, first.bias)
    sums = server.linear(first.matrix, query, first.bias, exact=False)
    half = layout.P // 2
    near = (client.decrypt(sums) - network.sums(pixels)[0] + half) % layout.P - half
    assert np.abs(near).max() <= min(4, sums.error_bound) and sums.error_bound <= 16
    lut = model.table(parameters, network.kind)
    answer = model.classify(server, network, lut, query)
    assert (answer.shape, answer.range) == ((count, 10), (-2048, 2047))
    # At least what the last layer gives, and at most what all weights would.
    ways = sum(np.log2(layer.matrix.shape[1] + 1) for layer in network.layers[1:])
    last = np.log2(np.count_nonzero(network.layers[-1].matrix, axis=1).max())
    assert last - 40 <= answer.failure_log2 <= ways - 39
    got, wanted = client.decrypt(answer), network.logits(pixels)
    by_threes = dataclasses.replace(network, kind=dataclasses.replace(network.kind, together=3))
    same = model.answer(server, by_threes, lut, query)
    assert same.shape == (count, 10) and np.array_equal(client.decrypt(same), got)
    assert np.sqrt(((got - wanted) ** 2).mean()) < error
    assert (got.argmax(axis=1) == wanted.argmax(axis=1)).mean() >= 0.75


def test_pixels_are_under_the_key_that_leaves_sums_few_errors() -> None:
    paper = layout.named("xiao/RELU", insecure=True)
    for parameters, under in ((layout.named("W128_P128"), "lwe"), (paper, "ring")):
        client = binfhe.Client(parameters)
        query = client.encrypt(range(16), **layout.fresh(parameters))
        assert query.under == under and np.array_equal(client.decrypt(query), range(16))


def test_sets_below_128_bits_must_be_asked_for() -> None:
    for name in ("SMALL", "xiao/RELU"):
        with pytest.raises(ParameterError, match="allow_insecure"):
            layout.named(name)
        assert layout.named(name, insecure=True).N == 2048


def test_from_images_to_classes_in_separate_processes(tmp_path: Path, small: Path) -> None:
    work = tmp_path / "work"
    told, words = numbers_of(
        *("mnist_tables", work, "--data", str(small), "--weights", str(small / "network.npz")),
        *("--params", "SMALL", "--insecure", "--images", "4", "--device", "cpu"),
    )
    assert told["images"] == told["right_clear"] == 4
    assert told["right_encrypted"] >= 3 and told["agreement"] >= 0.75
    assert told["ciphertexts"] == 4 * 784 and told["rotations_per_image"] == 6
    assert "4 of 4" in words
    own = {"network.npz", "server.json"}
    check_server_apart("mnist_tables", work, told, "whorl.server", own, {"answer.whorl"})


def test_bad_arguments_are_refused() -> None:
    check_refused(
        "mnist_tables",
        ("--images", "501"),
        ("--params", "nosuch"),
        ("--params", "xiao/RELU"),
        ("--weights", "nosuch.npz"),
        ("--network", "nosuch"),
        ("--network", "large", "--weights", str(KINDS["small"].packed)),
        ("--data", "nosuch"),
    )


def test_the_bench_records_seconds_of_an_image(
    tool: Callable[..., ModuleType], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = tool("tables_mnist")
    record = tmp_path / "records.jsonl"
    given = [str(small), "--weights", str(small / "network.npz"), "--params", "SMALL"]
    given += ["--insecure", "--device", "cpu", "--images", "3", "--batch", "2", "--alone", "1"]
    more = ["--energy", "0", "--record", str(record), "--commit", "abc1234"]
    monkeypatch.setattr(sys, "argv", ["bench", *given, *more])
    bench.main()
    lines = [json.loads(each) for each in record.read_text().splitlines()]
    assert [(line["op"], line["unit"], line["batch"]) for line in lines] == [
        ("mnist30", "s", 2),
        ("mnist30", "s", 1),
    ]
    assert [(line["compared"], line["runs"]) for line in lines] == [(3, 1), (1, 1)]
    assert all(line["right_clear"] == line["compared"] for line in lines)
    assert lines[0]["right"] >= 2 and lines[0]["agreeing"] >= 2
    assert all(line["commit"] == "abc1234" and 0 < line["median"] < 60 for line in lines)


def test_the_bench_records_an_image_of_the_large_network(
    tool: Callable[..., ModuleType], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = tool("tables_mnist")
    record = tmp_path / "records.jsonl"
    given = [str(small), "--network", "large", "--params", "SMALL", "--insecure"]
    given += ["--device", "cpu", "--images", "0", "--alone", "1", "--energy", "0"]
    monkeypatch.setattr(sys, "argv", ["bench", *given, "--record", str(record)])
    bench.main()
    [line] = [json.loads(each) for each in record.read_text().splitlines()]
    assert (line["op"], line["batch"], line["neurons"]) == ("mnist1024", 1, 3072)
    assert line["compared"] == 1 and line["median"] > 0
