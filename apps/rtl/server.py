"""The server's process: it gets encrypted bits, and adds them on the accelerator and on the CPU.

usage: python -m rtl.server FOLDER [--device rtl --core LIBRARY --record FOLDER]
                                   keys.whorl, query.whorl -> answer.whorl, served.json

It imports `whorl.server` alone, which has no name that makes, loads or uses a secret key.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from common.files import write_json
from common.halves import modules, server_parser
from whorl.server.binfhe import Ciphertexts, Server, stack

from . import circuit, record

LOOKUPS = {"sum": circuit.sum_of, "carry": circuit.carry_of}


def compute(server: Server, query: Ciphertexts) -> tuple[Ciphertexts, dict[str, Any]]:
    """Sums and carries, and what each look-up took."""
    inputs = list(server.upload(query))
    outputs, told = [], {}
    for name, lookup in LOOKUPS.items():
        started = time.perf_counter()
        output = lookup(server, *inputs)
        server.synchronise()
        told[name] = {
            "seconds": time.perf_counter() - started,
            "counters": server.device_counters(),
        }
        outputs.append(output)
    return stack(outputs).to_host(), told


def serve(arguments: argparse.Namespace) -> None:
    """Answers the query in the folder."""
    folder: Path = arguments.folder
    if arguments.core:
        os.environ["WHORL_RTL_CORE"] = str(arguments.core)
    if arguments.record:
        os.environ.update(record.environment(arguments.record))
    started = time.perf_counter()
    server = Server(folder / "keys.whorl", device=arguments.device, threads=arguments.threads)
    query = Ciphertexts.load(folder / "query.whorl")
    loaded = time.perf_counter()
    answer, lookups = compute(server, query)
    computed = time.perf_counter()
    cpu = Server(folder / "keys.whorl", device="cpu", threads=arguments.threads)
    same, _ = compute(cpu, query)
    compared = time.perf_counter()
    answer.save(folder / "answer.whorl")
    write_json(
        folder / "served.json",
        {
            "parameters": server.parameters.name,
            "security_bits": server.parameters.security.bits,
            "failure_log2": circuit.failure_log2(server.parameters),
            "device": server.device,
            "load_seconds": loaded - started,
            "seconds": computed - loaded,
            "cpu_seconds": compared - computed,
            "lookups": lookups,
            "as_on_cpu": bool(np.array_equal(answer.data, same.data)),
            "modules": modules(),
        },
    )


if __name__ == "__main__":
    parser = server_parser("rtl", __doc__)
    parser.add_argument("--core", type=Path, help="library of the simulated core")
    parser.add_argument("--record", type=Path, help="folder for what the core did, and a waveform")
    serve(parser.parse_args())
