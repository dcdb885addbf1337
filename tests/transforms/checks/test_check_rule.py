"""Rules of users: gs.rule and gs.op read the signature, gs.check_rule finds every planted fault and says what it is."""

from __future__ import annotations

import ctypes.util
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradscribe as gs

ELEMENTWISE = gs.Kind.elementwise
X, Y = np.array([[0.5, 1.0, 2.0], [1.5, -0.7, 0.3]]), np.array([2.0, 3.0, -1.0])
Z = np.array([1.0 + 2.0j, 0.5 - 1.0j])


class User(NamedTuple):
    """A function of a user's, that NumPy's protocols do not see, with its right rule and samples."""

    function: Callable[..., Any]
    kind: Any
    rule: dict[str, Callable[..., Any]]
    samples: list[Any]


def hypot(x: Any, y: Any) -> Any:
    return np.sqrt(np.asarray(x) ** 2 + np.asarray(y) ** 2)


def share(x: Any, axis: int = -1) -> Any:
    x = np.asarray(x)
    return x / x.sum(axis=axis, keepdims=True)


def weighted(w: Any, x: Any) -> Any:
    return np.asarray(w) @ np.asarray(x)


def spin(z: Any) -> Any:
    return np.exp(1j * np.asarray(z))


def blend(x: Any, y: Any) -> Any:
    return np.asarray(x) * np.asarray(y) ** 2


def size(x: Any) -> Any:
    return np.sum(np.asarray(x) ** 2)


USERS: dict[str, User] = {
    "hypot": User(hypot, ELEMENTWISE, {"x": lambda g, x, out: g * x / out, "y": lambda g, y, out: g * y / out}, [(X, Y)]),
    "share": User(
        share, None,
        {"x": lambda g, x, out, axis: (g - np.sum(g * out, axis=axis, keepdims=True)) / np.sum(x, axis=axis, keepdims=True)},
        [(X + 1,), {"x": X + 1, "axis": 0}],
    ),
    "weighted": User(
        weighted, None, {"w": lambda g, x: g @ x.T, "x": lambda g, w: w.T @ g}, [(X, X.T * 2), (X[:, :2], X[:, 1:] - 1)]
    ),
    "spin": User(spin, ELEMENTWISE, {"z": lambda g, out: g * 1j * out}, [(Z,), (Z[0],)]),
    "blend": User(blend, ELEMENTWISE, {"x": lambda g, y: g * y**2, "y": lambda g, x, y: g * 2 * x * y}, [(X, X + 2), (X, 2.0)]),
    "size": User(size, None, {"x": lambda g, x: 2 * g * x}, [(X,), (Y,)]),
}  # fmt: skip


def fault(change: Callable[[Any], Any]) -> Callable[[dict[str, Any], str], dict[str, Any]]:
    """A fault in what one formula gives."""

    def planted(rule: dict[str, Any], name: str) -> dict[str, Any]:
        formula = rule[name]
        names = formula.__code__.co_varnames[: formula.__code__.co_argcount]
        space: dict[str, Any] = {"formula": formula, "change": change}
        exec(f"made = lambda {', '.join(names)}: change(formula({', '.join(names)}))", space)
        return {**rule, name: space["made"]}

    return planted


def swapped(rule: dict[str, Any], name: str) -> dict[str, Any]:
    a, b = rule
    return {**rule, a: rule[b], b: rule[a]}


FAULTS: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "sign": fault(lambda d: -d),
    "factor": fault(lambda d: d * 1.001),
    "offset": fault(lambda d: d + 1e-3),
    "conjugate": lambda rule, name: {**rule, name: lambda g, out: np.conj(rule[name](np.conj(g), out))},
    "frozen": fault(gs.stop_gradient),  # right by value, constant to a second derivative
    "zero": fault(lambda d: 0.0 * d),
    "swapped": swapped,
}
UNREDUCED: dict[str, dict[str, Any]] = {  # a sum left out
    "share": {"x": lambda g, x, out, axis: (g - g * out) / np.sum(x, axis=axis, keepdims=True)},
    "size": {"x": lambda g, x: 2 * g * x[:1]},
    "weighted": {"w": lambda g, x: g[:, :1] * x.T[:1], "x": lambda g, w: w.T @ g},
}
SAID = {
    "sign": "has the wrong sign", "factor": "is 1.001 times what it should be", "conjugate": "a conjugate is missing",
    "frozen": "differentiated once more",
}  # fmt: skip


def planted(name: str, rule: dict[str, Any]) -> gs.transforms.check_rule.RuleReport:  # type: ignore[name-defined]
    """The report of a fresh function with this rule."""
    user = USERS[name]
    space: dict[str, Any] = {"f": user.function}
    signature = "x, axis=-1" if name == "share" else ", ".join(rule)
    given = "x, axis" if name == "share" else ", ".join(rule)
    exec(f"def {name}({signature}):\n    return f({given})\n", space)
    function = gs.rule(space[name], *[user.kind] * (user.kind is not None), **rule)
    return gs.check_rule(function, user.samples)


@pytest.mark.parametrize("name", USERS)
def test_right_rules_pass(name: str) -> None:
    report = planted(name, USERS[name].rule)
    assert report.ok, report
    assert bool(report)
    assert "is right" in repr(report)
    for what in ("values", "second order", "forward mode", "dtypes"):
        assert report.checks[what] >= 1


def test_every_planted_fault_is_caught_and_named() -> None:
    counted = {"planted": 0, "caught": 0, "named": 0}
    missed = []
    for name, user in USERS.items():
        for what, plant in FAULTS.items():
            for argument in list(user.rule)[: 1 if what == "swapped" else None]:
                if (what == "swapped" and len(user.rule) < 2) or (what == "conjugate" and name != "spin"):
                    continue
                report = planted(name, plant(user.rule, argument))
                counted["planted"] += 1
                counted["caught"] += not report.ok
                counted["named"] += what in SAID and any(SAID[what] in p for p in report.problems)
                if report.ok:
                    missed.append(f"{name}, {argument}: {what}")
                elif what in SAID:
                    assert any(SAID[what] in p for p in report.problems), (name, argument, what, report)
        if name in UNREDUCED:
            counted["planted"] += 1
            found = not planted(name, UNREDUCED[name]).ok
            counted["caught"] += found
            if not found:
                missed.append(f"{name}: a reduction left out")
    print(counted)
    assert not missed
    assert counted["planted"] == counted["caught"] >= 50


def test_swapped_arguments_of_one_shape_are_named() -> None:
    user = USERS["blend"]
    report = planted("blend", swapped(user.rule, "x"))
    assert any("the cotangent is that of `y`: are two arguments swapped?" in p for p in report.problems)


def test_other_faults_are_told() -> None:
    def f(x: Any, n: float = 2.0) -> Any:
        return np.asarray(x) * n

    report = gs.check_rule(gs.rule(f, x=lambda g, n: g * n, n=None), [(Y, 3.0)])
    assert any(
        "`n`: it is said to have no gradient (None), but the result moves along it" in p for p in report.problems
    )

    @gs.rule(ELEMENTWISE, x=lambda g, x, out: out * (g - np.sum(g * out)))
    def softmax(x: Any) -> Any:
        e = np.exp(np.asarray(x))
        return e / e.sum()

    assert any("it is called elementwise, but" in p for p in gs.check_rule(softmax, [Y]).problems)

    @gs.rule(x=lambda g, x: np.abs(g) * x * 2)
    def squared(x: Any) -> Any:
        return np.asarray(x) ** 2

    assert any("is a formula not linear in g" in p or "slope" in p for p in gs.check_rule(squared, [X]).problems)

    @gs.rule(x=lambda g, x: 2 * g * np.array(x.tolist()))
    def listed(x: Any) -> Any:
        return np.asarray(x) ** 2

    assert any("raises GradientLossError" in p for p in gs.check_rule(listed, [Y]).problems)

    @gs.rule(x=lambda g, x: 2 * g * np.asarray(x))
    def dropping(x: Any) -> Any:
        return np.asarray(x) ** 2

    assert any("raises GradientLossError" in p for p in gs.check_rule(dropping, [Y]).problems)


def test_what_a_rule_gives_back_takes_tensors_bare_and_in_functions() -> None:
    @gs.rule(ELEMENTWISE, x=lambda g, x: g * np.cos(x))
    def sine(x: Any) -> Any:
        return np.array([math.sin(v) for v in np.asarray(x).flat]).reshape(np.shape(x))

    assert type(sine(Y)) is np.ndarray
    t = gs.tensor(Y, requires_grad=True)
    out = sine(t)
    assert out.grad_fn.name() == "SineBackward0"
    out.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), np.cos(Y))
    np.testing.assert_array_equal(gs.grad(lambda x: np.sum(sine(x)))(Y), np.cos(Y))
    np.testing.assert_array_equal(gs.vmap(sine)(X), np.sin(X))
    gs.check_grads(sine, (Y,), order=3)


def test_functions_of_several_arrays_and_results() -> None:
    @gs.rule(xs=lambda g, i, xs: g[i] * 2 * xs[i])
    def squares(*xs: Any) -> Any:
        return np.stack([np.asarray(x) ** 2 for x in xs])

    assert gs.check_rule(squares, [(Y, Y + 1, 2 * Y)]).ok
    assert gs.grad(lambda x: np.sum(squares(x, x)))(Y).tolist() == (4 * Y).tolist()

    def both(x: Any) -> Any:
        return np.sin(np.asarray(x)), np.cos(np.asarray(x))

    with pytest.raises(
        TypeError, match=r"gave a tuple of 2, but was registered with one result: gs.op\(..., n_out=2\)"
    ):
        gs.grad(lambda x: np.sum(gs.rule(both, x=lambda g, x: g)(x)[0]))(Y)

    def halves(x: Any) -> Any:
        return np.sin(np.asarray(x)), np.cos(np.asarray(x))

    gs.op(halves, n_out=2)
    made = gs.rule(
        halves, x=lambda g, out: (0.0 if g[0] is None else g[0] * out[1]) - (0.0 if g[1] is None else g[1] * out[0])
    )
    report = gs.check_rule(made, [Y])
    assert report.ok, report


def test_signatures_are_read_or_stated() -> None:
    ufunc = np.frompyfunc(lambda x, y: x + y, 2, 1)
    assert repr(gs.op(ufunc)).endswith("(x, y)>")
    assert gs.op(lambda x, *, axis=None, k=2: x).signature == "x, axis=None, k=2"
    assert gs.op(math.comb, "x, y").signature == "x, y"
    for make, words in (
        (lambda: gs.rule(lambda **k: 1, x=lambda g: g), r"takes any keyword \(\*\*k\)"),
        (lambda: gs.rule(lambda x, a=Y: x, x=lambda g: g), "the default of `a`"),
        (lambda: gs.rule(lambda x, *, a: x, x=lambda g: g), "keyword-only argument `a`"),
        (lambda: gs.rule(vars, x=lambda g: g), "does not say what its arguments are called"),
        (lambda: gs.rule(dict.fromkeys, x=lambda g: g), "is optional and has no keyword"),
        (lambda: gs.rule(lambda x: x, y=lambda g: g), r"no argument is named `y` in \(x\)"),
        (lambda: gs.rule(lambda x: x, x=lambda g, y: g), "reads `y`, which is neither g"),
        (lambda: gs.rule(lambda x: x, x=np.sin), "is a Python function, not ufunc"),
        (lambda: gs.rule(np.sin, gs.Kind.opaque, x=lambda g: g), "is an op of the kind elementwise already"),
        (lambda: gs.op(3), "gs.op takes a function, not int"),
    ):
        with pytest.raises(TypeError, match=words):
            make()


def test_errors_of_check_rule() -> None:
    with pytest.raises(gs.NoRuleError):
        gs.check_rule(lambda x: x, [Y])
    made = gs.rule(lambda x: np.asarray(x) * 2.0, x=lambda g: 2.0 * g)
    with pytest.raises(ValueError, match="needs samples"):
        gs.check_rule(made, [])
    with pytest.raises(TypeError):
        gs.check_rule(made, [(1.0, 2.0)])
    assert any("nothing was checked" in n for n in gs.check_rule(made, [(3,)]).notes)


@pytest.mark.skipif(ctypes.util.find_library("m") is None, reason="no C library of mathematics")
def test_c_code() -> None:
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    libm.erf.restype, libm.erf.argtypes = ctypes.c_double, [ctypes.c_double]

    @gs.rule(ELEMENTWISE, x=lambda g, x: g * 2 / np.sqrt(np.pi) * np.exp(-(x**2)))
    def erf(x: Any) -> Any:
        x = np.asarray(x, float)
        return np.array([libm.erf(v) for v in x.flat]).reshape(x.shape)

    assert gs.check_rule(erf, [X, Y, 0.5]).ok
    assert gs.grad(erf)(0.0) == 2 / np.sqrt(np.pi)
