"""The client's half of both schemes: makes, holds and uses secret keys; encrypts and decrypts.

>>> from whorl.client import bgv, binfhe
>>> client = binfhe.Client(binfhe.parameters("W128_P64"))
>>> client.decrypt(client.encrypt([1, 0]))
array([1, 0])
"""

from . import bgv, binfhe

__all__ = ["bgv", "binfhe"]
