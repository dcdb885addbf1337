"""The activations of the functional layer as classes, one a line, without those that have parameters of their own."""

from __future__ import annotations

from .. import functional as F
from .skins import Skin, skin

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "CosineSimilarity", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PairwiseDistance", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
    "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip

ReLU: type[Skin] = skin("ReLU", F.relu, 1)
ReLU6: type[Skin] = skin("ReLU6", F.relu6, 1)
LeakyReLU: type[Skin] = skin("LeakyReLU", F.leaky_relu, 1, "negative_slope={negative_slope}")
RReLU: type[Skin] = skin("RReLU", F.rrelu, 1, "lower={lower}, upper={upper}", without="training generator")
ELU: type[Skin] = skin("ELU", F.elu, 1, "alpha={alpha}")
SELU: type[Skin] = skin("SELU", F.selu, 1)
CELU: type[Skin] = skin("CELU", F.celu, 1, "alpha={alpha}")
GELU: type[Skin] = skin("GELU", F.gelu, 1, "approximate={approximate!r}")
SiLU: type[Skin] = skin("SiLU", F.silu, 1)
Mish: type[Skin] = skin("Mish", F.mish, 1)
Softplus: type[Skin] = skin("Softplus", F.softplus, 1, "beta={beta}, threshold={threshold}")
Softsign: type[Skin] = skin("Softsign", F.softsign, 1)
Sigmoid: type[Skin] = skin("Sigmoid", F.sigmoid, 1)
LogSigmoid: type[Skin] = skin("LogSigmoid", F.logsigmoid, 1)
Tanh: type[Skin] = skin("Tanh", F.tanh, 1)
Tanhshrink: type[Skin] = skin("Tanhshrink", F.tanhshrink, 1)
Hardtanh: type[Skin] = skin("Hardtanh", F.hardtanh, 1, "min_val={min_val}, max_val={max_val}")
Hardsigmoid: type[Skin] = skin("Hardsigmoid", F.hardsigmoid, 1)
Hardswish: type[Skin] = skin("Hardswish", F.hardswish, 1)
Softshrink: type[Skin] = skin("Softshrink", F.softshrink, 1, "{lambd}")
Hardshrink: type[Skin] = skin("Hardshrink", F.hardshrink, 1, "{lambd}")
Threshold: type[Skin] = skin("Threshold", F.threshold, 1, "threshold={threshold}, value={value}")
GLU: type[Skin] = skin("GLU", F.glu, 1, "dim={dim}")
Softmax: type[Skin] = skin("Softmax", F.softmax, 1, "dim={dim}", without="dtype")
LogSoftmax: type[Skin] = skin("LogSoftmax", F.log_softmax, 1, "dim={dim}", without="dtype")
Softmin: type[Skin] = skin("Softmin", F.softmin, 1, "dim={dim}", without="dtype")
CosineSimilarity: type[Skin] = skin("CosineSimilarity", F.cosine_similarity, 2)
PairwiseDistance: type[Skin] = skin("PairwiseDistance", F.pairwise_distance, 2)
