"""What a second thread gives: wall time, thread counts interleaved in one run.

.venv/bin/python bench/threads.py [--batch 256] [--threads 1 2] [--record FILE]
.venv/bin/python bench/threads.py --scheme bgv [--depth 12] [--threads 1 2] [--record FILE]
.venv/bin/python bench/threads.py --scheme ckks [--depth 30] [--threads 1 2] [--record FILE]

binfhe: NAND gates a second. bgv: seconds of multiplication with relinearisation and of rotation,
with one ciphertext (or --batch), at the four configurations of docs/bgv-performance.md. ckks: the
same, and rescaling, at N = 2^16 and a scale of 2^40, with the default depth of bench_ckks. Records
belong in bench/results/cpu/threads.jsonl. Ratios are to the first thread count of the same round;
the median of the rounds is what counts. Only a machine where nothing else runs tells them.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common.records import append, record, stamped
from openfhe_bgv import CONFIGURATIONS
from whorl import bgv, binfhe, ckks

LEAST_SECONDS = 0.1
"""A timed run of BGV has as many calls as take this long."""

Operations = dict[str, dict[int, Callable[[], object]]]


def rounds(
    calls: dict[int, Callable[[], object]], count: int, times: int
) -> dict[int, list[float]]:
    """Seconds of a call by number of threads; the first round, not counted, warms caches."""
    seconds: dict[int, list[float]] = {threads: [] for threads in calls}
    for _ in range(count + 1):
        for threads, call in calls.items():
            start = time.perf_counter()
            for _ in range(times):
                call()
            seconds[threads].append((time.perf_counter() - start) / times)
    return {threads: values[1:] for threads, values in seconds.items()}


def gains(seconds: dict[int, list[float]]) -> dict[int, float]:
    """How many times as fast as with the first thread count."""
    first = next(iter(seconds.values()))
    return {
        threads: statistics.median(a / b for a, b in zip(first, values, strict=True))
        for threads, values in seconds.items()
    }


def fields(threads: int, seconds: dict[int, list[float]], scale: Callable[[float], float]) -> Any:
    """What records say beside the times."""
    first = next(iter(seconds))
    return {
        "threads": threads,
        "peer": f"whorl, {first} thread" + ("s" if first > 1 else ""),
        "peer_median": statistics.median(map(scale, seconds[first])),
        "ratio": gains(seconds)[threads],
    }


def gates(options: argparse.Namespace) -> None:
    """NANDs of a batch."""
    batch = options.batch or 256
    client = binfhe.Client(binfhe.parameters(options.params, allow_insecure=True))
    keys = client.evaluation_keys()
    bits = client.encrypt(np.arange(batch) % 2)
    calls: dict[int, Callable[[], object]] = {}
    for threads in options.threads:
        server = binfhe.Server(keys, device="cpu", threads=threads)
        calls[threads] = lambda server=server: server.nand(bits, bits).to_host()  # type: ignore[misc]
    seconds = rounds(calls, options.rounds, 1)

    def rate(each: float) -> float:
        return batch / each

    for threads, values in seconds.items():
        more = fields(threads, seconds, rate)
        rates = [rate(each) for each in values]
        line = record("threads", "nand", options.params, rates, batch=batch, unit="1/s", **more)
        print(f"{threads} threads: {line['median']:.1f} gates/s, {line['ratio']:.2f}x", flush=True)
        append(options.record, line)


def timed(
    options: argparse.Namespace, scheme: str, params: str, bits: float, calls: Operations
) -> None:
    """Records of each operation, by number of threads."""
    for op, of_threads in calls.items():
        first = next(iter(of_threads.values()))
        first()
        start = time.perf_counter()
        first()
        times = max(1, round(LEAST_SECONDS / (time.perf_counter() - start)))
        seconds = rounds(of_threads, options.rounds, times)
        for threads, each in seconds.items():
            line = stamped(
                *("threads", op, scheme, params, each),
                batch=options.batch or 1,
                transfers="excluded",
                security_bits=round(bits, 1),
                **fields(threads, seconds, float),
            )
            print(
                f"{op:10s} {params}, {threads} threads: "
                f"{line['median'] * 1e3:8.3f} ms, {line['ratio']:.2f}x",
                flush=True,
            )
            append(options.record, line)


def of_bgv(options: argparse.Namespace) -> None:
    """Multiplication and rotation."""
    batch = options.batch or 1
    for depth, t, dimension, *_ in CONFIGURATIONS:
        if options.depth not in (None, depth):
            continue
        chosen = bgv.parameters(depth=depth, plain_modulus=t, N=dimension)
        params = (
            f"depth={depth}, t={t}, N={chosen.N}, limbs {chosen.limbs}+{len(chosen.special)}, "
            f"dnum {chosen.digits}"
        )
        client = bgv.Client(chosen)
        keys = client.evaluation_keys(rotations=[1])
        fresh = client.encrypt(np.arange(batch * chosen.N).reshape(batch, chosen.N))
        calls: Operations = {"mult_relin": {}, "rotate": {}}
        for threads in options.threads:
            server = bgv.Server(keys, device="cpu", threads=threads)
            a, b = server.upload(fresh), server.upload(fresh)
            calls["mult_relin"][threads] = lambda a=a, b=b: a * b  # type: ignore[misc]
            calls["rotate"][threads] = lambda a=a: a.rotate(1)  # type: ignore[misc]
        timed(options, "bgv", params, chosen.security_bits, calls)


def of_ckks(options: argparse.Namespace) -> None:
    """Multiplication without rescaling, rotation, rescaling."""
    depth, scale_bits = options.depth or 30, 40
    chosen = ckks.parameters(depth=depth, scale_bits=scale_bits, N=65536)
    params = (
        f"depth={depth}, scale=2^{scale_bits}, N={chosen.N}, limbs {chosen.limbs} + "
        f"{len(chosen.special)}, dnum {chosen.digits}"
    )
    client = ckks.Client(chosen)
    keys = client.evaluation_keys(rotations=[1])
    fresh = client.encrypt(np.zeros((options.batch or 1, chosen.slots)))
    calls: Operations = {"mult_relin": {}, "rotate": {}, "rescale": {}}
    for threads in options.threads:
        server = ckks.Server(keys, device="cpu", threads=threads)
        a, b = server.upload(fresh), server.upload(fresh)
        product = server.multiply(a, b, rescale=False)
        calls["mult_relin"][threads] = lambda server=server, a=a, b=b: server.multiply(  # type: ignore[misc]
            a, b, rescale=False
        )
        calls["rotate"][threads] = lambda a=a: a.rotate(1)  # type: ignore[misc]
        calls["rescale"][threads] = lambda server=server, product=product: server.rescale(product)  # type: ignore[misc]
    timed(options, "ckks", params, chosen.security_bits, calls)


def main() -> int:
    """Runs and prints medians and ratios to the first thread count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", choices=("binfhe", "bgv", "ckks"), default="binfhe")
    parser.add_argument("--params", default="W128_P64", help="of binfhe")
    parser.add_argument("--depth", type=int, help="of bgv: one configuration only; of ckks")
    parser.add_argument("--batch", type=int, help="default: 256 bits, or one ciphertext of bgv")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    {"binfhe": gates, "bgv": of_bgv, "ckks": of_ckks}[options.scheme](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
