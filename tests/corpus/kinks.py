"""The table of docs/kinks.md: each row run by gradscribe, PyTorch and JAX, and written down. Usage: kinks.py [--write]

`--write` puts in what the libraries that are installed say (gradscribe, PyTorch and JAX may be in several environments).
"""

from __future__ import annotations

import cmath
import importlib.util
import math
import re
import statistics
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kinks.md"
PYTHON = {module.__name__: module for module in (math, cmath, statistics)}
SCIPY = (
    "special",
    "linalg",
    "signal",
    "ndimage",
    "interpolate",
    "integrate",
    "optimize",
    "stats",
    "fft",
)  # under these names
NO_PYTHON = dict.fromkeys(PYTHON, types.SimpleNamespace())  # of other libraries, whose numbers these do not know
NO_SCIPY = dict.fromkeys(SCIPY, types.SimpleNamespace())
ROW = re.compile(r"^\| `(?P<code>[^`]+)` \| (?P<at>[^|]+) \|(?P<rest>.*)\|$", re.M)


class Row(NamedTuple):
    """One row: an expression of x (and y), where, and the gradients that the page states."""

    code: str
    at: str
    ours: str
    torch: str
    jax: str
    follows: str
    singular: str

    @property
    def arguments(self) -> list[Any]:
        """The arguments as arrays or NumPy's numbers."""
        return [np.asarray(a)[()] for a in eval(f"dict({self.at})", {"inf": np.inf, "nan": np.nan}).values()]


def rows(text: str) -> list[tuple[re.Match[str], Row]]:
    """Every row of the page, with where it stands."""
    found = []
    for match in ROW.finditer(text):
        cells = [c.strip() for c in match["rest"].split("|")]
        found.append((match, Row(match["code"], match["at"].strip(), *(cells + [""] * 5)[:5])))
    return found


def shown(gradients: Any) -> str:
    """Gradients as the page writes them: four figures, one for each argument."""
    return "; ".join(_number(np.asarray(g).tolist()) for g in gradients)


def _number(g: Any) -> str:
    if isinstance(g, list):
        return f"[{', '.join(map(_number, g))}]"
    if isinstance(g, complex):
        return f"{_number(g.real)}{'-' if g.imag < 0 else '+'}{_number(abs(g.imag))}j"
    return "0" if g == 0 else f"{g:.4g}"


def written(row: Row, space: dict[str, Any], sum_up: str) -> Callable[..., Any]:
    """The row as a function that gives a scalar."""
    names = ", ".join("xy"[: len(row.arguments)])
    scope = dict(space)
    exec(f"def f({names}):\n    return {sum_up.format(row.code)}\n", scope)
    return scope["f"]  # type: ignore[no-any-return]


def by_gradscribe(row: Row) -> str:
    """What gradscribe gives."""
    import gradscribe as gs

    given = row.arguments
    with np.errstate(all="ignore"):
        return shown(gs.grad(function(row), argnums=tuple(range(len(given))))(*given))


def function(row: Row) -> Callable[..., Any]:
    """The row as a function of NumPy."""
    packages = {name: importlib.import_module(f"scipy.{name}") for name in SCIPY if f"{name}." in row.code}
    return written(row, {**packages, "np": np, **PYTHON}, "np.sum({})")


def by_torch(row: Row) -> str:
    """What PyTorch gives."""
    import torch

    given = [torch.tensor(a, dtype=_wide(a, torch), requires_grad=True) for a in row.arguments]
    try:
        out = written(row, {**NO_SCIPY, "np": torch_numpy(torch), "special": torch_special(torch), **NO_PYTHON}, "{}")(
            *given
        )
        found = torch.autograd.grad(out.sum(), given, allow_unused=True)
    except (AttributeError, TypeError, NotImplementedError, RuntimeError):
        return "—"  # it lacks the function, or its derivative
    return shown([np.zeros(x.shape) if g is None else g.numpy(force=True) for g, x in zip(found, given, strict=True)])


def _wide(a: Any, torch: Any) -> Any:
    return torch.complex128 if np.asarray(a).dtype.kind == "c" else torch.float64


def torch_numpy(torch: Any) -> Any:
    """PyTorch's functions under NumPy's names."""
    names = {
        "arcsin": "asin", "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2", "round": "round", "logaddexp": "logaddexp",
    }  # fmt: skip
    linalg = types.SimpleNamespace(
        norm=lambda x, ord=2: torch.linalg.matrix_norm(x, ord) if x.ndim == 2 else torch.linalg.vector_norm(x, ord),
        eigh=torch.linalg.eigh, eigvalsh=torch.linalg.eigvalsh, svd=torch.linalg.svd, det=torch.linalg.det, eig=torch.linalg.eig,
        slogdet=torch.linalg.slogdet, svdvals=torch.linalg.svdvals, pinv=torch.linalg.pinv, cond=torch.linalg.cond,
    )  # fmt: skip

    class Names(types.SimpleNamespace):
        def __getattr__(self, name: str) -> Any:
            return getattr(torch, names.get(name, name))

    return Names(
        linalg=linalg, max=torch.amax, min=torch.amin, sort=lambda x: torch.sort(x)[0], median=lambda x: torch.quantile(x, 0.5),
        std=lambda x: torch.std(x, correction=0), var=lambda x: torch.var(x, correction=0), clip=torch.clamp,
        sign=torch.sgn, cumprod=lambda x: torch.cumprod(x, 0), ptp=lambda x: torch.amax(x) - torch.amin(x),
        where=lambda c, x, y: torch.where(c, *[torch.as_tensor(v, dtype=torch.float64) for v in (x, y)]),
        maximum=lambda x, y: torch.maximum(x, torch.as_tensor(y, dtype=torch.float64)),
        heaviside=lambda x, y: torch.heaviside(x, torch.as_tensor(y, dtype=torch.float64)),
        copysign=lambda x, y: torch.copysign(x, torch.as_tensor(y, dtype=torch.float64)),
    )  # fmt: skip


def torch_special(torch: Any) -> Any:
    """PyTorch's special functions under SciPy's names."""

    class Names(types.SimpleNamespace):
        def __getattr__(self, name: str) -> Any:
            return getattr(torch.special, name)

    return Names(logsumexp=lambda x: torch.logsumexp(x, 0))


def by_jax(row: Row) -> str:
    """What JAX gives."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import jax.scipy

    given = [jnp.asarray(a) for a in row.arguments]
    try:
        packages = {name: getattr(jax.scipy, name) for name in SCIPY if hasattr(jax.scipy, name)}
        f = written(row, {**NO_SCIPY, **packages, "np": jnp, **NO_PYTHON}, "np.sum({})")
        found = jax.grad(f, argnums=tuple(range(len(given))))(*given)
    except (AttributeError, TypeError, NotImplementedError):
        return "—"
    return shown([np.conj(g) for g in found])  # in PyTorch's convention


RUNNERS = {"gradscribe": ("ours", by_gradscribe), "torch": ("torch", by_torch), "jax": ("jax", by_jax)}


def follows(row: Row) -> str:
    """Whose convention ours is."""
    said = {name: value for name, value in (("PyTorch", row.torch), ("JAX", row.jax)) if value not in ("", "—")}
    same = [name for name, value in said.items() if value == row.ours]
    return "both" if len(same) == 2 else same[0] if same else "own"


def raises(row: Row) -> str:
    """Whether `gs.singular("raise")` does."""
    import gradscribe as gs

    given = row.arguments
    try:
        with np.errstate(all="ignore"), gs.singular("raise"):
            gs.grad(function(row), argnums=tuple(range(len(given))))(*given)
    except gs.SingularPointError:
        return "yes"
    return ""


def write() -> None:
    """Put in what the installed libraries say."""
    text = PAGE.read_text(encoding="utf-8")
    pieces, end = [], 0
    for match, row in rows(text):
        for library, (field, run) in RUNNERS.items():
            if importlib.util.find_spec(library) is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    row = row._replace(**{field: run(row)})
        if importlib.util.find_spec("gradscribe") is not None:
            row = row._replace(singular=raises(row))
        row = row._replace(follows=follows(row))
        cells = (f"`{row.code}`", row.at, row.ours, row.torch, row.jax, row.follows, row.singular)
        pieces += [text[end : match.start()], f"| {' | '.join(cells)} |"]
        end = match.end()
    PAGE.write_text("".join([*pieces, text[end:]]), encoding="utf-8")


if __name__ == "__main__":
    write()
    sys.exit(0)
