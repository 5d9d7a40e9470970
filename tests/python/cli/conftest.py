"""The folder that commands run in."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder with a passphrase."""
    (tmp_path / "phrase").write_text("correct horse\n", encoding="utf-8")
    return Shell(tmp_path)
