"""Classifies encrypted irises with a decision tree, in separate client and server processes.

Takes a tree that was trained on 100 of the 150 irises, quantises it, and lets a server evaluate it
on the other 50 encrypted: 4 ciphertexts in, 1 out. With --csv it trains a tree on a table of your
own (scikit-learn is needed), as with --seed or --depth. With --coarse features have 2,048 levels,
as in the paper of Xiao et al., which tests tell apart only nearly; --seed 13 is a tree of 9 tests.

Exit status: 0 if the encrypted classes are those of the tree in the clear for at least 98 % of the
flowers, 1 if not.
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
    from common import table
    from common.application import Exchange, costs, finish, parser_of
    from common.files import write_json
    from common.output import EXTRA, rows, size
    from common.output import picture as show
    from common.table import Floats, Ints, Table
    from whorl import Error

    from tree import circuit as circuits
    from tree import coarse, picture, security
    from tree.model import Quantiser, Trained, Tree
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

IRISES = Path(__file__).with_name("iris.csv")
TRAINED = {
    0: Path(__file__).with_name("trained.json"),
    13: Path(__file__).with_name("trained_13.json"),
}
"""The trees that are learned from the irises, by their seeds."""
TEST = 50  # flowers; of a table of one's own a third of the rows, but no more
AGREEMENT = 0.98


@dataclasses.dataclass(frozen=True)
class Data:
    """Rows split into those for training and those for the test."""

    training: Floats
    training_classes: Ints
    test: Floats
    test_classes: Ints
    features: list[str]
    classes: list[str]


def split(seed: int, count: int, rows: Table | None = None) -> Data:
    """`common.table.split` of the rows, by default of the irises, with `count` rows of the test."""
    rows = rows or table.read(IRISES)
    training, test = table.split(len(rows.labels), seed)
    test = test[:count]
    return Data(
        *(rows.features[training], rows.labels[training]),
        *(rows.features[test], rows.labels[test]),
        features=rows.names,
        classes=rows.classes,
    )


def trained(data: Data, arguments: argparse.Namespace) -> Trained:
    """A tree that comes with the application, or one that is trained now."""
    if arguments.csv is None and arguments.seed in TRAINED and arguments.depth is None:
        return Trained.load(TRAINED[arguments.seed])
    return Trained.learn(
        *(data.training, data.training_classes, len(data.classes)),
        *(arguments.seed, arguments.depth),
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
            "insecure": arguments.insecure,
            "quantiser": dataclasses.asdict(quantiser),
            "classes": data.classes,
        },
    )

    trace = arguments.trace
    given = [f"--{name}" for name in ("trace", "coarse", "insecure") if getattr(arguments, name)]
    return sides.run(
        arguments,
        (
            "client: makes keys and encrypts the flowers",
            "server: evaluates the tree on encrypted flowers",
            "client: decrypts the classes",
        ),
        options=given,
        answers=["answer", "trace"] if trace else ["answer"],
        result="classes",
    )


def report(
    clear_tree: Trained,
    tree: Tree,
    quantiser: Quantiser,
    data: Data,
    told: dict[str, Any],
    off: int,
) -> dict[str, Any]:
    """All numbers, for people and for programs; a test may take a level for one `off` away."""
    served = told["served"]
    count = len(data.test)
    truth = data.test_classes
    clear = clear_tree.classify(data.test)
    quantised = tree.classify(quantiser(data.test))
    encrypted = np.array(told["read"]["classes"])
    if len(encrypted) != count:
        sys.exit(f"{len(encrypted)} answers for {count} flowers")
    return {
        "flowers": count,
        "training_flowers": len(data.training),
        "levels": quantiser.levels,
        "levels_off": off,
        "tests_near_cuts": tree.near(quantiser(data.test), off),
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


def tell(r: dict[str, Any], item: str) -> None:
    """Says what happened in plain words; `item`: what a row of the table is."""
    n, tests, leaves = r["flowers"], r["nodes"], r["leaves"]
    look_ups = r["rotations_per_flower"]
    print(f"""
What happened
  A decision tree learned from {r["training_flowers"]} {item}s: {tests} tests, {leaves} leaves.
  Each measurement is rounded to one of {r["levels"]} levels. A client encrypted {n} other {item}s,
  one ciphertext a measurement; a server that holds no secret key classified them;
  the client decrypted the answers.
""")
    off, tests_near = r["levels_off"], r["tests_near_cuts"]
    near = [(f"tests at most {off} levels from a cut", str(tests_near))] if off else []
    query = f"{size(r['bytes_query_per_flower'])} ({size(r['bytes_query_one_flower'])} if alone)"
    answer = f"{size(r['bytes_answer_per_flower'])} ({size(r['bytes_answer_one_flower'])} if alone)"
    rows(
        ("right in the clear", percent(r["accuracy_clear"], n)),
        ("right in the clear, quantised", percent(r["accuracy_quantised"], n)),
        ("right encrypted", percent(r["accuracy_encrypted"], n)),
        ("encrypted = clear", percent(r["agreement_clear"], n)),
        ("encrypted = quantised", percent(r["agreement_quantised"], n)),
        ("", ""),
        (f"server, {n} {item}s at once", f"{1e3 * r['seconds_per_flower']:.0f} ms a {item}"),
        (f"server, one {item} alone", f"{1e3 * r['seconds_one_flower']:.0f} ms"),
        ("server, CPU time", f"{1e3 * r['cpu_seconds_per_flower']:.0f} ms a {item}"),
        ("server's device", r["device"]),
        (
            f"blind rotations a {item}",
            f"{look_ups}: a table at each of {tests} nodes and {look_ups - tests} leaves",
        ),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("evaluation keys, sent once", size(r["bytes_keys"])),
        (f"to the server: {r['ciphertexts_in_per_flower']:.0f} ciphertexts a {item}", query),
        (f"back: {r['ciphertexts_out_per_flower']:.0f} ciphertext a {item}", answer),
        *near,
        ("", ""),
        ("parameter set", r["parameters"]),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
        (f"wrong by noise, a {item}", f"probability below 2^{math.ceil(r['failure_log2'])}"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("tree", __doc__)
    parser.add_argument(
        "--params",
        help=f"{', '.join(security.SETS)} or one of the library; default: TREE_P40, with --coarse "
        "W128_P128",
    )
    parser.add_argument("--insecure", action="store_true", help="accept sets of less than 128 bits")
    parser.add_argument("--levels", type=int, help="of a feature; default: as many as are safe")
    parser.add_argument(
        "--coarse",
        action="store_true",
        help=f"{coarse.LEVELS} levels of a feature, which tests tell apart only nearly",
    )
    parser.add_argument(
        "--flowers", type=int, default=TEST, help=f"rows to classify, 1 … {TEST}, the default"
    )
    table.add_options(parser, "numbers and a class", "tree")
    parser.add_argument("--depth", type=int, help="most tests on a way; default: any number")
    parser.add_argument(
        "--no-trace",
        dest="trace",
        action="store_false",
        help="without the leaves that the client counts for the picture",
    )
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.flowers <= TEST:
        parser.error(f"--flowers: {arguments.flowers} is not in 1 … {TEST}")
    table.check_options(parser, arguments)
    if arguments.coarse and arguments.levels is not None:
        parser.error(f"--levels: with --coarse a feature has {coarse.LEVELS}")
    arguments.params = arguments.params or ("W128_P128" if arguments.coarse else "TREE_P40")
    if arguments.depth is not None and arguments.depth < 1:
        parser.error(f"--depth: {arguments.depth} is below 1")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    try:
        params = security.named(arguments.params, arguments.insecure)
        own = table.read(arguments.csv, arguments.target) if arguments.csv else None
        data = split(arguments.seed, arguments.flowers, own)
        learned = trained(data, arguments)
        off, guard = (coarse.reach(params), coarse.GUARD) if arguments.coarse else (0, 0)
        levels = (
            coarse.LEVELS
            if arguments.coarse
            else arguments.levels or security.most_levels(params, learned.tests)
        )
        quantiser = Quantiser.learn(data.training, levels, guard)
        tree = Tree.quantise(learned, quantiser)
        circuit = circuits.compile_tree(tree)
        if arguments.coarse:
            # It is known how near to its cut a test may go wrong: that is no failure.
            bound = security.coarse_failure(params, circuit)
            worst = max(bound.leaves, bound.decryption)
        else:
            worst = security.failure(params, circuit).log2
    except ModuleNotFoundError as missing:
        print(f"error: {missing}; training a tree needs it: {EXTRA}", file=sys.stderr)
        return 2
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if worst > security.LIMIT_LOG2:
        print(
            f"error: {levels} levels under {arguments.params} fail with probability "
            f"2^{worst:.0f}, above 2^{security.LIMIT_LOG2}; fewer --levels, less --depth, "
            "or another set (--params) serves",
            file=sys.stderr,
        )
        return 2

    item = "row" if own else "flower"
    told = classify(tree, quantiser, data, arguments)
    result = report(learned, tree, quantiser, data, told, off)
    tell(result, item)
    leaves = result["leaves_encrypted"]
    if leaves is not None:
        tests = {
            node: f"{data.features[tree.feature[node]]}\n"
            f"≤ {quantiser.value(tree.feature[node], tree.cut[node]):.4g}"
            for node in tree.internal
        }
        title = f"Ways of {len(leaves)} encrypted {item}s, counted by the client after decryption"
        path = arguments.workdir / "tree.png"
        if show(
            "picture of the tree",
            path,
            lambda to: picture.draw(tree, tests, data.classes, leaves, title, to),
        ):
            result["picture"] = str(path)
        result["leaves_agree"] = leaves == [
            [leaf.node for leaf in tree.leaves()].index(end)
            for end in tree.reach(quantiser(data.test))
        ]
    # Levels may be too coarse for a table of one's own, which is no fault of the encryption.
    agreement = result["agreement_quantised"]
    if not own:
        agreement = min(agreement, result["agreement_clear"])
    failure = (
        None
        if agreement >= AGREEMENT
        else f"encrypted and clear agree on less than {AGREEMENT:.0%}"
    )
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
