"""Random generators in a capture: handles whose draws become calls of the graph, and copies from before the run."""

from __future__ import annotations

import copy
import functools
import random
import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.ir.graph import Call, Graph, Type, Value, type_of
from ....runtime.ir.opcodes import all_calls, regions_of, with_regions
from ....runtime.registry import require
from ....runtime.rules.drawing import DRAW, draw, seeded
from ....runtime.rules.messages import PRINTS, silent
from ....tracer.core.dispatch import has_tensor, unwrap
from ....tracer.core.site import calls_to, is_ours
from ....tracer.core.tensor_base import Operand, levels_of, wrap
from ....tracer.random.draws import PLACED, SCALED, array_of, by_places, is_scaled, scaled
from ...trees import flatten_row
from ...user_code.scope import Path, watched

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["GENERATOR", "Generators", "copies_of", "digest_of", "is_generator", "modules_of", "muted", "privately"]

GENERATOR = Type("generator", np.dtype(object), (), ())
_NOTHING = Type("python", np.dtype(object), (), ())
_NUMPYS = frozenset(
    ["beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel",
     "hypergeometric", "laplace", "logistic", "lognormal", "logseries", "multinomial", "multivariate_hypergeometric",
     "multivariate_normal", "negative_binomial", "noncentral_chisquare", "noncentral_f", "normal", "pareto", "permutation",
     "permuted", "poisson", "power", "random", "rayleigh", "standard_cauchy", "standard_exponential", "standard_gamma",
     "standard_normal", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull", "zipf", "integers",
     "rand", "randn", "randint", "random_sample", "random_integers", "tomaxint", "seed", "ranf", "sample"]
)  # fmt: skip
_PYTHONS = frozenset(
    ["random", "uniform", "triangular", "randint", "randrange", "getrandbits", "gauss", "normalvariate", "lognormvariate",
     "expovariate", "vonmisesvariate", "gammavariate", "betavariate", "paretovariate", "weibullvariate", "seed"]
)  # fmt: skip
_HOMES = ("numpy.random._generator", "numpy.random.mtrand", "random")


def is_generator(value: Any) -> bool:
    """Whether a value is a generator of random numbers: NumPy's two kinds, and Python's."""
    cls = type(value)
    return cls.__module__ in _HOMES and cls.__name__ in ("Generator", "RandomState", "Random")


def copies_of(values: dict[Any, Any], memo: dict[int, Any] | None = None) -> dict[Any, Any]:
    """The same values, with copies in place of generators; those that share their state go on sharing it."""
    memo = {} if memo is None else memo
    return {k: copy.deepcopy(v, memo) if is_generator(v) else v for k, v in values.items()}


def modules_of(*graphs: Graph) -> dict[str, Any]:
    """The generators behind the modules that graphs draw from by name."""
    names = {
        call.args[0]
        for graph in graphs
        for call in all_calls(graph)
        if call.op is DRAW and isinstance(call.args[0], str)
    }
    return {name: _module(name) for name in sorted(names)}


def _module(name: str) -> Any:
    draws: Any = np.random.normal if name == "np.random" else random.random
    return draws.__self__


def digest_of(value: Any) -> str:
    """A text that tells a value from others, and a generator from itself in another state."""
    if not is_generator(value):
        return repr(value)
    return repr(value.getstate() if isinstance(value, random.Random) else _bits(value).state)


def left_another_state(found: Any, expected: Any) -> bool:
    """Whether two values are generators, and would not go on with the same numbers."""
    if not is_generator(expected):
        return False
    if isinstance(expected, np.random.RandomState):  # which may hold one number back
        return repr(found.get_state(legacy=False)) != repr(expected.get_state(legacy=False))
    return digest_of(found) != digest_of(expected)


class _Shadow:
    """A module with something else under one of its names."""

    def __init__(self, module: Any, **others: Any) -> None:
        self.__dict__.update(others)
        self.__dict__["__gradscribe_module__"] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["__gradscribe_module__"], name)


def muted(function: Any, generators: dict[str, Any]) -> Any:
    """The function of a source that prints nothing, and draws from these generators in place of those of the modules."""
    own = {name: made for name, made in generators.items() if name in ("np.random", "random")}
    if not own and "print" not in function.__code__.co_names:
        return function
    space = {**function.__globals__, "print": silent}
    if "np.random" in own:
        numpy = space["np"]
        space["np"] = _Shadow(numpy, random=_Shadow(numpy.random, **_methods(own["np.random"])))
    if "random" in own:
        space["random"] = own["random"]
    made = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _methods(generator: Any) -> dict[str, Any]:
    found = {name: getattr(generator, name) for name in _NUMPYS if hasattr(generator, name)}
    return found | dict.fromkeys(("ranf", "sample"), generator.random_sample)


def privately(graph: Graph) -> Graph:
    """The graph, printing nothing, and drawing from copies of the modules' generators."""
    own = copies_of(modules_of(graph))

    def quietly(call: Call) -> Call:
        if call.op is DRAW and isinstance(call.args[0], str):
            return call.with_args((own[call.args[0]], *call.args[1:]))
        if call.op in PRINTS:
            return Call(require(silent), call.args, call.outs)
        made: Call = with_regions(call, [over(region) for region in regions_of(call)])
        return made

    def over(graph: Graph) -> Graph:
        return Graph(graph.inputs, list(map(quietly, graph.calls)), graph.outputs)

    return over(graph)


class Generators:
    """The generators that a capture meets."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.before: dict[int | str, Any] = {}  # by identity, and of modules by name: a copy from before the first draw
        self._memo: dict[int, Any] = {}
        self._handles: dict[int, tuple[Any, Any]] = {}

    def handle(self, real: Any, ir: Value) -> Any:
        """Return a stand-in for a generator: it draws from the same state, and each draw is recorded."""
        known = self._handles.get(id(real))
        if known is not None:
            return known[1]
        self.before[id(real)] = copy.deepcopy(real, self._memo)
        cls: Any = type(real)
        space = {"__getattribute__": lambda _, name: self._read(real, ir, name), "__gradscribe_watched__": (real,)}
        below = type(cls.__name__, (cls,), space)
        made = cls.__new__(below) if cls is random.Random else below(_bits(real))  # Random() would seed it
        self._handles[id(real)] = (real, made)
        return made

    def default(self, module: Any) -> Any:
        """Return a stand-in for the generator of gradscribe, `default_generator` of a module."""
        real = module.current()
        known = self._handles.get(id(real))
        if known is not None:
            return known[1]
        if self.capture.failed is not None:
            return real
        return self.capture.generator(
            real, Path(("attribute", module, "default_generator"), words="gs.default_generator")
        )

    def is_known(self, real: Any) -> bool:
        """Whether the generator stands in the graph already."""
        return id(real) in self._handles

    def _read(self, real: Any, ir: Value, name: str) -> Any:
        found = getattr(real, name)
        if (name in PLACED or name in SCALED) and type(real) is not random.Random and self.capture.failed is None:
            return self._reworking(real, ir, found)
        if name in (_PYTHONS if type(real) is random.Random else _NUMPYS) and self.capture.failed is None:
            return self._drawing(ir, found)
        if name != "__class__" and not self.capture._instances.over:
            self.capture.refuse(f"uses `{name}` of a {type(real).__name__}")
        return found

    def _drawing(self, ir: Value, found: Any) -> Callable[..., Any]:
        @functools.wraps(found, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.draws(ir, found, sys._getframe(1).f_code, args, kwargs)

        return call

    def _reworking(self, real: Any, ir: Value, found: Any) -> Callable[..., Any]:
        """A method whose draws may depend on what is traced: they are made of draws that do not."""
        name = found.__name__

        @functools.wraps(found, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            code = sys._getframe(1).f_code

            def draw(name: str, *args: Any, **kwargs: Any) -> Any:
                return self.draws(ir, getattr(real, name), code, args, kwargs)

            if name in PLACED and (x := array_of(name, args, kwargs)) is not None:
                return by_places(real, name, draw, x, args, kwargs)
            if is_scaled(name, args, kwargs):
                return scaled(name, draw, args, kwargs)
            if name not in _NUMPYS:
                self.capture.refuse(f"uses `{name}` of a {type(real).__name__}")
                return found(*args, **kwargs)
            return self.draws(ir, found, code, args, kwargs)

        return call

    def of_module(
        self, owner: Any, found: Any, code: types.CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a function of `np.random` or `random`, which draws from the module's own generator."""
        module = "random" if isinstance(owner, random.Random) else "np.random"
        name = found.__name__
        if owner is not _module(module) or name not in (_PYTHONS if module == "random" else _NUMPYS):
            self.capture.refuse(f"calls {type(owner).__name__}.{name}, whose result differs from call to call")
        return self.draws(module, found, code, args, kwargs)

    def draws(
        self, ir: Value | str, found: Any, code: types.CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Draw, and write it down; `code` is what calls."""
        capture = self.capture
        if capture.regions is not None:
            capture.regions.acts()
        leaves = flatten_row((*args, *kwargs.values()))[0]
        traced = has_tensor(leaves)
        reason = None
        if code not in capture.findings.codes and not is_ours(code.co_filename):
            reason = f"hands a generator of random numbers to `{code.co_name}`"
        elif "out" in kwargs or (found.__name__ == "seed" and not (args or kwargs)):
            reason = f"calls {found.__name__} of a generator in a way that its source would not follow"
        elif traced and ((isinstance(ir, str) and ir == "random") or capture._catching):
            reason = f"draws with `{found.__name__}` by a traced value"
        elif any(isinstance(v, Operand) and (v._node is not None or levels_of(v)) for v in leaves):
            reason = f"draws with `{found.__name__}` by a value that is differentiated"
        if reason is not None:
            capture.refuse(reason)
        if capture.failed is not None:
            return found(*args, **kwargs)
        if isinstance(ir, str) and ir not in self.before:
            self.before[ir] = copy.deepcopy(_module(ir), self._memo)
        result = found(*[unwrap(a) for a in args], **{k: unwrap(v) for k, v in kwargs.items()})
        if result is not None and type_of(result).dtype.kind not in "biufc":
            capture.refuse(f"draws something else than numbers with `{found.__name__}`")
            return result
        if traced and _is_sized(result, leaves, kwargs):
            capture.refuse(f"draws as many numbers with `{found.__name__}` as a traced value says")
            return result
        made = None if result is None else wrap(result)
        out = Value(_NOTHING if result is None else type_of(result))
        self._record(draw, (ir, found.__name__, args, tuple(kwargs.items())), out, result)
        if made is not None:
            made._ir = out
        return made

    def new(self, *args: Any, **kwargs: Any) -> Any:
        """`np.random.default_rng(seed)` in the user's code."""
        if len(args) == 1 and not kwargs and any(args[0] is made for _, made in self._handles.values()):
            return args[0]
        seeds = [*args, *kwargs.values()]
        if len(seeds) != 1 or type(seeds[0]) is not int:
            self.capture.refuse("calls np.random.default_rng by something else than one int")
        real = np.random.default_rng(*args, **kwargs)
        if self.capture.failed is not None:
            return real
        out = Value(GENERATOR)
        self._record(seeded, (seeds[0],), out)
        return self.handle(real, out)

    def _record(self, fn: Any, args: tuple[Any, ...], out: Value, result: Any = None) -> None:
        capture = self.capture
        site = capture.site()
        out.sites = (
            () if site is None or capture.section.backward else (site, *calls_to(site.code, capture.findings.codes))
        )
        bound = tuple([capture.operand(a) for a in args])
        call = capture.new_call(require(fn), bound, (out,), site)
        capture.findings.graph.calls.append(call)
        if capture.regions is not None:
            if capture.regions.frames:
                capture.name(call)
            capture.regions.note(call, [result])

    def states(self) -> dict[int | str, Any]:
        """Copies of the generators met so far, as they are now."""
        memo: dict[int, Any] = {}
        return {name: copy.deepcopy(self._real(name), memo) for name in self.before}

    def take_back(self, states: Mapping[int | str, Any] | None = None) -> None:
        """Put all generators into the states from before the run, which is to be forgotten; into `states`, if those are given."""
        for name, first in self.before.items():
            real, state = self._real(name), first if states is None else states.get(name, first)
            if isinstance(real, random.Random):
                real.setstate(state.getstate())
            elif isinstance(real, np.random.RandomState):
                real.set_state(state.get_state())
            else:
                real.bit_generator.state = state.bit_generator.state

    def _real(self, name: int | str) -> Any:
        return _module(name) if isinstance(name, str) else self._handles[name][0]

    def plain(self, value: Any) -> Any:
        """The user's generator behind a handle."""
        real = watched(value)
        return real if is_generator(real) else value


def _is_sized(result: Any, leaves: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the shape of what was drawn may rest on the value of a traced argument."""
    counts = [v._value for v in leaves if isinstance(v, Operand) and not np.shape(v._value) and v.dtype.kind in "iu"]
    return has_tensor(flatten_row((kwargs.get("size"),))[0]) or any(n in np.shape(result) for n in counts)


def _bits(generator: Any) -> Any:
    return generator.bit_generator if hasattr(generator, "bit_generator") else generator._bit_generator
