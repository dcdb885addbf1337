"""autograd.extend: functions of one's own, opaque to us, with derivatives that their author writes argument by argument."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import NoRuleError
from ...runtime.ops import Op
from ...runtime.user_ops import called_by_name
from ...tracer.core.levels import under
from ...tracer.core.listening import called
from ...tracer.core.tensor_base import Operand as Box
from ...tracer.core.tensor_base import levels_of, wrap
from ...tracer.core.thread_state import LOCAL, capturing, refuse
from ...tracer.tensors.batched import Level
from ...transforms.derivatives.custom_jvp import CustomJvp
from ...transforms.derivatives.custom_vjp import CustomVjp
from ...transforms.trees import flatten, unflatten
from ...transforms.user_code.scope import Path, scope
from .differential_operators import _conj

__all__ = [
    "Box", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums",
    "notrace_primitive", "primitive", "vspace",
]  # fmt: skip


class Primitive:
    """A function that runs on plain arrays, whatever it does within; `defvjp` and `defjvp` say how it is differentiated."""

    __gradscribe_stateless__ = True

    def __init__(self, fun: Callable[..., Any], traced: bool = True) -> None:
        self.fun = fun
        self.traced = traced
        self.vjp: Callable[..., Any] | None = None  # (argnums, ans, args, kwargs) -> g -> one cotangent for each
        self.jvp: Callable[..., Any] | None = None  # (argnums, gs, ans, args, kwargs) -> the tangent of the output
        self._formulas: dict[str, Any] = {}  # what its author gave for these
        functools.update_wrapper(self, fun, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        if not any(isinstance(x, Box) for x in leaves):
            return self.fun(*args, **kwargs)
        levels = [level for x in leaves for level in levels_of(x)]
        asked = [k for k, a in enumerate(args) if any(_requires_grad(x) for x in flatten(a)[0])]
        if asked and self.traced and LOCAL.grad:
            return self._differentiated(args, kwargs, tuple(asked))
        if levels:
            return _each(levels[0], self, leaves, structure)
        plain = unflatten(structure, [x._value if isinstance(x, Box) else x for x in leaves])
        try:
            found = self.fun(*plain[0], **plain[1])
        except Exception:
            refuse(f"goes on after an error of {self._name()}")
            raise
        if LOCAL.depth == 0 and not self.traced:
            return found
        made = _wrapped(found)
        if capturing():
            self._record(made, args, kwargs, [x for x in leaves if isinstance(x, Box)])
        return made

    def _record(self, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any], boxes: list[Any]) -> None:
        """Write the call down: generated source makes it by the function's name."""
        results = made if type(made) is tuple else (made,)
        if not all(isinstance(r, Box) for r in results) or (type(made) is tuple and len(made) < 2):
            found: Any = "that gives more than arrays"
        elif any(np.may_share_memory(r._value, x._value) for r in results for x in boxes):
            found = "that gives the memory of an argument"
        elif not all(map(_is_written, (*args, *kwargs.values()))):
            found = "that is given arrays within an object"
        else:
            found = called_by_name(self.fun, len(results))
        if isinstance(found, Op):
            called(found, found.bind(*args, **kwargs), results)
        else:
            refuse(f"calls {self._name()}, an autograd primitive {found}")

    def _differentiated(self, args: tuple[Any, ...], kwargs: dict[str, Any], asked: tuple[int, ...]) -> Any:
        """One call, with the author's derivatives behind it."""
        constant = {"nondiff_argnums": tuple([k for k in range(len(args)) if k not in asked])}

        def of(*args: Any) -> Any:
            return self(*args, **kwargs)

        of.__name__ = self._name()
        if self.vjp is None and self.jvp is not None:
            made = CustomJvp(of, constant)

            def moved(*given: Any) -> tuple[Any, Any]:
                *_, primals, tangents = given
                full = _with(args, asked, primals)
                out = self(*full, **kwargs)
                return out, self.jvp(asked, tangents, out, full, kwargs)  # type: ignore[misc]

            made.defjvp(moved)
            return made(*args)
        if self.vjp is None:
            raise NoRuleError(
                f"VJP of {self._name()} wrt argnums {asked} not defined: say it by defvjp({self._name()}, ...)"
            )
        custom = CustomVjp(of, constant)

        def fwd(*xs: Any) -> Any:
            out = self(*xs, **kwargs)
            return out, (out, [xs[k] for k in asked])

        def bwd(*given: Any) -> Any:
            *_, (out, moving), g = given
            back = self.vjp(asked, out, _with(args, asked, moving), kwargs)  # type: ignore[misc]
            return tuple([_conj(d) for d in back(_conj(g))])

        custom.defvjp(fwd, bwd)
        return custom(*args)

    def state(self, mode: str, formulas: dict[Any, Any], rule: Callable[..., Any]) -> None:
        """Say how it is differentiated: by `rule`, which asks `formula` for what the author gave."""
        for key in [key for key in self._formulas if key.startswith(mode)]:
            del self._formulas[key]
        self._formulas.update({f"{mode}_{k}": given for k, given in formulas.items()})
        setattr(self, mode, rule)

    def formula(self, mode: str, k: Any) -> Any:
        """A formula of the author's as it runs now: inside a transform, rebuilt over its scope."""
        given = self._formulas[f"{mode}_{k}"]
        path = Path(("item", self._formulas, f"{mode}_{k}"), words=f"def{mode} of {self._name()}")
        return scope().see(given, path) if LOCAL.depth else given

    def _name(self) -> str:
        return str(getattr(self.fun, "__name__", type(self.fun).__name__))

    def __repr__(self) -> str:
        return f"<primitive {self._name()}>"


def _is_written(x: Any) -> bool:
    """Whether generated source can say an argument: Tensors stand by themselves or in lists and tuples."""
    if type(x) in (list, tuple):
        return all(map(_is_written, x))
    return isinstance(x, Box) or not any(isinstance(leaf, Box) for leaf in flatten(x)[0])


def _requires_grad(x: Any) -> bool:
    return isinstance(x, Box) and x._node is not None


def _with(args: tuple[Any, ...], places: tuple[int, ...], values: Any) -> tuple[Any, ...]:
    """The arguments, of which those at some places are others."""
    found = list(args)
    for k, x in zip(places, values, strict=True):
        found[k] = x
    return tuple(found)


def _wrapped(found: Any) -> Any:
    leaves, structure = flatten(found)
    numbers = (np.ndarray, np.generic, float, complex)
    return unflatten(structure, [wrap(x) if isinstance(x, numbers) else x for x in leaves])


def _each(level: Level, fun: Any, leaves: list[Any], structure: Any) -> Any:
    """Under gs.vmap: one example after the other."""
    many = [level in levels_of(x) for x in leaves]
    shown = [Level.shown(x, (level,)) if own else x for x, own in zip(leaves, many, strict=True)]
    found = []
    with under(tuple([other for other in LOCAL.levels if other is not level])):
        for k in range(int(level.size)):
            args, kwargs = unflatten(structure, [x[k] if own else x for x, own in zip(shown, many, strict=True)])
            found.append(flatten(fun(*args, **kwargs)))
        stacked = [np.stack(parts) for parts in zip(*[one[0] for one in found], strict=True)]
    return unflatten(found[0][1], [Level.hidden(x, (level,)) for x in stacked])


def primitive(f_raw: Callable[..., Any]) -> Primitive:
    """Decorator: `f_raw` runs on plain arrays, and its derivatives are what `defvjp` or `defjvp` says.

    >>> from gradscribe.compat.autograd import grad
    >>> from gradscribe.compat.autograd.extend import defvjp, primitive
    >>> @primitive
    ... def cube(x):
    ...     return x**3
    >>> defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
    >>> grad(grad(cube))(2.0)
    np.float64(12.0)
    """
    return Primitive(f_raw)


def notrace_primitive(f_raw: Callable[..., Any]) -> Primitive:
    """Decorator: `f_raw` runs on plain arrays, and no gradient goes through it."""
    return Primitive(f_raw, traced=False)


def _owner(fun: Any, what: str) -> Primitive:
    if not isinstance(fun, Primitive):
        name = getattr(fun, "__name__", fun)
        raise TypeError(
            f"{what} takes a function decorated by @primitive, not {name}; for NumPy's and others see gs.rule"
        )
    return fun


def _missing(name: str, mode: str, argnum: int) -> NoRuleError:
    return NoRuleError(
        f"{mode} of {name} wrt argnums ({argnum},) not defined: say it by def{mode.lower()}({name}, ...)"
    )


def defvjp(fun: Any, *vjpmakers: Any, argnums: Any = None) -> None:
    """One `vjpmaker(ans, *args, **kwargs)` an argument, which gives the map from the output's cotangent to its own.

    None stands for an argument without a derivative. `argnums` names the positions where they are not 0, 1, 2 ...
    """
    given = dict(zip(range(len(vjpmakers)) if argnums is None else argnums, vjpmakers, strict=False))

    def vjp(asked: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        for k in asked:
            if k not in given:
                raise _missing(owner._name(), "VJP", k)
        makers = [owner.formula("vjp", k) for k in asked]
        backs = [None if maker is None else maker(ans, *args, **kwargs) for maker in makers]
        return lambda g: tuple([None if back is None else back(g) for back in backs])

    owner = _owner(fun, "defvjp")
    owner.state("vjp", given, vjp)


def defvjp_argnum(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """One `vjpmaker(argnum, ans, args, kwargs)` for all arguments, asked for each of them."""

    def vjp(asked: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        maker = owner.formula("vjp", "each")
        backs = [maker(k, ans, args, kwargs) for k in asked]
        return lambda g: tuple([back(g) for back in backs])

    owner = _owner(fun, "defvjp_argnum")
    owner.state("vjp", {"each": vjpmaker}, vjp)


def defvjp_argnums(fun: Any, vjpmaker: Callable[..., Any]) -> None:
    """One `vjpmaker(argnums, ans, args, kwargs)` for all arguments at once, whose map gives a tuple."""
    owner = _owner(fun, "defvjp_argnums")
    owner.state("vjp", {"all": vjpmaker}, lambda *given: owner.formula("vjp", "all")(*given))


def _moved(owner: Primitive, argnum: int, t: Any, args: Any, kwargs: Any) -> Any:
    """A linear function of a tangent, in the place of the argument."""
    if _requires_grad(t) and owner.vjp is None:  # backward would transpose what it cannot look into
        raise _missing(owner._name(), "VJP", argnum)
    return owner(*_with(args, (argnum,), (t,)), **kwargs)


def defjvp(fun: Any, *jvpfuns: Any, argnums: Any = None) -> None:
    """One `jvpfun(t, ans, *args, **kwargs)` an argument: how the output moves as that argument moves along `t`.

    "same" stands for a linear function (`fun` with `t` in the argument's place), None for one without a derivative. Where
    `defvjp` says it too, the JVP is the transpose of that.
    """
    given = dict(zip(range(len(jvpfuns)) if argnums is None else argnums, jvpfuns, strict=False))

    def jvp(asked: Any, tangents: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        parts = []
        for k, t in zip(asked, tangents, strict=True):
            if k not in given:
                raise _missing(owner._name(), "JVP", k)
            formula = owner.formula("jvp", k)
            if formula is not None:
                same = given[k] == "same"
                parts.append(_moved(owner, k, t, args, kwargs) if same else formula(t, ans, *args, **kwargs))
        return functools.reduce(lambda a, b: a + b, parts) if parts else np.zeros_like(ans)

    owner = _owner(fun, "defjvp")
    owner.state("jvp", given, jvp)


def defjvp_argnum(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """One `jvpmaker(argnum, t, ans, args, kwargs)` for all arguments, asked for each of them."""

    def jvp(asked: Any, tangents: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        maker = owner.formula("jvp", "each")
        parts = [maker(k, t, ans, args, kwargs) for k, t in zip(asked, tangents, strict=True)]
        return functools.reduce(lambda a, b: a + b, parts)

    owner = _owner(fun, "defjvp_argnum")
    owner.state("jvp", {"each": jvpmaker}, jvp)


def defjvp_argnums(fun: Any, jvpmaker: Callable[..., Any]) -> None:
    """One `jvpmaker(argnums, ts, ans, args, kwargs)` for all arguments at once."""
    owner = _owner(fun, "defjvp_argnums")
    owner.state("jvp", {"all": jvpmaker}, lambda *given: owner.formula("jvp", "all")(*given))


def def_linear(fun: Any) -> None:
    """`fun` is linear in each of its arguments."""
    owner = _owner(fun, "def_linear")

    def jvp(asked: Any, tangents: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        parts = [_moved(owner, k, t, args, kwargs) for k, t in zip(asked, tangents, strict=True)]
        return functools.reduce(lambda a, b: a + b, parts)

    owner.state("jvp", {}, jvp)


class VSpace:
    """The vector space that a value (an array, a number, or a tree of them) lies in."""

    size: int
    iscomplex: bool
    shape: tuple[int, ...]  # this and what follows of one array alone
    ndim: int
    dtype: np.dtype[Any]

    def __init__(self, value: Any) -> None:
        leaves, self._structure = flatten(value)
        self._like = [
            np.empty(np.shape(x), np.result_type(x.dtype if hasattr(x, "dtype") else type(x))) for x in leaves
        ]
        self.size = sum(x.size for x in self._like)
        self.iscomplex = any(x.dtype.kind == "c" for x in self._like)
        if len(self._like) == 1:
            (one,) = self._like
            self.shape, self.ndim, self.dtype = one.shape, one.ndim, one.dtype

    def _all(self, make: Callable[..., Any], *values: Any) -> Any:
        leaves = [flatten(v)[0] for v in values]
        return unflatten(self._structure, [make(like, *xs) for like, *xs in zip(self._like, *leaves, strict=True)])

    def zeros(self) -> Any:
        """Its zero."""
        return self._all(np.zeros_like)

    def ones(self) -> Any:
        """The vector of ones."""
        return self._all(np.ones_like)

    def randn(self) -> Any:
        """A vector of normal numbers, by NumPy's global generator."""
        return self._all(lambda like: np.asarray(np.random.randn(*like.shape), like.dtype))

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors."""
        return self._all(lambda like, x, y: x + y, x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A vector times a number."""
        return self._all(lambda like, x: x * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product."""
        return sum(np.real(np.vdot(a, b)) for a, b in zip(flatten(x)[0], flatten(y)[0], strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VSpace) or self._structure != other._structure:
            return False
        kinds = [[(x.shape, x.dtype) for x in space._like] for space in (self, other)]
        return kinds[0] == kinds[1]

    def __repr__(self) -> str:
        return f"VSpace({', '.join(f'{x.dtype}{list(x.shape)}' for x in self._like)})"


def vspace(value: Any) -> VSpace:
    """The vector space that a value lies in."""
    return VSpace(value)
