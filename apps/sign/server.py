"""The server's process: it knows how coarsely to round, and gets encrypted limits and readings.

usage: python -m sign.server FOLDER    task.json, keys.whorl, query.whorl -> answer.whorl,
                                       rounded.whorl

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import answer_all, server_parser
from whorl.server.binfhe import Ciphertexts, Server

from . import circuit


@dataclasses.dataclass(frozen=True)
class Answers:
    """Which readings of each sample are above their limits, and the rounded readings."""

    above: Ciphertexts
    rounded: Ciphertexts

    def __getitem__(self, key: slice) -> Answers:
        return Answers(self.above[key], self.rounded[key])

    def to_bytes(self) -> bytes:
        """Both frames."""
        return self.above.to_bytes() + self.rounded.to_bytes()


def serve(folder: Path, device: str | None, threads: int) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    bits = read_json(folder / "task.json")["round_bits"]
    server = Server(folder / "keys.whorl", device=device, threads=threads)
    query = Ciphertexts.load(folder / "query.whorl")
    limits = server.upload(query[0])

    def answer_to(samples: slice) -> Answers:
        readings = server.upload(query[1:][samples])
        return Answers(
            circuit.above(server, readings, limits).to_host(),
            circuit.rounded(server, readings, bits).to_host(),
        )

    answer, told = answer_all(answer_to, started)
    answer.above.save(folder / "answer.whorl")
    answer.rounded.save(folder / "rounded.whorl")
    parameters = server.parameters
    write_json(
        folder / "served.json",
        {
            "parameters": parameters.name,
            "security_bits": parameters.security.bits,
            "sign_failure_log2": parameters.sign_failure_log2(circuit.P),
            "allow_failure": server.allow_failure,
            "device": server.device,
            "transform": server.transform,
            "threads": server.threads,
        }
        | told,
    )


if __name__ == "__main__":
    arguments = server_parser("sign", __doc__).parse_args()
    serve(arguments.folder, arguments.device, arguments.threads)
