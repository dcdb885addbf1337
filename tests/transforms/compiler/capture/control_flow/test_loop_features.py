"""Loops that do more than compute, or less simply: compiled as eager, in values, gradients and what else can be seen."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

LOG = []
COUNT = 0


class Steps:
    def __init__(self):
        self.n = 0
        self.w = np.arange(1.0, 4.0)

    def step(self, x):
        self.n += 1
        return np.tanh(x * self.w)

    def run(self, x):
        for _ in range(6):
            x = self.step(x)
        return x.sum()

    def pure(self, x):
        return np.sin(x * self.w)

    def run_purely(self, x):
        for _ in range(6):
            x = self.pure(x)
        return x.sum()


def appends_to_a_list_outside(x: Any) -> Any:
    for _ in range(5):
        x = np.sin(x)
        LOG.append(1)
    return x.sum()


def counts_in_the_function_around(x: Any) -> Any:
    n = 0

    def f(y):
        nonlocal n
        n += 1
        return y * n

    for _ in range(5):
        x = f(x)
    return x.sum() * n


def fills_a_dict(x: Any) -> Any:
    d = {}
    for k in range(5):
        x = np.sin(x) + k
        d[k] = x
    return sum(d[k].sum() for k in d)


def detaches(x: Any) -> Any:
    for _ in range(5):
        x = x * np.cos(x.detach() if hasattr(x, "detach") else x)
    return x.sum()


def without_gradient(x: Any) -> Any:
    for _ in range(5):
        with gs.no_grad():
            y = np.cos(x)
        x = x * y
    return x.sum()


@gs.custom_vjp
def cv(x):
    return np.sin(x)


cv.defvjp(lambda x: (cv(x), x), lambda x, g: (g * 7.0,)) if hasattr(cv, "defvjp") else None


def with_a_derivative_of_its_own(x: Any) -> Any:
    for _ in range(5):
        x = cv(x)
    return x.sum()


def writes_into_the_argument(x: Any) -> Any:
    for i in range(3):
        x[i] = x[i] * 2
    return x.sum()


def writes_under_another_name(x: Any) -> Any:
    y = x * 1.0
    z = y
    for i in range(5):
        y[i % 3] = np.sin(y[i % 3])
    return z.sum()


def writes_by_a_view(x: Any) -> Any:
    y = x * 1.0
    v = y[1:]
    for _i in range(5):
        y = y
        v[0] = v[0] * 1.5
    return y.sum()


def adds_in_place_under_another_name(x: Any) -> Any:
    y = x * 1.0
    z = y
    for _i in range(5):
        y += x
    return (z * y).sum()


def keeps_an_alias(x: Any) -> Any:
    y = x * 1.0
    for _i in range(5):
        z = y
        y += x
        x = z * 1.01
    return (x * y).sum()


def catches_an_error(x: Any) -> Any:
    for k in range(5):
        try:
            x = x / (k - 2) if k != 2 else 1 / 0
        except ZeroDivisionError:
            x = x + 1
    return x.sum()


def prints_around(x: Any) -> Any:
    print("start")
    for _ in range(5):
        x = np.sin(x)
    print("end")
    return x.sum()


def over_a_list_of_arrays(x: Any, ws: Any) -> Any:
    for w in ws:
        x = np.tanh(x * w)
    return x.sum()


def sums_a_generator(x: Any) -> Any:
    return sum((np.sin(r) * k for k, r in enumerate(x)))


def takes_gradients_inside(x: Any) -> Any:
    for _ in range(5):
        x = x - 0.1 * gs.grad(lambda y: (y**4).sum())(x)
    return x.sum()


def bump() -> None:
    global COUNT
    COUNT += 1


def counts_globally(x: Any) -> Any:
    for _ in range(5):
        x = np.sin(x)
        bump()
    return x.sum()


def reads_the_loop_variables_after(x: Any) -> Any:
    for i in range(5):  # noqa: B007  # it is read behind the loop
        pass
    for j in range(4):
        x = x * j
    return x.sum() * i * j


def single_precision(x: Any) -> Any:
    s = np.float32(0)
    for r in x.astype(np.float32):
        s = s + r * r
    return s


def counts_while(x: Any) -> Any:
    k = 0
    while k < x.sum() and k < 50:
        k += 1
        x = x * 1.01
    return x.sum() * k


def swaps_while(x: Any) -> Any:
    a, b = (x, x * 2)
    while (a * a).sum() < 100:
        a, b = (b, a + b)
    return (a - b).sum()


def triangle(x: Any) -> Any:
    s = 0
    for i in range(4):
        for j in range(i, 5):
            s = s + x[i % 3] * x[j % 3] * j
    return s


def starts_as_none(x: Any) -> Any:
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best:
            best = x[i]
    return best * best


def breaks_and_returns(x: Any) -> Any:
    i = 0
    while True:
        x = x * 1.5
        i += 1
        if x.max() > 10:
            break
        if i > 20:
            return x.sum()
    else:
        x = x * 0
    return x.sum() * 2


def carries_a_tree(x: Any) -> Any:
    h = {"a": x, "b": (x * 2,)}
    for _ in range(5):
        h = {"a": h["b"][0] * 0.5, "b": (h["a"] + 1,)}
    return h["a"].sum() + (h["b"][0] ** 2).sum()


def appends_sometimes(x: Any) -> Any:
    out = []
    for r in x:
        if r > 0:
            out.append(r * r)
    return sum(out)


def fills_rows(x: Any) -> Any:
    y = np.zeros((6, 3))
    y[0] = x
    for i in range(1, 6):
        y[i] = np.sin(y[i - 1]) * x
    return (y**2).sum()


def fills_a_table(x: Any) -> Any:
    m = np.zeros((4, 4))
    for i in range(4):
        for j in range(4):
            if i == 0:
                m[i, j] = j * 1.0
            elif j == 0:
                m[i, j] = i * 1.0
            else:
                m[i, j] = min(m[i - 1, j], m[i, j - 1], m[i - 1, j - 1]) + x[i * j % 3] ** 2
    return m[3, 3]


def chooses_by_where(x: Any) -> Any:
    for _i in range(6):
        x = np.where(x > 0, x * 1.1, -x)
        x = x - x.mean()
    return (x * np.arange(3)).sum()


def complex_numbers(x: Any) -> Any:
    z = x + 1j * x
    for _ in range(5):
        z = z * z + x
    return np.abs(z).sum()


def counts_as_floats(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        s += float(i) * x.sum()
    return s


def continues(x: Any) -> Any:
    n = 3
    for i in range(5):
        if i == n:
            continue
        x = x * (1 + i)
        n -= 1
    return x.sum() * n


def grows_a_tuple(x: Any) -> Any:
    acc = ()
    for _i in range(5):
        x = np.sin(x)
        acc = acc + (x,)
    return sum(a.sum() for a in acc)


def builds_functions(x: Any) -> Any:
    f = lambda y: y
    for _i in range(4):
        f = (lambda g: lambda y: np.sin(g(y)))(f)
    return f(x).sum()


def begins_as_none(x: Any) -> Any:
    y = None
    for i in range(5):
        y = x * i if y is None else y * x
    return y.sum()


def reads_its_own_start(x: Any) -> Any:
    a = x.copy()
    a0 = a
    for i in range(5):
        a = a0 * i
    return a.sum()


def writes_and_rolls(x: Any) -> Any:
    x = x * 1.0
    for _i in range(5):
        x[0] = x[1] * x[2]
        x = np.roll(x, 1)
    return (x * x).sum()


def takes_from_an_iterator(x: Any) -> Any:
    it = iter(x)
    s = 0.0
    for v in it:
        s = s + v
        next(it, None)
    return s * s


def over_the_items_of_a_dict(x: Any) -> Any:
    s = 0.0
    for k, v in {"a": x, "b": x * 2, "c": x * 3, "d": x}.items():
        s = s + (v * len(k)).sum()
    return s


def counts_down_a_float(x: Any) -> Any:
    e = 1.0
    while e > 0.001:
        e = e * 0.5
        x = x * (1 + e)
    return x.sum()


def an_array_of_one(x: Any) -> Any:
    t = np.array([0.0])
    while t[0] < x.sum():
        t = t + np.abs(x).max()
    return t[0] * x.sum()


def unpacks_a_choice(x: Any) -> Any:
    for i in range(5):
        x, y = (x * 2, x + 1) if x.sum() > i else (x + 1, x * 2)
        x = x * 0.3 + y
    return x.sum()


X = np.array([0.5, -0.3, 1.2])
CASES = {
    f.__name__: f
    for f in (
        appends_to_a_list_outside,
        counts_in_the_function_around,
        fills_a_dict,
        detaches,
        without_gradient,
        with_a_derivative_of_its_own,
        writes_into_the_argument,
        writes_under_another_name,
        writes_by_a_view,
        adds_in_place_under_another_name,
        keeps_an_alias,
        catches_an_error,
        prints_around,
        over_a_list_of_arrays,
        sums_a_generator,
        takes_gradients_inside,
        counts_globally,
        reads_the_loop_variables_after,
        single_precision,
        counts_while,
        swaps_while,
        triangle,
        starts_as_none,
        breaks_and_returns,
        carries_a_tree,
        appends_sometimes,
        fills_rows,
        fills_a_table,
        chooses_by_where,
        complex_numbers,
        counts_as_floats,
        continues,
        grows_a_tuple,
        builds_functions,
        begins_as_none,
        reads_its_own_start,
        writes_and_rolls,
        takes_from_an_iterator,
        over_the_items_of_a_dict,
        counts_down_a_float,
        an_array_of_one,
        unpacks_a_choice,
    )
}
OBJECT = Steps()
CASES |= {"stores_attributes": lambda x: Steps().run(x), "reads_attributes": lambda x: OBJECT.run_purely(x)}
EXTRA = {"over_a_list_of_arrays": ([X, X * 2, X * 0.5, X],)}
KEPT = frozenset(
    [
        "writes_under_another_name",
        "adds_in_place_under_another_name",
        "keeps_an_alias",
        "sums_a_generator",
        "takes_gradients_inside",
        "reads_the_loop_variables_after",
        "single_precision",
        "counts_while",
        "swaps_while",
        "triangle",
        "carries_a_tree",
        "fills_rows",
        "chooses_by_where",
        "complex_numbers",
        "counts_as_floats",
        "reads_its_own_start",
        "counts_down_a_float",
        "an_array_of_one",
        "unpacks_a_choice",
    ]
)  # what must be a loop of the source
TRANSFORMS: dict[str, Any] = {
    "value": lambda f: f,
    "gradient": gs.value_and_grad,
    "tangent": lambda f: lambda x, *rest: gs.jvp(lambda y: f(y, *rest), (x,), (np.ones_like(x),)),
    "second order": lambda f: gs.grad(lambda x, *rest: np.sum(gs.grad(f)(x, *rest) ** 2)),
}


def outcome(f: Any, x: Any, rest: Any) -> tuple[Any, Any]:
    """What a call gives or raises, and what else can be seen of it."""
    global COUNT
    LOG.clear()
    COUNT = 0
    printed = io.StringIO()
    given = x.copy()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            found = f(given, *rest)
        except Exception as error:
            found = error
    return found, (len(LOG), COUNT, printed.getvalue(), given.tolist())


def same(a: Any, b: Any, exact: bool) -> bool:
    if isinstance(a, Exception) or isinstance(b, Exception):
        return type(a) is type(b)
    if isinstance(a, tuple):
        return all(same(x, y, exact) for x, y in zip(a, b, strict=True))
    return bool(
        np.array_equal(a, b, equal_nan=True) if exact else np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "transform", ["value", "gradient", *[pytest.param(t, marks=pytest.mark.slow) for t in ("tangent", "second order")]]
)
@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_compiled_is_eager(name: str, transform: str) -> None:
    f, rest = TRANSFORMS[transform](CASES[name]), EXTRA.get(name, ())
    compiled = gs.compile(f, verify="first calls")
    for scale in (1.0, 1.0, 1.7, -0.4):
        found, seen = outcome(compiled, X * scale, rest)
        expected, wanted = outcome(f, X * scale, rest)
        assert same(found, expected, transform != "second order"), (scale, found, expected)
        assert seen == wanted, scale
    if name in KEPT and transform == "value":
        (one,) = gs.explain(compiled).specialisations
        assert not one.unrolled
        assert "for " in one.source or "while " in one.source
