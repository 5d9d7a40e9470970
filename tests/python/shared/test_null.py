"""A scheme of others, tests/seams/schemes/null: two files over what all schemes share."""

import os
import sys
import warnings
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
import whorl
from support import pickled
from typer.testing import CliRunner
from whorl._core.array import concatenate, stack
from whorl.cli import app, register

ROOT = Path(__file__).parents[3]
HERE = ROOT / "tests/seams/schemes/null"
# Beside the C++ tests, where make has built the library for Python too.
sys.path[:0] = [str(HERE), str(ROOT / os.environ.get("WHORL_BUILD", "build/make") / "tests")]
# make sets WHORL_BUILD, in CI too, and has built the module by then: there its absence is an error.
if "WHORL_BUILD" not in os.environ and find_spec("_null") is None:
    pytest.skip("its module is built with the C++ tests: make test", allow_module_level=True)
import null  # noqa: E402

CHAIN = [(1 << 45) + 14337, (1 << 45) + 32769]  # primes = 1 mod 2048
N = 1024


@pytest.fixture(scope="module")
def parameters() -> Any:
    return null.Parameters._create({"name": "nothing", "N": N, "chain": CHAIN}, True)


@pytest.fixture(scope="module")
def array(parameters: Any) -> Any:
    """An array of shape (2, 3), all residues another."""
    residues = np.arange(len(CHAIN) * 6 * N, dtype=np.uint64)
    return null.Ciphertexts._wrap(null._null.Ciphertexts.create(parameters._core, residues), (2, 3))


def residues(array: Any) -> np.ndarray:
    """Residues of shape (limbs, ..., N)."""
    words: np.ndarray = array._core.data
    return words.reshape(len(CHAIN), *array.shape, N)


def test_it_is_short() -> None:
    files = [path for path in HERE.iterdir() if path.is_file()]
    assert {path.suffix for path in files} == {".cpp", ".py"}
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 150


def test_arrays_on_two_devices(parameters: Any, array: Any) -> None:
    server = null.Server(parameters, device="pair", threads=1)
    assert server.devices == ("pair:0", "pair:1") and server.failed_devices == ()
    a, numbers = server.upload(array), residues(array)
    assert a.nbytes == array.nbytes and a.device == "pair:0, pair:1"

    def same(on_device: Any, expected: np.ndarray) -> None:
        host = server.download(on_device)
        assert np.array_equal(residues(host), expected)
        assert host.shape == on_device.shape

    same(a, numbers)
    same(a.reshape(3, 2), numbers.reshape(2, 3, 2, N))
    same(a[1, ::-1], numbers[:, 1, ::-1])
    same(a.T[None, 2], numbers.swapaxes(1, 2)[:, None, 2])
    same(concatenate([a, array[:1]]), np.concatenate([numbers, numbers[:, :1]], axis=1))
    same(
        stack([a[0], a[1, 0].broadcast_to((3,))]),
        numbers[:, [[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 0, 0]]],
    )
    assert np.array_equal(residues(array[:, 1:]), numbers[:, :, 1:])


def test_a_device_that_fails(parameters: Any, array: Any) -> None:
    # The second of two fails at the first call after those that made `there`.
    for calls in range(200):
        server = null.Server(parameters, device=f"frail:{calls}", threads=1)
        with suppress(whorl.DeviceError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a = server.upload(array)
            there = a.T
            if not server.failed_devices:
                break
    else:
        pytest.fail("the device failed in each of 200 attempts")
    again = null.Ciphertexts._wrap(array._core.take(np.arange(6, dtype=np.uint32)), (2, 3))
    with pytest.raises(whorl.DeviceError, match=r"frail:1 .* of an array of 6"):
        there.reshape(6)[::-1]
    with pytest.warns(RuntimeWarning, match="frail:1 has failed .* unplugged") as caught:
        host = server.download(server.upload(again)[::-1])
    assert len(caught) == 1
    assert server.failed_devices == (("frail:1", "frail:1 was unplugged"),)
    assert np.array_equal(residues(host), residues(array)[:, ::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(residues(server.download(a)), residues(array))  # the host has it


def test_what_does_not_belong_is_refused(parameters: Any, array: Any) -> None:
    server, other = null.Server(parameters, "pair"), null.Server(parameters, "cpu")
    with pytest.raises(whorl.DeviceError, match="another server"):
        server.download(other.upload(array))
    fields = {"N": N, "chain": CHAIN[:1]}
    with pytest.raises(whorl.ParameterMismatchError):
        null.Server(null.Parameters._create(fields, True), "cpu").upload(array)
    with pytest.raises(whorl.ParameterError, match="128"):
        null.Parameters._create(fields, False)
    with pytest.raises(whorl.ParameterError, match="chain"):
        null.Parameters._create({"N": N}, True)
    with pytest.raises(whorl.ParameterError):
        null.Parameters._create({"N": N, "chain": [CHAIN[0] + 2]}, True)
    wrong = null._null.Ciphertexts.create(parameters._core, np.full(2 * N, CHAIN[0], np.uint64))
    with pytest.raises(whorl.RangeError):
        server.upload(null.Ciphertexts._wrap(wrong))


def test_files(parameters: Any, array: Any, tmp_path: Path) -> None:
    array.save(tmp_path / "array")
    parameters.save(tmp_path / "parameters")
    assert null.Parameters.load(tmp_path / "parameters", allow_insecure=True) == parameters
    for again in (
        null.Ciphertexts.load(tmp_path / "array", allow_insecure=True),
        pickled(array),
    ):
        assert again.parameters == parameters and again.shape == array.shape
        assert np.array_equal(residues(again), residues(array))
    frame = array.to_bytes()
    flipped = frame[:-100] + bytes([frame[-100] ^ 1]) + frame[-99:]
    for kind, data, error in (
        (null.Ciphertexts, flipped, whorl.CorruptionError),
        (null.Ciphertexts, frame[:-1], whorl.TruncatedError),
        (null.Parameters, frame, whorl.TypeMismatchError),
        (whorl.bgv.Ciphertexts, frame, whorl.TypeMismatchError),
        (null.Ciphertexts, parameters.to_bytes(), whorl.TypeMismatchError),
    ):
        with pytest.raises(error):
            kind.from_bytes(data, allow_insecure=True)
    with pytest.raises(whorl.ParameterError, match="128"):
        null.Ciphertexts.load(tmp_path / "array")


def test_commands(
    parameters: Any, array: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parameters.save("keys.whorl")
    array.save("a")
    commands = typer.Typer()
    register(commands, [null.COMMANDS])
    for group, command, shown in (
        (commands, "eval x x=a -o b --device pair --allow-insecure", "6 ciphertexts"),
        (app, "info b", "type 32769, of another scheme"),
        (commands, "eval --help", "EXPRESSION"),
    ):
        done = CliRunner().invoke(group, command.split())
        assert done.exit_code == 0 and shown in done.output, done.output
    assert Path("a").read_bytes() == Path("b").read_bytes()
    done = CliRunner().invoke(commands, ["keygen"])
    assert isinstance(done.exception, ValueError)  # it makes no keys
