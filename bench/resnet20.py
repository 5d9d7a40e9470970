"""ResNet-20 for CIFAR-10 on encrypted images, one at a time and in a batch.

    .venv/bin/python bench/resnet20.py IMAGES.npz [--device cuda] [--runs 9]
        [--batch 16 64] [--compared 100] [--map-bytes N] [--energy 1] [--record FILE] [--commit ID]

IMAGES has images (uint8, N × 3 × 32 × 32). The network is that of apps/resnet, with its weights and
ranges, which are those of all test images of CIFAR-10. Its errors are found on the first 64 images;
the next ones are compared, in batches of the first size. Client and server are one process here. A
run is what the server does from encrypted images to encrypted logits, with a wait at the end; maps
are encoded before, and stay on the device. Keys, encryption and decryption are left out. Before
anything is recorded, logits are compared with those of the network in clear: no difference may be
above 0.1, and classes agree wherever the two largest logits are 0.2 apart. On a GPU
resnet20_energy is the joules of an image, by runs that are repeated for `--energy` seconds. With
`--map-bytes` maps that have no room whole are compact. `device_bytes` is what is taken of a GPU's
memory with maps and keys: after a run of one image, and for a batch after the comparison and its
runs. Let no other process use the GPU. Records belong in
bench/results/<device>/networks.jsonl.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.energy import add_energy
from common.records import ROOT, append, device_fields, memory_fields, stamped
from common.waits import timed
from whorl import ckks, nn

sys.path.append(str(ROOT / "apps"))

from resnet import network
from resnet.network import SET

EXAMPLES = 64


def compare(
    net: nn.Network, runner: Any, client: Any, images: Any, at_once: int
) -> tuple[float, int]:
    """The largest difference of a logit from the network in clear, and how many classes agree."""
    clear = net.graph(images)
    parts = np.split(images, range(at_once, len(images), at_once))
    found = [
        net.ends.decrypt(client, runner(net.ends.encrypt(client, part)), len(part))
        for part in parts
    ]
    largest, agree = 0.0, 0
    for got, logits in zip(np.concatenate(found), clear, strict=True):
        largest = max(largest, float(np.abs(got - logits).max()))
        first, second = np.sort(logits)[::-1][:2]
        same = bool(got.argmax() == logits.argmax())
        agree += same
        if largest > 0.1 or (not same and first - second > 0.2):
            raise SystemExit(f"resnet20: logits {got} are not {logits}")
    return largest, agree


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("images", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--batch", type=int, nargs="+", default=[16], help="images at once, too")
    options.add_argument("--compared", type=int, default=100)
    options.add_argument("--network", type=Path, help="a file of this network, to skip compiling")
    options.add_argument("--map-bytes", type=int, help="the most that encoded maps may take")
    options.add_argument("--energy", type=float, default=1, help="seconds; 0: not measured")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()

    images = network.normalised(np.load(given.images)["images"][: EXAMPLES + given.compared])
    begun = time.perf_counter()
    if given.network and given.network.exists():
        net = nn.load(given.network)
    else:
        net = network.compiled(network.load(), images[:EXAMPLES])
        if given.network:
            net.save(given.network)
    print(f"{net}, in {time.perf_counter() - begun:.1f} s", flush=True)
    client = ckks.Client(net.parameters)
    server = ckks.Server(client.evaluation_keys(**net.keys), device=given.device)
    for slots in net.keys["bootstrap"]:
        server.prepare_bootstrap(slots)
    begun = time.perf_counter()
    runner = net.on(server, given.map_bytes)
    print(f"maps of {runner.nbytes / 1e9:.1f} GB, in {time.perf_counter() - begun:.1f} s")
    # Before larger batches, whose memory the process keeps.
    runner(net.ends.encrypt(client, images[:1]))
    server.synchronise()
    taken = memory_fields(server.devices)
    begun = time.perf_counter()
    difference, agree = compare(net, runner, client, images[EXAMPLES:], given.batch[0])
    print(f"compared in {time.perf_counter() - begun:.1f} s")
    print(f"{agree} of {given.compared} classes agree; logits differ by up to {difference:.4f}")
    for batch in sorted({1, *given.batch}):
        x = server.upload(net.ends.encrypt(client, images[:batch]))
        times = timed(server, partial(runner, x), given.runs)
        print(f"{sorted(times)[given.runs // 2]:.3f} s for {batch}", flush=True)
        if batch > 1:
            taken = memory_fields(server.devices)
        line = stamped(
            "networks",
            "resnet20",
            "ckks",
            SET,
            times,
            batch=batch,
            transfers="excluded",
            threads=server.threads,
            security_bits=net.parameters.security_bits,
            bootstraps=net.bootstraps,
            key_bytes=net.key_bytes,
            map_bytes=runner.nbytes,
            **taken,
            compared=given.compared,
            agreeing=agree,
            largest_difference=difference,
            **({} if given.map_bytes is None else {"variant": "compact maps"}),
            **device_fields(server.devices),
        )
        line["commit"] = given.commit or line["commit"]
        append(given.record, line)
        add_energy(given.record, line, server, partial(runner, x), given.energy)


if __name__ == "__main__":
    main()
