"""The table "What differs" of docs/torch.md: each of its rows is what the two libraries do, PyTorch where it is installed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from house import ROOT

Program = Callable[[Any], Any]
ROWS: dict[str, list[tuple[Program, Any, Any]]] = {}  # words of a row -> programs, with PyTorch's outcome and ours


def row(words: str, theirs: Any, ours: Any) -> Callable[[Program], Program]:
    """Note a program of a row; an outcome that is an exception's class is raised."""

    def note(program: Program) -> Program:
        ROWS.setdefault(words, []).append((program, theirs, ours))
        return program

    return note


def leaf(torch: Any, values: Any = (1.0, 2.0)) -> Any:
    return torch.tensor(values if isinstance(values, float) else list(values), requires_grad=True)


def slopes(torch: Any, function: Callable[[Any], Any], values: Any = (1.0, 2.0)) -> list[Any]:
    x = leaf(torch, values)
    function(x).sum().backward()
    return [round(v, 3) if v == v else "nan" for v in np.array(x.grad.tolist()).ravel().tolist()]


def name(node: Any) -> str:
    return str(node.name()) if callable(node.name) else type(node).__name__


@row("refuses `out=`", RuntimeError, [2.0, 4.0])
def _(torch: Any) -> Any:
    x, out = leaf(torch), torch.zeros(2)
    if torch.__name__ == "torch":
        return torch.add(x, x, out=out)
    np.add(x, x, out=out)
    return out.tolist()


@row("float32 by default", "float32", "float64")
def _(torch: Any) -> Any:
    types = torch if torch.__name__ == "torch" else np
    product = torch.tensor([1], dtype=types.int32) * torch.tensor([1.0], dtype=types.float32)
    return str(product.dtype).removeprefix("torch.")


@row("`x.max(0)` gives indices", [True, 1.0, [1.0, 2.0, 1.0, 2.0], True], [False, 0.0, [1.0, 1.0, 2.0, 2.0], False])
def _(torch: Any) -> Any:
    matrix, x = torch.tensor([[1.0, 2.0], [3.0, 0.0]]), torch.tensor([1.0, 2.0])
    spread = float(torch.tensor([0.0, 2.0]).std()) ** 2 - 1
    swapped = not np.shares_memory(np.asarray(matrix), np.asarray(x)) and matrix.transpose(0, 1).tolist()[0] == [
        1.0,
        3.0,
    ]
    return [hasattr(matrix.max(0), "indices"), round(spread, 6), x.repeat(2).tolist(), swapped]


@row("a NumPy array beside a tensor", (RuntimeError, TypeError), [2.0, 3.0])
def _(torch: Any) -> Any:
    return (leaf(torch) + np.ones(2)).tolist()


@row("`np.array(t)`: RuntimeError", RuntimeError, RuntimeError)
def _(torch: Any) -> Any:
    return np.array(leaf(torch))


@row("errors are RuntimeError", "RuntimeError", "ShapeError")
def _(torch: Any) -> Any:
    try:
        (leaf(torch) * 2).backward()
    except RuntimeError as error:
        return type(error).__name__


@row("`SelectBackward0`", ["Select", "Slice", "Unbind"], ["Index", "Index", "Squeeze"])
def _(torch: Any) -> Any:
    x = leaf(torch)
    return [name(part.grad_fn).removesuffix("Backward0") for part in (x[0], x[:1], x.unbind()[0])]


@row("`checkpoint(use_reentrant=True)`", True, False)
def _(torch: Any) -> Any:
    if torch.__name__ == "gradscribe":
        nodes = {
            name(torch.checkpoint(lambda a: a.sin(), leaf(torch), use_reentrant=way).grad_fn) for way in (True, False)
        }
    else:
        from torch.utils.checkpoint import checkpoint

        nodes = {name(checkpoint(lambda a: a.sin(), leaf(torch), use_reentrant=way).grad_fn) for way in (True, False)}
        nodes |= {name(checkpoint(lambda a: a.sin(), leaf(torch)).grad_fn)}  # as it is by default
    return len(nodes) == 2


@row("`.grad` of a non-leaf", False, True)
def _(torch: Any) -> Any:
    y = leaf(torch) * 2
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    first = y.grad
    y.sum().backward()
    return first is y.grad


@row("a leaf's gradient is added as soon", [["b", "a"], ["a", "b"]], [["b", "a"], ["b", "a"]])
def _(torch: Any) -> Any:
    orders: list[list[str]] = []
    for function in (lambda a, b: a.sin() * b, lambda a, b: a * b.sin().sin()):
        a, b = leaf(torch, 1.0), leaf(torch, 2.0)
        orders.append([])
        a.register_hook(lambda _: orders[-1].append("a"))
        b.register_hook(lambda _: orders[-1].append("b"))
        function(a, b).backward()
    return orders


@row("`torch.manual_seed(0)`", False, True)
def _(torch: Any) -> Any:
    torch.manual_seed(0)
    return np.array_equal(np.array(torch.rand(3).tolist()), np.random.default_rng(0).random(3))


@row("gradgradcheck draws", False, True)
def _(torch: Any) -> Any:
    torch.manual_seed(0)
    untouched = torch.rand(3).tolist()
    torch.manual_seed(0)
    torch.autograd.gradgradcheck(lambda a: a**3, (leaf(torch),))
    return torch.rand(3).tolist() == untouched


@row("the square root of -1", [], ["RuntimeWarning"])
def _(torch: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.sqrt(leaf(torch, -1.0))
    return [one.category.__name__ for one in caught]


@row("`unsafe_split`", [10.0, 20.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
def _(torch: Any) -> Any:
    y = leaf(torch, (1.0, 2.0, 3.0, 4.0)) * 1
    y.unsafe_split(2)[0].mul_(10)
    return y.tolist()


@row("`gather(sparse_grad=True)`", True, False)
def _(torch: Any) -> Any:
    x = leaf(torch)
    x.gather(0, torch.tensor([0, 0]), sparse_grad=True).sum().backward()
    return bool(getattr(x.grad, "is_sparse", False))


@row("reads other data in backward", [10.0, 10.0], ValueError)
def _(torch: Any) -> Any:
    x = leaf(torch)
    y = (x * x).sum()
    x.data = torch.tensor([5.0])
    y.backward()
    return x.grad.tolist()


@row("of NaN, `abs`", [0.0, 0.0, 0.0, 0.0, 1.0], ["nan"] * 5)
def _(torch: Any) -> Any:
    functions = [
        lambda a: a.abs(), lambda a: a.norm(1), lambda a: a.norm(np.inf), lambda a: a.norm(-np.inf),
        lambda a: a.reshape(2, 1).renorm(2, 0, 0.5),
    ]  # fmt: skip
    return [slopes(torch, function, (np.nan, 1.0))[0] for function in functions]


@row("has no negative steps", ValueError, [2.0, 1.0])
def _(torch: Any) -> Any:
    return leaf(torch)[::-1].tolist()


@row("ignores `only_inputs=False`", [None], [[2.0, 4.0]])
def _(torch: Any) -> Any:
    x, other = leaf(torch), leaf(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.autograd.grad((x * other).sum(), other, only_inputs=False)
    return [None if x.grad is None else (x.grad * 2).tolist()]


@row("a gradient through `torch.bernoulli(p)`", [0.0, 0.0], RuntimeError)
def _(torch: Any) -> Any:
    return slopes(torch, torch.bernoulli, (0.5, 0.5))


@row("has no `where=`", TypeError, [0.0, 0.0])
def _(torch: Any) -> Any:
    log = torch.log if torch.__name__ == "torch" else np.log
    x = leaf(torch, (1.0, -1.0))
    return log(x, where=x > 0, out=torch.zeros(2)).tolist()


ALL = [pytest.param(words, *case, id=words) for words, cases in ROWS.items() for case in cases]


@pytest.mark.parametrize(("words", "program", "theirs", "ours"), ALL)
def test_a_row_is_what_happens(torch: Any, words: str, program: Program, theirs: Any, ours: Any) -> None:
    outcome = ours if torch.__name__ == "gradscribe" else theirs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(outcome, tuple) or (isinstance(outcome, type) and issubclass(outcome, Exception)):
            with pytest.raises(outcome):
                program(torch)
        else:
            assert program(torch) == outcome


def test_each_row_of_the_table_has_a_program() -> None:
    text = (ROOT / "docs" / "torch.md").read_text(encoding="utf-8")
    table = text[text.index("## What differs") : text.index("Inside a function under `gs.grad`")]
    rows = re.findall(r"^\| (.*?) \|", table, re.M)[1:]
    assert len(rows) > 20
    assert [words for words in rows if not any(words.startswith(key) for key in ROWS)] == []
    assert [key for key in ROWS if not any(words.startswith(key) for words in rows)] == []
