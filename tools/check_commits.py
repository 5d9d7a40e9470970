"""Check the messages of commits: an imperative title of at most 72 characters, and why in a body.

A title is "component: add …" or "Add …". Commits up to the last one of another custom are left
alone, as merges are. Where git or that commit is absent, as in an archive or a shallow clone,
nothing is checked.

usage: check_commits.py [SINCE [ROOT]]      SINCE: the last commit that is left alone
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SINCE = "c5fc5a911b4480fc51e025eb3cabcb9139d5a600"
LONGEST = 72
# Add to these what is missing.
VERBS = frozenset(
    """
    accept adapt add adjust agree align allow answer apply ask assert attach avoid begin bind
    bootstrap bound break bring build bump cache calculate call cap carry catch centre change
    check choose clarify classify clean clear close collect combine compare compile complete compute
    configure connect convert copy correct count cover create cut decide declare decode decompose
    default define delay
    delete deny deprecate derive describe detect disable distinguish divide do document draw
    drop emit enable encode end enforce ensure estimate evaluate exclude expect expand explain
    export expose extend extract factor fail fetch fill filter find finish fit fix flag fold follow
    forbid format free gather generate get give group guard handle hash hide hold ignore
    implement import improve include increase inform initialise inline install instantiate
    introduce invert join keep know label lead leave let lift limit link lint list load lock log
    look lower make map mark match measure mend merge model move multiply name narrow negate
    normalise note offer omit open order pack parse part pass pay permit pin place plan plot
    point pool precompute prefer prepare prevent print promise propagate prove provide prune publish
    put quote raise read rebuild recompute record reduce refactor refresh refuse regenerate register
    reject
    release remove rename reorder repair repeat replace report require reset resize resolve
    restore restrict resume retry return reuse revert revise rewrite rotate round run sample
    save say scale search seed send separate serve set share shorten show shrink simplify skip
    slice sort speed split start state stop store strengthen support suppress switch synthesise
    take teach tell test throw tidy tighten time trace track transform translate treat
    trim try tune turn type undo unify unite unroll update upload use validate verify
    wait warn widen wipe wrap write zero
    """.split()
)
TRAILER = re.compile(r"[A-Z][\w-]*: \S")


def problems_of(message: str) -> list[str]:
    """What is wrong with the message of a commit."""
    lines = message.rstrip("\n").split("\n")
    title, body = lines[0], [line for line in lines[1:] if line and not TRAILER.match(line)]
    found = []
    if len(title) > LONGEST:
        found.append(f"the title has {len(title)} characters; it may have {LONGEST}")
    words = re.sub(r"^[^:]+: ", "", title).split()
    verb = words[0].lower() if words else ""
    if verb not in VERBS:
        found.append(
            f"{verb!r} is no verb that tools/check_commits.py knows; titles are imperative"
        )
    if len(lines) > 1 and lines[1]:
        found.append("there is no blank line below the title")
    if not body:
        found.append("there is no body, which says why")
    return found


def git(root: Path, *arguments: str) -> str | None:
    """What git says, or None if it fails or is absent."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    since = sys.argv[1] if len(sys.argv) > 1 else SINCE
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).resolve().parent.parent
    log = git(root, "log", "--no-merges", "-z", "--format=%h%n%B", f"{since}..HEAD")
    if log is None:
        print("commits: not checked, since git has no history here back to", since[:12])
        return 0
    status = 0
    for commit in filter(None, log.split("\0")):
        name, message = commit.split("\n", 1)
        for problem in problems_of(message):
            title = message.split("\n", 1)[0]
            print(f"{name}: {problem}: {title!r}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
