"""Graphs of the IR as pictures: a box for each input and each call, with its name, its type and the user's line."""

from __future__ import annotations

from typing import Any

from .graph import Graph, Value
from .opcodes import graphs_in
from .picture import Box, Picture

__all__ = ["ShownGraph", "picture_of"]


class ShownGraph(Graph):
    """A graph that a person looks at: it prints one call a line, and draws itself."""

    __slots__ = ("names",)

    def __init__(self, graph: Graph, names: dict[Value, str]) -> None:
        super().__init__(graph.inputs, graph.calls, graph.outputs)
        self.names: dict[Value, str] = names  # of its inputs

    def picture(self) -> Picture:
        """Return its boxes and arrows."""
        return picture_of(self, self.names)

    def to_dot(self) -> str:
        """Return it in the language of Graphviz."""
        return self.picture().to_dot()

    def to_mermaid(self) -> str:
        """Return it in the language of Mermaid."""
        return self.picture().to_mermaid()

    def to_networkx(self) -> Any:
        """Return it as a `networkx.DiGraph`; networkx must be installed."""
        return self.picture().to_networkx()

    def to_svg(self) -> str:
        """Return it as an SVG."""
        return self.picture().to_svg()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.picture()._repr_mimebundle_() | {"text/plain": str(self)}


def picture_of(graph: Graph, names: dict[Value, str]) -> Picture:
    """Return the picture of a graph whose inputs bear these names; the calls of a loop stand within the box of the loop."""
    boxes: list[Box] = []
    arrows: list[tuple[int, int]] = []
    at: dict[Value, int] = {}
    for v in graph.inputs:
        at[v] = len(boxes)
        boxes.append(Box((names.get(v) or v.name or "argument", str(v.type)), "input"))
    _draw(graph, None, at, boxes, arrows)
    return Picture(boxes, arrows)


def _draw(
    graph: Graph, within: int | None, at: dict[Value, int], boxes: list[Box], arrows: list[tuple[int, int]]
) -> None:
    for call in graph.calls:
        number = len(boxes)
        named = next((v.name for v in call.outs if v.name and v.name.isidentifier()), None)
        label = [f"{named} = {call.op.path}" if named else call.op.path]
        label += [", ".join(str(v.type) for v in call.outs)] if call.outs else []
        label += [str(call.site)] if call.site is not None else []
        boxes.append(Box(tuple(label), "backward" if call.backward else "forward", within))
        arrows += [(at[v], number) for v in call.reads if v in at]
        at |= dict.fromkeys(call.outs, number)
        for part in graphs_in(call):  # what it takes comes by way of the loop
            _draw(part, number, at | dict.fromkeys(part.inputs, number), boxes, arrows)
