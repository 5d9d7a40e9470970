"""Look-up tables: each kind, one a ciphertext, callables, misuse."""

import numpy as np
import pytest
import whorl
from hypothesis import given
from hypothesis import strategies as st
from support import Kit
from whorl.binfhe import Lut


def check(kit: Kit, lut: Lut) -> None:
    messages = np.arange(lut.p)
    encrypted = kit.client.encrypt(messages, lut.p, lut.padding)
    result = kit.server.apply(lut, encrypted)
    assert (result.p, result.padding) == (lut.p_out, lut.padding_out)
    assert np.array_equal(kit.client.decrypt(result), lut.values)


@given(data=st.data(), p=st.sampled_from([2, 4, 8]), p_out=st.sampled_from([2, 3, 4, 8]))
def test_any_function_between_moduli(kit: Kit, data: st.DataObject, p: int, p_out: int) -> None:
    values = data.draw(st.lists(st.integers(0, p_out - 1), min_size=p, max_size=p))
    padding = data.draw(st.booleans())
    check(kit, Lut(kit.parameters, values, p, p_out, padding))


def test_callable(kit: Kit) -> None:
    lut = Lut(kit.parameters, lambda m: m * m % 8, p=8)
    assert lut.values.tolist() == [0, 1, 4, 1, 0, 1, 4, 1]
    assert [lut(m) for m in range(8)] == lut.values.tolist()
    assert lut == Lut(kit.parameters, [0, 1, 4, 1, 0, 1, 4, 1])
    check(kit, lut)
    with pytest.raises(TypeError, match="p is needed"):
        Lut(kit.parameters, lambda m: m)
    with pytest.raises(ZeroDivisionError):
        Lut(kit.parameters, lambda m: 1 // m, p=4)


def test_a_table_each(any_kit: Kit, generator: np.random.Generator) -> None:
    """Kinds mixed, repeated, in an order of chance, as nested lists and as an object array."""
    tables = [Lut(any_kit.parameters, generator.integers(0, 8, size=8)) for _ in range(3)]
    tables.append(Lut(any_kit.parameters, [1, 2, 3, 4, 7, 6, 5, 4]))
    assert {lut.kind for lut in tables} == {"arbitrary", "negacyclic"}
    pick = generator.integers(0, 4, size=(4, 5))
    messages = generator.integers(0, 8, size=(4, 5))
    expected = np.array([tables[k](int(m)) for k, m in zip(pick.flat, messages.flat, strict=True)])
    encrypted = any_kit.client.encrypt(messages, p=8)
    nested = [[tables[k] for k in row] for row in pick]
    array = np.empty((4, 5), dtype=object)
    array[:] = nested
    for luts in (nested, array):
        result = any_kit.server.apply(luts, encrypted)
        assert np.array_equal(any_kit.client.decrypt(result), expected.reshape(4, 5))
    each = np.array(
        [
            [any_kit.server.apply(nested[i][j], encrypted[i, j]).to_host().data for j in range(5)]
            for i in range(4)
        ]
    )
    assert np.array_equal(result.to_host().data, each)


def test_tables_broadcast(kit: Kit) -> None:
    keep, flip = Lut(kit.parameters, [0, 1, 0, 0], 4), Lut(kit.parameters, [1, 0, 0, 0], 4)
    encrypted = kit.client.encrypt([0, 1, 1])
    assert kit.client.decrypt(kit.server.apply([[keep], [flip]], encrypted)).tolist() == [
        [0, 1, 1],
        [1, 0, 0],
    ]
    assert kit.client.decrypt(kit.server.apply([keep, flip], encrypted[1])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="broadcast"):
        kit.server.apply([keep, flip], encrypted)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3)])
def test_shapes(kit: Kit, shape: tuple[int, ...]) -> None:
    lut = Lut(kit.parameters, [3, 2, 1, 0], padding=True)
    assert lut.kind == "padded"
    messages = np.full(shape, 1)
    result = kit.server.apply(lut, kit.client.encrypt(messages, 4, padding=True))
    assert result.shape == shape
    assert np.array_equal(kit.client.decrypt(result), messages + 1)


def test_wrong_tables(kit: Kit) -> None:
    with pytest.raises(whorl.EncodingError):
        Lut(kit.parameters, [0, 1, 2, 4], p=4)
    with pytest.raises(whorl.EncodingError):
        Lut(kit.parameters, [0, 1, 2], p=4)
    with pytest.raises(whorl.EncodingError):
        Lut(kit.parameters, [0] * 2048)
    with pytest.raises(ValueError, match="dimensions"):
        Lut(kit.parameters, [[0, 1], [1, 0]])
    four, eight = Lut(kit.parameters, [0, 1, 2, 3]), Lut(kit.parameters, list(range(8)))
    encrypted = kit.client.encrypt([0, 1])
    with pytest.raises(whorl.EncodingError):
        kit.server.apply(eight, encrypted)
    with pytest.raises(whorl.EncodingError):
        kit.server.apply([four, Lut(kit.parameters, [0, 1, 0, 0], 4, 2)], encrypted)
    with pytest.raises(TypeError, match="tables"):
        kit.server.apply([four, 3], encrypted)
    with pytest.raises(ValueError, match="at least one"):
        kit.server.apply([], kit.client.encrypt([]))
