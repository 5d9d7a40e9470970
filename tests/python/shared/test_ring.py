"""What the schemes over RNS rings have alike: arrays, keys, and files of a kit of each."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import DEVIATIONS
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import PASSPHRASE, Kit, pickled, save_files
from whorl import bgv, binfhe, ckks

VALUES = np.array([[1, 2], [3, 4]])


@dataclass(frozen=True)
class Ring:
    """A scheme, a kit of it, and what its values are: multiples of `unit`."""

    name: str
    module: Any
    kit: Any
    unit: float
    swap: str  # an option of keys, and a method
    facts: tuple[str, ...]  # of ciphertexts, which files keep

    def encrypt(self, numbers: Any) -> Any:
        return self.kit.client.encrypt(np.asarray(numbers) * self.unit)

    def check(self, got: Any, numbers: Any, unit: float | None = None, client: Any = None) -> None:
        """The first slots are these multiples of `unit`."""
        options = {"raw": True} if self.name == "CKKS" else {}
        values = (client or self.kit.client).decrypt(got, **options)
        numbers = np.asarray(numbers)
        difference = values[..., : numbers.shape[-1]] - numbers * (unit or self.unit)
        near = DEVIATIONS * got.error if self.name == "CKKS" else 0
        assert near < 2**-14 and np.abs(difference).max() <= near


@pytest.fixture(scope="module", params=["bgv", "ckks"])
def ring(request: pytest.FixtureRequest) -> Ring:
    kit = request.getfixturevalue(f"toy_{request.param}")
    if request.param == "bgv":
        facts: tuple[str, ...] = ("limbs", "factor", "noise_budget")
        return Ring("BGV", bgv, kit, 1, "swap_rows", facts)
    facts = ("scale", "bound", "error")
    return Ring("CKKS", ckks, kit, 1 / 32, "conjugate", facts)


@pytest.fixture(scope="module")
def files(ring: Ring, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    return save_files(ring.kit, VALUES * ring.unit, lambda a: a * a, folder)


def test_round_trips(ring: Ring, files: dict[str, Path]) -> None:
    of, kit = ring.module, ring.kit
    chosen = of.Parameters.load(files["parameters"], True)
    assert chosen == kit.parameters and chosen.literal() == kit.parameters.literal()
    secure = of.parameters(depth=1)
    assert of.Parameters.from_bytes(secure.to_bytes()) == secure
    client = of.Client.load(files["secret"], PASSPHRASE.encode(), True)
    assert client.key_id == kit.client.key_id
    assert files["secret"].stat().st_mode & 0o777 == 0o600
    fresh = of.Ciphertexts.load(files["ciphertexts"], True)
    ring.check(fresh, VALUES, client=client)
    results, a = of.Ciphertexts.load(files["results"], True), kit.server.upload(fresh)
    expected = (a * a).to_host()
    for name in ("shape", "packing", "level", "parts", "length", *ring.facts):
        assert getattr(results, name) == getattr(expected, name), name
    assert np.array_equal(results.data, expected.data)
    keys = of.EvaluationKeys.load(files["keys"], True)
    assert (keys.rotations, keys.relinearise) == (kit.keys.rotations, 4) and getattr(
        keys, ring.swap
    )
    public = of.PublicKey.load(files["public"], True)
    assert public.key_id == client.key_id and public.parameters == chosen
    ring.check(public.encrypt(VALUES * ring.unit), VALUES, client=client)
    for part in ("PublicKey", "toy", "MiB"):
        assert part in repr(public)


def test_size_limits(ring: Ring, files: dict[str, Path]) -> None:
    of, size = ring.module, files["ciphertexts"].stat().st_size
    # Fresh ones are half as large in the file as in memory; the limit is for both.
    assert of.Ciphertexts.load(files["ciphertexts"], True, max_bytes=2 * size).size == 2
    for kind, name, limit in (
        (of.EvaluationKeys, "keys", {"max_bytes": 1000}),
        (of.PublicKey, "public", {"max_bytes": 1000}),
        (of.Ciphertexts, "ciphertexts", {"max_count": 1}),
        (of.Ciphertexts, "ciphertexts", {"max_bytes": size}),
    ):
        with pytest.raises(whorl.OversizedError):
            kind.load(files[name], True, **limit)


@given(data=st.data())
def test_arrays_index_as_numpy_does(ring: Ring, data: st.DataObject) -> None:
    shape = data.draw(hnp.array_shapes(max_dims=3, max_side=3))
    numbers = np.arange(int(np.prod(shape))).reshape(shape)
    host = ring.encrypt(numbers[..., None])
    device = ring.kit.server.upload(host)
    encoded = ring.kit.server.encode(numbers[..., None]) if ring.module is bgv else device
    key: Any = data.draw(
        st.one_of(
            hnp.basic_indices(shape, allow_newaxis=True),
            hnp.integer_array_indices(shape),
            hnp.arrays(np.bool_, shape),
        )
    )
    expected = numbers[key]
    if expected.size == 0:
        for whole in (host, device, encoded):
            with pytest.raises(whorl.ShapeError, match="empty"):
                whole[key]
        return
    assert host[key].shape == device[key].shape == encoded[key].shape == expected.shape
    for part in (host[key], device[key]):
        ring.check(part, expected[..., None])
    ring.check(device[key] + encoded[key], 2 * expected[..., None])


def test_keys_hold_what_was_asked_for(ring: Ring) -> None:
    client, parameters = ring.kit.client, ring.kit.parameters
    half = parameters.N // 2
    keys = client.evaluation_keys(3, np.array([1, 2, -1, 0, 1]), **{ring.swap: True})
    assert keys.relinearise == 3 and getattr(keys, ring.swap)
    assert keys.rotations == (1, 2, half - 1)
    if ring.name == "BGV":
        for length in (3, parameters.N - 1, 10 * parameters.N):
            for_sums = client.evaluation_keys(sums=length)
            assert for_sums.rotations == tuple(1 << k for k in range(9)) and for_sums.swap_rows
        assert parameters.key_count(5, [1, -1, 1], False, 4) == 3 + 1 + 9 + 1
    else:
        assert client.evaluation_keys(sums=8).rotations == (1, 2, 4)
        assert parameters.key_count(5, [1, -1, 1], True, 4) == 3 + 3 + 1
    assert client.evaluation_keys(sums=1).rotations == ()
    assert set(ring.kit.keys.rotations) >= {each % half for each in (1, 2, 3, -1, 4)}
    assert client.evaluation_keys(2).nbytes == 0
    for part in ("relinearise=3", "3 rotations", ring.swap, "MiB"):
        assert part in repr(keys)
    requests: list[Any] = [{}, {"rotations": [1, -1, 4]}, {"relinearise": 5, ring.swap: True}]
    for request in requests:
        size, made = parameters.key_size(**request), client.evaluation_keys(**request)
        # All keys without bootstraps have one size.
        assert size == made.nbytes == parameters.key_count(**request) * parameters.key_size()
        assert size <= len(made.to_bytes()) <= size + 1024
        # On a device the uniform halves are there, too.
        assert ring.module.Server(made, device="cpu").key_bytes >= 2 * (size - 1024)
    assert parameters.key_count(2) == 0


def test_missing_keys_are_named(ring: Ring) -> None:
    x = ring.encrypt([16, 8])
    bare = ring.module.Server(ring.kit.client.evaluation_keys(relinearise=2), device="cpu")
    a = bare.upload(x)
    for work, match in {
        "BGV": (
            (lambda: a.swap_rows(), "exchange of rows"),
            (lambda: a.inner_sum(4), "rotation"),
        ),
        "CKKS": (
            (lambda: a.conjugate(), r"^a conjugate needs .*evaluation_keys\(conjugate=True\)$"),
            (lambda: a.sum(), r"^a sum needs .*evaluation_keys\(sums=2\)$"),
        ),
    }[ring.name] + (
        (lambda: a * a, "relinearise=3"),
        (lambda: a.rotate(1), r"rotation by 1 has no key: ask the client for rotations=\[1\]"),
    ):
        with pytest.raises(whorl.MissingKeyError, match=match):
            work()
    assert bare.key_bytes == 0
    ring.check(a.multiply(a, relinearise=False), [256, 64], ring.unit**2)
    b = ring.kit.server.upload(x)
    cube = b.multiply(b, relinearise=False).multiply(b, relinearise=False)
    assert cube.parts == 4 and cube.relinearise().parts == 2
    ring.check(cube.relinearise(), [4096, 512], ring.unit**3)
    with pytest.raises(whorl.MissingKeyError, match="relinearise=5"):
        cube.multiply(b)


def test_the_schemes_do_not_read_each_others_files(
    ring: Ring, kit: Kit, files: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "keys.whorl"
    kit.keys.save(path)
    with pytest.raises(whorl.TypeMismatchError, match=f"expects {ring.name} evaluation keys"):
        ring.module.EvaluationKeys.load(path, True)
    for other in {binfhe, bgv, ckks} - {ring.module}:
        with pytest.raises(whorl.TypeMismatchError, match=f"{ring.name} evaluation keys"):
            other.EvaluationKeys.load(files["keys"], True)


def test_a_server_from_a_path(ring: Ring, files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "keys.whorl"
    path.write_bytes(files["keys"].read_bytes())
    server = ring.module.Server(path, device="cpu", allow_insecure=True)
    path.unlink()
    a = server.upload(ring.module.Ciphertexts.load(files["ciphertexts"], True))
    ring.check((a * a).rotate(1), VALUES[:, 1:] ** 2, ring.unit**2)
    client = ring.module.Client.load(files["secret"], PASSPHRASE, True)
    assert client.key_id == a.key_id == ring.kit.client.key_id


def test_fresh_wholes_travel_as_seeds(ring: Ring) -> None:
    fresh = ring.encrypt(np.arange(4)[:, None])
    whole = len(ring.kit.server.upload(fresh).to_host().to_bytes())
    assert len(fresh.to_bytes()) < 0.51 * whole
    assert len(fresh.reshape(2, 2).to_bytes()) < 0.51 * whole
    assert len(fresh[:2].to_bytes()) < 0.26 * whole
    assert len(fresh[::-1][[0, 2, 2]].to_bytes()) < 0.39 * whole
    joined = ring.module.concatenate([fresh[2:], fresh[:1]])
    assert len(joined.to_bytes()) < 0.39 * whole
    again = pickled(fresh.reshape(2, 2))
    assert again.shape == (2, 2) and np.array_equal(again.data, fresh.data)
    assert np.array_equal(copy.deepcopy(fresh[1:]).data, fresh[1:].data)
