"""Evaluation keys: what a server gets."""

from __future__ import annotations

from .._core.saved import Keys
from .._server import binfhe as _lib
from ._parameters import Parameters


class EvaluationKeys(Keys[Parameters]):
    """Blind-rotation and key-switching keys; `Client.evaluation_keys` makes them.

    They hold nothing secret: they may be saved, sent and pickled. The uniform halves travel as
    seeds. (OpenFHE: the keys of BTKeyGen.)
    """

    __slots__ = ()

    _core: _lib.EvaluationKeys
    _reader, _parameters_type = _lib.EvaluationKeys, Parameters
    _made_by = "Client.evaluation_keys()"
