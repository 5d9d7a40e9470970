"""JSON between processes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound="InFile")


def read_json(path: Path) -> Any:
    """What `write_json` wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, data: Any) -> None:
    """Writes `data` as JSON for people to read."""
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


@dataclasses.dataclass(frozen=True)
class InFile:
    """Plain data of its subclasses, which a JSON file holds."""

    def save(self, path: Path) -> None:
        """Writes a file."""
        write_json(path, dataclasses.asdict(self))

    @classmethod
    def load(cls: type[F], path: Path) -> F:
        """Reads what `save` wrote."""
        return cls(**read_json(path))
