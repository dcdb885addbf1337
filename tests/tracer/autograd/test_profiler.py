"""The profiler: what it counts, where it says that happened, its tables and its trace. Never how long anything took."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradscribe as gs
import gradscribe.autograd.profiler
from gradscribe.autograd.profiler import EventList, FunctionEvent, profile, record_function

from programs import leaf

HERE = Path(__file__).name


def line_of(function: Callable[..., Any], text: str) -> str:
    """The line of a function that holds `text`, as the profiler names it."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + k for k, line in enumerate(lines) if text in line]
    return f"{HERE}:{found}"


def counts(prof: Any) -> dict[str, int]:
    return {row.key: row.count for row in prof.key_averages()}


def names(events: Any) -> list[str]:
    return [event.name for event in events]


def network(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    return np.sum(h * h)


def taken(**options: Any) -> Any:
    """A profile of a small gradient."""
    x, w = gs.tensor(np.ones((5, 3))), leaf(np.full((3, 2), 0.1))
    with profile(**options) as prof:
        network(x, w).backward()
    return prof


# --- what is counted ------------------------------------------------------------------------------------------------


def test_every_operation_and_every_backward_step_is_counted() -> None:
    assert counts(taken()) == {
        "np.matmul": 1, "np.tanh": 1, "np.multiply": 1, "np.sum": 1, "backward": 1, "SumBackward0": 1, "MulBackward0": 1,
        "TanhBackward0": 1, "MatmulBackward0": 1, "AccumulateGrad": 1,
    }  # fmt: skip


def test_outside_of_a_profile_nothing_is_noted() -> None:
    prof = taken()
    before = len(prof.events())
    network(gs.tensor(np.ones((5, 3))), leaf(np.ones((3, 2)))).backward()
    assert len(prof.events()) == before
    with profile(enabled=False) as off:
        np.sin(leaf(1.0))
    assert off.events() == off.key_averages() == []
    assert off.total_average().count == 0


def test_a_profile_changes_no_result() -> None:
    x, w = gs.tensor(np.ones((5, 3))), np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    grads = []
    for enabled in (True, False):
        v = leaf(w)
        with profile(enabled=enabled, record_shapes=True, profile_memory=True, with_stack=True):
            y = v[0] + v[0] + v[1]
            z = network(x, v) + y.sum() + np.linalg.svd(v).S.sum()
            z.backward()
        grads.append(v.grad.numpy())
    np.testing.assert_array_equal(*grads)


def test_self_times_add_up_to_the_total() -> None:
    prof = taken()
    for event in prof.events():
        assert 0 <= event.self_cpu_time_total <= event.cpu_time_total
        assert event.time_range.elapsed_us() == pytest.approx(event.cpu_time_total, abs=0.01)
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start <= child.time_range.end <= event.time_range.end
    top = [event for event in prof.events() if event.cpu_parent is None]
    assert prof.self_cpu_time_total == pytest.approx(sum(event.cpu_time_total for event in top))
    total = prof.total_average()
    assert total.self_cpu_time_total == pytest.approx(prof.self_cpu_time_total)
    assert total.cpu_time_total == pytest.approx(prof.self_cpu_time_total)
    for row in prof.key_averages():
        assert row.self_cpu_time_total <= row.cpu_time_total * (1 + 1e-12)
        assert row.cpu_time == pytest.approx(row.cpu_time_total / row.count)


def test_memory_is_that_of_new_arrays() -> None:
    x = leaf(np.ones((4, 6)))
    with profile(profile_memory=True) as prof:
        y = x.T  # views
        z = y[1:3]
        v = z.reshape(-1)
        w = y.reshape(-1)  # a copy
        s = v * 2.0
        k = x * np.ones((4, 6), dtype=np.float32)
        b = np.broadcast_to(x, (3, 4, 6))
        u, e = np.linalg.eigh(x @ y)
    made = [(event.name, event.self_cpu_memory_usage) for event in prof.events()]
    assert made == [
        ("np.transpose", 0), ("operator.getitem", 0), ("np.reshape", 64), ("np.reshape", 192), ("np.multiply", 64),
        ("np.multiply", 192), ("np.broadcast_to", 0), ("np.matmul", 128), ("np.linalg.eigh", 32 + 128),
    ]  # fmt: skip
    assert prof.total_average().cpu_memory_usage == sum(size for _, size in made)
    del w, s, k, b, u, e


def test_memory_of_a_backward() -> None:
    x = leaf(np.ones(100))
    with profile(profile_memory=True) as prof:
        (x.reshape(10, 10) * 2.0).sum().backward()
    made = {event.name: event.cpu_memory_usage for event in prof.events() if event.is_backward}
    assert made["MulBackward0"] == 800
    assert made["ReshapeBackward0"] == 0
    assert made["backward"] >= 800
    assert made["AccumulateGrad"] == 0


def test_shapes_are_those_of_the_arguments() -> None:
    prof = taken(record_shapes=True)
    shapes = {event.name: event.input_shapes for event in prof.events()}
    assert shapes["np.matmul"] == [[5, 3], [3, 2]]
    assert shapes["np.sum"][:2] == [[5, 2], []]
    assert shapes["MatmulBackward0"] == [[5, 2]]
    x = leaf(np.ones(3))
    with profile(record_shapes=True) as prof:
        for array in (x, x, np.ones((2, 3))):
            np.multiply(x, array)
        np.concatenate([x, x])
    rows = prof.key_averages(group_by_input_shape=True)
    assert [(row.key, row.count, row.input_shapes) for row in rows] == [
        ("np.multiply", 2, [[3], [3]]), ("np.multiply", 1, [[3], [2, 3]]), ("np.concatenate", 1, [[[3], [3]], [], [], []]),
    ]  # fmt: skip


# --- where it happened ----------------------------------------------------------------------------------------------


def test_a_backward_step_bears_the_line_of_its_forward() -> None:
    prof = taken()
    lines = {event.name: event.line for event in prof.events()}
    for forward, backward in [("matmul", "Matmul"), ("tanh", "Tanh"), ("multiply", "Mul"), ("sum", "Sum")]:
        assert lines[f"np.{forward}"] == lines[f"{backward}Backward0"]
    assert lines["np.matmul"] == line_of(network, "np.tanh")
    assert lines["np.sum"] == line_of(network, "np.sum")
    assert lines["backward"] == lines["AccumulateGrad"] == line_of(taken, "backward()")


def test_by_line_there_is_one_row_for_each_line() -> None:
    prof = taken(profile_memory=True)
    rows = prof.key_averages(group_by_line=True)
    assert [(row.key, row.count) for row in rows] == [
        (line_of(network, "np.tanh"), 4), (line_of(network, "np.sum"), 4), (line_of(taken, "backward()"), 2),
    ]  # fmt: skip
    assert rows[0].source == "h = np.tanh(x @ w)"
    for row in rows:
        assert row.forward_time_total + row.backward_time_total == pytest.approx(row.self_cpu_time_total)
    assert rows[0].forward_time_total > 0
    assert rows[0].backward_time_total > 0
    assert rows[2].forward_time_total == 0
    assert rows.self_cpu_time_total == pytest.approx(prof.self_cpu_time_total)


def test_a_forward_before_the_profile_has_no_line() -> None:
    y = np.sin(leaf(1.0))
    with profile() as prof:
        y.backward()
    assert [(event.name, event.line == "(no line)") for event in prof.events()] == [
        ("backward", False), ("SinBackward0", True), ("AccumulateGrad", False)
    ]  # fmt: skip


def test_stacks_tell_how_a_line_was_reached() -> None:
    def inner(x: Any) -> Any:
        return np.sin(x)

    def outer(x: Any) -> Any:
        return inner(x) + inner(2 * x)

    with profile(with_stack=True) as prof:
        outer(leaf(1.0))
    (row,) = [row for row in prof.key_averages(group_by_stack_n=1) if row.key == "np.sin"]
    assert row.count == 2
    assert row.stack == [line_of(inner, "np.sin").replace(":", "(") + "): inner"]
    first, _ = [event for event in prof.events() if event.name == "np.sin"]
    assert [frame.rpartition(" ")[2] for frame in first.stack[:2]] == ["inner", "outer"]
    assert "Source Location" in prof.key_averages(group_by_stack_n=2).table()


# --- what else runs -------------------------------------------------------------------------------------------------


class Square(gs.autograd.Function):
    """A Function of the user's."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * g


def test_a_function_of_the_users_is_an_event_around_what_it_does() -> None:
    with profile() as prof:
        Square.apply(leaf(3.0)).backward()
    forward, product, run, backward = prof.events()[:4]
    assert names([forward, product, run, backward]) == ["Square", "np.multiply", "backward", "SquareBackward"]
    assert product.cpu_parent is forward
    assert names(backward.cpu_children) == ["np.multiply", "np.multiply"]
    assert {child.line for child in backward.cpu_children} == {line_of(Square.backward, "2 * x * g")}
    assert backward.line == forward.line != product.line


def test_a_recorded_backward_shows_its_operations_inside_its_steps() -> None:
    x = leaf(2.0)
    with profile() as prof:
        y = np.power(x, 3.0)
        (g,) = gs.autograd.grad(y, x, create_graph=True)
        g.backward()
    step = next(event for event in prof.events() if event.name == "PowBackward0")
    assert "np.multiply" in names(step.cpu_children)
    assert {child.line for child in step.cpu_children} == {step.line}
    assert counts(prof)["backward"] == 2


def test_writes_in_place_are_events() -> None:
    x = gs.tensor(np.zeros(3))
    with profile() as prof:
        x[0] = leaf(2.0)
        x += 1.0
        x.sum().backward()
    assert names(prof.events())[:3] == ["x[i] = v", "np.add", "np.sum"]
    lines = {event.name: event.line for event in prof.events()}
    assert lines["CopySlices"] == lines["x[i] = v"]


def test_the_functions_of_transforms_are_seen() -> None:
    with profile() as prof:
        gs.grad(lambda x: np.sum(np.sin(x) ** 2))(np.ones(3))
        gs.vmap(lambda x: np.sum(np.cos(x)))(np.ones((4, 3)))
        gs.jvp(np.tan, (1.0,), (1.0,))
    found = counts(prof)
    assert (found["np.sin"], found["SinBackward0"], found["np.cos"], found["np.tan"]) == (1, 1, 1, 1)


def test_a_checkpoint_recomputes_inside_a_backward_step() -> None:
    with profile() as prof:
        gs.checkpoint(lambda x: np.exp(np.sin(x)), leaf(1.0)).backward()
    again = [event for event in prof.events() if event.name == "np.sin"]
    assert [event.is_backward for event in again] == [False, True]
    assert counts(prof)["SinBackward0"] == 1


def test_a_compiled_call_is_one_entry() -> None:
    f = gs.compile(gs.grad(lambda x: np.sum(np.sin(x) ** 2)), verify="first calls")
    x = np.linspace(0.0, 1.0, 5)
    with profile(profile_memory=True, record_shapes=True) as prof:
        for _ in range(3):
            found = f(x)
    np.testing.assert_array_equal(found, f(x))
    assert [row.key.partition(" ")[2] for row in prof.key_averages()] == ["(captured)", "(compiled)"]
    assert [event.self_cpu_memory_usage for event in prof.events()] == [40, 40, 40]
    assert prof.events()[0].input_shapes == [[5]]
    assert {event.line for event in prof.events()} == {line_of(test_a_compiled_call_is_one_entry, "found = f(x)\n")}
    with profile() as prof:
        gs.grad(lambda x: np.sum(f(x)))(x)
    assert "np.sin" in counts(prof)  # inside a transform it is the function itself


def test_a_compiled_function_that_runs_eagerly_is_looked_into() -> None:
    def hidden(x: Any) -> Any:
        print(threading.get_ident(), end="")
        return np.sin(x)

    f = gs.compile(gs.value_and_grad(hidden))
    with pytest.warns(gs.EagerWarning):
        f(1.0)
    with profile() as prof:
        f(1.0)
    assert counts(prof)["np.sin"] == counts(prof)["SinBackward0"] == 1


# --- labels ---------------------------------------------------------------------------------------------------------


@record_function("labelled")
def labelled(x: Any) -> Any:
    return np.sin(x) if x.ndim == 0 else labelled(x[0])


def test_labels_nest() -> None:
    x = leaf([1.0, 2.0])
    with record_function("outside"), profile() as prof:
        with record_function("outer", "of two"), record_function("inner"):
            np.cos(x)
        labelled(x)
    assert [(event.name, event.cpu_parent and event.cpu_parent.name) for event in prof.events()] == [
        ("outer of two", None), ("inner", "outer of two"), ("np.cos", "inner"), ("labelled", None),
        ("operator.getitem", "labelled"), ("labelled", "labelled"), ("np.sin", "labelled"),
    ]  # fmt: skip
    (row,) = [row for row in prof.key_averages() if row.key == "labelled"]
    assert row.count == 2
    assert row.cpu_time_total == prof.events()[3].cpu_time_total  # not counted twice
    assert labelled.__name__ == "labelled"


def test_labels_of_generators_and_coroutines_hold_from_step_to_step() -> None:
    @record_function("steps")
    def steps(x: Any) -> Any:
        yield np.sin(x)
        yield np.cos(x)

    @record_function("later")
    async def later(x: Any) -> Any:
        await asyncio.sleep(0)
        return np.tan(x)

    x = leaf(1.0)
    with profile() as prof:
        for y in steps(x):
            np.exp(y)
        asyncio.run(later(x))
    parents = {event.name: event.cpu_parent and event.cpu_parent.name for event in prof.events()}
    assert (parents["np.sin"], parents["np.cos"], parents["np.exp"], parents["np.tan"]) == (
        "steps",
        "steps",
        None,
        "later",
    )


def test_a_label_inside_a_compiled_function_is_nothing() -> None:
    def f(x: Any) -> Any:
        with record_function("inside"):
            y = np.sin(x)
        return labelled(y)

    compiled = gs.compile(f, verify="first calls")
    x = np.array([1.0, 2.0])
    assert compiled(x) == f(x)
    with profile() as prof:
        compiled(x)
    assert names(prof.events()) == ["f (compiled)"]


# --- errors, threads ------------------------------------------------------------------------------------------------


def test_an_error_ends_what_runs() -> None:
    x = leaf(np.ones(3))
    prof = profile()
    y = np.sin(x)
    y.register_hook(lambda g: 1 / 0)

    def fails() -> None:
        with prof, record_function("label"):
            with pytest.raises(ValueError, match="operands could not be broadcast"):
                x + np.ones(2)
            y.sum().backward()

    with pytest.raises(ZeroDivisionError):
        fails()
    assert names(prof.events()) == ["label", "np.add", "np.sum", "backward", "SumBackward0", "SinBackward0"]
    assert all(event.time_range.elapsed_us() >= 0 for event in prof.events())
    with profile() as again:
        np.sin(x)
    assert names(again.events()) == ["np.sin"]


def test_a_profile_inside_another_is_an_error() -> None:
    x = leaf(1.0)
    with profile() as prof:
        with pytest.raises(gs.AutogradError, match="runs in this thread already, and profiles do not nest"):
            profile().__enter__()
        np.sin(x)
    assert counts(prof) == {"np.sin": 1}
    with pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass
    with pytest.raises(RuntimeError, match="didn't finish running"):
        profile().key_averages()
    with profile(enabled=False), profile() as prof, profile(enabled=False):
        np.sin(x)
    assert counts(prof) == {"np.sin": 1}
    assert "unfinished" in str(profile())


def test_each_thread_has_a_profile_of_its_own() -> None:
    x = leaf(1.0)
    inside, done = threading.Event(), threading.Event()
    found: dict[str, Any] = {}

    def work() -> None:
        np.cos(x)
        with profile() as prof:
            inside.set()
            done.wait(10)
            np.tan(x)
        found["prof"] = prof

    thread = threading.Thread(target=work, name="worker")
    with profile() as prof:
        thread.start()
        assert inside.wait(10)
        np.sin(x)
        done.set()
        thread.join()
    assert (names(prof.events()), names(found["prof"].events())) == (["np.sin"], ["np.tan"])
    (mine,), (theirs,) = prof.events(), found["prof"].events()
    assert mine.thread != theirs.thread
    assert theirs.thread_name == "worker"


def test_a_profile_inside_a_compiled_function_runs_eagerly() -> None:
    def f(x: Any) -> Any:
        with gs.autograd.profiler.profile() as prof:
            y = np.sin(x)
        assert prof.self_cpu_time_total >= 0
        return y

    compiled = gs.compile(f)
    with pytest.warns(gs.EagerWarning, match="takes a profile"):
        assert compiled(1.0) == np.sin(1.0)


# --- tables and traces ----------------------------------------------------------------------------------------------


def test_the_table_shows_the_rows_that_are_asked_for() -> None:
    prof = taken(profile_memory=True)
    text = prof.key_averages().table(sort_by="self_cpu_memory_usage", row_limit=2, header="A title")
    lines = text.splitlines()
    assert lines[1] == "A title"
    assert lines[3].split("  ")[0] == "Name"
    assert "Self CPU Mem" in lines[3]
    assert len(lines) == 9
    assert [line.split()[0] for line in lines[5:7]] == ["MulBackward0", "np.matmul"]  # which makes two arrays
    assert lines[-1].startswith("Self CPU time total: ")
    assert str(prof) == prof.key_averages().table()
    assert len(str(prof).splitlines()) == len(prof.key_averages()) + 5
    assert len(prof.table(top_level_events_only=True).splitlines()) == 5 + 5
    with pytest.raises(ValueError, match="sort_by='size' is no column"):
        prof.table(sort_by="size")
    with pytest.raises(TypeError, match="these rows are averages"):
        prof.key_averages().export_chrome_trace("unused.json")
    with pytest.raises(TypeError, match="these rows are averages"):
        prof.key_averages().total_average()


def test_the_table_by_line_shows_the_text_of_the_line() -> None:
    text = taken().key_averages(group_by_line=True).table()
    assert "Forward" in text
    assert text.splitlines()[3].endswith("  h = np.tanh(x @ w)")
    cut = taken().key_averages(group_by_line=True).table(max_src_column_width=10)
    assert cut.splitlines()[3].endswith("  h = np....")


def test_the_share_of_all_rows_is_the_whole() -> None:
    rows = str(taken()).splitlines()[3:-2]
    shares = [float(line.split()[1].removesuffix("%")) for line in rows]
    assert sum(shares) == pytest.approx(100, abs=0.005 * len(shares) + 1e-9)


def test_an_empty_profile_has_a_table_too(tmp_path: Path) -> None:
    with profile() as prof:
        pass
    assert str(prof).endswith("Self CPU time total: 0.000 µs")
    prof.export_chrome_trace(tmp_path / "empty.json")
    assert [event["ph"] for event in json.loads((tmp_path / "empty.json").read_text())["traceEvents"]] == ["M"]


def test_the_trace_is_what_chrome_reads(tmp_path: Path) -> None:
    prof = taken(record_shapes=True, profile_memory=True)
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    by_phase: dict[str, list[Any]] = {}
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        by_phase.setdefault(event["ph"], []).append(event)
    assert sorted(by_phase) == ["M", "X", "f", "s"]
    assert {event["name"]: event["args"]["name"] for event in by_phase["M"]} == {
        "process_name": "gradscribe", "thread_name": threading.current_thread().name
    }  # fmt: skip
    whole = by_phase["X"]
    assert names(prof.events()) == [event["name"] for event in whole]
    for event in whole:
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        assert event["args"]["line"].startswith(HERE)
    first = whole[0]
    assert first["args"]["shapes"] == [[5, 3], [3, 2]]
    assert first["args"]["bytes"] == 80
    assert first["args"]["source"] == "h = np.tanh(x @ w)"
    ends = {event["id"]: event for event in by_phase["f"]}
    for arrow in by_phase["s"]:
        (begun,) = [event for event in whole if event["ts"] == arrow["ts"]]
        (ended,) = [event for event in whole if event["ts"] == ends[arrow["id"]]["ts"]]
        assert begun["cat"] == "op"
        assert ended["cat"] == "backward"
        assert begun["args"]["sequence"] == ended["args"]["sequence"]
    assert len(by_phase["s"]) == len(ends) == 4


def test_its_names() -> None:
    assert gs.autograd.profiler is gradscribe.autograd.profiler
    prof = taken()
    assert isinstance(prof.function_events, EventList)
    assert isinstance(prof.function_events[0], FunctionEvent)
    assert list(inspect.signature(profile.__init__).parameters)[1:] == [
        "enabled", "use_cuda", "use_device", "record_shapes", "with_flops", "profile_memory", "with_stack", "with_modules",
        "use_kineto", "use_cpu",
    ]  # fmt: skip
    assert "cpu_time=" in repr(prof.events()[0])
    assert "count=1" in repr(prof.key_averages()[0])


def test_the_profile_shows_steps_of_optimisers_and_names_of_our_own_operations() -> None:
    w = gs.tensor(np.ones(3), requires_grad=True)
    optimizer = gs.optim.Adam([w])
    with gs.autograd.profiler.profile(use_cpu=True, with_flops=False) as prof:
        for _ in range(2):
            gs.functional.softmax(w, 0)[0].backward()
            optimizer.step()
    counts = {row.key: row.count for row in prof.key_averages()}
    assert counts["Optimizer.step#Adam.step"] == 2
    assert counts["softmax"] == 2


def test_a_profile_takes_the_arguments_of_pytorch() -> None:
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        gs.autograd.profiler.profile(use_cuda=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'with_stak'"):
        gs.autograd.profiler.profile(with_stak=True)  # type: ignore[call-arg]
