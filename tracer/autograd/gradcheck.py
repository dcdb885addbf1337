"""gradcheck and gradgradcheck: the gradients of a function against finite differences, as `torch.autograd` has them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...runtime.arrays import is_array, on_numpys_host
from ...runtime.central_differences import central
from ...runtime.errors import AutogradError
from ...runtime.hermitian import noting_hermitian, symmetrising
from ...unpatched import np
from ..core.backward import grad
from ..core.cotangents import UNDEFINED
from ..core.engine import run_backward
from ..core.exits import warn_at_user
from ..core.site import blame
from ..core.tensor_base import Operand, wrap
from ..core.thread_state import refuse
from ..core.versions import own_array

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Array = np.ndarray[Any, Any]


class GradcheckError(AutogradError):
    """A wrong gradient, as gradcheck and gradgradcheck report it."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:  # fmt: skip
    """Compare the gradients of `func(*inputs)` with central differences; True where all agree.

    `inputs` is a Tensor or a tuple of them (and of what else `func` takes); each one that requires grad is checked, against
    each floating-point or complex output that requires grad. Of a complex output the imaginary part and the real part are
    checked, each as a real function; for a complex input z = x + iy the derivative is d/dx + i d/dy. Inputs are changed in
    place while `func` runs and are as before afterwards. `fast_mode` compares one random projection of each Jacobian,
    the same in every run; NumPy's random state is not touched. `nondet_tol` is how far two backwards may differ.
    `check_batched_grad` compares `is_grads_batched=True` with a loop.

    Raises GradcheckError (a RuntimeError) where they disagree, with both Jacobians and the place of the largest
    difference, or gives False with `raise_exception=False`; ValueError where no input requires grad; AutogradError
    for an input whose elements share memory; NotImplementedError for forward mode and for `masked`. What `func`
    raises passes through. Warns about inputs that are not in double precision.

    >>> import gradscribe as gs
    >>> import numpy as np
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> gs.autograd.gradcheck(lambda x: np.sin(x) * x, x)
    True
    >>> gs.autograd.gradcheck(lambda x: x * x.detach(), x, raise_exception=False)
    False
    """
    if not (check_forward_ad or check_backward_ad):
        raise blame(AssertionError("gradcheck has nothing to do: set check_forward_ad or check_backward_ad to True"))
    if check_batched_grad and not check_backward_ad:
        raise blame(AssertionError("check_batched_grad=True requires check_backward_ad to be True"))
    if check_batched_forward_grad and not check_forward_ad:
        raise blame(AssertionError("check_batched_forward_grad=True requires check_forward_ad to be True"))
    _refuse(check_forward_ad, "check_forward_ad", masked)
    refuse("runs gradcheck")
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes)
    try:
        outputs = check.parts()
        (check.fast if fast_mode else check.slow)(outputs)
        if outputs:
            if check_batched_grad:
                check.batched()
            check.scaled_by_grad_output()
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """Check the gradient of the gradient of `func`, with respect to `inputs` and to the gradients of its outputs.

    `grad_outputs` has one Tensor for each output that requires grad. Without it they are drawn from [-1, 1), the same in
    every run (NumPy's random state is not touched), not contiguous with `gen_non_contig_grad_outputs`. The other
    arguments, and the errors, are those of `gradcheck`.

    >>> import gradscribe as gs
    >>> import numpy as np
    >>> gs.autograd.gradgradcheck(np.sin, gs.tensor([1.0, 2.0], requires_grad=True))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise blame(AssertionError("gradgradcheck has nothing to do: set check_rev_over_rev to True"))
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise blame(AssertionError(f"{name}=True requires check_rev_over_rev to be True"))
    _refuse(check_fwd_over_rev, "check_fwd_over_rev", masked)
    given = _as_tuple(inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        made = [_drawn(rng, o, gen_non_contig_grad_outputs) for o in _differentiable(func(*given))]
        cotangents = tuple(made)
    else:
        cotangents = _as_tuple(grad_outputs)
    count = len(given)

    def gradient(*args: Any) -> tuple[Any, ...]:
        wanted = _differentiable(args[:count])
        found = grad(
            _differentiable(func(*args[:count])), wanted, args[count:], create_graph=True, allow_unused=True
        )  # fmt: skip
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradient, given + cotangents, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


class _Part(NamedTuple):
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


class _Jacobians:
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
        outputs = _as_tuple(self.func(*self.inputs))
        for k, o in enumerate(outputs):
            if not (isinstance(o, (Operand, np.generic, int, float, complex)) or is_array(o)):
                raise blame(
                    TypeError(
                        f"gradcheck expects a function that returns Tensors, but output {k} is {type(o).__name__}"
                    )
                )
        return outputs

    def parts(self) -> list[_Part]:
        """The real functions to check: imaginary parts before real ones."""
        with noting_hermitian() as noted:
            outputs = self.call()
        self.symmetrised = bool(noted) and all(hermitian for _, hermitian in noted)
        self.kinds = [np.result_type(_value(o)).kind for o in outputs]
        self.outputs = _differentiable(outputs)
        made: list[_Part] = []
        at = [k for k, o in enumerate(outputs) if isinstance(o, Operand) and o._node is not None]
        for i, (k, o) in enumerate(zip(at, self.outputs, strict=True)):
            halves = [("imaginary", 1j), ("real", 1)] if self.kinds[k] == "c" else [("", 1)]
            made += [_Part(i, k, o, name, seed) for name, seed in halves]
        return made

    # numerically
    def difference(self, array: Array, index: Any, direction: Any) -> list[Array]:
        """The derivative of each output as `array[index]` moves along a direction: a central difference."""
        with symmetrising(self.symmetrised):  # as the gradients are of ops that take a matrix for Hermitian
            ends = central(lambda: [np.array(_value(o)) for o in self.call()], array, index, direction, self.eps)
        for k, (a, b) in enumerate(zip(ends.below, ends.above, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise blame(
                    AssertionError(
                        f"gradcheck expected outputs of the same shape and dtype when an input is perturbed by {self.eps}, "
                        f"but output {k} is {a.dtype}{list(a.shape)} on one side and {b.dtype}{list(b.shape)} on the other."
                    )
                )
        return [
            ends.slope(k).ravel() if kind in "fc" else np.zeros(np.size(ends.below[k]))
            for k, kind in enumerate(self.kinds)
        ]

    def along(self, argument: _Argument, index: Any, ur: Any, ui: Any) -> tuple[list[Array], list[Array] | None]:
        """The derivatives of the outputs along `ur`, and along `1j * ui` for a complex input."""
        array = argument.array
        along_x = self.difference(array, index, ur)
        return along_x, self.difference(array, index, 1j * ui) if array.dtype.kind == "c" else None

    def numerical(self, argument: _Argument, parts: list[_Part]) -> list[Array]:
        """The Jacobian of each part: a row for each element of the input, a column for each of the output."""
        array = argument.array
        kind: Any = complex if array.dtype.kind == "c" else float
        made = [np.zeros((array.size, np.size(p.output._value)), kind) for p in parts]
        for row, index in enumerate(np.ndindex(array.shape)):
            along = self.along(argument, index, 1.0, 1.0)
            for jacobian, part in zip(made, parts, strict=True):
                jacobian[row] = _combined(part, *along)
        return made

    # by backward
    def vjps(self, part: _Part, seeds: list[Array]) -> list[Array]:
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

    def analytical(self, part: _Part) -> list[Array]:
        """The Jacobian with respect to each argument, laid out as the numerical one."""
        shape = np.shape(part.output._value)
        return self.vjps(part, [basis.reshape(shape) for basis in np.eye(int(np.prod(shape)))])


class _Check(_Jacobians):
    """One call of gradcheck."""

    def slow(self, parts: list[_Part]) -> None:
        """Compare whole Jacobians."""
        if not parts:
            for argument in self.arguments:
                for index in np.ndindex(argument.array.shape):
                    self.expect_zero(self.along(argument, index, 1.0, 1.0), 0.0)
            return
        numerical = [self.numerical(argument, parts) for argument in self.arguments]
        for k, part in enumerate(parts):
            for j, a in enumerate(self.analytical(part)):
                if not np.allclose(a, numerical[j][k], self.rtol, self.atol):
                    raise blame(GradcheckError(self.report(part, j, numerical[j][k], a)))

    def fast(self, parts: list[_Part]) -> None:
        """Compare v'Ju for one random u of each input and one v of each output; where that fails, report as `slow` does."""
        rng = np.random.default_rng(0)
        us = [(_unit(rng, a.array.shape), _unit(rng, a.array.shape)) for a in self.arguments]
        along = [self.along(a, ..., *u) for a, u in zip(self.arguments, us, strict=True)]
        if not parts:
            for one in along:
                self.expect_zero(one, self.nondet_tol)
        for part in parts:
            v = _unit(rng, np.shape(part.output._value))
            for j, g in enumerate(self.vjps(part, [v])):
                (ur, ui), g = us[j], g[:, 0]
                is_complex = self.arguments[j].array.dtype.kind == "c"
                a = g.real @ ur.ravel() + (1j * (g.imag @ ui.ravel()) if is_complex else 0)
                n = _combined(part, *along[j]) @ v.ravel()
                atol = self.atol * (ur.sum() + (ui.sum() if is_complex else 0)) * v.sum()
                if not np.allclose(a, n, self.rtol, atol):
                    (whole,) = self.numerical(self.arguments[j], [part])
                    exact = self.analytical(part)[j]
                    near = np.allclose(exact, whole, self.rtol, self.atol)
                    raise blame(
                        GradcheckError(
                            self.report(part, j, whole, exact)
                            + f"\nFast mode compared one random projection of them: numerical {n:.9g}, analytical {a:.9g}."
                            + (" Each element by itself is within the tolerances: fast_mode=False passes." * near)
                        )
                    )

    def expect_zero(self, along: tuple[list[Array], list[Array] | None], tolerance: float) -> None:
        """Where no output requires grad, the function may not depend on its inputs."""
        for derivatives in along:
            for k, d in enumerate(derivatives or ()):
                if (np.abs(d) > tolerance).any():
                    raise blame(
                        GradcheckError(
                            "Numerical gradient for function expected to be zero, since no output requires grad, but "
                            f"output {k} changes by {np.abs(d).max():.3g} per unit of an input. Something in the function "
                            "leaves the graph: detach(), no_grad() or a plain array."
                        )
                    )

    def report(self, part: _Part, j: int, numerical: Array, analytical: Array) -> str:
        """Both Jacobians, and where they differ most."""
        argument = self.arguments[j]
        apart = np.abs(analytical - numerical)
        worst = int(np.argmax(np.where(np.isnan(apart), np.inf, apart)))
        row, column = (int(k) for k in np.unravel_index(worst, apart.shape))
        at_input = tuple(int(k) for k in np.unravel_index(row, argument.array.shape))
        at_output = tuple(int(k) for k in np.unravel_index(column, np.shape(part.output._value)))
        considered = f"While considering the {part.name} part of complex outputs only, " if part.name else ""
        return (
            f"{considered}Jacobian mismatch for output {part.number} with respect to input {j},\n"
            f"numerical:\n{numerical}\nanalytical:\n{analytical}\n"
            f"(a row for each element of the input, a column for each of the output)\n"
            f"The largest difference is {apart[row, column]:.3g}: output {part.number} at {list(at_output)} by argument "
            f"{argument.place} of the function at {list(at_input)} is {numerical[row, column]:.9g} numerically and "
            f"{analytical[row, column]:.9g} by backward."
        )

    def batched(self) -> None:
        """`is_grads_batched=True` gives what a loop gives."""
        rng = np.random.default_rng(0)
        for i, output in enumerate(self.outputs):
            shape = (2, *np.shape(output._value))
            seeds = rng.standard_normal(shape).astype(output.dtype)
            options = {"retain_graph": True, "allow_unused": True}
            whole = grad(output, self.tensors, wrap(seeds), is_grads_batched=True, **options)
            for k in range(2):
                alone = grad(output, self.tensors, wrap(np.array(seeds[k])), **options)
                for j, (a, b) in enumerate(zip(whole, alone, strict=True)):
                    one, other = 0 if a is None else a._value[k], 0 if b is None else b._value
                    if not np.allclose(one, other):
                        raise blame(
                            GradcheckError(
                                f"batched gradients of output {i} with respect to input {j} differ from those of a loop:\n"
                                f"batched:\n{one}\nloop:\n{other}"
                            )
                        )

    def scaled_by_grad_output(self) -> None:
        """Cotangents of zero give gradients of zero."""
        zeros = [wrap(np.zeros(np.shape(o._value), o.dtype)) for o in self.outputs]
        for j, g in enumerate(grad(self.outputs, self.tensors, zeros, allow_unused=True)):
            if g is not None and np.any(g._value != 0):
                raise blame(
                    GradcheckError(
                        f"backward not multiplied by grad_output: the gradient of input {j} is not zero though those of "
                        f"all outputs are:\n{g._value}"
                    )
                )

    def undefined(self) -> None:
        """A Function's backward that gets None for an output takes it as zeros, also behind other operations."""
        for left_out in [None, *range(len(self.outputs))] if len(self.outputs) > 1 else [None]:
            outputs = _differentiable(self.call())
            roots = [(o._node, UNDEFINED if left_out in (None, k) else _zeros(o._node)) for k, o in enumerate(outputs)]
            wanted = {t._node: None for t in self.tensors}
            try:
                found = run_backward(roots, wanted, retain_graph=False, create_graph=False)
            except RuntimeError as error:
                raise blame(
                    GradcheckError(
                        "Expected backward function to handle undefined output grads: with None for "
                        f"{'all outputs' if left_out is None else f'output {left_out}'} it raised the error above. Take "
                        "None as zeros, leave ctx.set_materialize_grads on, or pass check_undefined_grad=False."
                    )
                ) from error
            for j, t in enumerate(self.tensors):
                g = found.get(t._node)
                if g is not None and np.any(g != 0):
                    raise blame(
                        GradcheckError(
                            "Expected all input grads to be undefined or zero when all output grads are undefined or zero, "
                            f"but the gradient of input {j} is:\n{g}"
                        )
                    )


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
        on_numpys_host("gradcheck", [array])
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


def _combined(part: _Part, along_x: list[Array], along_y: list[Array] | None) -> Array:
    """The derivative of a part; with respect to a complex input d/dx + i d/dy."""
    real = part.of(along_x[part.place])
    return real if along_y is None else real + 1j * part.of(along_y[part.place])


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a tuple of one thing, or the tuple or list of several as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    """The Tensors among them that require grad."""
    return tuple([o for o in _as_tuple(outputs) if isinstance(o, Operand) and o._node is not None])


def _value(output: Any) -> Any:
    return output._value if isinstance(output, Operand) else output


def _refuse(forward: bool, name: str, masked: bool | None) -> None:
    """Refuse options that have no meaning here, or not yet."""
    if forward:
        raise blame(
            NotImplementedError(
                f"{name}=True: forward mode (gs.jvp) transposes backward here; check backward, without it."
            )
        )
    if masked:
        raise blame(
            NotImplementedError(
                "masked=True is about what a sparse tensor does not store, and gradscribe has dense arrays alone: leave "
                "it out."
            )
        )


def _unit(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A random direction of positive elements, of length one."""
    drawn = np.asarray(rng.random(shape))
    return drawn / np.linalg.norm(drawn) if drawn.size else drawn


def _drawn(rng: np.random.Generator, output: Any, apart: bool) -> Any:
    """A cotangent of an output; with `apart` every second element of its memory."""
    shape = np.shape(output._value)
    wide = (*shape[:-1], 2 * shape[-1]) if apart and shape else shape
    drawn = np.asarray(rng.uniform(-1, 1, wide))
    if output.dtype.kind == "c":
        drawn = drawn + 1j * rng.uniform(-1, 1, wide)
    memory = drawn.astype(output.dtype)
    return wrap(memory[..., ::2] if apart and shape else memory).requires_grad_()


def _zeros(node: Any) -> Any:
    zeros = np.zeros(node.shape, node.dtype)
    return zeros if node.shape else zeros[()]


class _Callable(types.ModuleType):
    """This module under its own name: gs.autograd.gradcheck is called, and has GradcheckError too."""

    def __call__(self, *args: Any, **options: Any) -> bool:
        return gradcheck(*args, **options)


sys.modules[__name__].__class__ = _Callable
