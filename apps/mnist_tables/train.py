"""Trains the network on MNIST, in the clear, with NumPy alone; some minutes of one core.

usage: python apps/mnist_tables/train.py FOLDER    MNIST's four idx files (.gz) -> weights.npz

It is trained as it will run: weights and pixels are rounded to integers in each step (gradients
pass the rounding), neurons have 16 levels, and sums get the errors that encrypted ones have. Adam
on mini-batches of 128 digits; every other one is moved by up to a pixel. Sums that come near the
ends of their circle are pulled back. In the end all sums of the 70,000 images must be within the
range that the table takes, with room for errors; otherwise nothing is written.
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

from mnist_tables import layout, model
from mnist_tables.layout import CLASSES, HIDDEN, LEVELS, P_HIDDEN, P_PIXELS, PIXELS, STEP

BATCH, EPOCHS, RATE, WARM = 128, 40, 5e-4, 300
MODULI = (P_PIXELS, P_HIDDEN)
LARGEST = (127, 31)  # weights
# Errors of the default parameters, of 4,096 phases a circle: of a sum, by the key switch and the
# rounding of the rotation; and of a neuron, by its rotation (docs/noise.md has the formulas).
PHASES, SUM_ERROR, NEURON_ERROR = 4096, 5.0, 0.25
SHARPNESS = 30  # logits of the training, in quarters of a circle
CALM, PULL = 0.8, 0.3  # where sums begin to be pulled back, in quarters; how strongly
ROOM = 64  # phases that are left for errors at the ends of the range of sums


def first_weights(random: np.random.Generator, hidden: int = HIDDEN) -> Named:
    """Weights at random: matrices (inputs, outputs), and biases.

    A sum is in quarters of its circle, and inputs are in parts of 16 levels.
    """
    made: Named = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise((PIXELS, hidden, CLASSES))):
        made[f"w{i}"] = random.normal(0, 0.15 * inputs**-0.5, (inputs, outputs)).astype(np.float32)
        made[f"b{i}"] = np.zeros(outputs, np.float32)
    return made


def steps(i: int) -> float:
    """The size of a step of the weights of a layer, where inputs are parts of 16 levels."""
    return 4 * LEVELS / MODULI[i]


def integers(w: Floats, i: int) -> Floats:
    """The weights of a layer as integers."""
    return np.clip(np.rint(w / np.float32(steps(i))), -LARGEST[i], LARGEST[i])


def bias_of(b: Floats, i: int) -> Floats:
    """Its biases as integers."""
    return np.rint(b * np.float32(MODULI[i] / 4))


def noisy_sums(w: Named, x: Floats, i: int, random: np.random.Generator | None) -> Floats:
    """Sums of a layer, as integers with errors; x are integers."""
    q = integers(w[f"w{i}"], i)
    out = x @ q + bias_of(w[f"b{i}"], i)
    if random is not None:
        phases = SUM_ERROR if i == 0 else NEURON_ERROR * np.sqrt((q * q).sum(axis=0))
        error = random.standard_normal(out.shape, dtype=np.float32)
        out = out + error * np.float32(phases) * np.float32(MODULI[i] / PHASES)
    return out.astype(np.float32)


def gradients(
    w: Named, pixels: Floats, labels: Bytes, random: np.random.Generator | None
) -> tuple[float, Named]:
    """The mean cross entropy of a mini-batch, and its gradients and those of what pulls sums back.

    Rounding and levels have the slopes of what they stand for. Without `random` there are no
    errors.
    """
    sums = noisy_sums(w, pixels, 0, random)
    hidden = layout.rectified(sums)
    logits = noisy_sums(w, hidden, 1, random)
    quarter = [np.float32(4 / p) for p in MODULI]
    loss, slope = entropy(logits * quarter[1] * SHARPNESS, labels)
    slope = slope * SHARPNESS
    found: dict[str, Any] = {"w1": hidden.T @ slope / LEVELS, "b1": slope.sum(axis=0)}
    z = sums * quarter[0]
    inside = (sums > 0) & (sums < LEVELS * STEP)
    # A neuron in parts of 16 levels rises by 1/16 for each step of a sum.
    slope = slope @ (integers(w["w1"], 1).T * np.float32(steps(1))) * inside
    slope *= np.float32(P_PIXELS / (4 * LEVELS * STEP))
    slope += np.float32(PULL / len(labels)) * (z - np.clip(z, -CALM, CALM))
    found |= {"w0": pixels.T @ slope / LEVELS, "b0": slope.sum(axis=0)}
    return loss, {name: g.astype(np.float32) for name, g in found.items()}


def train(images: Bytes, labels: Bytes, epochs: int, seed: int, hidden: int = HIDDEN) -> Named:
    """The trained weights."""
    random = np.random.default_rng(seed)
    w = first_weights(random, hidden)
    batch = min(BATCH, len(labels))
    adam = Adam(w, steps=epochs * (len(labels) // batch), rate=RATE, warm=WARM, decay=0)
    seen = framed(images)
    for epoch in range(epochs):
        losses = []
        order = random.permutation(len(labels))
        for i, chosen in enumerate(order[: len(order) // batch * batch].reshape(-1, batch)):
            x = moved(seen[chosen], random) if i % 2 else images[chosen] / np.float32(255)
            pixels = np.rint(x.reshape(len(x), -1) * np.float32(LEVELS - 1))
            loss, found = gradients(w, pixels, labels[chosen], random)
            losses.append(loss)
            adam.step(found)
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}", flush=True)
    return w


def network_of(w: Named) -> model.Network:
    """The trained network in integers."""
    return model.Network(
        *(
            model.Layer(
                integers(w[f"w{i}"], i).T.astype(np.int64),
                bias_of(w[f"b{i}"], i).astype(np.int64),
            )
            for i in range(2)
        )
    )


def ranges(network: model.Network, images: Bytes) -> tuple[tuple[int, int], tuple[int, int]]:
    """The least and the largest sum, and logit, of images."""
    found: list[Any] = [[], []]
    for part in np.array_split(images, max(1, len(images) // 2000)):
        pixels = layout.levels_of(part)
        for i, values in enumerate((network.sums(pixels), network.logits(pixels))):
            found[i] += [values.min(), values.max()]
    return tuple((int(min(each)), int(max(each))) for each in found)  # type: ignore[return-value]


def check_ranges(network: model.Network, images: Bytes) -> str:
    """Says which sums and logits images have; `ValueError` if one is too near an end of what is
    read right."""
    room = ROOM * P_PIXELS // PHASES
    (low, high), (least, most) = ranges(network, images)
    words = (
        f"sums {low} … {high} of {layout.LOWEST} … {layout.HIGHEST}, "
        f"logits {least} … {most} of ±{P_HIDDEN // 2}"
    )
    far = ROOM * P_HIDDEN // PHASES
    if low < layout.LOWEST + room or high > layout.HIGHEST - room:
        raise ValueError(f"{words}: sums must be {room} away from the ends; pull them back more")
    if max(-least, most) > P_HIDDEN // 2 - far:
        raise ValueError(f"{words}: logits must be {far} away from the ends")
    return words


def noisy_right(w: Named, images: Bytes, labels: Bytes, seed: int) -> int:
    """How many images are classified right with errors."""
    random, right = np.random.default_rng(seed), 0
    for part, known in zip(np.array_split(images, 20), np.array_split(labels, 20), strict=True):
        sums = noisy_sums(w, layout.levels_of(part).astype(np.float32), 0, random)
        logits = noisy_sums(w, layout.rectified(sums), 1, random)
        right += int((logits.argmax(axis=1) == known).sum())
    return right


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="train.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=HIDDEN)
    parser.add_argument("--to", type=Path, default=model.PACKED, help="default: beside this script")
    arguments = parser.parse_args(argv)
    try:
        images, labels = images_and_labels(arguments.folder, "train")
        test, test_labels = images_and_labels(arguments.folder, "t10k")
        trained = train(images, labels, arguments.epochs, arguments.seed, arguments.hidden)
        network = network_of(trained)
        print(check_ranges(network, np.concatenate([images, test])))
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    model.save(arguments.to, network)
    right = int((network.logits(layout.levels_of(test)).argmax(axis=1) == test_labels).sum())
    noisy = noisy_right(trained, test, test_labels, arguments.seed)
    print(f"{right} of {len(test)} digits of the test are right, {noisy} with simulated errors")


if __name__ == "__main__":
    main()
