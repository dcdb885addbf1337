"""gs.export(target="c"): a function and its gradient as a file of C, its header, and a loader for Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.errors import CompileError, VerifyError
from ..compiler.native.alone import Alone, Parameter, Standalone
from ..compiler.native.build import FLAGS, compiler
from ..compiler.native.emit import standalone_of
from ..compiler.native.inlining import inlined
from ..compiler.native.values import RefusedError
from ..compiler.source import Source
from ..difference import difference
from ..trees import flatten
from .export_capture import Exported
from .export_inputs import leaves_of

__all__ = ["c_files"]

_OWN = ("-march=native", "-shared", "-fPIC", "-w")  # flags of a library for this machine
_FLAGS = [flag for flag in FLAGS if flag not in _OWN]
_WIDTH = 100

LOADER = '''"""`{name}` of {stem}.c, for NumPy. Build the library beside this file: {command}."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

_ARGUMENTS: list[tuple[str, str, Any]] = {arguments}
_RESULTS: list[tuple[str, str, Any]] = {results}
_SIZES = {sizes}
_TYPES = {{"float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64, "bool": ctypes.c_uint8}}
_function = ctypes.CDLL(str(Path(__file__).with_name("{stem}.so"))).{name}


def {name}({parameters}) -> Any:
    """Return {said}."""
    sizes: dict[str, int] = {{}}
    given: list[Any] = []
    for (label, dtype, axes), value in zip(_ARGUMENTS, ({tuple}), strict=True):
        array = np.asarray(value, order="C")
        if array.dtype != dtype or array.ndim != len(axes or ()):
            wanted = f"{{dtype}}[{{', '.join(axes or ())}}]"
            raise TypeError(f"{{label}} must be {{wanted}}, not {{array.dtype}} of shape {{array.shape}}")
        for axis, n in zip(axes or (), array.shape, strict=True):
            if sizes.setdefault(axis, int(axis) if axis.isdigit() else n) != n:
                raise ValueError(f"{{label}} has an axis of length {{n}}, where {{axis}} is {{sizes[axis]}}")
        given.append(_TYPES[dtype](array[()]) if axes is None else array)
    found = [np.empty([sizes.get(a, a) for a in axes or ()], dtype) for _, dtype, axes in _RESULTS]
    lengths = [ctypes.c_int64(sizes[name]) for name in _SIZES]
    places = [ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else x for x in (*given, *found)]
    if _function(*lengths, *places):
        raise ValueError("{name} has no result for these arguments: an index, a pivot or a length does not fit")
    return {returned}
'''


def c_files(job: Exported, path: str | os.PathLike[str] | None, check: bool) -> Source:
    """Write the C of a function, with its header and its loader beside it; the text of the C."""
    if path is not None and Path(path).suffix != ".c":
        raise ValueError(
            f"gs.export(target='c') writes a file of C, its header and a loader: path ends in .c, not {path}"
        )
    stem = Path(path).stem if path is not None else f"{job.label}_grad" if job.places else job.label
    if not stem.isidentifier():
        raise ValueError(f"gs.export(target='c') needs a file name that Python and C can import, not {stem!r}")
    names = _result_names(job)
    alone = Alone(lambda n: job.axes.names.get(n, str(n)), job.small, lambda keys: names(keys))
    specialisation = job.captured.specialisation
    try:
        made = standalone_of(specialisation.program(["in_place"], inlined), alone)
    except RefusedError as why:
        raise CompileError(f"gs.export: `{job.label}` cannot be exported to C, because {why}.") from None
    head = _said(job, made, stem)
    header = _header(job, made, stem, head)
    code = _code(job, made, stem, head)
    loader = _loader(job, made, stem)
    if check and compiler() is not None:
        _checked(job, made, {f"{stem}.c": code, f"{stem}.h": header, f"{stem}_c.py": loader}, stem)
    result = Source(code, language="C")
    if path is not None:
        result.save(path)
        Path(path).with_suffix(".h").write_text(header, encoding="utf-8")
        Path(path).with_name(f"{stem}_c.py").write_text(loader, encoding="utf-8")
    return result


def _result_names(job: Exported) -> Any:
    """A function from the place of a result to its name."""

    def words(keys: tuple[Any, ...]) -> str:
        return "".join(f"_{re.sub(r'[^0-9A-Za-z_]', '_', str(k).lstrip('.'))}" for k in keys)

    def name(keys: tuple[Any, ...]) -> str:
        if not job.places:
            return f"out{words(keys)}"
        if keys[0] == 0:
            return "value"
        rest = keys[1:]
        place, rest = (job.places[rest[0]], rest[1:]) if job.several else (job.places[0], rest)
        return f"d_{place}{words(rest)}"

    return name


def _shape(p: Parameter) -> str:
    return f"{p.dtype}[{', '.join(p.axes)}]" if p.axes is not None else p.dtype


def _command(stem: str, made: Standalone, shared: bool) -> str:
    more = ["-shared", "-fPIC", f"{stem}.c", "-o", f"{stem}.so", "-lm"] if shared else ["-c", f"{stem}.c"]
    return " ".join(["cc", *_FLAGS, *more])


def _said(job: Exported, made: Standalone, stem: str) -> str:
    """What the header says above the declaration."""
    version = sys.modules[__name__.partition(".")[0]].__version__
    gradient = " and its gradient" if job.places else ""
    paragraphs = [
        f"`{job.label}`{gradient}, by gradscribe {version}. Needs the C library and its maths alone.",
        f"Build: {_command(stem, made, False)}. These flags give the bits of gradscribe's native target; add -march=native for "
        "the units of your processor. Without -ffp-contract=off, -fwrapv and -fno-strict-aliasing results can be others.",
    ]
    if made.uses_vectors:
        paragraphs.append(
            "With glibc, -DGRADSCRIBE_LIBMVEC and -lmvec take its maths for vectors, as the native target does."
        )
    if made.uses_blas:
        paragraphs.append(
            "Matrix products of more than 2,048 multiplications (16,384 with a vector) are calls of cblas_dgemm and its "
            "like with -DGRADSCRIBE_BLAS, linked with the BLAS of your choice (-lopenblas, -lcblas, -lmkl_rt); without it, "
            "loops of this file. '-DGRADSCRIBE_BLAS_NAME(name)=cblas_##name##64_' and -DGRADSCRIBE_BLAS_INT=int64_t are for "
            "one whose ints have 64 bits and whose names say so."
        )
    rows = [f"{p.name}: {_shape(p)}" for p in made.arguments] + [
        f"{p.name} (result): {_shape(p)}" for p in made.results
    ]
    paragraphs.append(f"Arrays lie in C order. {'; '.join(rows)}.")
    paragraphs.append(
        "A result whose pointer is NULL is left out; results may not overlap. Returns 0, or 1 where there is no result: no "
        "memory, or an index, a pivot, a length or a branch of Python's that does not fit; then nothing is written. It keeps "
        "no state: threads may call it at once."
    )
    wrapped = [
        "\n".join(textwrap.wrap(p, _WIDTH - 3, break_long_words=False, break_on_hyphens=False)) for p in paragraphs
    ]
    return "/* " + textwrap.indent("\n\n".join(wrapped), "   ").lstrip() + " */"


def _header(job: Exported, made: Standalone, stem: str, head: str) -> str:
    guard = f"{stem.upper()}_H"
    declared = _wrapped(made.declaration(job.name))
    return (
        f'{head}\n#ifndef {guard}\n#define {guard}\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern "C" {{\n#endif\n'
        f"{declared};\n#ifdef __cplusplus\n}}\n#endif\n#endif\n"
    )


def _code(job: Exported, made: Standalone, stem: str, head: str) -> str:
    body = made.text.replace("@DECLARATION@", _wrapped(made.declaration(job.name)))
    return f"{head}\n{body}"


def _wrapped(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first}\n" + "\n".join(
        textwrap.wrap(rest.strip(), _WIDTH, initial_indent="    ", subsequent_indent="    ")
    )


def _loader(job: Exported, made: Standalone, stem: str) -> str:
    names = [p.name for p in made.arguments]
    results = [f"found[{k}]" + "[()]" * (p.axes is None) for k, p in enumerate(made.results)]

    def table(parameters: tuple[Parameter, ...]) -> str:
        return f"{[(p.name, p.dtype, p.axes) for p in parameters]}".replace("'", '"')

    return LOADER.format(
        name=job.name,
        stem=stem,
        command=_command(stem, made, True),
        arguments=table(made.arguments),
        results=table(made.results),
        sizes=f"{list(made.sizes)}".replace("'", '"'),
        parameters=", ".join(f"{n}: Any" for n in names),
        tuple="".join(f"{n}, " for n in names),
        said=", ".join(p.name for p in made.results),
        returned=", ".join(results),
    )


def _checked(job: Exported, made: Standalone, files: dict[str, str], stem: str) -> None:
    """Compile the C and hold it to what eager gave; VerifyError where it differs."""
    found = compiler()
    assert found is not None
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        command = [*found.command, *_FLAGS, "-w", "-shared", "-fPIC", f"{stem}.c", "-o", f"{stem}.so", *found.libraries]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise VerifyError(
                f"gs.export: the C of `{job.label}` does not compile: {done.stderr[:500]}. Please report it."
            )
        space: dict[str, Any] = {"__name__": "exported", "__file__": os.path.join(folder, f"{stem}_c.py")}
        exec(compile(files[f"{stem}_c.py"], "<exported>", "exec"), space)
        given = {**job.values, **{k: a for k, a in job.outside.items() if k not in job.small}}
        leaves = {
            "_".join([label, *[re.sub(r"[^0-9A-Za-z_]", "_", str(k).lstrip(".")) for k in keys]]): leaf
            for label, value in given.items() for keys, leaf in leaves_of(value)
        }  # fmt: skip
        try:
            result = space[job.name](*[leaves[p.label] for p in made.arguments])
        except Exception as error:
            raise VerifyError(f"gs.export: the C of `{job.label}` raised {error!r}.") from None
    eager = flatten(job.captured.result)[0]
    results = result if isinstance(result, tuple) else (result,)
    problem = difference(tuple(results), tuple(map(_plain, eager)), float(np.sqrt(np.finfo(float).eps)))
    if problem is not None and "has dtype, shape, strides" not in problem:
        raise VerifyError(f"gs.export: the C of `{job.label}` differs from eager ({problem}). Please report it.")


def _plain(x: Any) -> Any:
    return np.float64(x) if type(x) is float else x
