"""The client's half of all schemes: makes, holds and uses secret keys; encrypts and decrypts.

>>> from whorl.client import bgv, binfhe, ckks
>>> client = binfhe.Client(binfhe.parameters("W128_P64"))
>>> client.decrypt(client.encrypt([1, 0]))
array([1, 0])
"""

from . import bgv, binfhe, ckks, integers, lanes

__all__ = ["bgv", "binfhe", "ckks", "integers", "lanes"]
