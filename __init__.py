"""gradscribe: exact gradients of NumPy functions, eagerly or as readable source."""

from __future__ import annotations

import numpy as _numpy  # before all else: benchmarks/import_time.py gave 1.5 behind typing, 1.22 here

# isort: split
import importlib
import sys
from typing import TYPE_CHECKING, Any

from .runtime import (
    AutogradError,
    CompileError,
    ConvergenceError,
    DtypeError,
    EagerWarning,
    GradientLossError,
    Kind,
    NoRuleError,
    ShapeError,
    SingularPointError,
    VerifyError,
)
from .runtime.aliases import Alias
from .tracer import Tensor, enable_grad, is_grad_enabled, no_grad, tensor
from .tracer.exchange import from_dlpack
from .tracer.modes import inference_mode, is_inference_mode_enabled, set_grad_enabled
from .tracer.singular import singular
from .tracer.torch_methods import FUNCTIONS, OTHER_FUNCTIONS
from .transforms.finder import DropIn

if TYPE_CHECKING:
    from .runtime.user_ops import op, rule
    from .tracer import autograd
    from .tracer.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
    from .tracer.autograd.stochastic import bernoulli, multinomial
    from .tracer.checkpoint import checkpoint, set_checkpoint_early_stop
    from .tracer.constructors import (
        arange,
        as_tensor,
        empty,
        empty_like,
        eye,
        from_numpy,
        full,
        full_like,
        linspace,
        logspace,
        ones,
        ones_like,
        zeros,
        zeros_like,
    )
    from .tracer.generator import manual_seed
    from .tracer.samplers import normal, rand, rand_like, randint, randn, randn_like, randperm
    from .transforms import testing
    from .transforms.check_grads import check_grads
    from .transforms.check_rule import check_rule
    from .transforms.compare import compare
    from .transforms.compiler.compile import compile
    from .transforms.converted import converted
    from .transforms.custom_jvp import custom_jvp
    from .transforms.custom_vjp import custom_vjp
    from .transforms.explain import explain
    from .transforms.export import export
    from .transforms.fixed_point import fixed_point
    from .transforms.forward import jvp
    from .transforms.gradient import grad, value_and_grad
    from .transforms.jacobian import jacfwd, jacobian, jacrev
    from .transforms.linearize import linearize
    from .transforms.load import load
    from .transforms.second_order import hessian, hvp
    from .transforms.source import source
    from .transforms.stop_gradient import stop_gradient
    from .transforms.vjp import vjp
    from .transforms.vmap import vmap
    from .transforms.why import why

__version__ = "0.1.0"

__all__ = [
    "AutogradError", "CompileError", "ConvergenceError", "DtypeError", "EagerWarning", "GradientLossError", "Kind",
    "NoRuleError", "ShapeError", "SingularPointError", "Tensor", "VerifyError", "arange", "as_tensor", "autograd",
    "bernoulli", "check_grads", "check_rule", "checkpoint", "compare", "compile", "converted", "custom_jvp",
    "custom_vjp", "default_generator", "empty", "empty_like", "enable_grad", "explain", "export", "eye", "fixed_point",
    "from_dlpack", "from_numpy", "full", "full_like", "grad", "hessian", "hvp", "inference_mode",
    "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled", "is_inference_mode_enabled", "jacfwd",
    "jacobian", "jacrev", "jvp", "linearize", "linspace", "load", "logspace", "manual_seed", "multinomial", "no_grad",
    "normal", "ones", "ones_like", "op", "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "rule",
    "set_checkpoint_early_stop", "set_grad_enabled", "singular", "source", "stop_gradient", "tensor", "testing",
    "value_and_grad", "vjp", "vmap", "why", "zeros", "zeros_like",
]  # fmt: skip

_PLACES = {"autograd": "tracer.autograd", "utils": "compat.utils"}
_PLACES |= {name: f"learn.{name}" for name in ("functional", "nn", "optim")}
sys.meta_path[:0] = [Alias(f"{__name__}.{name}", f"{__name__}.{place}") for name, place in _PLACES.items()]
_PYTORCHS = {"nn.functional": "learn.functional", "utils.checkpoint": "tracer.checkpoint"}  # PyTorch's places of them
sys.meta_path[:0] = [Alias(f"{__name__}.{name}", f"{__name__}.{place}") for name, place in _PYTORCHS.items()]
sys.meta_path[:0] = [DropIn(f"{__name__}.{name}", name) for name in ("numpy", "scipy")]

# Loaded on first use, so that importing gradscribe stays quick.
_LATER = {
    "check_grads": "transforms.check_grads", "check_rule": "transforms.check_rule",
    "checkpoint": "tracer.checkpoint", "set_checkpoint_early_stop": "tracer.checkpoint",
    "compare": "transforms.compare", "compile": "transforms.compiler.compile",
    "converted": "transforms.converted",
    "custom_jvp": "transforms.custom_jvp",
    "custom_vjp": "transforms.custom_vjp", "explain": "transforms.explain", "export": "transforms.export",
    "grad": "transforms.gradient", "value_and_grad": "transforms.gradient",
    "fixed_point": "transforms.fixed_point", "load": "transforms.load",
    "bernoulli": "tracer.autograd.stochastic", "multinomial": "tracer.autograd.stochastic",
    "default_generator": "tracer.generator", "manual_seed": "tracer.generator",
    "is_anomaly_check_nan_enabled": "tracer.autograd.anomaly_mode",
    "is_anomaly_enabled": "tracer.autograd.anomaly_mode",
    "op": "runtime.user_ops", "rule": "runtime.user_ops",
    "hessian": "transforms.second_order", "hvp": "transforms.second_order",
    "jacfwd": "transforms.jacobian", "jacobian": "transforms.jacobian", "jacrev": "transforms.jacobian",
    "jvp": "transforms.forward", "linearize": "transforms.linearize", "source": "transforms.source",
    "stop_gradient": "transforms.stop_gradient", "testing": "transforms.testing", "vjp": "transforms.vjp",
    "vmap": "transforms.vmap", "why": "transforms.why",
}  # fmt: skip
_CONSTRUCTORS = (
    "arange", "as_tensor", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace", "logspace", "ones",
    "ones_like", "zeros", "zeros_like",
)  # fmt: skip
_SAMPLERS = ("normal", "rand", "rand_like", "randint", "randn", "randn_like", "randperm")
_LATER |= dict.fromkeys(_CONSTRUCTORS, "tracer.constructors") | dict.fromkeys(_SAMPLERS, "tracer.samplers")
_FUNCTIONS = tuple((FUNCTIONS + OTHER_FUNCTIONS).split())  # not in __all__, since some are named as Python's own
_LATER |= dict.fromkeys(_FUNCTIONS, "tracer.torch_functions")
_MODULES = frozenset(["compat", "numpy", "scipy", "testing", *_PLACES])
_LATER |= {"compat": "compat", "numpy": "numpy", "scipy": "scipy", **_PLACES}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_elsewhere(name)}")
    module = importlib.import_module(f".{_LATER[name]}", __name__)
    if name == "default_generator":
        return module.generator()  # while capturing it is another
    found = module if name in _MODULES else getattr(module, name)
    globals()[name] = found
    return found


def _elsewhere(name: str) -> str:
    """Where those who know PyTorch find an operation that they look for here."""
    if name.startswith("_"):
        return ""
    if hasattr(_numpy, name):
        return f"; operations and types are NumPy's: np.{name}"
    if hasattr(Tensor, name):
        return f"; it is a method: t.{name}()" if callable(getattr(Tensor, name)) else f"; it is an attribute: t.{name}"
    for place in ("functional", "optim", "nn", "autograd"):
        module = __getattr__(place)
        if name in module.__all__ or name in getattr(module, "_LATER", ()):
            return f"; it is gs.{place}.{name}"
    return ""


def __dir__() -> list[str]:
    # not in __all__: SciPy is optional, and `numpy` a name of the user's
    return sorted({*globals(), *__all__, *_MODULES, *_FUNCTIONS})
