"""Encrypted integers without their client."""

from ..integers._public import *  # noqa: F403
