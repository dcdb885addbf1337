"""gs.to_torch and gs.to_jax: a function of NumPy arrays as one of PyTorch's tensors or of JAX's arrays, with its gradient."""

from __future__ import annotations

import functools
import importlib
import reprlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..transforms.derivatives.vjp import forward
from ..transforms.trees import flatten, unflatten

__all__ = ["to_jax", "to_torch"]


def to_torch(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as one of PyTorch's tensors: a `torch.autograd.Function`, differentiated by gradscribe.

    Tensors may stand anywhere in the arguments, also in dicts, lists and dataclasses; other arguments are passed as they are.
    Arrays and numbers that come back are tensors, on the device of the first one. It is differentiated as often as one likes
    (`create_graph=True`). Tensors on a GPU are copied to the host and back. Raises ImportError without PyTorch.

    >>> import numpy as np, gradscribe as gs
    >>> import torch  # doctest: +SKIP
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)  # doctest: +SKIP
    >>> gs.to_torch(lambda x: np.sum(x ** 3))(x).backward()  # doctest: +SKIP
    >>> x.grad  # doctest: +SKIP
    tensor([ 3., 12.])
    """
    _check_callable(function, "to_torch")
    torch, apply = _torch()

    @functools.wraps(function)
    def of_tensors(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten([args, kwargs])
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def of_arrays(*arrays: Any) -> Any:
            given = list(leaves)
            for k, array in zip(places, arrays, strict=True):
                given[k] = array
            own_args, own_kwargs = unflatten(structure, given)
            return function(*own_args, **own_kwargs)

        return apply(of_arrays, [leaves[k] for k in places])

    return of_tensors


@functools.cache
def _torch() -> tuple[Any, Callable[..., Any]]:
    """PyTorch, and what calls a function of arrays with tensors: loaded when it is first asked for."""
    torch: Any = _loaded("torch", "to_torch")

    class Call(torch.autograd.Function):
        """One call; its backward is such a call itself where it is differentiated."""

        @staticmethod
        def forward(ctx: Any, of_arrays: Any, left: list[Any], *tensors: Any) -> Any:
            arrays = [t.detach().cpu().numpy() for t in tensors]
            ctx.places = tuple([k for k, needed in enumerate(ctx.needs_input_grad[2:]) if needed])
            ctx.of_arrays = of_arrays
            if ctx.places:
                value, ctx.pullback = forward(of_arrays, ctx.places, tuple(arrays), {})
            else:
                value = of_arrays(*arrays)
            leaves, ctx.structure = flatten(value)
            device = tensors[0].device if tensors else None
            made = [_tensor(leaf, device) if _is_number(leaf) else leaf for leaf in leaves]
            left += [made, ctx.structure]
            outs = tuple([leaf for leaf in made if isinstance(leaf, torch.Tensor)])
            ctx.at = [k for k, leaf in enumerate(made) if isinstance(leaf, torch.Tensor)]
            ctx.count = len(made)
            ctx.mark_non_differentiable(*[t for t in outs if not (t.is_floating_point() or t.is_complex())])
            ctx.save_for_backward(*tensors)
            return outs

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            tensors, places = ctx.saved_tensors, ctx.places

            def pulled(*given: Any) -> Any:
                arrays, own = given[: len(tensors)], given[len(tensors) :]
                return forward(ctx.of_arrays, places, arrays, {})[1](_cotangent(ctx, own))

            if torch.is_grad_enabled():  # create_graph=True
                found = call(pulled, [*tensors, *cotangents])
            else:
                found = ctx.pullback(_cotangent(ctx, [g.detach().cpu().numpy() for g in cotangents]))
                found = [_tensor(g, tensors[k].device) for k, g in zip(places, found, strict=True)]
            grads = dict(zip(places, found, strict=True))
            return (None, None, *[grads.get(k) for k in range(len(tensors))])

    def _cotangent(ctx: Any, given: Any) -> Any:
        leaves: list[Any] = [0.0] * ctx.count  # of text and the like, which is not differentiated
        for k, g in zip(ctx.at, given, strict=True):
            leaves[k] = g
        return unflatten(ctx.structure, leaves)

    def _tensor(leaf: Any, device: Any) -> Any:
        return torch.from_numpy(np.array(leaf)).to(device)

    def call(of_arrays: Any, tensors: list[Any]) -> Any:
        left: list[Any] = []
        outs = iter(Call.apply(of_arrays, left, *tensors))
        made, structure = left
        return unflatten(structure, [next(outs) if isinstance(leaf, torch.Tensor) else leaf for leaf in made])

    return torch, call


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.generic, float, int, complex)) and np.asarray(leaf).dtype.kind in "biufc"


def to_jax(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as one of JAX's arrays: `jax.pure_callback` with a `jax.custom_vjp`, differentiated by gradscribe.

    Arguments and results are trees of arrays; what else the function takes is bound before (`functools.partial`). It runs on
    the host, under `jax.jit` too, is differentiated in reverse mode as often as one likes, and under `jax.vmap` runs one by one.
    While JAX traces, it runs once on ones, which tells shapes and dtypes of its results. It must be pure, as JAX's are.
    Results have the precision that JAX is set to. Raises ImportError without JAX.

    >>> import numpy as np, gradscribe as gs
    >>> import jax  # doctest: +SKIP
    >>> jax.jit(jax.grad(gs.to_jax(lambda x: np.sum(x ** 3))))(np.array([1.0, 2.0]))  # doctest: +SKIP
    Array([ 3., 12.], dtype=float32)
    """
    _check_callable(function, "to_jax")
    return _jax_call(function, None)


def _check_callable(function: Any, name: str) -> None:
    if not callable(function):
        raise TypeError(f"gs.{name} takes a function, not {type(function).__name__}: {reprlib.repr(function)}")


def _loaded(library: str, name: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ImportError(f"gs.{name} needs {library}, which is not installed: pip install {library}") from error


def _jax_call(function: Callable[..., Any], like: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function of arrays as JAX calls it; `like` gives from the arguments a tree of what the results are like."""
    jax: Any = _loaded("jax", "to_jax")

    def on_host(*args: Any) -> Any:
        arrays = jax.tree.map(np.asarray, args)
        return jax.tree.map(lambda x: np.asarray(x, _type(np.asarray(x)).dtype), function(*arrays))

    def types_of(*args: Any) -> Any:
        if like is not None:
            return jax.tree.map(_type, like(*args))
        ones = jax.tree.map(lambda x: np.ones(np.shape(x), _type(x).dtype), args)
        with np.errstate(all="ignore"):
            return jax.tree.map(_type, on_host(*ones))

    def _type(x: Any) -> Any:
        return jax.ShapeDtypeStruct(
            np.shape(x), jax.dtypes.canonicalize_dtype(x.dtype if hasattr(x, "dtype") else np.result_type(x))
        )

    def run(*args: Any) -> Any:
        return jax.pure_callback(on_host, types_of(*args), *args, vmap_method="sequential")

    call: Any = jax.custom_vjp(functools.wraps(function)(run))

    def fwd(*args: Any) -> Any:
        return call(*args), args  # so that this is differentiated, too

    def bwd(args: Any, cotangent: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        places = [k for k, leaf in enumerate(leaves) if jax.numpy.issubdtype(_type(leaf).dtype, jax.numpy.inexact)]

        def pulled(given: Any, g: Any) -> Any:
            of_leaves = lambda *own: function(*jax.tree.unflatten(structure, own))
            found = forward(of_leaves, tuple(places), tuple(given), {})[1](
                _conjugates(g)
            )  # JAX's are conjugates of ours
            return _conjugates(list(found))

        found = _jax_call(pulled, lambda given, g: [given[k] for k in places])(leaves, cotangent)
        made: list[Any] = [np.zeros(np.shape(leaf), jax.dtypes.float0) for leaf in leaves]
        for k, g in zip(places, found, strict=True):
            made[k] = g
        return tuple(jax.tree.unflatten(structure, made))

    call.defvjp(fwd, bwd)
    made: Callable[..., Any] = call
    return made


def _conjugates(tree: Any) -> Any:
    leaves, structure = flatten(tree)
    return unflatten(structure, [np.conj(x) if np.iscomplexobj(x) else x for x in leaves])
