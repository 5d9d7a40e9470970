"""An application: its command line, its two processes one after the other, what they cost."""

from __future__ import annotations

import argparse
import dataclasses
import math
import secrets
import statistics
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whorl import devices

from .files import read_json, write_json
from .halves import with_device
from .output import rows, size
from .processes import APPS, WORK, fresh_folder, process, send, stage


def parser_of(name: str, description: str | None) -> argparse.ArgumentParser:
    """The options that every application has."""
    parser = argparse.ArgumentParser(
        prog=f"whorl demo {name.replace('_', '-')} --",
        description=description,
        epilog=f"{APPS / name / 'README.md'} says how it works.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is chosen at random")
    parser.add_argument(
        "--workdir",
        type=Path,
        default=WORK / name,
        help="its folders server/ and client/ are made anew; default: %(default)s",
    )
    parser.add_argument("--json", type=Path, help="write all numbers there")
    return with_device(parser)


def on_gpu(device: str | None) -> bool:
    """Whether the server will take a GPU."""
    if device:
        return device.startswith("cuda")
    return any(each.usable and each.name.startswith("cuda") for each in devices())


@dataclasses.dataclass(frozen=True)
class Exchange:
    """Folders of a client and a server that know nothing of each other but what is sent."""

    name: str
    server: Path
    client: Path

    @classmethod
    def begin(cls, name: str, workdir: Path) -> Exchange:
        """Both folders, empty."""
        return cls(name, fresh_folder(workdir / "server"), fresh_folder(workdir / "client"))

    def run(
        self,
        arguments: argparse.Namespace,
        stages: tuple[str, str, str],
        options: Iterable[str] = (),
        answers: Iterable[str] = ("answer",),
        result: str = "read",
        bars: bool = False,
    ) -> dict[str, Any]:
        """The protocol: what each process tells, and the bytes that went between them.

        `stages` says what the client, the server and the client again do; `options` are the
        server's own. It gives the files `answers`; the client writes what it read to
        `result`.json. With `bars` client and server draw bars of their own.
        """
        passphrase = secrets.token_hex(16)
        threads = ("--threads", str(arguments.threads))
        client = f"{self.name}.client"
        with stage(stages[0], bars):
            process(client, "prepare", self.client, *threads, passphrase=passphrase)
        sizes = {
            name: send(f"{name}.whorl", self.client, self.server) for name in ("keys", "query")
        }
        device = ["--device", arguments.device] if arguments.device else []
        with stage(stages[1], bars):
            seconds = process(f"{self.name}.server", self.server, *threads, *device, *options)
        sizes |= {name: send(f"{name}.whorl", self.server, self.client) for name in answers}
        with stage(stages[2], bars):
            process(client, "read", self.client, passphrase=passphrase)
        return {
            "prepared": read_json(self.client / "prepared.json"),
            "served": read_json(self.server / "served.json") | {"process_seconds": seconds},
            "read": read_json(self.client / f"{result}.json"),
            "bytes": sizes,
        }


def announce_keys(count: int, workdir: Path) -> None:
    """Says what keys of so many bytes will take, before they are made."""
    print(
        f"note: keys take {size(count)} in each folder of {workdir}, client and server, "
        f"and {size(2 * count)} of memory",
        file=sys.stderr,
        flush=True,
    )


def rows_of_bootstraps(r: dict[str, Any], back: str) -> tuple[tuple[str, str], ...]:
    """What the server's bootstraps, keys and ciphertexts took, for `rows`; `back` says what came
    back."""
    refreshed = r["seconds_bootstraps"]
    boots = (
        f"{refreshed[0]:.2f} s the first, {statistics.median(refreshed):.2f} s the median"
        if refreshed
        else "none"
    )
    return (
        ("server, a bootstrap", boots),
        ("server's device", r["device"]),
        ("server's preparation, once", f"{r['seconds_server_load']:.2f} s"),
        ("key generation, once", f"{r['seconds_keys']:.2f} s"),
        ("encryption", f"{r['seconds_encryption']:.2f} s"),
        (f"evaluation keys, {r['rotation_keys']} rotations, once", size(r["bytes_keys"])),
        (f"to the server: {r['ciphertexts']} ciphertexts", size(r["bytes_query"])),
        (back, size(r["bytes_answer"])),
        ("", ""),
        ("parameters", r["parameters"].splitlines()[0]),
        ("estimated security", f"{math.floor(r['security_bits'])} bits"),
    )


def costs(told: dict[str, Any], count: int, question: str, item: str) -> dict[str, Any]:
    """What `count` questions to an application took and weighed, each asking for an `item`."""
    served, sizes = told["served"], told["bytes"]
    return {
        **overheads(told),
        f"seconds_per_{question}": served["batch_seconds"] / count,
        f"cpu_seconds_per_{question}": served["batch_cpu_seconds"] / count,
        f"seconds_one_{question}": served["one_seconds"],
        f"bytes_query_per_{item}": sizes["query"] / count,
        f"bytes_answer_per_{item}": sizes["answer"] / count,
    }


def overheads(told: dict[str, Any]) -> dict[str, Any]:
    """The parameters and the device of any application, and what comes once."""
    prepared, served = told["prepared"], told["served"]
    return {
        "parameters": served["parameters"],
        "security_bits": served["security_bits"],
        "device": served["device"],
        "seconds_keys": prepared["keys_seconds"],
        "seconds_encryption": prepared["encryption_seconds"],
        "seconds_server_load": served["load_seconds"],
        "seconds_decryption": told["read"]["decryption_seconds"],
        "bytes_keys": told["bytes"]["keys"],
        "server_modules": served["modules"],
    }


def finish(
    result: dict[str, Any], started: float, arguments: argparse.Namespace, failure: str | None
) -> int:
    """Ends with the time of everything and the file of numbers; gives the exit status.

    `failure` says what went wrong, if anything did. The server's process must not have had the
    client's half.
    """
    result["seconds_total"] = time.perf_counter() - started
    rows(("everything", f"{result['seconds_total']:.1f} s"))
    if arguments.json:
        write_json(arguments.json, result)
    if not failure and any("client" in module for module in result["server_modules"]):
        failure = "the server's process had the client's half"
    if failure:
        print(f"\nFailed: {failure}.", file=sys.stderr)
    return 1 if failure else 0
