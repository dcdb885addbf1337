"""gs.distributed.value_and_grad and hvp: equal to one machine, on every form of data, with the same bits each time."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Iterator
from typing import Any

import fake_cupy
import numpy as np
import pytest

import gradscribe as gs
from gradscribe.scale.sources import digest_of

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from distributed import Client  # noqa: E402  where it is there

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own

scale = 1.0


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.sum(np.log1p(np.exp(-y * (x @ w)))) * scale


def mean_loss(w: Any, x: Any, y: Any) -> Any:
    return np.mean((x @ w - y) ** 2)


@dataclasses.dataclass
class Model:
    w: Any
    bias: Any


def model_loss(model: Model, batch: Any) -> Any:
    return np.sum((batch["x"] @ model.w + model.bias - batch["y"]) ** 2)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None, set_as_default=False
    ) as made:
        yield made


@pytest.fixture
def batch(rng: Any) -> Any:
    return rng.normal(size=3), rng.normal(size=(101, 3)), np.sign(rng.normal(size=101))


def close(found: Any, expected: Any) -> None:
    (value, gradient), (wanted, slope) = found, expected
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-11)
    assert type(gradient) is type(slope)
    assert np.asarray(gradient).dtype == np.asarray(slope).dtype


FORMS = [
    "NumPy",
    "dask",
    "persisted",
    "futures",
    "handles",
    "centred",
    "cut across",
    "dask and NumPy",
    "unknown lengths",
]


@pytest.mark.parametrize("form", FORMS)
def test_equals_one_machine(form: str, client: Any, batch: Any) -> None:
    w, x, y = batch
    expected = gs.value_and_grad(loss)(w, x, y)
    data: Any = x, y
    chunks = (20, 3)
    if form == "dask":
        data = da.from_array(x, chunks=chunks), da.from_array(y, chunks=33)
    elif form == "persisted":
        data = client.persist([da.from_array(x, chunks=chunks) * 1.0, da.from_array(y, chunks=20)])
    elif form == "futures":
        data = tuple(client.scatter(list(np.array_split(a, 4)), hash=False) for a in data)
    elif form == "handles":
        data = gs.distributed.shard(x, y, client=client, shards=7)
    elif form == "centred":
        lazy = da.from_array(x, chunks=(10, 3))
        data = lazy - lazy.mean(axis=0), y
        expected = gs.value_and_grad(loss)(w, x - x.mean(axis=0), y)
    elif form == "cut across":
        data = da.from_array(x, chunks=(20, 1)), da.from_array(y, chunks=20)
    elif form == "dask and NumPy":
        data = da.from_array(x, chunks=chunks), y
    elif form == "unknown lengths":
        keep = da.from_array(y, chunks=20) > 0
        data = da.from_array(x, chunks=chunks)[keep], da.from_array(y, chunks=20)[keep]
        expected = gs.value_and_grad(loss)(w, x[y > 0], y[y > 0])
    function = gs.distributed.value_and_grad(loss, client)
    found = function(w, *data)
    close(found, expected)
    again = function(w, *data)
    assert (again[0], again[1].tobytes()) == (found[0], found[1].tobytes())
    if form == "futures":
        one = gs.distributed.value_and_grad(loss, client, shards=4)(w, x, y)
        assert one[1].tobytes() == found[1].tobytes()  # the same cut, the same bits


def test_a_mean_is_right_for_uneven_shards(client: Any, batch: Any) -> None:
    w, x, y = batch
    uneven = da.from_array(x, chunks=((1, 60, 40), 3)), da.from_array(y, chunks=((1, 60, 40),))
    close(
        gs.distributed.value_and_grad(mean_loss, client, reduce="mean")(w, *uneven),
        gs.value_and_grad(mean_loss)(w, x, y),
    )
    keep = uneven[1] > 5  # none: shards without rows count for nothing
    with pytest.raises(ValueError, match="no rows"):
        gs.distributed.value_and_grad(mean_loss, client, reduce="mean")(w, uneven[0][keep], uneven[1][keep])
    some = da.from_array(np.r_[y[:60], np.full(41, 9.0)], chunks=20)
    lazy = da.from_array(x, chunks=(20, 3))
    found = gs.distributed.value_and_grad(mean_loss, client, reduce="mean")(w, lazy[some < 5], some[some < 5])
    close(found, gs.value_and_grad(mean_loss)(w, x[:60], y[:60]))


def test_a_weight_of_ones_own(client: Any, batch: Any) -> None:
    def weighted(w: Any, x: Any, y: Any, c: Any) -> Any:
        return np.sum(c * (x @ w - y) ** 2) / np.sum(c)

    w, x, y = batch
    c = np.linspace(0.1, 3.0, len(y))
    function = gs.distributed.value_and_grad(
        weighted, client, reduce="mean", weight=lambda x, y, c: np.sum(c), shards=3
    )
    close(function(w, x, y, c), gs.value_and_grad(weighted)(w, x, y, c))
    with pytest.raises(
        TypeError, match=r"weight gave an array of shape \(3[34],\) for shard \d \(rows .*, in place of one"
    ):
        gs.distributed.value_and_grad(weighted, client, reduce="mean", weight=lambda x, y, c: c, shards=3)(w, x, y, c)
    with pytest.raises(ValueError, match=r"weight gave -1.0 for shard \d \(rows"):
        gs.distributed.value_and_grad(weighted, client, reduce="mean", weight=lambda x, y, c: -1, shards=3)(w, x, y, c)


def test_pytrees_of_parameters_and_data(client: Any, batch: Any) -> None:
    w, x, y = batch
    model = Model(w, 0.5)
    data = {"x": da.from_array(x, chunks=(30, 3)), "y": y}
    value, gradient = gs.distributed.value_and_grad(model_loss, client)(model, data)
    wanted, slope = gs.value_and_grad(model_loss)(model, {"x": x, "y": y})
    assert type(gradient) is Model
    close((value, gradient.w), (wanted, slope.w))
    assert gradient.bias == pytest.approx(slope.bias, rel=1e-12)
    parts = zip(np.array_split(x, 2), np.array_split(y, 2), strict=True)
    futures = client.scatter([{"x": a, "y": b} for a, b in parts], hash=False)
    close(
        gs.distributed.value_and_grad(lambda m, b: model_loss(Model(m, 0.5), b), client)(w, futures), (wanted, slope.w)
    )


def test_several_arguments_axes_and_what_all_share(client: Any, batch: Any) -> None:
    def f(x: Any, a: Any, rate: float, b: Any) -> Any:
        return np.sum(rate * (a @ x.T) ** 2) + np.sum(b) * len(x)

    w, x, _ = batch
    b = np.float64(2.0)
    function = gs.distributed.value_and_grad(f, client, in_axes=(0, None, None, None), argnums=(1, 3), shards=1)
    value, gradient = function(x, w, 3.0, b)
    wanted, slope = gs.value_and_grad(f, (1, 3))(x, w, 3.0, b)
    assert value == pytest.approx(wanted)
    np.testing.assert_allclose(gradient[0], slope[0])
    assert gradient[1] == slope[1]
    turned = gs.distributed.value_and_grad(lambda w, x: np.sum((x.T @ w) ** 2), client, in_axes=(None, 1), shards=3)(
        w, x.T
    )
    close(turned, gs.value_and_grad(lambda w, x: np.sum((x @ w) ** 2))(w, x))


def test_what_a_function_gives_beside_comes_in_the_order_of_shards(client: Any, batch: Any) -> None:
    def f(w: Any, x: Any) -> Any:
        return np.sum((x @ w) ** 2), {"first": x[0, 0], "rows": len(x)}

    w, x, _ = batch
    (value, aux), gradient = gs.distributed.value_and_grad(f, client, has_aux=True, shards=20)(w, x)
    close((value, gradient), gs.value_and_grad(lambda w, x: np.sum((x @ w) ** 2))(w, x))
    assert [a["first"] for a in aux] == [part[0, 0] for part in np.array_split(x, 20)]
    assert sum(a["rows"] for a in aux) == len(x)


def test_products_with_the_hessian(client: Any, batch: Any) -> None:
    w, x, y = batch
    v = np.array([1.0, -2.0, 0.5])
    found = gs.distributed.hvp(loss, client, shards=9)(w, x, y, v)
    np.testing.assert_allclose(found, gs.hvp(loss)(w, x, y, v), rtol=1e-11)
    found = gs.distributed.hvp(mean_loss, client, reduce="mean", shards=9)(w, x, y, v)
    np.testing.assert_allclose(found, gs.hvp(mean_loss)(w, x, y, v), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.float16])
def test_types_stay(dtype: Any, client: Any, rng: Any) -> None:
    x = rng.normal(size=(24, 2)).astype(dtype)
    w = np.array([1.0, -1.0], dtype)
    function = gs.distributed.value_and_grad(lambda w, x: np.mean(np.abs(x @ w) ** 2), client, reduce="mean", shards=3)
    value, gradient = function(w, x)
    wanted, slope = gs.value_and_grad(lambda w, x: np.mean(np.abs(x @ w) ** 2))(w, x)
    assert (gradient.dtype, np.asarray(value).dtype) == (slope.dtype, np.asarray(wanted).dtype)
    np.testing.assert_allclose(gradient, slope, rtol=1e-2 if dtype == np.float16 else 1e-5)


def test_each_worker_compiles_once_for_each_signature(client: Any, batch: Any) -> None:
    from gradscribe.scale import program

    w, x, y = batch
    function = gs.distributed.value_and_grad(loss, client, shards=4)
    for _ in range(3):
        function(w, x[:100], y[:100])
    run = list(program._known.values())[-1]
    assert len(run._signatures) == 1
    explained = gs.explain(run.function)
    assert (len(explained.specialisations), explained.eager) == (1, [])
    assert explained.specialisations[0].hits >= 8


def test_what_is_read_from_outside_is_sent_when_it_changes(client: Any, batch: Any, monkeypatch: Any) -> None:
    from gradscribe.scale import program

    w, x, y = batch
    function = gs.distributed.value_and_grad(loss, client, shards=2)
    before = function(w, x, y)
    known = len(program._known)
    function(w, x, y)
    assert len(program._known) == known
    monkeypatch.setitem(globals(), "scale", 2.0)
    after = function(w, x, y)
    np.testing.assert_allclose(after[1], 2.0 * before[1])


def test_arrays_that_were_written_to_are_sent_again(client: Any, batch: Any) -> None:
    w, x, y = batch
    function = gs.distributed.value_and_grad(loss, client, shards=2)
    function(w, x, y)
    sent = [held.future.key for held in function._held.values()]
    function(w, x, y)
    assert [held.future.key for held in function._held.values()] == sent
    x[0] *= -3.0
    close(function(w, x, y), gs.value_and_grad(loss)(w, x, y))
    assert sum(held.future.key not in sent for held in function._held.values()) == 1


def test_a_dask_array_that_bears_the_name_of_another_is_another(client: Any, batch: Any) -> None:
    w, x, y = batch
    function = gs.distributed.value_and_grad(loss, client)
    for factor in (1.0, 2.0):
        lazy = da.from_array(factor * x, chunks=(20, 3), name="x")
        close(function(w, lazy, y), gs.value_and_grad(loss)(w, factor * x, y))
    lazy = da.from_array(x.copy(), chunks=(20, 3))
    function(w, lazy, y)
    lazy[lazy > 1.0] = 0.0
    close(function(w, lazy, y), gs.value_and_grad(loss)(w, np.where(x > 1.0, 0.0, x), y))


def test_arrays_of_objects_are_told_apart_by_all_that_they_hold() -> None:
    one = np.array([f"{k}" for k in range(2000)], object)
    other = one.copy()
    other[1000] = "another"
    assert digest_of(one) == digest_of(one.copy())
    assert digest_of(one) != digest_of(other)


def test_threads_that_share_a_function_get_what_is_theirs(client: Any, batch: Any) -> None:
    w, x, y = batch
    function = gs.distributed.value_and_grad(loss, client, shards=3)
    found: dict[int, Any] = {}

    def run(k: int) -> None:
        for _ in range(3):
            found[k] = function(w, (1.0 + k) * x[: 30 + 10 * k], y[: 30 + 10 * k])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        close(found[k], gs.value_and_grad(loss)(w, (1.0 + k) * x[: 30 + 10 * k], y[: 30 + 10 * k]))


def test_a_function_cannot_write_into_its_shard(client: Any, batch: Any) -> None:
    def writes(w: Any, x: Any) -> Any:
        x -= 1.0
        return np.sum(x @ w)

    w, x, _ = batch
    before = x.copy()
    with pytest.raises(ValueError, match="read-only"):
        gs.distributed.value_and_grad(writes, client, shards=2)(w, x)
    np.testing.assert_array_equal(x, before)


def test_nan_on_one_shard_names_shard_and_rows(client: Any, batch: Any) -> None:
    w, x, y = batch
    x[[57, 61], 1] = np.nan
    with pytest.raises(FloatingPointError, match=r"shard 2 \(rows 51 to 75\) gave NaN") as caught:
        gs.distributed.value_and_grad(loss, client, shards=4)(w, x, y)
    assert "rows 57, 61." in str(caught.value)
    futures = [client.scatter(a, hash=False) for a in np.array_split(x, 4)]
    labels = [client.scatter(a, hash=False) for a in np.array_split(y, 4)]
    with pytest.raises(FloatingPointError, match=r"shard 2 gave NaN(.|\n)*rows 6, 10 of the shard"):
        gs.distributed.value_and_grad(loss, client)(w, futures, labels)


def test_an_error_of_the_function_shows_the_users_line(client: Any, batch: Any) -> None:
    def fails(w: Any, x: Any) -> Any:
        if x[0, 0] == 7.0:
            raise LookupError("seven")
        return np.sum(x @ w)

    w, x, _ = batch
    x[80] = 7.0
    with pytest.raises(LookupError, match="seven") as caught:
        gs.distributed.value_and_grad(fails, client, in_axes=(None, 0))(w, da.from_array(x, chunks=(20, 3)))
    (note,) = [n for n in caught.value.__notes__ if "shard" in n]
    assert re.search(r"shard 4 \(rows 80 to 99\) on worker \S+, at .*test_gradient.py:\d+: raise LookupError", note)
    frames = [(frame.name, str(frame.path)) for frame in caught.traceback]
    assert frames[-1][0] == "fails"
    assert not any(re.search(r"site-packages\W(dask|distributed|tornado)\W", path) for _, path in frames)


LOST = "its gradient would be lost"


def test_what_would_lose_a_gradient_raises(client: Any, batch: Any) -> None:
    w, x, y = batch
    function = gs.distributed.value_and_grad(loss, client, shards=2)
    with pytest.raises(gs.GradientLossError, match=LOST):
        gs.grad(lambda w: function(w, x, y)[0])(w)
    with pytest.raises(gs.GradientLossError, match=LOST):
        gs.grad(lambda x: function(w, x, y)[0])(x)


MISTAKES: dict[str, Any] = {
    "one argument": (lambda f, w, x, y: f(w), TypeError, "of `loss`: missing a required argument: 'x'"),
    "too few arguments": (lambda f, w, x, y: f(w, x), TypeError, "of `loss`: missing a required argument: 'y'"),
    "too many arguments": (lambda f, w, x, y: f(w, x, y, y), TypeError, "of `loss`: too many positional arguments"),
    "an unknown name": (lambda f, w, x, y: f(w, x, y, z=1), TypeError, "of `loss`: got an unexpected keyword argument"),
    "rows that differ": (lambda f, w, x, y: f(w, x, y[1:]), gs.ShapeError, "`x` has 101, `y` has 100"),
    "rows that differ in a tree": (
        lambda f, w, x, y: f(w, {"a": [x, x[1:]]}, y),
        gs.ShapeError,
        r"`x\['a'\]\[0\]` has 101, `x\['a'\]\[1\]` has 100",
    ),
    "a number as data": (lambda f, w, x, y: f(w, x, 3.0), TypeError, "cuts `y` into shards, but it is float"),
    "a list of numbers": (lambda f, w, x, y: f(w, x, [1, 2]), TypeError, r"a number of a list \(`y\[0\]`\).*np.array"),
    "a 0-d array": (lambda f, w, x, y: f(w, x, np.array(3.0)), gs.ShapeError, "along axis 0, but its shape is"),
    "no arrays": (lambda f, w, x, y: f(w, [], {}), ValueError, "no array in `x` or `y`"),
    "parameters as a dask.array": (
        lambda f, w, x, y: f(da.from_array(w), x, y),
        TypeError,
        r"`w` goes to all shards, but is a dask.array: pass its numbers \(\.compute\(\)\)",
    ),
    "a future that all share": (
        lambda f, w, x, y: f({"w": f.steps().client.scatter(w)}, x, y),
        TypeError,
        r"`w\['w'\]` goes to all shards, but is a Future: pass its numbers \(\.result\(\)\)",
    ),
    "a frame of Dask's": (lambda f, w, x, y: f(w, Frame(), y), TypeError, r"`x` .* Frame of Dask's.*to_dask_array"),
    "a handle of another axis": (
        lambda f, w, x, y: f(w, gs.distributed.shard(x.T, client=f.client, axis=1), y),
        gs.ShapeError,
        "`x` along axis 0, but gs.distributed.shard cut it along axis 1",
    ),
}


class Frame:
    """What a frame of dask.dataframe is known by; np.asarray of it would read all."""

    def __dask_graph__(self) -> Any:
        raise AssertionError

    def __array__(self) -> Any:
        raise AssertionError


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_say_what_to_do(mistake: str, client: Any, batch: Any) -> None:
    call, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message) as caught:
        call(gs.distributed.value_and_grad(loss, client), *batch)
    assert re.search(r"at .*test_gradient.py:\d+\n", caught.value.__notes__[-1])


OF_WORKERS: dict[str, Any] = {
    "a vector": (lambda w, x: x @ w, gs.ShapeError, "needs a scalar output"),
    "nothing": (lambda w, x: None, gs.ShapeError, "A `return` is missing"),
    "a complex number": (lambda w, x: 1j * np.sum(x @ w), gs.DtypeError, "needs a real output"),
}


@pytest.mark.parametrize("mistake", OF_WORKERS)
def test_errors_of_workers_without_a_line_of_the_users_end_at_the_call(mistake: str, client: Any, batch: Any) -> None:
    function, error, message = OF_WORKERS[mistake]
    with pytest.raises(error, match=message) as caught:
        gs.distributed.value_and_grad(function, client)(*batch[:2])
    assert re.search(r"test_gradient.py:\d+", caught.value.__notes__[-1])


def test_arguments_go_by_their_names_too(client: Any, batch: Any) -> None:
    w, x, y = batch
    close(gs.distributed.value_and_grad(loss, client)(w, y=y, x=x), gs.value_and_grad(loss)(w, x, y))
    v = np.array([1.0, -2.0, 0.5])
    found = gs.distributed.hvp(loss, client)(w, v, y=y, x=x)
    np.testing.assert_allclose(found, gs.hvp(loss)(w, x, y, v), rtol=1e-11)

    def f(w: Any, x: Any, *, only: Any = 1.0) -> Any:
        return np.sum(x @ w) * only

    with pytest.raises(TypeError, match="`only` of `f` goes by its name alone"):
        gs.distributed.value_and_grad(f, client)(w, x, only=2.0)


@pytest.mark.parametrize("form", ["NumPy", "dask", "futures", "handles"])
def test_axes_count_from_the_end_too(form: str, client: Any, rng: Any) -> None:
    def first(w: Any, x: Any) -> Any:
        return np.sum(x[0] * w[0])

    w, x = np.ones(4), rng.normal(size=(4, 4))
    data: Any = x
    if form == "dask":
        data = da.from_array(x, chunks=(4, 2))
    elif form == "futures":
        data = client.scatter([x[:, :1], x[:, 1:]], hash=False)
    elif form == "handles":
        data = gs.distributed.shard(x, client=client, axis=-1)
        assert data.sources[0].array.shape == (4, 2)
    close(gs.distributed.value_and_grad(first, client, in_axes=(None, -1))(w, data), gs.value_and_grad(first)(w, x))


def test_none_in_a_tree_of_data_stays_none(client: Any, batch: Any) -> None:
    def f(w: Any, batch: Any) -> Any:
        return np.sum(batch["x"] @ w) * (2.0 if batch["mask"] is None else 1.0)

    w, x, _ = batch
    function = gs.distributed.value_and_grad(f, client)
    close(function(w, {"x": x, "mask": None}), gs.value_and_grad(f)(w, {"x": x, "mask": None}))
    futures = client.scatter([{"x": part, "mask": None} for part in np.array_split(x, 2)], hash=False)
    close(function(w, futures), gs.value_and_grad(f)(w, {"x": x, "mask": None}))
    x[3] = np.nan
    with pytest.raises(FloatingPointError, match="row 3"):
        function(w, {"x": x, "mask": None})


def test_handles_of_trees(client: Any, batch: Any) -> None:
    w, x, y = batch
    data = gs.distributed.shard({"x": x, "y": y, "mask": None}, client=client, shards=3)
    model = Model(w, 0.5)
    value, gradient = gs.distributed.value_and_grad(model_loss, client)(model, data)
    wanted, slope = gs.value_and_grad(model_loss)(model, {"x": x, "y": y})
    close((value, gradient.w), (wanted, slope.w))
    with pytest.raises(gs.ShapeError, match=r"cuts `argument 0` along axis 2, but its shape is \(101, 3\)"):
        gs.distributed.shard(x, client=client, axis=2)
    with pytest.raises(gs.ShapeError, match="along axis 0, but its shape is"):
        gs.distributed.shard(np.float64(3.0), client=client)
    with pytest.raises(ValueError, match="shards is a number from 1 on"):
        gs.distributed.shard(x, client=client, shards=0)
    with pytest.raises(TypeError, match=r"dask\.array is in chunks"):
        gs.distributed.shard(da.from_array(x), client=client)


def test_options_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match="reduce"):
        gs.distributed.value_and_grad(loss, reduce="max")
    with pytest.raises(ValueError, match="weight"):
        gs.distributed.value_and_grad(loss, weight=len)
    with pytest.raises(ValueError, match="shards"):
        gs.distributed.value_and_grad(loss, shards=0)
    with pytest.raises(TypeError, match="takes a function"):
        gs.distributed.value_and_grad(3)
    with pytest.raises(TypeError, match="client"):
        gs.distributed.value_and_grad(loss, client=3)(np.ones(3), np.ones((4, 3)), np.ones(4))


def test_a_function_that_runs_eagerly_says_so_here(client: Any, batch: Any) -> None:
    def eager(w: Any, x: Any) -> Any:
        return np.sum(x @ w * float(len(locals())))

    w, x, _ = batch
    with pytest.warns(gs.EagerWarning, match="on a worker: .* it calls `locals`") as told:
        value, _ = gs.distributed.value_and_grad(eager, client, shards=2)(w, x)
    assert told[0].filename == __file__
    assert value == pytest.approx(np.sum(x @ w * 2.0))
    value, _ = gs.distributed.value_and_grad(loss, client, shards=2, compile=False)(*batch)
    assert value == pytest.approx(loss(*batch))


def test_a_client_that_is_closed(batch: Any) -> None:
    with Client(processes=False, n_workers=1, dashboard_address=None, set_as_default=False) as closed:
        pass
    with pytest.raises(gs.distributed.LostSchedulerError, match="the client is closed: make another"):
        gs.distributed.value_and_grad(loss, closed)(*batch)


def test_arrays_of_cupys_raise_in_words(client: Any, batch: Any) -> None:
    w, x, y = batch
    function = gs.distributed.value_and_grad(loss, client)
    with fake_cupy.installed():
        there = fake_cupy.on_device(x)
        calls: list[Any] = [
            lambda: function(w, there, y),
            lambda: function(fake_cupy.on_device(w), x, y),
            lambda: function(w, client.scatter([there, there], hash=False), client.scatter([y, y], hash=False)),
            lambda: gs.distributed.shard(there, client=client),
            lambda: gs.distributed.minimize(loss, w, (there, y), lr=0.1, steps=1, client=client),
        ]
        for call in calls:
            with pytest.raises(TypeError, match=r"takes arrays of NumPy's.*x\.get\(\)"):
                call()
