"""Products of encrypted integers through ring elements."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from integer_programs import TOY, ClearServer, Program
from whorl import binfhe, integers
from whorl.binfhe import Client, Multiplier, ProductKeys, Server
from whorl.integers import Fresh
from whorl.integers._circuit import CircuitError
from whorl.integers._products import multiplies, product


class Owner:
    """The keys of one owner, on a server that multiplies."""

    def __init__(self) -> None:
        self.lwe = Client(binfhe.parameters(TOY, allow_insecure=True))
        self.client = integers.Client(self.lwe)
        self.keys = self.lwe.product_keys()
        self.binfhe = Server(self.lwe.evaluation_keys(), device="cpu")
        self.server = integers.Server(self.binfhe, products=self.keys)

    def encrypt(self, values: Any, bits: int, signed: bool = False) -> integers.IntegerArray:
        made: integers.IntegerArray = self.server.upload(self.client.encrypt(values, bits, signed))
        return made


@pytest.fixture(scope="module")
def owner() -> Owner:
    return Owner()


def numbers(generator: np.random.Generator, count: int, bits: int, signed: bool) -> list[int]:
    """Random ones, and both ends."""
    low = -(1 << bits - 1) if signed else 0
    made = [int.from_bytes(generator.bytes(40), "little") for _ in range(count - 2)]
    return [low, low + (1 << bits) - 1, *(low + value % (1 << bits) for value in made)]


def wrapped(value: int, bits: int, signed: bool) -> int:
    low = -(1 << bits - 1) if signed else 0
    return low + (value - low) % (1 << bits)


@pytest.mark.parametrize(
    "bits,signed,most",
    [
        *((12, True, 128), (13, False, 128), (24, True, 128), (63, True, 128), (64, False, 128)),
        *((250, False, 128), (64, True, 20), (79, False, 25), (256, True, 64)),
    ],
)
def test_digits_of_products(
    generator: np.random.Generator, bits: int, signed: bool, most: int
) -> None:
    """The algorithm on clear digits, which checks all ranges; those of more digits than `most` are
    split into halves."""
    on = ClearServer(products=most)
    a, b = (numbers(generator, 8, bits, signed) for _ in range(2))
    x, y = on.encrypt(a, bits, signed), on.encrypt(b[::-1], bits, signed)
    pairs = list(zip(a, b[::-1], strict=True))
    expected = [wrapped(v * w, bits, signed) for v, w in pairs]
    before = on.rotations
    assert [int(v) for v in on.decrypt(x * y)] == expected
    digits = (bits + 1) // 2
    if bits % 2 == 0 and digits <= most:  # and carries, which decryption adds up
        assert on.rotations - before == 8 * 4 * digits
    for factor in (b[3], -b[4], 3):
        expected = [wrapped(v * factor, bits, signed) for v in a]
        assert [int(v) for v in on.decrypt(x * wrapped(factor, bits, signed))] == expected


def test_factors_that_no_halves_mend_raise() -> None:
    on = ClearServer(products=4)
    x = on.encrypt([5], 16)._core.wires
    circuit: Any = on._circuit
    assert not multiplies(circuit, x, x, count=40)
    with pytest.raises(CircuitError, match="factors of 8 and 8 digits have too much noise"):
        product(circuit, x, x, 40)


def test_random_programs_of_clear_digits() -> None:
    on = ClearServer(products=128)
    for number in range(60):
        Program(on, 5, number, size=3, most=40).run(4)


@pytest.mark.parametrize("bits,signed", [(16, False), (21, True), (64, False), (128, True)])
def test_products(owner: Owner, generator: np.random.Generator, bits: int, signed: bool) -> None:
    a, b = (numbers(generator, 4, bits, signed) for _ in range(2))
    x, y = owner.encrypt(a, bits, signed), owner.encrypt(b[::-1], bits, signed)
    expected = [wrapped(v * w, bits, signed) for v, w in zip(a, b[::-1], strict=True)]
    made = x * y
    assert [int(v) for v in owner.client.decrypt(made)] == expected
    # The result is an operand like any other, with and without its carries.
    again = [wrapped(v * w + v, bits, signed) for v, w in zip(expected, a, strict=True)]
    assert [int(v) for v in owner.client.decrypt(made * x + made)] == again
    known = [wrapped(v * 0x1234567, bits, signed) for v in a]
    factor = wrapped(0x1234567, bits, signed)
    assert [int(v) for v in owner.client.decrypt(x * factor)] == known


def test_overflows_and_sums_of_products(owner: Owner, generator: np.random.Generator) -> None:
    a, b = (numbers(generator, 3, 32, False) for _ in range(2))
    x, y = owner.encrypt(a, 32), owner.encrypt(b, 32)
    made, flags = integers.overflowing_mul(x, y)
    exact = [v * w for v, w in zip(a, b, strict=True)]
    assert [int(v) for v in owner.client.decrypt(made)] == [v % 2**32 for v in exact]
    assert owner.client.decrypt(flags).tolist() == [v >= 2**32 for v in exact]
    assert int(owner.client.decrypt(integers.dot(x, y))) == sum(exact) % 2**32


def test_what_products_cost() -> None:
    secure = binfhe.parameters("W128_P128_M3")
    pair = [Fresh(bits=64)] * 2

    def product(x: integers.UintArray, y: integers.UintArray) -> integers.UintArray:
        made: integers.UintArray = x.server.canonical(x * y)
        return made

    through = integers.plan(product, pair, parameters=secure, products=True)
    by_tables = integers.plan(product, pair, parameters=secure)
    assert (through.rotations, through.layers) == (204, 8)
    assert by_tables.rotations > 1600
    assert through.failure_log2 < -120
    # A few digits take as few by tables.
    few = [Fresh(bits=8)] * 2
    assert (
        integers.plan(operator.mul, few, parameters=secure, products=True).rotations
        == integers.plan(operator.mul, few, parameters=secure).rotations
    )


def test_what_is_refused(owner: Owner) -> None:
    multiplier = Multiplier(owner.binfhe, owner.keys)
    digits = owner.binfhe.upload(owner.lwe.encrypt([[1], [2]], p=32, under="ring"))
    with pytest.raises(whorl.EncodingError, match="must be 0 … 3, but may be larger"):
        multiplier.multiply(digits, digits, 2)
    small = owner.binfhe.with_range(digits, 0, 3)
    with pytest.raises(whorl.ShapeError, match="0 digits are asked for; there may be 1 … 128"):
        multiplier.multiply(small, small, 0)
    with pytest.raises(whorl.EncodingError, match="a known digit is 4"):
        multiplier.multiply(small, [1, 4], 2)
    with pytest.raises(whorl.KeyMismatchError, match="under the ring key, but are under the LWE"):
        multiplier.multiply(owner.binfhe.to_lwe_key(small), small, 2)
    with pytest.raises(whorl.EncodingError, match="messages of p = 32 without padding"):
        other = owner.binfhe.upload(owner.lwe.encrypt([[1]], p=16, under="ring"))
        multiplier.multiply(other, small, 2)
    stranger = Client(owner.lwe.parameters)
    with pytest.raises(whorl.KeyMismatchError):
        Multiplier(owner.binfhe, stranger.product_keys())
    with pytest.raises(whorl.ParameterError, match="take W128_P128_M3"):
        Client(binfhe.parameters("W128_P64")).product_keys()
    with pytest.raises(TypeError, match="ProductKeys are needed"):
        Multiplier(owner.binfhe, None)  # type: ignore[arg-type]


def test_arrays_of_nothing(owner: Owner) -> None:
    x = owner.encrypt(np.zeros((0, 2), dtype=np.int64), 32)
    for made in (x * x, x * 0x55555555, x // x):
        assert made.shape == (0, 2)
        assert owner.client.decrypt(made).shape == (0, 2)


def test_files(owner: Owner, tmp_path: Path) -> None:
    owner.keys.save(tmp_path / "keys")
    loaded = ProductKeys.load(tmp_path / "keys", allow_insecure=True)
    assert loaded.to_bytes() == owner.keys.to_bytes()
    content = (tmp_path / "keys").read_bytes()
    with pytest.raises(whorl.FormatError):
        ProductKeys.from_bytes(content[:-8], allow_insecure=True)
    server = integers.Server(owner.binfhe, products=loaded)
    x = server.upload(owner.client.encrypt([12345], bits=16))
    assert int(owner.client.decrypt(x * x)[0]) == 12345 * 12345 % 2**16
