"""Messages that the user's code prints while it is captured; text with traced values becomes an f-string of the source."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....runtime.arrays import is_array
from ....runtime.ir.graph import Call, Type, Value
from ....runtime.registry import require
from ....runtime.rules.messages import text
from ....tracer.core.dispatch import unwrap
from ....tracer.core.site import Site
from ....tracer.core.tensor_base import Operand, levels_of
from ..frontend.user_names import parse_code, span_of
from .outside import is_constant
from .sizes import Shape, Size

if TYPE_CHECKING:
    from .capture import Capture

__all__ = ["Messages"]

_NOTHING = Type("python", np.dtype(object), (), ())


class _Formatted(NamedTuple):
    """A traced value that became text, and where."""

    value: Value
    spec: str
    text: str
    site: Site | None


class Messages:
    """The texts of one capture: each must be printed by the very call that it is written in."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.pending: list[_Formatted] = []
        self.waiting: list[str] = []  # what is printed when the run is known to count
        self.wait = True  # whether nothing has been printed yet

    def formatted(self, tensor: Any, spec: str) -> None:
        """A traced value becomes a part of an f-string."""
        ir = getattr(tensor, "_ir", None)
        if ir is None or levels_of(tensor):
            return self.capture.refuse("formats a traced value as text")
        value = tensor._value
        value = value[()] if is_array(value) and not value.shape and spec else value
        self.pending.append(_Formatted(ir, spec, format(value, spec), self.capture.site()))
        return None

    def printed(self, *args: Any, **kwargs: Any) -> None:
        """The user's code prints."""
        capture, regions = self.capture, self.capture.regions
        if regions is not None:
            regions.acts()
        plain = [a if levels_of(a) else unwrap(a) for a in args]
        if capture.failed is None:
            capture.written.before_print()
            site, written = capture.site(), []
            nodes = _arguments(site)
            for k, a in enumerate(args):
                written.append(self._part(a, nodes[k] if nodes is not None and len(nodes) == len(args) else None))
            if kwargs.keys() - {"sep", "end", "flush"} or not all(map(is_constant, kwargs.values())):
                capture.refuse("prints into a file, or with other than plain options")
            self.settle()
            if capture.failed is None:
                op = require(print)
                call = op.bind(*map(capture.operand, written), **kwargs)
                capture.findings.graph.calls.append(capture.new_call(op, call, (Value(_NOTHING),), site))
                if regions is not None:
                    regions.note(capture.findings.graph.calls[-1], [None])
        if capture.failed is not None or (regions is not None and regions.unseen):
            self.print_now()
            self.wait = False
            print(*plain, **kwargs)
        elif regions is None or not regions.strict:
            with io.StringIO() as written_down:
                print(*plain, **kwargs, file=written_down)
                self.waiting.append(written_down.getvalue())

    def print_now(self) -> None:
        """The run counts, whatever comes: what waits is printed."""
        waiting, self.waiting = self.waiting, []
        self.wait &= not waiting
        for one in waiting:
            print(one, end="")

    def end(self) -> None:
        """The user's code is done."""
        self.settle()
        if not (self.capture.kept or self.capture.abandoned):
            self.print_now()

    def settle(self) -> None:
        """Texts that nobody printed where they were made may decide something later."""
        for one in self.pending:
            if one.value in self.capture.counted.values:  # it is the same at each call of these lengths
                self.capture.counted.fix(one.value)
        self.pending = [one for one in self.pending if one.value not in self.capture.counted.values]
        if self.pending:
            self.capture.refuse("formats a traced value as text", self.pending[0].site)
            self.pending.clear()

    def _part(self, a: Any, node: Any) -> Any:
        """An argument of `print` as it stands in the graph."""
        if isinstance(a, Operand):
            if getattr(a, "_ir", None) is None or levels_of(a):
                self.capture.refuse("prints a value that it does not trace")
            return a
        if type(a) is str and self.pending and type(node).__name__ == "JoinedStr":
            inside = [f for f in self.pending if f.site is not None and _within(span_of(f.site), node)]
            parts = _split(a, inside)
            if parts is not None:
                self.pending = [f for f in self.pending if f not in inside]
                out = Value(_NOTHING)
                site = self.capture.site()
                back = self.capture.section.backward
                self.capture.findings.graph.calls.append(Call(require(text), (parts,), (out,), site, back, bool(back)))
                if self.capture.regions is not None:
                    self.capture.regions.note(self.capture.findings.graph.calls[-1], [a])
                return out
        if not is_constant(a) and type(a) not in (Size, Shape):
            self.capture.refuse(f"prints a {type(a).__name__}, whose text it could not follow")
        return a


def _split(whole: str, formatted: list[_Formatted]) -> tuple[Any, ...] | None:
    """The text taken apart at formatted values; None where they could stand in more places than one.

    The first match finds each as early as it can stand, the other as late: where both agree there is one way.
    """
    pieces = [re.escape(f.text) for f in formatted]
    early, late = (
        re.fullmatch("".join([f"{gap}({piece})" for piece in pieces]) + gap, whole, re.DOTALL) for gap in (".*?", ".*")
    )
    spans = [m.span(k + 1) for m in (early, late) if m is not None for k in range(len(pieces))]
    if not pieces or not spans or spans[: len(pieces)] != spans[len(pieces) :]:
        return None
    parts: list[Any] = []
    at = 0
    for f, (start, end) in zip(formatted, spans, strict=False):
        parts += [whole[at:start]] * (at < start) + [(f.value, f.spec)]
        at = end
    return (*parts, *[whole[at:]] * (at < len(whole)))


def _arguments(site: Site | None) -> list[Any] | None:
    """The expressions that the call at a site takes by position."""
    import gast  # slow to load, needed only to compile

    parsed = None if site is None else parse_code(site.code)
    if site is None or parsed is None:
        return None
    tree, shift = parsed
    span = span_of(site)
    for node in gast.walk(tree):
        if isinstance(node, gast.Call) and _place(node, shift) == span:
            found = list(node.args)
            for arg in found:
                arg.shift = shift
            return None if any(isinstance(arg, gast.Starred) for arg in found) else found
    return None


def _place(node: Any, shift: int) -> tuple[int, ...]:
    return (node.lineno + shift, node.end_lineno + shift, node.col_offset, node.end_col_offset)


def _within(span: Any, node: Any) -> bool:
    """Whether an instruction belongs to an f-string."""
    if not span or None in span:
        return False
    line, end, column, last = _place(node, node.shift)
    return (line, column) <= (span[0], span[2]) and (span[1], span[3]) <= (end, last)
