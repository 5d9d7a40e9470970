"""rtl/README.md: the table of proofs, from proofs.py and the records of run.py.

python3 rtl/proof/page.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from common.records import RESULTS, read  # noqa: E402
from common.tables import table, write_measured  # noqa: E402
from proofs import PROOFS  # noqa: E402

PAGE, SCRIPT = ROOT / "rtl" / "README.md", "rtl/proof/page.py"


def lines() -> list[str]:
    seconds = {r["op"]: r["median"] for r in read(RESULTS / "proofs" / "proofs.jsonl")}
    rows = []
    for name, proof in PROOFS.items():
        shape = ", ".join(f"{k} = {v}" for k, v in proof.parameters.items())
        took = f"{seconds[name]:.0f}" if name in seconds else "not recorded"
        rows.append([f"`{name}`", proof.says, shape, proof.method(), took])
    return table(["proof", "what it says", "parameters", "method", "CPU s"], rows)


if __name__ == "__main__":
    write_measured(PAGE, SCRIPT, lines())
