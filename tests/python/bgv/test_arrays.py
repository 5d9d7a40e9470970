"""Arrays on a device behave as NumPy's."""

from typing import Any

import numpy as np
import pytest
import whorl
from support import BgvKit
from whorl.bgv import Ciphertexts, Client, EncryptedArray, Server, concatenate, stack


def test_parts_keep_the_account(toy_bgv: BgvKit) -> None:
    client, server = toy_bgv.client, toy_bgv.server
    numbers = np.arange(6).reshape(2, 3)
    a = server.upload(client.encrypt(numbers[..., None]))
    assert [client.decrypt(row)[:, 0].tolist() for row in a] == numbers.tolist()
    # A product of three parts, on another level.
    bare = a.mod_switch(9).multiply(a, relinearise=False)
    part = bare[1, [2, 0]]
    assert (part.parts, part.limbs, part.factor) == (3, bare.limbs, bare.factor)
    assert part.noise_budget == bare.noise_budget
    assert client.decrypt(part)[:, 0].tolist() == [25, 9]


def test_concatenate_on_the_device(toy_bgv: BgvKit) -> None:
    client, server = toy_bgv.client, toy_bgv.server
    numbers = np.arange(6).reshape(2, 3)
    host: Any = client.encrypt(numbers[..., None])
    a = server.upload(host)

    def plain(c: EncryptedArray | Ciphertexts) -> list[Any]:
        assert isinstance(c, EncryptedArray)
        return client.decrypt(c)[..., 0].tolist()

    for axis in (0, 1, -1):
        expected = np.concatenate([numbers, numbers**2], axis).tolist()
        assert plain(concatenate([a, a * a], axis)) == expected
        expected = np.stack([numbers, numbers**2, numbers], axis).tolist()
        assert plain(stack([a, a * a, host], axis)) == expected
    assert plain(concatenate([host, a[:1]])) == [*numbers.tolist(), [0, 1, 2]]
    assert plain(concatenate([a])) == numbers.tolist()
    powers = [a**k for k in (1, 2, 4, 1)]
    together = concatenate(powers)
    assert together.limbs == min(each.limbs for each in powers)
    assert together.noise_budget > 0
    expected = np.concatenate([numbers**k for k in (1, 2, 4, 1)]).tolist()
    assert plain(together) == (np.array(expected) % toy_bgv.t).tolist()
    for join, wrong in (
        (concatenate, [a, a[:, :2]]),
        (concatenate, [a[0, 0], a[0, 0]]),
        (stack, [a, a[:1]]),
    ):
        with pytest.raises(ValueError):
            join(wrong)
    bare = a.multiply(a, relinearise=False)
    with pytest.raises(whorl.ShapeError, match="2 and 3 parts"):
        concatenate([a, bare])
    with pytest.raises(whorl.EncodingError):
        concatenate([a, client.encrypt([[[1]] * 3], "coefficients")])  # type: ignore[type-var]
    with pytest.raises(whorl.KeyMismatchError):
        concatenate([a, Client(toy_bgv.parameters).encrypt([[[1]] * 3])])  # type: ignore[type-var]
    other = Server(toy_bgv.keys, device="cpu").upload(host)
    with pytest.raises(whorl.DeviceError):
        concatenate([a, other])
    with pytest.raises(TypeError):
        concatenate([a, numbers])  # type: ignore[type-var]


def test_arrays_tell_what_they_are(toy_bgv: BgvKit) -> None:
    server = toy_bgv.server
    a = server.upload(toy_bgv.client.encrypt(np.ones((2, 3, 4), int)))
    assert (a.shape, a.ndim, a.size, len(a)) == ((2, 3), 2, 6, 2)
    assert a.server is server and a.device == server.device and "cpu" in a.device
    assert (a.level, a.limbs, a.parts, a.factor, a.packing) == (0, 12, 2, 1, "slots")
    assert a.nbytes == 2 * 12 * 6 * 1024 * 4
    assert a.key_id == toy_bgv.client.key_id and a.parameters == toy_bgv.parameters
    product_ = a.square().square().square()
    assert product_.level > 0 and product_.noise_budget < a.noise_budget
    assert product_.nbytes == 2 * product_.limbs * 6 * 1024 * 4, "of its third part nothing"
    for part in ("(2, 3)", "level 0 (12 of 12 limbs)", "2 parts", "bits of budget", "on cpu"):
        assert part in repr(a)
    assert a.shrink().nbytes < a.nbytes
    host = product_.to_host()
    assert host.shape == (2, 3) and host.noise_budget == pytest.approx(product_.noise_budget)
