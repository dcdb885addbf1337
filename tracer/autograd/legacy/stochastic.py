"""Stochastic nodes: samples whose backward is the score-function gradient, once `reinforce` has told their reward.

For a sample x with density (or probability) p(x; θ) and a reward r, the gradient of the expected reward is
E[r ∂ log p(x; θ)/∂θ] (Williams, 1992). As in PyTorch 0.1 to 0.3 backward gives its negative, -r ∂ log p(x; θ)/∂θ: what an
optimiser that minimises makes of it raises the reward.
"""

from __future__ import annotations

from typing import Any

from ....runtime.errors import AutogradError, DtypeError, ShapeError
from ....unpatched import np
from ...core.context import FunctionCtx
from ...core.exits import warn_at_user
from ...core.graph import meta_of
from ...core.site import blame
from ...core.tensor_base import Operand, wrap
from ...core.thread_state import LOCAL, grad_mode, refuse
from ...random.generator import generator as _generator
from ...tensors.samplers import normal
from ...tensors.tensor import Tensor
from ..function import Function, FunctionNode

__all__ = ["bernoulli", "multinomial", "normal", "reinforce"]


class _Node(FunctionNode):
    """Behind a sample: its gradient comes from its reward."""

    draws = True
    once = (
        "draws a sample: the derivative of its score-function gradient is not that of the expected reward; write the "
        "log-probability times the reward, and what a second derivative is to be"
    )
    sampled: tuple[int, ...]

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        if getattr(self.ctx, "reward", None) is None:
            raise blame(
                AutogradError(
                    "differentiating stochastic functions requires providing a reward, and backward came to a sample of "
                    f"{self.function.__name__.lower()} that has none: call sample.reinforce(reward) first; or, where "
                    "no gradient is to go through it, draw from p.detach()."
                )
            )
        return super().run(grads)

    def push(self, tangents: list[Any], create_graph: bool) -> Any:
        """Refused: a sample has no tangent."""
        raise blame(
            AutogradError(
                f"forward mode came to a sample of {self.function.__name__.lower()}, which has no tangent: its score-function "
                "gradient exists backward alone. Draw from p.detach()."
            )
        )


class _Sampler(Function):
    """A Function that draws: `draw(generator, *parameters)` gives the sample, `score` what backward gives for a reward."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        label = f"{cls.__name__}Backward"
        cls._node = type(label, (_Node,), {"__module__": __name__, "__doc__": _Node.__doc__, "function": cls})

    @staticmethod
    def draw(generator: Any, *parameters: Any) -> Any:
        """The sample."""
        raise NotImplementedError

    @staticmethod
    def score(reward: Any, x: Any, *parameters: Any) -> Any:
        """-reward ∂ log p(x)/∂ each parameter."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        *parameters, x = ctx.saved_tensors
        grads = ctx.sampler.score(ctx.reward.astype(ctx.dtype), x, *parameters, *ctx.options)
        return (*grads, *[None] * len(ctx.options))

    @classmethod
    def sample(cls, generator: Any, parameters: tuple[Any, ...], options: tuple[Any, ...] = ()) -> Any:
        """A sample that remembers how it was drawn, where a parameter requires grad."""
        _may_draw()
        tracked = LOCAL.grad and any(isinstance(p, Operand) and p._node is not None for p in parameters)
        if not tracked:
            return cls.draw(_generator(generator), *parameters, *options)
        refuse(
            f"draws with gs.{cls.__name__.lower()} from what is differentiated; draw from x.detach(), and differentiate the "
            "log-probability times the reward"
        )
        dtype = np.result_type(*[p.dtype for p in parameters if hasattr(p, "dtype")])
        parameters = tuple([p if isinstance(p, Operand) else wrap(np.asarray(p, dtype)) for p in parameters])
        node: Any = cls._node()
        node.begin((*parameters, *options), f"{cls.__name__}Backward")
        ctx: Any = FunctionCtx(node)
        node.ctx = ctx
        ctx.options, ctx.sampler, ctx.reward, ctx.dtype = options, cls, None, dtype
        with grad_mode(False):
            x = cls.draw(_generator(generator), *parameters, *options)
        ctx.save_for_backward(*parameters, x)
        found = node.finish((*parameters, *options), x)
        node.sampled = np.shape(found._value)
        if found._node is not None or not node.records:
            return found
        node.meta = meta_of(found._value)
        return Sample.of(found, node)


class Sample(Tensor):
    """A sample of whole numbers: it requires no grad, and is a root of backward."""

    __slots__ = ("_drawn",)

    _drawn: Any

    @classmethod
    def of(cls, sample: Any, node: Any) -> Any:
        """The sample with its node."""
        made = object.__new__(cls)
        made._value, made._node, made._drawn = sample._value, None, node
        return made

    @property
    def grad_fn(self) -> Any:
        """The node that drew it."""
        return self._drawn

    @property
    def is_leaf(self) -> bool:
        """Never: it was drawn."""
        return False


class Bernoulli(_Sampler):
    """Zeros and ones."""

    @staticmethod
    def draw(generator: Any, p: Any) -> Any:
        return np.less(generator.random(np.shape(p)), p).astype(p.dtype)

    @staticmethod
    def score(reward: Any, x: Any, p: Any) -> Any:
        return (reward / (1 - p - x),)  # (p - x) / (p (1 - p)) for the x that there are, 0 and 1


class Normal(_Sampler):
    """Normally distributed numbers."""

    @staticmethod
    def draw(generator: Any, mean: Any, std: Any) -> Any:
        return normal(mean, std, generator=generator)

    @staticmethod
    def score(reward: Any, x: Any, mean: Any, std: Any) -> Any:
        away = (x - mean) / std
        return -reward * away / std, reward * (1 - away * away) / std


class Multinomial(_Sampler):
    """Places in a row of weights, with or without replacement."""

    @staticmethod
    def draw(generator: Any, weights: Any, count: int, replacement: bool) -> Any:
        *rows, n = np.shape(weights)
        # Of exponential clocks with these rates, the first that rings (Gumbel-max, on another scale), ...
        if replacement:
            clocks = generator.standard_exponential((*rows, count, n))
            return np.argmax(np.expand_dims(weights, -2) / clocks, axis=-1)
        # ... or the order in which they ring (Efraimidis and Spirakis, 2006).
        clocks = generator.standard_exponential((*rows, n))
        return np.argsort(-(weights / clocks), axis=-1)[..., :count]

    @staticmethod
    def score(reward: Any, x: Any, weights: Any, count: int, replacement: bool) -> Any:
        chosen = (np.expand_dims(x, -1) == np.arange(weights.shape[-1])).astype(weights.dtype)
        there = np.ones_like(chosen)  # what each draw had to choose from
        if not replacement:
            there = there - np.cumsum(chosen, axis=-2) + chosen
        total = np.sum(there * np.expand_dims(weights, -2), axis=-1)
        picked = np.take_along_axis(weights, x, axis=-1)
        terms = there * np.expand_dims(reward / total, -1) - chosen * np.expand_dims(reward / picked, -1)
        return (np.sum(terms, axis=-2),)


def bernoulli(input: Any, p: Any = None, *, generator: Any = None) -> Any:
    """Zeros and ones: each 1 with the probability that stands in `input`; with `p`, `input` gives the shape alone.

    Where `input` requires grad, backward through the sample gives the score-function gradient of the reward that
    `sample.reinforce(reward)` told. `generator` is a `np.random.Generator`, by default gradscribe's own. Raises
    AutogradError (a RuntimeError) for what is no probability.

    >>> import gradscribe as gs
    >>> _ = gs.manual_seed(0)
    >>> gs.bernoulli(gs.tensor([0.0, 0.9, 1.0]))
    tensor([0., 1., 1.])
    """
    _may_draw()
    probs = _floats(input, "bernoulli")
    if p is not None:
        probs = (np.zeros_like(probs) + p).astype(probs.dtype)
    if not np.all((probs >= 0) & (probs <= 1)):
        raise blame(
            AutogradError(
                "bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got false: an element is no probability"
            )
        )
    return Bernoulli.sample(generator, (probs,))


def multinomial(
    input: Any, num_samples: int = 1, replacement: bool = False, *, generator: Any = None,
    with_replacement: bool | None = None,
) -> Any:  # fmt: skip
    """`num_samples` places in each row of `input` (one or two axes), drawn with its elements as weights.

    int64. Where `input` requires grad, `sample.reinforce(reward)` and `sample.backward()` (or `gs.autograd.backward([sample,
    loss])`) give the score-function gradient: whole numbers are roots of their own. `with_replacement` is the older name of
    `replacement`. Raises AutogradError (a RuntimeError) for weights that are negative or all zero, or for more samples than
    there are weights to draw without replacement.

    >>> import gradscribe as gs
    >>> _ = gs.manual_seed(0)
    >>> gs.multinomial(gs.tensor([0.0, 1.0, 0.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    if with_replacement is not None:
        warn_at_user("`with_replacement` is deprecated: its name is `replacement` now.", DeprecationWarning)
        replacement = with_replacement
    _may_draw()
    weights = _floats(input, "multinomial")
    shape = np.shape(weights)
    if len(shape) not in (1, 2):
        raise blame(ShapeError(f"multinomial: prob_dist must be 1 or 2 dim, but has shape {shape}"))
    if num_samples <= 0:
        raise blame(AutogradError(f"multinomial: cannot sample n_sample <= 0 samples, but got {num_samples}"))
    if not np.all((weights >= 0) & np.isfinite(weights)):
        raise blame(
            AutogradError(
                "multinomial: probability tensor contains either `inf`, `nan` or element < 0: weights are >= 0"
            )
        )
    there = np.sum(weights > 0, axis=-1)
    if not np.all(there > 0):
        raise blame(
            AutogradError(
                "multinomial: invalid multinomial distribution (sum of probabilities <= 0): a row has no weight > 0"
            )
        )
    if not replacement and not np.all(there >= num_samples):
        raise blame(
            AutogradError(
                f"multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement: {num_samples} are "
                f"asked for, and a row has fewer weights > 0. Pass replacement=True."
            )
        )
    return Multinomial.sample(generator, (weights,), (num_samples, bool(replacement)))


def drawn_normal(mean: Any, std: Any, generator: Any, plain: bool) -> Any:
    """`gs.normal` where `mean` or `std` requires grad; `plain` says that nothing else was asked for."""
    if not plain:
        raise blame(
            AutogradError(
                "normal: where mean or std requires grad, its shape and dtype are theirs: broadcast or cast those"
            )
        )
    if not np.all(np.greater_equal(std, 0)):
        raise blame(AutogradError("normal expects all elements of std >= 0.0, but one is negative or nan"))
    return Normal.sample(generator, (mean, std))


def reinforce(sample: Any, reward: Any) -> None:
    """Tell the reward of a sample: a number, or an array that broadcasts to its shape. Deprecated.

    Backward then gives -reward times the derivative of the log-probability. Differentiate that by hand: `loss = -log_prob *
    reward`. Raises AutogradError (a RuntimeError) where nothing was drawn, ShapeError for another shape.
    """
    refuse("calls reinforce; differentiate the log-probability times the reward")
    warn_at_user(
        "reinforce() is deprecated: differentiate the log-probability of the sample times the reward, "
        "loss = -(log_prob * reward).sum(), which gs.compile follows.",
        DeprecationWarning,
    )
    node: Any = sample.grad_fn
    if not isinstance(node, _Node):
        raise blame(
            AutogradError(
                "reinforce() can be only called on outputs of stochastic functions (gs.bernoulli, gs.multinomial, gs.normal) "
                "that were drawn from something that requires grad"
            )
        )
    if isinstance(sample, Sample) and LOCAL.depth:
        raise blame(
            AutogradError(
                "a sample of whole numbers is a root of backward of its own, which a transform does not come to: inside one "
                "differentiate the log-probability times the reward, or draw and call backward outside"
            )
        )
    given = np.array(reward._value if isinstance(reward, Operand) else reward)
    if given.dtype.kind not in "biuf":
        raise blame(TypeError(f"a reward is a number, or an array of numbers, not {reward!r}"))
    ctx: Any = node.ctx
    try:
        ctx.reward = np.broadcast_to(given, node.sampled)
    except ValueError:
        raise blame(
            ShapeError(f"a reward of shape {given.shape} does not broadcast to the sample's shape {node.sampled}")
        ) from None


def _may_draw() -> None:
    if LOCAL.levels:
        raise blame(
            AutogradError(
                "vmap: called random operation while in randomness error mode: draw the numbers for all examples outside, "
                "and map over them too"
            )
        )


def _floats(value: Any, what: str) -> Any:
    """Parameters as something with a floating-point dtype."""
    found = value if isinstance(value, (Operand, np.ndarray)) else np.asarray(value)
    if found.dtype.kind != "f":
        raise blame(
            DtypeError(f"{what} only supports floating-point dtypes for input, got: {found.dtype}: x.astype(float)")
        )
    return found
