"""Parameters, and errors of files: each kind of bad input has its own exception."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import whorl
from support import ROOT, TOY, Kit
from whorl.binfhe import (
    Ciphertexts,
    EvaluationKeys,
    Lut,
    Parameters,
    Server,
    parameter_sets,
    parameters,
)


def test_the_tree_of_errors_is_the_headers() -> None:
    header = (ROOT / "include" / "whorl" / "error.h").read_text(encoding="utf-8")
    declared = dict(re.findall(r"WHORL_DECLARE_ERROR\((\w+), (\w+)\);", header))
    assert len(declared) > 15
    for name, parent in declared.items():
        assert getattr(whorl, name).__bases__ == (getattr(whorl, parent),), name
        assert name in whorl.__all__
    assert whorl.Error.__bases__ == (Exception,)
    error = whorl.ShapeError("lost")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is whorl.ShapeError and again.args == error.args
    assert repr(whorl.ShapeError) == "<class 'whorl.ShapeError'>"


def test_every_named_set_exists_and_says_what_it_is() -> None:
    assert parameter_sets()[0].startswith("W128")
    for name in parameter_sets():
        chosen = parameters(name, allow_insecure=True)
        assert chosen.name == name
        assert f"{chosen.security.bits:.1f} bits" in repr(chosen)
        assert "failure 2^-" in repr(chosen)
        assert parameters(chosen.literal(), allow_insecure=True) == chosen
        assert chosen.noise().refreshed > 0
        if chosen.security.bits < 128:
            with pytest.raises(whorl.ParameterError):
                parameters(name)
        else:
            assert parameters(name) == chosen


def test_parameters_are_immutable_values(kit: Kit) -> None:
    with pytest.raises(AttributeError):
        kit.parameters.n = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        kit.parameters.anything = 3  # type: ignore[attr-defined]
    kit.parameters.literal()["n"] = 3
    assert kit.parameters.n == TOY["n"]
    same = parameters(TOY, allow_insecure=True)
    assert same == kit.parameters and hash(same) == hash(kit.parameters)
    assert same.digest == kit.parameters.digest and len(same.digest) == 32
    assert parameters({**TOY, "q": 1024}, allow_insecure=True) != kit.parameters


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"n": 15}, "n"),
        ({"n": -1}, "n"),
        ({"n": 2**40}, "n"),
        ({"n": 32.0}, "n"),
        ({"N": 1000}, "N"),
        ({"Q": 134215683}, "Q"),
        ({"q": 1000}, "q"),
        ({"Q_ks": 8}, "Q_ks"),
        ({"gadget": [(31, 7, 4)]}, "gadget"),
        ({"gadget": [7, 4]}, "gadget"),
        ({"lwe_secret": "trinary"}, "lwe_secret"),
        ({"transform": "dft"}, "transform"),
        ({"sigma_lwe": -1.0}, "sigma_lwe"),
        ({"sigma_lwe": "3"}, "sigma_lwe"),
        ({"padding": 1}, "padding"),
        ({"colour": 1}, "colour"),
        ({"name": "x" * 65}, "name"),
    ],
)
def test_a_bad_literal_names_the_field(changes: dict[str, object], field: str) -> None:
    with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
        parameters({**TOY, **changes}, allow_insecure=True)


def test_a_literal_needs_its_fields() -> None:
    for field in ("n", "q", "N", "Q", "Q_ks", "gadget"):
        with pytest.raises(whorl.ParameterError, match=rf"\b{field}\b"):
            parameters({key: TOY[key] for key in TOY if key != field}, allow_insecure=True)
    with pytest.raises(TypeError):
        parameters(3)  # type: ignore[arg-type]
    with pytest.raises(whorl.ParameterError, match="W128_P64"):
        parameters("W128_P46")
    with pytest.raises(whorl.ParameterError):
        parameters(TOY)


Load = Callable[[Path], object]
LOADERS: dict[str, Load] = {
    "parameters": lambda path: Parameters.load(path, True),
    "keys": lambda path: EvaluationKeys.load(path, True),
    "ciphertexts": lambda path: Ciphertexts.load(path, True),
    "lut": lambda path: Lut.load(path, True),
}


@pytest.fixture(scope="module")
def files(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    paths = {name: folder / f"{name}.whorl" for name in LOADERS}
    kit.parameters.save(paths["parameters"])
    kit.keys.save(paths["keys"])
    kit.client.encrypt([0, 1]).save(paths["ciphertexts"])
    Lut(kit.parameters, [0, 1, 2, 3]).save(paths["lut"])
    return paths


@pytest.mark.parametrize("name", LOADERS)
def test_bad_files(files: dict[str, Path], tmp_path: Path, name: str) -> None:
    load, good = LOADERS[name], files[name].read_bytes()
    load(files[name])

    def with_bytes(data: bytes) -> Path:
        path = tmp_path / "bad.whorl"
        path.write_bytes(data)
        return path

    flipped = bytearray(good)
    flipped[len(good) * 2 // 3] ^= 16
    version = bytearray(good)
    version[4] ^= 0x40
    for data, error in (
        (good[:-1], whorl.TruncatedError),
        (good[:40], whorl.TruncatedError),
        (b"", whorl.FormatError),
        (b"PK\3\4" + good[4:], whorl.FormatError),
        (good + b"x", whorl.OversizedError),
        (bytes(flipped), whorl.CorruptionError),
        (bytes(version), whorl.VersionError),
    ):
        with pytest.raises(error):
            load(with_bytes(data))
    for other, path in files.items():
        if other != name:
            with pytest.raises(whorl.TypeMismatchError):
                load(path)
    with pytest.raises(whorl.IoError):
        load(tmp_path / "absent.whorl")


def test_insecure_sets_need_consent(files: dict[str, Path]) -> None:
    for kind in (Parameters, EvaluationKeys, Ciphertexts, Lut):
        name = {"EvaluationKeys": "keys"}.get(kind.__name__, kind.__name__.lower())
        with pytest.raises(whorl.ParameterError, match="bits"):
            kind.load(files[name])


def test_size_limits(files: dict[str, Path]) -> None:
    with pytest.raises(whorl.OversizedError):
        EvaluationKeys.load(files["keys"], True, max_bytes=1000)
    with pytest.raises(whorl.OversizedError):
        Ciphertexts.load(files["ciphertexts"], True, max_bytes=100)


def test_a_server_from_a_path(kit: Kit, files: dict[str, Path]) -> None:
    server = Server(files["keys"], device="cpu", allow_insecure=True)
    a = kit.client.encrypt([0, 1])
    assert kit.client.decrypt(server.nand(a, a)).tolist() == [1, 0]
    assert server.key_id == kit.client.key_id
    assert server.key_bytes > kit.keys.nbytes
