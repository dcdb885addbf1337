"""gradscribe.numpy and gradscribe.scipy in the place of NumPy and SciPy: on arrays, on Tensors, and inside transforms."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import numpy
import pytest
import scipy.special
from scipy import stats as real_stats

import gradscribe as gs
import gradscribe.numpy as np
import gradscribe.numpy.random as npr
import gradscribe.scipy.stats.norm as norm
from gradscribe.numpy import array, linalg
from gradscribe.numpy.linalg import norm as length
from gradscribe.numpy.numpy_boxes import ArrayBox
from gradscribe.scipy import special, stats
from gradscribe.scipy.misc import logsumexp as from_misc
from gradscribe.scipy.special import logsumexp

X = numpy.array([0.5, 1.0, 2.0])


@pytest.mark.parametrize(
    "name", ["numpy", "numpy.linalg", "numpy.fft", "numpy.random", "scipy.special", "scipy.linalg"]
)
def test_it_has_every_public_name_of_the_original(name: str) -> None:
    real, ours = importlib.import_module(name), importlib.import_module(f"gradscribe.{name}")
    names = [n for n in real.__all__ if n in dir(real) and not n.startswith("__")]
    assert len(names) > 15
    assert not [n for n in names if not hasattr(ours, n)]
    assert set(names) <= set(dir(ours))


def test_what_needs_no_stand_in_is_the_original() -> None:
    assert np.sin is numpy.sin
    assert np.float64 is numpy.float64
    assert np.pi == numpy.pi
    assert special.erf is scipy.special.erf
    assert np.errstate is numpy.errstate


def test_arrays_stay_plain() -> None:
    for made in (
        np.zeros(3),
        np.array([1.0, 2.0]),
        np.eye(2),
        np.asarray(X),
        npr.randn(3),
        logsumexp(X, keepdims=True),
    ):
        assert type(made) is numpy.ndarray
    assert norm.logpdf(0.3) == real_stats.norm.logpdf(0.3)
    assert np.sum([1.0, 2.0]) == 3.0


def test_bare_tensors() -> None:
    t = gs.tensor(X, requires_grad=True)
    out = (
        np.sum(np.array([t[0], t[1] * 2.0, 3.0]))
        + linalg.norm(t)
        + length(t)
        + logsumexp(t)
        + from_misc(t)
        + norm.logpdf(t[2])
    )
    out = out + np.sum(np.zeros_like(t)) + np.sum([t[0], t[1]]) + special.logsumexp(t)
    out.backward()
    soft = numpy.exp(X) / numpy.sum(numpy.exp(X))
    expected = numpy.array([2.0, 3.0, -2.0]) + 2 * X / numpy.linalg.norm(X) + 3 * soft
    numpy.testing.assert_allclose(t.grad.numpy(), expected)


def test_a_tensor_is_an_ndarray_there() -> None:
    assert isinstance(gs.tensor(X), np.ndarray)
    assert isinstance(X, np.ndarray)
    assert isinstance(gs.tensor(X), ArrayBox)
    assert not isinstance(1.0, np.ndarray)
    assert np.ndarray((2,)).shape == (2,)


def loss(x: Any) -> Any:
    out = np.zeros(3)
    out[0] = np.sum(x)
    weights = array([x[0], x[1], out[0]])
    densities = np.array([stats.norm.logpdf(v, out[0], 2.0) for v in x])
    return np.sum(weights * densities) + logsumexp(x) + length(x) + norm.cdf(x[0]) + np.sum(np.fft.fft(x).real)


def test_inside_transforms_and_compiled() -> None:
    gradient = gs.grad(loss)
    gs.check_grads(loss, (X,), order=1)
    numpy.testing.assert_array_equal(gs.compile(gradient, verify="first calls")(X), gradient(X))
    assert "import numpy as np\nimport scipy.special" in gs.source(loss, X)


def noisy(x: Any) -> Any:
    return np.sum(x * npr.randn(3))


def test_random_numbers() -> None:
    compiled = gs.compile(gs.grad(noisy), verify="first calls")
    found = []
    for f in (gs.grad(noisy), compiled, compiled):
        npr.seed(0)
        found.append(f(X))
    numpy.testing.assert_array_equal(found[0], found[1])
    numpy.testing.assert_array_equal(found[0], found[2])
    assert npr.RandomState is numpy.random.RandomState


def test_the_modules_are_one_whatever_way_they_come() -> None:
    assert gs.numpy is np
    assert gs.numpy.linalg is linalg is sys.modules["gradscribe.numpy.linalg"]
    assert gs.scipy.stats is stats
    assert {"compat", "numpy", "scipy"} <= set(dir(gs)) - set(gs.__all__)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="nix"):
        np.nix
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'gradscribe\.numpy\.nix'"):
        importlib.import_module("gradscribe.numpy.nix")
    with pytest.raises(ModuleNotFoundError, match=r"gradscribe\.scipy\.stats\.zscore"):
        importlib.import_module("gradscribe.scipy.stats.zscore")
    with pytest.raises(AttributeError, match="nix"):
        sys.modules["gradscribe.scipy.misc"].nix


def test_scipy_stays_optional_and_late() -> None:
    text = (
        "import sys, gradscribe as gs, gradscribe.numpy as np\n"
        "assert not [m for m in sys.modules if m.split('.')[0] == 'scipy' or m == 'numpy.fft'], 'loaded'\n"
        "sys.modules['scipy'] = None\n"
        "try:\n    import gradscribe.scipy.special\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, check=True)
    assert "scipy" in done.stdout
