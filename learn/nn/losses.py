"""The losses of the functional layer as classes, one a line: which function it is, and how many arrays it takes."""

from __future__ import annotations

from .. import functional as F
from .skins import skin

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip

MSELoss = skin("MSELoss", F.mse_loss, 2, without="weight")
L1Loss = skin("L1Loss", F.l1_loss, 2, without="weight")
SmoothL1Loss = skin("SmoothL1Loss", F.smooth_l1_loss, 2)
HuberLoss = skin("HuberLoss", F.huber_loss, 2, without="weight")
CrossEntropyLoss = skin("CrossEntropyLoss", F.cross_entropy, 2)
NLLLoss = skin("NLLLoss", F.nll_loss, 2)
BCELoss = skin("BCELoss", F.binary_cross_entropy, 2)
BCEWithLogitsLoss = skin("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, 2)
KLDivLoss = skin("KLDivLoss", F.kl_div, 2)
PoissonNLLLoss = skin("PoissonNLLLoss", F.poisson_nll_loss, 2)
GaussianNLLLoss = skin("GaussianNLLLoss", F.gaussian_nll_loss, 3)
HingeEmbeddingLoss = skin("HingeEmbeddingLoss", F.hinge_embedding_loss, 2)
MarginRankingLoss = skin("MarginRankingLoss", F.margin_ranking_loss, 3)
CosineEmbeddingLoss = skin("CosineEmbeddingLoss", F.cosine_embedding_loss, 3)
TripletMarginLoss = skin("TripletMarginLoss", F.triplet_margin_loss, 3)
SoftMarginLoss = skin("SoftMarginLoss", F.soft_margin_loss, 2)
MultiLabelSoftMarginLoss = skin("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, 2)
MultiMarginLoss = skin("MultiMarginLoss", F.multi_margin_loss, 2)
MultiLabelMarginLoss = skin("MultiLabelMarginLoss", F.multilabel_margin_loss, 2)
TripletMarginWithDistanceLoss = skin("TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss, 3)
CTCLoss = skin("CTCLoss", F.ctc_loss, 4)
