"""What an optimiser asks of the user's function: its value, gradient, Hessian and products with it, on vectors."""

from __future__ import annotations

import reprlib
import sys
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..runtime.errors import DtypeError, EagerWarning, GradientLossError, ShapeError
from ..tracer.core.graph import is_older, next_sequence
from ..tracer.core.site import is_ours, library_of
from ..tracer.core.tensor_base import Operand
from ..transforms.arguments import return_line, returned
from ..transforms.compiler.driver.compiled import LIMIT, Compiled
from ..transforms.derivatives.gradient import value_and_grad
from ..transforms.derivatives.jacobian import jacobian
from ..transforms.derivatives.second_order import hessian, hvp
from ..transforms.transform import Transform
from ..transforms.trees import flatten, unflatten
from ..transforms.user_code.scope import scope
from .layout import Layout

__all__ = ["Evaluation", "Flat", "Objective", "Residual", "as_it_compiles", "constants_alone"]


class _Silent(Compiled):
    """A compiled function that runs eagerly without a word where it cannot be compiled: nobody has asked for it."""

    def _warn(self, message: str) -> None:
        pass


class _Asked(Compiled):
    """A compiled function that SciPy calls: a warning is about the user's line, not about SciPy's."""

    def _warn(self, message: str) -> None:
        frame: Any = sys._getframe(1)
        while frame.f_back is not None and of_no_user(frame.f_code.co_filename):
            frame = frame.f_back
        warnings.warn_explicit(message, EagerWarning, frame.f_code.co_filename, frame.f_lineno)


def of_no_user(filename: str) -> bool:
    """Whether a file is ours, SciPy's or NumPy's."""
    return is_ours(filename) or library_of(filename) is not None


def as_it_compiles(function: Any, compile: bool | None) -> Any:
    """Return a transform compiled: always (True, with a warning where that fails), where it can be (None), or never."""
    if compile is False:
        return function
    return (_Asked if compile else _Silent)(function, {"verify": False, "max_specialisations": LIMIT})


class Evaluation(NamedTuple):
    """What is known of the function at one point."""

    x: Any
    value: float
    gradient: Any = None


class Objective:
    """A function of a tree and of constants, as one of a vector. One run gives value and gradient of a point."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], layout: Layout, compile: bool | None
    ) -> None:
        self.function, self.args, self.layout = function, args, layout
        self.compile = compile
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self.began = next_sequence()
        self.count = 0
        self.recent: deque[Evaluation] = deque(maxlen=8)
        self._both: Any = None
        self._hessian: Any = None
        self._product: Any = None

    def value(self, x: Any) -> float:
        """Return the value at a point, for methods that take no derivative."""
        found = self._known(x)
        if found is None:
            value = self._number(self.function(self.layout.tree(x.copy()), *self.args), x)
            found = self._remember(Evaluation(x.copy(), value))
        return found.value

    def value_with_gradient(self, x: Any) -> Evaluation:
        """Return value and gradient at a point, of one run of the function."""
        found = self._known(x)
        if found is None or found.gradient is None:
            if self._both is None:
                self._both = as_it_compiles(value_and_grad(self.function), self.compile)
            value, gradient = self._both(self.layout.tree(x.copy()), *self.args)
            number = self._number(value, x)
            found = self._remember(Evaluation(x.copy(), number, self.layout.vector(self._plain(gradient))))
        return found

    def smooth_value(self, x: Any) -> float:
        """Return the value at a point, at which the gradient may be asked for next."""
        return self.value_with_gradient(x).value

    def gradient(self, x: Any) -> Any:
        """Return the gradient at a point."""
        found = self.value_with_gradient(x)
        if np.isnan(found.gradient).any() and np.isfinite(found.value) and np.isfinite(x).all():
            raise FloatingPointError(
                f"{self.layout.who} of `{self.name}`: the gradient is nan where the value is {found.value:.6g}, at x = "
                f"{self._shown(x)}. gs.singular and gs.why say which operation has none there; bound the parameters, or start "
                f"elsewhere.\n`{self.name}` returned at {return_line(self.function)}."
            )
        return found.gradient.copy()

    def hessian(self, x: Any) -> Any:
        """Return the matrix of second derivatives at a point."""
        if self._hessian is None:
            self._hessian = as_it_compiles(hessian(self.function), self.compile)
        return self.layout.square(self._plain(self._hessian(self.layout.tree(x.copy()), *self.args)))

    def product(self, x: Any, direction: Any) -> Any:
        """Return the product of the Hessian at a point with a direction."""
        if self._product is None:
            self._product = as_it_compiles(hvp(self.function), self.compile)
        v = self.layout.tree(np.array(direction, self.layout.dtype))
        return self.layout.vector(self._plain(self._product(self.layout.tree(x.copy()), *self.args, v)))

    def at(self, x: Any) -> Evaluation | None:
        """Return what is known of a point of the last few, without a run."""
        return next((e for e in reversed(self.recent) if np.array_equal(e.x, x)), None)

    def _known(self, x: Any) -> Evaluation | None:
        last = self.recent[-1] if self.recent else None
        return last if last is not None and np.array_equal(last.x, x) else None

    def _remember(self, found: Evaluation) -> Evaluation:
        self.count += 1
        self.recent.append(found)
        return found

    def _plain(self, tree: Any) -> Any:
        return constants_alone(tree, self.began, self.layout.who, self.name)

    def _number(self, value: Any, x: Any) -> float:
        """Return the value as a number; raise where it is none, or none that an optimiser could compare."""
        who, value = self.layout.who, self._plain(value)
        if not isinstance(value, (int, float, complex, np.ndarray, np.generic)):
            what, what_to_do = returned(self.function, value)
            raise ShapeError(f"{who} needs one number, but {what}.\n{what_to_do or 'Return one number.'}")
        if np.shape(value):
            raise ShapeError(
                f"{who} needs one number, but `{self.name}` returned shape {np.shape(value)} at {return_line(self.function)}.\n"
                "Sum it (`.sum()`), or take gs.least_squares, which is given the residuals."
            )
        if np.asarray(value).dtype.kind not in "biuf":
            raise DtypeError(
                f"{who} needs a real number, but `{self.name}` returned {np.asarray(value).dtype} at "
                f"{return_line(self.function)}.\nTake np.real(z), np.abs(z) ..."
            )
        number = float(np.asarray(value))
        if number != np.inf and not np.isfinite(number) and np.isfinite(x).all():
            raise FloatingPointError(
                f"{who}: `{self.name}` returned {number} at {return_line(self.function)}, for x = {self._shown(x)}.\n"
                "Bound the parameters, start elsewhere, or return np.inf where x is outside of the domain."
            )
        if number == np.inf and not self.recent:
            raise FloatingPointError(
                f"{who}: `{self.name}` returned inf at {return_line(self.function)} for x0 itself, {self._shown(x)}.\n"
                "Start where the value is finite."
            )
        return number

    def _shown(self, x: Any) -> str:
        return reprlib.repr(self.layout.tree(x.copy()))


class Flat(Transform):
    """A function of the user's whose result is one vector, whatever tree of arrays it was."""

    kind = "flat"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return numbers_of(scope().rebuild(self.function)(*args, **kwargs))


class _Weighted(Transform):
    """The sum of a function's results with weights, which stand behind the first argument."""

    kind = "weighted"

    def __call__(self, x: Any, weights: Any, *args: Any) -> Any:
        return np.sum(weights * numbers_of(scope().rebuild(self.function)(x, *args)))


class Residual:
    """A function with several results, as one from a vector to a vector: residuals, and constraints."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], layout: Layout, compile: bool | None
    ) -> None:
        self.function, self.args, self.layout, self.compile = function, args, layout, compile
        self.name = str(getattr(function, "__name__", type(function).__name__))
        self.began = next_sequence()
        self._jacobian: Any = None
        self._hessian: Any = None

    def value(self, x: Any, *_: Any) -> Any:
        """Return the results at a point."""
        found = self.function(self.layout.tree(x.copy()), *self.args)
        if found is None:
            what, what_to_do = returned(self.function, found)
            raise ShapeError(f"{self.layout.who} needs numbers, but {what}.\n{what_to_do}")
        return np.asarray(numbers_of(self._plain(found)))

    def jacobian(self, x: Any, *_: Any) -> Any:
        """Return their derivatives: a row for each result."""
        if self._jacobian is None:
            self._jacobian = as_it_compiles(jacobian(Flat(self.function, {})), self.compile)
        return self.layout.rows(self._plain(self._jacobian(self.layout.tree(x.copy()), *self.args)))

    def hessian(self, x: Any, weights: Any) -> Any:
        """Return the second derivatives of their sum with weights."""
        if self._hessian is None:
            self._hessian = as_it_compiles(hessian(_Weighted(self.function, {})), self.compile)
        found = self._hessian(self.layout.tree(x.copy()), np.array(weights, float), *self.args)
        return self.layout.square(self._plain(found))

    def _plain(self, tree: Any) -> Any:
        return constants_alone(tree, self.began, self.layout.who, self.name)


def numbers_of(result: Any) -> Any:
    """Return all numbers of a result, a tree of arrays, as one vector."""
    leaves, _ = flatten(result)
    return np.ravel(leaves[0]) if len(leaves) == 1 else np.concatenate([np.ravel(leaf) for leaf in leaves])


def constants_alone(tree: Any, began: int, who: str, name: str) -> Any:
    """Return results as arrays; raise where they depend on a value from outside that is differentiated."""
    if not isinstance(tree, Operand) and isinstance(tree, (np.ndarray, np.generic, float)):
        return tree
    leaves, structure = flatten(tree)
    if not any(isinstance(leaf, Operand) for leaf in leaves):
        return tree
    if any(isinstance(leaf, Operand) and leaf._node is not None and is_older(leaf._node, began) for leaf in leaves):
        raise GradientLossError(
            f"{who} of `{name}`: `{name}` reads a value from outside that is differentiated, and its gradient would be lost: the "
            "solution is found out of sight. Call the function of scipy.optimize itself, whose solution is differentiated, or "
            "let it read gs.stop_gradient of that."
        )
    return unflatten(structure, [leaf._value if isinstance(leaf, Operand) else leaf for leaf in leaves])
