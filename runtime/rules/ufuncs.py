"""The rest of NumPy's ufuncs (those of two results, gufuncs), methods of ufuncs that are ops, and np.i0."""

from __future__ import annotations

from typing import Any

from ...unpatched import np
from ..batching import BatchedCall, along_axis, lifted, shifted
from ..memory import NEW
from ..ops import Kind
from ..registry import batching, jumps, op, primitive, rule, singular_at, undifferentiable
from ..result_types import LENGTHS
from .contraction import conj, flip
from .indexing import scatter_along
from .support import NUMPY, keep_axes, masked, not_zero, shared_back, tied

elementwise, bilinear, linear, reduction, opaque = (
    Kind.elementwise, Kind.bilinear, Kind.linear, Kind.reduction, Kind.opaque,
)  # fmt: skip

# Two results, of which one is whole, and moves in steps.


def part(g: Any, k: int) -> Any:
    """The cotangent of one of two results; zeros where nobody read it."""
    return np.zeros_like(g[1 - k]) if g[k] is None else g[k]


op(np.divmod, "x, y", elementwise, n_out=2)
rule(np.divmod, x=lambda g: part(g, 1), y=lambda g, out: -part(g, 1) * out[0])
jumps(lambda out: out[0], np.divmod)
singular_at(np.divmod, x=lambda out: out[1] == 0, y=lambda out: out[1] == 0)

op(np.modf, "x", elementwise, n_out=2)
rule(np.modf, x=lambda g: part(g, 0))
singular_at(np.modf, x=lambda x, out: (out[0] == 0) & (x != 0))

op(np.frexp, "x", elementwise, n_out=2)
rule(np.frexp, x=lambda g, out: np.ldexp(part(g, 0), -out[1]))
singular_at(np.frexp, x=lambda x, out: (abs(out[0]) == 0.5) | (x == 0))
jumps(lambda out: out[1], np.modf, np.frexp)

op(np.nextafter, "x, y", elementwise)
rule(np.nextafter, x=lambda g: g, y=lambda g: np.zeros_like(g))

undifferentiable(np.bitwise_count, "x")

# Products of matrices and vectors, from NumPy 2.2 on.

if NUMPY >= (2, 2):
    op(np.matvec, "x, y", bilinear)
    rule(
        np.matvec,
        x=lambda g, y: np.expand_dims(g, -1) * np.expand_dims(y, -2),
        y=lambda g, x: np.matvec(flip(x), g),
    )
    op(np.vecmat, "x, y", bilinear)
    rule(
        np.vecmat,
        x=lambda g, y: conj(np.matvec(y, g)),
        y=lambda g, x: np.expand_dims(conj(x), -1) * np.expand_dims(g, -2),
    )

    def batched_stack(call: BatchedCall, of_x: int, of_y: int) -> Any:
        """A stack of products of what has so many axes."""
        more = max(call.ndim("x") - of_x, call.ndim("y") - of_y)
        x, y = (
            lifted(call[name], more + own) if call.is_mapped(name) else call[name]
            for name, own in (("x", of_x), ("y", of_y))
        )
        return call.run(x=x, y=y)

    batching(np.matvec)(lambda call: batched_stack(call, 2, 1))
    batching(np.vecmat)(lambda call: batched_stack(call, 1, 2))

# Methods of ufuncs. Those of np.add and np.multiply are np.sum, np.prod and the like; the rest is folded, one
# operation after the other (tracer/ufunc_methods.py).

_REDUCE = "x, axis=0, dtype=None, out=None, keepdims=False, initial=NoValue, where=True"
_ACCUMULATE = "x, axis=0, dtype=None, out=None"


def decay(x: Any, out: Any) -> Any:
    """How far each number lies below the whole; equal infinities lie at the same height."""
    return np.where(x == out, 0, x - out)


op(np.logaddexp.reduce, _REDUCE, reduction, path="np.logaddexp.reduce", title="LogaddexpReduce")
rule(
    np.logaddexp.reduce,
    x=lambda g, x, x_shape, out, axis, keepdims, where: masked(
        keep_axes(g, x_shape, axis, keepdims) * np.exp(decay(x, keep_axes(out, x_shape, axis, keepdims))), where
    ),
)

op(np.logaddexp2.reduce, _REDUCE, reduction, path="np.logaddexp2.reduce", title="Logaddexp2Reduce")
rule(
    np.logaddexp2.reduce,
    x=lambda g, x, x_shape, out, axis, keepdims, where: masked(
        keep_axes(g, x_shape, axis, keepdims) * np.exp2(decay(x, keep_axes(out, x_shape, axis, keepdims))), where
    ),
)

op(np.hypot.reduce, _REDUCE, reduction, path="np.hypot.reduce", title="HypotReduce")
rule(
    np.hypot.reduce,
    x=lambda g, x, x_shape, out, axis, keepdims, where: masked(
        keep_axes(g / not_zero(out), x_shape, axis, keepdims) * x, where
    ),
)
singular_at(np.hypot.reduce, x=lambda x_shape, out, axis, keepdims: keep_axes(out, x_shape, axis, keepdims) == 0)

for _extreme in (np.fmax, np.fmin):
    op(_extreme.reduce, _REDUCE, reduction, path=f"np.{_extreme.__name__}.reduce", title=f"{_extreme.__name__.title()}Reduce")
    rule(
        _extreme.reduce,
        x=lambda g, x, x_shape, x_dtype, out, axis, keepdims, initial, where: shared_back(
            g, x, x_shape, x_dtype, out, axis, keepdims, initial, where
        ),
    )
    singular_at(
        _extreme.reduce,
        x=lambda x, x_shape, out, axis, keepdims, where: tied(x, x_shape, out, axis, keepdims, where),
    )

for _running in (np.maximum, np.minimum):
    op(
        _running.accumulate, _ACCUMULATE, opaque, path=f"np.{_running.__name__}.accumulate",
        title=f"{_running.__name__.title()}Accumulate", memory=NEW, types=LENGTHS,
    )  # fmt: skip
    rule(
        _running.accumulate,
        x=lambda g, x, x_shape, x_dtype, out, axis: scatter_along(g, latest(x, out, axis), axis, x_shape, x_dtype),
    )
    singular_at(_running.accumulate, x=lambda x, out, axis: is_met_again(x, out, axis))


def is_met_again(x: Any, out: Any, axis: Any) -> Any:
    """Tell where a running extreme meets a number that equals it."""
    x, out = np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)
    return np.expand_dims(np.any(x[..., 1:] == out[..., :-1], axis=-1), axis)


@primitive("x, top, axis", opaque)
def latest(x: Any, top: Any, axis: Any) -> Any:
    """Where each running extreme stands: of equal ones the last so far takes all, as in PyTorch's cummax."""
    places = np.reshape(np.arange(x.shape[axis]), (-1, *(1,) * (x.ndim - axis % x.ndim - 1)))
    out = np.maximum.accumulate(np.where(x == top, places, 0), axis=axis)
    return out


rule(latest, x=None, top=None)


@batching(np.maximum.accumulate, np.minimum.accumulate, latest)
def batched_accumulated(call: BatchedCall) -> Any:
    """Along an axis that is one further back."""
    if not call.ndim("x"):
        return NotImplemented
    both = {"top": call.spread("top")} if call.has("top") else {}
    return call.run(x=call.spread("x"), axis=shifted(call["axis"], call.ndim("x")), **both)


op(
    np.add.reduceat, "x, indices, axis=0, dtype=None, out=None", linear, path="np.add.reduceat", title="AddReduceat",
    memory=NEW,
)  # fmt: skip
rule(
    np.add.reduceat,
    x=lambda g, indices, axis, x_shape, x_dtype: spread_pieces(g, indices, axis, x_shape, x_dtype),
)
batching(np.add.reduceat)(along_axis)


@primitive("g, indices, axis, shape, dtype", linear)
def spread_pieces(g: Any, indices: Any, axis: Any, shape: Any, dtype: Any) -> Any:
    """Zeros of a shape to which each number is added all along the piece that `np.add.reduceat` summed."""
    out = np.zeros(shape, dtype)
    along, starts = np.moveaxis(out, axis, 0), np.ravel(indices)
    for v, start, stop in zip(np.moveaxis(g, axis, 0), starts, [*starts[1:], shape[axis]], strict=True):
        along[start : max(stop, start + 1)] += v
    return out


rule(spread_pieces, g=lambda g, indices, axis: np.add.reduceat(g, indices, axis))


@batching(spread_pieces)
def batched_spread_pieces(call: BatchedCall) -> Any:
    """Pieces along an axis that is one further back."""
    shape = call["shape"]
    return (
        call.run(axis=shifted(call["axis"], len(shape)), shape=(call.size, *shape))
        if call.only("g")
        else NotImplemented
    )


# The modified Bessel function of order 0, and its slopes.


@primitive("n, x", elementwise)
def bessel_i(n: Any, x: Any) -> Any:
    """The modified Bessel function I_n of whole order n: https://dlmf.nist.gov/10.32.E3, by the midpoint rule."""
    out, turned = 0.0, np.sinh if n % 2 else np.cosh
    for angle in [(k + 0.5) * (np.pi / 128) for k in range(64)]:
        out = out + turned(x * float(np.cos(angle))) * (float(np.cos(n * angle)) / 64)
    return out


rule(bessel_i, n=None, x=lambda g, n, x: g * ((bessel_i(n - 1, x) + bessel_i(n + 1, x)) / 2))

op(np.i0, "x", elementwise)
rule(np.i0, x=lambda g, x: g * bessel_i(1, x))
