from collections.abc import Callable

from .._server.binfhe import Ciphertexts, EvaluationKeys, Parameters
from .._server.parts import I64, U32, Holder

class Client(Holder[Client, Parameters]):
    def encrypt(
        self, messages: U32, encoding: tuple[int, bool], allow_failure: float
    ) -> Ciphertexts: ...
    def decrypt(self, batch: Ciphertexts) -> U32: ...
    def noise(self, batch: Ciphertexts, messages: U32) -> I64: ...
    def evaluation_keys(
        self, threads: int, progress: Callable[[int, int], object] | None
    ) -> EvaluationKeys: ...
