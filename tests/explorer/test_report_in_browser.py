"""The page of gs.report in a real browser: lines that light up, the graph, keyboard, themes, widths, accessibility.

Needs the extra `browser` (playwright) and Debian's chromium; `.ci/run` has a stage for it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.explorer import report as explorer_report
from gradscribe.explorer.attempt import Choice
from gradscribe.explorer.live import Explorer
from gradscribe.explorer.report import page, report_data

from house import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs the extra `browser`: pip install gradscribe[browser]"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium"),
]
PICTURE = ROOT / "docs" / "explorer.png"
AXE = Path(__file__).parent / "data" / "axe.min.js"
ARGS = np.ones(3), 0.5, np.arange(12.0).reshape(4, 3) / 10
WIDTHS, THEMES = (375, 1440), ("light", "dark")


def loss(w: Any, b: Any, x: Any) -> Any:
    z = x @ w + b
    p = 1.0 / (1.0 + np.exp(-z))
    return np.mean(p**2)


def many_lines(folder: Path) -> Any:
    """A function of 375 lines, whose gradient takes more than 3,000 operations."""
    lines = "".join(f"    x = np.sin(x) * 1.0{k:03} + np.cos(x)\n" for k in range(375))
    path = folder / "many.py"
    path.write_text(f"import numpy as np\ndef many(x):\n{lines}    return np.sum(x)\n")
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["many"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    arguments = ["--disable-background-networking"] + ["--no-sandbox"] * (hasattr(os, "geteuid") and os.geteuid() == 0)
    with playwright.sync_playwright() as player:
        opened = player.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return gs.report(loss, *ARGS, path=path)


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Open a page of the disk, at a width and in a theme; what the console said or asked the network for fails the test."""
    with_problems: list[tuple[Any, list[str]]] = []

    def visit(path: Path, width: int = 1440, theme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        page, problems = context.new_page(), []
        page.on(
            "console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: (problems.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request", lambda request: problems.append(request.url) if not request.url.startswith("file:") else None
        )
        page.goto(path.as_uri())
        with_problems.append((context, problems))
        return page

    yield visit
    for context, problems in with_problems:
        context.close()
        assert problems == []


def lit(shown: Any, pane: str, how: str = "") -> list[str]:
    """The lines of a pane that are lit."""
    lines = shown.locator(f"#{pane} .row[class*=lit-{how}]").all_inner_texts()
    return [line.split(maxsplit=1)[1] for line in lines if len(line.split(maxsplit=1)) > 1]


def test_pointing_at_a_line_lights_what_came_of_it_in_both_directions(opened: Any, report_file: Path) -> None:
    shown = opened(report_file)
    shown.locator("#source .row", has_text="z = x @ w + b").hover()
    assert "z = x @ w + b" in lit(shown, "generated", "forward")
    assert any(line.startswith("return ") for line in lit(shown, "generated", "backward"))
    assert shown.locator(".box.lit").count() == 1
    shown.locator("#generated .row:visible", has_text="return ").last.hover()
    assert lit(shown, "source") == ["z = x @ w + b"]
    assert "np.matmul" in shown.locator("#detail").inner_text()


def test_a_line_without_a_way_back_is_lit_in_the_one_hue(opened: Any, tmp_path: Path) -> None:
    def shifted(x: Any) -> Any:
        r = x - 1
        return np.sum(r * r)

    shown = opened(gs.report(shifted, np.arange(3.0) + 2, path=tmp_path / "shifted.html"))
    shown.locator("#source .row", has_text="r = x - 1").hover()
    assert lit(shown, "source", "forward") == ["r = x - 1"]
    assert lit(shown, "source", "both") == []
    shown.locator("#source .row", has_text="np.sum(r * r)").hover()
    assert lit(shown, "source", "both") == ["return np.sum(r * r)"]


def test_the_values_of_a_line_are_in_sight_beside_it_and_stay_while_the_pointer_is_elsewhere(
    opened: Any, report_file: Path
) -> None:
    shown = opened(report_file)
    shown.locator("#source .row", has_text="p = 1.0").click()
    assert shown.locator("#line").inner_text() == "p = 1.0 / (1.0 + np.exp(-z))"
    place = shown.locator("#detail").bounding_box()
    assert place["y"] + place["height"] <= 900
    assert shown.locator("#source .row", has_text="p = 1.0").bounding_box()["y"] < place["y"]
    shown.locator("#source .row", has_text="z = x @ w").hover()
    assert "np.matmul" in shown.locator("#detail").inner_text()
    shown.locator("#detail").hover()  # on the way to it the pointer left the pane
    assert "np.matmul" not in shown.locator("#detail").inner_text()
    assert lit(shown, "source") == ["p = 1.0 / (1.0 + np.exp(-z))"]


def test_the_wheel_scrolls_the_page_until_the_graph_was_clicked(opened: Any, report_file: Path) -> None:
    shown = opened(report_file)
    shown.locator("#graph").evaluate("element => element.scrollIntoView()")
    shown.locator("#graph").hover()
    before, at_first = shown.evaluate("scrollY"), shown.locator("#graph svg > g").get_attribute("transform")
    shown.mouse.wheel(0, -200)
    shown.wait_for_function(f"scrollY < {before}")
    assert shown.locator("#graph svg > g").get_attribute("transform") == at_first
    shown.locator("#graph").click(position={"x": 5, "y": 5})
    shown.mouse.wheel(0, -200)
    shown.wait_for_function(
        "before => document.querySelector('#graph svg > g').getAttribute('transform') !== before", arg=at_first
    )


def test_many_arguments_of_one_name_share_a_box_and_boxes_say_how_large_the_cotangents_are(
    opened: Any, tmp_path: Path
) -> None:
    def layers(params: Any, x: Any) -> Any:
        for k in range(len(params)):
            x = np.tanh(x @ params[3 * k % len(params)][0] + params[3 * k % len(params)][1])
        return np.sum(x * x)

    params = [(np.eye(3), np.zeros(3)) for _ in range(4)]
    shown = opened(gs.report(gs.value_and_grad(layers), params, np.ones(3), path=tmp_path / "layers.html"), 375)
    assert shown.locator(".box").count() == 4
    argument = shown.locator('.box[data-key="argument 0"]')
    assert "8 arrays" in argument.text_content()
    assert "|d| ≤ " in shown.locator(".box", has_text="np.tanh").text_content()
    letters = shown.locator(".box text").first.bounding_box()
    assert letters["height"] > 8  # pixels, to be read
    argument.press("Enter")
    assert shown.locator('.box[data-key^="argument"]', has_text="params[").count() == 8


def test_the_box_of_an_argument_says_how_large_its_gradient_is(opened: Any, tmp_path: Path) -> None:
    def shrunk(x: Any, rate: Any) -> Any:
        while np.sum(x) > 1.0:
            x = x * rate
        return np.sum(x * x)

    args = np.array([3.0, 2.0]), 0.7
    shown = opened(gs.report(shrunk, *args, path=tmp_path / "shrunk.html"))
    for name, gradient in zip(("x", "rate"), gs.grad(shrunk, argnums=(0, 1))(*args), strict=True):
        words = shown.locator(".box", has=shown.locator(f"text='{name}'")).locator("text=|d|").text_content()
        assert float(words.rpartition("≤")[2]) == pytest.approx(np.max(np.abs(gradient)), rel=1e-3)


def test_a_page_without_a_graph_says_so_in_its_place(opened: Any, tmp_path: Path) -> None:
    def eager(x: Any) -> Any:
        global SEEN
        SEEN = x
        return np.sum(x * x)

    shown = opened(gs.report(eager, np.ones(3), path=tmp_path / "eager.html"))
    assert shown.locator("#graph").is_hidden()
    assert "There is none: the function runs eagerly." in shown.locator("#drawn").inner_text()
    assert "agree" in shown.locator("#verdict").inner_text()


def test_what_is_to_be_looked_at_stands_first_and_nothing_is_said_where_there_is_nothing(
    opened: Any, report_file: Path, tmp_path: Path
) -> None:
    assert opened(report_file).locator("#flagged").is_hidden()
    shown = opened(gs.report(lambda x: np.sum(np.sqrt(x - x) * x), np.ones(3), path=tmp_path / "nan.html"))
    assert "The gradient of x is NaN" in shown.locator("#flags").inner_text()
    assert shown.locator("#flagged").bounding_box()["y"] < shown.locator("#source").bounding_box()["y"]


def test_the_panes_are_walked_by_the_keyboard(opened: Any, report_file: Path) -> None:
    shown = opened(report_file)
    shown.locator("#source .code").focus()
    for _ in range(2):
        shown.keyboard.press("ArrowDown")
    assert lit(shown, "source") == ["z = x @ w + b"]
    assert shown.locator("#source .row[aria-selected=true]").count() == 1
    shown.keyboard.press("End")
    assert lit(shown, "source") == ["return np.mean(p**2)"]


def test_a_box_opens_into_its_operations_and_closes_by_the_keyboard(opened: Any, report_file: Path) -> None:
    shown = opened(report_file)
    folded = shown.locator(".box").count()
    shown.locator(".box", has_text="p = 1.0").focus()
    shown.keyboard.press("Enter")
    assert shown.locator(".box").count() > folded
    assert shown.locator(".box", has_text="np.exp").count() == 1
    shown.locator(".box", has_text="np.exp").focus()
    shown.keyboard.press("Enter")
    assert shown.locator(".box").count() == folded


def test_a_loop_opens_into_its_lines_and_these_into_operations(opened: Any, tmp_path: Path) -> None:
    def looped(x: Any) -> Any:
        for _ in range(50):
            y = np.tanh(x)
            x = x - 0.1 * y
        return np.sum(x)

    shown = opened(gs.report(looped, np.ones(3), path=tmp_path / "loop.html"))
    assert shown.locator(".box", has_text="y = np.tanh(x)").count() == 0
    assert "up to 50 times" in shown.locator(".box", has_text="for _ in range").text_content()
    shown.locator("#source .row", has_text="y = np.tanh(x)").hover()
    assert "for _ in range" in shown.locator(".box.lit").text_content()
    assert "It ran 50 times" in shown.locator("#detail").inner_text()
    shown.locator(".box", has_text="for _ in range").press("Enter")
    assert shown.locator(".box", has_text="y = np.tanh(x)").count() == 1
    shown.locator(".box", has_text="x = x - 0.1 * y").press("Enter")
    assert shown.locator(".box", has_text="np.subtract").count() == 1
    shown.locator(".box", has_text="for _ in range").press("Enter")
    assert shown.locator(".box", has_text="y = np.tanh(x)").count() == 0


def test_the_graph_zooms_and_comes_back(opened: Any, report_file: Path) -> None:
    shown = opened(report_file)
    at_first = shown.locator("#graph svg > g").get_attribute("transform")
    shown.locator("#bigger").click()
    assert shown.locator("#graph svg > g").get_attribute("transform") != at_first
    shown.locator("#whole").click()
    assert shown.locator("#graph svg > g").get_attribute("transform") == at_first


def test_the_theme_is_the_systems_until_the_button_is_pressed(opened: Any, report_file: Path) -> None:
    colours = {}
    for theme in THEMES:
        shown = opened(report_file, theme=theme)
        colours[theme] = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        shown.locator("#theme").click()
        colours[theme, "pressed"] = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours["light"] != colours["dark"]
    assert colours["light", "pressed"] == colours["dark"]
    assert colours["dark", "pressed"] == colours["light"]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_its_width_and_has_no_accessibility_violation(
    opened: Any, report_file: Path, width: int, theme: str
) -> None:
    shown = opened(report_file, width, theme)
    shown.locator("#source .row", has_text="z = x @ w + b").hover()
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.evaluate(AXE.read_text(encoding="utf-8"))
    found = shown.evaluate("axe.run()")["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_a_function_of_many_lines_opens_folded_and_no_view_is_too_large(opened: Any, tmp_path: Path) -> None:
    shown = opened(gs.report(many_lines(tmp_path), np.ones(3), path=tmp_path / "many.html"))
    assert shown.evaluate("JSON.parse(document.getElementById('data').textContent).nodes.length") > 3000
    assert 2 < shown.locator(".box").count() <= 150
    opening = """() => {
        const box = document.querySelector(".box[aria-expanded=false]"), start = performance.now();
        box.dispatchEvent(new MouseEvent("click"));
        return performance.now() - start;
    }"""
    for _ in range(6):
        assert shown.evaluate(opening) < 1000  # milliseconds, the layout among them
        assert shown.locator(".box").count() <= 150
    assert shown.locator("#lines tbody tr").count() == 376
    assert shown.locator("#lines tbody tr:visible").count() == 25  # the rest on request


def test_the_live_page_follows_the_file_and_recovers_from_an_error(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    text = "import numpy as np\nw = np.ones(3)\ndef loss(w):\n    return np.sum(np.sin(w))\n"
    path.write_text(text)
    context = browser.new_context(viewport={"width": 375, "height": 900})
    with Explorer(Choice(str(path))) as explorer:
        shown, problems = context.new_page(), []
        shown.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        shown.on("pageerror", lambda error: problems.append(str(error)))
        shown.on(
            "request", lambda request: problems.append(request.url) if explorer.address not in request.url else None
        )
        shown.goto(explorer.address)
        shown.locator("#source .row", has_text="np.sin(w)").hover(timeout=60_000)
        assert any("np.cos(w)" in line for line in lit(shown, "generated"))
        path.write_text(text.replace("np.sin(w))", "np.sin(w, 1, 2, 3))  # <img src=x onerror=alert(1)>"))
        assert "TypeError" in shown.locator("#said").inner_text(timeout=60_000)
        assert "np.sin(w, 1, 2, 3)" in shown.locator(".lit-backward").inner_text()
        assert shown.evaluate("document.documentElement.scrollWidth") <= 375
        shown.evaluate(AXE.read_text(encoding="utf-8"))
        assert [one["id"] for one in shown.evaluate("axe.run()")["violations"]] == []
        path.write_text(text.replace("np.sin", "np.tanh"))
        shown.locator("#source .row", has_text="np.tanh(w)").hover(timeout=60_000)
        assert lit(shown, "generated")
        assert problems == []
    context.close()


SHOWN = """import numpy as np

def loss(w, x, y):
    r = np.tanh(x @ w) - y
    return np.mean(r ** 2)
"""


def test_the_picture_in_the_documents_is_this_page(opened: Any, tmp_path: Path) -> None:
    imread = pytest.importorskip("matplotlib.image", reason="needs matplotlib").imread
    path = tmp_path / "model.py"
    path.write_text(SHOWN)
    space: dict[str, Any] = {}
    exec(compile(SHOWN, str(path), "exec"), space)
    x = np.random.default_rng(0).normal(size=(50, 3))
    args = np.array([0.5, -0.5, 0.2]), x, np.tanh(x @ np.array([1.0, -2.0, 0.5]))
    shown = opened(gs.report(gs.value_and_grad(space["loss"]), *args, path=tmp_path / "report.html"), 1200)
    shown.set_viewport_size({"width": 1200, "height": 1480})
    shown.locator("#source .row", has_text="r = np.tanh(x @ w) - y").hover()
    fresh = tmp_path / "explorer.png"
    shown.screenshot(path=fresh)
    if os.environ.get("GRADSCRIBE_PICTURES") == "write":
        shutil.copy(fresh, PICTURE)
    stored, now = imread(PICTURE)[..., :3], imread(fresh)[..., :3]
    assert PICTURE.stat().st_size < 200_000
    assert stored.shape == now.shape
    assert np.mean(np.abs(stored - now)) < 0.04, "another page: GRADSCRIBE_PICTURES=write pytest -m browser stores it"


PAYLOADS = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
    "\"><script>alert(1)</script>", "' onmouseover='alert(1)", "\" autofocus onfocus=\"alert(1)", "<!--<script>alert(1)//-->",
    "javascript:alert(1)", "{{data}}", "{{script}}", "${alert(1)}", "`;alert(1)//", "\\\"};alert(1);//", "\u2028alert(1)//",
    "&lt;script&gt;alert(1)&lt;/script&gt;", "<iframe srcdoc='<script>parent.alert(1)</script>'>",
    "<a href=javascript:alert(1)>x</a>",
    "<style>@import 'http://example.com/x.css'</style>", "<meta http-equiv=refresh content='0;url=http://example.com'>",
]  # fmt: skip


def everywhere(data: Any, payload: str) -> Any:
    """The data of a page with a text at the place of every text that the user's code may bring."""
    if isinstance(data, dict):
        ours = ("phase", "phases", "key", "links", "also", "of", "ofs", "place")
        return {name: value if name in ours else everywhere(value, payload) for name, value in data.items()}
    if isinstance(data, list):
        return [everywhere(value, payload) for value in data]
    return payload if isinstance(data, str) and data else data


def test_no_name_or_text_of_the_users_becomes_markup(opened: Any, tmp_path: Path) -> None:
    data = report_data(loss, ARGS, {})
    for k, payload in enumerate(PAYLOADS):
        path = tmp_path / f"{k}.html"
        path.write_text(page(everywhere(data, payload)), encoding="utf-8")
        shown = opened(path)
        shown.locator("#source .row[data-key]").first.hover()
        shown.locator(".box").first.focus()
        shown.keyboard.press("Enter")
        assert shown.locator("img, iframe, a, meta[http-equiv], style").count() == 1  # the style is ours
        assert shown.locator("script").count() == 3
        assert payload.split()[0] in shown.title()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_whatever_the_users_code_calls_markup_is_text_on_the_page(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: str
) -> None:
    """The same, through the user's code: names, keys, docstrings, comments, paths, what is outside, and errors."""
    monkeypatch.setattr(explorer_report, "compiler", lambda: None)  # the C would take the time
    text = (
        f"import numpy as np\ndef loss(params):\n    {('doc ' + payload)!r}\n    # {payload}\n    note = {payload!r}\n"
        f"    t = np.sqrt(params[{payload!r}] - 1.0)\n    return np.sum(t * HELD.weights[{payload!r}])\n"
    )
    path = tmp_path / f"{payload.replace('/', '_')}.py"
    path.write_text(text, encoding="utf-8")
    held = type(payload, (), {"weights": {payload: np.arange(3.0)}})
    space: dict[str, Any] = {"HELD": held()}
    exec(compile(text, str(path), "exec"), space)
    space["loss"].__qualname__ = space["loss"].__name__ = payload
    others = (failing(payload), eager(payload)) if payload in PAYLOADS[:2] else ()
    for k, function in enumerate((space["loss"], *others)):
        shown = opened(gs.report(function, {payload: np.ones(3)}, path=tmp_path / f"{k}.html"))
        for row in shown.locator("#source .row[data-key]").all():
            row.hover()
        if k == 0:
            for place in ("#source", "#compare", "#flags"):  # the last for the root's slope at 0
                assert payload.lstrip("\u2028") in shown.locator(place).inner_text()  # as a key it is escaped
            shown.locator(".box").first.press("Enter")
        assert shown.locator("img, iframe, a, meta[http-equiv], style").count() == 1
        assert shown.locator("script").count() == 3


def failing(payload: str) -> Any:
    """A function that fails, in the user's words, when its values are looked at."""
    calls = []

    def loss(params: Any) -> Any:
        calls.append(1)
        return gs.functional.relu(params[payload]).sum() / (1.0 if len(calls) < 3 else 2.0)

    return loss


def eager(payload: str) -> Any:
    """A function that runs eagerly, for a reason with the payload in it."""

    def loss(params: Any) -> Any:
        globals()[payload] = 1
        return np.sum(params[payload] ** 2)

    return loss


@pytest.mark.parametrize(
    "payload", ["<img src=x onerror=alert(1)>", "</p><script>alert(1)</script>", '" onfocus="alert(1)" autofocus="']
)
def test_an_error_in_the_users_words_is_text_on_the_live_page(browser: Any, tmp_path: Path, payload: str) -> None:
    path = tmp_path / f"{payload.replace('/', '')}.py"
    path.write_text(
        f"import numpy as np\ndef loss(w):\n    raise ValueError({payload!r})  # {payload}\n", encoding="utf-8"
    )
    context = browser.new_context()
    with Explorer(Choice(str(path), f"np.ones(3), {payload!r}")) as explorer:
        shown, problems = context.new_page(), []
        shown.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        shown.on("pageerror", lambda error: problems.append(str(error)))
        shown.goto(explorer.address)
        assert "loss" in shown.locator("#said").inner_text(timeout=60_000)
        path.write_text(path.read_text(encoding="utf-8").replace("loss(w)", "loss(w, _)"), encoding="utf-8")
        shown.wait_for_function(
            "word => document.querySelector('#said')?.textContent.includes(word)", arg=payload, timeout=60_000
        )
        assert payload in shown.locator(".lit-backward").first.inner_text()
        assert shown.locator("img, iframe, a, main script").count() == 0
        assert problems == []
    context.close()
