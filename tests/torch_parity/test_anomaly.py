"""Anomaly mode: what failed in backward, and where its forward stands."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def restored(torch: Any) -> Iterator[None]:
    yield
    torch.autograd.set_detect_anomaly(False)


def zero(torch: Any) -> Any:
    return torch.tensor([0.0, 1.0], requires_grad=True)


def makes_nan(x: Any) -> Any:
    return (x.sqrt() * 0.0).sum()


def run(f: Callable[[], Any], error: type[Exception], match: str) -> str:
    """The text of the warning that comes with the error."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(error, match=match):
            f()
    told = [str(w.message) for w in seen if w.category is UserWarning]
    assert sum("Error detected in" in text for text in told) == 1
    return "".join(told)


def test_a_nan_is_named_with_the_forward_traceback(torch: Any) -> None:
    def f() -> None:
        with torch.autograd.set_detect_anomaly(True):
            makes_nan(zero(torch)).backward()

    told = run(f, RuntimeError, r"Function 'SqrtBackward0' returned nan values in its 0th output\.")
    assert "Error detected in SqrtBackward0. Traceback of forward call that caused the error:" in told
    lines = told.splitlines()
    at = next(k for k, line in enumerate(lines) if "in makes_nan" in line)
    assert 'File "' in lines[at]
    assert "test_anomaly.py" in lines[at]
    assert lines[at + 1].strip() == "return (x.sqrt() * 0.0).sum()"
    assert any("in f" in line for line in lines[:at])  # outermost first


def test_the_position_of_the_output(torch: Any) -> None:
    a, b = torch.tensor([0.0]), torch.tensor([0.0], requires_grad=True)

    def f() -> None:
        with torch.autograd.set_detect_anomaly(True):
            (a / b).sum().backward()

    run(f, RuntimeError, "Function 'DivBackward0' returned nan values in its 1th output")


def test_without_the_check_for_nan(torch: Any, numbers: Any) -> None:
    x = zero(torch)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        makes_nan(x).backward()
    assert str(numbers(x.grad).tolist()) == "[nan, 0.0]"


def test_mode_on_in_backward_only(torch: Any) -> None:
    y = makes_nan(zero(torch))

    def f() -> None:
        with torch.autograd.set_detect_anomaly(True):
            y.backward()

    told = run(f, RuntimeError, "Function 'SqrtBackward0' returned nan values in its 0th output")
    assert "Error detected in SqrtBackward0. No forward pass information available" in told


def test_mode_on_in_forward_only(torch: Any, numbers: Any) -> None:
    x = zero(torch)
    with torch.autograd.set_detect_anomaly(True):
        y = makes_nan(x)
    y.backward()
    assert str(numbers(x.grad).tolist()) == "[nan, 0.0]"


def test_an_error_inside_a_backward_gets_the_same_warning(torch: Any) -> None:
    class Fails(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("mine")

    def f() -> None:
        with torch.autograd.set_detect_anomaly(True):
            Fails.apply(zero(torch)).sum().backward()

    told = run(f, ValueError, "mine")
    assert "Error detected in FailsBackward. Traceback of forward call" in told
    assert "Fails.apply(zero(torch)).sum().backward()" in told


def test_a_function_that_returns_nan(torch: Any) -> None:
    class Mine(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    def f() -> None:
        with torch.autograd.set_detect_anomaly(True):
            Mine.apply(zero(torch)).sum().backward()

    run(f, RuntimeError, r"Function 'MineBackward' returned nan values in its 0th output\.")


def test_an_error_in_a_hook_too(torch: Any) -> None:
    def hook(g: Any) -> None:
        raise ValueError("of the hook")

    def f() -> None:
        with torch.autograd.set_detect_anomaly(True):
            y = zero(torch) * 2.0
            y.register_hook(hook)
            y.sum().backward()

    assert "Error detected in MulBackward0" in run(f, ValueError, "of the hook")


def test_nodes_of_a_double_backward_name_their_parent(torch: Any) -> None:
    def f() -> None:
        with torch.autograd.set_detect_anomaly(True):
            x = zero(torch)
            (g,) = torch.autograd.grad((x**1.5).sum(), x, create_graph=True)
            (g * 0.0).sum().backward()

    told = run(f, RuntimeError, "Function 'PowBackward0' returned nan values")
    assert "Error detected in PowBackward0. Traceback of forward call" in told
    assert "Previous calculation was induced by PowBackward0. Traceback of forward call that induced" in told


def test_detect_anomaly_warns_and_is_restored(torch: Any) -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = torch.autograd.detect_anomaly()
    assert not torch.is_anomaly_enabled()
    with mode:
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()
    with pytest.warns(UserWarning, match="has been enabled"):
        mode = torch.autograd.detect_anomaly(check_nan=False)
    with pytest.raises(ZeroDivisionError), mode:
        1 / torch.is_anomaly_check_nan_enabled()
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (False, True)


def test_set_detect_anomaly_acts_at_once(torch: Any) -> None:
    torch.autograd.set_detect_anomaly(True, False)
    assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_check_nan_enabled()
    with torch.autograd.set_detect_anomaly(False):
        assert not torch.is_anomaly_enabled()
    assert torch.is_anomaly_enabled()
    torch.autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()


def test_gradients_are_the_same(torch: Any, numbers: Any) -> None:
    def f(x: Any) -> Any:
        return (x * x + x[:2].sum() * x[1:].sum() + x.exp()).sum()

    results = []
    for mode in (False, True):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with torch.autograd.set_detect_anomaly(mode):
            f(x).backward()
        results.append(numbers(x.grad).tolist())
    assert results[0] == results[1]


def test_the_name_of_the_module(torch: Any) -> None:
    assert torch.autograd.anomaly_mode.set_detect_anomaly is torch.autograd.set_detect_anomaly
