"""gs.testing: golden files of generated source in the user's own tests."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import gradscribe as gs

X = np.arange(1.0, 4.0)


def energy(x):
    return np.sum(x**2)


def other(x):
    return np.sum(x**3)


gradient = gs.grad(energy)


def test_what_was_written_is_what_is_found(tmp_path: Path) -> None:
    golden = tmp_path / "golden" / "energy_grad.py"
    gs.testing.assert_source_unchanged(gradient, X, path=golden, update=True)
    text = golden.read_text(encoding="utf-8")
    assert "def energy_grad(x):" in text
    gs.testing.assert_source_unchanged(gradient, X, path=golden)
    gs.testing.assert_source_unchanged(gradient, X[:2].copy(), path=str(golden))


def test_line_numbers_are_left_out(tmp_path: Path) -> None:
    golden = tmp_path / "energy_grad.py"
    gs.testing.assert_source_unchanged(gradient, X, path=golden, update=True)
    text = golden.read_text(encoding="utf-8")
    assert "# test_testing.py" in text
    assert "`energy`, test_testing.py." in text
    assert "test_testing.py:" not in text.replace("test_testing.py: return", "")
    assert f"# test_testing.py:{energy.__code__.co_firstlineno + 1}" in gs.source(gradient, X)


def test_a_change_is_shown_as_a_diff(tmp_path: Path) -> None:
    golden = tmp_path / "energy_grad.py"
    gs.testing.assert_source_unchanged(gradient, X, path=golden, update=True)
    with pytest.raises(AssertionError, match="the generated source of `other` has changed") as caught:
        gs.testing.assert_source_unchanged(gs.grad(other), X, path=golden)
    message = str(caught.value)
    assert "-def energy_grad(x):" in message
    assert "+def other_grad(x):" in message
    assert "GRADSCRIBE_UPDATE=1" in message


def test_a_missing_file_fails_and_says_how_to_write_it(tmp_path: Path) -> None:
    golden = tmp_path / "none.py"
    with pytest.raises(AssertionError, match="there is no golden source of `energy`"):
        gs.testing.assert_source_unchanged(gradient, X, path=golden)
    assert not golden.exists()


def test_the_environment_variable_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    golden = tmp_path / "energy_grad.py"
    monkeypatch.setenv("GRADSCRIBE_UPDATE", "1")
    gs.testing.assert_source_unchanged(gradient, X, path=golden)
    before = golden.read_text(encoding="utf-8")
    gs.testing.assert_source_unchanged(gs.grad(other), X, path=golden)
    assert golden.read_text(encoding="utf-8") != before
    with pytest.raises(AssertionError, match="has changed"):
        gs.testing.assert_source_unchanged(gradient, X, path=golden, update=False)
    monkeypatch.setenv("GRADSCRIBE_UPDATE", "0")
    with pytest.raises(AssertionError, match="has changed"):
        gs.testing.assert_source_unchanged(gradient, X, path=golden)


def test_what_runs_eagerly_is_said_with_its_line(tmp_path: Path) -> None:
    def prints(x):
        print(x, file=sys.stderr)
        return np.sum(x)

    with pytest.raises(gs.CompileError, match=r"test_testing\.py:"):
        gs.testing.assert_source_unchanged(gs.grad(prints), X, path=tmp_path / "prints.py")


def test_keyword_arguments_go_to_the_function(tmp_path: Path) -> None:
    golden = tmp_path / "scaled.py"
    scaled = gs.grad(lambda x, *, scale: np.sum(scale * x))
    gs.testing.assert_source_unchanged(scaled, X, path=golden, update=True, scale=2.0)
    assert "scale" in golden.read_text(encoding="utf-8")
