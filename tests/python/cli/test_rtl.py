"""`whorl rtl explore`, and the designs behind it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import ROOT
from whorl._rtl import costs
from whorl._rtl import modules as rtl_modules
from whorl._rtl.design import MOST_BITS, MOST_PORTS, Design
from whorl.errors import ParameterError

SMALL = Design(n=24, log_N=8, L=2, log_Bg=10, M=2, L_ks=4, log_Bks=4, ks_lanes=128)
CHIP = costs.Chip(
    "a chip", "part", dsp=3000, sram_mb=100, gb_s=77, mhz=180, lut=10**6, ff=10**6, source=""
)
SYNTHESIS = ROOT / "bench" / "results" / "synthesis"


def lines_of(design: Design, **units: float) -> list[dict[str, object]]:
    """Records of all its modules, each with one of every unit, or so many."""
    takes = dict.fromkeys(rtl_modules.UNITS, 1.0) | units
    modules = [m for role, m in rtl_modules.modules_of(design).items() if role != "pe"]
    return [
        {"op": m[0], "params": rtl_modules.written(m), "unit": unit, "median": value}
        for m in modules
        for unit, value in takes.items()
    ]


def test_designs_of_named_sets() -> None:
    design = costs.design_for("fpga/I_M3")
    assert (design.n, design.log_N, design.L, design.log_Bg, design.M) == (500, 10, 2, 10, 3)
    assert (design.L_ks, design.log_Bks) == (8, 2)
    assert design.multipliers_a_pe == 60 + 8 * 16
    # Key switching and the exponents of the monomials take shifts and sums.
    assert design.dsp() == 3 * 188
    # Synthesis of the modules of a PE, m = 1: 276 slices (bench/results/synthesis).
    assert costs.design_for("fpga/I_M1").dsp() == 276
    with pytest.raises(ParameterError, match="W128_P128"):
        costs.design_for("W128_P128")


def test_rates_are_those_of_the_counters() -> None:
    point = costs.measure("small", "chip", replace(SMALL, pes=2), CHIP)
    assert point.counters["RESULTS"] == 4 * point.design.capacity
    assert 0.1 < point.utilisation <= 1
    # A batch takes longer than one of its ciphertexts, and one batch after the other less.
    assert 0 < point.latency < point.latency_full
    assert point.throughput > point.design.capacity / point.latency_full
    assert point.share == max(point.dsp / CHIP.dsp, point.sram_mb / CHIP.sram_mb)
    # No more than a row a cycle.
    slots = point.design.steps * point.design.rows
    assert point.throughput <= 1.001 * CHIP.mhz * 1e6 * point.design.pes / slots


def test_candidates_fit_the_chip() -> None:
    found = costs.candidates(SMALL, CHIP, {})
    assert found
    for design in found:
        assert design.dsp() <= CHIP.dsp
        assert design.sram_mb() <= CHIP.sram_mb
    assert not costs.candidates(SMALL, replace(CHIP, dsp=100), {})


def test_estimates_are_near_what_the_model_counts() -> None:
    whole = SMALL.all_ksk_rows
    for design in (
        replace(SMALL, pes=2),
        replace(SMALL, pes=2, log_b=1, ksk_rows=whole),
        replace(SMALL, M=4, bk_ports=4, K=4, ksk_rows=whole),
        replace(SMALL, K=6, ks_lanes=32, mem_bits=128, ksk_bits=128),
    ):
        said = costs.estimate(design, CHIP)
        point = costs.measure("small", "chip", design, CHIP)
        assert said.throughput * CHIP.mhz * 1e6 == pytest.approx(point.throughput, rel=0.1)
        assert said.latency_full / (CHIP.mhz * 1e6) == pytest.approx(point.latency_full, rel=0.25)


def test_what_limits_a_design() -> None:
    base = replace(SMALL, pes=2, bk_ports=4, K=4, ksk_rows=SMALL.all_ksk_rows)
    assert costs.measure("small", "chip", base, CHIP).limit == "multipliers"
    narrow = replace(base, M=4, bk_ports=1, mem_bits=64)
    assert costs.measure("small", "chip", narrow, CHIP).limit == "the key"
    assert costs.measure("small", "chip", replace(base, K=1), CHIP).limit == "the accumulator"
    few = replace(base, ks_lanes=16, ksk_bits=64, mem_bits=64, bk_ports=8)
    assert costs.measure("small", "chip", few, CHIP).limit == "key switching"


def test_rows_at_once_and_the_whole_key() -> None:
    two = replace(SMALL, ks_lanes=64)
    assert (SMALL.rows_at_once, two.rows_at_once) == (4, 2)
    assert replace(two, L_ks=3).rows_at_once == 1
    whole = replace(two, ksk_rows=two.all_ksk_rows)
    beats = [costs.measure("small", "chip", d, CHIP).counters["KSK_BEATS"] for d in (two, whole)]
    # Once a batch of the four, or not again after the first of a run.
    assert beats == [4 * two.all_ksk_rows * two.ksk_row_beats, 0]
    assert whole.sram_mb() > two.sram_mb()


def test_the_front_is_not_beaten() -> None:
    slow = costs.measure("small", "chip", SMALL, CHIP)
    fast = replace(slow, throughput=2 * slow.throughput)
    quick = replace(slow, latency_full=slow.latency_full / 2)
    small = replace(slow, share=slow.share / 2)
    assert costs.front([slow, small, quick, fast]) == [fast, quick, small]
    assert costs.front([slow]) == [slow]


def test_chips_have_what_the_vendor_says() -> None:
    for chip in costs.chips().values():
        assert (chip.part, chip.lut, chip.ff) == ("xcvu13p", 1_728_000, 3_456_000)
        assert "DS890" in chip.source


def test_candidates_fit_the_luts_that_are_known() -> None:
    # All that synthesis knows is a transform of one butterfly.
    name = "ntt, LOG_N=8, LOG_B=0"
    for unit in ("LUT", "FF"):
        takes = dict.fromkeys(rtl_modules.UNITS, 0.0) | {unit: 10_000.0}
        records = rtl_modules.by_module(
            {"params": name, "unit": u, "median": value} for u, value in takes.items()
        )
        free = [d.pes for d in costs.candidates(SMALL, CHIP, {}) if d.log_b == 0]
        held = [d.pes for d in costs.candidates(SMALL, CHIP, records) if d.log_b == 0]
        # 2L = 4 of them a PE.
        units: dict[str, Any] = {unit.lower(): 4 * 10_000 * (max(free) - 1)}
        small = replace(CHIP, **units)
        least = [d.pes for d in costs.candidates(SMALL, small, records) if d.log_b == 0]
        assert max(held) == max(free) > 1
        assert max(least) == max(free) - 1


def test_logic_is_the_sum_of_the_modules() -> None:
    design = replace(SMALL, pes=3, log_b=1, bk_ports=2)
    takes, missing = rtl_modules.logic(design, rtl_modules.by_module(lines_of(design, FF=10)))
    assert missing == []
    # 4 transforms, 2 back, 8 digits, 2 of each product, accumulator, monomials.
    a_pe = 4 + 2 + 8 + 2 + 2 + 1 + 1
    # 2 chunk buffers, 4 readers, and nine more: word_beats, too.
    assert takes["LUT"] == 3 * a_pe + 2 + 4 + 9
    assert takes["FF"] == 10 * takes["LUT"]


def test_logic_takes_a_flat_pe_if_there_is_one() -> None:
    design = replace(SMALL, pes=2)
    lines = lines_of(design)
    pe = rtl_modules.written(rtl_modules.modules_of(design)["pe"])
    lines += [{"params": pe, "unit": unit, "median": 500.0} for unit in rtl_modules.UNITS]
    takes, missing = rtl_modules.logic(design, rtl_modules.by_module(lines))
    assert missing == []
    assert takes["LUT"] == 2 * 500 + 1 + 3 + 9


@pytest.mark.parametrize("role", sorted(rtl_modules.modules_of(SMALL).keys() - {"pe"}))
def test_a_module_of_another_shape_is_missing(role: str) -> None:
    """A record that differs in one parameter alone does not count."""
    top, parameters = rtl_modules.modules_of(SMALL)[role]
    lines = lines_of(SMALL)
    written = rtl_modules.written((top, parameters))
    _, missing = rtl_modules.logic(SMALL, rtl_modules.by_module(lines))
    assert missing == []
    for name in parameters:
        other = rtl_modules.written((top, parameters | {name: parameters[name] + 1}))
        moved = [line | {"params": other} if line["params"] == written else line for line in lines]
        # One that matches in all but this parameter, and stands last.
        _, missing = rtl_modules.logic(SMALL, rtl_modules.by_module(moved))
        assert missing == [(top, parameters)]
    # And neither does one without all units.
    some = [x for x in lines if not (x["params"] == written and x["unit"] == "FF")]
    assert rtl_modules.logic(SMALL, rtl_modules.by_module(some))[1] == [(top, parameters)]


def test_logic_takes_the_record_of_its_own_ports() -> None:
    """Three chunk buffers differ in WORDS alone; there are two of control."""
    own = lines_of(SMALL)
    others = []
    for design in (replace(SMALL, bk_ports=2), replace(SMALL, bk_ports=3)):
        others += [
            line | {"median": 1000.0}
            for line in lines_of(design)
            if line["op"] in ("chunk_buffer", "control")
        ]
    takes, missing = rtl_modules.logic(SMALL, rtl_modules.by_module(own + others))
    assert missing == []
    assert takes["LUT"] < 100


def test_recorded_shapes_of_other_ports_do_not_count() -> None:
    """The repository's own records have chunk buffers and controls of other designs."""
    base = replace(costs.design_for("fpga/I_M2"), pes=2, bk_ports=1)
    records = rtl_modules.read_records(SYNTHESIS)
    _, missing = rtl_modules.logic(base, records)
    for role in ("chunk_buffer", "control"):
        module = rtl_modules.modules_of(base)[role]
        assert any(written.startswith(f"{module[0]}, ") for written in records)
        assert (module in missing) == (rtl_modules.written(module) not in records)


INSTANCES = {
    "reader": "axi_reader",
    "io_reader": "axi_reader_io",
    "ksk_reader": "axi_reader_ksk",
    "writer": "axi_writer",
    "chunks": "chunk_buffer",
    "run": "control",
    "schedule": "sequencer",
    "element": "pe",
    "load": "loader",
    "empty": "drain",
    "switch_key": "key_switch",
    "samples": "word_beats",
}


def test_instances_have_these_parameters() -> None:
    """What the core gives to its modules; a number that is left out is the module's default."""
    source = (ROOT / "rtl" / "src" / "top" / "whorl_core.sv").read_text(encoding="utf-8")
    found = re.findall(r"\b(\w+) #\(((?:[^;])*?)\)\s+(\w+) \(\n", source)
    named = {instance: (top, given) for top, given, instance in found if instance in INSTANCES}
    assert named.keys() == INSTANCES.keys()
    for instance, (top, given) in named.items():
        module, parameters = rtl_modules.modules_of(SMALL)[INSTANCES[instance]]
        assert module == top
        values = dict(re.findall(r"\.(\w+)\(((?:[^()]|\([^()]*\))*)\)", given))
        (path,) = (ROOT / "rtl" / "src").rglob(f"{top}.sv")
        text = path.read_text(encoding="utf-8")
        for name, value in values.items():
            if name in parameters:
                assert not value.isdigit() or int(value) == parameters[name], (instance, name)
            else:
                assert f"parameter int {name} = {value}" in text, (instance, name)
        assert parameters.keys() <= values.keys(), instance


def test_parameters_are_those_of_the_sources() -> None:
    """The modules that synthesis and this package name have these parameters, in this order."""
    for top, parameters in rtl_modules.modules_of(SMALL).values():
        (path,) = (ROOT / "rtl" / "src").rglob(f"{top}.sv")
        head = path.read_text(encoding="utf-8").split("\n) (")[0].split("\n(")[0]
        known = re.findall(r"^ *parameter int (\w+) =", head, re.MULTILINE)
        assert [name for name in known if name in parameters] == list(parameters), top
    core = (ROOT / "rtl" / "src" / "top" / "whorl_core.sv").read_text(encoding="utf-8")
    assert f"BK_PORTS > {MOST_PORTS})" in core
    assert f"power(MEM_BITS, 64, {MOST_BITS})" in core


def test_explore(shell, tmp_path: Path) -> None:
    plot = tmp_path / "front.svg"
    arguments = ("rtl", "explore", "--params", "fpga/I_M2", "--chip", "table2_I_m2", "--most", "1")
    records = ("--synthesis", str(SYNTHESIS))
    lines = shell(*arguments, *records, "--json", "--plot", str(plot)).splitlines()
    (record,) = [json.loads(line) for line in lines]
    assert record["throughput"] > 5000 and record["dsp"] <= 7202 and record["front"]
    assert record["latency"] < record["latency_full"]
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
    # What synthesis does not know is named by its exact shape.
    design = Design(**record["design"])
    takes, missing = rtl_modules.logic(design, rtl_modules.read_records(SYNTHESIS))
    assert record["missing"] == [rtl_modules.written(module) for module in missing]
    assert record["logic"] == takes and takes["LUT"] <= record["chip_lut"]


def test_explore_says_which_luts_are_not_known(shell, tmp_path: Path) -> None:
    arguments = ("rtl", "explore", "--params", "fpga/I_M2", "--most", "1", "--synthesis")
    said = " ".join(shell(*arguments, str(tmp_path)).split())
    assert "All LUT and FF are known of 0 of 1 designs" in said
    assert "1,728 K LUT and 3,456 K FF" in said
    assert "has no records of some shapes of accumulator" in said
