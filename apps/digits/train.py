"""Trains the network on MNIST, in clear, with NumPy alone; a minute of one core.

usage: python apps/digits/train.py FOLDER    MNIST's four idx files (.gz) -> weights.npz

Adam (Kingma, Ba, ICLR 2015) at a rate that falls as a cosine, on mini-batches of 128 digits, which
are moved by up to a pixel. Squares are steep: gradients are clipped, and weights decay, so that
values stay small. Weights are kept with 11 bits (float16).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.idx import Bytes, images_and_labels
from common.training import Adam, Floats, Named, entropy, framed, moved

from digits.digits import scaled
from digits.model import (
    CHANNELS,
    CLASSES,
    HIDDEN,
    KERNEL,
    PACKED,
    PADDING,
    SMALL,
    STRIDE,
    graph,
    load,
)

BATCH, EPOCHS, RATE, DECAY, WARM = 128, 16, 2e-3, 1e-4, 300


def first_weights(random: np.random.Generator) -> Named:
    """Weights at random; a pixel of the convolution's result and a channel is an input of the dense
    layer."""
    inputs = SMALL * SMALL * CHANNELS
    made = {
        "conv": random.normal(0, 0.2, (KERNEL * KERNEL, CHANNELS)),
        "conv_bias": np.full(CHANNELS, 0.3),
        "dense": random.normal(0, inputs**-0.5, (inputs, HIDDEN)),
        "dense_bias": np.full(HIDDEN, 0.3),
        "out": random.normal(0, HIDDEN**-0.5, (HIDDEN, CLASSES)),
        "out_bias": np.zeros(CLASSES),
    }
    return {name: values.astype(np.float32) for name, values in made.items()}


def windows(images: Floats) -> Floats:
    """What the convolution multiplies: (count · 14 · 14, 25)."""
    padded = np.pad(images, ((0, 0), (PADDING, PADDING), (PADDING, PADDING)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (KERNEL, KERNEL), axis=(1, 2))
    return view[:, ::STRIDE, ::STRIDE].reshape(-1, KERNEL * KERNEL)


def activated(x: Floats, relu: bool) -> tuple[Floats, Floats]:
    """Squares or relus, and their slopes."""
    return (np.maximum(x, 0), (x > 0).astype(x.dtype)) if relu else (x * x, 2 * x)


def gradients(w: Named, images: Floats, labels: Bytes, relu: bool = False) -> tuple[float, Named]:
    """The mean cross entropy of a mini-batch, and its gradients."""
    count = len(images)
    seen = windows(images)
    first, first_slope = activated(seen @ w["conv"] + w["conv_bias"], relu)
    flat = first.reshape(count, -1)
    second, second_slope = activated(flat @ w["dense"] + w["dense_bias"], relu)
    logits = second @ w["out"] + w["out_bias"]

    loss, of_logits = entropy(logits, labels)
    of_dense = of_logits @ w["out"].T * second_slope
    of_conv = (of_dense @ w["dense"].T).reshape(-1, CHANNELS) * first_slope
    return loss, {
        "conv": seen.T @ of_conv,
        "conv_bias": of_conv.sum(axis=0),
        "dense": flat.T @ of_dense,
        "dense_bias": of_dense.sum(axis=0),
        "out": second.T @ of_logits,
        "out_bias": of_logits.sum(axis=0),
    }


def train(images: Bytes, labels: Bytes, epochs: int, seed: int, relu: bool) -> Named:
    """The trained weights."""
    random = np.random.default_rng(seed)
    w = first_weights(random)
    steps = epochs * (len(labels) // BATCH)
    adam = Adam(w, steps=steps, rate=RATE, warm=WARM, decay=DECAY)
    seen = framed(images)
    for epoch in range(epochs):
        losses = []
        order = random.permutation(len(labels))
        for batch in order[: len(order) // BATCH * BATCH].reshape(-1, BATCH):
            loss, found = gradients(w, moved(seen[batch], random), labels[batch], relu)
            losses.append(loss)
            adam.step(found)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}", flush=True)
    return w


def save(w: Named, path: Path) -> None:
    """Writes the weights as `model.Weights` has them."""
    dense = w["dense"].reshape(SMALL * SMALL, CHANNELS, HIDDEN).transpose(2, 1, 0)
    arrays = {
        **w,
        "conv": w["conv"].T.reshape(CHANNELS, 1, KERNEL, KERNEL),
        "dense": dense.reshape(HIDDEN, -1),
        "out": w["out"].T,
    }
    halves: dict[str, Any] = {name: values.astype(np.float16) for name, values in arrays.items()}
    np.savez_compressed(path, **halves)


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="train.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--relu", action="store_true", help="relus in place of squares, to compare")
    parser.add_argument("--to", type=Path, default=PACKED, help="default: beside this script")
    arguments = parser.parse_args(argv)
    try:
        images, labels = images_and_labels(arguments.folder, "train")
        test, test_labels = images_and_labels(arguments.folder, "t10k")
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    trained = train(images, labels, arguments.epochs, arguments.seed, arguments.relu)
    save(trained, arguments.to)
    logits = graph(load(arguments.to), arguments.relu)(scaled(test))
    right = int((logits.argmax(axis=1) == test_labels).sum())
    print(f"{right} of {len(test)} digits of the test are right")


if __name__ == "__main__":
    main()
