"""Programs that are measured in processes of their own."""

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

from common.records import Record


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
        """Of a call, as bench/peers/answers.py says them: CPU time."""
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


def in_turn(
    rounds: int, ours: Callable[[], float], theirs: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Seconds of both sides, right after one another in each round, once their caches are warm."""
    theirs(), ours()
    pairs = [(theirs(), ours()) for _ in range(rounds)]
    return [own for _, own in pairs], [peers for peers, _ in pairs]
