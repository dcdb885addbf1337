"""Functions with their control flow converted, each once; and whether one has any, told from its bytecode."""

from __future__ import annotations

import dis
import inspect
import types
from typing import Any, NamedTuple

from ....runtime.errors import is_of_a_signal
from .hooks import cached_by_code, uses_opcode
from .operators import CELL, CONTROL

__all__ = [
    "Conversion", "conversion", "convert_code", "converted", "has_arithmetic", "has_control_flow", "is_converted", "is_helper",
]  # fmt: skip

_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs]) - {
    dis.opmap.get(n) for n in ("SEND", "END_SEND", "JUMP_BACKWARD_NO_INTERRUPT")
}
_OF_FRAMES = frozenset(["locals", "eval", "exec", "breakpoint", "_getframe", "currentframe", "getouterframes",
                        "set_trace", "extract_stack", "format_stack", "print_stack"])  # fmt: skip
_FLAGS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Conversion(NamedTuple):
    """The conversion of a function: its new code, with its syntax tree as converted; or the reason why it stays as it is."""

    code: types.CodeType | None
    reason: str = ""
    tree: Any = None


def has_control_flow(code: types.CodeType) -> bool:
    """Whether code, or that of a function in it, can jump: all else is one straight line."""
    if not _JUMPS.isdisjoint(code.co_code[::2]):
        return True
    return any(isinstance(c, types.CodeType) and has_control_flow(c) for c in code.co_consts)


@cached_by_code(1024)
def has_arithmetic(code: types.CodeType) -> bool:
    """Whether code, or that of a function in it, has operators between two values."""
    if uses_opcode(code, "BINARY_OP"):
        return True
    return any(isinstance(c, types.CodeType) and has_arithmetic(c) for c in code.co_consts)


def is_converted(code: types.CodeType) -> bool:
    """Whether code comes from a conversion."""
    return CONTROL in code.co_freevars or CONTROL in code.co_cellvars


def is_helper(code: types.CodeType) -> bool:
    """Whether code is a body, branch or test that a conversion made; it bears the name of the user's function."""
    return code.co_qualname.endswith(">") and f".<{CONTROL}." in code.co_qualname


def convert_code(function: types.FunctionType, calls: bool = False, sizes: bool = False) -> types.CodeType | None:
    """The code of `function`, converted: closed over the same variables, and over CONTROL, in whose cell CELL stands.

    None where it stays as it is; `conversion(function.__code__)` says why. With `calls`, functions without control flow are
    converted too, so that their calls are seen; with `sizes` their arithmetic.
    """
    return conversion(function.__code__, calls, sizes).code


def converted(function: types.FunctionType, calls: bool = False) -> types.FunctionType | None:
    """`function` with its control flow converted, over the same globals and cells; None where it stays as it is."""
    code = convert_code(function, calls)
    if code is None:
        return None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple([CELL if name == CONTROL else cells[name] for name in code.co_freevars])
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__ and dict(function.__kwdefaults__)
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    made.__annotations__ = function.__annotations__
    made.__dict__.update(function.__dict__)
    return made


def conversion(code: types.CodeType, calls: bool = False, sizes: bool = False) -> Conversion:
    """Return the conversion of a function with this code."""
    if is_converted(code):
        return Conversion(None, "it is converted already")
    if code.co_flags & _FLAGS:
        return Conversion(None, "it is a generator or a coroutine")
    if not (has_control_flow(code) or calls):
        return Conversion(None, "it has no loops and no branches")
    return _conversion(code, sizes)


@cached_by_code(1024)
def _conversion(code: types.CodeType, sizes: bool) -> Conversion:
    from .convert import Fresh, Keep, convert_tree, lines_of_helpers  # gast is slow to load, and needed only here
    from .matches import ask_by_isinstance
    from .nodes import tell_of_caught
    from .source import NoSource, code_of, tree_of

    asks = _names(code) & _OF_FRAMES
    if asks:
        return Conversion(None, f"it asks for its frame, by `{min(asks)}`")
    try:
        keep: dict[tuple[int, int], str] = {}
        while True:
            tree = tree_of(code)
            ask_by_isinstance(tree)
            helpers: set[str] = set()
            lines = lines_of_helpers(tree)
            try:
                convert_tree(tree, Fresh(tree), helpers, keep, sizes)
                break
            except Keep as found:
                place, reason = found.args
                assert place not in keep
                keep[place] = reason
        tell_of_caught(tree)
        made = code_of(tree, code)
    except NoSource as error:
        return Conversion(None, str(error))
    except Exception as error:  # also what is nested deeper than Python compiles: the function runs as it is
        if is_of_a_signal(error):
            raise
        return Conversion(None, f"its conversion failed ({type(error).__name__}: {error})")
    if not is_converted(made):
        return Conversion(None, "nothing in it is converted")
    return Conversion(_renamed(made, code.co_name, code.co_qualname, helpers, lines), "", tree)


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found |= _names(const)
    return found


def _renamed(code: types.CodeType, name: str, qualname: str, helpers: set[str], lines: set[int]) -> types.CodeType:
    """Code named as the user's, in tracebacks too, with the functions in it; `lines` hold no lambda of the user's."""
    consts = []
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            own = const.co_name
            ours = own == "<lambda>" and const.co_firstlineno == code.co_firstlineno and const.co_firstlineno in lines
            if own in helpers or ours:
                const = _renamed(const, name, f"{qualname}.<{CONTROL}.{own}>", helpers, lines)
            else:
                outer = qualname.partition(f".<{CONTROL}.")[0]
                const = _renamed(const, own, f"{outer}.<locals>.{own}", helpers, lines)
        elif (
            const == code.co_qualname and not code.co_flags & inspect.CO_OPTIMIZED
        ):  # __qualname__, in the body of a class
            const = qualname
        consts.append(const)
    return code.replace(co_consts=tuple(consts), co_name=name, co_qualname=qualname)
