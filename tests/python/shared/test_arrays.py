"""Arrays of each scheme, on the host and on a device: sequences, and what they cannot do."""

import operator
import pickle
from typing import Any

import numpy as np
import pytest
from support import BgvKit, Kit


def both(kit: Any) -> tuple[Any, Any]:
    """Ciphertexts of shape (2, 3) on the host, and on a device."""
    numbers = np.arange(6).reshape(2, 3) % 2
    host = kit.client.encrypt(numbers if isinstance(kit, Kit) else numbers[..., None])
    return host, kit.server.upload(host)


def test_they_are_sequences(each_kit: Any) -> None:
    wholes = [*both(each_kit)]
    if isinstance(each_kit, BgvKit):
        wholes.append(each_kit.server.encode(np.ones((2, 3, 1), int)))
    for whole in wholes:
        assert len(whole) == 2 and [each.shape for each in whole] == [(3,), (3,)]
        assert whole[-1, ::2].shape == (2,) and whole.ravel().shape == (6,)
        assert whole.reshape(3, -1).nbytes == whole[...].nbytes == whole.nbytes
        assert whole[1].nbytes == whole.nbytes // 2
        assert whole.T.shape == (3, 2) and whole[0].broadcast_to((4, 3)).shape == (4, 3)
        with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
            whole[2]
        with pytest.raises(IndexError, match="index -4 is out of bounds for axis 1 with size 3"):
            whole[0, -4]
        with pytest.raises(IndexError, match="boolean"):
            whole[np.array([True, False, True])]
        with pytest.raises(IndexError):
            whole["x"]
        for wrong in (len, iter):
            with pytest.raises(TypeError, match="0-d"):
                wrong(whole[0, 0])
        with pytest.raises(ValueError):
            whole.broadcast_to((5, 3))


def test_what_they_cannot_do(each_kit: Any) -> None:
    host, device = both(each_kit)
    for array in (host, device):
        for wrong in (bool, np.asarray, hash):
            with pytest.raises(TypeError):
                wrong(array)
        with pytest.raises(TypeError, match="truth value"):
            bool(array[0, 0])
        with pytest.raises(TypeError, match="decrypt it first"):
            np.asarray(array)
        for compare in (operator.eq, operator.ne, operator.lt):
            with pytest.raises(TypeError, match="has no operator"):
                compare(array, array)
        with pytest.raises(TypeError, match="made by"):
            type(array)()
        with pytest.raises(AttributeError, match="cannot be changed"):
            array.key_id = "1"
    for work in (operator.and_, operator.or_, operator.xor, operator.add, operator.mul):
        with pytest.raises(TypeError, match=r"server\.upload"):
            work(host, host)
    with pytest.raises(ValueError, match="read-only"):
        host.data[...] = 0
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(device)
    assert each_kit.server.upload(device) is device
