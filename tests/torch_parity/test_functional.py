"""autograd.functional: products with Jacobians and Hessians, and those themselves, on both libraries."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
OF_SCALARS = ("vhp", "hvp", "hessian")
# PyTorch itself, at the first use of its forward mode
FORWARD = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
ALL = (*PRODUCTS, "jacobian", "hessian")
INDEPENDENT = "The output of the user-provided function is independent of input 1"


def cube(x: Any) -> Any:
    return x * x * x


def total(x: Any) -> Any:
    return cube(x).sum()


def fitting(name: str) -> Callable[[Any], Any]:
    """A function of one input that `name` takes."""
    return total if name in OF_SCALARS else cube


def vectors(torch: Any) -> tuple[Any, Any]:
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


def single(torch: Any, like: Any) -> Any:
    """The same numbers in float32."""
    return torch.tensor(like, dtype=getattr(torch, "float32", "float32"))


def structure(result: Any) -> Any:
    """Tuples as they are (PyTorch's forward mode has lists among them), with the shape of every tensor."""
    return tuple(map(structure, result)) if isinstance(result, (tuple, list)) else list(result.shape)


def call(torch: Any, name: str, func: Any, inputs: Any, v: Any = None, **options: Any) -> Any:
    """The product or matrix `name`, without the outputs that come with a product."""
    f = getattr(torch.autograd.functional, name)
    return f(func, inputs, v, **options)[1] if name in PRODUCTS else f(func, inputs, **options)


def by_differences(f: Callable[[np.ndarray], Any], x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """The Jacobian of a function of arrays by central differences: `f(x).shape + x.shape`."""
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        columns.append((np.asarray(f(x + step.reshape(x.shape))) - np.asarray(f(x - step.reshape(x.shape)))) / (2 * h))
    return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *x.shape)


# --- values ---------------------------------------------------------------------------------------------------------


def test_vjp(torch: Any, numbers: Any) -> None:
    x, v = vectors(torch)
    output, product = torch.autograd.functional.vjp(cube, x, v)
    assert numbers(output).tolist() == [1.0, 8.0]
    assert numbers(product).tolist() == [9.0, 48.0]
    assert not output.requires_grad
    assert not product.requires_grad


def test_vjp_of_tuples(torch: Any, numbers: Any) -> None:
    x, y = vectors(torch)
    v = (torch.tensor([1.0, 10.0]), torch.tensor(2.0))
    outputs, products = torch.autograd.functional.vjp(lambda x, y: (x * x * y, (x + y).sum()), (x, y), v)
    assert isinstance(outputs, tuple)
    assert isinstance(products, tuple)
    assert [numbers(t).tolist() for t in outputs] == [[3.0, 16.0], 10.0]
    assert [numbers(t).tolist() for t in products] == [[8.0, 162.0], [3.0, 42.0]]


def test_jvp(torch: Any, numbers: Any) -> None:
    x, v = vectors(torch)
    output, product = torch.autograd.functional.jvp(lambda x: x.sum() * x * x, x, v)
    assert numbers(output).tolist() == [3.0, 12.0]
    assert numbers(product).tolist() == [7 * 1 + 3 * 2 * 1 * 3, 7 * 4 + 3 * 2 * 2 * 4]
    assert not output.requires_grad
    assert not product.requires_grad


def test_jvp_of_tuples(torch: Any, numbers: Any) -> None:
    x, y = vectors(torch)
    v = (torch.tensor([1.0, 1.0]), torch.tensor([0.0, 1.0]))
    outputs, products = torch.autograd.functional.jvp(lambda x, y: (x * x * y, (x + y).sum()), (x, y), v)
    assert [numbers(t).tolist() for t in outputs] == [[3.0, 16.0], 10.0]
    assert [numbers(t).tolist() for t in products] == [[6.0, 20.0], 3.0]


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_products_with_the_hessian(torch: Any, numbers: Any, name: str) -> None:
    x, y = vectors(torch)
    v = (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    output, products = getattr(torch.autograd.functional, name)(lambda x, y: (x * x * y).sum(), (x, y), v)
    assert numbers(output) == 19.0
    assert [numbers(t).tolist() for t in products] == [[6.0, 4.0], [2.0, 0.0]]
    assert not output.requires_grad
    assert not products[0].requires_grad


def test_a_product_is_the_matrix_times_the_vector(torch: Any, numbers: Any) -> None:
    x, v = torch.tensor([0.3, -0.7, 1.1]), torch.tensor([0.5, 2.0, -1.0])

    def f(x: Any) -> Any:
        return (x.exp() * x.sum()).tanh()

    j = numbers(torch.autograd.functional.jacobian(f, x))
    h = numbers(torch.autograd.functional.hessian(lambda x: f(x).sum(), x))
    expected = {"vjp": numbers(v) @ j, "jvp": j @ numbers(v), "vhp": numbers(v) @ h, "hvp": h @ numbers(v)}
    for name, value in expected.items():
        func = (lambda x: f(x).sum()) if name in OF_SCALARS else f
        np.testing.assert_allclose(numbers(call(torch, name, func, x, v)), value, rtol=1e-12)


def test_jacobian_against_differences(torch: Any, numbers: Any) -> None:
    x = np.array([[0.3, -0.7, 1.1], [0.2, 0.9, -0.4]])
    w = np.array([[1.0, 2.0], [0.5, -1.0], [0.3, 0.1]])
    f, g = (lambda x: np.tanh(x @ w) * np.sum(x)), (lambda x: (x @ torch.tensor(w)).tanh() * x.sum())
    found = torch.autograd.functional.jacobian(g, torch.tensor(x))
    assert list(found.shape) == [2, 2, 2, 3]
    np.testing.assert_allclose(numbers(found), by_differences(f, x), atol=1e-8)


def test_hessian_against_differences(torch: Any, numbers: Any) -> None:
    x = np.array([[0.3, -0.7], [0.2, 0.9]])

    def slope(x: np.ndarray) -> Any:
        return np.cos(x) * np.exp(np.sum(x * x)) + np.sum(np.sin(x)) * np.exp(np.sum(x * x)) * 2 * x

    found = torch.autograd.functional.hessian(lambda x: x.sin().sum() * (x * x).sum().exp(), torch.tensor(x))
    assert list(found.shape) == [2, 2, 2, 2]
    np.testing.assert_allclose(numbers(found), by_differences(slope, x), rtol=1e-7)
    np.testing.assert_allclose(numbers(found), numbers(found).transpose(2, 3, 0, 1), rtol=1e-12)


# --- the structure of results ---------------------------------------------------------------------------------------


def test_the_structure_of_a_jacobian(torch: Any) -> None:
    jacobian = torch.autograd.functional.jacobian
    x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor(2.0)
    assert structure(jacobian(lambda x: x * x, x)) == [3, 3]
    assert structure(jacobian(lambda x: x * x, (x,))) == ([3, 3],)
    assert structure(jacobian(lambda x: (x * x,), x)) == ([3, 3],)
    assert structure(jacobian(lambda x: (x * x,), (x,))) == (([3, 3],),)
    assert structure(jacobian(lambda x, y: x * y, (x, y))) == ([3, 3], [3])
    assert structure(jacobian(lambda x: (x * x, x.sum()), x)) == ([3, 3], [3])
    assert structure(jacobian(lambda x, y: (x * y, y), (x, y))) == (([3, 3], [3]), ([3], []))


def test_the_structure_of_a_hessian(torch: Any, numbers: Any) -> None:
    hessian = torch.autograd.functional.hessian
    x, y = torch.tensor([1.0, 2.0]), torch.tensor(3.0)
    assert structure(hessian(total, (x,))) == (([2, 2],),)
    found = hessian(lambda x, y: (x * x * y * y).sum(), (x, y))
    assert structure(found) == (([2, 2], [2]), ([2], []))
    assert [[numbers(t).tolist() for t in row] for row in found] == [
        [[[18.0, 0.0], [0.0, 18.0]], [12.0, 24.0]],
        [[12.0, 24.0], 10.0],
    ]


def test_one_tensor_given_twice_counts_as_two(torch: Any, numbers: Any) -> None:
    x, _ = vectors(torch)
    found = torch.autograd.functional.jacobian(lambda a, b: a * a * b, (x, x))
    assert [numbers(t).tolist() for t in found] == [[[2.0, 0.0], [0.0, 8.0]], [[1.0, 0.0], [0.0, 4.0]]]


def test_an_input_that_is_captured_is_a_constant(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert numbers(torch.autograd.functional.jacobian(lambda y: x * y, x)).tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_the_input_itself_as_output(torch: Any, numbers: Any) -> None:
    x, v = vectors(torch)
    assert numbers(torch.autograd.functional.jacobian(lambda x: x, x)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert numbers(torch.autograd.functional.vjp(lambda x: x, x, v)[1]).tolist() == [3.0, 4.0]
    assert numbers(torch.autograd.functional.jvp(lambda x: x, x, v)[1]).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("name", ALL)
def test_one_element(torch: Any, numbers: Any, name: str, shape: tuple[int, ...]) -> None:
    """Without v, in each shape of one element."""
    found = call(torch, name, lambda x: x * x * x, torch.tensor(np.full(shape, 2.0)))
    assert list(found.shape) == [*shape] * (2 if name in ("jacobian", "hessian") else 1)
    assert numbers(found).item() == 12.0


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_empty_tensors(torch: Any, name: str) -> None:
    x = torch.tensor(np.zeros((0, 3)))
    v = torch.tensor(np.zeros((0, 3)))
    assert list(call(torch, name, fitting(name), x, v).shape) == [0, 3]


def test_matrices_of_empty_inputs(torch: Any) -> None:
    x = torch.tensor(np.zeros((0, 3)))
    assert list(torch.autograd.functional.jacobian(total, x).shape) == [0, 3]
    assert structure(torch.autograd.functional.jacobian(lambda x, y: y * y, (x, torch.tensor([1.0, 2.0])))) == (
        [2, 0, 3],
        [2, 2],
    )


@pytest.mark.parametrize("name", ALL)
def test_float32_stays_float32(torch: Any, numbers: Any, name: str) -> None:
    x, v = single(torch, [1.0, 2.0]), single(torch, [1.0, 1.0])
    found = call(torch, name, fitting(name), x, v)
    assert found.dtype == x.dtype
    expected = numbers(call(torch, name, fitting(name), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])))
    assert numbers(found).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_v_is_cast_to_what_it_meets(torch: Any, name: str) -> None:
    x = single(torch, [1.0, 2.0])
    assert call(torch, name, cube, x, torch.tensor([1.0, 1.0])).dtype == x.dtype


def test_each_column_has_the_dtype_of_its_input(torch: Any) -> None:
    x, y = single(torch, [2.0]), torch.tensor([3.0])
    by_x, by_y = torch.autograd.functional.jacobian(lambda x, y: x * y, (x, y))
    assert (by_x.dtype, by_y.dtype) == (x.dtype, y.dtype)


# --- what does not depend -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_an_independent_input_gets_zeros(torch: Any, numbers: Any, name: str, create_graph: bool) -> None:
    x, y = vectors(torch)
    v = torch.tensor(1.0) if name == "vjp" else (x, y)
    found = call(torch, name, lambda x, y: total(x), (x, y), v, create_graph=create_graph)
    expected: Any = {
        "vjp": ([3.0, 12.0], [0.0, 0.0]),
        "jvp": 27.0,
        "vhp": ([6.0, 24.0], [0.0, 0.0]),
        "hvp": ([6.0, 24.0], [0.0, 0.0]),
        "jacobian": ([3.0, 12.0], [0.0, 0.0]),
        "hessian": (([[6.0, 0.0], [0.0, 12.0]], [[0.0, 0.0]] * 2), ([[0.0, 0.0]] * 2, [[0.0, 0.0]] * 2)),
    }[name]
    assert nested(found, numbers) == expected


def nested(result: Any, numbers: Any) -> Any:
    return tuple([nested(r, numbers) for r in result]) if isinstance(result, tuple) else numbers(result).tolist()


@pytest.mark.parametrize("name", ALL)
def test_a_constant_function_gives_zeros(torch: Any, numbers: Any, name: str) -> None:
    x, v = vectors(torch)
    found = call(torch, name, lambda x: torch.tensor(1.0), x, torch.tensor(1.0) if name == "vjp" else v)
    assert list(found.shape) == {"jvp": [], "hessian": [2, 2]}.get(name, [2])
    assert not numbers(found).any()


@pytest.mark.parametrize("name", ["jacobian", "vjp", "jvp"])
def test_one_constant_of_two_outputs(torch: Any, numbers: Any, name: str) -> None:
    x, v = vectors(torch)
    outputs = (v, torch.tensor([1.0, 1.0, 1.0]))
    found = call(torch, name, lambda x: (x * x, torch.tensor([5.0, 6.0, 7.0])), x, outputs if name == "vjp" else v)
    expected = {
        "jacobian": ([[2.0, 0.0], [0.0, 4.0]], [[0.0, 0.0]] * 3),
        "vjp": [6.0, 16.0],
        "jvp": ([6.0, 16.0], [0.0, 0.0, 0.0]),
    }
    assert nested(found, numbers) == expected[name]


def test_an_output_of_integers_is_a_constant(torch: Any, numbers: Any) -> None:
    x, _ = vectors(torch)
    found = torch.autograd.functional.jacobian(lambda x: torch.tensor([1, 2, 3]), x)
    assert list(found.shape) == [3, 2]
    assert found.dtype == x.dtype
    assert not numbers(found).any()


@pytest.mark.parametrize("name", ["vhp", "hvp", "hessian"])
def test_the_hessian_of_a_linear_function(torch: Any, numbers: Any, name: str) -> None:
    x, v = vectors(torch)
    assert not numbers(call(torch, name, lambda x: (x * v).sum(), x, v)).any()


# --- strict ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_strict_passes_what_depends(torch: Any, numbers: Any, name: str) -> None:
    x, v = vectors(torch)
    plain = call(torch, name, fitting(name), x, v)
    for create_graph in (False, True):
        found = call(torch, name, fitting(name), x, v, strict=True, create_graph=create_graph)
        assert numbers(found).tolist() == numbers(plain).tolist()
        assert found.requires_grad == create_graph


@pytest.mark.parametrize("name", ALL)
def test_strict_refuses_constant_outputs(torch: Any, name: str) -> None:
    x, v = vectors(torch)
    with pytest.raises(RuntimeError, match=r"Output 0 of the user-provided function does not require gradients\."):
        call(torch, name, lambda x: torch.tensor(1.0), x, torch.tensor(1.0) if name == "vjp" else v, strict=True)
    with pytest.raises(RuntimeError, match=r"Output 0 of the user-provided function does not require gradients\."):
        call(torch, name, lambda x: x.detach().sum(), x, torch.tensor(1.0) if name == "vjp" else v, strict=True)


def test_strict_names_the_constant_output(torch: Any) -> None:
    x, _ = vectors(torch)
    with pytest.raises(RuntimeError, match=r"Output 1 of the user-provided function does not require gradients\."):
        torch.autograd.functional.jacobian(lambda x: (x * x, torch.tensor(1.0)), x, strict=True)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_strict_refuses_independent_inputs(torch: Any, name: str, create_graph: bool) -> None:
    x, y = vectors(torch)
    v = torch.tensor(1.0) if name == "vjp" else (x, y)
    match = {
        "jacobian": "Output 0 of the user-provided function is independent of input 1",
        "hessian": "jacobian of the user-provided function with respect to input 1 is independent",
    }.get(name, INDEPENDENT)
    with pytest.raises(RuntimeError, match=match) as found:
        call(torch, name, lambda x, y: total(x), (x, y), v, strict=True, create_graph=create_graph)
    assert "not allowed in strict mode" in str(found.value)


@pytest.mark.parametrize("name", OF_SCALARS)
def test_strict_refuses_a_gradient_that_is_constant(torch: Any, name: str) -> None:
    x, v = vectors(torch)
    match = "jacobian of the user-provided function with respect to input 0 is independent of the input"
    with pytest.raises(RuntimeError, match=match):
        call(torch, name, lambda x: x.sum(), x, v, strict=True)


@pytest.mark.parametrize("name", ["vjp", "jvp", "jacobian"])
def test_strict_with_create_graph_refuses_a_constant_jacobian(torch: Any, numbers: Any, name: str) -> None:
    x, v = vectors(torch)
    assert numbers(call(torch, name, lambda x: x * 3, x, v, strict=True)).any()
    match = "jacobian of the user-provided function is independent of input 0"
    with pytest.raises(RuntimeError, match=match):
        call(torch, name, lambda x: x * 3, x, v, strict=True, create_graph=True)


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_strict_with_create_graph_refuses_a_constant_hessian(torch: Any, name: str) -> None:
    match = "hessian of the user-provided function is independent of input 0"
    with pytest.raises(RuntimeError, match=match):
        call(torch, name, lambda x: (x * x).sum(), torch.tensor(2.0), strict=True, create_graph=True)


def test_strict_hessian_of_which_a_part_is_zero(torch: Any) -> None:
    x, y = vectors(torch)
    with pytest.raises(RuntimeError, match="Output 1 of the user-provided function is independent of input 1"):
        torch.autograd.functional.hessian(lambda x, y: (x * x * y).sum(), (x, y), strict=True)


# --- create_graph ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_results_are_differentiable_again(torch: Any, numbers: Any, name: str) -> None:
    """The gradient of what comes out against differences of what comes out without a graph."""
    point, direction = np.array([0.4, -1.2, 0.8]), np.array([0.3, 1.0, -0.5])

    def outer(x: Any) -> Any:
        y = x.sin() * x.sum() * x
        return y.sum() if name in OF_SCALARS else y

    def value(point: np.ndarray, create_graph: bool = False, leaf: Any = None) -> Any:
        x = torch.tensor(point) if leaf is None else leaf
        found = call(torch, name, outer, x, torch.tensor(direction), create_graph=create_graph)
        return (found * found).sum()

    x = torch.tensor(point, requires_grad=True)
    result = value(point, True, x)
    assert x.grad is None
    result.backward()
    np.testing.assert_allclose(numbers(x.grad), by_differences(lambda p: value(p).item(), point), rtol=1e-6)


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_outputs_are_differentiable_too(torch: Any, numbers: Any, name: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    output, _ = getattr(torch.autograd.functional, name)(fitting(name), x, vectors(torch)[1], create_graph=True)
    output.sum().backward()
    assert numbers(x.grad).tolist() == [3.0, 12.0]


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_differentiable_by_v(torch: Any, numbers: Any, name: str) -> None:
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    call(torch, name, fitting(name), x, v, create_graph=True).sum().backward()
    assert numbers(v.grad).tolist() == ([6.0, 12.0] if name in OF_SCALARS else [3.0, 12.0])


@pytest.mark.parametrize("name", ALL)
def test_without_create_graph_no_result_has_a_graph(torch: Any, name: str) -> None:
    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 1.0], requires_grad=True)
    w = torch.tensor([1.0, 1.0], requires_grad=True)
    found = getattr(torch.autograd.functional, name)(
        lambda x: fitting(name)(x * w), x, **({"v": v} if name in PRODUCTS else {})
    )
    for t in found if isinstance(found, tuple) else (found,):
        assert not t.requires_grad
        assert t.grad_fn is None


def test_create_graph_reaches_what_the_function_captures(torch: Any, numbers: Any) -> None:
    x, w = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
    found = torch.autograd.functional.hessian(lambda x: (x * x * w * w).sum(), x, create_graph=True)
    found.sum().backward()
    assert numbers(w.grad).tolist() == [12.0, 16.0]


def test_a_hessian_inside_a_jacobian(torch: Any, numbers: Any) -> None:
    functional = torch.autograd.functional
    found = functional.jacobian(lambda x: functional.hessian(total, x, create_graph=True), torch.tensor([1.0, 2.0]))
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0] = expected[1, 1, 1] = 6
    np.testing.assert_array_equal(numbers(found), expected)


# --- what stays as it was -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_inputs_and_their_grad_are_left_alone(torch: Any, numbers: Any, name: str, create_graph: bool) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, v, w = torch.tensor([3.0, 4.0]), torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.0], requires_grad=True)
    before = x.grad = torch.tensor([7.0, 7.0])
    options = {"create_graph": create_graph}
    call(torch, name, lambda x, y: fitting(name)(x * y * w), (x, y), v if name == "vjp" else (v, v), **options)
    assert x.grad is before
    assert numbers(x.grad).tolist() == [7.0, 7.0]
    assert w.grad is None
    assert numbers(x).tolist() == [1.0, 2.0]
    assert x.is_leaf
    assert not y.requires_grad
    assert not v.requires_grad
    assert (x._version, y._version) == (0, 0)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_left_behind(torch: Any, name: str) -> None:
    """What the function got is gone when the results are there, without the garbage collector."""
    seen = []

    def f(x: Any) -> Any:
        seen.append(weakref.ref(x))
        return total(x * x)

    gc.disable()
    try:
        call(torch, name, f, torch.tensor([1.0, 2.0]), torch.tensor(1.0) if name == "vjp" else torch.tensor([1.0, 1.0]))
        assert [r() for r in seen] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ALL)
def test_under_no_grad(torch: Any, numbers: Any, name: str) -> None:
    x, v = vectors(torch)
    expected = numbers(call(torch, name, fitting(name), x, v)).tolist()
    with torch.no_grad():
        plain = call(torch, name, fitting(name), x, v)
        graph = call(torch, name, fitting(name), x, v, create_graph=True)
        assert not (x * x).requires_grad
    assert numbers(plain).tolist() == numbers(graph).tolist() == expected
    assert graph.requires_grad


def test_the_function_runs_once(torch: Any) -> None:
    x, _ = vectors(torch)
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return total(x)

    torch.autograd.functional.hessian(f, x)
    assert len(calls) == 1
    assert calls[0] is not x


@pytest.mark.parametrize(("create_graph", "match"), [(False, "a leaf Variable"), (True, "a view of a leaf Variable")])
def test_the_function_may_not_write_into_its_input(torch: Any, numbers: Any, create_graph: bool, match: str) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=match):
        torch.autograd.functional.vjp(lambda x: x.mul_(2) * x, x, x.detach(), create_graph=create_graph)
    assert numbers(x).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ALL)
def test_errors_of_the_function_pass_through(torch: Any, name: str) -> None:
    def f(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        call(torch, name, f, torch.tensor(2.0))


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_inputs_that_are_no_tensors(torch: Any, name: str) -> None:
    x, v = vectors(torch)
    match = f"The inputs given to {name} must be either a Tensor"
    for inputs in (3.0, [x], np.array([1.0, 2.0]), (x, 3.0)):
        with pytest.raises(TypeError, match=match):
            call(torch, name, fitting(name), inputs, v)


@pytest.mark.parametrize("name", ALL)
def test_outputs_that_are_no_tensors(torch: Any, name: str) -> None:
    x, v = vectors(torch)
    match = f"The outputs of the user-provided function given to {name} must be either a Tensor"
    for output in (3.0, None, [x]):
        with pytest.raises(TypeError, match=match):
            call(torch, name, lambda x, output=output: output, x, v)
    with pytest.raises(TypeError, match=match):
        call(torch, name, lambda x: (x * x, 3.0), x, v)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_vector_that_is_no_tensor(torch: Any, name: str) -> None:
    x, v = vectors(torch)
    for wrong in (3.0, [v], (v, 3.0)):
        with pytest.raises(TypeError, match=f"The v given to {name} must be either a Tensor"):
            call(torch, name, fitting(name), x, wrong)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_vector_is_missing(torch: Any, name: str) -> None:
    x, y = vectors(torch)
    with pytest.raises(RuntimeError, match="The vector v can only be None if the"):
        call(torch, name, fitting(name), x)
    with pytest.raises(RuntimeError, match="The vector v can only be None if the"):
        call(torch, name, lambda x, y: (fitting(name)(x), fitting(name)(y)), (x, y))


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_vector_of_wrong_size(torch: Any, name: str) -> None:
    x, _ = vectors(torch)
    for wrong in ([1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0):
        with pytest.raises(RuntimeError, match="v has invalid size: should be"):
            call(torch, name, fitting(name), x, torch.tensor(wrong))


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_wrong_number_of_vectors(torch: Any, name: str) -> None:
    x, y = vectors(torch)
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        call(torch, name, fitting(name), x, (x, y))
    two = (lambda x, y: (x * x, y * y)) if name == "vjp" else (lambda x, y: fitting(name)(x * y))
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length"):
        call(torch, name, two, (x, y), x)
    with pytest.raises(RuntimeError, match="Entry 1 in v has invalid size: should be"):
        call(torch, name, two, (x, y), (x, torch.tensor(1.0)))


@pytest.mark.parametrize("name", OF_SCALARS)
def test_a_hessian_of_more_than_one_element(torch: Any, name: str) -> None:
    x, v = vectors(torch)
    match = f"The Tensor returned by the function given to {name} should contain a single element"
    with pytest.raises(RuntimeError, match=match):
        call(torch, name, cube, x, v)
    with pytest.raises(RuntimeError, match=f"The function given to {name} should return a single Tensor"):
        call(torch, name, lambda x: (total(x),), x, v)


@pytest.mark.parametrize("name", ALL)
def test_integers_cannot_be_differentiated(torch: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match="floating point"):
        call(torch, name, lambda x: (x * 1.5).sum(), torch.tensor([1, 2]), torch.tensor(1.0))


# --- vectorize and strategies ---------------------------------------------------------------------------------------


@FORWARD
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_vectorize_gives_the_same(torch: Any, numbers: Any, strategy: str) -> None:
    x, y = torch.tensor([[0.5, 2.0], [1.0, -1.0]]), torch.tensor(3.0)
    functional = torch.autograd.functional

    def f(x: Any, y: Any) -> Any:
        return x @ x * y, (x * y * y).sin().sum(), torch.tensor([1.0, 2.0])

    loop = functional.jacobian(f, (x, y))
    found = functional.jacobian(f, (x, y), vectorize=True, strategy=strategy)
    assert structure(found) == structure(loop) == (([2, 2, 2, 2], [2, 2]), ([2, 2], []), ([2, 2, 2], [2]))
    for a, b in zip([t for row in found for t in row], [t for row in loop for t in row], strict=True):
        assert not a.requires_grad
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-12)


@FORWARD
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_vectorized_hessian_is_the_same(torch: Any, numbers: Any, strategy: str) -> None:
    x, y = torch.tensor([0.5, 2.0]), torch.tensor(3.0)

    def f(x: Any, y: Any) -> Any:
        return ((x * y).sin() * x.sum()).sum()

    loop = torch.autograd.functional.hessian(f, (x, y))
    found = torch.autograd.functional.hessian(f, (x, y), vectorize=True, outer_jacobian_strategy=strategy)
    assert [len(row) for row in found] == [2, 2]
    for a, b in zip([*found[0], *found[1]], [*loop[0], *loop[1]], strict=True):
        np.testing.assert_allclose(numbers(a), numbers(b), rtol=1e-12)


def test_vectorize_with_create_graph(torch: Any, numbers: Any) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    torch.autograd.functional.jacobian(cube, x, create_graph=True, vectorize=True).sum().backward()
    assert numbers(x.grad).tolist() == [6.0, 12.0]


@FORWARD
def test_forward_mode_keeps_the_dtype_of_the_output(torch: Any) -> None:
    x, y = single(torch, [2.0]), torch.tensor([3.0])
    found = torch.autograd.functional.jacobian(lambda x: x * y, x, vectorize=True, strategy="forward-mode")
    assert found.dtype == y.dtype


@FORWARD
def test_forward_mode_of_empty_tensors(torch: Any) -> None:
    x = torch.tensor(np.zeros((0, 2)))
    found = torch.autograd.functional.jacobian(cube, x, vectorize=True, strategy="forward-mode")
    assert list(found.shape) == [0, 2, 0, 2]


@pytest.mark.parametrize(("name", "word"), [("jacobian", "strategy"), ("hessian", "outer_jacobian_strategy")])
def test_what_does_not_go_together(torch: Any, name: str, word: str) -> None:
    x, f = vectors(torch)[0], getattr(torch.autograd.functional, name)
    with pytest.raises(RuntimeError, match="are not supported together"):
        f(total, x, strict=True, vectorize=True)
    with pytest.raises(RuntimeError, match="are not supported together"):
        f(total, x, strict=True, vectorize=True, **{word: "forward-mode"})
    with pytest.raises(NotImplementedError, match="are not supported together"):
        f(total, x, create_graph=True, vectorize=True, **{word: "forward-mode"})
    with pytest.raises(NotImplementedError, match="only implemented for `vectorize=True`"):
        f(total, x, **{word: "forward-mode"})
    with pytest.raises(AssertionError, match='Expected strategy to be either "forward-mode" or "reverse-mode"'):
        f(total, x, **{word: "sideways"})


# --- complex --------------------------------------------------------------------------------------------------------

Z, V = [1 + 2j, 3 - 1j], [1 + 1j, 2 + 0j]


def test_vjp_of_a_holomorphic_function(torch: Any, numbers: Any) -> None:
    _, product = torch.autograd.functional.vjp(lambda z: z * z * 1j, torch.tensor(Z), torch.tensor(V))
    np.testing.assert_allclose(numbers(product), np.array(V) * np.conj(2j * np.array(Z)))


def test_jvp_of_a_holomorphic_function(torch: Any, numbers: Any) -> None:
    _, product = torch.autograd.functional.jvp(lambda z: z * z * 1j, torch.tensor(Z), torch.tensor(V))
    np.testing.assert_allclose(numbers(product), np.array(V) * 2j * np.array(Z))


def test_jvp_between_real_and_complex(torch: Any, numbers: Any) -> None:
    jvp, z = torch.autograd.functional.jvp, np.array(Z)
    np.testing.assert_allclose(
        numbers(jvp(lambda z: z.abs(), torch.tensor(Z), torch.tensor(V))[1]), (np.conj(z) * V).real / np.abs(z)
    )
    x, v = vectors(torch)
    assert numbers(jvp(lambda x: x * 1j, x, v)[1]).tolist() == [3j, 4j]


@FORWARD
def test_the_jacobian_of_a_modulus(torch: Any, numbers: Any) -> None:
    z = np.array(Z)
    found = torch.autograd.functional.jacobian(lambda z: z.abs(), torch.tensor(Z))
    np.testing.assert_allclose(numbers(found), np.diag(z / np.abs(z)))
    columns = torch.autograd.functional.jacobian(
        lambda z: z.abs(), torch.tensor(Z), vectorize=True, strategy="forward-mode"
    )
    np.testing.assert_allclose(numbers(columns), np.diag(z.real / np.abs(z)))


@FORWARD
def test_the_jacobian_of_complex_outputs(torch: Any, numbers: Any) -> None:
    jacobian, z = torch.autograd.functional.jacobian, torch.tensor(Z)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar outputs"):
        jacobian(lambda z: z * z, z)
    np.testing.assert_allclose(numbers(jacobian(lambda z: z * z, z, vectorize=True)), np.diag(np.conj(2 * np.array(Z))))
    np.testing.assert_allclose(
        numbers(jacobian(lambda z: z * z, z, vectorize=True, strategy="forward-mode")), np.diag(2 * np.array(Z))
    )


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_products_with_a_complex_hessian(torch: Any, numbers: Any, name: str) -> None:
    """The gradient of the real part of z**3 is 3 conj(z)**2; its derivative along v is 6 conj(z v)."""
    product = call(torch, name, lambda z: (z * z * z).real.sum(), torch.tensor(Z), torch.tensor(V))
    np.testing.assert_allclose(numbers(product), 6 * np.conj(np.array(Z) * V))


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_a_real_vector_for_a_complex_function(torch: Any, name: str) -> None:
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        call(torch, name, lambda z: z * z, torch.tensor(Z), torch.tensor([1.0, 2.0]))
