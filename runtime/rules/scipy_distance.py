"""scipy.spatial.distance: distances of two points, between all points of two sets, of one, and their square form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import special
from scipy.spatial import distance

from ..memory import NEW
from ..ops import Kind
from ..registry import composed, rule
from ..unpatched import np
from .scipy_functions import arrays, made, of_scipy, refused

Pairs = Callable[[Any], tuple[Any, Any]]  # of a function of points, its values at both points of each pair


def _root(x: Any, w: Any) -> Any:
    """The length of differences, whose slope where both points are one is 0."""
    return np.linalg.norm(x if w is None else x * np.sqrt(w), axis=-1)


def _sum(x: Any, w: Any) -> Any:
    return np.sum(x if w is None else w * x, axis=-1)


def _largest(x: Any, w: Any) -> Any:
    """The largest difference, of those whose weight is not 0."""
    return np.max(np.abs(x) if w is None else np.where(w != 0, np.abs(x), 0.0), axis=-1)


def _power(x: Any, w: Any, p: Any) -> Any:
    """The sum of powers, and its root, whose slope at 0 is 0."""
    total = _sum(np.abs(x) ** p, w)
    there = total != 0
    return np.where(there, np.where(there, total, 1.0) ** (1 / p), 0.0)


def _share(x: Any, y: Any) -> Any:
    """The sum of `x / y`, of which nothing over nothing is 0."""
    there = y != 0
    return np.sum(np.where(there, x / np.where(there, y, 1.0), 0.0), axis=-1)


def _angle(u: Any, v: Any) -> Any:
    return 1 - np.sum(u * v, axis=-1) / (np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1))


def _centred(x: Any) -> Any:
    return x - np.mean(x, axis=-1, keepdims=True)


# By the difference of two points and their weights, and by both points.
_OF_DIFFERENCES: dict[str, Callable[..., Any]] = {
    "euclidean": _root, "sqeuclidean": lambda x, w: _sum(x * x, w), "cityblock": lambda x, w: _sum(np.abs(x), w),
    "chebyshev": _largest,
}  # fmt: skip
_OF_POINTS: dict[str, Callable[..., Any]] = {
    "cosine": _angle, "correlation": lambda u, v: _angle(_centred(u), _centred(v)),
    "canberra": lambda u, v: _share(np.abs(u - v), np.abs(u) + np.abs(v)),
    "braycurtis": lambda u, v: np.sum(np.abs(u - v), axis=-1) / np.sum(np.abs(u + v), axis=-1),
}  # fmt: skip
_ALSO = {"l2": "euclidean", "manhattan": "cityblock", "l1": "cityblock", "cos": "cosine"}


def _between(name: str, u: Any, v: Any, metric: Any, out: Any, options: dict[str, Any]) -> Any:
    """The distances of the points in `u` from those in `v`, the last axis being that of coordinates."""
    if out is not None:
        raise refused(f"spatial.distance.{name}", "`out=`", "use what it returns")
    kind = _ALSO.get(metric, metric) if isinstance(metric, str) else None
    allowed = {"minkowski": {"p", "w"}, "seuclidean": {"V"}, "mahalanobis": {"VI"}}.get(kind or "", {"w"})
    options = {k: o for k, o in options.items() if o is not None}
    w = options.get("w")
    if kind in _OF_DIFFERENCES and set(options) <= allowed:
        return _OF_DIFFERENCES[kind](u - v, w)
    if kind in _OF_POINTS and not options:
        return _OF_POINTS[kind](u, v)
    if kind == "minkowski" and set(options) <= allowed:
        return _power(u - v, w, options.get("p", 2))
    if kind == "seuclidean" and set(options) == allowed:
        return _root((u - v) / np.sqrt(options["V"]), None)
    if kind == "mahalanobis" and set(options) == allowed:
        x = u - v
        total = np.sum((x @ options["VI"]) * x, axis=-1)
        there = total != 0
        return np.where(there, np.sqrt(np.where(there, total, 1.0)), 0.0)
    words = f" and {sorted(options)}" if options else ""
    raise refused(
        f"spatial.distance.{name}", f"metric={metric!r}{words}",
        "write it with NumPy (np.sqrt(np.sum((a[:, None] - b[None]) ** 2, axis=-1)) is the Euclidean distance)",
    )  # fmt: skip


@composed(distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distance of each point of one set from each of the other."""
    XA, XB = arrays(XA, XB)
    return _between("cdist", XA[:, None, :], XB[None, :, :], metric, out, kwargs)


@composed(distance.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distance of each point of a set from each that comes after it."""
    (X,) = arrays(X)
    first, second = made(np.triu_indices, X, np.shape(X)[0], 1)
    return _between("pdist", X[first], X[second], metric, out, kwargs)


squareform = of_scipy("scipy.spatial.distance", distance.squareform, "X, force='no', checks=True", Kind.linear, memory=NEW)


def _squareform_back(g: Any, X_shape: Any) -> Any:
    """Each distance stands twice in the matrix; of a matrix, which is symmetric, so is the cotangent."""
    return squareform(g + g.T, checks=False) if len(X_shape) == 1 else squareform(g) * 0.5


rule(distance.squareform, X=lambda g, X_shape: _squareform_back(g, X_shape))


# Of two points.


def _pair(name: str) -> None:
    def of_two(u: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        names = {"minkowski": ("p", "w"), "mahalanobis": ("VI",), "seuclidean": ("V",)}.get(name, ("w",))
        u, v = arrays(u, v)
        return _between(name, u, v, name, None, {**dict(zip(names, args, strict=False)), **kwargs})

    composed(getattr(distance, name))(of_two)


for _name in (
    "euclidean", "sqeuclidean", "cosine", "cityblock", "minkowski", "chebyshev", "canberra", "braycurtis", "correlation",
    "mahalanobis", "seuclidean",
):  # fmt: skip
    _pair(_name)


@composed(distance.jensenshannon)
def jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    """The root of the divergence from the mean of both."""
    p, q = arrays(p, q)
    p, q = (x / np.sum(x, axis=axis, keepdims=True) for x in (p, q))
    m = (p + q) / 2.0
    parts = special.rel_entr(p, m) + special.rel_entr(q, m)
    total = np.sum(parts, axis=axis, keepdims=keepdims)
    total = total if base is None else total / np.log(base)
    there = total > 0
    return np.where(there, np.sqrt(np.where(there, total, 1.0) / 2.0), 0.0)
