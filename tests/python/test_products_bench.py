"""bench/products.py: products by each way, with an LWE key of 8 coefficients."""

import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


def test_products_are_right_and_errors_as_predicted(
    tool: Callable[..., ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    program = tool("products")
    monkeypatch.setattr(program, "planned", lambda _: 100)
    path = tmp_path / "records.jsonl"
    given = ["--dimension", "8", "--record", str(path)]
    monkeypatch.setattr(sys, "argv", ["bench", *given])
    assert program.main() == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["op"] for line in lines] == [f"u64_mul_{way}" for way in program.WAYS]
    assert all(line["unit"] == "rotations" and line["pfail_log2"] < -128 for line in lines)
    assert [list(line["log2_errors"]) for line in lines] == [
        *(["table"], ["factor", "product"], ["product"], ["entry"])
    ]
    found = re.findall(r"(\w+): sigma 2\^([\d.]+), predicted 2\^([\d.]+)", capsys.readouterr().out)
    assert [name for name, _, _ in found] == [
        *("table", "table", "factor", "factor", "product", "product", "entry")
    ]
    for name, measured, predicted in found:
        # A product has 32 errors, and the predictions of some count what is small as its bound.
        assert -0.8 < float(measured) - float(predicted) < 0.5, name


@pytest.mark.parametrize("value", [0, 2**64 - 1, 0x8888888888888888, 0x5555555555555556, 2**33])
def test_numbers_whose_phases_lie_at_borders_are_read(
    tool: Callable[..., ModuleType], value: int
) -> None:
    """Phases near 0 and 1/2 have either sign, by their errors."""
    program = tool("products")
    scheme = program.Scheme(8, 3)
    phases = np.zeros(program.N, np.int64)
    phases[:: program.SPACE] = program.exact_phases(value, program.PLACES).astype(np.int64)
    sigma = 2.0**39
    program.read(scheme, scheme.encrypt(phases, sigma), value, sigma**2)


def test_a_wrong_product_ends_the_program(tool: Callable[..., ModuleType]) -> None:
    program = tool("products")
    with pytest.raises(SystemExit, match="tree: a result is wrong"):
        program.check("tree", False)


def test_the_scheme(tool: Callable[..., ModuleType]) -> None:
    core = tool("common.numpy_fhew")
    scheme = core.Scheme(8, 2)
    words = scheme.random.integers(0, core.Q, core.N)
    small = scheme.random.integers(-3, 4, core.N)
    exact = np.zeros(core.N, object)
    for i in np.flatnonzero(small)[:5]:
        exact += int(small[i]) * core.times_monomial(words.astype(object), i)
    few = np.where(np.arange(core.N) <= np.flatnonzero(small)[4], small, 0)
    assert np.array_equal(scheme.negacyclic(words, few), exact % core.Q)
    assert np.array_equal(core.halved(words, 3) * 8 % core.Q, words)
    digits = core.digits_of(words, (6, 8))
    assert np.abs(digits).max() <= 33
    again = sum(
        digit.astype(object) * place
        for digit, place in zip(digits, core.places_of((6, 8)), strict=True)
    )
    assert np.array_equal(again % core.Q, words)
    # erfc of both kinds meet where doubles end.
    assert core.log2_failure(24.99 * math.sqrt(2), 1.0) == pytest.approx(
        core.log2_failure(25.01 * math.sqrt(2), 1.0), abs=2
    )
