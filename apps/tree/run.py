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
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeClassifier
    from whorl import Error

    from tree import circuit as circuits
    from tree import picture, security
    from tree.model import Floats, Ints, Quantiser, Tree
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs: pip install '.[apps]'")

TRAINING, TEST = 100, 50  # flowers
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
    sides = Exchange.begin("tree", arguments.workdir)
    # What each side has at the start: the server its tree, the client its flowers and the offer.
    tree.save(sides.server / "tree.json")
    np.save(sides.client / "flowers.npy", data.test)
    write_json(
        sides.client / "offer.json",
        {
            "parameters": arguments.params,
            "quantiser": dataclasses.asdict(quantiser),
            "classes": data.classes,
        },
    )

    trace = arguments.trace
    return sides.run(
        arguments,
        (
            "client: makes keys and encrypts the flowers",
            "server: evaluates the tree on encrypted flowers",
            "client: decrypts the classes",
        ),
        options=["--trace"] if trace else [],
        answers=["answer", "trace"] if trace else ["answer"],
        result="classes",
    )


def report(
    fitted: Any, tree: Tree, quantiser: Quantiser, data: Data, told: dict[str, Any]
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    served = told["served"]
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
        "failure_log2": served["failure_log2"],
        "failure_log2_by_step": served["failure_log2_by_step"],
        "transform": served["transform"],
        "threads": served["threads"],
        "rotations_per_flower": served["rotations_per_flower"],
        **costs(told, count, "flower", "flower"),
        "bytes_query_one_flower": told["prepared"]["one_flower_bytes"],
        "bytes_answer_one_flower": told["read"]["one_flower_bytes"],
        "ciphertexts_in_per_flower": told["prepared"]["ciphertexts"] / count,
        "ciphertexts_out_per_flower": told["read"]["ciphertexts"] / count,
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
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
        ("wrong by noise, a flower", f"probability below 2^{math.ceil(r['failure_log2'])}"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("tree", __doc__)
    parser.add_argument(
        "--params", default="TREE_P40", help=f"{', '.join(security.SETS)} or a set of the library"
    )
    parser.add_argument("--levels", type=int, help="of a feature; default: as many as are safe")
    parser.add_argument("--flowers", type=int, default=TEST, help=f"to classify, 1 … {TEST}")
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
    agreement = min(result["agreement_clear"], result["agreement_quantised"])
    failure = (
        None
        if agreement >= AGREEMENT
        else f"encrypted and clear agree on less than {AGREEMENT:.0%}"
    )
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
