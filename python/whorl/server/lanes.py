"""Lanes without their client."""

from ..lanes._public import *  # noqa: F403
