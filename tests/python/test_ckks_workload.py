"""bench/ckks_workload.py: trainings of which records are made, on a ring of no security."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from whorl import ckks


@pytest.fixture
def workload(tool: Callable[..., ModuleType]) -> ModuleType:
    return tool("ckks_workload")


def few(workload: ModuleType, images: int) -> Any:
    """The application's digits, of which so many are for training."""
    data = workload.digits.load()
    return workload.digits.Digits(
        data.training[:images], data.training_labels[:images], data.test, data.test_labels
    )


def records_of(workload: ModuleType, task: Any, data: Any, path: Path) -> dict[str, Any]:
    """What is recorded, by operation."""
    secure = workload.circuit.choose(task.round)
    literal = {**secure.literal(), "N": 1024, "name": "toy"}
    params = ckks.parameters(literal=literal, allow_insecure=True)
    options = workload.options_of(["--device", "cpu", "--runs", "1", "--record", str(path)])
    bench = workload.Bench(task, params, data, options)
    bench.times()
    bench.shares()
    lines = map(json.loads, path.read_text().splitlines())
    return {line["op"]: line for line in lines}


def test_a_training_that_takes_all_images_is_recorded(workload: ModuleType, tmp_path: Path) -> None:
    """In 128 ciphertexts, as that of 16,384 samples, and with a bootstrap."""
    data = few(workload, 200)
    task = workload.task_of(data, 512, 4, 256, 3)
    found = records_of(workload, task, data, tmp_path / "a.jsonl")
    full = found["helr_full"]
    assert (full["batch"], full["images"], full["bootstraps"], full["runs"]) == (128, 200, 1, 1)
    assert full["params"] == "4 iterations of 256 samples, 3 a bootstrap"
    assert 0 < full["preparation"] < full["median"]
    assert full["weights_differ"] < workload.CLOSE
    assert full["accuracy"] == pytest.approx(full["accuracy_clear"], abs=0.003)
    assert 0.8 < full["auc_clear"] <= 1 and full["auc"] == pytest.approx(
        full["auc_clear"], abs=1e-3
    )
    # On a CPU there is no energy.
    kinds = {"rotate", "mult_relin", "add", "relinearise", "rescale", "mult_plain", "lower"}
    kinds.add("bootstrap")
    assert set(found) == {"helr_full", *(f"helr_full_{kind}" for kind in kinds)}
    assert sum(found[f"helr_full_{kind}"]["share"] for kind in kinds) == pytest.approx(1, abs=1e-3)


def test_rows_of_zeros_leave_the_mean_over_the_images(workload: ModuleType) -> None:
    data = few(workload, 200)
    task = workload.task_of(data, 512, 5, 256, 3)
    assert (task.batches[0, 200:] == 0).all() and task.bootstraps == 1
    z = task.batches[:, :200]
    schedule = workload.Schedule(5)
    *_, padded = workload.model.train(task.batches, task.schedule)
    *_, wanted = workload.model.train(z, schedule)
    assert np.abs(wanted).max() > 0.1 and np.abs(padded - wanted).max() < 1e-12


def test_the_papers_numbers_fit(workload: ModuleType) -> None:
    """16,384 samples, 14 iterations: 128 ciphertexts of 128 samples."""
    data = workload.digits.load()
    task = workload.task_of(data, 2**15, 14, 16384, 4)
    assert task.layout.shares == 128 and task.bootstraps == 3
    workload.circuit.check(task.layout, task.batches, task.schedule)
    *_, weights = workload.model.train(task.batches, task.schedule)
    assert workload.model.accuracy(weights, data) > 0.94
    with pytest.raises(ValueError, match="do not fit"):
        workload.task_of(data, 2**15, 14, 128, 4)


def test_mini_batches_are_the_applications(workload: ModuleType) -> None:
    data = workload.digits.load()
    task = workload.task_of(data, 2**15, 32, None, 3)
    assert (task.op, task.params, task.bootstraps) == ("helr", "32 iterations", 10)
    assert task.batches.shape == (11, 1024, 197) and task.layout == workload.Layout()


def test_wrong_weights_are_not_recorded(
    workload: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = few(workload, 64)
    task = workload.task_of(data, 512, 1, 256, 3)
    monkeypatch.setattr(workload.model, "train", lambda *_: iter([np.ones(197)]))
    with pytest.raises(SystemExit, match="weights are off by"):
        records_of(workload, task, data, tmp_path / "a.jsonl")
    assert not (tmp_path / "a.jsonl").exists()
