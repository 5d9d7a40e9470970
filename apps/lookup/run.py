"""Looks rows up in a table of 33,000, the server not learning which; client and server apart.

The table is Unicode's: under each code the character's name and properties. A client asks for
codes of its choice, encrypted; a server with the table in the clear answers without learning a
code, whether there is a row under it, or which row it read. README.md says how.

Exit status: 0 if each row decrypted is that of the table in the clear, 1 if not.
"""

from __future__ import annotations

import argparse
import dataclasses
import secrets
import sys
import time
from pathlib import Path
from typing import Any

APPS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(APPS))

try:
    import numpy as np
    from common.files import read_json, write_json
    from common.output import rows, size
    from common.processes import fresh_folder, process, send, stage
    from whorl import Error

    from lookup import circuit
    from lookup.table import LAYER_BYTES, MOST_LAYERS, MOST_PAGES, PLACES, Table, characters
except ModuleNotFoundError as missing:
    sys.exit(f"{missing}; the application needs Whorl: pip install .")

QUERIES = 8
MOST_QUERIES = 256
MOST_SHOWN = 16


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
    server = fresh_folder(arguments.workdir / "server")
    client = fresh_folder(arguments.workdir / "client")
    passphrase = secrets.token_hex(16)
    threads = ("--threads", str(arguments.threads))

    # What each side has at the start: the server its table, the client its codes and the offer.
    table.save(server / "table.tsv")
    write_json(client / "codes.json", codes)
    params = circuit.choose()
    offer = {"parameters": params.literal(), "grid": dataclasses.asdict(table.grid)}
    write_json(client / "offer.json", offer)

    with stage("client: makes keys and encrypts the codes"):
        process("lookup.client", "prepare", client, *threads, passphrase=passphrase)
    sizes = {name: send(f"{name}.whorl", client, server) for name in ("keys", "query")}

    options = [*threads, *(["--device", arguments.device] if arguments.device else [])]
    with stage("server: reads the whole table under each encrypted code"):
        seconds = process("lookup.server", server, *options)
    sizes["answer"] = send("answer.whorl", server, client)

    with stage("client: decrypts the rows"):
        process("lookup.client", "read", client, passphrase=passphrase)
    return {
        "prepared": read_json(client / "prepared.json"),
        "served": read_json(server / "served.json") | {"process_seconds": seconds},
        "read": read_json(client / "rows.json"),
        "bytes": sizes,
    }


def report(table: Table, codes: list[int], told: dict[str, Any]) -> dict[str, Any]:
    """All numbers, for people and for programs."""
    served, sizes, count = told["served"], told["bytes"], len(codes)
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
        "parameters": served["parameters"],
        "security_bits": served["security_bits"],
        "device": served["device"],
        "plaintexts": served["plaintexts"],
        "rotation_keys": told["prepared"]["rotation_keys"],
        "noise_budget": told["read"]["noise_budget"],
        "noise_budget_bound": served["noise_budget_bound"],
        "seconds_per_query": served["batch_seconds"] / count,
        "cpu_seconds_per_query": served["batch_cpu_seconds"] / count,
        "seconds_one_query": served["one_query_seconds"],
        "seconds_keys": told["prepared"]["keys_seconds"],
        "seconds_encryption": told["prepared"]["encryption_seconds"],
        "seconds_server_load": served["load_seconds"],
        "seconds_decryption": told["read"]["decryption_seconds"],
        "bytes_keys": sizes["keys"],
        "bytes_query_per_code": sizes["query"] / count,
        "bytes_answer_per_code": sizes["answer"] / count,
        "server_modules": served["modules"],
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
        ("estimated security", f"{r['security_bits']:.0f} bits"),
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
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    parser.add_argument("--seed", type=int, default=0, help="of the codes at random")
    parser.add_argument(
        "--workdir",
        type=Path,
        default=APPS.parent / "build" / "lookup",
        help="its folders server/ and client/ are made anew",
    )
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument("--device", help="of the server; default: the best found")
    parser.add_argument("--threads", type=int, default=0, help="default: all cores")
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
    result["seconds_total"] = time.perf_counter() - started
    rows(("everything", f"{result['seconds_total']:.1f} s"))
    if arguments.json:
        write_json(arguments.json, result)

    if result["right"] != len(codes):
        print("\nFailed: a row decrypted is not that of the table.", file=sys.stderr)
        return 1
    if any("client" in module for module in result["server_modules"]):
        print("\nFailed: the server's process had the client's half.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
