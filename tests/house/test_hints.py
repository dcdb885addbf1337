"""What the face says to those who look for a name of PyTorch's: where it is."""

from __future__ import annotations

import pytest

import gradscribe as gs


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("float32", r"operations and types are NumPy's: np\.float32$"),
        ("tri", r"NumPy's: np\.tri$"),
        ("new_ones", r"it is a method: t\.new_ones\(\)"),
        ("conv2d", r"it is gs\.functional\.conv2d$"),
        ("Adam", r"it is gs\.optim\.Adam$"),
        ("MSELoss", r"it is gs\.nn\.MSELoss$"),
        ("gradcheck", r"it is gs\.autograd\.gradcheck$"),
        ("device", r"it is an attribute: t\.device$"),
        ("foo", r"has no attribute 'foo'$"),
        ("_repr_html_", r"has no attribute '_repr_html_'$"),
    ],
)
def test_who_looks_for_an_operation_in_the_face_is_told_where_it_is(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(gs, name)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("from gradscribe import float32", r"operations and types are NumPy's: np\.float32$"),
        ("from gradscribe.nn import ReLU, Linear", r"gs\.functional\.linear is the function$"),
        ("from gradscribe.nn import Module as M", r"parameters are pytrees here"),
    ],
)
def test_an_import_of_such_a_name_says_it_too(line: str, words: str) -> None:
    with pytest.raises(ImportError, match=words):
        exec(line, {})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Linear", r"gs\.functional\.linear"),
        ("BatchNorm2d", r"gs\.functional\.batch_norm"),
        ("Conv2d", r"gs\.functional\.conv2d"),
        ("Sequential", r"parameters are pytrees here"),
        ("_private", r"has no attribute '_private'$"),
    ],
)
def test_who_looks_for_a_module_with_parameters_is_told_of_the_function(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(gs.nn, name)
    assert not hasattr(gs.nn, name)
