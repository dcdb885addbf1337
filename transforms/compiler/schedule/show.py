"""Show a Program for reading: one statement a line, what it writes over or looks through, and the user's line."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from ....runtime.ir.graph import Call, Value, map_values, prefix_of, primal_of
from .program import (
    Assign,
    Branch,
    Effect,
    Fork,
    Free,
    Given,
    Guard,
    If,
    List,
    Loop,
    Program,
    Push,
    Return,
    Reverse,
    Slot,
    Statement,
    Store,
    Tiled,
    Unpack,
    each_statement,
    reads_of,
)
from .signature import built

__all__ = ["shown"]

WIDTH = 72  # the column of the notes


class _Name(str):
    """A name, shown without quotes wherever it stands."""

    __repr__ = str.__str__


class _Names:
    """A name for each value: the user's where there is one."""

    def __init__(self, known: dict[Value, str], variables: Mapping[Value, str]) -> None:
        self.known = known
        self.variables = variables
        self.of = {v: _Name(name) for v, name in variables.items()}
        self.taken: set[str] = set(variables.values())

    def __call__(self, v: Value) -> _Name:
        if v not in self.of:
            stem = self.known.get(v) or v.name or self._by_primal(v)
            names = (_Name(stem if n == 1 else f"{stem}_{n}") for n in itertools.count(1))
            self.give(v, next(name for name in names if name not in self.taken))
        return self.of[v]

    def _by_primal(self, v: Value) -> str:
        primal = primal_of(v)
        return "t" if primal is None else f"{prefix_of(v)}{self(primal)}"

    def give(self, v: Value, name: _Name) -> None:
        """Call a value so from here on, unless it has a variable."""
        if v not in self.variables:
            self.of[v] = name
            self.taken.add(name)


def shown(program: Program) -> str:
    """Return the text of a Program."""
    counted = {s.count for s in each_statement(program.body) if isinstance(s, Loop)} & {
        v for s in each_statement(program.body) for v in reads_of(s)
    }
    printer = _Printer(_Names(dict.fromkeys(counted, "trips") | program.names, program.variables), counted)
    printer.line(f"program {program.name}({', '.join(program.parameters)}):")
    printer.block(program.body)
    return "\n".join(printer.lines) + "\n"


class _Printer:
    """The lines of a Program, and the section and the line of the user's that were named last."""

    def __init__(self, names: _Names, counted: set[Value]) -> None:
        self.names = names
        self.counted = counted
        self.lines: list[str] = []
        self.depth = 0
        self.section = ""
        self.site: Any = None

    def line(self, text: str, site: Any = None) -> None:
        text = "    " * self.depth + text
        new = site is not None and str(site) != str(self.site)
        self.lines.append(f"{text:{WIDTH}}  # {site}" if new else text)
        self.site = site if site is not None else self.site

    def block(self, body: Iterable[Statement]) -> None:
        self.depth += 1
        for statement in body:
            if statement.note.section != self.section and not isinstance(statement, (Unpack, Return, Free)):
                self.section = statement.note.section
                self.line(f"-- {self.section}")
            self.statement(statement)
        self.depth -= 1

    def text(self, x: Any) -> str:
        """An argument: names of values, constants as they are."""
        return repr(map_values(x, self.names))

    def call(self, call: Call) -> str:
        args, named = call.op.call_form(call.args)
        words = [*map(self.text, args), *[f"{name}={self.text(value)}" for name, value in named.items()]]
        return f"{call.op.path}({', '.join(words)})"

    def slot(self, slot: Slot) -> str:
        name = f"{self.names(slot.value)}: {slot.value.type}"
        if slot.memory == "over":
            return f"{name} over {self.names(slot.of[0])}"
        return f"{name} in {', '.join(map(self.names, slot.of))}" if slot.memory == "view" and slot.of else name

    def statement(self, statement: Statement) -> None:
        site = statement.note.site
        match statement:
            case Unpack(tree=tree, parameter=parameter):
                if isinstance(tree, Value):
                    self.names.give(tree, _Name(parameter))
                else:
                    self.line(f"unpack {parameter}")
            case Assign(slots=slots, call=call, nested=nested, beside=beside):
                self.line(
                    f"{'nested ' * nested}{'beside ' * beside}{', '.join(map(self.slot, slots))} = {self.call(call)}",
                    site,
                )
            case Effect(call=call, nested=nested):
                outs = ", ".join(map(self.names, call.outs))
                self.line(f"{'nested ' * nested}effect {outs} = {self.call(call)}", site)
            case Store(base=base, index=index, value=value):
                self.line(f"store {self.names(base)}[{self.text(index)}] = {self.text(value)}", site)
            case List(target=target):
                self.line(f"list {self.names(target)}", site)
            case Push(target=target, value=value):
                self.line(f"push {self.text(value)} on {self.names(target)}", site)
            case Reverse(target=target):
                self.line(f"reverse {self.names(target)}", site)
            case Guard(value=value, how=how, expected=expected):
                self.line(f"guard {how}({self.text(value)}) is {expected!r}", site)
            case Fork(value=value, how=how, expected=expected, body=body):
                self.line(f"if {how}({self.text(value)}) is {expected!r}:", site)
                section = self.section
                self.block(body)
                self.section = section
            case Free(values=values):
                self.line(f"free {', '.join(map(self.names, values))}")
            case Loop():
                self.loop(statement)
            case Tiled(step=step, sliced=sliced, whole=whole, body=body):
                kept = ", ".join(map(self.names, whole))
                self.line(f"in tiles of {step} rows of {self.names(sliced[0])}{f', for {kept}' * bool(kept)}:", site)
                self.block(body)
            case If(test=test, then=then, orelse=orelse, outs=outs, expression=expression):
                given = f"{', '.join(map(self.names, outs))} = " if outs else ""
                self.line(f"{given}if {self.text(test)}{', in one expression' * expression}:", site)
                self.arm(then)
                self.line("else:")
                self.arm(orelse)
            case Return(tree=tree, outputs=outputs):
                self.line(f"return {built(tree, lambda k: _Name(self.text(outputs[k])))!r}")

    def given(self, given: Given) -> None:
        """Call what a block is given as it is called outside."""
        for x, v in given:
            self.names.give(v, _Name(self.text(x)))

    def arm(self, arm: Branch) -> None:
        self.given(arm.given)
        self.block(arm.body)
        self.depth += 1
        self.line(f"give {', '.join(map(self.text, arm.results))}")
        self.depth -= 1

    def loop(self, loop: Loop) -> None:
        self.given(tuple((c.start, c.param) for c in loop.carries if c.after is c.param))
        carries = [c for c in loop.carries if c.after is not c.param]
        words = [f"{self.names(c.param)} = {self.text(c.start)}" for c in carries]
        items = [f"{self.text(item)} of {self.names(stack)}" for stack, item in loop.items]
        often = [f"{self.text(loop.trips)} times"] if loop.trips is not None else []
        header = " ".join(
            ["loop", *["in reverse"] * loop.reverse, *often, *([f"over {', '.join(items)}"] if items else [])]
        )
        counting = f", counting {self.names(loop.count)}" if loop.count in self.counted else ""
        self.line(f"{header}{', carrying ' * bool(words)}{', '.join(words)}{counting}:", loop.note.site)
        self.given(loop.given)
        if loop.test is not None:
            self.given(loop.test.given)
            self.block(loop.test.body)
            self.depth += 1
            self.line(f"while {self.text(loop.test.results[0])}")
            self.depth -= 1
        self.block(loop.body)
        self.depth += 1
        for c in carries:
            self.line(f"next {self.names(c.param)} = {self.text(c.after)}")
        self.depth -= 1
        for c in loop.carries:
            self.names.give(c.out, self.names(c.param))
