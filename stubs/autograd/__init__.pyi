"""gradscribe.autograd, for type checkers."""

from ..tracer.autograd import *
from ..tracer.autograd.anomaly_mode import *
from ..tracer.autograd.function import Function as Function
from ..tracer.autograd.grad_mode import *
from ..tracer.autograd.gradcheck import *
from ..tracer.autograd.legacy.variable import *
from . import anomaly_mode as anomaly_mode
from . import function as function
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from . import profiler as profiler
from . import stochastic as stochastic
from . import variable as variable
