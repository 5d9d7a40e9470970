"""Files of each scheme: bad bytes, secrets where none belong, consent."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import whorl
from support import PASSPHRASE, Kit, check_bad_files, save_files
from whorl import bgv, binfhe, ckks

SAME_TYPE = {"ciphertexts": "results", "results": "ciphertexts"}
NAMES = {
    "kit": ("parameters", "keys", "ciphertexts", "results", "lut", "secret"),
    "toy_bgv": ("parameters", "keys", "ciphertexts", "results", "public", "secret"),
    "toy_ckks": ("parameters", "keys", "ciphertexts", "results", "public", "secret"),
}


@dataclass
class Saved:
    module: Any
    name: str
    client: Any
    files: dict[str, Path]

    def loaders(self, *consent: bool) -> dict[str, Callable[[Path], object]]:
        of = self.module
        kinds = {"parameters": of.Parameters, "keys": of.EvaluationKeys}
        kinds |= dict.fromkeys(("ciphertexts", "results"), of.Ciphertexts)
        kinds |= {"lut": of.Lut} if of is binfhe else {"public": of.PublicKey}
        found = {n: lambda path, kind=k: kind.load(path, *consent) for n, k in kinds.items()}
        return {**found, "secret": lambda path: of.Client.load(path, PASSPHRASE, *consent)}


@pytest.fixture(scope="module", params=NAMES)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    kit = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp("files")
    module = {"kit": binfhe, "toy_bgv": bgv, "toy_ckks": ckks}[request.param]
    work = (lambda a: a & a) if module is binfhe else (lambda a: a * a)
    files = save_files(kit, [[1, 0], [0, 1]], work, folder)
    name = {binfhe: "FHEW/TFHE ", bgv: "BGV ", ckks: "CKKS "}[module]
    return Saved(module, name, kit.client, files)


@pytest.mark.parametrize(
    ("saved", "name"),
    [(kit, name) for kit, names in NAMES.items() for name in names],
    indirect=["saved"],
)
def test_bad_files(saved: Saved, tmp_path: Path, name: str) -> None:
    same = (name, SAME_TYPE.get(name))
    others = [path for other, path in saved.files.items() if other not in same]
    check_bad_files(saved.loaders(True)[name], saved.files[name], others, tmp_path)


def test_a_server_refuses_secrets(saved: Saved) -> None:
    assert saved.files["secret"].stat().st_mode & 0o777 == 0o600
    loaders = saved.loaders(True)
    del loaders["secret"]
    for load in (
        lambda path: saved.module.Server(path, allow_insecure=True),
        *loaders.values(),
    ):
        with pytest.raises(whorl.TypeMismatchError, match=f"holds a {saved.name}secret key"):
            load(saved.files["secret"])


def test_passphrases(saved: Saved, tmp_path: Path) -> None:
    load = saved.module.Client.load
    for right in (PASSPHRASE, PASSPHRASE.encode()):
        again = load(saved.files["secret"], right, True)
        assert again.key_id == saved.client.key_id
        if saved.module is binfhe:
            assert again.decrypt(saved.client.encrypt([0, 1])).tolist() == [0, 1]
    with pytest.raises(whorl.PassphraseError):
        load(saved.files["secret"], "wrong horse", True)
    for empty in ("", b""):
        with pytest.raises(ValueError, match="empty"):
            saved.client.save(tmp_path / "other", empty)


def test_insecure_parameters_need_consent(saved: Saved) -> None:
    loaders = {**saved.loaders(), "server": lambda _: saved.module.Server(saved.files["keys"])}
    for name, load in loaders.items():
        with pytest.raises(whorl.ParameterError, match="128"):
            load(saved.files.get(name, saved.files["keys"]))


def test_size_limits(saved: Saved) -> None:
    for kind, name, most in (("EvaluationKeys", "keys", 1000), ("Ciphertexts", "ciphertexts", 100)):
        with pytest.raises(whorl.OversizedError):
            getattr(saved.module, kind).load(saved.files[name], True, max_bytes=most)


def test_a_server_from_a_path(kit: Kit, tmp_path: Path) -> None:
    kit.keys.save(tmp_path / "keys.whorl")
    server = binfhe.Server(tmp_path / "keys.whorl", device="cpu", allow_insecure=True)
    a = kit.client.encrypt([0, 1])
    assert kit.client.decrypt(server.nand(a, a)).tolist() == [1, 0]
    assert server.key_id == kit.client.key_id
    assert server.key_bytes > kit.keys.nbytes
