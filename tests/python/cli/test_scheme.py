"""A scheme's commands, which are made of what it registers."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from cli_support import Shell
from typer.testing import CliRunner
from whorl import binfhe
from whorl.cli import Scheme, register
from whorl.cli._scheme import settings


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("bgv")
    (folder / "phrase").write_text("correct horse\n", encoding="utf-8")
    run = Shell(folder)
    request = ("--key", "relinearise=3", "--key", "rotations=1,", "--key", "swap_rows=true")
    run("bgv", "keygen", "--set", "depth=1", *request, "--passphrase-file", "phrase")
    return run


PHRASE = ("--passphrase-file", "phrase")


def test_vectors_from_end_to_end(shell: Shell) -> None:
    shell("bgv", "encrypt", "1", "2", "3", "-o", "x.whorl", *PHRASE)
    shell("bgv", "encrypt", "4,5,6", "-o", "y.whorl", *PHRASE)
    for op, files, expected in (
        ("add", ("x", "y"), "5 7 9"),
        ("multiply", ("x", "y"), "4 10 18"),
        ("square", ("y",), "16 25 36"),
        ("shrink", ("x",), "1 2 3"),
    ):
        inputs = (f"{file}.whorl" for file in files)
        shell("bgv", "eval", "--op", op, *inputs, "-o", f"{op}.whorl", "--device", "cpu")
        shown = shell("bgv", "decrypt", f"{op}.whorl", "--first", "3", *PHRASE)
        assert shown == expected + "\n"
    assert "BGV ciphertexts" in shell("info", "x.whorl")


def test_bgv_is_told_what_is_wrong(shell: Shell) -> None:
    shell("bgv", "encrypt", "1", "-o", "one.whorl", *PHRASE)
    for arguments, part in (
        (("--op", "divide", "one.whorl"), "divide"),
        (("--op", "add", "one.whorl"), "expected 2"),
        (("--op", "negate", "one.whorl", "--force", "--keys", "secret.whorl"), "secret key"),
    ):
        code = 1 if "--keys" in arguments else 2
        assert part in shell("bgv", "eval", *arguments, "-o", "r.whorl", code=code)
    for given in (["depth"], ["depth="], ["depth=x"]):
        with pytest.raises(ValueError, match="NAME"):
            settings(given)


def test_another_scheme_is_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    scheme = Scheme(
        name="bits",
        help="Bits, one a ciphertext.",
        module="whorl.binfhe",
        operations={"nand": (2, lambda server, a, b: server.nand(a, b))},
        row=False,
        parameters={"literal": "openfhe_1_5/TOY", "allow_insecure": True},
    )
    register(app, scheme)
    register(app, Scheme("others", "More of them.", "whorl.binfhe", {}))
    assert scheme.part("Server") is binfhe.Server
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHORL_PASSPHRASE", "correct horse")
    runner = CliRunner()
    for command in (
        "keygen",
        "encrypt 0 1 1 -o a --allow-insecure",
        "encrypt 1 0 1 -o b --allow-insecure",
        "eval --op nand a b -o c --device cpu --allow-insecure",
        "decrypt c --allow-insecure",
    ):
        done = runner.invoke(app, ["bits", *command.split()])
        assert done.exit_code == 0, done.output
    assert done.output.endswith("1 1 0\n")
