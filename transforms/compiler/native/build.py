"""Builds: C text becomes a shared library, by a compiler in a child process, once for each text, compiler and processor."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["BuildError", "Compiler", "built", "compiler", "is_ours", "key_of"]

FLAGS = (
    "-O2", "-ftree-vectorize", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
    "-fno-strict-aliasing", "-fopenmp-simd", "-std=gnu11", "-fPIC", "-shared", "-w",
    *[f"-fno-builtin-{name}" for name in ("sin", "cos", "sinf", "cosf")],  # of the pair GCC makes one call, not for vectors
)  # fmt: skip
_SECONDS = 300  # after which a build is given up
_VECTORS = ("-lmvec",)  # glibc's maths for vectors


class BuildError(Exception):
    """Why there is no library."""


class Compiler(NamedTuple):
    """A C compiler: its path, and what tells it from another under this path."""

    path: str
    size: int
    changed: int


_without_vectors: set[Compiler] = set()  # compilers whose C library has none


def compiler() -> Compiler | None:
    """The C compiler on the PATH: gcc, cc or clang."""
    return _compiler(os.environ.get("PATH", os.defpath))


@functools.cache
def _compiler(path: str) -> Compiler | None:
    for name in ("gcc", "cc", "clang"):
        found = shutil.which(name, path=path)
        if found is not None:
            real = os.path.realpath(found)
            status = os.stat(real)
            return Compiler(found, status.st_size, status.st_mtime_ns)
    return None


@functools.cache
def _processor() -> str:
    """What the machine can do, for which the libraries are built."""
    try:
        rows = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        rows = [platform.processor()]
    kept = [row for row in rows if row.lower().startswith(("flags", "features", "model name", "cpu part"))]
    return "\n".join([platform.machine(), *(kept or rows)])


def key_of(text: str, by: Compiler) -> str:
    """The name of the library of a text."""
    content = "\n".join([text, *map(str, by), *FLAGS, _processor()])
    return f"native_{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def built(whole: Callable[[bool], str], folder: str | None, kept: Callable[[str, int], object]) -> str:
    """The path of the library of a text, built now where the folder has none; BuildError with the reason.

    `whole(vectors)` gives the text; `kept` is told of each new library. Without a folder it lies in one of the process.
    """
    by = compiler()
    if by is None:
        raise BuildError("there is no C compiler on the PATH (gcc, cc or clang)")
    for vectors in (True, False):
        if vectors and by in _without_vectors:
            continue
        text = whole(vectors)
        key = key_of(text + "vectors" * vectors, by)
        for place in dict.fromkeys([folder, None]):
            path = os.path.join(_private() if place is None else place, f"{key}.so")
            if _is_whole(path, key):
                with contextlib.suppress(OSError):
                    os.utime(path)
                return path
        for place in dict.fromkeys([folder, None]):
            where = _private() if place is None else place
            try:
                made = _build(text, by, where, key, vectors)
            except OSError as error:
                if place is None:
                    raise BuildError(f"its library could not be written: {error}") from None
                continue  # a full folder, or one without rights: the process has its own
            if isinstance(made, str):
                if place is not None:
                    kept(place, os.path.getsize(made))
                return made
            if vectors:
                _without_vectors.add(by)  # or the text is wrong, which the next build says
            break
    assert isinstance(made, BuildError)
    raise made


def _build(text: str, by: Compiler, folder: str, key: str, vectors: bool) -> str | BuildError:
    """Build a library and put it into its place, or say why the compiler has not."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{key}.so")
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    libraries = [*(_VECTORS if vectors else ()), "-lm"]
    if platform.system() == "Darwin":
        libraries = ["-undefined", "dynamic_lookup"]
    command = [by.path, *FLAGS, "-x", "c", "-", "-o", temporary, *libraries]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            return BuildError(
                f"{os.path.basename(by.path)} failed: {next((s for s in said if 'error' in s), said[:1])}"
            )
        if platform.system() != "Darwin":  # whose libraries are signed; others may have more bytes at their end
            content = Path(temporary).read_bytes()
            Path(temporary).write_bytes(content + _seal(key, content))
        os.chmod(temporary, 0o700)
        os.replace(temporary, path)
    except subprocess.TimeoutExpired:
        return BuildError(f"{os.path.basename(by.path)} took more than {_SECONDS} s")
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return path


def _seal(key: str, content: bytes) -> bytes:
    """The last bytes of a library, which hold it to its key: one that is damaged may end the process."""
    return hashlib.sha256(key.encode() + content).digest()


def _is_whole(path: str, key: str) -> bool:
    """Whether a library lies under a path, which is this user's, and as it was built."""
    if not is_ours(path):
        return False
    if platform.system() == "Darwin":
        return True
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    return content[-32:] == _seal(key, content[:-32])


def is_ours(path: str) -> bool:
    """Whether a file is a library of this user's, which nobody else may have written."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o022)


_folders: dict[int, str] = {}


def _private() -> str:
    """A folder of this process alone, which goes when it ends."""
    own = os.getpid()
    if own not in _folders:
        _folders[own] = tempfile.mkdtemp(prefix="gradscribe-native-")
        atexit.register(_remove, _folders[own], own)
    return _folders[own]


def _remove(folder: str, process: int) -> None:
    """Remove the folder when its own process ends, and not a fork of it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
