"""gs.graph: what is drawn of Tensors and functions, in each language, and that no label is markup in any of them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.runtime.ir.picture import MOST, Box, Picture

HOSTILE = '"];\n}</text></svg><script>alert(1)</script><img src=x onerror=alert(1)> end --> %% `x` &amp; \\" \\'
SVG = "{http://www.w3.org/2000/svg}"


def loss(w: Any, x: Any) -> Any:
    z = x @ w
    return np.sum(np.tanh(z) ** 2)


def texts(picture: Any) -> list[str]:
    """What is written in an SVG."""
    return [text.text or "" for text in ElementTree.fromstring(picture.to_svg()).iter(f"{SVG}text")]


def test_the_graph_of_a_tensor_goes_from_its_leaves_to_itself() -> None:
    w, x = (gs.tensor(a, requires_grad=True) for a in (np.ones(2), np.ones((3, 2))))
    picture = gs.graph(loss(w, x))
    labels = [box.label for box in picture.boxes]
    assert labels[-1] == ("SumBackward0", "float64")
    assert sorted(labels[:2]) == [("leaf", "float64[2]"), ("leaf", "float64[3, 2]")]
    assert [box.kind for box in picture.boxes].count("input") == 2
    assert all(a < b for a, b in picture.arrows)
    reached = {len(labels) - 1}
    for a, b in reversed(picture.arrows):
        reached |= {a} & ({a} if b in reached else set())
    assert reached == set(range(len(labels)))
    assert texts(gs.graph(gs.tensor(1.0))) == ["a tensor without a gradient", "float64"]


def test_a_tensor_that_is_read_twice_is_one_box() -> None:
    t = gs.tensor(2.0, requires_grad=True)
    for _ in range(60):  # 2 ** 60 ways
        t = t + t
    assert len(gs.graph(t).boxes) == 61


def test_the_graph_of_a_function_names_arguments_operations_and_lines() -> None:
    graph = gs.grad(loss).graph(np.ones(2), np.ones((3, 2)))
    assert str(graph) == str(gs.graph(gs.grad(loss), np.ones(2), np.ones((3, 2))))
    boxes = graph.picture().boxes
    assert [box.label for box in boxes if box.kind == "input"] == [("w", "float64[2]"), ("x", "float64[3, 2]")]
    line = f"{__file__.rpartition('/')[2]}:{loss.__code__.co_firstlineno + 1}"
    assert any("matmul" in box.label[0] and box.label[-1] == line for box in boxes if box.kind == "forward")
    assert any(box.kind == "backward" for box in boxes)
    assert "np.tanh" in " ".join(texts(graph))


def test_what_is_in_a_loop_stands_within_it_in_every_language() -> None:
    def looped(x: Any) -> Any:
        for _ in range(50):
            x = np.tanh(x)
        return np.sum(x)

    graph = gs.graph(looped, np.ones(3))
    boxes = graph.picture().boxes
    (inner,) = [k for k, box in enumerate(boxes) if "np.tanh" in box.label[0]]
    outer = boxes[inner].within
    assert outer is not None
    assert "scan" in boxes[outer].label[0]
    dot, mermaid = graph.to_dot(), graph.to_mermaid()
    assert re.search(rf"subgraph cluster_{outer} {{\n +n{inner} ", dot)
    assert re.search(rf"subgraph s{outer} .*\n +n{inner}\[.*\n +end", mermaid)
    assert graph.to_svg().count("stroke-dasharray") == sum(box.within is not None for box in boxes)


def test_no_two_boxes_of_a_picture_overlap() -> None:
    graph = gs.graph(gs.grad(lambda x: np.sum(np.sin(x) * np.cos(x) + np.exp(x) / (1 + x * x))), np.ones(3))
    rects = [
        [float(rect.attrib[name]) for name in ("x", "y", "width", "height")]
        for rect in ElementTree.fromstring(graph.to_svg()).iter(f"{SVG}rect") if "x" in rect.attrib
    ]  # fmt: skip
    assert len(rects) == len(graph.picture().boxes)
    for k, (x, y, width, height) in enumerate(rects):
        assert x >= 0
        for other_x, other_y, other_width, other_height in rects[:k]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height


def test_the_graph_of_networkx_has_the_same_boxes_and_arrows() -> None:
    networkx = pytest.importorskip("networkx", reason="needs networkx")
    picture = gs.graph(loss, np.ones(2), np.ones((3, 2))).picture()
    made = picture.to_networkx()
    assert list(made.edges) == sorted(picture.arrows)
    assert [made.nodes[k]["kind"] for k in made] == [box.kind for box in picture.boxes]
    assert networkx.is_directed_acyclic_graph(made)


def test_no_label_is_markup() -> None:
    picture = Picture([Box((HOSTILE, "b"), "input"), Box(("c",), "forward")], [(0, 1)])
    svg = picture.to_svg()
    root = ElementTree.fromstring(svg)  # well formed
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "rect", "polyline", "path", "text")
    }
    assert "<script" not in svg
    (label,) = re.findall(r'n0 \[label="((?:[^"\\]|\\.)*)", fillcolor="#\w+"\];\n', picture.to_dot())
    assert picture.to_dot().count("\n") == 6
    assert label.endswith("\\nb")
    (label,) = re.findall(r'n0\["([\w #;<>.=,:]*)"\]:::input\n', picture.to_mermaid())
    assert label.replace("<br>", "").count("<") == 0
    assert "script" in label


def test_a_large_graph_is_text_in_a_notebook_and_a_picture_on_request() -> None:
    t = gs.tensor(1.0, requires_grad=True)
    for _ in range(MOST + 1):
        t = t * 1.5
    picture = gs.graph(t)
    assert set(picture._repr_mimebundle_()) == {"text/plain"}
    assert picture.to_svg().count("<text") == 2 * (MOST + 2)
    small = gs.graph(loss, np.ones(2), np.ones((3, 2)))._repr_mimebundle_()
    assert set(small) == {"text/plain", "image/svg+xml"}
    assert small["text/plain"].startswith("inputs: ")


def test_what_is_neither_a_tensor_nor_a_function_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a Tensor, or a function and its arguments, not ndarray"):
        gs.graph(np.ones(3))
