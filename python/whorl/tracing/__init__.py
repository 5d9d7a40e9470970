"""Functions of integers, written with NumPy, on ciphertexts of FHEW/TFHE.

`whorl.trace` follows a function and finds the bounds of its integers; `Trace.compile` makes tables
of it, which a server looks up.

>>> import numpy as np
>>> import whorl
>>> def steps(x):
...     return np.maximum(x - 3, 0) + (x > 5)
>>> circuit = whorl.trace(steps, range(8)).compile()
>>> circuit.simulate([2, 4, 7])
array([0, 1, 5])
>>> client = circuit.keys()
>>> server = whorl.binfhe.Server(client.evaluation_keys(), device="cpu")
>>> circuit.decrypt(client, circuit.run(server, circuit.encrypt(client, [2, 4, 7])))
array([0, 1, 5])
"""

from __future__ import annotations

from ._circuit import Circuit, from_bytes, load
from ._operations import bivariate, rounded, univariate
from ._trace import Trace, trace
from ._traced import Traced

__all__ = [
    "Circuit",
    "Trace",
    "Traced",
    "bivariate",
    "from_bytes",
    "load",
    "rounded",
    "trace",
    "univariate",
]
