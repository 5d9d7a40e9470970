"""What warps of each kind of transform wait for, by Nsight Compute: TensorFHE's Figures 4, 10.

    python bench/kernel_stalls.py --program build/make/bench/bench_tensorfhe [--device 0]
        [--name h200] [--record FILE] [--commit ID]

Runs `bench_tensorfhe --profile` under `ncu`, which must be on PATH and may need root. A record is
of one kernel: "stalls" has the share of a warp's time by what it waits for, in Nsight's words;
"selected" is the share in which it issues an instruction, "not_selected" that in which it could.
The median is the share of all stalls, which is what is left. Kernels of several launches are
averages by their time. Records belong in bench/results/<device>/tensorfhe.jsonl.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from common.records import append, stamped

KERNELS = "ntt_kernel|product_of_words|product_of_bytes|convert"
REASON = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio")
TIME = "gpu__time_duration.sum"


def profile(program: Path, device: int) -> dict[str, list[tuple[float, dict[str, float]]]]:
    """For each kernel its launches: nanoseconds, and warps by reason."""
    command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    command += ["--section", "WarpStateStats", "--metrics", TIME]
    command += ["--kernel-name-base", "function", "--kernel-name", f"regex:^({KERNELS})$"]
    command += [str(program), "--profile", "--device", str(device)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    table = [line for line in done.stdout.splitlines() if line.startswith('"')]
    launches = defaultdict(list)
    for row in csv.DictReader(table):
        if not row["ID"]:  # the line of units
            continue
        reasons = {
            found[1]: float(value.replace(",", ""))
            for name, value in row.items()
            if (found := REASON.fullmatch(name)) and not found[1].endswith("_not_issued")
        }
        launches[row["Kernel Name"]].append((float(row[TIME].replace(",", "")), reasons))
    return launches


def main() -> int:
    """Profiles, and records."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--name", default="h200", help="of the GPU, for the records")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--commit", help="of the sources, where there is no repository")
    options = parser.parse_args()
    for kernel, launches in profile(options.program, options.device).items():
        whole = sum(time for time, _ in launches)
        shares: dict[str, float] = defaultdict(float)
        for time, reasons in launches:
            for reason, warps in reasons.items():
                shares[reason] += time / whole * warps / sum(reasons.values())
        stalled = sum(
            v for reason, v in shares.items() if reason not in ("selected", "not_selected")
        )
        line = stamped(
            "tensorfhe",
            "stalls",
            "ckks",
            "N=65536, limbs 45",
            [round(stalled, 4)],
            device=options.name,
            batch=8,
            transfers="excluded",
            unit="share",
            kernel=kernel,
            launches=len(launches),
            stalls={reason: round(share, 4) for reason, share in shares.items() if share >= 5e-5},
            **({"commit": options.commit} if options.commit else {}),
        )
        print(line, flush=True)
        append(options.record, line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
