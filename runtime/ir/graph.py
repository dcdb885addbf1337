"""The IR: a list of NumPy calls in single assignment, with types, and its interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...unpatched import np
from ..arrays import is_array
from ..ops import Op, Param

__all__ = [
    "Call",
    "Graph",
    "Type",
    "Value",
    "again",
    "interpret",
    "map_values",
    "prefix_of",
    "primal_of",
    "type_of",
    "values_in",
]  # fmt: skip


class Type(NamedTuple):
    """The type of a value: an array, a NumPy scalar or a Python number (weak), with dtype, shape and strides."""

    kind: str  # "array", "scalar" or "python"; "stack" of a list with one item for each trip of a loop
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{self.dtype.name}[{sizes}]" if self.kind == "array" else f"{self.kind} {self.dtype.name}"


def type_of(value: Any) -> Type:
    """The type of a concrete value."""
    if is_array(value):
        return Type("array", value.dtype, value.shape, value.strides)
    if isinstance(value, np.generic):
        return Type("scalar", value.dtype, (), ())
    if isinstance(value, tuple):
        return Type("python", np.dtype(object), (len(value),), ())
    return Type("python", np.result_type(type(value)), (), ())


class Value:
    """One value of a graph: its type, and what a reader would call it."""

    __slots__ = ("cotangent_of", "element", "name", "over", "sites", "type")

    def __init__(self, type: Type, name: str | None = None) -> None:
        self.type = type
        self.name = name  # as given: of an input
        self.element: Value | None = None  # of a list with one item for each trip of a loop: what an item is
        self.cotangent_of: Value | None = None  # the forward value that this is the cotangent of
        self.over: Value | None = None  # the earlier value that the user's code wrote this over (`y += x`)
        self.sites: tuple[Any, ...] = ()  # where the user's code made it, and the calls that led there

    def __repr__(self) -> str:
        return f"<{self.name or 'value'}: {self.type}>"


AGAIN = "differentiated again"  # the name of a value that stands for another in cotangents of the second order: no identifier


def again(v: Value) -> Value:
    """Return the value whose cotangent a backward pass over backward passes gives for `v`: named `dd_x`, and not `d_x`."""
    marker = Value(v.type, AGAIN)
    marker.cotangent_of = v
    return marker


def primal_of(v: Value) -> Value | None:
    """The value that `v` is the cotangent of, of any order."""
    found = v.cotangent_of
    return found.cotangent_of if found is not None and found.name == AGAIN else found


def prefix_of(v: Value) -> str:
    """Return the prefix of a cotangent's name: `d_` of a value, `dd_` of a cotangent."""
    return "dd_" if v.cotangent_of is not None and v.cotangent_of.name == AGAIN else "d_"


class Call:
    """One NumPy call: the op, its arguments in the order of the op's parameters, and the values that it makes."""

    __slots__ = ("args", "backward", "op", "outs", "quiet", "reads", "site")

    def __init__(
        self, op: Op, args: tuple[Any, ...], outs: tuple[Value, ...], site: Any = None, backward: bool | str = False,
        quiet: bool | str = False,
    ) -> None:  # fmt: skip
        self.op = op
        self.args = args
        self.reads = tuple(values_in(args))
        self.outs = outs
        self.site = site  # the line of the user's code that this call belongs to
        self.backward = backward  # made by a VJP rule; "tangents" in forward mode
        self.quiet = bool(quiet)  # runs with NumPy's warnings off

    def with_args(self, args: tuple[Any, ...]) -> Call:
        """The same call of other arguments."""
        return Call(self.op, args, self.outs, self.site, self.backward, self.quiet)

    def __repr__(self) -> str:
        return f"<call {self.op.path}>"


class _Bare(str):
    """A name that is shown without quotes wherever it stands."""

    __repr__ = str.__str__


class Graph:
    """A straight list of calls from `inputs` to `outputs` (values or constants)."""

    __slots__ = ("calls", "inputs", "outputs")

    def __init__(self, inputs: list[Value], calls: list[Call], outputs: list[Any]) -> None:
        self.inputs: list[Value] = inputs
        self.calls: list[Call] = calls
        self.outputs: list[Any] = outputs

    def copy(self) -> Graph:
        """A graph that passes may change: the same values, lists of its own."""
        return Graph(list(self.inputs), list(self.calls), list(self.outputs))

    def __str__(self) -> str:
        return self.text({})

    def text(self, names: dict[Value, str]) -> str:
        """The graph as text: one call a line; `names` has what values are called already, and learns the new ones."""

        def show(v: Value) -> str:
            return names.setdefault(v, _Bare(f"%{len(names)}"))

        def typed(v: Value) -> str:
            return f"{show(v)}: {_type_text(v)}"

        def spelled(call: Call) -> str:
            given = zip(call.op.params, call.args, strict=False)
            return ", ".join(
                f"{p.name}={map_values(a, show)!r}" for p, a in given if not (is_default(p, a) or _graphs(a))
            )

        lines = [f"inputs: {', '.join(map(typed, self.inputs))}"]
        for call in self.calls:
            left = f"{', '.join(map(typed, call.outs))} = " if call.outs else ""
            regions = [(name, graph) for a in call.args for name, graph in _graphs(a)]
            backwards = "reverse " * any(getattr(a, "reverse", None) is True for a in call.args)
            lines.append(f"{left}{backwards}{call.op.path}({spelled(call)}){':' * bool(regions)}")
            for name, graph in regions:
                lines.append(f"    {name}:")
                lines += [f"        {line}" for line in graph.text(names).splitlines()]
        lines.append(f"outputs: {', '.join(show(v) if isinstance(v, Value) else repr(v) for v in self.outputs)}")
        return "\n".join(lines)

    __repr__ = __str__


def _type_text(v: Value) -> str:
    return f"list of {_type_text(v.element)}" if v.element is not None else str(v.type)


def _graphs(argument: Any) -> list[tuple[str, Graph]]:
    """The graphs that an argument holds, which is a loop or a branch, and what they are called there."""
    fields = zip(getattr(argument, "_fields", ()), argument if isinstance(argument, tuple) else (), strict=False)
    return [(name, graph) for name, graph in fields if isinstance(graph, Graph)]


def is_default(param: Param, value: Any) -> bool:
    """Whether an argument need not be written."""
    return value is param.default or (param.variadic and not value)


def map_values(tree: Any, f: Callable[[Value], Any]) -> Any:
    """`tree` (an argument: nested tuples, lists and slices) with `f` applied to each Value in it."""
    if isinstance(tree, Value):
        return f(tree)
    if type(tree) is tuple:
        return tuple([map_values(t, f) for t in tree])
    if type(tree) is list:
        return [map_values(t, f) for t in tree]
    if isinstance(tree, slice):
        return slice(map_values(tree.start, f), map_values(tree.stop, f), map_values(tree.step, f))
    return tree


_HOLDING = (tuple, list, slice)


def values_in(tree: Any) -> Iterator[Value]:
    """Each Value in an argument, in order."""
    if isinstance(tree, Value):
        yield tree
    elif type(tree) is tuple or type(tree) is list:
        for t in tree:
            if type(t) is Value:  # as most are: a generator for each takes most of the time
                yield t
            elif type(t) in _HOLDING:
                yield from values_in(t)
    elif isinstance(tree, slice):
        yield from values_in((tree.start, tree.stop, tree.step))


def interpret(
    graph: Graph,
    inputs: list[Any],
    seen: Callable[[Call, tuple[Any, ...]], None] | None = None,
    run_of: Callable[[Call], Callable[..., Any]] | None = None,
) -> list[Any]:
    """Run a graph call by call: what every other way of running it must equal; `seen` is told each call's results.

    `run_of` gives the function that runs a call, where that is another than the op's own.
    """
    space: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for call in graph.calls:
        args, kwargs = call.op.call_form(tuple([map_values(a, space.__getitem__) for a in call.args]))
        run = call.op.fn if run_of is None else run_of(call)
        if call.quiet:
            with np.errstate(all="ignore"):
                result = run(*args, **kwargs)
        else:
            result = run(*args, **kwargs)
        results = (result,) if call.op.n_out == 1 else result
        space.update(zip(call.outs, results, strict=True))
        if seen is not None:
            seen(call, results)
    return [space[v] if isinstance(v, Value) else v for v in graph.outputs]
