"""OpenFHE's side of bench/openfhe.py: answers one measurement a line. Needs CPython 3.10."""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import openfhe


def gates(
    name: str = "STD128", method: str = "GINX", suffix: str = ""
) -> dict[str, Callable[[int], float]]:
    """A set by a method: key generation and NAND on fresh bits."""
    context = openfhe.BinFHEContext()
    context.GenerateBinFHEContext(getattr(openfhe, name), getattr(openfhe, method))
    secret = context.KeyGen()
    context.BTKeyGen(secret)
    a, b = context.Encrypt(secret, 1), context.Encrypt(secret, 1)
    assert context.Decrypt(secret, context.EvalBinGate(openfhe.NAND, a, b)) == 0

    def nand(runs: int) -> float:
        start = time.process_time()
        for _ in range(runs):
            context.EvalBinGate(openfhe.NAND, a, b)
        return (time.process_time() - start) / runs

    def keygen(runs: int) -> float:
        start = time.process_time()
        for _ in range(runs):
            context.BTKeyGen(secret)
        return (time.process_time() - start) / runs

    return {f"nand{suffix}": nand, f"keygen{suffix}": keygen}


def functions() -> dict[str, Callable[[int], float]]:
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

    def evalfunc(runs: int) -> float:
        start = time.process_time()
        for _ in range(runs):
            context.EvalFunc(message, table)
        return (time.process_time() - start) / runs

    return {"evalfunc": evalfunc}


def signs() -> dict[str, Callable[[int], float]]:
    """n = 1305, N = 2048, log Q = 54: signs of messages of 17 bits, modulo 2^25."""
    context = openfhe.BinFHEContext()
    context.GenerateBinFHEContext(openfhe.STD128, False, 25, 0, openfhe.GINX, False)
    secret = context.KeyGen()
    context.BTKeyGen(secret)
    messages = [context.Encrypt(secret, m, openfhe.FRESH, 1 << 17, 1 << 25) for m in (5, 65600)]
    found = [context.Decrypt(secret, context.EvalSign(message), 2) for message in messages]
    assert found == [0, 1], found

    def evalsign(runs: int) -> float:
        start = time.process_time()
        for _ in range(runs):
            context.EvalSign(messages[0])
        return (time.process_time() - start) / runs

    return {"evalsign": evalsign}


MAKERS: dict[str, Callable[[], dict[str, Callable[[int], float]]]] = {
    "evalfunc": functions,
    "evalsign": signs,
    "nand_ap": lambda: gates("STD128_AP", "AP", "_ap"),
    "nand_lmkcdey": lambda: gates("STD128_LMKCDEY", "LMKCDEY", "_lmkcdey"),
}


def main() -> None:
    """Reads {"op", "runs"} lines, prints {"seconds"} of CPU time an operation."""
    made: dict[str, Callable[[int], float]] = {}
    print(json.dumps({"peer": "openfhe", "version": version("openfhe")}), flush=True)
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        if request["op"] not in made:
            made.update(MAKERS.get(request["op"], gates)())
        seconds = made[request["op"]](int(request["runs"]))
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
