"""gs.autograd: the names of `torch.autograd`. Modules that are seldom used are loaded at their first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..core.backward import backward, grad
from ..core.thread_state import enable_grad, inference_mode, no_grad, set_grad_enabled

if TYPE_CHECKING:
    from . import anomaly_mode as anomaly_mode
    from . import function as function
    from . import functional as functional
    from . import grad_mode as grad_mode
    from . import graph as graph
    from . import profiler as profiler
    from .anomaly_mode import detect_anomaly as detect_anomaly
    from .anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
    from .anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
    from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
    from .function import Function as Function
    from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
    from .gradcheck import GradcheckError as GradcheckError
    from .gradcheck import gradcheck as gradcheck
    from .gradcheck import gradgradcheck as gradgradcheck
    from .legacy import stochastic as stochastic
    from .legacy import variable as variable
    from .legacy.variable import Variable as Variable

__all__ = ["backward", "enable_grad", "grad", "inference_mode", "no_grad", "set_grad_enabled"]

_LATER: dict[str, str] = {
    "GradcheckError": "gradcheck",
    "gradcheck": "gradcheck",
    "gradgradcheck": "gradcheck",
    "anomaly_mode": "anomaly_mode",
    "detect_anomaly": "anomaly_mode",
    "grad_mode": "grad_mode",
    "is_anomaly_check_nan_enabled": "anomaly_mode",
    "is_anomaly_enabled": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "set_multithreading_enabled": "grad_mode",
    "Function": "function",
    "function": "function",
    "graph": "graph",
    "profiler": "profiler",
    "functional": "functional",
    "Variable": "legacy.variable",
    "variable": "legacy.variable",
    "stochastic": "legacy.stochastic",
}  # a name, and the module of this folder that it stands in


if not TYPE_CHECKING:  # a name that is not declared is an error to them

    def __getattr__(name: str) -> Any:
        module = _LATER.get(name)
        if module is None:
            raise AttributeError(f"module 'gradscribe.autograd' has no attribute {name!r}")
        loaded = importlib.import_module(f".{module}", __name__)
        found = loaded if name == module.rpartition(".")[2] else getattr(loaded, name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
