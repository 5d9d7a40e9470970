"""The server's process: it owns the table and gets evaluation keys and encrypted questions.

usage: python -m lookup.server FOLDER    table.tsv, keys.whorl, query.whorl -> answer.whorl

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

from common.files import write_json
from common.halves import answer_all, server_parser
from whorl.server.bgv import Ciphertexts, Server

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

    def answer_to(questions: slice) -> Ciphertexts:
        pair = server.upload(across[questions]), server.upload(down[questions])
        return circuit.answer(server, prepared, *pair).to_host().T

    answer, told = answer_all(answer_to, started)
    if answer.noise_budget <= 0:
        raise SystemExit("the answer's noise may be past its bound")
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
        }
        | told,
    )


if __name__ == "__main__":
    arguments = server_parser("lookup", __doc__).parse_args()
    serve(arguments.folder, arguments.device, arguments.threads)
