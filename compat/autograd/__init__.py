"""autograd's names, for programs written for it: `import gradscribe.compat.autograd as autograd`, and `.numpy as np`."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ...transforms.finders import DropIn
from .builtins import dict, isinstance, list, tuple, type
from .differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    hvp,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from .extend import (
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)

if TYPE_CHECKING:
    import numpy as numpy

    from . import builtins as builtins
    from . import core as core
    from . import differential_operators as differential_operators
    from . import extend as extend
    from . import misc as misc
    from . import test_util as test_util
    from . import tracer as tracer
    from . import util as util
    from . import wrap_util as wrap_util

    scipy: Any  # which is optional

__all__ = [
    "checkpoint", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums", "deriv", "dict",
    "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian", "hessian_tensor_product",
    "hessian_vector_product", "holomorphic_grad", "hvp", "isinstance", "jacobian", "list", "make_ggnvp", "make_hvp",
    "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict", "notrace_primitive", "primitive",
    "tensor_jacobian_product", "tuple", "type", "value_and_grad", "vector_jacobian_product",
]  # fmt: skip

_FACE = __name__.partition(".")[0]
_MODULES = (
    "builtins",
    "core",
    "differential_operators",
    "extend",
    "misc",
    "numpy",
    "scipy",
    "test_util",
    "tracer",
    "util",
    "wrap_util",
)
sys.meta_path[:0] = [DropIn(f"{__name__}.{name}", name, f"{_FACE}.{name}") for name in ("numpy", "scipy")]


if not TYPE_CHECKING:  # a name that is not declared is an error to them

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module(f".{name}", __name__)
