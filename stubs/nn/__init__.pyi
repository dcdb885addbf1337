"""gradscribe.nn, for type checkers."""

from ..learn.nn import *
from . import functional as functional
from . import utils as utils
