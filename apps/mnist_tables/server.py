"""The server's process: it has the network, gets keys and encrypted images, and answers with
encrypted logits.

usage: python -m mnist_tables.server FOLDER    server.json, network.npz, keys.whorl, query.whorl ->
                                               answer.whorl

It has no module that makes, loads or uses a secret key.
"""

from __future__ import annotations

import time
from pathlib import Path

from common.files import read_json, write_json
from common.halves import answer_all, server_parser
from whorl.server.binfhe import Ciphertexts, Server

from . import layout, model


def serve(folder: Path, device: str | None, threads: int) -> None:
    """Answers the query in `folder`."""
    started = time.perf_counter()
    given = read_json(folder / "server.json")
    insecure, kind = given["insecure"], layout.KINDS[given["network"]]
    network = model.load(kind, folder / "network.npz")
    server = Server(folder / "keys.whorl", device, threads, allow_insecure=insecure)
    query = Ciphertexts.load(
        folder / "query.whorl",
        allow_insecure=insecure,
        max_expanded_bytes=layout.MOST * layout.IMAGE_BYTES,
    )
    if query.ndim != 2 or query.shape[1] != layout.PIXELS or not len(query):
        raise SystemExit(
            f"query.whorl: shape {query.shape}, but {layout.PIXELS} ciphertexts of each image are "
            "needed"
        )
    lut = model.table(server.parameters, kind)

    def answer_to(images: slice) -> Ciphertexts:
        return model.answer(server, network, lut, query[images])

    answer, told = answer_all(answer_to, started)
    answer.save(folder / "answer.whorl")
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.name,
            "security_bits": server.parameters.security.bits,
            "device": server.device,
            "transform": server.transform,
            "threads": server.threads,
            "rotations_per_image": network.rotations,
            "reach": lut.reach,
            "failure_log2": answer.failure_log2,
        }
        | told,
    )


if __name__ == "__main__":
    arguments = server_parser("mnist_tables", __doc__).parse_args()
    serve(arguments.folder, arguments.device, arguments.threads)
