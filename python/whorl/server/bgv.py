"""BGV without its client."""

from ..bgv import Ciphertexts as Ciphertexts
from ..bgv import EncryptedArray as EncryptedArray
from ..bgv import EvaluationKeys as EvaluationKeys
from ..bgv import Matrix as Matrix
from ..bgv import Mean as Mean
from ..bgv import ParameterLiteral as ParameterLiteral
from ..bgv import Parameters as Parameters
from ..bgv import Plaintexts as Plaintexts
from ..bgv import Plan as Plan
from ..bgv import PublicKey as PublicKey
from ..bgv import Range as Range
from ..bgv import Server as Server
from ..bgv import concatenate as concatenate
from ..bgv import parameters as parameters
from ..bgv import plain_modulus as plain_modulus
from ..bgv import plan as plan
from ..bgv import rotations_for as rotations_for
from ..bgv import stack as stack
