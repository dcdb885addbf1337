"""Nothing traced survives its transform: what was stored outside is the plain number or array when the outermost one ends."""

from __future__ import annotations

import collections
import functools
import json
import logging
import math
import pathlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.tracer.memory.survivors import _Walk, plain

import stores
from stores import MODES, STORES

pytestmark = pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")  # running eagerly is no loss
DEFAULT = ("eager", "compiled", "raising")
X = np.array([0.3, 0.5, 0.8])


KEPT_BY_C = "what C code keeps stays a Tensor of a transform that is over, and acts as its number"
OPEN = {
    **({} if sys.version_info >= (3, 13) else {"generator left open": KEPT_BY_C}),  # whose variables can be written
    "running array": "raises: NumPy's own array can hold no traced number, and later reads of it would lose the gradient",
}


def _marks(name: str, mode: str) -> list[Any]:
    reason = OPEN.get(name)
    slow = [] if mode in DEFAULT else [pytest.mark.slow]
    return slow + ([] if reason is None else [pytest.mark.xfail(reason=reason, strict=mode in DEFAULT)])


@pytest.mark.parametrize(
    ("name", "mode"), [pytest.param(n, m, marks=_marks(n, m), id=f"{n}-{m}") for m in MODES for n in STORES]
)
def test_what_is_stored_is_what_plain_numpy_stores(name: str, mode: str, tmp_path: pathlib.Path) -> None:
    store, faults = STORES[name], {}
    for value in stores.values_for(store):
        if found := stores.fault(store, value, mode, tmp_path):
            faults[value] = found
    assert not faults, "\n".join(f"{value}: {found}" for value, found in faults.items())


def test_a_store_that_keeps_a_tensor_is_found(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle: without a transform nothing is wrong, and a Tensor put there is told."""
    leave = (lambda f: lambda x: f(gs.tensor(x, requires_grad=True)), lambda g, x: g(x), False)
    monkeypatch.setitem(MODES, "bare", leave)
    monkeypatch.setitem(MODES, "none", (lambda f: f, lambda g, x: g(x), False))
    for name in ("append", "attribute", "global", "default argument", "lambda", "object array"):
        assert stores.fault(STORES[name], "t", "none", tmp_path) is None
        assert "Tensor" in str(stores.fault(STORES[name], "t", "bare", tmp_path))


TRANSFORMS: dict[str, Callable[..., Any]] = {"eager": gs.grad, "compiled": lambda f: gs.compile(gs.grad(f))}


@pytest.fixture(params=TRANSFORMS)
def grad(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return TRANSFORMS[request.param]


def plainly(value: Any) -> bool:
    """Whether a number is exactly what Python or NumPy would have left there."""
    return type(value) in (float, np.float64, np.ndarray)


# Histories -------------------------------------------------------------------------------------------------------------

history: list[Any] = []


def logged(w: Any) -> Any:
    loss = np.mean((w - 1.0) ** 2)
    history.append(float(loss))
    return loss


def test_a_history_of_losses_is_json(grad: Any) -> None:
    history.clear()
    gradient, w, expected = grad(logged), X, []
    for _ in range(5):
        expected.append(float(np.mean((w - 1.0) ** 2)))
        w = w - 0.5 * gradient(w)
    assert [type(v) for v in history] == [float] * 5
    np.testing.assert_allclose(json.loads(json.dumps(history)), expected, rtol=1e-12)


@pytest.mark.filterwarnings("error::gradscribe.EagerWarning")
def test_a_history_of_losses_compiles() -> None:
    history.clear()
    gradient = gs.compile(gs.grad(logged))
    for step in range(4):
        np.testing.assert_allclose(gradient(X + step), 2.0 * (X + step - 1.0) / 3.0, rtol=1e-12)
    assert [type(v) for v in history] == [float] * 4
    assert "history.append(" in gradient.source(X)


def test_scipys_minimiser_fills_a_history(grad: Any) -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy's minimiser is what this is about")
    seen: list[Any] = []

    def objective(w: Any) -> float:
        value = float(np.sum((w - 2.0) ** 2) + np.prod(w))
        seen.append({"loss": value, "w": w.copy()})
        return value

    found = optimize.minimize(objective, X, jac=grad(objective))
    assert np.linalg.norm(grad(objective)(found.x)) < 1e-4
    assert all(type(s["loss"]) is float and type(s["w"]) is np.ndarray for s in seen)


def test_a_log_of_arrays_can_be_saved(grad: Any, tmp_path: pathlib.Path) -> None:
    log: list[Any] = []

    def f(x: Any) -> Any:
        y = np.tanh(x)
        log.append(y)
        return np.sum(y)

    gradient = grad(f)
    for k in range(3):
        gradient(X + k)
    np.save(tmp_path / "log.npy", log)
    np.testing.assert_allclose(np.load(tmp_path / "log.npy"), [np.tanh(X + k) for k in range(3)], rtol=1e-14)
    assert [type(v) for v in log] == [np.ndarray] * 3


# Caches ----------------------------------------------------------------------------------------------------------------


@functools.lru_cache
def k(a: Any) -> Any:
    return np.exp(a)


@functools.cache
def two(a: float, b: float = 2.0) -> Any:
    return math.exp(a) * b


class Model:
    @functools.lru_cache  # noqa: B019
    def rate(self, a: Any) -> Any:
        return np.exp(2.0 * a)

    @functools.cached_property
    def scale(self) -> Any:
        return self.a * 2.0  # type: ignore[attr-defined]


def test_a_cache_is_right_at_every_call(grad: Any) -> None:
    """It gave 7.389, then 0.0, without a word."""
    gradient = grad(lambda x: k(x) * 1.0)
    for x in (2.0, 2.0, 1.0, 2.0, 1.0):
        assert gradient(x) == pytest.approx(math.exp(x), rel=1e-12)
        assert grad(lambda x: k(x) * 1.0)(x) == pytest.approx(math.exp(x), rel=1e-12)


def test_a_cache_filled_by_a_plain_call_does_not_cut_a_gradient(grad: Any) -> None:
    assert k(0.75) == math.exp(0.75)
    assert grad(lambda x: k(x) * 1.0)(0.75) == pytest.approx(math.exp(0.75), rel=1e-12)


def test_a_cache_holds_nothing_traced(grad: Any) -> None:
    grad(lambda x: k(x) * 1.0)(0.625)
    assert plainly(k(0.625))
    assert k(0.625) == pytest.approx(math.exp(0.625), rel=1e-14)


def test_caches_of_several_arguments_and_of_methods(grad: Any) -> None:
    model = Model()
    for x in (0.5, 0.5, 0.25):
        assert grad(lambda x: two(x) + two(x, b=3.0))(x) == pytest.approx(5.0 * math.exp(x), rel=1e-12)
        assert grad(lambda x: model.rate(x) * 1.0)(x) == pytest.approx(2.0 * math.exp(2.0 * x), rel=1e-12)
    assert plainly(two(0.5))
    assert plainly(model.rate(0.5))


def test_a_cached_property_of_an_object_that_lasts(grad: Any) -> None:
    model = Model()

    def f(x: Any) -> Any:
        model.__dict__.pop("scale", None)
        model.a = x  # type: ignore[attr-defined]
        return model.scale * x

    for x in (3.0, 3.0, 2.0):
        assert grad(f)(x) == pytest.approx(4.0 * x)
    assert plainly(model.scale)


def test_what_a_cache_keeps_for_plain_arguments_is_used() -> None:
    calls: list[int] = []

    @functools.lru_cache
    def slow(n: int) -> Any:
        calls.append(n)
        return np.arange(float(n))

    for _ in range(3):
        np.testing.assert_array_equal(gs.grad(lambda x: np.sum(x * slow(3)))(X), [0.0, 1.0, 2.0])
    assert len(calls) == 1


def test_a_memo_in_a_dict_is_right_or_raises(grad: Any) -> None:
    memo: dict[Any, Any] = {}

    def f(a: Any) -> Any:
        if a not in memo:
            memo[a] = np.exp(a)
        return memo[a] * 1.0

    gradient, rights = grad(f), 0
    for a in (2.0, 2.0, 1.0, 2.0):
        try:
            found = gradient(a)
        except gs.GradientLossError:
            continue
        rights += 1
        assert found == pytest.approx(math.exp(a), rel=1e-12)
    assert rights
    assert all(plainly(key) and plainly(value) for key, value in memo.items())


def test_a_memo_filled_by_a_plain_call_is_right_or_raises(grad: Any) -> None:
    memo = {2.0: math.exp(2.0)}

    def f(a: Any) -> Any:
        if a not in memo:
            memo[a] = np.exp(a)
        return memo[a] * a

    try:
        found = grad(f)(2.0)
    except gs.GradientLossError:
        return
    assert found == pytest.approx(math.exp(2.0)), "the memo's number is a constant, as NumPy would have kept it"


# What is read again later ----------------------------------------------------------------------------------------------


def test_a_value_of_an_earlier_call_is_a_constant(grad: Any) -> None:
    state = {"last": 1.0}

    def f(x: Any) -> Any:
        loss = np.sum(x**2) * state["last"]
        state["last"] = float(np.sum(x))
        return loss

    gradient, last = grad(f), 1.0
    for step in range(4):
        x = X + step
        np.testing.assert_allclose(gradient(x), 2.0 * x * last, rtol=1e-12)
        last = float(np.sum(x))
        assert type(state["last"]) is float
        assert state["last"] == pytest.approx(last, rel=1e-14)


def test_a_value_stored_and_read_in_the_same_call_keeps_its_gradient(grad: Any) -> None:
    state: dict[str, Any] = {}

    def f(x: Any) -> Any:
        state["norm"] = np.sqrt(np.sum(x**2))
        return state["norm"] * 3.0

    gradient = grad(f)
    for step in range(3):
        x = X + step
        np.testing.assert_allclose(gradient(x), 3.0 * x / np.linalg.norm(x), rtol=1e-12)
        assert type(state["norm"]) is np.float64


def test_an_inner_transform_leaves_what_the_outer_one_still_needs(grad: Any) -> None:
    seen: list[Any] = []

    def inner(y: Any) -> Any:
        seen.append(y * y)
        return np.sum(y**3)

    def outer(x: Any) -> Any:
        slope = gs.grad(inner)(x)
        return np.sum(slope) + np.sum(seen[-1]) * 2.0

    gradient = grad(outer)
    for step in range(3):
        x = X + step
        np.testing.assert_allclose(gradient(x), 6.0 * x + 4.0 * x, rtol=1e-12)
    assert [type(v) for v in seen] == [np.ndarray] * 3


def test_what_outlives_a_transform_is_a_number_to_the_next(grad: Any) -> None:
    kept: list[Any] = []

    def first(x: Any) -> Any:
        kept.append(np.sum(x))
        return np.sum(x)

    grad(first)(X)
    np.testing.assert_allclose(grad(lambda x: np.sum(x) * kept[0])(X), np.full(3, np.sum(X)), rtol=1e-12)
    assert kept[0] * 2.0 == np.sum(X) * 2.0
    assert type(kept[0]) is np.float64


# Exceptions, generators, threads ---------------------------------------------------------------------------------------


class NoProgress(Exception):
    def __init__(self, loss: Any) -> None:
        super().__init__(f"loss {loss:.3f}", loss)
        self.loss = loss


def test_an_exception_that_leaves_a_transform_carries_numbers(grad: Any) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        loss = np.sum(x**2)
        seen.append(loss)
        raise NoProgress(loss)

    for step in range(3):
        with pytest.raises(NoProgress, match="loss") as caught:
            grad(f)(X + step)
        assert type(caught.value.loss) is np.float64
        assert type(caught.value.args[1]) is np.float64
        assert caught.value.loss == np.sum((X + step) ** 2)
    assert [type(v) for v in seen] == [np.float64] * 3


def test_an_exception_of_numpy_after_a_store(grad: Any) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x * 2.0)
        return np.sum(x.reshape(7, 7))

    for _ in range(2):
        with pytest.raises(ValueError, match="reshape"):
            grad(f)(X)
    assert [type(v) for v in seen] == [np.ndarray] * 2


def test_a_value_passed_out_by_a_generator_that_ran_on(grad: Any) -> None:
    out: list[Any] = []

    def steps(x: Any) -> Iterator[Any]:
        for n in range(3):
            x = np.tanh(x) * (n + 1)
            yield x

    def f(x: Any) -> Any:
        running = steps(x)
        out.append(next(running))
        return np.sum(next(running))

    def plain(x: Any) -> Any:
        return np.sum(np.tanh(np.tanh(x)) * 2)

    np.testing.assert_allclose(grad(f)(X), gs.grad(plain)(X), rtol=1e-12)
    assert type(out[0]) is np.ndarray


def test_threads_of_their_own_leave_numbers(grad: Any) -> None:
    seen: dict[int, list[Any]] = {n: [] for n in range(4)}

    def work(n: int) -> None:
        def f(x: Any) -> Any:
            loss = np.sum((x - n) ** 2)
            seen[n].append(float(loss))
            return loss

        gradient = grad(f)
        for step in range(3):
            np.testing.assert_allclose(gradient(X + step), 2.0 * (X + step - n), rtol=1e-12)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, values in seen.items():
        assert [type(v) for v in values] == [float] * 3
        np.testing.assert_allclose(values, [np.sum((X + s - n) ** 2) for s in range(3)], rtol=1e-12)


def test_records_of_logging_hold_numbers(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any) -> Any:
        loss = np.sum(x**2)
        logging.getLogger("survives").warning("loss %.3f of %s", loss, {"x": x[0]})
        return loss

    gradient = gs.grad(f)  # compiled, the call of the capture keeps a Tensor of an ended transform in its record
    for step in range(3):
        gradient(X + step)
    assert [r.getMessage() for r in caplog.records] == [
        f"loss {np.sum((X + s) ** 2):.3f} of { {'x': (X + s)[0]} }" for s in range(3)
    ]
    assert all(type(r.args[0]) is np.float64 for r in caplog.records)  # type: ignore[index]


def test_what_is_stored_is_not_written_over_by_the_next_call(grad: Any) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 2.0
        y += 1.0
        seen.append(y)
        return np.sum(y**2)

    gradient = grad(f)
    for step in range(4):
        gradient(X + step)
    np.testing.assert_allclose(seen, [(X + s) * 2.0 + 1.0 for s in range(4)], rtol=1e-14)
    assert not any(np.shares_memory(a, b) for a in seen for b in seen if a is not b)


def test_what_is_stored_can_be_written(grad: Any) -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x * 2.0)
        return np.sum(x**2)

    gradient = grad(f)
    for step in range(3):
        gradient(X + step)
        seen[-1][:] = 0.0
        seen[-1] += 1.0
    np.testing.assert_array_equal(seen, np.ones((3, 3)))


BARE, PARAMETERS = gs.tensor([1.0, 2.0]), {"w": gs.tensor([1.0], requires_grad=True)}


def stores_by_globals(x: Any) -> Any:
    globals()["LAST_SEEN"] = np.sum(x)
    return np.sum(x**2)


def updates_parameters(x: Any) -> Any:
    PARAMETERS.update(last=np.sum(x))
    return np.sum(x**2)


@pytest.mark.parametrize("function", [stores_by_globals, updates_parameters])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_tensors_of_the_users_own_stay_where_they_stand(function: Any, compiled: bool) -> None:
    gradient = gs.compile(gs.grad(function)) if compiled else gs.grad(function)
    own, parameter = BARE, PARAMETERS["w"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.EagerWarning)
        for _ in range(3):
            gradient(np.ones(2))
    assert BARE is own  # once an array, as every Tensor that the globals led to
    assert isinstance(BARE, gs.Tensor)
    assert PARAMETERS["w"] is parameter
    stored = globals()["LAST_SEEN"] if function is stores_by_globals else PARAMETERS["last"]
    assert type(stored) is np.float64


def test_a_queue_that_another_thread_empties_meanwhile_is_no_error() -> None:
    """As that of a thread pool, or of the client of a cluster, which the function reaches."""

    class Emptied(collections.deque[Any]):
        def __getitem__(self, place: Any) -> Any:
            found = super().__getitem__(place)
            self.clear()  # what another thread may do after any step
            return found

    class Pool:
        def __init__(self) -> None:
            self.waiting = Emptied([1.0, 2.0, 3.0])

    pool = Pool()

    def f(x: Any) -> Any:
        pool.last = x  # type: ignore[attr-defined]
        return np.sum(x * x)

    np.testing.assert_array_equal(gs.grad(f)(np.ones(2)), 2.0)
    plain([pool], _Walk())
    assert type(pool.last) is np.ndarray  # type: ignore[attr-defined]
