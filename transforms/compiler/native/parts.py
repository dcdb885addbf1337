"""Parts: a long function as several ones, since the time of compilers grows faster than its length."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .lock import counted

__all__ = ["LINES", "apart", "ends", "in_parts"]

LINES = 400  # of one part; a function of twice as many is cut
_DECLARATION = re.compile(r"^(?:const )?(double|float|int64_t|uint8_t|int|Stack|PyObject) (?=\*|\w+(?:,| =|;|\[))(.*);")
_DECLARED = re.compile(r"(\*?)(?:const )*(\w+)(?: =|$)")
_ONE = re.compile(r"^(?:const )?(double|float|int64_t|uint8_t) (\w+)\[1\] = \{(.*)\};")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_COMMENT = re.compile(r"/\*.*?\*/")


def in_parts(chunks: Sequence[list[str]]) -> tuple[list[str], list[str]]:
    """Return functions, and the lines of one that calls them; `chunks` are its lines, in pieces that stay together.

    What a piece declares is not written to by those that follow it. What a later part reads of an earlier one goes through
    a struct that the first function holds.
    """
    parts: list[list[str]] = [[]]
    for chunk in chunks:
        if len(parts[-1]) >= LINES and any(line.strip() for line in chunk):
            parts.append([])
        parts[-1] += chunk
    if len(parts) == 1:
        return [], parts[0]
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
    made = ["typedef struct {", *[f"    {t.replace('@', name)};" for name, t in fields.items()], f"}} {kind};", ""]
    for k, part in enumerate(parts[:-1]):
        made += [
            f"static __attribute__((noinline)) int JOIN(run, part_{k})(",
            f"    const State *st, Frame *f, PyObject *const *a, int *why, {kind} *kept)", "{",
            *_deeper(counted([*_loads(loaded[k], fields), *part, *_saves(saved[k]), "return 0;"])),
            *ends(1),
        ]  # fmt: skip
    calls = [f"if (JOIN(run, part_{k})(st, f, a, why, kept)) return 0;" for k in range(len(parts) - 1)]
    return made, [f"{kind} all_kept, *const kept = &all_kept;", *calls, *_loads(loaded[-1], fields), *parts[-1]]


def ends(result: int) -> list[str]:
    """Return the last lines of a function, where it leaves early with `result` and says why."""
    leave = f"    return {result};"
    return [
        "punt:", "fail:", "    *why = 1;", leave, "unseen:", "    *why = 2;", leave, "stop:", "    *why = 0;", leave, "}", "",
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


def _saves(names: Sequence[str]) -> list[str]:
    return [f"kept->{n} = {n};" for n in names]


def _loads(names: Sequence[str], types: dict[str, str]) -> list[str]:
    return [f"{types[n].replace('@', f'const {n}')} = kept->{n};" for n in names]


def _deeper(lines: Sequence[str]) -> list[str]:
    return [line if line.startswith("#") else f"    {line}" for line in lines]
