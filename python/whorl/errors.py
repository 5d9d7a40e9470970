"""Every failure that Whorl reports.

The tree is that of `include/whorl/error.h`: the class says what kind of thing was wrong, the
message names the field, the value and the bound. Plain misuse of Python (a wrong type, an index out
of range) raises `TypeError`, `ValueError` or `IndexError`.
"""

from ._server import (
    CorruptionError,
    DeviceError,
    EncodingError,
    Error,
    FormatError,
    InterruptedError,
    IoError,
    KeyMismatchError,
    MismatchError,
    MissingKeyError,
    NoiseError,
    OutOfMemoryError,
    OversizedError,
    ParameterError,
    ParameterMismatchError,
    PassphraseError,
    RandomnessError,
    RangeError,
    ShapeError,
    TruncatedError,
    TypeMismatchError,
    VersionError,
)

__all__ = [
    "CorruptionError",
    "DeviceError",
    "EncodingError",
    "Error",
    "FormatError",
    "InterruptedError",
    "IoError",
    "KeyMismatchError",
    "MismatchError",
    "MissingKeyError",
    "NoiseError",
    "OutOfMemoryError",
    "OversizedError",
    "ParameterError",
    "ParameterMismatchError",
    "PassphraseError",
    "RandomnessError",
    "RangeError",
    "ShapeError",
    "TruncatedError",
    "TypeMismatchError",
    "VersionError",
]
