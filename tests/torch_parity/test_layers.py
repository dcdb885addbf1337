"""The layers of gs.functional beside torch.nn.functional: values, gradients, running statistics, indices and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

from layer_cases import CALLS, Call, errors_of_both

pytestmark = pytest.mark.parity
torch: Any = pytest.importorskip("torch")
NEAR = {"rtol": 1e-10, "atol": 1e-12}


def of_torch(call: Call, arrays: list[Any], differentiated: bool) -> tuple[Any, list[Any]]:
    """PyTorch's value, and the gradients of the sum of its sines."""
    given = [
        torch.tensor(a, requires_grad=differentiated and isinstance(s, tuple)) if isinstance(a, np.ndarray) else a
        for a, s in zip(arrays, call.shapes, strict=True)
    ]
    options = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in call.options.items()}
    out = getattr(torch.nn.functional, call.function)(*given, **options)
    if differentiated:
        torch.sin(out).sum().backward()
    return out.detach().numpy(), [t.grad.numpy() for t in given if getattr(t, "requires_grad", False)]


def of_ours(call: Call, arrays: list[Any]) -> tuple[Any, Any]:
    """The same of gradscribe."""

    def loss(*given: Any) -> Any:
        out = getattr(F, call.function)(*given, **call.options)
        return np.sum(np.sin(out)), out

    (_, out), grads = gs.value_and_grad(loss, argnums=call.differentiated, has_aux=True)(*arrays)
    return out, grads


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name: str) -> None:
    call = CALLS[name]
    arrays = call.arrays()
    expected, expected_grads = of_torch(call, arrays, True)
    found, grads = of_ours(call, arrays)
    assert found.dtype == np.float64
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, **NEAR)
    assert len(grads) == len(expected_grads)
    for g, e in zip(grads, expected_grads, strict=True):
        assert g.shape == e.shape
        np.testing.assert_allclose(g, e, **NEAR)
    arrays = call.arrays(np.float32)
    expected, _ = of_torch(call, arrays, False)
    found = getattr(F, call.function)(*arrays, **call.options)
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def test_running_statistics() -> None:
    for function, shape in (("batch_norm", (6, 4)), ("batch_norm", (3, 4, 2, 5)), ("instance_norm", (3, 4, 2, 5))):
        options: Any = {"training": True} if function == "batch_norm" else {}
        found, expected = ([np.linspace(-1, 1, 4), np.linspace(1, 2, 4)] for _ in range(2))
        theirs = [torch.tensor(v) for v in expected]
        x = np.random.default_rng(0).normal(size=shape)
        for k in range(3):
            out = getattr(F, function)(x + k, *found, momentum=0.3, **options)
            like = getattr(torch.nn.functional, function)(torch.tensor(x + k), *theirs, momentum=0.3, **options)
            np.testing.assert_allclose(out, like.numpy(), **NEAR)
        for f, e in zip(found, theirs, strict=True):
            np.testing.assert_allclose(f, e.numpy(), **NEAR)


@pytest.mark.parametrize("options", [
    {"kernel_size": 2}, {"kernel_size": (3, 2), "stride": (1, 2), "padding": 1}, {"kernel_size": 2, "stride": 1, "dilation": 2},
    {"kernel_size": 3, "stride": 2, "padding": (1, 0), "ceil_mode": True},
], ids=str)  # fmt: skip
def test_indices_and_ties(options: Any) -> None:
    x = np.random.default_rng(1).integers(0, 3, (2, 3, 6, 7)).astype(float)  # with many equal elements
    for given in (x, x[0]):
        out, where = F.max_pool2d(given, **options, return_indices=True)
        t = torch.tensor(given, requires_grad=True)
        expected, expected_where = torch.nn.functional.max_pool2d(t, **options, return_indices=True)
        np.testing.assert_array_equal(out, expected.detach().numpy())
        np.testing.assert_array_equal(where, expected_where.numpy())
        assert where.dtype == np.int64
        (expected * expected_where).sum().backward()
        np.testing.assert_array_equal(gs.grad(lambda v, w=where: np.sum(F.max_pool2d(v, **options) * w))(given), t.grad)


Z = np.zeros
ERRORS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], str]] = {
    "linear": ("linear", (Z((2, 3)), Z((5, 4))), {}, "mat1 and mat2 shapes cannot be multiplied"),
    "linear, stacked weight": ("linear", (Z((2, 3)), Z((2, 4, 3))), {}, "expects a (tensor|weight) with <= 2 dimensions"),
    "bilinear": ("bilinear", (Z((2, 3)), Z((2, 4)), Z((5, 3, 3))), {}, "input2 size does not match weight size: got 4 but exp"),
    "bilinear, examples": ("bilinear", (Z((2, 3)), Z((3, 4)), Z((5, 3, 4))), {}, "batch dimensions do not match at dim 0"),
    "bilinear, bias": ("bilinear", (Z((2, 3)), Z((2, 4)), Z((5, 3, 4)), Z(4)), {}, "bias size does not match weight size"),
    "layer_norm": ("layer_norm", (Z((2, 3)), (4,)), {}, r"Given normalized_shape=\[4\], expected input with shape \[\*, 4\]"),
    "layer_norm, int": ("layer_norm", (Z((2, 3)), 3), {}, "must be tuple of ints, not int"),
    "layer_norm, nothing": ("layer_norm", (Z((2, 3)), ()), {}, "at least 1-dimensional"),
    "layer_norm, weight": ("layer_norm", (Z((2, 3)), (3,), Z(4)), {}, "Expected weight to be of same shape as normalized_shape"),
    "rms_norm": ("rms_norm", (Z((2, 3)), (4,)), {}, "Given normalized_shape"),
    "group_norm": ("group_norm", (Z((2, 6, 3)), 4), {}, "number of channels in input to be divisible by num_groups"),
    "group_norm, vector": ("group_norm", (Z(6), 2), {}, "Expected at least 2 dimensions for input tensor but received 1"),
    "group_norm, weight": ("group_norm", (Z((2, 6)), 2, Z(3)), {}, "Expected weight to be a vector of size equal to the number"),
    "instance_norm": ("instance_norm", (Z((2, 6, 1)),), {}, "Expected more than 1 spatial element when training"),
    "batch_norm": ("batch_norm", (Z((1, 3)), None, None), {"training": True}, "Expected more than 1 value per channel"),
    "batch_norm, vector": ("batch_norm", (Z(3), None, None), {"training": True}, "Dimension out of range"),
    "batch_norm, no mean": ("batch_norm", (Z((2, 3)), None, None), {}, "running_mean must be defined in evaluation mode"),
    "batch_norm, mean": ("batch_norm", (Z((2, 3)), Z(4), Z(3)), {}, "running_mean should contain 3 elements not 4"),
    "batch_norm, weight": ("batch_norm", (Z((2, 3)), Z(3), Z(3), Z(2)), {}, "weight should contain 3 elements not 2"),
    "batch_norm, one": ("batch_norm", (Z((2, 3)), Z(3), None), {"training": True}, "must either both be None or neither"),
    "batch_norm, eps": ("batch_norm", (Z((2, 3)), None, None), {"training": True, "eps": 0.0}, "eps must be positive"),
    "dropout": ("dropout", (Z(3), 1.5), {}, "dropout probability has to be between 0 and 1, but got 1.5"),
    "dropout1d": ("dropout1d", (Z((3, 4)), -0.5), {}, "dropout probability has to be between 0 and 1, but got -0.5"),
    "dropout1d, vector": ("dropout1d", (Z(3),), {}, "dropout1d: Expected 2D or 3D input, but received a 1D input"),
    "conv2d, channels": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 3, 3, 3))), {}, "Given groups=1, .*have 3 channels, but got 2"),
    "conv2d, input": ("conv2d", (Z((5, 5)), Z((3, 2, 3, 3))), {}, "Expected 3D .unbatched. or 4D .batched. input to conv2d"),
    "conv2d, bias": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3)), Z(2)), {}, "expected bias to be 1-dimensional with 3 elements"),
    "conv2d, small": ("conv2d", (Z((1, 2, 2, 2)), Z((3, 2, 3, 3))), {}, "Kernel size can't be greater than actual input size"),
    "conv2d, stride": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3))), {"stride": 0}, "non-positive stride is not supported"),
    "conv2d, strides": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3))), {"stride": (1, 2, 3)}, "expected stride to be a single"),
    "conv2d, padding": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3))), {"padding": -1}, "negative padding is not supported"),
    "conv2d, dilation": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3))), {"dilation": 0}, "dilation should be greater than zero"),
    "conv2d, same": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3))), {"padding": "same", "stride": 2}, "not supported for strided"),
    "conv2d, word": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3))), {"padding": "x"}, "Invalid padding string"),
    "conv2d, groups": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 1, 3, 3))), {"groups": 2}, "divisible by 2 at dimension 0"),
    "conv2d, no groups": ("conv2d", (Z((1, 2, 5, 5)), Z((3, 1, 3, 3))), {"groups": 0}, "non-positive groups is not supported"),
    "conv_transpose2d": ("conv_transpose2d", (Z((1, 2, 5, 5)), Z((3, 2, 3, 3))), {}, "Given transposed=1, weight of size"),
    "conv_transpose2d, output_padding": (
        "conv_transpose2d", (Z((1, 2, 5, 5)), Z((2, 3, 3, 3))), {"output_padding": 2}, "smaller than either stride or dilation",
    ),
    "conv_transpose2d, small": ("conv_transpose2d", (Z((1, 2, 1, 1)), Z((2, 3, 1, 1))), {"padding": 1}, "Output size is too"),
    "max_pool2d": ("max_pool2d", (Z((1, 2, 5, 5)), 6), {}, "Output size is too small"),
    "max_pool2d, input": ("max_pool2d", (Z((5, 5)), 2), {}, "tensor.* expected for input|Expected 3D or 4D"),
    "max_pool2d, padding": ("max_pool2d", (Z((1, 2, 5, 5)), 2), {"padding": 2}, "pad should be at most half of effective kernel"),
    "max_pool2d, stride": ("max_pool2d", (Z((1, 2, 5, 5)), 2), {"stride": 0}, "stride should not be zero"),
    "max_pool2d, dilation": ("max_pool2d", (Z((1, 2, 5, 5)), 2), {"dilation": 0}, "dilation should be greater than zero"),
    "max_pool2d, size": ("max_pool2d", (Z((1, 2, 5, 5)), (2, 2, 2)), {}, "must either be a single int, or a tuple of "),
    "max_pool1d": ("max_pool1d", (Z((1, 2, 5)), 6), {}, "Invalid computed output size"),
    "max_pool1d, input": ("max_pool1d", (Z(5), 2), {}, "max_pool1d: Expected 2D or 3D .batch mode. tensor"),
    "max_pool1d, padding": ("max_pool1d", (Z((1, 2, 5)), 2), {"padding": 2}, "padding should be at most half of kernel size"),
    "avg_pool2d": ("avg_pool2d", (Z((1, 2, 5, 5)), 6), {}, "Output size is too small"),
    "avg_pool2d, divisor": ("avg_pool2d", (Z((1, 2, 5, 5)), 2), {"divisor_override": 0}, "divisor must be not zero"),
    "adaptive_avg_pool2d": ("adaptive_avg_pool2d", (Z((5, 5)), 2), {}, "Expected 3D or 4D tensor, but got"),
    "adaptive_avg_pool2d, size": ("adaptive_avg_pool2d", (Z((1, 2, 5, 5)), -1), {}, "must be greater than or equal to 0"),
    "embedding": ("embedding", (np.array([5]), Z((3, 2))), {}, "index out of range in self"),
    "embedding, negative": ("embedding", (np.array([-1]), Z((3, 2))), {}, "index out of range in self"),
    "embedding, floats": ("embedding", (np.array([0.0]), Z((3, 2))), {}, "to have one of the following scalar types: Long, Int"),
    "embedding, vector": ("embedding", (np.array([0]), Z(3)), {}, "'weight' must be 2-D"),
    "embedding, padding_idx": ("embedding", (np.array([0]), Z((3, 2)), 3), {}, "Padding_idx must be within num_embeddings"),
    "pad": ("pad", (Z((2, 3)), (1,)), {}, "Padding length must be divisible by 2"),
    "pad, too many": ("pad", (Z((2, 3)), (1,) * 6), {}, "less than or equal to two times the input dimension"),
    "pad, reflect": ("pad", (Z((2, 3, 3)), (3, 1)), {"mode": "reflect"}, "less than the corresponding input dimension"),
    "pad, word": ("pad", (Z((2, 3, 3)), (1, 1)), {"mode": "x"}, "Unrecognised padding mode x"),
    "pad, value": ("pad", (Z((2, 3, 3)), (1, 1)), {"mode": "reflect", "value": 1.0}, "doesn't take in value argument"),
    "pad, circular": ("pad", (Z((2, 3, 3)), (4, 1)), {"mode": "circular"}, "wrapping around more than once"),
    "pad, cut": ("pad", (Z((2, 3, 3)), (-4, 0)), {}, "length must be non-negative"),
    "unfold": ("unfold", (Z((2, 3, 3)), 4), {}, "but its components must be at least one"),
    "fold": ("fold", (Z((1, 8, 3)), (3, 3), 2), {}, "to match the calculated number of sliding blocks 2 . 2 = 4"),
    "attention": ("scaled_dot_product_attention", (Z(4), Z(4), Z(4)), {}, "to all be  at least 2 dimensional"),
    "attention, keys": ("scaled_dot_product_attention", (Z((1, 3, 4)), Z((1, 5, 3)), Z((1, 5, 6))), {}, "Expected size"),
    "attention, causal mask": (
        "scaled_dot_product_attention", (Z((3, 4)), Z((5, 4)), Z((5, 6)), Z((3, 5))), {"is_causal": True},
        "Explicit attn_mask should not be set when is_causal=True",
    ),
    "attention, int mask": (
        "scaled_dot_product_attention", (Z((3, 4)), Z((5, 4)), Z((5, 6)), Z((3, 5), int)), {}, "Expected attn_mask dtype",
    ),
    "attention, dropout": (
        "scaled_dot_product_attention", (Z((3, 4)), Z((5, 4)), Z((5, 6))), {"dropout_p": 1.5}, "has to be between 0 and 1",
    ),
    "attention, heads": (
        "scaled_dot_product_attention", (Z((1, 4, 3, 4)), Z((1, 3, 5, 4)), Z((1, 3, 5, 6))), {"enable_gqa": True},
        "Number of heads in key and value must divide the number of heads in",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    ours, theirs = errors_of_both(*ERRORS[name])
    assert isinstance(ours, type(theirs))
