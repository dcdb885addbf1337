"""The example that trains a transformer: its model sees no letter that comes later, it learns, and its step is eager's."""

from __future__ import annotations

import runpy

import numpy as np

import gradscribe as gs

from house import ROOT

SPACE = runpy.run_path(str(ROOT / "examples" / "transformer.py"))
SIZES = SPACE["Sizes"](context=16, width=32, heads=2, blocks=1, batch=16, rate=0.02)
LETTERS, CODES = np.unique(np.array(list(SPACE["TEXT"].read_text())), return_inverse=True)


def test_no_letter_is_seen_before_it_comes():
    rng = np.random.default_rng(0)
    params = SPACE["initial"](SIZES, len(LETTERS), rng)
    x = CODES[None, :16]
    found = SPACE["scores"](params, x, SIZES.heads)
    x = x.copy()
    x[0, 7] = (x[0, 7] + 1) % len(LETTERS)
    other = SPACE["scores"](params, x, SIZES.heads)
    assert found.shape == (1, 16, len(LETTERS))
    np.testing.assert_array_equal(found[0, :7], other[0, :7])
    assert np.all(np.any(found[0, 7:] != other[0, 7:], axis=-1))


def test_the_compiled_step_is_eager_and_learns():
    optimizer = gs.optim.AdamW(lr=SIZES.rate)
    params = SPACE["initial"](SIZES, len(LETTERS), np.random.default_rng(0))
    eager = SPACE["training_step"](optimizer, SIZES.heads)
    compiled = gs.compile(eager, verify="first calls")
    found, losses = SPACE["train"](compiled, optimizer, params, CODES, SIZES, 100)
    assert losses[0] > 5.5
    assert np.mean(losses[-10:]) < 4.0  # the entropy of the letters is 4.5
    assert SPACE["measured"](found, CODES[:2000], SIZES) < 4.0 < SPACE["measured"](params, CODES[:2000], SIZES)
    assert len(gs.explain(compiled).specialisations) <= 2  # the rate is an input from the second on
    assert found["letter"].dtype == np.float32
    found, losses = SPACE["train"](compiled, optimizer, params, CODES, SIZES, 10)
    again, by_eager = SPACE["train"](eager, optimizer, params, CODES, SIZES, 10)
    assert losses == by_eager
    np.testing.assert_array_equal(again["letter"], found["letter"])
