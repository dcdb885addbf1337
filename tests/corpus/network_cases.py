"""The functions of gs.functional that activate, normalise and measure: each with arguments and options to try it with."""

from __future__ import annotations

import dataclasses
import zlib
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    """One call: a function by its name, its arrays, its options, and how many of the arrays are differentiated."""

    name: str
    arrays: tuple[Any, ...]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    wrt: int = 1
    order: int = 2  # of the derivatives that finite differences check
    warns: bool = False

    @property
    def id(self) -> str:
        """What a test is called after."""
        told = [f"{k}={'array' if isinstance(v, np.ndarray) else v}" for k, v in self.options.items()]
        shapes = "x".join(map(str, self.arrays[0].shape)) or "number"
        return ", ".join([self.name, shapes, *told])


def numbers(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    """Numbers of a shape, none of them 0, and always the same."""
    return np.random.default_rng(zlib.crc32(repr((shape, low, high)).encode())).uniform(low, high, shape)


def others(*shape: int) -> np.ndarray:
    """Other numbers of a shape."""
    return numbers(1, *shape)[0] * 0.5


X, Y, V, S = numbers(3, 4), others(3, 4), numbers(5), numbers()
UNARY: dict[str, list[dict[str, Any]]] = {
    "relu": [{}], "relu6": [{}], "leaky_relu": [{}, {"negative_slope": 0.3}], "rrelu": [{}, {"lower": 0.2, "upper": 0.6}],
    "elu": [{}, {"alpha": 0.7}], "selu": [{}], "celu": [{}, {"alpha": 0.5}], "gelu": [{}, {"approximate": "tanh"}],
    "silu": [{}], "mish": [{}], "softplus": [{}, {"beta": 2.0, "threshold": 3.0}], "softsign": [{}], "sigmoid": [{}],
    "logsigmoid": [{}], "tanh": [{}], "tanhshrink": [{}], "hardtanh": [{}, {"min_val": -0.5, "max_val": 1.5}],
    "hardsigmoid": [{}], "hardswish": [{}], "softshrink": [{}, {"lambd": 0.9}], "hardshrink": [{}, {"lambd": 0.9}],
    "threshold": [{"threshold": 0.5, "value": -3.0}],
}  # fmt: skip
ACTIVATIONS = [Case(name, (x,), o) for name, options in UNARY.items() for o in options for x in (3 * X, S)]
ALONG = [
    Case("glu", (X,), {}),
    Case("glu", (numbers(2, 4, 3),), {"dim": 1}),
    Case("prelu", (X, np.array([0.2])), wrt=2),
    Case("prelu", (numbers(2, 3, 4), numbers(3)), wrt=2),
    *[
        Case(name, (x,), {"dim": dim})
        for name in ("softmax", "log_softmax", "softmin", "logsumexp")
        for x, dim in ((X, 0), (X, -1), (numbers(2, 3, 4), 1), (S, 0), (V, 0))
    ],
    Case("logsumexp", (numbers(2, 3, 4),), {"dim": (0, 2)}),
    Case("logsumexp", (X,), {"dim": 1, "keepdim": True}),
    Case("normalize", (X,)),
    Case("normalize", (X,), {"p": 1.0, "dim": 0}),
    Case("normalize", (numbers(2, 3, 4),), {"p": 3.0, "dim": -1}),
    Case("cosine_similarity", (X, Y), wrt=2),
    Case("cosine_similarity", (numbers(2, 3, 4), others(2, 3, 4)), {"dim": -1}, wrt=2),
    Case("pairwise_distance", (X, Y), wrt=2),
    Case("pairwise_distance", (X, Y), {"p": 1.0, "eps": 1e-3, "keepdim": True}, wrt=2),
    Case("pairwise_distance", (V, others(5)), wrt=2),
    Case("pdist", (X,)),
    Case("pdist", (numbers(5, 3),), {"p": 3.0}),
]

INDEX = np.array([2, 0, 3])
PLANE = np.array([[1, 0], [3, 2], [2, 2]])
LOGITS = numbers(3, 4, 2)
SHARES = np.exp(Y) / np.sum(np.exp(Y), axis=1, keepdims=True)
CHANCES, ZEROS_AND_ONES = numbers(3, 4, low=0.05, high=0.95), (X > 0).astype(float)
SIGNS = np.where(X > 0, 1.0, -1.0)
CLASS_WEIGHT = np.array([0.5, 1.0, 2.0, 1.5])

_LOSSES = [
    *[Case(n, (X, Y), wrt=2) for n in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")],
    Case("mse_loss", (S, others()), wrt=2),
    *[Case(n, (X, Y), {"weight": CHANCES}, wrt=2) for n in ("mse_loss", "l1_loss", "huber_loss")],
    Case("mse_loss", (X, V[:4]), warns=True),
    Case("smooth_l1_loss", (X, Y), {"beta": 0.4}, wrt=2),
    Case("smooth_l1_loss", (X, Y), {"beta": 0.0}),
    Case("huber_loss", (X, Y), {"delta": 0.4}, wrt=2),
    Case("cross_entropy", (X, INDEX)),
    Case("cross_entropy", (X[0], np.array(2))),
    Case("cross_entropy", (LOGITS, PLANE)),
    Case("cross_entropy", (numbers(2, 3, 2, 2), np.array([[[0, 1], [2, 2]], [[1, 1], [0, 2]]]))),
    Case("cross_entropy", (X, INDEX), {"weight": CLASS_WEIGHT}),
    Case("cross_entropy", (X, INDEX), {"ignore_index": 0}),
    Case("cross_entropy", (X, np.array([2, -100, 3])), {"weight": CLASS_WEIGHT}),
    Case("cross_entropy", (LOGITS, np.where(PLANE == 3, -7, PLANE)), {"ignore_index": -7, "label_smoothing": 0.2}),
    Case("cross_entropy", (X, INDEX), {"label_smoothing": 0.1}),
    Case("cross_entropy", (X, INDEX), {"label_smoothing": 1.0}),
    Case("cross_entropy", (LOGITS, PLANE), {"label_smoothing": 0.3, "weight": CLASS_WEIGHT, "ignore_index": 2}),
    Case("cross_entropy", (X, SHARES), wrt=2),
    Case("cross_entropy", (X[0], SHARES[0]), wrt=2),
    Case("cross_entropy", (LOGITS, np.stack([SHARES, SHARES[::-1]], -1)), {"weight": CLASS_WEIGHT}),
    Case("cross_entropy", (X, SHARES), {"label_smoothing": 0.25, "weight": CLASS_WEIGHT}),
    Case("nll_loss", (X, INDEX)),
    Case("nll_loss", (X[1], np.array(1))),
    Case("nll_loss", (LOGITS, PLANE), {"weight": CLASS_WEIGHT, "ignore_index": 2}),
    Case("binary_cross_entropy", (CHANCES, ZEROS_AND_ONES)),
    Case("binary_cross_entropy", (CHANCES, SHARES), {"weight": CLASS_WEIGHT}, wrt=2),
    Case("binary_cross_entropy", (CHANCES[0, 0], ZEROS_AND_ONES[0, 0])),
    Case("binary_cross_entropy_with_logits", (X, ZEROS_AND_ONES)),
    Case("binary_cross_entropy_with_logits", (X, SHARES), wrt=2),
    Case("binary_cross_entropy_with_logits", (X, ZEROS_AND_ONES), {"weight": CHANCES}),
    Case("binary_cross_entropy_with_logits", (X, SHARES), {"pos_weight": CLASS_WEIGHT}, wrt=2),
    Case("binary_cross_entropy_with_logits", (S, ZEROS_AND_ONES[0, 0])),
    Case("kl_div", (np.log(CHANCES), SHARES), wrt=2),
    Case("kl_div", (np.log(CHANCES), ZEROS_AND_ONES)),
    Case("kl_div", (np.log(CHANCES), np.log(SHARES)), {"log_target": True}, wrt=2),
    Case("poisson_nll_loss", (X, CHANCES * 5)),
    Case("poisson_nll_loss", (CHANCES, CHANCES * 5), {"log_input": False, "full": True}),
    Case("gaussian_nll_loss", (X, Y, CHANCES), wrt=3),
    Case("gaussian_nll_loss", (X, Y, CHANCES[:, :1]), {"full": True}, wrt=3),
    Case("gaussian_nll_loss", (X, Y, CHANCES[:, 0]), wrt=3),
    Case("gaussian_nll_loss", (X, Y, CHANCES), {"eps": 0.5}, order=0),
    Case("hinge_embedding_loss", (X, SIGNS), {"margin": 1.2}),
    Case("margin_ranking_loss", (X, Y, SIGNS), {"margin": 0.3}, wrt=2),
    Case("cosine_embedding_loss", (X, Y, SIGNS[:, 0]), {"margin": -0.5}, wrt=2),
    Case("cosine_embedding_loss", (X[0], Y[0], np.array(-1.0)), {"margin": -0.5}, wrt=2),
    Case("triplet_margin_loss", (X, Y, numbers(3, 4) * 0.3), wrt=3),
    Case("triplet_margin_loss", (X, Y, numbers(3, 4, low=-1.0)), {"swap": True, "p": 3.0, "margin": 2.0}, wrt=3),
    Case("triplet_margin_with_distance_loss", (X, Y, numbers(3, 4) * 0.3), {"margin": 0.7, "swap": True}, wrt=3),
    Case("multi_margin_loss", (X, INDEX)),
    Case("multi_margin_loss", (X, INDEX), {"p": 2, "margin": 1.5, "weight": CLASS_WEIGHT}),
    Case("multi_margin_loss", (X[0], np.array(2))),
    Case("multilabel_margin_loss", (X, np.array([[1, 3, -1, 0], [-1, 2, 2, 2], [3, 2, 1, 0]]))),
    Case("multilabel_margin_loss", (X[1], np.array([0, 3, -1, -1]))),
    Case("soft_margin_loss", (X, SIGNS)),
    Case("multilabel_soft_margin_loss", (X, ZEROS_AND_ONES), {"weight": CHANCES}),
]
LOSSES = [
    dataclasses.replace(
        case,
        options={**case.options, "reduction": how},
        warns=case.warns or (case.name == "kl_div" and how == "mean"),
    )
    for case in _LOSSES
    for how in ("mean", "sum", "none", *["batchmean"] * (case.name == "kl_div"))
]
CASES = [*ACTIVATIONS, *ALONG, *LOSSES]
