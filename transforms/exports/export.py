"""gs.export: a function and its gradient as a module of their own, which imports NumPy alone."""

from __future__ import annotations

import inspect
import os
import reprlib
import sys
import textwrap
import warnings
from typing import Any

import numpy as np

from ...runtime.arrays import on_numpys_host
from ...runtime.errors import CompileError, ShapeError, VerifyError
from ...tracer.core.site import pruned
from ..compiler.driver.compiled import Compiled
from ..compiler.python.spelling import SCIPY
from ..compiler.source import Source
from ..derivatives.forward import VECTOR, JvpFunction
from ..derivatives.gradient import GradFunction
from ..derivatives.second_order import HessianFunction, HvpFunction
from ..trees import flatten
from .export_c import c_files
from .export_capture import Captured, Exported, capture
from .export_inputs import (
    SMALL,
    Axes,
    array_text,
    described,
    example,
    free_sizes,
    has_instances,
    leaves_of,
    reads_and_branches,
)
from .export_jax import jax_module
from .export_source import Sources, source_hash
from .export_text import WIDTH, Module, Piece, Script, function_text, helper_texts, hint

__all__ = ["differentiated", "export"]

TARGETS = ("numpy", "c", "jax")
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
            raise TypeError("gs.export and gs.load_exported take functions with one output: has_aux is not exported")
        if function.convention != "torch":
            raise TypeError(
                "gs.export and gs.load_exported write gradients in PyTorch's convention: leave convention='jax' away"
            )
        return differentiated(function.function, function.argnums)[0], function.argnums
    return function, argnums


@pruned
def export(
    function: Any, *args: Any, path: str | os.PathLike[str] | None = None, argnums: Any = 0,
    hessian: bool = False, hvp: bool = False, jvp: bool = False, check: bool = True, script: bool = False,
    target: str = "numpy", **kwargs: Any,
) -> Source:  # fmt: skip
    """Write `function` and its gradient as a module that needs NumPy alone; its text.

    `function(*args, **kwargs)` gives one real number. `argnums` is as for `gs.grad`, and taken from `gs.grad(f)` where
    that is given. The module has `f_value_and_grad`, and `f` and `f_grad`, which call it; `f_hessian`, `f_hvp` and `f_jvp`
    where asked for (of one array argument). They check their arguments. `gs.export` holds the gradient against finite
    differences unless `check=False`; with `script=True` the module itself does so too, run as a script. With `argnums=None`,
    or where the function gives a tuple, list or dict, as a step of training does, the module has the function as it is,
    held against eager, and no gradient.
    Sizes that `function` does not depend on stay free; numbers that it reads from outside are fixed, and arrays of more
    than 64 entries become keyword arguments. Raises CompileError for what runs eagerly, with the line, and for what
    writes into its arguments and is to have a gradient; ShapeError for a gradient of what is no number; VerifyError
    where a check fails.
    `target="c"` writes C in place of NumPy: `path` ends in `.c`, and a header and a loader for Python are put beside it;
    `target="jax"` writes a module of jax.numpy.

    >>> import numpy as np, gradscribe as gs
    >>> def f(x):
    ...     return np.sum(x * x)
    >>> text = gs.export(f, np.arange(3.0))
    >>> "    return f_value_and_grad(x)[1]" in text
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
    more = [w for w, wanted in zip(_SECOND, (hessian, hvp, jvp), strict=True) if wanted]
    if target not in TARGETS:
        raise TypeError(f"gs.export: target is one of {', '.join(map(repr, TARGETS))}, not {target!r}")
    if target != "numpy" and (more or script):
        word = f"{more[0]}=True" if more else "script=True"
        raise TypeError(
            f"gs.export: {word} is of modules of NumPy; with target={target!r} export gs.{more[0]}(f) with argnums=None"
            if more else f"gs.export: {word} is of modules of NumPy, not of target={target!r}"
        )  # fmt: skip
    text = job.text(more, check, script)
    if target == "c":
        return c_files(job.exported(), path, check)
    made = jax_module(job.exported()) if target == "jax" else Source(text)
    if path is not None:
        made.save(path)
    return made


class _Export:
    """One export."""

    def __init__(self, function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        from ..compiler.schedule.signature import parameter_names

        on_numpys_host("gs.export", flatten((args, kwargs))[0])  # the module imports NumPy alone
        self.function, self.argnums = function, argnums
        self.args, self.kwargs = args, kwargs
        self.names = parameter_names(function, args, kwargs)
        self.values = [*args, *kwargs.values()]
        label = getattr(function, "__name__", type(function).__name__)
        self.label = label if label.isidentifier() else "function"
        self.places: list[int] = []
        self.base: Captured | None = None
        self.axes = Axes({})
        self.outside: dict[str, Any] = {}

    def exported(self) -> Exported:
        """The function as other targets take it, after `text`."""
        assert self.base is not None
        small = {name: a for name, a in self.outside.items() if a.size <= CONSTANT}
        places = [self.names[p] for p in self.places]
        values = dict(zip(self.names, self.values, strict=True))
        several = isinstance(self.argnums, (tuple, list))
        return Exported(self.label, self.base, self.axes, small, self.outside, values, places, several)

    def _places(self) -> list[int]:
        """Which arguments are differentiated, by their places."""
        from ..arguments import Arguments

        places = Arguments(self.function, self.argnums, self.args, self.kwargs).places
        return [p if isinstance(p, int) else self.names.index(p) for p in places]

    def text(self, extra: list[str], check: bool, script: bool) -> str:
        """The module."""
        whole = self._captured(self.function, writes=True)
        if self.argnums is None or (self.argnums == 0 and type(whole.result) in (tuple, list, dict)):
            if extra:
                raise ShapeError(f"gs.export: {extra[0]}=True needs a function that gives one number, and argnums")
            return self._without_gradient(whole, check, script)
        if np.ndim(whole.result) or whole.result is None:
            raise ShapeError(
                f"gs.export: grad needs a scalar output, but `{self.label}` gives {_shown(whole.result)}. Sum it, or pass "
                "argnums=None for a module without a gradient."
            )
        self.places = self._places()
        options = {"argnums": self.argnums, "has_aux": False}
        with_value = GradFunction(self.function, {**options, "with_value": True})
        base = self._captured(with_value)
        wrt = listed([f"`{self.names[p]}`" for p in self.places])
        several = isinstance(self.argnums, (tuple, list))
        gradients = (
            f"a tuple of the gradients with respect to {wrt}" if several else f"the gradient with respect to {wrt}"
        )
        name, both = self.label, f"{self.label}_value_and_grad"
        arrays = self._arrays([base])
        pinned = any(map(reads_and_branches, base.functions))
        free = {} if pinned else self._free(with_value, self.values, base, arrays)
        self.base, self.axes, self.outside = base, Axes(free), arrays
        tables: list[tuple[str, Any]] = [("_ARGUMENTS", self._described(self.values, arrays, Axes(free)))]
        pieces = [
            Piece(both, base.text, f"Return the value, and {gradients}.", "_ARGUMENTS", base.result),
            Piece(
                name, base.text, "Return the value alone, at the cost of both.", "_ARGUMENTS", whole.result, (both, 0)
            ),
            Piece(f"{name}_grad", base.text, f"Return {gradients}.", "_ARGUMENTS", base.result[1], (both, 1)),
        ]
        for what in extra:
            piece, entries = self._extra(what, arrays, pinned)
            table = tables[0][1]
            if all(table.get(k, spec) == spec for k, spec in entries.items()):
                table.update(entries)
                pieces.append(piece)
            else:
                tables.append((f"_{what.upper()}_ARGUMENTS", entries))
                pieces.append(piece._replace(expected=f"_{what.upper()}_ARGUMENTS"))
        render = _Rendered(self, pieces, tables, arrays, base, self._paths(several))
        if has_instances(self.values):
            if script:
                raise CompileError(
                    f"gs.export: script=True of `{name}` needs arguments whose classes are Python's or NumPy's"
                )
            return self._against_eager(render, render.text(SMALL, False), both, check)
        limit = SMALL
        problem = render.problem(render.text(limit, True)) if check else None
        few = sum(np.size(leaf) for leaf in flatten(self.values)[0]) <= STORED
        if problem is not None and few:
            limit = STORED
            problem = render.problem(render.text(limit, True))
        if problem is not None:
            raise VerifyError(
                f"gs.export: the module of `{name}` fails its own check: {problem}\nPass arguments at which `{name}` is "
                f"smooth, with at most {STORED:,} entries, so that the module keeps them (or check=False)."
            )
        return render.text(limit, script)

    def _without_gradient(self, whole: Captured, check: bool, script: bool) -> str:
        """The module of the function as it is."""
        self.label, self.argnums = whole.name, None
        arrays = self._arrays([whole])
        pinned = any(map(reads_and_branches, whole.functions))
        free = {} if pinned else self._free(self.function, self.values, whole, arrays)
        self.base, self.axes, self.outside = whole, Axes(free), arrays
        table = ("_ARGUMENTS", self._described(self.values, arrays, Axes(free)))
        piece = Piece(self.label, whole.text, f"Return what `{self.label}` gives.", "_ARGUMENTS", whole.result)
        render = _Rendered(self, [piece], [table], arrays, whole, {})
        return self._against_eager(render, render.text(SMALL, script), self.label, check)

    def _against_eager(self, render: _Rendered, text: str, name: str, check: bool) -> str:
        """The module, of which a function gives what eager gives."""
        problem = render.difference(text, name) if check else None
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

    def _free(
        self, function: Any, values: list[Any], base: Captured, arrays: dict[str, Any], outlined: bool = True
    ) -> dict[int, int]:
        count = len(self.args) + len(values) - len(self.values)

        def recapture(values: list[Any]) -> str | None:
            try:
                args, kwargs = tuple(values[:count]), dict(zip(self.kwargs, values[count:], strict=True))
                with np.errstate(all="ignore"):
                    return capture(function, args, kwargs, self.label, outlined=outlined).text
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
            purpose = f"Return the Hessian with respect to `{wrt}`."
        else:
            v = next(v for v in VECTOR if v not in self.names)
            more = (v,)
            values = [*self.args, value / (1 + np.abs(value)), *self.kwargs.values()]
            function = (HvpFunction if what == "hvp" else JvpFunction)(self.function, options)
            purpose = f"Return the Hessian with respect to `{wrt}`, times `{v}`."
            if what == "jvp":
                purpose = f"Return the value, and its derivative as `{wrt}` moves along `{v}`."
        args, kwargs = tuple(values[: n + len(more)]), self.kwargs
        captured = capture(function, args, kwargs, f"{name} ({what})", outlined=False)  # two may have one name
        if any(arrays.get(k) is not a for k, a in captured.arrays.items()):
            raise CompileError(f"gs.export: the {what} of `{name}` reads arrays from outside under other names")
        free = {} if pinned else self._free(function, values, captured, arrays, outlined=False)
        entries = self._described(values, arrays, Axes(free), more)
        return Piece(f"{name}_{what}", captured.text, purpose, "_ARGUMENTS", captured.result), entries


class _Rendered:
    """The parts of the module's source, but for the numbers of its example."""

    def __init__(
        self, job: _Export, pieces: list[Piece], tables: Any, arrays: dict[str, Any], base: Captured, paths: dict[str, Any]
    ) -> None:  # fmt: skip
        self.job, self.pieces, self.tables, self.base, self.paths = job, pieces, tables, base, paths
        self.small = {name: a for name, a in arrays.items() if a.size <= CONSTANT}
        self.large = {name: a for name, a in arrays.items() if a.size > CONSTANT}
        self.sources = Sources(base.functions)

    def text(self, limit: int, script: bool) -> str:
        """The module; as a script it has arrays of at most `limit` entries written down in its example."""
        job = self.job
        inputs = dict(zip(job.names, job.values, strict=True))
        hints = {name: hint(value) for name, value in {**inputs, **self.large}.items()}
        hints |= {v: "np.ndarray" for v in VECTOR if v not in hints}
        functions = [*helper_texts(self.base.text)]
        functions += [function_text(p, hints, set(self.small), job.label) for p in self.pieces]
        functions = list(map(self.sources.cited, functions))
        wrt = tuple(job.names[p] for p in job.places)
        made = {
            "function": job.label,
            "argnums": wrt if isinstance(job.argnums, (tuple, list)) else wrt[0] if wrt else None,
            "source": source_hash(self.base.functions),
        }
        constants = [_constant(name, a) for name, a in self.small.items()]
        module = Module(self.head(functions), made, self.sources.block(), self.tables, constants, functions)
        if not script:
            return module.text()
        rows = "".join(f'        "{k}": {example(v, 12, limit)},\n' for k, v in {**inputs, **self.large}.items())
        draws = "    rng = np.random.default_rng(0)\n" if "rng." in rows else ""
        examples = (
            'def example() -> dict[str, Any]:\n    """Arguments like those of the export: many numbers are drawn '
            f'from their range."""\n{draws}    # fmt: off\n    return {{\n{rows}    }}\n    # fmt: on\n'
        )
        names = (job.label, f"{job.label}_value_and_grad") if wrt else None
        second = {p.name.rpartition("_")[2]: p.name for p in self.pieces if p.name[len(job.label) + 1 :] in _SECOND}
        moved = (*wrt[:1], next(v for v in VECTOR if v not in job.names))
        return module.text(Script(examples, names, self.paths, second, moved))

    def head(self, functions: list[str]) -> str:
        """The docstring of the module."""
        name = self.job.label
        scipy = [module for module in SCIPY if any(f"{module}." in f for f in functions)]
        needs = " and ".join(["NumPy", *scipy]) if scipy else "NumPy alone"
        version = sys.modules[__name__.partition(".")[0]].__version__
        said = (inspect.getdoc(self.job.function) or "").partition("\n")[0].strip()
        gradient = " and its gradient" if self.job.places else ""
        made = f"`{name}`{gradient}, by gradscribe {version}. Needs {needs}."
        return "\n\n".join("\n".join(textwrap.wrap(part, WIDTH - len('""""""'))) for part in (said, made) if part)

    def difference(self, text: str, name: str) -> str | None:
        """Return the difference between a function of the module and eager, at the arguments of the export."""
        from ..compiler.driver.specialise import Inputs
        from ..difference import difference

        space: dict[str, Any] = {"__name__": "exported"}
        exec(compile(text, "<exported>", "exec"), space)
        inputs = Inputs(self.job.function, self.job.args, self.job.kwargs).again()  # which the module may write into
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = space[name](*inputs.args, **inputs.kwargs, **self.large)
        return difference(found, self.base.result, self.base.eps)

    def problem(self, text: str) -> str | None:
        """Return the fault of the module: against eager at the arguments of the export, or by its own check."""
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


def listed(words: list[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _shown(result: Any) -> str:
    return f"an array of shape {np.shape(result)}" if isinstance(result, np.ndarray) else f"a {type(result).__name__}"


def _constant(name: str, array: Any) -> str:
    text = f"{name} = {array_text(array, 4)}"
    return text if "\n" not in text and len(text) <= 88 else f"# fmt: off\n{text}\n# fmt: on"
