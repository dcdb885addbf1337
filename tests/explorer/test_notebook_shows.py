"""What a notebook shows: Tensors, explanations, profiles and gs.why as tables in which no text is markup; `%%gradscribe`."""

from __future__ import annotations

import html.parser
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
ALLOWED = {"table", "caption", "thead", "tbody", "tr", "th", "td", "br", "p", "pre", "b"}


def tags(text: str | None) -> set[str]:
    """The tags of a piece of markup."""
    found: set[str] = set()

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            found.add(tag)

    assert text is not None
    Reader().feed(text)
    return found


def hostile(text: str, name: str = "f") -> Any:
    """A function of a file whose name, function name and lines would be markup."""
    space: dict[str, Any] = {"np": np}
    exec(compile(text, f"/{HOSTILE}.py", "exec"), space)
    space[name].__name__ = space[name].__qualname__ = HOSTILE
    return space[name]


def test_a_tensor_shows_its_values_its_type_and_what_made_it() -> None:
    t = gs.tensor(np.ones((2, 3)), requires_grad=True)
    assert t._repr_html_().endswith("<p>float64[2, 3]</p>")
    assert np.tanh(t)._repr_html_().endswith("<p>float64[2, 3], of TanhBackward0</p>")
    assert "grad_fn=&lt;TanhBackward0&gt;" in np.tanh(t)._repr_html_()
    shown = []
    gs.grad(lambda x: (shown.append(x._repr_html_()), np.sum(x * x))[1])(np.ones(2))
    assert shown == ["<pre>array([1., 1.])</pre>"]


def test_why_shows_a_row_for_each_cause() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sqrt(x * 0.0))

    text = gs.why(f, np.ones(3))._repr_html_()
    assert tags(text) <= ALLOWED
    assert "d_x is NaN." in text
    assert "np.sqrt: " in text
    assert tags(gs.why(hostile("def f(x):\n    return np.sum(np.sqrt(x * 0.0))"), np.ones(3))._repr_html_()) <= ALLOWED


def test_an_explanation_shows_specialisations_misses_and_eager_calls() -> None:
    f = gs.compile(hostile("def f(x):\n    return np.sum(x * x)"))
    f(np.ones(3)), f(np.ones(3)), f(np.ones((2, 2)))
    text = gs.explain(f)._repr_html_()
    assert tags(text) <= ALLOWED
    assert "x: float64[2, 2]" in text
    assert "The last miss" in text

    def eager(x: Any) -> Any:
        with open(__file__) as file:
            return np.sum(x) * len(file.read())

    f = gs.compile(eager)
    with pytest.warns(gs.EagerWarning):
        f(np.ones(3))
    assert "runs eagerly" in gs.explain(f)._repr_html_()


def test_comparisons_and_sources_are_escaped() -> None:
    f = hostile("def f(x):\n    return np.sum(x * x)")
    assert tags(gs.compare(f, np.ones(3))._repr_html_()) <= ALLOWED
    assert tags(gs.source(f, np.ones(3))._repr_html_()) <= ALLOWED | {"div", "span"}


def test_a_profile_shows_its_table() -> None:
    with gs.autograd.profiler.profile() as profile, gs.autograd.profiler.record_function(HOSTILE):
        np.sum(gs.tensor(np.ones(3), requires_grad=True)).backward()
    text = profile._repr_html_()
    assert tags(text) <= ALLOWED
    assert "Self CPU time total" in str(text)
    assert "alert" in str(text)
    assert tags(profile.key_averages()._repr_html_()) <= ALLOWED


@pytest.fixture
def shell() -> Any:
    """A shell of IPython that keeps what is published."""
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "gradscribe")
    made.user_ns.update(np=np)

    def run(line: str, cell: str) -> tuple[list[Any], str]:
        with capture_output() as captured:
            made.run_cell_magic("gradscribe", line, cell)
        return [output.data for output in captured.outputs], captured.stdout + captured.stderr

    yield run
    InteractiveShell.clear_instance()


@pytest.mark.filterwarnings("default")  # those of IPython are not ours
def test_the_magic_shows_the_gradient_of_the_last_function_of_a_cell(shell: Any) -> None:
    (source,), _ = shell("", "w = np.ones(3)\ndef other(q): return q\ndef loss(w):\n    return np.sum(np.sin(w))\n")
    assert "d_w = np.cos(w)" in source["text/plain"]
    assert "text/html" in source
    (source, graph, compared), _ = shell('--args "np.ones(2), 3.0" --argnums b --show source,graph,compare',
                                         "def loss(a, b):\n    return np.sum(a * b)\n")  # fmt: skip
    assert "d_b = a.sum()" in source["text/plain"]
    assert "<svg" in graph["image/svg+xml"]
    assert "all agree" in compared["text/plain"]


@pytest.mark.filterwarnings("default")
def test_the_magic_says_what_it_cannot_follow(shell: Any) -> None:
    assert shell("", "x = 1\n") == (
        [],
        "%%gradscribe: the cell defines no function: write one with `def` at its top level\n",
    )
    assert "give them as in a call" in shell("", "def loss(unknown):\n    return unknown\n")[1]
    assert "unrecognized arguments" in shell("--what", "x = 1\n")[1]
    assert "--show takes source, graph, compare, not tree" in shell("--show tree", "def f(): return 1.0\n")[1]
    assert "ZeroDivisionError" in shell("", "1 / 0\ndef f(): return 1.0\n")[1]


@pytest.mark.filterwarnings("default")
def test_the_magic_of_a_line_says_the_options(shell: Any) -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    with capture_output() as captured:
        InteractiveShell.instance().run_line_magic("gradscribe", "-h")
    assert "--show" in captured.stdout
    assert "usage: %%gradscribe" in captured.stdout
