"""Lints the accelerator with slang: all of rtl/src, the assertions, and the top of cocotb's tests.

    python3 rtl/sim/slang_lint.py

Needs pyslang. Warnings are errors.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyslang.driver import Driver

RTL = Path(__file__).resolve().parents[1]


def main() -> int:
    files = [
        RTL / "src" / "whorl_pkg.sv",
        *sorted(RTL.glob("src/*/*.sv")),
        *sorted((RTL / "sim").glob("*_checker.sv")),
        RTL / "cocotb" / "core_tb.sv",
    ]
    driver = Driver()
    driver.addStandardArgs()
    arguments = [
        "slang",
        "-Wextra",
        "-Wno-useless-cast",
        "-Werror",
        "--top",
        "core_tb",
        *(str(f) for f in files),
    ]
    good = (
        driver.parseCommandLine(" ".join(f'"{a}"' for a in arguments))
        and driver.processOptions()
        and driver.parseAllSources()
        and driver.runFullCompilation()
    )
    print("slang: clean" if good else "slang: FAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
