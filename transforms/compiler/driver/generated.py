"""Generated source as a function: its namespace, the file where debuggers find it, and the checks that are due."""

from __future__ import annotations

import ast
import atexit
import functools
import itertools
import linecache
import os
import shutil
import sys
import tempfile
import types
import weakref
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.ir.graph import Call, Graph
from ....runtime.ir.opcodes import all_calls, has_effects, is_region
from ....runtime.registry import registered
from ..frontend.user_names import CHECKED_LENGTHS
from ..schedule.signature import Signature
from . import cache
from .arms import ARMS, Checked, Ran, mark

if TYPE_CHECKING:
    from ..python.walk import Walk
    from ..schedule.program import Program

__all__ = ["Specialisation", "coarsest", "computes_complex", "optimise"]

_serial = itertools.count(1).__next__


class Specialisation:
    """Generated source and the function that it is."""

    paths: tuple[Specialisation, ...] = ()  # of a tree
    outside: int | None = None  # what tells the arrays outside apart that it was checked with
    unrolled: tuple[str, ...] = ()  # loops that were not kept, and why

    def __init__(
        self, text: str, graph: Graph | None, raw: Graph, signature: Signature, name: str, rebuild: Any,
        digest: int | None, optimised: Any = None, key: str | None = None,
    ) -> None:  # fmt: skip
        self.text = text
        self._graph = graph
        self.raw = raw  # before the passes
        self.signature = signature
        self.rebuild = rebuild  # the structure of a result that cannot be written as a literal
        self.digest = digest
        self.eps = coarsest(raw) if getattr(optimised, "fastmath", False) else 0.0  # 0: bit for bit
        self._optimised = optimised or optimise
        self._by_position: tuple[types.CodeType, Any] | None = None
        self.left = [0]  # how many calls took it as a path of a tree
        self.unchecked = 3  # calls within which the second check must come
        self.key = key  # of the source in the cache
        self.filename = file_of(text, name, key)
        linecache.cache[self.filename] = (len(text), None, text.splitlines(keepends=True), self.filename)
        module = types.ModuleType(f"gradscribe.generated.{name}_{_serial()}")
        vars(module)["__loader__"] = _Loader(text)
        sys.modules[module.__name__] = module  # where inspect looks for the loader
        weakref.finalize(self, _forget, module.__name__, self.filename).atexit = False
        self._define(text, vars(module))
        for library in vars(module).keys() & {"np", "scipy", "math"}:
            vars(module)[library] = as_imported(vars(module)[library])
        self.function: Callable[..., Any] = vars(module)[name]

    def _define(self, text: str, space: dict[str, Any]) -> None:
        """Run the source, which is to look up its arms where it has any."""
        regions = any(is_region(call) for graph in self._recorded() for call in graph.calls)
        tree: Any = self._tree(text) if regions or self.paths else text
        self.arms = mark(tree.body[-1]) if regions else 0
        self.checked = space[ARMS] = Checked()
        space[CHECKED_LENGTHS] = frozenset()  # an entry has its own
        exec(compile(tree, self.filename, "exec"), space)

    def _tree(self, text: str) -> Any:
        """The syntax tree of the source as it runs."""
        return ast.parse(text)

    def _recorded(self) -> list[Graph]:
        """The graphs before the passes."""
        return [self.raw]

    @property
    def doubted(self) -> bool:
        """Whether each call is to run on copies first: a check is due, or an arm comes after what cannot be taken back."""
        return bool(self.unchecked or (self.arms and (self._changes() or has_effects(self.raw))))

    def _changes(self) -> bool:
        return bool(self.signature.writes or self.signature.stores)

    def trust_arms(self, taken: Collection[int]) -> None:
        """A checked call has taken these arms; once all are known, the source runs without looking them up."""
        if not self.arms:
            return
        self.checked.update(dict.fromkeys(taken))
        if len(self.checked) < self.arms:
            return
        self.arms = 0
        space: dict[str, Any] = {}
        exec(compile(self._tree(self.text), self.filename, "exec"), space)
        function: Any = self.function  # which others hold
        function.__code__ = space[function.__name__].__code__

    def straight(self) -> list[Graph]:
        """The graph of each path of a call."""
        return [self.graph]

    def known(self) -> list[Graph]:
        """The graphs that say what statements give; where several know a value, the last one counts."""
        return [self.graph, self.raw]

    def guards_at(self, guard: Call) -> list[Call]:
        """The guards that look at a value at the same place."""
        return [guard]

    def walk(self) -> Walk:
        """Return the walk through the Program that the source prints."""
        from ..python.walk import Walk  # stands on gast, which is slow to load

        return Walk(self.program(), self.signature, getattr(self._optimised, "steps", None))

    def program(
        self, steps: Collection[str] | None = None, change: Callable[[Graph], Graph] = lambda graph: graph
    ) -> Program:
        """Return the Program that the source prints, or one after these steps of the schedule, of a changed graph."""
        from ..schedule.steps import program_of  # not loaded where the cache has the source

        steps = getattr(self._optimised, "steps", None) if steps is None else steps
        return program_of(change(self.graph), self.signature, self.function.__name__, steps)

    def by_position(self) -> Callable[..., Any]:
        """The function, which takes the arrays from outside by position: Python looks through all names for each keyword."""
        function: Any = self.function
        code = function.__code__
        if self._by_position is None or self._by_position[0] is not code:
            names = code.replace(co_argcount=code.co_argcount + code.co_kwonlyargcount, co_kwonlyargcount=0)
            made = types.FunctionType(names, function.__globals__, function.__name__, function.__defaults__)
            self._by_position = code, made
        return self._by_position[1]

    def probe(self, ran: Ran, lengths: set[Any] | None = None) -> Callable[..., Any]:
        """The function, for a call that does not count: what it runs through stands in `ran`."""
        names: dict[str, Any] = {ARMS: ran} if self.arms else {}
        if lengths is not None:
            names[CHECKED_LENGTHS] = lengths
        return self._with(**names) if names else self.function

    def with_lengths(self, lengths: set[Any]) -> Callable[..., Any]:
        """The function for calls whose lengths that follow from values are among these."""
        return self._with(**{CHECKED_LENGTHS: lengths})

    def line_of(self, error: Exception) -> int | None:
        """The line of the source in which an error was raised; None where it was raised elsewhere."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != self.filename:
            trace = trace.tb_next
        return None if trace is None else trace.tb_lineno

    def raised_early(self, error: Exception) -> bool:
        """Whether the source raised before it asked whether the lengths that follow from values were checked."""
        lines = self.text.splitlines()
        asks = next((k for k, line in enumerate(lines, 1) if f"not in {CHECKED_LENGTHS}:" in line), 0)
        at = self.line_of(error)
        return at is not None and at <= asks

    def _with(self, **names: Any) -> Callable[..., Any]:
        """The function with other values of what it looks at beside the source."""
        function: Any = self.function
        made = types.FunctionType(
            function.__code__, {**function.__globals__, **names}, function.__name__, function.__defaults__
        )
        made.__kwdefaults__ = function.__kwdefaults__
        return made

    def doubts(self, ran: Ran, digest: int) -> bool:
        """Whether a call that ran through `ran` is to be checked against eager."""
        return bool(self.arms) and not ran.keys() <= self.checked.keys()

    def loops(self) -> bool:
        """Whether loops or branches were kept."""
        return any(is_region(call) for graph in self.straight() for call in graph.calls)

    def settle(self, ran: Ran) -> None:
        """A call gave what eager gave."""
        self.unchecked = 0
        self.trust_arms(ran)

    def forget(self) -> None:
        """The source is wrong: the cache is not to give it again."""
        if self.key is not None:
            cache.forget(self.key)

    @property
    def graph(self) -> Graph:
        """The graph after the passes; where the source came from the cache, they run when this is asked for."""
        if self._graph is None:
            self._graph = self._optimised(self.raw.copy())
        return self._graph


@functools.cache
def as_imported(module: types.ModuleType) -> types.ModuleType:
    """Return a module with the functions that were registered as ops, whatever a test has put in their place since.

    What the user's code reads of a library is guarded, so that a patched function is called where the user's code calls it.
    The rules mean the library's own.
    """
    made = types.ModuleType(module.__name__, module.__doc__)
    space = {name: value for name, value in vars(module).items() if not isinstance(value, types.ModuleType)}
    space |= _registered_functions().get(module.__name__.replace("numpy", "np", 1), {})

    def later(name: str) -> Any:
        """Return an attribute that a library loads when it is asked for, its own modules among these."""
        found = getattr(module, name)
        if isinstance(found, types.ModuleType) and found.__name__.startswith(module.__name__ + "."):
            found = vars(made)[name] = as_imported(found)
        return found

    vars(made).update(space, __getattr__=later)
    return made


def _registered_functions() -> dict[str, dict[str, Any]]:
    """Return the functions of the ops, by module and name."""
    found: dict[str, dict[str, Any]] = {}
    for op in registered():
        module, _, name = op.path.rpartition(".")
        if not op.infix and getattr(op.fn, "__name__", None) == name:
            found.setdefault(module, {})[name] = op.fn
    return found


def coarsest(graph: Graph) -> float:
    """The spacing of floats at one in the coarsest dtype of a graph."""
    return max([float(np.finfo(dtype).eps) for dtype in _dtypes(graph) if dtype.kind in "fc"], default=2.0**-52)


def computes_complex(graph: Graph) -> bool:
    """Whether a graph has a complex value, be its result a real one."""
    return any(dtype.kind == "c" for dtype in _dtypes(graph))


def _dtypes(graph: Graph) -> list[np.dtype[Any]]:
    return [v.type.dtype for v in [*graph.inputs, *(v for call in all_calls(graph) for v in call.outs)]]


def _forget(module: str, filename: str) -> None:
    sys.modules.pop(module, None)
    if filename in linecache.cache:  # an entry of no file, which checkcache drops: it may be going through them now
        linecache.cache[filename] = (0, 0.0, [], filename)


def file_of(text: str, name: str, key: str | None) -> str:
    """The file of a source: that of the cache, else one in a folder of the process that is removed at its end.

    Each source has one path, in each process that finds it in the cache. Where no file can be written, the path is a name alone.
    """
    cached = None if key is None else cache.place(key)
    if cached is not None:
        return cached
    filename = f"{cache.key_of(name, text)}.py"
    try:
        path = os.path.join(_folder(), filename)
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError:
        return f"<gradscribe>/{filename}"  # linecache asks no loader for a name that is all in <>
    return path


@functools.cache
def _folder() -> str:
    """A folder of this process alone."""
    made = tempfile.mkdtemp(prefix="gradscribe-")
    atexit.register(_remove, made, os.getpid())
    return made


def _remove(folder: str, process: int) -> None:
    """Remove the folder when its own process ends, and not a fork of it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


class _Loader:
    """The loader that linecache asks for the source once its cache was cleared."""

    def __init__(self, text: str) -> None:
        self.text = text

    def get_source(self, name: str) -> str:
        return self.text


def optimise(graph: Graph) -> Graph:
    """The graph after all passes; they are loaded here, and not where the cache has the source."""
    from .. import passes

    return passes.optimise(graph)
