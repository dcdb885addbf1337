"""autograd's smaller modules under our names: fixed points that end where autograd's do, util, wrap_util, test_util, tracers."""

import importlib

import numpy
import pytest

OURS = "gradscribe.compat.autograd"


@pytest.fixture(params=[OURS, pytest.param("autograd", marks=pytest.mark.parity)])
def lib(request):
    if request.param == "autograd":
        pytest.importorskip("autograd", reason="autograd, which the same statements are tried on, is missing")
    return lambda name="": importlib.import_module(request.param + name)


NEWTON = lambda a: lambda x: 0.5 * (x + a / x)
SLOW = lambda a: lambda x: x + 0.1 * (a - x * x)


@pytest.mark.parametrize(
    ("iteration", "tol", "value", "slope"),
    [
        (NEWTON, 1e-1, 1.4166666666666665, 0.3535518013433747),
        (NEWTON, 1e-2, 1.4142156862745097, 0.35355339059207763),
        (SLOW, 1e-1, 1.179, 0.395279319854885),
        (SLOW, 1e-3, 1.4116903025752245, 0.3539457430615827),
        (SLOW, 1e-6, 1.4142112159589602, 0.3535537584781156),
    ],
)
def test_a_fixed_point_ends_where_autograds_ends(lib, iteration, tol, value, slope):
    fixed_point = lib(".misc.fixed_points").fixed_point
    f = lambda a: fixed_point(iteration, a, 1.0, lambda x, y: abs(x - y), tol)
    numpy.testing.assert_allclose(f(2.0), value, rtol=1e-15)
    numpy.testing.assert_allclose(lib().grad(f)(2.0), slope, rtol=1e-14)


def test_a_fixed_point_counts_its_steps_by_the_distance_given(lib):
    np, fixed_point = lib(".numpy"), lib(".misc.fixed_points").fixed_point
    steps = []

    def halve(a):
        def step(x):
            steps.append(1)
            return x / 2 + a * 0

        return step

    far = fixed_point(halve, 1.0, numpy.array([8.0, 4.0]), lambda x, y: np.max(np.abs(x - y)), 1.0)
    assert far.tolist() == [1.0, 0.5]  # moved by 4, 2 and 1
    steps.clear()
    rested = fixed_point(halve, 1.0, numpy.array([1.0]), lambda x, y: np.max(np.abs(x - y)), 0.5)
    assert rested.tolist() == [0.5]  # one step is not too far


def test_a_fixed_point_has_second_derivatives_and_takes_vectors(lib):
    np, fixed_point, grad = lib(".numpy"), lib(".misc.fixed_points").fixed_point, lib().grad
    root = lambda a: fixed_point(SLOW, a, 1.0, lambda x, y: np.abs(x - y), 1e-9)
    numpy.testing.assert_allclose(grad(grad(root))(2.0), -0.25 * 2**-1.5, rtol=1e-7)
    cosine = lambda a: lambda x: 0.5 * np.cos(x * a)
    f = lambda a: np.sum(fixed_point(cosine, a, np.ones(3), lambda x, y: np.linalg.norm(x - y), 1e-3) * np.arange(3.0))
    a = numpy.array([0.3, 0.7, 1.1])
    numpy.testing.assert_allclose(f(a), 1.357334910512674, rtol=1e-14)
    numpy.testing.assert_allclose(grad(f)(a), [0.0, -0.06899027, -0.16447166], atol=1e-8)


def test_util_replaces_places_and_sorts_graphs(lib):
    util = lib(".util")
    assert util.subvals((1, 2, 3), [(0, "a"), (2, "c")]) == ("a", 2, "c")
    assert util.subval([1, 2], 1, 5) == (1, 5)
    assert util.func(len) is len
    parents = {"d": ["b", "c"], "b": ["a"], "c": ["a", "b"], "a": []}
    order = list(util.toposort("d", parents.__getitem__))
    assert sorted(order) == ["a", "b", "c", "d"]
    assert all(order.index(node) < order.index(parent) for node in parents for parent in parents[node])
    assert list(util.toposort("a", lambda node: [])) == ["a"]
    twice = list(util.toposort("z", {"z": ["y", "y"], "y": []}.__getitem__))
    assert twice == ["z", "y"]


def test_the_old_gradient_check_warns_and_checks(lib):
    util, np = lib(".util"), lib(".numpy")
    with pytest.warns(UserWarning, match="deprecated"):
        util.quick_grad_check(
            lambda x, y, k=1.0: np.sum(np.sin(x) * y) * k, numpy.array([0.3, 0.5]), (2.0,), {"k": 3.0}
        )


def test_an_operator_of_one_argument_becomes_one_of_several(lib):
    wrap_util = lib(".wrap_util")
    make_vjp = lib(".core").make_vjp

    @wrap_util.unary_to_nary
    def slope(f, x, factor=1.0):
        return make_vjp(f, x)[0](factor)

    f = lambda x, y, k=1.0: x * x * y * k
    f.__name__ = "f"
    assert slope(f)(3.0, 2.0) == 12.0
    assert slope(f, 1, 10.0)(3.0, 2.0, k=2.0) == 180.0
    assert slope(f, 1).__name__ == "slope_of_f_wrt_argnum_1"
    pair = wrap_util.unary_to_nary(lambda f, xs: (f(xs), xs))
    assert pair(f, (1, 0))(3.0, 2.0) == (18.0, (2.0, 3.0))
    assert wrap_util.get_name(f) == "f"
    with pytest.raises(AssertionError):
        slope(f, 1.5)


def test_a_function_of_one_graph_is_the_function(lib):
    const_graph = lib(".misc").const_graph
    np = lib(".numpy")
    f = const_graph(lambda a, x: np.sum(a * np.sin(x)), 2.0)
    x = numpy.array([0.5, 1.0])
    numpy.testing.assert_allclose(f(x), 2 * numpy.sum(numpy.sin(x)))
    numpy.testing.assert_allclose(f(x + 1), 2 * numpy.sum(numpy.sin(x + 1)))
    numpy.testing.assert_allclose(lib().grad(const_graph(lambda a, x: np.sum(a * np.sin(x)), 2.0))(x), 2 * numpy.cos(x))


def test_combinations_are_checked(lib):
    test_util, np = lib(".test_util"), lib(".numpy")
    seen = []

    def f(x, y, k=1.0):
        seen.append(k)
        return np.sum(np.sin(x) * y) * k

    test_util.combo_check(f, (0, 1), ["rev"], 1)([numpy.ones(2), numpy.zeros(2)], [2.0], k=[1.0, 3.0])
    assert set(seen) == {1.0, 3.0}
    assert test_util.scalar_close(1.0, 1.0 + 1e-9)
    assert not test_util.scalar_close(1.0, 1.1)


def test_the_arguments_that_are_checked_are_named(lib):
    check_grads, np = lib(".test_util").check_grads, lib(".numpy")
    cut = lib(".extend").primitive(lambda y: y * 1.0)
    lib(".extend").defvjp(cut, lambda ans, y: lambda g: 2 * g)
    f = lambda x, y: np.sin(x) * cut(y)
    check_grads(f, modes=["rev"], order=1)(0.5, 2.0)
    check_grads(f, 0, ["rev"], 2)(0.5, 2.0)
    for argnum in (1, (0, 1)):
        with pytest.raises(AssertionError):
            check_grads(f, argnum, modes=["rev"], order=1)(0.5, 2.0)


def test_the_core_takes_the_argument_at_once(lib):
    core, np = lib(".core"), lib(".numpy")
    vjp, value = core.make_vjp(lambda x: np.sin(x) * 2.0, 0.5)
    numpy.testing.assert_allclose([value, vjp(3.0)], [2 * numpy.sin(0.5), 6 * numpy.cos(0.5)])
    numpy.testing.assert_allclose(core.make_jvp(lambda x: x * x, 3.0)(2.0), [9.0, 12.0])


def test_the_modules_are_attributes(lib):
    root = lib()
    for name in ("util", "wrap_util", "test_util", "misc", "core", "builtins", "extend", "tracer"):
        lib(f".{name}")
        assert getattr(root, name).__name__.endswith(name)
