"""The printer: every text parses back to the tree it came from, reads well, and carries its notes as comments."""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
import tokenize
import warnings
from pathlib import Path

import gast
import pytest

from gradscribe.transforms.compiler.python import printer

# Printed just as they stand here, so each has as few parentheses as it can have.
EXACT = r"""
a + b * c
(a + b) * c
a - (b - c)
a - b - c
a @ b / (c @ d)
-(x**2)
(-x) ** 2
x**-1
x.T**-y.T
x**y**z
(x**y) ** z
f(x) ** 2
x[0] ** 2
1e-6**x
(-x).T
-x.T
-(x + y)
--x
~x & y | z ^ w
a << b + c
(a << b) + c
not a == b
(not a) == b
not (a and b)
a and b or c and d
a and (b or c)
a and (b and c)
a < b <= c is not d not in e
(a < b) < c
a if b else c if d else e
(a if b else c) if d else e
(a if b else c) + 1
f(a if b else c, *(d or e)[0], *d or e, k=lambda: 0, **g or h)
lambda: (yield)
lambda x, /, y=1, *z, w, **k: x + y
(lambda x: x)(1)
f(x for x in y)
f((x for x in y), 1)
[x for x in y if (a if b else c) if d or e]
[(x, y) for x, y in z]
{k: v for k, v in d.items()}
{**a, "b": c, **(d or e)}
{a, *b}
x[1:2, ..., None]
x[a + 1 : b, ::2, :]
x[f(a) :: -1]
x[a.b : c]
x[-a:n]
x[a, b][c,]
x[()]
x[(y := 1)]
x[*a, b]
f(y := 1)
(y := 1)
(3).real
3.0.real
1j * 2 + 1e309
-1
"it's"
'say "x"'
"\ud800\n\\"
b"\x00'"
...
f"{x!r:>{width}} {{}} {y['a']}"
f"{(lambda x: 1)}{ {1: 2}}{(y := 1)}"
f"{x:%H'%M} \n {f'{y}'}"
x = y = z
a, b = b, a
a, *b = *c, d
shape = (3, 4)
x = (a,)
(x,) = y
x: int = (1, 2)
(x): int
x = yield
x += (yield y, z)
x = yield from y
x @= y
return a, b
return (a,)
return *a, b
return (yield)
assert x, (y, z)
del a, b[0]
global a, b
import a.b as c, d
from .. import a as b
raise A("b") from c
"""

BLOCKS = [
    'def f(x, /, y: int = 1, *args: int, k, **kw) -> int:\n    """Doc.\n\n    More\\\\.\n    """\n    return x\n',
    'def f():\n    """Ends in a quote\\\\\\""""\n',
    'def f():\n    """\\"\\"\\" and \\x00 \\r"""\n    nonlocal a\n',
    "if a:\n    pass\nelif b := c:\n    pass\nelse:\n    if d:\n        pass\n    x\n",
    "for a, b in c, d:\n    break\nelse:\n    continue\n",
    "while x:\n    x -= 1\nelse:\n    y\n",
    "with a as b, c, ((d, e)), f() as (g, h):\n    pass\n",
    "async def f():\n    async with a as b:\n        return [await x async for x in (await y).z]\n"
    "    async for x in y:\n        await x ** 2\n        -await x\n        (await x)()\n",
    "try:\n    pass\nexcept (A, B) as e:\n    raise\nexcept C:\n    pass\nelse:\n    pass\nfinally:\n    pass\n",
    "try:\n    try:\n        pass\n    except A:\n        pass\nexcept* (B, C) as e:\n    pass\n",
    "@a\n@b.c(d)\nclass A(B, metaclass=C):\n    @property\n    def f(self):\n        pass\n\n    x = 1\n",
    "match a, b:\n    case 0 | -1 | 1 + 2j | 'x' | A.b:\n        pass\n    case [a, *_, (b | c) as d] if e:\n"
    "        pass\n    case {'k': v, **rest} | A(x, y=(1 | 2)) | None | True:\n        pass\n"
    "    case (a as b) as c:\n        pass\n"
    "    case ((1 | 2) | 3), *_:\n        pass\n    case _:\n        pass\n",
    """x = f'''{'x"y'}'''\n""",
    "match = 1\ncase = match\nprint(match(x))\n",
]
NEWER = {
    (3, 12): [
        "def f[T: int, *Ts, **P](x: T) -> T:\n    pass\n",
        "class A[T](B):\n    pass\n",
        "type X[T] = list[T]\n",
        'x = f"{"a" + f"{"b" + f"{"c" + f"{"d" + f"{"e"}"}"}"}"}\\n"\n',
        'x = f"{"\\n".join(y)}"\n',
    ],
    (3, 13): ["class A[T = int, *Ts = *tuple[int], **P = [int]]:\n    pass\n"],
}
SNIPPETS = BLOCKS + [text for version, texts in NEWER.items() if sys.version_info >= version for text in texts]


def parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd but legal code of the standard library's tests: "invalid escape sequence"
        return ast.parse(text)


def comes_back(tree: ast.Module) -> str:
    text = printer.to_source(gast.ast_to_gast(tree))
    assert ast.dump(parsed(text)) == ast.dump(tree), text
    assert printer.to_source(tree) == text
    return text


@pytest.mark.parametrize("line", EXACT.strip().splitlines())
def test_a_line_is_printed_as_a_person_would_write_it(line: str) -> None:
    assert comes_back(parsed(f"0\n{line}")) == f"0\n{line}\n"


@pytest.mark.parametrize("text", SNIPPETS)
def test_snippets_come_back(text: str) -> None:
    comes_back(parsed(text))


def test_blocks_keep_their_layout() -> None:
    text = '"""Doc."""\n\nimport a\n\nx = 1\n\n\n@b\ndef f():\n    """Doc."""\n'
    text += "    if x:\n        pass\n    elif y:\n        pass\n"
    assert comes_back(parsed(text)) == text


def test_an_expression_has_no_newline() -> None:
    assert printer.to_source(gast.parse("(a + b) * c").body[0].value) == "(a + b) * c"
    assert printer.to_source(gast.parse("a * b, c", mode="eval")) == "(a * b, c)"
    assert printer.to_source(gast.parse("")) == ""


def test_negative_constants_are_printed_as_negations() -> None:
    power = gast.BinOp(gast.Constant(-2.0, None), gast.Pow(), gast.Constant(-1, None))
    assert printer.to_source(power) == "(-2.0) ** -1"
    assert printer.to_source(gast.Constant(float("nan"), None)) == "(1e309 - 1e309)"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer f-strings take any quote")
def test_an_f_string_that_cannot_be_written_is_an_error() -> None:
    tree = gast.JoinedStr([gast.FormattedValue(gast.Constant("\\", None), -1, None)])
    with pytest.raises(ValueError, match="f-string"):
        printer.to_source(tree)


# Long lines

LONG = [
    "d_w = np.matmul(np.swapaxes(x, -1, -2), d_z * (1 - np.tanh(z) ** 2) * scale_of_the_first_layer, n)",
    "d_w = d_first_layer * np.cos(first_layer) + d_second_layer * np.sin(second_layer) - d_third * np.exp(third)",
    "d_w = np.sum(d_first * np.cos(first) + d_second * np.sin(second) - d_third * np.exp(third) * d_fourth + d_x)",
    "return d_first_layer_weights, d_second_layer_weights, d_third_layer_weights, d_fourth_layer_weights, d_x",
    "def f(first_layer_weights, second_layer_weights, third_layer_weights, fourth_weights, x) -> Any:\n    pass",
    "if first_layer_weights is not None and second_layer_weights is not None and not third == 1:\n    pass",
    "raise ValueError('a text that is rather long', first_layer_weights, second_layer_weights, third) from error",
    "x = [(first_layer_weights, second_layer_weights) for first, second in zip(first_layer, second_layer) if y]",
    "x[first_layer_weights + second_layer_weights] = first_layer_weights if second_layer_weights else other, x",
    "return await first_layer_weights() + second_layer_weights(a, b) + third_layer_weights(c, d) + first_layer_bias",
    "x = {'first': first_layer_weights, 'second': second_layer_weights, 'third': f(third, fourth), **x, 'z': zz}",
]


@pytest.mark.parametrize("text", LONG)
def test_long_lines_are_wrapped_in_brackets(text: str) -> None:
    printed = comes_back(parsed(text))
    assert max(map(len, printed.splitlines())) <= 88, printed
    assert len(printed.splitlines()) >= 3, printed
    assert all(row == row.rstrip() for row in printed.splitlines())
    assert "(((" not in printed


# Notes


def noted(text: str, notes: dict[int, str], above: bool = False) -> str:
    tree = gast.parse(text)
    for i, words in notes.items():
        printer.note(tree.body[i], words, above)
    printed = printer.to_source(tree)
    assert ast.dump(parsed(printed)) == ast.dump(parsed(text))
    return printed


def test_notes_stand_two_blanks_behind() -> None:
    text = noted("z = x @ w + b\nh = np.tanh(z)\ny = h", {0: "model.py:12", 1: "model.py:13"})
    assert text == "z = x @ w + b  # model.py:12\nh = np.tanh(z)  # model.py:13\ny = h\n"


def test_a_note_that_passes_the_margin_is_cut() -> None:
    assert noted("x = 1", {0: "n" * 90}, above=True) == f"# {'n' * 82} ...\nx = 1\n"


def test_a_note_that_does_not_fit_stands_above() -> None:
    wide = "first_name = second_name + third_name * fourth_name - fifth_name"
    assert noted(f"x = 1\n{wide}", {1: "a note " * 4 + "!"}) == f"x = 1\n# {'a note ' * 4}!\n{wide}\n"
    assert noted("x = 1", {0: "two\nlines"}) == "# two\n# lines\nx = 1\n"


def test_notes_of_compound_statements_stand_at_their_headers() -> None:
    text = "@a\ndef f(x):\n    return x\n\n\nif a:\n    pass\nelif b:\n    pass\n"
    tree = gast.parse(text)
    printer.note(tree.body[0], "one")
    printer.note(tree.body[0].body[0], "two")
    printer.note(tree.body[1].orelse[0], "three")
    printer.note(tree.body[1].orelse[0], "four", above=True)
    expected = text.replace("(x):", "(x):  # one").replace("return x", "return x  # two")
    assert printer.to_source(tree) == expected.replace("elif b:", "# four\nelif b:  # three")


def test_sections_stand_apart() -> None:
    tree = gast.parse("def f(x):\n    y = x\n    d_x = 1\n    return d_x")
    printer.section(tree.body[0].body[0], "Forward")
    printer.section(tree.body[0].body[1], "Backward")
    printer.note(tree.body[0].body[1], "model.py:3")
    assert printer.to_source(tree) == (
        "def f(x):\n    # Forward\n    y = x\n\n    # Backward\n    d_x = 1  # model.py:3\n    return d_x\n"
    )


def test_notes_are_taken_along_by_single_statements_and_docstrings() -> None:
    tree = gast.parse('def f():\n    """Two\n    lines."""')
    printer.note(tree.body[0].body[0], "about it")
    assert printer.to_source(tree.body[0]) == 'def f():\n    # about it\n    """Two\n    lines."""\n'
    printer.note(tree.body[0], "header")
    assert printer.to_source(tree.body[0]).startswith("def f():  # header\n")


# The standard library


PARTS = 48


def library() -> list[Path]:
    return [
        path for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")) if "site-packages" not in path.parts
    ]


def library_file_comes_back(path: Path) -> None:
    try:
        with tokenize.open(path) as file:
            tree = parsed(file.read())
    except (SyntaxError, UnicodeError, ValueError):
        return  # a test's broken file
    for_all = gast.ast_to_gast(tree)
    assert ast.dump(parsed(printer.to_source(for_all))) == ast.dump(tree), path


def test_a_sample_of_the_standard_library_comes_back() -> None:
    files = [path for path in library() if path.stat().st_size < 60_000]
    for path in random.Random(1).sample(files, min(40, len(files))):
        library_file_comes_back(path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_standard_library_comes_back(part: int) -> None:
    for path in library()[part::PARTS]:
        library_file_comes_back(path)
