"""The outcome tree: one source for all outcomes of a function's guards. Shared calls run once, and each call takes its branch."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from ....runtime.ir.graph import Call, Graph, Value
from ....runtime.ir.opcodes import has_effects
from ..frontend.user_names import Names
from ..schedule.outcomes import OutcomeNode, forked, merged
from ..schedule.signature import Signature
from . import cache
from .arms import ARMS, Ran
from .free_sizes import lengths_of
from .guards.plans import joined_plan
from .specialise import Entry, Specialisation

if TYPE_CHECKING:
    from ..schedule.program import Program

__all__ = ["Tree", "joined"]

_HITS = "hits of the paths"  # no name that a user could give: what the running function counts in, beside the source
_MANY = 64  # trees of one function, of which few are in use, and the others may be again
_CALLS = 4  # for each path: the calls within which the paths of a new tree are checked


class Tree(Specialisation):
    """Generated source with a branch for each path."""

    def __init__(self, members: Sequence[Entry]) -> None:
        """Raises ValueError where two paths part at no guard."""
        self.given = [entry.specialisation for entry in members]
        first = self.given[0]
        count = len(first.raw.inputs) - len(first.signature.extras)
        names = Names()
        for name in first.signature.arguments_named:
            names.parameter(name)
        slots: dict[Any, str] = {}  # the arrays from outside, by where they are read
        self.origins: list[tuple[int, int]] = []  # and which path reads each, as which of its own
        self.places: list[list[int]] = []
        for k, entry in enumerate(members):
            for j, (name, path) in enumerate(entry.extras):
                if path not in slots:
                    slots[path] = names.new(name)
                    self.origins.append((k, j))
            order = list(slots)
            self.places.append([*range(count), *[count + order.index(path) for _, path in entry.extras]])
        signature = Signature(
            first.signature.arguments_named,
            first.signature.positional,
            first.signature.trees,
            list(slots.values()),
            None,
        )
        signature.purpose = first.signature.purpose
        self.results = [path.signature.result_tree for path in self.given]
        self.inputs = [first.graph.inputs[j] for j in range(count)]
        self.inputs += [self.given[k].graph.inputs[count + j] for k, j in self.origins]
        name = first.function.__name__
        self.key = self._key(name, slots.values())
        found = None if self.key is None else cache.load(self.key)
        if found is not None:
            text, _, tail = found.rstrip("\n").rpartition("\n# paths ")
            text, order_of_paths = f"{text}\n", [int(k) for k in tail.split()]
        else:
            order_of_paths = self.root.paths()
            text = self._text(signature, name)
            if self.key is not None:
                cache.store(self.key, f"{text}# paths {' '.join(map(str, order_of_paths))}\n")
        self.paths = tuple([self.given[k] for k in order_of_paths])
        super().__init__(text, None, first.raw, signature, name, None, None, first._optimised, self.key)
        self.eps = max(path.eps for path in self.paths)
        self.doubtful: dict[int, int] = {}
        self.begin()

    def begin(self) -> None:
        """From here on each path is to be checked."""
        self.doubtful = dict.fromkeys(range(len(self.paths)), 3)
        self.unchecked = _CALLS * len(self.paths)

    def _key(self, name: str, names: Any) -> str | None:
        keys = [path.key for path in self.given]
        if None in keys:
            return None
        return cache.key_of(name, "\n".join(map(str, ["tree", *keys, *names, *self.places])))

    @functools.cached_property
    def root(self) -> OutcomeNode:
        """The tree itself."""
        root = merged([path.graph for path in self.given], self.inputs, self.places)
        if root is None:
            raise ValueError("paths part at no guard, each must have one of its own")
        return root

    def _text(self, signature: Signature, name: str) -> str:
        from ..python.docstrings import Docstring
        from ..python.emit import text_of  # stands on gast, which is slow to load

        graphs: list[Graph] = self.straight()
        alike: list[tuple[Value, Value]] = []
        for path, places in zip(self.given, self.places, strict=True):
            graphs.append(path.raw)
            alike += [(self.inputs[place], v) for place, v in zip(places, path.raw.inputs, strict=True)]
            for v, axes in path.signature.fixed.items():
                v = self.inputs[places[path.raw.inputs.index(v)]]
                signature.fixed[v] = signature.fixed.get(v, frozenset()) | axes
        docstring = Docstring(signature, graphs, len(self.given), alike)
        steps = getattr(self.given[0]._optimised, "steps", None)
        return text_of(self._program(signature, name), signature, docstring, self.root.straight(self.inputs), steps)

    def _program(
        self, signature: Signature, name: str, steps: Collection[str] | None = None,
        change: Callable[[Graph], Graph] = lambda graph: graph,
    ) -> Program:  # fmt: skip
        from ..schedule.steps import program_of  # not loaded where the cache has the text

        steps = getattr(self.given[0]._optimised, "steps", None) if steps is None else steps
        return forked(program_of(change(self.graph), signature, name, steps), self.root, self.results)

    def _define(self, text: str, space: dict[str, Any]) -> None:
        space[_HITS] = [path.left for path in self.paths]
        super()._define(text, space)

    def _recorded(self) -> list[Graph]:
        return [path.raw for path in self.given]

    def _tree(self, text: str) -> Any:
        """The syntax tree of the source, which counts where each path returns."""
        tree = ast.parse(text)
        function: Any = tree.body[-1]
        for k, (body, at) in enumerate(_returns(function.body)):
            its = ast.Subscript(ast.Name(_HITS, ast.Load()), ast.Constant(k), ast.Load())
            where = ast.Subscript(its, ast.Constant(0), ast.Store())
            added = ast.AugAssign(where, ast.Add(), ast.Constant(1))
            for node in ast.walk(added):
                ast.copy_location(node, body[at])
            body.insert(at, added)
        return tree

    @property
    def graph(self) -> Graph:
        """The calls of all paths in the order of the source."""
        return self.root.whole(self.inputs)

    def straight(self) -> list[Graph]:
        """The graph of each path."""
        return list(self.root.straight(self.inputs))

    def known(self) -> list[Graph]:
        """The graphs that say what statements give."""
        return self.straight()

    def guards_at(self, guard: Call) -> list[Call]:
        """The guards of the arms of a fork."""
        return next(
            (g for g in ([guard for guard, _ in node.arms] for node in self.root.nodes()) if guard in g), [guard]
        )

    def program(
        self, steps: Collection[str] | None = None, change: Callable[[Graph], Graph] = lambda graph: graph
    ) -> Program:
        """Return the Program that the source prints, or one after these steps of the schedule, of a changed graph."""
        return self._program(self.signature, self.function.__name__, steps, change)

    def probe(self, ran: Ran, lengths: set[Any] | None = None) -> Callable[..., Any]:
        """The function, which counts in `ran`; no path has lengths that follow from values."""
        ran.paths = [[0] for _ in self.paths]
        return self._with(**{_HITS: ran.paths, ARMS: ran})

    def doubts(self, ran: Ran, digest: int) -> bool:
        """Whether a call that ran through `ran` is to be checked against eager."""
        if super().doubts(ran, digest):
            return True
        if not self.unchecked:
            return False
        self.unchecked -= 1
        path = _taken(ran)
        if path in self.doubtful and digest == self.paths[path].digest:
            self.doubtful[path] -= 1
            if not self.doubtful[path]:
                self.trust(path)
            return False
        if not self.unchecked:  # what is called so seldom was checked when it was captured
            self.doubtful.clear()
        return path in self.doubtful

    def settle(self, ran: Ran) -> None:
        """A call that ran through `ran` gave what eager gave."""
        self.trust_arms(ran)
        path = _taken(ran)
        if path is not None:
            self.paths[path].left[0] += 1
            self.trust(path)

    def trust(self, path: int) -> None:
        """A path needs no check any more."""
        self.doubtful.pop(path, None)
        if not self.doubtful:
            self.unchecked = 0


def _taken(ran: Ran) -> int | None:
    """Return the path that a call took; None where it raised before it returned."""
    return next((k for k, (hits,) in enumerate(ran.paths) if hits), None)


def joined(entry: Entry, entries: Sequence[Entry], trees: dict[frozenset[Specialisation], Tree]) -> list[Entry]:
    """The entries of a signature with one more: in a tree with those that it differs from in guards alone, else first."""
    for k, known in enumerate(entries):
        made = _in_tree([*(known.members or (known,)), entry], trees)
        if made is not None:
            return [made, *entries[:k], *entries[k + 1 :]]
    return [entry, *entries]


def _in_tree(members: list[Entry], trees: dict[frozenset[Specialisation], Tree]) -> Entry | None:
    paths = frozenset(entry.specialisation for entry in members)
    if len(paths) < len(members) or not all(map(_is_plain, paths)) or any(entry.stores for entry in members):
        return None
    plan = joined_plan([entry.plan for entry in members])
    if plan is None:
        return None
    tree = trees.get(paths)
    if tree is None:
        try:
            tree = Tree(members)
        except ValueError:
            return None
    by_path = {entry.specialisation: entry for entry in members}
    extras = [by_path[tree.given[k]].extras[j][1] for k, j in tree.origins]
    count = len(tree.inputs) - len(extras)
    for path, places in zip(tree.given, tree.places, strict=True):
        own = [where for _, where in by_path[path].extras]
        if own != [extras[place - count] for place in places[count:]]:
            return None
    if paths in trees:
        tree.begin()  # with arrays of other shapes
    elif len(trees) > _MANY:
        trees.clear()
    trees[paths] = tree
    return Entry(plan, tree, list(zip(tree.signature.extras, extras, strict=True)), tuple(members))


def _is_plain(path: Specialisation) -> bool:
    """Whether a path gives a literal of arrays, and does nothing else that can be seen, at lengths that the arguments say."""
    return (
        lengths_of(path.raw) is None
        and path.rebuild is None
        and not path.signature.writes
        and not has_effects(path.raw)
    )


def _returns(body: list[Any]) -> list[tuple[list[Any], int]]:
    """Return the ends of the paths of a source, in its order: each list of statements, and the place of its return."""
    found: list[tuple[list[Any], int]] = []
    for k, node in enumerate(body):
        if isinstance(node, ast.If):
            found += _returns(node.body)
        elif isinstance(node, ast.Return) and not (
            isinstance(node.value, ast.Name) and node.value.id == "NotImplemented"
        ):
            found.append((body, k))
    return found
