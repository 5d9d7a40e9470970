"""Writes the parts of pages that are made of records, and their plots.

    .venv/bin/python bench/pages.py [PAGE …]      all, if none is named

Pages are named as below docs. Each module makes the parts of one page, from the last record of each
thing in bench/results; the page has the words around them. What has no records is left out, and the
part says so. Those of the accelerator are made by rtl/synth/page.py and rtl/proof/page.py.
"""

import sys

import bgv_report
import ckks_report
import gpu_report
import noise_table
import paper_velofhe
import paper_xiao
from common.records import ROOT
from common.tables import write_measured

DOCS = ROOT / "docs"
SCRIPT = "bench/pages.py"
PAGES = {
    "bgv-performance.md": bgv_report.measured,
    "ckks-performance.md": ckks_report.measured,
    "gpu.md": gpu_report.measured,
    "noise.md": noise_table.measured,
    "papers/velofhe.md": paper_velofhe.measured,
    "papers/xiao.md": paper_xiao.measured,
}


def main() -> int:
    for name in sys.argv[1:] or PAGES:
        for part, lines in PAGES[name](DOCS / "plots").items():
            write_measured(DOCS / name, f"{SCRIPT} {part}", lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
