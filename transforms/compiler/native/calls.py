"""Calls of Python from a kernel: each call without a C form as a function of the values that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....runtime.ir.graph import Call, Value

__all__ = ["python_call"]


def python_call(call: Call, reads: Sequence[Value], quiet: bool, over: bool = False) -> Callable[..., Any]:
    """A function of what a call reads that gives its result, without warnings where the program has none there."""
    space: dict[str, Any] = {"errstate": np.errstate}
    names = {v: f"v{k}" for k, v in enumerate(reads)}

    def text(x: Any) -> str:
        if isinstance(x, Value):
            return names[x]
        if type(x) is tuple:
            return f"({''.join(f'{text(part)}, ' for part in x)})"
        if type(x) is list:
            return f"[{', '.join(map(text, x))}]"
        if isinstance(x, slice):
            return f"slice({text(x.start)}, {text(x.stop)}, {text(x.step)})"
        if x is None or type(x) in (bool, int, str):
            return repr(x)
        space[f"c{len(space)}"] = x
        return f"c{len(space) - 1}"

    fn = call.op.fn
    if over and call.op.consuming is not None:
        fn = call.op.consuming
        parts = [text(x) for x in call.args]
    else:
        positional, named = call.op.call_form(call.args)
        parts = [text(x) for x in positional] + [f"{name}={text(x)}" for name, x in named.items()]
    space["fn"] = fn
    body = f"fn({', '.join(parts)})"
    inner = f"    with errstate(all='ignore'):\n        return {body}" if quiet else f"    return {body}"
    exec(compile(f"def call({', '.join(names.values())}):\n{inner}\n", f"<call of {call.op.path}>", "exec"), space)
    made: Callable[..., Any] = space["call"]
    return made
