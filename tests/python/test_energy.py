"""bench/common/energy.py: records of energy, from a counter that the tests make."""

from __future__ import annotations

import ctypes
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from whorl import DeviceError

BLANK = {"bench": "b", "op": "work", "unit": "s", "median": 0.5, "batch": 4, "runs": 9}


@pytest.fixture
def energy(tool: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    tool("latest")
    import common.energy

    monkeypatch.setattr(common.energy, "WARM_UP", 0.01)
    return common.energy


class Gpu:
    """A server whose calls take 3 J each, and the counter of its GPU, which moves in steps."""

    def __init__(self, *devices: str, step: float = 10.0) -> None:
        self.devices = devices or ("cuda:0 (NVIDIA H200)",)
        self.step, self.used, self.waits = step, 0.0, 0
        self.asked: list[int] = []

    def work(self) -> None:
        self.used += 3.0

    def synchronise(self) -> None:
        self.waits += 1

    def counter(self, number: int) -> Callable[[], float]:
        self.asked.append(number)
        return lambda: self.used // self.step * self.step if self.step else 0.0


def kept(path: Path) -> dict[str, Any]:
    (line,) = map(json.loads, path.read_text().splitlines())
    return dict(line)


def test_a_record_has_joules_of_a_thing_and_watts(energy: ModuleType, tmp_path: Path) -> None:
    gpu, path = Gpu(), tmp_path / "a.jsonl"
    energy.add_energy(path, BLANK, gpu, gpu.work, 0.05, counter=gpu.counter)
    line = kept(path)
    assert gpu.asked == [0] and gpu.waits > 1
    assert (line["op"], line["unit"], line["runs"]) == ("work_energy", "J", 1)
    # Calls that are counted are those between two steps, up to the calls of a step.
    assert line["calls"] > 10 and abs(line["median"] * 4 - 3) < 3 * 4 / line["calls"]
    assert line["median"] == line["min"] == line["max"]
    joules = line["median"] * 4 * line["calls"]
    assert line["seconds"] >= 0.05 and line["watts"] == pytest.approx(joules / line["seconds"])
    assert line["method"] == "nvmlDeviceGetTotalEnergyConsumption"


def test_things_take_the_place_of_the_batch(energy: ModuleType, tmp_path: Path) -> None:
    gpu, path = Gpu(step=3.0), tmp_path / "a.jsonl"
    energy.add_energy(path, BLANK, gpu, gpu.work, 0.01, things=14, counter=gpu.counter)
    assert kept(path)["median"] == pytest.approx(3 / 14)


def test_a_later_energy_takes_the_place_of_an_older_one(energy: ModuleType) -> None:
    """However many calls each has; calls of other records tell things apart."""
    from common.records import latest

    lines = [{**BLANK, "op": "work_energy", "unit": "J", "calls": calls} for calls in (3, 5)]
    assert latest(lines) == lines[1:]
    times = [{**line, "unit": "s"} for line in lines]
    assert latest(times) == times


def test_a_cpu_and_no_seconds_have_no_record(energy: ModuleType, tmp_path: Path) -> None:
    cpu, path = Gpu("cpu (AVX3, 2 threads)"), tmp_path / "a.jsonl"
    energy.add_energy(path, BLANK, cpu, cpu.work, counter=cpu.counter)
    gpu = Gpu()
    energy.add_energy(path, BLANK, gpu, gpu.work, 0, counter=gpu.counter)
    assert not path.exists() and not cpu.asked and not gpu.asked and not gpu.used


def test_a_counter_that_stands_still_is_refused(
    energy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(energy, "STILL", 0.01)
    gpu = Gpu(step=0)
    with pytest.raises(DeviceError, match="stands still: --energy 0"):
        energy.add_energy(None, BLANK, gpu, gpu.work, 0.01, counter=gpu.counter)


@pytest.mark.parametrize(
    ("device", "visible", "number"),
    [
        ("cuda:0 (NVIDIA H200)", None, 0),
        ("cuda:1 (NVIDIA H200)", "6,3", 3),
        ("cuda:1 (NVIDIA H200)", "6", 1),
        ("cuda:0 (NVIDIA H200)", "GPU-1ab,2", 0),
        ("cuda:0 (NVIDIA H200)", "", 0),
    ],
)
def test_the_gpu_is_that_of_cuda(
    energy: ModuleType, device: str, visible: str | None, number: int
) -> None:
    assert energy.number_of((device,), visible) == number


def test_several_gpus_are_refused(energy: ModuleType) -> None:
    gpus = Gpu("cuda:0 (NVIDIA H200)", "cuda:1 (NVIDIA H200)")
    with pytest.raises(DeviceError, match=r"of one GPU.*not of cuda:0 .*cuda:1"):
        energy.add_energy(None, BLANK, gpus, gpus.work, counter=gpus.counter)


# ---- the driver's library


def library(monkeypatch: pytest.MonkeyPatch, **functions: Callable[..., int]) -> None:
    """Puts these functions in the place of the driver's."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(**functions))


def test_the_counter_is_read_in_millijoules(
    energy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings, numbers = itertools.count(1500, 500), []

    def handle(number: Any, pointer: Any) -> int:
        numbers.append(number.value)
        pointer._obj.value = 77
        return 0

    def total(device: Any, pointer: Any) -> int:
        assert device.value == 77
        pointer._obj.value = next(readings)
        return 0

    functions: dict[str, Callable[..., int]] = {
        "nvmlInit_v2": lambda: 0,
        "nvmlDeviceGetHandleByIndex_v2": handle,
    }
    library(monkeypatch, **functions, nvmlDeviceGetTotalEnergyConsumption=total)
    joules = energy.nvml(5)
    assert (numbers, joules(), joules()) == ([5], 2.0, 2.5)  # the first one only tries
    library(monkeypatch, **functions)
    with pytest.raises(DeviceError, match="has no nvmlDeviceGetTotalEnergyConsumption"):
        energy.nvml(0)
    library(monkeypatch, **functions, nvmlDeviceGetTotalEnergyConsumption=lambda *_: 3)
    with pytest.raises(DeviceError, match=r"NVML's code 3; energy cannot .* --energy 0"):
        energy.nvml(0)


def test_a_machine_without_the_driver_is_told(
    energy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    gpu = Gpu()
    with pytest.raises(DeviceError, match=r"libnvidia-ml\.so\.1.*driver.*--energy 0"):
        energy.add_energy(None, BLANK, gpu, gpu.work)
