"""Files for other tools name all modules and parameters of the accelerator."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

RTL = Path(__file__).resolve().parents[2] / "rtl"
SOURCES = ["src/whorl_pkg.sv", *sorted(str(p.relative_to(RTL)) for p in RTL.glob("src/*/*.sv"))]


def parameters() -> dict[str, int]:
    """Parameters of whorl_core, with their values."""
    head = (RTL / "src/top/whorl_core.sv").read_text().split(") (")[0]
    return {name: int(value) for name, value in re.findall(r"parameter int (\w+) = (\d+)", head)}


def test_core_file_lists_all_modules() -> None:
    listed = re.findall(r"^ +- (src/\S+\.sv)$", (RTL / "whorl.core").read_text(), re.MULTILINE)
    assert listed == SOURCES


def test_core_file_names_files_that_exist() -> None:
    listed = re.findall(
        r"^ +- ((?:src|sim|vendor)/[\w./]+)", (RTL / "whorl.core").read_text(), re.M
    )
    assert listed
    assert [name for name in listed if not (RTL / name).is_file()] == []


def test_core_file_has_all_parameters() -> None:
    text = (RTL / "whorl.core").read_text().split("\nparameters:\n")[1]
    listed = re.findall(r"^  (\w+):\n    datatype: int\n    default: (\d+)", text, re.MULTILINE)
    assert {name: int(value) for name, value in listed} == parameters()


def test_core_file_sets_parameters_that_exist() -> None:
    text = (RTL / "whorl.core").read_text()
    used = set(re.findall(r"(\w+)=\d+[,\]]", text.replace("-D", "")))
    assert used
    assert used <= set(parameters())


def made(name: str) -> dict[str, int]:
    """Parameters of the core that sim/Makefile simulates under this name."""
    line = re.search(rf"call core,{name},([\d,]+),", (RTL / "sim/Makefile").read_text())
    assert line
    places = "LOG_N L LOG_BG M PES LOG_B K MAX_N_LWE L_KS LOG_BKS KS_LANES MEM_BITS BK_PORTS"
    values = map(int, line[1].split(","))
    return dict(zip([*places.split(), "KSK_BITS", "KSK_ROWS"], values, strict=True))


def test_core_file_simulates_core_small() -> None:
    """The bench and its parameters are those of sim/Makefile."""
    text = (RTL / "whorl.core").read_text().split("\n  sim:\n")[1].split("\n  synth:\n")[0]
    wanted = made("core_small")
    values = re.findall(r"[\[ ](\w+)=(\d+)", text)
    assert {name: int(value) for name, value in values} == wanted
    defines = re.findall(r"-D(\w+)=(\d+)", text)
    same = {"DIGITS": "L", "GROUP": "M", "PLACES": "K", "LWE_N": "MAX_N_LWE"}
    assert {same.get(name, name): int(value) for name, value in defines} == {
        name: value for name, value in wanted.items() if name not in ("KS_LANES", "KSK_ROWS")
    }


def test_sets_are_compared_with_the_model_as_they_are_simulated(
    tool: Callable[..., ModuleType],
) -> None:
    sets = tool("configurations", "rtl/sim").sets()
    assert len(sets) == 5
    for name, shape in sets.items():
        found = re.fullmatch(r"set \((I+)\), m = (\d)", name)
        assert found
        wanted = made(f"set_{len(found[1])}_m{found[2]}")
        assert {key: shape[key] for key in wanted} == wanted, name


# Vivado's commands, which write down how they were called.
STUBS = """
foreach name {read_verilog read_xdc synth_design write_checkpoint report_utilization
              report_timing_summary opt_design place_design phys_opt_design route_design
              report_power report_drc} {
    proc $name args "puts \\"$name \\$args\\""
}
set argv [lrange $argv 1 end]
source [lindex $::env(BUILD_TCL)]
"""


def vivado(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    tclsh = shutil.which("tclsh")
    if tclsh is None:
        pytest.skip("there is no tclsh")
    (tmp_path / "stubs.tcl").write_text(STUBS)
    return subprocess.run(
        [tclsh, str(tmp_path / "stubs.tcl"), "--", *arguments],
        cwd=tmp_path,
        env={"BUILD_TCL": str(RTL / "vendor/build.tcl")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_build_script_reads_all_modules(tmp_path: Path) -> None:
    done = vivado(tmp_path, "-to", "synth", "PES=3", "M=1")
    assert done.returncode == 0, done.stderr
    read = re.search(r"read_verilog -sv \{(.*)\}", done.stdout)
    assert read is not None
    assert [str(Path(p).relative_to(RTL)) for p in read.group(1).split()] == SOURCES
    assert "-generic {PES=3 M=1}" in done.stdout
    assert "place_design" not in done.stdout
    assert (tmp_path / "build/vendor").is_dir()


def test_build_script_places_and_routes(tmp_path: Path) -> None:
    done = vivado(tmp_path, "-out", "here", "-part", "some-part")
    assert done.returncode == 0, done.stderr
    steps = re.findall(r"^(\w+_design)", done.stdout, re.MULTILINE)
    assert steps == [
        "synth_design",
        "opt_design",
        "place_design",
        "phys_opt_design",
        "route_design",
        "phys_opt_design",
    ]
    assert "-part some-part" in done.stdout


def test_build_script_knows_the_parameters(tmp_path: Path) -> None:
    every = [f"{name}={value}" for name, value in parameters().items()]
    assert vivado(tmp_path, "-to", "synth", *every).returncode == 0
    for wrong in ("PE=3", "PES=three", "-fast", "-to"):
        assert vivado(tmp_path, wrong).returncode != 0


def test_constraints_name_ports_that_exist() -> None:
    text = (RTL / "vendor/whorl_core.xdc").read_text()
    top = (RTL / "src/top/whorl_core.sv").read_text()
    named = re.findall(r"\[get_ports (\w+)\]", text) + re.findall(r'NAME != "(\w+)"', text)
    assert named
    assert [p for p in named if not re.search(rf"input +logic +{p},", top)] == []
