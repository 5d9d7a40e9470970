"""What is secret stays where it is: pickling, representation, halves, forks."""

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import whorl
from support import BgvKit, CkksKit, Kit, make_kit, pickled, run_python
from whorl.binfhe import Ciphertexts, Client, EvaluationKeys, Lut, Parameters, Server


def test_a_client_cannot_be_pickled_or_copied(kit: Kit, toy_ckks: CkksKit) -> None:
    for secret in (
        *(kit.client, kit.client._core, [kit.client], {"c": kit.client._core}),
        *(toy_ckks.client, toy_ckks.client._core),
    ):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(TypeError, match="secret key"):
                pickle.dumps(secret, protocol)
        with pytest.raises(TypeError, match="secret key"):
            copy.deepcopy(secret)
    with pytest.raises(TypeError, match="secret key"):
        copy.copy(kit.client)
    with pytest.raises(TypeError, match="EvaluationKeys"):
        pickle.dumps(kit.server)


def test_secret_keys_that_others_can_read_need_leave(
    kit: Kit, toy_bgv: BgvKit, toy_ckks: CkksKit, tmp_path: Path
) -> None:
    path = tmp_path / "secret"
    for client in (kit.client, toy_bgv.client, toy_ckks.client):
        client.save(path, "correct horse", overwrite_secret=True)
        load = type(client).load
        for mode in (0o640, 0o604, 0o644):
            path.chmod(mode)
            with pytest.raises(whorl.IoError, match=f"mode {mode:04o} .* chmod 600 {path} "):
                load(path, "correct horse", True)
        again = load(path, "correct horse", True, allow_readable_by_others=True)
        assert again.key_id == client.key_id
        path.chmod(0o400)
        assert load(path, "correct horse", True).key_id == client.key_id
        path.chmod(0o600)
    # What is no secret may be read by all.
    kit.client.encrypt([1]).save(tmp_path / "a")
    (tmp_path / "a").chmod(0o644)
    assert Ciphertexts.load(tmp_path / "a", True).size == 1


def test_what_may_travel_can_be_pickled(kit: Kit) -> None:
    lut = Lut(kit.parameters, [0, 1, 3, 2])
    assert pickled(kit.parameters) == kit.parameters
    assert pickled(lut) == lut
    keys = pickled(kit.keys)
    assert keys.key_id == kit.keys.key_id
    a = kit.client.encrypt([0, 1])
    assert np.array_equal(
        Server(keys).nand(a, a).to_host().data, kit.server.nand(a, a).to_host().data
    )


def test_no_secret_is_shown(kit: Kit) -> None:
    assert repr(kit.client) == f"<Client of key {kit.client.key_id[:8]}…, toy>"
    assert not hasattr(kit.client, "__dict__")
    public = {name for name in dir(kit.client._core) if not name.startswith("_")}
    assert public == {
        *("parameters", "key_id", "generate", "encrypt", "decrypt", "noise"),
        *("evaluation_keys", "save", "load"),
    }


def test_the_server_half_refuses_secret_files(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "secret.whorl"
    kit.client.save(path, "correct horse")
    assert path.stat().st_mode & 0o777 == 0o600
    for load in (
        lambda: EvaluationKeys.load(path, allow_insecure=True),
        lambda: Server(path, allow_insecure=True),
        lambda: Ciphertexts.load(path, allow_insecure=True),
        lambda: Lut.load(path, allow_insecure=True),
        lambda: Parameters.load(path, allow_insecure=True),
    ):
        with pytest.raises(whorl.TypeMismatchError):
            load()


def test_a_secret_key_survives_its_file(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "secret.whorl"
    kit.client.save(path, "correct horse")
    again = Client.load(path, b"correct horse", allow_insecure=True)
    assert again.key_id == kit.client.key_id
    assert again.decrypt(kit.client.encrypt([0, 1, 2, 3])).tolist() == [0, 1, 2, 3]
    with pytest.raises(whorl.PassphraseError):
        Client.load(path, "wrong horse", allow_insecure=True)
    with pytest.raises(whorl.ParameterError):
        Client.load(path, "correct horse")
    for passphrase in ("", b""):
        with pytest.raises(ValueError, match="empty"):
            kit.client.save(tmp_path / "other", passphrase)


def test_two_encryptions_differ(kit: Kit) -> None:
    a, b = kit.client.encrypt([1]), kit.client.encrypt([1])
    assert a._core.seed != b._core.seed
    assert not np.array_equal(a.data, b.data)
    assert make_kit().client.key_id != kit.client.key_id


def test_resident_memory_with_std128_keys(tmp_path: Path) -> None:
    """At most 300 MiB with one STD128 evaluation key loaded in a server, in a process of its own.

    Pages of files are left out: how much of a module is mapped depends on the system.
    """
    make = (
        "import sys, whorl\n"
        "p = whorl.binfhe.parameters('openfhe_1_6/STD128', allow_insecure=True)\n"
        "whorl.binfhe.Client(p).evaluation_keys().save(sys.argv[1])"
    )
    serve = (
        "import sys, whorl.server\n"
        "server = whorl.server.binfhe.Server(sys.argv[1], device='cpu', allow_insecure=True)\n"
        "lines = open('/proc/self/status').read().splitlines()\n"
        "print(next(int(l.split()[1]) for l in lines if l.startswith('RssAnon:')))"
    )
    path = tmp_path / "keys.whorl"
    assert run_python(make, str(path)).returncode == 0
    assert path.stat().st_size < 91.5e6  # a tenth of OpenFHE's file
    done = run_python(serve, str(path))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 300 * 1024  # a second copy would be 218 MB more


def test_progress_is_reported_and_stops(kit: Kit) -> None:
    seen: list[tuple[int, int]] = []
    kit.client.evaluation_keys(progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert all(0 <= done <= total for done, total in seen)
    assert seen == sorted(seen)

    def stop(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        kit.client.evaluation_keys(progress=stop)


def test_a_new_process_reads_what_this_one_pickled(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "both"
    a = kit.client.encrypt([[0, 1], [1, 1]])
    path.write_bytes(pickle.dumps((kit.keys, a)))
    done = run_python(
        "import pickle, sys, whorl.server\n"
        "whorl.allow_insecure_pickles()\n"
        "keys, a = pickle.load(open(sys.argv[1], 'rb'))\n"
        "result = whorl.server.binfhe.Server(keys).nand(a, a[0]).to_host()\n"
        "pickle.dump(result, open(sys.argv[1], 'wb'))",
        str(path),
    )
    assert done.returncode == 0, done.stderr
    with whorl.allow_insecure_pickles():
        result = pickle.loads(path.read_bytes())
    assert kit.client.decrypt(result).tolist() == [[1, 0], [1, 0]]


def test_imports_bring_no_progress_bars() -> None:
    """The package itself imports quickly: rich and typer are the command's."""
    code = "import sys, whorl.binfhe; print([m for m in ('rich', 'typer') if m in sys.modules])"
    package = str(Path(whorl.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": package},
        check=True,
    )
    assert done.stdout == "[]\n"
