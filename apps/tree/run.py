"""Classifies encrypted irises with a decision tree, in separate client and server processes.

Trains a scikit-learn decision tree on 100 of the 150 irises, quantises it, and lets a server
evaluate it on the other 50 encrypted: 4 ciphertexts in, 1 out. README.md says how.

Exit status: 0 if the encrypted classes are those of scikit-learn's tree in the clear for at least
98 % of the flowers, 1 if not.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import secrets
import sys
import time
from pathlib import Path
from typing import Any

APPS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(APPS))

try:
    import numpy as np
    from common.files import read_json, write_json
    from common.output import rows, size
    from common.processes import fresh_folder, process, send, stage
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeClassifier
    from whorl import Error

    from tree import circuit as circuits
    from tree import picture, security
    from tree.model import Floats, Ints, Quantiser, Tree
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs: pip install '.[apps]'")

TRAINING = 100
TEST = 50
AGREEMENT = 0.98


@dataclasses.dataclass(frozen=True)
class Data:
    """Flowers split into those for training and those for the test."""

    training: Floats
    training_classes: Ints
    test: Floats
    test_classes: Ints
    features: list[str]
    classes: list[str]


def split(seed: int, flowers: int) -> Data:
    """100 of the 150 irises at random for training, `flowers` of the others for the test."""
    iris = load_iris()
    training, test, training_classes, test_classes = train_test_split(
        iris.data, iris.target, train_size=TRAINING, test_size=TEST, random_state=seed
    )
    names = [name.removesuffix(" (cm)") for name in iris.feature_names]
    return Data(
        *(training, training_classes, test[:flowers], test_classes[:flowers]),
        features=names,
        classes=[str(name) for name in iris.target_names],
    )


def classify(
    tree: Tree, quantiser: Quantiser, data: Data, arguments: argparse.Namespace
) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    server = fresh_folder(arguments.workdir / "server")
    client = fresh_folder(arguments.workdir / "client")
    passphrase = secrets.token_hex(16)
    threads = ("--threads", str(arguments.threads))

    # What each side has at the start: the server its tree, the client its flowers and the offer.
    tree.save(server / "tree.json")
    np.save(client / "flowers.npy", data.test)
    write_json(
        client / "offer.json",
        {
            "parameters": arguments.params,
            "quantiser": dataclasses.asdict(quantiser),
            "classes": data.classes,
        },
    )

    with stage("client: makes keys and encrypts the flowers"):
        process("tree.client", "prepare", client, *threads, passphrase=passphrase)
    sizes = {name: send(f"{name}.whorl", client, server) for name in ("keys", "query")}

    options = [*threads, *(["--trace"] if arguments.trace else [])]
    if arguments.device:
        options += ["--device", arguments.device]
    with stage("server: evaluates the tree on encrypted flowers"):
        seconds = process("tree.server", server, *options)
    names = ["answer", "trace"] if arguments.trace else ["answer"]
    sizes |= {name: send(f"{name}.whorl", server, client) for name in names}

    with stage("client: decrypts the classes"):
        process("tree.client", "read", client, passphrase=passphrase)
    return {
        "prepared": read_json(client / "prepared.json"),
        "served": read_json(server / "served.json") | {"process_seconds": seconds},
        "read": read_json(client / "classes.json"),
        "bytes": sizes,
    }


def report(
    fitted: Any, tree: Tree, quantiser: Quantiser, data: Data, told: dict[str, Any]
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    served, sizes = told["served"], told["bytes"]
    count = len(data.test)
    truth = data.test_classes
    clear = fitted.predict(data.test)
    quantised = tree.classify(quantiser(data.test))
    encrypted = np.array(told["read"]["classes"])
    if len(encrypted) != count:
        sys.exit(f"{len(encrypted)} answers for {count} flowers")
    return {
        "flowers": count,
        "training_flowers": len(data.training),
        "levels": quantiser.levels,
        "nodes": served["nodes"],
        "leaves": served["leaves"],
        "depth": tree.depth,
        "accuracy_clear": float(np.mean(clear == truth)),
        "accuracy_quantised": float(np.mean(quantised == truth)),
        "accuracy_encrypted": float(np.mean(encrypted == truth)),
        "agreement_clear": float(np.mean(encrypted == clear)),
        "agreement_quantised": float(np.mean(encrypted == quantised)),
        "classes_encrypted": encrypted.tolist(),
        "classes_clear": clear.tolist(),
        "parameters": served["parameters"],
        "security_bits": served["security_bits"],
        "failure_log2": served["failure_log2"],
        "failure_log2_by_step": served["failure_log2_by_step"],
        "device": served["device"],
        "transform": served["transform"],
        "threads": served["threads"],
        "rotations_per_flower": served["rotations_per_flower"],
        "seconds_per_flower": served["batch_seconds"] / count,
        "cpu_seconds_per_flower": served["batch_cpu_seconds"] / count,
        "seconds_one_flower": served["one_flower_seconds"],
        "seconds_keys": told["prepared"]["keys_seconds"],
        "seconds_encryption": told["prepared"]["encryption_seconds"],
        "seconds_server_load": served["load_seconds"],
        "seconds_decryption": told["read"]["decryption_seconds"],
        "bytes_keys": sizes["keys"],
        "bytes_query_per_flower": sizes["query"] / count,
        "bytes_answer_per_flower": sizes["answer"] / count,
        "bytes_query_one_flower": told["prepared"]["one_flower_bytes"],
        "bytes_answer_one_flower": told["read"]["one_flower_bytes"],
        "ciphertexts_in_per_flower": told["prepared"]["ciphertexts"] / count,
        "ciphertexts_out_per_flower": told["read"]["ciphertexts"] / count,
        "server_modules": served["modules"],
        "leaves_encrypted": told["read"]["leaves"],
    }


def percent(share: float, count: int) -> str:
    """A share of flowers for people."""
    return f"{round(share * count)} of {count} ({100 * share:.0f} %)"


def tell(r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    n, tests, leaves = r["flowers"], r["nodes"], r["leaves"]
    look_ups = r["rotations_per_flower"]
    print(f"""
What happened
  A decision tree learned from {r["training_flowers"]} irises: {tests} tests, {leaves} leaves.
  Each measurement is rounded to one of {r["levels"]} levels. A client encrypted {n} other flowers,
  one ciphertext a measurement; a server that holds no secret key classified them;
  the client decrypted the answers.
""")
    query = f"{size(r['bytes_query_per_flower'])} ({size(r['bytes_query_one_flower'])} if alone)"
    answer = f"{size(r['bytes_answer_per_flower'])} ({size(r['bytes_answer_one_flower'])} if alone)"
    rows(
        ("right in the clear (scikit-learn)", percent(r["accuracy_clear"], n)),
        ("right in the clear, quantised", percent(r["accuracy_quantised"], n)),
        ("right encrypted", percent(r["accuracy_encrypted"], n)),
        ("encrypted = scikit-learn", percent(r["agreement_clear"], n)),
        ("encrypted = quantised", percent(r["agreement_quantised"], n)),
        ("", ""),
        (f"server, {n} flowers at once", f"{1e3 * r['seconds_per_flower']:.0f} ms a flower"),
        ("server, one flower alone", f"{1e3 * r['seconds_one_flower']:.0f} ms"),
        ("server, CPU time", f"{1e3 * r['cpu_seconds_per_flower']:.0f} ms a flower"),
        ("server's device", r["device"]),
        (
            "blind rotations a flower",
            f"{look_ups}: a table at each of {tests} nodes and {look_ups - tests} leaves",
        ),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("evaluation keys, sent once", size(r["bytes_keys"])),
        (f"to the server: {r['ciphertexts_in_per_flower']:.0f} ciphertexts a flower", query),
        (f"back: {r['ciphertexts_out_per_flower']:.0f} ciphertext a flower", answer),
        ("", ""),
        ("parameter set", r["parameters"]),
        ("estimated security", f"{r['security_bits']:.0f} bits"),
        ("wrong by noise, a flower", f"probability below 2^{math.ceil(r['failure_log2'])}"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--params", default="TREE_P40", help="TREE_P40 or a set of the library")
    parser.add_argument("--seed", type=int, default=0, help="of split and training")
    parser.add_argument("--levels", type=int, help="of a feature; default: as many as are safe")
    parser.add_argument("--flowers", type=int, default=TEST, help=f"to classify, 1 … {TEST}")
    parser.add_argument(
        "--workdir",
        type=Path,
        default=APPS.parent / "build" / "tree",
        help="its folders server/ and client/ are made anew",
    )
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument("--device", help="of the server; default: the best found")
    parser.add_argument("--threads", type=int, default=0, help="default: all cores")
    parser.add_argument(
        "--no-trace",
        dest="trace",
        action="store_false",
        help="without the leaves that the client counts for the picture",
    )
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.flowers <= TEST:
        parser.error(f"--flowers: {arguments.flowers} is not in 1 … {TEST}")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    try:
        params = security.named(arguments.params)
        data = split(arguments.seed, arguments.flowers)
        fitted = DecisionTreeClassifier(random_state=arguments.seed)
        fitted.fit(data.training, data.training_classes)
        nodes = fitted.tree_.node_count // 2
        levels = arguments.levels or security.most_levels(params, nodes)
        quantiser = Quantiser.learn(data.training, levels)
        tree = Tree.quantise(fitted, quantiser)
        bound = security.failure(params, circuits.compile_tree(tree))
    except (Error, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if bound.log2 > security.LIMIT_LOG2:
        print(
            f"error: {levels} levels under {arguments.params} fail with probability "
            f"2^{bound.log2:.0f}, above 2^{security.LIMIT_LOG2}",
            file=sys.stderr,
        )
        return 2

    result = report(fitted, tree, quantiser, data, classify(tree, quantiser, data, arguments))
    tell(result)
    leaves = result["leaves_encrypted"]
    if leaves is not None:
        path = arguments.workdir / "tree.png"
        tests = {
            node: f"{data.features[tree.feature[node]]}\n"
            f"≤ {quantiser.value(tree.feature[node], tree.cut[node]):.4g} cm"
            for node in tree.internal
        }
        title = f"Ways of {len(leaves)} encrypted irises, counted by the client after decryption"
        picture.draw(tree, tests, data.classes, leaves, title, path)
        result["picture"] = str(path)
        result["leaves_agree"] = leaves == [
            [leaf.node for leaf in tree.leaves()].index(end)
            for end in tree.reach(quantiser(data.test))
        ]
        rows(("picture of the tree", str(path)))
    result["seconds_total"] = time.perf_counter() - started
    rows(("everything", f"{result['seconds_total']:.1f} s"))
    if arguments.json:
        write_json(arguments.json, result)

    if min(result["agreement_clear"], result["agreement_quantised"]) < AGREEMENT:
        print(f"\nFailed: encrypted and clear agree on less than {AGREEMENT:.0%}.", file=sys.stderr)
        return 1
    if any("client" in module for module in result["server_modules"]):
        print("\nFailed: the server's process had the client's half.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
