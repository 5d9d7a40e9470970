"""The networks of apps/mnist_tables on encrypted digits: MNIST by look-up tables, 784-30-10 or
784-1024-1024-1024-10.

    .venv/bin/python bench/tables_mnist.py FOLDER [--network large] [--device cuda]
        [--images 10000] [--batch 528] [--alone 10] [--weights FILE] [--params W128_P128]
        [--insecure] [--threads 0] [--energy 1] [--record FILE] [--commit ID]

FOLDER has MNIST's four idx files (.gz). Client and server are one process here. A run is what the
server does with a batch, from the client's ciphertexts in the host's memory to logits there: copies
are included, keys, encryption and decryption are left out. `mnist30`, and `mnist1024` of the large
network, is the seconds of an image: the median over the batches of the test, and of `--alone`
images, a call each, with a batch of 1. `--images 0` and `--alone 0` leave one of them out.
W128_P128_M3 is the set for batches of the small network, W128_P128_M2 for the large one, and
W128_P128_M5 for one image of the small one. All images are decrypted, and the record says how many
are right, how many are in the clear, and how many classes agree. Records belong in
bench/results/<device>/functions.jsonl.
"""

import argparse
import importlib
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import common
import numpy as np
from common.energy import add_energy
from common.records import ROOT, append, device_fields, memory_fields, stamped

sys.path.append(str(ROOT / "apps"))

from mnist_tables import layout, model
from whorl import binfhe


def test_images(folder: Path) -> Any:
    """Pixels and labels of MNIST's test. They are read by apps/common: a package with the name of
    one of bench."""
    common.__path__.append(str(ROOT / "apps" / "common"))
    return importlib.import_module("mnist_tables.digits").read(folder)


OPS = {"small": "mnist30", "large": "mnist1024"}
BATCHES = {"small": 528, "large": 32}


class Bench:
    """Client, server and network, and what their answers were."""

    def __init__(self, given: argparse.Namespace) -> None:
        kind = layout.KINDS[given.network]
        self.op = OPS[given.network]
        self.network = model.load(kind, given.weights)
        parameters = layout.named(given.params, given.insecure)
        self.client = binfhe.Client(parameters)
        self.server = binfhe.Server(
            self.client.evaluation_keys(),
            device=given.device,
            threads=given.threads,
            allow_insecure=given.insecure,
        )
        self.lut = model.table(parameters, kind)

    def encrypted(self, pixels: layout.Ints) -> binfhe.Ciphertexts:
        """Pixels as the application's client sends them."""
        return self.client.encrypt(pixels, **layout.fresh(self.client.parameters))

    def answer(self, query: binfhe.Ciphertexts) -> binfhe.Ciphertexts:
        """Logits in the host's memory."""
        return model.answer(self.server, self.network, self.lut, query)

    def classified(self, parts: list[Any]) -> tuple[list[float], Any]:
        """Seconds an image of each part but a first one, which warms up, and all logits."""
        self.answer(self.encrypted(parts[0]))
        seconds, logits = [], []
        for pixels in parts:
            query = self.encrypted(pixels)
            self.server.synchronise()
            begun = time.perf_counter()
            answer = self.answer(query)
            seconds.append((time.perf_counter() - begun) / len(pixels))
            logits.append(self.client.decrypt(answer))
        return seconds, np.concatenate(logits)

    def line(self, seconds: list[float], batch: int, found: dict[str, Any]) -> dict[str, Any]:
        """A record."""
        parameters, server = self.server.parameters, self.server
        return stamped(
            "tables_mnist",
            self.op,
            "binfhe",
            parameters.name,
            seconds,
            batch=batch,
            threads=server.threads,
            security_bits=parameters.security.bits,
            transform=server.transform,
            neurons=self.network.rotations,
            **found,
            **memory_fields(server.devices),
            **device_fields(server.devices),
        )


def compared(network: model.Network, pixels: layout.Ints, labels: Any, got: Any) -> dict[str, Any]:
    """How many classes are right, right in the clear, and the same."""
    classes, known = got.argmax(axis=1), network.logits(pixels).argmax(axis=1)
    return {
        "compared": len(got),
        "right": int((classes == labels).sum()),
        "right_clear": int((known == labels).sum()),
        "agreeing": int((classes == known).sum()),
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--images", type=int, default=10000)
    options.add_argument("--batch", type=int, help=f"images; default: {BATCHES}")
    options.add_argument("--alone", type=int, default=10)
    options.add_argument("--network", choices=list(OPS), default="small")
    options.add_argument("--weights", type=Path, help="as train.py makes them")
    options.add_argument("--params", default=layout.PARAMETERS)
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--insecure", action="store_true")
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()

    pixels, labels = test_images(given.folder)
    bench = Bench(given)
    for size, count in ((given.batch or BATCHES[given.network], given.images), (1, given.alone)):
        chosen = pixels[:count]
        size = min(size, len(chosen))
        if not size:
            continue
        parts = [chosen[at : at + size] for at in range(0, len(chosen), size)]
        seconds, logits = bench.classified(parts)
        # The last part may have fewer images.
        whole = [s for s, part in zip(seconds, parts, strict=True) if len(part) == size]
        found = compared(bench.network, chosen, labels[:count], logits)
        print(", ".join(f"{name} {value}" for name, value in found.items()), flush=True)
        print(f"batch {size}: {1e3 * statistics.median(whole):.4f} ms an image", flush=True)
        line = bench.line(whole, size, found)
        line["commit"] = given.commit or line["commit"]
        append(given.record, line)
        query = bench.encrypted(parts[0])
        add_energy(given.record, line, bench.server, partial(bench.answer, query), given.energy)


if __name__ == "__main__":
    main()
