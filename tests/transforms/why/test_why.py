"""gs.why names the op, the variable and the line that made a gradient None, zero, NaN or infinite, and calls others healthy."""

from __future__ import annotations

import inspect
import linecache
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from samples import SAMPLES
from why_functions import FAULTY, HEALTHY, Case

MARK = "# here"


def line_of(function: Callable[..., Any], text: str) -> int:
    """The number of the line of a function that has a text."""
    lines, first = inspect.getsourcelines(function)
    return next(first + k for k, line in enumerate(lines) if text in line)


# Functions --------------------------------------------------------------------------------------------


def marked() -> list[int]:
    """The lines of the corpus at which a fault stands."""
    import why_functions

    return [k for k, line in enumerate(inspect.getsource(why_functions).splitlines(), 1) if line.endswith(MARK)]


def name(function: Any) -> str:
    return getattr(function, "__name__", "partial")


def lines_of(case: Case) -> list[int]:
    """The marked lines of a function, or those of what it calls, where it has none."""
    code = inspect.unwrap(getattr(case.function, "__func__", case.function))
    lines, first = inspect.getsourcelines(code)
    own = [first + k for k, line in enumerate(lines) if line.rstrip().endswith(MARK)]
    if own or case.op == "argument":
        return own
    return [max(k for k in marked() if k < first)]


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: name(case.function))
def test_the_fault_is_found_at_its_line(case: Case) -> None:
    found = gs.why(case.function, *case.args)
    answer = next(a for a in found.answers if a.argument == case.argument)
    assert answer.state == case.state, found
    first = answer.causes[0]
    assert first.op == case.op, found
    if case.variable is not None:
        assert first.variable == case.variable, found
    assert sorted({c.lineno for c in answer.causes if c.lineno}) == lines_of(case), found
    assert all(a.healthy for a in found.answers if a.argument != case.argument), found
    assert first.reason
    assert (found.argument, found.state, found.op) == (case.argument, case.state, case.op)


@pytest.mark.parametrize(("function", "args"), HEALTHY, ids=lambda v: name(v) if callable(v) else "")
def test_a_healthy_gradient_is_called_healthy(function: Any, args: Any) -> None:
    found = gs.why(function, *args)
    assert found.healthy, found
    assert found.answers
    assert "healthy" in str(found)


def test_the_report_of_a_function() -> None:
    def loss(w):
        z = w * 2.0
        return np.sum(np.maximum(z, 9.0))

    text = str(gs.why(loss, np.ones(2)))
    assert text.splitlines()[0] == "why(loss): d_w is zero."
    assert f"test_why.py:{line_of(loss, 'maximum')}: `return np.sum(np.maximum(z, 9.0))`" in text
    assert "`z` is below `9.0` at all 2 elements" in text
    assert "To change it: " in text
    assert repr(gs.why(loss, np.ones(2))) == text


def test_attributes_are_of_the_first_cause() -> None:
    def loss(w, b):
        return np.sum(w) + b.detach()

    found = gs.why(loss, np.ones(2), 1.0)
    (cause,) = found.causes
    assert (found.argument, found.state, found.op, found.variable) == ("b", "None", "detach", "b")
    assert (found.lineno, found.reason) == (cause.lineno, cause.reason) == (line_of(loss, "detach"), cause.reason)
    assert found.filename == __file__
    assert cause.line == "return np.sum(w) + b.detach()"
    assert not found.healthy
    assert [answer.argument for answer in found.answers] == ["w", "b"]


def test_which_arguments_are_asked_for() -> None:
    def loss(n, x, y):
        return np.sum(x) * n

    x = np.ones(2)
    assert [a.argument for a in gs.why(loss, 2, x, x).answers] == ["x", "y"]
    assert [a.argument for a in gs.why(loss, 2, x, x, argnums=1).answers] == ["x"]
    assert [a.argument for a in gs.why(loss, 2, x, y=x, argnums=("y", 1)).answers] == ["y", "x"]
    assert [a.argument for a in gs.why(gs.grad(loss, argnums=2), 2, x, x).answers] == ["y"]
    assert [a.argument for a in gs.why(gs.compile(gs.grad(loss, argnums=-1)), 2, x, x).answers] == ["y"]
    integers = gs.why(gs.grad(loss), 2, x, x)
    assert (integers.state, integers.op, integers.variable) == ("None", "dtype", "n")
    assert "int64" in integers.reason
    assert "no argument that could have a gradient" in str(gs.why(lambda text: len(text), "word"))


def test_a_function_with_more_beside_its_value() -> None:
    found = gs.why(gs.value_and_grad(lambda x: (np.sum(np.round(x)), x), has_aux=True), np.ones(3))
    assert (found.state, found.op) == ("zero", "np.round")


def test_the_function_raises_as_under_grad() -> None:
    with pytest.raises(gs.ShapeError, match="scalar output"):
        gs.why(lambda x: x, np.ones(3))
    with pytest.raises(ZeroDivisionError):
        gs.why(lambda x: np.sum(x) * (1 // (len(x) - 3)), np.ones(3))
    with pytest.raises(TypeError, match="a function and its arguments, or a Tensor"):
        gs.why(3.0)
    with pytest.raises(TypeError, match="the Tensor alone"):
        gs.why(gs.tensor(1.0), 2.0)


def test_nothing_is_left_switched_on_and_arguments_stay() -> None:
    def loss(x):
        x *= 0.0
        return np.sum(x)

    x = np.ones(3)
    assert gs.why(loss, x.copy()).lineno == line_of(loss, "*=")
    step = gs.compile(gs.grad(lambda x: np.sum(x * x)), verify="first calls")
    gs.why(step, x)
    step(x)
    assert len(gs.explain(step).specialisations) == 1  # it was compiled, and not run eagerly


def test_a_function_read_from_no_file() -> None:
    space: dict[str, Any] = {}
    exec("import numpy as np\ndef f(x):\n    return np.sum(np.maximum(x, 5.0))\n", space)
    found = gs.why(space["f"], np.ones(2))
    assert (found.op, found.lineno, found.variable) == ("np.maximum", 3, "")
    assert "its argument is below the other argument" in found.reason


# One fault in a chain of lines that have none ---------------------------------------------------------

LINES = [
    "v = np.sin(v) + 0.5", "v = v * 1.5 + C", "v = np.tanh(v * 0.1) * 3.0", "v = v[::-1]", "v = M @ v", "v = helper(v)",
    "v = np.stack([v, v * 0.5]).sum(axis=0)", "v = np.where(C > 0.5, v, v * 2.0)", "v = np.exp(-v * v * 0.01)", "v += C",
    "v[0] = v[1] * 0.7", "v = v / (1.0 + C)", "v = np.concatenate([v[:1], v[1:]])", "v = np.sqrt(v * v + 1.0)",
    "if v[0] > 1000.0: v = v * 2.0", "v = gs.vmap(lambda r: r * 1.5)(v)",
]  # fmt: skip
FAULTS = [
    ("None", "detach", "v = (v * 2.0).detach()"), ("None", "stop_gradient", "v = gs.stop_gradient(v)"),
    ("None", "astype", "v = v.astype(int) * 1.5"), ("None", "np.greater", "v = (v > 0.0) * 1.0"),
    ("None", "no_grad", "with gs.no_grad(): v = v * 3.0"), ("None", "np.argsort", "v = np.argsort(v) * 1.0"),
    ("zero", "np.maximum", "v = np.maximum(v, 1e6) / 1e6"), ("zero", "np.clip", "v = np.clip(v, 1e6, 2e6) / 1e6"),
    ("zero", "np.minimum", "v = np.minimum(v, -1e6) / 1e6"), ("zero", "np.multiply", "v = v * np.zeros(3) + 0.7"),
    ("zero", "np.round", "v = np.round(v) + 0.7"), ("zero", "np.sign", "v = np.sign(v) + 0.7"),
    ("zero", "x[i] = v", "v[...] = C"),
    ("zero", "np.exp", "v = np.exp(v * 0.001 - 1000.0) + 0.7"), ("NaN", "np.sqrt", "v = np.sqrt(v - v - 1.0)"),
    ("NaN", "np.log", "v = np.log(-1.0 - v * v) + v"), ("NaN", "np.divide", "v = 1.0 / (v * 0.0)"),
]  # fmt: skip
HEAD = """import numpy as np
import gradscribe as gs
C = np.array([0.3, 0.6, 0.9])
M = np.array([[1.0, 0.2, 0.1], [0.3, 1.0, 0.2], [0.1, 0.4, 1.0]])
def helper(u):
    return u * 0.9 + 0.1
def f(x):
    v = x * 1.0
"""


def planted(seed: int) -> tuple[Any, str, str, int]:
    """A function of some lines one of which is at fault; the state of its gradient, the op and the line."""
    rng = random.Random(seed)
    lines = [rng.choice(LINES) for _ in range(rng.randrange(2, 12))]
    state, op, fault = rng.choice(FAULTS)
    place = rng.randrange(len(lines))
    lines.insert(place, fault)
    text = HEAD + "".join(f"    {line}\n" for line in lines) + "    return np.sum(v * C)\n"
    name = f"<planted {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "planted"}
    exec(compile(text, name, "exec"), space)
    return space["f"], state, op, HEAD.count("\n") + place + 1


def right(found: Any, state: str, op: str, line: int) -> bool:
    unbounded = ("NaN", "inf")  # an infinity may become NaN on its way, or stay one
    return (found.state == state or (found.state in unbounded and state in unbounded)) and (found.op, found.lineno) == (
        op,
        line,
    )


@pytest.mark.parametrize("block", range(4))
def test_a_planted_fault_is_found(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        f, *expected = planted(seed)
        found = gs.why(f, np.array([0.4, -0.7, 1.1]))
        assert right(found, *expected), (seed, expected, found)


@pytest.mark.parametrize("block", range(4))
def test_a_planted_fault_is_found_on_bare_tensors(block: int) -> None:
    asked = 0
    for seed in range(block * 30, block * 30 + 30):
        f, *expected = planted(seed)
        x = gs.tensor([0.4, -0.7, 1.1], requires_grad=True)
        with gs.why(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loss = f(x)
                if loss.requires_grad:
                    loss.backward()
            except gs.AutogradError:  # a write into what a node saved, which is an error on bare Tensors
                continue
            found = gs.why(x) if loss.requires_grad else gs.why(loss)
            found = gs.why(loss) if found.healthy else found
        asked += 1
        assert right(found, *expected), (seed, expected, found)
    assert asked > 20


# Every op ---------------------------------------------------------------------------------------------


def summed(sample: Any) -> Callable[..., Any]:
    def f(*arrays: Any) -> Any:
        out = sample.run(*arrays, **sample.kwargs[0])
        return sum([np.sum(np.real(o)) for o in (out if isinstance(out, (tuple, list)) else [out])])

    return f


def check_at_zeros(fn: Any, rng: np.random.Generator) -> None:
    sample = SAMPLES[fn][0]
    args = [a * 0 if a.dtype.kind == "f" else a for a in sample.draw(rng, sample.shapes[0])]
    wanted = tuple([k for k, a in enumerate(args) if a.dtype.kind in "fc"])
    f = summed(sample)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            gs.grad(f, argnums=wanted)(*args)
        except Exception:  # zeros are no arguments of this op
            return
    for answer in gs.why(f, *args).answers:
        assert answer.healthy or (answer.causes[0].lineno and answer.causes[0].reason), (fn, answer)


def test_ops_at_zeros_have_a_cause_with_a_line(rng: np.random.Generator) -> None:
    for fn in list(SAMPLES)[::4]:
        check_at_zeros(fn, rng)


@pytest.mark.slow
def test_every_op_at_zeros_has_a_cause_with_a_line(rng: np.random.Generator) -> None:
    for fn in SAMPLES:
        check_at_zeros(fn, rng)


# Bare tensors -----------------------------------------------------------------------------------------


def leaf(data: Any) -> Any:
    return gs.tensor(data, requires_grad=True)


def test_recorded_a_leaf_with_a_gradient_of_zero() -> None:
    w = leaf([1.0, 2.0])
    with gs.why():
        h = np.maximum(w, 100.0)
        h.sum().backward()
        found = gs.why(w)
    assert (found.argument, found.state, found.op, found.variable) == ("w", "zero", "np.maximum", "w")
    assert found.lineno == line_of(test_recorded_a_leaf_with_a_gradient_of_zero, "np.maximum(w")


def test_recorded_a_leaf_without_a_gradient() -> None:
    w, b = leaf([1.0, 2.0]), leaf(1.0)
    with gs.why() as record:
        h = np.exp(b).detach()
        (w * h).sum().backward()
    found = record(b)
    assert (found.argument, found.state, found.op, found.variable) == ("b", "None", "detach", "np.exp(b)")
    assert found.lineno == line_of(test_recorded_a_leaf_without_a_gradient, "detach")
    assert gs.why(b).lineno == found.lineno  # the last recording is asked as long as it is kept
    assert record(w).healthy
    assert "operations recorded" in repr(record)


def test_recorded_a_loss_answers_for_all_its_leaves() -> None:
    params = {"w": leaf([1.0, 2.0]), "b": leaf(1.0)}
    with gs.why():
        loss = np.sum(params["w"] * 2.0) + np.sqrt(params["b"] - 1.0)
        loss.backward()
        found = gs.why(loss)
    assert [(a.argument, a.state) for a in found.answers] == [("params['w']", "healthy"), ("params['b']", "inf")]
    assert (found.op, found.variable) == ("np.sqrt", "params['b'] - 1.0")


def test_recorded_a_loss_that_requires_no_grad() -> None:
    w = leaf([1.0, 2.0])
    with gs.why():
        with gs.no_grad():
            h = w * 2.0
        loss = np.sum(h + 1.0)
        found = gs.why(loss)
        constant = np.sum(np.ones(3)) * gs.tensor(2.0)
        other = gs.why(constant)
    assert (found.argument, found.state, found.op, found.variable) == ("loss", "None", "no_grad", "w")
    assert found.lineno == line_of(test_recorded_a_loss_that_requires_no_grad, "h = w * 2.0")
    assert "nothing that it was computed from does" in other.reason


def test_recorded_what_is_not_a_leaf() -> None:
    with gs.why():
        w = leaf([1.0, 2.0]) * 0.1  # the well-known way to lose a leaf
        (w * 3.0).sum().backward()
        found = gs.why(w)
    assert (found.state, found.op, found.variable) == ("None", "np.multiply", "w")
    assert found.lineno == line_of(test_recorded_what_is_not_a_leaf, "* 0.1")
    assert "not a leaf" in found.reason
    assert "retain_grad" in found.causes[0].advice


def test_recorded_in_place_and_hooks_and_resets() -> None:
    w = leaf([1.0, 2.0])
    with gs.why():
        y = w * 2.0
        y[:] = 0.0
        y.sum().backward()
        written = gs.why(w)
        w.grad = None
        z = w * 1.0
        z.register_hook(lambda g: g * 0.0)
        z.sum().backward()
        hooked = gs.why(w)
        w.grad = None
        (w * w).sum().backward()
        w.grad = None
        reset = gs.why(w)
    assert (written.op, written.lineno) == ("x[i] = v", line_of(test_recorded_in_place_and_hooks_and_resets, "y[:]"))
    assert (hooked.op, hooked.variable) == ("hook", "z")
    assert (reset.state, reset.op) == ("None", "zero_grad")


def test_recorded_a_leaf_that_was_not_used_or_not_run() -> None:
    with gs.why():
        w, unused = leaf(1.0), leaf(2.0)
        assert "backward was not called" in gs.why(w).reason
        (w * 2.0).backward()
        found = gs.why(unused)
    assert (found.state, found.op, found.variable) == ("None", "unused", "unused")


def test_recorded_a_retained_gradient() -> None:
    w = leaf([1.0, 2.0])
    with gs.why():
        h = w * 2.0
        h.retain_grad()
        np.sum(np.round(h)).backward()
        found = gs.why(h)
    assert (found.argument, found.state, found.op) == ("h", "zero", "np.round")


def test_a_recording_is_asked_for_tensors_alone_and_ends_a_capture() -> None:
    with gs.why() as record:
        pass
    with pytest.raises(TypeError, match="asked for a Tensor"):
        record(3.0)

    @gs.compile
    def asks(x):
        with gs.why():
            return np.sum(x * x)

    with pytest.warns(gs.EagerWarning, match=r"records for gs\.why"):
        assert asks(np.ones(3)) == 3.0


def test_unrecorded_the_graph_says_what_it_knows() -> None:
    w, b = leaf([1.0, 2.0]), leaf(2.0)
    loss = np.sum(np.maximum(w, 100.0)) * b
    found = gs.why(loss)
    assert [(a.argument, a.state) for a in found.answers] == [("w", "zero"), ("b", "healthy")]
    assert (found.op, found.lineno) == ("np.maximum", 0)
    assert "`with gs.why():`" in str(found)
    assert w.grad is None, "nothing is added up"
    loss.backward()
    assert "was freed" in str(gs.why(loss))
    assert gs.why(loss).state == "zero"
    assert "`with gs.why():`" in str(gs.why(w))
    assert gs.why(b).healthy


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_unrecorded_anomaly_mode_noted_the_lines() -> None:
    w = leaf([1.0, 2.0])
    with gs.autograd.detect_anomaly():
        loss = np.sum(np.round(w))
    found = gs.why(loss)
    assert (found.op, found.lineno) == (
        "np.round",
        line_of(test_unrecorded_anomaly_mode_noted_the_lines, "np.round(w)"),
    )


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_unrecorded_a_tensor_says_what_it_is() -> None:
    w = leaf([1.0, 2.0])
    scaled = w * 0.1
    assert "not a leaf" in gs.why(scaled).reason
    assert "no backward has come to it" in gs.why(w).reason
    assert gs.why(w > 1.0).op == "dtype"
    assert "does not require grad" in gs.why(w.detach()).reason
    with gs.no_grad():
        row = w[1:]
    assert gs.why(row).op == "no_grad"
    with gs.inference_mode():
        made = w * 2.0
    assert gs.why(made).op == "inference_mode"


def test_recording_within_a_recording_and_threads_of_nothing() -> None:
    w = leaf([1.0, 2.0])
    with gs.why() as outer:
        with gs.why():
            (w * 2.0).sum().backward()
        found = gs.why(lambda x: np.sum(np.round(x)), np.ones(2))
        (w * 3.0).sum().backward()
    assert found.op == "np.round"
    assert outer(w).healthy
    assert outer.watch.events
    loss = (w * w).sum()
    assert loss.requires_grad
    assert gs.why(loss).healthy
