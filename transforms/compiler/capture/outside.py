"""Reads from outside: the values that a captured function may read, and why other reads end the capture."""

from __future__ import annotations

import builtins
import dataclasses
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ....tracer.autograd.function import Function, once_differentiable
from ....tracer.core.count import Count
from ....tracer.core.foreign import conversion, library_of
from ....tracer.core.libraries import NUMERIC, OURS, PURE, PYTHON
from ....tracer.core.site import is_generated
from ....tracer.core.tensor_base import Operand
from ...user_code.namespaces import SETTINGS, makes_generators, may_draw
from ...user_code.scipy_names import is_known
from ...user_code.scope import is_left_alone, is_user_class, is_user_function

__all__ = ["generated", "is_constant", "is_mock", "is_plain_data", "is_user_error", "own_code", "why_not"]

_HOUSE = __name__.partition(".")[0] + "."
_EXACT = frozenset([bool, int, float, complex, str, bytes, type(None), type(Ellipsis), Count])
_PURE_BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        "abs", "all", "any", "bool", "bytes", "callable", "chr", "complex", "dict", "divmod", "enumerate", "filter",
        "float", "frozenset", "getattr", "hasattr", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min",
        "next", "object", "ord", "pow", "print", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum",
        "tuple", "type", "zip",
    )
)  # fmt: skip
_LIBRARIES = NUMERIC | OURS | PURE
_LIBRARY_CALLABLES = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type(np.sum))
_PLAIN = (types.ModuleType, type, *_LIBRARY_CALLABLES)  # which are no arrays
_METHODS = frozenset(["forward", "setup_context", "backward", "vjp", "jvp", "vmap", "generate_vmap_rule"])
_OF_CLASSES = (dataclasses.__file__, sys.modules["typing"].__file__, sys.modules["collections"].__file__)
_MADE_BY_PYTHON = (types.MemberDescriptorType, types.GetSetDescriptorType, types.BuiltinFunctionType)


def is_constant(value: Any) -> bool:
    """Whether a value is a plain number, text or the like, without parts that could change: of no subclass."""
    kind = type(value)
    if kind is slice:
        return is_constant(value.start) and is_constant(value.stop) and is_constant(value.step)
    if kind is tuple:
        return all(map(is_constant, value))
    return (
        kind in _EXACT or isinstance(value, np.dtype) or (isinstance(value, np.generic) and value.dtype.kind in "biufc")
    )


def is_mock(value: Any) -> bool:
    """Whether a value is one of unittest's stand-ins, which a test takes away again."""
    return type(value).__module__ == "unittest.mock"


def is_plain_data(value: Any) -> bool:
    """Whether a value is a dataclass or a named tuple."""
    return isinstance(value, type) and (
        dataclasses.is_dataclass(value) or (issubclass(value, tuple) and hasattr(value, "_fields"))
    )


def is_user_error(value: Any) -> bool:
    """Whether a value is an exception class of the user's."""
    return isinstance(value, type) and issubclass(value, BaseException) and is_user_class(value)


def _is_block_of_ours(value: Any) -> bool:
    """Whether a value is one of our context managers, their class or a method of one: they ask the recorder themselves."""
    owner = value.__self__ if isinstance(value, types.MethodType) else value
    cls = owner if isinstance(owner, type) else type(owner)
    return str(cls.__module__).startswith(_HOUSE) and hasattr(cls, "__enter__")


def why_not(value: Any, name: str, stored: Callable[[str], bool] = lambda name: False) -> str | None:
    """Why a value that stands under `name` cannot be part of a capture; None where it can.

    `stored` tells of attributes of functions whether the code stores them, and so has each read of them noticed.
    """
    if _is_block_of_ours(value):
        return None
    form = None if isinstance(value, _PLAIN) else conversion(value, name)
    if form is not None:
        kind = f"a {type(value).__name__} of {library_of(value)}"
        return f"reads `{name}`, {kind}, whose changes it could not notice; read {form} once, outside, or pass that"
    if isinstance(value, types.MethodType) and value.__func__ is Function.apply.__func__:  # type: ignore[attr-defined]
        value = value.__self__
    if isinstance(value, type) and issubclass(value, Function):
        return _why_not_custom(value)
    if isinstance(value, once_differentiable):
        return None
    if isinstance(value, types.ModuleType):
        top = value.__name__.partition(".")[0]
        if top in _LIBRARIES or top == "random" or top not in PYTHON:
            return None
        return f"uses the module `{top}`, which reaches outside the function"
    if is_user_function(value):
        own = [
            found for attribute, found in vars(value).items() if attribute != "__wrapped__" and not stored(attribute)
        ]
        if not all(map(is_constant, own)):
            return f"calls `{name}`, a function with attributes of its own"
        return None
    if isinstance(value, (types.BuiltinFunctionType, type)):
        return _why_not_built_in(value, name)
    if hasattr(type(value), "__gradscribe_transform__"):
        return None
    if isinstance(value, np.ufunc) and value.__name__.endswith("(vectorized)"):
        return f"calls `{name}`, made by np.frompyfunc of a function that gradscribe does not see"
    if hasattr(type(value), "__gradscribe_stateless__") or is_known(value):
        return None
    if may_draw(value):
        return f"uses `{name}`, which may draw random numbers that would not be seen"
    if isinstance(value, _LIBRARY_CALLABLES) or type(value).__module__.startswith("scipy.special"):
        top = (getattr(value, "__module__", None) or "numpy").partition(".")[0]
        if top in _LIBRARIES and callable(value):
            return f"uses `{name}`, a setting of NumPy's" if value in SETTINGS else None
    if isinstance(value, Operand):
        grad = ", and take its gradient with gs.grad" if value.requires_grad else ""
        return f"reads `{name}`, a Tensor, whose changes it could not notice; pass its array{grad}"
    return f"reads `{name}`, a {type(value).__name__}, whose changes it could not notice; pass it as an argument"


def _why_not_built_in(value: Any, name: str) -> str | None:
    top = (getattr(value, "__module__", None) or "").partition(".")[0]
    owner = getattr(value, "__self__", None)
    if isinstance(value, type):
        if top == "builtins":
            fine = value in _PURE_BUILTINS or issubclass(value, BaseException)
            return None if fine else f"calls `{name}`, which has effects or reaches outside the function"
        if value in SETTINGS:
            return f"uses `{name}`, a setting of NumPy's"
        if is_known(value):
            return None
        if is_user_error(value):
            return _why_not_error(value)
        if makes_generators(value):
            return f"uses the class `{name}`; np.random.default_rng(seed) is known"
        if issubclass(value, BaseException) or top in PURE or top == "numpy":
            return None
        if is_plain_data(value):
            return own_code(value)
        if is_left_alone(value.__module__):  # of a library, to be asked for: a call of it ends the capture
            return None
        return f"uses the class `{name}`"
    if owner is not None and not isinstance(owner, types.ModuleType):
        return f"reads `{name}`, a method of a {type(owner).__name__}, whose changes it could not notice"
    if top == "builtins":
        return None if value in _PURE_BUILTINS else f"calls `{name}`, which has effects or reaches outside the function"
    if value in SETTINGS:
        return f"uses `{name}`, a setting of NumPy's"
    module = top.removeprefix("_")  # of functions in C, `_functools`
    return None if top in _LIBRARIES or module in PURE else f"calls `{module}.{name}`"


def _why_not_error(cls: type) -> str | None:
    """Why an exception class of the user's cannot enter a capture: it has code, or values that could change within."""
    for owner in filter(is_user_class, cls.__mro__):
        for name, found in vars(owner).items():
            if not (is_constant(found) or isinstance(found, _MADE_BY_PYTHON) or name.startswith("__")) or (
                isinstance(found, types.FunctionType)
            ):
                return f"uses `{cls.__name__}`, whose `{name}` gradscribe does not look into yet"
    return None


def _why_not_custom(cls: type[Function]) -> str | None:
    """Why a Function cannot be part of a capture: it has more than the methods that guards look at."""
    for owner in cls.__mro__[: cls.__mro__.index(Function)]:
        for name in vars(owner):
            if name.startswith("__") or name == "_node" or name in _METHODS:
                continue
            return f"uses `{cls.__name__}`, whose `{name}` is the class's own and could change unseen"
    return None


def generated(function: types.FunctionType) -> bool:
    """Whether Python wrote a method of a class, as dataclasses and named tuples have them."""
    code = getattr(function, "__wrapped__", function).__code__  # reprlib wraps a __repr__
    return code.co_filename in _OF_CLASSES or is_generated(code)


def own_code(cls: type) -> str | None:
    """Why objects of a plain class cannot enter a capture: code or values of the class would be read unseen."""
    fields = {*getattr(cls, "_fields", ())}
    if dataclasses.is_dataclass(cls):
        fields |= {f.name for f in dataclasses.fields(cls)}
    for owner in cls.__mro__:
        if owner.__module__ in ("builtins", "typing", "abc", "collections.abc"):
            continue
        for name, member in vars(owner).items():
            if name in fields:
                continue
            inner = getattr(member, "__func__", member) if isinstance(member, (classmethod, staticmethod)) else member
            if isinstance(inner, types.FunctionType):
                if not generated(inner):
                    return f"uses `{cls.__name__}`, whose method `{name}` gradscribe does not look into yet"
            elif isinstance(member, property) or (
                hasattr(type(member), "__get__") and not isinstance(member, _MADE_BY_PYTHON)
            ):
                return f"uses `{cls.__name__}`, whose `{name}` gradscribe does not look into yet"
            elif not name.startswith("_"):
                return f"uses `{cls.__name__}`, whose attribute `{name}` is the class's own and could change unseen"
    return None
