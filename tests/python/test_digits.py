"""apps/digits: the packed digits, the training and the network in the clear, and the processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applications import check_refused, check_server_apart, make_mnist, numbers_of
from digits import digits, model, pack, run, train
from whorl import nn


def some_images(count: int) -> tuple[Any, Any]:
    random = np.random.default_rng(count)
    return random.integers(0, 256, (count, 28, 28)), random.integers(0, 10, count)


def test_packing_takes_the_first_digits(tmp_path: Path) -> None:
    images, labels = some_images(300)
    make_mnist(tmp_path, images, labels)
    pack.main([str(tmp_path), "--to", str(tmp_path / "packed.npz")])
    packed = digits.load(tmp_path / "packed.npz")
    assert packed.test_labels.tolist() == labels[:256].tolist()
    assert packed.examples.shape == (256, 1, 28, 28)
    assert (packed.test[:, 0] * 255 == images[:256]).all()


def test_packing_refuses_other_numbers_of_labels(tmp_path: Path) -> None:
    make_mnist(tmp_path, *(values[:n] for values, n in zip(some_images(5), (5, 4), strict=True)))
    with pytest.raises(SystemExit, match="5 images have 4 labels"):
        pack.main([str(tmp_path), "--to", str(tmp_path / "packed.npz")])


@pytest.mark.parametrize("relu", [False, True])
def test_gradients_are_slopes_of_the_loss(relu: bool) -> None:
    random = np.random.default_rng(1)
    weights: Any = {name: x.astype(np.float64) for name, x in train.first_weights(random).items()}
    images: Any = random.uniform(size=(6, 28, 28))
    labels: Any = random.integers(0, 10, 6)
    _, found = train.gradients(weights, images, labels, relu)
    for name, gradient in found.items():
        way = random.normal(size=gradient.shape)
        losses = [
            train.gradients({**weights, name: weights[name] + h * way}, images, labels, relu)[0]
            for h in (1e-5, -1e-5)
        ]
        slope = (losses[0] - losses[1]) / 2e-5
        assert slope == pytest.approx((gradient * way).sum(), rel=1e-4), name


def test_training_learns_and_keeps_what_it_learned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bright upper halves against bright lower halves."""
    images, labels = some_images(256)
    labels %= 2
    images[labels == 0, 14:] = 0
    images[labels == 1, :14] = 0
    make_mnist(tmp_path, images, labels)
    kept = tmp_path / "weights.npz"
    train.main([str(tmp_path), "--epochs", "60", "--to", str(kept)])
    assert "256 of 256" in capsys.readouterr().out


def test_moves_are_of_a_pixel_at_most() -> None:
    images, _ = some_images(50)
    framed = np.pad(images.astype(np.uint8), ((0, 0), (1, 1), (1, 1)))
    moved = train.moved(framed, np.random.default_rng(1))
    ways = {
        next(
            (dy, dx)
            for dy in range(3)
            for dx in range(3)
            if np.allclose(image * 255, frame[dy : dy + 28, dx : dx + 28])
        )
        for image, frame in zip(moved, framed, strict=True)
    }
    assert len(ways) == 9


def test_the_network_takes_five_levels_and_knows_the_packed_digits() -> None:
    data = digits.load()
    network = model.compiled(model.load(), data.examples)
    assert network.bootstraps == 0 and network.levels == (5, 4, 3, 2, 1, 0)
    assert network.parameters.N == 16384 and network.parameters.security_bits >= 128
    simulated, clear = network.simulate(data.test), network.graph(data.test)
    assert np.abs(simulated - clear).max() < 1e-9
    assert (clear.argmax(axis=1) == data.test_labels).mean() > 0.985
    assert np.abs(clear).max() < network.fit.ranges[-1].most


def test_from_images_to_classes_in_separate_processes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    told, words = numbers_of("digits", work, "--images", "12", "--device", "cpu")
    assert told["images"] == told["right_encrypted"] == told["right_clear"] == 12
    assert told["largest_difference"] < model.ERROR and told["ciphertexts"] == 2
    assert told["security_bits"] >= 128 and "12 of 12" in words
    check_server_apart("digits", work, told, "whorl.nn", "network.whorlnn", {"answer.whorl"})


@pytest.mark.parametrize(
    ("change", "status"), [(0.0, 0), (0.9 * model.ERROR, 0), (-1.1 * model.ERROR, 1), (np.nan, 1)]
)
def test_a_wrong_logit_is_a_failure(
    change: float, status: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def found(network: nn.Network, images: Any, _: object) -> dict[str, Any]:
        logits = network.graph(images)
        logits[-1, 0] += change
        nothing = ("security_bits", "load_seconds", "batch_seconds", "batch_cpu_seconds")
        made = ("keys_seconds", "encryption_seconds", "rotation_keys", "ciphertexts")
        return {
            "served": {
                **dict.fromkeys((*nothing, "one_seconds", "bytes_maps"), 0.0),
                **{"parameters": "none", "device": "none", "modules": ["whorl"]},
            },
            "prepared": dict.fromkeys(made, 0.0),
            "read": {"logits": logits.tolist(), "decryption_seconds": 0.0},
            "bytes": dict.fromkeys(("keys", "query", "answer"), 0),
        }

    monkeypatch.setattr(run, "classify", found)
    assert run.main(["--workdir", str(tmp_path), "--images", "2"]) == status


def test_bad_arguments_are_refused() -> None:
    check_refused("digits", ("--images", "0"), ("--images", "257"), ("--images", "x"))
