"""Files of BGV: what is saved is what is loaded; each kind of bad input has its own exception."""

from pathlib import Path

import pytest
import whorl
from support import RING_PASSPHRASE, BgvKit, make_bgv_kit, save_ring_files
from whorl.bgv import Ciphertexts, Client, EvaluationKeys, Parameters, PublicKey, Server, parameters


@pytest.fixture(scope="module")
def files(toy_bgv: BgvKit, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_ring_files(
        toy_bgv, [[1, 2], [3, 4]], lambda a: a * a, tmp_path_factory.mktemp("files")
    )


def test_round_trips(toy_bgv: BgvKit, files: dict[str, Path]) -> None:
    chosen = Parameters.load(files["parameters"], True)
    assert chosen == toy_bgv.parameters and chosen.literal() == toy_bgv.parameters.literal()
    secure = parameters(depth=1)
    assert Parameters.from_bytes(secure.to_bytes()) == secure
    client = Client.load(files["secret"], RING_PASSPHRASE.encode(), True)
    assert client.key_id == toy_bgv.client.key_id
    assert client.decrypt(Ciphertexts.load(files["ciphertexts"], True))[:, :2].tolist() == [
        [1, 2],
        [3, 4],
    ]
    results = Ciphertexts.load(files["results"], True)
    assert results.shape == (2,) and results.level == toy_bgv.parameters.limbs - results.limbs
    assert client.decrypt(results)[:, :2].tolist() == [[1, 4], [9, 16]]
    keys = EvaluationKeys.load(files["keys"], True)
    assert (keys.rotations, keys.relinearise) == (toy_bgv.keys.rotations, 4)
    public = PublicKey.load(files["public"], True)
    assert public.key_id == client.key_id and public.parameters == chosen
    assert client.decrypt(public.encrypt([7, 8]))[:2].tolist() == [7, 8]
    for part in ("PublicKey", "toy", "MiB"):
        assert part in repr(public)
    assert files["secret"].stat().st_mode & 0o777 == 0o600


def test_size_limits(files: dict[str, Path]) -> None:
    with pytest.raises(whorl.OversizedError):
        EvaluationKeys.load(files["keys"], True, max_bytes=1000)
    with pytest.raises(whorl.OversizedError):
        PublicKey.load(files["public"], True, max_bytes=1000)
    # Fresh ones are half as large in the file as in memory; the limit is for both.
    size = files["ciphertexts"].stat().st_size
    assert Ciphertexts.load(files["ciphertexts"], True, max_bytes=2 * size).size == 2
    with pytest.raises(whorl.OversizedError, match="unpack"):
        Ciphertexts.load(files["ciphertexts"], True, max_bytes=size)


def test_files_of_other_keys_and_parameters_are_refused_in_use(
    toy_bgv: BgvKit, files: dict[str, Path]
) -> None:
    fresh = Ciphertexts.load(files["ciphertexts"], True)
    other_key, other = Client(toy_bgv.parameters), make_bgv_kit(limbs=3)
    with pytest.raises(whorl.KeyMismatchError):
        other_key.decrypt(fresh)
    with pytest.raises(whorl.KeyMismatchError):
        Server(other_key.evaluation_keys(), device="cpu").upload(fresh)
    with pytest.raises(whorl.ParameterMismatchError):
        other.client.decrypt(fresh)
    with pytest.raises(whorl.ParameterMismatchError):
        other.server.upload(fresh)
