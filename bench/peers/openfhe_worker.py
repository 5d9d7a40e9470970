"""OpenFHE's side of bench/openfhe.py: answers one measurement a line. Needs CPython 3.10."""

import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import openfhe
from answers import answer

Calls = dict[str, Callable[[], Any]]


def gates(name: str = "STD128", method: str = "GINX", suffix: str = "") -> Calls:
    """A set by a method: key generation and NAND on fresh bits."""
    context = openfhe.BinFHEContext()
    context.GenerateBinFHEContext(getattr(openfhe, name), getattr(openfhe, method))
    secret = context.KeyGen()
    context.BTKeyGen(secret)
    a, b = context.Encrypt(secret, 1), context.Encrypt(secret, 1)
    assert context.Decrypt(secret, context.EvalBinGate(openfhe.NAND, a, b)) == 0

    return {
        f"nand{suffix}": lambda: context.EvalBinGate(openfhe.NAND, a, b),
        f"keygen{suffix}": lambda: context.BTKeyGen(secret),
    }


def functions() -> Calls:
    """n = 1305, N = 2048, log Q = 54: an arbitrary table over p = 8."""
    context = openfhe.BinFHEContext()
    context.GenerateBinFHEContext(openfhe.STD128, True, 12, 0, openfhe.GINX, False)
    secret = context.KeyGen()
    context.BTKeyGen(secret)
    p = context.GetMaxPlaintextSpace()
    table = context.GenerateLUTviaFunction(lambda m, q: (m * m * m) % q, p)
    message = context.Encrypt(secret, 3 % p, openfhe.FRESH, p)
    result = context.Decrypt(secret, context.EvalFunc(message, table), p)
    assert result == (3 % p) ** 3 % p, (result, p)

    return {"evalfunc": lambda: context.EvalFunc(message, table)}


def signs() -> Calls:
    """n = 1305, N = 2048, log Q = 54: signs of messages of 17 bits, modulo 2^25."""
    context = openfhe.BinFHEContext()
    context.GenerateBinFHEContext(openfhe.STD128, False, 25, 0, openfhe.GINX, False)
    secret = context.KeyGen()
    context.BTKeyGen(secret)
    messages = [context.Encrypt(secret, m, openfhe.FRESH, 1 << 17, 1 << 25) for m in (5, 65600)]
    found = [context.Decrypt(secret, context.EvalSign(message), 2) for message in messages]
    assert found == [0, 1], found

    return {"evalsign": lambda: context.EvalSign(messages[0])}


MAKERS: dict[str, Callable[[], Calls]] = {
    "evalfunc": functions,
    "evalsign": signs,
    "nand_ap": lambda: gates("STD128_AP", "AP", "_ap"),
    "nand_lmkcdey": lambda: gates("STD128_LMKCDEY", "LMKCDEY", "_lmkcdey"),
}


def main() -> None:
    """Keys are made when they are first needed."""
    made: Calls = {}

    def call_of(op: str) -> Callable[[], Any]:
        if op not in made:
            made.update(MAKERS.get(op, gates)())
        return made[op]

    answer(call_of, peer="openfhe", version=version("openfhe"))


if __name__ == "__main__":
    main()
