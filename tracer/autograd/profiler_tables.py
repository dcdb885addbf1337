"""The events of a profile as a table of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["SORTS", "bytes_text", "cells_of", "table_of", "time_text"]

SORTS = (
    "count", "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage",
    "forward_time_total", "backward_time_total",
)  # fmt: skip
TEXTS = (("shapes", "Input Shapes"), ("stack", "Source Location"), ("line", "Source"))  # columns that are no numbers
NUMBER = 12  # the width of a column of numbers


def time_text(us: float) -> str:
    """Microseconds in the unit that suits."""
    if us >= 1e6:
        return f"{us / 1e6:.3f} s"
    return f"{us / 1e3:.3f} ms" if us >= 1e3 else f"{us:.3f} µs"


def bytes_text(count: int) -> str:
    """Bytes in the unit that suits."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << power:
            return f"{count / (1 << power):.2f} {unit}"
    return f"{count} B"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width or width <= 3 else text[: width - 3] + "..."


def table_of(
    rows: list[Any], total: float, columns: Iterable[str], sort_by: str | None, row_limit: int,
    widths: tuple[int, int, int], header: str | None,
) -> str:  # fmt: skip
    """The rows as text; `columns` says what they show beside times, `widths` how wide name, shapes and source may be."""
    titles, body = cells_of(rows, total, columns, sort_by, row_limit, widths)
    return _set(titles, body, sum(name in columns for name, _ in TEXTS), total, header)


def cells_of(
    rows: list[Any], total: float, columns: Iterable[str], sort_by: str | None = None, row_limit: int = 100,
    widths: tuple[int, int, int] = (55, 80, 75),
) -> tuple[list[str], list[list[str]]]:  # fmt: skip
    """The titles of the columns, and the cells of each row."""
    if sort_by is not None:
        if sort_by not in SORTS or not all(hasattr(row, sort_by) for row in rows):
            raise ValueError(f"sort_by={sort_by!r} is no column of this table: give one of {', '.join(SORTS)}")
        rows = sorted(rows, key=lambda row: getattr(row, sort_by), reverse=True)
    if row_limit >= 0:
        rows = rows[:row_limit]
    by_line = "line" in columns
    titles = ["Line" if by_line else "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total"]
    titles += ["Forward", "Backward"] if by_line else ["CPU time avg"]
    titles += ["CPU Mem", "Self CPU Mem"] if "memory" in columns else []
    titles.append("# of Calls")
    titles += [title for name, title in TEXTS if name in columns]
    body = []
    for row in rows:
        alone, whole = row.self_cpu_time_total, row.cpu_time_total
        times = [_share(alone, total), time_text(alone), _share(whole, total), time_text(whole)]
        cells = [_cut(row.key, widths[0]), *times]
        if by_line:
            cells += [time_text(row.forward_time_total), time_text(row.backward_time_total)]
        else:
            cells.append(time_text(row.cpu_time))
        if "memory" in columns:
            cells += [bytes_text(row.cpu_memory_usage), bytes_text(row.self_cpu_memory_usage)]
        cells.append(str(row.count))
        if "shapes" in columns:
            cells.append(_cut(str(row.input_shapes), widths[1]))
        if "stack" in columns:
            cells.append("; ".join(_cut(line, widths[2]) for line in row.stack))
        if by_line:
            cells.append(_cut(row.source, widths[2]))
        body.append(cells)
    return titles, body


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.2f}%" if total else "-"


def _set(titles: list[str], body: list[list[str]], texts: int, total: float, header: str | None) -> str:
    """The cells below each other: the first column and the last `texts` to the left, the numbers between to the right."""
    last = len(titles) - texts
    found = [max(len(line[k]) for line in [titles, *body]) for k in range(len(titles))]
    sizes = [max(size, NUMBER) if 0 < k < last else size for k, size in enumerate(found)]

    def line(cells: list[str]) -> str:
        set_ = [c.rjust(n) if 0 < k < last else c.ljust(n) for k, (c, n) in enumerate(zip(cells, sizes, strict=True))]
        return "  ".join(set_).rstrip()

    rule = "  ".join("-" * size for size in sizes)
    above = ["=" * len(rule), header] if header else []
    end = f"Self CPU time total: {time_text(total)}"
    return "\n".join([*above, rule, line(titles), rule, *map(line, body), rule, end])
