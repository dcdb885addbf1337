"""What type checkers are told of names that are made at run time.

`python tests/corpus/typed_names.py --write`, then `ruff format`.

Tensor's methods and operators (tracer/tensors/method_types.pyi) and the functions of PyTorch's names (function_types.pyi): their
parameters are those at run time, and a result is what the calls in method_cases.py give.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

import gradscribe as gs
from gradscribe.tracer.tensors.torch_methods import FUNCTIONS, OTHER_FUNCTIONS

import method_cases

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tracer" / "tensors"
OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "lt",
    "gt",
    "le",
    "ge",
    "eq",
    "ne",
    "neg",
    "pos",
    "abs",
    "invert",
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "imatmul",
    "iand",
    "ior",
    "ixor",
    "ilshift",
    "irshift",
    "radd",
    "rsub",
    "rmul",
    "rtruediv",
    "rfloordiv",
    "rmod",
    "rpow",
    "rmatmul",
    "rand",
    "ror",
    "rxor",
    "rlshift",
    "rrshift",
]
_ALONE = {"neg", "pos", "abs", "invert"}
_KNOWN = {"bool", "int", "float", "complex", "str", "None", "int | None", "str | None", "bool | None"}
_NONE = {"put", "fill", "partition"}  # of which no case tells that they give nothing
_BUILT_IN = re.compile(r"\b(bool|int|float|complex|str)\b")


def stated() -> set[str]:
    """The names that the class bodies of Tensor and its bases state themselves."""
    found: set[str] = set()
    for file in ("tensors/tensor.py", "tensors/operators.py", "protocols/exchange.py"):
        for node in ast.parse((ROOT / "tracer" / file).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found |= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    return found


def names() -> list[str]:
    """The public names of Tensor that are made at run time."""
    return sorted(name for name in {*dir(gs.Tensor)} - stated() if not name.startswith("_"))


def results() -> dict[str, set[str]]:
    """The types of what each method gives, by the table of calls."""
    found: dict[str, set[str]] = {}
    for text in (method_cases.NUMPY, method_cases.TORCH):
        for call in method_cases.calls(text):
            last = ast.parse(call, mode="eval").body
            node = last.func if isinstance(last, ast.Call) else last
            if isinstance(node, ast.Attribute):
                values = {name: gs.tensor(array) for name, array in method_cases.ARRAYS.items()}
                with np.errstate(all="ignore"):
                    result = eval(call, {**vars(method_cases), "np": np, "gs": gs, **values})
                found.setdefault(node.attr, set()).add(_type(result))
    return found


def _type(value: Any) -> str:
    if isinstance(value, gs.Tensor):
        return "Tensor"
    if value is None or type(value) in (bool, int, float, str):
        return "None" if value is None else f"builtins.{type(value).__name__}"
    return "tuple[Any, ...]" if type(value) is tuple else "Any"  # not of named ones


def _in_full(hint: str) -> str:
    """A type as it is written where methods are called `bool` and `int`."""
    return _BUILT_IN.sub(r"builtins.\1", hint)


def _parameter(p: inspect.Parameter) -> str:
    kind = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    hint = str(p.annotation)
    if kind or hint not in _KNOWN:
        hint = "Any"
    text = f"{kind}{p.name}: {_in_full(hint)}"
    return text if p.default is p.empty else f"{text} = ..."


def _parameters(fn: Any) -> str:
    """The parameters of a function behind its first one, as they are written."""
    rows: list[str] = []
    first, *others = inspect.signature(fn).parameters.values()
    keyword_only = first.kind is first.VAR_POSITIONAL
    for p in others:
        if p.kind is p.KEYWORD_ONLY and not keyword_only and not any(row.startswith("*") for row in rows):
            rows.append("*")
        keyword_only = keyword_only or p.kind is p.KEYWORD_ONLY
        rows.append(_parameter(p))
    return "".join(f", {row}" for row in rows)


def _method(name: str, given: dict[str, set[str]]) -> str:
    member = inspect.getattr_static(gs.Tensor, name)
    found = getattr(gs.Tensor, name)
    types = given.get(name, set())
    result = next(iter(types)) if len(types) == 1 else "Any"
    if not callable(found):
        head = f"    @property\n    def {name}(self) -> {result if name != 'flat' else 'Any'}: ...\n"
        writes = isinstance(member, property) and member.fset is not None
        return head + (f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n" if writes else "")
    in_place = name.endswith("_")
    hint = str(inspect.signature(found).return_annotation)
    if in_place:
        result = "Tensor"
    elif name in _NONE or hint == "None":
        result = "None"
    elif hint in _KNOWN:
        result = _in_full(hint)
    of = getattr(gs.Tensor, name[:-1], None) if in_place else None
    plain = [p.kind for p in inspect.signature(found).parameters.values()][1:]
    if of is not None and plain == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]:
        found = of
    return f"    def {name}(self{_parameters(found)}) -> {result}: ...\n"


def methods() -> str:
    """The module of Tensor's methods."""
    given = results()
    lines = [
        '"""Tensor\'s operators and methods for type checkers, which cannot see them being made; never imported at run time.\n\n'
        'Written by tests/corpus/typed_names.py.\n"""\n\n'
        "from __future__ import annotations\n\nimport builtins\nfrom typing import TYPE_CHECKING, Any\n\n"
        "if TYPE_CHECKING:\n    from .tensor import Tensor\n\n"
        '__all__ = ["MethodTypes"]\n\n\n'
        "class MethodTypes:\n"
        "    _value: Any\n    _node: Any\n\n"
    ]
    for name in OPERATORS:
        other = "" if name in _ALONE else ", other: Any"
        note = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"    def __{name}__(self{other}) -> Tensor: ...{note}\n")
    lines.append("    def __getitem__(self, index: Any) -> Tensor: ...\n")
    lines.append("    def __setitem__(self, index: Any, value: Any) -> None: ...\n\n")
    lines += [_method(name, given) for name in names()]
    return "".join(lines)


def listed() -> list[str]:
    """PyTorch's functions that the face has."""
    return sorted({*(FUNCTIONS + OTHER_FUNCTIONS).split()})


def functions() -> str:
    """The module of PyTorch's functions."""
    lines = [
        '"""PyTorch\'s functions for type checkers, which cannot see them being made; never imported at run time.\n\n'
        'Written by tests/corpus/typed_names.py. An array in gives an array, a Tensor a Tensor: the results are Any.\n"""\n\n'
        "from __future__ import annotations\n\nimport builtins\nfrom typing import Any\n\n"
        "__all__ = [\n" + "".join(f'    "{name}",\n' for name in listed()) + "]\n\n\n"
    ]
    for name in listed():
        fn = getattr(gs, name)
        first = next(iter(inspect.signature(fn).parameters.values()))
        head = _parameter(first) if first.kind is first.VAR_POSITIONAL else f"{first.name}: Any"
        lines.append(f"def {name}({head}{_parameters(fn)}) -> Any: ...\n")
    return "".join(lines)


FILES = {"method_types.pyi": methods, "function_types.pyi": functions}

if __name__ == "__main__":
    for file, text in FILES.items():
        if "--write" in sys.argv:
            (FOLDER / file).write_text(text(), encoding="utf-8")
        else:
            print(text())
