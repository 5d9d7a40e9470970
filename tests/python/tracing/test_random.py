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
