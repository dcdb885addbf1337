"""Coverage: functions of NumPy and SciPy that have a gradient, read off the registry (`python -m gradscribe coverage`)."""

from __future__ import annotations

import contextlib
import fnmatch
import importlib
import inspect
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..runtime.ops import Op
from ..runtime.registry import composition, lookup, lookup_class, ops
from ..tracer.core.losses import WATCHING
from ..tracer.core.tensor_base import wrap
from ..tracer.memory import writers
from ..tracer.protocols.interop import answered
from ..tracer.tensors.tensor import Tensor
from ..transforms.compiler.native.views import native_ops
from ..transforms.user_code.namespaces import replacement
from .coverage_reasons import ABOUT, NO_RULE, PASSING, REASONS

__all__ = ["KINDS", "MODULES", "Row", "chosen", "coverage", "markdown", "text"]

MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.ndarray", "scipy.special", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.sparse",
    "scipy.sparse.linalg", "scipy.spatial.distance", "scipy.stats",
)  # fmt: skip
_OF_SCIPY = MODULES[6:]  # beyond special and fft: most of it has none
RULE, NATURE, REFUSED, ASIDE = "rule", "no gradient by nature", "not supported", "not a computation"
KINDS = (RULE, NATURE, REFUSED, ASIDE)
PARTS, WRITES = "by its parts", "writes in place"
_OBJECTS = (np.r_, np.c_)  # indexed, where others are called


class Row(NamedTuple):
    """One function: its module and name, of which kind it is, how it is reached, what else is to say, and whether C has it."""

    module: str
    name: str
    kind: str
    reached: str
    note: str
    native: bool = False


def public(module: str) -> Iterator[tuple[str, Any]]:
    """The public functions of a module, or what an ndarray has, by name."""
    if module == "numpy.ndarray":
        mine = [
            name for name in dir(np.ndarray) if not name.startswith("_") and hasattr(np.eye(1), name)
        ]  # not what raises since NumPy 2.0
        yield from [(name, getattr(np.ndarray, name)) for name in mine]
        return
    home = importlib.import_module(module)
    for name in sorted({name for name in home.__all__ if not name.startswith("_")}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = getattr(home, name, None)
        plain = callable(value) and not inspect.isclass(value) and not inspect.ismodule(value)
        if plain or _is_known_class(value) or value is np.vectorize or any(value is o for o in _OBJECTS):
            yield name, value


def _is_known_class(value: Any) -> bool:
    """Whether a class makes objects that are differentiated, such as interpolators."""
    return inspect.isclass(value) and lookup_class(value) is not None


def installed() -> list[str]:
    """Those of `MODULES` that are there: SciPy is optional."""
    found = []
    for module in MODULES:
        with contextlib.suppress(ImportError):
            importlib.import_module(module.removesuffix(".ndarray"))
            found.append(module)
    return found


def coverage() -> list[Row]:
    """Every public function of the installed modules, in order."""
    return [
        of_method(name) if module == "numpy.ndarray" else of_function(module, name, value)
        for module in installed()
        for name, value in public(module)
    ]


def of_function(module: str, name: str, value: Any) -> Row:
    """Return the coverage of one function."""
    found = lookup(value)
    if found is not None:
        kind, note = of_op(found)
        return Row(module, name, kind, reached(value), note, found.base in native_ops())
    formula = composition(value)
    if formula is not None:
        refuses = hasattr(formula, "refuses")  # by name
        return Row(
            module, name, REFUSED if refuses else RULE, "" if refuses else reached(value), NO_RULE if refuses else PARTS
        )
    if value in writers.WRITERS:
        return Row(module, name, RULE, reached(value), WRITES)
    if value in answered():
        return Row(module, name, NATURE, reached(value), "tells shapes, dtypes or truth")
    if name in PASSING:
        return Row(module, name, RULE, "protocol", PASSING[name])
    aside = about(name, value)
    if aside is not None:
        return Row(module, name, ASIDE, "", aside)
    ours = replacement(value)
    if ours is not None and not hasattr(ours, WATCHING):
        return Row(module, name, RULE, reached(value), PARTS)
    return Row(module, name, REFUSED, "", REASONS.get(name, NO_RULE if module in _OF_SCIPY else ""))


def of_op(op: Op) -> tuple[str, str]:
    """The kind of an op, and which of its arguments have no rule though they hold numbers."""
    if all(vjp is None for vjp in op.vjps.values()):
        return NATURE, ""
    without = [p.name for p in op.params if p.name not in op.vjps and p.name in _numbers(op)]
    if all(_is_zero(vjp) for vjp in op.vjps.values() if vjp is not None):
        return NATURE, "zero"
    return RULE, f"not in {', '.join(without)}" if without else ""


def _numbers(op: Op) -> set[str]:
    """The arguments of a ufunc, which all hold numbers."""
    return {p.name for p in op.params[: op.fn.nin]} if isinstance(op.fn, np.ufunc) else set()


def _is_zero(vjp: Any) -> bool:
    return bool(vjp.names == ("g",) and vjp.fn.__code__.co_names == ("np", "zeros_like"))


def reached(value: Any) -> str:
    """Return the way in which a function sees Tensors: by NumPy's protocols, or only where it is replaced by ours."""
    return "protocol" if isinstance(value, np.ufunc) or hasattr(value, "_implementation") else "scope"


def about(name: str, value: Any) -> str | None:
    """Return the subject of a function that calculates nothing, told by the module that defines it, or by its name."""
    inner = getattr(value, "_implementation", value)
    home = getattr(inspect.unwrap(inner), "__globals__", {}).get("__name__", "")
    return ABOUT.get(name) or ABOUT.get(home)


def of_method(name: str) -> Row:
    """Return the coverage of a method or attribute of ndarray: by the function of that name, or by trying it."""
    where = "numpy.ndarray"
    function = getattr(np, name, None)
    if name in ABOUT:
        return Row(where, name, ASIDE, "", ABOUT[name])
    if not hasattr(Tensor, name):
        return Row(where, name, REFUSED, "", REASONS.get(name, ""))
    op = lookup(function) or {op.name: op for op in reversed(ops()) if op.infix is None}.get(name)
    if op is not None:
        return Row(where, name, of_op(op)[0], "protocol", "")
    if composition(function) is not None or function in writers.WRITERS:
        return Row(where, name, RULE, "protocol", PARTS if composition(function) else WRITES)
    kind, note = _tried(name)
    return Row(where, name, kind, "protocol" if kind != ASIDE else "", note)


def _tried(name: str) -> tuple[str, str]:
    """Return the value of an attribute of a Tensor that requires grad, or the result of calling it."""
    t = wrap(np.ones((1, 1))).requires_grad_() * 1.0
    found = getattr(t, name)
    for arguments in ((), (1.0,)) if callable(found) else ():
        try:
            found = found(*arguments)
            break
        except TypeError:
            continue
    found = next(found) if isinstance(found, Iterator) else found
    if found is None:
        return RULE, WRITES
    if isinstance(found, Tensor):
        return (RULE, "") if found.requires_grad else (NATURE, "")
    return ASIDE, "tells what the array is, or gives plain numbers"


def summary(entries: list[Row]) -> list[tuple[str, Counter[str]]]:
    """For each module how many functions are of each kind, and for all."""
    rows = [(m, Counter(e.kind for e in entries if e.module == m)) for m in installed()]
    return [*rows, ("all", Counter(e.kind for e in entries))]


_WORDS = {"rule": RULE, "nature": NATURE, "refused": REFUSED, "aside": ASIDE}


def chosen(entries: list[Row], name: str | None, module: str | None, kind: str | None) -> list[Row]:
    """The entries of a name (a part of it, or a pattern), of a module and of a kind."""
    return [
        e for e in entries
        if (name is None or _is_named(e, name)) and module in (None, e.module) and (kind is None or e.kind == _WORDS[kind])
    ]  # fmt: skip


def _is_named(entry: Row, name: str) -> bool:
    name = name.removeprefix("np.") if not name.startswith("np.linalg") else f"numpy{name[2:]}"
    whole = f"{entry.module}.{entry.name}"
    if any(c in name for c in "*?"):
        return fnmatch.fnmatch(entry.name, name) or fnmatch.fnmatch(whole, name)
    return name in whole if "." in name else name in entry.name


def text(entries: list[Row], listed: list[Row] | None = None) -> str:
    """The counts of all as plain text, and behind them the listed ones, one line a function."""
    width = max(len(module) for module in MODULES)
    head = f"{'':<{width}}" + "".join(f"  {kind:>21}" for kind in KINDS)
    counts = [f"{m:<{width}}" + "".join(f"  {found[kind]:>21}" for kind in KINDS) for m, found in summary(entries)]
    counts += [f"{m:<{width}}  is not installed: pip install scipy" for m in MODULES if m not in installed()]
    if listed is None:
        return "\n".join([head, *counts, "", "`coverage NAME` tells of one function, `coverage --all` of each."])
    if not listed:
        return "\n".join([head, *counts, "", "No function of these modules is meant by that."])
    width = max(len(f"{e.module}.{e.name}") for e in listed)
    lines = [
        f"{e.module + '.' + e.name:<{width}}  {e.kind:<21}  {e.reached:<8}  {'in C' if e.native else '':<4}  {e.note}".rstrip()
        for e in listed
    ]
    return "\n".join([head, *counts, "", *lines])


def markdown(entries: list[Row]) -> str:
    """The table as the page docs/coverage.md."""
    parts = [_HEAD.format(numpy=np.__version__, scipy=importlib.import_module("scipy").__version__)]
    in_c = Counter(e.module for e in entries if e.native)
    in_c["all"] = in_c.total()
    rows = [(m, *[str(found[k]) for k in KINDS], str(in_c[m])) for m, found in summary(entries)]
    parts.append(_table(("", *KINDS, "in C"), rows))
    for module in MODULES:
        own = [e for e in entries if e.module == module]
        parts.append(f"\n## {module}\n")
        for kind in KINDS:
            chosen = [e for e in own if e.kind == kind]
            if chosen:
                parts.append(f"**{kind}**: {len(chosen)}\n\n{_names(chosen)}\n")
        if in_c[module]:
            names = ", ".join(f"`{e.name}`" for e in own if e.native)
            parts.append(f"**in C**: {in_c[module]}\n\n- {names}\n")
    return "\n".join(parts)


def _names(entries: list[Row]) -> str:
    """Names with the same to say of them together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for e in entries:
        groups.setdefault((e.reached if e.reached == "scope" else "", e.note), []).append(f"`{e.name}`")
    lines = []
    for (how, note), names in groups.items():
        said = "; ".join([part for part in (how, note) if part])
        lines.append(f"- {said + ': ' if said else ''}{', '.join(names)}")
    return "\n".join(lines)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple(["---"] + ["---:"] * (len(head) - 1)), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_HEAD = """\
# What of NumPy and SciPy has a gradient

Written by `python -m gradscribe coverage --markdown` (NumPy {numpy}, SciPy {scipy}), from the registry of rules and the modules
themselves; `python -m gradscribe coverage --all` prints it, one function a line.

- **rule**: it has a gradient, by a rule of its own or by the functions that it is made of. *not in x*: the argument `x` has none,
  and an error says so where one is asked for.
- **no gradient by nature**: positions, comparisons, rounding. The gradient is zero, and nothing is raised.
- **not supported**: of an argument that is differentiated it raises `gs.NoRuleError` (or what is said there).
- **not a computation**: files, text, dtypes, settings.
- **in C**: the [native target](native.md) has a form of it, for arrays of floats, ints or truth values and the usual arguments;
  others it calls in Python.

[SciPy's functions, measured](scipy-table.md): beside central differences, at second order, compiled, and under `gs.vmap`.

A bare Tensor works in all of them, by NumPy's protocols. Those of the list that are marked *scope* know no protocol: they work
inside functions under `gs.grad`, `gs.compile` and the other transforms, and everywhere as `gs.numpy.NAME` and
`gs.scipy.special.NAME`, `gs.scipy.fft.NAME` and so on.
"""
