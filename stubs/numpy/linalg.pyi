"""gradscribe.numpy.linalg, for type checkers."""

from numpy.linalg import *
