"""CKKS against the `openfhe` wheel on one CPU thread: CPU time, interleaved in one run.

    .venv/bin/python bench/openfhe_ckks.py --benches build/bench [--rounds 5] [--bootstraps 3]
        [--only mult_relin,rotate,rescale,add,bootstrap] [--peer-python PYTHON] [--record FILE]
        [--note TEXT]

Records belong in bench/results/cpu/ckks.jsonl. Each round times the peer and Whorl right after one
another, so that whatever else the machine does meets both; each runs in a process of its own, the
peer in the CPython 3.10 that has the wheel. Ratios are peer time / Whorl time of the same round.

N, slots, levels, digits of key switching, and 128 bits of security are the same. Operations have
the same scale, 2^40, and OpenFHE's FIXEDMANUAL, where each does one thing. A bootstrap leaves the
same number of levels, all slots are complex, and both switch to a sparse secret within it. There
the scales differ: OpenFHE's is the largest that still has 128 bits with so many levels and digits.
The bits of the worst slot are in the records: "bits", "peer_bits". OpenFHE's bootstrap takes 16 GB,
so the peer's rounds come first, and Whorl's when it has ended.
"""

from pathlib import Path
from typing import Any

from common.processes import Process, printed, with_openfhe, worker
from common.records import Record, against, stamped, tell

N, DNUM = 65536, 4
OPERATIONS = {"mult_relin": 2, "rotate": 2, "rescale": 10, "add": 40}
"""The peer's calls of a measurement."""
PEER_BOOTSTRAP = (43, 51)
"""Bits of OpenFHE's scale, and of its first prime: at most 8 more (its correction factor)."""


def peer_of(python: str, what: str, depth: int, scale_bits: int, first_bits: int) -> Process:
    """OpenFHE's process for operations, or for bootstraps."""
    shape = {"what": what, "depth": depth, "N": N, "dnum": DNUM}
    shape |= {"scale_bits": scale_bits, "first_bits": first_bits}
    return worker(python, "openfhe_ckks", shape)


def measure(command: list[str], op: str) -> Record:
    """Whorl's record of an operation. The program warms its caches, and checks what it times."""
    (line,) = printed([*command, "--only", op])
    assert line["clock"] == "cpu", line
    return line


def compared(peer: Process, theirs: list[float], ours: list[Record], **fields: Any) -> Record:
    """A record of rounds."""
    about, last = peer.about, ours[-1]
    peer_params = (
        f"scale=2^{fields.pop('peer_scale_bits')}, N={N}, dnum {DNUM}, {about['scaling']}, "
        f"{about['levels']} levels"
    )
    medians = [float(line["median"]) for line in ours]
    return stamped(
        last["bench"],
        last["op"],
        "ckks",
        last["params"],
        medians,
        transfers="excluded",
        security_bits=last["security_bits"],
        pfail_log2=last["pfail_log2"],
        peer_params=peer_params,
        clock="cpu",
        **fields,
        **against("openfhe", about["version"], medians, theirs),
    )


def main() -> int:
    """Runs all comparisons."""
    parser = with_openfhe(__doc__, rounds=5)
    parser.add_argument("--benches", type=Path, required=True, help="bench_ckks… are there")
    parser.add_argument("--bootstraps", type=int, default=3, help="rounds of bootstraps")
    parser.add_argument("--only", default=",".join([*OPERATIONS, "bootstrap"]))
    parser.add_argument("--note", help="about the machine, for the records")
    options = parser.parse_args()
    wanted = options.only.split(",")
    note = {"note": options.note} if options.note else {}

    def keep(line: Record) -> None:
        tell(f"{line['op']:10s}", line, options.record)

    operations = [op for op in OPERATIONS if op in wanted]
    if operations:
        depth, scale_bits = 30, 40
        peer = peer_of(options.peer_python, "operations", depth, scale_bits, 60)
        shape = ["--depth", str(depth), "--scale-bits", str(scale_bits), "--dnum", str(DNUM)]
        command = [str(options.benches / "bench_ckks"), "--quick", *shape]
        for op in operations:
            runs = OPERATIONS[op]
            peer.seconds(op, runs)  # caches warm
            rounds = [(peer.seconds(op, runs), measure(command, op)) for _ in range(options.rounds)]
            theirs, ours = [pair[0] for pair in rounds], [pair[1] for pair in rounds]
            keep(compared(peer, theirs, ours, peer_scale_bits=scale_bits, **note))
        peer.end()

    if "bootstrap" in wanted:
        depth, scale_bits = 13, 40
        shape = ["--depth", str(depth), "--scale-bits", str(scale_bits), "--dnum", str(DNUM)]
        command = [str(options.benches / "bench_ckks_bootstrap"), "--quick", *shape]
        peer = peer_of(options.peer_python, "bootstrap", depth, *PEER_BOOTSTRAP)
        assert peer.about["levels"] == depth, peer.about
        theirs = [peer.seconds("bootstrap", 1) for _ in range(options.bootstraps)]
        peer.end()
        ours = [measure(command, "bootstrap") for _ in range(options.bootstraps)]
        lines = printed([*command, "--only", "bootstrap_bits"])
        bits = min(line["median"] for line in lines if line["values"] == "random")
        extra = {"bits": bits, "peer_bits": round(peer.about["bits"], 2), **note}
        keep(compared(peer, theirs, ours, peer_scale_bits=PEER_BOOTSTRAP[0], **extra))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
