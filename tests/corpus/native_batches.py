"""Many kernels in one translation unit, since a compiler's start costs more than most of them; and what each gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradscribe.transforms.compiler.driver.compiled import Compiled
from gradscribe.transforms.compiler.driver.generated import Specialisation
from gradscribe.transforms.compiler.driver.native import kernel_for
from gradscribe.transforms.compiler.native.build import built, compiler
from gradscribe.transforms.compiler.native.emit import Kernel
from gradscribe.transforms.compiler.native.kernel import Loaded
from gradscribe.transforms.compiler.native.prelude import ENTRY, prelude

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C compiler on the PATH")


class Native(NamedTuple):
    """One kernel, its call, and that of NumPy's source; `left` counts what C leaves to NumPy."""

    kernel: Kernel
    run: Callable[..., Any]
    numpy: Callable[..., Any]
    left: list[int]


def written(function: Any, *args: Any, **kwargs: Any) -> tuple[Specialisation, Kernel]:
    """The kernel of a function of these arguments; RefusedError and CompileError where there is none."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        specialisation = Compiled(function, {"verify": False}).specialisation(*args, **kwargs)
        return specialisation, kernel_for(specialisation)


def together(found: Iterable[tuple[Specialisation, Kernel]]) -> list[Native]:
    """Build kernels in one piece."""
    found = list(found)

    def whole(vectors: bool) -> str:
        parts = [prelude(vectors)]
        for k, (_, kernel) in enumerate(found):
            parts += [f"#define run run_{k}\n#define entry entry_{k}\n{kernel.text}{ENTRY}"]
            parts += ["#undef run\n#undef entry\n#undef ARGUMENTS\n#undef SLOTS\n#undef OBJECTS\n#undef STACKS"]
        return "\n".join(parts)

    path = built(whole, None, lambda place, size: None)
    return [_loaded(path, specialisation, kernel, f"entry_{k}") for k, (specialisation, kernel) in enumerate(found)]


def _loaded(path: str, specialisation: Specialisation, kernel: Kernel, name: str) -> Native:
    left = [0]

    def numpy(*args: Any) -> Any:
        return specialisation.by_position()(*args)

    def fallback(why: int, *args: Any) -> Any:
        left[0] += 1
        return numpy(*args)

    return Native(kernel, Loaded(path, kernel, fallback, fallback, name).probe, numpy, left)
