"""gradscribe.numpy, for type checkers."""

from numpy import *

from . import fft as fft
from . import linalg as linalg
from . import random as random
