"""Parts: a long function, or body of a loop, as several ones, since the time of compilers grows faster than its length."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .lock import counted

__all__ = ["LINES", "apart", "ends", "in_parts", "is_mark", "marked"]

LINES = 400  # of one part; a function of twice as many is cut
_DECLARATION = re.compile(r"^(?:const )?(double|float|int64_t|uint8_t|int|Stack|PyObject) (?=\*|\w+(?:,| =|;|\[))(.*);")
_DECLARED = re.compile(r"(\*?)(?:const )*(\w+)(?: =|$)")
_ONE = re.compile(r"^(?:const )?(double|float|int64_t|uint8_t) (\w+)\[1\] = \{(.*)\};")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_FIRST, _NEXT, _LAST = (
    ";  /* parts */",
    ";  /* part */",
    ";  /* parted */",
)  # before, between and behind what may be cut
_LEAVE = "goto left;"
_COMMENT = re.compile(r"/\*.*?\*/")


def in_parts(chunks: Sequence[list[str]]) -> tuple[list[str], list[str]]:
    """Return functions, and the lines of one that calls them; `chunks` are its lines, in pieces that stay together.

    What a piece declares is not written to by those that follow it. What a later part reads of an earlier one goes through
    a struct that the first function holds. Bodies of loops are cut where they are `marked`.
    """
    loops = _Loops(chunks)
    parts: list[list[str]] = [[]]
    for chunk in map(loops.cut, chunks):
        if len(parts[-1]) >= LINES and any(line.strip() for line in chunk):
            parts.append([])
        parts[-1] += chunk
    if len(parts) == 1:
        return loops.functions, parts[0]
    arrays: dict[str, str] = {}  # of one number: what points to it outlives the part that made it
    parts = [[_held(line, arrays) for line in part] for part in parts]
    words = [set(_WORD.findall(_COMMENT.sub("", "\n".join(part)))) for part in parts]
    declared = [_declared(part) for part in parts]
    fields: dict[str, str] = dict(arrays)
    saved: list[list[str]] = []
    loaded: list[list[str]] = []
    for k, names in enumerate(declared):
        later: set[str] = set().union(*words[k + 1 :]) if k + 1 < len(parts) else set()
        saved.append([name for name in names if name in later])
        known = {name: made for before in declared[:k] for name, made in before.items()}
        loaded.append([name for name in known if name in words[k] and name not in names])
        fields |= {name: names[name] for name in saved[-1]}
    kind = "JOIN(run, parts)"
    made = [*loops.functions, *_struct(kind, fields)]
    for k, part in enumerate(parts[:-1]):
        lines = counted([*_loads(loaded[k], fields), *part, *_saves(saved[k]), "return 0;"])
        made += _function(f"JOIN(run, part_{k})", kind, lines)
    calls = [f"if (JOIN(run, part_{k})(st, f, a, why, kept)) return 0;" for k in range(len(parts) - 1)]
    return made, [f"{kind} all_kept, *const kept = &all_kept;", *calls, *_loads(loaded[-1], fields), *parts[-1]]


def ends(result: int, lines: Sequence[str]) -> list[str]:
    """Return the last lines of a function, where it leaves early with `result` and says why, if no part of a loop has said so."""
    leave = f"    return {result};"
    left = ["left:", leave] if any(line.endswith(_LEAVE) for line in lines) else []
    return [
        "punt:", "fail:", "    *why = 1;", leave, "unseen:", "    *why = 2;", leave, "stop:", "    *why = 0;", leave, *left,
        "}", "",
    ]  # fmt: skip


def marked(pieces: Sequence[Sequence[str]]) -> list[str]:
    """Return the body of a loop, marked where it may be cut: between pieces that stay together, none of which leaves the loop."""
    lines = [_FIRST]
    for piece in pieces:
        lines += [*piece, _NEXT] if piece else []
    return [*lines[:-1], _LAST] if len(lines) > 1 else []


def is_mark(line: str) -> bool:
    """Whether a line is no C, but a place where the body of a loop may be cut."""
    return line.strip() in (_FIRST, _NEXT, _LAST)


class _Loops:
    """The bodies of loops, cut into functions where they are long."""

    def __init__(self, chunks: Sequence[list[str]]) -> None:
        self.functions: list[str] = []
        lines = [line.strip() for chunk in chunks for line in chunk]
        self.types = _declared(lines)
        for line in lines:
            if (match := _ONE.match(line)) is not None:
                self.types[match[2]] = f"{match[1]} *@"
        self.words = set(_WORD.findall("\n".join(lines))) if any(map(is_mark, lines)) else set[str]()
        self.number = 0

    def cut(self, lines: list[str]) -> list[str]:
        """Return lines without marks, in which long bodies are calls of functions."""
        if _FIRST not in map(str.strip, lines):
            return lines
        start = next(k for k, line in enumerate(lines) if line.strip() == _FIRST)
        pieces: list[list[str]] = [[]]
        depth, end = 0, start
        for k, line in enumerate(lines[start:], start):
            mark = line.strip()
            depth += (mark == _FIRST) - (mark == _LAST)
            if depth == 0:
                end = k
                break
            if depth == 1 and mark == _NEXT:
                pieces.append([])
            elif depth > 1 or mark != _FIRST:
                pieces[-1].append(line)
        indent = len(lines[start]) - len(_FIRST)
        rest = self.cut(lines[end + 1 :])
        return [*lines[:start], *self.body(list(map(self.cut, pieces)), rest, " " * indent), *rest]

    def body(self, pieces: list[list[str]], rest: Sequence[str], indent: str) -> list[str]:
        """Return the lines of a body that stands before `rest`."""
        parts: list[list[str]] = [[]]
        for piece in pieces:
            if len(parts[-1]) >= LINES:
                parts.append([])
            parts[-1] += piece
        if len(parts) == 1:
            return parts[0]
        name = self.new_name()
        kind = f"JOIN(run, {name})"
        fields: dict[str, str] = {}
        parts = [[line[len(indent) :] if line.startswith(indent) else line for line in part] for part in parts]
        parts = [[_held(line, fields) for line in part] for part in parts]
        words = [set(_WORD.findall(_COMMENT.sub("", "\n".join(part)))) for part in parts]
        after = set(_WORD.findall(_COMMENT.sub("", "\n".join(rest))))
        made = [_declared(part) for part in parts]
        inside = [_declared([line.strip() for line in part]) for part in parts]
        saved, loaded = [], []
        known: dict[str, str] = {}
        for k in range(len(parts)):
            later = after.union(*words[k + 1 :])
            saved.append([n for n in made[k] if n in later])
            loaded.append([n for n in words[k] & self.types.keys() if n not in inside[k]])
            known |= made[k]
        outer = sorted({n for names in loaded for n in names} - known.keys())
        fields |= {n: self.types[n] for n in outer} | {n: known[n] for names in saved for n in names}
        self.functions += _struct(kind, {**fields, "work": "int64_t @"})
        for k, part in enumerate(parts):
            lines = [*_loads(sorted(loaded[k]), fields), *part, *_saves(saved[k])]
            if counted(lines) != lines:
                lines = ["int64_t work = kept->work;", *lines, "kept->work = work;"]
            self.functions += _function(f"JOIN(run, {name}_{k})", kind, [*lines, "return 0;"])
        call = "if (JOIN(run, {name}_{k})(st, f, a, why, &{name})) {leave}"
        back = [n for names in saved for n in names if n in after]
        calls = [f"{kind} {name};", *_saves([*outer, "work"], f"{name}.")]
        calls += [call.format(name=name, k=k, leave=_LEAVE) for k in range(len(parts))]
        calls += [f"work = {name}.work;", *_loads(back, fields, f"{name}.")]
        return [indent + line for line in calls]

    def new_name(self) -> str:
        while True:
            self.number += 1
            if f"body_{self.number}" not in self.words:
                return f"body_{self.number}"


def _struct(kind: str, fields: dict[str, str]) -> list[str]:
    return ["typedef struct {", *[f"    {t.replace('@', name)};" for name, t in fields.items()], f"}} {kind};", ""]


def _function(name: str, kind: str, lines: Sequence[str]) -> list[str]:
    """A part: 0 where it came to its end."""
    return [
        f"static __attribute__((noinline)) int {name}(",
        f"    const State *st, Frame *f, PyObject *const *a, int *why, {kind} *kept)", "{", *_deeper(lines), *ends(1, lines),
    ]  # fmt: skip


def apart(lines: Sequence[str]) -> list[list[str]]:
    """Cut lines behind each statement of its own; a declaration without a value stays with the line that gives it one."""
    made: list[list[str]] = []
    whole = True
    for line in lines:
        if whole or not made:
            made.append([])
        made[-1].append(line)
        plain = _COMMENT.sub("", line).strip()
        whole = (
            plain.endswith(";") and (" = " in plain or plain.startswith("if (")) and not plain.startswith(("for", "{"))
        )
    return made


def _declared(lines: Sequence[str]) -> dict[str, str]:
    """What lines declare for those that follow: by name the type, with @ for the name."""
    found: dict[str, str] = {}
    for line in lines:
        match = _DECLARATION.match(line)
        if match is None:
            continue
        for one in _split(match[2]):
            name = _DECLARED.match(one)
            if name is not None:
                found[name[2]] = f"{match[1]} {name[1]}@"
    return found


def _split(text: str) -> list[str]:
    """Declarators, at the commas between them."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == ";" and depth == 0:
            break
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def _held(line: str, arrays: dict[str, str]) -> str:
    """A line, in which an array of one number is one of the struct."""
    match = _ONE.match(line)
    if match is None:
        return line
    arrays[f"{match[2]}_held"] = f"{match[1]} @[1]"
    return f"{match[1]} *{match[2]} = (kept->{match[2]}_held[0] = {match[3]}, kept->{match[2]}_held);"


def _saves(names: Sequence[str], of: str = "kept->") -> list[str]:
    return [f"{of}{n} = {n};" for n in names]


def _loads(names: Sequence[str], types: dict[str, str], of: str = "kept->") -> list[str]:
    return [
        f"{types[n].replace('@', f'const {n}') if '*' in types[n] else f'const {types[n]}'.replace('@', n)} = {of}{n};"
        for n in names
    ]


def _deeper(lines: Sequence[str]) -> list[str]:
    return [line if line.startswith("#") else f"    {line}" for line in lines]
