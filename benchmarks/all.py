"""Every benchmark in one run: the workloads beside all peers that are installed, scaling curves, and the other scripts.

    python benchmarks/all.py                  # all of it, some ten minutes on an idle machine
    python benchmarks/all.py --only workloads # the table alone (or: scaling, scripts)
    python benchmarks/all.py --to results     # the folder for table.md, results.json, log.txt and chart.svg (by matplotlib)
    python benchmarks/all.py --threads 2      # the workloads, on two threads

Each workload runs in a process of its own, who runs it in turns, on one thread where nothing else is asked for. A time is the
fastest round, in brackets the one in the middle; what is not installed is named below the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

for library in ("OPENBLAS", "OMP", "MKL"):  # one thread each, or whatever else runs on the machine decides
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))

import numpy as np  # noqa: E402
from timing import interleaved, is_tiny, per_call  # noqa: E402
from workloads import PEERS, THREADS, WORKLOADS  # noqa: E402

import gradscribe as gs  # noqa: E402

COLUMNS = ["eager", "compiled", "native", "replayed", "by hand", *PEERS]
APART = {"all.py", "workloads.py", "timing.py"}


# --- the workloads ---------------------------------------------------------------------------------------------------


def workloads(tiny: bool, threads: int) -> list[dict[str, Any]]:
    """Measure each workload in a fresh process, everybody on so many threads."""
    rows = []
    environment = os.environ | dict.fromkeys((*THREADS, "GRADSCRIBE_THREADS"), str(threads))
    for name in WORKLOADS:
        command = [sys.executable, "-P", str(HERE / "workloads.py"), name, *(["--tiny"] if tiny else [])]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stderr}")
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"{name}: done", flush=True)
    return rows


def shown(seconds: float) -> str:
    """A time with three digits and its unit."""
    unit, factor = next(((u, f) for u, f in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)) if seconds * f >= 1), ("ns", 1e9))
    return f"{seconds * factor:.3g} {unit}"


def ratio(row: dict[str, Any], ours: str, theirs: str) -> float | None:
    """Our fastest round over theirs, where both ran."""
    times = row["seconds"]
    return times[ours]["min"] / times[theirs]["min"] if ours in times and theirs in times else None


def over_the_others(row: dict[str, Any]) -> float | None:
    """The native target over the quickest of the peers and what is written by hand."""
    times = row["seconds"]
    others = [times[who]["min"] for who in ("by hand", *PEERS) if who in times]
    return times["native"]["min"] / min(others) if "native" in times and others else None


def quickest(row: dict[str, Any]) -> float:
    """The least time of a workload, among what the chart shows."""
    return min(float(times["min"]) for who, times in row["seconds"].items() if who in MARKS)


def table(rows: list[dict[str, Any]]) -> str:
    """The times as Markdown, and the ratios that matter."""
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for row in rows:
        cells = []
        for who in COLUMNS:
            times = row["seconds"].get(who)
            cells.append(f"{shown(times['min'])} ({shown(times['median'])})" if times else "")
        lines.append(f"| {row['workload']} | " + " | ".join(cells) + " |")
    pairs = [
        ("eager", "PyTorch"),
        ("eager", "replayed"),
        ("compiled", "by hand"),
        ("compiled", "eager"),
        ("native", "compiled"),
        ("native", "by hand"),
        ("native", "jax.jit"),
        ("compiled", "jax.jit"),
    ]
    named = [*[f"{a} / {b}" for a, b in pairs], "native / quickest of peers and by hand"]
    lines += ["", "| ratios of the fastest rounds | " + " | ".join(named) + " |"]
    lines.append("|---" * (len(named) + 1) + "|")
    for row in rows:
        found = [*[ratio(row, a, b) for a, b in pairs], over_the_others(row)]
        lines.append(f"| {row['workload']} | " + " | ".join("" if r is None else f"{r:.2f}" for r in found) + " |")
    drawn = [who for who in MARKS if any(who in row["seconds"] for row in rows)]
    lines += ["", "| over the quickest | " + " | ".join(MARKS[who][0] for who in drawn) + " |"]
    lines.append("|---" * (len(drawn) + 1) + "|")
    for row in rows:
        times = row["seconds"]
        over = [times[who]["min"] / quickest(row) if who in times else None for who in drawn]
        lines.append(
            f"| {row['workload']} | " + " | ".join("" if r is None else f"{float(f'{r:.2g}'):,g}" for r in over) + " |"
        )
    missing = {f"{row['workload']}, {peer}: {why}" for row in rows for peer, why in row["missing"].items()}
    lines += ["", *[f"- left out: {line}" for line in sorted(missing)]] if missing else []
    return "\n".join(lines) + "\n"


MARKS = {  # on the chart: those of gradscribe's are filled
    "native": ("gradscribe, native", "D", True), "compiled": ("gradscribe, compiled", "o", True),
    "eager": ("gradscribe, eager", "v", True), "by hand": ("NumPy by hand", "|", True), "jax.jit": ("jax.jit", "s", False),
    "PyTorch": ("PyTorch", "o", False), "torch.compile": ("torch.compile", "P", False), "autograd": ("autograd", "^", False),
}  # fmt: skip


def chart(rows: list[dict[str, Any]], path: Path) -> str:
    """Draw each time over the least of its workload; it says where the chart lies, or why there is none."""
    try:
        import matplotlib
    except ImportError:
        return "no chart: matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 0.42 * len(rows) + 1.8), layout="constrained")
    places = np.arange(len(rows))[::-1]
    for k, (who, (label, marker, filled)) in enumerate(MARKS.items()):
        points = [
            (row["seconds"][who]["min"] / quickest(row), y)
            for row, y in zip(rows, places, strict=True)
            if who in row["seconds"]
        ]
        if points:
            face = {} if filled else {"facecolors": "none"}
            axes.scatter(*zip(*points, strict=True), marker=marker, s=60, label=label, color=f"C{k}", **face)
    axes.set_xscale("log")
    ticks = [1, 3, 10, 30, 100, 300, 1000]
    axes.set_xticks(ticks, map(str, ticks), minor=False)
    axes.minorticks_off()
    axes.set_yticks(places, [row["workload"] for row in rows])
    axes.set_xlabel("time of a value and gradient, over that of the quickest")
    axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=4, frameon=False)
    axes.grid(axis="both", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(path)
    return f"chart: {path}"


# --- scaling ---------------------------------------------------------------------------------------------------------


def chain(n: int) -> Any:
    """A function of `n` operations in a straight line."""
    lines = ["def f(x):", *["    x = np.sin(x) * 1.01 + 0.1"] * (n // 3), "    return np.sum(x)"]
    space: dict[str, Any] = {"np": np}
    exec("\n".join(lines), space)
    return space["f"]


def once(call: Any) -> float:
    """The seconds of a single call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def scaling(tiny: bool) -> dict[str, dict[int, float]]:
    """What grows: seconds over operations, leaves, sizes and trips, eager and compiled."""
    found: dict[str, dict[int, float]] = {}

    def add(what: str, n: int, seconds: float) -> None:
        found.setdefault(what, {})[n] = seconds

    def least(call: Any) -> float:
        return interleaved(3, per_call(call, 1))[0].least

    for n in (3, 30) if tiny else (30, 300, 3000):
        x, f = np.ones(10), chain(n)
        eager, compiled = gs.grad(f), gs.compile(gs.grad(f))
        add("operations: first compiled call", n, once(lambda compiled=compiled, x=x: compiled(x)))
        add("operations: compiled", n, least(lambda compiled=compiled, x=x: compiled(x)))
        add("operations: eager", n, least(lambda eager=eager, x=x: eager(x)))
    for n in (2, 5) if tiny else (10, 100, 1000):
        tree = [np.ones(5) for _ in range(n)]

        def total(tree: Any) -> Any:
            return sum([np.sum(a * a) for a in tree])

        eager, compiled = gs.grad(total), gs.compile(gs.grad(total))
        add("leaves: eager", n, least(lambda eager=eager, tree=tree: eager(tree)))
        compiled(tree)
        add("leaves: compiled", n, least(lambda compiled=compiled, tree=tree: compiled(tree)))
    for n in (10, 100) if tiny else (100, 10_000, 1_000_000):
        x = np.ones(n)
        eager, compiled = gs.grad(chain(9)), gs.compile(gs.grad(chain(9)))
        add("sizes: eager", n, least(lambda eager=eager, x=x: eager(x)))
        compiled(x)
        add("sizes: compiled", n, least(lambda compiled=compiled, x=x: compiled(x)))

    def trips(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.sin(x) * 1.01 + 0.1
        return x

    eager, compiled = gs.grad(trips), gs.compile(gs.grad(trips))
    for n in (3, 10) if tiny else (100, 1000, 10_000):
        add("trips: eager", n, least(lambda n=n: eager(0.5, n)))
        compiled(0.5, n)
        add("trips: compiled", n, least(lambda n=n: compiled(0.5, n)))
    return found


def curves(found: dict[str, dict[int, float]]) -> str:
    """The curves as Markdown: seconds, and how much they grew where the size grew."""
    lines = ["| what grows | seconds at each size |", "|---|---|"]
    for what, points in found.items():
        lines.append(f"| {what} | " + ", ".join(f"{n:,}: {shown(s)}" for n, s in points.items()) + " |")
    return "\n".join(lines) + "\n"


# --- all -------------------------------------------------------------------------------------------------------------


def scripts(log: Path) -> str:
    """Run the other benchmarks, and keep what they print."""
    said = []
    for script in sorted(p for p in HERE.glob("*.py") if p.name not in APART):
        done = subprocess.run([sys.executable, "-P", str(script)], capture_output=True, text=True)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ python {script.name}\n{done.stdout}{done.stderr}\n")
        said.append(f"- `{script.name}`: {'done' if done.returncode == 0 else f'failed with {done.returncode}'}")
        print(said[-1], flush=True)
    return "\n".join(said) + "\n"


def main() -> None:
    """Run what is asked for, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("workloads", "scaling", "scripts"), action="append", help="a part alone")
    parser.add_argument("--to", type=Path, default=Path("results"), help="the folder to write into (results)")
    parser.add_argument("--threads", type=int, default=1, help="of all in the workloads (1)")
    parser.add_argument("--tiny", action="store_true", help="the smallest sizes, and without the other scripts")
    options = parser.parse_args()
    parts = options.only or ["workloads", "scaling", *([] if options.tiny else ["scripts"])]
    options.to.mkdir(parents=True, exist_ok=True)
    machine = (
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, {os.cpu_count()} cores"
    )
    threads = "one thread" if options.threads == 1 else f"the workloads on {options.threads} threads"
    text, results = f"{machine}, {threads}\n\n", {"machine": machine, "threads": options.threads}
    if "workloads" in parts:
        rows = workloads(is_tiny(), options.threads)
        results["workloads"] = rows
        text += table(rows) + "\n"
        print(chart(rows, options.to / "chart.svg"))
    if "scaling" in parts:
        found = scaling(is_tiny())
        results["scaling"] = found
        text += curves(found) + "\n"
    if "scripts" in parts:
        (options.to / "log.txt").write_text("", encoding="utf-8")
        text += scripts(options.to / "log.txt")
    (options.to / "table.md").write_text(text, encoding="utf-8")
    (options.to / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(f"\n{text}\nwritten to {options.to}")


if __name__ == "__main__":
    main()
