"""gs.export: a function and its gradient as a module of their own, which imports NumPy alone."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import reprlib
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.errors import CompileError, ShapeError, VerifyError
from ...tracer.core.site import pruned
from ..compiler.driver.compiled import Compiled
from ..compiler.source import Source
from ..derivatives.forward import VECTOR, JvpFunction
from ..derivatives.gradient import GradFunction
from ..derivatives.second_order import HessianFunction, HvpFunction
from ..trees import flatten
from .export_capture import Captured, capture
from .export_inputs import SMALL, Axes, array_text, described, example, free_sizes, leaves_of, reads_and_branches
from .export_text import Piece, function_text, hint, module_text

__all__ = ["differentiated", "export", "source_hash"]

_SECOND = ("hessian", "hvp", "jvp")
CONSTANT = 64  # entries: a larger array from outside stays a keyword argument of the exported functions
STORED = 2000  # entries: so many may be written down where numbers from their range do not do


def uncompiled(function: Any) -> Any:
    """The function under gs.compile."""
    while isinstance(function, Compiled):
        function = function.function
    return function


def differentiated(function: Any, argnums: Any) -> tuple[Any, Any]:
    """The plain function under gs.grad and gs.compile, and what of it is differentiated."""
    function = uncompiled(function)
    if isinstance(function, GradFunction):
        if function.has_aux:
            raise TypeError("gs.export and gs.load take functions with one output: has_aux is not exported")
        if function.convention != "torch":
            raise TypeError(
                "gs.export and gs.load write gradients in PyTorch's convention: leave convention='jax' away"
            )
        return differentiated(function.function, function.argnums)[0], function.argnums
    return function, argnums


@pruned
def export(
    function: Any, *args: Any, path: str | os.PathLike[str] | None = None, argnums: Any = 0,
    hessian: bool = False, hvp: bool = False, jvp: bool = False, check: bool = True, **kwargs: Any,
) -> Source:  # fmt: skip
    """Write `function` and its gradient as a module that needs NumPy alone; its text.

    `function(*args, **kwargs)` gives one real number. `argnums` is as for `gs.grad`, and taken from `gs.grad(f)` where
    that is given. The module has `f`, `f_value_and_grad` and `f_grad`, and `f_hessian`, `f_hvp` and `f_jvp` where asked
    for (of one array argument); they check their arguments, and run as a script it checks the gradient against finite
    differences, as `gs.export` does itself unless `check=False`. With `argnums=None`, or where the function gives a tuple,
    list or dict, as a step of training does, the module has the function as it is, held against eager, and no gradient.
    Sizes that `function` does not depend on stay free; numbers that it reads from outside are fixed, and arrays of more
    than 64 entries become keyword arguments. Raises CompileError for what runs eagerly, with the line, and for what
    writes into its arguments and is to have a gradient; ShapeError for a gradient of what is no number; VerifyError
    where a check fails.

    >>> import numpy as np, gradscribe as gs
    >>> def f(x):
    ...     return np.sum(x * x)
    >>> text = gs.export(f, np.arange(3.0))
    >>> "def f_value_and_grad(x: np.ndarray) -> tuple[np.float64, np.ndarray]:" in text
    True
    """
    if not callable(function):
        raise TypeError(f"gs.export takes a function, not {type(function).__name__}: {reprlib.repr(function)}")
    if any(isinstance(a, (str, os.PathLike)) for a in args):
        raise TypeError(
            "gs.export takes the arguments of the function, and the file by name: gs.export(f, x, path=...)"
        )
    plain, argnums = (uncompiled(function), None) if argnums is None else differentiated(function, argnums)
    job = _Export(plain, argnums, args, kwargs)
    text = job.text([w for w, wanted in zip(_SECOND, (hessian, hvp, jvp), strict=True) if wanted], check)
    if path is not None:
        _write(Path(path), text)
    return Source(text)


def _write(path: Path, text: str) -> None:
    """Write a file as a whole, or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


class _Export:
    """One export."""

    def __init__(self, function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        from ..compiler.schedule.signature import parameter_names

        self.function, self.argnums = function, argnums
        self.args, self.kwargs = args, kwargs
        self.names = parameter_names(function, args, kwargs)
        self.values = [*args, *kwargs.values()]
        label = getattr(function, "__name__", type(function).__name__)
        self.label = label if label.isidentifier() else "function"
        self.places: list[int] = []

    def _places(self) -> list[int]:
        """Which arguments are differentiated, by their places."""
        from ..arguments import Arguments

        places = Arguments(self.function, self.argnums, self.args, self.kwargs).places
        return [p if isinstance(p, int) else self.names.index(p) for p in places]

    def text(self, extra: list[str], check: bool) -> str:
        """The module."""
        whole = self._captured(self.function, writes=True)
        if self.argnums is None or (self.argnums == 0 and type(whole.result) in (tuple, list, dict)):
            if extra:
                raise ShapeError(f"gs.export: {extra[0]}=True needs a function that gives one number, and argnums")
            return self._without_gradient(whole, check)
        if np.ndim(whole.result) or whole.result is None:
            raise ShapeError(
                f"gs.export: grad needs a scalar output, but `{self.label}` gives {_shown(whole.result)}. Sum it, or pass "
                "argnums=None for a module without a gradient."
            )
        self.places = self._places()
        options = {"argnums": self.argnums, "has_aux": False}
        with_value = GradFunction(self.function, {**options, "with_value": True})
        base = self._captured(with_value)
        wrt = " and ".join(f"`{self.names[p]}`" for p in self.places)
        several = isinstance(self.argnums, (tuple, list))
        gradients = (
            f"a tuple of the gradients with respect to {wrt}" if several else f"the gradient with respect to {wrt}"
        )
        name = self.label
        made = {
            name: (self.function, f"The value of `{name}`."),
            f"{name}_value_and_grad": (with_value, f"The value of `{name}`, and {gradients}."),
            f"{name}_grad": (GradFunction(self.function, {**options, "with_value": False}), f"{gradients}."),
        }
        known = {name: whole, f"{name}_value_and_grad": base}
        captured = {n: known.get(n) or self._captured(f) for n, (f, _) in made.items()}
        purposes = {n: purpose[0].upper() + purpose[1:] for n, (_, purpose) in made.items()}
        arrays = self._arrays(list(captured.values()))
        pinned = any(map(reads_and_branches, base.functions))
        free = {} if pinned else self._free(with_value, self.values, base, arrays)
        tables: list[tuple[str, Any]] = [("_ARGUMENTS", self._described(self.values, arrays, Axes(free)))]
        pieces = [Piece(n, c.text, purposes[n], "_ARGUMENTS", c.result) for n, c in captured.items()]
        for what in extra:
            piece, entries = self._extra(what, arrays, pinned)
            table = tables[0][1]
            if all(table.get(k, spec) == spec for k, spec in entries.items()):
                table.update(entries)
                pieces.append(piece)
            else:
                tables.append((f"_{what.upper()}_ARGUMENTS", entries))
                pieces.append(piece._replace(expected=f"_{what.upper()}_ARGUMENTS"))
        tables.append(("_PATHS", self._paths(several)))
        render = _Rendered(self, pieces, tables, arrays, base, pinned)
        text = render.text(SMALL)
        problem = render.problem(text) if check else None
        few = sum(np.size(leaf) for leaf in flatten(self.values)[0]) <= STORED
        if problem is not None and few:
            text = render.text(STORED)
            problem = render.problem(text)
        if problem is not None:
            raise VerifyError(
                f"gs.export: the module of `{name}` fails its own check: {problem}\nPass arguments at which `{name}` is "
                f"smooth, with at most {STORED:,} entries, so that the module keeps them (or check=False)."
            )
        return text

    def _without_gradient(self, whole: Captured, check: bool) -> str:
        """The module of the function as it is."""
        self.label, self.argnums = whole.name, None
        arrays = self._arrays([whole])
        pinned = any(map(reads_and_branches, whole.functions))
        free = {} if pinned else self._free(self.function, self.values, whole, arrays)
        table = ("_ARGUMENTS", self._described(self.values, arrays, Axes(free)))
        piece = Piece(self.label, whole.text, f"What `{self.label}` gives.", "_ARGUMENTS", whole.result)
        render = _Rendered(self, [piece], [table], arrays, whole, pinned)
        text = render.text(SMALL)
        problem = render.difference(text) if check else None
        if problem is not None:
            raise VerifyError(
                f"gs.export: the module of `{self.label}` differs from eager ({problem}). Please report it."
            )
        return text

    def _captured(self, function: Any, writes: bool = False) -> Captured:
        return capture(function, self.args, self.kwargs, self.label, writes)

    def _arrays(self, captured: list[Captured]) -> dict[str, Any]:
        """The arrays from outside, one for each name."""
        found: dict[str, Any] = {}
        for name, array in (item for c in captured for item in c.arrays.items()):
            if found.setdefault(name, array) is not array or name in (
                self.label,
                "example",
                "np",
                "math",
                "cmath",
                "statistics",
            ):
                raise CompileError(f"gs.export: two things that `{self.label}` uses are called {name}; rename one")
        return found

    def _free(self, function: Any, values: list[Any], base: Captured, arrays: dict[str, Any]) -> dict[int, int]:
        count = len(self.args) + len(values) - len(self.values)

        def recapture(values: list[Any]) -> str | None:
            try:
                args, kwargs = tuple(values[:count]), dict(zip(self.kwargs, values[count:], strict=True))
                with np.errstate(all="ignore"):
                    return capture(function, args, kwargs, self.label).text
            except np.linalg.LinAlgError:  # repeated rows: they tell nothing
                return ""
            except Exception:
                return None

        fixed = {s for array in arrays.values() for s in array.shape}
        return free_sizes(values, fixed, recapture, base.text)

    def _described(self, values: list[Any], arrays: dict[str, Any], axes: Axes, more: tuple[str, ...] = ()) -> Any:
        n = len(self.args)
        names = [*self.names[:n], *more, *self.names[n:]]
        draws = self.argnums is None
        found = {name: described(value, name, axes, draws) for name, value in zip(names, values, strict=True)}
        large = {name: described(a, name, axes) for name, a in arrays.items() if a.size > CONSTANT}
        return {**found, **large}

    def _paths(self, several: bool) -> dict[str, Any]:
        """For each leaf that is differentiated: its path in the arguments, and that in the gradient."""
        found: dict[str, Any] = {}
        for k, place in enumerate(self.places):
            name = self.names[place]
            for path, _ in leaves_of(self.values[place]):
                shown = name + "".join(f"[{key!r}]" for key in path)
                found[shown] = [(name, *path), ((k, *path) if several else path)]
        return found

    def _extra(self, what: str, arrays: dict[str, Any], pinned: bool) -> tuple[Piece, Any]:
        """The Hessian, Hessian-vector or Jacobian-vector product."""
        name = self.label
        place, several = self.places[0], isinstance(self.argnums, (tuple, list))
        value = self.values[place]
        if several or type(value) is not np.ndarray or value.dtype.kind != "f":
            raise ShapeError(
                f"gs.export: {what}=True needs argnums to be one argument, and that an array of real numbers"
            )
        wrt, n = self.names[place], len(self.args)
        values, more = self.values, tuple[str, ...]()
        options = {"argnums": self.argnums}
        if what == "hessian":
            function: Any = HessianFunction(self.function, options)
            purpose = f"The Hessian of `{name}` with respect to `{wrt}`."
        else:
            v = next(v for v in VECTOR if v not in self.names)
            more = (v,)
            values = [*self.args, value / (1 + np.abs(value)), *self.kwargs.values()]
            function = (HvpFunction if what == "hvp" else JvpFunction)(self.function, options)
            purpose = f"The Hessian of `{name}` with respect to `{wrt}`, times `{v}`."
            if what == "jvp":
                purpose = f"The value of `{name}`, and its derivative as `{wrt}` moves along `{v}`."
        args, kwargs = tuple(values[: n + len(more)]), self.kwargs
        captured = capture(function, args, kwargs, f"{name} ({what})")
        if any(arrays.get(k) is not a for k, a in captured.arrays.items()):
            raise CompileError(f"gs.export: the {what} of `{name}` reads arrays from outside under other names")
        free = {} if pinned else self._free(function, values, captured, arrays)
        entries = self._described(values, arrays, Axes(free), more)
        return Piece(f"{name}_{what}", captured.text, purpose, "_ARGUMENTS", captured.result), entries


class _Rendered:
    """What the text of the module is made of, but for the numbers of its example."""

    def __init__(
        self, job: _Export, pieces: list[Piece], tables: Any, arrays: dict[str, Any], base: Captured, pinned: bool
    ) -> None:
        self.job, self.pieces, self.tables, self.base, self.pinned = job, pieces, tables, base, pinned
        self.small = {name: a for name, a in arrays.items() if a.size <= CONSTANT}
        self.large = {name: a for name, a in arrays.items() if a.size > CONSTANT}

    def text(self, limit: int) -> str:
        """The module, with arrays of at most `limit` entries written down in its example."""
        job = self.job
        inputs = dict(zip(job.names, job.values, strict=True))
        hints = {name: hint(value) for name, value in {**inputs, **self.large}.items()}
        hints |= {v: "np.ndarray" for v in VECTOR if v not in hints}
        functions = [function_text(p, hints, set(self.small), job.label) for p in self.pieces]
        wrt = tuple(job.names[p] for p in job.places)
        made = {
            "by": f"gradscribe {sys.modules[__name__.partition('.')[0]].__version__}",
            "function": job.label,
            "argnums": wrt if isinstance(job.argnums, (tuple, list)) else wrt[0] if wrt else None,
            "source": source_hash(self.base.functions),
        }
        constants = [_constant(name, a) for name, a in self.small.items()]
        rows = "".join(f'        "{k}": {example(v, 12, limit)},\n' for k, v in {**inputs, **self.large}.items())
        draws = "    rng = np.random.default_rng(0)\n" if "rng." in rows else ""
        examples = (
            'def example() -> dict[str, Any]:\n    """Arguments like those of the export: many numbers are drawn '
            f'from their range."""\n{draws}    # fmt: off\n    return {{\n{rows}    }}\n    # fmt: on\n'
        )
        names = (job.label, f"{job.label}_value_and_grad") if wrt else None
        second = {p.name.rpartition("_")[2]: p.name for p in self.pieces if p.name[len(job.label) + 1 :] in _SECOND}
        moved = (*wrt[:1], next(v for v in VECTOR if v not in job.names))
        sources = "\n\n".join(source_of(f) for f in self.base.functions)
        return module_text(
            self.head(functions), made, sources, self.tables, constants, functions, examples, names, second, moved
        )

    def head(self, functions: list[str]) -> str:
        """The docstring of the module."""
        name = self.job.label
        scipy = [f"scipy.{part}" for part in ("linalg", "special") if any(f"scipy.{part}." in f for f in functions)]
        needs = " and ".join(["NumPy", *scipy]) if scipy else "NumPy alone"
        listed = "\n".join(f"    {p.name}: {p.purpose}" for p in self.pieces)
        sizes = (
            "\nSizes are those of the export, because the source reads sizes and branches."
            if self.pinned else "\nNamed sizes are free, numbers are fixed; n>1 is a size of 2 or more."
        )  # fmt: skip
        gradient = " and its gradient" if self.job.places else ""
        script = "Run as a script, it checks the gradient against finite differences.\n" if gradient else ""
        return (
            f"`{name}`{gradient}, written by gradscribe. This module needs {needs}.\n\n{listed}\n\n"
            f"What the arguments must be stands in _ARGUMENTS.{sizes}\n{script}"
        )

    def difference(self, text: str) -> str | None:
        """How what the module gives differs from eager, at the arguments of the export."""
        from ..compiler.driver.specialise import Inputs
        from ..difference import difference

        space: dict[str, Any] = {"__name__": "exported"}
        exec(compile(text, "<exported>", "exec"), space)
        inputs = Inputs(self.job.function, self.job.args, self.job.kwargs).again()  # which the module may write into
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = space[self.job.label](*inputs.args, **inputs.kwargs, **self.large)
        return difference(found, self.base.result, self.base.eps)

    def problem(self, text: str) -> str | None:
        """What is wrong with the module: against eager at the arguments of the export, and by its own check."""
        import contextlib
        import io

        space: dict[str, Any] = {"__name__": "exported"}
        exec(compile(text, "<exported>", "exec"), space)
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
                fine = space["check_gradient"]()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None if fine else printed.getvalue().strip()


def _shown(result: Any) -> str:
    return f"an array of shape {np.shape(result)}" if isinstance(result, np.ndarray) else f"a {type(result).__name__}"


def _constant(name: str, array: Any) -> str:
    text = f"{name} = {array_text(array, 4)}"
    return text if "\n" not in text and len(text) <= 88 else f"# fmt: off\n{text}\n# fmt: on"


def source_of(function: types.FunctionType) -> str:
    """The source of a function of the user."""
    try:
        return inspect.cleandoc("\n" + inspect.getsource(function))
    except (OSError, TypeError):
        return f"({function.__qualname__} has no source)"


def source_hash(functions: list[types.FunctionType]) -> str:
    """What tells whether the source of one of these functions has changed; comments and layout do not count."""
    parts = []
    for function in functions:
        text = source_of(function)
        try:
            parts.append(ast.dump(ast.parse(text)))
        except SyntaxError:  # a lambda in the middle of an expression
            parts.append(text)
    return "sha256:" + hashlib.sha256("\n".join(parts).encode()).hexdigest()
