"""OpenFHE's side of test_openfhe.py: evaluates one BGV circuit a line. Needs CPython 3.10.

Argument: {"depth", "t", "sums", "turns"}: of each level, at most so many ciphertexts are summed and
so many rotations in sequence. Says {"version", "N"}; reads {"inputs", "operations"}, answers
{"results"}: all N slots of what each operation gave.
"""

import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import openfhe


class Machine:
    """A context, its keys, and what operations are called there."""

    def __init__(self, depth: int, t: int, sums: int, turns: int) -> None:
        parameters = openfhe.CCParamsBGVRNS()
        parameters.SetMultiplicativeDepth(depth)
        parameters.SetPlaintextModulus(t)
        parameters.SetEvalAddCount(sums)
        parameters.SetKeySwitchCount(turns)
        self.context = context = openfhe.GenCryptoContext(parameters)
        for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
            context.Enable(feature)
        self.keys = context.KeyGen()
        context.EvalMultKeyGen(self.keys.secretKey)
        self.rotations: set[int] = set()
        self.operations: dict[str, Callable[..., Any]] = {
            "add": context.EvalAdd,
            "sub": context.EvalSub,
            "multiply": context.EvalMult,
            "square": context.EvalSquare,
            "negate": context.EvalNegate,
            "rotate": context.EvalRotate,
            "add_plain": lambda a, row: context.EvalAdd(a, self.packed(row)),
            "sub_plain": lambda a, row: context.EvalSub(a, self.packed(row)),
            "multiply_plain": lambda a, row: context.EvalMult(a, self.packed(row)),
        }

    def packed(self, row: list[int]) -> Any:
        return self.context.MakePackedPlaintext(row)

    def run(self, inputs: list[list[int]], operations: list[list[Any]]) -> list[list[int]]:
        """An operation: its name, its operands' numbers, then what else it takes."""
        wanted = {operation[2] for operation in operations if operation[0] == "rotate"}
        if wanted - self.rotations:
            self.context.EvalRotateKeyGen(self.keys.secretKey, sorted(wanted - self.rotations))
            self.rotations |= wanted
        wires = [self.context.Encrypt(self.keys.publicKey, self.packed(row)) for row in inputs]
        for name, first, *rest in operations:
            if name in ("add", "sub", "multiply"):
                rest = [wires[rest[0]]]
            wires.append(self.operations[name](wires[first], *rest))
        results = []
        for wire in wires[len(inputs) :]:
            plain = self.context.Decrypt(self.keys.secretKey, wire)
            plain.SetLength(self.context.GetRingDimension())
            results.append(plain.GetPackedValue())
        return results


def main() -> None:
    machine = Machine(**json.loads(sys.argv[1]))
    about = {"version": version("openfhe"), "N": machine.context.GetRingDimension()}
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        print(json.dumps({"results": machine.run(**json.loads(line))}), flush=True)


if __name__ == "__main__":
    main()
