"""scipy.stats of samples: means, moments, entropy, scores, correlation and regression, in terms of ops."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from scipy import special, stats

from ...unpatched import np
from ..memory import NEW
from ..ops import Kind
from ..registry import composed, object_class, undifferentiable
from .scipy_functions import arrays, refused

undifferentiable(  # numbers that stay the same at samples nearby
    stats.rankdata, "a, method='average', *, axis=None, nan_policy='propagate'", Kind.opaque, path="scipy.stats.rankdata",
    may_raise=True, memory=NEW,
)  # fmt: skip


def _sample(name: str, a: Any, axis: Any, nan_policy: str) -> tuple[Any, Any]:
    """The sample and the axis along which it lies; without one all of it is one sample."""
    if nan_policy != "propagate":
        raise refused(f"stats.{name}", f"nan_policy={nan_policy!r}", "leave out what is nan, by an index")
    (a,) = arrays(a)
    return (np.reshape(a, (-1,)), 0) if axis is None else (a, axis)


def _kept(found: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    """A result, with the axis that it lost as one of length 1 if that is wanted."""
    if not keepdims:
        return found
    whole = (1,) * np.ndim(a)
    return np.reshape(found, whole) if axis is None else np.expand_dims(found, axis)


@composed(stats.entropy)
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """Shannon's entropy of a distribution, or its divergence from another one."""
    p, along = _sample("entropy", pk, axis, nan_policy)
    p = p / np.sum(p, axis=along, keepdims=True)
    if qk is None:
        parts = special.entr(p)
    else:
        q, _ = _sample("entropy", qk, axis, nan_policy)
        parts = special.rel_entr(p, q / np.sum(q, axis=along, keepdims=True))
    found = np.sum(parts, axis=along)
    return _kept(found if base is None else found / np.log(base), pk, axis, keepdims)


@composed(stats.iqr)
def iqr(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, nan_policy: str = "propagate", interpolation: Any = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The distance of two percentiles."""
    if not isinstance(scale, (int, float)):
        raise refused("stats.iqr", f"scale={scale!r}", "divide by the number that it stands for")
    a, along = _sample("iqr", x, axis, nan_policy)
    low, high = (np.percentile(a, q, axis=along, method=interpolation) for q in rng)
    return _kept((high - low) / scale, x, axis, keepdims)


@composed(stats.trim_mean)
def trim_mean(
    a: Any, proportiontocut: float, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The mean without a part of the smallest and of the largest numbers."""
    x, along = _sample("trim_mean", a, axis, nan_policy)
    n = np.shape(x)[along]
    cut = int(proportiontocut * n)
    if 2 * cut >= n:
        raise ValueError("Proportion too big.")
    ordered = np.moveaxis(np.sort(x, axis=along), along, -1)
    return _kept(np.mean(ordered[..., cut : n - cut], axis=-1), a, axis, keepdims)


@composed(stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Each number as its distance from the mean in standard deviations."""
    _sample("zscore", a, axis, nan_policy)
    (a,) = arrays(a)
    return (a - np.mean(a, axis=axis, keepdims=True)) / np.std(a, axis=axis, ddof=ddof, keepdims=True)


def _weighted(name: str, a: Any, axis: Any, weights: Any, nan_policy: str, dtype: Any) -> tuple[Any, Any, Any]:
    a, along = _sample(name, a, axis, nan_policy)
    if dtype is not None:
        raise refused(f"stats.{name}", "dtype=", "convert the sample before")
    if weights is not None:
        (weights,) = arrays(weights)
        weights = np.reshape(weights, (-1,)) if axis is None else weights
    return a, along, weights


@composed(stats.gmean)
def gmean(
    a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The geometric mean."""
    x, along, w = _weighted("gmean", a, axis, weights, nan_policy, dtype)
    return _kept(np.exp(np.average(np.log(x), axis=along, weights=w)), a, axis, keepdims)


@composed(stats.hmean)
def hmean(
    a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    """The harmonic mean."""
    x, along, w = _weighted("hmean", a, axis, weights, nan_policy, dtype)
    return _kept(1.0 / np.average(1.0 / x, axis=along, weights=w), a, axis, keepdims)


def _moments(x: Any, axis: int, order: int) -> tuple[Any, Any]:
    """The second central moment, and that of an order."""
    x = x - np.mean(x, axis=axis, keepdims=True)
    squares = x * x
    return np.mean(squares, axis=axis), np.mean(squares * (x if order == 3 else squares), axis=axis)


@composed(stats.skew)
def skew(a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The third moment in standard deviations."""
    x, along = _sample("skew", a, axis, nan_policy)
    m2, m3 = _moments(x, along, 3)
    found, n = m3 / m2**1.5, np.shape(x)[along]
    if not bias and n > 2:
        found = ((n - 1.0) * n) ** 0.5 / (n - 2.0) * found
    return _kept(found, a, axis, keepdims)


@composed(stats.kurtosis)
def kurtosis(
    a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False
) -> Any:
    """The fourth moment in standard deviations, above that of the normal distribution if it is Fisher's."""
    x, along = _sample("kurtosis", a, axis, nan_policy)
    m2, m4 = _moments(x, along, 4)
    found, n = m4 / m2**2, np.shape(x)[along]
    if not bias and n > 3:
        found = ((n**2 - 1.0) * found - 3 * (n - 1) ** 2.0) / ((n - 2) * (n - 3)) + 3.0
    return _kept(found - 3 if fisher else found, a, axis, keepdims)


PearsonRResult = namedtuple("PearsonRResult", "statistic pvalue")


class LinregressResult(namedtuple("LinregressResult", "slope intercept rvalue pvalue stderr")):
    """What SciPy gives: five numbers, and one that is an attribute alone."""

    intercept_stderr: Any


@composed(stats.pearsonr)
def pearsonr(x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0) -> Any:
    """The correlation of two samples, and how probable a greater one is by chance."""
    if method is not None or alternative != "two-sided":
        raise refused("stats.pearsonr", "`method=` or `alternative=`", "compute the p-value outside of the transform")
    x, y = arrays(x, y)
    x, along = _sample("pearsonr", x, axis, "propagate")
    y, _ = _sample("pearsonr", y, axis, "propagate")
    x, y = (v - np.mean(v, axis=along, keepdims=True) for v in (x, y))
    r = np.sum(x * y, axis=along) / (np.linalg.norm(x, axis=along) * np.linalg.norm(y, axis=along))
    half = np.shape(x)[along] / 2 - 1
    return PearsonRResult(r, 2 * special.betainc(half, half, (1 - np.abs(r)) / 2))


@composed(stats.linregress)
def linregress(x: Any, y: Any = None, alternative: str = "two-sided", **options: Any) -> Any:
    """The line through points: its slope, intercept, correlation, p-value and standard error."""
    if y is None or alternative != "two-sided" or any(options.values()):
        raise refused(
            "stats.linregress", "one array, `alternative=`, `axis=` or `nan_policy=`", "give it x and y of one dimension"
        )
    x, y = arrays(x, y)
    n, x_mean, y_mean = np.shape(x)[0], np.mean(x), np.mean(y)
    dx, dy = x - x_mean, y - y_mean
    xx, xy, yy = np.mean(dx * dx), np.mean(dx * dy), np.mean(dy * dy)
    slope, r = xy / xx, xy / np.sqrt(xx * yy)
    t = r * np.sqrt((n - 2) / ((1.0 - r) * (1.0 + r)))
    error = np.sqrt((1 - r**2) * yy / xx / (n - 2))
    found = LinregressResult(slope, y_mean - slope * x_mean, r, 2 * special.stdtr(n - 2, -np.abs(t)), error)
    found.intercept_stderr = error * np.sqrt(xx + x_mean**2)
    return found


@composed(stats.moment)
def moment(
    a: Any, order: Any = 1, axis: Any = 0, nan_policy: str = "propagate", *, center: Any = None, keepdims: bool = False
) -> Any:
    """The mean of a power of the distances from the mean, or from a center."""
    x, along = _sample("moment", a, axis, nan_policy)
    off = x - (np.mean(x, axis=along, keepdims=True) if center is None else center)
    orders = order if isinstance(order, (list, tuple)) else [order]
    found = [_kept(np.mean(off**k, axis=along), a, axis, keepdims) for k in orders]
    return np.stack(found) if isinstance(order, (list, tuple)) else found[0]


@composed(stats.variation)
def variation(a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False) -> Any:
    """The standard deviation in means."""
    x, along = _sample("variation", a, axis, nan_policy)
    return _kept(np.std(x, axis=along, ddof=ddof) / np.mean(x, axis=along), a, axis, keepdims)


@composed(stats.sem)
def sem(a: Any, axis: Any = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean."""
    x, along = _sample("sem", a, axis, nan_policy)
    return _kept(np.std(x, axis=along, ddof=ddof) / np.sqrt(np.shape(x)[along]), a, axis, keepdims)


@composed(stats.gstd)
def gstd(a: Any, axis: Any = 0, ddof: int = 1, *, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    """The geometric standard deviation."""
    x, along = _sample("gstd", a, axis, nan_policy)
    return _kept(np.exp(np.std(np.log(x), axis=along, ddof=ddof)), a, axis, keepdims)


@composed(stats.pmean)
def pmean(
    a: Any, p: Any, *, axis: Any = 0, dtype: Any = None, weights: Any = None, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The mean of powers."""
    if isinstance(p, (int, float)) and p == 0:
        return gmean(a, axis, dtype, weights, nan_policy=nan_policy, keepdims=keepdims)
    x, along, w = _weighted("pmean", a, axis, weights, nan_policy, dtype)
    return _kept(np.average(x**p, axis=along, weights=w) ** (1.0 / p), a, axis, keepdims)


@composed(stats.zmap)
def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Scores as their distances from the mean of others, in their standard deviations."""
    _sample("zmap", compare, axis, nan_policy)
    scores, compare = arrays(scores, compare)
    return (scores - np.mean(compare, axis=axis, keepdims=True)) / np.std(compare, axis=axis, ddof=ddof, keepdims=True)


@composed(stats.boxcox)
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    """Powers, of an exponent that is stated."""
    if lmbda is None:
        raise refused("stats.boxcox", "an exponent that is to be found", "find it outside, and state lmbda=")
    return special.boxcox(x, lmbda)


@composed(stats.yeojohnson)
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """Powers of numbers of both signs, of an exponent that is stated."""
    if lmbda is None:
        raise refused("stats.yeojohnson", "an exponent that is to be found", "find it outside, and state lmbda=")
    (x,) = arrays(x) if not hasattr(type(lmbda), "__gradscribe_apply__") else arrays(x, lmbda)[:1]
    up, down = np.where(x >= 0, x, 0.0), np.where(x < 0, -x, 0.0)
    return np.where(x >= 0, special.boxcox1p(up, lmbda), -special.boxcox1p(down, 2.0 - lmbda))


class GaussianKde:
    """A density of kernels at samples; how wide they are follows from the samples, and is differentiated, too."""

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        (data,) = arrays(dataset)
        self.dataset = np.reshape(data, (1, -1)) if np.ndim(data) < 2 else data
        self.d, self.n = np.shape(self.dataset)
        if weights is None:
            self.weights: Any = 1.0 / self.n
            self.neff: Any = float(self.n)
        else:
            (weights,) = arrays(weights)
            self.weights = weights / np.sum(weights)
            self.neff = 1.0 / np.sum(self.weights**2)
        if bw_method is None or bw_method == "scott":
            self.factor: Any = self.neff ** (-1.0 / (self.d + 4))
        elif bw_method == "silverman":
            self.factor = (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))
        elif isinstance(bw_method, str) or callable(bw_method):
            raise refused("stats.gaussian_kde", f"bw_method={bw_method!r}", "state a number")
        else:
            self.factor = bw_method
        shares = self.weights if weights is not None else np.ones_like(self.dataset[0]) / self.n
        off = self.dataset - np.sum(self.dataset * shares, axis=1, keepdims=True)
        self.covariance = (off * shares) @ off.T / (1.0 - np.sum(shares**2)) * self.factor**2

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points, one column a point."""
        (x,) = arrays(x) if not hasattr(type(self.dataset), "__gradscribe_apply__") else arrays(x, self.dataset)[:1]
        points = np.reshape(x, (self.d, -1)) if np.ndim(x) < 2 else x
        factor = np.linalg.cholesky(self.covariance)
        m = np.shape(points)[1]
        off = np.reshape(points[:, :, None] - self.dataset[:, None, :], (self.d, -1))
        white = np.reshape(np.linalg.solve(factor, off), (self.d, m, self.n))
        energies = np.log(self.weights) - np.sum(white**2, axis=0) / 2.0
        normaliser = np.sum(np.log(np.diagonal(factor))) + self.d * np.log(2.0 * np.pi) / 2.0
        top = np.max(energies, axis=1, keepdims=True)
        return top[:, 0] + np.log(np.sum(np.exp(energies - top), axis=1)) - normaliser

    def evaluate(self, points: Any) -> Any:
        """The density at points."""
        return np.exp(self.logpdf(points))

    __call__ = pdf = evaluate


object_class(
    stats.gaussian_kde, GaussianKde, ("dataset", "weights"),
    lambda real, parts: GaussianKde(parts["dataset"], float(real.factor), parts["weights"]),
)  # fmt: skip
