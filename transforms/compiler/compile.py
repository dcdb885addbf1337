"""gs.compile and its options."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from ...tracer.core.site import pruned
from .driver.compiled import LIMIT, Compiled, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typed import Like, P, S, Transformed

__all__ = ["compile", "jit"]


@overload
def compile(
    function: Callable[P, S], *, verify: bool | str = False, max_specialisations: int = ..., passes: Sequence[str] | None = None,
    dump: bool | str = False, fastmath: bool = False, loop_memory: str | None = None,
    static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (), target: str | None = None,
) -> Transformed[P, S]: ...  # fmt: skip
@overload
def compile(
    function: None = None, *, verify: bool | str = False, max_specialisations: int = ..., passes: Sequence[str] | None = None,
    dump: bool | str = False, fastmath: bool = False, loop_memory: str | None = None,
    static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (), target: str | None = None,
) -> Like: ...  # fmt: skip
@pruned
def compile(
    function: Any = None, *, verify: bool | str = False, max_specialisations: int = LIMIT, passes: Sequence[str] | None = None,
    dump: bool | str = False, fastmath: bool = False, loop_memory: str | None = None,
    static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (), target: str | None = None,
) -> Any:  # fmt: skip
    """`function` as generated NumPy source: captured at the first call of each signature, checked against eager, then run.

    Works on any function of arrays, also on `gs.grad(f)` and `gs.grad(gs.grad(f))`. A signature is the structure of the
    arguments and the dtype, shape and strides of each array; Python floats stay run-time inputs, other
    values are fixed. What cannot be compiled runs eagerly, and a gs.EagerWarning names the line; `gs.explain` shows
    what happened so far.

    `verify=True` runs every call both ways, returns eager's result, and raises VerifyError, which names the first statement
    that differs; with `verify="first calls"` the checks are those that always run, as errors. After
    `max_specialisations` different sources, new signatures run eagerly. `passes` names the optimisations that run,
    all by default, in their own order; `dump=True` prints the graph after each as a diff, `dump="file.txt"` adds it
    to that file. `fastmath=True` allows what changes the last digits: products for powers, matrix products for sums of
    products, and more; results are then checked to half of the digits, with NaN and infinities at the same places.
    `loop_memory="sqrt"`: the reverse of a loop of n trips runs it again in √n pieces, and remembers what one of them needs.
    `static_argnums` and `static_argnames` name arguments whose numbers are fixed: floats, too, and ints that would become inputs
    where they vary, so that each value has a source of its own. `gs.jit` is another name of this.
    `target="native"` runs the function as C, built by the system's compiler at the first call, where that gives what the source
    of NumPy gives but for rounding; with "auto" a child process builds while calls run NumPy's source, and later calls run the C.
    The default is "numpy", or what GRADSCRIBE_TARGET says.

    >>> import numpy as np, gradscribe as gs
    >>> f = gs.compile(gs.grad(lambda x: np.sum(np.sin(x))))
    >>> bool(np.all(f(np.arange(3.0)) == np.cos(np.arange(3.0))))
    True
    """
    if verify not in (True, False, "first calls"):
        raise ValueError(f'verify is True, False or "first calls", not {verify!r}')
    if type(max_specialisations) is not int or max_specialisations < 1:
        raise ValueError(f"max_specialisations is a number of at least 1, not {max_specialisations!r}")
    if not isinstance(dump, (bool, str)):
        raise ValueError(f"dump is True, False or the name of a file, not {dump!r}")
    options: dict[str, Any] = {"verify": verify, "max_specialisations": max_specialisations}
    options |= {} if passes is None else {"passes": (passes,) if isinstance(passes, str) else tuple(passes)}
    nums = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    options |= {k: v for k, v in (("static_argnums", nums), ("static_argnames", names)) if v}
    options |= {k: v for k, v in (("dump", dump), ("fastmath", fastmath), ("loop_memory", loop_memory)) if v}
    options |= {} if target is None else {"target": target}
    target_of(options)
    return functools.partial(Compiled, options=options) if function is None else Compiled(function, options)


jit = compile  # JAX's name of it
