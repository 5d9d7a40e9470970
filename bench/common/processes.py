"""Programs that are measured in processes of their own."""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common.records import ROOT, Record


def printed(command: list[str]) -> list[Record]:
    """The records that a bench prints when it runs."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class Process:
    """A program that says who it is and then answers a line with a line, in JSON."""

    def __init__(self, command: list[str], **variables: str) -> None:
        self._command = " ".join(command)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        self.about = self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._command}: ended without an answer")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def seconds(self, op: str, runs: int) -> float:
        """CPU time of a call, as bench/peers/answers.py says it."""
        return self.answer(json.dumps({"op": op, "runs": runs}))

    def answer(self, request: str) -> float:
        """The seconds that it answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        return float(self._read()["seconds"])

    def end(self) -> None:
        """Closes its input and waits."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def worker(python: str, name: str, *shape: dict[str, Any]) -> Process:
    """The side that bench/peers/NAME_worker.py is of a comparison."""
    program = ROOT / "bench" / "peers" / f"{name}_worker.py"
    return Process([python, str(program), *map(json.dumps, shape)])


def comparison(about: str | None, rounds: int) -> argparse.ArgumentParser:
    """The options that every comparison has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--record", type=Path)
    return parser


def with_openfhe(about: str | None, rounds: int) -> argparse.ArgumentParser:
    """The same, with OpenFHE's Python."""
    parser = comparison(about, rounds)
    parser.add_argument("--peer-python", default="python3.10", help="has the `openfhe` wheel")
    return parser


def cpu_seconds(body: Callable[[], object]) -> float:
    """CPU time of this process, all threads."""
    start = time.process_time()
    body()
    return time.process_time() - start


def in_turn(
    rounds: int, ours: Callable[[], float], theirs: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Seconds of both sides, right after one another in each round, once their caches are warm."""
    theirs(), ours()
    pairs = [(theirs(), ours()) for _ in range(rounds)]
    return [own for _, own in pairs], [peers for peers, _ in pairs]
