"""What circuits give in the simulator, compared with NumPy."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import whorl
from tracing.programs import assert_simulates, random_bounds, random_program, samples
from whorl import binfhe
from whorl.tracing import bivariate, rounded, univariate
from whorl.tracing._account import account_of
from whorl.tracing._compile import candidates
from whorl.tracing._program import Sums

BYTES = list(range(256))
NIBBLES = [(a, b) for a in range(16) for b in range(16)]
SIGNED = [(a, b) for a in range(-8, 8) for b in range(-5, 4)]
WIDE = [tuple(pair) for pair in np.random.default_rng(3).integers(0, 256, (200, 2)).tolist()]
WIDE += [(0, 0), (255, 255), (0, 255)]
HUGE = [
    tuple(pair) for pair in np.random.default_rng(8).integers(-(2**30), 2**30, (60, 2)).tolist()
]
HUGE += [(a, b) for a in (-(2**30), 2**30 - 1, 0) for b in (-(2**30), 2**30 - 1, 0, 1, -1)]
VECTORS = [np.zeros(6, int), np.full(6, 15), *np.random.default_rng(4).integers(0, 16, (40, 6))]
SQUARES = [np.full((2, 2), -3), np.full((2, 2), 3)]
SQUARES += list(np.random.default_rng(5).integers(-3, 4, (40, 2, 2)))
IMAGES = [np.zeros((5, 5), int), np.full((5, 5), 3)]
IMAGES += list(np.random.default_rng(6).integers(0, 4, (20, 5, 5)))
W = np.random.default_rng(7).integers(-8, 8, (6, 4))
K = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])


def edges(image: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    return np.abs(windows.reshape(3, 3, 9) @ K.ravel())


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "add": (lambda x, y: x + y, NIBBLES),
    "add wide": (lambda x, y: x + y - 7, WIDE),
    "subtract": (lambda x, y: 3 - x - 2 * y, SIGNED),
    "negative": (lambda x, y: -x, SIGNED),
    "scale": (lambda x: x * -37 + 11, BYTES),
    "multiply": (lambda x, y: x * y, NIBBLES),
    "multiply signed": (lambda x, y: x * y, SIGNED),
    "multiply wide": (lambda x, y: x * y, WIDE),
    "multiply by a bit": (lambda x, y: x * (y > 99), WIDE),
    "square": (lambda x: x * x - 5 * x, list(range(-100, 156))),
    "absolute": (lambda x: np.abs(x), list(range(-300, 300, 7))),
    "sqrt": (lambda x: np.sqrt(x).astype(np.int64), BYTES),
    "sine": (lambda x: np.round(7 * np.sin(x / 20)).astype(np.int64), BYTES),
    "sigmoid": (lambda x: (255 / (1 + np.exp(-x / 9))).astype(np.int64), list(range(-128, 128))),
    "power": (lambda x: x**3 % 251, BYTES),
    "any table": (lambda x: univariate(lambda v: v * v * 7919 % 4093)(x), BYTES),
    "sixteen bits": (lambda x: x // 1000 + x % 7, [*range(0, 2**16, 97), 2**16 - 1]),
    "table of each element": (lambda x: x ** np.array([1, 2, 3, 2, 1, 0]) % 97, VECTORS),
    "maximum": (lambda x, y: np.maximum(x, y), WIDE),
    "minimum": (lambda x, y: np.minimum(x, y), SIGNED),
    "largest": (lambda x: np.max(x) - x.min(), VECTORS),
    "relu": (lambda x: np.maximum(x - 100, 0), BYTES),
    "pieces": (lambda x: np.where(x < 50, 3 * x, 200 - x), BYTES),
    "clip": (lambda x: np.clip(x, 20, 90), BYTES),
    "clip by another": (lambda x, y: np.clip(x, 1, y), NIBBLES),
    "less": (lambda x, y: x < y, WIDE),
    "equal": (lambda x, y: x == y, NIBBLES),
    "at least": (lambda x, y: (x >= y) * 3 - (x != 4), SIGNED),
    "compare huge": (lambda x, y: (x < y) + 2 * (x == y) + 4 * (y >= 7) + 8 * (x != 7), HUGE),
    "maximum huge": (lambda x, y: np.maximum(x, y) - np.minimum(x, y - 5), HUGE),
    "where huge": (lambda x, y: np.where(x > y, x - y, y), HUGE),
    "where": (lambda x, y: np.where(x > y, x - y, 3 * y), WIDE),
    "where known": (lambda x: np.where([1, 0, 1, 0, 0, 1], x, 9 - x), VECTORS),
    "where bits": (lambda x, y: np.where(x & 1, x, y), NIBBLES),
    "logic": (lambda x, y: (x > 3) & ~(y > 5) | (x == y) ^ (y == 0), NIBBLES),
    "logical": (lambda x, y: np.logical_or(x, np.logical_not(y)), NIBBLES),
    "bits": (lambda x, y: (x & y) | (x ^ 5), NIBBLES),
    "any and all": (lambda x: np.any(x > 14) + 2 * np.all(x > 2), VECTORS),
    "bools add as NumPy's": (lambda x, y: (x > 3) + (y > 3), NIBBLES),
    "bivariate": (lambda x, y: bivariate(lambda a, b: a * b % 13)(x, y), NIBBLES),
    "divide": (lambda x, y: x // (y + 1), NIBBLES),
    "rounded": (lambda x: rounded(x, 3) * 8, BYTES),
    "shift": (lambda x: (x >> 3) - (x // 64) + (x << 2), list(range(-999, 999, 7))),
    "shift wide": (lambda x: (x * 1009) >> 9, list(range(-999, 999, 7))),
    "matmul": (lambda x: x @ W, VECTORS),
    "matmul left": (lambda x: W.T @ x - 1, VECTORS),
    "matmul of both": (lambda x: x @ x.T, SQUARES),
    "matmul left of a matrix": (lambda x: np.array([[1, -2], [3, 4], [0, 5]]) @ x, SQUARES),
    "dot": (lambda x: np.dot(x[:3], x[3:]), VECTORS),
    "layer": (lambda x: np.maximum((x @ W) >> 3, 0), VECTORS),
    "sum": (lambda x: x.sum(axis=1) - np.sum(x, axis=0, keepdims=True), SQUARES),
    "convolve": (lambda x: np.convolve(x, [1, -2, 1], "valid"), VECTORS),
    "edges": (edges, IMAGES),
    "pool": (lambda x: x[:4, :4].reshape(2, 2, 2, 2).max(axis=(1, 3)), IMAGES),
    "shapes": (lambda x: np.stack([x.T[0], x[1, ::-1]]).reshape(-1, 1), SQUARES),
    "moved": (lambda x: np.roll(np.concatenate([x, 2 * x[:2], [5]]), 1)[1:], VECTORS),
    "split": (lambda x: np.split(x, 2)[1][None].repeat(2, axis=0), VECTORS),
    "unpacked": (lambda x: sum(e * k for k, e in enumerate(x)), VECTORS),
    "argmax": (lambda x: np.argmax(x), VECTORS),
    "argmax of two": (lambda x: np.argmax(x[:2]), VECTORS),
    "argmin of axes": (
        lambda x: x.argmin(axis=1) + 10 * np.argmax(x, axis=0, keepdims=True),
        SQUARES,
    ),
    "argmax of one": (lambda x: np.argmax(x[:1]) + x[0], VECTORS),
    "argmax of bools": (lambda x: np.argmax(x > 9), VECTORS),
    "known first": (
        lambda x: np.minimum(7, x) + np.maximum([1, 9, 3, 0, 5, 2], x) - np.where(True, x, 3),
        VECTORS,
    ),
    "known choices": (
        lambda x: np.where(x > 4, 3, [1, 2, 3, 4, 5, 6]) + np.where(x > 4, True, x > 2),
        VECTORS,
    ),
    "take": (lambda x: np.take(x, [0, 0, 1, 2, 5, 4]) - x, VECTORS),
    "select": (lambda x: np.select([x > 9, x > 3, x == 0], [x, 2 * x, 5], -1), VECTORS),
    "outer": (lambda x: np.outer(x[:2], [1, -2, 3]) + np.outer(x[:2] > 3, x[2:5]), VECTORS),
    "inner": (
        lambda x: np.inner(x[0], x[1]) + np.vdot(x, x) - np.inner(x, [[1, 2], [3, 4]]),
        SQUARES,
    ),
    "cumsum": (lambda x: np.cumsum(x) - 2 * x, VECTORS),
    "cumsum of rows": (lambda x: x.cumsum(axis=1) + np.cumsum(x[0] > 0), SQUARES),
    "diff": (lambda x: np.diff(x, n=2)[:4] + np.diff(x > 3)[:4].sum(), VECTORS[:2]),
    "spread": (lambda x: np.ptp(x) + np.count_nonzero(x), VECTORS),
    "unused input": (lambda x, y: x + 1, NIBBLES),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_simulation_is_numpy(name: str) -> None:
    function, inputset = FUNCTIONS[name]
    circuit = whorl.trace(function, inputset).compile()
    given = [each if isinstance(each, tuple) else (each,) for each in inputset]
    assert assert_simulates(circuit, function, given) == len(given)
    assert circuit.failure_log2 <= -64
    assert not any(row.measured for row in circuit._rows)


@pytest.mark.parametrize("name", ["layer", "where", "edges"])
def test_batches_are_samples(name: str) -> None:
    function, inputset = FUNCTIONS[name]
    circuit = whorl.trace(function, inputset).compile()
    given = [each if isinstance(each, tuple) else (each,) for each in inputset[:6]]
    batch = [np.stack(each).reshape(2, 3, *np.shape(each[0])) for each in zip(*given, strict=True)]
    found = circuit.simulate(*batch)
    for i, each in enumerate(given):
        assert np.array_equal(found[i // 3, i % 3], circuit.simulate(*each))


def test_several_results() -> None:
    circuit = whorl.trace(lambda x, y: (x + y, x > y), NIBBLES).compile()
    total, larger = circuit.simulate([3, 9], [4, 8])
    assert total.tolist() == [7, 17]
    assert larger.tolist() == [False, True]
    assert larger.dtype == bool


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    """Inputs within bounds that the input set does not have, too."""
    function, bounds = random_program(seed), random_bounds(seed)
    circuit = whorl.trace(function, samples(bounds, seed, 20)).compile()
    assert assert_simulates(circuit, function, samples(bounds, -seed % 2**32, 40)) > 0


def test_random_programs_of_other_messages() -> None:
    """Sets that a search finds have messages of other sizes."""
    sizes = set()
    for parameters, _ in candidates("search", -64.0):
        for seed in range(1000, 1010):
            function, bounds = random_program(seed), random_bounds(seed)
            circuit = whorl.trace(function, samples(bounds, seed, 20)).compile(parameters)
            sizes.add(circuit._program.p)
            assert_simulates(circuit, function, samples(bounds, seed + 1, 20))
    assert sizes == {4, 8, 16, 32}


@pytest.mark.parametrize("seed", range(100, 120))
def test_measured_bounds(seed: int) -> None:
    """Circuits with bounds of the input set are right, or refuse."""
    function, bounds = random_program(seed), random_bounds(seed)
    given = samples(bounds, seed, 20)
    circuit = whorl.trace(function, given).compile(measured=True)
    assert assert_simulates(circuit, function, given) == len(given)
    assert_simulates(circuit, function, samples(bounds, seed + 1, 40))


def test_bounds_that_are_not_proven() -> None:
    """A product of 20 bits goes into a table where the input set has 16; an input that would leave
    that is refused before it is encrypted."""

    def function(x: Any, y: Any) -> Any:
        return np.abs(x * y - 1000)

    circuit = whorl.trace(function, [(0, 0), (1023, 0), (0, 1023), (200, 200)]).compile()
    assert "measured" in circuit.show()
    assert circuit.simulate(10, 20) == 800
    with pytest.raises(whorl.EncodingError, match=r"is 1045529, outside 0 … 40000|within the circ"):
        circuit.simulate(1023, 1023)
    client = circuit.keys()
    with pytest.raises(whorl.EncodingError, match="within the circuit"):
        circuit.encrypt(client, 1023, 1023)


def test_functions_that_are_not_defined_everywhere() -> None:
    """The root of x - y is looked up where the input set has it."""

    def function(x: Any, y: Any) -> Any:
        return np.sqrt(x - y).astype(np.int64)

    circuit = whorl.trace(function, [(0, 0), (15, 0), (15, 15)]).compile()
    assert circuit.simulate(15, 6) == 3
    assert "measured" in circuit.show()
    with pytest.raises(whorl.EncodingError, match="is -1, outside 0 … 15"):
        circuit.simulate(3, 4)


def test_what_show_says() -> None:
    circuit = whorl.trace(lambda x: np.maximum(x - 3, 0) * 2, range(16)).compile()
    lines = circuit.show().splitlines()
    assert lines[0].split() == ["operation", "shape", "bounds", "bits", "tables", "level"]
    assert lines[1].split() == ["0", "input", "1", "0", "…", "15", "proven", "4", "0", "0"]
    assert lines[3].split() == ["2", "maximum", "1", "0", "…", "12", "proven", "4", "0", "1"]
    assert lines[5].split() == ["4", "result", "1", "0", "…", "24", "proven", "5", "3", "1"]
    assert circuit.costs["tables"] == sum(row.tables for row in circuit._rows) == 3
    assert circuit.costs["bootstraps"] == 1
    assert lines[-1] == repr(circuit)
    assert "W128_P128" in circuit._repr_html_()


def test_a_chain_of_functions_is_one_table() -> None:
    def function(x: Any) -> Any:
        return np.where(x > 7, np.abs(x - 9) * 2 + x, (x * x) // 5) > 6

    circuit = whorl.trace(function, range(16)).compile()
    assert (circuit.costs["bootstraps"], circuit.costs["levels"]) == (1, 1)


def test_smaller_messages_for_a_smaller_probability() -> None:
    usual = whorl.trace(lambda x: x @ W, VECTORS).compile()
    rare = whorl.trace(lambda x: x @ W, VECTORS).compile(failure_log2=-250)
    assert rare.failure_log2 <= -250
    assert (usual._program.p, rare._program.p) == (16, 8)
    assert rare.costs["bootstraps"] > usual.costs["bootstraps"]


@pytest.mark.parametrize("count", [1, 64])
def test_failures_add_up(count: int) -> None:
    """The probability of single tables is that of the set, times their number; decryption of their
    results adds next to nothing."""
    samples = [np.zeros(count, int), np.full(count, 15)]
    circuit = whorl.trace(lambda x: 15 - (x ^ 5), samples).compile()
    assert circuit.costs["bootstraps"] == count
    one = circuit.parameters.lut_failure_log2(16, padding=True, arbitrary=False)
    assert one + np.log2(count) <= circuit.failure_log2 <= one + np.log2(count) + 0.1


@pytest.mark.parametrize("name", ["add", "matmul", "shift wide", "any and all", "maximum huge"])
def test_failures_are_those_of_a_dry_run(name: str) -> None:
    """A dry run of the whole program counts each table with the most noise of its call."""
    function, inputset = FUNCTIONS[name]
    circuit = whorl.trace(function, inputset).compile()
    program, fresh = circuit._program, binfhe.Fresh(circuit.costs["inputs"], 16, True, "ring")
    whole = binfhe.plan(lambda x: program.run(x.server, x), fresh, parameters=circuit.parameters)
    assert circuit.costs["bootstraps"] == whole.costs["bootstraps"]
    assert circuit.costs["key_bytes"] == whole.key_bytes
    assert whole.failure_log2 - 1.5 < circuit.failure_log2 <= whole.failure_log2 + 1e-9


def test_equal_errors_add_up() -> None:
    """A sum of one table that is looked up twice has more noise than that of two tables."""
    program = whorl.trace(lambda x, y: (x + y > 20) + (x > y), NIBBLES).compile()._program
    params = binfhe.parameters("W128_P128")
    weights = np.array([1, 1, 5, 5])
    looks = Sums(np.array([0, 1, 2, 4]), np.array([0, 1, 4, 5]), weights, np.zeros(3, int))
    failures = []
    for wires in ([0, 1, 4, 5], [0, 0, 4, 5]):
        sums = dataclasses.replace(looks, wires=np.array(wires))
        ends = Sums(np.array([0, 1]), np.array([6]), np.ones(1, int), np.zeros(1, int))
        changed = dataclasses.replace(program, looks=sums, numbers=np.zeros(3, int), ends=ends)
        failures.append(account_of(changed, params).failure_log2)
    assert failures[1] > failures[0] + 5


def test_long_chains() -> None:
    """One is as deep as the program has operations."""

    def function(x: Any) -> Any:
        parts = [x]
        for i in range(300):
            parts.append((parts[-1] * (x + 1) + i) % 16)
        return np.stack(parts[::50])

    circuit = whorl.trace(function, range(16)).compile()
    for x in range(16):
        assert np.array_equal(circuit.simulate(x), function(np.int64(x)))


def test_costs_follow_from_the_program() -> None:
    circuit = whorl.trace(lambda x, y: x * y, NIBBLES).compile()
    program = circuit._program
    assert circuit.costs["inputs"] == 4
    assert circuit.costs["tables"] == len(program.looks)
    assert circuit.costs["bootstraps"] == len(program.looks) - 1  # two digits of the result
    assert circuit.costs["levels"] == len(program.levels)
    assert circuit.costs["outputs"] == len(program.ends) == 4
    for sums in (program.looks, program.ends):  # all sums are messages
        for x in range(16):
            for y in range(16):
                digits, _ = program.encoded((x, y))
                values = sums.of(program._wires(digits), 0, len(sums))
                assert ((values >= 0) & (values < program.p)).all()
