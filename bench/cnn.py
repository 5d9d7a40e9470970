"""The network of apps/digits on encrypted digits: a ciphertext alone, and batches of ciphertexts.

    .venv/bin/python bench/cnn.py [--device cuda] [--runs 9] [--ciphertexts 1 16 64] [--threads 0]
        [--digits FILE] [--energy 1] [--record FILE] [--commit ID]

Client and server are one process here. A run is what the server does from encrypted images to
encrypted logits, with a wait at the end; maps are encoded before, and stay on the device. Keys,
encryption and decryption are left out. A ciphertext holds 8 images; `batch` in records counts
images, and `seconds_an_image` is the median over them; `cpu_seconds` is what a run takes of the
CPU, which other work on it changes less. Before anything is recorded all test images
of the file run in batches of that size, and logits are compared with those of the network in clear:
no difference may be above what the application states. The file is the application's with 256
images, or one that `apps/digits/pack.py FOLDER --test 10000 --to FILE` made of MNIST. On a GPU
cnn_energy is the joules of an image, by runs that are repeated for `--energy` seconds. Records
belong in bench/results/<device>/networks.jsonl.
"""

import argparse
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.energy import add_energy
from common.records import ROOT, append, device_fields, stamped
from common.waits import timed

sys.path.append(str(ROOT / "apps"))

from digits import digits, model
from whorl import ckks, nn


def compare(
    net: nn.Network, runner: Any, client: Any, data: digits.Digits, at_once: int
) -> dict[str, float]:
    """How logits differ from those of the network in clear, and how many classes agree with it and
    are right."""
    parts = np.split(data.test, range(at_once, len(data.test), at_once))
    got = np.concatenate(
        [net.ends.decrypt(client, runner(net.ends.encrypt(client, x)), len(x)) for x in parts]
    )
    clear = net.graph(data.test)
    largest = float(np.abs(got - clear).max())
    if not largest <= model.ERROR:
        raise SystemExit(f"cnn: a logit differs by {largest:.3g}, above {model.ERROR}")
    classes = got.argmax(axis=1)
    return {
        "compared": len(got),
        "agreeing": int((classes == clear.argmax(axis=1)).sum()),
        "right": int((classes == data.test_labels).sum()),
        "largest_difference": largest,
    }


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--device", default="cuda")
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--ciphertexts", type=int, nargs="+", default=[1, 16, 64])
    options.add_argument("--threads", type=int, default=0)
    options.add_argument("--digits", type=Path, default=digits.PACKED, help="as pack.py makes it")
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()

    data = digits.load(given.digits)
    begun = time.perf_counter()
    net = model.compiled(model.load(), digits.load().examples)
    print(f"{net}, in {time.perf_counter() - begun:.1f} s", flush=True)
    client = ckks.Client(net.parameters)
    keys = client.evaluation_keys(**net.keys)
    server = ckks.Server(keys, device=given.device, threads=given.threads)
    begun = time.perf_counter()
    runner = net.on(server)
    print(f"maps of {runner.nbytes / 1e6:.0f} MB, in {time.perf_counter() - begun:.2f} s")
    for ciphertexts in given.ciphertexts:
        batch = ciphertexts * net.ends.images
        found = compare(net, runner, client, data, batch)
        print(", ".join(f"{name} {value:g}" for name, value in found.items()), flush=True)
        x = server.upload(net.ends.encrypt(client, np.resize(data.test, (batch, 1, 28, 28))))
        run = partial(runner, x)
        host = time.process_time()
        times = timed(server, run, given.runs)
        host = (time.process_time() - host) / (given.runs + 1)
        middle = statistics.median(times)
        print(f"{1e3 * middle:.3f} ms for {batch}, {1e3 * middle / batch:.4f} ms an image")
        line = stamped(
            "networks",
            "cnn",
            "ckks",
            net.parameters.name,
            times,
            batch=batch,
            transfers="excluded",
            threads=server.threads,
            security_bits=net.parameters.security_bits,
            N=net.parameters.N,
            ciphertexts=ciphertexts,
            seconds_an_image=middle / batch,
            cpu_seconds=host,
            bootstraps=net.bootstraps,
            key_bytes=net.key_bytes,
            map_bytes=runner.nbytes,
            **found,
            **device_fields(server.devices),
        )
        line["commit"] = given.commit or line["commit"]
        append(given.record, line)
        add_energy(given.record, line, server, run, given.energy)


if __name__ == "__main__":
    main()
