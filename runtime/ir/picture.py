"""Pictures of graphs: boxes and arrows as DOT, Mermaid, SVG, or a graph of networkx, in which every label is text."""

from __future__ import annotations

import html
import itertools
from typing import Any, NamedTuple

__all__ = ["MOST", "Box", "Picture"]

MOST = 150  # boxes that a notebook draws by itself
_FILLS = {"input": "#eef1f4", "forward": "#d7e9ff", "backward": "#ffe3cf"}
_CHARACTER, _LINE, _GAP, _RANK = 7.0, 16.0, 18.0, 34.0  # widths and heights, in pixels
_SWEEPS = 6  # over the ranks, to bring each box near to its neighbours


class Box(NamedTuple):
    """One box: the lines of its label, its kind (input, forward, backward), and the box of the loop around it."""

    label: tuple[str, ...]
    kind: str
    within: int | None = None


class Picture:
    """Boxes, in an order in which each arrow points to a later one, and arrows, as pairs of places in that list."""

    def __init__(self, boxes: list[Box], arrows: list[tuple[int, int]]) -> None:
        self.boxes = boxes
        self.arrows: list[tuple[int, int]] = list(dict.fromkeys(arrows))

    def __str__(self) -> str:
        n, m = len(self.boxes), len(self.arrows)
        return f"a graph of {n} box{'es' * (n != 1)} and {m} arrow{'s' * (m != 1)}"

    __repr__ = __str__

    def to_dot(self) -> str:
        """Return it in the language of Graphviz: `dot -Tsvg`."""
        lines = ["digraph {", "  node [shape=box, style=filled, fontname=monospace];"]
        lines += self._nested(None, "  ", self._dot_box, lambda k: f"subgraph cluster_{k} {{", "}")
        lines += [f"  n{a} -> n{b};" for a, b in self.arrows]
        return "\n".join([*lines, "}"]) + "\n"

    def _dot_box(self, k: int) -> str:
        label = "\\n".join(row.replace("\\", "\\\\").replace('"', '\\"') for row in map(_one_line, self.boxes[k].label))
        return f'n{k} [label="{label}", fillcolor="{_FILLS[self.boxes[k].kind]}"];'

    def to_mermaid(self) -> str:
        """Return it in the language of Mermaid, which Markdown of GitHub, GitLab and others shows."""
        lines = ["flowchart TD"]
        lines += self._nested(None, "  ", self._mermaid_box, lambda k: f'subgraph s{k} ["loop or branch"]', "end")
        lines += [f"  n{a} --> n{b}" for a, b in self.arrows]
        lines += [f"  classDef {kind} fill:{fill},stroke:#57606a,color:#1c2126" for kind, fill in _FILLS.items()]
        return "\n".join(lines) + "\n"

    def _mermaid_box(self, k: int) -> str:
        # Mermaid's own entities: a character by its number
        safe = [
            "".join(c if c.isalnum() or c in " ._=,:" else f"#{ord(c)};" for c in _one_line(row))
            for row in self.boxes[k].label
        ]
        return f'n{k}["{"<br>".join(safe)}"]:::{self.boxes[k].kind}'

    def _nested(self, within: int | None, indent: str, box: Any, begin: Any, end: str) -> list[str]:
        """The boxes, those of a loop in a group behind its own."""
        lines = []
        for k in self._held().get(within, []):
            lines.append(indent + box(k))
            if k in self._held():
                lines += [indent + begin(k), *self._nested(k, indent + "  ", box, begin, end), indent + end]
        return lines

    def _held(self) -> dict[int | None, list[int]]:
        held: dict[int | None, list[int]] = {}
        for k, box in enumerate(self.boxes):
            held.setdefault(box.within, []).append(k)
        return held

    def to_networkx(self) -> Any:
        """Return it as a `networkx.DiGraph`, whose nodes have `label`, `kind` and `within`; networkx must be installed."""
        import networkx  # which few need

        made = networkx.DiGraph()
        for k, box in enumerate(self.boxes):
            made.add_node(k, label="\n".join(box.label), kind=box.kind, within=box.within)
        made.add_edges_from(self.arrows)
        return made

    def to_svg(self) -> str:
        """Return it as an SVG: boxes in ranks from top to bottom, laid out here."""
        places, width, height = _layout(self.boxes, self.arrows)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" style="max-width: 100%; height: auto" font-family="monospace" font-size="11" '
            f'role="img" aria-label="{html.escape(str(self))}">',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        ]
        for bend in _bends(self.arrows, places):
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in bend)
            parts.append(f'<polyline points="{points}" fill="none" stroke="#57606a"/>')
            (x, y), (from_x, from_y) = bend[-1], bend[-2]
            aside = max(-2.0, min(2.0, (from_x - x) / max(1.0, y - from_y) * 3))
            parts.append(f'<path d="M{x:.1f},{y:.1f}l{aside - 3:.1f},-6l6,0z" fill="#57606a"/>')
        for k, box in enumerate(self.boxes):
            x, y, w, h = places[k]
            dash = ' stroke-dasharray="4 2"' if box.within is not None else ""
            parts.append(
                f'<rect x="{x - w / 2:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="4" '
                f'fill="{_FILLS[box.kind]}" stroke="#57606a"{dash}/>'
            )
            for row, text in enumerate(box.label):
                shown = html.escape(_clipped(text))
                parts.append(
                    f'<text x="{x - w / 2 + 8:.1f}" y="{y + 15 + row * _LINE:.1f}" fill="#1c2126">{shown}</text>'
                )
        return "\n".join([*parts, "</svg>"]) + "\n"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = {"text/plain": str(self)}
        return bundle | ({"image/svg+xml": self.to_svg()} if 0 < len(self.boxes) <= MOST else {})


def _one_line(text: str) -> str:
    """The text without what ends a line in one of the languages."""
    return " ".join(text.split())


def _clipped(text: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in _one_line(text))
    return text if len(text) <= 40 else text[:39] + "…"


_Place = tuple[float, float, float, float]  # the middle, the top, the width and the height of a box


def _layout(boxes: list[Box], arrows: list[tuple[int, int]]) -> tuple[dict[Any, _Place], float, float]:
    """Where each box is, and each point (a, b, rank) at which a long arrow passes a rank; the size of it all."""
    ranks = [0] * len(boxes)
    for a, b in sorted(arrows, key=lambda arrow: arrow[1]):
        ranks[b] = max(ranks[b], ranks[a] + 1)
    for k in reversed(range(len(boxes))):  # what only one rank reads stands right above it
        below = [ranks[b] for a, b in arrows if a == k]
        if boxes[k].kind == "input" and below:
            ranks[k] = min(below) - 1
    rows: list[list[Any]] = [[] for _ in range(max(ranks, default=0) + 1)]
    for k, rank in enumerate(ranks):
        rows[rank].append(k)
    neighbours: dict[Any, list[Any]] = {}
    for a, b in arrows:
        chain: list[Any] = [a, *[(a, b, rank) for rank in range(ranks[a] + 1, ranks[b])], b]
        for point in chain[1:-1]:
            rows[point[2]].append(point)
        for one, next_one in itertools.pairwise(chain):
            neighbours.setdefault(one, []).append(next_one)
            neighbours.setdefault(next_one, []).append(one)
    width_of: dict[Any, float] = {
        item: 2 * _CHARACTER if isinstance(item, tuple) else 16 + _CHARACTER * max(len(_clipped(r)) for r in boxes[item].label)
        for row in rows for item in row
    }  # fmt: skip
    x: dict[Any, float] = {}
    for row in rows:
        _pack(row, dict.fromkeys(row, 0.0), width_of, x)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = {item: sum(map(x.__getitem__, near)) / len(near) for item in row if (near := neighbours.get(item))}
            row.sort(key=lambda item: wanted.get(item, x[item]))
            _pack(row, {item: wanted.get(item, x[item]) for item in row}, width_of, x)
    left = min((x[item] - width_of[item] / 2 for item in x), default=0.0) - 10
    places: dict[Any, _Place] = {}
    top = 10.0
    for row in rows:
        height = 6 + _LINE * max((len(boxes[item].label) for item in row if isinstance(item, int)), default=1)
        for item in row:
            own = 6 + _LINE * len(boxes[item].label) if isinstance(item, int) else height
            places[item] = (x[item] - left, top, width_of[item], own)
        top += height + _RANK
    right = max((px + w / 2 for px, _, w, _ in places.values()), default=0.0)
    return places, right + 10, top - _RANK + 10


def _pack(row: list[Any], wanted: dict[Any, float], width_of: dict[Any, float], x: dict[Any, float]) -> None:
    """Put the items of a rank side by side, as near to where they are wanted as their widths allow."""
    end, shift = -float("inf"), 0.0
    for item in row:
        x[item] = max(wanted[item], end + _GAP + width_of[item] / 2)
        end = x[item] + width_of[item] / 2
        shift += wanted[item] - x[item]
    for item in row:
        x[item] += shift / len(row)


def _bends(arrows: list[tuple[int, int]], places: dict[Any, _Place]) -> list[list[tuple[float, float]]]:
    """The points of each arrow, from the foot of one box to the head of another."""
    found = []
    passing: dict[tuple[int, int], list[Any]] = {}
    for item in places:
        if isinstance(item, tuple):
            passing.setdefault(item[:2], []).append(item)
    for a, b in arrows:
        points = [(places[a][0], places[a][1] + places[a][3])]
        for item in sorted(passing.get((a, b), []), key=lambda item: item[2]):
            x, y, _, height = places[item]
            points += [(x, y), (x, y + height)]
        found.append([*points, (places[b][0], places[b][1])])
    return found
