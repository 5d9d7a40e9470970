"""Values in files and arguments: every cell is read, or an error says which one is not."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import CLI, KEYGEN, PHRASE, made, write_phrase
from support import environment
from whorl.cli import _values


def read(folder: Path, text: str | bytes, name: str = "v.csv", **options: Any) -> Any:
    """What is read of a file with that text."""
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(data)
    values, _ = _values.read([str(folder / name)], **options)
    return values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2,3\n", [1, 2, 3]),
        ("1,2,3", [1, 2, 3]),
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1,2\r\n3,4\r\n", [[1, 2], [3, 4]]),
        ("1,2\r3,4\r", [[1, 2], [3, 4]]),
        ("\ufeff1,2\n3,4", [[1, 2], [3, 4]]),
        ("1\n2\n3\n", [1, 2, 3]),
        (" 1 , 2 \n3, 4\n", [[1, 2], [3, 4]]),
        ("1\t2\n3 \t 4\n", [[1, 2], [3, 4]]),
        ('"1","-2"\n3,4\n', [[1, -2], [3, 4]]),
        ('"1" , "2"\n', None),
        ('"1"\t"2"\n3\t4\n', [[1, 2], [3, 4]]),
        ("+1,-2\n", [1, -2]),
    ],
)
@pytest.mark.parametrize("name", ["v.csv", "v.TXT"])
def test_rows(tmp_path: Path, name: str, text: str, expected: object) -> None:
    if expected is None:  # CSV has no blanks around quotation marks
        with pytest.raises(ValueError, match="line 1: "):
            read(tmp_path, text, name)
    else:
        assert read(tmp_path, text, name) == expected


def test_spaces_stand_between_values_only_in_text(tmp_path: Path) -> None:
    """Beside commas and tabs, and in a .csv, a number with a space in it is not two."""
    for text, expected in (("1 2  3\n", [1, 2, 3]), (" 1 2\n3  4 \n", [[1, 2], [3, 4]])):
        assert read(tmp_path, text, "v.txt") == expected
    for text, place, cell, names in (
        ("1 000,5\n2 000,7\n", "line 1, column 1", "1 000", ("v.csv", "v.txt")),
        ("5,2 3\n", "line 1, column 2", "2 3", ("v.csv", "v.txt")),
        ("1,5\n2 000\n", "line 2, column 1", "2 000", ("v.csv", "v.txt")),
        ("1 000\t5\n", "line 1, column 1", "1 000", ("v.csv", "v.txt")),
        ("1,5\t2\n", "line 1, column 2", "5\\t2", ("v.csv", "v.txt")),
        ("1 000\n2 000\n", "line 1, column 1", "1 000", ("v.csv",)),
        ('"1 000",5\n', "line 1, column 1", "1 000", ("v.csv", "v.txt")),
    ):
        for name in names:
            with pytest.raises(ValueError) as caught:
                read(tmp_path, text, name, header=False)
            said = f"{name}, {place}: '{cell}' is not an integer; beside commas"
            assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1,,3\n", "line 1, column 2 is empty; write a value there, or remove the line"),
        ("1,2\n3,\n", "line 2, column 2 is empty"),
        (",2\n3,4\n", "line 1, column 1 is empty"),
        ("1,2,\n3,4,\n", "line 1, column 3 is empty"),
        ("1, ,3\n", "line 1, column 2 is empty"),
        ("1\t\t3\n", "line 1, column 2 is empty"),
        ("1\t2\t\n3\t4\t\n", "line 1, column 3 is empty"),
        ('1,"",3\n', "line 1, column 2 is empty"),
        (",,\n", "line 1, column 1 is empty"),
        ("1\n\n3\n", "line 2 is empty; remove it, or write what is missing there"),
        ("\n1\n3\n", "line 1 is empty"),
        ("1\n3\n\n", "line 3 is empty"),
        ("1\r\n\r\n3\r\n", "line 2 is empty"),
        ("1,2\n   \n3,4\n", "line 2 is empty"),
        ('"1","2"\n\n3,4\n', "line 2 is empty"),
        ("1,2\n3\n", "line 2 has 1 value, but the first line has 2"),
        ("1\n2,3\n", "line 2 has 2 values, but the first line has 1"),
        ("", "there are no values"),
        ("\n", "there are no values"),
        ("age,height\n1,2\n", "line 1, column 1: 'age' is not an integer; --header takes the"),
        ("1,2\n3,x\n", "line 2, column 2: 'x' is not an integer"),
        ("1,2.5\n", "line 1, column 2: '2.5' is not an integer"),
        ("1;2\n", "'1;2' is not an integer; commas, tabs or spaces stand between values"),
        ("# a\n1\n", "'# a' is not an integer; there are no lines of comments"),
        ("1,2\n#,3\n", "line 2, column 1: '#' is not an integer; there are no lines"),
        ('"1,5",2\n', "line 1, column 1: '1,5' is not an integer"),
        ('"1\n', "line 1: unexpected end of data"),
        ("1\u00a0000,2\n", "is not an integer"),
        ("1\x0c2\n", "is not an integer"),
        ("1,NA\n", "'NA' is not an integer"),
        ("9" * 5000 + "\n", "is not an integer"),
    ],
)
def test_cells_that_are_no_integers(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(tmp_path, text, header=False)
    assert part in str(caught.value) and str(caught.value).startswith(f"{tmp_path}/v.csv")
    assert len(str(caught.value)) < 300 + len(str(tmp_path))


def test_numbers_are_finite(tmp_path: Path) -> None:
    assert read(tmp_path, "0.5,-1e-3,1+2j,.5,1E5\n", integers=False) == [
        0.5,
        -1e-3,
        1 + 2j,
        0.5,
        1e5,
    ]
    for text in ("nan", "inf", "-Infinity", "1e400", "1e400j", "nan+1j"):
        with pytest.raises(ValueError, match=r"line 2, column 2: .* is not finite$"):
            read(tmp_path, f"1,2\n3,{text}\n", integers=False)
    with pytest.raises(ValueError, match=r"line 1, column 1: 'x' is not a number$"):
        read(tmp_path, "x,2\n", integers=False)


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("age,height\n1,2\n3,4\n", ["age", "height"], [[1, 2], [3, 4]]),
        ("age, body height \n1,2\n", ["age", "body height"], [1, 2]),
        ("age\tbody height\n1\t2\n", ["age", "body height"], [1, 2]),
        ("body height\n1\n", ["body height"], [1]),
        ('"age, in years",height\n1,2\n', ["age, in years", "height"], [1, 2]),
        ('"two\nlines",b\n1,2\n', ["two\nlines", "b"], [1, 2]),
        ("age\n1\n2\n", ["age"], [1, 2]),
        ("2020,mean\n1,2\n", ["2020", "mean"], [1, 2]),
    ],
)
def test_a_header_has_names(tmp_path: Path, text: str, names: list[str], expected: Any) -> None:
    (tmp_path / "v.csv").write_text(text, encoding="utf-8")
    assert _values.read([str(tmp_path / "v.csv")], header=True) == (expected, names)


def test_a_header_of_spaces(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("age height\n1 2\n", encoding="utf-8")
    assert _values.read([str(tmp_path / "v.txt")], header=True) == ([1, 2], ["age", "height"])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("age,,height\n4,5,6\n", "line 1, column 2: the column has no name; write one there"),
        ("age, \n4,5\n", "line 1, column 2: the column has no name"),
        ('"",age\n4,5\n', "line 1, column 1: the column has no name"),
        ("1,,3\n4,5,6\n", "line 1, column 2: the column has no name"),
        ("1,2,3\n4,5,6\n", "line 1: the names of columns are numbers; if they are values, leave"),
        ("0.5,1+2j\n1,2\n", "line 1: the names of columns are numbers"),
        ("\n4,5,6\n", "line 1 is empty; write the names of the columns there"),
    ],
)
def test_headers_without_names(tmp_path: Path, text: str, part: str) -> None:
    with pytest.raises(ValueError, match=re.escape(part)):
        read(tmp_path, text, header=True)


def test_errors_have_the_names_of_columns(tmp_path: Path) -> None:
    for text, part in (
        ("age,height\n1,\n", r"line 2, column 2 \(height\) is empty"),
        ("age,height\nx,1\n", r"line 2, column 1 \(age\): 'x' is not an integer$"),
        ("age,height\n1\n", "line 2 has 1 value, but the first line has 2 names"),
        ("age\n1,2\n", "line 2 has 2 values, but the first line has 1 name$"),
        ("age,height\n", "there are no values"),
        ("", "there are no values"),
    ):
        with pytest.raises(ValueError, match=part):
            read(tmp_path, text, header=True)


def test_arguments_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (["1", "2", "3"], ["1,2", "3"], ["1,", "2, 3"], ["1\n2", "3"], ["1 2\t3"]):
        assert _values.read(given) == ([1, 2, 3], [])
    with pytest.raises(ValueError, match="messages, column 2 is empty"):
        _values.read(["1,,3"])
    with pytest.raises(ValueError, match="messages: '1 000' is not an integer; beside commas"):
        _values.read(["7", "1 000,5"])
    with pytest.raises(ValueError, match="--header goes with"):
        _values.read(["1", "2"], header=True)
    np.save(tmp_path / "v.npy", [1])
    with pytest.raises(ValueError, match="--header goes with"):
        _values.read([str(tmp_path / "v.npy")], header=True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\ufeffa,b\n1,2\n"))
    assert _values.read(["-"], header=True) == ([1, 2], ["a", "b"])
    monkeypatch.setattr(sys, "stdin", io.StringIO("1,\n"))
    with pytest.raises(ValueError, match="standard input, line 1, column 2 is empty"):
        _values.read(["-"])


def test_json_that_is_no_list_of_numbers(tmp_path: Path) -> None:
    for text, part in (
        ('["1 2"]', "'1 2' is not a finite number"),
        ('[""]', "'' is not a finite number"),
        ('["nan"]', "'nan' is not a finite number"),
        ("9" * 5000, "not JSON"),
    ):
        with pytest.raises(ValueError, match=part):
            read(tmp_path, text, "v.json", integers=False)


def npy(header: bytes, data: bytes = b"") -> bytes:
    """A file of NumPy's with that header."""
    padded = header + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + data


@pytest.mark.parametrize(
    "data",
    [
        npy(b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000000,)}"),
        npy(b"{'descr': '<i8', 'fortran_order': False, 'shape': (%d,)}" % 2**64),
        npy(b"{'descr': '<i8', 'fortran_order': False, 'shape': (-1,)}"),
        npy(b"{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", bytes(8)),
        npy(b"{'descr': '<i8', 'fortran_order': False, 'shape': (" + b"1," * 100 + b")}", bytes(8)),
        npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", b"cos\nsystem\n"),
        npy(b"{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,)}", bytes(8)),
        npy(b"{'descr': 'x' * 5, 'fortran_order': False, 'shape': ()}"),
        npy(b"{'descr': {}, 'fortran_order': False, 'shape': ()}"),
        npy(b"[" * 5000),
        npy(b"-" * 9000 + b"1"),
        npy(b"\xff"),
        npy(b"{'descr': '<M8[D]', 'fortran_order': False, 'shape': (1,)}", bytes(8)),
        npy(b"{'descr': '|S0', 'fortran_order': False, 'shape': (%d,)}" % 2**62),
    ],
)
def test_headers_that_somebody_made_up(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"v\.npy: "):
        read(tmp_path, data, "v.npy")


def test_names_of_files_that_are_no_utf_8(tmp_path: Path) -> None:
    def run(*arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
        """A process that prints bytes."""
        around = environment(LC_ALL="C.UTF-8")
        around.pop("PYTHONIOENCODING", None)
        command = (sys.executable, "-X", "utf8", "-c", CLI, *arguments)
        return subprocess.run(command, capture_output=True, cwd=tmp_path, env=around)

    write_phrase(tmp_path)
    assert run(*KEYGEN).returncode == 0
    (tmp_path / "in \udcff.csv").write_text("0,1\n")
    done = run("encrypt", b"in \xff.csv", "-o", b"out \xff.whorl", *PHRASE)
    assert done.returncode == 0 and done.stdout.startswith(b"out \xff.whorl: 2 ciphertexts"), done
    done = run("decrypt", b"out \xff.whorl", *PHRASE)
    assert done.stdout == b"0 1\n", done
    done = run("decrypt", b"absent \xff.whorl", *PHRASE)
    assert done.returncode == 1 and b"absent \\udcff.whorl" in done.stderr, done


def test_from_file_to_file(tmp_path: Path) -> None:
    shell = made(tmp_path, "bgv", "--depth", "1")
    (tmp_path / "table.csv").write_text('age,"height, cm"\n20,170\n45,180\n', encoding="utf-8")
    encrypt = ("encrypt", "table.csv", "-o", "x.whorl", *PHRASE[:2])
    assert "line 1, column 1: 'age' is not an integer; --header" in shell(*encrypt, code=2)
    assert "columns age, height, cm" in shell(*encrypt, "--header")
    (tmp_path / "w.csv").write_text("a,b\n2,3\n", encoding="utf-8")
    work = ("eval", "x * w", "x=x.whorl", "w=w.csv", "-o", "y.whorl", "--device", "cpu")
    assert "--header takes the first line for names" in shell(*work, code=2)
    shell(*work, "--header")
    assert json.loads(shell("decrypt", "y.whorl", "--json", *PHRASE[:2])) == [[40, 510], [90, 540]]
    alone = ("eval", "x + x", "x=x.whorl", "-o", "z.whorl", "--header", "--device", "cpu")
    assert "--header goes with" in shell(*alone, code=2)
    divided = ("eval", "x / 2", "x=x.whorl", "-o", "z.whorl", "--device", "cpu")
    assert "multiply by the inverse, pow(d, -1, t)" in shell(*divided, code=2)
    assert not (tmp_path / "z.whorl").exists()
