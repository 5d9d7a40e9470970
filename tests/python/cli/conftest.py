"""The folder that commands run in."""

from pathlib import Path

import pytest
from cli_support import Shell, write_phrase


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder with a passphrase."""
    write_phrase(tmp_path)
    return Shell(tmp_path)
