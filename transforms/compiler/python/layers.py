"""Lists of the caller's in print: a loop walks them as they are, `for W, b in layers`, and their gradient is a list again."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import gast

from ....runtime.ir.graph import Call, Value
from ....runtime.ir.opcodes import LISTED
from ..frontend.user_names import names_of_parts, singular_of
from ..schedule.names import plural
from ..schedule.program import Assign, Program, Unpack, reads_of, straight
from ..schedule.signature import children
from .boundary import access_key, part_tree
from .literals import constant_tree
from .variables import assign, name_tree

if TYPE_CHECKING:
    from .walk import Walk

__all__ = ["Home", "called_in", "collapsed", "homes_of", "part_of", "read_in_lists", "write_list", "write_parts"]

WHOLE = (None, None, 1)


class Home(NamedTuple):
    """Where the items of a list stand among the arguments: at one place of items of a list of the caller's, one by one."""

    parameter: str
    keys: tuple[Any, ...]  # which lead to the caller's list
    part: tuple[int | None, int | None, int]  # the slice of it; (None, None, 1) is the whole
    path: tuple[Any, ...]  # from an item to the value
    width: int  # of an item that is a plain tuple or list: how many values it has; else 0

    def text(self) -> str:
        """Return the caller's list as text."""
        parts = [key if isinstance(key, str) else f"[{_bare(key)!r}]" for key in self.keys]
        return "".join([self.parameter, *parts])


class _Place(NamedTuple):
    """Where a value stands among the arguments: in an item of a list."""

    parameter: str
    keys: tuple[Any, ...]
    length: int  # of the list
    number: int  # of the item
    path: tuple[Any, ...]
    width: int


def homes_of(program: Program) -> dict[Value, Home]:
    """Return the places of the lists that a program makes of items of a list among its arguments, one by one."""
    lists = _lists_of(program)
    known: dict[Value, list[_Place]] = {}  # of lists in lists, each
    unpacked = [s for s in straight(program.body) if isinstance(s, Unpack)] if lists else []
    for s in unpacked:
        for keys, node in _lists_in(s.tree, ()):
            for k, item in enumerate(node):
                leaves = list(_leaves(item, ()))
                width = len(item) if type(item) in (list, tuple) and len(leaves) == len(item) else 0
                for path, v in leaves:
                    known.setdefault(v, []).append(_Place(s.parameter, keys, len(node), k, path, width))
    found = {call.outs[0]: _home([known.get(v, []) for v in call.args[0]]) for call in lists}
    return {out: home for out, home in found.items() if home is not None}


def _lists_of(program: Program) -> list[Call]:
    return [s.call for s in straight(program.body) if isinstance(s, Assign) and s.call.op is LISTED]


def _home(found: Sequence[list[_Place]]) -> Home | None:
    """The place of a list whose items stand at these places, each in the outermost list of the caller's that serves."""
    for first in found[0] if len(found) > 1 else ():
        places = [next((p for p in one if p[:3] == first[:3]), None) for one in found]
        home = None if None in places else _line_of([p for p in places if p is not None])
        if home is not None:
            return home
    return None


def _line_of(places: list[_Place]) -> Home | None:
    (parameter, keys, length, first, path, width), second, *_ = places
    step = second.number - first
    numbers = range(first, first + step * len(places), step or 1)
    if abs(step) != 1 or places != [_Place(parameter, keys, length, k, path, width) for k in numbers]:
        return None
    stop = numbers[-1] + step
    if step > 0:
        return Home(parameter, keys, (first or None, stop - length or None, 1), path, width)
    return Home(parameter, keys, (None if first == length - 1 else first, None if stop < 0 else stop, -1), path, width)


def read_in_lists(program: Program, homes: dict[Value, Home]) -> set[Value]:
    """Return the values that are read as items of the caller's lists alone."""
    inside, elsewhere = set[Value](), set[Value]()
    for s in straight(program.body):
        at_home = isinstance(s, Assign) and s.call.op is LISTED and s.call.outs[0] in homes
        (inside if at_home else elsewhere).update(reads_of(s))
    return inside - elsewhere


def called_in(homes: dict[Value, Home], program: Program) -> dict[Value, str]:
    """Return what the docstring calls the items of the caller's lists: `Ws`, or `each W of layers`."""
    found: dict[Value, str] = {}
    for call in _lists_of(program):
        home = homes.get(call.outs[0])
        if home is not None:
            part = call.outs[0].name if home.path else None
            found |= dict.fromkeys(call.args[0], home.text() if part is None else f"each {part} of {home.text()}")
    return found


def lists_of_items(walk: Walk) -> dict[Value, str]:
    """Return, for items of the caller's lists, what the text calls a list of them: `Ws`."""
    found: dict[Value, str] = {}
    for call in _lists_of(walk.program):
        (out,) = call.outs
        home, name = walk.homes.get(out), getattr(walk.trees.get(out), "id", None)
        word = name if home is None or not home.path else None if out.name is None else plural(out.name)
        if home is not None and word is not None:
            found |= dict.fromkeys(call.args[0], word)
    return found


def write_list(walk: Walk, call: Call) -> None:
    """Write a list down: the caller's own, or one of its items."""
    (out,) = call.outs
    walk.lists.lengths[out] = len(call.args[0])
    home = walk.homes.get(out)
    if home is None:
        tree = gast.List(elts=[walk.tree(v) for v in call.args[0]], ctx=gast.Load())
        walk.add(assign(walk.fresh(out), collapsed(tree)), call)
        return
    beside = [v for v, other in walk.homes.items() if other[:3] == home[:3] and v in walk.trees]
    if beside:
        name = walk.trees[beside[0]].id
    elif not home.keys and home.part == WHOLE:
        name = home.parameter
    else:
        access = _part(name_tree(home.parameter), home.keys)
        name = walk.naming.names.new(_called(home, call))
        if home.part != WHOLE:
            lower, upper, step = [None if k is None else constant_tree(k) for k in home.part]
            cut = gast.Slice(lower=lower, upper=upper, step=None if home.part[2] == 1 else step)
            access = gast.Subscript(value=access, slice=cut, ctx=gast.Load())
        walk.add(assign(name, access), call)
    walk.trees[out] = name_tree(name)
    walk.nested.add(out)
    if home.width > 1 and out.element is not None and out.element.name is None:  # the loop takes the item apart
        bundle = next((walk.lists.bundled[v] for v in beside), (name, [Value(out.type) for _ in range(home.width)]))
        bundle[1][_bare(home.path[0])] = out
        walk.lists.bundled[out] = bundle


def _called(home: Home, call: Call) -> str:
    """A name for a list of the caller's: the user's own, of `Ws, bs = params`, or its key, or the plural of an item's name."""
    keys, item = [_bare(k) for k in home.keys], call.outs[0].name
    own = names_of_parts(home.parameter, {call.site.code}) if call.site is not None and len(keys) == 1 else ()
    name: str | None = own[keys[0]] if own and keys[0] in range(len(own)) else None
    if name is not None:
        return name
    word = next((k for k in reversed(keys) if isinstance(k, str)), None)
    if item is not None and (word is None or word == item):
        return plural(item)
    return word if word is not None and word.isidentifier() else "items"


def part_of(walk: Walk, stack: Value, item: Any) -> Any:
    """Return the value that an item of a list has for a loop, which is a part of it where the caller's item is a tree."""
    home = walk.homes.get(stack)
    return item if home is None or stack in walk.lists.bundled else _part(item, home.path)


def _part(tree: Any, keys: Sequence[Any]) -> Any:
    """Return the expression of a part: `layer["W"]`, `layer.W`, `layer[0]`."""
    return functools.reduce(part_tree, keys, tree)


def _bare(key: Any) -> Any:
    """Return the item `(key,)`, or the attribute `.name`, as the user has it."""
    return key[0] if type(key) is tuple else key[1:]


def _lists_in(tree: Any, keys: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Go through the lists and tuples of an argument with several items, each with the keys that lead there."""
    if type(tree) in (list, tuple) and len(tree) > 1:
        yield keys, tree
    for key, part in children(tree) or ():
        yield from _lists_in(part, (*keys, access_key(tree, key)))


def _leaves(tree: Any, keys: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Value]]:
    if isinstance(tree, Value):
        yield keys, tree
    for key, part in children(tree) or ():
        yield from _leaves(part, (*keys, access_key(tree, key)))


def write_parts(walk: Walk, call: Call) -> None:
    """Write the items of a list: `d_Ws[0]`, in the return all of them as the list."""
    name = walk.tree(call.args[0]).id
    for k, v in enumerate(call.outs):
        tree = gast.Subscript(value=name_tree(name), slice=constant_tree(k), ctx=gast.Load())
        tree.item = (name, k, len(call.outs))
        walk.trees[v] = tree
    walk.nested.update(call.outs)


def collapsed(tree: Any) -> Any:
    """Return an expression in which `[d_Ws[0], d_Ws[1]]` is `d_Ws`, and a list of trees of such items has a `zip`."""
    if next(_items_in(tree), None) is None:
        return tree
    if isinstance(tree, (gast.List, gast.Tuple)):
        found = _whole(tree.elts)
        if found is not None:
            return (
                gast.Call(func=name_tree("tuple"), args=[found], keywords=[]) if isinstance(tree, gast.Tuple) else found
            )
        return type(tree)(elts=_runs(tree.elts), ctx=tree.ctx)
    if isinstance(tree, gast.Dict):
        return gast.Dict(keys=tree.keys, values=[collapsed(part) for part in tree.values])
    if isinstance(tree, gast.Call):
        keywords = [gast.keyword(arg=word.arg, value=collapsed(word.value)) for word in tree.keywords]
        return gast.Call(func=tree.func, args=list(map(collapsed, tree.args)), keywords=keywords)
    return tree


def _runs(items: Sequence[Any]) -> list[Any]:
    """Return the parts of a list, of which those that are a list one after the other are `*zip(d_Ws, d_bs)`."""
    made: list[Any] = []
    k = 0
    while k < len(items):
        length = next((node.item[2] for node in _items_in(items[k])), 0)
        found = _whole(items[k : k + length]) if length > 1 else None
        if found is None:
            made.append(collapsed(items[k]))
            k += 1
            continue
        if isinstance(found, gast.Call) and found.func.id == "list":
            (found,) = found.args
        made.append(gast.Starred(value=found, ctx=gast.Load()))
        k += length
    return made


def _whole(items: Sequence[Any]) -> Any:
    """Return the list that has these items; None where they are not all those of some lists, one after the other."""
    rows = [[node.item for node in _items_in(item)] for item in items]
    names = list(dict.fromkeys(name for name, _, _ in rows[0])) if rows else []
    count = len(items)
    if not names or count < 2 or any(_form(item) != _form(items[0]) for item in items[1:]):
        return None
    turned = all(k == count - 1 for _, k, _ in rows[0])
    for k, row in enumerate(rows):
        place = count - 1 - k if turned else k
        if row != [(name, place, count) for name, _, _ in rows[0]]:
            return None
    lists: list[Any] = list(map(name_tree, names))
    if turned:
        lists = [gast.Call(func=name_tree("reversed"), args=[one], keywords=[]) for one in lists]
    if hasattr(items[0], "item"):
        return gast.Call(func=name_tree("list"), args=lists, keywords=[]) if turned else lists[0]
    together = lists[0] if len(lists) == 1 else gast.Call(func=name_tree("zip"), args=lists, keywords=[])
    if isinstance(items[0], gast.Tuple) and [getattr(part, "item", (None,))[0] for part in items[0].elts] == names:
        return gast.Call(func=name_tree("list"), args=[together], keywords=[]) if len(lists) > 1 else None
    each = _singular(names)
    targets = [name_tree(each[name], store=True) for name in names]
    target = targets[0] if len(targets) == 1 else gast.Tuple(elts=targets, ctx=gast.Store())
    generator = gast.comprehension(target=target, iter=together, ifs=[], is_async=0)
    return gast.ListComp(elt=_with(items[0], each), generators=[generator])


def _singular(names: list[str]) -> dict[str, str]:
    """Return for each list what one of its items is called: `d_W` for `d_Ws`, `d_W_2` for `d_Ws_2`."""
    found: dict[str, str] = {}
    for name in names:
        head, _, number = name.rpartition("_")
        word = f"{singular_of(head)}_{number}" if number.isdigit() else singular_of(name)
        found[name] = word if word != name and word not in found.values() else f"{name}_item"
    return found


def _items_in(tree: Any) -> Iterator[Any]:
    """Go through the items of lists in an expression, in order."""
    if hasattr(tree, "item"):
        yield tree
        return
    for part in gast.iter_child_nodes(tree):
        yield from _items_in(part)


def _form(tree: Any) -> str:
    """Return an expression as text, in which its items are told by their lists alone."""
    return str(gast.dump(_with(tree, None)))


def _with(tree: Any, names: dict[str, str] | None) -> Any:
    """Return an expression that reads variables in place of items."""
    if hasattr(tree, "item"):
        return name_tree(tree.item[0] if names is None else names[tree.item[0]])
    if not isinstance(tree, gast.AST):
        return [_with(part, names) for part in tree] if isinstance(tree, list) else tree
    made = copy.copy(tree)
    for field, value in gast.iter_fields(tree):
        setattr(made, field, _with(value, names))
    return made
