"""Integers from users: what is wrong with one is said with the entry and its index."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import whorl
from support import BgvKit, Kit
from whorl.binfhe import Lut

NOT_INTEGERS: list[Any] = [
    *(1.0, 1.5, float("nan"), "1", b"1", None, 1 + 0j, [1], (), {}, object()),
    *(np.float64(1), np.float32(1.5), np.array(1.5), np.str_("1"), np.array([1, 2])),
]
INTEGERS: list[Any] = [
    *(True, 1, np.True_, np.int8(1), np.uint32(1), np.uint64(1), np.int64(1), np.array(1)),
]


def takers(kit: Kit, toy: BgvKit) -> dict[str, Callable[[list[Any]], object]]:
    """What takes a list of integers, and names it so."""
    bits = kit.client.encrypt([0, 1])
    return {
        "messages": kit.client.encrypt,
        "messages ": kit.server.trivial,
        "expected": lambda values: kit.client.noise(kit.client.encrypt([0, 0, 0, 0]), values),
        "table": lambda values: Lut(kit.parameters, values),
        "table ": lambda values: Lut(kit.parameters, np.array(values, dtype=object), 4),
        "table  ": lambda values: Lut(kit.parameters, values.__getitem__, 4),
        "weights": lambda values: kit.server.linear(values, [bits] * 4),
        "values": toy.client.encrypt,
        "values ": toy.server.encode,
        "values  ": toy.client.public_key().encrypt,
        "plaintext": lambda values: toy.server.add(toy.client.encrypt([1]), values),
    }


def test_what_is_no_integer_is_named(kit: Kit, toy_bgv: BgvKit) -> None:
    for field, take in takers(kit, toy_bgv).items():
        for wrong in NOT_INTEGERS:
            if isinstance(wrong, np.ndarray) and "table " in field:
                continue  # it would be the array's, or fill it
            entries = [0, 1, wrong, 0]
            with pytest.raises(TypeError) as caught:
                take(entries)
            shown = re.escape(repr(wrong)[:12]) if np.ndim(wrong) == 0 else ""
            pattern = f"^{field.strip()}: integers are needed, not .*{shown}.* at index 2$"
            assert re.search(pattern, str(caught.value), re.DOTALL), (field, wrong, caught.value)


def test_integers_of_any_type_are_taken(kit: Kit, toy_bgv: BgvKit) -> None:
    for take in takers(kit, toy_bgv).values():
        for right in INTEGERS:
            take([0, 1, right, 0])
    for right in INTEGERS:
        assert Lut(kit.parameters, [0, 1, right, 0]).values.tolist() == [0, 1, 1, 0]
        assert Lut(kit.parameters, [right, 2, 2, 2].__getitem__, p=4).values[0] == 1
        assert kit.client.decrypt(kit.client.encrypt([right, 0])).tolist() == [1, 0]
        assert toy_bgv.client.decrypt(toy_bgv.client.encrypt([right, 0]))[:2].tolist() == [1, 0]


def test_a_float_is_named_wherever_it_is(kit: Kit) -> None:
    with pytest.raises(TypeError, match=r"not 2\.0 at index \(1, 0\)$"):
        kit.client.encrypt([[0, 1], [2.0, 1]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not .*0\.5.* at index 0$"):
        kit.client.encrypt(np.array([0.5, 1]))
    with pytest.raises(TypeError, match=r"messages: integers are needed, not 1\.5$"):
        kit.client.encrypt(1.5)  # alone, it has no index
    with pytest.raises(TypeError, match=r"table: integers are needed, not '0123'$"):
        Lut(kit.parameters, "0123")


def test_messages_out_of_range_are_named(kit: Kit) -> None:
    client, server, chosen = kit.client, kit.server, kit.parameters
    for work, message in (
        (lambda: client.encrypt([0, 1, 9]), "messages: value 9 at index 2 is not below p = 4"),
        (lambda: client.encrypt([0, 4, 9]), "messages: value 4 at index 1 is not below p = 4"),
        (lambda: client.encrypt([3, 2], p=3), "messages: value 3 at index 0 is not below p = 3"),
        (
            lambda: client.encrypt([[0, 1], [2, 9]]),
            "messages: value 9 at index (1, 1) is not below p = 4",
        ),
        (lambda: client.encrypt(9), "messages: value 9 is not below p = 4"),
        (lambda: client.encrypt([0, -9]), "messages: value -9 at index 1 is below 0"),
        (lambda: client.encrypt([2**40]), f"value {2**40} at index 0 is not below p = 4"),
        (lambda: client.encrypt([1, 2**70]), f"value {2**70} at index 1 is not below p = 4"),
        (lambda: server.trivial([0, 1, 9]), "messages: value 9 at index 2 is not below p = 4"),
        (lambda: Lut(chosen, [0, 1, 9, 2]), "table: value 9 at index 2 is not below p = 4"),
        (lambda: Lut(chosen, lambda m: 3 * m, 4), "table: value 6 at index 2 is not below p = 4"),
        (
            lambda: Lut(chosen, [0, 1, 9, 2], p_out=8),
            "table: value 9 at index 2 is not below p_out = 8",
        ),
        (lambda: Lut(chosen, [0, 1, -1, 2]), "table: value -1 at index 2 is below 0"),
        (
            lambda: server.linear([1, 2**31], [client.encrypt([1])] * 2),
            "weights: value 2147483648 at index 1 is outside -2^31 … 2^31 - 1",
        ),
    ):
        with pytest.raises(whorl.EncodingError, match=re.escape(message) + "$"):
            work()


def test_values_of_more_than_64_bits_are_named(toy_bgv: BgvKit) -> None:
    values: tuple[Any, ...] = (2**70, np.uint64(2**64 - 1), 2**63, -(2**64))
    for value in values:
        with pytest.raises(whorl.EncodingError, match=f"values: value {int(value)} at index 1 is"):
            toy_bgv.client.encrypt([1, value])


def test_p_is_an_integer(kit: Kit) -> None:
    for p in (2.5, "4", None, [4]):
        with pytest.raises(TypeError, match=r"^p: an integer is needed, not "):
            kit.client.encrypt([1], p)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^p_out: an integer is needed"):
        Lut(kit.parameters, [0, 1, 2, 3], p_out="4")  # type: ignore[arg-type]
    for p in (-1, 0, 1, 2**32, 2**70):
        with pytest.raises(whorl.EncodingError):
            kit.client.encrypt([0], p)
    assert kit.client.encrypt([1], np.int64(4)).p == 4  # type: ignore[arg-type]
    lut = Lut(kit.parameters, [0, 1, 3, 2])
    for m in (1.0, "1", None):
        with pytest.raises(TypeError):
            lut(m)  # type: ignore[arg-type]
    assert lut(np.int64(2)) == 3  # type: ignore[arg-type]
