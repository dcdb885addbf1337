"""What each function of SciPy with a gradient does: how it is differentiated, its error, second order, compiled, vmapped.

    python benchmarks/scipy_table.py              # the table; exit status 1 where something disagrees
    python benchmarks/scipy_table.py --write      # the page docs/scipy-table.md
    python benchmarks/scipy_table.py --tiny       # a few functions

It calls the registry's samples (`tests/corpus/samples*.py`) and `tests/corpus/scipy_cases.py`.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests" / "corpus")]

import numpy as np
import scipy
from scipy_cases import CASES
from timing import is_tiny

import gradscribe as gs
from gradscribe.explorer.coverage import PARTS, RULE, coverage
from gradscribe.runtime import lookup
from gradscribe.transforms.derivatives.scipy_calls import drivers
from gradscribe.transforms.user_code import CALLBACKS

from case_tables import slopes, weighted
from checks import TABLE, Case, cases

PAGE = Path(__file__).parents[1] / "docs" / "scipy-table.md"
# What a driver does, by the module of its derivative.
WAYS = {
    "scipy_roots": "implicit function",
    "scipy_minimize": "implicit function of the gradient",
    "scipy_optima": "implicit function of the gradient",
    "scipy_integrals": "Leibniz' rule",
    "scipy_ode": "adjoint equation",
}
FEW = 2  # cases of a function's samples
BANDS = (1e-8, 1e-6, 1e-4)  # of errors, which hold on every machine


class Line(NamedTuple):
    """A row of the table, and what disagrees in it."""

    name: str
    how: str
    error: str
    second: str
    compiled: str
    mapped: str
    wrong: str = ""


def callables() -> Iterator[tuple[str, str, list[tuple[Callable[[Any], Any], Any]]]]:
    """Each function with a gradient: its name, how it is differentiated, and calls of it."""
    for row in coverage():
        if row.kind != RULE or not row.module.startswith("scipy"):
            continue
        name = f"{row.module}.{row.name}"
        value = getattr(importlib.import_module(row.module), row.name)
        how = "by its parts" if row.note == PARTS else f"rule, {row.note}" if row.note else "rule"
        load = CALLBACKS.get((row.module, row.name))
        if load is not None and load() and (driver := drivers.get(name.removeprefix("scipy."))) is not None:
            how = WAYS.get(driver.solve.__module__.rpartition(".")[2], how)
        op = lookup(value)
        samples = [] if op is None else TABLE.get(value) or TABLE.get(op.fn) or []
        found = [one_of(case) for case in list(cases([s for s in samples if s.differentiable]))[:FEW]]
        found += [CASES[name]] if name in CASES else []
        if row.name != "issparse":  # which tells what an object is
            yield name, how, found
        if f"{name}.cdf" in CASES:
            yield f"{name}.cdf", how, [CASES[f"{name}.cdf"]]


def one_of(case: Case) -> tuple[Callable[[Any], Any], Any]:
    """A sample as a function of one array, which all of its arrays are parts of."""
    xs = case.sample.draw(case.generator(), case.shapes, np.float64)
    call, ends = case.function(), np.cumsum([0, *[x.size for x in xs]])

    def f(flat: Any) -> Any:
        parts = [np.reshape(flat[a:b], x.shape) for a, b, x in zip(ends[:-1], ends[1:], xs, strict=True)]
        out = call(*parts)
        out = np.concatenate([np.reshape(o, (-1,)) for o in out]) if isinstance(out, tuple) else out
        return np.real(out) + np.imag(out) if np.asarray(out).dtype.kind == "c" else out

    return f, np.concatenate([np.reshape(x, (-1,)) for x in xs])


def apart(found: Any, expected: Any) -> float:
    """The largest distance, beside the largest number."""
    scale = max(float(np.max(np.abs(expected), initial=0.0)), 1e-3)
    return float(np.max(np.abs(found - expected), initial=0.0)) / scale


def band(error: float) -> str:
    """The error as the first of the bands that it lies well within."""
    return next((f"<{limit:.0e}".replace("e-0", "e-") for limit in BANDS if error <= limit / 2), f"{error:.0e}")


def tried(run: Callable[[], str]) -> str:
    """What `run` says, or the error by its name."""
    try:
        return run()
    except Exception as error:
        return f"raises {type(error).__name__}"


def line(name: str, how: str, calls: list[tuple[Callable[[Any], Any], Any]]) -> Line:
    """Measure one function."""
    errors: list[float] = []
    said: dict[str, list[str]] = {"second": [], "compiled": [], "mapped": []}
    for f, x in calls:
        g = weighted(f)
        first = gs.grad(g)
        value = first(x)
        errors.append(min(apart(value, slopes(g, x, h)) for h in (1e-3, 1e-4, 1e-5)))
        u = np.cos(np.arange(x.size)).reshape(x.shape)

        def second(g: Any = g, first: Any = first, x: Any = x, u: Any = u) -> str:
            found = gs.hvp(g)(x, u)
            at = lambda h: first(x + h * u)
            near = min(
                apart(found, (8 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12 * h)) for h in (1e-3, 1e-4, 1e-5)
            )
            return "yes" if near < 1e-4 else f"no ({near:.0e})"

        def compiled(first: Any = first, x: Any = x) -> str:
            with warnings.catch_warnings(record=True) as log:
                warnings.simplefilter("always")
                run = gs.compile(first)
                same = all(np.array_equal(run(x * k), first(x * k), equal_nan=True) for k in (1.0, 1.0, 1.001))
            eager = any(issubclass(w.category, gs.EagerWarning) for w in log)
            return "eager" if same and eager else "yes" if same else "no"

        def mapped(first: Any = first, x: Any = x) -> str:
            many = np.stack([x, x * 1.001])
            return "yes" if apart(gs.vmap(first)(many), np.stack([first(one) for one in many])) < 1e-8 else "no"

        for key, run in (("second", second), ("compiled", compiled), ("mapped", mapped)):
            said[key].append(tried(run))
    error = max(errors)
    words = {key: next((s for s in all_of if s != "yes"), "yes") for key, all_of in said.items()}
    wrong = [key for key, word in words.items() if word.startswith("no")] + (
        ["first"] if not error <= BANDS[-1] / 2 else []
    )
    return Line(name, how, band(error), words["second"], words["compiled"], words["mapped"], ", ".join(wrong))


HEAD = """\
# SciPy's functions, measured

Written by `python benchmarks/scipy_table.py --write` (SciPy {scipy}), which calls each function of SciPy that has a gradient
([all functions, and what has none](coverage.md)) and compares what it gives with central differences.

- **how**: *rule*, a formula of its own (*not in n*: the argument `n` has none, and raises); *by its parts*, from the
  functions that it is made of; for functions that call yours, what is differentiated.
- **error**: the largest difference between the gradient and central differences, beside the largest of the gradient's
  numbers. What differences themselves are worth is in it.
- **second**: whether the derivative of the gradient agrees with differences of the gradient.
- **compiled**: whether `gs.compile` gives the same bits; *eager*, where it warns and calls the function as it stands.
- **vmapped**: whether `gs.vmap` of the gradient gives that of each example.
- Of a distribution the first line is its `logpdf` (`pmf`, `logpmf`), which raises for the 14 families of which SciPy computes it
  out of sight; the second is its `cdf`.
- *raises*: the error that is raised, by its name. No entry is a gradient that is wrong: the page is written where none is.
"""


def here_of(name: str) -> str:
    """The module of a function, or of a method of a distribution."""
    return name.removesuffix(".cdf").rpartition(".")[0]


def counts(lines: list[Line]) -> str:
    """How many lines of each module say yes, as a table."""
    rows = ["| module | lines | a gradient | second | compiled | vmapped |", "|---|---:|---:|---:|---:|---:|"]
    groups = {
        here: [one for one in lines if here_of(one.name) == here]
        for here in dict.fromkeys(here_of(one.name) for one in lines)
    }
    for here, group in (*groups.items(), ("all", lines)):
        said = [sum(one[k] == "yes" for one in group) for k in range(3, 6)]
        first = sum(one.error.startswith(("<", *"0123456789")) for one in group)
        rows.append(f"| {here} | {len(group)} | {first} | {said[0]} | {said[1]} | {said[2]} |")
    return "\n".join(rows)


def main() -> int:
    """Print the table, or write the page."""
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    chosen = [a for a in sys.argv[1:] if not a.startswith("--")]
    lines, untried = [], []
    for name, how, calls in list(callables())[:: 120 if is_tiny() else 1]:
        if chosen and not any(c in name for c in chosen):
            continue
        if not calls:
            untried.append(name)
            continue
        try:
            lines.append(line(name, how, calls))
        except gs.NoRuleError:
            lines.append(
                Line(name, "", "raises NoRuleError", "", "", "", "" if f"{name}.cdf" in CASES else "it raises")
            )
        except Exception as error:
            words = " ".join(str(error).split())[:150]
            lines.append(Line(name, how, "", "", "", "", f"{type(error).__name__}: {words}"))
    parts, module = [HEAD.format(scipy=scipy.__version__), counts(lines)], ""
    for one in lines:
        name = one.name.removeprefix(f"{here_of(one.name)}.")
        here = here_of(one.name)
        if here != module:
            module = here
            parts.append(
                f"\n## {module}\n\n| function | how | error | second | compiled | vmapped |\n|---|---|---|---|---|---|"
            )
        parts.append(f"| `{name}` | {one.how} | {one.error} | {one.second} | {one.compiled} | {one.mapped} |")
    page = "\n".join(parts) + "\n"
    wrong = [one for one in lines if one.wrong]
    if "--write" in sys.argv and not wrong:
        PAGE.write_text(page, encoding="utf-8")
    elif "--quiet" not in sys.argv:
        print(page)
    print(f"{len(lines)} functions; without a call: {len(untried)} {untried}", file=sys.stderr)
    for one in wrong:
        print(f"disagrees: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
