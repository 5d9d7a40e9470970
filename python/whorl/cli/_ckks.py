"""CKKS on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .._ring.parameters import stands_alone
from ..ckks import EncryptedArray, Polynomial, Server, minimax_sign
from ..ckks._parameters import ARCSINES
from . import _released, _values
from . import _ring_options as shared
from . import _sets as sets
from ._completion import one_of
from ._scheme import Scheme, of_whorl

ScaleBits = Annotated[int, typer.Option(help="log2 of the scale, 28 … 55.")]
Slots = Annotated[int, typer.Option(min=0, help="Values of a ciphertext; 0: any number.")]
ValueBits = Annotated[
    int, typer.Option(help="log2 of the largest value at the last level, 2 … 20; 0: 10, or less.")
]
WordBits = Annotated[int, typer.Option(help="32, or 64 for scales of 46 bits and more.")]


CHOOSING = ("depth", "scale_bits", "slots", "value_bits", "ring", "dnum", "word_bits")
"""Options by which parameters are chosen, with and without bootstraps."""
MOST_VALUES = 1 << 24
"""A matrix that is given by its shape has no more values."""


def as_chosen(needs: dict[str, Any]) -> dict[str, Any]:
    """Options as arguments of `parameters`: 0 is None for those that are chosen then."""
    given = {"N" if name == "ring" else name: value for name, value in needs.items()}
    return {**given, **{name: given[name] or None for name in ("N", "dnum", "value_bits")}}


def _keygen(
    scheme: Scheme,
    allow_insecure: bool,
    *,
    params: sets.KeygenParams = "",
    depth: shared.Depth = 4,
    scale_bits: ScaleBits = 40,
    slots: Slots = 0,
    value_bits: ValueBits = 0,
    ring: shared.Ring = 0,
    dnum: shared.Digits = 0,
    word_bits: WordBits = 32,
    relinearise: shared.Relinearise = 3,
    rotations: shared.Rotations = "none",
    conjugate: Annotated[
        bool, typer.Option("--conjugate", help="A key for conjugation, too.")
    ] = False,
    sum_length: shared.SumLength = 0,
    matrices: shared.Matrices = "none",
    bootstrap: Annotated[
        str,
        typer.Option(
            help="Parameters and keys for bootstrap: slots of each length of vectors that is "
            "refreshed, powers of two, as 1024,8; or full for all slots.",
        ),
    ] = "none",
    coefficients_last: Annotated[
        bool,
        typer.Option(
            "--coefficients-last",
            help="With --bootstrap: slots are moved to coefficients after the sine.",
        ),
    ] = False,
    arcsine: Annotated[
        int,
        typer.Option(
            help="With --bootstrap: degree of the arcsine after the sine, odd, 3 … 15; 0: none.",
            autocompletion=one_of(*map(str, ARCSINES)),
        ),
    ] = 0,
) -> tuple[Any, dict[str, Any]]:
    given = locals()
    needs = {name: given[name] for name in (*CHOOSING, "coefficients_last", "arcsine")}
    if params:
        stands_alone(_keygen, "--params", needs)
        chosen = sets.find_ckks(params, allow_insecure)
    else:
        shared.refuse_insecure("ckks", allow_insecure)
        chosen = scheme.part("parameters")(**as_chosen(needs), bootstrap=bootstrap != "none")
    maps = [scheme.part("linear_map")(each) for each in _transposed(matrices)]
    full = bootstrap == "full"
    return chosen, {
        "relinearise": relinearise,
        "rotations": [
            *shared.integers(rotations),
            *(turn for each in maps for turn in each.rotations),
        ],
        "conjugate": conjugate,
        "sums": sum_length,
        "bootstrap": [chosen.slots]
        if full
        else shared.integers(bootstrap, "--bootstrap", "8,1024"),
    }


def _transposed(text: str) -> list[Any]:
    """The matrices of the option `--matrices`: x @ m is the linear map of m's transpose."""
    import numpy as np

    parts = [] if text == "none" else text.split(",")
    files = [part for part in parts if _values.is_named_so(Path(part))]
    given = ",".join(part for part in parts if part not in files)
    found = [np.transpose(_values.read_array(Path(each), False)) for each in files]
    for rows, columns in shared.shapes(given or "none"):
        if rows * columns > MOST_VALUES:
            raise ValueError(
                f"--matrices: {rows}x{columns} are more than {MOST_VALUES} values: give the file "
                "of the matrix"
            )
        found.append(np.ones((columns, rows)))
    return found


def _encrypt(
    _: Scheme,
    client: Any,
    values: Any,
    *,
    bound: Annotated[
        str,
        typer.Option(
            help="No value has a larger absolute value; or LOW,HIGH, between which all values lie. "
            "It is public."
        ),
    ] = "1",
    coefficients: shared.Coefficients = False,
) -> Any:
    return client.encrypt(values, _bound(bound), "coefficients" if coefficients else None)


def _bound(text: str) -> Any:
    """A number, or two with a comma between them."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 2):
        raise ValueError(f"--bound: {text!r} is neither a number nor LOW,HIGH")
    return numbers if len(numbers) == 2 else numbers[0]


def _decrypt(
    _: Scheme,
    client: Any,
    secret: Path,
    ciphertexts: Any,
    *,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="With the errors: for you alone, who have the secret key."),
    ] = False,
    queries: Annotated[
        float,
        typer.Option(
            min=0, help="For others: with noise that hides the errors of so many results in all."
        ),
    ] = 0,
    bits: Annotated[
        float, typer.Option(help="With --queries: statistical security in bits, 30 … 128.")
    ] = 30,
    allow_spent: shared.AllowSpent = False,
) -> Any:
    if raw == bool(queries):
        raise ValueError(
            "one of --raw and --queries is needed: --raw for numbers that stay with you, --queries "
            "N for N results that others may see; from raw numbers they can compute the secret key"
        )
    if raw:
        return client.decrypt(ciphertexts, raw=True, allow_spent=allow_spent)
    return _released.counting(secret, client, lambda: client.release(ciphertexts, queries, bits))


# ---- functions of expressions that are no methods of the server


def _by_sign(name: str, operands: int) -> Callable[..., Any]:
    """A method that takes stages of a sign, with the numbers that `minimax_sign` makes them of."""

    def one(server: Any, x: Any, epsilon: float, error: float) -> Any:
        return getattr(server, name)(x, minimax_sign(epsilon, error))

    def two(server: Any, x: Any, y: Any, epsilon: float, error: float) -> Any:
        return getattr(server, name)(x, y, minimax_sign(epsilon, error))

    return one if operands == 1 else two


def _polynomial(server: Any, x: Any, *coefficients: Any) -> Any:
    """The polynomial with these coefficients of 1, x, x², …: numbers, or one file of them. Any
    interval does for powers of x."""
    of_file = len(coefficients) == 1 and not isinstance(coefficients[0], (int, float, complex))
    listed = coefficients[0] if of_file else coefficients
    x = server.upload(x)
    return server.evaluate(x, Polynomial(listed, "monomial", -x.bound, x.bound))


def _with_bound(server: Any, x: Any, *bound: float) -> Any:
    """The largest absolute value, or the least and the largest value."""
    if len(bound) not in (1, 2):
        raise TypeError(f"with_bound takes one bound or two, and {len(bound)} are given")
    return server.with_bound(x, bound if len(bound) == 2 else bound[0])


CIRCUITS = {
    **{name: _by_sign(name, 1) for name in ("sign", "absolute", "relu")},
    **{name: _by_sign(name, 2) for name in ("greater", "maximum", "minimum")},
    "polynomial": _polynomial,
    "with_bound": _with_bound,
}

CKKS = of_whorl(
    "ckks",
    "CKKS",
    functions=shared.operations(
        Server,
        EncryptedArray,
        (*CIRCUITS, "repeat", "evaluate", "apply", "matmul", "with_error", "with_more_error"),
    ),
    operators="+ - * / @ **",
    circuits=CIRCUITS,
    integers=False,
    keygen=_keygen,
    encrypt=_encrypt,
    decrypt=_decrypt,
)
