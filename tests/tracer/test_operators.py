"""Every operator of a Tensor, beside every sort of operand of every dtype, held against NumPy's value, shape and dtype."""

# ruff: noqa: B023  # functions made in a loop are called within it

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "divmod": divmod, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le,
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul, "&=": operator.iand, "|=": operator.ior,
    "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "abs": abs, "~": operator.invert}
DTYPES = (
    "bool", "int8", "uint8", "int64", "float16", "float32", "float64", "longdouble", "complex64", "complex128",
)  # fmt: skip


def array(dtype: str) -> Any:
    return np.array([[3, 1], [2, 4]]).astype(dtype)


OTHERS: dict[str, Any] = {
    "bool": True, "int": 2, "float": 2.0, "complex": 1 + 1j, "a large int": 300, "np.float32": np.float32(2),
    "np.float64": np.float64(2), "np.int8": np.int8(2), "np.complex64": np.complex64(2), "list": [[1, 2], [3, 4]],
    "list of floats": [1.0, 2.0], "tuple": ((1, 2), (3, 4)), "0-d array": np.array(2.0), "row": np.array([[1.0, 2.0]]),
    **{f"{d} array": array(d)[::-1] for d in DTYPES}, **{f"{d} Tensor": array(d)[::-1] for d in DTYPES},
}  # fmt: skip


def outcome(call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return call()
        except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
            return error


def wrong(found: Any, expected: Any) -> str | None:
    """What differs between an outcome with Tensors and NumPy's."""
    if isinstance(expected, Exception):
        return None if isinstance(found, Exception) else f"{expected!r} of NumPy, but {found!r}"
    if isinstance(found, Exception):
        return f"{found!r}, but NumPy gives {expected!r}"
    if isinstance(expected, tuple):
        return next((w for w in map(wrong, found, expected) if w), None)
    if not isinstance(found, gs.Tensor):
        return f"no Tensor but {found!r}"
    value = np.asarray(found.detach())
    if (value.shape, value.dtype) != (expected.shape, expected.dtype):
        return f"{value.dtype}{value.shape}, but NumPy gives {expected.dtype}{expected.shape}"
    same = np.array_equal(value, expected, equal_nan=value.dtype.kind in "fc")
    return None if same else f"{value}, but NumPy gives {expected}"


def tensors(dtype: str) -> Iterator[Any]:
    yield gs.tensor(array(dtype))
    if np.dtype(dtype).kind in "fc":
        yield gs.tensor(array(dtype), requires_grad=True)


def beside(kind: str) -> tuple[Any, Any]:
    """An operand as the Tensor meets it, and as the array meets it."""
    value = OTHERS[kind]
    return (gs.tensor(value) if kind.endswith("Tensor") else value), value


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name: str) -> None:
    op, problems, count = BINARY[name], [], 0
    for dtype in DTYPES:
        for t in tensors(dtype):
            for kind in OTHERS:
                other, plain = beside(kind)
                for order, found, expected in (
                    ("", outcome(lambda: op(t, other)), outcome(lambda: op(array(dtype), plain))),
                    ("reflected ", outcome(lambda: op(other, t)), outcome(lambda: op(plain, array(dtype)))),
                ):
                    count += 1
                    problem = wrong(found, expected)
                    if problem:
                        problems.append(f"{order}{dtype} {name} {kind}: {problem}")
    assert count == 2 * len(OTHERS) * (len(DTYPES) + 6)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(name: str) -> None:
    for dtype in DTYPES:
        for t in tensors(dtype):
            assert wrong(outcome(lambda: UNARY[name](t)), outcome(lambda: UNARY[name](array(dtype)))) is None


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place(name: str) -> None:
    """The value, and that it is in the same memory; where NumPy refuses, so does a Tensor, unchanged."""
    op = IN_PLACE[name]
    for dtype in DTYPES:
        for kind in OTHERS:
            if (
                name == "**="
                and kind in ("float", "np.float32", "np.float64", "0-d array")
                and np.lib.NumpyVersion(np.__version__) < "2.1.0"
            ):
                continue  # NumPy 2.0 squares integers in place where it refuses all else
            other, plain = beside(kind)
            t, a = gs.tensor(array(dtype)), array(dtype)
            memory = t.numpy()
            found, expected = outcome(lambda: op(t, other)), outcome(lambda: op(a, plain))
            assert wrong(found, expected) is None, f"{dtype} {name} {kind}"
            if isinstance(expected, Exception):
                np.testing.assert_array_equal(memory, array(dtype))
            else:
                assert found is t
                np.testing.assert_array_equal(memory, a)


@pytest.mark.parametrize("name", ["+", "-", "*", "/", "**", "@", "%"])
def test_gradients_of_operators_with_mixed_operands(name: str) -> None:
    """The gradient is that of the written function, on whichever side the Tensor stands and whatever is on the other."""
    op = BINARY[name]
    x = np.array([[3.0, 1.5], [2.5, 4.0]])
    kinds = [
        k for k in OTHERS if not (name == "@" and np.ndim(OTHERS[k]) < 1) and "complex" not in k and "Tensor" not in k
    ]
    for kind in kinds:
        other = OTHERS[kind]
        if np.asarray(other).dtype.kind == "b" or (name == "%" and np.asarray(other).dtype == np.float16):
            continue
        for call in (lambda t, other=other: op(t, other), lambda t, other=other: op(other, t)):
            if isinstance(outcome(lambda call=call: call(x)), Exception):  # a large power of a small integer
                continue
            t = gs.tensor(x, requires_grad=True)
            call(t).sum().backward()
            np.testing.assert_allclose(t.grad.numpy(), gs.grad(lambda x, call=call: np.sum(call(x)))(x), rtol=1e-14)
            narrow = np.log(np.ones(1, np.asarray(other).dtype)).dtype != np.float64  # whose logarithm is less precise
            if name != "%" and not (name == "**" and (kind == "a large int" or narrow)):
                gs.check_grads(call, (x,), order=1)


@pytest.mark.parametrize("name", [n for n in BINARY if n != "divmod"])
def test_compiled_operators(name: str) -> None:
    """With Python numbers and arrays on either side, compiled is what eager is."""
    op = BINARY[name]
    whole = name in ("&", "|", "^", "<<", ">>")
    x = array("int64") if whole else array("float64")
    for other in [2, array("int64")] if whole else [2.5, array("float64") + 0.5]:
        if name == "@" and np.ndim(other) == 0:
            continue
        for f in (lambda x, y: op(x, y), lambda x, y: op(y, x)):
            found = gs.compile(f, verify="first calls")(x, other)
            np.testing.assert_array_equal(found, f(x, other))


def test_what_is_no_number_is_not_equal() -> None:
    """A bare Tensor answers as PyTorch's does, a function under a transform as NumPy does."""
    t = gs.tensor([1.0, 2.0])
    for other in (None, "a", object(), Fraction(1, 2)):
        assert (t == other) is False
        assert (t != other) is True
        with pytest.raises(TypeError, match="unsupported operand"):
            t + other
    seen = []
    gs.grad(lambda x: (seen.append((x == None, x != None)), np.sum(x))[1])(np.ones(2))  # noqa: E711
    assert [np.asarray(part).tolist() for part in seen[0]] == [[False, False], [True, True]]


def test_python_numbers_are_weak() -> None:
    for dtype in ("float16", "float32", "int8"):
        t = gs.tensor(array(dtype))
        assert (t + 1).dtype == (2 * t).dtype == (np.add(t, 1)).dtype == np.dtype(dtype)
        assert (t + np.float64(1)).dtype == np.float64
    with pytest.raises(OverflowError):
        gs.tensor([1], dtype=np.int8) + 300
