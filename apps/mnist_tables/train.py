"""Trains a network on MNIST, in the clear, with NumPy alone, in some minutes of one core.

usage: python apps/mnist_tables/train.py FOLDER [--network large]    MNIST's four idx files (.gz) ->
                                                                     weights.npz

It is trained as it will run: weights and pixels are rounded to integers in each step (gradients
pass the rounding), neurons have 16 levels, and sums get the errors that encrypted ones have. Adam
on mini-batches of digits; every other one is moved by up to a pixel. Sums that come near the ends
of their circle are pulled back. In the end all sums of the 70,000 images must be within the range
that the tables take, with room for errors; otherwise nothing is written.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.idx import Bytes, images_and_labels
from common.training import Adam, Floats, Named, entropy, framed, moved

from mnist_tables import layout, model
from mnist_tables.layout import CLASSES, KINDS, LEVELS, PIXELS, Kind, P

UNIT = 4 * LEVELS / P
"""An integer weight 1, where inputs are parts of 16 levels and sums are in quarters of a circle."""
# Errors of a sum, by the key switch and the rounding of the rotation, and of a neuron, by its
# rotation. The first is that of W128_P128 and of its unrolled sets. The second is that of
# W128_P128_M5; W128_P128 has half as much. (docs/noise.md has the formulas.)
SUM_ERROR, NEURON_ERROR = 5.0, 0.5
WARM = 300  # steps in which the rate rises
CALM, PULL = 0.7, 1.0  # where sums begin to be pulled back, in quarters; how strongly
ROOM = 64  # what is left for errors at the ends of the range of sums


@dataclasses.dataclass(frozen=True)
class Course:
    """How a network is trained. `spread`: the deviation of first weights, times sqrt(inputs);
    `sharpness`: logits of the training, in quarters of a circle."""

    epochs: int
    batch: int
    rate: float
    spread: float
    sharpness: int


COURSES = {
    "small": Course(40, 128, 5e-4, 0.15, 30),
    "large": Course(7, 250, 1.5e-4, 0.35, 12),
}


def first_weights(random: np.random.Generator, hidden: tuple[int, ...], spread: float) -> Named:
    """Weights at random: matrices (inputs, outputs), and biases.

    A sum is in quarters of its circle, and inputs are in parts of 16 levels.
    """
    made: Named = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise((PIXELS, *hidden, CLASSES))):
        first = random.normal(0, spread * inputs**-0.5, (inputs, outputs))
        made |= {f"w{i}": first.astype(np.float32), f"b{i}": np.zeros(outputs, np.float32)}
    return made


@dataclasses.dataclass(frozen=True)
class Noisy:
    """A network in integers whose sums have errors as encrypted ones have; none without
    `random`."""

    kind: Kind
    matrices: list[Floats]
    biases: list[Floats]
    random: np.random.Generator | None = None

    @classmethod
    def of(cls, kind: Kind, w: Named, random: np.random.Generator | None = None) -> Noisy:
        """What trained weights stand for."""
        return cls(
            kind,
            [
                np.clip(np.rint(w[f"w{i}"] * np.float32(1 / UNIT)), -most, most)
                for i, most in enumerate(kind.largest)
            ],
            [np.rint(w[f"b{i}"] * np.float32(P / 4)) for i in range(len(kind.largest))],
            random,
        )

    def sums(self, x: Floats, i: int) -> Floats:
        """Sums of a layer, as integers with errors; x are integers."""
        q = self.matrices[i]
        out = x @ q + self.biases[i]
        if self.random is not None:
            square = SUM_ERROR**2 + (NEURON_ERROR**2 * (q * q).sum(axis=0) if i else 0)
            error = self.random.standard_normal(out.shape, dtype=np.float32)
            out += error * np.sqrt(square, dtype=np.float32)
        return out

    def layers(self, pixels: Floats) -> tuple[list[Floats], list[Floats]]:
        """Inputs and sums of all layers; the last sums are the logits."""
        inputs, sums = [pixels], [self.sums(pixels, 0)]
        for i in range(1, len(self.matrices)):
            inputs.append(layout.rectified(sums[-1], self.kind.step))
            sums.append(self.sums(inputs[-1], i))
        return inputs, sums


def gradients(net: Noisy, pixels: Floats, labels: Bytes, sharpness: int) -> tuple[float, Named]:
    """The mean cross entropy of a mini-batch, and its gradients and those of what pulls sums back.

    Rounding and levels have the slopes of what they stand for.
    """
    inputs, sums = net.layers(pixels)
    quarter, ends = np.float32(4 / P), LEVELS * net.kind.step
    loss, slope = entropy(sums[-1] * quarter * sharpness, labels)
    slope = slope * sharpness
    found: dict[str, Any] = {}
    for i in reversed(range(len(sums))):
        z = sums[i] * quarter
        slope += np.float32(PULL / len(labels)) * (z - np.clip(z, -CALM, CALM))
        found |= {f"w{i}": inputs[i].T @ slope / LEVELS, f"b{i}": slope.sum(axis=0)}
        if i:
            inside = (sums[i - 1] > 0) & (sums[i - 1] < ends)
            # A neuron in parts of 16 levels rises by 1/16 for each step of a sum.
            slope = slope @ net.matrices[i].T * np.float32(UNIT * P / (4 * ends)) * inside
    return loss, {name: g.astype(np.float32) for name, g in found.items()}


def train(
    kind: Kind, course: Course, images: Bytes, labels: Bytes, seed: int, hidden: tuple[int, ...]
) -> Named:
    """The trained weights. Those of integers of few bits are kept near the integers, since weights
    that are far outside would change no more."""
    random = np.random.default_rng(seed)
    w = first_weights(random, hidden, course.spread)
    ends = {f"w{i}": (most + 0.5) * UNIT for i, most in enumerate(kind.largest)}
    batch = min(course.batch, len(labels))
    steps = course.epochs * (len(labels) // batch)
    adam = Adam(w, steps=steps, rate=course.rate, warm=WARM, decay=0)
    seen = framed(images)
    for epoch in range(course.epochs):
        losses, begun = [], time.perf_counter()
        order = random.permutation(len(labels))
        for i, chosen in enumerate(order[: len(order) // batch * batch].reshape(-1, batch)):
            x = moved(seen[chosen], random) if i % 2 else images[chosen] / np.float32(255)
            pixels = np.rint(x.reshape(len(x), -1) * np.float32(LEVELS - 1))
            loss, found = gradients(
                Noisy.of(kind, w, random), pixels, labels[chosen], course.sharpness
            )
            losses.append(loss)
            adam.step(found)
            for name, end in ends.items():
                np.clip(w[name], -end, end, out=w[name])
        took = time.perf_counter() - begun
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {took:.0f} s", flush=True)
    return w


def network_of(kind: Kind, w: Named) -> model.Network:
    """The trained network in integers."""
    net = Noisy.of(kind, w)
    return model.Network(
        kind,
        tuple(
            model.Layer(matrix.T.astype(np.int64), bias.astype(np.int64))
            for matrix, bias in zip(net.matrices, net.biases, strict=True)
        ),
    )


def ranges(network: model.Network, images: Bytes) -> list[tuple[int, int]]:
    """The least and the largest sum of each layer of images."""
    found = [
        [(int(sums.min()), int(sums.max())) for sums in network.sums(layout.levels_of(part))]
        for part in np.array_split(images, max(1, len(images) // 2000))
    ]
    return [
        (min(low for low, _ in each), max(high for _, high in each))
        for each in zip(*found, strict=True)
    ]


def check_ranges(network: model.Network, images: Bytes) -> str:
    """Says which sums and logits images have; `ValueError` if one is too near an end of what is
    read right."""
    told, found = [], ranges(network, images)
    for i, (low, high) in enumerate(found, 1):
        name, (least, most) = f"sums of layer {i}", network.kind.range
        if i == len(found):
            name, least, most = "logits", -P // 2, P // 2 - 1
        told.append(f"{name} {low} … {high} of {least} … {most}")
        if low < least + ROOM or high > most - ROOM:
            raise ValueError(f"{told[-1]}: they must be {ROOM} away from the ends")
    return ", ".join(told)


def noisy_right(net: Noisy, images: Bytes, labels: Bytes) -> int:
    """How many images are classified right with errors."""
    right = 0
    for part, known in zip(np.array_split(images, 20), np.array_split(labels, 20), strict=True):
        _, sums = net.layers(layout.levels_of(part).astype(np.float32))
        right += int((sums[-1].argmax(axis=1) == known).sum())
    return right


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="train.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--network", choices=list(KINDS), default="small")
    parser.add_argument("--epochs", type=int, help="default: the network's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hidden", type=int, nargs="+", help="neurons of each layer")
    parser.add_argument("--to", type=Path, help="default: beside this script")
    arguments = parser.parse_args(argv)
    kind, course = KINDS[arguments.network], COURSES[arguments.network]
    if arguments.epochs is not None:
        course = dataclasses.replace(course, epochs=arguments.epochs)
    hidden = tuple(arguments.hidden or kind.hidden)
    if len(hidden) != len(kind.hidden):
        parser.error(f"--hidden: {len(hidden)} layers, but the network has {len(kind.hidden)}")
    try:
        images, labels = images_and_labels(arguments.folder, "train")
        test, test_labels = images_and_labels(arguments.folder, "t10k")
        trained = train(kind, course, images, labels, arguments.seed, hidden)
        network = network_of(kind, trained)
        print(check_ranges(network, np.concatenate([images, test])))
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    model.save(arguments.to or kind.packed, network)
    right = int((network.logits(layout.levels_of(test)).argmax(axis=1) == test_labels).sum())
    random = np.random.default_rng(arguments.seed)
    noisy = noisy_right(Noisy.of(kind, trained, random), test, test_labels)
    print(f"{right} of {len(test)} digits of the test are right, {noisy} with simulated errors")


if __name__ == "__main__":
    main()
