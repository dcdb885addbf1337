"""Programs by chance over the table of ops; fuzzing.py says what is compared. The cases that it found stand at the end."""

from __future__ import annotations

import importlib.util
import random
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

import fuzzing
import fuzzing_lengths
import fuzzing_modules

FEW, MANY = 12, 10_000
NO_TORCH = "PyTorch, whose gradients these are compared with, is missing"


@pytest.fixture(scope="module")
def samples() -> list[Any]:
    return fuzzing.recorded()


def test_all_sorts_of_ops_are_drawn_from(samples: list[Any]) -> None:
    names = {sample.name for sample, *_ in samples}
    assert len(names) > 150
    assert {"np.linalg.solve", "scipy.special.expit", "np.sort"} <= names


@pytest.mark.parametrize("seed", range(FEW))
def test_programs_by_chance(seed: int, samples: list[Any]) -> None:
    program = fuzzing.Program(random.Random(seed).choice, 6, False, samples)
    assert not fuzzing.problem(program), program.text


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(10 * FEW))
def test_pure_programs_against_pytorch(seed: int) -> None:
    pytest.importorskip("torch", reason=NO_TORCH)
    from fuzzing_peers import PEERS

    program = fuzzing.Program(random.Random(seed).choice, 8, True, [])
    assert not fuzzing.other_problem(program, PEERS["torch"]()), program.text


@pytest.mark.parametrize("seed", range(2 * FEW))
def test_modules_by_chance(seed: int, samples: list[Any]) -> None:
    program = fuzzing_modules.Module(random.Random(seed).choice, 8, False, samples)
    assert not fuzzing_modules.module_problem(program), program.whole


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 2000, 200))
def test_many_modules_by_chance(first: int) -> None:
    faults = []
    for k, program in fuzzing.programs(first, 200, kind=fuzzing_modules.Module):
        if wrong := fuzzing_modules.module_problem(program):
            faults.append(f"--- module {k}: {wrong}\n{program.text}")
    assert not faults, "\n".join([f"{len(faults)} modules", *faults[:20]])


@pytest.mark.parametrize("seed", range(4 * FEW))
def test_other_lengths_by_chance(seed: int) -> None:
    program = fuzzing_lengths.Lengths(random.Random(seed).choice, 5, True, None)
    assert not fuzzing_lengths.lengths_problem(program), program.text


@pytest.mark.parity
@pytest.mark.parametrize("peer", ["torch", pytest.param("jax", marks=pytest.mark.slow)])
def test_pure_modules_against_another_library(peer: str) -> None:
    pytest.importorskip(peer, reason="the library whose gradients these are compared with is missing")
    from fuzzing_peers import PEERS

    slopes_of, compared = PEERS[peer](), 0
    for _, program in fuzzing.programs(0, 3 * FEW, pure=True, kind=fuzzing_modules.Module):
        wrong = fuzzing.other_problem(program, slopes_of)
        assert not wrong, f"{wrong}\n{program.whole}"  # type: ignore[attr-defined]
        compared += wrong is None
    assert compared > FEW


@pytest.mark.slow
def test_modules_use_what_they_define(samples: list[Any]) -> None:
    """Each sort of call and of state is drawn, and what is drawn changes the module's state between calls."""
    programs = [p for _, p in fuzzing.programs(0, 200, pure=True, kind=fuzzing_modules.Module)]
    texts = "\n".join(p.text for p in programs)
    missing = [call for call in fuzzing_modules.CALLS if call.partition("{")[0] not in texts]
    assert not missing
    texts = "\n".join(p.text for _, p in fuzzing.programs(0, 200, kind=fuzzing_modules.Module))
    for state in ("step(", "count(", "log.append(", "memory['last']", "model.total", "params.w"):
        assert state in texts


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return np.sum(x) + gs.stop_gradient(np.sum(x) * 1.0)", "differences"),
        ("log.append(x)\nreturn np.sum(x) * (1.0 + 1e-6 * isinstance(x, gs.Tensor))", "value"),
        ("log.append(1.0)\nlog.append(isinstance(x, gs.Tensor))\nreturn np.sum(x)", "state"),
        ("global calls\ncalls += 1\nreturn np.sum(x) * calls + np.sum(y)", None),
    ],
)
def test_a_planted_fault_of_a_module_is_found(line: str, said: str | None) -> None:
    program = fuzzing_modules.Module(random.Random(0).choice, 0, True, [])
    program.lines = line.split("\n")
    program.space["gs"] = gs
    found = fuzzing_modules.module_problem(program)
    assert found is None if said is None else said in str(found)


def drawn(few: bool, samples: list[Any]) -> None:
    """Programs that hypothesis draws, and makes smaller where one fails."""
    if importlib.util.find_spec("hypothesis") is None:
        pytest.skip("hypothesis, which draws the programs, is missing: it comes with the extra `parity`")
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    @settings(
        max_examples=FEW if few else MANY, deadline=None, derandomize=few, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def run(data: Any) -> None:
        choose = lambda options: data.draw(st.sampled_from(options))
        program = fuzzing.Program(choose, choose(range(1, 8)), False, samples)
        assert not fuzzing.problem(program), program.text

    run()


@pytest.mark.parity
def test_programs_that_hypothesis_draws(samples: list[Any]) -> None:
    drawn(True, samples)


@pytest.mark.parity
@pytest.mark.slow
def test_many_programs_that_hypothesis_draws(samples: list[Any]) -> None:
    drawn(False, samples)


@pytest.mark.parity
def test_a_wrong_rule_is_found() -> None:
    pytest.importorskip("torch", reason=NO_TORCH)
    from fuzzing_peers import PEERS

    wrong = lambda x: gs.stop_gradient(np.sin(x)) + 1.001 * (np.sin(x) - gs.stop_gradient(np.sin(x)))
    program = fuzzing.Program(random.Random(0).choice, 0, True, [])
    program.lines = ["return np.sum(sine(x)) + np.sum(y)"]
    torch = pytest.importorskip("torch")
    program.space["sine"] = lambda x: torch.sin(x) if isinstance(x, torch.Tensor) else wrong(x)
    assert "the other library" in str(fuzzing.other_problem(program, PEERS["torch"]()))


# what fuzzing found


def check(f: Any, *args: Any) -> None:
    """Hold a gradient against differences, and the compiled one against it."""
    gradient = gs.grad(f, argnums=tuple(range(len(args))))
    gs.check_grads(f, tuple(args), order=1)
    for a, b in zip(gs.compile(gradient, verify="first calls")(*args), gradient(*args), strict=True):
        np.testing.assert_array_equal(a, b)
        pairs = zip(np.shape(a), np.asarray(a).strides, np.asarray(b).strides, strict=True)
        assert all(one == other for n, one, other in pairs if n > 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x.T**3 * 2.3), lambda x: np.sum(np.nan_to_num(np.transpose(x)) * 2.3),
        lambda x: np.sum((v := x.T) * 0.3) + np.sum(np.sum(v) * 1.3) + np.sum(np.cos(v) * 2.3),
        lambda x: np.sum(np.where(x.T > 0, x.T, 0.5 * x.T) * 1.3), lambda x: np.sum(x.T * 2.0 * np.exp(x.T)),
    ],
)  # fmt: skip
def test_a_spread_cotangent_meets_an_array_that_lies_column_by_column(f: Any) -> None:
    check(f, np.random.default_rng(0).normal(size=(3, 2)))
    check(
        lambda x: f(x[:, 0]) + np.sum(np.swapaxes(x, 0, -1) ** 2 * 0.3) + np.sum(x),
        np.random.default_rng(0).normal(size=(2, 1, 3)),
    )


@pytest.mark.parametrize("f", [np.prod, np.max, np.min, np.sum, np.cumsum])
def test_an_axis_of_a_number(f: Any) -> None:
    check(lambda x: np.sum(f(x * 2.0, axis=-1)) + np.sum(f(x, axis=0)), np.float64(0.7))


def test_products_of_vectors_are_not_elementwise() -> None:
    if not hasattr(np, "vecmat"):
        pytest.skip("np.vecmat is new in NumPy 2.2")
    rng = np.random.default_rng(0)
    for _ in range(10):
        check(lambda v, a: np.sum(np.vecmat(np.tanh(v), a) * 0.3), rng.normal(size=(2, 3)), rng.normal(size=(3, 4)))


def test_zeros_keep_their_sign_through_out() -> None:
    def f(y: Any) -> Any:
        v = y * 2.0
        np.multiply(v, y, out=v)
        return np.sum(v * np.array([0.0, 0.0, 3.0]))

    gradient, y = gs.grad(f), np.array([-0.5, 1.0, -2.0])
    assert gradient(y).tobytes() == gs.compile(gradient, verify="first calls")(y).tobytes()


def test_a_copy_of_a_partly_spread_cotangent_lies_as_eagers() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(2, 3, (2, 1)), rng.normal(size=(2, 1, 3))
    check(lambda x, y: np.sum(x * y[-1]) + np.sum(y.sum(axis=0) * 1.3), x, y)


@pytest.mark.parametrize("p", [3.0, 2.0, 1.5, 0.5, -1.0, np.float64(0.7)])
def test_an_exponent_that_is_an_input(p: Any) -> None:
    """The rule looked at its value in eager mode alone: other bits, float64 in a float32 program."""
    gradient = gs.grad(lambda x, p: np.sum(x**p))
    compiled = gs.compile(gradient, verify="first calls")
    for seed in range(10):
        x = np.random.default_rng(seed).uniform(0.1, 2.0, 7)
        for given in (x, x.astype(np.float32), x[0], np.float32(x[0])):
            assert compiled(given, p).tobytes() == gradient(given, p).tobytes()


def test_a_power_of_numbers() -> None:
    gradient = gs.grad(lambda x: np.power(x**2 + 0.5, np.tanh(x)))
    compiled = gs.compile(gradient, verify="first calls")
    for x in np.random.default_rng(0).normal(size=200):
        assert compiled(x).tobytes() == gradient(x).tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_number_to_the_power_of_a_number(dtype: Any) -> None:
    """`p ** x` of NumPy's numbers is another power than np.power, in the last bit; a Tensor is asked for np.power."""
    gradient = gs.value_and_grad(lambda x, p: p**x)
    compiled = gs.compile(gradient, verify="first calls")
    for x, p in np.random.default_rng(0).uniform(0.1, 3.0, (100, 2)).astype(dtype):
        assert compiled(x, p) == gradient(x, p)
        assert gradient(x, p)[0] == p**x
