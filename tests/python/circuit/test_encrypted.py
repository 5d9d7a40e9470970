"""Circuits on encrypted bits, and what the server is asked for."""

import signal
from typing import Any

import numpy as np
import pytest
import whorl
from circuit.circuits import RandomCircuit
from circuit.test_circuits import ADDER
from support import Kit, make_kit
from whorl import binfhe
from whorl.circuit import Circuit, from_bits, loads, to_bits

NAMED = ".inputs a b\n.outputs y\n.names a b y\n11 1\n.end"


@pytest.fixture(scope="module")
def exact() -> Kit:
    """Carries tables of 8 and of 16 values on sums of results."""
    return make_kit(n=16, N=2048, q=4096, Q=(1 << 50) - 16383, gadget=[(16, 13, 4)], max_p=16)


ENCODINGS: dict[str, dict[str, Any]] = {
    "gates": {},
    "tables of 2": {"p": 4, "padding": True},
    "tables of 3": {"p": 8, "padding": True},
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("shape", [(), (2, 1)])
def test_an_adder(kit: Kit, exact: Kit, encoding: str, shape: tuple[int, ...]) -> None:
    chosen = exact if "3" in encoding else kit
    adder = loads(ADDER, "adder.v")
    numbers = np.random.default_rng(1).integers(0, 256, (2, *shape))
    inputs = {
        name: chosen.client.encrypt(to_bits(x, 8), **ENCODINGS[encoding])
        for name, x in zip("ab", numbers, strict=True)
    }
    told: list[tuple[int, int]] = []
    result = adder.run(chosen.server, inputs, progress=lambda *done: told.append(done))["s"]
    assert result.shape == (*shape, 9)
    bits = chosen.client.decrypt(result)
    assert np.array_equal(from_bits(bits), numbers.sum(axis=0))
    gates = sum((adder if encoding == "gates" else adder.tables(int(encoding[-1]))).gates.values())
    assert told[-1] == (gates, gates) and told == sorted(told)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_random_circuits(exact: Kit, encoding: str, generator: np.random.Generator) -> None:
    """With inverted, constant and equal outputs, muxes, and outputs that are inputs."""
    made = RandomCircuit(generator, 25)
    x, s = generator.integers(0, 2, (3, 5)), generator.integers(0, 2, 3)
    inputs = {
        "x": exact.server.upload(exact.client.encrypt(x, **ENCODINGS[encoding])),
        "s": exact.client.encrypt(s, **ENCODINGS[encoding]),
    }
    found = loads(made.verilog()).run(exact.server, inputs)
    for name, bits in made(x.astype(bool), s.astype(bool)).items():
        assert np.array_equal(exact.client.decrypt(found[name]), bits), name


def planned(circuit: Circuit, parameters: binfhe.Parameters, **encoding: Any) -> dict[str, int]:
    """Costs for five lanes."""
    shapes = [(5, width) if width > 1 else (5,) for width in circuit.inputs.values()]

    def run(*arrays: binfhe.EncryptedArray) -> Any:
        named = dict(zip(circuit.inputs, arrays, strict=True))
        return circuit.run(arrays[0].server, named)

    inputs = [binfhe.Fresh(shape, **encoding) for shape in shapes]
    return binfhe.plan(run, inputs, parameters=parameters).costs


def test_bootstraps_are_those_of_the_gates(generator: np.random.Generator) -> None:
    """On sets that are in use. Fast ones do not carry a gate on results of `mux`."""
    params = binfhe.parameters
    mux = loads(
        "module m(input a, b, c, output y);\\$_MUX_ m (.A(a), .B(b), .S(c), .Y(y)); endmodule"
    )
    assert mux.gates == {"mux": 1}
    assert planned(mux, params("W128_P64"))["bootstraps"] == 5 * 2
    assert planned(mux, params("W128_P64_M3"))["bootstraps"] == 5 * 3
    assert planned(loads(ADDER), params("W128_P64"))["bootstraps"] == 5 * 16
    circuit = loads(RandomCircuit(generator, 200).blif())
    tables = sum(circuit.tables(3).gates.values())
    assert planned(circuit, params("W128_P128"), p=8, padding=True)["bootstraps"] == 5 * tables
    assert tables <= sum(circuit.tables(2).gates.values())


def test_errors_in_common_are_refreshed(generator: np.random.Generator) -> None:
    """Where a gate would have too much noise, since two of its inputs are results of the same
    inputs, one of them is bootstrapped. Circuit number 4 has such a gate."""
    more = []
    for source in (np.random.default_rng(4), generator):
        circuit = loads(RandomCircuit(source, 200).blif())
        count = sum(circuit.gates.values()) + circuit.gates.get("mux", 0)
        more.append(planned(circuit, binfhe.parameters("W128_P64"))["bootstraps"] - 5 * count)
        planned(circuit, binfhe.parameters("W128_P64_M3"))
    assert more[0] > 0 <= more[1]


def test_one_call_for_a_kind_of_a_layer(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    adder, calls = loads(ADDER), []
    gate = binfhe.Server.gate

    def counted(self: Any, name: str, *inputs: Any, **options: Any) -> Any:
        result = gate(self, name, *inputs, **options)
        mine = self is kit.server  # a plan calls gates, too, the first time
        if mine and all(isinstance(each, binfhe.EncryptedArray) for each in inputs):
            calls.append((name, result.shape))
        return result

    monkeypatch.setattr(binfhe.Server, "gate", counted)
    bits = kit.client.encrypt(to_bits([3, 200], 8))
    adder.run(kit.server, {"a": bits, "b": bits})
    named = {"xor3": "xor"}
    assert sorted(calls) == sorted(
        (named.get(kind, kind), (count, 2))
        for layer in adder.layers
        for kind, count in layer.items()
    )


def test_refusals(kit: Kit) -> None:
    circuit, one = loads(NAMED), kit.client.encrypt(1)
    for wrong, error, message in (
        ({"a": one, "b": 1}, TypeError, "b: ciphertexts are needed, not int"),
        (
            {"a": one, "b": kit.client.encrypt(1, p=6)},
            whorl.EncodingError,
            "all must have the same",
        ),
        (dict.fromkeys("ab", kit.client.encrypt(1, p=6)), whorl.EncodingError, "p = 6; encrypt"),
        ({"a": one, "b": kit.client.encrypt([1])}, whorl.ShapeError, r"b has shape \(1,\)"),
    ):
        with pytest.raises(error, match=message):
            circuit.run(kit.server, wrong)
    with pytest.raises(TypeError, match=r"server: a Server of whorl\.binfhe or whorl\.lanes is"):
        circuit.run(None, {"a": one, "b": one})
    with pytest.raises(TypeError, match="progress: a bool or a callable"):
        circuit.run(kit.server, {"a": one, "b": one}, progress=3)  # type: ignore[arg-type]
    weak = binfhe.parameters("W128_P64")
    with pytest.raises(whorl.NoiseError, match="the set W128_P128"):
        planned(loads(ADDER), weak, p=8, padding=True)


def test_an_interrupt_stops_it(kit: Kit) -> None:
    steps = "".join(f".names n{i} x[{i}] n{i + 1}\n{i % 3 // 2}1 1\n" for i in range(200))
    names = " ".join(f"x[{i}]" for i in range(200))
    chain = loads(f".inputs n0 {names}\n.outputs n200\n{steps}.end")
    done = []

    def stop(count: int, total: int) -> None:
        done.append(count)
        if len(done) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        inputs = {"n0": kit.client.encrypt(1), "x": kit.client.encrypt(np.ones(200, int))}
        chain.run(kit.server, inputs, progress=stop)
    assert len(done) < 5 < chain.depth
