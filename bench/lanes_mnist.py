"""The network of apps/mnist on 2^15 encrypted images at once, one image a slot.

    .venv/bin/python bench/lanes_mnist.py FOLDER [--device cuda] [--images 32768] [--runs 3]
        [--network FILE] [--threads 0] [--energy 1] [--record FILE] [--commit ID]

FOLDER has MNIST's four idx files (.gz). Client and server are one process here. A run is what the
server does from encrypted images on the device to encrypted logits there, with a wait at the end:
four matrices along the batch, and three layers of squares. Keys, encryption, copies and decryption
are left out. `lanes_mnist` is the seconds of an image, and `batch` counts images: the test's
10,000, which come again. Before anything is recorded all logits are compared with those of the
network in clear: no difference may be above what is stated with the answer. Records belong in
bench/results/<device>/lanes.jsonl. `--insecure` takes a ring that protects nothing, for a look.
"""

import argparse
import importlib
import statistics
import sys
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
from common.energy import add_energy
from common.records import ROOT, append, device_fields, memory_fields, stamped
from common.waits import timed

sys.path.append(str(ROOT / "apps"))

from mnist import layout, model
from whorl import ckks


def test_images(folder: Path) -> Any:
    """MNIST's images and labels of the test, as apps/common reads them: a package with the name of
    one of bench."""
    common.__path__.append(str(ROOT / "apps" / "common"))
    return importlib.import_module("common.idx").images_and_labels(folder, "t10k")


def compare(
    network: model.Network, images: Any, labels: Any, got: Any, stated: float
) -> dict[str, float]:
    """How logits differ from those in clear, and how many classes agree with it and are right."""
    clear = model.logits(network, images)
    largest = float(np.abs(got - clear).max())
    if not largest <= stated:
        raise SystemExit(f"mnist: a logit differs by {largest:.3g}, above the stated {stated:.3g}")
    classes = got.argmax(axis=1)
    return {
        "compared": len(got),
        "agreeing": int((classes == clear.argmax(axis=1)).sum()),
        "right": int((classes == labels).sum()),
        "largest_difference": largest,
        "stated_difference": stated,
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--images", type=int, default=1 << 15)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--network", type=Path, default=model.PACKED, help="as train.py makes it")
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--insecure", action="store_true")
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()

    test, labels = test_images(given.folder)
    images = np.resize(test.reshape(len(test), -1) / 255.0, (given.images, layout.PIXELS))
    labels = np.resize(labels, given.images)
    network = model.load(given.network)
    parameters = layout.insecure() if given.insecure else layout.parameters()
    client = ckks.Client(parameters)
    keys = client.evaluation_keys()
    server = ckks.Server(keys, device=given.device, threads=given.threads)
    pixels = layout.pixels_of(images, parameters.slots)
    x = server.upload(client.encrypt(pixels, bound=(0, 1)))
    print(f"{x.size} ciphertexts of {given.images} images", flush=True)

    answer = model.classify(server, network, x)
    logits = layout.logits_of(client.decrypt(answer, raw=True), given.images)
    found = compare(network, images, labels, logits, layout.DEVIATIONS * answer.error)
    del answer
    print(", ".join(f"{name} {value:g}" for name, value in found.items()), flush=True)
    run = partial(model.classify, server, network, x)
    times = timed(server, run, given.runs)
    middle = statistics.median(times)
    print(f"{middle:.3f} s, {1e3 * middle / given.images:.4f} ms an image")
    line = stamped(
        "lanes",
        "lanes_mnist",
        "ckks",
        f"784-{'-'.join(str(len(layer.bias)) for layer in network)}, {parameters.name}",
        [seconds / given.images for seconds in times],
        batch=given.images,
        transfers="excluded",
        threads=server.threads,
        security_bits=parameters.security_bits,
        N=parameters.N,
        ciphertexts=x.size,
        bootstraps=0,
        **found,
        **memory_fields(server.devices),
        **device_fields(server.devices),
    )
    line["commit"] = given.commit or line["commit"]
    append(given.record, line)
    add_energy(given.record, line, server, run, given.energy)


if __name__ == "__main__":
    main()
