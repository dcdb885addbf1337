"""gs.autograd: the names of `torch.autograd`. What is seldom used is loaded at its first use."""

from __future__ import annotations

import importlib
from typing import Any

from ..core.backward import backward, grad
from ..modes.thread_state import enable_grad, inference_mode, no_grad, set_grad_enabled

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
