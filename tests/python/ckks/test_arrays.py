"""Arrays behave as NumPy's, on the host and on a device."""

import pickle

import numpy as np
import pytest
import whorl
from ckks_values import check
from support import CkksKit
from whorl.ckks import Ciphertexts, EncryptedArray, concatenate, stack


def test_arrays_are_sequences(toy_ckks: CkksKit) -> None:
    client, server = toy_ckks.client, toy_ckks.server
    numbers = np.arange(6).reshape(2, 3) / 8
    host = client.encrypt(numbers[..., None])
    for whole in (host, server.upload(host)):
        assert len(whole) == 2 and [each.shape for each in whole] == [(3,), (3,)]
        assert whole[-1, ::2].shape == (2,) and whole.ravel().shape == (6,)
        assert whole.T.shape == (3, 2) and whole.reshape(3, -1).nbytes == whole.nbytes
        assert whole[0].broadcast_to((4, 3)).shape == (4, 3)
        with pytest.raises(IndexError, match="index 2 is out of bounds"):
            whole[2]
        for wrong in (len, iter):
            with pytest.raises(TypeError, match="0-d"):
                wrong(whole[0, 0])
        with pytest.raises(TypeError, match="truth value"):
            bool(whole[0, 0])
        with pytest.raises(TypeError, match="decrypt it first"):
            np.asarray(whole)
    bare = server.upload(host).multiply(host, relinearise=False)
    part = bare[1, [2, 0]]
    assert (part.parts, part.level, part.scale) == (3, bare.level, bare.scale)


def test_arrays_are_joined(toy_ckks: CkksKit) -> None:
    client, server = toy_ckks.client, toy_ckks.server
    x, y = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.5, 0.6]])
    hosts = client.encrypt(x), client.encrypt(y)
    a, b = map(server.upload, hosts)
    joined = concatenate(hosts)
    assert isinstance(joined, Ciphertexts) and joined.shape == (3,)
    assert np.abs(client.decrypt(joined, raw=True) - np.concatenate([x, y])).max() < 1e-6
    check(toy_ckks, concatenate([a, b]), np.concatenate([x, y]))
    check(toy_ckks, concatenate([a, hosts[1]]), np.concatenate([x, y]))
    check(toy_ckks, stack([a, a * 2], axis=1), np.stack([x, x * 2], axis=1))
    # The lowest level, the largest bound and error.
    product = a * a
    both = concatenate([a, product, b])
    assert both.level == product.level and both.bound == a.bound
    check(toy_ckks, both, np.concatenate([x, x * x, y]))
    with pytest.raises(whorl.ShapeError, match="level"):
        concatenate([hosts[0], product.to_host()])
    with pytest.raises(whorl.ShapeError, match="values"):
        concatenate([a, server.upload(client.encrypt([[0.1]]))])
    with pytest.raises(whorl.EncodingError, match="coefficients"):
        concatenate([a, server.upload(client.encrypt([[0.1, 0.2]], packing="coefficients"))])


def test_what_arrays_cannot_do(toy_ckks: CkksKit) -> None:
    host = toy_ckks.client.encrypt([0.5])
    a = toy_ckks.server.upload(host)
    with pytest.raises(TypeError, match=r"server\.upload"):
        host * 2
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(a)
    for kind in (Ciphertexts, EncryptedArray):
        with pytest.raises(TypeError, match="made by"):
            kind()
    assert toy_ckks.server.upload(a) is a
    with pytest.raises(AttributeError, match="cannot be changed"):
        a.level = 1  # type: ignore[misc]


def test_slices_of_fresh_ciphertexts_keep_their_seed(toy_ckks: CkksKit) -> None:
    whole = toy_ckks.client.encrypt(np.zeros((4, 8)))
    part = whole[1::2]
    assert part._core.seed == whole._core.seed is not None
    assert toy_ckks.server.upload(part).to_host()._core.seed is None
