"""What an array is, one file says: code that asks for NumPy's class itself would miss the arrays of CuPy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import house

# Who may ask for NumPy's own class, since CuPy's arrays never come there or need another way.
OF_NUMPY = (
    "runtime.arrays", "runtime.placement",
    "runtime.rules.creation", "runtime.rules.shaping", "runtime.rules.indexing",  # types, told by NumPy's stand-ins
    "runtime.rules.support",  # a quicker way for NumPy's broadcast views
    "runtime.rules.scipy_", "transforms.derivatives.scipy_", "tracer.autograd.legacy",
    "tracer.core.dispatch", "tracer.core.foreign",  # subclasses of ndarray, and arrays of objects
    "tracer.core.engine", "tracer.core.forward", "tracer.core.tangents",  # sums in place, and blocks, where NumPy gains by them
    "tracer.memory.writers", "tracer.protocols.exchange", "tracer.tensors.constructors",  # from_numpy, np.asarray
    "transforms.exports", "transforms.checks", "transforms.why",  # which raise for CuPy's
    "transforms.user_code.drop_in", "transforms.user_code.math_names", "transforms.user_code.scope",  # the quickest ways
    "tracer.memory.survivors", "tracer.protocols.interop", "tracer.tensors.torch_shaping",  # arrays of objects, masks, a class
    "transforms.compiler.capture.capture",  # whether one from outside lies where the others do
    "transforms.compiler.driver.native", "transforms.compiler.native",
    "transforms.compiler.driver.guards.guards",  # where `flags.writeable` is NumPy's
)  # fmt: skip


def asking(source: str) -> Iterator[int]:
    """The lines that ask whether something is of NumPy's class: `isinstance(x, np.ndarray)`, `type(x) is np.ndarray`."""
    for node in house.nodes_of(source) if "np.ndarray" in source else ():
        asked: list[ast.expr] = []
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            asked = node.args[1:]
        elif isinstance(node, ast.Compare) and any(
            isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) for op in node.ops
        ):
            asked = [node.left, *node.comparators]
        names = [ast.unparse(part) for one in asked for part in ast.walk(one) if isinstance(part, ast.Attribute)]
        if "np.ndarray" in names:
            yield node.lineno


def test_one_file_says_what_an_array_is() -> None:
    found = [
        f"{module}:{line}"
        for module, path in house.modules()
        if module.startswith(("runtime", "tracer", "transforms")) and not module.startswith(OF_NUMPY)
        for line in asking(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"ask `is_array` or `is_plain_array` of runtime/arrays.py, which know CuPy's arrays, too: {found}"


def test_a_planted_question_is_found() -> None:
    for line in (
        "isinstance(x, (np.ndarray, float))",
        "type(x) is not np.ndarray",
        "isinstance(x, np.ndarray | float)",
    ):
        assert list(asking(line)) == [1]
    assert not list(asking("is_array(x) and type(x) is float"))
