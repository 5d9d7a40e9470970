"""Compares encrypted 16-bit readings with encrypted thresholds, and rounds them.

The readings are those of 13 sensors: chemical analyses of wines as signed 16-bit integers. A client
encrypts readings and a threshold for each sensor. A server that holds no secret key finds which
readings are above their thresholds (EvalSign) and rounds all (EvalFloor).

Exit status: 0 if each result decrypted is that in the clear, 1 if not.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
    from common.application import Exchange, costs, finish, parser_of
    from common.files import write_json
    from common.output import rows, size

    from sign import circuit
    from sign.readings import Ints, Readings, load
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

SAMPLES, BITS, DEVIATIONS = 4, 8, 1.0


def pick(readings: Readings, seed: int, count: int) -> Ints:
    """Readings of `count` samples at random: (count, sensors)."""
    chosen = np.random.default_rng(seed).choice(len(readings.counts), count, replace=False)
    return readings.counts[chosen]


def compare(samples: Ints, limits: Ints, arguments: argparse.Namespace) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    sides = Exchange.begin("sign", arguments.workdir)
    # What each side has at the start: the server its task, the client its numbers and the offer.
    write_json(sides.server / "task.json", {"round_bits": arguments.bits})
    write_json(sides.client / "offer.json", {"parameters": circuit.PARAMETERS})
    np.save(sides.client / "readings.npy", samples)
    np.save(sides.client / "limits.npy", limits)
    return sides.run(
        arguments,
        (
            "client: makes keys and encrypts readings and thresholds",
            "server: compares and rounds encrypted readings",
            "client: decrypts the results",
        ),
        answers=["answer", "rounded"],
        result="found",
    )


def report(
    samples: Ints, limits: Ints, arguments: argparse.Namespace, told: dict[str, Any]
) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    served = told["served"]
    above, rounded = np.array(told["read"]["above"]), np.array(told["read"]["rounded"])
    if above.shape != samples.shape or rounded.shape != samples.shape:
        sys.exit(f"results of shape {above.shape} for readings of shape {samples.shape}")
    of_sign, of_floor = circuit.rotations(arguments.bits)
    told["bytes"]["answer"] += told["bytes"]["rounded"]
    return {
        "samples": len(samples),
        "readings": samples.size,
        "round_bits": arguments.bits,
        "deviations": arguments.deviations,
        "above_encrypted": above.tolist(),
        "above_clear": (samples > limits).astype(int).tolist(),
        "rounded_encrypted": rounded.tolist(),
        "rounded_clear": circuit.rounded_in_clear(samples, arguments.bits).tolist(),
        "right_above": int((above == (samples > limits)).sum()),
        "right_rounded": int((rounded == circuit.rounded_in_clear(samples, arguments.bits)).sum()),
        "rotations_per_sign": of_sign,
        "rotations_per_floor": of_floor,
        "sign_failure_log2": served["sign_failure_log2"],
        "allow_failure": served["allow_failure"],
        "transform": served["transform"],
        "threads": served["threads"],
        **costs(told, len(samples), "sample", "sample"),
    }


def tell(readings: Readings, samples: Ints, limits: Ints, r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    count, bits, sensors = r["readings"], r["round_bits"], len(readings.names)
    each = 1e3 * r["seconds_per_sample"] / sensors
    print(f"""
What happened
  A client encrypted {r["samples"]} samples of 13 sensors, signed 16-bit readings, and a threshold
  for each sensor. A server that holds no secret key compared and rounded them.
  The client decrypted:
""")
    above, rounded = np.array(r["above_encrypted"]), np.array(r["rounded_encrypted"])
    values, tops = readings.quantity(samples), readings.quantity(limits)
    print(f"  {'sample 1':<30}{'reading':>10}{'threshold':>12}{'above':>8}{'rounded':>10}")
    for k, name in enumerate(readings.names):
        coarse = readings.quantity(rounded[:1] << bits)[0, k]
        print(
            f"  {name:<30}{values[0, k]:>10.4g}{tops[k]:>12.4g}"
            f"{'yes' if above[0, k] else 'no':>8}{coarse:>10.4g}"
        )
    print()
    rows(
        ("above their thresholds", f"{int(above.sum())} of {count} readings"),
        ("comparisons as in the clear", f"{r['right_above']} of {count}"),
        ("roundings as in the clear", f"{r['right_rounded']} of {count}"),
        ("", ""),
        (f"server, {count} readings at once", f"{each:.0f} ms a reading"),
        ("server, one sample alone", f"{r['seconds_one_sample']:.1f} s"),
        ("server's device", r["device"]),
        ("blind rotations of a comparison", str(r["rotations_per_sign"])),
        (f"blind rotations of rounding by {bits} bits", str(r["rotations_per_floor"])),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("evaluation keys, sent once", size(r["bytes_keys"])),
        ("to the server: a ciphertext a reading", size(r["bytes_query_per_sample"] / sensors)),
        ("back: 2 ciphertexts a reading", size(r["bytes_answer_per_sample"] / sensors)),
        ("", ""),
        ("parameter set", r["parameters"]),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
        ("wrong by noise, an operation", f"at most 2^{math.ceil(math.log2(r['allow_failure']))}"),
    )


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("sign", __doc__)
    most = len(load().counts)
    parser.add_argument("--samples", type=int, default=SAMPLES, help=f"1 … {most}")
    parser.add_argument(
        "--bits", type=int, default=BITS, help=f"to round away, 1 … {circuit.MOST_BITS}"
    )
    parser.add_argument(
        "--deviations",
        type=float,
        default=DEVIATIONS,
        help="of the thresholds above the mean, in standard deviations",
    )
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.samples <= most:
        parser.error(f"--samples: {arguments.samples} is not in 1 … {most}")
    if not 1 <= arguments.bits <= circuit.MOST_BITS:
        parser.error(f"--bits: {arguments.bits} is not in 1 … {circuit.MOST_BITS}")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    readings = load()
    samples = pick(readings, arguments.seed, arguments.samples)
    limits = readings.limits(arguments.deviations)
    result = report(samples, limits, arguments, compare(samples, limits, arguments))
    tell(readings, samples, limits, result)
    right = result["right_above"] == result["right_rounded"] == samples.size
    failure = None if right else "a result decrypted is not that in the clear"
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
