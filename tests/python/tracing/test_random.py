"""Random programs: encrypted runs under a short key give what the simulator gives, bit by bit."""

from typing import Any

import numpy as np
import pytest
import whorl
from tracing.programs import compiled, random_bounds, random_program, samples
from whorl import binfhe
from whorl.binfhe import Client, Server
from whorl.tracing import _compile

MOST_TABLES = 400
"""Programs of more take seconds, and are left out."""


class ShortKeys:
    """`W128_P128` with a key of 16 bits, so that a rotation takes a fiftieth; not secure."""

    def __init__(self) -> None:
        literal = binfhe.parameters("W128_P128").literal()
        toy: Any = {**literal, "name": "toy", "n": 16, "gadget": [(16, 23, 1)]}
        self.parameters = binfhe.parameters(toy, allow_insecure=True)
        self.client = Client(self.parameters)
        self.server = Server(self.client.evaluation_keys(), device="cpu")

    def run(self, seed: int) -> bool:
        """Whether a program was run; it asserts that results are right."""
        circuit = compiled(seed, parameters=self.parameters)
        if circuit is None or circuit.costs["bootstraps"] > MOST_TABLES:
            return False
        function, program = random_program(seed), circuit._program
        given = samples(random_bounds(seed), seed + 1, 2)
        batch = [np.stack(each) for each in zip(*given, strict=True)]
        try:
            inputs = circuit.encrypt(self.client, *batch)
        except whorl.EncodingError as error:  # a bound that only the input set has shown
            assert "within the circuit" in str(error)
            return False
        results = circuit.run(self.server, inputs)
        digits, _ = program.encoded(batch)
        ends = self.client.decrypt(results)
        assert np.array_equal(ends, program.simulated(digits)), f"seed {seed}"
        found = circuit.decrypt(self.client, results)
        assert np.array_equal(found, circuit.simulate(*batch)), f"seed {seed}"
        wanted = [function(*each) for each in given]
        assert np.array_equal(found, np.stack(wanted)), f"seed {seed}"
        return True


@pytest.fixture(scope="module")
def short() -> ShortKeys:
    return ShortKeys()


@pytest.mark.parametrize("width", [4, 5, 8, 12])
def test_tables_of_one_sum_share_rotations(
    width: int, short: ShortKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of results with several digits, for all elements in one call."""
    monkeypatch.setattr(_compile, "SIZES", (16,))

    def function(x: Any) -> Any:
        return x * 2741 % 2**width - 7, x + 1

    circuit = whorl.trace(function, [[0] * 3, [15] * 3]).compile(short.parameters)
    digits = 1 if width == 4 else (width + 1) // 2
    assert circuit.costs["tables"] == 3 * digits
    assert circuit.costs["bootstraps"] == 3
    calls = []
    many = Server.apply_many

    def counted(self: Server, luts: Any, x: Any) -> Any:
        calls.append(x.size)
        return many(self, luts, x)

    monkeypatch.setattr(Server, "apply_many", counted)
    given = np.array([[[0, 15, 7], [1, 2, 3]], [[4, 5, 6], [8, 9, 10]]])
    inputs = circuit.encrypt(short.client, given)
    found = circuit.decrypt(short.client, circuit.run(short.server, inputs))
    expected = [] if width == 4 else [given.size]
    assert calls == expected
    for each, wanted in zip(found, function(given), strict=True):
        assert np.array_equal(each, wanted)
    again = whorl.tracing.from_bytes(circuit.to_bytes(), allow_insecure=True)
    assert again.costs == circuit.costs
    calls.clear()
    # A server that allows more failures might share them in a way that fails more often.
    keys = short.client.evaluation_keys()
    lax = Server(keys, device="cpu", allow_failure=2**-30)
    found = circuit.decrypt(short.client, circuit.run(lax, inputs))
    assert not calls
    assert np.array_equal(found[0], function(given)[0])


@pytest.mark.parametrize("p", [4, 8, 16, 32])
def test_encrypted_is_simulated(p: int, short: ShortKeys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compile, "SIZES", (p,))
    start = int(np.random.default_rng().integers(2**31))
    assert sum(short.run(start + each) for each in range(6)) > 0, f"seeds from {start} on"


@pytest.mark.slow
@pytest.mark.parametrize("p", [4, 8, 16, 32])
def test_many_encrypted_are_simulated(
    p: int, short: ShortKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_compile, "SIZES", (p,))
    start = int(np.random.default_rng().integers(2**31))
    assert sum(short.run(start + each) for each in range(400)) > 200, f"seeds from {start} on"
