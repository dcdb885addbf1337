"""NumPy's protocols: `np.sin(t)`, `np.concatenate([t, u])` and SciPy's ufuncs arrive at `apply`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.errors import NoRuleError
from ...runtime.ops import Op
from ...runtime.registry import composition, lookup, path_of, require
from ...unpatched import np
from ..core import dispatch
from ..core.dispatch import Foreign, apply, apply1, apply2, has_tensor, literal, stack_nested, stacking, unwrap
from ..core.exits import leave
from ..core.foreign import KNOWN, base_of, defers, defers_function, is_known, is_masked, plain_of
from ..core.site import blame
from ..core.tensor_base import Operand, wrap
from ..core.thread_state import LOCAL, capturing, refuse
from ..memory.survivors import compared

__all__ = ["answered", "array_function", "array_ufunc", "elementwise", "tensors_in"]


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """A ufunc met a Tensor among its arguments."""
    if not KNOWN.issuperset(map(type, inputs)) and not all(map(is_known, inputs)):
        if any(map(defers, inputs)):
            return NotImplemented
        if any(map(is_masked, inputs)):
            return answered_masked(getattr(ufunc, method), inputs, kwargs)
        inputs = tuple(map(base_of, inputs))
    if method == "__call__":
        op = lookup(ufunc)
        if op is None:
            return _without_rule(ufunc, path_of(ufunc), inputs, kwargs)
        if not kwargs and op.n_out == 1:
            if len(inputs) == 1:
                return apply1(op, inputs[0])
            if len(inputs) == 2:
                given = inputs
                if ufunc in _COMPARING and type(inputs[0]) is np.ndarray and not inputs[0].ndim:
                    inputs = (inputs[0][()], inputs[1])  # of `np.float64(0.3) < t` NumPy makes an array
                if ufunc is np.power and isinstance(inputs[0], np.generic):
                    op = require(operator.pow)  # p ** t: of two numbers NumPy has another power
                try:
                    found = apply2(op, *inputs)
                    return compared(found, ufunc is np.not_equal, *given) if ufunc in _ASKING else found
                except Foreign:
                    if any(isinstance(a, (list, tuple)) and has_tensor(a) for a in inputs):
                        return apply2(op, *[stack_nested(a) for a in inputs])
                    raise
        return apply(op, inputs, kwargs)
    from ..memory.writers import write_at
    from .ufunc_methods import METHODS  # seldom needed

    if method == "at":
        write_at(ufunc, *inputs)
        return None
    if lookup(ufunc) is None or ufunc.nin != 2 or (ufunc.nout != 1 and method != "outer"):
        return _without_rule(getattr(ufunc, method), f"{path_of(ufunc)}.{method}", inputs, kwargs)
    return METHODS[method](ufunc, *inputs, **kwargs)


def elementwise(ufunc: Any, op: Op) -> Callable[..., Any]:
    """A ufunc as code in scope calls it: lists of Tensors are arrays, and a plain call need not go through NumPy to come here."""
    plain = op.n_out == 1 and op.forms is None and ufunc not in _ASKING
    of_lists = stacking(ufunc)

    @functools.wraps(ufunc)
    def call(*args: Any, **kwargs: Any) -> Any:
        if plain and not kwargs and args and type(args[0]) is dispatch.tensor_class:
            if len(args) == 1 == ufunc.nin:
                return apply1(op, args[0])
            if len(args) == 2 == ufunc.nin and type(args[1]) in (dispatch.tensor_class, float, int):
                return apply2(op, args[0], args[1])
        return of_lists(*args, **kwargs)

    return call


def array_function(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function that is not a ufunc met a Tensor among its arguments."""
    if len(types) > 1:
        if defers_function(types):
            return NotImplemented
        if any(issubclass(cls, np.ndarray) for cls in types) and any(map(is_masked, args)):
            return answered_masked(func, args, kwargs)
    if not KNOWN.issuperset(map(type, args)):
        args = tuple([a if is_known(a) else plain_of(a) for a in args])
    op = lookup(func)
    if op is not None:
        if func is np.where and len(args) == 1 and not kwargs:
            op = require(np.nonzero)
        return apply(op, args, kwargs)
    from ..memory.writers import WRITERS  # seldom needed

    special = composition(func) or _SPECIAL.get(func) or WRITERS.get(func)
    if special is not None:
        return special(*args, **kwargs)
    return _without_rule(func, path_of(func), args, kwargs)


def tensors_in(value: Any) -> list[Any]:
    """Every Tensor in `value`, at any depth of lists, tuples and dicts."""
    if isinstance(value, Operand):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors_in(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors_in(v)]
    return []


def _without_rule(function: Any, path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function that we do not know: an error where it would lose a gradient, else NumPy's own result."""
    found = tensors_in((args, kwargs))
    if any(t._node is not None for t in found):
        raise blame(NoRuleError.unknown(path))
    refuse(f"{path} is not an op that gradscribe knows")
    result = function(*_plain(args), **{k: _plain(v) for k, v in kwargs.items()})
    return result if LOCAL.depth else _as_tensor(result)


def answered_masked(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """NumPy's own answer beside a masked array, whose mask a Tensor would lose; an error where a gradient would be."""
    plain: Callable[[Any], Any] = lambda v: leave(v, "array") if isinstance(v, Operand) else v
    return function(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, slice, Operand)):
        return unwrap(value)
    return value


def _as_tensor(result: Any) -> Any:
    if isinstance(result, tuple) and type(result) is tuple:
        return tuple(_as_tensor(r) for r in result)
    return wrap(result) if is_array(result) or isinstance(result, np.generic) else result


def _result_type(*args: Any) -> Any:
    return np.result_type(*[a._value if isinstance(a, Operand) else a for a in args])


def _comparer(function: Any, traced: Callable[..., Any]) -> Any:
    """A function that says whether arrays are alike, of which a capture records the `traced` form."""

    def compare(*args: Any, **kwargs: Any) -> Any:
        if capturing():
            return traced(*args, **kwargs)
        for t in tensors_in((args, kwargs)):
            leave(t, "bool")
        found = function(*[unwrap(a) for a in args], **{k: unwrap(v) for k, v in kwargs.items()})
        return compared(found, False, args[0], args[1], by_name=True) if len(args) >= 2 else found

    return compare


def _are_close(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    return np.all(np.isclose(literal(a), literal(b), rtol, atol, equal_nan))


def _are_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a1, a2 = literal(a1), literal(a2)
    if np.shape(a1) != np.shape(a2):
        return False
    same = np.equal(a1, a2)
    if equal_nan and all(np.result_type(unwrap(a)).kind in "fc" for a in (a1, a2)):
        same = same | (np.isnan(a1) & np.isnan(a2))
    return np.all(same)


def _are_equivalent(a1: Any, a2: Any) -> Any:
    a1, a2 = literal(a1), literal(a2)
    try:
        np.broadcast_shapes(np.shape(a1), np.shape(a2))
    except ValueError:
        return False
    return np.all(np.equal(a1, a2))


_ASKING = frozenset([np.equal, np.not_equal])
_COMPARING = _ASKING | {np.less, np.less_equal, np.greater, np.greater_equal}
_SPECIAL: dict[Any, Any] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: a.size if axis is None else a.shape[axis],
    np.result_type: _result_type,
    np.can_cast: lambda from_, to, casting="safe": np.can_cast(
        from_._value if isinstance(from_, Operand) else from_, to, casting
    ),
    np.common_type: lambda *arrays: np.common_type(*unwrap(arrays)),
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.isrealobj: lambda x: x.dtype.kind != "c",
    np.may_share_memory: lambda a, b, max_work=None: np.may_share_memory(unwrap(a), unwrap(b)),
    np.shares_memory: lambda a, b, max_work=None: np.shares_memory(unwrap(a), unwrap(b)),
    np.array_repr: lambda arr, *rest, **kw: repr(arr),
    np.array_str: lambda a, *rest, **kw: str(a),
    np.array2string: lambda a, *rest, **kw: np.array2string(np.asarray(leave(a, "repr")), *rest, **kw),
    np.allclose: _comparer(np.allclose, _are_close),
    np.array_equal: _comparer(np.array_equal, _are_equal),
    np.array_equiv: _comparer(np.array_equiv, _are_equivalent),
}


def answered() -> frozenset[Any]:
    """The functions that are answered from what is known of a Tensor, without an operation."""
    return frozenset(_SPECIAL)
