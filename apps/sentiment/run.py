"""A recurrent network classifies 32 encrypted sentences at once, as praise or not.

A client looks up the words of its sentences, and encrypts their vectors. A server runs a network of
128 cells on them, word by word, bootstrapping in between, and learns nothing about the sentences.
The client decrypts a score for each sentence. --data takes sentences of the test instead of those
of the application, from the folder with rt-polarity.pos and rt-polarity.neg.

Exit status: 0 if each score is that of the same network in the clear, up to the error that was
stated; 1 if not.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
    from common.application import (
        Exchange,
        announce_keys,
        finish,
        overheads,
        parser_of,
        rows_of_bootstraps,
    )
    from common.files import write_json
    from common.output import rows
    from whorl import Error

    from sentiment import budget, circuit, model, words
    from sentiment.circuit import Layout, Plan
    from sentiment.words import Sentences, Table
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

DEVIATIONS = 6
"""Standard deviations that a score may be off by."""
MOST_STEPS, MOST_SENTENCES = 200, words.TEST
SHOWN = 8
"""Sentences whose scores are printed; --json has all."""


def classify(sentences: Sentences, arguments: argparse.Namespace) -> tuple[Plan, dict[str, Any]]:
    """The protocol: the plan, what each process tells, and the bytes that went between them."""
    table, weights = Table.load(), model.load()
    params = circuit.choose()
    layout = Layout(slots=params.slots)
    examples = budget.examples(table, layout, arguments.steps)
    plan = budget.plan(params, layout, weights, examples, arguments.steps)

    sides = Exchange.begin("sentiment", arguments.workdir)
    # What each side has at the start: the client its sentences, the table of words and the offer,
    # the server its weights and the plan.
    write_json(sides.client / "sentences.json", sentences.texts)
    public = {"layout": dataclasses.asdict(layout), "steps": plan.steps}
    write_json(sides.client / "offer.json", {"parameters": params.literal(), **public})
    shutil.copyfile(words.PACKED, sides.client / "table.npz")
    shutil.copyfile(model.PACKED, sides.server / "weights.npz")
    write_json(sides.server / "plan.json", dataclasses.asdict(plan))
    keys = params.key_size(**circuit.keys(params, layout, plan.steps))
    announce_keys(keys, arguments.workdir)
    return plan, sides.run(
        arguments,
        (
            "client: makes keys and encrypts the words",
            "server: runs the network on encrypted words",
            "client: decrypts the scores",
        ),
    )


def report(sentences: Sentences, plan: Plan, told: dict[str, Any]) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    prepared, served = told["prepared"], told["served"]
    scores = np.array(told["read"]["scores"])
    if scores.shape != sentences.labels.shape:
        sys.exit(f"{scores.size} scores for {sentences.labels.size} sentences")
    weights = model.load()
    vectors = Table.load().vectors(sentences.texts, plan.steps)
    clear, tanh = model.run(weights, vectors), model.run(weights, vectors, np.tanh)

    def right(of: words.Floats) -> float:
        return float(np.mean((of > 0) == sentences.labels))

    def same(of: words.Floats) -> int:
        return int(((of > 0) == (scores > 0)).sum())

    return {
        "sentences": len(sentences.texts),
        "steps": plan.steps,
        "scores": scores.tolist(),
        "scores_clear": clear.scores.tolist(),
        "scores_tanh": tanh.scores.tolist(),
        "labels": sentences.labels.tolist(),
        "accuracy_encrypted": right(scores),
        "accuracy_clear": right(clear.scores),
        "accuracy_tanh": right(tanh.scores),
        "same_as_clear": same(clear.scores),
        "same_as_tanh": same(tanh.scores),
        "largest_of_range": clear.largest,
        "largest_difference": float(np.abs(scores - clear.scores).max()),
        "stated_error": plan.score_error,
        "seconds_network": served["network_seconds"],
        "cpu_seconds_network": served["network_cpu_seconds"],
        "bootstraps": served["bootstraps"],
        "seconds_bootstraps": served["bootstrap_seconds"],
        "rotation_keys": prepared["rotation_keys"],
        "ciphertexts": prepared["ciphertexts"],
        "bytes_query": told["bytes"]["query"],
        "bytes_answer": told["bytes"]["answer"],
        "bytes_maps": served["bytes_maps"],
        **overheads(told),
    }


def tell(r: dict[str, Any], sentences: Sentences) -> None:
    """Says what happened in plain words."""
    count, steps = r["sentences"], r["steps"]
    times = f"{r['bootstraps']} bootstrap{'' if r['bootstraps'] == 1 else 's'}"
    print(f"""
What happened
  A client encrypted the last {steps} words of {count} sentences. A server that holds no secret key
  ran a recurrent network on them, {steps} steps with {times} in between. The client decrypted:
""")
    print(f"  {'score':>7}{'clear':>8}{'tanh':>8}   label")
    columns = (r[name] for name in ("scores", "scores_clear", "scores_tanh", "labels"))
    lines = zip(*columns, sentences.texts, strict=True)
    for score, clear, tanh, label, text in itertools.islice(lines, SHOWN):
        kind = "praise" if label else "blame"
        print(f"  {score:7.3f}{clear:8.3f}{tanh:8.3f}   {kind:<8}{text[:60]}")
    print()

    def share(name: str) -> str:
        return f"{100 * r[f'accuracy_{name}']:.1f} % of {count} sentences"

    rows(
        ("right, encrypted", share("encrypted")),
        ("right, the same polynomials in clear", share("clear")),
        ("right, tanh in clear", share("tanh")),
        ("judged as in clear, and as with tanh", f"{r['same_as_clear']}, {r['same_as_tanh']}"),
        (
            "scores differ from clear by at most",
            f"{r['largest_difference']:.1e}; stated deviation {r['stated_error']:.1e}",
        ),
        ("largest value, of the range", f"{100 * r['largest_of_range']:.0f} %"),
        ("", ""),
        ("server, the network", f"{r['seconds_network']:.2f} s"),
        ("server, the same in CPU time", f"{r['cpu_seconds_network']:.2f} s"),
        *rows_of_bootstraps(r, "back: one for 32 sentences"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("sentiment", __doc__)
    parser.add_argument(
        "--steps",
        type=int,
        default=model.STEPS,
        help=f"words of each sentence, the last ones, 1 … {MOST_STEPS}; default: %(default)s",
    )
    parser.add_argument(
        "--sentences",
        type=int,
        help=f"1 … {MOST_SENTENCES}; 32 fill a ciphertext; default: 32, or those of --file",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", type=Path, help="the folder of rt-polarity.pos and .neg")
    source.add_argument(
        "--file",
        type=Path,
        default=words.OWN,
        help="sentences of your own: lines of pos or neg, a tab, and the sentence",
    )
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.steps <= MOST_STEPS:
        parser.error(f"--steps: {arguments.steps} is not in 1 … {MOST_STEPS}")
    most = arguments.sentences
    if most is not None and not 1 <= most <= MOST_SENTENCES:
        parser.error(f"--sentences: {most} is not in 1 … {MOST_SENTENCES}")
    return arguments


def chosen(arguments: argparse.Namespace) -> Sentences:
    """The sentences that the command line asks for; `ValueError` if there are fewer."""
    if arguments.data:
        found = words.read_polarity(arguments.data)[1]
        count = arguments.sentences or 32
    else:
        found = words.read_own(arguments.file)
        count = arguments.sentences or min(len(found.texts), MOST_SENTENCES)
    if count > len(found.texts):
        raise ValueError(
            f"--sentences: {count} are more than the {len(found.texts)} that there are; --data "
            f"has {words.TEST}"
        )
    return found[:count]


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    try:
        sentences = chosen(arguments)
        plan, told = classify(sentences, arguments)
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    result = report(sentences, plan, told)
    tell(result, sentences)
    most = DEVIATIONS * plan.score_error
    failure = None
    if not result["largest_difference"] <= most:  # nor nan
        failure = (
            f"a score differs from the clear network's by {result['largest_difference']:.2g}, "
            f"more than {most:.2g}"
        )
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
