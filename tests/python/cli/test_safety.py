"""What the command does with secrets, with Ctrl-C, and with what it is given."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import whorl
from cli_support import CLI, Shell
from support import run_python
from whorl.binfhe import Client, parameters
from whorl.cli import _outputs, _passphrase

SET = "openfhe_1_5/TOY"
PHRASE = ("--passphrase-file", "phrase", "--allow-insecure")
KEYGEN = ("keygen", "--params", SET, *PHRASE)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder with a passphrase."""
    (tmp_path / "phrase").write_text("correct horse\n", encoding="utf-8")
    return Shell(tmp_path)


@pytest.fixture
def keyed(shell: Shell) -> Shell:
    """A folder with a secret key, too."""
    Client(parameters(SET, allow_insecure=True)).save(
        shell.folder / "secret.whorl", "correct horse"
    )
    return shell


@pytest.fixture
def open_umask() -> Iterator[None]:
    """New files are for everybody, unless their mode says otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ---- secret keys are not lost


@pytest.mark.parametrize(
    ("secret", "keys"),
    [
        ("a", "a"),
        ("a", "here/here/a"),
        ("link", "a"),
        ("a", "link"),
        ("here/a", "a"),
        ("keys.whorl", ""),
    ],
)
def test_keys_do_not_replace_the_secret_key(shell: Shell, secret: str, keys: str) -> None:
    (shell.folder / "link").symlink_to("a")
    (shell.folder / "here").symlink_to(".")
    given = ("--secret", secret, *(("--keys", keys) if keys else ()))
    message = shell(*KEYGEN, *given, "--force", code=2)
    assert f"--secret {secret} and --keys {keys or 'keys.whorl'} are one file" in message
    assert sorted(path.name for path in shell.folder.iterdir()) == ["here", "link", "phrase"]


def test_keys_do_not_replace_the_secret_key_by_a_hard_link(shell: Shell) -> None:
    (shell.folder / "a").touch()
    (shell.folder / "b").hardlink_to(shell.folder / "a")
    message = shell(*KEYGEN, "--secret", "a", "--keys", "b", "--force", code=2)
    assert "--secret a and --keys b are one file" in message
    assert (shell.folder / "a").stat().st_size == 0


def test_force_spares_secret_keys(keyed: Shell) -> None:
    secret = keyed.folder / "secret.whorl"
    before = secret.read_bytes()
    for arguments in (
        KEYGEN,
        (*KEYGEN, "--force"),
        (*KEYGEN, "--secret", "s", "--keys", "secret.whorl", "--force", "--overwrite-secret"),
        ("encrypt", "1", "-o", "secret.whorl", "--force", *PHRASE),
        ("decrypt", "c", "-o", "secret.whorl", "--force", *PHRASE),
        ("eval", "~c", "c=c", "-o", "secret.whorl", "--force", "--keys", "k", "--allow-insecure"),
        ("keygen", "--scheme", "bgv", "--depth", "1", "--passphrase-file", "phrase", "--force"),
        ("bench", "keygen", "--params", SET, "--record", "secret.whorl"),
    ):
        message = keyed(*arguments, code=2)
        assert "secret.whorl" in message and "holds a secret key" in message
        assert "--overwrite-secret" in message or arguments[0] == "bench"
        assert secret.read_bytes() == before
        assert sorted(path.name for path in keyed.folder.iterdir()) == ["phrase", "secret.whorl"]
    keyed(*KEYGEN, "--overwrite-secret")
    assert secret.read_bytes() != before
    assert "keys.whorl exists; --force" in keyed(*KEYGEN, "--overwrite-secret", code=2)
    assert "--overwrite-secret" in keyed("keygen", "--help")


def test_force_spares_what_could_be_a_secret_key(keyed: Shell) -> None:
    secret = keyed.folder / "secret.whorl"
    damaged = bytearray(secret.read_bytes())
    damaged[4] ^= 0x40  # the format version
    secret.write_bytes(damaged)
    assert "could hold a secret key" in keyed(*KEYGEN, "--force", code=2)
    assert secret.read_bytes() == damaged
    secret.write_bytes(b"notes")
    keyed(*KEYGEN, "--force")
    assert "secret key" in keyed("info", "secret.whorl")


# ---- secrets are for their owner


def test_decrypted_values_are_for_their_owner(keyed: Shell, open_umask: None) -> None:
    keyed("encrypt", "1", "0", "-o", "c", *PHRASE)
    for name in ("values.txt", "values.npy"):
        path = keyed.folder / name
        keyed("decrypt", "c", "-o", name, *PHRASE)
        assert mode(path) == 0o600
        path.chmod(0o666)
        inode = path.stat().st_ino
        keyed("decrypt", "c", "-o", name, "--force", *PHRASE)
        assert mode(path) == 0o600 and path.stat().st_ino != inode  # created, not changed
    assert (keyed.folder / "values.txt").read_text() == "1\n0\n"
    assert np.load(keyed.folder / "values.npy").tolist() == [1, 0]
    keyed(*KEYGEN, "--secret", "s")
    assert mode(keyed.folder / "s") == 0o600
    assert not list(keyed.folder.glob(".*"))
    message = keyed("decrypt", "c", "-o", "absent/values.txt", *PHRASE, code=1)
    assert message == "whorl: absent/values.txt: No such file or directory\n"


def test_private_files_are_private_from_the_start(tmp_path: Path, open_umask: None) -> None:
    path = tmp_path / "values"
    with _outputs.private_file(path, True) as stream:
        assert stat.S_IMODE(os.fstat(stream.fileno()).st_mode) == 0o600
        stream.write(b"1")
        assert not path.exists()
    assert path.read_bytes() == b"1"
    with pytest.raises(ZeroDivisionError), _outputs.private_file(path, True) as stream:
        stream.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"1"
    (tmp_path / "link").symlink_to("values")
    with _outputs.private_file(tmp_path / "link", True) as stream:
        stream.write(b"2")
    assert path.read_bytes() == b"2" and (tmp_path / "link").is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "values"]
    with (
        pytest.raises(FileNotFoundError, match="absent/values"),
        _outputs.private_file(tmp_path / "absent" / "values", False),
    ):
        pass
    with _outputs.private_file(Path("/dev/null"), False) as stream:
        stream.write(b"3")
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("others", [0o640, 0o604, 0o644])
def test_a_secret_key_that_others_can_read_is_refused(keyed: Shell, others: int) -> None:
    keyed("encrypt", "1", "-o", "c", *PHRASE)
    (keyed.folder / "secret.whorl").chmod(others)
    for arguments in (("decrypt", "c"), ("encrypt", "1", "-o", "d")):
        message = keyed(*arguments, *PHRASE, code=2)
        assert f"{others:04o}" in message and "chmod 600 secret.whorl" in message
    (keyed.folder / "secret.whorl").chmod(0o600)
    assert keyed("decrypt", "c", *PHRASE) == "1\n"


# ---- passphrases


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
    (tmp_path / "phrase").write_bytes(content)
    read = _passphrase.read(tmp_path / "phrase", confirm=False)
    assert (read.encode() if isinstance(read, str) else read) == phrase


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n"])
def test_an_empty_passphrase_file_is_refused(shell: Shell, content: bytes) -> None:
    (shell.folder / "phrase").write_bytes(content)
    assert "phrase: the passphrase in it is empty" in shell(*KEYGEN, code=2)


def test_the_second_line_of_a_passphrase_counts(keyed: Shell) -> None:
    (keyed.folder / "phrase").write_text("correct horse\nbattery\n", encoding="utf-8")
    assert "PassphraseError" in keyed("encrypt", "1", "-o", "c", *PHRASE, code=1)


# ---- Ctrl-C


@pytest.mark.parametrize("module", ["numpy", "typer", "rich.console", "whorl.cli._main"])
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
from whorl._keyholder import KeyHolder
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
        ("demo", "--built-in", "--params", "openfhe_1_5/STD256Q"),
        ("demo", "tree"),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_ctrl_c_at_work(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    if arguments == ("demo", "tree"):
        pytest.importorskip("sklearn", reason="needs scikit-learn (extra: apps)")
        tmp_path = Path(__file__).resolve().parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", CLI, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(whorl.__file__).parent.parent)},
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


# ---- what is given


def test_negative_numbers_are_values(keyed: Shell) -> None:
    assert "-5" in keyed("encrypt", "-5", "-o", "c", *PHRASE, code=1)
    assert "-1" in keyed("encrypt", "0", "-1,1", "-o", "c", *PHRASE, code=1)
    for unknown in ("--nonsense", "-x", "--forse"):
        assert f"No such option: {unknown}" in keyed(
            *("encrypt", "1", unknown, "-o", "c", *PHRASE), code=2
        )
    whorl.bgv.Client(whorl.bgv.parameters(depth=1)).save(keyed.folder / "b", "correct horse")
    secret = ("--secret", "b", "--passphrase-file", "phrase")
    keyed("encrypt", "-5", "3", "-1,-2", "-o", "c", *secret)
    shown = [int(x) for x in keyed("decrypt", "c", "--first", "4", *secret).split()]
    assert [x % 65537 for x in shown] == [65532, 3, 65536, 65535]
    assert "messages" in keyed("encrypt", "-9" * 20, "-o", "d", *PHRASE, code=2)


def test_params_takes_what_search_prints(shell: Shell) -> None:
    found = shell("params", "search", "--top", "2", "--json")
    assert len(found.splitlines()) == 2
    wanted = parameters(json.loads(found.splitlines()[0]))
    (shell.folder / "sets.jsonl").write_text(found, encoding="utf-8")
    pair = ("--passphrase-file", "phrase")
    shell("keygen", "--params", "sets.jsonl", *pair)
    secret = ("--secret", "s2", "--keys", "k2")
    shell("keygen", "--params", "-", *pair, *secret, input=found)
    for keys in ("keys.whorl", "k2"):
        made = whorl.binfhe.EvaluationKeys.load(shell.folder / keys).parameters
        assert made == wanted
    bench = ("bench", "run", "--params", "-", "--runs", "1", "--batch", "1", "--device", "cpu")
    [one, _] = shell(*bench, "--json", input=found).splitlines()
    assert json.loads(one)["params"] == wanted.name
    (shell.folder / "indented").write_text(json.dumps(wanted.literal(), indent=2))
    shell("keygen", "--params", "indented", *pair, "--force", "--overwrite-secret")


def test_params_says_what_is_wrong(shell: Shell) -> None:
    (shell.folder / "list").write_text("[1]", encoding="utf-8")
    assert "--params list: a JSON object is needed, not [1]" in shell(
        *("keygen", "--params", "list", *PHRASE), code=2
    )
    assert "--params phrase: this is not JSON" in shell("keygen", "--params", "phrase", code=2)
    assert "--params -" in shell("keygen", "--params", "-", *PHRASE, code=2, input="")
    assert "W128_P64" in shell("keygen", "--params", "W128_P65", *PHRASE, code=1)


def test_info_tells_what_ciphertexts_are(shell: Shell) -> None:
    def told(name: str) -> dict[str, str]:
        lines = shell("info", name).splitlines()
        return dict((line[: line.index("  ")], line.rpartition("  ")[2]) for line in lines)

    client = Client(parameters(SET, allow_insecure=True))
    client.encrypt([[0, 1, 1], [1, 0, 1]], 4).save(shell.folder / "a")
    shown = told("a")
    assert (shown["ciphertexts"], shown["shape"]) == ("6", "(2, 3)")
    assert shown["p"] == "4, without a padding bit"
    client.encrypt(1, 2, True).save(shell.folder / "b")
    shown = told("b")
    assert (shown["ciphertexts"], shown["shape"]) == ("1", "()")
    assert shown["p"] == "2, under a padding bit"
    chosen = whorl.bgv.parameters(depth=1)
    whorl.bgv.Client(chosen).encrypt([[1, 2], [3, 4]]).save(shell.folder / "c")
    shown = told("c")
    assert (shown["ciphertexts"], shown["shape"], shown["t"]) == ("2", "(2,)", "65537")
    assert shown["values in each"] == f"{chosen.N}, in slots"
    (shell.folder / "c").write_bytes((shell.folder / "a").read_bytes()[:-1])
    assert "TruncatedError" in shell("info", "c", code=1)


def test_the_package_runs_as_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whorl", "--version"],
        env={**os.environ, "PYTHONPATH": str(Path(whorl.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"whorl {whorl.__version__}\n", "")
