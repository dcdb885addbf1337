"""gradscribe.numpy.fft, for type checkers."""

from numpy.fft import *
