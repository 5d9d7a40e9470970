"""The server's process: it has the network, and gets evaluation keys and encrypted pictures.

usage: python -m resnet.server FOLDER    network.whorlnn, keys.whorl, query.whorl -> answer.whorl
       with --runs N: so often, with the same bits each time

It imports `whorl.server` and `whorl.nn`, and nothing that makes, loads or uses a secret key.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

from common.application import on_gpu
from common.files import write_json
from common.halves import modules, server_parser
from whorl import nn
from whorl.server.ckks import Ciphertexts, Server

ROOM = 3 * 10**9
"""Bytes of keys that lie ready on a CPU, where `--key-bytes` says nothing else."""
MAPS = 9 * 10**9
"""Bytes of encoded maps that a GPU keeps where `--map-bytes` says nothing else: with keys, arrays
and what bootstraps take the server has about 22 GB of the device."""


def serve(
    folder: Path,
    device: str | None,
    threads: int,
    runs: int,
    key_bytes: int | None,
    map_bytes: int | None,
) -> None:
    """Runs the network on the pictures in `folder`, all of them together. Without numbers of bytes
    GPUs keep all keys and maps of 9 GB, and CPUs some keys and no map."""
    started = time.perf_counter()
    net = nn.load(folder / "network.whorlnn")
    if not on_gpu(device):
        key_bytes = ROOM if key_bytes is None else key_bytes
        map_bytes = map_bytes or 0
    elif map_bytes is None:
        map_bytes = MAPS
    path = folder / "keys.whorl"
    server = Server(path, device=device, threads=threads, key_bytes=key_bytes or 0)
    pictures = server.upload(Ciphertexts.load(folder / "query.whorl"))
    for slots in net.keys["bootstrap"]:
        server.prepare_bootstrap(slots, progress=True)
    runner = net.on(server, map_bytes, progress=True)
    server.synchronise()
    loaded = time.perf_counter()

    seconds: list[float] = []
    cpu_seconds: list[float] = []
    answers: list[Ciphertexts] = []
    for _ in range(runs):
        begun, cpu = time.perf_counter(), time.process_time()
        result = runner(pictures, progress=True)
        server.synchronise()
        seconds.append(time.perf_counter() - begun)
        cpu_seconds.append(time.process_time() - cpu)
        answers.append(result.lower(0).to_host())  # the lowest level is the smallest to send
    if len({answer.to_bytes() for answer in answers}) != 1:
        raise SystemExit("a second run gave other bits than the first")
    answers[0].save(folder / "answer.whorl")
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.describe(),
            "security_bits": server.parameters.security_bits,
            "device": server.device,
            "threads": server.threads,
            "load_seconds": loaded - started,
            "run_seconds": seconds,
            "run_cpu_seconds": cpu_seconds,
            "map_bytes": runner.nbytes,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "modules": modules(),
        },
    )


if __name__ == "__main__":
    parser = server_parser("resnet", __doc__)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--key-bytes", type=int, help="that keys may take; 0: any number")
    parser.add_argument("--map-bytes", type=int, help="that encoded maps may take")
    given = parser.parse_args()
    serve(given.folder, given.device, given.threads, given.runs, given.key_bytes, given.map_bytes)
