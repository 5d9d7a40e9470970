"""Classifies encrypted handwritten digits by a network of look-up tables: 784-30-10, or with
--network large 784-1024-1024-1024-10, which takes a hundred times as long.

A server has a network of integers, whose neurons are tables of FHEW/TFHE. A client encrypts the
784 pixels of each image, a ciphertext each, and decrypts ten logits. The server learns nothing
about the images. Images are some of MNIST's test that come with the application, or any (--data).

Exit status: 0 if the encrypted classes are those of the network in the clear for at least 95 % of
the images, or all but one; 1 if not. Tables read their sums nearly, so that a few may differ.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
    from common.application import Exchange, costs, finish, parser_of
    from common.files import write_json
    from common.output import rows, size
    from whorl import Error

    from mnist_tables import digits, layout, model
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

COUNTS = {"small": 100, "large": 2}
AGREEMENT = 0.95


def classify(weights: Path, pixels: layout.Ints, arguments: argparse.Namespace) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    sides = Exchange.begin("mnist_tables", arguments.workdir)
    # What each side has at the start: the server the network, the client pixels and the offer.
    shutil.copyfile(weights, sides.server / "network.npz")
    np.save(sides.client / "pixels.npy", pixels)
    write_json(
        sides.server / "server.json",
        {"insecure": arguments.insecure, "network": arguments.network},
    )
    write_json(
        sides.client / "client.json", {"name": arguments.params, "insecure": arguments.insecure}
    )
    return sides.run(
        arguments,
        (
            "client: makes keys and encrypts images",
            "server: classifies encrypted images",
            "client: decrypts the logits",
        ),
        result="logits",
    )


def report(
    network: model.Network, pixels: layout.Ints, labels: Any, told: dict[str, Any]
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    got, served = np.array(told["read"]["logits"]), told["served"]
    wanted = network.logits(pixels)
    if got.shape != wanted.shape:
        sys.exit(f"logits of shape {got.shape} for {len(pixels)} images")
    classes, known = got.argmax(axis=1), wanted.argmax(axis=1)
    return {
        "images": len(pixels),
        "labels": labels.tolist(),
        "classes_encrypted": classes.tolist(),
        "classes_clear": known.tolist(),
        "right_encrypted": int((classes == labels).sum()),
        "right_clear": int((known == labels).sum()),
        "agreement": float((classes == known).mean()),
        "logit_error": float(np.sqrt(((got - wanted) ** 2).mean())),
        "largest_logit": int(np.abs(wanted).max()),
        "neurons": network.rotations,
        "rotations_per_image": served["rotations_per_image"],
        "reach": served["reach"],
        "failure_log2": served["failure_log2"],
        "transform": served["transform"],
        "threads": served["threads"],
        "ciphertexts": told["prepared"]["ciphertexts"],
        **costs(told, len(pixels), "image", "image"),
    }


def tell(r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    count = r["images"]
    print(f"""
What happened
  A client encrypted {count} images of handwritten digits, a pixel in a ciphertext. A server that
  holds no secret key classified them by a network of {r["neurons"]} neurons, each of which is one
  table. The client decrypted ten logits of each image.
""")
    rows(
        ("right, encrypted", f"{r['right_encrypted']} of {count}"),
        ("right, in the clear", f"{r['right_clear']} of {count}"),
        ("classes as in the clear", f"{round(r['agreement'] * count)} of {count}"),
        ("logits differ by", f"{r['logit_error']:.1f} of {r['largest_logit']} (root mean square)"),
        ("", ""),
        (f"server, {count} images at once", f"{1e3 * r['seconds_per_image']:.0f} ms an image"),
        ("server, an image alone", f"{1e3 * r['seconds_one_image']:.0f} ms"),
        ("server, CPU time", f"{1e3 * r['cpu_seconds_per_image']:.0f} ms an image"),
        ("server's device", r["device"]),
        ("blind rotations an image", str(r["rotations_per_image"])),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("encryption", f"{r['seconds_encryption']:.2f} s"),
        ("evaluation keys, once", size(r["bytes_keys"])),
        (f"to the server: {layout.PIXELS} ciphertexts", size(r["bytes_query_per_image"])),
        (f"back: {layout.CLASSES} ciphertexts", size(r["bytes_answer_per_image"])),
        ("", ""),
        ("parameter set", r["parameters"]),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
        ("a table reads a sum of 2^12 within", f"±{r['reach']}, but for 2^-40"),
        ("and all tables of a logit, but for", f"2^{math.ceil(10 * r['failure_log2']) / 10}"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("mnist_tables", __doc__)
    parser.add_argument(
        "--data", type=Path, help="a folder with MNIST's four idx files (.gz), for other images"
    )
    parser.add_argument(
        "--images",
        type=int,
        help="of the test, at random; default: "
        + ", ".join(f"{count} of the {name} network" for name, count in COUNTS.items()),
    )
    parser.add_argument("--network", choices=list(layout.KINDS), default="small")
    parser.add_argument("--weights", type=Path, help="of the network, as train.py makes them")
    parser.add_argument(
        "--params",
        default=layout.PARAMETERS,
        help=f"{', '.join(layout.SETS)} or a set of the library; default: %(default)s",
    )
    parser.add_argument("--insecure", action="store_true", help="accept sets of less than 128 bits")
    arguments = parser.parse_args(argv)
    if arguments.images is None:
        arguments.images = COUNTS[arguments.network]
    if not 1 <= arguments.images <= layout.MOST:
        parser.error(f"--images: {arguments.images} is not in 1 … {layout.MOST}")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    try:
        layout.named(arguments.params, arguments.insecure)
        kind = layout.KINDS[arguments.network]
        weights = arguments.weights or kind.packed
        network = model.load(kind, weights)
        test, labels = digits.read(arguments.data) if arguments.data else digits.load()
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.images > len(test):
        print(
            f"error: --images: {arguments.images} is above {len(test)}, the test's images",
            file=sys.stderr,
        )
        return 2
    random = np.random.default_rng(arguments.seed)
    chosen = random.choice(len(test), arguments.images, replace=False)
    pixels, labels = test[chosen], labels[chosen]
    result = report(network, pixels, labels, classify(weights, pixels, arguments))
    tell(result)
    failure = None
    differing = round((1 - result["agreement"]) * len(pixels))
    if differing > max(1, (1 - AGREEMENT) * len(pixels)):
        failure = f"encrypted and clear classes agree on less than {AGREEMENT:.0%}"
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
