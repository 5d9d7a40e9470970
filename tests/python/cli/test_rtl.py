"""`whorl rtl explore`, and the designs behind it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from whorl import _rtl
from whorl.errors import ParameterError

SMALL = _rtl.Design(n=24, log_N=8, L=2, log_Bg=10, M=2, L_ks=4, log_Bks=4, ks_lanes=128)
CHIP = _rtl.Chip("a chip", dsp=3000, sram_mb=100, gb_s=77, mhz=180)


def test_designs_of_named_sets() -> None:
    design = _rtl.design_for("fpga/I_M3")
    assert (design.n, design.log_N, design.L, design.log_Bg, design.M) == (500, 10, 2, 10, 3)
    assert (design.L_ks, design.log_Bks) == (8, 2)
    assert design.multipliers_a_pe == 60 + 8 * 16
    assert design.dsp() == 4 * 188  # key switching takes shifts and sums
    with pytest.raises(ParameterError, match="W128_P128"):
        _rtl.design_for("W128_P128")


def test_rates_are_those_of_the_counters() -> None:
    point = _rtl.measure("small", "chip", replace(SMALL, pes=2), CHIP)
    assert point.counters["RESULTS"] == 4 * point.design.capacity
    assert 0.1 < point.utilisation <= 1
    assert point.throughput * point.latency > 0
    # No more than a row a cycle.
    slots = point.design.steps * point.design.rows
    assert point.throughput <= 1.001 * CHIP.mhz * 1e6 * point.design.pes / slots


def test_candidates_fit_the_chip() -> None:
    found = _rtl.candidates(SMALL, CHIP)
    assert found
    for design in found:
        assert design.dsp() <= CHIP.dsp
        assert design.sram_mb() <= CHIP.sram_mb
    assert not _rtl.candidates(SMALL, replace(CHIP, dsp=100))


def test_the_front_is_not_beaten() -> None:
    slow = _rtl.measure("small", "chip", SMALL, CHIP)
    fast = replace(slow, throughput=2 * slow.throughput)
    quick = replace(slow, latency=slow.latency / 2)
    assert _rtl.front([slow, fast, quick]) == [fast, quick]
    assert _rtl.front([slow]) == [slow]


def test_logic_needs_records_of_every_module(tmp_path: Path) -> None:
    total, missing = _rtl.logic(SMALL, tmp_path)
    assert "ntt" in missing and total["LUT"] == 0
    records = [
        {"op": "ntt", "params": "LOG_N=8, LOG_B=0", "unit": "LUT", "median": 100},
        {"op": "ntt", "params": "LOG_N=9, LOG_B=0", "unit": "LUT", "median": 900},
    ]
    text = "\n".join(json.dumps(record) for record in records)
    (tmp_path / "modules.jsonl").write_text(text + "\n", encoding="utf-8")
    total, missing = _rtl.logic(SMALL, tmp_path)
    assert "ntt" not in missing and "bku" in missing
    assert total["LUT"] == 400  # 2L transforms of the design's size


def test_explore(shell, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    plot = tmp_path / "front.svg"
    arguments = ("rtl", "explore", "--params", "fpga/I_M2", "--chip", "table2_I_m2", "--most", "1")
    lines = shell(*arguments, "--json", "--plot", str(plot)).splitlines()
    (record,) = [json.loads(line) for line in lines]
    assert record["throughput"] > 5000 and record["dsp"] <= 7202 and record["front"]
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
