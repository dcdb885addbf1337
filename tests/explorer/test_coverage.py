"""`python -m gradscribe coverage`: every function is of a kind, for a reason, and docs/coverage.md says what the program says."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy

import gradscribe as gs
from gradscribe.__main__ import main
from gradscribe.explorer import coverage, coverage_reasons

from house import ROOT

PAGE = ROOT / "docs" / "coverage.md"
ENTRIES = coverage.coverage()


def named(kind: str, *modules: str) -> list[str]:
    return [f"{e.module}.{e.name}" for e in ENTRIES if e.kind == kind and (not modules or e.module in modules)]


def test_what_is_not_supported_says_why() -> None:
    silent = [f"{e.module}.{e.name}" for e in ENTRIES if e.kind == coverage.REFUSED and not e.note]
    assert not silent, f"give them a rule, or a reason in explorer/coverage_reasons.py: {silent}"


def test_no_reason_is_out_of_date() -> None:
    refused = {e.name for e in ENTRIES if e.kind == coverage.REFUSED}
    known = {e.name for e in ENTRIES}
    stale = [name for name in coverage_reasons.REASONS if name in known and name not in refused]
    assert not stale, f"they have a rule now: {stale}"
    computed = {e.name for e in ENTRIES if e.kind in (coverage.RULE, coverage.NATURE)}
    assert not computed & set(coverage_reasons.ABOUT) - {"can_cast", "result_type", "may_share_memory", "shares_memory"}


def test_all_of_linear_algebra_and_fourier_transforms_and_most_of_the_rest() -> None:
    assert not named(coverage.REFUSED, "numpy.linalg", "numpy.fft")
    assert named(coverage.REFUSED, "scipy.fft") == ["scipy.fft.fhtoffset"]
    assert len(named(coverage.RULE, "scipy.special")) > 180
    assert len(named(coverage.REFUSED, "numpy")) < 12  # two more in the oldest NumPy, deprecated
    assert len(named(coverage.RULE)) > 500


def test_what_only_a_scope_reaches_is_in_our_namespace() -> None:
    for e in ENTRIES:
        if e.reached == "scope" and e.module == "numpy":
            assert getattr(gs.numpy, e.name) is not getattr(np, e.name), e.name
    t = gs.tensor([1.0, 2.0], requires_grad=True)
    assert gs.numpy.c_[t, 3.0 * t].requires_grad
    assert gs.numpy.vectorize(lambda x: x * x)(t).requires_grad


def test_a_bare_tensor_reaches_what_is_marked_so() -> None:
    t = gs.tensor([[1.0, 0.5], [0.5, 2.0]], requires_grad=True)
    tried = 0
    for e in ENTRIES:
        if e.reached == "protocol" and e.kind == coverage.RULE and e.module in ("numpy", "numpy.linalg", "numpy.fft"):
            if e.name == "row_stack":  # which warns that it is old
                continue
            module = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}[e.module]
            try:
                with np.errstate(all="ignore"):
                    found = getattr(module, e.name)(t)
            except (TypeError, ValueError, IndexError, np.linalg.LinAlgError):
                continue  # of one matrix alone it makes no sense
            first = found[0] if isinstance(found, (tuple, list)) else found
            assert isinstance(first, gs.Tensor), e.name
            tried += 1
    assert tried > 130


def kinds_of(page: str) -> dict[str, str]:
    """The kind of each function on a page."""
    found: dict[str, str] = {}
    module = kind = ""
    for line in page.splitlines():
        if line.startswith("## "):
            module = line[3:]
        elif line.startswith("**"):
            kind = line.split("**")[1]
        elif line.startswith("- ") and module:
            found |= dict.fromkeys([f"{module}.{name}" for name in re.findall(r"`(\w+)`", line)], kind)
    return found


def test_the_page_says_what_the_program_says() -> None:
    page, made = PAGE.read_text(encoding="utf-8"), coverage.markdown(ENTRIES)
    if f"NumPy {np.__version__}, SciPy {scipy.__version__})" in page:
        assert page.strip() == made.strip(), (
            "write it anew: python -m gradscribe coverage --markdown > docs/coverage.md"
        )
    old, new = kinds_of(page), kinds_of(made)
    both = old.keys() & new.keys()
    assert len(both) > 700
    assert {name: old[name] for name in both} == {name: new[name] for name in both}


def test_the_command_prints_a_line_for_each_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(gs.__version__, ["coverage", "--all"]) == 0
    printed = capsys.readouterr().out
    for line in (
        r"numpy\.exp +rule +protocol",
        r"numpy\.argsort +no gradient by nature",
        r"numpy\.c_ +rule +scope",
        "all +\\d+",
    ):
        assert re.search(f"^{line}", printed, re.MULTILINE), line
