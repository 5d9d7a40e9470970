"""docs/papers: what papers print of FHEW/TFHE on GPUs, beside Whorl's records.

    .venv/bin/python bench/papers.py

Figures of the papers are those of bench/paper_figures.py. Whorl's are the last records of
bench/results/h200/gpu.jsonl and h200x2 (bench_gpu), h200/transforms.jsonl
(bench_cuda_transforms), h200/tree.jsonl (bench_tree) and cpu/noise.jsonl (bench_noise). Writes the
part of each page between its markers, and docs/plots/paper-*.svg. What has no record says so.
Security and failures are what the module `whorl` estimates.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import paper_velofhe
import paper_xiao
from common.records import ROOT, write_measured
from paper_records import Measured

PAGES = {"xiao.md": paper_xiao.lines, "velofhe.md": paper_velofhe.lines}
PAPERS = ROOT / "docs" / "papers"


def main() -> int:
    measured = Measured.load()
    for name, lines in PAGES.items():
        write_measured(PAPERS / name, "bench/papers.py", lines(measured, ROOT / "docs" / "plots"))
    return 0


def lines_of(name: str, plots: Path) -> list[str]:
    """What a page has between its markers; its plots go to a folder."""
    return PAGES[name](Measured.load(), plots)


if __name__ == "__main__":
    sys.exit(main())
