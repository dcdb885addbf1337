"""The disk cache: generated source in files named by the digest of all that it depends on, private to the user.

A text's file starts with the text itself, so that debuggers find each line where it is; the last line holds it to its key.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from typing import NamedTuple

__all__ = [
    "Contents",
    "clear",
    "contents",
    "folder",
    "forget",
    "keep",
    "key_of",
    "limit",
    "load",
    "place",
    "refused",
    "store",
]

_OFF = ("off", "0", "no", "false")
_SIZE = 64  # MB
_OURS = re.compile(  # older ones had no name
    r"(\w+_[0-9a-f]{20}|[0-9a-f]{64})\.py(\.[0-9a-f]{16}\.tmp)?|native_[0-9a-f]{32}\.so(\.[0-9a-f]{16}\.tmp)?"
)
_KEPT = (".py", ".so")  # sources, and the libraries of the native target
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_ABANDONED = 3600.0  # seconds after which a temporary file is nobody's

_since_scan: dict[str, int] = {}  # bytes that this process wrote into a folder since it last looked at its size


class Contents(NamedTuple):
    """The size of a cache folder: how many sources, and their bytes."""

    entries: int
    size: int


def folder() -> str | None:
    """Return the folder of the cache, by GRADSCRIBE_CACHE or the user's cache folder; None where it is off."""
    asked = os.environ.get("GRADSCRIBE_CACHE", "")
    if asked.lower() in _OFF:
        return None
    if asked:
        return os.path.abspath(os.path.expanduser(asked))
    import platformdirs  # slow to load, and only what compiles asks

    place = platformdirs.user_cache_dir("gradscribe", appauthor=False)
    return place if os.path.isabs(place) else None  # a user without a home


def limit() -> int:
    """Return the limit of the cache in bytes: GRADSCRIBE_CACHE_SIZE in MB, 64 where it is unset or no number."""
    try:
        asked = float(os.environ.get("GRADSCRIBE_CACHE_SIZE", ""))
    except ValueError:
        asked = _SIZE
    return int(1e6 * (asked if 0 <= asked < 1e9 else _SIZE))


def key_of(name: str, content: str) -> str:
    """The key, and the name of the file, of a source for a function called `name` that follows from `content`."""
    digest = hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{re.sub(r'[^0-9A-Za-z_]', '_', name)[:60]}_{digest[:20]}"


def place(key: str) -> str | None:
    """The file in which the source under a key lies, or will once it is checked; None where it cannot lie there."""
    where = folder()
    if where is None or refused(where) is not None:
        return None
    parent = where
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    return _path(where, key) if os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK) else None


def refused(place: str) -> str | None:
    """Why nothing is loaded from a folder; None where all is well, also where it does not exist yet."""
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return None
    except OSError as error:
        return error.strerror or str(error)
    return "it is not a folder" if not stat.S_ISDIR(found.st_mode) else _doubt(found)


def load(key: str) -> str | None:
    """The source under a key; None where there is none, or where it is damaged or may be somebody else's."""
    place = folder()
    if place is None or refused(place) is not None:
        return None
    try:
        descriptor = os.open(_path(place, key), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _PLAIN)
        with open(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or _doubt(found) is not None or found.st_size > limit():
                return None
            text, header, end = _parted(file.read())
        if header != _header(key, text) or end != b"\n":
            return None
        with contextlib.suppress(OSError):
            os.utime(_path(place, key))  # used now: what was not used for longest goes first
        return text.decode()
    except (OSError, ValueError):
        return None


def store(key: str, text: str) -> None:
    """Keep a source under a key; a folder that cannot be written, or is not to be trusted, is left alone."""
    place = folder()
    if place is None:
        return
    path = _path(place, key)
    try:
        content = text.encode()
        whole = content + _header(key, content) + b"\n"
        os.makedirs(place, mode=0o700, exist_ok=True)
        if refused(place) is not None or len(whole) > limit():
            return
        temporary = f"{path}.{os.urandom(8).hex()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(whole)
            os.replace(temporary, path)
        except OSError:
            _remove(temporary)
            return
        keep(place, len(whole))
    except (OSError, ValueError):
        return


def keep(place: str, size: int) -> None:
    """Count a file that was put into a folder; what was not used for longest goes where they are too many."""
    written = _since_scan.get(place, limit()) + size  # the first time, a look is due
    _since_scan[place] = written if written <= limit() // 16 else _bounded(place)


def forget(key: str) -> None:
    """Remove the source under a key, if there is one."""
    place = folder()
    if place is not None and refused(place) is None:
        _remove(_path(place, key))


def contents(place: str) -> Contents:
    """Return the size of the cache folder; of one that cannot be read, zeros."""
    found = [size for path, size, _ in _files(place) if path.endswith(_KEPT)]
    return Contents(len(found), sum(found))


def clear(place: str) -> Contents:
    """Remove every source from a cache folder, and nothing else; what was removed."""
    removed = [size for path, size, _ in _files(place) if _remove(path) and path.endswith(_KEPT)]
    return Contents(len(removed), sum(removed))


def _doubt(found: os.stat_result) -> str | None:
    """Why a folder or a file may hold what somebody else wrote."""
    if not hasattr(os, "geteuid"):
        return None  # the user's cache folder is private by itself there
    if found.st_uid != os.geteuid():
        return "it belongs to another user"
    return "others may write it" if stat.S_IMODE(found.st_mode) & 0o022 else None


def _path(place: str, key: str) -> str:
    return os.path.join(place, f"{key}.py")


def _header(key: str, text: bytes) -> bytes:
    return b"# gradscribe " + hashlib.sha256(key.encode() + text).hexdigest().encode()


def _parted(whole: bytes) -> tuple[bytes, bytes, bytes]:
    """The source of a file, its last line, and what ends that."""
    at = whole.rfind(b"\n", 0, -1) + 1
    return whole[:at], whole[at:-1], whole[-1:]


def _files(place: str) -> list[tuple[str, int, float]]:
    """The paths, sizes and times of last use of the files of ours in a folder."""
    found: list[tuple[str, int, float]] = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:  # another process removed it
                        continue
                    found.append((entry.path, status.st_size, status.st_mtime))
    except OSError:
        return found
    return found


def _bounded(place: str) -> int:
    """Remove what was not used for longest, down to three quarters of the bound where it is near; 0."""
    files = _files(place)
    now = time.time()
    for path, _, used in files:
        if path.endswith(".tmp") and now - used > _ABANDONED:
            _remove(path)
    texts = sorted((file for file in files if file[0].endswith(_KEPT)), key=lambda file: file[2])
    size = sum(file[1] for file in texts)
    if size > limit() * 15 // 16:  # what this process writes before it looks again is the rest
        for path, its, _ in texts:
            if size <= limit() * 3 // 4:
                break
            if _remove(path):
                size -= its
    return 0


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
