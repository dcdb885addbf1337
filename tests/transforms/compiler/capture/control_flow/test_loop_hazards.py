"""Loops written to go wrong: aliases, views, writes in place, swaps, names bound in some trips, carries of every type.

Eager and compiled are what plain Python and NumPy give, to the last bit, at values that take other ways than those captured.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradscribe as gs

from trips import bits, outcome

OF_ONE: list[Callable[..., Any]] = []
OF_TWO: list[Callable[..., Any]] = []


def of_one(function: Any) -> Any:
    OF_ONE.append(function)
    return function


def of_two(function: Any) -> Any:
    OF_TWO.append(function)
    return function


@of_one
def alias_carry(x: Any) -> Any:
    a = x * 1.0
    b = a
    for i in range(5):
        a = a + b * 0.1
        if i == 2:
            b = a
    return a, b


@of_one
def inplace_alias(x: Any) -> Any:
    a = x * 1.0
    b = a
    for _i in range(5):
        a += b * 0.1
    return a, b


@of_one
def inplace_view(x: Any) -> Any:
    a = x * 1.0
    v = a[1:]
    for _i in range(5):
        a[0] += v[0] * 0.5
        v *= 1.1
    return a, v


@of_one
def rebinding_view(x: Any) -> Any:
    a = x * 1.0
    v = a[:3]
    for _i in range(5):
        a = a * 1.1
        v = v + a[3:]
    return a, v


@of_one
def view_in_loop(x: Any) -> Any:
    a = x * 1.0
    for _i in range(5):
        v = a[1:]
        v += a[:-1] * 0.1
    return a


@of_one
def swap(x: Any) -> Any:
    a, b = x * 1.0, x * 2.0
    for _i in range(5):
        a, b = b, a * 0.5 + b
    return a, b


@of_one
def swap_inplace(x: Any) -> Any:
    a, b = x * 1.0, x * 2.0
    for _i in range(5):
        a, b = b, a
        a += 0.1 * b
    return a, b


@of_one
def rotate3(x: Any) -> Any:
    a, b, c = x[0] * 1.0, x[1] * 1.0, x[2] * 1.0
    for _i in range(7):
        a, b, c = b, c, a + b * c
    return a, b, c


@of_one
def loopvar_after(x: Any) -> Any:
    s = 0.0
    for i in range(6):
        s = s + x[i] * i
    return s * i, i


@of_one
def loopvar_changed(x: Any) -> Any:
    s = 0.0
    for i in range(6):
        i = i * 2
        s = s + np.sum(x) * i
    return s, i


@of_one
def row_after(x: Any) -> Any:
    s = 0.0
    for r in x:
        s = s + np.sum(r**2)
    return s, r


@of_one
def for_else(x: Any) -> Any:
    s = x[0] * 0
    for i in range(6):
        if np.sum(s) > 1.0:
            break
        s = s + x[i]
    else:
        s = s * 10
    return s, i


@of_one
def while_else(x: Any) -> Any:
    s = np.sum(x[0])
    k = 0
    while s < 5:
        s = s * 1.3
        k += 1
        if k > 8:
            break
    else:
        s = s + 100
    return s, k


@of_one
def cont(x: Any) -> Any:
    s = 0.0
    for i in range(6):
        if np.sum(x[i]) > 0.8:
            continue
        s = s + np.sum(x[i]) * (i + 1)
    return s


@of_one
def closures(x: Any) -> Any:
    fs = []
    for i in range(5):
        fs.append(lambda y, i=i: y * i)
    return sum(f(x) for f in fs)


@of_one
def late_closures(x: Any) -> Any:
    fs = []
    for i in range(5):
        fs.append(lambda y: y * i)  # noqa: B023
    return sum(f(x) for f in fs)


@of_one
def int_carry(x: Any) -> Any:
    n = 0
    s = np.sum(x)
    for _i in range(8):
        s = s * 1.2
        if s > 10:
            n = n + 1
    return s, n


@of_one
def bool_carry(x: Any) -> Any:
    seen = False
    s = np.sum(x)
    for _i in range(8):
        s = s * 1.3
        seen = seen or bool(s > 9)
    return s, seen


@of_one
def npbool_carry(x: Any) -> Any:
    seen = np.False_
    s = np.sum(x)
    for _i in range(8):
        s = s * 1.3
        seen = seen | (s > 9)
    return s, seen


@of_one
def bool_and(x: Any) -> Any:
    ok = True
    s = np.sum(x)
    for _i in range(8):
        s = s * 1.1
        ok = ok and s < 9
    return s, ok


@of_one
def promote_int_float(x: Any) -> Any:
    s = 0
    for i in range(5):
        s = s + x[i]
    return s


@of_one
def promote_f32(x: Any) -> Any:
    s = np.float32(0)
    for i in range(5):
        s = s + x[i]
    return s


@of_one
def promote_arr_f32(x: Any) -> Any:
    s = np.zeros(x.shape[1:], np.float32)
    for i in range(5):
        s = s + x[i]
    return s


@of_one
def inplace_f32(x: Any) -> Any:
    s = np.zeros(x.shape[1:], np.float32)
    for i in range(5):
        s += x[i]
    return s


@of_one
def int_array_inplace(x: Any) -> Any:
    c = np.zeros(3, int)
    for i in range(5):
        c += np.array([1, i, 2])
    return c * x[0].sum()


@of_one
def int_div_carry(x: Any) -> Any:
    n = 100
    s = np.sum(x)
    for _i in range(5):
        n = n // 2
        s = s + n
    return s, n


@of_one
def int_to_float_carry(x: Any) -> Any:
    n = 100
    s = np.sum(x)
    for _i in range(5):
        n = n / 2
        s = s + n
    return s, n


@of_one
def carry_view_of_input(x: Any) -> Any:
    v = x
    for _i in range(5):
        v = v[::-1] * 1.01
    return v


@of_one
def carry_view_only(x: Any) -> Any:
    v = x * 1.0
    for _i in range(5):
        v = v[::-1]
    v[0] = 99.0
    return v


@of_one
def returned_alias(x: Any) -> Any:
    a = x * 1.0
    for _i in range(4):
        b = a
        a = a + 1
    a[0] = -1.0
    return a, b


@of_one
def list_state(x: Any) -> Any:
    hs = [x * 1.0, x * 2.0]
    for _i in range(5):
        hs = [hs[1], hs[0] + hs[1] * 0.1]
    return hs[0], hs[1]


@of_one
def list_inplace(x: Any) -> Any:
    hs = [x * 1.0, x * 2.0]
    for _i in range(5):
        hs[0], hs[1] = hs[1], hs[0] + hs[1] * 0.1
    return hs[0], hs[1]


@of_one
def dict_state(x: Any) -> Any:
    d = {"a": x * 1.0, "b": 0.0}
    for _i in range(5):
        d = {"a": d["a"] * 1.1, "b": d["b"] + np.sum(d["a"])}
    return d["a"], d["b"]


@of_one
def dict_inplace(x: Any) -> Any:
    d = {"a": x * 1.0, "b": 0.0}
    for _i in range(5):
        d["a"] = d["a"] * 1.1
        d["b"] += np.sum(d["a"])
    return d["a"], d["b"]


@of_one
def append_alias(x: Any) -> Any:
    hs = []
    h = x * 1.0
    for _i in range(5):
        hs.append(h)
        h = h * 1.1
    hs[0][0] = 77.0
    return np.stack(hs), h


@of_one
def append_inplace(x: Any) -> Any:
    hs = []
    h = x * 1.0
    for _i in range(5):
        h += 1.0
        hs.append(h)
    return np.stack(hs)


@of_one
def append_copy(x: Any) -> Any:
    hs = []
    h = x * 1.0
    for _i in range(5):
        h += 1.0
        hs.append(h.copy())
    return np.stack(hs), np.array(hs[-2])


@of_one
def append_view(x: Any) -> Any:
    hs = []
    h = x * 1.0
    for _i in range(5):
        hs.append(h[1:])
        h += 1.0
    return np.stack(hs)


@of_one
def fill_and_view(x: Any) -> Any:
    y = np.zeros(x.shape)
    last = y[0:1]
    for i in range(5):
        y[i] = x[i] + np.sum(last)
        last = y[i : i + 1]
    return y


@of_one
def fill_neg(x: Any) -> Any:
    y = np.zeros(x.shape)
    for i in range(1, 6):
        y[-i] = y[-i + 1] * 0.5 + x[i]
    return y


@of_one
def fill_alias(x: Any) -> Any:
    y = np.zeros(x.shape)
    z = y
    for i in range(5):
        y[i] = x[i]
        z[i] += 1
    return y, z


@of_one
def nested_shadow(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        for i in range(3):
            s = s + np.sum(x) * i
        s = s + i
    return s, i


@of_one
def nested_break(x: Any) -> Any:
    s = np.sum(x) * 0
    for i in range(5):
        for j in range(5):
            if s > i + 1:
                break
            s = s + np.sum(x[j]) * 0.7
        else:
            s = s - 1
    return s, i, j


@of_one
def early_return(x: Any) -> Any:
    s = np.sum(x) * 0
    for i in range(6):
        s = s + np.sum(x[i])
        if s > 2:
            return s * i
    return s


@of_one
def unbound_maybe(x: Any) -> Any:
    for i in range(6):
        if np.sum(x[i]) > 1.0:
            y = x[i] * 2
    return y


@of_one
def del_in_loop(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        t = x[i] * 2
        s = s + np.sum(t)
        del t
    return s


@of_one
def walrus(x: Any) -> Any:
    s = np.sum(x)
    while (t := s * 0.5) > 0.4:
        s = t + 0.01
    return s, t


@of_one
def aug_index(x: Any) -> Any:
    y = x * 1.0
    for i in range(5):
        y[i] += y[(i + 1) % 5] * 0.1
        y[i] *= y[i - 1]
    return y


@of_one
def chained(x: Any) -> Any:
    s = np.sum(x)
    k = 0
    while 0.1 < s < 50 and k < 20:
        s = s * 1.5
        k += 1
    return s, k


@of_one
def cond_expr(x: Any) -> Any:
    s = np.sum(x)
    for _i in range(6):
        s = s * 2 if s < 3 else s - 1
    return s


@of_one
def cond_inplace(x: Any) -> Any:
    y = x * 1.0
    for _i in range(6):
        if np.sum(y) > 10:
            y *= 0.5
        else:
            y = y + 1
    return y


@of_one
def cond_alias(x: Any) -> Any:
    y = x * 1.0
    z = y
    for _i in range(6):
        if np.sum(y) > 10:
            y *= 0.5
        else:
            y = y + z
    return y, z


@of_one
def maxacc(x: Any) -> Any:
    m = -np.inf
    for i in range(6):
        m = max(m, np.sum(x[i]))
    return m


@of_one
def argbest(x: Any) -> Any:
    best, at = np.inf, -1
    for i in range(6):
        v = np.sum(np.sin(x[i] * 7))
        if v < best:
            best, at = v, i
    return best, at


@of_one
def string_state(x: Any) -> Any:
    mode = "a"
    s = np.sum(x)
    for _i in range(6):
        if mode == "a":
            s = s * 2
            mode = "b"
        else:
            s = s + 1
            mode = "a"
    return s


@of_one
def none_state(x: Any) -> Any:
    prev = None
    s = np.sum(x) * 0
    for i in range(6):
        if prev is not None:
            s = s + np.sum(x[i] * prev)
        prev = x[i]
    return s


@of_one
def enum_zip(x: Any) -> Any:
    s = 0.0
    for k, (a, b) in enumerate(zip(x, x[::-1])):  # noqa: B905
        s = s + np.sum(a * b) * k
    return s, k


@of_one
def rev(x: Any) -> Any:
    s = 0.0
    for a in reversed(x):
        s = s * 0.5 + np.sum(a)
    return s


@of_one
def iterate_changing(x: Any) -> Any:
    y = x * 1.0
    s = 0.0
    for r in y:
        y[-1] = y[-1] + 1.0
        s = s + np.sum(r)
    return s


@of_one
def iterate_inplace_row(x: Any) -> Any:
    y = x * 1.0
    for r in y:
        r *= 2.0
    return y


@of_one
def len_changes(x: Any) -> Any:
    y = x
    while len(y) > 2:
        y = y[1:] * 1.1
    return y


@of_one
def neg_step(x: Any) -> Any:
    s = 0.0
    for i in range(5, -1, -1):
        s = s * 0.5 + np.sum(x[i])
    return s, i


@of_one
def zero_trip(x: Any) -> Any:
    s = 0.0
    for i in range(0):
        s = s + x[i]
    return s, np.sum(x)


@of_one
def np_int_index(x: Any) -> Any:
    i = np.int64(0)
    s = 0.0
    for _ in range(5):
        s = s + np.sum(x[i])
        i = i + 1
    return s, i


@of_one
def argmax_index(x: Any) -> Any:
    s = 0.0
    y = x * 1.0
    for _ in range(5):
        k = np.argmax(np.sum(np.atleast_2d(y).reshape(len(y), -1), axis=1))
        s = s + np.sum(y[k])
        y[k] = y[k] * 0.1
    return s


@of_one
def neg_zero(x: Any) -> Any:
    s = -0.0
    for i in range(5):
        s = s + x[i] * 0 * -1
    return s


@of_one
def swap_rows(x: Any) -> Any:
    y = x * 1.0
    for i in range(4):
        y[i], y[i + 1] = y[i + 1].copy(), y[i].copy()
    return y


@of_one
def swap_rows_views(x: Any) -> Any:
    y = np.atleast_2d(x * 1.0).reshape(6, -1)
    for i in range(4):
        y[i], y[i + 1] = y[i + 1], y[i]
    return y


@of_one
def setslice(x: Any) -> Any:
    y = x * 1.0
    for i in range(4):
        y[i : i + 2] = y[i : i + 2] * 1.5 + y[::-1][i : i + 2]
    return y


@of_one
def setself(x: Any) -> Any:
    y = x * 1.0
    for _i in range(4):
        y[1:] = y[:-1] + 0.1
    return y


@of_one
def outarg(x: Any) -> Any:
    y = x * 1.0
    for _i in range(4):
        np.multiply(y, 1.1, out=y)
        np.add(y, y[::-1], out=y)
    return y


@of_one
def sorted_carry(x: Any) -> Any:
    y = x * 1.0
    for _i in range(4):
        y = np.sort(y * np.sin(y * 5), axis=0)
    return y


@of_one
def sort_inplace(x: Any) -> Any:
    y = x * 1.0
    for _i in range(4):
        y *= np.sin(y * 5)
        y.sort(axis=0)
    return y


@of_one
def outer_used_later(x: Any) -> Any:
    a = x * 1.0
    keep = []
    for _i in range(5):
        b = a
        a = a * 1.1 + b
        keep = [a, b]
    return keep[0] - keep[1]


@of_one
def zero_d_inplace(x: Any) -> Any:
    y = np.array(0.0)
    for i in range(5):
        y += np.sum(x[i])
    return y


@of_one
def zero_d_alias(x: Any) -> Any:
    y = np.array(0.0)
    z = y
    for i in range(5):
        y += np.sum(x[i])
    return y, z


@of_one
def py_float_ops(x: Any) -> Any:
    r = 1.0
    s = np.sum(x)
    for _i in range(5):
        r = r * 0.9
        s = s + r**2
    return s, r


@of_one
def int_pow(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        s = s + np.sum(x) ** i + 2**i
    return s


@of_one
def int_neg_pow(x: Any) -> Any:
    s = 0.0
    for i in range(1, 6):
        s = s + np.sum(x) * 2**-i
    return s


@of_one
def f32_np_scalar(x: Any) -> Any:
    h = x.astype(np.float32)
    for _i in range(5):
        h = h * np.float64(0.5)
    return h


@of_one
def some_trips_else(x: Any) -> Any:
    for i in range(6):
        if np.sum(x[i]) > 1.0:
            y = x[i] * 2
            break
    else:
        y = x[0]
    return y


@of_one
def prev(x: Any) -> Any:
    s = np.sum(x) * 0
    for i in range(6):
        if i > 0:
            s = s + np.sum(p * x[i])  # noqa: F821
        p = x[i]  # noqa: F841
    return s


@of_one
def prev_never(x: Any) -> Any:
    s = np.sum(x) * 0
    for i in range(6):
        if np.sum(x) > 8:
            s = s + np.sum(p * x[i])  # noqa: F821
        if np.sum(x[i]) > 2:
            p = x[i]  # noqa: F841
    return s


@of_one
def early(x: Any) -> Any:
    for i in range(6):
        if np.sum(x[i]) > 1.0:
            return x[i] * 2


@of_one
def early2(x: Any) -> Any:
    for i in range(6):
        if np.sum(x[i]) > 1.0:
            r = np.sum(x[i])
            return r * 2
    return x[0] * 3


@of_one
def one_arm(x: Any) -> Any:
    for i in range(6):
        if np.sum(x[i]) > 0.5:
            t = x[i]
        else:
            t = x[i] * 2
        u = t + 1
    return u, t


@of_one
def whiled(x: Any) -> Any:
    s = np.sum(x)
    while s < 40:
        if s > 20:
            last = s
        s = s * 1.7
    return s + last


@of_one
def listed_or_not(x: Any) -> Any:
    h = x * 1.0
    hs = []
    for _i in range(6):
        if np.sum(h) > 5:
            h += 1.0
        else:
            h = h + 0.5
        hs.append(h)
    return np.stack(hs)


@of_one
def one_arm_writes(x: Any) -> Any:
    h = x * 1.0
    g = h
    for _i in range(6):
        if np.sum(h) > 5:
            h += 1.0
        else:
            h = h + 0.5
    return h, g


@of_one
def the_other_name_is_written(x: Any) -> Any:
    h = x * 1.0
    g = h
    for _i in range(6):
        if np.sum(h) > 5:
            g += 1.0
        else:
            h = h * 1.1
    return h, g


@of_one
def alias_in_a_branch(x: Any) -> Any:
    a = x * 1.0
    b = x * 2.0
    for _i in range(6):
        if np.sum(a) > 7:
            a = b
        b += 0.3
        a = a * 1.01 if np.sum(b) < 14 else a
    return a, b


@of_one
def alias_then_written(x: Any) -> Any:
    a = x * 1.0
    b = x * 2.0
    for _i in range(6):
        if np.sum(b) > 13:
            a = b
        b += 0.3
    return a, b


@of_one
def table_in_a_branch(x: Any) -> Any:
    y = np.zeros(6)
    z = np.zeros(6)
    for i in range(6):
        if np.sum(x) > 5:
            z = y
        y[i] = x[i].sum()
    return y, z


@of_one
def before_it_is_written(x: Any) -> Any:
    h = x * 1.0
    prev = h
    for _i in range(6):
        prev = h
        if np.sum(h) > 5:
            h += 1.0
        else:
            h = h + 0.5
    return h - prev


@of_one
def view_of_a_new_one(x: Any) -> Any:
    h = x * 1.0
    v = h[1:]
    for _i in range(6):
        if np.sum(x) > 5:
            h = h * 2
            v = h[1:]
        v = v + 1
        h[0] += 1
    return h, v


@of_one
def whole_view(x: Any) -> Any:
    h = x * 1.0
    g = x * 1.0
    for i in range(6):
        if np.sum(x) > 5:
            g = h[:]
        h[0] = h[0] + 1.0
        if i == 3:
            g[1] += 5
    return h, g


@of_one
def best_so_far(x: Any) -> Any:
    best = x * 1.0
    cur = x * 1.0
    for i in range(6):
        cur += np.sin(cur * i)
        if np.sum(cur) > np.sum(best):
            best = cur
    return best, cur


@of_one
def best_so_far_by_element(x: Any) -> Any:
    best = x * 1.0
    cur = x * 1.0
    for i in range(6):
        cur[i] = np.sum(np.sin(cur[i] * i * 9))
        if np.sum(cur) < np.sum(best):
            best = cur
    return best, cur


@of_one
def copied_or_not(x: Any) -> Any:
    a = x * 1.0
    k = 0
    while np.sum(a) < 20:
        b = a if np.sum(a) > 10 else a.copy()
        a *= 1.3
        b[0] = 0.1
        k += 1
    return a, k


@of_one
def listed_as_it_is(x: Any) -> Any:
    hs = []
    h = np.zeros(3)
    for i in range(6):
        h[0] = np.sum(x[i])
        hs.append(h if np.sum(x) > 5 else h.copy())
    return np.stack(hs)


@of_one
def in_a_dict(x: Any) -> Any:
    d = {"h": x * 1.0}
    g = d["h"]
    for _i in range(6):
        if np.sum(x) > 5:
            d["h"] += 1.0
        else:
            d["h"] = d["h"] + 0.5
    return d["h"], g


@of_one
def row_or_not(x: Any) -> Any:
    y = x * 1.0
    for i in range(6):
        r = y[i]
        if np.sum(x) > 5:
            r += 1.0
        else:
            r = r + 1.0
        y = y * 1.1
    return y


@of_one
def copied_in_a_branch(x: Any) -> Any:
    y = x * 1.0
    m = y
    for i in range(6):
        y[i] = y[i] + 1
        if np.sum(x) > 5:
            y = y.copy()
    return y, m


@of_one
def no_trip_then_written(x: Any) -> Any:
    a = x
    while np.sum(a) < 12:
        a = a * 2
    a += 1
    return a * 1.0


@of_one
def no_trip_and_another_name(x: Any) -> Any:
    a = x * 1.0
    g = a
    while np.sum(a) < 12:
        a = a * 2
    a += 1
    return a, g


@of_one
def perhaps_a_new_one(x: Any) -> Any:
    a = x * 1.0
    g = a
    for _i in range(5):
        if np.sum(a) < 7:
            a = a * 1.2
        a += 0.1
    return a, g


@of_one
def chosen_then_written(x: Any) -> Any:
    a = x * 1.0
    b = x * 2.0
    for _i in range(5):
        c = a if np.sum(a) > 7 else b
        a = a * 1.1
    c[0] = 9
    return a, b, c


@of_one
def least_then_written(x: Any) -> Any:
    a = x * 1.0
    m = a
    for _i in range(5):
        a = np.sin(a)
        if np.sum(a) < np.sum(m):
            m = a
    m *= 2
    return a, m


@of_one
def chosen_by_a_helper(x: Any) -> Any:
    def f(a, b):
        if np.sum(a) > 7:
            return a
        return b

    a = x * 1.0
    b = x * 1.0
    for _i in range(5):
        r = f(a, b)
        r += 1.0
    return a, b


@of_one
def one_view_or_another(x: Any) -> Any:
    a = x * 1.0
    for _i in range(5):
        v = a[1:] if np.sum(a) > 9 else a[:-1]
        v *= 1.5
    return a


@of_one
def two_shapes_of_one(x: Any) -> Any:
    a = x * 1.0
    b = a.reshape(-1)
    for i in range(6):
        if np.sum(b) > 8:
            b[i] = 0
        else:
            a[i] = 3
    return a, b


@of_one
def swapped_perhaps(x: Any) -> Any:
    a = x * 1.0
    b = x * 2.0
    for _i in range(5):
        if np.sum(a) > 9:
            a, b = b, a
        a += 0.5
    return a, b


@of_one
def buffer(x: Any) -> Any:
    a = np.zeros(x.shape)
    buf = np.zeros(x.shape)
    for i in range(6):
        np.multiply(x, i, out=buf)
        if np.sum(buf) > 8:
            a = buf
    return a, buf


@of_one
def the_one_before(x: Any) -> Any:
    a = x * 1.0
    old = a
    while np.sum(a) < 30:
        old = a
        a = a * 1.5
    old[0] = 0
    return a, old


@of_one
def kept_once(x: Any) -> Any:
    k = 0
    a = x * 1.0
    out = a
    for _i in range(6):
        if np.sum(a) > 9 and k == 0:
            out = a
            k = 1
        a = a + 0.5
    out -= 1
    return a, out


@of_two
def sum2(x: Any, y: Any) -> Any:
    s = 0.0
    for _i in range(5):
        s = s + np.sum(x + y)
    return s


@of_two
def both_carried(x: Any, y: Any) -> Any:
    a, b = x, y
    for _i in range(5):
        a, b = b, a
    return np.sum(a * 1.0) + np.sum(b * 2.0)


@of_two
def passthrough(x: Any, y: Any) -> Any:
    a, b = x, y
    for _i in range(5):
        a = a + b
    return np.sum(a)


@of_two
def same_start(x: Any, y: Any) -> Any:
    a = b = x
    for _i in range(5):
        a, b = a * y, b + a
    return np.sum(a) + np.sum(b)


@of_two
def invariant_twice(x: Any, y: Any) -> Any:
    h = x
    for _i in range(5):
        h = np.tanh(h * y + y * y) + x
    return np.sum(h)


@of_two
def inner_loop(x: Any, y: Any) -> Any:
    h = x * 1.0
    for _i in range(4):
        k = 0
        while np.sum(h * h) > 1 and k < 3:
            h = h * 0.7 + y * 0.01
            k += 1
        h = h + y
    return np.sum(h)


@of_two
def cond_invariant(x: Any, y: Any) -> Any:
    h = x * 1.0
    for _i in range(6):
        if np.sum(h) > 2:
            h = h * 0.5
        else:
            h = h + y
    return np.sum(h**2)


@of_two
def cond_two_level(x: Any, y: Any) -> Any:
    h = x * 1.0
    c = 0
    for i in range(8):
        if np.sum(h) > 2:
            if h[0] > h[1]:
                h = h * 0.5
            else:
                h = h[::-1] * y
            c += 1
        elif i % 3 == 0:
            h = h + y
    return np.sum(h**2) * c


@of_two
def scatter_read(x: Any, y: Any) -> Any:
    t = np.zeros(8)
    t[:6] = x
    for i in range(5):
        t[i + 2] = t[i] * y[i] + t[i + 1]
        t[i] += 0.5 * t[i + 2]
    return np.sum(t**2)


@of_two
def gather(x: Any, y: Any) -> Any:
    idx = np.array([3, 1, 0, 2, 2, 5])
    s = 0.0
    for i in range(6):
        s = s + x[idx[i]] * y[idx[-i - 1]]
    return s


@of_two
def matrix(x: Any, y: Any) -> Any:
    m = np.outer(x, y)
    v = x
    for _i in range(5):
        v = m @ v
        v = v / np.linalg.norm(v)
    return v @ m @ v


@of_two
def newton(x: Any, y: Any) -> Any:
    z = y
    for _i in range(20):
        z = z - (z**3 - x) / (3 * z**2)
        if np.max(np.abs(z**3 - x)) < 1e-12:
            break
    return np.sum(z)


@of_two
def float_counter(x: Any, y: Any) -> Any:
    t = 0.0
    h = x
    while t < 1.0:
        h = h + 0.1 * np.sin(h * y)
        t += 0.1
    return np.sum(h) + t


@of_two
def time_dep(x: Any, y: Any) -> Any:
    t = 0
    s = 0.0
    while t < 7:
        s = s + np.sum(x) / (t + 1) * y[t % 6]
        t += 2
    return s


@of_two
def max_track(x: Any, y: Any) -> Any:
    m = x[0]
    for i in range(1, 6):
        m = np.where(x[i] * y[i] > m, x[i] * y[i], m)
    return m


@of_two
def py_max(x: Any, y: Any) -> Any:
    m = x[0]
    for i in range(1, 6):
        m = max(m, x[i] * y[i])
    return m


@of_two
def cum(x: Any, y: Any) -> Any:
    out = []
    s = 0.0
    for i in range(6):
        s = s + x[i] * y[i]
        out.append(s)
    return np.sum(np.array(out) ** 2)


@of_two
def cum2(x: Any, y: Any) -> Any:
    out = [x[0]]
    for i in range(1, 6):
        out.append(out[-1] * y[i] + x[i])
    return np.sum(np.stack(out) * y)


@of_two
def comp(x: Any, y: Any) -> Any:
    return np.sum(np.array([x[i] * y[5 - i] for i in range(6)]) ** 2)


@of_two
def helper_loop(x: Any, y: Any) -> Any:
    def step(h, k):
        if np.sum(h) > 3:
            return h * 0.5
        return h + k

    h = x
    for k in y:
        h = step(h, k)
    return np.sum(h)


@of_two
def errstate(x: Any, y: Any) -> Any:
    h = x
    for _i in range(5):
        with np.errstate(all="ignore"):
            h = np.log(np.abs(h * y) + 1e-3)
    return np.sum(h)


@of_two
def tuples(x: Any, y: Any) -> Any:
    st = (x, y, 0)
    for i in range(5):
        a, b, k = st
        st = (b, a * b, k + i)
    return np.sum(st[0]) * st[2] + np.sum(st[1])


@of_two
def unused_carry(x: Any, y: Any) -> Any:
    h = x
    junk = y
    for _i in range(5):
        junk = junk * 2
        h = h * 1.1
    return np.sum(h)


@of_two
def const_result(x: Any, y: Any) -> Any:
    h = x
    c = 0.0
    for i in range(5):
        h = h * y
        c = c + i
    return np.sum(h) * 0 + c


@of_two
def int_arr(x: Any, y: Any) -> Any:
    n = np.zeros(6, int)
    h = x
    for _i in range(5):
        n = n + (h > 1)
        h = h * y
    return np.sum(h * n)


@of_two
def swap_halves(x: Any, y: Any) -> Any:
    h = x * 1.0
    for _i in range(5):
        h[:3], h[3:] = h[3:] * y[:3], h[:3] * y[3:]
    return np.sum(h * y)


@of_two
def nan_guard(x: Any, y: Any) -> Any:
    h = x
    for _i in range(6):
        new = h * y * 3
        if not np.all(np.isfinite(new)) or np.sum(new) > 1e3:
            break
        h = new
    return np.sum(h)


@of_two
def two_loops(x: Any, y: Any) -> Any:
    h = x
    for _i in range(5):
        h = h * y
    g = h
    for _i in range(5):
        g = g + h * x
    return np.sum(g)


@of_two
def loop_after_cond(x: Any, y: Any) -> Any:
    h = x * y if np.sum(x) > 4 else x + y
    for _i in range(5):
        h = h * 0.9 + y
    return np.sum(h) if np.sum(h) > 10 else np.sum(h * h)


def total(function: Any) -> Any:
    """The sum of all numbers that a function gives, each result with a weight of its own."""

    def summed(x: Any) -> Any:
        found = function(x)
        return sum((k + 1.0) * np.sum(v) for k, v in enumerate(found if isinstance(found, tuple) else (found,)))

    return summed


ROWS = np.linspace(0.1, 1.0, 18).reshape(6, 3)
INPUTS = {"rows": ROWS, "numbers": np.linspace(0.3, 1.4, 6), "float32": ROWS.astype(np.float32)}


@pytest.mark.parametrize(
    "kind", ["rows", *[pytest.param(kind, marks=pytest.mark.slow) for kind in ("numbers", "float32")]]
)
@pytest.mark.parametrize("function", OF_ONE, ids=lambda f: f.__name__)
def test_loops_of_one(function: Any, kind: str) -> None:
    compiled, gradient = gs.compile(function, verify="first calls"), gs.value_and_grad(total(function))
    fast = gs.compile(gradient, verify="first calls")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", gs.EagerWarning)
        for scale in (1.0, 1.3, 0.2):
            x, copied, other = [(INPUTS[kind] * scale).astype(INPUTS[kind].dtype) for _ in range(3)]
            assert bits(outcome(compiled, copied)) == bits(outcome(function, x)), scale
            assert bits(copied) == bits(x)
            plain, eager = outcome(total(function), other), outcome(gradient, x)
            assert bits(outcome(fast, copied)) == bits(eager), scale
            assert bits(copied) == bits(x)
            if bits(other) == bits(x):  # it has not written into what it was given, and so not twice
                assert bits(plain) == bits(eager if isinstance(plain, Exception) else eager[0])


@pytest.mark.parametrize("function", OF_TWO, ids=lambda f: f.__name__)
def test_loops_of_two(function: Any) -> None:
    """And gradients share no memory with each other, nor with the arguments."""
    rng, gradient = np.random.default_rng(0), gs.value_and_grad(function, argnums=(0, 1))
    compiled = gs.compile(gradient, verify="first calls")
    pairs = [(rng.uniform(0.2, 1.2, 6), rng.uniform(0.5, 1.3, 6)) for _ in range(3)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", gs.EagerWarning)
        for pair in (*pairs, (np.linspace(0.1, 2, 6), np.linspace(1, 0.1, 6)), (np.full(6, 3.0), np.full(6, 0.2))):
            found = compiled(*pair)
            assert bits(found) == bits(gradient(*pair))
            assert found[0] == function(*pair)
            d_x, d_y = found[1]
            assert not any(np.shares_memory(a, b) for a, b in ((d_x, d_y), (d_x, pair[0]), (d_y, pair[1])))
            assert d_x.flags.writeable
            assert d_y.flags.writeable
