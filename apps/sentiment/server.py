"""The server's process: it owns the weights, and gets evaluation keys and encrypted sentences.

usage: python -m sentiment.server FOLDER    plan.json, weights.npz, keys.whorl, query.whorl
                                            -> answer.whorl

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import modules, server_parser, timed_bootstraps
from whorl.server.ckks import Ciphertexts, Server

from .circuit import Layout, Network, Plan
from .model import Weights


def serve(folder: Path, device: str | None, threads: int) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    given = read_json(folder / "plan.json")
    plan = Plan(**given | {"layout": Layout(**given["layout"])})
    server = Server(folder / "keys.whorl", device=device, threads=threads)
    network = Network(server, Weights.load(folder / "weights.npz"), plan)
    if network.bootstraps:
        server.prepare_bootstrap(plan.layout.period)
    query = Ciphertexts.load(folder / "query.whorl")
    server.synchronise()
    loaded = time.perf_counter()

    timed, bootstraps = timed_bootstraps(server)
    cpu = time.process_time()
    scores = network.answer(query, timed)
    server.synchronise()
    done, cpu = time.perf_counter(), time.process_time() - cpu

    # The lowest level is the smallest to send.
    scores.lower(0).to_host().save(folder / "answer.whorl")
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.describe(),
            "security_bits": server.parameters.security_bits,
            "device": server.device,
            "load_seconds": loaded - started,
            "network_seconds": done - loaded,
            "network_cpu_seconds": cpu,
            "bootstraps": network.bootstraps,
            "bootstrap_seconds": bootstraps,
            "bytes_maps": network.nbytes,
            "modules": modules(),
        },
    )


if __name__ == "__main__":
    arguments = server_parser("sentiment", __doc__).parse_args()
    serve(arguments.folder, arguments.device, arguments.threads)
