"""apps/resnet: graph, weights and pictures in the clear, and the processes."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applications import check_refused, check_server_apart, numbers_of
from resnet import network, pack, pictures, run
from resnet.network import CLASSES, EPSILON, Floats
from resnet.pictures import Pictures
from support import shared_data

SOME = 300  # of the images that tests share
MIDDLE, LAST = "layer1.0", "linear"


@pytest.fixture(scope="module")
def packed() -> network.Packed:
    return network.load()


@pytest.fixture(scope="module")
def images() -> dict[str, Any]:
    with np.load(shared_data("cifar10/cifar10_test_jpeg.npz")) as given:
        return {"images": given["images"], "labels": given["labels"]}


# ---- the network in the clear


def weights_at_random(names: dict[str, Floats]) -> dict[str, Floats]:
    """Weights of these shapes, so that values neither grow nor vanish from layer to layer."""
    random = np.random.default_rng(1)
    made = {}
    for name, like in names.items():
        fan = max(1, int(np.prod(like.shape[1:])))
        values = random.normal(size=like.shape) / np.sqrt(fan)
        made[name] = np.abs(values) + 0.5 if name.endswith("var") else values
    return made


def convolution(x: Floats, weight: Floats, stride: int) -> Floats:
    """3 × 3, with a border of zeros."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    out: Floats = np.einsum("bchwij,ocij->bohw", windows[:, :, ::stride, ::stride], weight)
    return out


def by_hand(w: dict[str, Floats], x: Floats) -> tuple[Floats, Floats]:
    """The network as its paper and torch have it: after the first block, and the logits."""

    def norm(name: str, x: Floats) -> Floats:
        weight, bias, mean, variance = (
            w[f"{name}.{each}"][:, None, None]
            for each in ("weight", "bias", "running_mean", "running_var")
        )
        out: Floats = weight * (x - mean) / np.sqrt(variance + EPSILON) + bias
        return out

    x = np.maximum(norm("bn1", convolution(x, w["conv1.weight"], 1)), 0)
    first = None
    for layer in (1, 2, 3):
        for block in (0, 1, 2):
            name = f"layer{layer}.{block}"
            stride = 2 if (layer, block) in ((2, 0), (3, 0)) else 1
            y = np.maximum(
                norm(f"{name}.bn1", convolution(x, w[f"{name}.conv1.weight"], stride)), 0
            )
            y = norm(f"{name}.bn2", convolution(y, w[f"{name}.conv2.weight"], 1))
            if stride == 2:
                aside = x.shape[1] // 2
                x = np.pad(x[:, :, ::2, ::2], ((0, 0), (aside, aside), (0, 0), (0, 0)))
            x = np.maximum(y + x, 0)
            first = x if first is None else first
    assert first is not None
    return first, x.mean(axis=(2, 3)) @ w["linear.weight"].T + w["linear.bias"]


def test_the_graph_is_the_network(packed: network.Packed) -> None:
    weights = weights_at_random(packed.weights)
    x = np.random.default_rng(2).normal(size=(2, 3, 32, 32))
    first, logits = by_hand(weights, x)
    assert np.abs(logits).max() > 0.1
    whole = network.graph_of(weights)
    assert np.abs(whole(x) - logits).max() < 1e-9 * np.abs(logits).max()
    block = network.graph_of(weights, whole=False)
    assert np.abs(block(x) - first).max() < 1e-9 * np.abs(first).max()
    # What is known of the whole graph's nodes is known of the block's.
    names = [node.name for node in whole.nodes]
    assert names[: len(block.nodes)] == [node.name for node in block.nodes]
    assert names[len(block.nodes) - 1].startswith(MIDDLE) and names[-1] == LAST


def test_the_packed_weights_are_small_and_whole(packed: network.Packed) -> None:
    assert network.PACKED.stat().st_size < 600_000
    learned = [w.size for name, w in packed.weights.items() if "running" not in name]
    assert len(packed.weights) == 97 and sum(learned) == 269_722
    graph = network.graph_of(packed.weights)
    assert len(packed.seen) == len(graph.nodes) and min(packed.seen) > 0.1


def test_the_packed_weights_recognise_images(
    packed: network.Packed, images: dict[str, Any]
) -> None:
    graph = network.graph_of(packed.weights)
    tensors = graph.tensors(network.normalised(images["images"][:SOME]))
    right = (tensors[-1].argmax(axis=1) == images["labels"][:SOME]).mean()
    assert right == pytest.approx(0.8103, abs=0.07)  # three deviations of so few
    seen = [np.abs(tensor).max() for tensor in tensors]
    assert all(np.array(seen) <= np.array(packed.seen) * (1 + 1e-9))


@pytest.mark.slow
def test_the_packed_weights_recognise_as_many_as_their_author_s(
    packed: network.Packed, images: dict[str, Any]
) -> None:
    graph = network.graph_of(packed.weights)
    right = 0
    for first in range(0, len(images["images"]), 100):
        rows = slice(first, first + 100)
        found = graph(network.normalised(images["images"][rows])).argmax(axis=1)
        right += int((found == images["labels"][rows]).sum())
    assert right / len(images["images"]) == pytest.approx(0.8103, abs=0.001)


def test_packing_gives_the_file_again(tmp_path: Path, packed: network.Packed) -> None:
    weights = shared_data("resnet20/resnet20.npz")
    few = tmp_path / "few.npz"
    np.savez(few, images=pictures.draw(2, 0).pixels)
    pack.main([str(weights), str(few), "--to", str(tmp_path / "packed.npz")])
    again = network.load(tmp_path / "packed.npz")
    assert set(again.weights) == set(packed.weights)
    assert all(np.array_equal(again.weights[name], w) for name, w in packed.weights.items())
    given = np.load(weights)
    for name, w in packed.weights.items():
        assert np.abs(w - given[name]).max() <= 2.0**-11 * np.abs(given[name]).max(), name
    assert len(again.seen) == len(packed.seen)


def test_packing_refuses_other_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", nothing=np.zeros(1))
    with pytest.raises(SystemExit, match="error"):
        pack.main([str(tmp_path / "other.npz")] * 2 + ["--to", str(tmp_path / "packed.npz")])
    assert not (tmp_path / "packed.npz").exists()


# ---- pictures


def test_drawn_pictures_are_recognised(packed: network.Packed) -> None:
    drawn = pictures.draw(9, 0)
    assert drawn.pixels.shape == (9, 3, 32, 32) and drawn.pixels.dtype == np.uint8
    graph = network.graph_of(packed.weights)
    tensors = graph.tensors(network.normalised(drawn.pixels))
    assert (tensors[-1].argmax(axis=1) == drawn.labels).sum() >= 8
    assert drawn.labels is not None
    assert [CLASSES[label] for label in drawn.labels[:3]] == ["ship", "plane", "truck"]
    # Polynomials stand for relus on ranges that the pictures do not leave.
    for operand in {node.inputs[0] for node in graph.nodes if "relu" in node.name}:
        assert np.abs(tensors[operand]).max() <= network.MARGIN * packed.seen[operand]


def test_drawn_pictures_are_those_of_their_seed() -> None:
    drawn = pictures.draw(4, 7).pixels
    assert np.array_equal(pictures.draw(6, 7).pixels[:4], drawn)
    assert len(np.unique(np.concatenate([drawn, pictures.draw(4, 8).pixels]), axis=0)) == 8


def test_pictures_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "images.npz"
    pixels = pictures.draw(3, 0).pixels
    np.savez(path, images=pixels)
    loaded = pictures.load(path, 2)
    assert np.array_equal(loaded.pixels, pixels[:2]) and loaded.labels is None
    np.savez(path, images=pixels, labels=np.array([8, 0, 9], dtype=np.uint8))
    assert pictures.load(path, 3).labels == [8, 0, 9]


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"pictures": np.zeros(3)}, r"no file of numpy\.savez with `images`"),
        ({"images": np.zeros((3, 3, 32, 32))}, "images are float64"),
        ({"images": np.zeros((3, 32, 32, 3), np.uint8)}, "uint8 of shape"),
        ({"images": np.zeros((1, 3, 32, 32), np.uint8)}, "asks for 2"),
        ({"images": np.zeros((2, 3, 32, 32), np.uint8), "labels": [0, 10]}, "2 numbers of 0 … 9"),
        ({"images": np.zeros((2, 3, 32, 32), np.uint8), "labels": [0]}, "2 numbers of 0 … 9"),
        ({"images": np.zeros((2, 3, 32, 32), np.uint8), "labels": [0, "a"]}, "2 numbers of 0 … 9"),
    ],
)
def test_other_files_are_refused(arrays: dict[str, Any], text: str, tmp_path: Path) -> None:
    path = tmp_path / "images.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=text):
        pictures.load(path, 2)


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"x" * 1000])
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "images.npz"
    path.write_bytes(data)
    check_refused("resnet", ("--images", path))
    with pytest.raises(ValueError, match=r"no file of numpy\.savez"):
        pictures.load(path, 1)


# ---- the command line and the report


def test_bad_arguments_are_refused() -> None:
    wrong = (("--count", "0"), ("--runs", "0"), ("--map-bytes", "-1"), ("--images", "absent.npz"))
    check_refused("resnet", *wrong, ("--whole", "--first-block"))


@pytest.mark.parametrize(
    ("options", "whole", "runs"),
    [
        (["--device", "cpu"], False, 1),
        (["--device", "cpu", "--whole"], True, 1),
        (["--device", "cuda:1"], True, 2),
        (["--device", "cuda", "--first-block", "--runs", "3"], False, 3),
    ],
)
def test_cpus_do_a_block_and_gpus_all(options: list[str], whole: bool, runs: int) -> None:
    arguments = run.arguments_of(options)
    assert (arguments.whole, arguments.runs) == (whole, runs)


def told_of(count: int) -> dict[str, Any]:
    """What both processes would tell of so many pictures."""
    return {
        "prepared": {"keys_seconds": 1.0, "encryption_seconds": 1.0, "rotation_keys": 52},
        "served": {
            "parameters": "N = 65536\n",
            "security_bits": 128.0,
            "device": "cpu",
            "threads": 2,
            "load_seconds": 1.0,
            "run_seconds": [9.0, 3.0 * count],
            "run_cpu_seconds": [9.0, 4.0 * count],
            "map_bytes": 0,
            "peak_bytes": 10**9,
            "modules": ["whorl.ckks"],
        },
        "read": {"decryption_seconds": 1.0},
        "bytes": {"keys": 10**9, "query": 10**7, "answer": 10**6},
    }


def reported(
    packed: network.Packed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Any,
    *options: str,
) -> int:
    """The exit status of a run whose client decrypts what `change` makes of the clear values."""

    def compiled(_: Any, __: Any, whole: bool) -> Any:
        graph = network.graph_of(packed.weights, whole)
        return types.SimpleNamespace(graph=graph, bootstraps=2, steps=[None] * 19)

    def recognised(net: Any, given: Pictures, _: Any) -> tuple[dict[str, Any], Floats]:
        clear = net.graph(network.normalised(given.pixels))
        return told_of(len(given.pixels)), change(clear)

    monkeypatch.setattr(network, "compiled", compiled)
    monkeypatch.setattr(run, "recognise", recognised)
    return run.main(["--workdir", str(tmp_path), *options])


@pytest.mark.parametrize(
    ("change", "status", "text"),
    [
        (lambda clear: clear + 0.09, 0, "3 of 3"),
        (lambda clear: clear + 0.11, 1, "logits differ by 0.11"),
        (lambda clear: clear * np.nan, 1, "logits differ by nan"),
        (lambda clear: -clear, 1, "logits differ"),
    ],
)
def test_logits_are_compared_with_the_clear(
    change: Any,
    status: int,
    text: str,
    packed: network.Packed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert reported(packed, tmp_path, monkeypatch, change, "--whole", "--count", "3") == status
    shown = capsys.readouterr()
    assert text in shown.out + shown.err and "compiles the network" in shown.err
    assert "3 s a picture" in shown.out and "2 are bootstraps" in shown.out


def test_classes_may_differ_only_where_logits_nearly_agree() -> None:
    clear = np.array([[1.0, 1.15], [1.0, 1.25]])
    told = run.of_logits(clear + np.array([0.09, -0.09]), clear, [1, 1])
    assert (told["agreeing"], told["wrong"], told["right"]) == (1, 0, 1)
    told = run.of_logits(clear + np.array([0.2, -0.2]), clear, None)
    assert (told["agreeing"], told["wrong"], told["right"]) == (0, 1, None)
    assert "1 classes differ" in str(run.failure_of({**told, "difference": 0.09}))


@pytest.mark.parametrize(("by", "status"), [(2.0**-8, 0), (2.0**-6, 1)])
def test_a_block_is_compared_with_the_clear(
    by: float,
    status: int,
    packed: network.Packed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def change(clear: Floats) -> Floats:
        return clear + by * clear.max()

    assert reported(packed, tmp_path, monkeypatch, change, "--device", "cpu") == status
    shown = capsys.readouterr()
    assert "16 × 32 × 32" in shown.out and ("values differ" in shown.err) == bool(status)


# ---- ciphertexts


@pytest.mark.slow
def test_the_network_in_polynomials_is_that_in_the_clear(packed: network.Packed) -> None:
    """All of it compiles for the pictures, and `simulate` has what ciphertexts would."""
    examples = network.normalised(pictures.draw(run.EXAMPLES, 0).pixels)
    net = network.compiled(packed, examples)
    assert net.bootstraps == 18 and net.parameters.security_bits >= 128
    others = network.normalised(pictures.draw(3, 5).pixels)
    assert np.abs(net.simulate(others) - net.graph(others)).max() < run.DIFFERENCE / 2


@pytest.mark.slow
def test_from_a_picture_to_the_first_block_in_separate_processes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    told, words = numbers_of("resnet", work, "--device", "cpu", "--first-block")
    assert told["pictures"] == 1 and told["bootstraps"] == 2
    assert told["security_bits"] >= 128 and told["largest"] > 1
    assert told["difference"] <= run.BLOCK_DIFFERENCE * told["largest"]
    assert "estimated security" in words
    check_server_apart("resnet", work, told, "whorl.nn", "network.whorlnn", {"answer.whorl"})
