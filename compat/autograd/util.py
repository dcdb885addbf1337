"""autograd.util: tuples with some places replaced, graphs in order, and its old gradient check."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .test_util import check_grads

__all__ = ["func", "quick_grad_check", "subval", "subvals", "toposort"]


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """`x` as a tuple, with the value `v` at the place `i` for each `(i, v)`."""
    made = [*x]
    for i, v in ivs:
        made[i] = v
    return tuple(made)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """`x` as a tuple, with `v` at the place `i`."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """`f` itself: what a method is where classes are written for several versions of Python."""
    return f


def toposort(end_node: Any, parents: Callable[[Any], Iterable[Any]] = operator.attrgetter("parents")) -> Iterator[Any]:
    """The nodes above `end_node`, from it on, each after all of those that it is a parent of."""
    children: dict[Any, int] = {end_node: 0}
    waiting = [end_node]
    while waiting:
        for parent in parents(waiting.pop()):
            if parent not in children:
                children[parent] = 0
                waiting.append(parent)
            children[parent] += 1
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in parents(node):
            children[parent] -= 1
            if not children[parent]:
                ready.append(parent)


def quick_grad_check(
    fun: Callable[..., Any], arg0: Any, extra_args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None,
    verbose: bool = True, eps: float = 1e-4, rtol: float = 1e-4, atol: float = 1e-6, rs: Any = None,
) -> None:  # fmt: skip
    """`check_grads` of the first argument in reverse mode, under its old name; the steps and tolerances are check_grads' own."""
    warnings.warn("quick_grad_check is deprecated: use autograd.test_util.check_grads", stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)
