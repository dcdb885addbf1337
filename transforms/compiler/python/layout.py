"""Lay out printed code as `ruff format` does: comments two spaces behind, long lines wrapped inside their brackets."""

import itertools
import re
from collections.abc import Iterator, Sequence

WIDTH = 88  # no line of generated code is longer, where its brackets let it be wrapped


class Line:
    """A line before it is wrapped: its depth, its code, the comment behind it, the blank lines before it."""

    def __init__(self, indent: int, code: str, note: str = "", blank: int = 0) -> None:
        self.indent, self.code, self.note, self.blank = indent, code, note, blank

    @property
    def width(self) -> int:
        return 4 * self.indent + len(self.code)


class Page:
    """The file that the Unparser writes to: a list of lines, each with its indent and its comment."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.blank = 0

    def line(self, indent: int, code: str, note: str = "") -> None:
        self.lines.append(Line(indent, code, note, self.blank))
        self.blank = 0

    def comment(self, indent: int, text: str) -> None:
        for row in text.splitlines():
            self.line(indent, _comment(row, indent))

    def write(self, text: str) -> None:
        if not self.lines:
            self.line(0, "")
        self.lines[-1].code += text

    def flush(self) -> None:
        pass

    def code(self) -> str:
        return "\n".join(line.code for line in self.lines).rstrip("\n")

    def text(self) -> str:
        if self.lines:
            self.lines[-1].code = self.lines[-1].code.removesuffix("\n")  # Unparser ends the file with one
        if self.code() == "":
            return ""
        rows: list[str] = []
        for line in _settled(self.lines):
            rows += [""] * (line.blank if rows else 0)
            rows += _wrapped(line.code, line.indent)
            rows[-1] += f"  # {line.note}" if line.note else ""
        return "".join(f"{row}\n" for row in rows)


def _comment(text: str, indent: int) -> str:
    """A comment of one line: what there is no room for goes, by whole words."""
    room = WIDTH - 4 * indent - len("# ")
    if len(text) > room:
        text = (text[: room - 3].rpartition(" ")[0] or text[: room - 4]).rstrip() + " ..."
    return f"# {text}".rstrip()


def _settled(lines: Sequence[Line]) -> Iterator[Line]:
    """Move the comments that do not fit behind their statement to a line above it."""
    for line in lines:
        if line.note and ("\n" in line.code or line.width + len(line.note) + 4 > WIDTH):
            yield Line(line.indent, _comment(line.note, line.indent), blank=line.blank)
            yield Line(line.indent, line.code)
        else:
            yield line


_TOKEN = re.compile(r"""(?s)"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.""")
_HEAD = re.compile(
    r"(?:(?:return|raise|if|elif|while|from \S+ import|(?:async )?for .*? in) "
    r"|.* (?:[-+*/@%&|^]|//|\*\*|<<|>>)?= )|(?:(?:async )?def|class) "
)
_TARGETS = re.compile(r"(\w+(?:, \w+)+) = (\w+(?:\[\w+\])?)")  # many names for the parts of one thing
_RESULTS = re.compile(r"(\w+(?:, \w+)+) = \w+\(")  # many names for what a function gives
_BREAKS = [re.compile(rf" (?=(?:{words}) )") for words in ("async for|for|if", "if|else", "or", "and")]
_BREAKS += [re.compile(r"(?<!\bnot) (?=(?:[<>]=?|==|!=|is|in|not in) )")]
_BREAKS += [re.compile(rf" (?=(?:{signs}) )") for signs in (r"\|", r"\^", "&", "<<|>>", "[-+]", "[*/%@]|//")]
_GROUP = re.compile(r"(?<= [-+*/@] \()_+\)$")


def _wrapped(code: str, indent: int) -> list[str]:
    """Return the rows of a statement (or of the header of one), wrapped inside brackets if it is too long."""
    whole = ["    " * indent + code]
    if len(whole[0]) <= WIDTH or "\n" in code or code.startswith("#") or re.search(r"\b(lambda|yield)\b|f[\"']", code):
        return whole
    if targets := _TARGETS.fullmatch(code):
        pad, names = "    " * indent, targets.group(1).split(", ")
        return [f"{pad}(", *[f"{pad}    {name}," for name in names], f"{pad}) = {targets.group(2)}"]
    called = _RESULTS.match(code)
    if called and 4 * indent + called.end() > WIDTH:
        pad, names = "    " * indent, called.group(1).split(", ")
        return [
            f"{pad}(",
            *[f"{pad}    {name}," for name in names],
            *_rows(code[called.end(1) + 3 :], "", indent, ") = "),
        ]
    mask = _mask(code)
    tail = re.search(r"(?: -> .*)?:$| from \w+$|$", mask)
    end = tail.start() if tail else len(code)
    head = _HEAD.match(mask)
    start = head.end() if head else 0
    if _opener(code[start:end]):
        return _rows(code[start:end], code[end:], indent, code[:start])
    if head is None or re.match("(async )?def |class ", code):
        return whole
    if at := _last_group(code[start:end]):
        rows = _bracketed(code[: start + at], code[start + at : end - 1], code[end - 1 :], indent)
        if len(rows) == 3 and all(len(row) <= WIDTH for row in rows):
            return rows
    return _bracketed(f"{code[:start]}(", code[start:end], f"){code[end:]}", indent)


def _mask(text: str) -> str:
    """Blot out all that stands inside brackets or strings."""
    mask, depth = [], 0
    for token in _TOKEN.findall(text):
        depth -= token in ")]}"
        mask.append("_" * len(token) if depth or len(token) > 1 else token)
        depth += token in "([{"
    return "".join(mask)


def _opener(body: str) -> int:
    """Return where the last bracket of a call, subscript or display opens that is all of `body`; 0 if it is not one."""
    mask = _mask(body)
    if not mask.endswith((")", "]", "}")) or " " in re.sub(r"^(\S+: |await )", "", mask):
        return 0
    opener = max(map(mask.rfind, "([{")) + 1
    return opener if opener < len(body) - 1 else 0


def _last_group(body: str) -> int:
    """Return where the brackets open that a sum or product of two ends with; 0 if it has more operands, or ends otherwise."""
    group = _GROUP.search(_mask(body))
    return group.start() if group is not None and len(_pieces(body)) == 2 else 0


def _rows(body: str, tail: str, indent: int, head: str = "") -> list[str]:
    """Return the rows of an expression that stands where a line may end, or that opens a bracket itself."""
    whole = "    " * indent + head + body + tail
    if len(whole) <= WIDTH:
        return [whole]
    if at := _opener(body):
        return _bracketed(head + body[:at], body[at:-1], body[-1] + tail, indent)
    pieces = _pieces(body)
    if len(pieces) == 1:
        return [whole]
    rows = [_rows(piece, tail if piece is pieces[-1] else "", indent) for piece in pieces]
    return [row for group in rows for row in group]


def _pieces(body: str) -> list[str]:
    """Split an expression before its loosest operators."""
    mask = _mask(body)
    for pattern in _BREAKS:
        if places := [match.start() for match in pattern.finditer(mask)]:
            bounds = [-1, *places, len(body)]
            return [body[a + 1 : b] for a, b in itertools.pairwise(bounds)]
    return [body]


def _bracketed(opening: str, content: str, closing: str, indent: int) -> list[str]:
    pad, mask = "    " * indent, _mask(content)
    commas = [] if " for " in mask else [match.start() for match in re.finditer(",", mask)]
    display = bool(re.search(r"(^|[^\w)\]])[(\[{]$", opening))  # of elements, one a row, and not of a call's arguments
    if not commas or (not display and len(pad) + 4 + len(content) <= WIDTH and not content.endswith(",")):
        rows = _rows(content, "", indent + 1)
    else:
        bounds = [-1, *commas, len(content)]
        parts = [content[a + 1 : b].strip() for a, b in itertools.pairwise(bounds)]
        rows = [row for part in parts if part for row in _rows(part, ",", indent + 1)]
    return [pad + opening, *rows, pad + closing]
