"""Boolean circuits on encrypted bits: what a synthesis tool wrote runs on ciphertexts of FHEW/TFHE.

>>> from whorl import binfhe, circuit
>>> text = '''
... .inputs a[0] a[1] b[0] b[1]
... .outputs less
... .names a[1] b[1] a[0] b[0] less
... 01-- 1
... 0001 1
... 1101 1
... .end'''
>>> compare = circuit.loads(text, "compare.blif")
>>> compare.inputs, compare.outputs, compare.depth
({'a': 2, 'b': 2}, {'less': 1}, 2)
>>> client = binfhe.Client(binfhe.parameters("W128_P64"))
>>> server = binfhe.Server(client.evaluation_keys(), device="cpu")
>>> numbers = {"a": [0, 1, 3], "b": [2, 1, 1]}
>>> bits = {name: client.encrypt(circuit.to_bits(x, 2)) for name, x in numbers.items()}
>>> client.decrypt(compare.run(server, bits)["less"])
array([1, 0, 0])
"""

from __future__ import annotations

from ._api import load, loads
from ._circuit import Circuit, from_bits, to_bits
from ._schedule import Schedule

__all__ = ["Circuit", "Schedule", "from_bits", "load", "loads", "to_bits"]
