"""New records reach the tables of docs/ckks-performance.md."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import ROOT
from whorl import ckks

pytest.importorskip("matplotlib")

BOOTSTRAP = "depth=13, scale=2^40, N=65536, limbs 47 + 12, dnum 4, slots 32768, complex"
OPERATION = "depth=32, scale=2^40, N=65536, limbs 45 of 47 + 12, dnum 4"
SMALL = "depth=8, scale=2^30, N=65536, limbs 35 + 7, dnum 5, slots 32768, complex"
PACKED = "depth=29, scale=2^27, N=65536, limbs 58 + 1, dnum 58, slots 32768, complex"
DEFAULT = "depth=44, scale=2^28, N=65536, limbs 45 of 45 + 1, dnum 45"
STEPS = (
    *("slots_to_coeffs", "mod_raise", "coeffs_to_slots", "real_and_imaginary", "eval_mod"),
    "eval_mod_end",
)


@pytest.fixture
def report(tool: Callable[..., ModuleType]) -> ModuleType:
    return tool("ckks_report")


def record(op: str, params: str, median: float, **members: Any) -> str:
    line = {"op": op, "params": params, "median": median, "batch": 1, "peer": None}
    more = {"security_bits": 128.2, "commit": "abc1234"}
    return json.dumps({**line, **more, **members}) + "\n"


Rows = Callable[[dict[str, list[str]]], list[str]]


@pytest.fixture
def rows_of(report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    """The lines that are made of files of records; plots go beside them."""
    import common.records

    shutil.copytree(ROOT / "bench" / "results" / "peers", tmp_path / "peers")
    monkeypatch.setattr(common.records, "RESULTS", tmp_path)

    def made(files: dict[str, list[str]]) -> list[str]:
        for name, lines in files.items():
            path = tmp_path / f"{name}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(lines))
        return "\n".join(
            line for part in report.measured(tmp_path).values() for line in part
        ).splitlines()

    return made


def test_security_is_what_the_library_estimates(rows_of: Rows) -> None:
    files = {"h200/ckks": [record("mult_relin", DEFAULT, 1.0, security_bits=99.0)]}
    rows = rows_of(files)
    (row,) = (row for row in rows if row.startswith("| Default |"))
    bits = ckks.parameters("tensorfhe/default").security_bits
    assert row.endswith(f"| `tensorfhe/default` | 45 + 1 | {bits:.0f} |")


def test_records_of_a_gpu_reach_tables_and_plots(rows_of: Rows, tmp_path: Path) -> None:
    bootstraps = [
        record("bootstrap", BOOTSTRAP, 1.0),  # of two records the last counts
        record("bootstrap", BOOTSTRAP, 0.0125),
        record("bootstrap", BOOTSTRAP, 0.072, batch=8),
        record("bootstrap", BOOTSTRAP.replace("32768", "256"), 0.005),
        record("bootstrap_bits", BOOTSTRAP, 21.25, values="random", runs=100),
        record("bootstrap_bits", BOOTSTRAP, 20.75, values="constant 1", runs=1),
        *(record(op, BOOTSTRAP, 1e-3 * (i + 1)) for i, op in enumerate(STEPS)),
    ]
    operations = [
        record("mult_relin", OPERATION, 300e-6, waited=True),
        record("mult_relin", OPERATION, 280e-6, waited=False),
        record("mult_relin", OPERATION, 1600e-6, waited=False, batch=8),
        record("mult_relin", DEFAULT, 0.0896, waited=False, batch=128),
    ]
    files = {"h200/ckks_bootstrap": bootstraps, "h200/ckks": operations}
    rows = rows_of(files)
    assert "| multiply + relinearise | 0.42 | 1.35 | 3.14 | 0.3 | 0.2 | 1.4× |" in rows
    assert "| bootstrap, complex | 21 |  | 76.4 | 12.5 | 9 | 1.7× |" in rows
    assert "| CoeffsToSlots | 3 | 1.31 | 0.94 | 1.00 |" in rows
    assert "| ModRaise, and split real from imaginary | 6 | 0.12 | 0.09 | 0.03 |" in rows
    assert "| a whole bootstrap | 12.5 |  |  |  |" in rows
    assert "| bootstrap, complex | `W128_L13_B20` | 8 | 9 | 111 |" in rows
    assert "| Whorl, H200 | 128 | 0.7 |  |  |  |  |" in rows
    assert "| Whorl, H200 | `W128_L13_B20`, complex | 8 | 9 | 20.8 |" in rows
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert drawn == {"ckks-phases.svg", "ckks-precision.svg", "ckks-batches.svg"}


def test_records_of_kernels_stand_beside_those_of_tensorfhe(rows_of: Rows) -> None:
    kernels = [("ntt_kernel", 0.75, 0.5), ("convert_rows", 0.25, 1.0)]
    operations = [
        record(
            "mult_relin_kernel", DEFAULT, 0.01, batch=128, kernel="old", share=1, occupancy=0.1
        ).replace("abc1234", "0000000"),
        *(
            record("mult_relin_kernel", DEFAULT, 1.0, batch=128, kernel=name, share=s, occupancy=o)
            for name, s, o in kernels
        ),
        record("mult_relin_energy", DEFAULT, 0.5, batch=128, watts=600.0, unit="J"),
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
    files = {"h200/ckks": operations, "h200/tensorfhe": lines}
    rows = rows_of(files)
    assert "| Whorl, H200 | 128 | 62.5 % |  |  |  |  |" in rows
    assert "| NTT | 75.0 % |" in rows
    assert "| Conv | 25.0 % |" in rows
    assert "| Whorl, H200 | 2 |  |  |  |  |" in rows
    assert "| Whorl, H200: watts | 600 |  |  |  |  |" in rows
    assert "| NTT, `tensorfhe/A`, N = 4,096 |  | 2,000,000 |  |  |" in rows
    assert "| NTT | 2 |  |  | 1.00 |  |  | 0.50 |" in rows
    assert "| NTT |  |  | 2.5 | 3.5 |" in rows
    assert "| NTT: butterflies (the library's) |  |  |  |  |  | 1.92 |" in rows


def of_both(slower: float, **members: Any) -> dict[str, list[str]]:
    """Records of an H200, and those of an H100 with other medians and members."""
    files: dict[str, list[str]] = {}
    for device, factor, more in (("h200", 1.0, {}), ("h100", slower, members)):
        known = {"commit": f"of_{device}", "date": "2026-01-01", **more}
        files[f"{device}/ckks_bootstrap"] = [
            record("bootstrap", BOOTSTRAP, 0.0125 * factor, **known),
            record("bootstrap", BOOTSTRAP, 0.072 * factor, batch=8, **known),
            *(record(op, BOOTSTRAP, 1e-3 * factor, **known) for op in STEPS),
        ]
        energy = {"batch": 128, "watts": 600.0 * factor, **known}
        kernel = {"batch": 128, "kernel": "ntt", "share": 1, "occupancy": 0.25 * factor, **known}
        files[f"{device}/ckks"] = [
            record("mult_relin", DEFAULT, 0.128 * factor, batch=128, **known),
            record("mult_relin_energy", DEFAULT, 0.5 * factor, **energy),
            record("mult_relin_kernel", DEFAULT, 1.0, **kernel),
        ]
        files[f"{device}/tensorfhe"] = [
            record("NTT", "N=65536, limbs 45", 1e-3 * factor, batch=128, **known, **layout)
            for layout in ({}, {"layout": "(L, B, N)"})
        ]
        params = "N=4096 word=32 logq=27"
        files[f"{device}/transforms"] = [record("ntt", params, 1820268 * factor, **known)]
    return files


def test_an_h100_stands_beside_an_h200(rows_of: Rows, tmp_path: Path) -> None:
    rows = rows_of(of_both(2.0, date="2026-01-02"))
    assert sum("Records of the H100 are of newer code than those of the H200." in r for r in rows)
    assert "| bootstrap, complex | 21 |  | 76.4 | 12.5 | 9 | 1.7× | 25 | 18 |" in rows
    assert "| CoeffsToSlots | 1 | 2 | 1.31 | 0.94 | 1.00 |" in rows
    made = "The records are of these commits: H200 of_h200; H100 of_h100."
    for table_of in ("multiply + relinearise", "a whole bootstrap", "Whorl, H100 | 128 | 2"):
        at = next(i for i, row in enumerate(rows) if row.startswith(f"| {table_of}"))
        assert rows[rows.index("", at) + 1] == made
    assert "| bootstrap, complex | `W128_L13_B20` | 8 | 9 | 111 | 18 | 56 |" in rows
    assert "| Whorl, H200 | 128 | 1 |  |  |  |  |" in rows
    assert "| Whorl, H100 | 128 | 2 |  |  |  |  |" in rows
    assert "| Whorl, H100 | `W128_L13_B20`, complex | 8 | 18 |" in rows
    row = "| NTT, `tensorfhe/A`, N = 4,096 | 7,222 | 195,313 | 910,134 | 1,820,268 | 2.0× |"
    assert f"{row} 3,640,536 | 4.0× |" in rows
    assert "| Whorl, H100 | 128 | 50.0 % |  |  |  |  |" in rows
    assert "| Whorl, H100 | 1 |  |  |  |  |" in rows
    assert "| Whorl, H100: watts | 1200 |  |  |  |  |" in rows
    for kernels in ("| NTT |  |  | 1 |  |", "| NTT | 1 |  |  | 1.00 |  |  |  |"):
        assert rows[rows.index(kernels) - 4] == "On an H200:"
        assert rows[rows.index(kernels.replace(" 1 ", " 2 ")) - 4] == "On an H100:"
    (source,) = (row for row in rows if row.startswith("- H100"))
    assert "`ckks.jsonl` and `ckks_bootstrap.jsonl`, commits of_h100;" in source
    assert "`tensorfhe.jsonl`, of_h100; `transforms.jsonl`, of_h100." in source
    assert "H100, complex" in (tmp_path / "ckks-phases.svg").read_text()
    assert "bootstrap, complex, H100" in (tmp_path / "ckks-batches.svg").read_text()


def test_code_that_is_not_newer_is_not_called_so(rows_of: Rows) -> None:
    rows = rows_of(of_both(2.0))
    assert rows[0].startswith("An H100 is the same chip")
    assert not any("newer code" in row for row in rows)


def test_bootstraps_on_two_gpus_stand_beside_those_on_one(rows_of: Rows) -> None:
    lines = [
        record("bootstrap", BOOTSTRAP, median, batch=32, device_count=count, commit=commit)
        for count, median, commit in (
            (1, 9, "old"),
            (2, 9, "old"),
            (1, 0.3, "new"),
            (2, 0.2, "new"),
        )
    ]
    lines.append(record("bootstrap", BOOTSTRAP, 0.01, device_count=1, commit="new"))
    lines.append(record("bootstrap_bits", BOOTSTRAP, 21, batch=32, device_count=2, values="random"))
    rows = rows_of({"h100x2/ckks_bootstrap": lines})
    assert f"| two H100s | `{BOOTSTRAP}` | 32 | 300 | 200 | 1.5× | new |" in rows
    assert f"| two H100s | `{BOOTSTRAP}` | 1 | 10 |  |  | new |" in rows
    assert sum(row.startswith("| two H") for row in rows) == 2


def a_training(op: str, median: float, iterations: int = 32, **members: Any) -> str:
    return record(f"helr_{op}", f"{iterations} iterations", median, batch=8, **members)


def test_trainings_reach_table_10_and_figures_12_and_13(rows_of: Rows) -> None:
    lines = [
        a_training("lower", 0.5, share=0.5, calls=9, commit="old"),  # not in the newer run
        a_training("iteration", 0.02, bootstraps=10),
        a_training("iteration_energy", 11.0, unit="J"),
        a_training("mult_relin", 0.1, share=0.2, calls=700),
        a_training("rotate", 0.3, share=0.6, calls=1200),
        a_training("bootstrap", 0.1, share=0.2, calls=10),
    ]
    kernels = [
        record("rotate_kernel", OPERATION, 1.0, batch=8, kernel=name, share=share, occupancy=1)
        for name, share in (("ntt_kernel", 0.5), ("convert_rows", 0.5))
    ]
    old = {"kernel": "combine_rows", "share": 1, "occupancy": 1, "batch": 1}
    new = {**old, "kernel": "intt_kernel", "batch": 8}
    bootstraps = [record("bootstrap_kernel", BOOTSTRAP, 1.0, **members) for members in (old, new)]
    files = {
        "h100/ckks_workload": lines,
        "h100/ckks": kernels,
        "h100/ckks_bootstrap": bootstraps,
    }
    rows = rows_of(files)
    label = "H100: logistic regression"
    assert f"| {label}, 32 iterations of 1,024 samples, 10 bootstraps | 0.64 | 11 |" in rows
    assert any("Whorl's is the energy of a training" in row for row in rows)
    mean = f"{label}, 14 iterations of 1,024 samples at the mean rate of 32"
    assert f"| {mean} | 0.28 | 11 |" in rows
    at = rows.index("| a training of 32 iterations | share | calls | ms of all calls |")
    assert rows[at + 2 : at + 6] == [
        "| HROTATE | 60.0 % | 1,200 | 300 |",
        "| HMULT | 20.0 % | 700 | 100 |",
        "| bootstrap | 20.0 % | 10 | 100 |",
        "",
    ]
    # 0.6 of 0.8 are rotations, half of them transforms; 0.2 of 0.8 are bootstraps.
    head = "|  | bootstrap, `W128_L13_B20`, batch 8 | logistic regression |"
    at = rows.index(head)
    assert rows[at + 2 : at + 4] == ["| NTT | 100.0 % | 62.5 % |", "| Conv |  | 37.5 % |"]
    assert any("known take 80.0 % of a training" in row for row in rows)
    assert "- H100, `bench/results/h100`: `ckks.jsonl`" in "\n".join(rows)
    assert not any(row.startswith("*No record yet: a training") for row in rows)


def test_a_training_of_as_many_iterations_as_the_papers_is_preferred(rows_of: Rows) -> None:
    lines = [
        a_training("iteration", 0.02, bootstraps=10),
        a_training("iteration", 0.03, 14, bootstraps=4),
        a_training("rotate", 0.3, share=1.0, calls=5),
    ]
    rows = rows_of({"h200/ckks_workload": lines})
    label = "H200: logistic regression"
    assert f"| {label}, 14 iterations of 1,024 samples, 4 bootstraps | 0.42 |" in rows
    assert f"| {label}, 32 iterations of 1,024 samples, 10 bootstraps | 0.64 |" in rows
    assert not any("Whorl's is the energy of a training" in row for row in rows)
    # No kernels of its operations are known.
    assert any(row.startswith("*No record yet: Figure 12 for logistic") for row in rows)


def test_a_training_of_all_samples_reaches_table_10(rows_of: Rows) -> None:
    """The fastest one, with the energy of the same."""
    known = {"bootstraps": 4, "accuracy": 0.945, "accuracy_clear": 0.9451}
    known |= {"auc": 0.98764, "auc_clear": 0.98766}
    lines = []
    for round, seconds in ((2, 0.5), (3, 0.25), (4, 0.75)):
        params = f"14 iterations of 16384 samples, {round} a bootstrap"
        lines.append(record("helr_full", params, seconds, batch=128, **known))
        lines.append(record("helr_full_energy", params, 560 * seconds, batch=128, unit="J"))
        lines.append(record("helr_full_rotate", params, 0.1, batch=128, share=1.0, calls=1))
    lines.append(a_training("iteration", 0.03, 14, bootstraps=4))
    lines.append(a_training("rotate", 0.3, 14, share=1.0, calls=5))
    rows = rows_of({"h200/ckks_workload": lines})
    label = "H200: logistic regression, 14 iterations of"
    assert f"| {label} 16,384 samples, 4 bootstraps | 0.25 | 10 |" in rows
    assert f"| {label} 1,024 samples, 4 bootstraps | 0.42 |  |" in rows
    (said,) = (row for row in rows if row.startswith("The paper's training takes 14.1 s"))
    assert said.endswith(
        "Whorl's takes 0.25 s on an H200: 56 times as fast, if the paper's is one training, and "
        "not its batch of 64. Whorl's model tells 94.50 % of the test's digits apart, and in the "
        "clear 94.51 %; the areas under the curve are 0.9876 and 0.9877."
    )
    # Operations of the application's trainings stay by themselves.
    assert "| HROTATE | 100.0 % | 5 | 300 |" in rows
    assert not any("full" in row for row in rows)
    assert not any(row.startswith("*No record yet: logistic regression on") for row in rows)


def test_networks_of_the_paper_reach_table_10(rows_of: Rows) -> None:
    lines = [
        record("resnet20", "set", 0.3),
        record("resnet20", "set", 2.8, batch=16),
        record("resnet20_energy", "set", 40.0, batch=16, unit="J"),
        record("rnn32", "set", 0.5, batch=32),
        record("another", "set", 2.8),
    ]
    rows = rows_of({"h200/networks": lines})
    assert "| H200: ResNet-20, 1 image | 0.3 |  |" in rows
    assert "| H200: ResNet-20, 16 images | 2.8 | 40 |" in rows
    assert "| H200: recurrent network, 32 words, 32 sentences | 0.5 |  |" in rows
    assert not any("another" in row for row in rows)


def test_packed_bootstrapping_reaches_table_10(rows_of: Rows) -> None:
    lines = [
        record("bootstrap", PACKED, 3.2, batch=32),
        record("bootstrap_energy", PACKED, 50.0, batch=32, watts=500.0, unit="J"),
        record("bootstrap", PACKED.replace("complex", "real"), 1.6, batch=32),
        record("bootstrap", PACKED.replace("slots 32768", "slots 256"), 1.6, batch=32),
        record("bootstrap", SMALL, 1.6, batch=32),
    ]
    rows = rows_of({"h100/ckks_bootstrap": lines})
    row = "| H100: packed bootstrapping, 32 ciphertexts | 3.2 | 50 |"
    assert [each for each in rows if "H100: packed" in each] == [row]
    said = "Whorl's takes 100 ms with `tensorfhe/packed-bootstrap` on an H100."
    assert any(said in each for each in rows)
    assert not any(row.startswith("*No record yet") and "packed" in row for row in rows)


def test_bootstraps_have_names(rows_of: Rows) -> None:
    """The last record counts, whether it has one or not."""
    lines = [
        record("bootstrap", PACKED, 6.4, batch=32),
        record("packed_bootstrap", PACKED, 3.2, batch=32),
        record("bootstrap_energy", PACKED, 60.0, batch=32, watts=500.0, unit="J"),
        record("packed_bootstrap_energy", PACKED, 50.0, batch=32, watts=500.0, unit="J"),
        record("bootstrap_256", PACKED.replace("slots 32768", "slots 256"), 1.6, batch=32),
    ]
    rows = rows_of({"h100/ckks_bootstrap": lines})
    row = "| H100: packed bootstrapping, 32 ciphertexts | 3.2 | 50 |"
    assert [each for each in rows if "H100: packed" in each] == [row]


def test_stalls_stand_beside_those_of_the_paper(rows_of: Rows) -> None:
    waits = {
        "selected": 0.3,
        "not_selected": 0.3,
        "wait": 0.1,
        "barrier": 0.05,
        "lg_throttle": 0.01,
    }
    shares = {**waits, "long_scoreboard": 0.24}
    shape = "N=65536, limbs 45"
    lines = [
        record("stalls", shape, 0.9, kernel="convert", stalls={"wait": 0.9}, commit="old"),
        record("stalls", shape, 0.9, kernel="ntt_kernel", stalls={"wait": 0.9}, commit="old"),
        record("stalls", shape, 0.4, kernel="ntt_kernel", stalls=shares),
    ]
    rows = rows_of({"h100/tensorfhe": lines})
    at = rows.index("| kernel | time stalled | most of it |")
    most = "long scoreboard 24.0 %, wait 10.0 %, barrier 5.0 %"
    assert rows[at + 2] == f"| butterflies (the library's) | 40.0 % | {most} |"
    assert rows[at + 3] == ""
    assert not any(row.startswith("*No record yet: stalls") for row in rows)


def test_python_libraries_stand_beside_whorl(rows_of: Rows) -> None:
    params = "depth=6, scale=2^40, N=16384, limbs 12 + 2, dnum 6"

    def beside(op: str, peer: str, median: float, **members: Any) -> str:
        versus = {"peer": peer, "peer_version": "1.2", "peer_params": f"of {peer}", "runs": 7}
        versus |= {"peer_median": 6 * median, "ratio": 6.0, "ratio_least": 5.5, "ratio_most": 6.25}
        return record(op, params, median, **{**versus, "bits": 22, "peer_bits": 19.5, **members})

    lines = [
        beside("rotate", "tenseal", 0.002, ratio=99, peer_params="old"),
        beside("rotate", "tenseal", 0.003),
        beside("matmul", "tenseal", 0.1),
        beside("rotate", "openfhe", 0.005),
    ]
    rows = rows_of({"cpu/ckks": lines})
    assert "| TenSEAL | rotate | 18 | 3 | 6.0× (5.5 … 6.2) | 7 | 19.5, 22.0 |" in rows
    matrix = "vector of 64 by a matrix, not encrypted"
    assert f"| TenSEAL | {matrix} | 600 | 100 | 6.0× (5.5 … 6.2) | 7 | 19.5, 22.0 |" in rows
    assert f"- TenSEAL 1.2: `of tenseal`. Whorl: `{params}`, 128 bits of security." in rows
    assert sum(row.startswith("| TenSEAL") for row in rows) == 2
    assert not any(row.startswith(("| DESILO", "- DESILO FHE 1.2", "This work")) for row in rows)

    lines.append(beside("add", "desilofhe", 0.0001))
    rows = rows_of({"cpu/ckks": lines})
    assert "| DESILO FHE | add | 0.6 | 0.1 | 6.0× (5.5 … 6.2) | 7 | 19.5, 22.0 |" in rows
    assert f"- DESILO FHE 1.2: `of desilofhe`. Whorl: `{params}`, 128 bits of security." in rows
    assert "This work uses the DESILO FHE library developed by DESILO Inc." in "\n".join(rows)


def test_what_has_no_record_is_named(rows_of: Rows) -> None:
    rows = rows_of({})
    programs = ("ckks_workload.py", "--samples 16384", "stalls", "tensorfhe/packed-bootstrap")
    options = ("kinds of transforms", "--only kernels", "--only layouts", "--kernels", "--energy")
    for what in (*programs, *options):
        assert any(row.startswith("*No record yet") and what in row for row in rows), what


def test_params_that_are_not_of_ckks_are_refused(report: ModuleType) -> None:
    import ckks_records

    with pytest.raises(ValueError, match="state no N and limbs"):
        ckks_records.shape_of("depth=1")
    assert ckks_records.shape_of(OPERATION) == (65536, 47, 12)
    assert ckks_records.is_full(BOOTSTRAP)
    assert not ckks_records.is_full(BOOTSTRAP.replace("32768", "256"))
