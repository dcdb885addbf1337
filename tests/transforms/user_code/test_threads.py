"""Code that a function runs in other threads, and objects that give arrays by methods of their own."""

from __future__ import annotations

import asyncio
import math
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np
import pytest

import gradscribe as gs


def work(t: Any) -> Any:
    """Uses of a number that mean another thing for a bare Tensor: a shared one in place, writes, `float`, `math`."""
    shared = [t] * 3
    shared[1] *= 2.0
    z = np.zeros(2)
    z[0] = t
    z[1] += math.exp(t)
    first = z[0]
    first *= 3.0
    return sum(shared) + float(t) ** 2 + z.sum() + first


def of_a_thread(t: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work(t)))
    thread.start()
    thread.join()
    return found[0] * 1.0


def of_a_target_by_position(t: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(None, lambda s: found.append(work(s)), args=(t,))
    thread.start()
    thread.join()
    return found[0] * 1.0


def of_a_timer(t: Any) -> Any:
    found: list[Any] = []
    timer = threading.Timer(0.001, lambda s: found.append(work(s)), [t])
    timer.start()
    timer.join()
    return found[0] * 1.0


class Worker(threading.Thread):
    def __init__(self, t: Any) -> None:
        super().__init__()
        self.t = t

    def run(self) -> None:
        self.found = work(self.t)


def of_a_class(t: Any) -> Any:
    worker = Worker(t)
    worker.start()
    worker.join()
    return worker.found * 1.0


def of_executors(t: Any) -> Any:
    with ThreadPoolExecutor(2) as pool:
        return pool.submit(work, t).result() + sum(pool.map(work, [t, 2.0 * t]))


def of_a_thread_pool(t: Any) -> Any:
    with ThreadPool(2) as pool:
        return sum(pool.map(work, [t, 2.0 * t])) + pool.apply(work, (t,)) + pool.starmap_async(work, [(t,)]).get()[0]


def of_asyncio(t: Any) -> Any:
    async def both() -> Any:
        return await asyncio.to_thread(work, t) + await asyncio.get_running_loop().run_in_executor(None, work, 2.0 * t)

    return asyncio.run(both())


POOL: list[ThreadPoolExecutor] = []
JOBS: queue.Queue[tuple[Future[Any], Callable[..., Any], Any] | None] = queue.Queue()


@pytest.fixture(autouse=True)
def own_threads() -> Iterator[None]:
    """A pool, and a thread of its own that takes jobs, which both began before any transform."""

    def serve() -> None:
        while (job := JOBS.get()) is not None:
            future, function, argument = job
            try:
                future.set_result(function(argument))
            except BaseException as error:
                future.set_exception(error)

    thread = threading.Thread(target=serve)
    thread.start()
    with ThreadPoolExecutor(1) as pool:
        POOL[:] = [pool]
        yield
    JOBS.put(None)
    thread.join()


def of_a_pool_that_was_there(t: Any) -> Any:
    return POOL[0].submit(work, t * 1.0).result()


def shares(y: Any) -> Any:
    first = y[0]
    first *= 2.0
    pair = [y[1]] * 2
    pair[0] += 1.0
    return y.sum() + first + pair[1] * 3.0


def of_a_thread_that_was_there(t: Any) -> Any:
    future: Future[Any] = Future()
    JOBS.put((future, shares, t * np.ones(3)))
    return future.result()


THREADED = [
    of_a_thread, of_a_target_by_position, of_a_timer, of_a_class, of_executors, of_a_thread_pool, of_asyncio,
    of_a_pool_that_was_there, of_a_thread_that_was_there,
]  # fmt: skip


def hold(function: Any, at: float = 1.5) -> None:
    step = 1e-6
    slope = (function(at + step) - function(at - step)) / (2 * step)
    for transformed in (gs.value_and_grad(function), gs.compile(gs.value_and_grad(function))):
        for _ in range(3):
            value, gradient = transformed(at)
            assert value == pytest.approx(function(at), rel=1e-14)
            assert gradient == pytest.approx(slope, rel=1e-7)


@pytest.mark.filterwarnings("ignore:gs.compile")
@pytest.mark.parametrize("function", THREADED, ids=lambda f: f.__name__)
def test_code_in_another_thread_means_there_what_numpy_makes_it_mean(function: Any) -> None:
    hold(function)


@pytest.mark.filterwarnings("ignore:gs.compile")
def test_a_thread_of_a_pool_is_left_as_it_was() -> None:
    gs.grad(of_a_pool_that_was_there)(1.5)
    t = gs.tensor(2.0, requires_grad=True)

    def outside() -> bool:
        return isinstance((t * 3.0)[...], gs.Tensor) and gs.is_grad_enabled()

    assert POOL[0].submit(outside).result()
    gs.grad(lambda x: x * 1.0)(1.0)
    (POOL[0].submit(lambda: t * 3.0).result()).backward()
    assert t.grad == 3.0


def test_no_grad_holds_in_the_threads_that_begin_in_it() -> None:
    def f(t: Any) -> Any:
        with gs.no_grad(), ThreadPoolExecutor(1) as pool:
            known = pool.submit(lambda: t * t).result()
        return known * t

    assert gs.grad(f)(3.0) == 9.0


class AsArray:
    def __init__(self, t: Any) -> None:
        self.t = t

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.t, dtype=dtype)


class AsNumber:
    def __init__(self, t: Any) -> None:
        self.t = t

    def __float__(self) -> Any:
        return float(self.t)


class AsMemory:
    def __init__(self, t: Any) -> None:
        self.t = t

    @property
    def __array_interface__(self) -> Any:
        return np.asarray(self.t).__array_interface__


OWN_ARRAYS = {
    "asarray": lambda t: np.asarray(AsArray(t)) * t,
    "asanyarray": lambda t: np.asanyarray(AsArray(t)) * t,
    "array of a dtype": lambda t: np.array(AsArray(t), dtype=float) * t,
    "rows": lambda t: np.array([AsArray([t, 4.0]), [1.0, t]]).sum() * t,
    "numbers": lambda t: np.array([AsNumber(t), 2.0], dtype=float).sum() * t,
    "objects": lambda t: len(np.array([AsNumber(t), 2.0], dtype=object)) * t,
}


@pytest.mark.parametrize("function", OWN_ARRAYS.values(), ids=list(OWN_ARRAYS))
def test_an_array_of_an_object_is_made_by_its_own_method(function: Any) -> None:
    hold(function)


TAKEN = {
    "sum": lambda t: np.sum(AsArray(t)),
    "sin": lambda t: np.sin(AsArray(t)),
    "copyto": lambda t: np.copyto(np.zeros(2), AsArray(t)) or t,
    "__array_interface__": lambda t: np.asarray(AsMemory(t)) * 1.0,
}


@pytest.mark.filterwarnings("ignore:gs.compile")
@pytest.mark.parametrize("function", TAKEN.values(), ids=list(TAKEN))
def test_where_numpy_itself_takes_the_array_of_an_object_no_handler_hides_it(function: Any) -> None:
    def f(t: Any) -> Any:
        try:
            return function(t)
        except Exception:
            return t * 0.25

    for transformed in (gs.grad(f), gs.compile(gs.grad(f))):
        for _ in range(3):
            with pytest.raises(gs.GradientLossError):
                transformed(1.5)
