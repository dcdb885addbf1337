"""Print expressions: parentheses by precedence, f-strings whose quotes also parse before Python 3.12."""

import ast
import re
import sys
from collections.abc import Sequence
from typing import Any, cast

from .layout import Page

_RANKS = ["NamedExpr", "Yield YieldFrom", "Tuple", "IfExp Lambda MatchAs", "Or MatchOr", "And", "Not", "Compare"]
_RANKS += ["BitOr", "BitXor", "BitAnd", "LShift RShift", "Add Sub", "Mult Div FloorDiv Mod MatMult"]
_RANKS += ["USub UAdd Invert", "Pow", "Await", "atom"]
_RANK = {name: rank for rank, names in enumerate(_RANKS) for name in names.split()}
YIELD, TUPLE, TEST, OR, _BITOR = (_RANK[n] for n in ("Yield", "Tuple", "IfExp", "Or", "BitOr"))
_UNARY, _AWAIT, ATOM = (_RANK[n] for n in ("USub", "Await", "atom"))


def rank_of(node: ast.AST) -> int:
    """Return how tightly a node binds: an operand of a lower rank than its place asks for needs parentheses."""
    name = type(node).__name__
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.UnaryOp):
        name = type(node.op).__name__
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and repr(node.value).startswith("-"):
        name = "USub"
    elif (isinstance(node, ast.Tuple) and len(node.elts) < 2) or (isinstance(node, ast.MatchAs) and not node.pattern):
        name = "atom"
    return rank_by_name(name)


def rank_by_name(name: str) -> int:
    """The rank of a kind of node, or of its operator."""
    return _RANK.get(name, ATOM)


def _is_word(node: ast.AST) -> bool:
    """Whether a node is a name or a constant, perhaps with a sign."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        node = node.operand
    return isinstance(node, ast.Name | ast.Constant)


def _is_short(node: ast.AST) -> bool:
    """Whether an operand stands close to its `**`: a word, an attribute of names, or another such power."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        node = node.left
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        node = node.operand
    while isinstance(node, ast.Attribute):
        node = node.value
    return _is_word(node)


def _round(text: str) -> str:
    """`1e10` for 10000000000.0, and `1e-4` for 0.0001, as one writes them."""
    if whole := re.fullmatch(r"(-?[1-9])(0{5,})\.0", text):
        return f"{whole[1]}e{len(whole[2])}"
    small = re.fullmatch(r"(-?)0\.(000+)([1-9])", text)
    return text if small is None else f"{small[1]}{small[3]}e-{len(small[2]) + 1}"


_QUOTES = ('"', "'", '"""', "'''")


class Unquotable(ValueError):
    """No free quote can hold a text: before 3.12 an f-string takes neither its own quote nor a backslash."""


def escaped(text: str, quote: str, breaks: str = "") -> str:
    """Escape what cannot stand between two `quote`s; line breaks only if they are in `breaks`."""
    plain = (c if c in breaks or (c.isprintable() and c != "\\") else c.encode("unicode_escape").decode() for c in text)
    body = "".join(plain).replace(quote, "".join(f"\\{c}" for c in quote))
    return re.sub(rf"(?<!\\)((?:\\\\)*){quote[0]}$", rf"\1\\{quote[0]}", body)


def _raw(text: str, quote: str) -> str:
    """Return the text, which stands inside an f-string's braces, if it needs no escapes between two `quote`s."""
    if (
        quote in text
        or text.endswith(quote[0])
        or re.search(r"[\\\r\0\ud800-\udfff]", text)
        or ("\n" in text and len(quote) == 1)
    ):
        raise Unquotable(f"no quote is left for {text!r} in an f-string")
    return text


class Expressions:
    """The methods of astunparse's Unparser for expressions: one a node, named as its dispatch wants it."""

    f: Page
    unop: dict[str, str]
    binop: dict[str, str]
    cmpops: dict[str, str]
    quotes: tuple[str, ...] | None = None  # inside an f-string's braces: the quotes still free

    def dispatch(self, tree: Any, rank: int = TEST) -> None:
        """Print a node, in parentheses if it binds looser than `rank`; or the statements of a block."""
        if isinstance(tree, list):
            return self.block(tree)
        loose = isinstance(tree, ast.expr | ast.pattern) and rank_of(tree) < rank
        self.write("(" if loose else "")
        getattr(self, f"_{type(tree).__name__}")(tree)
        self.write(")" if loose else "")

    def block(self, nodes: Sequence[ast.AST]) -> None:
        raise NotImplementedError

    def write(self, text: str) -> None:
        if text:
            self.f.write(text)

    def text(self, tree: ast.AST, rank: int = TEST) -> str:
        page, self.f = self.f, Page()
        try:
            self.dispatch(tree, rank)
            return self.f.code()
        finally:
            self.f = page

    def commas(self, nodes: Sequence[ast.AST]) -> None:
        for i, node in enumerate(nodes):
            self.write(", " if i else "")
            self.dispatch(node)

    def free(self, node: ast.AST) -> None:
        """Print a node where a walrus needs no parentheses."""
        self.dispatch(node, 0 if isinstance(node, ast.NamedExpr) else TEST)

    def _NamedExpr(self, t: ast.NamedExpr) -> None:
        self.write(f"{self.text(t.target)} := {self.text(t.value)}")

    def _Await(self, t: ast.Await) -> None:
        self.write(f"await {self.text(t.value, ATOM)}")

    def _Yield(self, t: ast.Yield) -> None:
        self.write(f"yield {self.text(t.value, TUPLE)}" if t.value else "yield")

    def _YieldFrom(self, t: ast.YieldFrom) -> None:
        self.write(f"yield from {self.text(t.value)}")

    def _Lambda(self, t: ast.Lambda) -> None:
        self.write(f"lambda {self.text(t.args)}".rstrip() + f": {self.text(t.body)}")

    def _IfExp(self, t: ast.IfExp) -> None:
        self.write(f"{self.text(t.body, OR)} if {self.text(t.test, OR)} else {self.text(t.orelse)}")

    def _BoolOp(self, t: ast.BoolOp) -> None:
        word = " and " if isinstance(t.op, ast.And) else " or "
        self.write(word.join(self.text(value, rank_of(t) + 1) for value in t.values))

    def _UnaryOp(self, t: ast.UnaryOp) -> None:
        self.write(self.unop[type(t.op).__name__] + (" " if isinstance(t.op, ast.Not) else ""))
        power = isinstance(t.operand, ast.BinOp) and isinstance(t.operand.op, ast.Pow)
        self.dispatch(t.operand, ATOM if power else rank_of(t))

    def _BinOp(self, t: ast.BinOp) -> None:
        power = isinstance(t.op, ast.Pow)
        left, right = (_AWAIT, _UNARY) if power else (rank_of(t), rank_of(t) + 1)
        self.dispatch(t.left, left)
        sign = self.binop[type(t.op).__name__]
        close = power and rank_of(t.left) >= left and _is_short(t.left) and _is_short(t.right)
        self.write(sign if close else f" {sign} ")
        self.dispatch(t.right, right)

    def _Compare(self, t: ast.Compare) -> None:
        self.dispatch(t.left, _BITOR)
        for op, value in zip(t.ops, t.comparators, strict=True):
            self.write(f" {self.cmpops[type(op).__name__]} ")
            self.dispatch(value, _BITOR)

    def _Attribute(self, t: ast.Attribute) -> None:
        number = isinstance(t.value, ast.Constant) and type(t.value.value) is int
        self.write(f"({self.text(t.value)})" if number else self.text(t.value, ATOM))
        self.write(f".{t.attr}")

    def _Call(self, t: ast.Call) -> None:
        self.dispatch(t.func, ATOM)
        if len(t.args) == 1 and not t.keywords and isinstance(t.args[0], ast.GeneratorExp):
            return self.dispatch(t.args[0])
        self.write("(")
        for i, value in enumerate([*t.args, *t.keywords]):
            self.write(", " if i else "")
            if isinstance(value, ast.Starred):
                self.write("*")
                self.dispatch(value.value)
            else:
                self.free(value)
        self.write(")")

    def _Subscript(self, t: ast.Subscript) -> None:
        self.dispatch(t.value, ATOM)
        self.write("[")
        if isinstance(t.slice, ast.Tuple) and t.slice.elts:
            self.commas(t.slice.elts)
            self.write("," if len(t.slice.elts) == 1 else "")
        else:
            self.dispatch(t.slice)
        self.write("]")

    def _Slice(self, t: ast.Slice) -> None:
        parts = [t.lower, t.upper, t.step] if t.step else [t.lower, t.upper]
        wide = any(part and not _is_word(part) for part in parts)
        text = (" : " if wide else ":").join(self.text(part) if part else "" for part in parts)
        self.write(text.strip().replace(":  :", "::"))

    def _Starred(self, t: ast.Starred) -> None:
        self.write("*")
        self.dispatch(t.value, _BITOR)

    def _Tuple(self, t: ast.Tuple) -> None:
        short = len(t.elts) < 2
        self.write("(" if short else "")
        self.commas(t.elts)
        self.write((",)" if t.elts else ")") if short else "")

    def _Dict(self, t: ast.Dict) -> None:
        pairs = zip(t.keys, t.values, strict=True)
        items = (f"{self.text(k)}: {self.text(v)}" if k else f"**{self.text(v, _BITOR)}" for k, v in pairs)
        self.write("{" + ", ".join(items) + "}")

    def _comprehension(self, t: ast.comprehension) -> None:
        self.write(" async for " if t.is_async else " for ")
        self.dispatch(t.target, TUPLE)
        self.write(f" in {self.text(t.iter, OR)}")
        for test in t.ifs:
            self.write(f" if {self.text(test, OR)}")

    def _arguments(self, t: ast.arguments) -> None:
        positional = [*t.posonlyargs, *t.args]
        defaults = [None] * (len(positional) - len(t.defaults)) + t.defaults
        items = [self.argument("", a, d) for a, d in zip(positional, defaults, strict=True)]
        if t.posonlyargs:
            items.insert(len(t.posonlyargs), "/")
        if t.vararg or t.kwonlyargs:
            items.append(self.argument("*", t.vararg) if t.vararg else "*")
        items += [self.argument("", a, d) for a, d in zip(t.kwonlyargs, t.kw_defaults, strict=True)]
        items += [self.argument("**", t.kwarg)] if t.kwarg else []
        self.write(", ".join(items))

    def argument(self, sign: str, arg: ast.arg, default: ast.expr | None = None) -> str:
        text = sign + self.text(arg)
        return text + (" = " if arg.annotation else "=") + self.text(default) if default else text

    def _write_constant(self, value: object) -> None:
        if isinstance(value, str | bytes):
            self.write(self.literal(value))
        elif isinstance(value, float | complex):
            text = re.sub(r"e(?:\+0?|(-)0)(?=\d)", r"e\1", repr(value))  # 1e-6, not 1e-06
            text = _round(text) if isinstance(value, float) else text
            self.write(re.sub("inf", "1e309", re.sub(r"nan(?!j)", "(1e309 - 1e309)", text)))
        else:
            self.write(repr(value))

    def literal(self, value: str | bytes) -> str:
        if self.quotes is None:
            prefix, body = ("b", repr(value)[1:]) if isinstance(value, bytes) else ("", repr(value))
            return prefix + (body if '"' in body else f'"{body[1:-1]}"')
        text = value.decode("latin-1") if isinstance(value, bytes) else value
        for quote in self.quotes:
            try:
                return "b" * isinstance(value, bytes) + quote + _raw(text, quote) + quote
            except Unquotable:
                pass
        raise Unquotable(f"no quote is left for {value!r} in an f-string")

    def _FormattedValue(self, t: ast.FormattedValue) -> None:
        self._JoinedStr(ast.JoinedStr([t]))

    def _JoinedStr(self, t: ast.JoinedStr) -> None:
        outer = self.quotes
        words = "".join(str(part.value) for part in t.values if isinstance(part, ast.Constant))
        try:
            for quote in sorted(_QUOTES if outer is None else outer, key=lambda quote: quote in words):
                self.quotes = tuple(q for q in (_QUOTES if outer is None else outer) if quote not in q)
                try:
                    body = self.pieces(t.values, quote, outer is not None)
                except Unquotable:
                    continue
                if len(quote) == 3 or "\n" not in body:
                    return self.write(f"f{quote}{body}{quote}")
            if outer is not None or sys.hexversion < 0x030C0000:
                raise Unquotable("no quote is left for an f-string; Python 3.12 and up can print it")
            self.quotes = None
            self.write('f"' + self.pieces(t.values, '"', False) + '"')
        finally:
            self.quotes = outer

    def pieces(self, parts: Sequence[ast.AST], quote: str, raw: bool, spec: bool = False) -> str:
        """Return the inside of an f-string, or of a format specification in it."""
        text = ""
        for part in parts:
            if isinstance(part, ast.FormattedValue):
                value = self.text(part.value)
                if self.quotes is not None and (quote in value or "\\" in value):
                    raise Unquotable(f"no quote is left around {value!r} in an f-string")
                value = f"({value})" if "lambda" in value else value
                text += "{" + " " * value.startswith("{") + value
                text += "" if part.conversion == -1 else f"!{chr(part.conversion)}"
                if part.format_spec:
                    text += ":" + self.pieces(cast(ast.JoinedStr, part.format_spec).values, quote, raw, spec=True)
                text += "}"
            else:
                value = str(cast(ast.Constant, part).value)
                value = _raw(value, quote) if raw else escaped(value, quote)
                braces = ("\\x7b", "\\x7d") if spec else ("{{", "}}")
                text += value.replace("{", braces[0]).replace("}", braces[1])
        return text
