"""What the TAB key gives, in each shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import environment

SCRIPT = """#!{python}
import sys
from whorl.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""


class Shells:
    """`whorl` as pip installs it, in a folder with a few files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        script = folder / "bin" / "whorl"
        script.parent.mkdir()
        script.write_text(SCRIPT.format(python=sys.executable), encoding="utf-8")
        script.chmod(0o755)
        for name in ("x.whorl", "y.whorl", "notes"):
            (folder / name).touch()
        (folder / "more").mkdir()
        (folder / "more" / "z.whorl").touch()
        path = f"{script.parent}:{os.environ['PATH']}"
        self.environment = environment(PATH=path, HOME=str(folder))

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def offered(self, line: str) -> list[str]:
        """What fish is told of a line, without explanations."""
        variables = {"_WHORL_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": line}
        done = self.run("whorl", **variables, _TYPER_COMPLETE_FISH_ACTION="get-args")
        assert (done.returncode, done.stderr) == (0, "")
        return [each.partition("\t")[0] for each in done.stdout.splitlines() if each]


@pytest.fixture(scope="module")
def shells(tmp_path_factory: pytest.TempPathFactory) -> Shells:
    return Shells(tmp_path_factory.mktemp("shells"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "whorl ",
            [
                "keygen",
                "encrypt",
                "eval",
                "decrypt",
                "params",
                "info",
                "bench",
                "demo",
                "doctor",
                "rtl",
            ],
        ),
        ("whorl de", ["decrypt", "demo"]),
        ("whorl bench k", ["keygen"]),
        ("whorl keygen --ov", ["--overwrite-secret"]),
        ("whorl keygen --scheme ", ["binfhe", "bgv", "ckks"]),
        (
            "whorl keygen --params W128_P1",
            [
                "W128_P128",
                *(f"W128_P128_M{m}" for m in (2, 5, 3, 4)),
            ],
        ),
        ("whorl keygen --params W128_L13", ["W128_L13_B17", "W128_L13_B20"]),
        ("whorl keygen --coefficients-", ["--coefficients-last"]),
        ("whorl keygen --arcsine ", ["0", "3", "5", "7", "9", "11", "13", "15"]),
        ("whorl keygen --arcsine 1", ["11", "13", "15"]),
        ("whorl params show cheddar/4", ["cheddar/40"]),
        ("whorl params show W128_P64_M", ["W128_P64_M3", "W128_P64_M4"]),
        ("whorl eval --gate NAN", ["NAND"]),
        ("whorl eval --gate xno", ["xnor"]),
        ("whorl eval --device c", ["cpu", "cuda", "cuda:all"]),
        ("whorl bench run --op lut", ["lut4"]),
        ("whorl bench bgv --op rot", ["rotate", "rotate_many"]),
        ("whorl bench lanes --op tab", ["table16", "table2", "table4", "table8"]),
        ("whorl bench lanes --set W128_L13", ["W128_L13_B17", "W128_L13_B20"]),
        (
            "whorl bench ckks --op m",
            ["mult", "mult_integer", "mult_plain", "mult_relin", "mult_relin_rescale", "matrix"],
        ),
        ("whorl eval x+y x=x.w", ["x=x.whorl"]),
        ("whorl eval x+y x=m", ["x=more/"]),
        ("whorl eval x+y x=more/", ["x=more/z.whorl"]),
        ("whorl eval x+y x=absent/", []),
        ("whorl decrypt x", []),
        ("whorl keygen --secret ", []),
        ("whorl eval -o x", []),
        ("whorl bench keygen --record x", []),
        ("whorl info x", []),
    ],
)
def test_what_is_offered(shells: Shells, line: str, expected: list[str]) -> None:
    assert sorted(shells.offered(line)) == sorted(expected)


def test_bash(shells: Shells) -> None:
    script = shells.run("whorl", _WHORL_COMPLETE="source_bash").stdout
    for line, expected in (
        ("whorl keyg", ["keygen"]),
        ("whorl keygen --params W128_P64_M", ["W128_P64_M3", "W128_P64_M4"]),
        ("whorl decrypt x", []),
    ):
        words = line.split()
        asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _whorl_completion whorl"
        done = shells.run("bash", "-c", f'{script}\n{asked}\nprintf "%s\\n" "${{COMPREPLY[@]}}"')
        assert done.stdout.split() == expected, done.stderr
    # Where nothing is offered bash completes the names of files.
    assert "complete -o default -F _whorl_completion whorl" in script


def test_zsh(shells: Shells) -> None:
    def told(line: str) -> str:
        variables = {"_WHORL_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
        return shells.run("whorl", **variables).stdout.strip()

    assert told("whorl keyg").startswith('_arguments \'*: :(("keygen":')
    assert '"W128_P64"' in told("whorl keygen --params W128_P6")
    assert told("whorl decrypt x") == "_files"
    script = shells.run("whorl", _WHORL_COMPLETE="source_zsh").stdout
    assert "#compdef whorl" in script and "compdef _whorl_completion whorl" in script


def test_fish(shells: Shells) -> None:
    variables = {"_WHORL_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "is-args"}
    for line, status in (("whorl keyg", 0), ("whorl decrypt x", 1)):  # 1: names of files
        done = shells.run("whorl", **variables, _TYPER_COMPLETE_ARGS=line)
        assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    script = shells.run("whorl", _WHORL_COMPLETE="source_fish").stdout
    assert script.startswith("complete --command whorl")


@pytest.mark.parametrize(
    ("shell", "path"),
    [
        ("bash", ".bash_completions/whorl.sh"),
        ("zsh", ".zfunc/_whorl"),
        ("fish", ".config/fish/completions/whorl.fish"),
    ],
)
def test_it_is_installed(shells: Shells, shell: str, path: str) -> None:
    chosen = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = shells.run("whorl", "--install-completion", shell, **chosen)
    assert done.returncode == 0 and path in done.stdout, done.stderr
    assert "_WHORL_COMPLETE=complete_" in (shells.folder / path).read_text(encoding="utf-8")
    if shutil.which(shell):
        assert shells.run(shell, "-n", str(shells.folder / path)).returncode == 0
