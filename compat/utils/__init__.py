"""PyTorch's `torch.utils`, as far as it is here: `gs.utils.checkpoint`."""

from __future__ import annotations

from ...tracer.memory import checkpoint

__all__ = ["checkpoint"]
