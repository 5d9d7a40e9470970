"""FHEW/TFHE without its server."""

from ..binfhe import Ciphertexts as Ciphertexts
from ..binfhe import CompressionKeys as CompressionKeys
from ..binfhe import EvaluationKeys as EvaluationKeys
from ..binfhe import PackedCiphertexts as PackedCiphertexts
from ..binfhe import ParameterLiteral as ParameterLiteral
from ..binfhe import Parameters as Parameters
from ..binfhe import ProductKeys as ProductKeys
from ..binfhe import PublicKey as PublicKey
from ..binfhe import concatenate as concatenate
from ..binfhe import parameter_sets as parameter_sets
from ..binfhe import parameters as parameters
from ..binfhe import stack as stack
from ..binfhe._client import Client as Client
