"""The server's process: it gets evaluation keys and encrypted digits, and trains a model on them.

usage: python -m logistic.server FOLDER    plan.json, keys.whorl, query.whorl -> answer.whorl
       with --trace: the weights after each iteration too, as trace.whorl

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import modules, server_parser, timed_bootstraps
from whorl.server.ckks import Ciphertexts, Server, stack

from .circuit import Layout, Training
from .model import Schedule


def serve(folder: Path, device: str | None, threads: int, trace: bool) -> None:
    """Trains on the query in `folder`."""
    started = time.perf_counter()
    plan = read_json(folder / "plan.json")
    layout, schedule = Layout(**plan["layout"]), Schedule(**plan["schedule"])
    server = Server(folder / "keys.whorl", device=device, threads=threads)
    data = server.upload(Ciphertexts.load(folder / "query.whorl"))
    training = Training(layout, schedule, data)
    server.synchronise()
    loaded = time.perf_counter()

    timed, bootstraps = timed_bootstraps(server)
    cpu = time.process_time()
    weights = list(training.run(timed))
    server.synchronise()
    trained, cpu = time.perf_counter(), time.process_time() - cpu

    # The lowest level is the smallest to send.
    weights[-1].lower(0).reshape(1).to_host().save(folder / "answer.whorl")
    if trace:
        stack([each.lower(0) for each in weights]).to_host().save(folder / "trace.whorl")
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.describe(),
            "security_bits": server.parameters.security_bits,
            "device": server.device,
            "load_seconds": loaded - started,
            "training_seconds": trained - loaded,
            "training_cpu_seconds": cpu,
            "bootstrap_seconds": bootstraps,
            "modules": modules(),
        },
    )


if __name__ == "__main__":
    parser = server_parser("logistic", __doc__)
    parser.add_argument("--trace", action="store_true", help="the weights after each iteration")
    arguments = parser.parse_args()
    serve(arguments.folder, arguments.device, arguments.threads, arguments.trace)
