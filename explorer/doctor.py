"""`gradscribe doctor`: versions, optional packages, and whether tracing, compiling and the disk cache work here."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..transforms.compiler.compile import compile
from ..transforms.compiler.driver import cache
from ..transforms.compiler.driver.guards.quick import is_built
from ..transforms.compiler.explain import explain
from ..transforms.compiler.native import threads
from ..transforms.compiler.native.build import NONE, compiler, vector_units
from ..transforms.derivatives.gradient import grad

__all__ = ["Check", "doctor", "text"]

_NEEDED = ("numpy", "gast", "astunparse", "optree", "platformdirs")
_OPTIONAL = {
    "scipy": "scipy.special and the other functions of SciPy",
    "cloudpickle": "lambdas and functions of __main__ in other processes",
    "pygments": "colours of source in notebooks",
    "torch": "gs.to_torch",
    "jax": "gs.to_jax",
}


class Check(NamedTuple):
    """One line: what was looked at, what was found, and whether it is well (None: only told)."""

    name: str
    found: str
    ok: bool | None = None


def doctor(version: str) -> list[Check]:
    """All checks, in order."""
    checks = [
        Check("gradscribe", f"{version}, {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}"),
        Check("Python", f"{platform.python_version()}, {sys.executable}", sys.version_info >= (3, 11)),
        Check("system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"),
        *[Check(name, _version(name) or "is missing", _version(name) is not None) for name in _NEEDED],
        Check("BLAS of NumPy", _blas()),
        *[Check(name, _version(name) or f"not installed (optional: {why})") for name, why in _OPTIONAL.items()],
        *[Check(name, os.environ[name]) for name in sorted(os.environ) if name.startswith("GRADSCRIBE_")],
        _cache(),
        Check(
            "guards",
            "in C" if is_built() else "in Python: the extension was not built, which takes a C compiler and Python.h",
        ),
    ]
    tried: list[tuple[str, Callable[[], str]]] = [("gradients", _gradient), ("compiled code", _compiled)]
    if compiler() is None:
        checks.append(Check("native target", f"{NONE}: NumPy runs in its place"))
    else:
        tried.append(("native target", _native))
    return [*checks, *[_tried(name, run) for name, run in tried]]


def text(checks: list[Check]) -> str:
    """One line a check, and the verdict."""
    width = max(len(check.name) for check in checks)
    marks = {True: "ok", False: "BAD", None: ""}
    lines = [f"{check.name:<{width}}  {marks[check.ok]:<3}  {check.found}".rstrip() for check in checks]
    bad = [check.name for check in checks if check.ok is False]
    return "\n".join([*lines, "", f"Something is wrong with: {', '.join(bad)}." if bad else "All is well."])


def _version(name: str) -> str | None:
    if importlib.util.find_spec(name) is None:
        return None
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "installed"


def _blas() -> str:
    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {}) if isinstance(config, dict) else {}
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def _cache() -> Check:
    place = cache.folder()
    if place is None:
        return Check("disk cache", "off: GRADSCRIBE_CACHE says so, or there is no home folder")
    reason = cache.refused(place)
    if reason is not None:
        return Check("disk cache", f"{place}: {reason}; nothing is read from it or written to it", False)
    return Check("disk cache", f"{place}: {cache.contents(place).entries} sources", True)


def _tried(name: str, run: Callable[[], str]) -> Check:
    try:
        return Check(name, run(), True)
    except Exception as error:
        return Check(name, f"{type(error).__name__}: {error}", False)


def _loss(x: Any) -> Any:
    for _ in range(3):
        x = np.sin(x) * x
    return np.sum(x)


def _gradient() -> str:
    x, step = np.array([0.5, 1.5]), 1e-6
    found = grad(_loss)(x)
    measured = np.array([(_loss(x + step * e) - _loss(x - step * e)) / (2 * step) for e in np.eye(2)])
    if not np.allclose(found, measured, rtol=1e-6):
        raise ArithmeticError(f"{found} where finite differences give {measured}")
    return "as finite differences give them"


def _compiled() -> str:
    function = compile(grad(_loss), verify="first calls")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.array([0.5, 1.5]), np.array([1.0, 2.0]), np.array([1.0, 2.0])):
            if not np.array_equal(function(x), grad(_loss)(x)):
                raise ArithmeticError(f"{function(x)} where eager gives {grad(_loss)(x)}")
    return "the same bits as eager"


def _native() -> str:
    function, found = compile(grad(_loss), target="native"), compiler()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.array([0.5, 1.5]), np.array([1.0, 2.0])):
            if not np.allclose(function(x), grad(_loss)(x), rtol=1e-12):
                raise ArithmeticError(f"{function(x)} where eager gives {grad(_loss)(x)}")
    runs = explain(function).specialisations[0].runs
    if not runs.startswith("native"):
        raise RuntimeError(runs)
    place = cache.folder()
    kernels = 0 if place is None else len(list(Path(place).glob("native_*.so")))
    command = "" if found is None else " ".join(found.command)
    n = threads.size()
    shared = f"{n} thread{'s' * (n > 1)} for a loop"
    return f"{command}, {vector_units()}, {shared}, {kernels} kernels kept; as eager but for rounding"
