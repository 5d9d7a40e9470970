"""Looks rows up in a table of 33,000, the server not learning which; client and server apart.

The table is Unicode's: under each code the character's name and properties. A client asks for
codes of its choice, encrypted; a server with the table in the clear answers without learning a
code, whether there is a row under it, or which row it read.

Exit status: 0 if each row decrypted is that of the table in the clear, 1 if not.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

try:
    import numpy as np
    from common.application import Exchange, costs, finish, parser_of
    from common.files import write_json
    from common.output import rows, size
    from whorl import Error

    from lookup import circuit
    from lookup.table import LAYER_BYTES, MOST_LAYERS, MOST_PAGES, PLACES, Table, characters
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

QUERIES, MOST_QUERIES, MOST_SHOWN = 8, 256, 16


def pick(table: Table, seed: int, count: int) -> list[int]:
    """`count` codes at random; where there are several, the last has no row."""
    random = np.random.default_rng(seed)
    codes = [int(code) for code in random.choice(sorted(table.rows), size=count)]
    if count > 1:
        page = codes[-1] // PLACES * PLACES
        gaps = [code for code in range(page, page + PLACES) if code not in table.rows]
        codes[-1] = gaps[int(random.integers(len(gaps)))] if gaps else max(table.rows) + 1
    return codes


def look_up(table: Table, codes: list[int], arguments: argparse.Namespace) -> dict[str, Any]:
    """The protocol: what each process tells, and the bytes that went between them."""
    sides = Exchange.begin("lookup", arguments.workdir)
    # What each side has at the start: the server its table, the client its codes and the offer.
    table.save(sides.server / "table.tsv")
    write_json(sides.client / "codes.json", codes)
    params = circuit.choose()
    offer = {"parameters": params.literal(), "grid": dataclasses.asdict(table.grid)}
    write_json(sides.client / "offer.json", offer)

    return sides.run(
        arguments,
        (
            "client: makes keys and encrypts the codes",
            "server: reads the whole table under each encrypted code",
            "client: decrypts the rows",
        ),
        result="rows",
    )


def report(table: Table, codes: list[int], told: dict[str, Any]) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    served, count = told["served"], len(codes)
    found = told["read"]["rows"]
    if len(found) != count:
        sys.exit(f"{len(found)} answers for {count} codes")
    clear = [table.rows.get(code) for code in codes]
    return {
        "table_rows": len(table.rows),
        "table_bytes": sum(len(text.encode()) for text in table.rows.values()),
        "pages": len(table.grid.pages),
        "layers": table.grid.layers,
        "cells": table.grid.period * PLACES,
        "queries": count,
        "codes": codes,
        "rows_encrypted": found,
        "rows_clear": clear,
        "right": sum(one == other for one, other in zip(found, clear, strict=True)),
        "plaintexts": served["plaintexts"],
        "rotation_keys": told["prepared"]["rotation_keys"],
        "noise_budget": told["read"]["noise_budget"],
        "noise_budget_bound": served["noise_budget_bound"],
        **costs(told, count, "query", "code"),
    }


def tell(r: dict[str, Any]) -> None:
    """Says what happened in plain words."""
    count = r["queries"]
    print(f"""
What happened
  A server holds a table of {r["table_rows"]:,} rows in the clear. A client asked for {count} codes,
  encrypted; the server, which holds no secret key, went through the whole table for each;
  the client decrypted its rows:
""")
    for code, found in list(zip(r["codes"], r["rows_encrypted"], strict=True))[:MOST_SHOWN]:
        shown = (
            "(no row under this code)"
            if found is None
            else " · ".join(filter(None, found.split("\t")))
        )
        print(f"  {code:>6X}  {shown}")
    if count > MOST_SHOWN:
        print(f"          … and {count - MOST_SHOWN} more")
    print()
    rows(
        ("as in the table in the clear", f"{r['right']} of {count}"),
        ("", ""),
        (f"server, {count} at once", f"{1e3 * r['seconds_per_query']:.0f} ms a row"),
        ("server, one alone", f"{1e3 * r['seconds_one_query']:.0f} ms"),
        ("server, CPU time", f"{1e3 * r['cpu_seconds_per_query']:.0f} ms a row"),
        ("server's device", r["device"]),
        ("server's preparation, once", f"{r['seconds_server_load']:.2f} s"),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("encryption", f"{1e3 * r['seconds_encryption'] / count:.0f} ms a row"),
        ("decryption", f"{1e3 * r['seconds_decryption'] / count:.1f} ms a row"),
        (f"evaluation keys, {r['rotation_keys']} rotations, once", size(r["bytes_keys"])),
        ("to the server: 2 ciphertexts a row", size(r["bytes_query_per_code"])),
        (f"back: {r['layers']} ciphertexts a row", size(r["bytes_answer_per_code"])),
        ("the table itself", size(r["table_bytes"])),
        ("", ""),
        ("parameters", r["parameters"].splitlines()[0]),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
        (
            "noise budget left, measured",
            f"{r['noise_budget']:.0f} bits (by the bound {r['noise_budget_bound']:.0f})",
        ),
    )


def code_of(text: str) -> int:
    """A code in hexadecimal, with or without U+; or one character that is itself the code."""
    if len(text) == 1 and not text.isascii():
        return ord(text)
    code = int(text.upper().removeprefix("U+"), 16)
    if code < 0:
        raise ValueError(text)
    return code


def arguments_of(argv: list[str] | None) -> argparse.Namespace:
    """Command line."""
    parser = parser_of("lookup", __doc__)
    parser.add_argument(
        "codes", nargs="*", type=code_of, help="such as 20AC, U+1F989 or €; default: at random"
    )
    parser.add_argument(
        "--table",
        type=Path,
        help="of your own: lines of code (hexadecimal), tab, text; default: Unicode's. At most "
        f"{MOST_LAYERS * LAYER_BYTES} bytes a row, {MOST_PAGES} pages of {PLACES} codes",
    )
    parser.add_argument(
        "--queries", type=int, default=QUERIES, help=f"at random, default {QUERIES}"
    )
    arguments = parser.parse_args(argv)
    if not 1 <= arguments.queries <= MOST_QUERIES or len(arguments.codes) > MOST_QUERIES:
        parser.error(f"--queries: 1 … {MOST_QUERIES} codes, not {arguments.queries}")
    return arguments


def main(argv: list[str] | None = None) -> int:
    """Runs everything; gives the exit status."""
    arguments = arguments_of(argv)
    started = time.perf_counter()
    try:
        table = Table.load(arguments.table) if arguments.table else characters()
        table.cells()
        codes = arguments.codes or pick(table, arguments.seed, arguments.queries)
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2

    result = report(table, codes, look_up(table, codes, arguments))
    tell(result)
    right = result["right"] == len(codes)
    failure = None if right else "a row decrypted is not that of the table"
    return finish(result, started, arguments, failure)


if __name__ == "__main__":
    sys.exit(main())
