"""Where the results of each op lie: what it states, against np.shares_memory, on its samples and on what NumPy passes on."""

from __future__ import annotations

import ast
import contextlib
import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.runtime import lookup, ops
from gradscribe.runtime.memory import NEW, VIEW, Memory
from gradscribe.runtime.ops import Op
from gradscribe.runtime.registry import require
from gradscribe.scipy import linalg
from gradscribe.tracer.core.tensor_base import wrap

from checks import OF_NUMBERS, TABLE, call_in_every_form, name_of, spaced, watching
from samples import Sample

pytestmark = pytest.mark.audit

OPS = tuple(ops())  # before any test registers one of its own


def arrays_in(value: Any) -> Iterator[Any]:
    """The arrays in an argument or a result, at any depth."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from arrays_in(v)
    elif isinstance(value, slice):
        yield from arrays_in((value.start, value.stop, value.step))


def overlap(a: Any, b: Any) -> bool:
    """Whether two arrays have an element in common."""
    return bool(np.may_share_memory(a, b)) and bool(np.shares_memory(a, b))


def overlaps_itself(a: Any) -> bool:
    """Whether an array shows an element twice."""
    return any(n > 1 and not step for n, step in zip(a.shape, a.strides, strict=True)) and a.size > 0


def problem_of(op: Op, bound: tuple[Any, ...]) -> str | None:
    """How a call does otherwise than its op states; None where it does not, or raises."""
    given = [(p.name, a) for p, b in zip(op.params, bound, strict=True) for a in arrays_in(b)]
    before = [a.copy(order="K") for _, a in given]
    args, kwargs = op.call_form(bound)
    memory = op.memory_of(bound)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            first, second = op.fn(*args, **kwargs), op.fn(*args, **kwargs)
        except Exception:
            return None
    for (name, a), old in zip(given, before, strict=True):
        if a.tobytes() != old.tobytes():
            return f"{op}: writes into its argument `{name}`"
    results, others = list(arrays_in(first)), list(arrays_in(second))
    for k, r in enumerate(results):
        shared = {name for name, a in given if overlap(r, a)}
        if memory.of and not shared <= set(memory.of):
            return f"{op}: states {memory}, but result {k} shares memory with {shared}"
        if memory.how == "view" and r.size and not shared:
            meant = [a for name, a in given if not memory.of or name in memory.of]
            if any(a.size for a in meant):
                return f"{op}: states {memory}, but result {k} is in memory of its own"
        if memory.how != "new":
            continue
        if shared:
            return f"{op}: states {memory}, but result {k} shares memory with {shared}"
        if not r.flags.writeable or overlaps_itself(r):
            return f"{op}: states {memory}, but result {k} may not be written over"
        if any(overlap(r, s) for s in others) or any(overlap(r, s) for s in results[:k]):
            return f"{op}: states {memory}, but result {k} shares memory with another result"
    return None


class Audit:
    """What was called while it watched, and what was wrong."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.problems: dict[str, None] = {}

    def call(self, op: Op, bound: tuple[Any, ...]) -> None:
        """Hold one call against what its op states."""
        self.seen.add(f"{op.path} {op.fn}")
        problem = None if op.effect else problem_of(op, bound)
        if problem is not None:
            self.problems[problem] = None

    def saw(self, op: Op) -> bool:
        """Whether an op was called."""
        return f"{op.path} {op.fn}" in self.seen


GROUPS = [pytest.param(fn, group, id=name_of(fn)) for fn, group in TABLE.items()]


@pytest.mark.parametrize(("fn", "group"), GROUPS)
def test_results_lie_where_the_op_says(fn: Any, group: list[Sample]) -> None:
    audit, op = Audit(), lookup(fn)
    call_in_every_form(group, audit.call)
    assert not audit.problems, "\n".join(audit.problems)
    assert op is not None
    assert audit.saw(op) or op.infix is not None or op in OF_NUMBERS


def test_every_op_has_samples() -> None:
    unaudited = {
        op.path for op in OPS if not op.effect and op.path != "text"
    }  # what draws, prints or makes text is no array
    assert unaudited - {op.path for fn in TABLE if (op := lookup(fn)) is not None} == set()


def called(text: str, x: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What a text calls, and with what: of `np.diff(x,n=0)` np.diff, (x,), {"n": 0}."""
    node: Any = ast.parse(text, mode="eval").body

    def value(one: Any) -> Any:
        return eval(ast.unparse(one), SPACE | {"x": x})

    if isinstance(node, ast.Subscript):
        return operator.getitem, (x, value(ast.Subscript(ast.Name("s_"), node.slice))), {}
    args = [[*value(a.value)] if isinstance(a, ast.Starred) else [value(a)] for a in node.args]
    return value(node.func), tuple([a for part in args for a in part]), {k.arg: value(k.value) for k in node.keywords}


SPACE = {"np": np, "s_": np.s_, "special": special, "linalg": linalg, "operator": operator}


# Calls of which NumPy and SciPy may give back what they were given, or a part of it; `x` is drawn in several forms.
AS_IT_IS = """
np.round(x) np.round(x,2) np.round(x,-1) np.around(x) np.around(x,2) np.fix(x) np.rint(x) np.trunc(x) np.floor(x) np.ceil(x)
np.positive(x) np.conj(x) np.conjugate(x) np.real(x) np.imag(x) np.angle(x) np.abs(x) np.sign(x) np.clip(x,None,3)
np.clip(x,-9,9) np.nan_to_num(x) np.unwrap(x) np.sinc(x) np.i0(x) np.diff(x,n=0) np.diff(x,n=1) np.diff(x,n=0,prepend=0)
np.trapezoid(x) np.asarray(x) np.asanyarray(x) np.array(x) np.array(x,copy=None) np.asarray(x,dtype=x.dtype)
np.asarray(x,order='F') np.copy(x) np.array(x,dtype=x.dtype) np.array(x,ndmin=1) np.array(x,ndmin=4) np.array(x,order='F')
np.asarray(x,dtype=np.float64) np.ascontiguousarray(x) np.asfortranarray(x) np.reshape(x,x.shape) np.reshape(x,-1)
np.reshape(x,-1,order='F') np.ravel(x) np.ravel(x,order='F') np.ravel(x,order='K') np.squeeze(x) np.expand_dims(x,0)
np.transpose(x) np.transpose(x,range(x.ndim)) np.swapaxes(x,0,0) np.swapaxes(x,0,-1) np.moveaxis(x,0,0) np.moveaxis(x,0,-1)
np.rollaxis(x,0) np.matrix_transpose(x) np.linalg.matrix_transpose(x) np.atleast_1d(x) np.atleast_2d(x) np.atleast_3d(x)
np.broadcast_to(x,x.shape) np.broadcast_to(x,(2,*x.shape)) np.broadcast_arrays(x,x) np.broadcast_arrays(x,0.) np.flip(x)
np.flip(x,()) np.fliplr(x) np.flipud(x) np.rot90(x) np.rot90(x,0) np.rot90(x,2) np.rot90(x,3) np.split(x,1)
np.array_split(x,2) np.array_split(x,1) np.vsplit(x,1) np.hsplit(x,1) np.dsplit(x,1) np.diagonal(x) np.linalg.diagonal(x)
np.diag(x) np.diag(x,1) np.diagflat(x) np.tril(x) np.triu(x) np.tril(x,9) np.triu(x,-9) np.roll(x,0) np.roll(x,0,0)
np.roll(x,(),()) np.concatenate([x]) np.concatenate([x],axis=None) np.stack([x]) np.vstack([x]) np.hstack([x])
np.dstack([x]) np.column_stack([x]) np.append(x,[]) np.append(x,x,0) np.meshgrid(x) np.meshgrid(x,x)
np.meshgrid(x,copy=False) np.meshgrid(x,x,copy=False) np.meshgrid(x,x,sparse=True) np.meshgrid(x,x,copy=False,sparse=True)
np.repeat(x,1) np.repeat(x,1,0) np.tile(x,1) np.tile(x,(1,1)) np.pad(x,0) np.pad(x,0,mode='edge') np.pad(x,0,mode='wrap')
np.delete(x,[]) np.delete(x,[],0) np.delete(x,slice(0,0),0) np.delete(x,0,0) np.take(x,[0]) np.take(x,0,0)
np.take(x,range(len(x)),0) np.take(x,np.arange(len(x)),0,mode='clip') np.take_along_axis(x,np.argsort(x,0),0)
np.compress([True]*len(x),x,0) np.extract(x==x,x) np.ix_(x) np.ix_(x,x) np.ix_(x==x) np.nonzero(x) np.argwhere(x) np.sort(x)
np.sort(x,None) np.partition(x,0) np.cumsum(x) np.cumsum(x,0) np.cumprod(x,0) np.nancumsum(x,0) np.nancumprod(x,0)
np.maximum.accumulate(x) np.minimum.accumulate(x) np.add.reduceat(x,[0]) np.sum(x,axis=()) np.prod(x,axis=())
np.max(x,axis=()) np.min(x,axis=()) np.mean(x,axis=()) np.any(x,axis=()) np.all(x,axis=()) np.nansum(x,axis=())
np.nanmax(x,axis=()) np.nanmin(x,axis=()) np.nanprod(x,axis=()) np.var(x,axis=()) np.std(x,axis=()) np.ptp(x,axis=())
np.nanmean(x,axis=()) np.median(x,axis=()) np.nanmedian(x,axis=()) np.quantile(x,.5,axis=()) np.nanquantile(x,.5,axis=())
np.median(x,0) np.median(x[:1],0) np.quantile(x[:1],.5,0) np.quantile(x,0,0) np.quantile(x,1.,0,method='lower')
np.nanmedian(x[:1],0) np.percentile(x,[50],0) np.nanpercentile(x[:1],50,0) np.sum(x[:1],0) np.max(x[:1],0,keepdims=True)
np.prod(x[:1],0) np.fmax.reduce(x[:1]) np.fmax.reduce(x,axis=()) np.logaddexp.reduce(x[:1]) np.hypot.reduce(x[:1])
np.linalg.norm(x) np.linalg.norm(x,axis=0) np.linalg.norm(x[:1],axis=0) np.linalg.vector_norm(x,axis=())
np.linalg.vector_norm(x[:1],axis=0) np.einsum('...',x) np.einsum('...->...',x) np.einsum('ij',x) np.einsum('ij->ji',x)
np.einsum('ii->i',x) np.einsum('ii',x) np.einsum('ij->i',x) np.einsum('ij,jk->ik',x,x) np.einsum('ij,j->ij',x,x[0])
np.einsum('ij,->ij',x,1) np.einsum('...,...',x,1,optimize=True) np.einsum('ij->ji',x,optimize=True)
np.linalg.matrix_power(x,1) np.linalg.matrix_power(x,0) np.linalg.matrix_power(x,2) np.linalg.matrix_power(x,-1)
np.linalg.inv(x) np.linalg.pinv(x) np.linalg.qr(x) np.linalg.svd(x) np.linalg.svdvals(x) np.linalg.cholesky(x@x.T)
np.linalg.eigh(x) np.linalg.eigvalsh(x) np.linalg.solve(x,x) np.linalg.det(x) np.linalg.slogdet(x) np.linalg.cond(x)
np.linalg.multi_dot([x,x]) np.linalg.multi_dot([x[0],x,x[0]]) np.dot(x,1) np.dot(x,x) np.outer(x,1) np.kron(x,1)
np.kron(1,x) np.inner(x,x) np.tensordot(x,x,0) np.cross(x[:,:3],x[:,:3]) np.vdot(x,x) np.convolve(x,[1]) np.correlate(x,[1])
np.fft.fft(x) np.fft.fft(x[:1],axis=0) np.fft.ifft(x[:1],axis=0) np.fft.fftn(x) np.fft.fftn(x,axes=())
np.fft.ifftn(x,axes=()) np.fft.fft2(x,axes=()) np.fft.ifft2(x,axes=()) np.fft.rfftn(x,axes=()) np.fft.irfftn(x,axes=())
np.fft.fftshift(x) np.fft.fftshift(x,()) np.fft.ifftshift(x,()) np.fft.rfft(x[:1],axis=0) np.fft.irfft(x) np.fft.hfft(x)
np.fft.ihfft(x) np.where(x==x,x,x) np.where(True,x,x) np.interp(x,[0,1],[0,1]) np.interp(0.,np.arange(len(x)),x)
np.searchsorted(x,x) np.digitize(x,[0]) np.bincount(x) np.linspace(x,x,1) np.linspace(x,x,2) np.geomspace(x,x,1)
np.full_like(x,x) np.full(x.shape,x) np.zeros_like(x) np.empty_like(x) np.indices((2,2)) np.indices((2,2),sparse=True)
np.diag_indices(3) np.diag_indices_from(x) np.tril_indices_from(x) np.unravel_index([1],(2,2))
np.unravel_index(np.array([1]),(4,)) np.ravel_multi_index((x,),(9,)) np.packbits(x) np.unpackbits(x) np.isin(x,x)
np.real(x.real) np.imag(x.real) np.imag(x.imag) special.softmax(x) special.log_softmax(x) special.logsumexp(x,axis=())
special.logsumexp(x[:1],axis=0) special.round(x) special.zeta(x) special.polygamma(0,x) special.lambertw(x)
special.diric(x,1) special.xlogy(x,1) special.expit(x) np.ldexp(x,0) np.nextafter(x,x) np.modf(x) np.frexp(x) np.divmod(x,1)
np.bitwise_and(x,x) np.left_shift(x,0) np.logical_and(x,x) np.isclose(x,x) np.heaviside(x,1) np.maximum(x,x) np.fmax(x,x)
np.power(x,1) np.float_power(x,1) np.multiply(x,1) np.add(x,0) np.deg2rad(x) np.lexsort([x]) x[...] x[:] x[()] x[0] x[None]
x[0:1] x[::-1] x[x==x] x[[0]] x[np.array([0])] x[np.array(0)] x[...,None] x[True] x[False] x[0,...] x[0,0] x[:,[0]] x[[0],:]
x[np.int64(0)] operator.pow(x,1) operator.mul(x,1) operator.add(x,0) operator.neg(x) operator.pos(x) abs(x)
operator.matmul(x,x) operator.floordiv(x,1) operator.mod(x,9) operator.lshift(x,0) operator.or_(x,x) operator.invert(x)
linalg.solve_triangular(x,x) linalg.solve_triangular(x[:1,:1],x[:1,:1]) linalg.solve_triangular(x,x,overwrite_b=True)
linalg.solve_banded((0,0),x[:1],x[0]) linalg.solve_banded((1,1),x[:3],x[:,0],overwrite_ab=True,overwrite_b=True)
linalg.solve_banded((1,1),x[:3,:1],x[:1,0]) linalg.solve_sylvester(x,x,x) linalg.solve_sylvester(x[:1,:1],x[:1,:1],x[:1,:1])
linalg.sqrtm(x) linalg.sqrtm(x[:1,:1]) linalg.expm(x) linalg.expm(x[:1,:1]) linalg.expm(np.diag(np.diag(x)))
linalg.sqrtm(np.diag(np.diag(x))) linalg.cholesky(x@x.T,overwrite_a=True) linalg.inv(x,overwrite_a=True)
linalg.solve(x,x,overwrite_a=True,overwrite_b=True) linalg.det(x,overwrite_a=True) linalg.eigh(x,overwrite_a=True)
linalg.svd(x,overwrite_a=True) linalg.pinv(x) linalg.cho_solve((x,True),x,overwrite_b=True)
linalg.cho_factor(x@x.T,overwrite_a=True) linalg.block_diag(x) np.real_if_close(x) np.real_if_close(x+0j) np.unique(x)
np.trim_zeros(x) np.insert(x,0,0) np.resize(x,x.shape) np.piecewise(x,[x==x],[1]) np.select([x==x],[x]) np.choose([0],[x])
np.average(x,axis=0) np.cov(x) np.gradient(x) np.ediff1d(x) np.vander(x) np.block([x]) np.apply_along_axis(np.sum,0,x)
np.nan_to_num(x,copy=False) np.median(x,overwrite_input=True) np.percentile(x,50,overwrite_input=True) np.roots(x)
np.histogram(x)
""".split()  # noqa: SIM905


def forms_of(rng: np.random.Generator) -> Iterator[Any]:
    """Arrays of each dtype, layout and size that decides whether NumPy passes an array on."""
    for shape in ((4, 4), (4,), (), (1,), (1, 1), (0,), (0, 3), (2, 3, 4), (1, 4, 1)):
        for dtype in (np.float64, np.float32, np.complex128, np.int64, np.uint8, bool):
            x = np.asarray(rng.uniform(1, 5, shape)).astype(dtype)
            yield x
            if dtype in (np.float64, np.int64) and x.ndim:
                yield from (np.asfortranarray(x), spaced(x), x[..., ::-1], np.broadcast_to(x[:1], x.shape))


@pytest.mark.parametrize("text", AS_IT_IS)
def test_what_numpy_may_pass_on_lies_where_the_op_says(text: str, rng: np.random.Generator) -> None:
    audit = Audit()
    with watching(audit.call):
        for x in forms_of(rng):
            before = x.copy()
            with contextlib.suppress(Exception):
                fn, args, kwargs = called(text, wrap(x))
                fn(*args, **kwargs)
            with contextlib.suppress(Exception):
                fn, args, kwargs = called(text, x)
                op = lookup(fn)
                if op is not None and (op.forms is None or op.forms(*args, **kwargs) is NotImplemented):
                    audit.call(op, op.bind(*args, **kwargs))
            written = "copy=False)" in text and x.dtype.kind in "fc"
            same = np.array_equal(x, before, equal_nan=x.dtype.kind in "fc")
            assert written or same, "the argument was written into"
    assert audit.seen, "no call was watched"
    assert not audit.problems, "\n".join(audit.problems)


@pytest.mark.parametrize(
    ("fn", "fact", "words"),
    [(np.ravel, NEW, "shares memory with {'x'}"), (np.exp, VIEW, "is in memory of its own"),
     (np.transpose, Memory("view", ("axes",)), "shares memory with {'x'}"),
     (np.diag, NEW, "shares memory"), (np.imag, NEW, "may not be written over"),
     (np.diag_indices_from, NEW, "shares memory with another result")],
)  # fmt: skip
def test_the_audit_finds_a_planted_fact(fn: Any, fact: Memory, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = require(fn)
    monkeypatch.setattr(op, "memory", fact)
    found = problem_of(op, op.bind(np.eye(3)))
    assert found is not None
    assert words in found


def test_the_audit_finds_an_op_that_writes_into_its_argument() -> None:
    def doubled(x: Any) -> Any:
        x *= 2.0
        return x + 0.0

    found = problem_of(Op(doubled, "x", gs.Kind.opaque, path="doubled"), (np.eye(2),))
    assert found is not None
    assert "writes into its argument `x`" in found
