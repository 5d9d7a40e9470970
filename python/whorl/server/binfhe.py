"""FHEW/TFHE without its client."""

from ..binfhe import Ciphertexts as Ciphertexts
from ..binfhe import EncryptedArray as EncryptedArray
from ..binfhe import EvaluationKeys as EvaluationKeys
from ..binfhe import Fresh as Fresh
from ..binfhe import Lut as Lut
from ..binfhe import ParameterLiteral as ParameterLiteral
from ..binfhe import Parameters as Parameters
from ..binfhe import Plan as Plan
from ..binfhe import Server as Server
from ..binfhe import concatenate as concatenate
from ..binfhe import parameter_sets as parameter_sets
from ..binfhe import parameters as parameters
from ..binfhe import plan as plan
from ..binfhe import stack as stack
