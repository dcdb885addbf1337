"""Function: an operation whose forward and backward the user writes, as `torch.autograd.Function`."""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...runtime.arrays import is_array
from ...runtime.errors import AutogradError
from ...unpatched import np
from ..core import views
from ..core.closures import Standing
from ..core.context import FunctionCtx
from ..core.custom import CustomNode
from ..core.exits import warn_at_user
from ..core.site import blame
from ..core.tensor_base import Operand, alias, is_tensor_like, wrap
from ..core.thread_state import LOCAL, during, grad_mode
from ..memory import eager_writes
from ..memory.view_renewal import node_before

_OURS = f"{__name__.partition('.')[0]}."

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class FunctionNode(CustomNode):
    """Behind the outputs of a Function: `grad_fn`."""

    function: type[Function]
    ctx: FunctionCtx
    standing: Standing | None = None

    @property
    def once(self) -> str:
        """Why a second derivative is refused; "" where it is not."""
        older = "is of the older style, with instances: make its forward and backward static methods"
        return older if self.function._by_instance() else ""

    @property
    def materializes(self) -> bool:  # type: ignore[override]
        """As `ctx.set_materialize_grads` says."""
        return self.ctx.materialize_grads

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "ctx":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        try:
            return getattr(self.ctx, name)
        except AttributeError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def backward_function(self) -> Any:
        """The user's backward, if it can be differentiated."""
        backward, once = self._backward_of_the_user()
        return None if once else backward

    def free(self) -> None:
        """Let go of what was saved."""
        FunctionCtx.free(self.ctx)  # the user may have an attribute of that name

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The backward of the Function."""
        backward, once = self._backward_of_the_user()
        if self.standing is not None:
            self.standing.check(f"backward of `{self.function.__name__}`")
        if once:
            given = [g if g is None or not self.once else g.detach() for g in grads]
            with grad_mode(False):
                found = backward(self.ctx, *given)
        else:
            found = backward(self.ctx, *grads)
        listed = found if isinstance(found, tuple) else (found,)
        if len(listed) > self.count and all(g is None for g in listed[self.count :]):
            listed = listed[: self.count]
        if len(listed) != self.count:
            raise blame(
                AutogradError(
                    f"function {self.label} returned an incorrect number of gradients (expected {self.count}, got "
                    f"{len(listed)}): backward gives one for each argument of forward, None where there is none."
                )
            )
        tensors = dict(self.places)
        for k, g in enumerate(listed):
            if g is not None and k not in tensors:
                raise blame(
                    AutogradError(
                        f"function {self.label} returned a gradient different than None at position {k + 1}, but the "
                        "corresponding forward input was not a Variable (a Tensor). Give None there."
                    )
                )
        return _final(self, grads, listed) if once else listed

    def _backward_of_the_user(self) -> tuple[Callable[..., Any], bool]:
        cls = self.function
        name = "backward"
        if cls.vjp is not Function.vjp:
            if cls.backward is not Function.backward:
                raise blame(
                    AutogradError(
                        f"Implementing both 'backward' and 'vjp' for a custom Function is not allowed, but {cls.__name__} "
                        "does. They are two names of one method: keep one."
                    )
                )
            name = "vjp"
        written = getattr(cls, name)
        if isinstance(written, once_differentiable):
            return _seen(written, "function", self), True
        return _seen(cls, name, self), bool(self.once)

    def finish(self, inputs: tuple[Any, ...], output: Any) -> Any:
        """The outputs of `apply`: those of forward, with this node behind them."""
        written = getattr(self.function, "backward" if self.function.vjp is Function.vjp else "vjp")
        self.standing = Standing(getattr(written, "function", written))
        several = isinstance(output, tuple)
        tensors = [x for x in inputs if isinstance(x, Operand)]
        outputs = tuple([_as_tensor(o) if tensors else o for o in (output if several else (output,))])
        dirty = self._dirty(tensors, outputs)
        self._check_writes(inputs, dirty)
        if self.records:
            for t in dirty:
                eager_writes.may_write(t, f"{self.label.removesuffix('Backward')}.apply", *tensors)
        marked = self.ctx.non_differentiable or ()
        made = [self._own(o, tensors, dirty) for o in outputs]
        constant = [m for m, o in zip(made, outputs, strict=True) if any(o is n for n in marked)]
        if dirty:
            eager_writes.count_write(dirty, f"{self.label.removesuffix('Backward')}.apply")
        nodes = self.make(tuple(made), several, constant)
        for k, (result, node) in enumerate(zip(made, nodes, strict=True)):
            if node is None:
                continue
            if any(result is t for t in dirty):
                self.leads_to(result._node, node_before(result))
                eager_writes.go_on(result, node)
            else:
                result._node = node
                views.forbid_writes(result, tensors, k, self.label.removesuffix("Backward"), several)
        self.ctx.non_differentiable = None
        stands = [(o, None, k) for pair in (outputs, made) for k, o in enumerate(pair) if nodes[k] is not None]
        stands += [(inputs[k], edge, -2 - k) for k, edge in self.places]
        FunctionCtx.keep(self.ctx, stands, self.records, bool(self.places))
        return tuple(made) if several else made[0]

    def _dirty(self, tensors: list[Any], outputs: tuple[Any, ...]) -> list[Any]:
        dirty = []
        for t in self.ctx.dirty_tensors or ():
            if not any(t is x for x in tensors):
                warn_at_user(
                    f"{self.label}: ctx.mark_dirty() received a tensor that was not an input; only inputs that forward "
                    "wrote into are to be marked.",
                    UserWarning,
                )
            elif not any(t is o for o in outputs):
                raise blame(
                    AutogradError(
                        "Some elements marked as dirty during the forward method were not returned as output. "
                        f"{self.label}: an input that was written into must be returned."
                    )
                )
            else:
                dirty.append(t)
        self.ctx.dirty_tensors = None
        return dirty

    def _check_writes(self, inputs: tuple[Any, ...], dirty: list[Any]) -> None:
        """Inside a transform the gradient would be lost where a write was not declared."""
        for k in self.written(inputs):
            marked = any(inputs[k] is d for d in dirty)
            if not marked or getattr(inputs[k], "_view", None) is not None:
                what = "which is a view" if marked else "and does not say so by ctx.mark_dirty"
                raise blame(
                    AutogradError(
                        f"{self.label}: forward wrote into input {k}, {what}, inside a transform, where its gradient "
                        "would be lost. Write into a copy (x.copy())."
                    )
                )

    def _own(self, output: Any, tensors: list[Any], dirty: list[Any]) -> Any:
        """An output as it is given out: an input, or a Tensor that hangs elsewhere, as another Tensor on its memory."""
        if not isinstance(output, Operand) or any(output is d for d in dirty):
            return output
        if any(output is t for t in tensors):
            return views.whole(output)
        return output if output._node is None or getattr(output._node, "lent", False) else alias(output)


class Function(FunctionCtx):
    """An operation of one's own: a subclass has static `forward(ctx, ...)` and `backward(ctx, *grads)`; call `apply`.

    `forward` runs without recording; what `backward` needs is kept by `ctx.save_for_backward` (Tensors) or as attributes of
    `ctx`. `backward` takes one gradient for each output and gives one for each argument of `forward` (None where there
    is none), in PyTorch's convention of complex gradients; where a higher derivative is asked for, it is itself recorded.
    `forward` may do without `ctx` where `setup_context(ctx, inputs, output)` is defined. Works on bare Tensors, under
    `gs.grad` and `gs.compile`. Raises AutogradError (a RuntimeError) for a wrong number of gradients, ShapeError for a wrong
    shape. `jvp` is never called, since there is no forward mode here; nor is `vmap`: under gs.vmap both methods see one
    example, and run for all at once.

    >>> import gradscribe as gs
    >>> class Square(gs.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 2 * x
    >>> x = gs.tensor([1.0, 3.0], requires_grad=True)
    >>> y = Square.apply(x)
    >>> y.sum().backward()
    >>> y, x.grad
    (tensor([1., 9.], grad_fn=<SquareBackward>), tensor([2., 6.]))
    """

    generate_vmap_rule = False
    _node: type[FunctionNode] = FunctionNode

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        label = f"{cls.__name__}Backward"
        members = {"__module__": __name__, "__doc__": FunctionNode.__doc__, "function": cls}
        cls._node = type(label, (FunctionNode,), members)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        warn_at_user(
            f"{cls} should not be instantiated: make forward and backward static methods that take ctx in the place of self, and "
            f"call {cls.__name__}.apply(...) on the class.",
            DeprecationWarning,
        )
        return object.__new__(cls)

    def __init__(self) -> None:
        """Make an instance, which the older style uses as `ctx`: its attributes are the user's."""

    def __call__(self, *args: Any) -> Any:
        """The older style: `MyFunction(...)(x)`, where forward and backward are plain methods and `self` is `ctx`.

        An instance is used once, forward and backward see Tensors without a history, and a second derivative is an error.
        """
        return importlib.import_module(".by_instance", __package__).call(self, args)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """Of an instance: what was saved, without its history."""
        return tuple([None if t is None else t.detach() for t in super().saved_tensors])

    @classmethod
    def _by_instance(cls) -> bool:
        """Whether this is written in the older style: `forward` is a method of an instance."""
        return isinstance(inspect.getattr_static(cls, "forward"), types.FunctionType)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` beside `setup_context`."""
        raise NotImplementedError("You must implement the forward function for a custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep on `ctx` what backward needs; `inputs` has the defaults of forward filled in."""
        raise NotImplementedError(
            "setup_context is not implemented. Define it, or let forward take ctx as its first argument."
        )

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments of forward from those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for a custom autograd.Function, to use it in backward."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name of `backward`."""
        raise NotImplementedError("You must implement either the backward or vjp method.")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Not needed: gs.jvp transposes `backward`."""
        raise NotImplementedError(
            "a Function's jvp is never called in gradscribe: gs.jvp transposes its backward, which is enough where backward "
            "is differentiable."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Not needed: under gs.vmap forward and backward see one example, and run for all of them at once."""
        raise NotImplementedError(
            "a Function's vmap is never called in gradscribe: under gs.vmap its forward and backward see one example, and run "
            "for all of them at once."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and put `backward` into the graph."""
        split = cls.setup_context is not Function.setup_context
        if split:
            args, kwargs = _with_defaults(cls.forward, args, kwargs), {}
        run = cls._run if LOCAL.profiler is None else LOCAL.profiler.timed(cls.__name__, "function", cls._run)
        return run(split, args, kwargs)

    @classmethod
    def _run(cls, split: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inputs = (*args, *kwargs.values())
        node = cls._node()
        node.begin(inputs, f"{cls.__name__}Backward")
        ctx = node.ctx = FunctionCtx(node)
        ctx.needs_input_grad = tuple([isinstance(x, Operand) and x._node is not None for x in inputs])
        alone = _alone(cls, inputs)
        with grad_mode(False), alone:
            if split:
                output = _seen(cls, "forward", None)(*args)
                _seen(cls, "setup_context", node)(ctx, args, output)
            else:
                output = _seen(cls, "forward", node)(ctx, *args, **kwargs)
        return node.finish(inputs, output)


def _alone(cls: Any, inputs: tuple[Any, ...]) -> AbstractContextManager[None]:
    """In a transform what a user's forward reads besides its arguments raises: no backward brings its gradient."""
    if not LOCAL.depth or not LOCAL.grad or cls.__module__.startswith(_OURS):
        return nullcontext()
    return during("alone", (cls.__name__, frozenset(_nodes_in(inputs))))


def _nodes_in(value: Any) -> Iterator[Any]:
    if isinstance(value, Operand):
        yield value._node
    elif isinstance(value, dict):
        yield from _nodes_in(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _nodes_in(v)


class InplaceFunction(Function):
    """A Function of the older style that may write into its input: `self.inplace` says so, and forward marks it dirty."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class once_differentiable:  # torch's name
    """Mark a `backward` that runs without recording (on `ctx.saved_tensors` in NumPy, say): a second derivative raises.

    Stands under `@staticmethod`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, ctx: Any, *grads: Any) -> Any:
        with grad_mode(False):
            return self.function(ctx, *grads)


class _Final(CustomNode):
    """Behind the gradients of what is differentiated once: backward through it is an error."""

    why: str

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        raise blame(AutogradError(f"trying to differentiate twice a function that {self.why} ({self.label})."))


def _final(behind: FunctionNode, grads: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients that a backward gave without recording, as something that cannot be differentiated again."""
    sources = [g for g in grads if isinstance(g, Operand) and g._node is not None]
    if LOCAL.depth or behind.once:  # in a transform a constant would be a wrong second derivative without a word
        sources += [wrap(None, edge) for edge in behind.edges]
    if not LOCAL.grad or not sources:
        return found
    made = []
    for g in found:
        if is_tensor_like(g):
            node = _Final()
            node.why = behind.once or (
                "was marked with @once_differentiable: write its backward from operations on Tensors, and take the mark off"
            )
            node.begin(tuple(sources), behind.label)
            g = alias(g) if isinstance(g, Operand) else wrap(g)
            (g._node,) = node.make((g,), several=False)
        made.append(g)
    return tuple(made)


def _seen(holder: Any, name: str, node: Any) -> Any:
    """A method of the user's as it runs now: inside a transform, rebuilt over its scope."""
    if LOCAL.depth or (node is not None and node.inside):
        return LOCAL.method_in_scope(holder, name, node is not None)
    return getattr(holder, name)


def _with_defaults(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _as_tensor(output: Any) -> Any:
    """An array that forward made (by SciPy, say) is an output like a Tensor."""
    plain = (isinstance(output, np.generic) or is_array(output)) and output.dtype.kind in "biufc"
    return wrap(output) if plain else output
