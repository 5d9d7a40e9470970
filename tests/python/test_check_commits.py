"""Messages of commits that follow the rules and that do not."""

import os
import subprocess
import sys
from pathlib import Path

CHECKER = Path(__file__).resolve().parents[2] / "tools" / "check_commits.py"


def commit(root: Path, message: str) -> str:
    who = {
        f"GIT_{role}_{part}": "a@b"
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", message],
        cwd=root, check=True, env={**os.environ, **who},
    )  # fmt: skip
    made = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True)
    return made.stdout.decode().strip()


def said(root: Path, since: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, CHECKER, since, root], capture_output=True, text=True, check=False
    )
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_messages_are_checked(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    since = commit(tmp_path, "an old title that nobody checks")
    assert said(tmp_path, since) == (0, [])
    good = commit(tmp_path, "io, tests: refuse what is too long\n\nIt was taken before.")
    good = commit(tmp_path, "Write shorter titles\n\nThey are read in lists.\n\nSigned-off-by: A")
    assert said(tmp_path, since) == (0, [])
    for message, problem in {
        "io: add " + "x" * 65 + "\n\nBecause.": "the title has 73 characters",
        "io: errors of files\n\nBecause.": "'errors' is no verb",
        "Added a file\n\nBecause.": "'added' is no verb",
        "io: add a file": "there is no body",
        "io: add a file\n\nSigned-off-by: A": "there is no body",
        "io: add a file\nBecause.": "there is no blank line",
    }.items():
        bad = commit(tmp_path, message)
        status, lines = said(tmp_path, good)
        assert status == 1 and len(lines) == 1 and problem in lines[0], lines
        good = bad


def test_a_history_that_is_not_there_is_not_checked(tmp_path: Path) -> None:
    status, lines = said(tmp_path, "c5fc5a91")
    assert status == 0 and len(lines) == 1 and "not checked" in lines[0]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    commit(tmp_path, "bad")
    status, lines = said(tmp_path, "c5fc5a91")
    assert status == 0 and len(lines) == 1 and "not checked" in lines[0]
