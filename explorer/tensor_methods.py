"""The table of Tensor's methods that PyTorch's tensors have, as text and as the page docs/tensor-methods.md."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..tracer import Tensor
from ..tracer.tensors import torch_methods as table

__all__ = ["Row", "markdown", "rows", "text"]


class Row(NamedTuple):
    """One row of the table: a name, its state and a note."""

    name: str
    state: str  # "NumPy's", "PyTorch's" or "absent"
    in_place: bool  # whether `name_` is there, too
    note: str


def rows() -> list[Row]:
    """The table: every name of `torch.Tensor`, in order."""
    absent = {name: reason for reason, names in table.ABSENT.items() for name in names.split()}
    known = {name for names in table.HOMES.values() for name in names.split()}
    here = {n for n in {*known, *table.NOTES, *table.ELSEWHERE.split()} if hasattr(Tensor, n)}
    here -= {n for n in here if n.endswith("_") and n[:-1] in here}  # which stand beside those
    found = [
        Row(n, "NumPy's" if hasattr(np.ndarray, n) else "PyTorch's", hasattr(Tensor, f"{n}_"), table.NOTES.get(n, ""))
        for n in sorted(here)
    ]
    found += [Row(n, "absent", False, reason) for n, reason in absent.items() if not hasattr(Tensor, n)]
    return sorted(found, key=lambda row: (row.name.lower(), row.name))


def text(chosen: list[Row] | None = None) -> str:
    """One line a name."""
    found = rows() if chosen is None else chosen
    width = max(len(row.name) for row in found)
    return "\n".join(
        [f"{r.name:<{width}}  {r.state:<9}  {'name_' if r.in_place else '':<5}  {r.note}".rstrip() for r in found]
    )


def markdown(chosen: list[Row] | None = None) -> str:
    """The page docs/tensor-methods.md."""
    found = rows() if chosen is None else chosen
    numpys, pytorchs, absent = [[r for r in found if r.state == s] for s in ("NumPy's", "PyTorch's", "absent")]
    parts = [_HEAD.replace("COUNTS", _COUNTS.format(len(numpys), len(pytorchs), len(absent)))]
    parts.append("## Names that ndarray has\n\n| name | beside NumPy's form |\n| --- | --- |")
    parts += [f"| {_name(r)} | {r.note} |" for r in numpys]
    parts.append("\n## PyTorch's own\n")
    parts.append(", ".join([_name(r) for r in pytorchs if not r.note]) + ".\n")
    parts.append("With something to say of them:\n\n| name | what |\n| --- | --- |")
    parts += [f"| {_name(r)} | {r.note} |" for r in pytorchs if r.note]
    parts.append(_FUNCTIONS)
    parts.append(", ".join([f"`{name}`" for name in sorted((table.FUNCTIONS + table.OTHER_FUNCTIONS).split())]) + ".")
    parts.append("\n## Not here\n")
    for reason in dict.fromkeys([r.note for r in absent]):
        parts.append(f"- {reason} {', '.join([f'`{r.name}`' for r in absent if r.note == reason])}.")
    return "\n".join(parts)


def _name(row: Row) -> str:
    return f"`{row.name}`, `{row.name}_`" if row.in_place else f"`{row.name}`"


_FUNCTIONS = """
## Functions

PyTorch's functions of its namespace are in `gs.`: `gs.matmul(x, w)`, `gs.cat([a, b], dim=1)`, `gs.softmax(x, dim=0)`. They take
PyTorch's arguments and mean what PyTorch means by them: `gs.max(t, 1)` gives (values, indices), `gs.std(t)` divides by n - 1,
`gs.transpose(t, 0, 1)` swaps two axes. Of Tensors they give Tensors, of arrays arrays, inside transforms as outside; `np.matmul`
and the other functions of NumPy stay what they are. They are not among what `from gradscribe import *` imports.
"""
_COUNTS = "{} mean what NumPy means by them, {} are PyTorch's own, {} are not here"
_HEAD = """\
# The methods of a Tensor

Written by `python -m gradscribe methods --markdown`; `python -m gradscribe methods` prints the table, one name a line. It has
every name of `torch.Tensor`: COUNTS.

- What ndarray has means the same of a Tensor, bare and inside functions under `gs.grad`, `gs.compile` and the other transforms.
- PyTorch's words are taken beside NumPy's: `dim` for `axis`, `keepdim` for `keepdims`, `unbiased` and `correction` for `ddof`.
  So are forms that NumPy would reject: `t.view(2, 3)`, `t.repeat(4, 2, 1)`, `t.transpose(0, 2)` of three axes. Where PyTorch
  gives a pair for `dim=` or `keepdim=`, it is a pair here: `values, indices = t.max(dim=1)`.
- All else means what PyTorch means by it, in values, gradients and errors: `tests/torch_parity/test_tensor_methods.py` compares.
- A name with `_` writes into the tensor, and gives it back.

```python
import numpy as np
import gradscribe as gs

t = gs.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]], requires_grad=True)
print(t.size, t.size(), t.size(0))
print(t.max(1), t.max(dim=1), sep="\\n")
values, indices = t.topk(2)
values.sum().backward()
print(t.grad)
```

```text
6 (2, 3) 2
tensor([3., 5.], grad_fn=<MaxBackward0>)
Ranked(values=tensor([3., 5.], grad_fn=<SqueezeBackward0>), indices=tensor([0, 1]))
tensor([[1., 0., 1.],
        [0., 1., 1.]])
```

Tensors are made by `gs.tensor` and by PyTorch's constructors, with `dtype=` and `requires_grad=`: `gs.ones`, `zeros`, `full`,
`empty`, `arange`, `linspace`, `logspace`, `eye`, their `_like` forms, `from_numpy`, `as_tensor`. `gs.rand`, `randn`, `randint`,
`randperm`, `normal`, `rand_like` and `randn_like` draw from `gs.default_generator`, a `np.random.Generator` that
`gs.manual_seed(n)` starts anew, or from `generator=`. Floats are float64 unless `dtype` says otherwise. Compiled functions draw
from the same stream:

```python
@gs.compile
@gs.value_and_grad
def noisy(w, x):
    return np.mean((w * x + gs.randn(x.shape)) ** 2)

w, x = np.ones(3), np.ones((5, 3))
gs.manual_seed(0)
print(f"{noisy(w, x)[0]:.6f}")
rng = np.random.default_rng(0)
print(f"{np.mean((w * x + rng.normal(size=(5, 3))) ** 2):.6f}")
```

```text
1.394157
1.394157
```
"""
