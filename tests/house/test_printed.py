"""What documents and notebooks print is compared: floats to a tolerance, everything else to the letter."""

from __future__ import annotations

import textwrap

import pytest

from printed import differ

SOURCE = '''\
import numpy as np


def loss_grad(x):
    """Specialised to x: 1-d float64."""
    # page.py:6: return 0.5 * np.sum(x ** 2)
    scale = 0.5
    t = (0.09999999999999998 * x).sum(axis=0)

    # backward
    with np.errstate(all="ignore"):
        d_x = np.full_like(x, 1e-05) * t / 3.0
    return d_x
'''
REPORT = """\
step  1  loss 0.125000000000  at page.py:12
x has shape (3, 4) and 1000000000 elements
[ 0.84147098 -2.5         1.        ] [1.5e+10 2.5e-04]
tensor([0.2500, 3.7560], grad_fn=<MulBackward0>) (1.5+2.5j) nan inf -inf
"""


def planted(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text"
    return text.replace(old, new)


@pytest.mark.parametrize("text", [SOURCE, REPORT, SOURCE + "\n" + REPORT, REPORT + SOURCE, "", "\n", "one\n"])
def test_a_text_is_itself(text: str) -> None:
    assert not differ(text, text)
    assert not differ(text, text.rstrip("\n"))
    assert differ(text, text + "and more\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.125000000000", "0.125000000001"),
        ("0.125000000000", "0.12500000000000003"),
        ("0.125000000000", "0.125"),
        ("1.5e+10", "15000000000.000002"),
        ("2.5e-04", "0.00025"),
        ("2.5j", "2.500000000001j"),
        ("-2.5 ", "-2.5000000000001 "),
        ("1.        ]", "0.999999999999]"),
    ],
)  # fmt: skip
def test_floats_agree_to_a_billionth(old: str, new: str) -> None:
    assert not differ(REPORT, planted(REPORT, old, new))
    assert not differ(planted(REPORT, old, new), REPORT)
    assert differ(REPORT, planted(REPORT, old, new), rtol=0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.125000000000", "0.125000125000"),  # by 1e-6
        ("0.125000000000", "0.12500000125"),  # by 1e-8
        ("0.84147098", "0.84147182"),
        ("2.5j", "2.5000025j"),
        ("1.5e+10", "1.500002e+10"),
        ("1.5e+10", "1.5e+11"),
        ("2.5e-04", "2.500003e-04"),
        ("-2.5 ", " 2.5 "),
        ("(1.5+", "(-1.5+"),
        ("0.2500", "0.2501"),
        (" nan", " inf"),
        (" nan", " 0.5"),
        ("-inf", "1e400"),
        ("0.2500", "nan"),
        ("0.2500", "inf"),
        ("0.125000000000", "0"),
        ("1.        ]", "1         ]"),  # an int
        ("step  1", "step  2"),
        ("step  1", "step  1.0"),
        ("step  1", "step 1"),
        ("page.py:12", "page.py:13"),
        ("(3, 4)", "(3, 5)"),
        ("1000000000", "1000000001"),
        ("elements", "element"),
        ("MulBackward0", "MulBackward1"),
        ("x has shape (3, 4) and 1000000000 elements\n", ""),
        ("x has shape (3, 4) and 1000000000 elements\n", "x has shape (3, 4) and 1000000000 elements\n\n"),
        ("[ 0.84147098 -2.5         1.        ] ", ""),
        ("-2.5         1. ", "-2.5         1. 1."),
    ],
)  # fmt: skip
def test_all_else_is_caught(old: str, new: str) -> None:
    wrong = planted(REPORT, old, new)
    for before, after in (
        (REPORT, wrong),
        (SOURCE + "\n" + REPORT, SOURCE + "\n" + wrong),
        (REPORT + SOURCE, wrong + SOURCE),
    ):
        assert differ(before, after)
        assert differ(after, before)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.09999999999999998 * x", "0.1 * x"),
        ("0.09999999999999998 * x", "0.09999999999999999 * x"),
        ("scale = 0.5", "scale = 0.50"),
        ("scale = 0.5", "scale  = 0.5"),
        ("1e-05", "0.00001"),
        ("/ 3.0", "/ 3"),
        ("/ 3.0", "/ 3.0000000000001"),
        ("page.py:6", "page.py:7"),
        ("return 0.5 *", "return 0.50 *"),
        ("axis=0", "axis=1"),
        ("        d_x", "    d_x"),
        ("\n    # backward\n", "\n"),
        ("t = (", "u = ("),
    ],
)  # fmt: skip
def test_in_source_each_letter_counts(old: str, new: str) -> None:
    wrong = planted(SOURCE, old, new)
    for before, after in (
        (SOURCE, wrong),
        (SOURCE + "\n" + REPORT, wrong + "\n" + REPORT),
        (REPORT + SOURCE, REPORT + wrong),
    ):
        assert differ(before, after, rtol=1e-3)
    # in an excerpt as well, however it is cut
    lines, others = SOURCE.splitlines(), wrong.splitlines()
    if len(lines) == len(others):
        (k,) = (k for k in range(len(lines)) if lines[k] != others[k])
        assert differ("\n".join(lines[k : k + 2]), "\n".join(others[k : k + 2]), rtol=1e-3)
        if lines[k] != "    scale = 0.5":  # alone it may as well be a report
            assert differ(lines[k], others[k], rtol=1e-3)
            assert differ(f"{lines[k]}\n0.125 [0.5]", f"{others[k]}\n0.125 [0.5]", rtol=1e-3)


LINES_OF_SOURCE = """\
0.5 * x
x * 0.5
x - 0.5
return 0.5
return -0.5 * x
y = -0.5 * x
y = np.full(3, 0.5)
y = x.clip(0.5)
momentum *= 0.5
y += 0.5
x: float = 0.5
raise ValueError(0.5)
assert x == 0.5
y = [0.5 * a for a in x]
f = lambda x: 0.5
for k in range(3): y = 0.5
if y > 0.5:
while y < 0.5:
def f(x, eps=0.5):
def f(x,
y = f(x)[0.5]
y = 0.5 if x else 1.5
%3: float64[3] = np.multiply(x=%1, y=0.5)
+%3: float64[3] = np.multiply(x=%1, y=0.5)
# page.py:3: y = 0.5
    t = np.where(x > 0, 0.5, x)  # page.py:3
profiler.py:13   2.99 MiB   h = 0.5 * x
to change it, write `np.maximum(x, 0.5)` there
use a form with a slope (0.5 * z) there
@rule(x=0.5)"""
LINES_OF_OUTPUT = """\
0.5
-0.5 0.5
0.5 -0.5 - 0.5
loss 0.5
loss = 0.5
loss: 0.5
loss: [0.5, 1.5]
loss=0.5, step=3
loss = 0.5 and the slope is -0.5
the slope is 0.5.
slope is 0.5
x -0.5
x [0.5]
[0.5] [1.5]
(0.5, [1.5, -2.5], {'w': 0.5, 'b': [0.5]})
{'w': array([0.5, 1.5]), 'b': np.float64(0.5)}
array([0.5, 1.5], dtype=float32)
tensor([0.5, 1.5], requires_grad=True)
Ranked(values=tensor([0.5]), indices=tensor([0, 1]))
x = tensor(0.5)
(0.5+1.5j) 0.5j
[0.5 1.5] at page.py:3
| w | 0.5 | 1.5 |
0.5s in all, 0.5x
ValueError: 0.5 is not below 0.25
5e-01"""


def nudged(line: str) -> str:
    """A line with its floats 0.5 changed by less than a billionth, and by as many letters."""
    return line.replace("5e-01", "5.00000000001e-01").replace("0.5", "0.500000000001")


@pytest.mark.parametrize("line", LINES_OF_SOURCE.splitlines())
def test_a_line_that_computes_is_source(line: str) -> None:
    other = line.replace("0.5", "0.50").replace("f(x,", "f(y,")
    assert other != line
    assert differ(line, other)
    assert not differ(line, line)


@pytest.mark.parametrize("line", LINES_OF_OUTPUT.splitlines())
def test_a_line_that_shows_values_is_output(line: str) -> None:
    assert nudged(line) != line
    assert not differ(line, nudged(line))
    assert not differ(f"{line}\n{SOURCE}", f"{nudged(line)}\n{SOURCE}")
    assert not differ(f"{SOURCE}\n{line}", f"{SOURCE}\n{nudged(line)}")
    assert differ(line, nudged(line).replace("0.500000000001", "0.5000005").replace("5.00000000001", "5.000005"))


def test_columns_may_shift_with_a_number_that_gets_longer() -> None:
    matrix = "[[ 9.99999999999  -1.           0.5         ]\n [ 1.5            2.5        100.         ]]\n"
    rounded = "[[ 10.   -1.    0.5]\n [  1.5   2.5 100. ]]\n"
    assert not differ(matrix, rounded)
    assert differ(matrix, rounded.replace("-1.", "-2."))
    assert differ(matrix, rounded.replace("]\n [", " "))
    table = "name   value\n-----  -----\nw        0.5\n"
    wider = "name            value\n-----  --------------\nw      0.500000000001\n"
    assert not differ(table, wider)
    assert differ(table, wider.replace("value", "number"))
    assert differ(table, table.replace("  -----", " ------"))  # no number is longer: spaces count


def test_an_array_may_break_its_lines_elsewhere_with_a_number_that_gets_longer() -> None:
    short = "[0.5 1.5 2.5\n 3.5 4.5]\nloss 0.5\n"
    long = "[0.5            1.5\n 2.500000000001 3.5\n 4.5           ]\nloss 0.5\n"
    assert not differ(short, long)
    assert differ(short, long.replace("]\n", "] "))


@pytest.mark.parametrize(
    ("stated", "printed"),
    [
        ("17 s, 10.25%, 20 times as fast, 3.0e-09", "3.2 ms, 9.50%, 1.5 times as fast, 1.2e-11"),
        ("w   |  1.2e-11  yes", "w   |  1.2e-12  yes"),
        ("peak memory of one gradient: eager 8.31 kB", "peak memory of one gradient: eager 888 bytes"),
    ],
)  # fmt: skip
def test_times_and_the_last_figures_of_differences_count_by_their_form(stated: str, printed: str) -> None:
    assert not differ(stated, printed)
    assert differ(stated, printed.replace(printed.split()[0], "other"))


def test_a_large_difference_is_no_figure_that_varies() -> None:
    assert differ("apart by 1.2e-03", "apart by 1.3e-03")
    assert differ("apart by 1.2e-07", "apart by 1.3e-07")
    assert differ("t = 1.2e-10 * x", "t = 1.3e-10 * x")
    assert differ("excess - 1.2e-10 * x", "excess - 1.3e-10 * x")
    assert differ("at `x > 1.2e-10` it stops", "at `x > 1.3e-10` it stops")
    assert differ("at `y > 0.5` it is 0.25", "at `y > 0.50` it is 0.25")
    assert not differ("at `y > 0.5` it is 0.25 and `z`", "at `y > 0.5` it is 0.2500000000001 and `z`")


def test_a_tolerance_of_its_own() -> None:
    text = "error 0.5 in 3 steps"
    assert not differ(text, "error 0.5001 in 3 steps", rtol=1e-3)
    assert differ(text, "error 0.51 in 3 steps", rtol=1e-3)
    assert differ(text, "error 0.5001 in 4 steps", rtol=1e-3)


def test_source_between_other_output_is_found() -> None:
    text = textwrap.dedent("""\
        loss 0.5
        def f(
            x: np.ndarray,
        ) -> np.ndarray:
            y = 0.25

            return y
        loss 0.5
        """)
    assert not differ(text, text.replace("loss 0.5", "loss 0.500000000001"))
    assert differ(text, text.replace("0.25", "0.250000000001"))
