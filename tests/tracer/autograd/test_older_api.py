"""The older API of gs.autograd: Variable, volatile, old names of arguments, Functions with instances, stochastic nodes."""

from __future__ import annotations

import copy
import gc
import runpy
import subprocess
import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.autograd import Function, Variable, stochastic

from checks import TABLE
from house import ROOT

OLDER = pytest.mark.filterwarnings("ignore::DeprecationWarning")
pytestmark = OLDER
EXAMPLE = ROOT / "examples" / "bandit.py"


def leaf(*values: float) -> Any:
    return gs.tensor(list(values), requires_grad=True)


def volatile(*values: float) -> Any:
    return Variable(np.array(values), volatile=True)


# --- Variable -------------------------------------------------------------------------------------------------------


def test_a_variable_is_a_tensor_on_the_same_memory() -> None:
    array = np.array([1.0, 2.0])
    x = Variable(array, requires_grad=True)
    assert type(x) is gs.Tensor
    assert isinstance(x, Variable)
    assert not isinstance(array, Variable)
    assert (x.requires_grad, x.is_leaf, x.volatile) == (True, True, False)
    array[0] = 5.0
    (x * x).sum().backward()
    assert x.grad.tolist() == [10.0, 4.0]
    y = Variable(x * 2, requires_grad=True)
    assert (y.is_leaf, y.tolist()) == (True, [10.0, 4.0])
    assert not Variable(x).requires_grad
    assert Variable().shape == (0,)
    assert gs.autograd.variable.Variable is Variable


def test_what_is_no_variable() -> None:
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got list"):
        Variable([1.0])
    with pytest.raises(TypeError, match="dtype <U1"):
        Variable(np.array(["a"]))
    with pytest.raises(ValueError, match="can't be volatile and require_grad at the same time"):
        Variable(np.ones(2), True, True)
    with pytest.raises(RuntimeError, match="floating point"):
        Variable(np.arange(2), requires_grad=True)


def test_inside_a_transform_it_does_not_cut_a_gradient_in_silence() -> None:
    with pytest.raises(RuntimeError, match="would cut its gradient off"):
        gs.grad(lambda x: np.sum(Variable(x)))(np.ones(2))
    assert gs.grad(lambda x: np.sum(x * Variable(np.array([2.0, 3.0]))))(np.ones(2)).tolist() == [2.0, 3.0]


# --- volatile -------------------------------------------------------------------------------------------------------

COMPUTED = {
    "one argument": lambda v, x: np.sin(v),
    "two": lambda v, x: v * x,
    "the other way": lambda v, x: x * v,
    "a second step": lambda v, x: np.sin(v) * x,
    "a view": lambda v, x: v[1:] * x[1:],
    "a list": lambda v, x: np.stack([x, v]),
    "several results": lambda v, x: np.split(v * 1.0, 2)[0] * x[:1],
    "detach": lambda v, x: v.detach() * x,
    "a method": lambda v, x: (x @ v).exp(),
    "out=": lambda v, x: np.multiply(x, v, out=gs.tensor([0.0, 0.0])) * x,
    "a Function": lambda v, x: Product.apply(v, x) * x,
    "a custom_vjp": lambda v, x: product(v, x) * x,
    "a checkpoint": lambda v, x: gs.checkpoint(lambda a, b: np.sin(a * b), v, x) * x,
    "an index": lambda v, x: x[np.argsort(v)],
}


class Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y, g * x


@gs.custom_vjp
def product(x: Any, y: Any) -> Any:
    return x * y


product.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, g: (g * kept[1], g * kept[0]))


@pytest.mark.parametrize("name", COMPUTED)
def test_nothing_computed_from_something_volatile_has_a_history(name: str) -> None:
    x, v = leaf(3.0, 4.0), volatile(1.0, 2.0)
    y = COMPUTED[name](v, x)
    assert (y.volatile, y.requires_grad, y.grad_fn) == (True, False, None)
    with pytest.raises(RuntimeError, match="does not require grad"):
        y.sum().backward()
    plain = COMPUTED[name](gs.tensor([1.0, 2.0]), x)
    assert name == "one argument" or plain.requires_grad  # it is the volatile one that takes the history away
    np.testing.assert_array_equal(y.numpy(), plain.detach().numpy())


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in _tensors(part)]
    return [value] if isinstance(value, Variable) else []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_op_hands_it_on_from_each_of_its_arguments() -> None:
    tried, wrong = 0, []
    for sample in [s for group in TABLE.values() for s in group if not s.scoped]:
        arrays = sample.draw(np.random.default_rng(0), sample.shapes[0])
        for k in range(len(arrays)):
            given = [gs.tensor(a, requires_grad=not sample.integer) for a in arrays]
            given[k] = Variable(arrays[k], volatile=True)
            found = _tensors(sample.run(*given, **sample.kwargs[0]))
            tried += bool(found)
            wrong += [sample.name for t in found if t.requires_grad or not t.volatile]
    assert tried > 500
    assert not wrong


def test_the_flag() -> None:
    v = gs.tensor([1.0, 2.0])
    assert not v.volatile
    v.volatile = True
    assert (v * leaf(1.0, 2.0)).volatile
    for refused in (lambda: v.requires_grad_(), lambda: setattr(leaf(1.0), "volatile", True)):
        with pytest.raises(ValueError, match="can't be volatile and require_grad at the same time"):
            refused()
    with pytest.raises(RuntimeError, match="volatile can only be set on leaf variables"):
        (leaf(1.0) * 2).volatile = True
    assert not v.data.volatile  # the data have no flag
    w = copy.deepcopy(v.data)
    v.volatile = False
    assert not v.volatile
    assert (v * leaf(1.0, 2.0)).requires_grad
    assert w.requires_grad_().requires_grad


def test_writes() -> None:
    x, v = leaf(3.0, 4.0), volatile(1.0, 2.0)
    v += x
    v[0] = x[1]
    np.copyto(v, x * 2)
    np.add(x, x, out=v)
    assert (v.volatile, v.requires_grad, v.tolist()) == (True, False, [6.0, 8.0])
    for write in (lambda y: y.add_(v), lambda y: y.__setitem__(0, v[0]), lambda y: np.copyto(y, v)):
        y = x * 2
        write(y)
        assert (y.volatile, y.requires_grad) == (True, False)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(v)
    y = x * 2
    with pytest.raises(RuntimeError, match="writes something volatile into a view"):
        y[1:].add_(v[1:])
    with gs.no_grad():
        x.add_(v)
    assert x.requires_grad


def test_nothing_is_saved_of_it() -> None:
    v, x = volatile(1.0, 2.0), leaf(3.0, 4.0)
    saved: list[Any] = []

    def pack(t: Any) -> Any:
        saved.append(t)
        return t

    with gs.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        np.exp(v * x) * x
        assert not saved
        np.exp(x)
        assert len(saved) == 1


def test_a_recomputation_finds_it_volatile() -> None:
    v, x = volatile(1.0, 2.0), leaf(3.0, 4.0)
    plain, y = gs.checkpoint(lambda v, x: (np.sin(v * x), np.exp(x) * x), v, x)
    assert plain.volatile
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([3.0, 4.0]) * [4.0, 5.0])


def test_a_volatile_one_in_transforms() -> None:
    v = volatile(1.0, 2.0)

    def f(x: Any) -> Any:
        return np.sum(x * x + v)

    def written(x: Any) -> Any:
        y = x * 1.0
        y[0] = v[0]
        return np.sum(y)

    assert gs.grad(f)(np.ones(2)).tolist() == [0.0, 0.0]  # as of everything computed under gs.no_grad()
    with pytest.raises(RuntimeError, match=r"inside a transform.*gs\.no_grad"):
        gs.grad(written)(np.ones(2))
    with pytest.raises(RuntimeError, match=r"a volatile Variable met gs\.vmap"):
        gs.vmap(lambda x: x * v[0])(np.ones(2))
    assert gs.grad(lambda x: np.sum(x * x))(v).tolist() == [2.0, 4.0]  # the argument of a gradient is none
    with pytest.warns(gs.EagerWarning, match=r"test_older_api\.py:\d+"):
        assert float(gs.compile(f, verify="first calls")(np.ones(2))) == 5.0


# --- older names of arguments ---------------------------------------------------------------------------------------


def test_retain_variables() -> None:
    x = leaf(2.0, 3.0)
    y = x * x
    y.backward(gs.tensor([1.0, 1.0]), retain_variables=True)
    y.backward(gs.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [8.0, 12.0]
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward(gs.tensor([1.0, 1.0]))
    z = (x * x).sum()
    gs.autograd.backward([z], retain_variables=True)
    gs.autograd.backward(variables=[z], grad_variables=[gs.tensor(2.0)])
    assert x.grad.tolist() == [8.0 + 12.0, 12.0 + 18.0]
    with pytest.raises(RuntimeError, match="both passed to `backward"):
        gs.autograd.backward([z], retain_graph=True, retain_variables=True)
    with pytest.raises(TypeError, match="tensors"):
        gs.autograd.backward()


@pytest.mark.parametrize("create_graph", [False, True])
def test_only_inputs_false_adds_into_the_other_leaves(create_graph: bool) -> None:
    x, w, u = leaf(2.0), leaf(3.0), leaf(1.0)
    seen: list[float] = []
    w.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    w.grad = gs.tensor([1.0])
    y = x * w
    (g, d_y) = gs.autograd.grad((y * w).sum(), [x, y], only_inputs=False, create_graph=create_graph)
    assert (g.tolist(), d_y.tolist()) == ([9.0], [3.0])
    assert w.grad.tolist() == [1.0 + 2 * 2.0 * 3.0]  # x w^2
    assert seen == [13.0]
    assert x.grad is None
    assert u.grad is None
    gs.autograd.grad((x * w).sum(), x)
    assert w.grad.tolist() == [13.0]


# --- Functions with instances ---------------------------------------------------------------------------------------


class Scale(Function):
    """As the tutorials of 2017 wrote it, by NumPy."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.keep = factor  # a name that our own context has, too

    def forward(self, x: Any, y: Any) -> Any:
        self.save_for_backward(x, y)
        return gs.tensor(x.numpy() * y.numpy() * self.keep)

    def backward(self, g: Any) -> Any:
        x, y = self.saved_tensors
        assert [t.requires_grad for t in self.saved_tensors] == [False, False]
        assert [t.requires_grad for t in self.saved_variables] == list(self.needs_input_grad)
        d_y = gs.tensor(g.numpy() * x.numpy() * self.keep) if self.needs_input_grad[1] else None
        return gs.tensor(g.numpy() * y.numpy() * self.keep), d_y


class Split(Function):
    def forward(self, x: Any) -> Any:
        places = np.argsort(x)
        self.mark_non_differentiable(places)
        self.save_for_backward(x)
        return np.sin(x), places

    def backward(self, g: Any, d_places: Any) -> Any:
        (x,) = self.saved_tensors
        assert not d_places.numpy().any()
        return g * np.cos(x)


def test_an_instance() -> None:
    x, c = leaf(1.0, 2.0), gs.tensor([5.0, 7.0])
    y = Scale(3.0)(x, c)
    assert y.grad_fn.name() == "ScaleBackward"
    y.sum().backward()
    assert x.grad.tolist() == [15.0, 21.0]
    assert gs.autograd.gradcheck(lambda a, b: Scale(2.0)(a, b), (x, leaf(0.3, 0.7)))
    s, places = Split()(x)
    assert not places.requires_grad
    s.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [15.0 + np.cos(1.0), 21.0 + np.cos(2.0)])
    assert not Scale(1.0)(c, c).requires_grad


def test_an_instance_is_used_once() -> None:
    x = leaf(1.0)
    double = Scale(2.0)
    double(x, x)
    with pytest.raises(RuntimeError, match="meant to be used only once"):
        double(x, x)
    with pytest.raises(TypeError):
        Split(3)


def test_an_instance_is_differentiated_once() -> None:
    x = leaf(1.0, 2.0)
    (g,) = gs.autograd.grad((Scale(2.0)(x, x) ** 2).sum(), x, create_graph=True)  # its backward reads g.numpy()
    assert g.tolist() == [16.0, 128.0]
    y = Scale(2.0)(x, x) + x**3
    (g,) = gs.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice a function that is of the older style"):
        g.sum().backward()
    with pytest.raises(RuntimeError, match="differentiate twice a function that is of the older style"):
        gs.hessian(lambda x: np.sum(Split()(x)[0]))(np.ones(2))


class Double(gs.autograd.function.InplaceFunction):
    def forward(self, x: Any) -> Any:
        if not self.inplace:
            return x * 2.0
        self.mark_dirty(x)
        x.mul_(2.0)
        return x

    def backward(self, g: Any) -> Any:
        return g * 2.0


def test_an_instance_that_writes_in_place() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1.0
    assert Double()(y) is not y
    z = Double(inplace=True)(y)
    assert z is y
    assert z.tolist() == [2.0, 4.0]
    (z * z).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]


def test_instances_in_transforms() -> None:
    def f(x: Any) -> Any:
        return np.sum(Split()(x)[0])

    x = np.array([0.2, 0.9])
    np.testing.assert_array_equal(gs.grad(f)(x), np.cos(x))
    compiled = gs.compile(gs.grad(f), verify="first calls")
    with pytest.warns(gs.EagerWarning, match=r"test_older_api\.py:\d+: it .*Split"):
        np.testing.assert_array_equal(compiled(x), np.cos(x))
    np.testing.assert_array_equal(compiled(x + 1), np.cos(x + 1))


def test_a_name_of_the_users_hides_none_of_ours() -> None:
    class Kept(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.keep, ctx.free = 2.0, 3.0
            ctx.save_for_backward(x)
            return x * 6.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert len(ctx.saved_variables) == 1
            return g * ctx.keep * ctx.free

    x = leaf(1.0)
    Kept.apply(x).backward()
    assert x.grad.tolist() == [6.0]


# --- stochastic nodes -----------------------------------------------------------------------------------------------


def test_bernoulli_gives_its_formula() -> None:
    gs.manual_seed(0)
    p = leaf(0.2, 0.5, 0.9, 0.4)
    x = p.bernoulli()
    assert x.grad_fn.name() == "BernoulliBackward"
    reward = np.array([1.0, 2.0, -3.0, 4.0])
    x.reinforce(reward)
    x.backward()
    s, q = x.detach().numpy(), p.detach().numpy()
    assert sorted(set(s)) == [0.0, 1.0]
    np.testing.assert_allclose(p.grad.numpy(), -reward * (s - q) / (q * (1 - q)), rtol=1e-14)


@pytest.mark.parametrize("reinforced", [2.0, np.array([1.0, -2.0]), gs.tensor([1.0, -2.0])])
def test_normal_gives_its_formula(reinforced: Any) -> None:
    generator = np.random.default_rng(3)
    mean, std = leaf(1.0, -1.0), gs.tensor(2.0, requires_grad=True)
    x = gs.normal(mean, std, generator=generator)
    x.reinforce(reinforced)
    gs.autograd.backward(x)
    s, m, r = x.detach().numpy(), mean.detach().numpy(), np.asarray(reinforced) * np.ones(2)
    np.testing.assert_array_equal(s, m + 2.0 * np.random.default_rng(3).standard_normal(2))
    np.testing.assert_allclose(mean.grad.numpy(), -r * (s - m) / 4.0, rtol=1e-14)
    np.testing.assert_allclose(std.grad.numpy(), np.sum(-r * ((s - m) ** 2 - 4.0) / 8.0), rtol=1e-14)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("rows", [1, 3])
def test_multinomial_gives_the_gradient_of_its_log_probability(replacement: bool, rows: int) -> None:
    gs.manual_seed(5)
    weights = gs.tensor(np.random.default_rng(0).uniform(0.1, 2.0, (rows, 5)), requires_grad=True)
    x = weights.multinomial(3, replacement)
    assert (x.shape, x.dtype, x.requires_grad, x.is_leaf) == ((rows, 3), np.int64, False, False)
    reward = np.random.default_rng(1).normal(size=(rows, 3))
    x.reinforce(reward)
    gs.autograd.backward([x])
    places = x.numpy()

    def surrogate(w: Any) -> Any:
        total = 0.0
        for row in range(rows):
            left = [0, 1, 2, 3, 4]
            for place, r in zip(places[row].tolist(), reward[row].tolist(), strict=True):
                total = total - r * (np.log(w[row, place]) - np.log(np.sum(w[row][left])))
                if not replacement:
                    left.remove(place)
        return total

    np.testing.assert_allclose(weights.grad.numpy(), gs.grad(surrogate)(weights.detach().numpy()), rtol=1e-12)


@pytest.mark.parametrize(
    ("draw", "log_prob", "parameters"),
    [
        (lambda p: gs.bernoulli(p), lambda x, p: x * np.log(p) + (1 - x) * np.log(1 - p), (0.3,)),
        (lambda m, s: gs.normal(m, s), lambda x, m, s: -0.5 * ((x - m) / s) ** 2 - np.log(s), (0.5, 1.5)),
        (lambda w: gs.multinomial(w), lambda x, w: np.log(w[x[0]]) - np.log(np.sum(w)), ([0.5, 1.5, 1.0],)),
    ],
)
def test_the_successor_gives_the_same_and_higher_derivatives(draw: Any, log_prob: Any, parameters: Any) -> None:
    given = [gs.tensor(p, requires_grad=True) for p in parameters]
    sample = draw(*given)
    sample.reinforce(2.5)
    sample.backward()
    x = sample.detach().numpy()

    def loss(*parameters: Any) -> Any:
        return -2.5 * log_prob(x, *parameters)

    exact = gs.grad(loss, argnums=tuple(range(len(given))))(*[np.array(p) for p in parameters])
    for p, g in zip(given, exact, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g, rtol=1e-12)
    assert gs.autograd.gradcheck(loss, tuple(given))
    assert gs.autograd.gradgradcheck(loss, tuple(given))


def test_samples_have_the_right_shares() -> None:
    generator = np.random.default_rng(0)
    share = gs.bernoulli(np.full(20000, 0.3), generator=generator).mean()
    assert type(gs.bernoulli(np.ones(2))) is np.ndarray
    assert abs(share - 0.3) < 4 * np.sqrt(0.21 / 20000)
    w = np.array([1.0, 2.0, 0.0, 5.0])
    counts = np.bincount(gs.multinomial(w, 20000, True, generator=generator), minlength=4) / 20000
    assert counts[2] == 0
    assert np.all(np.abs(counts - w / 8) < 4 * np.sqrt(0.25 / 20000))
    pairs = gs.multinomial(np.tile(w, (20000, 1)), 2, generator=generator)
    first, second = pairs.T
    assert np.all(first != second)
    assert abs(np.mean((first == 3) & (second == 0)) - 5 / 8 * 1 / 3) < 4 * np.sqrt(0.25 / 20000)
    assert gs.tensor([9.0, 9.0, 9.0]).bernoulli(p=1.0).tolist() == [1.0, 1.0, 1.0]
    assert gs.bernoulli(np.full(3, 0.5, np.float32)).dtype == np.float32
    assert gs.normal(gs.zeros(3, dtype=np.float32), 1.0).dtype == np.float32
    z = stochastic.normal(gs.zeros(20000), 3.0, generator=generator)
    assert abs(float(z.mean())) < 4 * 3 / np.sqrt(20000)


def reward_of(x: Any) -> Any:
    """Something that is not linear."""
    return np.exp(0.5 * x) + x**2


def test_the_estimate_agrees_with_the_gradient_of_the_expectation() -> None:
    """Means of 40,000 estimates lie within four standard errors of the exact gradient, for every kind of sample."""
    n, generator = 40_000, np.random.default_rng(7)

    def close(estimates: Any, exact: Any) -> None:
        error = estimates.std(axis=0) / np.sqrt(len(estimates))
        assert np.all(np.abs(estimates.mean(axis=0) - exact) < 4 * error)
        assert np.all(4 * error < 0.5 * np.abs(exact)), "the test could not fail"

    p = gs.tensor(np.full(n, 0.3), requires_grad=True)
    x = gs.bernoulli(p, generator=generator)
    x.reinforce(reward_of(x.detach()))
    x.backward()
    close(p.grad.numpy(), -(reward_of(1.0) - reward_of(0.0)))

    mean, std = gs.tensor(np.full(n, 0.5), requires_grad=True), gs.tensor(np.full(n, 0.8), requires_grad=True)
    x = gs.normal(mean, std, generator=generator)
    x.reinforce(reward_of(x.detach()))
    x.backward()

    def expected(m: float, s: float) -> Any:
        return np.exp(0.5 * m + s**2 / 8) + m**2 + s**2

    exact = gs.grad(expected, argnums=(0, 1))(0.5, 0.8)
    close(mean.grad.numpy(), -exact[0])
    close(std.grad.numpy(), -exact[1])

    w = np.array([1.0, 2.0, 4.0])
    pays = np.array([0.0, 3.0, 1.0])
    weights = gs.tensor(np.tile(w, (n, 1)), requires_grad=True)
    k = gs.multinomial(weights, 1, generator=generator)
    k.reinforce(pays[k.numpy()])
    k.backward()
    close(weights.grad.numpy(), -gs.grad(lambda w: np.sum(w * pays) / np.sum(w))(w))


def test_backward_comes_to_a_sample_through_the_graph() -> None:
    gs.manual_seed(1)
    p, w = leaf(0.4, 0.7), leaf(2.0, 3.0)
    x = gs.bernoulli(p)
    x.reinforce(1.5)
    (x * w).sum().backward()
    s = x.detach().numpy()
    assert w.grad.tolist() == s.tolist()
    np.testing.assert_allclose(p.grad.numpy(), -1.5 * (s - [0.4, 0.7]) / [0.24, 0.21])

    def f(q: Any) -> Any:
        x = gs.bernoulli(q, generator=np.random.default_rng(2))
        x.reinforce(2.0)
        return np.sum(x * q)

    q = np.array([0.4, 0.7])
    s = (np.random.default_rng(2).random(2) < q).astype(float)
    np.testing.assert_allclose(gs.grad(f)(q), s - 2.0 * (s - q) / (q * (1 - q)))


def test_a_sample_of_whole_numbers_is_a_root_beside_the_loss() -> None:
    gs.manual_seed(0)
    w, x = leaf(1.0, 2.0, 5.0), leaf(3.0)
    k = gs.multinomial(w, 2, replacement=True)
    k.reinforce(1.0)
    gs.autograd.backward([(x * x).sum(), k])
    counts = np.bincount(k.numpy(), minlength=3)
    np.testing.assert_allclose(w.grad.numpy(), 2 / 8 - counts / [1.0, 2.0, 5.0])
    assert x.grad.tolist() == [6.0]
    assert x.detach()[k * 0].tolist() == [3.0, 3.0]  # it indexes
    assert not (w[:2] * k).grad_fn.next_functions[1][0]  # and is a constant of what is computed with it


def test_a_sample_is_freed_without_the_garbage_collector() -> None:
    p = leaf(0.4, 0.7)
    gc.disable()
    try:
        for draw in (gs.bernoulli, gs.multinomial, lambda p: gs.normal(p, 1.0), lambda p: Scale(1.0)(p, p)):
            sample = draw(p)
            dead = weakref.ref(sample.grad_fn)
            del sample
            assert dead() is None
    finally:
        gc.enable()


def test_float32_stays_float32() -> None:
    p = gs.tensor([0.3, 0.7], dtype=np.float32, requires_grad=True)
    for sample in (gs.bernoulli(p), gs.normal(p, 1.0), gs.normal(0.0, p), gs.normal(p, p)):
        assert sample.dtype == np.float32
        sample.reinforce(np.float64(2.0))
        (g,) = gs.autograd.grad(sample, p)
        assert g.dtype == np.float32


def test_a_missing_reward() -> None:
    p = leaf(0.4, 0.7)
    for sample in (gs.bernoulli(p), gs.multinomial(p), gs.normal(p, 1.0)):
        with pytest.raises(RuntimeError, match="differentiating stochastic functions requires providing a reward"):
            sample.backward()
    with pytest.raises(RuntimeError, match="requires providing a reward"):
        (gs.bernoulli(p) * 2).sum().backward()
    with pytest.raises(RuntimeError, match="requires providing a reward"):
        gs.grad(lambda p: np.sum(gs.bernoulli(p)))(np.array([0.3]))
    assert not gs.bernoulli(p.detach()).requires_grad
    with gs.no_grad():
        assert not gs.bernoulli(p).requires_grad


def test_a_reward_that_does_not_fit() -> None:
    p = leaf(0.4, 0.7)
    for plain in (p, p * 2, gs.bernoulli(p.detach())):
        with pytest.raises(RuntimeError, match=r"reinforce\(\) can be only called on outputs of stochastic functions"):
            plain.reinforce(1.0)
    with pytest.raises(RuntimeError, match=r"shape \(3,\) does not broadcast to the sample's shape \(2,\)"):
        gs.bernoulli(p).reinforce([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="a reward is a number"):
        gs.bernoulli(p).reinforce("much")


def test_a_second_run() -> None:
    p = leaf(0.4, 0.7)
    x = gs.bernoulli(p)
    x.reinforce(1.0)
    x.backward(retain_graph=True)
    once = p.grad.numpy().copy()
    x.backward()
    np.testing.assert_array_equal(p.grad.numpy(), 2 * once)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        x.backward()
    x = gs.bernoulli(p)
    x.reinforce(1.0)
    (g,) = gs.autograd.grad(x, p, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice a function that draws a sample"):
        g.sum().backward()


def test_what_cannot_be_drawn() -> None:
    for bad in ([1.2, 0.5], [-0.1, 0.5], [np.nan, 0.5]):
        with pytest.raises(RuntimeError, match="Expected p_in >= 0 && p_in <= 1 to be true"):
            gs.bernoulli(leaf(*bad))
    with pytest.raises(RuntimeError, match="contains either `inf`, `nan` or element < 0"):
        gs.multinomial(leaf(1.0, -1.0), 1)
    with pytest.raises(RuntimeError, match=r"sum of probabilities <= 0"):
        gs.multinomial(np.zeros((2, 2)), 1)
    with pytest.raises(RuntimeError, match="without replacement"):
        gs.multinomial(leaf(1.0, 0.0, 1.0), 3)
    with pytest.raises(RuntimeError, match="n_sample <= 0"):
        gs.multinomial(leaf(1.0), 0)
    with pytest.raises(RuntimeError, match="must be 1 or 2 dim"):
        gs.multinomial(np.ones((1, 1, 1)), 1)
    with pytest.raises(TypeError, match="floating-point"):
        gs.multinomial(np.ones(3, int), 1)
    with pytest.raises(RuntimeError, match=r"std >= 0\.0"):
        gs.normal(leaf(1.0), -1.0)
    with pytest.raises(RuntimeError, match="its shape and dtype are theirs"):
        gs.normal(leaf(1.0), 1.0, (3,))


def test_transforms_that_know_no_sample() -> None:
    def f(p: Any) -> Any:
        x = gs.bernoulli(p)
        x.reinforce(1.0)
        return np.sum(x)

    def whole(p: Any) -> Any:
        k = gs.multinomial(p)
        k.reinforce(1.0)
        return np.sum(p[k])

    p = np.array([0.2, 0.6])
    with pytest.raises(RuntimeError, match="which has no tangent"):
        gs.jvp(f, (p,), (p,))
    with pytest.raises(RuntimeError, match="differentiate twice"):
        gs.hessian(f)(p)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        gs.vmap(lambda p: np.sum(gs.bernoulli(p)))(np.array([p, p]))
    with pytest.raises(RuntimeError, match="randomness error mode"):
        gs.vmap(gs.grad(lambda m: np.sum(gs.normal(m, 1.0))))(np.array([p, p]))
    with pytest.raises(RuntimeError, match="a root of backward of its own"):
        gs.grad(whole)(p)


def test_compiled() -> None:
    def plain(p: Any, rng: Any) -> Any:
        return gs.bernoulli(p, generator=rng) * 2.0, gs.multinomial(p, 1, generator=rng)

    def reinforced(p: Any, rng: Any) -> Any:
        x = gs.bernoulli(p, generator=rng)
        x.reinforce(2.0)
        return np.sum(x * p)

    p = np.array([0.2, 0.6])
    compiled = gs.compile(plain, verify="first calls")
    for seed in range(4):
        found, wanted = (f(p, np.random.default_rng(seed)) for f in (compiled, plain))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    assert "rng.random" in compiled.source(p, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="to be true"):
        compiled(np.array([0.2, 1.6]), np.random.default_rng(0))

    gradient = gs.compile(gs.grad(reinforced), verify="first calls")
    with pytest.warns(gs.EagerWarning, match=r"test_older_api\.py:\d+: it draws with gs\.bernoulli"):
        found = gradient(p, np.random.default_rng(0))
    np.testing.assert_array_equal(found, gs.grad(reinforced)(p, np.random.default_rng(0)))


def test_a_volatile_parameter_makes_a_plain_sample() -> None:
    v = volatile(0.2, 0.7)
    for x in (gs.normal(v, leaf(1.0, 2.0)), gs.normal(v, 1.0), gs.bernoulli(v), gs.multinomial(v)):
        assert (x.requires_grad, x.volatile, x.grad_fn) == (False, True, None)


# --- warnings -------------------------------------------------------------------------------------------------------

DEPRECATED = {
    "gs.tensor": lambda x: Variable(np.ones(2)),
    "gs.no_grad": lambda x: Variable(np.ones(2), volatile=True),
    "gs.no_grad()": lambda x: x.volatile,
    "its name is `retain_graph`": lambda x: (x * 1).sum().backward(retain_variables=True),
    "its name is `grad_tensors`": lambda x: gs.autograd.backward([x * 1], grad_variables=[x.detach()]),
    "its name is `tensors`": lambda x: gs.autograd.backward(variables=[(x * 1).sum()]),
    "Use gs.autograd.backward(outputs, inputs=[...])": lambda x: gs.autograd.grad(x.sum(), x, only_inputs=False),
    "static methods that take ctx": lambda x: Split()(x),
    "log-probability": lambda x: gs.normal(x, 1.0).reinforce(1.0),
    "its name is `replacement`": lambda x: x.detach().multinomial(1, with_replacement=True),
}


@pytest.mark.parametrize("successor", DEPRECATED)
def test_each_names_its_successor_at_the_line_of_the_user(successor: str) -> None:
    call, x = DEPRECATED[successor], leaf(1.0, 2.0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            call(x)
    (told,) = seen
    assert told.category is DeprecationWarning
    assert successor in str(told.message)
    assert (told.filename, told.lineno) == (__file__, call.__code__.co_firstlineno)


def test_what_is_not_old_does_not_warn() -> None:
    x = leaf(0.2, 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.bernoulli()
        x.multinomial(1)
        gs.autograd.backward([x.sum()], grad_tensors=[None], retain_graph=True)
        (x * x).sum().backward(retain_graph=True)
        Product.apply(x, x)
        assert isinstance(x, Variable)


def test_loaded_when_asked_for() -> None:
    code = (
        "import sys, gradscribe as gs\n"
        "late = ('stochastic', 'variable', 'by_instance', 'function')\n"
        "assert not [m for m in sys.modules if m.startswith('gradscribe.tracer.autograd.') and m.endswith(late)]\n"
        "gs.autograd.Variable, gs.bernoulli\n"
        "import gradscribe.autograd.stochastic as module\n"
        "assert module is gs.autograd.stochastic\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


# --- the example ----------------------------------------------------------------------------------------------------


def test_the_agent_learns_the_best_arms_with_a_compiled_step() -> None:
    space = runpy.run_path(str(EXAMPLE))
    rng = np.random.default_rng(0)
    world, policy = rng.normal(size=(space["ARMS"], space["FEATURES"])), space["initial"](rng)
    step = gs.compile(space["step"], verify="first calls")
    before = space["share_of_best"](policy, world, rng)
    paid = space["train"](step, policy, world, 300, rng)
    after = space["share_of_best"](policy, world, rng)
    assert before < 0.3
    assert after > 0.7
    assert paid > 0.35  # 0.43 is the best there is, 0.2 what chance gives
    contexts = rng.normal(size=(5, space["FEATURES"]))
    eager, compiled = (
        f(policy, world, contexts, np.random.default_rng(4)) for f in (space["step"], gs.compile(space["step"]))
    )
    np.testing.assert_array_equal(eager[1]["w"], compiled[1]["w"])
