"""What every scheme's Python part is made of, with a library of plain integers beneath: a scheme
adds a dozen lines."""

from __future__ import annotations

import operator
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import whorl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from whorl._core.array import DeviceArray, HostArray, concatenate, stack
from whorl._core.base_server import BaseServer
from whorl._core.literal import CheckedParameters, as_word
from whorl._core.saved import Keys

# ---- what the compiled module would have


class Batch:
    """Integers, in the place of ciphertexts."""

    parameters, key_id, shape = None, b"key", None

    def __init__(self, data: np.ndarray) -> None:
        self.data, self.count = data, len(data)

    def take(self, index: np.ndarray) -> Batch:
        return Batch(self.data[index])

    @staticmethod
    def concatenate(batches: list[Batch]) -> Batch:
        return Batch(np.concatenate([batch.data for batch in batches]))


class Library:
    """A server that counts what it is asked to copy."""

    key_id, key_bytes, device = b"key", 0, "abacus (wood)"

    def __init__(self, device: str) -> None:
        self.asked_for, self.copies = device, 0
        self.devices, self.failed_devices = [self.device], list[tuple[str, str]]()

    @staticmethod
    def create(keys: object, session: tuple[str, int, int]) -> Library:
        return Library(session[0])

    def upload(self, batch: Batch) -> Batch:
        return batch

    download = upload

    def check(self, a: Batch) -> None:
        raise whorl.DeviceError("an array of another server was given")

    def take(self, a: Batch, index: np.ndarray) -> Batch:
        self.copies += 1
        return a.take(index)

    def concatenate(self, arrays: list[Batch]) -> Batch:
        return Batch.concatenate(arrays)

    def add(self, a: Batch, b: Batch) -> Batch:
        return Batch(a.data + b.data)


# ---- the scheme


class Parameters(CheckedParameters):
    __slots__ = ()
    _reader, _literal_type, _fields, _required = object, dict, {"n": as_word}, ("n",)
    name, literal = "plain", None


class Numbers(HostArray):
    __slots__ = ()
    _reader = Batch


class NumbersThere(DeviceArray[Any]):
    __slots__ = ()

    def __add__(self, other: Any) -> NumbersThere:
        result: NumbersThere = self._server.add(self, other)
        return result

    __radd__ = __add__


class NoKeys(Keys[Any]):
    __slots__ = ()
    _reader, parameters = object, Parameters


class Adder(BaseServer[NoKeys, Numbers, NumbersThere]):
    __slots__ = ()
    _maker, _keys_type, _host_type, _device_type = Library, NoKeys, Numbers, NumbersThere

    def __init__(self, device: str | None = None, threads: int = 0) -> None:
        super().__init__(NoKeys(object()), device, threads)

    def add(self, a: Any, b: Any) -> NumbersThere:
        (x, y), shape = self._meet(a, b)
        return self._wrap(self._core.add(x._core, y._core), shape)


# ---- what it then has


def array(values: Any) -> Numbers:
    numbers = np.asarray(values)
    return Numbers._wrap(Batch(numbers.reshape(-1)), numbers.shape, Parameters)


def plain(a: Numbers | NumbersThere) -> np.ndarray:
    data: np.ndarray = a._core.data
    return data.reshape(a.shape)


@given(
    data=st.data(),
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=1, max_side=3),
)
def test_arrays_are_numpys(data: st.DataObject, shapes: hnp.BroadcastableShapes) -> None:
    server = Adder()
    x, y = (np.arange(np.prod(shape, dtype=int)).reshape(shape) for shape in shapes.input_shapes)
    a, b = server.upload(array(x)), array(y)
    for total in (a + b, b + a):
        assert total.shape == shapes.result_shape
        assert np.array_equal(plain(total), x + y)
    for each in (a, array(x)):
        assert np.array_equal(plain(each.T), x.T)
        assert np.array_equal(plain(stack([each, each], axis=-1)), np.stack([x, x], axis=-1))
        if x.ndim:
            key = data.draw(hnp.integer_array_indices(x.shape))
            assert np.array_equal(plain(each[key]), x[key])
            assert np.array_equal(plain(concatenate([each, each[:1]])), np.concatenate([x, x[:1]]))


def test_what_is_in_order_or_alone_is_not_copied() -> None:
    server = Adder()
    a = server.upload(array([[1, 2], [3, 4]]))
    assert a.reshape(4)._core is a.ravel()._core is a[:]._core is a.copy()._core is a._core
    assert plain(a + array(5)).tolist() == [[6, 7], [8, 9]]
    assert server._core.copies == 0
    assert plain(a + array([10, 20])).tolist() == [[11, 22], [13, 24]]
    assert server._core.copies == 1
    with pytest.raises(whorl.ShapeError, match="not empty"):
        a[:0]


def test_which_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHORL_DEVICE", raising=False)
    assert Adder()._core.asked_for == ""
    monkeypatch.setenv("WHORL_DEVICE", "cuda:all")
    assert Adder()._core.asked_for == "cuda:all"
    assert Adder("cpu")._core.asked_for == "cpu"
    with pytest.raises(ValueError, match="threads"):
        Adder(threads=-1)


def test_servers_do_not_mix() -> None:
    one, other = Adder(), Adder()
    a, b = one.upload(array([1])), other.upload(array([1]))
    assert one.upload(a) is a
    for work in (lambda: a + b, lambda: one.download(b), lambda: concatenate([a, b])):
        with pytest.raises(whorl.DeviceError, match="another server"):
            work()
    for wrong in (3, [1], np.ones(2)):
        with pytest.raises(TypeError):
            a + wrong
    for secretive in (one, a):
        with pytest.raises(TypeError):
            pickle.dumps(secretive)
    with pytest.raises(TypeError, match="server"):
        operator.add(array([1]), array([1]))


def test_failures_are_warned_of_once() -> None:
    server = Adder()
    a = server.upload(array([1]))
    server._core.failed_devices.append(("cuda:1", "code 999"))
    with pytest.warns(RuntimeWarning, match="cuda:1 has failed"):
        a + a
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a + a
    assert server.failed_devices == (("cuda:1", "code 999"),)
