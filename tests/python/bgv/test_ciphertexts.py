"""Encryption, and arrays in the host's memory."""

from typing import Any

import numpy as np
import pytest
import whorl
from bgv_values import packing
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import BgvKit, make_bgv_kit
from whorl.bgv import Ciphertexts, Client, concatenate, stack


@given(shape=hnp.array_shapes(min_dims=0, max_dims=2, max_side=3), k=st.integers(1, 1024))
def test_round_trip(any_bgv: BgvKit, shape: tuple[int, ...], k: int) -> None:
    t = any_bgv.t
    values = np.random.default_rng().integers(-((t - 1) // 2), t, size=(*shape, k))
    for encrypted in (
        any_bgv.client.encrypt(values, packing(any_bgv)),
        any_bgv.client.public_key().encrypt(values, packing(any_bgv)),
    ):
        assert encrypted.shape == shape and encrypted.size == int(np.prod(shape))
        assert (encrypted.level, encrypted.parts, encrypted.factor) == (0, 2, 1)
        decrypted = any_bgv.client.decrypt(encrypted, all_slots=True)
        assert decrypted.shape == (*shape, any_bgv.N) and decrypted.dtype == np.int64
        assert np.array_equal(decrypted[..., :k], values % any_bgv.t)
        assert not decrypted[..., k:].any()
        assert np.all(any_bgv.client.noise_budget(encrypted) > encrypted.noise_budget)


def test_signed_values(any_bgv: BgvKit) -> None:
    t = any_bgv.t
    values = np.array([0, 1, -1, t // 2, -(t // 2) + 1, t - 1])
    encrypted = any_bgv.client.encrypt(values, packing(any_bgv))
    signed = any_bgv.client.decrypt(encrypted, signed=True)[: values.size]
    assert np.array_equal(signed % t, values % t)
    assert signed.min() >= -(t // 2) and signed.max() <= t // 2
    assert signed[2] == -1 and signed[5] == -1


def test_what_is_encrypted(toy_bgv: BgvKit) -> None:
    client, t = toy_bgv.client, toy_bgv.t
    for values in (
        np.array([1, 0, 1], dtype=np.uint8),
        np.array([True, False]),
        np.array([t - 1, 0], dtype=np.uint64),
        np.array([t - 1, -((t - 1) // 2)], dtype=np.object_),
        [3, 4, 5],
        np.arange(2 * 8).reshape(2, 8)[:, ::2],
    ):
        expected = np.asarray(values).astype(object) % t
        got = client.decrypt(client.encrypt(values))
        assert np.array_equal(got, expected.astype(np.int64))
    wrong: Any
    for wrong in (3, np.zeros((0, 4), int), np.zeros((2, 0), int)):
        with pytest.raises(whorl.ShapeError):
            client.encrypt(wrong)
    for wrong in ([1.5], ["a"], [None]):
        with pytest.raises(TypeError, match="integers"):
            client.encrypt(wrong)
    with pytest.raises(whorl.EncodingError, match="packing"):
        client.encrypt([1], "rows")  # type: ignore[arg-type]
    no_slots = make_bgv_kit(t=1000, limbs=3)
    with pytest.raises(whorl.EncodingError, match="slots"):
        no_slots.client.encrypt([1])
    with pytest.raises(whorl.EncodingError, match="slots"):
        no_slots.client.public_key().encrypt([1])


def test_values_that_no_decryption_gives_are_refused(any_bgv: BgvKit) -> None:
    client, t = any_bgv.client, any_bgv.t
    for wrong in (t, -((t - 1) // 2) - 1, 2**63, -(2**63), 2**70):
        for source in (client, client.public_key()):
            with pytest.raises(
                whorl.EncodingError, match=rf"value {wrong} at index \(1, 2\) is not"
            ):
                source.encrypt([[0, 0, 0], [t - 1, 0, wrong]], packing(any_bgv))
    for dtype in (np.uint64, np.int64):
        with pytest.raises(whorl.EncodingError, match=rf"value {t} at index 1 is not.* t = {t}"):
            client.encrypt(np.array([0, t, t], dtype=dtype), packing(any_bgv))


def test_host_arrays(toy_bgv: BgvKit) -> None:
    client = toy_bgv.client
    numbers = np.arange(6).reshape(2, 3)
    x = client.encrypt(numbers[..., None])

    def plain(c: Ciphertexts) -> list[Any]:
        return client.decrypt(c)[..., 0].tolist()

    assert (len(x), x.ndim, x.size, x.limbs) == (2, 2, 6, toy_bgv.parameters.limbs)
    assert x.data.shape == (2, x.limbs, 6, toy_bgv.N) and x.nbytes == x.data.nbytes
    assert [plain(row) for row in x] == numbers.tolist()
    assert plain(x.reshape(3, -1)) == numbers.reshape(3, 2).tolist()
    assert plain(x.ravel()) == numbers.ravel().tolist()
    assert plain(x[0].broadcast_to((2, 3))) == [[0, 1, 2]] * 2
    assert plain(concatenate([x, x[:1]])) == [*numbers.tolist(), [0, 1, 2]]
    assert plain(concatenate([x, x], axis=1)) == np.concatenate([numbers] * 2, 1).tolist()
    assert plain(stack([x, x], axis=1)) == np.stack([numbers] * 2, 1).tolist()
    assert x.key_id == client.key_id and x.parameters == toy_bgv.parameters
    for part in ("(2, 3)", "slots", "level 0", "N=1024", x.key_id[:8]):
        assert part in repr(x)
    for wrong in (lambda: x.reshape(5), lambda: concatenate([x, x[0]]), lambda: concatenate([])):
        with pytest.raises(ValueError):
            wrong()
    lower = toy_bgv.server.mod_switch(x).to_host()
    with pytest.raises(whorl.ShapeError, match="limbs"):
        concatenate([x, lower])
    with pytest.raises(whorl.KeyMismatchError):
        concatenate([x, Client(toy_bgv.parameters).encrypt([[[1]]])])
