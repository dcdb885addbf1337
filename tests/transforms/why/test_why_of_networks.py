"""gs.why of functions of gs.functional: it names what the user called, the cut, and the padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradscribe as gs

F = gs.functional  # not by an import: gs.why has to see that it is a module


LOW, HIGH = np.array([-9000.0, -8000.0]), np.array([9000.0, 8000.0])


FLAT: list[tuple[Any, Any, str, str, str]] = [
    (lambda x: F.sigmoid(x).sum(), HIGH, "sigmoid", "x", "F.sigmoid is flat to the last bit"),
    (lambda x: F.relu6(x).sum(), HIGH, "relu6", "x", "outside of 0 to 6"),
    (lambda x: F.hardtanh(x * 2).sum(), HIGH, "hardtanh", "x * 2", "outside of its bounds"),
    (lambda x: F.hardsigmoid(x).sum(), LOW, "hardsigmoid", "x", "outside of -3 to 3"),
    (lambda x: F.hardswish(x).sum(), LOW, "hardswish", "x", "not above -3"),
    (lambda x: F.hardshrink(x).sum(), np.zeros(2), "hardshrink", "x", "between -lambd and lambd"),
    (lambda x: F.softshrink(x).sum(), np.zeros(2), "softshrink", "x", "between -lambd and lambd"),
    (lambda x: F.threshold(x, 0.0, 1.0).sum(), LOW, "threshold", "x", "not above the threshold"),
    (lambda x: F.elu(x).sum(), LOW, "elu", "x", "elu is saturated"),
    (lambda x: F.selu(x).sum(), LOW, "selu", "x", "so far below 0"),
    (lambda x: F.gelu(x).sum(), LOW, "gelu", "x", "so far below 0"),
    (lambda x: F.silu(x).sum(), LOW, "silu", "x", "so far below 0"),
    (lambda x: F.mish(x).sum(), LOW, "mish", "x", "so far below 0"),
    (lambda x: F.logsigmoid(x).sum(), HIGH, "logsigmoid", "x", "so far above 0"),
    (lambda x: F.relu(x - 9500.0).sum(), HIGH, "relu", "x - 9500.0", "not above 0"),
    (lambda x: F.cross_entropy(x, 0), HIGH, "cross_entropy", "x", "in F.cross_entropy: the predictions are"),
    (lambda x: F.dropout(x, 1.0).sum(), np.ones(2), "dropout", "x", "all elements were dropped"),
    (
        lambda x: F.binary_cross_entropy_with_logits(x, np.ones(2)),
        HIGH,
        "binary_cross_entropy_with_logits",
        "x",
        "the targets to",
    ),
    (lambda x: F.layer_norm(x, (2,)).sum(), np.ones(2), "layer_norm", "x", "mean 0 and variance 1 whatever goes in"),
]


@pytest.mark.parametrize(("function", "x", "op", "variable", "words"), FLAT, ids=[case[2] for case in FLAT])
def test_why_speaks_of_the_function_that_the_user_called(
    function: Any, x: Any, op: str, variable: str, words: str
) -> None:
    found = gs.why(function, x)
    assert (found.state, found.op, found.variable) == ("zero", op, variable)
    assert words in found.reason
    assert [cause.op for cause in found.answers[0].causes] == [op]


def test_why_calls_a_cotangent_that_is_not_finite_so() -> None:
    found = gs.why(lambda x: np.sqrt(np.sum(np.where(x > 2, x, -1.0))), np.ones(2))
    assert "The cotangent that arrives there is not finite." in str(found).replace("\n      ", " ")


def test_why_finds_the_cut_where_backward_was_refused() -> None:
    w = gs.tensor(np.ones(3), requires_grad=True)
    with gs.why() as record:
        h = w.detach()
        loss = np.sum(h * 2)
        with pytest.raises(gs.AutogradError, match="does not require grad"):
            loss.backward()
    found = record(w)
    assert (found.state, found.op, found.variable) == ("None", "detach", "w")
    assert "No backward ran in this block: what was computed last requires no grad." in str(found)


def test_why_of_a_block_without_backward_does_not_ask_for_a_block() -> None:
    w = gs.tensor(np.ones(3), requires_grad=True)
    with gs.why() as record:
        np.sum(w * 2)
    assert "backward was not called in this block" in record(w).reason
    assert "Run it again" not in str(record(w))


def test_why_names_the_padding() -> None:
    found = gs.why(
        lambda table, index: F.embedding(index, table, padding_idx=0).sum(), np.ones((3, 2)), np.zeros(4, int)
    )
    assert (found.state, found.op) == ("zero", "embedding")
    assert "padding_idx" in found.reason
