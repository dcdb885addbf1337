"""The table of `torch.Tensor`'s methods: the module of each, and notes, from which docs/tensor-methods.md is written."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

__all__ = [
    "ABSENT",
    "ELSEWHERE",
    "FUNCTIONS",
    "HOMES",
    "IN_PLACE",
    "NOTES",
    "OTHER_FUNCTIONS",
    "Later",
    "Methods",
    "install",
]

# The modules whose METHODS hold them. They are loaded when one of their names is first asked for.
HOMES = {
    "torch_arithmetic": (
        "abs acos acosh add addcdiv addcmul allclose angle arctan2 asin asinh atan atan2 atanh bitwise_and bitwise_left_shift "
        "bitwise_not bitwise_or bitwise_right_shift bitwise_xor clamp clamp_max clamp_min conj_physical copysign deg2rad "
        "digamma div divide eq equal erf erfc erfinv fix float_power floor_divide fmax fmin fmod frac gcd ge greater "
        "greater_equal gt hardshrink heaviside hypot i0 igamma igammac is_nonzero isclose isneginf isposinf isreal lcm ldexp "
        "le lerp less less_equal lgamma logaddexp logaddexp2 logical_and logical_or logical_xor logit lt maximum minimum "
        "mul multiply mvlgamma nan_to_num ne neg nextafter not_equal polygamma pow prelu rad2deg relu remainder rsqrt "
        "sgn sigmoid sign sinc sub subtract true_divide xlogy"
    ),
    "torch_shaping": (
        "H adjoint broadcast_to clone contiguous diag diag_embed diagflat diagonal expand expand_as flatten flip fliplr "
        "flipud mH moveaxis movedim permute repeat repeat_interleave reshape_as roll rot90 sum_to_size swapdims t tile transpose "
        "tril triu unflatten unsqueeze view view_as"
    ),
    "torch_parts": (
        "chunk dsplit hsplit narrow narrow_copy select split split_with_sizes tensor_split unbind unfold unsafe_chunk "
        "unsafe_split unsafe_split_with_sizes vsplit"
    ),
    "torch_reductions": (
        "amax amin aminmax argsort bincount corrcoef count_nonzero cov cummax cummin diff dist kthvalue log_softmax "
        "logsumexp max median min msort nanmean nanquantile nansum norm quantile softmax sort topk unique"
    ),
    "torch_statistics": "histc logcumsumexp mode nanmedian renorm unique_consecutive",
    "torch_indexing": (
        "argwhere diagonal_scatter fill_diagonal_ gather index_add index_copy index_fill index_put index_select masked_fill "
        "masked_scatter masked_select nonzero put_ scatter scatter_add scatter_reduce select_scatter slice_scatter "
        "take_along_dim where"
    ),
    "torch_linalg": (
        "addbmm addmm addmv addr baddbmm bmm cholesky cholesky_inverse cholesky_solve cross det ger inner inverse kron logdet "
        "matmul matrix_exp matrix_power mm mv outer pinverse qr slogdet svd vdot"
    ),
    "torch_memory": (
        "bernoulli_ bool byte cauchy_ cdouble cfloat char cpu data_ptr dim double element_size exponential_ float geometric_ "
        "get_device half int is_complex is_contiguous is_cpu is_cuda is_floating_point is_same_size is_signed is_sparse "
        "log_normal_ long ndimension nelement new_empty new_full new_ones new_tensor new_zeros normal_ numel random_ short "
        "storage_offset stride to type type_as uniform_ untyped_storage"
    ),
}  # fmt: skip

# Those of which `name_` writes the result into the tensor itself (beside every function of one array).
IN_PLACE = (
    "add addbmm addcdiv addcmul addmm addmv addr arctan2 atan2 baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or "
    "bitwise_right_shift bitwise_xor clamp clamp_max clamp_min clip conj_physical copysign cumprod cumsum digamma div divide "
    "eq erf erfc erfinv fix float_power floor_divide fmod frac gcd ge greater greater_equal gt heaviside hypot i0 igamma "
    "igammac index_add index_copy index_fill index_put lcm ldexp le lerp less less_equal lgamma logical_and logical_or "
    "logical_xor logit lt masked_fill masked_scatter mul multiply mvlgamma nan_to_num ne nextafter not_equal polygamma pow relu "
    "remainder renorm round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sinc sub subtract tril triu true_divide "
    "xlogy abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil cos cosh deg2rad "
    "exp exp2 expm1 floor log log10 log1p log2 logical_not neg negative rad2deg reciprocal sin sinh sqrt square tan tanh trunc"
)

# What there is to say of a name: how NumPy's meaning differs from PyTorch's, or what is not the same here.
NOTES = {
    "all": "`dim`, `keepdim` are `axis`, `keepdims`",
    "any": "`dim`, `keepdim` are `axis`, `keepdims`",
    "bernoulli": "of the older API, as `multinomial`: the result takes `.reinforce(reward)`",
    "argsort": "`axis=-1`, `kind`; with `dim` or `descending` PyTorch's, in which equal elements stay in their order",
    "backward": "fills `.grad` of the leaves",
    "clip": "NumPy's `clip(min, max)`; `clamp` is the same",
    "contiguous": "a copy where the elements do not lie in C order",
    "copy_": "casts as NumPy's assignment does",
    "cumprod": "of all elements in order without an axis",
    "cumsum": "of all elements in order without an axis",
    "cpu": "the tensor itself",
    "device": "the text 'cpu'",
    "diagonal": "`offset, axis1, axis2`; `dim1`, `dim2` too",
    "dot": "NumPy's `dot`, also of matrices",
    "dtype": "NumPy's dtype",
    "flatten": "`flatten()` and `flatten('F')` copy, as in NumPy; `flatten(1)`, `flatten(start_dim=1, end_dim=2)` are PyTorch's",
    "flip": "a view",
    "float": "float32, as in PyTorch (Python's and NumPy's `float` is float64: `double()`)",
    "gather": "negative positions count from the end, where PyTorch raises; with `sparse_grad=True` the gradient is dense, too",
    "imag": "zeros of a real tensor, where PyTorch raises",
    "int": "int32, as in PyTorch (NumPy's `int` is int64: `long()`)",
    "item": "also `item(i)`, as ndarray has it",
    "itemsize": "bytes per element",
    "mT": "the last two axes swapped",
    "max": (
        "`max()`, `max(axis)`, `max(axis=, keepdims=)` give one tensor, as in NumPy; `max(dim=1)` and `max(1, keepdim=True)` are "
        "PyTorch's (values, indices), and `max(other)` is `maximum`"
    ),
    "mean": "`dim`, `keepdim` are `axis`, `keepdims`",
    "median": (
        "PyTorch's: of an even number the lesser one of the two in the middle (`np.median(t)` is their mean); of the whole "
        "equal elements share the gradient"
    ),
    "min": "as `max`",
    "nonzero": "a tuple of positions for each axis; `nonzero(as_tuple=False)` PyTorch's one tensor",
    "norm": "`p=\"fro\"` and numbers are vector norms, as in PyTorch",
    "numpy": "the array itself; of what requires grad under `no_grad`, or with `numpy(force=True)`, which detaches before",
    "prod": "`dim`, `keepdim` are `axis`, `keepdims`",
    "put": "in place, as in NumPy; `put_` is PyTorch's",
    "qr": "(Q, R); `some=False` is NumPy's \"complete\"",
    "ravel": "`order` too",
    "random_": "without bounds as many numbers as the dtype tells apart",
    "repeat": (
        "`repeat(2)` gives [a, a, b, b], `repeat(2, 1)` the same along axis 1, as in NumPy; three numbers or more are PyTorch's: "
        "`tile`"
    ),
    "reshape": "`order` too",
    "round": "`round(decimals)`",
    "scatter_reduce": "`reduce=\"sum\"` only",
    "scatter": "negative positions count from the end, where PyTorch raises; `reduce=\"add\"` only",
    "shape": "a tuple",
    "size": "an int that may be called: `t.size == 6`, `t.size() == (2, 3)`, `t.size(0) == 2`",
    "sort": "sorts in place and gives None; `sort(dim=)`, `sort(descending=)` give PyTorch's (values, indices)",
    "squeeze": "`dim` is `axis`; an axis of another length than one is an error, as in NumPy",
    "std": "divides by n, also with `dim`; `unbiased=True`, `correction=1` or `ddof=1` by n - 1",
    "sum": "`dim`, `keepdim` are `axis`, `keepdims`",
    "swapaxes": "a view",
    "T": "all axes in reverse order",
    "take": "`take(indices, axis)`; of all elements in order without an axis",
    "to": "a dtype, another tensor's, or 'cpu'",
    "topk": "of equal elements the first",
    "trace": "`offset`, `axis1`, `axis2` too",
    "transpose": (
        "`transpose(1, 0)` names all axes, as in NumPy, and of a matrix `transpose(0, 1)` is the matrix itself; two axes of a "
        "tensor with more, and `dim0=`, `dim1=`, are swapped, as in PyTorch"
    ),
    "type": "without a dtype the name of its own, such as 'float64'",
    "unfold": "a copy, where PyTorch gives a view",
    "unique": "in order, always; `dim` is NumPy's `axis`",
    "unsafe_chunk": "as `chunk`, of copies: each may be written in place",
    "unsafe_split": "as `split`, of copies: each may be written in place",
    "unsafe_split_with_sizes": "as `split_with_sizes`, of copies: each may be written in place",
    "untyped_storage": "with `data_ptr()`, `nbytes()`",
    "var": "as `std`",
    "view": "`view(2, 3)` and `view(-1)` are PyTorch's; `view(dtype)` looks at the bytes, and has no gradient",
}  # fmt: skip

# What is not here, by the reason.
ABSENT = {
    "A Tensor is a dense array of NumPy's on the CPU: there is nothing to ask or to do.": (
        "bfloat16 chalf ccol_indices coalesce col_indices const_data_ptr crow_indices cuda dense_dim dequantize dim_order "
        "hash_tensor indices int_repr ipu is_coalesced is_distributed is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_nested "
        "is_pinned is_quantized is_shared is_sparse_csr is_vulkan is_xla is_xpu is_conj is_neg layout mtia pin_memory "
        "q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme record_stream "
        "resize_as_sparse_ resolve_conj resolve_neg row_indices share_memory_ slice_inverse smm sparse_dim sparse_mask "
        "sparse_resize_ sparse_resize_and_clear_ sspaddmm storage_type to_dense to_mkldnn to_padded_tensor to_sparse "
        "to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values xpu as_subclass module_load name "
        "grad_dtype"
    ),
    "It would give a tensor another shape or other memory under its name: write `x = x.squeeze()`.": (
        "as_strided as_strided_ as_strided_scatter resize resize_ resize_as resize_as_ set_ is_set_to squeeze_ storage "
        "swapaxes_ swapdims_ t_ transpose_ unsqueeze_"
    ),
    "NumPy has no counterpart, or it has no rule yet.": (
        "apply_ map_ map2_ eig geqrf histogram index_reduce index_reduce_ istft lstsq lu lu_solve new new_empty_strided "
        "nonzero_static orgqr ormqr solve stft symeig triangular_solve index"
    ),
}  # fmt: skip


# Names of PyTorch that are made by the class itself, by methods.py (NumPy's by their own name) or by inplace.py.
ELSEWHERE = (
    "abs absolute acos arccos arccosh arcsin arcsinh arctan arctanh argmax argmin ceil conj cos cosh data detach detach_ "
    "exp exp2 expm1 fill_ floor frexp grad grad_fn is_inference is_leaf isfinite isinf isnan log log10 log1p log2 "
    "logical_not multinomial nbytes ndim neg negative output_nr positive real reciprocal register_hook "
    "register_post_accumulate_grad_hook reinforce requires_grad requires_grad_ retain_grad retains_grad signbit sin sinh "
    "sqrt square tan tanh tolist trunc volatile zero_"
)

# Functions of PyTorch's namespace that are the method of that name: `gs.exp(t)`. torch_functions.py makes them, and the others.
FUNCTIONS = (
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax angle any "
    "arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argwhere asin asinh atan atan2 atanh baddbmm "
    "bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm broadcast_to ceil "
    "cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max clamp_min clip clone conj conj_physical copysign "
    "corrcoef cos cosh count_nonzero cov cross cummax cummin cumprod cumsum deg2rad det detach diag diag_embed diagflat "
    "diagonal diagonal_scatter diff digamma dist div divide dot dsplit eq equal erf erfc erfinv exp exp2 expm1 fix flatten "
    "flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac frexp gather gcd ge ger greater greater_equal gt "
    "hardshrink heaviside histc hsplit hypot i0 igamma igammac index_add index_copy index_fill index_put index_select inner "
    "inverse is_complex is_floating_point is_nonzero is_same_size is_signed isclose isfinite isinf isnan isneginf isposinf "
    "isreal kron kthvalue lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 log_softmax logaddexp logaddexp2 "
    "logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logsumexp lt masked_fill masked_scatter "
    "masked_select matmul matrix_exp matrix_power maximum mean median minimum mm mode moveaxis movedim msort mul multiply "
    "mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy ne neg negative nextafter norm "
    "not_equal numel outer permute pinverse polygamma positive pow prelu prod qr quantile rad2deg ravel reciprocal relu "
    "remainder renorm repeat_interleave reshape roll rot90 round rsqrt scatter scatter_add scatter_reduce select "
    "select_scatter sgn sigmoid sign signbit sin sinc sinh slice_scatter slogdet softmax split split_with_sizes sqrt square "
    "sub subtract sum svd swapaxes swapdims t take take_along_dim tan tanh tensor_split tile topk trace tril triu "
    "true_divide trunc unbind unflatten unique unique_consecutive unsafe_chunk unsafe_split unsafe_split_with_sizes "
    "unsqueeze vdot vsplit xlogy "
)
OTHER_FUNCTIONS = (
    "argsort atleast_1d atleast_2d atleast_3d broadcast_tensors bucketize cat column_stack complex concat concatenate dstack "
    "einsum hstack imag is_tensor isin max meshgrid min nonzero polar real row_stack searchsorted sort squeeze stack std "
    "std_mean tensordot transpose trapezoid trapz vander var var_mean "
    "view_as_complex view_as_real vstack where"
)


class Methods(dict[str, Any]):
    """The methods of one module, by name."""

    def take(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Take a function in under its own name: a decorator."""
        self[fn.__name__] = fn
        return fn


class Later:
    """A method in a module that is loaded when it is first asked for."""

    __slots__ = ("home", "name", "owner")

    def __init__(self, owner: Any, name: str, home: str) -> None:
        self.owner, self.name, self.home = owner, name, home

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        found = importlib.import_module(f".{self.home}", __package__).METHODS[self.name]
        setattr(self.owner, self.name, found)
        return found.__get__(instance, cls)


def install(owner: Any) -> None:
    """Give a class the methods of the table."""
    for home, names in HOMES.items():
        for name in names.split():
            setattr(owner, name, Later(owner, name, home))
