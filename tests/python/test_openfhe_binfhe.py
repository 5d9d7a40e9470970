"""OpenFHE's EvalFloor, EvalSign, EvalDecomp and EvalFunc, and Whorl's: all messages are the same.

Both have the shape of the named sets, but only 32 LWE coefficients, as OpenFHE's set TOY.
test_openfhe.py says where the wheel comes from, and when these tests are skipped.
"""

from typing import Any

import numpy as np
import pytest
from applications import with_few_coefficients
from openfhe_process import Operation, peer_process, skip_without_openfhe
from whorl.binfhe import Client, EncryptedArray, Lut, Parameters, Server, parameters

Row = list[int]


@pytest.fixture(scope="module", autouse=True)
def openfhe() -> None:
    skip_without_openfhe()


def toy(name: str, log_q: int | None = None) -> Parameters:
    """The set with 32 coefficients, for ciphertexts modulo 2^log_q."""
    changes: dict[str, Any] = {"name": f"{name} of 32 coefficients"}
    if log_q is not None:
        bases = parameters(name, allow_insecure=True).literal()["small_modulus_gadgets"]
        changes["q"] = 2**log_q
        changes["small_modulus_gadgets"] = [each for each in bases if each[0] <= log_q]
    return with_few_coefficients(name, 32, **changes)


def ours(params: Parameters, p: int, row: Row, operations: list[Operation]) -> list[dict[str, Any]]:
    client = Client(params)
    server = Server(client.evaluation_keys(), device="cpu")
    results: list[EncryptedArray] = []
    for name, _, *rest in operations:
        array = server.upload(client.encrypt(row, p))
        if name == "sign":
            results.append(array.eval_sign(2))
        elif name == "floor":
            results.append(array.eval_floor(rest[0]))
        elif name == "decomp":
            results.extend(array.eval_decomp())
        else:
            results.append(array.apply(Lut(params, rest[0], p)))
    return [{"p": each.p, "values": client.decrypt(each).tolist()} for each in results]


def in_clear(most: int, row: Row, operations: list[Operation]) -> list[dict[str, Any]]:
    results = []
    for name, _, *rest in operations:
        p = most
        if name == "sign":
            results.append({"p": 2, "values": [int(m >= p // 2) for m in row]})
        elif name == "floor":
            results.append({"p": p >> rest[0], "values": [m >> rest[0] for m in row]})
        elif name == "decomp":
            left = row
            while p > 16:
                results.append({"p": 16, "values": [m % 16 for m in left]})
                p, left = p // 16, [m // 16 for m in left]
            results.append({"p": p, "values": left})
        else:
            results.append({"p": p, "values": [rest[0][m] for m in row]})
    return results


@pytest.mark.parametrize(
    ("log_q", "time_optimization", "name"),
    [
        (13, False, "STD128_LOGQ_16"),
        (16, False, "STD128_LOGQ_16"),
        (17, True, "STD128_LOGQ_25_TIME"),
        (23, False, "STD128_LOGQ_25"),
        (25, True, "STD128_LOGQ_25_TIME"),
        (26, False, "STD128_LOGQ_29"),
        (29, True, "STD128_LOGQ_29_TIME"),
    ],
)
def test_signs_digits_and_floors(
    generator: np.random.Generator, log_q: int, time_optimization: bool, name: str
) -> None:
    p = 2**log_q // 256
    row = [0, p - 1, p // 2, p // 2 - 1, *generator.integers(p, size=2).tolist()]
    operations: list[Operation] = [("sign", 0), ("decomp", 0)]
    operations += [("floor", 0, bits) for bits in (1, min(4, log_q - 10))]
    shape = {"log_q": log_q, "time_optimization": time_optimization, "arbitrary": False}
    with peer_process("binfhe", shape) as peer:
        theirs = peer.run([row], operations)["results"]
    params = toy(f"openfhe_1_6/{name}", log_q)
    assert params.N == peer.N
    mine = ours(params, p, row, operations)
    assert mine == theirs
    assert mine == in_clear(p, row, operations)


def test_floors_of_the_smallest_modulus(generator: np.random.Generator) -> None:
    """OpenFHE takes signs and digits from 2^12 on."""
    row = list(range(8))
    operations: list[Operation] = [("floor", 0, 1), ("floor", 0, 2)]
    shape = {"log_q": 11, "time_optimization": False, "arbitrary": False}
    with peer_process("binfhe", shape) as peer:
        theirs = peer.run([row], operations)["results"]
    params = toy("openfhe_1_6/STD128_LOGQ_11")
    assert params.N == peer.N
    assert params.Q_ks > params.Q
    mine = ours(params, 8, row, operations)
    assert mine == theirs
    assert mine == in_clear(8, row, operations)


def test_arbitrary_functions(generator: np.random.Generator) -> None:
    """Arbitrary, negacyclic and periodic ones: OpenFHE has a way for each."""
    row = list(range(8))
    any_values = generator.integers(8, size=8).tolist()
    half = generator.integers(8, size=4).tolist()
    tables = [any_values, half + [-m % 8 for m in half], half + half]
    operations: list[Operation] = [("func", 0, table) for table in tables]
    shape = {"log_q": 12, "time_optimization": False, "arbitrary": True}
    with peer_process("binfhe", shape) as peer:
        theirs = peer.run([row], operations)["results"]
    params = toy("openfhe_1_6/LARGE_PRECISION")
    assert params.N == peer.N
    mine = ours(params, 8, row, operations)
    assert mine == theirs
    assert mine == in_clear(8, row, operations)
