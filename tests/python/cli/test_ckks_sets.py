"""The commands with named sets of CKKS, and bootstraps in expressions."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import Here, write_phrase
from support import ROOT
from whorl import ckks

PHRASE = ("--passphrase-file", "phrase")


@pytest.fixture
def shell(tmp_path: Path) -> Here:
    write_phrase(tmp_path)
    return Here(tmp_path)


def test_sets_are_listed_and_shown(shell: Here) -> None:
    rows = [
        json.loads(line)
        for line in shell("params", "list", "--scheme", "ckks", "--json").splitlines()
    ]
    assert [row["name"] for row in rows] == ckks.parameter_sets()
    first = rows[0]
    assert (first["name"], first["depth"], first["bootstrap"]) == ("W128_L13_B20", 13, True)
    assert "W128_L13_B20" in shell("params", "list", "--scheme", "ckks")
    literal = json.loads(shell("params", "show", "tensorfhe/lstm", "--json"))
    assert ckks.parameters(literal=literal) == ckks.parameters("tensorfhe/lstm")
    assert "sparse" in shell("params", "show", "W128_L13_B20")
    assert "sparse" not in shell("params", "show", "tensorfhe/lstm")
    said = shell("params", "list", "--scheme", "bgv", code=2)
    assert "not one of binfhe, ckks" in said


def test_keys_of_a_named_set(shell: Here) -> None:
    shell("keygen", "--scheme", "ckks", "--params", "tensorfhe/lstm", "--rotations", "1", *PHRASE)
    keys = ckks.EvaluationKeys.load(str(shell.folder / "keys.whorl"))
    assert keys.parameters == ckks.parameters("tensorfhe/lstm") and keys.rotations == (1,)
    wrong = ("keygen", "--scheme", "ckks", "--force", "--overwrite-secret", *PHRASE)
    shell(*wrong, "--params", "tensorfhe/A", code=1)  # 125 bits
    said = shell(*wrong, "--params", "tensorfhe/lstm", "--depth", "3", code=1)
    assert "depth = 3 is given beside --params" in said
    assert "no parameter set" in shell(*wrong, "--params", "W1", code=1)
    assert "--bootstrap: integers" in shell(*wrong, "--bootstrap", "few", code=2)
    said = shell(*wrong, "--params", "tensorfhe/lstm", "--bootstrap", "8", code=1)
    assert "have no bootstrapping" in said


def test_expressions_bootstrap(shell: Here) -> None:
    """In a small ring, which is not secure: keys of a secure one take gigabytes."""
    literal = {**ckks.parameters(2, bootstrap=True).literal(), "N": 2048}
    (shell.folder / "small.json").write_text(json.dumps(literal))
    insecure = ("--allow-insecure", *PHRASE)
    shell(*("keygen", "--scheme", "ckks", "--params", "small.json", "--bootstrap", "4"), *insecure)
    values = [0.5, -0.25, 1.0, -1.0]
    shell("encrypt", *map(str, values), "-o", "x.whorl", *insecure)
    shell(
        *("eval", "bootstrap(lower(x, 3)) * x", "x=x.whorl", "-o", "y.whorl", "--device", "cpu"),
        "--allow-insecure",
    )
    y = ckks.Ciphertexts.load(str(shell.folder / "y.whorl"), allow_insecure=True)
    assert y.level == y.parameters.depth - 1
    shell("decrypt", "y.whorl", "--raw", "-o", "y.npy", *insecure)
    assert np.abs(np.load(shell.folder / "y.npy") - np.square(values)).max() < 2**-15
    said = shell(
        *("eval", "bootstrap(x, 9)", "x=x.whorl", "-o", "z.whorl", "--allow-insecure"), code=1
    )
    assert "iterations" in said


def test_bench_bootstraps(shell: Here) -> None:
    """In the same small ring; its records have the parameters' own security."""
    literal = {**ckks.parameters(2, bootstrap=True).literal(), "N": 2048, "name": "ring"}
    (shell.folder / "ring.json").write_text(json.dumps(literal))
    bench = ["bench", "ckks", "--set", "ring.json", "--op", "bootstrap", "--device", "cpu"]
    lines = shell(*bench, "--op", "add", "--slots", "3", "--runs", "3", "--batch", "2", "--json")
    records = [json.loads(line) for line in lines.splitlines()]
    assert [(r["op"], r["batch"], r["unit"]) for r in records] == [
        *(("bootstrap", 1, "s"), ("bootstrap", 2, "1/s")),
        *(("add", 1, "s"), ("add", 2, "1/s")),
    ]
    assert all(r["params"] == "ring" and r["security_bits"] < 128 for r in records)
    one, _, add, _ = records
    assert one["min"] > 10 * add["min"]
    shown = shell("bench", "ckks", "--set", "tensorfhe/A", "--op", "add", "--runs", "1")
    assert "at least 125.1 bits of security" in shown
    for options, part in (
        (("--depth", "3"), "depth = 3 is given beside --set"),
        (("--level", "2"), "level 2 is below level 3"),
    ):
        assert part in shell(*bench, "--slots", "4", *options, code=1)
    bench = ["bench", "ckks", "--set", "tensorfhe/A", "--device", "cpu"]
    assert "slots = 4 is given beside --set" in shell(*bench, "--slots", "4", code=1)
    assert "have no bootstrapping" in shell(*bench, "--op", "bootstrap", code=1)
    assert "no parameter set" in shell("bench", "ckks", "--set", "W1", code=1)


def test_keygen_chooses_parameters_that_bootstrap(shell: Here) -> None:
    """Its size is what the library says; the keys are of one slot, the fewest."""
    shell(
        *("keygen", "--scheme", "ckks", "--depth", "1", "--dnum", "2", "--bootstrap", "1"), *PHRASE
    )
    keys = ckks.EvaluationKeys.load(str(shell.folder / "keys.whorl"))
    assert keys.bootstrap == (1,) and keys.parameters.N == 65536
    assert keys.parameters.depth - keys.parameters.least_bootstrap_level == 1
    assert keys.parameters.security_bits >= 128


def test_keygen_shapes_bootstraps(shell: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page says, but without the gigabytes of keys."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    [example] = re.findall(r"`whorl (keygen [^`]* --arcsine [^`]*)`", page)
    make, asked = ckks.Client.evaluation_keys, []

    def few(client: ckks.Client, **request: Any) -> ckks.EvaluationKeys:
        asked.append(request["bootstrap"])
        return make(client)

    monkeypatch.setattr(ckks.Client, "evaluation_keys", few)
    shell(*example.split(), *PHRASE)
    keys = ckks.EvaluationKeys.load(str(shell.folder / "keys.whorl"))
    assert asked == [[8]] and keys.parameters == ckks.parameters(
        1, 45, bootstrap=True, coefficients_last=True, arcsine=7
    )
    shown = " ".join(shell("info", "keys.whorl").split())
    assert "from level 0, slots to coefficients last, arcsine of degree 7" in shown


def test_shapes_of_bootstraps_that_are_refused(shell: Here) -> None:
    keygen = ("keygen", "--scheme", "ckks", *PHRASE)
    without = "is given without --bootstrap; only bootstraps have it"
    named = ("--params", "tensorfhe/lstm")
    for options, part in (
        (("--coefficients-last",), f"--coefficients-last {without}"),
        (("--arcsine", "7"), f"--arcsine 7 {without}"),
        (("--arcsine", "4", "--bootstrap", "8"), "--arcsine 4 is neither 0 nor an odd degree"),
        (("--arcsine", "17", "--bootstrap", "8"), "--arcsine 17 is outside 0 … 15"),
        (("--arcsine", "-3", "--bootstrap", "8"), "--arcsine -3 is outside 0 … 15"),
        ((*named, "--arcsine", "7"), "--arcsine 7 is given beside --params"),
        ((*named, "--coefficients-last"), "--coefficients-last is given beside --params"),
    ):
        assert part in shell(*keygen, *options, code=1)
    said = shell("keygen", "--scheme", "bgv", "--arcsine", "7", *PHRASE, code=2)
    assert "--arcsine is not an option of the scheme bgv" in said


def test_the_guide_has_the_table(shell: Here) -> None:
    guide = (ROOT / "docs" / "ckks.md").read_text(encoding="utf-8")
    assert shell("params", "list", "--scheme", "ckks", "--markdown").strip() in guide
