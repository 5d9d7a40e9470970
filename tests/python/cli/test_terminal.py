"""What the command shows on a terminal, and what only there: bars, and the question for a
passphrase."""

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import CLI, SET, Here, write_phrase
from support import environment, run_python
from whorl._core import progress as _progress
from whorl.binfhe import Client

KEY = ("--params", SET, "--allow-insecure")


class Terminal:
    """Standard input and error are a terminal, whose screen is `screen`; standard output is not."""

    def __init__(self, folder: Path, *args: str, before: str = "") -> None:
        self._master, slave = pty.openpty()
        around = environment(TERM="xterm-256color", COLUMNS="80")
        around.pop("WHORL_PASSPHRASE", None)
        self.process = subprocess.Popen(
            # A session of its own, whose terminal it is: getpass asks there.
            [sys.executable, "-c", f"{OWN_TERMINAL}\n{before}\n{CLI}", *args],
            cwd=folder,
            env=around,
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.screen = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                self.screen += os.read(self._master, 4096).decode(errors="replace")
            except OSError:  # EIO: nobody has the other end any more
                return

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str, times: int = 1) -> None:
        end = time.monotonic() + 60
        while self.screen.count(text) < times:
            assert time.monotonic() < end and self.process.poll() is None, self.screen
            time.sleep(0.01)

    def done(self) -> tuple[int, str]:
        """Exit status and standard output."""
        output, _ = self.process.communicate(timeout=120)
        self._reader.join()
        os.close(self._master)
        return self.process.returncode, output.decode()


OWN_TERMINAL = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
AT_ONCE = "import whorl._core.progress; whorl._core.progress._DELAY = 0"
"""Bars are drawn also for what is done in a moment."""


@pytest.fixture
def shell(tmp_path: Path) -> Here:
    """A folder with a passphrase and keys."""
    write_phrase(tmp_path)
    run = Here(tmp_path)
    run("keygen", *KEY, "--passphrase-file", "phrase")
    return run


def test_bars(shell: Here) -> None:
    phrase = ("--passphrase-file", "phrase", "--allow-insecure")
    others = ("--secret", "s", "--keys", "k")
    once = ("--params", SET, "--runs", "2", "--batch", "8", "--device", "cpu")
    bits = "01" * 50
    for arguments, shown in (
        (("keygen", *KEY, "--passphrase-file", "phrase", *others), "evaluation keys"),
        (("encrypt", *bits, "-o", "a", *phrase), "encrypting"),
        (("eval", "a & a", "a=a", "-o", "b", "--allow-insecure", "--device", "cpu"), "evaluating"),
        (("decrypt", "b", *phrase), "decrypting"),
        (("bench", "gates", "--gate", "nand", *once), "nand, one"),
        (("bench", "keygen", *once[:4]), "keygen"),
        (("bench", "bgv", "--depth", "1", "--op", "add", *once[2:4]), "add, 1"),
    ):
        terminal = Terminal(shell.folder, *arguments, before=AT_ONCE)
        status, output = terminal.done()
        assert status == 0, terminal.screen
        assert f"{shown} " in terminal.screen and "━" in terminal.screen, terminal.screen
        assert "━" not in output
        assert "\x1b[2K" in terminal.screen  # the bar's line is empty again
    # The pieces that the bar of eval has made are one array, and the right one.
    assert shell("decrypt", "b", *phrase) == " ".join(bits) + "\n"


def test_no_bars_elsewhere(shell: Here) -> None:
    arguments = ("encrypt", "0", "-o", "a", "--allow-insecure", "--passphrase-file", "phrase")
    done = run_python(f"{AT_ONCE}\n{CLI}", *arguments, cwd=shell.folder)
    assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout


def test_a_bar_waits_before_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[float] = []
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes standard error for a terminal
    monkeypatch.setattr(
        "rich.progress.Progress.start", lambda self: started.append(time.monotonic())
    )
    monkeypatch.setattr(_progress, "_DELAY", 60)
    for itself in (True, False):
        with _progress.bar("short", itself) as report:
            report(1, 2)
        assert not started
    monkeypatch.setattr(_progress, "_DELAY", 0.05)
    began = time.monotonic()
    with _progress.bar("long") as report:
        while not started and time.monotonic() < began + 60:  # by itself
            time.sleep(0.01)
        assert started and started[0] - began >= 0.05
    with _progress.bar("long", False) as report:
        time.sleep(0.2)
        assert len(started) == 1  # only a report draws it
        report(1, 2)
        assert len(started) == 2


def test_a_passphrase_is_asked_for(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "keygen", *KEY)
    for question in ("Passphrase: ", "Again: "):
        terminal.wait_for(question)
        terminal.type("correct horse\n")
    status, output = terminal.done()
    assert status == 0 and "secret.whorl: secret key" in output
    assert "correct" not in terminal.screen + output
    assert Client.load(tmp_path / "secret.whorl", "correct horse", allow_insecure=True)


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        (lambda terminal: terminal.type("one\n"), 2, "the two differ"),
        (lambda terminal: terminal.type("\4"), 2, "none was given"),
        (lambda terminal: terminal.type("\n"), 2, "empty"),
        (lambda terminal: terminal.type("\3"), 130, "whorl: interrupted"),
    ],
    ids=["other", "end", "empty", "ctrl-c"],
)
def test_a_passphrase_that_is_not_given(
    tmp_path: Path, answer: Callable[[Terminal], None], status: int, message: str
) -> None:
    terminal = Terminal(tmp_path, "keygen", *KEY)
    terminal.wait_for("Passphrase: ")
    answer(terminal)
    if message == "the two differ":
        terminal.wait_for("Again: ")
        terminal.type("two\n")
    assert terminal.done() == (status, "")
    assert message in terminal.screen and "Traceback" not in terminal.screen
    assert not list(tmp_path.iterdir())


def test_ctrl_c_ends_a_bar(shell: Here) -> None:
    arguments = ("bench", "keygen", "--params", SET, "--runs", "1000000")
    terminal = Terminal(shell.folder, *arguments)
    terminal.wait_for("━")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.done() == (130, "")
    assert terminal.screen.rstrip().endswith("whorl: interrupted\x1b[0m")
    assert "\x1b[?25h" in terminal.screen  # the cursor is back
