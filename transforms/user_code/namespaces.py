"""NumPy, SciPy and random as a function under a transform sees them: functions that do not dispatch are replaced."""

from __future__ import annotations

import enum
import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.arrays import is_array
from ...runtime.ops import Kind
from ...runtime.registry import compositions, lookup, ops, require
from ...runtime.rules.elementwise import astype
from ...tracer.core.dispatch import apply, has_tensor, literal, stack_nested, stacking, unwrap
from ...tracer.core.listening import drew, new_generator, printed, quieted
from ...tracer.core.tensor_base import Operand, wrap
from ...tracer.core.thread_state import LOCAL, capturing, refuse
from ...tracer.random.draws import PLACED, array_of, by_places, is_scaled, scaled
from .array_makers import JOINERS, chkfinite, fromfunction, required, vectorize
from .cupy_names import from_host, names_of_cupy, numpys_name, on_device
from .library_code import POLYNOMIALS, Library, broadcast, ndenumerate, nditer
from .math_names import ROWS, stand_in
from .scipy_names import is_known, of_scipy, through_apply, without_rule

__all__ = [
    "SETTINGS",
    "length",
    "makes_generators",
    "may_draw",
    "op_of_the_user",
    "polynomials",
    "replacement",
    "stands_for",
]


_AS_THEY_ARE = frozenset([float, int, complex, bool, str, bytes, type(None), np.ndarray, np.float64, np.float32, np.int64, dict,
                          range])  # fmt: skip


def _by_own_methods(value: Any, dtype: Any, inside: bool = False) -> Any:
    """Objects of the user's, in lists too, as the arrays and numbers that their own methods give.

    As in NumPy, `__array__` comes first, and a number `inside` a list is made by `__float__`, or it is none.
    """
    cls = type(value)
    if cls in _AS_THEY_ARE or isinstance(value, Operand):
        return value
    if cls is list or cls is tuple:
        made = [_by_own_methods(v, dtype, True) for v in value]
        return value if all(map(operator.is_, made, value)) else cls(made)
    method = LOCAL.special(value, "__array__")
    if method is not None:
        array = method() if dtype is None else method(dtype)
        if np.ndim(array) or not inside:
            return array
    elif dtype is None:
        return value
    method = LOCAL.special(value, "__complex__" if dtype is not None and np.dtype(dtype).kind == "c" else "__float__")
    method = method or LOCAL.special(value, "__float__")
    return value if method is None else method()


_MODES = {"ALWAYS": True, "NEVER": False, "IF_NEEDED": None}  # NumPy's own way to say `copy=`


def _array(obj: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **options: Any) -> Any:
    copy = _MODES[copy.name] if isinstance(copy, enum.Enum) else copy
    if LOCAL.depth and not _is_no_number(dtype):
        obj = _by_own_methods(obj, dtype)
    if isinstance(obj, Operand):
        if dtype is not None and _is_scalar(obj):
            np.array(obj._value, dtype)  # NumPy's own errors
        words = {k: v for k, v in options.items() if k == "order" and v is not None}
        made = apply(require(np.copy), (obj,), words) if copy or _is_scalar(obj) else obj
    elif isinstance(obj, (list, tuple)) and has_tensor(obj):
        if dtype is not None and np.dtype(dtype) == object:
            return _of_objects(obj)
        made = stack_nested(obj)
    else:
        return _literal(np.array, obj, dtype, copy=copy, ndmin=ndmin, **options)
    if ndmin > np.ndim(made):
        made = np.reshape(made, (*(1,) * (ndmin - np.ndim(made)), *np.shape(made)))
    return made if dtype is None or made.dtype == np.dtype(dtype) else astype(made, np.dtype(dtype))


def _of_objects(rows: Any) -> Any:
    """An array of objects, of nested lists of numbers and what not."""
    shape = np.array(unwrap(rows), dtype=object).shape
    made = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        element = rows
        for k in place:
            element = element[k]
        made[place] = element
    return made


def _is_scalar(obj: Operand) -> bool:
    """Whether a Tensor stands for a number of Python's or NumPy's, of which asking for an array makes one of no axes."""
    return not is_array(obj._value)


def _asarray(obj: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **options: Any) -> Any:
    if copy:
        return _array(obj, dtype, copy=True)
    if is_array(obj) and dtype in (None, obj.dtype):
        return obj
    return _array(obj, dtype, copy=None)


def _fromiter(iter: Any, dtype: Any, count: int = -1, **options: Any) -> Any:
    """np.fromiter, which takes numbers one by one."""
    items = list(iter if count < 0 else itertools.islice(iter, count))
    if not has_tensor(items):
        return _literal(np.fromiter, items, dtype, count=count, **options)
    return _array(items, dtype)


def _laid_out(fn: Callable[..., Any], flag: str) -> Callable[..., Any]:
    """np.ascontiguousarray and np.asfortranarray: the array itself where it lies so already, else a copy that does."""
    op = require(fn)

    def lay(a: Any, dtype: Any = None, **options: Any) -> Any:
        if not isinstance(a, Operand):
            return fn(a, dtype, **options)
        if a.ndim and getattr(a._value.flags, flag) and dtype in (None, a.dtype):
            return a
        return apply(op, (a,), {} if dtype is None else {"dtype": dtype})

    return lay


def _literal(make: Callable[..., Any], obj: Any, dtype: Any, **options: Any) -> Any:
    """An array of numbers written down in the code: a Tensor, so that Tensors can be written into it."""
    obj = list(obj) if isinstance(obj, range) else obj  # which is no literal
    array = make(obj, dtype=dtype, **options)
    if array.dtype.kind not in "biufc":
        return array
    if capturing() and not is_array(obj):
        words = {k: v for k, v in options.items() if k in ("ndmin", "order") and v}
        return apply(require(np.array), (obj,), words if dtype is None else {"dtype": dtype, **words})
    return wrap(array)


def _is_no_number(dtype: Any) -> bool:
    """Whether an argument is a dtype of objects, text or records, of which an array holds no Tensor's numbers."""
    if dtype is None or not isinstance(dtype, (type, str, list, np.dtype)):
        return False
    try:
        return np.dtype(dtype).kind not in "biufc"
    except (TypeError, ValueError):
        return False


def _creation(fn: Callable[..., Any]) -> Callable[..., Any]:
    op = require(fn)

    @functools.wraps(fn)
    def create(*args: Any, **kwargs: Any) -> Any:
        if any(map(_is_no_number, (kwargs.get("dtype"), *args[1:3]))):
            return fn(*args, **kwargs)
        kwargs.pop("like", None)
        return apply(op, args, kwargs)

    return create


def _joining(fn: Callable[..., Any], sequences: int = 1) -> Callable[..., Any]:
    """A function whose first arguments are sequences of arrays, of which some may be lists: `np.concatenate([[t], x])`."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = args[:sequences]  # isinstance would ask a Tensor what its value is
        if any(type(s) in (list, tuple) and any(issubclass(type(a), list | tuple) for a in s) for s in given):
            known = literal if capturing() and not has_tensor(given) else stack_nested
            made = [type(s)([known(a) for a in s]) if type(s) in (list, tuple) else s for s in given]
            args = (*made, *args[sequences:])
        return fn(*args, **kwargs)

    return call


def _indexing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """np.take: NumPy asks the table what it is, and not the indices."""
    op, of_tables = require(fn), stacking(fn)

    @functools.wraps(fn)
    def take(*args: Any, **kwargs: Any) -> Any:
        if has_tensor((*args[1:2], kwargs.get("indices"))):
            return apply(op, args, kwargs)
        return of_tables(*args, **kwargs)

    return take


@functools.cache
def op_of_the_user(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that the user registered with `gs.op`: its rule holds, and not what its body does."""
    call = through_apply(fn)

    @functools.wraps(fn)
    def apply_it(*args: Any, **kwargs: Any) -> Any:
        if capturing() and not has_tensor((*args, *kwargs.values())):
            refuse(f"calls {fn.__name__}, an op of yours, with nothing that is traced")
        return call(*args, **kwargs)

    return apply_it


def _refused(path: str, fn: Any, why: str = "whose result differs from call to call") -> Any:
    """A function that a capture cannot follow (random numbers, files, settings): it runs, and the capture says so."""

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        refuse(f"calls {path}, {why}")
        return fn(*args, **kwargs)

    return call


def _setting(path: str, fn: Any) -> Any:
    return _refused(path, fn, "a setting that its source would not follow")


@functools.cache
def _asserting(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of np.testing, which looks at numbers and gives none."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        refuse(f"calls np.testing.{fn.__name__}, which looks at what the source does not keep")
        return fn(*unwrap(args), **unwrap(kwargs))

    return call


def _errstate(refused: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """np.errstate: a block without warnings is one of the source, too; what else it may do is a setting."""
    off = capturing() and bool(kwargs) and not args and all(type(v) is str and v == "ignore" for v in kwargs.values())
    return _Quiet(np.errstate(**kwargs)) if off else refused(*args, **kwargs)


class _Quiet:
    """A block whose calls warn of nothing, of which a capture is told."""

    __slots__ = ("_real",)

    def __init__(self, real: Any) -> None:
        self._real = real

    def __enter__(self) -> None:
        self._real.__enter__()
        quieted(1)

    def __exit__(self, *error: Any) -> None:
        quieted(-1)
        self._real.__exit__(*error)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, all of which is such a block."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return call


def _drawing(owner: Any, fn: Any) -> Any:
    """A function that draws random numbers, of which a capture is told."""

    name = fn.__name__
    of_numpy = type(owner).__module__ != "random"  # Python's take lists, and are code that is seen
    placed = name in PLACED and of_numpy

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        code = sys._getframe(1).f_code

        def draw(name: str, *args: Any, **kwargs: Any) -> Any:
            return drew(owner, getattr(owner, name), code, args, kwargs)

        if placed and (x := array_of(name, args, kwargs)) is not None:
            return by_places(owner, name, draw, x, args, kwargs)
        if of_numpy and is_scaled(name, args, kwargs):
            return scaled(name, draw, args, kwargs)
        return drew(owner, fn, code, args, kwargs)

    call.__module__ = __name__  # that of a method of an object is None, as if it were the user's
    return call


def _seeding(fn: Any) -> Any:
    """np.random.default_rng, of whose generators a capture is told."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        return new_generator(fn, *args, **kwargs)

    return call


_OF_SEQUENCES = (np.select, np.choose, np.block, np.piecewise, np.histogramdd)
_CREATION = (
    "zeros", "ones", "empty", "full", "arange", "linspace", "eye", "identity", "zeros_like", "ones_like", "empty_like",
    "full_like", "tri", "indices", "tril_indices", "triu_indices", "diag_indices", "logspace", "geomspace", "bartlett",
    "blackman", "hamming", "hanning", "kaiser", "ix_",
)  # fmt: skip
_FILES = ("load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "save", "savez", "savetxt")
SETTINGS = frozenset(  # NumPy's own, which generated source would not follow; np.errstate it does
    getattr(np, name)
    for name in (
        "seterr", "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "set_printoptions", "get_printoptions",
        "printoptions",
    )
)  # fmt: skip
_SETTINGS_OF_SCIPY = frozenset(
    ["geterr", "seterr", "errstate", "get_workers", "set_workers", "set_backend", "skip_backend", "register_backend",
     "set_global_backend"]
)  # fmt: skip
_DRAW_NOTHING = frozenset(  # functions of packages that also have others
    ["eye", "eye_array", "identity", "kron", "kronsum", "block_diag", "block_array", "bmat", "hstack", "vstack", "tril", "triu",
     "diags", "diags_array", "spdiags", "find", "linear_sum_assignment", "minimum_spanning_tree", "connected_components",
     "shortest_path", "dijkstra", "laplacian", "breadth_first_order", "maximum_flow", "maximum_bipartite_matching",
     "expm_multiply", "ConvexHull", "Delaunay", "KDTree", "cKDTree", "Voronoi", "procrustes", "linkage", "fcluster", "whiten",
     "Bounds", "LinearConstraint", "NonlinearConstraint"]
)  # fmt: skip
_DRAWS_NOTHING = frozenset(  # packages of SciPy
    ["special", "constants", "linalg", "fft", "fftpack", "signal", "integrate", "interpolate", "ndimage", "_lib"]
)


@functools.cache
def _by_identity() -> dict[int, Any]:
    """Return the replacements of functions that do not dispatch, by the identity of the original."""
    found: dict[int, Any] = {
        id(np.array): _array, id(np.asarray): _asarray, id(np.asanyarray): _asarray,
        id(np.ascontiguousarray): _laid_out(np.ascontiguousarray, "c_contiguous"),
        id(np.asfortranarray): _laid_out(np.asfortranarray, "f_contiguous"),
        id(isinstance): _isinstance, id(type): type_of, id(len): length, id(hasattr): _hasattr, id(getattr): _getattr,
        id(np.isscalar): _isscalar, id(print): printed, id(np.vectorize): vectorize, id(np.take): _indexing(np.take),
        **JOINERS,
        id(np.ndenumerate): ndenumerate, id(np.nditer): nditer, id(np.broadcast): broadcast,
        id(np.fromfunction): fromfunction, id(np.fromiter): _fromiter, id(np.require): functools.partial(required, _asarray),
        id(np.asarray_chkfinite): functools.partial(chkfinite, _asarray),
    }  # fmt: skip
    asking: tuple[Any, ...] = (np.array_equal, np.array_equiv, np.allclose, np.isclose)
    found |= {id(fn): stacking(fn) for fn in asking}
    for name in _CREATION:
        found[id(getattr(np, name))] = _creation(getattr(np, name))
    for op in ops():
        if hasattr(op.fn, "_implementation") and "[" not in op.signature:  # no sequence of arrays
            quick = None if op.forms is not None or op.params[0].variadic else op
            found.setdefault(id(op.fn), stacking(op.fn, quick, op))
    for joining in (np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.linalg.multi_dot):
        found[id(joining)] = _joining(joining)
    found[id(np.select)] = _joining(np.select, 2)
    for fn in compositions():
        if hasattr(fn, "_implementation") and fn not in _OF_SEQUENCES:  # NumPy's
            found[id(fn)] = stacking(fn)
    for fn in (np.polyadd, np.polysub, np.polymul, np.polydiv, np.polyder, np.polyint, np.polyval):
        found[id(fn)] = functools.partial(_of_polynomial, found[id(fn)])
    for fn in SETTINGS:
        found[id(fn)] = _setting(f"np.{fn.__name__}", fn)
    found[id(np.errstate)] = functools.partial(_errstate, _setting("np.errstate", np.errstate))
    for name in ("shares_memory", "may_share_memory"):
        found[id(getattr(np, name))] = _refused(f"np.{name}", getattr(np, name), "a question about memory")
    for name in _FILES:
        found[id(getattr(np, name))] = _refused(f"np.{name}", getattr(np, name))
    return found


@functools.cache
def polynomials() -> Library:
    """NumPy's polynomials over what stands in here."""
    return Library(replacement)


def _of_polynomial(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`np.polymul` and the like, by `function` of vectors."""
    return polynomials().of_polynomial(function, *args, **kwargs)


_standing: list[Any] = []


def stands_for(value: Any, ours: Any) -> None:
    """Say what stands in for one more function."""
    _by_identity()[id(value)] = ours
    _standing.append(value)


def _draws(owner: Any) -> bool:
    """Whether methods of `owner` draw random numbers (who has such an object has loaded its module)."""
    classes = [
        getattr(sys.modules.get(module), name, None)
        for module, name in (("random", "Random"), ("numpy.random", "RandomState"), ("numpy.random", "Generator"))
    ]
    return isinstance(owner, tuple([c for c in classes if c is not None]))


def makes_generators(cls: type) -> bool:
    """Whether objects of a class draw random numbers, or give the bits for them."""
    return cls.__module__.startswith("numpy.random") or cls.__module__ == "random"


def may_draw(value: Any) -> bool:
    """Whether something of SciPy's may draw random numbers that a capture would not see, such as `scipy.stats.norm`."""
    module = getattr(value, "__module__", None)
    parts = module.split(".") if isinstance(module, str) else []
    if parts[:1] != ["scipy"] or not parts[1:] or is_known(value):
        return False
    if parts[1] in ("optimize", "sparse", "spatial", "cluster"):
        return getattr(value, "__name__", "") not in _DRAW_NOTHING
    return parts[1] not in _DRAWS_NOTHING or "interpolative" in "".join(parts[2:])


def replacement(value: Any) -> Any:
    """Return the replacement of a function of NumPy, SciPy, math or random inside a transform; None where there is none."""
    found = _by_identity().get(id(value))
    if found is not None:
        return found
    if "cupy" in sys.modules and (found := _of_cupy(value)) is not None:
        return found
    module = getattr(value, "__module__", None)
    if module in ROWS and (found := stand_in(value)) is not None:
        return found
    polynomial = isinstance(module, str) and (module.startswith(POLYNOMIALS) or value is np.poly1d)
    if (polynomial or module == "numpy.fft") and (op := lookup(value)) is not None and op.kind is Kind.creation:
        return _creation(value)
    if polynomial and polynomials().follows(value):
        return polynomials().follow(value)
    if isinstance(module, str) and module.startswith("scipy."):
        if (name := getattr(value, "__name__", None)) in _SETTINGS_OF_SCIPY:
            return _setting(f"{'.'.join(module.split('.')[:2])}.{name}", value)
        found = of_scipy(value)
        plain = type(value) is types.FunctionType or (
            module.startswith("scipy.sparse.csgraph") and type(value) is not type
        )
        return without_rule(value) if found is None and plain and callable(value) else found
    if isinstance(module, str) and module.startswith("numpy.testing") and type(value) is types.FunctionType:
        return _asserting(value)
    owner = getattr(value, "__self__", None)
    if owner is not None and _draws(owner):
        return _drawing(owner, value)
    name = getattr(value, "__name__", None)
    if name in ("seed", "ranf", "sample") and value is getattr(np.random, name):
        return _drawing(getattr(np.random.normal, "__self__", None), value)
    if name == "default_rng" and value is np.random.default_rng:
        return _seeding(value)
    return None


_CONVERSIONS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)


def _of_cupy(value: Any) -> Any:
    """Return the replacement of a function of CuPy's."""
    drawing = names_of_cupy(value)
    if drawing is not None:
        return _refused(drawing, value)
    fn = numpys_name(value)
    if fn is None:
        return None
    found = replacement(fn)
    made = on_device(fn if found is None else found)
    return from_host(value, made) if fn in _CONVERSIONS else made


def _isinstance(obj: Any, classes: Any) -> bool:
    """A Tensor is an instance of whatever its value is one of."""
    if classes is type_of:
        classes = type
    elif isinstance(classes, tuple) and type_of in classes:
        classes = tuple([type if c is type_of else c for c in classes])
    if not isinstance(obj, Operand):
        return isinstance(obj, classes)
    return isinstance(obj._value, classes) or _asks_for_tensors(classes, obj)


def _asks_for_tensors(classes: Any, obj: Any) -> bool:
    if isinstance(classes, tuple):
        return any(_asks_for_tensors(c, obj) for c in classes)
    return isinstance(classes, type) and issubclass(classes, Operand) and isinstance(obj, classes)


def type_of(*args: Any, **options: Any) -> Any:
    """The type of a Tensor is that of its value."""
    if len(args) == 1 and isinstance(args[0], Operand):
        return type(args[0]._value)
    if len(args) == 1 and hasattr(type(args[0]), "__gradscribe_int__"):
        return int
    if len(args) == 1 and "__gradscribe_watched__" in vars(type(args[0])):  # a capture's handle of an instance
        return args[0].__class__
    return type(*args, **options)


def _hasattr(obj: Any, name: str) -> bool:
    """A Tensor has the attributes of its value."""
    return hasattr(obj, name) and (not isinstance(obj, Operand) or hasattr(obj._value, name))


def _getattr(obj: Any, name: str, *default: Any) -> Any:
    """A number that is traced has no attributes of arrays."""
    if default and isinstance(obj, Operand) and not hasattr(obj._value, name):
        return default[0]
    return getattr(obj, name, *default)


def _isscalar(obj: Any) -> bool:
    """A Tensor is a scalar where its value is one."""
    return np.isscalar(obj._value if isinstance(obj, Operand) else obj)


def length(obj: Any) -> int:
    """A Tensor's length, which remembers while capturing that it is one (len itself gives a plain int)."""
    if not isinstance(obj, Operand):
        return len(obj)
    return obj.shape[0] if obj.shape else len(obj._value)  # which raises
