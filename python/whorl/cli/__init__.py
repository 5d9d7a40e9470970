"""The command `whorl`; documentation in docs/cli.md."""

from ._main import main

__all__ = ["main"]
