"""scipy.ndimage's resampling in functions that are differentiated: in the image and in the places, by every border, compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import gradscribe as gs

from case_tables import slopes, slow, weighted

RNG = np.random.default_rng(5)
IMAGE, SHORT_IMAGE = RNG.normal(size=(7, 6)), RNG.normal(size=(5, 4))
PLACES = np.array([[1.2, 2.1, 5.7, -0.6, 6.3], [0.45, 1.7, 4.4, 2.2, 5.6]])
TURN = np.array([[0.9137, 0.2071], [-0.1093, 1.1179]])
MODES = ("constant", "grid-constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap")
FAR = np.array([[-4.8, 12.7, 3.1, -21.3, 9.2], [11.6, -9.4, 23.9, 0.3, -0.7]])  # beyond what is padded

Case = tuple[Callable[[Any], Any], Any]
CASES: dict[str, Case] = {
    **{
        f"image, {mode}, {k}": (lambda x, k=k, mode=mode: ndimage.map_coordinates(x, PLACES, order=k, mode=mode), SHORT_IMAGE)
        for mode in MODES for k in range(6)
    },
    **{
        f"places, {mode}, {k}": (
            lambda p, k=k, mode=mode: ndimage.map_coordinates(IMAGE, p, order=k, mode=mode, cval=0.5), PLACES,
        )
        for mode in MODES for k in range(6)
    },
    **{
        f"far, {mode}, {k}": (
            lambda x, k=k, mode=mode: ndimage.map_coordinates(x, FAR, order=k, mode=mode, cval=0.5), SHORT_IMAGE,
        )
        for mode in MODES for k in range(6)
    },
    **{
        f"no filter, {mode}": (
            lambda p, mode=mode: ndimage.map_coordinates(IMAGE, 1.3 * p, mode=mode, cval=0.5, prefilter=False), PLACES,
        )
        for mode in MODES
    },
    "no filter": (lambda x: ndimage.map_coordinates(x, PLACES, prefilter=False), SHORT_IMAGE),
    "one axis": (lambda p: ndimage.map_coordinates(IMAGE[0], p[1:], order=3), PLACES),
    "affine_transform": (lambda m: ndimage.affine_transform(IMAGE, m, [0.3171, -0.2131], mode="mirror"), TURN),
    "affine_transform, offset": (lambda o: ndimage.affine_transform(IMAGE, TURN, o, order=1), np.array([0.3171, 0.2131])),
    "affine_transform, a diagonal": (lambda m: ndimage.affine_transform(IMAGE, m, 0.1, order=1), np.array([0.93, 1.07])),
    "affine_transform, homogeneous": (
        lambda m: ndimage.affine_transform(IMAGE, m, output_shape=(4, 5), mode="nearest"),
        np.column_stack([TURN, [0.3171, 0.2131]]),
    ),
    "shift": (lambda s: ndimage.shift(IMAGE, s, mode="reflect"), np.array([0.6, -1.3])),
    "shift of both": (lambda s: ndimage.shift(IMAGE, s[0]), np.array([0.6])),
    "zoom": (lambda x: ndimage.zoom(x, 1.7, mode="mirror"), SHORT_IMAGE),
    "zoom, each axis": (lambda x: ndimage.zoom(x, (2, 0.5), order=1), SHORT_IMAGE),
    "zoom of cells": (lambda x: ndimage.zoom(x, 1.7, mode="grid-wrap", grid_mode=True), SHORT_IMAGE),
    "rotate": (lambda a: ndimage.rotate(IMAGE, a[0], reshape=False, mode="grid-wrap", order=5), np.array([17.0])),
    "rotate an image": (lambda x: ndimage.rotate(x, 33, mode="reflect", cval=0.5), SHORT_IMAGE),
    "rotate in a plane": (lambda x: ndimage.rotate(np.stack([x, x**2, 0.1 * x]), -20.0, axes=(2, 0), order=4), SHORT_IMAGE),
    "spline_filter": (lambda x: ndimage.spline_filter(x, 5, mode="grid-wrap"), SHORT_IMAGE),
}  # fmt: skip
SHORT = (
    "image, constant, 3", "places, constant, 3", "places, nearest, 1", "affine_transform", "shift", "rotate", "far, nearest, 5",
    "far, wrap, 4",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:The behavior of affine_transform with a 1-D array")  # SciPy 1.15
@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_against_scipy_and_finite_differences(name: str) -> None:
    f, x = CASES[name]
    np.testing.assert_allclose(gs.vjp(f, x)[0], f(x), rtol=1e-9, atol=1e-10)
    g = weighted(f)
    found = gs.grad(g)(x)
    np.testing.assert_allclose(found, slopes(g, x, 1e-5), rtol=1e-6, atol=1e-7)
    u = np.cos(np.arange(x.size)).reshape(x.shape)
    np.testing.assert_allclose(gs.jvp(g, (x,), (u,))[1], np.sum(found * u), rtol=1e-8, atol=1e-11)
    second = (gs.grad(g)(x + 1e-5 * u) - gs.grad(g)(x - 1e-5 * u)) / 2e-5
    np.testing.assert_allclose(gs.hvp(g)(x, u), second, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_compiled_is_eager(name: str) -> None:
    f, x = CASES[name]
    first = gs.grad(weighted(f))
    compiled = gs.compile(first, verify="first calls")
    for k in range(3):
        np.testing.assert_array_equal(compiled(x * (1 + 0.01 * k)), first(x * (1 + 0.01 * k)))
    compiled.specialisation(x)  # which raises where it runs eagerly


RAISES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "zoom": (lambda x: ndimage.zoom(IMAGE, x[0, :2] ** 2 + 1), "take affine_transform"),
    "rotate": (lambda x: ndimage.rotate(IMAGE, x[0, 0]), "state reshape=False"),
    "output": (lambda x: ndimage.shift(x, 1.0, output=np.float32), "use what it returns"),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISES)
def test_what_has_no_derivative_raises_by_name(name: str) -> None:
    f, words = RAISES[name]
    for run in (gs.grad(weighted(f)), gs.compile(gs.grad(weighted(f)))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(NotImplementedError, match=words):
                run(SHORT_IMAGE)
