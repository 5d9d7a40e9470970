"""Lanes without their server."""

from ..ckks import Ciphertexts as Ciphertexts
from ..ckks import EvaluationKeys as EvaluationKeys
from ..ckks import Parameters as Parameters
from ..lanes import CompactBits as CompactBits
from ..lanes import LweInputKeys as LweInputKeys
from ..lanes import LweOutputKeys as LweOutputKeys
from ..lanes import Plan as Plan
from ..lanes import parameters as parameters
from ..lanes import plan as plan
from ..lanes._client import Client as Client
