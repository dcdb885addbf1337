"""User lines: where in the user's code an operation stands, and tracebacks that end there."""

from __future__ import annotations

import abc
import functools
import inspect
import linecache
import os
import re
import sys
import types
import typing
from opcode import opmap
from typing import Any, NamedTuple

from ...runtime.errors import NoRuleError
from .libraries import LEFT_ALONE, NUMERIC, PYTHON, SUPPORT

__all__ = [
    "Site",
    "add_line",
    "blame",
    "called_site",
    "calls_to",
    "definition",
    "is_generated",
    "is_ours",
    "library_of",
    "prune",
    "pruned",
    "saved_at",
    "short_name",
    "site_of",
    "source_lines",
    "user_asks",
    "user_site",
    "user_stack",
]

_CACHE = opmap["CACHE"]
F = typing.TypeVar("F", bound=typing.Callable[..., Any])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_HOUSES = tuple(
    ROOT + part + os.sep for part in ("runtime", "tracer", "transforms", "explorer", "learn", "compat", "fit", "scale")
)
# Formulas, which stand in generated source line by line, as if the user had written them.
_FOLLOWED = [ROOT + os.path.join("learn", "optim", name) for name in ("formulas.py", "updates.py")]


def source_lines(code: types.CodeType) -> tuple[list[str], int]:
    """Return the lines of a code object and the number of the first, as `inspect` cuts them out; OSError without source.

    `inspect` goes through all modules that are loaded, for one whose loader has the source: that is for archives.
    """
    start, lines = code.co_firstlineno, linecache.getlines(code.co_filename)
    if not lines and code.co_filename[:1] == "<":
        raise OSError(f"`{code.co_name}` has no source under {code.co_filename!r}")
    if start <= len(lines) and (code.co_name[:1] != "<" or code.co_name == "<lambda>"):
        block = inspect.getblock(lines[start - 1 :])
        if block:
            return block, start
    return inspect.getsourcelines(code)


def short_name(path: str) -> str:
    """Return the name of a file without its folder; `cell` of a notebook's, whose files bear numbers."""
    folder, name = os.path.split(path)
    return "cell" if "ipykernel_" in folder else name


class Site(NamedTuple):
    """An instruction of user code: the code object, the offset of the instruction, and its line."""

    code: types.CodeType
    offset: int
    line: int

    def __hash__(self) -> int:
        return hash((self.offset, self.line))  # not of the code: from Python 3.12 on that takes all of its instructions

    def __str__(self) -> str:
        path = self.code.co_filename
        if path in _FOLLOWED:
            return os.path.basename(path)  # of ours, where the text beside it says enough
        return f"{short_name(path)}:{self.line}"


class CalledSite(Site):
    """The site of an operation of a backward pass, with the calls that led to the operation that it belongs to."""

    calls: tuple[Site, ...] = ()


def site_of(frame: types.FrameType) -> Site:
    """Return the instruction that a frame is at."""
    code, offset = frame.f_code, frame.f_lasti
    while offset > 0 and code.co_code[offset] == _CACHE:  # one that CPython came to run inline waits behind its cache
        offset -= 2
    return Site(code, offset, frame.f_lineno)


def called_site(site: Site, calls: tuple[Site, ...]) -> Site:
    """Return the site with the calls that led there, the nearest first."""
    if not calls:
        return site
    made = CalledSite(*site)
    made.calls = calls
    return made


def definition(function: Any) -> Site | None:
    """Return the line of the `def` of a function, or of the function under transforms of it."""
    while not isinstance(function, types.FunctionType):
        for inner in ("function", "func", "__func__"):  # our transforms, functools.partial, methods
            if hasattr(function, inner):
                function = getattr(function, inner)
                break
        else:
            function = getattr(type(function), "__call__", None)  # noqa: B004  # the function itself is wanted
            if not isinstance(function, types.FunctionType):
                return None
    code = function.__code__
    line = code.co_firstlineno  # that of the first decorator
    begin = rf"\s*(async\s+)?def\s+{re.escape(code.co_name)}\b"  # the file may be another's, as `<string>` is
    for k in range(line, line + 50) if code.co_name != "<lambda>" else ():
        if re.match(begin, linecache.getline(code.co_filename, k)):
            return Site(code, 0, k)
    return Site(code, 0, line)


def is_ours(filename: str) -> bool:
    """Whether a file belongs to gradscribe (or to a plan or a binding that it compiled)."""
    if filename.startswith(_HOUSES):
        return filename not in _FOLLOWED
    return filename.startswith("<plan of")


def is_library(filename: str) -> bool:
    """Whether a file is NumPy's or Python's own, so that no user would look there."""
    return (
        f"{os.sep}numpy{os.sep}" in filename or f"{os.sep}optree{os.sep}" in filename or filename.startswith("<frozen")
    )


def is_generated(code: types.CodeType) -> bool:
    """Return whether Python wrote code from the fields of a class: of a dataclass, or of a named tuple."""
    if code.co_filename != "<string>":  # as that of `exec`, too
        return False
    return code.co_qualname.startswith("__create_fn__.") or code.co_names == ("_tuple_new",)


def user_site() -> Site | None:
    """The innermost frame that is neither ours nor NumPy's."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_ours(filename) and not is_library(filename):
            return site_of(frame)
        frame = frame.f_back
    return None


_OF_NO_USER = PYTHON | NUMERIC | SUPPORT | LEFT_ALONE | {"Python"}
_ASKING = frozenset(
    [abc.__file__, typing.__file__, "<frozen abc>", "<frozen _collections_abc>"]
)  # on somebody's behalf


def user_asks() -> bool:
    """Whether what runs, before the first frame of ours, is code of the user's: none of ours or of an installed library."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename in _ASKING:
        frame = frame.f_back
    return frame is not None and _is_users(frame.f_code.co_filename)


@functools.lru_cache(maxsize=4096)
def _is_users(filename: str) -> bool:
    library = library_of(filename)
    return not is_ours(filename) and (library is None or library not in _OF_NO_USER)


_STANDARD = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def library_of(filename: str) -> str | None:
    """Return the top-level module that a file of Python's own or an installed library belongs to; None of the user's."""
    if filename.startswith("<frozen"):
        return "Python"
    for folder in _INSTALLED:
        _, found, rest = filename.partition(folder)
        if found:
            return rest.split(os.sep)[0].removesuffix(".py")
    if filename.startswith(_STANDARD):
        return filename[len(_STANDARD) :].split(os.sep)[0].removesuffix(".py")
    return None


_METHODS = ROOT + os.path.join("transforms", "compiler", "capture", "classes.py")  # calls methods on behalf of the user


def calls_to(code: types.CodeType, within: set[types.CodeType]) -> tuple[Site, ...]:
    """The calls, in code that is in `within`, by which `code` came to run; the nearest first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    found: list[Site] = []
    while frame is not None and (frame := frame.f_back) is not None:
        if frame.f_code in within:
            found.append(site_of(frame))
        elif frame.f_code.co_filename != _METHODS:
            break
    return tuple(found)


def user_stack() -> tuple[Site, ...]:
    """The frames that are neither ours nor NumPy's, the innermost last."""
    sites: list[Site] = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_ours(filename) and not is_library(filename):
            sites.append(site_of(frame))
        frame = frame.f_back
    return tuple(reversed(sites))


def blame(error: Exception) -> Exception:
    """`error` with the user's line as its last words: bare operations cannot leave their own frames out."""
    site = user_site()
    if site is not None and not getattr(error, "__notes__", None):
        add_line(error, site.code.co_filename, site.line)
    return error


def add_line(error: Exception, filename: str, line: int) -> None:
    """Let a line, and what stands there, be the last words of `error`."""
    import linecache  # only on the way to an error

    text = linecache.getline(filename, line).strip()
    error.add_note(f"at {filename}:{line}" + (f"\n    {text}" if text else ""))


def prune(error: Exception) -> Exception:
    """`error` with a traceback in which no frame of ours comes after, or between, the user's."""
    kept: list[types.TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        if not is_ours(tb.tb_frame.f_code.co_filename):
            kept.append(tb)
        tb = tb.tb_next
    if isinstance(error, NoRuleError) and kept and not getattr(error, "__notes__", None):
        error.add_note(f"at {kept[-1].tb_frame.f_code.co_filename}:{kept[-1].tb_lineno}")
    chain: types.TracebackType | None = None
    for tb in reversed(kept):
        chain = types.TracebackType(chain, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return error.with_traceback(chain) if chain is not None else blame(error.with_traceback(None))


def pruned(function: F) -> F:
    """Return a public function whose errors show no frame of ours after the user's, and name the user's line."""

    @functools.wraps(function)
    def door(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise prune(error) from error.__cause__

    return typing.cast(F, door)


def saved_at(node: Any) -> str:
    """Return the user's line that made a node, such as `model.py:12`; empty where anomaly mode was off then."""
    trace = None if node.extra is None else node.extra.trace
    return "" if trace is None else str(trace)
