"""CKKS without its server."""

from ..ckks import Bits as Bits
from ..ckks import Ciphertexts as Ciphertexts
from ..ckks import EvaluationKeys as EvaluationKeys
from ..ckks import Expectation as Expectation
from ..ckks import LinearMap as LinearMap
from ..ckks import MatrixProduct as MatrixProduct
from ..ckks import ParameterLiteral as ParameterLiteral
from ..ckks import Parameters as Parameters
from ..ckks import Plan as Plan
from ..ckks import Precision as Precision
from ..ckks import PublicKey as PublicKey
from ..ckks import Released as Released
from ..ckks import Values as Values
from ..ckks import concatenate as concatenate
from ..ckks import diagonals as diagonals
from ..ckks import linear_map as linear_map
from ..ckks import parameters as parameters
from ..ckks import plan as plan
from ..ckks import precision as precision
from ..ckks import stack as stack
from ..ckks._client import Client as Client
