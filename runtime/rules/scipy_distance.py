"""scipy.spatial.distance: distances of two points, between all points of two sets, of one, and their square form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import special
from scipy.spatial import distance

from ...unpatched import np
from ..memory import NEW
from ..ops import Kind
from ..registry import composed, rule
from .scipy_functions import arrays, made, of_scipy, refused
from .support import literal

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


def _share(x: Any, y: Any, w: Any) -> Any:
    """The sum of `x / y`, of which nothing over nothing is 0."""
    there = y != 0
    return _sum(np.where(there, x / np.where(there, y, 1.0), 0.0), w)


def _angle(u: Any, v: Any, w: Any) -> Any:
    return 1 - _sum(u * v, w) / (_root(u, w) * _root(v, w))


def _centred(x: Any, w: Any) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True) if w is None else (_sum(x, w) / np.sum(w))[..., None]
    return x - mean


# By the difference of two points and their weights, and by both points.
_OF_DIFFERENCES: dict[str, Callable[..., Any]] = {
    "euclidean": _root, "sqeuclidean": lambda x, w: _sum(x * x, w), "cityblock": lambda x, w: _sum(np.abs(x), w),
    "chebyshev": _largest,
}  # fmt: skip
_OF_POINTS: dict[str, Callable[..., Any]] = {
    "cosine": _angle, "correlation": lambda u, v, w: _angle(_centred(u, w), _centred(v, w), w),
    "canberra": lambda u, v, w: _share(np.abs(u - v), np.abs(u) + np.abs(v), w),
    "braycurtis": lambda u, v, w: _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w),
}  # fmt: skip
_ALSO = {"l2": "euclidean", "manhattan": "cityblock", "l1": "cityblock", "cos": "cosine"}
_OF_TRUTH = (
    "dice", "hamming", "jaccard", "kulczynski1", "matching", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath",
    "yule",
)  # fmt: skip


def _kind(metric: Any) -> Any:
    """The name of a metric, which may be one of SciPy's functions; any other function as it is."""
    name = getattr(metric, "__name__", metric)
    ours = not callable(metric) or getattr(metric, "__wrapped__", metric) is getattr(distance, str(name), None)
    return _ALSO.get(name, name) if ours else metric


def _between(name: str, u: Any, v: Any, metric: Any, out: Any, options: dict[str, Any], samples: Any = None) -> Any:
    """The distances of the points in `u` from those in `v`, the last axis being that of coordinates.

    `samples` gives all points, of which the spread follows where none is stated.
    """
    if out is not None:
        raise refused(f"spatial.distance.{name}", "`out=`", "use what it returns")
    kind = _kind(metric)
    options = {k: literal(o, u, v) if isinstance(o, (list, tuple)) else o for k, o in options.items() if o is not None}
    w = options.get("w")
    if callable(kind):
        shape = np.broadcast_shapes(np.shape(u), np.shape(v))
        pairs = [np.reshape(np.broadcast_to(x, shape), (-1, shape[-1])) for x in (u, v)]
        found = [kind(pairs[0][k], pairs[1][k], **options) for k in range(int(np.shape(pairs[0])[0]))]
        return np.reshape(np.stack(found), shape[:-1])
    if samples is not None and not options and kind == "seuclidean":
        options = {"V": np.var(samples(), axis=0, ddof=1)}
    if samples is not None and not options and kind == "mahalanobis":
        options = {"VI": np.linalg.inv(np.atleast_2d(np.cov(samples().T))).T}
    allowed = {"minkowski": {"p", "w"}, "seuclidean": {"V"}, "mahalanobis": {"VI"}, "jensenshannon": {"base"}}.get(kind, {"w"})
    if set(options) <= allowed:
        if kind in _OF_DIFFERENCES:
            return _OF_DIFFERENCES[kind](u - v, w)
        if kind in _OF_POINTS:
            return _OF_POINTS[kind](u, v, w)
        if kind == "minkowski":
            return _power(u - v, w, options.get("p", 2))
        if kind == "jensenshannon":
            return jensenshannon(u, v, axis=-1, **options)
        if kind == "seuclidean" and options:
            return _root((u - v) / np.sqrt(options["V"]), None)
        if kind == "mahalanobis" and options:
            x = u - v
            total = np.sum((x @ options["VI"]) * x, axis=-1)
            there = total != 0
            return np.where(there, np.sqrt(np.where(there, total, 1.0)), 0.0)
    if kind in _OF_TRUTH:
        raise refused(
            f"spatial.distance.{name}", f"metric={metric!r}",
            "it counts coordinates, so that its slope is zero: gs.stop_gradient of the points says that none is meant",
        )  # fmt: skip
    words = f" and {sorted(options)}" if options else ""
    raise refused(
        f"spatial.distance.{name}", f"metric={metric!r}{words}",
        "write it with NumPy (np.sqrt(np.sum((a[:, None] - b[None]) ** 2, axis=-1)) is the Euclidean distance)",
    )  # fmt: skip


@composed(distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distance of each point of one set from each of the other."""
    XA, XB = arrays(XA, XB)
    samples = lambda: np.concatenate([XA, XB])
    return _between("cdist", XA[:, None, :], XB[None, :, :], metric, out, kwargs, samples)


@composed(distance.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distance of each point of a set from each that comes after it."""
    (X,) = arrays(X)
    first, second = made(np.triu_indices, X, np.shape(X)[0], 1)
    return _between("pdist", X[first], X[second], metric, out, kwargs, lambda: X)


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
