"""docs/ckks-performance.md says what the records say, and new records reach its tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import ROOT

pytest.importorskip("matplotlib")

BOOTSTRAP = "depth=13, scale=2^40, N=65536, limbs 47 + 12, dnum 4, slots 32768, complex"
OPERATION = "depth=32, scale=2^40, N=65536, limbs 45 of 47 + 12, dnum 4"
STEPS = ("to_coefficients", "raise", "to_slots", "angles", "sine", "result")


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    # The applications have a package of the same name as the benches.
    for name in [name for name in sys.modules if name.split(".")[0] == "common"]:
        monkeypatch.delitem(sys.modules, name)
    import ckks_report

    return ckks_report


def record(op: str, params: str, median: float, **members: Any) -> str:
    line = {"op": op, "params": params, "median": median, "batch": 1, "peer": None}
    more = {"security_bits": 128.2, "commit": "abc1234"}
    return json.dumps({**line, **more, **members}) + "\n"


def test_the_page_agrees_with_the_records(report: ModuleType, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ckks-performance.md").read_text(encoding="utf-8")
    between = page.split("<!-- measured: bench/ckks_report.py -->")[1]
    between = between.split("<!-- end of measured -->")[0]
    lines = report.measured(tmp_path)
    assert between.strip().splitlines() == "\n".join(lines).strip().splitlines(), (
        "run .venv/bin/python bench/ckks_report.py"
    )
    for drawn in tmp_path.glob("*.svg"):
        assert (ROOT / "docs" / "plots" / drawn.name).exists(), drawn.name


def test_records_of_a_gpu_reach_tables_and_plots(
    report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ckks_records

    folder = tmp_path / "h200"
    folder.mkdir()
    bootstraps = [
        record("bootstrap", BOOTSTRAP, 1.0),  # of two records the last counts
        record("bootstrap", BOOTSTRAP, 0.0125),
        record("bootstrap", BOOTSTRAP, 0.072, batch=8),
        record("bootstrap", BOOTSTRAP.replace("32768", "256"), 0.005),
        record("bootstrap_bits", BOOTSTRAP, 21.25, values="random", runs=100),
        record("bootstrap_bits", BOOTSTRAP, 20.75, values="constant 1", runs=1),
        *(record(op, BOOTSTRAP, 1e-3 * (i + 1)) for i, op in enumerate(STEPS)),
    ]
    (folder / "ckks_bootstrap.jsonl").write_text("".join(bootstraps))
    operations = [
        record("mult_relin", OPERATION, 300e-6, waited=True),
        record("mult_relin", OPERATION, 280e-6, waited=False),
        record("mult_relin", OPERATION, 1600e-6, waited=False, batch=8),
        record(
            "mult_relin",
            "depth=44, scale=2^28, N=65536, limbs 45 of 45 + 1, dnum 45",
            0.0896,
            waited=False,
            batch=128,
        ),
    ]
    (folder / "ckks.jsonl").write_text("".join(operations))
    monkeypatch.setattr(ckks_records, "RESULTS", tmp_path)

    page = "\n".join(report.measured(tmp_path))
    rows = page.splitlines()
    assert "| multiply + relinearise | 0.42 | 1.35 | 3.14 | 0.3 | 0.2 | 1.4× |" in rows
    assert "| bootstrap, complex | 21 |  | 76.4 | 12.5 | 9 | 1.7× |" in rows
    assert "| coefficients to slots | 3 | 1.31 | 0.94 | 1.00 |" in rows
    assert "| raise, and split real from imaginary | 6 | 0.12 | 0.09 | 0.03 |" in rows
    assert "| a whole bootstrap | 12.5 |  |  |  |" in rows
    assert "| bootstrap, complex | `W128_L13_B20` | 8 | 9 | 111 |" in rows
    assert "| Whorl, H200 | 128 | 0.7 |  |  |  |  |" in rows
    assert "| Whorl, H200 | `W128_L13_B20`, complex | 8 | 9 | 20.8 |" in rows
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert drawn == {"ckks-phases.svg", "ckks-precision.svg", "ckks-batches.svg"}
    for name in drawn:
        assert f"](plots/{name})" in page


def test_records_of_kernels_stand_beside_those_of_tensorfhe(
    report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ckks_records

    default = "depth=44, scale=2^28, N=65536, limbs 45 of 45 + 1, dnum 45"
    kernels = [("ntt_kernel", 0.75, 0.5), ("convert_rows", 0.25, 1.0)]
    operations = [
        record(
            "mult_relin_kernel", default, 0.01, batch=128, kernel="old", share=1, occupancy=0.1
        ).replace("abc1234", "0000000"),
        *(
            record("mult_relin_kernel", default, 1.0, batch=128, kernel=name, share=s, occupancy=o)
            for name, s, o in kernels
        ),
        record("mult_relin_energy", default, 0.5, batch=128, watts=600.0, unit="J"),
    ]
    shape, one = "N=65536, limbs 45", "N=4096, limbs 1"
    lines = [
        record("ntt", one, 2e6, batch=1 << 14, variant="products of words"),
        record("ntt", shape, 3e6, batch=128, variant="butterflies"),
        record("NTT", shape, 2e-3, batch=128),
        record("NTT", shape, 8e-3, batch=1024),
        record("NTT", shape, 2.5e-3, batch=128, layout="(L, B, N)"),
        record("NTT", shape, 3.5e-3, batch=128, layout="(B, L, N)"),
    ]
    folder = tmp_path / "h200"
    folder.mkdir()
    (folder / "ckks.jsonl").write_text("".join(operations))
    (folder / "tensorfhe.jsonl").write_text("".join(lines))
    monkeypatch.setattr(ckks_records, "RESULTS", tmp_path)

    rows = "\n".join(report.measured(tmp_path)).splitlines()
    assert "| Whorl, H200 | 128 | 62.5 % |  |  |  |  |" in rows
    assert "| NTT | 75.0 % |  |  |  |  |  |" in rows
    assert "| Conv | 25.0 % |  |  |  |  |  |" in rows
    assert "| Whorl, H200 | 2 |  |  |  |  |" in rows
    assert "| Whorl, H200: watts | 600 |  |  |  |  |" in rows
    assert "| NTT, `tensorfhe/A`, N = 4,096 |  | 2,000,000 |  |  |" in rows
    assert "| NTT | 2 |  |  | 1.00 |  |  | 0.50 |" in rows
    assert "| NTT |  |  | 2.5 | 3.5 |" in rows
    assert "| NTT: butterflies (the library's) |  |  |  |  |  | 1.92 |" in rows


def test_what_has_no_record_is_named(
    report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ckks_records

    monkeypatch.setattr(ckks_records, "RESULTS", tmp_path)
    page = "\n".join(report.measured(tmp_path))
    for what in ("--only transforms", "--only kernels", "--only layouts", "--kernels", "--energy"):
        assert any(line.startswith("*No record yet") and what in line for line in page.splitlines())


def test_params_that_are_not_of_ckks_are_refused(report: ModuleType) -> None:
    import ckks_records

    with pytest.raises(ValueError, match="state no N and limbs"):
        ckks_records.shape_of("depth=1")
    assert ckks_records.shape_of(OPERATION) == (65536, 47, 12)
    assert ckks_records.is_full(BOOTSTRAP)
    assert not ckks_records.is_full(BOOTSTRAP.replace("32768", "256"))
