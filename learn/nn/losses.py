"""The losses of the functional layer as classes, one a line: which function it is, and how many arrays it takes."""

from __future__ import annotations

from .. import functional as F
from .skins import Skin, skin

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip

MSELoss: type[Skin] = skin("MSELoss", F.mse_loss, 2, without="weight")
L1Loss: type[Skin] = skin("L1Loss", F.l1_loss, 2, without="weight")
SmoothL1Loss: type[Skin] = skin("SmoothL1Loss", F.smooth_l1_loss, 2)
HuberLoss: type[Skin] = skin("HuberLoss", F.huber_loss, 2, without="weight")
CrossEntropyLoss: type[Skin] = skin("CrossEntropyLoss", F.cross_entropy, 2)
NLLLoss: type[Skin] = skin("NLLLoss", F.nll_loss, 2)
BCELoss: type[Skin] = skin("BCELoss", F.binary_cross_entropy, 2)
BCEWithLogitsLoss: type[Skin] = skin("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, 2)
KLDivLoss: type[Skin] = skin("KLDivLoss", F.kl_div, 2)
PoissonNLLLoss: type[Skin] = skin("PoissonNLLLoss", F.poisson_nll_loss, 2)
GaussianNLLLoss: type[Skin] = skin("GaussianNLLLoss", F.gaussian_nll_loss, 3)
HingeEmbeddingLoss: type[Skin] = skin("HingeEmbeddingLoss", F.hinge_embedding_loss, 2)
MarginRankingLoss: type[Skin] = skin("MarginRankingLoss", F.margin_ranking_loss, 3)
CosineEmbeddingLoss: type[Skin] = skin("CosineEmbeddingLoss", F.cosine_embedding_loss, 3)
TripletMarginLoss: type[Skin] = skin("TripletMarginLoss", F.triplet_margin_loss, 3)
SoftMarginLoss: type[Skin] = skin("SoftMarginLoss", F.soft_margin_loss, 2)
MultiLabelSoftMarginLoss: type[Skin] = skin("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, 2)
MultiMarginLoss: type[Skin] = skin("MultiMarginLoss", F.multi_margin_loss, 2)
MultiLabelMarginLoss: type[Skin] = skin("MultiLabelMarginLoss", F.multilabel_margin_loss, 2)
TripletMarginWithDistanceLoss: type[Skin] = skin(
    "TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss, 3
)
CTCLoss: type[Skin] = skin("CTCLoss", F.ctc_loss, 4)
