"""gs.report: what the page says of a function, that it is one file which needs nothing else, and that no text is markup in it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.explorer import cli
from gradscribe.explorer.report import MOST, figures, page, report_data
from gradscribe.transforms.compiler.native.build import compiler


def loss(w: Any, b: Any, x: Any) -> Any:
    """The mean of squares."""
    z = x @ w + b
    p = 1.0 / (1.0 + np.exp(-z))
    return np.mean(p**2)


def root_at_zero(x: Any) -> Any:
    y = np.sqrt(x - x)
    return np.sum(y * x)


@pytest.fixture
def with_c() -> None:
    """A test that asks for it is about reports with C."""


@pytest.fixture(autouse=True)
def without_c(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others have none, since the compiler takes longer than all else."""
    if "with_c" not in request.fixturenames:
        monkeypatch.setattr(sys.modules[report_data.__module__], "compiler", lambda: None)


ARGS = np.ones(3), 0.5, np.arange(12.0).reshape(4, 3) / 10
FIRST = loss.__code__.co_firstlineno


def nodes_of(data: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    """The nodes of the graph in one direction."""
    return [node for node in data["nodes"] if node["phase"] == phase]


def test_each_generated_line_is_linked_with_the_users_line_and_its_direction() -> None:
    data = report_data(loss, ARGS, {})
    (source,) = data["sources"]
    assert source["first"] == FIRST
    assert source["rows"][0].startswith("def loss")
    generated = data["generated"]
    linked = {
        row.strip(): (key, phase)
        for row, key, phase in zip(*(generated[k] for k in ("rows", "links", "phases")), strict=True)
    }
    assert linked["z = x @ w + b"] == (f"0:{FIRST + 2}", "forward")
    assert linked["# forward"] == linked["# backward"] == (None, "")
    (backward,) = [row for row in linked if row.startswith("return ")]
    assert linked[backward] == (f"0:{FIRST + 2}", "backward")


def test_a_line_whose_operations_are_nested_in_the_statement_of_another_is_linked_with_it() -> None:
    def masked(x: Any) -> Any:
        r = np.sqrt(np.sum(x * x))
        t = np.where(x > 0, np.log(x), 0.0)
        return r + np.sum(t)

    generated = report_data(masked, (np.ones(3),), {})["generated"]
    first = masked.__code__.co_firstlineno
    (row,) = [k for k, row in enumerate(generated["rows"]) if "np.where(mask, 1.0, 0) / x" in row]
    assert {generated["links"][row], *generated["also"][row]} == {f"0:{first + 1}", f"0:{first + 2}"}


def test_both_arms_of_a_branch_in_one_row_are_linked_with_it() -> None:
    def halved(x: Any) -> Any:
        while np.sum(x) > 1.0:
            if np.max(x) > 2.0:
                x = x * 0.5
            else:
                x = x * 0.9
        return np.sum(x)

    generated = report_data(halved, (np.array([3.0, 2.0]),), {})["generated"]
    first = halved.__code__.co_firstlineno
    forward, backward = [k for k, row in enumerate(generated["rows"]) if " if taken else " in row]
    for row in (forward, backward):
        assert {generated["links"][row], *generated["also"][row]} == {f"0:{first + k}" for k in (2, 3, 5)}


class Scaled:
    """A part of a model, which computes."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return np.tanh(x * self.factor)


class Chain:
    """A model, which only passes on."""

    def __init__(self) -> None:
        self.parts = [Scaled(np.full(3, 2.0)), Scaled(np.full(3, 3.0))]

    def passed_on(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def loss(self, x: Any) -> Any:
        return np.sum(self.passed_on(x))


def test_functions_have_their_names_and_arrays_from_outside_the_place_where_they_were_read() -> None:
    data = report_data(Chain().loss, (np.ones(3),), {})
    assert [source["name"] for source in data["sources"]] == ["Scaled.__call__", "Chain.passed_on", "Chain.loss"]
    assert [(node["op"], node["name"]) for node in nodes_of(data, "input")] == [
        ("argument", "x"),
        ("from outside", "self.parts[0].factor"),
        ("from outside", "self.parts[1].factor"),
    ]


def test_operations_of_ours_are_called_without_their_module() -> None:
    data = report_data(lambda x: x[1] * np.sum(x[:2]), (np.ones(3),), {})
    assert [node["op"] for node in data["nodes"] if node["op"].startswith("gradscribe")] == []
    assert "np.multiply" in {node["op"] for node in data["nodes"]}


def test_the_title_says_which_derivative_it_is() -> None:
    def cubes(x: Any) -> Any:
        return np.sum(x**3)

    titles = [
        report_data(function, (np.ones(2),), {})["title"]
        for function in (cubes, gs.compile(gs.grad(cubes)), gs.hessian(cubes), gs.jacobian(gs.grad(cubes)))
    ]
    assert titles == [
        "The gradient of cubes",
        "The gradient of cubes",
        "The Hessian of cubes",
        "The Jacobian of the gradient of cubes",
    ]
    jacobian = report_data(gs.jacobian(lambda x: x**3), (np.ones(2),), {})
    assert jacobian["title"] == "The Jacobian of the lambda"
    assert jacobian["notes"] == ["Not compared: that is for functions whose result is one real number."]


def test_the_graph_has_every_argument_and_the_values_of_every_operation() -> None:
    data = report_data(loss, ARGS, {})
    assert [node["name"] for node in nodes_of(data, "input")] == ["w", "b", "x"]
    assert {node["op"] for node in nodes_of(data, "forward")} >= {"np.matmul", "np.exp", "np.divide"}
    assert nodes_of(data, "backward")
    z = next(node for node in data["nodes"] if node["name"] == "z")
    value = ARGS[2] @ ARGS[0] + ARGS[1]
    assert (z["values"][0]["low"], z["values"][0]["high"]) == (value.min(), value.max())
    assert sum(z["values"][0]["bars"]) == value.size
    assert all(read < k for k, node in enumerate(data["nodes"]) for read in node["reads"])
    assert all(node["seconds"] >= 0 for node in nodes_of(data, "forward") + nodes_of(data, "backward"))


def test_the_comparison_and_what_is_assumed_are_those_of_compare_and_explain() -> None:
    data = report_data(loss, ARGS, {})
    assert data["comparison"]["ok"]
    assert [row[0] for row in data["comparison"]["rows"]] == ["w", "b", "x"]
    assert "`loss`: its code and defaults" in data["assumed"]


def test_a_gradient_of_nan_is_flagged_at_the_line_that_made_it() -> None:
    data = report_data(root_at_zero, (np.ones(3),), {})
    assert f"0:{root_at_zero.__code__.co_firstlineno + 1}" in [flag["key"] for flag in data["flags"]]
    assert not data["comparison"]["ok"]


def test_a_transform_is_reported_as_it_is_and_arguments_may_be_pytrees_by_name() -> None:
    def model(params: Any, *, scale: float) -> Any:
        return np.sum(np.tanh(params["w"]) * params["b"]) * scale

    params = {"w": np.ones(2), "b": 3.0}
    data = report_data(gs.grad(model), (params,), {"scale": 2.0})
    assert "d_params" in "\n".join(data["generated"]["rows"]) or "d_w" in "\n".join(data["generated"]["rows"])
    assert {node["name"] for node in nodes_of(data, "input")} >= {"params['w']", "params['b']", "scale"}
    data = report_data(gs.hessian(lambda x: np.sum(np.sin(x))), (np.ones(3),), {})
    assert nodes_of(data, "forward")


def test_a_loop_is_one_node_that_tells_its_operations() -> None:
    def looped(x: Any) -> Any:
        for _ in range(50):
            x = np.tanh(x) * 0.9
        return np.sum(x)

    inner = [node["inner"] for node in nodes_of(report_data(looped, (np.ones(3),), {}), "forward") if node["inner"]]
    assert len(inner) == 1
    assert "np.tanh" in inner[0]


def test_the_values_within_a_loop_are_those_of_all_trips() -> None:
    def looped(x: Any) -> Any:
        for _ in range(50):
            x = np.tanh(x) * 0.9
        return np.sum(x)

    data = report_data(looped, (np.ones(3),), {})
    (loop,) = [k for k, node in enumerate(data["nodes"]) if node["op"] == "loop" and node["phase"] == "forward"]
    assert data["sources"][0]["name"] == "looped"
    (tanh,) = [node for node in nodes_of(data, "forward") if node["op"] == "np.tanh"]
    x, seen = np.ones(3), []
    for _ in range(50):
        seen.append(np.tanh(x))
        x = seen[-1] * 0.9
    assert (tanh["within"], tanh["trips"], tanh["bytes"]) == (loop, 50, 50 * 24)
    assert tanh["values"][0]["low"] == min(map(np.min, seen))
    assert tanh["values"][0]["high"] == max(map(np.max, seen))
    assert tanh["values"][0]["size"] == 150
    assert tanh["key"] == f"0:{looped.__code__.co_firstlineno + 2}"
    assert any(node["trips"] == 50 for node in nodes_of(data, "backward") if node["key"] == tanh["key"])


def test_all_ways_stand_side_by_side_with_their_times(with_c: None) -> None:
    data = report_data(loss, ARGS, {})
    values = {row[0]: row[2:6] for row in data["comparison"]["values"]}
    gradient = gs.grad(loss, argnums=(0, 1, 2))(*ARGS)
    ways = [way for way, _, _ in data["comparison"]["ways"]]
    assert values["b"][:2] == [f"{float(gradient[1]):.6g}"] * 2
    assert float(values["w"][3]) == pytest.approx(np.linalg.norm(gradient[0]), rel=1e-4)
    assert ways[:2] == ["eager", "compiled"]
    assert ways[-1].startswith("finite differences")
    assert all(seconds > 0 for _, seconds, _ in data["comparison"]["ways"])
    if compiler() is not None:
        assert ways[2].startswith("native")
        assert values["b"][2] == values["b"][0]
        rows = [row for row, key in zip(data["generated"]["c"], data["generated"]["c_links"], strict=True) if key]
        assert any("exp(" in row for row in rows)


def test_a_number_keeps_its_sign_whichever_way_it_was_found(with_c: None) -> None:
    ((_, _, *found, _),) = report_data(lambda x: -2.5 * x, (0.5,), {})["comparison"]["values"]
    assert found == ["-2.5", "-2.5", "-" if compiler() is None else "-2.5", "-2.5"]


def test_what_runs_eagerly_has_a_page_with_the_reason() -> None:
    def eager(x: Any) -> Any:
        with open(__file__) as file:
            return np.sum(x) * len(file.read())

    data = report_data(eager, (np.ones(3),), {})
    assert "runs eagerly" in data["generated"]["eager"]
    assert data["sources"][0]["rows"][0].strip().startswith("def eager")
    assert "runs eagerly" in page(data)


def test_the_users_error_is_the_users() -> None:
    def broken(x: Any) -> Any:
        return np.sum(x) / {}["missing"]

    with pytest.raises(KeyError, match="missing"):
        gs.report(broken, np.ones(3))


def test_what_the_function_prints_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def talkative(x: Any) -> Any:
        print("loss", np.sum(x))
        return np.sum(x * x)

    assert nodes_of(report_data(talkative, (np.ones(3),), {}), "forward")
    assert capsys.readouterr().out == ""


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{data}}\u2028<!--"


def test_no_text_of_the_users_is_markup_and_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    text = f'import numpy as np\ndef f(x):\n    """{HOSTILE}"""\n    return np.sum(x)  # {HOSTILE[:-5]}\n'
    space: dict[str, Any] = {}
    path = tmp_path / "<img src=x onerror=alert(3)>.py"
    path.write_text(text, encoding="utf-8")
    exec(compile(text, str(path), "exec"), space)
    space["f"].__name__ = HOSTILE
    written = gs.report(space["f"], np.ones(3), path=tmp_path / "report.html")
    html = written.read_text(encoding="utf-8")
    assert html.count("<script") == 3
    assert html.count("</script") == 3
    assert "<img" not in html
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|@import|url\((?!#)""", html)
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]
    assert HOSTILE[:20] in "\n".join(row for source in data["sources"] for row in source["rows"])


def test_figures_of_odd_values() -> None:
    assert figures(np.array([np.nan, np.inf, 0.0, 2.0])) | {"bars": 0} == {
        "type": "float64[4]", "size": 4, "zeros": 1, "nan": 1, "inf": 1, "low": 0.0, "high": 2.0, "bars": 0,
    }  # fmt: skip
    assert figures(np.zeros((0, 3))) == {"type": "float64[0, 3]"}
    assert figures(np.array([3 + 4j]))["high"] == 5.0
    close = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert {k: v for k, v in figures(close).items() if k != "bars"} == {  # which NumPy 2.0 makes
        "type": "float64[2]",
        "size": 2,
        "zeros": 0,
        "nan": 0,
        "inf": 0,
        "low": 1.0,
        "high": close[1],
    }
    assert figures([1, 2]) == {"type": "list of 2"}
    assert "bars" not in figures(np.array([-1.7e308, 1.7e308]))
    assert figures("words")["type"].startswith("<U")


def test_the_command_writes_the_page(with_c: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.py"
    model.write_text("import numpy as np\ndef loss(w, x):\n    return np.sum(np.tanh(x @ w))\n")
    output = tmp_path / "loss.html"
    call = ["report", f"{model}:loss", "--args", "np.ones(2), np.eye(2)", "-o", str(output), "--json"]
    assert cli.main("0", call) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["path"] == str(output)
    assert answer["agree"] is True
    assert output.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert cli.main("0", [*call[:2], "--args", "1", "-o", str(tmp_path / "no" / "x.html")]) == 3


def test_a_page_is_small_and_says_how_many_boxes_a_view_has() -> None:
    data = report_data(loss, ARGS, {})
    assert data["most"] == MOST == 150
    assert len(page(data)) < 300_000
