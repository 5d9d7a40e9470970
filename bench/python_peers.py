"""CKKS against Python libraries on one CPU thread: CPU time, interleaved in one run.

    .venv/bin/python bench/python_peers.py --peer tenseal=PYTHON [--peer desilofhe=PYTHON]
        [--rounds 7] [--only encrypt,mult_relin_rescale] [--glibc-defaults] [--record FILE]
        [--note TEXT]

PYTHON is an interpreter that has the wheel, such as that of an environment of its own. Records
belong in bench/results/cpu/ckks.jsonl. Each round times the peer and Whorl right after one another,
so that whatever else the machine does meets both; each runs in a process of its own, through its
Python module. Ratios are peer time / Whorl time of the same round. Before anything is timed, each
side's results are compared with those in the clear; the bits of the worst value are in the records:
"bits", "peer_bits".

All processes keep the memory that they free. By default glibc gives large blocks back to the system
at times, in some processes and not in others. `--glibc-defaults` shows what that does: Whorl's
encryption by a public key takes nearly twice as long then, an add of DESILO FHE five times.

N, slots, levels and values are the same, as far as the peers let one choose. The operations:

    encrypt, encrypt_secret   all slots, encoded and encrypted, by the public and by the secret key
    decrypt                   and decoded
    add
    mult_relin_rescale        ciphertexts; relinearised and rescaled as each does it
    rotate, rotate_product    by one slot; fresh, and a product, which has a level fewer
    sum                       of all slots: log2 of their number rotations and sums
    matmul                    of a vector by a matrix of 64 × 64 that is not encrypted

DESILO FHE has no product of a vector by a matrix in the form that was measured. Pyfhel is left out:
it has no wheel, and its 3.5.0 fetches a part of SEAL from GitHub when it is compiled.
"""

import os
import sys

from ckks_records import PYTHON_PEERS
from common.processes import Process, comparison, in_turn, worker
from common.records import Record, against, stamped, tell

SHAPE = {"N": 16384, "depth": 6, "scale_bits": 40, "side": 64}
OPERATIONS = {
    "encrypt": 5,
    "encrypt_secret": 5,
    "decrypt": 10,
    "add": 100,
    "mult_relin_rescale": 4,
    "rotate": 4,
    "rotate_product": 4,
    "sum": 1,
    "matmul": 1,
}
"""The peer's calls of a measurement."""
MORE = 5
"""Whorl's calls, for each of the peer's."""
KEEP = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), str(1 << 30))
"""glibc: bytes below which memory is kept."""


def compared(name: str, op: str, peer: Process, whorl: Process, rounds: int) -> Record:
    """Seconds of both, in turn."""
    runs = OPERATIONS[op]
    ours, theirs = in_turn(
        rounds, lambda: whorl.seconds(op, MORE * runs), lambda: peer.seconds(op, runs)
    )
    return stamped(
        *("python_peers", op, "ckks", whorl.about["params"], ours),
        transfers="excluded",
        security_bits=whorl.about["security_bits"],
        peer_params=peer.about["params"],
        clock="cpu",
        bits=whorl.about["bits"][op],
        peer_bits=peer.about["bits"][op],
        **against(name, peer.about["version"], ours, theirs),
    )


def main() -> int:
    """Runs all comparisons."""
    parser = comparison(__doc__, rounds=7)
    parser.add_argument("--peer", action="append", required=True, help="NAME=PYTHON")
    parser.add_argument("--only", default=",".join(OPERATIONS))
    parser.add_argument("--glibc-defaults", action="store_true", help="freed memory may go back")
    parser.add_argument("--note", help="about the machine, for the records")
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := [op for op in wanted if op not in OPERATIONS]:
        parser.error(f"--only: {', '.join(unknown)}: not among {', '.join(OPERATIONS)}")

    if not options.glibc_defaults:
        os.environ.update(KEEP)
    for named in options.peer:
        name, _, python = named.partition("=")
        if name not in PYTHON_PEERS or not python:
            parser.error(f"--peer: {named!r} is not NAME=PYTHON of {', '.join(PYTHON_PEERS)}")
        # Workers have checked themselves when they answer.
        peer, whorl = worker(python, name, SHAPE), worker(sys.executable, "whorl", SHAPE)
        for op in wanted:
            if op not in peer.about["bits"]:
                continue
            line = compared(name, op, peer, whorl, options.rounds)
            line |= {"note": options.note} if options.note else {}
            tell(f"{op:18s}", line, options.record)
        peer.end()
        whorl.end()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
