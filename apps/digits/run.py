"""Classifies encrypted handwritten digits by a network without bootstraps.

A server has a small convolutional network, whose activations are squares. A client encrypts images
of digits, 8 in a ciphertext, and decrypts ten logits of each. The server learns nothing about the
images.

Exit status: 0 if all logits are those in the clear but for the stated error, so that classes are
too, wherever the two largest logits lie twice that error apart; 1 if not.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
    from common.application import Exchange, costs, finish, parser_of
    from common.output import rows, size
    from whorl import nn

    from digits import digits, model
    from digits.model import Floats
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

COUNT = 64


def classify(network: nn.Network, images: Floats, arguments: argparse.Namespace) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    sides = Exchange.begin("digits", arguments.workdir)
    # What each side has at the start: the server the network, the client its ends and the images.
    network.save(sides.server / "network.whorlnn")
    network.ends.save(sides.client / "ends.whorlnn")
    np.save(sides.client / "images.npy", images)
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
    network: nn.Network, images: Floats, labels: Any, told: dict[str, Any]
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    got, wanted = np.array(told["read"]["logits"]), network.graph(images)
    if got.shape != wanted.shape:
        sys.exit(f"logits of shape {got.shape} for {len(images)} images")
    classes, known = got.argmax(axis=1), wanted.argmax(axis=1)
    return {
        "images": len(images),
        "images_per_ciphertext": network.ends.images,
        "labels": labels.tolist(),
        "logits_encrypted": got.tolist(),
        "classes_encrypted": classes.tolist(),
        "classes_clear": known.tolist(),
        "right_encrypted": int((classes == labels).sum()),
        "right_clear": int((known == labels).sum()),
        "largest_difference": float(np.abs(got - wanted).max()),
        "largest_logit": float(np.abs(wanted).max()),
        "classes_as_in_clear": int((classes == known).sum()),
        "levels": network.parameters.depth,
        "rotation_keys": told["prepared"]["rotation_keys"],
        "ciphertexts": told["prepared"]["ciphertexts"],
        "bytes_maps": told["served"]["bytes_maps"],
        **costs(told, len(images), "image", "image"),
    }


def tell(r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    count, each = r["images"], r["images_per_ciphertext"]
    print(f"""
What happened
  A client encrypted {count} images of handwritten digits, {each} in a ciphertext. A server that
  holds no secret key classified them by a network of a convolution, squares, a dense layer, squares
  and a dense layer. The client decrypted ten logits of each image:
""")
    print(f"  {'image':<8}{'shows':>6}{'found':>7}{'logit':>9}{'the next':>10}")
    for number, logits in enumerate(r["logits_encrypted"][:8]):
        second, first = sorted(logits)[-2:]
        shown, found = r["labels"][number], r["classes_encrypted"][number]
        print(f"  {number + 1:<8}{shown:>6}{found:>7}{first:>9.2f}{second:>10.2f}")
    print()
    rows(
        ("right, encrypted", f"{r['right_encrypted']} of {count}"),
        ("right, in the clear", f"{r['right_clear']} of {count}"),
        ("classes as in the clear", f"{r['classes_as_in_clear']} of {count}"),
        ("logits differ by at most", f"{r['largest_difference']:.4f} of {r['largest_logit']:.1f}"),
        ("levels, bootstraps", f"{r['levels']}, 0"),
        ("", ""),
        (f"server, {count} images", f"{1e3 * r['seconds_per_image']:.2f} ms an image"),
        ("server, one ciphertext alone", f"{1e3 * r['seconds_one_image']:.1f} ms, the first"),
        ("server's device", r["device"]),
        ("server's preparation, once", f"{r['seconds_server_load']:.2f} s"),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        (f"evaluation keys ({r['rotation_keys']} rotations), once", size(r["bytes_keys"])),
        ("to the server, an image", size(r["bytes_query_per_image"])),
        ("back, an image", size(r["bytes_answer_per_image"])),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
    )


def arguments_of(argv: list[str] | None, most: int) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("digits", __doc__)
    parser.add_argument("--images", type=int, default=COUNT, help=f"1 … {most}")
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.images <= most:
        parser.error(f"--images: {arguments.images} is not in 1 … {most}")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    data = digits.load()
    arguments = arguments_of(argv, len(data.test))
    started = time.perf_counter()
    random = np.random.default_rng(arguments.seed)
    chosen = random.choice(len(data.test), arguments.images, replace=False)
    images, labels = data.test[chosen], data.test_labels[chosen]
    network = model.compiled(model.load(), data.examples)
    result = report(network, images, labels, classify(network, images, arguments))
    tell(result)
    failure = None
    if not result["largest_difference"] <= model.ERROR:
        failure = f"a logit differs by {result['largest_difference']:.3g}, above {model.ERROR}"
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
