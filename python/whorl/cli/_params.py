"""params list, show, search."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Annotated, Any

import typer

from .. import ckks
from .._core.progress import bar
from .._core.text import at_least_bits, at_most_chance
from ..binfhe import Parameters, _search, parameter_sets, parameters
from ..binfhe._parameters import describe_rotation
from ._completion import from_list, one_of
from ._output import out, pairs, table

app = typer.Typer(help="Parameter sets: list, show, search.", no_args_is_help=True)


def _summary(chosen: Parameters) -> dict[str, Any]:
    return {
        **{field: getattr(chosen, field) for field in ("name", "n", "q", "N", "Q", "lwe_secret")},
        "rotation": describe_rotation(chosen.rotation),
        "key_mb": round(chosen.key_bytes / 1e6),
        **{field: getattr(chosen, field) for field in ("transform", "max_p", "padding")},
        "security_bits": round(chosen.security.bits, 1),
        "pfail_log2": round(chosen.failure_log2, 1),
        "source": chosen.source,
    }


def _summary_of_ckks(chosen: ckks.Parameters) -> dict[str, Any]:
    refreshed = chosen.bootstrap is not None
    least = chosen.least_bootstrap_level if refreshed else 0
    failure = chosen.log2_failure if refreshed else -math.inf
    return {
        "name": chosen.name,
        "N": chosen.N,
        "depth": chosen.depth - least,
        "scale_bits": round(chosen._log2_scale(), 1),
        "limbs": chosen.limbs,
        "special": len(chosen.special),
        "log2_QP": round(chosen.log2_Q(chosen.top) + chosen.log2_P, 1),
        "word_bits": chosen.word_bits,
        "bootstrap": refreshed,
        "security_bits": round(chosen.security_bits, 1),
        "sparse_security_bits": round(chosen.sparse_security_bits, 1) if refreshed else None,
        "pfail_log2": round(failure, 1) if math.isfinite(failure) else None,
    }


Row = dict[str, Any]
_CELLS: dict[str, dict[str, Callable[[Row], str]]] = {
    "binfhe": {
        "set": lambda row: row["name"],
        "n": lambda row: str(row["n"]),
        "q": lambda row: f"2^{row['q'].bit_length() - 1}",
        "N": lambda row: str(row["N"]),
        "log2 Q": lambda row: str(row["Q"].bit_length()),
        "key": lambda row: row["lwe_secret"],
        "rotation": lambda row: row["rotation"],
        "p": lambda row: f"{row['max_p']}{' padded' if row['padding'] else ''}",
        "security": lambda row: _security(row),
        "failure": lambda row: at_most_chance(row["pfail_log2"]),
        "keys, MB": lambda row: str(row["key_mb"]),
        "source": lambda row: row["source"],
    },
    "ckks": {
        "set": lambda row: row["name"],
        "N": lambda row: str(row["N"]),
        "products": lambda row: f"{row['depth']}{' between bootstraps' * row['bootstrap']}",
        "scale": lambda row: f"2^{row['scale_bits']:g}",
        "primes": lambda row: f"{row['limbs']} + {row['special']}",
        "log2 QP": lambda row: f"{row['log2_QP']:.0f}",
        "words": lambda row: str(row["word_bits"]),
        "security": lambda row: _security(row),
        "sparse key": lambda row: (
            at_least_bits(row["sparse_security_bits"]) if row["bootstrap"] else "–"
        ),
        "failure": lambda row: (
            "–"
            if not row["bootstrap"]
            else "0"
            if row["pfail_log2"] is None
            else at_most_chance(row["pfail_log2"])
        ),
    },
}
"""Columns of the tables, and their cells of a summary."""


def _security(row: Row) -> str:
    return at_least_bits(row["security_bits"]) + ("" if row["security_bits"] >= 128 else " (!)")


@app.command("list")
def list_sets(
    scheme: Annotated[
        str,
        typer.Option(
            help="binfhe or ckks; BGV has no named sets.", autocompletion=one_of("binfhe", "ckks")
        ),
    ] = "binfhe",
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a set.")] = False,
) -> None:
    """All named sets, with estimated security and failure probability."""
    if scheme not in _CELLS:
        raise ValueError(f"--scheme: {scheme!r} is not one of binfhe, ckks")
    if scheme == "ckks":
        rows = [
            _summary_of_ckks(ckks.parameters(name, allow_insecure=True))
            for name in ckks.parameter_sets()
        ]
    else:
        rows = [_summary(parameters(name, allow_insecure=True)) for name in parameter_sets()]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row))
        return
    columns = _CELLS[scheme]
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    if markdown:
        typer.echo("| " + " | ".join(columns) + " |")
        typer.echo("|" + "---|" * len(columns))
        for line in cells:
            typer.echo("| " + " | ".join(line) + " |")
        return
    table([*columns], cells)
    out.print("(!) under 128 bits: needs allow_insecure", markup=False)


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a set.",
            autocompletion=from_list(lambda: [*parameter_sets(), *ckks.parameter_sets()]),
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="The literal, as JSON.")] = False,
) -> None:
    """Everything about one set: fields, security, failure probability, noise."""
    of_ckks = name in ckks.parameter_sets()
    chosen: Any = (ckks.parameters if of_ckks else parameters)(name, allow_insecure=True)
    literal = dict(chosen.literal())
    if as_json:
        typer.echo(json.dumps(literal))
        return
    rows = [(field, str(value)) for field, value in literal.items()]
    rows.append(("digest", chosen.digest))
    pairs(rows + (_facts_of_ckks(chosen) if of_ckks else _facts(chosen)))


def _facts(chosen: Parameters) -> list[tuple[str, str]]:
    rows = [
        ("security of the LWE key", f"{at_least_bits(chosen.security.lwe_bits)} bits"),
        ("security of the ring key", f"{at_least_bits(chosen.security.ring_bits)} bits"),
        ("failure probability", at_most_chance(chosen.failure_log2)),
    ]
    noise = chosen.noise()
    for field in type(noise).__dataclass_fields__:
        value = getattr(noise, field)
        deviations = [each**0.5 for each in (value if isinstance(value, tuple) else (value,))]
        if deviations:
            name = f"standard deviation, {field.replace('_', ' ')}"
            rows.append((name, ", ".join(f"{each:.6g}" for each in deviations)))
    return rows


def _facts_of_ckks(chosen: ckks.Parameters) -> list[tuple[str, str]]:
    security = ("security", f"{at_least_bits(chosen.security_bits)} bits")
    if chosen.bootstrap is None:
        return [security]
    return [
        security,
        ("security of the sparse key", f"{at_least_bits(chosen.sparse_security_bits)} bits"),
        ("failure probability of a bootstrap", at_most_chance(chosen.log2_failure)),
    ]


@app.command()
def search(
    p: Annotated[int, typer.Option("-p", "--p", help="Messages 0 … p-1; 4 for gates.")] = 4,
    padding: Annotated[bool, typer.Option("--padding", help="Messages under a bit.")] = False,
    failure: Annotated[float, typer.Option(help="Largest log2 failure probability.")] = -64.0,
    security: Annotated[float, typer.Option(help="Least bits of the LWE key.")] = 132.0,
    secret: Annotated[
        str,
        typer.Option(
            help="binary, ternary or any.", autocompletion=one_of("binary", "ternary", "any")
        ),
    ] = "any",
    objective: Annotated[
        str,
        typer.Option(
            help="throughput, latency or keys (bytes).",
            autocompletion=one_of("throughput", "latency", "keys"),
        ),
    ] = "throughput",
    rotation: Annotated[
        str,
        typer.Option(
            help="any, ginx, unrolled, unrolled_all, ap, automorphism, raised, or block (keys "
            "whose security is not estimated).",
            autocompletion=one_of(
                "ginx", "unrolled", "unrolled_all", "ap", "automorphism", "raised", "block", "any"
            ),
        ),
    ] = "any",
    max_key_mb: Annotated[
        float, typer.Option(min=0, help="Largest evaluation keys on a device, in MB.")
    ] = math.inf,
    top: Annotated[int, typer.Option(min=1, help="Sets to show.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="One literal a line.")] = False,
) -> None:
    """Search for the cheapest sets that reach a failure probability and a security.

    This takes 10 to 30 seconds.
    """
    request = _search.Request(
        p=p,
        padding=padding,
        failure_log2=failure,
        security=security,
        secret=secret,
        objective=objective,
        rotation=rotation,
        max_key_mb=max_key_mb,
    )
    with bar("searching, 10 to 30 s") as report:
        found = _search.search(request, top, report)
    if not found:
        raise ValueError("no set meets the request")
    if as_json:
        for candidate in found:
            typer.echo(json.dumps(candidate.literal))
        return
    columns = ["n", "N", "log2 Q", "Q_ks", "rotation", "gadget", "key switch", "key"]
    columns += ["security", "failure", "Mflop", "µs alone", "keys, MB"]
    rows = []
    for candidate in found:
        literal, evaluation, cost = candidate.literal, candidate.evaluation, candidate.cost
        switch = f"{literal['key_switch']} {literal['log_B_ks']} x {literal['ks_digits'] or 'all'}"
        rows.append(
            [
                str(literal["n"]),
                str(literal["N"]),
                str(literal["Q"].bit_length()),
                f"2^{literal['Q_ks'].bit_length() - 1}",
                describe_rotation(literal["rotation"]),
                " ".join(f"{base} x {digits}" for _, base, digits in literal["gadget"]),
                switch,
                literal["lwe_secret"],
                f"{min(evaluation.lwe_bits, evaluation.ring_bits):.1f}",
                f"2^{evaluation.failure_log2:.1f}",
                f"{cost.flops / 1e6:.0f}",
                f"{cost.latency_us:.0f}",
                f"{(cost.rotation_bytes + cost.key_switch_bytes) / 1e6:.0f}",
            ]
        )
    table(columns, rows)
    out.print("--json prints literals for whorl.binfhe.parameters()", markup=False)
