"""FHEW/TFHE without its client."""

from ..binfhe._public import *  # noqa: F403
