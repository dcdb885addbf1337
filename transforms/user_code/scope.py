"""The scope: the user's function rebuilt so that each read of a global or of its closure goes through gradscribe.

In eager mode the scope puts thin namespaces in place of NumPy, SciPy, math and random and rebuilds the user's
helper functions likewise. While capturing, a *witness* (the compiler) also decides what each value that
is read becomes: an input, a guard, or the end of the capture.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import functools
import itertools
import operator
import sys
import threading
import types
import typing
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from ...runtime.registry import lookup
from ...tracer.core.closures import stored_around
from ...tracer.core.dispatch import has_tensor, stack_nested, unwrap
from ...tracer.core.libraries import (
    CUPY,
    LEFT_ALONE,
    NUMERIC,
    OURS,
    PYTHON,
    SEEN_THROUGH,
    SUPPORT,
    TAKE_NUMBERS,
    THREADS,
)
from ...tracer.core.listening import captured_scope, printed
from ...tracer.core.losses import Suppressing, caught, taking_no_tensors, telling
from ...tracer.core.site import is_generated
from ...tracer.core.tensor_base import wrap
from ...tracer.core.thread_state import LOCAL, capturing, refuse
from ...tracer.memory.survivors import (
    ORIGINALS,
    as_stored,
    is_traced_key,
    note,
    note_appended,
    note_globals,
    note_held,
    note_moved,
    remembered,
)
from ...tracer.protocols.interop import elementwise
from ...tracer.protocols.ufunc_methods import method_of
from ...tracer.tensors.tensor import Tensor as tensor_class
from ..compiler.frontend.bytecode import Hook, rewritten_bytecode, stores_through_module, telling_bytecode
from ..compiler.frontend.hooks import (
    CALLED,
    GLOBALS,
    HOOKS,
    OF_TEXT,
    OPERATORS,
    SPECIAL,
    all_code,
    cached_by_code,
    catches,
    needs_of,
    renamed,
    rewritten,
    uses_opcode,
)  # fmt: skip
from .array_makers import JOINERS, vectorized
from .casting import (
    CASTS,
    HIGHER,
    OF_SIZES,
    STORING,
    counting,
    is_threaded,
    past_cache,
    storing,
    taking_numbers,
    threaded,
)
from .drop_in import Namespace
from .namespaces import length, makes_generators, may_draw, op_of_the_user, polynomials, replacement
from .scipy_names import is_frozen

__all__ = [
    "ABSENT",
    "Path",
    "Scope",
    "Witness",
    "all_code",
    "as_it_runs",
    "is_partial",
    "is_put_in",
    "is_user_class",
    "is_user_function",
    "member",
    "original_code",
    "reader_of",
    "scope",
    "stores_outside",
    "watched",
]

_LIBRARIES = NUMERIC | CUPY | SUPPORT | OURS
_FOLLOWED = f"{__name__.split('.')[0]}.learn.optim"  # whose state and lines are part of what is compiled
_OF_CODE = 1 << 9  # the flag of a class that code has made, and not C
IN_PLACE = "__gradscribe_in_place__"  # but for its methods that bear this mark
ABSENT = object()  # what stands nowhere


class Path(tuple[Any, ...]):
    """The place of a read: ("global", dict, name), ("cell", cell, name), ("attribute", object, name), ("item", list, k),
    ("library", module, name).

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
        if kind in ("attribute", "library"):
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
    """The witness of a capture, which turns each value that is read from outside into an input, a guard, or the capture's end."""

    failed: Any  # why the capture is over, if it is
    contexts: set[types.CodeType]  # methods of Functions, which may store attributes of their `ctx`

    def instance(self, value: Any) -> Any: ...
    def owner(self, method: types.MethodType) -> Any: ...
    def partial(self, value: functools.partial[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]: ...
    def see(self, value: Any, path: Path) -> Any: ...
    def of_library(self, module: types.ModuleType, name: str, value: Any) -> None: ...
    def enter(self, function: types.FunctionType) -> None: ...
    def runs(self, codes: Iterable[types.CodeType]) -> None: ...
    def converted(self, function: types.FunctionType) -> tuple[types.CodeType, dict[str, types.CellType]]: ...


def is_user_function(value: Any) -> bool:
    """Whether a Python function is the user's: its module belongs neither to Python, NumPy, SciPy nor to us (but optimisers)."""
    return type(value) is types.FunctionType and _is_user_module(value.__module__) and not hasattr(value, IN_PLACE)


def is_partial(value: Any) -> bool:
    """Whether a value is a partial, or a subclass's that is called as one: a loss of gs.nn."""
    return isinstance(value, functools.partial) and type(value).__call__ is functools.partial.__call__


def is_cache(value: Any) -> bool:
    """Return whether a value is a function behind functools.lru_cache or functools.cache."""
    return type(value) is functools._lru_cache_wrapper


def takes_numbers(value: Any) -> bool:
    """Return whether a value is a function or class of Python's that takes plain numbers and knows no Tensors."""
    module = getattr(value, "__module__", None)
    return (
        isinstance(module, str) and module.partition(".")[0] in TAKE_NUMBERS and not isinstance(value, types.ModuleType)
    )


def is_user_class(cls: type) -> bool:
    """Whether a class is the user's, by the same measure; one made by `exec` in a namespace without a name is, too."""
    nameless = (
        cls.__module__ == "builtins" and bool(cls.__flags__ & _OF_CODE) and vars(builtins).get(cls.__name__) is not cls
    )
    return nameless or _is_user_module(cls.__module__)


def is_put_in(value: Any) -> bool:
    """Whether what a library has under a name is none of its own: a function, a class or an object of a test's."""
    if not callable(value):
        return False
    if is_partial(value) or is_user_function(getattr(value, "__func__", value)):
        return True
    name = (value if isinstance(value, type) else type(value)).__module__
    return name.startswith("unittest.") or (_is_user_module(name) and not name.startswith("_cython"))


def _is_user_module(name: str | None) -> bool:
    top = (name or "").partition(".")[0]
    if top in _LIBRARIES:
        return (name or "").startswith(_FOLLOWED)
    return top not in PYTHON


def _hashable(function: Any) -> bool:
    """Whether a function is no method of an object that has no hash, such as a list's."""
    owner = getattr(function, "__self__", None)
    return owner is None or isinstance(owner, types.ModuleType)


def _is_of_ours(function: types.FunctionType) -> bool:
    """Whether a function is code of ours, whatever module it says that it belongs to."""
    return str(function.__globals__.get("__name__")).startswith(_HOUSE)


_HOUSE = __name__.partition(".")[0] + "."


def watched(value: Any) -> Any:
    """The object behind a handle, which stands for it while capturing; ABSENT for all other values."""
    (real,) = getattr(type(value), "__gradscribe_watched__", (ABSENT,))
    return real


def member(cls: type, name: str, after: type | None = None) -> Any:
    """Return the attribute of a class or its bases without binding it; of the bases behind `after`, if given."""
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
        real = self.real
        if (
            name in real and self.owner.witness is None
        ):  # as most often: of a number, an array, a module that was seen before
            value = real[name]
            kind = type(value)
            if kind is types.ModuleType:
                seen = self.owner.known_module(value)
                if seen is not None:
                    return seen
            elif kind is np.ndarray or kind is float or kind is int:
                return value
        if name == GLOBALS:
            return real
        called = name.endswith(CALLED)
        if called:
            name = name.removesuffix(CALLED)
        value = self.real[name] if name in self.real else vars(builtins)[name]
        seen = self.owner.see(value, Path(("global", self.real, name)))
        if called:
            return self.owner.callee(seen)
        if value is builtins.globals or value is builtins.__import__:
            return self._all if value is builtins.globals else self["__builtins__"]["__import__"]
        if value is builtins.eval or value is builtins.exec:
            return functools.partial(_run_text, value, self)
        return seen

    def _all(self) -> dict[str, Any]:
        """The dict that `globals()` gives, into which the code may store."""
        note_globals(self.real)
        return self.real


def _import(
    space: _Globals, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    module: Any = builtins.__import__(name, space.real, locals, fromlist, level)
    found = module.__name__ if isinstance(module, types.ModuleType) else name  # anything can stand in sys.modules
    return space.owner.see(module, Path(("global", sys.modules, found)))


class _Names(dict[str, Any]):
    """The names that a text sees: what is local where it runs, and then the globals, through the scope."""

    def __init__(self, local: Any, space: _Globals) -> None:
        super().__init__()
        self.local, self.space = local, space

    def __getitem__(self, name: str) -> Any:
        return self.local[name] if name in self.local and self.local is not self.space.real else self.space[name]

    def __setitem__(self, name: str, value: Any) -> None:
        note(self.local)
        self.local[name] = value

    def __delitem__(self, name: str) -> None:
        del self.local[name]


def _run_text(run: Any, space: _Globals, text: Any, globals: Any = None, locals: Any = None, **options: Any) -> Any:
    """`eval` and `exec` of a user's function: names are read through the scope, functions belong to the real globals."""
    if globals is None:
        locals = dict(sys._getframe(1).f_locals) if locals is None else locals
        real = space.real
    else:
        real = globals
        locals = globals if locals is None else locals
    if type(text) not in (str, types.CodeType) or not all(type(d) is dict for d in (real, locals)):
        return run(text, real, locals, **options)
    refuse("runs a text")
    before = set(locals)
    over = _Globals(real, _eager)
    code = compile(text.lstrip(" \t"), "<string>", run.__name__, dont_inherit=True) if type(text) is str else text
    result = run(_eager.of_text(code, real), over, _Names(locals, over), **options)
    for name in set(locals) - before:
        made = locals[name]
        if type(made) is types.FunctionType and made.__globals__ is over:
            locals[name] = types.FunctionType(made.__code__, real, made.__name__, made.__defaults__, made.__closure__)
    return result


_NEW = vars(object)["__new__"]
_FUNCTIONS = (types.BuiltinFunctionType, types.FunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


def _no_one(**options: Any) -> None:
    """Nothing is told of a subclass that is there for one call."""


_LEVELS = frozenset(["debug", "info", "warning", "error", "critical", "exception", "log"])


def _logs(function: Any) -> bool:
    """Whether a function, or a method of a logger, makes a record."""
    return getattr(function, "__module__", None) == "logging" and function.__name__ in _LEVELS


def _logged(log: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a function of logging, whose records keep what they are given: text is no loss."""
    options = {k: _shown(v) for k, v in kwargs.items()}
    options["stacklevel"] = options.get("stacklevel", 1) + 1  # the record bears the user's line
    return log(*map(_shown, args), **options)


def _shown(value: Any) -> Any:
    """A value as text will show it."""
    if isinstance(value, dict):
        return {k: _shown(v) for k, v in value.items()}
    return unwrap(value)


class Kept:
    """Replacements for values of a library, so that later reads cost nothing as long as the values stay."""

    __slots__ = ("mine", "names", "read", "space", "values")

    def __init__(self, space: dict[str, Any], mine: dict[str, Any]) -> None:
        self.space, self.mine = space, mine
        self.forget()

    def forget(self) -> None:
        """Read everything anew."""
        for name in getattr(self, "names", ())[1:]:
            self.mine.pop(name, None)
            self.mine.pop(name + CALLED, None)
        self.names: tuple[str, ...] = ("__name__",)  # two at least, so that they are read as a tuple
        self.read: Callable[[dict[str, Any]], Any] = operator.itemgetter("__name__")
        self.values: Any = self.read(self.space)

    def add(self, name: str, seen: Any) -> None:
        """Let the next reads of a name take what this one has seen."""
        if name in self.space and name not in self.names:  # else the library makes it anew
            self.names += (name,)
            self.read = operator.itemgetter(*self.names)
            self.values = self.read(self.space)
            self.mine[name] = seen

    def renew(self) -> None:
        """Forget it all where something else stands there now: a test has put it there, or taken it away."""
        try:
            if self.read(self.space) == self.values:
                return
        except (KeyError, TypeError, ValueError):
            pass
        self.forget()


class ScopedModule(types.ModuleType):
    """A module seen from inside a transform: each attribute read goes through the scope, writes to the module."""

    def __init__(
        self, module: types.ModuleType, see: Callable[[Any, str], Any], keep: bool, callee: Callable[[Any], Any]
    ) -> None:
        super().__init__(module.__name__)
        mine = self.__dict__
        for name in ("__name__", "__doc__", "__package__", "__loader__", "__spec__"):
            mine.pop(name, None)
        mine["_scoped"] = (module, see, keep, callee)
        mine["_kept"] = Kept(module.__dict__, mine)

    def __getattr__(self, name: str) -> Any:
        module, see, keep, callee = self.__dict__["_scoped"]
        if name.endswith(CALLED):  # what a call of it runs
            value = callee(getattr(self, name.removesuffix(CALLED)))
            if keep and name.removesuffix(CALLED) in self.__dict__:
                self.__dict__[name] = value
            return value
        value = getattr(module, name)
        if capturing() and may_draw(value):
            refuse(f"uses `{module.__name__}.{name}`, which may draw random numbers that would not be seen")
        value = see(value, name)
        if keep:
            self.__dict__["_kept"].add(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        refuse(f"stores the module attribute {self.__dict__['_scoped'][0].__name__}.{name}")
        setattr(self.__dict__["_scoped"][0], name, value)
        self.__dict__["_kept"].renew()

    def __delattr__(self, name: str) -> None:
        refuse(f"deletes the module attribute {self.__dict__['_scoped'][0].__name__}.{name}")
        delattr(self.__dict__["_scoped"][0], name)
        self.__dict__["_kept"].renew()

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_scoped"][0])


_AS_THEY_ARE = frozenset([np.ndarray, float, int, bool, str, type(None)])  # values that nothing stands for


class Scope:
    """Rebuilds functions, each once, for eager mode or for one capture."""

    def __init__(self, witness: Witness | None = None) -> None:
        self.witness = witness
        self._functions: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()
        self._globals: dict[int, _Globals] = {}
        self._modules: dict[int, ScopedModule] = {}
        self._known: dict[int, tuple[Any, ...]] = {}  # by identity: what a function was made from, and became
        self._callees: dict[Any, Any] = {}  # what calls of functions and types of libraries run
        self._libraries: tuple[Kept, ...] = ()  # what those of libraries remember

    def see(self, value: Any, path: Path) -> Any:
        """Return the value that code in the scope gets for one read at `path`."""
        if self.witness is not None:
            return self.witness.see(value, path)
        return self.stand_in(value, path)

    def stand_in(self, value: Any, path: Path | None = None) -> Any:
        """A namespace for a module, the rebuilt form of a user's function, ours for what does not dispatch."""
        kind = type(value)
        if kind in _AS_THEY_ARE:
            return value
        if kind is types.MethodType and type(getattr(value.__func__, "__globals__", None)) is _Globals:
            return value
        if kind is types.ModuleType or isinstance(value, types.ModuleType):
            return self.module(value)
        if is_user_function(value):
            return self.rebuild(value)
        if kind in _STOOD_FOR and _is_threaded(value):
            return threaded(value, self.callee)
        if (kind is types.MethodType and is_user_function(value.__func__)) or is_partial(value):
            return self.rebuild(value)
        if self.witness is None and kind in (types.MethodType, types.FunctionType) and _logs(value):
            return functools.partial(_logged, value)
        if kind is np.vectorize:
            return vectorized(value, self.callee)
        if is_cache(value):
            return past_cache(value, self.rebuild(value.__wrapped__))
        if kind is types.MethodType and is_cache(value.__func__):
            inner = past_cache(value.__func__, self.rebuild(value.__func__.__wrapped__))
            return types.MethodType(inner, value.__self__)
        if self.witness is None and kind in _FUNCTIONS:
            if _hashable(value) and value in HIGHER:
                return HIGHER[value](value, self.callee)
            if _hashable(value) and value in STORING:
                return storing(value)
            holder = getattr(value, "__self__", None)
            if _changes(holder, value.__name__):
                note(holder)
                return value
        if kind.__module__.startswith("numpy") and polynomials().follows(kind):
            return polynomials().over(value)
        if kind is types.FunctionType and "__wrapped__" in value.__dict__ and _is_of_ours(value):
            return value  # it stands in for something already
        found = replacement(value) if callable(value) or id(value) in JOINERS or is_frozen(value) else None
        if found is not None:
            stand_in_for(value, found)
        return value if found is None else found

    def known_module(self, module: types.ModuleType) -> types.ModuleType | None:
        """The namespace of a module that has one already."""
        return self._modules.get(id(module))

    def module(self, module: types.ModuleType) -> types.ModuleType:
        """The namespace of a module; libraries that need none stay as they are."""
        if isinstance(module, ScopedModule):
            return module
        top = module.__name__.partition(".")[0]
        library = top in SEEN_THROUGH or isinstance(module, Namespace)
        if not library and (top in _LIBRARIES or top in PYTHON):
            return module
        made = self._modules.get(id(module))
        if made is None:

            def see(value: Any, name: str) -> Any:
                if isinstance(value, type) and capturing() and makes_generators(value):
                    refuse(f"uses the class {module.__name__}.{name}; np.random.default_rng(seed) is known")
                if library and not isinstance(value, types.ModuleType) and value is not super and not is_put_in(value):
                    if self.witness is not None:
                        self.witness.of_library(module, name, value)
                    if self.witness is None and type(value) in _FUNCTIONS and (value in HIGHER or value in STORING):
                        return self.stand_in(value)
                    found = replacement(value) if callable(value) or id(value) in JOINERS else None
                    if found is not None:
                        stand_in_for(value, found)
                    return value if found is None else found
                return self.see(value, Path(("attribute", module, name)))

            made = self._modules[id(module)] = ScopedModule(module, see, keep=library, callee=self.callee)
            self._libraries += (vars(made)["_kept"],) if library else ()
        return made

    def renew(self) -> None:
        """Read libraries anew that something was put into since."""
        for kept in self._libraries:
            kept.renew()

    def callee(self, value: Any) -> Any:
        """Return the function that a call of `value` runs, where `value` itself stays as an object: a cast, a class."""
        if self.witness is not None and isinstance(value, (type, types.BuiltinFunctionType)) and value in OF_SIZES:
            return counting(value, self._callee(value))
        return self._callee(value)

    def _callee(self, value: Any) -> Any:
        kind = type(value)
        if kind is types.BuiltinFunctionType and isinstance(value.__self__, _ARRAYS):
            return functools.partial(_of_array, value) if value.__name__ in _TAKING_ARRAYS else value
        if kind is types.FunctionType and type(value.__globals__) is _Globals:
            return value
        if (kind in _FUNCTIONS and _hashable(value)) or isinstance(value, type):
            found = CASTS.get(value)
            if found is not None:
                return functools.partial(_cast, value, found)
            higher = HIGHER.get(value)
            if higher is not None:
                return higher(value, self.callee)
            if issubclass(getattr(value, "__objclass__", type), _NUMBERS):
                return functools.partial(_of_tensor, value)
            if self.witness is None and value in _OVER_OBJECTS:
                return _OVER_OBJECTS[value]
        if kind is np.ufunc and (op := lookup(value)) is not None:
            return elementwise(value, op)
        if kind in _STOOD_FOR and _is_threaded(value):
            return threaded(value, self.callee)
        if takes_numbers(value):
            return taking_numbers(value)
        if self.witness is not None:
            if isinstance(value, type) and is_left_alone(value.__module__):
                refuse(f"makes a {value.__name__} of {value.__module__.partition('.')[0]}, whose code it does not see")
            return value  # what it read was seen where it was read
        if kind is types.BuiltinFunctionType and _is_foreign(value):
            ours = self.stand_in(value)
            return taking_no_tensors(value) if ours is value else ours
        if isinstance(value, type):
            return self.maker(value)
        return self.rebuild(value) if is_user_callable(value) else self.stand_in(value) if callable(value) else value

    def maker(self, cls: type) -> Any:
        """Return the maker of instances of a user's class: the class, where its `__init__` needs no scope."""
        if type(cls) is not type and is_user_class(type(cls)) and _is_special(type(cls), "__call__"):
            return types.MethodType(self.rebuild(member(type(cls), "__call__")), cls)
        if type(cls).__call__ is not type.__call__ or not is_user_class(cls) or is_left_alone(cls.__module__):
            return cls
        init: Any = member(cls, "__init__")
        new: Any = getattr(member(cls, "__new__"), "__func__", None)
        own, after = _is_special(cls, "__init__"), _is_special(cls, "__post_init__")
        if not (own or after or is_user_function(new)) or (new is None and member(cls, "__new__") is not _NEW):
            return cls

        def make(*args: Any, **kwargs: Any) -> Any:
            made: Any = object.__new__(cls) if new is None else self.rebuild(new)(cls, *args, **kwargs)
            if own and isinstance(made, cls):
                self.rebuild(init)(made, *args, **kwargs)
            elif after and isinstance(made, cls):
                self._initialised(made, init, args, kwargs)
            elif isinstance(made, cls):
                init(made, *args, **kwargs)
            return made

        return make

    def _initialised(self, made: Any, init: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Run the `__init__` that a dataclass wrote, which calls `__post_init__` by itself: here, one that is in scope."""
        cls = type(made)
        space = {
            "__slots__": (),
            "__post_init__": self.rebuild(member(cls, "__post_init__")),
            "__init_subclass__": _no_one,
        }
        as_class = functools.partial(object.__setattr__, made, "__class__")  # of a frozen one too
        as_class(type.__new__(type, cls.__name__, (cls,), space))
        try:
            init(made, *args, **kwargs)
        finally:
            as_class(cls)

    def rebuild(self, function: Any) -> Any:
        """`function` over this scope: plain functions, methods, partials and callable objects of the user."""
        known = self._known.get(id(function))
        if known is not None:
            ref, code, defaults, keywords, name, doc, own, stored, held, cells, asked = known
            if (
                ref() is function and function.__code__ is code and function.__defaults__ is defaults
                and keywords is function.__kwdefaults__ is None and function.__name__ is name and function.__doc__ is doc
                and (not cells or self._holds(cells)) and _are_there(asked)
            ):  # fmt: skip
                self._note(stored, held)
                return own
        if type(function) is types.MethodType and is_user_function(function.__func__):
            owner = function.__self__ if self.witness is None else self.witness.owner(function)
            return types.MethodType(self.rebuild(function.__func__), owner)
        if is_partial(function):
            inner, args, keywords = function.func, function.args, function.keywords
            if self.witness is not None:
                inner, args, keywords = self.witness.partial(function)
            return functools.partial(self.callee(self.rebuild(inner)), *args, **keywords)
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
        if known is not None and _alike(known[0], _made_of(function)) and _are_there(known[4]):
            self._note(*known[2:4])
            return known[1]
        if self.witness is not None:
            self.witness.enter(function)
            if self.witness.failed is not None:  # from here on it runs as in eager mode
                return _eager.rebuild(function)
        return self._rebuild(function)

    def _holds(self, cells: list[tuple[types.CellType, Any, Any, Path]]) -> bool:
        """Whether the variables of enclosing functions hold what they held, and it is still seen as what it was seen as."""
        try:
            for cell, value, seen, path in cells:
                now = cell.cell_contents
                if now is not value or self.see(value, path) is not seen:
                    return False
        except ValueError:  # not bound any more
            return False
        return True

    @staticmethod
    def _note(stored: list[types.CellType], held: list[Any]) -> None:
        """Remember what a function may store into: variables of enclosing functions, and anything where it has no source."""
        for cell in stored:
            note(cell)
        for value in held:
            note_held(value, unseen=True)

    def _hooked(
        self, function: types.FunctionType, real: dict[str, Any]
    ) -> tuple[types.CodeType, dict[str, types.CellType], list[Any], list[_Asked]]:
        """The code that runs for a function, which asks for what it calls; in eager mode with the hooks, where it needs them.

        And what it may store into unseen, where it has no source; and the modules that it asks for what a call runs.
        """
        held: list[Any] = []
        code = function.__code__
        needs = needs_of(code)
        cells: dict[str, types.CellType] = {}
        values = {chain: _value_of(chain, real) for chain in needs.chains}
        tree = needs.tree or any(not callable(values[c]) and values[c] is not ABSENT for c in needs.called)
        tree = tree or any(
            _prefix_has_code(chain, real) if len(chain) > 1 else _is_object(values[chain]) for chain in needs.chains
        )
        tree = tree or any(is_user_function(values[c]) for c in needs.chains - needs.called)  # which may be a key
        if self.witness is None and (tree or has_operators(real)) and not is_left_alone(function.__module__):
            prefixes = {chain[:k] for chain in needs.chains for k in range(1, len(chain))}
            modules = frozenset([p for p in prefixes if isinstance(_value_of(p, real), types.ModuleType)])
            made = rewritten(code, modules, has_operators(real))
            bytecode = (
                rewritten_bytecode(code, modules, has_operators(real), _HOOKS_OF_BYTECODE) if made is None else None
            )
            if made is not None:
                code, cells = made, CELLS
            elif bytecode is not None:
                code = bytecode
            else:  # nothing tells what it stores, and where
                first = {chain[:1] for chain in needs.chains}
                held = [_value_of(c, real) for c in first] + list(_contents_of(function.__closure__))
        if self.witness is not None and catches(code):  # and the compiler had no source to convert
            code = telling_bytecode(code, telling, caught) or code
            self.witness.runs(all_code(code))
        called = frozenset([c for c in needs.called if self._is_told_by_calls(c, values[c], real)])
        if called:
            code = renamed(code, called)
            if self.witness is not None:
                self.witness.runs(all_code(code))
        prefixes = {chain[:k] for chain in called for k in range(1, len(chain))}
        return code, cells, held, [(real, chain, _value_of(chain, real)) for chain in prefixes]

    def of_text(self, code: types.CodeType, real: dict[str, Any]) -> types.CodeType:
        """The code of a text that `eval` or `exec` runs, with the hooks."""
        needs = needs_of(code)
        called = frozenset([c for c in needs.called if self._is_told_by_calls(c, _value_of(c, real), real)])
        return renamed(rewritten_bytecode(code, frozenset(), True, _HOOKS_OF_BYTECODE) or code, called)

    def _is_told_by_calls(self, chain: tuple[str, ...], value: Any, real: dict[str, Any]) -> bool:
        """Whether what a call of a name runs is another thing than what its name stands for."""
        higher = type(value) is types.BuiltinFunctionType and (value in HIGHER or value in OF_SIZES)
        higher = higher and self.witness is not None
        told = (
            isinstance(value, type) or takes_numbers(value) or _is_threaded(value) or higher or is_user_callable(value)
        )
        told = told or (self.witness is None and _runs_special(value) and has_operators(real))
        told = told or (type(value) is np.ufunc and lookup(value) is not None)
        if not told or value is super:
            return False
        holders = [_value_of(chain[:k], real) for k in range(1, len(chain))]
        return all(isinstance(h, types.ModuleType) and isinstance(self.module(h), ScopedModule) for h in holders)

    def _rebuild(self, function: types.FunctionType) -> Any:
        code, operators = function.__code__, dict[str, types.CellType]()
        special = _special_opcodes(code)
        if "LOAD_BUILD_CLASS" in special and self.witness is not None:
            return function  # the body of a class reads globals past `__missing__`
        real = function.__globals__
        if isinstance(real, _Globals):
            real = real.real
        if self.witness is not None and "STORE_GLOBAL" not in special:
            code, operators = self.witness.converted(function)
        held: list[Any] = []
        asked: list[_Asked] = []
        if code is function.__code__:
            code, operators, held, asked = self._hooked(function, real)
        if "STORE_GLOBAL" in _special_opcodes(code):
            through = stores_through_module(code)
            if through is None:  # it runs over its own globals
                return function
            code = through
        space = self._globals.get(id(real))
        if space is None:
            space = self._globals[id(real)] = _Globals(real, self)
        fresh = "LOAD_BUILD_CLASS" in special
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells |= operators
        given = function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        being_built = _being_built.of
        waiting = being_built[function] = []
        try:
            if fresh:  # a dict of what the code can name, for this call; itself it finds where it is called
                space = _Globals(real, self)
                named = {n for c in all_code(code) for n in c.co_names if n in real and not _is_being_built(real[n])}
                space.update({n: space[n] for n in named})
                space["__name__"] = real.get("__name__")
            seen = [operators.get(name) or self._cell(cells[name], name) for name in code.co_freevars]
        finally:
            del being_built[function]
        renewed = [(name, new) for name, new in zip(code.co_freevars, seen, strict=True) if new is not cells[name]]
        defaults = tuple([self._default(given, k, name) for k, name in enumerate(names)]) or function.__defaults__
        own = types.FunctionType(code, space, function.__name__, defaults, tuple(seen) if seen else None)
        for cell in waiting:  # a function that reads itself, also by way of another, reads its rebuilt self
            cell.cell_contents = own
        keywords = function.__kwdefaults__
        own.__kwdefaults__ = keywords and {k: self._default(keywords, k, k) for k in keywords}
        own.__qualname__, own.__annotations__ = function.__qualname__, function.__annotations__
        own.__module__ = function.__module__
        own.__doc__ = function.__doc__
        own.__dict__ = function.__dict__  # shared, so that attributes of the function stay one
        stand_in_for(function, own)
        stored = [cells[n] for n in stores_outside(function.__code__) if n in cells]
        held = [value for value in held if value is not ABSENT]
        self._note(stored, held)
        if not (fresh or renewed) or self.witness is not None:  # what stands in a cell may change from call to call
            self._functions[function] = (_made_of(function), own, stored, held, asked)
        if not fresh and self.witness is None:
            read = [
                (cells[name], cells[name].cell_contents, new.cell_contents, Path(("cell", cells[name], name)))
                for name, new in renewed
            ]
            unfinished = waiting or any(seen is value for _, value, seen, _ in read)
            if not unfinished and not {name for name, _ in renewed} & set(stores_outside(code)):
                identity, known = id(function), self._known
                ref = weakref.ref(function, lambda _: known.pop(identity, None))
                made = (
                    function.__code__,
                    function.__defaults__,
                    function.__kwdefaults__,
                    function.__name__,
                    function.__doc__,
                )
                known[identity] = (ref, *made, own, stored, held, read, asked)
        return own

    def _default(self, place: Any, k: Any, name: str) -> Any:
        return self.see(place[k], Path(("item", place, k), words=name))

    def _cell(self, cell: types.CellType, name: str) -> types.CellType:
        try:
            value = cell.cell_contents
        except ValueError:  # not bound yet
            return cell
        if _is_being_built(value):
            later = types.CellType(value)
            _being_built.of[value].append(later)
            return later
        new = self.see(value, Path(("cell", cell, name)))
        return cell if new is value else types.CellType(new)


# Where a module was found: the globals, the names that lead to it, and the module.
_Asked = tuple[dict[str, Any], tuple[str, ...], Any]


def _are_there(asked: list[_Asked]) -> bool:
    """Whether modules are where they were: what a test has put in their place is not asked for what a call of a member runs."""
    return all(_value_of(chain, real) is module for real, chain, module in asked)


def original_code(over: Scope, code: types.CodeType) -> types.CodeType | None:
    """Return the code that the user wrote of a function within one that runs over a scope; None where that is not certain."""
    for function, (_, own, *_) in list(over._functions.items()):
        if any(c is code for c in all_code(own.__code__)):
            arguments = code.co_argcount + code.co_kwonlyargcount
            found = [
                c for c in all_code(function.__code__)
                if (c.co_name, c.co_firstlineno) == (code.co_name, code.co_firstlineno)
                and c.co_varnames[: c.co_argcount + c.co_kwonlyargcount] == code.co_varnames[:arguments]
                and set(c.co_freevars) <= set(code.co_freevars)
            ]  # fmt: skip
            if len(found) > 1:
                found = [c for c in found if _begins(c) == _begins(code)]
            return found[0] if len(found) == 1 else None
    return None


def _begins(code: types.CodeType) -> tuple[int, int]:
    """The line and column of the first thing that code computes."""
    places = [(line, column) for line, _, column, end in code.co_positions() if line and column and end]
    return min(places, default=(0, 0))


def stand_in_for(function: Any, made: Any) -> None:
    """Remember what a function of ours stands for while a transform runs: where it is stored, the user's own takes its place."""
    if type(made) is types.FunctionType and made is not function:
        ORIGINALS[made] = weakref.ref(function) if type(function) is types.FunctionType else lambda: function


def _made_of(function: types.FunctionType) -> tuple[Any, ...]:
    """Return the parts that a rebuilt function was made from; when one changes, it is made anew."""
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


def _is_being_built(value: Any) -> bool:
    return type(value) is types.FunctionType and value in _being_built.of


@cached_by_code(4096)
def _special_opcodes(code: types.CodeType) -> frozenset[str]:
    """Return the instructions of a function that need care: it stores globals, or defines a class."""
    parts = all_code(code)
    asked = {"STORE_GLOBAL": ("STORE_GLOBAL", "DELETE_GLOBAL"), "LOAD_BUILD_CLASS": ("LOAD_BUILD_CLASS",)}
    return frozenset([name for name, opcodes in asked.items() if any(uses_opcode(part, *opcodes) for part in parts)])


@cached_by_code(4096)
def stores_outside(code: types.CodeType) -> tuple[str, ...]:
    """The variables of enclosing functions that code assigns to; most code has none, and need not be looked at."""
    return stored_around(code) if code.co_freevars else ()


def is_left_alone(name: str | None) -> bool:
    """Whether the code of a module is a library's that no hooks should be put into."""
    return (name or "").partition(".")[0] in LEFT_ALONE


def _is_threaded(value: Any) -> bool:
    """Whether a function or method has another thread run a function."""
    return (getattr(value, "__module__", None) or "").partition(".")[0] in THREADS and is_threaded(value)


def is_user_callable(value: Any) -> bool:
    """Whether a value is called by code of the user's: a method, or an object of a class with `__call__`."""
    if type(value) is types.MethodType:
        return is_user_function(value.__func__) and not is_left_alone(value.__func__.__module__)
    call = getattr(type(value), "__call__", None)  # noqa: B004  # the function itself is wanted
    return is_user_function(call) and not is_left_alone(call.__module__)


def _value_of(chain: tuple[str, ...], real: dict[str, Any]) -> Any:
    """Return the value of a chain of names, as far as it leads through modules."""
    value = real[chain[0]] if chain[0] in real else vars(builtins).get(chain[0], ABSENT)
    for name in chain[1:]:
        if not isinstance(value, types.ModuleType):
            return ABSENT
        value = getattr(value, name, ABSENT)
    return value


def _contents_of(closure: tuple[types.CellType, ...] | None) -> Iterator[Any]:
    """Return the values of the variables of a closure that are bound."""
    for cell in closure or ():
        with contextlib.suppress(ValueError):
            yield cell.cell_contents


def _has_methods(value: Any) -> bool:
    """Whether a value is a type of containers, which store, or of arrays and numbers, for which a Tensor may stand."""
    return isinstance(value, type) and (value in _CONTAINERS or issubclass(value, _NUMBERS))


def _prefix_has_code(chain: tuple[str, ...], real: dict[str, Any]) -> bool:
    """Whether attributes are read of an object, behind the names of modules, that may be code of the user's."""
    for k in range(1, len(chain)):
        value = _value_of(chain[:k], real)
        if not isinstance(value, types.ModuleType):
            taking = isinstance(value, _ARRAYS) and chain[k] in _TAKING_ARRAYS
            return value is not ABSENT and (
                taking or _has_code(value) or isinstance(value, np.ufunc) or _has_methods(value)
            )
    return False


def _is_object(value: Any) -> bool:
    """Whether a value is an object of a class of the user's, whose operators may be code of theirs; or such a class."""
    if isinstance(value, type):
        return is_user_class(value) and is_user_callable(getattr(value, "__class_getitem__", None))
    return is_user_class(type(value))


_WITHOUT_CODE = (
    types.ModuleType, types.BuiltinFunctionType, types.FunctionType, np.ufunc, np.ndarray, np.generic, np.dtype, str, bytes, int,
    float, complex, type(None), tensor_class,
)  # fmt: skip


def _has_code(value: Any) -> bool:
    """Whether attributes of a value may be code of the user's, or what it computes, or store."""
    if isinstance(value, type):
        return is_user_class(value)
    return not isinstance(value, _WITHOUT_CODE)


_eager = Scope()


def _method_in_scope(holder: Any, name: str, takes_ctx: bool) -> Any:
    """A method of a custom Function (`holder` is its class) as it runs in the scope that holds now."""
    method = getattr(holder, name)
    now = scope()
    if takes_ctx and now.witness is not None and isinstance(method, types.FunctionType):
        now.witness.contexts.add(method.__code__)
    return now.see(method, Path(("attribute", holder, name)))


setattr(type(LOCAL), "method_in_scope", staticmethod(_method_in_scope))  # noqa: B010
setattr(type(LOCAL), "special", staticmethod(lambda obj, name: _special(obj, name)))  # noqa: B010


def scope() -> Scope:
    """The scope that holds now: the capture's, or the eager one."""
    captured: Scope | None = captured_scope() if capturing() else None
    if captured is not None:
        return captured
    if LOCAL.depth <= 1:  # within a transform of a transform it is what it was
        _eager.renew()
    return _eager


def as_it_runs(function: Any) -> Any:
    """A function of the user's that code of ours calls: inside a transform, rebuilt over the scope that holds now."""
    return scope().rebuild(function) if LOCAL.depth else function


def _runs_special(value: Any) -> bool:
    """Whether a value is a function of Python's that runs a special method of what it is given."""
    return type(value) is types.BuiltinFunctionType and _hashable(value) and value in _OVER_OBJECTS


_with_operators: dict[type, bool] = {}
_modules_with_operators: dict[
    int, tuple[int, bool]
] = {}  # by the identity of its globals: how many there were, and whether


def has_operators(space: dict[str, Any]) -> bool:
    """Whether a module knows a class of the user's with special methods of its own, which operators run.

    By its name, by an object of it, or by way of a module that it imports.
    """
    known = _modules_with_operators.get(id(space))
    if known is None or known[0] != len(space):
        modules = [v for v in list(space.values()) if type(v) is types.ModuleType and is_of_the_user(v)]
        spaces = [space, *[vars(m) for m in modules]]
        found = any(_knows_operators(v) for known_space in spaces for v in list(known_space.values()))
        known = _modules_with_operators[id(space)] = len(space), found
    return known[1]


def is_of_the_user(module: types.ModuleType) -> bool:
    """Whether a module is the user's own, or of a library that hooks are put into."""
    return _is_user_module(module.__name__) and not is_left_alone(module.__name__)


def _knows_operators(value: Any) -> bool:
    return _defines_operators(value if isinstance(value, type) else type(value))


def _defines_operators(cls: type) -> bool:
    if cls not in _with_operators:
        _with_operators[cls] = (
            is_user_class(cls)
            and not is_left_alone(cls.__module__)
            and (any(_is_special(cls, name) for name in SPECIAL) or any(_computes(cls, name) for name in OF_TEXT))
        )
    return _with_operators[cls]


def _computes(cls: type, name: str) -> bool:
    """Whether a special method, most of which only write or hash attributes, calls something that might be in scope."""
    return _is_special(cls, name) and any(
        len(chain) > 1 or not hasattr(builtins, chain[0]) or chain[0] in ("float", "complex")
        for chain in needs_of(member(cls, name).__code__).called
    )


def _is_special(cls: type, name: str) -> bool:
    """Whether a class has a special method that the user wrote (and not a dataclass)."""
    found = member(cls, name)
    return is_user_function(found) and not is_generated(found.__code__)


_NUMBERS = (np.ndarray, np.generic, float, complex)
_ARRAYS = (np.ndarray, np.generic)
_TAKING_ARRAYS = frozenset(  # methods of arrays that give a new one, of other arrays too
    ["dot", "clip", "take", "choose", "compress", "searchsorted", "repeat", "sum", "prod", "max", "min", "mean", "std", "var"]
)  # fmt: skip


def _of_tensor(method: Any, *args: Any, **kwargs: Any) -> Any:
    """A method that is called by its class, `np.ndarray.sum(x)`: of a Tensor its own."""
    if args and isinstance(args[0], tensor_class):
        return _method(args[0], method.__name__)(*args[1:], **kwargs)
    if args and isinstance(args[0], _ARRAYS) and method.__name__ in _TAKING_ARRAYS:
        return _of_array(getattr(args[0], method.__name__), *args[1:], **kwargs)
    return method(*args, **kwargs)


def _of_array(method: Any, *args: Any, **kwargs: Any) -> Any:
    """A method of a plain array, `A.dot(x)`: where x is a Tensor, that of a Tensor too, since the array would ask for numbers."""
    if has_tensor(args) or has_tensor(tuple(kwargs.values())):
        return getattr(wrap(method.__self__), method.__name__)(*args, **kwargs)
    return method(*args, **kwargs)


_CASTING = {float: "__float__", complex: "__complex__"}

# Builtins that run a special method of what they are given: the first of these that its class has.
_RUNNING: dict[Any, tuple[str, ...]] = {
    abs: ("__abs__",), round: ("__round__",), len: ("__len__",), length: ("__len__",), next: ("__next__",),
    reversed: ("__reversed__", "__len__", "__getitem__"),
    hash: ("__hash__",), bool: ("__bool__", "__len__"), int: ("__int__", "__index__", "__trunc__"),
    str: ("__str__", "__repr__"), repr: ("__repr__",), format: ("__format__", "__str__", "__repr__"),
    operator.abs: ("__abs__",), operator.index: ("__index__",), operator.truth: ("__bool__", "__len__"),
}  # fmt: skip


@functools.cache
def _class_in_scope(name: str, methods: tuple[str, ...]) -> type:
    """A class, named as the user's, whose special methods are those that an object of it holds, and all else the user's."""

    def run(method: str) -> Callable[..., Any]:
        return lambda self, *args: self.methods[method](*args)

    space: dict[str, Any] = {"__slots__": ("methods", "obj"), "__getattr__": lambda self, name: _read(self.obj, name)}
    return type(name, (), space | {method: run(method) for method in methods})


def _in_scope(obj: Any, names: tuple[str, ...]) -> Any:
    """An object as Python's own code gets it, which runs one of these special methods: in scope, if it is the user's."""
    if type(obj) in _AS_THEY_ARE:
        return _shown_parts(obj) if names[-1] == "__repr__" and type(obj) in (list, tuple, dict) else obj
    own = [name for name in names if member(type(obj), name) not in (ABSENT, getattr(object, name, ABSENT))]
    if not own or not _is_special(type(obj), own[0]):
        return obj
    methods = {name: method for name in own if (method := _special(obj, name)) is not None}
    return _stand_in_of(obj, methods) if methods else obj


def _stand_in_of(obj: Any, methods: dict[str, Any]) -> Any:
    """An object of a class like the user's, that has these special methods."""
    made = _class_in_scope(type(obj).__name__, tuple(methods))()
    made.methods, made.obj = methods, obj
    return made


def _shown_parts(holder: Any) -> Any:
    """A list, tuple or dict as a text shows it, which asks each part for its `__repr__`."""
    parts = list(holder.values()) if type(holder) is dict else holder
    shown = [_in_scope(v, _RUNNING[repr]) for v in parts]
    if all(map(operator.is_, parts, shown)):
        return holder
    return dict(zip(holder, shown, strict=True)) if type(holder) is dict else type(holder)(shown)


def _run_special(function: Any, names: tuple[str, ...], *args: Any, **options: Any) -> Any:
    """A builtin of an object whose special methods are in scope."""
    return function(*[_in_scope(a, names) for a in args[:1]], *args[1:], **options)


def _operate(function: Any, sign: str, *args: Any, **options: Any) -> Any:
    """A function that is an operator, whose special methods are in scope."""
    plain = options or len(args) != (2 if OPERATORS[sign][2] else 1)
    return function(*args, **options) if plain else _operator(sign, *args)


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    """`sum`, of objects whose special methods are in scope."""
    parts = list(_iterate(iterable))
    if all(_special(x, "__add__") is None and _special(x, "__radd__") is None for x in (start, *parts)):
        return sum(parts, start)
    return functools.reduce(functools.partial(_operator, "Add"), parts, start)


def _print(show: Any, *args: Any, **options: Any) -> Any:
    """`print`, of objects whose special methods are in scope."""
    return show(*[_in_scope(a, _RUNNING[str]) for a in args], **options)


_OVER_OBJECTS: dict[Any, Callable[..., Any]] = {  # functions of Python's that run special methods: what a call of each runs
    **{fn: functools.partial(_run_special, fn, names) for fn, names in _RUNNING.items()},
    **{
        plain: functools.partial(_operate, plain, sign)
        for sign, (plain, *_) in OPERATORS.items() if not sign.endswith("=")
    },
    pow: functools.partial(_operate, pow, "Pow"), sum: _sum,
    print: functools.partial(_print, printed), printed: functools.partial(_print, printed),
}  # fmt: skip


def _is_foreign(function: Any) -> bool:
    """Whether a C function is of a module, or a method of a class, that knows no Tensors: not Python's own, nor NumPy's."""
    owner = function.__self__
    if isinstance(owner, types.ModuleType) or owner is None:
        home = function.__module__
    else:
        home = (owner if isinstance(owner, type) else type(owner)).__module__
    return str(home).partition(".")[0] not in _KNOWING


_KNOWING = frozenset(
    ["builtins", "numpy", "math", "cmath", "itertools", "functools", "_functools", "operator", "_operator", "collections",
     "_collections", "heapq", "_heapq", "bisect", "_bisect", "copy", "None", *OURS]
)  # fmt: skip


def _cast(cls: Any, cast: Any, *args: Any, **options: Any) -> Any:
    """A cast, of an object of the user's by its own method, which is in scope."""
    if len(args) == 1 and not options and type(args[0]) not in _AS_THEY_ARE:
        method = _special(args[0], _CASTING.get(cls, "__float__"))
        if method is not None:
            return cast(method())
    return cast(*args, **options)


# --- the hooks of rewritten code ------------------------------------------------------------------------------------------

_AS_THEY_ARE = frozenset([float, int, bool, complex, str, bytes, type(None), np.ndarray, np.float64, list, dict, tuple, set,
                          tensor_class, slice, range])  # fmt: skip
_COMPUTED: dict[tuple[type, str], tuple[Any, Any]] = {}  # what a class has there; how it is read, None: as Python does
_UNKNOWN = (object(), None)
_MUTATORS = frozenset(
    ["append", "extend", "insert", "appendleft", "extendleft", "add", "update", "setdefault", "__setitem__", "push", "put",
     "put_nowait"]
)  # fmt: skip
_MOVING = frozenset(["pop", "remove", "reverse", "sort", "clear", "__delitem__", "__imul__"])  # methods of lists
_CHANGING = _MUTATORS | _MOVING | {"set"}  # of ContextVar
_STOOD_FOR = frozenset(
    [types.FunctionType, types.MethodType]
)  # while a transform runs, a function that is read is another one
_LOOKING_UP = frozenset(["get", "pop", "setdefault"])  # methods of dicts
_CONTAINERS = (list, dict, set, deque)


def _changes(holder: Any, name: str) -> bool:
    """Whether a method of a container stores into it, or moves what was stored."""
    if name in _MUTATORS:
        return isinstance(holder, _CONTAINERS)
    return (name in _MOVING and isinstance(holder, list)) or (name == "set" and type(holder) is contextvars.ContextVar)


def _read(obj: Any, name: str) -> Any:
    """`obj.name`, the user's code that computes it in scope."""
    cls = type(obj)
    if cls is tensor_class:
        return type(obj._value) if name == "__class__" else getattr(obj, name)
    if cls is ScopedModule:
        return getattr(obj, name)
    if cls is super:
        value = _inherited(obj, name)
        return value if type(value) in _AS_THEY_ARE else _eager.stand_in(value)
    if name in _CHANGING and _changes(obj, name):
        note(obj)
    found, compute = _COMPUTED.get((cls, name), _UNKNOWN)
    if (cls.__dict__.get(name) if compute is None else member(cls, name)) is not found:
        compute = reader_of(cls, name)
        _COMPUTED[cls, name] = cls.__dict__.get(name) if compute is None else member(cls, name), compute
    value = getattr(obj, name) if compute is None else compute(obj)
    return value if type(value) in _AS_THEY_ARE else _eager.stand_in(value)


def _inherited(above: Any, name: str) -> Any:
    """`super().name`; the user's code of a property in scope."""
    cls, obj = above.__self_class__, above.__self__
    found = ABSENT if cls is None or cls is obj else member(cls, name, above.__thisclass__)
    if isinstance(found, property) and is_user_function(found.fget) and not is_left_alone(found.fget.__module__):
        return _eager.rebuild(found.fget)(obj)
    if isinstance(found, functools.cached_property) and is_user_function(found.func):
        return _cached(found, name, obj)
    return getattr(above, name)


def reader_of(cls: type, name: str) -> Any:
    """Return the way to read an attribute that code of the user's computes: a property, a descriptor, `__getattr__`."""
    if not is_user_class(cls) or is_left_alone(cls.__module__) or issubclass(cls, types.ModuleType):
        return None
    custom = member(cls, "__getattribute__")
    if is_user_function(custom):
        return lambda obj: _eager.rebuild(custom)(obj, name)
    found = member(cls, name)
    if isinstance(found, property) and is_user_function(found.fget):
        return lambda obj: _eager.rebuild(found.fget)(obj)
    if isinstance(found, functools.cached_property) and is_user_function(found.func):
        return functools.partial(_cached, found, name)
    get = member(type(found), "__get__") if found is not ABSENT else ABSENT
    if is_user_function(get):
        return lambda obj: _eager.rebuild(get)(found, obj, type(obj))
    absent = member(cls, "__getattr__")
    if found is ABSENT and is_user_function(absent):
        return functools.partial(_absent, absent, name)
    return None


def _cached(found: Any, name: str, obj: Any) -> Any:
    """A cached property, which the object keeps as any attribute: of a traced value the number, when the transform ends."""
    if name in obj.__dict__:
        return obj.__dict__[name]
    value = obj.__dict__[name] = _eager.rebuild(found.func)(obj)
    note(obj, name)
    return value


def _absent(function: Any, name: str, obj: Any) -> Any:
    """An attribute that only `__getattr__` may know."""
    try:
        return object.__getattribute__(obj, name)
    except AttributeError:
        return _eager.rebuild(function)(obj, name)


def _method(obj: Any, name: str) -> Any:
    """Return the function that a call of `obj.name` runs."""
    cls = type(obj)
    if cls is tensor_class:
        return functools.partial(CASTS[float], obj) if name == "__float__" else getattr(obj, name)
    if cls is ScopedModule:
        return getattr(obj, name + CALLED)
    if cls is np.ufunc:
        return at_places(obj) if name == "at" else method_of(obj, name)
    if cls is str and name == "format":
        return functools.partial(_formatted, obj)
    if name in _LOOKING_UP and isinstance(obj, dict) and not is_user_class(cls):
        if name == "setdefault":
            note(obj)
        return functools.partial(_looked_up, obj, name)
    if name in _MOVING and isinstance(obj, list):
        note_moved(obj)
        if name == "sort":
            return HIGHER[sorted](obj.sort, _eager.callee)
        if not is_user_class(cls):
            return getattr(obj, name)
    if name in _MUTATORS:
        if isinstance(obj, type) and issubclass(obj, _CONTAINERS):
            return functools.partial(_stored_by_class, _call(getattr(obj, name)))
        if cls is super and isinstance(obj.__self__, _CONTAINERS):
            note(obj.__self__)
        elif isinstance(obj, _CONTAINERS):
            return _storing(obj, name)
        elif not is_user_class(cls):
            note_held(obj)
    return _call(_read(obj, name))


def at_places(ufunc: Any) -> Callable[..., None]:
    """`ufunc.at` of lists of Tensors too; an index stays what it is, since a tuple of arrays is none."""

    def at(a: Any, indices: Any, *values: Any) -> None:
        ufunc.at(a, indices, *map(stack_nested, values))

    return at


def _storing(holder: Any, name: str) -> Any:
    """A method that stores into a container which the code may not have made."""
    if name == "append" and type(holder) is list:
        note_appended(holder, len(holder))
    else:
        note(holder)
    return getattr(holder, name)


def _stored_by_class(method: Any, holder: Any, *args: Any) -> Any:
    """`list.append(holder, value)`, and its like."""
    note(holder)
    return method(holder, *args)


def _looked_up(holder: dict[Any, Any], name: str, *args: Any) -> Any:
    if args and type(args[0]) in _STOOD_FOR and args[0] not in holder:
        args = (as_stored(args[0]), *args[1:])
    found = getattr(holder, name)(*args)
    return remembered(holder, args[0], found) if args and is_traced_key(args[0]) else found


def _item(obj: Any, key: Any) -> Any:
    """`obj[key]`, the user's code that computes it in scope."""
    cls = type(obj)
    if cls is tensor_class or cls is np.ndarray:
        return obj[key]
    if cls is list or cls is tuple:
        value = obj[key]
    elif type(key) in _STOOD_FOR and isinstance(obj, dict) and key not in obj:
        value = obj[as_stored(key)]
    elif isinstance(obj, dict) and is_traced_key(key) and key in obj:
        value = remembered(obj, key, obj[key])
    elif isinstance(obj, type):
        get, generic = getattr(obj, "__class_getitem__", None), typing.cast(Any, obj)
        value = _eager.rebuild(get)(key) if is_user_callable(get) else generic[key]
    elif (method := _special(obj, "__getitem__")) is not None or (
        isinstance(obj, dict) and (method := _special(obj, "__missing__")) is not None and key not in obj
    ):
        value = method(key)
    else:
        value = obj[key]
    return value if type(value) in _AS_THEY_ARE else _eager.stand_in(value)


def _put(holder: Any, key: Any = ABSENT) -> Any:
    """`holder`, of which an item or attribute is about to be stored."""
    cls = type(holder)
    if cls is tensor_class or (cls is np.ndarray and holder.dtype != object):
        return holder
    kept = vars(holder)["_scoped"][0] if cls is ScopedModule else holder
    if key is ABSENT or cls is np.ndarray:
        note(kept)
    else:
        note(kept, key)
    if cls is not list and cls is not dict and _stores_by_code(cls, key):
        return _Storing(holder)
    return holder


def _stores_by_code(cls: type, key: Any) -> bool:
    """Whether code of the user's stores an attribute or an item of a class."""
    if not is_user_class(cls) or is_left_alone(cls.__module__):
        return False
    found = member(cls, key) if type(key) is str else ABSENT
    if isinstance(found, property):
        return is_user_function(found.fset)
    return any(_is_special(cls, name) for name in ("__setattr__", "__setitem__", "__delitem__")) or (
        found is not ABSENT and is_user_function(member(type(found), "__set__"))
    )


class _Storing:
    """The object into which an attribute or an item is stored, with the user's `__setattr__` or `__setitem__` in scope."""

    __slots__ = ("_holder",)

    def __init__(self, holder: Any) -> None:
        object.__setattr__(self, "_holder", holder)

    def __getattribute__(self, name: str) -> Any:
        return _read(object.__getattribute__(self, "_holder"), name)

    def __setattr__(self, name: str, value: Any) -> None:
        holder = object.__getattribute__(self, "_holder")
        found = member(type(holder), name)
        store = member(type(found), "__set__") if found is not ABSENT else ABSENT
        if isinstance(found, property) and is_user_function(found.fset):
            _eager.rebuild(found.fset)(holder, value)
        elif (method := _special(holder, "__setattr__")) is not None:
            method(name, value)
        elif is_user_function(store):
            _eager.rebuild(store)(found, holder, value)
        else:
            setattr(holder, name, value)

    def __getitem__(self, key: Any) -> Any:
        return _item(object.__getattribute__(self, "_holder"), key)

    def __setitem__(self, key: Any, value: Any) -> None:
        holder = object.__getattribute__(self, "_holder")
        method = _special(holder, "__setitem__")
        if method is None:
            holder[key] = value
        else:
            method(key, value)

    def __delitem__(self, key: Any) -> None:
        holder = object.__getattribute__(self, "_holder")
        method = _special(holder, "__delitem__")
        if method is None:
            del holder[key]
        else:
            method(key)


_OF_MODULES = frozenset([np.ufunc, type(np.sum), type]) - {types.FunctionType}  # what is called alike at each call


def _call(value: Any) -> Any:
    """Return the function that a call of a value runs."""
    kind = type(value)
    if kind is types.FunctionType:
        return value if type(value.__globals__) is _Globals else _eager.callee(value)
    if kind is types.MethodType:
        function = value.__func__
        return value if type(getattr(function, "__globals__", None)) is _Globals else _eager.callee(value)
    known = _eager._callees
    if kind in _OF_MODULES or (kind is types.BuiltinFunctionType and type(value.__self__) is types.ModuleType):
        found = known.get(value)
        if found is None:
            found = _eager.callee(value)
            if kind is not type or not is_user_class(value):
                known[value] = found
        return found
    return _eager.callee(value)


def _special(obj: Any, name: str) -> Any:
    """A special method of an object as the scope runs it; None where no code of the user's stands behind it."""
    cls = type(obj)
    if not is_user_class(cls) or is_left_alone(cls.__module__):
        return None
    (mirrored,) = vars(cls).get("__gradscribe_mirror__", (None,))  # of a class in a capture
    if mirrored is not None and _is_special(mirrored, name):
        found = member(cls, name)
        return types.MethodType(getattr(found, "kept", found), obj)
    return types.MethodType(_eager.rebuild(member(cls, name)), obj) if _is_special(cls, name) else None


def _operator(sign: str, *operands: Any) -> Any:
    """An operator, whose special methods are in scope."""
    plain, name, reflected = OPERATORS[sign]
    if sign == "Mod" and isinstance(operands[0], (str, bytes)):
        return operands[0] % _as_text(_shown(operands[1]))  # text is no loss
    if all(map(_AS_THEY_ARE.__contains__, map(type, operands))):
        return plain(*operands)
    if reflected == "__contains__":
        asked = _special(operands[1], reflected)
        if asked is None and type(operands[0]) in _STOOD_FOR and operands[0] not in operands[1]:
            return plain(as_stored(operands[0]), operands[1])
        return plain(*operands) if asked is None else bool(asked(operands[0])) is (sign == "In")
    if sign == "NotEq" and any(_is_unequal_by_equal(type(x)) for x in operands):
        return not _operator("Eq", *operands)
    method = _special(operands[0], name)
    if len(operands) == 1:
        return plain(*operands) if method is None else method()
    x, y = operands
    if sign.endswith("="):
        if method is not None and (found := method(y)) is not NotImplemented:
            return found
        return plain(x, y) if method is None and member(type(x), name) is not ABSENT else _operator(sign[:-1], x, y)
    other = _special(y, reflected)
    tried: list[Any] = (
        [(method, y)] if type(x) is type(y) and not sign.endswith(("t", "q", "E")) else [(method, y), (other, x)]
    )
    if type(x) is not type(y) and issubclass(type(y), type(x)):
        tried.reverse()
    for special, operand in tried:
        if special is not None and (found := special(operand)) is not NotImplemented:
            return found
    return plain(x, y)


def _is_unequal_by_equal(cls: type) -> bool:
    """Whether `!=` of a class of the user's is what its `==` is not."""
    return is_user_class(cls) and member(cls, "__ne__") is object.__ne__ and _is_special(cls, "__eq__")


def _iterate(obj: Any) -> Any:
    """Return the iterable of a loop, with its `__iter__` and `__next__` in scope."""
    if type(obj) in _AS_THEY_ARE:
        return obj
    begin = _special(obj, "__iter__")
    if begin is None and (item := _special(obj, "__getitem__")) is not None and member(type(obj), "__iter__") is ABSENT:
        return iter(_steps(map(item, itertools.count()).__next__))
    found = obj if begin is None else begin()
    step = _special(found, "__next__")
    return found if step is None else _steps(step)


def _steps(step: Any) -> Any:
    while True:
        try:
            item = step()
        except (StopIteration, IndexError) as error:
            if isinstance(error, IndexError) and type(getattr(step, "__self__", None)) is not map:
                raise
            return
        yield item


def _seen(obj: Any, by: str) -> Any:
    """An object whose truth is asked for, or that a text shows, with its special methods in scope."""
    return _in_scope(obj, _RUNNING[vars(builtins)[by]])


def _formatted(text: str, *args: Any, **options: Any) -> str:
    """`text.format(...)`."""
    return text.format(*[_seen(a, "format") for a in args], **{k: _seen(v, "format") for k, v in options.items()})


def _as_text(values: Any) -> Any:
    """Return the values that `%` puts into a text, with special methods in scope."""
    if type(values) is tuple:
        return tuple(map(_numbered, values))
    return values if hasattr(type(values), "__getitem__") else _numbered(values)  # of a mapping its items are shown


def _numbered(obj: Any) -> Any:
    """What `%s` or `%f` shows: an object of the user's is asked for its text, or for its number."""
    numbers = {name: _special(obj, name) for name in ("__float__", "__int__", "__index__")}
    if not any(numbers.values()):
        return _seen(obj, "str")
    methods = {name: functools.partial(_plain_number, method) for name, method in numbers.items() if method is not None}
    shown = {
        name: functools.partial(text, _seen(obj, text.__name__))
        for name, text in (("__str__", str), ("__repr__", repr))
    }
    return _stand_in_of(obj, methods | shown)


def _plain_number(method: Any) -> Any:
    return unwrap(method())


class _Entered:
    """A context manager of the user's, whose methods are in scope."""

    def __init__(self, manager: Any) -> None:
        self.enter, self.exit = _special(manager, "__enter__"), _special(manager, "__exit__") or manager.__exit__

    def __enter__(self) -> Any:
        return self.enter()

    def __exit__(self, *error: Any) -> Any:
        return self.exit(*error)


def _enter(manager: Any) -> Any:
    """Return the context manager of a `with`, with its methods in scope."""
    return telling(manager) if _special(manager, "__enter__") is None else Suppressing(_Entered(manager))


def _grow(holder: Any, value: Any) -> Any:
    """Return the right side of an operator in place; `holder` may be an object that the code has not made."""
    if isinstance(holder, _CONTAINERS):
        note(holder)
    return value


def _own(value: Any, alone: tuple[int, int]) -> Any:
    """Return what is about to be a variable that the code stores into: an array that nobody else holds, as a Tensor.

    So that it takes traced numbers, which an array cannot. Whoever else held its memory would not see them. `alone` has the
    references that there are to an array that nobody holds, and to its base.
    """
    if type(value) is not np.ndarray or value.dtype.kind not in "fc" or sys.getrefcount(value) > alone[0]:
        return value
    base = value.base
    owned = base is None or (type(base) is np.ndarray and base.base is None and sys.getrefcount(base) <= alone[1])
    return wrap(value) if owned else value


def _counted(value: Any, counts: list[tuple[int, int]]) -> None:
    base = value.base
    counts.append((sys.getrefcount(value), sys.getrefcount(base)))


def _owning(call: Callable[[Callable[[Any], Any]], Any]) -> Callable[[Any], Any]:
    """Return the hook that owns arrays, for code that calls a hook as `call` does with an array that nobody holds."""
    counts: list[tuple[int, int]] = []
    call(lambda value: _counted(value, counts))
    return lambda value: _own(value, counts[0])


_HOOKS = (
    _read, _method, _call, _item, _put, _grow, _operator, _iterate, _enter, _seen, caught,
    _owning(lambda hook: hook(np.empty(2)[:1])),
)  # fmt: skip
_HOOKS_OF_BYTECODE = (*_HOOKS[:-1], _owning(lambda hook: Hook(hook) @ np.empty(2)[:1]))
CELLS = {
    n: types.CellType(hook) for n, hook in zip(HOOKS, _HOOKS, strict=True)
}  # what stands in rewritten code's free variables
