"""The scope: code inside a decorated function means what NumPy makes it mean, and keeps its gradients."""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from math import exp as e_to
from math import sin
from pathlib import Path
from typing import Any

import gradscribe as gs
import numpy as np
import numpy.linalg as la
import pytest
from numpy import array, sum as total

X = np.array([0.5, -1.25, 2.0])


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def numeric(f: Callable[..., Any], *args: Any) -> Any:
    """Central differences in the first argument."""
    x = np.asarray(args[0], float)
    out = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        for sign in (1, -1):
            moved = x.copy()
            moved[k] += sign * 1e-6
            out[k] += sign * f(moved if x.shape else moved[()], *args[1:]) / 2e-6
    return out


def check(f: Callable[..., Any], *args: Any) -> None:
    """The value is the plain function's, and the gradient that of finite differences."""
    copied = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    expected = f(*copied)
    copied = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    value, gradient = gs.value_and_grad(f)(*copied)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert np.asarray(value).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(gradient, numeric(f, *args), rtol=1e-6, atol=1e-8)
    gs.grad(lambda x: np.sum(gs.grad(f)(x, *args[1:]) ** 2))(args[0].copy() if isinstance(args[0], np.ndarray) else args[0])


# What does not dispatch ---------------------------------------------------------------------------------------------------


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
    return s + sum(v * k for k, v in enumerate(x)) + sum(a * b for a, b in zip(x, x[::-1])) + len(x) * x[0]


def comprehension_and_generator(x):
    def squares():
        for v in x:
            yield v**2

    rows = [np.array([v, v * v]) for v in x]
    d = {k: v for k, v in enumerate(x)}
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


# In place -----------------------------------------------------------------------------------------------------------------------


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
    arrays_of_tensors, array_of_an_array, array_with_dtype, zeros_that_are_filled, zeros_two_dimensional, other_creations,
    python_math, imports_inside, submodules, python_builtins, comprehension_and_generator, isinstance_and_type,
    float_of_a_constant, old_and_new, scalar_accumulator, array_accumulator_keeps_its_alias, recurrence_one_dimensional,
    recurrence_by_rows, argument_in_place, slices_of_views, views_of_other_kinds, a_copy_is_no_view, masks_and_fancy_writes,
    add_at, out_argument, where_argument, in_place_methods, swap_of_elements, overwritten_after_use, loop_with_while_and_break,
    early_exit_and_branches, copyto_and_friends,
]  # fmt: skip


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_numpys_values_and_right_gradients(f: Callable[..., Any]) -> None:
    check(f, X)


def test_one_write_at_every_kind_of_index() -> None:
    for index in (0, -1, slice(1, None), slice(None, None, -1), slice(None, None, 2), [2, 0, 1], np.array([True, False, True]), ..., None):

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


# The caller's arrays --------------------------------------------------------------------------------------------------------------


def test_a_write_into_an_argument_reaches_the_callers_array() -> None:
    def f(x):
        x += 1
        x[0] = 7.0
        return np.sum(x * x)

    a = X.copy()
    value, g = gs.value_and_grad(f)(a)
    expected = X + 1
    expected[0] = 7.0
    close(a, expected)
    close(value, np.sum(expected**2))
    close(g, [0.0, *(2 * expected[1:])])  # with respect to the value on entry


def test_a_write_into_an_argument_that_is_not_differentiated() -> None:
    def f(x, buffer):
        buffer[:] = x * 2
        return np.sum(buffer * x)

    buffer = np.zeros(3)
    close(gs.grad(f)(X, buffer), 4 * X)
    close(buffer, 2 * X)


def test_a_write_through_a_view_reaches_the_caller() -> None:
    def f(x):
        x[1:][0] = 5.0
        return np.sum(x)

    a = X.copy()
    close(gs.grad(f)(a), [1.0, 0.0, 1.0])
    close(a, [0.5, 5.0, 2.0])
    base = np.arange(6.0)
    close(gs.grad(f)(base[::2]), [1.0, 0.0, 1.0])
    close(base, [0.0, 1.0, 5.0, 3.0, 4.0, 5.0])


def test_a_write_into_a_read_only_argument() -> None:
    a = X.copy()
    a.flags.writeable = False

    def f(x):
        x += 1
        return np.sum(x)

    with pytest.raises(ValueError, match="read-only"):
        gs.grad(f)(a)


def test_a_write_stays_when_the_function_raises() -> None:
    def f(x):
        x += 1
        raise KeyError("later")

    a = X.copy()
    with pytest.raises(KeyError):
        gs.grad(f)(a)
    close(a, X + 1)


def test_a_global_array_that_is_written_into_is_not_wrong_in_silence() -> None:
    space: dict[str, Any] = {"np": np, "store": np.zeros(3)}
    exec("def f(x):\n    store[:] = x * 2\n    return np.sum(store * x)", space)
    try:
        g = gs.grad(space["f"])(X)
    except (RuntimeError, TypeError):
        return
    close(g, 4 * X)


def test_dtypes_of_in_place_writes_are_numpys() -> None:
    def f(x):
        y = np.zeros(3, np.float32)
        y[:] = x
        y += x
        assert y.dtype == np.float32
        return np.sum(y)

    assert gs.grad(f)(X).dtype == np.float64
    close(gs.grad(f)(X), np.full(3, 2.0))

    def cast(x):
        y = np.ones(3, int)
        y += x
        return np.sum(y)

    with pytest.raises(TypeError, match="Cannot cast"):
        gs.grad(cast)(X)

    def shape(x):
        y = x[:1] * 1.0
        y += x
        return np.sum(y)

    with pytest.raises(ValueError, match="broadcast"):
        gs.grad(shape)(X)


# Globals, closures, helpers -----------------------------------------------------------------------------------------------------------

COUNTER = 0
SCALE = 2.0


def count() -> int:
    global COUNTER
    COUNTER += 1
    return COUNTER


def read_counter() -> int:
    return COUNTER


def helper(x, n=3):
    return np.array([math.sin(x[0]), x[1]]).sum() * n


def counted(x):
    before = read_counter()
    n = count()
    assert n == before + 1 == read_counter() == COUNTER
    return np.sum(x) * n


def test_a_global_counter() -> None:
    global COUNTER
    COUNTER = 0
    g = gs.grad(counted)
    close(g(X), np.full(3, 1.0))
    close(g(X), np.full(3, 2.0))
    assert COUNTER == 2
    COUNTER = 10
    close(g(X), np.full(3, 11.0))
    assert COUNTER == 11


def test_globals_are_read_anew_at_each_call() -> None:
    global SCALE

    g = gs.grad(lambda x: np.sum(x) * SCALE)
    SCALE = 2.0
    close(g(X), np.full(3, 2.0))
    SCALE = 5.0
    close(g(X), np.full(3, 5.0))


def test_a_function_that_stores_globals_in_every_form() -> None:
    space = types.ModuleType("storing")
    source = textwrap.dedent("""
        import numpy as np
        total = 0.0
        seen = None

        def f(x):
            global total, seen
            total += 1.0
            total, seen = total * 2, "yes"
            for total in (total, total + 1):
                pass
            def inner():
                global total
                total += 0.5
                return total
            inner()
            return np.sum(np.array([x[0], x[1]])) * total
    """)
    path = Path(os.environ.get("PYTEST_TMP", "/tmp")) / "gradscribe_storing.py"
    path.write_text(source)
    try:
        exec(compile(source, str(path), "exec"), vars(space))
        expected = (1.0 * 2) + 1 + 0.5
        close(gs.grad(space.f)(X), [expected, expected, 0.0])
        assert space.total == expected
        assert space.seen == "yes"
    finally:
        path.unlink()


def test_nonlocal_counters() -> None:
    def make():
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        def f(x):
            nonlocal n
            n += 10
            return np.sum(x) * bump()

        return f, lambda: n

    f, read = make()
    close(gs.grad(f)(X), np.full(3, 11.0))
    assert read() == 11
    close(gs.grad(f)(X), np.full(3, 22.0))
    assert read() == 22


def test_helpers_are_rebuilt_too() -> None:
    scaled = functools.partial(helper, n=2)
    by_lambda = lambda x: math.exp(x[0])
    table = {"sin": sin, "plain": lambda x: np.sum(x * x)}

    def f(x, also=helper):
        inner = lambda v: np.array([v, v**2]).sum()
        return helper(x) + scaled(x) + by_lambda(x) + inner(x[2]) + also(x)

    check(f, X)
    # What the scope does not reach works where NumPy dispatches, and says so where it does not.
    close(gs.grad(lambda x: table["plain"](x))(X), 2 * X)
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        gs.grad(lambda x: table["sin"](x[0]) + np.sum(x))(X)


def test_helpers_that_call_each_other() -> None:
    def even(x, n):
        return math.cos(x) if n == 0 else odd(x, n - 1) * x

    def odd(x, n):
        return math.sin(x) if n == 0 else even(x, n - 1) + x

    def f(x):
        return even(x[0], 4) + odd(x[1], 3)

    check(f, X)


def test_helpers_in_other_modules(tmp_path: Path) -> None:
    (tmp_path / "their_helpers.py").write_text(
        textwrap.dedent("""
            import math
            import numpy as np
            CALLS = 0
            FACTOR = 3.0

            def smooth(x):
                global CALLS
                CALLS += 1
                out = np.zeros(3)
                for i in range(3):
                    out[i] = math.tanh(x[i]) * FACTOR
                return out

            class Layer:
                def __init__(self, w):
                    self.w = w
                def __call__(self, x):
                    return self.apply(np.stack([x[0], x[1], x[2]]))
                def apply(self, x):
                    return np.tanh(x) * self.w
        """)
    )
    spec = importlib.util.spec_from_file_location("their_helpers", tmp_path / "their_helpers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["their_helpers"] = module
    spec.loader.exec_module(module)
    try:

        def f(x):
            import their_helpers
            from their_helpers import smooth

            return np.sum(their_helpers.smooth(x) * smooth(x)) + np.sum(module.smooth(x))

        check(f, X)
        before = module.CALLS
        gs.grad(f)(X)
        assert before + 3 == module.CALLS
        layer = module.Layer(np.array([1.0, 2.0, 3.0]))
        check(lambda x: np.sum(layer.apply(x * 1.0) ** 2), X)
        check(lambda x: np.sum(layer(x) ** 2), X)
    finally:
        del sys.modules["their_helpers"]


def test_an_instance_of_the_users_class() -> None:
    class Model:
        def __init__(self, w):
            self.w = w
            self.calls = 0

        @property
        def doubled(self):
            return self.w * 2

        def predict(self, x):
            self.calls += 1
            return x @ self.w + x @ self.doubled

    model = Model(np.array([1.0, 2.0, 3.0]))

    def f(x):
        return model.predict(x) ** 2

    close(gs.grad(f)(X), 2 * (X @ model.w * 3) * model.w * 3)
    assert model.calls == 1

    def of_attribute(w, x):
        m = Model(w)
        return m.predict(x)

    close(gs.grad(of_attribute)(model.w, X), 3 * X)


def test_a_function_without_source() -> None:
    space: dict[str, Any] = {"np": np, "math": math, "n": 0}
    exec(
        "def f(x):\n    return np.array([math.sin(x[0]), x[1]]).sum()\n"
        "def g(x):\n    global n\n    n += 1\n    return np.sum(x * x) * n",
        space,
    )
    check(space["f"], X)
    close(gs.grad(space["g"])(X), 2 * X)
    assert space["n"] == 1


def test_functions_defined_inside() -> None:
    def f(x):
        def inner(y):
            z = np.zeros(2)
            z[0] = math.sin(y)
            return z.sum() * SCALE

        class Local:
            def __call__(self, v):
                return np.sum(v**2)

        return inner(x[0]) + Local()(x) + (lambda v: v * x[1])(x[2])

    global SCALE
    SCALE = 1.5
    check(f, X)


def test_wrapped_and_cached_helpers() -> None:
    def logged(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(*args, **kwargs)

        return wrapper

    @logged
    def g(x):
        return np.array([x[0], x[1]]).sum()

    @functools.lru_cache
    def constants(n):
        return np.arange(float(n))

    check(lambda x: g(x) * np.sum(constants(3) * x), X)
    close(constants(3), [0.0, 1.0, 2.0])


def test_nothing_of_ours_is_left_behind() -> None:
    kept: list[Any] = []
    before = np.array, np.zeros, math.sin, dict(vars(math))

    def f(x):
        kept.append(np.zeros(2))
        return np.sum(x)

    gs.grad(f)(X)
    assert (np.array, np.zeros, math.sin, dict(vars(math))) == before
    assert f.__globals__ is globals()


def test_the_users_function_stays_as_it_was() -> None:
    def f(x):
        f.calls = getattr(f, "calls", 0) + 1
        return np.sum(x)

    gs.grad(f)(X)
    assert f.calls == 1
    assert f(X) == X.sum()
    assert type(f(X)) is np.float64


def test_kwargs_only_defaults_and_annotations_survive() -> None:
    def f(x: np.ndarray, /, *, power: int = 2, **more: Any) -> float:
        return np.sum(x**power) * more.get("scale", 1.0)

    close(gs.grad(f)(X), 2 * X)
    close(gs.grad(f)(X, power=3, scale=2.0), 6 * X**2)


def test_random_numbers_repeat_with_their_seed() -> None:
    def f(x):
        rng = np.random.default_rng(3)
        np.random.seed(5)
        return np.sum(x * rng.normal(size=3)) + np.sum(x * np.random.normal(size=3))

    np.random.seed(5)
    expected = np.random.default_rng(3).normal(size=3) + np.random.normal(size=3)
    close(gs.grad(f)(X), expected)


def test_exceptions_inside_are_the_users() -> None:
    def f(x):
        try:
            raise KeyError("k")
        except KeyError as error:
            assert error.args == ("k",)
        with np.errstate(divide="raise"):
            try:
                np.log(x * 0.0)
            except FloatingPointError:
                return np.sum(x)
        return np.sum(x) * 2

    close(gs.grad(f)(X), np.ones(3))


# The import ------------------------------------------------------------------------------------------------------------------------


def test_importing_is_light() -> None:
    code = (
        "import sys, gradscribe as gs\n"
        "heavy = [m for m in ('gast', 'astunparse', 'optree', 'scipy', 'torch', 'sklearn', 'IPython') if m in sys.modules]\n"
        "assert not heavy, heavy\n"
        "import numpy as np\n"
        "assert gs.grad(lambda x: np.sum(x * x))(np.ones(2)).tolist() == [2.0, 2.0]\n"
        "heavy = [m for m in ('gast', 'astunparse', 'optree', 'scipy') if m in sys.modules]\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_writes_into_pieces_of_a_split() -> None:
    def f(x):
        y = x * 1.0
        first, second, third = np.split(y, 3)
        second[0] = first[0] * 5
        y[2] *= 2.0
        rows = np.split(np.outer(y, x), 3)
        rows[1] *= 3.0
        return np.sum(y * y) + np.sum(third * second) + np.sum(rows[1])

    check(f, X)


def test_views_that_numpy_makes_read_only() -> None:
    def diagonal(x):
        np.diagonal(np.outer(x, x))[0] = 1.0
        return np.sum(x)

    def broadcast(x):
        np.broadcast_to(x * 1.0, (2, 3))[...] = 1.0
        return np.sum(x)

    for f in (diagonal, broadcast):
        with pytest.raises(ValueError, match="read-only"):
            gs.grad(f)(X)
