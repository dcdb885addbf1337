"""The losses and activations of torch.nn by name, as classes; as functions they are in `gs.functional`.

There are no modules: parameters are pytrees (a dict of arrays), a model is a function of them, and
`gs.functional.linear`, `conv2d`, `layer_norm` and the others are its layers.

>>> import numpy as np, gradscribe as gs
>>> criterion = gs.nn.CrossEntropyLoss(label_smoothing=0.1)
>>> loss = lambda p, x, y: criterion(gs.functional.linear(gs.nn.ReLU()(x), p["weight"], p["bias"]), y)
>>> slopes = gs.grad(loss)({"weight": np.zeros((3, 2)), "bias": np.zeros(3)}, np.ones((4, 2)), np.array([0, 1, 2, 0]))
>>> slopes["weight"].shape, slopes["bias"].shape
((3, 2), (3,))
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...runtime.errors import no_such_name
from .. import functional
from . import utils
from .activations import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    CosineSimilarity,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PairwiseDistance,
    ReLU,
    ReLU6,
    RReLU,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from .losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    CTCLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    MultiLabelMarginLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "Mish",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "functional",
    "utils",
]


_FUNCTIONS = {  # of modules that do not bear the name of their function
    "LPPool": "lp_pool1d", "MultiheadAttention": "scaled_dot_product_attention", "PReLU": "prelu", "SyncBatchNorm": "batch_norm",
    "CrossMapLRN": "local_response_norm",
    "CircularPad": "pad", "ConstantPad": "pad", "ReflectionPad": "pad", "ReplicationPad": "pad", "ZeroPad": "pad",
    "UpsamplingBilinear": "upsample", "UpsamplingNearest": "upsample",
}  # fmt: skip


if not TYPE_CHECKING:  # a name that is not declared is an error to them

    def __getattr__(name: str) -> Any:
        told = ""
        if not name.startswith("_"):
            function = _function_for(name)
            told = (
                "; gs.nn has losses and activations, no modules: parameters are pytrees here (a dict of arrays), and "
            )
            told += (
                f"gs.functional.{function} is the function"
                if function
                else "a model is a function, as gs.functional.linear is"
            )
        raise no_such_name(f"module 'gradscribe.nn' has no attribute {name!r}{told}")


def _function_for(name: str) -> str | None:
    """The function that does what one of torch.nn's modules does."""
    whole = name.removeprefix("Lazy")
    stem = re.sub(r"[123]d$", "", whole)
    named = {one.replace("_", ""): one for one in functional.__all__ if not one.endswith("_")}
    return named.get(whole.lower()) or named.get(stem.lower()) or _FUNCTIONS.get(stem)
