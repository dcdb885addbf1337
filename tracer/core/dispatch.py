"""apply, through which every operation goes: unwrap, call NumPy, wrap, record.

`apply` takes any call; `apply1` and `apply2` are the same for one or two positional arguments, written out
because they are hot, and hand everything that is not plain to `apply`. Of an op it compiles a door for each call form
that it meets (how many arguments by position, which by name), which runs the plain calls of that form.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ...runtime.arrays import ARRIVALS, is_array, is_plain_array, library_of_arrays, when_arrived
from ...runtime.batching import BatchedCall
from ...runtime.errors import NoRuleError
from ...runtime.ops import MISSING, Kind, Op, Plan
from ...runtime.placement import explained, function_of, has_no_protocol, of_numbers
from ...runtime.registry import lookup, require
from ...unpatched import np
from . import exits, saved, tensor_base, versions, views, volatile
from .count import Count
from .foreign import KNOWN, Foreign, base_of, defers, is_masked, not_repeated
from .graph import FLOAT, NUMBER, Node, Pick, meta_of, next_sequence
from .levels import refuse_leaked
from .losses import read_from_outside
from .outside_arrays import kept, kept_values
from .singular import strict
from .site import blame, user_site
from .tensor_base import Operand, alias, wrap
from .thread_state import LOCAL, refuse

__all__ = [
    "AFTER_ERROR",
    "Foreign",
    "apply",
    "apply1",
    "apply2",
    "install",
    "install_batching",
    "install_masked",
    "node_of",
    "of_its_own",
    "run",
]

_new = object.__new__
float64, ndarray = np.float64, np.ndarray
_PLAIN = {float, int, complex, bool, np.ndarray, *(np.sctypeDict.values())}
tensor_class: Any = Operand


def install(cls: type[Any]) -> None:
    """Make `cls` the class that `apply` makes and knows: a global, since this code is hot."""
    global tensor_class
    tensor_class = cls
    tensor_base.install(cls)


def install_batching(run: Any) -> None:
    """Let `run` have a look at what happens under vmap (its module stands above this one)."""
    global run_batched
    run_batched = run


run_batched: Any = None


def install_masked(module: Any) -> None:
    """Let the module of `out=`, `where=` and `dtype=` have its calls: it writes into memory, and so stands above this one."""
    global masked
    masked = module


masked: Any = None


def of_its_own(g: Any, others: Any) -> Any:
    """Return a gradient in memory of its own: a copy where a capture cannot tell."""
    return g if LOCAL.recorder is None else LOCAL.recorder.of_its_own(g, others)


def apply1(op: Op, x: Any) -> Any:
    """Run a one-argument op on a Tensor."""
    if LOCAL.__dict__["slow"] or (type(x) is not tensor_class and tensor_base.levels_of(x)):
        return apply(op, (x,), {})
    node = x._node
    try:
        value = op.fn(x._value)
    except Exception as error:
        raise blame(explained(op, (x._value,), error)) from None
    made = _new(tensor_class)
    made._value = value
    if node is None:
        made._node = None
        return made if not tensor_base.volatile_class else _as_volatile(x, made)
    plan = op.plans.get(1) or op.plan(1)
    if not plan.slots:
        made._node = None
        return made
    made._node = new = _new(Node)
    new.op = op
    new.plan = plan
    new.edges = (node,)
    new.saved = plan.save(x._value, value)
    if type(value) is ndarray and (shape := value.shape):  # as `meta_of` finds it
        new.meta = shape, value.dtype
    else:
        new.meta = NUMBER if type(value) is float64 else meta_of(value)
    new.seq = next_sequence()
    new.extra = None
    return made


def _as_volatile(x: Any, made: Any) -> Any:
    return tensor_base.made_volatile(made) if tensor_base.is_volatile(x) else made


def apply2(op: Op, x: Any, y: Any) -> Any:
    """Run a two-argument op of which at least one argument is a Tensor."""
    if LOCAL.__dict__["slow"]:
        if not (isinstance(x, Operand) and isinstance(y, Operand)):
            not_repeated(x, y)
        return apply(op, (_admitted(x), _admitted(y)), {})
    if type(x) is tensor_class:
        xv = x._value
        xn = x._node
    elif isinstance(x, Operand):  # a Tensor of a special class: made in inference mode, or a view to be renewed
        return apply(op, (x, _admitted(y)), {})
    else:
        xv, xn = admit(x, y), None
    if type(y) is tensor_class:
        yv = y._value
        yn = y._node
    elif type(y) is float or type(y) is int:
        yv, yn = y, None
    elif isinstance(y, Operand):
        return apply(op, (x, y), {})
    else:
        yv, yn = admit(y, x), None
    try:
        value = op.fn(xv, yv)
    except Exception as error:
        raise blame(explained(op, (xv, yv), error)) from None
    made = _new(tensor_class)
    made._value = value
    if xn is None:
        if yn is None:
            made._node = None
            return made
        key = 2
        edges: tuple[Any, ...] = (yn,)
    elif yn is None:
        key, edges = 1, (xn,)
    else:
        key, edges = 3, (xn, yn)
    plan = op.plans.get(key) or op.plan(key)
    if len(plan.slots) != len(edges):
        if not plan.slots:
            made._node = None
            return made
        edges = tuple([(xn, yn)[k] for k, _ in plan.slots])
    made._node = new = _new(Node)
    new.op = op
    new.plan = plan
    new.edges = edges
    if plan.constants:  # arrays from outside among them
        if key == 1 and type(yv) is ndarray and type(y) is not tensor_class:
            yv = kept(yv)
        elif key == 2 and type(xv) is ndarray and type(x) is not tensor_class:
            xv = kept(xv)
    new.saved = plan.save(xv, yv, value)
    if type(value) is ndarray and (shape := value.shape):  # as `meta_of` finds it
        new.meta = shape, value.dtype
    else:
        new.meta = NUMBER if type(value) is float64 else meta_of(value)
    new.seq = next_sequence()
    new.extra = None
    return made


# NumPy's names of arrays, which ops call x and y, and what position they have.
_NUMPYS_NAMES = {"a": 0, "m": 0, "arr": 0, "ary": 0, "array": 0, "arrays": 0, "tup": 0, "x1": 0, "b": 1, "x2": 1}


def admit(value: Any, beside: Any = None) -> Any:
    """A plain operand as NumPy takes it; what NumPy would make an object array of, or Python does not know, is refused."""
    if type(value) in _PLAIN and not (type(value) is np.ndarray and value.dtype.hasobject):
        return value
    if type(value) is Count:
        return int(value)
    if isinstance(value, (int, float, complex)):  # a size, for one
        return value
    not_repeated(value, beside)
    if defers(value) or is_masked(value) or type(value) is np.matrix:  # whose products are others
        raise Foreign(f"a Tensor met {type(value).__name__!r}, an array of another class, which says what that means")
    if has_tensor(value):
        raise Foreign("a list of Tensors met a Tensor in an operation; stack it first: np.stack([t0, t1])")
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise Foreign(f"a Tensor cannot be combined with {type(value).__name__!r}: it holds no numbers")
    return value if isinstance(value, np.generic) else array


def _admitted(value: Any) -> Any:
    """An operand in any mode: a list is the array that NumPy makes of it, which a recorder must see being made."""
    if isinstance(value, Operand):
        return value
    admitted = admit(value)
    if type(value) in (list, tuple):
        return admitted if LOCAL.recorder is None else apply(require(np.array), (value,), {})
    return admitted if is_array(value) else value


def has_tensor(value: Any) -> bool:
    """Whether a Tensor stands in `value`, at any depth of lists, tuples, dicts and slices."""
    if isinstance(value, Operand):
        return True
    if isinstance(value, (list, tuple)):
        return any(has_tensor(v) for v in value)
    if isinstance(value, dict):
        return any(has_tensor(v) for v in value.values())
    if isinstance(value, slice):
        return has_tensor((value.start, value.stop, value.step))
    return False


def unwrap(value: Any) -> Any:
    """`value` with each Tensor in it replaced by what it holds, and each traced size by the plain number."""
    kind = type(value)
    if kind is tensor_class:
        return value._value
    if isinstance(value, Operand):
        if kind is tensor_base.batched_class:
            refuse_leaked(value)
        return value._value
    if kind is list or kind is tuple:
        return kind([unwrap(v) for v in value])
    if kind is slice:
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    if kind is not np.ndarray and isinstance(value, np.ndarray):
        return base_of(value)
    if isinstance(value, int) and kind is not int and kind is not bool:
        return int(value)
    return tuple([unwrap(v) for v in value]) if isinstance(value, tuple) and not hasattr(value, "_fields") else value


def stack_nested(value: Any) -> Any:
    """Nested lists of Tensors and numbers as one Tensor: what np.array means by them."""
    if isinstance(value, (list, tuple)) and has_tensor(value):
        return apply(require(np.stack), ([stack_nested(v) for v in value],), {})
    return value


def stacking(fn: Callable[..., Any], op: Op | None = None, unasked: Op | None = None) -> Callable[..., Any]:
    """A function of arrays that NumPy gives a list of Tensors as it stands: `np.sum([f(v) for v in x])`.

    Where its `op` is given, a plain call need not go through NumPy to come to it. `unasked` is the op that is meant where a
    Tensor stands among arguments that NumPy does not ask: `np.pad(array, 1, constant_values=t)`, `np.linalg.norm(array, t)`.
    """
    names = frozenset() if unasked is None else frozenset([p.name for p in unasked.params]) - {"out"}

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if op is not None and args and type(args[0]) is tensor_class:
            found = through_door(op, args, kwargs)
            if found is not NotImplemented:
                return found
        for a in args:
            if type(a) is list or type(a) is tuple:
                if has_tensor(a):
                    return fn(*[stack_nested(b) for b in args], **kwargs)
                if LOCAL.recorder is not None and not has_tensor(args) and not has_tensor(tuple(kwargs.values())):
                    return fn(*_as_arrays(lookup(fn), args), **kwargs)
        if unasked is not None and names.issuperset(kwargs):
            if tensor_class in map(type, args[1:]) and KNOWN.issuperset(map(type, args)):
                return apply(unasked, args, kwargs)
            if kwargs and has_tensor(kwargs) and not has_tensor(args):
                return apply(unasked, args, kwargs)
        return fn(*args, **kwargs)

    return call


def _as_arrays(op: Op | None, args: tuple[Any, ...]) -> list[Any]:
    """Return arguments that hold numbers alone with an array for each list that stands for one: a capture is to know it."""
    made: list[Any] = []
    for k, arg in enumerate(args):
        if type(arg) is not list and type(arg) is not tuple:
            made.append(arg)
        elif op is None:  # of a composition, whose lists of whole numbers may be axes
            array = not k or any(type(v) in (float, complex, list, tuple) for v in arg)
            made.append(literal(arg) if array else arg)
        else:
            param = op.params[min(k, len(op.params) - 1)]
            made.append(literal(arg) if param.name in op.vjps and not param.sequence else arg)
    return made


def literal(value: Any) -> Any:
    """Return a list or tuple as the array that NumPy makes of it, where a capture is to know it: by a call that it records."""
    if type(value) is not list and type(value) is not tuple:
        return value
    return stack_nested(value) if has_tensor(value) else apply(require(np.array), (value,), {})


def apply(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an op in any form: any mode, any arguments, one result or several."""
    if isinstance(op.fn, np.ufunc) and kwargs:
        out = kwargs.get("out")
        if "out" in kwargs and (out is None or (type(out) is tuple and all(o is None for o in out))):
            kwargs = {k: v for k, v in kwargs.items() if k != "out"}
        if "out" in kwargs or "where" in kwargs:
            return masked.apply_masked(op, args, kwargs)
        if kwargs:
            op = masked.with_words(op, kwargs)
    if op.forms is not None and (found := op.forms(*args, **kwargs)) is not NotImplemented:
        return found
    found = through_door(op, args, kwargs)
    if found is not NotImplemented:
        return found
    try:
        bound = op.bind(*args, **kwargs)
    except TypeError as error:
        if (split := masked.without_out(op, args, kwargs)) is not None:
            out, args, kwargs = split
            return apply(op, args, kwargs) if out is None else masked.into(op.path, out, apply(op, args, kwargs))
        known = [p.name for p in op.params]
        renamed = {
            known[_NUMPYS_NAMES[k]] if k in _NUMPYS_NAMES and k not in known else k: v for k, v in kwargs.items()
        }
        if len(renamed) == len(kwargs) and renamed.keys() != kwargs.keys():
            return apply(op, args, renamed)
        raise blame(TypeError(f"{op.path}: {error}")) from None
    if op.out_place >= 0 and bound[op.out_place] is not None:
        rest = (*bound[: op.out_place], None, *bound[op.out_place + 1 :])
        return masked.into(op.path, bound[op.out_place], run(op, rest))
    return run(op, bound)


AFTER_ERROR = "goes on after an error of "  # how the reason begins why a capture is given up where an op raises


def through_door(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a call in the plain case, in a form that NumPy itself has; NotImplemented of every other."""
    if LOCAL.__dict__["slow"] or tensor_base.volatile_class:
        return NotImplemented
    form = (len(args), *kwargs) if kwargs else len(args)
    door = op.doors.get(form)
    if door is None:
        door = op.doors[form] = compile_door(op, len(args), tuple(kwargs))
    return door(*args, **kwargs)


def run(op: Op, bound: tuple[Any, ...]) -> Any:
    """Run an op on arguments in the order of its parameters."""
    kinds = {*map(type, bound)}
    if list in kinds or tuple in kinds:
        bound = _all_kept(bound, tuple([_stacked(op, k, b) for k, b in enumerate(bound)]))
    no_history = tensor_base.volatile_class and volatile.among(bound)
    if LOCAL.levels:
        found = run_batched(op, bound)
        if found is not NotImplemented:
            return found
    if LOCAL.profiler is not None and (found := LOCAL.profiler.op(op, bound, run)) is not NotImplemented:
        return found
    if op.kind is Kind.shaping and isinstance(bound[0], Operand) and not LOCAL.depth:
        versions.own_array(bound[0])  # so that a view of a number shares memory with it
    values = tuple([unwrap(b) for b in bound])
    if ARRIVALS.any and of_numbers(op) and library_of_arrays(values) is not None:
        found = _of_arrays(op, bound)
        if found is not NotImplemented:
            return found
    a, k = op.call_form(values)
    try:
        result = (op.fn if not ARRIVALS.any else function_of(op, values))(*a, **k)
    except Exception as error:
        refuse(f"{AFTER_ERROR}{op.path}")
        raise blame(explained(op, values, error)) from None
    return finish(op, bound, values, result, no_history)


def _of_arrays(op: Op, bound: tuple[Any, ...]) -> Any:
    """Run a function of Python's numbers on arrays of CuPy's: as what it is of arrays, so that no number leaves the device.

    That is what it becomes under gs.vmap; where it adds up along an axis there is one example.
    """
    rule = op.base.batching
    if rule is None:
        return NotImplemented
    mapped = tuple([not isinstance(b, tuple) and np.ndim(unwrap(b)) > 0 for b in bound])
    examples = tuple([np.expand_dims(b, 0) if m else b for b, m in zip(bound, mapped, strict=True)])
    found = rule(BatchedCall(op, examples, mapped, run))
    return found[0] if found is not NotImplemented and True in mapped else found


def finish(op: Op, bound: tuple[Any, ...], values: tuple[Any, ...], result: Any, no_history: bool = False) -> Any:
    """Wrap what a call gave, and record it."""
    several = op.n_out != 1
    if not several and type(result) is tuple:
        n = len(result)
        raise blame(
            TypeError(f"{op.path} gave a tuple of {n}, but was registered with one result: gs.op(..., n_out={n})")
        )
    results = tuple(result) if several else (result,)
    if several and op.kind is Kind.creation and LOCAL.recorder is None:
        # np.ix_ shows arrays from outside, which may be written
        results = tuple([r if r.base is None else np.array(r) for r in results])
    for r in results:
        if isinstance(r, Operand):
            return finish(op, bound, values, _without_history(op, result), no_history)
        if is_plain_array(r) and r.dtype.hasobject:
            raise blame(
                TypeError(
                    f"`{op.name}` would make an array of objects (dtype object), which has no gradient: give it numbers alone, "
                    "or keep the values in a list"
                )
            )
    if LOCAL.alone is not None and not LOCAL.grad:
        _refuse_outside(op, bound, results)
    node = node_of(op, bound, values, results, several) if LOCAL.grad and not no_history else None
    if node is None:
        tensors = tuple([wrap(r) for r in results])
    elif several:
        tensors = tuple([wrap(r, Pick(node, j) if r.dtype.kind in "fc" else None) for j, r in enumerate(results)])
    else:
        tensors = (wrap(result, node),)
    if LOCAL.watch is not None:
        LOCAL.watch.operation(op, bound, values, tensors, node)
    recorder = LOCAL.recorder
    if recorder is not None:
        ir = recorder.call(op, bound, tensors)
        if node is not None:
            _save_recorded(op, node, bound, tensors, several)
            if LOCAL.packing and ir is None:  # the recorder has given up
                saved.pack_saved(node, bound)
            node.ir = ir
            if several and ir is not None:
                for t, out in zip(tensors, ir[0], strict=True):
                    if t._node is not None:
                        t._node.ir = ((out,), ir[1])
    shapes = op.kind is Kind.shaping
    for j, r in enumerate(results):
        if is_plain_array(r) and not shapes and id(r) in map(id, values):
            views.note_itself(tensors[j], bound)
        elif is_plain_array(r) and (shapes or r.base is not None):
            views.note_view(tensors[j], op, bound, j if several else -1)
    if LOCAL.inference and not LOCAL.depth:
        for t in tensors:
            if getattr(t, "_view", None) is None:
                tensor_base.made_in_inference(t)
    if no_history:
        for t in tensors:
            tensor_base.made_volatile(t)
    if not several:
        return tensors[0]
    if node is None:
        tensors = tuple([tensors[_first(results, j)] for j in range(len(results))])
    if hasattr(result, "_fields"):  # a namedtuple such as EighResult
        return type(result)(*tensors)
    return list(tensors) if isinstance(result, list) else tensors


def _without_history(op: Op, result: Any) -> Any:
    """Return the result of a user's function that computed with a Tensor from outside: a constant one."""
    if isinstance(result, (tuple, list)):
        return type(result)([_without_history(op, r) for r in result])
    if isinstance(result, Operand) and result._node is not None:
        raise blame(read_from_outside(f"`{op.name}`, which has a rule,", "its rule is about arguments alone", op.name))
    return unwrap(result)


def _refuse_outside(op: Op, bound: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    """Raise where the forward of a Function computes with what is differentiated and was not passed to it."""
    if not any(isinstance(r, (float, complex)) or (hasattr(r, "dtype") and r.dtype.kind in "fc") for r in results):
        return
    for param, arg in zip(op.params, bound, strict=False):
        if op.vjps.get(param.name) is not None:
            for x in arg if type(arg) in (list, tuple) else (arg,):
                if isinstance(x, Operand):
                    exits.refuse_outside(x._node)


_CONSTANTS = _PLAIN | {type(None), str, type, type(...)}


@when_arrived
def _known_from_now_on(cls: type) -> None:
    """Take arrays of CuPy's for plain operands."""
    for known in (_PLAIN, _CONSTANTS, KNOWN):
        known.add(cls)


_STEPS = {type(None), int}


def is_plain(value: Any) -> bool:
    """Whether NumPy gets an argument as it is: a number, an array, an axis, a dtype, an index of such parts."""
    kind = type(value)
    if kind is slice:
        return type(value.start) in _STEPS and type(value.stop) in _STEPS and type(value.step) in _STEPS
    if kind is tuple:
        return _CONSTANTS.issuperset(map(type, value)) or all(map(is_plain, value))
    return kind in _CONSTANTS or isinstance(value, np.dtype)


def _closed(*args: Any, **kwargs: Any) -> Any:
    return NotImplemented


def compile_door(op: Op, count: int, names: tuple[str, ...]) -> Callable[..., Any]:
    """Straight Python for the plain calls of an op with `count` arguments by position and these by name.

    It gives NotImplemented where an argument is not plain: another class of Tensors, a list, a size that is traced.
    """
    params, shaping = op.params, op.kind is Kind.shaping
    given = [p.name for p in params[:count]] + list(names)
    odd = any(p.sequence or p.variadic for p in params) or any(p.by_name for p in params[:count])
    unknown = len(given) > len(params) or len({*given}) < len(given) or not {*given} <= {p.name for p in params}
    missing = any(p.default is MISSING and p.name not in given for p in params)
    elsewhere = ARRIVALS.any and has_no_protocol(op)
    if elsewhere or odd or unknown or missing or count > len(params) or op.n_out != 1 or "out" in given or not op.vjps:
        return _closed
    space: dict[str, Any] = {
        "LOCAL_": LOCAL, "op_": op, "fn_": op.fn, "called_": op.on_arrays and op.on_arrays[0], "plans_": op.plans, "new_": _new,
        "type_": type, "tuple_": tuple, "kept_": kept_values, "Tensor_": tensor_class, "Node_": Node,
        "plain_": is_plain, "CONSTANTS_": _CONSTANTS, "NUMBERS_": _PLAIN, "ndarray_": np.ndarray, "float64_": float64,
        "NUMBER_": NUMBER, "meta_": meta_of, "blame_": blame,
        "explained_": explained, "finish_": finish, "view_": views.note_view, "next_": next_sequence,
    }  # fmt: skip
    value = {name: f"value{k}_" for k, name in enumerate(given)}
    node = {name: f"node{k}_" for k, name in enumerate(given)}
    arrays = [name for name in given if op.vjps.get(name) is not None]
    lines: list[str] = ["outside_ = False"]
    for name in given:
        lines += [f"kind_ = type_({name})", "if kind_ is Tensor_:"]
        lines += [f"    {value[name]}, {node[name]} = {name}._value, {name}._node"]
        if name not in arrays:
            lines += [f"    if {node[name]} is not None:", "        return NotImplemented"]
        known = "kind_ in NUMBERS_" if name in arrays else f"kind_ in CONSTANTS_ or plain_({name})"
        lines += [
            f"elif {known}:",
            f"    {value[name]}, {node[name]} = {name}, None",
            "    if kind_ is ndarray_ or kind_ is tuple_:",
            "        outside_ = True",
            "else:",
            "    return NotImplemented",
        ]
    if shaping:  # of a number, a bare Tensor makes an array first
        lines += [f"if type_({value[given[0]]}) is not ndarray_ and not LOCAL_.depth:", "    return NotImplemented"]
    for k, p in enumerate(params):
        space[f"default{k}_"] = p.default
    bound = ", ".join([p.name if p.name in given else f"default{k}_" for k, p in enumerate(params)])
    values = ", ".join([value.get(p.name, f"default{k}_") for k, p in enumerate(params)])
    required = [value[p.name] for p in params if p.name in given and p.default is MISSING and not p.by_name]
    named = [p.name for p in params if p.name in given and (p.default is not MISSING or p.by_name)]
    call = f"fn_({', '.join(required + [f'{name}={value[name]}' for name in named])})"
    if op.on_arrays is not None and {*named} <= {op.on_arrays[1]}:
        optional = [str(value.get(op.on_arrays[1]))] if op.on_arrays[1] else []
        call = f"called_({', '.join(required + optional)}) if type_({required[0]}) is ndarray_ else {call}"
    finished = f"return finish_(op_, ({bound},), ({values},), result_)"
    fresh = (
        "" if shaping else "".join([" and result_.base is None", *[f" and result_ is not {v}" for v in value.values()]])
    )
    lines += [
        "try:",
        f"    result_ = {call}",
        "except Exception as error:",
        "    raise blame_(explained_(op_, (" + ", ".join([*value.values(), ""]) + "), error)) from None",
    ]
    lines += ["if type_(result_) is float64_:", "    fits_ = NUMBER_"]
    lines += [f"elif type_(result_) is ndarray_ and (dtype_ := result_.dtype).kind in 'fc'{fresh}:"]
    lines += ["    fits_ = (shape_, dtype_) if (shape_ := result_.shape) else meta_(result_)"]
    lines += ["else:", f"    {finished}", "key_, edges_ = 0, ()"]
    for k, p in enumerate(params):
        if p.name in arrays:
            lines += [f"if {node[p.name]} is not None:", f"    key_ += {1 << k}", f"    edges_ += ({node[p.name]},)"]
    lines += ["made_ = new_(Tensor_)", "made_._value = result_", "made_._node = None"]
    lines += ["if key_:", "    plan_ = plans_.get(key_) or op_.plan(key_)"]
    lines += ["    if len(plan_.slots) != len(edges_):", f"        {finished}"]
    lines += ["    made_._node = node_ = new_(Node_)", "    node_.op, node_.plan, node_.edges = op_, plan_, edges_"]
    lines += ["    if outside_ and plan_.constants:", f"        saved_ = kept_(plan_, ({bound},), ({values},))"]
    lines += ["        node_.saved = plan_.save(*saved_, result_)", "    else:"]
    lines += [f"        node_.saved = plan_.save({values}, result_)", "    node_.meta, node_.seq = fits_, next_()"]
    lines += ["    node_.extra, node_.plural = None, 0"]
    if shaping:
        lines += ["if type_(result_) is ndarray_:", f"    view_(made_, op_, ({bound},))"]
    body = "".join([f"    {line}\n" for line in [*lines, "return made_"]])
    exec(compile(f"def door({', '.join(given)}):\n{body}", f"<plan of {op.path}>", "exec"), space)
    door: Callable[..., Any] = space["door"]
    return door


def _first(results: tuple[Any, ...], j: int) -> int:
    """Return the first place of an array among results: `np.diag_indices` gives the same array for all axes."""
    return next((k for k in range(j) if results[k] is results[j] and is_plain_array(results[k])), j)


def node_of(
    op: Op, bound: tuple[Any, ...], values: tuple[Any, ...], results: tuple[Any, ...], several: bool
) -> Node | None:
    """The node of one call, or None where no argument asks for a gradient."""
    slots: list[tuple[int, int]] = []
    edges: list[Any] = []
    listed: list[int] = []  # arguments that are lists
    in_lists = special = False
    for k, b in enumerate(bound):
        kind = type(b)
        if kind is list or kind is tuple:
            listed.append(k)
            param = op.params[k]
            many = param.sequence or param.variadic
            for i, e in enumerate(b):
                if isinstance(e, Operand):
                    special = special or type(e) is not tensor_class
                    if e._node is not None:
                        if not many:
                            raise blame(NoRuleError.argument(op.path, param.name))
                        in_lists = True
                        slots.append((k, i))
                        edges.append(e._node)
                elif (type(e) is list or type(e) is tuple) and _has_history(e):
                    raise blame(NoRuleError.argument(op.path, param.name))
        elif isinstance(b, Operand):
            special = special or kind is not tensor_class
            if b._node is not None:
                slots.append((k, -1))
                edges.append(b._node)
    if not slots or not (several or getattr(results[0], "dtype", FLOAT).kind in "fc"):
        return None
    if LOCAL.singular:
        op, values = strict(op, values)
    key = tuple(slots) if in_lists else sum([1 << k for k, _ in slots])
    plan = op.plans.get(key) or op.plan(key)
    if len(plan.slots) != len(slots):
        if not plan.slots:
            return None
        at = dict(zip(slots, edges, strict=True))
        edges = [at[s] for s in plan.slots]
    if special:
        _may_be_saved(plan, bound)
    node = _new(Node)
    node.op = op
    node.plan = plan
    node.edges = tuple(edges)
    out = results if several else results[0]
    if LOCAL.recorder is None:  # while recording, Tensors are saved once the results have their IR values
        for k in listed:
            values = (*values[:k], _as_array(op, k, values[k]), *values[k + 1 :])
        if plan.constants:
            values = kept_values(plan, bound, values)
        node.saved = plan.save(*values, out)
    node.plural = len(results) if several else 0
    node.meta = tuple([meta_of(r) for r in results]) if several else meta_of(out)  # type: ignore[assignment]
    node.seq = next_sequence()
    node.extra = None
    if LOCAL.packing and LOCAL.recorder is None:
        saved.pack_saved(node, bound)
    if LOCAL.anomaly is not None:
        LOCAL.anomaly.note(node)
    if LOCAL.watch is not None:
        LOCAL.watch.note(node)
    return node


def _has_history(value: Any) -> bool:
    """Whether a Tensor that depends on what is differentiated stands in nested lists."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_history, value))
    return isinstance(value, Operand) and value._node is not None


def _may_be_saved(plan: Plan, bound: tuple[Any, ...]) -> None:
    """Raise where backward would need a Tensor that was made in inference mode."""
    for spec in plan.saved:
        if spec.what == "value":
            given = bound[spec.param]
            for v in given if type(given) is list or type(given) is tuple else (given,):
                tensor_base.may_be_saved(v)


def _stacked(op: Op, k: int, value: Any) -> Any:
    """The Tensor that a list with Tensors in it stands for where the op takes an array, or one of several."""
    if type(value) is not list and type(value) is not tuple:
        return value
    param = op.params[k]
    if param.name not in op.vjps or not has_tensor(value):
        return value
    if param.sequence or param.variadic:
        return _all_kept(value, type(value)(map(stack_nested, value)))
    return stack_nested(value)


def _all_kept(before: Any, now: Any) -> Any:
    """Return what was there `before` where all of its elements are those of `now`: whoever holds it knows it by identity."""
    return before if all(map(operator.is_, before, now)) else now


def _as_array(op: Op, k: int, value: Any) -> Any:
    """The array that a list stands for where the op takes an array: rules see no lists."""
    param = op.params[k]
    if type(value) not in (list, tuple) or param.name not in op.vjps or param.sequence or param.variadic:
        return value
    return np.asarray(value)


def _save_recorded(op: Op, node: Node, bound: tuple[Any, ...], tensors: tuple[Any, ...], several: bool) -> None:
    aliases = tuple([alias(t) for t in tensors])
    for k, b in enumerate(bound):
        if type(b) in (list, tuple) and _as_array(op, k, b) is not b:
            bound = (*bound[:k], _admitted(b), *bound[k + 1 :])
    if len(node.op.params) > len(bound):  # one that minds its singular points
        bound = (*bound, user_site())
    node.saved = node.plan.save(*[_alias_all(b) for b in bound], aliases if several else aliases[0])


def _alias_all(value: Any) -> Any:
    if isinstance(value, Operand):
        return alias(value)
    if type(value) in (list, tuple):
        return type(value)([_alias_all(v) for v in value])
    return value
