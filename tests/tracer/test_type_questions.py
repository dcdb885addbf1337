"""What a traced value says when code asks for its type where no hook of the scope stands: code without source, C code, ABCs."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

ASKING = {
    "isinstance(t, float)": True,
    "isinstance(t, np.floating)": True,
    "isinstance(t, (int, str))": False,
    "isinstance(t, numbers.Real)": True,
    "isinstance(x, np.ndarray)": True,
    "isinstance(t, gs.Tensor)": None,
    "t.__class__ is np.float64": True,
    "x.__class__ is np.ndarray": True,
}


def without_source(question: str) -> Any:
    """A function whose helper is a method that has no source."""
    space: dict[str, Any] = {"np": np, "numbers": numbers, "gs": gs, "answers": []}
    text = (
        "class C:\n    def ask(self, x):\n        t = np.sum(x)\n"
        f"        answers.append({question})\n        return t * 2.0\n"
        "c = C()\ndef f(x):\n    return c.ask(x)\n"
    )
    exec(text, space)
    return space


@pytest.mark.parametrize("question", ASKING)
def test_it_answers_as_numpys_number_would(question: str) -> None:
    space = without_source(question)
    np.testing.assert_array_equal(gs.grad(space["f"])(np.ones(3)), 2.0)
    found = space["answers"][0]
    assert found is (True if ASKING[question] is None else ASKING[question])


def test_outside_of_a_transform_a_tensor_is_a_tensor() -> None:
    t = gs.tensor(1.5)
    assert t.__class__ is gs.Tensor
    assert not isinstance(t, float)


@pytest.mark.filterwarnings("ignore::gradscribe.EagerWarning")
@pytest.mark.parametrize("transform", [gs.grad, lambda f: gs.compile(gs.grad(f))], ids=["eager", "compiled"])
def test_an_array_has_no_hash(transform: Any) -> None:
    def f(x: Any) -> Any:
        try:
            hash(x)
        except TypeError:
            return np.sum(x * x)
        return np.sum(x) * 0.0

    np.testing.assert_array_equal(transform(f)(np.array([1.0, 2.0])), [2.0, 4.0])


@pytest.mark.parametrize(
    "number", ["float(x[0]).conjugate()", "round(float(x[0]), 2)", "complex(x[0], 0.5).conjugate().real"]
)
def test_pythons_numbers_stay_pythons(number: str) -> None:
    """Beside a float32 array they leave it so."""

    def f(x: Any) -> Any:
        return np.sum(eval(number, {"x": x}) * np.ones(2, np.float32))

    x = np.array([0.15, 0.5])
    value, _ = gs.value_and_grad(f)(x)
    assert (value.dtype, value) == (f(x).dtype, f(x))


def test_round_is_pythons_for_its_own_numbers() -> None:
    assert [gs.value_and_grad(lambda x, n=n: round(float(x), n) + 0.0 * x)(0.15)[0] for n in (0, 1, 2)] == [
        0.0,
        0.1,
        0.15,
    ]
