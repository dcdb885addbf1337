"""Samples of what networks compute with: activations, softmaxes, what class indices pick, windows, tables."""

from __future__ import annotations

import numpy as np

from gradscribe.runtime.rules import activations, softmaxes, tables, windows

from samples import BINARY, Sample, question, unary

INDEX = np.array([2, 0, 3])
SIZE = (2, 3)
LIES = [windows.lie(SIZE, stride, dilation, 1) for stride, dilation in (((1, 1), (1, 1)), ((2, 1), (1, 2)))]
IMAGE = (2, 4, 6, 3)  # channels, the two axes that windows slide over, examples

SAMPLES_NETWORKS = [
    unary(activations.relu, kinks=(0.0,)),
    unary(activations.elu, kinks=(0.0,)),
    unary(activations.raised, (0.1, 2.0), call=lambda x: activations.raised(x, 0.05)),
    unary(activations.softplus),
    Sample(activations.cross_entropy_of_logit, BINARY),
    Sample(activations.cross_entropy_of_probability, BINARY, domain=((0.05, 0.95), (-1.0, 2.0)), edge=(0.0, 1.0)),
    *[
        Sample(f, (((3, 4),), ((2, 3, 4),)), call=lambda x, f=f, axis=axis: f(x, axis))
        for f in (softmaxes.softmax, softmaxes.log_softmax)
        for axis in (0, -1)
    ],
    question(softmaxes.peak, (((3, 4),), ((2, 3, 4),)), call=lambda x: softmaxes.peak(x, 1)),
    Sample(softmaxes.picked, (((3, 4),),), call=lambda x: softmaxes.picked(x, INDEX)),
    Sample(
        softmaxes.place_picked,
        (((3,),),),
        call=lambda v: softmaxes.place_picked(v, INDEX, (3, 4), np.dtype(np.float64)),
    ),
    Sample(softmaxes.add_picked, (((3, 4), (3,)),), call=lambda x, v: softmaxes.add_picked(1.0 * x, INDEX, v)),
    Sample(tables.rows, (((4, 2),),), call=lambda x: tables.rows(x, INDEX), empty=False),
    *[Sample(windows.windows, ((IMAGE,),), call=lambda x, h=h: windows.windows(x, *h), empty=False) for h in LIES],
    *[
        Sample(windows.folded, (((*SIZE, 2, *places, 3),),), empty=False,
               call=lambda g, h=h: windows.folded(g, SIZE, *h, IMAGE, g.dtype))
        for h, places in zip(LIES, ((3, 4), (2, 2)), strict=True)
    ],
    *[Sample(windows.max_windows, ((IMAGE,),), call=lambda x, h=h: windows.max_windows(x, SIZE, *h), empty=False) for h in LIES],
    Sample(windows.first_hits, ((IMAGE, (2, 3, 4, 3)),), call=lambda x, y: windows.first_hits(x, y, SIZE, *LIES[0]),
           differentiable=False, order=0, empty=False),
]  # fmt: skip
