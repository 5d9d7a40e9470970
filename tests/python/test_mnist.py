"""apps/mnist: the training and the network in the clear, on ciphertexts, and the processes."""

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
from mnist import layout, model, train
from support import DATA
from whorl import ckks

MNIST = DATA / "mnist"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with images, bright above or below, and a network of few neurons that tells which
    is which."""
    folder = tmp_path_factory.mktemp("mnist")
    random = np.random.default_rng(1)
    images, labels = random.integers(0, 256, (256, 28, 28)), random.integers(0, 2, 256)
    images[labels == 0, 14:] = 0
    images[labels == 1, :14] = 0
    make_mnist(folder, images, labels)
    network = str(folder / "network.npz")
    train.main([str(folder), "--epochs", "600", "--hidden", "9", "8", "8", "--to", network])
    return folder


def test_gradients_are_slopes_of_the_loss() -> None:
    random = np.random.default_rng(1)
    first = train.first_weights(random, (6, 5))
    weights: Any = {name: x.astype(np.float64) for name, x in first.items()}
    images: Any = random.uniform(size=(6, 28, 28))
    labels: Any = random.integers(0, 10, 6)
    _, found = train.gradients(weights, images, labels)
    for name, gradient in found.items():
        way = random.normal(size=gradient.shape)
        losses = [
            train.gradients({**weights, name: weights[name] + h * way}, images, labels)[0]
            for h in (1e-5, -1e-5)
        ]
        slope = (losses[0] - losses[1]) / 2e-5
        assert slope == pytest.approx((gradient * way).sum(), rel=1e-4), name


def test_squares_are_the_trained_network() -> None:
    random = np.random.default_rng(2)
    w = train.first_weights(random, (12, 11))
    images = random.integers(0, 256, (20, 28, 28)).astype(np.uint8)
    x: Any = images.reshape(20, -1) / 255.0
    for i in range(2):
        x = x @ w[f"w{i}"] + w[f"b{i}"]
        x = x * x / 4 + x / 2
    wanted = x @ w["w2"] + w["b2"]
    layers = train.squares_of(w, images)
    assert np.abs(model.logits(layers, images.reshape(20, -1) / 255.0) - wanted).max() < 0.05
    found = model.sums(layers, images.reshape(20, -1) / 255.0)
    assert [each.largest for each in layers] == pytest.approx([np.abs(x).max() for x in found])


def test_files_keep_networks(tmp_path: Path, small: Path) -> None:
    layers = model.load(small / "network.npz")
    assert [each.matrix.shape for each in layers] == [(9, 784), (8, 9), (8, 8), (10, 8)]
    model.save(tmp_path / "again.npz", layers)
    for old, new in zip(layers, model.load(tmp_path / "again.npz"), strict=True):
        assert np.allclose(old.matrix, new.matrix, rtol=1e-6)
        assert np.array_equal(old.bias, new.bias) and old.largest == new.largest


@pytest.mark.parametrize(("count", "slots"), [(1, 4), (3, 4), (4, 4), (5, 4), (8, 4), (11, 4)])
def test_images_lie_in_slots(count: int, slots: int) -> None:
    images = np.random.default_rng(count).uniform(size=(count, layout.PIXELS))
    pixels = layout.pixels_of(images, slots)
    assert pixels.shape == (784, -(-count // slots), min(count, slots))
    ten = pixels[: layout.CLASSES]
    assert np.array_equal(layout.logits_of(ten, count), images[:, : layout.CLASSES])


def test_the_packed_network_needs_no_bootstrap_and_states_a_small_error() -> None:
    network = model.load()
    assert [len(each.bias) for each in network] == [*model.HIDDEN, layout.CLASSES]
    assert model.PACKED.stat().st_size < 8 << 20
    parameters = layout.parameters()
    assert parameters.security_bits >= 128 and parameters.slots == 1 << 14

    def logits(x: Any) -> Any:
        return model.classify(x.server, network, x)

    inputs = ckks.Values((layout.PIXELS, 2, 4), bound=(0, 1), secret_key=True)
    plan = ckks.plan(logits, inputs, scale_bits=layout.SCALE_BITS)
    assert plan.depth == layout.DEPTH and not plan.bootstraps
    assert layout.DEVIATIONS * plan.error < 0.01


@pytest.mark.skipif(not MNIST.exists(), reason=f"MNIST is not at {MNIST}")
def test_the_packed_network_knows_digits_and_stays_in_its_ranges() -> None:
    from common.idx import images_and_labels

    images, labels = images_and_labels(MNIST, "t10k")
    network = model.load()
    found = model.sums(network, images.reshape(len(images), -1) / 255.0)
    assert (found[-1].argmax(axis=1) == labels).mean() >= 0.975
    for layer, x in zip(network, found, strict=True):
        assert np.abs(x).max() < model.MARGIN * layer.largest


def test_several_ciphertexts_a_pixel(small: Path) -> None:
    network = model.load(small / "network.npz")
    parameters = layout.insecure()
    client = ckks.Client(parameters)
    server = ckks.Server(client.evaluation_keys(), device="cpu")
    images = np.random.default_rng(3).uniform(size=(parameters.slots + 5, layout.PIXELS))
    images[:, 392:] = 0
    pixels = layout.pixels_of(images, parameters.slots)
    answer = model.classify(server, network, client.encrypt(pixels, bound=(0, 1)))
    assert (answer.shape, answer.level) == ((layout.CLASSES, 2), 0)
    got = layout.logits_of(client.decrypt(answer, raw=True), len(images))
    difference = np.abs(got - model.logits(network, images)).max()
    assert difference <= layout.DEVIATIONS * answer.error < 0.01


def test_from_images_to_classes_in_separate_processes(tmp_path: Path, small: Path) -> None:
    work = tmp_path / "work"
    told, words = numbers_of(
        *("mnist", work, "--data", str(small), "--network", str(small / "network.npz")),
        *("--insecure", "--images", "200", "--device", "cpu"),
    )
    assert told["images"] == told["right_encrypted"] == told["classes_as_in_clear"] == 200
    assert told["largest_difference"] <= told["stated_error"] < 0.01
    assert told["ciphertexts"] == 784 and "200 of 200" in words
    own = {"network.npz", "server.json"}
    check_server_apart("mnist", work, told, "whorl.server", own, {"answer.whorl"})


def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    here = ("--data", tmp_path)
    check_refused("mnist", (), (*here, "--images", "0"), (*here, "--images", "x"))


def test_the_bench_records_seconds_of_an_image(
    tool: Callable[..., ModuleType], small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = tool("lanes_mnist")
    record = tmp_path / "records.jsonl"
    given = [str(small), "--network", str(small / "network.npz"), "--insecure", "--device", "cpu"]
    more = ["--images", "600", "--runs", "1", "--energy", "0", "--record", str(record)]
    monkeypatch.setattr(sys, "argv", ["bench", *given, *more, "--commit", "abc1234"])
    bench.main()
    [line] = [json.loads(each) for each in record.read_text().splitlines()]
    assert (line["op"], line["unit"], line["batch"]) == ("lanes_mnist", "s", 600)
    assert (line["compared"], line["right"], line["ciphertexts"]) == (600, 600, 2 * 784)
    assert line["commit"] == "abc1234" and 0 < line["median"] < 1
