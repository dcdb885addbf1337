"""The scope: code inside a decorated function means what NumPy makes it mean, and keeps its gradients."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from math import exp as e_to
from math import sin
from typing import Any

import numpy as np
import numpy.linalg as la
import pytest
from numpy import array
from numpy import sum as total

import gradscribe as gs

from programs import X, check, close

# What does not dispatch ---------------------------------------------------------------------------


def arrays_of_tensors(x):
    a = np.array([x[0], x[1] * x[2]])
    b = np.array([[x[0], 1.0], [2.0, x[1]]])
    c = np.asarray([x[2], 3.0])
    d = array([x[0], x[0]])
    return np.sum(a * c) + np.sum(b @ d)


def array_of_an_array(x):
    y = np.array(x)
    z = np.asarray(x)
    w = np.asanyarray(x) + np.ascontiguousarray(x)
    return np.sum(y * z * w) + np.sum(np.array([x, 2 * x]) ** 2) + np.array(np.sum(x)) * 2.0


def array_with_dtype(x):
    return np.sum(np.array([x[0], x[1]], dtype=np.float64) ** 3) + np.sum(np.array(x, float))


def zeros_that_are_filled(x):
    out = np.zeros(3)
    for i in range(3):
        out[i] = x[i] ** 2
    out[1] = out[0] * out[2]
    return np.sum(out * x)


def zeros_two_dimensional(x):
    out = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            out[i, j] = x[i] * x[j] ** 2
    out[0] += x
    out[:, 1] *= 2.0
    return np.sum(out * np.arange(9.0).reshape(3, 3))


def other_creations(x):
    a, b, c = np.ones(3), np.empty(3), np.full(3, 2.0)
    a[0] = x[0]
    b[:] = x
    c[1:] = x[1:] ** 2
    d = np.zeros_like(x)
    d[0] = x[2]
    e = np.full(2, x[0])
    f = np.full_like(x, x[1])
    g = np.eye(3)
    g[0] = x
    return np.sum(a * b * c + d) + np.sum(e) + np.sum(f * x) + np.sum(g**2)


def python_math(x):
    return math.sin(x[0]) * math.exp(x[1]) + sin(x[2]) + e_to(x[0]) + math.sqrt(x[2]) * math.pi + math.pow(x[2], 3)


def python_math_with_more_arguments(x):
    return (
        math.log(x[2], 10) + math.log(x[0]) + math.hypot(x[0], x[1], x[2]) + math.hypot(x[1]) + math.atan2(x[0], x[1])
    )


def lists_given_to_functions(x):
    s = np.sum([x[0], x[1] * 2]) + np.mean([v * v for v in x]) + np.max([x[0], x[2]]) * np.dot([x[0], x[1]], [1.0, 2.0])
    return s + np.linalg.norm([x[0], x[2]]) + np.linalg.det([[x[0], x[1]], [1.0, x[2]]]) + np.sum((x[0], 1.0))


def copies_by_the_copy_module(x):

    y = copy.copy(x)
    z = copy.deepcopy(x * 2)
    w = copy.deepcopy([x, {"a": z}])
    y[0] = 5.0
    return np.sum(x * y * z) + np.sum(w[0] * w[1]["a"])


def where_with_one_argument(x):
    return np.sum(x[np.where(x > 0)] ** 2) + np.sum(np.multiply.outer(x, x))


def imports_inside(x):
    import math as m
    from math import cos

    import numpy as xp
    from numpy import exp
    from numpy.linalg import norm

    return m.sin(x[0]) + cos(x[1]) + xp.sum(exp(x)) + norm(x) + xp.array([x[0], x[1]]).sum()


def submodules(x):
    return la.norm(x) + np.linalg.norm(x) ** 2 + total(x * x)


def python_builtins(x):
    s = sum(x) + sum([v * v for v in x]) + max(x) * min(x) + abs(x[1]) + pow(x[2], 3)
    return s + sum(v * k for k, v in enumerate(x)) + sum(a * b for a, b in zip(x, x[::-1], strict=True)) + len(x) * x[0]


def comprehension_and_generator(x):
    def squares():
        for v in x:
            yield v**2

    rows = [np.array([v, v * v]) for v in x]
    d = {k: v * 1.0 for k, v in enumerate(x)}
    return np.sum(np.stack(rows)) + sum(squares()) + d[0] * d[2] + np.sum(np.array([v for v in x if v > 0]))


def isinstance_and_type(x):
    assert isinstance(x, np.ndarray)
    assert isinstance(np.sum(x), float)
    assert not np.isscalar(x)
    assert isinstance(x[0], (np.floating, int))
    assert x.dtype == np.float64
    assert x.shape == (3,)
    if isinstance(x, (list, tuple)):
        raise TypeError
    return np.sum(x * x)


def float_of_a_constant(x):
    n = float(np.sum(np.ones(3)))
    k = int(np.array(2.0))
    return np.sum(x) * n + x[k]


# In place -----------------------------------------------------------------------------------------


def old_and_new(x):
    s = np.sum(x)
    d = x[0] * 2
    old = s
    s += d
    return (s - old) * s


def scalar_accumulator(x):
    s = 0.0
    p = x[0]
    q = p
    for v in x:
        s += v**2
        p *= v
        p -= 1.0
    return s * p + q


def array_accumulator_keeps_its_alias(x):
    y = x * 1.0
    alias = y
    y += x
    return np.sum(alias * y)


def recurrence_one_dimensional(x):
    out = np.zeros(5)
    out[0] = x[0]
    for i in range(1, 5):
        out[i] = out[i - 1] * x[1] + x[2]
    return np.sum(out**2)


def recurrence_by_rows(x):
    out = np.zeros((4, 3))
    out[0] = x
    for i in range(1, 4):
        out[i] = out[i - 1] * x + np.sin(out[i - 1])
    return np.sum(out)


def argument_in_place(x):
    x += 1
    x *= x
    x[0] = x[1] * 3
    return np.sum(x * x)


def slices_of_views(x):
    y = x * 2
    v = y[1:]
    w = v[:1]
    w[0] = x[0]
    v *= 3
    y[2] += 1.0
    return np.sum(y * y) + np.sum(v) * np.sum(w)


def views_of_other_kinds(x):
    m = np.outer(x, x)
    m.T[0, 1] = x[0]
    d = m.reshape(9)
    d[4] = x[1] * 5
    r = np.ravel(m)
    r[8] *= 2.0
    c = np.swapaxes(m, 0, 1)
    c[2] -= x
    e = m[None, :, ::-1]
    e[0, 0, 0] = x[2] ** 3
    return np.sum(m * np.arange(1.0, 10.0).reshape(3, 3))


def a_copy_is_no_view(x):
    y = x * 1.0
    c = y.copy()
    f = y[[0, 1]]
    y[0] = 100.0
    return np.sum(c * c) + np.sum(f) + np.sum(y)


def masks_and_fancy_writes(x):
    y = x * x
    y[y > 1] = x[0]
    y[[0, 0]] = x[1:]
    z = np.zeros(4)
    z[np.array([1, 3])] = x[:2]
    z[np.array([0, 2, 0])] += x
    return np.sum(y * x) + np.sum(z * np.arange(1.0, 5.0))


def add_at(x):
    out = np.zeros(2)
    np.add.at(out, [0, 1, 0], x)
    return np.sum(out**2)


def out_argument(x):
    out = np.zeros(3)
    np.multiply(x, x, out=out)
    np.add(out, x, out)
    np.sum(np.outer(x, x), axis=0, out=out[:])
    y = x * 1.0
    np.exp(y, out=y)
    return np.sum(out * y)


def where_argument(x):
    out = np.ones(3)
    np.log(x, where=x > 0, out=out)
    y = np.multiply(x, 2.0, where=np.array([True, False, True]), out=x * 1.0)
    return np.sum(out * y) + np.sum(x, where=x > 0)


def in_place_methods(x):
    y = x * 1.0
    y.fill(x[0])
    z = x * 1.0
    z.sort()
    return np.sum(y * x) + np.sum(z * np.arange(3.0))


def swap_of_elements(x):
    y = x * 1.0
    y[0], y[1] = y[1], y[0]
    y[[1, 2]] = y[[2, 1]]
    return np.sum(y * np.arange(1.0, 4.0))


def overwritten_after_use(x):
    y = x * 1.0
    z = np.exp(y) * y
    y[:] = 0.0
    return np.sum(z) + np.sum(y * x)


def loop_with_while_and_break(x):
    s, k = x[0], 0
    while s < 10.0:
        s = s * 1.5 + abs(x[1])
        k += 1
        if k > 20:
            break
    return s * k


def early_exit_and_branches(x):
    if np.sum(x) > 0 and x[0] > 0:
        return np.sum(np.exp(x))
    return np.sum(x)


def copyto_and_friends(x):
    y = np.zeros(3)
    np.copyto(y, x)
    np.copyto(y, x**2, where=np.array([True, False, True]))
    z = y * 1.0
    np.put(z, [0, 2], x[1])
    np.put(z, [1], x[:1])
    np.putmask(z, np.array([False, False, True]), x)
    w = np.zeros((3, 3))
    np.fill_diagonal(w, x[0])
    np.subtract.at(z, [0, 0], x[1:])
    c = np.ones(3)
    d = x * c
    np.multiply.at(c, [0], 5.0)
    np.place(c, np.array([False, True, True]), [7.0])
    return np.sum(y * x) + np.sum(z * z) + np.sum(w @ x) + np.sum(d * c)


CASES = [
    arrays_of_tensors, array_of_an_array, array_with_dtype, zeros_that_are_filled, zeros_two_dimensional,
    other_creations, python_math, python_math_with_more_arguments, lists_given_to_functions,
    copies_by_the_copy_module, where_with_one_argument, imports_inside, submodules, python_builtins,
    comprehension_and_generator, isinstance_and_type, float_of_a_constant, old_and_new, scalar_accumulator,
    array_accumulator_keeps_its_alias, recurrence_one_dimensional, recurrence_by_rows, argument_in_place,
    slices_of_views, views_of_other_kinds, a_copy_is_no_view, masks_and_fancy_writes, add_at, out_argument,
    where_argument, in_place_methods, swap_of_elements, overwritten_after_use, loop_with_while_and_break,
    early_exit_and_branches, copyto_and_friends,
]  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_numpys_values_and_right_gradients(f: Callable[..., Any]) -> None:
    check(f, X)


def test_one_write_at_every_kind_of_index() -> None:
    for index in (
        0,
        -1,
        slice(1, None),
        slice(None, None, -1),
        slice(None, None, 2),
        [2, 0, 1],
        np.array([True, False, True]),
        ...,
        None,
    ):

        def f(x, index=index):
            y = x * 1.0
            y[index] = np.sum(x) * y[index]
            return np.sum(y * np.array([1.0, 10.0, 100.0]))

        check(f, X)


def test_logsumexp_and_other_plain_functions_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")

    def f(x):
        from scipy.special import logsumexp

        return special.logsumexp(x) + logsumexp(x * 2, axis=0) + np.sum(special.expit(x)) + np.sum(special.erf(x))

    check(f, X)
    close(gs.grad(special.logsumexp)(X), np.exp(X) / np.exp(X).sum())

    def g(x):
        import scipy

        return scipy.special.logsumexp(x)

    check(g, X)


def test_a_module_that_is_imported_by_calling_import() -> None:
    assert gs.grad(lambda x: __import__("math").exp(x))(0.5) == np.exp(0.5)


def defines_a_class_and_calls_itself(x: Any, n: int = 2) -> Any:
    class Scaled:
        w = x[0]

        def f(self) -> Any:
            return math.sin(float(self.w)) * x[1]

    return Scaled().f() + (defines_a_class_and_calls_itself(x * 0.5, n - 1) if n else 0.0)


def defines_a_class_and_calls_another(x: Any, n: int = 2) -> Any:
    class Scaled:
        factor = math.pi

    return x[0] * Scaled.factor * (calls_back(x, n - 1) if n else x[1])


def calls_back(x: Any, n: int) -> Any:
    class Shifted:
        by = 2.0

    return math.exp(float(defines_a_class_and_calls_another(x, n))) + Shifted.by


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # a function that defines a class runs eagerly
@pytest.mark.parametrize("f", [defines_a_class_and_calls_itself, defines_a_class_and_calls_another])
def test_functions_that_define_classes_call_each_other(f: Any) -> None:
    compiled = gs.compile(gs.grad(f))
    for x in (np.array([0.3, 0.7]), np.array([0.2, -0.4])):
        slopes = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(gs.grad(f)(x), slopes, rtol=1e-5)
        np.testing.assert_array_equal(compiled(x), gs.grad(f)(x))
