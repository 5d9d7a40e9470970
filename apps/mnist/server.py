"""The server's process: it has the network, gets a key and encrypted images, and answers with
encrypted logits.

usage: python -m mnist.server FOLDER    server.json, network.npz, keys.whorl, query.whorl ->
                                        answer.whorl

It has no module that makes, loads or uses a secret key.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import modules, server_parser
from whorl.server.ckks import Ciphertexts, Server

from . import model


def serve(folder: Path, device: str | None, threads: int) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    insecure = read_json(folder / "server.json")["insecure"]
    network = model.load(folder / "network.npz")
    server = Server(folder / "keys.whorl", device, threads, allow_insecure=insecure)
    query = Ciphertexts.load(folder / "query.whorl", allow_insecure=insecure)
    loaded, cpu = time.perf_counter(), time.process_time()
    answer = model.classify(server, network, query).to_host()
    answered, cpu = time.perf_counter(), time.process_time() - cpu
    answer.save(folder / "answer.whorl")
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.describe(),
            "security_bits": server.parameters.security_bits,
            "device": server.device,
            "load_seconds": loaded - started,
            "batch_seconds": answered - loaded,
            "batch_cpu_seconds": cpu,
            "modules": modules(),
        },
    )


if __name__ == "__main__":
    arguments = server_parser("mnist", __doc__).parse_args()
    serve(arguments.folder, arguments.device, arguments.threads)
