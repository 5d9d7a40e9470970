"""One set of commands for all schemes, made of what each scheme says of itself."""

import json
import os
import shutil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import typer
import whorl
from cli_support import CLI, Here, made, write_phrase
from support import run_python
from typer.testing import CliRunner
from whorl.cli import Scheme, _frames, _passphrase, register
from whorl.cli._scheme import Schemes

PHRASE = ("--passphrase-file", "phrase")
T = 65537


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Here:
    options = ("--depth", "3", "--plain-modulus", "65537", "--rotations", "-1,1,2", "--swap-rows")
    run = made(tmp_path_factory.mktemp("bgv"), "bgv", *options)
    run("encrypt", "1", "2", "-3", "-o", "x.whorl", *PHRASE)
    run("encrypt", "4,5,6", "-o", "y.whorl", *PHRASE)
    return run


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y", [5, 7, 3]),
        ("x*y + 3", [7, 13, -15]),
        ("3 - x", [2, 1, 6]),
        ("(-x)**2 * 2 - -1", [3, 9, 19]),
        ("square(y)", [16, 25, 36]),
        ("rotate(x, 2)", [-3, 0, 0]),
        ("rotate(x, -1) + swap_rows(y) - swap_rows(y)", [0, 1, 2]),
        ("inner_sum(y, 4)", [15, 11, 6]),
        ("shrink(mod_switch(x, 3))", [1, 2, -3]),
        ("2**3 * x", [8, 16, -24]),
    ],
)
def test_expressions_on_vectors(shell: Here, text: str, expected: list[int]) -> None:
    files = [f"{name}={name}.whorl" for name in "xy" if name in text]
    shell("eval", text, *files, "-o", "r.whorl", "--force", "--device", "cpu")
    shown = shell("decrypt", "r.whorl", "--first", "3", "--signed", *PHRASE)
    assert shown == " ".join(map(str, expected)) + "\n"
    shown = shell("decrypt", "r.whorl", "--first", "3", "--json", *PHRASE)
    assert json.loads(shown) == [value % T for value in expected]


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("x*y", "x=x.whorl"), 2, "no y=FILE is given"),
        (("x", "x=x.whorl", "y=y.whorl"), 2, "y is given, but it is not in 'x'"),
        (("x", "x=x.whorl", "x=y.whorl"), 2, "given twice"),
        (("x", "x.whorl"), 2, "NAME=FILE"),
        (("x",), 2, "NAME=FILE"),
        (("rotate", "rotate=x.whorl"), 2, "rotate is a function"),
        (("x | x", "x=x.whorl"), 2, "do not have this operator"),
        (("x if x else x", "x=x.whorl"), 2, "truth value"),
        (("x == x", "x=x.whorl"), 2, "do not have this operator"),
        (("x ** 0.5", "x=x.whorl"), 2, "'0.5' is not allowed"),
        (("x.save('f')", "x=x.whorl"), 2, "not allowed"),
        (("__import__('os')", "x=x.whorl"), 2, "__import__"),
        (("0*3**64**64**64*x", "x=x.whorl"), 2, "exponent"),
        (("x" + "+x" * 20_000, "x=x.whorl"), 2, "x"),
        (("x +", "x=x.whorl"), 2, "'x +' is not an expression: invalid syntax\n"),
        (
            ("nand(x)", "x=x.whorl"),
            2,
            "nand is no function here; there are the operators + - * @ ** and the functions rotate",
        ),
        (("rotate(3, 1) + 0*x", "x=x.whorl"), 2, "ciphertexts are needed, not int"),
        (("3 + 0*2", "x=x.whorl"), 2, "not in"),
        (("x if 0 else 3", "x=x.whorl"), 2, "is 3"),
        (("rotate(x, 3)", "x=x.whorl"), 1, "whorl keygen --rotations 3 makes one"),
        (
            ("x", "x=secret.whorl"),
            1,
            "secret.whorl holds a BGV secret key, but BGV ciphertexts are needed, because "
            "keys.whorl holds BGV evaluation keys\n",
        ),
        (("x", "x=x.whorl", "--keys", "secret.whorl"), 1, "but evaluation keys are needed"),
        (("x", "x=x.whorl", "--gate", "NOT"), 2, "--gate is not an option of the scheme bgv"),
        (("x", "x=x.whorl", "--forse"), 2, "No such option: --forse"),
    ],
    ids=lambda value: value[0][:20] if isinstance(value, tuple) else None,
)
def test_expressions_that_are_refused(
    shell: Here, arguments: tuple[str, ...], code: int, part: str
) -> None:
    assert part in shell("eval", *arguments, "-o", "q.whorl", "--device", "cpu", code=code)
    assert not (shell.folder / "q.whorl").exists()


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Here:
    folder, options = tmp_path_factory.mktemp("sums"), ("--depth", "1", "--plain-products", "1")
    run = made(folder, "bgv", *options, "--sum-length", "3", "--matrices", "3x2,2x3")
    run("encrypt", "1", "2", "-3", "-o", "x.whorl", *PHRASE)
    run("encrypt", "4,5,6", "-o", "y.whorl", *PHRASE)
    np.save(folder / "m.npy", np.array([[1, 0], [0, 1], [2, 2]], dtype=np.uint8))
    (folder / "m.csv").write_text("1,0\n0,1\n2,2\n", encoding="utf-8")
    (folder / "v.txt").write_text("7 8 9\n", encoding="utf-8")
    (folder / "t.json").write_text("[[1, 0, 2], [0, 1, 2]]", encoding="utf-8")
    return run


@pytest.mark.parametrize(
    ("text", "files", "expected"),
    [
        ("sum(x)", "x=x.whorl", [0]),
        ("sum(x*y + 1)", "x=x.whorl y=y.whorl", [-1]),
        ("dot(x, y)", "x=x.whorl y=y.whorl", [-4]),
        ("x @ y", "x=x.whorl y=y.whorl", [-4]),
        ("dot(x, v)", "x=x.whorl v=v.txt", [-4]),
        ("x @ m", "x=x.whorl m=m.csv", [-5, -4]),
        ("x @ m - 1", "x=x.whorl m=m.npy", [-6, -5]),
        ("t @ x", "x=x.whorl t=t.json", [-5, -4]),
        ("x * v - v", "x=x.whorl v=v.txt", [0, 8, -36]),
    ],
)
def test_sums_and_matrices(sums: Here, text: str, files: str, expected: list[int]) -> None:
    sums("eval", text, *files.split(), "-o", "r", "--force", "--device", "cpu")
    shown = sums("decrypt", "r", "--first", str(len(expected)), "--signed", *PHRASE)
    assert shown == " ".join(map(str, expected)) + "\n"


def test_means_say_what_to_divide_by(sums: Here) -> None:
    done = run_python(CLI, "eval", "mean(y)", "y=y.whorl", "-o", "mean", cwd=sums.folder)
    assert done.returncode == 0
    assert "the mean is the decrypted value divided by 3\n" in done.stderr
    assert sums("decrypt", "mean", "--first", "1", *PHRASE) == "15\n"


@pytest.mark.parametrize(
    ("text", "files", "code", "part"),
    [
        ("mean(x) * 2", "x=x.whorl", 2, "'mean(x)' gives two values"),
        ("mean(x) + mean(x)", "x=x.whorl", 2, "'mean(x)' gives two values"),
        ("x @ (m @ m)", "x=x.whorl m=m.csv", 2, "'m @ m' works on values that are not encrypted"),
        ("x @ -m", "x=x.whorl m=m.csv", 2, "'-m' works on values"),
        ("x * (m if 1 else m)", "x=x.whorl m=m.csv", 2, "'m' works on values"),
        ("sum(m) + x", "x=x.whorl m=m.csv", 2, "ciphertexts are needed"),
        ("m", "m=m.csv", 2, "nothing encrypted"),
        ("x @ m", "x=x.whorl m=none.csv", 1, "none.csv: No such file"),
        ("x @ m", "x=x.whorl m=ragged.csv", 2, "line 2 has 1 value, but the first line has 2"),
        ("x @ m", "x=x.whorl m=half.json", 2, "half.json: integers are needed, not 0.5"),
        (
            "x @ m",
            "x=x.whorl m=lists.json",
            2,
            "lists.json: rows have different lengths: row 0 has 2 values, and row 1 has 1",
        ),
        ("x @ m", "x=x.whorl m=large.json", 2, "large.json: value 2147483648 at index (0, 1)"),
        ("x @ m", "x=x.whorl m=t.json", 1, "ShapeError"),
        ("x @ m", "x=x.whorl m=over.csv", 1, "value 65537 at index (2, 1)"),
    ],
)
def test_sums_and_matrices_that_are_refused(
    sums: Here, text: str, files: str, code: int, part: str
) -> None:
    for name, content in (
        *(("ragged.csv", "1,2\n3\n"), ("half.json", "[[1, 0.5]]")),
        *(("lists.json", "[[1, 2], [3]]"), ("large.json", "[[1, 2147483648]]")),
        *(("over.csv", "1,0\n0,1\n2,65537\n"),),
    ):
        (sums.folder / name).write_text(content, encoding="utf-8")
    message = sums("eval", text, *files.split(), "-o", "q", "--device", "cpu", code=code)
    assert part in message
    assert not (sums.folder / "q").exists()


def test_keys_for_sums_are_those_of_python(sums: Here) -> None:
    keys = whorl.bgv.EvaluationKeys.load(sums.folder / "keys.whorl")
    needs = whorl.bgv.rotations_for(keys.parameters, (3, 2), (2, 3), sums=True)
    half = keys.parameters.N // 2
    assert set(keys.rotations) == {columns % half for columns in needs["rotations"]}
    assert keys.swap_rows == needs["swap_rows"]


@pytest.mark.parametrize(
    ("options", "code", "part"),
    [
        (("--allow-insecure",), 2, "--allow-insecure: keygen chooses parameters of 128 bits"),
        (("--matrices", "3"), 2, "--matrices: rows and columns are needed"),
        (("--matrices", "3x-2"), 2, "--matrices: rows and columns are needed"),
    ],
)
def test_keys_that_are_refused(
    tmp_path: Path, options: tuple[str, ...], code: int, part: str
) -> None:
    write_phrase(tmp_path)
    command = ("keygen", "--scheme", "bgv", "--depth", "1", *PHRASE, *options)
    assert part in Here(tmp_path)(*command, code=code)
    assert [path.name for path in tmp_path.iterdir()] == ["phrase"]


def test_files_that_change_after_their_header_was_read(
    shell: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = shell.folder / "x.whorl"
    params = whorl.bgv.Ciphertexts.load(x).parameters
    other = whorl.bgv.Client(params).encrypt([1]).to_bytes()
    less = whorl.bgv.Client(whorl.bgv.parameters(depth=1)).encrypt([1]).to_bytes()

    commands = (
        ("eval", "x + 1", "x=moving", "-o", "q", "--device", "cpu"),
        ("decrypt", "moving", *PHRASE),
    )
    # Damaged too: the loader says whose file it is before it reads the rest.
    for content, error in ((other[:-1], "KeyMismatch"), (less[:-1], "ParameterMismatch")):
        for command in commands:
            (shell.folder / "moving").write_bytes(x.read_bytes())
            checked = _frames.check
            with monkeypatch.context() as patch:

                def check(*given: Any, now: bytes = content, before: Any = checked) -> None:
                    before(*given)
                    (shell.folder / "moving").write_bytes(now)

                patch.setattr(_frames, "check", check)
                assert f"{error}Error" in shell(*command, code=1)


def test_a_secret_key_that_changes_after_its_header_was_read(
    shell: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = whorl.bgv.Client(whorl.bgv.parameters(depth=1))
    other.save(tmp_path / "other", b"correct horse")

    before = _passphrase.read

    def read(*given: Any) -> Any:
        os.replace(tmp_path / "other", tmp_path / "secret")
        return before(*given)

    shutil.copy(shell.folder / "secret.whorl", tmp_path / "secret")
    monkeypatch.setattr(_passphrase, "read", read)
    command = ("encrypt", "1", "-o", "q", "--secret", str(tmp_path / "secret"), *PHRASE)
    assert "KeyMismatchError" in shell(*command, code=1)


def test_bits_have_expressions_too(tmp_path: Path) -> None:
    write_phrase(tmp_path)
    shell, toy = Here(tmp_path), (*PHRASE, "--allow-insecure")
    shell("keygen", "--params", "openfhe_1_5/TOY", *toy)
    for name, bits in (("a", "0011"), ("b", "0101"), ("s", "1")):
        shell("encrypt", *bits, "-o", name, *toy)
    for text, names, expected in (
        ("nand(a, b)", "ab", "1 1 1 0"),
        ("~(a & b) ^ (a | b)", "ab", "1 0 0 1"),
        ("mux(s, a, b)", "sab", "0 0 1 1"),
        ("majority(a, b, bootstrap(s))", "abs", "0 1 1 1"),
    ):
        files = [f"{name}={name}" for name in names]
        shell("eval", text, *files, "-o", "r", "--force", "--allow-insecure", "--device", "cpu")
        assert shell("decrypt", "r", *toy) == expected + "\n"


@pytest.mark.parametrize("suffix", [".npy", ".json", ".csv", ".txt"])
def test_shapes_are_kept(shell: Here, suffix: str) -> None:
    values = np.array([[1, 2, -3], [40, 50, 60]])
    source, result = f"in{suffix}", f"out{suffix}"
    if suffix == ".npy":
        np.save(shell.folder / source, values)
    else:
        apart = {".csv": ",", ".txt": " "}.get(suffix, "")
        rows = "\n".join(apart.join(map(str, row)) for row in values.tolist())
        text = json.dumps(values.tolist()) if suffix == ".json" else rows
        (shell.folder / source).write_text(text, encoding="utf-8")
    message = shell("encrypt", source, "-o", "m.whorl", "--force", *PHRASE)
    assert "2 ciphertexts" in message
    # Three shapes that go together: (2,), a single one, and (2,).
    files = ("m=m.whorl", "x=x.whorl")
    shell("eval", "m*x + m", *files, "-o", "n.whorl", "--force", "--device", "cpu")
    expected = (values * [1, 2, -3] + values).tolist()
    shown = shell("decrypt", "n.whorl", "--first", "3", "--signed", *PHRASE)
    assert shown == "".join(" ".join(map(str, row)) + "\n" for row in expected)
    arguments = ("n.whorl", "--first", "3", "--signed", "-o", result, "--force")
    shell("decrypt", *arguments, *PHRASE)
    # What is written is what encrypt takes.
    shell("encrypt", result, "-o", "again.whorl", "--force", *PHRASE)
    shown = shell("decrypt", "again.whorl", "--first", "3", "--signed", "--json", *PHRASE)
    assert json.loads(shown) == expected


def test_arrays_of_more_axes(shell: Here) -> None:
    values = np.arange(24).reshape(2, 3, 4)
    np.save(shell.folder / "in3.npy", values)
    assert "6 ciphertexts of shape (2, 3)" in shell("encrypt", "in3.npy", "-o", "a3", *PHRASE)
    assert json.loads(shell("decrypt", "a3", "--first", "4", "--json", *PHRASE)) == values.tolist()
    shell("decrypt", "a3", "--first", "4", "-o", "out3.npy", *PHRASE)
    assert np.array_equal(np.load(shell.folder / "out3.npy"), values)
    rows = shell("decrypt", "a3", "--first", "4", *PHRASE).splitlines()
    assert rows[5] == "20 21 22 23" and len(rows) == 6


def test_values_of_all_kinds_are_read(shell: Here) -> None:
    np.save(shell.folder / "large.npy", np.array([2**63 + 5, 1], dtype=np.uint64))
    refused = shell("encrypt", "large.npy", "-o", "large", *PHRASE, code=1)
    assert f"value {2**63 + 5} at index 0" in refused
    np.save(shell.folder / "unsigned.npy", np.array([T - 1, 1], dtype=np.uint64))
    shell("encrypt", "unsigned.npy", "-o", "unsigned", *PHRASE)
    assert shell("decrypt", "unsigned", "--first", "2", *PHRASE) == f"{T - 1} 1\n"
    shell("encrypt", "-", "-o", "lines", *PHRASE, input="7\n8\n9\n")
    assert shell("decrypt", "lines", "--first", "4", *PHRASE) == "7 8 9 0\n"


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("v.csv", b"1,2\n3\n", "line 2 has 1 value, but the first line has 2"),
        ("v.csv", b"1,2\n3,x\n", "v.csv, line 2, column 2: 'x' is not an integer"),
        ("v.csv", b"\n", "there are no values"),
        ("v.txt", b"\xff\xfe1", "not text in UTF-8"),
        ("v.json", b"[1, 2", "not JSON"),
        ("v.json", b'{"a": 1}', "a list of integers"),
        ("v.json", b"[1, 2.5]", "2.5"),
        ("v.json", b"[" * 100_000, "not JSON"),
        ("v.npy", b"", "not a NumPy array"),
        ("v.npy", b"PK\3\4", "not a NumPy array"),
        ("v.npy", b"\x93NUMPY\1\0", "not a NumPy array"),
    ],
)
def test_values_that_are_none(shell: Here, name: str, content: bytes, part: str) -> None:
    (shell.folder / name).write_bytes(content)
    assert part in shell("encrypt", name, "-o", "q.whorl", *PHRASE, code=2)
    assert not (shell.folder / "q.whorl").exists()


def test_a_spent_ciphertext(shell: Here) -> None:
    shell("eval", "x**16 * x**16 * x**16", "x=x.whorl", "-o", "spent", "--device", "cpu")
    message = shell("decrypt", "spent", "--first", "1", *PHRASE, code=1)
    assert "NoiseError" in message and "or say --allow-spent, and" in message
    assert shell("decrypt", "spent", "--first", "1", "--allow-spent", *PHRASE).strip().isdigit()


def test_a_vector_is_printed_without_the_slots_behind_it(shell: Here) -> None:
    def values(file: str, *options: str) -> list[int]:
        return [int(value) for value in shell("decrypt", file, *options, *PHRASE).split()]

    params = whorl.bgv.Ciphertexts.load(shell.folder / "x.whorl").parameters
    assert values("x.whorl", "--signed") == [1, 2, -3]
    assert values("x.whorl", "--first", "5", "--signed") == [1, 2, -3, 0, 0]
    every = values("x.whorl", "--all-slots", "--signed")
    assert every == [1, 2, -3] + [0] * (params.N - 3)
    both = ("decrypt", "x.whorl", "--first", "2", "--all-slots", *PHRASE)
    assert "not both" in shell(*both, code=2)
    assert "3 values of each vector" in shell("info", "x.whorl")


def test_excel_s_byte_order_mark(shell: Here) -> None:
    (shell.folder / "mark.csv").write_text("1,2\n3,4\n", encoding="utf-8-sig")
    shell("encrypt", "mark.csv", "-o", "mark.whorl", *PHRASE)
    assert shell("decrypt", "mark.whorl", *PHRASE) == "1 2\n3 4\n"
    shell("encrypt", "-", "-o", "input.whorl", *PHRASE, input="\ufeff5\n6\n")
    assert shell("decrypt", "input.whorl", *PHRASE) == "5 6\n"


def test_errors_name_options_and_files(shell: Here, tmp_path: Path) -> None:
    for text, option in (
        ("sum(x)", "a sum needs keys"),
        ("sum(x)", "whorl keygen --sum-length 3"),
        ("mean(x)", "a mean needs keys"),
        ("dot(x, x)", "a dot product needs keys"),
        ("x @ m", "whorl keygen --scheme bgv --matrices 3x9"),
    ):
        (shell.folder / "m.csv").write_text("1,2,3,4,5,6,7,8,9\n" * 3, encoding="utf-8")
        files = [f"{each}={each}{'.csv' if each == 'm' else '.whorl'}" for each in "xm"]
        given = files if "@" in text else files[:1]
        said = shell("eval", text, *given, "-o", "q", "--device", "cpu", code=1)
        assert option in said and "client." not in said
    (shell.folder / "cut.whorl").write_bytes((shell.folder / "x.whorl").read_bytes()[:-1])
    for name in ("m.csv", "cut.whorl"):
        command: tuple[str, ...]
        for command in (("decrypt", name, *PHRASE), ("info", name)):
            # One line; of a damaged file `info` prints what the header says first.
            assert f"Error: {name}: " in shell(*command, code=1)
    secret = tmp_path / "secret"
    shutil.copy(shell.folder / "secret.whorl", secret)
    secret.chmod(0o644)
    command = ("decrypt", "x.whorl", "--secret", str(secret), *PHRASE)
    assert "(--allow-readable-by-others accepts it)" in shell(*command, code=1)
    bounded = ("decrypt", "x.whorl", "--max-bytes", "10", *PHRASE)
    assert "--max-bytes" in shell(*bounded, code=1)


def test_coefficients(shell: Here) -> None:
    shell("encrypt", "0", "1", "--coefficients", "-o", "p.whorl", *PHRASE)
    shell("eval", "p*p + 7", "p=p.whorl", "-o", "p2.whorl", "--device", "cpu")
    assert shell("decrypt", "p2.whorl", "--first", "4", *PHRASE) == "7 0 1 0\n"


def test_files_of_another_key_are_named_before_a_passphrase_is_read(
    shell: Here, tmp_path: Path
) -> None:
    params = whorl.bgv.parameters(depth=3)
    whorl.bgv.Client(params).encrypt([1]).save(tmp_path / "other")
    whorl.bgv.Client(whorl.bgv.parameters(depth=1)).encrypt([1]).save(tmp_path / "smaller")
    other, smaller = str(tmp_path / "other"), str(tmp_path / "smaller")
    absent = ("--passphrase-file", "absent")
    message = shell("decrypt", other, *absent, code=1)
    assert "KeyMismatchError" in message and "other belongs to key" in message
    assert "ParameterMismatchError" in shell("decrypt", smaller, *absent, code=1)
    assert "TypeMismatchError" in shell("decrypt", "keys.whorl", *absent, code=1)
    for path, error in ((other, "KeyMismatchError"), (smaller, "ParameterMismatchError")):
        files = ("x=x.whorl", f"y={path}")
        assert error in shell("eval", "x + y", *files, "-o", "q", "--device", "cpu", code=1)


def test_options_belong_to_schemes(shell: Here) -> None:
    for arguments, part in (
        (("keygen", "--scheme", "other"), "--scheme: 'other' is not one of binfhe, bgv, ckks"),
        (
            ("keygen", "--scheme", "bgv", "--params", "x"),
            "--params is not an option of the scheme bgv",
        ),
        (("keygen", "--depth", "2"), "--depth is not an option of the scheme binfhe"),
        (("encrypt", "1", "-p", "8", "-o", "q"), "-p is not an option of the scheme bgv"),
        (("keygen", "--scheme", "bgv", "--rotations", "x"), "--rotations: integers are needed"),
    ):
        files = () if arguments[0] == "encrypt" else ("--secret", "s2", "--keys", "k2")
        assert part in shell(*arguments, *files, *PHRASE, code=2)
    assert not (shell.folder / "s2").exists()
    shown = " ".join(shell("keygen", "--help").split())
    assert "Options of binfhe" in shown and "Options of bgv" in shown and "65537" in shown


def test_a_scheme_of_others_is_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def keygen(
        scheme: Scheme,
        _: bool,
        *,
        toy: Annotated[bool, typer.Option("--toy")] = False,
    ) -> tuple[Any, dict[str, Any]]:
        asked.append(toy)
        return scheme.part("parameters")("openfhe_1_5/TOY", allow_insecure=True), {}

    scheme = Scheme(
        name="bits",
        module="whorl.binfhe",
        keys="FHEW/TFHE evaluation keys",
        ciphertexts="FHEW/TFHE ciphertexts",
        secret="FHEW/TFHE secret key",
        functions=("nand",),
        keygen=keygen,
    )
    assert scheme.part("Server") is whorl.binfhe.Server
    assert set(scheme.options("keygen")) == {"toy"} and not scheme.options("decrypt")
    app = typer.Typer()
    register(app, [Scheme("none", "nowhere", "type 32900", "type 32901"), scheme])
    with pytest.raises(ValueError, match="not one of bits"):
        Schemes([scheme]).named("none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHORL_PASSPHRASE", "correct horse")
    for command in (
        "keygen --scheme bits --toy",
        "encrypt 0 1 1 -o a --allow-insecure",
        "encrypt 1 0 1 -o b --allow-insecure",
        "eval nand(x,y) x=a y=b -o c --device cpu --allow-insecure",
        "decrypt c --allow-insecure",
    ):
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output
    assert done.output.endswith("1 1 0\n")
    assert asked == [True]
