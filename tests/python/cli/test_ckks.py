"""The commands with CKKS: numbers of any kind, raw and released results."""

import json
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import Here, Shell, made
from support import ROOT
from whorl.ckks import Ciphertexts

PHRASE = ("--passphrase-file", "phrase")
X, Y = [0.5, -0.25], [0.5 + 0.25j, -0.125j]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Here:
    folder, options = tmp_path_factory.mktemp("ckks"), ("--rotations", "1", "--conjugate")
    run = made(folder, "ckks", "--depth", "2", *options, "--sum-length", "2")
    run("encrypt", "0.5", "-.25", "-o", "x.whorl", *PHRASE)
    (folder / "y.json").write_text(json.dumps(["0.5+0.25j", "-0.125j"]))
    run("encrypt", "y.json", "-o", "y.whorl", *PHRASE)
    (folder / "d.csv").write_text("2,-4\n")
    return run


def decrypted(shell: Here, name: str) -> np.ndarray:
    shell("decrypt", name, "--raw", "-o", "out.npy", "--force", *PHRASE)
    array: np.ndarray = np.load(shell.folder / "out.npy")
    return array


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y", np.add(X, Y)),
        ("x*y + 3.5", np.multiply(X, Y) + 3.5),
        ("(-x)**2 * 2 - -1", 2 * np.square(X) + 1),
        ("x * 1j", np.multiply(X, 1j)),
        ("0.5*x - 1e-1", 0.5 * np.array(X) - 0.1),
        ("square(x)", np.square(X)),
        ("rotate(x, 1)", np.roll(X, -1)),
        ("conjugate(y)", np.conj(Y)),
        ("sum(x)", [sum(X)]),
        ("mean(x)", [sum(X) / 2]),
        ("dot(x, x)", [np.dot(X, X)]),
        ("x @ x", [np.dot(X, X)]),
        ("x @ d", [np.dot(X, [2, -4])]),
        ("lower(with_bound(x, 0.5), 0)", X),
        ("with_bound(x, -0.25, 0.5) + 1", np.add(X, 1)),
        ("x / 4 + 1/2", np.array(X) / 4 + 0.5),
        ("x / d", np.array(X) / [2, -4]),
    ],
)
def test_expressions(shell: Here, text: str, expected: Any) -> None:
    names = [name for name in "xy" if name in text.replace("conjugate", "").replace("lower", "")]
    files = [f"{name}={name}.whorl" for name in names]
    files += ["d=d.csv"] * (" d" in text)
    shell("eval", text, *files, "-o", "r.whorl", "--force", "--device", "cpu")
    got = decrypted(shell, "r.whorl")
    assert got.shape == np.shape(expected) and np.abs(got - np.asarray(expected)).max() < 1e-5


def test_bounds(shell: Here) -> None:
    """Encryptions and results have one, or a lower and an upper one. Files keep them."""

    def bounds(name: str) -> tuple[float, float]:
        return Ciphertexts.load(shell.folder / name).bounds

    for text, expected in (("4", (-4, 4)), ("2,3.5", (2, 3.5)), ("-1e-1,3.5", (-0.1, 3.5))):
        shell("encrypt", "2.5", "3", "-o", "b.whorl", "--force", "--bound", text, *PHRASE)
        assert bounds("b.whorl") == expected
        assert np.abs(decrypted(shell, "b.whorl") - [2.5, 3]).max() < 1e-5
    evaluated = ("b=b.whorl", "-o", "s.whorl", "--force", "--device", "cpu")
    for text, expected in (
        ("with_bound(b, 3)", (-0.1, 3)),
        ("with_bound(b, 2.5, 3)", (2.5, 3)),
        ("with_bound(b, 2, 3) - 2", (0, 1)),
    ):
        shell("eval", text, *evaluated)
        assert np.allclose(bounds("s.whorl"), expected, atol=1e-9)
    for bound, part, code in (
        ("1,2,3", "--bound: '1,2,3' is neither a number nor LOW,HIGH", 2),
        ("1,", "--bound: '1,' is neither a number nor LOW,HIGH", 2),
        ("x", "--bound: 'x' is neither a number nor LOW,HIGH", 2),
        ("2.6,3", "value 2.5 at index 0 is outside bound = (2.6, 3)", 1),
        ("2,2.9", "value 3 at index 1 is outside bound = (2, 2.9)", 1),
        ("3,2", "of which the first one is not the larger", 1),
    ):
        said = shell("encrypt", "2.5", "3", "-o", "q.whorl", "--bound", bound, *PHRASE, code=code)
        assert part in said, said
    said = shell("encrypt", "2.5", "3j", "-o", "q.whorl", "--bound", "0,4", *PHRASE, code=1)
    assert "only real numbers in slots have a lower and an upper bound" in said
    for text, part, code in (
        ("with_bound(b)", "with_bound takes one bound or two, and 0 are given", 2),
        ("with_bound(b, 1, 2, 3)", "with_bound takes one bound or two, and 3 are given", 2),
        ("with_bound(b, 3, 2)", "the lower one, 3, is above the upper one, 2", 1),
        ("with_bound(b, 5, 6)", "contradicts what is known", 1),
        ("with_bound(b, 1j)", "bound: 1j is not a number", 1),
    ):
        said = shell("eval", text, *evaluated, code=code)
        assert part in said, said


def test_the_session_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decrypted numbers are those behind the command, but for errors."""
    monkeypatch.setenv("WHORL_PASSPHRASE", "correct horse")
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    [session] = [
        each
        for each in re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        if "polynomial(" in each
    ]
    run, compared = Here(tmp_path), 0
    for line in session.splitlines():
        command, _, comment = line.partition("#")
        name, *arguments = shlex.split(command)
        if name != "whorl":
            subprocess.run(command, shell=True, cwd=tmp_path, check=True)
            continue
        printed = run(*arguments)
        if arguments[0] == "decrypt":
            wanted = [float(each) for each in re.split("[,:]", comment)[0].split()]
            got = np.array(printed.split(), dtype=float)
            assert got.shape == (len(wanted),) and np.abs(got - wanted).max() < 0.005, line
            compared += 1
    assert compared == 4


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Here:
    """Keys for functions of eight levels, and for a matrix that has few diagonals."""
    folder = tmp_path_factory.mktemp("deep")
    np.save(folder / "band.npy", BAND)
    np.save(folder / "c.npy", [1.0, 0.0, -2.0])
    run = made(folder, "ckks", "--depth", "9", "--matrices", "band.npy", "--sum-length", "4")
    for name, values in (("x", FOUR), ("y", -np.flip(FOUR))):
        np.save(folder / f"{name}.npy", values)
        run("encrypt", f"{name}.npy", "-o", f"{name}.whorl", *PHRASE)
    return run


FOUR = np.array([0.5, -0.25, 0.75, -1.0])
BAND = np.diag([1.0, 2.0, 3.0, 4.0]) + np.diag([0.5, 0.5], 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x @ band", FOUR @ BAND),
        ("replicate(x, 2)", [0.75]),
        ("replicate(x, 2, 2)", [0.75, -1.0]),
        ("polynomial(x, 1, 0.5)", 1 + 0.5 * FOUR),
        ("polynomial(x, c) + 1", 2 - 2 * FOUR**2),
        ("x + polynomial(x, 0.5)", FOUR + 0.5),
        ("polynomial(x * 4, 1, 2, 0.25)", 1 + 8 * FOUR + 4 * FOUR**2),
        ("polynomial(x * 4, 7)", np.full(4, 7)),
        ("polynomial(x * 0, 7, 1)", np.full(4, 7)),
        ("inverse(x + 2, 1, 3, 0.01)", 1 / (FOUR + 2)),
        ("inverse(x + 3, 1.9, 3.8, 0.01, True)", 1 / (FOUR + 3)),
        ("inverse(with_bound(x, -1, 0.8) + 3, 1.9, 3.9, 0.01)", 1 / (FOUR + 3)),
        ("sign(x, 0.2, 0.01)", np.sign(FOUR)),
        ("absolute(x, 0.2, 0.01)", np.abs(FOUR)),
        ("relu(x, 0.2, 0.01)", np.maximum(FOUR, 0)),
        ("greater(x, y, 0.1, 0.01)", [0, 1, 1, 0]),
        ("maximum(x, y, 0.1, 0.01)", [1.0, -0.25, 0.75, -0.5]),
        ("minimum(x, y, 0.1, 0.01)", [0.5, -0.75, 0.25, -1.0]),
    ],
)
def test_functions(deep: Here, text: str, expected: Any) -> None:
    given = {"x": "x.whorl", "y": "y.whorl", "band": "band.npy", "c": "c.npy"}
    used = [f"{name}={file}" for name, file in given.items() if re.search(rf"\b{name}\b", text)]
    deep("eval", text, *used, "-o", "r.whorl", "--force", "--device", "cpu")
    got = decrypted(deep, "r.whorl")
    assert got.shape == np.shape(expected) and np.abs(got - np.asarray(expected)).max() < 0.02


def test_functions_that_are_refused(deep: Here) -> None:
    for text, part, code in (
        ("relu(x)", "relu takes 3 inputs, not 1", 2),
        ("greater(x, x, 0.1)", "greater takes 4 inputs, not 3", 2),
        ("relu(x, 0, 0.1)", "epsilon = 0", 1),
        ("relu(x, 0.0001, 0.0001)", "levels", 1),
        ("relu(x, 1j, 0.1)", "epsilon: 1j is not a number", 1),
        ("inverse(x + 3, 1.9, 3.8, 0.01)", "outside the polynomial's interval", 1),
        ("polynomial(x)", "coefficients", 1),
        ("x + polynomial(2, 1)", "ciphertexts are needed, not int", 2),
        ("logarithm(x)", "logarithm is no function here", 2),
        ("x < 3", "these ciphertexts do not have this operator; there are", 2),
        ("replicate(x, 7)", "to the end of", 1),
    ):
        said = deep("eval", text, "x=x.whorl", "-o", "q.whorl", "--device", "cpu", code=code)
        assert part in said, said
    keygen = ("keygen", "--scheme", "ckks", "--secret", "s", "--keys", "k", *PHRASE)
    assert "rows and columns" in deep(*keygen, "--matrices", "3", code=2)
    assert "16777216 values" in deep(*keygen, "--matrices", "8192x4096", code=2)


def test_values_that_are_not_encrypted(shell: Here) -> None:
    (shell.folder / "m.csv").write_text("0.5,2\n1,-1\n")
    shell("eval", "x*m + m", "x=x.whorl", "m=m.csv", "-o", "n.whorl", "--force", "--device", "cpu")
    m = np.array([[0.5, 2], [1, -1]])
    assert np.abs(decrypted(shell, "n.whorl") - (m * X + m)).max() < 1e-5


def test_what_is_written_can_be_read(shell: Here) -> None:
    for name in ("again.json", "again.txt", "again.csv", "again.npy"):
        shell("decrypt", "y.whorl", "--raw", "-o", name, "--force", *PHRASE)
        shell("encrypt", name, "-o", "again.whorl", "--force", *PHRASE)
        assert np.abs(decrypted(shell, "again.whorl") - np.array(Y)).max() < 1e-5
    shown = shell("decrypt", "y.whorl", "--raw", "--json", *PHRASE)
    assert np.abs(np.array(json.loads(shown), dtype=complex) - np.array(Y)).max() < 1e-5
    shown = shell("decrypt", "x.whorl", "--raw", *PHRASE)
    assert np.abs(np.array(shown.split(), dtype=float) - np.array(X)).max() < 1e-5


@pytest.fixture
def fresh(tmp_path: Path) -> Here:
    """A key of which nothing was released, and three ciphertexts."""
    run = made(tmp_path, "ckks", "--depth", "1", "--scale-bits", "50")
    (tmp_path / "rows.csv").write_text("0.5,0.25\n1,-1\n0,0\n")
    run("encrypt", "rows.csv", "-o", "rows.whorl", *PHRASE)
    run("encrypt", "0.5", "-.25", "-o", "x.whorl", *PHRASE)
    return run


def released(shell: Shell, *options: str, code: int = 0, name: str = "x.whorl") -> str:
    return shell("decrypt", name, *options, *PHRASE, code=code)


def test_raw_numbers_need_a_word(fresh: Here) -> None:
    for options in ((), ("--raw", "--queries", "3")):
        said = released(fresh, *options, code=2)
        assert "one of --raw and --queries is needed" in said
    shown = released(fresh, "--queries", "10", "--bits", "32")
    values = np.array(shown.split(), dtype=float)
    assert 1e-9 < np.abs(values - np.array(X)).max() < 1e-3
    assert "outside 30" in released(fresh, "--queries", "2", "--bits", "8", code=1)


def test_each_ciphertext_is_a_result(fresh: Here) -> None:
    said = released(fresh, "--queries", "2", name="rows.whorl", code=1)
    assert "3 results would spend 1.5" in said
    shown = released(fresh, "--queries", "3", "--json", name="rows.whorl")
    assert np.abs(np.array(json.loads(shown)) - [[0.5, 0.25], [1, -1], [0, 0]]).max() < 1e-3


def test_commands_count_what_they_release_together(fresh: Here) -> None:
    count = fresh.folder / "secret.whorl.released"
    released(fresh, "--raw")
    assert not count.exists()
    released(fresh, "--queries", "4")
    released(fresh, "--queries", "4", name="rows.whorl")
    [kept] = json.loads(count.read_text()).values()
    assert kept == {"results": 4, "spent": 1.0}
    assert count.stat().st_mode & 0o777 == 0o600
    # A link to the key has the same count.
    (fresh.folder / "link.whorl").symlink_to("secret.whorl")
    for options in ((), ("--secret", "link.whorl"), ("-o", "out.npy")):
        said = released(fresh, "--queries", "4", *options, code=1)
        assert "of which 0 is left after 4 results" in said
    assert not (fresh.folder / "out.npy").exists()
    released(fresh, "--raw")
    [again] = json.loads(count.read_text()).values()
    assert again == kept and not list(fresh.folder.glob(".secret*"))
    # A new key in its place begins anew, and the old one's count stays.
    fresh("keygen", "--scheme", "ckks", "--depth", "1", "--overwrite-secret", "--force", *PHRASE)
    fresh("encrypt", "0.5", "-o", "new.whorl", *PHRASE)
    released(fresh, "--queries", "1", name="new.whorl")
    first, second = json.loads(count.read_text()).values()
    assert first == kept and second == {"results": 1, "spent": 1.0}


def test_other_names_of_a_key_do_not_begin_a_count(fresh: Here) -> None:
    (fresh.folder / "other").mkdir()
    for link in ("again.whorl", "other/again.whorl"):
        (fresh.folder / link).hardlink_to(fresh.folder / "secret.whorl")
        for options in ((), ("--secret", link)):
            said = released(fresh, "--queries", "4", *options, code=2)
            assert "has 2 names (hard links)" in said and "symbolic links" in said
        released(fresh, "--raw", "--secret", link)
        (fresh.folder / link).unlink()
    assert not list(fresh.folder.rglob("*.released"))
    released(fresh, "--queries", "4")


def test_nothing_is_released_that_cannot_be_counted(fresh: Here) -> None:
    count = fresh.folder / "secret.whorl.released"
    key = "00" * 16
    for text in (
        "",
        "5",
        "[]",
        '{"a": 5}',
        f'{{"{key}": {{"results": -1, "spent": 0.5}}}}',
        f'{{"{key}": {{"results": 1, "spent": NaN}}}}',
        f'{{"{key}": {{"results": 1}}}}',
        "9" * (1 << 21),
    ):
        count.write_text(text)
        assert "does not hold what was released" in released(fresh, "--queries", "4", code=2)
        assert count.read_text() == text
    count.unlink()
    count.mkdir()
    assert "secret.whorl.released" in released(fresh, "--queries", "4", code=1)


def test_releases_at_once_are_all_counted(fresh: Here) -> None:
    shell = Shell(fresh.folder)
    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(released, shell, "--queries", "3") for _ in range(3)]
    assert all(each.result() for each in done)
    [kept] = json.loads((fresh.folder / "secret.whorl.released").read_text()).values()
    assert kept["results"] == 3 and abs(kept["spent"] - 1) < 1e-9
    released(fresh, "--queries", "3", code=1)


def test_info(shell: Here) -> None:
    shown = shell("info", "keys.whorl")
    for part in ("CKKS evaluation keys", "conjugation", "up to 3 parts", "depth"):
        assert part in shown
    shown = shell("info", "x.whorl")
    for part in ("CKKS ciphertexts", "real of N", "2 of 2", "estimated"):
        assert part in shown
    assert "CKKS secret key" in shell("info", "secret.whorl")


def test_what_is_refused(shell: Here) -> None:
    keygen = ("keygen", "--scheme", "ckks", "--secret", "s", "--keys", "k")
    for arguments, part, code in (
        (("encrypt", "2.5", "-o", "q"), "above bound = 1", 1),
        (("encrypt", "a", "-o", "q"), "'a' is not a number", 2),
        (("encrypt", "nan", "-o", "q"), "not finite", 2),
        (("encrypt", "1", "-o", "q", "--signed"), "No such option", 2),
        (("decrypt", "x.whorl", "--raw", "--signed"), "not an option of the scheme ckks", 2),
        ((*keygen, "--allow-insecure"), "keygen chooses parameters of 128 bits", 2),
        ((*keygen, "--plain-modulus", "7"), "not an option of the scheme ckks", 2),
    ):
        said = shell(*arguments, *PHRASE, code=code)
        assert part in said, said
    for text in ("x / x", "x % 2"):
        assert text.split()[1] in shell(
            "eval", text, "x=x.whorl", "-o", "q", "--device", "cpu", code=2
        )
    for text, part in (
        ("x / 0", "divisor: value 0"),
        ("1 / x", "in place of x / y write x * inverse(y, low, high, error)"),
        ("x / x", "in place of x / y write x * inverse(y, low, high, error)"),
        ("10.0**400 * x", "a number is above the largest double"),
        ("~" * 100_000 + "x", "nested too deeply"),
        ("-" * 900 + "x", "nested too deeply"),
        ("x + " * 5000 + "x", "nested too deeply"),
    ):
        said = shell("eval", " " + text, "x=x.whorl", "-o", "q", "--device", "cpu", code=2)
        assert part in said and len(said) < 1000, said
    shell("encrypt", "2.5", "3", "-o", "large.whorl", "--bound", "4", *PHRASE)
    assert np.abs(decrypted(shell, "large.whorl") - [2.5, 3]).max() < 1e-5
    shell("encrypt", "0.5", "1", "-o", "p.whorl", "--coefficients", *PHRASE)
    shell("eval", "p*p", "p=p.whorl", "-o", "pp.whorl", "--device", "cpu")
    assert np.abs(decrypted(shell, "pp.whorl") - [0.25, 1, 1]).max() < 1e-5
