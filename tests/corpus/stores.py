"""Places outside a function where user code stores what it computed, and what stands there when the transform has ended."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import itertools
import linecache
import pathlib
import re
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gradscribe as gs

from ways_out import HEAD, POINTS

__all__ = ["MODES", "STORES", "VALUES", "Store", "described", "fault", "values_for"]


@dataclasses.dataclass(frozen=True)
class Store:
    """Code at module level, the lines of `f` that store `v`, and an expression for what is held afterwards."""

    name: str
    top: str
    lines: str
    held: str
    hashable: bool = False  # whether it takes only what can be a key


# What is stored, of the scalar `t` and the array `x`; those before the bar can be keys.
HASHABLE = ("t", "float(t)", "x[1]", "(t, float(t))", "math.exp(t)", "t > 0.4", "int(t * 10)", "t.item()")
VALUES = (
    *HASHABLE,
    "x * 2.0",
    "x",
    "[t, x * 1.0]",
    '{"a": float(t), "b": [x[0]]}',
    "np.array([t, 1.0])",
    "np.zeros(2) + t",
)

# Each: its name, code at module level, after `>>>` what `f` does with `v`, after `===` what is held. (key): only what can be one.
_STORES = """
## append
log = []
>>>
log.append(v)
===
log
## append, bound before
log = []
push = log.append
>>>
push(v)
===
log
## append by the class
log = []
>>>
list.append(log, v)
===
log
## extend
log = []
>>>
log.extend([v, v])
===
log
## insert
log = []
>>>
log.insert(0, v)
===
log
## rolling list
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
log.pop(0)
===
log
## rolling list, two a call
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
log.append(2.0)
if len(log) > 3:
    log.pop(0)
    log.pop(0)
===
log
## rolling list of parts
log = [{}, {}]
>>>
log.append({"v": v})
log.pop(0)
===
log
## rolling list, del
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
del log[0]
===
log
## rolling list, del of a slice
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
log.append(v)
del log[:-3]
===
log
## rolling list, operator.delitem
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
operator.delitem(log, 0)
===
log
## rolling list, remove
log = [1.0, 2.0, 3.0]
>>>
log.insert(0, 5.0)
log.append(v)
log.remove(5.0)
===
log
## rolling list, pop by the class
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
list.pop(log, 0)
===
log
## rolling list, pop bound before
log = [1.0, 2.0, 3.0]
drop = log.pop
>>>
log.append(v)
drop(0)
===
log
## rolling list, a slice of itself
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
log[:] = log[-3:]
===
log
## rolling list of an object
class C:
    def __init__(self):
        self.log = [1.0, 2.0]
    def keep(self, v):
        self.log.append(v)
        self.log.pop(0)
c = C()
>>>
c.keep(v)
===
c
## rolling list of a subclass
class Log(list):
    def keep(self, v):
        self.append(v)
        self.pop(0)
log = Log([1.0, 2.0])
>>>
log.keep(v)
===
list(log)
## rolling list, reversed
log = [1.0, 2.0, 3.0]
>>>
log.append(v)
log.reverse()
===
log
## rolling list, sorted
log = [(1.0, 0), (2.0, 0)]
>>>
log.append((-1.0, v))
log.sort(key=lambda pair: pair[0])
===
log
## sorted by value
log = [1.0, 2.0, 3.0]
>>>
log.append(float(t))
log.sort()
===
log
## best few, a heap
log = [(0.0, 0), (9.0, 1)]
>>>
log.append((-float(len(log)), v))
heapq.heapify(log)
===
log
## item moved
log = [1.0, 2.0, 3.0]
>>>
log[2] = v
log.pop(0)
log.append(1.0)
===
log
## deque, full
log = collections.deque([1.0, 2.0, 3.0], maxlen=3)
>>>
log.append(v)
===
log
## deque, full on the left
log = collections.deque([1.0, 2.0], maxlen=2)
>>>
log.append(v)
log.appendleft(v)
log.rotate(1)
===
log
## item of a list
log = [None, None]
>>>
log[1] = v
===
log
## slice of a list
log = []
>>>
log[len(log):] = [v]
===
log
## list +=
log = []
>>>
same = log
same += [v]
===
log
## map of append
log = []
>>>
list(map(log.append, [v]))
===
log
## append in a comprehension
log = []
>>>
[log.append(w) for w in (v, v)]
===
log
## item of a dict
log = {}
>>>
log["a"] = v
===
log
## update
log = {}
>>>
log.update(a=v)
===
log
## dict |=
log = {}
def keep(v):
    global log
    log |= {"a": v}
>>>
keep(v)
===
log
## setdefault
log = {}
>>>
log.setdefault("a", []).append(v)
===
log
## nested containers
log = {"a": [{}], "b": ()}
>>>
log["a"][0][len(log["a"][0])] = (v, [v])
===
log
## defaultdict of lists
log = collections.defaultdict(list)
>>>
log["loss"].append(v)
===
log
## ordered dict
log = collections.OrderedDict()
>>>
log[len(log)] = v
===
log
## deque
log = collections.deque(maxlen=2)
>>>
log.append(v)
===
log
## deque, appendleft
log = collections.deque()
>>>
log.appendleft(v)
===
log
## user list
log = collections.UserList()
>>>
log.append(v)
===
log.data
## set (key)
log = set()
>>>
log.add(v)
===
log
## key of a dict (key)
log = {}
>>>
log[v] = len(log)
===
log
## part of a key (key)
log = {}
>>>
log[("a", v)] = v
===
log
## fromkeys (key)
log = [None]
>>>
log[0] = dict.fromkeys([v])
===
log
## attribute
class C: pass
c = C()
>>>
c.last = v
===
c
## attribute by setattr
class C: pass
c = C()
>>>
setattr(c, "last", v)
===
c
## attribute by __dict__
class C: pass
c = C()
>>>
c.__dict__["last"] = v
===
c
## attribute of self
class C:
    def keep(self, v):
        self.last = v
        return self
c = C()
>>>
c.keep(v)
===
c
## list of self
class C:
    def __init__(self):
        self.history = []
    def keep(self, v):
        self.history.append(v)
c = C()
>>>
c.keep(v)
===
c
## attribute of an attribute
class C: pass
c = C()
c.inner = C()
>>>
c.inner.last = v
===
c
## attribute of an object in a list
class C: pass
cs = [C(), C()]
>>>
for c in cs:
    c.last = v
===
cs
## class attribute
class C:
    last = None
>>>
C.last = v
===
C.last
## class attribute, by a class method
class C:
    log = []
    @classmethod
    def keep(cls, v):
        cls.log.append(v)
>>>
C.keep(v)
===
C.log
## slots
class C:
    __slots__ = ("last",)
c = C()
>>>
c.last = v
===
c.last
## dataclass
@dataclasses.dataclass
class C:
    last: object = None
    log: list = dataclasses.field(default_factory=list)
c = C()
>>>
c.last = v
c.log.append(v)
===
c
## new objects in a list
@dataclasses.dataclass
class Step:
    loss: object
    more: dict
log = []
>>>
log.append(Step(v, {"v": v}))
===
log
## new frozen objects in a list
@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    loss: object
log = []
>>>
log.append(Step(v))
===
[step.loss for step in log]
## new named tuples in a list
class Step(typing.NamedTuple):
    loss: object
    k: int
log = []
>>>
log.append(Step(v, 1))
===
[tuple(step) for step in log]
## new plain objects in a dict
class Step:
    def __init__(self, v):
        self.v, self.vs = v, [v]
log = {}
>>>
log["step"] = Step(v)
===
log
## namespace
c = types.SimpleNamespace()
>>>
c.last = v
===
c
## property setter
class C:
    @property
    def v(self):
        return self._v
    @v.setter
    def v(self, v):
        self._v = v
c = C()
>>>
c.v = v
===
c
## cached property
class C:
    v = None
    @functools.cached_property
    def twice(self):
        return [self.v, self.v]
c = C()
>>>
c.__dict__.pop("twice", None)
c.v = v
c.twice
===
c
## __setattr__
class C:
    def __init__(self):
        object.__setattr__(self, "d", {})
    def __setattr__(self, name, v):
        self.d[name] = v
c = C()
>>>
c.last = v
===
c
## __setitem__
class C:
    def __init__(self):
        self.d = {}
    def __setitem__(self, name, v):
        self.d[name] = v
c = C()
>>>
c["last"] = v
===
c
## __call__
class C:
    def __init__(self):
        self.seen = []
    def __call__(self, v):
        self.seen.append(v)
        return v
c = C()
>>>
c(v)
===
c
## global
last = None
def keep(v):
    global last
    last = v
>>>
keep(v)
===
last
## global by globals()
last = None
>>>
globals()["last"] = v
===
last
## global of a module
last = None
>>>
sys.modules[__name__].last = v
===
last
## nonlocal
def make():
    last = None
    def keep(v):
        nonlocal last
        last = v
    def get():
        return last
    return keep, get
keep, get = make()
>>>
keep(v)
===
get()
## list of a closure
def make():
    seen = []
    def keep(v):
        seen.append(v)
    return keep, seen
keep, seen = make()
>>>
keep(v)
===
seen
## default argument
def keep(v, seen=[]):
    seen.append(v)
    return seen
>>>
keep(v)
===
keep.__defaults__[0]
## keyword default
def keep(v, *, seen={}):
    seen["v"] = v
>>>
keep(v)
===
keep.__kwdefaults__["seen"]
## function attribute
def keep(v):
    keep.last = v
>>>
keep(v)
===
keep.last
## attribute of f
>>>
f.last = v
===
f.last
## loop target
class C: pass
c = C()
>>>
for c.last in [v]:
    pass
===
c
## unpacking
class C: pass
c, log = C(), {}
>>>
c.last, log["a"] = v, v
===
(c, log)
## with target
class C: pass
c = C()
>>>
with contextlib.nullcontext(v) as c.last:
    pass
===
c
## object array
log = np.empty(2, object)
>>>
log[0] = v
===
log[0]
## operator.setitem
log = {}
>>>
operator.setitem(log, "a", v)
===
log
## heap (key)
log = []
>>>
heapq.heappush(log, (len(log), v))
===
log
## queue
log = queue.Queue()
>>>
log.put(v)
===
list(log.queue)
## context variable
var = contextvars.ContextVar("var")
>>>
var.set(v)
===
var.get(None)
## thread-local
log = threading.local()
log.seen = []
>>>
log.seen = [v]
===
list(vars(log).get("seen", []))
## from another thread
log = []
>>>
th = threading.Thread(target=log.append, args=(v,))
th.start()
th.join()
===
log
## lambda
log = []
>>>
log.append(lambda: v)
===
[g() for g in log]
## closure of a closure
log = []
def outer(v):
    def inner():
        return [v]
    return inner
>>>
log.append(outer(v))
===
[g() for g in log]
## partial
log = []
>>>
log.append(functools.partial(dict, a=v))
===
[g() for g in log]
## bound method
class C:
    def __init__(self, v):
        self.v = v
    def get(self):
        return self.v
log = []
>>>
log.append(C(v).get)
===
[g() for g in log]
## default argument of a new function
log = []
>>>
def late(w=v):
    return w
log.append(late)
===
[g() for g in log]
## generator left open
log = []
def numbers(v):
    yield v
    yield [v]
>>>
g = numbers(v)
next(g)
log.append(g)
===
[next(g, None) for g in log[-1:]]
## iterator left open
log = []
>>>
log.append(iter([v, v]))
===
[next(g, None) for g in log[-1:]]
## zip left open
log = []
>>>
log.append(zip([v], [1]))
===
[next(g, None) for g in log[-1:]]
## tuple iterator left open
log = []
>>>
it = iter((v, v, v))
next(it)
log.append(it)
===
[next(g, None) for g in log[-1:]]
## enumerate left open
log = []
>>>
log.append(enumerate([v, v]))
===
[next(g, None) for g in log[-1:]]
## reversed left open
log = []
>>>
log.append(reversed([v, v]))
===
[next(g, None) for g in log[-1:]]
## map left open
log = []
>>>
log.append(map(lambda a: [a], (v, v)))
===
[next(g, None) for g in log[-1:]]
## chain left open
log = []
>>>
log.append(itertools.chain([v], [v]))
===
[next(g, None) for g in log[-1:]]
## zip begun
log = []
>>>
pairs = zip((v, v), iter([v, v]))
next(pairs)
log.append(pairs)
===
[next(g, None) for g in log[-1:]]
## context variable, bound before
var = contextvars.ContextVar("var")
put = var.set
>>>
put([v])
===
var.get(None)
## cache, a result
box = []
@functools.cache
def cached(k):
    return box[0]
>>>
box[:] = [v]
cached.cache_clear()
cached(1)
===
cached(1)
## cache, a result in a tuple
box = []
class C: pass
c = C()
@functools.cache
def cached(k):
    return (k, box[0]), {"v": box[0]}
>>>
box[:] = [v]
cached.cache_clear()
c.last = cached(1)
===
(cached(1), c)
## logging record
class Keep(logging.Handler):
    def __init__(self):
        super().__init__()
        self.seen = []
    def emit(self, record):
        self.seen.append(record)
keep = Keep()
logger = logging.Logger("stores")
logger.addHandler(keep)
>>>
logger.warning("loss %s %s", v, 1)
===
[record.args for record in keep.seen]
## weak values
class C: pass
alive, log = [], weakref.WeakValueDictionary()
>>>
c = C()
c.v = v
alive.append(c)
log[len(alive)] = c
===
[c.v for c in log.values()]
## weak keys
class C: pass
c, log = C(), weakref.WeakKeyDictionary()
>>>
log[c] = v
===
list(log.values())
## exception kept
log = []
>>>
try:
    raise ValueError("bad", v)
except ValueError as e:
    log.append(e)
===
[e.args for e in log]
## attribute of an exception kept
class Bad(Exception):
    def __init__(self, v):
        self.v = v
log = []
>>>
try:
    raise Bad(v)
except Bad as e:
    log.append(e)
===
[e.v for e in log]
## lru_cache, a key (key)
@functools.lru_cache
def twice(v):
    return (v, v)
>>>
twice(v)
===
[]
## lru_cache, a result
box = []
@functools.lru_cache
def cached(k):
    return [k, *box]
>>>
box[:] = [v]
cached.cache_clear()
cached(1)
===
cached(1)
## one object twice
log = []
>>>
w = [v]
log.append(w)
log.append(w)
===
(log, log[0] is log[1])
## one dict in two places
log, last = [], {}
>>>
w = {"v": v}
log.append((w, 1))
last["w"] = w
===
(log, last["w"] is log[0][0])
## written after it was stored
log = []
>>>
o = np.zeros(2)
log.append(o)
o[0] = t
o += 1.0
===
log
## a view beside its base
log = []
>>>
o = np.zeros(3) + t
log.append((o, o[1:]))
o[1] = 5.0
===
(log, [np.shares_memory(a, b) for a, b in log])
## running total
class C:
    total = 0.0
c = C()
>>>
c.total = c.total + t
c.total += float(t)
===
c
## running array
total = np.zeros(3)
>>>
total[:] = total * 0.5 + x
total[0] = t
===
total
## best so far
best = {"loss": math.inf, "x": None}
>>>
if float(t) < best["loss"]:
    best["loss"], best["x"] = float(t), x.copy()
===
best
## history and its length
history, count = [], [0]
>>>
count[0] += 1
history.append((count[0], v))
===
(history, count)
## text
log = []
>>>
log.append(f"{t:.6f} {float(t):.3e}")
===
log
## previous value read again
memory = {"last": 1.0}
>>>
r = r * memory["last"]
memory["last"] = float(t)
===
memory
"""


def _stores(text: str) -> Iterator[Store]:
    for block in text.strip().removeprefix("## ").split("\n## "):
        name, _, code = block.partition("\n")
        top, _, rest = code.partition(">>>\n")
        lines, _, held = rest.partition("\n===\n")
        yield Store(name.removesuffix(" (key)"), top, lines, held.strip(), name.endswith(" (key)"))


STORES = {store.name: store for store in _stores(_STORES)}

_TEXT = """
def f(x):
    t = np.sum(x * x) * 0.1 + x[0] * x[1]
    r = t * 1.0
    v = {VALUE}
    {LINES}
    {END}
    return r * 1.7 + np.sum(x) * 0.3

def held():
    return {HELD}
"""

Run = Callable[[Any, Any], Any]
_NUMBER = itertools.count()


def _in_a_thread(transformed: Any, x: Any) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            transformed(x)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def _in_a_generator(transformed: Any, x: Any) -> None:
    def results() -> Iterator[Any]:
        yield transformed(x)
        yield transformed(x)

    next(results())  # and the generator is left open


def _nested(f: Any) -> Any:
    return gs.grad(lambda y: np.sum(gs.grad(f)(y) ** 2))


# How the function is run: how it is transformed, how it is called, and whether it ends by an exception.
MODES: dict[str, tuple[Callable[[Any], Any], Run, bool]] = {
    "eager": (gs.value_and_grad, lambda g, x: g(x), False),
    "compiled": (lambda f: gs.compile(gs.value_and_grad(f)), lambda g, x: g(x), False),
    "raising": (gs.value_and_grad, lambda g, x: g(x), True),
    "raising, compiled": (lambda f: gs.compile(gs.value_and_grad(f)), lambda g, x: g(x), True),
    "nested": (_nested, lambda g, x: g(x), False),
    "forward": (lambda f: lambda x: gs.jvp(f, (x,), (np.ones(3),)), lambda g, x: g(x), False),
    "in a thread": (gs.grad, _in_a_thread, False),
    "in a generator": (gs.grad, _in_a_generator, False),
    "compiled without a gradient": (gs.compile, lambda g, x: g(x), False),
}


def _load(text: str, path: pathlib.Path) -> types.ModuleType:
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    path.write_text(text)
    linecache.checkcache(str(path))
    exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    return module


def _acting(value: Any) -> Any:
    """What a Tensor out of our reach stands for, where its graph is cut; others as they are."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_acting, value))
    if isinstance(value, dict):
        return {_acting(k): _acting(v) for k, v in list(value.items())}
    if isinstance(value, gs.Tensor) and not value.requires_grad:
        return np.asarray(value) if value.ndim else value.item()
    return value.item() if isinstance(value, np.generic) else value


def described(value: Any, seen: dict[int, int] | None = None) -> Any:
    """A value with the types of all that is in it, to be compared; numbers to 12 digits."""
    seen = {} if seen is None else seen
    if isinstance(value, gs.Tensor):
        return f"a Tensor, {value!r}"  # which stands in no plain run
    if isinstance(value, (float, np.floating)) and type(value).__module__ in ("builtins", "numpy"):
        return type(value).__name__, f"{float(value):.12g}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        number = seen.setdefault(id(value), len(seen))  # which of them are one array
        return "array", number, value.dtype.str, value.shape, [f"{v:.12g}" for v in value.ravel().tolist()]
    if isinstance(value, (list, tuple, collections.deque, np.ndarray)):
        return type(value).__name__, [described(v, seen) for v in value]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(map(str, [described(v, seen) for v in value]))
    if isinstance(value, dict):
        return type(value).__name__, [(described(k, seen), described(v, seen)) for k, v in list(value.items())]
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}", str(value)
    if isinstance(value, (str, int, type(None))):
        return type(value).__name__, str(value)
    if isinstance(value, types.FunctionType):
        return "function", value.__name__
    return type(value).__name__, described(dict(vars(value)), seen)


def _tensors(module: types.ModuleType) -> list[str]:
    """Where Tensors can be reached from a module's names, by whichever way objects hold each other."""
    found: list[str] = []
    queue: list[tuple[Any, str]] = [
        (value, name) for name, value in list(vars(module).items()) if not name.startswith("__")
    ]
    met = {id(vars(module)), id(sys.modules), id(vars(gs))}
    while queue and len(met) < 20_000:
        thing, way = queue.pop()
        if id(thing) in met or isinstance(
            thing, (types.ModuleType, types.CodeType, types.FrameType, types.TracebackType)
        ):
            continue
        met.add(id(thing))
        if isinstance(thing, gs.Tensor):
            found.append(way)
            continue
        if type(thing).__module__.startswith("gradscribe.transforms"):
            continue  # the scope, from which everything that any test has read can be reached
        origin = getattr(thing, "__module__", None)
        if isinstance(origin, str) and origin != module.__name__ and isinstance(thing, (type, types.FunctionType)):
            continue  # what is imported
        queue += [
            (inner, f"{way} > {type(inner).__name__}") for inner in gc.get_referents(thing) if inner is not vars(module)
        ]
    return found


_OUT_OF_REACH = ("generator left open",)  # what they hold may act as its number instead


def fault(store: Store, value: str, mode: str, folder: pathlib.Path, calls: int = 3) -> str | None:
    """What is wrong with what is held after each of several calls, against the same run on plain NumPy; None: nothing."""
    transform, call, raising = MODES[mode]
    lines = store.lines.replace("\n", "\n    ")
    text = HEAD + store.top
    body = {"VALUE": value, "LINES": lines, "HELD": store.held, "END": 'raise OSError("ended")' if raising else "pass"}
    tail = _TEXT
    for name, inner in body.items():
        tail = tail.replace("{" + name + "}", inner)
    stem = f"store_{next(_NUMBER)}"
    plain, traced = (_load(text + tail, folder / f"{stem}_{kind}.py") for kind in ("plain", "traced"))
    try:
        with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            transformed = transform(traced.f)
            for k in range(calls):
                x = POINTS[k % len(POINTS)]
                with contextlib.suppress(OSError):
                    call(plain.f, x.copy())
                try:
                    call(transformed, x.copy())
                except OSError:
                    if not raising:
                        raise
                reach = _acting if store.name in _OUT_OF_REACH else lambda held: held
                expected, found = (described(reach(module.held())) for module in (plain, traced))
                if expected != found:
                    return f"call {k + 1}: held {found}\n plain NumPy {expected}"
                if store.name not in _OUT_OF_REACH and (ways := _tensors(traced)):
                    return f"call {k + 1}: Tensors at {ways[:3]}"
        lossy = [w for w in said if not issubclass(w.category, gs.EagerWarning) or "please report" in str(w.message)]
        return f"warned: {lossy[0].message}" if lossy else None
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    finally:
        for module in (plain, traced):
            sys.modules.pop(module.__name__, None)


def values_for(store: Store) -> tuple[str, ...]:
    """What can be stored there; one value where the lines do not mention it."""
    if not re.search(r"\bv\b", store.lines):
        return ("t",)
    return HASHABLE if store.hashable else VALUES
