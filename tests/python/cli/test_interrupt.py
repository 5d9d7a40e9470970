"""Ctrl-C anywhere: one line, status 130, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import whorl
from cli_support import CLI, SET, Shell
from support import environment, run_python


def test_nearly_nothing_is_imported_before_ctrl_c_is_handled() -> None:
    code = f"""
import sys
before = set(sys.modules)
from whorl.cli import _interrupt
def told(handle=_interrupt.end_at_once):
    handle()
    print(*sorted(set(sys.modules) - before))
    raise SystemExit
_interrupt.end_at_once = told
{CLI}
"""
    done = run_python(code)
    expected = ["_signal", "whorl", "whorl.cli", "whorl.cli._interrupt"]
    assert set(done.stdout.split()) <= {*expected, "__future__"}, done.stderr


@pytest.mark.parametrize("delay", [0.02, 0.04, 0.06, 0.1, 0.15, 0.25, 0.5, 1])
def test_ctrl_c_from_the_start(delay: float) -> None:
    # A signal that comes before the interpreter has come to the first line of ours, and a moment
    # later, when the handler stands, is Python's to answer: then another is sent, later.
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", CLI, "bench", "keygen", "--params", SET, "--runs", "1000000"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        if (process.returncode, errors, output) == (130, "whorl: interrupted\n", ""):
            return
        assert process.returncode in (1, -signal.SIGINT, 130), errors
        for module in ("whorl/cli/_main", "numpy", "typer"):
            assert module not in errors
        delay += 0.02
    pytest.fail(errors)


@pytest.mark.parametrize(
    "module", ["whorl._server", "numpy", "typer", "rich.console", "whorl.cli._main"]
)
def test_ctrl_c_during_imports(module: str) -> None:
    code = f"""
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
{CLI}
"""
    done = run_python(code, "info")
    assert (done.returncode, done.stderr, done.stdout) == (130, "whorl: interrupted\n", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("keygen", "--params", "openfhe_1_5/STD256Q"),
        ("keygen", "--scheme", "bgv", "--rotations", ",".join("123456789")),
    ],
    ids=["binfhe", "bgv"],
)
def test_ctrl_c_while_keys_are_made(shell: Shell, arguments: tuple[str, ...]) -> None:
    press = """
import os, signal, threading
from whorl._core.keyholder import KeyHolder
def generate(*arguments, make=KeyHolder._generate_keys):
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    return make(*arguments)
KeyHolder._generate_keys = generate
"""
    arguments = (*arguments, "--passphrase-file", "phrase", "--threads", "1")
    done = run_python(press + CLI, *arguments, cwd=shell.folder)
    assert (done.returncode, done.stderr, done.stdout) == (130, "whorl: interrupted\n", "")
    assert [path.name for path in shell.folder.iterdir()] == ["phrase"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("bench", "keygen", "--params", SET, "--runs", "1000000"),
        ("bench", "gates", "--params", SET, "--batch", "500000", "--device", "cpu"),
        ("params", "search", "-p", "8"),
        ("demo", "tree"),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_ctrl_c_at_work(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    if arguments == ("demo", "tree"):
        tmp_path = Path(__file__).resolve().parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", CLI, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
        start_new_session=True,
    )
    time.sleep(2)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    sent = time.perf_counter()
    # The pipes are closed only when all processes that the command started are gone.
    _, errors = process.communicate(timeout=60)
    assert time.perf_counter() - sent < 3
    assert (process.returncode, errors) == (130, "whorl: interrupted\n")


def test_ctrl_c_that_is_ignored_stays_ignored() -> None:
    press = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    press += "; import whorl.cli._main as m; work = m._status"
    press += "; m._status = lambda: os.kill(os.getpid(), signal.SIGINT) or work()"
    done = run_python(f"{press}\n{CLI}", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"whorl {whorl.__version__}\n"
