"""Every method of the table against PyTorch: results, dtypes, shapes and gradients, in place too, and the constructors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.explorer import tensor_methods

from method_cases import ARRAYS, DIFFERENTIATED, IN_PLACE, TORCH, calls, evaluate, rows

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

LESS_EXACT = {"digamma": 1e-7, "polygamma": 1e-7}  # PyTorch's are


@pytest.fixture(autouse=True)
def doubles() -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def _values(library: Any, call: str) -> dict[str, Any]:
    made = {}
    for name in set(re.findall(r"\b[a-z]\b", call)) & ARRAYS.keys():
        array = ARRAYS[name]
        kind = array.dtype if library is gs else getattr(torch, str(array.dtype))
        made[name] = library.tensor(array.tolist(), dtype=kind)
        if name in DIFFERENTIATED:
            made[name].requires_grad_()
    return made


def _array(found: Any) -> Any:
    if isinstance(found, torch.Tensor):
        return found.detach().resolve_conj().numpy()
    return found.detach().numpy() if isinstance(found, gs.Tensor) else np.asarray(found)


def _gradients(library: Any, results: list[Any], values: dict[str, Any]) -> dict[str, Any]:
    """The gradients of a sum of all results, each element with another weight."""
    total = library.tensor(0.0)
    for r in results:
        if isinstance(r, (gs.Tensor, torch.Tensor)) and r.requires_grad:
            weight = np.cos(np.arange(r.numel()) + 1.0).reshape(tuple(r.shape))
            real = (
                r.real + 2 * r.imag
                if r.dtype in (torch.complex128, torch.complex64, np.complex128, np.complex64)
                else r
            )
            total = total + (real * library.tensor(weight.tolist())).sum()
    if total.requires_grad:
        total.backward()
    return {k: np.array((v.grad + 0).tolist()) for k, v in values.items() if v.is_leaf and v.grad is not None}


def _same(call: str, run: Any) -> None:
    (ours, our_slopes), (theirs, their_slopes) = run(gs), run(torch)
    rtol = next((tolerance for name, tolerance in LESS_EXACT.items() if name in call), 1e-12)
    assert len(ours) == len(theirs), call
    for a, b in zip(map(_array, ours), map(_array, theirs), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), call
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-14, err_msg=call)
    for k in our_slopes.keys() | their_slopes.keys():
        np.testing.assert_allclose(
            our_slopes.get(k, 0.0), their_slopes.get(k, 0.0), rtol=max(rtol, 1e-10), atol=1e-12, err_msg=call
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", rows(TORCH))
def test_a_call_gives_what_pytorch_gives(row: str) -> None:
    for call in calls(row):

        def run(library: Any, call: str = call) -> Any:
            values = _values(library, call)
            results = evaluate(call, values)
            return results, _gradients(library, results, values)

        _same(call, run)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", rows(IN_PLACE))
def test_a_write_in_place_too(row: str) -> None:
    for call in calls(row):

        def run(library: Any, call: str = call) -> Any:
            values = _values(library, f"x.{call}")
            written = values["x"] * 1
            assert evaluate(f"t.{call}", {**values, "t": written})[0] is written
            return [written], _gradients(library, [written], values)

        _same(call, run)


WRONG = """
x.view(4, 2) | x.T.view(6) | x.expand(3, 3) | x.unsqueeze(5) | x.narrow(1, 2, 2) | x.topk(7) | x.kthvalue(0)
x.split([1, 1], 1) | x.chunk(0) | k.unbind() | x.gather(1, j) | x.mm(v) | x.mv(y) | b.bmm(x) | x.size(3)
x.index_select(1, i) | x.t().t().view(2, 2) | b.t() | x.gather(1, y) | v.outer(x) | x.clamp() | x.masked_scatter(m, k)
x.softmax(2) | x.logsumexp(4) | x.div(y, rounding_mode="up") | x.unfold(0, 3, 1) | x.amax(2) | x.is_nonzero()
v.vdot(x)
"""


def test_both_refuse() -> None:
    for call in calls(WRONG):
        with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)) as theirs:
            evaluate(call, _values(torch, call))
        with pytest.raises((theirs.type, ValueError) if theirs.type is RuntimeError else theirs.type):  # or NumPy's
            evaluate(call, _values(gs, call))


CONSTRUCTORS = """
lib.ones(2, 3) | lib.ones((2, 3)) | lib.ones([2]) | lib.ones(size=(1, 2)) | lib.zeros(())
lib.zeros(3, requires_grad=True) | lib.full((2, 2), 0.5) | lib.full((2,), 7) | lib.arange(4) | lib.arange(1, 4)
lib.arange(1.0, 2.0, 0.25) | lib.linspace(0, 1, 5) | lib.linspace(1, -1, steps=3) | lib.logspace(0, 2, 3)
lib.logspace(0, 3, 4, base=2.0) | lib.eye(3) | lib.eye(2, 3) | lib.ones_like(x) | lib.zeros_like(n)
lib.full_like(x, 2.0) | lib.empty(0) | lib.empty_like(x).shape | lib.as_tensor(x)
"""


def test_constructors() -> None:
    for call in calls(CONSTRUCTORS):

        def run(library: Any, call: str = call) -> Any:
            values = {k: v.detach() for k, v in _values(library, call).items()}
            made = evaluate(call, {**values, "lib": library})
            return made, {"requires_grad": np.array(getattr(made[0], "requires_grad", False))}

        _same(call, run)


def test_samplers_have_pytorchs_shapes_and_kinds() -> None:
    for call in (
        "rand(2, 3)", "randn((2,))", "rand_like(x)", "randn_like(x)", "randint(5, (3,))", "randint(2, 5, (3,))", "randperm(4)",
        "normal(0.0, 1.0, (2,))", "normal(x, 1.0)", "normal(0.0, p)", "rand(2, requires_grad=True)",
    ):  # fmt: skip
        found = []
        for library in (gs, torch):
            values = {k: v.detach() for k, v in _values(library, call).items()}
            (made,) = evaluate(f"lib.{call}", {**values, "lib": library})
            found.append((tuple(made.shape), _array(made).dtype, made.requires_grad, made.is_leaf))
        assert found[0] == found[1], call


def test_every_name_of_pytorch_stands_in_the_table() -> None:
    if tuple(map(int, torch.__version__.split(".")[:2])) > (2, 13):
        pytest.skip("a later PyTorch has other names")
    known = {row.name for row in tensor_methods.rows()}
    theirs = {n for n in dir(torch.Tensor) if not n.startswith("_")}
    assert not {n for n in theirs if n not in known and n.rstrip("_") not in known}
