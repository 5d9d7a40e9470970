"""BGV without its server."""

from ..bgv import Ciphertexts as Ciphertexts
from ..bgv import EvaluationKeys as EvaluationKeys
from ..bgv import ParameterLiteral as ParameterLiteral
from ..bgv import Parameters as Parameters
from ..bgv import PublicKey as PublicKey
from ..bgv import concatenate as concatenate
from ..bgv import parameters as parameters
from ..bgv import rotations_for as rotations_for
from ..bgv import stack as stack
from ..bgv._client import Client as Client
