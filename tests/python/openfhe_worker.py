"""OpenFHE's side of test_openfhe.py and test_openfhe_ckks.py: evaluates one circuit a line. Needs
CPython 3.10.

Arguments: "bgv" or "ckks", and the members of Bgv or Ckks below. Says {"version", "N"}; reads
{"inputs", "operations"}, answers {"results"}: all slots of what each operation gave. An operation
is its name, its operands' numbers, then what else it takes. Of complex numbers two are written,
[real, imaginary].
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

    of_two = ("add", "sub", "multiply")

    def __init__(self, parameters: Any, more_features: tuple[Any, ...] = ()) -> None:
        self.context = context = openfhe.GenCryptoContext(parameters)
        for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE, *more_features):
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

    def packed(self, row: list[Any]) -> Any:
        raise NotImplementedError

    def read(self, plain: Any) -> dict[str, Any]:
        """What is said of a decrypted plaintext."""
        raise NotImplementedError

    def run(self, inputs: list[Any], operations: list[list[Any]]) -> list[dict[str, Any]]:
        wanted = {operation[2] for operation in operations if operation[0] == "rotate"}
        if wanted - self.rotations:
            self.context.EvalRotateKeyGen(self.keys.secretKey, sorted(wanted - self.rotations))
            self.rotations |= wanted
        wires = [self.context.Encrypt(self.keys.publicKey, self.packed(row)) for row in inputs]
        for name, first, *rest in operations:
            if name in self.of_two:
                rest = [wires[rest[0]]]
            wires.append(self.operations[name](wires[first], *rest))
        return [
            self.read(self.context.Decrypt(self.keys.secretKey, wire))
            for wire in wires[len(inputs) :]
        ]


class Bgv(Machine):
    """Of each level, at most so many ciphertexts are summed and so many rotations in sequence."""

    def __init__(self, depth: int, t: int, sums: int, turns: int) -> None:
        parameters = openfhe.CCParamsBGVRNS()
        parameters.SetMultiplicativeDepth(depth)
        parameters.SetPlaintextModulus(t)
        parameters.SetEvalAddCount(sums)
        parameters.SetKeySwitchCount(turns)
        super().__init__(parameters)

    def packed(self, row: list[int]) -> Any:
        return self.context.MakePackedPlaintext(row)

    def read(self, plain: Any) -> dict[str, Any]:
        plain.SetLength(self.context.GetRingDimension())
        return {"values": plain.GetPackedValue()}


class Ckks(Machine):
    """Vectors of `slots` numbers in a ring that need not be secure. Of real numbers OpenFHE states
    the error, log2 of its deviation in units of the values: it is measured on their imaginary
    parts. It then adds noise to them, which it does not do with complex numbers."""

    def __init__(self, depth: int, scale_bits: int, N: int, slots: int, is_complex: bool) -> None:
        parameters = openfhe.CCParamsCKKSRNS()
        parameters.SetMultiplicativeDepth(depth)
        parameters.SetScalingModSize(scale_bits)
        parameters.SetFirstModSize(60)
        parameters.SetScalingTechnique(openfhe.FLEXIBLEAUTO)
        parameters.SetSecurityLevel(openfhe.HEStd_NotSet)
        parameters.SetRingDim(N)
        parameters.SetBatchSize(slots)
        kinds = openfhe.CKKSDataType
        parameters.SetCKKSDataType(kinds.COMPLEX if is_complex else kinds.REAL)
        super().__init__(parameters, (openfhe.ADVANCEDSHE,))
        context, self.is_complex = self.context, is_complex
        self.scale_bits, self.slots = scale_bits, slots
        context.EvalSumKeyGen(self.keys.secretKey)
        conjugation = 2 * N - 1
        keys = context.EvalAutomorphismKeyGen(self.keys.secretKey, [conjugation])
        number = self.number
        self.operations |= {
            "sum": lambda a: context.EvalSum(a, slots),
            "conjugate": lambda a: context.EvalAutomorphism(a, conjugation, keys),
            "add_number": lambda a, z: context.EvalAdd(a, number(z)),
            "multiply_number": lambda a, z: context.EvalMult(a, number(z)),
            "logistic": context.EvalLogistic,
            "sine": context.EvalSin,
        }

    def number(self, z: list[float]) -> Any:
        return complex(*z) if self.is_complex else z[0]

    def packed(self, row: list[list[float]]) -> Any:
        return self.context.MakeCKKSPackedPlaintext([self.number(z) for z in row])

    def read(self, plain: Any) -> dict[str, Any]:
        plain.SetLength(self.slots)
        values = [[z.real, z.imag] for z in plain.GetCKKSPackedValue()]
        if self.is_complex:
            return {"values": values}
        return {"values": values, "log2_error": plain.GetLogError() - self.scale_bits}


def main() -> None:
    scheme = {"bgv": Bgv, "ckks": Ckks}[sys.argv[1]]
    machine: Machine = scheme(**json.loads(sys.argv[2]))
    about = {"version": version("openfhe"), "N": machine.context.GetRingDimension()}
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        print(json.dumps({"results": machine.run(**json.loads(line))}), flush=True)


if __name__ == "__main__":
    main()
