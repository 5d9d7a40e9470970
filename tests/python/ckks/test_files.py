"""Files of CKKS: what is saved is what is loaded; each kind of bad input has its own exception."""

from pathlib import Path

import numpy as np
import pytest
import whorl
from support import RING_PASSPHRASE, CkksKit, save_ring_files
from whorl.ckks import Ciphertexts, Client, EvaluationKeys, Parameters, PublicKey, parameters

VALUES = np.array([[0.5, 0.25], [-0.5, 1.0]])


@pytest.fixture(scope="module")
def files(toy_ckks: CkksKit, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return save_ring_files(toy_ckks, VALUES, lambda a: a * a * 1j, tmp_path_factory.mktemp("files"))


def test_round_trips(toy_ckks: CkksKit, files: dict[str, Path]) -> None:
    chosen = Parameters.load(files["parameters"], True)
    assert chosen == toy_ckks.parameters and chosen.literal() == toy_ckks.parameters.literal()
    secure = parameters(depth=1)
    assert Parameters.from_bytes(secure.to_bytes()) == secure
    client = Client.load(files["secret"], RING_PASSPHRASE.encode(), True)
    assert client.key_id == toy_ckks.client.key_id
    fresh = Ciphertexts.load(files["ciphertexts"], True)
    assert (fresh.shape, fresh.packing, fresh.length, fresh.bound) == ((2,), "real", 2, 1)
    assert np.abs(client.decrypt(fresh, raw=True) - VALUES).max() < 1e-6
    results = Ciphertexts.load(files["results"], True)
    a = toy_ckks.server.upload(fresh)
    expected = (a * a * 1j).to_host()
    for name in ("shape", "packing", "level", "scale", "bound", "error", "parts", "length"):
        assert getattr(results, name) == getattr(expected, name)
    assert np.array_equal(results.data, expected.data)
    assert np.abs(client.decrypt(results, raw=True) - VALUES**2 * 1j).max() < 1e-6
    keys = EvaluationKeys.load(files["keys"], True)
    assert (keys.rotations, keys.relinearise, keys.conjugate) == (toy_ckks.keys.rotations, 4, True)
    public = PublicKey.load(files["public"], True)
    assert public.key_id == client.key_id and public.parameters == chosen
    assert np.abs(client.decrypt(public.encrypt([0.5]), raw=True) - 0.5).max() < 1e-6
    assert files["secret"].stat().st_mode & 0o777 == 0o600


def test_size_limits(files: dict[str, Path]) -> None:
    for work in (
        lambda: EvaluationKeys.load(files["keys"], True, max_bytes=1000),
        lambda: PublicKey.load(files["public"], True, max_bytes=1000),
        lambda: Ciphertexts.load(files["ciphertexts"], True, max_count=1),
        lambda: Ciphertexts.load(
            files["ciphertexts"], True, max_bytes=files["ciphertexts"].stat().st_size
        ),
    ):
        with pytest.raises(whorl.OversizedError):
            work()
