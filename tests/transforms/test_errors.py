"""Bad input: every error names what happened, the things that disagree and what to do, and ends at the user's line."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import gradscribe as gs
from gradscribe.runtime import registry

X = np.array([0.5, -1.25, 2.0])
HERE = Path(__file__).name


def leaf(data: Any) -> Any:
    return gs.tensor(data, requires_grad=True)


def marked(function: Callable[..., Any]) -> int:
    """The line of a function that bears the mark."""
    lines, start = inspect.getsourcelines(function)
    return start + next(k for k, line in enumerate(lines) if "# <-" in line)


def caught_from(run: Callable[[], Any], kind: Any = Exception) -> Any:
    with pytest.raises(kind) as caught:
        run()
    return caught.value


def last_user_line(error: BaseException) -> tuple[str, int]:
    """The file and line of the innermost frame that is not NumPy's own."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if f"{'numpy'}/" not in f.filename.replace("\\", "/")
    ]
    return Path(frames[-1].filename).name, frames[-1].lineno or 0


def last_words(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)).rstrip()


# The output ---------------------------------------------------------------------------------------


def not_scalar(x):
    return x * 2  # <-


def test_grad_of_an_output_that_is_no_scalar() -> None:
    for make in (gs.grad, gs.value_and_grad):
        error = caught_from(lambda make=make: make(not_scalar)(X), gs.ShapeError)
        text = str(error)
        assert "grad can be implicitly created only for scalar outputs" in text
        assert "not_scalar" in text
        assert "shape (3,)" in text
        assert f"{HERE}:{marked(not_scalar)}" in text
        for what_to_do in (".sum()", "gs.vjp", "gs.jacobian"):
            assert what_to_do in text
        assert isinstance(error, RuntimeError)
        assert isinstance(error, ValueError)
    assert gs.grad(lambda x: x * 2)(2.0) == 2.0
    error = caught_from(lambda: gs.grad(lambda x: x)(np.ones(1)), gs.ShapeError)
    assert "shape (1,)" in str(error)


def test_grad_of_an_output_that_is_no_number() -> None:
    for output in (None, "text", {"a": 1.0}, [1.0], (1.0, 2.0)):
        error = caught_from(lambda output=output: gs.grad(lambda x: output)(2.0), gs.ShapeError)
        assert "needs a scalar output" in str(error)
        assert ("returned None" if output is None else type(output).__name__) in str(error)
        assert ("`return` is missing" if output is None else "has_aux=True") in str(error)


def test_grad_of_a_complex_output() -> None:
    error = caught_from(lambda: gs.grad(lambda z: z * z)(1 + 2j), gs.DtypeError)
    assert "real output" in str(error)
    assert "np.real" in str(error)


def test_backward_of_what_is_no_scalar() -> None:
    def run():
        (leaf([1.0, 2.0]) * 2).backward()  # <-

    error = caught_from(run, RuntimeError)
    assert "grad can be implicitly created only for scalar outputs" in str(error)
    assert "(2,)" in str(error)
    assert ".sum()" in str(error)
    assert f"{HERE}:{marked(run)}" in last_words(error).splitlines()[-2]
    error = caught_from(lambda: gs.autograd.grad(leaf([1.0]) * np.ones(2), leaf(1.0)), RuntimeError)
    assert "scalar outputs" in str(error)
    error = caught_from(lambda: leaf(1 + 1j).backward(), RuntimeError)
    assert "only for real scalar outputs" in str(error)


def test_backward_of_what_needs_no_grad() -> None:
    def run():
        gs.tensor([1.0]).backward()  # <-

    error = caught_from(run, RuntimeError)
    assert "does not require grad and does not have a grad_fn" in str(error)
    assert "requires_grad=True" in str(error)
    assert f"{HERE}:{marked(run)}" in last_words(error)
    with gs.no_grad():
        y = leaf(1.0) * 2
    assert "does not require grad" in str(caught_from(y.backward, RuntimeError))
    assert "does not require grad" in str(
        caught_from(lambda: gs.autograd.grad(gs.tensor(1.0), leaf(1.0)), RuntimeError)
    )
    assert "does not require grad" in str(
        caught_from(lambda: gs.autograd.grad(leaf(1.0), gs.tensor(1.0)), RuntimeError)
    )


def test_a_second_backward() -> None:
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward()

    def run():
        y.backward()  # <-

    error = caught_from(run, RuntimeError)
    assert "Trying to backward through the graph a second time" in str(error)
    assert "Specify retain_graph=True" in str(error)
    assert "MulBackward0" in str(error)
    assert f"{HERE}:{marked(run)}" in last_words(error)


def test_gradients_of_a_wrong_shape_or_dtype() -> None:
    x = leaf([1.0, 2.0])
    error = caught_from(lambda: (x * x).backward(gs.tensor([1.0, 2.0, 3.0])), RuntimeError)
    assert "Mismatch in shape: grad_output[0] has a shape of (3,) and output[0] has a shape of (2,)." in str(error)
    error = caught_from(lambda: (x * x).backward(gs.tensor([1j, 2.0])), RuntimeError)
    assert "required to have the same dtype" in str(error)
    error = caught_from(lambda: gs.autograd.grad([x * x], [x], [gs.tensor([1.0, 1.0])] * 2), RuntimeError)
    assert "1 tensors and 2 gradients" in str(error)
    error = caught_from(lambda: gs.autograd.grad(x.sum(), []), RuntimeError)
    assert "cannot be empty" in str(error)


# The arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [3, np.array([1, 2]), True, np.array([True]), np.uint8(3), [1.0, 2], {"a": 1}])
def test_an_integer_to_differentiate(bad: Any) -> None:
    def squared(x):
        return np.sum(np.asarray(x) ** 2)

    error = caught_from(lambda: gs.grad(squared)(bad), gs.DtypeError)
    text = str(error)
    assert "grad differentiates floating point and complex arguments" in text
    assert "argument 0 of `squared`" in text
    assert "int" in text or "bool" in text
    assert "x.astype(float)" in text
    assert isinstance(error, TypeError)
    error = caught_from(lambda: gs.grad(squared, argnums="x")(x=bad), gs.DtypeError)
    assert "argument `x`" in str(error)


@pytest.mark.parametrize("bad", ["text", None, object(), np.array([object()]), np.array(["a"])])
def test_something_else_to_differentiate(bad: Any) -> None:
    with pytest.raises(TypeError, match="differentiates floating point"):
        gs.grad(lambda x: 1.0)(bad)


# Operations ---------------------------------------------------------------------------------------


def shapes(x):
    y = x * 2
    return np.sum(y + np.ones(4))  # <-


def matmuls(x):
    return np.sum(np.ones((2, 4)) @ x)  # <-


def concatenates(x):
    return np.sum(np.concatenate([x, np.ones((2, 2))]))  # <-


def reshapes(x):
    return x.reshape(2, 2).sum()  # <-


def indexes(x):
    return x[5]  # <-


def indexes_by_array(x):
    return np.sum(x[np.array([0, 7])])  # <-


def writes_outside(x):
    out = np.zeros(2)
    out[4] = x[0]  # <-
    return np.sum(out)


def writes_a_wrong_shape(x):
    out = np.zeros(2)
    out[:] = x  # <-
    return np.sum(out)


def axes(x):
    return np.sum(x.sum(axis=3))  # <-


def unknown_words(x):
    return np.sum(x, nonsense=1)  # <-


def without_rule(x):
    return np.sum(special.zetac(x + 2.0))  # <-


def loses(x):
    return np.add(x, 1.0, out=STORE).sum()  # <-


def their_own_error(x):
    raise KeyError("mine")  # <-


def in_a_helper(x):
    def helper(y):
        return y @ np.ones(4)  # <-

    return helper(x)


def second_order(x):
    def inner(v):
        return np.sum(v + np.ones(4))  # <-

    return gs.grad(inner)(x)


STORE = np.zeros(3)
FAILING: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (shapes, ValueError, r"operands could not be broadcast together with shapes \(3,\) \(4,\)"),
    (matmuls, ValueError, "mismatch"),
    (concatenates, ValueError, "dimension"),
    (reshapes, ValueError, "cannot reshape"),
    (indexes, IndexError, "index 5 is out of bounds for axis 0 with size 3"),
    (indexes_by_array, IndexError, "index 7 is out of bounds"),
    (writes_outside, IndexError, "index 4 is out of bounds"),
    (writes_a_wrong_shape, ValueError, "could not broadcast"),
    (axes, ValueError, "axis 3 is out of bounds"),
    (unknown_words, TypeError, "nonsense"),
    (without_rule, gs.NoRuleError, r"scipy\.special\.zetac has no gradient rule"),
    (loses, gs.GradientLossError, "out="),
    (their_own_error, KeyError, "mine"),
    (in_a_helper, ValueError, "mismatch"),
    (second_order, ValueError, "broadcast"),
]


@pytest.mark.parametrize(("function", "kind", "words"), FAILING, ids=lambda v: getattr(v, "__name__", None))
@pytest.mark.parametrize(
    "make", [gs.grad, gs.value_and_grad, lambda f: lambda x: gs.vjp(f, x)], ids=["grad", "value_and_grad", "vjp"]
)
def test_the_users_line_stands_last(function: Any, kind: Any, words: str, make: Any) -> None:
    with pytest.raises(kind, match=words) as caught:
        make(function)(X.copy())
    assert last_user_line(caught.value) == (HERE, marked(function))
    frames = traceback.extract_tb(caught.value.__traceback__)
    within = [
        f for f in frames if f.name != "door"
    ]  # which stands around a public function, as `__call__` of a transform
    inside = [f for f in within if "/tracer/" in f.filename or "/runtime/" in f.filename or f.filename.startswith("<")]
    assert inside == []
    assert "During handling of the above" not in last_words(caught.value)
    assert "direct cause" not in last_words(caught.value)


BARE: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda t: t + np.ones(4), ValueError, "broadcast"),
    (lambda t: np.ones(4) + t, ValueError, "broadcast"),
    (lambda t: t @ np.ones(4), ValueError, "mismatch"),
    (lambda t: np.add(t, np.ones(4)), ValueError, "broadcast"),
    (lambda t: np.concatenate([t, np.ones((2, 2))]), ValueError, "dimension"),
    (lambda t: t.reshape(2, 2), ValueError, "cannot reshape"),
    (lambda t: t[7], IndexError, "index 7 is out of bounds"),
    (lambda t: t.sum(axis=2), ValueError, "axis 2 is out of bounds"),
    (lambda t: special.zetac(t), gs.NoRuleError, "scipy.special.zetac"),
    (lambda t: np.array([t]), gs.GradientLossError, "np.stack"),
    (lambda t: t.backward(), gs.ShapeError, "scalar outputs"),
]


@pytest.mark.parametrize("k", range(len(BARE)))
def test_the_users_line_is_the_last_word_of_a_bare_tensor(k: int) -> None:
    run, kind, words = BARE[k]
    with pytest.raises(kind, match=words) as caught:
        run(leaf(X))
    where, line = last_words(caught.value).splitlines()[-2:]
    assert where == f"at {__file__}:{run.__code__.co_firstlineno}"
    assert line == "    " + inspect.getsource(run).strip()


def test_the_note_comes_once() -> None:
    def f(x):
        return gs.grad(lambda y: np.sum(y @ np.ones(4)))(x)

    error = caught_from(lambda: gs.grad(f)(X), ValueError)
    assert len(error.__notes__) == 1


def test_at_an_uncaught_error_the_terminal_shows_the_users_line_last(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import numpy as np
            import gradscribe as gs

            @gs.grad
            def loss(x):
                y = x * 2
                return np.sum(y @ np.ones((5, 2)))

            loss(np.ones(3))
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    frames = [line for line in done.stderr.splitlines() if line.strip().startswith("File ")]
    assert 'script.py", line 8, in loss' in frames[-1]
    assert not any("/tracer/" in f or "/runtime/" in f for f in frames)
    assert "np.ones((5, 2))" in done.stderr
    assert "ValueError: matmul" in done.stderr


def test_what_cannot_be_differentiated_is_named_shortly() -> None:
    with pytest.raises(gs.DtypeError, match="holds dtype object"):
        gs.grad(np.sum)(np.ones(3).astype(object))
    with pytest.raises(gs.DtypeError, match=r"holds a value of type decimal\.Decimal"):
        gs.grad(np.sum)(Decimal(1))
    with pytest.raises(TypeError, match=r"gs\.compile takes a function, not ndarray") as caught:
        gs.compile(np.ones((100, 100)))
    assert len(str(caught.value)) < 100
    for vectors in (True, False):
        with pytest.raises(np.linalg.LinAlgError, match="at least two-dimensional"):
            gs.tensor([1.0, 2.0]).svd(compute_uv=vectors)


def test_an_error_leaves_everything_in_order() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="broadcast"):
            gs.grad(shapes)(X)
    assert gs.is_grad_enabled()
    assert gs.grad(lambda x: np.sum(x**2))(X).tolist() == (2 * X).tolist()
    with gs.no_grad():
        with pytest.raises(ValueError, match="broadcast"):
            gs.grad(shapes)(X)
        assert not gs.is_grad_enabled()


def test_errors_are_kinds_that_others_catch() -> None:
    assert issubclass(gs.ShapeError, (RuntimeError, ValueError))
    assert issubclass(gs.DtypeError, (RuntimeError, TypeError))
    assert issubclass(gs.AutogradError, RuntimeError)
    assert issubclass(gs.NoRuleError, NotImplementedError)
    assert issubclass(gs.GradientLossError, RuntimeError)
    assert issubclass(gs.EagerWarning, UserWarning)


def odd(x):
    return x * 1.0


def test_an_error_in_a_rule_comes_out_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_function", dict(registry._by_function))
    gs.op(odd, "x", gs.Kind.elementwise)
    gs.rule(odd, x=lambda g, x: g @ np.ones(17))
    with pytest.raises(ValueError, match="mismatch"):
        gs.grad(lambda x: np.sum(odd(x)))(X)
