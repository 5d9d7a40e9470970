"""Arrays behave as NumPy's, on the host and on a device."""

from typing import Any

import numpy as np
import pytest
import whorl
from ckks_values import check
from support import CkksKit
from whorl.ckks import Ciphertexts, concatenate, stack


def test_parts_keep_the_account(toy_ckks: CkksKit) -> None:
    server, host = toy_ckks.server, toy_ckks.client.encrypt(np.zeros((2, 3, 1)))
    bare = server.upload(host).multiply(host, relinearise=False)
    part = bare[1, [2, 0]]
    assert (part.parts, part.level, part.scale) == (3, bare.level, bare.scale)


def test_arrays_are_joined(toy_ckks: CkksKit) -> None:
    client, server = toy_ckks.client, toy_ckks.server
    x, y = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.5, 0.6]])
    hosts: tuple[Any, Any] = client.encrypt(x), client.encrypt(y)
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
