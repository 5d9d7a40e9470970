from collections.abc import Sequence
from typing import Any

from . import Session
from .parts import I32, U32, Batch, Checked, Frame, Keys, OnDevice, OnSession, Read

_Encoding = tuple[int, bool]

class ParameterLiteral:
    name: str
    n: int
    source: str
    q: int
    key_switch: str
    N: int
    gadget: list[tuple[int, int, int]]
    Q: int
    lwe_secret: str
    Q_ks: int
    ring_secret: str
    log_B_ks: int
    sigma_lwe: float
    ks_digits: int
    sigma_ring: float
    max_p: int
    transform: str
    padding: bool
    small_modulus_gadgets: list[tuple[int, int, int]]
    rotation: tuple[str, int, int]
    def __init__(self) -> None: ...

class Parameters(Checked[Parameters, ParameterLiteral]):
    @staticmethod
    def named(name: str, allow_insecure: bool) -> Parameters: ...
    @staticmethod
    def names() -> list[str]: ...
    keys_per_coefficient: Read[int]
    rotation_key_rows: Read[int]
    rotation_transforms: Read[float]
    key_switch_key_bytes: Read[int]
    def rotation_key_bytes(self, transform: str) -> int: ...
    key_switch_digits: Read[int]
    key_switch_rows: Read[int]
    security: Read[tuple[float, float]]
    def noise(self, transform: str) -> dict[str, Any]: ...
    def failure_log2(self, transform: str) -> float: ...
    def gate_failure_log2(
        self, sum_of_squares: float, margin_sectors: float, transform: str
    ) -> float: ...
    def sign_failure_log2(self, p: int, transform: str) -> float: ...
    def floor_failure_log2(self, p: int, round_bits: int, transform: str) -> float: ...
    def fresh_failure_log2(self, p: int, padding: bool) -> float: ...
    def lut_failure_log2(self, p: int, padding: bool, arbitrary: bool, transform: str) -> float: ...

class Ciphertexts(Batch[Ciphertexts, Parameters]):
    encoding: Read[_Encoding]
    noise: Read[float]
    largest: Read[int]
    range: Read[tuple[int, int] | None]
    data: Read[U32]

class EvaluationKeys(Keys[EvaluationKeys, Parameters]): ...

class Lut(Frame[Lut]):
    @staticmethod
    def create(
        parameters: Parameters, values: U32, input: _Encoding, output: _Encoding, exact: bool
    ) -> Lut: ...
    parameters: Read[Parameters]
    values: Read[list[int]]
    input: Read[_Encoding]
    output: Read[_Encoding]
    kind: Read[str]
    exact: Read[bool]
    error_bound: Read[int]

class Array(OnDevice):
    encoding: Read[_Encoding]
    count: Read[int]
    noise: Read[float]
    largest: Read[int]
    range: Read[tuple[int, int] | None]

class Server(OnSession[Server, EvaluationKeys, Parameters, Ciphertexts, Array]):
    @staticmethod
    def create(  # type: ignore[override]  # it takes two more
        keys: EvaluationKeys,
        session: Session | tuple[str, int, int],
        transform: str | None,
        rotation: str,
        allow_failure: float,
    ) -> Server: ...
    allow_failure: Read[float]
    device_keys: Read[int | None]
    def device_counters(self) -> dict[str, dict[str, int]]: ...
    rotation: Read[str]
    transform: Read[str]
    def gate(self, name: str, inputs: Sequence[Array], output: _Encoding | None) -> Array: ...
    def gate_of_known(self, name: str, a: Array, ones: U32, output: _Encoding | None) -> Array: ...
    def not_(self, a: Array) -> Array: ...
    def mux(self, select: Array, a: Array, b: Array) -> Array: ...
    def mux_of_known(self, select: Array, a: U32, b: U32) -> Array: ...
    def mux_by_known(self, select: U32, a: Array, b: Array) -> Array: ...
    def bootstrap(self, a: Array, output: _Encoding | None) -> Array: ...
    def apply(
        self, luts: Sequence[Lut], index: U32, a: Array, within: int | None = None
    ) -> Array: ...
    def error_bound(self, lut: Lut, a: Array) -> int: ...
    def eval_floor(self, a: Array, round_bits: int) -> Array: ...
    def eval_sign(self, a: Array, output: _Encoding) -> Array: ...
    def eval_decomp(self, a: Array) -> list[Array]: ...
    def linear(
        self,
        weights: I32,
        inputs: Sequence[Array],
        constant: int,
        modular: bool = False,
        largest: int | None = None,
    ) -> Array: ...
    def with_range(self, a: Array, range: tuple[int, int]) -> Array: ...
    def trivial(self, messages: U32, encoding: _Encoding) -> Array: ...

allowed_failure: float

def gates() -> list[tuple[str, int]]: ...
