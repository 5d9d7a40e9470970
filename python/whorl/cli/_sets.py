"""--params: the name of a set, or a file that holds the literal of one."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import ckks
from ..binfhe import Parameters, parameter_sets, parameters
from ._completion import from_list

_HELP = (
    "Name of a set, or a file (-: standard input) with what `params search --json` or "
    "`params show --json` prints; of several literals the first."
)
Params = Annotated[
    str, typer.Option("--params", help=_HELP, autocompletion=from_list(parameter_sets))
]
KeygenParams = Annotated[
    str,
    typer.Option(
        "--params",
        help=_HELP,
        autocompletion=from_list(lambda: [*parameter_sets(), *ckks.parameter_sets()]),
    ),
]


def probability(text: str | float) -> float:
    """A probability as people write it: 0.001, 1e-6, 2^-12.

    >>> probability("2^-12") == 2.0**-12
    True
    """
    base, power, exponent = str(text).partition("^")
    try:
        value = float(base) ** float(exponent) if power else float(base)
    except (ValueError, ArithmeticError):
        value = 0.0
    if not 0 < value <= 1:
        raise typer.BadParameter(
            f"{text} is not a probability above 0 and at most 1, such as 2^-12"
        )
    return value


AllowFailure = Annotated[
    float | None,
    typer.Option(
        "--allow-failure",
        parser=probability,
        metavar="P",
        help="Largest failure probability that is accepted knowingly, as 2^-12; 1 accepts all.",
        show_default="2^-40",
    ),
]


def consent(allow_failure: float | None) -> dict[str, float]:
    """The argument of a client or a server that the option makes."""
    return {} if allow_failure is None else {"allow_failure": allow_failure}


def find(text: str, allow_insecure: bool = False) -> Parameters:
    """The parameters that `--params` names. A name of a set goes before that of a file."""
    return parameters(_literal(text, parameter_sets), allow_insecure)


def find_ckks(text: str, allow_insecure: bool) -> ckks.Parameters:
    """The same of CKKS."""
    found = _literal(text, ckks.parameter_sets)
    if isinstance(found, str):
        return ckks.parameters(found, allow_insecure=allow_insecure)
    return ckks.parameters(literal=found, allow_insecure=allow_insecure)


@functools.cache  # standard input can be read only once
def _literal(text: str, names: Callable[[], list[str]]) -> str | dict[str, Any]:
    path = Path(text)
    if text in names() or (text != "-" and (path.is_dir() or not path.exists())):
        return text
    content = sys.stdin.read() if text == "-" else path.read_text(encoding="utf-8-sig")
    try:
        literal, _ = json.JSONDecoder().raw_decode(content.lstrip())
    except json.JSONDecodeError as error:
        raise ValueError(f"--params {text}: this is not JSON: {error}") from None
    if not isinstance(literal, dict):
        raise ValueError(f"--params {text}: a JSON object is needed, not {literal!r}")
    return literal
