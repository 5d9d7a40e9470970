"""Files and inputs that are refused: by which error, with which line and remedy."""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from circuit.circuits import RandomCircuit
from whorl.circuit import load, loads

IO = ".inputs a b\n.outputs y\n"
ONE = "module m(input a, b, output y);\n"
FALSE = "module m(input [1:0] a, output [1:0] y);\n"
END = "\n.end"

BLIF = {
    "loop": (
        IO + ".names a u v\n11 1\n.names v u\n1 1\n.names u y\n1 1" + END,
        3,
        "a loop of wires: '[uv]' <- '[uv]' <- '[uv]'",
    ),
    "itself": (IO + ".names y a y\n11 1" + END, 3, "a loop of wires: 'y' <- 'y'"),
    "latch": (IO + ".latch a y re clk 0" + END, 3, r"\.latch keeps a state"),
    "flip-flop": (IO + ".subckt $_DFF_P_ C=a D=b Q=y" + END, 3, r"'\$_DFF_P_' keeps a state"),
    "gate": (IO + ".gate NAND2 A=a B=b O=y" + END, 3, "'NAND2' is not known.*abc -g simple"),
    "cell": (IO + ".subckt full_adder a=a" + END, 3, "'full_adder' is not known"),
    "pins": (IO + ".subckt $_AND_ A=a B=b" + END, 3, "A, B and Y is needed once"),
    "undriven": (IO + "\n.names a \\\nq y\n11 1" + END, 4, "'q' is read, and driven by nothing"),
    "undriven output": (IO + END, 4, "the output 'y' is driven by nothing"),
    "two drivers": (
        IO + ".names a y\n1 1\n.names b y\n1 1" + END,
        5,
        "'y' is driven twice, first in line 3",
    ),
    "driven input": (IO + ".names a b\n1 1" + END, 3, "'b' is driven twice, first in line 1"),
    "same output": (".inputs a\n.outputs a a" + END, 2, "'a' is declared twice"),
    "no outputs": (".inputs a" + END, 2, "no output is declared"),
    "second model": (".model a\n.model b" + END, 2, "second .model; `flatten`"),
    "row outside": (IO + "11 1" + END, 3, "stands outside a cover"),
    "short row": (IO + ".names a b y\n1 1" + END, 4, "2 characters 0, 1 or -"),
    "row of letters": (IO + ".names a b y\n1x 1" + END, 4, "no row of a cover"),
    "both values": (IO + ".names a b y\n11 1\n00 0" + END, 5, "give 0 and 1"),
    "no name": (IO + ".names" + END, 3, ".names without a name"),
    "directive": (IO + ".exdc" + END, 3, r"'\.exdc' with 0 words is not read"),
}
VERILOG = {
    "loop": (
        ONE + "wire u, v;\nand (u, v, a);\nor (v, u, b); assign y = v; endmodule",
        3,
        "a loop of wires",
    ),
    "flip-flop": (
        ONE + "\\$_DFFE_PP_ f (.C(a), .D(b), .E(a), .Q(y)); endmodule",
        2,
        "keeps a state",
    ),
    "latch": (ONE + "\\$_DLATCH_P_ f (.E(a), .D(b), .Q(y)); endmodule", 2, "keeps a state"),
    "set and reset": (ONE + "\\$_SR_PP_ f (.S(a), .R(b), .Q(y)); endmodule", 2, "keeps a state"),
    "reg": ("module m(a, y); input a; output y;\nreg y; endmodule", 2, "reg describes behaviour"),
    "always": (ONE + "always @* y = a; endmodule", 2, "always describes behaviour"),
    "cell": (
        ONE + "\n\\$add f (.A(a), .B(b), .Y(y)); endmodule",
        3,
        r"'\$add' is not known; `synth",
    ),
    "hierarchy": (
        ONE + "assign y = a; endmodule\nmodule n; endmodule",
        3,
        "follows endmodule.*flatten",
    ),
    "undriven": (
        ONE + "wire q;\nand (y, a, q); endmodule",
        3,
        "'q' is read, and driven by nothing",
    ),
    "undriven output": (ONE + "endmodule", 2, "the output 'y' is driven by nothing"),
    "two drivers": (
        ONE + "assign y = a;\nassign y = b; endmodule",
        3,
        "'y' is driven twice, first in line 2",
    ),
    "driven input": (ONE + "assign a = b; endmodule", 2, "'a' is driven twice, first in line 1"),
    "driven constant": (ONE + "assign 1'h0 = b; endmodule", 2, "since it is a constant"),
    "no outputs": ("module m(input a);\nendmodule", 2, "no output is declared"),
    "undeclared": (ONE + "and (y, a, q); endmodule", 2, "'q' stands where a declared wire"),
    "expression": (
        ONE + "assign y = a & b; endmodule",
        2,
        "'&' stands where , or ; is due.*-noexpr",
    ),
    "inversion": (ONE + "assign y = ~a; endmodule", 2, "'~' stands where a declared wire"),
    "widths": (FALSE + "assign y = a[0]; endmodule", 2, "a wire of 2 and one of 1 bits do not fit"),
    "wide terminal": (FALSE + "and (y[0], a, a[0]); endmodule", 2, "2 bits at a terminal"),
    "outside": (FALSE + "assign y[0] = a[2]; endmodule", 2, r"'a'\[2:2\] is outside 1:0"),
    "backwards": (FALSE + "assign y = a[0:1]; endmodule", 2, "runs against 1:0"),
    "scalar": (ONE + "assign y = a[0]; endmodule", 2, "'a' has no range"),
    "z": (ONE + "assign y = 1'hz; endmodule", 2, "or z, which no wire"),
    "digits": (ONE + "assign y = 1'b2; endmodule", 2, "digits that are none"),
    "unsized": (ONE + "assign y = 0; endmodule", 2, "no constant of a stated width"),
    "pins": (
        ONE + "\\$_AND_ g (.A(a), .Y(y)); endmodule",
        2,
        "has the inputs A, B and the output Y",
    ),
    "terminals": (ONE + "and (y); endmodule", 2, "and has 1 terminal; 2 are needed"),
    "inout": ("module m(inout a);\nendmodule", 1, "inout 'a'"),
    "no direction": ("module m(a);\nendmodule", 2, "neither as input nor as output"),
    "no port": ("module m(a); input a;\noutput q; endmodule", 2, "output 'q': each port"),
    "ranges": ("module m(a);\ninput a; wire [1:0] a; endmodule", 2, "different ranges"),
    "parameters": (ONE + "foo #(1) f (a); endmodule", 2, "'foo' is not known"),
    "include": ('`include "/etc/passwd"\nmodule m; endmodule', 1, "'`' stands where module"),
}


@pytest.mark.parametrize("name", BLIF)
def test_blif(name: str) -> None:
    check(*BLIF[name], "c.blif")


@pytest.mark.parametrize("name", VERILOG)
def test_verilog(name: str) -> None:
    check(*VERILOG[name], "c.v")


def check(text: str, line: int, message: str, name: str) -> None:
    with pytest.raises(whorl.FormatError, match=rf"^{name}, line {line}: .*{message}"):
        loads(text, name)


def test_text_that_is_cut_off(generator: np.random.Generator) -> None:
    """Wherever it is cut: no prefix of a file is a circuit."""
    made = RandomCircuit(generator, 8)
    for text, name, end in ((made.blif(), "c.blif", ".end"), (made.verilog(), "c.v", "endmodule")):
        whole = text.rstrip()
        with pytest.raises(whorl.TruncatedError, match=r"c\.\w+, line \d+: .* cut off"):
            loads(whole.removesuffix(end), name)
        for cut in range(len(whole)):
            with pytest.raises(whorl.FormatError):
                loads(whole[:cut], name)


def test_limits(tmp_path: Path) -> None:
    chain = IO + "".join(f".names a b {n}\n11 1\n" for n in "yuvw") + ".end"
    loads(chain, max_nodes=4)
    with pytest.raises(whorl.OversizedError, match="line 9: there are more than 3 cells"):
        loads(chain, max_nodes=3)
    parity = ".inputs " + " ".join(f"x{i}" for i in range(50)) + "\n.outputs y\n.names "
    parity += " ".join(f"x{i}" for i in range(50)) + f" y\n{'1' * 50} 1\n.end"
    assert sum(loads(parity, max_nodes=99).gates.values()) == 49
    with pytest.raises(whorl.OversizedError, match="line 3: the circuit has more than 98 nodes"):
        loads(parity, max_nodes=98)
    vast = "module m(input [999999999:0] a, output y);"
    with pytest.raises(whorl.OversizedError, match=r"line 1: 1,000,000,000 bits .*max_nodes"):
        loads(vast, "c.v")
    copies = ONE + "wire [999:0] w; assign y = " + "{9{" * 9 + "w" + "}}" * 9 + "; endmodule"
    with pytest.raises(whorl.OversizedError, match=r"line 2: .*more than 100,000 nodes"):
        loads(copies, "c.v", max_nodes=100_000)
    path = tmp_path / "c.blif"
    path.write_text(chain)
    load(path, max_bytes=len(chain))
    with pytest.raises(whorl.OversizedError, match=rf"c\.blif: more than {len(chain) - 1} bytes"):
        load(path, max_bytes=len(chain) - 1)
    with pytest.raises(whorl.IoError, match="No such file"):
        load(tmp_path / "none.v")
    path.write_bytes(b".inputs a\n.outputs \xff\n")
    with pytest.raises(whorl.FormatError, match=r"c\.blif, line 2: byte 0xff is no UTF-8"):
        load(path)
    with pytest.raises(whorl.FormatError, match="neither BLIF nor Verilog"):
        loads("digraph { a -> b }")
    with pytest.raises(TypeError, match="text: a str is needed, not bytes"):
        loads(b".end")  # type: ignore[arg-type]


def test_inputs_that_do_not_fit() -> None:
    circuit = loads(".inputs a[0] a[1] b\n.outputs y\n.names a[0] a[1] b y\n111 1\n.end")
    good: dict[str, Any] = {"a": [[0, 1], [1, 1]], "b": [1, 1]}
    assert circuit(good)["y"].tolist() == [False, True]
    for wrong, error, message in (
        ({"a": good["a"]}, whorl.ParameterError, r"\['b'\] are missing"),
        ({**good, "c": 1}, whorl.ParameterError, r"\['c'\] are none of the circuit"),
        ({**good, "b": 1}, whorl.ShapeError, r"b has shape \(\); \(2,\) is needed"),
        ({**good, "a": [1, 1, 1]}, whorl.ShapeError, r"a has shape \(3,\); \(\) \+ \(2,\)"),
        ({**good, "b": [1, 2]}, whorl.EncodingError, r"b: value 2 at index 1 is neither"),
        ([good], TypeError, "a dict by names is needed, not list"),
    ):
        with pytest.raises(error, match=message):
            circuit(wrong)  # type: ignore[arg-type]
    for count in (1, 5):
        with pytest.raises(whorl.ParameterError, match=f"inputs: {count} is outside 2 … 4"):
            circuit.tables(count)


PIECES = [
    *(".names", ".end", ".inputs", ".latch", "\\", "#", "-", "1", "0", "\n", " ", "endmodule"),
    *("{", "}", "(", ")", "[", "]", "999999999", "1'h0", "/*", "//", "(*", "assign", "wire", ";"),
    *("\x00", "\\$_AND_ ", "x", "y[5]", "'", "é", "{9{", "input", ",", "module"),
]


@pytest.mark.parametrize("form", ["blif", "verilog"])
def test_mutated_texts(form: str) -> None:
    """Only errors of Whorl, in bounded time."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rand = random.Random(seed)
    text = getattr(RandomCircuit(np.random.default_rng(seed), 30), form)()
    refused = 0
    for _ in range(600):
        mutated = text
        for _ in range(rand.randrange(1, 4)):
            start = rand.randrange(len(mutated))
            stop = start + rand.choice([0, 0, 1, 1, 2, 10, 100])
            other = rand.randrange(len(mutated))
            piece = rand.choice([rand.choice(PIECES), mutated[other : other + 20], ""])
            mutated = mutated[:start] + piece * rand.choice([1, 1, 1, 50]) + mutated[stop:]
        begun = time.process_time()
        try:
            read = loads(mutated, f"m.{form}", max_nodes=20_000)
            read(
                {
                    name: np.zeros(width if width > 1 else (), bool)
                    for name, width in read.inputs.items()
                }
            )
        except whorl.FormatError as error:
            refused += 1
            assert len(str(error)) < 2000
        assert time.process_time() - begun < 5
    assert refused > 100
