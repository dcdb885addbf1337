"""Layers beside PyTorch's where a table of calls does not reach: sizes, ties, tables that are shortened, draws, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.functional as F

from layer_cases import errors_of_both

pytestmark = pytest.mark.parity
torch: Any = pytest.importorskip("torch")
NEAR = {"rtol": 1e-12, "atol": 1e-12}
Z = np.zeros


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "area"])
def test_every_size(mode: str) -> None:
    """Which element is the nearest is a matter of the last bit of a float32, as PyTorch computes it."""
    for n in (1, 2, 6, 7, 14, 18, 30):
        x = np.random.default_rng(n).normal(size=(1, 2, n))
        for m in (1, 2, 3, 9, 23, 46, 66, 74, 79):
            for given in ({"size": m}, {"scale_factor": m / 10}):
                if m * n < 10 and "scale_factor" in given:
                    continue
                expected = torch.nn.functional.interpolate(torch.tensor(x), mode=mode, **given).numpy()
                np.testing.assert_allclose(F.interpolate(x, mode=mode, **given), expected, **NEAR)


def test_of_equal_elements_the_first_is_the_greatest() -> None:
    draw = np.random.default_rng(0)
    for shape, size in (((2, 3, 11), 4), ((3, 7, 8), (1, 3)), ((2, 3, 7, 8), (None, 5)), ((2, 2, 4, 5, 6), (2, 3, 4))):
        name = f"adaptive_max_pool{1 if size == 4 else len(size)}d"  # type: ignore[arg-type]
        x = draw.integers(0, 3, shape).astype(float)
        t = torch.tensor(x, requires_grad=True)
        expected, expected_where = getattr(torch.nn.functional, name)(t, size, return_indices=True)
        found, where = getattr(F, name)(x, size, return_indices=True)
        np.testing.assert_array_equal(found, expected.detach().numpy())
        np.testing.assert_array_equal(where, expected_where.numpy())
        (expected * expected_where).sum().backward()
        pool = getattr(F, name)
        gradient = gs.grad(lambda v, f=pool, m=size, w=where: np.sum(f(v, m) * w))
        np.testing.assert_array_equal(gradient(x), t.grad.numpy())


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_places_on_the_elements_and_far_outside(mode: str, padding_mode: str, align_corners: bool) -> None:
    options: dict[str, Any] = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    x = np.random.default_rng(0).normal(size=(1, 2, 4, 1))
    theta = np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    with pytest.warns(UserWarning, match="unit-size grids") if align_corners else np.errstate():
        grid = F.affine_grid(theta, (1, 2, 4, 1), align_corners=align_corners)
    for places in (grid, 3.7 * grid - 0.1, 40 * np.ones((1, 2, 2, 2))):
        tensors = [torch.tensor(v, requires_grad=True) for v in (x, places)]
        expected = torch.nn.functional.grid_sample(*tensors, **options)
        expected.sin().sum().backward()
        np.testing.assert_allclose(F.grid_sample(x, places, **options), expected.detach().numpy(), **NEAR)
        gradient = gs.grad(lambda *v: np.sum(np.sin(F.grid_sample(*v, **options))), argnums=(0, 1))
        for g, t in zip(gradient(x, places), tensors, strict=True):
            np.testing.assert_allclose(g, t.grad.numpy(), **NEAR)


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0])
@pytest.mark.parametrize("function", ["embedding", "embedding_bag"])
def test_long_rows_are_shortened_in_the_table(function: str, norm_type: float) -> None:
    table = 2 * np.random.default_rng(0).normal(size=(5, 3))
    index = np.array([[0, 2, 2], [4, 1, 2]])
    options: dict[str, Any] = {"max_norm": 1.5, "norm_type": norm_type}
    t = torch.tensor(table, requires_grad=True)
    expected = getattr(torch.nn.functional, function)(torch.tensor(index), t, **options)
    expected.sin().sum().backward()
    ours = gs.tensor(table.copy(), requires_grad=True)
    found = getattr(F, function)(index, ours, **options)
    found.sin().sum().backward()
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), **NEAR)
    np.testing.assert_allclose(ours.detach().numpy(), t.detach().numpy(), **NEAR)
    np.testing.assert_allclose(ours.grad.numpy(), t.grad.numpy(), **NEAR)
    gradient = gs.grad(lambda w: np.sum(np.sin(getattr(F, function)(index, w, **options))))
    for f in (gradient, gs.compile(gradient, verify="first calls")):
        given = table.copy()
        np.testing.assert_allclose(f(given), t.grad.numpy(), **NEAR)
        np.testing.assert_allclose(given, t.detach().numpy(), **NEAR)
        assert not np.array_equal(given, table)


def test_slopes_are_drawn() -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    out = F.rrelu(x, 0.2, 0.6, training=True, generator=np.random.default_rng(1))
    slopes = (out / x)[x < 0]
    assert np.array_equal(out[x > 0], x[x > 0])
    assert (slopes.min(), slopes.max()) == pytest.approx((0.2, 0.6), abs=1e-3)
    assert slopes.mean() == pytest.approx(0.4, abs=0.01)
    gradient = gs.compile(gs.grad(lambda x: np.sum(F.rrelu(x, 0.2, 0.6, training=True))), verify="first calls")
    gs.manual_seed(0)
    found = gradient(x)
    gs.manual_seed(0)
    np.testing.assert_allclose(found[x < 0], (F.rrelu(x, 0.2, 0.6, training=True) / x)[x < 0])
    assert F.rrelu(x.astype(np.float32), training=True).dtype == np.float32


def test_classes_are_drawn_by_gumbel() -> None:
    logits = np.log([0.2, 0.5, 0.3])
    out = F.gumbel_softmax(np.tile(logits, (20_000, 1)), tau=0.5, hard=True, generator=np.random.default_rng(0))
    assert set(np.unique(out)) <= {0.0, 1.0} | {v for v in np.unique(out) if min(abs(v), abs(v - 1)) < 1e-12}
    np.testing.assert_allclose(out.mean(0), [0.2, 0.5, 0.3], atol=0.015)

    def soft(x: Any, hard: bool) -> Any:
        return F.gumbel_softmax(x, tau=0.7, hard=hard, dim=0, generator=np.random.default_rng(3))

    x = np.random.default_rng(1).normal(size=(3, 4))
    weights = np.arange(12.0).reshape(3, 4)
    one, other = (gs.grad(lambda x, h=hard: np.sum(soft(x, h) * weights))(x) for hard in (True, False))
    np.testing.assert_allclose(one, other, **NEAR)
    np.testing.assert_allclose(soft(x, False).sum(0), 1.0, **NEAR)
    with pytest.warns(UserWarning, match="`eps` parameter is deprecated"):
        F.gumbel_softmax(x, eps=1e-3)


@pytest.mark.parametrize("name", ["relu", "elu", "selu", "celu", "leaky_relu", "hardtanh"])
def test_names_that_write_into_their_input(name: str) -> None:
    x = np.linspace(-2.0, 2.0, 9)
    t = torch.tensor(x)
    expected = getattr(torch.nn.functional, f"{name}_")(t)
    found = getattr(F, f"{name}_")(x)
    assert found is x
    np.testing.assert_allclose(x, expected.numpy(), rtol=1e-7)
    np.testing.assert_allclose(F.threshold_(np.array([-1.0, 2.0]), 0.5, -3.0), [-3.0, 2.0])


def test_an_older_name_warns() -> None:
    with pytest.warns(UserWarning, match="Use `nn.functional.interpolate` instead"):
        assert F.upsample(np.ones((1, 1, 2)), scale_factor=3).shape == (1, 1, 6)
    with pytest.warns(UserWarning, match="changed to align_corners=False"):
        F.grid_sample(Z((1, 1, 2, 2)), Z((1, 1, 1, 2)))


IMAGE, GRID = Z((1, 2, 5, 5)), Z((1, 3, 3, 2))
ERRORS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], str | None]] = {
    "pool": ("adaptive_max_pool2d", (Z((5, 5)), 2), {}, "Expected 3D or 4D tensor"),
    "pool, length": ("adaptive_max_pool1d", (Z((1, 5)), (2, 2)), {}, "output_size"),
    "lp_pool2d": ("lp_pool2d", (IMAGE, 2, 6), {}, "Output size is too small"),
    "unpool": ("max_unpool2d", (Z((1, 1, 1)), np.array([[[4]]]), 2), {}, "Found an invalid max index"),
    "unpool, shapes": ("max_unpool2d", (Z((1, 1, 1)), Z((1, 1, 2), int), 2), {}, "Expected shape of indices to be same as that"),
    "unpool, axes": ("max_unpool2d", (Z((1, 1)), Z((1, 1), int), 2), {}, "should be a 3d or 4d Tensor"),
    "unpool, size": ("max_unpool2d", (Z((1, 1, 1)), Z((1, 1, 1), int), 2), {"output_size": (9, 9)}, "invalid output_size"),
    "response": ("local_response_norm", (Z((5, 5)), 2), {}, "Expected 3D or higher dimensionality"),
    "interpolate": ("interpolate", (IMAGE,), {}, "either size or scale_factor should be defined"),
    "interpolate, both": ("interpolate", (IMAGE, 2, 2), {}, "only one of size or scale_factor should be defined"),
    "interpolate, sizes": ("interpolate", (IMAGE, (2, 2, 2)), {}, "must have the same number of spatial dimensions"),
    "interpolate, factors": ("interpolate", (IMAGE,), {"scale_factor": (2.0,)}, "have the same number of spatial dimensions"),
    "interpolate, corners": ("interpolate", (IMAGE, 2), {"align_corners": True}, "align_corners option can only be set with"),
    "interpolate, word": ("interpolate", (IMAGE, 2), {"mode": "x"}, None),
    "interpolate, axes": ("interpolate", (IMAGE, 2), {"mode": "linear"}, "Got 4D input, but linear mode needs 3D"),
    "interpolate, vector": ("interpolate", (Z(5), 2), {}, None),
    "interpolate, nothing": ("interpolate", (IMAGE, 0), {}, "output sizes should be greater than 0"),
    "recompute": (
        "interpolate", (IMAGE, 2), {"recompute_scale_factor": True}, "recompute_scale_factor is not meaningful with an explicit",
    ),
    "pixel_shuffle": ("pixel_shuffle", (Z((3, 2, 2)), 2), {}, "to be divisible by the square of upscale_factor"),
    "pixel_shuffle, axes": ("pixel_shuffle", (Z((3, 2)), 2), {}, "to have at least 3 dimensions, but got input with 2"),
    "pixel_shuffle, factor": ("pixel_shuffle", (Z((4, 2, 2)), 0), {}, "expects a positive upscale_factor"),
    "pixel_unshuffle": ("pixel_unshuffle", (Z((3, 3, 2)), 2), {}, "expects height to be divisible by downscale_factor"),
    "channel_shuffle": ("channel_shuffle", (Z((1, 3, 2)), 2), {}, "Number of channels must be divisible by groups"),
    "grid, mode": ("grid_sample", (IMAGE, GRID), {"mode": "x", "align_corners": False}, "expected mode to be 'bilinear'"),
    "grid, padding": ("grid_sample", (IMAGE, GRID), {"padding_mode": "x", "align_corners": False}, "expected padding_mode to be"),
    "grid, batch": ("grid_sample", (IMAGE, Z((2, 3, 3, 2))), {"align_corners": False}, "to have same batch size"),
    "grid, last": ("grid_sample", (IMAGE, Z((1, 3, 3, 3))), {"align_corners": False}, "expected grid to have size 2 in last dim"),
    "grid, axes": ("grid_sample", (IMAGE, Z((1, 3, 2))), {"align_corners": False}, "same number of dimensions"),
    "affine": ("affine_grid", (Z((1, 3, 3)), (1, 1, 2, 2)), {"align_corners": False}, "Expected a batch of 2D affine matrices"),
    "affine, size": ("affine_grid", (Z((1, 2, 3)), (1, 1, 2)), {"align_corners": False}, "only supports 4D and 5D sizes"),
    "affine, ints": ("affine_grid", (Z((1, 2, 3), int), (1, 1, 2, 2)), {"align_corners": False}, "to have floating point type"),
    "bag, mode": ("embedding_bag", (Z((1, 2), int), Z((3, 2))), {"mode": "x"}, "mode has to be one of sum, mean or max"),
    "bag, offsets": ("embedding_bag", (Z(2, int), Z((3, 2))), {}, "offsets has to be a 1D Tensor but got None"),
    "bag, axes": ("embedding_bag", (Z((1, 2, 2), int), Z((3, 2))), {}, "input has to be 1D or 2D Tensor"),
    "bag, both": ("embedding_bag", (Z((1, 2), int), Z((3, 2)), Z(1, int)), {}, "if input is 2D, then offsets has to be None"),
    "bag, first": ("embedding_bag", (Z(2, int), Z((3, 2)), np.array([1])), {}, r"offsets\[0\] has to be 0"),
    "bag, index": ("embedding_bag", (np.array([[5]]), Z((3, 2))), {}, None),
    "pdist": ("pdist", (Z(5),), {}, "pdist only supports 2D tensors, got: 1D"),
    "pdist, p": ("pdist", (Z((3, 2)), -1.0), {}, "pdist only supports non-negative p values"),
    "gumbel": ("gumbel_softmax", (Z((3, 2)),), {"dim": 2}, "Dimension out of range"),
    "margin, p": ("multi_margin_loss", (Z((3, 2)), Z(3, int)), {"p": 3}, "only p == 1 and p == 2 supported"),
    "margin, sizes": ("multi_margin_loss", (Z((3, 2)), Z(2, int)), {}, "target tensor should be 1-D with size equal"),
    "margins, sizes": ("multilabel_margin_loss", (Z((3, 2)), Z((2, 2), int)), {}, "inconsistent target size"),
    "triplet": ("triplet_margin_with_distance_loss", (Z(3), Z(3), Z(3)), {"margin": 0}, "margin must be greater than 0"),
    "triplet, axes": ("triplet_margin_with_distance_loss", (Z(3), Z((1, 3)), Z(3)), {}, "same number of dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(ERRORS))
def test_errors(name: str) -> None:
    ours, theirs = errors_of_both(*ERRORS[name])
    assert isinstance(ours, type(theirs)) or (name == "bag, index" and isinstance(ours, IndexError))
