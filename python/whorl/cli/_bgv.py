"""BGV on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..bgv import EncryptedArray, Server
from . import _ring_options as shared
from ._scheme import Scheme, of_whorl

PlainModulus = Annotated[int, typer.Option(help="t: values are integers modulo t.")]
PrimeBits = Annotated[int, typer.Option(help="26 … 31, or 46 … 60.")]


def _keygen(
    scheme: Scheme,
    allow_insecure: bool,
    *,
    depth: shared.Depth = 12,
    plain_modulus: PlainModulus = 65537,
    ring: shared.Ring = 0,
    dnum: shared.Digits = 0,
    prime_bits: PrimeBits = 30,
    sums: Annotated[
        float, typer.Option(help="log2 of the ciphertexts that are added before each product.")
    ] = 3,
    plain_products: Annotated[int, typer.Option(help="Products with plaintexts in sequence.")] = 0,
    coefficients: Annotated[
        bool, typer.Option("--coefficients", help="For a t that allows no slots.")
    ] = False,
    relinearise: shared.Relinearise = 3,
    rotations: shared.Rotations = "none",
    swap_rows: Annotated[
        bool, typer.Option("--swap-rows", help="A key for swap_rows, too.")
    ] = False,
    sum_length: shared.SumLength = 0,
    matrices: shared.Matrices = "none",
) -> tuple[Any, dict[str, Any]]:
    shared.refuse_insecure("bgv", allow_insecure)
    shapes = shared.shapes(matrices)
    chosen = scheme.part("parameters")(
        *(depth, plain_modulus, ring or None, dnum or None, prime_bits, sums),
        slots=not coefficients,
        plain_products=plain_products,
    )
    needs = scheme.part("rotations_for")(chosen, *shapes)
    return chosen, {
        "relinearise": relinearise,
        "rotations": [*shared.integers(rotations), *needs["rotations"]],
        "swap_rows": swap_rows or needs["swap_rows"],
        "sums": sum_length,
    }


def _encrypt(
    _: Scheme,
    client: Any,
    values: Any,
    *,
    coefficients: shared.Coefficients = False,
) -> Any:
    return client.encrypt(values, "coefficients" if coefficients else "slots")


def _decrypt(
    _: Scheme,
    client: Any,
    secret: Path,
    ciphertexts: Any,
    *,
    first: Annotated[
        int, typer.Option(min=0, help="Slots of a row; 0: the values of its vector.")
    ] = 0,
    all_slots: Annotated[
        bool, typer.Option("--all-slots", help="All slots, also those behind the values.")
    ] = False,
    signed: Annotated[bool, typer.Option("--signed", help="-t/2 … t/2, not 0 … t-1.")] = False,
    allow_spent: shared.AllowSpent = False,
) -> Any:
    if first and all_slots:
        raise ValueError("one of --first and --all-slots is needed, not both")
    values = client.decrypt(
        ciphertexts, signed, allow_spent=allow_spent, all_slots=all_slots or first > 0
    )
    return values[..., : first or None]


BGV = of_whorl(
    "bgv",
    "BGV",
    functions=shared.operations(Server, EncryptedArray),
    operators="+ - * @ **",
    division="values are integers modulo t: multiply by the inverse, pow(d, -1, t) in Python, if d "
    "has one, or divide what is decrypted",
    keygen=_keygen,
    encrypt=_encrypt,
    decrypt=_decrypt,
)
