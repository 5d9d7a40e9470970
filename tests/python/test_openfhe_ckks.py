"""The same CKKS circuits in Whorl and in OpenFHE, and in NumPy: values agree within the errors that
both libraries state.

OpenFHE's wheel runs in a process of its own (openfhe_process.py); where there is none, these tests
are skipped. Both libraries repeat a vector in all slots and rotate to the left.

Whorl states a deviation with each array. OpenFHE states one of real values only, which it measures
on their imaginary parts: where these are alike, as after a sum, one draw of the error is all that
it sees. So `Noise` adds up what OpenFHE's steps give, and the larger of both is taken.

A bound is 16 deviations. The largest errors are products of two Gaussians, of a rounding and of the
secret's value at a root, which are above 16 deviations with a probability of about
sqrt(16·pi)·exp(-32), or 10^-13. All tests together compare below 2·10^5 values: a false alarm has a
probability below 10^-7.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from openfhe_process import Operation, Peer, in_whorl, peer_process, skip_without_openfhe
from whorl import ckks

Numbers = np.ndarray[Any, np.dtype[Any]]

DEVIATIONS = 16
N, SLOTS, DEPTH = 2048, 64, 7
LEAST, MOST = 2.0**-6, 8.0
"""Bounds of the largest value of a vector: zeros would say little."""
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "sine": np.sin,
}
DEGREE, LEVELS_OF_FUNCTION = 13, 6
"""The degree of the polynomials, and the most levels that OpenFHE takes for them."""


@pytest.fixture(scope="module", autouse=True)
def openfhe() -> None:
    skip_without_openfhe()


@dataclass
class Circuit:
    """The results in clear of the inputs and operations so far, and what bounds refer to."""

    is_complex: bool
    inputs: list[Numbers]
    operations: list[Operation] = field(default_factory=list)
    wires: list[Numbers] = field(init=False)
    levels: list[int] = field(init=False)
    """That each wire has used."""

    def __post_init__(self) -> None:
        self.wires = list(self.inputs)
        self.levels = [0] * len(self.inputs)

    @property
    def results(self) -> list[Numbers]:
        return self.wires[len(self.inputs) :]

    def add(self, *operation: Any) -> bool:
        """Does nothing if no level is left for it, or if values would be out of range."""
        name, first, *rest = operation
        a, level = self.wires[first], self.levels[first]
        match name:
            case "add" | "sub" | "multiply":
                b, level = self.wires[rest[0]], max(level, self.levels[rest[0]])
                out = a + b if name == "add" else a - b if name == "sub" else a * b
            case "square":
                out = a * a
            case "negate":
                out = -a
            case "rotate":
                out = np.roll(a, -rest[0])
            case "sum":
                out = np.full(SLOTS, a.sum())
            case "conjugate":
                out = a.conj()
            case "add_plain" | "add_number":
                out = a + rest[0]
            case "sub_plain":
                out = a - rest[0]
            case "multiply_plain" | "multiply_number":
                out = a * rest[0]
            case _:
                # Both libraries interpolate, as NumPy does, at Chebyshev's nodes.
                polynomial = np.polynomial.Chebyshev.interpolate(
                    FUNCTIONS[name], rest[2], domain=[rest[0], rest[1]]
                )
                out = polynomial(a)
        level += name.startswith("multiply") or name == "square"
        level += LEVELS_OF_FUNCTION * (name in FUNCTIONS)
        if level > DEPTH or not LEAST <= np.abs(out).max() <= MOST:
            return False
        self.operations.append(operation)
        self.wires.append(out)
        self.levels.append(level)
        return True


def random_circuit(generator: np.random.Generator, is_complex: bool, steps: int) -> Circuit:
    def numbers(*shape: int) -> Any:
        real = generator.uniform(-1, 1, shape)
        return real + 1j * generator.uniform(-1, 1, shape) if is_complex else real

    circuit = Circuit(is_complex, [numbers(SLOTS) for _ in range(3)])
    kinds = [
        *("add", "sub", "multiply", "multiply", "square", "negate", "rotate", "rotate", "sum"),
        *("add_plain", "sub_plain", "multiply_plain", "add_number", "multiply_number"),
        *(("conjugate", "conjugate") if is_complex else ("logistic", "sine")),
    ]
    while len(circuit.operations) < steps:
        name = str(generator.choice(kinds))
        first, second = (int(i) for i in generator.integers(len(circuit.wires), size=2))
        rest: tuple[Any, ...] = ()
        match name:
            case "add" | "sub" | "multiply":
                rest = (second,)
            case "rotate":
                rest = (int(generator.choice([1, 3, -2, SLOTS // 4])),)
            case "add_plain" | "sub_plain" | "multiply_plain":
                rest = (numbers(SLOTS),)
            case "add_number" | "multiply_number":
                rest = (numbers(1)[0],)
            case "logistic" | "sine":
                end = float(2 ** np.ceil(np.log2(1.01 * np.abs(circuit.wires[first]).max())))
                rest = (-end, end, DEGREE)
        circuit.add(name, first, *rest)
    return circuit


@dataclass(frozen=True)
class Noise:
    """Deviations of errors that steps of OpenFHE add to a slot, in units of the values.

    Coefficients of independent errors of variance V give a slot one of 2·slots·V: of N coefficients
    those of the vector's slots are read. V is by docs/ckks-noise.md, with OpenFHE's σ = 3.19,
    uniform ternary secrets and encryption under the public key. For key switching (hybrid, of at
    most three digits) P is at least each digit. Deviations of sums are added, so that none is too
    small, and an operand is counted as if it were rescaled and then brought to a lower level.
    """

    scale_bits: int

    def _slot(self, variance: float) -> float:
        return float(np.sqrt(2 * SLOTS * variance)) / 2.0**self.scale_bits

    @cached_property
    def fresh(self) -> float:
        return self._slot(3.19**2 * (1 + 4 * N / 3) + 1 / 12)

    @cached_property
    def encoding(self) -> float:
        return self._slot(1 / 12)

    @cached_property
    def rounding(self) -> float:
        return self._slot((1 + 2 * N / 3) / 12)

    @cached_property
    def key_switch(self) -> float:
        return self._slot(3 * N * 3.19**2 / 12) + self.rounding

    def deviations(self, circuit: Circuit) -> list[float]:
        """Deviations of each result of a circuit."""
        all_wires = [self.fresh] * len(circuit.inputs)

        def ready(wire: int) -> tuple[float, float]:
            largest = float(np.abs(circuit.wires[wire]).max())
            return all_wires[wire] + 2 * self.rounding, largest

        for name, first, *rest in circuit.operations:
            (a, largest_a), known = ready(first), (0.0, 0.0)
            if name in ("add", "sub", "multiply"):
                known = ready(rest[0])
            elif name == "square":
                known = (a, largest_a)
            elif name.endswith(("_plain", "_number")):
                known = (self.encoding, float(np.abs(rest[0]).max()))
            b, largest_b = known
            if name == "sum":
                out = SLOTS * (a + self.key_switch)
            elif name.startswith("multiply") or name == "square":
                out = largest_a * b + largest_b * a + a * b + self.key_switch
            elif name in FUNCTIONS:
                # An error of T_k(y) is at most k² times that of y, and each step adds to it.
                low, high, degree = rest
                series = np.polynomial.Chebyshev.interpolate(FUNCTIONS[name], degree, [low, high])
                slopes = np.abs(series.coef) @ np.arange(degree + 1) ** 2
                out = slopes * (2 * a / (high - low) + LEVELS_OF_FUNCTION * self.key_switch)
            else:
                out = a + b + self.key_switch * (name in ("rotate", "conjugate"))
            all_wires.append(out)
        return all_wires[len(circuit.inputs) :]


def of_openfhe(peer: Peer, circuit: Circuit, scale_bits: int) -> list[tuple[Numbers, float]]:
    """Its results, and their deviations."""

    def plain(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return [plain(z) for z in x]
        return [float(np.real(x)), float(np.imag(x))] if isinstance(x, np.number) else x

    def as_plain(name: str, first: int, *rest: Any) -> Operation:
        return (name, first, *(rest if name in FUNCTIONS else map(plain, rest)))

    answer = peer.run(
        [plain(x) for x in circuit.inputs], [as_plain(*o) for o in circuit.operations]
    )
    values = [np.array(each["values"]) @ [1, 1j] for each in answer["results"]]
    deviations = Noise(scale_bits).deviations(circuit)
    if not circuit.is_complex:
        # What is stated is log2 of the measured deviation, rounded; noise of twice its variance at
        # most was added when the values were decrypted.
        stated = [2 ** (each["log2_error"] + 0.5) * 3**0.5 for each in answer["results"]]
        deviations = [max(pair) for pair in zip(stated, deviations, strict=True)]
    return list(zip(values, deviations, strict=True))


@dataclass
class Ours:
    """The same in Whorl."""

    parameters: ckks.Parameters
    client: ckks.Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = ckks.Client(self.parameters)

    def results(self, circuit: Circuit) -> list[tuple[Numbers, float]]:
        """And their deviations."""
        turns = {o[2] for o in circuit.operations if o[0] == "rotate"}
        keys = self.client.evaluation_keys(rotations=sorted(turns), conjugate=True, sums=SLOTS)
        server, public = ckks.Server(keys, device="cpu"), self.client.public_key()
        wires = [
            server.upload(public.encrypt(x, bound=float(np.abs(x).max()))) for x in circuit.inputs
        ]
        for operation, clear in zip(circuit.operations, circuit.results, strict=True):
            name, first, *rest = operation
            a = wires[first]
            match name:
                case "sum":
                    out = a.sum().repeat(SLOTS)
                case "conjugate":
                    out = a.conjugate()
                case _ if name in FUNCTIONS:
                    low, high, degree = rest
                    out = a.evaluate(ckks.approximate(FUNCTIONS[name], low, high, degree=degree))
                case _:
                    out = in_whorl(operation, wires)
            # Bounds grow faster than values.
            wires.append(out.with_bound(float(np.abs(clear).max()) * 1.001 + 1e-9))
        results = wires[len(circuit.inputs) :]
        return [(self.client.decrypt(wire, raw=True), wire.error) for wire in results]


def compare(ours: Ours, peer: Peer, circuit: Circuit, scale_bits: int) -> None:
    mine, theirs = ours.results(circuit), of_openfhe(peer, circuit, scale_bits)
    assert len(mine) == len(theirs) == len(circuit.results)
    for number, clear in enumerate(circuit.results):
        (a, of_a), (b, of_b) = mine[number], theirs[number]
        what = f"operation {number}, {circuit.operations[number][0]}"
        assert DEVIATIONS * max(of_a, of_b) < LEAST, f"{what}: the bounds say nothing of the values"
        for name, x, y, deviation in (
            ("Whorl and NumPy", a, clear, of_a),
            ("OpenFHE and NumPy", b, clear, of_b),
            ("Whorl and OpenFHE", a, b, of_a + of_b),
        ):
            # NumPy rounds too.
            most, error = DEVIATIONS * deviation + 1e-13 * MOST, np.abs(x - y).max()
            assert error <= most, f"{what}: {name} differ by {error} of at most {most}"


def parameters(scale_bits: int, word_bits: int) -> ckks.Parameters:
    """The primes of secure parameters, in the ring that OpenFHE has here."""
    literal = ckks.parameters(DEPTH, scale_bits, word_bits=word_bits).literal()
    return ckks.parameters(literal={**literal, "N": N}, allow_insecure=True)


def peer_of(scale_bits: int, is_complex: bool) -> AbstractContextManager[Peer]:
    shape = {"depth": DEPTH, "scale_bits": scale_bits, "N": N, "slots": SLOTS}
    return peer_process("ckks", {**shape, "is_complex": is_complex})


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(("scale_bits", "word_bits"), [(40, 32), (50, 32), (50, 64)])
def test_random_circuits(
    generator: np.random.Generator, scale_bits: int, word_bits: int, is_complex: bool
) -> None:
    with peer_of(scale_bits, is_complex) as peer:
        assert peer.N == N
        ours = Ours(parameters(scale_bits, word_bits))
        for _ in range(4):
            compare(ours, peer, random_circuit(generator, is_complex, 24), scale_bits)


def test_every_operation(generator: np.random.Generator) -> None:
    """Random circuits may leave one out."""
    for is_complex in (False, True):
        # No sum of these is near 0 or too large.
        x, y = (generator.uniform(0.25, 1, SLOTS) * (1j if is_complex else 1) for _ in range(2))
        number = np.complex128(0.024 + 0.032j) if is_complex else np.float64(0.04)
        circuit = Circuit(is_complex, [x, -y])
        assert circuit.add("multiply", 0, 1)
        assert circuit.add("add", 2, 0)
        assert circuit.add("sub", 3, 1)
        assert circuit.add("rotate", 4, 3)
        assert circuit.add("square", 5)
        assert circuit.add("multiply_plain", 6, x / 8)
        assert circuit.add("add_plain", 7, x)
        assert circuit.add("sub_plain", 8, -y)
        assert circuit.add("multiply_number", 9, number)
        assert circuit.add("sum", 10)
        assert circuit.add("add_number", 11, number)
        assert circuit.add("negate", 12)
        if is_complex:
            assert circuit.add("conjugate", 13)
        else:
            for name in FUNCTIONS:
                assert circuit.add(name, 0, -1.0, 1.0, DEGREE)
                assert circuit.add(name, 2, -2.0, 2.0, DEGREE)
        with peer_of(50, is_complex) as peer:
            compare(Ours(parameters(50, 32)), peer, circuit, 50)
