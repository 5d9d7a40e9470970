"""Encrypted runs give what the simulator gives, bit by bit."""

from typing import Any

import numpy as np
import pytest
import whorl
from tracing.programs import random_bounds, random_program, samples
from tracing.test_operations import FUNCTIONS
from whorl import binfhe
from whorl.binfhe import Client, Server


@pytest.fixture(scope="module")
def ends() -> tuple[Client, Server]:
    """One key serves all circuits of a set."""
    client = Client(binfhe.parameters("W128_P128"))
    return client, Server(client.evaluation_keys(), device="cpu")


ENCRYPTED = (
    *("add", "multiply signed", "multiply by a bit", "sqrt", "maximum", "where", "logic"),
    *("rounded", "matmul of both", "pool", "edges", "any and all", "moved", "less"),
    "table of each element",
)


@pytest.mark.parametrize("name", ENCRYPTED)
def test_encrypted_is_simulated(name: str, ends: tuple[Client, Server]) -> None:
    client, server = ends
    function, inputset = FUNCTIONS[name]
    circuit = whorl.trace(function, inputset).compile()
    given = [each if isinstance(each, tuple) else (each,) for each in (inputset[-1], inputset[5])]
    batch = [np.stack(each) for each in zip(*given, strict=True)]
    result = circuit.decrypt(client, circuit.run(server, circuit.encrypt(client, *batch)))
    assert np.array_equal(result, circuit.simulate(*batch))
    expected = [function(*(np.asarray(x, dtype=np.int64) for x in each)) for each in given]
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("seed", range(200, 212))
def test_random_programs(seed: int, ends: tuple[Client, Server]) -> None:
    client, server = ends
    function, bounds = random_program(seed), random_bounds(seed)
    circuit = whorl.trace(function, samples(bounds, seed, 20)).compile()
    if circuit.costs["bootstraps"] > 150:
        pytest.skip("it takes seconds, and the simulator ran programs of this size")
    [each] = samples(bounds, seed + 1, 1)[2:]
    result = circuit.decrypt(client, circuit.run(server, circuit.encrypt(client, *each)))
    assert np.array_equal(result, circuit.simulate(*each))
    assert np.array_equal(result, function(*each))


def test_messages_of_another_set() -> None:
    """Bits take a set of small messages, which the search finds."""
    bits = [(a, b) for a in range(2) for b in range(2)]
    circuit = whorl.trace(lambda x, y: x ^ y, bits).compile("search")
    assert circuit._program.p == 4
    client = circuit.keys()
    server = Server(client.evaluation_keys(), device="cpu")
    a, b = np.array(bits).T
    result = circuit.run(server, circuit.encrypt(client, a, b))
    assert circuit.decrypt(client, result).tolist() == (a ^ b).tolist()


def test_the_server_has_only_the_file(ends: tuple[Client, Server]) -> None:
    """It reads the circuit and ciphertexts, and sends back results."""
    client, server = ends
    circuit = whorl.trace(lambda x, y: np.maximum(x, y) - x, [(0, 0), (20, 20)]).compile()
    sent = circuit.encrypt(client, [3, 20], [9, 4]).to_bytes()
    on_server = whorl.tracing.from_bytes(circuit.to_bytes())
    result = on_server.run(server, binfhe.Ciphertexts.from_bytes(sent)).to_host().to_bytes()
    received = binfhe.Ciphertexts.from_bytes(result)
    assert circuit.decrypt(client, received).tolist() == [6, 0]


def test_a_level_is_one_call(ends: tuple[Client, Server], monkeypatch: pytest.MonkeyPatch) -> None:
    client, server = ends
    calls = []
    apply = Server.apply

    def counted(self: Server, luts: Any, x: Any, **options: Any) -> Any:
        calls.append(x.size)
        return apply(self, luts, x, **options)

    monkeypatch.setattr(Server, "apply", counted)
    function, inputset = FUNCTIONS["pool"]
    circuit = whorl.trace(function, inputset).compile()
    calls.clear()
    circuit.run(server, circuit.encrypt(client, inputset[2]))
    assert len(calls) == circuit.costs["levels"]
    assert sum(calls) == circuit.costs["bootstraps"]


def test_ciphertexts_of_others_are_refused(ends: tuple[Client, Server]) -> None:
    client, server = ends
    circuit = whorl.trace(lambda x: x + 1, range(8)).compile()
    with pytest.raises(whorl.EncodingError, match=r"inputs: shape \(3,\)"):
        circuit.run(server, client.encrypt([1, 2, 3], p=16, padding=True))
    with pytest.raises(whorl.EncodingError, match="p = 8"):
        circuit.run(server, client.encrypt([1, 1], p=8, padding=True))
    with pytest.raises(whorl.EncodingError, match=r"under the lwe key .* under the ring key"):
        circuit.run(server, client.encrypt([1, 1], p=16, padding=True))
    with pytest.raises(whorl.EncodingError, match="results: shape"):
        circuit.decrypt(client, client.encrypt([[1]] * 3, p=16, padding=True))
    other = Client(binfhe.parameters("W128_P64"))
    with pytest.raises(whorl.ParameterMismatchError, match=r"circuit.keys\(\) makes"):
        circuit.encrypt(other, 3)
    there = Server(other.evaluation_keys(), device="cpu")
    with pytest.raises(whorl.ParameterMismatchError, match="the server has parameters"):
        circuit.run(there, circuit.encrypt(client, 3))
