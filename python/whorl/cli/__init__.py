"""The command `whorl`; documentation in docs/cli.md."""

from ._main import app, main
from ._scheme import Scheme, register

__all__ = ["Scheme", "app", "main", "register"]
