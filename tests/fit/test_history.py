"""The history of gs.minimize, its plot, and the progress bar."""

from __future__ import annotations

import io
import pickle
import re
import sys
import threading
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

pytest.importorskip("scipy")


def loss(x: Any) -> Any:
    return np.sum((x - 1.0) ** 4)


def test_the_history_is_of_every_iteration() -> None:
    seen: list[Any] = []
    found = gs.minimize(loss, np.zeros(2), callback=seen.append, keep_x=True)
    history = found.history
    assert len(history) == found.nit + 1
    np.testing.assert_allclose(history.fun, [loss(x) for x in history.x])
    np.testing.assert_allclose(history.gradient, [np.max(np.abs(4 * (x - 1) ** 3)) for x in history.x])
    np.testing.assert_array_equal(history.x[1:], seen)
    assert history.evaluations[0] == 1
    assert history.evaluations[-1] == found.nfev
    assert (np.diff(history.seconds) >= 0).all()
    assert repr(history) == f"<History of {found.nit} iterations: fun from 2 to {found.fun:.6g}>"
    assert "history: <History" in repr(found)
    assert gs.minimize(loss, np.zeros(2)).history.x == []


def test_without_gradients_they_are_nan() -> None:
    history = gs.minimize(loss, np.zeros(2), method="Nelder-Mead").history
    assert np.isnan(history.gradient).all()
    assert not np.isnan(history.fun).any()


def test_a_result_is_pickled_with_its_history() -> None:
    found = gs.minimize(lambda p: loss(p["x"]), {"x": np.zeros(2)})
    again = pickle.loads(pickle.dumps(found))
    assert (again.x["x"] == found.x["x"]).all()
    assert (again.history.fun == found.history.fun).all()


def test_all_vectors_are_trees() -> None:
    found = gs.minimize(lambda p: loss(p["x"]), {"x": np.zeros(2)}, options={"return_all": True})
    assert [set(x) for x in found.allvecs] == [{"x"}] * len(found.history)


# --- the plot ---------------------------------------------------------------------------------------------------------


class Axes:
    """What a plot asks of axes."""

    def __init__(self) -> None:
        self.calls: dict[str, Any] = {}
        self.beside: Axes | None = None

    def twinx(self) -> Axes:
        self.beside = Axes()
        return self.beside

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: self.calls.update({name: args})


def test_the_plot_shows_values_and_gradients() -> None:
    found = gs.minimize(loss, np.zeros(2))
    axes = Axes()
    assert found.plot(axes) is axes
    steps, values = axes.calls["plot"]
    assert steps.tolist() == list(range(len(found.history)))
    np.testing.assert_array_equal(values, found.history.fun)
    assert axes.calls["set_yscale"] == ("log",)
    assert axes.calls["set_title"] == ("Optimization terminated successfully",)
    assert axes.beside is not None
    np.testing.assert_array_equal(axes.beside.calls["plot"][1], found.history.gradient)


def test_negative_values_have_no_logarithm_and_no_gradient_no_line() -> None:
    axes = Axes()
    gs.minimize(lambda x: np.sum(x**2) - 1.0, np.ones(2), method="Powell").plot(axes)
    assert axes.calls["set_yscale"] == ("linear",)
    assert axes.beside is None


def test_the_plot_by_matplotlib(tmp_path: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = gs.minimize(loss, np.zeros(2)).plot()
    axes.figure.savefig(tmp_path / "plot.png")
    assert [len(one.lines) for one in axes.figure.axes] == [1, 1]


def test_without_matplotlib_it_says_what_is_missing(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'result\.plot\(\) needs matplotlib.*pip install "gradscribe\[plot\]"'):
        gs.minimize(loss, np.zeros(2)).plot()


# --- the progress bar ---------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("progress", "terminal", "shown"), [(None, False, False), (False, True, False), (True, False, True)]
)
def test_a_bar_is_shown_where_somebody_looks(progress: Any, terminal: bool, shown: bool, monkeypatch: Any) -> None:
    pytest.importorskip("tqdm")
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    threads = threading.active_count()
    gs.minimize(loss, np.zeros(2), progress=progress)
    assert threading.active_count() == threads  # tqdm's own would make os.fork() warn
    assert bool(re.search(r"gs\.minimize of loss: .*iteration", stream.getvalue())) == shown


def test_on_a_terminal_a_long_run_is_shown(monkeypatch: Any) -> None:
    tqdm = pytest.importorskip("tqdm")
    made: list[Any] = []

    class Bar(tqdm.tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            assert kwargs.pop("delay") > 0  # a short run shows nothing
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    monkeypatch.setattr(sys, "stderr", Terminal())
    found = gs.minimize(loss, np.zeros(2), options={"maxiter": 100})
    (bar,) = made
    assert (bar.n, bar.total, bar.unit) == (found.nit, 100, "iteration")
    assert re.fullmatch(r"value \d\S*, gradient \d\S*", bar.postfix)
    assert re.search(r"100%|\d+/100", sys.stderr.getvalue())  # type: ignore[attr-defined]


def test_a_bar_is_closed_by_an_interrupt(monkeypatch: Any) -> None:
    tqdm = pytest.importorskip("tqdm")
    closed: list[Any] = []

    class Bar(tqdm.tqdm):  # type: ignore[misc]
        def close(self) -> None:
            closed.append(self)
            super().close()

    monkeypatch.setattr(tqdm, "tqdm", Bar)

    def interrupted(x: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(KeyboardInterrupt):
        gs.minimize(loss, np.zeros(2), progress=True, callback=interrupted)
    assert closed


def test_without_tqdm_only_who_asks_is_told(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert gs.minimize(loss, np.zeros(2)).success
    with pytest.raises(ImportError, match=r'progress=True needs tqdm.*pip install "gradscribe\[progress\]"'):
        gs.minimize(loss, np.zeros(2), progress=True)
