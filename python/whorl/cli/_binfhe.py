"""FHEW/TFHE on the command line."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from .._core.text import at_most_chance, counted
from . import _completion as completion
from . import _expressions
from . import _sets as sets
from ._output import err
from ._scheme import Scheme, Work, of_whorl

_GATES = (
    *("AND", "OR", "NAND", "NOR", "XOR", "XNOR", "MAJORITY", "AND3", "OR3", "AND4", "OR4"),
    *("NOT", "BOOTSTRAP", "MUX"),
)


def _keygen(
    _: Scheme, allow_insecure: bool, *, params: sets.KeygenParams = "W128_P64"
) -> tuple[Any, dict[str, Any]]:
    return sets.find(params, allow_insecure), {}


def _encrypt(
    _: Scheme,
    client: Any,
    values: Any,
    *,
    p: Annotated[int, typer.Option("-p", "--p", help="Messages are 0 … p-1; bits: 4.")] = 4,
    padding: Annotated[bool, typer.Option("--padding", help="Leave a bit above messages.")] = False,
    under: Annotated[
        str,
        typer.Option(
            help="The key that they are under: lwe, or ring for large sums.",
            autocompletion=completion.one_of("lwe", "ring"),
        ),
    ] = "lwe",
    allow_failure: sets.AllowFailure = None,
) -> Any:
    return client.encrypt(values, p, padding, under=under, **sets.consent(allow_failure))


def _work(
    scheme: Scheme,
    *,
    gate: Annotated[
        str | None,
        typer.Option(
            help=f"A gate on files: {', '.join(_GATES)} (select, then, else).",
            autocompletion=completion.in_any_case(*_GATES),
        ),
    ] = None,
    lut: Annotated[
        str | None,
        typer.Option(help='A table on a file: values "0,1,4,9", or an expression in x: "x*x".'),
    ] = None,
    p_out: Annotated[
        int | None, typer.Option(help="p of what a gate or table gives; default: p.")
    ] = None,
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="A table whose outputs may be off by a stated bound."),
    ] = False,
) -> Work | None:
    if gate is not None and lut is not None:
        raise ValueError("one of --gate and --lut is needed, not both")
    if p_out is not None and gate is None and lut is None:
        raise ValueError("--p-out goes with --gate or --lut")
    if approximate and lut is None:
        raise ValueError("--approximate goes with --lut")
    if gate is not None:
        return _gate(gate.lower(), p_out)
    return None if lut is None else _lut(scheme, lut, p_out, approximate)


def _server(
    scheme: Scheme,
    keys: Any,
    device: str | None,
    threads: int,
    *,
    transform: Annotated[
        str | None,
        typer.Option(help="ntt or fft; default: the set's.", autocompletion=completion.TRANSFORMS),
    ] = None,
    allow_failure: sets.AllowFailure = None,
) -> Any:
    options = {"transform": transform, **sets.consent(allow_failure)}
    return scheme.part("Server")(keys, device, threads, **options)


def _gate(name: str, p_out: int | None) -> Work:
    def work(server: Any, arrays: list[Any]) -> Any:
        special = {"not": 1, "bootstrap": 1, "mux": 3, "cmux": 3}
        if name in special and len(arrays) != special[name]:
            raise ValueError(f"{name} takes {counted(special[name], 'input')}, not {len(arrays)}")
        match name:
            case "not":
                return server.not_(*arrays)
            case "bootstrap":
                return server.bootstrap(*arrays, p_out)
            case "mux" | "cmux":
                return server.mux(*arrays)
        return server.gate(name, *arrays, p_out=p_out)

    return work


def _lut(scheme: Scheme, text: str, p_out: int | None, approximate: bool) -> Work:
    def work(server: Any, arrays: list[Any]) -> Any:
        if len(arrays) != 1:
            raise ValueError(f"--lut takes 1 input, not {len(arrays)}")
        [array] = arrays
        outputs = array.p if p_out is None else p_out
        values = _expressions.table(text, array.p, outputs)
        lut = scheme.part("Lut")(
            server.parameters, values, array.p, outputs, array.padding, exact=not approximate
        )
        if not approximate:
            return server.apply(lut, array)
        bound = server.error_bound(lut, array)
        said = f"outputs are off by at most {bound}"
        if bound >= outputs // 2:
            said += f", which can be any of the {outputs} values"
        allowed = math.log2(server.allow_failure)
        err.print(
            f"{said}; a larger error has a probability of at most {at_most_chance(allowed)}",
            markup=False,
        )
        return server.apply(lut, array, within=bound)

    return work


def _digit(server: Any, array: Any, place: int) -> Any:
    """Digit number `place`, from the lowest, 0."""
    digits = server.eval_decomp(array)
    if not 0 <= place < len(digits):
        raise ValueError(f"eval_decomp: there is no digit {place}; there are {len(digits)}")
    return digits[place]


BINFHE = of_whorl(
    "binfhe",
    "FHEW/TFHE",
    functions=(
        *("nand", "nor", "xor", "xnor", "majority", "and3", "or3", "and4", "or4"),
        *("mux", "bootstrap", "add", "sub", "with_range", "eval_floor", "eval_sign", "to_lwe_key"),
    ),
    operators="& | ^ ~ + - *",
    circuits={"eval_decomp": _digit},
    division="messages are integers: look the quotient up, as by --lut 'x // 2'",
    keygen=_keygen,
    encrypt=_encrypt,
    work=_work,
    server=_server,
)
