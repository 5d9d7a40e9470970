"""OpenFHE's side of test_openfhe.py, test_openfhe_ckks.py and test_openfhe_binfhe.py: evaluates one
circuit a line. Needs CPython 3.10.

Arguments: "bgv", "ckks" or "binfhe", and the members of the class below. Says {"version", "N"};
reads {"inputs", "operations"}, answers {"results"}: all slots of what each operation gave. An
operation is its name, its operands' numbers, then what else it takes. Of complex numbers two are
written, [real, imaginary].
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

    @property
    def N(self) -> int:
        return int(self.context.GetRingDimension())

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
    """At most so many ciphertexts of a level are summed, and so many rotations are in sequence."""

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


class Binfhe:
    """FHEW/TFHE with the keys of 32 coefficients of OpenFHE's set TOY, for ciphertexts modulo
    2^log_q. A row has messages modulo 2^log_q/256. Operations are of inputs: a sign, a floor with
    its number of bits, and a decomposition, all digits of which are results; and the table of a
    function, whose inputs and outputs are modulo 8."""

    def __init__(self, log_q: int, time_optimization: bool, arbitrary: bool) -> None:
        self.context = context = openfhe.BinFHEContext()
        context.GenerateBinFHEContext(
            openfhe.TOY, arbitrary, log_q, 0, openfhe.GINX, time_optimization
        )
        self.key = context.KeyGen()
        context.BTKeyGen(self.key)
        self.q = 0 if arbitrary else 2**log_q
        self.p = 8 if arbitrary else 2**log_q // 256

    @property
    def N(self) -> int:
        return int(self.context.GetN())

    def run(self, inputs: list[Any], operations: list[list[Any]]) -> list[dict[str, Any]]:
        context, results = self.context, []

        def read(ciphertexts: list[Any], p: int) -> None:
            values = [context.Decrypt(self.key, each, p) for each in ciphertexts]
            results.append({"p": p, "values": values})

        for name, first, *rest in operations:
            row = [
                context.Encrypt(self.key, m, openfhe.SMALL_DIM, self.p, self.q)
                for m in inputs[first]
            ]
            if name == "sign":
                read([context.EvalSign(each) for each in row], 2)
            elif name == "floor":
                read([context.EvalFloor(each, rest[0]) for each in row], self.p >> rest[0])
            elif name == "decomp":
                for place in zip(*(context.EvalDecomp(each) for each in row), strict=True):
                    read(list(place), int(place[0].GetModulus()) // 256)
            else:
                table = context.GenerateLUTviaFunction(lambda m, p, f=rest[0]: f[m], self.p)
                read([context.EvalFunc(each, table) for each in row], self.p)
        return results


def main() -> None:
    schemes: dict[str, Callable[..., Any]] = {"bgv": Bgv, "ckks": Ckks, "binfhe": Binfhe}
    machine = schemes[sys.argv[1]](**json.loads(sys.argv[2]))
    about = {"version": version("openfhe"), "N": machine.N}
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        print(json.dumps({"results": machine.run(**json.loads(line))}), flush=True)


if __name__ == "__main__":
    main()
