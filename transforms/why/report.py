"""The report of gs.why: for each gradient its state and the causes, in words and as attributes."""

from __future__ import annotations

import dataclasses
import textwrap
from typing import Any

import numpy as np

from ...runtime.markup import paragraph, table
from ...tracer.core.site import short_name
from ...tracer.core.tensor_base import Operand
from ...tracer.core.watching import Event
from .paths import name_of_op
from .source import derived_from, line_at, operand, within

__all__ = ["Answer", "Cause", "Why", "cause_at", "state_of"]

HEALTHY = "healthy"


@dataclasses.dataclass(frozen=True)
class Cause:
    """One place at which a gradient ended, became zero, or became NaN or infinite."""

    op: str  # `np.maximum`, `detach`, `no_grad` ...
    variable: str  # what the user calls the value there; "" where it has no name
    filename: str
    lineno: int  # 0 where the line is not known
    reason: str
    advice: str

    @property
    def line(self) -> str:
        """The text of the line."""
        return line_at(self.filename, self.lineno) if self.lineno else ""


@dataclasses.dataclass(frozen=True)
class Answer:
    """The report on the gradient of one argument, or of one leaf of it where that is a pytree."""

    argument: str  # `w`, `params['w']`
    state: str  # "healthy", "None", "zero", "NaN" or "inf"
    causes: tuple[Cause, ...] = ()
    gradient: Any = None
    note: str = ""

    @property
    def healthy(self) -> bool:
        """Whether there is nothing to explain."""
        return self.state == HEALTHY

    def head(self) -> str:
        """One line: whose gradient it is, and its state."""
        if self.argument == "the result":
            return f"the result is {self.state}."
        name = self.argument if self.argument.isidentifier() else f"({self.argument})"
        if self.healthy:
            size, zeros = np.size(self.gradient), np.size(self.gradient) - np.count_nonzero(self.gradient)
            some = f", {zeros} of its {size} elements are 0" if zeros else ""
            return f"d_{name} is healthy: finite{some}, at most {_figure(largest(self.gradient))}."
        return f"d_{name} is {self.state}."


class Why:
    """The report of `gs.why`; printing it shows it all.

    The attributes are those of the first cause of the first answer that is not healthy.
    """

    def __init__(self, subject: str, answers: list[Answer], remarks: list[str] | None = None) -> None:
        self.subject = subject
        self.answers = answers
        self.remarks = remarks or []

    @property
    def healthy(self) -> bool:
        """Whether every gradient is there, finite and not zero."""
        return all(answer.healthy for answer in self.answers)

    @property
    def first(self) -> Answer | None:
        """The answer that the attributes speak of."""
        return next((a for a in self.answers if not a.healthy), self.answers[0] if self.answers else None)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """All causes of the first answer that is not healthy."""
        return () if self.first is None else self.first.causes

    @property
    def argument(self) -> str:
        """Whose gradient it is."""
        return "" if self.first is None else self.first.argument

    @property
    def state(self) -> str:
        """The state of that gradient: "healthy", "None", "zero", "NaN" or "inf"."""
        return HEALTHY if self.first is None else self.first.state

    op = property(lambda self: self._of_the_first("op", ""), doc="The operation at which it happened.")
    variable = property(lambda self: self._of_the_first("variable", ""), doc="What the user calls the value there.")
    filename = property(lambda self: self._of_the_first("filename", ""), doc="The file of the user's line.")
    lineno = property(lambda self: self._of_the_first("lineno", 0), doc="The number of the user's line.")
    reason = property(lambda self: self._of_the_first("reason", ""), doc="Why, in words.")

    def _of_the_first(self, name: str, default: Any) -> Any:
        return getattr(self.causes[0], name) if self.causes else default

    def __str__(self) -> str:
        lines: list[str] = []
        for answer in self.answers:
            lines.append(f"why({self.subject}): {answer.head()}" if not lines else answer.head())
            for cause in answer.causes:
                lines += _told(cause)
            if answer.note:
                lines += _wrapped(answer.note, 4)
        if not lines:
            lines = [f"why({self.subject}):"]
        for remark in self.remarks:
            lines += _wrapped(remark, 0 if self.answers else 4)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [
            (answer.head(), *(("", "", answer.note) if cause is None else _cells(cause)))
            for answer in self.answers
            for cause in answer.causes or (None,)
        ]
        told = table(f"why({self.subject})", ("gradient", "line", "reason", "to change it"), rows)
        return told + "".join(map(paragraph, self.remarks))


def _cells(cause: Cause) -> tuple[str, str, str]:
    """The line, the reason and the advice of a cause."""
    place = f"{short_name(cause.filename)}:{cause.lineno}: {cause.line.strip()}"
    return place if cause.lineno else "", f"{cause.op}: {cause.reason}" if cause.op else cause.reason, cause.advice


def _told(cause: Cause) -> list[str]:
    if not cause.lineno:
        return [*_wrapped(cause.reason, 4), *_wrapped(f"To change it: {cause.advice}" if cause.advice else "", 4)]
    short = short_name(cause.filename)
    text = f": `{textwrap.shorten(cause.line, 100, placeholder=' ...')}`" if cause.line else ""
    lines = [f"  {short}:{cause.lineno}{text}", *_wrapped(cause.reason, 6)]
    return lines + (_wrapped(f"To change it: {cause.advice}", 6) if cause.advice else [])


def _wrapped(text: str, indent: int) -> list[str]:
    blank = " " * indent
    return textwrap.wrap(text, 110, initial_indent=blank, subsequent_indent=blank, break_on_hyphens=False)


def cause_at(event: Event, op: str, variable: str, reason: str, advice: str) -> Cause:
    """A cause at the line where an operation stands; of a step of a derivative, that which is differentiated there."""
    source = derived_from(event)
    if source is not None:
        op, variable = name_of_op(source), operand(source, source.inputs[0].slot[0] if source.inputs else 0)
        reason, event = f"in the derivative of {op}, which is differentiated again: {reason}", source
    elif call := within(event):
        reason = f"in {call}: {reason}"
    if event.site is None:
        return Cause(op, variable, "", 0, reason, advice)
    return Cause(op, variable, event.site.code.co_filename, event.site.line, reason, advice)


def state_of(gradient: Any) -> str:
    """Return the state of a gradient: "healthy", "None", "zero", "NaN" or "inf"."""
    if gradient is None:
        return "None"
    value = np.asarray(gradient._value if isinstance(gradient, Operand) else gradient)
    if np.isnan(value).any():
        return "NaN"
    if np.isinf(value).any():
        return "inf"
    return HEALTHY if value.size == 0 or value.any() else "zero"


def largest(value: Any) -> float:
    """The largest absolute value."""
    value = np.asarray(value._value if isinstance(value, Operand) else value)
    value = value[np.isfinite(value)]
    return float(np.max(np.abs(value), initial=0.0))


def _figure(x: float) -> str:
    return f"{x:.3g}"
