"""gs.distributed.minimize: SGD and Adam as they are defined, checkpoints that are whole, runs that go on bit for bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
from gradscribe.scale import checkpoint, safetensors

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from distributed import Client  # noqa: E402  where it is there

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own


def loss(p: Any, x: Any, y: Any) -> Any:
    return np.mean((x @ p["w"] + p["b"] - y) ** 2)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with Client(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None, set_as_default=False
    ) as made:
        yield made


@pytest.fixture
def problem() -> Any:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    return {"w": np.zeros(2), "b": 0.0}, (x, x @ np.array([1.0, -2.0]) + 0.5)


def run(client: Any, problem: Any, **options: Any) -> Any:
    told: dict[str, Any] = {"lr": 0.1, "steps": 8, "reduce": "mean", "shards": 3, "client": client} | options
    return gs.distributed.minimize(loss, *problem, **told)


def by_hand(problem: Any, optimizer: str, steps: int, lr: float = 0.1) -> Any:
    """The same on one machine, as the papers have it."""
    params, (x, y) = problem
    flat = np.array([*params["w"], params["b"]])
    m, v = np.zeros(3), np.zeros(3)
    values = []
    for t in range(1, steps + 1):
        value, slope = gs.value_and_grad(loss)({"w": flat[:2], "b": flat[2]}, x, y)
        g = np.array([*slope["w"], slope["b"]])
        values.append(value)
        if optimizer == "sgd":
            m = 0.9 * m + g
            flat = flat - lr * m
        else:
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            flat = flat - lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return flat, values


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_steps_are_those_of_the_definition(optimizer: str, client: Any, problem: Any) -> None:
    settings = {"momentum": 0.9} if optimizer == "sgd" else {}
    found = run(client, problem, optimizer=optimizer, **settings)
    flat, values = by_hand(problem, optimizer, 8)
    np.testing.assert_allclose([*found.params["w"], found.params["b"]], flat, rtol=1e-10)
    np.testing.assert_allclose(found.history.value, values, rtol=1e-10)
    assert type(found.params["b"]) is float
    assert (len(found.history), found.steps) == (8, 8)
    assert (found.history.gradient > 0).all()
    assert (found.history.seconds > 0).all()
    assert (problem[0]["w"] == 0).all()  # the start is left alone


@pytest.mark.slow
def test_it_finds_the_minimum(client: Any, problem: Any) -> None:
    found = run(client, problem, optimizer="sgd", steps=60, lr=0.3)
    np.testing.assert_allclose(found.params["w"], [1.0, -2.0], atol=1e-6)
    assert found.params["b"] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    "options",
    [{}, {"optimizer": "sgd", "momentum": 0.5}, {"shards_per_step": 2, "shuffle": 1}],
    ids=["adam", "sgd", "some"],
)
def test_a_run_goes_on_bit_for_bit(options: Any, client: Any, problem: Any, tmp_path: Path) -> None:
    whole = run(client, problem, **options)
    run(client, problem, steps=5, save_to=tmp_path, save_every=2, **options)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000000004.safetensors", "step-000000005.safetensors"]
    went_on = run(client, problem, resume=tmp_path, **options)
    assert went_on.params["w"].tobytes() == whole.params["w"].tobytes()
    assert went_on.params["b"] == whole.params["b"]
    np.testing.assert_array_equal(went_on.history.value, whole.history.value)
    again = run(client, problem, resume=tmp_path, steps=5, **options)
    assert (again.steps, len(again.history)) == (5, 5)


def test_resume_true_begins_where_there_is_nothing(client: Any, problem: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run(client, problem, steps=3, save_to=folder, resume=True)
    found = run(client, problem, save_to=folder, resume=True)
    assert found.params["w"].tobytes() == run(client, problem).params["w"].tobytes()
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        run(client, problem, resume=tmp_path / "none")


def test_a_checkpoint_knows_how_arrays_were_cut(client: Any, problem: Any, tmp_path: Path) -> None:
    whole = run(client, problem, shards=5)
    run(client, problem, shards=5, steps=4, save_to=tmp_path)
    went_on = run(client, problem, shards=None, resume=tmp_path)  # as on a cluster of another size
    assert went_on.params["w"].tobytes() == whole.params["w"].tobytes()


OTHERS: dict[str, Any] = {
    "optimizer": ({"optimizer": "sgd"}, "optimizer 'adam' in place of 'sgd'"),
    "settings": ({"beta1": 0.5}, "settings"),
    "shards": ({"shards": 2}, "shards 3 in place of 2"),
    "order": ({"shards_per_step": 1}, "shards_per_step"),
    "reduce": ({"reduce": "sum"}, "reduce 'mean' in place of 'sum'"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_checkpoint_of_another_run_raises(what: str, client: Any, problem: Any, tmp_path: Path) -> None:
    run(client, problem, steps=1, save_to=tmp_path)
    options, message = OTHERS[what]
    with pytest.raises(ValueError, match=message):
        run(client, problem, resume=tmp_path, **options)


def test_other_parameters_and_damaged_files_raise(client: Any, problem: Any, tmp_path: Path) -> None:
    run(client, problem, steps=4, save_to=tmp_path, save_every=3)
    params, _ = problem
    with pytest.raises(ValueError, match="other parameters"):
        checkpoint.load(tmp_path, {"w": params["w"]}, "it")
    with pytest.raises(ValueError, match=r"`params/w` is float64 of shape \(2,\)"):
        checkpoint.load(tmp_path, {"w": np.zeros(3), "b": 0.0}, "it")
    with pytest.raises(ValueError, match="`params/w` is float64"):
        checkpoint.load(tmp_path, {"w": np.zeros(2, "f4"), "b": 0.0}, "it")


def _flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


DAMAGE: dict[str, Any] = {
    "flipped": _flipped,
    "cut": lambda data: data[: len(data) // 2],
    "header cut": lambda data: data[:20],
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "zeros at the end": lambda data: data[:-8] + bytes(8),
    "no list": lambda data: (4).to_bytes(8, "little") + b"[12]" + data,
    "no run": lambda data: (2).to_bytes(8, "little") + b"{}",
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_run_goes_on_from_the_checkpoint_before_a_damaged_one(
    how: str, client: Any, problem: Any, tmp_path: Path
) -> None:
    whole = run(client, problem)
    run(client, problem, steps=5, save_to=tmp_path, save_every=1)
    newest, before = tmp_path / "step-000000005.safetensors", tmp_path / "step-000000004.safetensors"
    newest.write_bytes(DAMAGE[how](newest.read_bytes()))
    with pytest.warns(UserWarning, match=r"step-000000005.safetensors(.|\n)*goes on from step-000000004") as told:
        found = run(client, problem, save_to=tmp_path, resume=True)
    assert told[0].filename == __file__
    assert found.params["w"].tobytes() == whole.params["w"].tobytes()
    np.testing.assert_array_equal(found.history.value, whole.history.value)
    for path in tmp_path.iterdir():
        path.unlink()
    run(client, problem, steps=5, save_to=tmp_path, save_every=1)
    for path in (newest, before):
        path.write_bytes(DAMAGE[how](path.read_bytes()))
    with pytest.raises(ValueError, match=r"no whole checkpoint in .*(damaged|is no checkpoint)"):
        run(client, problem, resume=tmp_path)


def test_a_folder_with_another_run_raises(client: Any, problem: Any, tmp_path: Path) -> None:
    run(client, problem, steps=5, save_to=tmp_path)
    before = sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir())
    with pytest.raises(FileExistsError, match=r"resume=True goes on from step-000000005.*another folder"):
        run(client, problem, save_to=tmp_path, save_every=1)
    run(client, problem, steps=3, save_to=tmp_path / "other")
    with pytest.raises(FileExistsError, match="resume="):
        run(client, problem, save_to=tmp_path, resume=tmp_path / "other")
    assert sorted((p.name, p.read_bytes()) for p in tmp_path.iterdir() if p.is_file()) == before
    found = run(client, problem, save_to=tmp_path / "third", resume=tmp_path / "other")
    assert found.params["w"].tobytes() == run(client, problem).params["w"].tobytes()


def test_what_cannot_be_saved_raises_before_the_first_step(client: Any, problem: Any, tmp_path: Path) -> None:
    seen: list[Any] = []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"gs.distributed.minimize cannot write the checkpoint of step 0 into .*file"):
        run(client, problem, save_to=tmp_path / "file", callback=seen.append)
    params, data = problem
    same_names = {"w": {"x/y": params["w"], "x": {"y": params["w"]}}, "b": 0.0}

    def other(p: Any, x: Any, y: Any) -> Any:
        return loss({"w": p["w"]["x/y"], "b": p["b"]}, x, y) + np.sum(p["w"]["x"]["y"])

    with pytest.raises(ValueError, match="two parameters are called params/w/x/y in a checkpoint"):
        gs.distributed.minimize(
            other, same_names, data, lr=0.1, steps=2, client=client, save_to=tmp_path, callback=seen.append
        )
    long = {"w": np.zeros(2, np.longdouble), "b": 0.0}
    with pytest.raises(TypeError, match="safetensors has no type"):
        gs.distributed.minimize(
            loss, long, data, lr=0.1, steps=2, client=client, save_to=tmp_path, callback=seen.append
        )
    assert seen == []


def test_a_full_disk_names_the_checkpoint_that_is_left(
    client: Any, problem: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = safetensors.write

    def full(path: Path, *rest: Any) -> None:
        if "5" in path.name:
            raise OSError(28, "No space left on device")
        write(path, *rest)

    whole = run(client, problem)
    with monkeypatch.context() as patch:
        patch.setattr(safetensors, "write", full)
        with pytest.raises(OSError, match=r"checkpoint of step 5(.|\n)*No space left") as caught:
            run(client, problem, save_to=tmp_path, save_every=1)
    assert caught.value.errno == 28
    assert "step-000000004.safetensors is whole" in caught.value.__notes__[0]
    found = run(client, problem, save_to=tmp_path, resume=True)
    assert found.params["w"].tobytes() == whole.params["w"].tobytes()


def test_what_a_killed_save_leaves_is_removed(client: Any, problem: Any, tmp_path: Path) -> None:
    left = tmp_path / ".step-000000003.safetensors.00112233.tmp"
    left.write_bytes(b"half")
    mine = tmp_path / "notes.tmp"
    mine.write_text("mine")
    run(client, problem, steps=2, save_to=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "notes.tmp", "step-000000000.safetensors", "step-000000002.safetensors"
    ]  # fmt: skip


def test_another_learning_rate_counts_from_there_on(client: Any, problem: Any, tmp_path: Path) -> None:
    run(client, problem, optimizer="sgd", steps=4, save_to=tmp_path)
    found = run(client, problem, optimizer="sgd", resume=tmp_path, lr=0.05)
    first, _ = by_hand_sgd(problem, 4, 0.1)
    flat, _ = by_hand_sgd((first, problem[1]), 4, 0.05)
    np.testing.assert_allclose(found.params["w"], flat["w"], rtol=1e-10)


def by_hand_sgd(problem: Any, steps: int, lr: float) -> Any:
    params, data = problem
    for _ in range(steps):
        _, slope = gs.value_and_grad(loss)(params, *data)
        params = {name: params[name] - lr * slope[name] for name in params}
    return params, None


def test_settings_are_saved_whatever_numbers_they_are(client: Any, problem: Any, tmp_path: Path) -> None:
    options = {"beta1": np.float32(0.5), "shards_per_step": np.int64(2), "shuffle": np.int64(3), "lr": np.float32(0.1)}
    whole = run(client, problem, **options)
    run(client, problem, steps=np.int64(3), save_to=tmp_path, save_every=np.int64(2), **options)
    assert run(client, problem, resume=tmp_path, **options).params["b"] == whole.params["b"]


@pytest.mark.parametrize("keys", [("a:b", "history:c"), (1, "2"), ("params", "m")])
def test_parameters_of_any_names_go_on(keys: Any, client: Any, problem: Any, tmp_path: Path) -> None:
    one, other = keys
    params, data = problem

    def f(p: Any, x: Any, y: Any) -> Any:
        return loss({"w": p[one], "b": p[other]}, x, y)

    told: dict[str, Any] = {"lr": 0.1, "client": client}
    start = {one: params["w"], other: params["b"]}
    whole = gs.distributed.minimize(f, start, data, steps=5, **told)
    gs.distributed.minimize(f, start, data, steps=3, save_to=tmp_path, **told)
    found = gs.distributed.minimize(f, start, data, steps=5, save_to=tmp_path, resume=True, **told)
    assert found.params[one].tobytes() == whole.params[one].tobytes()


def test_a_write_that_fails_leaves_the_file_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.safetensors"
    safetensors.write(path, {"x": np.arange(3.0)}, {})

    def fails(*args: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(safetensors.os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        safetensors.write(path, {"x": np.zeros(3)}, {})
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]
    assert safetensors.read(path)[0]["x"].tolist() == [0.0, 1.0, 2.0]


def test_safetensors_hold_each_type(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    given = {
        np.dtype(t).name: np.arange(6).reshape(2, 3).astype(t)
        for t in ["f8", "f4", "f2", "c8", "c16", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f8"]
    } | {"turned": np.arange(6.0).reshape(2, 3).T, "empty": np.zeros((0, 2)), "one": np.float64(3.0)}
    safetensors.write(path, given, {"about": "types"})
    found, metadata = safetensors.read(path)
    assert metadata["about"] == "types"
    assert found.keys() == given.keys()
    for name, array in given.items():
        assert found[name].dtype == np.asarray(array).dtype.newbyteorder("=")
        np.testing.assert_array_equal(found[name], array)
    size = int.from_bytes(path.read_bytes()[:8], "little")
    assert (
        json.loads(path.read_bytes()[8 : 8 + size])["float32"]["dtype"] == "F32"
    )  # as other readers of the format see it
    with pytest.raises(TypeError, match="no type object"):
        safetensors.write(path, {"x": np.array([None])}, {})


def test_a_callback_sees_each_step_and_may_end_the_run(client: Any, problem: Any, capsys: Any) -> None:
    seen: list[Any] = []

    def look(step: Any) -> bool:
        seen.append(step)
        return step.step == 3

    found = run(client, problem, callback=look, progress=True)
    assert [step.step for step in seen] == [1, 2, 3]
    assert found.steps == 3
    assert seen[-1].params["w"].tolist() == found.params["w"].tolist()
    assert seen[0].value == found.history.value[0]
    assert "gs.distributed.minimize of loss" in capsys.readouterr().err


def test_what_the_function_gives_beside_reaches_the_callback(client: Any, problem: Any) -> None:
    def f(p: Any, x: Any, y: Any) -> Any:
        return loss(p, x, y), len(x)

    rows: list[Any] = []
    gs.distributed.minimize(
        f, *problem, lr=0.1, steps=2, client=client, has_aux=True, shards=4, callback=lambda step: rows.append(step.aux)
    )
    assert rows == [[15, 15, 15, 15]] * 2


def test_steps_over_some_shards_take_each_once_a_pass(client: Any, problem: Any) -> None:
    def f(p: Any, x: Any, y: Any) -> Any:
        return loss(p, x, y), x[0, 0]

    seen: list[Any] = []
    params, (x, y) = problem
    for shuffle in (None, 3):
        seen.clear()
        gs.distributed.minimize(
            f, params, (da.from_array(x, chunks=(10, 2)), y), lr=0.1, steps=6, client=client, has_aux=True, shards_per_step=2,
            shuffle=shuffle, callback=lambda step: seen.extend(step.aux),
        )  # fmt: skip
        firsts = x[::10, 0].tolist()
        assert (seen[:6] == firsts) is (shuffle is None)
        assert sorted(seen[:6]) == sorted(seen[6:]) == sorted(firsts)


def test_options_that_make_no_sense(client: Any, problem: Any) -> None:
    with pytest.raises(ValueError, match="optimizer is 'sgd' or 'adam'"):
        run(client, problem, optimizer="lion")
    with pytest.raises(TypeError, match="adam has no setting momentum"):
        run(client, problem, momentum=0.9)
    with pytest.raises(ValueError, match="save_every"):
        run(client, problem, save_every=2)
    with pytest.raises(ValueError, match="resume=True"):
        run(client, problem, resume=True)
    for name, value in {
        "steps": 1.5,
        "save_every": 0,
        "shards_per_step": 0,
        "shuffle": -1,
        "lr": "fast",
        "beta1": 1.0,
    }.items():
        with pytest.raises((TypeError, ValueError), match=f"{name} is .*, not"):
            run(client, problem, **({"save_to": "here"} if name == "save_every" else {}), **{name: value})
    with pytest.raises(ValueError, match="shards_per_step is 4, but there are 3 shards"):
        run(client, problem, shards_per_step=4)
    params, data = problem
    with pytest.raises(TypeError, match="missing a required argument: 'y'") as caught:
        gs.distributed.minimize(loss, params, [*data], lr=0.1, steps=1, client=client)
    assert "several arguments are a tuple" in caught.value.__notes__[0]
