"""The model's counters against the Verilated core's, for random shapes.

Draws shapes that whorl_core allows, builds each as a library (library.mk), and runs the test
RtlSimulated on it: random n, counts, modes, and memories with random latency, bandwidth and late
beats. Results and all counters must be equal. A seed gives the same shapes again.

--sets [NAME …] takes sets (I), m = 1 … 4, and (II), m = 2, with one PE, not random shapes.

python3 rtl/sim/configurations.py --test build/make/tests/whorl_tests_unit_backend --shapes 12
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from common import records  # noqa: E402

Shape = dict[str, int]
BEATS = (64, 128, 256, 512, 1024)
# Of random shapes. More multipliers, of all PEs, take minutes to compile.
MOST_LOG_N, MOST_N, MOST_PES, MOST_MULTIPLIERS = 8, 24, 4, 360
TEST = "RtlSimulated.CountsTheCyclesOfTheModel"


def multipliers(shape: Shape) -> int:
    """Modular multipliers: rtl/README.md, section 8."""
    b = 1 << shape["LOG_B"]
    a_pe = shape["LOG_N"] * (2 * shape["L"] + 2) + (8 * shape["L"] << shape["M"])
    return shape["PES"] * b * a_pe


def draw(of: random.Random) -> Shape:
    """A shape of few multipliers that the core allows."""
    while True:
        log_n, digits, digits_ks = of.randint(6, MOST_LOG_N), of.randint(1, 4), of.randint(1, 10)
        mem, ksk = of.choice(BEATS), of.choice(BEATS)
        rows = digits_ks << log_n
        shape = {
            "LOG_N": log_n,
            "L": digits,
            "LOG_BG": of.randint(1, min(31, 33 // digits)),
            "M": of.randint(1, 4),
            "PES": of.randint(1, MOST_PES),
            "LOG_B": of.randint(0, log_n - 6),
            "K": of.randint(1, 5),
            "MEM_BITS": mem,
            "BK_PORTS": of.randint(1, 8),
            "KSK_BITS": ksk,
            "MAX_N_LWE": of.randint(1, MOST_N),
            "L_KS": digits_ks,
            "LOG_BKS": of.randint(1, min(8, 32 // digits_ks)),
            "KS_LANES": max(mem, ksk) // 32 * of.randint(1, 8),
            "BK_BUFFERS": of.choice((2, 4, 8)),
            "KSK_ROWS": of.choice((2, 3, of.randint(2, rows), rows, 2 * rows)),
        }
        if multipliers(shape) <= MOST_MULTIPLIERS:
            return shape


def sets() -> dict[str, Shape]:
    """Sets (I) and (II) of the paper, as rtl/sim/Makefile simulates them: one PE, three places."""
    one: Shape = dict(LOG_N=10, L=2, LOG_BG=10, M=1, PES=1, LOG_B=0, K=3, MEM_BITS=512, BK_PORTS=1)
    one |= dict(KSK_BITS=512, MAX_N_LWE=500, L_KS=8, LOG_BKS=2, KS_LANES=512, BK_BUFFERS=4)
    one |= dict(KSK_ROWS=8192)
    wide = dict(M=4, BK_PORTS=4, MEM_BITS=1024, KSK_BITS=1024, KS_LANES=1024)
    return {
        "set (I), m = 1": one,
        "set (I), m = 2": one | dict(M=2, BK_PORTS=2),
        "set (I), m = 3": one | dict(M=3, BK_PORTS=4),
        "set (I), m = 4": one | wide,
        "set (II), m = 2": one
        | dict(LOG_N=11, L=3, LOG_BG=7, M=2, BK_PORTS=2, MAX_N_LWE=592, KSK_ROWS=2),
    }


def build(shape: Shape, folder: Path, quick: bool) -> Path:
    """The shape's library."""
    values = [f"{name}={value}" for name, value in shape.items()]
    library = folder / "whorl_rtl_core.so"
    command = ["make", "-C", str(ROOT / "rtl" / "sim"), "-f", "library.mk"]
    subprocess.run(
        [*command, *(["QUICK=1"] if quick else []), f"BUILD={folder}", f"OUT={library}", *values],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return library


def compare(test: Path, library: Path, runs: int) -> str:
    """Runs the test; what it printed if results or counters differ."""
    environment = {**os.environ, "WHORL_RTL_CORE": str(library), "WHORL_RTL_RUNS": str(runs)}
    done = subprocess.run(
        [str(test), f"--gtest_filter={TEST}"],
        env=environment,
        capture_output=True,
        text=True,
    )
    ran = re.search(r"\[  PASSED  \] 1 test", done.stdout) and "SKIPPED" not in done.stdout
    return "" if done.returncode == 0 and ran else done.stdout + done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", type=Path, required=True, help="whorl_tests_unit_backend")
    parser.add_argument("--shapes", type=int, default=12)
    parser.add_argument("--sets", nargs="*", choices=sets(), help="the paper's sets; default: all")
    parser.add_argument("--first", type=int, default=0, help="shapes that are left out")
    parser.add_argument("--runs", type=int, default=6, help="of each shape")
    parser.add_argument("--seed", type=int, help="of the shapes; default: the time")
    parser.add_argument("--batch", type=int, default=10, help="shapes of a record")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "configurations")
    parser.add_argument("--record", type=Path, help="a .jsonl file")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    of = random.Random(seed)
    named = options.sets is not None
    if named:
        names = options.sets or list(sets())
        shapes, batches = [sets()[name] for name in names], [(x, n, 1) for n, x in enumerate(names)]
    else:
        shapes, size = [draw(of) for _ in range(options.shapes)], options.batch
        batches = [("random shapes", n, size) for n in range(options.first, len(shapes), size)]
    folder = options.build.resolve() / str(seed)
    wrong = done = 0
    for name, first, size in batches:
        batch = shapes[first : first + size]
        mismatches = []
        started = time.monotonic()
        for place, shape in enumerate(batch, first):
            library = build(shape, folder, quick=not named)
            said = compare(options.test.resolve(), library, options.runs)
            shutil.rmtree(folder)
            verdict = "differs" if said else "the same"
            print(f"{place + 1}/{len(shapes)} {verdict}: {shape}", flush=True)
            if said:
                print(said)
                mismatches.append(shape)
        wrong += len(mismatches)
        done += len(batch)
        line = records.stamped(
            "rtl_configurations",
            "model_against_core",
            "binfhe",
            name,
            [float(len(mismatches))],
            device="rtl",
            unit="mismatches",
            transfers=None,
            runs=options.runs * len(batch),
            seed=seed,
            first=first,
            shapes=len(batch),
            wrong=mismatches,
            seconds=round(time.monotonic() - started),
        )
        records.append(options.record, line)
    print(
        f"RTL-CONFIGURATIONS seed={seed} shapes={done} runs={options.runs * done} wrong={wrong} "
        f"{'FAILED' if wrong else 'PASSED'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
