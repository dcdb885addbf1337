"""Purity: whether a call only computes. A call in a region, or before one, may run twice or not at all."""

from __future__ import annotations

import builtins
import dis
import functools
import types
from typing import Any

import numpy as np

from .....runtime.arrays import is_array
from .....runtime.registry import lookup
from .....tracer.core.tensor_base import Operand
from ....user_code.namespaces import makes_generators
from ....user_code.scope import all_code, is_user_function, watched
from ...frontend.hooks import cached_by_code

__all__ = ["impure"]

_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in [
        "abs", "all", "any", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate", "filter",
        "float", "format", "frozenset", "getattr", "hasattr", "hash", "id", "int", "isinstance", "issubclass", "iter",
        "len", "list", "map", "max", "min", "next", "object", "ord", "pow", "range", "repr", "reversed", "round",
        "set", "slice", "sorted", "str", "sum", "super", "tuple", "type", "zip"
    ]
)  # fmt: skip
_MODULES = frozenset(
    ["math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections", "_collections", "copy",
     "typing", "numbers", "fractions", "decimal", "_decimal", "statistics", "bisect", "_bisect", "dataclasses", "enum", "string"]
)  # fmt: skip
_READS: dict[type, frozenset[str]] = {
    list: frozenset(["copy", "count", "index"]),
    dict: frozenset(["copy", "get", "items", "keys", "values"]),
    set: frozenset(["copy", "difference", "intersection", "issubset", "issuperset", "union"]),
}
_IMMUTABLE = (str, bytes, tuple, frozenset, int, float, complex, bool, range, slice, type(None), np.generic, np.dtype)
_WRITERS = frozenset(
    ["save", "savez", "savez_compressed", "savetxt", "load", "loadtxt", "genfromtxt", "fromfile", "seterr", "seterrcall",
     "setbufsize", "set_printoptions", "memmap", "shuffle"]
)  # fmt: skip


def impure(f: Any, capture: Any) -> str | None:
    """Why a call of `f` may do more than compute, in words; None where it only computes."""
    if f in _BUILTINS if isinstance(f, (type, types.BuiltinFunctionType)) else False:
        return None
    if isinstance(f, types.FunctionType):
        return _of_function(f, capture)
    if isinstance(f, (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)):
        owner = getattr(f, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            return _of_method(f, owner, capture)
    if isinstance(f, functools.partial):
        return impure(f.func, capture)
    if isinstance(f, np.ufunc) or _is_op(f):
        return None
    if isinstance(f, type):
        return _of_class(f)
    if hasattr(type(f), "__gradscribe_transform__"):
        return None if f.kind != "custom_vjp" else "calls what has a derivative of its own"
    module = getattr(f, "__module__", None) or ""
    name = getattr(f, "__name__", type(f).__name__)
    if _computes(module, name) or is_user_function(getattr(type(watched(f)), "__call__", None)):  # noqa: B004
        return None
    return f"calls `{name}`, which it cannot look into"


@cached_by_code(1024)
def stores_around(code: types.CodeType) -> bool:
    """Whether a function stores into a variable of one around it."""
    return any(
        i.opname in ("STORE_DEREF", "DELETE_DEREF") and i.argval in code.co_freevars
        for one in all_code(code)
        for i in dis.get_instructions(one)
    )


def _is_op(f: Any) -> bool:
    found = lookup(f)
    return found is not None and not found.effect


def _is_numpy(module: str) -> bool:
    top, _, rest = module.partition(".")
    return (top == "numpy" and not rest.startswith("random")) or (top == "scipy" and rest.startswith("special"))


def _computes(module: str, name: str) -> bool:
    """Whether what a library calls by this name only computes."""
    return module.partition(".")[0] in _MODULES or (_is_numpy(module) and name not in _WRITERS)


def _of_function(f: types.FunctionType, capture: Any) -> str | None:
    if f.__code__ in capture.findings.codes or is_user_function(f):
        if capture.regions.frames and stores_around(f.__code__):
            return f"calls `{f.__name__}`, which changes a variable of the function around it"
        return None
    if _is_op(f):
        return None
    module = f.__module__ or ""
    if module.startswith(__name__.partition(".")[0]):  # ours: what has effects asks the recorder itself
        return None
    if _computes(module, f.__name__):
        return None
    wrapped = getattr(f, "__wrapped__", None)
    random = module.startswith("numpy.random") and f.__name__ in ("default_rng", "ranf", "sample", "seed")
    if random or makes_generators(type(getattr(wrapped, "__self__", None))):
        return None  # a draw, which asks the recorder itself
    return f"calls `{f.__qualname__}` of {module}, which it does not look into"


def _of_method(f: Any, owner: Any, capture: Any) -> str | None:
    if isinstance(owner, (Operand, *_IMMUTABLE)):
        return None
    if isinstance(f, types.MethodType):
        return impure(f.__func__, capture)
    name = f.__name__
    for kind, names in _READS.items():
        if isinstance(owner, kind):
            if name in names or (not capture.regions.frames and type(owner) is kind):
                return None  # what is changed outside of regions, and is not the run's own, is found in the end
            return f"calls `{name}` of a {kind.__name__}"
    if isinstance(owner, type):
        return impure(owner, capture) if name == "__new__" else None if owner in _BUILTINS else _of_class(owner)
    if is_array(owner):
        return None
    return f"calls `{name}` of a {type(owner).__name__}, which it cannot look into"


def _of_class(cls: type) -> str | None:
    if issubclass(cls, BaseException) or cls in _BUILTINS or hasattr(cls, "_fields"):
        return None
    module = cls.__module__ or ""
    if _is_numpy(module) or module.partition(".")[0] in _MODULES:
        return None
    init = getattr(cls, "__init__", None)
    if is_user_function(init) or init is object.__init__ or hasattr(cls, "__dataclass_fields__"):
        return None
    return f"makes a `{cls.__name__}`, which it cannot look into"
