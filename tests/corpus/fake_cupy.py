"""A module with the names of CuPy, whose arrays compute with NumPy and turn into NumPy's arrays only where they are asked to.

The names, and the parameters of functions, are those of real CuPy (`cupy_names.json`, written by `cupy_names.py`): what that
lacks, this lacks. As there, an array refuses `__array__` and a NumPy array beside it, results of reductions are 0-d arrays,
flags know no `writeable`, `.get()` copies to the host. What it counts is asked of it by tests: `copies` to the host.
"""

from __future__ import annotations

import contextlib
import json
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

NAMES: dict[str, Any] = json.loads(Path(__file__).with_name("cupy_names.json").read_text())
ON_HOST = {  # what CuPy answers with plain Python objects
    "result_type", "can_cast", "ndim", "shape", "size", "iscomplexobj", "isrealobj", "isscalar", "may_share_memory",
    "shares_memory", "promote_types", "min_scalar_type", "common_type", "broadcast_shapes", "dtype", "finfo", "iinfo",
    "issubdtype", "array_repr", "array_str", "einsum_path",
}  # fmt: skip
TAKE_NUMPYS = {"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "from_dlpack", *ON_HOST}
TAKE_SCALARS = {  # what makes arrays; other functions ask their first argument for what only arrays have
    "full", "zeros", "ones", "empty", "arange", "linspace", "logspace", "eye", "identity", "tri", "indices", "atleast_1d",
    "atleast_2d", "atleast_3d", "bartlett", "blackman", "hamming", "hanning", "kaiser", "fftfreq", "rfftfreq", "tril_indices",
    "triu_indices", "diag_indices", "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", *ON_HOST,
}  # fmt: skip
AT = {"add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"}


class Copies:
    """How many arrays, and how many single numbers, have been copied to the host, by those who asked for it."""

    count = 0
    numbers = 0


class Flags:
    """The flags that CuPy has: `writeable` is none of them."""

    __slots__ = ("c_contiguous", "f_contiguous", "fnc", "forc", "owndata")

    def __init__(self, array: Any, owns: bool) -> None:
        self.c_contiguous, self.f_contiguous = array.flags.c_contiguous, array.flags.f_contiguous
        self.fnc, self.forc = array.flags.fnc, array.flags.forc
        self.owndata = owns


class ndarray:  # CuPy's name
    """An array that lies elsewhere, for all that a caller can see."""

    __slots__ = ("__weakref__", "_array", "base")
    __module__ = "cupy"
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __new__(
        cls, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> ndarray:
        if memptr is not None or strides is not None:
            raise NotImplementedError("memory of one's own")
        return wrapped(np.empty(shape, dtype, order))  # type: ignore[arg-type,no-any-return]

    # conversions
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
        )

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """A copy on the host."""
        Copies.count += 1
        return self._array.copy()

    def item(self, *args: Any) -> Any:
        """One element on the host."""
        Copies.numbers += 1
        return self._array.item(*args)

    def tolist(self) -> Any:
        """All of it, on the host."""
        Copies.count += 1
        return self._array.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """All of it, on the host."""
        Copies.count += 1
        return self._array.tobytes(order)

    def __bool__(self) -> bool:
        Copies.numbers += 1
        return bool(self._array)

    def __int__(self) -> int:
        Copies.numbers += 1
        return int(self._array)

    def __float__(self) -> float:
        Copies.numbers += 1
        return float(self._array)

    def __complex__(self) -> complex:
        Copies.numbers += 1
        return complex(self._array)

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(len(self._array))])

    def __repr__(self) -> str:
        return repr(self._array)

    def __str__(self) -> str:
        return str(self._array)

    def __format__(self, spec: str) -> str:
        return format(self._array[()], spec)

    def __reduce__(self) -> Any:
        return (_unpickled, (self.get(),))

    def __copy__(self) -> Any:
        return wrapped(self._array.copy())

    def __deepcopy__(self, memo: Any) -> Any:
        return wrapped(self._array.copy())

    # what it is
    shape = property(lambda self: self._array.shape)
    strides = property(lambda self: self._array.strides)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)
    nbytes = property(lambda self: self._array.nbytes)
    itemsize = property(lambda self: self._array.itemsize)
    flags = property(lambda self: Flags(self._array, self.base is None))
    device = property(lambda self: "<CUDA Device 0>")
    T = property(lambda self: result(self._array.T, self))
    mT = property(lambda self: result(self._array.mT, self))
    real = property(lambda self: result(self._array.real, self))
    imag = property(lambda self: result(self._array.imag, self))

    # elements
    def __getitem__(self, key: Any) -> Any:
        found = self._array[taken(key, of_index=True)]
        return result(found if isinstance(found, np.ndarray) else self._array[(*_as_tuple(key), ...)], self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[taken(key, of_index=True)] = taken(value)

    # protocols
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        for a in (*inputs, *kwargs.get("out", ())):
            if not isinstance(a, (ndarray, *SCALARS)) and getattr(a, "__array_ufunc__", None) is not None:
                if isinstance(a, np.ndarray):
                    raise TypeError(f"Unsupported type {type(a)}")
                return NotImplemented
        there = getattr(sys.modules["cupy"], ufunc.__name__, None)
        if there is None:
            there = getattr(sys.modules["cupyx.scipy.special"], ufunc.__name__, None)
        if there is None:
            return NotImplemented
        if "out" in kwargs:
            (kwargs["out"],) = kwargs["out"]
        return (there if method == "__call__" else getattr(there, method))(*inputs, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(t, (ndarray, np.ndarray)) for t in types):
            return NotImplemented
        module: Any = sys.modules["cupy"]
        for part in func.__module__.split(".")[1:]:
            module = getattr(module, part, None)
        there = getattr(module, func.__name__, None)
        return NotImplemented if there is None else there(*args, **kwargs)


SCALARS = (int, float, complex, bool, np.generic)


def _as_tuple(key: Any) -> tuple[Any, ...]:
    found = taken(key, of_index=True)
    return found if isinstance(found, tuple) else (found,)


def _unpickled(array: Any) -> Any:
    return wrapped(array)


def wrapped(array: Any, base: Any = None) -> Any:
    """An array of the fake's over one of NumPy's."""
    if array.dtype.kind not in "biufc" or array.dtype.itemsize > 16 or array.dtype == np.longdouble:
        raise TypeError(f"Unsupported dtype {array.dtype}")
    made = object.__new__(ndarray)
    made._array, made.base = array, base
    return made


def root(array: Any) -> Any:
    """The array of NumPy's that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def result(value: Any, *inputs: Any) -> Any:
    """What a function gives: arrays of the fake's, also for numbers; views know whose they are."""
    if isinstance(value, np.generic):
        return wrapped(np.asarray(value))
    if isinstance(value, np.ndarray):
        for x in inputs:
            if value is x._array:
                return x
        owner = root(value)
        for x in inputs:
            if root(x._array) is owner:
                return wrapped(value, x if x.base is None else x.base)
        return wrapped(value)
    if isinstance(value, (tuple, list)):
        kind = list if isinstance(value, list) else tuple
        return kind([result(v, *inputs) for v in value])
    return wrapped(np.asarray(value)) if isinstance(value, bool) else value


def taken(value: Any, numpys: bool = False, of_index: bool = False) -> Any:
    """An argument for NumPy; a NumPy array, or an object of another class, is refused as CuPy does."""
    if type(value) is ndarray:
        return value._array
    if type(value) in (tuple, list):
        return type(value)([taken(v, numpys, of_index) for v in value])
    if isinstance(value, slice) or (isinstance(value, np.ndarray) and (numpys or of_index)):
        return value
    if isinstance(value, np.ndarray) or hasattr(type(value), "__gradscribe_apply__"):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def arrays_in(value: Any) -> list[Any]:
    """The fake's arrays among arguments."""
    if isinstance(value, ndarray):
        return [value]
    return [x for v in value for x in arrays_in(v)] if isinstance(value, (tuple, list)) else []


def function(name: str, of_numpy: Callable[..., Any], parameters: Any, scalars: bool = False) -> Callable[..., Any]:
    """CuPy's function of a name: NumPy's on what the arrays hold, with the parameters that CuPy has."""
    known = set(parameters) if isinstance(parameters, list) and "**kwargs" not in parameters else None
    most = len([p for p in parameters if p[0] != "*"]) if known is not None and "*" not in str(parameters) else None

    def call(*args: Any, **kwargs: Any) -> Any:
        for word in kwargs:
            if known is not None and word not in known:
                raise TypeError(f"{name}() got an unexpected keyword argument {word!r}")
        if most is not None and len(args) > most:
            raise TypeError(f"{name}() takes {most} positional arguments but {len(args)} were given")
        free = name in TAKE_NUMPYS
        if args and isinstance(args[0], SCALARS) and not (scalars or name in TAKE_SCALARS):
            raise TypeError(f"{name}(): Argument has incorrect type (expected cupy.ndarray, got {type(args[0])})")
        inputs = arrays_in([*args, *kwargs.values()])
        words = {k: taken(v, free) for k, v in kwargs.items() if k not in ("stream", "blocking")}
        for axis in ("axis", "axes"):
            if axis in kwargs and arrays_in([kwargs[axis]]):
                raise TypeError(f"{name}(): {axis} is an array")
        with np.errstate(all="ignore"):  # a GPU warns of nothing
            found = of_numpy(*[taken(a, free) for a in args], **words)
        return found if name in ON_HOST else result(found, *inputs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "cupy"
    return as_installed(call)


class Ufunc:
    """CuPy's ufunc of a name."""

    __module__ = "cupy"

    def __init__(self, name: str, of_numpy: Any) -> None:
        self.__name__, self.name, self.of_numpy = name, f"cupy_{name}", of_numpy
        self.nin, self.nout, self.nargs = of_numpy.nin, of_numpy.nout, of_numpy.nargs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        wrong = {k: v for k, v in kwargs.items() if k not in ("out", "dtype", "casting")}
        if wrong:
            raise TypeError(f"Wrong arguments {wrong}")
        for a in args:
            if type(a) is not ndarray and not issubclass(type(a), SCALARS):  # whatever class it says it is of
                raise TypeError(f"Unsupported type {type(a)}")
        out = kwargs.pop("out", None)
        if out is not None:
            kwargs["out"] = taken(out)
        with np.errstate(all="ignore"):
            found = self.of_numpy(*[taken(a) for a in args], **kwargs)
        return out if out is not None else result(found, *arrays_in(args))

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Add at places, and the like."""
        if self.__name__ not in AT:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        self.of_numpy.at(taken(a), taken(indices, of_index=True), taken(b))

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Reduce along axes: of few ufuncs."""
        self._only("reduce", "add", "multiply")
        return result(self.of_numpy.reduce(taken(array), axis, dtype, keepdims=keepdims), array)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """Accumulate along an axis: of few ufuncs."""
        self._only("accumulate", "add", "multiply")
        return result(self.of_numpy.accumulate(taken(array), axis, dtype), array)

    def reduceat(self, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        """Reduce pieces: of addition."""
        self._only("reduceat", "add")
        return result(self.of_numpy.reduceat(taken(array), taken(indices, of_index=True), axis, dtype), array)

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:  # CuPy's names
        """All pairs."""
        return result(self.of_numpy.outer(taken(A), taken(B), **kwargs))

    def _only(self, method: str, *names: str) -> None:
        if self.__name__ not in names:
            raise NotImplementedError(f"`{self.name}.{method}` is not supported yet")


def _method(name: str, function_name: str) -> Any:
    return lambda self, *args, **kwargs: getattr(sys.modules["cupy"], function_name)(self, *args, **kwargs)


def _numpys_method(name: str) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return result(getattr(self._array, name)(*map(taken, args), **{k: taken(v) for k, v in kwargs.items()}), self)

    return call


def _operator(name: str, ufunc: str, swapped: bool) -> Any:
    def call(self: Any, other: Any) -> Any:
        if getattr(type(other), "__array_ufunc__", True) is None:
            return NotImplemented
        foreign = not isinstance(other, (ndarray, np.ndarray, *SCALARS)) and hasattr(type(other), "__array_ufunc__")
        here = getattr(np if foreign else sys.modules["cupy"], ufunc)
        if not foreign and not isinstance(other, (ndarray, *SCALARS)):
            raise TypeError(f"Unsupported type {type(other)}")
        return here(other, self) if swapped else here(self, other)

    return call


def _in_place(ufunc: str) -> Any:
    def call(self: Any, other: Any) -> Any:
        return getattr(sys.modules["cupy"], ufunc)(self, other, out=self, casting="same_kind")

    return call


OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
    "rshift": "right_shift", "divmod": "divmod",
}  # fmt: skip
for _name, _ufunc in OPERATORS.items():
    setattr(ndarray, f"__{_name}__", _operator(_name, _ufunc, False))
    setattr(ndarray, f"__r{_name}__", _operator(_name, _ufunc, True))
    if _name not in ("matmul", "divmod"):
        setattr(ndarray, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal"
}.items():  # fmt: skip
    setattr(ndarray, f"__{_name}__", _operator(_name, _ufunc, False))
for _name, _ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
    setattr(ndarray, f"__{_name}__", lambda self, _ufunc=_ufunc: getattr(sys.modules["cupy"], _ufunc)(self))
for _name in (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "compress", "cumprod", "cumsum", "diagonal",
    "dot", "max", "mean", "min", "nonzero", "prod", "put", "ravel", "repeat", "reshape", "round", "searchsorted", "squeeze",
    "std", "sum", "swapaxes", "take", "trace", "transpose", "var", "conj", "conjugate",
):  # fmt: skip
    if hasattr(np.ndarray, _name):
        setattr(ndarray, _name, _numpys_method(_name))
for _name in ("all", "any", "argmax", "argmin", "cumprod", "cumsum", "max", "mean", "min", "prod", "std", "sum", "var"):
    setattr(ndarray, _name, _method(_name, _name))  # with the parameters that CuPy has
for _name in ("astype", "copy", "flatten", "view", "fill", "sort", "partition"):
    setattr(ndarray, _name, _numpys_method(_name))
ndarray.ptp = _method("ptp", "ptp")  # type: ignore[attr-defined]


def as_installed(fn: Any) -> Any:
    """A function whose code says that it lies in an installed CuPy: what lies beside tests counts as the user's."""
    fn.__code__ = fn.__code__.replace(co_filename=f"/lib/site-packages/cupy/{Path(fn.__code__.co_filename).name}")
    return fn


for _class in (ndarray, Ufunc):
    for _value in vars(_class).values():
        if isinstance(_value, types.FunctionType):
            as_installed(_value)


def module_of(name: str) -> types.ModuleType:
    """One of CuPy's modules, with its names: those that NumPy or SciPy has compute, the others raise when they are called."""
    made = types.ModuleType(name, "A stand-in for CuPy's module, by tests/corpus/fake_cupy.py.")
    numpys = _numpys(name)
    for public, kind in NAMES["modules"][name].items():
        here = getattr(numpys, public, None)
        if public == "ndarray":
            value: Any = ndarray
        elif here is None or kind == "module":
            value = _absent(name, public)
        elif kind in ("value", "class") or public in ("dtype", "finfo", "iinfo"):
            value = here
        elif isinstance(here, np.ufunc):
            value = Ufunc(public, here)
        else:
            value = function(public, here, kind, scalars=name == "cupy.random")
        setattr(made, public, value)
    return made


def _numpys(name: str) -> Any:
    import importlib

    return importlib.import_module(
        name.replace("cupyx.scipy", "scipy").replace("cupyx", "scipy").replace("cupy", "numpy")
    )


def _absent(module: str, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{module}.{name}: the stand-in has the name alone")

    call.__name__ = name
    return as_installed(call)


def built() -> dict[str, types.ModuleType]:
    """The stand-in's modules, by their names."""
    found = {name: module_of(name) for name in NAMES["modules"]}
    for name in ("cupyx.scipy", "cupy.lib"):
        found[name] = types.ModuleType(name)
    for name, module in found.items():
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(found[parent], last, module)
    cupy: Any = found["cupy"]
    cupy.__version__ = NAMES["version"]
    cupy.asnumpy = lambda a, *rest, **words: a.get() if isinstance(a, ndarray) else np.asarray(a)
    cupy.get_array_module = lambda *args: cupy if arrays_in(list(args)) else np
    cupy.may_share_memory = lambda a, b, max_work=None: np.may_share_memory(taken(a), taken(b))
    return found


MODULES = built()
cupy: Any = MODULES["cupy"]


@contextlib.contextmanager
def installed() -> Iterator[Any]:
    """Let `import cupy` find the stand-in for a block."""
    before = {name: sys.modules.get(name) for name in MODULES}
    sys.modules.update(MODULES)
    try:
        yield cupy
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def on_device(value: Any) -> Any:
    """A value, or a tree of them, with arrays of the stand-in's in place of NumPy's."""
    if isinstance(value, np.ndarray):
        return wrapped(value.copy("K"))
    if type(value) in (list, tuple):
        return type(value)([on_device(v) for v in value])
    return {k: on_device(v) for k, v in value.items()} if isinstance(value, dict) else value


def on_host(value: Any) -> Any:
    """The way back, for comparisons: what the arrays hold."""
    if isinstance(value, ndarray):
        return value._array
    if isinstance(value, (list, tuple)):
        return type(value)([on_host(v) for v in value]) if not hasattr(value, "_fields") else tuple(map(on_host, value))
    return {k: on_host(v) for k, v in value.items()} if isinstance(value, dict) else value
