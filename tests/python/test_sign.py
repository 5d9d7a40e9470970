"""apps/sign: numbers as messages, the packed readings, and the processes."""

from pathlib import Path

import numpy as np
import pytest
from applications import check_refused, check_server_apart, numbers_of, with_few_coefficients
from hypothesis import given
from hypothesis import strategies as st
from sign import circuit, run
from sign.readings import PACKED, load
from whorl.client.binfhe import Client
from whorl.server.binfhe import Server

numbers = st.integers(-(2**15), 2**15 - 1)


@given(numbers, numbers, st.integers(1, circuit.MOST_BITS))
def test_messages_stand_for_signed_numbers(a: int, b: int, bits: int) -> None:
    found = circuit.messages(np.array([a, b]))
    assert (found >= 0).all() and (found < circuit.P).all()
    assert circuit.signed(found, circuit.P).tolist() == [a, b]
    difference = int(circuit.messages(np.array(b - a)))
    assert (difference >= circuit.P // 2) == (a > b)
    # Rounding of the message is that of the number.
    floor = ((a + (1 << (bits - 1))) % circuit.P) >> bits
    rounded = circuit.signed(np.array(floor), circuit.P >> bits)
    assert rounded == circuit.rounded_in_clear(np.array(a), bits)
    assert abs(int(rounded) * 2**bits - a) <= 2 ** (bits - 1)


def test_readings_are_those_of_the_data(tmp_path: Path) -> None:
    readings = load()
    assert readings.counts.shape == (178, 13)
    assert readings.counts.min() == -(2**15) and readings.counts.max() == 2**15 - 1
    pytest.importorskip("sklearn.datasets", reason="needs scikit-learn (extra: apps)")
    from sign import pack
    from sklearn.datasets import load_wine

    step = np.abs(readings.quantity(readings.counts) - load_wine().data) / readings.step
    assert step.max() < 0.5 + 1e-6
    pack.main(["--to", str(tmp_path / "readings.npz")])
    with np.load(tmp_path / "readings.npz") as made, np.load(PACKED) as kept:
        assert set(made) == set(kept)
        assert all(np.array_equal(made[name], kept[name]) for name in kept)


def test_encrypted_numbers_by_a_small_key() -> None:
    """The circuit under a set of few coefficients: edges of the range, and equal numbers."""
    client = Client(with_few_coefficients(circuit.PARAMETERS))
    server = Server(client.evaluation_keys(), device="cpu")
    readings = np.array([-(2**15), 2**15 - 1, 0, 5, -6, 2**15 - 1])
    limits = np.array([2**15 - 1, -(2**15), 0, 4, -5, 2**15 - 1])
    x, top = (
        server.upload(client.encrypt(circuit.messages(n), circuit.P)) for n in (readings, limits)
    )
    above = client.decrypt(circuit.above(server, x, top))
    assert above.tolist() == (readings > limits).astype(int).tolist()
    for bits in (1, 5, circuit.MOST_BITS):
        rounded = circuit.rounded(server, x, bits)
        found = circuit.signed(client.decrypt(rounded), rounded.p)
        assert found.tolist() == circuit.rounded_in_clear(readings, bits).tolist()


def test_from_readings_to_results_in_separate_processes(tmp_path: Path) -> None:
    work = tmp_path / "work"
    told, words = numbers_of("sign", work, "--samples", "1", "--device", "cpu", "--bits", "4")
    assert told["readings"] == told["right_above"] == told["right_rounded"] == 13
    assert told["security_bits"] >= 128 and told["sign_failure_log2"] < -40
    assert told["rotations_per_sign"] == 9 and told["rotations_per_floor"] == 2
    assert "proline" in words
    files = {"answer.whorl", "rounded.whorl"}
    check_server_apart("sign", work, told, "whorl.binfhe", "task.json", files)


def test_a_wrong_result_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def found(samples: np.ndarray, limits: np.ndarray, _: object) -> dict[str, object]:
        above = (samples > limits).astype(int)
        above[0, 0] ^= 1
        rounded = circuit.rounded_in_clear(samples, run.BITS)
        served = {
            **dict.fromkeys(("parameters", "device", "transform", "threads"), "none"),
            **dict.fromkeys(("security_bits", "sign_failure_log2", "load_seconds"), 0.0),
            **dict.fromkeys(("batch_seconds", "batch_cpu_seconds", "one_seconds"), 0.0),
            **{"allow_failure": 1.0, "modules": ["whorl"]},
        }
        return {
            "served": served,
            "prepared": {"keys_seconds": 0.0, "encryption_seconds": 0.0},
            "read": {
                "above": above.tolist(),
                "rounded": rounded.tolist(),
                "decryption_seconds": 0.0,
            },
            "bytes": dict.fromkeys(("keys", "query", "answer", "rounded"), 0),
        }

    monkeypatch.setattr(run, "compare", found)
    assert run.main(["--workdir", str(tmp_path)]) == 1


def test_bad_arguments_are_refused() -> None:
    wrong = (("--samples", "0"), ("--samples", "179"), ("--bits", "13"), ("--bits", "x"))
    check_refused("sign", *wrong)
