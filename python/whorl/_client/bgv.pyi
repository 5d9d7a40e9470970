from collections.abc import Callable
from typing import Any

import numpy as np

from .._server.bgv import Ciphertexts, EvaluationKeys, KeyRequest, Parameters, PublicKey
from .._server.parts import I64, Holder

class Client(Holder[Client, Parameters]):
    def encrypt(self, values: I64, packing: str, length: int) -> Ciphertexts: ...
    def decrypt(
        self, batch: Ciphertexts, allow_spent: bool
    ) -> np.ndarray[Any, np.dtype[np.uint64]]: ...
    def noise_budget(self, batch: Ciphertexts) -> np.ndarray[Any, np.dtype[np.float64]]: ...
    def public_key(self) -> PublicKey: ...
    def evaluation_keys(
        self,
        request: KeyRequest,
        threads: int,
        progress: Callable[[int, int], object] | None,
    ) -> EvaluationKeys: ...

def encrypt(key: PublicKey, values: I64, packing: str, length: int) -> Ciphertexts: ...
