"""Files of circuits: what is written is read again, and nothing else is."""

import dataclasses
import hashlib
import json
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from hypothesis import given
from hypothesis import strategies as st
from tracing.test_operations import FUNCTIONS
from whorl.tracing import Circuit, from_bytes, load
from whorl.tracing._file import written
from whorl.tracing._lower import Row
from whorl.tracing._program import Input, Sums, ciphertexts_of


def made(name: str = "layer", **options: Any) -> Circuit:
    function, inputset = FUNCTIONS[name]
    return whorl.trace(function, inputset).compile(**options)


CIRCUIT = whorl.trace(
    lambda x, y: (np.maximum(x * y, 3), x.sum() > y),
    [([0, 0], 0), ([15, 15], 15), ([3, 4], 2)],
).compile(measured=True)
DATA = CIRCUIT.to_bytes()


def closed(body: bytes) -> bytes:
    """The bytes with a digest that matches."""
    return body + hashlib.blake2b(body, digest_size=32).digest()


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """The file with another header."""
    (length,) = struct.unpack("<Q", DATA[8:16])
    header = json.loads(DATA[16 : 16 + length])
    change(header)
    text = json.dumps(header).encode()
    return closed(DATA[:8] + struct.pack("<Q", len(text)) + text + DATA[16 + length : -32])


@pytest.mark.parametrize("name", ["layer", "logic", "sixteen bits", "unused input", "pool"])
def test_round_trip(name: str, tmp_path: Path) -> None:
    circuit = made(name)
    circuit.save(tmp_path / "circuit")
    again = load(tmp_path / "circuit")
    assert again.show() == circuit.show()
    assert again.costs == circuit.costs
    assert again.failure_log2 == circuit.failure_log2
    assert again.to_bytes() == circuit.to_bytes()
    for each in FUNCTIONS[name][1][:20]:
        arguments = each if isinstance(each, tuple) else (each,)
        assert np.array_equal(again.simulate(*arguments), circuit.simulate(*arguments))


def test_checks_are_kept() -> None:
    again = from_bytes(DATA)
    assert len(again._program.checks)
    found = again.simulate([3, 4], 2)
    assert found[0].tolist() == [6, 8]
    assert found[1]
    for circuit in (CIRCUIT, again):
        with pytest.raises(whorl.EncodingError, match="outside 0 … 15"):
            circuit.simulate([16, 0], 0)


def test_a_server_never_has_the_client() -> None:
    """Loading and checking a circuit takes no module that has secret keys."""
    code = (
        "import sys, whorl.tracing as t; t.load(sys.argv[1]); print('whorl._client' in sys.modules)"
    )
    with tempfile.TemporaryDirectory() as folder:
        CIRCUIT.save(f"{folder}/circuit")
        command = [sys.executable, "-c", code, f"{folder}/circuit"]
        assert subprocess.run(command, capture_output=True, text=True).stdout == "False\n"


def test_paths(tmp_path: Path) -> None:
    with pytest.raises(whorl.IoError, match="absent"):
        load(tmp_path / "absent")
    with pytest.raises(whorl.IoError, match="No such file"):
        CIRCUIT.save(tmp_path / "no" / "folder")
    CIRCUIT.save(tmp_path / "circuit")
    with pytest.raises(whorl.OversizedError, match="above 1000"):
        load(tmp_path / "circuit", max_bytes=1000)


def test_what_is_no_circuit() -> None:
    for data, error, text in [
        (b"", whorl.TruncatedError, "0 bytes are no circuit"),
        (b"WHORLNN1" + bytes(100), whorl.FormatError, "do not begin with WHORLTR"),
        (b"WHORLTR2" + DATA[8:], whorl.VersionError, "version b'2'"),
        (DATA[:-1] + bytes([DATA[-1] ^ 1]), whorl.CorruptionError, "digest"),
        (DATA[:5000] + bytes([DATA[5000] ^ 1]) + DATA[5001:], whorl.CorruptionError, "digest"),
        (closed(DATA[:-48]), whorl.TruncatedError, "numbers are announced"),
        (closed(DATA[:16] + b"x" + DATA[17:-32]), whorl.FormatError, "no JSON"),
    ]:
        with pytest.raises(error, match=text):
            from_bytes(data)


def set_at(*path: Any) -> Callable[[dict[str, Any]], Any]:
    """Puts the last of them where the others lead."""
    *keys, last, value = path

    def change(header: dict[str, Any]) -> None:
        place: Any = header
        for key in keys:
            place = place[key]
        place[last] = value

    return change


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "kind": (set_at("kind", "network"), "kind 'network'"),
    "p": (set_at("p", 12), "p: 12 is not a power of two"),
    "large p": (set_at("p", 1024), "p: 1024 is no integer from 4"),
    "parameters": (set_at("parameters", "zz"), "hexadecimal"),
    "no parameters": (set_at("parameters", None), "hexadecimal"),
    "other parameters": (set_at("parameters", "00" * 64), "magic|frame|begin|bytes"),
    "missing": (lambda h: h.pop("looks"), "looks is missing"),
    "bounds": (set_at("inputs", 0, "high", -1), "no integer from 0"),
    "wide bounds": (set_at("inputs", 0, "high", 2**50), "no integer from 0"),
    "more digits": (set_at("inputs", 0, "high", 255), "ciphertexts: .* is no integer from"),
    "a shape": (set_at("inputs", 0, "shape", [3]), "ciphertexts: .* is no integer"),
    "a large shape": (set_at("inputs", 0, "shape", [2**25]), "inputs"),
    "an output": (set_at("outputs", 1, "shape", [2]), "shape"),
    "no outputs": (set_at("outputs", []), "outputs"),
    "a bool": (set_at("outputs", 1, "bool", 2), "bool"),
    "an array": (set_at("numbers", "array", 99), "no integer from 0"),
    "another array": (set_at("numbers", "array", 0), "circuit.numbers"),
    "a length": (set_at("numbers", "shape", [3]), "numbers"),
    "axes": (set_at("tables", "shape", [16]), "axes"),
    "weights": (
        lambda h: h["looks"].update(weights=h["looks"]["wires"]),
        "looks.weights|a weight of 0",
    ),
    "order": (lambda h: h.update(looks=h["ends"]), "looks|numbers"),
    "shares": (set_at("shares", 2), "shares: 2 is no integer from 0 to 1"),
    "rows": (set_at("rows", 0, "low", "0"), "low"),
    "a row's bounds": (set_at("rows", 0, "high", 99), r"rows\[0\]: .* 0 … 99 .* input 0's"),
    "a row's order": (
        set_at("rows", 2, "low", 2**40),
        "rows.*high: .* no integer from 1099511627776",
    ),
    "a row's tables": (set_at("rows", 2, "tables", 10**6), "rows: 10000.. tables .* not those of"),
    "a row's level": (set_at("rows", 2, "level", 10**6), "to level 1000000 are not those of"),
    "a result's shape": (set_at("rows", -1, "shape", [3]), r"\(3,\) is not that of the result"),
    "no rows": (set_at("rows", []), "rows: 0 are there; 2 inputs and 2 results"),
    "many rows": (set_at("rows", [{}] * 100_001), "rows: 100,001 are above 100,000"),
    "a row's name": (set_at("rows", 0, "name", "\x1b[2J"), "letters that cannot be printed"),
    "many ciphertexts": (
        lambda h: h["inputs"][0].update(shape=[2**19], high=2**46),
        "inputs: these take 12,.* ciphertexts; 1 … 1,048,576 are read: trace with fewer",
    ),
    "many inputs": (set_at("inputs", 0, "shape", [2**21]), "2,097,153 inputs"),
    "many outputs": (set_at("outputs", 0, "shape", [2**21]), "2,097,153 outputs"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_headers(name: str) -> None:
    change, text = CHANGES[name]
    with pytest.raises(whorl.FormatError, match=text):
        from_bytes(changed(change))


def test_small_files_take_little_memory() -> None:
    """Whatever sizes a header of some kilobytes announces."""
    changes = [
        *(set_at("inputs", 0, "shape", [2**k]) for k in (10, 20, 25)),
        *(set_at("inputs", 0, "high", 2**k) for k in (10, 46)),
        *(set_at(name, "shape", [2**26, 16]) for name in ("tables", "digits", "limits")),
        *(
            set_at(sums, name, "shape", [2**28])
            for sums in ("looks", "ends", "checks")
            for name in ("starts", "wires", "weights", "constants")
        ),
        set_at("outputs", [{"shape": [2**20], "bool": 0}] * 1000),
        set_at("inputs", [{"shape": [2**20 - 3], "low": 0, "high": 3}]),
    ]
    for change in changes:

        def fits(header: dict[str, Any], change: Any = change) -> None:
            change(header)
            inputs = [Input(tuple(x["shape"]), x["low"], x["high"]) for x in header["inputs"]]
            header["ciphertexts"] = ciphertexts_of(inputs, 4)

        data = changed(fits)
        tracemalloc.start()
        with pytest.raises(whorl.FormatError):
            from_bytes(data)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 2**26


def chain(length: int) -> bytes:
    """A file of tables, each of the one before, of whose results all are added up at last."""
    program = whorl.trace(lambda x: x ^ 5, range(16)).compile()._program
    ones = np.ones(length, dtype=np.int64)
    looks = Sums(np.arange(length + 1), np.arange(length), ones, 0 * ones)
    last = np.array([length])
    long = dataclasses.replace(
        program,
        inputs=(Input((), 0, 3),),
        looks=looks,
        numbers=0 * ones,
        ends=Sums(np.array([0, 1]), last, ones[:1], 0 * last),
        factors=ones[:1],
        digits=np.array([[1, 0]]),
    )
    rows = [Row("input", (), 0, 3, False, 0, 0), Row("x", (), 0, 15, False, length, length)]
    return written(CIRCUIT.parameters, long, rows)


def test_loading_takes_time_linear_in_the_file() -> None:
    start = time.perf_counter()
    circuit = from_bytes(chain(20_000))
    assert time.perf_counter() - start < 30
    assert circuit.costs["levels"] == circuit.costs["bootstraps"] == 20_000
    one = circuit.parameters.lut_failure_log2(16, padding=True, arbitrary=False)
    assert abs(circuit.failure_log2 - one - np.log2(20_000)) < 0.1


def with_numbers(name: str, *path: str, at: int, value: float) -> bytes:
    """The file with another number in one of its arrays."""
    header = json.loads(DATA[16:BODY])
    place = header[name]
    for key in path:
        place = place[key]
    start = BODY + 8 * (sum(header["sizes"][: place["array"]]) + at)
    return closed(DATA[:start] + struct.pack("<d", value) + DATA[start + 8 : -32])


def test_numbers_outside_what_sums_can_be() -> None:
    for name in ("looks", "ends"):
        for value in (-(2.0**52), 2.0**66, 1e4):
            with pytest.raises(whorl.RangeError, match=f"{name}: sum 0 has weights|no integer"):
                from_bytes(with_numbers(name, "constants", at=0, value=value))
    for value in (2.0**53 - 1, 2.0**54):
        with pytest.raises(whorl.RangeError, match=r"checks: sum 0 has weights|no integer"):
            from_bytes(with_numbers("checks", "constants", at=0, value=value))
    with pytest.raises(whorl.RangeError, match=r"looks.wires: an entry is no integer from 0 to"):
        from_bytes(with_numbers("looks", "wires", at=0, value=2.0**20))
    numbers = CIRCUIT._program.numbers
    once = int(np.flatnonzero(np.bincount(numbers)[numbers] == 1)[0])
    with pytest.raises(whorl.RangeError, match=r"tables are there, and .* are looked up"):
        from_bytes(with_numbers("numbers", at=once, value=(numbers[once] + 1) % 2))
    with pytest.raises(whorl.RangeError, match="bounds 2000 … "):
        from_bytes(with_numbers("limits", at=0, value=2000))
    with pytest.raises(TypeError, match="bytes are needed, not int"):
        from_bytes(10**12)  # type: ignore[arg-type]


def test_a_circuit_of_too_many_inputs_is_refused() -> None:
    many = whorl.trace(lambda x: x[0], [np.zeros(2**18, int), np.full(2**18, 2**9)])
    with pytest.raises(whorl.ParameterError, match=r"1,310,720 ciphertexts .* 1,048,576 are the"):
        many.compile()


BODY = 16 + struct.unpack("<Q", DATA[8:16])[0]
NUMBERS = (len(DATA) - 32 - BODY) // 8


@given(st.integers(0, NUMBERS - 1), st.sampled_from([-1.0, 0.5, 1e300, 2.0**47, float("nan"), 17]))
def test_changed_numbers(place: int, value: float) -> None:
    """They are refused, or make a circuit that runs, whatever it computes."""
    at = BODY + 8 * place
    data = closed(DATA[:at] + struct.pack("<d", value) + DATA[at + 8 : -32])
    try:
        circuit = from_bytes(data)
    except whorl.FormatError:
        return
    assert value not in (0.5, 1e300, 2.0**47)
    circuit._program.simulated(np.zeros((circuit.costs["inputs"], 1), dtype=np.int64))


@given(st.integers(0, len(DATA) - 33), st.integers(0, 255), st.booleans())
def test_changed_bytes(place: int, value: int, is_closed: bool) -> None:
    body = DATA[:place] + bytes([value]) + DATA[place + 1 : -32]
    data = closed(body) if is_closed else body + DATA[-32:]
    try:
        from_bytes(data)
    except (whorl.FormatError, whorl.ParameterError):
        return
    assert is_closed or data == DATA


@given(st.integers(0, len(DATA) - 1))
def test_parts_of_files(length: int) -> None:
    for data in (DATA[:length], closed(DATA[:length])):
        with pytest.raises(whorl.FormatError):
            from_bytes(data)
