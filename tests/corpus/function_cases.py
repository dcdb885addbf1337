"""Calls of PyTorch's functions under `gs.`, as expressions that mean the same to both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

ARRAYS: dict[str, Any] = {
    "x": np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]]),
    "w": np.array([[1.0, 2.0], [0.5, 1.0], [2.0, -1.0]]),
    "v": np.array([1.0, 2.0, 3.0]),
    "z": np.array([1.0 + 2.0j, -0.5j]),
    "k": np.array([1, 2, 3]),
}
DIFFERENTIATED = ("x", "w", "v", "z")

CALLS = """
matmul(x, w) | mm(x, w) | mv(x, v) | dot(v, v) | bmm(x[None], w[None]) | sin(x) | exp(x) | log(x) | sum(x) | sum(x, 1)
sum(x, dim=1, keepdim=True) | sum(x, (0, 1)) | mean(x) | mean(x, 0) | mean(x, dim=0, keepdim=True) | relu(x-3)
sigmoid(x) | tanh(x) | abs(x-3) | sqrt(x) | pow(x, 2) | pow(x, x) | pow(2., x) | pow(2, x) | clamp(x, 2., 4.)
clamp(x, min=2.) | cat([x, x]) | cat((x, x), 1) | cat([x, x], dim=1) | cat([x, x], axis=0) | stack([x, x], 1)
stack([v, v], dim=-1) | where(x>3, x, x*2) | where(x>3) | where(x>3, x, 0.) | max(x) | max(x, 1)
max(x, dim=1, keepdim=True) | max(x, x*0+3) | min(x, 0) | min(x) | argmax(x) | argmax(x, 1)
argmax(x, dim=1, keepdim=True) | argmin(x, 0) | outer(v, v) | einsum("ij, jk->ik", x, w) | einsum("i, i->", [v, v])
norm(x) | norm(x, dim=1) | norm(x, 1) | norm(x, p=2, dim=1, keepdim=True) | std(x) | std(x, 1)
std(x, dim=0, unbiased=False) | var(x) | var(x, 1, True, True) | var(x, False) | std(x, correction=0) | sort(x)
sort(x, 0, True) | sort(x, descending=True) | argsort(x, 1) | argsort(x, descending=True) | transpose(x, 0, 1)
squeeze(x[None]) | squeeze(x[None], 0) | squeeze(x, 0) | unsqueeze(x, 0) | nonzero(x>3) | nonzero(x>3, as_tuple=True)
median(x) | median(x, 1) | median(x, dim=0, keepdim=True) | mode(v) | topk(x, 2) | topk(x, 2, 0) | cumsum(x, 1)
cumsum(x, dim=0) | cumprod(x, 1) | prod(x) | prod(x, 1) | prod(x, dim=1, keepdim=True) | logsumexp(x, 1) | softmax(x, 1)
softmax(x, dim=0) | log_softmax(x, 1) | flatten(x) | flatten(x, 0, 1) | reshape(x, (3, 2)) | reshape(x, (-1, ))
permute(x, (1, 0)) | permute(x, dims=(1, 0)) | t(x) | diag(v) | diag(x@w) | trace(x@w) | tril(x) | triu(x, 1)
flip(x, (0, )) | flip(x, dims=[1]) | roll(x, 1, 0) | roll(x, 1) | rot90(x) | movedim(x, 0, 1) | clone(x) | detach(x)
split(x, 1, 1) | split(x, [1, 2], dim=1) | chunk(x, 2) | chunk(x, 3, dim=1) | unbind(x) | unbind(x, 1)
index_select(x, 1, t.tensor([0, 2])) | gather(x, 1, t.tensor([[0], [1]])) | masked_select(x, x>3)
take(x, t.tensor([0, 4])) | allclose(x, x) | isclose(x, x) | equal(x, x) | eq(x, x) | lt(x, 3) | gt(x, 3.)
dist(x, x+1) | det(x@w) | inverse(x@w) | inner(v, v) | kron(v, v) | cross(v, v*2+1) | tensordot(x, w, 1)
tensordot(x, w, dims=([1], [0])) | addmm(x@w, x, w) | addmm(x@w, x, w, beta=0.5, alpha=2) | addmv(v[:2], x, v)
add(x, x) | add(x, 2) | add(x, x, alpha=2) | sub(x, 1) | mul(x, x) | mul(x, 2.) | div(x, 2) | div(x, x)
true_divide(x, 2) | neg(x) | reciprocal(x) | square(x) | rsqrt(x) | exp2(x) | expm1(x) | log1p(x) | log2(x) | log10(x)
floor(x) | ceil(x) | round(x) | trunc(x) | sign(x) | cos(x) | tan(x) | asin(x/10) | acos(x/10) | atan(x) | atan2(x, x)
sinh(x) | cosh(x) | erf(x) | erfc(x) | lgamma(x) | digamma(x) | maximum(x, x*0+3) | minimum(x, x*0+3) | fmod(x, 2)
remainder(x, 2) | lerp(x, x*2, 0.5) | logaddexp(x, x) | hypot(x, x) | all(x>0) | any(x>8, 1) | all(x>1, dim=0)
isnan(x) | isinf(x) | isfinite(x) | numel(x) | is_tensor(x) | is_floating_point(x) | is_complex(x) | amax(x, 1)
amin(x, (0, 1)) | aminmax(x) | count_nonzero(x) | diff(x) | broadcast_to(v, (2, 3)) | tile(v, (2, ))
repeat_interleave(v, 2) | hstack([v, v]) | vstack([v, v]) | dstack([v, v]) | column_stack([v, v]) | meshgrid(v, v)
meshgrid(v, v, indexing="xy") | meshgrid(v, v, indexing="ij") | broadcast_tensors(v, x) | atleast_1d(v[0])
atleast_2d(v) | atleast_2d(v, v) | trapezoid(v) | trapz(x, dx=2.) | trapezoid(x, x, dim=0)
searchsorted(v, t.tensor([1.5, 2.])) | searchsorted(v, t.tensor([1.5, 2.]), right=True)
bucketize(t.tensor([1.5, 2.]), v) | isin(x, t.tensor([1., 9.])) | real(x) | quantile(x, 0.3) | quantile(x, 0.3, dim=1)
nansum(x) | nanmean(x, 1) | bincount(t.tensor([0, 1, 1])) | unique(t.tensor([3, 1, 3])) | cov(x) | corrcoef(x)
logcumsumexp(x, 1) | cummax(x, 1) | kthvalue(v, 2) | renorm(x, 2, 0, 1.) | scatter(x, 1, t.tensor([[0], [1]]), 5.)
scatter_add(x, 1, t.tensor([[0], [1]]), x[:, :1]) | index_add(x, 0, t.tensor([0]), x[:1]) | masked_fill(x, x>3, 0.)
narrow(x, 1, 0, 2) | select(x, 1, 0) | swapaxes(x, 0, 1) | moveaxis(x, 0, 1) | ravel(x) | nan_to_num(x)
heaviside(x.detach(), x.detach()) | float_power(x, 2) | floor_divide(x.detach(), 2) | std_mean(x, 1) | var_mean(x)
histc(x.detach(), 4) | complex(x, x) | polar(x, x) | matrix_power(x@w, 2) | svd(x)[1] | qr(w)[1] | cholesky(w.T@w)
logdet(x@x.T) | slogdet(x@x.T) | pinverse(x) | matrix_exp(x@w*0.01) | multiply(x, x) | subtract(x, x) | divide(x, x)
greater(x, 3) | logical_and(x>1, x<5) | bitwise_and(x>1, x>3) | logit(x/10) | deg2rad(x) | sinc(x) | xlogy(x, x)
copysign(x, x) | frac(x) | clip(x, 2., 4.) | absolute(x) | argwhere(x>3) | take_along_dim(x, t.tensor([[0], [1]]), 1)
tensor_split(x, 3, 1) | hsplit(x, 3) | vsplit(x, 2) | fliplr(x) | diagonal(x@w) | diagflat(v) | diag_embed(v)
unflatten(v, 0, (3, 1)) | msort(x) | baddbmm((x@w)[None], x[None], w[None]) | ger(v, v) | vdot(v, v)
addr((x@w), v[:2], v[:2]) | view_as_real(z) | view_as_complex(w[:2].reshape(2, 2)) | vander(k, 3)
vander(k, N=3, increasing=True) | matmul(input=x, other=w) | add(input=x, other=x, alpha=3) | sum(input=x, dim=0)
cat(tensors=(x, x), dim=1)
"""


def calls() -> list[str]:
    """The expressions of the table, `f(...)` for `gs.f(...)`."""
    return [call.strip() for line in CALLS.strip().splitlines() for call in line.split(" | ") if call.strip()]


def name_of(call: str) -> str:
    """The function that an expression calls."""
    return call.partition("(")[0]
