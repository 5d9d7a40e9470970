"""Applications of apps/ as their users run them, and what any of their servers must not have."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from whorl import binfhe

APPS = Path(__file__).resolve().parents[2] / "apps"
sys.path.insert(0, str(APPS))


def _python(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(APPS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def make_mnist(folder: Path, images: Any, labels: Any) -> None:
    """The four files of MNIST, the same for training and test."""
    for prefix in ("train", "t10k"):
        for kind, values in (("images-idx3", images), ("labels-idx1", labels)):
            array = np.asarray(values, dtype=np.uint8)
            sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
            data = bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()
            (folder / f"{prefix}-{kind}-ubyte.gz").write_bytes(gzip.compress(data))


def run_application(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return _python(APPS / name / "run.py", *arguments)


def numbers_of(name: str, work: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """What a run in `work` tells in its file of numbers, and in words."""
    numbers = work.parent / "report.json"
    done = run_application(name, *arguments, "--workdir", work, "--json", numbers)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(numbers.read_text()), done.stdout


def check_refused(name: str, *each: tuple[str | Path, ...]) -> None:
    """Arguments that an application has not."""
    for arguments in each:
        done = run_application(name, *arguments)
        assert done.returncode == 2 and "error" in done.stderr, arguments


def with_few_coefficients(name: str, /, n: int = 16, **changes: Any) -> binfhe.Parameters:
    """A named set of FHEW/TFHE with so short a key that a rotation takes a moment."""
    literal: Any = dict(binfhe.parameters(name, allow_insecure=True).literal())
    [(_, log_base, digits)] = literal["gadget"]
    few = {"n": n, "gadget": [(n, log_base, digits)], **changes}
    return binfhe.parameters({**literal, **few}, allow_insecure=True)


def run_server(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return _python("-m", f"{name}.server", folder, "--device", "cpu")


def check_server_apart(
    name: str,
    work: Path,
    told: dict[str, Any],
    module: str,
    owned: str | set[str],
    answers: set[str],
) -> None:
    """The server was not given, and needs, nothing of the client's but keys and a query.

    `module`: what it has of Whorl; `owned`: its own files; `answers`: the files it sent.
    """
    assert module in told["server_modules"]
    assert not [each for each in told["server_modules"] if "client" in each]
    server, client = work / "server", work / "client"
    own = {owned} if isinstance(owned, str) else owned
    carried = {"keys.whorl", "query.whorl", "served.json"}
    assert {path.name for path in server.iterdir()} == answers | own | carried
    assert not own & {path.name for path in client.iterdir()}
    answer = (server / "answer.whorl").read_bytes()
    secret = (client / "secret.key").read_bytes()
    shutil.rmtree(client)
    (server / "answer.whorl").unlink()
    again = run_server(name, server)
    assert again.returncode == 0, again.stderr
    assert (server / "answer.whorl").read_bytes() == answer  # evaluation is deterministic

    # It refuses a secret key in place of evaluation keys.
    (server / "keys.whorl").write_bytes(secret)
    refused = run_server(name, server)
    assert refused.returncode != 0 and "TypeMismatchError" in refused.stderr
