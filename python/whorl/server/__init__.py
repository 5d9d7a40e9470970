"""The server's half of all schemes: evaluation keys, ciphertexts, operations; nothing secret.

>>> from whorl.server import bgv, binfhe, ckks
>>> hasattr(binfhe, "Server"), hasattr(binfhe, "Client")
(True, False)

Importing this package brings in no name that makes, loads or uses a secret key, and not the
compiled module that has them, `whorl._client`, without which it works. Its loaders refuse a file
that holds a secret (`TypeMismatchError`).
"""

from .._core.session import Session
from . import bgv, binfhe, ckks, integers, lanes

__all__ = ["Session", "bgv", "binfhe", "ckks", "integers", "lanes"]
