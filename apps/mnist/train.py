"""Trains the network on MNIST, in clear, with NumPy alone; some minutes of one core.

usage: python apps/mnist/train.py FOLDER    MNIST's four idx files (.gz) -> weights.npz

It is trained with the activation x²/4 + x/2, the parabola that is near relu. With h = (x + 1)/2
that is h² - 1/4, so that squares are all that is left: what is halved and added goes into matrices
and biases. Adam on mini-batches of 256 digits, which are moved by up to a pixel; sums above 4 are
pulled back, so that ranges stay small. Matrices are kept with 8 bits, a step for each neuron.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.idx import Bytes, images_and_labels
from common.training import Adam, Floats, Named, entropy, framed, moved

from mnist import model
from mnist.layout import CLASSES, PIXELS

BATCH, EPOCHS, RATE, DECAY, WARM = 256, 8, 1e-3, 0.05, 300
CALM, PULL = 4.0, 1e-3  # where sums begin to be pulled back, and how strongly


def first_weights(random: np.random.Generator, hidden: tuple[int, ...]) -> Named:
    """Weights at random: matrices (inputs, outputs), and biases."""
    sizes = (PIXELS, *hidden, CLASSES)
    made: Named = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        made[f"w{i}"] = random.normal(0, inputs**-0.5, (inputs, outputs)).astype(np.float32)
        made[f"b{i}"] = np.zeros(outputs, np.float32)
    return made


def gradients(w: Named, images: Floats, labels: Bytes) -> tuple[float, Named]:
    """The mean cross entropy of a mini-batch, and gradients of that and of what pulls sums back."""
    layers = len(w) // 2
    inputs: list[Any] = [images.reshape(len(images), -1)]
    sums: list[Any] = []
    for i in range(layers):
        x = inputs[-1] @ w[f"w{i}"] + w[f"b{i}"]
        sums.append(x)
        inputs.append(x * (x / 4 + 0.5))
    slope: Any
    loss, slope = entropy(sums[-1], labels)
    found: Named = {}
    for i in reversed(range(layers)):
        found[f"w{i}"], found[f"b{i}"] = inputs[i].T @ slope, slope.sum(axis=0)
        if i:
            x = sums[i - 1]
            slope = slope @ w[f"w{i}"].T * (x / 2 + 0.5)
            slope += PULL / len(images) * (x - np.clip(x, -CALM, CALM))
    return loss, found


def train(
    images: Bytes, labels: Bytes, epochs: int, seed: int, hidden: tuple[int, ...] = model.HIDDEN
) -> Named:
    """The trained weights."""
    random = np.random.default_rng(seed)
    w = first_weights(random, hidden)
    batch = min(BATCH, len(labels))
    adam = Adam(w, steps=epochs * (len(labels) // batch), rate=RATE, warm=WARM, decay=DECAY)
    seen = framed(images)
    for epoch in range(epochs):
        losses = []
        order = random.permutation(len(labels))
        for chosen in order[: len(order) // batch * batch].reshape(-1, batch):
            loss, found = gradients(w, moved(seen[chosen], random), labels[chosen])
            losses.append(loss)
            adam.step(found)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}", flush=True)
    return w


def squares_of(w: Named, images: Bytes) -> list[model.Layer]:
    """The same network of squares, with matrices of 8 bits, and how large its sums are."""
    layers: list[model.Layer] = []
    for i in range(len(w) // 2):
        last = i + 1 == len(w) // 2
        matrix = w[f"w{i}"].T.astype(np.float64) * (1 if last else 0.5)
        steps, scales = model.quantised(matrix)
        matrix = steps * scales[:, None].astype(np.float64)
        bias = w[f"b{i}"].astype(np.float64)
        if not last:
            bias = (bias + 1) / 2
        if i:  # the activations before are squares less 1/4
            bias = bias - matrix.sum(axis=1) / 4
        layers.append(model.Layer(matrix, bias.astype(np.float32).astype(np.float64), 0))
    largest = np.zeros(len(layers))
    for part in np.array_split(images.reshape(len(images), -1), max(1, len(images) // 2000)):
        found = model.sums(layers, part / 255.0)
        largest = np.maximum(largest, [np.abs(x).max() for x in found])
    return [
        model.Layer(each.matrix, each.bias, float(most))
        for each, most in zip(layers, largest, strict=True)
    ]


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="train.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hidden", type=int, nargs="+", default=model.HIDDEN)
    parser.add_argument("--to", type=Path, default=model.PACKED, help="default: beside this script")
    arguments = parser.parse_args(argv)
    try:
        images, labels = images_and_labels(arguments.folder, "train")
        test, test_labels = images_and_labels(arguments.folder, "t10k")
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    trained = train(images, labels, arguments.epochs, arguments.seed, tuple(arguments.hidden))
    model.save(arguments.to, squares_of(trained, images))
    network = model.load(arguments.to)
    logits = model.logits(network, test.reshape(len(test), -1) / 255.0)
    right = int((logits.argmax(axis=1) == test_labels).sum())
    print(f"{right} of {len(test)} digits of the test are right")


if __name__ == "__main__":
    main()
