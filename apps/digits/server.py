"""The server's process: it has the network, gets evaluation keys and encrypted images, and answers
with encrypted logits.

usage: python -m digits.server FOLDER    network.whorlnn, keys.whorl, query.whorl -> answer.whorl

It has no module that makes, loads or uses a secret key.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import write_json
from common.halves import answer_all, server_parser
from whorl import nn
from whorl.server.ckks import Ciphertexts, Server


def serve(folder: Path, device: str | None, threads: int) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    network = nn.load(folder / "network.whorlnn")
    server = Server(folder / "keys.whorl", device=device, threads=threads)
    query = Ciphertexts.load(folder / "query.whorl")
    runner = network.on(server)

    def answer_to(images: slice) -> Ciphertexts:
        return runner(query[images]).to_host()

    answer, told = answer_all(answer_to, started)
    answer.save(folder / "answer.whorl")
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.describe(),
            "security_bits": server.parameters.security_bits,
            "device": server.device,
            "bytes_maps": runner.nbytes,
        }
        | told,
    )


if __name__ == "__main__":
    arguments = server_parser("digits", __doc__).parse_args()
    serve(arguments.folder, arguments.device, arguments.threads)
