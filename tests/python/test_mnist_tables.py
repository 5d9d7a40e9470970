"""apps/mnist_tables: the training, the network in the clear and on ciphertexts, the processes."""

from __future__ import annotations

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
from support import DATA
from whorl import binfhe
from whorl.errors import ParameterError

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
    for image in pixels.tolist():
        neurons = []
        for row, bias in zip(network.first.matrix.tolist(), network.first.bias, strict=True):
            total = sum(w * x for w, x in zip(row, image, strict=True)) + int(bias)
            neurons.append(min(15, total // layout.STEP) if total > 0 else 0)
        rows = zip(network.second.matrix.tolist(), network.second.bias, strict=True)
        found.append(
            [sum(w * x for w, x in zip(row, neurons, strict=True)) + int(b) for row, b in rows]
        )
    return found


def test_a_neuron_is_looked_up_by_one_rotation() -> None:
    table, half = layout.neurons(), layout.P_PIXELS // 2
    assert (table[:half] + table[half:] == 15).all()
    for total in (-1, 0, 159, 160, 2399, 2400, layout.HIGHEST, -9000, layout.LOWEST):
        wanted = 0 if total < 0 else min(15, total // 160)
        assert table[total % layout.P_PIXELS] == wanted == layout.rectified(total), total
    assert table[(layout.LOWEST - 1) % layout.P_PIXELS] == 1  # what a sum below the range gives
    lut = model.table(layout.named(layout.PARAMETERS))
    assert (lut.kind, lut.weight, lut.exact) == ("near_negacyclic", 0, False)
    # A sum is read within 34 of 4,096 phases, for which training leaves room at the ends.
    assert lut.reach < train.ROOM * layout.P_PIXELS // train.PHASES


def test_gradients_are_slopes_of_the_loss() -> None:
    """Nearly: losses change by whole steps of weights and levels only."""
    random = np.random.default_rng(1)
    weights = train.first_weights(random, 8)
    for i in range(2):
        weights[f"w{i}"] = np.rint(weights[f"w{i}"] / train.steps(i)) * np.float32(train.steps(i))
    pixels = random.integers(0, 16, (4000, layout.PIXELS)).astype(np.float32)
    pixels[:, 20:] = 0  # so few that a step of their weights is about a level of a neuron
    weights["w0"] *= 6
    labels: Any = random.integers(0, 3, 4000)
    _, found = train.gradients(weights, pixels, labels, None)
    for name, layer, column in (("w1", 1, 3), ("b1", 1, 4), ("w0", 0, 4), ("b0", 0, 5)):
        way = np.zeros_like(weights[name])
        moved = {"b0": layout.STEP, "b1": 2}.get(name, 1)
        unit = 4 / train.MODULI[layer] if name[0] == "b" else train.steps(layer)
        way[..., column] = moved * unit * np.sign(found[name][..., column])
        losses = [
            train.gradients({**weights, name: weights[name] + h * way}, pixels, labels, None)[0]
            for h in (1, -1)
        ]
        slope = (losses[0] - losses[1]) / 2
        assert slope == pytest.approx(float((found[name] * way).sum()), rel=0.3), name


def test_sums_that_come_near_the_ends_are_refused(small: Path) -> None:
    network = model.load(small / "network.npz")
    images = np.full((3, 28, 28), 255, dtype=np.uint8)
    large = model.Layer(np.full((6, 784), 3), np.zeros(6, dtype=np.int64))
    with pytest.raises(ValueError, match=r"sums 35280 … 35280 of -30368 … 32767.* 1024 away"):
        train.check_ranges(model.Network(large, network.second), images)
    none = model.Layer(np.zeros((6, 784), dtype=np.int64), np.zeros(6, dtype=np.int64))
    most = model.Layer(network.second.matrix, np.full(10, 2000))
    with pytest.raises(ValueError, match="logits 2000 … 2000 of ±2048: logits must be 64 away"):
        train.check_ranges(model.Network(none, most), images)


def test_files_keep_networks(tmp_path: Path, small: Path) -> None:
    network = model.load(small / "network.npz")
    model.save(tmp_path / "again.npz", network)
    again = model.load(tmp_path / "again.npz")
    for old, new in ((network.first, again.first), (network.second, again.second)):
        assert np.array_equal(old.matrix, new.matrix) and np.array_equal(old.bias, new.bias)
    model.save(tmp_path / "wrong.npz", model.Network(network.second, network.first))
    with pytest.raises(ValueError, match="no network of 784 and 10"):
        model.load(tmp_path / "wrong.npz")


def test_the_packed_network_knows_the_packed_digits() -> None:
    network, (pixels, labels) = model.load(), digits.load()
    assert network.first.matrix.shape == (30, 784) and np.abs(network.first.matrix).max() <= 127
    assert pixels.shape == (500, 784) and pixels.min() == 0 and pixels.max() == 15
    assert by_integers(network, pixels[:5]) == network.logits(pixels[:5]).tolist()
    assert (network.logits(pixels).argmax(axis=1) == labels).mean() >= 0.96
    assert model.PACKED.stat().st_size < 64 << 10 and digits.PACKED.stat().st_size < 300_000
    assert layout.named(layout.PARAMETERS).security.bits >= 128


@pytest.mark.skipif(not MNIST.exists(), reason=f"MNIST is not at {MNIST}")
def test_all_digits_stay_in_the_ranges(tmp_path: Path) -> None:
    from common.idx import images_and_labels

    network = model.load()
    for part in ("train", "t10k"):
        train.check_ranges(network, images_and_labels(MNIST, part)[0])
    pixels, labels = digits.read(MNIST)
    assert (network.logits(pixels).argmax(axis=1) == labels).mean() >= 0.968
    digits.main([str(MNIST), "--to", str(tmp_path / "digits.npz")])
    (again, known), (packed, packed_labels) = digits.load(tmp_path / "digits.npz"), digits.load()
    assert np.array_equal(again, packed) and np.array_equal(known, packed_labels)


def test_encrypted_logits_are_near_those_in_the_clear() -> None:
    network, (pixels, _) = model.load(), digits.load()
    pixels = pixels[:4]
    parameters = layout.named("SMALL", insecure=True)
    client = binfhe.Client(parameters)
    server = binfhe.Server(
        client.evaluation_keys(), device="cpu", allow_insecure=True, allow_failure=1
    )
    query = client.encrypt(pixels, **layout.FRESH)
    assert np.array_equal(client.decrypt(query), pixels)
    sums = server.linear(network.first.matrix, query, network.first.bias)
    half = layout.P_PIXELS // 2
    near = (client.decrypt(sums) + half) % layout.P_PIXELS - half
    assert np.abs(near - network.sums(pixels)).max() <= 1
    answer = model.classify(server, network, model.table(parameters), query)
    assert (answer.shape, answer.range) == ((4, 10), (-2048, 2047))
    got, wanted = client.decrypt(answer), network.logits(pixels)
    assert np.sqrt(((got - wanted) ** 2).mean()) < 30
    assert (got.argmax(axis=1) == wanted.argmax(axis=1)).mean() >= 0.75


def test_sets_below_128_bits_must_be_asked_for() -> None:
    for name in ("SMALL", "xiao/RELU"):
        with pytest.raises(ParameterError, match="allow_insecure"):
            layout.named(name)
        assert layout.named(name, insecure=True).N == 2048


def test_from_images_to_classes_in_separate_processes(tmp_path: Path, small: Path) -> None:
    work = tmp_path / "work"
    told, words = numbers_of(
        *("mnist_tables", work, "--data", str(small), "--network", str(small / "network.npz")),
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
        ("--network", "nosuch.npz"),
        ("--data", "nosuch"),
    )


def test_the_bench_records_seconds_of_an_image(
    tool: Callable[..., ModuleType], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = tool("tables_mnist")
    record = tmp_path / "records.jsonl"
    given = [str(small), "--network", str(small / "network.npz"), "--params", "SMALL"]
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
