"""What the client's and the server's process of any application do."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from .processes import passphrase_given


def with_threads(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds --threads."""
    parser.add_argument("--threads", type=int, default=0, help="default: all cores")
    return parser


def with_device(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds --device and --threads."""
    parser.add_argument("--device", help="of the server; default: the best found")
    return with_threads(parser)


def client_main(
    name: str,
    description: str | None,
    prepare: Callable[[Path, int], None],
    read: Callable[[Path], None],
) -> None:
    """Command line of a client: `prepare` makes keys and a query, `read` decrypts the answer."""
    parser = argparse.ArgumentParser(prog=f"{name}.client", description=description)
    parser.add_argument("action", choices=["prepare", "read"])
    parser.add_argument("folder", type=Path)
    arguments = with_threads(parser).parse_args()
    if arguments.action == "prepare":
        prepare(arguments.folder, arguments.threads)
    else:
        read(arguments.folder)


class Made(NamedTuple):
    """What a client has made, and the seconds that it took."""

    client: Any
    keys: Any
    query: Any
    seconds: dict[str, float]


def make_keys_and_query(
    folder: Path,
    make_client: Callable[[], Any],
    question: Callable[[Any], Any],
    **request: Any,
) -> Made:
    """Writes keys.whorl, query.whorl and secret.key of a client.

    `question` encrypts with the client; `request`: what `Client.evaluation_keys` takes.
    """
    started = time.perf_counter()
    client = make_client()
    keys = client.evaluation_keys(**request)
    keys.save(folder / "keys.whorl")
    made_keys = time.perf_counter()
    query = question(client)
    query.save(folder / "query.whorl")
    encrypted = time.perf_counter()
    client.save(folder / "secret.key", passphrase_given())
    seconds = {"keys_seconds": made_keys - started, "encryption_seconds": encrypted - made_keys}
    return Made(client, keys, query, seconds)


def server_parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Command line of a server: its folder, --device, --threads."""
    parser = argparse.ArgumentParser(prog=f"{name}.server", description=description)
    parser.add_argument("folder", type=Path)
    return with_device(parser)


class Answer(Protocol):
    """Encrypted answers in the host's memory, the first axis being that of the questions."""

    def __getitem__(self: A, key: slice, /) -> A: ...
    def to_bytes(self) -> bytes: ...


A = TypeVar("A", bound=Answer)


def answer_all(answer_to: Callable[[slice], A], started: float) -> tuple[A, dict[str, Any]]:
    """Answers one question alone and then all together, which must give it the same bits.

    `started`: when the process began to load. Gives the answers, and what is told of any server.
    """
    loaded = time.perf_counter()
    one = answer_to(slice(1))
    after_one = time.perf_counter()
    cpu = time.process_time()
    answer = answer_to(slice(None))
    after_all, cpu = time.perf_counter(), time.process_time() - cpu
    if one.to_bytes() != answer[:1].to_bytes():
        raise SystemExit("one question alone gave other bits than in the batch")
    return answer, {
        "load_seconds": loaded - started,
        "one_seconds": after_one - loaded,
        "batch_seconds": after_all - after_one,
        "batch_cpu_seconds": cpu,
        "modules": modules(),
    }


def timed_bootstraps(server: Any) -> tuple[Callable[[Any], Any], list[float]]:
    """A function that bootstraps arrays of the server, and the seconds of each of its calls."""
    seconds: list[float] = []

    def timed(x: Any) -> Any:
        server.synchronise()
        before = time.perf_counter()
        refreshed = x.bootstrap()
        server.synchronise()
        seconds.append(time.perf_counter() - before)
        return refreshed

    return timed, seconds


def modules() -> list[str]:
    """What the process has of Whorl; a server's has nothing of the client."""
    return sorted(name for name in sys.modules if name.split(".")[0] == "whorl")
