"""What compile does not model runs eagerly: right values and gradients, one warning that names the line, no run twice."""

from __future__ import annotations

import inspect
import logging
import pickle
import random
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from random import gauss
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.random import normal
from scipy import special

import gradscribe as gs

from programs import runs_of

X = np.array([0.5, -1.25, 2.0])


class Case(NamedTuple):
    function: Callable[..., Any]
    reason: str  # a regular expression
    setup: Callable[[], object]
    args: Callable[[], tuple[Any, ...]]
    transforms: str


CASES: list[Case] = []


def falls_back(
    reason: str,
    setup: Callable[[], object] = lambda: None,
    args: Callable[[], tuple[Any, ...]] = lambda: (X.copy(),),
    transforms: str = "value gradient",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A case: the function's line marked `# <-` is the one that the warning must name, with `reason` in its text."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(function, reason, setup, args, transforms))
        return function

    return add


def marked_line(function: Callable[..., Any]) -> str:
    """`file:line` of the line with the mark, or of the definition."""
    lines, start = inspect.getsourcelines(function)
    at = [k for k, line in enumerate(lines) if "# <-" in line]
    return f"{Path(__file__).name}:{start + at[0]}"


def same(found: Any, expected: Any) -> None:
    """Both are equal in type, dtype and bits."""
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    assert type(found) is type(expected)
    if isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


# Writing in place ----------------------------------------------------------------------------------------------------

TOTAL = 0.0
COUNTS: dict[str, int] = {}
HISTORY: list[Any] = []


@falls_back("`where=` of a ufunc without `out=`")
def where_of_a_ufunc(x):
    y = np.log(x, where=x > -9)  # <-
    return np.sum(y * x)


stats: Any = None  # scipy.stats, where it is installed


@falls_back(
    r"calls scipy\.stats\.norm\.rvs, which may draw random numbers",
    setup=lambda: globals().update(stats=pytest.importorskip("scipy.stats")),
)
def draws_with_scipy(x):
    return np.sum(x * stats.norm.rvs(random_state=3))  # <-


@falls_back("hook", transforms="gradient")
def runs_a_hook(x):
    y = x * x
    y.register_hook(lambda g: g * 2)  # <-
    return np.sum(y)


@falls_back("registers a hook", transforms="gradient")
def registers_a_node_hook(x):
    y = x * x
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2, gi[1]))  # <-
    return np.sum(y)


@falls_back("registers a hook", transforms="gradient")
def registers_a_hook_over_several(x):
    y = x * x
    gs.autograd.graph.register_multi_grad_hook([x, y], lambda grads: None)  # <-
    return np.sum(y)


@falls_back("sets saved-tensor hooks")
def sets_saved_tensor_hooks(x):
    with gs.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):  # <-
        return np.sum(x * x)


@falls_back("sets saved-tensor hooks")
def saves_on_disk(x):
    with gs.autograd.graph.save_on_disk():  # <-
        return np.sum(x * x)


@falls_back("sets saved-tensor hooks", transforms="value")
def allows_mutation(x):
    with gs.autograd.graph.allow_mutation_on_saved_tensors():  # <-
        return np.sum(x * x)


@falls_back("moves a version counter", transforms="gradient")
def moves_a_version_counter(x):
    y = np.exp(x)
    gs.autograd.graph.increment_version(y + 1)  # <-
    return np.sum(y)


@falls_back("comes after an effect", lambda: seed())
def draws_decide(x):
    n = int(np.random.normal() > 0)  # <-
    return np.sum(x[n:] * x[n:])


@falls_back("RandomState")
def makes_a_random_state(x):
    return np.sum(x) * np.random.RandomState(3).normal()  # <-


# Random numbers ------------------------------------------------------------------------------------------------------


def seed() -> None:
    np.random.seed(3)
    random.seed(3)


@falls_back("normal|gauss|differs from call to call", seed)
def imported_normal(x):
    return np.sum(x * normal(size=3))  # <-


@falls_back("gauss|differs from call to call", seed)
def imported_gauss(x):
    return np.sum(x * gauss(0.0, 1.0))  # <-


# Arrays that nobody can name -----------------------------------------------------------------------------------------


@falls_back("unknown origin")
def frombuffer(x):
    return np.sum(x * np.frombuffer(b"\x00" * 24))  # <-


# Effects -------------------------------------------------------------------------------------------------------------


@falls_back("logging|info")
def logs(x):
    logging.getLogger("gradscribe.test").info("called")  # <-
    return np.sum(x * x)


@falls_back("open")
def opens_a_file(x):
    with open(__file__, encoding="utf-8") as stream:  # <-
        stream.read(1)
    return np.sum(x * x)


@falls_back("time")
def reads_the_clock(x):
    start = time.time()  # <-
    return np.sum(x * x) + 0.0 * (start > 0)


def _reset() -> None:
    global TOTAL
    TOTAL = 1.0
    COUNTS.clear()
    HISTORY.clear()
    Model.calls = 0


@falls_back("writes the global `TOTAL`", _reset)
def stores_a_global(x):
    global TOTAL
    TOTAL = TOTAL + 1.0  # <-
    return np.sum(x * TOTAL)


def _nonlocal() -> Callable[..., Any]:
    count = 0.0

    @falls_back("writes the enclosing variable `count`")
    def stores_a_nonlocal(x):
        nonlocal count
        count = 2.0  # <-
        return np.sum(x * count)

    return stores_a_nonlocal


_nonlocal()


class Model:
    calls = 0

    def __init__(self) -> None:
        self.w = np.array([1.0, 2.0, 3.0])
        self.scale = 2.0


MODEL = Model()


@falls_back("stores the attribute|MODEL", _reset)
def stores_an_attribute(x):
    Model.calls = 3  # <-
    return np.sum(x * Model.calls)


@falls_back("COUNTS", _reset)
def writes_a_global_dict(x):
    COUNTS["calls"] = COUNTS.get("calls", 0) + 1  # <-
    return np.sum(x * COUNTS["calls"])


@falls_back("HISTORY", _reset)
def appends_to_a_global_list(x):
    HISTORY.append(1)  # <-
    return np.sum(x) * len(HISTORY)


class Scaled:
    factor = 2.0

    def __init__(self, x: Any) -> None:
        self.x = x * self.factor


# Values that leave ---------------------------------------------------------------------------------------------------


@falls_back("text")
def formats(x):
    label = f"{np.sum(x):.3f}"  # <-
    return np.sum(x * len(label))


@falls_back("prints a traced value|text")
def takes_the_repr(x):
    label = repr(np.sum(x * x))  # <-
    return np.sum(x * (len(label) > 0))


@falls_back("list", transforms="value")
def takes_a_list(x):
    values = x.tolist()  # <-
    return np.sum(x * values[0])


@falls_back("key of a dict", transforms="value")
def is_a_key(x):
    return np.sum(x) * {0.5: 3.0}.get(x[0], 1.0)  # <-


@falls_back("memory flags", transforms="value")
def reads_the_flags(x):
    return np.sum(x * (2.0 if x.flags.c_contiguous else 1.0))  # <-


@falls_back("pickle", transforms="value")
def pickles(x):
    return np.sum(x) * min(len(pickle.dumps(x)), 1)  # <-


@falls_back("unknown origin|object")
def makes_an_object_array(x):
    return np.sum(x * np.array([1, 2, 3], dtype=object).astype(float))  # <-


@falls_back("print|text", transforms="value")
def prints_a_value(x):
    print(x, repr(x[0]), f"{x} {x[0]:.2f}")  # <-
    return np.sum(x * x)


# Arguments that compile does not take --------------------------------------------------------------------------------


class Subclass(np.ndarray):
    pass


@falls_back("Subclass", args=lambda: (X.view(Subclass),), transforms="value")
def takes_a_subclass(x):  # <-
    return float(np.sum(np.asarray(x) * 2))


@falls_back("dtype object", args=lambda: (np.array([1, 2.5], dtype=object),), transforms="value")
def takes_objects(x):  # <-
    return sum(x)


@falls_back("dtype", args=lambda: (np.array(["a", "b"]),), transforms="value")
def takes_text(x):  # <-
    return len(x)


@falls_back("method", args=lambda: (X.copy(), HISTORY.append), setup=lambda: HISTORY.clear())
def takes_a_bound_method(x, keep):  # <-
    keep(1)
    return np.sum(x * 2)


@falls_back("set", args=lambda: (X.copy(), {1, 2}))
def takes_a_set(x, numbers):  # <-
    return np.sum(x) * len(numbers)


class Fills:
    """A descriptor that computes with what was stored."""

    def __get__(self, obj, owner=None):
        made = np.zeros(2)
        made[0] = obj.t
        return made.sum()


class Filled:
    sum = Fills()


FILLED = Filled()


@falls_back("it reads `sum` of a Filled, a Fills")
def reads_what_a_descriptor_computes(x):
    FILLED.t = np.sum(x * x)
    return FILLED.sum * 2.0  # <-


# Files and functions that nobody knows -------------------------------------------------------------------------------


@falls_back("np.load|load")
def loads_a_file(x):
    return np.sum(x * np.load(FILE))  # <-


@falls_back("scipy.special.zetac", transforms="value")
def calls_what_has_no_op(x):
    return np.sum(special.zetac(x + 2.0))  # <-


FILE = ""


@pytest.fixture(scope="module", autouse=True)
def _a_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    global FILE
    FILE = str(tmp_path_factory.mktemp("arrays") / "x.npy")
    np.save(FILE, np.array([1.0, 2.0, 3.0]))


TRANSFORMS: dict[str, Any] = {"value": lambda f: f, "gradient": gs.value_and_grad}


@pytest.mark.parametrize(
    ("case", "transform"),
    [pytest.param(c, t, id=f"{c.function.__name__}-{t}") for c in CASES for t in c.transforms.split()],  # type: ignore[attr-defined]
)
def test_it_runs_eagerly_and_says_so(case: Case, transform: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = TRANSFORMS[transform](case.function)
    case.setup()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = plain(*case.args())
    printed = capsys.readouterr().out
    compiled = gs.compile(plain, verify="first calls")
    caught: list[warnings.WarningMessage]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(3):
            case.setup()
            with runs_of(case.function) as count:
                found = compiled(*case.args())
            assert count in ([1], [2 - bool(k)])  # the first call may have begun with a capture
            same(found, expected)
            assert capsys.readouterr().out == printed
    ours = [str(w.message) for w in caught if issubclass(w.category, gs.EagerWarning)]
    assert len(ours) == 1, ours
    assert re.search(case.reason, ours[0]), ours[0]
    assert marked_line(case.function) in ours[0], ours[0]
    (why,) = gs.explain(compiled).eager
    assert (why.calls, bool(why.change)) == (3, True), why  # failure.py says what to change


def test_a_warning_stands_at_the_line_of_the_call() -> None:
    compiled = gs.compile(stores_an_attribute)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(X)  # this line
    assert caught[0].filename == __file__
    assert inspect.getsource(sys.modules[__name__]).splitlines()[caught[0].lineno - 1].endswith("# this line")


def test_tensor_arguments_keep_their_graph() -> None:
    t = gs.tensor(X, requires_grad=True)
    compiled = gs.compile(lambda x: np.sum(x * x))
    with pytest.warns(gs.EagerWarning, match="called with a Tensor"):
        y = compiled(t)
    y.backward()
    np.testing.assert_array_equal(t.grad.numpy(), 2 * X)


def test_an_error_leaves_nothing_behind() -> None:
    compiled = gs.compile(gs.grad(lambda x, n: np.sum(x.reshape(n, 2))), verify="first calls")
    for _ in range(2):
        with pytest.raises(ValueError, match="reshape"):
            compiled(X, 2)
    np.testing.assert_array_equal(compiled(np.ones(4), 2), np.ones(4))


def test_source_of_a_function_that_runs_eagerly_is_an_error_with_the_reason() -> None:
    with pytest.raises(gs.CompileError, match=r"(?s)formats.*test_eager_fallbacks.py:\d+: it formats a traced value"):
        gs.source(formats, X)


def test_verify_makes_a_difference_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault in what is emitted is found by the check on the first call; without verify eager's result stands."""
    from gradscribe.transforms.compiler.driver import specialise

    emit = specialise.emit
    monkeypatch.setattr(specialise, "emit", lambda *args: emit(*args).replace("np.sin", "np.cos"))
    f = lambda x: np.sum(np.sin(x))
    with pytest.raises(gs.VerifyError, match="differs by up to"):
        gs.compile(f, verify="first calls")(X)
    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="gave another result compiled than eagerly"):
        assert compiled(X) == f(X)
    assert compiled(X) == f(X)


def test_a_fault_that_shows_on_other_inputs_is_found_on_the_second_call(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.driver import specialise

    emit = specialise.emit
    monkeypatch.setattr(specialise, "emit", lambda *args: re.sub(r"np\.abs\w*|\babs\b", "np.positive", emit(*args)))
    compiled = gs.compile(lambda x: np.sum(np.abs(x)))
    assert compiled(np.ones(3)) == 3
    with pytest.warns(gs.EagerWarning, match="gave another result"):
        assert compiled(-np.ones(3)) == 3
    assert compiled(-np.ones(3)) == 3


def test_a_fault_of_the_compiler_is_no_fault_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradscribe.transforms.compiler.driver import specialise

    def broken(*args: Any) -> str:
        raise KeyError("broken")

    monkeypatch.setattr(specialise, "emit", broken)
    with pytest.raises(KeyError):
        gs.compile(lambda x: np.sum(x), verify="first calls")(X)
    compiled = gs.compile(lambda x: np.sum(x))
    with pytest.warns(gs.EagerWarning, match="could not be written as source"):
        assert compiled(X) == np.sum(X)
