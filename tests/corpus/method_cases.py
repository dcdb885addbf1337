"""Calls of Tensor's methods, as expressions that mean the same to gradscribe and to PyTorch, or to ndarray."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_RNG = np.random.default_rng(7)
ARRAYS: dict[str, Any] = {
    "x": np.array([[0.5, -1.25, 2.0], [3.0, 0.25, -0.75]]),
    "y": np.array([[1.5, 0.5, -2.0], [0.75, -1.0, 2.5]]),
    "p": np.array([[0.2, 0.9, 0.4], [0.6, 0.3, 0.7]]),  # within 0 and 1
    "v": np.array([1.0, -2.0, 0.5]),
    "u": np.array([0.25, 1.5]),
    "s": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.25], [0.5, -0.25, 2.0]]),  # positive definite
    "b": _RNG.normal(size=(2, 2, 3)),
    "c": _RNG.normal(size=(2, 3, 2)),
    "k": np.array(1.75),
    "z": np.array([1.0 + 2.0j, -0.5j, 3.0 + 0.0j]),
    "m": np.array([[True, False, True], [False, False, True]]),
    "n": np.array([[3, -2, 7], [0, 5, 12]]),
    "o": np.array([[2, 3, 4], [5, 1, 8]]),
    "i": np.array([[0, 2], [1, 1]]),
    "h": np.array([[0, 2], [1, 0]]),
    "j": np.array([2, 0]),
    "q": np.array([0.25, 0.5]),
    "w": np.array([[3, 1, 1, 3, 3], [3, 1, 1, 3, 3], [2, 2, 1, 1, 3]]),
}
DIFFERENTIATED = ("x", "y", "p", "v", "u", "s", "b", "c", "k", "z")

# What ndarray means by it, too.
NUMPY = """
x.all() | x.all(axis=1) | m.any() | m.any(axis=0) | x.argmax() | x.argmax(1) | x.argmax(axis=1, keepdims=True)
x.argmin() | x.argmin(0) | x.argsort() | x.argsort(0) | x.argsort(axis=1) | x.clip(0.0, 1.0) | x.clip(min=0.0)
x.conj() | z.conj() | x.cumprod() | x.cumprod(1) | x.cumsum() | x.cumsum(0) | x.diagonal() | b.diagonal(0, 1, 2)
x.dot(v) | v.dot(v) | x.dtype | z.imag | k.item() | x.item(3) | x.itemsize | x.max() | x.max(0)
x.max(1, keepdims=True) | x.max(axis=1) | x.mean() | x.mean(0) | x.mean(axis=1, keepdims=True) | x.min() | x.min(1)
x.mT | x.nbytes | x.ndim | n.nonzero() | x.prod() | x.prod(1) | x.ravel() | x.ravel("F") | z.real | x.repeat(2)
x.repeat(2, 1) | x.repeat([1, 2, 3], axis=1) | x.reshape(3, 2) | x.reshape((6,)) | x.reshape(-1, order="F") | x.round()
x.round(1) | x.shape | x.size | x[None].squeeze() | x[None].squeeze(0) | x.std() | x.std(0) | x.std(axis=1, ddof=1)
x.sum() | x.sum(1) | x.sum(axis=0, keepdims=True) | x.swapaxes(0, 1) | x.T | b.T | x.take(j) | x.take(j, 1) | x.tolist()
s.trace() | s.trace(1) | x.transpose() | x.transpose(1, 0) | b.transpose((2, 0, 1)) | x.var() | x.var(1)
x.var(axis=0, ddof=1, keepdims=True) | x.flatten() | x.flatten("F") | x.strides
"""

# What PyTorch means by it, too: the forms with its words, and the names that ndarray has not.
TORCH = """
x.abs() | x.absolute() | x.detach().frexp() | z.abs() | p.acos() | (x + 3).acosh() | x.add(y) | x.add(y, alpha=2)
x.add(1) | v.addcdiv(v + 3, v + 4, value=0.5) | v.addcmul(v, x, value=2) | x.mm(c[0]).addmm(x, c[0], beta=0.5, alpha=2)
u.addmv(x, v) | x.addr(u, v, alpha=3) | s[:2, :2].addbmm(b, c) | b.bmm(c).baddbmm(b, c, beta=2) | x.adjoint()
z[None].adjoint() | x.all(dim=1) | x.allclose(x + 1e-12) | x.allclose(y) | x.amax() | x.amax(1) | x.amax(dim=(0, 1))
x.amax(dim=1, keepdim=True) | x.amin(0) | x.aminmax() | x.aminmax(dim=1) | z.angle() | m.any(dim=1, keepdim=True)
p.arccos() | (x + 3).arccosh() | p.arcsin() | x.arcsinh() | x.arctan() | p.arctanh() | x.arctan2(y) | x.argmax(dim=1)
x.argmax(dim=1, keepdim=True) | x.argmin(dim=0) | x.argsort(dim=0) | x.argsort(dim=1, descending=True)
x.argsort(descending=True) | n.argwhere() | p.asin() | x.asinh() | x.atan() | x.atan2(y) | p.atanh()
o.flatten().bincount() | o.flatten().bincount(minlength=12) | n.bitwise_and(o) | n.bitwise_left_shift(o)
n.bitwise_not() | n.bitwise_or(o) | n.bitwise_right_shift(o) | n.bitwise_xor(o) | b.bmm(c) | x.bool()
v.broadcast_to((2, 3)) | n.byte() | x.cdouble() | x.ceil() | x.cfloat() | n.char() | s.cholesky()
s.cholesky(upper=True) | x.chunk(2, 1) | x.chunk(5, dim=1) | x.chunk(1) | x.clamp(-1.0, 1.0) | x.clamp(min=0.0)
x.clamp(max=y) | x.clamp_max(1.0) | x.clamp_min(0.25) | x.clone() | z.conj_physical() | x.T.contiguous() | x.copysign(y)
s.corrcoef() | x.cos() | p.cosh() | n.count_nonzero() | n.count_nonzero(dim=1) | s.cov() | s.cov(correction=0) | x.cpu()
x.cross(y) | x.cross(y, dim=1) | x.cummax(1) | x.cummin(0) | n.cummax(dim=1) | x.cumprod(dim=1) | x.cumsum(dim=0)
x.deg2rad() | s.det() | v.diag() | s.diag(1) | x.diag_embed() | x.diag_embed(1) | x.diag_embed(-1, 0, 2) | v.diagflat()
b.diagonal(dim1=1, dim2=2) | b.diagonal(offset=1, dim1=0, dim2=2) | s.diagonal_scatter(v)
s.diagonal_scatter(u, offset=1) | s.diagonal_scatter(u, -1) | x.diff() | x.diff(dim=0) | x.diff(2) | (p + 1).digamma()
x.dim() | x.dist(y) | x.dist(y, 1) | x.div(y) | x.div(y, rounding_mode="floor") | x.div(y, rounding_mode="trunc")
n.div(o, rounding_mode="trunc") | n.div(o, rounding_mode="floor") | x.divide(2) | v.dot(v) | n.double()
x.element_size() | x.eq(y) | n.equal(o) | n.equal(n) | x.erf() | x.erfc() | p.erfinv() | x.exp() | x.exp2()
u[:, None].expand(2, 3) | u[:, None].expand(-1, 3) | v.expand(4, 2, 3) | v.expand((2, 3)) | v.expand_as(x) | x.expm1()
x.sum_to_size(3) | x.sum_to_size(2, 1) | x.sum_to_size((1, 1))
x.fix() | b.flatten(1) | b.flatten(0, 1) | b.flatten(start_dim=1, end_dim=2) | x.flip(0) | x.flip(0, 1) | x.flip((1,))
x.flip(dims=(0,)) | x.fliplr() | x.flipud() | x.float() | x.float_power(2) | x.floor() | n.floor_divide(o) | x.fmax(y)
x.fmin(y) | x.fmod(y) | x.frac() | x.gather(1, i) | x.gather(0, i[:, :1]) | s.gather(1, i) | n.gcd(o) | x.ge(y)
u.ger(v) | x.greater(y) | x.greater_equal(y) | x.gt(0) | x.half() | x.detach().heaviside(y.detach()) | x.hypot(y)
p.i0() | o.double().igamma(p) | o.double().igammac(p + 1) | x.index_add(1, j, y[:, :2])
x.index_add(0, j[1:], y[:1], alpha=2) | x.index_copy(1, j, y[:, :2]) | x.index_fill(1, j, 7.0)
x.index_put((j // 2,), v) | x.index_put((j - 1, j), u) | x.index_put((j * 0, j * 0), u, accumulate=True)
x.index_select(1, j) | x.index_select(0, j[1:]) | s.index_select(dim=0, index=j) | x.inner(y) | v.inner(v) | x.int()
s.inverse() | x.is_complex() | z.is_complex() | x.is_contiguous() | x.T.is_contiguous() | x.is_floating_point()
n.is_floating_point() | k.is_nonzero() | x.is_same_size(y) | x.is_signed() | x.isclose(x + 1e-9) | x.isfinite()
x.isinf() | x.isnan() | x.isneginf() | x.isposinf() | x.isreal() | x.kron(y) | x.kthvalue(2)
x.kthvalue(1, 0, keepdim=True) | n.lcm(o) | x.ldexp(o) | x.le(y) | x.lerp(y, 0.25) | x.lerp(y, p) | x.less(y)
x.less_equal(y) | (p + 1).lgamma() | p.log() | p.log10() | p.log1p() | p.log2() | x.log_softmax(1)
x.log_softmax(dim=0) | x.logaddexp(y) | x.logaddexp2(y) | s.logdet() | x.logical_and(y) | x.logical_not()
x.logical_or(y) | x.logical_xor(y) | p.logit() | p.logit(eps=0.3) | x.logsumexp(1) | x.logsumexp(dim=0, keepdim=True)
x.logsumexp((0, 1)) | x.long() | x.lt(y) | x.masked_fill(m, 9.0) | v.masked_fill(m, 9.0) | x.masked_fill(m, k)
x.masked_scatter(m, y) | x.masked_select(m) | v.masked_select(m) | x.masked_select(v > 0) | x.matmul(c[0]) | b.matmul(c)
s.matrix_power(3) | x.max(dim=1) | x.max(dim=0, keepdim=True) | x.max(1, keepdim=True) | x.max(y) | x.maximum(y)
x.mean(dim=1) | x.mean(dim=(0, 1), keepdim=True) | x.median() | x.median(1) | x.median(dim=0, keepdim=True)
b.flatten().median() | x.min(dim=1) | x.min(0, keepdim=True) | x.min(y) | x.minimum(y) | x.mm(s) | b.movedim(0, 2)
b.movedim((0, 1), (1, 2)) | x.msort() | x.mul(y) | x.multiply(2) | x.mv(v) | (x / 0).nan_to_num()
(x / 0).nan_to_num(posinf=7.0, neginf=-7.0) | x.nanmean() | x.nanmean(dim=1) | x.nanquantile(0.25) | x.nansum()
x.nansum(dim=0, keepdim=True) | x.narrow(1, 1, 2) | x.narrow(1, -2, 2) | x.ne(y) | x.neg() | x.negative() | x.nelement()
x.ndimension() | x.nextafter(y) | n.nonzero(as_tuple=True) | n.nonzero(as_tuple=False) | x.norm() | x.norm(1)
x.norm(2, dim=1) | x.norm(p=3, dim=0) | x.norm(float("inf")) | x.norm(dim=(0, 1)) | x.norm(2, 1, True) | (x * 0).norm()
x.not_equal(y) | x.numel() | u.outer(v) | b.permute(2, 0, 1) | b.permute((1, 0, 2)) | b.permute(dims=(2, 1, 0))
s.pinverse() | (p + 1).polygamma(1) | x.positive() | p.pow(y) | x.pow(2) | x.prod(dim=1) | s.qr() | x.quantile(0.3)
x.quantile(q, dim=1) | x.quantile(0.5, dim=0, keepdim=True, interpolation="lower") | x.rad2deg() | x.reciprocal()
x.relu() | (x * 0).relu() | x.remainder(y) | n.remainder(o) | v.repeat(4, 2, 1) | x.repeat_interleave(2)
x.repeat_interleave(2, dim=1) | x.repeat_interleave(j + 1, dim=0) | x.reshape((3, 2)) | y.reshape_as(x.T) | b.roll(1, 0)
x.roll(2) | x.roll(shifts=(1, -1), dims=(0, 1)) | x.rot90() | x.rot90(2, (0, 1)) | x.round() | x.round(decimals=1)
p.rsqrt() | x.scatter(1, h, y[:, :2]) | x.scatter(1, h[:1], 5.0) | x.scatter(1, h, value=5.0)
x.scatter(0, j[None] // 2, y[:1, :2]) | x.scatter_add(1, i, y[:, :2]) | x.scatter_add(0, i[:, :1] * 0, y[:, :1])
x.scatter_reduce(1, i, y[:, :2], "sum") | x.scatter_reduce(1, i, y[:, :2], reduce="sum", include_self=False)
x.select(1, 2) | b.select(0, -1) | x.select_scatter(u, 1, 0) | n.sgn() | n.short() | x.sigmoid() | x.sign()
x.signbit() | x.sin() | x.sinc() | x.sinh() | x.slice_scatter(y[:, :2], 1, 1) | x.slice_scatter(y[:1], start=1)
x.size() | x.size(0) | x.size(-1) | s.slogdet() | x.softmax(1) | x.softmax(dim=0) | x.sort(dim=1)
x.sort(dim=0, descending=True) | x.sort(descending=True) | b.split(1) | x.split(2, dim=1) | x.split([1, 2], 1)
x.split(2, 1) | p.sqrt() | x.square() | x.std(dim=0, unbiased=True) | x.std(dim=1, correction=1, keepdim=True)
x.stride() | x.T.stride() | x.stride(0) | x.sub(y) | x.sub(y, alpha=3) | x.subtract(1) | x.sum(dim=1)
x.sum(dim=(0, 1)) | x.sum(dim=0, keepdim=True) | b.swapdims(0, 2) | x.t() | v.t() | x.take_along_dim(i, 1)
x.take_along_dim(j) | x.tan() | x.tanh() | x.tensor_split(2, 1) | x.tensor_split((1,), dim=1) | x.tile(2)
x.tile((2, 1)) | v.tile(2, 2) | x.topk(2) | x.topk(1, 0) | x.topk(2, largest=False) | x.topk(2, dim=1)
b.transpose(0, 2) | b.transpose(1, -1) | x.transpose(dim0=0, dim1=1) | s.tril() | s.tril(-1) | b.triu()
s.triu(diagonal=1) | x.true_divide(y) | x.trunc() | x.type_as(n) | x.unbind() | x.unbind(dim=1)
b.flatten().unflatten(0, (3, 4)) | b.unflatten(-1, (1, -1)) | b.flatten().unfold(0, 3, 2) | x.unfold(1, 2, 1)
o.unique() | o.unique(return_counts=True) | x.unsqueeze(0) | x.unsqueeze(-1) | x.unsqueeze(dim=1)
x.var(dim=1, unbiased=True) | x.var(dim=(0, 1), unbiased=False) | x.view(3, 2) | x.view(-1) | x.view((6, 1))
x.view(-1, 2) | x.view_as(c[0]) | x.where(x > 0, y) | x.where(m, 0.0) | p.xlogy(p) | v.vdot(v) | x.new_zeros(2)
x.new_ones((2, 2)) | x.new_full((2,), 3.0) | n.new_tensor([1, 2]) | x.new_empty(0) | x.is_cuda | x.is_sparse | x.is_cpu
x.get_device() | x.storage_offset() | z[None].H | z[None].mH | b.moveaxis(0, -1) | x.hsplit(3) | x.vsplit(2)
b.dsplit((1,)) | x.split_with_sizes([1, 2], 1) | x.itemsize | x.nbytes | x.ndim | x.is_inference() | x.cosh()
x.storage_offset() | x.narrow_copy(1, 1, 2) | x.unsafe_chunk(2, 1) | x.unsafe_split(2, 1)
x.unsafe_split_with_sizes([1, 2], 1) | x.hardshrink() | x.hardshrink(1.0) | x.prelu(k) | x.prelu(v) | v.prelu(k)
(p + 1).mvlgamma(2) | x.logcumsumexp(1) | (100 * b).logcumsumexp(0) | k.logcumsumexp(0) | (n - o).mode() | w.mode(0)
w.mode(1, keepdim=True) | (x - x).mode() | k.mode() | (x / (x > 0)).log().nanmedian() | p.nanmedian(1)
(x / (x > 0)).log().nanmedian(1, keepdim=True) | x.histc(4) | x.histc(bins=5, min=-1, max=2) | x.renorm(2, 0, 1.5)
b.renorm(1, 2, 2.0) | w.unique_consecutive() | w[0].unique_consecutive(True, True) | w.unique_consecutive(return_counts=True)
w.unique_consecutive(return_inverse=True, dim=0) | x.svd().S | s.svd()[1] | (lambda f: f.U * f.S @ f.V.mH)(x.svd())
x.svd(compute_uv=False) | (lambda f: f.U.abs())(x.detach().svd(some=False)) | u[:, None].cholesky_solve(s[:2, :2].cholesky())
x.T.cholesky_solve(s.cholesky(upper=True), upper=True) | s.cholesky().cholesky_inverse() | s.matrix_exp()
(s / 4).triu().cholesky_inverse(True) | x.output_nr
x.gather(1, i, sparse_grad=False)
"""

# Written in place, into a copy: the same to PyTorch.
IN_PLACE = """
add_(y) | add_(y, alpha=2) | sub_(y) | mul_(y) | div_(y) | pow_(2) | neg_() | abs_() | exp_() | sigmoid_() | relu_()
tanh_() | clamp_(-1.0, 1.0) | clamp_min_(0.0) | clamp_max_(0.5) | lerp_(y, 0.5) | addcmul_(y, y) | addcdiv_(y, p)
masked_fill_(m, 2.0) | masked_scatter_(m, y) | scatter_(1, h, y[:, :2]) | scatter_add_(1, i, y[:, :2])
index_add_(1, j, y[:, :2]) | index_copy_(1, j, y[:, :2]) | index_fill_(1, j, 4.0) | index_put_((j - 1, j), u) | tril_()
triu_() | zero_() | fill_(3.0) | copy_(y) | eq_(y) | lt_(y) | cumsum_(1) | addmm_(x, s) | remainder_(y) | floor_()
fill_diagonal_(8.0) | put_(j, u) | put_(j, u, accumulate=True) | nan_to_num_() | hypot_(y) | atan2_(y) | round_()
square_() | reciprocal_() | renorm_(2, 1, 0.5)
"""

# Of random numbers, of memory, of the graph: tests of their own.
ELSEWHERE = frozenset(
    """
    bernoulli bernoulli_ cauchy_ exponential_ geometric_ log_normal_ multinomial normal_ random_ reinforce uniform_ volatile
    data data_ptr device untyped_storage backward detach detach_ grad grad_fn is_leaf register_hook numpy to type
    register_post_accumulate_grad_hook requires_grad requires_grad_ retain_grad retains_grad put
    """.split()  # noqa: SIM905
)


def calls(text: str) -> list[str]:
    """The expressions of a table."""
    return [call.strip() for line in text.strip().splitlines() for call in line.split(" | ") if call.strip()]


def rows(text: str) -> list[str]:
    """The lines of a table."""
    return text.strip().splitlines()


def names_in(text: str) -> set[str]:
    """The methods and attributes that a table calls."""
    return set(re.findall(r"\.([A-Za-z_]\w*)", text))


def evaluate(call: str, values: dict[str, Any]) -> list[Any]:
    """The results of a call, flat: pairs and lists are taken apart."""
    with np.errstate(all="ignore"):
        found = eval(call, {**values})
    return list(found) if isinstance(found, (tuple, list)) else [found]
