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
    # Key switching and the exponents of the monomials take shifts and sums.
    assert design.dsp() == 3 * 188
    # Synthesis of the modules of a PE, m = 1: 276 slices (bench/results/synthesis).
    assert _rtl.design_for("fpga/I_M1").dsp() == 276
    with pytest.raises(ParameterError, match="W128_P128"):
        _rtl.design_for("W128_P128")


def test_rates_are_those_of_the_counters() -> None:
    point = _rtl.measure("small", "chip", replace(SMALL, pes=2), CHIP)
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
    found = _rtl.candidates(SMALL, CHIP)
    assert found
    for design in found:
        assert design.dsp() <= CHIP.dsp
        assert design.sram_mb() <= CHIP.sram_mb
    assert not _rtl.candidates(SMALL, replace(CHIP, dsp=100))


def test_estimates_are_near_what_the_model_counts() -> None:
    whole = SMALL.all_ksk_rows
    for design in (
        replace(SMALL, pes=2),
        replace(SMALL, pes=2, log_b=1, ksk_rows=whole),
        replace(SMALL, M=4, bk_ports=4, K=4, ksk_rows=whole),
        replace(SMALL, K=6, ks_lanes=32, mem_bits=128, ksk_bits=128),
    ):
        said = _rtl.estimate(design, CHIP)
        point = _rtl.measure("small", "chip", design, CHIP)
        assert said.throughput * CHIP.mhz * 1e6 == pytest.approx(point.throughput, rel=0.1)
        assert said.latency_full / (CHIP.mhz * 1e6) == pytest.approx(point.latency_full, rel=0.25)


def test_what_limits_a_design() -> None:
    base = replace(SMALL, pes=2, bk_ports=4, K=4, ksk_rows=SMALL.all_ksk_rows)
    assert _rtl.measure("small", "chip", base, CHIP).limit == "multipliers"
    narrow = replace(base, M=4, bk_ports=1, mem_bits=64)
    assert _rtl.measure("small", "chip", narrow, CHIP).limit == "the key"
    assert _rtl.measure("small", "chip", replace(base, K=1), CHIP).limit == "the accumulator"
    few = replace(base, ks_lanes=16, ksk_bits=64, mem_bits=64, bk_ports=8)
    assert _rtl.measure("small", "chip", few, CHIP).limit == "key switching"


def test_rows_at_once_and_the_whole_key() -> None:
    two = replace(SMALL, ks_lanes=64)
    assert (SMALL.rows_at_once, two.rows_at_once) == (4, 2)
    assert replace(two, L_ks=3).rows_at_once == 1
    whole = replace(two, ksk_rows=two.all_ksk_rows)
    beats = [_rtl.measure("small", "chip", d, CHIP).counters["KSK_BEATS"] for d in (two, whole)]
    # Once a batch of the four, or not again after the first of a run.
    assert beats == [4 * two.all_ksk_rows * two.ksk_row_beats, 0]
    assert whole.sram_mb() > two.sram_mb()


def test_the_front_is_not_beaten() -> None:
    slow = _rtl.measure("small", "chip", SMALL, CHIP)
    fast = replace(slow, throughput=2 * slow.throughput)
    quick = replace(slow, latency_full=slow.latency_full / 2)
    small = replace(slow, share=slow.share / 2)
    assert _rtl.front([slow, small, quick, fast]) == [fast, quick, small]
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
    # Products are recorded for one butterfly a stage, and there are b of them.
    records.append({"op": "mac", "params": "mac, LOG_B=0, L=2", "unit": "LUT", "median": 10})
    records.append({"op": "loader", "params": "loader, PES=99", "unit": "LUT", "median": 7})
    text = "\n".join(json.dumps(record) for record in records)
    (tmp_path / "modules.jsonl").write_text(text + "\n", encoding="utf-8")
    total, missing = _rtl.logic(replace(SMALL, log_b=2), tmp_path)
    assert "mac" not in missing and "ntt" in missing and "loader" in missing
    assert total["LUT"] == 40 * SMALL.pes


def test_explore(shell, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    plot = tmp_path / "front.svg"
    arguments = ("rtl", "explore", "--params", "fpga/I_M2", "--chip", "table2_I_m2", "--most", "1")
    lines = shell(*arguments, "--json", "--plot", str(plot)).splitlines()
    (record,) = [json.loads(line) for line in lines]
    assert record["throughput"] > 5000 and record["dsp"] <= 7202 and record["front"]
    assert record["latency"] < record["latency_full"]
    assert plot.read_text(encoding="utf-8").startswith("<?xml")
