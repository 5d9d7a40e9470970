"""Options that the schemes over RNS rings share, and what expressions may call."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from typing import Annotated

import typer

Depth = Annotated[int, typer.Option(help="Multiplications in sequence.")]
Ring = Annotated[int, typer.Option("--ring", help="N; 0: the least that is secure.")]
Digits = Annotated[int, typer.Option(help="Digits of key switching; 0: chosen.")]
Relinearise = Annotated[
    int, typer.Option(help="Parts that products may have; 2: no key for products.")
]
Rotations = Annotated[str, typer.Option(help="Distances to rotate values by, to the left: 1,2,-1.")]
SumLength = Annotated[
    int, typer.Option(help="Values that sum, mean and dot add up; 0: no keys for them.")
]
Matrices = Annotated[
    str,
    typer.Option(
        help="Keys for x @ matrix: rows and columns of each, as 10x4,3x3; with ckks a matrix that "
        "has diagonals of zeros by its file, as 10x4,m.npy."
    ),
]
Coefficients = Annotated[
    bool, typer.Option("--coefficients", help="A row is a polynomial, not slots.")
]
AllowSpent = Annotated[
    bool,
    typer.Option(
        "--allow-spent", help="Decrypt where the noise bound is spent: values may be wrong."
    ),
]


def operations(server: type, array: type, left_out: Collection[str] = ()) -> list[str]:
    """Names of the methods that a server and its arrays both have, for expressions. Besides
    `left_out` there is no product, which is an operator, nothing that gives a list, and no
    relinearisation, since products do it."""
    known = dict.fromkeys(name for each in reversed(array.__mro__) for name in vars(each))
    return [
        name
        for name in known
        if inspect.isfunction(getattr(server, name, None))
        and not name.startswith("_")
        and name not in ("multiply", "relinearise", "rotate_many", *left_out)
    ]


def refuse_insecure(scheme: str, allow_insecure: bool) -> None:
    """`ValueError` for an option that keygen does not need."""
    if allow_insecure:
        raise ValueError(
            f"--allow-insecure: keygen chooses parameters of 128 bits or more for {scheme}; leave "
            "it out"
        )


def integers(text: str, option: str = "--rotations", example: str = "1,2,-1") -> list[int]:
    """The value of an option that lists integers."""
    try:
        return [] if text == "none" else [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{option}: integers are needed, as {example}, not {text!r}") from None


def shapes(text: str) -> list[tuple[int, int]]:
    """Rows and columns of each matrix of the option `--matrices`."""
    found = []
    for part in [] if text == "none" else text.split(","):
        rows, times, columns = part.strip().partition("x")
        if not times or not rows.isdecimal() or not columns.isdecimal():
            raise ValueError(f"--matrices: rows and columns are needed, as 10x4,3x3, not {text!r}")
        found.append((int(rows), int(columns)))
    return found
