"""The activations of the functional layer as classes, one a line, without those that have parameters of their own."""

from __future__ import annotations

from .. import functional as F
from .skins import skin

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "CosineSimilarity", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LogSigmoid", "LogSoftmax", "Mish", "PairwiseDistance", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid",
    "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip

ReLU = skin("ReLU", F.relu, 1)
ReLU6 = skin("ReLU6", F.relu6, 1)
LeakyReLU = skin("LeakyReLU", F.leaky_relu, 1, "negative_slope={negative_slope}")
RReLU = skin("RReLU", F.rrelu, 1, "lower={lower}, upper={upper}", without="training generator")
ELU = skin("ELU", F.elu, 1, "alpha={alpha}")
SELU = skin("SELU", F.selu, 1)
CELU = skin("CELU", F.celu, 1, "alpha={alpha}")
GELU = skin("GELU", F.gelu, 1, "approximate={approximate!r}")
SiLU = skin("SiLU", F.silu, 1)
Mish = skin("Mish", F.mish, 1)
Softplus = skin("Softplus", F.softplus, 1, "beta={beta}, threshold={threshold}")
Softsign = skin("Softsign", F.softsign, 1)
Sigmoid = skin("Sigmoid", F.sigmoid, 1)
LogSigmoid = skin("LogSigmoid", F.logsigmoid, 1)
Tanh = skin("Tanh", F.tanh, 1)
Tanhshrink = skin("Tanhshrink", F.tanhshrink, 1)
Hardtanh = skin("Hardtanh", F.hardtanh, 1, "min_val={min_val}, max_val={max_val}")
Hardsigmoid = skin("Hardsigmoid", F.hardsigmoid, 1)
Hardswish = skin("Hardswish", F.hardswish, 1)
Softshrink = skin("Softshrink", F.softshrink, 1, "{lambd}")
Hardshrink = skin("Hardshrink", F.hardshrink, 1, "{lambd}")
Threshold = skin("Threshold", F.threshold, 1, "threshold={threshold}, value={value}")
GLU = skin("GLU", F.glu, 1, "dim={dim}")
Softmax = skin("Softmax", F.softmax, 1, "dim={dim}", without="dtype")
LogSoftmax = skin("LogSoftmax", F.log_softmax, 1, "dim={dim}", without="dtype")
Softmin = skin("Softmin", F.softmin, 1, "dim={dim}", without="dtype")
CosineSimilarity = skin("CosineSimilarity", F.cosine_similarity, 2)
PairwiseDistance = skin("PairwiseDistance", F.pairwise_distance, 2)
