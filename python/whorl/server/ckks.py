"""CKKS without its client."""

from ..ckks._public import *  # noqa: F403
