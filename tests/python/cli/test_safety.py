"""What the command does with secrets, with failures, and with what it is given."""

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import whorl
from cli_support import CLI, KEYGEN, PHRASE, SET, Here, Shell, write_phrase
from support import environment, run, run_python
from whorl.binfhe import Client, parameters
from whorl.cli import _outputs


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


# ---- nothing is lost between a check and what it allows, and nothing is left half done


def other_files(folder: Path, *known: str) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in known)


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with _outputs.Staged(path, lambda: _outputs.new_file(path, False)) as staged:
        staged.temporary.write_bytes(b"mine")
        path.write_bytes(b"somebody's")
        with pytest.raises(ValueError, match="out exists; --force"):
            staged.commit()
    assert path.read_bytes() == b"somebody's" and other_files(tmp_path) == ["out"]


def test_a_file_that_appears_in_the_last_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    monkeypatch.setattr(_outputs.os.path, "lexists", lambda _: False)
    with _outputs.Staged(path, lambda: None) as staged:
        staged.temporary.write_bytes(b"mine")
        path.write_bytes(b"somebody's")
        with pytest.raises(FileExistsError, match="out"):
            staged.commit()
    assert path.read_bytes() == b"somebody's" and other_files(tmp_path) == ["out"]


def test_a_secret_key_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with _outputs.Staged(path, lambda: _outputs.new_file(path, True)) as staged:
        staged.temporary.write_bytes(b"mine")
        Client(parameters(SET, allow_insecure=True)).save(path, "correct horse")
        with pytest.raises(ValueError, match="holds a secret key"):
            staged.commit()
    assert _outputs.is_secret_key(path) and other_files(tmp_path) == ["out"]


def test_where_files_have_one_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(_outputs.os, "link", link)
    with _outputs.private_file(tmp_path / "out", False) as stream:
        stream.write(b"1")
    assert (tmp_path / "out").read_bytes() == b"1" and other_files(tmp_path) == ["out"]


def test_keys_are_made_as_a_pair_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_phrase(tmp_path)
    shell = Here(tmp_path)

    def full(_: object, __: object) -> None:
        raise whorl.IoError("keys: no space left")

    with monkeypatch.context() as patch:
        patch.setattr(whorl.binfhe.EvaluationKeys, "save", full)
        assert "no space" in shell(*KEYGEN, code=1)
    assert other_files(tmp_path) == ["phrase"]

    def meanwhile(self: Client, path: Path, phrase: bytes, save: Any = Client.save) -> None:
        save(self, path, phrase)
        (tmp_path / "secret.whorl").write_bytes(b"somebody's")

    with monkeypatch.context() as patch:
        patch.setattr(Client, "save", meanwhile)
        assert "secret.whorl exists" in shell(*KEYGEN, code=2)
    assert other_files(tmp_path) == ["phrase", "secret.whorl"]
    assert (tmp_path / "secret.whorl").read_bytes() == b"somebody's"


def test_what_killed_commands_leave_goes(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from whorl.cli._outputs import Staged
staged = Staged(Path("out"), lambda: None)
staged.temporary.write_bytes(b"half")
if len(sys.argv) > 1:
    os.kill(os.getpid(), signal.SIGKILL)
print("ready", flush=True)
sys.stdin.read()
"""
    run_python(code, "die", cwd=tmp_path)
    assert len(other_files(tmp_path)) == 1
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as alive:
        assert alive.stdout is not None and alive.stdout.readline() == "ready\n"
        [beside] = other_files(tmp_path)  # the dead one's is gone
        (tmp_path / f"{beside[:24]}mine").write_bytes(b"a file of that name")
        with _outputs.private_file(tmp_path / "out", False) as stream:
            stream.write(b"1")
        assert beside in other_files(tmp_path)  # that of the living is not
        alive.kill()
    with _outputs.private_file(tmp_path / "out", True) as stream:
        stream.write(b"2")
    assert other_files(tmp_path) == [f"{beside[:24]}mine", "out"]


def test_a_link_is_followed_only_where_it_leads_somewhere(keyed: Shell) -> None:
    (keyed.folder / "link").symlink_to("elsewhere")
    for arguments in (("encrypt", "1"), ("decrypt", "c")):
        message = keyed(*arguments, "-o", "link", *PHRASE, code=2)
        assert "link exists; --force" in message
    assert other_files(keyed.folder) == ["link", "phrase", "secret.whorl"]


def test_outputs_are_looked_at_first(keyed: Shell) -> None:
    absent = ("--passphrase-file", "absent")
    (keyed.folder / "folder").mkdir()
    for name, code, part in (
        ("folder", 2, "folder is a folder"),
        ("nowhere/out", 1, "nowhere/out: No such file or directory"),
        ("/dev/null", 2, "no regular file"),
    ):
        assert part in keyed("encrypt", "1", "-o", name, "--force", *absent, code=code)
    bench = ("bench", "keygen", "--params", SET, "--record", "nowhere/r.jsonl")
    assert "nowhere/r.jsonl: it cannot be written" in keyed(*bench, code=2)


# ---- failures are one line, and standard streams may be missing


def test_what_nobody_expected_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "import whorl.cli._info as m; m._cpu = lambda: 1 // 0"
    for shown in (False, True):
        if shown:
            monkeypatch.setenv("WHORL_TRACEBACK", "1")
        done = run_python(f"{broken}\n{CLI}", "info")
        assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
        assert ("Traceback" in done.stderr) == shown
        assert (len(done.stderr.splitlines()) == 1) != shown


def test_warnings_are_one_line() -> None:
    warn = "import whorl.cli._info as m; import warnings"
    warn += "; m._cpu = lambda: warnings.warn('cuda:0 has\\nfailed', RuntimeWarning) or ('', [])"
    done = run_python(f"{warn}\n{CLI}", "info")
    assert (done.returncode, done.stderr) == (0, "whorl: warning: cuda:0 has failed\n")


def test_no_core_is_dumped() -> None:
    shown = "import whorl.cli._info as m; import resource"
    shown += "; m._cpu = lambda: (str(resource.getrlimit(resource.RLIMIT_CORE)[0]) + ' bytes', [])"
    assert "0 bytes" in run_python(f"{shown}\n{CLI}", "info").stdout


@pytest.mark.parametrize(
    ("redirection", "status", "errors"),
    [
        ("<&-", 0, ""),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("<&- >&- 2>&-", 0, ""),
        (">/dev/full", 1, "whorl: system: No space left on device\n"),
        ("| true", 0, ""),
        ("2>&1 >/dev/null | true", 0, ""),
    ],
)
def test_standard_streams(keyed: Shell, redirection: str, status: int, errors: str) -> None:
    done = in_bash(keyed.folder, f"encrypt 1 -o c {' '.join(PHRASE)} {redirection}")
    assert (done.returncode, done.stderr) == (status, errors)
    # No stream's number was given to the file, nothing was written into it.
    assert "ciphertexts" in keyed("info", "c")
    assert keyed("decrypt", "c", *PHRASE) == "1\n"


@pytest.mark.parametrize("command", ["params list", "params list --json", "--help"])
def test_a_reader_that_has_seen_enough(tmp_path: Path, command: str) -> None:
    done = in_bash(tmp_path, f"{command} | head -n 1; echo ${{PIPESTATUS[0]}}")
    first, status = done.stdout.splitlines()
    assert (status, done.stderr) == ("0", "") and (command == "--help" or first)


@pytest.mark.parametrize("options", ["", " --json"])
def test_a_reader_that_goes_away_does_not_make_a_result_right(tmp_path: Path, options: str) -> None:
    wrong = "import whorl.cli._doctor as m; m._CHECKS = {'gate': ('toy', lambda device: False)}"
    command = f"doctor --device cpu{options} | true; echo ${{PIPESTATUS[0]}}"
    done = in_bash(tmp_path, command, wrong)
    assert (done.stdout, done.stderr) == ("1\n", "")


def in_bash(folder: Path, command: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """`whorl COMMAND` with what bash adds to it, after Python's statements `before`."""
    python = (sys.executable, f"{before}\n{CLI}")
    return run("bash", "-c", f'"$0" -c "$1" {command}', *python, cwd=folder)


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
        message = keyed(*arguments, *PHRASE, code=1)
        assert f"{others:04o}" in message and "chmod 600 secret.whorl" in message
        keyed(*arguments, *PHRASE, "--allow-readable-by-others")
    (keyed.folder / "secret.whorl").chmod(0o600)
    assert keyed("decrypt", "c", *PHRASE) == "1\n"


# ---- passphrases


@pytest.mark.parametrize("others", [0o640, 0o604, 0o620])
def test_a_passphrase_that_others_can_read_is_refused(keyed: Shell, others: int) -> None:
    (keyed.folder / "phrase").chmod(others)
    for arguments in (("encrypt", "1", "-o", "d"), ("keygen", "--params", SET, "--secret", "s")):
        message = keyed(*arguments, *PHRASE, code=2)
        assert f"{others:04o}" in message and "chmod 600 phrase" in message
    keyed("encrypt", "1", "-o", "d", *PHRASE, "--allow-readable-by-others")


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


def told_of(shell: Shell, name: str) -> dict[str, str]:
    """The rows of `info`."""
    lines = shell("info", name).splitlines()
    return dict((line[: line.index("  ")], line.rpartition("  ")[2]) for line in lines)


def test_info_tells_what_keys_serve(shell: Shell) -> None:
    chosen = whorl.bgv.parameters(depth=2)
    client = whorl.bgv.Client(chosen)
    client.evaluation_keys(4, rotations=range(1, 21), swap_rows=True).save(shell.folder / "keys")
    shown = told_of(shell, "keys")
    assert (shown["N"], shown["depth"]) == (f"{chosen.N:,}", "2")
    assert shown["t"] == "65,537 (slots)"
    assert shown["security"] == f"{chosen.security_bits:.1f} bits"
    assert shown["relinearise"] == "up to 4 parts"
    assert shown["rotations"] == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, … (20 in all)"
    assert shown["exchange of rows"] == "yes"
    assert shown["parameters"] == f"digest {chosen.digest}"
    client.public_key().save(shell.folder / "public")
    assert told_of(shell, "public")["security"] == shown["security"]
    parameters("W128_P64").save(shell.folder / "set")
    shown = told_of(shell, "set")
    assert shown["parameters"].startswith("W128_P64, digest ")
    assert shown["largest p"] == "4"


def test_info_tells_where_keys_between_schemes_lead(shell: Shell) -> None:
    literal = {**whorl.ckks.parameters("W128_BITS1_L4").literal(), "N": 1024, "name": "small"}
    chosen = whorl.ckks.parameters(literal=literal, allow_insecure=True)
    client, gates = whorl.lanes.Client(chosen), whorl.binfhe.Client(parameters("W128_P64"))
    for keys in (client.lwe_input_keys(gates), client.lwe_output_keys(gates)):
        keys.save(shell.folder / "between")
        shown = told_of(shell, "between")
        assert shown["type"] in ("CKKS keys for LWE input", "CKKS keys for LWE output")
        assert shown["key id"] == client.key_id
        assert shown["N"] == "1,024 (512 slots)"
        assert shown["LWE key id"] == gates.key_id
        assert shown["LWE parameters"] == f"W128_P64, digest {gates.parameters.digest}"
        assert shown["LWE"].startswith("n = 644, ")
        assert shown["security"] == f"{chosen.security_bits:.1f} bits"
    damaged = bytearray((shell.folder / "between").read_bytes())
    damaged[-40] ^= 1
    (shell.folder / "between").write_bytes(damaged)
    assert "CorruptionError" in shell("info", "between", code=1)


def test_info_tells_of_public_keys_and_packed_messages(shell: Shell) -> None:
    literal = parameters("W128_P128").literal() | {"n": 16, "gadget": [(16, 23, 1)]}
    client = whorl.binfhe.Client(parameters(literal, allow_insecure=True))
    for keys, kind in (
        (client.public_key(), "FHEW/TFHE public key"),
        (client.compression_keys(), "FHEW/TFHE compression keys"),
    ):
        keys.save(shell.folder / "keys")
        shown = told_of(shell, "keys")
        assert (shown["type"], shown["key id"]) == (kind, client.key_id)
        assert shown["security"] == f"{client.parameters.security_bits:.1f} bits"
    packed = client.public_key().encrypt([[1, 2, 3]], p=4)
    server = whorl.binfhe.Server(client.evaluation_keys(), device="cpu")
    small = whorl.binfhe.Compressor(server, client.compression_keys()).compress(
        server.upload(packed)
    )
    for x, modulus in ((packed, "Q, for servers"), (small, f"2^{small.log2_modulus}, for clients")):
        x.save(shell.folder / "x")
        shown = told_of(shell, "x")
        assert shown["type"] == "FHEW/TFHE packed ciphertexts"
        assert (shown["shape"], shown["p"], shown["modulus"]) == ("(1, 3)", "4", modulus)


def test_outputs_do_not_replace_what_is_used(keyed: Shell) -> None:
    keyed(*KEYGEN, "--force", "--overwrite-secret")
    keyed("encrypt", "1", "-o", "x", *PHRASE)
    before = (keyed.folder / "keys.whorl").read_bytes()
    arguments = ("eval", "~x", "x=x", "--allow-insecure", "--force")
    message = keyed(*arguments, "-o", "keys.whorl", code=2)
    assert "--output keys.whorl and --keys keys.whorl are one file" in message
    for command in (("encrypt", "1"), ("decrypt", "x")):
        message = keyed(*command, "-o", "phrase", "--force", *PHRASE, code=2)
        assert "--passphrase-file phrase are one file" in message
    assert (keyed.folder / "keys.whorl").read_bytes() == before
    assert keyed("decrypt", "x", *PHRASE) == "1\n"


def test_errors_name_the_file(keyed: Shell) -> None:
    keyed(*KEYGEN, "--force", "--overwrite-secret")
    keyed("encrypt", "1", "-o", "x", *PHRASE)
    (keyed.folder / "big.csv").write_text("1,2\n3,7\n")
    wrong = keyed("encrypt", "big.csv", "-o", "y", *PHRASE, code=1)
    assert (
        wrong
        == "whorl: EncodingError: big.csv: messages: value 7 at index (1, 1) is not below p = 4\n"
    )
    phrase = keyed.folder / "other"
    phrase.touch(0o600)
    phrase.write_text("wrong horse")
    other = ("--passphrase-file", "other", "--allow-insecure")
    assert keyed("decrypt", "x", *other, code=1).startswith(
        "whorl: PassphraseError: secret.whorl: "
    )
    asked = keyed("decrypt", "x", *PHRASE[:2], code=1)
    assert asked.startswith("whorl: ParameterError: secret.whorl: openfhe_1_5/TOY: ")
    asked = keyed("eval", "x & x", "x=x", "-o", "y", code=1)
    assert asked.startswith("whorl: ParameterError: keys.whorl: openfhe_1_5/TOY: ")
    asked = keyed("encrypt", "7", "-o", "y", *PHRASE, code=1)
    assert asked.startswith("whorl: EncodingError: messages: ")


def test_expressions_say_what_is_wrong(keyed: Shell) -> None:
    keyed(*KEYGEN, "--force", "--overwrite-secret")
    keyed("encrypt", "1", "-o", "x", *PHRASE)
    use = ("x=x", "-o", "y", "--allow-insecure")
    assert "nand takes 2 inputs, not 1" in keyed("eval", "nand(x)", *use, code=2)
    message = keyed("eval", "x ** 2", *use, code=2)
    assert (
        "do not have this operator; there are the operators & | ^ ~ + - * and the functions nand"
        in message
    )
    for expression in ("x @ x", "~x @ x"):
        assert "weights: integers are needed" in keyed("eval", expression, *use, code=2)
    shown = keyed("eval", "-h")
    assert "Of bgv: the operators + - * @ ** and the functions" in " ".join(shown.split())
    message = keyed("eval", "nand(add(x, x), x)", *use, code=1)
    assert "nand takes bits, but input 0 may be as large as 2" in message


def test_info_tells_what_ciphertexts_are(shell: Shell) -> None:
    def told(name: str) -> dict[str, str]:
        return told_of(shell, name)

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
    done = run(sys.executable, "-m", "whorl", "--version")
    assert (done.stdout, done.stderr) == (f"whorl {whorl.__version__}\n", "")


@pytest.mark.parametrize(
    "command",
    [
        (*KEYGEN, "--secret", "named", "--keys", "keys"),
        ("encrypt", "1", *PHRASE, "-o", "named"),
    ],
)
def test_a_full_disk_is_told_of_the_file_that_was_named(
    keyed: Shell, command: tuple[str, ...]
) -> None:
    before = sorted(keyed.folder.iterdir())
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    done = run_python(limit + CLI, *command, cwd=keyed.folder)
    assert (done.returncode, done.stderr) == (
        1,
        "whorl: IoError: named cannot be written: File too large; save to another place, or allow "
        "larger files where a limit is set (ulimit -f)\n",
    )
    assert sorted(keyed.folder.iterdir()) == before
