"""Encrypted integers without their server."""

from ..integers import Ciphertexts as Ciphertexts
from ..integers import Fresh as Fresh
from ..integers import Plan as Plan
from ..integers import PublicClient as PublicClient
from ..integers import plan as plan
from ..integers._client import Client as Client
