"""Effects under compile: draws of random numbers and what is printed, as in eager, in order, once, also while it is checked."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.errors import VerifyError
from gradscribe.runtime.ir.graph import Call, Graph, Type, Value
from gradscribe.runtime.ir.verify import effects_of, verify
from gradscribe.runtime.registry import require
from gradscribe.runtime.rules.control import guard
from gradscribe.runtime.rules.drawing import draw
from gradscribe.transforms.compiler.analysis.effects import guards_first
from gradscribe.transforms.compiler.passes import PASSES, optimise

XS = [np.array([0.5, -1.25, 2.0]) * k for k in range(1, 6)]


def printed(f: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    """What a call gives, and what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = f(*args)
    return result, out.getvalue()


def states() -> Any:
    """The states of the modules' own generators."""
    return repr(np.random.get_state()[1]), random.getstate()  # type: ignore[index]


def seed() -> None:
    np.random.seed(3)
    random.seed(3)


def agrees(
    f: Callable[..., Any],
    make: Callable[[], tuple[Any, ...]] = tuple,
    inputs: list[Any] = XS,
    *,
    verify: Any = "first calls",
) -> str:
    """Compiled gives what eager gives and prints what eager prints, call after call; its source."""
    compiled = gs.compile(f, verify=verify)
    eager_args, args = make(), make()
    seed()
    expected = [printed(f, x.copy(), *eager_args) for x in inputs]
    after = states()
    seed()
    for x, (value, text) in zip(inputs, expected, strict=True):
        found, seen = printed(compiled, x.copy(), *args)
        np.testing.assert_array_equal(found, value, strict=True)
        assert seen == text
    assert states() == after
    for a, b in zip(eager_args, args, strict=True):
        assert a.random() == b.random()
    return "" if verify is True else printed(compiled.source, inputs[-1].copy(), *args)[0]


def noisy(x: Any, rng: Any) -> Any:
    noise = rng.normal(size=x.shape)
    keep = rng.uniform(size=x.shape) < 0.5
    return np.sum((x + noise) ** 2 * keep)


GENERATORS = {
    "Generator": lambda: (np.random.default_rng(5),),
    "MT19937": lambda: (np.random.Generator(np.random.MT19937(5)),),
    "RandomState": lambda: (np.random.RandomState(5),),
}


@pytest.mark.parametrize("verify", ["first calls", True])
@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_that_is_an_argument(name: str, verify: Any) -> None:
    agrees(noisy, GENERATORS[name], verify=verify)
    agrees(gs.grad(noisy), GENERATORS[name], verify=verify)
    agrees(gs.grad(gs.compile(noisy)), GENERATORS[name], verify=verify)


def test_draws_are_written_as_the_user_wrote_them() -> None:
    source = agrees(gs.grad(noisy), GENERATORS["Generator"])
    assert "def noisy_grad(x, rng):" in source
    assert "    noise = rng.normal(size=x.shape)" in source


def test_a_draw_serves_other_sizes() -> None:
    source = agrees(noisy, GENERATORS["Generator"], [np.arange(float(n)) for n in (3, 4, 5, 3, 7, 9)])
    assert source.count("def ") == 1


def of_modules(x: Any) -> Any:
    a = np.random.normal(size=3)
    b = np.random.uniform(0, 1)
    c = random.random()
    random.gauss(0, 1)  # drawn, and not used
    return np.sum(x * (b - a) * c) * np.random.sample()


def test_the_generators_of_modules() -> None:
    source = agrees(of_modules)
    assert "a = np.random.normal(size=3)" in source
    assert "    random.gauss(0, 1)\n" in source
    agrees(gs.grad(of_modules), verify=True)


def test_a_seed_set_inside() -> None:
    def f(x: Any) -> Any:
        np.random.seed(0)
        random.seed(1)
        return np.sum(x * np.random.randn(3)) * random.uniform(1, 2)

    agrees(gs.grad(f))


def test_a_generator_made_inside_is_made_at_each_call() -> None:
    def f(x: Any) -> Any:
        rng = np.random.default_rng(3)
        again = np.random.default_rng(3)
        return np.sum(x * rng.normal(size=3) * rng.integers(1, 9)) + again.normal()

    source = agrees(f)
    assert source.count("np.random.default_rng(3)") == 2
    agrees(gs.grad(f))


def test_a_generator_of_python() -> None:
    def noise(rng: Any) -> Any:
        return rng.gauss(0.0, 1.0)

    agrees(lambda x, rng: np.sum(x * noise(rng)) + rng.random(), lambda: (random.Random(4),))


class Model:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)

    def loss(self, x: Any) -> Any:
        return np.sum(x * self.rng.standard_normal(len(x)))


def test_a_generator_of_self_and_another_in_its_place() -> None:
    one, other = Model(), Model()
    compiled, eager = gs.compile(gs.grad(one.loss), verify="first calls"), gs.grad(other.loss)
    for k in range(8):
        if k == 4:
            one.rng, other.rng = np.random.default_rng(9), np.random.default_rng(9)
        if k == 6:
            one.rng, other.rng = np.random.RandomState(9), np.random.RandomState(9)  # type: ignore[assignment]
        np.testing.assert_array_equal(compiled(XS[0] * k), eager(XS[0] * k))


def test_a_generator_of_a_closure_and_draws_between_calls() -> None:
    one, other = np.random.default_rng(2), np.random.default_rng(2)
    f = gs.compile(lambda x: np.sum(x * one.normal(size=3)), verify="first calls")
    for x in XS:
        assert f(x) == np.sum(x * other.normal(size=3))
        assert one.normal() == other.normal()


def test_two_generators_keep_their_order_and_may_be_one() -> None:
    def f(x: Any, a: Any, b: Any) -> Any:
        return np.sum(x * a.normal(size=3) - b.normal(size=3))

    agrees(f, lambda: (np.random.default_rng(1), np.random.default_rng(2)))
    compiled = gs.compile(f, verify="first calls")
    a, b, one, other = (
        np.random.default_rng(1),
        np.random.default_rng(2),
        np.random.default_rng(3),
        np.random.default_rng(3),
    )
    for x in XS:
        compiled(x, a, b)
    for x in XS:
        assert compiled(x, one, one) == f(x, other, other)


def test_parameters_that_are_traced() -> None:
    def f(x: Any, mu: Any, rng: Any) -> Any:
        return np.sum(x * rng.normal(mu, 2 + mu**2))

    compiled, one, other = (
        gs.compile(gs.grad(f), verify="first calls"),
        np.random.default_rng(1),
        np.random.default_rng(1),
    )
    for x in XS:
        np.testing.assert_array_equal(compiled(x, x, one), gs.grad(f)(x, x, other))
    assert "rng.normal(mu, 2 + mu**2)" in compiled.source(XS[0], XS[0], one)


def test_a_parameter_that_is_differentiated_raises_as_in_eager() -> None:
    def f(mu: Any, rng: Any) -> Any:
        return np.sum(rng.standard_t(mu))

    for run in (gs.grad(f), gs.compile(gs.grad(f))):
        with pytest.raises(gs.GradientLossError):
            run(XS[0], np.random.default_rng(0))


def test_threads_draw_from_generators_of_their_own() -> None:
    compiled = gs.compile(noisy, verify="first calls")
    found: dict[int, list[Any]] = {}

    def work(k: int) -> None:
        rng = np.random.default_rng(k)
        found[k] = [compiled(x, rng) for x in XS * 5]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        rng = np.random.default_rng(k)
        assert found[k] == [noisy(x, rng) for x in XS * 5]


def talkative(x: Any) -> Any:
    loss = np.sum(x * x)
    print("loss", loss)
    print(f"loss {loss:.3f}, {{x}} = {x}!", x.shape, len(x), sep=" | ")
    print("that is", None, 3, end=" all\n")
    return loss


@pytest.mark.parametrize("verify", ["first calls", True])
def test_what_is_printed(verify: Any) -> None:
    agrees(talkative, verify=verify)
    agrees(gs.grad(talkative), verify=verify)
    agrees(talkative, inputs=[np.ones(n) for n in (3, 4, 5, 6)], verify=verify)


def test_prints_are_written_as_the_user_wrote_them() -> None:
    source = agrees(gs.grad(talkative))
    assert '    print("loss", loss)' in source
    assert 'print(f"loss {loss:.3f}, {{x}} = {x}!", x.shape, x.size, sep=" | ")' in source


def test_prints_and_draws_keep_their_order() -> None:
    def f(x: Any, rng: Any) -> Any:
        a = rng.normal(size=3)
        print("a", a)
        print(f"{rng.normal():.2e}")
        b = np.exp(x) * a
        print("b", b)
        return np.sum(b)

    agrees(f, GENERATORS["Generator"])
    source = agrees(gs.grad(f), GENERATORS["Generator"])
    assert source.index('"a"') < source.index(":.2e") < source.index('"b"')


def prints_each_trip(x: Any, rng: Any) -> Any:
    print("start", x)
    for k in range(5):
        x = x + rng.normal(size=3)
        print("trip", k, x)
    print(f"end {np.sum(x):.3f}")
    return np.sum(x**2)


def prints_in_branches(x: Any, rng: Any) -> Any:
    for k in range(5):
        x = x * rng.normal(size=3)
        if rng.uniform() < 0.5:
            print(f"taken {k} {x[0]:.2e} and {rng.normal():.1f}")
        print(rng.normal(), end="; ")
    return np.sum(x**2)


def prints_by_a_draw(x: Any, rng: Any) -> Any:
    print("first")
    if rng.uniform() < 0.5:
        print("yes", rng.normal())
    else:
        print("no")
    return np.sum(x**2)


def prints_as_it_waits(x: Any, rng: Any) -> Any:
    while True:
        u = rng.normal()
        print(f"{u:.2f}")
        if u > 0.5:
            break
    return np.sum(x * u)


@pytest.mark.parametrize("f", [prints_each_trip, prints_in_branches, prints_by_a_draw, prints_as_it_waits])
@pytest.mark.parametrize("transform", [lambda f: f, gs.grad])
def test_loops_and_branches_print_in_order(f: Any, transform: Any) -> None:
    assert "NotImplemented" not in agrees(transform(f), GENERATORS["Generator"])


def test_a_loop_that_is_not_kept_prints_once() -> None:
    def f(x: Any) -> Any:
        print("first")
        for _ in range(5):
            x = np.concatenate([x, x[:1]])
            print(f"{np.sum(x):.3f}")
        print("last")
        return np.sum(x)

    agrees(gs.grad(f))


def test_what_was_printed_before_an_error_stands_before_it() -> None:
    def f(x: Any) -> Any:
        print("first")
        for _ in range(5):
            x = x @ np.ones((3, 3))
            print("trip")
        print("then")
        return np.sum(x.reshape(7))

    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(ValueError, match="reshape"):
        gs.compile(f)(XS[0])
    assert out.getvalue() == printed_before_an_error(f)


def printed_before_an_error(f: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(ValueError, match="reshape"):
        f(XS[0])
    return out.getvalue()


def test_what_prints_by_itself_keeps_its_place() -> None:
    def f(x: Any) -> Any:
        print("one")
        sys.stdout.write("two\n")
        print("three")
        for _ in range(5):
            x = np.sin(x)
        return np.sum(x)

    with pytest.warns(gs.EagerWarning, match="sys"):
        assert printed(gs.compile(f), XS[0])[1] == "one\ntwo\nthree\n"


def test_text_that_could_stand_in_two_places_runs_eagerly() -> None:
    def f(x: Any, label: Any) -> Any:
        print(f"{label}{x[0]:.0f}")
        return np.sum(x)

    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="formats a traced value"):
        assert printed(compiled, np.ones(2), "11 ")[1] == "11 1\n"
    assert printed(compiled, np.zeros(2), "11 ")[1] == "11 0\n"


def test_a_guard_behind_an_effect_comes_before_it() -> None:
    def f(x: Any) -> Any:
        print("here")
        if bool(np.sum(x) > 2):
            x = x * 2
        print("there")
        return np.sum(x)

    source = agrees(gs.grad(f))
    assert source.index("NotImplemented") < source.index('"here"')


def test_a_decision_by_a_draw_that_is_no_branch_runs_eagerly() -> None:
    def f(x: Any, rng: Any) -> Any:
        return sum(x[: int(3 * rng.random())]) + np.sum(x * x)

    compiled, one, other = gs.compile(gs.grad(f)), np.random.default_rng(0), np.random.default_rng(0)
    with pytest.warns(gs.EagerWarning, match="comes after an effect"):
        found = [compiled(x, one) for x in XS]
    np.testing.assert_array_equal(found, [gs.grad(f)(x, other) for x in XS])


def test_a_decision_by_what_may_raise_behind_an_effect_is_a_branch() -> None:
    def f(x: Any) -> Any:
        print("here")
        y = np.linalg.inv(x)
        return np.sum(y) if y[0, 0] > 0 else np.sum(x)

    source = agrees(f, inputs=[np.eye(2), -np.eye(2), 3 * np.eye(2)])
    assert "NotImplemented" not in source
    with pytest.raises(np.linalg.LinAlgError):
        gs.compile(f)(np.zeros((2, 2)))


def test_a_size_by_what_may_raise_behind_an_effect_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        print("here")
        return sum(x[0, : int(np.linalg.det(x))])

    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="comes after an effect"):
        assert printed(compiled, np.eye(2)) == (1.0, "here\n")


# The flag -------------------------------------------------------------------------------------------------------------

FLOATS = Type("array", np.dtype(float), (3,), (8,))
GENERATOR = Type("generator", np.dtype(object), (), ())


def draw_of(rng: Value) -> Call:
    return Call(require(draw), (rng, "normal", (), (("size", 3),)), (Value(FLOATS),))


def test_passes_keep_effects_though_they_are_alike_and_unread() -> None:
    rng = Value(GENERATOR, "rng")
    calls = [draw_of(rng), draw_of(rng), draw_of(rng)]
    graph = Graph([rng], calls, [calls[1].outs[0]])
    for run in PASSES:
        assert effects_of(run(graph)) == effects_of(graph) == [c.outs[0] for c in calls], run
    assert effects_of(optimise(graph)) == effects_of(graph)


def test_a_pass_that_moves_effects_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler import passes

    def moving(graph: Graph) -> Graph:
        return Graph(graph.inputs, graph.calls[::-1], graph.outputs)

    rng = Value(GENERATOR, "rng")
    monkeypatch.setattr(passes, "PASSES", (moving,))
    with pytest.raises(VerifyError, match="effects"):
        optimise(Graph([rng], [draw_of(rng), draw_of(rng)], []))


def test_no_guard_stands_behind_an_effect() -> None:
    rng, flag = Value(GENERATOR, "rng"), Value(Type("scalar", np.dtype(bool), (), ()), "flag")
    drawn, decided = draw_of(rng), Call(require(guard), (flag, "bool", True), (Value(flag.type),))
    graph = Graph([rng, flag], [drawn, decided], [drawn.outs[0]])
    with pytest.raises(VerifyError, match="guard stands behind an effect"):
        verify(graph, "a test")
    moved = guards_first(graph)
    assert isinstance(moved, Graph)
    assert moved.calls == [decided, drawn]
    by_draw = Call(require(guard), (drawn.outs[0], "bool", True), (Value(FLOATS),))
    assert guards_first(Graph([rng, flag], [drawn, by_draw], [])) is by_draw


def test_explain_lists_effects() -> None:
    def f(x: Any, rng: Any) -> Any:
        print("here")
        return np.sum(x * rng.normal(size=3)) * np.random.normal()

    compiled = gs.compile(f, verify="first calls")
    printed(compiled, XS[0], np.random.default_rng(0))
    (one,) = gs.explain(compiled).specialisations
    assert [e.partition("  ")[0] for e in one.effects] == ["`print`", "`normal` of a generator", "`np.random.normal`"]
    assert one.signatures == ("x: float64[3], rng: any Generator",)
    assert "effects  `print`" in str(gs.explain(compiled))


def test_an_effect_happens_once_where_a_number_changes_outside() -> None:
    scale = 1.0

    def f(x: Any) -> Any:
        print("scale")
        return np.sum(x) * (2.0**scale)

    compiled = gs.compile(f, verify="first calls")
    for k in range(4):
        scale = 1.5 + k
        assert printed(compiled, XS[0]) == (np.sum(XS[0]) * (2.0**scale), "scale\n")


def test_a_mean_that_happens_to_be_the_number_of_draws_is_no_size() -> None:
    def f(x: Any, rng: np.random.Generator) -> Any:
        return np.sum(x * rng.normal(np.sum(x), size=3))

    compiled = gs.compile(f, verify="first calls")
    for x in (np.ones(3), np.arange(3.0), np.array([0.5, 0.1, 0.2])):
        assert compiled(x, np.random.default_rng(0)) == f(x, np.random.default_rng(0))
    assert len(gs.explain(compiled).specialisations) == 1


def test_export_prints_and_says_what_it_cannot_take(tmp_path: Any) -> None:
    def f(x: Any) -> Any:
        print("sum", np.sum(x))
        return np.sum(x * x)

    path = tmp_path / "f.py"
    printed(lambda: gs.export(f, XS[0], path=str(path)))
    assert 'print("sum", np.sum(x))' in path.read_text()
    with pytest.raises(gs.CompileError, match="argument `rng` is a Generator"):
        gs.export(noisy, XS[0], np.random.default_rng(0), path=str(path))


def dropped_bce(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    return gs.functional.binary_cross_entropy(
        gs.functional.sigmoid(gs.functional.dropout(x, 0.2, generator=rng) @ w[0]), (labels > 1) * 1.0
    )


def dropped_gaussian(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    h = gs.functional.dropout(x, 0.2, generator=rng)
    return gs.functional.gaussian_nll_loss(h @ w[0], labels * 1.0, np.exp(h @ w[1]))


def drawn_rows(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    return np.sum(gs.functional.embedding(rng.integers(0, 3, 6), w) ** 2)


def shuffled_epoch(w: Any, x: Any, labels: Any, rng: Any) -> Any:
    total = 0.0
    for rows in rng.permutation(12).reshape(3, 4):
        total += gs.functional.cross_entropy(gs.functional.dropout(x[rows], 0.2, generator=rng) @ w.T, labels[rows])
        total += gs.functional.nll_loss(gs.functional.log_softmax(x[rows] @ w.T, 1), labels[rows])
    return total


@pytest.mark.parametrize("loss", [dropped_bce, dropped_gaussian, drawn_rows, shuffled_epoch])
def test_losses_behind_a_draw_are_compiled(loss: Any) -> None:
    draw = np.random.default_rng(0)
    w, x, labels = draw.normal(size=(3, 5)), draw.normal(size=(12, 5)), draw.integers(0, 3, 12)
    gradient = gs.value_and_grad(loss)
    compiled = gs.compile(gradient, verify="first calls")
    for seed in range(3):
        found = compiled(w, x, labels, np.random.default_rng(seed))
        wanted = gradient(w, x, labels, np.random.default_rng(seed))
        assert found[0] == wanted[0]
        np.testing.assert_array_equal(found[1], wanted[1])
    assert len(gs.explain(compiled).specialisations) == 1


def test_what_no_guard_sees_behind_a_draw_is_not_silent() -> None:
    def bce(p: Any, rng: Any) -> Any:
        return gs.functional.binary_cross_entropy(p * (1 + 0 * rng.uniform(size=2)), np.ones(2))

    def rows(table: Any, shift: Any, rng: Any) -> Any:
        return np.sum(gs.functional.embedding(rng.permutation(2) + shift, table))

    compiled = gs.compile(bce)
    for _ in range(5):  # the first calls are held against eager ones
        assert np.isfinite(compiled(np.array([0.5, 0.25]), np.random.default_rng(0)))
    assert np.isnan(compiled(np.array([0.5, 1.5]), np.random.default_rng(0)))
    read = gs.compile(rows)
    assert read(np.ones((3, 2)), np.array(1), np.random.default_rng(0)) == 4.0
    for shift in (-2, 2):
        with pytest.raises(IndexError):
            read(np.ones((3, 2)), np.array(shift), np.random.default_rng(0))
