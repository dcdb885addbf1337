"""How the house is built, read from the disk: its packages, its modules, and which layer imports which."""

from __future__ import annotations

import ast
import configparser
import functools
import graphlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FACE = "gradscribe"  # the root's own __init__.py and __main__.py

# The folders from the bottom up: across folders an import, also a lazy one or one for types alone, only ever points down
# this list. An `__init__` may name what lies in its folder.
ORDER = (
    "unpatched", "runtime", "runtime.rules", "runtime.ir",
    "tracer.core", "tracer.random", "tracer.memory", "tracer.protocols", "tracer.tensors", "tracer",
    "tracer.autograd", "tracer.autograd.legacy",
    "transforms.compiler.frontend", "transforms.user_code", "transforms", "transforms.compiler.analysis",
    "transforms.compiler.passes", "transforms.compiler.passes.fast", "transforms.compiler.schedule",
    "transforms.compiler.python", "transforms.compiler.native",
    "transforms.compiler.capture.control_flow", "transforms.compiler.capture",
    "transforms.compiler.driver.guards", "transforms.compiler.driver", "transforms.compiler",
    "transforms.derivatives", "transforms.checks", "transforms.exports", "transforms.why",
    "fit", "scale", "explorer", "learn.functional", "learn.nn", "learn.optim", "learn", "compat.utils", "compat.autograd",
    "compat.autograd.misc", "compat", "",
)  # fmt: skip

# What each layer may import of the project, besides itself: those below it, of which the upper ones stand beside each other.
# The face may import everything and nobody the face.
BESIDE = {"explorer", "learn", "compat", "fit", "scale"}
_layers = tuple(dict.fromkeys(folder.partition(".")[0] for folder in ORDER if folder))
LAYERS: dict[str, set[str]] = {layer: set(_layers[:k]) - BESIDE for k, layer in enumerate(_layers)}
LAYERS[FACE] = set(LAYERS)

# Who knows that a recorder listens while a function is captured; the compiler's capture is one, and other folders ask
# functions (tracer/core/listening.py).
LISTENED = {"tracer.core", "tracer.memory"}

# What else a module may import at its top level, besides the standard library. Within a function the choice is
# free: that is how what is optional, or slow to import, is imported.
FOREIGN: dict[str, set[str]] = {layer: {"numpy"} for layer in LAYERS}
FOREIGN["transforms"] = {"numpy", "gast", "astunparse", "optree"}
FOREIGN |= {"runtime": set(), "tracer": set(), "unpatched": {"numpy"}}  # from there rules and engine have NumPy
_OF_SCIPY = (
    "special", "special_integrals", "special_functions", "special_elliptic", "special_harmonics", "special_distributions",
    "special_noncentral", "scipy_distance", "scipy_fft", "scipy_filters", "scipy_integrate", "scipy_linalg", "scipy_ndimage",
    "scipy_optimize", "scipy_signal", "scipy_statistics", "distributions", "distribution_families", "distribution_functions",
    "distribution_moments", "row_products", "scipy_interpolate", "scipy_iterations", "scipy_matrices", "scipy_resampling",
    "scipy_design", "scipy_sparse", "scipy_sparse_forms", "scipy_splines", "scipy_spectra", "scipy_windows", "shape_slopes",
)  # fmt: skip
for _rules in _OF_SCIPY:
    FOREIGN[f"runtime.rules.{_rules}"] = {"scipy"}
FOREIGN["fit.result"] = {"numpy", "scipy"}  # a class of SciPy's with more methods; loaded where SciPy runs


class Import(NamedTuple):
    """One imported name: where, what (dotted, the project's own without `gradscribe.`), and of which sort.

    What is imported for types alone (`if TYPE_CHECKING:`) is not there at run time.
    """

    line: int
    target: str
    ours: bool
    absolute: bool
    top_level: bool
    run_time: bool


def config() -> configparser.ConfigParser:
    """setup.cfg, read."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def names_recorder(source: str) -> list[int]:
    """The lines that name the recorder of the running thread (`LOCAL.recorder`)."""
    if "recorder" not in source:
        return []
    return [node.lineno for node in nodes_of(source) if isinstance(node, ast.Attribute) and node.attr == "recorder"]


def packages_listed() -> list[str]:
    """The packages that setup.cfg names."""
    return config()["options"]["packages"].split()


def folders() -> list[Path]:
    """The root's folders that belong to the project, not to a tool, an environment or a build."""
    passing = {"build", "dist", "__pycache__"}
    return sorted(
        p for p in ROOT.iterdir()
        if p.is_dir() and p.name not in passing and not p.name.startswith(".") and p.suffix != ".egg-info"
    )  # fmt: skip


def folder_of_package(package: str) -> Path:
    """Where a package lies: names that are made at run time have a folder of stubs."""
    path = Path(*package.split(".")[1:])
    return ROOT / path if (ROOT / path).is_dir() else ROOT / "stubs" / path


def packages_on_disk() -> list[str]:
    """The packages that the disk holds: every folder with an __init__.py, and those for type checkers alone."""
    found = [p.parent.relative_to(ROOT) for folder in folders() for p in folder.rglob("__init__.py")]
    found += [p.parent.relative_to(ROOT / "stubs") for p in (ROOT / "stubs").rglob("__init__.pyi")]
    return sorted([FACE, *(".".join((FACE, *p.parts)) for p in found)])


def modules() -> Iterator[tuple[str, Path]]:
    """Every module that ships, as its dotted name below `gradscribe` (`tracer.tensor`, `tracer`) and its file."""
    yield "", ROOT / "__init__.py"
    yield "__main__", ROOT / "__main__.py"
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")) if layer != FACE else []:
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def layer_of(module: str) -> str:
    """The layer of a module, told by the first part of its dotted name."""
    first = module.partition(".")[0]
    return first if first in LAYERS else FACE


@functools.cache
def imports_of(source: str, module: str, is_package: bool) -> tuple[Import, ...]:
    """Every import in a module's text, with relative ones resolved; `import_module("...")` of a literal counts.

    These are kept for the next check, and not the tree: the trees of all modules slow down every collection of garbage.
    """
    package = module.split(".") if module else []
    return tuple(_imports(source, package if is_package else package[:-1]))


def _imports(source: str, package: list[str]) -> Iterator[Import]:
    for node, *place in _nodes(ast.parse(source), "import_module" in source or "__import__" in source):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _absolute(line, alias.name, *place)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                dotted = ".".join(filter(None, [node.module, alias.name]))
                if node.level:
                    yield Import(line, _resolve(package, node.level, dotted), True, False, *place)
                else:
                    yield _absolute(line, dotted, *place)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                level = len(first.value) - len(first.value.lstrip("."))
                if level:
                    yield Import(line, _resolve(package, level, first.value[level:]), True, False, *place)
                else:
                    yield _absolute(line, first.value, *place)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def nodes_of(source: str) -> list[ast.AST]:
    """Return the nodes of a module's text, the outer ones first; those without fields (`Load`, `Add`, `pass`) apart."""
    found: list[ast.AST] = [ast.parse(source)]
    for node in found:
        found += _children(node)
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes with fields directly below one; `ast.iter_child_nodes` takes three times as long."""
    found: list[ast.AST] = []
    for value in node.__dict__.values():
        if type(value) is list:
            found += [v for v in value if isinstance(v, ast.AST) and v._fields]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def _nodes(tree: ast.Module, expressions: bool) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Yield each statement, and each of the `expressions`, whether it stands outside of functions, and is there at run time."""
    left: list[tuple[ast.AST, bool, bool]] = [(tree, True, True)]
    while left:
        node, top, runs = left.pop()
        yield node, top, runs
        if top and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            runs = False
        top = top and not isinstance(node, _FUNCTIONS)
        left += [(child, top, runs) for child in _children(node) if expressions or isinstance(child, _STATEMENTS)]


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _resolve(package: list[str], level: int, dotted: str) -> str:
    up = level - 1
    if up > len(package):
        return f"<above {FACE}>.{dotted}"
    return ".".join([*package[: len(package) - up], *filter(None, [dotted])])


def _absolute(line: int, dotted: str, top_level: bool, run_time: bool) -> Import:
    ours = dotted == FACE or dotted.startswith(FACE + ".")
    return Import(line, dotted[len(FACE) + 1 :] if ours else dotted, ours, True, top_level, run_time)


def folder_of(module: str, is_package: bool) -> str:
    """The folder that a module lies in; of a package itself, that folder."""
    return module if is_package else module.rpartition(".")[0]


def upward(source: str, module: str, is_package: bool, known: dict[str, bool]) -> list[str]:
    """The imports of a module that point up ORDER, each as one line of text; `known` says which modules are packages."""
    here, found = folder_of(module, is_package), []
    if here not in ORDER:
        return [f"{module}: the folder {here} is missing in ORDER"]
    for target in targets_of(source, module, is_package, known):
        there = folder_of(target, known[target])
        inside = is_package and there.startswith(f"{here}." if here else "")
        if there != here and not inside and ORDER.index(there) > ORDER.index(here):
            found.append(f"{module or '__init__'}: imports {target}, and {there} stands above {here}")
    return found


def targets_of(source: str, module: str, is_package: bool, known: dict[str, bool], run_time: bool = False) -> set[str]:
    """The project's modules that a module imports; with `run_time` without what is imported for types alone."""
    found = set()
    for one in imports_of(source, module, is_package):
        target = one.target if one.ours and (one.run_time or not run_time) else ""
        while target and target not in known:
            target = target.rpartition(".")[0]
        if target and target != module:
            found.add(target)
    return found


def circles() -> list[list[str]]:
    """The circles of imports at run time within folders."""
    known = {name: path.name == "__init__.py" for name, path in modules()}
    graph = {}
    for name, path in modules():
        targets = targets_of(path.read_text(encoding="utf-8"), name, known[name], known, run_time=True)
        graph[name] = {t for t in targets if not known[name] and folder_of(t, known[t]) == folder_of(name, known[name])}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [error.args[1]]
    return []


def violations(source: str, module: str, is_package: bool, stdlib: frozenset[str]) -> list[str]:
    """What is wrong with a module's imports, each as one line of text: upward, absolute, or foreign."""
    layer, found = layer_of(module), []
    foreign = FOREIGN.get(module, FOREIGN[layer])
    for line, target, ours, absolute, top_level, _ in imports_of(source, module, is_package):
        where = f"{module or '__init__'}:{line}"
        if not ours:
            name = target.partition(".")[0]
            if top_level and name not in stdlib and name not in foreign:
                found.append(f"{where}: {layer} imports {name} at its top level; it may import {sorted(foreign)}")
        elif absolute:
            found.append(f"{where}: imports gradscribe.{target} absolutely; inside the project imports are relative")
        elif target.startswith("<above"):
            found.append(f"{where}: imports {target}, which is outside the package")
        elif layer_of(target) not in LAYERS[layer] | {layer}:
            found.append(f"{where}: {layer} imports {target or FACE} of {layer_of(target)}; imports only point down")
    return found
