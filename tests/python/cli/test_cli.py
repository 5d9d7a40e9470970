"""The command, end to end, in processes of its own that share files only."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import whorl
from cli_support import KEYGEN, PHRASE, SET, Here, Shell, write_phrase
from support import ROOT, run
from whorl.binfhe import _gates
from whorl.cli import _demo, _expressions, _records


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("cli")
    write_phrase(folder)
    run = Shell(folder)
    run(*KEYGEN)
    return run


def test_the_sessions_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_PASSPHRASE", "correct horse")
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    sessions = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    first, *sessions = sessions[:4]
    assert "whorl doctor" in first and "whorl demo" in first
    for number, session in enumerate(sessions):
        (tmp_path / str(number)).mkdir()
        shell = Here(tmp_path / str(number))
        for line in session.splitlines():
            command, _, comment = line.partition("#")
            if not command.strip():
                continue
            name, *arguments = shlex.split(command)
            if name != "whorl":
                subprocess.run(command, shell=True, cwd=shell.folder, check=True)
                continue
            printed = shell(*arguments)
            if arguments[0] == "decrypt":
                assert printed.strip() == comment.strip()
    assert "bgv" in sessions[1] and "--sum-length" in sessions[2]


def test_gates_from_end_to_end(shell: Shell) -> None:
    shell("encrypt", "0", "0", "1", "1", "-o", "a.whorl", *PHRASE)
    shell("encrypt", "0,1,0,1", "-o", "b.whorl", *PHRASE)
    for gate, expected in (("NAND", "1 1 1 0"), ("xor", "0 1 1 0"), ("OR", "0 1 1 1")):
        arguments = ("--gate", gate, "a.whorl", "b.whorl", "-o", f"{gate}.whorl")
        shell("eval", *arguments, "--allow-insecure", "--threads", "2")
        assert shell("decrypt", f"{gate}.whorl", *PHRASE) == expected + "\n"
    shell("eval", "--gate", "NOT", "a.whorl", "-o", "n.whorl", "--allow-insecure")
    assert shell("decrypt", "n.whorl", *PHRASE) == "1 1 0 0\n"
    files = ("a.whorl", "b.whorl", "n.whorl")
    shell("eval", "--gate", "mux", *files, "-o", "m.whorl", "--allow-insecure", "--device", "cpu")
    assert shell("decrypt", "m.whorl", *PHRASE) == "1 1 0 1\n"


def test_what_fails_too_often_needs_consent(shell: Shell) -> None:
    encrypt = ("encrypt", "0", "5", "15", "-p", "16", "--padding", "-o", "w.whorl", *PHRASE)
    evaluate = ("eval", "w.whorl", "-o", "v.whorl", "--lut", "15 - x", "--allow-insecure")
    said = shell(*encrypt, code=1)
    assert "NoiseError" in said and "allow_failure" not in said
    assert "--allow-failure 2^-" in " ".join(said.split())
    shell(*encrypt, "--allow-failure", "1")
    assert "a table of one rotation with p = 16" in shell(*evaluate, code=1).replace("\n", " ")
    shell(*evaluate, "--allow-failure", "2^-3")
    assert len(shell("decrypt", "v.whorl", *PHRASE).split()) == 3
    shell(*evaluate, "--approximate", "--force")
    for wrong in ("0", "2", "often", "2^x", "nan"):
        assert "probability" in shell(*evaluate, "--allow-failure", wrong, code=2)


def test_ciphertexts_under_the_ring_key(shell: Shell) -> None:
    for name, bits in (("ring_x.whorl", "0 1 1"), ("ring_y.whorl", "1 1 0")):
        shell("encrypt", *bits.split(), "--under", "ring", "-o", name, *PHRASE)
    evaluate = ("eval", "--allow-insecure", "--device", "cpu", "-o", "ring_z.whorl", "--force")
    shell(*evaluate, "--gate", "and", "ring_x.whorl", "ring_y.whorl")
    assert shell("decrypt", "ring_z.whorl", *PHRASE) == "0 1 0\n"
    shell(*evaluate, "to_lwe_key(x + y)", "x=ring_x.whorl", "y=ring_y.whorl")
    assert shell("decrypt", "ring_z.whorl", *PHRASE) == "1 2 1\n"
    wrong = ("encrypt", "0", "--under", "both", "-o", "ring_w.whorl", *PHRASE)
    assert "'both' is not known" in " ".join(shell(*wrong, code=1).split())


def test_sums_keep_their_noise_from_file_to_file(shell: Shell) -> None:
    def noise() -> float:
        return whorl.binfhe.Ciphertexts.load(shell.folder / "s.whorl", True).noise

    evaluate = ("eval", "--allow-insecure", "--device", "cpu", "--force", "-o", "s.whorl")
    shell("encrypt", "0", "1", "-p", "2", "-o", "s.whorl", *PHRASE)
    shell(*evaluate, "--gate", "bootstrap", "s.whorl")
    assert noise() == 1
    chain = (*evaluate, "add(s, s)", "s=s.whorl")
    shell(*chain, "--allow-failure", "1")
    shell(*chain, "--allow-failure", "1")
    assert noise() == pytest.approx(16)
    for _ in range(8):
        shell(*chain, "--allow-failure", "1")
    assert "NoiseError" in shell(*chain, code=1)
    padded = ("encrypt", "0", "1", "-p", "4", "--padding", "--allow-failure", "1", "--force")
    shell(*padded, "-o", "s.whorl", *PHRASE)
    assert "may be 0 … 6" in shell(*chain, "--allow-failure", "1", code=1)
    shell(
        "encrypt",
        "3",
        "2",
        "-p",
        "4",
        "--padding",
        "--allow-failure",
        "1",
        "-o",
        "t.whorl",
        *PHRASE,
    )
    total = ("--allow-failure", "1", "s=s.whorl", "t=t.whorl", "-o", "total.whorl")
    shell(*evaluate[:-2], "add(s, t, 1)", *total)  # modular
    lut = ["eval", "--allow-insecure", "--device", "cpu", "--lut", "x", "total.whorl"]
    lut += ["--allow-failure", "1", "-o", "found.whorl"]
    assert "may be as large as 7" in shell(*lut, code=1)
    shell(*evaluate[:-2], "add(s, t, 0, 3)", *total)  # at most 3
    shell(*lut)


def test_what_seeds_become_is_bounded(shell: Shell) -> None:
    # Each is 2 bytes in the file, and 68 in memory.
    shell("encrypt", "-", "-o", "seeded.whorl", *PHRASE, input="0 1 " * 200)
    bound = ("--max-expanded-bytes", "100")
    for work in (
        ("eval", "--gate", "not", "seeded.whorl", "-o", "bounded.whorl", "--allow-insecure"),
        ("decrypt", "seeded.whorl", *PHRASE),
    ):
        assert "--max-expanded-bytes" in shell(*work, *bound, code=1)
        shell(*work)


@pytest.mark.parametrize(
    ("option", "bound", "enough"),
    [
        ("max-count", "399", "400"),
        ("max-bytes", "2^8", "2^20"),
        ("max-expanded-bytes", "9", "2^20"),
    ],
)
def test_what_files_may_hold_is_bounded(shell: Shell, option: str, bound: str, enough: str) -> None:
    shell("encrypt", "-", "-o", "many.whorl", "--force", *PHRASE, input="0 1 " * 200)
    for work in (
        *(("eval", "x ^ 1", "x=many.whorl", "-o", "not.whorl", "--force", "--allow-insecure"),),
        *(("decrypt", "many.whorl", *PHRASE), ("info", "many.whorl")),
    ):
        assert f"--{option}" in shell(*work, f"--{option}", bound, code=1)
        shell(*work, f"--{option}", enough)
        for wrong in ("-1", "2^64", "2^-1", "many", "1e6"):
            assert "is not a number" in shell(*work, f"--{option}", wrong, code=2)


def test_tables_and_arrays(shell: Shell) -> None:
    np.save(shell.folder / "in.npy", np.array([[0, 1], [2, 3]]))
    shell("encrypt", "in.npy", "-p", "4", "-o", "x.whorl", *PHRASE)
    shell("eval", "--lut", "0,3,1,2", "x.whorl", "-o", "y.whorl", "--allow-insecure")
    shell("decrypt", "y.whorl", "-o", "out.npy", *PHRASE)
    assert np.load(shell.folder / "out.npy").tolist() == [[0, 3], [1, 2]]
    shell("eval", "--lut", "x*x", "x.whorl", "-o", "z.whorl", "--allow-insecure")
    shell("decrypt", "z.whorl", "-o", "out.txt", *PHRASE)
    assert (shell.folder / "out.txt").read_text() == "0 1\n0 1\n"
    (shell.folder / "in.csv").write_text("1,0\n1,1\n", encoding="utf-8")
    shell("encrypt", "in.csv", "-o", "csv.whorl", *PHRASE)
    assert shell("decrypt", "csv.whorl", *PHRASE) == "1 0\n1 1\n"
    shell("encrypt", "-", "-o", "in.whorl", *PHRASE, input="0 1")
    assert shell("decrypt", "in.whorl", *PHRASE) == "0 1\n"


def test_info(shell: Shell) -> None:
    machine = shell("info")
    for part in (whorl.__version__, whorl.cpu_target(), "cores", "device used", "cuda"):
        assert part in machine
    for device in whorl.devices():
        line = next(x for x in machine.splitlines() if x.split()[0] == device.name)
        assert device.description in line and device.why in line
        assert ("not usable" in line) == (not device.usable)
        assert (" free" in line) == (device.memory > 0)
    keys, secret = shell("info", "keys.whorl"), shell("info", "secret.whorl")
    assert "evaluation keys" in keys and SET in keys
    assert "secret key" in secret
    label = keys.split("key id")[1].split()[0]
    assert label in secret


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("decrypt", "absent.whorl", *PHRASE), 1, "absent.whorl"),
        (("decrypt", "keys.whorl", *PHRASE), 1, "TypeMismatchError"),
        (("decrypt", "phrase", *PHRASE), 1, "Error"),
        (("eval", "--gate", "NOT", "secret.whorl", "-o", "q", "--allow-insecure"), 1, "Type"),
        (("eval", "--gate", "NOT", "phrase", "-o", "q", "--keys", "secret.whorl"), 1, "Type"),
        (("encrypt", "1", "-o", "q", "--passphrase-file", "phrase"), 1, "--allow-insecure accepts"),
        (("encrypt", "7", "-o", "q", *PHRASE), 1, "EncodingError"),
        (("encrypt", "x", "-o", "q", *PHRASE), 2, "'x'"),
        (("encrypt", "1", "-o", "keys.whorl", *PHRASE), 2, "--force"),
        (("encrypt", "1", "-o", "q", "--allow-insecure"), 2, "WHORL_PASSPHRASE"),
        (("keygen", "--params", "none", "--secret", "s", "--keys", "k"), 1, "ParameterError"),
        (("eval", "keys.whorl", "-o", "q"), 2, "--gate or --lut"),
        (("eval", "--lut", "x*x", "x=v.whorl", "-o", "q"), 2, "write v.whorl"),
        (("eval", "--nonsense"), 2, "--nonsense"),
        (("params", "show", "none"), 1, "ParameterError"),
    ],
)
def test_errors_are_one_line(
    shell: Shell, arguments: tuple[str, ...], code: int, part: str
) -> None:
    assert part in shell(*arguments, code=code)
    assert not (shell.folder / "q").exists()


def test_wrong_passphrase_and_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHORL_PASSPHRASE", "wrong horse")
    shell("encrypt", "1", "-o", "e.whorl", *PHRASE)
    message = shell("decrypt", "e.whorl", "--allow-insecure", code=1)
    assert "PassphraseError" in message
    monkeypatch.setenv("WHORL_PASSPHRASE", "correct horse")
    assert shell("decrypt", "e.whorl", "--allow-insecure") == "1\n"


def test_absent_device(shell: Shell) -> None:
    shell("encrypt", "1", "-o", "d.whorl", *PHRASE)
    arguments = ("--gate", "NOT", "d.whorl", "-o", "q", "--allow-insecure", "--device", "abacus")
    assert "DeviceError" in shell("eval", *arguments, code=1)


def test_params(shell: Shell) -> None:
    listed = shell("params", "list")
    assert all(line == line.rstrip() for line in listed.splitlines())
    for name in whorl.binfhe.parameter_sets():
        assert name in listed
    rows = [json.loads(line) for line in shell("params", "list", "--json").splitlines()]
    assert [row["name"] for row in rows] == whorl.binfhe.parameter_sets()
    assert all(row["security_bits"] >= 0 > row["pfail_log2"] for row in rows)
    assert shell("params", "list", "--markdown").splitlines()[1].startswith("|---|")
    literal = json.loads(shell("params", "show", "W128_P64", "--json"))
    assert whorl.binfhe.parameters(literal) == whorl.binfhe.parameters("W128_P64")
    assert "security" in shell("params", "show", "W128_P64")


def test_bench_records(shell: Shell) -> None:
    arguments = ("--params", SET, "--runs", "2", "--record", "bench.jsonl")
    shown = shell("bench", "gates", *arguments, "--batch", "8", "--threads", "1")
    for part in (SET, "security", "failure", "threads", "nand"):
        assert part in shown
    shell("bench", "lut", *arguments, "--batch", "4")
    shell("bench", "keygen", *arguments)
    lines = (shell.folder / "bench.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    fields = (
        "bench op scheme params device device_count threads batch transfers unit median min max"
    )
    fields += " runs peer peer_version peer_median ratio security_bits pfail_log2 commit date"
    for record in records:
        assert list(record) == fields.split()
        assert 0 < record["min"] <= record["median"] <= record["max"]
    assert {(r["op"], r["unit"]) for r in records} >= {
        ("nand", "s"),
        ("nand", "1/s"),
        ("evalfunc", "1/s"),
        ("keygen", "s"),
    }
    printed = shell("bench", "keygen", "--params", SET, "--runs", "1", "--json")
    assert json.loads(printed)["op"] == "keygen"


@pytest.mark.parametrize("gate", [*_gates.GATES, "MUX"])
def test_bench_measures_every_gate(shell: Shell, gate: str) -> None:
    printed = shell(
        "bench", "gates", "--gate", gate, "--params", SET, "--runs", "1", "--batch", "2", "--json"
    )
    records = [json.loads(line) for line in printed.splitlines()]
    assert [(r["op"], r["batch"]) for r in records] == [(gate.lower(), 1), (gate.lower(), 2)]
    worst = whorl.binfhe.parameters(SET, allow_insecure=True).failure_log2
    wide = gate in ("majority", "and3", "or3", "and4", "or4", "MUX")
    assert all((r["pfail_log2"] > round(worst, 1)) == wide for r in records)


def test_info_tells_why_a_device_is_used(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def used() -> str:
        return next(x for x in shell("info").splitlines() if x.startswith("device used"))

    monkeypatch.delenv("WHORL_DEVICE", raising=False)
    gpu = any(d.usable for d in whorl.devices() if d.name.startswith("cuda"))
    assert ("cuda:0" if gpu else "no GPU can be used") in used()
    monkeypatch.setenv("WHORL_DEVICE", "cpu")
    assert "WHORL_DEVICE=cpu" in used() and "none" not in used()
    monkeypatch.setenv("WHORL_DEVICE", "abacus")
    assert "none (WHORL_DEVICE=abacus)" in used() and "cuda:all" in used()


def test_bench_run(shell: Shell) -> None:
    arguments = ("--params", SET, "--runs", "2", "--batch", "3", "--device", "cpu")
    ops = ("--op", "NAND", "--op", "mux", "--op", "evalfunc")
    shown = shell("bench", "run", *arguments, *ops, "--rotation", "single")
    for part in (SET, "rotation", "single", "nand", "mux", "evalfunc: p = 4, arbitrary"):
        assert part in shown
    printed = shell("bench", "run", *arguments, *ops, "--json", "--record", "run.jsonl")
    assert (shell.folder / "run.jsonl").read_text(encoding="utf-8") == printed
    records = [json.loads(line) for line in printed.splitlines()]
    assert [(r["op"], r["batch"], r["unit"]) for r in records] == [
        (op, batch, unit)
        for op in ("nand", "mux", "evalfunc")
        for batch, unit in ((1, "s"), (3, "1/s"))
    ]
    assert {(r["device"], r["device_count"], r["transfers"]) for r in records} == {
        ("cpu", 1, "included")
    }
    lines = shell("bench", "run", *arguments, "--json").splitlines()
    assert [json.loads(line)["op"] for line in lines] == ["nand", "nand"]


def test_bench_run_refuses(shell: Shell) -> None:
    assert "and5" in shell("bench", "run", "--op", "and5", "--params", SET, code=2)
    assert "4 bits" in shell("bench", "run", "--op", "lut4", "--params", SET, code=2)
    wrong = shell("bench", "run", "--params", SET, "--rotation", "spiral", code=1)
    assert "ParameterError" in wrong and "cluster" in wrong
    assert "cuda:all" in shell("bench", "run", "--params", SET, "--device", "cuda:x", code=1)


RING_OPS = ("add", "mult_plain", "mult", "mult_relin", "square", "rotate", "rotate_many", "rescale")
COMMON_OPS = ("encrypt", "decrypt", "keygen", "end_to_end")


@pytest.mark.parametrize(
    ("scheme", "depth", "ops", "more", "part"),
    [
        ("bgv", "1", ("swap_rows",), ("--limbs", "2"), "N = 8192, t = 65537"),
        (
            *("ckks", "4"),
            ("mult_integer", "mult_relin_rescale", "conjugate", "polynomial", "matrix"),
            ("--level", "1", "--slots", "8"),
            "slots, 4 levels above",
        ),
    ],
)
def test_bench_ring(
    shell: Shell, scheme: str, depth: str, ops: tuple[str, ...], more: tuple[str, ...], part: str
) -> None:
    bench = ("bench", scheme, "--depth", depth, "--runs", "2", "--device", "cpu")
    all_ops = [*RING_OPS, *ops, *COMMON_OPS]
    chosen = [word for op in all_ops for word in ("--op", op)]
    printed = shell(*bench, *chosen, "--json", "--record", "records.jsonl")
    assert (shell.folder / "records.jsonl").read_text(encoding="utf-8") == printed
    (shell.folder / "records.jsonl").unlink()
    records = [json.loads(line) for line in printed.splitlines()]
    assert sorted(r["op"] for r in records) == sorted(all_ops)
    for r in records:
        assert (r["bench"], r["scheme"], r["batch"], r["unit"]) == (scheme, scheme, 1, "s")
        assert (r["device"], r["runs"], r["security_bits"] >= 128) == ("cpu", 2, True)
        assert r["transfers"] == ("included" if r["op"] == "end_to_end" else "excluded")
        assert 0 < r["min"] <= r["median"] <= r["max"]
    shown = shell(*bench, "--batch", "3", *more)
    for each in (part, "keys", "cpu", "mult_relin", "rotate", "/s"):
        assert each in shown
    lines = map(json.loads, shell(*bench, "--batch", "3", "--op", "ADD", "--json").splitlines())
    assert [(line["batch"], line["unit"]) for line in lines] == [(1, "s"), (3, "1/s")]


def test_bench_bgv_refuses(shell: Shell) -> None:
    coefficients = ("--depth", "1", "--plain-modulus", "1000", "--coefficients")
    assert "coefficients only" in shell("bench", "bgv", *coefficients, "--op", "add")
    assert "bootstrap" in shell("bench", "bgv", "--op", "bootstrap", code=2)
    assert "depth 90" in shell("bench", "bgv", "--depth", "90", code=1)
    assert "EncodingError" in shell(
        *("bench", "bgv", "--depth", "1", "--plain-modulus", "1000", "--coefficients"),
        *("--op", "rotate"),
        code=1,
    )


def test_info_of_a_bgv_file(shell: Shell) -> None:
    whorl.bgv.parameters(depth=1).save(shell.folder / "p.whorl")
    assert "BGV parameters" in shell("info", "p.whorl")


@pytest.mark.parametrize(
    ("devices", "name", "count"),
    [
        (["cpu (AVX3, 2 threads)"], "cpu", 1),
        (["cuda:0 (NVIDIA H200)"], "h200", 1),
        (["cuda:0 (NVIDIA H200)", "cuda:3 (NVIDIA H200)"], "h200x2", 2),
        (["cuda:0 (NVIDIA GeForce RTX 4090)"], "geforce-rtx-4090", 1),
        (["cuda:0 (NVIDIA H200)", "cuda:1 (NVIDIA A100-SXM4-80GB)"], "h200+a100-sxm4-80gb", 2),
    ],
)
def test_bench_names_the_hardware(devices: list[str], name: str, count: int) -> None:
    assert _records.hardware(devices) == (name, count)


def test_bench_refuses_an_unknown_gate(shell: Shell) -> None:
    assert "and5" in shell("bench", "gates", "--gate", "and5", "--params", SET, code=2)


def test_bench_records_commits_of_this_tree_only(tmp_path: Path) -> None:
    def git(*args: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        command = ["git", "-C", str(tmp_path), *identity, *args]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert _records._commit(tmp_path) is None
    git("init", "-q")
    assert _records._commit(tmp_path) is None  # no commit yet
    git("commit", "-q", "--allow-empty", "-m", "first")
    assert _records._commit(tmp_path) is None  # somebody else's tree
    (tmp_path / "include" / "whorl").mkdir(parents=True)
    assert _records._commit(tmp_path / "include") == git("rev-parse", "--short", "HEAD")


def test_search_from_the_command_line(shell: Shell) -> None:
    found = json.loads(shell("params", "search", "--top", "1", "--json"))
    assert whorl.binfhe.parameters(found).failure_log2 <= -64
    assert "no set" in shell("params", "search", "-p", "1024", "--padding", code=2)


def test_demo_gives_its_options_to_the_application(tmp_path: Path) -> None:
    (tmp_path / "include" / "whorl").mkdir(parents=True)
    for name in ("one", "two"):
        (tmp_path / "apps" / name).mkdir(parents=True)
        program = (
            f'"""Tells {name}."""\nimport sys\nprint(sys.argv[1:])\nsys.exit(len(sys.argv) - 1)'
        )
        (tmp_path / "apps" / name / "run.py").write_text(program)
    shell = Shell(tmp_path)
    said = shell("demo", "one").splitlines()
    assert said == ["[]", "", "Other applications", "  whorl demo two          Tells two."]
    command = [sys.executable, "-m", "whorl", "demo", "one"]
    for options in (["--", "--help", "-n", "3"], ["--rows", "-5"], ["--", "a", "--", "--list"]):
        done = run(*command, *options, cwd=tmp_path)
        passed = options[options[0] == "--" :]
        assert (done.stdout, done.returncode) == (f"{passed}\n", len(passed)), done.stderr


def test_demo_without_the_source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build puts the applications into the package."""
    package = tmp_path / "whorl"
    (package / "_apps" / "tree").mkdir(parents=True)
    script = package / "_apps" / "tree" / "run.py"
    script.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_demo, "__file__", str(package / "cli" / "_demo.py"))
    assert _demo._applications() == {"tree": script}


def test_demo_lists_the_applications() -> None:
    shell = Shell(Path(__file__).resolve().parents[3])
    names = (
        *("digits", "logistic", "lookup", "mnist", "mnist-tables", "resnet", "rtl", "sentiment"),
        *("sign", "tree"),
    )
    assert f"nosuch is not among {', '.join(names)}" in shell("demo", "nosuch", code=2)
    listed = shell("demo", "--list").splitlines()
    assert [line.split()[:3] for line in listed] == [["whorl", "demo", name] for name in names]
    assert all(len(line.split()) > 6 for line in listed), listed  # each says what it does


def test_version_and_help(shell: Shell) -> None:
    assert shell("--version") == f"whorl {whorl.__version__}\n"
    shown = shell("--help")
    for command in ("keygen", "encrypt", "eval", "decrypt", "params", "info", "bench", "demo"):
        assert command in shown


@pytest.mark.parametrize(
    ("text", "p", "expected"),
    [
        ("0,1,4,9", 4, [0, 1, 4, 9]),
        ("x", 4, [0, 1, 2, 3]),
        ("x**3 + 1", 5, [1, 2, 4, 3, 0]),
        ("-x", 4, [0, 3, 2, 1]),
        ("x > 1", 4, [0, 0, 1, 1]),
        ("1 if x == 2 else 0", 4, [0, 0, 1, 0]),
        ("max(x, 2) ^ (x & 1)", 4, [2, 3, 2, 2]),
        ("x // 2 + x % 2 + (x >> 1)", 8, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_expressions(text: str, p: int, expected: list[int]) -> None:
    assert _expressions.table(text, p, max(expected) + 1 if "," in text else p) == expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "y",
        "x.real",
        "open('f')",
        "x +",
        "1 // x",
        "[x]",
        "x ** 65",
        "lambda: 0",
    ],
)
def test_expressions_run_nothing_else(text: str) -> None:
    with pytest.raises(ValueError):
        _expressions.table(text, 4, 4)


def test_tables_hold_integers() -> None:
    with pytest.raises(ValueError, match=r"it is 0\.0 for x = 0, no integer; write // in place"):
        _expressions.table("x / 2", 4, 4)
    for text in ("2.0**2000 // x", "~" * 100_000 + "x"):
        with pytest.raises(ValueError, match=r"^--lut '.{1,220}': "):
            _expressions.table(text, 4, 4)


def test_bench_ckks_refuses(shell: Shell) -> None:
    assert "matrix" in shell("bench", "ckks", "--op", "swap_rows", code=2)
    assert "outside 28 … 55" in shell("bench", "ckks", "--scale-bits", "60", code=1)
    level = shell("bench", "ckks", "--depth", "1", "--level", "2", code=1)
    assert "level: 2 is above the depth, 1" in level
    low = ("--depth", "1", "--level", "0", "--op", "mult_relin_rescale", "--device", "cpu")
    assert "NoiseError" in shell("bench", "ckks", *low, code=1)
