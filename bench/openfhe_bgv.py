"""BGV against the `openfhe` wheel on one CPU thread: CPU time, interleaved in one run.

    .venv/bin/python bench/openfhe_bgv.py --bench build/bench/bench_bgv [--rounds 7]
        [--depth 12] [--scaling FLEXIBLEAUTOEXT,FIXEDAUTO] [--peer-python PYTHON] [--record FILE]

Records belong in bench/results/cpu/bgv.jsonl. Each round times the peer and Whorl right after one
another, so that whatever else the machine does meets both; each runs in a process of its own, the
peer in the CPython 3.10 that has the wheel. FLEXIBLEAUTOEXT is OpenFHE's default; FIXEDAUTO is its
faster one. Ratios are peer time / Whorl time of the same round.
"""

from pathlib import Path

from common.processes import Process, in_turn, with_openfhe, worker
from common.records import against, stamped, tell

# depth, plaintext modulus, ring dimension, calls of a measurement: Whorl's and the peer's
CONFIGURATIONS = [
    (1, 65537, 8192, 200, 20),
    (5, 65537, 16384, 30, 5),
    (12, 65537, 32768, 6, 2),
    (24, 786433, 65536, 2, 1),
]


def main() -> int:
    """Runs all comparisons."""
    parser = with_openfhe(__doc__, rounds=7)
    parser.add_argument("--bench", type=Path, required=True, help="the program bench_bgv")
    parser.add_argument("--depth", type=int, help="one configuration only")
    parser.add_argument("--scaling", default="FLEXIBLEAUTOEXT,FIXEDAUTO")
    options = parser.parse_args()

    for depth, t, dimension, our_runs, peer_runs in CONFIGURATIONS:
        if options.depth not in (None, depth):
            continue
        ours = Process([str(options.bench), "--worker", "--depth", str(depth)])
        for scaling in options.scaling.split(","):
            shape = {"depth": depth, "t": t, "N": dimension, "scaling": scaling}
            peer = worker(options.peer_python, "openfhe_bgv", shape)
            for op in ("mult_relin", "rotate"):
                values, theirs = in_turn(
                    options.rounds,
                    lambda op=op: ours.answer(f"{op} {our_runs}"),  # type: ignore[misc]  # noqa: B023
                    lambda op=op: peer.seconds(op, peer_runs),  # type: ignore[misc]  # noqa: B023
                )
                line = stamped(
                    *("bgv", op, "bgv", ours.about["params"], values),
                    transfers="excluded",
                    peer_scaling=scaling,
                    security_bits=round(ours.about["security_bits"], 1),
                    **against("openfhe", peer.about["version"], values, theirs),
                )
                tell(f"{op:10s} depth {depth:2d}, {scaling}:", line, options.record)
            peer.end()
        ours.end()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
