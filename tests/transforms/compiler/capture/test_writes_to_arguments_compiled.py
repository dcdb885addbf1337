"""Writes into arguments of compiled functions: results and arrays afterwards are those of eager, and of plain NumPy."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

X = np.array([0.5, -1.25, 2.0, 0.75])


def added(x: Any) -> Any:
    x += 1
    return np.sum(x * x)


def a_buffer(x: Any, buffer: Any) -> Any:
    buffer[:] = x * 2
    return np.sum(buffer * x)


def nothing_returned(x: Any) -> None:
    x[0] = 3.0
    x[1:] *= 2.0


def itself(x: Any) -> Any:
    x += np.sin(x)
    return x


def swapped(x: Any, y: Any) -> None:
    x[:], y[:] = y.copy(), x.copy()


def rolled(x: Any, y: Any) -> Any:
    y[0] = x[0]
    x[0] = y[1] + y[0]
    y[1:] = x[:-1]
    return np.sum(x) - y[2]


def by_methods(x: Any) -> Any:
    x.sort()
    total = np.sum(x * np.arange(4.0))
    x.fill(0)
    return total


def masked(x: Any) -> Any:
    x[x > 0.6] = 0.0
    x[[0, 0]] += 1.0
    return np.sum(x)


def numpys_writers(x: Any, y: Any) -> Any:
    np.add.at(x, [0, 2, 2], y[:3])
    np.subtract.at(y, [1], 2.0)
    np.put(x, [3], y[0])
    np.copyto(y[:2], x[2:] * 2)
    np.fill_diagonal(y.reshape(2, 2), x[1])
    np.multiply(x, 2.0, out=x)
    np.copyto(y, 3.0, where=[True, False, True, False])
    return np.sum(x * y)


def through_views(x: Any) -> Any:
    left, right = x[:3], x[1:]
    left -= right.copy()
    right[0] = 7.0
    x.reshape(2, 2).T[0] *= 3
    return np.sum(left) * right[2]


def read_before_and_after(x: Any) -> Any:
    before = x.copy()
    y = x * 2
    x *= y
    return before, y, x * before, y + x


def of_a_branch(x: Any) -> Any:
    if x[0] > 0:
        x[0] = -x[0]
    return np.sum(x)


def of_sums(x: Any) -> Any:
    x -= np.mean(x)
    x /= np.sqrt(np.sum(x**2)) + 1.0
    return x


def out_of_functions(x: Any, y: Any) -> Any:
    np.cumsum(x * y, out=y)
    np.add(x, y, out=x)
    return np.sum(x)


CASES = [
    added, a_buffer, nothing_returned, itself, swapped, rolled, by_methods, masked, numpys_writers, through_views,
    read_before_and_after, of_a_branch, of_sums, out_of_functions,
]  # fmt: skip


def arguments(f: Any, k: int, dtype: Any = float) -> list[Any]:
    rng = np.random.default_rng(k)
    return [(rng.normal(size=4) * 2).astype(dtype) for _ in range(f.__code__.co_argcount)]


def same(found: Any, expected: Any) -> None:
    """The same type, dtype and bits; in tuples each."""
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif expected is not None:
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)


def run_both(compiled: Any, plain: Any, given: list[Any]) -> None:
    """Call both with copies; results, which argument is returned, and the arguments afterwards are the same."""
    one, two = [a.copy() for a in given], [a.copy() for a in given]
    found, expected = compiled(*one), plain(*two)
    same(found, expected)
    for a, b in zip(one, two, strict=True):
        assert (found is a) == (expected is b)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_plain_functions(f: Any, dtype: Any) -> None:
    compiled = gs.compile(f, verify="first calls")  # a warning that it runs eagerly would be an error here
    for k in range(5):
        run_both(compiled, f, arguments(f, k, dtype))


@pytest.mark.parametrize("f", [c for c in CASES if c not in (nothing_returned, itself, swapped, read_before_and_after, of_sums)],
                         ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.parametrize(
    "transform", [gs.grad, gs.value_and_grad, lambda f: gs.grad(lambda *a: np.sum(gs.grad(f)(*a)))]
)
def test_gradients(f: Any, transform: Any) -> None:
    eager = transform(f)
    compiled = gs.compile(eager, verify="first calls")
    for k in range(5):
        given = [np.abs(a) + 0.1 for a in arguments(f, k)]
        run_both(compiled, lambda *a: eager(*a), given)


def test_vjp_and_aux() -> None:
    def pulled(x: Any) -> Any:
        value, pullback = gs.vjp(lambda x: np.sum(added(x) * x), x)
        return value, pullback(value)[0]

    run_both(gs.compile(pulled, verify="first calls"), pulled, [X])
    eager = gs.value_and_grad(lambda x: (added(x), x), has_aux=True)
    compiled = gs.compile(eager, verify="first calls")
    for x in (X, X + 1, X - 1):
        a, b = x.copy(), x.copy()
        ((value, aux), g), ((value_2, aux_2), g_2) = compiled(a), eager(b)
        assert aux is a
        assert aux_2 is b
        same((value, aux, g), (value_2, aux_2, g_2))


def test_the_source_reads_as_a_person_writes() -> None:
    def f(x: Any, y: Any) -> Any:
        total = np.sum(x * y)
        x += y
        return total

    text = gs.source(f, X, X + 1)
    assert "    x += y\n" in text
    assert "Writes into x." in text

    def two_places(x: Any) -> None:
        x[0] = 3.0
        x[2] = 1.0

    text = gs.source(two_places, X)
    assert "    x[0] = 3.0\n" in text
    assert "    x[2] = 1.0\n" in text
    assert "    # writes" in gs.source(gs.grad(masked), X)
    text = gs.source(gs.value_and_grad(added), X)
    assert "    x += 1\n" in text  # where the user has it
    assert "x[...]" not in text
    x = X.copy()
    gs.source(f, x, X)
    np.testing.assert_array_equal(x, X)  # looking at the source runs it on copies


SEEN = np.zeros(4)


class Model:
    """One that counts in an array of its own."""

    def __init__(self) -> None:
        self.seen = np.zeros(4)
        self.buffers = {"last": np.zeros(4)}

    def step(self, x: Any) -> Any:
        self.seen[:] += x
        self.buffers["last"][:] = x
        return np.sum(self.seen * x)


def test_arrays_that_are_read_from_outside() -> None:
    kept = np.zeros(4)

    def f(x: Any) -> Any:
        kept[1:] += x[1:]
        SEEN[:] = kept * 2
        return np.sum(kept * x)

    def steps(x: Any) -> Any:
        kept[1:] += 1.0
        SEEN[:] = kept * 2
        return np.sum(SEEN * x)

    for eager in (f, steps, gs.grad(steps)):
        kept[:] = SEEN[:] = 0.0
        found = []
        compiled = gs.compile(eager, verify="first calls")
        for x in (X, X + 1, X * 2, X):
            found.append((compiled(x), kept.copy(), SEEN.copy()))
        kept[:] = SEEN[:] = 0.0
        for x, (value, kept_then, seen_then) in zip((X, X + 1, X * 2, X), found, strict=True):
            same(value, eager(x))
            np.testing.assert_array_equal(kept, kept_then)
            np.testing.assert_array_equal(SEEN, seen_then)

    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with pytest.raises(gs.GradientLossError):
            run(X)


def test_arrays_of_objects() -> None:
    one, two = Model(), Model()
    compiled = gs.compile(one.step, verify="first calls")
    for x in (X, X + 1, X * 2, X):
        same(compiled(x), two.step(x))
        np.testing.assert_array_equal(one.seen, two.seen)
        np.testing.assert_array_equal(one.buffers["last"], two.buffers["last"])


def test_an_attribute_that_is_added_into_stays_the_same_array() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = np.zeros(4)

        def step(self, x: Any) -> Any:
            self.count += x
            return np.sum(self.count)

    counter = Counter()
    compiled, before = gs.compile(counter.step, verify="first calls"), counter.count
    for k in range(5):
        compiled(X * (k + 1))
    np.testing.assert_array_equal(counter.count, 15 * X)
    assert counter.count is before


@pytest.mark.parametrize("f", [added, itself, nothing_returned, by_methods, masked, of_sums], ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", ["gaps", "reversed", "column", "empty"])
def test_layouts(f: Any, layout: str) -> None:
    """Only an array with gaps that is read by more than elements may run eagerly."""

    def made() -> Any:
        base = np.arange(16.0).reshape(4, 4) / 3 - 2
        return {"gaps": base.ravel()[::4], "reversed": base[1, ::-1], "column": base[:, 1], "empty": base[:0, 0]}[
            layout
        ]

    if layout == "empty" and f not in (added, itself, by_methods):
        return
    if f is by_methods and layout == "empty":
        f = itself
    compiled = gs.compile(f, verify="first calls")
    for _ in range(4):
        one, two = made(), made()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.EagerWarning)
            found, expected = compiled(one), f(two)
        if found is None:
            assert expected is None
        else:
            np.testing.assert_array_equal(found, expected)
            assert (found is one) == (expected is two)
        np.testing.assert_array_equal(one if one.base is None else one.base, two if two.base is None else two.base)


def test_a_matrix_in_columns_stays_compiled() -> None:
    def f(x: Any) -> Any:
        x *= 2.0
        return x @ x

    compiled = gs.compile(f, verify="first calls")
    for k in range(3):
        run = [np.asfortranarray(np.random.default_rng(k).normal(size=(3, 3))) for _ in range(1)]
        one, two = run[0].copy(order="K"), run[0].copy(order="K")
        same(compiled(one), f(two))
        np.testing.assert_array_equal(one, two)


def test_a_read_only_argument() -> None:
    compiled = gs.compile(added, verify="first calls")
    for _ in range(3):
        compiled(X.copy())
    x = X.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(x)
    np.testing.assert_array_equal(x, X)


def two(x: Any, y: Any) -> Any:
    x += 1.0
    return np.sum(x * y)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_arguments_that_overlap(order: tuple[int, ...]) -> None:
    """Apart, one array twice, one array shifted: whatever comes first."""

    def made(k: int) -> tuple[Any, Any]:
        base = np.arange(6.0)
        return [(base[:4], np.ones(4)), (base[:4], base[:4]), (base[:4], base[2:])][k]

    compiled = gs.compile(two)
    for k in (*order, *order, *order):
        one, other = made(k), made(k)
        if k:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gs.EagerWarning)
                found = compiled(*one)
        else:
            found = compiled(*one)
        same(found, two(*other))
        np.testing.assert_array_equal(one[0].base, other[0].base)


def drawn_before(x: Any, y: Any, rng: Any) -> Any:
    noise = rng.normal(size=x.shape) + np.random.uniform(size=x.shape)
    x *= 2
    return noise * y


def printed_before(x: Any, y: Any, rng: Any) -> Any:
    print(f"{x[0]:.2f} {rng.uniform():.3f}")
    x *= 2
    return x * y


def text_before(x: Any, y: Any, rng: Any) -> Any:
    text = f"{x[0]:.2f}"
    x *= 2
    print(text)
    return x * y


@pytest.mark.parametrize("f", [drawn_before, printed_before, text_before])
def test_effects_before_a_write_into_shared_memory_happen_once(f: Any, capsys: pytest.CaptureFixture[str]) -> None:
    compiled, seen = gs.compile(f, verify="first calls"), []
    for function in (f, compiled):
        rng, x, y = np.random.default_rng(0), X.copy(), X.copy()
        np.random.seed(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.EagerWarning)
            results = [function(*args, rng).tolist() for args in ((x, x), (x, y), (y, y), (y[1:], y[:-1]))]
        seen.append((results, x.tolist(), y.tolist(), rng.random(), np.random.random(), capsys.readouterr().out))
    assert seen[0] == seen[1]


def test_overlap_says_so() -> None:
    with pytest.warns(gs.EagerWarning, match="memory that several of its arguments share"):
        gs.compile(two)(*[np.arange(4.0)] * 2)


def test_a_result_that_is_a_view_runs_eagerly_and_says_so() -> None:
    def f(x: Any) -> Any:
        x += 1.0
        return x[1:]

    compiled = gs.compile(f)
    x = X.copy()
    with pytest.warns(gs.EagerWarning, match="returns a view of an array that it writes into"):
        found = compiled(x)
    assert np.shares_memory(found, x)
    np.testing.assert_array_equal(found, X[1:] + 1)
    assert np.shares_memory(compiled(x), x)


def test_a_guard_that_fails_writes_nothing() -> None:
    def f(x: Any, s: Any) -> Any:
        x += 1.0
        if np.sum(x) + s > 5:
            x *= 2.0
        return np.sum(x)

    compiled = gs.compile(f, verify="first calls")
    for s in (0.0, 0.5, 9.0, 8.0, 0.0, 9.0, -1.0, 7.0):
        a, b = X.copy(), X.copy()
        same(compiled(a, s), f(b, s))
        np.testing.assert_array_equal(a, b)


def test_what_was_written_before_an_error_stays() -> None:
    def f(x: Any, a: Any) -> Any:
        x += 1.0
        inverse = np.linalg.inv(a)
        x *= 2.0
        return np.sum(inverse) * np.sum(x)

    compiled = gs.compile(f, verify="first calls")
    for k in range(3):
        run_both(compiled, f, [X + k, np.eye(2) * (k + 1)])
    x = X.copy()
    with pytest.raises(np.linalg.LinAlgError):
        compiled(x, np.zeros((2, 2)))
    np.testing.assert_array_equal(x, X + 1)

    def g(x: Any, y: Any) -> Any:
        x += y
        return None

    compiled = gs.compile(g, verify="first calls")
    for k in range(3):
        run_both(compiled, g, [X, X + k])
    big = np.full(4, 1e308)
    a, b = big.copy(), big.copy()
    with np.errstate(over="raise"):
        for run, array in ((compiled, a), (g, b)):
            with pytest.raises(FloatingPointError):
                run(array, big)
    np.testing.assert_array_equal(a, b)


def test_casts_are_numpys() -> None:
    def f(x: Any, y: Any) -> Any:
        x[:] = y
        x += y
        return x * 1

    compiled = gs.compile(f, verify="first calls")
    for k in range(3):
        run_both(compiled, f, [X.astype(np.float32), X + k / 3])

    def g(x: Any, y: Any) -> Any:
        x += y

    compiled = gs.compile(g)
    for _ in range(2):
        with pytest.raises(TypeError, match="Cannot cast"):
            compiled(np.arange(4), X)


def test_every_call_is_checked() -> None:
    compiled = gs.compile(rolled, verify=True)
    for k in range(5):
        run_both(compiled, rolled, arguments(rolled, k))


def test_a_wrong_text_is_noticed_by_what_it_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.schedule import stores

    monkeypatch.setattr(stores, "_store", lambda x, index, value, site, real=stores._store: real(x, index, 0.0, site))
    with pytest.raises(gs.VerifyError, match="of the arrays that it writes into"):
        gs.compile(lambda x, y: x.__setitem__(slice(None), y * 2), verify=True)(X.copy(), X)


def test_a_tree_of_arguments() -> None:
    def step(p: Any, g: Any) -> None:
        for k in p:
            p[k] -= 0.1 * g[k]

    compiled = gs.compile(step)
    a, b = ({"w": X.copy(), "b": X[:2].copy()} for _ in range(2))
    g = {"w": X * 2, "b": X[:2] * 3}

    def each(p: Any, g: Any) -> None:
        w, bias = p
        w -= 0.1 * g[0]
        bias -= 0.1 * g[1]

    compiled = gs.compile(each, verify="first calls")
    for _ in range(4):
        compiled([a["w"], a["b"]], [g["w"], g["b"]])
        each([b["w"], b["b"]], [g["w"], g["b"]])
        np.testing.assert_array_equal(a["w"], b["w"])
        np.testing.assert_array_equal(a["b"], b["b"])


def test_large_arrays_are_written_where_they_lie() -> None:
    def step(w: Any, g: Any, momentum: Any) -> None:
        momentum *= 0.9
        momentum += g
        w -= 0.1 * momentum

    given = [np.random.default_rng(k).normal(size=200_000) for k in range(3)]
    compiled = gs.compile(step, verify="first calls")
    for k in range(3):
        run_both(compiled, step, [a + k for a in given])
    text = gs.source(step, *given)
    for line in ("momentum *= 0.9", "momentum += g", "w -= "):
        assert f"    {line}" in text


def test_an_error_in_between() -> None:
    """Where floating point errors are raised, what was written stays, and nothing is written twice."""

    def f(x: Any, y: Any) -> Any:
        x += 1.0
        return np.sum(x * np.log(y))

    compiled = gs.compile(f, verify="first calls")
    for k in range(3):
        run_both(compiled, f, [X + k, np.abs(X) + 1])
    a, b = X.copy(), X.copy()
    with np.errstate(divide="raise"):
        for run, array in ((compiled, a), (f, b)):
            with pytest.raises(FloatingPointError):
                run(array, np.zeros(4))
    np.testing.assert_array_equal(a, b)


def program(rng: Any) -> Callable[..., Any]:
    """A function of three arrays by chance: it reads, writes and returns them, views and temporaries."""
    steps = tuple(rng.integers(0, 12, size=int(rng.integers(2, 8))).tolist())
    picks = tuple(map(tuple, rng.integers(0, 100, size=(len(steps), 3)).tolist()))

    def f(x: Any, y: Any, z: Any) -> Any:
        pool, own = [x, y, z], []
        for step, (i, j, k) in zip(steps, picks, strict=True):
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            if step == 0:
                a += b
            elif step == 1:
                a[k % 4] = b[(k + 1) % 4] * 0.5
            elif step == 2:
                pool.append(a * 0.5 + b)
                own.append(pool[-1])
            elif step == 3:
                a[1:] -= b[:-1] * 0.25
            elif step == 4:
                pool.append(a.copy())
                own.append(pool[-1])
            elif step == 5:
                a[...] = b
            elif step == 6:
                pool.append(a[::-1] * 1.0)
            elif step == 7:
                np.multiply(a, 0.5, out=b)
            elif step == 8:
                a[a > 0.5] = b[0]
            elif step == 9:
                pool.append(a[:])
            elif step == 10:
                a.sort()
            else:
                np.add.at(a, [k % 4, 1], b[:2])
        return (np.sum(pool[0] * pool[-1]), *own[:2], pool[picks[0][0] % 3])

    return f


@pytest.mark.parametrize("seed", range(100))
def test_programs_by_chance(seed: int) -> None:
    f = program(np.random.default_rng(seed))
    compiled = gs.compile(f, verify="first calls")
    for k in range(4):
        given = [np.random.default_rng(100 * seed + 10 * k + j).normal(size=4) for j in range(3)]
        run_both(compiled, f, given)


def test_nested_transforms() -> None:
    """The write of an inner transform is seen by the code after it, and by the caller."""

    def inner(x: Any) -> Any:
        return np.sum(gs.grad(added)(x) * x)

    def of_a_view(x: Any) -> Any:
        return np.sum(gs.grad(added)(x[1:])) + np.sum(x)

    called = gs.compile(added)

    def calls(x: Any) -> Any:
        return called(x) * np.sum(x)

    def checkpointed(x: Any) -> Any:
        return gs.checkpoint(added, x) * np.sum(x)

    plain_values = {  # 2 (x + 1), then x is x + 1
        inner: lambda x: np.sum(2 * (x + 1) * (x + 1)),
        of_a_view: lambda x: np.sum(2 * (x[1:] + 1)) + x[0] + np.sum(x[1:] + 1),
        calls: lambda x: np.sum((x + 1) ** 2) * np.sum(x + 1),
        checkpointed: lambda x: np.sum((x + 1) ** 2) * np.sum(x + 1),
    }
    for f, value in plain_values.items():
        np.testing.assert_allclose(f(X.copy()), value(X))
        found, step = gs.grad(f)(X.copy()), 1e-6 * np.eye(4)
        slopes = [(value(X + d) - value(X - d)) / 2e-6 for d in step]
        np.testing.assert_allclose(found, slopes, rtol=1e-6)
        for transform in (lambda f: f, gs.value_and_grad):
            eager = transform(f)
            compiled = gs.compile(eager, verify="first calls")
            for k in range(4):
                run_both(compiled, eager, [X + k])


def test_vmap() -> None:
    batch = np.arange(12.0).reshape(3, 4)

    def into(x: Any, y: Any) -> Any:
        y[1:] = x[:3] * 2
        return np.sum(y)

    def each(x: Any, y: Any) -> Any:
        return np.array([into(x[k], y[:, k]) for k in range(3)])

    for eager in (gs.vmap(added), gs.vmap(gs.grad(added))):
        compiled = gs.compile(eager, verify="first calls")
        for k in range(4):
            run_both(compiled, eager, [batch + k])
    mapped = gs.vmap(into, in_axes=(0, 1))
    compiled = gs.compile(mapped, verify="first calls")
    for k in range(4):
        given = [batch + k, batch.T * 1.0]
        run_both(mapped, each, given)
        run_both(compiled, mapped, given)


def test_draws_go_on_as_in_eager() -> None:
    def f(x: Any, rng: Any) -> Any:
        x += rng.normal(size=4)
        return np.sum(x)

    compiled = gs.compile(f, verify="first calls")
    one, two = np.random.default_rng(3), np.random.default_rng(3)
    for k in range(5):
        a, b = X + k, X + k
        same(compiled(a, one), f(b, two))
        np.testing.assert_array_equal(a, b)


def test_an_export_says_that_it_does_not() -> None:
    x = X.copy()
    with pytest.raises(gs.CompileError, match="writes into an array that it is given"):
        gs.export(added, x)
    np.testing.assert_array_equal(x, X)
