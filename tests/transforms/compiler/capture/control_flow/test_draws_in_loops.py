"""Random draws within loops and branches: compiled code goes through the same numbers as eager, and leaves the same states."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.errors import VerifyError
from gradscribe.transforms.compiler.driver import specialise

X = np.array([0.3, -0.2])
PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(f: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[f.__name__] = f
    return f


def log_density(x: Any) -> Any:
    return -np.sum(x**2) / 2 - np.sum(np.abs(x))


@program
def metropolis(x, rng, n=9):
    lp = log_density(x)
    for _ in range(n):
        new = x + 0.8 * rng.normal(size=2)
        lp_new = log_density(new)
        if np.log(rng.uniform()) < lp_new - lp:
            x, lp = new, lp_new
    return np.sum(x**3) + lp


@program
def accepts_and_counts(x, rng, n=9):
    accepted, total = 0, 0.0
    for _ in range(n):
        new = x * (1 + 0.5 * rng.normal(size=2))
        if rng.uniform() < np.exp(log_density(new) - log_density(x)):
            x = new
            accepted += 1
        total = total + np.sum(x)
    return total * accepted / n


@program
def collects(x, rng, n=6):
    xs = []
    for _ in range(n):
        new = x + 0.5 * rng.normal(size=2) * x
        x = new if rng.uniform() < 0.5 else x
        xs.append(x)
    return np.mean(np.stack(xs) ** 2)


@program
def fills(x, rng, n=6):
    xs = np.zeros((n, 2))
    for k in range(n):
        xs[k] = x = np.sin(x) + 0.5 * rng.normal(size=2)
    return np.mean(xs**2)


@program
def draws_in_branches(x, rng):
    for _ in range(7):
        if rng.uniform() < 0.5:
            x = x * (1 + 0.1 * rng.normal(size=2))
        elif rng.uniform() < 0.5:
            x = np.sin(x) + rng.exponential()
    return np.sum(x) * rng.normal()


@program
def decides_at_once(x, rng):
    if rng.uniform() < 0.5:
        y = x * rng.normal(size=2)
    else:
        y = np.sin(x)
    return np.sum(y) * rng.normal()


@program
def decides_in_an_expression(x, rng):
    return np.sum(x**2 if rng.uniform() < 0.5 else np.cos(x))


@program
def decides_by_both(x, rng):
    y = x
    if rng.uniform() < 0.7 and rng.uniform() < 0.7:
        y = x**3
    return np.sum(y)


@program
def decides_by_either(x, rng):
    y = x
    if rng.uniform() < 0.3 or rng.uniform() < 0.3:
        y = x**3
    return np.sum(y)


@program
def stops_by_a_draw(x, rng):
    while rng.uniform() < 0.7:
        x = x * 1.1
    return np.sum(x**2)


@program
def stops_by_either(x, rng):
    while np.sum(x) < 10.0 and rng.uniform() < 0.9:
        x = x * 1.1 + np.abs(rng.normal())
    return np.sum(x**2)


@program
def counts_until(x, rng):
    n, y = 0, x * 2
    while rng.uniform() < 0.7:
        n += 1
    while rng.uniform() < 0.7:
        y = x
    return np.sum(x * y) * n


@program
def rejects(x, rng):
    while True:
        u = rng.normal(size=2)
        if np.sum(u**2) < 1.0:
            break
    return np.sum(x * u)


@program
def breaks_by_a_draw(x, rng):
    for _ in range(20):
        x = x + 0.1
        if rng.uniform() < 0.2:
            break
        x = x * 1.01
    else:
        x = x + rng.normal()
    return np.sum(x**2)


@program
def returns_early(x, rng):
    for _ in range(7):
        x = x * 1.3
        if rng.uniform() < 0.2:
            return np.sum(x)
    return np.sum(x**2)


@program
def nested(x, rng):
    for _ in range(4):
        step = rng.normal(size=2)
        for _ in range(5):
            new = x + 0.1 * step * x + 0.1 * rng.normal(size=2)
            if rng.uniform() < np.exp(log_density(new) - log_density(x)):
                x = new
    return np.sum(x**2)


@program
def rejects_in_a_loop(x, rng):
    for _ in range(4):
        u = rng.normal(size=2)
        while np.sum(u**2) > 1.0:
            u = rng.normal(size=2)
        x = x + 0.1 * u * x
    return np.sum(x**2)


def proposed(x, rng):
    new = x + 0.3 * rng.normal(size=2)
    return new if np.log(rng.uniform()) < log_density(new) - log_density(x) else x


@program
def calls_a_helper(x, rng):
    for _ in range(6):
        x = proposed(x, rng)
    return np.sum(x**2)


@program
def goes_through_rows(x, rng):
    h = 0.1
    for v in np.outer(np.arange(1.0, 6.0), x):
        h = np.tanh(h + np.sum(v) * rng.normal())
    return h


@program
def picks(x, rng):
    for _ in range(5):
        x = x * (1 + 0.1 * x[rng.integers(2)])
    return np.sum(x)


@program
def shuffles(x, rng):
    s, table = 0.0, np.outer(np.arange(1.0, 5.0), x)
    for _ in range(5):
        s = s + np.sum(table[rng.permutation(4)][:2] ** 2)
    return s


@program
def least(x, rng):
    for _ in range(6):
        a = min(1.0, np.exp(np.sum(x) - 1.0))
        x = x * 1.1 if rng.uniform() < a else x * 0.9
    return np.sum(x**2)


@program
def few_trips(x, rng):
    for _ in range(3):
        if rng.uniform() < 0.5:
            x = x * 1.1
    return np.sum(x**2)


@program
def alike(x, rng):
    a = b = x
    for _ in range(5):
        a = a * 1.1 + rng.normal()
    for _ in range(5):
        b = b * 1.1 + rng.normal()
    return np.sum(a * b)


@program
def unread(x, rng):
    rng.normal()
    for _ in range(5):
        rng.normal()
    return np.sum(x * rng.normal())


@program
def between(x, rng):
    for _ in range(5):
        if 0.2 < rng.uniform() < 0.9 < rng.uniform() + 0.5:
            x = x * 1.1
    return np.sum(x**2)


@program
def asks_what_may_raise(x, rng):
    for _ in range(5):
        if rng.uniform() < 0.6 and np.linalg.det(np.diag(x) * rng.normal()) < 0.0:
            x = x * 1.1
    return np.sum(x**2)


@program
def hamiltonian(x, rng):
    for _ in range(4):
        p = rng.normal(size=2)
        q, m = x, p
        for _ in range(5):
            m = m - 0.05 * q
            q = q + 0.1 * m
            m = m - 0.05 * q
        change = 0.5 * np.sum(q**2 + m**2) - 0.5 * np.sum(x**2 + p**2)
        x = q if np.log(rng.uniform()) < -change else x
    return np.sum(x**2)


@program
def seeds_again(x, rng):
    for _ in range(5):
        np.random.seed(3)
        x = x * np.random.normal(size=2) + np.random.default_rng(5).normal()
        if rng.uniform() < 0.5:
            x = x + np.random.uniform()
    return np.sum(x)


@program
def own_generator(x, rng):
    own = np.random.default_rng(5)
    for _ in range(5):
        x = x + 0.1 * own.normal(size=2) * x * rng.uniform()
        if own.uniform() < 0.5:
            x = x * 1.1
    return np.sum(x**2)


DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "gradient": gs.value_and_grad,
    "second order": lambda f: gs.grad(lambda x, *rest: np.sum(gs.grad(f)(x, *rest) ** 2)),
}
Make = Callable[[], Any]


def numpys() -> Any:
    return np.random.default_rng(3)


def state(rng: Any) -> str:
    """What tells how a generator goes on, and the modules' own."""
    if rng is None:
        own: Any = (
            random.getstate()
        )  # only here: other threads of this process, Dask's among them, draw from it as well
    elif isinstance(rng, np.random.Generator):
        own = rng.bit_generator.state
    else:
        own = rng.get_state(legacy=False) if isinstance(rng, np.random.RandomState) else rng.getstate()
    return repr((own, np.random.get_state(legacy=False)))


def agrees(f: Any, make: Make = numpys, *, exact: bool = True, calls: int = 5, **options: Any) -> Any:
    """Compiled and eager give the same over several calls, from one text, and leave the same states; what is compiled."""
    compiled = gs.compile(f, verify="first calls", **options)
    runs = []
    for g in (f, compiled):
        rng = make()
        runs.append([(g(X * (1 + 0.1 * k), rng), state(rng)) for k in range(calls)])
    for (expected, after), (found, left) in zip(*runs, strict=True):
        assert left == after
        both = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for one, other in both:
            if exact:
                np.testing.assert_array_equal(one, other, strict=True)
            np.testing.assert_allclose(one, other, rtol=1e-11, strict=True)
    assert len(gs.explain(compiled).specialisations) == 1
    return compiled


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_draws_as_eager_does(name: str, derivative: str) -> None:
    exact = derivative == "value" or (derivative == "gradient" and name != "collects")
    agrees(DERIVATIVES[derivative](PROGRAMS[name]), exact=exact)


def test_a_loop_that_collects_is_differentiated_twice() -> None:
    agrees(
        DERIVATIVES["second order"](collects), exact=False
    )  # a list of the loop in front is walked whose items have no name


def seeded() -> None:
    np.random.seed(3)
    random.seed(3)


def by_numpys_own(x, rng):
    for _ in range(6):
        new = x + np.random.normal(size=2)
        if np.log(np.random.uniform()) < log_density(new) - log_density(x):
            x = new
    return np.sum(x**2)


def by_numpys_own_in_a_while(x, rng):
    while True:
        u = np.random.normal(size=2)
        if np.sum(u**2) < 1.0:
            break
    return np.sum(x * u)


def by_pythons_own(x, rng):
    for _ in range(6):
        new = x * (1 + random.gauss(0, 1))
        if random.random() < np.exp(log_density(new) - log_density(x)):
            x = new
    return np.sum(x**2)


def by_a_random_state(x, rng):
    for _ in range(6):
        new = x + rng.randn(2)
        if np.log(rng.rand()) < log_density(new) - log_density(x):
            x = new
    return np.sum(x**2)


def by_pythons(x, rng):
    for _ in range(6):
        new = x * (1 + rng.gauss(0, 1))
        if rng.random() < np.exp(log_density(new) - log_density(x)):
            x = new
    return np.sum(x**2)


def by_gradscribes(x, rng):
    for _ in range(6):
        x = gs.functional.dropout(x * 1.5, 0.3) + 0.1
    return np.sum(x**2)


@pytest.mark.parametrize(
    ("f", "make"),
    [
        (by_numpys_own, seeded),
        (by_numpys_own_in_a_while, seeded),
        (by_pythons_own, seeded),
        (by_a_random_state, lambda: np.random.RandomState(3)),
        (by_pythons, lambda: random.Random(3)),
        (by_gradscribes, lambda: gs.manual_seed(3)),
        (metropolis, lambda: np.random.Generator(np.random.MT19937(3))),
    ],
)
def test_of_every_kind_of_generator(f: Any, make: Make) -> None:
    agrees(gs.value_and_grad(f), make)


class Sampler:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(3)
        self.width = 0.5

    def sample(self, x, rng):
        for _ in range(6):
            new = x + self.width * self.rng.normal(size=2)
            if self.rng.uniform() < 0.5:
                x = new * x
        return np.sum(x)


def test_of_a_generator_that_is_read_from_outside() -> None:
    samplers = Sampler(), Sampler()
    compiled = gs.compile(gs.grad(samplers[1].sample), verify="first calls")
    for k in range(4):
        np.testing.assert_array_equal(gs.grad(samplers[0].sample)(X * k, None), compiled(X * k, None))
        assert state(samplers[0].rng) == state(samplers[1].rng)


# Derivatives with common random numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("collects", "fills")])
def test_the_gradient_is_that_of_finite_differences(name: str) -> None:
    f = PROGRAMS[name]
    compiled = gs.compile(gs.grad(f), verify="first calls")
    for seed in range(3):
        found = compiled(X, np.random.default_rng(seed))
        h = 1e-6 * np.eye(2)
        about = [(f(X + d, np.random.default_rng(seed)) - f(X - d, np.random.default_rng(seed))) / 2e-6 for d in h]
        np.testing.assert_allclose(found, about, rtol=1e-5, atol=1e-7)


def test_every_number_of_trips() -> None:
    compiled = gs.compile(gs.value_and_grad(stops_by_a_draw), verify="first calls")
    trips = set()
    for seed in range(12):
        one, other, rng = (np.random.default_rng(seed) for _ in range(3))
        found, expected = compiled(X, one), gs.value_and_grad(stops_by_a_draw)(X, other)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        assert state(one) == state(other)
        trips.add(next(k for k in range(100) if rng.uniform() >= 0.7))
    assert {0, 1} < trips
    assert len(gs.explain(compiled).specialisations) == 1


@pytest.mark.parametrize("n", [0, 1, 2, 300])
def test_a_range_of_any_length(n: int) -> None:
    agrees(gs.value_and_grad(lambda x, rng: metropolis(x, rng, n)), calls=2)


# The text ------------------------------------------------------------------------------------------------------------


def code(f: Any) -> str:
    """What is compiled of a function, without its comments."""
    return ast.unparse(ast.parse(gs.source(f, X, numpys())))


def test_the_text_is_one_loop_that_draws_once() -> None:
    source = code(gs.grad(lambda x, rng: metropolis(x, rng, 1000)))
    assert source.count("for ") == 2
    assert source.count("rng.") == 2
    assert "rng.normal(size=2)" in source
    assert "if taken:" in source
    assert len(source.splitlines()) < 50


def test_what_a_branch_draws_stands_in_it() -> None:
    (drawn,) = [line for line in code(gs.grad(decides_at_once)).splitlines() if "rng.normal(size=2)" in line]
    assert drawn.startswith("        ")


def test_explain_tells_what_loops_draw() -> None:
    compiled = agrees(metropolis)
    told = str(gs.explain(compiled))
    assert "`normal` of a generator" in told
    assert "`uniform` of a generator" in told
    assert not gs.explain(compiled).specialisations[0].unrolled


def test_loops_that_draw_stay_whole_where_memory_is_to_be_saved() -> None:
    def walk(x, rng):
        for _ in range(200):
            x = np.tanh(x + 0.1 * rng.normal(size=2) * x)
        return np.sum(x**2)

    compiled = agrees(gs.value_and_grad(walk), loop_memory="sqrt", calls=2)
    assert code(compiled).count("rng.") == 1


def test_the_fast_passes_keep_draws() -> None:
    agrees(gs.value_and_grad(metropolis), exact=False, fastmath=True)
    agrees(gs.value_and_grad(nested), exact=False, fastmath=True)


def test_gradients_have_memory_of_their_own_whichever_way_a_branch_goes() -> None:
    compiled = gs.compile(gs.grad(decides_by_both), verify="first calls")
    for seed in range(6):
        found = compiled(X, np.random.default_rng(seed))
        expected = gs.grad(decides_by_both)(X, np.random.default_rng(seed))
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides
        assert found.flags.writeable


@pytest.mark.parametrize(
    ("f", "args", "words"),
    [
        (metropolis, (X, np.random.default_rng(0)), "argument `rng` is a Generator"),
        (by_numpys_own, (X, None), "draws random numbers from `np.random`"),
        (by_pythons_own, (X, None), "draws random numbers from `random`"),
    ],
)
def test_an_exported_module_draws_from_no_generator_from_outside(f: Any, args: Any, words: str) -> None:
    with pytest.raises(gs.CompileError, match=words):
        gs.export(f, *args)


def test_an_exported_module_may_draw_from_a_generator_of_its_own() -> None:
    def f(x):
        rng = np.random.default_rng(5)
        return metropolis(x, rng)

    space: dict[str, Any] = {"__name__": "exported"}
    exec(gs.export(f, X), space)
    for k in range(3):
        found, expected = space["f_value_and_grad"](X * k), gs.value_and_grad(f)(X * k)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


# What stays eager, and what no attempt may leave behind ---------------------------------------------------------------


def grows(x, rng):
    rng.normal()
    for _ in range(5):
        x = np.concatenate([x, x[:1] * rng.normal()])
    for _ in range(6):
        x = x * rng.normal()
    return np.sum(x)


def draws_more_each_time(x, rng):
    s = 0.0
    for k in range(5):
        s = s + np.sum(x[0] * rng.normal(size=k + 1))
    return s


def grows_around_a_loop(x, rng):
    s, h = np.zeros(2), x[0]
    for _ in range(5):
        for _ in range(6):
            s += x * rng.normal()
        h = np.concatenate([np.atleast_1d(h), x[:1]])
    return np.sum(s) + np.sum(h)


@pytest.mark.parametrize("f", [grows, draws_more_each_time, grows_around_a_loop])
def test_loops_that_are_not_kept_draw_once(f: Any) -> None:
    compiled = agrees(gs.value_and_grad(f))
    assert gs.explain(compiled).specialisations[0].unrolled


def counts_on(x, rng):
    return np.sum(x) * len(range(int(5 * rng.uniform())))


def of_two_kinds(x, rng):
    for _ in range(5):
        x = (x * rng.normal(), 1.0) if rng.uniform() < 0.5 else x
        x = x if isinstance(x, np.ndarray) else x[0]
    return np.sum(x)


def raises(x, rng):
    if rng.uniform() < 0.0:
        raise ValueError("never")
    return np.sum(x)


def writes_and_decides(x, rng):
    x[0] = 1.0
    if rng.uniform() < 0.5:
        x = x * 2
    return np.sum(x)


@pytest.mark.parametrize("f", [counts_on, of_two_kinds, raises, writes_and_decides])
def test_what_is_not_modelled_runs_eagerly_and_says_so(f: Any) -> None:
    compiled, one, other = gs.compile(gs.grad(f)), numpys(), numpys()
    with pytest.warns(gs.EagerWarning, match="comes after an effect"):
        found = [compiled(X.copy(), one) for _ in range(4)]
    np.testing.assert_array_equal(found, [gs.grad(f)(X.copy(), other) for _ in range(4)])
    assert state(one) == state(other)


def test_no_draw_rests_on_what_is_differentiated() -> None:
    def f(x, rng):
        y = x
        for _ in range(5):
            if rng.uniform() < 0.05:
                y = rng.standard_t(y * y + 1.0)
            y = y * x
        return np.sum(y)

    agrees(f)
    compiled, one, other = gs.compile(gs.grad(f)), numpys(), numpys()
    with pytest.warns(gs.EagerWarning, match="comes after an effect"):
        first = compiled(X, one)  # no such draw happens here
    np.testing.assert_array_equal(first, gs.grad(f)(X, other))
    with pytest.raises(gs.GradientLossError):
        [compiled(X, one) for _ in range(20)]


def test_an_error_in_a_loop_leaves_what_eager_leaves() -> None:
    def f(x, rng):
        for _ in range(6):
            x = np.linalg.solve(np.eye(2) * rng.integers(10), x)
        return np.sum(x)

    compiled = gs.compile(f, verify="first calls")
    outcomes = set()
    for seed in range(8):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        ends = []
        for g, rng in ((compiled, one), (f, other)):
            try:
                ends.append(g(X, rng))
            except np.linalg.LinAlgError:
                ends.append("singular")
        assert ends[0] == ends[1]
        outcomes.add(type(ends[0]))
        assert state(one) == state(other)
    assert len(outcomes) == 2


def raises_by_a_draw(x, rng):
    for i in range(3):
        x = x + rng.normal(size=2)
        if i == 2 and np.sum(x) > 0:
            raise ValueError("above")
    return np.sum(x)


def draws_and_raises(x, rng):
    x = x + rng.normal(size=2)
    if np.sum(x) > 1:
        rng.normal()
        raise ValueError("above")
    return np.sum(x) * rng.normal()


@pytest.mark.parametrize("f", [raises_by_a_draw, draws_and_raises])
def test_the_first_call_raises_too(f: Any) -> None:
    outcomes = set()
    for seed in range(6):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        ends = []
        for g, rng in ((gs.compile(f), one), (f, other)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", gs.EagerWarning)
                try:
                    ends.append(g(X, rng))
                except ValueError as error:
                    ends.append(str(error))
        assert ends[0] == ends[1]
        outcomes.add(type(ends[0]))
        assert state(one) == state(other)
    assert len(outcomes) == 2


def test_a_loop_that_was_begun_and_is_not_kept_writes_once() -> None:
    def f(x):
        s = np.zeros(2)
        h = x[0]
        for _ in range(5):
            s += x
            h = np.concatenate([np.atleast_1d(h), x[:1]])
        return s

    compiled = gs.compile(f, verify="first calls")
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), f(X))


def scaled_by_noise(x: Any, rng: Any) -> Any:
    noise = np.sum(x) * rng.normal()
    return noise


def test_a_text_that_draws_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    emit = specialise.emit

    def once_more(*args: Any) -> str:
        return emit(*args).replace("    return", "    rng.normal()\n    return")

    monkeypatch.setattr(specialise, "emit", once_more)
    with pytest.raises(VerifyError, match="leaves a generator of random numbers in another state"):
        gs.compile(scaled_by_noise, verify="first calls")(X, numpys())
