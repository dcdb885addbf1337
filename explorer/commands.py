"""Commands on a function: each gives the text to print, the same as data for --json, and whether all is well."""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from ..runtime.errors import EagerWarning
from ..transforms.checks.compare import Row, compare
from ..transforms.compiler.compile import compile
from ..transforms.compiler.driver.compiled import Compiled
from ..transforms.compiler.explain import explain
from ..transforms.compiler.source import Source, source
from ..transforms.derivatives.gradient import grad
from ..transforms.exports.export import export
from ..transforms.transform import Transform
from ..transforms.trees import flatten
from ..transforms.why import why
from .report import page, report_data
from .targets import Call, UsageError, call_of, load, of, places

__all__ = ["COMMANDS", "Answer"]


class Answer(NamedTuple):
    """The result of a command."""

    text: str
    data: Any
    ok: bool = True


def source_command(chosen: argparse.Namespace) -> Answer:
    """The generated source."""
    target = load(chosen.target)
    call = call_of(target, chosen.args)
    function = of(target, chosen.of, chosen.argnums)
    if chosen.fastmath:
        function = compile(function, fastmath=True)
    text = source(function, *call.args, **call.kwargs)
    return Answer(str(text), {"function": target.name, "source": str(text)})


def compare_command(chosen: argparse.Namespace) -> Answer:
    """Eager, compiled and finite-difference gradients."""
    target = load(chosen.target)
    call = call_of(target, chosen.args)
    function = target.function if chosen.argnums is None else of(target, "grad", chosen.argnums)
    found = compare(function, *call.args, **call.kwargs)
    figures = [f.name for f in dataclasses.fields(Row) if f.name not in ("eager", "compiled", "finite")]
    rows = [{"gradient": row.eager} | {name: getattr(row, name) for name in figures} for row in found.rows]
    data = {f.name: getattr(found, f.name) for f in dataclasses.fields(found)} | {"rows": rows}
    return Answer(str(found), data, found.ok)


def explain_command(chosen: argparse.Namespace) -> Answer:
    """Make these calls of the compiled function, one after the other, and explain what it did."""
    target = load(chosen.target)
    calls = [call_of(target, text) for text in chosen.args or [None]]
    function = of(target, chosen.of, chosen.argnums)
    compiled = function if isinstance(function, Compiled) else compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)  # which it tells itself
        for call in calls:
            compiled(*call.args, **call.kwargs)
    found = explain(compiled)
    data = {
        "function": found.function,
        "specialisations": [
            one._asdict() | {"assumptions": [str(a) for a in one.assumptions]} for one in found.specialisations
        ],
        "misses": [str(miss) for miss in found.misses],
        "eager": [one._asdict() | {"site": None if one.site is None else str(one.site)} for one in found.eager],
    }
    return Answer(str(found), data, not found.eager)


def export_command(chosen: argparse.Namespace) -> Answer:
    """The gradient as a module of its own, to a file or to the screen."""
    target = load(chosen.target)
    call = call_of(target, chosen.args)
    more: dict[str, Any] = {name: True for name in ("hessian", "hvp", "jvp") if getattr(chosen, name)}
    text = export(
        target.function,
        *call.args,
        path=chosen.output,
        argnums=places(chosen.argnums),
        target=chosen.language,
        **more,
        **call.kwargs,
    )
    shown = str(text) if chosen.output is None else f"{target.name} and its gradient are written to {chosen.output}"
    return Answer(shown, {"function": target.name, "path": chosen.output, "source": str(text)})


def report_command(chosen: argparse.Namespace) -> Answer:
    """The page of gs.report, to a file."""
    target = load(chosen.target)
    call = call_of(target, chosen.args)
    function = (
        target.function if chosen.of is None and chosen.argnums is None else of(target, chosen.of, chosen.argnums)
    )
    data = report_data(function, call.args, call.kwargs)
    path = Source(page(data)).save(chosen.output)
    agree = None if data["comparison"] is None else data["comparison"]["ok"]
    answer = {"function": target.name, "path": str(path), "agree": agree, "eager": data["generated"]["eager"] or None}
    return Answer(f"the report on {target.name} is written to {path}", answer, agree is not False)


def why_command(chosen: argparse.Namespace) -> Answer:
    """Why gradients are None, zero or NaN."""
    target = load(chosen.target)
    call = call_of(target, chosen.args)
    argnums = None if chosen.argnums is None else places(chosen.argnums)
    found = why(target.function, *call.args, argnums=argnums, **call.kwargs)
    answers = [
        {
            "argument": answer.argument, "state": answer.state, "gradient": answer.gradient,
            "causes": [
                {"op": c.op, "variable": c.variable, "file": c.filename, "line": c.lineno, "reason": c.reason}
                for c in answer.causes
            ],
        }
        for answer in found.answers
    ]  # fmt: skip
    return Answer(str(found), {"function": target.name, "healthy": found.healthy, "answers": answers}, found.healthy)


def train_command(chosen: argparse.Namespace, train: Any) -> Answer:
    """Minimise the loss of a file: `params`, `data` and `options` are its own, or functions that give them."""
    target = load(
        chosen.target if ":" in chosen.target or not chosen.target.endswith(".py") else f"{chosen.target}:loss"
    )
    told = {}
    for name in ("params", "data"):
        if not hasattr(target.module, name):
            raise UsageError(f"{chosen.target} has no `{name}`: a value, or a function that gives it")
        told[name] = getattr(target.module, name)
    options = dict(getattr(target.module, "options", {}))
    for name in ("optimizer", "lr", "steps", "save_to", "save_every"):
        if getattr(chosen, name) is not None:
            options[name] = getattr(chosen, name)
    if options.get("save_to") is not None:
        options.setdefault("save_every", 10)
    options |= {"resume": True} if chosen.resume else {}
    found = train(
        target.function,
        **told,
        workers=chosen.workers,
        memory=chosen.memory,
        scheduler=chosen.scheduler,
        options=options,
    )
    return Answer(*found)


def bench_command(chosen: argparse.Namespace) -> Answer:
    """The time of a function, of its gradient and of the compiled gradient; without a target of three of ours."""
    if chosen.target is None:
        rows = [_timed(name, function, call, chosen.seconds) for name, function, call in _EXAMPLES]
    else:
        target = load(chosen.target)
        rows = [_timed(target.name, target.function, call_of(target, chosen.args), chosen.seconds)]
    head = ("", "function", "eager gradient", "compiled gradient", "to compile", "times as fast")
    cells = [head, *[_cells(row) for row in rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    lines = [
        "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    lines += [f"{row['name']} runs eagerly: {row['runs_eagerly']}" for row in rows if row["runs_eagerly"]]
    return Answer("\n".join(lines), rows, not any(row["runs_eagerly"] for row in rows))


def _timed(name: str, function: Any, call: Call, seconds: float) -> dict[str, Any]:
    """The times of one function, in seconds; the fastest of many calls."""
    gradient = function if isinstance(function, Transform) else grad(function, _inexact(call))
    gradient = gradient.function if isinstance(gradient, Compiled) else gradient
    compiled = compile(gradient)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        compiled(*call.args, **call.kwargs)
        first = time.perf_counter() - start
        found = explain(compiled)
        plain = getattr(gradient, "function", function)
        return {
            "name": name,
            "function": _fastest(plain, call, seconds),
            "eager_gradient": _fastest(gradient, call, seconds),
            "compiled_gradient": None if found.eager else _fastest(compiled, call, seconds),
            "to_compile": first,
            "runs_eagerly": found.eager[0].reason if found.eager else None,
        }


def _inexact(call: Call) -> Any:
    """All arguments of floating point or complex numbers, as `gs.compare` takes them."""
    named = [*enumerate(call.args), *call.kwargs.items()]
    return tuple([place for place, value in named if all(_kind(leaf) in "fc" for leaf in flatten(value)[0])]) or 0


def _kind(leaf: Any) -> str:
    return str(np.asarray(leaf).dtype.kind)


def _fastest(function: Any, call: Call, seconds: float) -> float:
    best, end = math.inf, time.perf_counter() + seconds
    while best is math.inf or time.perf_counter() < end:
        start = time.perf_counter()
        function(*call.args, **call.kwargs)
        best = min(best, time.perf_counter() - start)
    return best


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    fast = row["compiled_gradient"]
    times = [row["function"], row["eager_gradient"], fast, row["to_compile"]]
    ratio = "-" if fast is None else f"{row['eager_gradient'] / fast:.1f}"
    return (row["name"], *["-" if t is None else _shown(t) for t in times], ratio)


_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def _shown(seconds: float) -> str:
    size, unit = next((u for u in _UNITS if seconds >= u[0]), _UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def _rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _network(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ w1) @ w2 - y) ** 2)


def _decay(x: Any, rate: Any) -> Any:
    while np.sum(x) > 1.0:
        x = x * rate
    return np.sum(x)


_EXAMPLES = (
    ("Rosenbrock's function, 10 numbers", _rosenbrock, Call((np.linspace(-1.0, 1.0, 10),), {})),
    ("a network, 64 x 32 x 10", _network, Call(tuple(np.full(s, 0.1) for s in ((64, 32), (32, 10), (50, 64), (50, 10))), {})),
    ("a loop of 10 trips", _decay, Call((np.full(10, 100.0), np.float64(0.5)), {})),
)  # fmt: skip

COMMANDS = {
    "source": source_command, "compare": compare_command, "explain": explain_command, "export": export_command,
    "report": report_command, "why": why_command, "bench": bench_command,
}  # fmt: skip
