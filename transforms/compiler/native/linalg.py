"""Small systems of equations in C: solve, inverse, determinants, Cholesky; what is large or singular NumPy does, in place."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime import rules
from ....runtime.ir.graph import Call, Value
from ....runtime.ops import Op
from ....runtime.registry import require
from .boxes import box
from .calls import python_call
from .values import CTYPES, Arr, Num, UnmodelledError, contiguous, product, suffix

if TYPE_CHECKING:
    from .views import Place

__all__ = ["SMALL", "asked", "copied_out", "systems"]

SMALL = 16  # rows of a matrix up to which C is quicker than the way to LAPACK
FEW = 4  # right-hand sides up to which C solves systems of a factor of any size


def matrix(block: Place, x: Any) -> Arr:
    """A square matrix of floats."""
    found = block.env.get(x) if isinstance(x, Value) else None
    if not isinstance(found, Arr) or len(found.dims) != 2 or found.dtype.kind != "f":
        raise UnmodelledError
    if (found.dims[0] == "1") != (found.dims[1] == "1"):
        raise UnmodelledError
    block.unified(*found.dims)
    read = block.read(x)
    assert isinstance(read, Arr)
    return read._replace(dims=block.roots(read.dims))


def asked(block: Place, call: Call, lines: list[str]) -> str:
    """Lines that ask Python for the result of a call: the object of it; C that stands alone gives up."""
    e = block.emitter
    if e.alone is not None:
        lines.append("goto punt;")
        return ""
    reads = list(dict.fromkeys(call.reads))
    boxes = [box(block, lines, block.read(v)) for v in reads]
    k = e.object()
    e.calls.append(python_call(call, reads, call.quiet))
    lines.append(f"PyObject *argv[] = {{{', '.join(boxes)}}};")
    lines.append(f"hold(f, {k}, PyObject_Vectorcall(st->calls[{len(e.calls) - 1}], argv, {len(boxes)}, 0));")
    lines.append(f"if (!f->o[{k}]) goto fail;")
    return f"f->o[{k}]"


def copied_out(text: str, to: Arr) -> list[str]:
    """Lines that copy an array of Python's, however it lies, into one of the kernel's of the same lengths, in C order."""
    s, t = suffix(to.dtype), CTYPES[to.dtype.name]
    if not text:
        return []
    lines = [f"if (!is_array(st, {text}, {s.upper()}, {len(to.dims)})) goto punt;"]
    given, inner = f"(const char *)ARRAY({text})->data", to.p
    together, loops = [], ""
    for k, (d, step) in enumerate(zip(to.dims, to.strides, strict=True)):
        lines.append(f"if (ARRAY({text})->dims[{k}] != {d}) goto punt;")
        together.append(f"({d} <= 1 || ARRAY({text})->strides[{k}] == (int64_t)sizeof({t}) * ({step}))")
        loops += f"for (int64_t i{k} = 0; i{k} < {d}; i{k}++) "
        given += f" + i{k} * ARRAY({text})->strides[{k}]"
        inner += f" + i{k} * ({step})"
    whole = f"memcpy({to.p}, ARRAY({text})->data, sizeof({t}) * ({product(to.dims)}));"
    return [
        *lines,
        f"if ({' && '.join(together) or '1'}) {whole}",
        f"else {loops}memcpy({inner}, {given}, sizeof({t}));",
    ]


class _System:
    """One call: a copy of its matrix, and memory for its result."""

    def __init__(self, block: Place, call: Call, shape: tuple[str, ...] | None) -> None:
        self.block, self.call = block, call
        self.a = matrix(block, call.args[0])
        self.n, self.t, self.s = self.a.dims[0], CTYPES[self.a.dtype.name], suffix(self.a.dtype)
        e = block.emitter
        self.name, self.work = e.name(call.outs[0]), e.name("work")
        size = SMALL * SMALL if e.alone is None else f"{self.n} * {self.n}"
        room = f"room(f, {e.slot()}, sizeof({self.t}) * {size})"
        self.lines = [f"{self.t} *const {self.work} = {room};", f"if (!{self.work}) goto punt;"]
        self.copy = Arr(self.work, self.a.dims, contiguous(self.a.dims), self.a.dtype, "", True)
        self.out: Arr | None = None
        if shape is not None:
            if call.outs[0].type.dtype != self.a.dtype or len(shape) != len(call.outs[0].type.shape):
                raise UnmodelledError
            self.out = Arr(self.name, shape, contiguous(shape), self.a.dtype, "", True)
            self.lines += [f"{self.t} *const {self.name} = {block.room(call.outs[0], shape)};"]
            self.lines += [f"if (!{self.name}) goto punt;"]

    def finish(
        self, own: list[str], test: str, otherwise: list[str], most: str = "", blas: str = "", first: Sequence[str] = ()
    ) -> int:
        """Put the lines together: C where the matrix is small, or `most` holds, and so does the test; or else BLAS, or Python."""
        done = self.block.emitter.name("done")
        head = [*self.lines, f"int {done} = 0, {done}_sign = 1; (void){done}_sign;"]
        body = [*first, *own, f"{done} = {test.format(sign=f'&{done}_sign')};"]
        always = self.block.emitter.alone is not None or most == "1"
        test = "" if always else f"if ({self.n} <= {SMALL}{most and f' || {most}'}) "
        if blas and not always:
            body += ["} else {", *own, f"{done} = {blas};"]
        inside = [line if line.startswith("}") else f"    {line}" for line in body]
        return self.block.group(
            *head, f"{test}{{{self.block.comment(self.call)}", *inside, "}",
            f"if (!{done}) {{", *[f"    {line}" for line in otherwise], "}",
        )  # fmt: skip

    def array(self, own: list[str], test: str, most: str = "", blas: str = "", first: Sequence[str] = ()) -> None:
        """The same, of a result that is an array."""
        assert self.out is not None
        otherwise: list[str] = []
        text = asked(self.block, self.call, otherwise)
        otherwise += copied_out(text, self.out)
        g = self.finish(own, test, otherwise, most, blas, first)
        out = self.call.outs[0]
        held = self.block.held.get(out, "")
        self.block.env[out] = self.out._replace(obj=held, made=out in self.block.held)
        self.block.level[out] = g + 1


def solve(block: Place, call: Call, trans: bool = False, lower: bool | None = None) -> None:
    """A system of equations; `lower` says which triangle of its matrix is read alone, `trans` that it is turned then."""
    b = block.env.get(call.args[1]) if isinstance(call.args[1], Value) else None
    a = block.env.get(call.args[0]) if isinstance(call.args[0], Value) else None
    if not isinstance(b, Arr) or not isinstance(a, Arr) or a.dtype != b.dtype or len(b.dims) > 2 or len(a.dims) != 2:
        raise UnmodelledError
    if (a.dims[0] == "1") != (b.dims[0] == "1"):
        raise UnmodelledError
    block.unified(a.dims[0], b.dims[0])
    b = block.read(call.args[1])
    assert isinstance(b, Arr)
    system = _System(block, call, block.roots(b.dims))
    assert system.out is not None
    n, s, work, name = system.n, system.s, system.work, system.name
    columns = system.out.dims[1] if len(system.out.dims) == 2 else "1"
    given = block.copied(system.out, b, "=")
    turned = _turned(block, call.args[0], system.a)
    if turned is not None and lower is not turned:
        system.lines = system.lines[2:]  # the factor is read where it lies
        turned = turned != trans
        most = "1" if columns.isdigit() and int(columns) <= FEW else f"{columns} <= {FEW}"
        blas = f"trsm_{s}(st, {system.a.p}, {n}, 1, {name}, {n}, {columns}, {int(turned)}, 1)"
        system.array(given, f"triangle_{s}({system.a.p}, {name}, {n}, {columns}, {int(turned)}, 1)", most, blas)
        return
    copied = block.copied(system.copy, system.a, "=")
    if lower is None:
        system.array([*copied, *given], f"lu_{s}({work}, {name}, {n}, {columns}, {{sign}})")
        return
    down, across = system.a.strides
    blas = f"trsm_{s}(st, {system.a.p}, {down}, {across}, {name}, {n}, {columns}, {int(trans)}, {int(lower)})"
    small = f"triangle_{s}({work}, {name}, {n}, {columns}, {int(trans)}, {int(lower)})"
    system.array(given, small, "", blas, copied)


def _turned(block: Place, x: Any, a: Arr) -> bool | None:
    """Whether a matrix is a Cholesky factor (False), which lies in C order, or its transpose (True); None where it is neither."""
    maker = block.emitter.makers.get(x)
    turned = maker is not None and maker.op.base is require(np.transpose).base
    if turned:
        maker = block.emitter.makers.get(maker.args[0])
    if maker is None or maker.op.base is not require(np.linalg.cholesky).base or any(maker.args[1:]):
        return None
    step, one = a.strides[::-1] if turned else a.strides
    return turned if one == "1" and block.root(step) == block.root(a.dims[0]) else None


def inverse(block: Place, call: Call) -> None:
    system = _System(block, call, block.roots(block.env[call.args[0]].dims))  # type: ignore[union-attr]
    n, name = system.n, system.name
    own = block.copied(system.copy, system.a, "=")
    own.append(f"for (int64_t i = 0; i < {n}; i++) for (int64_t j = 0; j < {n}; j++) {name}[i * {n} + j] = i == j;")
    system.array(own, f"lu_{system.s}({system.work}, {name}, {n}, {n}, {{sign}})")


def cholesky(block: Place, call: Call) -> None:
    if any(x for x in call.args[1:]):  # upper
        raise UnmodelledError
    system = _System(block, call, block.roots(block.env[call.args[0]].dims))  # type: ignore[union-attr]
    assert system.out is not None
    own = block.copied(system.out, system.a, "=")
    system.array(own, f"cholesky_{system.s}({system.name}, {system.n})")


def slogdet(block: Place, call: Call) -> None:
    if len(call.outs) != 2 or any(v.type.shape for v in call.outs):
        raise UnmodelledError
    system = _System(block, call, None)
    if any(v.type.dtype != system.a.dtype for v in call.outs):
        raise UnmodelledError
    e, n, t = block.emitter, system.n, system.t
    sign, log = system.name, e.name(call.outs[1])
    single = "f" if system.s == "f" else ""
    system.lines.append(f"{t} {sign} = 0, {log} = 0;")
    otherwise: list[str] = []
    text = asked(block, call, otherwise)
    for k, to in enumerate((sign, log) if text else ()):
        part = e.object()
        otherwise += [f"hold(f, {part}, PySequence_GetItem({text}, {k}));", f"if (!f->o[{part}]) goto fail;"]
        otherwise += [f"{to} = ({t})PyFloat_AsDouble(f->o[{part}]);", f"if ({to} == -1 && PyErr_Occurred()) goto fail;"]
    own = block.copied(system.copy, system.a, "=")
    g = system.finish(own, f"lu_{system.s}({system.work}, 0, {n}, 0, {{sign}})", otherwise)
    lines = block.groups[g].lines
    done = next(line.split()[1] for line in lines if line.startswith("int done"))
    value = f"{system.work}[i * {n} + i]"
    lines += [
        f"if ({done}) {{", f"    {sign} = {done}_sign;", f"    for (int64_t i = 0; i < {n}; i++) {{",
        f"        {sign} *= {value} < 0 ? -1 : 1;", f"        {log} += log{single}(fabs{single}({value}));", "    }", "}",
    ]  # fmt: skip
    for v, name in zip(call.outs, (sign, log), strict=True):
        block.env[v] = Num(name, system.a.dtype, v.type.kind)
        block.level[v] = g + 1


def triangular(block: Place, call: Call) -> None:
    """A system whose matrix is a factor, of which one triangle is read."""
    trans, lower = call.args[2:]
    if type(trans) is not int or type(lower) is not bool:
        raise UnmodelledError
    solve(block, call, trans > 0, lower)


def of_cholesky(block: Place, call: Call) -> None:
    """The transposed system of a Cholesky factor."""
    solve(block, call, trans=True, lower=True)


def systems() -> dict[Op, Callable[[Place, Call], None]]:
    """By op: what writes a call of it."""
    return _systems(SCIPYS in sys.modules)  # whose op is there when its rules are


SCIPYS = f"{rules.__name__}.scipy_linalg"


@functools.cache
def _systems(with_scipy: bool) -> dict[Op, Callable[[Place, Call], None]]:
    found: dict[Any, Callable[[Place, Call], None]] = {
        np.linalg.solve: solve, np.linalg.inv: inverse, np.linalg.cholesky: cholesky, np.linalg.slogdet: slogdet,
    }  # fmt: skip
    if with_scipy:
        found[sys.modules[SCIPYS].solve_factor] = triangular
        found[sys.modules[SCIPYS].solve_cholesky] = of_cholesky
    return {require(fn).base: handler for fn, handler in found.items()}
