"""Trains a model on encrypted digits, 3 against 8; client and server in processes of their own.

A client encrypts handwritten digits; a server trains logistic regression on them, bootstrapping in
between, and learns neither digits nor weights; the client decrypts the weights.

Exit status: 0 if the encrypted model tells as many of the test's digits apart as the same training
in the clear, give or take 0.3 %; 1 if not.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
    from common import table
    from common.application import (
        Exchange,
        announce_keys,
        finish,
        on_gpu,
        overheads,
        parser_of,
        rows_of_bootstraps,
    )
    from common.files import write_json
    from common.output import picture as show
    from common.output import rows
    from whorl import Error

    from logistic import circuit, digits, model, picture
    from logistic.circuit import Layout
    from logistic.digits import Digits, Floats
    from logistic.model import Schedule
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

DIFFERENCE = 0.003  # of the accuracies
FEW = circuit.ROUND + 1  # iterations, so that there is a bootstrap between them
MOST = 200  # up to which the cubic was seen to stay in bounds


def rounds(iterations: int) -> list[int]:
    """The iterations after which there is a bootstrap."""
    return list(range(circuit.ROUND, iterations, circuit.ROUND))


def train(samples: Floats, schedule: Schedule, arguments: argparse.Namespace) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    sides = Exchange.begin("logistic", arguments.workdir)
    # What each side has at the start: the client its digits and the offer, the server the plan.
    params = circuit.choose()
    layout = Layout(slots=params.slots)
    circuit.check(layout, samples, schedule)
    public = {"layout": dataclasses.asdict(layout), "schedule": dataclasses.asdict(schedule)}
    np.save(sides.client / "samples.npy", samples)
    offer = {"parameters": params.literal(), "features": samples.shape[-1]}
    write_json(sides.client / "offer.json", offer | public)
    write_json(sides.server / "plan.json", public)
    keys = params.key_size(rotations=layout.rotations(), bootstrap=[layout.period])
    announce_keys(keys, arguments.workdir)

    return sides.run(
        arguments,
        (
            "client: makes keys and encrypts the digits",
            "server: trains on encrypted digits",
            "client: decrypts the weights",
        ),
        options=["--trace"] if arguments.trace else [],
        answers=["answer", "trace"] if arguments.trace else ["answer"],
        result="weights",
    )


def report(
    data: Digits, batches: Floats, schedule: Schedule, told: dict[str, Any]
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    prepared, served, read = told["prepared"], told["served"], told["read"]
    clear = list(model.train(batches, schedule))
    weights = np.array(read["weights"])
    count, refreshed = schedule.iterations, served["bootstrap_seconds"]
    if len(refreshed) != len(rounds(count)):
        sys.exit(f"{len(refreshed)} bootstraps for {count} iterations")

    def curve(steps: list[Floats]) -> list[tuple[float, float]]:
        return [(model.accuracy(w, data), model.loss(w, data)) for w in steps]

    trace = None if read["trace"] is None else curve([np.array(w) for w in read["trace"]])
    return {
        "iterations": count,
        "samples": int(batches.shape[0] * batches.shape[1]),
        "batch": batches.shape[1],
        "test_digits": len(data.test),
        "accuracy_encrypted": model.accuracy(weights, data),
        "accuracy_clear": model.accuracy(clear[-1], data),
        "loss_encrypted": model.loss(weights, data),
        "loss_clear": model.loss(clear[-1], data),
        "largest_weight": float(np.abs(clear[-1]).max()),
        "weights_differ": float(np.abs(weights - clear[-1]).max()),
        "curve_encrypted": trace,
        "curve_clear": curve(clear),
        "bootstraps_after": rounds(count),
        "seconds_training": served["training_seconds"],
        "seconds_per_iteration": served["training_seconds"] / count,
        "cpu_seconds_per_iteration": served["training_cpu_seconds"] / count,
        "seconds_iteration_alone": (served["training_seconds"] - sum(refreshed)) / count,
        "seconds_bootstraps": refreshed,
        "rotation_keys": prepared["rotation_keys"],
        "ciphertexts": prepared["ciphertexts"],
        "bytes_query": told["bytes"]["query"],
        "bytes_answer": told["bytes"]["answer"],
        **overheads(told),
    }


def tell(r: dict[str, Any], samples: str, item: str) -> None:
    """Says what happened in plain words; `samples`: what they are, `item`: what one is."""
    refreshed = r["seconds_bootstraps"]
    times = f"{len(refreshed)} bootstrap{'' if len(refreshed) == 1 else 's'}"
    print(f"""
What happened
  A client encrypted {r["samples"]:,} {samples}. A server that holds no secret
  key trained logistic regression on them, in {r["iterations"]} iterations with mini-batches of
  {r["batch"]:,} and {times} in between. The client decrypted the weights.
""")

    def share(accuracy: float) -> str:
        return f"{100 * accuracy:.2f} % of {r['test_digits']:,} other {item}s"

    rows(
        ("right, trained encrypted", share(r["accuracy_encrypted"])),
        ("right, the same training in the clear", share(r["accuracy_clear"])),
        ("loss, encrypted and clear", f"{r['loss_encrypted']:.5f}, {r['loss_clear']:.5f}"),
        (
            "weights differ by at most",
            f"{r['weights_differ']:.1e}; the largest is {r['largest_weight']:.2f}",
        ),
        ("", ""),
        ("server, the training", f"{r['seconds_training']:.2f} s"),
        ("server, an iteration with bootstraps", f"{1e3 * r['seconds_per_iteration']:.0f} ms"),
        ("server, the same in CPU time", f"{1e3 * r['cpu_seconds_per_iteration']:.0f} ms"),
        ("server, an iteration alone", f"{1e3 * r['seconds_iteration_alone']:.0f} ms"),
        *rows_of_bootstraps(r, "back: 1 ciphertext"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("logistic", __doc__)
    parser.add_argument(
        "--iterations",
        type=int,
        help=f"1 … {MOST}; default: {model.ITERATIONS} on a GPU, {FEW} on a CPU",
    )
    most = Layout().features - 1
    table.add_options(parser, f"up to {most} numbers, and one of two classes", "model")
    parser.add_argument("--rate", type=float, default=1.0, help="of learning, up to 1")
    parser.add_argument(
        "--no-trace",
        dest="trace",
        action="store_false",
        help="without the weights of each iteration, which the picture needs",
    )
    arguments = parser.parse_args(argv)
    table.check_options(parser, arguments)
    if arguments.iterations is None:
        arguments.iterations = model.ITERATIONS if on_gpu(arguments.device) else FEW
    if not 1 <= arguments.iterations <= MOST:
        parser.error(f"--iterations: {arguments.iterations} is not in 1 … {MOST}")
    if not 0 < arguments.rate <= 1:
        parser.error(f"--rate: {arguments.rate} is not above 0 and at most 1")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    schedule = Schedule(arguments.iterations, arguments.rate)
    try:
        samples, item, data = "handwritten digits, 3s and 8s", "digit", digits.load()
        if arguments.csv:
            own = table.read(arguments.csv, arguments.target)
            data = digits.of_table(own, arguments.seed)
            kept = f"{len(data.training)} of {len(own.labels)} in the table, repeated"
            samples, item = f"rows of {' and '.join(own.classes)} ({kept})", "row"
        batches = model.mini_batches(data, arguments.seed)[: schedule.iterations]
        told = train(batches, schedule, arguments)
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2

    result = report(data, batches, schedule, told)
    tell(result, samples, item)
    if result["curve_encrypted"] is not None:
        path = arguments.workdir / "training.png"
        title = f"Logistic regression on encrypted {item}s, {schedule.iterations} iterations"
        curves = result["curve_clear"], result["curve_encrypted"]
        marks = result["bootstraps_after"]
        if show(
            "picture of the training", path, lambda to: picture.draw(*curves, marks, title, to)
        ):
            result["picture"] = str(path)
    difference = abs(result["accuracy_encrypted"] - result["accuracy_clear"])
    failure = (
        None
        if difference <= DIFFERENCE
        else f"the accuracies differ by {100 * difference:.2f} %, which is more than 0.3 %"
    )
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
