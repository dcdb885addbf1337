"""Guards in C and in Python decide the same; what the extension holds goes with the function."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.driver.guards import quick
from gradscribe.transforms.compiler.driver.guards.guards import same

SCALE: Any = 2.0
TABLE: Any = {"a": np.ones(3), "b": 2.0}
LIST: Any = [np.ones(3), np.full(3, 2.0)]

needs_extension = pytest.mark.skipif(quick.ENTRY is None, reason="the extension was not built")


class Model:
    """Something that holds what a method reads."""

    def __init__(self) -> None:
        self.w, self.k, self.flag = np.ones(3), 1.5, True

    def loss(self, x: Any, *, power: int = 2) -> Any:
        return np.sum((self.w * x) ** power) * self.k * (SCALE if self.flag else 1.0)


@pytest.fixture(params=["in C", "in Python"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where guards run."""
    if request.param == "in Python":
        monkeypatch.setattr(quick, "ENTRY", None)
    elif quick.ENTRY is None:
        pytest.skip("the extension was not built")
    return str(request.param)


def held_to(compiled: Any, eager: Any, *args: Any, **kwargs: Any) -> None:
    for _ in range(3):
        np.testing.assert_array_equal(compiled(*args, **kwargs), eager(*args, **kwargs))


@pytest.mark.parametrize("target", ["numpy", pytest.param("native", marks=pytest.mark.slow)])
def test_what_is_read_from_outside_is_guarded(where: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()
    cell = 3.0

    def f(x: Any) -> Any:
        return model.loss(x) + np.sum(TABLE["a"] * LIST[0] * x) * TABLE["b"] * cell

    eager = gs.grad(f)
    compiled = gs.compile(eager, target=target)
    x = np.arange(3.0)
    held_to(compiled, eager, x)
    model.w = np.full(3, 4.0)
    held_to(compiled, eager, x)
    model.w = np.full(3, 4.0, dtype=np.float32)
    held_to(compiled, eager, x)
    model.w, model.k = np.full(3, 4.0), 2.5
    held_to(compiled, eager, x)
    model.k = -0.0
    held_to(compiled, eager, x)
    model.k = 0.0
    held_to(compiled, eager, x)
    model.flag = False
    held_to(compiled, eager, x)
    monkeypatch.setitem(TABLE, "b", 5.0)
    held_to(compiled, eager, x)
    monkeypatch.setitem(TABLE, "a", np.full(3, 7.0))
    held_to(compiled, eager, x)
    LIST[0] = np.full(3, 8.0)
    held_to(compiled, eager, x)
    LIST[0] = np.ones(3)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 11.0)
    held_to(compiled, eager, x)
    cell = 9.0
    held_to(compiled, eager, x)
    del model.flag
    with pytest.raises(AttributeError):
        compiled(x)


@pytest.mark.parametrize("part", range(4))
def test_arguments_are_guarded(where: str, part: int) -> None:
    def f(x: Any, y: Any, *, k: Any, name: str) -> Any:
        return np.sum(x * y["a"][0]) * k if name == "sum" else np.max(x) * k

    compiled = gs.compile(f, max_specialisations=1000)
    x = np.arange(6.0)
    layouts: list[Any] = [
        x,
        x[::2],
        x[::-1],
        x.astype("f4"),
        np.arange(6),
        x.reshape(2, 3),
        x.reshape(2, 3).T,
        np.array(2.0),
    ]
    numbers: list[Any] = [2.0, np.float64(2.0), 2, True, np.float32(2.0), np.nan, 3]
    for given, k, name in itertools.product(layouts[part::4], numbers, ("sum", "max")):
        for kwargs in ({"k": k, "name": name}, {"name": name, "k": k}):
            found, expected = compiled(given, {"a": [2.0]}, **kwargs), f(given, {"a": [2.0]}, **kwargs)  # type: ignore[arg-type]
            assert type(found) is type(expected)
            np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError):
        compiled(x)
    with pytest.raises(KeyError):
        compiled(x, {"b": [2.0]}, k=1.0, name="sum")


def test_many_threads_call_while_what_is_read_changes(where: str) -> None:
    space = types.SimpleNamespace(w=np.ones(4), k=1.0)

    def f(x: Any) -> Any:
        return np.sum(x * space.w) * 0.0 + np.sum(x)

    compiled = gs.compile(f)
    x = np.arange(4.0)
    for _ in range(3):
        compiled(x)
    wrong: list[Any] = []

    def call() -> None:
        wrong.extend(found for _ in range(300) if (found := compiled(x)) != 6.0)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for one in threads:
        one.start()
    for k in range(300):
        space.w = np.full(4, float(k))
    for one in threads:
        one.join()
    assert wrong == []


@needs_extension
def test_the_extension_decides_as_python_does() -> None:
    space = {
        "_type": type, "_same": same, "_len": len, "_d": {"k": 3}, "_a": np.ones(3), "_nan": float("nan"), "_ndarray": np.ndarray,
        "_f8": np.dtype("f8"), "_m": types.SimpleNamespace(v=4),
    }  # fmt: skip
    values: list[Any] = [
        1,
        1.0,
        -0.0,
        float("nan"),
        np.ones(3),
        np.ones((3, 1)),
        np.ones(3)[::-1],
        [1, 2],
        {"k": 3},
        None,
        "k",
    ]
    values.append(np.ones(3, dtype=np.dtype("f8", metadata={"a": 1})))
    texts = [
        "_type(x) is _type(y)", "x is y", "x is not y", "_same(x, _nan)", "_d.get('k') == x", "_d.get('j') is x", "_m.v == 4",
        "_type(x) is _ndarray and x.dtype == _f8 and x.shape == (3,) and x.strides == (8,)",
        "_type(x) is _ndarray and x.dtype == _f8 and x.shape == (3,) and x.strides == (-8,)",
        "_type(x) is _ndarray and x.dtype == _f8 and x.shape == (3, 1) and x.strides == (8, 8)",
        "_len(x) == 2", "x[0] == 1", "not x", "x is None or y is None", "'k' not in _d and x is y", "_m.missing is x", "(x, y)",
    ]  # fmt: skip
    for text in texts:
        made = quick.quick(text, ("x", "y"), 1, space, same)
        assert made is not None, text
        plain = eval(f"lambda x, *, y: {text if text == '(x, y)' else f'bool({text})'}", space)
        for x, y in itertools.product(values, values):
            outcomes: list[Any] = []
            for function in (plain, made):
                try:
                    outcomes.append(function(x, y=y))
                except Exception as error:
                    outcomes.append((type(error), str(error)))
            if text == "(x, y)":
                assert all(a is b for a, b in zip(*outcomes, strict=True))
            else:
                assert outcomes[0] == outcomes[1], (text, x, y)
    for args, kwargs in (((), {}), ((1,), {}), ((1, 2), {}), ((1,), {"z": 2}), ((1, 2), {"y": 3})):
        assert made is not None
        assert made(*args, **kwargs) is False  # another call than it was made for
    assert quick.quick("x + 1", ("x",), 1, space, same) is None
    assert quick.quick("f(x)", ("x",), 1, space, same) is None


@needs_extension
def test_malformed_forms_raise() -> None:
    tree: Any = quick.ENTRY.Tree
    for form in (
        ("arg", 3),
        ("arg", -1),
        ("none", 1),
        (),
        "arg",
        ("is", ("arg", 0)),
        ("layout", ("arg", 0), 1, (1,), ()),
        ("item",),
    ):
        with pytest.raises((ValueError, TypeError)):
            tree(form, 1, (), np.ndarray, same)


@needs_extension
def test_nothing_is_leaked() -> None:
    class Held:
        pass

    held, name = Held(), "an attribute of some length"
    setattr(held, name, np.ones(3))
    space: dict[str, Any] = {"_h": held, "_n": name}
    made = quick.quick("(_h.__dict__[_n], x)", ("x",), 1, space, same)
    reads = quick.quick("(_h.__dict__[_n],)", (), 0, space, same)
    assert made is not None
    x = np.ones(2)
    function = quick.joined(lambda *args: len(args), reads)
    assert function is not None
    array = getattr(held, name)
    before = sys.getrefcount(array), sys.getrefcount(x), sys.getrefcount(None)
    for _ in range(1000):
        made(x)
        assert function(x) == 2
        with pytest.raises(TypeError):
            function(x, key=1)
    after = sys.getrefcount(array), sys.getrefcount(x), sys.getrefcount(None)
    assert all(b - a < 100 for a, b in zip(before, after, strict=True))
    held.tree = made  # type: ignore[attr-defined]  # a circle
    gone = weakref.ref(held)
    del held, made, reads, function, space
    gc.collect()
    assert gone() is None
