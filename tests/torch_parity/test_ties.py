"""Which elements take the gradient of an extreme or a rank where several are equal, or NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

NAN, INF = math.nan, math.inf
TIES = {
    "inner": [1.0, 2.0, 2.0, 2.0, 3.0],
    "even": [1.0, 2.0, 2.0, 3.0],
    "two nan": [1.0, NAN, 2.0, NAN],
    "one nan": [2.0, 2.0, NAN, 2.0],
    "all nan": [NAN, NAN],
    "greatest": [3.0, 1.0, 3.0],
    "infinite": [INF, 1.0, INF],
    "least": [-INF, -INF],
    "all": [1.0, 1.0, 1.0, 1.0],
    "alone": [2.0],
    "rows": [[1.0, 1.0, 2.0], [2.0, 2.0, 2.0], [3.0, 1.0, 3.0]],
    "rows with nan": [[NAN, NAN], [1.0, NAN]],
}


def expected(data: Any, value: Any) -> Any:
    """The gradient where all elements like `value` share."""
    x = np.array(data)
    alike = np.isnan(x) if np.isnan(value) else x == value
    return alike / alike.sum()


@pytest.mark.parametrize("data", TIES.values(), ids=TIES)
@pytest.mark.parametrize("name", ["median", "nanmedian", "max", "min"])
def test_the_whole_is_shared_among_equal_elements_and_among_nan(torch: Any, numbers: Any, name: str, data: Any) -> None:
    x = torch.tensor(data, requires_grad=True)
    found = getattr(x, name)()
    if name in ("max", "min"):
        assert found.item() == pytest.approx(getattr(np, name)(data), nan_ok=True)
    found.backward()
    np.testing.assert_array_equal(numbers(x.grad), expected(data, found.item()))


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_amax_of_nan_stays_nan(torch: Any, numbers: Any, name: str) -> None:
    x = torch.tensor([NAN, 1.0, NAN], requires_grad=True)
    getattr(x, name)().backward()
    assert np.isnan(numbers(x.grad)).all()
    y = torch.tensor([[NAN, NAN], [1.0, 1.0]], requires_grad=True)
    getattr(y, name)(1).sum().backward()
    np.testing.assert_array_equal(numbers(y.grad), [[NAN, NAN], [0.5, 0.5]])


@pytest.mark.parametrize("name", ["median", "nanmedian", "max", "min"])
def test_along_an_axis_one_element_takes_all(torch: Any, numbers: Any, name: str) -> None:
    x = torch.tensor(TIES["rows"], requires_grad=True)
    found = getattr(x, name)(dim=1)
    found.values.sum().backward()
    assert ((numbers(x.grad) == 1).sum(axis=1) == 1).all()
    assert np.take_along_axis(numbers(x.grad), numbers(found.indices)[:, None], 1).tolist() == [[1.0]] * 3


def test_the_gradient_of_a_shared_median_is_differentiable(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0, 2.0], requires_grad=True)
    (g,) = torch.autograd.grad(x.median() ** 2, x, create_graph=True)
    assert g.tolist() == [0.0, 2.0, 2.0]
    (h,) = torch.autograd.grad(g[1], x)
    assert h.tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_a_quantile_of_nan_has_its_gradient_at_nan(torch: Any, numbers: Any, how: str) -> None:
    x = torch.tensor([1.0, NAN, 2.0, NAN], requires_grad=True)
    x.quantile(0.5, interpolation=how).backward()
    assert numbers(x.grad).tolist() == [0.0, 0.0, 0.0, 1.0]
    y = torch.tensor([[NAN, 1.0], [1.0, 3.0]], requires_grad=True)
    y.quantile(0.5, dim=1, interpolation="linear", keepdim=True).sum().backward()
    assert numbers(y.grad).tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_integers(torch: Any) -> None:
    x = torch.tensor([1, 3, 3])
    assert [x.median().item(), x.nanmedian().item(), x.max().item(), x.min().item()] == [3, 3, 3, 1]
    assert x.median().dtype == x.dtype
