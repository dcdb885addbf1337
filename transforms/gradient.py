"""grad and value_and_grad: a function of arrays becomes the function of its gradient."""

from __future__ import annotations

import dis
import functools
import inspect
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..runtime.errors import AutogradError, DtypeError, ShapeError
from ..runtime.registry import require
from ..tracer.dispatch import alias, apply
from ..tracer.engine import run_backward
from ..tracer.graph import AccumulateGrad, Node
from ..tracer.modes import LOCAL, transforming
from ..tracer.operand import Operand, wrap
from ..tracer.site import prune
from .scope import scope
from .trees import flatten, unflatten

__all__ = ["GradFunction", "Transform", "grad", "value_and_grad"]


class Transform:
    """A function made from the user's function; it is called like one, and knows more."""

    kind = "transform"
    __gradscribe_transform__ = True

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        if not callable(function):
            raise TypeError(f"gs.{self.kind} takes a function, not {type(function).__name__}: {function!r}")
        self.function = function
        self.options = options
        functools.update_wrapper(self, function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Bind like a function, so that a decorated method gets its `self`."""
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        """By name where that name is bound to this object (the decorator form), else by what it was made from."""
        if _found(self.__module__, self.__qualname__) is self:
            return self.__qualname__
        try:
            pickle.dumps(self.function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise pickle.PicklingError(
                f"gs.{self.kind} of {self.__qualname__} cannot be pickled, because the function cannot: {error}. "
                "Define the function at the top level of a module."
            ) from None
        return (_remade, (type(self), self.function, self.options))

    def __repr__(self) -> str:
        return f"<gs.{self.kind} of {getattr(self.function, '__qualname__', self.function)!s}>"


def _found(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _remade(cls: type[Transform], function: Any, options: dict[str, Any]) -> Transform:
    return cls(function, options)


class GradFunction(Transform):
    """What `gs.grad` and `gs.value_and_grad` return: called like the function, it gives the gradient."""

    kind = "grad"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self.argnums = options["argnums"]
        self.has_aux = options["has_aux"]
        self.with_value = options["with_value"]
        if self.with_value:
            self.kind = "value_and_grad"
        self._names: list[str] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._run(args, kwargs)
        except Exception as error:
            raise prune(error) from None if error.__cause__ is None else error.__cause__

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        outer = LOCAL.differentiating > 0 and LOCAL.grad
        frame = _Arguments(self, args, kwargs)
        keep_graph = outer or (frame.tensors_given and LOCAL.grad)
        with transforming(frame.owned, gradient=True):
            result = scope().rebuild(self.function)(*frame.args, **frame.kwargs)
            value, aux = self._split(result)
            grads = self._backward(value, frame, keep_graph)
        as_tensors = outer or frame.tensors_given or LOCAL.recorder is not None
        finished = _Finisher(frame, as_tensors)
        trees = [unflatten(s, [finished.gradient(g, a) for g, a in group]) for s, group in frame.grouped(grads)]
        found = tuple(trees) if isinstance(self.argnums, (tuple, list)) else trees[0]
        if not self.has_aux and not self.with_value:
            return found
        if self.has_aux:
            leaves, structure = flatten(aux)
            aux = unflatten(structure, [finished.result(leaf) for leaf in leaves])
        if not self.with_value:
            return found, aux
        value = finished.result(value)
        return ((value, aux), found) if self.has_aux else (value, found)

    def _split(self, result: Any) -> tuple[Any, Any]:
        if not self.has_aux:
            return result, None
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                f"has_aux=True needs a function that returns (output, aux), but `{self._name()}` returned "
                f"{type(result).__name__} at {self._where()}"
            )
        return result

    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def _where(self) -> str:
        function = inspect.unwrap(getattr(self.function, "__func__", self.function))
        code = getattr(function, "__code__", None)
        if code is None:
            return "its return"
        returns = {line for i, line in _return_lines(code)}
        line = returns.pop() if len(returns) == 1 else code.co_firstlineno
        return f"{code.co_filename.rpartition('/')[2]}:{line}"

    def _backward(self, value: Any, frame: _Arguments, keep_graph: bool) -> dict[Any, Any]:
        if not isinstance(value, (Operand, float, int, complex, np.ndarray, np.generic)):
            raise ShapeError(
                f"grad needs a scalar output, but `{self._name()}` returned {type(value).__name__} at {self._where()}.\n"
                "Return one number (has_aux=True for more beside it)."
            )
        if np.shape(value):
            raise ShapeError(
                f"grad needs a scalar output (grad can be implicitly created only for scalar outputs), but "
                f"`{self._name()}` returned shape {tuple(np.shape(value))} at {self._where()}.\n"
                "Sum it (`.sum()`), pass a cotangent (gs.vjp), or ask for gs.jacobian."
            )
        if not isinstance(value, Operand) or value._node is None:
            return {}
        if value._node.dtype.kind == "c":
            raise DtypeError(
                f"grad needs a real output, but `{self._name()}` returned a complex number at {self._where()}.\n"
                "Take np.real(z), np.abs(z) ..., or pass a cotangent (gs.vjp)."
            )
        seed: Any = value._node.dtype.type(1)
        if keep_graph or LOCAL.recorder is not None:
            seed = wrap(seed)
        return run_backward([(value._node, seed)], frame.wanted, retain_graph=keep_graph, create_graph=keep_graph)


def _return_lines(code: types.CodeType) -> list[tuple[int, int]]:
    return [
        (i.offset, i.positions.lineno)
        for i in dis.get_instructions(code)
        if i.opname.startswith("RETURN_") and i.opname != "RETURN_GENERATOR" and i.positions and i.positions.lineno
    ]


class _Arguments:
    """The arguments of one call: those that are differentiated as Tensors of their own, with where they came from."""

    def __init__(self, transform: GradFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.transform = transform
        self.tensors_given = False
        self.wanted: dict[Any, Any] = {}
        self.owned: list[Any] = []
        self.sources: list[Any] = []
        self._groups: list[tuple[Any, list[tuple[Any, Any]]]] = []
        listed = transform.argnums if isinstance(transform.argnums, (tuple, list)) else (transform.argnums,)
        places = [self._place(n, args, kwargs) for n in listed]
        given: list[Any] = list(args)
        named = dict(kwargs)
        for place in places:
            holder: Any = given if isinstance(place, int) else named
            holder[place] = self._differentiated(holder[place], place)
        for k, a in enumerate(given):
            if k not in places:
                given[k] = self._constant(a)
        for name, a in named.items():
            if name not in places:
                named[name] = self._constant(a)
        self.args = given
        self.kwargs = named

    def _place(self, argnum: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | str:
        """The position or the keyword under which the argument was passed."""
        if isinstance(argnum, int) and -len(args) <= argnum < len(args):
            return argnum % len(args)
        if argnum in kwargs:
            return argnum  # type: ignore[no-any-return]
        if self.transform._names is None:
            self.transform._names = list(inspect.signature(self.transform.function).parameters)
        names = self.transform._names
        name = self.transform._name()
        if isinstance(argnum, str):
            if argnum not in names:
                raise TypeError(f"argnums names `{argnum}`, but `{name}` takes ({', '.join(names)})")
            if names.index(argnum) < len(args):
                return names.index(argnum)
            raise TypeError(f"`{name}` is differentiated with respect to `{argnum}`, which was not passed")
        if argnum < len(names) and names[argnum] in kwargs:
            return names[argnum]
        raise TypeError(
            f"`{name}` is differentiated with respect to argument {argnum}, but was called with "
            f"{len(args)} positional arguments"
        )

    def _differentiated(self, value: Any, place: Any) -> Any:
        leaves, structure = flatten(value)
        made: list[Any] = []
        group: list[tuple[Any, Any]] = []
        for leaf in leaves:
            tensor = self._leaf(leaf, place)
            made.append(tensor)
            group.append((tensor._node, leaf))
        self._groups.append((structure, group))
        return unflatten(structure, made)

    def _leaf(self, leaf: Any, place: Any) -> Any:
        if isinstance(leaf, Operand):
            self.tensors_given = True
            dtype = leaf._value.dtype if hasattr(leaf._value, "dtype") else np.result_type(leaf._value)
            tensor = alias(leaf)
        else:
            try:
                dtype = leaf.dtype if isinstance(leaf, (np.ndarray, np.generic)) else np.result_type(leaf)
            except TypeError:
                dtype = np.dtype(object)
            tensor = wrap(leaf)
            if isinstance(leaf, np.ndarray):
                tensor._caller = leaf
                self.owned.append(tensor)
        if dtype.kind not in "fc":
            label = f"argument {place}" if isinstance(place, int) else f"argument `{place}`"
            what = f"dtype {dtype}" if dtype.kind in "biu" else f"a value of type {type(leaf).__name__}"
            raise DtypeError(
                f"grad differentiates floating point and complex arguments, but {label} of `{self.transform._name()}` "
                f"holds {what}.\nConvert it (x.astype(float), 3.0 in place of 3), or leave it out of argnums."
            )
        if isinstance(leaf, Operand) and leaf._node is not None and LOCAL.grad:
            tensor._node = _linked(leaf, dtype)
        else:
            tensor._node = AccumulateGrad(tensor, tensor._value)
        ir = getattr(tensor, "_ir", None)
        if ir is not None:
            tensor._node.ir = ((ir,), None)
        self.sources.append(leaf)
        self.wanted[tensor._node] = None
        return tensor

    def _constant(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            return self._alias(value)
        if isinstance(value, Operand):
            self.tensors_given = True
            return value
        if isinstance(value, (dict, list, tuple)):
            leaves, structure = flatten(value)
            self.tensors_given = self.tensors_given or any(isinstance(leaf, Operand) for leaf in leaves)
            return unflatten(structure, [self._alias(v) if type(v) is np.ndarray else v for v in leaves])
        return value

    def _alias(self, array: Any) -> Any:
        if array.dtype.kind not in "biufc":
            return array
        tensor = wrap(array)
        tensor._caller = array
        self.owned.append(tensor)
        self.sources.append(array)
        return tensor

    def grouped(self, grads: dict[Any, Any]) -> list[tuple[Any, list[tuple[Any, Any]]]]:
        """For each differentiated argument its structure and (cotangent or None, what the caller passed)."""
        return [(s, [(grads.get(node), leaf) for node, leaf in group]) for s, group in self._groups]


def _linked(leaf: Any, dtype: Any) -> Any:
    """A node of its own for a Tensor that an outer transform follows, so that inner and outer gradients stay apart."""
    node = object.__new__(Node)
    op = require(np.positive)
    node.op = op
    node.plan = op.plan(1)
    node.edges = (leaf._node,)
    node.saved = ()
    node.shape = np.shape(leaf._value)
    node.dtype = dtype
    node.seq = AccumulateGrad(leaf, leaf._value).seq
    node.extra = None
    return node


class _Finisher:
    """Results as they leave: arrays where arrays came in, each in memory of its own."""

    def __init__(self, frame: _Arguments, as_tensors: bool) -> None:
        self.as_tensors = as_tensors
        self.outermost = LOCAL.differentiating == 0
        self.used = {_owner(s) for s in frame.sources}

    def gradient(self, g: Any, source: Any) -> Any:
        """A gradient in the type of what it belongs to."""
        value = source._value if isinstance(source, Operand) else source
        if g is None:
            shape, dtype = np.shape(value), np.result_type(value)
            g = apply(require(np.zeros), (shape, dtype), {}) if self.as_tensors else np.zeros(shape, dtype)
        if g.dtype.kind == "c":
            g = np.conj(g)
        array = g._value if isinstance(g, Operand) else g
        if type(value) is np.ndarray and type(array) is not np.ndarray:
            g = np.asarray(g) if not isinstance(g, Operand) else apply(require(np.asarray), (g,), {})
        elif type(array) is np.ndarray:
            if type(value) is not np.ndarray and not array.shape:
                g = g[()]
            elif self.outermost and (not array.flags.writeable or _owner(array) in self.used):
                g = np.copy(g)
            self.used.add(_owner(g))
        return g if self.as_tensors or not isinstance(g, Operand) else g._value

    def result(self, leaf: Any) -> Any:
        """A value that the function returned."""
        if not isinstance(leaf, Operand) or self.as_tensors:
            return leaf
        caller = getattr(leaf, "_caller", None)
        return leaf._value if caller is None else caller


def _owner(value: Any) -> int:
    """The identity of the array that owns the memory of `value`."""
    if isinstance(value, Operand):
        value = value._value
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    return id(value)


def _decorator(function: Any, argnums: Any, has_aux: bool, with_value: bool) -> Any:
    for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        if not isinstance(n, (int, str)) or isinstance(n, bool):
            raise TypeError(f"argnums takes positions or names of arguments, not {n!r}")
    if isinstance(argnums, (tuple, list)) and not argnums:
        raise AutogradError("argnums is empty: name at least one argument to differentiate")
    options = {"argnums": argnums, "has_aux": has_aux, "with_value": with_value}
    if function is None:
        return functools.partial(GradFunction, options=options)
    return GradFunction(function, options)


def grad(function: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """The gradient of `function` with respect to the arguments `argnums`, as a function of the same arguments.

    `argnums` is a position or a name (then the gradient has the shape and dtype of that argument; of a dict, list,
    tuple or dataclass it is the like), or a tuple of them (then a tuple). `has_aux` takes a function that returns
    `(output, aux)` and gives `(gradient, aux)`. Bare or with arguments it is a decorator. Complex gradients follow
    PyTorch's convention. Raises ShapeError unless the output is a scalar, DtypeError for integer arguments.

    >>> import numpy as np, gradscribe as gs
    >>> gs.grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> gs.grad(gs.grad(np.sin))(0.5) == -np.sin(0.5)
    np.True_
    """
    return _decorator(function, argnums, has_aux, with_value=False)


def value_and_grad(function: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """Like `gs.grad`, but gives `(value, gradient)`; with `has_aux`, `((value, aux), gradient)`.

    >>> import numpy as np, gradscribe as gs
    >>> value, gradient = gs.value_and_grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    return _decorator(function, argnums, has_aux, with_value=True)
