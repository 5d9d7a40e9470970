"""The folder that commands run in."""

from pathlib import Path

import pytest
from cli_support import SET, Shell, write_phrase
from whorl.binfhe import Client, parameters


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder with a passphrase."""
    write_phrase(tmp_path)
    return Shell(tmp_path)


@pytest.fixture
def keyed(shell: Shell) -> Shell:
    """A folder with a secret key, too."""
    Client(parameters(SET, allow_insecure=True)).save(
        shell.folder / "secret.whorl", "correct horse"
    )
    return shell
