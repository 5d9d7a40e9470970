"""What a second thread gives: NAND gates/s, wall time, thread counts interleaved in one run.

.venv/bin/python bench/threads.py [--batch 256] [--threads 1 2] [--record FILE]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from records import append, record
from whorl import binfhe


def main() -> int:
    """Runs and prints the medians and their ratio to the first thread count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--params", default="W128_P64")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    parameters = binfhe.parameters(options.params, allow_insecure=True)
    client = binfhe.Client(parameters)
    keys = client.evaluation_keys()
    bits = client.encrypt(np.arange(options.batch) % 2)
    servers = {n: binfhe.Server(keys, device="cpu", threads=n) for n in options.threads}
    rates: dict[int, list[float]] = {n: [] for n in servers}
    for _ in range(options.rounds + 1):
        for count, server in servers.items():
            start = time.perf_counter()
            server.nand(bits, bits)
            rates[count].append(options.batch / (time.perf_counter() - start))
    first = statistics.median(rates[options.threads[0]][1:])
    for count, all_rates in rates.items():
        warm = all_rates[1:]
        line = record(
            "threads",
            "nand",
            options.params,
            warm,
            threads=count,
            batch=options.batch,
            unit="1/s",
            peer=f"whorl, {options.threads[0]} thread",
            peer_median=first,
            ratio=statistics.median(warm) / first,
        )
        print(f"{count} threads: {line['median']:.1f} gates/s, {line['ratio']:.2f}x")
        append(options.record, line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
