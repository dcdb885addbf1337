"""Break, continue and return out of what becomes functions: flags, and statements that move into the other branch."""

from __future__ import annotations

from typing import Any

import gast

from .nodes import assign, at, blocks_of, constant, load
from .rejected import Rejections

__all__ = ["Jumps"]

NEVER, ALWAYS, MAYBE = "never", "always", "maybe"  # whether what comes after a block runs


class _Loop:
    """A loop that is converted, with the flags that stand for jumps out of its body."""

    def __init__(self, node: Any, jumps: Jumps) -> None:
        self.node = node
        self.stop = jumps.fresh("stop")
        self.skip = jumps.fresh("skip")


class Jumps:
    """Rewrites the body of one function, of whose compound statements `rejections` says which stay Python's."""

    def __init__(self, function: Any, rejections: Rejections, fresh: Any) -> None:
        self.function, self.rejections, self.fresh = function, rejections, fresh
        self.done, self.result = fresh("done"), fresh("result")
        self.flags: set[str] = {self.done}
        self.own: set[str] = set()  # the variables that the conversion adds, which are always bound where they are read
        self._read: set[str] = set()
        self._set: set[str] = set()

    def run(self) -> None:
        """Rewrite the body in place."""
        body = self.function.body
        end = at(gast.Return(value=constant(None, body[-1])), body[-1])
        if self.rejections.returns:
            made, falls = self._block([*body, end], [], False)
            if falls != NEVER or not _returns(made):
                made.append(at(gast.Return(value=load(self.result, end)), end))
        else:
            made, _ = self._block(body, [], False)
        if self.done in self._read:
            place = self.function
            start = 1 if _is_docstring(made[0]) else 0
            made.insert(start, assign(self.done, constant(False, place), place))
        self.function.body = made
        _drop(made, self._set - self._read)
        self.own = {self.result, *self.flags}

    def _block(self, statements: list[Any], loops: list[_Loop], inside: bool) -> tuple[list[Any], str]:
        """The statements without jumps, and whether what comes after them runs; `inside` what may become a function."""
        out: list[Any] = []
        for k, s in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(s, gast.Return):
                if not inside:
                    return [*out, s], NEVER
                value = s.value or constant(None, s)
                out.append(assign(self.result, value, s))
                out.append(self._raise(self.done, s))
                out += [self._raise(loop.stop, s) for loop in loops]
                return out, NEVER
            if isinstance(s, (gast.Break, gast.Continue)):
                if not loops or self.rejections.reason(self.rejections.target(s)) is not None:
                    return [*out, s], NEVER
                out.append(self._raise(loops[-1].stop if isinstance(s, gast.Break) else loops[-1].skip, s))
                return out, NEVER
            if not isinstance(s, (gast.If, gast.While, gast.For)) or self.rejections.reason(s) is not None:
                out.append(self._plain(s, loops, inside))
                if isinstance(s, gast.Raise):
                    return out, NEVER
            elif isinstance(s, gast.If):
                leaving = self.rejections.leaving(s)
                inner = inside or bool(leaving)
                then, a = self._block(s.body, loops, inner)
                orelse, b = self._block(s.orelse, loops, inner)
                made = at(gast.If(test=s.test, body=then, orelse=orelse), s)
                made.__dict__.update({"gs_made": True} if hasattr(s, "gs_made") else {})
                out.append(made)
                if not leaving:
                    continue
                if a == NEVER and b == NEVER:
                    return out, NEVER
                if not rest:
                    return out, MAYBE
                more, c = self._block(rest, loops, True)
                if a != NEVER and b != NEVER:
                    out += self._guard(more, leaving, loops, s)
                    return out, MAYBE
                if a == NEVER:
                    made.orelse = [*orelse, *(more if b == ALWAYS else self._guard(more, leaving, loops, s))]
                else:
                    made.body = [*then, *(more if a == ALWAYS else self._guard(more, leaving, loops, s))]
                return out, NEVER if c == NEVER and MAYBE not in (a, b) else MAYBE
            else:
                made, after, loop = self._loop(s, loops, inside)
                out += made
                rest = [*after, *rest]
                returned = self.rejections.returning(s)
                if not rest:
                    return out, MAYBE if returned else ALWAYS
                if not returned:
                    more, c = self._block(rest, loops, inside)
                    return [*out, *more], c
                more, c = self._block(rest, loops, True)
                told = loop.stop if len(returned) == self.rejections.ends(s) else None  # nothing else stops it
                return [
                    *out,
                    *self._guard(more, returned, loops, s, told),
                ], NEVER if c == NEVER and not loops else MAYBE
        return out, ALWAYS

    def _loop(self, s: Any, loops: list[_Loop], inside: bool) -> tuple[list[Any], list[Any], _Loop]:
        """A loop without jumps, with what is set before it, and its `else` as a statement after it."""
        loop = _Loop(s, self)
        inner = inside or any(isinstance(j, gast.Return) for j in self.rejections.leaving(s))
        body, _ = self._block(s.body, [*loops, loop], inner)
        out = []
        stops = self.rejections.ends(s) > 0
        if stops:
            self.flags.add(loop.stop)
            self._read.add(loop.stop)
            out.append(assign(loop.stop, constant(False, s), s))
        if loop.skip in self._read:
            self.flags.add(loop.skip)
            body.insert(0, assign(loop.skip, constant(False, s), s))
        going = at(gast.UnaryOp(op=gast.Not(), operand=load(loop.stop, s)), s)
        if isinstance(s, gast.While):
            always = isinstance(s.test, gast.Constant) and bool(s.test.value)
            test = s.test if not stops else going
            if stops and not always:
                test = at(gast.BoolOp(op=gast.And(), values=[going, s.test]), s.test)
            made = at(gast.While(test=test, body=body, orelse=[]), s)
            made.gs_once = stops and always  # the first trip always runs
        else:
            made = at(gast.For(target=s.target, iter=s.iter, body=body, orelse=[], type_comment=None), s)
            made.gs_test = going if stops else None
        out.append(made)
        if not s.orelse or not stops:
            return out, s.orelse, loop
        branch = at(gast.If(test=going, body=s.orelse, orelse=[]), s.orelse[0])
        branch.gs_made = True
        self.rejections.adopt(branch, s)
        return out, [branch], loop

    def _plain(self, s: Any, loops: list[_Loop], inside: bool) -> Any:
        """A statement that stays Python's: only what stands in it is rewritten."""
        if (reason := self.rejections.reason(s)) is not None:
            s.gs_reason = reason
        for block in blocks_of(s):
            block[:], _ = self._block(block, loops, inside)
        return s

    def _guard(
        self, statements: list[Any], leaving: list[Any], loops: list[_Loop], place: Any, told: str | None = None
    ) -> list[Any]:
        """The statements, where no jump has left before them; of a function outside of loops `told` says so, if given."""
        flags = []
        if not loops:
            flags.append(told or self.done)
        else:
            if any(not isinstance(j, gast.Continue) for j in leaving):
                flags.append(loops[-1].stop)
            if any(isinstance(j, gast.Continue) for j in leaving):
                flags.append(loops[-1].skip)
        self._read.update(flags)
        parts = [load(f, place) for f in flags]
        test = parts[0] if len(parts) == 1 else at(gast.BoolOp(op=gast.Or(), values=parts), place)
        test = at(gast.UnaryOp(op=gast.Not(), operand=test), place)
        made = at(gast.If(test=test, body=statements, orelse=[]), place)
        made.gs_made = True  # the user wrote no such `if`
        return [made]

    def _raise(self, flag: str, place: Any) -> Any:
        self._set.add(flag)
        return assign(flag, constant(True, place), place)


def _returns(statements: list[Any]) -> bool:
    """Whether the last statement returns in Python's way."""
    return bool(statements) and isinstance(statements[-1], (gast.Return, gast.Raise))


def _is_docstring(s: Any) -> bool:
    return isinstance(s, gast.Expr) and isinstance(s.value, gast.Constant) and isinstance(s.value.value, str)


def _drop(statements: list[Any], names: set[str]) -> None:
    """Take out what sets flags that nobody reads."""
    kept = []
    for s in statements:
        if isinstance(s, gast.Assign) and isinstance(s.targets[0], gast.Name) and s.targets[0].id in names:
            continue
        for block in blocks_of(s):
            _drop(block, names)
        kept.append(s)
    statements[:] = kept
