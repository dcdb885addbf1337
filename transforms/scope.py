"""The user's function rebuilt over a scope: its globals and closure seen through us, read by read.

In eager mode the scope puts thin namespaces in place of NumPy, SciPy, math and random and rebuilds the user's
helper functions likewise. While capturing, a *witness* (the compiler) also decides what each value that
is read becomes: an input, a guard, or the end of the capture.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import threading
import types
import weakref
from typing import Any, Protocol

import numpy as np

from ..runtime.registry import lookup
from ..tracer.modes import LOCAL
from .array_makers import JOINERS, vectorized
from .drop_in import Namespace
from .globals_rewrite import through_module
from .namespaces import ScopedModule, makes_generators, op_of_the_user, replacement

__all__ = [
    "ABSENT",
    "Path",
    "Scope",
    "Witness",
    "as_it_runs",
    "is_partial",
    "is_user_class",
    "is_user_function",
    "member",
    "scope",
    "watched",
]

_LIBRARIES = frozenset(["numpy", "scipy", "gradscribe", "optree", "gast", "astunparse", __name__.split(".")[0]])
_FOLLOWED = f"{__name__.split('.')[0]}.learn.optim"  # whose state and lines are part of what is compiled
IN_PLACE = "__gradscribe_in_place__"  # but for its methods that bear this mark
_NAMESPACES = frozenset(["numpy", "scipy", "math", "random"])
ABSENT = object()  # what stands nowhere


class Path(tuple[Any, ...]):
    """Where a value was read: ("global", dict, name), ("cell", cell, name), ("attribute", object, name), ("item", list, k).

    Of what stands there, also: ("id", path, ""), its identity; ("keys", container, ""); ("defined", definitions, ""),
    whether a class is as it was; ("method", object, name), the function that a bound method has;
    ("member", (class, after), name), found in the classes behind `after`; and ("absent", object, name), that it has no
    such attribute. `words` is how the user's code says it, `self.w`.
    """

    parent: Path | None
    words: str

    def __new__(cls, parts: tuple[Any, ...], words: str = "", parent: Path | None = None) -> Path:
        self = super().__new__(cls, parts)
        self.parent = parts[1] if parts[0] == "id" else parent
        self.words = words or (self.parent.words if self.parent is not None else str(parts[2]))
        return self

    @property
    def name(self) -> str:
        """The name that the user's code uses, or one made from it: `w` for `self.w`, `layers_0` for `self.layers[0]`."""
        name = str(self[2])
        if self[0] != "item" or name.isidentifier():
            return name
        if self.words.isidentifier():
            return self.words
        return f"{'part' if self.parent is None else self.parent.name}_{name if name.isdecimal() else 'part'}"

    def read(self) -> Any:
        """The value that stands there now."""
        kind, holder, name = self
        if kind == "attribute":
            return getattr(holder, name)
        if kind == "global":
            return holder[name] if name in holder else vars(builtins)[name]
        if kind == "cell":
            return holder.cell_contents
        if kind == "item":
            return holder[name]
        if kind == "id":
            return holder.read()
        if kind == "keys":
            return tuple(holder) if isinstance(holder, (dict, set, frozenset)) else tuple(range(len(holder)))
        if kind == "method":
            return getattr(holder, name).__func__
        if kind == "defined":
            return holder.hold()
        return member(holder[0], name, holder[1]) if kind == "member" else not hasattr(holder, name)

    def __hash__(self) -> int:
        return hash((self[0], id(self[1]), self[2]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self[0] == other[0] and self[1] is other[1] and self[2] == other[2]


class Witness(Protocol):
    """Who decides, while capturing, what a value read from outside becomes."""

    contexts: set[types.CodeType]  # methods of Functions, which may store attributes of their `ctx`

    def instance(self, value: Any) -> Any: ...
    def partial(self, value: functools.partial[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]: ...
    def see(self, value: Any, path: Path) -> Any: ...
    def enter(self, function: types.FunctionType) -> None: ...
    def converted(self, function: types.FunctionType) -> tuple[types.CodeType, dict[str, types.CellType]]: ...


def is_user_function(value: Any) -> bool:
    """Whether a Python function is the user's: its module belongs neither to Python, NumPy, SciPy nor to us (but optimisers)."""
    return type(value) is types.FunctionType and _is_user_module(value.__module__) and not hasattr(value, IN_PLACE)


def is_partial(value: Any) -> bool:
    """Whether a value is a partial, or a subclass's that is called as one: a loss of gs.nn."""
    return isinstance(value, functools.partial) and type(value).__call__ is functools.partial.__call__


def is_user_class(cls: type) -> bool:
    """Whether a class is the user's, by the same measure."""
    return _is_user_module(cls.__module__)


def _is_user_module(name: str | None) -> bool:
    top = (name or "").partition(".")[0]
    if top in _LIBRARIES:
        return (name or "").startswith(_FOLLOWED)
    return top not in sys.stdlib_module_names or top == "__main__"


def watched(value: Any) -> Any:
    """The object behind a handle, which stands for it while capturing; ABSENT for all other values."""
    (real,) = getattr(type(value), "__gradscribe_watched__", (ABSENT,))
    return real


def member(cls: type, name: str, after: type | None = None) -> Any:
    """What a class or its bases have under a name, as it stands there; of the bases behind `after`, if given."""
    classes = cls.__mro__ if after is None else cls.__mro__[cls.__mro__.index(after) + 1 :]
    return next((vars(owner)[name] for owner in classes if name in vars(owner)), ABSENT)


class _Globals(dict[str, Any]):
    """A function's globals: always empty but for `__builtins__`, so that each read arrives at `__missing__`."""

    def __init__(self, real: dict[str, Any], owner: Scope) -> None:
        super().__init__()
        self.real = real
        self.owner = owner
        space = dict(vars(builtins))
        space["__import__"] = functools.partial(_import, self)
        self["__builtins__"] = space

    def __missing__(self, name: str) -> Any:
        if name == "__gradscribe_globals__":
            return self.real
        value = self.real[name] if name in self.real else vars(builtins)[name]
        seen = self.owner.see(value, Path(("global", self.real, name)))
        if value is builtins.globals or value is builtins.__import__:
            return (lambda: self.real) if value is builtins.globals else self["__builtins__"]["__import__"]
        if value is builtins.eval or value is builtins.exec:
            return functools.partial(_run_text, value, self.real)
        return seen


def _import(
    space: _Globals, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    module: Any = builtins.__import__(name, space.real, locals, fromlist, level)
    found = module.__name__ if isinstance(module, types.ModuleType) else name  # anything can stand in sys.modules
    return space.owner.see(module, Path(("global", sys.modules, found)))


def _run_text(run: Any, real: dict[str, Any], text: Any, globals: Any = None, locals: Any = None) -> Any:
    """`eval` and `exec` of a user's function: over its own globals and what is local where they are called."""
    if globals is None:
        globals, locals = real, dict(sys._getframe(1).f_locals) if locals is None else locals
    return run(text, globals, locals)


class Scope:
    """Rebuilds functions, each once, for eager mode or for one capture."""

    def __init__(self, witness: Witness | None = None) -> None:
        self.witness = witness
        self._functions: weakref.WeakKeyDictionary[Any, tuple[Any, Any]] = weakref.WeakKeyDictionary()
        self._globals: dict[int, _Globals] = {}
        self._modules: dict[int, ScopedModule] = {}

    def see(self, value: Any, path: Path) -> Any:
        """What code in the scope gets for a value read at `path`."""
        if self.witness is not None:
            return self.witness.see(value, path)
        return self.stand_in(value, path)

    def stand_in(self, value: Any, path: Path | None = None) -> Any:
        """A namespace for a module, the rebuilt form of a user's function, ours for what does not dispatch."""
        kind = type(value)
        if kind is np.ndarray or kind is float or kind is int:
            return value
        if kind is types.ModuleType or isinstance(value, types.ModuleType):
            return self.module(value)
        if is_user_function(value):
            return self.rebuild(value)
        if (kind is types.MethodType and is_user_function(value.__func__)) or is_partial(value):
            return self.rebuild(value)
        if kind is np.vectorize:
            return vectorized(value, self.rebuild)
        found = replacement(value) if callable(value) or id(value) in JOINERS else None
        return value if found is None else found

    def module(self, module: types.ModuleType) -> types.ModuleType:
        """The namespace of a module; libraries that need none stay as they are."""
        if isinstance(module, ScopedModule):
            return module
        top = module.__name__.partition(".")[0]
        library = top in _NAMESPACES or isinstance(module, Namespace)
        if not library and (top in _LIBRARIES or top in sys.stdlib_module_names):
            return module
        made = self._modules.get(id(module))
        if made is None:

            def see(value: Any, name: str) -> Any:
                if isinstance(value, type) and LOCAL.recorder is not None and makes_generators(value):
                    LOCAL.recorder.fail(
                        f"uses the class {module.__name__}.{name}; np.random.default_rng(seed) is known"
                    )
                if library and not isinstance(value, types.ModuleType):
                    found = replacement(value) if callable(value) or id(value) in JOINERS else None
                    return value if found is None else found
                return self.see(value, Path(("attribute", module, name)))

            made = self._modules[id(module)] = ScopedModule(module, see, keep=library)
        return made

    def rebuild(self, function: Any) -> Any:
        """`function` over this scope: plain functions, methods, partials and callable objects of the user."""
        if type(function) is types.MethodType and is_user_function(function.__func__):
            owner = function.__self__ if self.witness is None else self.witness.instance(function.__self__)
            return types.MethodType(self.rebuild(function.__func__), owner)
        if is_partial(function):
            inner, args, keywords = function.func, function.args, function.keywords
            if self.witness is not None:
                inner, args, keywords = self.witness.partial(function)
            return functools.partial(self.rebuild(inner), *args, **keywords)
        if type(function) is not types.FunctionType:
            if self.witness is not None and watched(handle := self.witness.instance(function)) is not ABSENT:
                return handle  # its call is one of its special methods
            call = getattr(type(function), "__call__", None)  # noqa: B004  # the function itself is wanted
            if is_user_function(call):
                return types.MethodType(self.rebuild(call), function)
            return self.stand_in(function)
        if isinstance(function.__globals__, _Globals) and function.__globals__.owner is self:
            return function  # defined inside a function that runs in this scope
        if not is_user_function(function):
            return self.stand_in(function)
        if lookup(function) is not None:
            return op_of_the_user(function)
        known = self._functions.get(function)
        if known is not None and _alike(known[0], _made_of(function)):
            return known[1]
        if self.witness is not None:
            self.witness.enter(function)
        return self._rebuild(function)

    def _rebuild(self, function: types.FunctionType) -> Any:
        code, operators = function.__code__, dict[str, types.CellType]()
        special = _special_opcodes(code)
        if "LOAD_BUILD_CLASS" in special and self.witness is not None:
            return function  # the body of a class reads globals past `__missing__`
        if "STORE_GLOBAL" in special:
            rewritten = through_module(function)
            if rewritten is None:  # no source: it runs over its own globals
                return function
            code = rewritten
        elif self.witness is not None:
            code, operators = self.witness.converted(function)
        real = function.__globals__
        if isinstance(real, _Globals):
            real = real.real
        space = self._globals.get(id(real))
        if space is None:
            space = self._globals[id(real)] = _Globals(real, self)
        fresh = "LOAD_BUILD_CLASS" in special
        if fresh:  # a dict of what the code can name, for this call
            space = _Globals(real, self)
            space.update({n: space[n] for n in {n for c in all_code(code) for n in c.co_names} if n in real})
            space["__name__"] = real.get("__name__")
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells |= operators
        given = function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        being_built = _being_built.of
        waiting = being_built[function] = []
        try:
            seen = [operators.get(name) or self._cell(cells[name], name) for name in code.co_freevars]
        finally:
            del being_built[function]
        fresh = fresh or any(new is not cells[name] for new, name in zip(seen, code.co_freevars, strict=True))
        defaults = tuple([self._default(given, k, name) for k, name in enumerate(names)]) or function.__defaults__
        own = types.FunctionType(code, space, function.__name__, defaults, tuple(seen) if seen else None)
        for cell in waiting:  # a function that reads itself, also by way of another, reads its rebuilt self
            cell.cell_contents = own
        keywords = function.__kwdefaults__
        own.__kwdefaults__ = keywords and {k: self._default(keywords, k, k) for k in keywords}
        own.__qualname__ = function.__qualname__
        own.__module__ = function.__module__
        own.__doc__ = function.__doc__
        own.__dict__ = function.__dict__  # shared, so that attributes of the function stay one
        if not fresh or self.witness is not None:  # what stands in a cell may change from call to call
            self._functions[function] = (_made_of(function), own)
        return own

    def _default(self, place: Any, k: Any, name: str) -> Any:
        return self.see(place[k], Path(("item", place, k), words=name))

    def _cell(self, cell: types.CellType, name: str) -> types.CellType:
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            return cell
        if type(value) is types.FunctionType and value in _being_built.of:
            later = types.CellType(value)
            _being_built.of[value].append(later)
            return later
        new = self.see(value, Path(("cell", cell, name)))
        return cell if new is value else types.CellType(new)


def _made_of(function: types.FunctionType) -> tuple[Any, ...]:
    """What a rebuilt function was made from, and is made anew when it changes."""
    named = (function.__code__, function.__defaults__, function.__name__, function.__doc__)
    return (*named, *(function.__kwdefaults__ or {}).items())


def _alike(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    if len(before) != len(now) or any(a is not b for a, b in zip(before[:4], now[:4], strict=True)):
        return False
    return all(a[0] == b[0] and a[1] is b[1] for a, b in zip(before[4:], now[4:], strict=True))


class _BeingBuilt(threading.local):
    """The functions whose rebuilding has begun in this thread, each with the cells that wait for it."""

    def __init__(self) -> None:
        self.of: dict[Any, list[types.CellType]] = {}


_being_built = _BeingBuilt()


@functools.lru_cache(maxsize=4096)
def _special_opcodes(code: types.CodeType) -> frozenset[str]:
    """Which of the instructions that need care stand in a function: it stores globals, or defines a class."""
    names = {i.opname for c in all_code(code) for i in dis.get_instructions(c)}
    names = {"STORE_GLOBAL" if n == "DELETE_GLOBAL" else n for n in names}
    return frozenset(names & {"STORE_GLOBAL", "LOAD_BUILD_CLASS"})


def all_code(code: types.CodeType) -> list[types.CodeType]:
    """A code object and those of the functions defined in it."""
    found = [code]
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found.extend(all_code(const))
    return found


_eager = Scope()


def _method_in_scope(holder: Any, name: str, takes_ctx: bool) -> Any:
    """A method of a custom Function (`holder` is its class) as it runs in the scope that holds now."""
    method = getattr(holder, name)
    now = scope()
    if takes_ctx and now.witness is not None and isinstance(method, types.FunctionType):
        now.witness.contexts.add(method.__code__)
    return now.see(method, Path(("attribute", holder, name)))


setattr(type(LOCAL), "method_in_scope", staticmethod(_method_in_scope))  # noqa: B010


def scope() -> Scope:
    """The scope that holds now: the capture's, or the eager one."""
    captured = getattr(LOCAL.recorder, "scope", None)
    return _eager if captured is None else captured


def as_it_runs(function: Any) -> Any:
    """A function of the user's that code of ours calls: inside a transform, rebuilt over the scope that holds now."""
    return scope().rebuild(function) if LOCAL.depth else function
