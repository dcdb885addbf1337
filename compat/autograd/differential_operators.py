"""autograd's differential operators: each is one small function of a value and its pullback, made callable like `grad`.

They keep autograd's convention of complex numbers, the conjugate of ours: for real f, grad(f)(x + iy) is df/dx - i df/dy.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...tracer.memory.checkpoint import checkpoint as run_checkpointed
from ...transforms.derivatives.forward import jvp
from ...transforms.derivatives.gradient import GradFunction
from ...transforms.derivatives.jacobian import JacobianFunction
from ...transforms.derivatives.second_order import HessianFunction
from ...transforms.derivatives.vjp import forward
from ...transforms.transform import Transform
from ...transforms.trees import flatten, unflatten
from ...transforms.user_code.scope import as_it_runs

__all__ = [
    "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian", "hessian_tensor_product",
    "hessian_vector_product", "holomorphic_grad", "hvp", "jacobian", "make_ggnvp", "make_hvp", "make_jvp",
    "make_jvp_reversemode", "make_vjp", "multigrad_dict", "tensor_jacobian_product", "value_and_grad",
    "vector_jacobian_product",
]  # fmt: skip


_RUNS: dict[str, Callable[..., Any]] = {}


class Operator(Transform):
    """A derivative under autograd's name: `run(function, argnum, args, kwargs)`, called with the function's arguments."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.kind = options["run"]

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        more = self.options.get("more", ())
        return _RUNS[self.options["run"]](self.function, self.options["argnum"], args, kwargs, *more)


def _operator(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run` as a function of `fun` and `argnum`, a position or a tuple of them."""
    _RUNS[run.__name__] = run

    def make(fun: Any, argnum: Any = 0) -> Any:
        return Operator(fun, {"run": run.__name__, "argnum": argnum})

    make.__name__ = make.__qualname__ = run.__name__
    make.__doc__ = run.__doc__
    return make


def _conj(tree: Any) -> Any:
    """A tree with its complex leaves conjugated: from our convention to autograd's, and back."""
    leaves, structure = flatten(tree)
    if not any(np.result_type(leaf).kind == "c" for leaf in leaves if hasattr(leaf, "dtype")):
        return tree
    return unflatten(structure, [np.conj(x) if hasattr(x, "dtype") and x.dtype.kind == "c" else x for x in leaves])


def _vjp(function: Any, argnum: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The value of a function, and its pullback in autograd's convention."""
    several = isinstance(argnum, (tuple, list))
    value, pullback = forward(function, tuple(argnum) if several else (argnum,), args, kwargs)

    def back(g: Any) -> Any:
        found = _conj(pullback(_conj(g)))
        return found if several else found[0]

    return value, back


def _like(tree: Any, make: Any) -> Any:
    leaves, structure = flatten(tree)
    return unflatten(structure, [make(leaf) for leaf in leaves])


def _ones(leaf: Any) -> Any:
    return np.ones(np.shape(leaf), np.result_type(leaf if hasattr(leaf, "dtype") else type(leaf)))[()]


def _without(argnum: Any, fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """`fun` of the arguments `argnum` alone, one after the other."""
    places = argnum if isinstance(argnum, (tuple, list)) else (argnum,)

    def of(*moved: Any) -> Any:
        given = list(args)
        for k, x in zip(places, moved, strict=True):
            given[k] = x
        return as_it_runs(fun)(*given, **kwargs)

    return of


@_operator
def grad(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """The gradient of a scalar function: `grad(fun, argnum=0)(*args)`, of the structure of the argument.

    >>> from gradscribe.compat.autograd import grad
    >>> grad(lambda x: x**3)(2.0)
    np.float64(12.0)
    """
    return _conj(GradFunction(fun, {"argnums": argnum, "has_aux": False, "with_value": False})(*args, **kwargs))


@_operator
def value_and_grad(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """The value of a scalar function, and its gradient."""
    found = GradFunction(fun, {"argnums": argnum, "has_aux": False, "with_value": True})(*args, **kwargs)
    return found[0], _conj(found[1])


@_operator
def grad_and_aux(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """Of a function that gives `(output, aux)`: the gradient of the output, and aux."""
    found = GradFunction(fun, {"argnums": argnum, "has_aux": True, "with_value": False})(*args, **kwargs)
    return _conj(found[0]), found[1]


def grad_named(fun: Any, argname: str) -> Any:
    """The gradient with respect to the argument of that name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def multigrad_dict(fun: Any) -> Any:
    """The gradients with respect to all arguments, as a dict by their names."""
    signature = inspect.signature(fun)

    @functools.wraps(fun)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of(given: dict[str, Any]) -> Any:
            bound.arguments.update(given)
            return as_it_runs(fun)(*bound.args, **bound.kwargs)

        return grad(of)(dict(bound.arguments))

    return gradient


@_operator
def elementwise_grad(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """The sum of each column of the Jacobian: the derivative of each element of a function that works element by element."""
    value, back = _vjp(fun, argnum, args, kwargs)
    if any(np.result_type(leaf).kind == "c" for leaf in flatten(value)[0] if hasattr(leaf, "dtype")):
        raise TypeError("Elementwise_grad only applies to real-output functions.")
    return back(_like(value, _ones))


@_operator
def deriv(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """How the output moves as the argument moves by one, in forward mode."""
    return jvp(_without(argnum, fun, args, kwargs), (args[argnum],), (_like(args[argnum], _ones),))[1]


@_operator
def jacobian(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """The Jacobian, of shape `output.shape + argument.shape`."""
    return _conj(JacobianFunction(fun, {"argnums": argnum})(*args, **kwargs))


@_operator
def hessian(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """The matrix of second derivatives of a scalar function, of shape `argument.shape * 2`."""
    return HessianFunction(fun, {"argnums": argnum})(*args, **kwargs)


@_operator
def holomorphic_grad(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """The complex derivative of a holomorphic function with one output."""
    if not any(np.result_type(leaf).kind == "c" for leaf in flatten(args[argnum])[0]):
        raise TypeError("the argument of holomorphic_grad must be complex")
    real = lambda *xs, **options: np.real(as_it_runs(fun)(*xs, **options))
    return _conj(GradFunction(real, {"argnums": argnum, "has_aux": False, "with_value": False})(*args, **kwargs))


@_operator
def make_vjp(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """`make_vjp(fun)(x)` gives `(vjp, value)`: the map from cotangents of the output to those of the argument."""
    value, back = _vjp(fun, argnum, args, kwargs)
    return back, value


@_operator
def make_jvp(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """`make_jvp(fun)(x)` gives the map from a tangent of the argument to `(value, tangent of the output)`."""
    of = _without(argnum, fun, args, kwargs)
    primals = tuple([args[k] for k in argnum]) if isinstance(argnum, (tuple, list)) else (args[argnum],)
    return lambda *v: jvp(of, primals, v[0] if len(v) == 1 and len(primals) > 1 else v)


@_operator
def make_jvp_reversemode(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """`make_jvp_reversemode(fun)(x)` gives the map from a tangent of the argument to that of the output."""
    of = _without(argnum, fun, args, kwargs)
    return lambda v: jvp(of, (args[argnum],), (v,))[1]


@_operator
def make_hvp(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """`make_hvp(fun)(x)` gives `(hvp, gradient)`: the map from a vector to its product with the Hessian."""
    gradient, back = _vjp(grad(fun, argnum), argnum, args, kwargs)
    return back, gradient


@_operator
def hessian_tensor_product(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """The Hessian times a tensor that comes behind the arguments: `hessian_tensor_product(fun)(*args, tensor)`."""
    *given, tensor = args
    return make_hvp(fun, argnum)(*given, **kwargs)[0](tensor)


@_operator
def tensor_jacobian_product(fun: Any, argnum: Any, args: Any, kwargs: Any) -> Any:
    """A tensor, behind the arguments, times the Jacobian: `tensor_jacobian_product(fun)(*args, tensor)`."""
    *given, tensor = args
    return _vjp(fun, argnum, tuple(given), kwargs)[1](tensor)


hessian_vector_product: Callable[..., Any] = hessian_tensor_product
hvp: Callable[..., Any] = hessian_tensor_product
vector_jacobian_product: Callable[..., Any] = tensor_jacobian_product


def _half_square(x: Any) -> Any:
    return np.sum(x**2) / 2


def _ggnvp(f: Any, argnum: Any, args: Any, kwargs: Any, g: Any) -> Any:
    value, back = _vjp(f, argnum, args, kwargs)
    of = _without(argnum, f, args, kwargs)
    curve = make_hvp(g)(value)[0]
    return lambda v: back(curve(jvp(of, (args[argnum],), (v,))[1]))


_RUNS["make_ggnvp"] = _ggnvp


def make_ggnvp(f: Any, g: Any = _half_square, f_argnum: int = 0) -> Any:
    """The generalised Gauss-Newton product of `g(f(x))`: v becomes Jᵀ H J v, with the Jacobian of f and the Hessian of g."""
    return Operator(f, {"run": "make_ggnvp", "argnum": f_argnum, "more": (g,)})


def checkpoint(fun: Any) -> Any:
    """`fun`, which keeps nothing for backward and is run again there."""

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return run_checkpointed(as_it_runs(fun), *args, **kwargs)

    return checkpointed
