"""Every failure that Whorl reports.

The tree is that of `include/whorl/error.h`: the class says what kind of thing was wrong, the
message names the field, the value and the bound. Plain misuse of Python (a wrong type, an index out
of range) raises `TypeError`, `ValueError` or `IndexError`.
"""

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


class Error(Exception):
    """Root of all exceptions raised by Whorl."""


class ParameterError(Error):
    """A parameter is outside its range or contradicts another."""


class ShapeError(Error):
    """Sizes, lengths or indices do not fit together."""


class EncodingError(Error):
    """A message or plaintext modulus outside its range."""


class NoiseError(Error):
    """A result that may be wrong: there is too much noise."""


class MissingKeyError(Error):
    """An evaluation key is missing; the message has which to ask for."""


class PassphraseError(Error):
    """A secret key could not be unwrapped with this passphrase."""


class DeviceError(Error):
    """A device is absent, lost or refused a call."""


class RandomnessError(Error):
    """The system gave no randomness."""


class IoError(Error):
    """The operating system refused a file operation."""


class InterruptedError(Error):
    """The caller asked a long call to stop."""


class OutOfMemoryError(Error):
    """Memory is short; the message has what it was for."""


class MismatchError(Error):
    """Two objects that do not belong together."""


class ParameterMismatchError(MismatchError):
    """Made under different parameters."""


class KeyMismatchError(MismatchError):
    """Made under different keys."""


class FormatError(Error):
    """Bytes from outside are not what they should be."""


class TruncatedError(FormatError):
    """Fewer bytes than announced."""


class OversizedError(FormatError):
    """More bytes than allowed or announced."""


class TypeMismatchError(FormatError):
    """A frame of another type, as a secret where a key was due."""


class VersionError(FormatError):
    """A format version that this build does not read."""


class CorruptionError(FormatError):
    """The digest does not match: bits were flipped."""


class RangeError(FormatError):
    """A residue or a field is out of its range."""


for _name in __all__:  # as users import them, also out of a pickle
    globals()[_name].__module__ = "whorl"
