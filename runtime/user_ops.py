"""gs.op and gs.rule: ops and rules of the user's. Signatures are read from the function, which itself takes Tensors."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

from ..unpatched import np
from . import registry
from .memory import MAY, NEW
from .ops import Kind, Op
from .registry import lookup
from .result_types import LENGTHS, UNKNOWN, TypesFact

__all__ = [
    "USERS",
    "called_by_name",
    "home_of",
    "is_users",
    "op",
    "rule",
    "takes_tensors",
    "taking_tensors",
    "text_name",
]

USERS: dict[str, Callable[..., Any]] = {}  # functions of users that are ops and no ufuncs, by their paths

_EXAMPLE = 'state it: gs.op({name}, "x, y, axis=None"), then gs.rule({name}, x=lambda g, x, y: ...)'


def op(fn: Callable[..., Any], signature: str | None = None, kind: Kind | None = None, **options: Any) -> Op:
    """Make `fn` an op: a function that NumPy arrays go into and come out of, and that `gs.rule` gives a derivative.

    `signature` names the arguments (`"x, axis=None"`, `"[xs], axis=0"` for one that is a sequence of arrays, `"*xs"`); left
    out, it is read from the function, and a ufunc's arguments are x, y, z. `kind` says what sort of map it is: left out,
    `gs.Kind.elementwise` for a ufunc, else `gs.Kind.opaque`, which promises nothing. `n_out` is the number of results (None:
    it depends on the arguments). `types` is a function of the arguments that it names: it gets arrays whose types alone mean
    something, and gives an array of the type of the result. Raises TypeError where the function does not tell its signature
    (some C extensions).

    >>> import numpy as np, gradscribe as gs
    >>> gs.op(np.trim_zeros, "filt, trim='fb'")
    <op np.trim_zeros(filt, trim='fb')>
    """
    if not callable(fn):
        raise TypeError(f"gs.op takes a function, not {type(fn).__name__}: {fn!r}")
    if signature is not None and not isinstance(signature, str):
        raise TypeError(f"gs.op takes the signature as text, such as {'x, y, axis=None'!r}, not {signature!r}")
    lookup(fn)  # what we have of it ourselves is registered before, and not after
    if isinstance(fn, np.ufunc):
        options.setdefault("n_out", fn.nout)
    if kind is None:
        kind = Kind.elementwise if isinstance(fn, np.ufunc) and fn.signature is None else Kind.opaque
    if not isinstance(fn, np.ufunc) and not is_numpys(fn):
        home = getattr(fn, "__module__", None) or "__main__"  # ops of ours have no module before their names
        options.setdefault("path", f"{home}.{fn.__name__}")
        options.setdefault("may_raise", True)
    options["memory"] = NEW if isinstance(fn, np.ufunc) else MAY  # nobody has looked into it
    known = isinstance(fn, np.ufunc) and "O" not in fn.types[0]
    options.setdefault("types", LENGTHS if known else UNKNOWN)  # a function of the user's does not run unasked
    made = registry.op(fn, signature_of(fn) if signature is None else signature, kind, **options)
    made.params  # noqa: B018  # a signature that cannot be read is said here
    if not isinstance(fn, np.ufunc) and not is_numpys(fn):
        USERS[made.path] = fn
    return made


def is_users(found: Op) -> bool:
    """Whether an op is a function of the user's: one of ours may be called as it is."""
    return found.path in USERS and USERS[found.path] is found.fn


def called_by_name(fn: Callable[..., Any], n_out: int, types: TypesFact = UNKNOWN) -> Op | str:
    """An op without a rule, that generated source calls a function of the user's by; why there is none, in words.

    It is not in the table: whoever calls the function says how it is differentiated. Lengths of its results are guards where
    `types` is BY_VALUE.
    """
    if (fn, n_out) in _named:
        return _named[fn, n_out]
    home = _home(fn)
    if home is None:
        return "that no module has under that name, to import it from"
    try:
        made = Op(
            fn, signature_of(fn), Kind.opaque, path=f"{home}.{fn.__name__}", n_out=n_out, may_raise=True, types=types
        )
        made.params  # noqa: B018  # a signature that cannot be read is said here
    except (TypeError, SyntaxError):
        return "whose arguments an op cannot have"
    USERS[made.path] = fn
    return _named.setdefault((fn, n_out), made)


_named: dict[tuple[Any, int], Op] = {}


def home_of(path: str) -> str | None:
    """The module from which generated source imports a function of the user's; None where it is not found under its name."""
    return _home(USERS[path])


def _home(fn: Any) -> str | None:
    home, name = getattr(fn, "__module__", None) or "", getattr(fn, "__name__", "")
    found = getattr(sys.modules.get(home), name, None)
    named = all(map(str.isidentifier, [*home.split("."), name]))
    return home if named and fn in (found, getattr(found, "__wrapped__", None)) else None


def text_name(path: str) -> str:
    """Return the name of a user's function in generated source: one that no variable is likely to have."""
    name = USERS[path].__name__
    alone = [fn.__name__ for fn in USERS.values()].count(name) == 1
    return f"{name if alone else path.replace('.', '_')}_op"


def is_numpys(fn: Any) -> bool:
    """Whether a function belongs to NumPy."""
    return (getattr(fn, "__module__", None) or "").partition(".")[0] == "numpy"


def signature_of(fn: Any) -> str:
    """The signature of a function as ops have it."""
    name = getattr(fn, "__name__", type(fn).__name__)
    state = _EXAMPLE.format(name=name)
    if isinstance(fn, np.ufunc):
        return ", ".join("xyz"[: fn.nin] if fn.nin <= 3 else [f"x{k + 1}" for k in range(fn.nin)])
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (ValueError, TypeError):
        raise TypeError(
            f"`{name}` does not say what its arguments are called (it is not written in Python): {state}"
        ) from None
    spelled = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            spelled.append(f"*{p.name}")
        elif p.kind is p.VAR_KEYWORD:
            raise TypeError(f"`{name}` takes any keyword (**{p.name}), which an op does not: {state}")
        elif p.default is p.empty:
            if p.kind is p.KEYWORD_ONLY:
                raise TypeError(
                    f"the keyword-only argument `{p.name}` of `{name}` has no default, which an op's has: {state}"
                )
            spelled.append(p.name)
        elif p.kind is p.POSITIONAL_ONLY:
            raise TypeError(f"`{p.name}` of `{name}` is optional and has no keyword: leave it out, and {state}")
        elif p.default is None or isinstance(p.default, (bool, int, float, complex, str)):
            spelled.append(f"{p.name}={p.default!r}")
        else:
            raise TypeError(
                f"the default of `{p.name}` of `{name}`, {p.default!r}, is no number, text or None: {state}"
            )
    return ", ".join(spelled)


def rule(fn: Any = None, kind: Any = None, /, **vjps: Callable[..., Any] | None) -> Any:
    """Give a function its derivative, one formula an argument, and get back the function that takes Tensors, too.

    A formula is told by the names it takes: `g` is the incoming cotangent, `out` the result, `x` (any argument's name) that
    argument, `x_shape` and `x_dtype` its metadata, `i` the position in a sequence of arrays. None states that the function is
    not differentiable in that argument. It is made of operations that have rules, so that it can be differentiated again;
    broadcasting is none of its business. The function need not be known: its signature is read from it (`gs.op` states
    it where it does not tell), and `kind` says what `gs.op` says of it. Also a decorator: `@gs.rule(x=...)`. Inside
    functions under a transform the rule holds wherever the function is called; on bare Tensors call what this returns. Check
    it with `gs.check_rule`. Raises TypeError for a formula of an argument, or that reads a name, which there is not.

    >>> import numpy as np, gradscribe as gs
    >>> @gs.rule(x=lambda g, x: g * 3 * x**2)
    ... def cube(x):
    ...     return np.asarray([v * v * v for v in x])
    >>> gs.grad(lambda x: np.sum(cube(x)))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    if isinstance(fn, Kind):
        fn, kind = None, fn
    if fn is None:
        return lambda function: rule(function, kind, **vjps)
    if not callable(fn):
        raise TypeError(f"gs.rule takes a function, not {type(fn).__name__}: {fn!r}")
    found = lookup(fn)
    if found is None:
        found = op(fn, None, kind)
    elif kind is not None and kind is not found.kind:
        raise TypeError(f"`{found.path}` is an op of the kind {found.kind.value} already, not {kind.value}")
    for name, formula in vjps.items():
        if formula is not None and not hasattr(formula, "__code__"):
            raise TypeError(
                f"the formula for `{name}` of {found.path} is a Python function, not {type(formula).__name__}"
            )
    _check_names(found, vjps)
    registry.rule(fn, **vjps)
    return fn if takes_tensors(fn) else taking_tensors(found)


def _check_names(found: Op, vjps: dict[str, Any]) -> None:
    names = [p.name for p in found.params]
    known = {"g", "out", "i", "acc", *names, *[f"{n}_shape" for n in names], *[f"{n}_dtype" for n in names]}
    for name, formula in vjps.items():
        if name not in names:
            raise TypeError(f"rule for {found.path}: no argument is named `{name}` in ({found.signature})")
        code = getattr(formula, "__code__", None)
        for read in () if code is None else code.co_varnames[: code.co_argcount]:
            if read not in known:
                raise TypeError(
                    f"the formula for `{name}` of {found.path} reads `{read}`, which is neither g (the cotangent), out (the "
                    f"result) nor an argument of ({found.signature})"
                )


def takes_tensors(fn: Any) -> bool:
    """Whether a function meets Tensors by itself: ufuncs and what NumPy dispatches, and what this module made."""
    return isinstance(fn, np.ufunc) or hasattr(fn, "_implementation") or hasattr(fn, "__gradscribe_op__")


_made: dict[Any, Any] = {}


def taking_tensors(found: Op) -> Any:
    """The function of an op that no protocol reaches: with a Tensor among its arguments it is the op."""
    fn: Any = found.fn
    if fn in _made:
        return _made[fn]

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        for a in (*args, *kwargs.values()):
            for one in a if isinstance(a, (list, tuple)) else (a,):
                enter = getattr(type(one), "__gradscribe_apply__", None)
                if enter is not None:
                    return enter(found, args, kwargs)
        return fn(*args, **kwargs)

    call.__gradscribe_op__ = True  # type: ignore[attr-defined]
    registry.also(call, found)
    _made[fn] = call
    return call
