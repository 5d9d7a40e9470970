"""Odd operands: the right value, or an error that says what to write."""

import contextlib
import datetime
import decimal
import fractions
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from support import BgvKit, CkksKit, Kit, pickled
from whorl import bgv, binfhe, ckks

MASKED = np.ma.array([1, 0], mask=[False, True])
COLUMN = np.ma.array([[1], [1]], mask=[[True], [False]])
RAGGED = [[1, 2], [3]]


class All:
    """Encrypted arrays of each scheme, and what decrypts them."""

    def __init__(self, kit: Kit, toy: BgvKit, small: CkksKit) -> None:
        self.kit, self.toy, self.small = kit, toy, small
        self.bits = kit.server.upload(kit.client.encrypt([0, 1]))
        self.row = toy.server.upload(toy.client.encrypt([5, 6]))
        self.real = small.server.upload(small.client.encrypt([0.5, 0.25]))
        self.reals = small.server.upload(small.client.encrypt([[0.5, 0.25], [0.125, 0.5]]))

    def values(self, array: Any) -> list[Any]:
        """What was encrypted."""
        if isinstance(array, bgv.EncryptedArray):
            decrypted = self.toy.client.decrypt(array)[..., :2]
        elif isinstance(array, ckks.EncryptedArray):
            decrypted = self.small.client.decrypt(array, raw=True).round(6)
        else:
            decrypted = self.kit.client.decrypt(array)
        return list(decrypted.tolist())


@pytest.fixture(scope="module")
def all_(kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit) -> All:
    return All(kit, toy_bgv, toy_ckks)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        # NumPy's functions are operators.
        (lambda a: np.add(a.real, a.real), [1, 0.5]),
        (lambda a: np.subtract([1, 1], a.real), [0.5, 0.75]),
        (lambda a: np.multiply(a.row, np.array([2, 3])), [10, 18]),
        (lambda a: np.divide(a.real, np.array([2.0, 0.5])), [0.25, 0.5]),
        (lambda a: np.negative(a.real), [-0.5, -0.25]),
        (lambda a: np.power(a.row, 2), [25, 36]),
        (lambda a: np.reshape(a.reals, (1, 2))[0], [[0.5, 0.25], [0.125, 0.5]]),
        (lambda a: np.transpose(a.reals), [[0.5, 0.25], [0.125, 0.5]]),
        (lambda a: np.broadcast_to(a.reals, (1, 2))[0], [[0.5, 0.25], [0.125, 0.5]]),
        (lambda a: np.bitwise_and(a.bits, [1, 1]), [0, 1]),
        (lambda a: np.bitwise_xor(np.array([1, 1]), a.bits), [1, 0]),
        (lambda a: np.invert(a.bits), [1, 0]),
        (lambda a: np.float64(2) * a.real, [1, 0.5]),
        (lambda a: np.ones(2) + a.real, [1.5, 1.25]),
        # Masked arrays without masked entries.
        (lambda a: a.real + np.ma.array([1, 2]), [1.5, 2.25]),
        (lambda a: np.ma.array([1, 2]) + a.real, [1.5, 2.25]),
        (lambda a: a.row * np.ma.array([1, 2], mask=[False, False]), [5, 12]),
        # Numbers of other kinds.
        (lambda a: a.real * fractions.Fraction(1, 2), [0.25, 0.125]),
        (lambda a: a.row * np.array(2), [10, 12]),
        (lambda a: a.row * memoryview(b"\2\3"), [10, 18]),
        (lambda a: a.row + np.array([1, 2], dtype=object), [6, 8]),
        (lambda a: a.row * True, [5, 6]),
        (lambda a: a.real * np.True_, [0.5, 0.25]),
        (lambda a: a.row + range(2), [5, 7]),
        (lambda a: a.bits & np.array([True, True]), [0, 1]),
        (lambda a: a.real + np.array([1, 2], dtype=np.longdouble), [1.5, 2.25]),
        (lambda a: a.reals.transpose(np.array([0])), [[0.5, 0.25], [0.125, 0.5]]),
    ],
)
def test_right_values(all_: All, work: Callable[[All], Any], expected: list[Any]) -> None:
    assert all_.values(work(all_)) == expected


def test_numpy_tells_the_shape(all_: All) -> None:
    for array in (all_.reals, all_.reals.to_host()):
        assert (np.shape(array), np.ndim(array), np.size(array)) == ((2,), 1, 2)


def objects(*each: Any) -> Any:
    """An object array of them."""
    array = np.empty(len(each), dtype=object)
    array[:] = 0
    for i, one in enumerate(each):
        array[i] = one
    return array


def test_object_arrays_of_ciphertexts_work_one_by_one(all_: All) -> None:
    held = objects(all_.reals[0], all_.reals[1])
    for work, expected in (
        (lambda: held + held, [[1, 0.5], [0.25, 1]]),
        (lambda: held * 2, [[1, 0.5], [0.25, 1]]),
        (lambda: 1 - held, [[0.5, 0.75], [0.875, 0.5]]),
    ):
        assert [all_.values(each) for each in work()] == expected


STACK = {name: f"whorl.{name}.stack makes one array of them" for name in ("ckks", "bgv", "binfhe")}


@pytest.mark.parametrize(
    ("work", "message"),
    [
        # ciphertexts in lists and object arrays
        (lambda a: a.small.server.add(a.real, [a.real, a.real]), STACK["ckks"]),
        (lambda a: a.real + objects(a.real, a.real), STACK["ckks"]),
        (lambda a: a.row * [a.row], STACK["bgv"]),
        (lambda a: a.bits & [a.bits[0], a.bits[1]], STACK["binfhe"]),
        (lambda a: a.kit.server.nand([a.bits[0]], [a.bits[1]]), STACK["binfhe"]),
        (lambda a: a.small.server.upload([a.real]), STACK["ckks"]),
        (lambda a: a.small.server.upload(objects(a.real)), STACK["ckks"]),
        (lambda a: a.toy.client.decrypt((a.row, a.row)), STACK["bgv"]),
        (lambda a: a.small.client.encrypt([a.real]), STACK["ckks"]),
        (lambda a: np.array([a.real, a.real]), "whorl.ckks.stack and whorl.ckks.concatenate"),
        (lambda a: np.stack([a.row]), "whorl.bgv.stack and whorl.bgv.concatenate"),
        (lambda a: np.concatenate([a.bits]), "whorl.binfhe.stack and whorl.binfhe.concatenate"),
        # other functions of NumPy
        (lambda a: np.sin(a.real), "np.sin does not take EncryptedArray of CKKS"),
        (lambda a: np.add.reduce(a.real), "np.add does not take EncryptedArray of CKKS"),
        (lambda a: np.sum(a.real), "np.sum does not take EncryptedArray of CKKS: write x.sum(); h"),
        (lambda a: np.mean(a.row), "write x.mean(); help(x.mean) says what it does"),
        (lambda a: np.dot(a.row, a.row), "write x.dot(other)"),
        (lambda a: np.square(a.real), "np.square does not take EncryptedArray of CKKS: write x.sq"),
        (lambda a: np.maximum(a.real, a.real), "write x.maximum(other, stages)"),
        (lambda a: np.add.reduce(a.real), "of their class, and np.add.reduce is none"),
        (lambda a: np.vstack([a.real]), "whorl.ckks.concatenate join ciphertexts"),
        (
            lambda a: np.transpose(a.real, axes=(0,)),
            "np.transpose does not take EncryptedArray of CKKS with axes: write x.transpose(*axes)",
        ),
        (lambda a: np.reshape(a.row, (1,), order="F"), "BGV with order: write x.reshape(*shape)"),
        (
            lambda a: np.broadcast_to(a.bits, (2,), subok=True),
            "with subok: write x.broadcast_to(",
        ),
        (lambda a: np.copy(a.real, "K"), "write x.copy()"),
        (lambda a: np.sum(a.bits), "np.sum does not take EncryptedArray of FHEW/TFHE"),
        (lambda a: np.mean(a.row), "np.mean does not take EncryptedArray of BGV"),
        (lambda a: np.repeat(a.real, 2), "np.repeat does not take EncryptedArray of CKKS"),
        (lambda a: np.sum(a.real.to_host()), "np.sum does not take Ciphertexts of CKKS"),
        (lambda a: np.size(a.bits, 0), "np.size does not take EncryptedArray of FHEW/TFHE"),
        (lambda a: np.add(1, 1, out=a.real), "np.add does not take"),
        (lambda a: np.zeros(2).__iadd__(a.real), "a = a + x, not a += x"),
        (lambda a: np.ones(2) == a.real, "EncryptedArray of CKKS has no operator ==: x.greater"),
        (lambda a: np.ones(2) < a.row, "has no operator <: BGV has no comparison"),
        (lambda a: a.bits.to_host() < a.bits, "EncryptedArray of FHEW/TFHE has no operator >: (x"),
        # schemes
        (lambda a: a.real * a.row, "ciphertexts of CKKS are needed, not of BGV: schemes have keys"),
        (lambda a: a.row * a.real.to_host(), "ciphertexts of BGV are needed, not of CKKS"),
        (lambda a: a.bits & a.row, "numbers are needed, not EncryptedArray of BGV"),
        (lambda a: a.real * a.toy.server.encode([1]), "numbers are needed, not Plaintexts of BGV"),
        # quotients
        (lambda a: a.row / 2, "multiply by the inverse, pow(d, -1, t)"),
        (lambda a: a.real / a.real, "for x / y write x * y.inverse(low, high, error)"),
        (lambda a: np.ones(2) / a.real, "CKKS has no operator /: write x.inverse(low, high, er"),
        (lambda a: a.real.to_host() / 2, "write server.upload(a) first"),
        (lambda a: [[1]] @ a.real.to_host(), "write server.upload(a) first"),
        # masked values
        (lambda a: a.real + MASKED, "plaintext: the value at index 1 is masked"),
        (lambda a: MASKED * a.row, "plaintext: the value at index 1 is masked"),
        (lambda a: a.row * np.ma.masked, "plaintext: the value is masked"),
        (lambda a: a.row * np.ma.array(3, mask=True), "plaintext: the value is masked"),
        (lambda a: a.real * [1, np.ma.masked], "plaintext: the value at index 1 is masked"),
        (lambda a: a.bits & MASKED, "and: the value at index 1 is masked"),
        (lambda a: a.toy.client.encrypt([MASKED]), "values: the value at index (0, 1) is masked"),
        (lambda a: a.small.client.encrypt(MASKED), "as .filled(0), or leave them out"),
        (lambda a: a.kit.client.encrypt(MASKED), "messages: the value at index 1 is masked"),
        (lambda a: a.toy.client.public_key().encrypt(MASKED), "index 1 is masked"),
        (lambda a: a.small.client.public_key().encrypt(MASKED), "index 1 is masked"),
        (lambda a: a.toy.server.encode(MASKED), "values: the value at index 1 is masked"),
        (lambda a: a.row @ COLUMN, "index (0, 0) is masked"),
        (lambda a: a.real @ COLUMN, "index (0, 0) is masked"),
        (lambda a: a.kit.server.linear(MASKED, [a.bits, a.bits]), "weights: the value at index 1"),
        (lambda a: a.kit.client.noise(a.bits, MASKED), "expected: the value at index 1 is masked"),
        (lambda a: binfhe.Lut(a.kit.parameters, MASKED), "table: the value at index 1 is masked"),
        (
            lambda a: a.kit.server.apply(np.ma.array([None, None], mask=[False, True]), a.bits),
            "luts: the value at index 1 is masked",
        ),
        (lambda a: ckks.Polynomial(MASKED), "coefficients: the value at index 1 is masked"),
        (lambda a: ckks.diagonals({0: MASKED}, 2), "diagonal 0: the value at index 1 is masked"),
        (lambda a: ckks.precision(MASKED, [1, 2]), "values: the value at index 1 is masked"),
        (lambda a: bgv.plan(lambda x: x, [MASKED]), "inputs[0]: the value at index 1 is masked"),
        # what is no shape
        (lambda a: a.bits.broadcast_to("a"), "integers are needed, not ('a',)"),
        (lambda a: a.real.broadcast_to((1.5, 2)), "integers are needed, not (1.5, 2)"),
        (lambda a: ckks.Values(1.5), "shape: an integer is needed, not 1.5"),  # type: ignore[arg-type]
        (lambda a: ckks.Values(None), "shape: an integer is needed, not None"),  # type: ignore[arg-type]
        (lambda a: bgv.Range(0, 1, "ab"), "shape: an integer is needed, not 'a'"),  # type: ignore[arg-type]
        (lambda a: bgv.Range(0, 1, (2, 0.5)), "shape: an integer is needed, not 0.5"),  # type: ignore[arg-type]
        (lambda a: bgv.Range(0.5, 1), "low: an integer is needed, not 0.5"),  # type: ignore[arg-type]
        (lambda a: bgv.Range(0, "1"), "high: an integer is needed, not '1'"),  # type: ignore[arg-type]
        # what is no number
        (lambda a: a.real * decimal.Decimal("0.5"), "not Decimal('0.5')"),
        (lambda a: a.real + "x", "numbers are needed, not 'x'"),
        (lambda a: a.row + np.timedelta64(1, "s"), "not np.timedelta64(1,'s')"),
        (lambda a: a.real + np.timedelta64(1, "s"), "not np.timedelta64(1,'s')"),
        (lambda a: a.real + np.array(["2020"], "M8[D]"), "not np.datetime64('2020-01-01')"),
        (lambda a: a.real + datetime.date(2020, 1, 1), "not datetime.date(2020, 1, 1)"),
        (lambda a: a.row + {1: 2}, "integers are needed, not {1: 2}"),
        (lambda a: a.row * [1, [2]], "integers are needed, not [2] at index 1"),
        (lambda a: a.kit.server.trivial([1], padding=None), "padding: a bool is needed, not None"),
        (lambda a: a.kit.server.bootstrap(a.bits, 4, 1), "padding_out: a bool is needed, not 1"),
    ],
)
def test_types_that_are_refused(all_: All, work: Callable[[All], Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        work(all_)


def released(given: Any) -> Callable[[All], Any]:
    return lambda a: a.small.client.add_released(given)


@pytest.mark.parametrize(
    ("error", "message", "work"),
    [
        *(
            (whorl.ShapeError, f"{field}: rows have different lengths: row 0 has 2 values, and", w)
            for field, w in (
                ("matrix", lambda a: a.real @ RAGGED),
                ("matrix", lambda a: RAGGED @ a.real),
                ("matrix", lambda a: a.row @ RAGGED),
                ("matrix", lambda a: RAGGED @ a.row),
                ("matrix", lambda a: a.toy.server.matmul(a.row, RAGGED)),
                ("values", lambda a: a.small.client.encrypt(RAGGED)),
                ("luts", lambda a: a.kit.server.apply(RAGGED, a.bits)),
            )
        ),
        (
            whorl.ShapeError,
            "values: rows have different lengths: row (0, 0) has 1 value, and row (1, 1) has 2",
            lambda a: a.toy.client.encrypt([[[1], [2]], [[3], [4, 5]]]),
        ),
        (
            whorl.ShapeError,
            "row (0, 0) has 2 values, and row (1, 0) has 3",
            lambda a: a.small.client.encrypt([np.ones((2, 2)), np.ones((2, 3))]),
        ),
        (ValueError, "at least one table is needed", lambda a: a.kit.server.apply([], a.bits)),
        (ValueError, "at least one table is needed", lambda a: a.kit.server.apply([], a.bits[:0])),
        (ValueError, "at least one table is needed", lambda a: a.bits.apply(np.empty((2, 0)))),
        (IndexError, "masked entries", lambda a: a.reals[np.ma.array([0, 1], mask=[False, True])]),
        (IndexError, "masked entries", lambda a: a.reals[MASKED > 0]),
        (IndexError, "index: 9223372036854775808 is none", lambda a: a.reals[2**63]),
        (IndexError, "index: [[1, 2], [3]] is none", lambda a: a.reals[RAGGED]),
        (
            ValueError,
            "axis: there is no axis 2^1328 or so",
            lambda a: ckks.stack([a.real], 10**400),
        ),
        (whorl.ParameterError, "threads = 4294967296 is above 1024", lambda a: server(a, 2**32)),
        (whorl.ParameterError, "'\\udcff' is no text in UTF-8", lambda a: server(a, 1, "\udcff")),
        (
            whorl.EncodingError,
            "divisor: value 1e-310 is so small that no double holds 1 over it",
            lambda a: a.real / 1e-310,
        ),
        (whorl.EncodingError, "1e-310j at index 1 is so small", lambda a: a.real / [1, 1e-310j]),
        (
            whorl.EncodingError,
            "is above 2^61: make the values smaller, and multiply the result by an integer",
            lambda a: a.real * [1e9],
        ),
        (whorl.ParameterError, "released: [] must have the form (results, spent)", released([])),
        (whorl.ParameterError, "released: 5 must have the form (results, spent)", released(5)),
        (whorl.EncodingError, "2^16609 or so", lambda a: a.row * 10**5000),
        (whorl.EncodingError, "2^16609 or so", lambda a: a.real * 10**5000),
        (whorl.EncodingError, "no t holds 2^1328 or so", lambda a: planned(lambda x: x * 10**400)),
        (whorl.ParameterError, "high: no t holds", lambda a: bgv.Range(0, 10**400)),
        (whorl.ParameterError, "packing: 5 is not a string", lambda a: a.toy.server.encode([1], 5)),
        (
            TypeError,
            "f: a real number is needed",
            lambda a: ckks.approximate(lambda _: None, 0, 1, degree=1),  # type: ignore[arg-type, return-value]
        ),
    ],
)
def test_what_is_refused(
    all_: All, error: type[Exception], message: str, work: Callable[[All], Any]
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        work(all_)


def server(a: All, threads: int, device: str = "cpu") -> Any:
    return binfhe.Server(a.kit.keys, device, threads)


def planned(work: Callable[[Any], Any]) -> Any:
    return bgv.plan(work, [np.array([1, 2])])


def test_pandas_leaves_operators_to_ciphertexts(all_: All) -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0], index=[5, 3])
    assert all_.values(series + all_.real) == all_.values(all_.real + series) == [1.5, 2.25]
    with pytest.raises(TypeError, match="not <NA> at index 1"):
        all_.row * pandas.Series([1, None], dtype="Int64")


# ---- names of files

NAMES = (
    b"bytes",
    b"not \xff\xfe UTF-8",
    "surrogate \udcff",
    Path("path"),
    Path(os.fsdecode(b"path \xff")),
)


@pytest.mark.parametrize("name", NAMES, ids=map(ascii, NAMES))
def test_names_of_files(
    kit: Kit, toy_bgv: BgvKit, tmp_path: Path, name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fresh = kit.client.encrypt([0, 1])
    for each in (fresh, kit.keys, kit.parameters):
        each.save(name)
        assert type(each).load(name, True).to_bytes() == each.to_bytes()
    with pytest.raises(whorl.TypeMismatchError) as caught:
        bgv.Ciphertexts.load(name, True)
    assert str(caught.value).startswith(f"{os.fsdecode(name)}: ")
    assert pickled(caught.value).args == caught.value.args
    kit.keys.save(name)
    assert binfhe.Server(name, "cpu", allow_insecure=True).key_id == kit.client.key_id
    os.remove(name)
    kit.client.save(name, "correct horse")
    assert stat.S_IMODE(os.stat(name).st_mode) == 0o600
    assert binfhe.Client.load(name, "correct horse", True).key_id == kit.client.key_id
    for load in (binfhe.Ciphertexts.load, lambda each: binfhe.Client.load(each, "x")):
        os.rename(name, "elsewhere") if os.path.exists(name) else None
        with pytest.raises(whorl.IoError, match=re.escape(os.fsdecode(name))):
            load(name)
    assert os.listdir(b".") == [b"elsewhere"]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("a\0b", ValueError, "'a\\x00b' has a NUL"),
        (b"a\0b", ValueError, "'a\\x00b' has a NUL"),
        ("\ud800", ValueError, "'\\ud800' has characters that no file's name has"),
        (5, TypeError, "path: the name of a file is needed (str, bytes, os.PathLike), not int"),
        (None, TypeError, "path: the name of a file is needed"),
        (bytearray(b"x"), TypeError, "not bytearray"),
    ],
)
def test_names_that_no_file_has(
    kit: Kit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: Any,
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    fresh = kit.client.encrypt([1])
    for work in (
        lambda: fresh.save(name),
        lambda: binfhe.Ciphertexts.load(name),
        lambda: kit.client.save(name, "x"),
        lambda: binfhe.Client.load(name, "x"),
    ):
        with pytest.raises(error, match=re.escape(message)):
            work()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"max_kdf_passes": -1}, ValueError, "max_kdf_passes: -1 is outside 0 … 2^64 - 1"),
        ({"max_kdf_bytes": 2**64}, ValueError, "max_kdf_bytes: 18446744073709551616 is outside"),
        ({"max_kdf_bytes": 1.5}, TypeError, "max_kdf_bytes: an integer is needed, not 1.5"),
    ],
)
def test_bounds_of_passphrases(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        binfhe.Client.load("absent", "x", **given)
    with contextlib.suppress(whorl.IoError):
        binfhe.Client.load("absent", "x", max_kdf_passes=np.int64(3))  # type: ignore[arg-type]
