"""gs.compare: eager, compiled and finite-difference gradients of a function side by side, and the time of each."""

from __future__ import annotations

import contextvars
import dataclasses
import html
import textwrap
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.arrays import on_numpys_host
from ...runtime.errors import CompileError, DtypeError, VerifyError
from ...tracer.core.site import pruned
from ..arguments import Arguments
from ..compiler.driver.compiled import Compiled, target_of
from ..derivatives.gradient import GradFunction
from ..derivatives.second_order import DIRECTION, HessianFunction, HvpFunction
from ..transform import Transform
from ..trees import LEAF, flatten, unflatten
from .evaluation import Evaluation
from .finite import DIRECTIONS, ENTRIES, SEED, Slopes, slopes
from .peak import peak_memory, shown

__all__ = ["Comparison", "Native", "Row", "compare"]


@dataclasses.dataclass(frozen=True)
class Row:
    """One differentiated argument, or one leaf of it where it is a tree."""

    argument: str  # its name, with the path of the leaf: params['w']
    type: str
    eager: Any  # the gradient that gs.grad gives
    compiled: Any  # the gradient that gs.compile(gs.grad) gives; None where that runs eagerly
    compiled_absolute: float  # the largest difference between the two
    compiled_relative: float  # over the largest entry of the gradient
    same_bits: bool
    finite: Slopes  # the slopes that were checked, the predicted beside the measured
    finite_absolute: float  # the largest difference between eager and finite differences
    finite_relative: float  # over the largest slope
    ok: bool


@dataclasses.dataclass(frozen=True)
class Native:
    """The gradient of the native target, where it was asked for."""

    seconds: float
    absolute: float  # the largest difference from eager
    relative: float  # over the largest entry of its gradient, or 1000 * sqrt(eps)
    tolerance: float  # what the relative difference may be
    runs: str  # what serves the calls: a kernel, with the calls of Python in it, or NumPy, and why
    gradients: tuple[Any, ...]  # that of each row

    @property
    def ok(self) -> bool:
        """Whether it agrees with eager."""
        return self.relative <= self.tolerance


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The report of `gs.compare`: `print` shows it as a table, and so does a notebook."""

    function: str
    rows: list[Row]
    eager_seconds: float
    compiled_seconds: float | None  # None where the function runs eagerly
    compile_seconds: float | None  # capture, compilation and check, once
    finite_seconds: float
    eager_bytes: int  # of memory, at the peak of one gradient
    compiled_bytes: int | None
    evaluations: int  # of the function, by the finite differences
    runs_eagerly: str | None  # why there is no compiled version
    notes: list[str]
    ok: bool
    native: Native | None = None  # where the function was compiled for that target

    def table(self) -> list[list[str]]:
        """The cells of the table, without a header."""
        return [
            [
                row.argument, row.type,
                *((_figure(row.compiled_absolute), _figure(row.compiled_relative)) if self.compiled else ("-", "-")),
                ("same" if row.same_bits else "differ") if self.compiled else "-",
                _figure(row.finite_absolute), _figure(row.finite_relative), _verdict(row),
            ]
            for row in self.rows
        ]  # fmt: skip

    @property
    def compiled(self) -> bool:
        """Whether there is a compiled version."""
        return self.runs_eagerly is None

    def footer(self) -> list[str]:
        """The times, and what else a reader should know."""
        eager, finite = _seconds(self.eager_seconds), _seconds(self.finite_seconds)
        times = f"time of one gradient: eager {eager}"
        if self.compiled_seconds is not None and self.compile_seconds is not None:
            ratio = self.eager_seconds / self.compiled_seconds
            times += f", compiled {_seconds(self.compiled_seconds)} ({ratio:.1f} times as fast"
            times += f"; {_seconds(self.compile_seconds)} to compile)"
        peaks = f"peak memory of one gradient: eager {shown(self.eager_bytes)}"
        if self.compiled_bytes is not None:
            peaks += f", compiled {shown(self.compiled_bytes)}"
        measured = f"finite differences: {finite} for {self.evaluations:,} evaluations"
        sampled = [row.argument for row in self.rows if row.finite.sampled]
        if sampled:
            listed = ", ".join(sampled[:4]) + (" ..." if len(sampled) > 4 else "")
            measured += f"; {listed}: {ENTRIES} entries, {DIRECTIONS} directions (seed {SEED})"
        return [times, peaks, measured, *self.remarks()]

    def remarks(self) -> list[str]:
        """What a reader should know beside the figures."""
        lines = []
        if self.native is not None:
            far = f"relative difference from eager {_figure(self.native.relative)} of at most {_figure(self.native.tolerance)}"
            verdict = "" if self.native.ok else " THEY DISAGREE"
            lines.append(f"target native: {_seconds(self.native.seconds)}, {far};{verdict} it ran {self.native.runs}")
        if self.runs_eagerly is not None:
            lines.append(f"not compiled: {self.runs_eagerly}")
        return lines + self.notes

    def __str__(self) -> str:
        rows = self.table()
        rows = [_HEADER, *(list(map(_shortened, row)) for row in rows)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEADER))]

        def line(row: list[str]) -> str:
            cells = [c.ljust(w) if k in _LEFT else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))]
            return f"{cells[0]}  {cells[1]}  | {'  '.join(cells[2:5])} | {'  '.join(cells[5:])}".rstrip()

        groups = f"{' ' * (widths[0] + widths[1] + 3)} | {_GROUPS[0].center(sum(widths[2:5]) + 4)} | {_GROUPS[1]}"
        title = f"gradient of {self.function}: {'all agree' if self.ok else 'THEY DISAGREE, see the last column'}"
        rule = "".join("+" if c == "|" else "-" for c in line([" " * (w - 1) + "x" for w in widths]))
        footer = [part for text in self.footer() for part in textwrap.wrap(text, 98, subsequent_indent="  ")]
        return "\n".join([title, groups.rstrip(), line(rows[0]), rule, *map(line, rows[1:]), "", *footer])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cells(tag: str, row: list[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in row) + "</tr>"

        groups = f'<tr><th colspan="2"></th><th colspan="3">{_GROUPS[0]}</th><th colspan="3">{_GROUPS[1]}</th></tr>'
        body = "".join(cells("td", row) for row in self.table())
        notes = "<br>".join(html.escape(line) for line in self.footer())
        verdict = "all agree" if self.ok else "<b>they disagree</b>"
        title = f"<caption>gradient of {html.escape(self.function)}: {verdict}</caption>"
        return f"<table>{title}<thead>{groups}{cells('th', _HEADER)}</thead><tbody>{body}</tbody></table><p>{notes}</p>"


_HEADER = ["argument", "type", "absolute", "relative", "bits", "absolute", "relative", "agree"]
_GROUPS = ("compiled - eager", "eager - finite differences")
_LEFT = {0, 1, 4, 7}
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def _verdict(row: Row) -> str:
    return ("yes" if not row.finite.kinks else "at a kink") if row.ok else "NO"


def _figure(x: float) -> str:
    return "0" if x == 0 else f"{x:.1e}"


def _shortened(cell: str) -> str:
    return cell if len(cell) <= 28 else cell[:12] + "..." + cell[-13:]


def _seconds(t: float) -> str:
    size, unit = next(((size, unit) for size, unit in _UNITS if t >= size), _UNITS[-1])
    return f"{t / size:.3g} {unit}"


@pruned
def compare(function: Any, *args: Any, **kwargs: Any) -> Comparison:
    """Eager, compiled and finite-difference gradients of `function` at these arguments, and the time of each.

    `function` is a plain function with a scalar output, then every floating point argument is differentiated, or
    `gs.grad(f)`, `gs.value_and_grad(f)` or the compiled form of one, then what that differentiates. Finite differences
    are central, with a step of about eps**(1/3) * max(1, |x|), and others where that step does not agree; arguments
    of more than 64 entries are checked at some entries and along some directions, the same in each run. A relative
    difference is over the largest entry of the gradient. A compiled form is compiled anew with its `loop_memory`. The result
    prints as a table and holds the figures. Raises ShapeError where the output is not one real number, and DtypeError where no
    argument can be differentiated.

    >>> import numpy as np, gradscribe as gs
    >>> result = gs.compare(lambda x, y: np.sum(np.sin(x) * y), np.arange(3.0), 2.0)
    >>> result.ok, [row.argument for row in result.rows], result.rows[0].same_bits
    (True, ['x', 'y'], True)
    """
    if not callable(function):
        raise TypeError(f"gs.compare takes a function, not {type(function).__name__}: {function!r}")
    if isinstance(function, types.MethodType) and isinstance(function.__func__, Transform):
        function, args = function.__func__, (function.__self__, *args)  # a decorated method
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _Run(function, args, kwargs).comparison()


class _Run:
    """One comparison while it is being made."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        from ..compiler.driver.specialise import Inputs
        from ..compiler.schedule.signature import parameter_names  # the compiler stands on gast, which is slow to load

        on_numpys_host("gs.compare", flatten((args, kwargs))[0])

        self.notes: list[str] = []
        self.options: dict[str, Any] = {"verify": "first calls", "target": "numpy"}
        self.native = isinstance(function, Compiled) and target_of(function.options) != "numpy"
        while isinstance(function, Compiled):
            self.options |= {k: v for k, v in function.options.items() if k == "loop_memory"}
            function = function.function
        if isinstance(function, (HessianFunction, HvpFunction)):
            function, args = function.along(args, kwargs)
            self.notes.append(DIRECTION)
        transformed = function if isinstance(function, GradFunction) else None
        self.function = function.function if transformed else function
        self.has_aux = transformed.has_aux if transformed else False
        if transformed and transformed.convention != "torch":
            self.notes.append("in PyTorch's convention")
        self.args, self.kwargs = args, kwargs
        self.names = dict(zip([*range(len(args)), *kwargs], parameter_names(self.function, args, kwargs), strict=True))
        if transformed:
            places = Arguments(self.function, transformed.argnums, args, kwargs).places
        else:
            places = self._differentiable()
        self.places: list[int | str] = places
        self.gradient = GradFunction(
            self.function, {"argnums": tuple(places), "has_aux": self.has_aux, "with_value": False}
        )
        self.inputs = Inputs(self.function, args, kwargs)
        self.evaluation: Any = self.function
        self.evaluations = 0
        self.writes = False

    def _differentiable(self) -> list[int | str]:
        """Return the positions of the floating point arguments of a plain function."""
        places: list[int | str] = []
        others: list[str] = []
        given: list[tuple[int | str, Any]] = [*enumerate(self.args), *self.kwargs.items()]
        for place, value in given:
            types = [_dtype(leaf) for leaf in flatten(value)[0]]
            if types and all(t is not None and t.kind in "fc" for t in types):
                places.append(place)
            else:
                found = sorted({str(t) for t in types if t is not None and t.kind in "biu"})
                others.append(f"{self.names[place]} ({', '.join(found) or type(value).__name__})")
        if not places:
            raise DtypeError(
                f"compare differentiates floating point and complex arguments, but `{self._name()}` was called with "
                f"{', '.join(others) or 'no arguments'}.\nConvert one (x.astype(float), 3.0 in place of 3)."
            )
        if others:
            self.notes.append(f"not differentiated: {', '.join(others)}")
        return places

    def _name(self) -> str:
        function, orders = self.function, ""
        while isinstance(function, GradFunction):
            function, orders = function.function, orders + "gs.grad of "
        return orders + str(getattr(function, "__name__", type(function).__name__))

    def comparison(self) -> Comparison:
        """Everything, in order: values, gradients, finite differences, times."""
        before = self.inputs.digest()
        args, kwargs = self.inputs.copied()
        first = self._value(args, kwargs)
        self.writes = type(self.inputs)(self.function, tuple(args), kwargs).digest() != before
        args, kwargs = self._fresh()
        eager = self._leaves(self.gradient(*args, **kwargs))  # raises unless the output is a scalar
        repeats = bool(first == self._value(*self._fresh()) or first != first)
        if not repeats:
            self.notes.append("the function gives another value at each call: finite differences mean nothing")
        self.evaluation = Evaluation(self.function, self.places, *self._fresh())
        if self.evaluation.symmetrised:
            self.notes.append("finite differences move symmetric matrices symmetrically, as their gradients are")
        compiled, compiled_call, compile_seconds, why, broken = self._compiled()
        start = time.perf_counter()
        rows = self._rows(eager, [None] * len(eager) if compiled is None else compiled)
        finite_seconds = time.perf_counter() - start
        if broken is not None:
            self.notes.append(f"please report it: {broken}")
        native = None
        if self.native and compiled is not None:  # without our np.errstate, under which NumPy's source would run
            native = contextvars.Context().run(self._native, eager)
        return Comparison(
            function=self._name(),
            rows=rows,
            eager_seconds=self._fastest(self.gradient),
            compiled_seconds=None if compiled_call is None else self._fastest(compiled_call),
            compile_seconds=compile_seconds,
            finite_seconds=finite_seconds,
            eager_bytes=self._peak(self.gradient),
            compiled_bytes=None if compiled_call is None else self._peak(compiled_call),
            evaluations=self.evaluations,
            runs_eagerly=why,
            notes=self.notes,
            ok=repeats and broken is None and all(row.ok for row in rows) and (native is None or native.ok),
            native=native,
        )

    def _fresh(self) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the next call: copies where the function writes into them."""
        return self.inputs.copied() if self.writes else (list(self.args), self.kwargs)

    def _value(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        result = self.evaluation(*args, **kwargs)
        return result[0] if self.has_aux else result

    def _leaves(self, gradients: Any) -> list[Any]:
        """The gradient of each row."""
        return [leaf for tree in (gradients[0] if self.has_aux else gradients) for leaf in flatten(tree)[0]]

    def _compiled(self) -> tuple[list[Any] | None, Any, float | None, str | None, str | None]:
        """Compiled gradients, the function, the time it took to compile; or why it runs eagerly; what went wrong."""
        function = Compiled(self.gradient, self.options)
        start = time.perf_counter()
        args, kwargs = self._fresh()
        try:
            function.specialisation(*args, **kwargs)
            seconds = time.perf_counter() - start
            args, kwargs = self._fresh()
            found = self._leaves(function(*args, **kwargs))
        except VerifyError as error:
            return None, None, None, "its compiled form gives another result, so it would run eagerly", str(error)
        except CompileError as error:
            return None, None, None, str(error).partition("because it runs eagerly: ")[2] or str(error), None
        return found, function, seconds, None, None

    def _native(self, eager: list[Any]) -> Native:
        """The gradient of the native target beside eager's."""
        function = Compiled(self.gradient, {**self.options, "verify": False, "target": "native"})
        for _ in range(2):  # the first captures
            args, kwargs = self._fresh()
            found = self._leaves(function(*args, **kwargs))
        types = [_dtype(leaf) for leaf in self.inputs.leaves]
        coarsest = max(float(np.finfo(t).eps) for t in types if t is not None and t.kind in "fc")
        floor = 1000 * coarsest**0.5  # below it, what differs by 1000 * eps cancels
        absolute = relative = 0.0
        for a, b in zip(found, eager, strict=True):
            alike = (a == b) | (np.isnan(a) & np.isnan(b))  # infinities among them
            far = float(np.max(np.where(alike, 0.0, np.abs(a - b)), initial=0.0))
            far, size = far if far == far else np.inf, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
            absolute, relative = max(absolute, far), max(relative, far / max(size, floor))
        ran = [str(function._native.ran(one)) for one in function._texts.values()] if function._native else []
        runs = ran[-1] if ran else "eagerly"
        return Native(self._fastest(function), absolute, relative, coarsest**0.5, runs, tuple(found))

    def _fastest(self, function: Callable[..., Any], budget: float = 0.2) -> float:
        """The shortest of several runs."""
        best, spent, runs = np.inf, 0.0, 0
        while runs < 5 or (spent < budget and runs < 200):
            args, kwargs = self._fresh()
            start = time.perf_counter()
            function(*args, **kwargs)
            taken = time.perf_counter() - start
            best, spent, runs = min(best, taken), spent + taken, runs + 1
            if spent > 5 * budget and runs > 1:
                break
        return float(best)

    def _peak(self, function: Callable[..., Any]) -> int:
        args, kwargs = self._fresh()
        return peak_memory(lambda: function(*args, **kwargs))

    def _rows(self, eager: list[Any], compiled: list[Any]) -> list[Row]:
        rows: list[Row] = []
        types = [_dtype(leaf) for leaf in self.inputs.leaves]
        coarsest = max(float(np.finfo(t).eps) for t in types if t is not None and t.kind in "fc")
        for place in self.places:
            value = self.args[place] if isinstance(place, int) else self.kwargs[place]
            leaves, structure = flatten(value)
            for k, (leaf, label) in enumerate(zip(leaves, _labels(self.names[place], structure), strict=True)):
                n = len(rows)
                found = slopes(self._along(place, k), leaf, eager[n], coarsest)
                row = _row(label, leaf, eager[n], compiled[n], found)
                self.notes += _remarks(row)
                rows.append(row)
        return rows

    def _along(self, place: int | str, k: int) -> Callable[[Any], Any]:
        """The function of one leaf alone."""

        def value(leaf: Any) -> Any:
            self.evaluations += 1
            args, kwargs = self._fresh()
            holder: Any = args if isinstance(place, int) else (kwargs := dict(kwargs))
            leaves, structure = flatten(holder[place])
            holder[place] = unflatten(structure, [*leaves[:k], leaf, *leaves[k + 1 :]])
            return self._value(args, kwargs)

        return value


def _dtype(leaf: Any) -> np.dtype[Any] | None:
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype
    return np.result_type(type(leaf)) if isinstance(leaf, (bool, int, float, complex)) else None


def _labels(name: str, structure: Any) -> list[str]:
    """A name for each leaf, as one would write it."""
    return [name] if structure is LEAF else [accessor.codify(name) for accessor in structure.accessors()]


def _row(label: str, leaf: Any, eager: Any, compiled: Any, found: Slopes) -> Row:
    from ..compiler.driver.specialise import difference

    largest = relative = np.nan
    near = True
    if compiled is not None:
        e, c = np.asarray(eager), np.asarray(compiled)
        agreeing = (e == c) | ((e != e) & (c != c))  # the same infinity, or both not a number
        largest, relative = _largest(np.where(agreeing, 0, np.abs(e - c)), e)
        near = largest <= 100 * np.finfo(e.dtype).eps * float(np.max(np.abs(e), initial=0))
    finite_largest, finite_relative = _largest(np.abs(found.expected - found.found), found.expected)
    return Row(
        argument=label, type=_type(leaf), eager=eager, compiled=compiled, compiled_absolute=largest,
        compiled_relative=relative, same_bits=compiled is not None and difference(compiled, eager) is None,
        finite=found, finite_absolute=finite_largest, finite_relative=finite_relative, ok=near and found.ok,
    )  # fmt: skip


def _largest(differences: Any, values: Any) -> tuple[float, float]:
    """The largest difference, as it is and over the largest value."""
    largest = float(np.max(differences, initial=0))
    scale = float(np.max(np.abs(values), initial=0))
    return largest, largest / scale if scale else (0.0 if largest == 0 else np.inf)


def _type(leaf: Any) -> str:
    if isinstance(leaf, np.ndarray):
        return f"{leaf.dtype.name}[{', '.join(map(str, leaf.shape))}]"
    return type(leaf).__name__


def _remarks(row: Row) -> list[str]:
    """Return the remarks below the figures."""
    said, found = [], row.finite
    bad = np.count_nonzero(~np.isfinite(np.asarray(row.eager)))
    if bad:
        said.append(f"{row.argument}: {bad} of {np.size(row.eager)} entries of the gradient are inf or nan")
    if not np.all(np.isfinite(found.found)):
        said.append(f"{row.argument}: the function is inf or nan within a step of the argument")
    if found.kinks:
        said.append(f"{row.argument}: {found.kinks} at a kink, where the gradient lies between the one-sided slopes")
    if found.unsettled and np.all(np.isfinite(found.found)):
        said.append(f"{row.argument}: {found.unsettled} where finite differences do not settle: too rough to tell")
    return said
