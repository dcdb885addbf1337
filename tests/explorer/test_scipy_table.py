"""docs/scipy-table.md has each function of SciPy that has a gradient, and each is called there."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
import scipy
from scipy_cases import CASES

import gradscribe as gs
from gradscribe.explorer import coverage
from gradscribe.runtime import lookup

from case_tables import slopes, slow, weighted
from checks import TABLE
from house import ROOT

PAGE = (ROOT / "docs" / "scipy-table.md").read_text(encoding="utf-8")
ROWS = [
    row
    for row in coverage.coverage()
    if row.kind == coverage.RULE
    and row.module.startswith("scipy")
    and row.name != "issparse"  # which gives True or False
]
SHORT = (
    "scipy.integrate.quad", "scipy.interpolate.PPoly", "scipy.linalg.khatri_rao", "scipy.optimize.nnls",
    "scipy.signal.sosfilt_zi", "scipy.sparse.linalg.factorized", "scipy.spatial.distance.canberra",
    "scipy.stats.zmap", "scipy.stats.gumbel_r.cdf",
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.module}.{row.name}")
def test_each_function_has_a_call(row: coverage.Row) -> None:
    value = getattr(importlib.import_module(row.module), row.name)
    op = lookup(value)
    samples = [] if op is None else TABLE.get(value) or TABLE.get(op.fn) or []
    assert f"{row.module}.{row.name}" in CASES or any(s.differentiable for s in samples), (
        "give it a case in tests/corpus/scipy_cases.py"
    )


def test_the_page_has_each_function() -> None:
    if f"SciPy {scipy.__version__}" not in PAGE:
        pytest.skip("the page was written with another SciPy, which has other functions")
    written, module = set(), ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            module = line.removeprefix("## ")
        if found := re.match(r"\| `(\w+)` \|", line):
            written.add(f"{module}.{found[1]}")
    missing = {f"{row.module}.{row.name}" for row in ROWS} ^ written
    assert not missing, f"write it anew: python benchmarks/scipy_table.py --write ({missing})"


@pytest.mark.parametrize("name", slow(CASES, SHORT))
def test_the_gradient_of_each_call(name: str) -> None:
    f, x = CASES[name]
    g = weighted(f)
    with np.errstate(all="ignore"):
        try:
            found = gs.grad(g)(x)
        except gs.NoRuleError:
            assert f"{name}.cdf" in CASES, "only densities that SciPy computes out of sight raise"
            return
        near = [np.max(np.abs(found - slopes(g, x, h))) for h in (1e-3, 1e-4, 1e-5)]
    assert np.min(near) <= 1e-4 * max(float(np.max(np.abs(found))), 1e-3)
