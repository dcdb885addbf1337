"""Activations, softmaxes and losses on both libraries: values, gradients, errors and warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from network_cases import CASES, CHANCES, INDEX, LOGITS, UNARY, Case, X, Y

BIG = np.array([[1000.0, -1000.0, 0.0], [-1000.0, -1000.0, -1000.0], [1000.0, 999.0, 998.0]])
# Numbers in PyTorch's kernels that are float32 whatever the input: 1 / 6, and 1e-12.
ROUNDED = {"hardsigmoid": 1e-7, "binary_cross_entropy": 1e-7}


def functional(torch: Any) -> Any:
    return torch.functional if torch is gs else torch.nn.functional


def call(torch: Any, name: str, arrays: tuple[Any, ...], wrt: int, options: dict[str, Any]) -> list[np.ndarray]:
    """The value, and the gradients of it, summed up with weights."""
    tensors = [torch.tensor(a, requires_grad=True) if k < wrt else torch.tensor(a) for k, a in enumerate(arrays)]
    given = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    found = getattr(functional(torch), name, None) or getattr(torch, name)
    value = found(*tensors, **given)
    shape = tuple(value.shape)
    (value * torch.tensor(np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape))).sum().backward()
    return [np.array(t.tolist()).reshape(tuple(t.shape)) for t in (value.detach(), *[t.grad for t in tensors[:wrt]])]


def agree(name: str, arrays: tuple[Any, ...], wrt: int = 1, atol: float = 1e-14, **options: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = call(torch, name, arrays, wrt, options)
    finally:
        torch.set_default_dtype(before)
    for found, one in zip(call(gs, name, arrays, wrt, options), expected, strict=True):
        np.testing.assert_allclose(found, one, rtol=ROUNDED.get(name, 1e-12), atol=atol)


@pytest.mark.parity
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_values_and_gradients(case: Case) -> None:
    with warnings.catch_warnings():
        if case.warns:
            warnings.simplefilter("ignore", UserWarning)
        agree(case.name, case.arrays, case.wrt, **case.options)


@pytest.mark.parity
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", UNARY)
def test_kinks_and_tails(name: str, dtype: Any) -> None:
    """Also far out, where a formula less careful gives 0, inf or NaN."""
    points = [-1000, -40, -20, -6, -3, -1, -0.9, -0.5, -0.1, -0.0, 0, 0.1, 0.5, 0.9, 1, 3, 6, 20, 21, 40, 1000]
    if dtype == np.float32:
        torch, close = pytest.importorskip("torch"), {"rtol": 2e-5, "atol": 1e-6 if name == "gelu" else 1e-11}
        x, y = (lib.tensor(np.array(points, dtype), requires_grad=True) for lib in (gs, torch))
        for options in UNARY[name]:
            values = getattr(gs.functional, name)(x, **options), getattr(torch.nn.functional, name)(y, **options)
            np.testing.assert_allclose(*[v.detach().numpy() for v in values], **close)
            slopes = gs.autograd.grad(values[0].sum(), x)[0], torch.autograd.grad(values[1].sum(), y)[0]
            np.testing.assert_allclose(*[v.numpy() for v in slopes], **close)
        return
    for options in UNARY[name]:
        agree(
            name,
            (np.array(points, float),),
            atol=1e-30 if name in ("sigmoid", "logsigmoid", "elu") else 1e-15,
            **options,
        )


@pytest.mark.parity
@pytest.mark.parametrize(
    ("name", "arrays", "options"),
    [
        ("cross_entropy", (BIG, np.array([0, 1, 2])), {}),
        ("cross_entropy", (BIG, np.array([1, 0, 0])), {"label_smoothing": 0.1}),
        ("cross_entropy", (BIG, np.array([-100, 1, -100])), {}),
        ("cross_entropy", (BIG, np.full((3, 3), 1 / 3)), {}),
        ("softmax", (BIG,), {"dim": 1}),
        ("log_softmax", (BIG,), {"dim": 1}),
        ("log_softmax", (np.array([-np.inf, 0.0, 1.0]),), {"dim": 0}),
        ("logsumexp", (BIG,), {"dim": 1}),
        ("logsumexp", (np.array([-np.inf, 0.0, 1.0]),), {"dim": 0}),
        ("binary_cross_entropy_with_logits", (BIG, 1.0 * (BIG > 0)), {}),
        ("binary_cross_entropy_with_logits", (BIG, 1.0 * (BIG <= 0)), {"pos_weight": np.array([2.0, 3.0, 4.0])}),
        ("binary_cross_entropy", (np.array([0.0, 1.0, 0.0, 1.0, 1e-300]), np.array([0.0, 1.0, 1.0, 0.0, 1.0])), {}),
        ("nll_loss", (np.array([[-np.inf, 0.0]]), np.array([1])), {}),
        ("l1_loss", (np.array([-1.0, 0.0, 1.0]), np.zeros(3)), {}),
        ("smooth_l1_loss", (np.array([-1.0, 0.0, 1.0]), np.zeros(3)), {}),
        ("huber_loss", (np.array([-1.0, 0.0, 1.0]), np.zeros(3)), {}),
        ("hinge_embedding_loss", (np.array([1.0, 1.0, 0.0]), np.array([-1.0, 1.0, -1.0])), {}),
        ("margin_ranking_loss", (np.ones(2), np.ones(2), np.array([1.0, -1.0])), {}),
        ("triplet_margin_loss", (np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3))), {}),
        ("normalize", (np.array([[0.0, 0.0], [1e-13, 0.0]]),), {}),
        ("pairwise_distance", (np.ones((2, 3)), np.ones((2, 3))), {"eps": 0.0}),
        ("gaussian_nll_loss", (np.ones(3), np.zeros(3), np.array([0.0, 1e-7, 1.0])), {}),
    ],
)
def test_far_out_and_on_kinks(name: str, arrays: tuple[Any, ...], options: dict[str, Any]) -> None:
    agree(name, arrays, **options)


@pytest.mark.parity
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_empty_batches(reduction: str) -> None:
    for name in (
        "mse_loss",
        "l1_loss",
        "huber_loss",
        "smooth_l1_loss",
        "binary_cross_entropy_with_logits",
        "soft_margin_loss",
    ):
        agree(name, (np.zeros((0, 3)), np.zeros((0, 3))), reduction=reduction)
    for name in ("cross_entropy", "nll_loss"):
        agree(name, (np.zeros((0, 3)), np.zeros(0, int)), reduction=reduction)
        agree(name, (np.zeros((0, 3)), np.zeros(0, int)), reduction=reduction, weight=np.ones(3))
        agree(name, (np.zeros((0, 3, 2)), np.zeros((0, 2), int)), reduction=reduction)


# --- errors, on both libraries --------------------------------------------------------------------------------------

ERRORS: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ("mse_loss", (X, Y), {"reduction": "average"}, ValueError, "average is not a valid value for reduction"),
    ("mse_loss", (X, Y), {"weight": X[0]}, ValueError, "Weights and input must have the same size"),
    ("smooth_l1_loss", (X, Y), {"beta": -1.0}, RuntimeError, "does not support negative values for beta"),
    ("huber_loss", (X, Y), {"delta": 0.0}, RuntimeError, "does not support non-positive values for delta"),
    ("cross_entropy", (X, np.array([0, 4, 1])), {}, IndexError, "Target 4 is out of bounds"),
    ("cross_entropy", (X, np.array([0, -1, 1])), {}, IndexError, "Target -1 is out of bounds"),
    ("nll_loss", (X, np.array([0, 4, 1])), {}, IndexError, "Target 4 is out of bounds"),
    (
        "cross_entropy",
        (X, INDEX[:2]),
        {},
        ValueError,
        r"Expected input batch_size \(3\) to match target batch_size \(2\)",
    ),
    (
        "cross_entropy",
        (X, INDEX[:, None]),
        {},
        RuntimeError,
        "0D or 1D target tensor expected, multi-target not supported",
    ),
    ("cross_entropy", (LOGITS, np.zeros((3, 3), int)), {}, RuntimeError, "Expected target size"),
    ("cross_entropy", (X, np.zeros(3)), {}, RuntimeError, "expected target dtype to be Long or Byte"),
    ("cross_entropy", (X, np.zeros((3, 4), int)), {}, RuntimeError, "Expected floating point type for target"),
    ("cross_entropy", (X, Y), {"ignore_index": 0}, RuntimeError, "ignore_index is not supported for floating point"),
    ("cross_entropy", (X, INDEX), {"weight": X[0, :3]}, RuntimeError, "defined either for all 4 classes or no classes"),
    ("cross_entropy", (X, INDEX), {"label_smoothing": 1.5}, RuntimeError, "must be between 0.0 and 1.0"),
    ("binary_cross_entropy", (CHANCES, Y[0]), {}, ValueError, "that is different to the input size"),
    ("binary_cross_entropy", (CHANCES + 1, Y), {}, RuntimeError, "all elements of input should be between 0 and 1"),
    ("binary_cross_entropy_with_logits", (X, Y[0]), {}, ValueError, "must be the same as input size"),
    ("kl_div", (X, CHANCES), {"reduction": "all"}, ValueError, "all is not a valid value for reduction"),
    ("poisson_nll_loss", (X, Y), {"reduction": "all"}, ValueError, "all is not a valid value for reduction"),
    ("gaussian_nll_loss", (X, Y, -CHANCES), {}, ValueError, "var has negative entry/entries"),
    ("gaussian_nll_loss", (X, Y, CHANCES[:2, 0]), {}, ValueError, "var is of incorrect size"),
    ("margin_ranking_loss", (X, Y, Y[0]), {}, RuntimeError, "All input tensors should have same dimension"),
    ("cosine_embedding_loss", (X, Y, Y), {}, RuntimeError, "0D or 1D target tensor expected"),
    ("triplet_margin_loss", (X, Y, Y), {"margin": 0.0}, ValueError, "margin must be greater than 0"),
    (
        "softmax",
        (X,),
        {"dim": 2},
        IndexError,
        r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
    ),
    ("glu", (X[:, :3],), {}, RuntimeError, "Halving dimension must be even, but dimension 1 is size 3"),
    ("glu", (X[0, 0],), {}, RuntimeError, "glu does not support scalars"),
    ("prelu", (X, np.ones(3)), {}, RuntimeError, "Mismatch of parameter numbers and input channel size"),
    ("softshrink", (X,), {"lambd": -1.0}, RuntimeError, r"lambda must be in range \[0"),
    ("gelu", (X,), {"approximate": "erf"}, RuntimeError, "approximate argument must be either none or tanh"),
    ("hardtanh", (X,), {"min_val": 1.0, "max_val": -1.0}, ValueError, "min_val cannot be greater than max_val"),
    ("celu", (X,), {"alpha": 0.0}, RuntimeError, "alpha cannot be 0 for CELU"),
    (
        "rrelu",
        (X,),
        {"lower": 0.5, "upper": 0.2},
        RuntimeError,
        "Lower bound should be less than or equal to the upper",
    ),
    ("one_hot", (np.array([0, -1]),), {}, RuntimeError, "Class values must be non-negative"),
    ("one_hot", (np.array([0, 3]),), {"num_classes": 2}, RuntimeError, "Class values must be smaller than num_classes"),
    ("one_hot", (X,), {}, RuntimeError, "only applicable to index tensor"),
    ("one_hot", (np.zeros(0, int),), {}, RuntimeError, "Can not infer total number of classes from empty tensor"),
]


@pytest.mark.parametrize(
    ("name", "arrays", "options", "error", "words"), ERRORS, ids=[f"{e[0]}, {e[4][:24]}" for e in ERRORS]
)
def test_errors(
    torch: Any, name: str, arrays: tuple[Any, ...], options: dict[str, Any], error: type[Exception], words: str
) -> None:
    given = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    with pytest.raises(error, match=words):
        getattr(functional(torch), name)(*map(torch.tensor, arrays), **given)


# --- warnings, on both ----------------------------------------------------------------------------------------------


def test_a_target_of_another_size_warns(torch: Any) -> None:
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        with pytest.warns(UserWarning, match="This will likely lead to incorrect results due to broadcasting"):
            getattr(functional(torch), name)(torch.tensor(X), torch.tensor(X[:1]))


def test_softmax_without_dim_warns(torch: Any) -> None:
    for x, dim in ((X, 1), (X[0], 0), (LOGITS, 0)):
        with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated"):
            found = functional(torch).softmax(torch.tensor(x))
        assert found.tolist() == functional(torch).softmax(torch.tensor(x), dim=dim).tolist()


def test_kl_div_warns_of_its_mean(torch: Any) -> None:
    with pytest.warns(
        UserWarning, match="reduction: 'mean' divides the total loss by both the batch size and the support"
    ):
        functional(torch).kl_div(torch.tensor(X), torch.tensor(CHANCES))


@pytest.mark.parametrize(
    ("old", "new"), [((True, None), "mean"), ((False, None), "sum"), ((None, False), "none"), ((False, False), "none")]
)
def test_the_arguments_of_old(torch: Any, old: tuple[Any, Any], new: str) -> None:
    x, y = torch.tensor(X), torch.tensor(Y)
    with pytest.warns(UserWarning, match=f"please use reduction='{new}' instead"):
        found = functional(torch).mse_loss(x, y, *old)
    assert found.tolist() == functional(torch).mse_loss(x, y, reduction=new).tolist()
    with pytest.warns(UserWarning, match=f"please use reduction='{new}' instead"):
        assert torch.nn.MSELoss(*old).reduction == new


# --- classes, on both -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "MSELoss()", "HuberLoss(delta=2.0)", "SmoothL1Loss(beta=0.5)", "L1Loss(reduction='sum')", "KLDivLoss()",
        "PoissonNLLLoss()", "GaussianNLLLoss()", "ReLU()", "ReLU(inplace=True)", "LeakyReLU(0.2)", "ELU()", "GELU('tanh')",
        "Softplus()", "Hardtanh(-2.0, 2.0)", "Softshrink()", "Threshold(0.5, 2.0)", "GLU()", "Softmax(dim=1)", "Sigmoid()",
        "CELU(0.5)", "RReLU()", "LeakyReLU(0.2, inplace=True)", "Softmin(0)", "TripletMarginLoss(swap=True)", "SELU()",
    ],
)  # fmt: skip
def test_classes_are_shown_as_what_they_are(torch: Any, text: str) -> None:
    expected = {
        "LeakyReLU(0.2)": "LeakyReLU(negative_slope=0.2)", "ELU()": "ELU(alpha=1.0)", "GELU('tanh')": "GELU(approximate='tanh')",
        "Softplus()": "Softplus(beta=1.0, threshold=20.0)", "Hardtanh(-2.0, 2.0)": "Hardtanh(min_val=-2.0, max_val=2.0)",
        "Softshrink()": "Softshrink(0.5)", "Threshold(0.5, 2.0)": "Threshold(threshold=0.5, value=2.0)", "GLU()": "GLU(dim=-1)",
        "CELU(0.5)": "CELU(alpha=0.5)", "RReLU()": "RReLU(lower=0.125, upper=0.3333333333333333)", "Softmin(0)": "Softmin(dim=0)",
        "LeakyReLU(0.2, inplace=True)": "LeakyReLU(negative_slope=0.2, inplace=True)",
        "ReLU(inplace=True)": "ReLU(inplace=True)", "Softmax(dim=1)": "Softmax(dim=1)",
    }.get(text, text.partition("(")[0] + "()")  # fmt: skip
    assert repr(eval(f"nn.{text}", {"nn": torch.nn})) == expected


def test_a_loss_as_an_object(torch: Any) -> None:
    weight = torch.tensor(np.array([0.5, 1.0, 2.0, 1.5]))
    criterion = torch.nn.CrossEntropyLoss(weight, ignore_index=2, label_smoothing=0.1)
    assert (criterion.ignore_index, criterion.reduction, criterion.label_smoothing) == (2, "mean", 0.1)
    assert criterion.weight is weight
    x, t = torch.tensor(X, requires_grad=True), torch.tensor(INDEX)
    loss = criterion(x, t)
    loss.backward()
    expected = functional(torch).cross_entropy(x, t, weight, ignore_index=2, label_smoothing=0.1)
    assert loss.item() == expected.item()
    assert x.grad[0].tolist() == [0.0] * 4
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        torch.nn.CrossEntropyLoss(labels=3)


def test_mse_of_a_linear_model_of_one_number(torch: Any) -> None:
    """The loss of the tutorials: one weight, one bias, one example."""
    w, b = torch.tensor([[2.0]], requires_grad=True), torch.tensor([0.5], requires_grad=True)
    loss = torch.nn.MSELoss()(torch.tensor([[3.0]]) @ w.T + b, torch.tensor([[6.0]]))
    loss.backward()
    assert (loss.item(), w.grad.item(), b.grad.item()) == (0.25, 3.0, 1.0)


def test_relu_in_place(torch: Any) -> None:
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    y = x * 2
    assert functional(torch).relu(y, inplace=True) is y
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([0.0, 4.0], [0.0, 2.0])
    z = x * x
    assert functional(torch).leaky_relu(z - 2, 0.5, inplace=True).tolist() == [-0.5, 2.0]
