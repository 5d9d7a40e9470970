"""Ranges that a program states of messages: what follows from them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from support import Kit, make_kit, pickled
from whorl.binfhe import Ciphertexts, EncryptedArray, Lut, concatenate, stack

P = 16
A, B = np.array([0, 5, 7, 2, 3]), np.array([7, 5, 0, 4, 1])


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "padded"])
def ranged(request: pytest.FixtureRequest) -> tuple[Kit, bool]:
    """A kit for p = 16, and whether messages have a padding bit."""
    kit = make_kit(Q=(1 << 50) - 16383, gadget=[(32, 13, 4)], max_p=P, sigma_lwe=0.8)
    return kit, request.param


def inputs(ranged: tuple[Kit, bool], high: int = 7) -> tuple[EncryptedArray, EncryptedArray]:
    kit, padding = ranged
    return tuple(  # type: ignore[return-value]
        kit.server.upload(kit.client.encrypt(m, p=P, padding=padding)).with_range(0, high)
        for m in (A, B)
    )


def table(ranged: tuple[Kit, bool], function: Any) -> Lut:
    """A table of integers from -8 on, as Python indexes it."""
    signed = [*range(8), *range(-8, 0)]
    return Lut(ranged[0].parameters, [function(m) for m in signed], p=P, padding=ranged[1])


def test_ranges_follow(ranged: tuple[Kit, bool], tmp_path: Path) -> None:
    kit, (a, b) = ranged[0], inputs(ranged)
    row = np.array([-3, 0, 2, 1, 4])
    got: Any
    for got, expected, low, high in (
        (a, A, 0, 7),
        (a - b, A - B, -7, 7),
        (1 - a, 1 - A, -6, 1),
        (a + b, A + B, 0, 14),
        (2 * a - 3, 2 * A - 3, -3, 11),
        (-a * 2, -2 * A, -14, 0),
        (+a - 20, A - 20, -20, -13),
        (a + row, A + row, -3, 11),
        (row - a, row - A, -10, 4),
        (np.arange(1, 6) + a, A + np.arange(1, 6), 1, 12),
        (a[1] - b, A[1] - B, -7, 7),
        (a - b.to_host(), A - B, -7, 7),
        (kit.server.linear([1, -1], [a, b], 2), A - B + 2, -5, 9),
        ((a - b)[1:3], (A - B)[1:3], -7, 7),
        (concatenate([a - b, a]), np.concatenate([A - B, A]), -7, 7),
        (stack([a, b]).T, np.stack([A, B]).T, 0, 7),
        ((a - b).with_range(-20, 3).with_range(-8, 8), None, -7, 3),
    ):
        assert got.range == (low, high)
        if expected is None:
            continue
        assert np.array_equal(kit.client.decrypt(got), expected)
        host = got.to_host()
        host.save(tmp_path / "x.whorl")
        for again in (host, Ciphertexts.load(tmp_path / "x.whorl", True), pickled(host)):
            assert again.range == (low, high)
            assert np.array_equal(kit.client.decrypt(again), expected)
            assert kit.server.upload(again).range == (low, high)
    assert concatenate([(a - b).to_host(), a.to_host()]).range == (-7, 7)
    assert "-7 … 7" in dict((a - b)._details())["range"]
    fresh = kit.client.encrypt(A, p=P, padding=ranged[1])
    assert fresh.range is None and kit.server.upload(fresh).range is None


def test_tables_of_negative_integers(ranged: tuple[Kit, bool]) -> None:
    kit, (a, b) = ranged[0], inputs(ranged)
    relu, size = table(ranged, lambda m: max(m, 0)), table(ranged, abs)
    for lut, function in ((relu, lambda m: np.maximum(m, 0)), (size, np.abs)):
        got = kit.server.apply(lut, a - b)
        assert got.range is None and got.largest == max(map(function, range(-8, 8)))
        assert np.array_equal(kit.client.decrypt(got), function(A - B))
    both = kit.server.apply([relu, size, relu, size, relu], a - b)
    assert kit.client.decrypt(both).tolist() == [0, 0, 7, 2, 2]
    greater = b + kit.server.apply(relu, a - b)
    assert greater.range == (0, 14)
    less = a - kit.server.apply(relu, a - b)
    assert np.array_equal(kit.client.decrypt(greater), np.maximum(A, B))
    assert np.array_equal(kit.client.decrypt(less), np.minimum(A, B))
    # Negative values: only the program can tell them from large ones. With padding they are not
    # those of a table, but of a difference.
    residues = kit.server.apply(table(ranged, lambda m: min(m, 0) % P), a - b)
    if ranged[1]:
        with pytest.raises(whorl.EncodingError, match=r"contradicts .* they are 0 … 15"):
            residues.with_range(-8, 0)
        moved = kit.server.apply(table(ranged, lambda m: min(m, 0) + 8), a - b)
        negative = moved.with_range(0, 8) - 8
    else:
        negative = residues.with_range(-8, 0)
    assert negative.range == (-8, 0) and (negative + 8).range == (0, 8)
    assert np.array_equal(kit.client.decrypt(negative), np.minimum(A - B, 0))
    assert np.array_equal(kit.client.decrypt(negative + b), np.minimum(A - B, 0) + B)
    # Two inputs below 4.
    u, v = a.with_range(0, 3), b.with_range(0, 3)
    small = (A < 4) & (B < 4)
    products = Lut(
        kit.parameters, [x * y for x in range(4) for y in range(4)], p=P, padding=ranged[1]
    )
    product = kit.client.decrypt(kit.server.apply(products, 4 * u + v))
    assert np.array_equal(product[small], (A * B)[small]) and small.sum() == 1


@pytest.mark.parametrize("padding", [False, True])
def test_signs_and_floors(padding: bool) -> None:
    small = {"n": 16, "q": 2**15, "N": 512, "Q": 18014398509404161, "Q_ks": 2**35}
    kit = make_kit(**small, log_B_ks=5, gadget=[(16, 18, 2)], max_p=4)
    a, b = (
        kit.server.upload(kit.client.encrypt(4 * m, p=64, padding=padding)).with_range(0, 31)
        for m in (A, B)
    )
    assert np.array_equal(kit.client.decrypt(kit.server.eval_sign(a - b)), A < B)
    got = kit.server.eval_floor(a - b, 3)
    assert got.p == 8 and got.range == (-4, 3)
    assert np.array_equal(kit.client.decrypt(got), (A - B) >> 1)
    with pytest.raises(whorl.EncodingError, match="eval_floor: -5 … 3 are 9 integers"):
        kit.server.eval_floor(a - b - 2, 3)
    with pytest.raises(whorl.EncodingError, match=r"eval_sign takes .* these are -80 … -49"):
        kit.server.eval_sign(a - 80)


def test_errors_of_negative_integers(ranged: tuple[Kit, bool]) -> None:
    kit, (a, b) = ranged[0], inputs(ranged)
    bound = kit.parameters.q // (4 * P if ranged[1] else 2 * P)
    for got, expected in ((a - b, A - B), (-a, -A), (a, A), (a[0] - 3, -3)):
        assert np.abs(kit.client.noise(got, expected)).max() < bound
    with pytest.raises(whorl.EncodingError, match="expected"):
        kit.client.noise(kit.client.encrypt(A, p=P, padding=ranged[1]), -A)


def test_what_does_not_fit_is_refused(ranged: tuple[Kit, bool]) -> None:
    kit, (a, b) = ranged[0], inputs(ranged)
    unknown = kit.server.upload(kit.client.encrypt(B, p=P, padding=ranged[1]))
    text = "p = 16.* holds 16: take a larger p, or state smaller ranges by with_range"
    for action, error, message in (
        (
            lambda: kit.server.linear([1, -3], [a, b]),
            whorl.EncodingError,
            f"linear: -21 … 7 are 29 integers, and {text}",
        ),
        (lambda: a * 3, whorl.EncodingError, f"0 … 21 are 22 integers, and {text}"),
        (lambda: a - unknown, whorl.EncodingError, "-15 … 7 are 23 integers"),
        (lambda: a + np.array([0, 20, 0, 0, 0]), whorl.EncodingError, "20"),
        (lambda: concatenate([a - b, a + 4]), whorl.EncodingError, "concatenate: -7 … 11"),
        (lambda: (a - b).with_range(8, 9), whorl.EncodingError, "contradicts .* are -7 … 7"),
        (lambda: a.with_range(3, 2), whorl.ParameterError, "low = 3 is above high = 2"),
        (lambda: a.with_range(-(2**31), 0), whorl.EncodingError, "-2147483648 … 0 has an end"),
        (lambda: a.with_range(0, 2**63), whorl.ParameterError, "high"),
        (lambda: a.with_range(0, 1.5), whorl.ParameterError, "high"),  # type: ignore[arg-type]
        (lambda: a * 1.5, TypeError, "integer"),  # type: ignore[operator]
        (lambda: a + 1.5, TypeError, "integers"),
        (lambda: kit.server.and_(a, a), whorl.EncodingError, "as large as 7"),
    ):
        with pytest.raises(error, match=message):
            action()
    # Modulo p there is nothing to refuse, and no range.
    wrapped = kit.server.linear([1, -3], [a, b], modular=True)
    assert wrapped.range is None
    assert np.array_equal(kit.client.decrypt(wrapped), (A - 3 * B) % P)
    if ranged[1]:
        with pytest.raises(whorl.EncodingError, match="contradicts what is known"):
            unknown.with_range(-1, 1)
        assert unknown.with_range(0, 16).range == (0, 15)
    else:
        with pytest.raises(whorl.EncodingError, match="with_range: 0 … 16 are 17 integers"):
            unknown.with_range(0, 16)
        assert np.array_equal(kit.client.decrypt(unknown.with_range(-8, 7)), B)
        assert kit.client.decrypt((a - b).with_range(-7, 7)).min() == -7
        # 9 … 15 would be other readings of -7 … -1.
        with pytest.raises(whorl.EncodingError, match=r"contradicts .* are -7 … 7"):
            (a - b).with_range(0, 15)
        assert np.array_equal(
            kit.client.decrypt(kit.server.linear([1], [a - b], modular=True).with_range(0, 15)),
            (A - B) % P,
        )
