"""Drops records that later ones of the same thing have replaced; git has them.

python3 bench/latest.py [FILE …]      all of bench/results, if none is named
"""

import json
import sys
from pathlib import Path

from common.records import RESULTS, latest


def main() -> int:
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else RESULTS.glob("*/*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        written = {id(record): line for record, line in zip(records, lines, strict=True)}
        kept = latest(records)
        if len(kept) < len(lines):
            path.write_text("".join(f"{written[id(r)]}\n" for r in kept), encoding="utf-8")
            print(f"{path}: {len(lines) - len(kept)} of {len(lines)} records were replaced")
    return 0


if __name__ == "__main__":
    sys.exit(main())
