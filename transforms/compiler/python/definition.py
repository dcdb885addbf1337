"""A shaped Program as the definition of a function, by sections: it writes down what the steps of the target have decided."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import gast

from ....runtime.arrays import PLACE
from ....runtime.ir.graph import Call, Value
from ..frontend.user_names import line_text
from ..schedule.program import (
    Fork,
    Free,
    If,
    Loop,
    Program,
    Return,
    Statement,
    Tiled,
    Unpack,
    straight,
)
from ..schedule.signature import Signature
from ..schedule.stores import section_of
from .blocks import Block, Entries, TileLoop, each_statement, every_tree, together
from .blocks import Fork as Path
from .boundary import arguments_of
from .deletes import calls_alone
from .inlining import call_tree, name_tree
from .layout import WIDTH
from .lines import Head, IfLines, LoopLines, ReturnLines, TiledLines, Walked
from .literals import constant_tree
from .printer import fresh, is_noted, note, section, to_source

__all__ = ["definition", "entries_of", "head_tree", "trees_of"]


def definition(
    program: Program, signature: Signature, name: str, said: str, entries: Entries, before: str | None = None
) -> Any:
    """The definition of a function: the docstring `said`, what takes its arguments apart, and its statements, by sections.

    `entries` are those of its program; `before` is the section that all of them stand in, where they are
    a part of another function.
    """
    body: list[Any] = [gast.Expr(value=gast.Constant(value=said, kind=None))]
    body += [line for s in program.body if isinstance(s, Unpack) for line in s.lines or ()]
    returns = [s.lines for s in straight(program.body) if isinstance(s, Return)]
    statements = together(entries, 4, frozenset[str]().union(*[lines.variables for lines in returns]))
    note_tricks(made for made, _ in each_statement(statements))
    body.extend(in_sections(statements, quietly=before is not None, before=before))
    if returns[-1].owner is None:
        body.append(gast.Return(value=returns[-1].value))
    return gast.FunctionDef(
        name=name, args=arguments_of(signature), body=body, decorator_list=[], returns=None, type_comment=None,
        **({"type_params": []} if "type_params" in gast.FunctionDef._fields else {}),
    )  # fmt: skip


def entries_of(body: Iterable[Statement], variables: Mapping[Value, str] | None = None) -> Entries:
    """The lines of a block, loops and branches with those in them; what is freed is deleted before the next call's."""
    made: Entries = []
    freed: list[str] = []
    for statement in body:
        if isinstance(statement, Free):
            assert variables is not None
            freed += [variables[v] for v in statement.values]
            continue
        written = _written(statement, variables)
        calls = calls_alone(statement) if freed else []
        place = next((k for k, entry in enumerate(written) if calls and _prints(entry, calls)), None)
        if place is not None:
            before = [*made[-1:], *written[:place]]
            written[place:place] = _deleted(freed, written[place][1], before[-1][1] if before else None)
            freed = []
        made += written
    if freed:
        beside = made[-1][1]
        made += _deleted(freed, beside, beside)
    return made


def trees_of(body: list[Statement]) -> list[Any]:
    """All lines of a function; their parts are those that it is written with."""
    unpacking = [line for s in body if isinstance(s, Unpack) for line in s.lines]
    last = body[-1].lines
    return [*unpacking, *every_tree(entries_of(body)), *([gast.Return(value=last.value)] * (last.owner is None))]


def _written(statement: Statement, variables: Mapping[Value, str] | None) -> Entries:
    """The lines of a statement."""
    lines = statement.lines
    match statement:
        case Unpack():
            return []
        case Loop():
            return _loop(statement, lines, variables)
        case If():
            return [*_fresh(lines.before), *_branch(statement, lines, variables)]
        case Tiled():
            return _tiled(statement, lines, variables)
        case Fork():
            node = gast.If(test=lines.test, body=[], orelse=[])
            last = statement.body[-1].lines
            path = Path(node, entries_of(statement.body, variables), gast.Return(value=last.value))
            return [*_fresh(lines.before), (path, statement.call)]
        case Return():
            return [*_fresh(lines.before), *_return(lines)]
    return _fresh(lines or ())


def _fresh(lines: Iterable[tuple[Any, Call]]) -> Entries:
    """Lines that may be given notes."""
    return [(fresh(line), call) for line, call in lines]


def _return(lines: ReturnLines) -> Entries:
    return [] if lines.owner is None else [(gast.Return(value=lines.value), lines.owner)]


def _loop(loop: Loop, lines: LoopLines, variables: Mapping[Value, str] | None) -> Entries:
    """What comes before a loop, and it."""
    body = _fresh(lines.opening)
    if loop.test is not None:
        body += entries_of(loop.test.body, variables)
    body += _fresh(lines.asking)
    if lines.stop is not None:
        body.append((gast.If(test=_negated(lines.stop), body=[gast.Break()], orelse=[]), lines.beside))
    body += _fresh(lines.fetched)
    body += entries_of(loop.body, variables)
    body += _fresh(lines.closing)
    return [*_fresh(lines.before), (Block(head_tree(lines.head), body, []), loop.call)]


def head_tree(head: Head) -> Any:
    """The `while` or `for` of a loop."""
    if head.test is not None:
        return gast.While(test=head.test, body=[], orelse=[])
    target, steps = head.walked[0].target, _steps(head.walked[0])
    if len(head.walked) > 1:
        target = gast.Tuple(elts=[walked.target for walked in head.walked], ctx=gast.Store())
        steps = call_tree("zip", *map(_steps, head.walked))
    if head.place is not None:
        target = gast.Tuple(elts=[name_tree(head.place, store=True), target], ctx=gast.Store())
        steps = call_tree("enumerate", steps)
    return gast.For(target=target, iter=steps, body=[], orelse=[], type_comment=None)


def _steps(walked: Walked) -> Any:
    """`range(n)`, `xs`, or these in reverse."""
    steps = call_tree("range", *walked.given) if type(walked.given) is tuple else walked.given
    return call_tree("reversed", steps) if walked.reverse else steps


def _branch(branch: If, lines: IfLines, variables: Mapping[Value, str] | None = None) -> Entries:
    """A branch as one statement: `if not test:` where only the second arm holds some, `if a and b:` for one in another."""
    call, test = branch.call, lines.test
    if lines.whole is not None:
        return [(fresh(lines.whole), call)]
    arms = [arm.body for arm in (branch.then, branch.orelse)]
    then, orelse = (
        [*entries_of(body, variables), *_fresh(closing)] for body, closing in zip(arms, lines.closing, strict=True)
    )
    if not then and not orelse:
        return [(gast.Expr(value=test), call)] if lines.asked else []
    if not then:
        test, then, orelse = _negated(test), orelse, []
    if not orelse and len(then) == 1 and isinstance(then[0][0], Block) and isinstance(then[0][0].node, gast.If):
        inside = then[0][0]
        if not inside.orelse:
            test, then = gast.BoolOp(op=gast.And(), values=[test, inside.node.test]), inside.body
    return [(Block(gast.If(test=test, body=[], orelse=[]), then, orelse), call)]


def _tiled(tiled: Tiled, lines: TiledLines, variables: Mapping[Value, str] | None) -> Entries:
    """A loop over tiles: `for start in range(0, len(x), 32768):`, and in it `tile = slice(start, start + 32768)`."""
    steps = call_tree("range", constant_tree(0), call_tree("len", lines.array), constant_tree(tiled.step))
    end = gast.BinOp(left=name_tree(lines.start), op=gast.Add(), right=constant_tree(tiled.step))
    cut = call_tree("slice", name_tree(lines.start), end)
    body = [gast.Assign(targets=[name_tree(lines.tile, store=True)], value=cut, type_comment=None)]
    node = gast.For(target=name_tree(lines.start, store=True), iter=steps, body=body, orelse=[], type_comment=None)
    note(node, "in tiles, which stay in the cache")
    loop = TileLoop(
        [fresh(made) for made in lines.made], node, lines.tile, entries_of(tiled.body, variables), lines.mixed
    )
    return [*_fresh(lines.before), (loop, lines.beside)]


def _negated(test: Any) -> Any:
    """`not test`."""
    negated = isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not)
    return test.operand if negated else gast.UnaryOp(op=gast.Not(), operand=test)


def _prints(entry: tuple[Any, Call], calls: list[Call]) -> bool:
    """Whether an entry is the statement of these calls."""
    statement, call = entry
    if isinstance(statement, TileLoop):
        return any(inner in calls for _, inner in statement.entries)
    return call is calls[0]


def _deleted(names: list[str], call: Call, before: Call | None) -> Entries:
    """`del a, b`, in as many lines as it takes, on the line of the statement before it where that stands in the same block."""
    beside = call if before is None or (before.quiet, before.backward) != (call.quiet, call.backward) else before
    about = Call(call.op, (), (), beside.site, call.backward, call.quiet)
    lines = [
        [gast.Name(id=name.strip(","), ctx=gast.Del(), annotation=None, type_comment=None) for name in line.split()]
        for line in textwrap.wrap(", ".join(names), WIDTH - len("        del "))
    ]
    return [(gast.Delete(targets=line), about) for line in lines]


# Sections: forward and backward, one np.errstate, the user's lines as comments, words on tricks.
def in_sections(
    statements: Entries, inside: TileLoop | None = None, quietly: bool = False, before: str | None = None,
    within: Call | None = None, known: set[str] | None = None, said: set[tuple[str, Any]] | None = None,
) -> list[Any]:  # fmt: skip
    """The statements of a function, or of a loop or a branch in it, those of the backward part with NumPy's warnings off.

    `before` is the section that goes on in them. Within the statement of a call there are no sections; `known` are the lines
    of the user's that stand elsewhere, and `said` those that a comment has named, by section. A comment names a line where
    its statements begin, once in a section; a statement that is the user's line needs none.
    """
    body: list[Any] = []
    labelled = any(call.backward for _, call in each_statement(statements)) if inside is None else inside.mixed
    labelled = (labelled or before is not None) and within is None
    groups = _groups(statements)
    printed = _printed(statements, inside) | (known or set())
    said = set() if said is None else said
    quiet: Any = None
    quietly = quietly or PLACE.module is not None  # CuPy warns of nothing, and has no np.errstate
    for place, (key, members) in enumerate(groups):
        part, site = key[0], key[2]
        first, call = members[0]
        if isinstance(first, TileLoop):
            part = "forward and backward" if first.mixed else part
            first = first.before[0] if first.before else first.node
        elif isinstance(first, (Path, Block)):
            first = first.node
        if call.quiet and not quietly:
            if quiet is None and _may_warn(itertools.takewhile(_is_quiet, groups[place:])):
                quiet = gast.With(items=[_quietly()], body=[], type_comment=None)
                body.append(quiet)
        else:
            quiet = None
        into = body if quiet is None else quiet.body
        if labelled and part != before:
            section(quiet if into is not body and not into else first, part)
        before = part
        if site is not None and (key[0], site) not in said:
            said.add((key[0], site))
            text = line_text(site.site)
            if key[0] not in ("forward", "writes") or "".join(text.split()) not in printed:
                goes_on = any((key[0], site) == (other[0], other[2]) for other, _ in groups[place + 1 : place + 2])
                behind = len(members) == 1 and isinstance(members[0][0], _SIMPLE) and not (goes_on or is_noted(first))
                note(first, f"{site}: {text}" if text else str(site), above=not behind)
        for statement, call in members:
            if isinstance(statement, TileLoop):
                inner = in_sections(statement.entries, statement, call.quiet or quietly, None, within, known, said)
                statement.node.body.extend(inner)
                into.extend((*statement.before, statement.node))
            elif isinstance(statement, Path):
                inner = in_sections(statement.entries, before=part if labelled else None, said=said.copy())
                statement.node.body.extend((*inner, statement.result))
                into.append(statement.node)
            elif isinstance(statement, Block):
                node, off = statement.node, call.quiet or quietly
                for lines, arm in ((statement.body, node.body), (statement.orelse, node.orelse)):
                    again = (
                        said.copy() if isinstance(node, gast.If) else {(key[0], site)}
                    )  # a loop has lines of its own
                    arm.extend(in_sections(lines, None, off, None, call, printed, again))
                node.body = node.body or [gast.Pass()]
                into.append(node)
            else:
                into.append(statement)
    return body


_SIMPLE = (gast.Assign, gast.AugAssign, gast.Expr, gast.Return)  # statements of one line, behind which there is room


def _is_quiet(group: tuple[Any, Entries]) -> bool:
    return bool(group[1][0][1].quiet)


# Functions and methods that move numbers and compute none, and those that fill an array with a number.
_SILENT = frozenset(
    ["append", "array", "broadcast_to", "concatenate", "copy", "diag", "diagonal", "empty", "empty_like", "enumerate",
     "expand_dims", "eye", "flip", "len", "list", "moveaxis", "ones", "ones_like", "pop", "range", "ravel", "repeat",
     "reshape", "reverse", "reversed", "roll", "squeeze", "stack", "swapaxes", "tile", "transpose", "where", "zeros",
     "zeros_like", "zip"]
)  # fmt: skip
_FILLING = frozenset(["full", "full_like", "float64", "float32"])
_SILENT_NODES = (
    gast.Assign, gast.Attribute, gast.Constant, gast.Expr, gast.For, gast.List, gast.Load, gast.Name, gast.Pass, gast.Return,
    gast.Slice, gast.Store, gast.Subscript, gast.Tuple, gast.USub, gast.keyword,
)  # fmt: skip


def _may_warn(groups: Iterable[tuple[Any, Entries]]) -> bool:
    """Whether NumPy could warn in any of these statements: it computes, and does not only move numbers."""
    made = [made for _, members in groups for made, _ in each_statement(members)]
    return any(_casts(statement) or not all(map(_is_silent, gast.walk(statement))) for statement in made)


def _casts(statement: Any) -> bool:
    """Whether more than a number is stored in an array, whose dtype may be another."""
    targets = getattr(statement, "targets", ())
    stored = any(isinstance(target, gast.Subscript) for target in targets)
    return stored and not isinstance(_bare(statement.value), gast.Constant)


def _is_silent(node: Any) -> bool:
    """Whether this part of a statement, but for what stands in it, can give no warning."""
    if isinstance(node, gast.UnaryOp):
        return isinstance(node.op, gast.USub)
    if not isinstance(node, gast.Call):
        return isinstance(node, _SILENT_NODES)
    called = to_source(node.func).rpartition(".")[2]
    if called in _FILLING:
        return any(isinstance(a, gast.Constant) and abs(a.value) < 100 for a in map(_bare, node.args))
    return called in _SILENT and not any(keyword.arg in ("dtype", "out") for keyword in node.keywords)


def _bare(node: Any) -> Any:
    """A number without its sign."""
    return node.operand if isinstance(node, gast.UnaryOp) else node


def _printed(statements: list[tuple[Any, Call]], inside: TileLoop | None) -> set[str]:
    """The user's lines that are statements of the text, or the first lines of such, without blanks."""
    found: set[str] = set()
    alone = []
    for key, group in _groups(statements):
        (first, _), *others = group
        if isinstance(first, Block):
            found |= _printed(first.body, None) | _printed(first.orelse, None)
        if isinstance(first, (Path, Block)):
            found.add(_header(first.node))
        elif not others and key[0] in ("forward", "writes") and not isinstance(first, TileLoop):
            alone.append(first)
    lines = to_source(gast.Module(body=alone, type_ignores=[])).splitlines()
    if inside is not None:  # the user's line, but for the slices
        lines = [line.replace(f"[{inside.tile}]", "") for line in lines]
    found |= {"".join(line.split()) for line in lines}
    return found | {"return" + "".join(line.partition(" = ")[2].split()) for line in lines}  # `out = x` is `return x`


def _groups(statements: list[tuple[Any, Call]]) -> list[tuple[Any, list[tuple[Any, Call]]]]:
    """What consecutive statements have in common, and those; what stands between two of one line belongs to it."""
    keys = [_origin(entry) for entry in statements]
    following = list(keys)  # for each: the next that is of a line or stands alone
    for k in reversed(range(len(keys) - 1)):
        following[k] = following[k + 1] if _is_of_none(keys[k + 1]) else keys[k + 1]
    for k in range(1, len(keys) - 1):
        if _is_of_none(keys[k]):
            after = following[k]
            if not _is_of_none(after) and keys[k - 1] == after and after[:2] == keys[k][:2]:
                keys[k] = after
    found: list[tuple[Any, list[tuple[Any, Call]]]] = []
    for key, entry in zip(keys, statements, strict=True):
        if not found or found[-1][0] != key:
            found.append((key, []))
        found[-1][1].append(entry)
    return found


def _origin(entry: tuple[Any, Call]) -> tuple[str, bool, Any, Any]:
    """What consecutive statements share under one note; a loop stands alone."""
    statement, call = entry
    site = _line(call)
    alone = id(statement) if isinstance(statement, (TileLoop, Path, Block)) else None
    return (section_of(call), call.quiet, site, alone)


def _is_of_none(key: tuple[str, bool, Any, Any]) -> bool:
    """Whether a statement is of no line of the user's, and does not stand alone."""
    return key[2] is None and key[3] is None


def _header(node: Any) -> str:
    """The first line of a branch or a loop, without blanks."""
    bare = type(node)(**{**node.__dict__, "body": [gast.Pass()], "orelse": []})
    return "".join(to_source(gast.Module(body=[bare], type_ignores=[])).partition(":\n")[0].split()) + ":"


def _line(call: Call | None) -> _Line | None:
    return None if call is None or call.site is None else _Line(call.site)


class _Line:
    """A site, equal to others on its line: a comprehension has code of its own."""

    def __init__(self, site: Any) -> None:
        self.site = site
        self.place = (site.code.co_filename, site.line)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Line) and self.place == other.place

    def __hash__(self) -> int:
        return hash(self.place)

    def __str__(self) -> str:
        return str(self.site)


def _quietly() -> Any:
    off = gast.keyword(arg="all", value=gast.Constant(value="ignore", kind=None))
    return gast.withitem(
        context_expr=gast.Call(func=name_tree("np.errstate"), args=[], keywords=[off]), optional_vars=None
    )


# Tricks with buffers: a few words at the first of each kind.
_SELECTION = "np.where(mask, x, 0.0), without branches"
_OUT = "out=: written over an array that nobody reads again"
_DEL = "frees memory before more is taken"


def note_tricks(statements: Iterable[Any]) -> None:
    """Say behind the first statement of each kind what it is for."""
    said: set[str] = set()
    for statement in statements:
        for words in _tricks(statement):
            if words not in said:
                said.add(words)
                note(statement, words)


def _tricks(statement: Any) -> Iterable[str]:
    if isinstance(statement, gast.Delete):
        yield _DEL
    if isinstance(statement, (gast.Assign, gast.AugAssign, gast.Expr, gast.Return)):
        nodes = list(gast.walk(statement))
        if any(hasattr(node, "is_selection") for node in nodes):
            yield _SELECTION
        if any(isinstance(node, gast.keyword) and node.arg == "out" for node in nodes):
            yield _OUT
