"""The example in the docstring of each layer class, by its name: tests run them."""

from __future__ import annotations

__all__ = ["EXAMPLES"]

EXAMPLES: dict[str, str] = {
    "ReLU": """
>>> gs.nn.ReLU()(np.array([-1.0, 0.0, 2.0]))
array([0., 0., 2.])
""",
    "ReLU6": """
>>> gs.nn.ReLU6()(np.array([-1.0, 2.0, 9.0]))
array([0., 2., 6.])
""",
    "LeakyReLU": """
>>> gs.nn.LeakyReLU(0.5)(np.array([-1.0, 2.0]))
array([-0.5,  2. ])
""",
    "RReLU": """
>>> gs.nn.RReLU(0.2, 0.4)(np.array([-1.0, 2.0]))
array([-0.3,  2. ])
""",
    "ELU": """
>>> gs.nn.ELU(alpha=2.0)(np.array([-1000.0, 2.0]))
array([-2.,  2.])
""",
    "SELU": """
>>> gs.nn.SELU()(np.array([0.0, 1.0]))
array([0.        , 1.05070099])
""",
    "CELU": """
>>> gs.nn.CELU(0.5)(np.array([-1000.0, 2.0]))
array([-0.5,  2. ])
""",
    "GELU": """
>>> gs.nn.GELU("tanh")(np.array([-1.0, 0.0, 1.0])).round(4)
array([-0.1588,  0.    ,  0.8412])
""",
    "SiLU": """
>>> gs.nn.SiLU()(np.array([0.0, 1000.0]))
array([   0., 1000.])
""",
    "Mish": """
>>> gs.nn.Mish()(np.array([0.0, 1.0])).round(6)
array([0.      , 0.865098])
""",
    "Softplus": """
>>> gs.nn.Softplus()(np.array([-1000.0, 0.0, 1000.0])).round(6)
array([0.00000e+00, 6.93147e-01, 1.00000e+03])
""",
    "Softsign": """
>>> gs.nn.Softsign()(np.array([-1.0, 3.0]))
array([-0.5 ,  0.75])
""",
    "Sigmoid": """
>>> gs.nn.Sigmoid()(np.array([-1000.0, 0.0, 1000.0]))
array([0. , 0.5, 1. ])
""",
    "LogSigmoid": """
>>> gs.nn.LogSigmoid()(np.array([-1000.0, 0.0])).round(6)
array([-1.00000e+03, -6.93147e-01])
""",
    "Tanh": """
>>> gs.nn.Tanh()(np.array([0.0, 1000.0]))
array([0., 1.])
""",
    "Tanhshrink": """
>>> gs.nn.Tanhshrink()(np.array([0.0, 1000.0]))
array([  0., 999.])
""",
    "Hardtanh": """
>>> gs.nn.Hardtanh(-2.0, 2.0)(np.array([-3.0, 0.5, 3.0]))
array([-2. ,  0.5,  2. ])
""",
    "Hardsigmoid": """
>>> gs.nn.Hardsigmoid()(np.array([-4.0, 0.0, 4.0]))
array([0. , 0.5, 1. ])
""",
    "Hardswish": """
>>> gs.nn.Hardswish()(np.array([1.5, 4.0]))
array([1.125, 4.   ])
""",
    "Softshrink": """
>>> gs.nn.Softshrink()(np.array([-2.0, 0.25, 2.0]))
array([-1.5,  0. ,  1.5])
""",
    "Hardshrink": """
>>> gs.nn.Hardshrink()(np.array([-2.0, 0.25, 2.0]))
array([-2.,  0.,  2.])
""",
    "Threshold": """
>>> gs.nn.Threshold(1.0, -5.0)(np.array([0.0, 2.0]))
array([-5.,  2.])
""",
    "GLU": """
>>> gs.nn.GLU()(np.ones((4, 6))).shape
(4, 3)
""",
    "Softmax": """
>>> gs.nn.Softmax(dim=1)(np.log(np.array([[1.0, 3.0]]))).round(6)
array([[0.25, 0.75]])
""",
    "LogSoftmax": """
>>> gs.nn.LogSoftmax(dim=0)(np.array([0.0, 1000.0]))
array([-1000.,     0.])
""",
    "Softmin": """
>>> gs.nn.Softmin(dim=0)(np.log(np.array([1.0, 3.0]))).round(6)
array([0.75, 0.25])
""",
    "CosineSimilarity": """
>>> gs.nn.CosineSimilarity(dim=1)(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]]))
array([0.6])
""",
    "PairwiseDistance": """
>>> gs.nn.PairwiseDistance(p=1.0, eps=0.0)(np.array([[3.0, 4.0]]), np.zeros((1, 2)))
array([7.])
""",
    "MSELoss": """
>>> gs.nn.MSELoss()(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
np.float64(2.0)
""",
    "L1Loss": """
>>> gs.nn.L1Loss(reduction="none")(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
array([0., 2.])
""",
    "SmoothL1Loss": """
>>> gs.nn.SmoothL1Loss(reduction="none")(np.zeros(2), np.array([1.0, 4.0]))
array([0.5, 3.5])
""",
    "HuberLoss": """
>>> gs.nn.HuberLoss(delta=2.0, reduction="none")(np.zeros(2), np.array([1.0, 4.0]))
array([0.5, 6. ])
""",
    "CrossEntropyLoss": """
>>> gs.nn.CrossEntropyLoss()(np.array([[1000.0, 0.0], [0.0, 1000.0]]), np.array([0, 0]))
np.float64(500.0)
""",
    "NLLLoss": """
>>> gs.nn.NLLLoss()(np.log(np.array([[0.25, 0.75]])), np.array([0])).round(6)
np.float64(1.386294)
""",
    "BCELoss": """
>>> gs.nn.BCELoss(reduction="none")(np.array([0.5, 0.0]), np.ones(2)).round(6)
array([  0.693147, 100.      ])
""",
    "BCEWithLogitsLoss": """
>>> gs.nn.BCEWithLogitsLoss(reduction="none")(np.array([0.0, -1000.0]), np.ones(2)).round(6)
array([6.93147e-01, 1.00000e+03])
""",
    "KLDivLoss": """
>>> gs.nn.KLDivLoss(reduction="batchmean")(np.log(np.array([[0.5, 0.5]])), np.array([[1.0, 0.0]])).round(6)
np.float64(0.693147)
""",
    "PoissonNLLLoss": """
>>> gs.nn.PoissonNLLLoss(reduction="none")(np.array([0.0, 1.0]), np.array([2.0, 1.0])).round(6)
array([1.      , 1.718282])
""",
    "GaussianNLLLoss": """
>>> gs.nn.GaussianNLLLoss()(np.array([1.0]), np.array([3.0]), np.array([1.0]))
np.float64(2.0)
""",
    "HingeEmbeddingLoss": """
>>> gs.nn.HingeEmbeddingLoss(reduction="none")(np.array([0.25, 0.25]), np.array([1, -1]))
array([0.25, 0.75])
""",
    "MarginRankingLoss": """
>>> gs.nn.MarginRankingLoss(reduction="none")(np.ones(2), np.array([3.0, 0.0]), np.array([1, 1]))
array([2., 0.])
""",
    "CosineEmbeddingLoss": """
>>> gs.nn.CosineEmbeddingLoss()(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]]), np.array([1]))
np.float64(1.0)
""",
    "TripletMarginLoss": """
>>> gs.nn.TripletMarginLoss()(np.zeros((1, 2)), np.array([[3.0, 4.0]]), np.zeros((1, 2))).round(4)
np.float64(6.0)
""",
    "SoftMarginLoss": """
>>> gs.nn.SoftMarginLoss(reduction="none")(np.array([0.0, 1000.0]), np.array([1, -1])).round(6)
array([6.93147e-01, 1.00000e+03])
""",
    "MultiLabelSoftMarginLoss": """
>>> gs.nn.MultiLabelSoftMarginLoss()(np.array([[0.0, 1000.0]]), np.ones((1, 2))).round(6)
np.float64(0.346574)
""",
    "MultiMarginLoss": """
>>> gs.nn.MultiMarginLoss()(np.array([[0.0, 0.5, 2.0]]), np.array([1]))
np.float64(1.0)
""",
    "MultiLabelMarginLoss": """
>>> gs.nn.MultiLabelMarginLoss()(np.array([0.0, 0.5, 2.0]), np.array([1, -1, -1])).round(6)
np.float64(1.0)
""",
    "TripletMarginWithDistanceLoss": """
>>> city = lambda x, y: np.sum(np.abs(x - y), axis=-1)
>>> loss = gs.nn.TripletMarginWithDistanceLoss(distance_function=city)
>>> loss(np.zeros((1, 2)), np.array([[3.0, 4.0]]), np.zeros((1, 2)))
np.float64(8.0)
""",
    "CTCLoss": """
>>> even = np.log(np.full((2, 3), 1 / 3))  # 2 steps, 3 classes, of which 0 is blank: 01, 10 or 11
>>> gs.nn.CTCLoss()(even, np.array([1]), 2, 1).round(6)
np.float64(1.098612)
""",
}
