"""Tensor: an array that remembers how it was made, with `torch.autograd`'s attributes and NumPy's meaning."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ...runtime.arrays import is_array, is_cupys, on_host
from ...runtime.errors import AutogradError, DtypeError
from ...unpatched import np
from ..core.cotangents import may_be_grad
from ..core.count import Count, counted, elements
from ..core.dispatch import apply, install
from ..core.exits import is_followed, leave, told, warn_at_user
from ..core.foreign import KNOWN
from ..core.graph import AccumulateGrad, Pick, extra_of, install_call
from ..core.hooks import RemovableHandle
from ..core.listening import shape_of
from ..core.losses import loss
from ..core.site import pruned, user_asks
from ..core.tensor_base import Operand, is_inference, made_in_inference, wrap
from ..core.thread_state import LOCAL, capturing, refuse
from ..core.versions import apart, own_array, version_of
from ..core.views import DETACHED, detached, require_grad_too
from ..memory.eager_writes import replace_data
from ..protocols.exchange import Exchange, literal, on_cpu
from ..protocols.interop import array_function, array_ufunc
from .casts import as_item
from .operators import Operators
from .printing import tensor_text

__all__ = ["Tensor", "tensor"]


@pruned
def tensor(data: Any, dtype: Any = None, requires_grad: bool = False, *, device: Any = None) -> Tensor:
    """A new leaf Tensor with a copy of `data` (default dtype: NumPy's, float64 for floats).

    Raises DtypeError where `requires_grad` is asked of something that is not floating-point or complex.

    >>> import gradscribe as gs
    >>> gs.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    on_cpu(device)
    source = data if LOCAL.watch is not None and isinstance(data, Operand) else None
    if isinstance(data, Operand):
        data = leave(data, "data")
    elif isinstance(data, (list, tuple)) and data and isinstance(data[0], Operand):
        raise TypeError("gs.tensor of a list of Tensors would drop their graph; use np.stack(list)")
    array = np.array(data, dtype=dtype) if not is_cupys(data) else data.astype(dtype or data.dtype, copy=True)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"a Tensor holds numbers, but NumPy makes dtype {array.dtype} of {data!r}")
    made: Tensor = literal(data, array) if capturing() else wrap(array)
    if source is not None:
        LOCAL.watch.passes(made, source, "tensor")
    if LOCAL.inference and not LOCAL.depth:
        made_in_inference(made)
    return made.requires_grad_() if requires_grad else made


class Tensor(Operators, Exchange):
    """An array that records what is done to it.

    `requires_grad` asks for a gradient; `backward()` on a result fills `.grad` of the leaves. Made by `gs.tensor`.

    >>> import gradscribe as gs
    >>> x = gs.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__weakref__", "_caller", "_grad", "_ir", "_levels", "_read", "_view", "_views")

    _caller: Any  # the array of the caller of a transform that this Tensor stands for
    _grad: Any  # the gradient of a non-leaf that retains it
    _ir: Any  # its value in the graph that is being captured
    _read: Any  # inside a transform, of x[positions]: what it was read from (memory/traced_writes.py)
    _view: Any  # how it follows from the Tensor whose memory it shares
    _views: Any  # weak references to the Tensors that share its memory

    __array_priority__: int = 1000
    __pandas_priority__: int = 5000  # above a DataFrame's, so that `df["a"] * t` is what `t * df["a"]` is

    def __new__(cls, *data: Any, requires_grad: bool = False) -> Tensor:
        """PyTorch's older constructor: float32, whatever `data` holds; ints are a shape. `gs.tensor` is the one to use."""
        return _older(data).requires_grad_(requires_grad)

    # what it holds
    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        if LOCAL.slow and capturing():
            return shape_of(self)
        return np.shape(self._value)

    @property
    def dtype(self) -> Any:
        """NumPy's dtype."""
        value = self._value
        return value.dtype if hasattr(value, "dtype") else np.result_type(type(value))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return np.ndim(self._value)

    @property
    def size(self) -> Count:
        """The number of elements; called, as in PyTorch, the shape or the length of an axis: `t.size()`, `t.size(0)`."""
        return counted(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return elements(self.shape) * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, per axis."""
        return self._value.strides if is_array(self._value) else np.asarray(self._value).strides

    @property
    def flags(self) -> Any:
        """NumPy's memory flags."""
        held = leave(self, "flags")
        return held.flags if is_array(held) else np.asarray(held).flags

    @property
    def data(self) -> Tensor:
        """A tensor on the same memory, without the graph and with a version counter of its own: nothing notices its writes.

        Assigning an array or a tensor gives this one other memory.
        """
        value = leave(self, "data")
        made: Tensor = detached(self) if LOCAL.depth else wrap(apart(value))
        if LOCAL.watch is not None:
            LOCAL.watch.passes(made, self, "data")
        return made_in_inference(made) if is_inference(self) else made

    @data.setter
    def data(self, value: Any) -> None:
        refuse("stores the attribute `data`")
        replace_data(self, value)

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The array itself; an error where the tensor requires grad, unless `force` leaves the graph behind."""
        return leave(self.detach() if force else self, "numpy")  # type: ignore[no-any-return]

    # the graph
    @property
    def requires_grad(self) -> bool:
        """Whether a gradient with respect to this tensor can be asked for."""
        view = getattr(self, "_view", None)
        if (
            view is not None and view.made.startswith("in ") and not LOCAL.depth
        ):  # its place in the graph may be unclear
            return view.base._node is not None
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, (bool, np.bool_)):
            raise AutogradError(f"requires_grad must be a bool, not {type(value).__name__}")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Ask for (or give up) a gradient of this leaf; what `.grad` holds stays."""
        if not isinstance(requires_grad, (bool, np.bool_)):
            raise TypeError(f"requires_grad_(): requires_grad must be bool, not {type(requires_grad).__name__}")
        if not requires_grad:
            if not self.is_leaf:
                raise AutogradError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            if type(self._node) is AccumulateGrad and not self._node.lent:
                self._leave_graph()
        elif self._node is None:
            if is_inference(self) and not LOCAL.inference:
                raise AutogradError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed: "
                    "x.clone() gives a tensor that may require grad."
                )
            if self.dtype.kind not in "fc":
                raise DtypeError(
                    "only Tensors of floating point and complex dtype can require gradients, "
                    f"but this one has dtype {self.dtype}. Convert it first: x.astype(float)"
                )
            self._node = AccumulateGrad(self, self._value if LOCAL.depth else own_array(self))
            kept = getattr(self, "_grad", None)
            if kept is not None:
                self._node.grad, self._grad = kept, None
            if getattr(self, "_views", None) and not LOCAL.depth:
                require_grad_too(self, True)
        elif type(self._node) is AccumulateGrad:
            self._node.lent = False
        return self

    def _leave_graph(self) -> None:
        if type(self._node) is AccumulateGrad and self._node.grad is not None:
            self._grad = self._node.grad
        self._node = None
        if getattr(self, "_views", None) and not LOCAL.depth:
            require_grad_too(self, False)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self._node is None or type(self._node) is AccumulateGrad

    @property
    def grad_fn(self) -> Any:
        """The node that made this tensor; None for a leaf."""
        node = self._node
        if type(node) is Pick:
            return node.parent
        return None if type(node) is AccumulateGrad else node

    @property
    def output_nr(self) -> int:
        """Which of the results of `grad_fn` this is, where that has several; else 0."""
        return self._node.index if type(self._node) is Pick else 0

    @property
    def grad(self) -> Any:
        """The gradient that `backward` added up here, a Tensor, or None."""
        node = self._node
        if type(node) is AccumulateGrad:
            return node.grad
        found = getattr(self, "_grad", None)
        if found is None and node is not None and not (node.extra is not None and node.extra.retain is not None):
            warn_at_user(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want it, use .retain_grad() on the "
                "non-leaf Tensor.",
                UserWarning,
            )
        return found

    @grad.setter
    def grad(self, value: Any) -> None:
        refuse("stores the attribute `grad`")
        if value is not None:
            may_be_grad(self, value)
        if type(self._node) is AccumulateGrad:
            self._node.grad = value
        else:
            self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None, *,
        retain_variables: bool | None = None,
    ) -> None:  # fmt: skip
        """Add the gradient of this tensor into `.grad` of the leaves it was computed from."""
        from ..core.backward import backward  # the engine is loaded when it is first needed

        grads = None if gradient is None else (gradient,)
        backward(self, grads, retain_graph, create_graph, inputs=inputs, retain_variables=retain_variables)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from ..protocols.array_api import namespace  # seldom needed

        return namespace(api_version)

    def detach(self) -> Tensor:
        """A tensor on the same memory (and version counter), without the graph."""
        made: Tensor = detached(self)
        if LOCAL.watch is not None:
            LOCAL.watch.passes(made, self, "detach")
        return made_in_inference(made) if is_inference(self) else made

    def detach_(self) -> Tensor:
        """Take this tensor out of the graph; its views stay in it."""
        if self._is_view():
            raise AutogradError("Can't detach views in-place: use detach(), which gives a new tensor.")
        self._leave_graph()
        return self

    @property
    def _version(self) -> int:
        """The number of writes in place into the memory of this tensor, by any tensor that shares it."""
        return version_of(self)

    @property
    def _base(self) -> Any:
        """The tensor that this one is a view of, or None."""
        return self._view.base if self._is_view() else None

    def is_inference(self) -> bool:
        """Whether this was made in inference mode."""
        return is_inference(self)

    def _is_view(self) -> bool:
        view = getattr(self, "_view", None)
        return view is not None and view.made != DETACHED

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf keeps its gradient."""
        return not self.is_leaf and self._node.extra is not None and self._node.extra.retain is not None

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
        if self._node is None:
            raise AutogradError(
                "can't retain_grad on Tensor that has requires_grad=False: set x.requires_grad = True before it is computed with"
            )
        if self.is_leaf:
            return
        extra_of(self._node).retain = weakref.ref(self)

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call `hook(grad)` whenever the gradient of this tensor is known; what it returns replaces that gradient."""
        if self._node is None:
            raise AutogradError(
                "cannot register a hook on a tensor that doesn't require gradient: set x.requires_grad = True first"
            )
        return RemovableHandle(extra_of(self._node).hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call `hook(tensor)` whenever backward has added to `.grad` of this leaf; it returns nothing."""
        if self._node is None:
            raise AutogradError(
                "cannot register a hook on a tensor that doesn't require gradient: set x.requires_grad = True first"
            )
        if not self.is_leaf:
            raise AutogradError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors: take register_hook"
            )
        return RemovableHandle(extra_of(self._node).accumulated, hook)

    # exits
    def __bool__(self) -> bool:
        return bool(leave(self, "bool"))

    def __float__(self) -> float:
        return float(leave(self, "float"))

    def __int__(self) -> int:
        return int(leave(self, "int"))

    def __complex__(self) -> complex:
        return complex(leave(self, "complex"))

    def __index__(self) -> int:
        if isinstance(self._value, (float, complex)) or np.result_type(self._value).kind in "fc":
            if self._node is not None and is_followed(self._node):
                raise loss("float", asked=False)  # C code that takes numbers asks for this first: time.sleep(t)
            if isinstance(self._value, (float, complex)):  # no loss: it is an error
                raise TypeError(f"'{type(self._value).__name__}' object cannot be interpreted as an integer")
        return operator.index(leave(self, "index"))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object: the Tensor has no axes; take x.reshape(1), which has one")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise TypeError("iteration over a 0-d tensor: it is one number, x.reshape(1) has an axis")
        leave(self, "iter")
        return (self[k] for k in range(int(self.shape[0])))

    def __format__(self, spec: str) -> str:
        value = leave(self, "format", spec)
        if spec or not np.ndim(value):
            text = format(value[()] if is_array(value) and not value.shape else value, spec)
            return str(told(self, text))
        return self._text(str, value)

    def __repr__(self) -> str:
        return self._text(repr, leave(self, "repr"))

    def __str__(self) -> str:
        return self._text(str, leave(self, "repr"))

    def _repr_html_(self) -> str:
        from ...runtime.markup import paragraph, preformatted  # which notebooks alone need

        told = preformatted(repr(self))
        if LOCAL.depth:  # inside a transform it stands for an array
            return told
        what = f"{self.dtype}[{', '.join(map(str, self.shape))}]" if self.shape else str(self.dtype)
        return told + paragraph(what if self.grad_fn is None else f"{what}, of {self.grad_fn.name()}")

    def _text(self, of_array: Callable[[Any], str], value: Any) -> str:
        if not LOCAL.depth:
            return tensor_text(self, value)
        return str(told(self, of_array(value)))  # inside a transform it stands for an array

    def __hash__(self) -> int:
        value = leave(self, "hash")
        if not LOCAL.depth or (is_array(value) and (self._is_from_outside() or not user_asks())):
            return id(self)
        return int(told(self, hash(value)))

    def _is_from_outside(self) -> bool:
        """Whether this is a leaf that no transform made, as a parameter that an optimiser keeps its state of."""
        return type(self._node) is AccumulateGrad and all(self is not argument for argument in LOCAL.arguments)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def item(self, *args: Any) -> Any:
        """The element as a Python number: inside a transform one that keeps its gradient, else a plain one without a word."""
        if LOCAL.depth:
            index = args[0] if len(args) == 1 else args
            return as_item(self if not args else self[index] if isinstance(index, tuple) else self.ravel()[index])
        return on_host(leave(self, "tolist" if args else "item")).item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return on_host(leave(self, "tolist")).tolist()

    def __reduce__(self) -> tuple[Any, ...]:
        if LOCAL.depth:  # it stands for an array or a number, and is stored as such
            return (_itself, (leave(self, "pickle"),))
        held = leave(self, "pickle")
        return (_unpickle, (held if is_array(held) else np.asarray(held), self.requires_grad))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        if LOCAL.depth:
            return self.copy()  # inside a transform it is an array, and its copy stays in the graph
        if not self.is_leaf:
            raise AutogradError("Only leaf Tensors support the deepcopy protocol; use tensor.detach() first")
        made = tensor(leave(self, "pickle"), requires_grad=self.requires_grad)
        import copy  # loaded already, where a deep copy is asked for

        made.grad = copy.deepcopy(self.grad, memo)
        return made

    # protocols
    __array_ufunc__ = array_ufunc
    __array_function__ = array_function

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # of an operator PyTorch takes it for NotImplemented, and asks ours
        raise TypeError(
            f"torch's `{function.__name__}` takes tensors of PyTorch, and was given one of gradscribe: compute with NumPy's "
            "functions, or let PyTorch differentiate (gs.to_torch(f) makes a function of NumPy arrays one of its tensors)"
        )

    @classmethod
    def __gradscribe_apply__(cls, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        return apply(op, args, kwargs or {})


def _itself(value: Any) -> Any:
    return value


def _older(data: tuple[Any, ...]) -> Tensor:
    """Make the Tensor of `gs.Tensor(...)`: of nothing an empty one, of ints one of that shape, else a copy in float32."""
    if not data or all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in data):
        return tensor(np.zeros(data or (0,), np.float32))
    if len(data) > 1 or not (isinstance(data[0], (list, tuple, Operand)) or is_array(data[0])):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__}): gs.tensor takes numbers, too")
    if (
        np.result_type(data[0]).kind == "c"
        if (isinstance(data[0], Operand) or is_array(data[0]))
        else np.iscomplexobj(data[0])
    ):
        raise TypeError("must be real number, not complex: gs.Tensor(...) is float32, and gs.tensor takes any dtype")
    return tensor(data[0], dtype=np.float32)


def _unpickle(array: np.ndarray[Any, Any], requires_grad: bool) -> Tensor:
    return tensor(array, requires_grad=requires_grad)


install(Tensor)
KNOWN.add(Tensor)


def _call_node(node: Any, *grads: Any) -> Any:
    from ..core.backward import call  # the engine is loaded when it is first needed

    return call(node, *grads)


install_call(_call_node)
