"""Passphrases: where they come from, and which are refused or warned about."""

import os
import sys
from pathlib import Path

import pytest
from cli_support import KEYGEN, PHRASE, Here, Shell, write_phrase
from whorl.cli import _demo, _passphrase


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"correct horse", b"correct horse"),
        (b"correct horse\n", b"correct horse"),
        (b"correct horse\r\n", b"correct horse"),
        (b"correct horse\n\n", b"correct horse\n"),
        (b"correct horse\r\n\r\n", b"correct horse\r\n"),
        (b"correct horse\r", b"correct horse\r"),
        (b" correct\r\nhorse \n", b" correct\r\nhorse "),
        (b"\n\n", b"\n"),
        (b"\xff\x00\n", b"\xff\x00"),
    ],
)
def test_all_of_a_file_is_the_passphrase(tmp_path: Path, content: bytes, phrase: bytes) -> None:
    write_phrase(tmp_path, content)
    read = _passphrase.read(tmp_path / "phrase", confirm=False)
    assert (read.encode() if isinstance(read, str) else read) == phrase


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n"])
def test_an_empty_passphrase_file_is_refused(shell: Shell, content: bytes) -> None:
    write_phrase(shell.folder, content)
    assert "phrase: the passphrase in it is empty" in shell(*KEYGEN, code=2)


def test_the_second_line_of_a_passphrase_counts(keyed: Shell) -> None:
    write_phrase(keyed.folder, b"correct horse\nbattery\n")
    assert "PassphraseError" in keyed("encrypt", "1", "-o", "c", *PHRASE, code=1)


def test_a_passphrase_of_the_environment_may_be_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environb, b"WHORL_PASSPHRASE", b"\xff horse")
    assert _passphrase.read(None, confirm=False) == b"\xff horse"


@pytest.mark.parametrize(("phrase", "warned"), [(b"abc", True), (b"x" * 12, False)])
def test_a_short_passphrase_is_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phrase: bytes, warned: bool
) -> None:
    said: list[str] = []
    monkeypatch.setattr(_passphrase, "warn", said.append)
    here = Here(tmp_path)
    write_phrase(tmp_path, phrase)
    here(*KEYGEN)
    here("encrypt", "1", "-o", "c", *PHRASE)  # the key is there already
    assert [text[:31] for text in said] == ["the passphrase has 3 characters"] * warned


def test_a_file_that_is_no_passphrase(shell: Shell) -> None:
    write_phrase(shell.folder, b"x" * ((1 << 16) + 1))
    assert "this is no passphrase" in shell(*KEYGEN, code=2)
    assert "this is no passphrase" in shell(*KEYGEN, "--passphrase-file", "/dev/zero", code=2)


def test_applications_are_not_told_the_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_PASSPHRASE", "correct horse")
    look = "import os, sys; sys.exit('WHORL_PASSPHRASE' in os.environ)"
    assert _demo._run([sys.executable, "-c", look]) == 0


# ---- what is given
