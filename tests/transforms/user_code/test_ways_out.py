"""Whichever way a number leaves a Tensor, wherever the user's code stands: the gradient is right, or the call raises."""

from __future__ import annotations

import collections
import pathlib
from typing import Any

import pytest

import ways_out
from ways_out import FLAVOURS, PLACES, WAYS, Kind, Way

COMMON = ("float(t)", "math.exp(t)", "o = np.zeros(3)\no[0] = t\nr = o.sum()")
EVERYWHERE = [way for way in WAYS if way.text in COMMON]
EVERY = 16
OTHERS = [place for place in PLACES if place != "plain"]


# What is still to do, each with what it does today. A list, so that what is mended leaves it: these are strict.
OPEN = {
    "(t * np.ones(2)).data[0]": "cuts, by name: `.data` is PyTorch's, and not NumPy's buffer",
}


def is_known(way: Way, place: str) -> bool:
    """Whether a loss is one of those that docs/numbers.md tells of."""
    if place == "dict memo":
        return True  # the plain function has filled the dict with numbers
    if "class L:" in way.text:
        return True  # without its source, the body of a class reads names past the scope, which raises
    return place.startswith("swallowed") and any(
        w in way.text for w in ("select.select", "logpdf", "metrics.", "linear_model")
    )


def hold(way: Way, place: str, flavour: str, folder: pathlib.Path, *modes: str) -> None:
    if not ways_out.installed(way):
        pytest.skip(f"{way.needs}, which this way goes by, is missing")
    found = ways_out.outcome(way, PLACES[place], flavour, folder, modes or ("eager", "compiled"))
    text = "".join(ways_out.program(way, PLACES[place]))
    if found.status == "no program" and "second" in modes:
        pytest.skip(f"its second differences say nothing: {found.detail}")
    assert found.fine, f"{found.status}: {found.detail}\n{text.removeprefix(ways_out.HEAD)}"


def marks_of(way: Way, strict: bool = True) -> Any:
    return [pytest.mark.xfail(reason=OPEN[way.text], strict=strict)] if way.text in OPEN else []


@pytest.mark.parametrize("place", ["plain", pytest.param("method", marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", [pytest.param(w, id=w.name, marks=marks_of(w)) for w in WAYS])
def test_a_way_out_keeps_the_gradient_or_raises(way: Way, place: str, tmp_path: pathlib.Path) -> None:
    hold(way, place, "file", tmp_path)


@pytest.mark.parametrize("place", OTHERS)
@pytest.mark.parametrize("way", EVERYWHERE, ids=lambda way: way.name)
def test_a_place_is_reached(way: Way, place: str, tmp_path: pathlib.Path) -> None:
    hold(way, place, "file", tmp_path)


@pytest.mark.parametrize("flavour", ["exec", "imported"])
@pytest.mark.parametrize("place", ["plain", "method", "property", "lru_cache", "in a list"])
@pytest.mark.parametrize("way", EVERYWHERE, ids=lambda way: way.name)
def test_code_without_a_source_and_code_of_another_module(
    way: Way, place: str, flavour: str, tmp_path: pathlib.Path
) -> None:
    hold(way, place, flavour, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)  # a thread that raises has done right
@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("place", PLACES)
def test_ways_in_every_place(place: str, flavour: str, tmp_path: pathlib.Path) -> None:
    """One way in so many, others in each place; `python ways_out.py --all` goes through the whole product."""
    counts: collections.Counter[str] = collections.Counter()
    faults = []
    for k, at, how in ways_out.combinations([place], (flavour,), EVERY if flavour == "file" else 3 * EVERY):
        found = ways_out.outcome(WAYS[k], PLACES[at], how, tmp_path)
        counts[found.status] += 1
        listed = WAYS[k].text in OPEN or is_known(WAYS[k], at)
        if found.status in ("lost", "warned") and not listed:
            faults.append(f"{found.status}: {WAYS[k].name}: {found.detail}")
    assert not faults, "\n".join([str(dict(counts)), *faults])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["forward", "second"])
@pytest.mark.parametrize(
    "way", [pytest.param(w, id=w.name, marks=marks_of(w, False)) for w in WAYS if w.kind is not Kind.may_raise]
)
def test_forward_mode_and_second_derivatives(way: Way, mode: str, tmp_path: pathlib.Path) -> None:
    hold(way, "helper", "file", tmp_path, mode)


# The oracle itself: each fault, planted, is told from the others ------------------------------------------------------

TRACED = "isinstance(t, gs.Tensor)"
PLANTED = {
    "gs.stop_gradient(t) * 2.0": "lost",
    f"t * (2.0 if {TRACED} else 3.0)": "lost",
    "t * 1.0 + gs.stop_gradient(t) * 0.01": "lost",
    f"import warnings ;; _ = warnings.warn('lossy') if {TRACED} else 0 ;; r = t": "warned",
    f"_ = int('x') if {TRACED} else 0 ;; r = t": "error",
    f"if {TRACED}:\n    raise gs.GradientLossError('somewhere')\nr = t": "message",
    "int('x')": "no program",
    "str(t)": "no program",
    "t * 2.0": "right",
}


@pytest.mark.parametrize("text", PLANTED)
@pytest.mark.parametrize("kind", Kind)
def test_a_planted_fault_is_found(text: str, kind: Kind, tmp_path: pathlib.Path) -> None:
    way = Way(text.replace(" ;; ", "\n"), kind)
    expected = "refused" if PLANTED[text] == "error" and kind is Kind.may_raise else PLANTED[text]
    assert ways_out.outcome(way, PLACES["helper"], "file", tmp_path).status == expected


def test_raising_at_the_users_line_is_for_some_ways_alone(tmp_path: pathlib.Path) -> None:
    text = f"if {TRACED}:\n    raise gs.GradientLossError(f'at {{__file__}}:1')\nr = t"
    statuses = {
        kind: ways_out.outcome(Way(text, kind), PLACES["helper"], "file", tmp_path).status
        for kind in Kind
    }  # fmt: skip
    assert statuses == {Kind.keeps: "error", Kind.no_loss: "error", Kind.may_raise: "raised"}


def test_the_table_holds_the_ways_and_places_that_it_promises() -> None:
    assert len({way.text for way in WAYS}) == len(WAYS)
    assert len(EVERYWHERE) == len(COMMON)
    assert len(WAYS) > 1000
    assert len(PLACES) > 120
