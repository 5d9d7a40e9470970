"""Networks on encrypted vectors: a model that was trained in clear runs on ciphertexts of CKKS.

>>> import numpy as np
>>> from whorl import ckks, nn
>>> model = nn.Builder((4,))
>>> halves = model.linear("first", 0, np.eye(4) / 2)
>>> squares = model.function("square", halves, "polynomial", (0, 0, 1))
>>> graph = model.graph(model.linear("second", squares, np.ones((1, 4))))
>>> net = nn.compile(graph, np.random.default_rng(1).uniform(-1, 1, (50, 4)))
>>> client = ckks.Client(net.parameters)
>>> server = ckks.Server(client.evaluation_keys(**net.keys), device="cpu")
>>> x = [[0.5, -0.5, 0.25, 1.0]]
>>> net.ends.decrypt(client, net.run(server, net.ends.encrypt(client, x))).round(4)
array([[0.3906]])
"""

from __future__ import annotations

from ._api import compile, load, load_ends
from ._builder import Builder
from ._difference import PrecisionWarning
from ._ends import End, Ends
from ._graph import Graph
from ._network import Network
from ._outside import RangeWarning

__all__ = [
    "Builder",
    "End",
    "Ends",
    "Graph",
    "Network",
    "PrecisionWarning",
    "RangeWarning",
    "compile",
    "load",
    "load_ends",
]
