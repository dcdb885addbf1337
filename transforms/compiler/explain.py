"""gs.explain: the specialisations of a compiled function, their assumptions, and why calls found none or ran eagerly."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...runtime.ir.graph import Graph
from ...runtime.markup import paragraph, table
from ...runtime.rules.control import GUARD
from ...tracer.core.site import Site, pruned
from .analysis.effects import effect_words
from .capture.failure import instead
from .driver.compiled import Compiled, eager_only
from .driver.guards.guards import OF_ARGUMENTS, OF_SURROUNDINGS, Assumption
from .driver.misses import Miss

__all__ = ["Assumed", "Eager", "Explanation", "Specialised", "explain"]


_LENGTHS = re.compile(r"(?<=\[)\d+(?:, \d+)*(?=\])")
_LETTERS = ("n", "m", "k", "p", "q", "r", "s")
MOST = 24  # assumptions of one specialisation that are shown


class Assumed(NamedTuple):
    """One thing that a specialisation assumes, and the user's line that it stems from."""

    what: str
    expected: str
    site: Site | None

    def __str__(self) -> str:
        return f"{self.what}: {self.expected}" + (f"  ({self.site})" if self.site else "")


class Specialised(NamedTuple):
    """One specialisation: the signatures that it serves, what it assumes beyond them, and how often it was hit since."""

    name: str
    signatures: tuple[str, ...]
    assumptions: tuple[Assumed, ...]
    hits: int
    source: str
    unrolled: tuple[str, ...] = ()  # loops that are not loops in the source, and why
    effects: tuple[str, ...] = ()  # what can be seen from outside, in order: `rng.normal`, `print`
    path: str = ""  # the file in which the source lies
    runs: str = (
        ""  # of the native target: whether a kernel serves its calls, and what Python runs for it, or why none does
    )


class Eager(NamedTuple):
    """Why calls ran eagerly, at which of the user's lines, how many calls did, and what to change to avoid it."""

    reason: str
    site: Site | None
    calls: int
    change: str


class Explanation:
    """The report of `gs.explain`; printing it shows it all."""

    def __init__(
        self, function: str, specialisations: list[Specialised], misses: list[Miss], eager: list[Eager], limit: int,
        fastmath: bool = False, derivative: str = "",
    ) -> None:  # fmt: skip
        self.function = function
        self.derivative = derivative  # "the gradient with respect to `w`"; empty for a plain function
        self.specialisations = specialisations
        self.misses = misses  # the newest last: why a call found no specialisation, which was then made
        self.eager = eager
        self.limit = limit
        self.fastmath = fastmath

    def __str__(self) -> str:
        n = len(self.specialisations)
        lines = [f"{self.function}: {n} specialisation{'s' * (n != 1)} (of at most {self.limit})"]
        if self.derivative:
            lines.append(f"gives {self.derivative}")
        if self.fastmath:
            lines.append("fastmath is on: the last digits are not those of eager")
        if eager_only():
            lines.append("GRADSCRIBE_EAGER is set: nothing is compiled")
        elif not n and not self.eager:
            lines.append("it was not called yet")
        for k, one in enumerate(self.specialisations, 1):
            lines += ["", f"{k}. {one.name}: hit {one.hits} time{'s' * (one.hits != 1)} since the call that made it"]
            lines += _listed("runs", [one.runs] if one.runs else [])
            lines += _listed("serves", _with_free_sizes(one.signatures))
            lines += _listed("assumes", [str(a) for a in one.assumptions], MOST)
            lines += _listed("effects", one.effects)
            lines += _listed("unrolled", one.unrolled)
        if self.misses:
            last = self.misses[-1]
            lines += ["", f"The last miss ({len(self.misses)} so far):" if len(self.misses) > 1 else "The last miss:"]
            lines += [f"    {last}", *_advice(last.change)]
        if self.eager:
            lines += ["", "Runs eagerly:"]
            for reason in self.eager:
                where = f"{reason.site}: " if reason.site else ""
                lines += _wrapped(f"{where}it {reason.reason} ({_calls(reason.calls)})", "    ")
                lines += _advice(reason.change)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, _, _ = str(self).partition("\n\n")
        rows = [
            (
                one.name, one.hits, "\n".join(_with_free_sizes(one.signatures)), "\n".join(map(str, one.assumptions)),
                "\n".join([*([one.runs] if one.runs else []), *one.effects, *one.unrolled]),
            )
            for one in self.specialisations
        ]  # fmt: skip
        parts = [*map(paragraph, head.splitlines())]
        if rows:
            parts.append(table("specialisations", ("source", "hits", "serves", "assumes", "else"), rows))
        if self.misses:
            last = self.misses[-1]
            rest = f"\nto change it: {last.change}" if last.change else ""
            parts.append(paragraph(f"The last miss ({len(self.misses)} so far): {last}{rest}"))
        if self.eager:
            lines = [(reason.site or "", f"it {reason.reason}", reason.calls, reason.change) for reason in self.eager]
            parts.append(table("runs eagerly", ("line", "reason", "calls", "to change it"), lines))
        return "".join(parts)


def _calls(n: int) -> str:
    return f"{n} call{'s' * (n != 1)}"


def _advice(change: str) -> list[str]:
    return _wrapped(f"to change it: {change}", "    ") if change else []


def _listed(head: str, rows: Sequence[str], most: int = 6) -> list[str]:
    shown = list(rows[:most]) + ([f"... and {len(rows) - most} more"] if len(rows) > most else [])
    return [line for k, row in enumerate(shown) for line in _wrapped(row, f"    {'' if k else head:9}")]


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, 110, initial_indent=indent, subsequent_indent=" " * (len(indent) + 2), break_on_hyphens=False
    )


@pruned
def explain(function: Any) -> Explanation:
    """Report what a compiled function did so far: print it, or look at its `specialisations`, `misses` and `eager`.

    Raises TypeError for what `gs.compile` did not return.

    >>> import numpy as np, gradscribe as gs
    >>> f = gs.compile(lambda x: np.sum(x * x))
    >>> _ = f(np.ones(3)), f(np.arange(3.0)), f(np.ones(3))
    >>> gs.explain(f).specialisations[0].hits  # the first call made it
    2
    """
    if not isinstance(function, Compiled):
        raise TypeError(f"gs.explain takes what gs.compile returned, not {function!r}: call gs.compile(f) and run that")
    known = [entry for known in list(function._entries.values()) for entry in list(known)]
    entries = [one for entry in known for one in entry.members or (entry,)]
    trees = {path: entry.specialisation for entry in known for path in entry.specialisation.paths}
    specialisations = []
    for specialisation, hits in function.hits().items():
        own = [entry for entry in entries if entry.specialisation is specialisation]
        assumed = dict.fromkeys(a for entry in own for a in _assumed(entry, specialisation.graph))
        signatures = dict.fromkeys(_signature(entry) for entry in own)
        tree = trees.get(specialisation)
        path = (tree or specialisation).filename
        name = (tree or specialisation).function.__name__
        if tree is not None:
            name += f", path {tree.paths.index(specialisation) + 1} of {len(tree.paths)}"
        text = (tree or specialisation).text
        runs = "" if function._native is None else str(function._native.ran(tree or specialisation))
        specialisations.append(Specialised(
            name, tuple(signatures), tuple(assumed), hits, text, specialisation.unrolled,
            effect_words(specialisation.raw), path, runs,
        ))  # fmt: skip
    eager = [Eager(why.reason, why.site, calls, instead(why)) for why, calls in function._said.items()]
    fastmath = bool(function.options.get("fastmath"))
    return Explanation(
        function._label(), specialisations, list(function._misses), eager, function.limit, fastmath,
        _derivative(function.function),
    )  # fmt: skip


_DERIVATIVES = {
    "grad": "the gradient", "value_and_grad": "the value, and the gradient", "jacrev": "the Jacobian",
    "jacfwd": "the Jacobian", "jacobian": "the Jacobian", "hessian": "the Hessian",
    "hvp": "the product of a vector and the Hessian", "jvp": "the value, and how it moves along a vector,",
}  # fmt: skip


def _derivative(function: Any) -> str:
    """Return the derivative that is compiled, in words, with the names of its arguments."""
    found = []
    while hasattr(type(function), "__gradscribe_transform__"):
        words = _DERIVATIVES.get(function.kind)
        if words is not None:
            names = [f"`{name}`" for name in _names(function.function, function.options.get("argnums", 0))]
            found.append(f"{words} with respect to {', '.join(names)}")
        function = function.function
    return " of ".join(found)


def _names(function: Any, argnums: Any) -> list[str]:
    """The parameters that `argnums` says, by their names where those are known."""
    try:
        parameters = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = []
    places = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    known = range(-len(parameters), len(parameters))
    return [parameters[p] if isinstance(p, int) and p in known else str(p) for p in places]


def _signature(entry: Any) -> str:
    given = [a for a in entry.plan.assumptions if a.kind in OF_ARGUMENTS or (a.kind == "generator" and a.place is None)]
    parts = [f"{a.what}: {a.expected}" for a in given]
    return ", ".join(parts) or "no arguments"


def _assumed(entry: Any, graph: Graph) -> list[Assumed]:
    """Return the assumptions beyond the signature, but for those that go without saying."""
    plan = entry.plan
    found = [
        Assumed(_words(a.what), a.expected, plan.site(a))
        for a in plan.assumptions if a.kind in OF_SURROUNDINGS
        if not a.expected.startswith("the module ") and (a.kind != "generator" or a.place is not None)
        and not _goes_without_saying(a)
    ]  # fmt: skip
    holders = dict.fromkeys(a.place[1] for a in plan.assumptions if a.kind == "code" and a.place is not None)
    for holder in holders:
        site = next(plan.site(a) for a in plan.assumptions if a.place is not None and a.place[1] is holder)
        found.append(Assumed(f"`{holder.__qualname__}`", "its code and defaults", site))
    found += [Assumed(f"`{c.words}`", c.found, c.site) for c in plan.compared]
    found += [Assumed(f"{name}.shape[{k}]", f"{n}, fixed by `{f.words}`", f.site) for name, k, n, f in plan.fixed]
    for call in graph.calls:
        if call.op is GUARD and call.args[1] == "length":
            found.append(Assumed("lengths that follow from values", "as a checked call had them", call.site))
        elif call.op is GUARD:
            found.append(Assumed(f"{call.args[1]}() of a traced value", repr(call.args[2]), call.site))
    return found


def _words(what: str) -> str:
    """`the class of self` in place of an attribute that nobody writes."""
    owner = what.removesuffix(".__class__`")
    return what if owner == what else f"the class of {owner}`"


def _goes_without_saying(a: Assumption) -> bool:
    """Whether an assumption is that a name is the function of this name, or of the insides of a function or a class."""
    return a.what.rpartition(" ")[2] == a.expected or a.what.strip("`").rpartition(".")[2] in _INSIDES


_INSIDES = frozenset(["__code__", "__defaults__", "__kwdefaults__", "__closure__", "__dict__", "__mro__", "__bases__"])


def _with_free_sizes(signatures: Sequence[str]) -> list[str]:
    """Return the signatures that one source serves, those that differ in lengths alone as one with letters.

    >>> _with_free_sizes(["x: int64[2, 3]", "x: int64[5, 3]"])
    ['x: int64[n, 3] for n = 2, 5']
    """
    kinds: dict[str, list[list[str]]] = {}
    for text in signatures:
        lengths = [n for found in _LENGTHS.findall(text) for n in found.split(", ")]
        form = _LENGTHS.sub(lambda m: re.sub(r"\d+", "{}", m[0]), text.replace("{", "{{").replace("}", "}}"))
        kinds.setdefault(form, []).append(lengths)
    return [_with_letters(form, rows) for form, rows in kinds.items()]


def _with_letters(form: str, rows: list[list[str]]) -> str:
    columns = list(zip(*rows, strict=True))
    free = list(dict.fromkeys(c for c in columns if len(set(c)) > 1))
    letters = [c for c in _LETTERS if f"{c}: " not in form] + [f"n{k}" for k in range(2, len(free))]
    named = dict(zip(free, letters, strict=False))
    shown = form.format(*[named.get(c, c[0]) for c in columns])
    if not free:
        return shown
    sizes = list(zip(*free, strict=True))
    values = [s[0] if len(s) == 1 else f"({', '.join(s)})" for s in sizes]
    left = [*values[:6], f"... ({len(values)} in all)"] if len(values) > 7 else values
    names = ", ".join(named.values())
    return f"{shown} for {names if len(free) == 1 else f'({names})'} = {', '.join(left)}"
