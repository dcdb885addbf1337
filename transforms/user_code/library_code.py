"""NumPy's Python code run over our stand-ins: np.poly1d, numpy.polynomial; and the iterators of its C code over Tensors."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...runtime.arrays import is_plain_array
from ...runtime.errors import NoRuleError
from ...tracer.core.dispatch import has_tensor, literal
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import capturing

__all__ = ["POLYNOMIALS", "Library", "broadcast", "ndenumerate", "nditer"]

POLYNOMIALS = "numpy.polynomial"


class _Globals(dict[str, Any]):
    """The globals of a function of NumPy's, read through the library: none stands here, so that each arrives at `__missing__`."""

    def __init__(self, real: dict[str, Any], library: Library) -> None:
        super().__init__()
        self.real, self.library = real, library
        self["__builtins__"] = library.builtins
        self |= {name: real[name] for name in ("__name__", "__package__", "__spec__") if name in real}

    def __missing__(self, name: str) -> Any:
        return self.library.see(self.real[name] if name in self.real else self["__builtins__"][name])


class _Module(types.ModuleType):
    """A module of NumPy's whose attributes are read through the library."""

    def __init__(self, module: types.ModuleType, library: Library) -> None:
        super().__init__(module.__name__)
        self.__dict__["_read"] = (module, library)

    def __getattr__(self, name: str) -> Any:
        module, library = self.__dict__["_read"]
        return library.see(getattr(module, name))


class _ClassArray:
    """An array that a class of NumPy's has for all objects, such as `domain`."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        return _constant(self.array)


def _constant(array: Any) -> Any:
    """Return an array that never changes, in a capture written down as a list."""
    return literal(array.tolist()) if capturing() else array


class _Followed(type):
    """The class of a class that is followed: instances of the original are its instances, too."""

    def __instancecheck__(cls, obj: Any) -> bool:
        return isinstance(obj, cls.__dict__["__gradscribe_original__"])


class Library:
    """The polynomials of NumPy, which are Python code, over what stands in for the functions that they call.

    Their code does the same to Tensors as to arrays once np.array, isinstance and the like are ours.
    """

    def __init__(self, replacement: Callable[[Any], Any]) -> None:
        self._replacement = replacement
        self._known: dict[Any, Any] = {}

    @functools.cached_property
    def builtins(self) -> dict[str, Any]:
        """Python's built-in functions as the followed code sees them."""
        return {**{name: self.see(value) for name, value in vars(builtins).items()}, "__import__": self._import}

    def _import(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        return self.see(builtins.__import__(name, getattr(globals, "real", globals), locals, fromlist, level))

    def follows(self, value: Any) -> bool:
        """Whether a function or class is one of those."""
        if value is np.poly1d:
            return True
        module = getattr(value, "__module__", None)
        if not isinstance(module, str) or not module.startswith(POLYNOMIALS):
            return False
        if isinstance(value, type):
            return hasattr(value, "_val")
        return isinstance(value, types.FunctionType) or hasattr(value, "_implementation")

    def see(self, value: Any) -> Any:
        """Return the value that code of NumPy's reads in place of another."""
        if isinstance(value, types.ModuleType):
            found = self._known.get(value)
            if found is None and value.__name__.startswith("numpy"):
                found = self._known[value] = _Module(value, self)
            return value if found is None else found
        if value is np.linalg.eigvals:  # roots are sorted in place, which a real part, a view, would not take
            return lambda a: np.copy(np.linalg.eigvals(a))
        if is_plain_array(value):
            return _constant(value)
        if self.follows(value):
            return self.follow(value)
        found = self._replacement(value) if callable(value) else None
        if (
            value is np.asanyarray and found is not None
        ):  # of a polynomial at a polynomial, which NumPy puts into an array
            return lambda a: a if hasattr(type(a), "__gradscribe_original__") else found(a)
        return value if found is None else found

    def follow(self, value: Any) -> Any:
        """A function or class over the library."""
        found = self._known.get(value)
        if found is None:
            if not isinstance(value, type):
                found = self._function(getattr(value, "_implementation", value))
            else:
                found = value if getattr(value, "__abstractmethods__", None) else self._class(value)
            self._known[value] = found
        return found

    def of_polynomial(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """`np.polymul` and the like, by `function` of vectors: of an np.poly1d among the arguments it gives one, too."""
        if not any(isinstance(a, np.poly1d) for a in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        polynomial = self.follow(np.poly1d)
        if function.__name__ == "polyval":
            return _value(*args, **kwargs)
        made = function(*map(_coefficients, args), **{k: _coefficients(v) for k, v in kwargs.items()})
        return tuple(map(polynomial, made)) if isinstance(made, tuple) else polynomial(made)

    def over(self, value: Any) -> Any:
        """An object of such a class, made outside, as one of the class that is followed."""
        cls = self.follow(type(value))
        made = object.__new__(cls)
        made.__dict__ = value.__dict__  # one object, seen twice
        return made

    def _function(self, function: Any) -> types.FunctionType:
        space = _Globals(function.__globals__, self)
        code, closure = function.__code__, function.__closure__
        made = types.FunctionType(code, space, function.__name__, function.__defaults__, closure)
        made.__kwdefaults__ = function.__kwdefaults__
        made.__doc__, made.__qualname__, made.__module__ = function.__doc__, function.__qualname__, __name__
        return made

    def _class(self, cls: type) -> type:
        members: dict[str, Any] = {"__gradscribe_original__": cls, "__module__": cls.__module__, "__doc__": cls.__doc__}
        for owner in reversed(cls.__mro__[:-1]):
            for name, member in vars(owner).items():
                seen = self._member(member)
                if seen is None:
                    members.pop(name, None)
                else:
                    members[name] = seen
        metaclass = type("Followed", (_Followed, type(cls)), {}) if type(cls) is not type else _Followed
        made: type = metaclass(cls.__name__, (cls,), members)
        return made

    def _member(self, member: Any) -> Any:
        """A method, property or function of a class over the library; None for anything else."""
        if isinstance(member, types.FunctionType):
            return self._function(member)
        if isinstance(member, (staticmethod, classmethod)):
            inner = member.__func__
            return type(member)(self._function(inner)) if isinstance(inner, types.FunctionType) else None
        if isinstance(member, property):
            fget, fset, fdel = [p and self._function(p) for p in (member.fget, member.fset, member.fdel)]
            return property(fget, fset, fdel, member.__doc__)
        return _ClassArray(member) if is_plain_array(member) else None


def _coefficients(value: Any) -> Any:
    return value.coeffs if isinstance(value, np.poly1d) else value


def _value(p: Any, x: Any) -> Any:
    """np.polyval where `p` or `x` is an np.poly1d."""
    p = _coefficients(p)
    if not isinstance(x, np.poly1d):
        return np.polyval(p, x)
    found: Any = 0
    for k in range(len(p)):
        found = found * x + p[k]
    return found


# Iterators of NumPy's C code.


class ndenumerate:  # NumPy's name
    """np.ndenumerate, also of a Tensor: each index with its element."""

    def __init__(self, arr: Any) -> None:
        arr = np.stack(arr) if isinstance(arr, (list, tuple)) and has_tensor(arr) else arr
        self._elements: Iterator[Any] = iter(np.ndenumerate(arr) if not isinstance(arr, Operand) else _enumerated(arr))

    def __iter__(self) -> ndenumerate:
        return self

    def __next__(self) -> Any:
        return next(self._elements)


def _enumerated(arr: Any) -> Iterator[Any]:
    for index in np.ndindex(*[int(n) for n in arr.shape]):
        yield index, arr[index]


class broadcast:  # NumPy's name
    """np.broadcast, also of Tensors: the elements beside each other."""

    def __new__(cls, *arrays: Any) -> Any:
        return super().__new__(cls) if has_tensor(arrays) else np.broadcast(*arrays)

    def __init__(self, *arrays: Any) -> None:
        self._arrays = np.broadcast_arrays(*arrays)
        self.shape = tuple([int(n) for n in self._arrays[0].shape])
        self.ndim = self.nd = len(self.shape)
        self.numiter = len(arrays)
        self.size = int(np.prod(self.shape))
        self.reset()

    def reset(self) -> None:
        """Begin again."""
        self.index = 0

    def __iter__(self) -> broadcast:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self.index >= self.size:
            raise StopIteration
        at = tuple([int(k) for k in np.unravel_index(self.index, self.shape)])
        self.index += 1
        return tuple([a[at] for a in self._arrays])


class nditer:  # NumPy's name
    """np.nditer, also over Tensors, which it reads: NumPy's own goes over their elements' numbers, and so in NumPy's order."""

    def __new__(cls, op: Any, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls) if has_tensor(op) else np.nditer(op, *args, **kwargs)

    def __init__(
        self, op: Any, flags: Any = (), op_flags: Any = None, op_dtypes: Any = None, order: Any = "K", casting: Any = "safe",
        op_axes: Any = None, itershape: Any = None, buffersize: int = 0,
    ) -> None:  # fmt: skip
        several = isinstance(op, (list, tuple))
        self.operands = tuple(op) if several else (op,)
        words = [w for group in op_flags or () for w in (group if isinstance(group, (list, tuple)) else (group,))]
        if any(w in words for w in ("readwrite", "writeonly")) or any(o is None for o in self.operands):
            raise NoRuleError(
                "np.nditer writes into its operands, which has no gradient rule; read them, and write by index"
            )
        if op_dtypes is not None:
            raise NoRuleError(
                "np.nditer with op_dtypes= has no gradient rule; convert the arrays before: x.astype(dtype)"
            )
        flags = [f for f in flags if f not in ("refs_ok", "copy_if_overlap")]
        extra = {} if op_axes is None else {"op_axes": op_axes}
        extra |= {} if itershape is None else {"itershape": itershape}
        numbers = [_numbers(o) for o in self.operands]
        self._flat = [np.ravel(o) for o in self.operands]
        self._over: Any = np.nditer(
            numbers, flags, [["readonly"]] * len(numbers), order=order, casting=casting, buffersize=buffersize, **extra
        )
        self._begun = False

    def _read(self, found: Any) -> Any:
        parts = found if isinstance(found, tuple) else (found,)
        made = [np.reshape(flat[np.ravel(k).tolist()], np.shape(k)) for flat, k in zip(self._flat, parts, strict=True)]
        return tuple(made) if isinstance(found, tuple) else made[0]

    @property
    def value(self) -> Any:
        """The elements where the iterator stands."""
        return self._read(self._over.value)

    def __iter__(self) -> nditer:
        return self

    def __next__(self) -> Any:
        return self._read(next(self._over))

    def __getitem__(self, k: Any) -> Any:
        found = self._over[k]
        if isinstance(k, slice):
            return tuple(
                [np.reshape(f[np.ravel(n).tolist()], np.shape(n)) for f, n in zip(self._flat[k], found, strict=True)]
            )
        return np.reshape(self._flat[k][np.ravel(found).tolist()], np.shape(found))

    def __len__(self) -> int:
        return len(self.operands)

    def __enter__(self) -> nditer:
        self._over.__enter__()
        return self

    def __exit__(self, *exc: Any) -> Any:
        return self._over.__exit__(*exc)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._over, name)


def _numbers(array: Any) -> Any:
    """The numbers of an array's elements in the order of its indices, laid out in memory as it is; of an example in C's order."""
    value = np.asarray(getattr(array, "_value", array))
    shape = tuple([int(n) for n in np.shape(array)])
    made = np.empty_like(value, dtype=np.intp) if value.shape == shape else np.empty(shape, np.intp)
    made[...] = np.arange(made.size).reshape(made.shape)
    return made
