"""Builds: C text becomes a shared library, by a compiler in a child process, once for each text, compiler and processor."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ["NONE", "Build", "BuildError", "Compiler", "built", "compiler", "is_ours", "key_of", "vector_units"]

FLAGS = (
    "-O2", "-ftree-vectorize", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv",
    "-fno-strict-aliasing", "-fopenmp-simd", "-std=gnu11", "-fPIC", "-shared", "-w",
    *[f"-fno-builtin-{name}" for name in ("sin", "cos", "sinf", "cosf")],  # of the pair GCC makes one call, not for vectors
    *[f"-fno-builtin-{name}" for name in ("pow", "powf")],  # in vectors GCC takes the power 0.5 for a square root, of -0.0 too
)  # fmt: skip
_SECONDS = 300  # after which a build is given up
_VECTORS = ("-lmvec",)  # glibc's maths for vectors


NONE = "there is no C compiler on the PATH (gcc, cc or clang), and no ziglang (pip install 'gradscribe[native]')"
_UNITS = {"avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse2": "SSE2", "sve": "SVE", "asimd": "NEON"}


class BuildError(Exception):
    """Why there is no library."""


class Compiler(NamedTuple):
    """A C compiler: its path, and what tells it from another under this path."""

    path: str
    size: int
    changed: int
    zig: bool = False  # the one of the package ziglang, which is clang with headers of its own

    @property
    def command(self) -> list[str]:
        """How it is called."""
        return [self.path, "cc"] if self.zig else [self.path]

    @property
    def libraries(self) -> list[str]:
        """What a library without a `main` is linked with: zig would build its own libc first, where the process has one."""
        if platform.system() == "Darwin":
            return ["-undefined", "dynamic_lookup"]
        return ["-nostdlib", "-fno-sanitize=undefined"] if self.zig else ["-lm"]


_without_vectors: set[Compiler] = set()  # compilers whose C library has none


def compiler() -> Compiler | None:
    """The C compiler on the PATH: gcc, cc or clang; or else that of the package ziglang, where it is installed."""
    return _compiler(os.environ.get("PATH", os.defpath))


@functools.cache
def _compiler(path: str) -> Compiler | None:
    for name in ("gcc", "cc", "clang"):
        found = shutil.which(name, path=path)
        if found is not None:
            real = os.path.realpath(found)
            status = os.stat(real)
            return Compiler(found, status.st_size, status.st_mtime_ns)
    zig = _zig()
    if zig is None:
        return None
    status = os.stat(zig)
    return Compiler(zig, status.st_size, status.st_mtime_ns, True)


def _zig() -> str | None:
    """The program that `python -m ziglang` runs."""
    try:
        spec = importlib.util.find_spec("ziglang")
    except (ImportError, ValueError):
        return None
    folders = [] if spec is None else spec.submodule_search_locations or []
    return next((found for folder in folders if (found := shutil.which("zig", path=folder))), None)


@functools.cache
def _processor() -> str:
    """What the machine can do, for which the libraries are built."""
    try:
        rows = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError:
        rows = [platform.processor()]
    kept = [row for row in rows if row.lower().startswith(("flags", "features", "model name", "cpu part"))]
    return "\n".join([platform.machine(), *(kept or rows)])


def vector_units() -> str:
    """The widest vector units of this processor that compilers use, as far as the system tells."""
    words = set(_processor().split())
    return next((name for flag, name in _UNITS.items() if flag in words), "no vector units known")


def key_of(text: str, by: Compiler) -> str:
    """The name of the library of a text."""
    content = "\n".join([text, *map(str, by), *FLAGS, _processor()])
    return f"native_{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def built(whole: Callable[[bool], str], folder: str | None, kept: Callable[[str, int], object]) -> str:
    """The path of the library of a text, built now where the folder has none; BuildError with the reason."""
    return Build(whole, folder, kept).wait()


class Build:
    """A build in a child process: `whole(vectors)` gives the text, `kept` is told of each new library.

    Without a folder, or where it cannot be written, the library lies in one of the process. Raises BuildError where there is
    no compiler, or no folder at all.
    """

    def __init__(self, whole: Callable[[bool], str], folder: str | None, kept: Callable[[str, int], object]) -> None:
        found = compiler()
        if found is None:
            raise BuildError(NONE)
        self._by, self._whole, self._folder, self._kept = found, whole, folder, kept
        self._run: _Run | None = None
        self._path: str | None = None
        self._process = os.getpid()
        self._failed = False  # with vectors
        self._start(not found.zig and found not in _without_vectors)

    def _start(self, vectors: bool) -> None:
        """Look for the library, and start the compiler where there is none."""
        self._vectors = vectors
        text = self._whole(vectors)
        key = key_of(text + "vectors" * vectors, self._by)
        for place in dict.fromkeys([self._folder, None]):
            path = os.path.join(_private() if place is None else place, f"{key}.so")
            if _is_whole(path, key):
                with contextlib.suppress(OSError):
                    os.utime(path)
                self._path = path
                return
        for place in dict.fromkeys([self._folder, None]):
            try:
                self._run = _Run(text, self._by, _private() if place is None else place, key, vectors)
                self._kept_at = place
                return
            except OSError as error:
                if place is None:
                    raise BuildError(f"its library could not be written: {error}") from None
                continue  # a full folder, or one without rights: the process has its own

    def wait(self) -> str:
        """The path of the library, once it is there; BuildError with the reason where it will not be."""
        while (path := self.poll(wait=True)) is None:
            pass
        return path

    def poll(self, wait: bool = False) -> str | None:
        """The path of the library; None where it is not there yet, BuildError where it will not be."""
        if self._path is None and os.getpid() != self._process:  # a fork, which has no children yet
            self._process = os.getpid()
            self._start(self._vectors)
        if self._path is not None or self._run is None:
            return self._path
        if not self._run.is_done(wait):
            return None
        try:
            found = self._run.result()
        except OSError as error:
            if self._kept_at is not None:  # the folder may be full
                self._folder = None
                self._start(self._vectors)
                return None
            raise BuildError(f"its library could not be written: {error}") from None
        if isinstance(found, str):
            self._path, self._run = found, None
            if not self._vectors and self._failed:
                _without_vectors.add(self._by)
            if self._kept_at is not None:
                self._kept(self._kept_at, os.path.getsize(found))
            return found
        if not self._vectors:
            raise found
        self._failed = True  # for want of vectors, or the text is wrong: the next build says which
        self._start(False)
        return self._path


class _Run:
    """One run of the compiler."""

    def __init__(self, text: str, by: Compiler, folder: str, key: str, vectors: bool) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, f"{key}.so")
        self.key, self.name = key, os.path.basename(by.path)
        self.temporary = f"{self.path}.{os.urandom(8).hex()}.tmp"
        libraries = [*(_VECTORS if vectors and platform.system() != "Darwin" else ()), *by.libraries]
        command = [*by.command, *FLAGS, "-x", "c", "-", "-o", self.temporary, *libraries]
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  # closed where the result is taken
        try:
            open(self.temporary, "xb").close()  # a folder that cannot be written says so here
            with tempfile.TemporaryFile() as source:
                source.write(text.encode())
                source.seek(0)
                self.child = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL, stderr=self.said)
        except OSError:
            self._clean()
            raise
        self.process, self.until = os.getpid(), time.monotonic() + _SECONDS
        _running.add(self)

    def is_done(self, wait: bool) -> bool:
        """Whether the compiler has ended; with `wait`, once it has."""
        if wait:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.child.wait(_SECONDS)
        return self.child.poll() is not None or time.monotonic() > self.until

    def result(self) -> str | BuildError:
        """Put the library into its place, or say why there is none."""
        try:
            if self.child.poll() is None:
                self.stop()
                return BuildError(f"{self.name} took more than {_SECONDS} s")
            if self.child.returncode:
                self.said.seek(0)
                said = self.said.read(1 << 16).decode(errors="replace").strip().splitlines()
                why = next((s for s in said if "error" in s), said[:1])
                return BuildError(f"{self.name} failed: {why}")
            if platform.system() != "Darwin":  # whose libraries are signed; others may have more bytes at their end
                content = Path(self.temporary).read_bytes()
                Path(self.temporary).write_bytes(content + _seal(self.key, content))
            os.chmod(self.temporary, 0o700)
            os.replace(self.temporary, self.path)
        finally:
            self._clean()
        return self.path

    def stop(self) -> None:
        """End the compiler."""
        self.child.kill()
        self.child.wait()

    def _clean(self) -> None:
        _running.discard(self)
        self.said.close()
        with contextlib.suppress(OSError):
            os.unlink(self.temporary)


_running: set[_Run] = set()


@atexit.register
def _stop() -> None:
    """End what is still built when the process ends, which does not wait for it; a fork leaves its parent's builds alone."""
    for run in tuple(_running):
        if run.process == os.getpid():
            run.stop()
            run._clean()


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
