"""Keys between LWE ciphertexts of FHEW/TFHE and lanes."""

from __future__ import annotations

from .. import binfhe, ckks
from .._core.part import Part
from .._core.text import at_least_bits
from .._ring.keys import RingKeys
from .._server import bridges as _lib


class LweKeys(RingKeys[ckks.Parameters]):
    """Keys that lead from one key to another, between `whorl.binfhe` and lanes."""

    __slots__ = ()

    _parameters_type = ckks.Parameters

    lwe_key_id = Part[str](
        "_core.lwe_key_id", "Label of the key of FHEW/TFHE, 32 hexadecimal digits.", bytes.hex
    )

    security_bits = Part[float](
        "_core.security_bits",
        "Estimated security in bits of what is encrypted beside these keys: the least of that of "
        "both keys, and of the secret between them, which nobody keeps.",
    )

    @property
    def lwe_parameters(self) -> binfhe.Parameters:
        """The parameters of the key of FHEW/TFHE."""
        return binfhe.Parameters(self._core.lwe_parameters)

    def _facts(self) -> list[tuple[str, str]]:
        """What `whorl info` says of a file besides its header."""
        lwe = self.lwe_parameters
        return [
            *self.parameters._details(),
            ("LWE parameters", f"{lwe.name or 'unnamed'}, digest {lwe.digest}"),
            *lwe._details()[:1],
            ("LWE key id", self.lwe_key_id),
            ("security", f"{at_least_bits(self.security_bits)} bits"),
        ]

    def _contents(self) -> str:
        lwe = self.lwe_parameters
        return f", with key {self.lwe_key_id[:8]}… of {lwe.name or 'unnamed'}"


class LweInputKeys(LweKeys):
    """Keys with which a `lanes.Server` takes LWE ciphertexts of a `binfhe.Client` into lanes.

    `lanes.Client.lwe_input_keys` makes them. They hold nothing secret: they may be saved, sent and
    pickled.
    """

    __slots__ = ()

    _core: _lib.LweInputKeys
    _reader = _lib.LweInputKeys
    _made_by = "lanes.Client.lwe_input_keys()"


class LweOutputKeys(LweKeys):
    """Keys with which a `lanes.Server` gives lanes out as LWE ciphertexts of a `binfhe.Client`.

    `lanes.Client.lwe_output_keys` makes them. They hold nothing secret: they may be saved, sent and
    pickled.
    """

    __slots__ = ()

    _core: _lib.LweOutputKeys
    _reader = _lib.LweOutputKeys
    _made_by = "lanes.Client.lwe_output_keys()"
