"""gs.export(target="jax"): a function and its gradient as a module of jax.numpy, loops as lax.scan and branches as lax.cond."""

from __future__ import annotations

import functools
import keyword
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...runtime.errors import CompileError
from ...runtime.ir.graph import Call, Graph, Value, values_in
from ...runtime.ir.known_ops import COPY, GETITEM
from ...runtime.ir.opcodes import AND, COND, ITEMS, LISTED, NOT, OR, PARTS, ROWS, SCAN, all_calls
from ...runtime.ops import Op
from ...runtime.registry import require
from ...runtime.rules.control import COUNT, GUARD, SHAPE, SIZE
from ...runtime.rules.elementwise import astype, logistic, real_sigmoid
from ...runtime.rules.indexing import (
    add_place,
    index_add,
    index_add_at,
    index_increase,
    index_set,
    place,
    scatter,
    scatter_rows,
)
from ...runtime.rules.support import place_main_diagonal
from ..compiler.native.inlining import inlined
from ..compiler.schedule.signature import Instance, children
from ..compiler.source import Source
from .export_capture import Exported

__all__ = ["jax_module"]

_HELPER = '''def _cond(pred, then, orelse):
    """Return what one of two functions gives; None of one stands for zeros like those of the other."""
    shapes = [a if a is not None else b for a, b in zip(jax.eval_shape(then), jax.eval_shape(orelse))]

    def whole(arm):
        return lambda: tuple(
            jnp.zeros(s.shape, s.dtype) if x is None else jnp.asarray(x, s.dtype) for x, s in zip(arm(), shapes)
        )

    return lax.cond(pred, whole(then), whole(orelse))
'''

# NumPy's functions that jax.numpy has under their names, with the same parameters in their places.
_SAME = """
add subtract multiply divide negative positive power float_power square sqrt cbrt reciprocal absolute fabs sign exp exp2 expm1 log
log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh arctan2 hypot deg2rad rad2deg
maximum minimum fmax fmin fmod remainder floor_divide logaddexp logaddexp2 floor ceil trunc rint copysign heaviside sinc
less less_equal greater greater_equal equal not_equal logical_and logical_or logical_xor logical_not isnan isinf isfinite signbit
bitwise_and bitwise_or bitwise_xor invert sum mean prod max min amax amin var std any all argmax argmin cumsum cumprod
matmul dot inner outer tensordot einsum kron trace transpose swapaxes moveaxis expand_dims squeeze reshape ravel broadcast_to
concatenate stack vstack hstack column_stack split array_split flip fliplr flipud roll rot90 tile repeat where
zeros ones full zeros_like ones_like full_like eye identity arange linspace tril triu diag diagonal diff sort argsort take
take_along_axis searchsorted conj conjugate real imag angle nan_to_num
"""
_LINALG = "solve inv det slogdet cholesky norm eigh eigvalsh qr svd pinv matrix_power"
_SPECIAL = """
erf erfc erfinv gammaln gamma digamma expit logit ndtr ndtri log_ndtr xlogy xlog1py entr i0 i0e i1 i1e betaln betainc gammainc
gammaincc logsumexp polygamma
"""
_KEYWORDS = frozenset(
    ["axis", "keepdims", "dtype", "k", "ddof", "offset", "axis1", "axis2", "n", "shift", "axes", "fill_value", "where", "initial",
     "N", "M", "endpoint", "num", "stop", "start", "step", "rowvar", "b", "indices"]
)  # fmt: skip


def jax_module(job: Exported) -> Source:
    """Return the module; CompileError with the ops that JAX has no form of."""
    graphs: list[Graph] = []

    def kept(graph: Graph) -> Graph:
        graphs.append(inlined(graph))
        return graphs[-1]

    program = job.captured.specialisation.program([], kept)
    unknown = sorted({c.op.path for c in all_calls(graphs[-1]) if not _is_known(c.op)})
    if unknown:
        raise CompileError(
            f"gs.export: `{job.label}` cannot be exported to JAX, which has no form of {', '.join(unknown)}."
        )
    return Source(_Writer(job, graphs[-1], program.names).module())


class _RefusedError(Exception):
    """Why a module of JAX has not the function."""


class _Writer:
    """One module."""

    def __init__(self, job: Exported, graph: Graph, names: dict[Value, str]) -> None:
        self.job, self.graph, self.hints = job, graph, names
        self.names: dict[Value, str] = {}
        self.taken = {
            *keyword.kwlist,
            "jax",
            "jnp",
            "lax",
            "range",
            "len",
            "tuple",
            "zip",
            job.name,
            job.label,
            "_cond",
        }
        self.static: set[Value] = set()  # numbers of Python's that follow from sizes
        self.site = ""

    def module(self) -> str:
        """The text."""
        job, signature = self.job, self.job.captured.specialisation.signature
        self.taken.update([*job.small, *signature.parameters])
        lines: list[str] = []
        for name, tree in zip(signature.arguments_named, signature.trees, strict=True):
            self.unpack(tree, name, lines)
        inputs = self.graph.inputs
        for v, name in zip(inputs[len(inputs) - len(signature.extras) :], signature.extras, strict=True):
            self.names[v] = name
            if name not in job.small:
                lines.append(f"{name} = jnp.asarray({name})")
        try:
            self.calls(self.graph.calls, lines)
            result = self.tree(signature.result_tree, self.graph.outputs)
        except _RefusedError as why:
            raise CompileError(f"gs.export: `{job.label}` cannot be exported to JAX, because {why}.") from None
        large = [n for n in signature.extras if n not in job.small]
        parameters = ", ".join([*signature.arguments_named, *["*"] * bool(large), *large])
        given = ", ".join([*signature.arguments_named, *[f"{n}={n}" for n in large]])
        wrt = " and ".join(f"`{p}`" for p in job.places)
        said = (
            f"Return the value, and the gradient with respect to {wrt}."
            if job.places
            else f"Return what `{job.label}` gives."
        )
        version = sys.modules[__name__.partition(".")[0]].__version__
        gradient = " and its gradient" if job.places else ""
        head = [
            f'"""`{job.label}`{gradient}, by gradscribe {version}. Needs JAX alone, with numbers of 64 bits."""', "",
            "import jax", "import jax.numpy as jnp", "from jax import lax", "", 'jax.config.update("jax_enable_x64", True)', "",
            *[f"{name} = {_array(a)}" for name, a in job.small.items()], "",
        ]  # fmt: skip
        made = ["", f"def {job.name}({parameters}):", f'    """{said}"""', *[f"    {line}" for line in lines]]
        made.append(f"    return {result}")
        if job.places:
            for name, place, what in ((job.label, 0, "value alone"), (f"{job.label}_grad", 1, "gradient alone")):
                made += ["", "", f"def {name}({parameters}):", f'    """Return the {what}."""']
                made.append(f"    return {job.name}({given})[{place}]")
        helper = ["", _HELPER] if any("_cond(" in line for line in lines) else []
        return "\n".join([*head, *helper, *made, ""])

    # --- names ---------------------------------------------------------------------------------------------------------

    def name(self, v: Value) -> str:
        """A new name for a value."""
        stem = re.sub(r"[^0-9A-Za-z_]", "_", self.hints.get(v) or v.name or "t")
        stem = stem if stem.isidentifier() else f"v_{stem}"
        name, k = stem, 2
        while name in self.taken:
            name, k = f"{stem}_{k}", k + 1
        self.taken.add(name)
        self.names[v] = name
        return name

    def unpack(self, tree: Any, text: str, lines: list[str]) -> None:
        """Lines that take an argument apart."""
        if isinstance(tree, Value):
            if text.isidentifier():
                self.names[tree] = text
                if tree.type.kind == "array":
                    lines.append(f"{text} = jnp.asarray({text})")
            else:
                lines.append(f"{self.name(tree)} = {f'jnp.asarray({text})' if tree.type.kind == 'array' else text}")
            return
        for key, part in children(tree) or ():
            attribute = isinstance(key, str) and key.startswith(".")
            self.unpack(part, f"{text}{key}" if attribute else f"{text}[{key!r}]", lines)

    def tree(self, tree: Any, outputs: list[Any]) -> str:
        """The expression of a result."""
        if isinstance(tree, (int, np.integer)) and not isinstance(tree, bool):
            return self.text(outputs[int(tree)])
        if isinstance(tree, Instance):
            raise _RefusedError("its result is an object of the caller's class: return dicts, lists and tuples")
        if type(tree) is dict:
            return f"{{{', '.join(f'{k!r}: {self.tree(part, outputs)}' for k, part in tree.items())}}}"
        if type(tree) is list:
            return f"[{', '.join(self.tree(part, outputs) for part in tree)}]"
        if type(tree) is tuple:
            parts = ", ".join(self.tree(part, outputs) for part in tree)
            return f"({parts}{',' * (len(tree) == 1)})"
        raise _RefusedError("its result is an object of the caller's class: return dicts, lists and tuples")

    def text(self, x: Any) -> str:
        """An argument of a call, or a part of one."""
        if isinstance(x, Value):
            return self.names[x]
        if type(x) is tuple:
            return f"({', '.join(map(self.text, x))}{',' * (len(x) == 1)})"
        if type(x) is list:
            return f"[{', '.join(map(self.text, x))}]"
        if isinstance(x, slice):
            return f"slice({self.text(x.start)}, {self.text(x.stop)}, {self.text(x.step)})"
        if isinstance(x, np.ndarray):
            return _array(x)
        if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)):
            return f"jnp.dtype({np.dtype(x).name!r})"
        if isinstance(x, type) and x in (int, float, bool, complex):
            return x.__name__
        if isinstance(x, np.generic):
            return f"jnp.{x.dtype.name if x.dtype.kind != 'b' else 'bool_'}({self.text(x.item())})"
        if isinstance(x, float) and x != x:
            return "jnp.nan"
        if isinstance(x, float) and abs(x) == float("inf"):
            return "jnp.inf" if x > 0 else "(-jnp.inf)"
        if x is None or x is Ellipsis or isinstance(x, (int, float, complex, str, bool)):
            return f"({x!r})" if isinstance(x, (int, float)) and x < 0 else "..." if x is Ellipsis else repr(x)
        raise _RefusedError(f"it needs {type(x).__name__} {x!r}")

    # --- calls ---------------------------------------------------------------------------------------------------------

    def calls(self, calls: Iterable[Call], lines: list[str]) -> None:
        """Lines of calls, in their order."""
        for call in calls:
            site = f"  # {call.site}" if call.site is not None and str(call.site) != self.site else ""
            self.site = str(call.site) if call.site is not None else self.site
            if call.op is SCAN:
                self.loop(call, lines, site)
            elif call.op is COND:
                self.branch(call, lines, site)
            elif call.op.base is GUARD.base:
                self.guard(call, lines)
            else:
                text = self.expression(call)
                if all(v in self.static for v in call.reads) and call.outs[0].type.kind == "python" and call.op.infix:
                    self.static.update(call.outs)
                left = ", ".join(self.name(v) for v in call.outs)
                lines.append(f"{left}{',' * (call.op.n_out is None and len(call.outs) == 1)} = {text}{site}")

    def guard(self, call: Call, lines: list[str]) -> None:
        value, how, expected = call.args
        if how == "iscomplexobj":  # a float of JAX's has no complex power
            self.names[call.outs[0]] = self.names[value]
            return
        if not isinstance(value, Value) or value not in self.static:
            raise _RefusedError("it decides by a value, and has only the path of the export: use np.where")
        lines.append(f"if {self.names[value]} != {expected!r}:")
        words = f"the sizes take another path through `{self.job.label}`: export it with these"
        lines.append(f'    raise ValueError("{words}")')
        self.names[call.outs[0]] = self.names[value]
        self.static.add(call.outs[0])

    def expression(self, call: Call) -> str:
        """One call."""
        special = _specials().get(call.op.base)
        if special is not None:
            return special(self, call)
        op, args = call.op, call.args
        if op.infix == "abs()":
            return f"jnp.abs({self.text(args[0])})"
        if op.infix and len(call.args) == 2 and re.fullmatch(r"[^\w()]+", op.infix):
            return f"{self.text(args[0])} {op.infix} {self.text(args[1])}"
        if op.infix and len(call.args) == 1 and op.infix in ("-", "+", "~"):
            return f"{op.infix}{self.text(args[0])}"
        positional, named = op.call_form(args)
        if (
            op.title.startswith("Masked")
            or not named.keys() <= _KEYWORDS
            or (named and isinstance(op.base.fn, np.ufunc))
        ):
            raise _RefusedError(f"it calls {op.path} with {', '.join(named) or 'a mask'}")
        texts = [self.text(a) for a in positional] + [f"{k}={self.text(a)}" for k, a in named.items()]
        return f"{_known()[op.base]}({', '.join(texts)})"

    def branch(self, call: Call, lines: list[str], site: str) -> None:
        """A branch: two functions without arguments."""
        branch, pred, ins = call.args
        arms = []
        for word, graph in (("then", branch.then), ("orelse", branch.orelse)):
            own = self.fresh(word)
            arms.append(own)
            lines.append(f"def {own}():{site if word == 'then' else ''}")
            self.given(graph.inputs, ins)
            inner: list[str] = []
            self.calls(graph.calls, inner)
            inner.append(f"return ({''.join(f'{self.text(x)}, ' for x in graph.outputs)})")
            lines += [f"    {line}" for line in inner]
        outs = "".join(f"{self.name(v)}, " for v in call.outs).rstrip()
        lines.append(f"{outs} = _cond({self.text(pred)}, {arms[0]}, {arms[1]})" if outs else "")

    def loop(self, call: Call, lines: list[str], site: str) -> None:
        """A loop: `lax.scan` where the number of steps is a size, else `lax.while_loop`, which remembers nothing."""
        loop, carry, xs, inv = call.args[0], call.args[1], call.args[2], call.args[3]
        n = call.args[4] if len(call.args) > 4 else None
        body, k = loop.body, len(carry)
        outs, ys, trips = call.outs[:k], call.outs[k:-1], call.outs[-1]
        fixed = n is None or not isinstance(n, Value) or n in self.static
        scanned = loop.test is None and fixed
        if not scanned and (xs or ys):
            raise _RefusedError(
                "a loop remembers each step, and how many steps it makes follows from values: let it run over a range"
            )
        place, *inner_carry = body.inputs[: 1 + k]
        items = body.inputs[1 + k : 1 + k + len(xs)]
        self.given(body.inputs[1 + k + len(xs) :], inv)
        if any(v.type.dtype.kind not in "fibc" for v in outs):
            raise _RefusedError("a loop carries an object of Python's, and must carry numbers and arrays")
        start = f"({self.typed(carry, outs)})"
        own = self.fresh("step")
        counter = self.name(place)
        carried = [self.name(v) for v in inner_carry]
        if scanned:
            walked = [self.name(v) for v in items]
            length = self.text(n) if n is not None else f"len({self.text(xs[0])})"
            steps = self.fresh("steps")
            lines.append(f"{steps} = {length}")
            lines.append(f"def {own}(carry, item):{site}")
            inner = [f"{''.join(f'{c}, ' for c in carried)}= carry".replace(", =", ", =")] if carried else []
            inner.append(f"{''.join(f'{w}, ' for w in [counter, *walked])}= item")
            self.calls(body.calls, inner)
            ends = self.typed(body.outputs[:k], outs)
            given = "".join(f"{self.text(y)}, " for y in body.outputs[k:])
            inner.append(f"return ({ends}), ({given})")
            lines += [f"    {line}" for line in inner]
            walk = "".join(f", {self.listed(x)}" for x in xs)
            left = f"({''.join(f'{self.name(v)}, ' for v in outs)}), ({''.join(f'{self.name(v)}, ' for v in ys)})"
            left = left.replace("()", "_")
            reverse = ", reverse=True" if loop.reverse else ""
            walk = walk or ","
            lines.append(f"{left} = lax.scan({own}, {start}, (jnp.arange({steps}){walk}){reverse})")
            lines.append(f"{self.name(trips)} = {steps}")
            self.static.add(trips)
            return
        self.searched(call, lines, site, own, counter, carried)

    def searched(self, call: Call, lines: list[str], site: str, own: str, counter: str, carried: list[str]) -> None:
        """A loop that runs while a test holds, or as often as a value says."""
        loop, carry, inv = call.args[0], call.args[1], call.args[3]
        n = call.args[4] if len(call.args) > 4 else None
        body, k = loop.body, len(carry)
        outs, trips = call.outs[:k], call.outs[-1]
        test = self.fresh("going")
        steps = None if n is None else self.text(n)
        lines.append(f"def {test}(state):{site}")
        inner = [f"{''.join(f'{c}, ' for c in ['i', *carried])}= state"]
        conditions = [f"i < {steps}"] if steps is not None else []
        if loop.test is not None:
            for v, x in zip(loop.test.inputs[:k], carried, strict=True):
                self.names[v] = x
            self.given(loop.test.inputs[k:], inv)
            self.calls(loop.test.calls, inner)
            conditions.append(self.text(loop.test.outputs[0]))
        joined = conditions[0] if len(conditions) == 1 else f"jnp.logical_and({', '.join(conditions)})"
        inner.append(f"return {joined}")
        lines += [f"    {line}" for line in inner]
        lines.append(f"def {own}(state):")
        inner = [f"{''.join(f'{c}, ' for c in ['i', *carried])}= state"]
        inner.append(f"{counter} = {f'{steps} - 1 - i' if loop.reverse else 'i'}")
        self.calls(body.calls, inner)
        inner.append(f"return (i + 1, {self.typed(body.outputs[:k], outs)})")
        lines += [f"    {line}" for line in inner]
        left = "".join(f"{self.name(v)}, " for v in (trips, *outs))
        lines.append(f"{left}= lax.while_loop({test}, {own}, (0, {self.typed(carry, outs)}))")

    def typed(self, ends: Iterable[Any], like: Iterable[Value]) -> str:
        """What a step carries on, of the types that it began with."""
        return "".join(f"jnp.asarray({self.text(x)}, {v.type.dtype.name!r}), " for x, v in zip(ends, like, strict=True))

    def listed(self, x: Any) -> str:
        """A list with one item for each step, as an array."""
        return self.text(x) if isinstance(x, Value) else f"jnp.stack({self.text(list(x))})"

    def given(self, inputs: Iterable[Value], values: Iterable[Any]) -> None:
        """Let the inputs of an inner graph be what is given to it."""
        for v, x in zip(inputs, values, strict=True):
            self.names[v] = self.text(x)
            if not isinstance(x, Value) or x in self.static:
                self.static.add(v)

    def fresh(self, word: str) -> str:
        """A new name like a word."""
        name, k = word, 2
        while name in self.taken:
            name, k = f"{word}_{k}", k + 1
        self.taken.add(name)
        return name


def _array(x: Any) -> str:
    if x.size > 64:
        raise _RefusedError(f"it holds an array of {x.size} numbers")
    numbers = repr(x.tolist()).replace("nan", "jnp.nan").replace("inf", "jnp.inf")
    return f"jnp.array({numbers}, {x.dtype.name!r})"


def _is_known(op: Op) -> bool:
    return op in (SCAN, COND) or op.base is GUARD.base or op.base in _specials() or op.base in _known()


@functools.cache
def _known() -> dict[Op, str]:
    """By op: the name of the function in JAX."""
    found: dict[Op, str] = {}
    for module, prefix, names in ((np, "jnp", _SAME), (np.linalg, "jnp.linalg", _LINALG)):
        for name in names.split():
            with_rule = _required(getattr(module, name, None))
            if with_rule is not None:
                found[with_rule] = f"{prefix}.{name}"
    if "scipy" in sys.modules:
        import scipy.special  # only where a program of SciPy's was captured

        for name in _SPECIAL.split():
            with_rule = _required(getattr(scipy.special, name, None))
            if with_rule is not None:
                found[with_rule] = f"jax.scipy.special.{name}"
    return found


def _required(fn: Any) -> Op | None:
    try:
        return None if fn is None else require(fn).base
    except (KeyError, TypeError, LookupError):
        return None


Special = Callable[[_Writer, Call], str]


def _template(text: str) -> Special:
    """A form with {0}, {1} for the arguments."""
    return lambda writer, call: text.format(*[writer.text(a) for a in call.args])


def _static(text: str) -> Special:
    """The same of what follows from sizes alone."""

    def special(writer: _Writer, call: Call) -> str:
        writer.static.update(call.outs)
        return text.format(*[writer.text(a) for a in call.args])

    return special


def _rows(writer: _Writer, call: Call) -> str:
    x, axis = call.args[0], call.args[1] if len(call.args) > 1 else 0
    listed = writer.listed(x)
    if isinstance(x, Value):
        return listed if axis == 0 else f"jnp.moveaxis({listed}, 0, {axis})"
    return f"jnp.stack({writer.text(list(x))}, {axis})"


def _indexed(writer: _Writer, call: Call) -> str:
    """`x[index]`, whose slices are of sizes alone."""
    x, index = call.args
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, slice) and any(
            v not in writer.static for v in values_in((part.start, part.stop, part.step))
        ):
            raise _RefusedError("a slice begins or ends where a value says, and must do so where sizes say")
    return f"{writer.text(x)}[{writer.text(index)}]"


@functools.cache
def _specials() -> dict[Op, Special]:
    """By op: what writes a call that is none of a function with JAX's name."""
    scattered, added = _template("jnp.zeros({2}, {3}).at[{1}].add({0})"), _template("jnp.asarray({0}).at[{1}].add({2})")
    found: dict[Any, Special] = {
        place: _template("jnp.zeros({2}, {3}).at[{1}].set({0})"), add_place: scattered, scatter: scattered,
        scatter_rows: scattered, index_add: added, index_add_at: added,
        index_increase: _template("jnp.asarray({0}).at[{1}].set({0}[{1}] + {2})"),
        index_set: _template("jnp.asarray({0}).at[{1}].set({2})"), logistic: _template("jax.nn.sigmoid({0})"),
        real_sigmoid: _template("jax.nn.sigmoid({0})"), astype: _template("jnp.asarray({0}).astype({1})"),
        place_main_diagonal: _template("jnp.zeros({1}, {2}).at[jnp.arange(len({0})), jnp.arange(len({0}))].set({0})"),
    }  # fmt: skip
    made = {require(fn).base: special for fn, special in found.items()}
    return made | {
        SHAPE.base: _static("{0}.shape"), SIZE.base: _static("{0}.shape[{1}]"), COUNT.base: _static("{0}.size"),
        GETITEM.base: _indexed, COPY.base: _template("jnp.copy({0})"), ROWS.base: _rows, ITEMS.base: _template("{0}"),
        LISTED.base: _template("jnp.stack({0})"), PARTS.base: _template("tuple({0})"),
        AND.base: _template("jnp.logical_and({0}, {1})"), OR.base: _template("jnp.logical_or({0}, {1})"),
        NOT.base: _template("jnp.logical_not({0})"),
    }  # fmt: skip
