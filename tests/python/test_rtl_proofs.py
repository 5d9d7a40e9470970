"""rtl/README.md lists the proofs of rtl/proof, and what proves them is what the list says."""

import re
from collections.abc import Callable
from types import ModuleType

import pytest
from support import ROOT

RTL = ROOT / "rtl"


@pytest.fixture
def page(tool: Callable[..., ModuleType]) -> ModuleType:
    return tool("page", "rtl/proof")


def test_the_guide_has_the_table(page: ModuleType) -> None:
    text = (RTL / "README.md").read_text(encoding="utf-8")
    shown = text.split(f"<!-- measured: {page.SCRIPT} -->")[1].split("<!-- end of measured -->")[0]
    assert shown.strip() == "\n".join(page.lines()).strip(), "run rtl/proof/page.py"


def test_every_proof_is_recorded_as_it_is(page: ModuleType) -> None:
    last = {r["op"]: r for r in page.read(page.RESULTS / "proofs" / "proofs.jsonl")}
    for name, proof in page.PROOFS.items():
        assert name in last, f"{name}: make -C rtl/proof record NAMES={name}"
        shape = ", ".join([proof.top, *(f"{k}={v}" for k, v in proof.parameters.items())])
        assert (last[name]["params"], last[name]["method"]) == (shape, proof.method()), name


def test_every_proof_has_its_module_one_kind_and_a_mutation(page: ModuleType) -> None:
    for name, proof in page.PROOFS.items():
        source = (RTL / "proof" / f"{proof.file}_proof.sv").read_text(encoding="utf-8")
        assert re.search(rf"^module {proof.top}\b", source, re.MULTILINE), name
        assert sum(map(bool, (proof.steps, proof.induction, proof.bounded))) == 1, name
        file, old, new = proof.mutation
        assert (RTL / "src" / file).read_text(encoding="utf-8").count(old) == 1, name
        assert old != new, name


def test_every_harness_is_used(page: ModuleType) -> None:
    used = {proof.file for proof in page.PROOFS.values()}
    there = {path.name.removesuffix("_proof.sv") for path in RTL.glob("proof/*_proof.sv")}
    assert there == used


def test_every_module_is_in_a_proof(page: ModuleType) -> None:
    """But for those that benches compare, and a part that is proved inside of its only user."""
    benches, inside = {"whorl_core", "pe", "accumulator", "twiddle_rom"}, {"corner_mul"}
    harnesses = "".join(p.read_text(encoding="utf-8") for p in RTL.glob("proof/*_proof.sv"))
    modules = {path.stem for path in (RTL / "src").glob("*/*.sv")}
    proved = {m for m in modules if re.search(rf"^ +{m} (#|dut)", harnesses, re.MULTILINE)}
    assert modules - proved == benches | inside
