"""The functions that stand in every exported module: `gs.export` copies their source, which needs NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CHECK", "CHECKS", "PARTS", "SECOND"]


def _check_flat(expected: dict[str, str], /, **arguments: Any) -> None:
    """Raise TypeError or ValueError unless the arguments are as `expected` says."""
    sizes: dict[str, int] = {}
    for name, value in arguments.items():
        dtype, bracket, axes = expected[name].rstrip("]").partition("[")
        kind = value.dtype if type(value) is np.ndarray else type(value).__name__
        got, wanted = f"{kind}{list(np.shape(value))}", expected[name]
        if kind != dtype or (type(value) is np.ndarray) != bool(bracket):
            raise TypeError(f"{name} must be {wanted}, not {got}")
        names = axes.split(", ") if axes else []
        for axis, size in zip(names, np.shape(value), strict=False):
            sizes.setdefault(axis, int(axis) if axis.isdigit() else size)
        here = [sizes.get(axis, axis) for axis in names]
        if list(np.shape(value)) != here:
            raise ValueError(f"{name} must be {wanted}, here {here}, not {got}")


def _check(expected: dict[str, Any], /, **arguments: Any) -> None:
    """Raise TypeError or ValueError unless the arguments are as `expected` says."""
    sizes: dict[str, int] = {}
    for name, value in arguments.items():
        _check_argument(name, value, expected[name], sizes)


def _check_argument(name: str, value: Any, expected: Any, sizes: Any) -> None:
    """Check one argument, or one part of it; `sizes` are those known so far."""
    kind = type(value).__name__
    if isinstance(expected, dict) and str(next(iter(expected), ""))[:1] == ".":
        fields = getattr(value, "__dataclass_fields__", getattr(value, "_fields", ()))
        if [f".{field}" for field in fields] != list(expected):
            raise TypeError(f"{name} must have the fields {list(expected)}: a {kind}")
        for key in expected:
            _check_argument(name + key, getattr(value, key[1:]), expected[key], sizes)
        return
    if isinstance(expected, (dict, list, tuple)):
        trees = (expected, value) if hasattr(value, "__len__") else (expected, ())
        keys = [list(t) if isinstance(t, dict) else range(len(t)) for t in trees]
        held = [list(t) if isinstance(t, dict) else f"{len(t)} items" for t in trees]
        if type(value) is not type(expected) or set(keys[0]) != set(keys[1]):
            wanted = f"a {type(expected).__name__} with {held[0]}"
            raise TypeError(f"{name} must be {wanted}, but is a {kind} with {held[1]}")
        for key in keys[0]:
            _check_argument(f"{name}[{key!r}]", value[key], expected[key], sizes)
        return
    is_array = type(value) is np.ndarray
    given = f"{value.dtype}{list(value.shape)}" if is_array else f"a {kind}"
    if expected.startswith("= "):
        if is_array or expected != f"= {value!r}":
            given = repr(value) if isinstance(value, (int, str)) else given
            raise ValueError(f"{name} must be {expected[2:]}, as exported, not {given}")
        return
    dtype, bracket, axes = expected.rstrip("]").partition("[")
    if is_array != bool(bracket) or dtype != (value.dtype if is_array else kind):
        raise TypeError(f"{name} must be {expected}, but is {given}")
    names = axes.split(", ") if axes else []
    shape, too_short = list(np.shape(value)), False
    for axis, size in zip(names, shape, strict=False):
        axis_name, _, least = axis.partition(">")
        sizes.setdefault(axis_name, int(axis) if axis.isdigit() else size)
        too_short = too_short or size <= int(least or -1)
    here = [sizes.get(axis.partition(">")[0], axis) for axis in names]
    if shape != here or too_short:
        raise ValueError(f"{name} must be {expected}, here {here}, not {given}")


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    """The leaf of a tree that lies at `path`."""
    for key in path:
        tree = tree[key]
    return tree


def _replaced(tree: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    """A copy of a tree with another leaf at `path`."""
    if not path:
        return leaf
    keys = tree if isinstance(tree, dict) else range(len(tree))
    items = {k: tree[k] for k in keys}
    items[path[0]] = _replaced(items[path[0]], path[1:], leaf)
    return items if isinstance(tree, dict) else type(tree)(items.values())


def _moved(leaf: Any, by: Any) -> Any:
    """A leaf plus `by`, of its own type."""
    moved = np.asarray(leaf + by).astype(np.asarray(leaf).dtype)
    return moved if isinstance(leaf, np.ndarray) else type(leaf)(moved)


def _nearness(row: tuple[float, float, float]) -> tuple[bool, float]:
    """A key that puts slopes first which agree, and among them the nearest."""
    excess, expected, found = row
    return not excess <= 0, abs(expected - found)


def _symmetric(v: Any, x: Any) -> Any:
    """Return a direction in which `x` stays symmetric (or Hermitian), if it is."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return v
    if not np.allclose(x, np.conj(np.swapaxes(x, -1, -2)), 1e-6, 0):
        return v
    return (v + np.conj(np.swapaxes(v, -1, -2))) / 2


def _slopes(
    function: Any,
    arguments: dict[str, Any],
    path: Any,
    gradient: Any,
    symmetric: bool,
) -> Any:
    """By how much slopes are too far apart, as the gradient and as differences say."""
    leaf = _at(arguments, path)
    x, rng, rows = np.asarray(leaf), np.random.default_rng(1), []
    eps = np.finfo(x.dtype).eps
    for k in range(min(x.size, 16)):
        v = rng.normal(size=x.size) if x.size > 16 else np.eye(x.size)[k]
        v = np.reshape(v / np.linalg.norm(v), x.shape)
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            d = _symmetric(v * unit, x) if symmetric else v * unit
            products = np.real(np.conj(gradient) * d)
            expected, scale = np.sum(products), np.linalg.norm(products)
            tried = []
            for shorter in (1, 32, 1024):
                step = eps ** (1 / 3) * max(1, np.abs(x).max()) / shorter
                ends = []
                for h in (step, -step):
                    moved = _replaced(arguments, path, _moved(leaf, h * d))
                    ends.append(np.asarray(function(**moved)))
                found = (float(ends[0]) - float(ends[1])) / (2 * step)
                coarse = max(eps, np.finfo(ends[0].dtype).eps)
                noise = 30 * coarse * np.max(np.abs(ends)) / step
                allowed = coarse**0.4 * max(abs(found), scale) + noise
                tried.append((abs(expected - found) - allowed, expected, found))
            rows.append(min(tried, key=_nearness))
    return np.reshape(rows, (-1, 3)).T


def _arrays(value: Any) -> list[Any]:
    """The arrays in an argument."""
    if isinstance(value, (dict, list, tuple)):
        parts = value.values() if isinstance(value, dict) else value
        return [a for part in parts for a in _arrays(part)]
    return [value] if isinstance(value, np.ndarray) else []


def _unchanged(arguments: Any, before: list[Any]) -> bool:
    """Whether the arguments hold what they held before; print so where they do not."""
    pairs = zip(_arrays(arguments), before, strict=True)
    same = all(a.tobytes() == b.tobytes() for a, b in pairs)
    if not same:
        print("the arguments were WRITTEN INTO")
    return same


def _check_gradient(
    function: Any,
    arguments: Any,
    paths: Any,
    gradient: Any,
    symmetric: bool = False,
) -> bool:
    """Print how near the gradient is to finite differences; is it near enough?"""
    agree = True
    for name, (path, place) in paths.items():
        leaf = _at(gradient, place)
        slopes = _slopes(function, arguments, path, leaf, symmetric)
        excess, expected, found = slopes
        near = bool(np.all(excess <= 0))
        apart = np.max(np.abs(expected - found), initial=0.0)
        verdict = "agree with" if near else "DIFFER from"
        print(f"{name}: {len(found)} slopes {verdict} finite differences: {apart:.1e}")
        agree = agree and near
    return agree


def _check_products(
    gradient: Any,
    arguments: Any,
    name: str,
    v: str,
    made: Any,
    symmetric: bool = False,
) -> Any:
    """Print how near second derivatives are to differences of the gradient."""
    x, rng = arguments[name], np.random.default_rng(2)
    direction = rng.normal(size=x.shape).astype(x.dtype)
    direction = _symmetric(direction, x) if symmetric else direction
    eps = np.finfo(x.dtype).eps
    step = eps ** (1 / 3) * max(1, np.max(np.abs(x), initial=0.0))
    ends = []
    for h in (step, -step):
        ends.append(gradient(**{**arguments, name: _moved(x, h * direction)}))
    slopes = (ends[0] - ends[1]) / (2 * step)
    noise = 30 * eps * np.max(np.abs(ends), initial=0.0) / step
    agree = True
    for what, function in made.items():
        expected, allowed = slopes, noise
        if what == "hessian":
            found = np.tensordot(function(**arguments), direction, x.ndim)
        else:
            found = function(**arguments, **{v: direction})
        if what == "jvp":
            products = gradient(**arguments) * direction
            found, expected = found[1], np.sum(products)
            allowed = eps**0.4 * np.linalg.norm(products)
        apart = np.max(np.abs(found - expected), initial=0.0)
        scale = np.max(np.abs(expected), initial=0.0)
        near = bool(apart <= allowed + eps**0.4 * scale)
        verdict = "agrees with" if near else "DIFFERS from"
        print(f"{what}: {verdict} the gradient: {apart:.1e}")
        agree = agree and near
    return agree


CHECK = (_check_flat,)
CHECKS = (_check, _check_argument)
PARTS = (
    _at, _replaced, _moved, _nearness, _symmetric, _slopes, _arrays, _unchanged, _check_gradient,
)  # fmt: skip
SECOND = (_check_products,)
