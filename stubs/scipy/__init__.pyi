"""gradscribe.scipy, for type checkers."""

from typing import Any

from . import cluster as cluster
from . import constants as constants
from . import fft as fft
from . import integrate as integrate
from . import interpolate as interpolate
from . import linalg as linalg
from . import ndimage as ndimage
from . import optimize as optimize
from . import signal as signal
from . import sparse as sparse
from . import spatial as spatial
from . import special as special
from . import stats as stats

def __getattr__(name: str) -> Any: ...
