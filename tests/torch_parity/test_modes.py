"""Grad modes: context managers, decorators, generators, threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest


def on(torch: Any) -> bool:
    return bool(torch.is_grad_enabled())


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode"])
def test_a_mode_holds_in_its_block_and_is_restored_after_an_error(torch: Any, name: str) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    wanted = name == "enable_grad"
    for before in (True, False):
        with torch.set_grad_enabled(before):
            with getattr(torch, name)():
                assert on(torch) is wanted
                assert (x * 2).requires_grad is wanted
            assert on(torch) is before
            with pytest.raises(ZeroDivisionError), getattr(torch, name)():
                1 / 0
            assert on(torch) is before


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode"])
@pytest.mark.parametrize("parentheses", [True, False])
def test_decorators(torch: Any, name: str, parentheses: bool) -> None:
    mode = getattr(torch, name)

    def asks(a: int, *, b: int = 2) -> Any:
        """What it says."""
        return on(torch), a, b

    made = mode()(asks) if parentheses else mode(asks)
    for before in (True, False):
        with torch.set_grad_enabled(before):
            assert made(1, b=3) == (name == "enable_grad", 1, 3)
            assert on(torch) is before
    assert (made.__name__, made.__doc__) == ("asks", "What it says.")


def test_set_grad_enabled_acts_at_once(torch: Any) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    try:
        torch.set_grad_enabled(False)
        assert not on(torch)
        assert not (x * 2).requires_grad
    finally:
        torch.set_grad_enabled(True)
    assert (x * 2).requires_grad


def test_set_grad_enabled_as_context_manager(torch: Any) -> None:
    with torch.set_grad_enabled(False):
        assert not on(torch)
        with torch.set_grad_enabled(True):
            assert on(torch)
        assert not on(torch)
    assert on(torch)
    mode = torch.set_grad_enabled(False)
    assert not on(torch)
    with mode:
        assert not on(torch)
    assert on(torch)


def test_set_grad_enabled_as_decorator_leaves_the_mode_alone(torch: Any) -> None:
    @torch.set_grad_enabled(False)
    def asks() -> bool:
        return on(torch)

    assert on(torch)
    assert asks() is False
    assert on(torch)


def test_inference_mode_can_be_switched_off(torch: Any) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    with torch.no_grad(), torch.inference_mode(False):  # which switches grad mode on
        assert on(torch)
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled()
        with torch.inference_mode(mode=False):
            assert not torch.is_inference_mode_enabled()
            assert (x * 2).requires_grad
            assert not (x * 2).is_inference()
        assert torch.is_inference_mode_enabled()
    assert not torch.is_inference_mode_enabled()


def test_enable_grad_inside_inference_mode_is_on_by_name_only(torch: Any) -> None:
    x = torch.tensor([1.0], requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        assert on(torch)
        assert not (x * 2).requires_grad


def test_the_mode_is_swapped_at_every_yield(torch: Any) -> None:
    seen: list[Any] = []

    @torch.no_grad()
    def steps() -> Iterator[Any]:
        try:
            got = yield on(torch)
            seen.append((got, on(torch)))
            try:
                yield on(torch)
            except KeyError:
                seen.append(("thrown", on(torch)))
            yield on(torch)
            yield on(torch)
        finally:
            seen.append(("closed", on(torch)))

    g: Any = steps()
    assert next(g) is False
    assert on(torch)
    assert g.send("sent") is False
    assert on(torch)
    assert g.throw(KeyError("k")) is False
    assert on(torch)
    g.close()
    assert on(torch)
    assert seen == [("sent", False), ("thrown", False), ("closed", False)]


def test_a_generator_sees_its_own_mode_whatever_the_callers_is(torch: Any) -> None:
    @torch.enable_grad()
    def steps() -> Iterator[Any]:
        yield on(torch)
        yield on(torch)
        return "result"

    def result() -> Any:
        got = yield from steps()
        yield got

    with torch.no_grad():
        g = result()
        assert next(g) is True
        assert not on(torch)
    assert list(g) == [True, "result"]


def test_a_decorated_class_makes_its_instances_in_the_mode(torch: Any) -> None:
    class Asks:
        def __init__(self) -> None:
            self.made = on(torch)

        def later(self) -> bool:
            return on(torch)

    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        made = torch.no_grad()(Asks)
    found = made()
    assert (found.made, found.later()) == (False, True)


def test_modes_belong_to_the_thread(torch: Any) -> None:
    found: list[Any] = []

    def work() -> None:
        found.append((on(torch), torch.is_inference_mode_enabled()))
        torch.set_grad_enabled(False)

    with torch.inference_mode():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [(True, False)]
    assert on(torch)


def test_the_names_under_autograd(torch: Any) -> None:
    for name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
        assert getattr(torch.autograd, name) is getattr(torch, name)
        assert getattr(torch.autograd.grad_mode, name) is getattr(torch, name)
