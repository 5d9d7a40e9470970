"""The server's process: it owns the table and gets evaluation keys and encrypted questions.

usage: python -m lookup.server FOLDER    table.tsv, keys.whorl, query.whorl -> answer.whorl

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

from common.files import write_json
from whorl.server.bgv import Ciphertexts, Server, stack

from . import circuit
from .table import Table


def serve(folder: Path, device: str | None, threads: int) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    table = Table.load(folder / "table.tsv")
    plain = circuit.diagonals(table.grid, table.cells())
    server = Server(folder / "keys.whorl", device=device, threads=threads)
    prepared = circuit.prepare(server, plain)
    query = Ciphertexts.load(folder / "query.whorl")
    across, down = query.reshape(2, -1)
    loaded = time.perf_counter()

    def answer_to(questions: slice) -> Ciphertexts:
        pair = server.upload(across[questions]), server.upload(down[questions])
        layers = circuit.answer(server, prepared, *pair)
        return stack([layer.to_host() for layer in layers], axis=-1)

    one = answer_to(slice(1))
    after_one = time.perf_counter()

    cpu = time.process_time()
    answer = answer_to(slice(None))
    after_all, cpu = time.perf_counter(), time.process_time() - cpu
    if answer.noise_budget <= 0:
        raise SystemExit("the answer's noise may be past its bound")
    if one.to_bytes() != answer[:1].to_bytes():
        raise SystemExit("one question alone gave other bits than in the batch")
    answer.save(folder / "answer.whorl")

    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.describe(),
            "security_bits": server.parameters.security_bits,
            "device": server.device,
            "queries": len(answer),
            "plaintexts": math.prod(plain.shape[:-1]),
            "noise_budget_bound": answer.noise_budget,
            "load_seconds": loaded - started,
            "one_query_seconds": after_one - loaded,
            "batch_seconds": after_all - after_one,
            "batch_cpu_seconds": cpu,
            # What the process has of Whorl: nothing of the client.
            "modules": sorted(name for name in sys.modules if name.split(".")[0] == "whorl"),
        },
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="lookup.server", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", help="default: the best found")
    parser.add_argument("--threads", type=int, default=0, help="default: all cores")
    arguments = parser.parse_args()
    serve(arguments.folder, arguments.device, arguments.threads)


if __name__ == "__main__":
    main()
