"""Layouts, kinds of arrays and modes: what a specialisation assumes of them holds on the very next call, or a warning says so."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.transforms.compiler.driver.specialise import difference

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")

BASE = np.random.default_rng(0).normal(size=(12, 16))


class Own(np.ndarray[Any, Any]):
    """A subclass that adds differently."""

    def __add__(self, other: Any) -> Any:
        return np.asarray(self) - np.asarray(other)


def unaligned() -> Any:
    made = np.empty(6 * 4 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(6, 4)
    made[...] = BASE[:6, :4]
    return made


def read_only() -> Any:
    made = BASE[:6, :4].copy()
    made.flags.writeable = False
    return made


ARRAYS: dict[str, Callable[[], Any]] = {
    "rows": lambda: BASE[:6, :4].copy(),
    "columns": lambda: np.asfortranarray(BASE[:6, :4]),
    "transposed": lambda: BASE[:4, :6].copy().T,
    "rows backwards": lambda: BASE[:6, :4].copy()[::-1],
    "columns backwards": lambda: BASE[:6, :4].copy()[:, ::-1],
    "every second": lambda: BASE[::2, ::4],
    "part of a larger one": lambda: BASE[:6, :4],
    "repeated": lambda: np.broadcast_to(BASE[0, :4], (6, 4)),
    "overlapping itself": lambda: np.lib.stride_tricks.sliding_window_view(BASE[0, :9].copy(), 4),
    "unaligned": unaligned,
    "read only": read_only,
    "float32": lambda: BASE[:6, :4].astype(np.float32),
    "float16": lambda: BASE[:6, :4].astype(np.float16),
    "long double": lambda: BASE[:6, :4].astype(np.longdouble),
    "complex": lambda: BASE[:6, :4] + 1j * BASE[6:, :4],
    "integers": lambda: np.arange(24).reshape(6, 4),
    "booleans": lambda: BASE[:6, :4] > 0,
    "other byte order": lambda: BASE[:6, :4].astype(np.dtype(np.float64).newbyteorder()),
    "objects": lambda: BASE[:6, :4].astype(object),
    "matrix": lambda: np.matrix(BASE[:6, :4]),
    "masked": lambda: np.ma.masked_less(BASE[:6, :4], 0),
    "own subclass": lambda: BASE[:6, :4].copy().view(Own),
    "memory map": lambda: BASE[:6, :4].copy().view(np.memmap),
    "a list": lambda: [list(map(float, row)) for row in BASE[:6, :4]],
}


def reads(x: Any) -> Any:
    y = np.sin(np.asarray(x) + 1) if isinstance(x, list) else np.sin(x + 1)
    return y @ y.T + np.sum(y, axis=1)


def takes_apart(x: Any) -> Any:
    return np.sum(x.reshape(-1)[3:] * 2) * x.ravel()[0] if hasattr(x, "ravel") else 0.0


def gives_back(x: Any) -> Any:
    return (x.T, x[::-1]) if hasattr(x, "T") else x


def outcome(function: Any, *args: Any, **options: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(*args, **options)
    except (TypeError, ValueError, AttributeError, RuntimeError, np.exceptions.AxisError) as error:
        return error


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, Exception):
        assert type(found) is type(expected), (found, expected)
    elif isinstance(expected, np.ma.MaskedArray) or getattr(getattr(expected, "dtype", None), "kind", "") == "O":
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
    else:
        assert not isinstance(found, Exception), found
        assert difference(found, expected) is None, difference(found, expected)


def warned_at_most_once(compiled: Any, plain: Any, rows: list[tuple[Any, ...]]) -> None:
    """Each of these calls gives what eager gives, and there is but one warning of ours for each reason."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", gs.EagerWarning)
        warnings.filterwarnings("ignore", category=PendingDeprecationWarning)
        for args in rows:
            arrays = [
                a.view(np.ndarray) if type(a) is np.memmap else a for a in args
            ]  # which compiled functions take it for
            same(outcome(compiled, *args), outcome(plain, *arrays))
    said = [str(w.message) for w in caught if issubclass(w.category, gs.EagerWarning)]
    assert len(said) == len(set(said))


@pytest.mark.parametrize("function", [reads, takes_apart, gives_back])
@pytest.mark.parametrize("first", ARRAYS)
def test_every_kind_of_array_after_every_other(function: Any, first: str) -> None:
    compiled = gs.compile(function, max_specialisations=64, verify="first calls")
    rows = [(make(),) for name in ARRAYS for make in (ARRAYS[first], ARRAYS[first], ARRAYS[name])]
    warned_at_most_once(compiled, function, rows)


@pytest.mark.parametrize("first", ["rows", "columns", "rows backwards", "part of a larger one", "float32"])
def test_gradients_in_every_layout(first: str) -> None:
    plain = gs.value_and_grad(lambda x: np.sum(reads(x)))
    compiled = gs.compile(plain, max_specialisations=64, verify="first calls")
    names = [n for n in ARRAYS if n not in ("objects", "matrix", "masked", "own subclass", "a list")]
    rows = [(make(),) for name in names for make in (ARRAYS[first], ARRAYS[name], ARRAYS[first])]
    warned_at_most_once(compiled, plain, rows)


SCALARS = [2.0, 2, True, np.float64(2), np.float32(2), np.int64(2), np.array(2.0), np.array(2.0, np.float32), np.array(2),
           np.array([2.0]), 2 + 0j, np.complex64(2), np.array(2j), float("nan"), -0.0, np.float16(2)]  # fmt: skip


def test_numbers_and_arrays_without_axes() -> None:
    def f(x: Any, s: Any) -> Any:
        return x * s, s + 1, s, np.add(s, s), np.multiply(x[0], s)

    compiled = gs.compile(f, max_specialisations=64, verify="first calls")
    x = np.arange(3, dtype=np.float32)
    warned_at_most_once(compiled, f, [(x, s) for a, b in itertools.permutations(SCALARS, 2) for s in (a, b)])


def overlaps() -> list[tuple[Any, Any]]:
    """Two vectors apart, the same, overlapping to the left and right, backwards, and of two dtypes in one memory."""
    z = np.arange(12.0) / 7
    return [
        (z[:6].copy(), z[6:].copy()), (z[:6], z[6:]), (z[:6], z[:6]), (z[:6], z[1:7]), (z[1:7], z[:6]), (z[:6], z[5::-1]),
        (z[::2], z[1::2]), (z[:6], z[:6].view(np.int64)), (z[:6], np.broadcast_to(z[:1], (6,))),
    ]  # fmt: skip


def reads_both(x: Any, y: Any) -> Any:
    return np.sin(x) @ np.cos(y), x + y


def writes_the_first(x: Any, y: Any) -> Any:
    x[1:4] = x[1:4] * 2 + y[0]
    return np.sum(x * y)


def writes_over(x: Any, y: Any) -> Any:
    x += y
    return x * 1, y * 2


def writes_into_a_view(x: Any, y: Any) -> Any:
    v = x[::2]
    v *= 3
    return v + y[::2], np.sum(x)


def writes_into_a_copy(x: Any, y: Any) -> Any:
    z = x.copy()
    z[:3] = y[:3]
    z += y
    return z


@pytest.mark.parametrize(
    "function", [reads_both, writes_the_first, writes_over, writes_into_a_view, writes_into_a_copy]
)
@pytest.mark.parametrize("first", range(9))
def test_overlapping_arguments(function: Any, first: int) -> None:
    compiled = gs.compile(function)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*runs eagerly", gs.EagerWarning)
        for k in range(9):
            for which in (first, first, k, first):
                ours, plain = overlaps()[which], overlaps()[which]
                same(outcome(compiled, *ours), outcome(function, *plain))
                for a, b in zip(ours, plain, strict=True):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("transform", [lambda f: f, gs.value_and_grad, lambda f: gs.grad(gs.grad(f))])
def test_a_mode_around_the_call(transform: Any) -> None:
    plain = transform(lambda x: x * x * x if getattr(x, "ndim", 0) == 0 else np.sum(x**3))
    compiled = gs.compile(plain, verify="first calls")
    modes = [gs.enable_grad, gs.no_grad, gs.inference_mode, gs.no_grad, gs.enable_grad]
    for mode in modes * 2:
        with mode():
            same(outcome(compiled, 1.5), outcome(plain, 1.5))
        same(outcome(compiled, -0.5), outcome(plain, -0.5))


def test_modes_inside_follow_arguments() -> None:
    def f(x: Any, stop: bool) -> Any:
        with gs.set_grad_enabled(not stop):
            y = np.sin(x)
        return np.sum(y * x)

    plain = gs.grad(f)
    compiled = gs.compile(plain, verify="first calls")
    for stop in (False, True, True, False, True):
        same(outcome(compiled, BASE[0], stop), outcome(plain, BASE[0], stop))


def test_arrays_from_outside_in_every_layout() -> None:
    held = {"x": ARRAYS["rows"]()}
    f = lambda w: np.sum(np.asarray(held["x"]) @ w)
    plain, w = gs.grad(f), BASE[0, :4].copy()
    compiled = gs.compile(plain, max_specialisations=64)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*runs eagerly", gs.EagerWarning)
        for name in ARRAYS:
            for make in (ARRAYS["rows"], ARRAYS[name]):
                held["x"] = make()
                same(outcome(compiled, w), outcome(plain, w))


def test_a_column_made_by_none_is_not_taken_for_written() -> None:
    compiled = gs.compile(gs.grad(lambda w, x: np.sum(np.tanh(x @ w))))
    columns = [np.linspace(-k, 2.0, 5)[:, None] for k in (1.0, 2.0, 3.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in columns:
            w = np.full((1, 3), x[0, 0])
            assert np.array_equal(compiled(w, x), gs.grad(lambda w, x: np.sum(np.tanh(x @ w)))(w, x))
    assert sum(compiled.hits().values()) == 2
