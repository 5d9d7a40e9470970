#!/usr/bin/env python3
"""Search for parameter sets; `whorl params search` is the same. Prints one JSON object a line."""

import argparse
import json

from rich.console import Console
from rich.progress import Progress
from whorl.binfhe._search import ROTATIONS, Request, search


def parse(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    defaults = Request()
    parser.add_argument("--p", type=int, default=defaults.p, help="messages (4: gates)")
    parser.add_argument("--bits", type=int, help="bits of a message; 2^bits is p")
    parser.add_argument("--padding", action="store_true", help="a padding bit above the message")
    parser.add_argument("--failure-log2", type=float, default=defaults.failure_log2)
    parser.add_argument("--security", type=float, default=defaults.security)
    parser.add_argument("--ring-security", type=float, default=defaults.ring_security)
    parser.add_argument("--secret", default=defaults.secret, choices=("binary", "ternary", "any"))
    parser.add_argument("--N", type=int, nargs="+", default=list(defaults.N))
    parser.add_argument("--log-Q", type=int, nargs="+", default=list(defaults.log_Q))
    parser.add_argument("--max-key-switch-mb", type=float, default=defaults.max_key_switch_mb)
    parser.add_argument(
        "--objective", default=defaults.objective, choices=("throughput", "latency", "keys")
    )
    parser.add_argument("--rotation", default=defaults.rotation, choices=("any", *ROTATIONS))
    parser.add_argument("--max-key-mb", type=float, default=defaults.max_key_mb)
    parser.add_argument("--top", type=int, default=10)
    return parser.parse_args(argv)


def main(argv=None):
    options = parse(argv)
    request = Request(
        p=1 << options.bits if options.bits else options.p,
        padding=options.padding,
        failure_log2=options.failure_log2,
        security=options.security,
        ring_security=options.ring_security,
        secret=options.secret,
        N=tuple(options.N),
        log_Q=tuple(options.log_Q),
        max_key_switch_mb=options.max_key_switch_mb,
        max_key_mb=options.max_key_mb,
        rotation=options.rotation,
        objective=options.objective,
    )
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("ring sizes")
        found = search(
            request,
            options.top,
            lambda done, total: bar.update(task, completed=done, total=total),
        )
    for candidate in found:
        record = {
            **candidate.literal,
            "lwe_bits": round(candidate.evaluation.lwe_bits, 1),
            "ring_bits": round(candidate.evaluation.ring_bits, 1),
            "failure_log2": round(candidate.evaluation.failure_log2, 1),
            "mflops": round(candidate.cost.flops / 1e6, 1),
            "latency_us": round(candidate.cost.latency_us),
            "rotation_key_mb": round(candidate.cost.rotation_bytes / 1e6, 1),
            "key_switch_key_mb": round(candidate.cost.key_switch_bytes / 1e6, 1),
        }
        print(json.dumps(record))
    return 0 if found else 1


if __name__ == "__main__":
    raise SystemExit(main())
