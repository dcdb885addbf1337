"""The arguments of a differentiated call, and its results: arrays in, Tensors inside, arrays out again."""

from __future__ import annotations

import dis
import inspect
import reprlib
import types
from collections.abc import Callable
from typing import Any

from ..runtime.arrays import (
    ARRIVALS,
    computing_with,
    is_array,
    is_plain_array,
    is_writeable,
    library_of_arrays,
    own_memory,
    seen,
)
from ..runtime.errors import AutogradError, DtypeError, ShapeError
from ..runtime.registry import require
from ..tracer.core.custom import CustomNode
from ..tracer.core.dispatch import apply, of_its_own
from ..tracer.core.foreign import conversion, is_masked
from ..tracer.core.graph import FLOAT, AccumulateGrad, Node, Reached, next_sequence, reached_from
from ..tracer.core.tensor_base import Operand, alias, levels_of, wrap
from ..tracer.core.thread_state import LOCAL, Era, capturing
from ..tracer.core.versions import bump
from ..tracer.random.randomness import read_by
from ..unpatched import np
from .trees import LEAF, flatten, flatten_present, paths, unflatten

__all__ = [
    "Arguments",
    "Finisher",
    "check_argnums",
    "check_returned",
    "is_given",
    "owner_of",
    "parted",
    "return_line",
    "returned",
]

_NUMBERS = (Operand, np.generic, float, complex)
_ALONE = frozenset([np.ndarray, np.float64, float])  # arguments that are no trees, as most are


def check_argnums(argnums: Any, transform: str) -> None:
    """Raise where `argnums` are no positions or names: often they are the arguments of the function itself."""
    for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        if not isinstance(n, (int, str)) or isinstance(n, bool):
            raise TypeError(
                f"argnums takes positions or names of arguments, not {reprlib.repr(n)}.\n"
                f"gs.{transform}(f) is a function of the arguments of f: call gs.{transform}(f)(x)."
            )
    if isinstance(argnums, (tuple, list)) and not argnums:
        raise AutogradError("argnums is empty: name at least one argument to differentiate")


def return_line(function: Any) -> str:
    """Return where a function returns, as `model.py:12`: its first line, where it has several returns."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is None:
        return "its return"
    returns = {line for _, line in _return_lines(code)}
    line = returns.pop() if len(returns) == 1 else code.co_firstlineno
    return f"{code.co_filename.rpartition('/')[2]}:{line}"


def _return_lines(code: types.CodeType) -> list[tuple[int, int]]:
    return [
        (i.offset, i.positions.lineno)
        for i in dis.get_instructions(code)
        if i.opname.startswith("RETURN_") and i.opname != "RETURN_GENERATOR" and i.positions and i.positions.lineno
    ]


_FORGOTTEN = {  # what a function gives that was not meant to be called so: its type, and what to do
    type(None): ("None", "A `return` is missing; methods that write in place (`x.sort()`) return None, too."),
    types.GeneratorType: ("a generator", "It has a `yield`: take a function that returns the value."),
    types.CoroutineType: ("a coroutine", "It is an `async def`: take a plain function, and await what it needs before."),
    types.AsyncGeneratorType: ("an async generator", "It is an `async def`: take a plain function that returns the value."),
}  # fmt: skip


def returned(function: Any, value: Any) -> tuple[str, str]:
    """Return what a function returned and where, in words; and what to do about it, or nothing."""
    kind = "one number or array" if isinstance(value, Operand) else type(value).__name__
    named, what_to_do = _FORGOTTEN.get(type(value), (kind, ""))
    if isinstance(value, types.CoroutineType):
        value.close()  # or Python warns that nobody awaited it
    name = getattr(function, "__name__", type(function).__name__)
    return f"`{name}` returned {named} at {return_line(function)}", what_to_do


def check_returned(function: Callable[..., Any], value: Any) -> None:
    """Raise ShapeError where a function returned nothing that has numbers in it: None, a generator."""
    if type(value) in _FORGOTTEN:
        what, what_to_do = returned(function, value)
        raise ShapeError(f"an output of arrays is needed, but {what}.\n{what_to_do}")


class Arguments:
    """The arguments of one call: those that are differentiated as Tensors of their own, with where they came from.

    With `lasting` the graph outlives the call, and arrays of the caller's, which may be written then, are copied.
    """

    def __init__(
        self, function: Any, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any], lasting: bool = False
    ) -> None:
        self.function = function
        self.lasting = lasting and not capturing()
        self._seen: list[tuple[np.ndarray[Any, Any], bytes]] = []  # what arrays of the caller's hold
        self.tensors_given = False
        self.era = LOCAL.era or Era()
        self.began = next_sequence()
        self.wanted: dict[Any, Any] = {}
        self.owned: list[Any] = []
        self.sources: list[Any] = []
        self._groups: list[tuple[Any, list[tuple[Any, Any]]]] = []
        listed = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
        plain = type(argnums) is int and 0 <= argnums < len(args)
        places = [argnums] if plain else [self._place(n, args, kwargs) for n in listed]
        if not plain and len(set(places)) < len(places):
            raise TypeError(f"argnums is {argnums!r}, and names an argument of `{self.name}` twice: name each once")
        self.places = places
        given: list[Any] = list(args)
        named = dict(kwargs)
        for place in places:
            holder: Any = given if isinstance(place, int) else named
            holder[place] = self._differentiated(holder[place], place)
        for k, a in enumerate(given):
            if k not in places:
                given[k] = self._constant(a)
        for name, a in named.items():
            if name not in places:
                named[name] = self._constant(a)
        self.args = given
        self.kwargs = named

    @property
    def name(self) -> str:
        """The name of the function, for errors."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def _place(self, argnum: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | str:
        """The position or the keyword under which the argument was passed; negative positions count from the last one."""
        if isinstance(argnum, int) and (0 if kwargs else -len(args)) <= argnum < len(args):
            return argnum % len(args)
        if argnum in kwargs:
            return argnum  # type: ignore[no-any-return]
        parameters = inspect.signature(self.function).parameters
        names = list(parameters)
        name = self.name
        if isinstance(argnum, int) and argnum < 0:
            both = inspect.Parameter.POSITIONAL_OR_KEYWORD
            passed = [*range(len(args)), *[n for n in names[len(args) :] if n in kwargs and parameters[n].kind is both]]
            if -argnum <= len(passed):
                found: int | str = passed[argnum]
                return found
            raise TypeError(f"argnums is {argnum}, but `{name}` was called with {len(passed)} arguments")
        if isinstance(argnum, str):
            if argnum not in names:
                raise TypeError(f"argnums names `{argnum}`, but `{name}` takes ({', '.join(names)})")
            if names.index(argnum) < len(args):
                return names.index(argnum)
            raise TypeError(f"`{name}` is differentiated with respect to `{argnum}`, which was not passed")
        if argnum < len(names) and names[argnum] in kwargs:
            return str(names[argnum])
        raise TypeError(
            f"`{name}` is differentiated with respect to argument {argnum}, but was called with "
            f"{len(args)} positional arguments"
        )

    def _differentiated(self, value: Any, place: Any) -> Any:
        # None stays what it is
        leaves, structure = ([value], LEAF) if type(value) in _ALONE else flatten_present(value)
        made: list[Any] = []
        group: list[tuple[Any, Any]] = []
        for leaf in leaves:
            given = getattr(leaf, "_ir", None) if type(leaf) not in _ALONE else None
            if LOCAL.levels and (isinstance(leaf, _NUMBERS) or is_array(leaf)):
                leaf = spread(leaf)
            tensor = self._leaf(leaf, place, value, len(made))
            if given is not None:  # whose cotangent it is called, also where it was repeated for each example
                tensor._node.ir = ((given,), None)
            made.append(tensor)
            group.append((tensor._node, leaf))
        self._groups.append((structure, group))
        return made[0] if structure is LEAF else unflatten(structure, made)

    def _leaf(self, leaf: Any, place: Any, tree: Any, k: int) -> Any:
        if isinstance(leaf, Operand):
            self.tensors_given = self.tensors_given or is_given(leaf)
            dtype = leaf._value.dtype if hasattr(leaf._value, "dtype") else np.result_type(leaf._value)
            tensor = alias(leaf)
            tensor._caller = leaf
            self.owned.append(tensor)
        else:
            tensor = wrap(own_memory(leaf) if self.lasting and is_array(leaf) else leaf)
            if type(leaf) is float:
                dtype = FLOAT
            elif isinstance(leaf, np.generic):
                dtype = leaf.dtype
            elif is_array(leaf):
                dtype = leaf.dtype
                tensor._caller = leaf
                self.owned.append(tensor)
                self._seen.append((leaf, seen(leaf)))
            else:
                dtype = np.result_type(leaf) if isinstance(leaf, (int, float, complex)) else np.dtype(object)
        if dtype.kind not in "fc" or (type(leaf) not in _ALONE and is_masked(leaf)):
            label = f"argument {place}" if isinstance(place, int) else f"argument `{place}`"
            places = list(zip(paths(tree), flatten(tree)[0], strict=True))
            present = [keys for keys, value in places if value is not None] or [keys for keys, _ in places]
            keys = "".join([f"[{key!r}]" for key in present[k]])
            at = f" at {keys}" if keys else ""
            cls = type(leaf)
            named = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
            of_numpy = dtype.kind in "biu" or (isinstance(leaf, np.generic) or is_array(leaf))
            of_numpy = of_numpy and not is_masked(leaf)  # whose mask would be lost
            what = f"dtype {dtype}" if of_numpy else f"a value of type {named}"
            raise DtypeError(
                f"grad differentiates floating point and complex arguments, but {label} of `{self.name}` "
                f"holds {what}{at}.\n{self._advice(leaf, place, dtype.kind in 'biu', keys)}"
            )
        if isinstance(leaf, Operand) and leaf._node is not None and LOCAL.grad:
            tensor._node = _linked(leaf, dtype)
        else:
            tensor._node = AccumulateGrad(tensor, tensor._value)
            tensor._node.inner = self.era
        if isinstance(leaf, Operand) and (ir := getattr(tensor, "_ir", None)) is not None:
            tensor._node.ir = ((ir,), None)
        self.sources.append(leaf)
        self.wanted[tensor._node] = None
        return tensor

    def _advice(self, leaf: Any, place: Any, whole: bool, keys: str) -> str:
        """Return the remedy for an argument that cannot be differentiated: of whole numbers, or of no numbers at all."""
        names = _parameters(self.function)
        name = names[place] if isinstance(place, int) and place < len(names) else str(place)
        form = conversion(leaf, "x" if isinstance(place, int) and place >= len(names) else name)
        apart = "pass it as an argument of its own" if keys else "leave it out of argnums"
        if form is not None:
            return f"Convert it ({form}), or {apart}."
        if name == "self" and place == 0:
            return "It is the object of a method: write argnums=1, or the name of what is differentiated."
        if whole:
            return f"Convert it (x.astype(float), 3.0 in place of 3), or {apart}."
        return f"Give numbers, arrays, or trees of them (dict, list, tuple, dataclass); or {apart}."

    def _constant(self, value: Any) -> Any:
        if is_plain_array(value):
            return self._alias(value)
        if isinstance(value, Operand):
            self.tensors_given = self.tensors_given or is_given(value)
            return value
        if isinstance(value, (dict, list, tuple)):
            leaves, structure = flatten(value)
            self.tensors_given = self.tensors_given or any(isinstance(v, Operand) and is_given(v) for v in leaves)
            return unflatten(structure, [self._alias(v) if is_plain_array(v) else v for v in leaves])
        return value

    def _alias(self, array: Any) -> Any:
        if array.dtype.kind not in "biufc":
            return array
        tensor = wrap(own_memory(array) if self.lasting else array)
        tensor._caller = array
        self.owned.append(tensor)
        self.sources.append(array)
        self._seen.append((array, seen(array)))
        return tensor

    def note_writes(self) -> None:
        """The function has run: note which arrays of the caller's it has written by another name than its parameter's."""
        if not capturing():
            for array, before in self._seen:
                if seen(array) != before:
                    bump(array, "a write by another name than that of the argument")

    def reached(self, outputs: list[Any]) -> Reached:
        """The nodes behind the outputs; where Tensors of the caller's that require grad stand there, they are given too."""
        found = reached_from([x._node for x in outputs if isinstance(x, Operand) and x._node is not None])
        outside = found.outside
        for node in found.custom:
            if isinstance(node, CustomNode):
                read = [x._node for x in flatten(read_by(node.backward_function()))[0] if isinstance(x, Operand)]
                outside += reached_from([behind for behind in read if behind is not None]).outside
        if outside and not self.tensors_given:
            self.tensors_given = any(leaf.seq < self.began for leaf in outside)
        return found

    @property
    def given(self) -> list[tuple[Any, list[tuple[Any, Any]]]]:
        """For each differentiated argument its structure and (node, what the caller passed) for each leaf."""
        return self._groups


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def check_called_with_arguments(transform: str, function: Any, args: tuple[Any, ...]) -> None:
    """Raise where a transform that takes the function and its arguments got none, and the function needs some."""
    if args:
        return
    try:
        inspect.signature(function).bind()
    except TypeError:
        message = f"gs.{transform} takes the function and its arguments: gs.{transform}(f, x)"
        raise TypeError(message) from None
    except ValueError:  # a function of C code may have no signature
        return


def is_given(tensor: Any) -> bool:
    """Whether a Tensor was given by who asks for Tensors: vmap gives some of constants, too."""
    return tensor._node is not None or not LOCAL.levels


def spread(leaf: Any) -> Any:
    """Return the Tensor that is differentiated under vmap: a variable of its own for each example."""
    from ..tracer.tensors import batched  # loaded already, where vmap is used

    return batched.spread(leaf, LOCAL.levels)


def _linked(leaf: Any, dtype: Any) -> Any:
    """A node of its own for a Tensor that an outer transform follows, so that inner and outer gradients stay apart."""
    node = object.__new__(Node)
    op = require(np.positive)
    node.op = op
    node.plan = op.plan(1)
    node.edges = (leaf._node,)
    node.saved = ()
    node.meta = (np.shape(leaf._value), dtype)
    node.seq = AccumulateGrad(leaf, leaf._value).seq
    node.extra = None
    return node


class Finisher:
    """Results as they leave: arrays where arrays came in, each in memory of its own."""

    def __init__(self, frame: Arguments, as_tensors: bool, conjugates: bool = True) -> None:
        self.conjugates = conjugates  # PyTorch's convention; without, the cotangents of rules are JAX's gradients
        self.as_tensors = as_tensors or bool(LOCAL.levels)
        self.cuts = not as_tensors  # under vmap: Tensors, but without the graph
        self.outermost = LOCAL.differentiating == 0
        self.given: list[Any] = []  # the gradients that are arrays
        self.used = {owner_of(s) for s in frame.sources}

    def gradients(self, frame: Arguments, grads: dict[Any, Any]) -> list[Any]:
        """Return for each differentiated argument the tree of its gradients, of the cotangents of the leaves' nodes."""
        trees = []
        for structure, group in frame.given:
            one = self._gradient if not ARRIVALS.any else self._gradient_in_place
            found = [one(grads.get(node), leaf) for node, leaf in group]
            trees.append(found[0] if structure is LEAF else unflatten(structure, found))
        return trees

    def _gradient_in_place(self, g: Any, source: Any) -> Any:
        """A gradient where its source lies."""
        with computing_with(library_of_arrays(getattr(source, "_value", source))):
            return self._gradient(g, source)

    def _gradient(self, g: Any, source: Any) -> Any:
        """A gradient in the type of what it belongs to."""
        g = self._zeros(source) if g is None else g
        return self._left(np.conj(g) if self.conjugates and g.dtype.kind == "c" else g, source)

    def tangent(self, t: Any, leaf: Any) -> Any:
        """A tangent in the type of the result that it belongs to."""
        if not (isinstance(leaf, (*_NUMBERS, int)) or is_array(leaf)):
            return None
        with computing_with(library_of_arrays(getattr(leaf, "_value", leaf))):
            return self._left(self._zeros(leaf) if t is None else t, leaf)

    def _zeros(self, source: Any) -> Any:
        value = source._value if isinstance(source, Operand) else source
        followed = self.as_tensors and isinstance(source, Operand) and not levels_of(source)
        shape = source.shape if followed else np.shape(value)  # whose lengths a capture follows
        dtype = value.dtype if is_plain_array(value) else np.result_type(value)
        return apply(require(np.zeros), (shape, dtype), {}) if self.as_tensors else np.zeros(shape, dtype)

    def _left(self, g: Any, source: Any) -> Any:
        value = source._value if isinstance(source, Operand) else source
        if levels_of(source):
            return source._of_each(g)
        array = g._value if isinstance(g, Operand) else g
        of_array = type(value) is not float and is_plain_array(value)
        is_one = type(array) is not np.float64 and is_plain_array(array)
        if of_array and not is_one:
            g = np.asarray(g) if not isinstance(g, Operand) else apply(require(np.asarray), (g,), {})
        elif is_one:
            if not of_array and not array.shape:
                g = g[()]
            elif self.outermost and (not is_writeable(array) or owner_of(array) in self.used):
                g = g.copy("K") if is_plain_array(g) else np.copy(g)
            elif self.outermost:
                g = of_its_own(g, self.given)
            self.given.append(g)
            self.used.add(owner_of(g))
        if of_array and not value.dtype.isnative and is_plain_array(g):
            g = g.astype(value.dtype, copy=False)  # LAPACK's results, and numbers, have the machine's byte order
        return g if self.as_tensors or not isinstance(g, Operand) else g._value

    def result(self, leaf: Any) -> Any:
        """A value that the function returned."""
        if not isinstance(leaf, Operand) or self.as_tensors:
            return alias(leaf) if self.cuts and isinstance(leaf, Operand) else leaf
        caller = getattr(leaf, "_caller", None)
        return leaf._value if caller is None else caller


def owner_of(value: Any) -> int:
    """The identity of the array that owns the memory of `value`."""
    if isinstance(value, Operand):
        value = value._value
    base = getattr(value, "base", None)
    while base is not None and is_array(base):
        value, base = base, base.base
    return id(value)


def parted(function: Any, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """Return the output of a function, and what it returns beside it: None without has_aux."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            f"has_aux=True needs a function that returns (output, aux), but {returned(function, result)[0]}"
        )
    return result
