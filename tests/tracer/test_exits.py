"""Exits: every way a value leaves a Tensor goes through one door, warns or raises as told, and is the only way."""

from __future__ import annotations

import copy
import inspect
import math
import operator
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.tracer.core import exits

WORDS = "Converting a tensor with requires_grad=True to a scalar"


def leaf(data: Any) -> Any:
    return gs.tensor(data, requires_grad=True)


# What raises --------------------------------------------------------------------------------------

LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "np.array([t])": lambda t, a: np.array([t]),
    "np.array(t)": lambda t, a: np.array(t),
    "np.asarray(t)": lambda t, a: np.asarray(t),
    "np.array([[t, 1.0]])": lambda t, a: np.array([[t, 1.0]]),
    "np.array([t, t])": lambda t, a: np.array([t, t]),
    "a[:] = t": lambda t, a: operator.setitem(a, slice(None), t),
    "a[0:1] = t": lambda t, a: operator.setitem(a, slice(0, 1), t),
    "a[[0]] = t": lambda t, a: operator.setitem(a, [0], t),
    "a += t": lambda t, a: operator.iadd(a, t),
    "a *= t": lambda t, a: operator.imul(a, t),
    "np.add(t, 1, out=a)": lambda t, a: np.add(t, 1.0, out=a),
    "np.sum(t, out=a)": lambda t, a: np.sum(t, out=np.zeros(())),
    "np.copyto": lambda t, a: np.copyto(a, t),
    "np.put": lambda t, a: np.put(a, [0], t),
    "np.place": lambda t, a: np.place(a, np.array([True, False]), t),
    "np.putmask": lambda t, a: np.putmask(a, np.array([True, False]), t),
    "np.full": lambda t, a: np.full(2, t),
    "np.full_like": lambda t, a: np.full_like(a, t),
    "np.from_dlpack": lambda t, a: np.from_dlpack(t),
    "t.numpy()": lambda t, a: t.numpy(),
    "np.fill_diagonal": lambda t, a: np.fill_diagonal(np.eye(2), t),
    "np.savetxt": lambda t, a: np.savetxt("/dev/null", t),
    "np.add.at": lambda t, a: np.add.at(a, [0], t),
}


BY_SHAPE = ("np.array([[t, 1.0]])", "a[0:1] = t", "a[[0]] = t", "np.add.at")  # NumPy refuses those for another reason


@pytest.mark.parametrize("name", LOSSES)
def test_what_would_lose_the_gradient_raises(name: str) -> None:
    a = np.zeros(2)
    with pytest.raises(RuntimeError) as caught:
        LOSSES[name](leaf([1.0, 2.0]), a)
    assert isinstance(caught.value, (gs.GradientLossError, gs.AutogradError, gs.NoRuleError))
    assert a.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("save", [np.save, np.savez, np.savez_compressed, np.savetxt])
def test_a_file_of_numbers_takes_the_numbers_alone(save: Any, tmp_path: Path) -> None:
    with pytest.raises(gs.NoRuleError, match=r"writes plain numbers.*\n.*the numbers alone: x.detach\(\)"):
        save(tmp_path / "t", leaf([1.0, 2.0]))
    save(tmp_path / "t", leaf([1.0, 2.0]).detach())


@pytest.mark.parametrize("name", ["np.array([t])", "a[:] = t", "a += t", "np.full", "np.copyto"])
def test_a_scalar_tensor_too(name: str) -> None:
    with pytest.raises((gs.GradientLossError, gs.NoRuleError)):
        LOSSES[name](leaf(1.0), np.zeros(2))


@pytest.mark.parametrize("name", [n for n in LOSSES if n not in BY_SHAPE])
def test_without_a_gradient_nothing_is_lost(name: str) -> None:
    LOSSES[name](gs.tensor([1.0, 2.0]), np.zeros(2))


def test_what_raises_says_what_to_do() -> None:
    with pytest.raises(gs.GradientLossError, match=r"detach\(\)\.numpy\(\).*np\.stack"):
        np.array([leaf(1.0)])
    with pytest.raises(gs.GradientLossError, match="out="):
        np.add(leaf([1.0]), 1.0, out=np.zeros(1))
    assert issubclass(gs.GradientLossError, RuntimeError)
    assert issubclass(gs.GradientLossError, TypeError)


# What warns ---------------------------------------------------------------------------------------

NUMBERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "math.sin": math.sin,
    "math.floor": math.floor,
    "math.isclose": lambda t: math.isclose(t, 1.0),
    "a[0] = t": lambda t: operator.setitem(np.zeros(2), 0, t),
    "a.fill(t)": lambda t: np.zeros(2).fill(t),
    "np.fromiter": lambda t: np.fromiter([t], float),
    "round": round,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_given_with_a_warning(name: str) -> None:
    with pytest.warns(UserWarning, match=WORDS) as caught:
        found = NUMBERS[name](leaf(1.25))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    expected = NUMBERS[name](1.25)
    assert found == expected
    assert type(found) is type(expected)


def test_the_warning_comes_once_per_line() -> None:
    t = leaf(1.25)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(5):
            float(t)
            a = float(t) + float(t)
        math.sin(t)
    assert a == 2.5
    lines = sorted(w.lineno for w in caught)
    assert len(lines) == 3
    assert len(set(lines)) == 3


def test_no_warning_where_nothing_is_lost() -> None:
    t = gs.tensor(2)
    assert (float(t), int(t), complex(t), operator.index(t)) == (2.0, 2, 2j / 1j, 2)
    assert math.sqrt(gs.tensor(4.0)) == 2.0
    assert [10, 20, 30][t] == 30
    assert list(range(t)) == [0, 1]


def test_item_and_tolist_are_silent() -> None:
    t = leaf([1.5])
    assert t.item() == 1.5
    assert type(t.item()) is float
    assert t.tolist() == [1.5]
    assert leaf(2.5).tolist() == 2.5
    assert bool(t)
    assert repr(t)
    assert f"{t.sum():.1f}" == "1.5"
    assert t.data[0].item() == 1.5
    with pytest.raises(ValueError, match="size 1"):
        leaf([1.0, 2.0]).item()


def test_no_grad_takes_the_warning_away_from_new_values() -> None:
    with gs.no_grad():
        assert float(leaf(2.0) * 2) == 4.0


# The one door -------------------------------------------------------------------------------------

# How each public attribute is tried: on a Tensor whose value is one element, so that nothing refuses it for its shape.
CALLS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool, "__float__": float, "__complex__": complex, "__int__": int,
    "__index__": lambda t: operator.index(gs.tensor(2)), "__iter__": lambda t: iter(t),
    "__format__": lambda t: format(t, ""),
    "__repr__": repr, "__str__": str, "__hash__": hash, "item": lambda t: t.item(), "tolist": lambda t: t.tolist(),
    "numpy": lambda t: t.numpy(), "data": lambda t: t.data, "__array__": lambda t: t.__array__(),
    "__dlpack__": lambda t: t.__dlpack__(), "__reduce__": lambda t: t.__reduce__(), "__round__": round,
    "__contains__": lambda t: 1.0 in t, "__deepcopy__": copy.deepcopy, "__reduce_ex__": lambda t: t.__reduce_ex__(2),
    "__trunc__": math.trunc, "__floor__": math.floor, "__ceil__": math.ceil, "tobytes": lambda t: t.tobytes(),
    "__sizeof__": sys.getsizeof, "__dir__": dir,
}  # fmt: skip
# Attributes that give shape, type, graph or another Tensor, or take a value in: none of the elements goes out.
NO_EXIT = {
    "__dlpack_device__", "__len__", "__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__", "__dir__",
    "__init_subclass__", "__subclasshook__", "__class__", "__sizeof__", "__getstate__", "__setitem__",
    "__array_ufunc__",
    "__array_function__", "__array_namespace__", "device", "__gradscribe_apply__", "__array_priority__", "__doc__",
    "__module__", "__slots__", "__pandas_priority__",
    "__weakref__",
    "shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides", "flags", "requires_grad", "requires_grad_",
    "is_leaf", "is_inference",
    "grad_fn", "grad", "output_nr", "backward", "detach", "retains_grad", "retain_grad", "register_hook", "dim", "numel", "fill",
    "sort", "element_size", "nelement", "ndimension", "stride", "is_contiguous", "is_floating_point", "is_complex",
    "is_signed", "is_same_size", "is_cpu", "is_cuda", "is_sparse", "get_device", "type",
    "volatile", "reinforce",  # which warn, and give no elements
    "__annotations__", "__firstlineno__", "__static_attributes__",  # the last two from Python 3.13
}  # fmt: skip


def _public() -> list[str]:
    names = [n for n in dir(gs.Tensor) if not n.startswith("_") or (n.startswith("__") and n.endswith("__"))]
    return sorted(n for n in names if hasattr(gs.Tensor, n))  # which loads the modules that hold them


def _holds_elements(found: Any) -> bool:
    """Whether something that is no Tensor carries elements out."""
    if isinstance(found, gs.Tensor):
        return False
    if isinstance(found, (list, tuple)):
        return any(_holds_elements(f) for f in found)
    if inspect.isgenerator(found) or hasattr(found, "__next__"):
        return any(_holds_elements(f) for f in found)
    return found is not None and found is not NotImplemented


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What went out, by name."""
    passed: list[str] = []
    real = exits.leave

    def leave(tensor: Any, how: str, spec: str = "") -> Any:
        passed.append(how)
        return real(tensor, how)

    for module in [
        m for n, m in [*sys.modules.items()] if n.startswith("gradscribe") and getattr(m, "leave", None) is real
    ]:
        monkeypatch.setattr(module, "leave", leave)
    return passed


@pytest.mark.parametrize("name", sorted(CALLS))
def test_each_exit_passes_the_door(name: str, door: list[str]) -> None:
    if not hasattr(gs.Tensor, name) or name in NO_EXIT:
        pytest.skip("Tensor has it not, or no value leaves by it")
    CALLS[name](gs.tensor([1.0]) if name in ("__iter__", "__contains__") else gs.tensor(1.0))
    assert len(door) >= 1, f"{name} bypasses exits.leave"


def _attempts(name: str, t: Any) -> Any:
    """The value of an attribute, or what its method returns for the first arguments that it takes."""
    try:
        found = getattr(t, name)
    except ValueError:  # `mT` wants two axes
        return None
    if not callable(found):
        return found
    for args in ((), (t,), (0,), (1.0,), (0, 0), (t > 0, t), ([t],), ("float64",), (t, 0)):
        try:
            return found(*args)
        except (TypeError, ValueError, IndexError, AttributeError, RuntimeError, NotImplementedError):
            continue
        except DeprecationWarning:  # what the oldest NumPy warns of, and later ones refuse
            continue
    return None


@pytest.mark.parametrize("name", [n for n in _public() if n not in CALLS and n not in NO_EXIT])
def test_every_other_attribute_gives_tensors_only(name: str, door: list[str]) -> None:
    with np.errstate(all="ignore"):
        found = _attempts(name, gs.tensor([1.0]))
    assert not _holds_elements(found) or door, (
        f"Tensor.{name} lets {found!r} out past exits.leave: list it in CALLS or mend it"
    )


def test_an_attribute_that_bypasses_the_door_is_caught(door: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gs.Tensor, "leak", lambda self: self._value.tolist(), raising=False)
    monkeypatch.setattr(gs.Tensor, "hole", property(lambda self: self._value), raising=False)
    for name in ("leak", "hole"):
        assert name in _public()
        with pytest.raises(AssertionError, match="past exits"):
            test_every_other_attribute_gives_tensors_only(name, door)


def test_each_exit_has_a_name_of_its_own(door: list[str]) -> None:
    t = gs.tensor([1.0])
    pickle.dumps(t)
    format(t, "")
    bool(t)
    hash(t)
    np.asarray(t)
    assert door == ["pickle", "format", "bool", "hash", "array"]


def test_exits_while_capturing_are_told_to_the_recorder() -> None:
    told: list[str] = []

    class Recorder:
        def left(self, tensor: Any, how: str, spec: str) -> None:
            told.append(how)

        def shape(self, tensor: Any) -> Any:
            return np.shape(tensor._value)

    from gradscribe.tracer.core.thread_state import recording

    t = gs.tensor(1.0)
    with recording(Recorder()):  # type: ignore[arg-type]
        bool(t)
        float(t)
        t.item()
    assert told == ["bool", "float", "item"]
