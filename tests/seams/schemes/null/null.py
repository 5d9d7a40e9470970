"""The scheme that does nothing, in Python: its classes name those of the library."""

from types import MappingProxyType
from typing import Any

import _null
from whorl._core.array import DeviceArray, HostArray
from whorl._core.base_server import BaseServer
from whorl._core.literal import CheckedParameters, Part, as_long, as_text, as_word, list_of
from whorl.cli import Scheme


class Parameters(CheckedParameters):
    _reader = _literal_type = _null.Parameters
    _fields = MappingProxyType({"name": as_text, "N": as_word, "chain": list_of(as_long, "primes")})
    _required, name, security_bits = ("N", "chain"), Part[str]("_literal.name", ""), 0


class Ciphertexts(HostArray):
    _reader, _parameters_type = _null.Ciphertexts, Parameters
    parameters = Part[Parameters]("_parameters", "That they were made under.")


class Server(BaseServer[Any, Ciphertexts, DeviceArray[Any]]):
    _maker, _keys_type = _null.Server, Parameters  # type: ignore[assignment]  # there are no keys
    _host_type, _device_type = Ciphertexts, DeviceArray


EvaluationKeys = Parameters  # there are none
COMMANDS = Scheme("null", "null", "type 32768, of another scheme", "type 32769, of another scheme")
