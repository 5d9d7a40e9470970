"""ResNet-20 for CIFAR-10 on encrypted images, one at a time and in a batch.

    .venv/bin/python bench/resnet20.py WEIGHTS.npz IMAGES.npz [--device cuda] [--runs 9]
        [--batch 16] [--compared 100] [--record FILE] [--commit ID]

WEIGHTS has the parameters of the network by their names in torch (`conv1.weight`, `bn1.weight`,
`layer1.0.conv1.weight`, …, `linear.bias`); IMAGES has images (uint8, N × 3 × 32 × 32) and labels.
Client and server are one process here. The network is compiled with 512 of the images; others are
compared. A run is what the server does from an encrypted image to encrypted logits, with a wait at
the end; maps are encoded before, and stay on the device. Keys, encryption and decryption are left
out. Before anything is recorded, logits are compared with those of the network in clear: no
difference may be above 0.1, and classes agree wherever the two largest logits are 0.2 apart.
Records belong in bench/results/<device>/networks.jsonl.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common.records import append, device_fields, stamped
from common.waits import timed
from whorl import ckks, nn

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
FITTED = 512
SET = "W128_L16_B16"


def resnet20(weights: Any) -> nn.Graph:
    """The network of He, Zhang, Ren, Sun (CVPR 2016) for images of 32 × 32, with shortcuts that
    have no weights: every second pixel, and channels of zeros on both sides."""
    b = nn.Builder((3, 32, 32))

    def normalised(name: str, x: int) -> int:
        by = weights[f"{name}.weight"] / np.sqrt(weights[f"{name}.running_var"] + 1e-5)
        shift = weights[f"{name}.bias"] - weights[f"{name}.running_mean"] * by
        return b.scaled(name, x, by, shift)

    def convolved(name: str, norm: str, x: int, stride: int = 1) -> int:
        weight = weights[f"{name}.weight"]
        return normalised(norm, b.windows(name, x, weight, stride=(stride, stride), padding=(1, 1)))

    x = b.function("relu", convolved("conv1", "bn1", 0), "relu")
    for stage in (1, 2, 3):
        for block in range(3):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            y = convolved(f"{name}.conv1", f"{name}.bn1", x, stride)
            y = b.function(f"{name}.relu1", y, "relu")
            y = convolved(f"{name}.conv2", f"{name}.bn2", y)
            if stride == 2:
                x = b.windows(f"{name}.shortcut", x, shortcut(b.nodes[x].shape[0]), stride=(2, 2))
            x = b.function(f"{name}.relu2", b.sum(f"{name}.sum", y, x), "relu")
    x = b.average("pool", x, (8, 8), (8, 8))
    return b.graph(b.linear("linear", x, weights["linear.weight"], weights["linear.bias"]))


def shortcut(channels: int) -> Any:
    """A convolution of 1 × 1 from some channels to the middle of twice as many."""
    weight = np.zeros((2 * channels, channels, 1, 1))
    weight[np.arange(channels) + channels // 2, np.arange(channels)] = 1
    return weight


def normalised(images: Any) -> Any:
    each = (1, 3, 1, 1)
    return (images / 255.0 - np.reshape(MEAN, each)) / np.reshape(DEVIATION, each)


def compare(net: nn.Network, runner: Any, client: Any, images: Any) -> tuple[float, int]:
    """The largest difference of a logit from the network in clear, and how many classes agree."""
    clear = net.graph(images)
    largest, agree = 0.0, 0
    for image, logits in zip(images, clear, strict=True):
        result = runner(net.ends.encrypt(client, image[None]))
        got = net.ends.decrypt(client, result, 1)[0]
        largest = max(largest, float(np.abs(got - logits).max()))
        first, second = np.sort(logits)[::-1][:2]
        same = bool(got.argmax() == logits.argmax())
        agree += same
        if largest > 0.1 or (not same and first - second > 0.2):
            raise SystemExit(f"resnet20: logits {got} are not {logits}")
    return largest, agree


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("weights", type=Path)
    options.add_argument("images", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--batch", type=int, default=16, help="images that run together, too")
    options.add_argument("--compared", type=int, default=100)
    options.add_argument("--network", type=Path, help="a file of this network, to skip compiling")
    options.add_argument("--record", type=Path)
    options.add_argument("--commit", default="")
    given = options.parse_args()

    images = normalised(np.load(given.images)["images"][: FITTED + given.compared])
    begun = time.perf_counter()
    if given.network and given.network.exists():
        net = nn.load(given.network)
    else:
        graph = resnet20(np.load(given.weights))
        net = nn.compile(
            graph, images[:FITTED], margin=1.1, precision=2**-9, parameters=ckks.parameters(SET)
        )
        if given.network:
            net.save(given.network)
    print(f"{net}, in {time.perf_counter() - begun:.1f} s", flush=True)
    client = ckks.Client(net.parameters)
    server = ckks.Server(client.evaluation_keys(**net.keys), device=given.device)
    for slots in net.keys["bootstrap"]:
        server.prepare_bootstrap(slots)
    begun = time.perf_counter()
    runner = net.on(server)
    print(f"maps of {runner.nbytes / 1e9:.1f} GB, in {time.perf_counter() - begun:.1f} s")
    difference, agree = compare(net, runner, client, images[FITTED:])
    print(f"{agree} of {given.compared} classes agree; logits differ by up to {difference:.4f}")
    for batch in sorted({1, given.batch}):
        x = server.upload(net.ends.encrypt(client, images[:batch]))
        times = timed(server, partial(runner, x), given.runs)
        print(f"{sorted(times)[given.runs // 2]:.3f} s for {batch}", flush=True)
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
            compared=given.compared,
            agreeing=agree,
            largest_difference=difference,
            **device_fields(server.devices),
        )
        append(given.record, {**line, "commit": given.commit or line["commit"]})


if __name__ == "__main__":
    main()
