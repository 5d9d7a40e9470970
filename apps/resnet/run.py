"""Recognises encrypted pictures with ResNet-20; client and server in processes of their own.

A client encrypts pictures of 32 × 32 pixels. A server that has the network and no secret key runs
it on them, bootstrapping in between, and learns neither pictures nor classes. The client decrypts
the logits. Without a GPU the server runs the first block only, and its tensor is compared.

Exit status: 0 if the decrypted values are those of the same network in the clear, 1 if not.
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
    from common.application import Exchange, announce_keys, finish, on_gpu, overheads, parser_of
    from common.output import rows, size
    from common.processes import stage
    from whorl import Error, nn

    from resnet import network, pictures
    from resnet.network import CLASSES, Floats
    from resnet.pictures import Pictures
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

DIFFERENCE = 0.1  # of a logit, at most
UNDECIDED = 0.2  # between the two largest logits: then classes may differ
BLOCK_DIFFERENCE = 2.0**-7  # of the first block's values, relative to the largest
MOST_PICTURES, MOST_SHOWN, MOST_RUNS = 256, 12, 100
EXAMPLES = 6  # drawn pictures that errors are simulated on


def recognise(
    net: nn.Network, given: Pictures, arguments: argparse.Namespace
) -> tuple[dict[str, Any], Floats]:
    """The protocol: what each process tells, the bytes that went between them, and the values that
    the client decrypted."""
    sides = Exchange.begin("resnet", arguments.workdir)
    # What each side has at the start: the server the network, the client its pictures and the ends.
    net.save(sides.server / "network.whorlnn")
    net.ends.save(sides.client / "ends.whorlnn")
    np.save(sides.client / "pictures.npy", given.pixels)
    announce_keys(net.key_bytes, arguments.workdir)
    options = {name: getattr(arguments, name) for name in ("runs", "key_bytes", "map_bytes")}
    told = sides.run(
        arguments,
        (
            "client: makes keys and encrypts the pictures",
            "server: runs the network on encrypted pictures",
            "client: decrypts the results",
        ),
        options=[
            f"--{name.replace('_', '-')}={value}"
            for name, value in options.items()
            if value is not None
        ],
        bars=True,
    )
    return told, np.load(sides.client / "values.npy")


def report(
    net: nn.Network, given: Pictures, told: dict[str, Any], values: Floats
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    served, count = told["served"], len(given.pixels)
    clear = net.graph(network.normalised(given.pixels))
    if values.shape != clear.shape:
        sys.exit(f"values of shape {values.shape} for {clear.shape}")
    return {
        "pictures": count,
        "bootstraps": net.bootstraps,
        "steps": len(net.steps) - 1,
        "difference": float(np.abs(values - clear).max()),
        "largest": float(np.abs(clear).max()),
        "seconds_per_picture": served["run_seconds"][-1] / count,
        "cpu_seconds_per_picture": served["run_cpu_seconds"][-1] / count,
        "seconds_runs": served["run_seconds"],
        "threads": served["threads"],
        "map_bytes": served["map_bytes"],
        "peak_bytes": served["peak_bytes"],
        "rotation_keys": told["prepared"]["rotation_keys"],
        "bytes_query": told["bytes"]["query"],
        "bytes_answer": told["bytes"]["answer"],
        **overheads(told),
        **(of_logits(values, clear, given.labels) if clear.ndim == 2 else {}),
    }


def of_logits(values: Floats, clear: Floats, labels: list[int] | None) -> dict[str, Any]:
    """Classes by the logits decrypted and by those in the clear, and where they must agree."""
    found, wanted = values.argmax(axis=1), clear.argmax(axis=1)
    ordered = np.sort(clear, axis=1)
    decided = ordered[:, -1] - ordered[:, -2] > UNDECIDED
    return {
        "logits_encrypted": values.tolist(),
        "logits_clear": clear.tolist(),
        "classes_encrypted": found.tolist(),
        "classes_clear": wanted.tolist(),
        "agreeing": int((found == wanted).sum()),
        "wrong": int((decided & (found != wanted)).sum()),
        "labels": labels,
        "right": None if labels is None else int((found == labels).sum()),
    }


def failure_of(r: dict[str, Any]) -> str | None:
    """What is wrong with the values, if anything is."""
    if "wrong" not in r:
        most = BLOCK_DIFFERENCE * r["largest"]
        if not r["difference"] <= most:
            return f"the block's values differ by {r['difference']:.3g}, more than {most:.3g}"
        return None
    if not r["difference"] <= DIFFERENCE:  # nor nan
        return f"logits differ by {r['difference']:.3g}, which is more than {DIFFERENCE}"
    if r["wrong"]:
        return f"{r['wrong']} classes differ where logits are {UNDECIDED} apart in the clear"
    return None


def tell(r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    count = r["pictures"]
    pictures_of = "a picture" if count == 1 else f"{count} pictures"
    part = "ResNet-20" if "wrong" in r else "the first block of ResNet-20"
    print(f"""
What happened
  A client encrypted {pictures_of} of 32 × 32 pixels. A server that holds no secret key ran
  {part} in {r["steps"]} steps, of which {r["bootstraps"]} are bootstraps. The client decrypted:
""")
    if "wrong" in r:
        _tell_classes(r)
    else:
        rows(
            ("values of a picture", f"16 × 32 × 32, up to {r['largest']:.3g}"),
            ("they differ from the clear by at most", f"{r['difference']:.2g}"),
        )
    runs = r["seconds_runs"]
    rows(("", ""))
    if len(runs) > 1:
        rows((f"server, the first of {len(runs)} runs", f"{runs[0]:.3g} s"))
    rows(
        (f"server, {part}", f"{r['seconds_per_picture']:.3g} s a picture"),
        ("server, the same in CPU time", f"{r['cpu_seconds_per_picture']:.3g} s a picture"),
        ("server's device", r["device"]),
        ("server's preparation, once", f"{r['seconds_server_load']:.1f} s"),
        ("maps kept on the device", size(r["map_bytes"])),
        ("the host's memory that it took, at most", size(r["peak_bytes"])),
        ("key generation, once", f"{r['seconds_keys']:.1f} s"),
        ("encryption", f"{r['seconds_encryption'] / count:.2f} s a picture"),
        ("decryption", f"{r['seconds_decryption'] / count:.2f} s a picture"),
        (f"evaluation keys, {r['rotation_keys']} rotations, once", size(r["bytes_keys"])),
        ("to the server: a ciphertext a picture", size(r["bytes_query"] / count)),
        ("back: a ciphertext a picture", size(r["bytes_answer"] / count)),
        ("", ""),
        ("parameters", r["parameters"].splitlines()[0]),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
    )


def _tell_classes(r: dict[str, Any]) -> None:
    print(f"  {'logits of picture 1':<22}{'encrypted':>12}{'in the clear':>15}")
    for name, *both in zip(CLASSES, r["logits_encrypted"][0], r["logits_clear"][0], strict=True):
        print(f"  {name:<22}{both[0]:>12.4f}{both[1]:>15.4f}")
    print(f"\n  {'classes':<12}{'it is':<10}{'encrypted':<12}{'in the clear':<12}")
    labels = r["labels"] or [None] * r["pictures"]
    each = zip(labels, r["classes_encrypted"], r["classes_clear"], strict=True)
    for number, (label, *found) in enumerate(list(each)[:MOST_SHOWN], 1):
        names = [CLASSES[one] for one in found]
        it_is = "?" if label is None else CLASSES[label]
        print(f"  {f'picture {number}':<12}{it_is:<10}{names[0]:<12}{names[1]}")
    if r["pictures"] > MOST_SHOWN:
        print(f"  … and {r['pictures'] - MOST_SHOWN} more")
    print()
    right = "unknown" if r["right"] is None else f"{r['right']} of {r['pictures']}"
    rows(
        ("classes as in the clear", f"{r['agreeing']} of {r['pictures']}"),
        ("logits differ by at most", f"{r['difference']:.2g}"),
        ("classes that are right", right),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("resnet", __doc__)
    parser.add_argument(
        "--images",
        type=Path,
        help="pictures of your own: `images` of numpy.savez, bytes of shape (…, 3, 32, 32), and "
        "`labels` if there are any; default: drawn ships, planes and trucks",
    )
    parser.add_argument("--count", type=int, default=1, help=f"of pictures, 1 … {MOST_PICTURES}")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--whole", action="store_true", help="all of the network; default on a GPU")
    part.add_argument(
        "--first-block",
        action="store_true",
        help="the first convolution and the first of nine blocks; default on a CPU",
    )
    parser.add_argument(
        "--runs", type=int, help="the last is reported too; default: 2 on a GPU, 1 on a CPU"
    )
    parser.add_argument(
        "--key-bytes",
        type=int,
        help="how much memory of the device keys may take, 0 for any; default: any on a GPU, 3e9 "
        "on a CPU",
    )
    parser.add_argument(
        "--map-bytes",
        type=int,
        help="how much memory of the device encoded maps may take; default: 9 GB on a GPU, "
        "which then keeps most of them compact, and 0 on a CPU, which encodes them in each run",
    )
    arguments = parser.parse_args(argv)
    gpu = on_gpu(arguments.device)
    arguments.whole = arguments.whole or (gpu and not arguments.first_block)
    if arguments.runs is None:
        arguments.runs = 2 if gpu else 1
    if not 1 <= arguments.count <= MOST_PICTURES:
        parser.error(f"--count: {arguments.count} is not in 1 … {MOST_PICTURES}")
    if not 1 <= arguments.runs <= MOST_RUNS:
        parser.error(f"--runs: {arguments.runs} is not in 1 … {MOST_RUNS}")
    for name in ("key_bytes", "map_bytes"):
        if (getattr(arguments, name) or 0) < 0:
            parser.error(f"--{name.replace('_', '-')}: {getattr(arguments, name)} is below 0")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    try:
        given = (
            pictures.load(arguments.images, arguments.count)
            if arguments.images
            else pictures.draw(arguments.count, arguments.seed)
        )
        examples = network.normalised(pictures.draw(EXAMPLES, 0).pixels)
        with stage("compiles the network for ciphertexts", bars=True):
            net = network.compiled(network.load(), examples, arguments.whole)
        told, values = recognise(net, given, arguments)
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    result = report(net, given, told, values)
    tell(result)
    return finish(result, started, arguments, failure_of(result))


if __name__ == "__main__":
    sys.exit(main())
