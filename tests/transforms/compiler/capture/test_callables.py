"""Partials, functions in attributes, methods without source, decorated, nested, and in threads: compiled."""

from __future__ import annotations

import functools
import gc
import pickle
import threading
import types
import warnings
import weakref
from typing import Any

import numpy as np

import gradscribe as gs

from following import Setup, follows, stays_compiled, x
from instances import A, Base, Derived, compiled_through, put

SCALE: Any = 2.0


def setting(**names: Any) -> Setup:
    return lambda: globals().update(names)


def test_partials() -> None:
    w = x(1, 2, 3)
    model = Base()

    def f(w: Any, a: Any, *, k: Any = 1.0) -> Any:
        return np.sum(a * w) * k

    bound = functools.partial(f, w, k=2.0)
    found = compiled_through(bound, lambda: w.fill(1.0), lambda: w.fill(3.0))
    assert found.captures == 1
    compiled_through(bound, lambda: bound.keywords.update(k=2.0), lambda: bound.keywords.update(k=x(3)[0]))
    compiled_through(functools.partial(model.loss), put(model, k=2.0), put(model, k=3.0), put(model, w=x(1)))
    compiled_through(functools.partial(f, model.w, k=4.0), None)
    compiled_through(lambda a: bound(a) + 1, lambda: bound.keywords.update(k=2.0), lambda: bound.keywords.update(k=5.0))
    open_ended = functools.partial(lambda a, **rest: np.sum(a) * (1 + len(rest)) + sum(rest.values()), k=1.0)
    more = lambda: open_ended.keywords.update(other=2.0)
    compiled_through(open_ended, lambda: open_ended.keywords.pop("other", None), more)
    params = {"w": w}
    compiled_through(
        functools.partial(lambda p, a: np.sum(p["w"] * a), params),
        lambda: params.update(w=w),
        lambda: params.update(w=x(1)),
    )
    stored = types.SimpleNamespace(f=bound, m=model.loss)
    compiled_through(
        lambda a: stored.f(a) * stored.m(a), put(stored, f=bound, m=model.loss), put(stored, f=functools.partial(f, x(4, 4, 4))),
        put(stored, m=Derived().loss), put(stored, m=np.sum), put(stored, m=lambda a: a[0]),
    )  # fmt: skip


def test_functions_in_attributes() -> None:
    class Layer:
        act: Any = np.tanh

        def __init__(self, act: Any) -> None:
            self.act = act

        def loss(self, a: Any) -> Any:
            return np.sum(self.act(a))

    layer = Layer(np.tanh)
    compiled_through(
        layer.loss, put(layer, act=np.tanh), put(layer, act=np.sin), put(layer, act=np.exp),
        put(layer, act=lambda a: a * SCALE), put(layer, act=Base()), lambda: vars(layer).pop("act", None),
    )  # fmt: skip


# Without source; nested; decorated; in threads ----------------------------------------------------------------------


def test_without_source() -> None:
    space: dict[str, Any] = {"np": np, "K": 2.0}
    exec(
        "class M:\n    def __init__(self): self.w = np.array([1.0, 2.0, 3.0])\n"
        "    def loss(self, a): return self.total(a * self.w) * K\n"
        "    def total(self, a): return a.sum()\n"
        "f = lambda a, scale=3.0: (a * a).sum() * scale * K\n",
        space,
    )
    for name in ("M",):
        space[name].__module__ = "somewhere"
    model = space["M"]()
    compiled_through(model.loss, put(model, w=x(1, 2, 3)), put(model, w=x(1)), lambda: space.update(K=3.0))
    compiled_through(space["f"], lambda: space.update(K=2.0), lambda: space.update(K=3.0))


def test_nested_compiled_functions_and_transforms() -> None:
    model = Base()
    inner = gs.compile(model.loss)
    slope = gs.grad(model.loss)
    compiled_through(
        lambda a: inner(a) + np.sum(slope(a) ** 2),
        put(model, k=2.0),
        put(model, k=3.0),
        put(model, w=x(1)),
        put(model, w=x(3, 4, 5)),
    )

    class Trained:
        def __init__(self) -> None:
            self.w = x(1, 2, 3)

        def error(self, w: Any, a: Any) -> Any:
            return np.sum((a * w - self.w) ** 2)

        def step(self, a: Any) -> Any:
            return self.w - 0.1 * gs.grad(self.error)(self.w, a)

        def loss(self, a: Any) -> Any:
            return np.sum(self.step(a))

    trained = Trained()
    found = follows(
        trained.step, *[(put(trained, w=x(*v)), (A,)) for v in ((1, 2, 3), (4, 5, 6))], transform=lambda f: f
    )
    stays_compiled(found)
    assert found.captures == 1
    compiled_through(trained.loss, put(trained, w=x(1, 2, 3)), put(trained, w=x(4, 5, 6)), put(trained, w=x(4)))


def test_a_training_loop_around_a_method() -> None:
    class Line:
        def __init__(self) -> None:
            self.w = np.zeros(3)

        def loss(self, w: Any, a: Any) -> Any:
            return np.mean((a @ w - 1.0) ** 2) + 0.1 * np.sum(self.w * w)

    line, plain = Line(), Line()
    slope = gs.compile(gs.grad(line.loss))
    a = np.arange(12.0).reshape(4, 3)
    for _ in range(20):
        line.w = line.w - 0.01 * slope(line.w, a)
        plain.w = plain.w - 0.01 * gs.grad(plain.loss)(plain.w, a)
        np.testing.assert_array_equal(line.w, plain.w)
    assert len(slope._texts) == 1


def test_decorated_methods() -> None:
    class Model:
        def __init__(self, k: float) -> None:
            self.k = k

        @gs.compile
        def loss(self, a: Any) -> Any:
            return np.sum(a * a) * self.k

        @gs.compile
        @functools.partial(gs.grad, argnums=1)
        def slope(self, a: Any) -> Any:
            return self.loss(a) * self.k

    for model in (Model(2.0), Model(3.0)):
        for k in (4.0, 5.0):
            model.k = k
            for _ in range(3):
                assert model.loss(A) == np.sum(A * A) * k
                np.testing.assert_allclose(model.slope(A), 2 * A * k * k)
    assert len(Model.__dict__["loss"]._texts) == 2


def test_a_compiled_method_does_not_keep_other_objects_alive() -> None:
    model = Base()
    compiled = gs.compile(model.loss)
    compiled(A), compiled(A + 1), compiled(A + 2)
    gone = weakref.ref(model)
    del model, compiled
    gc.collect()
    assert gone() is None


def test_threads() -> None:
    models = [Base(x(1, 2, 3) * k, float(k)) for k in range(1, 5)]
    shared = gs.compile(gs.value_and_grad(lambda a, m: m.loss(a)))
    wrong: list[Any] = []

    def work(model: Base) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = gs.compile(gs.value_and_grad(model.loss))
            for k in range(30):
                a = A + k
                expected = _bits(gs.value_and_grad(model.loss)(a))
                if _bits(own(a)) != expected or _bits(shared(a, model)) != expected:
                    wrong.append((model, k))

    threads = [threading.Thread(target=work, args=(model,)) for model in models * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_compiled_methods_pickle() -> None:
    compiled = gs.compile(Base().loss)
    compiled(A)
    assert pickle.loads(pickle.dumps(compiled))(A) == compiled(A)


def _bits(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_bits(v) for v in value])
    return type(value), value.dtype, np.asarray(value).tobytes()
