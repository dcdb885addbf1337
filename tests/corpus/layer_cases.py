"""Calls of the layers of gs.functional, as PyTorch takes them: a table that several tests read."""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe.functional as F


class Call(NamedTuple):
    """A function by name, the shapes of its arrays, and its other arguments."""

    function: str
    shapes: tuple[Any, ...]  # of arrays that are differentiated; what is no tuple stands for itself
    options: dict[str, Any] = {}  # noqa: RUF012  # read only

    @property
    def differentiated(self) -> tuple[int, ...]:
        """Which arguments are differentiated."""
        return tuple(k for k, s in enumerate(self.shapes) if isinstance(s, tuple))

    def arrays(self, dtype: Any = np.float64) -> list[Any]:
        """The arrays, by chance, of numbers that do not repeat."""
        rng = np.random.default_rng(zlib.crc32(repr(self).encode()))
        return [self._array(rng, s, dtype) for s in self.shapes]

    @staticmethod
    def _array(rng: np.random.Generator, shape: Any, dtype: Any) -> Any:
        if isinstance(shape, tuple):
            return rng.normal(size=shape).astype(dtype)
        return shape.astype(dtype) if isinstance(shape, np.ndarray) and shape.dtype.kind == "f" else shape


X1, X2, X3 = (3, 4, 9), (2, 4, 6, 7), (2, 2, 4, 5, 4)
W1, W2, W3 = (6, 4, 3), (6, 4, 3, 2), (3, 2, 2, 3, 2)
IMAGE = (2, 3, 7, 8)
INDEX = np.array([[0, 2, 2], [4, 1, 2]])
BAGS = np.array([0, 2, 2, 4, 1, 2])
MASK = np.array([[True, False, True, True], [False, True, True, False], [False, False, False, False]])
BIAS = np.array([[0.0, 1.0, -np.inf, 0.5], [-1.0, 0.0, 0.3, -np.inf], [2.0, 0.0, 0.0, 0.0]])
MEANS, VARIANCES = np.linspace(-1.0, 1.0, 4), np.linspace(0.5, 2.0, 4)
QKV = ((2, 5, 3, 4), (2, 5, 4, 4), (2, 5, 4, 6))

CALLS: dict[str, Call] = {
    # products
    "linear": Call("linear", ((5, 3), (4, 3), (4,))),
    "linear of a vector": Call("linear", ((3,), (4, 3))),
    "linear of stacks": Call("linear", ((2, 5, 3), (4, 3), (4,))),
    "linear to numbers": Call("linear", ((5, 3), (3,))),
    "bilinear": Call("bilinear", ((5, 3), (5, 2), (4, 3, 2), (4,))),
    "bilinear of vectors": Call("bilinear", ((3,), (2,), (4, 3, 2))),
    # convolutions
    "conv1d": Call("conv1d", (X1, W1, (6,))),
    "conv1d, unbatched": Call("conv1d", (X1[1:], W1, (6,))),
    "conv1d, all options": Call("conv1d", (X1, (6, 2, 3), (6,)), {"stride": 2, "padding": 3, "dilation": 2, "groups": 2}),
    "conv1d, same": Call("conv1d", (X1, (6, 4, 4)), {"padding": "same"}),
    "conv2d": Call("conv2d", (X2, W2, (6,))),
    "conv2d, unbatched": Call("conv2d", (X2[1:], W2, (6,)), {"padding": 1}),
    "conv2d, one channel": Call("conv2d", ((3, 1, 6, 6), (4, 1, 3, 3)), {"padding": 1}),
    "conv2d, 1 x 1": Call("conv2d", (X2, (3, 4, 1, 1))),
    "conv2d, stride": Call("conv2d", (X2, W2, (6,)), {"stride": (2, 3)}),
    "conv2d, padding": Call("conv2d", (X2, W2, (6,)), {"padding": (2, 0)}),
    "conv2d, dilation": Call("conv2d", (X2, W2), {"dilation": (2, 3)}),
    "conv2d, same": Call("conv2d", (X2, W2), {"padding": "same", "dilation": (1, 2)}),
    "conv2d, valid": Call("conv2d", (X2, W2), {"padding": "valid", "stride": 2}),
    "conv2d, groups": Call("conv2d", (X2, (6, 2, 3, 2), (6,)), {"groups": 2, "stride": (1, 2), "padding": 1}),
    "conv2d, depthwise": Call("conv2d", (X2, (8, 1, 3, 2), (8,)), {"groups": 4}),
    "conv2d, no examples": Call("conv2d", ((0, 4, 6, 7), W2, (6,))),
    "conv3d": Call("conv3d", (X3, W3, (3,)), {"stride": (1, 2, 1), "padding": (0, 1, 1), "dilation": (2, 1, 1)}),
    "conv_transpose1d": Call("conv_transpose1d", (X1, (4, 3, 3), (3,)), {"stride": 2, "padding": 1, "output_padding": 1}),
    "conv_transpose2d": Call("conv_transpose2d", (X2, (4, 3, 3, 2), (3,))),
    "conv_transpose2d, unbatched": Call("conv_transpose2d", (X2[1:], (4, 3, 3, 2), (3,)), {"stride": 2}),
    "conv_transpose2d, groups": Call(
        "conv_transpose2d", (X2, (4, 3, 3, 2), (6,)),
        {"stride": (2, 3), "padding": (2, 1), "output_padding": (1, 2), "groups": 2, "dilation": (2, 1)},
    ),
    "conv_transpose3d": Call("conv_transpose3d", (X3, (2, 3, 2, 3, 2)), {"stride": 2, "padding": 1, "dilation": (1, 1, 3)}),
    # pools
    "max_pool1d": Call("max_pool1d", (X1, 2)),
    "max_pool1d, all options": Call("max_pool1d", (X1, 3), {"stride": 2, "padding": 1, "dilation": 2, "ceil_mode": True}),
    "max_pool2d": Call("max_pool2d", (IMAGE, 2)),
    "max_pool2d, unbatched": Call("max_pool2d", (IMAGE[1:],), {"kernel_size": (2, 3)}),
    "max_pool2d, overlapping": Call("max_pool2d", (IMAGE, 3), {"stride": (1, 2), "padding": 1}),
    "max_pool2d, dilation": Call("max_pool2d", (IMAGE, 2), {"stride": 1, "dilation": (3, 2)}),
    "max_pool2d, ceil": Call("max_pool2d", (IMAGE, 3), {"stride": 2, "ceil_mode": True}),
    "max_pool3d": Call("max_pool3d", (X3, 2), {"stride": (2, 1, 1), "padding": (1, 0, 1)}),
    "avg_pool1d": Call("avg_pool1d", (X1, 2), {"stride": 3, "padding": 1}),
    "avg_pool1d, not the padding": Call("avg_pool1d", (X1, 3), {"padding": 1, "ceil_mode": True, "count_include_pad": False}),
    "avg_pool2d": Call("avg_pool2d", (IMAGE, 2)),
    "avg_pool2d, unbatched": Call("avg_pool2d", (IMAGE[1:],), {"kernel_size": (3, 2), "stride": 1}),
    "avg_pool2d, padding": Call("avg_pool2d", (IMAGE, 3), {"stride": 2, "padding": 1}),
    "avg_pool2d, ceil": Call("avg_pool2d", (IMAGE, 3), {"stride": (2, 3), "padding": (1, 0), "ceil_mode": True}),
    "avg_pool2d, not the padding": Call(
        "avg_pool2d", (IMAGE,), {"kernel_size": (3, 2), "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}
    ),
    "avg_pool2d, divisor": Call("avg_pool2d", (IMAGE, 2), {"divisor_override": 3}),
    "avg_pool3d": Call("avg_pool3d", (X3, 2), {"stride": 1, "padding": 1}),
    "adaptive_avg_pool1d": Call("adaptive_avg_pool1d", (X1, 4)),
    "adaptive_avg_pool2d": Call("adaptive_avg_pool2d", (IMAGE, [3, None])),
    "adaptive_avg_pool2d to one": Call("adaptive_avg_pool2d", (IMAGE, 1)),
    "adaptive_max_pool1d": Call("adaptive_max_pool1d", (X1, 4)),
    "adaptive_max_pool2d": Call("adaptive_max_pool2d", (IMAGE, [3, None])),
    "adaptive_max_pool2d, unbatched": Call("adaptive_max_pool2d", (IMAGE[1:], [2, 5])),
    "adaptive_max_pool3d": Call("adaptive_max_pool3d", (X3, [1, 3, 2])),
    "lp_pool1d": Call("lp_pool1d", (X1, 2, 3), {"stride": 2, "ceil_mode": True}),
    "lp_pool2d": Call("lp_pool2d", (IMAGE, 4, [2, 3])),
    "lp_pool2d of infinity": Call("lp_pool2d", (IMAGE, math.inf, 2), {"stride": 1}),
    "lp_pool3d": Call("lp_pool3d", (X3, 2.0, 2)),
    "max_unpool1d": Call("max_unpool1d", ((2, 2, 3), np.array([[[1, 3, 4], [0, 2, 5]]] * 2)), {"kernel_size": 2}),
    "max_unpool2d": Call(
        "max_unpool2d", ((2, 2, 2), np.array([[[1, 3], [9, 12]]] * 2)), {"kernel_size": 2, "stride": 2, "output_size": [5, 4]}
    ),
    "max_unpool3d": Call("max_unpool3d", ((1, 2, 1, 2, 1), np.array([3, 9, 0, 14]).reshape(1, 2, 1, 2, 1), 2)),
    # other sizes, other places
    "interpolate": Call("interpolate", (IMAGE, [9, 5])),
    "interpolate, twice": Call("interpolate", (IMAGE,), {"scale_factor": 2}),
    "interpolate, exact": Call("interpolate", (X1,), {"size": 5, "mode": "nearest-exact"}),
    "interpolate, linear": Call("interpolate", (X1,), {"size": 5, "mode": "linear"}),
    "interpolate, bilinear": Call("interpolate", (IMAGE,), {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    "interpolate, corners": Call("interpolate", (IMAGE, [9, 1]), {"mode": "bilinear", "align_corners": True}),
    "interpolate, recomputed": Call(
        "interpolate", (IMAGE,), {"scale_factor": 1.7, "mode": "bilinear", "recompute_scale_factor": True}
    ),
    "interpolate, bicubic": Call("interpolate", (IMAGE, [9, 5]), {"mode": "bicubic"}),
    "interpolate, trilinear": Call("interpolate", (X3, [3, 4, 5]), {"mode": "trilinear"}),
    "interpolate, area": Call("interpolate", (IMAGE,), {"scale_factor": 0.7, "mode": "area"}),
    "pixel_shuffle": Call("pixel_shuffle", ((2, 8, 3, 4), 2)),
    "pixel_unshuffle": Call("pixel_unshuffle", ((2, 1, 6, 9), 3)),
    "channel_shuffle": Call("channel_shuffle", ((2, 6, 3, 2), 3)),
    "affine_grid": Call("affine_grid", ((2, 2, 3), [2, 1, 4, 5]), {"align_corners": False}),
    "affine_grid, corners": Call("affine_grid", ((2, 3, 4), [2, 1, 4, 2, 5]), {"align_corners": True}),
    "grid_sample": Call("grid_sample", (IMAGE, (2, 4, 5, 2)), {"align_corners": False}),
    "grid_sample, border": Call("grid_sample", (IMAGE, (2, 4, 5, 2)), {"align_corners": True, "padding_mode": "border"}),
    "grid_sample, reflection": Call("grid_sample", (IMAGE, (2, 4, 5, 2)), {"align_corners": True, "padding_mode": "reflection"}),
    "grid_sample, edges": Call("grid_sample", (IMAGE, (2, 4, 5, 2)), {"align_corners": False, "padding_mode": "reflection"}),
    "grid_sample, nearest": Call("grid_sample", (IMAGE, (2, 4, 5, 2)), {"align_corners": False, "mode": "nearest"}),
    "grid_sample, three axes": Call("grid_sample", (X3, (2, 2, 3, 2, 3)), {"align_corners": True}),
    # normalisation
    "layer_norm": Call("layer_norm", ((4, 5), [5])),
    "layer_norm, weights": Call("layer_norm", ((3, 4, 5), [4, 5], (4, 5), (4, 5)), {"eps": 1e-3}),
    "rms_norm": Call("rms_norm", ((3, 4, 5), [5], (5,))),
    "rms_norm, eps": Call("rms_norm", ((3, 4, 5), [4, 5]), {"eps": 0.1}),
    "group_norm": Call("group_norm", ((3, 6, 4), 3, (6,), (6,))),
    "group_norm of vectors": Call("group_norm", ((3, 6), 2), {"eps": 0.01}),
    "instance_norm": Call("instance_norm", ((3, 4, 5, 2), None, None, (4,), (4,))),
    "local_response_norm": Call("local_response_norm", ((2, 5, 3), 3), {"alpha": 0.3, "k": 0.5}),
    "local_response_norm of images": Call("local_response_norm", (IMAGE, 2), {"beta": 1.5}),
    "batch_norm": Call("batch_norm", ((5, 4), MEANS, VARIANCES, (4,), (4,))),
    "batch_norm, training": Call("batch_norm", ((5, 4), None, None, (4,), (4,)), {"training": True}),
    "batch_norm of images": Call("batch_norm", ((3, 4, 5, 2), None, None, (4,), None), {"training": True, "eps": 1e-3}),
    # tables, padding, windows, attention
    "embedding": Call("embedding", (INDEX, (5, 3))),
    "embedding, padding_idx": Call("embedding", (INDEX, (5, 3)), {"padding_idx": -3}),
    "embedding, by frequency": Call("embedding", (INDEX, (5, 3)), {"scale_grad_by_freq": True}),
    "embedding_bag": Call("embedding_bag", (INDEX, (5, 3))),
    "embedding_bag, sum": Call("embedding_bag", (BAGS, (5, 3), np.array([0, 2, 2])), {"mode": "sum", "padding_idx": 2}),
    "embedding_bag, weighted": Call("embedding_bag", (INDEX, (5, 3), None, None, 2.0, False, "sum", False, (2, 3))),
    "embedding_bag, max": Call("embedding_bag", (BAGS, (5, 3), np.array([0, 2, 2])), {"mode": "max"}),
    "embedding_bag, ends": Call("embedding_bag", (BAGS, (5, 3), np.array([0, 2, 6])), {"include_last_offset": True}),
    "pad": Call("pad", (IMAGE,), {"pad": (1, 2, 3, 0), "value": 1.5}),
    "pad, negative": Call("pad", (IMAGE,), {"pad": (-1, 2, 0, -3)}),
    "pad, reflect": Call("pad", (IMAGE,), {"pad": (1, 2, 3, 0), "mode": "reflect"}),
    "pad, reflect and cut": Call("pad", (IMAGE,), {"pad": (-3, 6, 2, -6), "mode": "reflect"}),
    "pad, replicate": Call("pad", (IMAGE,), {"pad": (1, 2, 3, 0), "mode": "replicate"}),
    "pad, circular": Call("pad", (IMAGE,), {"pad": (1, 2, 3, 0), "mode": "circular"}),
    "unfold": Call("unfold", (IMAGE,), {"kernel_size": (2, 3), "stride": 2, "padding": (1, 0), "dilation": (1, 2)}),
    "fold": Call("fold", ((2, 12, 12),), {"output_size": (5, 6), "kernel_size": (2, 3), "stride": (1, 2), "padding": (0, 1)}),
    "attention": Call("scaled_dot_product_attention", QKV),
    "attention, causal": Call("scaled_dot_product_attention", QKV, {"is_causal": True, "scale": 0.3}),
    "attention, mask": Call("scaled_dot_product_attention", (*QKV, MASK)),
    "attention, bias": Call("scaled_dot_product_attention", (*QKV, BIAS)),
    "attention, learnt bias": Call("scaled_dot_product_attention", (*QKV, (5, 3, 4))),
    "attention, groups": Call("scaled_dot_product_attention", ((2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)), {"enable_gqa": True}),
}  # fmt: skip


def errors_of_both(
    function: str, args: Any, options: dict[str, Any], words: str
) -> tuple[BaseException, BaseException]:
    """What gradscribe and PyTorch raise for one call, each with these words."""
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    raised = []
    for library, given in ((F, list(args)), (torch.nn.functional, tensors)):
        with pytest.raises(Exception, match=words) as found:
            getattr(library, function)(*given, **options)
        raised.append(found.value)
    return raised[0], raised[1]
