"""gradscribe.numpy.random, for type checkers."""

from numpy.random import *
