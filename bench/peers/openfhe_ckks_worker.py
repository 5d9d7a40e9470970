"""OpenFHE's side of bench/openfhe_ckks.py: answers one measurement a line. Needs CPython 3.10."""

import json
import os
import random
import sys
from collections.abc import Callable
from importlib.metadata import version
from math import log2
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import openfhe
from answers import answer

KEYS = (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE)
MAPS = [4, 3]
"""Levels of the maps to slots and back: those that Whorl takes."""


def worst_bits(got: list[complex], expected: list[complex]) -> float:
    """-log2 of the largest error."""
    return -log2(max(abs(x - y) for x, y in zip(got, expected, strict=True)))


def values(slots: int) -> list[complex]:
    """Random ones, of at most 1."""
    half = 0.5**0.5
    return [complex(random.uniform(-half, half), random.uniform(-half, half)) for _ in range(slots)]


def chosen(shape: dict[str, Any]) -> Any:
    """What both kinds of measurement ask for."""
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetSecurityLevel(openfhe.HEStd_128_classic)
    parameters.SetRingDim(shape["N"])
    parameters.SetScalingModSize(shape["scale_bits"])
    parameters.SetFirstModSize(shape["first_bits"])
    parameters.SetNumLargeDigits(shape["dnum"])
    parameters.SetCKKSDataType(openfhe.COMPLEX)
    parameters.SetBatchSize(shape["N"] // 2)
    return parameters


def operations(shape: dict[str, Any]) -> tuple[dict[str, Callable[[], Any]], dict[str, Any]]:
    """Operations on fresh ciphertexts of all slots. FIXEDMANUAL: each does one thing."""
    parameters = chosen(shape)
    parameters.SetScalingTechnique(openfhe.FIXEDMANUAL)
    parameters.SetMultiplicativeDepth(shape["depth"])
    context = openfhe.GenCryptoContext(parameters)
    for feature in KEYS:
        context.Enable(feature)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, [1])
    x, y = values(shape["N"] // 2), values(shape["N"] // 2)
    a, b = (
        context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext(each)) for each in (x, y)
    )
    product = context.EvalMult(a, b)
    shown = context.Decrypt(keys.secretKey, context.Rescale(product))
    bits = worst_bits(shown.GetCKKSPackedValue(), [u * v for u, v in zip(x, y, strict=True)])
    assert bits > 10, bits
    calls: dict[str, Callable[[], Any]] = {
        "mult_relin": lambda: context.EvalMult(a, b),
        "rotate": lambda: context.EvalRotate(a, 1),
        "rescale": lambda: context.Rescale(product),
        "add": lambda: context.EvalAdd(a, b),
    }
    return calls, {"levels": shape["depth"], "scaling": "FIXEDMANUAL"}


def bootstrap(shape: dict[str, Any]) -> tuple[dict[str, Callable[[], Any]], dict[str, Any]]:
    """A ciphertext without levels and of all slots, to one of `depth` levels."""
    distribution = openfhe.SPARSE_ENCAPSULATED
    depth = shape["depth"] + openfhe.CryptoContext.GetBootstrapDepth(MAPS, distribution)
    parameters = chosen(shape)
    parameters.SetSecretKeyDist(distribution)
    parameters.SetScalingTechnique(openfhe.FLEXIBLEAUTO)
    parameters.SetMultiplicativeDepth(depth)
    context = openfhe.GenCryptoContext(parameters)
    for feature in (*KEYS, openfhe.ADVANCEDSHE, openfhe.FHE):
        context.Enable(feature)
    slots = shape["N"] // 2
    context.EvalBootstrapSetup(MAPS, [0, 0], slots)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalBootstrapKeyGen(keys.secretKey, slots)
    x = values(slots)
    low = context.Encrypt(keys.publicKey, context.MakeCKKSPackedPlaintext(x, 1, depth - 1))
    refreshed = context.EvalBootstrap(low)
    shown = context.Decrypt(keys.secretKey, refreshed)
    about = {
        "levels": depth - refreshed.GetLevel() - (refreshed.GetNoiseScaleDeg() - 1),
        "bits": worst_bits(shown.GetCKKSPackedValue(), x),
        "scaling": "FLEXIBLEAUTO",
    }
    return {"bootstrap": lambda: context.EvalBootstrap(low)}, about


def main() -> None:
    """Argument: what, depth, N, scale_bits, first_bits, dnum; reads {"op", "runs"}."""
    shape: dict[str, Any] = json.loads(sys.argv[1])
    make = bootstrap if shape["what"] == "bootstrap" else operations
    made, about = make(shape)
    answer(made.__getitem__, peer="openfhe", version=version("openfhe"), **about)


if __name__ == "__main__":
    main()
