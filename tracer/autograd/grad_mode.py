"""The modes by the name of the module that they have in `torch.autograd`."""

from __future__ import annotations

from typing import Any

from ..core.thread_state import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class set_multithreading_enabled:  # torch's name
    """Taken for PyTorch's sake: backward runs in the thread that calls it, whatever `mode` is."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass
