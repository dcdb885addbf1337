"""The scope's reach: globals, closures, helpers in other modules, and the light import."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
import subprocess
import sys
import textwrap
import types
from math import sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from programs import X, check, close

# Globals, closures, helpers -----------------------------------------------------------------------

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


def test_a_function_that_stores_globals_in_every_form(tmp_path: Path) -> None:
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
    path = tmp_path / "storing.py"
    path.write_text(source)
    exec(compile(source, str(path), "exec"), vars(space))
    expected = (1.0 * 2) + 1 + 0.5
    close(gs.grad(space.f)(X), [expected, expected, 0.0])
    assert space.total == expected
    assert space.seen == "yes"


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
    check(lambda x: table["plain"](x), X)
    check(lambda x: table["sin"](x[0]) + np.sum(x), X)


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
        except KeyError:
            pass
        with np.errstate(divide="raise"):
            try:
                np.log(x * 0.0)
            except FloatingPointError:
                return np.sum(x)
        return np.sum(x) * 2

    close(gs.grad(f)(X), np.ones(3))


# The import ---------------------------------------------------------------------------------------


def test_importing_is_light() -> None:
    code = (
        "import sys, gradscribe as gs\n"
        "heavy = [m for m in ('gast', 'astunparse', 'optree', 'scipy', 'torch', 'sklearn') if m in sys.modules]\n"
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


# Copies of a function ---------------------------------------------------------------------------------------------

COPIED = """\
import numpy as np
def f(x):
    t = np.sum(x * x)
    r = type(1.0)(t)
    if r > 0:
        r = r * 2
    return r
"""


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # a conversion of what is called needs its source
@pytest.mark.parametrize("transform", [gs.grad, lambda f: gs.compile(gs.grad(f))], ids=["eager", "compiled"])
def test_a_copy_of_a_function_in_another_file_is_read_by_its_own_source(transform: Any, tmp_path: Path) -> None:
    """Python takes their code objects for equal; one of them has no source."""
    without: dict[str, Any] = {}
    exec(compile(COPIED, "<without a source>", "exec"), without)
    np.testing.assert_array_equal(transform(without["f"])(np.ones(2)), [4.0, 4.0])
    for name in ("first_copy", "second_copy"):
        file = tmp_path / f"{name}.py"
        file.write_text(COPIED)
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        np.testing.assert_array_equal(transform(module.f)(np.ones(2)), [4.0, 4.0])
        assert f"{name}.py:4" in gs.source(gs.grad(module.f), np.ones(2))
