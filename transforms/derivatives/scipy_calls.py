"""SciPy's functions that call the user's, in a capture: calls of generated source, which bind the values that it closes over."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.ops import Op
from ...runtime.result_types import BY_VALUE, UNKNOWN
from ...runtime.user_ops import called_by_name
from ...tracer.autograd.function import Function
from ...tracer.core.listening import called, in_loop
from ...tracer.core.tensor_base import Operand, levels_of, wrap
from ...tracer.core.thread_state import capturing, grad_mode, recording, refuse
from ...tracer.memory.survivors import as_stored
from ..transform import Transform
from ..user_code.scope import original_code, scope, stores_outside
from .scipy_callbacks import Solved, changed, one_by_one, same
from .vjp import vjp

__all__ = ["Driver", "scipy_adjoint", "scipy_solution", "scipy_steps"]


class Driver:
    """A function of SciPy that calls the user's, as it runs inside a transform."""

    def __init__(
        self, path: str, solve: Callable[..., Solved], steps: Callable[[dict[str, Any]], bool] = lambda given: False
    ) -> None:
        self.path = path  # optimize.brentq
        self.solve = solve
        self.steps = steps  # whether SciPy chooses how long the results are, from the arguments
        drivers[path] = self

    @functools.cached_property
    def real(self) -> Any:
        """SciPy's own function."""
        module, _, name = self.path.rpartition(".")
        return getattr(importlib.import_module(f"scipy.{module}"), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As SciPy's own, of traced values too."""
        if capturing():
            made = _recorded(self, args, kwargs)
            if made is not None:
                return made
        found = self.eager(args, kwargs)
        return found.give(found.results)

    def eager(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Solved:
        """Solve it on plain numbers; the results know how they are differentiated."""
        given = inspect.signature(self.real).bind(*args, **kwargs)
        with recording(None):
            return self.solve(self, given.arguments)


drivers: dict[str, Driver] = {}  # by their paths

# The user's functions that captured calls bind values to, by what generated source calls them. Source from the cache finds
# them here, too: a function is captured before its source is looked up.
_CODES: dict[str, tuple[types.CodeType, dict[str, Any]]] = {}
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _Undescribed(Exception):
    """Say what in an argument generated source cannot hand on."""


class _Description:
    """Arguments of a call as a constant of the source, with the traced values that stand in it by number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.cells: list[types.CellType] = []  # of the functions that are being described

    def of(self, x: Any) -> Any:
        """The description of one thing."""
        if isinstance(x, (Operand, np.ndarray, np.generic)):
            return self._value(x)
        kind = type(x)
        if kind in _PLAIN:
            return ("is", x)
        if isinstance(x, int):  # a size
            self.values.append(x)
            return ("value", len(self.values) - 1)
        if kind in (tuple, list):
            return (kind.__name__, *map(self.of, x))
        if kind is dict:
            return ("dict", *[part for key, value in x.items() for part in (self.of(key), self.of(value))])
        if kind is functools.partial:
            return ("partial", self.of(x.func), self.of(x.args), self.of(x.keywords))
        if isinstance(x, types.ModuleType):
            return ("module", x.__name__)
        if isinstance(x, Transform) and kind.__module__ in _DERIVATIVES:  # gs.grad(f), as a gradient for SciPy
            return ("transform", kind.__module__, kind.__name__, x.kind, self.of(x.function), self.of(x.options))
        if callable(x):
            return self._function(x)
        raise _Undescribed(f"reads an object of the class {kind.__name__}")

    def _value(self, x: Any) -> Any:
        if isinstance(x, Operand) and levels_of(x):
            raise _Undescribed(
                f"reads a Tensor of shape {tuple(x.shape)} that differs from example to example under gs.vmap"
            )
        if isinstance(x, np.ndarray):
            raise _Undescribed(f"reads an array of shape {x.shape} that was made out of sight")
        for k, known in enumerate(self.values):
            if known is x:
                return ("value", k)
        self.values.append(x)
        return ("value", len(self.values) - 1)

    def _function(self, x: Any) -> Any:
        x = getattr(x, "__wrapped__", x) if str(getattr(x, "__module__", "")).startswith(_OURS) else x
        named = _named(x)
        if named is not None:
            return named
        if type(x) is not types.FunctionType:
            raise _Undescribed(f"calls an object of the class {type(x).__name__}, or a method of one")
        found = _written(x)
        if found is None:
            raise _Undescribed(f"calls `{x.__qualname__}`, whose code is not found as it was written")
        code, space = found
        if bears := sorted(vars(as_stored(x)).keys() - {"__wrapped__"}):
            raise _Undescribed(f"calls `{x.__qualname__}`, which bears attributes ({', '.join(bears)})")
        if stores_outside(code):
            raise _Undescribed(f"calls `{x.__qualname__}`, which stores into variables around it")
        cells = dict(zip(x.__code__.co_freevars, x.__closure__ or (), strict=True))
        read: list[Any] = []
        for name in code.co_freevars:
            cell = cells[name]
            if any(cell is other for other in self.cells):
                raise _Undescribed(f"calls `{x.__qualname__}`, which calls itself")
            self.cells.append(cell)
            try:
                read += [name, self.of(cell.cell_contents)]
            except ValueError:
                raise _Undescribed(f"reads `{name}`, which is not bound yet") from None
            self.cells.pop()
        label = _label(x.__qualname__, code, space)
        return ("function", label, self.of(x.__defaults__), self.of(x.__kwdefaults__), *read)


_OURS = __name__.partition(".")[0] + "."
_HERE = __name__.rpartition(".")[0]
_DERIVATIVES = frozenset([f"{_HERE}.{name}" for name in ("gradient", "jacobian", "second_order")])


def _named(x: Any) -> Any:
    """A function of a library that a module has under its name."""
    module, name = getattr(x, "__module__", None), getattr(x, "__name__", None)
    if isinstance(x, np.ufunc):
        module = next(
            (m for m in ("numpy", "scipy.special") if getattr(sys.modules.get(m), str(name), None) is x), None
        )
    if isinstance(x, types.FunctionType) and str(module).partition(".")[0] not in ("numpy", "scipy", "math"):
        return None
    return ("name", module, name) if module and getattr(sys.modules.get(module), str(name), None) is x else None


def _written(function: types.FunctionType) -> tuple[types.CodeType, dict[str, Any]] | None:
    """The code of the user's function that another stands for in a capture, and the globals that it reads."""
    original = as_stored(function)
    if original is not function and type(original) is types.FunctionType:
        return original.__code__, original.__globals__
    space = getattr(function.__globals__, "real", None)
    if space is None:
        return function.__code__, function.__globals__
    code = original_code(scope(), function.__code__)
    return None if code is None else (code, space)


def _label(name: str, code: types.CodeType, space: dict[str, Any]) -> str:
    """Return the name of a user's function in generated source: one name for one code."""
    label = stem = f"{space.get('__name__', '')}.{name}:{code.co_firstlineno}"
    k = 1
    while label in _CODES and not (_CODES[label][0] == code and _CODES[label][1] is space):
        k += 1
        label = f"{stem} ({k})"
    _CODES.setdefault(label, (code, space))
    return label


def _made(spec: Any, values: Any, held: list[Any] | None = None) -> Any:
    """The thing that a description is of, with these values in it; lists and dicts that are made are added to `held`."""
    kind, *rest = spec
    if kind == "is":
        return rest[0]
    if kind == "value":
        return values[rest[0]]
    if kind == "name":
        return getattr(importlib.import_module(rest[0]), rest[1])
    if kind == "module":
        return importlib.import_module(rest[0])
    if kind == "transform":
        module, name, _, function, options = rest
        return getattr(importlib.import_module(module), name)(_made(function, values, held), _made(options, values))
    if kind == "function":
        label, defaults, keywords, *read = rest
        code, space = _CODES[label]
        cells = tuple([types.CellType(_made(part, values, held)) for part in read[1::2]])
        made = types.FunctionType(code, space, code.co_name, _made(defaults, values, held), cells)
        made.__kwdefaults__ = _made(keywords, values, held)
        return made
    parts = [_made(part, values, held) for part in rest]
    if kind == "partial":
        return functools.partial(parts[0], *parts[1], **parts[2])
    if kind == "tuple":
        return tuple(parts)
    filled: Any = dict(zip(parts[::2], parts[1::2], strict=True)) if kind == "dict" else parts
    if held is not None:
        held.append(filled)
    return filled


def _text(spec: Any) -> str:
    """A description in words, as it stands in generated source: `{0}` is the first of the values."""
    kind, *rest = spec
    if kind == "is":
        return repr(rest[0])
    if kind == "value":
        return f"{{{rest[0]}}}"
    if kind == "name":
        return f"{rest[0]}.{rest[1]}"
    if kind == "module":
        return str(rest[0])
    if kind == "transform":
        return f"gs.{rest[2]}({_text(rest[3])}, {_text(rest[4])})"
    if kind == "function":
        label, defaults, keywords, *read = rest
        cells = [f"{name}={_text(part)}" for name, part in zip(read[::2], read[1::2], strict=True)]
        for name, part in (("defaults", defaults), ("keywords", keywords)):
            cells += [] if part == ("is", None) else [f"{name}: {_text(part)}"]
        return f"{label}[{', '.join(cells)}]"
    parts = [*map(_text, rest)]
    if kind == "dict":
        parts = [f"{key}: {value}" for key, value in zip(parts[::2], parts[1::2], strict=True)]
    return f"{kind}({', '.join(parts)})"


# Descriptions by their texts, for the calls of generated source.
_SPECS: dict[str, tuple[str, Any]] = {}


def _call_text(path: str, spec: Any) -> str:
    """The text that stands for a call in generated source."""
    _, args, options = spec
    words = [*map(_text, args[1:])]
    words += [f"{key[1]}={_text(value)}" for key, value in zip(options[1::2], options[2::2], strict=True)]
    text = f"scipy.{path}({', '.join(words)})"
    _SPECS[text] = path, spec
    return text


def _recorded(driver: Driver, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The results of a call, with calls of this module written down; None, after saying why, where that cannot be."""
    description = _Description()
    why = None
    try:
        spec = description.of((args, kwargs))
    except _Undescribed as error:
        why = str(error)
    if why is None and in_loop():
        why = "stands within a loop"
    if why is not None:
        refuse(f"calls scipy.{driver.path}, which {why}")
        return None
    solved: list[Any] = []
    given = inspect.signature(driver.real).bind(*args, **kwargs).arguments
    fn = scipy_steps if driver.steps(given) else scipy_solution
    results = _Solution.apply(fn, _call_text(driver.path, spec), solved, *description.values)
    results = results if isinstance(results, tuple) else (results,)
    found, stored = solved
    if stored:
        refuse(f"calls scipy.{driver.path} of a function that stores what it computes")
        return None
    made = found.give(results)
    if made is results[0]:
        return made
    if type(made) is tuple:
        if len(made) == len(results) and all(a is b for a, b in zip(made, results, strict=True)):
            return made
        refuse(f"calls scipy.{driver.path} with full_output")
        return None
    return _Reading(made, driver.path, results)


class _Reading:
    """A result of SciPy's in a capture, of which what is differentiated may be read."""

    def __init__(self, result: Any, path: str, traced: tuple[Any, ...]) -> None:
        self.__dict__["_of"] = (result, path, traced)

    def __getattr__(self, name: str) -> Any:
        result, path, traced = self.__dict__["_of"]
        value = getattr(result, name)
        if all(value is not t for t in traced):
            refuse(f"reads `{name}` of the result of scipy.{path}")
        return value

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


def _results(text: str, values: Any) -> Solved:
    path, spec = _SPECS[text]
    args, kwargs = _made(spec, values)
    return drivers[path].eager(args, kwargs)


def _watched(text: str, values: Any) -> tuple[Solved, bool]:
    """The results, and whether the user's function stored into something that it was handed."""
    path, spec = _SPECS[text]
    held: list[Any] = [v for v in values if isinstance(v, np.ndarray)]
    args, kwargs = _made(spec, values, held)
    before = [x.copy() for x in held]
    found = drivers[path].eager(args, kwargs)
    return found, not all(_stayed(a, b) for a, b in zip(before, held, strict=True))


def _stayed(before: Any, now: Any) -> bool:
    if isinstance(now, np.ndarray):
        return same(before, now)
    items = [(x.items() if isinstance(x, dict) else enumerate(x)) for x in (before, now)]
    return len(before) == len(now) and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(*items, strict=True))


def scipy_solution(call: str, values: Any) -> Any:
    """What a function of SciPy gives, as generated source calls it: the results that may be differentiated.

    `call` is the call in words, in which `{0}` is the first of the values: the user's function, called as it is, with those that
    it closes over.
    """
    with grad_mode(False):
        found = _results(call, values).results
    return found if len(found) > 1 else found[0]


def scipy_steps(call: str, values: Any) -> Any:
    """As `scipy_solution`, where SciPy chooses how many results there are: their number is a guard."""
    return scipy_solution(call, values)


def scipy_adjoint(call: str, chain: Any, given: Any) -> Any:
    """The cotangents of what `chain` says, of plain arrays: the derivative of `scipy_solution`, or of itself.

    `given` has the cotangents of the results, the results, and the values; for each further derivative, the cotangents of
    those before it.
    """
    found = _level(call, chain)(*given)
    return found if len(found) > 1 else found[0]


def _level(call: str, chain: Any) -> Callable[..., tuple[Any, ...]]:
    """The function that the derivatives in `chain` lead to: for each how many results it has, and the places of what moves."""
    if not chain:
        return lambda *values: _results(call, values).results
    count, places = chain[-1]
    inner = _level(call, chain[:-1])

    def back(*given: Any) -> tuple[Any, ...]:
        first = len(chain) == 1  # whose results are known, to be compared
        gs, outs, rest = given[:count], given[count : 2 * count], given[2 * count if first else count :]

        def of(*moved: Any) -> tuple[Any, ...]:
            passed = list(rest)
            for k, x in zip(places, moved, strict=True):
                passed[k] = x
            return inner(*passed)

        value, pullback = vjp(of, *[rest[k] for k in places])
        if first and not all(same(_plain(a), _plain(b)) for a, b in zip(value, outs, strict=True)):
            raise changed(_SPECS[call][0])
        return tuple(pullback(gs))

    return back


def _plain(x: Any) -> Any:
    return x._value if isinstance(x, Operand) else x


def _call(fn: Callable[..., Any], run: Callable[[], Any], *given: Any) -> tuple[Any, ...]:
    """The results of a function of this module, as a call in the graph."""
    with recording(None), grad_mode(False):
        found = run()
    results = tuple([wrap(x) for x in (found if type(found) is tuple else (found,))])
    op = called_by_name(fn, len(results), BY_VALUE if fn is scipy_steps else UNKNOWN)
    assert isinstance(op, Op)
    called(op, op.bind(*given), results)
    return results


def _keep(ctx: Any, given: Any) -> None:
    ctx.save_for_backward(*[x for x in given if isinstance(x, Operand)])
    ctx.constants = [None if isinstance(x, Operand) else x for x in given]


def _kept(ctx: Any) -> list[Any]:
    moving = list(ctx.saved_tensors)
    return [moving.pop(0) if x is None else x for x in ctx.constants]


class _Solution(Function):
    @staticmethod
    def forward(ctx: Any, fn: Any, call: str, solved: Any, *given: Any) -> Any:
        """Return the results that SciPy gives."""

        def run() -> Any:
            found, stored = _watched(
                call, tuple([np.copy(x) if type(x) is np.ndarray else x for x in map(_plain, given)])
            )
            solved[:] = found, stored
            return found.results if len(found.results) > 1 else found.results[0]

        results = _call(fn, run, call, tuple(given))
        _keep(ctx, (*results, *given))
        ctx.call, ctx.count = call, len(results)
        return results if len(results) > 1 else results[0]

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> tuple[Any, ...]:
        """The cotangents of what is differentiated."""
        asked = ctx.needs_input_grad[3:]
        places = tuple([k for k, needed in enumerate(asked) if needed])
        found = _pulled(ctx.call, ((ctx.count, places),), (*gs, *_kept(ctx)))
        return (None, None, None, *[found.pop(0) if needed else None for needed in asked])


class _Adjoint(Function):
    @staticmethod
    def forward(ctx: Any, call: str, chain: Any, *given: Any) -> Any:
        """The cotangents, by a call."""
        run = lambda: scipy_adjoint(call, chain, tuple(map(_plain, given)))
        results = _call(scipy_adjoint, run, call, chain, tuple(given))
        _keep(ctx, given)
        ctx.call, ctx.chain, ctx.count = call, chain, len(results)
        return results if len(results) > 1 else results[0]

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> tuple[Any, ...]:
        """The derivative of a derivative, by another call."""
        given, first = _kept(ctx), ctx.chain[0][0] if len(ctx.chain) == 1 else 0
        outs = range(first, 2 * first)  # which are there to be compared alone
        asked = [needed and k not in outs for k, needed in enumerate(ctx.needs_input_grad[2:])]
        places = tuple([k for k, needed in enumerate(asked) if needed])
        found = _pulled(ctx.call, (*ctx.chain, (ctx.count, places)), (*gs, *given))
        return (None, None, *[found.pop(0) if needed else None for needed in asked])


def _pulled(call: str, chain: Any, given: tuple[Any, ...]) -> list[Any]:
    """The cotangents by a call; one for each of many at once cannot be written down."""
    if any(levels_of(x) for x in given):
        refuse(f"takes the derivative of {call.partition('(')[0]} along many cotangents at once")
        return one_by_one(_level(call, chain), given)
    found = _Adjoint.apply(call, chain, *given)
    return list(found) if isinstance(found, tuple) else [found]
