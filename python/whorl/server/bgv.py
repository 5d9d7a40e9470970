"""BGV without its client."""

from ..bgv._public import *  # noqa: F403
