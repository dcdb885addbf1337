"""Which calls of the native target Python still does: of the golden functions, the readable ones and the benchmarks, by op."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "tests" / "corpus")]

import numpy as np  # noqa: E402
from workloads import WORKLOADS, plain_loop  # noqa: E402

import gradscribe as gs  # noqa: E402
from gradscribe.runtime.errors import CompileError  # noqa: E402
from gradscribe.transforms.compiler.driver.compiled import Compiled  # noqa: E402
from gradscribe.transforms.compiler.driver.native import kernel_for  # noqa: E402
from gradscribe.transforms.compiler.native.values import RefusedError  # noqa: E402

from golden_functions import examples  # noqa: E402
from readable.collection import cases  # noqa: E402

Job = tuple[str, Any, tuple[Any, ...]]


def golden() -> Iterator[Job]:
    """The golden functions."""
    for example in examples():
        yield example.function.__name__, example.differentiated(), example.args


def readable() -> Iterator[Job]:
    """Those of `tests/corpus/readable`."""
    for case in cases():
        yield case.function.__name__, case.differentiated(), case.args


def benchmarks() -> Iterator[Job]:
    """The workloads of the benchmarks, small."""
    for name, work in WORKLOADS.items():
        args = work.arguments(np.random.default_rng(0), True)
        yield name, gs.value_and_grad(work.make(np, plain_loop), argnums=work.argnums), args


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for group in (golden, readable, benchmarks):
        native, kernels, called, refused = 0, 0, Counter[str](), []
        for name, function, args in group():
            try:
                with np.errstate(all="ignore"):
                    kernel = kernel_for(Compiled(function, {"verify": False}).specialisation(*args))
            except (RefusedError, CompileError) as why:
                refused.append(f"{name} ({why})")
                continue
            kernels += 1
            native += kernel.native
            called += kernel.called_out
        share = called.total() / max(native + called.total(), 1)
        print(f"{group.__name__}: {kernels} kernels, {native} calls in C, {called.total()} of Python ({share:.1%})")
        print(f"    {', '.join(f'{op} ({n})' for op, n in called.most_common()) or 'none'}")
        for words in refused:
            print(f"    NumPy runs {words}")
