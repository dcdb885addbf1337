"""Functions written by chance: nested branches, loops and jumps over ints, some of which raise."""

from __future__ import annotations

import random

__all__ = ["random_function"]

_NAMES = ("a", "b", "c", "d")


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.budget = self.random.randint(4, 22)
        self.loops = 0

    def text(self) -> str:
        self.lines = ["def f(a, b, log):"]
        self.line(1, "c = 0") if self.random.random() < 0.5 else None
        self.block(1, False)
        if self.random.random() < 0.7:
            self.line(1, f"return {self.expression()}")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def name(self) -> str:
        return self.random.choice(_NAMES)

    def expression(self, depth: int = 0) -> str:
        r = self.random.random()
        if r < 0.3:
            return str(self.random.randint(-3, 9))
        if r < 0.65 or depth > 2:
            return self.name()
        if r < 0.9:
            op = self.random.choice(["+", "-", "*", "//", "%", "&", "|"])
            left, right = self.expression(depth + 1), self.expression(depth + 1)
            return f"({left} {op} {right}) % 97" if op in "+-*" else f"({left} {op} {right})"
        if r < 0.95:
            return f"({self.expression(depth + 1)} if {self.condition(depth + 1)} else {self.expression(depth + 1)})"
        return f"sum([{self.expression(depth + 1)} for k in range({self.random.randint(0, 3)})])"

    def condition(self, depth: int = 0) -> str:
        r = self.random.random()
        if depth < 2 and r < 0.15:
            return f"({self.condition(depth + 1)} {self.random.choice(['and', 'or'])} {self.condition(depth + 1)})"
        if depth < 2 and r < 0.2:
            return f"not {self.condition(depth + 1)}"
        left, right = self.expression(depth + 2), self.expression(depth + 2)
        if r < 0.3:
            return f"{left} < {right} <= {self.expression(depth + 2)}"
        if r < 0.35:
            return f"(log.append({left}) or {right})"
        return f"{left} {self.random.choice(['<', '>', '==', '!=', '<='])} {right}"

    def block(self, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        self.budget -= 1
        choices = ["assign", "assign", "augment", "log"]
        if depth < 5 and self.budget > 0:
            choices += ["if", "if", "if", "while", "for", "for", "try", "match", "list"]
        if in_loop:
            choices += ["break", "continue"]
        choices += ["return", "assert", "del", "raise"] if self.random.random() < 0.3 else []
        getattr(self, "_" + self.random.choice(choices))(depth, in_loop)

    def _assign(self, depth: int, in_loop: bool) -> None:
        if self.random.random() < 0.15:
            self.line(depth, f"{self.name()}, {self.name()} = {self.expression()}, {self.expression()}")
        elif self.random.random() < 0.1:
            self.line(depth, f"if ({self.name()} := {self.expression()}) > 2: log.append({self.name()})")
        else:
            self.line(depth, f"{self.name()} = {self.expression()}")

    def _augment(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"{self.name()} {self.random.choice(['+=', '-=', '|=', '//='])} {self.expression()}")

    def _log(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"log.append({self.expression()})")

    def _list(self, depth: int, in_loop: bool) -> None:
        self.line(depth, "e = []")
        self.line(depth, f"for k in range({self.random.randint(0, 4)}):")
        self.block(depth + 1, True)
        self.line(depth + 1, f"e.append({self.expression()})")
        self.line(depth, "log.append(list(e))")

    def _if(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop)
        if self.random.random() < 0.25:
            self.line(depth, f"elif {self.condition()}:")
            self.block(depth + 1, in_loop)
        if self.random.random() < 0.4:
            self.line(depth, "else:")
            self.block(depth + 1, in_loop)

    def _while(self, depth: int, in_loop: bool) -> None:
        self.loops += 1
        count = f"n{self.loops}"
        self.line(depth, f"{count} = {self.random.randint(0, 4)}")
        if self.random.random() < 0.4:
            self.line(depth, "while True:")
            self.line(depth + 1, f"if {count} <= 0: break")
        else:
            extra = f" and {self.condition()}" if self.random.random() < 0.4 else ""
            self.line(depth, f"while {count} > 0{extra}:")
        self.line(depth + 1, f"{count} -= 1")
        self.block(depth + 1, True)
        self._else(depth, in_loop)

    def _for(self, depth: int, in_loop: bool) -> None:
        target = self.random.choice([self.name(), self.name(), "i", f"(i, {self.name()})", f"i, ({self.name()}, *j)"])
        size = self.random.randint(0, 4)
        over = f"range({size})"
        if target.startswith("("):
            over = f"enumerate({over})"
        elif target.startswith("i,"):
            over = f"[(k, (k, 1, k * 2)) for k in {over}]"
        self.line(depth, f"for {target} in {over}:")
        self.block(depth + 1, True)
        self._else(depth, in_loop)

    def _else(self, depth: int, in_loop: bool) -> None:
        if self.random.random() < 0.35:
            self.line(depth, "else:")
            self.block(depth + 1, in_loop)

    def _try(self, depth: int, in_loop: bool) -> None:
        self.line(depth, "try:")
        self.block(depth + 1, in_loop)
        name = f" as {self.name()}" if self.random.random() < 0.15 else ""
        self.line(depth, f"except {self.random.choice(['ZeroDivisionError', 'NameError', 'Exception'])}{name}:")
        self.block(depth + 1, in_loop)
        if self.random.random() < 0.2:
            self.line(depth, "else:")
            self.block(depth + 1, in_loop)
        if self.random.random() < 0.2:
            self.line(depth, "finally:")
            self.line(depth + 1, f"log.append({self.expression()})")

    def _match(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"match {self.expression()}:")
        self.line(depth + 1, f"case {self.random.randint(0, 3)}:")
        self.block(depth + 2, in_loop)
        self.line(depth + 1, f"case int({self.name()}) if {self.condition()}:")
        self.block(depth + 2, in_loop)

    def _break(self, depth: int, in_loop: bool) -> None:
        self.line(depth, "break")

    def _continue(self, depth: int, in_loop: bool) -> None:
        self.line(depth, "continue")

    def _return(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"return {self.expression()}" if self.random.random() < 0.8 else "return")

    def _assert(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"assert {self.condition()}, {self.expression()}")

    def _raise(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"raise KeyError({self.expression()})")

    def _del(self, depth: int, in_loop: bool) -> None:
        self.line(depth, f"del {self.name()}")


def random_function(seed: int) -> str:
    """The source of a function `f(a, b, log)` of two ints, which notes what it does in a list."""
    return _Writer(seed).text()
