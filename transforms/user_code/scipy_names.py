"""SciPy's names as a function under a transform sees them: functions with rules or formulas, and distributions."""

from __future__ import annotations

import copy
import functools
import re
import sys
import types
import warnings
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from ...runtime.arrays import is_array, is_plain_array
from ...runtime.errors import NoRuleError
from ...runtime.ops import Kind, Op
from ...runtime.registry import composition, lookup, lookup_class, made_of_ops, require
from ...runtime.result_types import BY_VALUE, UNKNOWN, How
from ...runtime.rules.support import literal
from ...runtime.user_ops import signature_of
from ...tracer.core.dispatch import apply, has_tensor, stack_nested, unwrap
from ...tracer.core.losses import WATCHING, watching
from ...tracer.core.tensor_base import Operand, levels_of
from ...tracer.core.thread_state import capturing, refuse
from . import CALLBACKS

__all__ = [
    "Distribution",
    "Maker",
    "class_of",
    "is_frozen",
    "is_known",
    "object_of",
    "of_scipy",
    "parts_of",
    "through_apply",
    "without_rule",
]

_known: dict[Any, Any] = {}
_ALWAYS = (
    "scipy.interpolate",
    "scipy.sparse",
    "scipy._lib._sparse",
)  # modules whose objects hold Tensors where no one sees them


def through_apply(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that dispatches by no protocol (SciPy's plain Python ones), with an op of ours."""
    return _where_tensors(fn, functools.partial(_apply, require(fn)))


def _apply(op: Any, *args: Any, **kwargs: Any) -> Any:
    if not re.search(r"\[|\*\w", op.signature):  # it takes no sequence of arrays: a list is an array in the making
        args, kwargs = tuple(map(stack_nested, args)), {k: stack_nested(v) for k, v in kwargs.items()}
    return apply(op, args, kwargs)


def _where_tensors(fn: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` of arrays, and `ours` where a Tensor is among the arguments."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_tensor(args) and not has_tensor(kwargs):
            return fn(*args, **kwargs)
        return ours(*map(_stacked, args), **{name: _stacked(value) for name, value in kwargs.items()})

    call.__module__ = __name__  # it is ours
    return call


def _stacked(value: Any) -> Any:
    """A list of numbers, some of which are traced, as the array that SciPy would make of it; a list of several arrays stays."""
    return stack_nested(value) if type(value) is list and has_tensor(value) and _is_even(value) else value


def _is_even(value: Any) -> bool:
    """Whether an array can be made of a list: everything in it is a number, or of one shape."""
    return len({_shape_of(v) for v in value}) == 1 and None not in {_shape_of(v) for v in value}


def _shape_of(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, (list, tuple)):
        return (len(value), *(_shape_of(value[0]) or ())) if value and _is_even(value) else None
    is_number = isinstance(value, (Operand, np.generic, int, float, complex))
    return tuple(np.shape(value)) if is_number or is_array(value) else None


def _creation(fn: Any, op: Op) -> Any:
    """`fn`, which makes an array of numbers: a Tensor under a transform, so that a capture knows where it comes from."""

    @functools.wraps(fn)
    def create(*args: Any, **kwargs: Any) -> Any:
        if any(type(a) is tuple and has_tensor(a) for a in (*args, *kwargs.values())):
            raise NoRuleError(
                f"{op.path} of a parameter that is traced has no gradient rule in gradscribe: call the function of that name, "
                "such as scipy.signal.windows.kaiser(n, beta)."
            )
        return apply(op, args, kwargs)

    create.__module__ = __name__  # it is ours
    return create


def _empty() -> Any:
    """A Tensor of nothing, which a capture knows: what is made beside it is a call of generated source."""
    return apply(require(np.zeros), (0,), {})


def _made_in_place(fn: Any, formula: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` of plain numbers; in a capture an object of ops, so that its numbers have an origin."""

    @functools.wraps(fn)
    def create(*args: Any, **kwargs: Any) -> Any:
        return formula(*args, **kwargs, beside=_empty()) if capturing() else fn(*args, **kwargs)

    create.__module__ = __name__  # it is ours
    return create


def _instead(fn: Any, load: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function with the name and signature of `fn` that calls what `load` gives."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return load()(*args, **kwargs)

    call.__module__ = __name__  # it is ours
    return call


def without_rule(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's that has no rule: in a capture, one call of arguments that are not differentiated.

    A filter's coefficients, labels, ranks: what it gives has no derivative then, and its source calls it as the user did.
    """
    watched = watching(fn)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(_is_of_ops, (*args, *kwargs.values()))):
            args, kwargs = tuple([_scipys(fn, a) for a in args]), {k: _scipys(fn, v) for k, v in kwargs.items()}
        if not capturing() or not all(map(_is_constant, (*args, *kwargs.values()))):
            return watched(*args, **kwargs)
        given = unwrap(args), {name: unwrap(value) for name, value in kwargs.items()}
        own_args, own_kwargs = copy.deepcopy(given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are given below
            expected = watched(*own_args, **own_kwargs)
        op = _op_without_rule(fn, expected, has_tensor((*args, *kwargs.values())))
        if op is None:
            return watched(*args, **kwargs)
        if not _is_same((own_args, own_kwargs), given):
            refuse(f"calls {op.path}, which writes into an argument")
        found = apply(op, args, kwargs)
        if not _is_same(expected, unwrap(found)):
            refuse(f"calls {op.path}, whose result differs from call to call")
        return found

    setattr(call, WATCHING, True)
    return call


def _is_of_ops(value: Any) -> bool:
    return hasattr(type(value), "__gradscribe_of_ops__")


def _scipys(fn: Any, value: Any) -> Any:
    """An argument as a function of SciPy's without a rule takes it: a sparse matrix of constants as one of SciPy's."""
    if not _is_of_ops(value):
        return value
    name = f"{_home(fn)}.{fn.__name__}"
    if not _is_constant(value.data):
        raise NoRuleError(
            f"{name} of a sparse matrix that is differentiated has no gradient rule in gradscribe: compute it outside, or pass "
            "gs.stop_gradient of the numbers."
        )
    refuse(f"calls {name} of a sparse matrix")
    return value.of_scipy(*map(unwrap, (value.data, value.indices, value.indptr)))


def _home(fn: Any) -> str:
    """The first module that has a function of SciPy's."""
    parts = _parts(fn)
    homes = [".".join(parts[: k + 1]) for k in range(len(parts))]
    return next((home for home in homes if getattr(sys.modules.get(home), fn.__name__, None) is fn), homes[-1])


def _refusing(fn: Callable[..., Any], formula: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's whose formula only raises, by name: of constants SciPy's own."""
    plain = without_rule(fn)

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        constant = all(_is_constant(v.data) if _is_of_ops(v) else not has_tensor(v) or _is_constant(v) for v in given)
        return (plain if constant else formula)(*args, **kwargs)

    call.__module__ = __name__  # it is ours
    return call


def _is_constant(value: Any) -> bool:
    """Whether an argument is an array or a plain value that is not differentiated, or a sequence of these."""
    if isinstance(value, Operand):
        return value._node is None and not levels_of(value)
    if isinstance(value, (list, tuple)):
        return all(map(_is_constant, value))
    return value is None or is_plain_array(value) or isinstance(value, (bool, int, float, complex, str, np.number))


def _op_without_rule(fn: Any, result: Any, of_arrays: bool) -> Op | None:
    """The op of a function of SciPy's that gave arrays of numbers, and numbers beside them; None where there can be none.

    `of_arrays` says that it was given arrays, from whose values lengths may follow.
    """
    results = result if type(result) is tuple else (result,)
    if not any(map(is_plain_array, results)) or not all(map(_is_of_numbers, results)):
        return None
    return _without_rule(fn, len(results), BY_VALUE if of_arrays else UNKNOWN)


def _is_of_numbers(value: Any) -> bool:
    return (
        value.dtype.kind in "biufc"
        if is_plain_array(value)
        else isinstance(value, (bool, int, float, complex, np.number))
    )


@functools.cache
def _without_rule(fn: Any, n_out: int, types: How) -> Op | None:
    home, name = ".".join(_parts(fn)[:2]), fn.__name__
    public = (home, *[f"{home}.{m}" for m in getattr(sys.modules[home], "__all__", ()) if f"{home}.{m}" in sys.modules])
    path = next((module for module in public if getattr(sys.modules[module], name, None) is fn), None)
    if path is None:
        return None
    try:
        return Op(fn, signature_of(fn), Kind.opaque, path=f"{path}.{name}", n_out=n_out, may_raise=True, types=types)
    except TypeError:  # it takes any keyword, say
        return None


def _is_same(x: Any, y: Any) -> bool:
    """Whether two values are the same to the bit, arrays within sequences and dicts too."""
    if isinstance(x, dict):
        x, y = list(x.values()), list(y.values())
    if isinstance(x, (list, tuple)):
        return all(map(_is_same, x, y))
    return x.tobytes() == y.tobytes() if is_plain_array(x) else bool(x is y or x == y)


def _parts(value: Any) -> list[str]:
    module = getattr(value, "__module__", None)
    return module.split(".") if isinstance(module, str) else []


def of_scipy(value: Any) -> Any:
    """Return the replacement of something of SciPy's; None where there is none."""
    parts = _parts(value)
    if parts[:1] != ["scipy"] or isinstance(value, np.ufunc) or not isinstance(value, Hashable):
        return None
    if isinstance(value, type):
        return class_of(value)
    if (found := lookup_class(type(value))) is not None:
        return None if found.traced else made_of_ops(value)
    if is_frozen(value):
        return _frozen(value)
    if type(value) is types.MethodType and is_frozen(value.__self__):
        frozen = _frozen(value.__self__)
        return None if frozen is None else getattr(frozen, value.__name__)
    found = _known.get(value)
    if found is None:
        found = _found(value)
        if found is not None:
            _known[value] = found
    return found


@functools.cache
def class_of(cls: Any) -> Any:
    """Return the replacement of a class of SciPy's whose objects can be made of ops; None where they cannot."""
    return None if lookup_class(cls) is None else Maker(cls)


def parts_of(value: Any) -> tuple[str, ...]:
    """The attributes that hold the numbers of an object of such a class; none of others."""
    found = lookup_class(type(value))
    return () if found is None or found.over is None else found.parts


def object_of(value: Any, parts: dict[str, Any]) -> Any:
    """An object of such a class, made of ops, whose numbers are `parts`."""
    found = lookup_class(type(value))
    assert found is not None
    return value if found.over is None else found.over(value, parts)


class Maker:
    """A class of SciPy's whose objects are made of ops under a transform."""

    __gradscribe_stateless__ = True

    def __init__(self, cls: Any) -> None:
        self._class = cls
        self.__name__, self.__module__, self.__doc__ = cls.__name__, __name__, cls.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """An object."""
        found = lookup_class(self._class)
        assert found is not None
        traced = has_tensor(args) or has_tensor(kwargs)
        if capturing() and not traced and hasattr(found.make, "takes_beside"):
            return found.make(*args, **kwargs, beside=_empty())
        if found.traced and args and isinstance(args[0], Operand) and np.ndim(args[0]) == 2 and _is_constant(args[0]):
            if not capturing():
                return self._class(unwrap(args[0]), *args[1:], **kwargs)
            dense: Any = args[0]
            places = np.nonzero(dense)  # a pattern that follows from values: none is differentiated
            return found.make((dense[places], places), dense.shape)
        if found.traced:  # or of an object of ops, such as a capture makes of a matrix from outside
            of_ops = traced or any(hasattr(type(a), "__gradscribe_of_ops__") for a in args)
            return (found.make if of_ops else self._class)(*args, **kwargs)
        if not capturing() or traced:
            return found.make(*args, **kwargs)
        return _Waiting(found.make, args, kwargs)

    def __instancecheck__(self, value: Any) -> bool:
        found = lookup_class(self._class)
        made = None if found is None else found.make
        return isinstance(value, self._class) or (isinstance(made, type) and isinstance(value, made))

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (self._class,)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._class, name)
        return _giving_objects(value) if type(value) is types.MethodType else value


def _giving_objects(method: Any) -> Callable[..., Any]:
    """A method of a class of SciPy's that makes objects of it (`BSpline.basis_element`): these are made of ops, too."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = method(*args, **kwargs)
        return found if (of_ops := made_of_ops(found)) is None else of_ops

    return call


class _Waiting:
    """An object of lists of numbers in a capture, which are written down as arrays beside the first Tensor that comes."""

    __gradscribe_stateless__ = True

    def __init__(self, make: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._made = make, args, kwargs

    def _object(self, beside: Any) -> Any:
        make, args, kwargs = self._made
        return make(*[_beside(a, beside) for a in args], **{k: _beside(v, beside) for k, v in kwargs.items()})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Its values at points."""
        return self._object(_tensor_of((args, kwargs)))(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not callable(getattr(self._object(None), name)):
            return getattr(self._object(None), name)
        return lambda *args, **kwargs: getattr(self._object(_tensor_of((args, kwargs))), name)(*args, **kwargs)


def _tensor_of(value: Any) -> Any:
    """A Tensor among values; None where there is none."""
    if isinstance(value, Operand):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((found for v in inner if (found := _tensor_of(v)) is not None), None)


def _beside(value: Any, beside: Any) -> Any:
    """A list of numbers as an array that is made where a Tensor is; others as they are."""
    if type(value) in (list, tuple) and len(value) > 2 and all(isinstance(v, (int, float)) for v in value):
        return literal(list(value), beside)
    return value


def _found(value: Any) -> Any:
    op, formula = lookup(value), composition(value)
    if lookup_class(value) is not None:
        return class_of(value)
    if formula is not None and hasattr(formula, "takes_beside"):
        return _made_in_place(value, formula)
    if formula is not None and getattr(formula, "refuses", False):
        return _refusing(value, formula)
    if formula is not None and str(getattr(value, "__module__", "")).startswith(_ALWAYS):
        return _instead(value, lambda: formula)  # of constants too: FITPACK's last digits are others
    if op is not None and op.kind is Kind.creation:
        return _creation(value, op)
    if formula is not None:
        return _where_tensors(value, formula)
    if op is not None:
        return through_apply(value)
    for (module, name), load in CALLBACKS.items():
        if getattr(value, "__name__", None) == name and getattr(sys.modules.get(module), name, None) is value:
            return _instead(value, load)
    return Distribution(value) if _is_distribution(value) else None


# The parameters of multivariate distributions that are frozen: what the family calls them, and where the frozen one has them.
_MULTIVARIATE = {
    "multivariate_normal": {"mean": "mean", "cov": "cov", "allow_singular": "allow_singular"},
    "multivariate_t": {"loc": "loc", "shape": "shape", "df": "df"},
    "dirichlet": {"alpha": "alpha"},
    "multinomial": {"n": "n", "p": "p"},
}


def is_frozen(value: Any) -> bool:
    """Whether something is a distribution of scipy.stats with its parameters."""
    kind = type(value)
    return kind.__name__.endswith("_frozen") and _parts(kind)[:2] == ["scipy", "stats"]


def _frozen(value: Any) -> Any:
    """The replacement of a distribution that was frozen outside of the transform; None where there is none."""
    name = type(value).__name__
    stats = sys.modules["scipy.stats"]
    if hasattr(value, "dist") and hasattr(value, "kwds"):
        family: Any = getattr(stats, str(value.dist.name), None)
        if (
            type(family) is type(value.dist)
            and (family.a, family.b) == (value.dist.a, value.dist.b)
            and _is_distribution(family)
        ):
            return _Frozen(Distribution(family), value.args, value.kwds)
    if (names := _MULTIVARIATE.get(name.removesuffix("_frozen"))) is not None:
        given = {key: getattr(value, attribute) for key, attribute in names.items()}
        return _Frozen(Distribution(getattr(stats, name.removesuffix("_frozen"))), (), given, value)
    return None


def _is_distribution(value: Any) -> bool:
    """Whether something is one of scipy.stats' distributions of which we have formulas."""
    density = getattr(value, "logpdf", None) or getattr(value, "logpmf", None)
    return density is not None and hasattr(value, "rvs") and composition(density) is not None


def is_known(value: Any) -> bool:
    """Whether something of SciPy's has a stand-in, and so draws no random numbers that would not be seen."""
    return of_scipy(value) is not None


class Distribution:
    """A distribution of scipy.stats: its functions that have formulas take Tensors, the rest are SciPy's own.

    >>> import numpy as np, gradscribe as gs
    >>> from gradscribe.scipy.stats import norm
    >>> gs.grad(norm.logpdf)(0.5)
    np.float64(-0.5)
    """

    __gradscribe_stateless__ = True

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(self._real, name)
        if (
            name == "expect"
            and composition(getattr(self._real, "pmf", getattr(self._real, "support", None))) is not None
        ):
            return functools.partial(CALLBACKS["scipy.stats", "expect"](), self._real)
        found = of_scipy(value) if callable(value) else None
        if found is None and capturing() and callable(value):
            refuse(
                f"calls scipy.stats.{self._real.name if hasattr(self._real, 'name') else '...'}.{name}, which may draw random "
                "numbers that would not be seen"
            )
        return value if found is None else found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The distribution with these parameters."""
        return _Frozen(self, args, kwargs)

    def __repr__(self) -> str:
        return f"<{self._real!r} of Tensors>"


def _stated(value: Any) -> Any:
    """A parameter from outside; in a capture an array is made of its numbers."""
    return apply(require(np.array), (value.tolist(),), {}) if capturing() and is_plain_array(value) else value


class _Frozen:
    """A distribution whose parameters are given; `real` is SciPy's, which has them as attributes, too."""

    __gradscribe_stateless__ = True

    def __init__(self, of: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any], real: Any = None) -> None:
        self._of, self._real = of, real
        self._args, self._kwargs = tuple(map(_stated, args)), {name: _stated(value) for name, value in kwargs.items()}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "args":
            return self._args
        if name == "kwds":
            return self._kwargs
        if self._real is not None and not callable(found := getattr(self._real, name)):
            return found
        function = getattr(self._of, name)
        if name == "expect":
            return self._expect(function)
        if name in ("mean", "std", "var", "median", "entropy", "support"):
            return lambda: function(*self._args, **self._kwargs)
        if name == "rvs":
            return lambda size=1, random_state=None: function(
                *self._args, **self._kwargs, size=size, random_state=random_state
            )
        return lambda x, *rest, **options: function(x, *self._args, *rest, **self._kwargs, **options)

    def _expect(self, function: Any) -> Callable[..., Any]:
        """`expect` of the family, which takes its shapes as a tuple."""
        names = [*(self._of.shapes or "").replace(",", " ").split(), "loc", "scale"]
        at = {**dict(zip(names, self._args, strict=False)), **self._kwargs}
        moved = {name: at.pop(name) for name in ("loc", "scale") if name in at}
        return functools.partial(function, args=tuple([at[name] for name in names[:-2]]), **moved)
