"""Random programs on lanes, of which tools/test.sh runs more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lane_programs import Machine, Program, run_all, run_one, small_machines
from support import ROOT


def test_programs_are_right_and_errors_as_stated() -> None:
    """A failure prints seed and number; the module says how to repeat it."""
    seed = int.from_bytes(os.urandom(4), "little")
    found = run_all(small_machines(), seed, range(300), 3)
    assert not found.failed, found.failed
    assert (found.programs, found.wrong, found.beyond) == (300, 0, 0)
    assert found.bootstraps > 0
    assert 0 < found.closest <= 1
    assert found.log2_failure < -64


def test_what_is_wrong_is_found() -> None:
    on = Machine("W128_BITS1_L4", 64, 64)
    bits = np.random.default_rng(1).integers(0, 2, (2, 64)).astype(np.bool_)
    x = on.server.upload(on.client.encrypt(bits))
    assert on.differences(x, bits)[:2] == (0, 0)
    other = bits.copy()
    other[1, 5] ^= True
    wrong, beyond, part = on.differences(x, other)
    assert (wrong, beyond) == (1, 1)
    assert part > 1000
    # A program that goes wrong is named.
    found = run_all([on], 7, [3, 4], -1)
    assert found.programs == 2
    assert [line[:19] for line in found.failed] == ["seed 7, program 3: ", "seed 7, program 4: "]


def test_programs_follow_from_their_numbers() -> None:
    on = Machine("W128_BITS5_L10", 64, 64)
    for number, long in ((0, True), (3, False)):
        first, second = (Program(on, np.random.default_rng([1, number]), 2, long) for _ in range(2))
        first.run()
        second.run()
        assert len(first.made) > 3
        for (_, a), (_, b) in zip(first.made, second.made, strict=True):
            assert np.array_equal(a, b)
    assert run_one(on, 1, 3, 2).gates == run_one(on, 1, 3, 2).gates


@pytest.mark.slow
def test_the_script_runs_in_processes(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tests" / "python" / "lane_programs.py")]
    run = subprocess.run(
        [*command, "--programs", "60", "--processes", "2"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "programs=60" in run.stdout and "PASSED" in run.stdout
