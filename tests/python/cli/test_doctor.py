"""whorl doctor: what it tells, and that it sees wrong results."""

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest
import whorl
from cli_support import Here
from whorl import bgv, binfhe, ckks
from whorl.cli import _doctor

CPU = ("--device", "cpu")
CHECKS = ["FHEW/TFHE gate", "BGV product", "CKKS bootstrap"]


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


def lines_of(text: str) -> dict[str, str]:
    """The name of each line, and what stands behind it."""
    rows = (line.split("  ", 1) for line in text.splitlines() if line)
    return {name.strip(): value.strip() for name, value in rows}


def test_doctor_for_people(here: Here) -> None:
    said = lines_of(here("doctor", *CPU))
    assert said["whorl"] == whorl.__version__
    assert Path(said["compiled part"]).is_dir()
    assert said["device used"].endswith("(--device cpu)")
    assert all(device.why in said[device.name] for device in whorl.devices())
    for check in CHECKS:
        assert said[check].startswith("right, ") and "s with keys (" in said[check]
    assert "not secure" in said["CKKS bootstrap"]


def test_doctor_for_programs(here: Here) -> None:
    told = json.loads(here("doctor", *CPU, "--json"))
    assert (told["version"], told["cpu_target"]) == (whorl.__version__, whorl.cpu_target())
    assert told["device"].startswith("cpu") and told["right"] is True
    assert [each["name"] for each in told["devices"]] == [each.name for each in whorl.devices()]
    assert [each["check"] for each in told["checks"]] == CHECKS
    for check in told["checks"]:
        assert check["right"] is True and check["error"] == ""
        assert 0 < check["seconds"] < 60


@pytest.mark.parametrize("wrong", range(3))
def test_doctor_sees_wrong_results(monkeypatch: pytest.MonkeyPatch, wrong: int) -> None:
    client: Any = [binfhe.Client, bgv.Client, ckks.Client][wrong]
    decrypt = client.decrypt

    def other(*args: Any, **kwargs: Any) -> Any:
        return decrypt(*args, **kwargs)[::-1]

    monkeypatch.setattr(client, "decrypt", other)
    seen = [_doctor._outcome(check, "cpu").right for check in CHECKS]
    assert seen == [place != wrong for place in range(3)]


def test_doctor_goes_on_after_a_failure(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise whorl.OutOfMemoryError("17 bytes are missing")

    monkeypatch.setattr(bgv, "Server", fail)
    said = run_failing(here, monkeypatch)
    assert said["BGV product"].startswith("OutOfMemoryError: 17 bytes are missing, ")
    assert said["FHEW/TFHE gate"].startswith("right") and said["CKKS bootstrap"].startswith("right")


def test_doctor_says_that_a_result_is_wrong(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = _doctor._CHECKS["FHEW/TFHE gate"][0]
    monkeypatch.setitem(_doctor._CHECKS, "FHEW/TFHE gate", (gate, lambda device: False))
    assert run_failing(here, monkeypatch)["FHEW/TFHE gate"].startswith("WRONG, ")


def run_failing(here: Here, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What a run with status 1 says; all of it on standard output."""
    monkeypatch.setattr(
        "cli_support.checked", lambda code, status, output, errors: (status, output)
    )
    told: Any = here("doctor", *CPU)
    status, output = told
    assert status == 1
    return lines_of(output)


def test_doctor_refuses_a_device_that_is_not_there(here: Here) -> None:
    assert 'device "nosuch"' in here("doctor", "--device", "nosuch", code=1)


def test_doctor_names_the_package_of_the_gpu_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        assert name == "whorl-fhe-cuda13"
        return "1.2.3"

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert _doctor._gpu_package() == "1.2.3"
