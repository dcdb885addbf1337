"""The Jacobians that gradcheck compares: by central differences, and by backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...runtime.errors import AutogradError
from ...runtime.hermitian import noting_hermitian, symmetrising
from ..core.backward import grad
from ..core.exits import warn_at_user
from ..core.site import blame
from ..core.tensor_base import Operand, wrap
from ..core.versions import own_array

__all__ = ["Array", "GradcheckError", "Jacobians", "Part", "as_tuple", "combined", "differentiable"]

Array = np.ndarray[Any, Any]


class GradcheckError(AutogradError):
    """What gradcheck and gradgradcheck found wrong with a function's gradients."""


class Part(NamedTuple):
    """A real function among the outputs: an output, or one part of a complex one."""

    number: int  # among the outputs that require grad
    place: int  # among all
    output: Any
    name: str  # "real", "imaginary", or empty
    seed: complex  # what makes of a real cotangent that of the output

    def of(self, derivative: Array) -> Array:
        return derivative.imag if self.name == "imaginary" else derivative.real


class _Argument(NamedTuple):
    """An input that requires grad."""

    place: int
    tensor: Any
    array: Array  # its memory


class Jacobians:
    """The Jacobians of a function at given inputs, numerically and by backward."""

    def __init__(
        self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float,
        dtypes: bool,
    ) -> None:  # fmt: skip
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol, self.dtypes = eps, atol, rtol, nondet_tol, dtypes
        self.arguments = list(_arguments(inputs))
        self.tensors = [a.tensor for a in self.arguments]
        self.symmetrised = False

    def call(self) -> tuple[Any, ...]:
        """The outputs of the function."""
        outputs = as_tuple(self.func(*self.inputs))
        for k, o in enumerate(outputs):
            if not isinstance(o, (Operand, np.ndarray, np.generic, int, float, complex)):
                raise blame(
                    TypeError(
                        f"gradcheck expects a function that returns Tensors, but output {k} is {type(o).__name__}"
                    )
                )
        return outputs

    def parts(self) -> list[Part]:
        """The real functions to check: imaginary parts before real ones."""
        with noting_hermitian() as noted:
            outputs = self.call()
        self.symmetrised = bool(noted) and all(hermitian for _, hermitian in noted)
        self.kinds = [np.result_type(_value(o)).kind for o in outputs]
        self.outputs = differentiable(outputs)
        made: list[Part] = []
        at = [k for k, o in enumerate(outputs) if isinstance(o, Operand) and o._node is not None]
        for i, (k, o) in enumerate(zip(at, self.outputs, strict=True)):
            halves = [("imaginary", 1j), ("real", 1)] if self.kinds[k] == "c" else [("", 1)]
            made += [Part(i, k, o, name, seed) for name, seed in halves]
        return made

    # numerically
    def difference(self, array: Array, index: Any, step: Any) -> list[Array]:
        """The derivative of each output as `step` (of length eps) is added to `array[index]`: a central difference."""
        before = np.array(array[index])
        try:
            with symmetrising(self.symmetrised):  # as the gradients are of ops that take a matrix for Hermitian
                array[index] = before - step
                below = [np.array(_value(o)) for o in self.call()]
                array[index] = before + step
                above = [np.array(_value(o)) for o in self.call()]
        finally:
            array[index] = before
        for k, (a, b) in enumerate(zip(below, above, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise blame(
                    AssertionError(
                        f"gradcheck expected outputs of the same shape and dtype when an input is perturbed by {self.eps}, "
                        f"but output {k} is {a.dtype}{list(a.shape)} on one side and {b.dtype}{list(b.shape)} on the other."
                    )
                )
        return [
            ((b - a) / (2 * self.eps)).ravel() if kind in "fc" else np.zeros(a.size)
            for a, b, kind in zip(below, above, self.kinds, strict=True)
        ]

    def along(self, argument: _Argument, index: Any, ur: Any, ui: Any) -> tuple[list[Array], list[Array] | None]:
        """The derivatives of the outputs along `ur`, and along `1j * ui` for a complex input."""
        array = argument.array
        along_x = self.difference(array, index, self.eps * ur)
        return along_x, self.difference(array, index, 1j * self.eps * ui) if array.dtype.kind == "c" else None

    def numerical(self, argument: _Argument, parts: list[Part]) -> list[Array]:
        """The Jacobian of each part: a row for each element of the input, a column for each of the output."""
        array = argument.array
        kind: Any = complex if array.dtype.kind == "c" else float
        made = [np.zeros((array.size, np.size(p.output._value)), kind) for p in parts]
        for row, index in enumerate(np.ndindex(array.shape)):
            along = self.along(argument, index, 1.0, 1.0)
            for jacobian, part in zip(made, parts, strict=True):
                jacobian[row] = combined(part, *along)
        return made

    # by backward
    def vjps(self, part: Part, seeds: list[Array]) -> list[Array]:
        """For each argument the gradients for `seeds`, in columns: run twice, since equal backwards give equal results."""
        runs = []
        for _ in range(2):
            columns: list[list[Array]] = [[] for _ in self.arguments]
            for seed in seeds:
                cotangent = wrap((seed * part.seed).astype(part.output.dtype))
                found = grad(part.output, self.tensors, cotangent, retain_graph=True, allow_unused=True)
                for column, g, argument in zip(columns, found, self.arguments, strict=True):
                    self.check_form(g, argument)
                    column.append(np.zeros(argument.array.size) if g is None else np.array(g._value).ravel())
            runs.append(
                [
                    np.stack(c, 1) if c else np.zeros((a.array.size, 0))
                    for c, a in zip(columns, self.arguments, strict=True)
                ]
            )
        for j, (one, other) in enumerate(zip(*runs, strict=True)):
            if (np.abs(one - other) > self.nondet_tol).any():
                raise blame(
                    GradcheckError(
                        f"Backward is not reentrant: two backwards from output {part.number} with the same cotangent gave "
                        f"gradients of input {j} that differ by up to {np.nanmax(np.abs(one - other)):.3g}, and "
                        f"nondet_tol is {self.nondet_tol}. Find what is random or remembered in the backward, or raise "
                        "nondet_tol."
                    )
                )
        return runs[0]

    def check_form(self, g: Any, argument: _Argument) -> None:
        """The shape (and, where asked, the dtype) of a gradient are those of its input."""
        if g is None:
            return
        if np.shape(g._value) != argument.array.shape:
            raise blame(
                GradcheckError(
                    f"Analytical gradient has incorrect size: {list(np.shape(g._value))}, but argument {argument.place} "
                    f"has shape {list(argument.array.shape)}"
                )
            )
        if self.dtypes and g.dtype != argument.array.dtype:
            raise blame(
                GradcheckError(
                    f"Gradient has dtype mismatch: {g.dtype}, but argument {argument.place} is {argument.array.dtype}"
                )
            )

    def analytical(self, part: Part) -> list[Array]:
        """The Jacobian with respect to each argument, laid out as the numerical one."""
        shape = np.shape(part.output._value)
        return self.vjps(part, [basis.reshape(shape) for basis in np.eye(int(np.prod(shape)))])


def _arguments(inputs: tuple[Any, ...]) -> Iterator[_Argument]:
    """The inputs to check; raises where one cannot be perturbed element by element."""
    found = False
    for k, t in enumerate(inputs):
        if not isinstance(t, Operand) or t._node is None:
            continue
        found = True
        if t.dtype not in (np.dtype(np.float64), np.dtype(np.complex128)):
            warn_at_user(
                f"Input #{k} requires gradient and is not a double precision floating point or complex: it is {t.dtype}, "
                "and finite differences of that precision are likely to miss the tolerances.",
                UserWarning,
            )
        array = own_array(t)
        if any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)):
            raise blame(
                AutogradError(
                    f"The {k}th input has a dimension with stride 0 (shape {list(array.shape)}, strides "
                    f"{list(array.strides)}): its elements share memory and cannot be perturbed one by one. Copy it first: "
                    "x.copy()."
                )
            )
        if not array.flags.writeable:
            raise blame(AutogradError(f"gradcheck perturbs its inputs in place, but input {k} is read-only: x.copy()"))
        yield _Argument(k, t, array)
    if not found:
        raise blame(
            ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them does: "
                "gs.tensor(..., requires_grad=True)."
            )
        )


def combined(part: Part, along_x: list[Array], along_y: list[Array] | None) -> Array:
    """The derivative of a part; with respect to a complex input d/dx + i d/dy."""
    real = part.of(along_x[part.place])
    return real if along_y is None else real + 1j * part.of(along_y[part.place])


def as_tuple(value: Any) -> tuple[Any, ...]:
    """What may be one thing or several, as several."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def differentiable(outputs: Any) -> tuple[Any, ...]:
    """The Tensors among them that require grad."""
    return tuple([o for o in as_tuple(outputs) if isinstance(o, Operand) and o._node is not None])


def _value(output: Any) -> Any:
    return output._value if isinstance(output, Operand) else output
