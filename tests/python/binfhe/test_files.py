"""Files of FHEW/TFHE: what is saved is what is loaded; each kind of bad input has its exception."""

from collections.abc import Callable
from pathlib import Path

import pytest
import whorl
from support import Kit, check_bad_files
from whorl.binfhe import Ciphertexts, EvaluationKeys, Lut, Parameters, Server

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
    others = [path for other, path in files.items() if other != name]
    check_bad_files(LOADERS[name], files[name], others, tmp_path)


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
