"""Gates on ciphertexts and bits that are known: no bootstrap where none is needed."""

import itertools
from typing import Any

import numpy as np
import pytest
import whorl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support import Kit
from truth import ARITY, TRUTH, bits_p


def opened(kit: Kit, array: Any) -> list[int]:
    result: list[int] = kit.client.decrypt(array).tolist()
    return result


@pytest.mark.parametrize("name", TRUTH)
def test_truth_table(kit: Kit, name: str) -> None:
    """Every gate, whichever inputs are known; results are what other gates take."""
    rows = np.array(list(itertools.product([0, 1], repeat=ARITY[name]))).T
    p, expected = bits_p(name), TRUTH[name](*rows)
    for hidden in itertools.product([False, True], repeat=ARITY[name]):
        if not any(hidden):
            continue
        inputs = [
            kit.client.encrypt(row, p=p) if each else row
            for row, each in zip(rows, hidden, strict=True)
        ]
        result = kit.server.gate(name, *inputs)
        assert result.p == p and opened(kit, result) == expected.tolist()
        wider = kit.server.gate(name, *inputs, p_out=12)
        assert wider.p == 12 and opened(kit, wider) == expected.tolist()


def test_no_bootstrap(kit: Kit) -> None:
    """The error of what comes out is the input's, its negative, or 0."""
    bits, known = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    fresh = kit.client.encrypt(bits)
    x, before = kit.server.upload(fresh), kit.client.noise(fresh, bits)
    for name in ("and", "or", "nand", "nor", "xor", "xnor"):
        result = kit.server.gate(name, x, known)
        after = kit.client.noise(result, TRUTH[name](bits, known))
        assert ((after == before) | (after == -before) | (after == 0)).all()
    assert not kit.client.noise(x & False, 0).any()
    assert np.array_equal(kit.client.noise(x & True, bits), before)
    assert np.array_equal(kit.client.noise(True ^ x, 1 - bits), -before)
    assert ((x & True)._core.noise, (x & False)._core.noise) == (x._core.noise, 0)


def test_the_key_of_the_result(kit: Kit) -> None:
    """By default that of the input; with `under` the other one, or what gives it."""
    server, bits = kit.server, [0, 1]
    x, y = (server.upload(kit.client.encrypt(bits, under=under)) for under in ("ring", "lwe"))
    calls: list[tuple[Any, list[int]]] = [
        (lambda a, **to: server.gate("xor", a, 1, **to), [1, 0]),
        (lambda a, **to: server.mux(a, 1, 0, **to), [0, 1]),
        (lambda a, **to: server.mux(True, a, server.not_(a), **to), [0, 1]),
    ]
    for call, want in calls:
        for array, under in ((x, "lwe"), (x, "ring"), (y, "lwe")):
            result = call(array, under=under)
            assert result.under == under and opened(kit, result) == want
        assert (call(x).under, call(y).under) == ("ring", "lwe")
        with pytest.raises(whorl.KeyMismatchError, match=r"without a rotation: .* bootstrap"):
            call(y, under="ring")
        with pytest.raises(whorl.ParameterError, match="under"):
            call(y, under="other")
    rotated = server.gate("and", y, 1, p_out=8, under="ring")
    assert (rotated.under, rotated.p, opened(kit, rotated)) == ("ring", 8, [0, 1])


def test_operators(kit: Kit) -> None:
    x = kit.server.upload(kit.client.encrypt([0, 1, 1]))
    mask = np.array([True, False, True])
    for result, expected in (
        (x & True, [0, 1, 1]),
        (False & x, [0, 0, 0]),
        (x | 1, [1, 1, 1]),
        (True ^ x, [1, 0, 0]),
        (x & mask, [0, 0, 1]),
        (mask ^ x, [1, 1, 0]),
        (np.bool_(True) ^ x, [1, 0, 0]),
        (x | [[1], [0]], [[1, 1, 1], [0, 1, 1]]),
        (kit.server.and_(x, [1, 0, 1]), [0, 0, 1]),
        (kit.server.nand([1, 0, 1], kit.client.encrypt([0, 1, 1])), [1, 1, 0]),
        ((x & mask) ^ x, [0, 1, 0]),
    ):
        assert opened(kit, result) == expected


@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), data=st.data()
)
def test_broadcasting(kit: Kit, shapes: hnp.BroadcastableShapes, data: st.DataObject) -> None:
    a, b = (
        data.draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 1)))
        for shape in shapes.input_shapes
    )
    x = kit.client.encrypt(a)
    for name in ("and", "xor"):
        result = kit.server.gate(name, x, b)
        assert result.shape == shapes.result_shape
        assert np.array_equal(kit.client.decrypt(result), TRUTH[name](a, b))
    for result, expected in (
        (kit.server.mux(b, x, 1), np.where(b, a, 1)),
        (kit.server.mux(x, b, 0), np.where(a, b, 0)),
        (kit.server.mux(x, x, b), np.where(a, a, b)),
    ):
        assert result.shape == expected.shape
        assert np.array_equal(kit.client.decrypt(result), expected)


def test_refusals(kit: Kit) -> None:
    x = kit.server.upload(kit.client.encrypt([0, 1]))
    with pytest.raises(whorl.EncodingError, match="and: value 2 at index 1 is neither 0 nor 1"):
        kit.server.and_(x, [0, 2])
    with pytest.raises(whorl.EncodingError, match="select: value -1 is neither 0 nor 1"):
        kit.server.mux(-1, x, x)
    for wrong in (0.5, None, "1", [0.0, 1.0]):
        with pytest.raises(TypeError):
            x & wrong  # type: ignore[operator]
    with pytest.raises(TypeError, match="no input is encrypted"):
        kit.server.and_(1, [0, 1])
    with pytest.raises(TypeError, match="no input is encrypted"):
        kit.server.mux(1, [0, 1], True)
    with pytest.raises(ValueError, match="broadcast"):
        x & [0, 1, 1]
    for encoded in (kit.client.encrypt([0, 1], p=5), kit.client.encrypt([0, 1], p=2)):
        with pytest.raises(whorl.EncodingError):
            kit.server.and_(encoded, True)
    with pytest.raises(whorl.EncodingError, match="p = 4"):
        kit.server.xor(kit.client.encrypt([0, 1], p=8), True)
