"""Clients of each scheme: what they keep to themselves, and whose ciphertexts they take."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
import whorl
from support import BgvKit, CkksKit, Kit, make_bgv_kit, make_ckks_kit, make_kit

PUBLIC = {
    "binfhe": {"encrypt", "decrypt", "decrypt_packed", "noise", "noise_packed", "public_key"},
    "bgv": {"encrypt", "decrypt", "noise_budget", "public_key"},
    "ckks": {
        *("encrypt", "encrypt_real", "decrypt_raw", "release", "released", "add_released"),
        *("public_key", "decrypt_bits", "decrypt_integers", "encrypt_bits", "serves_lanes"),
    },
}


def test_they_cannot_be_pickled_or_copied(each_kit: Any) -> None:
    client = each_kit.client
    for secret in (client, client._core, [client], {"c": client._core}):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="secret key"):
                pickle.dumps(secret, protocol)
        with pytest.raises(TypeError, match="secret key"):
            copy.deepcopy(secret)
    with pytest.raises(TypeError, match="secret key"):
        copy.copy(client)
    with pytest.raises(TypeError, match="EvaluationKeys"):
        pickle.dumps(each_kit.server)


def test_they_show_no_secret(each_kit: Any) -> None:
    client = each_kit.client
    assert repr(client) == f"<Client of key {client.key_id[:8]}…, toy>"
    assert not hasattr(client, "__dict__")
    public = {name for name in dir(client._core) if not name.startswith("_")}
    common = {"parameters", "key_id", "generate", "evaluation_keys", "save", "load"}
    assert public == common | PUBLIC[type(client).__module__.split(".")[1]]


def test_two_encryptions_differ(each_kit: Any) -> None:
    client = each_kit.client
    for source in (client, *([] if isinstance(each_kit, Kit) else [client.public_key()])):
        a, b = source.encrypt([1]), source.encrypt([1])
        assert not (a.data == b.data).all()
        assert a._core.seed is None or a._core.seed != b._core.seed
    assert type(client)(each_kit.parameters).key_id != client.key_id


def test_others_ciphertexts(each_kit: Any) -> None:
    client, server = each_kit.client, each_kit.server
    if isinstance(each_kit, Kit):
        other: Any = make_kit(n=40, gadget=[(40, 7, 4)])
        read, meet = [client.decrypt], [server.nand]
    else:
        is_ckks = isinstance(each_kit, CkksKit)
        other = make_ckks_kit(depth=1) if is_ckks else make_bgv_kit(limbs=3)
        read = [lambda x: client.decrypt(x, raw=True), client.release] if is_ckks else []
        read = read or [client.decrypt, client.noise_budget]
        meet = [server.add, server.multiply]
    host = client.encrypt([1])
    a = server.upload(host)
    meet.append(lambda x, y: whorl.binfhe.concatenate([x[None], y[None]]))
    there = other.server.upload(other.client.encrypt([1]))
    for wrong, error in (
        (type(client)(each_kit.parameters).encrypt([1]), whorl.KeyMismatchError),
        (other.client.encrypt([1]), whorl.ParameterMismatchError),
        (there, whorl.DeviceError),
    ):
        for work in meet:
            with pytest.raises(error):
                work(a, wrong)
        for work in read if wrong is not there else ():
            with pytest.raises(error):
                work(wrong)
        if wrong is not there:
            with pytest.raises(error):
                server.upload(wrong)
            with pytest.raises(error):
                whorl.binfhe.concatenate([host[None], wrong[None]])


def test_no_save_replaces_a_secret_key(each_kit: Any, tmp_path: Path) -> None:
    client, keys = each_kit.client, each_kit.keys
    secret = tmp_path / "secret"
    client.save(secret, "x")
    before = secret.read_bytes()
    for save in (
        lambda: client.save(secret, "y"),
        lambda: keys.save(secret),
        lambda: client.parameters.save(secret),
        lambda: client.encrypt([1, 0]).save(secret),
    ):
        with pytest.raises(whorl.IoError, match="holds a secret key, which is not replaced"):
            save()
    assert secret.read_bytes() == before
    other = type(client)(client.parameters)
    other.save(secret, "z", overwrite_secret=True)
    assert type(client).load(secret, "z", True).key_id == other.key_id


def test_keys_that_others_can_read_need_leave(each_kit: Any, tmp_path: Path) -> None:
    path, client = tmp_path / "secret", each_kit.client
    client.save(path, "correct horse")
    load = type(client).load
    for mode in (0o640, 0o604, 0o644):
        path.chmod(mode)
        with pytest.raises(whorl.IoError, match=f"mode {mode:04o} .* chmod 600 {path} "):
            load(path, "correct horse", True)
    again = load(path, "correct horse", True, allow_readable_by_others=True)
    assert again.key_id == client.key_id
    path.chmod(0o400)
    assert load(path, "correct horse", True).key_id == client.key_id
    # What is no secret may be read by all.
    a = client.encrypt([1])
    a.save(tmp_path / "a")
    (tmp_path / "a").chmod(0o644)
    assert type(a).load(tmp_path / "a", True).shape == a.shape


@pytest.mark.parametrize("error", [KeyboardInterrupt, LookupError])
def test_progress_is_reported_and_stops(each_kit: Any, error: type[BaseException]) -> None:
    make = each_kit.client.evaluation_keys
    request: Any = {} if isinstance(each_kit, Kit) else {"relinearise": 3, "rotations": [1, 2]}
    seen: list[tuple[int, int]] = []
    make(**request, progress=lambda *report: seen.append(report))
    last = seen[-1][1]
    assert seen[-1] == (last, last) and all(total == last for _, total in seen)
    assert last == 9 or not isinstance(each_kit, BgvKit)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and seen[0][0] >= 0

    def stop(done: int, total: int) -> None:
        raise error(f"{done} of {total}")

    with pytest.raises(error, match=" of "):
        make(**request, progress=stop)
    make(**request, progress=True)
