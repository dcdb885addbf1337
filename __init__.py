"""gradscribe: exact gradients of NumPy functions, eagerly or as readable source.

Where to begin:

    gs.grad(f)              the gradient of f (gs.value_and_grad: with the value; gs.jacobian, gs.hessian, gs.hvp, gs.jvp, gs.vjp)
    gs.compile(gs.grad(f))  the same as generated NumPy source, which runs from the second call on
    gs.source(g, *args)     that source, to read; gs.explain(g) says which calls it serves, and why others run eagerly
    gs.vmap(f)              f for each example at once
    gs.compare(f, *args)    eager, compiled and finite differences side by side
    gs.export(f, *args, path="f.py")    a module with f and its gradient that needs NumPy alone
    gs.report(f, *args)     a page to look at: your source beside the gradient's, the graph, the values, whether all agree
    gs.graph(g, *args), gs.graph(t)     the graph, drawn: in a notebook, as SVG, for Graphviz, Mermaid and networkx
    gs.tensor(x, requires_grad=True)    PyTorch's way: compute with it, .backward(), .grad

`help(gs.grad)` and the like show each with an example; README.md and docs/ tell the rest. On the command line:
`python -m gradscribe --help`.
"""

from __future__ import annotations

import numpy as _numpy  # before all else: benchmarks/import_time.py gave 1.5 behind typing, 1.22 here

# isort: split
import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .transforms import METHODS
from .transforms.finders import Alias, DropIn
from .transforms.user_code import CALLBACKS

if TYPE_CHECKING:
    import numpy as numpy

    from . import compat as compat
    from . import scale as distributed
    from .compat import utils as utils
    from .compat.frameworks import to_jax, to_torch
    from .explorer.graph import graph
    from .explorer.report import report
    from .fit.curve_fit import curve_fit, least_squares
    from .fit.minimize import minimize
    from .learn import functional as functional
    from .learn import nn as nn
    from .learn import optim as optim
    from .runtime.errors import (
        AutogradError,
        CompileError,
        ConvergenceError,
        DtypeError,
        EagerWarning,
        GradientLossError,
        NoRuleError,
        ShapeError,
        SingularPointError,
        VerifyError,
    )
    from .runtime.ops import Kind
    from .runtime.user_ops import op, rule
    from .tracer import autograd
    from .tracer.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
    from .tracer.autograd.legacy.stochastic import bernoulli, multinomial
    from .tracer.core.singular import singular
    from .tracer.core.thread_state import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
    )
    from .tracer.memory.checkpoint import checkpoint, set_checkpoint_early_stop
    from .tracer.protocols.exchange import from_dlpack
    from .tracer.random.generator import manual_seed
    from .tracer.tensors import function_types
    from .tracer.tensors.constructors import (
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
    from .tracer.tensors.function_types import *  # noqa: F403
    from .tracer.tensors.samplers import normal, rand, rand_like, randint, randn, randn_like, randperm
    from .tracer.tensors.tensor import Tensor, tensor
    from .transforms import tree
    from .transforms.checks import testing
    from .transforms.checks.check_grads import check_grads
    from .transforms.checks.check_rule import check_rule
    from .transforms.checks.compare import compare
    from .transforms.compiler.compile import compile, jit
    from .transforms.compiler.converted import converted
    from .transforms.compiler.explain import explain
    from .transforms.compiler.source import source
    from .transforms.derivatives.custom_jvp import custom_jvp
    from .transforms.derivatives.custom_vjp import custom_vjp
    from .transforms.derivatives.fixed_point import fixed_point
    from .transforms.derivatives.forward import jvp
    from .transforms.derivatives.gradient import grad, value_and_grad
    from .transforms.derivatives.jacobian import jacfwd, jacobian, jacrev
    from .transforms.derivatives.linearize import linearize
    from .transforms.derivatives.second_order import hessian, hvp
    from .transforms.derivatives.stop_gradient import stop_gradient
    from .transforms.derivatives.vjp import vjp
    from .transforms.derivatives.vmap import vmap
    from .transforms.exports.export import export
    from .transforms.exports.load import load_exported
    from .transforms.why import why

    default_generator: numpy.random.Generator
    scipy: Any  # which is optional

importlib.import_module(".unpatched", __name__)  # NumPy's functions as they are now: the engine is loaded later

__version__ = "0.1.0"

__all__ = [
    "AutogradError", "CompileError", "ConvergenceError", "DtypeError", "EagerWarning", "GradientLossError", "Kind",
    "NoRuleError", "ShapeError", "SingularPointError", "Tensor", "VerifyError", "arange", "as_tensor", "autograd",
    "bernoulli", "check_grads", "check_rule", "checkpoint", "compare", "compile", "converted", "curve_fit",
    "custom_jvp", "custom_vjp", "default_generator", "empty", "empty_like", "enable_grad", "explain", "export",
    "eye", "fixed_point", "from_dlpack", "from_numpy", "full", "full_like", "grad", "graph", "hessian", "hvp",
    "inference_mode", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
    "is_inference_mode_enabled", "jacfwd", "jacobian", "jacrev", "jit", "jvp", "least_squares", "linearize",
    "linspace", "load_exported", "logspace", "manual_seed", "minimize", "multinomial", "no_grad", "normal", "ones",
    "ones_like", "op", "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "report", "rule",
    "set_checkpoint_early_stop", "set_grad_enabled", "singular", "source", "stop_gradient", "tensor", "testing",
    "to_jax", "to_torch", "tree", "value_and_grad", "vjp", "vmap", "why", "zeros", "zeros_like",
]  # fmt: skip

if TYPE_CHECKING:  # at run time they are not in __all__, since some are named as Python's own
    __all__ += function_types.__all__
    __all__ += ["distributed"]  # which `from gradscribe import *` would put in the place of Dask's

_PLACES = {"autograd": "tracer.autograd", "distributed": "scale", "tree": "transforms.tree", "utils": "compat.utils"}
_PLACES |= {name: f"learn.{name}" for name in ("functional", "nn", "optim")}
sys.meta_path[:0] = [Alias(f"{__name__}.{name}", f"{__name__}.{place}") for name, place in _PLACES.items()]
_PYTORCHS = {  # PyTorch's places of them
    "nn.functional": "learn.functional",
    "utils.checkpoint": "tracer.memory.checkpoint",
    "autograd.variable": "tracer.autograd.legacy.variable",
    "autograd.stochastic": "tracer.autograd.legacy.stochastic",
}
sys.meta_path[:0] = [Alias(f"{__name__}.{name}", f"{__name__}.{place}") for name, place in _PYTORCHS.items()]
sys.meta_path[:0] = [DropIn(f"{__name__}.{name}", name) for name in ("numpy", "scipy")]

# Loaded on first use, so that importing gradscribe stays quick: nothing of the engine is loaded by `import gradscribe` alone.
_PLACES_OF = {
    "compat.frameworks": "to_jax to_torch",
    "explorer.graph": "graph",
    "explorer.report": "report",
    "fit.curve_fit": "curve_fit least_squares",
    "fit.minimize": "minimize",
    "runtime.errors": (
        "AutogradError CompileError ConvergenceError DtypeError EagerWarning GradientLossError NoRuleError ShapeError "
        "SingularPointError VerifyError"
    ),
    "runtime.ops": "Kind",
    "runtime.user_ops": "op rule",
    "tracer.autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "tracer.autograd.legacy.stochastic": "bernoulli multinomial",
    "tracer.core.singular": "singular",
    "tracer.core.thread_state": (
        "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad set_grad_enabled"
    ),
    "tracer.memory.checkpoint": "checkpoint set_checkpoint_early_stop",
    "tracer.protocols.exchange": "from_dlpack",
    "tracer.tensors.constructors": (
        "arange as_tensor empty empty_like eye from_numpy full full_like linspace logspace ones ones_like zeros zeros_like"
    ),
    "tracer.random.generator": "default_generator manual_seed",
    "tracer.tensors.tensor": "Tensor tensor",
    "tracer.tensors.samplers": "normal rand rand_like randint randn randn_like randperm",
    "transforms.checks.check_grads": "check_grads",
    "transforms.checks.check_rule": "check_rule",
    "transforms.checks.compare": "compare",
    "transforms.checks.testing": "testing",
    "transforms.compiler.compile": "compile jit",
    "transforms.compiler.converted": "converted",
    "transforms.compiler.explain": "explain",
    "transforms.compiler.source": "source",
    "transforms.derivatives.custom_jvp": "custom_jvp",
    "transforms.derivatives.custom_vjp": "custom_vjp",
    "transforms.derivatives.fixed_point": "fixed_point",
    "transforms.derivatives.forward": "jvp",
    "transforms.derivatives.gradient": "grad value_and_grad",
    "transforms.derivatives.jacobian": "jacfwd jacobian jacrev",
    "transforms.derivatives.linearize": "linearize",
    "transforms.derivatives.second_order": "hessian hvp",
    "transforms.derivatives.stop_gradient": "stop_gradient",
    "transforms.derivatives.vjp": "vjp",
    "transforms.derivatives.vmap": "vmap",
    "transforms.exports.export": "export",
    "transforms.exports.load": "load load_exported",
    "transforms.why": "why",
}
_LATER = {name: place for place, names in _PLACES_OF.items() for name in names.split()}


def load_ipython_extension(ipython: Any) -> None:
    """Give a notebook the cell magic `%%gradscribe`: what `%load_ext gradscribe` calls."""
    importlib.import_module(".explorer.notebook", __name__).load_ipython_extension(ipython)


def _late(place: str, name: str) -> Callable[..., Any]:
    """Return a function that loads the real one when it is called."""

    def late(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(f".{place}", __name__), name)(*args, **kwargs)

    return late


def _loader(place: str, name: str) -> Callable[[], Any]:
    """Return a function that loads something and gives it."""
    return lambda: getattr(importlib.import_module(f".{place}", __name__), name)


METHODS["compile"] = _late("transforms.compiler.compile", "compile")
METHODS["compare"] = _late("transforms.checks.compare", "compare")
METHODS.update({name: _late("transforms.compiler.source", name) for name in ("source", "graph", "program")})
for _place, _names in {
    "optimize scipy_roots": "bisect brenth brentq fixed_point fsolve newton ridder root root_scalar toms748",
    "integrate scipy_integrals": "dblquad fixed_quad nquad quad quad_vec tplquad",
    "integrate scipy_ode": "solve_ivp",
    "integrate odeint": "odeint",
    "stats scipy_expect": "expect",
    "optimize scipy_minimize": "minimize",
    "optimize scipy_optima": "brent curve_fit fminbound golden least_squares lsq_linear minimize_scalar nnls",
}.items():
    _module, _, _file = _place.partition(" ")
    for _name in _names.split():
        CALLBACKS[f"scipy.{_module}", _name] = _loader(f"transforms.derivatives.{_file}", _name)
_MODULES = frozenset(["compat", "numpy", "scipy", "testing", *_PLACES])
_LATER |= {"compat": "compat", "numpy": "numpy", "scipy": "scipy", **_PLACES}


def _functions() -> list[str]:
    """The names of PyTorch's functions, which are not in __all__, since some are named as Python's own."""
    methods = importlib.import_module(".tracer.tensors.torch_methods", __name__)
    return str(methods.FUNCTIONS + methods.OTHER_FUNCTIONS).split()


if not TYPE_CHECKING:  # a name that is not declared is an error to them

    def __getattr__(name: str) -> Any:
        place = _LATER.get(name)
        if place is None and not name.startswith("_") and name in _functions():
            place = "tracer.tensors.torch_functions"
        if place is None:
            errors = importlib.import_module(".runtime.errors", __name__)
            raise errors.no_such_name(f"module {__name__!r} has no attribute {name!r}{_elsewhere(name)}")
        module = importlib.import_module(f".{place}", __name__)
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
    tensor_type = importlib.import_module(".tracer", __name__).Tensor
    if hasattr(tensor_type, name):
        return (
            f"; it is a method: t.{name}()"
            if callable(getattr(tensor_type, name))
            else f"; it is an attribute: t.{name}"
        )
    for place in ("functional", "optim", "nn", "autograd"):
        module = importlib.import_module(f".{_PLACES[place]}", __name__)
        if name in module.__all__ or name in getattr(module, "_LATER", ()):
            return f"; it is gs.{place}.{name}"
    return ""


def __dir__() -> list[str]:
    # not in __all__: SciPy is optional, and `numpy` a name of the user's
    return sorted({*__all__, *_MODULES, *_functions(), *(name for name in globals() if name.startswith("__"))})
