"""One record per op: on what to try it. Every subsystem's tests read this table (and samples_arrays.py)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import special

from gradscribe.runtime import lookup, ops
from gradscribe.runtime.ops import shape_of
from gradscribe.runtime.rules import fft
from gradscribe.runtime.rules.control import count_of, guard, size_of
from gradscribe.runtime.rules.elementwise import astype, logistic, real_sigmoid
from gradscribe.runtime.rules.special import logsumexp_kept, logsumexp_over, polygamma, zeta
from gradscribe.runtime.rules.support import recurrence
from gradscribe.tracer.core.dispatch import apply, has_tensor

Shapes = tuple[tuple[int, ...], ...]  # one shape per array
Domain = tuple[float, float]
Options = tuple[dict[str, Any], ...]

UNARY: tuple[Shapes, ...] = (((3, 4),), ((),), ((0,),), ((2, 3, 1),))
BINARY: tuple[Shapes, ...] = (((3, 4), (4,)), ((), (3,)), ((2, 1), (1, 3)), ((3, 4), (3, 4)), ((0,), (1,)))
NEWER = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # np.clip takes min= and max=
AWAY = 0.1  # how far from a kink a drawn number lies


@dataclasses.dataclass(frozen=True)
class Sample:
    """How to try one op: arguments of which shapes, from where, and what to expect of it."""

    fn: Any
    shapes: tuple[Shapes, ...] = UNARY  # the cases, each one shape per array
    kwargs: Options = ({},)  # the options, each tried on every case
    call: Callable[..., Any] | None = None  # what to call in place of `fn` itself
    domain: Domain | tuple[Domain, ...] = (-2.0, 2.0)  # of every array, or one for each
    kinks: tuple[float, ...] = ()  # points that finite differences must stay away from
    complex: bool = False  # whether it takes complex numbers, too
    integer: bool = False  # whether its arguments are whole numbers
    order: int = 2  # how many derivatives to check
    differentiable: bool = True
    finite: bool = False  # whether inf and nan must stay away (of them LAPACK's SVD may not return, and math raises)
    scoped: bool = False  # whether NumPy hands it no bare Tensors, so that it needs a function under a transform
    edge: tuple[float, ...] = ()  # special points of this op, besides 0, inf, nan and the like

    empty: bool = True  # whether an empty array may be tried: np.fft.irfft(x, 3) then gives what lay in memory

    @property
    def name(self) -> str:
        """What a test is called after."""
        found = lookup(self.fn)
        return getattr(self.fn, "__name__", "?") if found is None else found.path

    def run(self, *arrays: Any, **kwargs: Any) -> Any:
        """Call the op."""
        return (self.call or self.fn)(*arrays, **kwargs)

    def draw(self, rng: np.random.Generator, shapes: Shapes, dtype: Any = np.float64) -> list[Any]:
        """One array per shape, within the domain and away from the kinks, no two numbers close to each other."""
        several = not isinstance(self.domain[0], (int, float))
        domains: Any = self.domain if several else (self.domain,) * len(shapes)
        sizes = [math.prod(shape) for shape in shapes]
        made: list[Any] = []
        for part in (0.0, 1.0) if np.dtype(dtype).kind == "c" else (0.0,):
            places = (rng.permutation(sum(sizes)) + rng.uniform(0.3, 0.7, sum(sizes))) / max(sum(sizes), 1)
            pieces = np.split(places, np.cumsum(sizes))
            drawn = [self._within(p, *d).reshape(s) for p, d, s in zip(pieces, domains, shapes, strict=False)]
            made = [a + 1j * b for a, b in zip(made, drawn, strict=True)] if part else drawn
        return [np.asarray(np.rint(x), int) if self.integer else np.asarray(x, dtype) for x in made]

    def _within(self, places: Any, low: float, high: float) -> Any:
        x = low + (high - low) * places
        for kink in self.kinks:
            side: Any = AWAY if kink < high - AWAY else -AWAY
            if low + AWAY < kink < high - AWAY:
                side = np.where(x < kink, -AWAY, AWAY)
            x = np.where(np.abs(x - kink) < AWAY, x + side, x)
        return x


def unary(fn: Any, domain: Domain = (-2.0, 2.0), **options: Any) -> Sample:
    """A sample of a function of one array, element by element."""
    return Sample(fn, domain=domain, **options)


def binary(fn: Any, *domain: Domain, **options: Any) -> Sample:
    """A sample of a function of two arrays that broadcast; one domain, or one for each."""
    domains: Any = domain if len(domain) == 2 else domain[0] if domain else (-2.0, 2.0)
    return Sample(fn, BINARY, domain=domains, **options)


def step(fn: Any, *kinks: float, **options: Any) -> Sample:
    """A sample of a function that is constant between its kinks."""
    return Sample(fn, domain=(-2.0, 2.0), kinks=kinks, order=1, **options)


def question(fn: Any, shapes: tuple[Shapes, ...] = UNARY, **options: Any) -> Sample:
    """A sample of a function without a derivative."""
    return Sample(fn, shapes, differentiable=False, order=0, **options)


def reduction(fn: Any, *more: dict[str, Any], **options: Any) -> list[Sample]:
    """Samples of a reduction along each sort of axis, with further options, and of one of a scalar."""
    along: Options = ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"axis": (0, 1)}, {"keepdims": True}, *more)
    return [Sample(fn, (((3, 4),), ((2, 3, 4),)), along, **options), Sample(fn, (((),), ((1,),)), **options)]


def running(fn: Any, **options: Any) -> list[Sample]:
    """Samples of a running sum or product along each sort of axis."""
    return [
        Sample(fn, (((3, 4),), ((2, 3, 2),)), ({}, {"axis": 0}, {"axis": -1}), **options),
        Sample(fn, UNARY, **options),
    ]


def dispatched(fn: Any) -> Any:
    """A function that knows nothing of Tensors, with its op put in front; scopes take it as it is."""

    def call(*args: Any, **kwargs: Any) -> Any:
        op = lookup(fn)
        return apply(op, args, kwargs) if op is not None and has_tensor((args, kwargs)) else fn(*args, **kwargs)

    call.__module__ = "gradscribe"
    return call


def by_function(samples: Iterable[Sample]) -> dict[Any, list[Sample]]:
    """The samples of each op; Python's operators are tried as the functions that they stand for."""
    table: dict[Any, list[Sample]] = {}
    for sample in samples:
        table.setdefault(sample.fn, []).append(sample)
    owners = {id(op.vjps): op.fn for op in reversed(ops()) if op.infix is None}
    for op in ops():
        base = table.get(owners.get(id(op.vjps)))
        if op.infix is not None and base is not None and op.fn not in table:
            table[op.fn] = [dataclasses.replace(sample, fn=op.fn) for sample in base if sample.call is None]
    return table


POLYGAMMA, LOGSUMEXP = dispatched(special.polygamma), dispatched(special.logsumexp)
ONE_AXIS: Options = ({}, {"axis": 0}, {"n": 4}, {"n": 7, "norm": "ortho"}, {"n": 3, "axis": 0, "norm": "forward"})
SEVERAL_AXES: Options = (
    {}, {"axes": (0, 1), "norm": "ortho"}, {"s": (3, 5), "axes": (-1, -2)}, {"s": (5, 2), "axes": (0, -1), "norm": "forward"}
)  # fmt: skip
POSITIVE, WIDE, UNIT, INSIDE = (0.3, 2.5), (-3.0, 3.0), (0.1, 0.9), (-0.9, 0.9)
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
COLUMN = np.array([[True], [False], [True]])

ARITHMETIC = [
    binary(np.add, complex=True),
    binary(np.subtract, complex=True),
    binary(np.multiply, complex=True),
    binary(np.true_divide, kinks=(0.0,), complex=True),
    binary(np.power, POSITIVE, WIDE, complex=True, edge=(1.0,)),
    unary(np.power, WIDE, call=lambda x: np.power(x, 2), complex=True),
    unary(np.power, WIDE, call=lambda x: np.power(x, 3), complex=True),
    unary(np.power, call=lambda x: np.power(x, -2), kinks=(0.0,), complex=True),
    unary(np.power, POSITIVE, call=lambda x: np.power(x, 0.5), complex=True),
    unary(np.power, WIDE, call=lambda x: np.power(x, 1)),
    unary(np.power, WIDE, call=lambda x: np.power(x, 0)),
    unary(np.power, WIDE, call=lambda x: np.power(2.0, x), complex=True),
    binary(np.float_power, POSITIVE, WIDE),
    binary(np.remainder, (2.1, 2.3), (0.6, 0.65)),
    binary(np.remainder, (-2.3, -2.1), (0.6, 0.65)),
    binary(np.fmod, (2.1, 2.3), (0.6, 0.65)),
    binary(np.fmod, (-2.3, -2.1), (0.6, 0.65)),
    unary(np.negative, complex=True),
    unary(np.positive, complex=True),
    unary(np.reciprocal, kinks=(0.0,), complex=True),
    unary(np.ldexp, call=lambda x: np.ldexp(x, 3)),
]

SIZES = [
    unary(np.absolute, kinks=(0.0,), complex=True),
    unary(np.fabs, kinks=(0.0,)),
    unary(np.sign, kinks=(0.0,), complex=True),
    binary(np.copysign, kinks=(0.0,)),
    unary(np.square, complex=True),
    unary(np.sqrt, POSITIVE, complex=True),
    unary(np.cbrt, kinks=(0.0,)),
    binary(np.hypot, kinks=(0.0,)),
]

EXPONENTIALS = [
    unary(np.exp, complex=True),
    unary(np.exp2, complex=True),
    unary(np.expm1, complex=True),
    unary(np.log, POSITIVE, complex=True),
    unary(np.log2, POSITIVE, complex=True),
    unary(np.log10, POSITIVE, complex=True),
    unary(np.log1p, (-0.7, 2.0), complex=True, edge=(-1.0,)),
    binary(np.logaddexp),
    binary(np.logaddexp2),
]

TRIGONOMETRY = [
    unary(np.sin, complex=True),
    unary(np.cos, complex=True),
    unary(np.tan, (-1.2, 1.2), complex=True),
    unary(np.arcsin, INSIDE, complex=True, edge=(-1.0, 1.0)),
    unary(np.arccos, INSIDE, complex=True, edge=(-1.0, 1.0)),
    unary(np.arctan, complex=True),
    binary(np.arctan2, kinks=(0.0,)),
    unary(np.sinh, complex=True),
    unary(np.cosh, complex=True),
    unary(np.tanh, complex=True),
    unary(real_sigmoid),
    unary(logistic),
    unary(np.arcsinh, complex=True),
    unary(np.arccosh, (1.2, 3.0), complex=True, edge=(1.0,)),
    unary(np.arctanh, INSIDE, complex=True, edge=(-1.0, 1.0)),
    unary(np.sinc, kinks=(0.0,)),
    unary(np.deg2rad, (-180.0, 180.0)),
    unary(np.radians, (-180.0, 180.0)),
    unary(np.rad2deg),
    unary(np.degrees),
]

CHOICES = [
    Sample(
        np.where,
        (((3, 4), (4,)), ((), (3, 1)), ((2, 3, 2), ())),
        complex=True,
        call=lambda x, y: np.where(COLUMN, x, y),
    ),
    binary(np.maximum),
    binary(np.minimum),
    binary(np.fmax),
    binary(np.fmin),
    unary(np.clip, call=lambda x: np.clip(x, -1.0, 1.5), kinks=(-1.0, 1.5)),
    unary(np.clip, call=lambda x: np.clip(x, None, 0.5), kinks=(0.5,)),
    unary(np.clip, call=lambda x: np.clip(x, 0.5, None), kinks=(0.5,)),
    unary(np.clip, call=lambda x: np.clip(x, 1.0, -1.0), kinks=(-1.0, 1.0)),
    Sample(np.clip, (((3, 4), (4,), (3, 1)), ((3,), (), ()))),
    Sample(np.clip, (((3, 4), (4,)), ((2, 1), (1, 3))), call=lambda x, low: np.clip(x, low, None)),
    Sample(np.clip, (((3, 4), (4,)), ((2, 1), (1, 3))), call=lambda x, high: np.clip(x, None, high)),
    binary(np.heaviside, kinks=(0.0,), order=1),
    Sample(np.heaviside, (((4,),), ((),)), call=lambda y: np.heaviside(np.array([0.0, 1.0, -1.0, 0.0]), y)),
    *(
        [
            Sample(np.clip, (((3, 4), (4,)),), call=lambda x, low: np.clip(x, min=low)),
            Sample(np.clip, (((3, 4), (4,)),), call=lambda x, high: np.clip(x, max=high)),
            Sample(np.clip, (((3, 4), (4,), (3, 1)),), call=lambda x, low, high: np.clip(x, min=low, max=high)),
        ]
        if NEWER
        else []
    ),
    unary(np.nan_to_num, kwargs=({}, {"nan": 1.0, "posinf": 2.0, "neginf": 3.0})),
    unary(np.real, complex=True),
    unary(np.imag, complex=True),
    unary(np.conjugate, complex=True),
    unary(np.angle, POSITIVE, complex=True, kwargs=({}, {"deg": True})),
    unary(astype, call=lambda x: astype(x, np.dtype(np.float64))),
    unary(astype, call=lambda x: astype(x, np.dtype(np.complex128))),
]

STEPS = [
    step(np.floor, -2, -1, 0, 1, 2),
    step(np.ceil, -2, -1, 0, 1, 2),
    step(np.trunc, -2, -1, 0, 1, 2),
    step(np.fix, -2, -1, 0, 1, 2),
    step(np.rint, -1.5, -0.5, 0.5, 1.5),
    step(np.round, -1.5, -0.5, 0.5, 1.5),
    step(np.around, -1.5, -0.5, 0.5, 1.5),
]

QUESTIONS = [
    *[question(f, BINARY) for f in (np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal)],
    *[question(f, BINARY) for f in (np.logical_and, np.logical_or, np.logical_xor, np.isclose)],
    *[question(f, BINARY, integer=True) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd, np.lcm)],
    *[question(f, BINARY, integer=True, domain=(0, 5)) for f in (np.left_shift, np.right_shift)],
    question(np.floor_divide, BINARY, kinks=(0.0,)),
    question(np.invert, integer=True),
    *[question(f) for f in (np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not, np.spacing)],
    *[question(f) for f in (np.isreal, np.iscomplex, np.isposinf, np.isneginf)],
    *[question(f, (((3, 4),), ((2, 3, 1),)), kwargs=({}, {"axis": 0})) for f in (np.any, np.all, np.count_nonzero)],
    *[question(f, (((3, 4),), ((2, 3, 1),)), kwargs=({}, {"axis": 0})) for f in (np.argmax, np.argmin)],
    *[question(f, (((3, 4),), ((2, 3, 1),)), kwargs=({}, {"axis": 0})) for f in (np.nanargmax, np.nanargmin)],
]

WHERE = {"where": MASK}
CHOSEN = {"axis": 1, "where": MASK}

REDUCTIONS = [
    *reduction(np.sum, WHERE, CHOSEN, {"initial": 2.0}, {"axis": ()}, complex=True),
    Sample(np.sum, (((3, 4), ()),), call=lambda x, first: np.sum(x, axis=0, initial=first), complex=True),
    Sample(np.sum, (((0,),), ((0, 3),))),
    Sample(np.nansum, (((3, 4), ()),), call=lambda x, first: np.nansum(x, axis=0, initial=first), complex=True),
    *reduction(np.nansum, CHOSEN, {"initial": 2.0}, complex=True),
    *reduction(np.mean, WHERE, CHOSEN, complex=True),
    *reduction(np.nanmean, CHOSEN, complex=True),
    *reduction(np.max, {"initial": 0.5}, {"initial": -9.0, **CHOSEN}),
    *reduction(np.amax, {"initial": 0.5}),
    *reduction(np.min, {"initial": -0.5}, {"initial": 9.0, **CHOSEN}),
    *reduction(np.amin, {"initial": -0.5}),
    *reduction(np.nanmax, {"initial": 0.5}),
    *reduction(np.nanmin, {"initial": -0.5}),
    *reduction(np.ptp),
    *reduction(np.prod, WHERE, CHOSEN, {"initial": 2.0}, {"axis": ()}, complex=True),
    Sample(np.prod, (((3, 4),), ((3,),)), call=lambda x: np.prod(x * MASK[1, : x.shape[-1]], axis=-1)),  # zeros
    Sample(np.prod, (((0,),), ((0, 3),))),
    *reduction(np.var, {"ddof": 1}, CHOSEN, {"correction": 1}, complex=True)[:1],
    *reduction(np.nanvar, {"ddof": 1}, CHOSEN)[:1],
    Sample(np.var, (((3, 4), (3, 1)),), call=lambda x, m: np.var(x, axis=1, mean=m), order=1, complex=True),
    Sample(np.std, (((3, 4), (3, 1)),), call=lambda x, m: np.std(x, axis=1, mean=m), order=1, complex=True),
    *reduction(np.std, {"ddof": 1}, CHOSEN, {"correction": 1}, complex=True)[:1],
    *reduction(np.nanstd, {"ddof": 1}, CHOSEN)[:1],
    *running(np.cumsum, complex=True),
    *running(np.nancumsum),
    *running(np.cumprod, complex=True),
    Sample(np.cumprod, (((3, 4),), ((3,),)), call=lambda x: np.cumprod(x * MASK[1, : x.shape[-1]], axis=-1)),  # zeros
    Sample(recurrence, (((3,), (3,)), ((4, 2), (4, 2))), complex=True),
]

SPECIAL = [
    unary(special.expit),
    unary(special.logit, UNIT),
    unary(special.log_expit),
    unary(special.erf, complex=True),
    unary(special.erfc, complex=True),
    unary(special.erfcx, complex=True),
    unary(special.erfinv, INSIDE),
    unary(special.erfcinv, (0.2, 1.8)),
    unary(special.dawsn, complex=True),
    unary(special.ndtr, complex=True),
    unary(special.ndtri, UNIT),
    unary(special.log_ndtr, complex=True, edge=(-30.0,)),
    unary(special.gamma, POSITIVE),
    unary(special.rgamma, POSITIVE),
    unary(special.gammaln, POSITIVE),
    unary(special.loggamma, POSITIVE),
    unary(special.psi, POSITIVE),
    unary(special.polygamma, POSITIVE, call=lambda x: POLYGAMMA(1, x)),
    unary(polygamma, POSITIVE, call=lambda x: polygamma(1, x)),
    unary(zeta, POSITIVE, call=lambda x: zeta(2, x)),
    binary(special.beta, POSITIVE),
    binary(special.betaln, POSITIVE),
    binary(special.xlogy, (-2.0, 2.0), POSITIVE),
    binary(special.xlog1py, (-2.0, 2.0), (-0.7, 2.0)),
    unary(special.entr, POSITIVE),
    binary(special.rel_entr, POSITIVE),
    binary(special.kl_div, POSITIVE),
    unary(special.exp2),
    unary(special.exp10),
    unary(special.expm1, complex=True),
    unary(special.log1p, (-0.7, 2.0), complex=True),
    unary(special.cosm1),
    unary(special.cbrt, kinks=(0.0,)),
    *[unary(f) for f in (special.j0, special.j1, special.i0, special.i1)],
    *[unary(f, kinks=(0.0,)) for f in (special.i0e, special.i1e)],
    *[unary(f, POSITIVE) for f in (special.y0, special.y1, special.k0, special.k1)],
    unary(special.jv, POSITIVE, call=lambda x: special.jv(1.5, x), complex=True),
    unary(special.yv, POSITIVE, call=lambda x: special.yv(1.5, x), complex=True),
    unary(special.iv, POSITIVE, call=lambda x: special.iv(1.5, x), complex=True),
    unary(special.ive, POSITIVE, call=lambda x: special.ive(1.5, x), complex=True),
    *reduction(special.logsumexp, call=LOGSUMEXP),
    *[
        Sample(f, (((3, 4),), ((2, 3, 1),)), call=lambda x, f=f, axis=axis: f(x, axis), empty=False)
        for f in (logsumexp_kept, logsumexp_over)
        for axis in (None, 1, (0, 1))
    ],
    Sample(
        special.logsumexp, (((3, 4), (4,)),), ({}, {"axis": 1}), domain=((-2.0, 2.0), POSITIVE),
        call=lambda x, b, **k: LOGSUMEXP(x, b=b, **k),
    ),
    Sample(special.softmax, (((3, 4),), ((2, 3, 1),)), ({}, {"axis": -1}), call=dispatched(special.softmax)),
    Sample(special.log_softmax, (((3, 4),), ((2, 3, 1),)), ({}, {"axis": -1}), call=dispatched(special.log_softmax)),
]  # fmt: skip


def fixed(fn: Any, *first: Any, domain: Domain = POSITIVE, **options: Any) -> Sample:
    """A sample of a function of one array whose first arguments are numbers."""
    return Sample(fn, domain=domain, call=lambda x: fn(*first, x), **options)


LAMBERTW = dispatched(special.lambertw)
INTEGRALS = [
    *[unary(f, POSITIVE) for f in (special.exp1, special.expi, special.spence)],
    *[unary(f, POSITIVE, call=lambda x, f=f: np.stack(f(x)))
      for f in (special.sici, special.shichi, special.fresnel, special.airy)],
    unary(special.k0e, POSITIVE), unary(special.k1e, POSITIVE),
    *[unary(f) for f in (special.erfi, special.wofz, special.wrightomega, special.exprel)],
    unary(special.exprel, (-0.02, 0.02)), fixed(special.expn, 3), binary(special.owens_t),
    unary(special.ellipk, UNIT), unary(special.ellipkm1, UNIT), unary(special.ellipe, UNIT),
    unary(special.ndtri_exp, (-3.0, -0.2)),
    *[Sample(f, domain=WIDE, call=lambda x, f=f: f(x, 0.4)) for f in (special.ellipkinc, special.ellipeinc)],
    unary(special.lambertw, POSITIVE, call=LAMBERTW),
    *[fixed(f, 1.7) for f in (special.gammainc, special.gammaincc, special.kv, special.kve, special.hyp0f1)],
    *[binary(f, POSITIVE) for f in (special.gammainc, special.gammaincc)],
    *[Sample(f, (((3,), (3,), (3,)),), domain=UNIT) for f in (special.betainc, special.betaincc)],
    *[fixed(f, 1.7, domain=UNIT) for f in (special.gammaincinv, special.gammainccinv)],
    *[fixed(f, 1.7, 2.2, domain=UNIT)
      for f in (special.betainc, special.betaincc, special.betaincinv, special.betainccinv)],
    *[fixed(f, 1.7, 2.2, domain=UNIT, finite=True) for f in (special.hyp1f1, special.hyperu)],  # SciPy does not return from 1e300
    *[fixed(f, 3.0) for f in (special.chdtr, special.chdtrc, special.pdtr, special.stdtr)],
    fixed(special.stdtrit, 3.0, domain=UNIT), fixed(special.hyp2f1, 0.7, 1.2, 2.5, domain=(-0.9, 0.5), finite=True),
    Sample(special.gdtr, BINARY, domain=POSITIVE, call=lambda a, x: special.gdtr(a, 1.7, x)),
    binary(special.binom, (3.2, 5.0), (0.3, 2.5)), binary(special.poch, POSITIVE), binary(special.powm1, POSITIVE, WIDE),
    unary(special.gammasgn, differentiable=False, order=0, domain=POSITIVE),
    binary(special.huber, (0.4, 0.6), (0.8, 2.0), order=1), binary(special.huber, (1.4, 1.6), (-1.0, 1.0), order=1),
    binary(special.pseudo_huber, POSITIVE, WIDE), binary(special.boxcox, POSITIVE, POSITIVE),
    *[Sample(f, domain=POSITIVE, call=lambda x, f=f: f(x, 0.6))
      for f in (special.inv_boxcox, special.boxcox1p, special.inv_boxcox1p)],
    *[unary(f, (10.0, 80.0)) for f in (special.sindg, special.cosdg, special.tandg, special.cotdg)],
    *[fixed(f, 2) for f in (special.kn, special.yn)],
    *[fixed(f, n, domain=INSIDE) for n in (0, 1, 4)
      for f in (special.eval_legendre, special.eval_chebyt, special.eval_chebyu, special.eval_hermite, special.eval_hermitenorm,
                special.eval_laguerre)],
    *[fixed(f, n, 0.7, domain=INSIDE) for n in (0, 3) for f in (special.eval_genlaguerre, special.eval_gegenbauer)],
    *[fixed(special.eval_jacobi, n, 0.7, 1.1, domain=INSIDE) for n in (0, 3)],
]  # fmt: skip

CASTS = [
    Sample(complex, (((),), ((), ())), call=lambda *x: complex(*x) * (1 + 2j), scoped=True),
    Sample(np.float64, (((),),), call=lambda x: np.float64(float(x)), scoped=True),
    Sample(np.complex128, (((),),), call=lambda x: np.complex128(complex(x) * (1 + 2j)), scoped=True),
]



def of_counts(fn: Any) -> Any:
    """A product with what a function of numbers gives of a length: of one, of a list, or of it and another."""
    two = fn in (min, max, math.comb, math.perm, math.gcd, math.lcm)
    rest = (2,) if two else ()
    return lambda x: x * fn([np.shape(x)[0], 2] if fn is sum else np.shape(x)[0], *rest)


CONTROL = [
    Sample(float, (((),),), call=dispatched(float), finite=True),
    unary(shape_of, call=lambda x: np.zeros(np.shape(x)) + x),
    Sample(size_of, (((3, 4),), ((2,),)), call=lambda x: x * np.shape(x)[0]),
    Sample(count_of, (((3, 4),), ((2,),)), call=lambda x: x / np.size(x)),
    *[Sample(fn, (((3, 4),), ((2,),)), call=of_counts(fn)) for fn in (int, round, min, max, sum)],
    *[Sample(fn, (((3, 4),), ((2,),)), call=of_counts(fn)) for fn in (
        math.ceil, math.floor, math.trunc, math.isqrt, math.factorial, math.comb, math.perm, math.gcd, math.lcm)],
    Sample(guard, (((3, 4),), ((),)), call=lambda x: x * 2 if np.sum(x) < 1e3 else x * 3),
]

MODES: Options = ({}, {"mode": "full"}, {"mode": "same"}, {"mode": "valid"})
CONVOLUTIONS = [
    Sample(np.convolve, (((5,), (3,)), ((2,), (6,)), ((4,), (4,)), ((1,), (3,))), MODES, complex=True),
    Sample(np.convolve, (((), (3,)), ((4,), ()))),
    Sample(np.correlate, (((5,), (3,)), ((2,), (6,)), ((4,), (5,)), ((3,), (1,))), MODES, complex=True),
]

RANKS: Options = ({}, {"axis": 0}, {"axis": (1, 0), "keepdims": True}, {"axis": -1, "keepdims": True})
QUANTILES = [
    Sample(np.median, (((3, 4),), ((2, 3, 5),)), RANKS),
    Sample(np.median, (((5,),),)),
    *[
        Sample(f, (((3, 4),), ((2, 5, 3),)), RANKS, call=lambda x, f=f, c=c, **k: f(x, 0.3 * c, **k))
        for f, c in ((np.quantile, 1), (np.percentile, 100))
    ],
    *[
        Sample(
            f,
            (((5,),), ((4, 2),)),
            (
                {"axis": 0},
                {"axis": 0, "method": "lower"},
                {"axis": 0, "method": "higher"},
                {"axis": 0, "method": "midpoint"},
            ),
            call=lambda x, f=f, c=c, **k: f(x, [0.0, 0.35 * c, 1.0 * c], **k),
        )
        for f, c in ((np.quantile, 1), (np.percentile, 100))
    ],
]

FREQUENCIES = [(f, dispatched(f)) for f in (np.fft.fftfreq, np.fft.rfftfreq)]
FOURIER = [
    *[Sample(f, (((),),), call=lambda d, call=call: call(5, d), domain=(0.3, 2.0)) for f, call in FREQUENCIES],
    *[Sample(f, (((4, 3),), ((5,),)), ({}, {"axes": 0}), complex=True) for f in (np.fft.fftshift, np.fft.ifftshift)],
    *[Sample(f, (((4, 5),), ((6, 3),)), ONE_AXIS, complex=f not in (np.fft.rfft, np.fft.ihfft), empty=False)
      for f in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.ihfft, np.fft.irfft, np.fft.hfft)],
    *[Sample(f, (((2, 3, 4),), ((4, 3),)), SEVERAL_AXES, complex=f not in (np.fft.rfft2, np.fft.rfftn))
      for f in (np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn, np.fft.rfft2, np.fft.rfftn, np.fft.irfft2, np.fft.irfftn)],
    Sample(fft.doubled, (((3, 4),),), call=lambda x: fft.doubled(x, (slice(1),)), complex=True),
]  # fmt: skip

ROWS = [
    *ARITHMETIC, *SIZES, *EXPONENTIALS, *TRIGONOMETRY, *CHOICES, *STEPS, *QUESTIONS, *REDUCTIONS, *SPECIAL,
    *CASTS, *CONTROL, *INTEGRALS, *CONVOLUTIONS, *QUANTILES, *FOURIER,
]  # fmt: skip
SAMPLES: dict[Any, list[Sample]] = by_function(ROWS)
