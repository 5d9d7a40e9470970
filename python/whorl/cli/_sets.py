"""--params: the name of a set, or a file that holds the literal of one."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..binfhe import Parameters, parameter_sets, parameters
from ._completion import from_list

Params = Annotated[
    str,
    typer.Option(
        "--params",
        help="Name of a set, or a file (-: standard input) with what `params search --json` or "
        "`params show --json` prints; of several literals the first.",
        autocompletion=from_list(parameter_sets),
    ),
]


def find(text: str, allow_insecure: bool = False) -> Parameters:
    """The parameters that `--params` names. A name of a set goes before that of a file."""
    return parameters(_literal(text), allow_insecure)


@functools.cache  # standard input can be read only once
def _literal(text: str) -> str | dict[str, Any]:
    path = Path(text)
    if text in parameter_sets() or (text != "-" and (path.is_dir() or not path.exists())):
        return text
    content = sys.stdin.read() if text == "-" else path.read_text(encoding="utf-8")
    try:
        literal, _ = json.JSONDecoder().raw_decode(content.lstrip())
    except json.JSONDecodeError as error:
        raise ValueError(f"--params {text}: this is not JSON: {error}") from None
    if not isinstance(literal, dict):
        raise ValueError(f"--params {text}: a JSON object is needed, not {literal!r}")
    return literal
