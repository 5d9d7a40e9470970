"""A process in which OpenFHE evaluates circuits: openfhe_worker.py, in an interpreter that
openfhe_peer.py finds or makes."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openfhe_peer
import pytest

Operation = tuple[Any, ...]
"""Name, number of the operand, and what else it takes."""


def in_whorl(operation: Operation, wires: list[Any]) -> Any:
    """The result of an operation that both schemes have, on Whorl's arrays."""
    name, first, *rest = operation
    a = wires[first]
    match name:
        case "add":
            return a + wires[rest[0]]
        case "sub":
            return a - wires[rest[0]]
        case "multiply":
            return a * wires[rest[0]]
        case "square":
            return a.square()
        case "negate":
            return -a
        case "rotate":
            return a.rotate(rest[0])
        case "add_plain" | "add_number":
            return a + rest[0]
        case "sub_plain":
            return a - rest[0]
        case "multiply_plain" | "multiply_number":
            return a * rest[0]
    raise ValueError(name)


def skip_without_openfhe() -> None:
    """Fails if WHORL_PEER_PYTHON names an interpreter that does not serve."""
    if why := openfhe_peer.find().why_absent:
        if "WHORL_PEER_PYTHON" in os.environ:
            pytest.fail(f"WHORL_PEER_PYTHON does not import openfhe: {why}")
        pytest.skip(why)


class Peer:
    """What the process says of its context is in `about`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.about = self._answer()
        self.N = int(self.about["N"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "OpenFHE's process ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self, inputs: list[Any], operations: list[Operation]) -> dict[str, Any]:
        """Sends and returns plain lists and numbers."""
        assert self._process.stdin is not None
        request = {"inputs": inputs, "operations": operations}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()


@contextmanager
def peer_process(scheme: str, shape: Mapping[str, Any]) -> Iterator[Peer]:
    worker = Path(__file__).parent / "openfhe_worker.py"
    with subprocess.Popen(
        [openfhe_peer.find().python, str(worker), scheme, json.dumps(shape)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Peer(process)
