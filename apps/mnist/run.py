"""Classifies encrypted handwritten digits, as many at once as slots hold.

A server has a network of three layers of 1,024 neurons, whose activations are squares. A client
encrypts a pixel of all its images in a ciphertext, 784 for up to 16,384 images, and decrypts ten
logits of each image. The server learns nothing about the images. The time does not depend on how
many images there are, up to 16,384.

Exit status: 0 if all logits are those in the clear but for the error that is stated with the
answer; 1 if not.
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
    from common.application import Exchange, finish, overheads, parser_of
    from common.files import write_json
    from common.idx import images_and_labels
    from common.output import rows, size

    from mnist import layout, model
    from mnist.layout import Floats
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

COUNT = 1000


def classify(network: Path, images: Floats, arguments: argparse.Namespace) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    sides = Exchange.begin("mnist", arguments.workdir)
    # What each side has at the start: the server the network, the client the images.
    shutil.copyfile(network, sides.server / "network.npz")
    np.save(sides.client / "images.npy", images)
    for name, folder in (("server", sides.server), ("client", sides.client)):
        write_json(folder / f"{name}.json", {"insecure": arguments.insecure})
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
    network: model.Network, images: Floats, labels: Any, told: dict[str, Any]
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    got, wanted = np.array(told["read"]["logits"]), model.logits(network, images)
    if got.shape != wanted.shape:
        sys.exit(f"logits of shape {got.shape} for {len(images)} images")
    classes, known = got.argmax(axis=1), wanted.argmax(axis=1)
    seconds = told["served"]["batch_seconds"]
    return {
        "images": len(images),
        "labels": labels.tolist(),
        "classes_encrypted": classes.tolist(),
        "right_encrypted": int((classes == labels).sum()),
        "right_clear": int((known == labels).sum()),
        "classes_as_in_clear": int((classes == known).sum()),
        "largest_difference": float(np.abs(got - wanted).max()),
        "largest_logit": float(np.abs(wanted).max()),
        "stated_error": layout.DEVIATIONS * told["read"]["error"],
        "ciphertexts": told["prepared"]["ciphertexts"],
        "bytes_query": told["bytes"]["query"],
        "bytes_answer": told["bytes"]["answer"],
        "seconds_server": seconds,
        "cpu_seconds_server": told["served"]["batch_cpu_seconds"],
        "seconds_per_image": seconds / len(images),
        **overheads(told),
    }


def tell(r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    count = r["images"]
    print(f"""
What happened
  A client encrypted {count} images of handwritten digits, one in each slot. A server that holds no
  secret key classified all of them at once by a network of three layers of neurons, whose
  activations are squares. The client decrypted ten logits of each image.
""")
    rows(
        ("right, encrypted", f"{r['right_encrypted']} of {count}"),
        ("right, in the clear", f"{r['right_clear']} of {count}"),
        ("classes as in the clear", f"{r['classes_as_in_clear']} of {count}"),
        ("logits differ by at most", f"{r['largest_difference']:.2e} of {r['largest_logit']:.1f}"),
        ("stated before decryption", f"{r['stated_error']:.2e}"),
        ("", ""),
        ("server, all images", f"{r['seconds_server']:.2f} s"),
        ("server, an image", f"{1e3 * r['seconds_per_image']:.3f} ms"),
        ("server's device", r["device"]),
        ("server's preparation, once", f"{r['seconds_server_load']:.2f} s"),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("encryption", f"{r['seconds_encryption']:.2f} s"),
        ("evaluation key, once", size(r["bytes_keys"])),
        (f"to the server: {r['ciphertexts']} ciphertexts", size(r["bytes_query"])),
        ("back: ten logits of each image", size(r["bytes_answer"])),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("mnist", __doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="a folder with MNIST's four idx files (.gz)"
    )
    parser.add_argument(
        "--images", type=int, default=COUNT, help="of the test, at random; default: %(default)s"
    )
    parser.add_argument("--network", type=Path, default=model.PACKED, help="as train.py makes it")
    parser.add_argument(
        "--insecure", action="store_true", help="a small ring, which protects nothing: for a look"
    )
    arguments = parser.parse_args(argv)
    if arguments.images < 1:
        parser.error(f"--images: {arguments.images} is below 1")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    try:
        test, labels = images_and_labels(arguments.data, "t10k")
        network = model.load(arguments.network)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    if arguments.images > len(test):
        sys.exit(f"error: --images: {arguments.images} is above {len(test)}, the test's images")
    started = time.perf_counter()
    random = np.random.default_rng(arguments.seed)
    chosen = random.choice(len(test), arguments.images, replace=False)
    images, labels = test[chosen].reshape(len(chosen), -1) / 255.0, labels[chosen]
    told = classify(arguments.network, images, arguments)
    result = report(network, images, labels, told)
    tell(result)
    failure = None
    if not result["largest_difference"] <= result["stated_error"]:
        failure = (
            f"a logit differs by {result['largest_difference']:.3g}, above the stated "
            f"{result['stated_error']:.3g}"
        )
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
