"""Values of a function for finite differences: with matrices symmetrised where their gradients are, by convention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...runtime.hermitian import noting_hermitian, symmetrising
from ..derivatives.vjp import forward

__all__ = ["Evaluation"]


class Evaluation:
    """Calls a function as it is, or where it hands symmetric matrices to np.linalg.eigh and the like, with their Hermitian parts.

    Such an op reads one triangle, while its gradient, symmetrised as PyTorch's is, belongs to the whole matrix: finite
    differences agree with it, in any composition, where the op sees the Hermitian part of a matrix that is moved.
    """

    def __init__(self, function: Any, places: Iterable[int | str], args: Any, kwargs: dict[str, Any]) -> None:
        self.function, self.places = function, tuple(places)
        with noting_hermitian() as noted:
            forward(function, self.places, tuple(args), kwargs)
        self.symmetrised = bool(noted) and all(hermitian for _, hermitian in noted)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.symmetrised:
            return self.function(*args, **kwargs)
        with symmetrising():
            return forward(self.function, self.places, args, kwargs)[0]
