"""gs.load_exported: an exported module, perhaps edited by hand, as the gradient of its function; checked before it is used."""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import CompileError, VerifyError
from ...tracer.core.exits import warn_at_user
from ...tracer.core.site import prune, pruned
from ...tracer.core.tensor_base import Operand
from ...tracer.core.thread_state import capturing
from ..checks.evaluation import Evaluation
from ..checks.finite import slopes
from ..derivatives.custom_vjp import CustomVjp
from ..derivatives.gradient import GradFunction
from ..derivatives.jacobian import JacobianFunction
from ..derivatives.vjp import pulled_back
from ..trees import flatten, unflatten
from .export import differentiated
from .export_capture import capture
from .export_inputs import drawn_like, leaves_of
from .export_source import source_hash

__all__ = ["Loaded", "load", "load_exported"]

_GLUE = """
def _forward(*arguments):
    _checked(arguments)
    return {name}_value_and_grad(*arguments[:{count}])


def _backward(*given):
    return _pulled_back(given[-2], given[-1])
"""


class Loaded(CustomVjp):
    """A loaded export: the function with the gradient of the file, and the file's `grad` and `value_and_grad`."""

    kind = "load_exported"

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.path: str = options["path"]
        self.module, tree = _executed(self.path)
        self.made: dict[str, Any] = self.module["EXPORTED"]
        name = self.made["function"]
        if self.made["argnums"] is None:
            raise ValueError(
                f"{self.path} has no gradient, which gs.load_exported would give to `{name}`: import it as it is"
            )
        for wanted in (f"{name}_grad", f"{name}_value_and_grad"):
            if wanted not in self.module:
                raise ValueError(f"{self.path} has no function `{wanted}`, which gs.export wrote: keep its name")
        self.grad: Callable[..., Any] = self.module[f"{name}_grad"]
        self.value_and_grad: Callable[..., Any] = self.module[f"{name}_value_and_grad"]
        parameters = inspect.signature(self.value_and_grad).parameters.values()
        self.positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        self.keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        super().__init__(function, {**options, "nondiff_argnums": self._constants(function)})
        inner = self._inner(tree, (_is_check,))
        self.fwd, self.bwd = inner["_forward"], inner["_backward"]
        inner = self._inner(tree, (_is_check, _is_errstate))
        self.captured_fwd, self.captured_bwd = inner["_forward"], inner["_backward"]

    def seen(self, name: str) -> Any:
        """As custom_vjp has it; gs.compile captures the file without its errstate, which source does not follow."""
        return super().seen(f"captured_{name}" if capturing() and name != "function" else name)

    @property
    def wanted(self) -> list[str]:
        """The names of the arguments that the file differentiates."""
        found = self.made["argnums"]
        return list(found) if isinstance(found, tuple) else [found]

    def _constants(self, function: Any) -> tuple[int, ...]:
        """The arguments that the file does not differentiate."""
        try:
            count = len(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            count = 0
        given = [*self.positional, *[""] * (count - len(self.positional))]
        return tuple(k for k, name in enumerate(given) if name not in self.wanted)

    def _inner(self, tree: ast.Module, without: tuple[Callable[[ast.stmt], bool], ...]) -> dict[str, Any]:
        """The functions of the file as transforms see them: Tensors pass, the check of the arguments came before."""
        for node in ast.walk(_Selections().visit(tree)):
            if isinstance(node, ast.FunctionDef):
                node.body = _without(node.body, without)
        space = {"__name__": self.module["__name__"], "__file__": self.path}
        exec(compile(tree, self.path, "exec"), space)
        glue = _GLUE.format(name=self.made["function"], count=len(self.positional))
        space |= {"_checked": self._checker(), "_pulled_back": self._pullback()}
        exec(compile(glue, f"<plan of {self.path}>", "exec"), space)
        return space

    def _drawn(self) -> dict[str, Any]:
        """Arguments as the file's table says."""
        return {name: drawn_like(self.module["_ARGUMENTS"][name]) for name in (*self.positional, *self.keywords)}

    def _checker(self) -> Callable[[tuple[Any, ...]], None]:
        """Return the check of arguments against the file's table; those that the export was not given have their defaults."""

        def checked(arguments: tuple[Any, ...]) -> None:
            leaves, structure = flatten(arguments)
            plain = unflatten(structure, [leaf._value if isinstance(leaf, Operand) else leaf for leaf in leaves])
            count = len(self.positional)
            table = self.module["_ARGUMENTS"]
            self.module["_check"](table, **dict(zip(self.positional, plain[:count], strict=True)))
            parameters = list(inspect.signature(self.function).parameters.values())[count:]
            for p, value in zip(parameters, plain[count:], strict=False):
                if value is not p.default and repr(value) != repr(p.default):
                    raise ValueError(
                        f"{p.name} must be {p.default!r}, its default, because {self.path} was exported without it, but is "
                        f"{value!r}: export again with this argument"
                    )

        return checked

    def _pullback(self) -> Callable[[Any, Any], tuple[Any, ...]]:
        """Return the function that gives the cotangents of the differentiated arguments, in their order."""
        several = isinstance(self.made["argnums"], tuple)
        order = sorted(range(len(self.wanted)), key=lambda k: self.positional.index(self.wanted[k]))

        def pulled_back(gradient: Any, g: Any) -> tuple[Any, ...]:
            trees = [flatten(tree) for tree in (gradient if several else (gradient,))]
            return tuple(unflatten(trees[k][1], [leaf * g for leaf in trees[k][0]]) for k in order)

        return pulled_back

    def verify(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise VerifyError unless the file agrees with eager gradients and finite differences at these arguments.

        Where there are none, at those of the file's `example`, if it has one, else at some that fit its table.
        """
        if not args and not kwargs:
            given = self.module["example"]() if "example" in self.module else self._drawn()
            args = tuple(given.pop(name) for name in self.positional)
            kwargs = given
        named = {**dict(zip(self.positional, args, strict=False)), **kwargs}
        wanted: tuple[Any, ...] = tuple(
            self.positional.index(n) if n in self.positional[: len(args)] else n for n in self.wanted
        )
        options = {"argnums": wanted, "has_aux": False, "with_value": True}
        changed = self._changed(GradFunction(self.function, options), args, kwargs)
        problem = self._problem(GradFunction(self.function, options), args, kwargs, named)
        name = self.made["function"]
        if problem is not None:
            more = f"\nThe source of `{name}` has changed since the export: export it again." if changed else ""
            raise VerifyError(f"gs.load_exported: {self.path}: {problem}{more}")
        if changed:
            warn_at_user(
                f"gs.load_exported: the source of `{name}` (or of what it calls) has changed since {self.path} was exported. The "
                "gradient still agrees at these arguments; export it again, or pass arguments that reach what changed.",
                UserWarning,
            )

    def _changed(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        try:
            functions = capture(function, args, kwargs, self.label()).functions
        except CompileError:
            return True
        return source_hash(functions) != str(self.made["source"])[:12]  # which was longer once

    def _problem(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], named: Any) -> str | None:
        """Return the fault of the file."""
        name = self.made["function"]
        value, eager = function(*args, **kwargs)
        own_value, own = self.value_and_grad(*args, **kwargs)
        alone = self.grad(*args, **kwargs)
        several = isinstance(self.made["argnums"], tuple)
        for which, found in ((name, self.module[name](*args, **kwargs)), (f"{name}_value_and_grad", own_value)):
            apart = _apart(found, value)
            if apart is not None:
                return f"the value of `{name}` that `{which}` gives differs from eager {apart}"
        for which, gradient in ((f"{name}_value_and_grad", own), (f"{name}_grad", alone)):
            gradients = gradient if several else (gradient,)
            for argument, found, expected in zip(self.wanted, gradients, eager, strict=True):
                if flatten(found)[1] != flatten(expected)[1]:
                    return f"the gradient of `{argument}` that `{which}` gives has another structure than eager's"
                for (path, a), (_, b) in zip(leaves_of(found), leaves_of(expected), strict=True):
                    apart = _apart(a, b)
                    if apart is not None:
                        leaf = argument + "".join(f"[{key!r}]" for key in path)
                        return f"the gradient of `{leaf}` that `{which}` gives differs from eager {apart}"
        gradients = own if several else (own,)
        for argument, gradient in zip(self.wanted, gradients, strict=True):
            problem = self._slopes_problem(argument, gradient, args, kwargs, named)
            if problem is not None:
                return problem
        return self._second_problem(args, kwargs, eager)

    def _second_problem(self, args: tuple[Any, ...], kwargs: dict[str, Any], eager: Any) -> str | None:
        """Return the fault of the Hessian and the products, where the file has them: of one array argument."""
        name, (argument, *_) = self.made["function"], self.wanted
        place = self.positional.index(argument) if argument in self.positional[: len(args)] else argument
        gradient = GradFunction(self.function, {"argnums": place, "has_aux": False, "with_value": False})
        found = {what: self.module.get(f"{name}_{what}") for what in ("hessian", "hvp", "jvp")}
        if not any(found.values()):
            return None
        v = np.random.default_rng(0).normal(size=np.shape(eager[0])).astype(eager[0].dtype)
        if found["hessian"] is not None:
            hessian = JacobianFunction(gradient, {"argnums": place})(*args, **kwargs)
            apart = _apart(found["hessian"](*args, **kwargs), hessian)
            if apart is not None:
                return f"the Hessian that `{name}_hessian` gives differs from eager {apart}"
        if found["hvp"] is not None:
            product = pulled_back(gradient, place, args, kwargs, v)
            apart = _apart(found["hvp"](*args, v, **kwargs), product)
            if apart is not None:
                return f"the product that `{name}_hvp` gives differs from eager {apart}"
        if found["jvp"] is not None:
            value, slope = found["jvp"](*args, v, **kwargs)
            apart = _apart(value, self.function(*args, **kwargs)) or _apart(slope, np.sum(eager[0] * v))
            if apart is not None:
                return f"the derivative that `{name}_jvp` gives differs from eager {apart}"
        return None

    def _slopes_problem(self, argument: str, gradient: Any, args: Any, kwargs: Any, named: Any) -> str | None:
        """Return the difference between the gradient of one argument and finite differences of the function."""
        leaves, structure = flatten(named[argument])
        paths = [path for path, _ in leaves_of(named[argument])]
        place = self.positional.index(argument) if argument in self.positional[: len(args)] else argument
        evaluation = Evaluation(self.function, [place], args, kwargs)
        for k, (leaf, g) in enumerate(zip(leaves, flatten(gradient)[0], strict=True)):

            def value(moved: Any, k: int = k) -> Any:
                given = {**named, argument: unflatten(structure, [*leaves[:k], moved, *leaves[k + 1 :]])}
                return evaluation(*[given[n] for n in self.positional[: len(args)]], **{n: given[n] for n in kwargs})

            with np.errstate(all="ignore"):
                found = slopes(value, leaf, g)
            if not found.ok:
                shown = argument + "".join(f"[{key!r}]" for key in paths[k])
                worst = np.max(np.abs(found.expected - found.found))
                return (
                    f"the gradient of `{shown}` agrees with eager, but differs from finite differences by {worst:.1e}: pass "
                    "arguments at which the function is smooth"
                )
        return None


def _executed(path: str) -> tuple[dict[str, Any], ast.Module]:
    """Return the names of an exported module, and its syntax tree."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name = f"exported.{os.path.splitext(os.path.basename(path))[0]}"
    space: dict[str, Any] = {"__name__": name, "__file__": path}
    exec(compile(text, path, "exec"), space)
    if "EXPORTED" not in space:
        raise ValueError(f"{path} was not written by gs.export: it has no table EXPORTED")
    return space, ast.parse(text)


def _is_check(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id == "_check"
    )


def _is_errstate(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.With) and all("np.errstate" in ast.unparse(item) for item in statement.items)


class _Selections(ast.NodeTransformer):
    """Puts `np.where(mask, x, 0.0)` for `(x.view(np.uint64) * mask).view(np.float64)`, which has no gradient."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.BinOp(left, ast.Mult(), mask), "view"), [ast.Attribute(attr=dtype)]):
                match left:
                    case ast.Call(ast.Attribute(x, "view"), [ast.Attribute(attr=bits)]) if bits == f"u{dtype}".replace(
                        "float", "int"
                    ):
                        where = ast.parse("np.where(0, 0, 0.0)", mode="eval").body
                        where.args[:2] = [mask, x]  # type: ignore[attr-defined]
                        return ast.fix_missing_locations(ast.copy_location(where, node))
        return node


def _without(body: list[ast.stmt], kinds: tuple[Callable[[ast.stmt], bool], ...]) -> list[ast.stmt]:
    """A block without statements of these kinds; what stands in a `with` stays."""
    kept: list[ast.stmt] = []
    for statement in body:
        dropped = any(is_kind(statement) for is_kind in kinds)
        kept.extend(getattr(statement, "body", []) if dropped else [statement])
    return kept


def _apart(found: Any, expected: Any) -> str | None:
    """Return the distance of two leaves, where that is too far."""
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"in kind: {a.dtype}{list(a.shape)} where eager has {b.dtype}{list(b.shape)}"
    if not b.size or np.array_equal(a, b, equal_nan=True):
        return None
    difference = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
    scale = np.max(np.abs(b), where=np.isfinite(b), initial=0.0)
    allowed = float(np.finfo(b.dtype).eps) ** 0.6 * scale
    worst = int(np.argmax(np.where(np.isnan(difference), np.inf, difference)))
    most = difference.flat[worst]
    if most <= allowed:
        return None
    at = f" at {[int(k) for k in np.unravel_index(worst, b.shape)]}" if b.shape else ""
    relative = f", {most / scale:.1e} of its largest entry" if scale else ""
    return f"by {most:.1e}{relative}: {a.flat[worst]:.12g}{at} where eager has {b.flat[worst]:.12g}"


@pruned
def load_exported(path: str | os.PathLike[str], function: Any, *args: Any, **kwargs: Any) -> Any:
    """`function` with the gradient of an exported file, which may have been edited; it is checked first.

    The file's values and gradients are held against eager ones and finite differences, at these arguments or at the
    example of the file. What comes back is called like `function`, and gs.grad, gs.value_and_grad and the other
    transforms use the file's gradient; its `grad` and `value_and_grad` are those of the file. For `gs.grad(f)` it is
    called like that. Raises VerifyError that names the gradient which differs, and by how much; warns where the source
    of the function has changed since the export.

    >>> import numpy as np, gradscribe as gs, tempfile, os
    >>> def f(x):
    ...     return np.sum(x * x)
    >>> path = os.path.join(tempfile.mkdtemp(), "f_grad.py")
    >>> text = gs.export(f, np.arange(3.0), path=path)
    >>> gs.grad(gs.load_exported(path, f))(np.ones(3))
    array([2., 2., 2.])
    """
    plain, argnums = differentiated(function, None)
    try:
        loaded = Loaded(plain, {"path": os.fspath(path)})
        label = loaded.label() if loaded.label().isidentifier() else "function"
        if loaded.made["function"] != label:
            raise ValueError(f"{loaded.path} has the gradient of `{loaded.made['function']}`, not of `{label}`")
        outside = [name for name in loaded.keywords if name not in kwargs and name not in _keywords(plain)]
        if outside:
            raise ValueError(
                f"{loaded.path} takes {', '.join(outside)} as keyword arguments, which `{label}` reads from outside: make "
                "them arguments of it, and export it again"
            )
        loaded.verify(args, kwargs)
    except Exception as error:
        raise prune(error) from error.__cause__
    return loaded if plain is function or argnums is None else GradFunction(loaded, function.options)


def _keywords(function: Any) -> set[str]:
    return {p.name for p in inspect.signature(function).parameters.values()}


def load(path: str | os.PathLike[str], function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`gs.load_exported` under its old name, which is that of PyTorch's function for weights."""
    if function is None:
        raise TypeError(
            "gs.load takes the function as well: gs.load_exported(path, f) is `f` with the gradient of a file that gs.export "
            "wrote. Weights are NumPy arrays here: np.savez(path, **weights) and dict(np.load(path)) keep them"
        )
    return load_exported(path, function, *args, **kwargs)
