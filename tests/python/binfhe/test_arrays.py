"""Arrays of ciphertexts behave as NumPy's arrays of their messages do."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import whorl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import Kit, pickled
from whorl.binfhe import Ciphertexts, EncryptedArray, Server, concatenate, stack

shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def numbered(kit: Kit, shape: tuple[int, ...]) -> tuple[np.ndarray, Ciphertexts]:
    messages = np.random.default_rng(1).integers(0, 8, size=shape)
    return messages, kit.client.encrypt(messages, p=8)


def same(kit: Kit, encrypted: Ciphertexts | EncryptedArray, expected: np.ndarray) -> None:
    decrypted = kit.client.decrypt(encrypted)
    assert encrypted.shape == decrypted.shape == np.shape(expected)
    assert np.array_equal(decrypted, expected)


@given(shape=shapes)
def test_round_trip(kit: Kit, shape: tuple[int, ...]) -> None:
    messages, encrypted = numbered(kit, shape)
    same(kit, encrypted, messages)
    assert (encrypted.ndim, encrypted.size) == (messages.ndim, messages.size)
    assert encrypted.nbytes == 4 * messages.size * (kit.parameters.n + 1)
    assert encrypted.data.shape == (*shape, kit.parameters.n + 1)
    assert encrypted.parameters == kit.parameters
    assert encrypted.key_id == kit.client.key_id


@given(data=st.data(), shape=shapes)
def test_basic_indexing(kit: Kit, data: st.DataObject, shape: tuple[int, ...]) -> None:
    messages, encrypted = numbered(kit, shape)
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    same(kit, encrypted[key], messages[key])


@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_integer_array_indexing(kit: Kit, data: st.DataObject, shape: tuple[int, ...]) -> None:
    messages, encrypted = numbered(kit, shape)
    key = data.draw(hnp.integer_array_indices(shape))
    same(kit, encrypted[key], messages[key])


@given(data=st.data(), shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=4))
def test_masks(kit: Kit, data: st.DataObject, shape: tuple[int, ...]) -> None:
    messages, encrypted = numbered(kit, shape)
    mask = data.draw(hnp.arrays(bool, shape))
    same(kit, encrypted[mask], messages[mask])
    same(kit, encrypted[messages > 3], messages[messages > 3])


@pytest.mark.parametrize(
    "key", [(0, [1, 0]), ([0, 1], slice(None), [2, 0]), (..., [True, False, True]), (None, 1, ...)]
)
def test_mixed_indexing(kit: Kit, key: Any) -> None:
    messages, encrypted = numbered(kit, (2, 3, 3))
    same(kit, encrypted[key], messages[key])


@pytest.mark.parametrize("key", [5, (0, 0, 0), [7], (0, 3), "a", 1.5, (..., ...)])
def test_index_errors_are_numpys(kit: Kit, key: Any) -> None:
    messages, encrypted = numbered(kit, (2, 3))
    with pytest.raises(IndexError):
        messages[key]
    with pytest.raises(IndexError):
        encrypted[key]


def test_the_words_are_no_axis(kit: Kit) -> None:
    encrypted = numbered(kit, (2,))[1]
    for key in ((0, 0), (..., 0, 0), (slice(None), slice(None))):
        with pytest.raises(IndexError):
            encrypted[key]


def test_iteration(kit: Kit) -> None:
    messages, encrypted = numbered(kit, (3, 2))
    for row, expected in zip(encrypted, messages, strict=True):
        same(kit, row, expected)


@pytest.mark.parametrize("shape", [(6, 4), (24,), (-1, 3), (2, -1, 2), (2, 3, 4)])
def test_reshape(kit: Kit, shape: tuple[int, ...]) -> None:
    messages, encrypted = numbered(kit, (2, 3, 4))
    same(kit, encrypted.reshape(shape), messages.reshape(shape))
    same(kit, encrypted.reshape(*shape), messages.reshape(*shape))
    same(kit, encrypted.T.reshape(shape), messages.T.reshape(shape))


def test_reshape_edge_cases(kit: Kit) -> None:
    same(kit, numbered(kit, (1, 1))[1].reshape(()), numbered(kit, (1, 1))[0].reshape(()))
    same(kit, numbered(kit, (0, 3))[1].reshape(3, 0), np.empty((3, 0)))
    for shape in ((5,), (-1, 5), (-1, -1)):
        with pytest.raises(ValueError):
            numbered(kit, (2, 3))[1].reshape(shape)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.ravel(),
        lambda x: x.copy(),
        lambda x: x.T,
        lambda x: x.transpose(),
        lambda x: x.transpose(1, 2, 0),
        lambda x: x.transpose((0, -1, 1)),
    ],
)
@given(shape=hnp.array_shapes(min_dims=3, max_dims=3, min_side=0, max_side=3))
def test_axes(kit: Kit, change: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    messages, encrypted = numbered(kit, shape)
    same(kit, change(encrypted), change(messages))


def test_bad_axes(kit: Kit) -> None:
    encrypted = numbered(kit, (2, 3))[1]
    for axes in ((0,), (0, 0), (0, 2)):
        with pytest.raises(ValueError):
            encrypted.transpose(*axes)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate(kit: Kit, axis: int) -> None:
    messages, encrypted = numbered(kit, (2, 3))
    same(kit, concatenate([encrypted, encrypted], axis), np.concatenate([messages] * 2, axis))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stack(kit: Kit, axis: int) -> None:
    messages, encrypted = numbered(kit, (2, 3))
    same(kit, stack([encrypted, encrypted], axis), np.stack([messages] * 2, axis))


def test_bad_joins(kit: Kit) -> None:
    encrypted = numbered(kit, (2, 3))[1]
    for work in (
        lambda: concatenate([encrypted], 2),
        lambda: concatenate([encrypted, encrypted[0]]),
        lambda: concatenate([]),
        lambda: stack([encrypted, encrypted[:1]]),
        lambda: stack([encrypted], 3),
        lambda: concatenate([encrypted[0, 0]]),
    ):
        with pytest.raises(ValueError):
            work()
    with pytest.raises(TypeError):
        concatenate([encrypted, 1])  # type: ignore[type-var]


def test_joins_are_on_the_device_if_one_is(kit: Kit) -> None:
    host: Any = kit.client.encrypt([0, 1])
    device = kit.server.upload(host)
    assert isinstance(concatenate([host, host]), Ciphertexts)
    for parts in ([device, device], [host, device], [device, host]):
        joined = concatenate(parts)
        assert isinstance(joined, EncryptedArray) and joined.server is kit.server
        same(kit, joined, np.array([0, 1, 0, 1]))
        same(kit, stack(parts, axis=1), np.array([[0, 0], [1, 1]]))
    with pytest.raises(whorl.DeviceError):
        concatenate([device, Server(kit.keys, device="cpu").upload(host)])


@given(shape=shapes)
def test_pickle_bytes_and_files(kit: Kit, shape: tuple[int, ...], tmp_path_factory: Any) -> None:
    messages, encrypted = numbered(kit, shape)
    for work in (
        encrypted,
        encrypted.T,
        kit.server.not_(kit.client.encrypt(messages % 2)).to_host(),
    ):
        again = pickled(work)
        assert again.shape == work.shape
        assert np.array_equal(again.data, work.data)
        same_again = Ciphertexts.from_bytes(bytes(work), allow_insecure=True)
        assert np.array_equal(same_again.data, work.data)
    path = tmp_path_factory.mktemp("file") / "c.whorl"
    encrypted.save(path)
    assert np.array_equal(Ciphertexts.load(path, allow_insecure=True).data, encrypted.data)


def test_fresh_wholes_travel_as_seeds(kit: Kit) -> None:
    fresh = kit.client.encrypt(np.zeros((20, 20), dtype=int))
    seeded = len(fresh.to_bytes())
    full = len(kit.server.upload(fresh).to_host().to_bytes())
    assert seeded < 400 * 2 + 1000 < 400 * 2 * kit.parameters.n < full
    for whole in (fresh.reshape(400), fresh.ravel(), fresh.copy()):
        assert abs(len(whole.to_bytes()) - seeded) < 64  # the shape
    again = pickled(fresh)
    assert again.to_bytes() == fresh.to_bytes()
    # Parts keep the seed: rows, slices, masks, and what is joined of them.
    mask = np.random.default_rng(1).integers(0, 2, size=(20, 20)).astype(bool)
    joined = concatenate([fresh, fresh])
    for part in (fresh[:19], fresh[::-1], fresh[3], fresh.T, fresh[:, ::2], fresh[mask], joined):
        saved = bytes(part)
        assert len(saved) <= 2 * part.size + 24 * part.size // 2 + 1000 < full
        again = Ciphertexts.from_bytes(saved, True)
        assert np.array_equal(again.data, part.data) and again.shape == part.shape
        assert len(bytes(again.ravel()[1:2])) < 600
    assert len(bytes(fresh[:10])) < seeded - 2 * 190 + 64
    # Of several batches there is no one seed.
    other = kit.client.encrypt(np.zeros(20, dtype=int))
    assert len(bytes(concatenate([fresh[0], other]))) > 40 * 2 * kit.parameters.n


def test_copies_and_words_cannot_be_changed(kit: Kit) -> None:
    encrypted = numbered(kit, (2, 3))[1]
    for array in (encrypted, encrypted.copy(), encrypted[0], encrypted.T, encrypted[[0, 1]]):
        with pytest.raises(ValueError, match="read-only"):
            array.data[...] = 0
    assert np.array_equal(copy.deepcopy(encrypted).data, encrypted.data)


def test_repr_tells_what_it_is(kit: Kit) -> None:
    text = repr(kit.server.upload(kit.client.encrypt([[0, 1]], p=6)))
    for part in ("(1, 2)", "p=6", "toy", kit.client.key_id[:8], "cpu"):
        assert part in text
