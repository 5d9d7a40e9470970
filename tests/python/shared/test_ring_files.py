"""Files of the schemes over RNS rings: bad bytes, secrets where none belong, consent."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import whorl
from support import RING_PASSPHRASE, check_bad_files, save_ring_files
from whorl import bgv, ckks

SAME_TYPE = {"ciphertexts": "results", "results": "ciphertexts"}


@dataclass
class Saved:
    module: Any
    name: str
    client: Any
    files: dict[str, Path]

    def loaders(self, *consent: bool) -> dict[str, Callable[[Path], object]]:
        of = self.module
        return {
            "parameters": lambda path: of.Parameters.load(path, *consent),
            "keys": lambda path: of.EvaluationKeys.load(path, *consent),
            "ciphertexts": lambda path: of.Ciphertexts.load(path, *consent),
            "results": lambda path: of.Ciphertexts.load(path, *consent),
            "public": lambda path: of.PublicKey.load(path, *consent),
            "secret": lambda path: of.Client.load(path, RING_PASSPHRASE, *consent),
        }


@pytest.fixture(scope="module", params=["bgv", "ckks"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    kit = request.getfixturevalue(f"toy_{request.param}")
    folder = tmp_path_factory.mktemp("files")
    files = save_ring_files(kit, [[1, 0], [0, 1]], lambda a: a * a, folder)
    module = {"bgv": bgv, "ckks": ckks}[request.param]
    return Saved(module, request.param.upper(), kit.client, files)


@pytest.mark.parametrize(
    "name", ["parameters", "keys", "ciphertexts", "results", "public", "secret"]
)
def test_bad_files(saved: Saved, tmp_path: Path, name: str) -> None:
    same = (name, SAME_TYPE.get(name))
    others = [path for other, path in saved.files.items() if other not in same]
    check_bad_files(saved.loaders(True)[name], saved.files[name], others, tmp_path)


def test_a_server_refuses_secrets(saved: Saved) -> None:
    loaders = saved.loaders(True)
    for load in (
        lambda path: saved.module.Server(path, allow_insecure=True),
        *(loaders[name] for name in ("keys", "ciphertexts", "public")),
    ):
        with pytest.raises(whorl.TypeMismatchError, match=f"a {saved.name} secret key"):
            load(saved.files["secret"])


def test_passphrases(saved: Saved, tmp_path: Path) -> None:
    with pytest.raises(whorl.PassphraseError):
        saved.module.Client.load(saved.files["secret"], "wrong horse", True)
    for empty in ("", b""):
        with pytest.raises(ValueError, match="empty"):
            saved.client.save(tmp_path / "other", empty)


def test_insecure_parameters_need_consent(saved: Saved) -> None:
    loaders = {**saved.loaders(), "server": lambda _: saved.module.Server(saved.files["keys"])}
    for name, load in loaders.items():
        with pytest.raises(whorl.ParameterError, match="128"):
            load(saved.files.get(name, saved.files["keys"]))
