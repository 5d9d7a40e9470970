"""Encrypted integers of 1 to 256 bits, with NumPy's shapes and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.on_demand import client_on_demand
from . import _public
from ._public import *  # noqa: F403

__all__ = ["Client"]
__all__ += _public.__all__

__getattr__, __dir__ = client_on_demand(__name__, __all__)
if TYPE_CHECKING:
    from ._client import Client
