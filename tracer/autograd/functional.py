"""vjp, jvp, jacobian, hessian, vhp and hvp of functions of Tensors, as `torch.autograd.functional`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...runtime.errors import AutogradError, ShapeError
from ...runtime.registry import require
from ...unpatched import np
from ..core.backward import grad
from ..core.dispatch import apply
from ..core.site import blame
from ..core.tensor_base import Operand, wrap
from ..core.thread_state import grad_mode, refuse

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_OUTPUTS = "outputs of the user-provided function"
_OUTPUT_FIXED = "The output of the user-provided function is independent of input"
_JACOBIAN_FIXED = "The jacobian of the user-provided function is independent of input"
_HESSIAN_FIXED = "The hessian of the user-provided function is independent of input"
_REFUSED = "which is not allowed in strict mode: strict=False gives zeros, or a constant, there."
_STRATEGIES = ("reverse-mode", "forward-mode")

_Tensors = tuple[Any, ...]
_Function = Callable[..., Any]


def vjp(
    func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func(*inputs)`, and `v` times its Jacobian, shaped as `inputs`.

    `inputs`, the outputs and `v` (shaped as the outputs) are each a Tensor or a tuple of them; `v` may be left out where
    there is one output of one element. `create_graph=True` makes both results differentiable. An input that the outputs
    do not depend on gets zeros, and with `strict=True` an AutogradError. Raises ShapeError where `v` does not fit, and
    TypeError for what is no Tensor.

    >>> import gradscribe as gs
    >>> from gradscribe.autograd.functional import vjp
    >>> x, y = gs.tensor([1.0, 2.0]), gs.tensor([3.0, 4.0])
    >>> vjp(lambda x, y: x * x * y, (x, y), gs.tensor([1.0, 10.0]))
    (tensor([ 3., 16.]), (tensor([  6., 160.]), tensor([ 1., 40.])))
    """
    with grad_mode(True):
        points, single = _points(inputs, "vjp", create_graph)
        outputs, one = _outputs(func, points, "vjp", strict)
        seeds = _vector(v, outputs, one, "vjp", create_graph, "user-provided function returns")
        found = _pull(outputs, points, seeds, create_graph)
        product = _filled(found, points, strict, create_graph, _OUTPUT_FIXED, _JACOBIAN_FIXED)
    return _given(outputs, one, create_graph), _given(product, single, create_graph)


def jvp(
    func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs of `func(*inputs)`, and its Jacobian times `v`, shaped as the outputs.

    `v` is shaped as `inputs`, and may be left out where that is one Tensor of one element; the rest is as in `vjp`. Two
    walks backward: the vector-Jacobian product is linear in its vector, and its transpose is the answer.

    >>> import gradscribe as gs
    >>> from gradscribe.autograd.functional import jvp
    >>> x, y = gs.tensor([1.0, 2.0]), gs.tensor([3.0, 4.0])
    >>> jvp(lambda x, y: x * x * y, (x, y), (gs.tensor([1.0, 1.0]), gs.tensor([0.0, 1.0])))
    (tensor([ 3., 16.]), tensor([ 6., 20.]))
    """
    with grad_mode(True):
        points, single = _points(inputs, "jvp", create_graph)
        tangents = _vector(v, points, single, "jvp", create_graph, "input to the user-provided function is")
        outputs, one = _outputs(func, points, "jvp", strict)
        seeds, back = _transposed(outputs, outputs, points)
        _filled(back, points, strict, False, _OUTPUT_FIXED, "")
        found = _push(seeds, back, tangents, create_graph)
        fixed = "The gradient with respect to the inputs is independent of entry"
        product = _filled(found, outputs, strict, create_graph, fixed, _JACOBIAN_FIXED)
    return _given(outputs, one, create_graph), _given(product, one, create_graph)


def vhp(
    func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func(*inputs)`, one element, and `v` times its Hessian; both products are shaped as `inputs`.

    `v` may be left out where `inputs` is one Tensor of one element; the rest is as in `vjp`. Cheaper than `hvp`, and the
    same where the Hessian is symmetric.

    >>> import gradscribe as gs
    >>> from gradscribe.autograd.functional import vhp
    >>> vhp(lambda x: (x * x * x).sum(), gs.tensor([1.0, 2.0]), gs.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    with grad_mode(True):
        points, single = _points(inputs, "vhp", create_graph)
        seeds = _vector(v, points, single, "vhp", create_graph, "input to the user-provided function is")
        outputs, gradient = _gradient(func, points, "vhp", strict)
        _check_gradient(gradient, strict)
        found = _pull(gradient, points, seeds, create_graph)
        product = _filled(found, points, strict, create_graph, _JACOBIAN_FIXED, _HESSIAN_FIXED)
    return _given(outputs, True, create_graph), _given(product, single, create_graph)


def hvp(
    func: _Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The output of `func(*inputs)`, one element, and its Hessian times `v`, shaped as `inputs`; as `vhp` otherwise.

    >>> import gradscribe as gs
    >>> from gradscribe.autograd.functional import hvp
    >>> x, y = gs.tensor([1.0, 2.0]), gs.tensor(3.0)
    >>> hvp(lambda x, y: (x * x * y).sum(), (x, y), (gs.tensor([1.0, 0.0]), gs.tensor(1.0)))
    (tensor(15.), (tensor([8., 4.]), tensor(2.)))
    """
    with grad_mode(True):
        points, single = _points(inputs, "hvp", create_graph)
        tangents = _vector(v, points, single, "hvp", create_graph, "input to the user-provided function is")
        outputs, gradient = _gradient(func, points, "hvp", strict)
        _check_gradient(gradient, strict)
        seeds, back = _transposed(gradient, points, points)
        found = _push(seeds, back, tangents, create_graph)
        fixed = "The hessian of the user-provided function is independent of entry"
        product = _filled(found, points, strict, create_graph, fixed, _HESSIAN_FIXED)
    return _given(outputs, True, create_graph), _given(product, single, create_graph)


def jacobian(
    func: _Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of `func` at `inputs`: for each output and each input a Tensor of shape `output.shape + input.shape`.

    One Tensor where `func` takes and gives one; a tuple with an entry for each output, or for each input, where these come
    as a tuple; a tuple of tuples for both. Arguments and errors are those of `vjp`. The dtype is the input's.

    `vectorize=True` gives what the loop gives, row by row until batching exists, and Jacobians of complex outputs too
    (each row as `vjp` of a one). `strategy="forward-mode"` (with `vectorize=True`, without `create_graph` and `strict`:
    else NotImplementedError or AutogradError) gives columns, by `jvp`, in the dtype of the output.

    >>> import gradscribe as gs
    >>> from gradscribe.autograd.functional import jacobian
    >>> jacobian(lambda x, y: x * y.sum(), (gs.tensor([1.0, 2.0]), gs.tensor([3.0, 4.0])))
    (tensor([[7., 0.],
            [0., 7.]]), tensor([[1., 1.],
            [2., 2.]]))
    """
    _check_strategy(strategy, vectorize, create_graph, strict)
    with grad_mode(True):
        points, single = _points(inputs, "jacobian", create_graph)
        outputs, one = _outputs(func, points, "jacobian", strict)
        rows = strategy == "reverse-mode"
        table = _by_rows(outputs, points, create_graph, strict, vectorize) if rows else _by_columns(outputs, points)
    blocks = tuple([_given(row, single, create_graph) for row in table])
    return blocks[0] if one else blocks


def hessian(
    func: _Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of `func`, which gives one element: a Tensor of shape `input.shape + input.shape`.

    For a tuple of inputs a tuple of tuples: entry `[i][j]` is differentiated by input `i`, then by input `j`. It is the
    `jacobian` of the gradient, which the other arguments go to.

    >>> import gradscribe as gs
    >>> from gradscribe.autograd.functional import hessian
    >>> hessian(lambda x: x[0] * x[0] * x[1], gs.tensor([1.0, 2.0]))
    tensor([[4., 2.],
            [2., 0.]])
    """
    tensors, single = _pack(inputs, "inputs", "hessian")

    def gradient(*points: Any) -> _Tensors:
        _, found = _gradient(func, points, "hessian", strict)
        full = tuple([np.zeros_like(x) if g is None else g for g, x in zip(found, points, strict=True)])
        _check_gradient(full, strict)
        return full

    table = jacobian(gradient, tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return table[0][0] if single else table


# --- what goes in and out -------------------------------------------------------------------------------------------


def _pack(value: Any, what: str, name: str) -> tuple[_Tensors, bool]:
    """A tuple of Tensors, and whether one Tensor alone was given."""
    single = not isinstance(value, tuple)
    tensors = (value,) if single else value
    for k, t in enumerate(tensors):
        if not isinstance(t, Operand):
            where = f"the given {what}" if single else f"entry {k}"
            raise blame(
                TypeError(
                    f"The {what} given to {name} must be either a Tensor or a tuple of Tensors, "
                    f"but {where} has type {type(t).__name__}: make one with gs.tensor"
                )
            )
    return tensors, single


def _fresh(tensors: _Tensors, create_graph: bool, requires_grad: bool) -> _Tensors:
    """New Tensors on the same memory: the function may have hold of the given ones by another way than its arguments."""
    made: list[Any] = [np.reshape(t, t.shape) if create_graph and t.requires_grad else t.detach() for t in tensors]
    return tuple([t.requires_grad_() if requires_grad and not t.requires_grad else t for t in made])


def _points(inputs: Any, name: str, create_graph: bool) -> tuple[_Tensors, bool]:
    tensors, single = _pack(inputs, "inputs", name)
    return _fresh(tensors, create_graph, True), single


def _outputs(func: _Function, points: _Tensors, name: str, strict: bool) -> tuple[_Tensors, bool]:
    outputs, one = _pack(func(*points), _OUTPUTS, name)
    for k, t in enumerate(outputs if strict else ()):
        if not t.requires_grad:
            raise blame(
                AutogradError(
                    f"Output {k} of the user-provided function does not require gradients. In strict mode each output "
                    "must come from the inputs by recorded operations; strict=False gives zeros for it."
                )
            )
    return outputs, one


def _vector(v: Any, like: _Tensors, single: bool, name: str, create_graph: bool, of_what: str) -> _Tensors:
    """The vector of a product, checked against the Tensors that it must be shaped as; None stands for a one."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise blame(
                ShapeError(
                    f"The vector v can only be None if the {of_what} a single Tensor with a single element, "
                    f"but the shapes are {[t.shape for t in like]}: pass {name}(func, inputs, v)."
                )
            )
        return (None,)
    tensors, _ = _pack(v, "v", name)
    if len(tensors) != len(like):
        wanted = "The given v should contain a single Tensor" if single else "v is a tuple of invalid length"
        raise blame(ShapeError(f"{wanted}: {len(tensors)} given, {len(like)} wanted."))
    for k, (t, other) in enumerate(zip(tensors, like, strict=True)):
        if t.shape != other.shape:
            where = "" if single else f"Entry {k} in "
            raise blame(ShapeError(f"{where}v has invalid size: should be {other.shape} but got {t.shape}."))
    return _fresh(tensors, create_graph, False)


def _given(tensors: Sequence[Any], single: bool, create_graph: bool) -> Any:
    """Results as the user gets them: without the graph unless asked for, one Tensor for one."""
    results = tuple(tensors if create_graph else [t.detach() for t in tensors])
    return results[0] if single else results


# --- the products ---------------------------------------------------------------------------------------------------


def _pull(
    outputs: _Tensors, inputs: _Tensors, seeds: Sequence[Any], create_graph: bool, keep: bool = False
) -> _Tensors:
    """The gradient of each input, None where there is none; outputs that are None or constants play no part."""
    seeded = [(y, g) for y, g in zip(outputs, seeds, strict=True) if y is not None and y.requires_grad]
    if not seeded or not inputs:
        return (None,) * len(inputs)
    ys, gs = zip(*seeded, strict=True)
    found: _Tensors = grad(ys, inputs, gs, keep or create_graph, create_graph, allow_unused=True)
    return found


def _filled(
    found: _Tensors, like: _Tensors, strict: bool, create_graph: bool, missing: str, flat: str
) -> tuple[Any, ...]:
    """Gradients with zeros where there are none, which `strict` refuses: `missing` and `flat` say what is independent."""
    for k, g in enumerate(found if strict else ()):
        if g is None:
            raise blame(AutogradError(f"{missing} {k}, {_REFUSED}"))
        if create_graph and not g.requires_grad:
            raise blame(
                AutogradError(f"{flat} {k}, and with create_graph=True the result would have no graph, {_REFUSED}")
            )
    return tuple([np.zeros_like(x) if g is None else g for g, x in zip(found, like, strict=True)])


def _transposed(outputs: _Tensors, like: _Tensors, points: _Tensors) -> tuple[_Tensors, _Tensors]:
    """Seeds of the outputs, and what they give at `points`: linear in the seeds, so that `_push` can transpose it."""
    seeds = tuple(
        [np.zeros_like(x).requires_grad_(y is not None and y.requires_grad) for y, x in zip(outputs, like, strict=True)]
    )
    return seeds, _pull(outputs, points, seeds, True)


def _push(seeds: _Tensors, back: _Tensors, tangents: Sequence[Any], create_graph: bool, keep: bool = False) -> _Tensors:
    """The Jacobian times `tangents`, None for an output that is a constant."""
    wanted = tuple([u for u in seeds if u.requires_grad])
    found = iter(_pull(back, wanted, tangents, create_graph, keep))
    return tuple([next(found) if u.requires_grad else None for u in seeds])


def _gradient(func: _Function, points: _Tensors, name: str, strict: bool) -> tuple[_Tensors, _Tensors]:
    """The output of a function that gives one element, and its gradient by each input (None where there is none)."""
    outputs, one = _outputs(func, points, name, strict)
    if not one:
        raise blame(
            ShapeError(f"The function given to {name} should return a single Tensor, not a tuple of {len(outputs)}.")
        )
    if outputs[0].numel() != 1:
        raise blame(
            ShapeError(
                f"The Tensor returned by the function given to {name} should contain a single element, "
                f"but its shape is {outputs[0].shape}: sum it."
            )
        )
    return outputs, _pull(outputs, points, (None,), True)


def _check_gradient(gradient: _Tensors, strict: bool) -> None:
    for k, g in enumerate(gradient if strict else ()):
        if g is None:
            raise blame(AutogradError(f"{_OUTPUT_FIXED} {k}, {_REFUSED}"))
        if not g.requires_grad:
            raise blame(
                AutogradError(
                    f"The jacobian of the user-provided function with respect to input {k} is independent of the input "
                    "(the function is linear in it, or not twice differentiable), so that its hessian is zero, "
                    f"{_REFUSED}"
                )
            )


# --- Jacobians ------------------------------------------------------------------------------------------------------


def _check_strategy(strategy: str, vectorize: bool, create_graph: bool, strict: bool) -> None:
    if strategy not in _STRATEGIES:
        raise blame(
            AssertionError(f'Expected strategy to be either "forward-mode" or "reverse-mode": got {strategy!r}')
        )
    forward = strategy == "forward-mode"
    for clash, one, other, error in (
        (forward and create_graph, "create_graph=True", 'strategy="forward-mode"', NotImplementedError),
        (forward and strict, "strict=True", 'strategy="forward-mode"', AutogradError),
        (vectorize and strict, "strict=True", "vectorize=True", AutogradError),
    ):
        if clash:
            raise blame(error(f"`{one}` and `{other}` are not supported together: leave out one"))
    if forward and not vectorize:
        raise blame(NotImplementedError("A forward-mode Jacobian is only implemented for `vectorize=True`: pass it"))


def _basis(like: Any) -> Iterator[Any]:
    """For each element of a Tensor, a Tensor of its shape that is one there and zero elsewhere."""
    refuse("goes over the elements of a Tensor one by one (functional.jacobian, hessian)")
    for k in range(like.numel()):
        one = np.zeros(like.shape, like.dtype)
        one.flat[k] = 1
        yield wrap(one)


def _joined(parts: list[Any], axis: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """One Tensor of `shape` out of its slices along an axis; zeros out of none."""
    if not parts:
        return wrap(np.zeros(shape, dtype))
    return np.reshape(apply(require(np.stack), (parts, axis), {}), shape)


def _by_rows(outputs: _Tensors, points: _Tensors, create_graph: bool, strict: bool, vectorize: bool) -> list[_Tensors]:
    """For each output its Jacobian by each input: one walk backward for every element of the output."""
    table = []
    for k, y in enumerate(outputs):
        if y.requires_grad and y.dtype.kind == "c" and not vectorize:
            raise blame(
                AutogradError(
                    f"grad can be implicitly created only for real scalar outputs, but output {k} is {y.dtype}: "
                    "pass vectorize=True, or return its real and imaginary parts."
                )
            )
        fixed = f"Output {k} of the user-provided function is independent of input"
        rows = []
        for one in _basis(y) if y.requires_grad else ():
            found = _pull((y,), points, (one,), create_graph, True)
            rows.append(_filled(found, points, strict, create_graph, fixed, _JACOBIAN_FIXED))
        table.append(
            tuple([_joined([r[j] for r in rows], 0, y.shape + x.shape, x.dtype) for j, x in enumerate(points)])
        )
    return table


def _by_columns(outputs: _Tensors, points: _Tensors) -> list[_Tensors]:
    """The same: one product with the transpose of a walk backward for every element of the inputs."""
    seeds, back = _transposed(outputs, outputs, points)
    columns = []  # for each input, for each of its elements, for each output
    for j, x in enumerate(points):
        found = [_push(seeds, back[j : j + 1], (one,), False, True) for one in _basis(x)]
        columns.append([[np.zeros_like(y) if t is None else t for t, y in zip(f, outputs, strict=True)] for f in found])
    return [
        tuple([_joined([c[k] for c in columns[j]], -1, y.shape + x.shape, y.dtype) for j, x in enumerate(points)])
        for k, y in enumerate(outputs)
    ]
