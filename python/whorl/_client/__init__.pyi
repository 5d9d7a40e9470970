"""whorl._client: the client's half of the C++ library as the package uses it."""

from . import bgv as bgv
from . import binfhe as binfhe
from . import ckks as ckks
