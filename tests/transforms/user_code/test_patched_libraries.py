"""What a test puts in the place of a library's function is called, eager and compiled, and is forgotten when it is taken away."""

from __future__ import annotations

import contextlib
import functools
import math
import random
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy
import numpy as np
import numpy.linalg as la
import pytest
import scipy.special
import scipy.special as sp
from numpy import exp

import gradscribe as gs
from gradscribe.runtime import ops

ops()  # rules that load late are those of the libraries' own functions, not of what stands in for them here

THIS = sys.modules[__name__]
ONE, OTHER = numpy.array([1.0, 2.0]), numpy.array([0.5, 0.3])
ORIGINAL = numpy.exp


def by_module(x: Any) -> Any:
    return np.sum(np.exp(x))


def by_name(x: Any) -> Any:
    return np.sum(exp(x))


def helped(x: Any) -> Any:
    return by_module(x) + by_name(x)


def of_math(x: Any) -> Any:
    return math.exp(x[0]) * 2.0 + x[1]


def of_scipy(x: Any) -> Any:
    return np.sum(scipy.special.expit(x))


def of_a_module_by_another_name(x: Any) -> Any:
    return np.sum(sp.expit(x))


def of_a_submodule(x: Any) -> Any:
    return np.linalg.norm(x)


def of_a_submodule_by_name(x: Any) -> Any:
    return la.norm(x)


def of_a_constant(x: Any) -> Any:
    return np.sum(x * x * np.pi)


def imports_within(x: Any) -> Any:
    import numpy as within

    return within.sum(within.exp(x))


def imports_a_name_within(x: Any) -> Any:
    from numpy import exp as within

    return np.sum(within(x))


def in_a_loop(x: Any) -> Any:
    for _ in range(3):
        x = np.exp(x) * 0.1
    return np.sum(x)


def by_getattr(x: Any) -> Any:
    return np.sum(getattr(np, "exp")(x))  # noqa: B009


class Model:
    def loss(self, x: Any) -> Any:
        return np.sum(np.exp(x)) * 0.5


model = Model()


def squared(x: Any) -> Any:
    return x * x


def spied(x: Any) -> Any:
    return 2.0 * ORIGINAL(x)


class Squares:
    def __call__(self, x: Any) -> Any:
        return x * x * 3.0


def scaled(k: Any, x: Any) -> Any:
    return k * x * x


def first(x: Any) -> Any:
    return 5.0 * x[0] * x[1]


_Case = tuple[Callable[[Any], Any], Callable[[], Any]]
CASES: dict[str, _Case] = {
    "a function of the user's": (by_module, lambda: mock.patch("numpy.exp", squared)),
    "a lambda": (by_module, lambda: mock.patch("numpy.exp", lambda x: x * 100.0)),
    "what calls the original": (by_module, lambda: mock.patch("numpy.exp", spied)),
    "a Mock around the original": (by_module, lambda: mock.patch("numpy.exp", mock.Mock(wraps=ORIGINAL))),
    "a Mock with a side effect": (by_module, lambda: mock.patch.object(numpy, "exp", mock.Mock(side_effect=squared))),
    "a MagicMock that gives a number": (
        by_module,
        lambda: mock.patch.object(numpy, "exp", mock.MagicMock(return_value=2.0)),
    ),
    "another function of the library": (by_module, lambda: mock.patch.object(numpy, "exp", numpy.sin)),
    "a function of Python's": (by_module, lambda: mock.patch.object(numpy, "sum", max)),
    "an object that is called": (by_module, lambda: mock.patch.object(numpy, "exp", Squares())),
    "a method": (by_module, lambda: mock.patch.object(numpy, "exp", Squares().__call__)),
    "a partial": (by_module, lambda: mock.patch.object(numpy, "exp", functools.partial(scaled, 4.0))),
    "a reduction": (by_module, lambda: mock.patch.object(numpy, "sum", first)),
    "two at once": (by_module, lambda: mock.patch.multiple(numpy, exp=squared, sum=first)),
    "in a helper": (helped, lambda: mock.patch("numpy.exp", squared)),
    "in a loop": (in_a_loop, lambda: mock.patch("numpy.exp", squared)),
    "by getattr": (by_getattr, lambda: mock.patch("numpy.exp", squared)),
    "in a method": (model.loss, lambda: mock.patch("numpy.exp", squared)),
    "the module, by a Mock": (by_module, lambda: mock.patch.object(THIS, "np", mock.Mock(sum=first, exp=squared))),
    "the module, by a namespace": (
        by_module,
        lambda: mock.patch.object(THIS, "np", types.SimpleNamespace(sum=first, exp=squared)),
    ),
    "the imported name": (by_name, lambda: mock.patch.object(THIS, "exp", squared)),
    "the imported name, by a Mock": (by_name, lambda: mock.patch.object(THIS, "exp", mock.Mock(side_effect=squared))),
    "math": (of_math, lambda: mock.patch("math.exp", squared)),
    "math, by a Mock": (of_math, lambda: mock.patch("math.exp", mock.Mock(side_effect=squared))),
    "scipy": (of_scipy, lambda: mock.patch("scipy.special.expit", squared)),
    "scipy by another name": (of_a_module_by_another_name, lambda: mock.patch("scipy.special.expit", squared)),
    "a submodule": (of_a_submodule, lambda: mock.patch("numpy.linalg.norm", first)),
    "a submodule by another name": (of_a_submodule_by_name, lambda: mock.patch("numpy.linalg.norm", first)),
    "a whole submodule": (of_a_submodule, lambda: mock.patch("numpy.linalg", mock.Mock(norm=first))),
    "a constant": (of_a_constant, lambda: mock.patch("numpy.pi", 3.0)),
    "an import within": (imports_within, lambda: mock.patch("numpy.exp", squared)),
    "an import of a name within": (imports_a_name_within, lambda: mock.patch("numpy.exp", squared)),
    "an attribute that is set": (by_module, lambda: _Set(numpy, "exp", squared)),
}


class _Set:
    """An assignment, undone by another, without unittest."""

    def __init__(self, module: Any, name: str, value: Any) -> None:
        self.module, self.name, self.value = module, name, value

    def __enter__(self) -> None:
        self.before = getattr(self.module, self.name)
        setattr(self.module, self.name, self.value)

    def __exit__(self, *exc: Any) -> None:
        setattr(self.module, self.name, self.before)


def slopes(f: Callable[[Any], Any], x: Any) -> Any:
    """The gradient by finite differences."""
    made, step = numpy.zeros(2), 1e-6
    for k in range(2):
        h = numpy.zeros(2)
        h[k] = step
        made[k] = (f(x + h) - f(x - h)) / (2 * step)
    return made


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_gradient_is_that_of_what_stands_there(name: str, compiled: bool) -> None:
    f, patch = CASES[name]
    asked = gs.compile(gs.grad(f)) if compiled else gs.grad(f)
    for _ in range(2):
        for x in (ONE, OTHER, ONE):
            numpy.testing.assert_allclose(asked(x), slopes(f, x), rtol=1e-5, atol=1e-8)
        with patch(), warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.EagerWarning)
            for x in (ONE, OTHER, ONE):
                expected = slopes(f, x)
                numpy.testing.assert_allclose(asked(x), expected, rtol=1e-5, atol=1e-8)
    numpy.testing.assert_allclose(asked(OTHER), slopes(f, OTHER), rtol=1e-5)
    if compiled:
        assert "def " in str(asked.source(ONE))  # it was not given up for good


@pytest.mark.parametrize("name", CASES)
def test_a_compiled_value_is_that_of_what_stands_there(name: str) -> None:
    f, patch = CASES[name]
    compiled = gs.compile(f)
    for x in (ONE, OTHER, ONE):
        assert compiled(x) == f(x)
    with patch(), warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for x in (ONE, OTHER, ONE):
            assert compiled(x) == f(x)
    for x in (ONE, OTHER):
        assert compiled(x) == f(x)


@pytest.mark.parametrize("name", CASES)
def test_what_is_first_compiled_while_something_else_stands_there_is_not_kept(name: str) -> None:
    f, patch = CASES[name]
    compiled = gs.compile(gs.grad(f))
    with patch(), warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for x in (ONE, OTHER):
            numpy.testing.assert_allclose(compiled(x), slopes(f, x), rtol=1e-5, atol=1e-8)
    for x in (ONE, OTHER, ONE):
        numpy.testing.assert_allclose(compiled(x), slopes(f, x), rtol=1e-5)


def test_a_mock_is_called_as_often_as_the_code_calls_it() -> None:
    compiled = gs.compile(by_module)
    for x in (ONE, OTHER, ONE):
        compiled(x)
    with mock.patch("numpy.exp", mock.Mock(side_effect=squared)) as stands, pytest.warns(gs.EagerWarning):
        compiled(ONE)
    stands.assert_called_once()
    numpy.testing.assert_array_equal(stands.call_args.args[0], ONE)
    assert compiled(ONE) == by_module(ONE)


def test_one_warning_says_why_a_mock_runs_eagerly() -> None:
    compiled = gs.compile(by_module)
    compiled(ONE)
    with mock.patch("numpy.exp", mock.Mock(side_effect=squared)):
        with pytest.warns(gs.EagerWarning, match="reads `exp`, a Mock"):
            compiled(ONE)
        assert compiled(OTHER) == by_module(OTHER)  # and warns no more


def test_generated_source_means_the_librarys_own_where_the_code_reads_something_else() -> None:
    compiled = gs.compile(gs.grad(lambda x: np.sum(np.sin(x))))
    for x in (ONE, OTHER, ONE):
        compiled(x)
    with mock.patch("numpy.cos", lambda x: 0.0 * x):
        numpy.testing.assert_allclose(compiled(ONE), numpy.sin(ONE + numpy.pi / 2), rtol=1e-12)


_OF_RULES = frozenset(  # but `add` and the like, which NumPy's own functions look up under these names
    ["abs", "argsort", "asarray", "atleast_1d", "broadcast_to", "concatenate", "cos", "cumsum", "det", "diag", "divide",
     "dot", "einsum", "eigh", "empty_like", "equal", "exp", "expand_dims", "eye", "flip", "full", "inv", "log", "matmul",
     "mean", "moveaxis", "negative", "ndim", "ones", "ones_like", "outer", "power", "reciprocal", "repeat", "reshape", "shape",
     "sign", "sin", "sinh", "solve", "split", "sqrt", "square", "squeeze", "stack", "subtract", "sum", "swapaxes", "take",
     "tan", "tanh", "tensordot", "transpose", "tri", "tril", "triu", "true_divide", "vdot", "where", "zeros", "zeros_like"]
)  # fmt: skip


def _raises(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("what a test has put into NumPy is called, and the user's code does not call it")


def _of_layers(x: Any) -> Any:
    hidden = np.tanh(np.matmul(x.reshape(1, 2), np.array([[1.0, 2.0], [0.5, -1.0]])))
    return np.sum(np.where(hidden > 0, hidden**2, np.exp(hidden))) + np.linalg.norm(x) * np.max(x)


def _of_parts(x: Any) -> Any:
    parts = np.concatenate([np.sort(x), np.cumsum(x), np.stack([x[0], x[1]])])
    return np.mean(parts * np.sqrt(np.abs(parts))) + np.log(np.prod(x)) + np.var(x) - np.einsum("i,i->", x, np.cos(x))


def _of_matrices(x: Any) -> Any:
    a = np.outer(x, x) + np.eye(2)
    return np.linalg.det(a) + np.sum(np.linalg.solve(a, x)) + np.trace(np.linalg.inv(a)) + np.sum(np.linalg.eigvalsh(a))


@pytest.mark.parametrize("f", [by_module, _of_layers, _of_parts, _of_matrices])
def test_rules_mean_numpy_as_it_was(f: Callable[[Any], Any]) -> None:
    """Of NumPy all is replaced that rules and engine could call, but what the user's code names, or NumPy's own code."""
    transforms: list[Callable[[Any], Any]] = [gs.grad(f), lambda x: gs.jvp(f, (x,), (OTHER,)), gs.hessian(f)]
    expected = [one(ONE) for one in transforms]
    with contextlib.ExitStack() as patched:
        for module in (numpy.linalg, numpy):
            for name in vars(module).keys() & _OF_RULES - {*f.__code__.co_names}:
                patched.enter_context(mock.patch.object(module, name, _raises))
        found = [one(ONE) for one in transforms]
    for a, b in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("transform", [gs.grad, lambda f: gs.compile(gs.grad(f))], ids=["eager", "compiled"])
def test_a_patch_of_what_only_the_rule_calls_changes_nothing(transform: Any) -> None:
    gradient = transform(lambda x: np.sum(np.sin(x)))
    with mock.patch("numpy.cos", lambda x: 0.0 * x):
        for x in (ONE, OTHER, ONE):
            numpy.testing.assert_allclose(gradient(x), numpy.sin(x + numpy.pi / 2), rtol=1e-12)


def test_a_drawing_function_that_a_test_replaces() -> None:
    def noisy(x: Any) -> Any:
        return np.sum(x * np.random.normal()) + random.random()

    compiled = gs.compile(noisy)
    for x in (ONE, OTHER, ONE):
        compiled(x)
    with (
        mock.patch("numpy.random.normal", return_value=2.0),
        mock.patch("random.random", return_value=0.5),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", gs.EagerWarning)
        assert compiled(ONE) == 6.5
        assert compiled(OTHER) == 2.1
    numpy.random.seed(3)
    random.seed(3)
    expected = noisy(ONE)
    numpy.random.seed(3)
    random.seed(3)
    assert compiled(ONE) == expected


def test_a_miss_names_the_function() -> None:
    compiled = gs.compile(by_module)
    for x in (ONE, OTHER, ONE):
        compiled(x)
    with mock.patch("numpy.exp", squared):
        compiled(ONE)
    said = str(gs.explain(compiled))
    assert "`numpy.exp` (test_patched_libraries.py:" in said
    assert "expected the library's own, found `squared`" in said
