"""OpenFHE's side of bench/openfhe_bgv.py: answers one measurement a line. Needs CPython 3.10."""

import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import openfhe
from answers import answer


def operations(
    depth: int, modulus: int, dimension: int, scaling: str
) -> dict[str, Callable[[], Any]]:
    """Multiply with relinearisation, and rotation by one column, of two fresh ciphertexts."""
    parameters = openfhe.CCParamsBGVRNS()
    parameters.SetMultiplicativeDepth(depth)
    parameters.SetPlaintextModulus(modulus)
    parameters.SetScalingTechnique(getattr(openfhe, scaling))
    context = openfhe.GenCryptoContext(parameters)
    assert context.GetRingDimension() == dimension, context.GetRingDimension()
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        context.Enable(feature)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, [1])
    x, y = list(range(1, 13)), list(range(2, 14))
    a = context.Encrypt(keys.publicKey, context.MakePackedPlaintext(x))
    b = context.Encrypt(keys.publicKey, context.MakePackedPlaintext(y))
    product = context.Decrypt(keys.secretKey, context.EvalMult(a, b))
    product.SetLength(len(x))
    assert product.GetPackedValue() == [i * j for i, j in zip(x, y, strict=True)]
    return {
        "mult_relin": lambda: context.EvalMult(a, b),
        "rotate": lambda: context.EvalRotate(a, 1),
    }


def main() -> None:
    """Argument: {"depth", "t", "N", "scaling"}; reads {"op", "runs"}, prints {"seconds"}."""
    shape: dict[str, Any] = json.loads(sys.argv[1])
    made = operations(shape["depth"], shape["t"], shape["N"], shape["scaling"])
    answer(made.__getitem__, peer="openfhe", version=version("openfhe"))


if __name__ == "__main__":
    main()
