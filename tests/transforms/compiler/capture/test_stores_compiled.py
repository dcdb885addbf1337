"""Compiled functions store into the user's objects what plain NumPy would store, where no code of the call reads it."""

from __future__ import annotations

import dataclasses
import threading
import types
import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

XS = [np.array([1.0, 2.0]) + k for k in range(5)]


def plain(value: Any) -> Any:
    return value._value if isinstance(value, gs.Tensor) else value


class Model:
    unit = "m"

    def __init__(self) -> None:
        self.w = np.array([2.0, 3.0])
        self.last: Any = None
        self.inner = types.SimpleNamespace()

    def loss(self, x: Any) -> Any:
        y = self.w * x**2
        self.last = y
        return np.sum(y)

    def several(self, x: Any) -> Any:
        self.first, self.second = np.exp(x), {"sum": np.sum(x), "shape": x.shape}
        self.constant = 3
        self.argument = x
        self.first = self.w + x
        return np.sum(x * 2.0)

    def helps(self, x: Any) -> Any:
        return self.loss(x) * 2.0

    def nothing(self, x: Any) -> None:
        self.last = x * 3.0

    def raises(self, x: Any) -> Any:
        self.last = np.sum(x)
        return np.linalg.cholesky(np.diag(x))

    def reads_it(self, x: Any) -> Any:
        self.last = np.sum(x)
        return self.last * 2.0

    def reads_both(self, x: Any) -> Any:
        total = np.sum(x) if self.last is None else np.sum(x) + self.last
        self.last = np.sum(x)
        return total + self.last

    def counts(self, x: Any) -> Any:
        self.last = 1 if self.last is None else self.last + 1
        return np.sum(x)

    def branches(self, x: Any) -> Any:
        if x[0] > 2:
            self.last = np.sum(x)
            return np.sum(x)
        self.last = np.max(x)
        return np.sum(x) * 2

    def loops(self, x: Any) -> Any:
        total = 0.0
        for k in range(3):
            total = total + np.sum(x) * k
            self.last = total
        return total

    def searches(self, x: Any) -> Any:
        while np.sum(x) > 0.5:
            x = x * 0.5
        self.last = x
        return np.sum(x)


class Slotted:
    __slots__ = ("last", "w")

    def __init__(self) -> None:
        self.w = np.array([2.0, 3.0])

    def loss(self, x: Any) -> Any:
        self.last = self.w * x
        return np.sum(self.last_of(x))

    def last_of(self, x: Any) -> Any:
        return x


MODEL = Model()


def into_a_global(x: Any) -> Any:
    MODEL.last = np.exp(x)
    return np.sum(x)


def into_an_argument(model: Any, x: Any) -> Any:
    MODEL.last = x
    return np.sum(x * model.w)


def stores(x: Any) -> Any:
    y = np.sum(np.exp(x))
    stores.last = y
    stores.parts = [x * 2.0, y]
    return y * 2.0


def helper_stores(x: Any) -> Any:
    helper_stores.seen = x + 1.0
    return x


def calls_a_helper(x: Any) -> Any:
    return np.sum(helper_stores(x) ** 2)


def state(obj: Any) -> dict[str, Any]:
    names = ("last", "first", "second", "constant", "argument", "parts", "seen")
    return {name: plain(getattr(obj, name)) for name in names if hasattr(obj, name)}


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for k in a:
            same(plain(a[k]), plain(b[k]))
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(plain(x), plain(y))
    else:
        np.testing.assert_array_equal(a, b)


def check(compiled: Any, eager: Any, obj: Any, twin: Any, source: bool = True) -> None:
    """Both do the same, call by call, and one of them is compiled in the end."""
    for x in XS:
        same(plain(compiled(x.copy())), plain(eager(x.copy())))
        same(state(obj), state(twin))
    if source:
        assert "stored after the call" in str(compiled.source(XS[0]))


@pytest.mark.parametrize("name", ["loss", "several", "helps", "nothing", "branches", "searches", "reads_it"])
def test_attributes_of_an_object_are_stored_by_compiled_code(name: str) -> None:
    one, other = Model(), Model()
    check(gs.compile(getattr(one, name)), getattr(other, name), one, other)


@pytest.mark.parametrize("name", ["loss", "several", "helps", "branches", "searches", "reads_it"])
def test_also_by_compiled_gradients(name: str) -> None:
    one, other = Model(), Model()
    check(gs.compile(gs.grad(getattr(one, name))), gs.grad(getattr(other, name)), one, other)


@pytest.mark.parametrize("name", ["loss", "several"])
def test_every_call_stores_a_new_plain_value(name: str) -> None:
    model = Model()
    compiled = gs.compile(gs.value_and_grad(getattr(model, name)))
    for x in XS:
        compiled(x)
    before = model.last if name == "loss" else model.first
    compiled(XS[0])
    after = model.last if name == "loss" else model.first
    assert (type(before), type(after)) == (np.ndarray, np.ndarray)
    assert before is not after


def test_what_is_stored_is_what_is_returned() -> None:
    def keeps(x: Any) -> Any:
        MODEL.last = y = x * 2.0
        return y

    compiled = gs.compile(keeps)
    for x in XS:
        assert compiled(x) is MODEL.last
    assert "stored after the call" in str(compiled.source(XS[0]))

    def given(x: Any) -> Any:
        MODEL.last = x
        return np.sum(x)

    compiled = gs.compile(given)
    for x in XS:
        compiled(x)
        assert MODEL.last is x


def test_slots_are_stored() -> None:
    one, other = Slotted(), Slotted()
    check(gs.compile(one.loss), other.loss, one, other)


def test_objects_outside_and_functions_are_stored_into() -> None:
    for function, obj in ((into_a_global, MODEL), (stores, stores), (calls_a_helper, helper_stores)):
        for asked in (lambda f: f, gs.grad):
            compiled = gs.compile(asked(function))
            for x in XS:
                got = compiled(x)
                now = state(obj)
                same(plain(got), plain(asked(function)(x)))
                same(now, state(obj))
            assert "stored after the call" in str(compiled.source(XS[0]))


def test_a_compiled_function_stores_into_itself() -> None:
    @gs.compile
    def traced(x: Any) -> Any:
        traced.last = x * 2.0
        return np.sum(x)

    for x in XS:
        traced(x)
        same(traced.last, x * 2.0)
    assert "stored after the call" in str(traced.source(XS[0]))

    @gs.grad
    def slope(x: Any) -> Any:
        slope.last = np.sum(x * 2.0)
        return np.sum(x * x)

    compiled = gs.compile(slope)
    for x in XS:
        compiled(x)
        assert plain(slope.last) == np.sum(x * 2.0)


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("name", ["counts", "loops", "reads_both"])
def test_what_the_same_call_reads_is_right_too(name: str) -> None:
    one, other = Model(), Model()
    check(gs.compile(getattr(one, name)), getattr(other, name), one, other, source=False)


def test_what_is_stored_before_an_error_is_there() -> None:
    model = Model()
    compiled = gs.compile(model.raises)
    for x in XS[:3]:
        compiled(x)
    with pytest.raises(np.linalg.LinAlgError):
        compiled(np.array([-1.0, 5.0]))
    assert model.last == 4.0
    fresh = gs.compile(model.raises)
    with pytest.raises(np.linalg.LinAlgError):
        fresh(np.array([-1.0, 7.0]))
    assert (type(model.last), model.last) == (np.float64, 6.0)


def test_a_change_between_calls_does_not_matter() -> None:
    model = Model()
    compiled = gs.compile(model.loss, verify="first calls")
    for x in XS:
        model.last = "something else"
        compiled(x)
        same(model.last, model.w * x**2)
    del model.last
    compiled(XS[0])
    same(model.last, model.w * XS[0] ** 2)


def test_verifying_each_call_stores_once() -> None:
    model = Model()
    compiled = gs.compile(model.loss, verify=True)
    for x in XS:
        compiled(x)
        same(model.last, model.w * x**2)


def test_a_module_of_numpy_alone_cannot_store(tmp_path: Any) -> None:
    with pytest.raises(gs.CompileError, match=r"stores `self.last`"):
        gs.export(Model().loss, XS[0], path=str(tmp_path / "out.py"))


def test_a_property_or_a_setattr_of_the_users_runs_eagerly() -> None:
    class Guarded:
        def __init__(self) -> None:
            self.log: list[str] = []

        @property
        def last(self) -> Any:
            return self._last

        @last.setter
        def last(self, value: Any) -> None:
            self._last = value * 2.0

        def loss(self, x: Any) -> Any:
            self.last = np.sum(x)
            return np.sum(x * x)

    guarded = Guarded()
    compiled = gs.compile(guarded.loss)
    with pytest.warns(gs.EagerWarning, match="stores the attribute `last`"):
        compiled(XS[0])
    for x in XS:
        compiled(x)
        assert guarded.last == np.sum(x) * 2.0


class Counter:
    total = 0.0

    def __init__(self) -> None:
        self.n = 0
        self.mean = 0.0
        self.best = np.inf
        self.w = np.array([2.0, 3.0])

    def counts(self, x: Any) -> Any:
        self.n += 1
        return np.sum(x * x) / self.n

    def averages(self, x: Any) -> Any:
        y = np.sum(self.w * x)
        self.mean = 0.9 * self.mean + 0.1 * y
        self.total += 1.0
        return y

    def compares(self, x: Any) -> Any:
        y = np.sum(self.w * x)
        if y < self.best:
            self.best = y
        return y

    def decides(self, x: Any) -> Any:
        self.n += 1
        if self.n % 3 == 0:
            self.seen = x
        return np.sum(x * self.n)

    def updates(self, x: Any) -> Any:
        before = self.w
        self.w = self.w * 0.5 + x
        return np.sum(self.w * x) + np.sum(before)

    def updates_in_place(self, x: Any) -> Any:
        self.w *= 0.5
        self.seen = self.w
        return np.sum(self.w * x)

    def steps(self, x: Any) -> Any:
        self.n += 1
        for _ in range(self.n):
            x = x * 0.9
        return np.sum(x)


@pytest.mark.parametrize("name", ["counts", "averages", "compares", "decides", "updates", "updates_in_place", "steps"])
def test_numbers_and_arrays_that_are_read_before_are_inputs(name: str) -> None:
    one, other = Counter(), Counter()
    compiled = gs.compile(getattr(one, name))
    for k in range(24):
        x = np.array([1.0, 2.0]) + np.sin(k)
        same(compiled(x.copy()), getattr(other, name)(x.copy()))
        same(vars(one), vars(other))
    assert len(gs.explain(compiled).specialisations) <= 6
    assert not gs.explain(compiled).eager


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("name", ["counts", "averages", "compares", "decides", "updates", "updates_in_place", "steps"])
def test_so_are_those_of_gradients(name: str) -> None:
    one, other = Counter(), Counter()
    compiled, eager = gs.compile(gs.grad(getattr(one, name))), gs.grad(getattr(other, name))
    for k in range(24):
        x = np.array([1.0, 2.0]) + np.sin(k)
        same(compiled(x.copy()), eager(x.copy()))
        same({k: plain(v) for k, v in vars(one).items()}, {k: plain(v) for k, v in vars(other).items()})


def counted(x: Any) -> Any:
    counted.calls += 1
    counted.last = np.sum(x) * counted.calls
    return np.sum(x * x) + counted.last


def counts_another(x: Any) -> Any:
    counted.calls = counted.calls + 2
    return np.sum(counted(x) * x)


def returns_itself(x: Any) -> Any:
    returns_itself.last = np.sum(x)
    return returns_itself, np.sum(x)


@pytest.mark.parametrize("function", [counted, counts_another])
@pytest.mark.parametrize("asked", [lambda f: f, gs.grad], ids=["value", "gradient"])
def test_a_function_that_counts_its_calls(function: Any, asked: Any) -> None:
    compiled, found = gs.compile(asked(function)), []
    for run in (compiled, asked(function)):
        counted.calls, counted.last = 10, None
        found.append([(plain(run(x)), counted.calls, plain(counted.last)) for x in XS * 3])
        assert type(counted.calls) is int
    same(*found)
    assert len(gs.explain(compiled).specialisations) <= 4
    assert not gs.explain(compiled).eager


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_a_function_stays_itself() -> None:
    compiled = gs.compile(returns_itself)
    for x in XS:
        function, value = compiled(x)
        assert function is returns_itself
        assert value == returns_itself.last == np.sum(x)


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_attributes_of_a_function_that_are_read_by_other_means() -> None:
    def of(x: Any) -> Any:
        of.last = np.sum(x)
        return np.sum(x) * len(vars(of)) * of.__dict__["last"]

    compiled = gs.compile(of)
    for x in XS:
        found = compiled(x)
        assert found == np.sum(x) ** 2 == of(x)


# Lists and dicts ---------------------------------------------------------------------------------------

HISTORY: list[Any] = []
LOG: dict[str, Any] = {}
SLOTS: list[Any] = [0, 0, 0]
QUEUE: deque[Any] = deque(maxlen=4)


def appends(x: Any) -> Any:
    y = np.sum(np.exp(x))
    HISTORY.append(y)
    HISTORY.append(x * 2.0)
    return y


def extends(x: Any) -> Any:
    y = np.sum(np.exp(x))
    HISTORY.extend([y, 1.0])
    HISTORY.insert(0, y * 2.0)
    HISTORY.append("done")
    return y


def sets_items(x: Any) -> Any:
    y = np.sum(np.exp(x))
    LOG["loss"] = y
    LOG["loss"] = y * 3.0
    LOG["at"] = x
    SLOTS[0] = 3
    SLOTS[1] = y * 2.0
    return y


def queues(x: Any) -> Any:
    QUEUE.append(np.sum(x))
    QUEUE.appendleft(x * 2.0)
    return np.sum(x)


def appends_pairs(x: Any) -> Any:
    y = np.sum(x)
    HISTORY.append((y, {"x": x * 2.0}))
    return y


def appends_in_a_helper(x: Any) -> Any:
    return appends(x) + appends_in_a_loop(x)


def appends_in_a_loop(x: Any) -> Any:
    for k in range(3):
        x = x * 0.5
        HISTORY.append(np.sum(x) * k)
    return np.sum(x)


def appends_in_a_branch(x: Any) -> Any:
    if x[0] > 2:
        HISTORY.append(np.sum(x))
    return np.sum(x * x)


def appends_behind_a_loop(x: Any) -> Any:
    while np.sum(x) > 0.5:
        x = x * 0.5
    HISTORY.append(np.sum(x))
    return np.sum(x)


class Recorder:
    def __init__(self) -> None:
        self.history: list[Any] = HISTORY
        self.log = LOG

    def loss(self, x: Any) -> Any:
        y = np.sum(x * x)
        self.history.append(y)
        self.log["y"] = y
        self.last = y
        return y


def enclosed() -> Any:
    seen = HISTORY

    def of(x: Any) -> Any:
        y = np.sum(x * x)
        seen.append(y)
        return y

    return of


FILLING = [
    appends, extends, sets_items, queues, appends_pairs, appends_in_a_helper, appends_in_a_loop, appends_in_a_branch,
    appends_behind_a_loop, Recorder().loss, enclosed(),
]  # fmt: skip


def reads_the_last(x: Any) -> Any:
    HISTORY.append(np.sum(x))
    return np.sum(x) * HISTORY[-1]


def reads_the_length(x: Any) -> Any:
    HISTORY.append(np.sum(x))
    return np.sum(x) * len(HISTORY)


def reads_another_name(x: Any) -> Any:
    HISTORY.append(np.sum(x))
    return np.sum(x) * len(ALIAS)


def adds_up(x: Any) -> Any:
    LOG["n"] = LOG.get("n", 0) + 1
    return np.sum(x)


def pops(x: Any) -> Any:
    HISTORY.append(np.sum(x))
    HISTORY.append(np.sum(x) * 2.0)
    HISTORY.pop(0)
    return np.sum(x)


def sets_at_a_traced_place(x: Any) -> Any:
    SLOTS[int(x[0]) % 3] = np.sum(x)
    return np.sum(x)


ALIAS = HISTORY
READING = [reads_the_last, reads_the_length, reads_another_name, adds_up, pops, sets_at_a_traced_place]


def cleared() -> None:
    HISTORY.clear()
    LOG.clear()
    SLOTS[:] = [0, 0, 0]
    QUEUE.clear()


def contents() -> Any:
    return [list(HISTORY), dict(LOG), list(SLOTS), list(QUEUE)]


def both(function: Any, asked: Any) -> Any:
    """What five calls leave, of the function and of it compiled; the compiled one comes back, too."""
    cleared()
    expected = [plain(asked(function)(x.copy())) for x in XS] + contents()
    cleared()
    compiled = gs.compile(asked(function))
    same([plain(compiled(x.copy())) for x in XS] + contents(), expected)
    return compiled


@pytest.mark.parametrize("function", FILLING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("asked", [lambda f: f, gs.grad], ids=["value", "gradient"])
def test_lists_and_dicts_outside_are_filled_by_compiled_code(function: Any, asked: Any) -> None:
    compiled = both(function, asked)
    assert "stored after the call" in str(compiled.source(XS[-1]))
    cleared()
    compiled(XS[0])
    compiled(XS[1])
    same([type(v) for v in HISTORY + SLOTS if isinstance(v, gs.Tensor)], [])


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("function", READING, ids=lambda f: f.__name__)
def test_what_the_same_call_reads_of_a_list_is_right_too(function: Any) -> None:
    both(function, lambda f: f)


def test_one_line_each_in_their_order() -> None:
    cleared()
    compiled = gs.compile(appends)
    for x in XS:
        compiled(x)
    assert len(HISTORY) == 2 * len(XS)
    for k, x in enumerate(XS):
        same(HISTORY[2 * k], np.sum(np.exp(x)))
        same(HISTORY[2 * k + 1], x * 2.0)


def test_another_list_under_the_name_is_noticed() -> None:
    global HISTORY
    cleared()
    compiled, before = gs.compile(appends), HISTORY
    for x in XS:
        compiled(x)
    try:
        HISTORY = []
        for x in XS:
            compiled(x)
        assert len(HISTORY) == len(before) == 2 * len(XS)
    finally:
        HISTORY = before


def test_a_store_that_fails_does_so_behind_those_before_it() -> None:
    def of(x: Any) -> Any:
        HISTORY.append(np.sum(x))
        SLOTS[2] = np.sum(x)
        return np.sum(x)

    cleared()
    compiled = gs.compile(of)
    for x in XS:
        compiled(x)
    del SLOTS[2]
    try:
        with pytest.raises(IndexError):
            compiled(XS[0])
        assert len(HISTORY) == len(XS) + 1
    finally:
        SLOTS.append(0)


def test_an_error_leaves_what_was_stored_before_it() -> None:
    def of(x: Any) -> Any:
        HISTORY.append(np.sum(x))
        made = np.linalg.cholesky(np.diag(x))
        HISTORY.append("made")
        return np.sum(made)

    cleared()
    compiled = gs.compile(of)
    for x in XS:
        compiled(x)
    for _ in range(2):
        cleared()
        with pytest.raises(np.linalg.LinAlgError):
            compiled(np.array([1.0, -1.0]))
        assert HISTORY == [0.0]


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
def test_an_array_that_is_written_and_then_replaced_is_right() -> None:
    class Moving(Counter):
        def moves(self, x: Any) -> Any:
            self.w[0] += np.sum(x)
            self.w = self.w * 2.0
            return np.sum(self.w * x)

    one, other = Moving(), Moving()
    compiled = gs.compile(one.moves)
    for x in XS:
        same(compiled(x.copy()), other.moves(x.copy()))
        same(one.w, other.w)


@pytest.mark.parametrize("kind", ["array", "view", "argument", "list", "dict"])
def test_what_is_changed_after_it_was_stored_is_the_same_object(kind: str) -> None:
    def of(x: Any) -> Any:
        y = x * 2.0
        if kind == "array":
            MODEL.last = y
            y += 1.0
        elif kind == "view":
            MODEL.last = y[:1]
            y += 1.0
        elif kind == "argument":
            MODEL.last = x
            x[0] = 9.0
        elif kind == "list":
            MODEL.last = [y]
            MODEL.last.append(np.sum(y))
        else:
            MODEL.last = {}
            MODEL.last["y"] = y
        return np.sum(y * x)

    compiled = gs.compile(of)
    for x in XS:
        found = compiled(x.copy())
        last = MODEL.last
        same(found, of(x.copy()))
        same(last, MODEL.last)
    assert "stored after the call" in str(compiled.source(XS[0].copy()))


def test_threads_store_each_once() -> None:
    def of(x: Any) -> Any:
        HISTORY.append(np.sum(x))
        return np.sum(x)

    compiled = gs.compile(of)
    for x in XS:
        compiled(x)
    cleared()
    threads = [threading.Thread(target=lambda: [compiled(x) for x in XS * 20]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(HISTORY) == 4 * 20 * len(XS)


def test_stores_before_and_behind_what_ends_a_capture_stay_in_their_order() -> None:
    seen: list[Any] = []
    count = 0

    def step(a: Any) -> Any:
        nonlocal count
        count += 1
        return a * (1.0 + 0.1 * count)

    def f(x: Any) -> Any:
        seen.append(np.sum(x).item())
        y = step(x)
        seen.append(float(np.sum(y)) * 2.0)
        return np.sum(y)

    compiled = gs.compile(f)
    for k in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.EagerWarning)
            compiled(np.ones(2))
        assert seen[2 * k :] == pytest.approx([2.0, 4.0 * (1.0 + 0.1 * (k + 1))])


class Body:
    def __init__(self, x: Any) -> None:
        self.x, self.n, self.data = x, 0, 1.0

    @property
    def half(self) -> Any:
        return self.x / 2

    @half.setter
    def half(self, value: Any) -> None:
        self.x = value * 2


@dataclasses.dataclass
class Particle:
    x: Any
    v: Any = 0.0
    log: list[Any] = dataclasses.field(default_factory=list)


FIRST, MANY, NAMED = Body(1.0), [Body(1.0), Body(2.0)], {"a": Body(3.0)}


def kicked(p: Any, a: Any) -> Any:
    p.v = p.v + a
    p.x += p.v
    p.log.append(p.v)
    return p


def an_object_of_its_own(x: Any) -> Any:
    p = Particle(x[0])
    kicked(kicked(p, x[1]), 0.5)
    p.v *= 2
    return p.x * p.v + sum(p.log)


def its_number_and_its_property(x: Any) -> Any:
    b = Body(x[0])
    for v in x:
        b.x = b.x * v
        b.n += 1
        b.data = b.data * v
    b.half = b.half + x[1]
    return b.x * b.n + b.data


def a_namespace(x: Any) -> Any:
    n = types.SimpleNamespace(a=x[0])
    n.b, n.a = n.a * x[1], n.a + 1
    return n.a * n.b


def one_from_outside_under_a_name_of_its_own(x: Any) -> Any:
    b = FIRST
    b.x = b.x + 1.0
    b.n += 1
    return np.sum(x * b.x) * b.n


def those_of_a_list_and_of_a_dict(x: Any) -> Any:
    for b in MANY:
        b.x = b.x + 1.0
    b = NAMED["a"]
    b.x += 0.5
    return sum(b.x * v for b, v in zip([*MANY, b], x, strict=False))


def one_that_a_function_gives(x: Any) -> Any:
    def found() -> Body:
        return FIRST

    b = found()
    b.n = b.n + 1
    return np.sum(x) * b.n


def what_is_traced(x: Any) -> Any:
    b = FIRST
    b.x = x[0] * 2
    return b.x**2


def _state() -> str:
    return repr([FIRST.x, FIRST.n, [b.x for b in MANY], NAMED["a"].x])


@pytest.mark.parametrize(
    "f",
    [an_object_of_its_own, its_number_and_its_property, a_namespace, one_from_outside_under_a_name_of_its_own,
     those_of_a_list_and_of_a_dict, one_that_a_function_gives, what_is_traced],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_stores_into_what_a_variable_holds(f: Any) -> None:
    def told(run: Any) -> list[Any]:
        FIRST.x, FIRST.n, MANY[0].x, MANY[1].x, NAMED["a"].x = 1.0, 0, 1.0, 2.0, 3.0
        return [(run(np.random.default_rng(k).uniform(0.5, 1.5, 4)), _state()) for k in range(5)]

    assert told(gs.compile(f, verify="first calls")) == told(f)
    eager, compiled = told(gs.grad(f)), told(gs.compile(gs.grad(f)))
    for (g, state), (expected, before) in zip(compiled, eager, strict=True):
        np.testing.assert_array_equal(g, expected)
        assert state == before
