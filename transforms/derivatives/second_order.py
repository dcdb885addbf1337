"""hvp and hessian: the second derivatives of functions with a scalar output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

from ...runtime.errors import ShapeError
from ...tracer.core.site import pruned
from ...unpatched import np
from ..arguments import check_argnums
from ..transform import Transform
from ..trees import flatten, in_words, unflatten
from .forward import VECTOR
from .gradient import GradFunction
from .jacobian import JacobianFunction
from .vjp import Pullback, traced

if TYPE_CHECKING:
    from ..typed import Argnums, P, S, Transformed, Transforming, WithAux

__all__ = ["DIRECTION", "HessianFunction", "HvpFunction", "hessian", "hvp"]


DIRECTION = "second derivatives along one direction, as the gradient of the slope along it"


class _SecondOrder(Transform):
    """A derivative of the gradient with respect to the same arguments."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.argnums = options["argnums"]
        self.has_aux = options.get("has_aux", False)
        gradient = {"argnums": self.argnums, "has_aux": self.has_aux, "with_value": False}
        self.gradient = GradFunction(function, gradient)

    def along(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[GradFunction, tuple[Any, ...]]:
        """The gradient of the slope along the vector that is the last of `args`: this derivative, as `gs.compare` sees it."""
        return GradFunction(_Slope(self.function, self.gradient.options), self.gradient.options), args


class _Slope(Transform):
    """Return the growth of a function along a vector, which stands behind its arguments."""

    kind = "slope"
    vector_names = VECTOR

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.gradient = GradFunction(function, options)
        self.__name__ = f"the slope of {self.gradient._name()}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        *given, v = args
        grown = 0.0
        for g, t in zip(flatten(self.gradient(*given, **kwargs))[0], flatten(v)[0], strict=True):
            grown = grown + np.sum(np.real(np.conj(g) * t))
        return grown


class HessianFunction(_SecondOrder):
    """The transform behind `gs.hessian`: called like the function, it gives the second derivatives."""

    kind = "hessian"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        options = {"argnums": self.argnums, "has_aux": self.has_aux}
        return JacobianFunction(self.gradient, options)(*args, **kwargs)

    def along(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[GradFunction, tuple[Any, ...]]:
        """As of `gs.hvp`, along one direction."""
        leaves, structure = flatten(self.gradient(*args, **kwargs))
        rng = np.random.default_rng(0)
        directions = [rng.normal(size=np.shape(leaf)).astype(np.asarray(leaf).dtype)[()] for leaf in leaves]
        return super().along((*args, unflatten(structure, directions)), kwargs)


class HvpFunction(_SecondOrder):
    """The transform behind `gs.hvp`: called like the function, with a vector behind its arguments."""

    kind = "hvp"

    vector_names = VECTOR

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) + len(kwargs) < 2:
            raise TypeError(
                f"gs.hvp of `{self.gradient._name()}` takes the vector as its last positional argument, behind those of "
                f"the function, but was called with {len(args)}"
            )
        *given, v = args
        several = isinstance(self.argnums, (tuple, list))
        argnums = self.argnums if several else (self.argnums,)
        found, run = traced(self.gradient, argnums, tuple(given), kwargs, self.has_aux)
        v = tuple(v) if several and isinstance(v, list) else v
        self._check(v, found)
        product = Pullback(run)(v)
        made = product if several else product[0]
        return (made, run.aux) if self.has_aux else made

    def _check(self, v: Any, gradient: Any) -> None:
        leaves, structure = flatten(v)
        expected, wanted = flatten(gradient)
        shapes = [tuple(np.shape(leaf)) for leaf in leaves], [tuple(np.shape(leaf)) for leaf in expected]
        if structure != wanted:
            raise ShapeError(
                f"gs.hvp takes a vector with the structure of what is differentiated, "
                f"{in_words(wanted)}, but got {in_words(structure)}"
            )
        if shapes[0] != shapes[1]:
            listed = [", ".join(map(str, found)) for found in shapes]
            raise ShapeError(
                f"gs.hvp takes a vector with the shape of what is differentiated, {listed[1]}, but got {listed[0]}"
            )


@overload
def hvp(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Transformed[..., Any]: ...
@overload
def hvp(
    function: None = None, argnums: Argnums = 0, has_aux: bool = False
) -> Callable[[Callable[..., Any]], Transformed[..., Any]]: ...
@pruned
def hvp(function: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """The product of the Hessian of `function` with a vector: `gs.hvp(f)(*args, v)`, without the Hessian itself.

    `v` comes behind the positional arguments, in the shape (or tree) of the argument `argnums`, a position or a name; a
    tuple of vectors where `argnums` is a tuple of those, and so is the result. It costs a few times what the gradient
    costs. `has_aux` takes a function that returns `(output, aux)`, and gives `(product, aux)`.
    Raises ShapeError unless the output is a scalar and `v` like the argument, DtypeError for integers.

    >>> import numpy as np, gradscribe as gs
    >>> gs.hvp(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    check_argnums(argnums, "hvp")
    if function is None:
        return functools.partial(hvp, argnums=argnums, has_aux=has_aux)
    return HvpFunction(function, {"argnums": argnums, "has_aux": has_aux})


@overload
def hessian(
    function: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False
) -> Transformed[P, Any]: ...
@overload
def hessian(
    function: Callable[P, tuple[Any, S]], argnums: Argnums = 0, *, has_aux: Literal[True]
) -> Transformed[P, tuple[Any, S]]: ...
@overload
def hessian(function: None = None, argnums: Argnums = 0, has_aux: Literal[False] = False) -> Transforming[Any]: ...
@overload
def hessian(function: None = None, argnums: Argnums = 0, *, has_aux: Literal[True]) -> WithAux: ...
@pruned
def hessian(function: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """The second derivatives of `function` with respect to the argument `argnums`: of shape `x.shape + x.shape`.

    For trees and a tuple of `argnums` the result has the structure of the gradient, and each leaf of it that structure
    again, as `jax.hessian` gives it. All rows go through one backward pass. `has_aux` takes a
    function that returns `(output, aux)`, and gives `(hessian, aux)`. Raises what `gs.grad` raises.

    >>> import numpy as np, gradscribe as gs
    >>> gs.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 5.0]))
    array([[10.,  6.],
           [ 6.,  0.]])
    """
    check_argnums(argnums, "hessian")
    if function is None:
        return functools.partial(hessian, argnums=argnums, has_aux=has_aux)
    return HessianFunction(function, {"argnums": argnums, "has_aux": has_aux})
