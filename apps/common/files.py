"""JSON between processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_json(path: Path) -> Any:
    """What `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, data: Any) -> None:
    """Writes `data` as JSON for people to read."""
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
